"""Sparse difference of two precision matrices by the D-trace loss, certified."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for, scratch
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._arguments import check_nonnegative, check_numbers
from edgewise.solvers._solution import DECIDE, Solution, go_on
from edgewise.solvers.change.decided import DTraceProof
from edgewise.solvers.change.dtrace_problem import (
    DTraceProblem,
    curve,
    descend,
    gram,
    list_curvatures,
    list_entries,
    measure,
    scale_diagonal,
)
from edgewise.solvers.gaussian.standard_form import writable

#: A round need not be more accurate than this share of the gap before it.
FORCING = 0.01
#: Nor less than as many times the goal: a dual point far off makes gaps that say little.
LOOSEST = 1e3
#: Rounds without progress after which rounding must be in the way.
PATIENCE = 20
#: An objective, which has no unit, that can fall by as much per variable has no minimum.
BOTTOMLESS = 1e10
#: Products of two covariances of this size can be squared and summed without overflow.
LARGEST = 1e70
#: Sweeps of descent before a Newton step; one where the listed entries are many.
SWEEPS = 2
#: Above this share of all entries, whole products by BLAS are faster than listed ones.
MANY = 0.1
#: Times that a step which changes too many signs is halved.
HALVINGS = 6
#: Newton steps in a round, each but the last of which meets a change of sign.
NEWTON_STEPS = 10
#: Steps of conjugate gradients; few where a direct solution of as many equations comes next.
MAX_STEPS, FEW_STEPS, FEW = 1000, 50, 1000
#: What conjugate gradients may leave, as a share of the goal.
SHARE = 0.05
#: Curvature that counts as none, as a share of the largest.
FLAT = 1e-14
#: Pull that counts as none along directions without curvature, as a share of all.
NO_PULL = 1e-7


@dataclass(frozen=True, kw_only=True, eq=False)
class DifferenceSolution(Solution):
    """Solution whose ``value`` is a difference of two precision matrices.

    Attributes
    ----------
    alpha : float
        Penalty strength that the problem was solved for.
    """

    alpha: float


def dtrace(
    S_q: FloatArray,
    S_p: FloatArray,
    alpha: float,
    *,
    ridge: float = 0.0,
    penalize_diagonal: bool = True,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    decide: float = DECIDE,
) -> DifferenceSolution:
    r"""Estimate a sparse difference of two precision matrices without estimating either.

    Minimises over symmetric :math:`\Delta`

    .. math::
        \tfrac14 \left( \langle S_P \Delta, \Delta S_Q \rangle
        + \langle S_Q \Delta, \Delta S_P \rangle \right) - \langle \Delta, S_Q - S_P \rangle
        + \tfrac{\mathrm{ridge}}{2} \|\Delta\|^2 + \alpha \sum_{ij} |\Delta_{ij}|,

    where :math:`S_Q` and :math:`S_P` are the covariances before and after [1]_. Without penalties
    the minimum is where :math:`S_P \Delta S_Q = S_Q - S_P`, that is, at
    :math:`\Delta = S_P^{-1} - S_Q^{-1}`. Every entry of the symmetric matrix counts, so that a
    pair costs :math:`2 \alpha |\Delta_{ij}|`; the sum leaves out :math:`i = j` unless
    ``penalize_diagonal``.

    Parameters
    ----------
    S_q, S_p : ndarray of shape (d, d)
        Covariances of Q, before, and of P, after; positive semidefinite.
    alpha : float
        Penalty strength, at least 0. From `dtrace_alpha_max` on nothing changes.
    ridge : float
        Curvature in all directions. With 0 and a singular covariance (no more rows than
        variables) there is a minimum only if alpha is large enough.
    penalize_diagonal : bool
        Whether alpha counts for the diagonal, the change of each variable given all others.
    init : ndarray of shape (d, d), optional
        Difference to start from, such as the solution for a nearby ``alpha``.
    tol : float
        Duality gap per variable at which to stop.
    max_iter : int
        Largest number of rounds, the first of which only looks at the start.
    decide : float
        Rounds that may follow while pairs are not ``decided``, as a multiple of those that led to
        ``tol``; 0 stops there. An entry is proven to be there only where both covariances are
        definite, or with a ridge.

    Returns
    -------
    DifferenceSolution
        ``value`` is the precision of P minus that of Q: symmetric, with exact zeros.

    Raises
    ------
    InputError
        If an argument is not valid.
    SolverError
        If the objective falls without bound.

    Notes
    -----
    Each round sweeps over the entries that are not 0 or have too large a residual, one at a time,
    takes Newton's step for the signs these have then, by conjugate gradients, and computes all
    residuals with two products of matrices. The loss is curved like
    :math:`\Delta \mapsto (S_P \Delta S_Q + S_Q \Delta S_P) / 2`, an operator that is never formed.

    The gap is exact at a feasible dual point: with a ridge, the point of :math:`\Delta` itself;
    with two covariances of full rank, the residual scaled down to alpha. Where neither holds,
    alpha is lowered inside the solver by so little that the gap bears it, and the residual of that
    problem is feasible as it is; until then the gap is infinite. What rounding may have done to
    the residuals counts in the gap.

    References
    ----------
    .. [1] Yuan, Xi, Chen and Deng (2017). Differential network analysis via lasso penalized
       D-trace loss. *Biometrika* 104(4). https://doi.org/10.1093/biomet/asx049

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import dtrace
    >>> before = np.eye(3)
    >>> after = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.1], [0.0, 0.1, 1.0]])
    >>> solution = dtrace(before, after, 0.2)
    >>> solution.value.round(3)
    array([[ 0.062, -0.437,  0.   ],
           [-0.437,  0.062,  0.   ],
           [ 0.   ,  0.   ,  0.   ]])
    >>> solution.converged, solution.gap <= 1e-6 * 3
    (True, True)
    """
    path = dtrace_path(
        S_q, S_p, [alpha], ridge=ridge, penalize_diagonal=penalize_diagonal, init=init, tol=tol,
        max_iter=max_iter, decide=decide,
    )  # fmt: skip
    return next(path)


def dtrace_path(
    S_q: FloatArray,
    S_p: FloatArray,
    alphas: Sequence[float] | FloatArray,
    *,
    ridge: float = 0.0,
    penalize_diagonal: bool = True,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 200,
    decide: float = 0.0,
) -> Iterator[DifferenceSolution]:
    """Solve `dtrace` at one alpha after the other, each from the solution before.

    Parameters
    ----------
    S_q, S_p : ndarray of shape (d, d)
        Covariances of Q, before, and of P, after.
    alphas : sequence of float
        Penalty strengths, best from large to small.
    ridge, penalize_diagonal, init, tol, max_iter
        As in `dtrace`.
    decide : float
        As in `dtrace`, for the last of ``alphas``.

    Yields
    ------
    DifferenceSolution

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.dtrace import dtrace_path
    >>> before = np.eye(3)
    >>> after = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.1], [0.0, 0.1, 1.0]])
    >>> path = dtrace_path(before, after, [0.7, 0.3, 0.0])
    >>> [int(np.count_nonzero(np.triu(solution.value, 1))) for solution in path]
    [0, 1, 3]
    """
    problem = _checked(S_q, S_p, ridge, penalize_diagonal)
    strengths = np.asarray(alphas, dtype=np.float64)
    if strengths.ndim != 1 or strengths.size == 0:
        raise InputError("alphas_empty")
    check_numbers(strengths, tol, max_iter)
    start = np.zeros_like(problem.A) if init is None else _checked_start(init, len(problem.A))
    return _walk(problem, strengths, start, tol, max_iter, decide)


def dtrace_alpha_max(
    S_q: FloatArray, S_p: FloatArray, *, ridge: float = 0.0, penalize_diagonal: bool = True
) -> float:
    """Return the smallest ``alpha`` at which `dtrace` finds no change.

    Parameters
    ----------
    S_q, S_p : ndarray of shape (d, d)
        Covariances of Q, before, and of P, after.
    ridge, penalize_diagonal
        As in `dtrace`. A free diagonal may change at any alpha, and the residuals with it.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.dtrace import dtrace_alpha_max
    >>> dtrace_alpha_max(np.eye(2), np.array([[1.0, -0.6], [-0.6, 1.0]]))
    0.6
    """
    problem = _checked(S_q, S_p, ridge, penalize_diagonal)
    Delta = np.zeros_like(problem.A)
    return float(measure(Delta, problem.residual(Delta), not penalize_diagonal)[2])


def _checked(
    S_q: FloatArray, S_p: FloatArray, ridge: float, penalize_diagonal: bool
) -> DTraceProblem:
    """Return the problem, or say which argument does not fit."""
    B, A = (_checked_covariance(S, name) for S, name in ((S_q, "S_q"), (S_p, "S_p")))
    if A.shape != B.shape:
        raise InputError("dtrace_shapes", shape=B.shape, shape2=A.shape)
    check_nonnegative(ridge=ridge)
    problem = DTraceProblem(A, B, float(ridge), penalize_diagonal)
    with blas_threads_for(len(A)):
        problem.check()
    return problem


def _checked_covariance(S: FloatArray, name: str) -> FloatArray:
    S = writable(S)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise InputError("not_covariance_shape", name=name, shape=S.shape)
    if not np.isfinite(S).all():
        raise InputError("rows_not_finite_named", name=name)
    if np.abs(S).max() > LARGEST:
        raise InputError("products_overflow", name=name, value=np.abs(S).max())
    if np.abs(S - S.T).max() > 1e-8 * np.abs(S).max():
        raise InputError("covariance_asymmetric_named", name=name)
    return 0.5 * (S + S.T)


def _checked_start(init: FloatArray, d: int) -> FloatArray:
    start = np.array(init, dtype=np.float64)
    if start.shape != (d, d) or not np.isfinite(start).all():
        raise InputError("dtrace_init", d=d)
    return 0.5 * (start + start.T)


def _walk(
    problem: DTraceProblem,
    alphas: FloatArray,
    Delta: FloatArray,
    tol: float,
    max_iter: int,
    decide: float,
) -> Iterator[DifferenceSolution]:
    """Solve for each of ``alphas`` in turn; residuals do not depend on alpha and are kept."""
    with blas_threads_for(len(Delta)):
        residual = problem.residual(Delta)

    def solve(alpha: float, tol: float, max_iter: int) -> DifferenceSolution:
        nonlocal residual
        solution, residual = _solve(problem, Delta, residual, alpha, tol, max_iter)
        return solution

    for k, alpha in enumerate(alphas.tolist()):

        def again(gap: float, max_iter: int, alpha: float = alpha) -> DifferenceSolution:
            # The first round only looks at the start.
            return solve(alpha, gap / len(Delta), max_iter + 1)

        effort = decide if k == len(alphas) - 1 else 0.0
        with blas_threads_for(len(Delta)):
            solution = go_on(solve(alpha, tol, max_iter), again, effort, len(Delta))
        yield solution


def _solve(
    problem: DTraceProblem,
    Delta: FloatArray,
    residual: FloatArray,
    alpha: float,
    tol: float,
    max_iter: int,
) -> tuple[DifferenceSolution, FloatArray]:
    """Run rounds until the gap is met; ``Delta`` is changed in place."""
    goal = tol * len(Delta)
    if alpha == 0.0 and problem.ridge == 0.0 and problem.is_definite:
        Delta[:] = problem.unpenalised
        residual = problem.residual(Delta)
    history = [problem.gap(Delta, residual, alpha)]
    if problem.may_be_unbounded and history[-1] > goal and alpha < problem.bottomless_alpha:
        problem.no_minimum(alpha)
    while history[-1] > goal and len(history) < max_iter:
        # Where the gap is infinite, no less than the goal makes it finite.
        effort = min(max(1.0, FORCING * history[-1] / goal), LOOSEST) * goal
        if np.isinf(history[-1]):
            effort = goal
        before = Delta.copy(), residual
        _improve(problem, Delta, residual, _inner_alpha(problem, Delta, alpha, goal), effort)
        residual = problem.residual(Delta)
        if problem.may_be_unbounded:
            _refuse_ray(problem, Delta - before[0], before[1] - residual, alpha, goal)
        history.append(problem.gap(Delta, residual, alpha))
        if np.isfinite(history[-1]) and history[-1] >= min(history[:-PATIENCE], default=np.inf):
            break
    solution = DifferenceSolution(
        value=Delta.copy(),
        objective=problem.objective(Delta, residual, alpha),
        gap=history[-1],
        n_iter=len(history),
        converged=history[-1] <= goal,
        history=np.array(history),
        alpha=alpha,
        proof=DTraceProof(problem=problem),
    )
    return solution, residual


def _inner_alpha(problem: DTraceProblem, Delta: FloatArray, alpha: float, goal: float) -> float:
    """Lower alpha by as little as half of the goal can bear, where no scaling is feasible."""
    if not problem.may_be_unbounded:
        return alpha
    size = measure(Delta, Delta, not problem.penalize_diagonal)[0]
    return alpha - min(0.5 * goal / size, 0.1 * alpha) if size > 0.0 else alpha


def _refuse_ray(
    problem: DTraceProblem, step: FloatArray, curved: FloatArray, alpha: float, goal: float
) -> None:
    """Raise an error where the objective falls on and on along the step of the last round.

    With slope -s and curvature c along the step it falls by up to s^2 / 2c.
    """
    size = measure(step, step, not problem.penalize_diagonal)[0]
    slope = float(np.vdot(problem.C, step)) - alpha * size
    curvature = max(float(np.vdot(step, curved)), 0.0)
    if slope > goal and slope**2 > 2.0 * curvature * BOTTOMLESS * len(step):
        problem.no_minimum(alpha)


@dataclass(frozen=True, eq=False)
class Entries:
    """Some entries of a symmetric matrix, in the order of rows.

    Attributes
    ----------
    problem : DTraceProblem
        What the entries belong to.
    starts : ndarray of shape (d + 1,)
        Number of the first entry of every row, and of all.
    columns, mates : ndarray of int
        Column of every entry, and the number of the entry on the other side of the diagonal.
    """

    problem: DTraceProblem
    starts: IntArray
    columns: IntArray
    mates: IntArray

    @classmethod
    def pulled(
        cls, problem: DTraceProblem, Delta: FloatArray, residual: FloatArray, alpha: float
    ) -> Entries:
        """List what is not 0, or would not stay 0 at ``alpha``; all that is free besides."""
        is_free = not problem.penalize_diagonal
        return cls(problem, *list_entries(Delta, residual, problem.ridge, alpha, is_free))

    @cached_property
    def rows(self) -> IntArray:
        """Row of every entry."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def is_many(self) -> bool:
        """Whether the entries are a large share of all."""
        return len(self.columns) > MANY * (len(self.starts) - 1) ** 2

    def take(self, matrix: FloatArray) -> FloatArray:
        """Return the entries of a matrix."""
        return np.asarray(matrix[self.rows, self.columns])

    def put(self, values: FloatArray, matrix: FloatArray) -> None:
        """Write the entries into a matrix."""
        matrix[self.rows, self.columns] = values

    def thresholds(self, alpha: float) -> FloatArray:
        """Penalty of every entry."""
        if self.problem.penalize_diagonal:
            return np.full(len(self.columns), alpha)
        return np.where(self.rows == self.columns, 0.0, alpha)

    def curve(self, values: FloatArray) -> FloatArray:
        """Second derivative of loss and ridge, applied to a matrix that is 0 elsewhere."""
        problem, d = self.problem, len(self.starts) - 1
        if self.is_many:
            whole = scratch("dtrace entries", (d, d))
            whole[:] = 0.0
            self.put(values, whole)
            product = problem.sandwich(whole)
            out = 0.5 * (self.take(product) + self.take(product.T))
        else:
            out = np.empty_like(values)
            products = scratch("dtrace products", (2, d, d))
            pattern = (self.starts, self.columns, self.mates)
            curve(problem.A, problem.B, *pattern, values, products, out)
        return out + problem.ridge * values

    def descend(self, values: FloatArray, alpha: float, enough: float) -> None:
        """Sweep over the entries, in place, until the objective falls by less than ``enough``."""
        problem = self.problem
        thresholds = (alpha, alpha if problem.penalize_diagonal else 0.0)
        pattern = (self.starts, self.columns, self.mates)
        for _ in range(1 if self.is_many else SWEEPS):
            fall = descend(problem.A, problem.B, problem.ridge, thresholds, *pattern, values)
            if fall <= enough:
                break


