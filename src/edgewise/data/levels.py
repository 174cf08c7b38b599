"""Tables of categorical columns as integer codes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.data.table import Table

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
            "cardinalities_type", n_features=n_features, dtype=levels.dtype, shape=levels.shape
        )
    if (levels < 1).any():
        raise InputError("cardinalities_too_small", levels=levels.min())
    if (levels > MOST_LEVELS).any():
        raise InputError("cardinalities_too_large", most_levels=MOST_LEVELS, levels=levels.max())
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
    edgewise._core.errors.InputError: Column 1 of X holds 2, but its levels are numbered 0 to 1.
    Code the levels of each variable from 0, or pass larger cardinalities.
    """
    codes = np.asarray(X)
    if codes.ndim != 2 or codes.shape[1] != len(cardinalities):
        raise InputError("codes_shape", n_cardinalities=len(cardinalities), shape=codes.shape)
    if codes.dtype.kind not in "iub":
        raise InputError("codes_not_integers", dtype=codes.dtype)
    if len(codes):
        bad = np.flatnonzero((codes.min(axis=0) < 0) | (codes.max(axis=0) >= cardinalities))
        if len(bad):
            k = int(bad[0])
            wrong = codes[(codes[:, k] < 0) | (codes[:, k] >= cardinalities[k]), k][0]
            column = f"{k} of X" if names is None else f"'{names[k]}'"
            raise InputError(
                "codes_out_of_range", column=column, wrong=wrong, last=cardinalities[k] - 1
            )
    return np.ascontiguousarray(codes, dtype=code_type(cardinalities))


#: With fewer rows per level than this, tests of independence say little about a column.
ROWS_PER_LEVEL: Final = 5
#: A column with at most so many levels is never suspected.
FEW_LEVELS: Final = 20
#: Rows looked through at a time, so that a table mapped from a file need not fit in memory.
CHUNK_ROWS: Final = 2**16

Level = str | float | int | bool


