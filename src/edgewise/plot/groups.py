"""Networks of several groups: side by side, which groups differ, and edges and nodes by group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from edgewise._core.errors import InputError
from edgewise.graph import Graph
from edgewise.plot._canvas import (
    DIVERGING,
    INK,
    NEUTRAL,
    PLAIN,
    POSITIVE,
    axes_of_rows,
    axes_or_new,
    tidy,
    titled_panels,
)
from edgewise.plot.curves import draw_grid
from edgewise.plot.network import counted, note_nodes_left_out, panels_of, plot_network

if TYPE_CHECKING:
    import pandas as pd

#: Inches: the width and height of one network.
_PANEL = 4.6
#: Networks in a row, and edges or nodes in a picture.
_ACROSS, _MOST = 4, 30
#: Largest p-value at which a difference counts as found.
_LEVEL = 0.05
#: Marks of groups, which tell them apart where colours do not.
_MARKS = "osD^vP*X<>"


def plot_group_networks(networks: Mapping[Any, Graph]) -> Figure:
    """Draw the networks of groups as small multiples, with common places and widths.

    Parameters
    ----------
    networks : mapping of label to Graph
        Over the same nodes, such as ``graphs_`` of `edgewise.JointGraphs` by ``classes_``.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from edgewise import Graph
    >>> from edgewise.plot.groups import plot_group_networks
    >>> low, high = Graph([[0, 0.5], [0.5, 0]]), Graph([[0, 0.1], [0.1, 0]])
    >>> figure = plot_group_networks({"low": low, "high": high})
    >>> [ax.get_title() for ax in figure.axes]
    ['low: 1 edge', 'high: 1 edge']
    """
    graphs = list(networks.values())
    shown, where, is_drawn = panels_of(graphs)
    heaviest = max(float(np.abs(one.weights).max(initial=0.0)) for one in networks.values())
    across = min(len(networks), _ACROSS)
    if len(networks) > _ACROSS:
        across = min(math.ceil(math.sqrt(len(networks))), 6)
    figure, panels = titled_panels(len(networks), across, _PANEL)
    for ax, (label, graph), one in zip(panels, networks.items(), shown, strict=True):
        plot_network(one, ax, layout=where, maximum=heaviest or None, max_edges=None)
        title = tidy(f"{label}: {counted(one, graph, 'edge')}", 48)
        ax.set_title(title, fontsize=11, color=INK, **PLAIN)
    note_nodes_left_out(panels[0], graphs, is_drawn)
    return figure


def plot_group_pairs(pairs: pd.DataFrame, ax: Axes | None = None) -> Axes:
    """Draw which groups differ: the p-value of every pair of groups.

    Parameters
    ----------
    pairs : DataFrame
        With columns ``first``, ``second`` and ``pvalue_holm``, as `NetworkComparison.groups` is.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on. Pairs up to 5 % are dark, and the p-value stands in each. Groups are in
        the order in which pairs name them first and second.

    Examples
    --------
    >>> import pandas as pd
    >>> from edgewise.plot.groups import plot_group_pairs
    >>> pairs = pd.DataFrame({"first": ["a"], "second": ["b"], "pvalue_holm": [0.02]})
    >>> ax = plot_group_pairs(pairs)
    >>> [text.get_text() for text in ax.texts]
    ['0.02', '0.02']
    """
    labels = _in_order(pairs)
    n = len(labels)
    if n < 2:
        raise InputError("no_pairs_of_groups")
    place = {label: k for k, label in enumerate(labels)}
    values = np.full((n, n), np.nan)
    for first, second, p in zip(pairs["first"], pairs["second"], pairs["pvalue_holm"], strict=True):
        values[place[first], place[second]] = values[place[second], place[first]] = p
    side = 1.6 + 0.62 * max(n, 3)
    ax = axes_or_new(ax, (side + 0.6, side))
    # On a scale of logarithms, on which 5 % is in the middle.
    shade = np.clip(np.log(values) / np.log(_LEVEL) / 2, 0.0, 1.0)
    ax.imshow(np.where(np.isnan(shade), 0.0, 0.5 + shade / 2), cmap=DIVERGING, vmin=0, vmax=1)
    for i in range(n):
        ax.add_patch(_square(i))
        for j in range(n):
            if i != j and not np.isnan(values[i, j]):
                text = f"{values[i, j]:.2g}" if values[i, j] >= 1e-3 else f"{values[i, j]:.0e}"
                colour = "white" if shade[i, j] > 0.45 else INK
                weight = "bold" if values[i, j] <= _LEVEL else "normal"
                ax.text(j, i, text, ha="center", va="center", fontsize=8, color=colour,
                        weight=weight)  # fmt: skip
    names = [tidy(str(label), 18) for label in labels]
    ax.set_xticks(range(n), names, rotation=45, ha="right", fontsize=8, **PLAIN)
    ax.set_yticks(range(n), names, fontsize=8, **PLAIN)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    title = "p-value of each pair of groups, family-wise\n(bold: they differ)"
    ax.set_title(title, fontsize=9, color=INK)
    return ax


def _in_order(pairs: pd.DataFrame) -> list[Any]:
    """Labels in the order of the groups: those that are first of most pairs come first."""
    leads = pairs["first"].value_counts()
    labels = dict.fromkeys([*pairs["first"], *pairs["second"]])
    return sorted(labels, key=lambda label: -leads.get(label, 0))


def _square(k: int) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((k - 0.5, k - 0.5), 1, 1, facecolor="#E6E6E6", edgecolor="none")


def plot_group_edges(
    edges: pd.DataFrame, labels: Sequence[Any], ax: Axes | None = None, *, most: int = _MOST
) -> Axes:
    """Draw edges by groups as a heat map, the first edges of a table on top.

    Parameters
    ----------
    edges : DataFrame
        With columns ``source``, ``target`` and one per group, named by its label, as
        `NetworkComparison.edges` is. With ``pvalue_familywise``, edges up to 5 % are marked by a
        star.
    labels : sequence
        The groups, in the order of the columns of the picture.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    most : int
        Edges to draw at most.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from edgewise.plot.groups import plot_group_edges
    >>> table = pd.DataFrame({"source": ["x"], "target": ["y"], "low": [0.1], "high": [0.6]})
    >>> ax = plot_group_edges(table, ["low", "high"])
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['low', 'high']
    """
    shown = edges.head(most)
    values = shown[[str(label) for label in labels]].to_numpy(dtype=float)
    size = max(float(np.abs(values).max()), 1e-12) if values.size else 1.0
    names = [
        f"{tidy(str(a), 18)} -- {tidy(str(b), 18)}"
        for a, b in zip(shown["source"], shown["target"], strict=True)
    ]
    names = _starred(names, shown.get("pvalue_familywise"))
    width, height = 3.4 + 0.55 * len(labels), 1.5 + 0.22 * max(len(names), 3)
    ax = axes_or_new(ax, (width, height))
    image = ax.imshow(
        values.reshape(len(names), len(labels)),
        cmap=DIVERGING,
        vmin=-size,
        vmax=size,
        aspect="auto",
    )
    ax.set_yticks(range(len(names)), names, fontsize=8, **PLAIN)
    ticks = [tidy(str(label), 18) for label in labels]
    ax.set_xticks(range(len(labels)), ticks, rotation=45, ha="right", fontsize=8, **PLAIN)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.figure.colorbar(image, ax=ax, label="partial correlation", fraction=0.05, pad=0.03)
    if "pvalue_familywise" in shown:
        ax.set_title(f"* differs, family-wise p <= {_LEVEL:g}", fontsize=8, color=INK)
    return ax


def _starred(names: list[str], pvalues: pd.Series | None) -> list[str]:
    """Mark the names with a p-value up to the level by a star."""
    if pvalues is None:
        return names
    marks = np.where(pvalues <= _LEVEL, "* ", "")
    return [f"{mark}{name}" for mark, name in zip(marks, names, strict=True)]


def plot_group_strengths(
    nodes: pd.DataFrame, labels: Sequence[Any], ax: Axes | None = None, *, most: int = _MOST
) -> Axes:
    """Draw the strength of nodes in each group, a row per node and a mark per group.

    Parameters
    ----------
    nodes : DataFrame
        With columns ``node`` and ``strength_`` and each label, as `NetworkComparison.nodes`; with
        ``strength_pvalue_familywise``, nodes up to 5 % are marked by a star.
    labels : sequence
        The groups.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    most : int
        Nodes to draw at most: those whose strengths lie furthest apart.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import pandas as pd
    >>> from edgewise.plot.groups import plot_group_strengths
    >>> nodes = pd.DataFrame({"node": ["x"], "strength_a": [1.0], "strength_b": [0.4]})
    >>> ax = plot_group_strengths(nodes, ["a", "b"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['a', 'b']
    """
    columns = [f"strength_{label}" for label in labels]
    spread = nodes[columns].max(axis=1) - nodes[columns].min(axis=1)
    shown = nodes.loc[spread.sort_values(ascending=False, kind="stable").index[:most]]
    names = [tidy(str(name)) for name in shown["node"]]
    pvalues = shown.get("strength_pvalue_familywise")
    names = _starred(names, pvalues)
    ax, rows = axes_of_rows(ax, names, height=0.24)
    low, high = shown[columns].min(axis=1), shown[columns].max(axis=1)
    ax.hlines(rows, low, high, color=NEUTRAL, linewidth=1, alpha=0.5, zorder=1)
    colours = DIVERGING(np.linspace(0.06, 0.94, len(labels))) if len(labels) > 1 else [POSITIVE]
    for k, (label, column) in enumerate(zip(labels, columns, strict=True)):
        ax.scatter(
            shown[column],
            rows,
            s=34,
            marker=_MARKS[k % len(_MARKS)],
            color=colours[k],
            edgecolor=INK,
            linewidth=0.4,
            label=tidy(str(label), 18),
            zorder=2,
        )
    draw_grid(ax, "x")
    star = "" if pvalues is None else f"\n* differs between groups, family-wise p <= {_LEVEL:g}"
    ax.set_xlabel(f"strength: sum of absolute partial correlations{star}", fontsize=9)
    legend = ax.legend(
        frameon=False,
        fontsize=8,
        loc="lower left",
        bbox_to_anchor=(0, 1.0),
        ncols=min(len(labels), 6),
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax
