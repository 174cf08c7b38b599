"""Markov blankets of one variable at a time, from correlations."""

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
