"""One page for one graph."""

from __future__ import annotations

import base64
from html import escape

from edgewise.graph.graph import Graph

_STYLE = (
    "body{font:16px/1.4 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "img{max-width:100%}table{border-collapse:collapse}"
    "td,th{padding:.2rem .8rem;border-bottom:1px solid #ccc;text-align:left;"
    "overflow-wrap:anywhere}td.n{text-align:right}"
)


def page(graph: Graph, picture: bytes) -> str:
    """Return a self-contained document; every name is escaped."""
    kind = "directed" if graph.directed else "undirected"
    summary = f"{graph.n_nodes} nodes, {graph.n_edges} {kind} edges"
    has_confidence = graph.confidence is not None
    heads = ["source", "target", "weight", *(["confidence"] if has_confidence else [])]
    rows = "".join(
        f"<tr><td>{escape(source)}</td><td>{escape(target)}</td><td class=n>{weight:.4g}</td>"
        + (f"<td class=n>{confidence:.3g}</td>" if has_confidence else "")
        + "</tr>\n"
        for source, target, weight, confidence in graph.edges().itertuples(index=False)
    )
    encoded = base64.b64encode(picture).decode("ascii")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{summary}</title><style>{_STYLE}</style></head><body>\n<h1>{summary}</h1>\n"
        f'<img alt="Drawing of the network" src="data:image/png;base64,{encoded}">\n'
        f"<table><tr>{''.join(f'<th>{head}</th>' for head in heads)}</tr>\n{rows}</table>\n"
        "</body></html>\n"
    )
