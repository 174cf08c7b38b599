"""A line on standard error that counts the steps of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
