"""Grow-shrink trees: the parents of variables among those before them, found once and kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.directed.blanket_kernels import DEPENDENT, invert
from edgewise.solvers.directed.scores import IMPROVEMENT, Arcs, Score, local_cost

#: Memory for the branches of the grow-shrink trees of one search, in bytes; when it is used up,
#: the trees grow anew.
CACHE_BYTES = 2**28


class Trees(NamedTuple):
    """Grow-shrink trees of all variables.

    A path from the root of the tree of variable j holds what was added to its parents, one after
    another. ``first`` and ``n_branches`` say where the branches of a node are (-1: not known yet),
    ``cost`` what its set costs after shrinking (NaN: not known yet), ``variable`` what a branch
    adds, the best first, and ``child`` which node it leads to (-1: none yet). ``used`` counts nodes
    and branches.
    """

    roots: IntArray
    first: IntArray
    n_branches: IntArray
    cost: FloatArray
    variable: IntArray
    child: IntArray
    used: IntArray


class Regression(NamedTuple):
    """Scratch, and the regression along the path that was followed last.

    ``state`` has the variable it is of, how many of ``members`` count, how many parents were left
    at the last shrinking, and the length of ``path``. ``rows[k]`` is the row of the Cholesky factor
    that member k adds; ``left[k]`` are the variances of all variables given the first k members,
    ``shared[k]`` their covariances with the variable.
    """

    state: IntArray
    members: IntArray
    path: IntArray
    nodes: IntArray
    turns: IntArray
    rows: FloatArray
    left: FloatArray
    shared: FloatArray
    strength: FloatArray
    K: FloatArray
    L: FloatArray
    own: FloatArray
    is_of_interest: BoolArray


class Families(NamedTuple):
    """What finds the parents of a variable; ``n_required`` says how many each must have."""

    score: Score
    arcs: Arcs
    n_required: IntArray
    trees: Trees
    work: Regression


@kernel
def follow(
    target: int,
    limit: int,
    special: int,
    has_special: bool,
    rank: IntArray,
    families: Families,
    is_of_interest: BoolArray,
) -> float:
    """Grow and shrink the parents of a variable among those of a rank below ``limit``.

    ``special`` is a predecessor if ``has_special``, whatever its rank. At each node of the tree the
    first branch whose variable is a predecessor is taken. ``work.path`` receives the parents;
    ``is_of_interest`` is set to True for all that were added, and for all that would have been, had
    they been predecessors. Returns the cost.
    """
    score, arcs, required, trees, work = families
    n_required = required[target]
    for i in range(len(rank)):
        is_of_interest[i] = False
    while True:
        node, size = trees.roots[target], 0
        if n_required > 0:
            for i in range(len(rank)):
                if arcs.must_be[target, i]:
                    work.path[size] = i
                    size += 1
        if node < 0:
            node = add_node(trees)
            trees.roots[target] = node
        while node >= 0:
            if trees.n_branches[node] < 0 and not grow(
                target, node, size, score, arcs, trees, work
            ):
                break
            branch = -1
            for k in range(trees.first[node], trees.first[node] + trees.n_branches[node]):
                variable = trees.variable[k]
                is_of_interest[variable] = True
                if has_special if variable == special else rank[variable] < limit:
                    branch = k
                    break
            if branch < 0:
                work.state[3] = size
                if np.isnan(trees.cost[node]):
                    trees.cost[node] = shrink(target, size, n_required, score, work)
                cost: float = trees.cost[node]
                return cost
            work.path[size] = trees.variable[branch]
            size += 1
            if trees.child[branch] < 0:
                trees.child[branch] = add_node(trees)
            node = trees.child[branch]
        # The memory is used up.
        for i in range(len(rank)):
            trees.roots[i] = -1
        trees.used[0], trees.used[1] = 0, 0


@kernel
def add_node(trees: Trees) -> int:
    """Add a node about which nothing is known; return its number, -1 if there is no room."""
    node = trees.used[0]
    if node >= len(trees.n_branches):
        return -1
    trees.used[0] += 1
    trees.n_branches[node], trees.cost[node] = -1, np.nan
    return int(node)


@kernel
def grow(
    target: int,
    node: int,
    size: int,
    score: Score,
    arcs: Arcs,
    trees: Trees,
    work: Regression,
) -> bool:
    """List what lowers the cost of a variable if added to ``work.path[:size]``, the best first."""
    m, start = len(score.which), trees.used[1]
    if start + m > len(trees.variable):
        return False
    trees.first[node], trees.n_branches[node] = start, 0
    if size + 2 > score.base.shape[1]:
        return True
    if len(score.cells.weight) > 0:
        n_found = weigh_additions(target, size, start, score, arcs, trees, work)
    else:
        n_found = weigh_regressors(target, size, start, score, arcs, trees, work)
    sort_branches(work.strength, trees.variable, start, n_found)
    for k in range(n_found):
        trees.child[start + k] = -1
    trees.n_branches[node] = n_found
    trees.used[1] += n_found
    return True


@kernel
def weigh_additions(
    target: int, size: int, start: int, score: Score, arcs: Arcs, trees: Trees, work: Regression
) -> int:
    """List what lowers the cost if added, whatever the score; return how many there are."""
    n_found, is_member = 0, np.zeros(len(score.which), np.bool_)
    for k in range(size):
        work.nodes[k] = work.path[k]
        is_member[work.path[k]] = True
    before = local_cost(score, target, work.nodes, size, work.L)
    for i in range(len(is_member)):
        if is_member[i] or not arcs.may_be[target, i]:
            continue
        work.nodes[size] = i
        gain = before - local_cost(score, target, work.nodes, size + 1, work.L)
        if gain > IMPROVEMENT:
            work.strength[n_found] = gain
            trees.variable[start + n_found] = i
            n_found += 1
    return n_found


@kernel
def weigh_regressors(
    target: int, size: int, start: int, score: Score, arcs: Arcs, trees: Trees, work: Regression
) -> int:
    """List what lowers the cost if added, by the correlations; return how many there are."""
    group = score.which[target]
    base, slope = score.base[group], score.slope[group]
    condition(target, size, score.R[group], work)
    left, shared, n_found = work.left[size], work.shared[size], 0
    rest = left[target]
    if rest <= DEPENDENT:
        return 0
    step = base[size + 1] - base[size]
    step += (slope[size + 1] - slope[size]) * np.log(rest)
    least = 1.0 - np.exp(-(step + IMPROVEMENT) / slope[size + 1])
    for i in range(len(left)):
        if not arcs.may_be[target, i] or left[i] <= DEPENDENT:
            continue
        share = shared[i] * shared[i] / (left[i] * rest)
        if score.drift == 0.0:
            gain = share if share > least else 0.0
        else:
            gain = -step - slope[size + 1] * np.log(max(1.0 - share, DEPENDENT))
            gain -= score.drift * np.log(left[i])
        if gain > (0.0 if score.drift == 0.0 else IMPROVEMENT):
            work.strength[n_found] = gain
            trees.variable[start + n_found] = i
            n_found += 1
    return n_found


@kernel
def sort_branches(strength: FloatArray, variable: IntArray, start: int, size: int) -> None:
    """Sort by strength, the largest first, and then by number."""
    step = size // 2
    while step > 0:
        for k in range(step, size):
            key, node, at = strength[k], variable[start + k], k
            while at >= step:
                other = variable[start + at - step]
                before = strength[at - step]
                if before > key or (before == key and other < node):
                    break
                strength[at], variable[start + at] = before, other
                at -= step
            strength[at], variable[start + at] = key, node
        step //= 2


@kernel
def condition(target: int, size: int, R: FloatArray, work: Regression) -> None:
    """Set the variances and covariances given the path, keeping those of its part known before."""
    known, m = 0, len(R)
    if work.state[0] == target:
        while known < min(size, work.state[1]) and work.members[known] == work.path[known]:
            known += 1
    else:
        for i in range(m):
            work.left[0, i], work.shared[0, i] = R[i, i], R[target, i]
    for k in range(known, size):
        member, row = work.path[k], work.rows[k]
        work.members[k] = member
        for i in range(m):
            row[i] = R[member, i]
        for before in range(k):
            share, other = work.rows[before, member], work.rows[before]
            for i in range(m):
                row[i] -= share * other[i]
        scale = 1.0 / np.sqrt(max(work.left[k, member], DEPENDENT))
        with_target = row[target] * scale
        left, shared = work.left[k], work.shared[k]
        new_left, new_shared = work.left[k + 1], work.shared[k + 1]
        for i in range(m):
            row[i] *= scale
            new_left[i] = left[i] - row[i] * row[i]
            new_shared[i] = shared[i] - with_target * row[i]
    work.state[0], work.state[1] = target, size


@kernel
def shrink(target: int, size: int, n_required: int, score: Score, work: Regression) -> float:
    """Drop members of ``work.path[:size]`` while that lowers the cost; return the cost.

    ``work.nodes[1:work.state[2] + 1]`` are those that stay. Without member j the precision K of the
    variable and its parents is K - K_j K_j' / K_jj.
    """
    nodes, K = work.nodes, work.K
    nodes[0] = target
    for k in range(size):
        nodes[k + 1] = work.path[k]
    if len(score.cells.weight) > 0:
        return drop_parents(target, size, n_required, score, work)
    group = score.which[target]
    R, base, slope = score.R[group], score.base[group], score.slope[group]
    for a in range(size + 1):
        for b in range(size + 1):
            K[a, b] = R[nodes[a], nodes[b]]
    invert(K, size + 1)
    while size > n_required:
        best, weakest, rest = -IMPROVEMENT, 0, -np.log(K[0, 0])
        for k in range(n_required + 1, size + 1):
            share = max(1.0 - K[0, k] * K[0, k] / (K[0, 0] * K[k, k]), DEPENDENT)
            change = base[size - 1] - base[size] - slope[size] * rest
            change += slope[size - 1] * (rest - np.log(share))
            if score.drift != 0.0:
                change += score.drift * np.log(K[k, k] * share)
            if change < best:
                best, weakest = change, k
        if weakest == 0:
            break
        remove(K, nodes, weakest, size)
        size -= 1
    work.state[2] = size
    return local_cost(score, target, nodes[1:], size, work.L)


@kernel
def drop_parents(target: int, size: int, n_required: int, score: Score, work: Regression) -> float:
    """Drop members of ``work.nodes[1:size + 1]`` while that lowers the cost, whatever the score."""
    nodes, rest = work.nodes, np.empty(size, np.int64)
    cost = local_cost(score, target, nodes[1:], size, work.L)
    while size > n_required:
        best, weakest = cost - IMPROVEMENT, 0
        for k in range(n_required + 1, size + 1):
            for j in range(1, size):
                rest[j - 1] = nodes[size] if j == k else nodes[j]
            without = local_cost(score, target, rest, size - 1, work.L)
            if without < best:
                best, weakest = without, k
        if weakest == 0:
            break
        nodes[weakest] = nodes[size]
        size, cost = size - 1, best
    work.state[2] = size
    return cost


@kernel
def remove(K: FloatArray, nodes: IntArray, weakest: int, size: int) -> None:
    """Take a member out of the precision, and move the last one into the gap."""
    row = K[weakest]
    for i in range(size + 1):
        if i != weakest:
            share = K[i, weakest] / row[weakest]
            for j in range(size + 1):
                K[i, j] -= share * row[j]
    nodes[weakest] = nodes[size]
    for k in range(size + 1):
        K[weakest, k] = K[size, k]
    for k in range(size + 1):
        K[k, weakest] = K[k, size]


def make_families(score: Score, arcs: Arcs) -> Families:
    """Begin without a node: the memory of the trees is enough for a path of any length."""
    m, most = len(score.which), score.base.shape[1]
    n_branches = max(CACHE_BYTES // 8, (most + 1) * m)
    n_nodes = max(n_branches // 8, most + 1)
    trees = Trees(
        roots=np.full(m, -1),
        first=np.empty(n_nodes, dtype=np.int64),
        n_branches=np.empty(n_nodes, dtype=np.int32),
        cost=np.empty(n_nodes),
        variable=np.empty(n_branches, dtype=np.int32),
        child=np.empty(n_branches, dtype=np.int32),
        used=np.zeros(2, dtype=np.int64),
    )
    work = Regression(
        state=np.full(4, -1),
        members=np.empty(most, dtype=np.int64),
        path=np.empty(most, dtype=np.int64),
        nodes=np.empty(most + 1, dtype=np.int64),
        turns=np.empty(m, dtype=np.int64),
        rows=np.empty((most, m)),
        left=np.empty((most + 1, m)),
        shared=np.empty((most + 1, m)),
        strength=np.empty(m),
        K=np.empty((most + 1, most + 1)),
        L=np.empty((most + 1, most + 2)),
        own=np.empty(m + 1),
        is_of_interest=np.empty(m, dtype=bool),
    )
    return Families(score, arcs, arcs.must_be.sum(axis=1), trees, work)
