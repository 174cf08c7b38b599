"""A study: the tasks behind a paper's tables, run so that nothing finished is ever lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.parallel import parallel_map, spawn
from edgewise._core.resume import SUFFIX, kept_keys, resumable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: Plain numbers and text by name.
Row: TypeAlias = dict[str, Any]
#: The rows of each part, by its name.
Results: TypeAlias = "dict[str, pd.DataFrame]"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Tasks of one kind.

    Attributes
    ----------
    name : str
        What the part is called in results.
    tasks : callable
        ``tasks(quick)`` lists the parameters of each task as plain values. A quick run has fewer.
    run : callable
        ``run(rng, **parameters)`` does one task and returns its rows. It must be importable by
        worker processes and draw from nothing but ``rng``.
    """

    name: str
    tasks: Callable[[bool], list[Row]]
    run: Callable[..., list[Row]]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement of the paper beside what the study found, and whether it holds."""

    published: str
    found: str
    holds: Literal["yes", "partly", "no"]


@dataclass(frozen=True, kw_only=True)
class Report:
    """The aggregated tables in Markdown, and the verdict on each claim."""

    text: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True, kw_only=True)
class Study:
    """A paper's experiments.

    Attributes
    ----------
    name, title : str
        Under which it is asked for, and what it is about.
    reference : str
        The paper, with its DOI or address.
    version : int
        Raised whenever a task would return other numbers, so that results kept before are left
        alone.
    parts : tuple of Part
        What to run.
    report : callable
        From results to the aggregated tables and claims.
    figures : callable
        From results to figures by file name, without suffix.
    with_table : callable, optional
        From the path of a table that does not come with the package to the study with the parts
        on it.
    """

    name: str
    title: str
    reference: str
    version: int
    parts: tuple[Part, ...]
    report: Callable[[Results], Report]
    figures: Callable[[Results], Mapping[str, Figure]]
    with_table: Callable[[Path], Study] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """Results of a run, the number of its tasks, and how many of them an earlier run had done."""

    results: Results
    n_tasks: int
    n_resumed: int


@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
    run: Callable[..., list[Row]]
    parameters: Row
    rng: np.random.Generator
    key: str


def run_study(
    study: Study,
    folder: Path,
    *,
    quick: bool = False,
    seed: int = 0,
    n_jobs: int = 1,
    verbose: bool = False,
) -> Outcome:
    """Run the tasks of a study that ``folder`` does not hold yet.

    Parameters
    ----------
    study : Study
        What to run.
    folder : Path
        Where the rows of finished tasks are kept, see `edgewise.resumable`. A run that is stopped
        at any moment goes on from there, and ends with the same numbers.
    quick : bool
        Run the smaller version.
    seed : int
        Of all random streams; each task has one of its own.
    n_jobs : int
        Tasks at a time. Results do not depend on it.
    verbose : bool
        Draw a progress bar on standard error.

    Returns
    -------
    Outcome
    """
    import pandas as pd

    if n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning. Pass 1 or more, or -1 for all cores.")
    tasks = {
        part.name: _tasks(study, part, quick, seed, rng)
        for part, rng in zip(study.parts, spawn(seed, len(study.parts)), strict=True)
    }
    flat = [task for of_part in tasks.values() for task in of_part]
    keys = [task.key for task in flat]
    with resumable(folder):
        n_resumed = len(kept_keys(_run_task, keys))
        done = parallel_map(
            _run_task,
            [(task,) for task in flat],
            keys=keys,
            n_jobs=n_jobs,
            description=study.name,
            verbose=int(verbose),
        )
    rows = dict(zip(keys, done, strict=True))
    results = {
        name: pd.DataFrame(
            [
                {"task": position, **task.parameters, **row}
                for position, task in enumerate(of_part)
                for row in rows[task.key]
            ]
        )
        for name, of_part in tasks.items()
    }
    return Outcome(results=results, n_tasks=len(flat), n_resumed=n_resumed)


def forget(folder: Path) -> None:
    """Delete the rows that are kept in a folder."""
    for file in folder.glob(f"*{SUFFIX}"):
        file.unlink()


def _tasks(
    study: Study, part: Part, quick: bool, seed: int, rng: np.random.Generator
) -> list[_Task]:
    listed = part.tasks(quick)
    return [
        _Task(
            run=part.run,
            parameters=parameters,
            rng=stream,
            key=json.dumps(
                {
                    "study": study.name,
                    "version": study.version,
                    "part": part.name,
                    "position": position,
                    "parameters": parameters,
                    "seed": seed,
                },
                sort_keys=True,
            ),
        )
        for position, (parameters, stream) in enumerate(
            zip(listed, rng.spawn(len(listed)), strict=True)
        )
    ]


def _run_task(task: _Task) -> list[Row]:
    # More threads would sum in another order, so that results depended on n_jobs.
    with blas_threads_for(1):
        return task.run(task.rng, **task.parameters)
