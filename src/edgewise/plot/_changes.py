"""Parts that the pictures of changes share: edges by kind, places, names and legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.graph.compare import CHANGE_KINDS, classify_changes
from edgewise.plot import _layout
from edgewise.plot._drawing import set_limits
from edgewise.plot._labels import Label, label_sizes, place_labels, write_labels
from edgewise.plot._style import INK, NEGATIVE, NEUTRAL, PLAIN, POSITIVE, tidy

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
_SIDE, _TOP, _BOTTOM = 24.0, 20.0, 14.0
#: Width and height of the network, however small the axes are.
_LEAST = 60.0
_LEGEND: dict[str, Any] = {
    "loc": "lower center",
    "frameon": False,
    "fontsize": 8,
    "borderaxespad": 0.2,
    "handlelength": 3.6,
    "columnspacing": 1.6,
}


@dataclass(frozen=True, kw_only=True)
class Edges:
    """Changed pairs, the largest change first, and how each kind of them looks."""

    ends: IntArray
    size: FloatArray
    kind: list[str]
    looks: Mapping[str, Look]

    def joins(self, n_nodes: int) -> BoolArray:
        """Which of that many nodes have a change."""
        joined = np.zeros(n_nodes, dtype=bool)
        joined[self.ends] = True
        return joined


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the legend: a kind with a look, a size of change, or, with neither, a node."""

    label: str
    look: Look | None = None
    size: float | None = None


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """Where nodes stand and how large things are on paper, in points.

    Attributes
    ----------
    placement : Placement
        Of the nodes.
    room : ndarray of shape (2,)
        Width and height of the axes.
    font_size, radius : float
        Of the names and of nodes with a change.
    largest, widest : float
        A change of size ``largest`` is ``widest`` points wide.
    """

    placement: _layout.Placement
    room: FloatArray
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
        raise InputError(
            "A picture of changes takes undirected graphs; this one is directed. Draw it with "
            "plot_network."
        )
    if (before is None) != (after is None):
        raise InputError("Give the graphs of both groups, before and after, or neither.")
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
        _draw_lines(ax, data[edges.ends], sheet.width(edges.size), edges)
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


def _draw_lines(ax: Axes, ends: FloatArray, width: FloatArray, edges: Edges) -> None:
    # Small changes go first, so that large ones lie on top.
    looks = [edges.looks[kind] for kind in reversed(edges.kind)]
    ax.add_collection(
        LineCollection(
            list(ends[::-1]),
            colors=[color for color, _ in looks],
            linestyles=[(0, dashes or None) for _, dashes in looks],
            linewidths=width[::-1].tolist(),
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
    points = sheet.placement.points
    return place_labels(
        points,
        points[edges.ends],
        _name_sizes(names, sheet.font_size, joined),
        order=order[has_name[order]].tolist(),
        radius=sheet.radius,
        room=sheet.room,
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
            look = next(edges.looks[kind] for edges in panels)
            entries.append(Entry(label=f"{kind} ({count})" if counted else kind, look=look))
    return entries


def size_entries(size: FloatArray) -> list[Entry]:
    """Say what the width of the largest and of the median change is, where widths differ."""
    ordered = np.sort(size)
    if not len(ordered) or ordered[0] >= 0.99 * ordered[-1]:
        return []
    shown = [ordered[-1], ordered[(len(ordered) - 1) // 2]]
    if f"{shown[0]:.2g}" == f"{shown[1]:.2g}":
        shown[1] = ordered[0]
    return [Entry(label=f"|change| {value:.2g}", size=float(value)) for value in shown]


def legend_columns(entries: Sequence[Entry], width: float) -> int:
    """Count the columns that a legend of that many points takes."""
    font_size = float(_LEGEND["fontsize"])
    longest = label_sizes([entry.label for entry in entries], font_size)[:, 0].max(initial=0.0)
    beside = (_LEGEND["handlelength"] + _LEGEND["columnspacing"] + 0.8) * font_size
    return max(1, min(len(entries), int(width / (longest + beside))))


def legend_options(entries: Sequence[Entry], sheet: Sheet, columns: int) -> dict[str, Any]:
    """Return what a legend with these entries is made of."""
    return {"handles": [_handle(entry, sheet) for entry in entries], "ncols": columns, **_LEGEND}


def _handle(entry: Entry, sheet: Sheet) -> Line2D:
    if entry.look is not None:
        color, dashes = entry.look
        handle = Line2D([], [], color=color, linewidth=2.0, label=entry.label)
        if dashes:
            handle.set_linestyle((0, dashes))
        return handle
    if entry.size is not None:
        width = float(sheet.width(np.array(entry.size)))
        return Line2D([], [], color=INK, linewidth=width, label=entry.label)
    return Line2D(
        [],
        [],
        linestyle="none",
        marker="o",
        markersize=2 * _DOT,
        markerfacecolor="white",
        markeredgecolor=_FAINT,
        label=entry.label,
    )
