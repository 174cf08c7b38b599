"""Neighbours and groups of columns, as ``--grid`` and ``--groups`` name them."""

from __future__ import annotations

import csv
import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.prepare import did_you_mean

_WHOLE: Final = re.compile(r"\d+")
_SIZES: Final = re.compile(r"\d+(?:[xX]\d+){1,2}")
#: Neighbourhoods that need no sizes.
SHAPES: Final = ("chain", "ring")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Value of ``--grid``: sizes, ``chain``, ``ring`` or a file of pairs."""

    value: str | Path

    def neighbors(self, names: Sequence[str], table: str) -> Neighborhood:
        """Apply to the columns of a table."""
        if isinstance(self.value, Path):
            return _read_pairs(self.value, names, table)
        if self.value in SHAPES:
            if self.value == "ring" and len(names) < 3:
                raise InputError("ring_too_short", table=table, n_names=len(names))
            return Neighborhood(neighbors=self.value)
        shape = tuple(int(size) for size in _WHOLE.findall(self.value))
        if math.prod(shape) != len(names):
            raise InputError(
                "grid_size_mismatch",
                value=self.value,
                n_sites=math.prod(shape),
                table=table,
                n_names=len(names),
            )
        return Neighborhood(neighbors=shape)


@dataclass(frozen=True, kw_only=True)
class Neighborhood:
    """Which columns are neighbours, as `LocallyConstantGraph` takes it, and for the record.

    Attributes
    ----------
    neighbors : {"chain", "ring"}, tuple of int or list of [int, int]
    fingerprint : dict
        Which file the pairs came from, if any.
    notes : tuple of str
        What was assumed in reading it.
    """

    neighbors: Any
    fingerprint: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()


def chosen_place(grid: str | None) -> Place | None:
    """Read the value of ``--grid``; text that is neither sizes nor a shape names a file."""
    if grid is None:
        return None
    if grid in SHAPES or _SIZES.fullmatch(grid):
        return Place(value=grid)
    if not Path(grid).suffix and not Path(grid).exists():
        raise InputError("grid_syntax", grid=grid)
    return Place(value=Path(grid))


def _read_pairs(path: Path, names: Sequence[str], table: str) -> Neighborhood:
    """Read two columns of names, or of numbers that start at 0, with or without a header."""
    rows = list(_rows(path))
    for line, row in rows:
        if len(row) != 2:
            raise InputError("pairs_file_fields", line=line, path=path, n_row=len(row))
    notes: tuple[str, ...] = ()
    # A header has nothing in common with the pairs below it; a slip of the pen has.
    if rows and not any(cell in names or _WHOLE.fullmatch(cell) for cell in rows[0][1]):
        notes = (f"the first line of {path} was read as a header: {', '.join(rows[0][1])}",)
        rows = rows[1:]
    if not rows:
        raise InputError("pairs_file_empty", path=path)
    number = _numbers(path, rows, names, table)
    lines: dict[tuple[int, int], int] = {}
    for line, row in rows:
        first, second = sorted(number[cell] for cell in row)
        if first == second:
            raise InputError("pairs_file_self", line=line, path=path, row=row[0])
        if (before := lines.setdefault((first, second), line)) != line:
            raise InputError(
                "pairs_file_repeated", before=before, line=line, path=path, row=row[0], row2=row[1]
            )
    fingerprint = {
        "file": str(path),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "n_pairs": len(lines),
    }
    return Neighborhood(
        neighbors=[list(pair) for pair in lines], fingerprint=fingerprint, notes=notes
    )


def read_groups(path: Path, names: Sequence[str], table: str) -> tuple[list[str], tuple[str, ...]]:
    """Read a column and its group per line; return the group of each column, and notes."""
    rows = list(_rows(path))
    notes: tuple[str, ...] = ()
    if rows and rows[0][1][0] not in names:
        notes = (f"the first line of {path} was read as a header: {', '.join(rows[0][1])}",)
        rows = rows[1:]
    found: dict[str, str] = {}
    for line, row in rows:
        if len(row) != 2 or not row[1]:
            raise InputError("group_file_fields", line=line, path=path)
        if row[0] not in names:
            raise InputError(
                "unknown_column_in_groups",
                line=line,
                path=path,
                row=row[0],
                table=table,
                did_you_mean=did_you_mean(row[0], names),
            )
        if found.setdefault(row[0], row[1]) != row[1]:
            raise InputError("group_file_repeated", line=line, path=path, row=row[0])
    if left := [name for name in names if name not in found]:
        raise InputError("group_file_incomplete", path=path, left=left[0], table=table)
    return [found[name] for name in names], notes


def _numbers(
    path: Path, rows: Sequence[tuple[int, list[str]]], names: Sequence[str], table: str
) -> dict[str, int]:
    """Find the column that each cell stands for: by name, unless all cells are numbers."""
    cells = [(line, cell) for line, row in rows for cell in row]
    number = {name: k for k, name in enumerate(names)}
    unknown = [(line, cell) for line, cell in cells if cell not in number]
    if not unknown:
        return number
    others = [(line, cell) for line, cell in cells if not _WHOLE.fullmatch(cell)]
    if others:
        # Where not one cell is a name, numbers were meant, and the others are the odd ones.
        line, cell = unknown[0] if len(unknown) < len(cells) else others[0]
        raise InputError(
            "unknown_column_in_file",
            line=line,
            path=path,
            cell=cell,
            table=table,
            did_you_mean=did_you_mean(cell, names),
        )
    for line, cell in cells:
        if int(cell) >= len(names):
            raise InputError(
                "column_number_out_of_range",
                line=line,
                path=path,
                cell=cell,
                n_names=len(names),
                table=table,
                n_names2=len(names) - 1,
            )
    return {cell: int(cell) for _, cell in cells}


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line that is not blank, and its fields."""
    if not path.is_file():
        raise InputError("no_such_pairs_file", path=path)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError("pairs_file_encoding", path=path) from error
    first = next((line for line in lines if line.strip()), "")
    delimiter = next((mark for mark in "\t;," if mark in first), ",")
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise InputError("pairs_file_unparsable", path=path, error=error) from error
