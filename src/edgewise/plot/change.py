"""What changed between two conditions, as a network or as a strip of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray
from edgewise.graph import Graph
from edgewise.plot._changes import (
    Edges,
    Entry,
    draw,
    find_edges,
    fit_names,
    kind_entries,
    lay_out,
    legend_columns,
    legend_options,
    names_to_write,
    size_entries,
    write_title,
)
from edgewise.plot._drawing import room_of
from edgewise.plot._layout import is_joined
from edgewise.plot._style import NEUTRAL, axes_or_new

#: Height of a row of text, in points.
_ROW = 16.0
#: Inches: the widest strip, the space between and around its panels, and above each for a title.
_PAGE, _BETWEEN, _HEAD = 15.5, 0.12, 0.27
_FRAME = "#CCCCCC"


def plot_change(
    change: Graph,
    ax: Axes | None = None,
    *,
    before: Graph | None = None,
    after: Graph | None = None,
    layout: Literal["auto", "circle"] | ArrayLike = "auto",
    labels: Literal["auto", "all", "none"] = "auto",
    title: str | None = None,
    legend: bool = True,
    signed: bool = True,
) -> Axes:
    """Draw which edges changed between two groups, and how; wide ones changed most.

    Kinds of change differ in colour and in line style, and the legend counts them: increased and
    decreased or, with the graphs of both groups, all that `edgewise.graph.classify_changes` tells
    apart. Nodes without a change are faint, and have no names where there are many. The same
    graphs always give the same picture.

    Parameters
    ----------
    change : Graph
        Undirected; its edges are the pairs that changed, weighted by after minus before.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    before, after : Graph, default=None
        Of the two groups, over the same nodes; both or neither.
    layout : {"auto", "circle"} or array-like of shape (n_nodes, 2), default="auto"
        ``"auto"`` places each connected component by Kamada-Kawai and nodes without a change in
        a grid below; ``"circle"`` keeps node order; an array gives the positions.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` writes the names that fit without covering anything, those of the nodes that
        changed most first.
    title : str, default=None
        Written above the network.
    legend : bool, default=True
        Whether to explain colours, lines and widths below the network.
    signed : bool, default=True
        Whether the signs of the weights of ``change`` mean anything; they do not where a weight
        is the length of a vector.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_change
    >>> before, after = Graph([[0, 0.5], [0.5, 0]]), Graph([[0, -0.1], [-0.1, 0]])
    >>> change = Graph([[0, -0.6], [-0.6, 0]])
    >>> ax = plot_change(change, before=before, after=after)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['flipped (1)']
    """
    _check_labels(labels)
    edges = find_edges(change, before, after, signed=signed)
    n_joined = int(is_joined(change).sum())
    ax = axes_or_new(ax, _figure_size(n_joined), fill=True)
    ax.set_axis_off()
    room = room_of(ax)
    font_size = 9.0 if n_joined <= 30 else 7.5 if n_joined <= 100 else 6.0
    has_name = names_to_write(change, labels, room, font_size)
    entries = _entries(edges, change.n_nodes - n_joined) if legend else []
    columns = legend_columns(entries, room[0])
    sheet = lay_out(
        change,
        layout,
        room,
        has_name=has_name,
        head=_ROW * (title is not None),
        foot=_ROW * -(-len(entries) // columns),
        font_size=font_size,
    )
    names, (placed,) = fit_names(change, sheet, [(edges, has_name)], keep_all=labels == "all")
    draw(ax, sheet, edges, names, placed)
    if title is not None:
        write_title(ax, title, room[0], 11.0, y=1.0, pad=-14.0)
    if legend:
        ax.legend(**legend_options(entries, sheet, columns))
    return ax


def plot_change_strip(
    changes: Sequence[Graph],
    *,
    titles: Sequence[str] | None = None,
    layout: Literal["auto", "circle"] | ArrayLike = "auto",
    columns: int | None = None,
    labels: Literal["auto", "all", "none"] = "auto",
    signed: bool = True,
) -> Figure:
    """Draw several changes side by side, with every node at the same place in all of them.

    Such as those between a reference period and a window that slides over the rows. Colours, line
    styles and widths mean the same in all panels. A node has a name where it has an edge.

    Parameters
    ----------
    changes : sequence of Graph
        Undirected, over the same nodes in the same order, one per panel.
    titles : sequence of str, default=None
        One per panel.
    layout : {"auto", "circle"} or array-like of shape (n_nodes, 2), default="auto"
        ``"auto"`` places the edges of all panels together and leaves out nodes that have none
        in any; ``"circle"`` keeps node order; an array gives the positions.
    columns : int, default=None
        Panels in a row; None takes as many as fit on a page.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` writes the names that fit without covering anything, those of the nodes that
        changed most first.
    signed : bool, default=True
        Whether the signs of the weights mean anything; they do not where a weight is the length
        of a vector.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per graph.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_change_strip
    >>> early = Graph([[0, 0.4, 0], [0.4, 0, 0], [0, 0, 0]])
    >>> late = Graph([[0, 0.4, 0], [0.4, 0, -0.3], [0, -0.3, 0]])
    >>> figure = plot_change_strip([early, late], titles=["April", "July"])
    >>> [sorted(text.get_text() for text in ax.texts) for ax in figure.axes]
    [['x0', 'x1'], ['x0', 'x1', 'x2']]
    """
    _check_labels(labels)
    panels = [find_edges(change, None, None, signed=signed) for change in changes]
    union = _union(changes, titles)
    is_drawn = is_joined(union)
    if not (isinstance(layout, str) and layout == "auto" and union.n_edges):
        is_drawn = np.ones(union.n_nodes, dtype=bool)
    number = np.cumsum(is_drawn) - 1
    panels = [replace(edges, ends=number[edges.ends]) for edges in panels]
    union = _part(union, is_drawn)
    entries = _strip_entries(panels, union.n_nodes, int((~is_drawn).sum()))
    figure, axes, n_columns = _panel_axes(
        len(panels), columns, union.n_nodes, entries, _HEAD if titles else _BETWEEN
    )
    has_names = [edges.joins(union.n_nodes) & (labels != "none") for edges in panels]
    sheet = lay_out(
        union,
        layout,
        room_of(axes[0]),
        has_name=np.any(has_names, axis=0),
        head=0.0,
        foot=0.0,
        font_size=8.0 if union.n_nodes <= 30 else 7.0,
    )
    named = list(zip(panels, has_names, strict=True))
    names, placed = fit_names(union, sheet, named, keep_all=labels == "all")
    for index, (ax, edges) in enumerate(zip(axes, panels, strict=True)):
        draw(ax, sheet, edges, names, placed[index])
        if titles is not None:
            write_title(ax, titles[index], sheet.room[0], 9.5, pad=4.0)
        if not edges.kind:
            ax.annotate(
                "no change",
                (0.5, 1.0),
                (0.0, -5.0),
                xycoords="axes fraction",
                textcoords="offset points",
                ha="center",
                va="top",
                fontsize=8,
                color=NEUTRAL,
            )
    figure.legend(**legend_options(entries, sheet, n_columns))
    return figure


def _check_labels(labels: str) -> None:
    if labels not in ("auto", "all", "none"):
        raise InputError(f"labels must be 'auto', 'all' or 'none', got {labels!r}.")


def _figure_size(n_joined: int) -> tuple[float, float]:
    if n_joined <= 30:
        return (7.0, 5.5)
    return (9.0, 7.0) if n_joined <= 100 else (12.0, 9.5)


def _entries(edges: Edges, n_alone: int) -> list[Entry]:
    entries = kind_entries([edges], counted=True)
    if n_alone:
        entries.append(Entry(label=f"no change ({n_alone} {'node' if n_alone == 1 else 'nodes'})"))
    return entries + size_entries(edges.size)


def _union(changes: Sequence[Graph], titles: Sequence[str] | None) -> Graph:
    """Join the edges of all panels, each with its largest change."""
    if not changes:
        raise InputError("There are no changes to draw; give at least one graph.")
    if titles is not None and len(titles) != len(changes):
        raise InputError(f"There are {len(changes)} changes but {len(titles)} titles.")
    names = changes[0].names
    if any(change.names != names for change in changes):
        raise InputError("The graphs of a strip must have the same nodes in the same order.")
    return Graph(
        np.max([np.abs(change.weights) for change in changes], axis=0),
        names=names,
        adjacency=np.any([change.adjacency for change in changes], axis=0),
    )


def _part(graph: Graph, is_kept: BoolArray) -> Graph:
    kept = np.flatnonzero(is_kept)
    return Graph(
        graph.weights[np.ix_(kept, kept)],
        names=[graph.names[node] for node in kept],
        adjacency=graph.adjacency[np.ix_(kept, kept)],
    )


def _strip_entries(panels: Sequence[Edges], n_nodes: int, n_hidden: int) -> list[Entry]:
    entries = kind_entries(panels, counted=False)
    if not all(edges.joins(n_nodes).all() for edges in panels):
        entries.append(Entry(label="no change in this panel"))
    if n_hidden:
        words = "node" if n_hidden == 1 else "nodes"
        entries.append(Entry(label=f"not drawn: {n_hidden} unchanged {words}", look=("none", ())))
    return entries + size_entries(np.concatenate([edges.size for edges in panels]))


def _panel_axes(
    n_panels: int, columns: int | None, n_nodes: int, entries: Sequence[Entry], head: float
) -> tuple[Figure, list[Axes], int]:
    """Make a figure with framed panels and room for a legend, and count the columns of that."""
    width = 3.1 if n_nodes <= 15 else 4.1 if n_nodes <= 40 else 5.0
    height = 0.85 * width
    if columns is None:
        n_rows = -(-n_panels // int(_PAGE / width))
        columns = -(-n_panels // n_rows)
    elif columns < 1:
        raise InputError(f"columns must be at least 1, got {columns}.")
    columns = min(columns, n_panels)
    n_rows = -(-n_panels // columns)
    page_width = _BETWEEN + columns * (width + _BETWEEN)
    legend = legend_columns(entries, 72.0 * page_width)
    foot = _BETWEEN + _ROW / 72.0 * -(-len(entries) // legend)
    page_height = foot + n_rows * (height + head) + _BETWEEN
    figure = Figure(figsize=(page_width, page_height))
    axes = []
    for index in range(n_panels):
        row, column = divmod(index, columns)
        left = _BETWEEN + column * (width + _BETWEEN)
        bottom = foot + (n_rows - 1 - row) * (height + head)
        corner = (left / page_width, bottom / page_height)
        ax = figure.add_axes((*corner, width / page_width, height / page_height))
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_color(_FRAME)
        axes.append(ax)
    return figure, axes, legend
