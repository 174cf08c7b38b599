"""The coefficients of a directed network as a heat map, causes before effects."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from edgewise.graph import Graph
from edgewise.plot._style import INK, NEUTRAL
from edgewise.plot.dag import columns_of
from edgewise.plot.matrix import plot_matrix


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
    >>> from edgewise.plot import plot_coefficients
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
