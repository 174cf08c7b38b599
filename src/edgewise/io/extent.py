"""Detection of the table within the rows of a sheet or a text file.

Exports of hospitals and laboratories have titles and groups above the names of the columns, units
below them, and sums and footnotes below the values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Real
from typing import Any, Final, NamedTuple

#: The names stand in one of so many rows, and a table ends so many rows before the last at most.
ROWS_ABOVE: Final = 30
ROWS_BELOW: Final = 15
#: A number as people write it, also with a percent sign or as a limit: 1,234.5, 12 %, <0,5.
_NUMBER: Final = re.compile(
    r"[<>\u2264\u2265]?\s*=?\s*[+\-\u2212]?(\d[\d.,'\u2019\u00a0\u202f ]*|[.,]\d+)"
    r"([eE][+-]?\d+)?\s*%?"
)
#: What a missing value is called in many programs.
_NOTHING: Final = re.compile(
    r"[-.?/*]*|n/?a|na?n|null|none|missing|unknown|unbekannt|fehlt|k\.? ?a\.?|n\.? ?[abd]\.?",
    re.IGNORECASE,
)
#: What rows of sums are called.
_SUMS: Final = re.compile(
    r"(sub|grand )?totals?|sums?|(gesamt)?summe|(ins)?gesamt|means?|averages?|avg|median|mittel"
    r"(wert)?|durchschnitt|mw|std?\.?( ?dev\.?)?|standard ?deviation|standardabweichung|stabw|"
    r"min(imum)?|max(imum)?|count|anzahl|n|somme|moyenne|[ée]cart[- ]type|totale?|media|suma|"
    r"promedio|totaal|gemiddelde|som",
    re.IGNORECASE,
)
#: What may follow such a word: how many rows there are, or what else is in the row.
_AFTER_SUMS: Final = re.compile(
    r"[ :,;(]*(n\s*[=:]\s*\d+|(\+/?-|\u00b1)\s*s\.?[de]\.?m?)?[ :.=)]*$", re.IGNORECASE
)


class Extent(NamedTuple):
    """What stands above, in and below a table.

    Attributes
    ----------
    header : int
        The row of the names; -1 where there is none.
    names : tuple of str
        Names of the columns, "" where there is none.
    first : int
        The first row of values.
    notes : tuple of str
        What was passed over above the values.
    """

    header: int
    names: tuple[str, ...]
    first: int
    notes: tuple[str, ...] = ()


def is_empty(cell: Any) -> bool:
    """Whether nothing stands in a cell."""
    return cell is None or cell != cell or (isinstance(cell, str) and not cell.strip())


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return bool(_NUMBER.fullmatch(cell.strip()))
    return isinstance(cell, Real) and not isinstance(cell, bool)


def _is_word(cell: Any) -> bool:
    return isinstance(cell, str) and not is_empty(cell) and not _is_number(cell)


def _filled(row: Sequence[Any]) -> list[int]:
    return [k for k, cell in enumerate(row) if not is_empty(cell)]


def find_extent(rows: Sequence[Sequence[Any]], where: str = "line") -> Extent | None:
    """Find names and first values in the first rows; None where no row holds only names.

    The first row is taken, unless it lacks a name, has one twice, or is narrower than the table.

    Parameters
    ----------
    rows : sequence of sequences
        Cells of the first rows, of text or of any type; those of a row that is cut short are
        empty.
    where : str
        What notes call a row.

    Examples
    --------
    >>> find_extent([["Study 7", ""], ["", ""], ["CRP", "Hb"], ["mg/l", "g/dl"], [5, 12], [7, 13]])
    ... # doctest: +NORMALIZE_WHITESPACE
    Extent(header=2, names=('CRP', 'Hb'), first=4, notes=('The names of the columns were read from
    line 3; what stands above was left out.', "Line 4 holds units ('mg/l'), which were left out."))
    """
    width = max((1 + max(_filled(row), default=-1) for row in rows), default=0)
    widths = [len(_filled(row)) for row in rows]
    for header, row in enumerate(rows[:ROWS_ABOVE]):
        above = rows[header - 1] if header else []
        if header and _is_values(row, width):
            break
        names = _names(row, above, width)
        below = rows[header + 1 :]
        if header == 0 and not _is_plain(row, width, widths, below):
            continue
        if names is None:
            continue
        first = header + 1
        notes: tuple[str, ...] = ()
        if header:
            note = f"The names of the columns were read from {where} {header + 1}"
            notes = (f"{note}; what stands above was left out.",)
        if units := _units(below):
            first += 1
            line = f"{where} {header + 2}".capitalize()
            notes += (f"{line} holds units ({units!r}), which were left out.",)
        return Extent(header, names, first, notes)
    return None


def _is_values(row: Sequence[Any], width: int) -> bool:
    """Whether a row holds values rather than names: numbers, and most of its cells filled."""
    filled = _filled(row)
    return 2 * len(filled) > width and sum(_is_number(row[k]) for k in filled) > 1


def _is_plain(
    row: Sequence[Any], width: int, widths: Sequence[int], below: Sequence[Sequence[Any]]
) -> bool:
    """Whether the first row holds the names, rather than a title or groups of columns."""
    filled = _filled(row)
    names = [str(row[k]).strip() for k in filled]
    is_narrow = 2 * len(filled) <= width and max(widths[1:], default=0) > len(filled)
    if not filled or is_narrow or len(set(names)) < len(names):
        return False
    if len(filled) == width:
        return True
    # Names of rows have none themselves; else a group stands above each name that is missing.
    lacking = [k for k in range(width) if k not in filled]
    is_named_below = bool(below) and all(
        k < len(below[0]) and _is_word(below[0][k]) for k in lacking
    )
    return not (is_named_below and _numeric(below[1:]))


def _names(row: Sequence[Any], above: Sequence[Any], width: int) -> tuple[str, ...] | None:
    """Names in a row: its own, or of a cell that was merged with that above; None if not whole.

    Repeated names are prefixed by the group above them.
    """
    cells = [*row, *[""] * (width - len(row))]
    over = [*above, *[""] * (width - len(above))]
    own = ["" if is_empty(cell) else str(cell).strip() for cell in cells]
    if not above:
        return tuple(own)
    tops = ["" if is_empty(cell) else str(cell).strip() for cell in over]
    group, groups = "", []
    for top in tops:
        group = top or group
        groups.append(group)
    names = [name or top for name, top in zip(own, tops, strict=True)]
    names = [
        f"{group} {name}" if names.count(name) > 1 and group and own[k] else name
        for k, (name, group) in enumerate(zip(names, groups, strict=True))
    ]
    is_whole = all(names) or (all(names[1:]) and width > 1)
    is_text = all(_is_word(name) for name in names if name)
    return tuple(names) if is_whole and is_text and len(set(names)) == width > 1 else None


def _numeric(rows: Sequence[Sequence[Any]]) -> list[int]:
    """Columns with nothing but numbers, in two rows at least."""
    width = max(map(len, rows), default=0)
    found = []
    for k in range(width):
        cells = [row[k] for row in rows if k < len(row) and not _is_missing(row[k])]
        if len(cells) > 1 and all(map(_is_number, cells)):
            found.append(k)
    return found


def _is_missing(cell: Any) -> bool:
    return is_empty(cell) or (isinstance(cell, str) and bool(_NOTHING.fullmatch(cell.strip())))


def _units(below: Sequence[Sequence[Any]]) -> str:
    """Return a unit of the first row below the names, where that holds units and no values."""
    if not below or any(_is_number(cell) for cell in below[0]):
        return ""
    columns = _numeric(below[1:])
    row = [*below[0], *[""] * (max(columns, default=0) + 1 - len(below[0]))]
    units = [str(row[k]).strip() for k in columns if not _is_missing(row[k])]
    return units[0] if units and 2 * len(units) >= len(columns) else ""


def rows_below(last: Sequence[Sequence[Any]], n_columns: int) -> tuple[int, tuple[str, ...]]:
    """Count the rows at the end that are none of the table, and say what they are.

    Parameters
    ----------
    last : sequence of sequences
        The last rows.
    n_columns : int
        Columns of the table.

    Examples
    --------
    >>> rows_below([["a", 1, 2], ["b", 3, 4], ["Mean", 2, 3], ["", "", ""], ["* fasted", "", ""]],
    ...            3)
    (3, ("The last rows were left out: 'Mean' and '* fasted'.",))
    """
    n_below, labels = 0, list[str]()
    for row in reversed(last):
        filled = _filled(row)
        label = str(row[filled[0]]).strip() if filled else ""
        is_sum = len(filled) > 1 and bool(_SUMS.fullmatch(_AFTER_SUMS.sub("", label)))
        is_sum = is_sum and all(_is_number(row[k]) for k in filled[1:])
        is_note = len(filled) == 1 and n_columns > 2 and _is_word(label) and " " in label
        # A quoted nothing alone in its line is no empty row.
        if (filled and not (is_sum or is_note)) or (not filled and len(row) < 2):
            break
        n_below += 1
        labels += [label] if label else []
    if not labels:
        return n_below, ()
    shown = [f"'{label if len(label) < 40 else label[:37] + '...'}'" for label in labels[::-1]]
    text = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    what = "row was" if len(shown) == 1 else "rows were"
    return n_below, (f"The last {what} left out: {text}.",)
