"""The outcome of a permutation test beside what chance alone gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._style import INK, NEGATIVE, axes_or_new

if TYPE_CHECKING:
    from edgewise.inference import PermutationTest

_BARS = "#B8B8B8"
#: As in the test itself, differences smaller by no more than this share count as equal.
_TIES = 1e-12


def plot_permutation(
    test: PermutationTest, ax: Axes | None = None, *, statistic: Literal["max", "sum"] = "max"
) -> Axes:
    """Draw the difference between two graphs beside those between shuffled groups.

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
    >>> from edgewise.plot import plot_permutation
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
        raise InputError(f"statistic must be 'max' or 'sum', got {statistic!r}.")
    observed = _statistic(test.observed, statistic)
    ax = axes_or_new(ax, (6.4, 3.8))
    border = observed * (1.0 - _TIES)
    highest = _draw_bars(ax, null, border)
    _mark(ax, observed, highest)
    n_reached = int(np.count_nonzero(null >= border))
    verb = "reaches" if n_reached == 1 else "reach"
    words = f"{n_reached} of {len(null)} permutations {verb} the observed value"
    ax.set_title(f"p = {pvalue:.2g}: {words}", fontsize=10)
    ax.set_xlabel(ax_label)
    ax.set_ylabel("permutations")
    ax.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


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
            "The test must hold a finite number for each permutation; found an array of shape "
            f"{null.shape} with {np.count_nonzero(~np.isfinite(null))} entries that are not finite."
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


def _mark(ax: Axes, observed: float, highest: int) -> None:
    """Draw the observed value as a line, and name it on the side that has more room."""
    ax.axvline(observed, color=INK, linewidth=1.2)
    ax.set_ylim(0, 1.2 * highest)
    is_right = observed > sum(ax.get_xlim()) / 2
    ax.annotate(
        f"observed {observed:.3g}",
        (observed, 1.0),
        (-4 if is_right else 4, -3),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right" if is_right else "left",
        va="top",
        fontsize=9,
        color=INK,
    )
