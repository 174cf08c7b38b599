"""A network drawn over the positions of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba_array
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.neighbors import site_positions
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
    room_of,
    set_limits,
    tidy,
    weight_entries,
)
from edgewise.plot._labels import label_sizes, legend_columns, place_labels, write_labels
from edgewise.plot.matrix import check_groups
from edgewise.plot.seed_maps import Sheet, lay_out

#: How far the ends of an edge may lie from those of the first of its bundle, and how short it may
#: be, as shares of the length of that first edge: others would have to go a long way round.
_REACH, _SHORTEST = 0.7, 0.5
#: How much of the way to the line of its bundle an edge is pulled in the middle.
_PULL = 0.88
#: How far a line bows towards the middle of the picture at most, as a share of its length beyond
#: that of two steps between neighbouring sites.
_BOW = 0.12
_STRAIGHT = 2.0
#: Points that make up a curve.
_STEPS = 33


def find_bundles(
    ends: FloatArray, kind: IntArray, size: FloatArray, *, step: float, similar: float
) -> tuple[FloatArray, FloatArray]:
    """Gather edges that run side by side between two clusters of neighbouring sites.

    A bundle grows from the heaviest edge that is left: to edges of its kind and of about its
    size whose ends lie beside those of one already gathered.

    Parameters
    ----------
    ends : ndarray of shape (n_edges, 2, 2)
        Edges, the heaviest first.
    kind : ndarray of shape (n_edges,)
        Only edges of the same kind share a bundle.
    size : ndarray of shape (n_edges,)
        Absolute weights.
    step : float
        Distance of sites beside each other.
    similar : float
        Least size in a bundle as a share of the largest.

    Returns
    -------
    ends : ndarray of shape (n_edges, 2, 2)
        The edges, turned to run the same way as the others of their bundle.
    axis : ndarray of shape (n_edges, 2, 2)
        Mean start and mean end of the bundle of each edge.
    """
    both_ways = np.concatenate([ends, ends[:, ::-1]])
    beside = _beside(both_ways, step)
    turned, axis = ends.copy(), ends.copy()
    is_free = np.ones(len(ends), dtype=bool)
    for first in range(len(ends)):
        if is_free[first]:
            fits = is_free & (kind == kind[first]) & (size >= similar * size[first])
            members = _grow(first, fits, both_ways, beside)
            edges = members % len(ends)
            is_free[edges] = False
            turned[edges] = both_ways[members]
            axis[edges] = both_ways[members].mean(axis=0)
    return turned, axis


def curves(ends: FloatArray, axis: FloatArray, middle: FloatArray, apart: float) -> FloatArray:
    """Pull edges to the line of their bundle, which bows towards the ``middle`` of the picture.

    Parameters
    ----------
    ends, axis : ndarray of shape (n_edges, 2, 2)
        Edges and bundles.
    middle : ndarray of shape (2,)
        Of all sites.
    apart : float
        Distance between neighbouring sites. Edges between near sites stay straight; longer ones
        would run over the sites between their ends.

    Returns
    -------
    ndarray of shape (n_edges, n_steps, 2)
        Points along each edge.
    """
    normal, length = _normal(axis)
    offset = np.sum((middle - axis.mean(axis=1)) * normal, axis=1, keepdims=True)
    most = _BOW * np.maximum(length - _STRAIGHT * apart, 0.0)
    # Half of the way at most, or lines on both sides of the middle would meet there.
    bow = np.clip(offset / 2, -most, most) * normal
    bowed: FloatArray = _pulled(ends, axis) + _arch() * bow[:, None]
    return bowed


def arcs(ends: FloatArray, axis: FloatArray, height: FloatArray) -> FloatArray:
    """Draw edges between sites on one line as arcs, so that they can be told apart.

    Parameters
    ----------
    ends, axis : ndarray of shape (n_edges, 2, 2)
        Edges and bundles.
    height : ndarray of shape (n_edges,)
        As a share of the length of the bundle, negative below the line.

    Returns
    -------
    ndarray of shape (n_edges, n_steps, 2)
        Points along each edge.
    """
    normal, length = _normal(axis)
    # Whichever way an edge runs, the same sign of its height leads to the same side.
    upwards = np.where(normal @ [1e-9, 1.0] < 0, -1.0, 1.0)[:, None]
    return _pulled(ends, axis) + _arch() * (height[:, None] * length * upwards * normal)[:, None]


def segments(ends: FloatArray) -> FloatArray:
    """Straight lines, with as many points as the curves have."""
    along = np.linspace(0.0, 1.0, _STEPS)[:, None]
    return ends[:, :1] * (1.0 - along) + ends[:, 1:] * along


def _beside(both_ways: FloatArray, step: float) -> list[list[int]]:
    """List for each edge those whose starts and ends lie beside its own, either way round."""
    from scipy.spatial import cKDTree

    flat = both_ways.reshape(-1, 4)
    found: Any = cKDTree(flat).query_ball_point(flat[: len(flat) // 2], step, p=np.inf)
    return list(found)


def _grow(
    first: int, fits: BoolArray, both_ways: FloatArray, beside: Sequence[Sequence[int]]
) -> IntArray:
    """Go from edge to edge beside it, as long as they fit and lie near the first one.

    Edges are numbered as in ``both_ways``: the second half are the edges of the first, turned.
    """
    n_edges, start = len(fits), both_ways[first]
    length = float(np.linalg.norm(start[1] - start[0]))
    fits[first] = False
    members, open_ends = [first], [first]
    while open_ends:
        edge = open_ends.pop()
        near = (np.asarray(beside[edge % n_edges]) + edge - edge % n_edges) % (2 * n_edges)
        near = near[fits[near % n_edges]]
        away = np.linalg.norm(both_ways[near] - start, axis=2).max(axis=1)
        lengths = np.linalg.norm(both_ways[near, 1] - both_ways[near, 0], axis=1)
        near = near[(away <= _REACH * length) & (lengths >= _SHORTEST * length)]
        # A short edge may lie beside another both ways round.
        near = near[np.unique(near % n_edges, return_index=True)[1]]
        fits[near % n_edges] = False
        members.extend(near.tolist())
        open_ends.extend(near.tolist())
    return np.array(members)


def _pulled(ends: FloatArray, axis: FloatArray) -> FloatArray:
    along = np.linspace(0.0, 1.0, _STEPS)[:, None]
    pull = _PULL * (1.0 - np.abs(2.0 * along - 1.0) ** 2.5)
    return (1.0 - pull) * segments(ends) + pull * segments(axis)


def _arch() -> FloatArray:
    along = np.linspace(0.0, 1.0, _STEPS)[:, None]
    arch: FloatArray = 4.0 * along * (1.0 - along)
    return arch


def _normal(axis: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return unit normals and lengths; a line without length has no normal."""
    x, y = (axis[:, 1] - axis[:, 0]).T
    length = np.hypot(x, y)[:, None]
    return np.column_stack([-y, x]) / np.where(length > 0, length, 1.0), length


