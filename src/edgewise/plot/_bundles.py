"""Edges as curves: those that run between the same places as one bundle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: How far the ends of an edge may lie from those of the first of its bundle, and how short it may
#: be, as shares of the length of that first edge: others would have to go a long way round.
_REACH, _SHORTEST = 0.7, 0.5
#: How much of the way to the line of its bundle an edge is pulled in the middle.
_PULL = 0.88
#: How far a line bows towards the middle of the picture at most, as a share of its length beyond
#: that of two steps between neighbouring sites.
_BOW = 0.12
_STRAIGHT = 2.0
#: Points that make up a curve.
_STEPS = 33


def find_bundles(
    ends: FloatArray, kind: IntArray, size: FloatArray, *, step: float, similar: float
) -> tuple[FloatArray, FloatArray]:
    """Gather edges that run side by side between two clusters of neighbouring sites.

    A bundle grows from the heaviest edge that is left: to edges of its kind and of about its
    size whose ends lie beside those of one already gathered.

    Parameters
    ----------
    ends : ndarray of shape (n_edges, 2, 2)
        Edges, the heaviest first.
    kind : ndarray of shape (n_edges,)
        Only edges of the same kind share a bundle.
    size : ndarray of shape (n_edges,)
        Absolute weights.
    step : float
        Distance of sites beside each other.
    similar : float
        Least size in a bundle as a share of the largest.

    Returns
    -------
    ends : ndarray of shape (n_edges, 2, 2)
        The edges, turned to run the same way as the others of their bundle.
    axis : ndarray of shape (n_edges, 2, 2)
        Mean start and mean end of the bundle of each edge.
    """
    both_ways = np.concatenate([ends, ends[:, ::-1]])
    beside = _beside(both_ways, step)
    turned, axis = ends.copy(), ends.copy()
    is_free = np.ones(len(ends), dtype=bool)
    for first in range(len(ends)):
        if is_free[first]:
            fits = is_free & (kind == kind[first]) & (size >= similar * size[first])
            members = _grow(first, fits, both_ways, beside)
            edges = members % len(ends)
            is_free[edges] = False
            turned[edges] = both_ways[members]
            axis[edges] = both_ways[members].mean(axis=0)
    return turned, axis


def curves(ends: FloatArray, axis: FloatArray, middle: FloatArray, apart: float) -> FloatArray:
    """Pull edges to the line of their bundle, which bows towards the ``middle`` of the picture.

    Parameters
    ----------
    ends, axis : ndarray of shape (n_edges, 2, 2)
        Edges and bundles.
    middle : ndarray of shape (2,)
        Of all sites.
    apart : float
        Distance between neighbouring sites. Edges between near sites stay straight; longer ones
        would run over the sites between their ends.

    Returns
    -------
    ndarray of shape (n_edges, n_steps, 2)
        Points along each edge.
    """
    normal, length = _normal(axis)
    offset = np.sum((middle - axis.mean(axis=1)) * normal, axis=1, keepdims=True)
    most = _BOW * np.maximum(length - _STRAIGHT * apart, 0.0)
    # Half of the way at most, or lines on both sides of the middle would meet there.
    bow = np.clip(offset / 2, -most, most) * normal
    bowed: FloatArray = _pulled(ends, axis) + _arch() * bow[:, None]
    return bowed


def arcs(ends: FloatArray, axis: FloatArray, height: FloatArray) -> FloatArray:
    """Draw edges between sites on one line as arcs, so that they can be told apart.

    Parameters
    ----------
    ends, axis : ndarray of shape (n_edges, 2, 2)
        Edges and bundles.
    height : ndarray of shape (n_edges,)
        As a share of the length of the bundle, negative below the line.

    Returns
    -------
    ndarray of shape (n_edges, n_steps, 2)
        Points along each edge.
    """
    normal, length = _normal(axis)
    # Whichever way an edge runs, the same sign of its height leads to the same side.
    upwards = np.where(normal @ [1e-9, 1.0] < 0, -1.0, 1.0)[:, None]
    return _pulled(ends, axis) + _arch() * (height[:, None] * length * upwards * normal)[:, None]


def segments(ends: FloatArray) -> FloatArray:
    """Straight lines, with as many points as the curves have."""
    along = np.linspace(0.0, 1.0, _STEPS)[:, None]
    return ends[:, :1] * (1.0 - along) + ends[:, 1:] * along


def _beside(both_ways: FloatArray, step: float) -> list[list[int]]:
    """List for each edge those whose starts and ends lie beside its own, either way round."""
    from scipy.spatial import cKDTree

    flat = both_ways.reshape(-1, 4)
    found: Any = cKDTree(flat).query_ball_point(flat[: len(flat) // 2], step, p=np.inf)
    return list(found)


def _grow(
    first: int, fits: BoolArray, both_ways: FloatArray, beside: Sequence[Sequence[int]]
) -> IntArray:
    """Go from edge to edge beside it, as long as they fit and lie near the first one.

    Edges are numbered as in ``both_ways``: the second half are the edges of the first, turned.
    """
    n_edges, start = len(fits), both_ways[first]
    length = float(np.linalg.norm(start[1] - start[0]))
    fits[first] = False
    members, open_ends = [first], [first]
    while open_ends:
        edge = open_ends.pop()
        near = (np.asarray(beside[edge % n_edges]) + edge - edge % n_edges) % (2 * n_edges)
        near = near[fits[near % n_edges]]
        away = np.linalg.norm(both_ways[near] - start, axis=2).max(axis=1)
        lengths = np.linalg.norm(both_ways[near, 1] - both_ways[near, 0], axis=1)
        near = near[(away <= _REACH * length) & (lengths >= _SHORTEST * length)]
        # A short edge may lie beside another both ways round.
        near = near[np.unique(near % n_edges, return_index=True)[1]]
        fits[near % n_edges] = False
        members.extend(near.tolist())
        open_ends.extend(near.tolist())
    return np.array(members)


def _pulled(ends: FloatArray, axis: FloatArray) -> FloatArray:
    along = np.linspace(0.0, 1.0, _STEPS)[:, None]
    pull = _PULL * (1.0 - np.abs(2.0 * along - 1.0) ** 2.5)
    return (1.0 - pull) * segments(ends) + pull * segments(axis)


def _arch() -> FloatArray:
    along = np.linspace(0.0, 1.0, _STEPS)[:, None]
    arch: FloatArray = 4.0 * along * (1.0 - along)
    return arch


def _normal(axis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return unit normals and lengths; a line without length has no normal."""
    x, y = (axis[:, 1] - axis[:, 0]).T
    length = np.hypot(x, y)[:, None]
    return np.column_stack([-y, x]) / np.where(length > 0, length, 1.0), length
