"""A network as nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array
from matplotlib.patches import FancyArrowPatch
from numpy.typing import ArrayLike

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.plot import _layout
from edgewise.plot._canvas import (
    ENTRY,
    INK,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    Entry,
    axes_or_new,
    check_labels,
    draw_legend,
    line_width,
    network_font_size,
    network_size,
    room_of,
    set_limits,
    tidy,
    weight_entries,
)
from edgewise.plot._labels import MOST_LABELS, label_sizes, place_labels, write_labels


@dataclass(frozen=True, kw_only=True)
class Strokes:
    """The lines to draw, one entry per line."""

    source: IntArray
    target: IntArray
    width: FloatArray
    color: FloatArray
    has_arrow: BoolArray
    is_bent: BoolArray


def strokes_of(graph: Graph, widest: float) -> Strokes:
    """Turn edges into lines; an edge there both ways with equal weight is one line."""
    both_ways = graph.adjacency & graph.adjacency.T
    is_line = both_ways & (graph.weights == graph.weights.T)
    source, target = np.nonzero(graph.adjacency & ~np.tril(is_line))
    weight = graph.weights[source, target]
    heaviest = float(np.abs(weight).max(initial=0.0)) or 1.0
    sign = np.sign(weight).astype(int) + 1
    if graph.signed is not None:
        sign[~graph.signed[source, target]] = 1
    color = to_rgba_array([NEGATIVE, NEUTRAL, POSITIVE])[sign]
    if graph.confidence is None:
        color[:, 3] = 0.85
    else:
        color[:, 3] = opacity(graph.confidence[source, target])
    # Faint edges go first, so that strong ones lie on top.
    order = np.argsort(np.abs(weight), kind="stable")
    source, target = source[order], target[order]
    return Strokes(
        source=source,
        target=target,
        width=line_width(np.abs(weight[order]) / heaviest, widest),
        color=color[order],
        has_arrow=~is_line[source, target],
        is_bent=(both_ways & ~is_line)[source, target],
    )


def opacity(confidence: FloatArray) -> FloatArray:
    """How solid an edge of that confidence is drawn."""
    return 0.12 + 0.8 * confidence


def stroke_entries(graph: Graph) -> list[Entry]:
    """List what in the drawing of edges needs a word."""
    weights = graph.weights[graph.adjacency]
    signed = None if graph.signed is None else graph.signed[graph.adjacency]
    entries = weight_entries(weights, signed)
    if graph.confidence is not None and len(weights):
        entries += [
            Entry(label=f"confidence {level:g}", opacity=float(opacity(np.array(level))))
            for level in (1.0, 0.5)
        ]
    return entries


#: Printer's points kept free at the left and right, at the top, and at the bottom.
_SIDE, _TOP, _BOTTOM = 34.0, 24.0, 20.0


def plot_network(
    graph: Graph,
    ax: Axes | None = None,
    *,
    layout: Literal["auto", "circle"] | ArrayLike = "auto",
    labels: Literal["auto", "all", "none"] = "auto",
    legend: bool = True,
) -> Axes:
    """Draw a network: blue edges are positive, orange ones negative, wide ones strong.

    Edges fade with falling confidence; an edge whose weight is not known or has no sign is grey.
    In a directed graph an edge that is there both ways with one weight is drawn as a line without
    arrows. The same graph always gives the same picture.

    Parameters
    ----------
    graph : Graph
        What to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    layout : {"auto", "circle"} or array-like of shape (n_nodes, 2), default="auto"
        ``"auto"`` places each connected component by Kamada-Kawai and isolated nodes in a grid
        below; ``"circle"`` keeps node order; an array gives the positions.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` writes the names that fit without covering anything, those of nodes with many
        neighbours first.
    legend : bool, default=True
        Whether to explain colours, widths and fading below the network.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_network
    >>> ax = plot_network(Graph([[0, 0.5], [0.5, 0]], names=["a", "b"]))
    >>> [text.get_text() for text in ax.texts]
    ['a', 'b']
    """
    check_labels(labels)
    ax = axes_or_new(ax, network_size(graph.n_nodes), fill=True)
    ax.set_axis_off()
    _draw(ax, graph, layout, labels, stroke_entries(graph) if legend else [])
    return ax


def _draw(
    ax: Axes, graph: Graph, layout: str | ArrayLike, labels: str, entries: list[Entry]
) -> None:
    """Place nodes, edges, names and legend, each where the ones before leave room."""
    names = [tidy(name) for name in graph.names]
    font_size = network_font_size(graph.n_nodes)
    sizes = label_sizes(names, font_size) * (labels != "none")
    room = room_of(ax)
    columns = max(1, min(len(entries), int(room[0] / ENTRY[0])))
    legend_height = -(-len(entries) // columns) * ENTRY[1]
    # Beyond what can be read, isolated nodes stand close together without their names.
    is_readable = labels == "all" or graph.n_nodes <= MOST_LABELS
    page = _page(graph, room, sizes * is_readable, legend_height)
    placement = _layout.place(graph, layout, page)
    set_limits(ax, placement, room)
    joined = _layout.is_joined(graph)
    apart = min(_layout.spacing(placement.points[joined]), 60.0)
    radius = float(np.clip(0.22 * apart, 1.5, page.radius))
    widest = _widest(graph, apart)
    strokes = strokes_of(graph, widest)
    ends = np.column_stack([strokes.source, strokes.target])
    _draw_edges(ax, placement.data[ends], strokes, radius)
    _draw_nodes(ax, placement.data, joined, radius)
    if labels != "none":
        degree = (graph.adjacency | graph.adjacency.T).sum(axis=0)
        placed = place_labels(
            placement.points,
            placement.points[ends],
            sizes,
            order=np.argsort(-degree, kind="stable").tolist(),
            radius=radius,
            room=room,
            keep_all=labels == "all",
        )
        write_labels(ax, names, placement.data, placed, font_size)
    if entries:
        draw_legend(ax, entries, columns, widest)


def _page(graph: Graph, room: FloatArray, sizes: FloatArray, legend_height: float) -> _layout.Page:
    """Keep room at the sides for names and at the bottom for the legend."""
    radius = 8.0 if graph.n_nodes <= 30 else 6.0 if graph.n_nodes <= 100 else 4.5
    low = np.array([_SIDE, _BOTTOM + legend_height])
    name = sizes[~_layout.is_joined(graph)].max(axis=0, initial=0.0)
    return _layout.Page(
        low=low,
        high=np.maximum(room - [_SIDE, _TOP], low + 20.0),
        cell=np.array([2 * radius + name[0] + 10.0, max(2 * radius, name[1]) + 3.0]),
        radius=radius,
    )


def _widest(graph: Graph, apart: float) -> float:
    """Width of the heaviest edge in points; many edges are drawn thinner."""
    crowding = np.sqrt(max(1.0, graph.n_edges / (2.0 * graph.n_nodes)))
    return float(np.clip(0.1 * apart / crowding, 1.2, 5.0))


def _draw_edges(ax: Axes, ends: FloatArray, strokes: Strokes, radius: float) -> None:
    plain = ~strokes.has_arrow
    ax.add_collection(
        LineCollection(
            list(ends[plain]),
            colors=strokes.color[plain],
            linewidths=strokes.width[plain],
            zorder=1,
        ),
        autolim=False,
    )
    for index in np.flatnonzero(strokes.has_arrow):
        ax.add_patch(
            FancyArrowPatch(
                ends[index, 0],
                ends[index, 1],
                arrowstyle="-|>",
                connectionstyle="arc3,rad=0.18" if strokes.is_bent[index] else "arc3",
                shrinkA=radius,
                shrinkB=radius + 0.5,
                mutation_scale=4.0 + 2.2 * strokes.width[index],
                color=strokes.color[index],
                linewidth=strokes.width[index],
                zorder=1,
            )
        )


def _draw_nodes(ax: Axes, data: FloatArray, joined: BoolArray, radius: float) -> None:
    ax.scatter(
        data[:, 0],
        data[:, 1],
        s=(2 * radius) ** 2,
        c=["#DDDDDD" if is_joined else "white" for is_joined in joined],
        edgecolors=[INK if is_joined else NEUTRAL for is_joined in joined],
        linewidths=0.8,
        zorder=3,
    )
