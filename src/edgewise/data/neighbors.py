"""Neighbourhood structure of variables: chain, ring, grid or listed pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: ``"chain"``, ``"ring"``, the sizes of a grid, its mask, or an (M, 2) array of pairs.
Neighbors: TypeAlias = str | Sequence[int] | ArrayLike

KNOWN = (
    'neighbors must be "chain", "ring", a grid shape such as (8, 8), a mask of one, '
    "or an (M, 2) array of pairs of column numbers"
)


def neighbor_pairs(
    neighbors: Neighbors, n_features: int, *, mask: ArrayLike | None = None
) -> IntArray:
    """List which variables are neighbours in space.

    Parameters
    ----------
    neighbors : {"chain", "ring"}, grid shape or array-like of shape (n_pairs, 2)
        Variables in a row; the same with the last next to the first; one to three sizes of a grid
        whose sites are the columns in row-major order, as ``numpy.ravel`` lists them; or pairs of
        column numbers that start at 0. An array of shape (0, 2) says that there are no neighbours.
        An array of bool is a grid with holes: it stands for its shape, with itself as ``mask``.
    n_features : int
        Number of columns.
    mask : array-like of bool, optional
        Of the grid's shape, True where a site exists. The columns are then the sites that exist,
        in row-major order.

    Returns
    -------
    ndarray of int, shape (n_pairs, 2)
        Each pair once, the smaller number first. Pairs of a grid come axis by axis, the last axis
        first; listed pairs stay in the order given.

    Examples
    --------
    >>> neighbor_pairs((2, 3), 6).tolist()
    [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]
    >>> neighbor_pairs((2, 3), 5, mask=[[True, True, True], [True, False, True]]).tolist()
    [[0, 1], [1, 2], [0, 3], [2, 4]]
    >>> neighbor_pairs("ring", 4).tolist()
    [[0, 1], [1, 2], [2, 3], [0, 3]]
    """
    neighbors, mask = _grid_with_holes(neighbors, mask)
    shape = _grid_shape(neighbors, n_features, mask)
    if shape is not None:
        return _grid_pairs(_site_numbers(shape, n_features, mask))
    if isinstance(neighbors, str):
        if n_features < 3:
            raise InputError("ring_too_small", n_features=n_features)
        return np.vstack([_grid_pairs(np.arange(n_features)), [[0, n_features - 1]]])
    return _listed_pairs(neighbors, n_features)


def site_positions(
    neighbors: Neighbors, n_features: int, *, mask: ArrayLike | None = None
) -> FloatArray | None:
    """Say where to draw each variable, with neighbours at distance 1.

    Parameters
    ----------
    neighbors, n_features, mask
        As in `neighbor_pairs`.

    Returns
    -------
    ndarray of shape (n_features, 2) or None
        Horizontal and vertical position. A chain lies on a line; a ring on a circle, clockwise
        from the top; a grid has its first row on top; the slices of a grid with three sizes, along
        its first axis, stand side by side with a gap of one site. None for listed pairs, which say
        nothing about places.

    Examples
    --------
    >>> site_positions((2, 2), 4).tolist()
    [[0.0, 0.0], [1.0, 0.0], [0.0, -1.0], [1.0, -1.0]]
    >>> site_positions([[0, 2], [1, 2]], 3) is None
    True
    """
    neighbors, mask = _grid_with_holes(neighbors, mask)
    shape = _grid_shape(neighbors, n_features, mask)
    if shape is not None:
        sites = np.argwhere(_site_numbers(shape, n_features, mask) >= 0).astype(np.float64)
        slices, rows, columns = np.pad(sites, ((0, 0), (3 - len(shape), 0))).T
        return np.column_stack([columns + slices * (shape[-1] + 1), 0.0 - rows])
    neighbor_pairs(neighbors, n_features)
    if not isinstance(neighbors, str):
        return None
    angle = 2.0 * math.pi * np.arange(n_features) / n_features
    radius = 0.5 / math.sin(math.pi / n_features)
    return radius * np.column_stack([np.sin(angle), np.cos(angle)])


def describe_neighbors(pairs: IntArray, n_features: int) -> list[str]:
    """Say in words where a neighbourhood is not in one piece.

    Parameters
    ----------
    pairs : ndarray of int, shape (n_pairs, 2)
        As `neighbor_pairs` returns them.
    n_features : int
        Number of variables.

    Returns
    -------
    list of str
        Sentences; none when every variable can be reached from every other.

    Examples
    --------
    >>> describe_neighbors(neighbor_pairs([[0, 1], [2, 3]], 5), 5)
    ['1 of 5 variables has no neighbour.', 'The other 4 fall into 2 parts that do not touch.']
    >>> describe_neighbors(neighbor_pairs("chain", 5), 5)
    []
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_features,) * 2)
    n_parts = int(connected_components(links, directed=False)[0])
    if n_parts <= 1:
        return []
    n_joined = len(np.unique(pairs))
    n_alone = n_features - n_joined
    sentences = []
    if n_alone:
        verb = "has" if n_alone == 1 else "have"
        sentences.append(f"{n_alone} of {n_features} variables {verb} no neighbour.")
    if n_parts - n_alone > 1:
        joined = f"The other {n_joined}" if n_alone else f"The {n_joined} variables"
        sentences.append(f"{joined} fall into {n_parts - n_alone} parts that do not touch.")
    return sentences


