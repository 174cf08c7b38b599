"""Rows that come in chunks; errors name the place in the stream."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.checks import TEXT
from edgewise.data.table import Table
from edgewise.io.chunks import read_chunks
from edgewise.io.messages import quote_names
from edgewise.io.tables import RawTable

Summary = TypeVar("Summary")


@dataclass(frozen=True, kw_only=True, eq=False)
class Chunk:
    """Some rows of a stream.

    Attributes
    ----------
    table : Table
    label : str
        What messages call the chunk.
    first_row : int or None
        Rows of the stream before it; None where nobody knows.
    has_names : bool
        Whether the columns came with names.
    """

    table: Table
    label: str
    first_row: int | None
    has_names: bool

    @classmethod
    def from_input(cls, rows: Any, label: str, first_row: int | None) -> Chunk | None:
        """Take rows of any kind; None where there are none."""
        if isinstance(rows, RawTable):
            label = f"{label} ({rows.source})"
        if _is_empty(rows):
            return None
        try:
            table = Table.from_input(rows)
        except InputError as error:
            raise InputError(f"{label}: {error}") from error
        has_names = isinstance(rows, RawTable) or hasattr(rows, "columns")
        return cls(table=table, label=label, first_row=first_row, has_names=has_names)

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, where they came with any."""
        return self.table.names if self.has_names else None

    def column(self, name: str, parameter: str) -> int:
        """Place of the column that a parameter names."""
        if name not in self.table.names:
            raise InputError(
                f"{parameter}={name!r} is no column of {self.label}; it has "
                f"{quote_names(self.table.names)}."
            )
        return self.table.names.index(name)

    def check(self, *, allow_text: Sequence[int] = ()) -> None:
        """Refuse text, unless in some columns, and values that are missing or infinite."""
        for k, kind in enumerate(self.table.kinds):
            if kind == TEXT and k not in allow_text:
                self._refuse_text(k)
        is_finite = np.isfinite(self.table.values)
        if is_finite.all():
            return
        row, k = (int(place) for place in np.argwhere(~is_finite)[0])
        what = "missing (NaN)" if np.isnan(self.table.values[row, k]) else "infinite (inf)"
        raise InputError(
            f"{self.label}: column '{self.table.names[k]}' is {what} in {self._row(row)}. Fill or "
            "drop such rows before they are streamed."
        )

    def _refuse_text(self, k: int) -> None:
        """Name the first value of a column that is no number."""
        levels = self.table.levels[k] or ()
        is_other = np.array([not _is_number(level) for level in levels])
        codes = self.table.values[:, k]
        present = np.flatnonzero(~np.isnan(codes))
        suspects = present[is_other[codes[present].astype(np.int64)]]
        row = int((suspects if len(suspects) else present)[0])
        raise InputError(
            f"{self.label}: column '{self.table.names[k]}' holds text, "
            f"{levels[int(codes[row])]!r} in {self._row(row)}. Leave it out, or turn it into "
            "numbers."
        )

    def _row(self, row: int) -> str:
        of_all = "" if self.first_row is None else f" ({self.first_row + row} of all)"
        return f"row {row}{of_all}, counted from 0"

    def take(self, columns: Sequence[int], rows: BoolArray | None) -> FloatArray:
        """Return the values of some columns and rows, without a copy of all of them."""
        values = self.table.values
        if len(columns) < values.shape[1]:
            values = values[:, list(columns)]
        return values if rows is None or rows.all() else values[rows]


def summarize(
    chunks: Any,
    summary: Callable[[Chunk], Summary | None],
    merge: Callable[[list[Summary]], Summary],
    *,
    fan_in: int,
) -> Summary:
    """Summarise every chunk and merge the summaries, ``fan_in`` at a time.

    ``summary`` returns None for a chunk in which no row counts. The partitions of a dask
    collection are summarised, and the summaries merged, where they are.
    """
    if type(chunks).__module__.partition(".")[0] == "dask":
        from edgewise.stats.stream import reduce_partitions

        merged = reduce_partitions(chunks, summary, merge, fan_in=fan_in)
    else:
        waiting: list[Summary] = []
        for chunk in _checked(_sequence(chunks)):
            part = summary(chunk)
            if part is not None:
                waiting.append(part)
            # Or it would be in memory while the next chunk is summed up.
            del part
            if len(waiting) == fan_in:
                waiting = [merge(waiting)]
        merged = merge(waiting) if waiting else None
    if merged is None:
        raise InputError("There are no rows in the chunks, or none that count.")
    return merged


def _sequence(chunks: Any) -> Iterable[Any]:
    """Take a file, a folder, or one table for all of its chunks."""
    if isinstance(chunks, (str, os.PathLike)):
        return read_chunks(chunks)
    if isinstance(chunks, (np.ndarray, RawTable)) or hasattr(chunks, "columns"):
        return [chunks]
    if not isinstance(chunks, Iterable):
        raise InputError(
            f"chunks must be a file, a folder, a table or an iterable of tables, got "
            f"{type(chunks).__name__}."
        )
    return chunks


def _checked(chunks: Iterable[Any]) -> Iterator[Chunk]:
    """Yield the chunks that have rows, all with the columns of the first."""
    first: Chunk | None = None
    n_rows = 0
    for number, rows in enumerate(chunks, 1):
        chunk = Chunk.from_input(rows, f"Chunk {number}", n_rows)
        if chunk is None:
            continue
        first = first or chunk
        if chunk.table.names != first.table.names:
            mismatch = describe_mismatch(first.table.names, chunk.table.names)
            raise InputError(
                f"{chunk.label} does not have the columns of the chunks before: {mismatch}. Give "
                "all chunks the same columns in the same order."
            )
        n_rows += chunk.table.n_samples
        yield chunk


def describe_mismatch(first: Sequence[str] | None, second: Sequence[str] | None) -> str:
    """Say how the columns of two parts of a table differ."""
    if first is None or second is None:
        return "one part has column names, and the other has none"
    if missing := [name for name in first if name not in second]:
        return f"{quote_names(missing)} {'is' if len(missing) == 1 else 'are'} missing in one"
    if added := [name for name in second if name not in first]:
        return f"{quote_names(added)} {'is' if len(added) == 1 else 'are'} in one only"
    return "they have the same columns in another order"


def _is_empty(rows: Any) -> bool:
    if isinstance(rows, RawTable):
        return rows.n_rows == 0
    shape: tuple[int, ...] = getattr(rows, "shape", ())
    return len(shape) == 2 and shape[0] == 0


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
