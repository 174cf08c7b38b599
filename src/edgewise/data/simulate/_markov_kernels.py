"""Compiled loops over samples of a discrete Markov network, on the arrays of `CliqueLayout`."""

from __future__ import annotations

import math

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.data.clique_kernels import find_cells, level_weights


@kernel
def gibbs(
    potentials: FloatArray,
    cardinalities: IntArray,
    variable_start: IntArray,
    variable_cliques: IntArray,
    variable_strides: IntArray,
    state: IntArray,
    selected: IntArray,
    burn_in: int,
    thin: int,
    generator: np.random.Generator,
    rows: AnyArray,
) -> None:
    """Draw the variables in turn given the others, and keep every ``thin``-th sweep.

    ``state`` holds the levels and ``selected`` the cell of every clique that they select. A new
    level of one variable moves the cells of its own cliques and no others.
    """
    all_weights = np.empty(cardinalities.max())
    all_cells = np.empty(len(selected), dtype=np.int64)
    for sweep in range(1 - burn_in, 1 + thin * len(rows)):
        for v in range(len(state)):
            start, stop = variable_start[v], variable_start[v + 1]
            cliques = variable_cliques[start:stop]
            strides = variable_strides[start:stop]
            cells = all_cells[: stop - start]
            for q in range(len(cliques)):
                cells[q] = selected[cliques[q]] - strides[q] * state[v]
            weights = all_weights[: cardinalities[v]]
            _, left = level_weights(potentials, cells, strides, weights)
            left *= generator.random()
            level = 0
            while level < len(weights) - 1 and left >= weights[level]:
                left -= weights[level]
                level += 1
            state[v] = level
            for q in range(len(cliques)):
                selected[cliques[q]] = cells[q] + strides[q] * level
        if sweep > 0 and sweep % thin == 0:
            row = rows[sweep // thin - 1]
            for v in range(len(state)):
                row[v] = state[v]


@kernel
def conditional_distributions(
    potentials: FloatArray,
    offsets: IntArray,
    clique_start: IntArray,
    members: IntArray,
    strides: IntArray,
    variable: int,
    variable_cliques: IntArray,
    variable_strides: IntArray,
    X: AnyArray,
    probabilities: FloatArray,
) -> None:
    """Fill in the distribution of ``variable`` given the others, for each row of ``X``."""
    cells = np.empty(len(variable_cliques), dtype=np.int64)
    for n in range(len(X)):
        find_cells(X[n], variable, variable_cliques, offsets, clique_start, members, strides, cells)
        weights = probabilities[n]
        _, total = level_weights(potentials, cells, variable_strides, weights)
        for level in range(len(weights)):
            weights[level] /= total


@kernel
def add_log_conditionals(
    potentials: FloatArray,
    offsets: IntArray,
    clique_start: IntArray,
    members: IntArray,
    strides: IntArray,
    variable: int,
    variable_cliques: IntArray,
    variable_strides: IntArray,
    X: AnyArray,
    weights: FloatArray,
    values: FloatArray,
) -> None:
    """Add the log probability of ``variable`` given the others to the value of each row."""
    cells = np.empty(len(variable_cliques), dtype=np.int64)
    for n in range(len(X)):
        find_cells(X[n], variable, variable_cliques, offsets, clique_start, members, strides, cells)
        largest, total = level_weights(potentials, cells, variable_strides, weights)
        # Summed again rather than read off the weights, where it may have become 0.
        own = 0.0
        for q in range(len(cells)):
            own += potentials[cells[q] + variable_strides[q] * np.int64(X[n, variable])]
        values[n] += own - largest - math.log(total)
