"""Curves of precision against recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.metrics import PrecisionRecallCurve
from edgewise.plot._style import NEUTRAL, axes_or_new, tidy
from edgewise.plot.curves import draw_grid

#: Seven colours of Okabe and Ito, without the yellow that fades on white.
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
#: Curves whose names find room inside the axes.
_INSIDE = 2

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
        and precision. The keys of a mapping are written in the legend beside the area under each
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
        raise InputError(f"chance is a share between 0 and 1, got {chance!r}.")
    # A long legend has a place of its own, beside axes that are made here.
    is_beside = ax is None and len(runs) > _INSIDE
    ax = axes_or_new(ax, (8.6 if is_beside else 6.4, 4.2))
    entries = []
    for index, (name, steps) in enumerate(runs.items()):
        look = {
            "color": _COLORS[index % len(_COLORS)],
            "linestyle": ("-", "--", ":")[index // len(_COLORS) % 3],
        }
        line = _draw_mean(ax, steps, look)
        if isinstance(curves, Mapping):
            entries.append((line, f"{tidy(name)} (area {_area(steps)})"))
    if chance is not None:
        line = ax.axhline(chance, color=NEUTRAL, linestyle=":", linewidth=1.2)
        entries.append((line, f"chance ({chance:.2f})"))
    if entries:
        _draw_legend(ax, entries, is_beside=is_beside)
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
        raise InputError(f"There is no run of {name!r}; give at least one curve.")
    return [_steps(name, curve) for curve in curves]


def _steps(name: str, curve: Curve | Sequence[Curve]) -> _Steps:
    whose = f" of {name!r}" if name else ""
    if isinstance(curve, PrecisionRecallCurve):
        recall, precision = curve.recall, curve.precision
    elif isinstance(curve, tuple) and len(curve) == 2:
        recall, precision = (np.asarray(values, dtype=np.float64) for values in curve)
    else:
        raise InputError(
            f"The curve{whose} must be a PrecisionRecallCurve or a tuple of recall and precision, "
            f"got a {type(curve).__name__}. Put the curves of repeated runs into a list."
        )
    is_share = [((values >= 0) & (values <= 1)).all() for values in (recall, precision)]
    if recall.ndim != 1 or recall.shape != precision.shape or not all(is_share):
        raise InputError(
            f"Recall and precision{whose} must be as many numbers between 0 and 1; their shapes "
            f"are {recall.shape} and {precision.shape}."
        )
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


def _draw_legend(ax: Axes, entries: Sequence[tuple[Line2D, str]], *, is_beside: bool) -> None:
    lines, texts = zip(*entries, strict=True)
    legend = ax.legend(lines, texts, fontsize=8, edgecolor="none", framealpha=0.7)
    if is_beside:
        legend.set_loc("center left")
        legend.set_bbox_to_anchor((1.0, 0.5), ax.transAxes)
    for text in legend.get_texts():
        text.set_parse_math(False)
        text.set_usetex(False)
