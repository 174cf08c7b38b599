"""Two groups of rows: their labels, and what their means have to do with a comparison."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.data.table import Table
from edgewise.io.messages import quote_names

#: Means further apart than this many standard deviations distort a shuffle noticeably.
FAR = 1.0
#: Chance of a warning where the means are the same; small groups often seem far apart.
SURE = 1e-4


@dataclass(frozen=True, kw_only=True)
class TwoGroups:
    """Which of two groups each row belongs to.

    Attributes
    ----------
    classes : tuple
        Both labels, sorted.
    rows : list of ndarray
        Rows of each group, in order.
    """

    classes: tuple[Any, Any]
    rows: list[IntArray]


def two_groups(y: Any, n_rows: int) -> TwoGroups:
    """Sort rows by their label, of which there must be two."""
    import pandas as pd

    # Objects, because numpy would turn the missing value of a list of text into "nan".
    labels = np.asarray(y, dtype=object)
    if labels.shape != (n_rows,):
        raise InputError(
            f"y must hold one label for each of the {n_rows} rows of X; its shape is "
            f"{labels.shape}."
        )
    if len(missing := np.flatnonzero(pd.isna(labels))):
        raise InputError(
            f"y has {len(missing)} missing {'label' if len(missing) == 1 else 'labels'} (None or "
            f"NaN), the first in row {missing[0]}. Drop those rows, or label them."
        )
    try:
        classes, member = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise InputError(
            f"The labels in y are of different types, {quote_names(kinds)}, and cannot be sorted. "
            "Turn all of them into text."
        ) from error
    _check_two(classes.tolist(), np.bincount(member).tolist())
    first, second = classes.tolist()
    return TwoGroups(classes=(first, second), rows=[np.flatnonzero(member == k) for k in (0, 1)])


def _check_two(classes: list[Any], counts: list[int]) -> None:
    if len(classes) == 1:
        raise InputError(f"All labels in y are {classes[0]!r}. A comparison needs two groups.")
    if len(classes) > 2:
        pair = f"{classes[0]!r} and {classes[1]!r}"
        raise InputError(
            f"y has {len(classes)} groups: {quote_names(classes)}. A comparison takes two. Pass "
            f"the rows of one pair at a time, such as those of {pair}."
        )
    for label, count in zip(classes, counts, strict=True):
        if count < 2:
            raise InputError(
                f"The group {label!r} has {count} row; at least 2 are needed in each group."
            )


def center_groups(X: Any, groups: TwoGroups) -> Any:
    """Take the mean of its group away from every column; a data frame stays one."""
    import narwhals.stable.v2 as nw

    table = Table.from_input(X)
    pairs = zip(table.names, table.kinds, strict=True)
    if others := [name for name, kind in pairs if kind != "numeric"]:
        raise InputError(
            f"center=True takes means away, and {quote_names(others)} hold no numbers. Drop these "
            "columns, or pass center=False."
        )
    values = table.values.copy()
    for rows in groups.rows:
        values[rows] -= _moments(values[rows])[0]
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame) and all(isinstance(name, str) for name in frame.columns):
        return nw.from_numpy(values, frame.columns, backend=frame.implementation).to_native()
    return values


def warn_of_means(X: Any, groups: TwoGroups, *, stacklevel: int) -> None:
    """Say which columns have means so different that shuffled groups are unlike the real ones."""
    table = Table.from_input(X)
    columns = [k for k, kind in enumerate(table.kinds) if kind == "numeric"]
    (mean, spread, count), (other_mean, other_spread, other_count) = (
        _moments(table.values[rows][:, columns]) for rows in groups.rows
    )
    freedom = np.maximum(count + other_count - 2, 1)
    variance = (spread + other_spread) / freedom
    least = stats.t.isf(SURE / 2 / max(len(columns), 1), freedom)
    noise = variance * (1 / np.maximum(count, 1) + 1 / np.maximum(other_count, 1))
    square = (other_mean - mean) ** 2
    is_far = (variance > 0) & (square > FAR**2 * variance) & (square > least**2 * noise)
    if is_far.any():
        names = [table.names[columns[k]] for k in np.flatnonzero(is_far)]
        largest = np.sqrt((square[is_far] / variance[is_far]).max())
        warnings.warn(
            f"Between the groups, the means of {quote_names(names)} differ by up to {largest:.2g} "
            "standard deviations. Shuffled groups mix both means, so that this can pass for a "
            "difference between networks. Pass center=True to take the means away first.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, sum of squares around it and number of the observed entries of each column."""
    is_seen = ~np.isnan(values)
    count: FloatArray = is_seen.sum(axis=0).astype(np.float64)
    mean = np.where(is_seen, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    spread: FloatArray = (np.where(is_seen, values - mean, 0.0) ** 2).sum(axis=0)
    return mean, spread, count
