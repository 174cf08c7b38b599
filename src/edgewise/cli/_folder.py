"""The folder that a run leaves behind."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli._interrupt import interrupt_heard

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.report import Report

#: How the name of a draft folder begins; the number of its process follows.
DRAFT: Final = ".edgewise-"
#: Folder, inside that of the results, with the finished parts of a run that did not end.
UNFINISHED: Final = ".unfinished"
#: What `learn` leaves in the folder.
FILES: Final = (
    "report.html",
    "network.png",
    "matrix.png",
    "edges.csv",
    "graph.graphml",
    "model.edgewise",
    "run.json",
)
#: What it leaves besides where columns sit in space; the second only on a grid.
SPACE_FILES: Final = ("sites.png", "seeds.png")
#: What `compare` leaves of two groups; the picture of the permutation test only if there was one.
CHANGE_FILES: Final = (
    "report.html",
    "change.png",
    "matrix.png",
    "permutation.png",
    "changes.csv",
    "edges.csv",
    "graph.graphml",
    "model.edgewise",
    "run.json",
)
#: What `compare` leaves of a sliding window.
WINDOW_FILES: Final = (
    "report.html",
    "windows.png",
    "windows.csv",
    "edges.csv",
    "graph.graphml",
    "model.edgewise",
    "run.json",
)
#: What `direct` leaves; the picture of confidence only if there are resamples.
DIRECT_FILES: Final = (
    "report.html",
    "dag.png",
    "cpdag.png",
    "penalized.png",
    "coefficients.png",
    "confidence.png",
    "arcs.csv",
    "edges.csv",
    "graph.graphml",
    "cpdag.graphml",
    "penalized.graphml",
    "model.edgewise",
    "run.json",
)
#: What `classify` leaves; networks of classes are numbered in the order of their labels.
CLASS_FILES: Final = (
    "report.html",
    "accuracy.png",
    "networks.png",
    "changes.png",
    "accuracy.csv",
    "changes.csv",
    "edges.csv",
    "graph.graphml",
    *(f"network-{k}.graphml" for k in range(1, 21)),
    "model.edgewise",
    "run.json",
)
#: What `regress` leaves; partition and map only where there are columns for them.
TREE_FILES: Final = (
    "report.html",
    "tree.png",
    "partition.png",
    "map.png",
    "risk.png",
    "tree.txt",
    "leaves.csv",
    "splits.csv",
    "edges.csv",
    "graph.graphml",
    *(f"leaf-{k}.graphml" for k in range(1000)),
    "model.edgewise",
    "run.json",
)
#: All of them: what a run does not write anew is of an earlier one.
ALL_FILES: Final = tuple(
    dict.fromkeys(
        (
            *CHANGE_FILES,
            *WINDOW_FILES,
            *DIRECT_FILES,
            *CLASS_FILES,
            *TREE_FILES,
            *FILES,
            *SPACE_FILES,
        )
    )
)


@contextmanager
def results_folder(out: Path, *, outdated: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a draft folder whose files move to ``out`` once the block has ended well.

    A run that fails or is interrupted leaves what was there before, and one that ends well takes
    away the files called ``outdated`` that it did not write itself, so that the files of two runs
    never mix. The folder is made on entry: where that is not allowed, the user learns it before
    the work and not after.

    Finished resamples, shuffles and folds of a run that is interrupted or killed stay in a folder
    called `UNFINISHED`, from which the same command goes on; `KeyboardInterrupt` then carries its
    path.
    """
    from edgewise._core.resume import resumable

    if out.exists() and not out.is_dir():
        raise InputError(f"Cannot write into '{out}': it is a file. Give the name of a folder.")
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    _clear_drafts(out)
    draft = Path(tempfile.mkdtemp(prefix=f"{DRAFT}{os.getpid()}-", dir=out))
    unfinished = out / UNFINISHED
    is_stopped = False
    try:
        with resumable(unfinished, paths=False):
            yield draft
        files = sorted(draft.iterdir())
        for file in files:
            os.replace(file, out / file.name)  # noqa: PTH105, atomic by contract
        for name in {*outdated} - {file.name for file in files}:
            (out / name).unlink(missing_ok=True)
    except KeyboardInterrupt:
        is_stopped = any(unfinished.iterdir())
        raise KeyboardInterrupt(*([unfinished] if is_stopped else [])) from None
    finally:
        interrupt_heard()
        shutil.rmtree(draft, ignore_errors=True)
        if not is_stopped:
            shutil.rmtree(unfinished, ignore_errors=True)
        if is_new:
            # Goes only while it is empty, that is, when nothing was moved.
            with suppress(OSError):
                out.rmdir()


def _clear_drafts(out: Path) -> None:
    """Take away the drafts of runs that were killed, which could not do so themselves."""
    for draft in out.glob(f"{DRAFT}*-*"):
        process = draft.name.removeprefix(DRAFT).partition("-")[0]
        if process.isdigit() and not _is_running(int(process)):
            shutil.rmtree(draft, ignore_errors=True)


def _is_running(process: int) -> bool:
    """Whether a process is there; where asking would end it, suppose so."""
    if sys.platform == "win32":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def write_results(
    folder: Path,
    report: Report,
    *,
    model: Any,
    figures: Mapping[str, Figure | SubFigure],
) -> None:
    """Write the graph, its pictures, the model, the page to look at and the record of the run."""
    from edgewise.cli._page import page
    from edgewise.plot import save_figure

    report.graph.write(folder / "graph.graphml")
    report.graph.write(folder / "edges.csv")
    for name, figure in figures.items():
        save_figure(figure, folder / name)
    model.save(folder / "model.edgewise")
    (folder / "report.html").write_text(page(report), encoding="utf-8")
    text = json.dumps(report.record, indent=1, allow_nan=False)
    (folder / "run.json").write_text(text + "\n", encoding="utf-8")


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table for a spreadsheet, with text that it would run as a formula guarded."""
    from edgewise.graph._text import guard_cell

    def guarded(value: Any) -> Any:
        return guard_cell(value) if isinstance(value, str) else value

    table.rename(columns=guarded).map(guarded).to_csv(path, index=False)


def files_in(folder: Path, names: Sequence[str]) -> list[str]:
    """List which of some files are in a folder."""
    return [name for name in names if (folder / name).exists()]
