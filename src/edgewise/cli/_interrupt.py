"""Ctrl-C that is heard even where a library swallows it."""

from __future__ import annotations

import signal
from threading import Event
from types import FrameType
from typing import Final

#: Seconds after which an interrupt that nobody heard is raised once more.
PATIENCE: Final = 3.0

_HAS_TIMER: Final = hasattr(signal, "setitimer")
_is_asked = Event()


def insist_on_interrupts() -> None:
    """Raise `KeyboardInterrupt` on Ctrl-C, again and again until `interrupt_heard`.

    Imports and callbacks of garbage collection may catch the exception or drop it; the run would
    then go on for hours as if nobody had asked it to stop.
    """
    signal.signal(signal.SIGINT, _interrupt)
    if _HAS_TIMER:
        signal.signal(signal.SIGALRM, _interrupt)


def interrupt_heard() -> None:
    """Let what follows, such as clearing up, run without being interrupted again."""
    if _HAS_TIMER:
        signal.setitimer(signal.ITIMER_REAL, 0.0)


def is_interrupted() -> bool:
    """Whether Ctrl-C was pressed: an import that it breaks off raises an error of its own."""
    return _is_asked.is_set()


def _interrupt(number: int, frame: FrameType | None) -> None:
    _is_asked.set()
    if _HAS_TIMER:
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    raise KeyboardInterrupt