def check_grid_shape(shape: Any) -> tuple[int, ...]:
    """Return the sizes of a grid as integers, or raise an `InputError`.

    Parameters
    ----------
    shape : sequence of int
        One to three sizes; numpy's integers and whole floats will do.

    Returns
    -------
    tuple of int

    Examples
    --------
    >>> check_grid_shape([8, 8])
    (8, 8)
    """
    sizes = _as_array(shape)
    if sizes.ndim != 1 or not 1 <= len(sizes) <= 3:
        raise InputError("grid_dimensions", shape=shape)
    if not _is_whole(sizes).all() or (sizes < 1).any():
        listed = ", ".join(str(size) for size in sizes.tolist())
        raise InputError("grid_sizes", listed=listed)
    return tuple(int(size) for size in sizes)


def _grid_with_holes(
    neighbors: Neighbors, mask: ArrayLike | None
) -> tuple[Neighbors, ArrayLike | None]:
    """Read an array of bool as the shape of a grid and its mask."""
    given = _as_array(neighbors)
    is_mask = mask is None and given.dtype == bool and given.ndim > 0
    return (given.shape, given) if is_mask else (neighbors, mask)


def _grid_shape(
    neighbors: Neighbors, n_features: int, mask: ArrayLike | None
) -> tuple[int, ...] | None:
    """Sizes of the grid, a chain being one too; None for a ring and for pairs."""
    n_dimensions = _as_array(neighbors).ndim
    if n_dimensions == 0 and neighbors not in ("chain", "ring"):
        raise InputError("unknown_neighbors", known=KNOWN, neighbors=neighbors)
    if mask is not None and n_dimensions != 1:
        raise InputError("mask_without_grid")
    if n_dimensions == 0:
        return (n_features,) if neighbors == "chain" else None
    if n_dimensions > 1:
        return None
    if not np.size(neighbors):
        raise InputError("neighbors_empty")
    return check_grid_shape(neighbors)


def _site_numbers(shape: tuple[int, ...], n_features: int, mask: ArrayLike | None) -> IntArray:
    """Column number of each site of a grid, -1 where there is none."""
    size = " x ".join(str(length) for length in shape)
    exists = None if mask is None else _check_mask(mask, shape)
    n_sites = math.prod(shape) if exists is None else int(exists.sum())
    if n_sites != n_features:
        found = f"{n_sites} sites{'' if exists is None else ' in the mask'}"
        raise InputError("grid_column_count", size=size, found=found, n_features=n_features)
    if exists is None:
        return np.arange(n_features).reshape(shape)
    numbers = np.full(shape, -1, dtype=np.int64)
    numbers[exists] = np.arange(n_features)
    return numbers


def _check_mask(mask: ArrayLike, shape: tuple[int, ...]) -> BoolArray:
    exists: BoolArray = _as_array(mask)
    if exists.dtype != bool:
        raise InputError("mask_not_boolean", dtype=exists.dtype)
    if exists.shape != shape:
        raise InputError("mask_shape", shape=exists.shape, shape2=shape)
    return exists


def _grid_pairs(numbers: IntArray) -> IntArray:
    """Pairs of sites that follow each other along an axis, where both exist."""
    pairs = []
    for axis in reversed(range(numbers.ndim)):
        n_steps = numbers.shape[axis] - 1
        before = np.take(numbers, range(n_steps), axis=axis).ravel()
        after = np.take(numbers, range(1, n_steps + 1), axis=axis).ravel()
        pairs.append(np.column_stack([before, after])[(before >= 0) & (after >= 0)])
    return np.vstack(pairs)


def _listed_pairs(neighbors: Any, n_features: int) -> IntArray:
    """Check pairs of column numbers, and put the smaller first."""
    listed = _as_array(neighbors)
    if listed.ndim != 2 or listed.shape[1] != 2:
        is_matrix = listed.shape == (n_features, n_features)
        hint = "Turn a matrix A of neighbours into pairs with numpy.argwhere(numpy.triu(A, 1))."
        raise InputError(
            "neighbor_pairs_shape", shape=listed.shape, hint=hint if is_matrix else f"{KNOWN}."
        )
    advice = "give the column numbers, which start at 0"
    is_broken = ~_is_whole(listed).all(axis=1)
    _refuse_first(listed, is_broken, "does not hold two whole numbers", advice)
    valid = (
        f"the {n_features} columns are numbered 0 to {n_features - 1}. Count from 0, and leave out "
        "variables that are not in the table"
    )
    outside = ((listed < 0) | (listed >= n_features)).any(axis=1)
    _refuse_first(listed, outside, "is out of range", valid)
    pairs: IntArray = np.sort(listed.astype(np.int64), axis=1)
    _refuse_first(pairs, pairs[:, 0] == pairs[:, 1], "joins a variable to itself", "leave it out")
    first = np.unique(pairs, axis=0, return_index=True)[1]
    repeated = np.ones(len(pairs), dtype=bool)
    repeated[first] = False
    advice = "leave it out; (a, b) and (b, a) are the same pair"
    _refuse_first(listed, repeated, "is there twice", advice)
    return pairs


def _refuse_first(pairs: Any, is_bad: BoolArray, found: str, advice: str) -> None:
    """Name the first bad pair, and how many there are."""
    bad = np.flatnonzero(is_bad)
    if not len(bad):
        return
    shown = ", ".join(str(entry) for entry in pairs[bad[0]].tolist())
    others = f", with {len(bad) - 1} more like it" if len(bad) > 1 else ""
    raise InputError(
        "invalid_neighbor_pair", bad=bad[0], shown=shown, found=found, others=others, advice=advice
    )


def _as_array(values: Any) -> Any:
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InputError("neighbors_ragged", known=KNOWN) from error


def _is_whole(values: Any) -> Any:
    """Whether each entry is a whole number; booleans and text are none."""
    if values.dtype.kind not in "iuf":
        return np.zeros(values.shape, dtype=bool)
    return np.isfinite(values) & (np.floor(values) == values)
