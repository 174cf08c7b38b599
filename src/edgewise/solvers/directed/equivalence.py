"""Kernels of directed graphs up to Markov equivalence: completion, Meek's rules, extension."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, IntArray
from edgewise.solvers.directed.scores import (
    Arcs,
    list_parents,
)


@kernel
def list_joined(pdag: BoolArray) -> tuple[IntArray, IntArray]:
    """List the nodes joined with each: those of node i are ``near[start[i]:start[i + 1]]``."""
    before, tails = list_parents(pdag)
    m = len(pdag)
    start, near, at = np.empty(m + 1, np.int64), np.empty(2 * len(tails), np.int64), 0
    # Nodes with an edge from each; walked through by head, they come in order.
    first = np.zeros(m + 1, np.int64)
    for tail in tails:
        first[tail + 1] += 1
    for i in range(m):
        first[i + 1] += first[i]
    heads, n_heads = np.empty(len(tails), np.int64), np.zeros(m, np.int64)
    for head in range(m):
        for tail in tails[before[head] : before[head + 1]]:
            heads[first[tail] + n_heads[tail]] = head
            n_heads[tail] += 1
    for i in range(m):
        start[i] = at
        a, b = before[i], first[i]
        while a < before[i + 1] or b < first[i + 1]:
            is_last = b == first[i + 1]
            if a < before[i + 1] and (is_last or tails[a] <= heads[b]):
                near[at] = tails[a]
                if not is_last and tails[a] == heads[b]:
                    b += 1
                a += 1
            else:
                near[at] = heads[b]
                b += 1
            at += 1
    start[m] = at
    return start, near


@kernel
def copy_matrix(source: BoolArray, target: BoolArray) -> None:
    """Copy all entries; numba takes seconds to compile what broadcasts."""
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@kernel
def complete(dag: BoolArray, arcs: Arcs, pdag: BoolArray) -> None:
    """Set ``pdag`` to the arcs that all equivalent graphs share; other edges go both ways."""
    m = len(dag)
    start, every = list_parents(dag)
    is_sure = np.zeros(m, np.bool_)
    copy_matrix(dag, pdag)
    for child in range(m):
        parents = every[start[child] : start[child + 1]]
        size = len(parents)
        for a in range(size):
            is_sure[a] = arcs.told[parents[a], child] or not arcs.may_be[parents[a], child]
        for a in range(size):
            for b in range(a):
                if not (dag[parents[a], parents[b]] or dag[parents[b], parents[a]]):
                    is_sure[a], is_sure[b] = True, True
        for a in range(size):
            pdag[child, parents[a]] = not is_sure[a]
    direct_forced(pdag)


@kernel
def direct_forced(pdag: BoolArray) -> None:
    """Direct edges by Meek's rules until none applies."""
    start, near = list_joined(pdag)
    has_changed = True
    while has_changed:
        has_changed = False
        for tail in range(len(pdag)):
            neighbors = near[start[tail] : start[tail + 1]]
            for head in neighbors:
                is_line = pdag[tail, head] and pdag[head, tail]
                if is_line and is_forced(pdag, neighbors, tail, head):
                    pdag[head, tail] = False
                    has_changed = True


@kernel
def is_forced(pdag: BoolArray, neighbors: IntArray, tail: int, head: int) -> bool:
    """Whether tail - head must become tail -> head."""
    for k in neighbors:
        if k == head:
            continue
        is_joined = pdag[k, head] or pdag[head, k]
        if not pdag[tail, k]:
            # Rule 1: a new v-structure at the tail.
            if not is_joined:
                return True
            continue
        leads_to_head = pdag[k, head] and not pdag[head, k]
        if not pdag[k, tail]:
            # Rule 2: a cycle.
            if leads_to_head:
                return True
            continue
        if is_joined and not leads_to_head:
            continue
        for other in neighbors:
            if not (pdag[other, head] and not pdag[head, other]):
                continue
            if leads_to_head:
                # Rule 3: tail - k -> head, tail - other -> head, k and other not joined.
                is_line = pdag[tail, other] and pdag[other, tail] and other != k
                if is_line and not (pdag[k, other] or pdag[other, k]):
                    return True
            elif pdag[k, other] and not pdag[other, k]:
                # Rule 4: tail - k -> other -> head, k and head not joined.
                return True
    return False


