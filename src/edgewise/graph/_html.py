"""Pages about graphs."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from html import escape

from edgewise.graph.graph import Graph

_STYLE = (
    "body{font:16px/1.4 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "img{max-width:100%}pre{white-space:pre-wrap}table{border-collapse:collapse}"
    "td,th{padding:.2rem .8rem;border-bottom:1px solid #ccc;text-align:left;"
    "overflow-wrap:anywhere}td.n{text-align:right}"
)


def page(graph: Graph, picture: bytes) -> str:
    """Return a self-contained document about one graph."""
    kind = "directed" if graph.directed else "undirected"
    summary = f"{graph.n_nodes} nodes, {graph.n_edges} {kind} edges"
    has_confidence = graph.confidence is not None
    heads = ["source", "target", "weight", *(["confidence"] if has_confidence else [])]
    rows = [
        [source, target, f"{weight:.4g}", *([f"{confidence:.3g}"] if has_confidence else [])]
        for source, target, weight, confidence in graph.edges().itertuples(index=False)
    ]
    drawing = image(picture, "Drawing of the network")
    return document(summary, f"{drawing}\n{table(heads, rows, n_words=2)}")


def document(title: str, body: str) -> str:
    """Return a self-contained document; the title is escaped, the body is taken as it is."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def image(picture: bytes, words: str) -> str:
    """Put a PNG picture, and words for those who cannot see it, into a document."""
    encoded = base64.b64encode(picture).decode("ascii")
    return f'<img alt="{escape(words)}" src="data:image/png;base64,{encoded}">'


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, n_words: int) -> str:
    """Put rows of escaped text into a document; the first columns are words, the rest numbers."""
    marks = ["td" if k < n_words else "td class=n" for k in range(len(heads))]
    lines = [
        "<tr>"
        + "".join(f"<{mark}>{escape(cell)}</td>" for mark, cell in zip(marks, row, strict=True))
        + "</tr>\n"
        for row in rows
    ]
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    return f"<table><tr>{top}</tr>\n{''.join(lines)}</table>"
