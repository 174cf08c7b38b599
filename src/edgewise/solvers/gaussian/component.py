"""One connected component of a graphical lasso problem: descent first, splitting if it is slow."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edgewise._core.errors import SolverError
from edgewise._core.jit import kernel, scratch
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.gaussian.descent import (
    EVERY,
    Columns,
    certify,
    columns_from_precision,
    descend,
    empty_columns,
)
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    clip_to_box,
    fill_thresholds,
    shrink_into_box,
)
from edgewise.solvers.linalg.dense import STEP_SHARE, LikelihoodStep
from edgewise.solvers.linalg.first_order import Pace, Residuals, alternate, refuse_unbounded
from edgewise.solvers.linalg.kernels import soft_threshold
from edgewise.solvers.linalg.sparse_inverse import Factor, factorize, inverse

#: Conjugate gradient steps for one Newton direction.
MAX_INNER = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class CertifiedPrecision:
    """A positive definite precision, factorised, with its duality gap."""

    Theta: FloatArray
    factor: Factor
    gap: float
    n_iter: int


def orthant_newton(
    form: StandardForm, Theta: FloatArray, target: float, max_iter: int
) -> CertifiedPrecision | None:
    r"""Take up to ``max_iter`` Newton steps from a positive definite ``Theta``.

    Returns None when the start is not positive definite. For dense graphs, where block descent is
    slow.

    Notes
    -----
    On the orthant that the current signs span, the objective is smooth with gradient
    :math:`S - W + t \odot \operatorname{sign}` and Hessian :math:`D \mapsto W D W` for
    :math:`W = \Theta^{-1}`. Each step solves the Newton equations on the free entries by conjugate
    gradients, preconditioned with :math:`R \mapsto \Theta R \Theta` (the inverse Hessian if every
    entry were free), and then searches along the path projected onto the orthant, in the manner of
    Olsen, Oztoprak, Nocedal and Rennie (2012). An entry at zero is free when its gradient exceeds
    its threshold. All of the work is matrix products; the objective never rises.
    """
    factor = factorize(Theta)
    if factor is None:
        return None
    R = np.empty_like(Theta)
    for count in range(max_iter + 1):
        Sigma = inverse(factor)
        sign, gradient, W, penalty = _orthant(form, Theta, Sigma)
        support, _, size, _ = columns_from_precision(Theta)
        gap = certify(form, W, support, size, Theta, R)
        if gap <= target or count == max_iter:
            break
        refuse_unbounded(float(np.diagonal(Theta).max()))
        step = newton_direction(Theta, Sigma, sign != 0.0, gradient)
        value = float(np.vdot(form.S, Theta)) - factor.logdet + penalty
        moved = _search(form, Theta, step, sign, gradient, value)
        if moved is None:
            break
        Theta, factor = moved
    return CertifiedPrecision(Theta=Theta, factor=factor, gap=gap, n_iter=count)


@kernel
def _orthant(
    form: StandardForm, Theta: FloatArray, Sigma: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Choose signs, form the gradient on them, clip ``Sigma`` to the dual box, sum the penalty.

    The sign is 0 for an entry that stays at zero and 2 on the diagonal, which is free.
    """
    S, p = form.S, form.scale.size
    t = np.empty(p)
    sign = np.zeros((p, p))
    gradient = np.zeros((p, p))
    W = np.empty((p, p))
    penalty = 0.0
    for i in range(p):
        fill_thresholds(i, form, t)
        for j in range(p):
            slope = S[i, j] - Sigma[i, j]
            W[i, j] = min(max(Sigma[i, j], S[i, j] - t[j]), S[i, j] + t[j])
            if Theta[i, j] != 0.0:
                sign[i, j] = np.sign(Theta[i, j])
            elif abs(slope) > t[j]:
                sign[i, j] = -np.sign(slope)
            if sign[i, j] != 0.0 and i != j:
                gradient[i, j] = slope + t[j] * sign[i, j]
                penalty += t[j] * abs(Theta[i, j])
        sign[i, i] = 2.0
        gradient[i, i] = 1.0 - Sigma[i, i]
        W[i, i] = 1.0
    return sign, gradient, W, penalty


