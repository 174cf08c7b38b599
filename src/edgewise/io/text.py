"""Parsing of delimited text, with checks that pandas omits."""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Self, TextIO

from edgewise._core.errors import InputError
from edgewise.io.extent import ROWS_BELOW, Extent, find_extent, is_empty, rows_below
from edgewise.io.messages import quote_names, shown

if TYPE_CHECKING:
    import pandas as pd


def is_old() -> bool:
    """Whether pandas is older than 3.1."""
    import pandas as pd

    return tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)


def number_options() -> dict[str, Any]:
    """Options by which a decimal becomes the nearest binary number."""
    return {"float_precision": "round_trip"} if is_old() else {}


@contextmanager
def readable(file: Path, encoding: str, content: bytes | None = None) -> Iterator[Any]:
    """Yield what pandas is to read; old versions take a NUL for the end of a field."""
    raw = _opened(file, content)
    with _WithoutNul(raw, encoding=encoding, newline="") if is_old() else raw as handle:
        yield handle


def _opened(file: Path, content: bytes | None) -> BinaryIO:
    """Open a file, or what was read of it before."""
    return file.open("rb") if content is None else io.BytesIO(content)


class _WithoutNul(io.TextIOWrapper):
    """Text in which NULs can be seen."""

    def read(self, size: int | None = -1, /) -> str:
        return super().read(size).replace("\0", "\N{REPLACEMENT CHARACTER}")


def with_large_numbers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame where numbers beyond all floats are infinite, as they are in new versions."""
    from pandas.api import types

    if not is_old():
        return frame
    for name in frame.columns:
        if types.is_object_dtype(frame[name].dtype):
            values = _as_floats(frame[name].tolist())
            if values is not None:
                frame = frame.assign(**{name: values})
    return frame


def _as_floats(values: list[Any]) -> list[float] | None:
    """Floats of texts that are all numbers, with gaps; None where one is something else."""
    if any(isinstance(value, bool) or "_" in str(value) for value in values):
        return None
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        return None


DELIMITERS: Final = {",": "comma", ";": "semicolon", "\t": "tab"}
ENCODING: Final = "utf-8-sig"
#: Records at the top of a file by which its columns are found.
ROWS_LOOKED_AT: Final = 60
#: How files begin that are no text, whatever their name says.
PACKED: Final = {
    b"\x1f\x8b": "a file compressed by gzip",
    b"PK\x03\x04": "a zip archive or a spreadsheet",
    b"PAR1": "a parquet file",
}
DECIMAL_COMMA: Final = re.compile(r"[ \t]*[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)?[ \t]*")
THOUSANDS: Final = re.compile(r"[ \t]*[+-]?[1-9][0-9]{0,2},[0-9]{3}[ \t]*")
INTEGER: Final = re.compile(r"[+-]?\d+")
#: A number as people write it, by its decimal mark: groups of three digits, a percent sign.
WRITTEN: Final = {
    mark: re.compile(
        rf"\s*(?P<sign>[+\-\u2212]?)\s*"
        rf"(?P<whole>[1-9][0-9]{{0,2}}(?:[{group}'\u2019\u00a0\u202f ][0-9]{{3}})+|[0-9]*)"
        rf"(?:{re.escape(mark)}(?P<part>[0-9]+))?(?P<power>[eE][+-]?[0-9]+)?\s*(?P<percent>%?)\s*"
    )
    for mark, group in ((".", ","), (",", "."))
}
#: What stands for a missing value in a text file; any other word, such as None, is a level.
MISSING_WORDS: Final = ("", "NA", "NaN", "nan")


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """What a user says about how a table is written.

    Attributes
    ----------
    na : tuple of str
        Words that stand for missing values, besides `MISSING_WORDS`.
    decimal : str or None
        The decimal mark of numbers as people write them; None for plain ones.
    limits : str or None
        What values beyond a limit of detection count as: "half", "limit" or "missing".
    sheet : str or None
        Sheet of a spreadsheet.
    header : int or None
        Line of the names, from 1; 0 where there is none.
    encoding : str or None
        Encoding of a text file.
    """

    na: tuple[str, ...] = ()
    decimal: str | None = None
    limits: str | None = None
    sheet: str | None = None
    header: int | None = None
    encoding: str | None = None


class TextLayout(NamedTuple):
    """How a text file is divided into named columns.

    Attributes
    ----------
    file : path
    delimiter : str
    encoding : str
    names : tuple of str
        Names of the columns, "" for those that are left out.
    notes : tuple of str
        What was assumed.
    first, n_rows : int
        Records, blank lines included, before the first row of values; and rows of values.
    options : ReadOptions
    content : bytes or None
        All of the file, where it was read at once.
    """

    file: Path
    delimiter: str
    encoding: str
    names: tuple[str, ...]
    notes: tuple[str, ...]
    first: int
    n_rows: int
    options: ReadOptions = ReadOptions()
    content: bytes | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are read; that of row labels may be empty."""
        return tuple(name for k, name in enumerate(self.names) if name or not k)


