"""A pickle-free archive: one zip file holding a JSON document and plain arrays.

Nothing in an archive can run code, and a damaged or hostile file ends in an `InputError`
before memory is spent on it.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np

from edgewise._core.errors import EdgewiseError, InputError
from edgewise._core.memory import Arrays, require_memory
from edgewise._core.typing import AnyArray
from edgewise.io.messages import repeated

#: Booleans, integers, floats, complex numbers, bytes and text; never Python objects.
PLAIN_KINDS: Final = "biufcSU"
#: Ways of packing that Python always has and that shrink data no further than `MAX_RATIO`.
PACKINGS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Deflate cannot shrink data further than 1032 to 1: above that, entries overlap on purpose.
MAX_RATIO: Final = 1100
#: Arrays of an npz file that may hold the column names, first match wins.
NAME_ARRAYS: Final = ("names", "columns", "feature_names")
#: What zipfile, zlib, json and numpy raise on a file that is cut short, altered or encrypted.
DAMAGE: Final = (
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


def checked_entries(archive: zipfile.ZipFile, file: Path) -> dict[str, zipfile.ZipInfo]:
    """Entries by name, once the table of contents alone shows that they are safe to unpack."""
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if twice := repeated(names):
        raise InputError("archive_repeated", file=file, twice=twice)
    if foreign := [info.filename for info in infos if info.compress_type not in PACKINGS]:
        raise InputError("archive_foreign_packing", file=file, foreign=foreign)
    total = sum(info.file_size for info in infos)
    if total > MAX_RATIO * file.stat().st_size:
        raise InputError("archive_bomb", file=file)
    return dict(zip(names, infos, strict=True))


def entry_content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Bytes of one entry, never more than it declares; zipfile compares the checksum."""
    with archive.open(info) as handle:
        content = handle.read(info.file_size + 1)
    if len(content) != info.file_size:
        raise ValueError(f"{info.filename} is cut short")
    return content


def plain_array(content: bytes, name: str, path: str | os.PathLike[str]) -> AnyArray:
    """Decode one npy entry after comparing the size its header claims with the bytes there."""
    stream = BytesIO(content)
    version = np.lib.format.read_magic(stream)
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in readers:
        raise InputError("array_format_version", path=path, name=name, version=version)
    with warnings.catch_warnings():
        # Of headers that Python 2 wrote, which are read all the same.
        warnings.simplefilter("ignore", UserWarning)
        shape, is_fortran, dtype = readers[version](stream)
    if dtype.hasobject:
        raise InputError("array_pickled", path=path, name=name)
    if dtype.kind not in PLAIN_KINDS or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise InputError("array_not_plain", path=path, name=name)
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content) - (
        start := stream.tell()
    ):
        raise InputError("array_header", path=path, name=name)
    flat: AnyArray = np.frombuffer(content, dtype, offset=start).copy()
    return flat.reshape(shape, order="F" if is_fortran else "C")


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary name beside ``path``; rename it to ``path`` once the block has ended well.

    Whoever writes the file creates it, so it gets the usual permissions, and the temporary name
    keeps the suffix, for writers that choose the format by it. When the block raises, the
    temporary file is removed and ``path`` is left as it was. A symbolic link is written through.

    Parameters
    ----------
    path : str or path
        The file to write. Its folder must exist.

    Yields
    ------
    pathlib.Path
        Name of a file, not yet there, in the same folder.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "edges.csv"
    ...     with atomic_path(target) as temporary:
    ...         _ = temporary.write_text("source,target")
    ...     [file.name for file in pathlib.Path(folder).iterdir()]
    ['edges.csv']
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError("cannot_write_folder", path=path)
    if not target.parent.is_dir():
        raise InputError("no_parent_folder", path=path, parent=target.parent)
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(8)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)  # noqa: PTH105, atomic by contract on every platform
    finally:
        temporary.unlink(missing_ok=True)


DOCUMENT_ENTRY: Final = "document.json"
ARRAY_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
ARRAY_ENTRY: Final = re.compile(rf"arrays/({ARRAY_NAME.pattern})\.npy")
MAX_BYTES: Final = 8 * 2**30
MAX_DOCUMENT_BYTES: Final = 256 * 2**20
#: The oldest date zip can hold, so that equal content gives equal bytes.
FIXED_DATE: Final = (1980, 1, 1, 0, 0, 0)


