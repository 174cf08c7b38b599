"""Distribution of one variable of a discrete Markov network given the others, compiled.

The arrays are those of `CliqueLayout`. What the others do is summed up in one cell per clique of
the variable: the one that they select together with its level 0. Its level l selects the cell
``cells[q] + strides[q] * l``.
"""

from __future__ import annotations

import math

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, FloatArray, IntArray


@kernel
def find_cells(
    row: AnyArray,
    variable: int,
    cliques: IntArray,
    offsets: IntArray,
    clique_start: IntArray,
    members: IntArray,
    strides: IntArray,
    cells: AnyArray,
) -> None:
    """Fill in the cells that the levels in ``row`` select with ``variable`` at level 0."""
    for q in range(len(cliques)):
        cell = offsets[cliques[q]]
        for k in range(clique_start[cliques[q]], clique_start[cliques[q] + 1]):
            if members[k] != variable:
                cell += strides[k] * np.int64(row[members[k]])
        cells[q] = cell


@kernel
def level_weights(
    potentials: FloatArray, cells: AnyArray, strides: IntArray, weights: FloatArray
) -> tuple[float, float]:
    r"""Fill in :math:`w_l \propto P(x_v = l \mid x_{-v})`, the largest of them 1.

    .. math:: \log w_l = \sum_{c \ni v} \theta_c(x_c) - m \quad \text{with } x_v = l

    Returns
    -------
    largest, total : float
        The largest of the sums, :math:`m`, and the sum of the weights.
    """
    largest = -math.inf
    for level in range(len(weights)):
        log_weight = 0.0
        for q in range(len(cells)):
            log_weight += potentials[cells[q] + strides[q] * level]
        weights[level] = log_weight
        largest = max(largest, log_weight)
    total = 0.0
    for level in range(len(weights)):
        weights[level] = math.exp(weights[level] - largest)
        total += weights[level]
    return largest, total
