"""One connected component of a graphical lasso: descent first, the rest where it is slow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.errors import SolverError
from edgewise._core.jit import scratch
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import CLOSER, LEAST_GAP
from edgewise.solvers.gaussian.decided import is_decided
from edgewise.solvers.gaussian.descent import (
    START,
    Columns,
    Pace as DescentPace,
    columns_from_precision,
    descend,
    empty_columns,
)
from edgewise.solvers.gaussian.dual_ascent import climb
from edgewise.solvers.gaussian.glasso_certificate import confirm
from edgewise.solvers.gaussian.likelihood_splitting import _is_definite, split_likelihood
from edgewise.solvers.gaussian.orthant_newton import orthant_newton
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    clip_to_box,
    next_look,
    shrink_into_box,
)
from edgewise.solvers.linalg.dense import mirror

#: Sweeps before ascent is thought of; doubled each time.
PATIENCE = 6
#: Cost of a whole ascent in units of p^3, where a unit is one multiply-add on whole rows.
ASCENT_COST = 60.0
#: Gap per variable from which Newton steps are tried, and how many.
NEAR, NEWTON_STEPS = 1e-3, 6


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
    decide: float = 0.0,
) -> ComponentSolution:
    """Solve one component until its duality gap is at most ``target``, and its edges are decided.

    Parameters
    ----------
    form : StandardForm
        The problem.
    target : float
        Gap to reach.
    max_iter : int
        Sweeps and steps allowed.
    start : tuple (Theta, W), optional
        Precision and covariance of a nearby problem.
    decide : float
        Sweeps that may be added for undecided pairs, as a multiple of those that led to
        ``target``.
    """
    p = form.scale.size
    W, Theta, Sigma = (scratch(name, (p, p)) for name in ("dual point", "precision", "inverse"))
    columns = empty_columns(W, Theta, Sigma, min(8, p))
    W[:] = 0.0
    if start is not None:
        W[:] = start[1]
        columns = Columns(W, *columns_from_precision(start[0]), Theta, Sigma)
    # Most problems are nearly solved at the soft-thresholded covariance.
    clip_to_box(form, W)
    history: list[float] = []
    #: Gaps after each round of sweeps.
    ends: list[float] = []
    n_iter, chunk, pace, is_last_start, last = 0, PATIENCE, START, False, 0
    left, look = chunk, target
    while n_iter < max_iter:
        status, n_sweeps, expected, pace, columns = descend(
            form, columns, min(look, target), look, min(left, max_iter - n_iter), pace, False
        )
        n_iter, left = n_iter + n_sweeps, left - n_sweeps
        if status < 0 and not is_last_start and not _is_definite(W):
            shrink_into_box(form, W)
            columns = empty_columns(W, Theta, Sigma, min(8, p))
            is_last_start, left = True, chunk
            continue
        if status < 0:
            break
        found = confirm(form, Theta, target, Sigma)
        gap = np.inf if found is None else found.gap
        history.append(gap)
        if found is not None and gap <= target:
            last = last or n_iter + int(decide * n_iter)
            left = min(last, max_iter) - n_iter
            if left > 0 and gap > LEAST_GAP * p and not is_decided(form, Theta, Sigma, gap):
                # One far look, at which hardly a pair is left open, costs less than several.
                look = max(CLOSER * gap, LEAST_GAP * p)
                continue
            return ComponentSolution(
                Theta=Theta,
                Sigma=Sigma,
                logdet=found.logdet,
                gap=gap,
                n_iter=n_iter,
                history=history,
            )
        if left == 0:
            ends.append(gap)
            is_stalled = len(ends) > 2 and NEAR * p > ends[-3] < 2.0 * gap
            if is_stalled or _is_slow(columns.size, pace, gap, target):
                break
            left = chunk = 2 * chunk
        look = next_look(expected, gap, target)
    if not history:
        Theta = np.eye(p)
    return _finish(form, Theta, W, target, max_iter - n_iter, n_iter, history)


def _is_slow(size: IntArray, pace: DescentPace, gap: float, target: float) -> bool:
    """Compare the sweeps still to come, extrapolated from the last two, with an ascent."""
    if not 0.0 < pace.ratio < 1.0:
        return pace.change > 0.0
    distance = gap if gap < np.inf else np.sqrt(pace.change * pace.ratio)
    n_sweeps = np.log(target / distance) / np.log(np.sqrt(pace.ratio))
    p = size.size
    degree = size.astype(np.float64)
    sweep_cost = float((p * degree + 3.0 * degree**2 + 0.1 * degree**3).sum())
    return bool(n_sweeps * sweep_cost > ASCENT_COST * p**3)


def _finish(
    form: StandardForm,
    Theta: FloatArray,
    W: FloatArray,
    target: float,
    max_steps: int,
    n_iter: int,
    history: list[float],
) -> ComponentSolution:
    """Finish by Newton steps if they are near enough, by ascent, or else alternating directions."""
    if not _is_definite(W):
        shrink_into_box(form, W)
    if form.alpha == 0.0 and not form.weights.size and not _is_definite(W):
        raise SolverError("unpenalised_singular")
    near, n_newton = NEAR * form.scale.size, min(NEWTON_STEPS, max_steps)
    result = None
    if history and history[-1] <= near:
        result = orthant_newton(form, Theta.copy(), target, n_newton)
    if (result is None or result.gap > target) and _is_definite(W):
        result = climb(form, W.copy(), target, max_steps) or result
        if result is not None and target < result.gap <= near:
            result = orthant_newton(form, result.Theta, target, n_newton)
    if result is None or result.gap > target:
        start = Theta if result is None else result.Theta
        result = split_likelihood(form, start, mirror(W), target, max_steps) or result
    if result is None:
        result = confirm(form, np.eye(form.scale.size))
    if result is None:
        raise SolverError("precision_diagonal_lost")
    history.append(result.gap)
    return ComponentSolution(
        Theta=result.Theta,
        Sigma=result.Sigma,
        logdet=result.logdet,
        gap=result.gap,
        n_iter=n_iter + result.n_iter,
        history=history,
    )
