"""A directed acyclic graph drawn tier by tier, from causes to effects."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.graph.equivalence import extend_pattern, find_cycle, longest_paths
from edgewise.graph.metrics import as_adjacency
from edgewise.plot._drawing import ENTRY, Entry, draw_legend, room_of
from edgewise.plot._labels import label_sizes
from edgewise.plot._layout import is_joined
from edgewise.plot._strokes import Strokes, stroke_entries, strokes_of
from edgewise.plot._style import INK, NEUTRAL, PLAIN, axes_or_new, tidy
from edgewise.plot._tiers import Tiered, tiered_layout

#: Largest and smallest size of names, in points, and the room around them, in sizes of letters.
_LARGEST, _SMALLEST, _PAD = 9.0, 4.0, 0.3
#: Lines that a node takes, in sizes of its letters.
_LEADING = 2.0
#: Room between the names of one tier and of the next, for arcs to turn in.
_TURN = 42.0
#: Largest figure in inches, and letters of the shortest name worth writing.
_WIDEST, _TALLEST, _FEWEST_LETTERS = 16.0, 14.0, 6
_MARGIN = 14.0
_LIGHT = "#EEEEEE"


@dataclass(frozen=True, kw_only=True, eq=False)
class _Page:
    """Where everything stands, in points from the lower left corner of the axes."""

    names: list[str]
    nodes: FloatArray
    half: FloatArray
    routes: list[FloatArray]
    font_size: float


def plot_dag(
    graph: Graph,
    ax: Axes | None = None,
    *,
    tiers: ArrayLike | None = None,
    pattern: Graph | ArrayLike | None = None,
    labels: Literal["auto", "all", "none"] = "auto",
    legend: bool = True,
) -> Axes:
    """Draw a directed acyclic graph from left to right: every arc leads to a tier further right.

    Blue arcs are positive, orange ones negative, wide ones strong; they fade with falling
    confidence. An edge that is there both ways, as in a `edgewise.metrics.cpdag`, has no
    direction that the data can tell: it is dashed and has no arrow head. Nodes without an edge
    stand below.

    Parameters
    ----------
    graph : Graph
        Directed, without cycles other than edges both ways.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    tiers : array-like of int, shape (n_nodes,), default=None
        Column of each node, such as ``order_`` of an estimator; arcs lead to higher ones. None
        takes the smallest tiers there are. Give the same ones to see a network beside its
        ``cpdag`` in one arrangement.
    pattern : Graph or array-like of shape (n_nodes, n_nodes), default=None
        The ``cpdag`` of the graph. Arcs that are there both ways in it are dashed: with the arrow
        turned round, the network would fit the data as well.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` leaves the names out where they would be too small to read.
    legend : bool, default=True
        Whether to explain colours, widths and lines below the drawing.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_dag
    >>> graph = Graph([[0, 0.5], [0, 0]], names=["rain", "wet"], directed=True)
    >>> ax = plot_dag(graph)
    >>> [text.get_text() for text in ax.texts]
    ['rain', 'wet']
    """
    if labels not in ("auto", "all", "none"):
        raise InputError(f"labels must be 'auto', 'all' or 'none', got {labels!r}.")
    if not graph.directed:
        raise InputError("plot_dag draws directed graphs; use plot_network for this one.")
    columns = columns_of(graph, tiers)
    is_untold = _untold(graph, pattern)
    # Two arcs of a pair run the same way in the drawing.
    joined = graph.adjacency | graph.adjacency.T
    arcs = np.argwhere(joined & (columns[:, None] < columns))
    layout = tiered_layout(arcs, columns)
    names = [tidy(name) for name in graph.names]
    ax = axes_or_new(ax, _figure_size(columns, layout, names, is_joined(graph)), fill=True)
    ax.set_axis_off()
    entries = _entries(graph, is_untold) if legend else []
    room = room_of(ax)
    n_columns = max(1, min(len(entries), int(room[0] / ENTRY[0])))
    floor = _MARGIN + -(-len(entries) // n_columns) * ENTRY[1]
    page = _place(room, floor, columns, layout, names, is_joined(graph), labels)
    ax.set_xlim(0, room[0])
    ax.set_ylim(0, room[1])
    strokes = strokes_of(graph, widest=3.0 if len(arcs) <= 60 else 2.0)
    _draw_arcs(ax, page, strokes, arcs, is_untold[strokes.source, strokes.target])
    _draw_nodes(ax, page, is_joined(graph), is_named=_is_named(page, labels))
    if entries:
        draw_legend(ax, entries, n_columns, widest=3.0)
    return ax


def columns_of(graph: Graph, tiers: ArrayLike | None) -> IntArray:
    """Return the column of each node, or say why the graph cannot be drawn in columns."""
    adjacency = graph.adjacency
    one_way = adjacency & ~adjacency.T
    if cycle := find_cycle(one_way):
        shown = " -> ".join(graph.names[node] for node in cycle)
        raise InputError(f"The graph has a cycle, {shown}, so that it has no tiers.")
    if tiers is None:
        return longest_paths(extend_pattern(adjacency).dag)
    given = np.asarray(tiers)
    if given.shape != (graph.n_nodes,):
        raise InputError(
            f"tiers must hold one number for each of {graph.n_nodes} nodes; its shape is "
            f"{given.shape}."
        )
    wrong = (one_way & (given[:, None] >= given)) | (adjacency & (given[:, None] == given))
    if wrong.any():
        source, target = np.argwhere(wrong)[0].tolist()
        raise InputError(
            f"The arc {graph.names[source]} -> {graph.names[target]} does not lead to a higher "
            f"tier: {given[source]} to {given[target]}."
        )
    # Only their order counts: tiers without a node take no room.
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def _untold(graph: Graph, pattern: Graph | ArrayLike | None) -> BoolArray:
    """Which arcs have a direction that the data cannot tell."""
    both_ways: BoolArray = graph.adjacency & graph.adjacency.T
    if pattern is None:
        return both_ways
    if isinstance(pattern, Graph) and pattern.names != graph.names:
        raise InputError("graph and pattern must have the same nodes in the same order.")
    known, _ = as_adjacency(pattern)
    if known.shape != both_ways.shape:
        raise InputError(f"pattern has {len(known)} nodes and graph {graph.n_nodes}.")
    return both_ways | (known & known.T)


def _figure_size(
    columns: IntArray, layout: Tiered, names: list[str], joined: BoolArray
) -> tuple[float, float]:
    widths = _widths(names, _LARGEST)
    n_columns = int(columns[joined].max(initial=0)) + 1
    wide = sum(widths[(columns == k) & joined].max(initial=0.0) for k in range(n_columns))
    wide += _TURN * (n_columns - 1) + 2 * _MARGIN
    width = float(np.clip(wide / 72, 6.0, _WIDEST))
    alone = _rows_of_alone(width * 72, widths[~joined])
    tall = (layout.height + alone) * _LEADING * _LARGEST + 4 * _MARGIN + 2 * ENTRY[1]
    return width, float(np.clip(tall / 72, 3.0, _TALLEST))


def _rows_of_alone(width: float, widths: FloatArray) -> int:
    """Lines that names without an edge fill."""
    if not len(widths):
        return 0
    per_row = max(1, int((width - 2 * _MARGIN) // (widths.max() + _MARGIN)))
    return -(-len(widths) // per_row)


def _place(
    room: FloatArray,
    floor: float,
    columns: IntArray,
    layout: Tiered,
    names: list[str],
    joined: BoolArray,
    labels: str,
) -> _Page:
    """Give each tier the width of its longest name and share what is left among the gaps."""
    n_columns = int(columns[joined].max(initial=0)) + 1
    n_alone = _rows_of_alone(room[0], _widths(names, _LARGEST)[~joined])
    below = n_alone + 0.5 * (n_alone > 0)
    slot = (room[1] - floor - _MARGIN) / (layout.height + below)
    members = [(columns == k) & joined for k in range(n_columns)]
    shown, font_size = _fitted_names(
        names, members, room[0] - 2 * _MARGIN, float(np.clip(slot / _LEADING, 1.0, _LARGEST))
    )
    widths = _widths(shown, font_size)
    if labels == "none":
        widths = np.full(len(names), font_size)
    thick = np.array([widths[member].max(initial=font_size) for member in members])
    gap = max((room[0] - 2 * _MARGIN - thick.sum()) / max(n_columns - 1, 1), 4.0)
    centre = _MARGIN + np.cumsum(thick + gap) - gap - thick / 2
    if n_columns == 1:
        centre = np.array([room[0] / 2])
    base = floor + slot * (below + 0.5)
    nodes = np.column_stack(
        [centre[np.minimum(columns, n_columns - 1)], base + slot * layout.heights]
    )
    if n_alone:
        nodes[~joined] = _grid(room[0], floor, slot, n_alone, int((~joined).sum()))
    return _Page(
        names=shown,
        nodes=nodes,
        half=widths / 2,
        routes=[
            np.column_stack([centre[route[:, 0].astype(int)], base + slot * route[:, 1]])
            for route in layout.routes
        ],
        font_size=font_size,
    )


def _fitted_names(
    names: list[str], members: list[BoolArray], width: float, font_size: float
) -> tuple[list[str], float]:
    """Make names smaller, then shorter, then smaller still, until all tiers fit side by side."""
    limit = max(map(len, names))
    needed = width - 0.4 * _TURN * (len(members) - 1)
    shown, share = names, _share(names, members, needed)
    while share * font_size > _LARGEST and font_size > 0.75 * _LARGEST:
        font_size -= 0.5
    while share * font_size > _LARGEST and limit > _FEWEST_LETTERS:
        limit -= 2
        shown = [tidy(name, limit) for name in names]
        share = _share(shown, members, needed)
    while share * font_size > _LARGEST and font_size > _SMALLEST:
        font_size -= 0.5
    return shown, font_size


def _share(names: list[str], members: list[BoolArray], needed: float) -> float:
    """Width of all tiers in the largest letters, as a share of what they may take."""
    widths = _widths(names, _LARGEST)
    return float(sum(widths[member].max(initial=0.0) for member in members)) / max(needed, 1.0)


def _widths(names: list[str], font_size: float) -> FloatArray:
    """Width of each name with the frame around it."""
    return label_sizes(names, font_size)[:, 0] + 2 * _PAD * font_size


def _grid(width: float, floor: float, slot: float, n_rows: int, n_alone: int) -> FloatArray:
    """Places of the nodes without an edge, below all others."""
    per_row = -(-n_alone // n_rows)
    index = np.arange(n_alone)
    x = _MARGIN + (width - 2 * _MARGIN) * (index % per_row + 0.5) / per_row
    y = floor + slot * (n_rows - 0.5 - index // per_row)
    return np.column_stack([x, y])


def _is_named(page: _Page, labels: str) -> bool:
    return labels == "all" or (labels == "auto" and page.font_size >= _SMALLEST)


def _draw_arcs(
    ax: Axes, page: _Page, strokes: Strokes, arcs: IntArray, is_dashed: BoolArray
) -> None:
    route_of = {(a, b): route for (a, b), route in zip(arcs.tolist(), page.routes, strict=True)}
    for index in range(len(strokes.source)):
        ends = int(strokes.source[index]), int(strokes.target[index])
        goes_right = ends in route_of
        left, right = ends if goes_right else ends[::-1]
        points = _way(page, left, right, route_of[left, right])
        # Limits are set already; a patch would have them found anew, arc by arc.
        ax.add_artist(
            FancyArrowPatch(
                path=_curve(points if goes_right else points[::-1]),
                arrowstyle="-|>" if strokes.has_arrow[index] else "-",
                linestyle=(0, (4.0, 2.5)) if is_dashed[index] else "-",
                mutation_scale=5.0 + 2.2 * strokes.width[index],
                color=strokes.color[index],
                linewidth=strokes.width[index],
                zorder=1,
            )
        )


def _way(page: _Page, left: int, right: int, bends: FloatArray) -> FloatArray:
    """Lead from the right side of one name, through the bends, to the left side of another."""
    start = page.nodes[left] + [page.half[left], 0.0]
    end = page.nodes[right] - [page.half[right] + 1.0, 0.0]
    return np.vstack([start, bends, end])


def _curve(points: FloatArray) -> Path:
    """Join points by a curve that is level at each of them."""
    vertices, codes = [points[0]], [Path.MOVETO]
    for a, b in itertools.pairwise(points):
        middle = (a[0] + b[0]) / 2
        vertices += [np.array([middle, a[1]]), np.array([middle, b[1]]), b]
        codes += [Path.CURVE4] * 3
    return Path(np.array(vertices), codes)


def _draw_nodes(ax: Axes, page: _Page, joined: BoolArray, *, is_named: bool) -> None:
    if not is_named:
        ax.scatter(
            page.nodes[:, 0],
            page.nodes[:, 1],
            s=(0.8 * page.font_size) ** 2,
            c=_LIGHT,
            edgecolors=INK,
            linewidths=0.6,
            zorder=3,
        )
        return
    for name, (x, y), has_edge in zip(page.names, page.nodes, joined, strict=True):
        ax.text(
            x,
            y,
            name,
            ha="center",
            va="center",
            fontsize=page.font_size,
            color=INK if has_edge else NEUTRAL,
            bbox={
                "boxstyle": f"round,pad={_PAD}",
                "facecolor": _LIGHT if has_edge else "white",
                "edgecolor": INK if has_edge else NEUTRAL,
                "linewidth": 0.5,
            },
            zorder=3,
            **PLAIN,
        )


def _entries(graph: Graph, is_untold: BoolArray) -> list[Entry]:
    entries = stroke_entries(graph)
    if (is_untold & graph.adjacency).any():
        entries.append(Entry(label="direction not told", is_dashed=True))
    return entries
