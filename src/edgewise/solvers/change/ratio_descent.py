"""From one alpha to the next: the dual steps, the proximal ones, and the variables they need."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edgewise._core.errors import SolverError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.change.ratio_bounds import smallest_bounded_alpha
from edgewise.solvers.change.ratio_certificate import log_softmax
from edgewise.solvers.change.ratio_newton import DualProblem, Proximal, newton
from edgewise.solvers.change.ratio_primal import accelerated_gradients
from edgewise.solvers.change.ratio_problem import Certificate, Coefficients, RatioProblem

#: Size of the first proximal term, what it grows by, and the largest, for features of variance 1.
PROXIMAL = (10.0, 10.0, 1e4)
#: Steps that those with a proximal term are expected to take, before they have been tried.
EXPECTED = 15
#: Share of the gap to which a free diagonal is solved, to see whether anything else changes.
ACCURATE = 1e-6


@dataclass(frozen=True, kw_only=True, eq=False)
class RatioPoint:
    """A solution of the problem at one alpha.

    Attributes
    ----------
    theta : Coefficients
    log_ratio : ndarray of shape (n,)
        Not normalised.
    log_weights : ndarray of shape (n,)
        Of the rows, at the dual point.
    certificate : Certificate
        At these weights.
    n_iter : int
    history : list of float
    pace : (int, int)
        Newton steps that were last taken without and with a proximal term.
    """

    theta: Coefficients
    log_ratio: FloatArray
    log_weights: FloatArray
    certificate: Certificate
    n_iter: int
    history: list[float]
    pace: tuple[int, int] = (0, EXPECTED)


@dataclass(frozen=True, kw_only=True)
class Stop:
    """When to stop.

    Attributes
    ----------
    gap, slightly : float
        Small enough a duality gap, and an excess without a ridge.
    max_iter : int
        Most steps in all.
    patience : int
        Most Newton steps without a proximal term; few problems take more than ten.
    spread : float
        Log ratios of two rows this far apart mean that the objective without a ridge has no
        minimum.
    """

    gap: float
    slightly: float
    max_iter: int
    patience: int = 30
    spread: float = 1e4


def solve_with_screening(
    problem: RatioProblem,
    alpha: float,
    before: RatioPoint,
    alpha_before: float,
    solver: str,
    stop: Stop,
) -> RatioPoint:
    """Solve for the variables that may change, and look at all of them when done.

    By the sequential strong rule a pair whose slack at the alpha before is below
    ``2 alpha - alpha_before`` is unlikely to change. Products are formed of whole variables, so
    one is left out if all its pairs are. Where the rule errs, the gap over all pairs says so: the
    variables of the pairs that are too long then join in.
    """
    d = problem.features.n_variables
    if not problem.penalize_diagonal:
        return _solve_free_diagonal(problem, alpha, before, solver, stop)
    likely = max(2.0 * alpha - alpha_before, 0.0)
    chosen = _variables(problem.target.above(before.certificate.moments, likely, likely), d)
    chosen = np.union1d(chosen, _variables(before.theta.pairs, d))
    if not len(chosen):
        chosen = np.zeros(1, dtype=np.int64)
    n_iter, history = 0, []
    while len(chosen) < 0.8 * d:
        part = problem.subset(chosen)
        found = _solve(part, alpha, _restrict(before, chosen, d), solver, stop)
        _refuse_unbounded(problem, alpha, found, stop)
        theta = Coefficients(_lift(found.theta.pairs, chosen, d), found.theta.values)
        whole = problem.certify(theta, found.log_ratio, found.log_weights, alpha)
        n_iter += found.n_iter
        history += [*found.history, whole.gap]
        before = replace(found, theta=theta, certificate=whole, n_iter=n_iter, history=history)
        missed = _variables(problem.target.above(whole.moments, alpha, alpha), d)
        larger = np.union1d(chosen, missed)
        if _is_done(before, stop) or len(larger) == len(chosen):
            return before
        chosen = larger
    found = _refuse_unbounded(problem, alpha, _solve(problem, alpha, before, solver, stop), stop)
    return replace(found, n_iter=n_iter + found.n_iter, history=history + found.history)


def _solve_free_diagonal(
    problem: RatioProblem, alpha: float, before: RatioPoint, solver: str, stop: Stop
) -> RatioPoint:
    """Solve for the diagonal alone where nothing else has changed yet, then for all pairs.

    From the largest alpha on the first is the solution, which the gap over all pairs says. The
    slacks of other pairs are uncertain by the root of the gap, hence the accuracy; without a
    ridge the excess sees to it.
    """
    n_iter, history = 0, []
    if problem.is_diagonal(before.theta.pairs).all():
        closer = replace(stop, gap=ACCURATE * stop.gap) if problem.ridge > 0 else stop
        before = _refuse_unbounded(
            problem, np.inf, _solve(problem, np.inf, before, solver, closer), closer
        )
        whole = problem.certify(before.theta, before.log_ratio, before.log_weights, alpha)
        n_iter, history = before.n_iter, [*before.history, whole.gap]
        before = replace(before, certificate=whole, n_iter=n_iter, history=history)
        if _is_done(before, stop):
            return before
    found = _refuse_unbounded(problem, alpha, _solve(problem, alpha, before, solver, stop), stop)
    return replace(found, n_iter=n_iter + found.n_iter, history=history + found.history)


def starting_point(problem: RatioProblem, theta: Coefficients | None = None) -> RatioPoint:
    """Begin with some coefficients, or with none."""
    theta = Coefficients.none(problem.features.size) if theta is None else theta
    log_ratio = problem.log_ratio(theta)
    log_weights = log_softmax(log_ratio)
    moments = problem.features.moments(np.exp(log_weights))
    unknown = Certificate(gap=np.inf, excess=np.inf, rounding=0.0, moments=moments)
    return RatioPoint(
        theta=theta, log_ratio=log_ratio, log_weights=log_weights, certificate=unknown, n_iter=0,
        history=[],
    )  # fmt: skip


def _is_done(point: RatioPoint, stop: Stop) -> bool:
    """Whether more steps would not help, if only because of rounding."""
    return point.certificate.gap <= stop.gap and point.certificate.excess <= stop.slightly


def _solve(
    problem: RatioProblem, alpha: float, before: RatioPoint, solver: str, stop: Stop
) -> RatioPoint:
    """Solve on the dual, on the primal, or on the dual and on from there."""
    point = replace(before, n_iter=0, history=[])
    if solver != "primal":
        point = _dual(problem, alpha, before, stop)
    if solver == "primal" or (solver == "auto" and not _is_done(point, stop)):
        point = _primal(problem, alpha, point, stop)
    return point


def _dual(problem: RatioProblem, alpha: float, before: RatioPoint, stop: Stop) -> RatioPoint:
    """Newton steps without a proximal term and, where they are too many, with one.

    With one at once where there is no ridge, or where that was quicker the last time.
    """
    alone, together = before.pace
    spent, history = 0, []
    if problem.ridge > 0 and alone <= together:
        result = newton(
            DualProblem(problem=problem, alpha=alpha),
            before.log_weights,
            gap=stop.gap,
            max_iter=min(stop.max_iter, stop.patience),
        )
        spent, history = result.n_iter, result.history
        if result.gap <= stop.gap or spent == stop.max_iter:
            found = result.point
            return RatioPoint(
                theta=found.theta,
                log_ratio=result.log_ratio,
                log_weights=found.log_weights,
                certificate=Certificate(
                    gap=result.gap,
                    excess=0.0,
                    rounding=problem.rounding(found.theta, result.log_ratio, found.log_weights),
                    moments=found.moments,
                ),
                n_iter=spent,
                history=history,
                pace=(spent, together),
            )
    point = _proximal_points(problem, alpha, before, replace(stop, max_iter=stop.max_iter - spent))
    n_iter, pace = spent + point.n_iter, (spent or alone, point.n_iter)
    return replace(point, n_iter=n_iter, history=history + point.history, pace=pace)


def _proximal_points(
    problem: RatioProblem, alpha: float, before: RatioPoint, stop: Stop
) -> RatioPoint:
    """Solve a sequence of problems with a term that pulls to the solution before.

    They need not be solved more accurately than that solution is.
    """
    unit = problem.feature_variance()
    size, growth, largest = PROXIMAL
    if problem.ridge > 0:
        # A term much stronger than the ridge would only slow the last steps down.
        largest = max(largest, unit / problem.ridge)
    point, log_weights = before, before.log_weights
    inner_gap, residual = 1e-3, 1e-2
    n_iter, history = 0, []
    while True:
        proximal = Proximal(center=point.theta, size=size / unit)
        result = newton(
            DualProblem(problem=problem, alpha=alpha, proximal=proximal),
            log_weights,
            gap=max(0.1 * stop.gap, inner_gap),
            residual=max(0.1 * stop.slightly, residual),
            max_iter=max(stop.max_iter - n_iter, 1),
        )
        n_iter += max(result.n_iter, 1)
        theta, log_ratio = result.point.theta, result.log_ratio
        log_weights = result.point.log_weights
        fitted = log_softmax(log_ratio)
        certificate = problem.certify(theta, log_ratio, fitted, alpha)
        history.append(certificate.gap)
        point = RatioPoint(
            theta=theta, log_ratio=log_ratio, log_weights=fitted, certificate=certificate,
            n_iter=n_iter, history=history,
        )  # fmt: skip
        has_run_away = problem.ridge == 0 and np.ptp(log_ratio) > stop.spread
        if n_iter >= stop.max_iter or has_run_away or _is_done(point, stop):
            return point
        size = min(growth * size, largest)
        inner_gap, residual = 0.01 * certificate.gap, 0.1 * residual


def _primal(problem: RatioProblem, alpha: float, before: RatioPoint, stop: Stop) -> RatioPoint:
    found = accelerated_gradients(
        problem, alpha, before.theta, gap=stop.gap, slightly=stop.slightly,
        max_iter=100 * stop.max_iter, spread=np.inf if problem.ridge > 0 else stop.spread,
    )  # fmt: skip
    return RatioPoint(
        theta=found.theta,
        log_ratio=found.log_ratio,
        log_weights=log_softmax(found.log_ratio),
        certificate=found.certificate,
        n_iter=before.n_iter + found.n_iter,
        history=before.history + found.history,
        pace=before.pace,
    )


def _refuse_unbounded(
    problem: RatioProblem, alpha: float, point: RatioPoint, stop: Stop
) -> RatioPoint:
    """Where steps without a ridge did not get there, see whether there is anywhere to get to."""
    if problem.ridge > 0 or _is_done(point, stop):
        return point
    smallest = smallest_bounded_alpha(problem)
    if alpha >= smallest:
        return point
    # Rounded up, so that what is printed does work.
    unit = 10.0 ** (np.floor(np.log10(smallest)) - 3)
    raise SolverError(
        f"With ridge=0 the objective has no minimum at alpha={alpha:.4g}: it is bounded only from "
        f"alpha={np.ceil(smallest / unit) * unit:.4g} on. Raise alpha to that, or pass a positive "
        "ridge."
    )


def _variables(pairs: IntArray, d: int) -> IntArray:
    """Variables in some pairs, in order."""
    return np.unique(np.concatenate([pairs // d, pairs % d]))


def _lift(pairs: IntArray, chosen: IntArray, d: int) -> IntArray:
    """Numbers among all variables of pairs among some."""
    return np.asarray(chosen[pairs // len(chosen)] * d + chosen[pairs % len(chosen)])


def _restrict(point: RatioPoint, chosen: IntArray, d: int) -> RatioPoint:
    """Give the pairs of a point the numbers they have among some variables, which hold them."""
    first, second = point.theta.pairs // d, point.theta.pairs % d
    pairs = np.searchsorted(chosen, first) * len(chosen) + np.searchsorted(chosen, second)
    return replace(point, theta=Coefficients(pairs, point.theta.values), n_iter=0, history=[])
