r"""Alternating directions for the locally constant model.

The penalty of a matrix that need not be symmetric falls apart into rows, and each row into fused
lassos along paths, one set of paths per layer (`_layers`), which are solved exactly
(`_fused_prox`). So the precision :math:`\Omega` gets one copy :math:`Z_k` per layer, with scaled
multipliers :math:`U_k`, and with :math:`K` layers and penalty parameter :math:`\mu`

.. math::
    \Omega = \arg\min_{\Omega \succ 0} \; \operatorname{tr}(S \Omega) - \log\det \Omega
    + \tfrac{\mu}{2} \sum_k \|\Omega - Z_k + U_k\|^2, \qquad
    Z_k = \operatorname{prox}_{g_k / \mu}(\Omega + U_k), \qquad U_k \gets U_k + \Omega - Z_k,

over-relaxed. :math:`\mu U_k` always lies in the dual set of :math:`g_k`, since what a proximal map
takes off is a subgradient, so that :math:`S + \mu \sum_k U_k`, made symmetric, is a feasible dual
point of the whole problem at every iteration, and its log-determinant bounds the optimum from
below. The primal point is structured: entries that the layers hold equal are joined into groups,
groups with a zero become zero, the others take their mean of :math:`\Omega`. It is therefore sparse
and fused exactly, and close to the optimum closer than :math:`\Omega`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.gaussian.newton import refuse_unbounded
from edgewise.solvers.linalg.dense import (
    inverse_and_log_determinant,
    likelihood_step,
    log_determinant,
)
from edgewise.solvers.space.fused_rows import average_groups, find_groups, penalty, shrink_layers


@dataclass(frozen=True, kw_only=True, eq=False)
class Layers:
    """Paths that together hold every pair once; the paths of one layer share no variable.

    Attributes
    ----------
    nodes : ndarray of int, shape (n_layers, p)
        All variables, path after path; one without a pair in the layer is a path by itself.
    is_joined : ndarray of bool, shape (n_layers, p)
        Whether a node and the next are a pair; the last entry, whether the first and the last are.
    layer : ndarray of int, shape (n_pairs,)
        Layer of each pair.
    """

    nodes: IntArray
    is_joined: BoolArray
    layer: IntArray

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return len(self.nodes)


def cover_by_paths(pairs: IntArray, p: int) -> Layers:
    """Share pairs out among as few layers of paths as two simple orders of the pairs give.

    Each pair goes into the first layer that stays a set of paths. By the distance of their indices,
    the pairs of a grid come axis by axis, whatever order they are given in; the order given serves
    grids with holes. A ring through all variables may close: without any one of its variables,
    which is how it is used, it is a path.
    """
    by_distance = np.lexsort((pairs.min(axis=1), np.abs(pairs[:, 0] - pairs[:, 1])))
    found = []
    for order in (by_distance, np.arange(len(pairs))):
        nodes, is_joined, layer = _first_fit(pairs[order], p)
        layer[order] = layer.copy()
        found.append(Layers(nodes=nodes, is_joined=is_joined, layer=layer))
    return min(found, key=lambda layers: layers.n_layers)


@kernel
def _first_fit(pairs: IntArray, p: int) -> tuple[IntArray, BoolArray, IntArray]:
    """Put each pair into the first layer that has room; return the attributes of `Layers`."""
    degree = np.zeros(p, np.int64)
    for m in range(len(pairs)):
        degree[pairs[m, 0]] += 1
        degree[pairs[m, 1]] += 1
    # A layer refuses a pair that touches a full variable, or that closes a cycle.
    most = 2 * degree.max() + 1
    beside = np.full((most, p, 2), -1)
    root = np.empty((most, p), np.int64)
    size = np.ones((most, p), np.int64)
    for k in range(most):
        for i in range(p):
            root[k, i] = i
    n_layers = 1
    layer = np.empty(len(pairs), np.int64)
    for m in range(len(pairs)):
        i = pairs[m, 0]
        j = pairs[m, 1]
        for k in range(most):
            if beside[k, i, 1] >= 0 or beside[k, j, 1] >= 0:
                continue
            a = _find(root[k], i)
            b = _find(root[k], j)
            if a == b and size[k, a] < p:
                continue
            if a != b:
                root[k, a] = b
                size[k, b] += size[k, a]
            beside[k, i, 0 if beside[k, i, 0] < 0 else 1] = j
            beside[k, j, 0 if beside[k, j, 0] < 0 else 1] = i
            n_layers = max(n_layers, k + 1)
            layer[m] = k
            break
    nodes = np.empty((n_layers, p), np.int64)
    is_joined = np.zeros((n_layers, p), np.bool_)
    for k in range(n_layers):
        _trace(beside[k], nodes[k], is_joined[k])
    return nodes, is_joined, layer


@kernel
def _find(root: IntArray, i: int) -> int:
    """Find the representative of ``i``, halving the way there."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@kernel
