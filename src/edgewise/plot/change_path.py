"""Regularisation path of the change of every pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator, NullLocator
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.plot._canvas import (
    INK,
    NEGATIVE,
    PLAIN,
    POSITIVE,
    axes_or_new,
    draw_legend,
    room_of,
    tidy,
)
from edgewise.plot._labels import label_sizes
from edgewise.plot.curves import draw_grid

#: Colour, width and layer of the pairs that changed and of those that did not.
_CHANGED, _UNCHANGED = (POSITIVE, 1.7, 2.0), ("#AFAFAF", 0.8, 1.5)
#: Font size of the pairs, letters of each of their two names, and points beside and above them.
_FONT, _LETTERS, _BESIDE, _APART = 7.0, 12, 8.0, 1.5
#: Pairs whose change is below this share of the largest get no name, unless they truly changed.
_SMALL = 0.25
#: Points from one tick of alpha to the next, at least.
_TICK = 38.0
#: First digits of ticks on a log scale, from many to few.
_DIGITS = ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
_DASH = " \N{EN DASH} "


def plot_change_path(
    alphas: ArrayLike,
    changes: ArrayLike,
    ax: Axes | None = None,
    *,
    changed: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    chosen: float | None = None,
    log: bool = True,
) -> Axes:
    """Draw the change of every pair against the strength of regularisation.

    Parameters
    ----------
    alphas : array-like of shape (n_alphas,)
        At least two strengths, in any order.
    changes : array-like of shape (n_alphas, d, d)
        The change of each pair at each alpha, symmetric. The diagonal is not drawn.
    ax : matplotlib.axes.Axes, default=None
        Where to draw; None makes a new figure, found at ``.figure`` of the result.
    changed : array-like of bool, shape (d, d), default=None
        Which pairs truly changed: their lines are drawn in blue over the others in grey, and the
        legend says how many of both are found at any alpha. Without it, lines are blue and orange
        by their sign at the smallest alpha.
    names : sequence of str, default=None
        Of the d variables: pairs are named where the lines begin, those that truly changed first
        and then the largest, as far as there is room.
    chosen : float, default=None
        The alpha to mark.
    log : bool, default=True
        Whether alpha has a logarithmic scale.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.plot.change_path import plot_change_path
    >>> changes = np.zeros((2, 3, 3))
    >>> changes[0, 0, 1] = changes[0, 1, 0] = 0.4
    >>> ax = plot_change_path([0.1, 1.0], changes, changed=changes[0] != 0, names=["a", "b", "c"])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['changed (1 of 1)', 'not changed (0 of 2)']
    >>> ax.texts[0].get_text()
    'a – b'
    """
    strengths, values, pairs = _lines(alphas, changes, log=log)
    is_true = None if changed is None else _truth(changed, np.shape(changes)[1])[tuple(pairs.T)]
    if names is not None and len(names) != np.shape(changes)[1]:
        raise InputError("path_name_count", shape=np.shape(changes)[1], n_names=len(names))
    is_drawn: BoolArray = (values != 0).any(axis=0)
    ax = axes_or_new(ax)
    ax.axhline(0, color=INK, linewidth=0.6)
    if is_true is None:
        color = np.where(values[0] < 0, NEGATIVE, POSITIVE)
        _draw_lines(ax, strengths, values[:, is_drawn], color[is_drawn].tolist(), 0.9, 1.5)
        handles = []
    else:
        handles = _draw_truth(ax, strengths, values, is_true, is_drawn)
    ax.autoscale_view()
    if log:
        ax.set_xscale("log")
    written = []
    if names is not None:
        order = _order(values[0], is_drawn, is_true)
        texts = [_DASH.join(tidy(names[end], _LETTERS) for end in pair) for pair in pairs[order]]
        written = _fitting(ax, values[0][order], texts)
    _set_limits(ax, strengths, [text for _, text in written], log=log)
    for height, text in written:
        _write(ax, (strengths[0], height), text)
    if chosen is not None:
        line = ax.axvline(chosen, color=INK, linestyle="--", linewidth=1)
        line.set_label(f"chosen {chosen:.3g}")
        handles.append(line)
    if handles:
        _draw_legend(ax, handles)
    ax.set_xlabel("alpha")
    ax.set_ylabel("change")
    draw_grid(ax)
    return ax


def _lines(
    alphas: ArrayLike, changes: ArrayLike, *, log: bool
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return rising alphas, the value of each pair at each of them, and the pairs."""
    strengths = np.asarray(alphas, dtype=np.float64)
    matrices = np.asarray(changes, dtype=np.float64)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or matrices.shape[1] < 2:
        raise InputError("path_matrices", shape=matrices.shape)
    if strengths.shape != (len(matrices),) or len(matrices) < 2:
        raise InputError("path_alpha_count", size=strengths.size, n_matrices=len(matrices))
    if not np.isfinite(strengths).all() or not np.isfinite(matrices).all():
        raise InputError("path_not_finite")
    if log and strengths.min() <= 0:
        raise InputError("path_alphas_positive", strengths=strengths.min())
    if not np.allclose(matrices, matrices.transpose(0, 2, 1)):
        raise InputError("path_asymmetric")
    pairs = np.argwhere(np.triu(np.ones(matrices.shape[1:], dtype=bool), 1))
    order = np.argsort(strengths, kind="stable")
    return strengths[order], matrices[order][:, pairs[:, 0], pairs[:, 1]], pairs


