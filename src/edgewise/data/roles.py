"""Columns that are not variables: identifiers, dates, constants, duplicates, survival times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.data.dependence import is_in_time
from edgewise.data.kinds import FEW_ROWS
from edgewise.io.messages import quote_names

#: What a first column of row labels is called, and what any column of them is.
_FIRST: Final = re.compile(
    r"(.*[ _.-])?(id|index|key|uuid|row ?names?)|unnamed: 0|row"
    r"|(subject|sample|patient|participant|respondent|case|record|observation)s?|n[ro]\.?|number",
    re.IGNORECASE,
)
_ANY: Final = re.compile(
    r"(.*[ _.-])?(id|uuid|mrn|pid)|(subject|patient|participant|respondent)"
    r"|(subject|subj|patient|pat|participant|respondent|case|record|sample|specimen|lab|study|order"
    r"|fall|proben?|auftrags?|studien|lfd|laufende|vp)[ _.-]*(no|nr|num|number|nummer)\.?",
    re.IGNORECASE,
)
_CAMEL_CASE: Final = re.compile(r".*[a-z]I[Dd]")
_DATE: Final = re.compile(
    r"\s*(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ]\d{1,2}:\d{2}.*)?\s*"
)
#: Text that may be a number written in some way.
_NUMBER: Final = re.compile(r"\s*[<>~\u2264\u2265]?\s*[-+]?[\d.,]*\d[\d.,]*\s*%?\s*")
#: Different values of labels that several rows share, at least.
FEWEST_LABELS: Final = 10
#: A column of few values has so many rows for each, on average.
ROWS_PER_VALUE: Final = 5
#: Copies that are named.
MOST_NAMED: Final = 5
#: So many columns are compared with each other at most.
MOST_COMPARED: Final = 2000

#: What the time to an event, or to the end of observation, is called; and whether it happened.
_TIME: Final = re.compile(
    r"(.*[ _.-])?(fu|os|pfs|dfs|rfs|efs|ttp|tte)?([ _.-]?(days|weeks|months|years|time))"
    r"|(.{0,4}|surv.*|recur.*|relapse.*|death|follow.*)time|(survival|surv|follow[ _.-]?up|tte|ttp)"
    r"([ _.-]?(time|days|months|years))?|(os|pfs|dfs|rfs|efs)",
    re.IGNORECASE,
)
_EVENT: Final = re.compile(
    r"(.*[ _.-])?(status|event|death|dead|died|deceased|censor(ed|ing)?|cens|relapsed?|recur(red)?)"
    r"|.{1,4}(stat|status|event)",
    re.IGNORECASE,
)
#: How a time to any event begins.
_PLAIN: Final = ("time", "fu", "follow", "surv", "os", "days", "months", "years")
#: Words of marital, smoking and other states that are no events.
_NO_EVENT: Final = re.compile(
    r".*(marital|smok|employ|social|econom|work|menop|perform|ecog).*", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Columns without a place in a network.

    Attributes
    ----------
    kind : str
        ``"labels"``, ``"dates"``, ``"constant"`` or ``"copies"``.
    columns : tuple of str
    text : str
        What was found, in the middle of a sentence.
    """

    kind: str
    columns: tuple[str, ...]
    text: str


def is_called_label(name: str, *, is_first: bool = True) -> bool:
    """Whether a name is one of a column that labels the rows.

    Examples
    --------
    >>> is_called_label("case.id", is_first=False), is_called_label("case", is_first=False)
    (True, False)
    """
    pattern = _FIRST if is_first else _ANY
    return bool(pattern.fullmatch(name) or _CAMEL_CASE.fullmatch(name))


def is_label(name: str, column: AnyArray, *, is_first: bool = False) -> bool:
    """Whether a column labels rows, one each or several: by its name, and by what it holds.

    Text or whole numbers, of which there are more than 10 different ones: in the first column of
    a table most rows have their own, elsewhere or called an id several rows may share one.
    """
    seen, is_text = _values_seen(column)
    if len(seen) < 2 or not (is_text or bool((seen == np.round(seen)).all())):
        return False
    n_different = len(np.unique(seen))
    is_own = 2 * n_different > len(seen)
    if is_first and is_called_label(name) and is_own:
        return True
    return is_called_label(name, is_first=False) and n_different > FEWEST_LABELS


def is_dates(column: AnyArray) -> bool:
    """Whether a column holds dates in writing.

    Examples
    --------
    >>> is_dates(np.array(["2024-01-05", None, "2024-02-01 10:30"], dtype=object))
    True
    """
    seen, is_text = _values_seen(column)
    return bool(len(seen)) and is_text and all(_DATE.fullmatch(str(value)) for value in seen)


