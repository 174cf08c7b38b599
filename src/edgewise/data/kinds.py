"""Kinds of columns: continuous, ordinal, binary, nominal, count; guessed or declared."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, RandomState
from edgewise.data.checks import LARGEST, SMALLEST, about_size, varying_columns
from edgewise.data.imputation import impute_rows, pair_shares
from edgewise.data.levels import Level, code_column, complete_rows
from edgewise.data.table import Table

KINDS: Final = ("continuous", "ordinal", "binary", "nominal", "count", "identifier", "date")
#: Kinds whose values are levels, not numbers.
WITH_LEVELS: Final = ("ordinal", "binary", "nominal")
#: At most so many different whole numbers are ordered answers.
FEW_ANSWERS: Final = 10
#: Rows per answer or level, on average, below which a column is none of levels.
ROWS_PER_ANSWER: Final = 5
#: Fewer rows than this may be in order by chance, or all different.
FEW_ROWS: Final = 20
#: Counts are small: a larger median is that of a measurement in whole numbers, such as an age.
TYPICAL_COUNT: Final = 10
#: Whole numbers of fewer different values are answers, from 0 on or not.
FEW_COUNTS: Final = 5
#: A count has no end: fewer rows than this share have the largest, as an answer has many.
RARE: Final = 0.02
#: Pairs of words of which the second says that something is there.
YES: Final = (("no", "yes"), ("n", "y"), ("false", "true"), ("absent", "present"))
_DATE: Final = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})([T ]\d{1,2}:\d{2}.*)?"
)


def is_answers(column: FloatArray) -> bool:
    """Whether numbers are ordered answers.

    These are whole numbers, at most 10 different ones, that have 5 rows each on average (two
    answers may have fewer).

    Examples
    --------
    >>> answers = np.arange(60) % 5 + 1
    >>> is_answers(answers), is_answers(answers / 2), is_answers(np.arange(60))
    (True, False, False)
    """
    seen = column[~np.isnan(column)]
    answers = np.unique(seen)
    most = max(2, min(FEW_ANSWERS, len(seen) // ROWS_PER_ANSWER))
    is_repeated = len(answers) < len(seen)
    return _is_whole(answers) and is_repeated and 2 <= len(answers) <= most


def is_row_number(column: FloatArray) -> bool:
    """Whether a column numbers the rows: whole numbers that only rise, or only fall."""
    if len(column) < FEW_ROWS or not np.isfinite(column).all() or not _is_whole(column):
        return False
    steps = np.diff(column)
    return bool((steps > 0).all() or (steps < 0).all())


def _is_whole(values: FloatArray) -> bool:
    return bool((values == np.round(values)).all())


def guess_kind(table: Table, k: int) -> str:
    """Tell the kind of a column from its values.

    The first of these that holds: yes / no, or two different values, are ``"binary"``; categories
    with a declared order ``"ordinal"``; text that is a date in every row a ``"date"``; text, or
    whole numbers in order, another one in every row, an ``"identifier"``; other text ``"nominal"``;
    more than 5 different whole numbers from 0 on, half of them at most 10 and fewer than 2 % the
    largest, a ``"count"``; at most 10 different whole numbers, with 5 rows each on average,
    ``"ordinal"``; all other numbers ``"continuous"``.

    Parameters
    ----------
    table : Table
    k : int
        Position of the column.

    Returns
    -------
    str

    Examples
    --------
    >>> table = Table.from_input([["f", 1.5, 3], ["m", 2.5, 3], ["x", 0.5, 1], ["f", 1.0, 1]])
    >>> [guess_kind(table, k) for k in range(3)]
    ['nominal', 'continuous', 'binary']
    """
    levels, column = table.levels[k], table.values[:, k]
    seen = column[~np.isnan(column)]
    n_different = len(np.unique(seen))
    if table.kinds[k] == "boolean" or (n_different == 2 and n_different < len(seen)):
        return "binary"
    if levels is not None:
        if table.ordered[k]:
            return "ordinal"
        if all(_DATE.fullmatch(level) for level in levels):
            return "date"
        is_label = len(seen) >= FEW_ROWS and n_different == len(seen)
        return "identifier" if is_label else "nominal"
    if is_row_number(column):
        return "identifier"
    if n_different > FEW_COUNTS and _is_whole(seen) and seen.min() == 0:
        is_open = bool(np.mean(seen == seen.max()) < RARE)
        if is_open and np.median(seen) <= TYPICAL_COUNT:
            return "count"
    return "ordinal" if is_answers(column) else "continuous"


def column_kinds(table: Table, given: Any = None) -> tuple[str, ...]:
    """Return the kind of each column: as given, or else guessed.

    Parameters
    ----------
    table : Table
    given : mapping of str to str, or sequence of str, optional
        Kinds by name of the column, or one for every column. None leaves a column to be guessed.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> table = Table.from_input([[1, 0.5], [2, 1.0], [1, 0.0], [2, 2.5]], names=["a", "b"])
    >>> column_kinds(table, {"a": "nominal"})
    ('nominal', 'continuous')
    """
    by_name = _by_name(given, table.names)
    kinds = []
    for k, name in enumerate(table.names):
        kind = by_name.get(name) or guess_kind(table, k)
        if name in by_name:
            _refuse_contradiction(table, k, kind)
        kinds.append(kind)
    return tuple(kinds)


def _by_name(given: Any, names: Sequence[str]) -> dict[str, str]:
    """Check which kinds are given, and for which columns."""
    if given is None:
        return {}
    if isinstance(given, str) or not isinstance(given, (Mapping, Sequence, np.ndarray)):
        raise InputError("kinds_not_named", "kinds", given=given)
    if not isinstance(given, Mapping):
        if len(given) != len(names):
            raise InputError("kinds_count", "kinds", n_given=len(given), n_names=len(names))
        given = dict(zip(names, given, strict=True))
    for name, kind in given.items():
        if name not in names:
            near = difflib.get_close_matches(str(name), names, n=3, cutoff=0.5) or names[:5]
            raise InputError(
                "kinds_unknown_column",
                "kinds",
                name=str(name),
                listed=" or ".join(repr(other) for other in near),
            )
        if kind is not None and kind not in KINDS:
            raise InputError(
                "unknown_kind",
                "kinds",
                name=name,
                kind=kind,
                listed=", ".join(KINDS),
            )
    return {str(name): kind for name, kind in given.items() if kind is not None}


def _refuse_contradiction(table: Table, k: int, kind: str) -> None:
    """Refuse a kind that the values of a column speak against."""
    name, levels = table.names[k], table.levels[k]
    seen = table.values[~table.missing[:, k], k]
    n_different = len(np.unique(seen))
    found = None
    if kind in ("continuous", "count") and levels is not None:
        found, advice = "holds text", "turn it into numbers, or say binary or nominal"
    elif kind == "count" and not (_is_whole(seen) and (seen >= 0).all()):
        found, advice = "holds fractions or numbers below 0", "say continuous"
    elif kind == "binary" and n_different > 2:
        found, advice = f"has {n_different} different values", "say nominal or ordinal"
    elif kind == "ordinal" and levels is not None and not table.ordered[k] and n_different > 2:
        found = "holds text, whose order nobody knows"
        advice = "turn it into numbers or ordered categories, or say nominal"
    elif kind in ("nominal", "ordinal") and levels is None and not _is_whole(seen):
        found, advice = "holds fractions", "say continuous, or cut it into classes"
    if found is not None:
        raise InputError(
            "kind_does_not_fit",
            "kinds",
            name=name,
            kind=kind,
            found=found,
            advice=advice,
        )


def impute(
    X: Any,
    *,
    kinds: Any = None,
    n_fillings: int = 10,
    random_state: RandomState = None,
) -> list[Any]:
    """Fill missing values several times, by chained equations and predictive mean matching.

    What differs between the fillings is what the rows leave open: fit each, or test them together
    by `edgewise.inference.edge_intervals`. `MixedGraph` with ``missing="impute"`` does it itself.

    Parameters
    ----------
    X : array-like or data frame of shape (n, p)
        Columns of any kinds; dates and labels of rows stay as they are.
    kinds : mapping of str to str, or sequence of str, optional
        As in `column_kinds`.
    n_fillings : int
    random_state : int, Generator, RandomState or None

    Returns
    -------
    list of DataFrame
        With all values that were there, and values of other rows in place of the missing ones.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [30.0, None] * 20, "sex": ["f", "m", None, "m"] * 10})
    >>> [int(filled.isna().sum().sum()) for filled in impute(frame, n_fillings=2, random_state=0)]
    [0, 0]
    """
    import pandas as pd

    if n_fillings < 1:
        raise InputError("n_fillings_range", n_fillings=n_fillings)
    table = Table.from_input(X)
    found = column_kinds(table, kinds)
    used = [k for k, kind in enumerate(found) if kind not in ("identifier", "date")]
    is_level = np.array([found[k] in ("binary", "nominal") for k in used])
    generator = as_generator(random_state)
    frame = X if isinstance(X, pd.DataFrame) else pd.DataFrame(X, columns=list(table.names))
    fillings = []
    for _ in range(n_fillings):
        values = impute_rows(table.values[:, used], is_level, random_state=generator)
        filled = frame.copy()
        for k, column in zip(used, values.T, strict=True):
            if table.missing[:, k].any():
                filled.isetitem(k, _as_before(column, table, k, frame.iloc[:, k]))
        fillings.append(filled)
    return fillings


def _as_before(column: FloatArray, table: Table, k: int, before: Any) -> Any:
    """Write the numbers of a `Table` as the column that they were read from."""
    import pandas as pd

    levels = table.levels[k]
    if levels is not None:
        texts = np.array(levels, dtype=object)[column.astype(np.int64)]
        is_category = isinstance(before.dtype, pd.CategoricalDtype)
        return pd.Series(texts, index=before.index, dtype=before.dtype if is_category else None)
    if table.kinds[k] == "boolean":
        return pd.Series(column.astype(bool), index=before.index)
    return pd.Series(column, index=before.index)


def describe_columns(
    table: Table,
    kinds: Sequence[str],
    labels: Mapping[str, str] | None = None,
    value_labels: Mapping[str, Mapping[float, str]] | None = None,
) -> list[dict[str, str]]:
    """Describe each column in a few words: its name, its kind, what it holds and is about.

    Parameters
    ----------
    table : Table
    kinds : sequence of str
    labels : mapping of str to str, optional
        What columns are about.
    value_labels : mapping of str to mapping of float to str, optional
        What the numbers of columns stand for.

    Returns
    -------
    list of dict
        With ``column``, ``kind``, ``values`` and, where there are labels, ``label``.

    Examples
    --------
    >>> table = Table.from_input([[1.5, "f"], [2.5, "m"], [0.5, "f"]], names=["age", "sex"])
    >>> for row in describe_columns(table, column_kinds(table)):
    ...     print(*row.values(), sep=" | ")
    age | continuous | from 0.5 to 2.5
    sex | binary | f, m
    """
    about, meaning = labels or {}, value_labels or {}
    has_labels = any(name in about for name in table.names)
    return [
        {
            "column": name,
            "kind": kind,
            "values": _values_in_words(table, k, kind, meaning.get(name, {})),
            **({"label": about.get(name, "")} if has_labels else {}),
        }
        for k, (name, kind) in enumerate(zip(table.names, kinds, strict=True))
    ]


def _values_in_words(table: Table, k: int, kind: str, labels: Mapping[float, str]) -> str:
    column, levels = table.values[:, k], table.levels[k]
    seen = np.unique(column[~np.isnan(column)])
    if levels is None and (kind not in WITH_LEVELS or len(seen) > FEW_ANSWERS):
        return f"from {seen[0]:g} to {seen[-1]:g}" if len(seen) else "none"
    words = [
        levels[int(code)] if levels else f"{code:g} {labels.get(float(code), '')}".rstrip()
        for code in seen
    ]
    more = f" and {len(words) - 6} more" if len(words) > 7 else ""
    return ", ".join(words[: 6 if more else 7]) + more


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedTable:
    """A complete table of columns of several kinds.

    Attributes
    ----------
    values : ndarray of shape (n, p)
        Numbers, or numbers of levels.
    names, kinds : tuple of str
    levels : tuple
        Levels of each column that has some, in order; None for the others.
    signs : tuple of bool
        Whether each column goes up or down: levels of text do not, unless there are two.
    is_kept : ndarray of bool
        Complete rows of the table.
    treatment : tuple of str
        What was done to the rows.
    copies : int
        How often the rows stand in ``values``, one block after the other, with other fillings.
    worth : ndarray of shape (n,), or None
        What each row of ``values`` counts for, where gaps were filled.
    """

    values: FloatArray
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    levels: tuple[tuple[Level, ...] | None, ...]
    signs: tuple[bool, ...]
    is_kept: BoolArray
    treatment: tuple[str, ...]
    copies: int = 1
    worth: FloatArray | None = None


def read_mixed(
    X: Any,
    kinds: Any = None,
    missing: str = "error",
    *,
    copies: int = 1,
    random_state: RandomState = None,
) -> MixedTable:
    """Read a table of columns of any kinds; refuse those that no network has a place for.

    Parameters
    ----------
    X : array-like or data frame of shape (n, p)
    kinds : mapping or sequence, optional
        As in `column_kinds`.
    missing : {"error", "drop", "impute"}
        Refuse missing values, leave out rows that have any, or fill them several times.
    copies : int
        Fillings.
    random_state : int, Generator, RandomState or None
        Of the fillings.

    Returns
    -------
    MixedTable
    """
    table = Table.from_input(X)
    # Kinds are told by squares of numbers; which columns may be of tiny ones depends on the kinds.
    _refuse_sizes(table, [own is None for own in table.levels], least=0.0, most=LARGEST)
    found = column_kinds(table, kinds)
    _refuse_labels(table, found)
    is_number = [kind not in WITH_LEVELS for kind in found]
    _refuse_sizes(table, is_number, least=SMALLEST, most=np.inf)
    if np.isinf(table.values).any():
        which = np.flatnonzero(np.isinf(table.values).any(axis=0)).tolist()
        raise InputError("infinite_values_mixed", which=[table.names[k] for k in which])
    is_kept: BoolArray = np.logical_not(table.missing.any(axis=1))
    worth = None
    if missing == "impute" and not is_kept.all():
        is_level = np.array([kind in ("binary", "nominal") for kind in found])
        generator = as_generator(random_state)
        fillings = [
            impute_rows(table.values, is_level, random_state=generator) for _ in range(copies)
        ]
        values, worth = np.vstack(fillings), np.tile(pair_shares(table.missing) / copies, copies)
        times = "once" if copies == 1 else f"{copies} times"
        note = (
            f'missing="impute": {int(table.missing.sum())} missing values filled in {times} by '
            f"chained equations; {len(table.values)} rows count as {worth.sum():.0f} complete ones"
        )
        treatment: tuple[str, ...] = (note,)
        is_kept = np.ones(len(table.values), dtype=bool)
    else:
        copies = 1
        values, treatment = complete_rows(table, "error" if missing == "impute" else missing)
    if len(values) < 2:
        raise InputError("one_complete_row", n_values=len(values))
    columns, levels = [], []
    for k, kind in enumerate(found):
        column, own = values[:, k], None
        if kind in WITH_LEVELS:
            own, codes = code_column(column, table.kinds[k], table.levels[k])
            # Declared levels that no row has would leave the regressions without a solution.
            seen, place = np.unique(codes, return_inverse=True)
            own, column = tuple(own[code] for code in seen.tolist()), place.astype(np.float64)
        columns.append(column)
        levels.append(own)
    _check_levels(table.names, found, levels, columns, varying_columns(values))
    return MixedTable(
        values=np.column_stack(columns),
        names=table.names,
        kinds=found,
        levels=tuple(levels),
        signs=tuple(
            kind != "nominal" and (own is None or table.ordered[k] or _has_direction(own))
            for k, (kind, own) in enumerate(zip(found, levels, strict=True))
        ),
        is_kept=is_kept,
        treatment=treatment,
        copies=copies,
        worth=worth,
    )


def _has_direction(levels: Sequence[Level]) -> bool:
    """Whether levels are numbers, or two: the second one more."""
    return len(levels) == 2 or not isinstance(levels[0], str)


def _refuse_sizes(table: Table, is_number: Sequence[bool], least: float, most: float) -> None:
    """Refuse numbers that cannot be squared."""
    values = table.values[:, np.array(is_number)]
    names = [name for name, own in zip(table.names, is_number, strict=True) if own]
    if names and (error := about_size(values, names, least=least, most=most)):
        raise error


def _refuse_labels(table: Table, kinds: Sequence[str]) -> None:
    for kind in ("identifier", "date"):
        which = [name for name, own in zip(table.names, kinds, strict=True) if own == kind]
        if which:
            raise InputError("columns_without_kind", columns=which, is_date=kind == "date")


def _check_levels(
    names: Sequence[str],
    kinds: Sequence[str],
    levels: Sequence[tuple[Level, ...] | None],
    columns: Sequence[FloatArray],
    varies: BoolArray,
) -> None:
    """Refuse columns with one value or too many levels, and warn of levels with few rows."""
    n_rows = len(columns[0])
    if flat := [name for name, has_spread in zip(names, varies, strict=True) if not has_spread]:
        raise InputError("constant_columns", columns=flat)
    rare = []
    for name, kind, own, column in zip(names, kinds, levels, columns, strict=True):
        if kind != "nominal" or own is None:
            continue
        if 2 * len(own) > n_rows:
            raise InputError("too_many_levels_mixed", name=name, n_own=len(own), n_rows=n_rows)
        few = np.flatnonzero(np.bincount(column.astype(np.int64)) < ROWS_PER_ANSWER)
        rare += [f"'{own[code]}' of '{name}'" for code in few.tolist()]
    if rare:
        warnings.warn(DataWarning("rare_levels", levels=rare, least=ROWS_PER_ANSWER), stacklevel=4)


def code_new_rows(
    table: Table,
    names: Sequence[str],
    kinds: Sequence[str],
    levels: Sequence[tuple[Level, ...] | None],
) -> FloatArray:
    """Code rows as those of a `MixedTable` that was read before; NaN where a value is missing.

    Parameters
    ----------
    table : Table
    names, kinds, levels : sequence
        Of the table that was read before.

    Returns
    -------
    ndarray of shape (n, p)
    """
    values = np.array(table.values)
    for k, (name, kind, own) in enumerate(zip(names, kinds, levels, strict=True)):
        is_there = ~table.missing[:, k]
        if own is None and table.levels[k] is not None:
            raise InputError("text_for_fitted_kind", name=name, kind=kind)
        if own is None or not is_there.any():
            continue
        found, codes = code_column(values[is_there, k], table.kinds[k], table.levels[k])
        place = {level: float(code) for code, level in enumerate(own)}
        seen = [found[code] for code in np.unique(codes).tolist()]
        if unknown := [str(level) for level in seen if level not in place]:
            raise InputError(
                "unknown_level_mixed", name=name, unknown=unknown, own=[str(level) for level in own]
            )
        lookup = np.array([place.get(level, np.nan) for level in found])
        values[is_there, k] = lookup[codes]
    return values
