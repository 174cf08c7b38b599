"""Tiers of a weighted directed graph: strong components, minimum cuts, the smallest minimiser.

Arcs are listed by tail, so that ``starts[v]`` to ``starts[v + 1]`` are those that leave v. All
amounts are integers: a minimum cut is then found exactly, and with it which sets of nodes tie.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, IntArray


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
