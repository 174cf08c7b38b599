"""One connected component of a graphical lasso problem: descent first, splitting if it is slow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.errors import SolverError
from edgewise._core.jit import kernel, scratch
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.gaussian.descent import columns_from_precision, descend
from edgewise.solvers.gaussian.newton import newton
from edgewise.solvers.gaussian.splitting import alternate
from edgewise.solvers.gaussian.standard_form import StandardForm
from edgewise.solvers.linalg.kernels import clip_to_box, fill_thresholds
from edgewise.solvers.linalg.sparse_inverse import factorize, inverse

#: Sweeps before the other solver is thought of; doubled each time.
PATIENCE = 6
#: Cost of a whole run of alternating directions in units of p^3 (about 200 iterations), where a
#: unit is one multiply-add on whole rows.
SPLITTING_COST = 150.0
#: Gap per variable from which Newton steps are tried before splitting, and how many.
NEAR = 1e-3
NEWTON_STEPS = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class ComponentSolution:
    """Precision and covariance of one component in standard form.

    Both may lie in scratch memory: copy them before the next component is solved.
    """

    Theta: FloatArray
    Sigma: FloatArray
    logdet: float
    gap: float
    n_iter: int
    history: list[float]


@dataclass(kw_only=True, eq=False)
class _State:
    """What block descent carries from sweep to sweep; see `descend`."""

    W: FloatArray
    support: IntArray
    coef: FloatArray
    size: IntArray
    theta: FloatArray
    change: float = -1.0


def solve_component(
    form: StandardForm,
    target: float,
    max_iter: int,
    start: tuple[FloatArray, FloatArray] | None = None,
) -> ComponentSolution:
    """Solve one component until its duality gap is at most ``target``.

    Parameters
    ----------
    form : StandardForm
        The problem.
    target : float
        Gap to reach.
    max_iter : int
        Sweeps and splitting steps allowed.
    start : tuple (Theta, W), optional
        Precision and covariance of a nearby problem.
    """
    p = form.scale.size
    Theta = scratch("precision", (p, p))
    R = scratch("residual", (p, p))
    states = [_thresholded_state, _shrunken_state]
    state = states.pop(0)(form) if start is None else _warm_state(form, *start)
    history: list[float] = []
    n_iter = 0
    chunk = PATIENCE
    while n_iter < max_iter:
        status, n_sweeps, gap, state.change, ratio, state.support, state.coef = descend(
            form.S,
            form.alpha,
            form.scale,
            form.weights,
            state.W,
            state.support,
            state.coef,
            state.size,
            state.theta,
            Theta,
            R,
            target,
            min(chunk, max_iter - n_iter),
            state.change,
        )
        n_iter += n_sweeps
        if status < 0 and states:
            state = states.pop(0)(form)
            continue
        if status < 0:
            identity = np.eye(p)
            return _split(form, identity, identity, target, max_iter - n_iter, n_iter, history)
        history.append(gap)
        factor = factorize(Theta, R) if status > 0 else None
        if factor is not None:
            return ComponentSolution(
                Theta=Theta,
                Sigma=inverse(factor, R),
                logdet=factor.logdet,
                gap=gap,
                n_iter=n_iter,
                history=history,
            )
        if _is_slow(state, gap, ratio, target):
            break
        chunk *= 2
    if not history:
        # Every start failed within the few sweeps allowed, so that nothing was assembled.
        Theta = np.eye(p)
    return _split(form, Theta, state.W, target, max_iter - n_iter, n_iter, history)


def _is_slow(state: _State, gap: float, ratio: float, target: float) -> bool:
    """Compare the sweeps still to come, extrapolated from the last two, with a run of splitting."""
    if not 0.0 < ratio < 1.0:
        return state.change > 0.0
    distance = gap if gap < np.inf else np.sqrt(state.change * ratio)
    n_sweeps = np.log(target / distance) / np.log(np.sqrt(ratio))
    p = state.size.size
    degree = state.size.astype(np.float64)
    sweep_cost = float((p * degree + 3.0 * degree**2 + 0.1 * degree**3).sum())
    return bool(n_sweeps * sweep_cost > SPLITTING_COST * p**3)


def _split(
    form: StandardForm,
    Theta: FloatArray,
    W: FloatArray,
    target: float,
    max_steps: int,
    n_iter: int,
    history: list[float],
) -> ComponentSolution:
    """Finish by Newton steps if they are near enough, otherwise by alternating directions."""
    if form.alpha == 0.0 and not form.weights.size:
        raise SolverError(
            "The objective has no minimum: without a penalty the covariance must be positive "
            "definite, and this one is singular. Use alpha > 0, or repair the covariance."
        )
    is_near = bool(history) and history[-1] <= NEAR * form.scale.size
    result = newton(form, Theta.copy(), target, NEWTON_STEPS) if is_near else None
    if result is None or result.gap > target:
        result = alternate(form, Theta, W, target, max_steps) or result
    if result is None:
        result = newton(form, _shrink_to_definite(Theta), target, 0)
    if result is None:
        raise SolverError("The precision matrix lost its positive diagonal.")
    history.append(result.gap)
    return ComponentSolution(
        Theta=result.Theta,
        Sigma=inverse(result.factor),
        logdet=result.factor.logdet,
        gap=result.gap,
        n_iter=n_iter + result.n_iter,
        history=history,
    )


def _shrink_to_definite(Theta: FloatArray) -> FloatArray:
    """Scale the off-diagonal down until the matrix is positive definite."""
    diagonal = np.diag(np.diagonal(Theta))
    share = 1.0
    while True:
        trial = diagonal + share * (Theta - diagonal)
        if factorize(trial) is not None:
            return trial
        share = 0.5 * share if share > 1e-3 else 0.0


def _empty_state(W: FloatArray) -> _State:
    """Pair a dual point with empty columns."""
    p = W.shape[0]
    return _State(
        W=W,
        support=np.empty((p, min(8, p)), np.int64),
        coef=np.empty((p, min(8, p))),
        size=np.zeros(p, np.int64),
        theta=np.ones(p),
    )


def _thresholded_state(form: StandardForm) -> _State:
    """Start where most problems are nearly solved: at the soft-thresholded covariance."""
    W = scratch("covariance", form.S.shape)
    W[:] = 0.0
    clip_to_box(form.S, form.alpha, form.scale, form.weights, W)
    return _empty_state(W)


def _shrunken_state(form: StandardForm) -> _State:
    """Start at a point of the box that is positive definite if any multiple of S + cI is."""
    share = _largest_shrinkage(form.S, form.alpha, form.scale, form.weights)
    W = np.multiply(form.S, 1.0 - share, out=scratch("covariance", form.S.shape))
    np.fill_diagonal(W, 1.0)
    return _empty_state(W)


def _warm_state(form: StandardForm, Theta: FloatArray, W: FloatArray) -> _State:
    """Start from a nearby solution; its dual point is clipped to this problem's box."""
    support, coef, size, theta = columns_from_precision(Theta)
    clipped = scratch("covariance", form.S.shape)
    clipped[:] = W
    clip_to_box(form.S, form.alpha, form.scale, form.weights, clipped)
    return _State(W=clipped, support=support, coef=coef, size=size, theta=theta)


@kernel
def _largest_shrinkage(
    S: FloatArray, alpha: float, scale: FloatArray, weights: FloatArray
) -> float:
    """Return the largest share by which all covariances may shrink and stay in the box."""
    p = S.shape[0]
    t = np.empty(p)
    share = 1.0
    for i in range(p):
        fill_thresholds(i, alpha, scale, weights, t)
        for j in range(p):
            if i != j and abs(S[i, j]) * share > t[j]:
                share = t[j] / abs(S[i, j])
    return share
