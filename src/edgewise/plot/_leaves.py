"""What the pictures of a tree of graphs share: leaf colours, small graphs and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.plot._strokes import strokes_of
from edgewise.plot._style import INK

if TYPE_CHECKING:
    from edgewise.estimators import GraphTree

#: Colours of Okabe and Ito that carry dark text, and the marks that tell equal colours apart.
LEAF_COLORS: Final = (
    "#56B4E9",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#F0E442",
    "#D55E00",
    "#BBBBBB",
)
LEAF_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "*")
#: The same for areas.
LEAF_HATCHES: Final = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo", "---")


def leaf_color(leaf: int) -> str:
    """Colour of a leaf; those of neighbouring numbers differ."""
    return LEAF_COLORS[leaf % len(LEAF_COLORS)]


def leaf_marker(leaf: int) -> str:
    """Mark of a leaf; no two of the first 56 share colour and mark."""
    return LEAF_MARKERS[leaf // len(LEAF_COLORS) % len(LEAF_MARKERS)]


def leaf_hatch(leaf: int) -> str:
    """Hatching of the area of a leaf, which goes with its mark."""
    return LEAF_HATCHES[LEAF_MARKERS.index(leaf_marker(leaf))]


def check_tree(tree: Any) -> GraphTree:
    """Return the tree, once it is one that has been fitted."""
    if not hasattr(tree, "export_text"):
        raise InputError(f"A fitted GraphTree is needed, got {type(tree).__name__}.")
    if not hasattr(tree, "nodes_"):
        raise InputError("The tree has not been fitted yet. Call fit first.")
    fitted: GraphTree = tree
    return fitted


def draw_small_graph(
    ax: Axes, graph: Graph, center: tuple[float, float], radius: float, *, heaviest: float
) -> FloatArray:
    """Draw a graph on a circle, in the coordinates of the axes; return where the nodes are.

    ``heaviest`` is the weight that gets the widest line, the same for graphs to be compared.
    """
    angle = np.pi / 2 - 2.0 * np.pi * np.arange(graph.n_nodes) / graph.n_nodes
    places: FloatArray = np.column_stack([np.cos(angle), np.sin(angle)]) * radius + center
    share = float(np.abs(graph.weights).max(initial=0.0)) / (heaviest or 1.0)
    strokes = strokes_of(graph, 0.3 + 4.0 * radius * share)
    ends = np.column_stack([strokes.source, strokes.target])
    ax.add_collection(
        LineCollection(
            list(places[ends]), colors=strokes.color, linewidths=strokes.width, zorder=2
        ),
        autolim=False,
    )
    size = float(np.clip(60.0 * radius / graph.n_nodes, 1.5, 5.0))
    ax.scatter(places[:, 0], places[:, 1], s=size**2, color=INK, linewidths=0, zorder=3)
    return places
