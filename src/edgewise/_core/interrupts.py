"""Re-raise KeyboardInterrupt until it is handled."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_raised() -> Iterator[Callable[[], None]]:
    """Make sure that what the handler of Ctrl-C raises inside the block also leaves it.

    Python raises `KeyboardInterrupt` in the middle of whatever runs. The dispatcher of compiled
    kernels turns it into a `SystemError`, which could be taken for a failure of the data, and
    callbacks of garbage collection drop it, so that the work would go on. The block ends with the
    interrupt itself in either case, and the function that is yielded raises it at once.

    Handlers run in the main thread, so there is nothing to do in others, nor where Ctrl-C is
    ignored. A handler that raises nothing has dealt with it.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield lambda: None
        return
    raised: list[BaseException] = []

    def remember(number: int, frame: FrameType | None) -> None:
        try:
            handler(number, frame)
        except BaseException as interrupt:
            raised.append(interrupt)
            raise

    def check() -> None:
        if raised:
            raise raised[0]

    signal.signal(signal.SIGINT, remember)
    try:
        yield check
    except Exception:
        if raised:
            raise raised[0] from None
        raise
    finally:
        signal.signal(signal.SIGINT, handler)
    check()


@contextmanager
def workers_deaf() -> Iterator[None]:
    """Let processes that are started in this block not hear Ctrl-C, from their first moment.

    A terminal sends it to all of them. The process that starts them hears it, also in this block,
    and ends them; their own complaints would only hide what it has to say.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
