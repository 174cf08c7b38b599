"""The one numba decorator, and the folder that keeps what it compiled."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])

#: Set to 0 to compile afresh in each process and write nothing to disk.
CACHE_SWITCH = "EDGEWISE_NUMBA_CACHE"

PACKAGE = Path(__file__).parents[1]
SETTINGS: Any = numba.config


def kernel(function: Function) -> Function:
    """Compile ``function`` without the interpreter lock, kept on disk where that is possible.

    A compiled kernel contains the kernels that it calls, also those of other files, while numba
    looks only at the file a kernel stands in to tell whether what it kept is still good. So all
    kernels are kept in a folder named after a digest of all kernel sources: whatever changes, no
    kernel of before is found. Where no folder can be written (a read-only container) a kernel is
    compiled once per process instead.
    """
    folder = kernel_folder() if os.environ.get(CACHE_SWITCH, "1") != "0" else None
    if folder is None:
        return cast("Function", numba.njit(nogil=True)(function))
    # numba reads its setting while it decorates; kernels of other packages keep their own place.
    before = SETTINGS.CACHE_DIR
    SETTINGS.CACHE_DIR = str(folder)
    try:
        return cast("Function", numba.njit(cache=True, nogil=True)(function))
    finally:
        SETTINGS.CACHE_DIR = before


@cache
def kernel_folder() -> Path | None:
    """Create the folder of compiled kernels and delete those of other sources, or return None.

    The first place that can be written is taken: ``NUMBA_CACHE_DIR``, ``__pycache__`` of the
    package, the user's cache folder.
    """
    installation = hashlib.sha256(str(PACKAGE).encode()).hexdigest()[:8]
    for place in _places():
        folder = place / f"edgewise-kernels-{installation}-{_digest()}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        for other in place.glob(f"edgewise-kernels-{installation}-*"):
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
        return folder
    return None


def _places() -> Iterator[Path]:
    if SETTINGS.CACHE_DIR:
        yield Path(SETTINGS.CACHE_DIR)
    yield PACKAGE / "__pycache__"
    user = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    yield Path(user) if user else Path("~/.cache").expanduser()


def _digest() -> str:
    """Digest of all files of the package in which kernels stand."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_bytes()
        if b"@kernel" in source:
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + source + b"\0")
    return digest.hexdigest()[:16]
