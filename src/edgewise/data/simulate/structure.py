"""Undirected graphs to simulate from, as adjacency matrices."""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias, get_args

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, RandomState

GraphKind: TypeAlias = Literal["erdos-renyi", "barabasi-albert", "hub", "chain", "ring", "grid"]
GRAPH_KINDS: Final[tuple[str, ...]] = get_args(GraphKind)
HubLinks: TypeAlias = Literal["none", "chain", "ring"]
HUB_LINKS: Final[tuple[str, ...]] = get_args(HubLinks)

#: Edges of `six_node_graph`, M1 to M6.
_SIX_NODES: Final[tuple[str, ...]] = (
    "01 12 23 34 45 05",
    "01 12 23 34 45 05 03",
    "01 02 03 14 15",
    "01 02 03 04 05",
    "45 04 14 24 34 05 15 25 35",
    "01 02 12 13 14 23 24 25",
)


def graph_structure(
    n_features: int,
    kind: GraphKind = "erdos-renyi",
    *,
    degree: float = 3.0,
    n_hubs: int | None = None,
    hub_links: HubLinks = "none",
    shape: tuple[int, ...] | None = None,
    rng: RandomState = None,
) -> BoolArray:
    """Draw an undirected graph.

    Parameters
    ----------
    n_features : int
        Number of nodes, at least 2.
    kind : {"erdos-renyi", "barabasi-albert", "hub", "chain", "ring", "grid"}
        Every pair joined independently; growth with preferential attachment; equal groups whose
        members are joined to one hub each; a path; a cycle; a lattice.
    degree : float
        Expected average degree of ``"erdos-renyi"``. In ``"barabasi-albert"`` every node that
        arrives brings ``max(1, round(degree / 2))`` edges. The other kinds do not use it.
    n_hubs : int, optional
        Number of groups of ``"hub"``; one per 20 nodes by default.
    hub_links : {"none", "chain", "ring"}
        How the hubs of ``"hub"`` are joined to each other, in the order of their groups.
    shape : tuple of int, optional
        Side lengths of ``"grid"``, in any dimension; the product is ``n_features``. By default
        the rectangle closest to a square.
    rng : int, Generator or None
        Seed; ``"hub"``, ``"chain"``, ``"ring"`` and ``"grid"`` draw nothing.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Symmetric booleans with a False diagonal.

    References
    ----------
    A.-L. Barabási and R. Albert (1999), Emergence of scaling in random networks, Science 286,
    509-512, doi:10.1126/science.286.5439.509.

    Examples
    --------
    >>> graph_structure(4, "chain").astype(int)
    array([[0, 1, 0, 0],
           [1, 0, 1, 0],
           [0, 1, 0, 1],
           [0, 0, 1, 0]])
    """
    if kind not in GRAPH_KINDS:
        raise InputError(f"Unknown kind of graph {kind!r}. Known are {', '.join(GRAPH_KINDS)}.")
    if n_features < 2:
        raise InputError(f"A graph needs at least 2 nodes, got n_features={n_features}.")
    generator = as_generator(rng)
    if kind == "erdos-renyi":
        return _erdos_renyi(n_features, degree, generator)
    if kind == "barabasi-albert":
        return _barabasi_albert(n_features, degree, generator)
    if kind == "hub":
        return _hub(n_features, n_hubs, hub_links)
    if kind == "grid":
        return _grid(n_features, shape)
    adjacency = _grid(n_features, (n_features,))
    if kind == "ring":
        adjacency[0, -1] = adjacency[-1, 0] = True
    return adjacency


