"""A network as nodes and edges."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import hsv_to_rgb, to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.plot import _layout
from edgewise.plot._canvas import (
    ENTRY,
    INK,
    NEGATIVE,
    NEUTRAL,
    PLAIN,
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
from edgewise.plot._labels import (
    label_sizes,
    legend_columns,
    place_labels,
    write_inside,
    write_labels,
)


@dataclass(frozen=True, kw_only=True)
class Strokes:
    """The lines to draw, one entry per line."""

    source: IntArray
    target: IntArray
    width: FloatArray
    color: FloatArray
    has_arrow: BoolArray
    is_bent: BoolArray


def strokes_of(
    graph: Graph, widest: float, maximum: float | None = None, cut: float = 0.0
) -> Strokes:
    """Turn edges into lines; an edge there both ways with equal weight is one line."""
    both_ways = graph.adjacency & graph.adjacency.T
    is_line = both_ways & (graph.weights == graph.weights.T)
    source, target = np.nonzero(graph.adjacency & ~np.tril(is_line))
    weight = graph.weights[source, target]
    size = np.abs(weight)
    heaviest = float(maximum or size.max(initial=0.0)) or 1.0
    sign = np.sign(weight).astype(int) + 1
    if graph.signed is not None:
        sign[~graph.signed[source, target]] = 1
    color = to_rgba_array([NEGATIVE, NEUTRAL, POSITIVE])[sign]
    # A weight that is not known is no weak one.
    shade = np.minimum(size / (cut or heaviest), 1.0)
    if graph.confidence is None:
        color[:, 3] = np.where(weight == 0, 0.9, fading(shade))
    else:
        faded = np.where(weight == 0, 1.0, 0.45 + 0.55 * shade)
        color[:, 3] = faded * opacity(graph.confidence[source, target])
    # Faint edges go first, so that strong ones lie on top.
    order = np.argsort(np.abs(weight), kind="stable")
    source, target = source[order], target[order]
    return Strokes(
        source=source,
        target=target,
        width=line_width(_share(size[order], heaviest, cut), widest),
        color=color[order],
        has_arrow=~is_line[source, target],
        is_bent=(both_ways & ~is_line)[source, target],
    )


def _share(size: ArrayLike, heaviest: float, cut: float) -> FloatArray:
    """Say how wide an edge of some weight is drawn, from 0 to 1."""
    return np.asarray(np.clip((np.asarray(size) - cut) / max(heaviest - cut, 1e-12), 0.0, 1.0))


def fading(share: FloatArray) -> FloatArray:
    """How solid an edge is drawn whose weight is that share of the heaviest."""
    return 0.35 + 0.55 * share


def opacity(confidence: FloatArray) -> FloatArray:
    """How solid an edge of that confidence is drawn."""
    return 0.12 + 0.8 * confidence


def stroke_entries(graph: Graph, maximum: float | None = None, cut: float = 0.0) -> list[Entry]:
    """List what in the drawing of edges needs a word."""
    weights = graph.weights[graph.adjacency]
    signed = None if graph.signed is None else graph.signed[graph.adjacency]
    entries = weight_entries(weights, signed)
    if maximum is not None or cut:
        largest = float(np.abs(weights).max(initial=0.0))
        heaviest = maximum or largest
        entries = [
            entry
            if entry.share is None
            else replace(entry, share=float(_share(entry.share * largest, heaviest, cut)))
            for entry in entries
        ]
    if graph.confidence is not None and len(weights):
        entries += [
            Entry(label=f"confidence {level:g}", opacity=float(opacity(np.array(level))))
            for level in (1.0, 0.5)
        ]
    return entries


#: Printer's points kept free at the left and right, at the top, and at the bottom.
_SIDE, _TOP, _BOTTOM = 34.0, 24.0, 20.0
#: Size and height of a line of the notes above a network, in points, and lines for names at most.
_NOTE, _NOTE_LINE, _NOTE_LINES = 8.0, 11.0, 3


def plot_network(
    graph: Graph,
    ax: Axes | None = None,
    *,
    layout: Literal["auto", "circle"] | ArrayLike = "auto",
    labels: Literal["auto", "all", "none"] = "auto",
    legend: bool = True,
    max_edges: Literal["auto"] | int | None = "auto",
    groups: Sequence[object] | None = None,
    about: Mapping[str, str] | None = None,
    rings: ArrayLike | None = None,
    sizes: ArrayLike | None = None,
    minimum: float = 0.0,
    maximum: float | None = None,
    cut: float = 0.0,
) -> Axes:
    """Draw a network: blue edges are positive, orange ones negative, wide ones strong.

    Strong edges are drawn short. Weak ones fade, and uncertain ones in a graph that has
    confidence; an edge whose weight is not known or has no sign is grey.
    In a directed graph an edge that is there both ways with one weight is drawn as a line without
    arrows. The same graph always gives the same picture.

    Parameters
    ----------
    graph : Graph
        What to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    layout : {"auto", "circle"} or array-like of shape (n_nodes, 2), default="auto"
        ``"auto"`` places each connected component so that strong edges are short, and lists the
        nodes without an edge in a line above; ``"circle"`` keeps node order; an array gives the
        positions, such as those of `shared_layout`.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` writes the names that fit without covering anything, those of nodes with many
        neighbours first. Where all names are short, of up to 40 nodes, they stand inside the nodes.
    legend : bool, default=True
        Whether to explain colours, widths and fading below the network.
    max_edges : int or None, default="auto"
        Edges to draw at most: the strongest that join all that is joined, then the strongest of
        the others; a line above the network says how many there are. ``"auto"`` draws two of the
        others for each node, 36 at most, and no more than 200 edges, whose nodes alone are drawn
        then; None draws all. What is drawn sets the layout.
    groups : sequence, default=None
        The group of each node, such as its scale or community: a colour, named in the legend.
    rings : array-like of shape (n_nodes,), default=None
        A share of each node, such as its `edgewise.metrics.predictability`, drawn as that part of
        a ring around it; what is below 0 counts as 0. The legend has the name of a Series.
    sizes : array-like of shape (n_nodes,), default=None
        A statistic of each node, such as its strength, from 0: the largest has the largest disc.
    about : mapping of str to str, default=None
        What nodes stand for, by name, such as the questions of a survey; listed at the right.
    minimum, maximum, cut : float
        As in R's qgraph: edges with absolute weights below ``minimum`` are left out; one of
        ``maximum`` is drawn widest, by default the heaviest, so that several pictures can be
        compared; edges up to ``cut`` are thin and fade, and only those above differ in width.

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
    if not 0 <= cut < (np.inf if maximum is None else maximum) or not 0 <= minimum < np.inf:
        raise InputError("edge_scaling", minimum=minimum, maximum=maximum, cut=cut)
    look = Look.of(graph.n_nodes, groups, rings, sizes)
    strong = _above(graph, minimum) if minimum else graph
    shown = _layout.strongest(strong, max_edges)
    is_drawn = np.ones(graph.n_nodes, dtype=bool)
    if isinstance(layout, str) and layout == "auto":
        is_drawn = _layout.is_joined(shown)
    size, key = network_size(int(is_drawn.sum())), _key(graph.names, about or {})
    ax = _beside_key(size) if key and ax is None else axes_or_new(ax, size, fill=True)
    ax.set_axis_off()
    _write_key(ax, key)
    is_all = shown.n_edges == strong.n_edges
    which = f"of at least {minimum:g}" if is_all else ""
    notes = notes_on(graph, shown, is_drawn, labels, which=which)
    top = write_notes(ax, notes)
    if not is_drawn.any():
        return ax
    shown = _layout.part_of(shown, is_drawn)
    _draw(
        ax,
        _layout.part_of(graph, is_drawn),
        shown,
        layout=layout,
        labels=labels,
        entries=[*stroke_entries(shown, maximum, cut), *look.entries()] if legend else [],
        top=top,
        maximum=maximum,
        cut=cut,
        look=look.part(is_drawn),
    )
    return ax


#: Inches of the list of what nodes stand for, and letters of its lines.
_KEY, _KEY_LETTERS = 3.0, 46


def _key(names: Sequence[str], about: Mapping[str, str]) -> list[str]:
    """List what nodes stand for, in lines of which the first of each begins with its name."""
    texts = [f"{tidy(name)}: {about[name]}" for name in names if about.get(name)]
    return [
        line
        for text in texts
        for line in textwrap.wrap(text, _KEY_LETTERS, subsequent_indent="    ", max_lines=2)
    ]


def _beside_key(size: tuple[float, float]) -> Axes:
    """Return axes on a new figure that has room at their right."""
    width = size[0] + _KEY
    return Figure(figsize=(width, size[1])).add_axes((0.01, 0.01, size[0] / width - 0.02, 0.98))


def _write_key(ax: Axes, lines: list[str]) -> None:
    """Write the list of what nodes stand for at the right, as far as there is room."""
    n_lines = int(room_of(ax)[1] / _NOTE_LINE)
    if len(lines) > n_lines:
        lines = [*lines[: n_lines - 1], "..."]
    if lines:
        ax.text(
            1.01,
            0.99,
            "\n".join(lines),
            transform=ax.transAxes,
            va="top",
            fontsize=_NOTE,
            color=INK,
            **PLAIN,
        )


#: Light colours of groups of nodes, under which the blue and orange of edges stay apart.
_TINTS = ("#F3D08A", "#A8DDC9", "#D9B8D6", "#B5D3F2", "#F2B8A0", "#E8E58F", "#C9C9C9", "#FFFFFF")
#: The disc inside a ring, as a share of it.
_DISC = 0.72
#: The disc of the smallest statistic, as a share of the largest.
_SMALLEST = 0.45


def _tints(number: int) -> Sequence[str]:
    """Give each group a colour of its own; more than eight go round the hues, light and dark."""
    if number <= len(_TINTS):
        return _TINTS[:number]
    wheel = [((k / number) % 1.0, (0.25, 0.6)[k % 2], (1.0, 0.85)[k % 2]) for k in range(number)]
    return [to_hex(color) for color in hsv_to_rgb(wheel)]


@dataclass(frozen=True, kw_only=True)
class Look:
    """How the nodes look: a colour and a size for each, and the filled share of their rings."""

    colors: tuple[str, ...]
    scale: FloatArray
    rings: FloatArray | None
    names: Mapping[str, str]
    about_rings: str

    @classmethod
    def of(
        cls,
        n_nodes: int,
        groups: Sequence[object] | None,
        rings: ArrayLike | None,
        sizes: ArrayLike | None,
    ) -> Look:
        """Turn what is to be shown of the nodes into colours and sizes."""
        labels = None if groups is None else [str(group) for group in groups]
        shares = None if rings is None else np.asarray(rings, dtype=np.float64)
        values = np.ones(n_nodes) if sizes is None else np.asarray(sizes, dtype=np.float64)
        given = {"groups": labels, "rings": shares, "sizes": values}
        for name, value in given.items():
            if value is not None and np.shape(value) != (n_nodes,):
                raise InputError(
                    "per_node_length", name=name, n_nodes=n_nodes, shape=np.shape(value)
                )
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise InputError("sizes_range")
        if shares is not None and not (shares <= 1).all():
            raise InputError("rings_range")
        kinds = list(dict.fromkeys(labels or ()))
        names = dict(zip(kinds, _tints(len(kinds)), strict=True))
        return cls(
            colors=("#DDDDDD",) * n_nodes if labels is None else tuple(names[k] for k in labels),
            scale=_SMALLEST + (1 - _SMALLEST) * np.sqrt(values / (values.max(initial=0.0) or 1.0)),
            rings=None if shares is None else np.maximum(shares, 0.0),
            names=names,
            about_rings=str(getattr(rings, "name", None) or "share"),
        )

    def part(self, kept: BoolArray) -> Look:
        """Return the look of some of the nodes."""
        return replace(
            self,
            colors=tuple(
                color for color, is_kept in zip(self.colors, kept, strict=True) if is_kept
            ),
            scale=self.scale[kept],
            rings=None if self.rings is None else self.rings[kept],
        )

    def entries(self) -> Sequence[Artist]:
        """Say which colour is which group, and what the rings are."""
        discs = [_disc(tidy(name, 14), markerfacecolor=color) for name, color in self.names.items()]
        if self.rings is None:
            return discs
        ring = {"fillstyle": "right", "markerfacecolor": INK, "markerfacecoloralt": "white"}
        return [*discs, _disc(f"ring: {tidy(self.about_rings)}", **ring)]


def _disc(label: str, **look: Any) -> Line2D:
    """Return a node of the legend."""
    shape: dict[str, Any] = {
        "linestyle": "none",
        "marker": "o",
        "markersize": 8,
        "markeredgecolor": INK,
    }
    return Line2D([], [], label=label, **(shape | look))


def shared_layout(graphs: Sequence[Graph]) -> FloatArray:
    """Return one place for every node of several networks over the same nodes.

    Nodes that are strongly joined in any of them stand close; draw each network with
    ``plot_network(graph, layout=places)``.

    Parameters
    ----------
    graphs : sequence of Graph
        Over the same nodes, in the same order.

    Returns
    -------
    ndarray of shape (n_nodes, 2)
        Places, in printer's points.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_network
    >>> from edgewise.plot.network import shared_layout
    >>> before, after = Graph([[0, 0.5], [0.5, 0]]), Graph([[0, 0.1], [0.1, 0]])
    >>> places = shared_layout([before, after])
    >>> ax = plot_network(after, layout=places)
    """
    if not graphs or any(graph.names != graphs[0].names for graph in graphs):
        raise InputError("graphs_of_same_nodes")
    return _shared_places(graphs, 72.0 * np.array(network_size(graphs[0].n_nodes)))


def _shared_places(graphs: Sequence[Graph], size: FloatArray) -> FloatArray:
    joined = np.any([graph.adjacency | graph.adjacency.T for graph in graphs], axis=0)
    heaviest = np.max([np.abs(graph.weights) for graph in graphs], axis=0)
    union = Graph(np.maximum(heaviest, heaviest.T), adjacency=joined)
    page = _layout.Page(low=np.zeros(2), high=size, cell=np.full(2, 40.0), radius=8.0)
    return _layout.place(union, "auto", page).points


#: Edges that can be told apart in one panel of several.
_IN_A_PANEL = 48


def panels_of(graphs: Sequence[Graph]) -> tuple[list[Graph], FloatArray, BoolArray]:
    """Choose what panels of several networks show, and one place for every node.

    Returns the networks with the edges and nodes that are drawn, the places, and which of the
    nodes are drawn: those with a drawn edge in any network, or all where there is none.
    """
    shown = [_layout.strongest(_layout.strongest(graph), _IN_A_PANEL) for graph in graphs]
    is_drawn = np.any([_layout.is_joined(graph) for graph in shown], axis=0)
    is_drawn |= not is_drawn.any()
    shown = [_layout.part_of(graph, is_drawn) for graph in shown]
    return shown, _shared_places(shown, np.array([400.0, 360.0])), is_drawn


def counted(shown: Graph, graph: Graph, noun: str) -> str:
    """Say how many edges a network has, and how many of them are drawn."""
    some = f"{shown.n_edges} of " if shown.n_edges < graph.n_edges else ""
    return f"{some}{graph.n_edges} {noun}{'' if graph.n_edges == 1 else 's'}"


def note_nodes_left_out(ax: Axes, graphs: Sequence[Graph], is_drawn: BoolArray) -> None:
    """Name the nodes that have no edge in any network, on one line, and count the others left."""
    joined = np.any([_layout.is_joined(graph) for graph in graphs], axis=0)
    alone = [tidy(graphs[0].names[k]) for k in np.flatnonzero(~joined & ~is_drawn)]
    texts = []
    if alone:
        more = f" and {len(alone) - 4} more" if len(alone) > 4 else ""
        texts.append(f"Without an edge: {', '.join(alone[:4])}{more}.")
    if n_weak := int(np.sum(joined & ~is_drawn)):
        texts.append(f"{n_weak} nodes have weak edges only.")
    if texts:
        write_notes(ax, [Note(text=" ".join(texts))])


@dataclass(frozen=True, kw_only=True)
class Note:
    """A sentence above the network, ended by a list of names where there are ``names``."""

    text: str
    names: Sequence[str] = ()

    def lines(self, width: float) -> list[str]:
        """Break the sentence into lines of that width in points; leave out names beyond three."""
        letters = max(int(width / (0.55 * _NOTE)), 20)
        ends = np.cumsum([len(name) + 2 for name in self.names])
        room = _NOTE_LINES * letters - len(self.text) - len(" and 1000 more.") - letters // 4
        n_written = int(np.searchsorted(ends, room)) if len(ends) and ends[-1] > room else len(ends)
        text = f"{self.text} {', '.join(self.names[:n_written])}".rstrip()
        if n_written < len(self.names):
            text += f" and {len(self.names) - n_written} more"
        return textwrap.wrap(text if text.endswith(".") else f"{text}.", letters)


def write_notes(ax: Axes, notes: Sequence[Note], below: float = 0.0) -> float:
    """Write the sentences some points below the top, and return the height that they take."""
    lines = _lines_of(notes, room_of(ax)[0])
    if lines:
        ax.annotate(
            "\n".join(lines),
            (0.01, 0.99),
            (0.0, -below),
            xycoords="axes fraction",
            textcoords="offset points",
            va="top",
            fontsize=_NOTE,
            color=NEUTRAL,
            **PLAIN,
        )
    return len(lines) * _NOTE_LINE


def _lines_of(notes: Sequence[Note], width: float) -> list[str]:
    return [line for note in notes for line in note.lines(width - _SIDE)]


def height_of_notes(notes: Sequence[Note], width: float) -> float:
    """Height in points that the sentences take above a picture of that width."""
    return len(_lines_of(notes, width)) * _NOTE_LINE


def notes_on(
    graph: Graph,
    shown: Graph,
    is_drawn: BoolArray,
    labels: str,
    *,
    noun: str = "edge",
    which: str = "",
) -> list[Note]:
    """Say what of a network is not drawn: hidden edges, or changes, and nodes that have none."""
    joined = _layout.is_joined(graph)
    notes = []
    if shown.n_edges < graph.n_edges:
        text = f"Showing {shown.n_edges} of {graph.n_edges} {noun}s"
        if (joined & ~is_drawn).any():
            which = f"{which or 'strong ones'}, and the {is_drawn.sum()} nodes that they join"
        together = ": the strongest, and those that hold the network together"
        notes.append(Note(text=f"{text}, {which}." if which else f"{text}{together}."))
    if not (is_drawn | joined).all():
        notes.append(_about_alone(graph, noun, labels))
    return notes


def _about_alone(graph: Graph, noun: str, labels: str) -> Note:
    """Say which nodes have no edge, or no change, as the noun says."""
    alone = np.flatnonzero(~_layout.is_joined(graph))
    if labels == "none":
        return Note(text=f"{len(alone)} of {graph.n_nodes} nodes have no {noun}.")
    article = "an" if noun == "edge" else "a"
    text = f"Without {article} {noun}:" if len(alone) < graph.n_nodes else f"No {noun}s among:"
    return Note(text=text, names=[tidy(graph.names[k]) for k in alone])


def _above(graph: Graph, minimum: float) -> Graph:
    """Return the network without weaker edges; those of a weight that is not known stay."""
    is_weak = (graph.weights != 0) & (np.abs(graph.weights) < minimum)
    return _layout.with_edges(graph, graph.adjacency & ~is_weak)


def _draw(
    ax: Axes,
    graph: Graph,
    shown: Graph,
    *,
    layout: str | ArrayLike,
    labels: str,
    entries: Sequence[Entry | Artist],
    top: float,
    look: Look,
    maximum: float | None,
    cut: float,
) -> None:
    """Place nodes, edges, names and legend, each where the ones before leave room.

    The edges of ``shown`` are drawn, and place the nodes; ``graph`` has all edges of these nodes.
    ``top`` points are left to the notes.
    """
    names = [tidy(name, _WHOLE if graph.n_nodes <= _FEW else _CUT) for name in graph.names]
    font_size = network_font_size(graph.n_nodes)
    sizes = label_sizes(names, font_size) * (labels != "none")
    whole = room_of(ax)
    room = whole - np.array([0.0, top])
    columns = legend_columns(entries, room[0])
    legend_height = -(-len(entries) // columns) * ENTRY
    radius = 8.0 if graph.n_nodes <= 30 else 6.0 if graph.n_nodes <= 100 else 4.5
    # A ring takes room of its own.
    wider = 1.0 if look.rings is None else 1.35
    radius *= wider
    inside = _radius_of_names(sizes, look)
    radius = inside if inside < np.inf else radius
    low = np.array([_SIDE, _BOTTOM + legend_height])
    high = np.maximum(room - [_SIDE, _TOP], low + 20.0)
    page = _layout.Page(low=low, high=high, cell=np.full(2, 2 * radius), radius=radius)
    placement = _layout.place(shown, layout, page)
    set_limits(ax, placement, whole)
    joined = _layout.is_joined(graph)
    apart = min(_layout.spacing(placement.points[joined]), 60.0)
    share = 0.22 * wider if inside == np.inf else 0.35
    radius = float(np.clip(share * apart, 1.5, radius))
    widest = _widest(shown, apart)
    strokes = strokes_of(shown, widest, maximum, cut)
    ends = np.column_stack([strokes.source, strokes.target])
    _draw_edges(ax, placement.data[ends], strokes, radius)
    _draw_nodes(ax, placement.data, joined, radius, look)
    if inside <= radius:
        write_inside(ax, names, placement.data, font_size)
    elif labels != "none":
        degree = (graph.adjacency | graph.adjacency.T).sum(axis=0)
        # Names keep off the legend too.
        points, foot = placement.points - [0.0, legend_height], np.array([0.0, legend_height])
        placed = place_labels(
            points,
            points[ends],
            sizes,
            order=np.argsort(-degree, kind="stable").tolist(),
            radius=radius,
            room=room - foot,
            keep_all=labels == "all",
        )
        write_labels(ax, names, placement.data, placed, font_size)
    if entries:
        draw_legend(ax, entries, columns, widest)


#: Up to this many nodes long names are written whole, as far as these letters; of more, cut.
_FEW, _WHOLE, _CUT = 30, 36, 24
#: Radius of nodes that hold their names at most, in points, and their number at most.
_LARGEST, _MOST_INSIDE = 14.0, 40


def _radius_of_names(sizes: FloatArray, look: Look) -> float:
    """Radius at which every name fits into its node; infinite where names stand beside them."""
    if not sizes.any() or len(sizes) > _MOST_INSIDE or (look.scale < 1).any():
        return np.inf
    needed = float(np.hypot(*sizes.T).max()) / 2 / (1.0 if look.rings is None else _DISC)
    return needed if needed <= _LARGEST else np.inf


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


def _draw_nodes(ax: Axes, data: FloatArray, joined: BoolArray, radius: float, look: Look) -> None:
    inner = radius * look.scale
    if look.rings is not None:
        inner = _DISC * inner
        ax.scatter(
            data[:, 0],
            data[:, 1],
            s=(2 * radius * look.scale) ** 2,
            c="white",
            edgecolors=INK,
            linewidths=0.6,
            zorder=3,
        )
        for place, share, size in zip(data, look.rings, radius * look.scale, strict=True):
            if share > 0:
                # Clockwise from the top, as hands of a clock go.
                wedge = Path.wedge(90.0 - 360.0 * share, 90.0)
                ax.scatter(
                    place[0],
                    place[1],
                    s=(2 * size) ** 2,
                    marker=wedge,
                    c=INK,
                    linewidths=0,
                    zorder=3,
                )
    ax.scatter(
        data[:, 0],
        data[:, 1],
        s=(2 * inner) ** 2,
        c=[
            color if is_joined else "white"
            for color, is_joined in zip(look.colors, joined, strict=True)
        ],
        edgecolors=[INK if is_joined else NEUTRAL for is_joined in joined],
        linewidths=0.8,
        zorder=3,
    )
