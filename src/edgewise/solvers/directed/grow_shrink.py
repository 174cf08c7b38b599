"""Grow-shrink trees: the parents of variables among those before them, found once and kept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.solvers.directed.blanket_kernels import DEPENDENT
from edgewise.solvers.directed.scores import IMPROVEMENT, Arcs, Score, local_cost

#: Memory for the grow-shrink trees of all searches at a time, in bytes; when the share of one is
#: used up, its trees grow anew.
CACHE_BYTES = 2**30
#: Bytes of a node of a tree, and of a branch of up to 65,536 variables.
NODE_BYTES, BRANCH_BYTES = 32, 2


class Trees(NamedTuple):
    """Grow-shrink trees of all variables.

    A path from the root of the tree of variable j holds what was added to its parents, one after
    another. ``first`` and ``n_branches`` say where the branches of a node are (-1: not known yet),
    ``cost`` what its set costs after shrinking (NaN: not known yet), and ``variable`` what a branch
    adds, the best first. Few branches are ever taken: the nodes that those of a node led to are
    linked, from ``latest`` on by ``next`` (-1: no more), and ``entered`` is what each added.
    ``used`` counts nodes and branches, which together take at most ``most_bytes``.
    """

    roots: IntArray
    first: IntArray
    n_branches: AnyArray
    cost: FloatArray
    latest: AnyArray
    next: AnyArray
    entered: AnyArray
    variable: AnyArray
    used: IntArray
    most_bytes: int


class Regression(NamedTuple):
    """Scratch, and the regression along the path that was followed last.

    ``state`` has the variable it is of, how many of ``members`` count, how many parents were left
    at the last shrinking, the length of ``path``, and the nodes of trees that were walked through
    since the search began. ``rows[k]`` is the row of the Cholesky factor that member k adds;
    ``left[k]`` are the variances of all variables given the first k members, ``shared[k]`` their
    covariances with the variable. ``found`` are additions that lower the cost and ``strength`` by
    how much; ``starts`` and ``sorted`` are scratch of their sorting.
    """

    state: IntArray
    members: IntArray
    path: IntArray
    nodes: IntArray
    turns: IntArray
    rows: FloatArray
    left: FloatArray
    shared: FloatArray
    found: IntArray
    strength: FloatArray
    starts: IntArray
    sorted: FloatArray
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
            added = -1
            for k in range(trees.first[node], trees.first[node] + trees.n_branches[node]):
                variable = int(trees.variable[k])
                is_of_interest[variable] = True
                if has_special if variable == special else rank[variable] < limit:
                    added = variable
                    break
            if added < 0:
                work.state[3] = size
                work.state[4] += size + 1
                if np.isnan(trees.cost[node]):
                    trees.cost[node] = shrink(target, size, n_required, score, work)
                cost: float = trees.cost[node]
                return cost
            work.path[size] = added
            size += 1
            node = enter(node, added, trees)
        # The memory is used up.
        for i in range(len(rank)):
            trees.roots[i] = -1
        trees.used[0], trees.used[1] = 0, 0


@kernel
def add_node(trees: Trees) -> int:
    """Add a node about which nothing is known; return its number, -1 if there is no room."""
    node = trees.used[0]
    n_bytes = NODE_BYTES * node + BRANCH_BYTES * trees.used[1]
    if node >= len(trees.n_branches) or n_bytes > trees.most_bytes:
        return -1
    trees.used[0] += 1
    trees.n_branches[node], trees.cost[node], trees.latest[node] = -1, np.nan, -1
    return int(node)


@kernel
def enter(node: int, variable: int, trees: Trees) -> int:
    """Return the node that the branch of a variable leads to; -1 if it is new and has no room.

    It becomes the first to be looked at the next time: the same path is followed many times.
    """
    before, child = -1, trees.latest[node]
    while child >= 0 and trees.entered[child] != variable:
        before, child = child, trees.next[child]
    if child < 0:
        child = add_node(trees)
        if child < 0:
            return -1
        trees.entered[child] = variable
    elif before < 0:
        return int(child)
    else:
        trees.next[before] = trees.next[child]
    trees.next[child], trees.latest[node] = trees.latest[node], child
    return int(child)


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
        n_found = weigh_additions(target, size, score, arcs, work)
    else:
        n_found = weigh_regressors(target, size, score, arcs, work)
    sort_branches(n_found, start, trees.variable, work)
    trees.n_branches[node] = n_found
    trees.used[1] += n_found
    return True


@kernel
def weigh_additions(target: int, size: int, score: Score, arcs: Arcs, work: Regression) -> int:
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
            work.strength[n_found], work.found[n_found] = gain, i
            n_found += 1
    return n_found


@kernel
def weigh_regressors(target: int, size: int, score: Score, arcs: Arcs, work: Regression) -> int:
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
    if score.drift == 0.0:
        # More of the variance explained lowers the cost more; most variables explain too little.
        least = rest * (1.0 - np.exp(-(step + IMPROVEMENT) / slope[size + 1]))
        for i in range(len(left)):
            explained = shared[i] * shared[i]
            if explained > least * left[i] and left[i] > DEPENDENT and arcs.may_be[target, i]:
                work.strength[n_found], work.found[n_found] = explained / left[i], i
                n_found += 1
        return n_found
    for i in range(len(left)):
        if not arcs.may_be[target, i] or left[i] <= DEPENDENT:
            continue
        share = shared[i] * shared[i] / (left[i] * rest)
        gain = -step - slope[size + 1] * np.log(max(1.0 - share, DEPENDENT))
        gain -= score.drift * np.log(left[i])
        if gain > IMPROVEMENT:
            work.strength[n_found], work.found[n_found] = gain, i
            n_found += 1
    return n_found


@kernel
def sort_branches(size: int, at: int, variable: AnyArray, work: Regression) -> None:
    """Put what was found into ``variable[at:at + size]`` by strength, the largest first.

    Equal ones stay in the order of their numbers. Positive numbers are in the order of their bits,
    of which the leading ones are about the logarithm: bins of equal width on that scale hold few
    strengths each.
    """
    if size == 0:
        return
    strength, found, starts, ordered = work.strength, work.found, work.starts, work.sorted
    bits = strength.view(np.int64)
    low, high = bits[0], bits[0]
    for k in range(size):
        low, high = min(low, bits[k]), max(high, bits[k])
        starts[k] = 0
    scale = (size - 0.5) / (float(high - low) + 1.0)
    for k in range(size):
        starts[int((high - bits[k]) * scale)] += 1
    total = 0
    for k in range(size):
        starts[k], total = total, total + starts[k]
    for k in range(size):
        place = int((high - bits[k]) * scale)
        ordered[starts[place]], variable[at + starts[place]] = strength[k], found[k]
        starts[place] += 1
    for k in range(1, size):
        key, node, place = ordered[k], variable[at + k], k
        while place > 0 and ordered[place - 1] < key:
            ordered[place], variable[at + place] = ordered[place - 1], variable[at + place - 1]
            place -= 1
        ordered[place], variable[at + place] = key, node


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
        # Four at a time: the row is read and written a quarter as often.
        for before in range(0, k - 3, 4):
            a, b = work.rows[before], work.rows[before + 1]
            c, d = work.rows[before + 2], work.rows[before + 3]
            of_a, of_b, of_c, of_d = a[member], b[member], c[member], d[member]
            for i in range(m):
                row[i] -= of_a * a[i] + of_b * b[i] + of_c * c[i] + of_d * d[i]
        for before in range(k - k % 4, k):
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

    ``work.nodes[1:work.state[2] + 1]`` are those that stay. Without member k, of coefficient b, the
    residual variance is larger by b^2 / M_kk, with M the inverse of the correlations of all.
    """
    nodes, slopes = work.nodes, work.strength
    nodes[0] = target
    for k in range(size):
        nodes[k + 1] = work.path[k]
    if len(score.cells.weight) > 0:
        return drop_parents(target, size, n_required, score, work)
    cost = local_cost(score, target, nodes[1:], size, work.L)
    work.state[2] = size
    if size == n_required:
        return cost
    group, M = score.which[target], work.L
    base, slope = score.base[group], score.slope[group]
    left = score.R[group, target, target] - regress(size, work)
    n_before = size
    while size > n_required:
        best, weakest = -IMPROVEMENT, -1
        rest = np.log(max(left, DEPENDENT))
        for k in range(n_required, size):
            own = M[k, k] if size < n_before else work.sorted[k]
            more = np.log1p(slopes[k] * slopes[k] / (own * max(left, DEPENDENT)))
            change = base[size - 1] - base[size] - slope[size] * rest
            change += slope[size - 1] * (rest + more)
            if score.drift != 0.0:
                change += score.drift * np.log(own)
            if change < best:
                best, weakest = change, k
        if weakest < 0:
            break
        if size == n_before:
            multiply_factor(size, work)
        left += slopes[weakest] * slopes[weakest] / M[weakest, weakest]
        size -= 1
        remove(M, slopes, weakest, size)
        nodes[weakest + 1] = nodes[size + 1]
    if size == n_before:
        return cost
    work.state[2] = size
    return local_cost(score, target, nodes[1:], size, work.L)


