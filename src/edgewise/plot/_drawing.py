"""Parts that the pictures with nodes and edges share: room, limits, widths and legend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from edgewise._core.typing import FloatArray
from edgewise.plot._layout import Placement
from edgewise.plot._style import INK, NEGATIVE, NEUTRAL, POSITIVE

#: Width and height of one entry of the legend, in points.
ENTRY = (80.0, 16.0)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the legend; ``share`` is its weight as a share of the heaviest."""

    label: str
    color: str = INK
    share: float | None = None
    opacity: float = 1.0
    is_dashed: bool = False


def room_of(ax: Axes) -> FloatArray:
    """Width and height of the axes in points."""
    frame = ax.get_window_extent()
    room: FloatArray = np.array([frame.width, frame.height]) * 72.0 / ax.figure.dpi
    return room


def set_limits(ax: Axes, placement: Placement, room: FloatArray) -> None:
    """Make the data coordinates of ``placement`` those of the axes."""
    far = placement.origin + room / placement.scale
    ax.set_xlim(placement.origin[0], far[0])
    ax.set_ylim(placement.origin[1], far[1])
    ax.set_aspect("equal", adjustable="box")


def line_width(share: FloatArray, widest: float) -> FloatArray:
    """Width in points of an edge whose weight is that share of the heaviest."""
    return 0.5 + (widest - 0.5) * share


def weight_entries(weights: FloatArray) -> list[Entry]:
    """Say what the colours and widths of edges with these weights mean."""
    entries = [
        Entry(color=color, label=label)
        for color, label, is_there in (
            (POSITIVE, "positive", (weights > 0).any()),
            (NEGATIVE, "negative", (weights < 0).any()),
            (NEUTRAL, "weight not known", (weights == 0).any()),
        )
        if is_there
    ]
    sizes = np.sort(np.abs(weights[weights != 0]))
    if len(sizes) and sizes[0] < 0.99 * sizes[-1]:
        shown = [sizes[-1], sizes[(len(sizes) - 1) // 2]]
        if f"{shown[0]:.2g}" == f"{shown[1]:.2g}":
            shown[1] = sizes[0]
        entries += [Entry(label=f"|weight| {size:.2g}", share=size / sizes[-1]) for size in shown]
    return entries


def draw_legend(ax: Axes, entries: list[Entry], columns: int, widest: float) -> None:
    """Write the entries below the network, in that many columns."""
    handles = [
        Line2D(
            [],
            [],
            color=entry.color,
            linewidth=float(line_width(np.array(entry.share), widest)) if entry.share else 2.0,
            alpha=entry.opacity,
            linestyle="--" if entry.is_dashed else "-",
            label=entry.label,
        )
        for entry in entries
    ]
    ax.legend(
        handles=handles,
        loc="lower center",
        ncols=columns,
        frameon=False,
        fontsize=8,
        borderaxespad=0.2,
        handlelength=1.8,
        columnspacing=1.4,
    )
