"""Levels of text columns: spellings of one level, and the order that levels have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError

if TYPE_CHECKING:
    from edgewise.io import RawTable

#: A column of more levels, or of fewer rows for each, is one of labels or of free text.
MOST_LEVELS, ROWS_PER_LEVEL = 20, 5
#: Grades and stages: a Roman numeral, and a letter for what is between.
_ROMAN: Final = re.compile(r"(I{1,3}|IV|VI{0,3}|IX|X)([a-d]?)", re.IGNORECASE)
#: Grades and stages that are numbered behind a letter or a word: T1, pN2b, Grade 2.
_NUMBERED: Final = re.compile(
    r"([cpy]{0,2}[tnmgf]|grade|grad|stage|stadium|level|cin|nyha|asa|ecog|ccs|gleason)[ .-]?"
    r"(\d{1,2})([a-d]?)",
    re.IGNORECASE,
)
#: Classes that are counted: 1st, 2nd.
_COUNTED: Final = re.compile(r"(\d{1,2})(st|nd|rd|th)", re.IGNORECASE)
_NUMERALS: Final = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")


def split_orders(texts: Sequence[str]) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Take the orders of levels out of what ``--kinds`` says; also return the rest.

    Examples
    --------
    >>> split_orders(["stage=I<II<III,sex=nominal"])
    ({'stage': ('I', 'II', 'III')}, ['sex=nominal'])
    """
    parts: list[str] = []
    for text in texts:
        for piece in text.split(","):
            # A level may hold a comma.
            if "=" not in piece and parts and "<" in parts[-1]:
                parts[-1] += f",{piece}"
            else:
                parts.append(piece)
    orders: dict[str, tuple[str, ...]] = {}
    rest = []
    for part in parts:
        name, sign, levels = part.partition("=")
        if "<" in levels and sign:
            orders[name.strip()] = tuple(level.strip() for level in levels.split("<"))
        else:
            rest.append(part)
    return orders, rest


def _words(column: Any) -> list[str] | None:
    """Text of a column of text; None for other columns."""
    if column.dtype.kind != "O":
        return None
    words = [value for value in column.tolist() if value is not None]
    return words if words and all(isinstance(word, str) for word in words) else None


def with_one_spelling(raw: RawTable, kept: Sequence[str]) -> RawTable:
    """Read levels as one that differ by capitals or blanks only, on record.

    Columns that are ``kept`` stay as they are, and so do those of which nothing else would be
    left, such as genotypes.
    """
    import numpy as np

    columns, notes = list(raw.columns), []
    for k, name in enumerate(raw.names):
        words = None if name in kept else _words(columns[k])
        counts = Counter(words or ())
        if not 1 < len(counts) <= min(MOST_LEVELS, raw.n_rows // ROWS_PER_LEVEL):
            continue
        common = dict[str, str]()
        for word, _ in counts.most_common():
            common.setdefault(" ".join(word.casefold().split()), word)
        if not 1 < len(common) < len(counts):
            continue
        spelled = {word: common[" ".join(word.casefold().split())] for word in counts}
        changed = ", ".join(f"'{a}' as '{b}'" for a, b in sorted(spelled.items()) if a != b)
        columns[k] = np.array([spelled.get(word) for word in columns[k].tolist()], dtype=object)
        notes.append(f"levels of '{name}' of several spellings were read as one: {changed}")
    return replace(raw, columns=tuple(columns), notes=(*raw.notes, *notes))


def with_orders(
    raw: RawTable, names: Sequence[str], orders: Mapping[str, Sequence[str]], kept: Sequence[str]
) -> tuple[RawTable, tuple[str, ...]]:
    """Give numbers to levels of text that have an order; also return which columns these are.

    Stages and grades (I to IV, T1 to T4) have one by themselves, unless their column is ``kept``.
    """
    import numpy as np

    columns, notes, labels = list(raw.columns), list[str](), dict(raw.value_labels)
    ordered = []
    for k, name in enumerate(raw.names):
        if name not in names:
            continue
        words = _words(columns[k])
        order = orders.get(name) or (() if name in kept else _natural_order(words or ()))
        if name in orders and (words is None or {*words} - {*order}):
            raise InputError(_about_order(name, words, order))
        if not order:
            continue
        codes = {level: float(code) for code, level in enumerate(order, 1)}
        columns[k] = np.array([codes.get(word, np.nan) for word in columns[k].tolist()])
        labels[name] = {code: level for level, code in codes.items()}
        ordered.append(name)
        if name not in orders:
            notes.append(
                f"levels of '{name}' have the order {' < '.join(order)}; --kinds "
                f"'{name}={'<'.join(order[::-1])}' gives another"
            )
    table = replace(raw, columns=tuple(columns), value_labels=labels, notes=(*raw.notes, *notes))
    return table, tuple(ordered)


def _natural_order(words: Sequence[str]) -> tuple[str, ...]:
    """Order three or more levels that are Roman numerals, counted, or numbered behind a word.

    Examples
    --------
    >>> _natural_order(["IV", "II", "I"]), _natural_order(["T3", "T1", "T2a"])
    (('I', 'II', 'IV'), ('T1', 'T2a', 'T3'))
    """
    places: dict[str, tuple[str, int, str]] = {}
    for word in words:
        if roman := _ROMAN.fullmatch(word):
            places[word] = ("", _NUMERALS.index(roman[1].lower()), roman[2].lower())
        elif numbered := _NUMBERED.fullmatch(word):
            places[word] = (numbered[1].lower(), int(numbered[2]), numbered[3].lower())
        elif counted := _COUNTED.fullmatch(word):
            places[word] = ("", int(counted[1]), "")
        else:
            return ()
    if len(places) < 3 or len({head for head, _, _ in places.values()}) > 1:
        return ()
    return tuple(sorted(places, key=places.__getitem__))


def _about_order(name: str, words: Sequence[str] | None, order: Sequence[str]) -> str:
    from edgewise.io import quote_names

    if words is None:
        return f"--kinds puts levels of '{name}' in order, which holds no text. Leave it out."
    others = sorted({*words} - {*order})
    return (
        f"--kinds puts levels of '{name}' in order, and {quote_names(others)} "
        f"{'is' if len(others) == 1 else 'are'} not among them. Name all: "
        f"{quote_names(sorted({*words}))}."
    )