def newton_direction(
    Theta: FloatArray, Sigma: FloatArray, is_free: FloatArray, gradient: FloatArray
) -> FloatArray:
    """Solve the Newton equations on the free entries by preconditioned conjugate gradients."""
    step = np.zeros_like(Theta)
    residual = -gradient
    image = is_free * (Theta @ residual @ Theta)
    search = image.copy()
    size = float(np.vdot(residual, image))
    # Quadratic forcing: the inner accuracy follows the size of the outer residual.
    goal = min(0.01, size) * size
    for _ in range(MAX_INNER):
        product = is_free * (Sigma @ search @ Sigma)
        curvature = float(np.vdot(search, product))
        if curvature <= 0.0:
            break
        length = size / curvature
        step += length * search
        residual -= length * product
        image = is_free * (Theta @ residual @ Theta)
        size, before = float(np.vdot(residual, image)), size
        if size <= goal:
            break
        search *= size / before
        search += image
    return 0.5 * (step + step.T)


def _search(
    form: StandardForm,
    Theta: FloatArray,
    step: FloatArray,
    sign: FloatArray,
    gradient: FloatArray,
    value: float,
) -> tuple[FloatArray, Factor] | None:
    """Halve the step until the projected point is positive definite and low enough (Armijo)."""
    # Near the optimum the decrease drowns in rounding; a step within it counts as good.
    rounding = 1e-14 * (abs(value) + form.scale.size)
    length = 1.0
    while length > 1e-6:
        trial, decrease, penalty = _project(form, Theta, length * step, sign, gradient)
        factor = factorize(trial)
        if factor is not None:
            new = float(np.vdot(form.S, trial)) - factor.logdet + penalty
            if decrease < 0.0 and new <= value + 1e-4 * decrease + rounding:
                return trial, factor
        length *= 0.5
    return None


@kernel
def _project(
    form: StandardForm, Theta: FloatArray, step: FloatArray, sign: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, float, float]:
    """Move along ``step``, set to zero what leaves the orthant; also the slope and the penalty."""
    p = Theta.shape[0]
    trial = np.zeros((p, p))
    t = np.empty(p)
    decrease = 0.0
    penalty = 0.0
    for i in range(p):
        fill_thresholds(i, form, t)
        for j in range(p):
            if sign[i, j] != 0.0:
                x = Theta[i, j] + step[i, j]
                if i != j and x * sign[i, j] < 0.0:
                    x = 0.0
                trial[i, j] = x
                decrease += gradient[i, j] * (x - Theta[i, j])
                if i != j and x != 0.0:
                    penalty += t[j] * abs(x)
    return trial, decrease, penalty


RELAXATION = 1.6
PACE = Pace(interval=10, tuning=300, balance=1.0)
#: Newton steps tried at a look, once the gap per variable has fallen to `SETTLED`.
SETTLED_STEPS = 3
#: Gap per variable at which the signs have mostly settled.
SETTLED = 1e-6


def split_likelihood(
    form: StandardForm, Theta: FloatArray, W: FloatArray, target: float, max_iter: int
) -> CertifiedPrecision | None:
    """Iterate from a precision and a dual point until the gap is at most ``target``.

    Returns the best certified point, or None if no iterate was positive definite.
    """
    Z, Y = Theta.copy(), W - form.S
    size = float(np.linalg.norm(Y)) / float(np.linalg.norm(Z))
    mu = size if size > 0.0 else 1.0
    U = Y / mu
    best: CertifiedPrecision | None = None
    likelihood, distance = LikelihoodStep(), 0.0

    def step(mu: float) -> tuple[FloatArray, Residuals]:
        nonlocal distance
        X = likelihood(Z - U - form.S / mu, 1.0 / mu, STEP_SHARE * distance)
        residuals = _shrink(form, X, Z, U, mu)
        distance = float(np.sqrt(residuals[0]))
        return X, residuals

    def is_done(X: FloatArray, mu: float, count: int) -> bool:
        nonlocal best
        refuse_unbounded(float(X.diagonal().max()))
        is_settled = best is not None and best.gap <= SETTLED * form.scale.size
        found = orthant_newton(form, Z.copy(), target, SETTLED_STEPS if is_settled else 0)
        if found is not None and (best is None or found.gap < best.gap):
            best = replace(found, n_iter=count)
        return best is not None and best.gap <= target

    alternate(step, is_done, U, mu, max_iter, PACE)
    return best


