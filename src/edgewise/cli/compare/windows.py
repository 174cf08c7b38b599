"""A reference period against a window that slides over ordered rows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.compare.groups import ALT, ChangeSettings, choice, estimator_of, short_rows
from edgewise.cli.learn.fit import about_fit, parameters_of, run_record
from edgewise.cli.wording import certificate, count, pair_names

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.graph import Graph
    from edgewise.inference.windows import WindowChange
    from edgewise.report import Report

#: Shuffles of every window, and the largest share of them that may find a change that is kept.
SHUFFLES, LEVEL = 100, 0.05
#: Windows that the summary lists.
LISTED: Final = 12


@dataclass(frozen=True, kw_only=True)
class Window:
    """Rows of a window, from one to the next, and of the reference; None for the default."""

    size: int
    step: int | None = None
    reference: int | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Slid:
    """What was found in every window.

    Attributes
    ----------
    windows : list of WindowChange
        In order.
    model : estimator
        Fitted to the reference and the last window.
    graph : Graph
        Pairs that changed in any window: the largest change, and the share of the windows that
        have it as confidence.
    changes : DataFrame
        Every change with its window, and how often shuffles find the pair.
    n_reference : int
        Rows of the reference.
    seconds : float
        Time that it took.
    """

    windows: list[WindowChange]
    model: Any
    graph: Graph
    changes: pd.DataFrame
    n_reference: int
    seconds: float


def compare_windows(
    frame: pd.DataFrame, window: Window, settings: ChangeSettings, *, verbose: bool = False
) -> Slid:
    """Compare the first rows with each window that follows them."""
    import numpy as np
    import pandas as pd

    from edgewise.inference.windows import window_changes

    if settings.n_permutations < 1:
        raise InputError(
            "A change in a window is kept by how few shuffles find it, so --permutations must be "
            f"at least 1; got {settings.n_permutations}."
        )
    start = time.perf_counter()
    n_reference = window.size if window.reference is None else window.reference
    learner = estimator_of(settings)
    found = window_changes(
        learner.set_params(n_jobs=None),
        # An array, because every shuffle would look at the kind of each column of a frame.
        frame.to_numpy(),
        window=window.size,
        step=window.step,
        reference=window.reference,
        n_permutations=settings.n_permutations,
        level=LEVEL,
        n_jobs=settings.n_jobs,
        random_state=settings.seed,
        verbose=int(verbose),
    )
    names = tuple(frame.columns)
    found = [replace(one, graph=replace(one.graph, names=names)) for one in found]
    last = found[-1]
    rows = [*range(n_reference), *range(last.start, last.stop)]
    y = pd.Series(np.repeat(["reference", "window"], [n_reference, last.stop - last.start]))
    # The seed is the same, so that this is the fit of the last window.
    model = learner.fit(frame.iloc[rows], y)
    return Slid(
        windows=found,
        model=model,
        graph=_union(found),
        changes=_table(found),
        n_reference=n_reference,
        seconds=time.perf_counter() - start,
    )


def _union(windows: Sequence[WindowChange]) -> Graph:
    """Join the changes of all windows."""
    import numpy as np

    from edgewise.graph import Graph

    weights = np.stack([window.graph.weights for window in windows])
    largest = np.abs(weights).argmax(axis=0)
    return Graph(
        np.take_along_axis(weights, largest[None], axis=0)[0],
        names=windows[0].graph.names,
        confidence=(weights != 0).mean(axis=0),
    )


def _table(windows: Sequence[WindowChange]) -> pd.DataFrame:
    import pandas as pd

    heads = ["start", "stop", "source", "target", "change", "frequency"]
    place = {name: k for k, name in enumerate(windows[0].graph.names)}
    rows = [
        (
            window.start,
            window.stop,
            source,
            target,
            weight,
            window.frequency[place[source], place[target]],
        )
        for window in windows
        for source, target, weight, _ in window.graph.edges().itertuples(index=False)
    ]
    return pd.DataFrame(rows, columns=heads)


def write_slid(
    folder: Path, slid: Slid, settings: ChangeSettings, text: str, record: dict[str, Any]
) -> Report:
    """Write everything that a sliding window leaves behind, and return what its page says."""
    from edgewise.cli.run import report_of, write_results, write_table

    figures: dict[str, Figure | SubFigure] = {"windows.png": draw_strip(slid, settings)}
    write_table(slid.changes, folder / "windows.csv")
    report = report_of(
        text,
        graph=slid.graph,
        model=slid.model,
        record=record,
        figures=figures,
        words=ALT,
        tables={"Changes in each window": slid.changes},
    )
    write_results(folder, report, model=slid.model, figures=figures)
    return report


def draw_strip(slid: Slid, settings: ChangeSettings) -> Figure:
    """Draw one change graph per window."""
    from edgewise.plot import plot_change_strip

    return plot_change_strip(
        [window.graph for window in slid.windows],
        titles=[rows_text(window) for window in slid.windows],
        signed=settings.is_signed,
    )


def rows_text(window: WindowChange) -> str:
    """Name the rows of a window, counted from 1."""
    return f"rows {window.start + 1} to {window.stop}"


def window_record(
    slid: Slid,
    settings: ChangeSettings,
    *,
    command: str,
    data: dict[str, Any],
    treatment: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Gather what is needed to tell, and to repeat, what a comparison of windows did."""
    windows = [
        {
            "start": window.start,
            "stop": window.stop,
            "alpha": window.alpha,
            "n_found": window.observed.n_edges,
            "n_edges": window.graph.n_edges,
        }
        for window in slid.windows
    ]
    return run_record(
        command=command,
        seed=settings.seed,
        parameters={
            **parameters_of(slid.model),
            "method": settings.method,
            "reference": slid.n_reference,
            "n_permutations": settings.n_permutations,
            "level": LEVEL,
        },
        data=data,
        treatment=treatment,
        warnings=warnings,
        graph=slid.graph,
        found={"windows": windows, **about_fit(slid.model)},
        seconds=slid.seconds,
    )


def window_summary(slid: Slid, settings: ChangeSettings, source: str, data: dict[str, Any]) -> str:
    """Tell what changed in which window."""
    windows = slid.windows
    size = windows[0].stop - windows[0].start
    found = f"{count(slid.graph.n_edges, 'pair')} of the {data['n_features']} columns of {source}"
    where = f"{count(len(windows), 'window')} of {size} rows"
    shuffles = count(settings.n_permutations, "shuffle")
    return "\n".join(
        [
            f"{found} changed in {where}, against the first {count(slid.n_reference, 'row')}",
            "",
            *short_rows(_window_lines(slid, settings), LISTED, "windows.csv"),
            "",
            f"Kept are changes that at most {LEVEL:.0%} of {shuffles} of the rows find.",
            f"alpha {_range([window.alpha for window in windows])}, {choice(slid.model)}",
            certificate(slid.model).replace("The fit", "The fit of the last window"),
        ]
    )


def _window_lines(slid: Slid, settings: ChangeSettings) -> list[str]:
    """Say of every window how many changes are kept, and the largest."""
    form = "+.3f" if settings.is_signed else ".3f"
    names = [rows_text(window) for window in slid.windows]
    width = max(len(name) for name in names)
    lines = []
    for name, window in zip(names, slid.windows, strict=True):
        line = f"  {name:<{width}}  {count(window.graph.n_edges, 'change')}"
        if window.graph.n_edges:
            top = window.graph.edges().head(1)
            line += f", the largest {pair_names(top)[0]} {top['weight'].iloc[0]:{form}}"
        lines.append(line)
    return lines


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
