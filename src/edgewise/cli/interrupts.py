"""The end of a run that is told to stop: cleared up, said, and within two seconds."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import Final, NoReturn

from edgewise._core.process import end_now, pass_over_interrupts, send_signals_to
from edgewise.cli import progress

#: Seconds that the run has to end by itself, before it is ended.
PATIENCE: Final = 1.0
#: Seconds for what other packages do at the end of a process.
LAST_WORDS: Final = 0.3


@dataclass
class _Stop:
    """What is known about the signal that ends this process.

    Attributes
    ----------
    number : int
        The signal.
    is_asked : bool
        Whether it has come.
    is_written : bool
        Whether the results were there by then, so that the run ends well if it ends soon.
    is_over : bool
        Whether the run has ended by itself.
    is_told : bool
        Whether the user has been told.
    clear : list of callable
        What takes away what the run has written so far, and returns the folder of finished tasks
        where there is one.
    moving, telling : lock
        Held while results are moved, so that nothing ends the run, and while the user is told.
    """

    number: int = signal.SIGINT
    is_asked: bool = False
    is_written: bool = False
    is_over: bool = False
    is_told: bool = False
    clear: list[Callable[[], str | None]] = field(default_factory=list)
    moving: threading.Lock = field(default_factory=threading.Lock)
    telling: threading.Lock = field(default_factory=threading.Lock)


_stop = _Stop()


def end_on_signals() -> None:
    """Raise `KeyboardInterrupt` on Ctrl-C and on requests to terminate, and see to it that it ends.

    Compiled kernels raise it only when they are done, which may take minutes, and callbacks of
    garbage collection drop it. Whatever became of it, a thread of its own ends the process once
    `PATIENCE` is over.
    """
    _stop.is_over = False
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    send_signals_to(writer.detach())
    signal.signal(signal.SIGINT, _interrupt)
    pass_over_interrupts()
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # A run that was started to outlive its terminal ignores that it is closed.
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminate)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()


def finish() -> None:
    """Leave nothing that a run that is over would wait for, or that could still end it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _stop.moving:
        _stop.is_over = True
    # joblib would ask them to end and wait, for seconds on a busy machine.
    _end_workers()


def is_interrupted() -> bool:
    """Whether the run is to stop: an import that is broken off raises an error of its own."""
    return _stop.is_asked


def exit_code() -> int:
    """Exit code of a run that was stopped, as shells have it."""
    return 128 + _stop.number


@contextmanager
def cleared(clear: Callable[[], str | None]) -> Iterator[None]:
    """Call a function if the process is ended in this block, to take away what it has written.

    It is called in another thread, and returns the folder of finished tasks, if there is one.
    """
    _stop.is_written = False
    _stop.clear.append(clear)
    try:
        yield
    finally:
        _stop.clear.remove(clear)


@contextmanager
def not_stopped() -> Iterator[None]:
    """Write the results to their end, unless the run was stopped before."""
    with _stop.moving:
        if _stop.is_asked:
            raise KeyboardInterrupt
        yield
        _stop.is_written = True


def tell_stopped(kept: str | None = None) -> None:
    """Say that the run was stopped, and where its finished tasks are."""
    with _stop.telling:
        _stop.is_told = True
        _tell(kept)


def _tell(kept: str | None) -> None:
    what = "the results were written." if _stop.is_written else "nothing was written."
    if kept is not None:
        what = (
            f"what was finished is kept in '{kept}'. Run the same command again to go on from "
            "there."
        )
    if progress.is_json():
        progress.trouble("error", f"Interrupted; {what}", "interrupted", {})
        return
    # The terminal may be gone.
    with suppress(OSError):
        # A progress bar may have hidden the cursor.
        show = "\x1b[?25h" if sys.stderr.isatty() else ""
        sys.stderr.write(f"{show}Interrupted; {what}\n")
        sys.stderr.flush()


def end() -> NoReturn:
    """End this process and its workers at once, whichever thread asks for it first."""
    left = [clear() for clear in reversed(_stop.clear)]
    # Never given back: nobody else tells anything, or ends the process a second time.
    _stop.telling.acquire()
    if not _stop.is_told:
        _tell(next(filter(None, left), None))
    _end_workers()
    # Else joblib complains about what its workers leave. The rest of Python's own end takes too
    # long on a busy machine, and no thread could cut it short.
    last = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    last.start()
    last.join(LAST_WORDS)
    end_now(exit_code())


def _end_workers() -> None:
    if (module := sys.modules.get("multiprocessing.process")) is not None:
        for worker in module.active_children():
            with suppress(OSError):
                os.kill(worker.pid, getattr(signal, "SIGKILL", signal.SIGTERM))


def _interrupt(number: int, frame: FrameType | None) -> None:
    is_late = _stop.is_written or _stop.moving.locked()
    if not is_late and not _stop.is_asked:
        # Once: what clears up is not to be interrupted itself.
        _stop.is_asked = True
        raise KeyboardInterrupt


def _terminate(number: int, frame: FrameType | None) -> None:
    _stop.number = number
    # Whoever listens to Ctrl-C hears this, too.
    signal.raise_signal(signal.SIGINT)


def _watch(reader: socket.socket) -> None:
    """Wait for a signal, and end the process if it does not end by itself."""
    _stop.number = reader.recv(1)[0]
    time.sleep(PATIENCE)
    with _stop.moving:
        if not _stop.is_over:
            end()
