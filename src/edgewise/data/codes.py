"""Discrete data as level numbers, 0 to r - 1 in a column with r levels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, IntArray

#: More levels than this are row labels or measurements, and their counts would fill the memory.
MOST_LEVELS: Final = 2**20
#: numpy numbers the states of so many variables at least, in any version.
MOST_AXES: Final = 32


def check_cardinalities(cardinalities: ArrayLike, n_features: int) -> IntArray:
    """Return the number of levels of each variable, or raise an `InputError`.

    Parameters
    ----------
    cardinalities : int or array-like of shape (n_features,)
        Levels of every variable, or of each; at least 1.
    n_features : int
        Number of variables.

    Returns
    -------
    ndarray of int, shape (n_features,)

    Examples
    --------
    >>> check_cardinalities(2, 3)
    array([2, 2, 2])
    """
    try:
        levels = np.asarray(cardinalities)
    except ValueError:
        levels = np.array(cardinalities, dtype=object)
    if levels.dtype.kind not in "iu" or levels.shape not in ((), (n_features,)):
        raise InputError(
            f"cardinalities must be an integer, or one for each of the {n_features} variables; "
            f"got an array of type {levels.dtype} and shape {levels.shape}."
        )
    if (levels < 1).any():
        raise InputError(
            f"A variable has at least 1 level, got cardinalities {levels.min()}. Pass larger ones."
        )
    if (levels > MOST_LEVELS).any():
        raise InputError(
            f"A variable has at most {MOST_LEVELS} levels, got cardinalities {levels.max()}. "
            "Join levels, or cut measurements into classes."
        )
    return np.array(np.broadcast_to(levels, (n_features,)), dtype=np.int64)


def code_type(cardinalities: IntArray) -> DTypeLike:
    """Give the smallest type that holds every level number.

    Examples
    --------
    >>> code_type(np.array([2, 300]))
    <class 'numpy.uint16'>
    """
    largest = int(cardinalities.max(initial=1))
    return np.uint8 if largest <= 2**8 else np.uint16 if largest <= 2**16 else np.int32


def check_codes(
    X: ArrayLike, cardinalities: IntArray, names: Sequence[str] | None = None
) -> AnyArray:
    """Return level numbers as a contiguous array of the smallest type, or raise an `InputError`.

    Parameters
    ----------
    X : array-like of int, shape (n_samples, n_features)
        Level of each variable in each row.
    cardinalities : ndarray of int, shape (n_features,)
        Number of levels, as `check_cardinalities` returns them.
    names : sequence of str, optional
        Names of the variables, for the message.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> check_codes([[0, 2]], np.array([2, 2]))
    Traceback (most recent call last):
        ...
    edgewise._core.errors.InputError: Column 1 of X holds 2, and its levels are numbered 0 to 1.
    Code the levels of each variable from 0, or pass larger cardinalities.
    """
    codes = np.asarray(X)
    if codes.ndim != 2 or codes.shape[1] != len(cardinalities):
        raise InputError(
            f"X must have one column for each of the {len(cardinalities)} variables, got shape "
            f"{codes.shape}."
        )
    if codes.dtype.kind not in "iub":
        raise InputError(f"X must hold level numbers (integers), got values of {codes.dtype}.")
    if len(codes):
        bad = np.flatnonzero((codes.min(axis=0) < 0) | (codes.max(axis=0) >= cardinalities))
        if len(bad):
            k = int(bad[0])
            wrong = codes[(codes[:, k] < 0) | (codes[:, k] >= cardinalities[k]), k][0]
            column = f"{k} of X" if names is None else f"'{names[k]}'"
            raise InputError(
                f"Column {column} holds {wrong}, and its levels are numbered 0 to "
                f"{cardinalities[k] - 1}. Code the levels of each variable from 0, or pass larger "
                "cardinalities."
            )
    return np.ascontiguousarray(codes, dtype=code_type(cardinalities))
