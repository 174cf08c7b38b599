"""A directed acyclic graph drawn tier by tier, from causes to effects."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Final, Literal

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
from edgewise.plot._canvas import (
    ABOVE,
    ENTRY,
    INK,
    NEGATIVE,
    PLAIN,
    POSITIVE,
    Entry,
    axes_of_rows,
    axes_or_new,
    check_labels,
    draw_legend,
    room_of,
    tidy,
)
from edgewise.plot._labels import label_sizes, legend_columns
from edgewise.plot._layout import is_joined, part_of, strongest
from edgewise.plot.network import (
    Note,
    Strokes,
    height_of_notes,
    notes_on,
    stroke_entries,
    strokes_of,
    write_notes,
)

#: Half the height that a node and a bend of a long arc take, in units of a node's height.
_HALF_NODE, _HALF_BEND = 0.5, 0.2
#: Passes over the tiers, there and back, that sort them and that set their heights.
_SORTING, _SETTING = 12, 10
#: Long arcs are kept straight rather than short ones.
_STRAIGHTNESS = 3.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Tiered:
    """Nodes in columns, one per tier.

    Attributes
    ----------
    heights : ndarray of shape (n_nodes,)
        From 0 up, in units of a node's height.
    routes : list of ndarray of shape (n_bends, 2)
        For each arc, tier and height where it passes the tiers between its ends.
    height : float
        Of the fullest tier.
    """

    heights: FloatArray
    routes: list[FloatArray]
    height: float


@dataclass(frozen=True, kw_only=True, eq=False)
class _Places:
    """Nodes, and bends of arcs that pass a tier; ``steps[k]`` leads from tier k to the next."""

    tier: IntArray
    is_bend: BoolArray
    steps: list[IntArray]
    routes: list[list[int]]

    @property
    def layers(self) -> list[IntArray]:
        return [np.flatnonzero(self.tier == k) for k in range(len(self.steps) + 1)]

    def means(self, values: FloatArray, layer: int, sides: tuple[int, ...]) -> FloatArray:
        """Mean value of the neighbours of each place in tiers before (-1) or after (1); or NaN."""
        size = len(self.tier)
        total, number = np.zeros(size), np.zeros(size)
        for side in sides:
            between = layer + min(side, 0)
            if 0 <= between < len(self.steps):
                near, far = self.steps[between].T[::side]
                total += np.bincount(near, values[far], minlength=size)
                number += np.bincount(near, minlength=size)
        with np.errstate(invalid="ignore"):
            mean: FloatArray = total / number
        return mean


def tiered_layout(arcs: IntArray, tiers: IntArray) -> Tiered:
    """Sort each tier so that few arcs cross, and set heights so that they are nearly straight.

    A tier is sorted by the mean place of the neighbours in the tier before, then in the one
    after, and so on [1]_; of all orders on the way that with the fewest crossings counts.

    Parameters
    ----------
    arcs : ndarray of shape (n_arcs, 2)
        From and to; the first is in the lower tier.
    tiers : ndarray of shape (n_nodes,)
        Tier of each node.

    References
    ----------
    .. [1] Sugiyama, Tagawa and Toda (1981). Methods for visual understanding of hierarchical
       system structures. *IEEE Transactions on Systems, Man, and Cybernetics* 11(2).
       https://doi.org/10.1109/TSMC.1981.4308636
    """
    places = _add_bends(arcs, tiers)
    layers = _sorted_layers(places)
    heights = _set_heights(places, layers)
    heights -= heights.min()
    return Tiered(
        heights=heights[: len(tiers)],
        routes=[
            np.column_stack([places.tier[bends], heights[bends]]) if bends else np.empty((0, 2))
            for bends in places.routes
        ],
        height=float(heights.max()) + 2 * _HALF_NODE,
    )


def _add_bends(arcs: IntArray, tiers: IntArray) -> _Places:
    tier, routes = tiers.tolist(), []
    steps: list[list[tuple[int, int]]] = [[] for _ in range(int(tiers.max()))]
    for source, target in arcs.tolist():
        bends = list(range(len(tier), len(tier) + tiers[target] - tiers[source] - 1))
        tier += range(tiers[source] + 1, tiers[target])
        routes.append(bends)
        for step in itertools.pairwise([source, *bends, target]):
            steps[tier[step[0]]].append(step)
    return _Places(
        tier=np.array(tier, dtype=np.int64),
        is_bend=np.arange(len(tier)) >= len(tiers),
        steps=[np.array(between, dtype=np.int64).reshape(-1, 2) for between in steps],
        routes=routes,
    )


def _sorted_layers(places: _Places) -> list[IntArray]:
    layers = places.layers
    rank = _ranks(places, layers)
    best, fewest = layers.copy(), _crossings(places, layers)
    for sweep in range(2 * _SORTING):
        there = range(1, len(layers))
        for k in there if sweep % 2 == 0 else range(len(layers) - 2, -1, -1):
            mean = places.means(rank, k, (-1,) if sweep % 2 == 0 else (1,))[layers[k]]
            key = np.where(np.isnan(mean), rank[layers[k]], mean)
            layers[k] = layers[k][np.argsort(key, kind="stable")]
            rank[layers[k]] = _shares(len(layers[k]))
        if (count := _crossings(places, layers)) < fewest:
            best, fewest = layers.copy(), count
    return best


def _ranks(places: _Places, layers: list[IntArray]) -> FloatArray:
    """Place of each node or bend in its tier, as a share."""
    rank = np.zeros(len(places.tier))
    for layer in layers:
        rank[layer] = _shares(len(layer))
    return rank


def _shares(length: int) -> FloatArray:
    shares: FloatArray = (np.arange(length) + 0.5) / length
    return shares


def _crossings(places: _Places, layers: list[IntArray]) -> int:
    """Count the pairs of steps that cross."""
    position = np.zeros(len(places.tier), dtype=np.int64)
    for layer in layers:
        position[layer] = np.arange(len(layer))
    total = 0
    for steps, first, second in zip(places.steps, layers[:-1], layers[1:], strict=True):
        joined = np.zeros((len(first), len(second)), dtype=np.int64)
        joined[tuple(position[steps].T)] = 1
        # A step crosses those that start above it and end below.
        above = np.cumsum(joined, axis=0) - joined
        beyond = above.sum(axis=1, keepdims=True) - np.cumsum(above, axis=1)
        total += int((joined * beyond).sum())
    return total


def _set_heights(places: _Places, layers: list[IntArray]) -> FloatArray:
    """Draw every place to the mean height of its neighbours, as far as the order allows."""
    from scipy.optimize import isotonic_regression

    half = np.where(places.is_bend, _HALF_BEND, _HALF_NODE)
    weight = np.where(places.is_bend, _STRAIGHTNESS, 1.0)
    floors = [np.cumsum(2 * half[layer]) - half[layer] for layer in layers]
    heights = np.zeros(len(half))
    for layer, floor in zip(layers, floors, strict=True):
        heights[layer] = floor - (floor[0] + floor[-1]) / 2
    for sweep in range(2 * _SETTING):
        for k in range(len(layers)) if sweep % 2 == 0 else range(len(layers) - 1, -1, -1):
            layer, floor = layers[k], floors[k]
            mean = places.means(heights, k, (-1, 1))[layer]
            wanted = np.where(np.isnan(mean), 0.0, mean)
            fitted = isotonic_regression(wanted - floor, weights=weight[layer]).x
            heights[layer] = fitted + floor
    return heights


#: What a pair of columns is called.
_ARROW: Final = "\N{RIGHTWARDS ARROW}"
_LINE: Final = "\N{EN DASH}"
#: Colour of resamples in which the direction of an edge is not told.
_UNTOLD: Final = "#B0B0B0"


def plot_arc_confidence(
    graph: Graph, directions: ArrayLike, ax: Axes | None = None, *, most: int = 40
) -> Axes:
    """Draw how often each pair of columns was joined in resamples, parted by direction.

    A long bar of one colour is an arc that always comes back the same way. The grey part is the
    share of the resamples that join the pair without telling a direction: networks with either one
    fit as well. Pairs that are joined most often come first, and are named by the kind of edge
    that most of the resamples have; a pair that the graph does not have is in brackets.

    Parameters
    ----------
    graph : Graph
        Directed, with the share of resamples that have each arc as ``confidence``: ``graph_`` of
        `edgewise.BootstrapGraph`.
    directions : array-like of shape (n_nodes, n_nodes)
        Share of the resamples in which each arc is identified: ``direction_frequency_`` of the
        same.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    most : int, default=40
        Number of pairs drawn at most.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot.directed import plot_arc_confidence
    >>> graph = Graph([[0, 1], [0, 0]], directed=True, confidence=[[0, 0.7], [0.2, 0]])
    >>> bars = plot_arc_confidence(graph, [[0, 0.6], [0.1, 0]]).patches
    >>> [round(float(bar.get_width()), 2) for bar in bars]
    [0.6, 0.1, 0.2]
    """
    if not graph.directed or graph.confidence is None:
        raise InputError("arc_confidence_required")
    if most < 1:
        raise InputError("most_range", most=most)
    told = np.asarray(directions, dtype=np.float64)
    together = graph.confidence + graph.confidence.T
    if told.shape != together.shape or (told + told.T > together + 1e-9).any():
        raise InputError("directions_shape")
    pairs = _pairs(graph, told, together)
    shown = pairs[:most]
    source, target = shown.T
    ahead, back = told[source, target], told[target, source]
    neither = np.maximum(together[source, target] - ahead - back, 0.0)
    ax, rows = axes_of_rows(ax, _names(graph, shown, ahead > neither))
    ax.barh(rows, ahead, color=POSITIVE, label="in this direction")
    ax.barh(rows, back, left=ahead, color=NEGATIVE, label="the other way round")
    ax.barh(rows, neither, left=ahead + back, color=_UNTOLD, label="direction not told")
    ax.set_xlim(0, 1)
    ax.set_xlabel(_about(len(pairs) - len(shown)))
    ax.axvline(0.5, color=INK, linewidth=0.6, linestyle=":")
    if len(shown):
        draw_legend(ax, ax.get_legend_handles_labels()[0], 3, **ABOVE)
    return ax


def _pairs(graph: Graph, told: FloatArray, together: FloatArray) -> IntArray:
    """List the pairs that were ever joined, the most frequent first, each in one direction."""
    source, target = np.nonzero(np.triu(together))
    is_back = np.where(
        told[source, target] != told[target, source],
        told[target, source] > told[source, target],
        graph.adjacency[target, source] & ~graph.adjacency[source, target],
    )
    source, target = np.where(is_back, target, source), np.where(is_back, source, target)
    # Of equally frequent pairs, that with the surer direction comes first.
    order = np.lexsort((-told[source, target], -together[source, target]))
    return np.column_stack([source, target])[order]


def _names(graph: Graph, pairs: IntArray, is_told: BoolArray) -> list[str]:
    names = []
    for (source, target), has_arrow in zip(pairs.tolist(), is_told, strict=True):
        link = _ARROW if has_arrow else _LINE
        text = f"{tidy(graph.names[source])} {link} {tidy(graph.names[target])}"
        is_there = graph.adjacency[source, target] or graph.adjacency[target, source]
        names.append(text if is_there else f"({text})")
    return names


def _about(n_left: int) -> str:
    text = "share of the resamples"
    return f"{text}\n({n_left} rarer pairs are not shown)" if n_left > 0 else text


#: Largest and smallest size of names, in points, and the room around them, in sizes of letters.
_LARGEST, _SMALLEST, _PAD = 9.0, 4.0, 0.3
#: Lines that a node takes, in sizes of its letters.
_LEADING = 2.0
#: Room between the names of one tier and of the next, for arcs to turn in.
_TURN = 42.0
#: Largest figure in inches, and letters of the shortest name worth writing.
_WIDEST, _TALLEST, _FEWEST_LETTERS = 16.0, 14.0, 6
_MARGIN = 14.0
#: Inches of a picture of nothing but a line of text.
_NOTHING = (6.0, 1.5)
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
    max_edges: Literal["auto"] | int | None = "auto",
) -> Axes:
    """Draw a directed acyclic graph from left to right: every arc leads to a tier further right.

    Blue arcs are positive, orange ones negative, wide ones strong; they fade with falling
    confidence. An edge that is there both ways, as in a `edgewise.metrics.cpdag`, has no
    direction that the data can tell: it is dashed and has no arrow head. Nodes without an edge
    are listed in a line above.

    Parameters
    ----------
    graph : Graph
        Directed, without cycles other than edges both ways.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    tiers : array-like of int, shape (n_nodes,), default=None
        Column of each node, such as ``order_`` of an estimator; arcs lead to higher ones. None
        takes tiers in which arcs are short. Pass the same ones to compare a network with its
        ``cpdag`` in one arrangement.
    pattern : Graph or array-like of shape (n_nodes, n_nodes), default=None
        The ``cpdag`` of the graph. Arcs that are there both ways in it are dashed: with the arrow
        turned round, the network would fit the data as well.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` leaves the names out where they would be too small to read.
    legend : bool, default=True
        Whether to explain colours, widths and lines below the drawing.
    max_edges : int or None, default="auto"
        Edges to draw at most, as in `plot_network`; hidden ones count in the tiers.

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
    check_labels(labels)
    if not graph.directed:
        raise InputError("dag_required")
    columns = columns_of(graph, tiers)
    is_untold = _untold(graph, pattern)
    graph = _sure_of_pairs(graph, is_untold)
    shown = strongest(graph, max_edges)
    is_drawn = is_joined(shown)
    notes = notes_on(graph, shown, is_drawn, labels)
    if not is_drawn.any():
        ax = axes_or_new(ax, _NOTHING, fill=True)
        ax.set_axis_off()
        write_notes(ax, notes)
        return ax
    shown, is_untold = part_of(shown, is_drawn), is_untold[np.ix_(is_drawn, is_drawn)]
    columns = np.unique(columns[is_drawn], return_inverse=True)[1].astype(np.int64)
    # Two arcs of a pair run the same way in the drawing.
    joined = shown.adjacency | shown.adjacency.T
    arcs = np.argwhere(joined & (columns[:, None] < columns))
    layout = tiered_layout(arcs, columns)
    names = [tidy(name) for name in shown.names]
    ax = axes_or_new(ax, _figure_size(columns, layout, names, notes), fill=True)
    ax.set_axis_off()
    entries = _entries(shown, is_untold) if legend else []
    whole = room_of(ax)
    room = whole - [0.0, write_notes(ax, notes)]
    n_columns = legend_columns(entries, room[0])
    floor = _MARGIN + -(-len(entries) // n_columns) * ENTRY
    page = _place(room, floor, columns, layout, names, labels)
    ax.set_xlim(0, whole[0])
    ax.set_ylim(0, whole[1])
    strokes = strokes_of(shown, widest=3.0 if len(arcs) <= 60 else 2.0)
    _draw_arcs(ax, page, strokes, arcs, is_untold[strokes.source, strokes.target])
    _draw_nodes(ax, page, is_named=_is_named(page, labels))
    if entries:
        draw_legend(ax, entries, n_columns, widest=3.0)
    return ax


def columns_of(graph: Graph, tiers: ArrayLike | None) -> IntArray:
    """Return the column of each node, or say why the graph cannot be drawn in columns."""
    adjacency = graph.adjacency
    one_way = adjacency & ~adjacency.T
    if cycle := find_cycle(one_way):
        shown = " -> ".join(graph.names[node] for node in cycle)
        raise InputError("tiers_of_cycle", shown=shown)
    if tiers is None:
        return _shortened(extend_pattern(adjacency).dag)
    given = np.asarray(tiers)
    if given.shape != (graph.n_nodes,):
        raise InputError("plot_tiers_shape", n_nodes=graph.n_nodes, shape=given.shape)
    wrong = (one_way & (given[:, None] >= given)) | (adjacency & (given[:, None] == given))
    if wrong.any():
        source, target = np.argwhere(wrong)[0].tolist()
        raise InputError(
            "arc_against_tiers",
            name=graph.names[source],
            name2=graph.names[target],
            given=given[source],
            given2=given[target],
        )
    # Only their order counts: tiers without a node take no room.
    return np.unique(given, return_inverse=True)[1].astype(np.int64)


def _shortened(dag: BoolArray) -> IntArray:
    """Find tiers with short arcs: a cause stands right before the first of its effects.

    From the smallest tiers, the last first, every node moves up as far as it may, unless more arcs
    would become longer than shorter.
    """
    tiers = longest_paths(dag)
    moves = (dag.sum(axis=1) > 0) & (dag.sum(axis=1) >= dag.sum(axis=0))
    for node in np.argsort(-tiers, kind="stable"):
        if moves[node]:
            tiers[node] = tiers[dag[node]].min() - 1
    return tiers


def _untold(graph: Graph, pattern: Graph | ArrayLike | None) -> BoolArray:
    """Which arcs have a direction that the data cannot tell."""
    both_ways: BoolArray = graph.adjacency & graph.adjacency.T
    if pattern is None:
        return both_ways
    if isinstance(pattern, Graph) and pattern.names != graph.names:
        raise InputError("pattern_nodes")
    known, _ = as_adjacency(pattern)
    if known.shape != both_ways.shape:
        raise InputError("pattern_size", n_known=len(known), n_nodes=graph.n_nodes)
    return both_ways | (known & known.T)


def _sure_of_pairs(graph: Graph, is_untold: BoolArray) -> Graph:
    """Count an edge as sure as its pair where each resample picks one of two directions."""
    if graph.confidence is None or (graph.adjacency & graph.adjacency.T & is_untold).any():
        return graph
    both = np.clip(graph.confidence + graph.confidence.T, 0.0, 1.0)
    return Graph(
        graph.weights,
        names=graph.names,
        directed=True,
        adjacency=graph.adjacency,
        signed=graph.signed,
        confidence=np.where(is_untold, both, graph.confidence),
    )


def _figure_size(
    columns: IntArray, layout: Tiered, names: list[str], notes: list[Note]
) -> tuple[float, float]:
    widths = _widths(names, _LARGEST)
    n_columns = int(columns.max()) + 1
    wide = sum(widths[columns == k].max() for k in range(n_columns))
    wide += _TURN * (n_columns - 1) + 2 * _MARGIN
    width = float(np.clip(wide / 72, 6.0, _WIDEST))
    tall = layout.height * _LEADING * _LARGEST + 4 * _MARGIN + 2 * ENTRY
    tall += height_of_notes(notes, 72 * width)
    return width, float(np.clip(tall / 72, 3.0, _TALLEST))


def _place(
    room: FloatArray,
    floor: float,
    columns: IntArray,
    layout: Tiered,
    names: list[str],
    labels: str,
) -> _Page:
    """Give each tier the width of its longest name and share what is left among the gaps."""
    n_columns = int(columns.max()) + 1
    slot = (room[1] - floor - _MARGIN) / layout.height
    members = [columns == k for k in range(n_columns)]
    shown, font_size = _fitted_names(
        names, members, room[0] - 2 * _MARGIN, float(np.clip(slot / _LEADING, 1.0, _LARGEST))
    )
    widths = _widths(shown, font_size)
    if labels == "none":
        widths = np.full(len(names), font_size)
    thick = np.array([widths[member].max(initial=font_size) for member in members])
    gap = max((room[0] - 2 * _MARGIN - thick.sum()) / max(n_columns - 1, 1), 4.0)
    centre = _MARGIN + np.cumsum(thick + gap) - gap - thick / 2
    base = floor + slot / 2
    return _Page(
        names=shown,
        nodes=np.column_stack([centre[columns], base + slot * layout.heights]),
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
    while share * font_size > _LARGEST and font_size > 1.0:
        font_size -= 0.5
    return shown, font_size


def _share(names: list[str], members: list[BoolArray], needed: float) -> float:
    """Width of all tiers in the largest letters, as a share of what they may take."""
    widths = _widths(names, _LARGEST)
    return float(sum(widths[member].max(initial=0.0) for member in members)) / max(needed, 1.0)


def _widths(names: list[str], font_size: float) -> FloatArray:
    """Width of each name with the frame around it."""
    return label_sizes(names, font_size)[:, 0] + 2 * _PAD * font_size


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


def _draw_nodes(ax: Axes, page: _Page, *, is_named: bool) -> None:
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
    frame = {"boxstyle": f"round,pad={_PAD}", "fc": _LIGHT, "ec": INK, "lw": 0.5}
    for name, (x, y) in zip(page.names, page.nodes, strict=True):
        text = ax.text(x, y, name, ha="center", va="center", bbox=frame, **PLAIN)
        text.set(fontsize=page.font_size, color=INK, zorder=3)


def _entries(graph: Graph, is_untold: BoolArray) -> list[Entry]:
    entries = stroke_entries(graph)
    if (is_untold & graph.adjacency).any():
        entries.append(Entry(label="direction not told", linestyle="--"))
    return entries
