"""What a directed network leaves behind: pictures, tables and the page to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure, SubFigure

    from edgewise.cli.direct.directing import Directed
    from edgewise.report import Report

#: Pictures in a page, with words for those who cannot see them.
ALT: Final = {
    "dag.png": "Network by blankets; dashed where the data cannot tell the direction",
    "cpdag.png": "What the data can tell: arrows, and dashed lines without a direction",
    "penalized.png": "Second opinion, by a penalised order; dashed likewise",
    "confidence.png": "Share of the resamples in which pairs are joined, and which way",
    "coefficients.png": "Coefficients by blankets, causes before effects",
}


def write_directed(folder: Path, directed: Directed, text: str, record: dict[str, Any]) -> Report:
    """Write everything that `direct` leaves behind, and return what its page says."""
    from edgewise.cli._folder import write_results, write_table
    from edgewise.cli._page import report_of
    from edgewise.cli.direct.direct_words import strongest_agreed

    figures = pictures(directed)
    write_table(directed.arcs, folder / "arcs.csv")
    directed.pattern.write(folder / "cpdag.graphml")
    directed.penalized.graph_.write(folder / "penalized.graphml")
    report = report_of(
        text,
        graph=directed.graph,
        model=directed.model,
        record=record,
        figures=figures,
        words=ALT,
        tables={"Arcs of both networks": directed.arcs},
        finding=strongest_agreed(directed),
    )
    write_results(folder, report, model=directed.model, figures=figures)
    return report


def pictures(directed: Directed) -> dict[str, Figure | SubFigure]:
    """Draw both networks, what the data can tell, and how sure the first is."""
    from edgewise.plot import plot_arc_confidence, plot_coefficients, plot_dag

    tiers = directed.fit.order_
    second = directed.penalized
    drawn: dict[str, Figure | SubFigure] = {
        "dag.png": plot_dag(directed.graph, tiers=tiers, pattern=directed.pattern).figure,
        "cpdag.png": plot_dag(directed.pattern, tiers=tiers).figure,
        "penalized.png": plot_dag(
            second.graph_, tiers=second.order_, pattern=directed.penalized_pattern
        ).figure,
        "coefficients.png": plot_coefficients(directed.graph, tiers=tiers).figure,
    }
    if directed.graph.confidence is not None:
        drawn["confidence.png"] = plot_arc_confidence(directed.graph).figure
    return drawn
