"""Preview of the first rows of a file."""

from __future__ import annotations

import codecs
import csv
from pathlib import Path
from typing import Final, NamedTuple

from edgewise.io.extent import is_empty
from edgewise.io.text import DELIMITERS

#: Rows and columns that are shown, letters of a cell, and bytes of a text file that are read.
ROWS, COLUMNS, LETTERS, BYTES = 12, 60, 60, 2**16
SPREADSHEETS: Final = (".xlsx", ".xlsm", ".xls", ".ods")
TEXT: Final = (".csv", ".tsv", ".txt")


class Preview(NamedTuple):
    """The first rows of a file.

    Attributes
    ----------
    rows : list of list of str
        Cells as they stand in the file, those of blank lines too; none for formats that have
        nothing but a table.
    sheets : tuple of str
        Sheets of a spreadsheet.
    """

    rows: list[list[str]]
    sheets: tuple[str, ...] = ()


def preview_table(file: Path, *, sheet: str | None = None, encoding: str | None = None) -> Preview:
    r"""Read the first rows of a text file or a spreadsheet as they stand.

    Parameters
    ----------
    file : path
    sheet : str, optional
        Sheet of a spreadsheet; the first unless named.
    encoding : str, optional
        Encoding of a text file; utf-8, else cp1252, unless named.

    Returns
    -------
    Preview

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "register.csv"
    ...     _ = file.write_text("Ward 3\n\nage;weight\n42;71,5\n")
    ...     preview_table(file).rows
    [['Ward 3'], [], ['age', 'weight'], ['42', '71,5']]
    """
    suffix = file.suffix.lower()
    if suffix in SPREADSHEETS:
        return _of_sheet(file, sheet)
    return Preview(_of_text(file, encoding) if suffix in TEXT else [])


def _of_sheet(file: Path, sheet: str | None) -> Preview:
    import pandas as pd

    with pd.ExcelFile(file) as book:
        names = tuple(str(name) for name in book.sheet_names)
        frame = pd.read_excel(
            book,
            sheet_name=sheet if sheet in names else names[0],
            header=None,
            dtype=object,
            na_filter=False,
            nrows=ROWS,
        )
    cells = [["" if is_empty(cell) else str(cell) for cell in row] for row in frame.to_numpy()]
    return Preview(_cut(cells), names)


def _of_text(file: Path, encoding: str | None) -> list[list[str]]:
    with file.open("rb") as handle:
        head = handle.read(BYTES)
    lines = _decoded(head, encoding).splitlines()[:ROWS]
    delimiter = max(DELIMITERS, key=lambda mark: sum(line.count(mark) for line in lines))
    return _cut(list(csv.reader(lines, delimiter=delimiter)))


def _decoded(head: bytes, encoding: str | None) -> str:
    if encoding is None and head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encoding = "utf-16"
    # The last letter may be cut in two.
    for name in [encoding] if encoding else ["utf-8-sig", "cp1252"]:
        try:
            return codecs.getincrementaldecoder(name)("strict").decode(head)
        except (UnicodeDecodeError, LookupError):
            continue
    return head.decode("latin-1")


def _cut(rows: list[list[str]]) -> list[list[str]]:
    return [[cell[:LETTERS] for cell in row[:COLUMNS]] for row in rows]
