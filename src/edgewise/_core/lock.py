"""A folder that one run at a time may write to."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from edgewise._core.errors import InputError

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
            raise InputError(
                f"Another run is at work in '{path.parent}'. Wait until it has ended, or name "
                "another folder."
            ) from None
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