def six_node_graph(number: int) -> BoolArray:
    """Give one of six graphs with six nodes, from even to uneven degrees.

    In order: a cycle; a cycle with a chord; two joined hubs with two leaves each; a star; two
    joined hubs that share four neighbours, the most irregular graph of its size; and eight edges
    with one node of degree 5. Their irregularities, the sums over edges of the difference in
    degree, are 0, 4, 8, 20, 24 and 20.

    Parameters
    ----------
    number : int
        From 1 to 6.

    Returns
    -------
    ndarray of shape (6, 6)
        Symmetric booleans with a False diagonal.

    References
    ----------
    F. Schlüter, Y. Strappa, D. H. Milone and F. Bromberg (2016), Blankets joint posterior score for
    learning Markov network structures, doi:10.48550/arXiv.1608.02315, who compare scores on six
    such graphs; those here are ours.

    Examples
    --------
    >>> six_node_graph(4).sum(axis=0)
    array([5, 1, 1, 1, 1, 1])
    """
    if number not in range(1, 7):
        raise InputError(f"The six graphs are numbered 1 to 6, got {number!r}.")
    adjacency = np.zeros((6, 6), dtype=bool)
    for edge in _SIX_NODES[number - 1].split():
        adjacency[int(edge[0]), int(edge[1])] = True
    return adjacency | adjacency.T


def _erdos_renyi(n_features: int, degree: float, generator: np.random.Generator) -> BoolArray:
    if not 0 <= degree <= n_features - 1:
        raise InputError(
            f"degree must lie between 0 and n_features - 1 = {n_features - 1}, got {degree}."
        )
    probability = degree / (n_features - 1)
    upper = np.triu(generator.random((n_features, n_features)) < probability, k=1)
    return upper | upper.T


def _barabasi_albert(n_features: int, degree: float, generator: np.random.Generator) -> BoolArray:
    n_new = max(1, round(degree / 2))
    if not degree > 0 or n_new >= n_features:
        raise InputError(
            f"degree must lie above 0 and below 2 * n_features - 2 = {2 * n_features - 2}, "
            f"got {degree}."
        )
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    # The first arrival joins all the founders; later ones choose in proportion to degree.
    adjacency[n_new, :n_new] = adjacency[:n_new, n_new] = True
    for node in range(n_new + 1, n_features):
        weight = adjacency[:node, :node].sum(axis=0)
        friends = generator.choice(node, size=n_new, replace=False, p=weight / weight.sum())
        adjacency[node, friends] = adjacency[friends, node] = True
    return adjacency


def _hub(n_features: int, n_hubs: int | None, hub_links: HubLinks) -> BoolArray:
    groups = max(1, round(n_features / 20)) if n_hubs is None else n_hubs
    if not 1 <= groups <= n_features:
        raise InputError(f"n_hubs must lie between 1 and n_features = {n_features}, got {groups}.")
    if hub_links not in HUB_LINKS:
        raise InputError(f"Unknown hub_links {hub_links!r}. Known are {', '.join(HUB_LINKS)}.")
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    hubs = []
    for members in np.array_split(np.arange(n_features), groups):
        adjacency[members[0], members[1:]] = adjacency[members[1:], members[0]] = True
        hubs.append(members[0])
    if hub_links != "none":
        adjacency[hubs[:-1], hubs[1:]] = adjacency[hubs[1:], hubs[:-1]] = True
    if hub_links == "ring" and groups > 2:
        adjacency[hubs[0], hubs[-1]] = adjacency[hubs[-1], hubs[0]] = True
    return adjacency


def _grid(n_features: int, shape: tuple[int, ...] | None) -> BoolArray:
    if shape is None:
        short = next(k for k in range(math.isqrt(n_features), 0, -1) if n_features % k == 0)
        shape = (short, n_features // short)
    if min(shape) < 1 or math.prod(shape) != n_features:
        raise InputError(f"A grid of shape {shape} does not have n_features = {n_features} nodes.")
    index = np.arange(n_features).reshape(shape)
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    for axis in range(len(shape)):
        along = np.moveaxis(index, axis, 0)
        adjacency[along[:-1].ravel(), along[1:].ravel()] = True
    return adjacency | adjacency.T
