"""An order of rows that depends on nothing but the rows."""

from __future__ import annotations

import numpy as np

from edgewise._core.typing import FloatArray, IntArray


def row_order(rows: FloatArray) -> IntArray:
    """Numbers of the rows, sorted by their values in the first column, then in the second ones.

    Sums in another order are rounded otherwise, and an iteration that stops at a tolerance makes
    more of that. In this order, the result does not depend on the order the rows come in.

    Parameters
    ----------
    rows : ndarray of shape (n, p)

    Returns
    -------
    ndarray of int, shape (n,)

    Examples
    --------
    >>> row_order(np.array([[2.0, 0.0], [1.0, 5.0], [1.0, 3.0]]))
    array([2, 1, 0])
    """
    return np.lexsort(rows.T[::-1])
