"""Changes between two conditions as a network, or as a strip of networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.graph.compare import CHANGE_KINDS, classify_changes
from edgewise.plot import _layout
from edgewise.plot._canvas import (
    INK,
    LEGEND,
    NEGATIVE,
    NEUTRAL,
    PLAIN,
    POSITIVE,
    Entry,
    axes_or_new,
    check_labels,
    draw_legend,
    network_font_size,
    network_size,
    room_of,
    set_limits,
    size_entries,
    tidy,
)
from edgewise.plot._labels import Label, label_sizes, place_labels, write_labels
from edgewise.plot._layout import is_joined, part_of, strongest
from edgewise.plot.network import fading, notes_on, write_notes

#: Colour and dashes of a line, the dashes in units of its width.
Look = tuple[str, tuple[float, ...]]
#: Kinds are told apart by colours of Okabe and Ito and, in grey, by their dashes.
_BY_KIND: dict[str, Look] = {
    "gained": (POSITIVE, ()),
    "lost": (NEGATIVE, (3.0, 1.5)),
    "flipped": ("#CC79A7", (5.0, 1.2, 1.0, 1.2)),
    "stronger": ("#56B4E9", (8.0, 1.5)),
    "weaker": ("#E69F00", (1.0, 1.0)),
    "increased": ("#009E73", (3.0, 1.2, 1.0, 1.2, 1.0, 1.2)),
    "decreased": ("#000000", (1.0, 2.5)),
    "changed": (NEUTRAL, ()),
}
#: Where the sign is all that is known, the colours are those of other pictures.
_BY_SIGN: dict[str, Look] = {
    "increased": (POSITIVE, ()),
    "decreased": (NEGATIVE, (3.0, 1.5)),
    "changed": (INK, ()),
}
_NODE, _FAINT = "#DDDDDD", "#BBBBBB"
#: Width of the narrowest line, and radius of an unchanged node and of the largest, in points.
_NARROW, _DOT, _RADIUS = 1.3, 2.5, 7.0
#: Points from one unchanged node to the next where they have no names, and around names.
_CLOSE, _AROUND = 10.0, np.array([24.0, 4.0])
#: Unchanged nodes have names if those take no more than this share of the axes.
_SHARE = 0.12
#: Names of unchanged nodes are smaller by this share.
_SMALLER = 0.85
#: Letters of the longest name: all are cut shorter if more of them fit then.
_LIMITS = (24, 18, 14, 11)
#: A name takes no more than this share of the width, its letters this share of the font size.
_NAME_SHARE, _LETTER = 0.25, 0.55
#: Points kept free at the sides, at the top and at the bottom.
_SIDE, _TOP, _BOTTOM = 24.0, 20.0, 24.0
#: Width and height of the network, however small the axes are.
_LEAST = 60.0
#: Lines long enough to tell dashes apart.
_LEGEND: dict[str, Any] = {"handlelength": 3.6, "columnspacing": 1.6}


@dataclass(frozen=True, kw_only=True)
class Edges:
    """Changed pairs, the largest change first, and how each kind of them looks."""

    ends: IntArray
    size: FloatArray
    kind: list[str]
    looks: Mapping[str, Look]

    def among(self, shown: Graph) -> Edges:
        """Return those that a graph over the same nodes has."""
        kept = np.flatnonzero(shown.adjacency[tuple(self.ends.T)])
        kinds = [self.kind[k] for k in kept]
        return replace(self, ends=self.ends[kept], size=self.size[kept], kind=kinds)

    def joins(self, n_nodes: int) -> BoolArray:
        """Which of that many nodes have a change."""
        joined = np.zeros(n_nodes, dtype=bool)
        joined[self.ends] = True
        return joined


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Where nodes stand and how large things are on paper, in points.

    Attributes
    ----------
    placement : Placement
        Of the nodes.
    room : ndarray of shape (2,)
        Width and height of the axes.
    head, foot : float
        Kept free at the top and the bottom.
    font_size, radius : float
        Of the names and of nodes with a change.
    largest, widest : float
        A change of size ``largest`` is ``widest`` points wide.
    """

    placement: _layout.Placement
    room: FloatArray
    head: float
    foot: float
    font_size: float
    radius: float
    largest: float
    widest: float

    def width(self, size: FloatArray) -> FloatArray:
        """Width of the lines of changes of that size."""
        return _NARROW + (self.widest - _NARROW) * size / self.largest


