"""The one joblib call: every bootstrap, fold, path and simulation runs through here."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

from edgewise._core.errors import InputError
from edgewise._core.interrupts import interrupts_raised, workers_deaf
from edgewise._core.resume import Key, kept_tasks, not_resumable
from edgewise._core.typing import RandomState

Result = TypeVar("Result")


def parallel_map(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    keys: Sequence[str] | None = None,
    n_jobs: int | None = None,
    description: str = "",
    verbose: int = 0,
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
        Above 0, a progress bar is drawn on standard error.

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
        _progress(description, len(task_list) - len(left), len(task_list), verbose) as advance,
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


@contextmanager
def _progress(label: str, n_done: int, total: int, verbose: int) -> Iterator[Callable[[], None]]:
    """Yield what counts a task as done, on a bar on standard error that estimates the time left."""
    if verbose <= 0:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(label, completed=n_done, total=total)
        yield lambda: progress.advance(task)


def check_jobs(n_jobs: int | None) -> None:
    """Raise where a number of workers means nothing."""
    if n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning. Pass 1 or more, or -1 for all cores.")


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn a seed, a generator, a legacy ``RandomState`` or None into a generator."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, (int, np.integer)):
        if random_state is not None and random_state < 0:
            raise InputError(f"random_state must be at least 0, got {random_state}.")
        return np.random.default_rng(random_state)
    raise InputError(
        "random_state must be an integer, a numpy Generator or RandomState, or None; "
        f"got {type(random_state).__name__}."
    )


def spawn(random_state: RandomState, n_children: int) -> list[np.random.Generator]:
    """Give each of ``n_children`` tasks its own stream, so that no result depends on ``n_jobs``."""
    return as_generator(random_state).spawn(n_children)


@contextmanager
def step_counter(verbose: int) -> Iterator[Callable[[int, float], None] | None]:
    """Count the steps of a search on standard error, if asked to."""
    if verbose <= 0:
        yield None
        return
    import sys

    from rich.console import Console
    from rich.progress import Progress, TextColumn

    text = TextColumn("{task.description}")
    with Progress(text, console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task("Searching")
        yield lambda step, score: progress.update(
            task, description=f"Searching: step {step}, score {score:.2f}"
        )
