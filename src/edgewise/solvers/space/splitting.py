r"""Alternating directions for the locally constant model.

The penalty of a matrix that need not be symmetric falls apart into rows, and each row into fused
lassos along paths, one set of paths per layer (`Layers`), which are solved exactly
(`fused_path`). So the precision :math:`\Omega` gets one copy :math:`Z_k` per layer, with scaled
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
and fused exactly and, near the optimum, closer to it than :math:`\Omega`.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel, rows_shared
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.linalg.dense import (
    STEP_SHARE,
    LikelihoodStep,
    inverse_and_log_determinant,
    log_determinant,
)
from edgewise.solvers.linalg.first_order import (
    Bracket,
    Pace,
    Residuals,
    SplitState,
    alternate,
    refuse_unbounded,
)
from edgewise.solvers.linalg.kernels import find_root
from edgewise.solvers.space.fused_rows import (
    FusedProblem,
    Layers,
    average_groups,
    find_groups,
    shrink_layers,
)


def cover_by_paths(pairs: IntArray, p: int) -> Layers:
    """Share pairs out among as few layers of paths as three simple rules give.

    On a grid, pairs at the same distance of their indices lie along one axis: they make a layer of
    paths that are no longer than the grid is wide. Otherwise each pair goes into the first layer
    that stays a set of paths, by the distance of their indices, or in the order given, which serves
    grids with holes. A ring through all variables may close: without any one of its variables,
    which is how it is used, it is a path.
    """
    distance = np.abs(pairs[:, 0] - pairs[:, 1])
    by_distance = np.lexsort((pairs.min(axis=1), distance))
    found = _one_per_distance(pairs, distance, p)
    for order in (by_distance, np.arange(len(pairs))):
        nodes, is_joined, layer = _first_fit(pairs[order], p)
        layer[order] = layer.copy()
        found.append(Layers(nodes, is_joined, layer))
    return min(found, key=lambda layers: layers.n_layers)


def _one_per_distance(pairs: IntArray, distance: IntArray, p: int) -> list[Layers]:
    """Return the layers of pairs at the same distance, if each of them is a set of paths."""
    kinds, layer = np.unique(distance, return_inverse=True)
    if not 0 < kinds.size <= MOST_DISTANCES:
        return []
    parts = [_first_fit(pairs[layer == k], p) for k in range(kinds.size)]
    if any(len(nodes) > 1 for nodes, _, _ in parts):
        return []
    nodes, is_joined = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return [Layers(nodes, is_joined, layer)]


#: Distances of neighbours up to which a layer for each is thought of.
MOST_DISTANCES = 16


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
            a = find_root(root[k], i)
            b = find_root(root[k], j)
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


RELAXATION = 1.7
#: The balance is by trial on paths and grids in two and three dimensions.
PACE = Pace(interval=10, tuning=1000, balance=0.2)


def split_layers(
    problem: FusedProblem,
    target: float,
    max_iter: int,
    *,
    start: SplitState | None = None,
    Theta: FloatArray | None = None,
) -> tuple[Bracket, SplitState, int]:
    """Iterate until the duality gap is at most ``target``.

    Starts from a former state, or from a precision, or from the best diagonal one. Also returns
    the state and the number of iterations.
    """
    S, pairs = problem.S, problem.pairs
    layers = cover_by_paths(pairs, len(S))
    state = _first_state(problem, layers.n_layers, Theta) if start is None else start
    Z, U = state.Z.copy(), state.Y / state.mu
    interior = problem.interior_dual()
    diagonal = problem.diagonal_solution()
    best = Bracket(Theta=diagonal, objective=problem.objective(diagonal))
    mean, last_mu = np.mean(Z - U, axis=0), state.mu
    likelihood, distance = LikelihoodStep(), 0.0

    def step(mu: float) -> tuple[FloatArray, Residuals]:
        nonlocal mean, last_mu, distance
        if mu != last_mu:
            mean, last_mu = np.mean(Z - U, axis=0), mu
        strength = 1.0 / (layers.n_layers * mu)
        V = 0.5 * (mean + mean.T) - strength * S
        Omega = likelihood(V, strength, STEP_SHARE * distance)
        residuals = shrink_layers(Omega, problem, mu, RELAXATION, layers, Z, U, mean, share)
        distance = float(np.sqrt(residuals[0] / layers.n_layers))
        return Omega, residuals

    def is_done(Omega: FloatArray, mu: float, count: int) -> bool:
        refuse_unbounded(float(Omega.diagonal().max() * S.diagonal().min()))
        candidate = average_groups(Omega, find_groups(pairs, layers.layer, Z))
        multiplier = mu * U.sum(axis=0)
        bound = _dual_value(S + 0.5 * (multiplier + multiplier.T), interior)
        return best.narrow(candidate, problem.objective(candidate), bound) <= target

    with rows_shared(len(S)) as share:
        count, mu = alternate(step, is_done, U, state.mu, max_iter, PACE)
    if best.bound == -np.inf:
        # No dual point was positive definite, which is what having no minimum looks like.
        refuse_unbounded(np.inf)
    return best, SplitState(Z=Z, Y=mu * U, mu=mu), count


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