def days_of(column: AnyArray) -> FloatArray:
    """Turn dates in writing into days since the first of them; NaN where there is none.

    The day comes before the month unless some number above 12 says otherwise.

    Examples
    --------
    >>> days_of(np.array(["2024-01-05", None, "2024-02-01"], dtype=object))
    array([ 0., nan, 27.])
    """
    import pandas as pd

    texts = pd.Series([None if _is_gone(value) else str(value).strip() for value in column])
    texts = texts.str.replace(r"[/.](?=\d)", "-", n=2, regex=True)
    is_year_first = bool(texts.dropna().str.match(r"\d{4}-").all())
    second = texts.dropna().str.split("-").str[1].astype(int)
    is_day_first = not is_year_first and not bool((second > 12).any())
    when = pd.to_datetime(texts, dayfirst=is_day_first, format="mixed")
    return np.asarray((when - when.min()) / pd.Timedelta(days=1), dtype=np.float64)


def set_apart(columns: Mapping[str, AnyArray], *, first: str = "") -> list[LeftOut]:
    """Find columns that cannot be used in any network.

    Labels of rows, dates, text that is another one in every row, columns of one value, and all but
    the first of columns that say the same.

    Parameters
    ----------
    columns : mapping of str to ndarray
        As they were read: numbers, or text with None for missing values.
    first : str
        The first column of the table.

    Returns
    -------
    list of LeftOut

    Examples
    --------
    >>> table = {"site": np.ones(4), "x": np.array([1.0, 5.0, 2.0, 0.0])}
    >>> [(one.kind, one.columns) for one in set_apart(table)]
    [('constant', ('site',))]
    """
    labels = [
        n
        for n, c in columns.items()
        if is_label(n, c, is_first=n == first) or (n == first and _counts_rows(n, c))
    ]
    rest = {n: c for n, c in columns.items() if n not in labels}
    dates = [n for n, c in rest.items() if is_dates(c)]
    names = [n for n, c in rest.items() if n not in dates and _is_all_different_text(c)]
    rest = {n: c for n, c in rest.items() if n not in (*dates, *names)}
    seen = {n: _values_seen(c)[0] for n, c in rest.items()}
    single = [n for n, s in seen.items() if len(s) < 2 or bool((s == s[0]).all())]
    constant = [n for n in single if len(seen[n]) == len(rest[n])]
    nearly = [n for n in single if n not in constant]
    copies = _copies({n: c for n, c in rest.items() if n not in single})
    found = []
    for kind, which, what in (
        ("labels", labels, ("labels the rows", "label the rows")),
        ("dates", dates, ("holds dates", "hold dates")),
        ("labels", names, ("holds another text in every row", "hold another text in every row")),
        ("constant", constant, ("has one value in every row", "have one value in every row")),
        ("constant", nearly, ("has at most one value", "have at most one value")),
    ):
        if which:
            text = f"column{'s'[: len(which) - 1]} {quote_names(which)} {what[len(which) > 1]}"
            found.append(LeftOut(kind=kind, columns=tuple(which), text=text))
    if copies:
        pairs = [f"'{name}' says the same as '{other}'" for name, other in copies.items()]
        more = f" and {len(pairs) - MOST_NAMED} more" if len(pairs) > MOST_NAMED else ""
        text = f"column{'s'[: len(pairs) - 1]} {', '.join(pairs[:MOST_NAMED])}{more}"
        found.append(LeftOut(kind="copies", columns=tuple(copies), text=text))
    return found


def _counts_rows(name: str, column: AnyArray) -> bool:
    """Whether a column holds 1, 2, 3 and so on, and is no time."""
    is_counting = column.dtype.kind in "iuf" and np.array_equal(column, np.arange(len(column)) + 1)
    return len(column) >= FEW_ROWS and is_counting and not is_in_time(name, column)


def _is_gone(value: Any) -> bool:
    return value is None or value != value


def _values_seen(column: AnyArray) -> tuple[AnyArray, bool]:
    """Return the values that are there, and whether they are text."""
    if column.dtype.kind == "O":
        seen = [value for value in column.tolist() if not _is_gone(value)]
        is_text = all(isinstance(value, str) for value in seen)
        return np.array(seen if is_text else [str(value) for value in seen]), True
    if column.dtype.kind in "iub":
        return column, False
    values = column.astype(np.float64) if column.dtype.kind == "f" else np.empty(0)
    return values[~np.isnan(values)], False


def _is_all_different_text(column: AnyArray) -> bool:
    seen, is_text = _values_seen(column)
    if not is_text or len(seen) < FEW_ROWS or len(np.unique(seen)) < len(seen):
        return False
    n_written = sum(_NUMBER.fullmatch(str(value)) is not None for value in seen)
    return 10 * n_written < len(seen)


def _copies(columns: Mapping[str, AnyArray]) -> dict[str, str]:
    """Map columns that say the same as an earlier one to it."""
    if len(columns) > MOST_COMPARED:
        return {}
    found: dict[str, str] = {}
    by_levels: dict[bytes, str] = {}
    by_values: dict[bytes, str] = {}
    for name, column in columns.items():
        if len(column) < FEW_ROWS:
            break
        codes, n_levels = _partition(column)
        # Of measurements, nearly every row has its own value, which says nothing.
        if n_levels * ROWS_PER_VALUE <= len(codes):
            other = by_levels.setdefault(codes.tobytes(), name)
        elif column.dtype.kind == "O":
            continue
        else:
            other = by_values.setdefault(_standard(column.astype(np.float64)), name)
        if other != name:
            found[name] = other
    return found