def _improve(
    problem: DTraceProblem, Delta: FloatArray, residual: FloatArray, alpha: float, goal: float
) -> None:
    """Bring ``Delta`` closer to the minimum, in place, on the entries that matter now.

    What is left to do on these entries is worth less than ``goal``, unless signs changed.
    """
    entries = Entries.pulled(problem, Delta, residual, alpha)
    values = entries.take(Delta)
    entries.descend(values, alpha, 1e-3 * goal)
    entries.put(values, Delta)
    for _ in range(NEWTON_STEPS):
        support = Entries.pulled(problem, Delta, residual, np.inf)
        values, is_whole = _newton(support, support.take(Delta), alpha, goal)
        support.put(values, Delta)
        if is_whole:
            break


def _newton(
    entries: Entries, values: FloatArray, alpha: float, goal: float
) -> tuple[FloatArray, bool]:
    """Step to the minimum for the signs of the entries, as far as they allow.

    Returns the new values, and whether no sign was in the way.
    """
    if len(values) == 0:
        return values, True
    thresholds = entries.thresholds(alpha)
    linear = entries.take(entries.problem.C) - thresholds * np.sign(values)
    pull = linear - entries.curve(values)
    is_bound = thresholds > 0.0
    size = float(np.abs(values[is_bound]).sum())
    step, is_flat = _newton_step(entries, pull, size, goal)
    if is_flat:
        # Without curvature there is no end but a change of sign.
        crosses = is_bound & (step * values < 0.0)
        if not crosses.any():
            entries.problem.no_minimum(alpha)
        return _first_crossing(values, step, crosses), False
    crosses = is_bound & ((values + step) * values <= 0.0)
    if not crosses.any():
        return values + step, True
    for length in 0.5 ** np.arange(HALVINGS):
        target = values + length * step
        target[is_bound & (target * values <= 0.0)] = 0.0
        change = target - values
        if 0.5 * float(change @ entries.curve(change)) < float(pull @ change):
            return target, False
    return _first_crossing(values, step, crosses), False


