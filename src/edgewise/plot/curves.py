"""Paths of regularisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patheffects import withStroke
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._style import INK, NEGATIVE, POSITIVE, axes_or_new

_SIZE = (6.4, 4.2)


def plot_path(
    alphas: ArrayLike,
    graphs: Sequence[Graph],
    ax: Axes | None = None,
    *,
    kind: Literal["edges", "weights"] = "edges",
    chosen: float | None = None,
) -> Axes:
    """Draw how the graph changes with the strength of regularisation.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        Positive strengths, in any order.
    graphs : sequence of Graph
        One per alpha, over the same nodes.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    kind : {"edges", "weights"}, default="edges"
        The number of edges, or a line for the weight of every edge that appears.
    chosen : float, default=None
        The alpha to mark.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_path
    >>> full, empty = Graph([[0, 0.5], [0.5, 0]]), Graph([[0, 0], [0, 0]])
    >>> ax = plot_path([0.1, 1.0], [full, empty], chosen=0.1)
    >>> ax.lines[0].get_ydata().tolist()
    [1, 0]
    """
    strengths, graphs = _sorted_path(alphas, graphs)
    ax = axes_or_new(ax, _SIZE)
    if kind == "edges":
        counts = [graph.n_edges for graph in graphs]
        ax.plot(strengths, counts, color=POSITIVE, marker="o", markersize=3)
        ax.set_ylabel("number of edges")
        ax.set_ylim(bottom=0, top=max(*counts, 1) * 1.05)
    elif kind == "weights":
        _draw_weights(ax, strengths, graphs)
    else:
        raise InputError(f"kind must be 'edges' or 'weights', got {kind!r}.")
    ax.set_xscale("log")
    margin = max((strengths[-1] / strengths[0]) ** 0.05, 1.05)
    ax.set_xlim(strengths[0] / margin, strengths[-1] * margin)
    ax.set_xlabel("alpha")
    if chosen is not None:
        mark_chosen(ax, chosen)
    draw_grid(ax)
    return ax


def _sorted_path(alphas: ArrayLike, graphs: Sequence[Graph]) -> tuple[FloatArray, list[Graph]]:
    """Return the path in order of rising alpha, after checking that it can be drawn."""
    strengths = np.asarray(alphas, dtype=np.float64)
    if strengths.shape != (len(graphs),) or not len(graphs):
        raise InputError(f"There are {strengths.size} alphas but {len(graphs)} graphs.")
    if not (strengths > 0).all():
        raise InputError(f"alphas must be positive for a log scale; found {strengths.min():g}.")
    if any(graph.names != graphs[0].names for graph in graphs):
        raise InputError("The graphs along the path must have the same nodes in the same order.")
    order = np.argsort(strengths, kind="stable")
    return strengths[order], [graphs[index] for index in order]


def mark_chosen(ax: Axes, chosen: float) -> None:
    """Draw a line at an alpha, named on the side that has more room; the limits must be set."""
    ax.axvline(chosen, color=INK, linestyle="--", linewidth=1)
    # Where on the axes, whatever the scale of alpha.
    is_right = ax.transLimits.transform(ax.transScale.transform((chosen, 1.0)))[0] > 0.5
    ax.annotate(
        f"chosen {chosen:.3g}",
        (chosen, 1.0),
        (-3 if is_right else 3, -3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if is_right else "left",
        va="top",
        fontsize=8,
        path_effects=[withStroke(linewidth=2, foreground="white")],
    )


def draw_grid(ax: Axes) -> None:
    """Draw faint lines behind the curves."""
    ax.grid(color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)


def _draw_weights(ax: Axes, strengths: FloatArray, graphs: Sequence[Graph]) -> None:
    weights = np.array([graph.weights for graph in graphs])
    ever = (weights != 0).any(axis=0)
    lines = weights[:, ever if graphs[0].directed else np.triu(ever)].T
    # A line takes the sign of the weight in the densest graph, where it is largest.
    colors = np.where(lines[:, 0] < 0, NEGATIVE, POSITIVE)
    ax.add_collection(
        LineCollection(
            [np.column_stack([strengths, line]) for line in lines],
            colors=list(colors),
            linewidths=0.9,
            alpha=0.8,
        )
    )
    ax.axhline(0, color=INK, linewidth=0.6)
    ax.set_ylabel("weight")
    ax.autoscale_view()
