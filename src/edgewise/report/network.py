"""The interactive figures of a network: nodes and edges, and the matrix of their weights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any, Final

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.graph import Graph
from edgewise.plot._canvas import tidy
from edgewise.plot._layout import Page, is_joined, part_of, place, strongest

#: The strongest edges that a page holds; files hold all of them.
MOST_EDGES: Final = 10_000
#: The rectangle that nodes are placed in, and how high it is for more than so many.
WIDTH, HEIGHT, MANY, HIGH = 1100.0, 600.0, 100, 900.0


def network_data(
    graph: Graph, more: Mapping[str, FloatArray] | None = None, sites: FloatArray | None = None
) -> dict[str, Any]:
    """Gather nodes with their places and edges with their weights, the strongest first.

    Numbers are rounded to what a reader can see, which keeps the page small. The edges that are
    ``shown`` at first are those of `edgewise.plot.plot_network`, and ``places`` are of their nodes;
    where others have edges too, ``whole`` has places for all.
    """
    shown = strongest(graph)
    height = _height(shown)
    number = {name: k for k, name in enumerate(graph.names)}
    edges = graph.edges()
    edges = edges.iloc[np.argsort(-np.abs(edges["weight"].to_numpy()), kind="stable")]
    rows, columns = ([number[name] for name in edges[end]] for end in ("source", "target"))
    is_shown = shown.adjacency[rows, columns]
    kept = edges[is_shown | (np.arange(len(edges)) < MOST_EDGES)]
    has_confidence = graph.confidence is not None
    ends = list(zip(kept["source"], kept["target"], strict=True))
    numbers = {
        "weight": [_rounded(value) for value in kept["weight"]],
        "confidence": [_rounded(value) for value in kept["confidence"]] if has_confidence else None,
    }
    further = {
        name: [_rounded(matrix[number[a], number[b]]) for a, b in ends]
        for name, matrix in (more or {}).items()
    }
    return {
        "names": list(graph.names),
        "places": _places(shown, height),
        "whole": None if (is_joined(shown) == is_joined(graph)).all() else _places(graph, height),
        "directed": graph.directed,
        "n_edges": graph.n_edges,
        "shown": np.flatnonzero(is_shown).tolist(),
        "source": [number[name] for name in kept["source"]],
        "target": [number[name] for name in kept["target"]],
        **numbers,
        "signed": None if graph.signed is None else _marks(graph.signed, kept, number),
        "decided": None if graph.decided is None else _marks(graph.decided, kept, number),
        "more": further,
        "decimals": {
            name: decimals(values) for name, values in (numbers | further).items() if values
        },
        "sites": None if sites is None else _cells(sites),
    }


def _cells(sites: FloatArray) -> list[list[float]]:
    """Turn places upside down, as a screen counts, with the nearest two at distance 1."""
    from scipy.spatial import KDTree

    apart = np.min(KDTree(sites).query(sites, k=[2])[0])
    scale = 1.0 / apart if 0.0 < apart < np.inf else 1.0
    cells: list[list[float]] = np.round(sites * [scale, -scale], 4).tolist()
    return cells


def _marks(matrix: BoolArray, edges: Any, number: dict[str, int]) -> list[bool]:
    """Tell of each edge what a matrix says of it."""
    ends = zip(edges["source"], edges["target"], strict=True)
    return [bool(matrix[number[a], number[b]]) for a, b in ends]


def as_script(data: Any) -> str:
    """Write JSON that no name can break out of."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def asset(name: str) -> str:
    """Read a file of this package."""
    return resources.files("edgewise.report").joinpath(name).read_text(encoding="utf-8")


def _height(graph: Graph) -> float:
    return HIGH if np.count_nonzero(is_joined(graph)) > MANY else HEIGHT


def _places(graph: Graph, height: float) -> list[list[float] | None]:
    """Place the nodes that have an edge; the others are named in a line of text."""
    joined = is_joined(graph)
    places: list[list[float] | None] = [None] * graph.n_nodes
    if joined.any():
        high = np.array([WIDTH, height])
        page = Page(low=np.zeros(2), high=high, cell=np.full(2, 60.0), radius=8.0)
        points = place(part_of(graph, joined), "auto", page).points
        for k, point in zip(np.flatnonzero(joined).tolist(), points, strict=True):
            places[k] = np.round(point, 1).tolist()
    return places


