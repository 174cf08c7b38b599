"""Networks of several classes side by side, and the effect of learning them together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._canvas import (
    ABOVE,
    INK,
    NEGATIVE,
    NEUTRAL,
    PLAIN,
    POSITIVE,
    axes_of_rows,
    draw_legend,
    room_of,
    tidy,
    titled_panels,
)
from edgewise.plot._layout import ring_of_groups, strongest
from edgewise.plot.curves import draw_grid
from edgewise.plot.network import counted, note_nodes_left_out, panels_of, plot_network

if TYPE_CHECKING:
    import pandas as pd

#: Inches: the width and height of one network.
_PANEL = 5.6
#: Networks in a row: the names of more could not be read on a page.
_ACROSS = 3
#: Between the outermost nodes of a group and its outline, in distances between its nodes.
_AROUND = 0.7
#: Points kept free beside, above and below the outlines.
_SIDE, _ABOVE, _BELOW = 40.0, 18.0, 44.0
#: Arcs in a picture of changes.
_MOST = 25


def plot_class_networks(
    networks: Mapping[Any, Graph],
    *,
    difference: Graph | None = None,
    groups: ArrayLike | None = None,
    labels: Literal["auto", "all", "none"] = "auto",
) -> Figure:
    """Draw the networks of classes, up to five in a row, every variable at one place in all.

    Parameters
    ----------
    networks : mapping of label to Graph
        Such as ``networks_`` of a `BayesNetClassifier`, over the same variables.
    difference : Graph, default=None
        Where they differ, such as its ``graph_``; drawn last.
    groups : array-like of shape (n_nodes,), default=None
        A label for each variable, such as the lobe that a brain region lies in. Variables of a
        group stand together, outlined and named.
    labels : {"auto", "all", "none"}, default="auto"
        ``"auto"`` writes the names that fit without covering anything.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot.classify import plot_class_networks
    >>> tied = Graph([[0, 0.5], [0, 0]], directed=True)
    >>> loose = Graph([[0, 0], [0, 0]], directed=True)
    >>> figure = plot_class_networks({"sick": tied, "well": loose})
    >>> [ax.get_title() for ax in figure.axes]
    ['sick: 1 arc', 'well: 0 arcs']
    """
    graphs = list(networks.values())
    if not graphs or any(graph.names != graphs[0].names for graph in graphs):
        raise InputError("networks_differ")
    labelled = [str(label) for label in networks]
    if difference is not None:
        if difference.names != graphs[0].names:
            raise InputError("difference_nodes")
        graphs.append(difference)
        labelled.append("difference")
    n_nodes = graphs[0].n_nodes
    members = None if groups is None else _group_members(groups, n_nodes)
    shown, where, is_drawn = panels_of(graphs)
    if members is not None:
        shown, is_drawn = [strongest(graph) for graph in graphs], np.ones(n_nodes, dtype=bool)
        where = ring_of_groups(list(members.values()), n_nodes)
    across = 2 if len(graphs) == 4 else min(len(graphs), _ACROSS)
    figure, panels = titled_panels(len(graphs), across, _PANEL)
    # A width means the same in all panels.
    heaviest = max(float(np.abs(graph.weights).max(initial=0.0)) for graph in graphs) or None
    for ax, graph, one, label in zip(panels, graphs, shown, labelled, strict=True):
        plot_network(one, ax, layout=where, labels=labels, maximum=heaviest, max_edges=None)
        if members is not None:
            _outline(ax, where, members)
        title = tidy(f"{label}: {counted(one, graph, 'arc')}", 48)
        ax.set_title(title, fontsize=11, color=INK, **PLAIN)
    note_nodes_left_out(panels[0], graphs, is_drawn)
    return figure


def plot_arc_changes(changes: pd.DataFrame, ax: Axes | None = None, *, most: int = _MOST) -> Axes:
    """Draw how coefficients changed when networks were learned together.

    Parameters
    ----------
    changes : DataFrame
        Of ``explain()`` of a `BayesNetClassifier`: ``class``, ``source``, ``target``, ``before``
        and ``after``, the largest change first.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    most : int, default=25
        Number of arcs drawn, the largest changes.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from edgewise.plot.classify import plot_arc_changes
    >>> row = {"class": "sick", "source": "a", "target": "b", "before": 0.1, "after": 0.4}
    >>> ax = plot_arc_changes(pd.DataFrame([row]))
    >>> ax.get_yticklabels()[0].get_text()
    'a → b | sick'
    """
    shown = changes.head(most)
    names = [
        f"{tidy(str(row.source), 20)} → {tidy(str(row.target), 20)} | {tidy(str(label), 14)}"
        for row, label in zip(shown.itertuples(), shown["class"], strict=True)
    ]
    ax, rows = axes_of_rows(ax, names, 0.24)
    before, after = shown["before"].to_numpy(), shown["after"].to_numpy()
    for rises, color, word in ((True, POSITIVE, "grew"), (False, NEGATIVE, "fell")):
        kept = (after > before) == rises
        ax.hlines(rows[kept], before[kept], after[kept], color=color, linewidth=2.0, label=word)
        marker = ">" if rises else "<"
        ax.scatter(after[kept], rows[kept], color=color, marker=marker, s=28, zorder=3)
    ax.scatter(before, rows, facecolor="white", edgecolor=INK, s=20, zorder=3, label="before")
    ax.axvline(0.0, color=NEUTRAL, linewidth=0.8, zorder=0)
    hidden = len(changes) - len(shown)
    more = f"\n(without {hidden} smaller changes)" if hidden else ""
    ax.set_xlabel(f"coefficient, standardised columns{more}")
    draw_grid(ax, axis="x")
    draw_legend(ax, ax.get_legend_handles_labels()[0], 3, **ABOVE)
    return ax


def plot_accuracy(accuracy: Any, ax: Axes | None = None) -> Axes:
    """Draw the accuracies of classifiers with their standard errors.

    Parameters
    ----------
    accuracy : ClassAccuracy
        Of `edgewise.inference.class_accuracy`.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes
    """
    table = accuracy.table()
    ax, rows = axes_of_rows(ax, [tidy(name) for name in table["classifier"]], 0.3)
    ax.errorbar(
        table["accuracy"],
        rows,
        xerr=table["standard_error"],
        fmt="o",
        color=POSITIVE,
        capsize=3,
        label="accuracy, one standard error",
    )
    ax.axvline(
        accuracy.chance, color=NEUTRAL, linestyle="--", linewidth=1, label="most frequent class"
    )
    ax.set_xlabel("share of held-out rows in their class")
    draw_grid(ax, axis="x")
    draw_legend(ax, ax.get_legend_handles_labels()[0], 2, **ABOVE)
    return ax


def _group_members(groups: ArrayLike, n_nodes: int) -> dict[str, list[int]]:
    """Variables of each group, groups in the order in which they come."""
    given = np.asarray(groups, dtype=object)
    if given.shape != (n_nodes,):
        raise InputError("group_label_count", n_nodes=n_nodes, shape=given.shape)
    members: dict[str, list[int]] = {}
    for k, label in enumerate(given.tolist()):
        members.setdefault(str(label), []).append(k)
    return members


def _outline(ax: Axes, where: FloatArray, members: dict[str, list[int]]) -> None:
    """Draw an outline around each group, with its name, and make room for them."""
    corners = []
    for name, nodes in members.items():
        centre = where[nodes].mean(axis=0)
        reach = np.abs(where[nodes] - centre).max(axis=0) + _AROUND
        corners += [centre - reach, centre + reach]
        ax.add_patch(
            Ellipse(
                centre,
                *(2 * reach),
                facecolor="#F2F2F2",
                edgecolor=NEUTRAL,
                linewidth=0.8,
                zorder=0,
            )
        )
        # Below, the legend is in the way: names stand above, or at the lower left.
        is_low = centre[1] < where[:, 1].mean() - 0.1
        edge = centre + reach * np.array([-0.75, -0.75] if is_low else [0.0, 1.02])
        ax.text(
            edge[0],
            edge[1],
            tidy(name),
            ha="right" if is_low else "center",
            va="top" if is_low else "bottom",
            fontsize=9,
            color=NEUTRAL,
            **PLAIN,
        )
    _make_room(ax, np.min(corners, axis=0), np.max(corners, axis=0))


def _make_room(ax: Axes, low: FloatArray, high: FloatArray) -> None:
    """Widen the limits so that a rectangle fits, with room for names and, below, the legend."""
    room = room_of(ax)
    free = np.array([2 * _SIDE, _ABOVE + _BELOW])
    scale = float(np.min((room - free) / (high - low)))
    left = (low[0] + high[0] - room[0] / scale) / 2
    bottom = low[1] - _BELOW / scale
    ax.set_xlim(left, left + room[0] / scale)
    ax.set_ylim(bottom, bottom + room[1] / scale)