def _partition(column: AnyArray) -> tuple[IntArray, int]:
    """Give numbers to the values of a column as they come, one to all missing ones."""
    values = column.tolist()
    number: dict[Any, int] = {}
    gone = object()
    codes = [number.setdefault(gone if _is_gone(v) else v, len(number)) for v in values]
    return np.array(codes, dtype=np.int64), len(number)


def _standard(values: FloatArray) -> bytes:
    """Write what numbers say whatever their unit and sign, to ten digits."""
    is_there = ~np.isnan(values)
    seen = values[is_there]
    is_fit = len(seen) > 0 and bool(np.isfinite(seen).all()) and float(np.ptp(seen)) > 0
    if not is_fit:
        return values.tobytes()
    scale = float(np.abs(seen - seen.mean()).max())
    standard = (seen - seen.mean()) / scale
    far = standard[np.flatnonzero(np.abs(standard) > 0.5)[0]]
    digits: FloatArray = np.round(standard * np.sign(far), 10) + 0.0
    return is_there.tobytes() + digits.tobytes()


def find_survival(columns: Mapping[str, AnyArray]) -> dict[str, str]:
    """Pair columns that look like a time under observation with whether the event came by then.

    Parameters
    ----------
    columns : mapping of str to ndarray

    Returns
    -------
    dict of str to str
        The event of each time.

    Examples
    --------
    >>> time, dead = np.arange(1.0, 31.0), np.arange(30) % 2
    >>> find_survival({"futime": time, "death": dead, "age": time + 40})
    {'futime': 'death'}
    """
    times = [name for name, column in columns.items() if _TIME.fullmatch(name) and _is_time(column)]
    events = [name for name, column in columns.items() if _is_event(name, column)]
    paired: dict[str, str] = {}
    for time, event in _by_stem(times, events):
        if time not in paired and event not in paired.values():
            paired[time] = event
    return paired


def _is_time(column: AnyArray) -> bool:
    seen, is_text = _values_seen(column)
    return not is_text and len(np.unique(seen)) > FEWEST_LABELS and float(seen.min()) >= 0


def _is_event(name: str, column: AnyArray) -> bool:
    seen, _ = _values_seen(column)
    if not _EVENT.fullmatch(name) or _NO_EVENT.fullmatch(name):
        return False
    return len(np.unique(seen)) in (2, 3) and len(seen) >= FEW_ROWS


def _by_stem(times: Sequence[str], events: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs, those with the same first letter before the others, plain times first."""
    pairs = [(time, event) for time in times for event in events]
    yield from (pair for pair in pairs if pair[0][:1].lower() == pair[1][:1].lower())
    yield from (pair for pair in pairs if pair[0].lower().startswith(_PLAIN))
    yield from pairs


def martingale_residuals(time: Any, event: Any) -> FloatArray:
    r"""Turn a censored time into a variable: events seen less events expected by then.

    With the Nelson-Aalen estimate :math:`\hat\Lambda` of the cumulative hazard of all rows, a row
    that was observed for a time :math:`t` and had the event (:math:`\delta = 1`) or not (0) has
    :math:`M = \delta - \hat\Lambda(t)`: positive where the event came early, negative where it did
    not come for long [1]_. Unlike the time and the event it can stand beside other columns in a
    network.

    Parameters
    ----------
    time : array-like of shape (n,)
        Time under observation, not negative; NaN where it is missing.
    event : array-like of shape (n,)
        1 or True where the event ended it, 0 or False where it was censored; NaN where missing.

    Returns
    -------
    ndarray of shape (n,)
        NaN where either is missing.

    References
    ----------
    .. [1] Therneau, Grambsch and Fleming (1990). Martingale-based residuals for survival models.
       *Biometrika* 77(1). https://doi.org/10.1093/biomet/77.1.147

    Examples
    --------
    >>> martingale_residuals([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1])
    array([ 0.75, -0.25,  0.25, -0.75])
    """
    t, d = (np.asarray(values, dtype=np.float64) for values in (time, event))
    if t.ndim != 1 or t.shape != d.shape:
        raise InputError("survival_shapes", shape=t.shape, shape2=d.shape)
    is_there: BoolArray = ~(np.isnan(t) | np.isnan(d))
    if not np.isin(d[is_there], (0.0, 1.0)).all():
        raise InputError("event_not_binary")
    if (t[is_there] < 0).any():
        raise InputError("negative_time")
    moments, place = np.unique(t[is_there], return_inverse=True)
    n_events = np.bincount(place, weights=d[is_there], minlength=len(moments))
    n_rows = np.bincount(place, minlength=len(moments))
    at_risk = n_rows[::-1].cumsum()[::-1]
    hazard = np.cumsum(n_events / at_risk)
    residual = np.full(len(t), np.nan)
    residual[is_there] = d[is_there] - hazard[place]
    return residual
