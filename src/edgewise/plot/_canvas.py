"""Colours, axes, legends and files that all pictures share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.io.archive import atomic_path
from edgewise.plot._layout import Placement

#: Blue and vermilion of Okabe and Ito stay apart under every common colour blindness.
POSITIVE = "#0072B2"
NEGATIVE = "#D55E00"
NEUTRAL = "#767676"
INK = "#222222"

#: From negative through near white at zero to positive, with the two colours above on the way.
DIVERGING = LinearSegmentedColormap.from_list(
    "edgewise",
    [
        (0.0, "#7A3500"),
        (0.2, NEGATIVE),
        (0.5, "#F7F7F7"),
        (0.8, POSITIVE),
        (1.0, "#00395A"),
    ],
).with_extremes(bad=NEUTRAL)

#: Names are text: neither mathematics between dollars nor LaTeX may run in them.
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}

_NOT_DRAWN = "\N{REPLACEMENT CHARACTER}"


#: Width and height of a figure of curves, in inches.
SIZE = (6.4, 4.2)


def axes_or_new(ax: Axes | None, size: tuple[float, float] = SIZE, *, fill: bool = False) -> Axes:
    """Return ``ax``, or axes on a new figure of that size that no pyplot state knows of."""
    if ax is not None:
        return ax
    if fill:
        return Figure(figsize=size).add_axes((0.01, 0.01, 0.98, 0.98))
    return Figure(figsize=size, layout="constrained").add_subplot()


def axes_of_rows(
    ax: Axes | None, names: Sequence[str], height: float = 0.2
) -> tuple[Axes, IntArray]:
    """Return axes with a row for each name, the first on top, and where the rows are.

    New axes are as high as that many rows of ``height`` inches need.
    """
    n_rows = max(len(names), 3)
    ax = axes_or_new(ax, (7.0, 0.9 + height * n_rows))
    rows = np.arange(len(names))
    ax.set_yticks(rows, labels=names, fontsize=8, **PLAIN)
    ax.set_ylim(max(len(names), 1) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax, rows


#: Inches: the height of the title of a panel.
_TITLE = 0.35


def titled_panels(n: int, across: int, width: float) -> tuple[Figure, list[Axes]]:
    """Make a figure of square panels, so many inches wide, in rows with room for their titles."""
    down, high = -(-n // across), width + _TITLE
    figure = Figure(figsize=(width * across, high * down))
    corners = [(k % across / across, 1 - (k // across + 1) / down) for k in range(n)]
    size = (1 / across, width / (high * down))
    return figure, [figure.add_axes((*corner, *size)) for corner in corners]


def tidy(name: str, limit: int = 24) -> str:
    """Return ``name`` on one line, in glyphs that the font has, its middle cut where too long."""
    text = " ".join(name.split())
    drawable = _drawable(tuple(mpl.rcParams["font.family"]), _sans_serif())
    text = "".join(
        letter if letter.isprintable() and ord(letter) in drawable else _NOT_DRAWN
        for letter in text
    )
    text = re.sub(f"{_NOT_DRAWN}+", _NOT_DRAWN, text) or _NOT_DRAWN
    if len(text) <= limit:
        return text
    # Long names often share their beginning, so the end is what tells them apart.
    tail = limit // 3
    return f"{text[: limit - tail - 1]}…{text[-tail:]}"


def _sans_serif() -> tuple[str, ...]:
    return tuple(mpl.rcParams["font.sans-serif"])


@lru_cache(maxsize=8)
def _drawable(families: tuple[str, ...], generic: tuple[str, ...]) -> frozenset[int]:
    """Code points that the configured fonts can draw; ``generic`` is part of the cache key."""
    found: set[int] = set()
    for family in families:
        properties = font_manager.FontProperties(family=[family])
        path = font_manager.findfont(properties)
        found.update(font_manager.get_font(path).get_charmap())
    return frozenset(found)


#: Height of one entry of the legend, and what its handle and the gaps take of its width, in points.
ENTRY = 16.0
HANDLE = 33.0
#: How a legend looks unless a picture says otherwise.
LEGEND: dict[str, Any] = {
    "loc": "lower center",
    "frameon": False,
    "fontsize": 8,
    "borderaxespad": 0.2,
    "handlelength": 1.8,
    "columnspacing": 1.4,
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line of the legend.

    ``share`` is its weight as a share of the heaviest; with a ``radius`` it is a node instead.
    """

    label: str
    color: str = INK
    share: float | None = None
    opacity: float = 1.0
    linestyle: Any = "-"
    radius: float | None = None

    def handle(self, narrowest: float, widest: float) -> Line2D:
        """Return what stands beside the label, lines from ``narrowest`` to ``widest`` points."""
        if self.radius is not None:
            return Line2D(
                [],
                [],
                linestyle="none",
                marker="o",
                markersize=2 * self.radius,
                markerfacecolor="white",
                markeredgecolor=self.color,
                label=self.label,
            )
        width = 2.0 if self.share is None else narrowest + (widest - narrowest) * self.share
        return Line2D(
            [],
            [],
            color=self.color,
            linewidth=width,
            alpha=self.opacity,
            linestyle=self.linestyle,
            label=self.label,
        )


