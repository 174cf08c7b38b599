"""Placement of node labels without overlap."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patheffects import withStroke
from matplotlib.textpath import TextToPath

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.plot._canvas import HANDLE, INK, LEGEND, PLAIN, Entry

#: Directions to try: beside, above and below, the corners, then the same further off.
_CORNERS = [(1, 1), (-1, 1), (1, -1), (-1, -1)]
_DIRECTIONS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), *_CORNERS, (0, 1), (0, -1), *_CORNERS])
#: At a corner a name may come closer, as only its own corner meets the node.
_DISTANCE = np.array([1.0] * 4 + [0.6] * 4 + [2.2] * 2 + [1.4] * 4)[:, None]
_HORIZONTAL: dict[int, Literal["left", "center", "right"]] = {1: "left", 0: "center", -1: "right"}
_VERTICAL: dict[int, Literal["bottom", "center", "top"]] = {1: "bottom", 0: "center", -1: "top"}
#: Space between a node and its name, and beside every name, as a share of its height.
_GAP = 0.3
_BESIDE = 0.2
#: Half the width of a thick edge, in points, which names keep away from where they can.
_CLEAR = 2.5
#: Names tried at most; more than this cannot be read on one page.
MOST_LABELS = 600
#: So many of the most important names may cover nodes: a hub is crowded by its neighbours.
_IMPORTANT = 10


@dataclass(frozen=True, kw_only=True)
class Label:
    """A name beside a node: which, on what side, and how far from its centre, in points."""

    node: int
    side: tuple[int, int]
    offset: tuple[float, float]


def label_sizes(names: Sequence[str], font_size: float) -> FloatArray:
    """Width and height of each name in points."""
    measure, font = TextToPath(), FontProperties(size=font_size)
    widths = [measure.get_text_width_height_descent(name, font, ismath=False)[0] for name in names]
    # Letters are fitted to whole pixels on screen, which takes up to a twentieth more.
    return np.column_stack([1.05 * np.array(widths), np.full(len(names), 1.2 * font_size)])


def legend_columns(entries: Sequence[Entry | Artist], width: float) -> int:
    """Return the most columns of a legend that fit into a width, at least one."""
    texts = [e.label if isinstance(e, Entry) else str(e.get_label()) for e in entries]
    wide = label_sizes(texts, LEGEND["fontsize"])[:, 0] + HANDLE if texts else np.zeros(1)
    for n_columns in range(len(wide), 1, -1):
        if sum(column.max() for column in np.array_split(wide, n_columns)) <= width:
            return n_columns
    return 1


def place_labels(
    nodes: FloatArray,
    segments: FloatArray,
    sizes: FloatArray,
    *,
    order: Sequence[int],
    radius: float,
    room: FloatArray,
    keep_all: bool,
) -> list[Label]:
    """Find a place for names beside their nodes, in the given order of importance.

    Parameters
    ----------
    nodes : ndarray of shape (n_nodes, 2)
        In points from the lower left corner of the axes, as everything here.
    segments : ndarray of shape (n_edges, 2, 2)
        Ends of the edges; names avoid them where they can.
    sizes : ndarray of shape (n_nodes, 2)
        Width and height of the names.
    order : sequence of int
        Nodes, the most important first.
    radius : float
        Of the nodes.
    room : ndarray of shape (2,)
        Width and height of the axes.
    keep_all : bool
        Whether a name without free room is kept all the same, where it covers least.
    """
    steps = np.linspace(0, 1, int(np.clip(20_000 / max(len(segments), 1), 12, 60)))[:, None]
    along = (segments[:, :1] * (1 - steps) + segments[:, 1:] * steps).reshape(-1, 2)
    tried = list(order if keep_all else order[:MOST_LABELS])
    spots = {node: _spots(node, nodes, along, sizes[node], radius, room) for node in tried}
    names = _Names(spots=spots, important=set(tried[:_IMPORTANT]))
    waiting = [node for node in tried if not names.put(node)]
    waiting = [node for node in waiting if not names.put_in_place_of_another(node)]
    if keep_all:
        for node in waiting:
            names.put_where_it_covers_least(node)
    labels = []
    for node, spot in names.chosen.items():
        (right, up), (x, y) = _DIRECTIONS[spot].tolist(), spots[node].offsets[spot].tolist()
        labels.append(Label(node=node, side=(right, up), offset=(x, y)))
    return labels


@dataclass(frozen=True, kw_only=True, eq=False)
class _Spots:
    """Where the name of one node may stand, and what it would cover; the best place first."""

    boxes: FloatArray
    offsets: FloatArray
    is_outside: BoolArray
    hidden: FloatArray
    order: list[int]


def _spots(
    node: int,
    nodes: FloatArray,
    along: FloatArray,
    size: FloatArray,
    radius: float,
    room: FloatArray,
) -> _Spots:
    width, height = size
    offsets = _DIRECTIONS * (radius + _GAP * height) * _DISTANCE
    centres = nodes[node] + offsets + _DIRECTIONS * size / 2
    half = np.array([width / 2 + _BESIDE * height, height / 2])
    # Above or below a node at the side of the page, a name moves in until it is whole.
    inward = np.clip(centres[:, 0], half[0], max(room[0] - half[0], half[0])) - centres[:, 0]
    inward[_DIRECTIONS[:, 0] != 0] = 0.0
    centres[:, 0] += inward
    offsets[:, 0] += inward
    boxes = np.hstack([centres - half, centres + half])
    hidden = _covered(boxes, np.delete(nodes, node, axis=0), radius)
    near = np.abs(along - nodes[node]).max(axis=1) < np.abs(offsets).max() + 2 * half.max()
    is_outside: BoolArray = np.any(boxes[:, :2] < 0, axis=1) | np.any(boxes[:, 2:] > room, axis=1)
    # Further off it is less plain whose name it is: only where it is covered elsewhere.
    is_far = _DISTANCE[:, 0] > 1
    return _Spots(
        boxes=boxes,
        offsets=offsets,
        is_outside=is_outside,
        hidden=hidden,
        order=np.lexsort((_covered(boxes, along[near], _CLEAR), is_far, hidden)).tolist(),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Names:
    """Names that have a place, by node, beside those that could have one."""

    spots: Mapping[int, _Spots]
    important: Collection[int]
    chosen: dict[int, int] = field(default_factory=dict)

    def _boxes(self, but: int | None = None) -> FloatArray:
        kept = [self.spots[k].boxes[spot] for k, spot in self.chosen.items() if k != but]
        return np.array(kept).reshape(-1, 4)

    def _allowed(self, node: int) -> list[int]:
        """Places on the page that cover no node; the first names may cover some."""
        spots = self.spots[node]
        is_kept = ~spots.is_outside & ((spots.hidden == 0) | (node in self.important))
        return [spot for spot in spots.order if is_kept[spot]]

    def _free(self, node: int, taken: FloatArray) -> int | None:
        touched = _touching(self.spots[node].boxes, taken)
        return next((spot for spot in self._allowed(node) if not touched[spot]), None)

    def put(self, node: int) -> bool:
        """Give a name the best place that is free, and say whether there was one."""
        spot = self._free(node, self._boxes())
        if spot is not None:
            self.chosen[node] = spot
        return spot is not None

    def put_in_place_of_another(self, node: int) -> bool:
        """Let one name that is in the way give way, if it has another place to go."""
        boxes = self._boxes()
        there = list(self.chosen)
        for spot in self._allowed(node):
            box = self.spots[node].boxes[spot : spot + 1]
            in_the_way = [k for k, taken in enumerate(boxes) if _touching(box, taken[None])[0]]
            if len(in_the_way) != 1:
                continue
            other = there[in_the_way[0]]
            elsewhere = self._free(other, np.vstack([self._boxes(but=other), box]))
            if elsewhere is not None:
                self.chosen[other], self.chosen[node] = elsewhere, spot
                return True
        return False

    def put_where_it_covers_least(self, node: int) -> None:
        """Give a name a place in any case."""
        spots = self.spots[node]
        clash = _touching(spots.boxes, self._boxes()) + 10 * spots.is_outside
        rank = np.argsort(spots.order)
        self.chosen[node] = int(np.lexsort((rank, spots.hidden, clash))[0])


def write_labels(
    ax: Axes, names: Sequence[str], data: FloatArray, labels: Sequence[Label], font_size: float
) -> None:
    """Write the placed names; a white rim keeps them readable over edges."""
    for label in labels:
        ax.annotate(
            names[label.node],
            (data[label.node, 0], data[label.node, 1]),
            label.offset,
            textcoords="offset points",
            ha=_HORIZONTAL[label.side[0]],
            va=_VERTICAL[label.side[1]],
            fontsize=font_size,
            color=INK,
            path_effects=[withStroke(linewidth=2, foreground="white")],
            annotation_clip=False,
            zorder=4,
            **PLAIN,
        )


def write_inside(ax: Axes, names: Sequence[str], data: FloatArray, font_size: float) -> None:
    """Write names into their nodes, which are light."""
    for name, (x, y) in zip(names, data.tolist(), strict=True):
        text = ax.text(x, y, name, ha="center", va="center_baseline", **PLAIN)
        text.set(fontsize=font_size, color=INK, zorder=5)


def _touching(boxes: FloatArray, taken: FloatArray) -> FloatArray:
    """How many of the ``taken`` boxes each box touches."""
    low = np.maximum(boxes[:, None, :2], taken[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], taken[None, :, 2:])
    count: FloatArray = (low < high).all(axis=2).sum(axis=1).astype(float)
    return count


def _covered(boxes: FloatArray, points: FloatArray, radius: float) -> FloatArray:
    """How many points lie in each box grown by ``radius``."""
    low, high = boxes[:, None, :2] - radius, boxes[:, None, 2:] + radius
    count: FloatArray = ((points > low) & (points < high)).all(axis=2).sum(axis=1).astype(float)
    return count
