"""Columns whose numbers are too large, too small or too much alike to compute with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Final

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.io.messages import quote_names

#: Values up to this size can be squared and summed without overflow.
LARGEST: Final = 1e150
#: In columns without larger values than this, squares of differences vanish.
SMALLEST: Final = 1e-130
#: A standard deviation of at most this share of the largest value is nothing but rounding.
ROUNDING: Final = 4.0 * float(np.finfo(np.float64).eps)


def about_size(
    values: FloatArray, names: Sequence[str], noun: str = "Column", least: float = SMALLEST
) -> str | None:
    """Say which columns hold finite numbers too large or too small to be squared, if any do.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
    names : sequence of str
    noun : str
        What the columns are called.
    least : float
        Columns without larger values than this are too small.

    Examples
    --------
    >>> about_size(np.array([[1.0, 1e200], [2.0, 3.0]]), ["dose", "count"])
    "Column 'count' holds values beyond 1e+150, whose squares overflow. Change its unit."
    """
    largest = _largest(values)
    is_large = (largest > LARGEST) & (largest < np.inf)
    is_small = (largest > 0) & (largest < least)
    for is_meant, found in (
        (is_large, f"values beyond {LARGEST:g}, whose squares overflow"),
        (is_small, f"no values beyond {least:g}, and squares of smaller ones vanish"),
    ):
        if meant := [names[k] for k in np.flatnonzero(is_meant).tolist()]:
            if len(meant) == 1:
                return f"{noun} {quote_names(meant)} holds {found}. Change its unit."
            return f"{noun}s {quote_names(meant)} hold {found}. Change their unit."
    return None


def varying_columns(values: FloatArray) -> BoolArray:
    """Whether the values of each column differ by more than rounding; missing ones do not count.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> varying_columns(np.array([[1.0, 0.1 + 0.2, 7.0], [2.0, 0.3, 7.0]]))
    array([ True, False, False])
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    size = np.maximum(np.abs(lowest), np.abs(highest))
    # No standard deviation is smaller than this share of the range, nor larger than the range.
    varies: BoolArray = highest - lowest > ROUNDING * size * np.sqrt(2.0 * len(values))
    for k in np.flatnonzero(~varies & (highest > lowest)).tolist():
        varies[k] = np.nanstd(values[:, k] - lowest[k]) > ROUNDING * size[k]
    return varies


def _largest(values: FloatArray) -> FloatArray:
    with warnings.catch_warnings():
        # A column of NaN alone is the caller's to allow.
        warnings.simplefilter("ignore", RuntimeWarning)
        largest: FloatArray = np.nanmax(np.abs(values), axis=0)
    return largest
