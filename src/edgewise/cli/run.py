"""One run of a command: fit, write a folder of results, all of them or none, and say it."""

from __future__ import annotations

import io
import json
import os
import platform
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import DataWarning, EdgewiseError, InputError
from edgewise._core.process import draw_without_docstrings, postpone
from edgewise._version import __version__
from edgewise.cli.interrupts import cleared, is_interrupted, not_stopped
from edgewise.cli.shell import (
    advised,
    compilation_told,
    is_watched,
    printable,
    shows_progress,
    tell,
    tell_all,
    warnings_told,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise._core.typing import FloatArray
    from edgewise.cli.input import Source
    from edgewise.graph import Graph
    from edgewise.report import Report


#: How the name of a draft folder begins.
DRAFT: Final = ".edgewise-"
#: Folder, inside a draft, with the files of an earlier run while they are replaced.
EARLIER: Final = "earlier"
#: Folder, inside that of the results, with the finished parts of a run that did not end.
UNFINISHED: Final = ".unfinished"
#: Seconds of a fit that are announced before it.
LONG: Final = 5.0
#: The record of a run, among its files.
RECORD: Final = "run.json"
#: What every command on a table leaves in the folder, besides tables and pictures of its own.
PAGE, EDGES, NODES = "report.html", "edges.csv", "nodes.csv"
GRAPH, MODEL = "graph.graphml", "model.edgewise"


@contextmanager
def results_folder(out: Path) -> Iterator[Path]:
    """Yield a draft folder whose files move to ``out`` once the block has ended well.

    All of them move or none: a run that fails or is stopped leaves what was there before, and one
    that ends well removes the files that the record of an earlier run lists and it did not write
    itself, so that the files of two runs never mix. Whatever stands in the way (no permission,
    another run, a folder in the place of a file) is found on entry, before the work.

    Finished resamples, permutations and folds are kept in `UNFINISHED`, from which the same
    command goes on when a run was stopped or killed, or when the machine failed it;
    `KeyboardInterrupt` then carries its path. It goes with a run that ended well, or that would
    fail again.
    """
    from edgewise._core.resume import locked, resumable

    if out.exists() and not out.is_dir():
        raise InputError("out_is_file", out=out)
    is_new = not out.exists()
    out.mkdir(parents=True, exist_ok=True)
    try:
        with locked(out) as is_alone:
            outdated = _earlier_files(out)
            _check_targets(out, [PAGE, EDGES, NODES, GRAPH, MODEL, RECORD, *outdated])
            if is_alone:
                _clear_drafts(out)
            draft = out / f"{DRAFT}{secrets.token_hex(8)}"
            run = _Run(out=out, draft=draft, tasks=out / UNFINISHED, is_new=is_new)
            with cleared(run.abandon):
                try:
                    draft.mkdir()
                    with resumable(run.tasks, paths=False):
                        yield draft
                    with not_stopped():
                        _publish(draft, out, outdated)
                except BaseException as error:
                    if isinstance(error, OSError) and error.errno and error.filename is None:
                        # Of a full disk, Python does not say which.
                        error.filename = str(out)
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
        if not is_kept or is_over:
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


def _earlier_files(out: Path) -> set[str]:
    """List the files of an earlier run: its record, or that of a draft it was killed with."""
    drafts = [*out.glob(f"{DRAFT}*/{RECORD}"), *out.glob(f"{DRAFT}*/{EARLIER}/{RECORD}")]
    found: set[str] = set()
    for path in (out / RECORD, *drafts):
        with suppress(OSError, ValueError, AttributeError, TypeError):
            listed = json.loads(path.read_text(encoding="utf-8")).get("files", ())
            # Of this folder: a record that was altered must not reach other folders.
            found |= {name for name in listed if name == Path(name).name}
    return found


def _check_targets(out: Path, names: Collection[str]) -> None:
    """Refuse a folder in which a file of the results could not be written."""
    for path in out.iterdir():
        if path.name in names and path.is_dir():
            raise InputError("out_blocked_by_folder", path=path)


def _clear_drafts(out: Path) -> None:
    """Take away the drafts of runs that were killed, which could not do so themselves."""
    for draft in out.glob(f"{DRAFT}*"):
        shutil.rmtree(draft, ignore_errors=True)


def _publish(draft: Path, out: Path, outdated: Collection[str]) -> None:
    """Move the files of a draft to ``out``, in place of earlier ones, all of them or none.

    The record of the run goes first and comes last, so that a folder that has it is complete even
    if the machine stops in between.
    """
    new = sorted((file.name for file in draft.iterdir()), key=lambda name: name == RECORD)
    _check_targets(out, new)
    present = {path.name for path in out.iterdir()}
    old = sorted(present & {*outdated, *new}, key=lambda name: name != RECORD)
    aside = draft / EARLIER
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """What a command found: everything that is recorded, written and shown.

    Attributes
    ----------
    model : estimator
        What is saved.
    graph : Graph
        The network, with confidence where there is one.
    text : str
        Summary; the first line is the headline.
    parameters, found : dict
        For the record: parameters of the estimator, and what was found.
    notes : sequence of str
        What was done to the data on the way.
    figures : callable
        Draws the pictures, by file.
    words : mapping of str to str
        Which pictures the page shows, in this order, with text for those who cannot see them.
    tables : mapping of str to DataFrame or str
        Tables and texts by file.
    networks : mapping of str to Graph
        Further networks by file.
    shown : mapping of str to DataFrame
        Tables of the page by title.
    finding : str
        What the headline adds on a page, where it stands by itself.
    noun : str
        What its edges are called there: "edge" or "change".
    subject : str
        What the edges of ``graph`` are, as the title of its drawing on the page.
    rows : tuple of str and DataFrame
        List that ``--json`` adds to the record, with its name.
    edge_values : mapping of str to ndarray of shape (p, p)
        What else is known of each edge, by column of ``edges.csv`` and of the page.
    sites : ndarray of shape (p, 2) or None
        Where the columns sit, for columns in space.
    """

    model: Any
    graph: Graph
    text: str
    parameters: dict[str, Any]
    found: dict[str, Any]
    notes: Sequence[str] = ()
    figures: Callable[[], Mapping[str, Figure | SubFigure]]
    words: Mapping[str, str]
    tables: Mapping[str, pd.DataFrame | str] = field(default_factory=dict)
    networks: Mapping[str, Graph] = field(default_factory=dict)
    shown: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    finding: str = ""
    subject: str = "The network"
    noun: str = "edge"
    rows: tuple[str, pd.DataFrame]
    edge_values: Mapping[str, FloatArray] = field(default_factory=dict)
    sites: FloatArray | None = None


def run(
    command: str,
    source: Source,
    fit: Callable[[], Result],
    out: Path,
    *,
    message: str,
    seed: int,
    formats: Sequence[str],
    as_json: bool,
    seconds: float = 0.0,
) -> None:
    """Fit, write everything into a folder, and say what was found.

    Parameters
    ----------
    command : str
        Name of the command, for the record.
    source : Source
        The table.
    fit : callable
        Fits, and returns the result.
    out : path
        Folder of the results.
    message : str
        Said before the work, to whoever follows the run.
    seed : int
        For the record.
    formats : sequence of str
        Formats of pictures besides PNG.
    as_json : bool
        Whether to print one JSON object instead of the summary.
    seconds : float
        Time that the fit takes on a free core, roughly; said, also to a file, if it is long.
    """
    from edgewise.cli import wording

    with results_folder(out) as folder:
        if seconds > LONG:
            from edgewise._core.parallel import duration

            tell_all(f"{message}: {duration(seconds)} or more ...")
        else:
            tell(f"{message} ...")
        with _time_told(is_long=seconds > LONG):
            result, report = carry_out(command, source, fit, folder, seed=seed, formats=formats)
    wording.announce(result, report.record, out, as_json=as_json)


def _time_told(*, is_long: bool) -> AbstractContextManager[None]:
    """Say now and then that long work goes on, also where it reports no steps of its own."""
    from edgewise._core.parallel import time_told

    is_said = is_watched() or (is_long and shows_progress())
    return time_told() if is_said else nullcontext()


def carry_out(
    command: str,
    source: Source,
    fit: Callable[[], Result],
    folder: Path,
    *,
    seed: int,
    formats: Sequence[str] = (),
) -> tuple[Result, Report]:
    """Fit and write everything into a folder; return the result and what its page says."""
    # scikit-learn, igraph and matplotlib import them first thing, and nothing here uses them.
    postpone("scipy.stats", "matplotlib.pyplot", "fontTools.agl")
    draw_without_docstrings()
    with warnings_told() as told, compilation_told():
        start = time.perf_counter()
        for one in source.findings:
            said = f"{one.text[:1].upper()}{one.text[1:]}."
            if one.advice:
                command_line = advised(one.advice)
                said += (
                    f" Option: {one.advice}." if command_line is None else f" Use {command_line}."
                )
            warnings.warn(said, DataWarning, stacklevel=2)
        result = fit()
        record = {
            "command": command,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
            "versions": versions(),
            "seed": seed,
            "parameters": result.parameters,
            "data": source.fingerprint,
            "treatment": [*source.notes, *result.notes],
            "findings": [asdict(one) for one in source.findings],
            "warnings": list(told),
            "n_nodes": result.graph.n_nodes,
            "n_edges": result.graph.n_edges,
            **result.found,
            "seconds": round(time.perf_counter() - start, 3),
        }
        tell("Writing the files ...")
        report = _write(folder, result, record, formats)
    return result, report


def estimator_of(name: str, parameters: Mapping[str, Any]) -> Any:
    """Build an estimator from options; the length of the grid of alphas may be for its rule."""
    # Imported on first use, so that a fit loads the solvers of one estimator.
    from edgewise import estimators
    from edgewise.selection.rules import RULES

    given = {key: value for key, value in parameters.items() if key != "alpha_ratio"}
    learner = getattr(estimators, name)(**given)
    if (ratio := parameters.get("alpha_ratio")) is not None:
        if "alpha_ratio" in learner.get_params():
            return learner.set_params(alpha_ratio=ratio)
        names = {key: getattr(learner, key, None) for key in ("alpha", "tau")}
        learner.set_params(
            **{key: RULES[rule](alpha_ratio=ratio) for key, rule in names.items() if rule in RULES}
        )
    return learner


def _write(folder: Path, result: Result, record: dict[str, Any], formats: Sequence[str]) -> Report:
    """Write the record, the model, networks, tables, pictures and the page to look at."""
    from edgewise.plot import save_figure

    figures = result.figures()
    pictures = []
    for name in (name for name in figures if name != SEARCH):
        for file in (name, *(Path(name).with_suffix(f".{other}").name for other in formats)):
            save_figure(figures[name], folder / file)
            pictures.append(file)
    for name, graph in {EDGES: result.graph, GRAPH: result.graph, **result.networks}.items():
        graph.write(folder / name)
    _add_columns(folder / EDGES, result.edge_values)
    for name, table in result.tables.items():
        if isinstance(table, str):
            (folder / name).write_text(table, encoding="utf-8")
        else:
            write_table(table, folder / name)
    result.model.save(folder / MODEL)
    files = [PAGE, *pictures, *result.tables, EDGES, NODES, GRAPH, *result.networks, MODEL, RECORD]
    record["files"] = list(dict.fromkeys(files))
    report = _report(result, record, figures)
    (folder / PAGE).write_text(page(report), encoding="utf-8")
    text = json.dumps(record, indent=1, allow_nan=False)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")
    return report


def _add_columns(path: Path, values: Mapping[str, FloatArray]) -> None:
    """Add columns to a file of edges, which `Graph.read` passes over."""
    import csv

    if not values:
        return
    with path.open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    ends = [head.index("source_index"), head.index("target_index")]
    for row in rows:
        at = tuple(int(row[end]) for end in ends)
        row += [repr(float(matrix[at])) for matrix in values.values()]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([[*head, *values], *rows])


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table for a spreadsheet, with text that it would run as a formula guarded."""
    from edgewise.graph.files import guard_cell

    def guarded(value: Any) -> Any:
        return guard_cell(value) if isinstance(value, str) else value

    table.rename(columns=guarded).map(guarded).to_csv(path, index=False)


#: Dots per inch of pictures in a page, and dots across the first, which has the whole width.
PAGE_DPI: Final = 100
LEAD_WIDTH: Final = 1200
#: Pictures of what the page draws itself, to be explored.
NETWORKS: Final = ("network.png", "change.png")
#: The picture of how a penalty or a structure was chosen, which only a page has.
SEARCH: Final = "search.png"
#: Columns of a table that hold words.
WORDS: Final = (
    *("node", "column", "group", "class", "where"),
    *("source", "target", "kind", "found_by", "told"),
)


def _report(
    result: Result, record: Mapping[str, Any], figures: Mapping[str, Figure | SubFigure]
) -> Report:
    """Gather what a page shows of a run."""
    from edgewise.report import Picture, Report

    headline, _, rest = result.text.partition("\n")
    parts = [headline.rstrip(".:"), result.finding]
    file = record["data"].get("file")
    # Whoever gets the page does not need to know where the table was.
    headline, rest = (
        text.replace(file, Path(file).name) if file else text
        for text in (f"{'; '.join(part for part in parts if part)}.", rest)
    )
    # A network, of changes too, or the map of its sites leads by itself: the page draws it.
    drawn = [name for name in result.words if name in figures and name not in NETWORKS]
    leads = not any(name in figures for name in NETWORKS)
    return Report(
        headline=headline,
        findings=rest,
        graph=result.graph,
        subject=result.subject,
        noun=result.noun,
        edge_values=result.edge_values,
        sites=result.sites,
        record=record,
        methods=_methods(result.model),
        pictures=tuple(
            Picture(
                png=_png(figures[name], LEAD_WIDTH if leads and not k else 0),
                words=result.words[name],
            )
            for k, name in enumerate(drawn)
        ),
        leads=leads,
        tables={title: _words_first(table) for title, table in result.shown.items() if len(table)},
    )


def page(report: Report) -> str:
    """Write one run as a page that needs nothing from outside."""
    from edgewise.report import render

    data = report.record.get("data", {})
    source = Path(data.get("file") or data.get("bundled") or "a table").name
    return render([report], title=f"edgewise {report.record['command']}: {source}")


def _methods(model: Any) -> tuple[str, ...]:
    """Name the estimator and, where it is a bootstrap, what it is around."""
    inner = getattr(model, "estimator_", None)
    return tuple(type(part).__name__ for part in (inner, model) if part is not None)


def _words_first(table: pd.DataFrame) -> pd.DataFrame:
    heads = [name for name in WORDS if name in table.columns]
    return table[[*heads, *(name for name in table.columns if name not in heads)]]


def _png(figure: Figure | SubFigure, least_width: int) -> bytes:
    """Draw with the dots per inch of a page, or as many as make it that wide."""
    content = io.BytesIO()
    wide = least_width / (figure.get_window_extent().width / figure.dpi)
    figure.canvas.print_figure(content, format="png", dpi=max(PAGE_DPI, round(wide)))
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
