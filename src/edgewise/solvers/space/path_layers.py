"""Pairs of neighbours as layers of paths, of which none share a variable."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, IntArray
from edgewise.solvers.linalg.kernels import find_root
from edgewise.solvers.space.fused_rows import (
    Layers,
)


def cover_by_paths(pairs: IntArray, p: int) -> Layers:
    """Share pairs out among as few layers of paths as three simple rules give.

    On a grid, pairs at the same distance of their indices lie along one axis: they make a layer of
    paths that are no longer than the grid is wide. Otherwise each pair goes into the first layer
    that stays a set of paths, by the distance of their indices, or in the order given, which serves
    grids with holes. A ring through all variables may close: without any one of its variables,
    which is how it is used, it is a path.
    """
    distance = np.abs(pairs[:, 0] - pairs[:, 1])
    by_distance = np.lexsort((pairs.min(axis=1), distance))
    found = _one_per_distance(pairs, distance, p)
    for order in (by_distance, np.arange(len(pairs))):
        nodes, is_joined, layer = _first_fit(pairs[order], p)
        layer[order] = layer.copy()
        found.append(Layers(nodes, is_joined, layer))
    return min(found, key=lambda layers: layers.n_layers)


def _one_per_distance(pairs: IntArray, distance: IntArray, p: int) -> list[Layers]:
    """Return the layers of pairs at the same distance, if each of them is a set of paths."""
    kinds, layer = np.unique(distance, return_inverse=True)
    if not 0 < kinds.size <= MOST_DISTANCES:
        return []
    parts = [_first_fit(pairs[layer == k], p) for k in range(kinds.size)]
    if any(len(nodes) > 1 for nodes, _, _ in parts):
        return []
    nodes, is_joined = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return [Layers(nodes, is_joined, layer)]


#: Distances of neighbours up to which a layer for each is thought of.
MOST_DISTANCES = 16


@kernel
def _first_fit(pairs: IntArray, p: int) -> tuple[IntArray, BoolArray, IntArray]:
    """Put each pair into the first layer that has room; return the attributes of `Layers`."""
    degree = np.zeros(p, np.int64)
    for m in range(len(pairs)):
        degree[pairs[m, 0]] += 1
        degree[pairs[m, 1]] += 1
    # A layer refuses a pair that touches a full variable, or that closes a cycle.
    most = 2 * degree.max() + 1
    beside = np.full((most, p, 2), -1)
    root = np.empty((most, p), np.int64)
    size = np.ones((most, p), np.int64)
    for k in range(most):
        for i in range(p):
            root[k, i] = i
    n_layers = 1
    layer = np.empty(len(pairs), np.int64)
    for m in range(len(pairs)):
        i = pairs[m, 0]
        j = pairs[m, 1]
        for k in range(most):
            if beside[k, i, 1] >= 0 or beside[k, j, 1] >= 0:
                continue
            a = find_root(root[k], i)
            b = find_root(root[k], j)
            if a == b and size[k, a] < p:
                continue
            if a != b:
                root[k, a] = b
                size[k, b] += size[k, a]
            beside[k, i, 0 if beside[k, i, 0] < 0 else 1] = j
            beside[k, j, 0 if beside[k, j, 0] < 0 else 1] = i
            n_layers = max(n_layers, k + 1)
            layer[m] = k
            break
    nodes = np.empty((n_layers, p), np.int64)
    is_joined = np.zeros((n_layers, p), np.bool_)
    for k in range(n_layers):
        _trace(beside[k], nodes[k], is_joined[k])
    return nodes, is_joined, layer


@kernel
def _trace(beside: IntArray, nodes: IntArray, is_joined: BoolArray) -> None:
    """Walk along the paths of a layer from their ends, or once around its ring."""
    p = len(nodes)
    seen = np.zeros(p, np.bool_)
    count = 0
    for wanted in range(2):
        for start in range(p):
            # Ends first; what is left after them is the ring.
            if seen[start] or (wanted == 0 and beside[start, 1] >= 0):
                continue
            i = start
            while i >= 0:
                seen[i] = True
                nodes[count] = i
                following = -1
                for j in beside[i]:
                    if j >= 0 and not seen[j]:
                        following = j
                        break
                is_joined[count] = following >= 0 or wanted == 1
                count += 1
                i = following


RELAXATION = 1.7
