"""A network as a heat map of its weights."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.plot._canvas import DIVERGING, INK, NEUTRAL, PLAIN, axes_or_new, check_labels, tidy
from edgewise.plot.directed import columns_of


def check_groups(groups: ArrayLike, n_nodes: int) -> IntArray:
    """Return the number of the group of each entry, or say why it cannot be one."""
    numbers: Any = np.asarray(groups)
    if numbers.shape != (n_nodes, n_nodes) or numbers.dtype.kind not in "iu":
        raise InputError("matrix_groups", n_nodes=n_nodes, shape=numbers.shape, dtype=numbers.dtype)
    checked: IntArray = numbers.astype(np.int64)
    return checked


def block_borders(groups: IntArray) -> FloatArray:
    """Find the lines around blocks of adjacent entries that share a group.

    Parameters
    ----------
    groups : ndarray of int, shape (n_nodes, n_nodes)
        Negative entries belong to no group. An entry without a neighbour of its own group is no
        block: a frame around every cell would hide what it frames.

    Returns
    -------
    ndarray of shape (n_lines, 2, 2)
        Both ends of each line as column and row, counted from the centre of the first entry.
    """
    ringed = np.pad(groups, 1, constant_values=-1)
    blocks = np.where(_has_equal_neighbor(ringed), ringed, -1)
    return np.concatenate([_borders_below(blocks), _borders_below(blocks.T)[:, :, ::-1]])


def _has_equal_neighbor(groups: IntArray) -> BoolArray:
    """Whether the entry above, below, left or right of each is of its group."""
    below, beside = groups[1:] == groups[:-1], groups[:, 1:] == groups[:, :-1]
    fused = np.zeros(groups.shape, dtype=bool)
    fused[1:] |= below
    fused[:-1] |= below
    fused[:, 1:] |= beside
    fused[:, :-1] |= beside
    return fused


def _borders_below(blocks: IntArray) -> FloatArray:
    """Horizontal lines between entries that differ, each as long as it can be."""
    is_border = blocks[1:] != blocks[:-1]
    step = np.diff(np.pad(is_border, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    # Rows are searched in order, so that starts and ends come in pairs; the ring around the
    # entries shifts them all by one.
    row, start = np.nonzero(step == 1)
    end = np.nonzero(step == -1)[1]
    lines: FloatArray = np.stack([np.stack([start - 1, row], 1), np.stack([end - 1, row], 1)], 1)
    return lines - 0.5


#: Up to this many names are all written; of more, only so many that they stay apart.
_ALL_NAMES = 60
_SOME_NAMES = 40


def plot_matrix(
    graph: Graph,
    ax: Axes | None = None,
    *,
    labels: Literal["auto", "all", "none"] = "auto",
    colorbar: bool = True,
    groups: ArrayLike | None = None,
) -> Axes:
    """Draw the weights as a heat map, white at zero, blue above and orange below.

    Rows are sources and columns targets. An edge whose weight is not known is grey, and one whose
    weight has no sign is between light grey and black.

    Parameters
    ----------
    graph : Graph
        What to draw.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` writes all names up to 60 nodes and evenly spaced ones beyond.
    colorbar : bool, default=True
        Whether to draw the scale of colours.
    groups : array-like of int, shape (n_nodes, n_nodes), default=None
        Number of the fused group that each entry belongs to, negative for none. Blocks of at
        least two adjacent entries of one group are outlined.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_matrix
    >>> ax = plot_matrix(Graph([[0, 0.5], [0.5, 0]], names=["a", "b"]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    check_labels(labels)
    side = 5.5 if graph.n_nodes <= 30 else 8.0 if graph.n_nodes <= 100 else 9.5
    ax = axes_or_new(ax, (side + 0.8, side))
    limit = float(np.abs(graph.weights).max()) or 1.0
    unknown = graph.adjacency & (graph.weights == 0)
    image = ax.imshow(
        np.ma.masked_array(graph.weights, mask=unknown),
        cmap=DIVERGING,
        vmin=-limit,
        vmax=limit,
        interpolation="nearest",
    )
    _write_names(ax, graph, labels, side)
    if graph.directed:
        ax.set_ylabel("source")
        ax.set_xlabel("target")
    _draw_grid(ax, graph.n_nodes)
    if groups is not None:
        _outline_blocks(ax, check_groups(groups, graph.n_nodes))
    if graph.signed is not None:
        sizes = np.ma.masked_array(graph.weights, mask=graph.signed | (graph.weights == 0))
        ax.imshow(sizes, cmap="Greys", vmin=-0.25 * limit, vmax=limit, interpolation="nearest")
    if colorbar:
        ax.figure.colorbar(image, ax=ax, label="weight", shrink=0.7, pad=0.02)
    return ax


def _draw_grid(ax: Axes, n_nodes: int) -> None:
    """Part the cells by thin lines instead of a frame, where they are large enough."""
    ax.spines[:].set_visible(False)
    if n_nodes <= _ALL_NAMES:
        borders = np.arange(1, n_nodes) - 0.5
        ax.hlines(borders, -0.5, n_nodes - 0.5, colors="#E0E0E0", linewidths=0.5)
        ax.vlines(borders, -0.5, n_nodes - 0.5, colors="#E0E0E0", linewidths=0.5)


def _outline_blocks(ax: Axes, groups: IntArray) -> None:
    ax.add_collection(
        LineCollection(
            list(block_borders(groups)),
            colors=INK,
            linewidths=1.0 if len(groups) <= _ALL_NAMES else 0.6,
            capstyle="projecting",
            zorder=3,
        ),
        autolim=False,
    )


def _write_names(ax: Axes, graph: Graph, labels: str, side: float) -> None:
    if labels == "none":
        ax.set_xticks([])
        ax.set_yticks([])
        return
    step = 1
    if labels == "auto" and graph.n_nodes > _ALL_NAMES:
        step = -(-graph.n_nodes // _SOME_NAMES)
    ticks = np.arange(0, graph.n_nodes, step)
    # Three quarters of the room between ticks, which fills about 70 % of the figure's side.
    font_size = float(np.clip(0.75 * 0.7 * 72 * side / len(ticks), 3.0, 9.0))
    names = [tidy(graph.names[tick]) for tick in ticks]
    ax.set_yticks(ticks, labels=names, fontsize=font_size, **PLAIN)
    ax.set_xticks(ticks, labels=names, fontsize=font_size, rotation=90, **PLAIN)
    ax.tick_params(length=2)


def plot_coefficients(
    graph: Graph,
    ax: Axes | None = None,
    *,
    tiers: ArrayLike | None = None,
    labels: Literal["auto", "all", "none"] = "auto",
    colorbar: bool = True,
) -> Axes:
    """Draw the weights of a directed acyclic graph with nodes in the order of their tiers.

    Rows are causes and columns effects, so that everything stands above the diagonal. Lines part
    the tiers. An edge both ways, whose direction is not known, stands on both sides.

    Parameters
    ----------
    graph : Graph
        Directed, without cycles other than edges both ways.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    tiers : array-like of int, shape (n_nodes,), default=None
        As in `plot_dag`.
    labels : {"auto", "all", "none"}, default="auto"
        As in `plot_matrix`.
    colorbar : bool, default=True
        Whether to draw the scale of colours.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot.matrix import plot_coefficients
    >>> graph = Graph([[0, 0], [0.5, 0]], names=["wet", "rain"], directed=True)
    >>> ax = plot_coefficients(graph)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['rain', 'wet']
    """
    columns = columns_of(graph, tiers)
    order = np.argsort(columns, kind="stable")
    square = np.ix_(order, order)
    ordered = Graph(
        graph.weights[square],
        names=[graph.names[node] for node in order],
        directed=True,
        adjacency=graph.adjacency[square],
    )
    ax = plot_matrix(ordered, ax, labels=labels, colorbar=colorbar)
    borders = np.flatnonzero(np.diff(columns[order])) + 0.5
    ends = (-0.5, graph.n_nodes - 0.5)
    ax.hlines(borders, *ends, colors=NEUTRAL, linewidths=0.8)
    ax.vlines(borders, *ends, colors=NEUTRAL, linewidths=0.8)
    ax.plot(ends, ends, color=INK, linewidth=0.6)
    ax.set_ylabel("cause")
    ax.set_xlabel("effect")
    return ax
