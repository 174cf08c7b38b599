"""What a comparison of two groups leaves behind: pictures, tables and the page to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure, SubFigure

    from edgewise.cli.compare.comparing import ChangeSettings, Compared
    from edgewise.graph import Graph
    from edgewise.report import Report

#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "change.png": "Drawing of the changes",
    "permutation.png": "The largest change beside those of shuffled labels",
    "windows.png": "Drawing of the changes in every window",
    "search.png": "How alpha was chosen",
}


def write_compared(
    folder: Path, compared: Compared, settings: ChangeSettings, text: str, record: dict[str, Any]
) -> Report:
    """Write everything that a comparison leaves behind, and return what its page says."""
    from edgewise.cli._folder import write_results, write_table
    from edgewise.cli._page import report_of
    from edgewise.cli._summary import strongest_edge
    from edgewise.cli.learn.pictures import with_search

    figures = pictures(compared, settings)
    write_table(compared.changes, folder / "changes.csv")
    report = report_of(
        text,
        graph=compared.graph,
        model=compared.model,
        record=record,
        figures=with_search(figures, compared.model),
        words=ALT,
        tables={"Changes": compared.changes},
        finding=strongest_edge(compared.graph, "the largest change is between"),
    )
    write_results(folder, report, model=compared.model, figures=figures)
    return report


def pictures(compared: Compared, settings: ChangeSettings) -> dict[str, Figure | SubFigure]:
    """Draw the changes, and the outcome of the permutation test if there was one."""
    from edgewise.plot import plot_change, plot_matrix, plot_permutation

    networks = _networks(compared)
    drawn: dict[str, Figure | SubFigure] = {
        "change.png": plot_change(
            compared.graph,
            before=networks.get("before"),
            after=networks.get("after"),
            title=" to ".join(compared.groups.names),
            signed=settings.is_signed,
        ).figure,
        "matrix.png": plot_matrix(compared.graph).figure,
    }
    if compared.test is not None:
        drawn["permutation.png"] = plot_permutation(compared.test).figure
    return drawn


def _networks(compared: Compared) -> dict[str, Graph]:
    """Return the changed pairs in the networks of both groups, if any of them is there."""
    import numpy as np

    from edgewise.graph import Graph

    changes, names = compared.changes, compared.graph.names
    if not changes[["before", "after"]].any(axis=None):
        return {}
    place = {name: k for k, name in enumerate(names)}
    rows, columns = ([place[name] for name in changes[end]] for end in ("source", "target"))
    found = {}
    for when in ("before", "after"):
        weights = np.zeros((len(names), len(names)))
        weights[rows, columns] = weights[columns, rows] = changes[when]
        found[when] = Graph(weights, names=names)
    return found


def short_rows(lines: Sequence[str], most: int, where: str) -> list[str]:
    """Keep the first lines, and say where the others are."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[:most], f"  ... and {len(lines) - most} more in {where}"]
