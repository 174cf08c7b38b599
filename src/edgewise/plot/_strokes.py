"""The edges of a graph as lines: colour, width, fading and arrow heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.colors import to_rgba_array

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph
from edgewise.plot._drawing import Entry, line_width, weight_entries
from edgewise.plot._style import NEGATIVE, NEUTRAL, POSITIVE


@dataclass(frozen=True, kw_only=True)
class Strokes:
    """The lines to draw, one entry per line."""

    source: IntArray
    target: IntArray
    width: FloatArray
    color: FloatArray
    has_arrow: BoolArray
    is_bent: BoolArray


def strokes_of(graph: Graph, widest: float) -> Strokes:
    """Turn edges into lines; an edge there both ways with equal weight is one line."""
    both_ways = graph.adjacency & graph.adjacency.T
    is_line = both_ways & (graph.weights == graph.weights.T)
    source, target = np.nonzero(graph.adjacency & ~np.tril(is_line))
    weight = graph.weights[source, target]
    heaviest = float(np.abs(weight).max(initial=0.0)) or 1.0
    sign = np.sign(weight).astype(int) + 1
    color = to_rgba_array([NEGATIVE, NEUTRAL, POSITIVE])[sign]
    if graph.confidence is None:
        color[:, 3] = 0.85
    else:
        color[:, 3] = opacity(graph.confidence[source, target])
    # Faint edges go first, so that strong ones lie on top.
    order = np.argsort(np.abs(weight), kind="stable")
    source, target = source[order], target[order]
    return Strokes(
        source=source,
        target=target,
        width=line_width(np.abs(weight[order]) / heaviest, widest),
        color=color[order],
        has_arrow=~is_line[source, target],
        is_bent=(both_ways & ~is_line)[source, target],
    )


def opacity(confidence: FloatArray) -> FloatArray:
    """How solid an edge of that confidence is drawn."""
    return 0.12 + 0.8 * confidence


def stroke_entries(graph: Graph) -> list[Entry]:
    """List what in the drawing of edges needs a word."""
    weights = graph.weights[graph.adjacency]
    entries = weight_entries(weights)
    if graph.confidence is not None and len(weights):
        entries += [
            Entry(label=f"confidence {level:g}", opacity=float(opacity(np.array(level))))
            for level in (1.0, 0.5)
        ]
    return entries
