"""Where the nodes of a directed acyclic graph stand when it is drawn tier by tier."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: Half the height that a node and a bend of a long arc take, in units of a node's height.
_HALF_NODE, _HALF_BEND = 0.5, 0.2
#: Passes over the tiers, there and back, that sort them and that set their heights.
_SORTING, _SETTING = 12, 10
#: Long arcs are kept straight rather than short ones.
_STRAIGHTNESS = 3.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Tiered:
    """Nodes in columns, one per tier.

    Attributes
    ----------
    heights : ndarray of shape (n_nodes,)
        From 0 up, in units of a node's height.
    routes : list of ndarray of shape (n_bends, 2)
        For each arc, tier and height where it passes the tiers between its ends.
    height : float
        Of the fullest tier.
    """

    heights: FloatArray
    routes: list[FloatArray]
    height: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Places:
    """Nodes, and bends of arcs that pass a tier; ``steps[k]`` leads from tier k to the next."""

    tier: IntArray
    is_bend: BoolArray
    steps: list[IntArray]
    routes: list[list[int]]

    @property
    def layers(self) -> list[IntArray]:
        return [np.flatnonzero(self.tier == k) for k in range(len(self.steps) + 1)]

    def means(self, values: FloatArray, layer: int, sides: tuple[int, ...]) -> FloatArray:
        """Mean value of the neighbours of each place in tiers before (-1) or after (1); or NaN."""
        size = len(self.tier)
        total, number = np.zeros(size), np.zeros(size)
        for side in sides:
            between = layer + min(side, 0)
            if 0 <= between < len(self.steps):
                near, far = self.steps[between].T[::side]
                total += np.bincount(near, values[far], minlength=size)
                number += np.bincount(near, minlength=size)
        with np.errstate(invalid="ignore"):
            mean: FloatArray = total / number
        return mean


def tiered_layout(arcs: IntArray, tiers: IntArray) -> Tiered:
    """Sort each tier so that few arcs cross, and set heights so that they are nearly straight.

    A tier is sorted by the mean place of the neighbours in the tier before, then in the one
    after, and so on [1]_; of all orders on the way that with the fewest crossings counts.

    Parameters
    ----------
    arcs : ndarray of shape (n_arcs, 2)
        From and to; the first is in the lower tier.
    tiers : ndarray of shape (n_nodes,)
        Tier of each node.

    References
    ----------
    .. [1] Sugiyama, Tagawa and Toda (1981). Methods for visual understanding of hierarchical
       system structures. *IEEE Transactions on Systems, Man, and Cybernetics* 11(2).
       https://doi.org/10.1109/TSMC.1981.4308636
    """
    places = _add_bends(arcs, tiers)
    layers = _sorted_layers(places)
    heights = _set_heights(places, layers)
    heights -= heights.min()
    return Tiered(
        heights=heights[: len(tiers)],
        routes=[
            np.column_stack([places.tier[bends], heights[bends]]) if bends else np.empty((0, 2))
            for bends in places.routes
        ],
        height=float(heights.max()) + 2 * _HALF_NODE,
    )


def _add_bends(arcs: IntArray, tiers: IntArray) -> _Places:
    tier, routes = tiers.tolist(), []
    steps: list[list[tuple[int, int]]] = [[] for _ in range(int(tiers.max()))]
    for source, target in arcs.tolist():
        bends = list(range(len(tier), len(tier) + tiers[target] - tiers[source] - 1))
        tier += range(tiers[source] + 1, tiers[target])
        routes.append(bends)
        for step in itertools.pairwise([source, *bends, target]):
            steps[tier[step[0]]].append(step)
    return _Places(
        tier=np.array(tier, dtype=np.int64),
        is_bend=np.arange(len(tier)) >= len(tiers),
        steps=[np.array(between, dtype=np.int64).reshape(-1, 2) for between in steps],
        routes=routes,
    )


def _sorted_layers(places: _Places) -> list[IntArray]:
    layers = places.layers
    rank = _ranks(places, layers)
    best, fewest = layers.copy(), _crossings(places, layers)
    for sweep in range(2 * _SORTING):
        there = range(1, len(layers))
        for k in there if sweep % 2 == 0 else range(len(layers) - 2, -1, -1):
            mean = places.means(rank, k, (-1,) if sweep % 2 == 0 else (1,))[layers[k]]
            key = np.where(np.isnan(mean), rank[layers[k]], mean)
            layers[k] = layers[k][np.argsort(key, kind="stable")]
            rank[layers[k]] = _shares(len(layers[k]))
        if (count := _crossings(places, layers)) < fewest:
            best, fewest = layers.copy(), count
    return best


def _ranks(places: _Places, layers: list[IntArray]) -> FloatArray:
    """Place of each node or bend in its tier, as a share."""
    rank = np.zeros(len(places.tier))
    for layer in layers:
        rank[layer] = _shares(len(layer))
    return rank


def _shares(length: int) -> FloatArray:
    shares: FloatArray = (np.arange(length) + 0.5) / length
    return shares


def _crossings(places: _Places, layers: list[IntArray]) -> int:
    """Count the pairs of steps that cross."""
    position = np.zeros(len(places.tier), dtype=np.int64)
    for layer in layers:
        position[layer] = np.arange(len(layer))
    total = 0
    for steps, first, second in zip(places.steps, layers[:-1], layers[1:], strict=True):
        joined = np.zeros((len(first), len(second)), dtype=np.int64)
        joined[tuple(position[steps].T)] = 1
        # A step crosses those that start above it and end below.
        above = np.cumsum(joined, axis=0) - joined
        beyond = above.sum(axis=1, keepdims=True) - np.cumsum(above, axis=1)
        total += int((joined * beyond).sum())
    return total


def _set_heights(places: _Places, layers: list[IntArray]) -> FloatArray:
    """Draw every place to the mean height of its neighbours, as far as the order allows."""
    from scipy.optimize import isotonic_regression

    half = np.where(places.is_bend, _HALF_BEND, _HALF_NODE)
    weight = np.where(places.is_bend, _STRAIGHTNESS, 1.0)
    floors = [np.cumsum(2 * half[layer]) - half[layer] for layer in layers]
    heights = np.zeros(len(half))
    for layer, floor in zip(layers, floors, strict=True):
        heights[layer] = floor - (floor[0] + floor[-1]) / 2
    for sweep in range(2 * _SETTING):
        for k in range(len(layers)) if sweep % 2 == 0 else range(len(layers) - 1, -1, -1):
            layer, floor = layers[k], floors[k]
            mean = places.means(heights, k, (-1, 1))[layer]
            wanted = np.where(np.isnan(mean), 0.0, mean)
            fitted = isotonic_regression(wanted - floor, weights=weight[layer]).x
            heights[layer] = fitted + floor
    return heights
