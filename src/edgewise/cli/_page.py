"""One page that holds what a run found: words, pictures and a table."""

from __future__ import annotations

import io
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

#: Dots per inch of pictures in a page.
PAGE_DPI: Final = 100
#: Columns of a table that hold words.
WORDS: Final = ("source", "target", "kind", "found_by", "told", "where")


def page(
    text: str,
    figures: Mapping[str, Figure | SubFigure],
    table: pd.DataFrame,
    words: Mapping[str, str],
    *,
    has_captions: bool = False,
) -> str:
    """Put what was found into one page that needs nothing from outside.

    Parameters
    ----------
    text : str
        The first line is the heading, the rest stands above the pictures.
    figures : mapping of str to Figure
        By file.
    table : DataFrame
        Stands below, columns of words first.
    words : mapping of str to str
        Which pictures to show, in this order, with words for those who cannot see them.
    has_captions : bool
        Whether to write the words above the pictures too.
    """
    from edgewise.graph._html import document, image
    from edgewise.graph._html import table as html_table

    title, _, rest = text.partition("\n")
    heads = [name for name in WORDS if name in table.columns]
    ordered = table[[*heads, *(name for name in table.columns if name not in heads)]]
    rows = [[_cell(value) for value in row] for row in ordered.itertuples(index=False)]
    body = [f"<pre>{escape(rest.strip())}</pre>"]
    for name in words:
        if name in figures:
            caption = f"<h2>{escape(words[name])}</h2>\n" if has_captions else ""
            body.append(caption + image(_png(figures[name]), words[name]))
    body.append(html_table(list(ordered.columns), rows, n_words=len(heads)))
    return document(title, "\n".join(body))


def _png(figure: Figure | SubFigure) -> bytes:
    content = io.BytesIO()
    figure.canvas.print_figure(content, format="png", dpi=PAGE_DPI)
    return content.getvalue()


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
