"""A network as a heat map of its weights."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import IntArray
from edgewise.graph import Graph
from edgewise.plot._groups import block_borders, check_groups
from edgewise.plot._style import DIVERGING, INK, PLAIN, axes_or_new, tidy

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

    Rows are sources and columns targets. An edge whose weight is not known is grey.

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
    if labels not in ("auto", "all", "none"):
        raise InputError(f"labels must be 'auto', 'all' or 'none', got {labels!r}.")
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
