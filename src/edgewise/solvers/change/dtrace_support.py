"""Steps of the D-trace solver on some entries: descent, and Newton's step for their signs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from edgewise._core.jit import scratch
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.change.dtrace_kernels import (
    curve,
    descend,
    gram,
    list_curvatures,
    list_entries,
)
from edgewise.solvers.change.dtrace_problem import DTraceProblem

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


@dataclass(frozen=True, eq=False)
class Entries:
    """Some entries of a symmetric matrix, in the order of rows.

    Attributes
    ----------
    problem : DTraceProblem
        What the entries belong to.
    starts, columns, mates : ndarray of int
        As in `edgewise.solvers.change.dtrace_kernels`.
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


def improve(
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
            return direction, True, True
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
    weight = np.where(first == second, 1.0, np.sqrt(2.0))
    values, vectors = linalg.eigh(matrix, driver="evd", check_finite=False)
    pulls = vectors.T @ (weight * pull[above])
    is_curved = values > FLAT * values[-1]
    is_flat = bool(np.abs(pulls[~is_curved]).sum() > NO_PULL * np.abs(pulls).sum())
    if is_flat:
        parts = np.where(is_curved, 0.0, pulls)
    else:
        parts = np.divide(pulls, values, out=np.zeros_like(pulls), where=is_curved)
    step = np.empty_like(pull)
    step[above] = (vectors @ parts) / weight
    step[entries.mates[above]] = step[above]
    return step, is_flat