def _trace(beside: IntArray, nodes: IntArray, is_joined: BoolArray) -> None:
    """Walk along the paths of a layer from their ends, or once around its ring."""
    p = len(nodes)
    seen = np.zeros(p, np.bool_)
    count = 0
    for wanted in range(2):
        for start in range(p):
            # Ends first; what is left after them is the ring.
            if seen[start] or (wanted == 0 and beside[start, 1] >= 0):
                continue
            i = start
            while i >= 0:
                seen[i] = True
                nodes[count] = i
                following = -1
                for j in beside[i]:
                    if j >= 0 and not seen[j]:
                        following = j
                        break
                is_joined[count] = following >= 0 or wanted == 1
                count += 1
                i = following


RELAXATION = 1.9
#: Iterations between two looks at the gap and at the residuals.
INTERVAL = 10
#: Iterations during which the penalty parameter may change; convergence is proved for a fixed one.
TUNING = 1000
#: Relative primal over relative dual residual at which the gap falls fastest, by trial on paths
#: and grids in two and three dimensions: more weight on agreement than the usual 1.
BALANCE = 0.2
#: How far off the balance may be, and the largest change at a time.
TOLERATED, LARGEST_CHANGE = 1.6, 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class FusedProblem:
    """Covariance, l1 strengths with those of the diagonal, strength of differences, neighbours."""

    S: FloatArray
    thresholds: FloatArray
    tau: float
    pairs: IntArray

    def objective(self, Theta: FloatArray) -> float:
        """Objective at a symmetric matrix, inf where it is not positive definite."""
        logdet = log_determinant(Theta)
        if logdet == -np.inf:
            return np.inf
        return (
            float(np.vdot(self.S, Theta))
            - logdet
            + penalty(Theta, self.thresholds, self.tau, self.pairs)
        )

    def diagonal_solution(self) -> FloatArray:
        """Return the best diagonal precision."""
        return np.diag(1.0 / (self.S.diagonal() + self.thresholds.diagonal()))

    def interior_dual(self) -> FloatArray | None:
        """Return a dual point that is positive definite, or None where none is obvious.

        Correlations shrunken by a common factor, as far as the thresholds allow, with the penalty
        of the diagonal added.
        """
        off = ~np.eye(len(self.S), dtype=bool)
        size = np.abs(self.S[off])
        room = np.divide(self.thresholds[off], size, out=np.full_like(size, np.inf), where=size > 0)
        shrink = min(1.0, float(room.min(initial=1.0)))
        Sigma = self.S * np.where(off, 1.0 - shrink, 1.0) + np.diag(self.thresholds.diagonal())
        return Sigma if log_determinant(Sigma) > -np.inf else None


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitState:
    """Where alternating directions stand; a start for a problem nearby.

    Attributes
    ----------
    Z, Y : ndarray of shape (n_layers, p, p)
        Copies of the precision, and their multipliers in units of the covariance.
    mu : float
        Penalty parameter.
    """

    Z: FloatArray
    Y: FloatArray
    mu: float


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitResult:
    """Best structured precision found and how good it is."""

    Theta: FloatArray
    objective: float
    bound: float
    n_iter: int
    state: SplitState
    gaps: list[float] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Duality gap."""
        return self.objective - self.bound


def alternate(
    problem: FusedProblem,
    target: float,
    max_iter: int,
    *,
    start: SplitState | None = None,
    Theta: FloatArray | None = None,
) -> SplitResult:
    """Iterate until the duality gap is at most ``target``.

    Starts from a former state, or from a precision, or from the best diagonal one.
    """
    S, tau, pairs = problem.S, problem.tau, problem.pairs
    p = len(S)
    layers = cover_by_paths(pairs, p)
    state = _first_state(problem, layers.n_layers, Theta) if start is None else start
    Z, mu = state.Z.copy(), state.mu
    U = state.Y / mu
    mean = np.mean(Z - U, axis=0)
    interior = problem.interior_dual()
    best = problem.diagonal_solution()
    objective = problem.objective(best)
    bound = -np.inf
    gaps: list[float] = []
    for count in range(1, max_iter + 1):
        step = 1.0 / (layers.n_layers * mu)
        Omega = likelihood_step(0.5 * (mean + mean.T) - step * S, step)
        residuals = shrink_layers(
            Omega,
            problem.thresholds,
            tau,
            mu,
            RELAXATION,
            layers.nodes,
            layers.is_joined,
            Z,
            U,
            mean,
        )
        if count % INTERVAL and count < max_iter:
            continue
        refuse_unbounded(float(Omega.diagonal().max() * S.diagonal().min()))
        candidate = average_groups(Omega, find_groups(pairs, layers.layer, Z))
        value = problem.objective(candidate)
        if value < objective:
            best, objective = candidate, value
        multiplier = mu * U.sum(axis=0)
        bound = max(bound, _dual_value(S + 0.5 * (multiplier + multiplier.T), interior))
        gaps.append(objective - bound)
        if gaps[-1] <= target:
            break
        if count < TUNING:
            change = _change(*residuals)
            mu *= change
            U /= change
            mean = np.mean(Z - U, axis=0)
    if bound == -np.inf:
        # No dual point was positive definite, which is what having no minimum looks like.
        refuse_unbounded(np.inf)
    return SplitResult(
        Theta=best,
        objective=objective,
        bound=bound,
        n_iter=count,
        state=SplitState(Z=Z, Y=mu * U, mu=mu),
        gaps=gaps,
    )


def _first_state(problem: FusedProblem, n_layers: int, Theta: FloatArray | None) -> SplitState:
    """Start from a precision: its inverse says what the multipliers would be at the optimum."""
    Y = np.zeros_like(problem.S)
    if Theta is None:
        Theta = problem.diagonal_solution()
    else:
        Y = (inverse_and_log_determinant(Theta)[0] - problem.S) / n_layers
    return SplitState(Z=np.stack([Theta] * n_layers), Y=np.stack([Y] * n_layers), mu=1.0)


def _dual_value(Sigma: FloatArray, interior: FloatArray | None) -> float:
    """Dual objective; a point that is not positive definite is drawn towards one that is."""
    value = log_determinant(Sigma)
    share = 1.0
    while value == -np.inf and interior is not None:
        share *= 0.7
        value = log_determinant(interior + share * (Sigma - interior))
    return value + len(Sigma)


def _change(primal: float, dual: float, size_Z: float, size_U: float) -> float:
    """Say by how much to raise the penalty parameter, from squared residuals and sizes."""
    if primal * size_U == 0.0 or dual == 0.0:
        return 1.0
    ratio = float(np.sqrt(primal / size_Z * (size_U / dual))) / BALANCE
    if 1.0 / TOLERATED < ratio < TOLERATED:
        return 1.0
    change: float = ratio**0.7
    return min(max(change, 1.0 / LARGEST_CHANGE), LARGEST_CHANGE)
