"""A study: the tasks behind a paper's tables, whose finished results are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

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
#: What a small version of a study says in place of a verdict.
UNJUDGED: Final = "too few runs to judge"
#: The rows of each part, by its name.
Results: TypeAlias = "dict[str, pd.DataFrame]"


@dataclass(frozen=True)
class Claim:
    """A statement of the paper beside what the study found, and whether it holds.

    A small version of a study judges nothing: its claims are ``UNJUDGED``.
    """

    published: str
    found: str
    holds: Literal["yes", "partly", "no", "too few runs to judge"]


@dataclass(frozen=True)
class Report:
    """Tables in Markdown, and the verdict on each claim."""

    text: str
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Part:
    """One experiment: its tasks, and the tables, verdicts and figures made of their rows.

    Attributes
    ----------
    name : str
        Name of the part in results.
    tasks : callable
        ``tasks(quick)`` lists the parameters of each task as plain values. A quick run has fewer.
    run : callable
        ``run(rng, **parameters)`` does one task and returns its rows. It must be importable by
        worker processes and draw from nothing but ``rng``.
    report, figures : callable, optional
        From the rows of the part to its report, and to figures by file name without suffix.
    also : tuple of str
        Other parts whose rows, where they were run, are further arguments of the two.
    """

    name: str
    tasks: Callable[[bool], list[Row]]
    run: Callable[..., list[Row]]
    report: Callable[..., Report] | None = None
    figures: Callable[..., Mapping[str, Figure]] | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Study:
    """A paper's experiments.

    Attributes
    ----------
    name, title : str
        Name on the command line, and subject.
    reference : str
        The paper, with its DOI or address.
    version : int
        Raised whenever a task would return other numbers, so that results kept before are not
        used.
    parts : tuple of Part
        Experiments, in the order of their random streams.
    order : tuple of str
        Names of the parts in the order of the report; by default that of ``parts``.
    with_table : callable, optional
        From the path of a table that does not come with the package to the study with the parts
        on it; ``by`` names a column of groups, ``lobes`` a file about the columns.
    """

    name: str
    title: str
    reference: str
    version: int
    parts: tuple[Part, ...]
    order: tuple[str, ...] = ()
    with_table: Callable[..., Study] | None = None

    def report(self, results: Results) -> Report:
        """Join the reports of the parts."""
        parts = [part.report(*frames) for part, frames in self._with_rows(results) if part.report]
        return Report(
            text="\n\n".join(part.text for part in parts),
            claims=tuple(claim for part in parts for claim in part.claims),
        )

    def figures(self, results: Results) -> dict[str, Figure]:
        """Draw the figures of all parts, by file name."""
        drawn: dict[str, Figure] = {}
        for part, frames in self._with_rows(results):
            if part.figures:
                drawn.update(part.figures(*frames))
        return drawn

    def _with_rows(self, results: Results) -> Iterator[tuple[Part, list[pd.DataFrame]]]:
        """Yield the parts that were run with the rows that they report on."""
        parts = {part.name: part for part in self.parts}
        for name in self.order or parts:
            if name in results:
                wanted = (name, *parts[name].also)
                yield parts[name], [results[other] for other in wanted if other in results]


@cache
def load_rows(package: str, file: str) -> pd.DataFrame:
    """Read a table that lies beside the modules of a study."""
    import pandas as pd

    with files(package).joinpath(file).open(encoding="utf-8") as content:
        return pd.read_csv(content)


def combinations(**columns: Iterable[Any]) -> list[Row]:
    """List tasks with every combination of values; the first column varies fastest.

    Examples
    --------
    >>> combinations(size=[1, 2], seed=range(2))[:3]
    [{'size': 1, 'seed': 0}, {'size': 2, 'seed': 0}, {'size': 1, 'seed': 1}]
    """
    names = list(columns)
    values = product(*(list(columns[name]) for name in reversed(names)))
    return [dict(zip(names, reversed(combination), strict=True)) for combination in values]


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """Results of a run, the number of its tasks, and how many of them an earlier run had done."""

    results: Results
    n_tasks: int
    n_resumed: int


def run_study(
    study: Study,
    folder: Path,
    *,
    quick: bool = False,
    only: str | None = None,
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
    only : str, optional
        Name of the one part to run; its numbers are those of a run of all.
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

    names = [part.name for part in study.parts]
    if only is not None and only not in names:
        raise InputError(
            f"The study '{study.name}' has no part '{only}'. Choose from: {', '.join(names)}."
        )
    tasks: list[tuple[Part, int, Row, np.random.Generator]] = [
        (part, position, parameters, stream)
        for part, rng in zip(study.parts, spawn(seed, len(study.parts)), strict=True)
        if only in (None, part.name)
        for listed in (part.tasks(quick),)
        for position, (parameters, stream) in enumerate(
            zip(listed, rng.spawn(len(listed)), strict=True)
        )
    ]
    common = {"study": study.name, "version": study.version, "seed": seed}
    keys = [
        json.dumps(
            {**common, "part": part.name, "position": position, "parameters": parameters},
            sort_keys=True,
        )
        for part, position, parameters, _ in tasks
    ]
    with resumable(folder):
        n_resumed = len(kept_keys(_run_task, keys))
        done = parallel_map(
            _run_task,
            [(part.run, stream, parameters) for part, _, parameters, stream in tasks],
            keys=keys,
            n_jobs=n_jobs,
            description=study.name,
            verbose=int(verbose),
        )
    rows: dict[str, list[Row]] = {name: [] for name in names if only in (None, name)}
    for (part, position, parameters, _), found in zip(tasks, done, strict=True):
        rows[part.name] += [{"task": position, **parameters, **row} for row in found]
    results = {name: pd.DataFrame(of_part) for name, of_part in rows.items()}
    return Outcome(results=results, n_tasks=len(tasks), n_resumed=n_resumed)


def forget(folder: Path) -> None:
    """Delete the rows that are kept in a folder."""
    for file in folder.glob(f"*{SUFFIX}"):
        file.unlink()


def _run_task(
    run: Callable[..., list[Row]], rng: np.random.Generator, parameters: Row
) -> list[Row]:
    # More threads would sum in another order, so that results depended on n_jobs.
    with blas_threads_for(1):
        return run(rng, **parameters)
