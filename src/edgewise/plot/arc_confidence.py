"""How often resamples join two columns, and which way round."""

from __future__ import annotations

from typing import Final

import numpy as np
from matplotlib.axes import Axes

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.plot._style import INK, NEGATIVE, PLAIN, POSITIVE, axes_or_new, tidy

#: Height of one pair in inches, and of what stands above and below.
_ROW, _REST = 0.2, 0.9
#: What a pair of columns is called.
_ARROW: Final = "\N{RIGHTWARDS ARROW}"


def plot_arc_confidence(graph: Graph, ax: Axes | None = None, *, most: int = 40) -> Axes:
    """Draw how often each pair of columns was joined in resamples, parted by direction.

    A long bar of one colour is an arc that always comes back the same way; a long bar of two
    colours is an edge that is sure but whose direction is not. Pairs that are joined most often
    come first, and are named in the direction of the graph, or else in the more frequent one; a
    pair that the graph does not have is in brackets.

    Parameters
    ----------
    graph : Graph
        Directed, with the share of resamples that have each arc as ``confidence``: ``graph_`` of
        `edgewise.BootstrapGraph`.
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
    >>> from edgewise.plot import plot_arc_confidence
    >>> graph = Graph([[0, 1], [0, 0]], directed=True, confidence=[[0, 0.7], [0.2, 0]])
    >>> [round(float(bar.get_width()), 2) for bar in plot_arc_confidence(graph).patches]
    [0.7, 0.2]
    """
    if not graph.directed or graph.confidence is None:
        raise InputError(
            "plot_arc_confidence takes a directed graph with confidence. Fit "
            "BootstrapGraph(estimator) and pass its graph_."
        )
    if most < 1:
        raise InputError(f"most must be at least 1, got {most!r}.")
    pairs = _pairs(graph)
    shown = pairs[:most]
    ax = axes_or_new(ax, (7.0, _REST + _ROW * max(len(shown), 3)))
    rows = np.arange(len(shown))
    source, target = shown.T
    ahead, back = graph.confidence[source, target], graph.confidence[target, source]
    ax.barh(rows, ahead, color=POSITIVE, label="in this direction")
    ax.barh(rows, back, left=ahead, color=NEGATIVE, label="the other way round")
    ax.set_yticks(rows, labels=_names(graph, shown), fontsize=8, **PLAIN)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(0, 1)
    ax.set_xlabel(_about(len(pairs) - len(shown)))
    ax.axvline(0.5, color=INK, linewidth=0.6, linestyle=":")
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    if len(shown):
        ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False, fontsize=8)
    return ax


def _pairs(graph: Graph) -> IntArray:
    """List the pairs that were ever joined, the most frequent first, each in one direction."""
    confidence: FloatArray = np.asarray(graph.confidence)
    together = confidence + confidence.T
    source, target = np.nonzero(np.triu(together))
    is_back = np.where(
        graph.adjacency[source, target] != graph.adjacency[target, source],
        graph.adjacency[target, source],
        confidence[target, source] > confidence[source, target],
    )
    source, target = np.where(is_back, target, source), np.where(is_back, source, target)
    # Of equally frequent pairs, that with the surer direction comes first.
    order = np.lexsort((-confidence[source, target], -together[source, target]))
    return np.column_stack([source, target])[order]


def _names(graph: Graph, pairs: IntArray) -> list[str]:
    names = []
    for source, target in pairs.tolist():
        text = f"{tidy(graph.names[source])} {_ARROW} {tidy(graph.names[target])}"
        is_there = graph.adjacency[source, target] or graph.adjacency[target, source]
        names.append(text if is_there else f"({text})")
    return names


def _about(n_left: int) -> str:
    text = "share of the resamples"
    return f"{text}; {n_left} rarer pairs are not shown" if n_left > 0 else text
