"""Tiers of a weighted directed graph: strong components, minimum cuts, the smallest minimiser.

Arcs are listed by tail, so that ``starts[v]`` to ``starts[v + 1]`` are those that leave v. All
amounts are integers: a minimum cut is then found exactly, and with it which sets of nodes tie.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._solution import Solution


@kernel
def smallest_tiers(
    starts: IntArray, tails: IntArray, heads: IntArray, weights: IntArray
) -> tuple[IntArray, int, int]:
    """Minimise the agony; return the smallest tiers, the dual value and the number of cuts.

    The agony sum_a w_a max(0, 1 - d_a), with d_a the tier of the head of arc a less that of its
    tail, is L-natural convex. So from tiers that are nowhere too high, raising by one the smallest
    set of nodes that lowers it most, again and again, ends at its smallest minimiser.
    """
    n_nodes = len(starts) - 1
    tiers = lower_bounds(starts, heads)
    surplus = np.empty(n_nodes, np.int64)
    is_raised = np.empty(n_nodes, np.bool_)
    n_cuts = 0
    while True:
        set_surplus(tails, heads, weights, tiers, surplus)
        dual = minimum_cut(tails, heads, weights, tiers, surplus, is_raised)
        n_cuts += 1
        if not is_raised.any():
            return tiers, dual, n_cuts
        for v in range(n_nodes):
            if is_raised[v]:
                tiers[v] += 1


@kernel
def lower_bounds(starts: IntArray, heads: IntArray) -> IntArray:
    """Longest path to each node over arcs between strong components.

    Parts can be shifted apart at no cost, so every optimal order has those arcs going up.
    """
    n_nodes = len(starts) - 1
    component, order = strong_components(starts, heads)
    tiers = np.zeros(n_nodes, np.int64)
    for k in range(n_nodes - 1, -1, -1):
        tail = order[k]
        for a in range(starts[tail], starts[tail + 1]):
            head = heads[a]
            if component[head] != component[tail]:
                tiers[head] = max(tiers[head], tiers[tail] + 1)
    return tiers


@kernel
def strong_components(starts: IntArray, heads: IntArray) -> tuple[IntArray, IntArray]:
    """Label strong components by Tarjan's depth-first search.

    Also returns the nodes listed by component, each component after all those it points to.
    """
    n_nodes = len(starts) - 1
    component = np.full(n_nodes, -1, np.int64)
    order = np.empty(n_nodes, np.int64)
    found = np.full(n_nodes, -1, np.int64)
    lowest = np.empty(n_nodes, np.int64)
    following = starts[:-1].copy()
    path = np.empty(n_nodes, np.int64)
    open_nodes = np.empty(n_nodes, np.int64)
    n_found, n_open, n_closed = 0, 0, 0
    for root in range(n_nodes):
        if found[root] >= 0:
            continue
        depth = 0
        path[0] = root
        while depth >= 0:
            v = path[depth]
            if found[v] < 0:
                found[v] = lowest[v] = n_found
                n_found += 1
                open_nodes[n_open] = v
                n_open += 1
            goes_deeper = False
            while following[v] < starts[v + 1]:
                head = heads[following[v]]
                if found[head] < 0:
                    # Seen again, as a finished child, when the search comes back to v.
                    depth += 1
                    path[depth] = head
                    goes_deeper = True
                    break
                if component[head] < 0:
                    lowest[v] = min(lowest[v], lowest[head])
                following[v] += 1
            if goes_deeper:
                continue
            if lowest[v] == found[v]:
                while component[v] < 0:
                    n_open -= 1
                    component[open_nodes[n_open]] = v
                    order[n_closed] = open_nodes[n_open]
                    n_closed += 1
            depth -= 1
    return component, order


@kernel
def set_surplus(
    tails: IntArray, heads: IntArray, weights: IntArray, tiers: IntArray, surplus: IntArray
) -> None:
    """Write what raising each node by itself costs: out- less in-strength of arcs not going up."""
    for v in range(len(surplus)):
        surplus[v] = 0
    for a in range(len(tails)):
        if tiers[heads[a]] <= tiers[tails[a]]:
            surplus[tails[a]] += weights[a]
            surplus[heads[a]] -= weights[a]


@kernel
def minimum_cut(
    tails: IntArray,
    heads: IntArray,
    weights: IntArray,
    tiers: IntArray,
    surplus: IntArray,
    is_raised: BoolArray,
) -> int:
    """Find the smallest set of nodes whose raising lowers the agony most.

    Raising the set R changes the agony by the surplus of R plus the weight of the arcs that go up
    by one tier and leave R: a cut between the nodes of negative surplus and those of positive.
    Returns the total of the flow with the arcs that do not go up; where no set lowers the agony,
    that is a circulation, and as large as the agony.
    """
    n_nodes = len(surplus)
    starts, ends, room, mate = step_network(tails, heads, weights, tiers)
    level = np.empty(n_nodes, np.int64)
    position = np.empty(n_nodes, np.int64)
    buffer = np.empty(n_nodes, np.int64)
    while set_levels(starts, ends, room, surplus, level, buffer):
        block_flow(starts, ends, room, mate, surplus, level, position, buffer)
    total = 0
    for v in range(n_nodes):
        is_raised[v] = level[v] >= 0
        for e in range(starts[v], starts[v + 1]):
            if tiers[ends[e]] < tiers[v]:
                total += room[e]
    for a in range(len(tails)):
        if tiers[heads[a]] <= tiers[tails[a]]:
            total += weights[a]
    return total


@kernel
def step_network(
    tails: IntArray, heads: IntArray, weights: IntArray, tiers: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """List the arcs that go up by one tier, and their reverses, by the node they leave.

    Returns where the list of each node starts and, for each entry, the node at its other end,
    the flow it has room for, and the position of its reverse.
    """
    starts = np.zeros(tiers.shape[0] + 1, np.int64)
    n_steps = 0
    for a in range(len(tails)):
        if tiers[heads[a]] == tiers[tails[a]] + 1:
            n_steps += 1
            starts[tails[a] + 1] += 1
            starts[heads[a] + 1] += 1
    for v in range(tiers.shape[0]):
        starts[v + 1] += starts[v]
    ends = np.empty(2 * n_steps, np.int64)
    room = np.empty(2 * n_steps, np.int64)
    mate = np.empty(2 * n_steps, np.int64)
    position = starts[:-1].copy()
    for a in range(len(tails)):
        tail, head = tails[a], heads[a]
        if tiers[head] == tiers[tail] + 1:
            there, back = position[tail], position[head]
            position[tail] += 1
            position[head] += 1
            ends[there], room[there], mate[there] = head, weights[a], back
            ends[back], room[back], mate[back] = tail, 0, there
    return starts, ends, room, mate


@kernel
def set_levels(
    starts: IntArray,
    ends: IntArray,
    room: IntArray,
    surplus: IntArray,
    level: IntArray,
    queue: IntArray,
) -> bool:
    """Count the steps to each node from those of negative surplus; -1 where there is no way.

    Says whether a node of positive surplus can be reached.
    """
    n_queued = 0
    for v in range(len(level)):
        level[v] = -1
        if surplus[v] < 0:
            level[v] = 0
            queue[n_queued] = v
            n_queued += 1
    is_reached = False
    k = 0
    while k < n_queued:
        v = queue[k]
        k += 1
        if surplus[v] > 0:
            is_reached = True
        for e in range(starts[v], starts[v + 1]):
            if room[e] > 0 and level[ends[e]] < 0:
                level[ends[e]] = level[v] + 1
                queue[n_queued] = ends[e]
                n_queued += 1
    return is_reached


@kernel
def block_flow(
    starts: IntArray,
    ends: IntArray,
    room: IntArray,
    mate: IntArray,
    surplus: IntArray,
    level: IntArray,
    position: IntArray,
    path: IntArray,
) -> None:
    """Push flow from negative to positive surplus along rising levels until nothing more fits.

    One phase of Dinic's algorithm; ``path`` holds the arcs of the way walked so far.
    """
    n_nodes = len(level)
    for v in range(n_nodes):
        position[v] = starts[v]
    for source in range(n_nodes):
        depth = 0
        v = source
        while surplus[source] < 0:
            if surplus[v] > 0:
                amount = min(surplus[v], -surplus[source])
                for k in range(depth):
                    amount = min(amount, room[path[k]])
                surplus[source] += amount
                surplus[v] -= amount
                # Walk on from the first arc that is now full.
                stop = depth
                for k in range(depth - 1, -1, -1):
                    room[path[k]] -= amount
                    room[mate[path[k]]] += amount
                    if room[path[k]] == 0:
                        stop = k
                depth = stop
                v = ends[path[depth - 1]] if depth > 0 else source
                continue
            while position[v] < starts[v + 1]:
                e = position[v]
                if room[e] > 0 and level[ends[e]] == level[v] + 1:
                    break
                position[v] += 1
            if position[v] < starts[v + 1]:
                path[depth] = position[v]
                v = ends[position[v]]
                depth += 1
            elif depth == 0:
                break
            else:
                # A dead end: step back, and past the arc that led here.
                depth -= 1
                v = ends[mate[path[depth]]]
                position[v] += 1


#: Weights are counted in units of the largest times two to the power of minus this.
BITS = 40
#: Sums of weights stay below two to this power.
SUM_BITS = 62


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderSolution(Solution):
    """Tiers of a weighted directed graph; unpacks into tiers and agony.

    ``value`` are the tiers, ``objective`` is the agony, and ``n_iter`` counts minimum cuts. The
    gap is to a circulation within the weights, which bounds the agony of any order from below.
    """

    @property
    def tiers(self) -> IntArray:
        """Tier of each node, from 0."""
        return self.value

    @property
    def agony(self) -> float:
        """How much the weights disagree with the tiers; 0 if all arcs go up."""
        return self.objective

    def __iter__(self) -> Iterator[Any]:
        return iter((self.tiers, self.agony))


def order_given_weights(W: ArrayLike) -> OrderSolution:
    r"""Find the tiers that the arcs of a weighted directed graph agree with most.

    .. math::

        \min_{u} \; \sum_{i, j} |W_{ij}| \, \max(0, 1 - (u_j - u_i))

    over tiers :math:`u`: an arc i -> j that goes up costs nothing, one within a tier its weight,
    one that goes down by k tiers k + 1 times its weight. This is the weighted agony of the graph
    [1]_ [2]_, and the step of sparse Gaussian Bayesian networks that finds the order [3]_. It is a
    linear program whose vertices are whole numbers, and its dual is the largest circulation with
    capacities :math:`|W|`. It is solved exactly by a few minimum cuts: from tier 0, the smallest
    set of nodes that gains most is raised by one until none gains [4]_.

    Of all optimal tiers these are the smallest, node by node, which makes them unique: they move
    with the nodes when those are put into another order.

    Parameters
    ----------
    W : array-like of shape (m, m)
        ``W[i, j]`` is the weight of the arc i -> j; its sign does not matter. An entry on the
        diagonal costs itself in any order.

    Returns
    -------
    OrderSolution
        With ``tiers`` (whole numbers from 0) and ``agony``, into which it also unpacks. Sums of
        weights that differ by less than :math:`2^{-40}` of the largest may count as equal.

    References
    ----------
    .. [1] Gupte, Shankar, Li, Muthukrishnan and Iftode (2011). Finding hierarchy in directed
       online social networks. *WWW*. https://doi.org/10.1145/1963405.1963484
    .. [2] Tatti (2017). Tiers for peers: a practical algorithm for discovering hierarchy in
       weighted networks. *Data Mining and Knowledge Discovery* 31.
       https://doi.org/10.1007/s10618-016-0485-y
    .. [3] Zhou, Wang, Liu, Ogunbona and Shen (2016). Learning discriminative Bayesian networks
       from high-dimensional continuous neuroimaging data. *IEEE Transactions on Pattern Analysis
       and Machine Intelligence* 38(11). https://doi.org/10.1109/TPAMI.2015.2511754
    .. [4] Murota and Shioura (2014). Exact bounds for steepest descent algorithms of L-convex
       function minimization. *Operations Research Letters* 42(5).
       https://doi.org/10.1016/j.orl.2014.06.005

    Examples
    --------
    The weakest arc of the cycle 0 -> 1 -> 2 -> 0 goes down two tiers:

    >>> from edgewise.solvers import order_given_weights
    >>> tiers, agony = order_given_weights([[0, 3, 0], [0, 0, 2], [1, 0, 0]])
    >>> tiers, agony
    (array([0, 1, 2]), 3.0)
    """
    weights = np.abs(np.asarray(W, dtype=np.float64))
    if weights.ndim != 2 or weights.shape[0] != weights.shape[1] or weights.shape[0] == 0:
        raise InputError("tier_weights_square", shape=weights.shape)
    if not np.isfinite(weights).all():
        raise InputError("tier_weights_not_finite")
    loops = float(weights.diagonal().sum())
    np.fill_diagonal(weights, 0.0)
    tiers, agony, bound, n_cuts = minimize_agony(weights)
    return OrderSolution(
        value=tiers,
        objective=agony + loops,
        gap=agony - bound,
        n_iter=n_cuts,
        converged=True,
    )


def minimize_agony(weights: FloatArray) -> tuple[IntArray, float, float, int]:
    """Return the smallest tiers, their agony, a lower bound on it, and the number of cuts.

    The weights are at least 0, with a diagonal of 0.
    """
    n_nodes = len(weights)
    # Contiguous, so that the kernels are compiled once: a single arc is, and others are not.
    tails, heads = map(np.ascontiguousarray, np.nonzero(weights))
    if len(tails) == 0:
        return np.zeros(n_nodes, dtype=np.int64), 0.0, 0.0, 0
    amounts = weights[tails, heads]
    # An exact power of two, so that equal weights stay equal and others keep their ratio.
    bits = min(BITS, SUM_BITS - math.ceil(math.log2(len(amounts) + 1)))
    exponent = bits - math.frexp(float(amounts.max()))[1]
    units = _times_power_of_two(amounts, exponent)
    # However small, a weight counts: a graph without cycles must have agony 0.
    counts = np.maximum(units.astype(np.int64), 1)
    starts = np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=n_nodes))])
    tiers, circulation, n_cuts = smallest_tiers(starts, tails, heads, counts)
    agony = float(amounts @ np.maximum(1 - (tiers[heads] - tiers[tails]), 0))
    # Where a count is above its weight, the cycles through that arc may have to give up as much.
    excess = int(np.count_nonzero(units < 1)) * n_nodes
    bound = _times_power_of_two(np.array(max(float(circulation) - excess, 0.0)), -exponent)
    return tiers, agony, float(bound), n_cuts


def _times_power_of_two(amounts: FloatArray, exponent: int) -> FloatArray:
    """Multiply in two steps, since the power alone may be out of range."""
    return amounts * 2.0 ** (exponent // 2) * 2.0 ** (exponent - exponent // 2)