def _first_crossing(values: FloatArray, step: FloatArray, crosses: BoolArray) -> FloatArray:
    """Go along ``step`` until the first entry meets 0."""
    share = np.full_like(values, np.inf)
    np.divide(-values, step, out=share, where=crosses)
    length = share.min()
    moved = values + length * step
    moved[share <= length * (1.0 + 1e-12)] = 0.0
    return np.asarray(moved)


def _newton_step(
    entries: Entries, pull: FloatArray, size: float, goal: float
) -> tuple[FloatArray, bool]:
    """Solve for the step that meets ``pull``; or return a direction without curvature.

    What stays unmet costs at most its largest entry times ``size``, or its square over twice the
    ridge, in the duality gap.
    """
    ridge = entries.problem.ridge

    def is_met(left: FloatArray) -> bool:
        cost = float(np.abs(left).max()) * size
        if ridge > 0.0:
            cost = min(cost, float(left @ left) / (2.0 * ridge))
        return cost <= SHARE * goal

    is_few = len(pull) <= FEW
    step, is_flat, is_done = _conjugate_gradients(
        entries, pull, is_met, FEW_STEPS if is_few else MAX_STEPS
    )
    if is_few and (is_flat or not is_done):
        return _direct(entries, pull)
    return step, is_flat


def _conjugate_gradients(
    entries: Entries, pull: FloatArray, is_met: Callable[[FloatArray], bool], max_steps: int
) -> tuple[FloatArray, bool, bool]:
    """Return the step, whether it is one without curvature instead, and whether it is accurate."""
    ridge = entries.problem.ridge
    scale = np.empty_like(pull)
    list_curvatures(entries.problem.A, entries.problem.B, entries.starts, entries.columns, scale)
    scale += ridge
    if scale.min() <= 0.0:
        flat = scale <= 0.0
        return np.where(flat, pull, 0.0), bool(pull[flat].any()), True
    step = np.zeros_like(pull)
    left = pull.copy()
    scaled = left / scale
    direction = scaled.copy()
    product = float(left @ scaled)
    for _ in range(max_steps):
        if is_met(left):
            return step, False, True
        curved = entries.curve(direction)
        curvature = float(direction @ curved)
        if curvature <= FLAT * float(direction @ (scale * direction)):
            # With a ridge that is rounding: no direction is flat.
            return (step, False, False) if ridge > 0.0 else (direction, True, True)
        length = product / curvature
        step += length * direction
        left -= length * curved
        scaled = left / scale
        previous, product = product, float(left @ scaled)
        direction = scaled + (product / previous) * direction
    return step, False, False