@kernel
def regress(size: int, work: Regression) -> float:
    """Regress on the members whose Cholesky factor is in ``work.L``; return what they explain.

    ``work.K`` becomes the inverse of the factor, ``work.strength`` the coefficients and
    ``work.sorted`` the diagonal of the inverse of the correlations.
    """
    L, inverse, last = work.L, work.K, work.L.shape[1] - 1
    slopes, diagonal, explained = work.strength, work.sorted, 0.0
    for i in range(size):
        slopes[i], diagonal[i] = 0.0, 0.0
        for j in range(i):
            inverse[i, j] = 0.0
        for k in range(i):
            share = L[i, k] / L[i, i]
            for j in range(k + 1):
                inverse[i, j] -= share * inverse[k, j]
        inverse[i, i] = 1.0 / L[i, i]
        explained += L[i, last] * L[i, last]
        for j in range(i + 1):
            slopes[j] += inverse[i, j] * L[i, last]
            diagonal[j] += inverse[i, j] * inverse[i, j]
    return explained


@kernel
def multiply_factor(size: int, work: Regression) -> None:
    """Set ``work.L`` to the inverse of the correlations, from its factor in ``work.K``."""
    M, inverse = work.L, work.K
    for a in range(size):
        for b in range(size):
            M[a, b] = 0.0
    for i in range(size):
        for a in range(i + 1):
            share = inverse[i, a]
            for b in range(i + 1):
                M[a, b] += share * inverse[i, b]


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
def remove(M: FloatArray, slopes: FloatArray, weakest: int, last: int) -> None:
    """Take a member out of a regression, and move the last one into the gap."""
    row = M[weakest]
    for i in range(last + 1):
        if i != weakest:
            share = M[i, weakest] / row[weakest]
            slopes[i] -= share * slopes[weakest]
            for j in range(last + 1):
                M[i, j] -= share * row[j]
    slopes[weakest] = slopes[last]
    for k in range(last + 1):
        M[weakest, k] = M[last, k]
    for k in range(last + 1):
        M[k, weakest] = M[k, last]


