"""Fused groups: which entries of a matrix are one, and where their borders run."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray


def check_groups(groups: ArrayLike, n_nodes: int) -> IntArray:
    """Return the number of the group of each entry, or say why it cannot be one."""
    numbers: Any = np.asarray(groups)
    if numbers.shape != (n_nodes, n_nodes) or numbers.dtype.kind not in "iu":
        raise InputError(
            f"groups must hold a whole number for each entry of a {n_nodes} x {n_nodes} matrix, "
            f"negative for none; got shape {numbers.shape} of {numbers.dtype}."
        )
    checked: IntArray = numbers.astype(np.int64)
    return checked


def block_borders(groups: IntArray) -> FloatArray:
    """Find the lines around blocks of adjacent entries that share a group.

    Parameters
    ----------
    groups : ndarray of int, shape (n_nodes, n_nodes)
        Negative entries belong to no group. An entry without a neighbour of its own group is no
        block: a frame around every cell would hide what it frames.

    Returns
    -------
    ndarray of shape (n_lines, 2, 2)
        Both ends of each line as column and row, counted from the centre of the first entry.
    """
    ringed = np.pad(groups, 1, constant_values=-1)
    blocks = np.where(_has_equal_neighbor(ringed), ringed, -1)
    return np.concatenate([_borders_below(blocks), _borders_below(blocks.T)[:, :, ::-1]])


def _has_equal_neighbor(groups: IntArray) -> BoolArray:
    """Whether the entry above, below, left or right of each is of its group."""
    below, beside = groups[1:] == groups[:-1], groups[:, 1:] == groups[:, :-1]
    fused = np.zeros(groups.shape, dtype=bool)
    fused[1:] |= below
    fused[:-1] |= below
    fused[:, 1:] |= beside
    fused[:, :-1] |= beside
    return fused


def _borders_below(blocks: IntArray) -> FloatArray:
    """Horizontal lines between entries that differ, each as long as it can be."""
    is_border = blocks[1:] != blocks[:-1]
    step = np.diff(np.pad(is_border, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    # Rows are searched in order, so that starts and ends come in pairs; the ring around the
    # entries shifts them all by one.
    row, start = np.nonzero(step == 1)
    end = np.nonzero(step == -1)[1]
    lines: FloatArray = np.stack([np.stack([start - 1, row], 1), np.stack([end - 1, row], 1)], 1)
    return lines - 0.5
