"""The Bokeh figures of a report, as JSON that reports fill in.

Importing Bokeh takes longer than a fit of a small table, and the figures differ from report to
report in a few values only. ``python tools/report_figures.py`` writes
``src/edgewise/report/figures.json``; run it after each change here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, LabelSet, Range1d
from bokeh.plotting import figure

from edgewise.report.network import HEIGHT, KEY, MARGINS, WIDTH

FILE = Path(__file__).parents[1] / "src" / "edgewise" / "report" / "figures.json"
#: Pixels; the frame of the network is as large as what it shows at first.
FRAME = int(WIDTH) + 2 * MARGINS[0], int(HEIGHT) + 2 * MARGINS[1]
MATRIX_SIZE = 480
#: Written by newer releases of Bokeh with the value that older ones assume, and refuse to read.
NEW = ("sort_by",)


def figures() -> list[dict[str, Any]]:
    """Build both figures with empty sources, and number their parts in order."""
    document = Document()
    for drawn in (network(), matrix()):
        document.add_root(drawn)
    roots: list[dict[str, Any]] = json.loads(serialize_json(document.to_json()))["roots"]
    numbers: dict[str, str] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [plain(part) for part in value]
        if not isinstance(value, dict):
            return value
        kept = {name: plain(part) for name, part in value.items() if name not in NEW}
        if "id" in kept:
            kept["id"] = numbers.setdefault(kept["id"], f"{KEY}-{len(numbers)}")
        return kept

    filled: list[dict[str, Any]] = plain(roots)
    return filled


def source(name: str, *columns: str) -> ColumnDataSource:
    """Build a source without rows, which the page's script fills."""
    return ColumnDataSource({column: [] for column in columns}, name=f"{name}-{KEY}")


def network() -> Any:
    """Draw nodes and edges."""
    nodes = source("nodes", "x", "y", "size", "name", "degree", "label", "dx", "dy")
    ends, told = ("x0", "y0", "x1", "y1"), ("weight", "confidence", "decided", "source", "target")
    edges = source("edges", *ends, "width", "color", "dash", *told)
    arrows = source("arrows", "x", "y", "angle", "color", "size")
    drawn = figure(
        frame_width=FRAME[0],
        frame_height=FRAME[1],
        x_range=Range1d(start=-MARGINS[0], end=WIDTH + MARGINS[0]),
        y_range=Range1d(start=-MARGINS[1], end=HEIGHT + MARGINS[1], name=f"up-{KEY}"),
        tools="pan,wheel_zoom,box_zoom,tap,reset,save",
        active_scroll=None,
        toolbar_location="above",
        name=f"network-{KEY}",
    )
    bare(drawn)
    drawn.axis.visible = False
    lines = drawn.segment(
        *ends,
        line_width="width",
        line_color="color",
        line_alpha=0.9,
        line_dash="dash",
        source=edges,
        hover_line_alpha=1.0,
    )
    drawn.scatter(
        "x", "y", marker="triangle", angle="angle", size="size", color="color", source=arrows
    )
    dots = drawn.scatter(
        "x",
        "y",
        size="size",
        source=nodes,
        fill_color="#DDDDDD",
        line_color="#555555",
        selection_fill_color="#F0E442",
        selection_line_color="#000000",
        nonselection_fill_alpha=0.35,
        nonselection_line_alpha=0.35,
    )
    drawn.add_layout(labels(source("names", "x", "y", "label", "dx", "dy")))
    drawn.add_tools(
        HoverTool(renderers=[lines], line_policy="interp", name=f"told-edges-{KEY}"),
        HoverTool(renderers=[dots], tooltips=[("", "@name"), ("neighbours", "@degree")]),
    )
    return drawn


def labels(names: ColumnDataSource) -> LabelSet:
    """Write names where the page's script finds room for them, in the colours of the page."""
    return LabelSet(
        x="x",
        y="y",
        text="label",
        source=names,
        x_offset="dx",
        y_offset="dy",
        text_baseline="middle",
        text_font_size="12px",
        background_fill_alpha=0.7,
        name=f"labels-{KEY}",
    )


def matrix() -> Any:
    """Draw the matrix of weights, whose size and names a report fills in."""
    told = ("weight", "confidence", "decided", "source", "target")
    cells = source("cells", "x", "y", "color", *told)
    drawn = figure(
        width=MATRIX_SIZE,
        height=MATRIX_SIZE,
        x_range=Range1d(name=f"across-{KEY}"),
        y_range=Range1d(name=f"down-{KEY}"),
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_scroll=None,
        toolbar_location="above",
        x_axis_location="above",
        name=f"matrix-{KEY}",
    )
    bare(drawn)
    squares = drawn.rect("x", "y", 1, 1, fill_color="color", line_color=None, source=cells)
    drawn.add_tools(HoverTool(renderers=[squares], name=f"told-cells-{KEY}"))
    for axis, name in ((drawn.xaxis, "columns"), (drawn.yaxis, "rows")):
        axis.name = f"{name}-{KEY}"
        axis.ticker = FixedTicker(name=f"{name}-ticks-{KEY}")
    drawn.xaxis.major_label_orientation = "vertical"
    return drawn


def bare(drawn: Any) -> None:
    """Take off what is not data, and let the page's background through."""
    drawn.grid.visible = False
    drawn.outline_line_color = "#AAAAAA"
    drawn.background_fill_alpha = 0.0
    drawn.border_fill_alpha = 0.0
    drawn.axis.axis_line_color = None
    drawn.axis.major_tick_line_color = None
    drawn.toolbar.stylesheets = ["@media print { :host { visibility: hidden; } }"]


if __name__ == "__main__":
    FILE.write_text(json.dumps(figures(), separators=(",", ":")) + "\n", encoding="utf-8")
