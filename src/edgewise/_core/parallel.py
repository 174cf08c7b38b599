"""The one joblib call: every bootstrap, fold, path and simulation runs through here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, delayed

from edgewise._core.resume import kept_tasks, not_resumable

Result = TypeVar("Result")


def parallel_map(
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
    *,
    n_jobs: int | None = None,
    description: str = "",
    verbose: int = 0,
) -> list[Result]:
    """Call ``function(*task)`` for every task and return the results in task order.

    joblib's active backend decides where the calls run, so a Dask cluster takes them unchanged.
    Inside `resumable`, results are kept as they come and read instead of computed next time.

    Parameters
    ----------
    function : callable
        Must be importable by worker processes.
    tasks : iterable of tuple
        Positional arguments, one tuple per call.
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
    task_list = list(tasks)
    kept = kept_tasks(function, task_list)
    done: list[Result] = [] if kept is None else list(kept.read())
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    with not_resumable():
        results = run(delayed(function)(*task) for task in task_list[len(done) :])
        if verbose > 0:
            results = _with_progress(results, len(done), len(task_list), description)
        done.extend(results if kept is None else map(kept.add, results))
    return done


def _with_progress(
    results: Iterable[Result], n_done: int, total: int, label: str
) -> Iterator[Result]:
    """Yield ``results`` while a bar on standard error counts them and estimates the time left."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(label, completed=n_done, total=total)
        for result in results:
            progress.advance(task)
            yield result
