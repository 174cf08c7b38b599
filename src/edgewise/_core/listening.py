"""Listeners to the progress of long tasks, in place of a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

#: Called with a label, the share done and the seconds left, the last two None where not known.
Listener: TypeAlias = Callable[[str, float | None, float | None], None]

_listeners: list[Listener] = []


def hear_progress(to_call: Listener | None) -> None:
    """Call a function of the progress of all work from now on, instead of writing it; None: write.

    Examples
    --------
    >>> from edgewise._core.parallel import progress
    >>> hear_progress(lambda label, share, seconds_left: print(label, share))
    >>> with progress("Resamples", total=2, verbose=1) as advance:
    ...     advance()
    ...     advance()
    Resamples 0.0
    Resamples 0.5
    Resamples 1.0
    >>> hear_progress(None)
    """
    _listeners[:] = [] if to_call is None else [to_call]


def listener() -> Listener | None:
    """Return the function that hears of progress, if there is one."""
    return _listeners[0] if _listeners else None
