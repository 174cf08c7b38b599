"""Axes, legends and style that the figures of all studies share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Final, Literal

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import ArrayLike

from edgewise._core.typing import FloatArray

BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
GREEN: Final = "#009E73"
GREY: Final = "#777777"
COLORS: Final = (BLUE, VERMILION, GREEN)
_STYLE: Final[dict[Any, Any]] = {
    "axes.titlesize": 10,
    "grid.color": "#E5E5E5",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
}


def standard_error(values: ArrayLike) -> float:
    """Give the standard error of a mean, 0 for a single value."""
    found = np.asarray(values, dtype=np.float64)
    return float(found.std(ddof=1) / np.sqrt(found.size)) if found.size > 1 else 0.0


def house_style() -> AbstractContextManager[None]:
    """Draw within this, so that all figures look alike."""
    return mpl.rc_context(_STYLE)


def panels(
    n_rows: int,
    n_columns: int,
    size: tuple[float, float],
    *,
    grid: Literal["x", "y", "both"] | None = "both",
    **options: Any,
) -> tuple[Figure, Any]:
    """Make a figure with an array of axes of shape (n_rows, n_columns)."""
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(n_rows, n_columns, squeeze=False, **options)
    for ax in axes.flat if grid else ():
        tidy(ax, grid)
    return figure, axes


def tidy(ax: Axes, which: Any) -> None:
    """Draw a grid below the data, and no frame above and on the right."""
    ax.grid(axis=which)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def name_outer(axes: Any, x: str, y: str) -> None:
    """Name the axes at the bottom and on the left."""
    for ax in axes[-1]:
        ax.set_xlabel(x)
    for ax in axes[:, 0]:
        ax.set_ylabel(y)


def legend_above(
    figure: Figure, ax: Axes, place: str = "right", n_columns: int | None = None
) -> None:
    """Put the legend of one of the axes above all of them."""
    handles, labels = ax.get_legend_handles_labels()
    n_columns = n_columns or len(labels)
    where: Any = f"outside upper {place}"
    figure.legend(handles, labels, loc=where, ncols=n_columns)


def points(
    ax: Axes, methods: Sequence[str], found: Mapping[str, FloatArray], shift: float, **look: Any
) -> None:
    """Draw means with their standard errors, a row per method, the first on top."""
    ax.errorbar(
        [values.mean() for values in found.values()],
        [len(methods) - 1 - methods.index(method) + shift for method in found],
        xerr=[standard_error(values) for values in found.values()],
        linestyle="none",
        **{"markersize": 5, **look},
    )


def name_rows(ax: Axes, methods: Sequence[str], label: str, **font: Any) -> None:
    """Write the names of the methods beside their rows, the first on top."""
    ax.set_yticks(range(len(methods)), labels=list(reversed(methods)), **font)
    ax.set(ylim=(-0.6, len(methods) - 0.4), xlabel=label)


def curve(ax: Axes, x: Any, values: Sequence[Any], **look: Any) -> None:
    """Draw means with their standard errors against x."""
    means = [np.mean(value) for value in values]
    ax.errorbar(x, means, yerr=[standard_error(value) for value in values], **look)


def numbered_log(ax: Axes, ticks: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic, with plain numbers at some ticks."""
    ax.set_xscale("log")
    ax.set_xticks(ticks, labels=[f"{tick:g}" for tick in ticks])
    ax.minorticks_off()


def plain_log(axis: Axis) -> None:
    """Write ticks of a logarithmic axis as plain numbers, also where it spans no whole decade."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 3.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_locator(NullLocator())


def percent(axis: Axis) -> None:
    """Write the ticks of an axis of shares in per cent."""
    axis.set_major_formatter(lambda share, _: f"{share:.0%}")
