"""Reading a table from text, spreadsheets, statistics programs or arrays into named columns."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from edgewise._core.errors import EdgewiseError, InputError
from edgewise._core.memory import Arrays, require_memory
from edgewise._core.typing import AnyArray
from edgewise.io.archive import read_npz
from edgewise.io.messages import quote_names, repeated
from edgewise.io.sheets import Frame, read_sheet
from edgewise.io.text import (
    ReadOptions,
    numbers_of_people,
    parse_text,
    parse_text_chunks,
    text_layout,
    without_sums,
)

if TYPE_CHECKING:
    import pandas as pd

Reader = TypeVar("Reader")

#: What pyarrow and pandas raise on a file that was cut short or altered.
PARQUET_DAMAGE: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    TypeError,
    ValueError,
)
#: Text files of up to so many bytes are read once; larger ones in several passes.
AT_ONCE: Final = 2**28


@dataclass(frozen=True, kw_only=True, eq=False)
class RawTable:
    """A table as it stands in its file, before anything is checked about the values.

    Attributes
    ----------
    names : tuple of str
        Column names, all different and none empty.
    columns : tuple of ndarray
        One array per column, all of one length: booleans, integers or floats (NaN where a value
        is missing), or objects, which are text or booleans (None where a value is missing).
    n_rows : int
        Number of rows, at least one.
    source : str
        The file.
    notes : tuple of str
        What was assumed in reading, in sentences for the user; mostly empty.
    row_names : tuple of str or None
        What a first column without a name held, as R and pandas write it.
    sha256 : str or None
        Digest of a text file that was read at once.
    labels : mapping of str to str
        What columns are about, where the file says it.
    value_labels : mapping of str to mapping of float to str
        What the numbers of columns stand for, where the file says it.

    Examples
    --------
    >>> RawTable(names=("a",), columns=(np.arange(3),), n_rows=3, source="a.csv").names
    ('a',)
    """

    names: tuple[str, ...]
    columns: tuple[AnyArray, ...]
    n_rows: int
    source: str
    notes: tuple[str, ...] = ()
    row_names: tuple[str, ...] | None = None
    sha256: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    value_labels: Mapping[str, Mapping[float, str]] = field(default_factory=dict)


def read_table(
    path: str | os.PathLike[str],
    *,
    na: Sequence[str] = (),
    sheet: str | None = None,
    decimal: str | None = None,
    limits: str | None = None,
    header: int | None = None,
    encoding: str | None = None,
) -> RawTable:
    r"""Read a table from a file of the format that its suffix tells, or from standard input.

    Text files are UTF-8, with or without a byte-order mark; others are read as UTF-16 or cp1252,
    which ``notes`` states. Names of columns stand in the first row, or below titles and groups;
    these, units below the names, and sums and footnotes below the values are left out, which
    ``notes`` states too. Fields are split at the comma (csv) or the tab (tsv); where rows are not
    of one width by it, at the comma, semicolon or tab by which they are. Between semicolons
    or tabs a comma may be the decimal point, which ``notes`` states as well; between tabs not where
    it could group thousands in every number. An empty field, ``NA`` and ``NaN`` are missing values;
    any other word is taken as it stands, unless ``na`` names it. An npz file holds
    one two-dimensional array, or several of which one is called ``X``, and may hold the column
    names as text in ``names``, ``columns`` or ``feature_names``; without them the columns are
    called ``x0``, ``x1`` and so on. Pickled objects are never loaded. Spreadsheets (xlsx, ods),
    files of SPSS (sav, zsav, por), Stata (dta), SAS (sas7bdat) and AnnData (h5ad), feather and
    JSON lines (jsonl) are read too, some of them by packages that
    ``pip install "edgewise[files]"`` installs. Codes that SPSS has labels for are read as these
    where it calls the column nominal. Elsewhere codes stay numbers, and ordered categories are
    read as numbers from 1, with their labels.

    Parameters
    ----------
    path : str or path
        The file. Its suffix tells the format; ``"-"`` is text from standard input.
    na : sequence of str
        More words that stand for missing values, such as ``"-99"`` or ``"None"``.
    sheet : str, optional
        Name of the sheet of a spreadsheet; by default the first that holds a table, which
        ``notes`` states where there are several.
    decimal : {".", ","}, optional
        Read text columns of numbers as people write them, with this decimal mark: with a percent
        sign, and digits in groups of three.
    limits : {"half", "limit", "missing"}, optional
        Read columns of numbers in which values such as ``<0.5`` or ``>100`` say that a limit of
        detection was passed: as half of a lower limit, as the limit, or as missing.
    header : int, optional
        Line, or row of a sheet, that holds the names, counted from 1; 0 where there are none.
    encoding : str, optional
        Encoding of a text file.

    Returns
    -------
    RawTable

    Raises
    ------
    InputError
        In one sentence or two: what is wrong, where, and what to do.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "data.csv"
    ...     _ = file.write_text("height,city\n1.5,Bonn\n,Ulm\n")
    ...     table = read_table(file)
    >>> table.names, table.n_rows
    (('height', 'city'), 2)
    >>> table.columns[0]
    array([1.5, nan])
    """
    options = ReadOptions(
        na=tuple(na),
        sheet=sheet,
        decimal=decimal,
        limits=limits,
        header=header,
        encoding=encoding,
    )
    if str(path) == "-":
        file, content = Path("standard input"), sys.stdin.buffer.read()
        if not content.strip():
            raise InputError("empty_standard_input")
        return _checked(_read_text(file, options, content), file)
    file = Path(path)
    if file.is_dir():
        raise InputError("table_is_folder", path=path)
    reader = reader_of(file, _READERS)
    _check_options(file, options)
    try:
        table = reader(file, options)
    except PermissionError as error:
        raise permission_error(file) from error
    return _checked(table, file)


def _check_options(file: Path, options: ReadOptions) -> None:
    """Refuse options that are about files of other formats."""
    suffix = file.suffix.lower()
    is_sheet, is_text = suffix in _SPREADSHEETS, suffix in TEXT_FILES
    for parameter, is_possible, where in (
        ("sheet", is_sheet, "A sheet is part of a spreadsheet"),
        ("header", is_sheet or is_text, "A header is a row of a spreadsheet or of text"),
        ("encoding", is_text, "An encoding is one of text"),
    ):
        value = getattr(options, parameter)
        if value is not None and not is_possible:
            raise InputError("option_for_format", parameter, where=where, file=file, value=value)
    if options.header is not None and options.header < 0:
        raise InputError("header_range", "header", header=options.header)
    if options.limits not in (None, "half", "limit", "missing"):
        raise InputError("limits_choice", "limits", limits=options.limits)


def _checked(table: RawTable, file: Path) -> RawTable:
    """Refuse columns without a name, and a table without rows."""
    check_names(table.names, file)
    if table.n_rows == 0:
        raise InputError("names_without_rows", file=file, n_names=len(table.names))
    return table


def reader_of(file: Path, readers: Mapping[str, Reader]) -> Reader:
    """Find what reads a file by its suffix, once there is something to read."""
    if not file.exists():
        raise InputError("no_such_file", file=file)
    reader = readers.get(file.suffix.lower())
    if reader is None:
        if file.suffix.lower() in (".xls", ".xlsb"):
            raise InputError("old_spreadsheet", file=file)
        found = f"the suffix '{file.suffix}'" if file.suffix else "no suffix"
        raise InputError("unknown_table_format", file=file, found=found, listed=", ".join(readers))
    try:
        if file.stat().st_size == 0:
            raise InputError("file_empty", file=file)
    except PermissionError as error:
        raise permission_error(file) from error
    return reader


def permission_error(file: Path) -> InputError:
    """Say that a file is not ours to read."""
    return InputError("file_permission", file=file)


def _check_named(names: tuple[str, ...], file: Path) -> None:
    """Check the names after the first column, which has none where it labels the rows."""
    check_names(names[1:] if len(names) > 1 and not names[0] else names, file)


def check_names(names: tuple[str, ...], file: Path) -> None:
    """Refuse columns without a name, and names that stand twice."""
    if nameless := [str(position) for position, name in enumerate(names, 1) if not name]:
        noun = "Column" if len(nameless) == 1 else "Columns"
        raise InputError(
            "nameless_columns_in_file",
            noun=noun,
            listed=", ".join(nameless[:5]),
            file=file,
            is_noun=noun == "Column",
        )
    if twice := repeated(names):
        raise InputError("repeated_columns_in_file", file=file, twice=twice)


def _read_text(file: Path, options: ReadOptions, content: bytes | None = None) -> RawTable:
    delimiter = _delimiter(file)
    if content is None and file.stat().st_size <= AT_ONCE:
        content = file.read_bytes()
    layout = text_layout(file, delimiter, options, check_names=_check_named, content=content)
    if content is not None:
        _find_words(options.na, content, layout.encoding)
    frame, notes = parse_text(layout)
    frame, more = without_sums(frame)
    notes = (*notes, *more)
    row_names = None
    if not frame.columns[0]:
        # As R and pandas write the names of rows.
        if not frame.iloc[:, 0].is_unique:
            check_names(tuple(frame.columns), file)
        row_names = tuple(str(name) for name in frame.iloc[:, 0])
        frame = frame.iloc[:, 1:]
        note = (
            "The first column has no name and unique values; it was read as row "
            "labels and left out."
        )
        notes = (*notes, note)
    digest = None if content is None else hashlib.sha256(content).hexdigest()
    return replace(from_frame(frame, file, notes), row_names=row_names, sha256=digest)


def _delimiter(file: Path) -> str:
    """Return the delimiter that a suffix promises; spreadsheets save text (txt) with tabs."""
    return "," if file.suffix.lower() in (".csv", "") else "\t"


def _find_words(words: Sequence[str], content: bytes, encoding: str) -> None:
    """Refuse several words for missing values that were given as one."""
    for word in words:
        if "," in word and word.encode(encoding.removesuffix("-sig"), "replace") not in content:
            parts = [part.strip() for part in word.split(",")]
            raise InputError("missing_word_absent", "na", word=word, parts=parts)


def _read_parquet(file: Path, options: ReadOptions) -> RawTable:
    import pandas as pd

    with parquet_errors(file):
        _require_parquet(file)
        frame = pd.read_parquet(file, engine="pyarrow")
        return _as_asked(Frame(frame), file, options)


def _require_parquet(file: Path) -> None:
    """Refuse a file, however small, that says it has more rows than memory can hold."""
    from pyarrow import parquet

    found = parquet.read_metadata(file)
    check_names(tuple(found.schema.to_arrow_schema().names), file)
    require_memory(
        f"Reading {file}",
        [Arrays(2.0, (found.num_rows, found.num_columns))],
        advice="Read it in chunks, with edgewise.stats.stream_covariance.",
    )


@contextmanager
def parquet_errors(file: Path) -> Iterator[None]:
    """Say in our words that pyarrow is not there, or cannot read a file."""
    try:
        import pyarrow
    except ImportError as error:
        raise InputError("needs_pyarrow", file=file) from error
    try:
        yield
    except (EdgewiseError, PermissionError):
        raise
    # pandas lets plain look-up failures out where what it noted in the file was altered.
    except (pyarrow.ArrowException, *PARQUET_DAMAGE) as error:
        raise InputError("not_parquet", file=file) from error


def _as_asked(frame: Frame, file: Path, options: ReadOptions) -> RawTable:
    """Take a data frame apart, with words for missing values and written numbers as asked for."""
    values = frame.values
    if options.na:
        numbers = [float(word) for word in options.na if re.fullmatch(r"[-+]?\d+(\.\d+)?", word)]
        values = values.mask(values.isin([*options.na, *numbers]))
    # Between cells of a sheet a comma is no delimiter; elsewhere numbers are none of people.
    is_sheet = file.suffix.lower() in _SPREADSHEETS
    values, more = numbers_of_people(values, options, "\t" if is_sheet else ",")
    if is_sheet:
        values, sums = without_sums(values)
        more = (*more, *sums)
    table = from_frame(values, file, (*frame.notes, *more))
    labelled = {**table.value_labels, **frame.value_labels}
    return replace(table, labels=frame.labels, value_labels=labelled)


def _read_other(file: Path, options: ReadOptions) -> RawTable:
    """Read a file of another program by pandas, and the packages that it needs for it."""
    suffix = file.suffix.lower()
    package, read = _OTHER[suffix]
    try:
        importlib.import_module(package)
    except ImportError as error:
        found = "anndata" if package == "anndata" else '"edgewise[files]"'
        raise InputError("needs_package", file=file, package=package, found=found) from error
    try:
        frame = read(file, options)
    except (EdgewiseError, PermissionError):
        raise
    # Each of these packages has exceptions of its own.
    except Exception as error:
        raise InputError("cannot_read_format", file=file, suffix=suffix, error=error) from error
    return _as_asked(frame, file, options)


def _read_spss(file: Path, _: ReadOptions) -> Frame:
    """Read codes, and in their place the labels of columns that are called nominal."""
    pyreadstat: Any = importlib.import_module("pyreadstat")
    read = pyreadstat.read_por if file.suffix.lower() == ".por" else pyreadstat.read_sav
    frame, meta = read(file)
    for name, labels in meta.variable_value_labels.items():
        if meta.variable_measure.get(name) == "nominal":
            named = frame[name].map(labels).astype(object)
            frame[name] = named.where(named.notna() | frame[name].isna(), frame[name].astype(str))
    return Frame(frame, (), _said(meta.column_names_to_labels), meta.variable_value_labels)


def _said(labels: Mapping[str, str | None]) -> dict[str, str]:
    """Labels of the columns that have one, other than their name."""
    found = {name: " ".join((label or "").split()) for name, label in labels.items()}
    return {name: label for name, label in found.items() if label and label != name}


def _read_stata(file: Path, _: ReadOptions) -> Frame:
    """Read codes with their labels as ordered categories."""
    import pandas as pd

    with pd.read_stata(file, iterator=True) as opened:
        # The types of pandas do not know what the reader can do.
        reader: Any = opened
        labels = _said(reader.variable_labels())
        try:
            frame = reader.read()
        except ValueError:
            # Two codes have the same label.
            return Frame(pd.read_stata(file, convert_categoricals=False), (), labels)
    labelled = [
        str(name)
        for name in frame.columns
        if isinstance(frame[name].dtype, pd.CategoricalDtype)
        and len(frame[name].cat.categories) > 2
    ]
    if not labelled:
        return Frame(frame, (), labels)
    note = (
        f"Stata does not say whether labelled codes have an order; {quote_names(labelled)} were "
        f"read as numbers in the order of their codes; declare the others as nominal."
    )
    return Frame(frame, (note,), labels)


def _read_anndata(file: Path, _: ReadOptions) -> Frame:
    anndata: Any = importlib.import_module("anndata")
    table = anndata.read_h5ad(file)
    if hasattr(table.X, "check_format"):
        # Places outside of the matrix, as of a damaged file, would be written to.
        table.X.check_format(full_check=True)
    return Frame(table.to_df())


def _by_pandas(function: str, **options: Any) -> Callable[[Path, ReadOptions], Frame]:
    """Return a reader of pandas by its name, which is imported when it is called."""

    def read(file: Path, _: ReadOptions) -> Frame:
        import pandas as pd

        return Frame(getattr(pd, function)(file, **options))

    return read


def from_frame(frame: pd.DataFrame, file: Path, notes: tuple[str, ...]) -> RawTable:
    """Take a data frame apart into named arrays."""
    value_labels = {
        str(frame.columns[k]): labels
        for k in range(frame.shape[1])
        if (labels := _levels(frame.iloc[:, k]))
    }
    return RawTable(
        names=tuple(str(name) for name in frame.columns),
        columns=tuple(_column(frame.iloc[:, k]) for k in range(frame.shape[1])),
        n_rows=len(frame),
        source=str(file),
        notes=notes,
        value_labels=value_labels,
    )


def _levels(series: pd.Series) -> dict[float, str]:
    """Return the ordered categories, numbered from 1, unless they are numbers themselves."""
    from pandas.api import types

    categories: Any = getattr(series.dtype, "categories", ())
    is_worded = len(categories) and not types.is_numeric_dtype(categories.dtype)
    if not (is_worded and getattr(series.dtype, "ordered", False)):
        return {}
    return {float(k): str(level) for k, level in enumerate(categories, 1)}


def _column(series: pd.Series) -> AnyArray:
    """Turn a pandas column of whatever dtype into one of the arrays `RawTable` promises."""
    from pandas.api import types

    if _levels(series):
        codes = series.cat.codes.to_numpy()
        return np.where(codes < 0, np.nan, codes + 1.0)
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "biuf":
        return series.to_numpy()
    is_missing = series.isna().to_numpy()
    if types.is_numeric_dtype(series.dtype) and not types.is_bool_dtype(series.dtype):
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    objects = series.astype(object).to_numpy(copy=True)
    objects[is_missing] = None
    present = objects[~is_missing]
    if len(present) and all(type(value) in (int, float, Decimal) for value in present):
        return np.array([np.nan if value is None else _as_float(value) for value in objects])
    return np.array(
        [value if value is None or isinstance(value, bool) else str(value) for value in objects],
        dtype=object,
    )


def _as_float(value: float | Decimal) -> float:
    """Nearest float, infinite for a whole number beyond all floats, as 1e999 is."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _read_npz(file: Path, options: ReadOptions) -> RawTable:
    names, values = read_npz(file)
    return RawTable(names=names, columns=tuple(values.T), n_rows=len(values), source=str(file))