def decimals(values: Sequence[float | None]) -> int | None:
    """Count the digits behind the point that a column of numbers is shown with, three at most.

    None for numbers of very different sizes, which are shown with four digits each.
    """
    known = [value for value in values if value is not None and np.isfinite(value)]
    largest = max(map(abs, known), default=0.0)
    least = min((abs(value) for value in known if value), default=0.0)
    if largest >= 1000 or 0 < largest < 0.01 or (largest >= 100 and least < 0.1):
        return None
    return next((d for d in range(3) if all(round(v, d) == v for v in known)), 3)


def shown(value: float, digits: int | None) -> str:
    """Write a number with so many digits behind the point; one that they would hide by its size.

    Examples
    --------
    >>> shown(0.5, 3), shown(0.00002, 3), shown(12345.678, None)
    ('0.500', '2e-05', '1.235e+04')
    """
    if digits is None:
        return f"{value:.4g}"
    is_hidden = value != 0 and abs(value) < 0.5 * 0.1**digits
    return f"{value:.2g}" if is_hidden else f"{value:.{digits}f}"


def _rounded(value: float) -> float | None:
    """Four significant digits; None for a number that is not known."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


#: Names stand beside the rows of the matrix where there are no more than this.
MOST_LABELS: Final = 60
#: Free space around the nodes of the network: at the sides for names, above and below.
MARGINS: Final = (60, 30)
#: What the figures as stored have in the place of the key of a section.
KEY: Final = "{key}"


def network_figures(graph: Graph, key: str) -> list[dict[str, Any]]:
    """Fill in the figures of network and matrix, in the form in which BokehJS reads models.

    Their sources are filled by the page's script, so that a filter can change them.
    ``tools/report_figures.py`` writes what is filled in here.

    Parameters
    ----------
    graph : Graph
        For its names.
    key : str
        Of the section: the sources are called ``nodes-key``, ``edges-key`` and ``cells-key``.
    """
    figures: list[dict[str, Any]] = json.loads(asset("figures.json").replace(KEY, key))
    part = {model["name"]: model for figure in figures for model in _named(figure)}
    p = graph.n_nodes
    height = _height(strongest(graph))
    part[f"network-{key}"]["frame_height"] = int(height) + 2 * MARGINS[1]
    part[f"up-{key}"]["end"] = height + MARGINS[1]
    part[f"across-{key}"].update(start=-0.5, end=p - 0.5)
    part[f"down-{key}"].update(start=p - 0.5, end=-0.5)
    for told in ("edges", "cells"):
        part[f"told-{told}-{key}"]["tooltips"] = _about_edges(graph)
    for axis in ("rows", "columns"):
        if p > MOST_LABELS:
            part[f"{axis}-{key}"]["visible"] = False
            continue
        part[f"{axis}-ticks-{key}"]["ticks"] = list(range(p))
        part[f"{axis}-{key}"].update(
            major_label_overrides={
                "type": "map",
                "entries": [[k, _plain(name)] for k, name in enumerate(graph.names)],
            },
            major_label_text_font_size="9px" if p > 25 else "11px",
        )
    return figures


def _named(value: Any) -> Iterator[dict[str, Any]]:
    """Find the attributes of all models that have a name."""
    if isinstance(value, dict):
        if "name" in value.get("attributes", ()):
            yield value["attributes"]
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _named(part)


def _about_edges(graph: Graph) -> list[tuple[str, str]]:
    """Tooltip of an edge; Bokeh shows names as text."""
    told = [
        ("from" if graph.directed else "between", "@source"),
        ("to" if graph.directed else "and", "@target"),
        ("weight", "@weight"),
    ]
    told += [] if graph.confidence is None else [("confidence", "@confidence")]
    return told + ([] if graph.decided is None else [("at the optimum", "@decided")])


def _plain(name: str) -> str:
    """Keep Bokeh from typesetting a name, with a library from outside."""
    return re.sub(r"(\$)(?=\$)|(\\)(?=[(\[])", "\\g<0>\u200b", tidy(name, 18))
