"""The folder that a run leaves behind."""

from __future__ import annotations

import io
import json
import os
import platform
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import EdgewiseError, InputError
from edgewise._version import __version__
from edgewise.cli.shell import cleared, is_interrupted, not_stopped, printable

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.graph import Graph
    from edgewise.report import Report


#: How the name of a draft folder begins.
DRAFT: Final = ".edgewise-"
#: Folder, inside that of the results, with the finished parts of a run that did not end.
UNFINISHED: Final = ".unfinished"
#: The record of a run, among its files.
RECORD: Final = "run.json"
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
def results_folder(
    out: Path, *, outdated: Sequence[str] = (), kept: str = UNFINISHED
) -> Iterator[Path]:
    """Yield a draft folder whose files move to ``out`` once the block has ended well.

    All of them move or none: a run that fails or is stopped leaves what was there before, and one
    that ends well takes away the files called ``outdated`` that it did not write itself, so that
    the files of two runs never mix. Whatever stands in the way (no permission, another run, a
    folder in the place of a file) is found on entry, before the work.

    Finished resamples, permutations and folds are kept in a folder called ``kept``, from which
    the same command goes on when a run was stopped or killed, or when the machine failed it;
    `KeyboardInterrupt` then carries its path. `UNFINISHED` goes with a run that ended well, or
    that would fail again.
    """
    from edgewise._core.resume import locked, resumable

    if out.exists() and not out.is_dir():
        raise InputError(f"Cannot write into '{out}': it is a file. Give the name of a folder.")
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with locked(out) as is_alone:
            _check_targets(out, outdated)
            if is_alone:
                _clear_drafts(out)
            draft = out / f"{DRAFT}{secrets.token_hex(8)}"
            run = _Run(out=out, draft=draft, tasks=out / kept, is_new=is_new)
            with cleared(run.abandon):
                try:
                    draft.mkdir()
                    with resumable(run.tasks, paths=False):
                        yield draft
                    with not_stopped():
                        _publish(draft, out, outdated)
                except BaseException as error:
                    left = run.clear(is_over=isinstance(error, EdgewiseError))
                    if isinstance(error, KeyboardInterrupt) or is_interrupted():
                        raise KeyboardInterrupt(*([] if left is None else [left])) from None
                    raise
                run.clear(is_over=True)
    finally:
        if is_new:
            # Goes only while it is empty, that is, when nothing was moved.
            with suppress(OSError):
                out.rmdir()


@dataclass(frozen=True, kw_only=True)
class _Run:
    """What a run has written before its results are there."""

    out: Path
    draft: Path
    tasks: Path
    is_new: bool

    def clear(self, *, is_over: bool) -> str | None:
        """Take the draft away, and finished tasks too if they are of no more use.

        Returns the folder of those that are left.
        """
        from edgewise._core.resume import SUFFIX

        shutil.rmtree(self.draft, ignore_errors=True)
        is_kept = any(self.tasks.glob(f"*{SUFFIX}"))
        if not is_kept or (is_over and self.tasks.name == UNFINISHED):
            shutil.rmtree(self.tasks, ignore_errors=True)
            return None
        return printable(str(self.tasks))

    def abandon(self) -> str | None:
        """Do the same when the process is about to end, and nothing else will be done."""
        from edgewise._core.resume import LOCK

        left = self.clear(is_over=False)
        for folder in (self.tasks, self.out):
            (folder / LOCK).unlink(missing_ok=True)
        if self.is_new:
            with suppress(OSError):
                self.out.rmdir()
        return left


def _check_targets(out: Path, names: Sequence[str]) -> None:
    """Refuse a folder in which a file of the results could not be written."""
    for path in out.iterdir():
        if path.name in names and path.is_dir():
            raise InputError(
                f"Cannot write '{path}': it is a folder. Move it away, or give another folder."
            )


def _clear_drafts(out: Path) -> None:
    """Take away the drafts of runs that were killed, which could not do so themselves."""
    for draft in out.glob(f"{DRAFT}*"):
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, out: Path, outdated: Sequence[str]) -> None:
    """Move the files of a draft to ``out``, in place of earlier ones, all of them or none.

    The record of the run goes first and comes last, so that a folder that has it is complete even
    if the machine stops in between.
    """
    new = sorted((file.name for file in draft.iterdir()), key=lambda name: name == RECORD)
    _check_targets(out, new)
    present = {path.name for path in out.iterdir()}
    old = sorted(present & {*outdated, *new}, key=lambda name: name != RECORD)
    aside = draft / "earlier"
    aside.mkdir()
    moves = [(out / name, aside / name) for name in old]
    moves += [(draft / name, out / name) for name in new]
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            os.replace(source, target)  # noqa: PTH105, atomic by contract
            done.append((source, target))
    except BaseException:
        for source, target in reversed(done):
            os.replace(target, source)  # noqa: PTH105, atomic by contract
        raise