def find_edges(change: Graph, before: Graph | None, after: Graph | None, *, signed: bool) -> Edges:
    """Find the kind of every changed pair; without the two graphs, by its sign alone."""
    if change.directed:
        raise InputError("change_of_directed")
    if (before is None) != (after is None):
        raise InputError("before_and_after")
    nothing = Graph(np.zeros_like(change.weights), names=change.names)
    table = classify_changes(change, before or nothing, after or nothing, signed=signed)
    where = {name: position for position, name in enumerate(change.names)}
    ends = [[where[name] for name in table[column]] for column in ("source", "target")]
    kinds = table["kind"].tolist()
    return Edges(
        ends=np.array(ends, dtype=np.int64).T,
        size=np.abs(table["change"].to_numpy()),
        kind=kinds,
        looks=_BY_SIGN if _BY_SIGN.keys() >= set(kinds) else _BY_KIND,
    )


def names_to_write(graph: Graph, labels: str, room: FloatArray, font_size: float) -> BoolArray:
    """Which nodes may have a name; those without a change only where there are few."""
    joined = _layout.is_joined(graph)
    names = [tidy(name) for name in graph.names]
    boxes = _name_sizes(names, font_size, joined)[~joined] + _AROUND
    is_little = boxes.prod(axis=1).sum() <= _SHARE * room.prod()
    may: BoolArray = (joined | is_little | (labels == "all")) & (labels != "none")
    return may


def lay_out(
    graph: Graph,
    layout: str | ArrayLike,
    room: FloatArray,
    *,
    has_name: BoolArray,
    head: float,
    foot: float,
    font_size: float,
) -> Sheet:
    """Place the nodes of ``graph``, with that many points kept free at the top and the bottom."""
    names = [tidy(name) for name in graph.names]
    joined = _layout.is_joined(graph)
    sizes = _name_sizes(names, font_size, joined) * has_name[:, None]
    # A name above or below its node reaches half its width to both sides.
    side = float(np.clip(sizes[joined, 0].max(initial=0.0) / 2 + 4, _SIDE, 0.2 * room[0]))
    low = np.array([side, _BOTTOM + foot])
    alone = sizes[~joined].max(axis=0, initial=0.0)
    page = _layout.Page(
        low=low,
        high=np.maximum(room - [side, _TOP + head], low + _LEAST),
        cell=alone + _AROUND if alone.any() else np.full(2, _CLOSE),
        radius=_RADIUS if alone.any() else _DOT,
    )
    placement = _layout.place(graph, layout, page)
    # In a grid of their own unchanged nodes may stand closer than the others.
    is_packed = isinstance(layout, str) and layout == "auto"
    apart = min(_layout.spacing(placement.points[joined] if is_packed else placement.points), 60.0)
    return Sheet(
        placement=placement,
        room=room,
        head=head,
        foot=foot,
        font_size=font_size,
        radius=float(np.clip(0.16 * apart, _DOT, _RADIUS)),
        largest=float(np.abs(graph.weights).max()) or 1.0,
        widest=float(np.clip(0.08 * apart, 2.4, 4.0)),
    )


def draw(ax: Axes, sheet: Sheet, edges: Edges, names: Sequence[str], labels: list[Label]) -> None:
    """Draw edges, nodes and names."""
    data = sheet.placement.data
    set_limits(ax, sheet.placement, sheet.room)
    joined = edges.joins(len(data))
    if len(edges.ends):
        _draw_lines(ax, data[edges.ends], sheet, edges)
    ax.scatter(
        data[:, 0],
        data[:, 1],
        s=np.where(joined, 2 * sheet.radius, 2 * _DOT) ** 2,
        c=np.where(joined, _NODE, "white").tolist(),
        edgecolors=np.where(joined, INK, _FAINT).tolist(),
        linewidths=0.8,
        zorder=3,
    )
    for is_changed, font_size in ((True, sheet.font_size), (False, _SMALLER * sheet.font_size)):
        some = [label for label in labels if joined[label.node] == is_changed]
        write_labels(ax, names, data, some, font_size)


def _draw_lines(ax: Axes, ends: FloatArray, sheet: Sheet, edges: Edges) -> None:
    # Small changes go first, so that large ones lie on top.
    looks = [edges.looks[kind] for kind in reversed(edges.kind)]
    colors = to_rgba_array([color for color, _ in looks])
    colors[:, 3] = fading(edges.size[::-1] / sheet.largest)
    ax.add_collection(
        LineCollection(
            list(ends[::-1]),
            colors=colors,
            linestyles=[(0, dashes or None) for _, dashes in looks],
            linewidths=sheet.width(edges.size)[::-1].tolist(),
            zorder=1,
        ),
        autolim=False,
    )


def _name_sizes(names: Sequence[str], font_size: float, joined: BoolArray) -> FloatArray:
    return label_sizes(names, font_size) * np.where(joined, 1.0, _SMALLER)[:, None]


