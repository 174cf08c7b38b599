"""Plots of node statistics: centrality, its stability, and differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.plot._canvas import INK, NEGATIVE, NEUTRAL, PLAIN, POSITIVE, axes_or_new, tidy
from edgewise.plot.curves import COLORS, draw_grid

if TYPE_CHECKING:
    import pandas as pd

    from edgewise.inference.bootstrap import Differences
    from edgewise.inference.stability import CaseDropping

#: Height in inches of a node, of the rest, and width of a panel of a centrality plot.
_ROW, _REST, _PANEL = 0.19, 1.0, 2.3
#: Nodes above which rows are narrower, and how narrow.
_MANY, _NARROW = 40, 0.13
#: Nodes up to which a map of communities names all.
_NAMED = 60
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X")


def plot_centrality(
    statistics: pd.DataFrame | Mapping[str, pd.DataFrame],
    columns: Sequence[str] = ("strength", "expected_influence", "closeness", "betweenness"),
    *,
    scale: Literal["z", "raw"] = "z",
    order: str | None = None,
) -> Figure:
    """Draw node statistics side by side, a panel for each.

    A node that is high in one of them need not be so in another, and none says that it causes
    anything.

    Parameters
    ----------
    statistics : DataFrame or mapping of str to DataFrame
        What `edgewise.metrics.node_statistics` returned, or several of these over the same nodes
        by the names of their groups.
    columns : sequence of str
        Statistics to draw.
    scale : {"z", "raw"}
        Standard deviations from the mean of each group, or the values themselves.
    order : str, optional
        Statistic of the first group by which the nodes are sorted; by default they keep their
        order.

    Returns
    -------
    matplotlib.figure.Figure

    Examples
    --------
    >>> from edgewise.metrics import node_statistics
    >>> from edgewise.plot import plot_centrality
    >>> chain = node_statistics([[0, 0.5, 0], [0.5, 0, -0.2], [0, -0.2, 0]])
    >>> figure = plot_centrality(chain, ["strength", "expected_influence"])
    >>> [ax.get_title() for ax in figure.axes]
    ['strength', 'expected influence']
    """
    groups = dict(statistics) if isinstance(statistics, Mapping) else {"": statistics}
    names = _check_groups(groups, [*columns, *([] if order is None else [order])])
    if scale not in ("z", "raw"):
        raise InputError("scale_choice", scale=scale)
    first = next(iter(groups.values()))
    if order is not None:
        ranked = first[order].fillna(-np.inf).sort_values(ascending=False, kind="stable")
        names = list(ranked.index)
    height = _REST + (_ROW if len(names) <= _MANY else _NARROW) * len(names)
    size = (1.6 + _PANEL * len(columns), max(height, 2.4))
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    rows = np.arange(len(names))
    for ax, column in zip(panels, columns, strict=True):
        for k, (group, table) in enumerate(groups.items()):
            values = table.loc[names, column].to_numpy(dtype=np.float64)
            color = COLORS[k % len(COLORS)]
            ax.plot(
                _standardised(values) if scale == "z" else values,
                rows,
                color=color,
                marker=_MARKERS[k % len(_MARKERS)],
                markersize=3.5 if len(names) <= _MANY else 2.5,
                linewidth=0.9,
                label=tidy(group) if group else None,
            )
        ax.set_title(column.replace("_", " "), fontsize=9)
        # Far from the bottom of a tall picture, values are read at the top.
        ax.tick_params(labelsize=8, top=len(names) > _MANY, labeltop=len(names) > _MANY)
        ax.grid(color="#E5E5E5", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
    font = 8 if len(names) <= _MANY else 6
    panels[0].set_yticks(rows, labels=[tidy(name, 22) for name in names], fontsize=font, **PLAIN)
    panels[0].set_ylim(len(names) - 0.4, -0.6)
    figure.supxlabel("standard deviations from the mean" if scale == "z" else "value", fontsize=9)
    if len(groups) > 1:
        figure.legend(
            *panels[0].get_legend_handles_labels(),
            loc="outside upper center",
            ncols=min(len(groups), 5),
            frameon=False,
            fontsize=8,
        )
    return figure


def _check_groups(groups: Mapping[str, pd.DataFrame], columns: Sequence[str]) -> list[str]:
    """Return the names of the nodes, or say which group does not have what is to be drawn."""
    if not groups or not columns:
        raise InputError("nothing_to_draw")
    names = [str(name) for name in next(iter(groups.values())).index]
    for group, table in groups.items():
        whose = f" of {group!r}" if group else ""
        if unknown := [column for column in columns if column not in table]:
            raise InputError(
                "table_without_column",
                whose=whose,
                unknown=unknown[0],
                listed=", ".join(map(str, table.columns)),
            )
        if set(table.index) != set(names):
            raise InputError("tables_nodes_differ", whose=whose)
    return names


def _standardised(values: FloatArray) -> FloatArray:
    """Measure from the mean of what is known in standard deviations; 0 where all are equal."""
    spread = float(np.nanstd(values, ddof=1)) if np.isfinite(values).sum() > 1 else 0.0
    centred = values - np.nanmean(values) if np.isfinite(values).any() else values
    return centred / spread if spread > 1e-12 else 0.0 * centred


def plot_case_dropping(dropping: CaseDropping, ax: Axes | None = None) -> Axes:
    """Draw how statistics of parts of the rows agree with those of all rows.

    Lines are means and bands hold 95 % of the parts. The legend has the CS coefficients: below
    0.25, the order of the nodes is not to be interpreted.

    Parameters
    ----------
    dropping : CaseDropping
        What `edgewise.inference.case_dropping` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from edgewise.inference.stability import CaseDropping
    >>> from edgewise.plot.nodes import plot_case_dropping
    >>> found = CaseDropping(
    ...     statistics=("strength",),
    ...     dropped=np.array([0.25, 0.5]),
    ...     correlations=np.array([[[0.99, 0.98], [0.8, 0.6]]]),
    ... )
    >>> ax = plot_case_dropping(found)
    >>> ax.get_legend().get_texts()[0].get_text()
    'strength (CS 0.25)'
    """
    ax = axes_or_new(ax, (6.0, 3.8))
    coefficients, table = dropping.coefficient(), dropping.table()
    for k, name in enumerate(dropping.statistics):
        part = table[table["statistic"] == name]
        color = COLORS[k % len(COLORS)]
        share = 100 * part["dropped"]
        ax.fill_between(share, part["lower"], part["upper"], color=color, alpha=0.15, linewidth=0)
        label = f"{tidy(name.replace('_', ' '))} (CS {coefficients[name]:.2f})"
        marker = _MARKERS[k % len(_MARKERS)]
        ax.plot(share, part["mean"], color=color, marker=marker, markersize=4, label=label)
    ax.axhline(0.7, color=NEUTRAL, linestyle=":", linewidth=1.2)
    ax.set_ylim(min(-0.02, float(table["lower"].min()) - 0.05), 1.04)
    ax.set_xlim(0, 100 * float(dropping.dropped.max()) + 3)
    ax.set_xlabel("rows dropped, %")
    ax.set_ylabel("correlation with all rows")
    ax.legend(loc="lower left", frameon=False, fontsize=8)
    draw_grid(ax)
    return ax


#: Colours of a cell: smaller than the column, no difference, larger.
_CELLS: Final = ListedColormap([NEGATIVE, "#E3E3E3", POSITIVE]).with_extremes(bad="white")


def plot_differences(
    differences: Differences,
    ax: Axes | None = None,
    *,
    level: float = 0.05,
    by: Literal["q", "p"] = "q",
    most: int = 60,
) -> Axes:
    """Draw which edges, or which nodes, differ from each other.

    Values run from large to small. A cell is blue where that of its row is larger than that of
    its column, orange where it is smaller, and grey where the resamples do not tell; the values
    stand on the diagonal, while they can be read.

    Parameters
    ----------
    differences : Differences
        What `edgewise.BootstrapGraph.difference_test` returned.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    level : float, default=0.05
        Largest q-value, or p-value, of a difference.
    by : {"q", "p"}, default="q"
        Corrected for the number of pairs, or not.
    most : int, default=60
        Number of values drawn at most, those that are largest in absolute value.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from edgewise import BootstrapGraph, GaussianGraph
    >>> from edgewise.plot.nodes import plot_differences
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:, 1] += X[:, 0]
    >>> model = BootstrapGraph(GaussianGraph(0.1), n_resamples=20, random_state=0).fit(X)
    >>> ax = plot_differences(model.difference_test("strength"))
    >>> len(ax.get_yticklabels())
    3
    """
    if most < 2:
        raise InputError("most_at_least_two", most=most)
    order = _largest(differences.estimate, most)
    m = len(order)
    inches = min(2.2 + 0.2 * m, 2.2 + 0.13 * m + 1.5)
    ax = axes_or_new(ax, (inches, inches + 0.3))
    estimate = differences.estimate[order]
    is_different = differences.is_different(level, by=by)[np.ix_(order, order)]
    cells = np.where(is_different, np.sign(estimate[:, None] - estimate), 0.0)
    np.fill_diagonal(cells, np.nan)
    ax.imshow(cells, cmap=_CELLS, vmin=-1, vmax=1, interpolation="none", aspect="auto")
    ax.set_xticks(np.arange(m + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(m + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.6)
    ax.tick_params(which="both", length=0)
    font = 8 if m <= 25 else 6.5
    labels = [tidy(differences.labels[k], 30) for k in order]
    ax.set_yticks(np.arange(m), labels=labels, fontsize=font, **PLAIN)
    ax.set_xticks(np.arange(m), labels=labels, fontsize=font, rotation=90, **PLAIN)
    if m <= 25:
        for k, value in enumerate(estimate):
            text = f"{value:.2f}".replace("0.", ".", 1)
            ax.text(k, k, text, ha="center", va="center", fontsize=5.5, color=INK)
    ax.spines[:].set_visible(False)
    left_out = len(differences.estimate) - m
    more = f" (without {left_out} smaller ones)" if left_out else ""
    ax.set_xlabel(f"{differences.of.replace('_', ' ')}{more}", fontsize=9)
    marks = {"row larger": POSITIVE, "row smaller": NEGATIVE, "not significant": "#E3E3E3"}
    ax.legend(
        handles=[Patch(color=color, label=label) for label, color in marks.items()],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=3,
        frameon=False,
        fontsize=7,
        handlelength=1.0,
        columnspacing=1.0,
    )
    return ax


def _largest(estimate: FloatArray, most: int) -> IntArray:
    """Positions of the largest values in size, from large to small."""
    kept = np.argsort(-np.abs(estimate), kind="stable")[:most]
    return np.asarray(kept[np.argsort(-estimate[kept], kind="stable")])


def plot_communities(
    memberships: ArrayLike,
    ax: Axes | None = None,
    *,
    names: Sequence[str] | None = None,
    members: ArrayLike | None = None,
) -> Axes:
    """Draw how often two nodes are in one community, as a map with the communities along it.

    A dark square is a community that most resamples have; nodes that are grey in several belong
    to none of them for sure.

    Parameters
    ----------
    memberships : array-like of shape (n_resamples, n_nodes)
        The community of each node in each resample, such as
        ``bootstrap.resampled(communities)``.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    names : sequence of str, default=None
        Names of the nodes.
    members : array-like of shape (n_nodes,), default=None
        The communities that nodes are sorted by and that are framed, such as those of all rows;
        by default those of the first resample.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from edgewise.plot import plot_communities
    >>> ax = plot_communities([[0, 0, 1], [0, 0, 1], [0, 1, 1]], names=["sad", "tired", "fit"])
    >>> ax.images[0].get_array()[0].tolist()
    [1.0, 0.6666666666666666, 0.0]
    """
    drawn = np.asarray(memberships)
    if drawn.ndim != 2 or not drawn.size:
        raise InputError("membership_shape", shape=drawn.shape)
    n_nodes = drawn.shape[1]
    labels = [f"x{k}" for k in range(n_nodes)] if names is None else [str(k) for k in names]
    group = drawn[0] if members is None else np.asarray(members)
    if len(labels) != n_nodes or group.shape != (n_nodes,):
        raise InputError(
            "membership_size", n_nodes=n_nodes, n_labels=len(labels), shape=group.shape
        )
    order = np.argsort(group, kind="stable")
    shares = community_shares(drawn)[np.ix_(order, order)]
    cell = 0.2 if n_nodes <= 25 else 0.13 if n_nodes <= _NAMED else 7.0 / n_nodes
    side = 1.8 + cell * n_nodes
    ax = axes_or_new(ax, (side + 0.6, side))
    image = ax.imshow(shares, cmap="Greys", vmin=0, vmax=1, interpolation="none")
    starts = np.flatnonzero(np.diff(group[order], prepend=group[order][0] - 1))
    for start, stop in zip(starts, [*starts[1:], n_nodes], strict=True):
        square = Rectangle((start - 0.5, start - 0.5), stop - start, stop - start)
        square.set(fill=False, edgecolor=NEGATIVE, linewidth=1.4)
        ax.add_patch(square)
    places, written = np.arange(n_nodes), [tidy(labels[k], 18) for k in order]
    if n_nodes > _NAMED:
        # So many names could not be read: one for each community.
        ends = np.append(starts[1:], n_nodes)
        large = np.flatnonzero(ends - starts > n_nodes // _NAMED)
        places = (starts[large] + ends[large] - 1) // 2
        written = [f"{written[starts[k]]} and {ends[k] - starts[k] - 1} more" for k in large]
    font = 8 if n_nodes <= 25 or n_nodes > _NAMED else 6.5
    ax.set_yticks(places, labels=written, fontsize=font, **PLAIN)
    ax.set_xticks(places, labels=written, fontsize=font, rotation=90, **PLAIN)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.5, pad=0.02)
    bar.set_label("share of resamples in one community", fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return ax


def community_shares(memberships: ArrayLike) -> FloatArray:
    """Share of the resamples that have two nodes in one community, of shape (p, p)."""
    drawn = np.asarray(memberships)
    return np.asarray(sum(np.equal.outer(row, row) for row in drawn) / len(drawn))