#: Printer's points kept free around the sites, below them for the caption, and above them for the
#: numbers of slices.
_MARGIN, _CAPTION, _SLICES = 26.0, 14.0, 14.0
#: Ends of edges in one bundle follow each other at this many steps between neighbouring sites,
#: and no edge has less than this share of the weight of the heaviest. Groups say themselves what
#: belongs together, and may have gaps where edges are not drawn.
_STEP, _SIMILAR, _STEP_IN_GROUP = 1.5, 0.67, 2.5
#: Height of an arc as a share of its length, where all sites lie on one line.
_ARC = 0.35
#: Opacity of the weakest and of the strongest edge.
_FAINT, _CLEAR = 0.12, 0.85
#: Largest radius of a site, in points.
_RADIUS = 6.0
#: Edges that can be told apart among any number of sites, for each site, and at most.
_FEW, _PER_SITE, _MOST = 60, 1.5, 300
#: Names of more sites than this only hide the edges.
_NAMED = 100


@dataclass(frozen=True, kw_only=True)
class _Edges:
    """The edges to draw, the heaviest first, and how many there are in all."""

    pairs: IntArray
    weights: FloatArray
    n_all: int

    @property
    def caption(self) -> str:
        n_drawn = len(self.pairs)
        if n_drawn < self.n_all:
            return f"the {f'{n_drawn} ' if n_drawn > 1 else ''}strongest of {self.n_all} edges"
        return {0: "no edges", 1: "1 edge"}.get(self.n_all, f"all {self.n_all} edges")


@dataclass(frozen=True, kw_only=True)
class _Frame:
    """Where everything goes, lengths in points except the height of the sites, in their units."""

    placement: _layout.Placement
    height: float
    radius: float
    widest: float
    names: list[str]
    name_sizes: FloatArray
    font_size: float
    entries: list[Entry]
    columns: int
    legend_height: float


