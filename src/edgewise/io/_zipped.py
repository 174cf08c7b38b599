"""Plain arrays out of a zip file in which nothing is trusted."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray
from edgewise.io.messages import quote_names, repeated

#: Booleans, integers, floats, complex numbers, bytes and text; never Python objects.
PLAIN_KINDS: Final = "biufcSU"
#: Ways of packing that Python always has and that shrink data no further than `MAX_RATIO`.
PACKINGS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: Deflate cannot shrink data further than 1032 to 1: above that, entries overlap on purpose.
MAX_RATIO: Final = 1100
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
        raise InputError(f"{file} holds {quote_names(twice)} twice. Do not use it.")
    if foreign := [info.filename for info in infos if info.compress_type not in PACKINGS]:
        raise InputError(
            f"{file} packs {quote_names(foreign)} in a way that is not read here. Write it again."
        )
    total = sum(info.file_size for info in infos)
    if total > MAX_RATIO * file.stat().st_size:
        raise InputError(f"{file} claims to unpack to more than its size can hold. Do not use it.")
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
        raise InputError(f"{path}: {name} has the unknown format version {version}.")
    with warnings.catch_warnings():
        # Of headers that Python 2 wrote, which are read all the same.
        warnings.simplefilter("ignore", UserWarning)
        shape, is_fortran, dtype = readers[version](stream)
    if dtype.hasobject:
        raise InputError(
            f"{path}: {name} holds pickled objects, which are never loaded. Save plain numbers or "
            "text."
        )
    if dtype.kind not in PLAIN_KINDS or dtype.itemsize == 0 or dtype.subdtype is not None:
        raise InputError(f"{path}: {name} does not hold plain numbers or text. Do not use it.")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(content) - (
        start := stream.tell()
    ):
        raise InputError(f"{path}: {name} does not hold the array its header describes.")
    flat: AnyArray = np.frombuffer(content, dtype, offset=start).copy()
    return flat.reshape(shape, order="F" if is_fortran else "C")