TEXT_FILES: Final = (".csv", ".tsv", ".txt")
_SPREADSHEETS: Final = (".xlsx", ".xlsm", ".ods")
#: Package that reads a format, and the function that does.
_OTHER: Final[dict[str, tuple[str, Callable[[Path, ReadOptions], Frame]]]] = {
    ".xlsx": ("openpyxl", read_sheet),
    ".xlsm": ("openpyxl", read_sheet),
    ".ods": ("odf", read_sheet),
    ".sav": ("pyreadstat", _read_spss),
    ".zsav": ("pyreadstat", _read_spss),
    ".por": ("pyreadstat", _read_spss),
    ".dta": ("pandas", _read_stata),
    ".sas7bdat": ("pandas", _by_pandas("read_sas", encoding="utf-8")),
    ".feather": ("pyarrow", _by_pandas("read_feather")),
    ".h5ad": ("anndata", _read_anndata),
    ".jsonl": ("pandas", _by_pandas("read_json", lines=True)),
}
_READERS: Final[dict[str, Callable[[Path, ReadOptions], RawTable]]] = {
    **dict.fromkeys(TEXT_FILES, _read_text),
    ".parquet": _read_parquet,
    ".npz": _read_npz,
    **dict.fromkeys(_OTHER, _read_other),
}


