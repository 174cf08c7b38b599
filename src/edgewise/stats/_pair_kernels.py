"""Kernels for features of pairs of variables, none of which forms the features of all pairs.

A pair (v, u) with v <= u among d variables has the number v * d + u. Its features are products
x_v^a x_u^b, looked up in ``powers`` of shape (k + 1, d, n), whose first layer is 1.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray


@kernel
def add_values(
    powers: FloatArray,
    pairs: IntArray,
    left: IntArray,
    right: IntArray,
    diagonal_size: int,
    coef: FloatArray,
    out: FloatArray,
) -> None:
    """Add sum_g sum_m coef[g, m] x_v^a_m x_u^b_m of every row to ``out``."""
    d, n = powers.shape[1], powers.shape[2]
    for g in range(len(pairs)):
        v, u = pairs[g] // d, pairs[g] % d
        size = diagonal_size if v == u else len(left)
        for m in range(size):
            c = coef[g, m]
            if c != 0.0:
                first, second = powers[left[m], v], powers[right[m], u]
                for i in range(n):
                    out[i] += c * first[i] * second[i]


@kernel
def some_moments(
    powers: FloatArray,
    pairs: IntArray,
    left: IntArray,
    right: IntArray,
    diagonal_size: int,
    weights: FloatArray,
    out: FloatArray,
) -> None:
    """Put sum_i weights[i] x_iv^a_m x_iu^b_m of some pairs into ``out[g, m]``."""
    d, n = powers.shape[1], powers.shape[2]
    for g in range(len(pairs)):
        v, u = pairs[g] // d, pairs[g] % d
        size = diagonal_size if v == u else len(left)
        for m in range(len(left)):
            total = 0.0
            if m < size:
                first, second = powers[left[m], v], powers[right[m], u]
                for i in range(n):
                    total += weights[i] * first[i] * second[i]
            out[g, m] = total


@kernel
def some_columns(
    powers: FloatArray,
    pairs: IntArray,
    left: IntArray,
    right: IntArray,
    diagonal_size: int,
    scale: FloatArray,
    out: FloatArray,
) -> None:
    """Put scale[i] x_iv^a_m x_iu^b_m of some pairs into ``out[g, m, i]``."""
    d, n = powers.shape[1], powers.shape[2]
    for g in range(len(pairs)):
        v, u = pairs[g] // d, pairs[g] % d
        size = diagonal_size if v == u else len(left)
        for m in range(len(left)):
            if m < size:
                first, second = powers[left[m], v], powers[right[m], u]
                for i in range(n):
                    out[g, m, i] = scale[i] * first[i] * second[i]
            else:
                for i in range(n):
                    out[g, m, i] = 0.0


@kernel
def _longer(found: IntArray) -> IntArray:
    """Room for twice as many numbers."""
    longer = np.empty(2 * len(found), dtype=np.int64)
    for k in range(len(found)):
        longer[k] = found[k]
    return longer


@kernel
def products_above(
    target: FloatArray,
    moments: FloatArray,
    threshold: float,
    diagonal_threshold: float,
) -> IntArray:
    """Pairs v <= u with |target - moments| above a threshold, in order."""
    d = len(target)
    found, count = np.empty(1024, dtype=np.int64), 0
    for v in range(d):
        for u in range(v, d):
            limit = diagonal_threshold if v == u else threshold
            if abs(target[v, u] - moments[v, u]) > limit:
                if count == len(found):
                    found = _longer(found)
                found[count] = v * d + u
                count += 1
    return found[:count].copy()


@kernel
def monomials_above(
    cross: FloatArray,
    cross_moments: FloatArray,
    is_mixed: IntArray,
    single: FloatArray,
    threshold: float,
    diagonal_threshold: float,
) -> IntArray:
    """Pairs v <= u whose vector of differences is longer than a threshold, in order.

    ``single`` holds the squared length of what depends on one variable, which is a part of each
    of its pairs. A layer of ``cross`` with two different powers serves (v, u) and (u, v).
    """
    d = cross.shape[1]
    found, count = np.empty(1024, dtype=np.int64), 0
    for v in range(d):
        for u in range(v, d):
            if v == u:
                square, limit = single[v], diagonal_threshold
            else:
                square, limit = single[v] + single[u], threshold
                for t in range(len(cross)):
                    square += (cross[t, v, u] - cross_moments[t, v, u]) ** 2
                    if is_mixed[t]:
                        square += (cross[t, u, v] - cross_moments[t, u, v]) ** 2
            if square > limit * limit:
                if count == len(found):
                    found = _longer(found)
                found[count] = v * d + u
                count += 1
    return found[:count].copy()
