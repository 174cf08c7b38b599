"""The Bokeh figures of a network: nodes and edges, and the matrix of their weights."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._canvas import tidy
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


#: Names stand beside the rows of the matrix where there are no more than this.
MOST_LABELS: Final = 60
#: Pixels; the frame of the network is as wide as what it shows at first.
MARGIN: Final = 20
FRAME_SIZE, MATRIX_SIZE = int(SIDE) + 2 * MARGIN, 480


def network_figures(graph: Graph, key: str) -> tuple[Any, Any]:
    """Build both figures around sources that the page's script fills.

    Parameters
    ----------
    graph : Graph
        For its names; edges come from the script, so that a filter can change them.
    key : str
        Of the section: the sources are called ``nodes-key``, ``edges-key`` and ``cells-key``.
    """
    return _network(graph, key), _matrix(graph, key)


def _network(graph: Graph, key: str) -> Any:
    from bokeh.models import ColumnDataSource, HoverTool, Range1d
    from bokeh.plotting import figure

    nodes = ColumnDataSource(
        {name: [] for name in ("x", "y", "name", "degree", "label", "dx", "dy")},
        name=f"nodes-{key}",
    )
    columns = ("x0", "y0", "x1", "y1", "width", "color", "weight", "confidence", "source", "target")
    edges = ColumnDataSource({name: [] for name in columns}, name=f"edges-{key}")
    arrows = ColumnDataSource(
        {name: [] for name in ("x", "y", "angle", "color", "size")}, name=f"arrows-{key}"
    )
    drawn = figure(
        frame_width=FRAME_SIZE,
        frame_height=FRAME_SIZE,
        x_range=Range1d(start=-MARGIN, end=SIDE + MARGIN),
        y_range=Range1d(start=-MARGIN, end=SIDE + MARGIN),
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_scroll=None,
        toolbar_location="above",
        name=f"network-{key}",
    )
    _bare(drawn)
    drawn.axis.visible = False
    lines = drawn.segment(
        "x0",
        "y0",
        "x1",
        "y1",
        line_width="width",
        line_color="color",
        line_alpha=0.75,
        source=edges,
        hover_line_alpha=1.0,
    )
    drawn.scatter(
        "x", "y", marker="triangle", angle="angle", size="size", color="color", source=arrows
    )
    dots = drawn.scatter(
        "x",
        "y",
        size=11 if graph.n_nodes <= 200 else 6,
        source=nodes,
        fill_color="#DDDDDD",
        line_color="#555555",
        selection_fill_color="#F0E442",
        selection_line_color="#000000",
        nonselection_fill_alpha=0.35,
        nonselection_line_alpha=0.35,
    )
    drawn.add_layout(_labels(nodes, key))
    drawn.add_tools(
        HoverTool(renderers=[lines], line_policy="interp", tooltips=_about_edges(graph)),
        HoverTool(renderers=[dots], tooltips=[("", "@name"), ("neighbours", "@degree")]),
    )
    return drawn


def _labels(nodes: Any, key: str) -> Any:
    """Names where the page's script finds room for them, in the colours of the page."""
    from bokeh.models.annotations import LabelSet

    return LabelSet(
        x="x",
        y="y",
        text="label",
        source=nodes,
        x_offset="dx",
        y_offset="dy",
        text_baseline="middle",
        text_font_size="12px",
        background_fill_alpha=0.7,
        name=f"labels-{key}",
    )


def _matrix(graph: Graph, key: str) -> Any:
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d
    from bokeh.plotting import figure

    columns = ("x", "y", "color", "weight", "confidence", "source", "target")
    cells = ColumnDataSource({name: [] for name in columns}, name=f"cells-{key}")
    p = graph.n_nodes
    drawn = figure(
        width=MATRIX_SIZE,
        height=MATRIX_SIZE,
        x_range=Range1d(start=-0.5, end=p - 0.5),
        y_range=Range1d(start=p - 0.5, end=-0.5),
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_scroll=None,
        toolbar_location="above",
        x_axis_location="above",
        name=f"matrix-{key}",
    )
    _bare(drawn)
    squares = drawn.rect("x", "y", 1, 1, fill_color="color", line_color=None, source=cells)
    drawn.add_tools(HoverTool(renderers=[squares], tooltips=_about_edges(graph)))
    if p <= MOST_LABELS:
        for axis in (drawn.xaxis, drawn.yaxis):
            axis.ticker = FixedTicker(ticks=list(range(p)))
            axis.major_label_overrides = {k: _plain(name) for k, name in enumerate(graph.names)}
            axis.major_label_text_font_size = "9px" if p > 25 else "11px"
        drawn.xaxis.major_label_orientation = "vertical"
    else:
        drawn.axis.visible = False
    return drawn


def _about_edges(graph: Graph) -> list[tuple[str, str]]:
    """List what a pointer on an edge is told; Bokeh shows names as text."""
    told = [
        ("from" if graph.directed else "between", "@source"),
        ("to" if graph.directed else "and", "@target"),
        ("weight", "@weight"),
    ]
    return told if graph.confidence is None else [*told, ("confidence", "@confidence")]


def _plain(name: str) -> str:
    """Keep Bokeh from typesetting a name, with a library from outside."""
    return re.sub(r"(\$)(?=\$)|(\\)(?=[(\[])", "\\g<0>\u200b", tidy(name, 18))


def _bare(drawn: Any) -> None:
    """Take off what is not data, and let the page's background through."""
    drawn.grid.visible = False
    drawn.outline_line_color = "#AAAAAA"
    drawn.background_fill_alpha = 0.0
    drawn.border_fill_alpha = 0.0
    drawn.axis.axis_line_color = None
    drawn.axis.major_tick_line_color = None
