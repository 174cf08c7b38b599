"""Reading the table of a spreadsheet: which sheet, which rows, and what merged cells hold."""

from __future__ import annotations

import importlib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from edgewise._core.errors import InputError
from edgewise.io.extent import ROWS_BELOW, Extent, find_extent, is_empty, rows_below
from edgewise.io.text import MISSING_WORDS, ReadOptions

if TYPE_CHECKING:
    import pandas as pd

#: Rows by which the columns of a sheet are found.
ROWS_LOOKED_AT: Final = 200

Cells = list[list[Any]]


class Frame(NamedTuple):
    """A data frame, with what was assumed in reading it, and labels as in `RawTable`."""

    values: pd.DataFrame
    notes: tuple[str, ...] = ()
    labels: Mapping[str, str] = {}
    value_labels: Mapping[str, Mapping[float, str]] = {}


class _Sheet(NamedTuple):
    """A sheet, with what stands around its table; no extent where none was found."""

    name: str
    cells: Cells
    extent: Extent | None

    @property
    def is_table(self) -> bool:
        """Whether columns of numbers stand below names, or many rows below several names."""
        if self.extent is None or len(self.extent.names) < 2:
            return False
        rows = self.cells[self.extent.first :]
        n_numbers = sum(isinstance(cell, (int, float)) and cell == cell for r in rows for cell in r)
        return len(rows) > 1 and (n_numbers >= len(rows) or len(self.extent.names) * len(rows) > 60)


def read_sheet(file: Path, options: ReadOptions) -> Frame:
    """Read the named sheet of a spreadsheet, or the first that holds a table."""
    import pandas as pd

    with pd.ExcelFile(file) as book:
        names = [str(name) for name in book.sheet_names]
        if options.sheet is not None and options.sheet not in names:
            raise InputError("no_such_sheet", "sheet", file=file, sheet=options.sheet, names=names)

        def read(name: str) -> _Sheet:
            frame = pd.read_excel(book, sheet_name=name, header=None, dtype=object, na_filter=False)
            cells = frame.to_numpy(dtype=object).tolist()
            return _Sheet(name, cells, _extent(file, cells, options.header))

        chosen = read(options.sheet or names[0])
        notes: tuple[str, ...] = ()
        if options.sheet is None and len(names) > 1:
            notes = (
                f"The first of {len(names)} sheets was read, '{names[0]}'; pass sheet for another.",
            )
            others = [] if chosen.is_table else names[1:]
            found = next((one for one in map(read, others) if one.is_table), None)
            if found is not None:
                why = f"since '{chosen.name}', the first, has no table"
                notes = (f"The sheet '{found.name}' was read, {why}; pass sheet for another.",)
                chosen = found
    is_lost = options.sheet is None and len(names) > 1 and not chosen.is_table
    if is_lost and options.header is None:
        raise InputError("no_table_in_sheets", file=file, names=names)
    if chosen.extent is None:
        raise InputError("no_header_in_sheet", name=chosen.name, file=file)
    merged = _unmerged(file, chosen)
    frame, below = _framed(chosen)
    return Frame(frame, (*notes, *chosen.extent.notes, *merged, *below))


def _extent(file: Path, cells: Cells, header: int | None) -> Extent | None:
    if header is None:
        return find_extent(cells[:ROWS_LOOKED_AT], "row")
    if header == 0:
        width = max(map(len, cells), default=0)
        return Extent(-1, tuple(f"column{k}" for k in range(1, width + 1)), 0)
    if header > len(cells) or all(map(is_empty, cells[header - 1])):
        raise InputError("header_row_empty", "header", header=header, file=file)
    row = cells[header - 1]
    names = tuple("" if is_empty(cell) else str(cell).strip() for cell in row)
    return Extent(header - 1, names, header)


def _unmerged(file: Path, sheet: _Sheet) -> tuple[str, ...]:
    """Give every row of a merged cell its value, below the names."""
    if file.suffix.lower() == ".ods" or sheet.extent is None:
        return ()
    with zipfile.ZipFile(file) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/")]
        if not any(b"<mergeCell " in archive.read(name) for name in sheets):
            return ()
    openpyxl: Any = importlib.import_module("openpyxl")

    # pandas reads a sheet row by row, which does not tell of merged cells.
    ranges = openpyxl.load_workbook(file, data_only=True)[sheet.name].merged_cells.ranges
    n_filled = 0
    for one in ranges:
        first, last = one.min_row - 1, min(one.max_row, len(sheet.cells)) - 1
        if first < sheet.extent.first or last == first:
            continue
        column = one.min_col - 1
        for row in range(first + 1, last + 1):
            sheet.cells[row][column] = sheet.cells[first][column]
            n_filled += 1
    if not n_filled:
        return ()
    return (f"Cells that are merged over several rows count for each of them ({n_filled} filled).",)


def _framed(sheet: _Sheet) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Turn the rows of a table into columns of numbers and text."""
    parsers: Any = importlib.import_module("pandas.io.parsers")

    assert sheet.extent is not None
    names, rows = [*sheet.extent.names], sheet.cells[sheet.extent.first :]
    n_below, notes = rows_below(rows[-ROWS_BELOW:], len(names))
    rows = rows[: len(rows) - n_below]
    width = max(len(names), *(len(row) for row in rows)) if rows else len(names)
    names += [""] * (width - len(names))
    used = [k for k in range(width) if any(k < len(row) and not is_empty(row[k]) for row in rows)]
    kept = [k for k in range(width) if names[k] or k in used]
    for k in kept:
        if not names[k]:
            names[k] = f"column{k + 1}"
            notes = (*notes, f"Column {_letters(k)} has no name and is called '{names[k]}'.")
    is_blank = [all(map(is_empty, row)) for row in rows]
    rows = [row for row, blank in zip(rows, is_blank, strict=True) if not blank]
    if any(is_blank):
        notes = (*notes, f"{sum(is_blank)} empty rows were left out.")
    parser = parsers.TextParser(
        [[row[k] if k < len(row) else "" for k in kept] for row in rows],
        header=None,
        names=[names[k] for k in kept],
        index_col=False,
        keep_default_na=False,
        na_values=[*MISSING_WORDS],
    )
    frame: pd.DataFrame = parser.read()
    return frame, notes


def _letters(column: int) -> str:
    """Name a column as a spreadsheet does.

    Examples
    --------
    >>> _letters(0), _letters(27)
    ('A', 'AB')
    """
    before = _letters(column // 26 - 1) if column > 25 else ""
    return f"{before}{chr(ord('A') + column % 26)}"