def fit_names(
    graph: Graph, sheet: Sheet, panels: Sequence[tuple[Edges, BoolArray]], *, keep_all: bool
) -> tuple[list[str], list[list[Label]]]:
    """Place names in panels that share their nodes, cut as short as most of them need.

    Parameters
    ----------
    graph : Graph
        Has the names.
    sheet : Sheet
        The same for all panels.
    panels : sequence of (Edges, ndarray of bool)
        Edges, and which nodes may have a name.
    keep_all : bool
        Whether names without free room are written all the same.

    Returns
    -------
    names : list of str
        As they are to be written.
    labels : list of list of Label
        Which of them, and where, in each panel.
    """
    best: tuple[list[str], list[list[Label]]] = ([], [])
    n_best, n_all = -1, sum(np.count_nonzero(has_name) for _, has_name in panels)
    for names in _shortenings(graph.names, sheet):
        labels = [_place(names, sheet, *panel, keep_all=keep_all) for panel in panels]
        n_placed = sum(map(len, labels))
        if n_placed > n_best:
            best, n_best = (names, labels), n_placed
        if n_placed == n_all:
            break
    return best


def _shortenings(names: Sequence[str], sheet: Sheet) -> list[list[str]]:
    """Cut the names to fewer and fewer letters, as long as they can be told apart."""
    # Names that fill the page cover it, however few they are.
    longest = int(_NAME_SHARE * sheet.room[0] / (_LETTER * sheet.font_size))
    limits = [limit for limit in _LIMITS if limit <= longest] or _LIMITS[-1:]
    whole = [tidy(name) for name in names]
    # Short names are the same at several limits.
    shorter = list(dict.fromkeys(tuple(tidy(name, limit) for name in names) for limit in limits))
    return [list(cut) for cut in shorter if len(set(cut)) == len(set(whole))] or [whole]


def _place(
    names: Sequence[str], sheet: Sheet, edges: Edges, has_name: BoolArray, *, keep_all: bool
) -> list[Label]:
    """Place the names of one panel, those of nodes whose changes add up to most first."""
    joined = edges.joins(len(names))
    total = np.bincount(edges.ends.ravel(), weights=np.repeat(edges.size, 2), minlength=len(names))
    order = np.lexsort((-total, ~joined))
    points = sheet.placement.points - [0.0, sheet.foot]
    return place_labels(
        points,
        points[edges.ends],
        _name_sizes(names, sheet.font_size, joined),
        order=order[has_name[order]].tolist(),
        radius=sheet.radius,
        room=sheet.room - [0.0, sheet.head + sheet.foot],
        keep_all=keep_all,
    )


def write_title(ax: Axes, title: str, width: float, font_size: float, **options: Any) -> None:
    """Write a title of at most that many points."""
    text = tidy(title, limit=1000)
    length = float(label_sizes([text], font_size)[0, 0])
    limit = len(text) if length <= width else max(4, int(len(text) * width / length))
    ax.set_title(tidy(text, limit), fontsize=font_size, **options, **PLAIN)


def kind_entries(panels: Sequence[Edges], *, counted: bool) -> list[Entry]:
    """Name the kinds that occur, with the number of their edges if ``counted``."""
    entries = []
    for kind in CHANGE_KINDS:
        count = sum(edges.kind.count(kind) for edges in panels)
        if count:
            color, dashes = next(edges.looks[kind] for edges in panels)
            label = f"{kind} ({count})" if counted else kind
            entries.append(
                Entry(label=label, color=color, linestyle=(0, dashes) if dashes else "-")
            )
    return entries