@dataclass(frozen=True, kw_only=True, eq=False)
class DiscreteTable:
    """Discrete data as level numbers.

    Attributes
    ----------
    codes : ndarray of int, shape (n_samples, n_features)
        Level of each entry, from 0. May be mapped from a file.
    levels : tuple of tuple
        What the levels of each column are called: text, numbers or booleans.
    names : tuple of str
        Column names.
    treatment : tuple of str
        What was done to the rows on the way.
    counts : ndarray of int, shape (n_samples,), or None
        How often each row stands, if not once.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"smokes": ["no", "yes", "no"], "children": [3, 1, 1]})
    >>> table = DiscreteTable.from_input(frame)
    >>> table.codes.tolist(), table.levels
    ([[0, 1], [1, 0], [0, 0]], (('no', 'yes'), (1, 3)))
    """

    codes: AnyArray
    levels: tuple[tuple[Level, ...], ...]
    names: tuple[str, ...]
    treatment: tuple[str, ...] = ()
    counts: IntArray | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows, equal ones counted."""
        return len(self.codes) if self.counts is None else int(self.counts.sum())

    @property
    def cardinalities(self) -> IntArray:
        """Number of levels of each column, whether they occur or not."""
        return np.array([len(levels) for levels in self.levels], dtype=np.int64)

    @classmethod
    def from_input(
        cls, X: Any, *, cardinalities: ArrayLike | None = None, missing: str = "error"
    ) -> DiscreteTable:
        """Build a discrete table from whatever a user has.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Whole numbers, booleans, text or categories. Declared categories are levels whether
            they occur or not; of other columns, what occurs, sorted.
        cardinalities : int or array-like of shape (n_features,), optional
            Says that the columns hold level numbers from 0, and how many levels there are.
        missing : {"error", "drop"}
            Refuse missing values, or leave out the rows that have any.

        Returns
        -------
        DiscreteTable
        """
        if cardinalities is not None:
            return _from_codes(X, cardinalities, missing)
        return check_levels(read_levels(X, missing))

    def recode(self, X: Any, *, missing: str = "error") -> AnyArray:
        """Return level numbers of other rows, already read or not, by the levels of this table."""
        other = X if isinstance(X, DiscreteTable) else read_levels(X, missing)
        if len(other.levels) != len(self.levels):
            raise InputError(
                "levels_column_count", n_levels=len(other.levels), n_levels2=len(self.levels)
            )
        columns = []
        for k, (mine, theirs) in enumerate(zip(self.levels, other.levels, strict=True)):
            place = {level: code for code, level in enumerate(mine)}
            occurring = np.unique(other.codes[:, k]).tolist()
            if unknown := [str(theirs[c]) for c in occurring if theirs[c] not in place]:
                raise InputError("unknown_level", name=self.names[k], unknown=unknown)
            translation = np.array([place.get(level, 0) for level in theirs])
            columns.append(translation[other.codes[:, k]])
        return np.ascontiguousarray(np.column_stack(columns), dtype=self.codes.dtype)


def _is_plain_codes(X: Any) -> bool:
    """Whether an array holds small whole numbers, which need not go through floats."""
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray) or X.ndim != 2:
        return False
    return X.dtype in (np.dtype(np.uint8), np.dtype(np.uint16)) and X.size > 0


def _from_codes(X: Any, cardinalities: ArrayLike, missing: str) -> DiscreteTable:
    """Take level numbers as they are."""
    treatment: tuple[str, ...] = ()
    if _is_plain_codes(X):
        codes, names = X, tuple(f"x{k}" for k in range(X.shape[1]))
    else:
        table = Table.from_input(X)
        values, treatment = complete_rows(table, missing)
        is_other = np.array([kind == "categorical" for kind in table.kinds])
        is_other |= (values != np.round(values)).any(axis=0)
        is_other |= (np.abs(values) > MOST_LEVELS).any(axis=0)
        if is_other.any():
            others = [table.names[k] for k in np.flatnonzero(is_other).tolist()]
            raise InputError("cardinalities_need_codes", others=others)
        codes, names = values.astype(np.int64), table.names
    n_levels = check_cardinalities(cardinalities, codes.shape[1])
    return DiscreteTable(
        codes=check_codes(codes, n_levels, names),
        levels=tuple(tuple(range(count)) for count in n_levels.tolist()),
        names=names,
        treatment=treatment,
    )


def read_levels(X: Any, missing: str) -> DiscreteTable:
    """Give numbers to the levels that are declared, or else to those that occur."""
    if _is_plain_codes(X):
        return _from_small_numbers(X)
    return code_levels(Table.from_input(X), missing)


def code_levels(table: Table, missing: str = "error") -> DiscreteTable:
    """Give numbers to the levels of every column of a table."""
    values, treatment = complete_rows(table, missing)
    columns = [
        code_column(values[:, k], table.kinds[k], table.levels[k]) for k in range(table.n_features)
    ]
    dtype = code_type(np.array([len(levels) for levels, _ in columns]))
    return DiscreteTable(
        codes=np.ascontiguousarray(np.column_stack([codes for _, codes in columns]), dtype=dtype),
        levels=tuple(levels for levels, _ in columns),
        names=table.names,
        treatment=treatment,
    )


def _from_small_numbers(X: AnyArray) -> DiscreteTable:
    """Keep level numbers without gaps as they are: a table mapped from a file stays there."""
    columns = np.arange(X.shape[1])
    is_seen = np.zeros((X.shape[1], np.iinfo(X.dtype).max + 1), dtype=bool)
    for first in range(0, len(X), CHUNK_ROWS):
        is_seen[columns, X[first : first + CHUNK_ROWS]] = True
    levels = tuple(tuple(np.flatnonzero(seen).tolist()) for seen in is_seen)
    if any(column[-1] >= len(column) for column in levels):
        X = (np.cumsum(is_seen, axis=1) - 1).astype(X.dtype)[columns, X]
    return DiscreteTable(codes=X, levels=levels, names=tuple(f"x{k}" for k in columns.tolist()))


def complete_rows(table: Table, missing: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the rows without missing values, with a note if others were left out."""
    if missing not in ("error", "drop"):
        raise InputError("levels_missing_option", missing=missing)
    is_gone = table.missing
    if not is_gone.any():
        return table.values, ()
    has_gap = is_gone.any(axis=1)
    if missing == "error":
        gappy = [table.names[k] for k in np.flatnonzero(is_gone.any(axis=0)).tolist()]
        n_gone, n_rows = int(is_gone.sum()), int(has_gap.sum())
        raise InputError(
            "levels_missing_values", n_gone=n_gone, n_gappy=len(gappy), gappy=gappy, n_rows=n_rows
        )
    if has_gap.all():
        raise InputError("no_complete_row_of_levels")
    left = int((~has_gap).sum())
    note = f'missing="drop": {int(has_gap.sum())} rows with missing values left out, {left} used'
    return table.values[~has_gap], (note,)


def code_column(
    values: FloatArray, kind: str, declared: tuple[str, ...] | None
) -> tuple[tuple[Level, ...], IntArray]:
    """Return the levels of a column of a `Table` and the number of each entry's."""
    if declared is not None:
        return declared, values.astype(np.int64)
    if kind == "boolean":
        return (False, True), values.astype(np.int64)
    found, codes = np.unique(values, return_inverse=True)
    is_whole = bool((found == np.round(found)).all()) and bool((np.abs(found) < 2**53).all())
    levels: list[Level] = [int(level) if is_whole else float(level) for level in found]
    return tuple(levels), codes.reshape(-1)


def check_levels(table: DiscreteTable) -> DiscreteTable:
    """Return a table of levels; refuse measurements, and warn of columns like row labels."""
    _refuse_measurements(table)
    _warn_of_labels(table)
    return table


def _refuse_measurements(table: DiscreteTable) -> None:
    few = max(2, min(FEW_LEVELS, table.n_samples // ROWS_PER_LEVEL))
    fractions = {
        name: levels
        for name, levels in zip(table.names, table.levels, strict=True)
        if isinstance(levels[0], float)
    }
    if infinite := [name for name, levels in fractions.items() if np.isinf(levels).any()]:
        raise InputError("levels_infinite", infinite=infinite)
    if continuous := [name for name, levels in fractions.items() if len(levels) > few]:
        raise InputError("levels_continuous", continuous=continuous)


def _warn_of_labels(table: DiscreteTable) -> None:
    n_rows = table.n_samples
    if labels := [
        f"{name} ({len(levels)} levels)"
        for name, levels in zip(table.names, table.levels, strict=True)
        if len(levels) > max(FEW_LEVELS, n_rows / ROWS_PER_LEVEL)
    ]:
        warnings.warn(
            DataWarning("few_rows_per_level", columns=labels, n_rows=n_rows), stacklevel=5
        )