def text_layout(
    file: Path,
    expected: str,
    options: ReadOptions,
    *,
    check_names: Callable[[tuple[str, ...], Path], None],
    content: bytes | None = None,
) -> TextLayout:
    """Find out how a file is divided, and that every row has a field per column.

    Parameters
    ----------
    file : path
        A file that exists and is not empty.
    expected : str
        The delimiter that the suffix of the file promises.
    options : ReadOptions
    check_names : callable
        Called with the names before the rows are looked at, since a header with a fault makes
        every row look wrong.
    content : bytes, optional
        All of the file, which is then not read again.

    Returns
    -------
    TextLayout
    """
    encoding = options.encoding or ENCODING
    while True:
        try:
            found = _scan(file, content, encoding, expected, options.header, check_names)
            break
        except UnicodeDecodeError as error:
            encoding, note = _other_encoding(file, content, options.encoding, error)
        except LookupError as error:
            raise InputError("unknown_encoding", "encoding", encoding=encoding) from error
    notes = found.notes if encoding in (ENCODING, options.encoding) else (note, *found.notes)
    if found.delimiter != expected:
        name, promised = DELIMITERS[found.delimiter], DELIMITERS[expected]
        notes = (*notes, f"{file} was split at the {name}: its header has no {promised}.")
    return found._replace(notes=notes, options=options, content=content)


def _other_encoding(
    file: Path, content: bytes | None, asked: str | None, error: UnicodeDecodeError
) -> tuple[str, str]:
    """Find the encoding of a file that is not UTF-8, with a note that shows what it makes."""
    raw = file.read_bytes() if content is None else content
    if asked is not None:
        raise InputError(
            "wrong_encoding", "encoding", file=file, asked=asked, reason=error.reason
        ) from error
    for signature, kind in PACKED.items():
        if raw.startswith(signature):
            raise InputError("binary_file", file=file, kind=kind) from error
    is_wide = raw[:2] in (b"\xff\xfe", b"\xfe\xff")
    for encoding in ["utf-16" if is_wide else "cp1252"]:
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if re.search(r"[\x00-\x08\x0e-\x1f]", text):
            continue
        words = re.findall(r"\w*[^\W\x00-\x7f]\w*", text) if not is_wide else ()
        example = f" ({shown(words[0])} is a word of it)" if words else ""
        return encoding, (
            f"{file} is not UTF-8 and was read as {encoding}{example}; pass encoding for another."
        )
    try:
        raw.decode(ENCODING)
    except UnicodeDecodeError as first:
        line = raw.count(b"\n", 0, first.start) + 1
        raise InputError("not_utf8", file=file, raw=raw[first.start], line=line) from first
    raise InputError("file_changed", file=file) from error


