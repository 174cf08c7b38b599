"""Layout: edges that are drawn, and positions of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cho_factor, cho_solve

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.graph import Graph

#: Room around every component, in units of the distance between neighbouring nodes.
_MARGIN = np.array([1.2, 0.9])
#: Neighbouring nodes are never put further apart than this, in points.
_LARGEST_UNIT = 100.0
#: Points between the connected part and the isolated nodes.
_GAP = 22.0
#: Above this many nodes all distances cost more than they show.
_LARGEST_STRESS = 1500
#: An edge of a share of the largest weight should be ``share ** -_PULL`` as long as the strongest,
#: and no longer than ``_LONGEST``.
_PULL, _LONGEST = 2.0, 15.0
#: Nodes keep this share of the side of the square that each would have by itself.
_APART = 0.4
#: And this share of it from the lines of others.
_OFF = 0.1
#: A network is stretched at most so far to fill the page.
_STRETCH = 1.4
#: Edges besides those of a forest that can be told apart, for each node and at most; and edges in
#: all that have room on one page.
_FOR_A_NODE, _BESIDES, _MOST = 2, 36, 200
#: All are drawn where there are no more than so many times as many.
_NEARLY = 1.1


@dataclass(frozen=True, kw_only=True)
class Page:
    """The free rectangle of the axes and the cells of isolated nodes, in printer's points.

    Attributes
    ----------
    low, high : ndarray of shape (2,)
        Corners of the rectangle, seen from the lower left corner of the axes.
    cell : ndarray of shape (2,)
        Width and height that an isolated node and its name need.
    radius : float
        Largest radius of a node.
    """

    low: FloatArray
    high: FloatArray
    cell: FloatArray
    radius: float


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Nodes in data coordinates, and how these become points: ``(data - origin) * scale``."""

    data: FloatArray
    origin: FloatArray
    scale: float

    @property
    def points(self) -> FloatArray:
        """Nodes in points from the lower left corner of the axes."""
        return (self.data - self.origin) * self.scale


#: Up to this many nodes, all distances take less time than the import of a search tree.
FEW = 300


def place(graph: Graph, layout: str | ArrayLike, page: Page) -> Placement:
    """Place the nodes of ``graph`` on ``page``.

    Parameters
    ----------
    graph : Graph
        What to place.
    layout : {"auto", "circle"} or array-like of shape (n_nodes, 2)
        How, or the positions; those stay the data coordinates of the axes.
    page : Page
        Where.
    """
    if not isinstance(layout, str):
        return _fitted(_given(layout, graph.n_nodes), page.low, page.high)
    if layout == "circle":
        placed = _fitted(_circle(graph.n_nodes), page.low, page.high).points
    elif layout == "auto":
        placed = _packed(graph, page)
    else:
        raise InputError("unknown_plot_layout", layout=layout)
    return Placement(data=placed, origin=np.zeros(2), scale=1.0)


def spacing(coordinates: FloatArray) -> float:
    """Distance that most nodes keep from their nearest one; infinite for fewer than two."""
    if len(coordinates) < 2:
        return float("inf")
    if len(coordinates) <= FEW:
        apart = _distances(coordinates)
        np.fill_diagonal(apart, np.inf)
        nearest = apart.min(axis=1)
    else:
        from scipy.spatial import cKDTree

        nearest = np.asarray(cKDTree(coordinates).query(coordinates, k=2)[0])[:, 1]
    return float(np.quantile(nearest, 0.3))


def _distances(points: FloatArray) -> FloatArray:
    """Distances between all points of the plane; scipy's take long to import."""
    across, up = (column[:, None] - column for column in points.T)
    apart: FloatArray = np.sqrt(across * across + up * up)
    return apart


def is_joined(graph: Graph) -> BoolArray:
    """Which nodes have an edge."""
    joined: BoolArray = np.any(graph.adjacency | graph.adjacency.T, axis=0)
    return joined


def part_of(graph: Graph, kept: BoolArray) -> Graph:
    """Return the network of some of its nodes."""
    where = np.ix_(kept, kept)
    return Graph(
        graph.weights[where],
        names=[name for name, is_kept in zip(graph.names, kept, strict=True) if is_kept],
        directed=graph.directed,
        adjacency=graph.adjacency[where],
        confidence=None if graph.confidence is None else graph.confidence[where],
        signed=None if graph.signed is None else graph.signed[where],
    )


def with_edges(graph: Graph, kept: BoolArray) -> Graph:
    """Return the network with some of its edges; all nodes stay."""
    return Graph(
        np.where(kept, graph.weights, 0.0),
        names=graph.names,
        directed=graph.directed,
        adjacency=kept,
        confidence=graph.confidence,
        signed=graph.signed,
    )


