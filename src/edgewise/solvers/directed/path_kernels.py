"""Lassos of one variable after the other, with a penalty on arcs that would close a cycle."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.directed.arc_kernels import solve_column


@kernel
def descend_columns(
    G: FloatArray,
    scale: FloatArray,
    base: FloatArray,
    strength: float,
    rows: FloatArray,
    n_nodes: int,
    tol: float,
    max_rounds: int,
    report: FloatArray,
) -> float:
    """Regress each variable in turn, in place; return the largest change of a coefficient.

    ``rows[j, i]`` is the coefficient of the arc i -> j. It costs ``strength`` on top of
    ``base[j, i]`` where a path leads from j to i at the time. Changes are in units of
    ``scale[j] / scale[i]``.
    """
    n_variables = G.shape[0]
    weights = np.empty(n_variables)
    before = np.empty(n_variables)
    residual = np.empty(n_variables)
    support = np.empty(n_variables, np.int64)
    children = np.empty((n_nodes, n_nodes), np.int64)
    n_children = np.empty(n_nodes, np.int64)
    is_reached = np.empty(n_nodes, np.bool_)
    list_children(rows, children, n_children)
    change = 0.0
    for j in range(n_nodes):
        reach(children, n_children, j, support, is_reached)
        for i in range(n_variables):
            before[i] = rows[j, i]
            weights[i] = base[j, i]
            if i < n_nodes and is_reached[i]:
                weights[i] += strength
        solve_column(G, scale, j, weights, rows[j], residual, support, tol, max_rounds, report[j])
        for i in range(n_variables):
            change = max(change, abs(rows[j, i] - before[i]) * scale[i] / scale[j])
        for i in range(n_nodes):
            if before[i] == 0.0 and rows[j, i] != 0.0:
                children[i, n_children[i]] = j
                n_children[i] += 1
            elif before[i] != 0.0 and rows[j, i] == 0.0:
                remove(children[i], n_children[i], j)
                n_children[i] -= 1
    return change


@kernel
def penalize_paths(
    base: FloatArray, strength: float, rows: FloatArray, n_nodes: int, penalties: FloatArray
) -> None:
    """Write the penalties of all arcs at once, ``strength`` more where a path leads back."""
    children = np.empty((n_nodes, n_nodes), np.int64)
    n_children = np.empty(n_nodes, np.int64)
    stack = np.empty(n_nodes, np.int64)
    is_reached = np.empty(n_nodes, np.bool_)
    list_children(rows, children, n_children)
    for j in range(n_nodes):
        reach(children, n_children, j, stack, is_reached)
        for i in range(base.shape[1]):
            penalties[j, i] = base[j, i]
            if i < n_nodes and is_reached[i]:
                penalties[j, i] += strength


@kernel
def list_children(rows: FloatArray, children: IntArray, n_children: IntArray) -> None:
    """List the nodes that each node has an arc to."""
    n_nodes = n_children.shape[0]
    for i in range(n_nodes):
        n_children[i] = 0
    for j in range(n_nodes):
        for i in range(n_nodes):
            if rows[j, i] != 0.0:
                children[i, n_children[i]] = j
                n_children[i] += 1


@kernel
def reach(
    children: IntArray, n_children: IntArray, node: int, stack: IntArray, is_reached: BoolArray
) -> None:
    """Mark the nodes that a path leads to from ``node``."""
    for v in range(is_reached.shape[0]):
        is_reached[v] = False
    stack[0] = node
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        for k in range(n_children[v]):
            child = children[v, k]
            if not is_reached[child]:
                is_reached[child] = True
                stack[top] = child
                top += 1


@kernel
def remove(items: IntArray, n_items: int, item: int) -> None:
    """Take one item out of a list whose order does not matter."""
    for k in range(n_items):
        if items[k] == item:
            items[k] = items[n_items - 1]
            return