def _truth(changed: ArrayLike, n_features: int) -> BoolArray:
    matrix = np.asarray(changed)
    if matrix.shape != (n_features, n_features) or not np.isin(matrix, (0, 1)).all():
        raise InputError("changed_shape", n_features=n_features, shape=matrix.shape)
    truth: BoolArray = matrix == 1
    if not np.array_equal(truth, truth.T):
        raise InputError("changed_asymmetric")
    return truth


def _draw_lines(
    ax: Axes,
    strengths: FloatArray,
    values: FloatArray,
    color: str | list[str],
    width: float,
    layer: float,
) -> None:
    lines = [np.column_stack([strengths, line]) for line in values.T]
    ax.add_collection(
        LineCollection(lines, colors=color, linewidths=width, alpha=0.85, zorder=layer)
    )


def _draw_truth(
    ax: Axes, strengths: FloatArray, values: FloatArray, is_true: BoolArray, is_drawn: BoolArray
) -> list[Line2D]:
    """Draw true changes over the rest; the legend says how many of each are ever found."""
    handles = []
    for label, of_kind, (color, width, layer) in (
        ("changed", is_true, _CHANGED),
        ("not changed", ~is_true, _UNCHANGED),
    ):
        shown = of_kind & is_drawn
        _draw_lines(ax, strengths, values[:, shown], color, width, layer)
        words = f"{label} ({np.count_nonzero(shown)} of {np.count_nonzero(of_kind)})"
        handles.append(Line2D([], [], color=color, linewidth=width, label=words))
    return handles


def _order(values: FloatArray, is_drawn: BoolArray, is_true: BoolArray | None) -> IntArray:
    """Pairs worth a name, the most important first."""
    size = np.abs(values)
    first = np.zeros(len(size), dtype=bool) if is_true is None else is_true
    is_worth = is_drawn & (first | (size > _SMALL * size.max()))
    order = np.lexsort((-size, ~first))
    worthy: IntArray = order[is_worth[order]]
    return worthy


def _fitting(ax: Axes, heights: FloatArray, texts: Sequence[str]) -> list[tuple[float, str]]:
    """Choose texts, the first ones first, that do not cover each other beside their lines."""
    bottom, top = ax.get_ylim()
    apart = (1.2 * _FONT + _APART) / room_of(ax)[1] * (top - bottom)
    chosen: list[tuple[float, str]] = []
    for height, text in zip(heights.tolist(), texts, strict=True):
        if all(abs(height - other) >= apart for other, _ in chosen):
            chosen.append((height, text))
    return chosen


def _set_limits(ax: Axes, strengths: FloatArray, texts: Sequence[str], *, log: bool) -> None:
    """Keep a margin on both sides and, on the left, room for the names of pairs."""
    width = room_of(ax)[0]
    widest = label_sizes(texts, _FONT)[:, 0].max() + _BESIDE if texts else 0.0
    share = min(float(widest / width), 0.5)
    low, high = np.log10(strengths[[0, -1]]) if log else strengths[[0, -1]]
    span = float(high - low) or 1.0
    left, right = low - span * max(share / (1 - share), 0.03), high + 0.03 * span
    # There are no lines, and so no ticks, where the names stand.
    n_ticks = int(np.clip((1 - share) * width / _TICK, 2, 8))
    if log:
        ax.set_xlim(10.0**left, 10.0**right)
        ticks = _round_numbers(strengths[0], strengths[-1], n_ticks)
        ax.xaxis.set_minor_locator(NullLocator())
    else:
        ax.set_xlim(left, right)
        found = MaxNLocator(n_ticks, steps=[1, 2, 5, 10]).tick_values(strengths[0], strengths[-1])
        ticks = found[(found >= strengths[0]) & (found <= strengths[-1])].tolist()
    ax.set_xticks(ticks, [f"{tick:.3g}" for tick in ticks])


def _round_numbers(low: float, high: float, most: int) -> list[float]:
    """Choose up to that many round numbers in a range, evenly spread on a log scale."""
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for digits in _DIGITS:
        numbers = np.outer(10.0**decades, digits).ravel()
        numbers = numbers[(numbers >= low) & (numbers <= high)]
        if len(numbers) <= most:
            return [float(number) for number in numbers]
    return [float(number) for number in numbers[:: -(-len(numbers) // most)]]


def _draw_legend(ax: Axes, handles: Sequence[Line2D]) -> None:
    """Draw the legend above all lines, where the axes are made higher for it."""
    width, height = room_of(ax)
    texts = [str(handle.get_label()) for handle in handles]
    column = label_sizes(texts, 8.0)[:, 0].max() + 36.0
    columns = int(np.clip(width // column, 1, len(handles)))
    share = min((12.0 * -(-len(handles) // columns) + 8.0) / height, 0.5)
    bottom, top = ax.get_ylim()
    ax.set_ylim(bottom, top + (top - bottom) * share / (1 - share))
    draw_legend(
        ax,
        handles,
        columns,
        loc="upper right",
        frameon=True,
        edgecolor="none",
        framealpha=1.0,
        labelspacing=0.3,
    )


def _write(ax: Axes, place: tuple[float, float], text: str) -> None:
    ax.annotate(
        text,
        place,
        (-3.0, 0.0),
        textcoords="offset points",
        ha="right",
        va="center_baseline",
        fontsize=_FONT,
        color=INK,
        **PLAIN,
    )
