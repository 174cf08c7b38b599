"""``edgewise reproduce``: a paper's simulated tables and figures, ours beside the published."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from edgewise._core.errors import InputError
from edgewise.cli.options import Dask, Jobs, Json, Quiet, Seed
from edgewise.cli.shell import say, say_json, shows_progress, tell, warnings_told
from edgewise.reproduce import STUDIES, load_study

if TYPE_CHECKING:
    from edgewise.reproduce.study import Report, Study

#: Folder, within that of the results, where finished tasks are kept.
CHECKPOINTS: Final = "checkpoints"
_VERDICT: Final = {"yes": "holds", "partly": "holds in part", "no": "does not hold"}


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            help=f"Which study: {', '.join(STUDIES)}.", metavar="NAME", show_default=False
        ),
    ],
    quick: Annotated[
        bool, typer.Option("--quick", help="A small version, in about a minute.")
    ] = False,
    part: Annotated[
        str | None,
        typer.Option(help="The one part of the study to run.", metavar="NAME", show_default="all"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write.", metavar="DIR", show_default="edgewise-reproduce/NAME"
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget what an earlier run has finished.")
    ] = False,
    table: Annotated[
        Path | None,
        typer.Option(
            help="Table that does not come with the package, for 'discriminative': brain regions "
            "of young and old people.",
            metavar="FILE",
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    random_state: Seed = 0,
    n_jobs: Jobs = 1,
    dask: Dask = None,
) -> None:
    """Run a paper's experiments again and compare with what it says.

    Finished tasks are kept in the folder: a run that was stopped goes on
    where it was when the same command is given again.
    """
    study = load_study(name) if table is None else _with_table(load_study(name), table)
    folder = Path("edgewise-reproduce") / name if out is None else out
    amount = {"quick": quick, "only": part, "seed": random_state, "n_jobs": n_jobs}
    record = _run(study, folder, table, amount, fresh=fresh)
    if json:
        say_json(record)
        return
    say(_summary(study, record))
    say(f"Written to {folder}: {', '.join(record['files'])}")
    say(f"Look at {folder / 'tables.md'} first.")


def _with_table(study: Study, table: Path) -> Study:
    if study.with_table is None:
        raise InputError(f"The study '{study.name}' takes no table. Leave --table out.")
    return study.with_table(table)


def _run(
    study: Study,
    folder: Path,
    table: Path | None,
    amount: dict[str, Any],
    *,
    fresh: bool,
) -> dict[str, Any]:
    """Run a study, by the arguments of `run_study`, and write what it found."""
    import json
    import time
    from datetime import UTC, datetime

    from edgewise.cli.run import results_folder, versions
    from edgewise.reproduce.study import forget, run_study
    from edgewise.reproduce.tables import write_results

    start = time.perf_counter()
    quick, seed = amount["quick"], amount["seed"]
    with (
        warnings_told() as told,
        results_folder(folder, kept=CHECKPOINTS) as draft,
    ):
        if fresh:
            forget(folder / CHECKPOINTS)
        tell(f"{study.title}: compiling and running ...")
        outcome = run_study(study, folder / CHECKPOINTS, **amount, verbose=shows_progress())
        tell("Writing the tables and figures ...")
        report = write_results(draft, study, outcome.results, quick=quick, seed=seed)
        files = [*sorted(file.name for file in draft.iterdir()), "run.json"]
        record = {
            "command": "reproduce",
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "seed": seed,
            "parameters": {
                "study": study.name,
                "version": study.version,
                "quick": quick,
                "part": amount["only"],
                "table": None if table is None else str(table),
            },
            "reference": study.reference,
            "warnings": list(told),
            "n_tasks": outcome.n_tasks,
            "n_resumed": outcome.n_resumed,
            "claims": _claims(report),
            "seconds": round(time.perf_counter() - start, 3),
            "files": {file: str(folder / file) for file in files},
        }
        text = json.dumps(record, indent=1, allow_nan=False)
        (draft / "run.json").write_text(text + "\n", encoding="utf-8")
    return record


def _claims(report: Report) -> list[dict[str, str]]:
    return [
        {"published": claim.published, "holds": claim.holds, "found": claim.found}
        for claim in report.claims
    ]


def _summary(study: Study, record: dict[str, Any]) -> str:
    size = "a small version" if record["parameters"]["quick"] else "the whole"
    lines = [f"{study.title}: {size}, {record['n_tasks']} tasks", ""]
    for claim in record["claims"]:
        lines += textwrap.wrap(
            f"{_VERDICT[claim['holds']]}: {claim['published']}",
            width=96,
            subsequent_indent="  ",
        )
        lines += textwrap.wrap(
            claim["found"], width=96, initial_indent="  ", subsequent_indent="  "
        )
        lines.append("")
    return "\n".join(lines)