def write_results(
    folder: Path,
    report: Report,
    *,
    model: Any,
    figures: Mapping[str, Figure | SubFigure],
) -> None:
    """Write the graph, its pictures, the model, the page to look at and the record of the run."""
    from edgewise.plot import save_figure

    report.graph.write(folder / "graph.graphml")
    report.graph.write(folder / "edges.csv")
    for name, figure in figures.items():
        save_figure(figure, folder / name)
    model.save(folder / "model.edgewise")
    (folder / "report.html").write_text(page(report), encoding="utf-8")
    text = json.dumps(report.record, indent=1, allow_nan=False)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table for a spreadsheet, with text that it would run as a formula guarded."""
    from edgewise.graph.files import guard_cell

    def guarded(value: Any) -> Any:
        return guard_cell(value) if isinstance(value, str) else value

    table.rename(columns=guarded).map(guarded).to_csv(path, index=False)


def files_in(folder: Path, names: Sequence[str]) -> list[str]:
    """List which of some files are in a folder."""
    return [name for name in names if (folder / name).exists()]


#: Dots per inch of pictures in a page.
PAGE_DPI: Final = 100
#: Columns of a table that hold words.
WORDS: Final = ("class", "where", "source", "target", "kind", "found_by", "told")


def report_of(
    text: str,
    *,
    graph: Graph,
    model: Any,
    record: Mapping[str, Any],
    figures: Mapping[str, Figure | SubFigure],
    words: Mapping[str, str],
    tables: Mapping[str, pd.DataFrame],
    finding: str = "",
) -> Report:
    """Gather what a page shows of a run.

    Parameters
    ----------
    text : str
        What was found; the first line is the headline.
    graph, model, record
        The network, the estimator behind it, and what `run.json` holds.
    figures : mapping of str to Figure
        By file.
    words : mapping of str to str
        Which pictures to show, in this order, with words for those who cannot see them.
    tables : mapping of str to DataFrame
        By title; columns of words come first.
    finding : str
        What the headline adds on a page, where it stands by itself.
    """
    from edgewise.report import Picture, Report

    headline, _, rest = text.partition("\n")
    parts = [headline.rstrip(".:"), finding]
    return Report(
        headline=f"{'; '.join(part for part in parts if part)}.",
        findings=rest,
        graph=graph,
        record=record,
        methods=_methods(model),
        pictures=tuple(
            Picture(png=_png(figures[name]), words=words[name]) for name in words if name in figures
        ),
        tables={title: _words_first(table) for title, table in tables.items() if len(table)},
    )


def page(report: Report) -> str:
    """Write one run as a page that needs nothing from outside."""
    from edgewise.report import render

    data = report.record.get("data", {})
    source = data.get("file") or data.get("bundled") or "a table"
    return render([report], title=f"edgewise {report.record['command']}: {source}")


def _methods(model: Any) -> tuple[str, ...]:
    """Name the estimator and, where it is a bootstrap, what it is around."""
    inner = getattr(model, "estimator_", None)
    return tuple(type(part).__name__ for part in (inner, model) if part is not None)


def _words_first(table: pd.DataFrame) -> pd.DataFrame:
    heads = [name for name in WORDS if name in table.columns]
    return table[[*heads, *(name for name in table.columns if name not in heads)]]


def _png(figure: Figure | SubFigure) -> bytes:
    content = io.BytesIO()
    figure.canvas.print_figure(content, format="png", dpi=PAGE_DPI)
    return content.getvalue()


#: Dependencies whose version can change a result or a picture.
DEPENDENCIES: Final = (
    "numpy",
    "scipy",
    "numba",
    "scikit-learn",
    "pandas",
    "joblib",
    "networkx",
    "igraph",
    "matplotlib",
)


def versions() -> dict[str, str]:
    """Versions of edgewise, of Python and of the main dependencies."""
    return {
        "edgewise": __version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in DEPENDENCIES},
    }
