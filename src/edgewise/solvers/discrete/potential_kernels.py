r"""Pseudo-likelihood of clique potentials, from counts of one variable at a time.

Rows that agree on the neighbours of variable v form a slice. They have the same distribution
:math:`p_l = P(x_v = l \mid x_{-v})`, and only the number :math:`n_l` of rows with level l matters.
Row s of ``cells`` holds the cells that slice s selects in the cliques of v with v at level 0.
"""

from __future__ import annotations

import math

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.data.markov_model import find_cells, level_weights


@kernel
def find_all_cells(
    X: AnyArray,
    rows: IntArray,
    variable: int,
    cliques: IntArray,
    offsets: IntArray,
    clique_start: IntArray,
    members: IntArray,
    strides: IntArray,
    cells: AnyArray,
) -> None:
    """Fill in the cells that each of some rows of ``X`` selects with ``variable`` at level 0."""
    for s in range(len(rows)):
        find_cells(X[rows[s]], variable, cliques, offsets, clique_start, members, strides, cells[s])


@kernel
def add_gradient(
    potentials: FloatArray,
    cells: AnyArray,
    strides: IntArray,
    counts: FloatArray,
    gradient: FloatArray,
) -> float:
    r"""Give :math:`-\sum_s \sum_l n_{sl} \log p_{sl}` and add its gradient.

    The derivative by the cell that level l selects is :math:`n_s p_{sl} - n_{sl}`, with
    :math:`n_s = \sum_l n_{sl}`.
    """
    value = 0.0
    n_levels = counts.shape[1]
    weights = np.empty(n_levels)
    for s in range(len(cells)):
        largest, total = level_weights(potentials, cells[s], strides, weights)
        n_rows = 0.0
        for level in range(n_levels):
            n_rows += counts[s, level]
        value += n_rows * (largest + math.log(total))
        for level in range(n_levels):
            change = n_rows * weights[level] / total - counts[s, level]
            for q in range(len(strides)):
                cell = cells[s, q] + strides[q] * level
                value -= counts[s, level] * potentials[cell]
                gradient[cell] += change
    return value


@kernel
def find_spread(
    potentials: FloatArray,
    cells: AnyArray,
    strides: IntArray,
    counts: FloatArray,
    spread: FloatArray,
) -> None:
    """Fill in the expected counts :math:`n_s p_{sl}`, as many rows as there are in each slice."""
    for s in range(len(cells)):
        _, total = level_weights(potentials, cells[s], strides, spread[s])
        n_rows = 0.0
        for level in range(counts.shape[1]):
            n_rows += counts[s, level]
        for level in range(counts.shape[1]):
            spread[s, level] *= n_rows / total


@kernel
def add_curvature(
    direction: FloatArray,
    cells: AnyArray,
    strides: IntArray,
    spread: FloatArray,
    product: FloatArray,
) -> None:
    r"""Add the product of the Hessian with a direction.

    With :math:`u_{sl}` the sum of the direction over the cells that level l selects, that is
    :math:`n_s p_{sl} (u_{sl} - \sum_k p_{sk} u_{sk})` for each of these cells.
    """
    n_levels = spread.shape[1]
    slopes = np.empty(n_levels)
    for s in range(len(cells)):
        n_rows = 0.0
        mean = 0.0
        for level in range(n_levels):
            slope = 0.0
            for q in range(len(strides)):
                slope += direction[cells[s, q] + strides[q] * level]
            slopes[level] = slope
            n_rows += spread[s, level]
            mean += spread[s, level] * slope
        mean /= n_rows
        for level in range(n_levels):
            change = spread[s, level] * (slopes[level] - mean)
            for q in range(len(strides)):
                product[cells[s, q] + strides[q] * level] += change
