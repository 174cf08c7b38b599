"""Neighbour pairs as layers of paths, along each of which the fused lasso is solved exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Layers:
    """Paths that together hold every pair once; the paths of one layer share no variable.

    Attributes
    ----------
    nodes : ndarray of int, shape (n_layers, p)
        All variables, path after path; one without a pair in the layer is a path by itself.
    is_joined : ndarray of bool, shape (n_layers, p)
        Whether a node and the next are a pair; the last entry, whether the first and the last are.
    layer : ndarray of int, shape (n_pairs,)
        Layer of each pair.
    """

    nodes: IntArray
    is_joined: BoolArray
    layer: IntArray

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return len(self.nodes)


def cover_by_paths(pairs: IntArray, p: int) -> Layers:
    """Share pairs out among as few layers of paths as two simple orders of the pairs give.

    Each pair goes into the first layer that stays a set of paths. By the distance of their indices,
    the pairs of a grid come axis by axis, whatever order they are given in; the order given serves
    grids with holes. A ring through all variables may close: without any one of its variables,
    which is how it is used, it is a path.
    """
    by_distance = np.lexsort((pairs.min(axis=1), np.abs(pairs[:, 0] - pairs[:, 1])))
    found = []
    for order in (by_distance, np.arange(len(pairs))):
        nodes, is_joined, layer = _first_fit(pairs[order], p)
        layer[order] = layer.copy()
        found.append(Layers(nodes=nodes, is_joined=is_joined, layer=layer))
    return min(found, key=lambda layers: layers.n_layers)


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
            a = _find(root[k], i)
            b = _find(root[k], j)
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
def _find(root: IntArray, i: int) -> int:
    """Find the representative of ``i``, halving the way there."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


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
