"""Regularisation path of the density ratio: screening, dual and proximal steps, bounded alphas."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import linprog

from edgewise._core.errors import SolverError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.change.ratio_newton import DualProblem, Proximal, newton
from edgewise.solvers.change.ratio_problem import (
    Certificate,
    Coefficients,
    RatioProblem,
    log_softmax,
)
from edgewise.stats.pair_features import PairMoments

#: Pairs added to the linear programme at a time.
BATCH = 200
#: Accuracy relative to the bound, and to the standard deviation of the features.
RELATIVE, ABSOLUTE = 1e-6, 1e-8
#: Accuracy of the linear programme, whose features have a standard deviation of 1.
FEASIBLE: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
INFEASIBLE = 2


def smallest_bounded_alpha(problem: RatioProblem, *, max_rounds: int = 200) -> float:
    r"""Minimise ``max_G |g_G - H_G a|`` over weights a on the simplex.

    The objective without a ridge is bounded below if and only if some weights have all slacks at
    most alpha. Lengths are approximated from below by the cuts ``u'(g_G - H_G a) <= t``, u the
    direction of a slack that was too long: a linear programme that grows until no pair is longer
    than its optimum. What is returned is the largest length, which the last weights attain.
    """
    features, unit = problem.features, np.sqrt(problem.feature_variance())
    n = features.n_samples
    weights = np.full(n, 1.0 / n)
    cuts, limits = np.empty((0, n + 1)), np.empty(0)
    exact, values = _free_diagonal(problem)
    lower, largest = 0.0, np.inf
    for _ in range(max_rounds):
        moments = features.moments(weights)
        pairs = _longest(problem, moments, lower)
        slack = problem.slack(moments, pairs)
        length = np.sqrt(np.sum(slack**2, axis=1))
        largest = float(np.max(length, initial=lower))
        if largest <= lower + max(RELATIVE * lower, ABSOLUTE * unit):
            break
        # A single feature can be too long either way, and soon will be.
        units = [slack / length[:, None]]
        if features.size == 1:
            units.append(-units[0])
        columns = features.columns(pairs, np.ones(n))
        for along in units:
            rows = -np.einsum("gb,gbn->gn", along, columns) / unit
            cuts = np.vstack([cuts, np.column_stack([rows, -np.ones(len(rows))])])
            target = np.sum(along * problem.target.at(pairs), axis=1)
            limits = np.append(limits, -target / unit)
        found = linprog(
            np.append(np.zeros(n), 1.0), A_ub=cuts, b_ub=limits,
            A_eq=np.vstack([np.append(np.ones(n), 0.0), exact / unit]),
            b_eq=np.append(1.0, values / unit), bounds=(0.0, None), method="highs",
            options=FEASIBLE,
        )  # fmt: skip
        if found.x is None:
            raise SolverError(_reason(found.status, found.message))
        lower = float(found.x[n]) * unit
        weights = np.maximum(found.x[:n], 0.0)
        weights /= weights.sum()
    return largest


def _longest(problem: RatioProblem, moments: PairMoments, lower: float) -> IntArray:
    """Penalised pairs with the longest slacks above a bound, at most so many at a time."""
    diagonal = lower if problem.penalize_diagonal else np.inf
    pairs = problem.target.above(moments, lower, diagonal)
    length = np.sum(problem.slack(moments, pairs) ** 2, axis=1)
    return np.sort(pairs[np.argsort(-length, kind="stable")[:BATCH]])


def _free_diagonal(problem: RatioProblem) -> tuple[FloatArray, FloatArray]:
    """Equations ``H_G a = g_G`` of the variables whose own features carry no penalty."""
    n, d = problem.features.n_samples, problem.features.n_variables
    if problem.penalize_diagonal:
        return np.empty((0, n + 1)), np.empty(0)
    pairs = np.arange(d) * (d + 1)
    rows = problem.features.columns(pairs, np.ones(n)).reshape(-1, n)
    values = problem.target.at(pairs).ravel()
    return np.column_stack([rows, np.zeros(len(rows))]), values


def _reason(status: int, message: str) -> str:
    if status == INFEASIBLE:
        return (
            "Without a ridge and with a free diagonal the ratio has no minimum for any alpha: no "
            "weights of the first group match the variances of the second. Pass a ridge."
        )
    return f"The linear programme for the smallest alpha failed: {message}"


#: Steps between two looks at the gap.
CHECK = 10
#: Share by which the curvature is lowered at every step, so that steps can grow again.
EASE = 0.97


@dataclass(frozen=True, kw_only=True, eq=False)
class PrimalResult:
    """Where the gradient steps stopped."""

    theta: Coefficients
    log_ratio: FloatArray
    certificate: Certificate
    n_iter: int
    history: list[float]


def accelerated_gradients(
    problem: RatioProblem,
    alpha: float,
    start: Coefficients,
    *,
    gap: float,
    slightly: float,
    max_iter: int,
    spread: float,
) -> PrimalResult:
    """Step until the gap is small, with an excess of at most ``slightly``.

    Momentum starts anew whenever it points uphill. Steps end when the log ratios of two rows are
    ``spread`` apart: without a ridge the objective then has no minimum.
    """
    theta, ratio = start, problem.log_ratio(start)
    ahead, ratio_ahead = theta, ratio
    momentum, curvature = 1.0, problem.feature_variance() + problem.ridge
    history: list[float] = []
    for n_iter in range(max_iter + 1):
        if n_iter % CHECK == 0 or n_iter == max_iter:
            found = problem.certify(theta, ratio, log_softmax(ratio), alpha)
            history.append(found.gap)
            if found.gap <= gap and found.excess <= slightly:
                break
            if n_iter == max_iter or np.ptp(ratio) > spread:
                break
        moved, moved_ratio, curvature = _step(problem, alpha, ahead, ratio_ahead, curvature)
        forward = moved.plus(theta, -1.0)
        if ahead.dot(forward) > moved.dot(forward):
            momentum, ahead, ratio_ahead = 1.0, moved, moved_ratio
        else:
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            share = (momentum - 1.0) / following
            ahead = moved.plus(forward, share)
            ratio_ahead = moved_ratio + share * (moved_ratio - ratio)
            momentum = following
        theta, ratio = moved, moved_ratio
        curvature *= EASE
    return PrimalResult(
        theta=theta, log_ratio=ratio, certificate=found, n_iter=n_iter, history=history
    )


def _step(
    problem: RatioProblem,
    alpha: float,
    ahead: Coefficients,
    ratio_ahead: FloatArray,
    curvature: float,
) -> tuple[Coefficients, FloatArray, float]:
    """One proximal step, with the curvature doubled until it bounds the loss from above."""
    loss = problem.loss(ahead, ratio_ahead)
    moments = problem.features.moments(np.exp(log_softmax(ratio_ahead)))
    while True:
        shift = ahead.scaled(curvature - problem.ridge)
        moved = problem.shrink(moments, alpha, curvature, shift)
        ratio = problem.log_ratio(moved)
        step = moved.plus(ahead, -1.0)
        squares = float(np.sum(step.values**2))
        slope = problem.ridge * ahead.dot(step) - float(
            np.sum(problem.slack(moments, step.pairs) * step.values)
        )
        bound = loss + slope + 0.5 * curvature * squares
        if problem.loss(moved, ratio) <= bound + 1e-13 * max(1.0, abs(loss)):
            return moved, ratio, curvature
        curvature *= 2.0


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
    raise SolverError("ratio_unbounded", alpha=alpha, ceil=np.ceil(smallest / unit) * unit)


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
