"""Colours, figures and label text that all pictures share."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

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


def axes_or_new(ax: Axes | None, size: tuple[float, float], *, fill: bool = False) -> Axes:
    """Return ``ax``, or axes on a new figure of that size that no pyplot state knows of."""
    if ax is not None:
        return ax
    if fill:
        return Figure(figsize=size).add_axes((0.01, 0.01, 0.98, 0.98))
    return Figure(figsize=size, layout="constrained").add_subplot()


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
