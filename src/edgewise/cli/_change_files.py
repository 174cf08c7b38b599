"""What a comparison of two groups leaves behind: pictures, tables and the page to look at."""

from __future__ import annotations

import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from edgewise.cli._comparing import ChangeSettings, Compared
    from edgewise.graph import Graph

#: Dots per inch of pictures in a page.
PAGE_DPI: Final = 100
ALT: Final = {
    "change.png": "Drawing of the changes",
    "permutation.png": "The largest change beside those of shuffled labels",
    "windows.png": "Drawing of the changes in every window",
}
#: Columns of a table of changes that hold words.
WORDS: Final = ("source", "target", "kind")


def write_compared(
    folder: Path, compared: Compared, settings: ChangeSettings, text: str, record: dict[str, Any]
) -> None:
    """Write everything that a comparison of two groups leaves behind."""
    from edgewise.cli._folder import write_results

    figures = pictures(compared, settings)
    compared.changes.to_csv(folder / "changes.csv", index=False)
    write_results(
        folder,
        graph=compared.graph,
        model=compared.model,
        pictures=figures.items(),
        page=page(text, figures, compared.changes),
        record=record,
    )


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


def page(text: str, figures: dict[str, Figure | SubFigure], table: pd.DataFrame) -> str:
    """Put what was found into one page that needs nothing from outside.

    The first line of the text is the heading, the rest stands above the pictures.
    """
    from edgewise.graph._html import document, image
    from edgewise.graph._html import table as html_table

    title, _, rest = text.partition("\n")
    words = [name for name in table.columns if name in WORDS]
    ordered = table[[*words, *(name for name in table.columns if name not in words)]]
    rows = [[_cell(value) for value in row] for row in ordered.itertuples(index=False)]
    body = [
        f"<pre>{escape(rest.strip())}</pre>",
        *(image(_png(figures[name]), ALT[name]) for name in ALT if name in figures),
        html_table(list(ordered.columns), rows, n_words=len(words)),
    ]
    return document(title, "\n".join(body))


def _png(figure: Figure | SubFigure) -> bytes:
    content = io.BytesIO()
    figure.canvas.print_figure(content, format="png", dpi=PAGE_DPI)
    return content.getvalue()


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def short_rows(lines: Sequence[str], most: int, where: str) -> list[str]:
    """Keep the first lines, and say where the others are."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[:most], f"  ... and {len(lines) - most} more in {where}"]