def parse_text(layout: TextLayout) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read all rows; return them with what was assumed."""
    import pandas as pd

    with (
        _parser_errors(layout.file),
        readable(layout.file, layout.encoding, layout.content) as source,
    ):
        frame: pd.DataFrame = pd.read_csv(source, **_options(layout))
    return _with_decimal_points(with_large_numbers(frame), layout)


def parse_text_chunks(
    layout: TextLayout, columns: Sequence[str], rows: int
) -> Iterator[tuple[pd.DataFrame, tuple[str, ...]]]:
    """Read some columns, so many rows at a time."""
    import pandas as pd

    with (
        _parser_errors(layout.file),
        readable(layout.file, layout.encoding) as source,
        pd.read_csv(
            source, chunksize=rows, **{**_options(layout), "usecols": list(columns)}
        ) as reader,
    ):
        for frame in reader:
            yield _with_decimal_points(with_large_numbers(frame[list(columns)]), layout)


def _options(layout: TextLayout) -> dict[str, Any]:
    # pandas wants names for columns that it leaves out, too.
    names = [name or f"\0{k}" for k, name in enumerate(layout.names)]
    if layout.names and not layout.names[0]:
        names[0] = ""
    return {
        **number_options(),
        "sep": layout.delimiter,
        "header": None,
        "skiprows": layout.first,
        "nrows": layout.n_rows,
        "names": names,
        "usecols": [name for name in names if name[:1] != "\0"],
        "index_col": False,
        "encoding": layout.encoding,
        # Whole columns at once, so that a column has one type.
        "low_memory": False,
        # By itself pandas takes None, null, n/a and others for missing, which may be levels.
        "keep_default_na": False,
        "na_values": [*MISSING_WORDS, *layout.options.na],
        "decimal": layout.options.decimal or ".",
    }


@contextmanager
def _parser_errors(file: Path) -> Iterator[None]:
    """Say in our words what pandas cannot split."""
    import pandas as pd

    try:
        yield
    except pd.errors.ParserError as error:
        raise InputError("cannot_split", file=file) from error


def _with_decimal_points(
    frame: pd.DataFrame, layout: TextLayout
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read decimal commas, where the delimiter leaves room for them."""
    frame, notes = numbers_of_people(frame, layout.options, layout.delimiter)
    return frame, (*layout.notes, *notes)


