"""Parsing of delimited text: everything pandas would let pass in silence is checked first."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Self, TextIO

from edgewise._core.errors import InputError
from edgewise.io.messages import quote_names

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


class TextLayout(NamedTuple):
    """How a text file is divided into named columns.

    Attributes
    ----------
    file : path
    delimiter : str
    names : tuple of str
        The header.
    notes : tuple of str
        What was assumed.
    na : tuple of str
        Words that stand for missing values, besides `MISSING_WORDS`.
    content : bytes or None
        All of the file, where it was read at once.
    decimal : str or None
        The decimal mark of numbers as people write them; None for plain ones.
    """

    file: Path
    delimiter: str
    names: tuple[str, ...]
    notes: tuple[str, ...]
    na: tuple[str, ...] = ()
    content: bytes | None = None
    decimal: str | None = None


def text_layout(
    file: Path,
    expected: str,
    *,
    check_names: Callable[[tuple[str, ...], Path], None],
    na: Sequence[str] = (),
    content: bytes | None = None,
    decimal: str | None = None,
) -> TextLayout:
    """Find out how a file is divided, and that every row has a field per column.

    Parameters
    ----------
    file : path
        A file that exists and is not empty.
    expected : str
        The delimiter that the suffix of the file promises.
    check_names : callable
        Called with the header before the rows are looked at, since a header with a fault makes
        every row look wrong.
    na : sequence of str
        Words that stand for missing values, besides `MISSING_WORDS`.
    content : bytes, optional
        All of the file, which is then not read again.
    decimal : str, optional
        The decimal mark of numbers as people write them.

    Returns
    -------
    TextLayout
    """
    try:
        delimiter, names = _scan(file, content, expected, check_names)
    except UnicodeDecodeError as error:
        raise _encoding_error(file, content) from error
    notes: tuple[str, ...] = ()
    if delimiter != expected:
        found, promised = DELIMITERS[delimiter], DELIMITERS[expected]
        notes = (f"{file} was split at the {found}: its header has no {promised}.",)
    return TextLayout(file, delimiter, names, notes, tuple(na), content, decimal)


def parse_text(layout: TextLayout) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read all rows; return them with what was assumed."""
    import pandas as pd

    with _parser_errors(layout.file), readable(layout.file, ENCODING, layout.content) as source:
        frame: pd.DataFrame = pd.read_csv(source, **_options(layout))
    return _with_decimal_points(with_large_numbers(frame), layout)


def parse_text_chunks(
    layout: TextLayout, columns: Sequence[str], rows: int
) -> Iterator[tuple[pd.DataFrame, tuple[str, ...]]]:
    """Read some columns, so many rows at a time."""
    import pandas as pd

    with (
        _parser_errors(layout.file),
        readable(layout.file, ENCODING) as source,
        pd.read_csv(source, chunksize=rows, usecols=list(columns), **_options(layout)) as reader,
    ):
        for frame in reader:
            yield _with_decimal_points(with_large_numbers(frame[list(columns)]), layout)


def _options(layout: TextLayout) -> dict[str, Any]:
    return {
        **number_options(),
        "sep": layout.delimiter,
        "header": 0,
        "names": list(layout.names),
        "index_col": False,
        "encoding": ENCODING,
        # Whole columns at once, so that a column has one type.
        "low_memory": False,
        # By itself pandas takes None, null, n/a and others for missing, which may be levels.
        "keep_default_na": False,
        "na_values": [*MISSING_WORDS, *layout.na],
        "decimal": layout.decimal or ".",
    }


@contextmanager
def _parser_errors(file: Path) -> Iterator[None]:
    """Say in our words what pandas cannot split."""
    import pandas as pd

    try:
        yield
    except pd.errors.ParserError as error:
        raise InputError(
            f"{file} cannot be split into fields. Look for a quotation mark that is never closed."
        ) from error


