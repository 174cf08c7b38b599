"""The one numba decorator, and the folder that keeps what it compiled."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import cache
from math import prod
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from threadpoolctl import ThreadpoolController

from edgewise._core.process import compiled_for_any_value, kernels_kept_in
from edgewise._core.typing import FloatArray

Function = TypeVar("Function", bound=Callable[..., Any])

#: Set to 0 to compile afresh in each process and write nothing to disk.
CACHE_SWITCH = "EDGEWISE_NUMBA_CACHE"

PACKAGE = Path(__file__).parents[1]
SETTINGS: Any = numba.config
#: What numba keeps compiled kernels with, which has no types.
CACHING: Any = numba.core.caching


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
        return cast("Function", compiled_for_any_value(numba.njit(nogil=True)(function)))
    compiled: Any = numba.njit(nogil=True)(function)
    with kernels_kept_in(folder):
        if hasattr(compiled, "_cache"):
            compiled._cache = _SoundCache(function)
    return cast("Function", compiled_for_any_value(compiled))


class _CheckedFile(CACHING.IndexDataCacheFile):  # type: ignore[misc]
    """Compiled code before a checksum: what was cut short or altered is never run."""

    def _save_data(self, name: str, data: Any) -> None:
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(content + zlib.crc32(content).to_bytes(4))

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if zlib.crc32(content[:-4]) != int.from_bytes(content[-4:]):
            raise ValueError(f"{name} is damaged")
        # What reads the code goes no further than its end.
        return super()._load_data(name)


class _SoundCache(CACHING.FunctionCache):  # type: ignore[misc]
    """Kept kernels; damaged files are made anew, and a full disk only costs the cache.

    numba lets out whatever reading damaged files raises, and runs code that was altered.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        own = self._impl
        self._cache_file = _CheckedFile(
            cache_path=self._cache_path,
            filename_base=own.filename_base,
            source_stamp=own.locator.get_source_stamp(),
        )

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Read a kernel, or return None, upon which it is compiled."""
        try:
            return super().load_overload(sig, target_context)
        # Unpickling raises what it likes.
        except Exception:
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a kernel, where there is room for it."""
        with suppress(OSError):
            super().save_overload(sig, data)


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


#: A larger buffer is given back when its user is done with it, in bytes.
KEPT_BYTES = 16 * 2**20


class _Buffers(threading.local):
    """The buffers of one thread, by name."""

    def __init__(self) -> None:
        self.kept: dict[str, FloatArray] = {}


_BUFFERS = _Buffers()


def scratch(name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return an array with arbitrary contents, valid until the same name is asked for again.

    Parameters
    ----------
    name : str
        One user per name and thread at a time.
    shape : tuple of int
        Shape of the array.

    Examples
    --------
    >>> first = scratch("example", (2, 3))
    >>> again = scratch("example", (3, 1))
    >>> np.shares_memory(first, again)
    True
    """
    size = prod(shape)
    buffer = _BUFFERS.kept.get(name)
    if buffer is None or buffer.size < size:
        buffer = np.empty(size)
        if buffer.nbytes <= KEPT_BYTES:
            _BUFFERS.kept[name] = buffer
    return buffer[:size].reshape(shape)


#: Below this many variables a second BLAS thread costs more in waiting than it saves.
ONE_THREAD_BELOW = 1000


@cache
def _controller() -> ThreadpoolController:
    """Find the loaded libraries once; looking for them takes milliseconds."""
    return ThreadpoolController()


def blas_threads_for(n_features: int) -> AbstractContextManager[Any]:
    """Hold BLAS to one thread while a small problem is solved."""
    if n_features >= ONE_THREAD_BELOW:
        return nullcontext()
    limited: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limited


#: Rows that a kernel takes at a time, and rows from which threads take turns.
ROWS, THREADED_FROM = 32, 128
#: Runs ``task(first, last)`` for all rows, given their number; returns the results in order.
ShareRows = Callable[[int, Callable[[int, int], Any]], list[Any]]


def in_turn(n_rows: int, task: Callable[[int, int], Any]) -> list[Any]:
    """Run a kernel on some rows after the others.

    Examples
    --------
    >>> in_turn(40, lambda first, last: last - first)
    [32, 8]
    """
    return [task(k, min(k + ROWS, n_rows)) for k in range(0, n_rows, ROWS)]


@contextmanager
def rows_shared(n_rows: int) -> Iterator[ShareRows]:
    """Give the rows of a kernel, which lets go of the interpreter, to the cores there are.

    Kernels are always given the same rows, so that sums do not depend on the number of threads,
    which is ``NUMBA_NUM_THREADS`` and 1 inside workers of joblib.

    Examples
    --------
    >>> with rows_shared(200) as share:
    ...     share(70, lambda first, last: last - first)
    [32, 32, 6]
    """
    n_threads = SETTINGS.NUMBA_NUM_THREADS
    if n_rows < THREADED_FROM or n_threads == 1:
        yield in_turn
        return
    with ThreadPoolExecutor(n_threads) as pool:

        def share(n_rows: int, task: Callable[[int, int], Any]) -> list[Any]:
            starts = range(0, n_rows, ROWS)
            return list(pool.map(lambda k: task(k, min(k + ROWS, n_rows)), starts))

        yield share