def legend_columns(entries: Sequence[Entry], width: float) -> int:
    """Count the columns that a legend of that many points takes."""
    font_size = float(LEGEND["fontsize"])
    longest = label_sizes([entry.label for entry in entries], font_size)[:, 0].max(initial=0.0)
    beside = (_LEGEND["handlelength"] + _LEGEND["columnspacing"] + 0.8) * font_size
    return max(1, min(len(entries), int(width / (longest + beside))))


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
    max_edges: Literal["auto"] | int | None = "auto",
    signed: bool = True,
    noun: str = "change",
) -> Axes:
    """Draw which edges changed between two groups, and how; wide ones changed most.

    Small changes fade. Kinds of change differ in colour and in line style, and the legend counts
    them: increased and decreased or, with the graphs of both groups, all that
    `edgewise.graph.compare.classify_changes` tells apart. The same graphs always give the same
    picture.

    Parameters
    ----------
    change : Graph
        Undirected; its edges are the pairs that changed, weighted by after minus before.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    before, after : Graph, default=None
        Of the two groups, over the same nodes; both or neither.
    layout : {"auto", "circle"} or array-like of shape (n_nodes, 2), default="auto"
        ``"auto"`` places each connected component so that strong edges are short, and lists the
        nodes without a change in a line above; ``"circle"`` keeps node order; an array gives the
        positions.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` writes the names that fit without covering anything, those of the nodes that
        changed most first.
    title : str, default=None
        Written above the network.
    legend : bool, default=True
        Whether to explain colours, lines and widths below the network.
    max_edges : int or None, default="auto"
        Changes to draw at most, as in `plot_network`; the legend counts all of them.
    signed : bool, default=True
        Whether the signs of the weights of ``change`` mean anything; they do not where a weight
        is the length of a vector.
    noun : str, default="change"
        What an edge is, such as a significant change, for the note on nodes without any.

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
    check_labels(labels)
    edges = find_edges(change, before, after, signed=signed)
    shown = strongest(change, max_edges)
    is_drawn = np.ones(change.n_nodes, dtype=bool)
    if isinstance(layout, str) and layout == "auto":
        is_drawn = is_joined(shown)
    n_alone = int(np.sum(is_drawn & ~is_joined(change)))
    entries = _entries(edges, n_alone) if legend else []
    n_drawn = int(is_drawn.sum())
    ax = axes_or_new(ax, network_size(n_drawn - n_alone), fill=True)
    ax.set_axis_off()
    room = room_of(ax)
    head = _ROW * (title is not None)
    if title is not None:
        write_title(ax, title, room[0], 11.0, y=1.0, pad=-14.0)
    head += write_notes(ax, notes_on(change, shown, is_drawn, labels, noun=noun), head)
    if not n_drawn:
        return ax
    edges = edges.among(shown)
    edges = replace(edges, ends=(np.cumsum(is_drawn) - 1)[edges.ends])
    shown = part_of(shown, is_drawn)
    font_size = network_font_size(n_drawn - n_alone)
    has_name = names_to_write(shown, labels, room, font_size)
    columns = legend_columns(entries, room[0])
    sheet = lay_out(
        shown,
        layout,
        room,
        has_name=has_name,
        head=head,
        foot=_ROW * -(-len(entries) // columns),
        font_size=font_size,
    )
    names, (placed,) = fit_names(shown, sheet, [(edges, has_name)], keep_all=labels == "all")
    draw(ax, sheet, edges, names, placed)
    if legend:
        draw_legend(ax, entries, columns, sheet.widest, _NARROW, **_LEGEND)
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
    >>> from edgewise.plot.change import plot_change_strip
    >>> early = Graph([[0, 0.4, 0], [0.4, 0, 0], [0, 0, 0]])
    >>> late = Graph([[0, 0.4, 0], [0.4, 0, -0.3], [0, -0.3, 0]])
    >>> figure = plot_change_strip([early, late], titles=["April", "July"])
    >>> [sorted(text.get_text() for text in ax.texts) for ax in figure.axes]
    [['x0', 'x1'], ['x0', 'x1', 'x2']]
    """
    check_labels(labels)
    panels = [find_edges(change, None, None, signed=signed) for change in changes]
    union = _union(changes, titles)
    is_drawn = is_joined(union)
    if not (isinstance(layout, str) and layout == "auto" and union.n_edges):
        is_drawn = np.ones(union.n_nodes, dtype=bool)
    number = np.cumsum(is_drawn) - 1
    panels = [replace(edges, ends=number[edges.ends]) for edges in panels]
    union = part_of(union, is_drawn)
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
    draw_legend(figure, entries, n_columns, sheet.widest, _NARROW, **_LEGEND)
    return figure


def _entries(edges: Edges, n_alone: int) -> list[Entry]:
    entries = kind_entries([edges], counted=True)
    if n_alone:
        words = "node" if n_alone == 1 else "nodes"
        entries.append(Entry(label=f"no change ({n_alone} {words})", color=_FAINT, radius=_DOT))
    return entries + size_entries("change", edges.size)


def _union(changes: Sequence[Graph], titles: Sequence[str] | None) -> Graph:
    """Join the edges of all panels, each with its largest change."""
    if not changes:
        raise InputError("no_changes_to_draw")
    if titles is not None and len(titles) != len(changes):
        raise InputError("title_count", n_changes=len(changes), n_titles=len(titles))
    names = changes[0].names
    if any(change.names != names for change in changes):
        raise InputError("strip_nodes_differ")
    return Graph(
        np.max([np.abs(change.weights) for change in changes], axis=0),
        names=names,
        adjacency=np.any([change.adjacency for change in changes], axis=0),
    )


def _strip_entries(panels: Sequence[Edges], n_nodes: int, n_hidden: int) -> list[Entry]:
    entries = kind_entries(panels, counted=False)
    if not all(edges.joins(n_nodes).all() for edges in panels):
        entries.append(Entry(label="no change in this panel", color=_FAINT, radius=_DOT))
    if n_hidden:
        words = "node" if n_hidden == 1 else "nodes"
        entries.append(Entry(label=f"not drawn: {n_hidden} unchanged {words}", color="none"))
    return entries + size_entries("change", np.concatenate([edges.size for edges in panels]))


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
        raise InputError("strip_columns", columns=columns)
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
