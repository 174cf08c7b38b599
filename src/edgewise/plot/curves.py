"""Curves and intervals: paths, searches, null distributions, precision and recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.graph.graph import edge_positions
from edgewise.metrics import PrecisionRecallCurve
from edgewise.plot._canvas import (
    INK,
    NEGATIVE,
    NEUTRAL,
    POSITIVE,
    axes_of_rows,
    axes_or_new,
    draw_legend,
    tidy,
)
from edgewise.selection.choose import Selection

if TYPE_CHECKING:
    from edgewise.inference.permutation import PermutationTest


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
    ax = axes_or_new(ax)
    if kind == "edges":
        counts = [graph.n_edges for graph in graphs]
        ax.plot(strengths, counts, color=POSITIVE, marker="o", markersize=3)
        ax.set_ylabel("number of edges")
        ax.set_ylim(bottom=0, top=max(*counts, 1) * 1.05)
    elif kind == "weights":
        _draw_weights(ax, strengths, graphs)
    else:
        raise InputError("kind_choice", kind=kind)
    ax.set_xscale("log")
    margin = max((strengths[-1] / strengths[0]) ** 0.05, 1.05)
    ax.set_xlim(strengths[0] / margin, strengths[-1] * margin)
    ax.set_xlabel("alpha")
    if chosen is not None:
        mark_value(ax, "chosen", chosen, linestyle="--", linewidth=1)
    draw_grid(ax)
    return ax


def _sorted_path(alphas: ArrayLike, graphs: Sequence[Graph]) -> tuple[FloatArray, list[Graph]]:
    """Return the path in order of rising alpha, after checking that it can be drawn."""
    strengths = np.asarray(alphas, dtype=np.float64)
    if strengths.shape != (len(graphs),) or not len(graphs):
        raise InputError("curve_graph_count", size=strengths.size, n_graphs=len(graphs))
    if not (strengths > 0).all():
        raise InputError("curve_alphas_positive", strengths=strengths.min())
    if any(graph.names != graphs[0].names for graph in graphs):
        raise InputError("curve_nodes_differ")
    order = np.argsort(strengths, kind="stable")
    return strengths[order], [graphs[index] for index in order]


def mark_value(ax: Axes, what: str, value: float, **look: Any) -> None:
    """Draw a line at a value, named on the side that has more room; the limits must be set."""
    ax.axvline(value, color=INK, **look)
    # Where on the axes, whatever their scale.
    is_right = ax.transLimits.transform(ax.transScale.transform((value, 1.0)))[0] > 0.5
    ax.annotate(
        f"{what} {value:.3g}",
        (value, 1.0),
        (-3 if is_right else 3, -3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if is_right else "left",
        va="top",
        fontsize=8,
        path_effects=[withStroke(linewidth=2, foreground="white")],
    )


def draw_grid(ax: Axes, axis: Literal["both", "x", "y"] = "both") -> None:
    """Draw faint lines behind the curves."""
    ax.grid(axis=axis, color="#E5E5E5", linewidth=0.6)
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


_BARS = "#B8B8B8"
#: An observed value further than this many times the range of the others is pointed to.
_FAR = 10.0
#: As in the test itself, differences smaller by no more than this share count as equal.
_TIES = 1e-12


def plot_permutation(
    test: PermutationTest, ax: Axes | None = None, *, statistic: Literal["max", "sum"] = "max"
) -> Axes:
    """Draw a difference between two graphs against its permutation distribution.

    Parameters
    ----------
    test : PermutationTest
        As `edgewise.inference.permutation_test` returns it. Any object with ``observed``, the
        graph of the differences or the statistic itself, ``null_max`` and ``pvalue`` will do, or
        ``null_sum`` and ``pvalue_sum`` for the sum.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    statistic : {"max", "sum"}, default="max"
        The largest absolute difference, or the sum of all.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from edgewise import Graph
    >>> from edgewise.plot.curves import plot_permutation
    >>> observed = Graph([[0, -0.5], [-0.5, 0]])
    >>> test = SimpleNamespace(observed=observed, null_max=[0.1, 0.2, 0.3], pvalue=0.25)
    >>> plot_permutation(test).get_title()
    'p = 0.25: 0 of 3 permutations reach the observed value'
    """
    if statistic == "max":
        null, pvalue = _checked(test.null_max), test.pvalue
        ax_label = "largest absolute difference, labels shuffled"
    elif statistic == "sum":
        null, pvalue = _checked(test.null_sum), test.pvalue_sum
        ax_label = "sum of absolute differences, labels shuffled"
    else:
        raise InputError("statistic_choice", statistic=statistic)
    observed = _statistic(test.observed, statistic)
    ax = axes_or_new(ax, (6.4, 3.8))
    border = observed * (1.0 - _TIES)
    highest = _draw_bars(ax, null, border)
    ax.set_ylim(0, 1.2 * highest)
    span = float(np.ptp(null)) or float(null.max())
    if 0 < _FAR * span < observed - null.max():
        _point_beyond(ax, null, span, observed)
    else:
        mark_value(ax, "observed", observed, linewidth=1.2)
    n_reached = int(np.count_nonzero(null >= border))
    verb = "reaches" if n_reached == 1 else "reach"
    words = f"{n_reached} of {len(null)} permutations {verb} the observed value"
    ax.set_title(f"p = {pvalue:.2g}: {words}", fontsize=10)
    ax.set_xlabel(ax_label)
    ax.set_ylabel("permutations")
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _point_beyond(ax: Axes, null: FloatArray, span: float, observed: float) -> None:
    """Point to an observed value so far off that the bars would vanish beside it."""
    ax.set_xlim(float(null.min()) - 0.1 * span, float(null.max()) + 0.8 * span)
    ax.annotate(
        f"observed {observed:.3g},\nfar to the right",
        (1.0, 0.9),
        (0.8, 0.9),
        xycoords="axes fraction",
        textcoords="axes fraction",
        ha="center",
        va="center",
        fontsize=9,
        color=INK,
        arrowprops={"arrowstyle": "->", "color": INK, "shrinkA": 4.0},
    )


def _statistic(observed: Graph | float, statistic: str) -> float:
    """Return the observed value, taken from the graph of the differences if it is one."""
    if not isinstance(observed, Graph):
        return float(observed)
    size = np.abs(observed.weights)
    if statistic == "max":
        return float(size.max())
    return float(size.sum()) / (1 if observed.directed else 2)


def _checked(values: FloatArray) -> FloatArray:
    null = np.asarray(values, dtype=np.float64)
    if null.ndim != 1 or not len(null) or not np.isfinite(null).all():
        raise InputError(
            "null_not_finite", shape=null.shape, n_missing=np.count_nonzero(~np.isfinite(null))
        )
    return null


def _draw_bars(ax: Axes, null: FloatArray, border: float) -> int:
    """Draw the histogram with a border at the observed value, and return its largest count.

    So no bar stands on both sides, and those beyond are as many as reach the observed value.
    Another border is at zero, where many shuffles end up if the estimator finds nothing in them.
    """
    span = float(np.ptp(null)) or 0.1 * max(float(null[0]), border) or 1.0
    width = span / float(np.clip(np.sqrt(len(null)), 6, 36))
    n_below = round(border / width)
    width = border / n_below if n_below else width
    # Rounding must not put a zero below zero.
    steps = np.maximum(np.floor((null - border) / width), -n_below if n_below else -np.inf)
    steps, counts = np.unique(steps, return_counts=True)
    ax.bar(
        border + width * steps,
        counts,
        width,
        align="edge",
        color=np.where(steps >= 0, NEGATIVE, _BARS),
        edgecolor="white",
    )
    return int(counts.max())


#: Seven colours of Okabe and Ito, without the yellow that fades on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
#: Curves whose names find room inside the axes.
_INSIDE = 2
#: Options of the legend in both places.
_WITHIN: Final[dict[str, Any]] = {
    "loc": "best",
    "frameon": True,
    "edgecolor": "none",
    "framealpha": 0.7,
}
_BESIDE: Final[dict[str, Any]] = {
    "loc": "center left",
    "bbox_to_anchor": (1.0, 0.5),
    "borderaxespad": 0.6,
}

Curve: TypeAlias = PrecisionRecallCurve | tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """Precision as a function of recall: ``height[k]`` up to ``end[k]``, 0 beyond the last."""

    end: FloatArray
    height: FloatArray

    @property
    def area(self) -> float:
        return float(np.diff(self.end, prepend=0.0) @ self.height)

    def at(self, recall: FloatArray) -> FloatArray:
        """Precision at each recall."""
        found: FloatArray = np.append(self.height, 0.0)[np.searchsorted(self.end, recall)]
        return found


def plot_precision_recall(
    curves: Curve | Mapping[str, Curve | Sequence[Curve]],
    ax: Axes | None = None,
    *,
    chance: float | None = None,
) -> Axes:
    """Draw precision against recall, one curve per method.

    Parameters
    ----------
    curves : curve, or mapping of str to a curve or a list of curves
        A curve is what `edgewise.metrics.precision_recall_curve` returns, or a tuple of recall
        and precision. The keys of a mapping are written in the legend with the area under each
        curve. A list holds the curves of repeated runs: their mean is drawn, in a band of one
        standard error, and a recall that a run does not reach counts there as precision 0, so
        that the area is the mean of theirs.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    chance : float, default=None
        Precision of guessing, the share of true edges among all pairs, for a dotted line.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> from edgewise.metrics import precision_recall_curve
    >>> from edgewise.plot import plot_precision_recall
    >>> curve = precision_recall_curve([[0, 1], [1, 0]], [[0, 0.7], [0.7, 0]])
    >>> ax = plot_precision_recall({"ours": curve, "theirs": [curve, curve]}, chance=0.5)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['ours (area 1.00)', 'theirs (area 1.00 ± 0.00)', 'chance (0.50)']
    """
    named = curves if isinstance(curves, Mapping) else {"": curves}
    runs = {name: _runs(name, given) for name, given in named.items()}
    if chance is not None and not 0 <= chance <= 1:
        raise InputError("chance_range", chance=chance)
    # A long legend has a place of its own, beside axes that are made here.
    is_beside = ax is None and len(runs) > _INSIDE
    ax = axes_or_new(ax, (8.6 if is_beside else 6.4, 4.2))
    entries: list[Line2D] = []
    for index, (name, steps) in enumerate(runs.items()):
        look = {
            "color": COLORS[index % len(COLORS)],
            "linestyle": ("-", "--", ":")[index // len(COLORS) % 3],
        }
        line = _draw_mean(ax, steps, look)
        if isinstance(curves, Mapping):
            line.set_label(f"{tidy(name)} (area {_area(steps)})")
            entries.append(line)
    if chance is not None:
        entries.append(ax.axhline(chance, color=NEUTRAL, linestyle=":", linewidth=1.2))
        entries[-1].set_label(f"chance ({chance:.2f})")
    if entries:
        draw_legend(ax, entries, 1, **(_BESIDE if is_beside else _WITHIN))
    ax.set_xlabel("recall")
    ax.set_ylabel("precision")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.05)
    draw_grid(ax)
    return ax


def _runs(name: str, given: Curve | Sequence[Curve]) -> list[_Steps]:
    """Turn one curve or the curves of repeated runs into steps."""
    curves = given if isinstance(given, list) else [given]
    if not curves:
        raise InputError("run_without_curves", name=name)
    return [_steps(name, curve) for curve in curves]


def _steps(name: str, curve: Curve | Sequence[Curve]) -> _Steps:
    whose = f" of {name!r}" if name else ""
    if isinstance(curve, PrecisionRecallCurve):
        recall, precision = curve.recall, curve.precision
    elif isinstance(curve, tuple) and len(curve) == 2:
        recall, precision = (np.asarray(values, dtype=np.float64) for values in curve)
    else:
        raise InputError("curve_type", whose=whose, type=type(curve).__name__)
    is_share = [((values >= 0) & (values <= 1)).all() for values in (recall, precision)]
    if recall.ndim != 1 or recall.shape != precision.shape or not all(is_share):
        raise InputError("curve_shapes", whose=whose, shape=recall.shape, shape2=precision.shape)
    # The best precision at a recall holds for the whole gain in recall that leads to it.
    end = np.unique(recall[recall > 0])
    height = np.array([precision[recall == gained].max() for gained in end])
    return _Steps(end=end, height=height)


def _draw_mean(ax: Axes, runs: Sequence[_Steps], look: dict[str, str]) -> Line2D:
    """Draw the mean of the runs, in a band of one standard error where there are several."""
    end = np.unique(np.concatenate([np.zeros(1), *(steps.end for steps in runs)]))
    heights = np.array([steps.at(end) for steps in runs])
    mean = heights.mean(axis=0)
    if len(runs) > 1:
        error = heights.std(axis=0, ddof=1) / np.sqrt(len(runs))
        band = np.maximum(mean - error, 0.0), np.minimum(mean + error, 1.0)
        ax.fill_between(end, *band, step="pre", color=look["color"], alpha=0.15, linewidth=0)
    (line,) = ax.step(end, mean, where="pre", color=look["color"], linestyle=look["linestyle"])
    return line


def _area(runs: Sequence[_Steps]) -> str:
    """Write the mean of the areas and, where there are several, its standard error."""
    areas = np.array([steps.area for steps in runs])
    if len(areas) == 1:
        return f"{areas[0]:.2f}"
    return f"{areas.mean():.2f} ± {areas.std(ddof=1) / np.sqrt(len(areas)):.2f}"


_SEARCH_SIZE: Final = (6.0, 3.6)
#: What the criterion of each rule is.
CRITERIA: Final = {
    "stepwise": "extended BIC of refitted graphs (smaller is better)",
    "ebic": "extended BIC (smaller is better)",
    "cv": "held-out score (larger is better)",
    "stars": "instability on subsamples",
}


def plot_selection(selection: Selection, ax: Axes | None = None) -> Axes:
    """Draw the criterion that chose alpha along all alphas that were tried.

    Held-out scores have a band of one standard error over the folds.

    Parameters
    ----------
    selection : Selection
        ``selection_`` of an estimator whose alpha was chosen by a rule.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GaussianGraph
    >>> from edgewise.plot.curves import plot_selection
    >>> model = GaussianGraph().fit(np.random.default_rng(0).normal(size=(50, 3)))
    >>> plot_selection(model.selection_).get_ylabel()
    'extended BIC of refitted graphs (smaller is better)'
    """
    ax = axes_or_new(ax, _SEARCH_SIZE)
    is_known = np.isfinite(selection.values)
    alphas, values = selection.alphas[is_known], selection.values[is_known]
    ax.plot(alphas, values, color=POSITIVE, marker="o", markersize=3)
    folds = selection.details
    if selection.rule == "cv" and folds.ndim == 2 and folds.shape[1] > 1:
        error = folds[is_known].std(axis=1, ddof=1) / np.sqrt(folds.shape[1])
        ax.fill_between(alphas, values - error, values + error, color=POSITIVE, alpha=0.15)
    ax.set_xscale("log")
    margin = max((selection.alphas.max() / selection.alphas.min()) ** 0.05, 1.05)
    ax.set_xlim(selection.alphas.min() / margin, selection.alphas.max() * margin)
    ax.set_xlabel("alpha")
    ax.set_ylabel(CRITERIA.get(selection.rule, selection.rule))
    mark_value(ax, "chosen", selection.alpha, linestyle="--", linewidth=1)
    draw_grid(ax)
    return ax


def plot_score_history(history: ArrayLike, ax: Axes | None = None) -> Axes:
    """Draw how the score of a structure rose, flip by flip.

    Parameters
    ----------
    history : array-like of shape (n_steps,) or (n_steps, 3)
        Scores, or ``history_`` of a `DiscreteMarkovNet`, whose first column they are.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from edgewise.plot.curves import plot_score_history
    >>> plot_score_history([-10.0, -7.0, -6.5]).get_xlabel()
    'pair flipped'
    """
    given = np.asarray(history, dtype=np.float64)
    if given.ndim not in (1, 2):
        raise InputError("history_dimensions", shape=given.shape)
    scores = given if given.ndim == 1 else given[:, 0]
    ax = axes_or_new(ax, _SEARCH_SIZE)
    ax.plot(np.arange(len(scores)), scores, color=POSITIVE, marker="o", markersize=2.5)
    ax.set_xlabel("pair flipped")
    ax.set_ylabel("score (larger is better)")
    draw_grid(ax)
    return ax


def plot_intervals(
    graph: Graph, interval: ArrayLike, ax: Axes | None = None, *, most: int = 40
) -> Axes:
    """Draw the weights of the edges with their intervals, in the order of the weights.

    Parameters
    ----------
    graph : Graph
        ``graph_`` of `edgewise.BootstrapGraph`.
    interval : array-like of shape (2, p, p)
        Lower and upper end for each pair: its ``interval_``.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    most : int, default=40
        Number of edges drawn at most, those with the largest absolute weights.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_intervals
    >>> graph = Graph([[0, 0.5], [0.5, 0]], names=["sun", "warmth"])
    >>> ax = plot_intervals(graph, np.array([graph.weights - 0.1, graph.weights + 0.2]))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['sun - warmth']
    """
    ends = np.asarray(interval, dtype=np.float64)
    if ends.shape != (2, graph.n_nodes, graph.n_nodes):
        raise InputError("interval_shape", n_nodes=graph.n_nodes, shape=ends.shape)
    if most < 1:
        raise InputError("most_range", most=most)
    source, target = edge_positions(graph.adjacency, directed=graph.directed)
    weights = graph.weights[source, target]
    largest = np.argsort(-np.abs(weights), kind="stable")[:most]
    order = largest[np.argsort(-weights[largest], kind="stable")]
    shown, (low, high) = weights[order], ends[:, source[order], target[order]]
    mark = " → " if graph.directed else " - "
    names = [tidy(name, 18) for name in graph.names]
    labels = [f"{names[source[k]]}{mark}{names[target[k]]}" for k in order]
    ax, rows = axes_of_rows(ax, labels)
    colors = [POSITIVE if weight > 0 else NEGATIVE for weight in shown]
    ax.hlines(rows, low, high, colors=colors, linewidth=2.0, alpha=0.5)
    ax.scatter(shown, rows, c=colors, s=16, zorder=3)
    left_out = len(weights) - len(order)
    more = f"\n(without {left_out} weaker edge{'s' if left_out > 1 else ''})" if left_out else ""
    ax.set_xlabel(f"weight, and its interval over the resamples{more}")
    ax.axvline(0.0, color=INK, linewidth=0.6, linestyle=":")
    return ax
