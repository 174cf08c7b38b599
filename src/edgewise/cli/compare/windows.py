"""Fit of `compare` for ordered rows: a reference period against a sliding window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from edgewise._core.errors import InputError
from edgewise.cli.compare.groups import ESTIMATORS, LEVEL, is_signed, penalty_of
from edgewise.cli.run import Result, estimator_of
from edgewise.cli.shell import shows_progress
from edgewise.cli.wording import (
    about_fit,
    certificate,
    count,
    pair_names,
    parameters_of,
    short_rows,
)

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.cli.input import Source
    from edgewise.graph import Graph
    from edgewise.inference.windows import WindowChange

#: Windows that the summary lists.
LISTED: Final = 12
#: The picture, with words for those who cannot see it.
STRIP: Final = "windows.png"
ALT: Final = {STRIP: "Drawing of the changes in every window"}


def compare_windows(
    source: Source,
    parameters: dict[str, Any],
    *,
    window: int,
    step: int | None,
    reference: int | None,
    method: str,
    n_permutations: int,
) -> Result:
    """Compare the first rows with each window that follows them."""
    from edgewise.inference import window_changes

    if n_permutations < 1:
        raise InputError("window_needs_permutations", n_permutations=n_permutations)
    n_reference = window if reference is None else reference
    learner = estimator_of(ESTIMATORS[method], parameters)
    found = window_changes(
        learner.set_params(n_jobs=None),
        # An array, because every permutation would look at the kind of each column of a frame.
        source.frame.to_numpy(),
        window=window,
        step=step,
        reference=reference,
        n_permutations=n_permutations,
        level=LEVEL,
        n_jobs=parameters["n_jobs"],
        random_state=learner.random_state,
        verbose=int(shows_progress()),
    )
    names = tuple(source.frame.columns)
    windows = [replace(one, graph=replace(one.graph, names=names)) for one in found]
    model = _last_fit(learner, source.frame, windows[-1], n_reference)
    graph, titles = _union(windows), [_rows(one, source.dates) for one in windows]
    changes = _table(windows, source.dates)
    return Result(
        model=model,
        graph=graph,
        subject="The changes of all windows",
        noun="change",
        text=_summary(model, graph, windows, titles, source, n_reference, n_permutations),
        parameters={
            **parameters_of(model),
            "method": method,
            "reference": n_reference,
            "n_permutations": n_permutations,
            "level": LEVEL,
        },
        found={
            "windows": [
                _found(one) | ({"rows": title} if source.dates else {})
                for one, title in zip(windows, titles, strict=True)
            ],
            **about_fit(model),
        },
        figures=lambda: _draw(model, windows, titles),
        words=ALT,
        tables={"windows.csv": changes},
        shown={"Changes in each window": changes},
        rows=("changes", changes),
    )


def _last_fit(learner: Any, frame: pd.DataFrame, last: WindowChange, n_reference: int) -> Any:
    """Fit to the reference and the last window; the seed is the same, so this is its fit."""
    import numpy as np
    import pandas as pd

    rows = [*range(n_reference), *range(last.start, last.stop)]
    y = pd.Series(np.repeat(["reference", "window"], [n_reference, last.stop - last.start]))
    return learner.fit(frame.iloc[rows], y)


def _union(windows: Sequence[WindowChange]) -> Graph:
    """Join the changes of all windows: the largest, with the share of windows as confidence."""
    import numpy as np

    from edgewise.graph import Graph

    weights = np.stack([window.graph.weights for window in windows])
    largest = np.abs(weights).argmax(axis=0)
    return Graph(
        np.take_along_axis(weights, largest[None], axis=0)[0],
        names=windows[0].graph.names,
        confidence=(weights != 0).mean(axis=0),
    )


def _table(windows: Sequence[WindowChange], dates: Sequence[str]) -> pd.DataFrame:
    """List every change with its window, and the family-wise p-value of its size."""
    import pandas as pd

    heads = ["start", "stop", "source", "target", "change", "pvalue_familywise"]
    place = {name: k for k, name in enumerate(windows[0].graph.names)}
    rows = [
        (one.start, one.stop, source, target, weight, one.familywise[place[source], place[target]])
        for one in windows
        for source, target, weight, _ in one.graph.edges().itertuples(index=False)
    ]
    table = pd.DataFrame(rows, columns=heads)
    if dates:
        table.insert(2, "first_date", [dates[row] for row in table["start"]])
        table.insert(3, "last_date", [dates[row - 1] for row in table["stop"]])
    return table


def _found(window: WindowChange) -> dict[str, Any]:
    return {
        "start": window.start,
        "stop": window.stop,
        "alpha": window.alpha,
        "pvalue": window.pvalue,
        "n_found": window.observed.n_edges,
        "n_edges": window.graph.n_edges,
    }


def _draw(model: Any, windows: Sequence[WindowChange], titles: Sequence[str]) -> dict[str, Any]:
    """Draw the changes of each window that has any."""
    from edgewise.plot.change import plot_change_strip

    changed = [k for k, window in enumerate(windows) if window.graph.n_edges]
    if not changed:
        return {}
    strip = plot_change_strip(
        [windows[k].graph for k in changed],
        titles=[titles[k] for k in changed],
        signed=is_signed(model),
    )
    return {STRIP: strip}


def _rows(window: WindowChange, dates: Sequence[str]) -> str:
    """Name the rows of a window by their dates, or counted from 1."""
    if dates:
        return f"{dates[window.start]} to {dates[window.stop - 1]}"
    return f"rows {window.start + 1} to {window.stop}"


def _summary(
    model: Any,
    graph: Graph,
    windows: Sequence[WindowChange],
    titles: Sequence[str],
    source: Source,
    n_reference: int,
    n_permutations: int,
) -> str:
    """Tell what changed in which window."""
    size = windows[0].stop - windows[0].start
    found = f"{count(graph.n_edges, 'pair')} of the {source.fingerprint['n_features']} columns"
    where = f"{count(len(windows), 'window')} of {size} rows"
    first = count(n_reference, "row")
    if source.dates:
        first += f" ({source.dates[0]} to {source.dates[n_reference - 1]})"
    alphas = _range([window.alpha for window in windows])
    permutations = count(n_permutations, "permutation")
    return "\n".join(
        [
            f"{found} of {source.name} changed in {where}, against the first {first}",
            "",
            *short_rows(_window_lines(model, windows, titles), LISTED, "windows.csv"),
            "",
            (
                f"Changes larger than the largest of all windows in {1 - LEVEL:.0%} of "
                f"{permutations} of the rows are kept (family-wise p <= {LEVEL:g})."
            ),
            penalty_of(model, alphas),
            certificate(model).replace("The fit", "The fit of the last window"),
        ]
    )


def _window_lines(model: Any, windows: Sequence[WindowChange], names: Sequence[str]) -> list[str]:
    """Say of every window how many changes are kept, and the largest."""
    form = "+.3f" if is_signed(model) else ".3f"
    width = max(len(name) for name in names)
    lines = []
    for name, window in zip(names, windows, strict=True):
        line = f"  {name:<{width}}  {count(window.graph.n_edges, 'change')}"
        if window.graph.n_edges:
            top = window.graph.edges().head(1)
            line += f", the largest {pair_names(top)[0]} {top['weight'].iloc[0]:{form}}"
            line += f" (p {1 - top['confidence'].iloc[0]:.3f})"
        lines.append(line)
    return lines


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
