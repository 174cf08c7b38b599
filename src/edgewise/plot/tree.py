"""A tree of graphs, and the risk along its pruning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.ticker import MaxNLocator

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._canvas import (
    INK,
    NEGATIVE,
    NEUTRAL,
    PLAIN,
    POSITIVE,
    Entry,
    axes_or_new,
    draw_legend,
    tidy,
)
from edgewise.plot._layout import with_edges
from edgewise.plot.curves import draw_grid
from edgewise.plot.network import strokes_of

if TYPE_CHECKING:
    from edgewise.estimators import GraphTree


#: Colours of Okabe and Ito that carry dark text, and the marks that tell equal colours apart.
LEAF_COLORS: Final = (
    "#56B4E9",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#F0E442",
    "#D55E00",
    "#BBBBBB",
)
LEAF_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
#: The same for areas.
LEAF_HATCHES: Final = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---")


def leaf_color(leaf: int) -> str:
    """Colour of a leaf; those of neighbouring numbers differ."""
    return LEAF_COLORS[leaf % len(LEAF_COLORS)]


def leaf_marker(leaf: int) -> str:
    """Mark of a leaf; no two of the first 56 share colour and mark."""
    return LEAF_MARKERS[leaf // len(LEAF_COLORS) % len(LEAF_MARKERS)]


def leaf_hatch(leaf: int) -> str:
    """Hatching of the area of a leaf, which goes with its mark."""
    return LEAF_HATCHES[LEAF_MARKERS.index(leaf_marker(leaf))]


def check_tree(tree: Any) -> GraphTree:
    """Check that ``tree`` is a fitted GraphTree."""
    if not hasattr(tree, "export_text"):
        raise InputError("tree_required", type=type(tree).__name__)
    if not hasattr(tree, "nodes_"):
        raise InputError("tree_not_fitted")
    fitted: GraphTree = tree
    return fitted


def draw_small_graph(
    ax: Axes,
    graph: Graph,
    center: tuple[float, float],
    radius: float,
    *,
    heaviest: float,
    least: float,
) -> FloatArray:
    """Draw a graph on a circle, in the coordinates of the axes; return where the nodes are.

    ``heaviest`` is the weight that gets the widest line and ``least`` that of the weakest edges
    drawn, the same for graphs to be compared.
    """
    graph = with_edges(graph, graph.adjacency & (np.abs(graph.weights) >= least))
    angle = np.pi / 2 - 2.0 * np.pi * np.arange(graph.n_nodes) / graph.n_nodes
    places: FloatArray = np.column_stack([np.cos(angle), np.sin(angle)]) * radius + center
    share = float(np.abs(graph.weights).max(initial=0.0)) / (heaviest or 1.0)
    strokes = strokes_of(graph, 0.3 + 4.0 * radius * share)
    ends = np.column_stack([strokes.source, strokes.target])
    ax.add_collection(
        LineCollection(
            list(places[ends]), colors=strokes.color, linewidths=strokes.width, zorder=2
        ),
        autolim=False,
    )
    size = float(np.clip(60.0 * radius / graph.n_nodes, 1.5, 5.0))
    ax.scatter(places[:, 0], places[:, 1], s=size**2, color=INK, linewidths=0, zorder=3)
    return places


def _least(graph: Graph) -> float:
    """Weight from which on no more edges are there than can be told apart on a small circle."""
    sizes = np.sort(np.abs(graph.weights[np.triu(graph.adjacency)]))[::-1]
    most = max(_FEW, int(_PER_NODE * graph.n_nodes))
    return float(sizes[most - 1]) if len(sizes) > most else 0.0


#: Edges that can be told apart on a small circle, of any number of nodes and for each of them.
_FEW, _PER_NODE = 20, 1.5
#: Height of a leaf in inches: with few leaves, with many, and where it goes from one to the other.
_TALL, _SHORT, _MANY = 1.15, 0.62, 24
#: Inches per letter of the small print, and the narrowest column of a tree.
_LETTER, _NARROW = 0.068, 1.25
#: Radius of the graph of the whole, in inches, and most letters of the names around it.
_ROOT, _LETTERS = 0.85, 20
#: Room for what is written beside the graph of a leaf, in inches.
_WORDS = 1.55


def plot_tree(tree: GraphTree, ax: Axes | None = None) -> Axes:
    """Draw a tree from left to right, with the graph of every leaf at its end.

    All graphs have their nodes in the same places on a circle, named at the graph of the whole on
    the left; blue edges are positive, orange ones negative, and equally wide ones equally strong
    in all leaves. Where there are many, those from some weight on are drawn, which the legend
    says. At each fork stands what the split gains, and which share of it is due to the graph
    rather than to means and variances. The squares have the colours of `plot_partition` and
    `plot_leaf_map`.

    Parameters
    ----------
    tree : GraphTree
        A fitted tree.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure as tall as the leaves need, found at ``.figure`` of
        the result.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GraphTree
    >>> from edgewise.plot import plot_tree
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(size=(400, 1)), rng.normal(size=(400, 2))
    >>> Y[:, 0] += np.where(X[:, 0] > 0.5, 2, -2) * Y[:, 1]
    >>> tree = GraphTree(scale=(0, 1), random_state=0).fit(X, Y)
    >>> ax = plot_tree(tree)
    >>> [text.get_text() for text in ax.texts if "=" in text.get_text()]
    ['x0 <= 0.5']
    """
    tree = check_tree(tree)
    sheet = _lay_out(tree)
    ax = axes_or_new(ax, sheet.size, fill=True)
    ax.set_axis_off()
    ax.set_xlim(0, sheet.size[0])
    ax.set_ylim(0, sheet.size[1])
    ax.set_aspect("equal")
    graphs = [node.graph for node in (tree.nodes_[0], *tree.leaves_)]
    heaviest = max(float(np.abs(graph.weights).max()) for graph in graphs)
    least = max(map(_least, graphs))
    _draw_whole(ax, tree, sheet, heaviest, least)
    _draw_branches(ax, tree, sheet)
    for leaf in tree.leaves_:
        x, y = float(sheet.places[leaf.node, 0]), float(sheet.places[leaf.node, 1])
        color = leaf_color(leaf.leaf)
        ax.plot(x, y, "s", color=color, markersize=9, markeredgecolor=INK, markeredgewidth=0.6)
        center = (x + 0.25 + sheet.radius, y)
        draw_small_graph(ax, leaf.graph, center, sheet.radius, heaviest=heaviest, least=least)
        edges = "edge" if leaf.graph.n_edges == 1 else "edges"
        words = f"leaf {leaf.leaf}\n{leaf.n:,} rows\n{leaf.graph.n_edges} {edges}"
        ax.text(center[0] + sheet.radius + 0.15, y, words, fontsize=8, va="center", **PLAIN)
    entries = [Entry(label="positive", color=POSITIVE), Entry(label="negative", color=NEGATIVE)]
    if least:
        entries.append(Entry(label=f"drawn: |weight| at least {least:.2g}", color="none"))
    draw_legend(
        ax,
        entries,
        len(entries),
        2.0,
        loc="lower right",
        borderaxespad=0.1,
        handlelength=2.0,
        columnspacing=2.0,
    )
    return ax


def plot_tree_risk(tree: GraphTree, ax: Axes | None = None) -> Axes:
    """Draw how the risk of a tree falls with its splits, the most valuable ones first.

    Parameters
    ----------
    tree : GraphTree
        A fitted tree.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Notes
    -----
    A split that pays off only together with those below it shows as a step up before a step down.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GraphTree
    >>> from edgewise.plot.tree import plot_tree_risk
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.uniform(size=(400, 1)), rng.normal(size=(400, 2))
    >>> Y[:, 0] += np.where(X[:, 0] > 0.5, 2, -2) * Y[:, 1]
    >>> ax = plot_tree_risk(GraphTree(scale=(0, 1), random_state=0).fit(X, Y))
    >>> ax.lines[0].get_xdata().tolist()
    [0, 1]
    """
    tree = check_tree(tree)
    risks = np.asarray(tree.risk_path_)
    ax = axes_or_new(ax)
    splits = np.arange(len(risks))
    ax.plot(splits, risks, color=POSITIVE, marker="o", markersize=3.5)
    if len(risks) > 1:
        word = "split" if len(risks) == 2 else "splits"
        ax.annotate(
            f"{len(risks) - 1} {word}: {risks[-1]:.4g}",
            (splits[-1], risks[-1]),
            (-6, -4),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=8,
            color=INK,
        )
        ax.axhline(risks[0], color=NEUTRAL, linestyle="--", linewidth=1)
        ax.annotate(
            "one graph for all rows",
            (splits[-1], risks[0]),
            (0, -3),
            textcoords="offset points",
            ha="right",
            va="top",
            fontsize=8,
            color=NEUTRAL,
        )
        spread = float(np.ptp(risks))
        ax.set_ylim(risks.min() - 0.12 * spread, risks.max() + 0.06 * spread)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("number of splits")
    ax.set_ylabel("risk of training rows" if tree.criterion == "penalized" else "held-out risk")
    draw_grid(ax)
    return ax


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sheet:
    """Where things stand, in inches from the lower left corner."""

    size: tuple[float, float]
    places: FloatArray
    whole: tuple[float, float]
    names: float
    radius: float


def _lay_out(tree: GraphTree) -> _Sheet:
    """Stack the leaves in order, and put every fork half-way between its branches."""
    n_leaves = len(tree.leaves_)
    height = _TALL if n_leaves <= _MANY else _SHORT
    # Room for the longest of the names around the graph of the whole.
    names = 0.15 + _LETTER * max(len(tidy(name, _LETTERS)) for name in tree.graph_.names)
    tallest = max(n_leaves * height, 2.0 * (_ROOT + names)) + 0.45
    depth = np.zeros(len(tree.nodes_), dtype=np.int64)
    widest: dict[int, int] = {}
    for node in tree.nodes_:
        if (split := node.split) is not None:
            depth[[split.left, split.right]] = depth[node.node] + 1
            words = [*split.conditions(), _gain(tree, node.node)]
            at = int(depth[node.node])
            widest[at] = max([widest.get(at, 0), *(len(tidy(word, 40)) for word in words)])
    columns = [max(_NARROW, _LETTER * widest[at] + 0.2) for at in sorted(widest)]
    start = 2.0 * (_ROOT + names) + 0.3
    edges = start + np.concatenate([[0.0], np.cumsum(columns)])
    places = np.empty((len(tree.nodes_), 2))
    offset = (tallest - 0.45 - n_leaves * height) / 2.0 + 0.45
    for node in reversed(tree.nodes_):
        if (split := node.split) is None:
            below = _rank(tree, node.node)
            places[node.node] = (edges[-1], offset + (n_leaves - 0.5 - below) * height)
        else:
            y = places[[split.left, split.right], 1].mean()
            places[node.node] = (edges[depth[node.node]], y)
    radius = 0.42 * height
    width = float(edges[-1]) + 0.25 + 2.0 * radius + _WORDS
    lowest, highest = 0.45 + _ROOT + names, tallest - _ROOT - names
    return _Sheet(
        size=(width, tallest),
        places=places,
        whole=(_ROOT + names, float(np.clip(places[0, 1], lowest, highest))),
        names=names,
        radius=radius,
    )


def _rank(tree: GraphTree, number: int) -> int:
    """How many leaves stand above this one, left children on top."""
    order: list[int] = []
    waiting = [0]
    while waiting:
        node = tree.nodes_[waiting.pop()]
        if node.split is None:
            order.append(node.node)
        else:
            waiting += [node.split.right, node.split.left]
    return order.index(number)


def _gain(tree: GraphTree, number: int) -> str:
    split = tree.nodes_[number].split
    if split is None or not split.gain > 0:
        return ""
    return f"gain {split.gain:.2g}, {100.0 * split.gain_graph / split.gain:.0f}% graph"


def _draw_whole(ax: Axes, tree: GraphTree, sheet: _Sheet, heaviest: float, least: float) -> None:
    """Draw the graph of all rows with the names of its nodes, and a line to the first fork."""
    graph = tree.nodes_[0].graph
    nodes = draw_small_graph(ax, graph, sheet.whole, _ROOT, heaviest=heaviest, least=least)
    font = 8.0 if graph.n_nodes <= 24 else 6.0
    shown = np.arange(graph.n_nodes) if graph.n_nodes <= 40 else np.arange(0)
    for k in shown.tolist():
        outward = nodes[k] - sheet.whole
        angle = float(np.degrees(np.arctan2(outward[1], outward[0])))
        is_left = abs(angle) > 90.0
        where = np.asarray(sheet.whole) + outward * (1.0 + 0.07 / _ROOT)
        ax.text(
            float(where[0]),
            float(where[1]),
            tidy(graph.names[k], _LETTERS),
            fontsize=font,
            rotation=angle + 180.0 if is_left else angle,
            rotation_mode="anchor",
            ha="right" if is_left else "left",
            va="center",
            **PLAIN,
        )
    n_edges = f"{graph.n_edges} edge{'' if graph.n_edges == 1 else 's'}"
    below = sheet.whole[1] - _ROOT - sheet.names
    text = f"all {tree.nodes_[0].n:,} rows: {n_edges}"
    ax.text(sheet.whole[0], max(below, 0.3), text, fontsize=8, ha="center", va="top", **PLAIN)


def _draw_branches(ax: Axes, tree: GraphTree, sheet: _Sheet) -> None:
    """Draw forks and what leads to each side."""
    style: dict[str, Any] = {"color": NEUTRAL, "linewidth": 1.2, "zorder": 1}
    x, y = sheet.places[0]
    ax.plot([sheet.whole[0] + _ROOT + sheet.names, x], [y, y], **style)
    for node in tree.nodes_:
        if (split := node.split) is None:
            continue
        x, y = sheet.places[node.node]
        sides = sheet.places[[split.left, split.right]]
        ax.plot([x, x], sides[:, 1], **style)
        for (end, level), condition in zip(sides, split.conditions(), strict=True):
            ax.plot([x, end], [level, level], **style)
            ax.text(x + 0.05, level + 0.04, tidy(condition, 40), fontsize=8, va="bottom", **PLAIN)
        gain = _gain(tree, node.node)
        if gain and abs(sides[0, 1] - sides[1, 1]) > 0.4:
            ax.text(x + 0.05, y, gain, fontsize=7, color=NEUTRAL, va="center", **PLAIN)