def without_sums(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Leave out a last row without a label that holds sums or means of all rows above it."""
    import numpy as np

    if len(frame) < 5 or frame.iloc[-1].notna().all():
        return frame, ()
    values = frame.select_dtypes("number").to_numpy(dtype=float)
    above, last = values[:-1], values[-1]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        total, mean = np.nansum(above, axis=0), np.nanmean(above, axis=0)
        varies = (np.nanmax(above, axis=0) > np.nanmin(above, axis=0)) & (last != 0)
        found = varies & (np.isclose(last, total, rtol=1e-9) | np.isclose(last, mean, rtol=1e-9))
    n_filled = int((~np.isnan(last)).sum())
    if found.sum() < 2 or found.sum() < n_filled:
        return frame, ()
    return frame.iloc[:-1], ("The last row holds sums or means of the others and was left out.",)


def numbers_of_people(
    frame: pd.DataFrame, options: ReadOptions, delimiter: str
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read columns of numbers as people write them: as options say, or with decimal commas."""
    import pandas as pd

    notes: tuple[str, ...] = ()
    if options.decimal is not None:
        frame, notes = with_written_numbers(frame, options.decimal)
    elif delimiter != "," and (with_comma := _decimal_comma_columns(frame)):
        # Programs that separate by tabs, and spreadsheets, write thousands with a comma as well.
        is_open = delimiter != ";" and all(_may_be_thousands(frame[name]) for name in with_comma)
        if not is_open:
            texts = {name: frame[name].astype("string") for name in with_comma}
            numbers = {
                name: pd.to_numeric(text.str.replace(",", ".")) for name, text in texts.items()
            }
            # As floats of numpy: those of pandas have a missing value of their own.
            numbers = {name: column.astype(float) for name, column in numbers.items()}
            frame = frame.assign(**numbers)
            where = f"{len(with_comma)} column{'s'[: len(with_comma) - 1]}"
            notes = (f"The comma was read as the decimal point in {where}.",)
    if options.limits is not None:
        frame, more = with_limits(frame, options.limits, options.decimal)
        notes = (*notes, *more)
    return frame, notes


#: A value beyond a limit of detection.
LIMIT: Final = re.compile(r"\s*(?P<sign>[<>\u2264\u2265])\s*=?\s*(?P<number>\S.*)")


def limit_of(text: str, decimal: str) -> tuple[str, float] | None:
    """Read a value beyond a limit of detection: its sign, and the limit.

    Examples
    --------
    >>> limit_of("<0,5", ","), limit_of("0.5", ".")
    (('<', 0.5), None)
    """
    found = LIMIT.fullmatch(text)
    number = found and written_number(found["number"], decimal)
    if not found or number is None:
        return None
    return ("<" if found["sign"] in "<\u2264" else ">"), number


def marks_with_limits(words: Iterable[str], decimal: str | None = None) -> list[str]:
    """List the decimal marks by which all words are numbers or limits, and some are limits."""
    texts = list(words)
    if not any(LIMIT.fullmatch(text) for text in texts):
        return []
    marks = [decimal] if decimal else [".", ","]
    # A comma that could group digits is one for decimals here: limits are small.
    marks = marks[::-1] if any("," in text for text in texts) else marks
    return [
        mark
        for mark in marks
        if all(LIMIT.fullmatch(text) or _number(text, mark) is not None for text in texts)
        and all(limit_of(text, mark) for text in texts if LIMIT.fullmatch(text))
    ]


def _number(text: str, mark: str) -> float | None:
    """Read a number by a decimal mark, or a plain one."""
    found = written_number(text, mark)
    return written_number(text, ".") if found is None else found


def with_limits(
    frame: pd.DataFrame, way: str, decimal: str | None
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read columns of numbers with limits of detection among them."""
    from pandas.api import types

    counted = {
        "half": "half of a lower limit, and as an upper limit itself",
        "limit": "the limit",
        "missing": "missing",
    }[way]
    numbers: dict[str, Any] = {}
    n_limits: dict[str, int] = {}
    for name in frame.columns:
        if types.is_numeric_dtype(frame[name].dtype):
            continue
        present = frame[name].dropna()
        # Cells of a sheet may be numbers beside text.
        texts = [value for value in present if isinstance(value, str)]
        is_number = all(type(value) in (int, float, str) for value in present)
        marks = marks_with_limits(texts, decimal)
        if not (is_number and marks):
            continue

        def value(cell: Any, mark: str = marks[0]) -> float:
            if not isinstance(cell, str):
                return float(cell)
            if (found := limit_of(cell, mark)) is None:
                return _number(cell, mark) or 0.0
            sign, limit = found
            share = {"half": 0.5 if sign == "<" else 1.0, "limit": 1.0, "missing": math.nan}[way]
            return share * limit

        numbers[name] = present.map(value).reindex(frame.index).astype(float)
        n_limits[name] = sum(bool(LIMIT.fullmatch(text)) for text in texts)
    if not numbers:
        return frame, ()
    listed = ", ".join(f"{name} ({n_limits[name]})" for name in numbers)
    note = f"Values beyond a limit of detection were counted as {counted}: {listed}."
    return frame.assign(**numbers), (note,)


def written_number(text: str, decimal: str) -> float | None:
    """Read a number as people write it: 1,234.5 or 12 %, or by a decimal comma 1.234,5.

    Examples
    --------
    >>> written_number("1,234.5", "."), written_number("-1.234,5 %", ",")
    (1234.5, -1234.5)
    """
    found = WRITTEN[decimal].fullmatch(text)
    if found is None or not (found["whole"] or found["part"]):
        return None
    whole = re.sub("[^0-9]", "", found["whole"])
    sign = "" if found["sign"] in ("", "+") else "-"
    return float(f"{sign}{whole or '0'}.{found['part'] or '0'}{found['power'] or ''}")


def with_written_numbers(frame: pd.DataFrame, decimal: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read the text columns that hold nothing but numbers as people write them."""
    from pandas.api import types

    numbers: dict[str, list[float]] = {}
    for name in frame.columns:
        is_text = not types.is_numeric_dtype(frame[name].dtype)
        if is_text and all(isinstance(value, str) for value in frame[name].dropna()):
            words = frame[name].dropna().unique()
            # A column of plain numbers may stand beside those with a comma.
            for mark in (decimal, "."):
                known = {word: written_number(word, mark) for word in words}
                if known and None not in known.values():
                    numbers[name] = frame[name].map(known).astype(float).tolist()
                    break
    percent = [name for name in numbers if frame[name].str.contains("%").any()]
    signs = f"; the percent sign of {quote_names(percent)} was dropped" if percent else ""
    name = {".": "point", ",": "comma"}[decimal]
    note = f"Numbers written as text were read with a decimal {name}{signs}."
    return frame.assign(**numbers), (note,)


def _scan(
    file: Path,
    content: bytes | None,
    encoding: str,
    expected: str,
    header: int | None,
    check_names: Callable[[tuple[str, ...], Path], None],
) -> TextLayout:
    """Find the delimiter and the names, and check that every row has as many fields.

    pandas pads short rows, takes surplus fields for row labels and renames columns that have
    the same name, all without a word.
    """
    top = _find_top(file, content, encoding, expected, header)
    names = top.extent.names
    n_named = max((k for k, name in enumerate(names, 1) if name), default=len(names))
    is_over = any(not is_empty(cell) for row in top.rows for cell in row[n_named:])
    named = names if is_over else names[:n_named]
    check_names(named, file)
    if header != 0 and _is_numeric_row(named):
        raise InputError("header_is_numbers", file=file)
    n_rows, notes = _count_rows(file, content, encoding, top, n_named if not is_over else None)
    return TextLayout(
        file, top.delimiter, encoding, names, (*top.extent.notes, *notes), top.first, n_rows
    )


class _Top(NamedTuple):
    """How a file begins: its delimiter, names, first records, and where the values begin."""

    delimiter: str
    extent: Extent
    rows: list[list[str]]
    first: int
    width: int


def _find_top(
    file: Path, content: bytes | None, encoding: str, expected: str, header: int | None
) -> _Top:
    """Find the delimiter by which most records have as many fields, and the names."""
    tried: list[tuple[int, str, list[list[str]], list[int]]] = []
    trouble: csv.Error | None = None
    for delimiter in [expected, *(other for other in DELIMITERS if other != expected)]:
        with _as_text(file, content, encoding) as handle:
            found: list[tuple[list[str] | None, int]] = []
            try:
                found += islice(_records(handle, delimiter), ROWS_LOOKED_AT)
            except csv.Error as error:
                # What follows sound records is refused by its line, later.
                trouble = trouble or error
                if not found:
                    continue
        records = [row or [] for row, _ in found]
        widths = Counter(len(row) for row in records if len(row) > 1)
        n_alike = max(widths.values(), default=0)
        tried.append((n_alike, delimiter, records, [line for _, line in found]))
        if n_alike == sum(map(bool, records)):
            break
    if not tried:
        raise InputError("header_unreadable", file=file, trouble=trouble) from trouble
    # Of several that do as well, max takes the first.
    _, delimiter, records, lines = max(tried, key=lambda one: one[0])
    if not any(records):
        raise InputError("only_blank_lines", file=file)
    return _top_of(delimiter, records, lines, header)


def _top_of(delimiter: str, records: list[list[str]], lines: list[int], header: int | None) -> _Top:
    """Find the names among the first records by one delimiter."""
    whole = [k for k, row in enumerate(records) if row]
    rows = [records[k] for k in whole]
    if header is not None:
        # Lines are counted as an editor does, up to the end of a record.
        place = next((k for k, line in enumerate(lines) if line >= header), None)
        if header and (place is None or not records[place]):
            raise InputError("header_line_empty", "header", header=header)
        if header and place is not None:
            names = tuple(name.strip() for name in records[place])
            kept = [row for row in records[place + 1 :] if row]
            extent = Extent(place, names, place + 1)
            return _Top(delimiter, extent, kept, place + 1, len(records[place]))
        names = tuple(f"column{k}" for k in range(1, 1 + len(rows[0])))
        return _Top(delimiter, Extent(-1, names, 0), rows, 0, len(names))
    extent = find_extent(rows) or Extent(0, tuple(name.strip() for name in rows[0]), 1)
    width = len(rows[extent.header])
    names = (*extent.names, *[""] * width)[:width]
    place = whole[extent.header]
    notes = extent.notes
    if place != extent.header:
        shift = str(lines[place])
        notes = tuple(
            re.sub(rf"\bline {extent.header + 1}\b", f"line {shift}", note) for note in notes
        )
    first = whole[extent.first - 1] + 1
    return _Top(
        delimiter, extent._replace(names=names, notes=notes), rows[extent.first :], first, width
    )


def _count_rows(
    file: Path, content: bytes | None, encoding: str, top: _Top, n_named: int | None
) -> tuple[int, tuple[str, ...]]:
    """Count the rows of values, all of which have a field per column, and say what follows them."""
    last: deque[tuple[list[str], int, int]] = deque(maxlen=ROWS_BELOW)
    n_rows, line = 0, 1
    wrong: tuple[list[str], int, int] | None = None
    with _as_text(file, content, encoding) as handle:
        try:
            for k, (row, n_lines) in enumerate(_records(handle, top.delimiter)):
                if row is not None and k >= top.first:
                    n_rows += 1
                    last.append((row, line, n_lines))
                    is_sound = len(row) == top.width and not (
                        n_named is not None and any(row[n_named:])
                    )
                    if wrong is None and not is_sound:
                        wrong = last[-1]
                    if wrong is not None and wrong is last[0] and len(last) == ROWS_BELOW:
                        break
                line = n_lines + 1
        except csv.Error as error:
            raise InputError("cannot_split_line", line=line, file=file, error=error) from error
    n_below, notes = rows_below([row for row, _, _ in last], top.width)
    below = list(last)[len(last) - n_below :]
    if wrong is not None and not any(wrong is one for one in below):
        _refuse_fields(file, top, *wrong)
    return n_rows - n_below, notes


def _refuse_fields(file: Path, top: _Top, row: list[str], line: int, n_lines: int) -> None:
    """Say which row does not fit the names."""
    if len(row) == top.width:
        k = max(k for k, cell in enumerate(row) if cell)
        raise InputError("nameless_column_with_value", k=k + 1, file=file, line=line)
    remedy = "Give every row one field per column."
    if n_lines > line:
        remedy = (
            f"One of them runs on to line {n_lines}. Look for a quotation mark that is never "
            "closed."
        )
    raise InputError(
        "fields_differ", line=line, file=file, n_row=len(row), width=top.width, remedy=remedy
    )


def _as_text(file: Path, content: bytes | None, encoding: str) -> TextIO:
    return io.TextIOWrapper(_opened(file, content), encoding=encoding, newline="")


def _records(handle: TextIO, delimiter: str) -> Iterator[tuple[list[str] | None, int]]:
    """Fields of every record, None for a line that pandas skips, and the lines read so far."""
    lines = _LastLine(handle)
    skipped = " \t\r\n".replace(delimiter, "")
    rows = csv.reader(lines, delimiter=delimiter)
    for row in rows:
        yield (row if lines.last.strip(skipped) else None), rows.line_num


class _LastLine:
    """Lines of a file that remember the last one: a quoted nothing is not a blank line."""

    def __init__(self, handle: TextIO) -> None:
        self.handle = handle
        self.last = ""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        self.last = next(self.handle)
        return self.last


def _is_numeric_row(fields: tuple[str, ...]) -> bool:
    """Whether a header is really data: all numbers, and not merely columns called 0, 1, 2."""
    try:
        for field in fields:
            float(field)
    except ValueError:
        return False
    # Python takes the underscore of a name such as 1_2 for one between digits.
    if any("_" in field for field in fields):
        return False
    return not all(INTEGER.fullmatch(field) for field in fields)


def _decimal_comma_columns(frame: pd.DataFrame) -> list[str]:
    """Columns with text in which every value is a number, if only by a decimal comma."""
    from pandas.api import types

    found = []
    for name in frame.columns:
        if types.is_numeric_dtype(frame[name].dtype):
            continue
        values = frame[name].dropna().tolist()
        texts = [value for value in values if isinstance(value, str)]
        is_number = all(type(value) in (int, float, str) for value in values)
        if texts and is_number and all(map(DECIMAL_COMMA.fullmatch, texts)):
            found.append(name)
    return found


def _may_be_thousands(column: pd.Series) -> bool:
    """Whether the comma could group the digits of whole numbers, as in 12,345."""
    values = [str(value) for value in column.dropna() if "," in str(value)]
    return all(THOUSANDS.fullmatch(value) for value in values)
