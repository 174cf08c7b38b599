"""What the means of two groups have to do with a comparison of their networks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import stats

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import FloatArray
from edgewise.data.checks import check_columns
from edgewise.data.table import Table
from edgewise.data.two_groups import TwoGroups
from edgewise.io.messages import quote_names

#: Means further apart than this many standard deviations distort a shuffle noticeably.
FAR = 1.0
#: Chance of a warning where the means are the same; small groups often seem far apart.
SURE = 1e-4


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
    check_columns(
        table.values, table.names, allow_missing=True, allow_constant=True, allow_identical=True
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
