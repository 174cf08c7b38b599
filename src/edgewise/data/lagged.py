"""Rows in order: which rows follow each other in a series, and the pairs that lags take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.messages import Note
from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: Steps differ from the usual one by at most this share: months have 28 to 31 days.
EQUAL: Final = 0.15
#: Share of the shorter steps that must be equal.
MOSTLY: Final = 0.95
#: Rows that a message names.
ROWS_NAMED: Final = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class LaggedRows:
    """Rows with enough rows before them in the same series.

    Attributes
    ----------
    now : ndarray of int, shape (n_pairs,)
        Position of each such row.
    past : ndarray of int, shape (lags, n_pairs)
        Positions of the rows 1, 2, ... steps before it.
    further : ndarray of int, shape (n_pairs,)
        Position of the row one step before those, -1 where there is none.
    unit : ndarray of int, shape (n_samples,)
        Number of the person, site or the like of each row.
    n_series : int
        Series that no pair leaves: those of the units, or of parts of them.
    n_starts, n_gaps, n_incomplete : int
        Rows without a pair: at the beginning of a series, after a gap in time, or with a missing
        value in them or in the rows before.
    """

    now: IntArray
    past: IntArray
    further: IntArray
    unit: IntArray
    n_series: int
    n_starts: int
    n_gaps: int
    n_incomplete: int

    @property
    def n_pairs(self) -> int:
        """Number of rows with enough rows before them."""
        return len(self.now)

    @property
    def n_units(self) -> int:
        """Number of persons, sites or the like."""
        return len(np.unique(self.unit))

    def notes(self) -> list[Note]:
        """Say how many pairs there are, and why other rows have none."""
        found = [Note("lagged_pairs", n=self.n_pairs, n_rows=len(self.unit), lags=len(self.past))]
        left = {
            "pairs_not_across_series": self.n_starts if self.n_series > 1 else 0,
            "pairs_not_across_gaps": self.n_gaps,
            "pairs_without_values": self.n_incomplete,
        }
        return [*found, *(Note(code, n=n) for code, n in left.items() if n)]

    def lagged(self, values: FloatArray) -> FloatArray:
        """Return the rows before each of ``now``, lag after lag, of shape (n_pairs, lags * p)."""
        return np.hstack([values[rows] for rows in self.past])


def lagged_rows(
    n_samples: int,
    lags: int,
    *,
    series: Any = None,
    time: Any = None,
    is_complete: BoolArray | None = None,
) -> LaggedRows:
    """Find the rows that have enough rows before them, none across a series or a gap.

    Parameters
    ----------
    n_samples, lags : int
        Number of rows, and of steps back.
    series : array-like of shape (n_samples,) or (n_samples, k), optional
        Labels of the series. Of several columns the first names the unit, such as a person, and
        the others its parts, such as days.
    time : array-like of shape (n_samples,), optional
        Numbers, dates or times of the rows, which rise within each series. A step that is longer
        than usual is a gap. Without it, rows of a series follow each other as they stand.
    is_complete : ndarray of bool, shape (n_samples,), optional
        Rows without missing values.

    Returns
    -------
    LaggedRows

    Examples
    --------
    >>> found = lagged_rows(6, 1, series=list("aaabbb"), time=[1, 2, 4, 1, 2, 3])
    >>> found.now, found.past[0], found.n_gaps
    (array([1, 4, 5]), array([0, 3, 4]), 1)
    """
    unit, part = _series_codes(series, n_samples)
    order = np.argsort(part, kind="stable")
    follows = np.append(False, np.diff(part[order]) == 0)
    is_step = follows.copy()
    if time is not None:
        when = times(time, n_samples)
        steps = np.append(np.nan, np.diff(when[order]))
        _refuse_disorder(steps, follows, order)
        is_step &= _is_usual(steps, follows)
    whole = np.ones(n_samples, dtype=bool) if is_complete is None else is_complete[order]
    is_linked = is_step & whole & np.append(False, whole[:-1])
    at = np.arange(n_samples)
    run = at - np.maximum.accumulate(np.where(is_linked, 0, at))
    in_time = at - np.maximum.accumulate(np.where(is_step, 0, at))
    in_series = at - np.maximum.accumulate(np.where(follows, 0, at))
    kept = np.flatnonzero(run >= lags)
    return LaggedRows(
        now=order[kept],
        past=np.array([order[kept - k] for k in range(1, lags + 1)]),
        further=np.where(run[kept] > lags, order[kept - lags - 1], -1),
        unit=unit,
        n_series=len(np.unique(part)),
        n_starts=int(np.count_nonzero(in_series < lags)),
        n_gaps=int(np.count_nonzero((in_series >= lags) & (in_time < lags))),
        n_incomplete=int(np.count_nonzero((in_time >= lags) & (run < lags))),
    )


def _series_codes(series: Any, n_samples: int) -> tuple[IntArray, IntArray]:
    """Give numbers to the units, and to the series within them."""
    if series is None:
        none = np.zeros(n_samples, dtype=np.int64)
        return none, none
    table = np.asarray(series, dtype=object)
    columns = table[:, None] if table.ndim == 1 else table
    if columns.ndim != 2 or len(columns) != n_samples:
        raise InputError("series_shape", "series", shape=table.shape, n_samples=n_samples)
    is_gone = np.array([[_is_missing(one) for one in row] for row in columns])
    if is_gone.any():
        rows = np.flatnonzero(is_gone.any(axis=1))
        raise InputError("series_missing", "series", rows=_numbers(rows), more=_more(rows))
    codes = [np.unique(column.astype(str), return_inverse=True)[1] for column in columns.T]
    part = np.unique(np.stack(codes), axis=1, return_inverse=True)[1].ravel()
    return codes[0], part


def times(time: Any, n_samples: int) -> FloatArray:
    """Turn numbers, dates or times into numbers; dates count days, in one time zone.

    Examples
    --------
    >>> times(["2024-03-30", "2024-03-31"], 2)
    array([0., 1.])
    """
    import pandas as pd

    column: Any = pd.Series(np.asarray(time, dtype=object) if isinstance(time, list) else time)
    if len(column) != n_samples or getattr(time, "ndim", 1) != 1:
        raise InputError("time_shape", "time", n=len(column), n_samples=n_samples)
    if column.isna().any():
        rows = np.flatnonzero(column.isna().to_numpy())
        raise InputError("time_missing", "time", rows=_numbers(rows), more=_more(rows))
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        try:
            values = column.to_numpy(dtype=np.float64)
        except (TypeError, ValueError):
            column = _dates(column)
        else:
            if not np.isfinite(values).all():
                rows = np.flatnonzero(~np.isfinite(values))
                raise InputError("time_missing", "time", rows=_numbers(rows), more=_more(rows))
            return np.asarray(values)
    return np.asarray((column - column.min()) / pd.Timedelta(days=1), dtype=np.float64)


def _dates(column: Any) -> Any:
    """Read dates, those of several time zones in one."""
    import pandas as pd

    texts = column.astype(str).str.replace(r"^(\d{4})[-/.]?Q([1-4])$", _quarter, regex=True)
    try:
        return pd.to_datetime(texts, format="ISO8601", utc=True)
    except ValueError:
        pass
    is_bad = pd.to_datetime(texts, format="ISO8601", utc=True, errors="coerce").isna().to_numpy()
    rows = np.flatnonzero(is_bad)
    raise InputError(
        "not_a_time", "time", found=[str(one) for one in column[is_bad].unique()[:3]],
        rows=_numbers(rows), more=_more(rows),
    )  # fmt: skip


def _quarter(found: Any) -> str:
    """First month of a quarter."""
    return f"{found[1]}-{3 * int(found[2]) - 2:02d}-01"


def _refuse_disorder(steps: FloatArray, follows: BoolArray, order: IntArray) -> None:
    """Refuse times that repeat or fall within a series."""
    for code, is_wrong in (
        ("time_repeated", follows & (steps == 0)),
        ("time_unsorted", follows & (steps < 0)),
    ):
        if is_wrong.any():
            rows = np.sort(order[is_wrong])
            raise InputError(code, "time", rows=_numbers(rows), more=_more(rows))


def _is_usual(steps: FloatArray, follows: BoolArray) -> BoolArray:
    """Say which steps are as long as most; refuse times whose steps have no usual length."""
    sizes = np.sort(steps[follows])
    if not len(sizes):
        return follows
    # The length that has most others close to it.
    n_close = np.searchsorted(sizes, sizes * (1.0 + EQUAL), side="right") - np.arange(len(sizes))
    first = int(n_close.argmax())
    usual = float(np.median(sizes[first : first + n_close[first]]))
    off = np.abs(sizes / usual - 1.0)
    is_short = sizes < 1.5 * usual
    if np.mean(off[is_short] <= EQUAL) < MOSTLY:
        low, high = np.quantile(sizes, [0.1, 0.9])
        raise InputError("unequal_steps", "time", low=float(low), high=float(high))
    return np.asarray(follows & (np.abs(steps / usual - 1.0) <= EQUAL))


def _is_missing(value: Any) -> bool:
    return value is None or value != value


def _numbers(rows: IntArray) -> list[str]:
    """Give the first rows their numbers, from 1."""
    return [str(row + 1) for row in rows[:ROWS_NAMED].tolist()]


def _more(rows: IntArray) -> int:
    return max(len(rows) - ROWS_NAMED, 0)