def _with_decimal_points(
    frame: pd.DataFrame, layout: TextLayout
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Read decimal commas, where the delimiter leaves room for them."""
    import pandas as pd

    if layout.decimal is not None:
        frame, notes = with_written_numbers(frame, layout.decimal)
        return frame, (*layout.notes, *notes)
    if layout.delimiter == "," or not (with_comma := _decimal_comma_columns(frame)):
        return frame, layout.notes
    if layout.delimiter == "\t" and all(_may_be_thousands(frame[name]) for name in with_comma):
        # Programs that separate by tabs write thousands with a comma as well.
        return frame, layout.notes
    numbers = {name: pd.to_numeric(frame[name].str.replace(",", ".")) for name in with_comma}
    note = f"The comma was read as the decimal point in {len(with_comma)} columns."
    return frame.assign(**numbers), (*layout.notes, note)


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
    signs = f"; the percent sign of {quote_names(percent)} was left out" if percent else ""
    name = {".": "point", ",": "comma"}[decimal]
    note = f"Numbers were read by the decimal {name}, as --decimal asks{signs}."
    return frame.assign(**numbers), (note,)


def _scan(
    file: Path,
    content: bytes | None,
    expected: str,
    check_names: Callable[[tuple[str, ...], Path], None],
) -> tuple[str, tuple[str, ...]]:
    """Find the delimiter and the header, and check that every row has as many fields.

    pandas pads short rows, takes surplus fields for row labels and renames columns that have
    the same name, all without a word.
    """
    delimiter, header = _header(file, content, expected)
    names = tuple(name.strip() for name in header)
    check_names(names, file)
    if _is_numeric_row(names):
        raise InputError(
            f"The first line of {file} holds numbers, not column names. Add a line of names."
        )
    with _as_text(file, content) as handle:
        has_header, line = False, 1
        try:
            for row, n_lines in _records(handle, delimiter):
                if row is not None:
                    if has_header and len(row) != len(names):
                        remedy = "Give every row one field per column."
                        if n_lines > line:
                            remedy = (
                                f"One of them runs on to line {n_lines}. Look for a quotation mark "
                                "that is never closed."
                            )
                        raise InputError(
                            f"Line {line} of {file} has {len(row)} fields, but the header has "
                            f"{len(names)}. {remedy}"
                        )
                    has_header = True
                line = n_lines + 1
        except csv.Error as error:
            raise InputError(
                f"Line {line} of {file} cannot be split into fields ({error}). "
                "Look for a quotation mark that is never closed."
            ) from error
    return delimiter, names


def _as_text(file: Path, content: bytes | None) -> TextIO:
    return io.TextIOWrapper(_opened(file, content), encoding=ENCODING, newline="")


def _header(file: Path, content: bytes | None, expected: str) -> tuple[str, list[str]]:
    """Find the delimiter (the expected one if the header has it) and the fields of the header."""
    candidates = [expected, *(other for other in DELIMITERS if other != expected)]
    header: list[str] = []
    for delimiter in candidates:
        with _as_text(file, content) as handle:
            try:
                header = next((row for row, _ in _records(handle, delimiter) if row), [])
            except csv.Error as error:
                raise InputError(
                    f"The header of {file} cannot be read ({error}). Is it a text file?"
                ) from error
        if not header:
            raise InputError(
                f"{file} is empty: it has blank lines only. Write names and rows into it."
            )
        if len(header) > 1:
            return delimiter, header
    return expected, header


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
    """Text columns in which every value is a number written with a decimal comma."""
    from pandas.api import types

    found = []
    for name in frame.columns:
        column = frame[name].dropna()
        if (
            types.is_string_dtype(column.dtype)
            and len(column)
            and column.map(lambda value: bool(DECIMAL_COMMA.fullmatch(str(value)))).all()
        ):
            found.append(name)
    return found


def _may_be_thousands(column: pd.Series) -> bool:
    """Whether the comma could group the digits of whole numbers, as in 12,345."""
    values = [str(value) for value in column.dropna() if "," in str(value)]
    return all(THOUSANDS.fullmatch(value) for value in values)


def _encoding_error(file: Path, content: bytes | None) -> InputError:
    """Say where UTF-8 failed; the position in the stream is lost, so it is looked for."""
    raw = file.read_bytes() if content is None else content
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return InputError(f"{file} is UTF-16 text, not UTF-8. Save it as UTF-8.")
    for signature, kind in PACKED.items():
        if raw.startswith(signature):
            return InputError(f"{file} is {kind}, not text. Unpack it or save it as text first.")
    try:
        raw.decode(ENCODING)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return InputError(
            f"{file} is not UTF-8 text: byte 0x{raw[error.start]:02x} in line {line} does not "
            "belong. Save it as UTF-8; if it came from an older program, it is probably latin-1."
        )
    return InputError(f"{file} changed while it was read. Read it again.")