@kernel
def _shrink(
    form: StandardForm, X: FloatArray, Z: FloatArray, U: FloatArray, mu: float
) -> tuple[float, float, float, float]:
    """Over-relax and soft-threshold, in place on ``Z`` and ``U``; return the residuals."""
    p = X.shape[0]
    t = np.empty(p)
    primal = dual = size_Z = size_U = 0.0
    for i in range(p):
        fill_thresholds(i, form, t)
        t[i] = 0.0
        for j in range(i + 1):
            h = RELAXATION * X[i, j] + (1.0 - RELAXATION) * Z[i, j] + U[i, j]
            z = soft_threshold(h, t[j] / mu)
            share = 1.0 if i == j else 2.0
            primal += share * (X[i, j] - z) ** 2
            dual += share * (z - Z[i, j]) ** 2
            size_Z += share * z * z
            size_U += share * (h - z) ** 2
            Z[i, j] = Z[j, i] = z
            U[i, j] = U[j, i] = h - z
    return primal, dual, size_Z, size_U


#: Sweeps before the other solver is thought of; doubled each time.
PATIENCE = 6
#: Cost of a whole run of alternating directions in units of p^3 (about 130 iterations), where a
#: unit is one multiply-add on whole rows.
SPLITTING_COST = 60.0
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
    W, Theta, R = (scratch(name, (p, p)) for name in ("covariance", "precision", "residual"))
    columns = empty_columns(W, Theta, R, min(8, p))
    W[:] = 0.0
    if start is not None:
        W[:] = start[1]
        columns = Columns(W, *columns_from_precision(start[0]), Theta, R)
    # Most problems are nearly solved at the soft-thresholded covariance.
    clip_to_box(form, W)
    history: list[float] = []
    n_iter, chunk, change, is_last_start = 0, PATIENCE, -1.0, False
    while n_iter < max_iter:
        n_sweeps = min(chunk, max_iter - n_iter)
        status, n_sweeps, gap, change, ratio, columns = descend(
            form, columns, target, n_sweeps, change, False
        )
        n_iter += n_sweeps
        if status == -1 and not is_last_start:
            shrink_into_box(form, W)
            columns = empty_columns(W, Theta, R, min(8, p))
            change, is_last_start = -1.0, True
            continue
        if status < 0:
            # The sweep that was given up has changed some columns only.
            W[:] = np.eye(p) if status == -1 else 0.0
            clip_to_box(form, W)
            return _split(form, np.eye(p), W, target, max_iter - n_iter, n_iter, history)
        if status > 0 and n_iter > PATIENCE + EVERY:
            # The bound on what the inverse of the precision confirms is of first order, and
            # descent has taken long steps: confirm it.
            found = orthant_newton(form, Theta, target, 0)
            gap = np.inf if found is None else found.gap
            status = int(gap <= target)
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
        if _is_slow(columns.size, change, gap, ratio, target):
            break
        chunk *= 2
    if not history:
        Theta = np.eye(p)
    return _split(form, Theta, W, target, max_iter - n_iter, n_iter, history)


def _is_slow(size: IntArray, change: float, gap: float, ratio: float, target: float) -> bool:
    """Compare the sweeps still to come, extrapolated from the last two, with a run of splitting."""
    if not 0.0 < ratio < 1.0:
        return change > 0.0
    distance = gap if gap < np.inf else np.sqrt(change * ratio)
    n_sweeps = np.log(target / distance) / np.log(np.sqrt(ratio))
    p = size.size
    degree = size.astype(np.float64)
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
    result = orthant_newton(form, Theta.copy(), target, NEWTON_STEPS) if is_near else None
    if result is None or result.gap > target:
        result = split_likelihood(form, Theta, W, target, max_steps) or result
    if result is None:
        result = orthant_newton(form, _shrink_to_definite(Theta), target, 0)
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