#: A chunk takes about so many bytes as numbers, unless its number of rows is given.
CHUNK_BYTES: Final = 2**24
#: Of a column of a parquet file so many bytes are read ahead, instead of a whole row group.
READ_AHEAD: Final = 2**18

#: File, columns, rows of a chunk, and options.
ChunkReader = Callable[[Path, Sequence[str] | None, int | None, ReadOptions], Iterator[RawTable]]


def read_chunks(
    path: str | os.PathLike[str],
    *,
    rows: int | None = None,
    columns: Sequence[str] | None = None,
    na: Sequence[str] = (),
    decimal: str | None = None,
    limits: str | None = None,
    header: int | None = None,
    encoding: str | None = None,
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
    na, decimal, limits, header, encoding
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
        raise InputError("chunk_rows", rows=rows)
    if isinstance(columns, str) or (columns is not None and not columns):
        raise InputError("columns_not_names", columns=columns)
    files = table_files(Path(path))
    readers = [(file, reader_of(file, _CHUNK_READERS)) for file in files]
    options = ReadOptions(
        na=tuple(na), decimal=decimal, limits=limits, header=header, encoding=encoding
    )
    for file in files:
        _check_options(file, options)
    return _read_all(Path(path), readers, columns, rows, options)


def _read_all(
    path: Path,
    readers: list[tuple[Path, ChunkReader]],
    columns: Sequence[str] | None,
    rows: int | None,
    options: ReadOptions,
) -> Iterator[RawTable]:
    has_rows = False
    for file, reader in readers:
        try:
            for chunk in reader(file, columns, rows, options):
                has_rows = True
                yield chunk
        except PermissionError as error:
            raise permission_error(file) from error
    # Of the many parts that a cluster writes, some may be empty, but not all.
    if not has_rows:
        raise InputError("header_without_rows", path=path)


def count_columns(path: Path) -> int:
    """Count the columns of a text file by its first line; 0 for other files."""
    if path.suffix.lower() not in TEXT_FILES or not path.is_file():
        return 0
    with path.open("rb") as file:
        line = file.readline()
    return 1 + max(map(line.count, (b",", b";", b"\t")))


def has_tables(folder: Path) -> bool:
    """Whether a folder holds files that can be read in chunks."""
    return any(file.suffix.lower() in _CHUNK_READERS for file in folder.iterdir())


def table_files(path: Path) -> list[Path]:
    """List the tables of a folder in the order they are read, or the one file."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in _CHUNK_READERS)
    if any(file.is_dir() for file in files) or not files:
        raise InputError("no_tables_in_folder", path=path, listed=", ".join(_CHUNK_READERS))
    if len(kinds := {file.suffix.lower() for file in files}) > 1:
        raise InputError("several_formats_in_folder", path=path, kinds=sorted(kinds))
    return files


def _chosen(names: Sequence[str], columns: Sequence[str] | None, file: Path) -> list[str]:
    if columns is None:
        return list(names)
    if unknown := [name for name in columns if name not in names]:
        raise InputError("unknown_columns_in_file", file=file, unknown=unknown, names=names)
    return list(columns)


def rows_of(rows: int | None, n_columns: int) -> int:
    """Rows of a chunk: below the number of columns, a covariance would be all merging."""
    return rows or max(n_columns, CHUNK_BYTES // (8 * n_columns))


def _text_chunks(
    file: Path, columns: Sequence[str] | None, rows: int | None, options: ReadOptions
) -> Iterator[RawTable]:
    delimiter = _delimiter(file)
    layout = text_layout(file, delimiter, options, check_names=check_names)
    chosen = _chosen(layout.columns, columns, file)
    for frame, notes in parse_text_chunks(layout, chosen, rows_of(rows, len(chosen))):
        if len(frame):
            yield from_frame(frame, file, notes)


def _parquet_chunks(
    file: Path, columns: Sequence[str] | None, rows: int | None, options: ReadOptions
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
                yield _as_asked(Frame(frame), file, options)


_CHUNK_READERS: Final[dict[str, ChunkReader]] = {
    ".csv": _text_chunks,
    ".tsv": _text_chunks,
    ".txt": _text_chunks,
    ".parquet": _parquet_chunks,
}