def write_archive(
    path: str | os.PathLike[str],
    document: Mapping[str, Any],
    arrays: Mapping[str, AnyArray],
) -> None:
    """Write a document and arrays into one file, whole or not at all.

    Parameters
    ----------
    path : str or path
        File to write; an old one is replaced.
    document : mapping
        Anything JSON can carry. numpy scalars become Python numbers, tuples become lists; NaN
        and infinities are written as Python's ``json`` does.
    arrays : mapping of str to ndarray
        Arrays of numbers, booleans or text, under names of letters, digits, ``_``, ``.``, ``-``.

    See Also
    --------
    read_archive : The way back.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "model.edgewise"
    ...     write_archive(file, {"alpha": 0.1}, {"precision": np.eye(2)})
    ...     document, arrays = read_archive(file)
    >>> document
    {'alpha': 0.1}
    >>> arrays["precision"]
    array([[1., 0.],
           [0., 1.]])
    """
    try:
        text = json.dumps(dict(document), default=_plain, indent=1)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError("document_not_json", path=path, error=error) from error
    plain = {name: np.asarray(array) for name, array in arrays.items()}
    if bad := [name for name in plain if not ARRAY_NAME.fullmatch(name)]:
        raise InputError("array_names", bad=bad)
    if bad := [name for name, array in plain.items() if array.dtype.kind not in PLAIN_KINDS]:
        raise InputError("array_types", bad=bad)
    with (
        atomic_path(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        archive.writestr(_entry(DOCUMENT_ENTRY), text)
        for name, array in plain.items():
            with archive.open(_entry(f"arrays/{name}.npy"), "w", force_zip64=True) as handle:
                np.lib.format.write_array(handle, array, allow_pickle=False)


def read_archive(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES
) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Read what `write_archive` wrote, trusting nothing in the file.

    Parameters
    ----------
    path : str or path
        The archive.
    max_bytes : int
        Refuse an archive that unpacks to more than this.

    Returns
    -------
    document : dict
    arrays : dict of str to ndarray

    Raises
    ------
    InputError
        If the file is missing, damaged or cut short, unpacks to too much, or holds anything but
        a document and plain arrays.

    Examples
    --------
    >>> read_archive("nowhere.edgewise")
    Traceback (most recent call last):
        ...
    edgewise._core.errors.InputError: There is no file nowhere.edgewise.
    """
    file = Path(path)
    if not file.is_file():
        kind = "is a folder, not an archive" if file.is_dir() else ""
        raise InputError(f"{path} {kind}." if kind else f"There is no file {path}.")
    try:
        with zipfile.ZipFile(file) as archive:
            entries = _checked_entries(archive, file, max_bytes)
            document = json.loads(entry_content(archive, entries.pop(DOCUMENT_ENTRY)))
            arrays = {
                ARRAY_ENTRY.sub(r"\1", name): plain_array(entry_content(archive, info), name, path)
                for name, info in entries.items()
            }
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError("archive_damaged", path=path, error=error) from error
    if not isinstance(document, dict):
        raise InputError("archive_document", path=path)
    return document, arrays


def _plain(value: object) -> object:
    """Python's counterpart of a numpy scalar, for ``json.dumps``."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is not a JSON type")


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, date_time=FIXED_DATE)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _checked_entries(
    archive: zipfile.ZipFile, file: Path, max_bytes: int
) -> dict[str, zipfile.ZipInfo]:
    """Entries by name, once the table of contents alone shows that they are safe to unpack."""
    entries = checked_entries(archive, file)
    if foreign := [
        name for name in entries if name != DOCUMENT_ENTRY and not ARRAY_ENTRY.fullmatch(name)
    ]:
        raise InputError("archive_entries", file=file, foreign=foreign)
    if DOCUMENT_ENTRY not in entries:
        raise InputError("archive_without_document", file=file, document_entry=DOCUMENT_ENTRY)
    total = sum(info.file_size for info in entries.values())
    if total > max_bytes or entries[DOCUMENT_ENTRY].file_size > MAX_DOCUMENT_BYTES:
        raise InputError(
            "archive_too_large", file=file, total=total / 2**20, max_bytes=max_bytes / 2**20
        )
    return entries


def read_npz(file: Path) -> tuple[tuple[str, ...], AnyArray]:
    """Read the one table of an npz file, with the names of its columns."""
    if not zipfile.is_zipfile(file):
        raise InputError("not_npz", file=file)
    try:
        with zipfile.ZipFile(file) as archive:
            arrays = _npz_arrays(archive, file)
    except EdgewiseError:
        raise
    except DAMAGE as error:
        raise InputError("npz_damaged", file=file) from error
    values = _table_array(arrays, file)
    return _array_names(arrays, values.shape[1], file), values


def _npz_arrays(archive: zipfile.ZipFile, file: Path) -> dict[str, AnyArray]:
    entries = checked_entries(archive, file)
    if foreign := [name for name in entries if not name.endswith(".npy")]:
        raise InputError("npz_foreign", file=file, foreign=foreign)
    require_memory(
        f"Reading {file}",
        [Arrays(2.0, (sum(info.file_size for info in entries.values()),), itemsize=1)],
        advice="Save fewer rows or columns.",
    )
    return {
        name.removesuffix(".npy"): plain_array(entry_content(archive, info), name, file)
        for name, info in entries.items()
    }


def _table_array(arrays: dict[str, AnyArray], file: Path) -> AnyArray:
    """Pick the one array of an npz file that is a table."""
    tables = {
        name: array
        for name, array in arrays.items()
        if array.ndim == 2 and array.dtype.kind in "biuf"
    }
    if not tables:
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise InputError("npz_without_table", file=file, found=found)
    if len(tables) > 1 and "X" not in tables:
        raise InputError("npz_several_tables", file=file, tables=tables)
    values = tables["X"] if "X" in tables else next(iter(tables.values()))
    if values.shape[1] == 0:
        raise InputError("npz_no_columns", file=file)
    return values


def _array_names(arrays: dict[str, AnyArray], n_columns: int, file: Path) -> tuple[str, ...]:
    for key in NAME_ARRAYS:
        if key in arrays and arrays[key].dtype.kind in "US":
            names = arrays[key].astype(str)
            if names.shape != (n_columns,):
                raise InputError(
                    "npz_names_shape", file=file, n_columns=n_columns, key=key, shape=names.shape
                )
            return tuple(str(name) for name in names)
    return tuple(f"x{k}" for k in range(n_columns))
