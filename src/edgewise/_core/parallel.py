"""Parallel tasks by joblib: progress, worker processes, interruption."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

from edgewise._core.errors import InputError
from edgewise._core.listening import Listener, listener
from edgewise._core.resume import Key, kept_tasks, not_resumable
from edgewise._core.typing import RandomState

if TYPE_CHECKING:
    from rich.progress import Progress


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
    """Block SIGINT in worker processes started in this block.

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


Result = TypeVar("Result")


def parallel_map(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    keys: Sequence[str] | None = None,
    n_jobs: int | None = None,
    description: str = "",
    verbose: int = 0,
    is_even: bool = True,
) -> list[Result]:
    """Call ``function(*task)`` for every task and return the results in task order.

    joblib's active backend decides where the calls run, so a Dask cluster takes them unchanged.
    Inside `resumable`, this process keeps results as they come, in whatever order, and reads them
    instead of computing them next time. Ctrl-C ends the workers, and is never a result.

    Parameters
    ----------
    function : callable
        Must be importable by worker processes.
    tasks : iterable of tuple
        Positional arguments, one tuple per call.
    keys : sequence of str, optional
        Everything that decides the result of each task, in words, so that tasks are found again
        inside `resumable` whatever other tasks come with them. Without it, all tasks of a call
        have to be the same as before.
    n_jobs : int or None
        Number of workers, as in scikit-learn.
    description : str
        Label of the progress bar.
    verbose : int
        Above 0, progress is shown on standard error: a bar at a terminal, else a line in ten
        seconds.
    is_even : bool
        Whether all tasks take about the same, so that the time left can be told.

    Returns
    -------
    list
        One result per task, the same for any ``n_jobs``.
    """
    check_jobs(n_jobs)
    task_list = list(tasks)
    names: Sequence[Key] = range(len(task_list)) if keys is None else keys
    kept = kept_tasks(function, task_list, keys)
    done: dict[Key, Result] = {} if kept is None else dict(kept.read())
    left = [k for k, name in enumerate(names) if name not in done]
    run = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    with (
        not_resumable(),
        progress(
            description,
            len(task_list),
            verbose,
            n_done=len(task_list) - len(left),
            is_even=is_even,
        ) as advance,
        interrupts_raised() as check,
    ):
        sender = os.getpid()
        with workers_deaf():
            results = run(delayed(_call)(sender, k, function, *task_list[k]) for k in left)
        try:
            for k, result in results:
                check()
                done[names[k]] = result if kept is None else kept.add(names[k], result)
                advance()
        except BaseException as error:
            # Ends the workers. Left to garbage collection, joblib would also warn of results that
            # nobody fetched.
            results.throw(error)
    return [done[name] for name in names]


def _call(sender: int, k: int, function: Callable[..., Result], *task: Any) -> tuple[int, Result]:
    """Run a task, where joblib sends it."""
    if os.getpid() != sender and threading.current_thread() is threading.main_thread():
        # One that somebody else has started. If it raised the interrupt by itself, it could return
        # it as a failure of its task.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return k, function(*task)


#: Seconds from one line of progress to the next, and to the first, where there is no terminal.
LINE_EVERY = 10.0
#: When the last of them was written, whatever wrote it.
_written = {"last": 0.0}
#: Seconds from one call of a listener to the next.
CALL_EVERY = 0.1
#: Bars that a terminal shows at present.
_bars: list[object] = []


@contextmanager
def _on_terminal(bar: Progress) -> Iterator[Progress]:
    """Show a bar, and keep lines off the terminal meanwhile."""
    _bars.append(bar)
    try:
        with bar:
            yield bar
    finally:
        _bars.remove(bar)


@contextmanager
def progress(
    label: str, total: int, verbose: int, *, n_done: int = 0, is_even: bool = True
) -> Iterator[Callable[[], None]]:
    """Yield a function that counts a task as done, on a bar or in lines on standard error.

    A terminal has a bar with the time left. Anything else has plain lines, one in `LINE_EVERY`
    seconds, none for what takes less; they tell the time left where tasks ``is_even`` in what
    they take.
    """
    if verbose <= 0:
        yield lambda: None
        return
    if (told := listener()) is not None:
        yield _heard(label, total, n_done, is_even, told)
        return
    from rich.console import Console
    from rich.progress import Progress

    console = Console(file=sys.stderr)
    if not console.is_terminal:
        write = _lines()
        start, done = time.monotonic(), n_done

        def count() -> None:
            nonlocal done
            done += 1
            left = (time.monotonic() - start) / (done - n_done) * (total - done)
            ahead = f", about {duration(left)} left" if is_even else ""
            if done < total:
                write(f"{label}: {done} of {total} done{ahead}")

        yield count
        return
    with _on_terminal(Progress(console=console, transient=True)) as bar:
        task = bar.add_task(label, completed=n_done, total=total)
        yield lambda: bar.advance(task)


