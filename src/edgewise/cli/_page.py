"""What a run found, as a report: words, the network, pictures and tables."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.graph import Graph
    from edgewise.report import Report

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