def plot_sites(
    graph: Graph,
    sites: Literal["chain", "ring"] | Sequence[int] | ArrayLike,
    ax: Axes | None = None,
    *,
    mask: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    bundle: bool = True,
    top: Literal["auto"] | int | None = "auto",
    labels: Literal["auto", "all", "none"] = "auto",
) -> Axes:
    """Draw the edges over the places of the nodes: blue positive, orange negative.

    Strong edges are wide and clear, weak ones thin and faint. Edges that run from one cluster of
    neighbouring sites to another are drawn together, as one bundle. Sites on one line are joined
    by arcs, above it where the weight is positive and below where it is negative. Directions are
    not drawn; of two arcs between the same nodes the heavier counts.

    Parameters
    ----------
    graph : Graph
        What to draw.
    sites : {"chain", "ring"}, grid shape or array-like of shape (n_nodes, 2)
        Where the nodes sit: in a row, on a circle, on a grid of one to three sizes in row-major
        order (three make slices side by side), or at these positions.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    mask : array-like of bool, default=None
        Of the grid's shape, True where a site exists.
    groups : array-like of int, shape (n_nodes, n_nodes), default=None
        Number of the fused group that each entry belongs to, negative for none. Only edges of
        the same group share a bundle.
    bundle : bool, default=True
        Whether to bundle edges; False draws each by itself.
    top : int or None, default="auto"
        How many of the heaviest edges to draw; None draws all, ``"auto"`` 60, or three for every
        two sites where those are more, and 300 at most. The caption says how many.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` writes the names that fit without covering each other or other sites, if
        there are at most 100.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_sites
    >>> weights = np.zeros((6, 6))
    >>> weights[:2, 4:] = weights[4:, :2] = 0.5
    >>> plot_sites(Graph(weights), (2, 3), top=3).texts[-1].get_text()
    'the 3 strongest of 4 edges'
    """
    check_labels(labels)
    positions = _positions(sites, graph.n_nodes, mask)
    numbers = None if groups is None else check_groups(groups, graph.n_nodes)
    edges = _heaviest(graph, _most_edges(graph.n_nodes) if top == "auto" else top)
    paths = _bundled(positions, edges, numbers) if bundle else (positions[edges.pairs],) * 2
    ax = axes_or_new(ax, _figure_size(positions), fill=True)
    ax.set_axis_off()
    has_slices = np.shape(sites) == (3,)
    frame = _frame(ax, graph, positions, edges, labels, _SLICES * has_slices)
    lines = _lines(positions, paths, edges, frame.height)
    _draw_edges(ax, lines, edges.weights, frame.widest)
    _draw_sites(ax, positions, frame.radius)
    _write_names(ax, frame, lines, keep_all=labels == "all")
    if has_slices:
        _write_slices(ax, lay_out(sites, graph.n_nodes, mask), frame.radius)
    _write_below(ax, edges.caption, frame.legend_height)
    if edges.n_all:
        draw_legend(ax, frame.entries, frame.columns, frame.widest)
    return ax


def _positions(
    sites: str | Sequence[int] | ArrayLike, n_nodes: int, mask: ArrayLike | None
) -> FloatArray:
    """Where each node sits, as given or as its neighbourhood says."""
    if isinstance(sites, str) or np.ndim(sites) < 2:
        return np.asarray(site_positions(sites, n_nodes, mask=mask))
    positions = np.asarray(sites, dtype=np.float64)
    if positions.shape != (n_nodes, 2) or not np.isfinite(positions).all():
        raise InputError("sites_shape", n_nodes=n_nodes, shape=positions.shape)
    if mask is not None:
        raise InputError("mask_without_shape")
    return positions


def _most_edges(n_sites: int) -> int:
    return int(np.clip(_PER_SITE * n_sites, _FEW, _MOST))


def _heaviest(graph: Graph, top: int | None) -> _Edges:
    if top is not None and top < 1:
        raise InputError("top_range", top=top)
    is_heavier = np.abs(graph.weights) >= np.abs(graph.weights.T)
    weights = np.where(is_heavier, graph.weights, graph.weights.T)
    pairs = np.argwhere(np.triu(graph.adjacency | graph.adjacency.T, 1))
    listed = weights[pairs[:, 0], pairs[:, 1]]
    order = np.argsort(-np.abs(listed), kind="stable")[:top]
    return _Edges(pairs=pairs[order], weights=listed[order], n_all=len(pairs))


def _figure_size(positions: FloatArray) -> tuple[float, float]:
    """Give the figure the shape of the sites; those on one line need room for arcs."""
    width, height = np.ptp(positions, axis=0)
    if _is_line(positions):
        return (10.0, 4.2)
    ratio = float(np.clip(height / width, 0.25, 1.5))
    side = 5.5 if len(positions) <= 30 else 6.5 if len(positions) <= 150 else 8.0
    inches = min(side / ratio, 11.0)
    margins = np.array([2 * _MARGIN, 2 * _MARGIN + _CAPTION + ENTRY]) / 72
    return (inches, (inches - margins[0]) * ratio + margins[1])


def _is_line(positions: FloatArray) -> bool:
    """Whether all sites lie on one straight line, up to rounding."""
    centred = positions - positions.mean(axis=0)
    return int(np.linalg.matrix_rank(centred, rtol=1e-6)) < 2