def _heard(
    label: str, total: int, n_done: int, is_even: bool, told: Listener
) -> Callable[[], None]:
    """Return a function that counts a task as done, for a listener."""
    start = called = time.monotonic()
    done = n_done
    told(label, done / max(total, 1), None)

    def count() -> None:
        nonlocal called, done
        done += 1
        now = time.monotonic()
        if done == total or done == n_done + 1 or now - called >= CALL_EVERY:
            called = now
            left = (now - start) / (done - n_done) * (total - done)
            told(label, done / max(total, 1), left if is_even else None)

    return count


def counted(items: Iterable[Result], label: str, total: int, verbose: int) -> Iterator[Result]:
    """Yield the items, and count each when it is done with; later ones may take longer."""
    with progress(label, total, verbose, is_even=False) as advance:
        for item in items:
            yield item
            advance()


def _lines(
    every: float | None = None, put: Callable[[str], None] | None = None
) -> Callable[[str], None]:
    """Return a function that writes a line to standard error if the last is long ago."""
    last = time.monotonic()

    def write(text: str) -> None:
        nonlocal last
        if (now := time.monotonic()) - last >= (LINE_EVERY if every is None else every):
            last = _written["last"] = now
            if put is not None:
                put(text)
                return
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    return write


@contextmanager
def time_told() -> Iterator[None]:
    """Write how long the work of a block has taken, where no other line of progress is written.

    A terminal has no such lines while a bar is on it.
    """
    start = _written["last"] = time.monotonic()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(max(LINE_EVERY, 0.01)):
            now = time.monotonic()
            if not (_bars or listener()) and now - _written["last"] >= LINE_EVERY / 2:
                # Where nobody listens any more, work goes on.
                with suppress(OSError, ValueError):
                    sys.stderr.write(f"Still at work, after {duration(now - start)}\n")
                    sys.stderr.flush()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        is_over.set()
        watcher.join()


def duration(seconds: float) -> str:
    """Write a time as people say it.

    Examples
    --------
    >>> duration(0.2), duration(42.4), duration(600), duration(7200)
    ('1 second', '42 seconds', '10 minutes', '2 hours')
    """
    for size, unit in ((3600.0, "hour"), (60.0, "minute"), (1.0, "second")):
        if seconds >= 1.5 * size or unit == "second":
            number = max(1, round(seconds / size))
            break
    return f"{number} {unit}{'' if number == 1 else 's'}"


def check_jobs(n_jobs: int | None) -> None:
    """Raise where a number of workers means nothing."""
    if n_jobs == 0:
        raise InputError("zero_jobs")


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn a seed, a generator, a legacy ``RandomState`` or None into a generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, (int, np.integer)):
        if random_state is not None and random_state < 0:
            raise InputError("random_state_negative", random_state=random_state)
        return np.random.default_rng(random_state)
    raise InputError("random_state_type", type=type(random_state).__name__)


def spawn(random_state: RandomState, n_children: int) -> list[np.random.Generator]:
    """Give each of ``n_children`` tasks its own stream, so that no result depends on ``n_jobs``."""
    return as_generator(random_state).spawn(n_children)


@contextmanager
def step_counter(verbose: int) -> Iterator[Callable[[int, float], None] | None]:
    """Count the steps of a search on standard error, if asked to."""
    if verbose <= 0:
        yield None
        return

    def words(step: int, score: float) -> str:
        return f"Searching: step {step}, score {score:.2f}"

    if (told := listener()) is not None:
        write = _lines(CALL_EVERY, lambda text: told(text, None, None))
        yield lambda step, score: write(words(step, score))
        return
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    console = Console(file=sys.stderr)
    if not console.is_terminal:
        write = _lines()
        yield lambda step, score: write(words(step, score))
        return
    words_only = Progress(TextColumn("{task.description}"), console=console, transient=True)
    with _on_terminal(words_only) as bar:
        task = bar.add_task("Searching")
        yield lambda step, score: bar.update(task, description=words(step, score))
