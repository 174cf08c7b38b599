"""The network as numbers that the page's script draws, filters and lists."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._layout import Page, is_joined, place

#: The strongest edges that a page holds; files hold all of them.
MOST_EDGES: Final = 10_000
#: The square that nodes are placed in.
SIDE: Final = 560.0


def network_data(graph: Graph) -> dict[str, Any]:
    """Gather nodes with their places and edges with their weights, the strongest first.

    Numbers are rounded to what a reader can see, which keeps the page small.
    """
    edges = graph.edges()
    strongest = edges.iloc[np.argsort(-np.abs(edges["weight"].to_numpy()), kind="stable")]
    kept = strongest.head(MOST_EDGES)
    number = {name: k for k, name in enumerate(graph.names)}
    has_confidence = graph.confidence is not None
    return {
        "names": list(graph.names),
        "places": np.round(_places(graph), 1).tolist(),
        "directed": graph.directed,
        "n_edges": graph.n_edges,
        "source": [number[name] for name in kept["source"]],
        "target": [number[name] for name in kept["target"]],
        "weight": [_rounded(value) for value in kept["weight"]],
        "confidence": [_rounded(value) for value in kept["confidence"]] if has_confidence else None,
    }


def as_script(data: dict[str, Any]) -> str:
    """Write JSON that no name can break out of."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _places(graph: Graph) -> FloatArray:
    page = Page(low=np.zeros(2), high=np.full(2, SIDE), cell=np.array([60.0, 30.0]), radius=8.0)
    if not graph.n_nodes:
        return np.zeros((0, 2))
    layout = "auto" if is_joined(graph).any() else "circle"
    return place(graph, layout, page).points


def _rounded(value: float) -> float | None:
    """Four significant digits; None for a number that is not known."""
    return float(f"{value:.4g}") if np.isfinite(value) else None
