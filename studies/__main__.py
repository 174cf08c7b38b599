"""Run studies: ``python -m studies NAME [--quick] [--jobs N]``."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from edgewise import EdgewiseError, InputError
from studies import find_studies, load_study
from studies.study import Study, forget, run_study

#: Folder, within that of the results, where finished tasks are kept.
CHECKPOINTS: Final = "checkpoints"
#: How the summary begins a claim.
VERDICTS: Final = {"yes": "holds", "partly": "holds in part", "no": "does not hold"}


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    made = argparse.ArgumentParser(
        prog="python -m studies",
        description=(
            "Run a paper's experiments again and compare with what it says. Finished tasks are "
            "kept: a run that was stopped goes on where it was when the command is given again."
        ),
    )
    made.add_argument("name", metavar="NAME", help=f"{', '.join(find_studies())}, or all")
    made.add_argument(
        "--quick", action="store_true", help="run a small version, which judges nothing"
    )
    made.add_argument("--part", metavar="NAME", help="run this part of the study only")
    made.add_argument("--jobs", type=int, default=1, metavar="N", help="tasks at a time")
    made.add_argument("--seed", type=int, default=0, help="seed of all random numbers")
    made.add_argument(
        "--out", type=Path, default=Path("studies-out"), metavar="FOLDER",
        help="write each study into FOLDER/NAME (default: studies-out)",
    )  # fmt: skip
    made.add_argument(
        "--pages", type=Path, metavar="FOLDER",
        help="write the tables of each study to FOLDER/NAME.md, too",
    )  # fmt: skip
    made.add_argument("--fresh", action="store_true", help="forget what an earlier run finished")
    made.add_argument(
        "--table", type=Path, metavar="FILE",
        help="table of brain regions for 'discriminative', which does not come with the package",
    )  # fmt: skip
    made.add_argument(
        "--by", metavar="COLUMN", help="column of --table that holds the two groups to compare"
    )
    made.add_argument(
        "--lobes", type=Path, metavar="FILE",
        help="table with the columns part and lobe: to which lobe regions belong by their names",
    )  # fmt: skip
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the studies that are asked for; return 1 if one failed, 2 where a request makes no sense.

    A study that fails does not keep the others from running.
    """
    options = parser().parse_args(arguments)
    try:
        names = list(find_studies()) if options.name == "all" else [options.name]
        chosen = [_with_table(load_study(name), options, is_one=len(names) == 1) for name in names]
        if options.part and len(names) > 1:
            raise InputError("--part goes with the name of one study.")
        if options.jobs == 0:
            raise InputError("--jobs 0: run 1 or more tasks at a time, or -1 for all cores.")
    except EdgewiseError as error:
        _tell(str(error))
        return 2
    failed = []
    for study in chosen:
        try:
            _carry_out(study, options)
        except KeyboardInterrupt:
            _tell("Interrupted. Give the same command again to go on from here.")
            return 130
        except Exception:
            failed.append(study.name)
            _tell(traceback.format_exc())
    if failed:
        _tell(f"Failed: {', '.join(failed)}")
    return int(bool(failed))


def _with_table(study: Study, options: argparse.Namespace, *, is_one: bool) -> Study:
    """Give a study its table; of all studies, those that take none run without."""
    if options.table is None or (study.with_table is None and not is_one):
        return study
    if study.with_table is None:
        raise InputError(f"The study '{study.name}' takes no table. Leave --table out.")
    about = {"by": options.by, "lobes": options.lobes}
    return study.with_table(
        options.table, **{name: value for name, value in about.items() if value is not None}
    )


def _carry_out(study: Study, options: argparse.Namespace) -> None:
    """Run a study, write what it found, and say it."""
    from edgewise.cli.run import versions
    from studies.tables import write_results

    start = time.perf_counter()
    folder = options.out / study.name
    if options.fresh:
        forget(folder / CHECKPOINTS)
    _tell(f"{study.title} ...")
    with _kept_warnings() as said:
        outcome = run_study(
            study,
            folder / CHECKPOINTS,
            quick=options.quick,
            only=options.part,
            seed=options.seed,
            n_jobs=options.jobs,
            verbose=sys.stderr.isatty(),
        )
        report = write_results(
            folder, study, outcome.results, quick=options.quick, seed=options.seed
        )
    claims = [vars(claim) for claim in report.claims]
    record = {
        "study": study.name,
        "version": study.version,
        "reference": study.reference,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "parameters": {
            name: value if isinstance(value, bool | int | None) else str(value)
            for name, value in vars(options).items()
        },
        "warnings": said,
        "n_tasks": outcome.n_tasks,
        "n_resumed": outcome.n_resumed,
        "claims": claims,
        "seconds": round(time.perf_counter() - start, 3),
    }
    text = json.dumps(record, indent=1, allow_nan=False)
    (folder / "run.json").write_text(text + "\n", encoding="utf-8")
    if options.pages is not None:
        options.pages.mkdir(parents=True, exist_ok=True)
        page = (folder / "tables.md").read_text(encoding="utf-8")
        (options.pages / f"{study.name}.md").write_text(page, encoding="utf-8")
    _say(_summary(study, claims, record))
    _say(f"{folder / 'tables.md'} has the tables.")


def _summary(study: Study, claims: list[dict[str, Any]], record: dict[str, Any]) -> str:
    """Put the verdicts into words."""
    size = "a small version" if record["parameters"]["quick"] else "the whole"
    lines = [f"{study.title}: {size}, {record['n_tasks']} tasks", ""]
    for claim in claims:
        holds = VERDICTS.get(claim["holds"], claim["holds"])
        lines += textwrap.wrap(f"{holds}: {claim['published']}", 96, subsequent_indent="  ")
        lines += textwrap.wrap(
            claim["found"], 96, initial_indent="  ", subsequent_indent="  "
        )  # fmt: skip
        lines.append("")
    return "\n".join(lines)


@contextmanager
def _kept_warnings() -> Iterator[list[str]]:
    """Say each warning once, and keep it for the record."""
    said: list[str] = []

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        is_of_data = issubclass(category, (UserWarning, RuntimeWarning))
        if is_of_data and str(message) not in said:
            said.append(str(message))
            _tell(f"Warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield said


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