@kernel
def extend(pdag: BoolArray, may_be: BoolArray, is_strict: bool, dag: BoolArray) -> bool:
    """Direct all lines without a cycle or a new v-structure; say whether that can be done.

    Sinks whose lines lead to nodes joined with all their other neighbours are taken out one by one,
    that with the lowest number first. Where there is none, the graph contradicts itself: then it is
    left at that if ``is_strict``, and otherwise the node with the fewest arcs out of it is taken,
    which are turned round if ``may_be``, [i, j] for i -> j, lets them.
    """
    m = len(pdag)
    start, near = list_joined(pdag)
    is_left, is_waiting = np.ones(m, np.bool_), np.ones(m, np.bool_)
    is_consistent = True
    for i in range(m):
        for j in range(m):
            dag[i, j] = False
    for _ in range(m):
        node = -1
        for candidate in range(m):
            if is_left[candidate] and is_waiting[candidate]:
                if may_be_sink(
                    pdag, near[start[candidate] : start[candidate + 1]], candidate, is_left
                ):
                    node = candidate
                    break
                # It stays so until a neighbour goes.
                is_waiting[candidate] = False
        if node < 0:
            if is_strict:
                return False
            is_consistent = False
            node = least_contradicted(pdag, may_be, start, near, is_left)
        is_left[node] = False
        for other in near[start[node] : start[node + 1]]:
            if is_left[other]:
                dag[other, node] = True
                is_waiting[other] = True
    return is_consistent


@kernel
def least_contradicted(
    pdag: BoolArray, may_be: BoolArray, start: IntArray, near: IntArray, is_left: BoolArray
) -> int:
    """Find the node with the fewest arcs out of it among those that may be a sink."""
    m = len(pdag)
    best, node = m + 2, -1
    for candidate in range(m):
        if not is_left[candidate]:
            continue
        n_out, is_possible = 0, True
        for other in near[start[candidate] : start[candidate + 1]]:
            if is_left[other]:
                is_possible = is_possible and may_be[other, candidate]
                n_out += pdag[candidate, other] and not pdag[other, candidate]
        if not is_possible:
            n_out = m + 1
        if n_out < best:
            best, node = n_out, candidate
    return node


@kernel
def may_be_sink(pdag: BoolArray, neighbors: IntArray, node: int, is_left: BoolArray) -> bool:
    """Whether no arc leaves a node, and its lines lead to nodes joined with all its neighbours."""
    for other in neighbors:
        if is_left[other] and pdag[node, other]:
            if not pdag[other, node]:
                return False
            for third in neighbors:
                is_joined = pdag[other, third] or pdag[third, other]
                if is_left[third] and third != other and not is_joined:
                    return False
    return True


@kernel
def reach_unshielded(pdag: BoolArray, source: int, reached: BoolArray) -> None:
    """Mark the nodes to which a path of arcs leads from a node in some graph of a class.

    There is one exactly where a path without an arc against it leads there, of which no three nodes
    in a row are all joined (Perkovic, Kalisch and Maathuis 2017).
    """
    m = len(pdag)
    seen = np.zeros((m, m), np.bool_)
    before, here = np.empty(m * m + m, np.int64), np.empty(m * m + m, np.int64)
    before[0], here[0], n_left = -1, source, 1
    while n_left:
        n_left -= 1
        a, b = before[n_left], here[n_left]
        for c in range(m):
            if not pdag[b, c] or c == source or seen[b, c]:
                continue
            if a >= 0 and (c == a or pdag[a, c] or pdag[c, a]):
                continue
            seen[b, c] = True
            reached[c] = True
            before[n_left], here[n_left] = b, c
            n_left += 1
