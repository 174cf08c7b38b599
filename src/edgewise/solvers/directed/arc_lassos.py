"""Lassos of all arcs, shared by the solvers for sparse Gaussian Bayesian networks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from joblib import effective_n_jobs

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._arguments import check_numbers
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.tiers import minimize_agony
from edgewise.solvers.gaussian.standard_form import check_problem, writable
from edgewise.solvers.lasso.gram import (
    PARTIAL,
    certificate,
    find_support,
    polish,
    set_residual,
    sweep,
)

#: Passes over the support, and exact steps on it, between two checks of all coefficients.
_SUPPORT_PASSES = 10
_POLISHES = 10


@kernel
def set_penalties(
    base: FloatArray, tiers: IntArray, strength: float, penalties: FloatArray
) -> None:
    """Write ``base[j, i] + strength * max(0, 1 - (tiers[j] - tiers[i]))``, for i in equation j.

    An infinite strength forbids every arc that does not go up, and adds nothing to the others.
    """
    for j in range(base.shape[0]):
        for i in range(base.shape[1]):
            climb = tiers[j] - tiers[i]
            penalties[j, i] = base[j, i]
            if climb < 1:
                penalties[j, i] += strength * (1 - climb)


@kernel
def regress_all(
    G: FloatArray,
    scale: FloatArray,
    penalties: FloatArray,
    rows: FloatArray,
    first: int,
    last: int,
    tol: float,
    max_rounds: int,
    report: FloatArray,
) -> None:
    """Regress the variables from ``first`` to ``last`` on all others, in place.

    ``scale`` is the root of the diagonal of G.
    ``rows[j, i]`` is the coefficient of i in the regression of j, and ``penalties[j, i]`` its
    weight. ``report[j]`` is set to objective, duality gap and violation, as in `solve_column`.
    """
    residual = np.empty(G.shape[0])
    support = np.empty(G.shape[0], np.int64)
    for j in range(first, last):
        solve_column(
            G, scale, j, penalties[j], rows[j], residual, support, tol, max_rounds, report[j]
        )


@kernel
def solve_column(
    G: FloatArray,
    scale: FloatArray,
    j: int,
    w: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    support: IntArray,
    tol: float,
    max_rounds: int,
    report: FloatArray,
) -> None:
    """Minimise G_jj / 2 - G_j'b + b'G b / 2 + sum_i w_i |b_i| from the start ``b``, in place.

    Coordinate descent with exact steps on the support, as in `_lasso_kernels.descend`, but until
    no optimality condition is violated by more than ``tol``: |r_i - w_i sign(b_i)| on the support
    and |r_i| - w_i elsewhere, for r = G_j - G b, both in units of ``scale[i] * scale[j]``.
    """
    n_variables = G.shape[0]
    c = G[j]
    for i in range(n_variables):
        if w[i] == np.inf:
            b[i] = 0.0
    set_residual(G, c, b, residual)
    violation = np.inf
    for _ in range(max_rounds):
        for i in range(n_variables):
            support[i] = i
        sweep(G, w, b, residual, support, n_variables)
        set_residual(G, c, b, residual)
        violation = largest_violation(w, b, residual, scale) / scale[j]
        if violation <= tol:
            break
        n_support = find_support(b, support)
        for _ in range(_SUPPORT_PASSES):
            if sweep(G, w, b, residual, support, n_support) <= (tol * scale[j]) ** 2:
                break
        for _ in range(_POLISHES):
            n_support = find_support(b, support)
            if polish(G, c, w, b, residual, support[:n_support]) != PARTIAL:
                break
    fit = c[j]
    penalty = 0.0
    for i in range(n_variables):
        if b[i] != 0.0:
            fit -= b[i] * (c[i] + residual[i])
            penalty += w[i] * abs(b[i])
    report[0] = 0.5 * fit + penalty
    report[1] = certificate(c, w, b, residual, c[j])
    report[2] = violation


@kernel
def largest_violation(
    w: FloatArray, b: FloatArray, residual: FloatArray, scale: FloatArray
) -> float:
    """Find by how much the optimality condition of a coefficient is missed, at most."""
    largest = 0.0
    for i in range(len(b)):
        miss = abs(residual[i]) - w[i]
        if b[i] != 0.0:
            miss = abs(residual[i] - w[i] * np.sign(b[i]))
        largest = max(largest, miss / scale[i])
    return largest


SCHEDULES: Final = ("homotopy", "literal")
#: Largest number of rounds of one lasso; each ends with an exact step on its support.
MAX_ROUNDS = 1000
#: Values that the strength of the order takes on its way up to the bound, and where it starts.
N_STRENGTHS = 12
FIRST_STRENGTH = 0.02


@dataclass(frozen=True, kw_only=True, eq=False)
class BayesNetSolution(Solution):
    """Coefficients of a sparse Gaussian Bayesian network.

    ``value[i, j]`` is the coefficient of the arc i -> j. ``objective`` is that of the lassos, to
    which arcs against the order add nothing where there are none; ``gap`` the sum of their duality
    gaps given what the order allows; ``violation`` the largest miss of their optimality
    conditions, in units of correlation.

    Attributes
    ----------
    tiers : ndarray of shape (m,)
        Smallest tiers in which every arc goes up, from 0.
    intercept : ndarray of shape (m,)
        Penalised intercepts; 0 where ``S`` is all the solver was given.
    strengths : ndarray of shape (n_iter,)
        Strength of the order behind each entry of ``history``; infinite where arcs against the
        order are forbidden outright.
    """

    tiers: IntArray
    intercept: FloatArray
    strengths: FloatArray
    violation: float

    @property
    def is_acyclic(self) -> bool:
        """Whether every arc goes up."""
        tails, heads = np.nonzero(self.value)
        return bool((self.tiers[tails] < self.tiers[heads]).all())


@dataclass(kw_only=True)
class ArcLassos:
    """All regressions of a network, with the history of how they were solved.

    Coefficients are held as ``rows``: ``rows[j, i]`` is that of the arc i -> j. The penalised
    intercept is the coefficient of one more variable, constant and below every tier.
    """

    G: FloatArray
    base: FloatArray
    n_nodes: int
    tol: float
    n_jobs: int | None
    history: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scale = np.sqrt(self.G.diagonal())
        self.penalties = np.empty_like(self.base)
        self.report = np.zeros((self.n_nodes, 3))

    @property
    def bound(self) -> float:
        r"""Strength that kills every arc which does not go up by at least one tier.

        An arc with a coefficient has :math:`b_{ij} + s (1 - d) = |x_i^\top r_j| / n` for its
        penalty b, the strength s, its climb d and the residual r of its child. By Cauchy and
        Schwarz that is at most :math:`\sqrt{G_{ii} G_{jj}}`. Tiers are whole numbers, so that
        1 - d is 0 or at least 1. Orders that are no vertices, as from an interior point method,
        have arcs that fall short of going up by any small amount; no strength is enough for them.
        """
        excess = np.outer(self.scale, self.scale) - self.base
        # A little more, for the rounding of covariances.
        return (1 + 1e-9) * float(max(excess[: self.n_nodes, : self.n_nodes].max(), 0.0))

    def strengths(self, schedule: str) -> list[float]:
        """List the strengths to go through, the last of which is the bound."""
        bound = self.bound
        if schedule == "literal" or bound == 0:
            return [bound]
        smallest = float(self.base[np.isfinite(self.base)].min())
        start = min(max(FIRST_STRENGTH * smallest, 1e-6 * bound), bound)
        grown: list[float] = np.geomspace(start, bound, N_STRENGTHS).tolist()
        return [*grown[:-1], bound]

    def start(self, init: FloatArray | None) -> FloatArray:
        """Rows to start from: those given, as far as allowed, or the lasso without an order."""
        rows = np.zeros_like(self.base)
        if init is not None:
            m = self.n_nodes
            rows[:m, :m] = np.where(np.isfinite(self.base[:m, :m]), init.T, 0.0)
            return rows
        self.regress(rows, self.base)
        return rows

    def regress(self, rows: FloatArray, penalties: FloatArray) -> None:
        """Solve every regression in place, some columns at a time on each thread."""
        n_threads = min(effective_n_jobs(self.n_jobs), self.n_nodes)
        # Blocks of unequal effort even out when there are a few per thread.
        n_blocks = 1 if n_threads == 1 else min(8 * n_threads, self.n_nodes)
        edges = np.linspace(0, self.n_nodes, n_blocks + 1).astype(int).tolist()

        def solve(first: int, last: int) -> None:
            regress_all(
                self.G, self.scale, penalties, rows, first, last, self.tol, MAX_ROUNDS, self.report
            )

        if n_threads == 1:
            solve(0, self.n_nodes)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(solve, edges[:-1], edges[1:]))

    def regress_in_order(
        self,
        rows: FloatArray,
        tiers: IntArray,
        strength: float,
        *,
        free: BoolArray | None = None,
    ) -> float:
        """Solve with a penalty on arcs that do not go up, but for those ``free`` of it.

        Returns the objective and notes it in the history.
        """
        m = self.n_nodes
        if len(self.base) > m:
            tiers = np.append(tiers, -1)
        set_penalties(self.base, tiers, strength, self.penalties)
        if free is not None:
            self.penalties[:m, :m][free.T] = self.base[:m, :m][free.T]
        self.regress(rows, self.penalties)
        return self.note(strength)

    def note(self, strength: float) -> float:
        """Put the objective of the last regressions down in the history, and return it."""
        objective = float(self.report[:, 0].sum())
        self.history.append((objective, strength))
        return objective

    def sizes(self, rows: FloatArray) -> FloatArray:
        """Absolute coefficients of the arcs, [i, j] for i -> j."""
        return np.abs(rows[: self.n_nodes, : self.n_nodes].T)

    def tiers(self, rows: FloatArray) -> IntArray:
        """Tiers that agree best with the coefficients."""
        return minimize_agony(self.sizes(rows))[0]

    def solution(self, rows: FloatArray, *, converged: bool) -> BayesNetSolution:
        """Collect the result; the last regressions must have been those of ``rows``."""
        m = self.n_nodes
        violation = float(self.report[:, 2].max())
        history = np.array(self.history).reshape(-1, 2)
        return BayesNetSolution(
            value=np.ascontiguousarray(rows[:m, :m].T),
            objective=self.history[-1][0],
            gap=float(self.report[:, 1].sum()),
            n_iter=len(history),
            converged=converged and violation <= self.tol,
            history=history[:, 0].copy(),
            tiers=self.tiers(rows),
            intercept=rows[:m, m].copy() if len(rows) > m else np.zeros(m),
            strengths=history[:, 1].copy(),
            violation=violation,
        )


def arc_lassos(
    S: FloatArray,
    alpha: float,
    *,
    schedule: str,
    weights: FloatArray | None,
    location: FloatArray | None,
    init: FloatArray | None,
    tol: float,
    max_iter: int,
    n_jobs: int | None,
) -> ArcLassos:
    """Check the arguments of a solver and set its regressions up."""
    if schedule not in SCHEDULES:
        raise InputError("unknown_schedule", "schedule", schedules=SCHEDULES, schedule=schedule)
    check_numbers([alpha], tol, max_iter)
    if alpha <= 0:
        raise InputError("alpha_positive_for_arcs", "alpha")
    S, _ = check_problem(S, None)
    m = len(S)
    if init is not None and (np.shape(init) != (m, m) or not np.isfinite(init).all()):
        raise InputError("arcs_init_shape", "init", m=m)
    if init is not None and np.diagonal(init).any():
        raise InputError("arcs_init_diagonal", "init")
    base = alpha * _checked_weights(weights, m)
    np.fill_diagonal(base, np.inf)
    if location is not None:
        location = np.asarray(location, dtype=np.float64)
        if location.shape != (m,) or not np.isfinite(location).all():
            raise InputError("location_length", "location", m=m)
        S, base = _with_constant(S, base, location, alpha)
    return ArcLassos(G=S, base=base, n_nodes=m, tol=tol, n_jobs=n_jobs)


def _checked_weights(weights: FloatArray | None, m: int) -> FloatArray:
    """Return penalty weights with one row per child."""
    if weights is None:
        return np.ones((m, m))
    weights = writable(np.asarray(weights, dtype=np.float64).T)
    if weights.shape != (m, m):
        raise InputError("arc_weights_shape", "weights", m=m, shape=weights.T.shape)
    off_diagonal = weights[~np.eye(m, dtype=bool)]
    if np.isnan(off_diagonal).any() or (off_diagonal <= 0).any():
        raise InputError("arc_weights_positive", "weights")
    return weights.copy()


def _with_constant(
    S: FloatArray, base: FloatArray, location: FloatArray, alpha: float
) -> tuple[FloatArray, FloatArray]:
    """Add a constant variable, whose coefficients are the intercepts."""
    m = len(S)
    G = np.empty((m + 1, m + 1))
    G[:m, :m] = S + np.outer(location, location)
    G[m, :m] = G[:m, m] = location
    G[m, m] = 1.0
    penalties = np.full((m + 1, m + 1), alpha)
    penalties[:m, :m] = base
    penalties[m] = np.inf
    return G, penalties


@kernel
def descend_columns(
    G: FloatArray,
    scale: FloatArray,
    base: FloatArray,
    strength: float,
    rows: FloatArray,
    n_nodes: int,
    tol: float,
    max_rounds: int,
    report: FloatArray,
) -> float:
    """Regress each variable in turn, in place; return the largest change of a coefficient.

    ``rows[j, i]`` is the coefficient of the arc i -> j. It costs ``strength`` on top of
    ``base[j, i]`` where a path leads from j to i at the time. Changes are in units of
    ``scale[j] / scale[i]``.
    """
    n_variables = G.shape[0]
    weights = np.empty(n_variables)
    before = np.empty(n_variables)
    residual = np.empty(n_variables)
    support = np.empty(n_variables, np.int64)
    children = np.empty((n_nodes, n_nodes), np.int64)
    n_children = np.empty(n_nodes, np.int64)
    is_reached = np.empty(n_nodes, np.bool_)
    list_children(rows, children, n_children)
    change = 0.0
    for j in range(n_nodes):
        reach(children, n_children, j, support, is_reached)
        for i in range(n_variables):
            before[i] = rows[j, i]
            weights[i] = base[j, i]
            if i < n_nodes and is_reached[i]:
                weights[i] += strength
        solve_column(G, scale, j, weights, rows[j], residual, support, tol, max_rounds, report[j])
        for i in range(n_variables):
            change = max(change, abs(rows[j, i] - before[i]) * scale[i] / scale[j])
        for i in range(n_nodes):
            if before[i] == 0.0 and rows[j, i] != 0.0:
                children[i, n_children[i]] = j
                n_children[i] += 1
            elif before[i] != 0.0 and rows[j, i] == 0.0:
                remove(children[i], n_children[i], j)
                n_children[i] -= 1
    return change


@kernel
def penalize_paths(
    base: FloatArray, strength: float, rows: FloatArray, n_nodes: int, penalties: FloatArray
) -> None:
    """Write the penalties of all arcs at once, ``strength`` more where a path leads back."""
    children = np.empty((n_nodes, n_nodes), np.int64)
    n_children = np.empty(n_nodes, np.int64)
    stack = np.empty(n_nodes, np.int64)
    is_reached = np.empty(n_nodes, np.bool_)
    list_children(rows, children, n_children)
    for j in range(n_nodes):
        reach(children, n_children, j, stack, is_reached)
        for i in range(base.shape[1]):
            penalties[j, i] = base[j, i]
            if i < n_nodes and is_reached[i]:
                penalties[j, i] += strength


@kernel
def list_children(rows: FloatArray, children: IntArray, n_children: IntArray) -> None:
    """List the nodes that each node has an arc to."""
    n_nodes = n_children.shape[0]
    for i in range(n_nodes):
        n_children[i] = 0
    for j in range(n_nodes):
        for i in range(n_nodes):
            if rows[j, i] != 0.0:
                children[i, n_children[i]] = j
                n_children[i] += 1


@kernel
def reach(
    children: IntArray, n_children: IntArray, node: int, stack: IntArray, is_reached: BoolArray
) -> None:
    """Mark the nodes that a path leads to from ``node``."""
    for v in range(is_reached.shape[0]):
        is_reached[v] = False
    stack[0] = node
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        for k in range(n_children[v]):
            child = children[v, k]
            if not is_reached[child]:
                is_reached[child] = True
                stack[top] = child
                top += 1


@kernel
def remove(items: IntArray, n_items: int, item: int) -> None:
    """Take one item out of a list whose order does not matter."""
    for k in range(n_items):
        if items[k] == item:
            items[k] = items[n_items - 1]
            return