def check_labels(labels: str) -> None:
    """Raise unless ``labels`` says which names to write."""
    if labels not in ("auto", "all", "none"):
        raise InputError("plot_labels", labels=labels)


def network_size(n_nodes: int) -> tuple[float, float]:
    """Width and height in inches of a figure for that many nodes."""
    if n_nodes <= 30:
        return (7.0, 5.5)
    return (10.0, 7.5) if n_nodes <= 100 else (13.0, 10.0)


def network_font_size(n_nodes: int) -> float:
    """Size of the names of that many nodes."""
    return 9.0 if n_nodes <= 30 else 7.5 if n_nodes <= 100 else 6.0


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


def weight_entries(weights: FloatArray, signed: BoolArray | None = None) -> list[Entry]:
    """Say what the colours and widths of edges with these weights, signed or not, mean."""
    has_sign = np.ones(weights.shape, dtype=bool) if signed is None else signed
    entries = [
        Entry(color=color, label=label)
        for color, label, is_there in (
            (POSITIVE, "positive", (has_sign & (weights > 0)).any()),
            (NEGATIVE, "negative", (weights < 0).any()),
            (NEUTRAL, "without a sign", (~has_sign & (weights != 0)).any()),
            (NEUTRAL, "weight not known", (weights == 0).any()),
        )
        if is_there
    ]
    return entries + size_entries("weight", np.abs(weights[weights != 0]))


def size_entries(name: str, sizes: FloatArray) -> list[Entry]:
    """Say what the widths of the largest and of the median size are, where widths differ."""
    ordered = np.sort(sizes)
    if not len(ordered) or ordered[0] >= 0.99 * ordered[-1]:
        return []
    shown = [ordered[-1], ordered[(len(ordered) - 1) // 2]]
    if f"{shown[0]:.2g}" == f"{shown[1]:.2g}":
        shown[1] = ordered[0]
    return [Entry(label=f"|{name}| {size:.2g}", share=size / ordered[-1]) for size in shown]


#: Options of a legend above the axes.
ABOVE: dict[str, Any] = {"bbox_to_anchor": (0.5, 1.0)}


def draw_legend(
    place: Axes | Figure,
    entries: Sequence[Entry | Artist],
    columns: int,
    widest: float = 2.0,
    narrowest: float = 0.5,
    **options: Any,
) -> None:
    """Write the entries below the picture, or where the options say, in that many columns."""
    handles = [
        entry.handle(narrowest, widest) if isinstance(entry, Entry) else entry for entry in entries
    ]
    legend = place.legend(handles=handles, ncols=columns, **(LEGEND | options))
    for text in legend.get_texts():
        text.set(**PLAIN)


_FORMATS = ("png", "pdf", "svg")


def save_figure(figure: Figure | SubFigure, path: str | Path, *, dpi: float = 150) -> None:
    """Write a figure; what was there before stays until the new file is whole.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        What to write.
    path : str or Path
        Ends in ``.png``, ``.pdf`` or ``.svg``.
    dpi : float, default=150
        Pixels per inch of a PNG file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from edgewise import Graph
    >>> from edgewise.plot import plot_network, save_figure
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "network.png")
    ...     save_figure(plot_network(Graph([[0, 0.5], [0.5, 0]])).figure, path)
    ...     path.exists()
    True
    """
    target = Path(path)
    suffix = target.suffix.lower().lstrip(".")
    if suffix not in _FORMATS:
        raise InputError(
            "figure_suffix",
            path=path,
            suffix=target.suffix,
            listed=", ".join(f".{known}" for known in _FORMATS),
        )
    with atomic_path(target) as draft:
        figure.canvas.print_figure(draft, format=suffix, dpi=dpi)