def _direct(entries: Entries, pull: FloatArray) -> tuple[FloatArray, bool]:
    """Solve by eigenvalues; the part of ``pull`` without curvature comes first."""
    above = np.flatnonzero(entries.rows <= entries.columns)
    first, second = entries.rows[above], entries.columns[above]
    matrix = np.empty((len(above), len(above)))
    gram(entries.problem.A, entries.problem.B, entries.problem.ridge, first, second, matrix)
    # In the orthonormal basis a pair stands for both of its entries.
    root = np.where(first == second, 1.0, np.sqrt(2.0))
    matrix, unit = scale_diagonal(matrix)
    weight, backward = root / unit, 1.0 / (root * unit)
    values, vectors = linalg.eigh(matrix, driver="evd", check_finite=False)
    pulls = vectors.T @ (weight * pull[above])
    is_curved = values > FLAT * values[-1]
    is_flat = entries.problem.ridge == 0.0 and bool(
        np.abs(pulls[~is_curved]).sum() > NO_PULL * np.abs(pulls).sum()
    )
    if is_flat:
        parts = np.where(is_curved, 0.0, pulls)
    else:
        parts = np.divide(pulls, values, out=np.zeros_like(pulls), where=is_curved)
    step = np.empty_like(pull)
    step[above] = (vectors @ parts) * backward
    step[entries.mates[above]] = step[above]
    return step, is_flat
