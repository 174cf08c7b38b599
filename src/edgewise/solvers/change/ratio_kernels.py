"""Kernels for coefficients of a few pairs, which are in order of their numbers."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray


@kernel
def merge(
    pairs: IntArray,
    values: FloatArray,
    other_pairs: IntArray,
    other_values: FloatArray,
    factor: float,
) -> tuple[IntArray, FloatArray]:
    """Add ``factor`` times other coefficients; return the pairs of both and their coefficients."""
    size = values.shape[1]
    merged = np.empty(len(pairs) + len(other_pairs), dtype=np.int64)
    out = np.zeros((len(merged), size))
    i, j, m = 0, 0, 0
    while i < len(pairs) or j < len(other_pairs):
        takes_other = i == len(pairs) or (j < len(other_pairs) and other_pairs[j] <= pairs[i])
        takes_own = j == len(other_pairs) or (i < len(pairs) and pairs[i] <= other_pairs[j])
        if takes_own:
            merged[m] = pairs[i]
            for b in range(size):
                out[m, b] += values[i, b]
            i += 1
        if takes_other:
            merged[m] = other_pairs[j]
            for b in range(size):
                out[m, b] += factor * other_values[j, b]
            j += 1
        m += 1
    return merged[:m].copy(), out[:m].copy()


@kernel
def inner_product(
    pairs: IntArray, values: FloatArray, other_pairs: IntArray, other_values: FloatArray
) -> float:
    """Sum the products of the coefficients of the pairs that both have."""
    total = 0.0
    i, j = 0, 0
    while i < len(pairs) and j < len(other_pairs):
        if pairs[i] == other_pairs[j]:
            for b in range(values.shape[1]):
                total += values[i, b] * other_values[j, b]
            i += 1
            j += 1
        elif pairs[i] < other_pairs[j]:
            i += 1
        else:
            j += 1
    return total