def make_families(score: Score, arcs: Arcs, n_searches: int = 1) -> Families:
    """Begin without a node: the memory of the trees is enough for a path of any length."""
    m, most = len(score.which), score.base.shape[1]
    most_bytes = max(CACHE_BYTES // n_searches, (most + 1) * (NODE_BYTES + BRANCH_BYTES * m))
    # There may be many nodes with few branches or few with many; memory is taken when it is used.
    n_nodes, n_branches = most_bytes // NODE_BYTES, most_bytes // BRANCH_BYTES
    trees = Trees(
        roots=np.full(m, -1),
        first=np.empty(n_nodes, dtype=np.int64),
        n_branches=np.empty(n_nodes, dtype=np.int32),
        cost=np.empty(n_nodes),
        latest=np.empty(n_nodes, dtype=np.int32),
        next=np.empty(n_nodes, dtype=np.int32),
        entered=np.empty(n_nodes, dtype=np.int32),
        variable=np.empty(n_branches, dtype=np.uint16 if m <= 2**16 else np.int32),
        used=np.zeros(2, dtype=np.int64),
        most_bytes=most_bytes,
    )
    work = Regression(
        state=np.array([-1, -1, -1, -1, 0]),
        members=np.empty(most, dtype=np.int64),
        path=np.empty(most, dtype=np.int64),
        nodes=np.empty(most + 1, dtype=np.int64),
        turns=np.empty(m, dtype=np.int64),
        rows=np.empty((most, m)),
        left=np.empty((most + 1, m)),
        shared=np.empty((most + 1, m)),
        found=np.empty(m, dtype=np.int64),
        strength=np.empty(m),
        starts=np.empty(m, dtype=np.int64),
        sorted=np.empty(m),
        K=np.empty((most + 1, most + 1)),
        L=np.empty((most + 1, most + 2)),
        own=np.empty(m + 1),
        is_of_interest=np.empty(m, dtype=bool),
    )
    return Families(score, arcs, arcs.must_be.sum(axis=1), trees, work)
