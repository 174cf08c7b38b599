"""Linked sets of variables, and blocks of arrays of any library."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from edgewise._core.arrays import array_namespace, to_numpy
from edgewise._core.typing import IntArray


def linked_sets(is_linked: Any) -> list[IntArray]:
    """Split the variables into sets that a symmetric matrix of links holds together."""
    p = is_linked.shape[0]
    rows, columns = (to_numpy(ends) for ends in array_namespace(is_linked).nonzero(is_linked))
    links = sparse.coo_array((np.ones(rows.size, dtype=bool), (rows, columns)), shape=(p, p))
    n_sets, label = connected_components(links, directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=n_sets))[:-1])


def take(A: Any, index: IntArray) -> Any:
    """Return the rows and columns ``index`` of a matrix, or of several."""
    if type(A) is np.ndarray:
        return np.ascontiguousarray(A[..., index[:, None], index])
    xp = array_namespace(A)
    here = xp.asarray(index, device=A.device)
    return xp.take(xp.take(A, here, axis=-2), here, axis=-1)


def put(A: Any, index: IntArray, block: Any) -> Any:
    """Return a matrix with another block there; numpy overwrites the matrix."""
    if type(A) is np.ndarray:
        A[np.ix_(index, index)] = block
        return A
    if index.size == A.shape[0]:
        return block
    xp = array_namespace(A)
    position = np.zeros(A.shape[0], dtype=np.int64)
    position[index] = np.arange(index.size)
    is_inside = np.zeros(A.shape[0], dtype=bool)
    is_inside[index] = True
    inside = xp.asarray(is_inside, device=A.device)
    return xp.where(inside[:, None] & inside[None, :], take(block, position), A)
