"""Where the columns of a table sit, and which belong together, as options tell it."""

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


@dataclass(frozen=True, kw_only=True)
class Place:
    """The one option that says where the columns sit, and what came with it."""

    option: str
    value: str | Path | None = None

    def neighbors(self, names: Sequence[str], table: str) -> Neighborhood:
        """Apply to the columns of a table."""
        if isinstance(self.value, Path):
            return _read_pairs(self.value, names, table)
        if self.value is None:
            if self.option == "--ring" and len(names) < 3:
                raise InputError(
                    f"A ring has at least 3 sites, and {table} has {len(names)} columns. "
                    "Use --chain."
                )
            return Neighborhood(neighbors=self.option.removeprefix("--"))
        shape = tuple(int(size) for size in _WHOLE.findall(self.value))
        if math.prod(shape) != len(names):
            raise InputError(
                f"--grid {self.value} has {math.prod(shape)} sites, and {table} has {len(names)} "
                "columns to put there. Leave other columns out with --drop; where the grid has "
                "holes, list the neighbours with --pairs."
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


def chosen_place(*, grid: str | None, ring: bool, chain: bool, pairs: Path | None) -> Place | None:
    """Find the one option that was given; None where there was none."""
    places = [
        *([Place(option="--grid", value=grid)] if grid is not None else []),
        *([Place(option="--ring")] if ring else []),
        *([Place(option="--chain")] if chain else []),
        *([Place(option="--pairs", value=pairs)] if pairs is not None else []),
    ]
    if len(places) > 1:
        *others, last = (place.option for place in places)
        raise InputError(
            f"{', '.join(others)} and {last} each say where the columns sit. Give one of them."
        )
    if grid is not None and not _SIZES.fullmatch(grid):
        raise InputError(f"--grid takes two or three sizes, as in 8x8 or 4x5x6; got '{grid}'.")
    return places[0] if places else None


def _read_pairs(path: Path, names: Sequence[str], table: str) -> Neighborhood:
    """Read two columns of names, or of numbers that start at 0, with or without a header."""
    rows = list(_rows(path))
    for line, row in rows:
        if len(row) != 2:
            raise InputError(
                f"Line {line} of {path} has {len(row)} {'field' if len(row) == 1 else 'fields'}; "
                "a pair of neighbours has 2."
            )
    notes: tuple[str, ...] = ()
    # A header has nothing in common with the pairs below it; a slip of the pen has.
    if rows and not any(cell in names or _WHOLE.fullmatch(cell) for cell in rows[0][1]):
        notes = (f"the first line of {path} was taken for a header: {', '.join(rows[0][1])}",)
        rows = rows[1:]
    if not rows:
        raise InputError(f"{path} lists no pairs. Give two columns per line, as in 'a,b'.")
    number = _numbers(path, rows, names, table)
    lines: dict[tuple[int, int], int] = {}
    for line, row in rows:
        first, second = sorted(number[cell] for cell in row)
        if first == second:
            raise InputError(f"Line {line} of {path} joins '{row[0]}' to itself. Leave it out.")
        if (before := lines.setdefault((first, second), line)) != line:
            raise InputError(
                f"Lines {before} and {line} of {path} hold the same pair, '{row[0]}' and "
                f"'{row[1]}'. Leave one of them out."
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
        notes = (f"the first line of {path} was taken for a header: {', '.join(rows[0][1])}",)
        rows = rows[1:]
    found: dict[str, str] = {}
    for line, row in rows:
        if len(row) != 2 or not row[1]:
            raise InputError(
                f"Line {line} of {path} is not a column and its group, as in 'a,mood'."
            )
        if row[0] not in names:
            raise InputError(
                f"Line {line} of {path} says '{row[0]}', which is no column of {table}. "
                f"{did_you_mean(row[0], names)}"
            )
        if found.setdefault(row[0], row[1]) != row[1]:
            raise InputError(f"Line {line} of {path} puts '{row[0]}' into a second group.")
    if left := [name for name in names if name not in found]:
        raise InputError(
            f"{path} has no group for column '{left[0]}' of {table}. Give each column one, or "
            "leave it out with --drop."
        )
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
            f"Line {line} of {path} says '{cell}', which is no column of {table}. "
            f"{did_you_mean(cell, names)}"
        )
    for line, cell in cells:
        if int(cell) >= len(names):
            raise InputError(
                f"Line {line} of {path} says {cell}, and the {len(names)} columns of {table} "
                f"are numbered 0 to {len(names) - 1}."
            )
    return {cell: int(cell) for _, cell in cells}


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of each line that is not blank, and its fields."""
    if not path.is_file():
        raise InputError(f"There is no file {path}. Check the name and the folder.")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text. Give a table of two columns.") from error
    first = next((line for line in lines if line.strip()), "")
    delimiter = next((mark for mark in "\t;," if mark in first), ",")
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if any(fields):
                yield reader.line_num, fields
    except csv.Error as error:
        raise InputError(f"{path} cannot be split into fields ({error}).") from error
