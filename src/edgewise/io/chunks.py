"""Reading a table some rows at a time, so that it need not fit into memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from edgewise._core.errors import InputError
from edgewise.io.messages import quote_names
from edgewise.io.tables import (
    RawTable,
    check_names,
    from_frame,
    parquet_errors,
    permission_error,
    reader_of,
)
from edgewise.io.text import parse_text_chunks, text_layout

#: A chunk takes about so many bytes as numbers, unless its number of rows is given.
CHUNK_BYTES: Final = 2**24
#: Of a column of a parquet file so many bytes are read ahead, instead of a whole row group.
READ_AHEAD: Final = 2**18

#: File, columns, rows of a chunk and words for missing values.
ChunkReader = Callable[[Path, Sequence[str] | None, int | None, Sequence[str]], Iterator[RawTable]]


def read_chunks(
    path: str | os.PathLike[str],
    *,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    na: Sequence[str] = (),
) -> Iterator[RawTable]:
    r"""Read a csv, tsv or parquet file, or a folder of them, some rows at a time.

    A text file is first looked through for rows with too few or too many fields; its values are
    then read in a second pass. The type of a column is that of its values in one chunk. Of a
    parquet file no more than a chunk and the pages it stands in are in memory. The files of a
    folder come in the order of their names.

    Parameters
    ----------
    path : str or path
        A file, whose suffix tells the format, or a folder of such files, all of one format.
    rows : int, optional
        Rows of a chunk; by default as many as take 16 MiB as numbers, and no fewer than there are
        columns. The last chunk of a file may have fewer.
    columns : sequence of str, optional
        Columns to read, in this order; all of them by default.
    na : sequence of str
        As for `edgewise.io.read_table`.

    Yields
    ------
    RawTable
        With the same names in every chunk of a file.

    See Also
    --------
    edgewise.stats.stream_covariance : What to do with them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "data.csv"
    ...     _ = file.write_text("a,b\n1,2\n3,4\n5,6\n")
    ...     chunks = list(read_chunks(file, rows=2, columns=["b"]))
    >>> [chunk.columns[0].tolist() for chunk in chunks]
    [[2, 4], [6]]
    """
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise InputError(f"rows must be a whole number of at least 1, got {rows!r}.")
    if isinstance(columns, str) or (columns is not None and not columns):
        raise InputError(f"columns must be a list of names, got {columns!r}.")
    files = table_files(Path(path))
    readers = [(file, reader_of(file, _READERS)) for file in files]
    return _read_all(Path(path), readers, columns, rows, na)


def _read_all(
    path: Path,
    readers: list[tuple[Path, ChunkReader]],
    columns: Sequence[str] | None,
    rows: int | None,
    na: Sequence[str],
) -> Iterator[RawTable]:
    has_rows = False
    for file, reader in readers:
        try:
            for chunk in reader(file, columns, rows, na):
                has_rows = True
                yield chunk
        except PermissionError as error:
            raise permission_error(file) from error
    # Of the many parts that a cluster writes, some may be empty, but not all.
    if not has_rows:
        raise InputError(f"{path} has column names but no rows below them. Add rows.")


def table_files(path: Path) -> list[Path]:
    """List the tables of a folder in the order they are read, or the one file."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _READERS)
    if any(file.is_dir() for file in files) or not files:
        raise InputError(
            f"{path} holds no tables ({', '.join(_READERS)}) of its own. Give a file, or the "
            "folder that the files are in."
        )
    if len(kinds := {file.suffix.lower() for file in files}) > 1:
        raise InputError(
            f"{path} holds tables of several formats: {quote_names(sorted(kinds))}. Put those that "
            "belong together into a folder of their own."
        )
    return files


def _chosen(names: Sequence[str], columns: Sequence[str] | None, file: Path) -> list[str]:
    if columns is None:
        return list(names)
    if unknown := [name for name in columns if name not in names]:
        raise InputError(
            f"{file} has no column {quote_names(unknown)}; it has {quote_names(names)}."
        )
    return list(columns)


def rows_of(rows: int | None, n_columns: int) -> int:
    """Rows of a chunk: below the number of columns, a covariance would be all merging."""
    return rows or max(n_columns, CHUNK_BYTES // (8 * n_columns))


def _read_text(
    file: Path, columns: Sequence[str] | None, rows: int | None, na: Sequence[str]
) -> Iterator[RawTable]:
    delimiter = "\t" if file.suffix.lower() == ".tsv" else ","
    layout = text_layout(file, delimiter, check_names=check_names, na=na)
    chosen = _chosen(layout.names, columns, file)
    for frame, notes in parse_text_chunks(layout, chosen, rows_of(rows, len(chosen))):
        if len(frame):
            yield from_frame(frame, file, notes)


def _read_parquet(
    file: Path, columns: Sequence[str] | None, rows: int | None, na: Sequence[str]
) -> Iterator[RawTable]:
    with parquet_errors(file):
        from pyarrow import parquet

        # Left to itself, pyarrow fetches all row groups at once.
        source = parquet.ParquetFile(file, buffer_size=READ_AHEAD, pre_buffer=False)
    with source:
        # By way of pandas, which knows about row labels kept as columns.
        names = tuple(str(name) for name in source.schema_arrow.empty_table().to_pandas().columns)
        check_names(names, file)
        chosen = _chosen(names, columns, file)
        batches = source.iter_batches(rows_of(rows, len(chosen)), columns=chosen)
        while True:
            with parquet_errors(file):
                batch = next(batches, None)
            if batch is None:
                return
            if batch.num_rows:
                frame = batch.select(chosen).to_pandas(split_blocks=True)
                yield from_frame(frame, file, ())


_READERS: Final[dict[str, ChunkReader]] = {
    ".csv": _read_text,
    ".tsv": _read_text,
    ".parquet": _read_parquet,
}
