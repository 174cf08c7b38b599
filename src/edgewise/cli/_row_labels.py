"""Columns that number or name the rows instead of measuring anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from edgewise._core.typing import AnyArray
    from edgewise.io import RawTable

#: What the column of row labels is called.
_WORDS: Final = re.compile(
    r"(.*[ _.-])?(id|index|key|uuid|row ?names?)|unnamed: 0|row"
    r"|(subject|sample|patient|participant|respondent|case|record|observation)s?",
    re.IGNORECASE,
)
_CAMEL_CASE: Final = re.compile(r".*[a-z]I[Dd]")


def read_without_row_labels(path: Path, *mentioned: str | Sequence[str] | None) -> RawTable:
    """Read a table; leave out and note a first column that only labels the rows.

    Such a column is called ``id``, ``subject`` and the like, and holds text or integers that
    differ from row to row.

    Parameters
    ----------
    path : path
        The file.
    *mentioned : str, sequence of str or None
        What options say about columns. One that they name is left to them.
    """
    from edgewise.io import read_table

    raw = read_table(path)
    name, column = raw.names[0], raw.columns[0]
    named = {
        part.strip()
        for given in mentioned
        for text in ([given] if isinstance(given, str) else given or ())
        for part in (text, *text.split(","))
    }
    if name in named or len(raw.names) < 2 or not _is_called_label(name) or not _labels(column):
        return raw
    note = f"column '{name}' labels the rows, so it was left out; --columns can ask for it by name"
    return replace(raw, names=raw.names[1:], columns=raw.columns[1:], notes=(*raw.notes, note))


def _is_called_label(name: str) -> bool:
    return bool(_WORDS.fullmatch(name) or _CAMEL_CASE.fullmatch(name))


def _labels(column: AnyArray) -> bool:
    """Whether a column holds text or integers, another one in every row."""
    is_text = column.dtype.kind == "O" and all(isinstance(value, str) for value in column)
    if not is_text and column.dtype.kind not in "iu":
        return False
    return len(column) > 1 and len(set(column.tolist())) == len(column)
