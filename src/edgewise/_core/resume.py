"""Checkpoints: finished tasks kept in a folder, so that an interrupted run can resume."""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.plain_values import PlainReader, PlainWriter
from edgewise._core.typing import AnyArray
from edgewise._version import __version__

#: File in a folder that is locked while a run is at work there.
LOCK: Final = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Keep other runs out of a folder, or refuse to start where one is at work.

    The operating system holds the lock and frees it when the process ends, however it ends: what
    a killed run leaves behind blocks nobody. Yields whether there is a lock at all; a few network
    file systems have none.
    """
    path = folder / LOCK
    file, is_locked = _acquire(path)
    try:
        yield is_locked
    finally:
        # Before the lock is given back, so that nobody who has it loses the file.
        if sys.platform != "win32":
            path.unlink(missing_ok=True)
        file.close()
        if sys.platform == "win32":
            with suppress(OSError):
                path.unlink()


def _acquire(path: Path) -> tuple[BinaryIO, bool]:
    while True:
        file = path.open("ab")
        try:
            is_locked = _lock(file)
        except BlockingIOError:
            file.close()
            raise InputError("folder_in_use", parent=path.parent) from None
        # The run before may have deleted the file after it was opened here.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file, is_locked
        file.close()


if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError from error
        return True

else:
    import fcntl

    def _lock(file: BinaryIO) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            return False
        return True


#: How the name of every file ends.
SUFFIX: Final = ".tasks"
#: Bytes of the length and of the checksum in front of a record.
_SIZE, _CHECK = 8, 4

Result = TypeVar("Result")
#: What a task is called in its file: its number among the tasks of a call, or a text.
Key: TypeAlias = int | str


class _Keeper(NamedTuple):
    """Where finished tasks are kept, and whether points of paths are too."""

    folder: Path
    paths: bool


_keeper: ContextVar[_Keeper | None] = ContextVar("keeper", default=None)


@contextmanager
def resumable(folder: str | os.PathLike[str], *, paths: bool = True) -> Iterator[None]:
    """Keep every finished resample, permutation, fold and point of a path in a folder.

    Whatever runs inside the block writes the result of each task to ``folder`` as soon as it is
    there. When the same call is made again in such a block, after the process was killed or the
    machine went down, results that are kept are read instead of computed, and the rest is
    computed as it would have been: the final numbers are the same. A call is the same when its
    data, its parameters and its seed are; pass ``random_state``, since a fresh seed makes another
    call. Files hold numbers and text, never code. One process at a time can use a folder; another
    is refused, and a process that has died holds nobody up.

    Parameters
    ----------
    folder : str or path
        Made where it does not exist. Delete it when the work is done.
    paths : bool
        Also keep each solution along a warm-started path of Gaussian graphs. They are matrices:
        at 5000 columns, each takes 400 MB.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import edgewise
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> model = edgewise.BootstrapGraph(edgewise.GaussianGraph(alpha=0.1), random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder, edgewise.resumable(folder):
    ...     first = model.fit(X).edge_frequency_
    ...     again = model.fit(X).edge_frequency_
    >>> np.array_equal(first, again)
    True
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise InputError("resume_needs_folder", path=path)
    path.mkdir(parents=True, exist_ok=True)
    keeper = _keeper.get()
    # A block within a block of the same folder has its lock already.
    is_mine = keeper is not None and keeper.folder.samefile(path)
    with nullcontext() if is_mine else locked(path), _kept_by(_Keeper(path, paths)):
        yield


def not_resumable() -> AbstractContextManager[None]:
    """Keep nothing inside the block: what a task does itself is part of the task."""
    return _kept_by(None)


@contextmanager
def _kept_by(keeper: _Keeper | None) -> Iterator[None]:
    token = _keeper.set(keeper)
    try:
        yield
    finally:
        _keeper.reset(token)


def kept_tasks(
    function: Callable[..., Any], tasks: list[tuple[Any, ...]], keys: Sequence[str] | None = None
) -> KeptTasks | None:
    """Open the file of a call, or return None where nothing is kept.

    Tasks with keys share the file of all calls of the function, in whatever number and order they
    come. Others are known by their number among the tasks of the same call.
    """
    keeper = _keeper.get()
    if keeper is None or not (tasks or keys):
        return None
    import joblib

    # Everything that decides the results, data and random streams included.
    what = (__version__, function.__module__, function.__qualname__, tasks if keys is None else ())
    try:
        digest = joblib.hash(what)
    # The parts of a task raise what they like when they cannot be written down.
    except Exception as error:
        raise InputError("task_not_importable", error=error) from error
    return KeptTasks(keeper.folder / f"{digest}{SUFFIX}")


def kept_keys(function: Callable[..., Any], keys: Sequence[str]) -> set[str]:
    """Find which tasks of a function are kept, of those that go by these keys."""
    kept = kept_tasks(function, [], keys)
    return set() if kept is None else {*keys} & {key for key, _ in kept.read()}


def chain(step: Callable[..., Result], tasks: list[tuple[Any, ...]]) -> Iterator[Result]:
    """Yield ``step(previous, *task)`` for task after task, ``previous`` being None at first.

    Inside `resumable`, results are kept as they come and read instead of computed next time.
    """
    keeper = _keeper.get()
    kept = kept_tasks(step, tasks) if keeper is not None and keeper.paths else None
    previous: Result | None = None
    n_done = 0
    for key, result in () if kept is None else kept.read():
        if key == n_done:
            n_done += 1
            previous = result
            yield result
    for number, task in enumerate(tasks[n_done:], start=n_done):
        result = step(previous, *task)
        previous = result if kept is None else kept.add(number, result)
        yield previous


class KeptTasks:
    """Results of tasks of a call, in one file that only ever grows.

    A record is its length, a checksum and its bytes, which hold the key of its task: records may
    come in any order, and none is taken for that of another task. A process that is killed while
    it writes leaves a record cut short, which is dropped, and so is all that follows damage.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> Iterator[tuple[Key, Any]]:
        """Yield key and result of every record, then drop what follows the last whole one."""
        if not self.path.exists():
            return
        end = 0
        with self.path.open("rb") as file:
            while (record := self._next_record(file)) is not None:
                yield _decode(record, self.path)
                end = file.tell()
        os.truncate(self.path, end)

    def _next_record(self, file: BinaryIO) -> bytes | None:
        head = file.read(_SIZE + _CHECK)
        size = int.from_bytes(head[:_SIZE])
        left = os.fstat(file.fileno()).st_size - file.tell()
        if len(head) < _SIZE + _CHECK or size > left:
            return None
        record = file.read(size)
        if zlib.crc32(record) != int.from_bytes(head[_SIZE:]):
            warnings.warn(
                DataWarning("resume_damaged", path=self.path, size=size + left), stacklevel=4
            )
            return None
        return record

    def add(self, key: Key, result: Any) -> Any:
        """Write a result and return it as a later run will read it."""
        record = _encode(key, result)
        head = len(record).to_bytes(_SIZE) + zlib.crc32(record).to_bytes(_CHECK)
        with self.path.open("ab") as file:
            file.write(head + record)
        return _decode(record, self.path)[1]


def _encode(key: Key, result: Any) -> bytes:
    """One line of JSON, key and result, then the arrays it names, in order."""
    writer = PlainWriter(_name_of)
    text = json.dumps([key, writer.encode(result, "The result of a task")])
    stream = io.BytesIO()
    stream.write(text.encode() + b"\n")
    for array in writer.arrays.values():
        np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def _decode(record: bytes, path: Path) -> tuple[Key, Any]:
    stream = io.BytesIO(record)
    try:
        key, document = json.loads(stream.readline())
        arrays: dict[str, AnyArray] = {}
        while stream.tell() < len(record):
            arrays[f"a{len(arrays)}"] = np.lib.format.read_array(stream, allow_pickle=False)
        return key, PlainReader(arrays, _class_of).decode(document)
    except (AttributeError, ImportError, KeyError, TypeError, ValueError) as error:
        raise InputError("checkpoint_unreadable", path=path, error=error) from error


def _name_of(result: type) -> str | None:
    """Name a class of results of this package by where it stands."""
    is_result = hasattr(result, "__dataclass_fields__") or hasattr(result, "_fields")
    return f"{result.__module__}:{result.__qualname__}" if is_result else None


def _class_of(name: str) -> type | None:
    """Find a class of results of this package; no other module is ever imported."""
    module, _, qualified = name.partition(":")
    if not module.startswith("edgewise.") or not qualified.isidentifier():
        return None
    result: type = getattr(importlib.import_module(module), qualified)
    return result if _name_of(result) == name else None
