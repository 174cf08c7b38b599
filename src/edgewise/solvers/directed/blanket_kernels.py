"""Kernels for Markov blankets and separating sets."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: A variable with less of its variance left beside those conditioned on depends on them.
DEPENDENT = 1e-10
#: Of the significant variables, a blanket admits the one with the largest marginal correlation,
#: the one with the largest partial correlation, or all.
MARGINAL, STRONGEST, ALL = 0, 1, 2
#: Members that are not significant given the others leave never, once at the end, or each time
#: that the blanket has grown.
NEVER, AT_END, EACH_TIME = 0, 1, 2


@kernel
def find_blanket(
    R: FloatArray,
    limits: FloatArray,
    growth: int,
    shrinkage: int,
    nodes: IntArray,
    rows: FloatArray,
    left: FloatArray,
    shared: FloatArray,
    strength: FloatArray,
    is_free: BoolArray,
    K: FloatArray,
) -> tuple[int, int]:
    """Find the blanket of ``nodes[0]``, into ``nodes[1:]``; return its size and the tests it took.

    A partial correlation given c variables is significant above ``limits[c]``. The other arrays
    are scratch.
    """
    size, first, before, n_tests = 0, 0, np.inf, 0
    while True:
        condition_on(R, nodes, first, size, rows, left, shared, is_free)
        grown = size
        # More than one may have left for one that came; then blankets could recur forever.
        if left[nodes[0]] < before * (1.0 - 1e-13):
            before = left[nodes[0]]
            measure(nodes[0], left, shared, is_free, strength)
            grown = enlarge(R[nodes[0]], strength, limits[size], growth, nodes, size)
            n_tests += len(R) - 1 - size
        is_done, first, size = grown == size, size, grown
        if shrinkage == EACH_TIME or (is_done and shrinkage == AT_END):
            size, n_more = shrink(R, nodes, grown, limits, K)
            n_tests += n_more
            if size < grown:
                first = 0
        if is_done:
            return size, n_tests


@kernel
def condition_on(
    R: FloatArray,
    nodes: IntArray,
    first: int,
    last: int,
    rows: FloatArray,
    left: FloatArray,
    shared: FloatArray,
    is_free: BoolArray,
) -> None:
    """Take out what ``nodes[1 + first : 1 + last]`` explain, in addition to those before.

    ``rows`` are those of the Cholesky factor of R over the blanket; ``left`` are the variances of
    all variables given the blanket, ``shared`` their covariances with ``nodes[0]``.
    """
    target = nodes[0]
    if first == 0:
        for i in range(len(left)):
            left[i], shared[i], is_free[i] = 1.0, R[target, i], i != target
    for k in range(first, last):
        node, row = nodes[1 + k], rows[k]
        for i in range(len(row)):
            row[i] = R[node, i]
        for before in range(k):
            share = rows[before, node]
            for i in range(len(row)):
                row[i] -= share * rows[before, i]
        # All that came in at a time may follow from each other.
        scale = 1.0 / np.sqrt(max(left[node], DEPENDENT))
        with_target = row[target] * scale
        for i in range(len(row)):
            row[i] *= scale
            left[i] -= row[i] * row[i]
            shared[i] -= with_target * row[i]
        is_free[node] = False


@kernel
def measure(
    target: int, left: FloatArray, shared: FloatArray, is_free: BoolArray, strength: FloatArray
) -> None:
    """Set ``strength`` to the size of partial correlations; -1 where there is none to compute."""
    for i in range(len(left)):
        strength[i] = -1.0
        if is_free[i] and left[i] > DEPENDENT and left[target] > DEPENDENT:
            strength[i] = abs(shared[i]) / np.sqrt(left[i] * left[target])


@kernel
def enlarge(
    correlations: FloatArray,
    strength: FloatArray,
    limit: float,
    growth: int,
    nodes: IntArray,
    size: int,
) -> int:
    """Append the significant variables that are admitted, strongest first; return the new size."""
    while size < len(nodes) - 1:
        found, largest = -1, 0.0
        for i in range(len(strength)):
            if strength[i] > limit:
                key = abs(correlations[i]) if growth == MARGINAL else strength[i]
                if found < 0 or key > largest:
                    found, largest = i, key
        if found < 0:
            break
        size += 1
        nodes[size] = found
        strength[found] = -1.0
        if growth != ALL:
            break
    return size


@kernel
def shrink(
    R: FloatArray, nodes: IntArray, size: int, limits: FloatArray, K: FloatArray
) -> tuple[int, int]:
    """Drop members of a blanket that are not significant given the others, weakest first."""
    for a in range(size + 1):
        for b in range(size + 1):
            K[a, b] = R[nodes[a], nodes[b]]
    invert(K, size + 1)
    return eliminate(K, nodes, size, limits)


@kernel
def invert(A: FloatArray, n: int) -> None:
    """Replace the leading ``n`` rows of a correlation matrix by their inverse.

    A variable that follows from those before is given a little variance of its own.
    """
    for k in range(n):
        pivot = 1.0 / max(A[k, k], DEPENDENT)
        A[k, k] = 1.0
        for j in range(n):
            A[k, j] *= pivot
        for i in range(n):
            if i != k:
                share = A[i, k]
                A[i, k] = 0.0
                for j in range(n):
                    A[i, j] -= share * A[k, j]


@kernel
def eliminate(K: FloatArray, nodes: IntArray, size: int, limits: FloatArray) -> tuple[int, int]:
    """Remove variables from a precision matrix while they are independent of ``nodes[0]``.

    Row k of ``K`` is that of ``nodes[k]``. The weakest goes first; without variable j the precision
    of the others is K - K_j K_j' / K_jj. Returns how many stay, in ``nodes[1:]``, and the number
    of tests.
    """
    n_tests = 0
    while size > 0:
        n_tests += size
        weakest, smallest = 0, np.inf
        for k in range(1, size + 1):
            strength = abs(K[0, k]) / np.sqrt(K[0, 0] * K[k, k])
            if strength < smallest:
                weakest, smallest = k, strength
        if smallest > limits[size - 1]:
            break
        row = K[weakest]
        for i in range(size + 1):
            if i != weakest:
                share = K[i, weakest] / row[weakest]
                for j in range(size + 1):
                    K[i, j] -= share * row[j]
        # The last one moves into the gap, so that what is left stays in one block.
        nodes[weakest] = nodes[size]
        for k in range(size + 1):
            K[weakest, k] = K[size, k]
        for k in range(size + 1):
            K[k, weakest] = K[k, size]
        size -= 1
    return size, n_tests


@kernel
def separate_pairs(
    R: FloatArray,
    pairs: IntArray,
    blankets: BoolArray,
    may_precede: BoolArray,
    limits: FloatArray,
    deepest: int,
    budget: int,
    sizes: IntArray,
    is_member: BoolArray,
) -> int:
    """Find a separating set for each pair inside the smaller of its two blankets.

    ``blankets[j]`` is that of j. Of the members, only those that may be an ancestor of either
    variable can be needed: ``may_precede[i, j]`` says whether i may be one of j. ``sizes[k]`` is
    set to the size of the set of pair k, -1 where there is none, and ``is_member[k]`` to its
    members. Returns the number of tests.
    """
    m = R.shape[0]
    pool, other, best = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    n_tests = 0
    for k in range(len(pairs)):
        x, y = pairs[k]
        n_pool, size = list_pool(R, x, y, blankets, may_precede, pool)
        n_other, other_size = list_pool(R, y, x, blankets, may_precede, other)
        # Blankets of one length are told apart by what does not change with the order of columns.
        is_other = n_other < n_pool or (n_other == n_pool and other_size < size)
        chosen = other[:n_other] if is_other else pool[:n_pool]
        sizes[k], n_more = find_separator(R, x, y, chosen, limits, deepest, budget, best)
        n_tests += n_more
        for i in range(sizes[k]):
            is_member[k, best[i]] = True
    return n_tests


@kernel
def list_pool(
    R: FloatArray, x: int, y: int, blankets: BoolArray, may_precede: BoolArray, pool: IntArray
) -> tuple[int, float]:
    """List what may separate x and y in the blanket of x; also add up its correlations with x."""
    n_pool, total = 0, 0.0
    for i in range(len(pool)):
        if blankets[x, i] and i != y and (may_precede[i, x] or may_precede[i, y]):
            pool[n_pool] = i
            n_pool += 1
            total += abs(R[x, i])
    return n_pool, total


@kernel
def find_separator(
    R: FloatArray,
    x: int,
    y: int,
    pool: IntArray,
    limits: FloatArray,
    deepest: int,
    budget: int,
    best: IntArray,
) -> tuple[int, int]:
    """Find the smallest subset of ``pool`` given which x and y are independent.

    Of several with that size, the one with the smallest partial correlation. A size is not tried
    where that would take more than ``budget`` tests in all. Returns the size, -1 for none, and the
    number of tests.
    """
    C = gather(R, x, y, pool)
    depth = min(deepest, len(pool))
    L, left = np.empty((depth, depth + 2)), np.empty((depth + 1, 3))
    chosen, weakest = np.empty(depth, np.int64), np.empty(depth, np.int64)
    n_tests, n_subsets = 0, 1
    for size in range(depth + 1):
        if n_tests + n_subsets > budget:
            break
        n_tests += n_subsets
        if weakest_subset(C, size, chosen, weakest, L, left) <= limits[size]:
            for k in range(size):
                best[k] = pool[weakest[k] - 2]
            return size, n_tests
        n_subsets = n_subsets * (len(pool) - size) // (size + 1)
    return -1, n_tests


@kernel
def correlation_given(R: FloatArray, x: int, y: int, given: IntArray) -> float:
    """Return the partial correlation of two variables given others."""
    C, size = gather(R, x, y, given), len(given)
    L, left = np.empty((size, size + 2)), np.empty((size + 1, 3))
    left[0, 0], left[0, 1], left[0, 2] = C[0, 0], C[1, 1], C[0, 1]
    chosen = np.arange(2, size + 2)
    for k in range(size):
        append(C, chosen, k, L, left)
    return ratio(left[size])


@kernel
def gather(R: FloatArray, x: int, y: int, others: IntArray) -> FloatArray:
    """Copy the correlations of x, y and others, in that order."""
    nodes = np.empty(len(others) + 2, np.int64)
    nodes[0], nodes[1] = x, y
    for k in range(len(others)):
        nodes[k + 2] = others[k]
    C = np.empty((len(nodes), len(nodes)))
    for a in range(len(nodes)):
        for b in range(len(nodes)):
            C[a, b] = R[nodes[a], nodes[b]]
    return C


@kernel
def weakest_subset(
    C: FloatArray,
    size: int,
    chosen: IntArray,
    weakest: IntArray,
    L: FloatArray,
    left: FloatArray,
) -> float:
    """Go through all subsets of a size for the smallest partial correlation of variables 0 and 1.

    Subsets come in lexicographic order, and only rows of the Cholesky factor that changed are
    computed again.
    """
    left[0, 0], left[0, 1], left[0, 2] = C[0, 0], C[1, 1], C[0, 1]
    for k in range(size):
        chosen[k] = k + 2
    smallest, first = np.inf, 0
    while True:
        for k in range(first, size):
            append(C, chosen, k, L, left)
        strength = abs(ratio(left[size]))
        if strength < smallest:
            smallest = strength
            for k in range(size):
                weakest[k] = chosen[k]
        first = size - 1
        while first >= 0 and chosen[first] == len(C) - size + first:
            first -= 1
        if first < 0:
            return smallest
        chosen[first] += 1
        for k in range(first + 1, size):
            chosen[k] = chosen[k - 1] + 1


@kernel
def append(C: FloatArray, chosen: IntArray, k: int, L: FloatArray, left: FloatArray) -> None:
    """Condition variables 0 and 1 on ``chosen[k]``, given those chosen before.

    ``L[k]`` becomes its row of the Cholesky factor, with its entries in the rows of variables 0
    and 1 in the last two columns; ``left[k + 1]`` their variances and their covariance given all.
    """
    node, width = chosen[k], L.shape[1]
    pivot, first, second = C[node, node], C[node, 0], C[node, 1]
    for j in range(k):
        value = C[node, chosen[j]]
        for i in range(j):
            value -= L[k, i] * L[j, i]
        value /= L[j, j]
        L[k, j] = value
        pivot -= value * value
        first -= value * L[j, width - 2]
        second -= value * L[j, width - 1]
    if pivot > DEPENDENT:
        L[k, k] = np.sqrt(pivot)
        first /= L[k, k]
        second /= L[k, k]
    else:
        # It follows from those before, and adds nothing to what they explain.
        L[k, k], first, second = 1.0, 0.0, 0.0
    L[k, width - 2], L[k, width - 1] = first, second
    left[k + 1, 0] = left[k, 0] - first * first
    left[k + 1, 1] = left[k, 1] - second * second
    left[k + 1, 2] = left[k, 2] - first * second


@kernel
def ratio(left: FloatArray) -> float:
    """Correlation from two variances and a covariance; 0 where nothing is left of a variance."""
    if left[0] <= DEPENDENT or left[1] <= DEPENDENT:
        return 0.0
    value: float = left[2] / np.sqrt(left[0] * left[1])
    return value


@kernel
def keep_neighbors_and_spouses(
    R: FloatArray,
    candidates: BoolArray,
    limits: FloatArray,
    deepest: int,
    budget: int,
    is_member: BoolArray,
) -> int:
    """Prune blankets by separating sets; return the number of tests.

    A candidate stays if no subset of the others separates it from the variable j itself, or if
    none separates it from such a neighbour of j which is not in the set that separates it from
    j: then that neighbour is a common child. ``candidates[j]`` is the blanket of j before,
    ``is_member[j]`` that after.
    """
    m, n_tests = R.shape[0], 0
    pool, best = np.empty(m, np.int64), np.empty(m, np.int64)
    for target in range(m):
        separator = np.zeros((m, m), np.bool_)
        for y in range(m):
            if candidates[target, y]:
                n_pool = list_others(candidates[target], y, target, pool)
                size, n_more = find_separator(
                    R, target, y, pool[:n_pool], limits, deepest, budget, best
                )
                n_tests += n_more
                is_member[target, y] = size < 0
                for k in range(size):
                    separator[y, best[k]] = True
        neighbors = is_member[target].copy()
        for y in range(m):
            if candidates[target, y] and not neighbors[y]:
                for child in range(m):
                    if is_member[target, y] or not neighbors[child] or separator[y, child]:
                        continue
                    n_pool = list_others(candidates[target], y, child, pool)
                    pool[n_pool] = target
                    size, n_more = find_separator(
                        R, y, child, pool[: n_pool + 1], limits, deepest, budget, best
                    )
                    n_tests += n_more
                    is_member[target, y] = size < 0
    return n_tests


@kernel
def list_others(is_member: BoolArray, x: int, y: int, pool: IntArray) -> int:
    """List members but for two; return how many there are."""
    n_pool = 0
    for i in range(len(is_member)):
        if is_member[i] and i not in (x, y):
            pool[n_pool] = i
            n_pool += 1
    return n_pool


@kernel
def prune_stably(
    R: FloatArray,
    joined: BoolArray,
    is_fixed: BoolArray,
    may_precede: BoolArray,
    limits: FloatArray,
    deepest: int,
    budget: int,
) -> int:
    """Part the pairs that a subset of the neighbours of either separates; return the tests.

    Subsets go from small to large; those of one size are of the neighbours before that size, so
    that the order of the pairs makes no difference. Pairs that ``is_fixed`` stay joined.
    """
    m, n_tests, size = R.shape[0], 0, 0
    pool, frozen = np.empty(m, np.int64), np.empty_like(joined)
    chosen, weakest = np.empty(m, np.int64), np.empty(m, np.int64)
    L, left = np.empty((m, m + 2)), np.empty((m + 1, 3))
    is_worth_more = True
    while is_worth_more and size <= deepest:
        is_worth_more = False
        for x in range(m):
            for y in range(m):
                frozen[x, y] = joined[x, y]
        for x in range(m):
            for y in range(m):
                if not joined[x, y] or is_fixed[x, y] or (size == 0 and y < x):
                    continue
                n_pool = list_pool(R, x, y, frozen, may_precede, pool)[0]
                n_subsets = count_subsets(n_pool, size, budget)
                if n_subsets == 0:
                    continue
                is_worth_more = True
                n_tests += n_subsets
                C = gather(R, x, y, pool[:n_pool])
                if weakest_subset(C, size, chosen, weakest, L[:, m - size :], left) <= limits[size]:
                    joined[x, y], joined[y, x] = False, False
        size += 1
    return n_tests


@kernel
def count_subsets(n: int, size: int, budget: int) -> int:
    """Count the subsets of a size; 0 where there are none or more than ``budget``."""
    if size > n:
        return 0
    count = 1
    for k in range(size):
        count = count * (n - k) // (k + 1)
    return count if count <= budget else 0


@kernel
def separate_surely(
    R: FloatArray,
    pairs: IntArray,
    joined: BoolArray,
    may_precede: BoolArray,
    n_samples: float,
    deepest: int,
    budget: int,
    is_member: BoolArray,
) -> int:
    """Find the subset of the neighbours of either variable that separates each pair best.

    That is the one with the largest p-value of Fisher's test. Returns the number of tests.
    """
    m, n_tests = R.shape[0], 0
    pool, chosen, weakest = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    L, left = np.empty((m, m + 2)), np.empty((m + 1, 3))
    for k in range(len(pairs)):
        least = np.inf
        for side in range(2):
            x, y = pairs[k, side], pairs[k, 1 - side]
            n_pool = list_pool(R, x, y, joined, may_precede, pool)[0]
            C = gather(R, x, y, pool[:n_pool])
            for size in range(min(deepest, n_pool) + 1):
                n_subsets = count_subsets(n_pool, size, budget)
                if n_subsets == 0:
                    break
                n_tests += n_subsets
                strength = weakest_subset(C, size, chosen, weakest, L[:, m - size :], left)
                strength = np.sqrt(n_samples - size - 3.0) * np.arctanh(min(strength, 1.0 - 1e-16))
                if strength < least * (1.0 - 1e-9):
                    least = strength
                    for i in range(m):
                        is_member[k, i] = False
                    for i in range(size):
                        is_member[k, pool[weakest[i] - 2]] = True
    return n_tests