def strongest(graph: Graph, most: Literal["auto"] | int | None = "auto") -> Graph:
    """Return the network with no more edges than can be told apart; all nodes stay.

    The strongest edges that join all that is joined go first: they are a forest, which has room
    on a page without crossings, and what hangs together does so in the picture too. Then come the
    strongest of the others, each of which closes a circle and crosses some.

    Parameters
    ----------
    graph : Graph
        What to draw.
    most : int or None, default="auto"
        Joined pairs that are kept; ``"auto"`` those of the forest and two more for each node, 36
        at most, but no more than 200 in all, unless all are hardly more; None keeps all.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    if not (most is None or most == "auto" or _is_count(most)):
        raise InputError("max_edges_range", most=most)
    rows, columns = np.nonzero(np.triu(graph.adjacency | graph.adjacency.T, 1))
    if most is None or not len(rows):
        return graph
    size = np.maximum(np.abs(graph.weights), np.abs(graph.weights.T))[rows, columns]
    order = np.argsort(-size, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    shape = graph.adjacency.shape
    forest = minimum_spanning_tree(csr_array((rank, (rows, columns)), shape=shape))
    in_forest = np.zeros(len(order) + 1, dtype=bool)
    in_forest[forest.data.astype(np.int64)] = True
    if most == "auto":
        n_forest, n_joined = int(in_forest.sum()), int(is_joined(graph).sum())
        most = min(_MOST, n_forest + min(_BESIDES, _FOR_A_NODE * n_joined))
        if len(rows) <= _NEARLY * most:
            return graph
    chosen = np.lexsort((rank, ~in_forest[rank]))[:most]
    kept = np.zeros(shape, dtype=bool)
    kept[rows[chosen], columns[chosen]] = True
    return with_edges(graph, graph.adjacency & (kept | kept.T))


def _is_count(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= 1


def ring_of_groups(members: Sequence[Sequence[int]], n_nodes: int) -> FloatArray:
    """Place groups of nodes on a ring, the nodes of each on a small circle.

    Neighbours on a small circle are one unit apart, and there is room between the circles for an
    outline and a name.
    """
    radii = np.array([0.5 / np.sin(np.pi / len(nodes)) if len(nodes) > 1 else 0.0
                      for nodes in members])  # fmt: skip
    widths = 2 * radii + 2.2
    angles = np.pi / 2 - 2 * np.pi * (np.cumsum(widths) - widths / 2) / widths.sum()
    ring = 0.0
    if len(members) > 1:
        # Neighbours must not overlap, along the straight line between their centres.
        turn = np.abs(np.sin((angles - np.roll(angles, -1)) / 2))
        ring = float(np.max((widths + np.roll(widths, -1)) / 2 / (2 * turn)))
    places = np.zeros((n_nodes, 2))
    for nodes, radius, angle in zip(members, radii, angles, strict=True):
        centre = ring * np.array([np.cos(angle), np.sin(angle)])
        places[list(nodes)] = centre + radius * _circle(len(nodes))
    return places


def _given(layout: ArrayLike, n_nodes: int) -> FloatArray:
    positions = np.asarray(layout, dtype=np.float64)
    if positions.shape != (n_nodes, 2) or not np.isfinite(positions).all():
        raise InputError("layout_shape", n_nodes=n_nodes, shape=positions.shape)
    return positions


def _fitted(
    data: FloatArray, low: FloatArray, high: FloatArray, largest: float = np.inf
) -> Placement:
    """Scale ``data`` alike in both directions so that it fills the rectangle, centred."""
    extent = np.ptp(data, axis=0)
    scale = float(np.min((high - low) / np.maximum(extent, 1e-12)))
    scale = min(scale, largest) if extent.any() else 1.0
    centre = (data.max(axis=0) + data.min(axis=0)) / 2
    return Placement(data=data, origin=centre - (low + high) / 2 / scale, scale=scale)


def _circle(n_nodes: int) -> FloatArray:
    angles = np.pi / 2 - 2 * np.pi * np.arange(n_nodes) / n_nodes
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _packed(graph: Graph, page: Page) -> FloatArray:
    """Pack the connected components side by side, above a grid of isolated nodes."""
    joined = is_joined(graph)
    n_alone = int(np.count_nonzero(~joined))
    placed = np.empty((graph.n_nodes, 2))
    columns = max(1, int((page.high[0] - page.low[0]) // page.cell[0]))
    n_rows = -(-n_alone // columns)
    height = n_rows * page.cell[1]
    if joined.any():
        # However many isolated nodes there are, the connected ones keep more than half.
        height = min(height, 0.45 * (page.high[1] - page.low[1]))
        floor = page.low + np.array([0.0, height + _GAP * (n_alone > 0)])
        ratio = float(np.divide(*(page.high - floor)))
        components = _components(graph, ratio)[joined]
        # What is nearly as wide as the page becomes as wide, and what is nearly as high as high.
        room = (page.high - floor) / np.maximum(np.ptp(components, axis=0), 1e-12)
        components *= np.clip(room / room.min(), 1.0, _STRETCH)
        fitted = _fitted(components, floor, page.high, largest=_LARGEST_UNIT)
        placed[joined] = fitted.points
        top = page.low[1] + height
    else:
        top = (page.low[1] + page.high[1] + height) / 2
    width = page.cell[0] * min(columns, max(n_alone, 1))
    left = (page.low[0] + page.high[0] - width) / 2 + page.radius
    index = np.arange(n_alone)
    x = left + page.cell[0] * (index % columns)
    y = top - (index // columns + 0.5) * height / max(n_rows, 1)
    placed[~joined] = np.column_stack([x, y])
    return placed


def _components(graph: Graph, ratio: float) -> FloatArray:
    """Lay out each component by itself and put them into rows, neighbours one unit apart."""
    from scipy.sparse.csgraph import connected_components

    lengths = _lengths(graph)
    _, membership = connected_components(lengths, directed=False)
    sizes = np.bincount(membership)
    parts = [np.flatnonzero(membership == k) for k in np.flatnonzero(sizes > 1)]
    placed = np.zeros((graph.n_nodes, 2))
    boxes = []
    for part in parts:
        placed[part] = _component(lengths[part][:, part])
        boxes.append(np.ptp(placed[part], axis=0) + 2 * _MARGIN)
    for part, corner in zip(parts, _shelves(np.array(boxes), ratio), strict=True):
        placed[part] += corner + _MARGIN - placed[part].min(axis=0)
    return placed


def _lengths(graph: Graph) -> Any:
    """Length that each edge should have, as a symmetric sparse matrix: strong edges are short.

    The strongest has length 1; an edge of unknown weight counts as one of median strength. The
    strongest edge of a node is never long, so that a node with weak edges alone is not far out.
    """
    from scipy.sparse import csr_array

    joined = graph.adjacency | graph.adjacency.T
    strength = np.maximum(np.abs(graph.weights), np.abs(graph.weights.T))[joined]
    known = strength[strength > 0]
    if len(known):
        strength = np.where(strength > 0, strength, np.median(known)) / known.max()
    else:
        strength = np.ones(len(strength))
    rows, columns = np.nonzero(joined)
    largest = np.zeros(graph.n_nodes)
    np.maximum.at(largest, rows, strength)
    is_first = strength >= np.minimum(largest[rows], largest[columns])
    values = np.minimum(strength**-_PULL, np.where(is_first, _LONGEST / 2, _LONGEST))
    return csr_array((values, (rows, columns)), shape=joined.shape)


def _component(lengths: Any) -> FloatArray:
    """Place connected nodes so that distances on paper are those along the edges.

    Stress majorisation from classical scaling, after which nodes that are too close are pushed
    apart. No chance is involved.

    References
    ----------
    Gansner, E. R., Koren, Y. and North, S. (2004). Graph drawing by stress majorization. *Graph
    Drawing*, LNCS 3383. https://doi.org/10.1007/978-3-540-31843-9_25
    """
    from scipy.sparse.csgraph import shortest_path

    if lengths.shape[0] > _LARGEST_STRESS:
        coordinates = _springs(lengths)
    else:
        distances = shortest_path(lengths, directed=False)
        coordinates = _least_stress(_start(distances), distances)
    coordinates -= coordinates.mean(axis=0)
    _, _, axes = np.linalg.svd(coordinates, full_matrices=False)
    # The sign of a singular vector is arbitrary; fix it so that every machine draws the same.
    axes *= np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])[:, None]
    flat = _parted(coordinates @ axes.T)
    joined = lengths.tocoo()
    is_once = joined.row < joined.col
    flat = _off_lines(flat, np.column_stack([joined.row[is_once], joined.col[is_once]]))
    flat /= max(spacing(flat), 1e-3 * float(np.ptp(flat)))
    return flat


def _start(distances: FloatArray) -> FloatArray:
    """Classical scaling of the distances, with a little noise to part equal nodes."""
    noise = np.random.default_rng(0).normal(scale=0.05, size=(len(distances), 2))
    squares = distances**2
    centred = squares - squares.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(-centred / 2)
    start: FloatArray = vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)) + noise
    return start


def _least_stress(places: FloatArray, wanted: FloatArray) -> FloatArray:
    """Lower the squared errors of all distances, relative to those wanted, step by step."""
    n_nodes = len(places)
    weight = wanted + np.eye(n_nodes)
    weight **= -2.0
    np.fill_diagonal(weight, 0.0)
    pull = weight * wanted
    # The first node stays: stress does not change when all nodes move alike.
    laplacian = np.diag(weight.sum(axis=1)) - weight
    factor = cho_factor(laplacian[1:, 1:])
    for _ in range(int(np.clip(4e7 / n_nodes**2, 20, 300))):
        ratio = pull / np.maximum(_distances(places), 1e-9)
        target = ratio.sum(axis=1)[:, None] * places - ratio @ places
        moved = places.copy()
        moved[1:] = cho_solve(factor, target[1:] - laplacian[1:, :1] * places[0])
        change = float(np.abs(moved - places).max())
        places = moved
        if change < 1e-3 * float(np.ptp(places)) / np.sqrt(n_nodes):
            break
    return places


def _springs(lengths: Any) -> FloatArray:
    """Place many nodes by springs and charges, from a circle, in time that is linear in them."""
    import igraph

    n_nodes = lengths.shape[0]
    pairs = lengths.tocoo()
    once = pairs.row < pairs.col
    network = igraph.Graph(n_nodes, list(zip(pairs.row[once], pairs.col[once], strict=True)))
    layout = network.layout_fruchterman_reingold(
        weights=(1 / pairs.data[once]).tolist(),
        seed=(np.sqrt(n_nodes) * _circle(n_nodes)).tolist(),
        niter=100,
        grid=True,
    )
    return np.array(layout.coords)


def _parted(places: FloatArray) -> FloatArray:
    """Push apart nodes that would touch, as far as their share of the area."""
    n_nodes, least = len(places), _APART * _side(places)
    for _ in range(int(np.clip(1e7 / n_nodes**2, 5, 60))):
        step = places[:, None] - places
        distance = np.linalg.norm(step, axis=2) + np.eye(n_nodes)
        short = np.maximum(least - distance, 0.0) * (1 - np.eye(n_nodes))
        if not short.any():
            break
        places = places + np.einsum("ij,ijk->ik", 0.4 * short / np.maximum(distance, 1e-9), step)
    return places


def _side(places: FloatArray) -> float:
    """Side of the square that each node would have by itself."""
    return float(np.sqrt(max(np.prod(np.ptp(places, axis=0)), 1e-12) / len(places)))


def _off_lines(places: FloatArray, pairs: IntArray) -> FloatArray:
    """Push nodes off the lines of others, which would seem to end at them."""
    least = _OFF * _side(places)
    own = (pairs[:, :, None] == np.arange(len(places))).any(axis=1)
    for _ in range(int(np.clip(4e6 / own.size, 0, 30))):
        start, end = places[pairs[:, 0]], places[pairs[:, 1]]
        step = end - start
        square = np.maximum((step**2).sum(axis=1), 1e-12)[:, None]
        share = np.einsum("eni,ei->en", places - start[:, None], step) / square
        away = places - (start[:, None] + share[:, :, None] * step[:, None])
        distance = np.linalg.norm(away, axis=2)
        is_near = (share > 0) & (share < 1) & ~own & (distance < least)
        if not is_near.any():
            break
        # A node right on a line goes to the left of it.
        aside = np.stack([-step[:, 1], step[:, 0]], axis=1)[:, None] / np.sqrt(square)[:, :, None]
        is_on = distance < 1e-9
        away = np.where(is_on[:, :, None], aside, away / np.maximum(distance, 1e-9)[:, :, None])
        short = np.where(is_near, least - distance, 0.0)
        places = places + 0.5 * np.einsum("en,eni->ni", short, away)
    return places


def _shelves(boxes: FloatArray, ratio: float) -> list[FloatArray]:
    """Put boxes into rows of a page of that width to height, the tallest first."""
    width = max(float(np.sqrt(np.prod(boxes, axis=1).sum() * ratio)), *boxes[:, 0])
    corners = [np.zeros(2)] * len(boxes)
    left, top, row_height = 0.0, 0.0, 0.0
    for index in np.argsort(-boxes[:, 1], kind="stable"):
        box_width, box_height = boxes[index]
        if left > 0 and left + box_width > width * (1 + 1e-9):
            left, top, row_height = 0.0, top - row_height, 0.0
        corners[index] = np.array([left, top - box_height])
        left += box_width
        row_height = max(row_height, box_height)
    return corners
