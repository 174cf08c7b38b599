"""From what a run found to one HTML page that needs nothing from outside."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from edgewise.report.content import Report
from edgewise.report.details import details
from edgewise.report.network_data import MOST_EDGES, as_script, network_data
from edgewise.report.network_view import network_figures

if TYPE_CHECKING:
    import pandas as pd


def render(reports: Sequence[Report], *, title: str) -> str:
    """Write a page with one section for each report.

    Parameters
    ----------
    reports : sequence of Report
        One for a run, several for a page that answers several questions.
    title : str
        Of the page.

    Returns
    -------
    str
        HTML with everything inside: styles, scripts, pictures and data.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.report import Report, render
    >>> graph = Graph([[0, 0.5], [0.5, 0]], names=["sun", "warmth"])
    >>> found = Report(
    ...     headline="Sun and warmth go together.", findings="", graph=graph, record={}, methods=()
    ... )
    >>> page = render([found], title="weather.csv")
    >>> "Sun and warmth go together." in page
    True
    """
    from bokeh.embed import components
    from bokeh.resources import Resources
    from jinja2 import Environment, StrictUndefined

    figures = {}
    for k, report in enumerate(reports):
        figures[f"network-{k}"], figures[f"matrix-{k}"] = network_figures(report.graph, str(k))
    script, divs = components(figures)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(_asset("page.html.j2"))
    return template.render(
        title=title,
        sections=[_section(report, k) for k, report in enumerate(reports)],
        divs=divs,
        style=_asset("page.css"),
        code=_asset("page.js"),
        bokeh=Resources(mode="inline", components=["bokeh"]).render(),
        script=script,
    )


def _section(report: Report, k: int) -> dict[str, Any]:
    """Everything that the template needs of one report, as plain values."""
    graph = report.graph
    return {
        "key": str(k),
        "question": report.question,
        "headline": report.headline,
        "findings": report.findings.strip("\n"),
        "data": as_script(network_data(graph)),
        "n_nodes": graph.n_nodes,
        "n_edges": graph.n_edges,
        "n_hidden": max(graph.n_edges - MOST_EDGES, 0),
        "has_confidence": graph.confidence is not None,
        "pictures": [
            {"words": picture.words, "data": base64.b64encode(picture.png).decode("ascii")}
            for picture in report.pictures
        ],
        "tables": [{"title": title, **_table(table)} for title, table in report.tables.items()],
        **details(report),
    }


def _table(table: pd.DataFrame) -> dict[str, Any]:
    """Heads and rows of text, numbers short."""
    return {
        "heads": [str(head) for head in table.columns],
        "rows": [
            [_cell(value) for value in row] for row in table.itertuples(index=False, name=None)
        ],
    }


def _cell(value: Any) -> dict[str, Any]:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return {"text": f"{value:.4g}" if is_number else str(value), "is_number": is_number}


def _asset(name: str) -> str:
    return resources.files("edgewise.report").joinpath(name).read_text(encoding="utf-8")
