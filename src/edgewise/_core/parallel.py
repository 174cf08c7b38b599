"""The one joblib call: every bootstrap, fold, path and simulation runs through here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, delayed

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
    run = Parallel(n_jobs=n_jobs, return_as="generator")
    results = run(delayed(function)(*task) for task in task_list)
    if verbose <= 0:
        return list(results)
    return list(_with_progress(results, len(task_list), description))


def _with_progress(results: Iterable[Result], total: int, label: str) -> Iterator[Result]:
    """Yield ``results`` while a bar on standard error counts them."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=sys.stderr), transient=True) as progress:
        task = progress.add_task(label, total=total)
        for result in results:
            progress.advance(task)
            yield result