def _frame(
    ax: Axes, graph: Graph, positions: FloatArray, edges: _Edges, labels: str, above: float
) -> _Frame:
    """Divide the axes between sites, names at the sides, and caption and legend below."""
    room, entries = room_of(ax), weight_entries(edges.weights)
    columns = legend_columns(entries, room[0])
    legend_height = -(-len(entries) // columns) * ENTRY
    is_named = labels == "all" or (labels == "auto" and graph.n_nodes <= _NAMED)
    names = [tidy(name) for name in graph.names] if is_named else []
    font_size = 8.0 if graph.n_nodes <= 30 else 6.5
    sizes = label_sizes(names, font_size)
    side = float(np.clip(sizes[:, 0].max(initial=0.0) + 10.0, _MARGIN, 0.15 * room[0]))
    low = np.array([side, _MARGIN + legend_height + _CAPTION])
    high = np.maximum(room - [side, _MARGIN + above], low + 20.0)
    page = _layout.Page(low=low, high=high, cell=np.zeros(2), radius=_RADIUS)
    placement = _layout.place(graph, positions, page)
    set_limits(ax, placement, room)
    apart = min(_layout.spacing(placement.points), 60.0)
    return _Frame(
        placement=placement,
        height=float(high[1] - low[1]) / placement.scale,
        radius=float(np.clip(0.16 * apart, 1.0, _RADIUS)),
        widest=float(np.clip(0.035 * apart, 0.7, 2.0)),
        names=names,
        name_sizes=sizes,
        font_size=font_size,
        entries=entries,
        columns=columns,
        legend_height=legend_height,
    )


def _bundled(
    positions: FloatArray, edges: _Edges, groups: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """Find the ends of each edge and of its bundle, which has one sign and one group."""
    kind, size = (edges.weights < 0).astype(np.int64), np.abs(edges.weights)
    step, similar = _STEP, _SIMILAR
    if groups is not None:
        kind += 2 * groups[edges.pairs[:, 0], edges.pairs[:, 1]]
        step, similar = _STEP_IN_GROUP, 0.0
    step *= _layout.spacing(positions)
    return find_bundles(positions[edges.pairs], kind, size, step=step, similar=similar)


def _lines(
    positions: FloatArray, paths: tuple[FloatArray, FloatArray], edges: _Edges, room: float
) -> FloatArray:
    """Points along each edge; ``room`` is the height that arcs on both sides have together."""
    if not _is_line(positions):
        return curves(*paths, positions.mean(axis=0), _layout.spacing(positions))
    longest = float(np.linalg.norm(np.diff(paths[1], axis=1), axis=2).max(initial=0.0))
    height = min(_ARC, room / 2 / longest) if longest else _ARC
    return arcs(*paths, np.where(edges.weights < 0, -height, height))


def _draw_edges(ax: Axes, lines: FloatArray, weights: FloatArray, widest: float) -> None:
    share = np.abs(weights) / (np.abs(weights).max(initial=0.0) or 1.0)
    color = to_rgba_array([NEGATIVE, NEUTRAL, POSITIVE])[np.sign(weights).astype(int) + 1]
    color[:, 3] = _FAINT + (_CLEAR - _FAINT) * share
    # Heaviest last, so that they lie on top.
    ax.add_collection(
        LineCollection(
            list(lines[::-1]),
            colors=color[::-1],
            linewidths=line_width(share, widest)[::-1],
            zorder=1,
        ),
        autolim=False,
    )


def _draw_sites(ax: Axes, positions: FloatArray, radius: float) -> None:
    ax.scatter(
        positions[:, 0],
        positions[:, 1],
        s=(2 * radius) ** 2,
        c="#DDDDDD",
        edgecolors=INK,
        linewidths=0.6,
        zorder=3,
    )


def _write_names(ax: Axes, frame: _Frame, lines: FloatArray, *, keep_all: bool) -> None:
    drawn = (lines - frame.placement.origin) * frame.placement.scale
    placed = place_labels(
        frame.placement.points,
        np.stack([drawn[:, :-1:4], drawn[:, 4::4]], axis=2).reshape(-1, 2, 2),
        frame.name_sizes,
        order=range(len(frame.names)),
        radius=frame.radius,
        room=room_of(ax),
        keep_all=keep_all,
    )
    write_labels(ax, frame.names, frame.placement.data, placed, frame.font_size)


def _write_slices(ax: Axes, sheet: Sheet, radius: float) -> None:
    for center, name in zip(sheet.slice_centers, sheet.slice_names, strict=True):
        ax.annotate(
            name,
            (center, 0.0),
            (0, radius + 22),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=INK,
        )


def _write_below(ax: Axes, caption: str, height: float) -> None:
    ax.annotate(
        caption,
        (0.5, 0.0),
        (0, height + 3),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=8,
        color=INK,
    )
