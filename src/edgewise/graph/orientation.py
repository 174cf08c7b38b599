"""From pairs that are joined, and places where arcs meet, to a directed acyclic graph."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.typing import BoolArray, IntArray
from edgewise.graph.equivalence import apply_meek_rules


class Extension(NamedTuple):
    """A directed acyclic graph for a partially directed one.

    Attributes
    ----------
    dag : ndarray of bool, shape (n_nodes, n_nodes)
        The same edges, each with a direction.
    is_consistent : bool
        Whether all directions that were given are kept, and no arcs meet at a new v-structure.
    """

    dag: BoolArray
    is_consistent: bool


def orient_skeleton(
    skeleton: BoolArray, colliders: IntArray, allowed: BoolArray | None = None
) -> BoolArray:
    """Direct edges by the places where arcs meet, and then by Meek's rules.

    Parameters
    ----------
    skeleton : ndarray of bool, shape (n_nodes, n_nodes)
        Which pairs are joined; symmetric.
    colliders : ndarray of int, shape (n_colliders, 3)
        Triples x, z, y of arcs x -> z <- y, the surest first. One that contradicts another before
        it, or would close a cycle with those, does not count.
    allowed : ndarray of bool, shape (n_nodes, n_nodes), optional
        Whether there may be an arc i -> j; what is joined may have one direction at least.

    Returns
    -------
    ndarray of bool, shape (n_nodes, n_nodes)
        Arc i -> j at (i, j) only; an edge without direction both ways.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.graph.orientation import orient_skeleton
    >>> skeleton = np.zeros((4, 4), dtype=bool)
    >>> skeleton[2, [0, 1, 3]] = skeleton[[0, 1, 3], 2] = True
    >>> orient_skeleton(skeleton, np.array([[0, 2, 1]])).astype(int)
    array([[0, 0, 1, 0],
           [0, 0, 1, 0],
           [0, 0, 0, 1],
           [0, 0, 0, 0]])
    """
    pattern = skeleton.copy() if allowed is None else skeleton & allowed
    arcs = pattern & ~pattern.T
    for x, z, y in colliders.tolist():
        if not (pattern[x, z] and pattern[y, z]):
            continue
        after = _descendants(arcs, z)
        if after[x] or after[y]:
            continue
        pattern[z, [x, y]] = False
        arcs[[x, y], z] = True
    return apply_meek_rules(pattern)


def extend_pattern(pattern: BoolArray, allowed: BoolArray | None = None) -> Extension:
    """Direct all edges of a partially directed graph without a cycle or a new v-structure.

    Nodes are taken out one after another, each a sink of what is left whose lines lead to nodes
    joined with all its other neighbours; the lines become arcs into it [1]_. Where there is no
    such node, the graph contradicts itself. Then the node with the fewest arcs out of it is taken,
    which are turned round.

    Parameters
    ----------
    pattern : ndarray of bool, shape (n_nodes, n_nodes)
        Arc i -> j at (i, j) only; an edge without direction both ways.
    allowed : ndarray of bool, shape (n_nodes, n_nodes), optional
        Whether there may be an arc i -> j. Edges with one direction allowed make no cycle.

    Returns
    -------
    Extension
        ``dag`` has the same edges and no arc that is not allowed.

    References
    ----------
    .. [1] Dor and Tarsi (1992). A simple algorithm to construct a consistent extension of a
       partially oriented graph. Technical report R-185, University of California, Los Angeles.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.graph.orientation import extend_pattern
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> extension = extend_pattern(chain)
    >>> extension.dag.astype(int), extension.is_consistent
    (array([[0, 0, 0],
           [1, 0, 0],
           [0, 1, 0]]), True)
    """
    left, joined = pattern.copy(), pattern | pattern.T
    may_be = joined if allowed is None else joined & allowed
    dag = np.zeros_like(pattern)
    is_left = np.ones(len(pattern), dtype=bool)
    n_out = (left & ~left.T).sum(axis=1)
    # A node that cannot be taken stays so until a neighbour goes.
    is_worth_trying = is_left.copy()
    is_consistent = True
    for _ in range(len(pattern)):
        node = -1
        for candidate in np.flatnonzero(is_left & is_worth_trying & (n_out == 0)).tolist():
            if _may_be_sink(left, joined, candidate):
                node = candidate
                break
            is_worth_trying[candidate] = False
        if node < 0:
            is_consistent = False
            node = _least_contradicted(joined, may_be, n_out, is_left)
        neighbors = joined[node].copy()
        dag[neighbors, node] = True
        n_out[left[:, node] & ~left[node]] -= 1
        is_worth_trying[neighbors] = True
        is_left[node] = False
        left[node] = left[:, node] = joined[node] = joined[:, node] = False
    return Extension(dag=dag, is_consistent=is_consistent)


def longest_paths(dag: BoolArray) -> IntArray:
    """Count the arcs of the longest path to each node of a directed acyclic graph.

    Parameters
    ----------
    dag : ndarray of bool, shape (n_nodes, n_nodes)
        Arc i -> j at (i, j).

    Returns
    -------
    ndarray of int, shape (n_nodes,)
        The smallest tiers, from 0, in which every arc goes up.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.graph.orientation import longest_paths
    >>> longest_paths(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool))
    array([0, 1, 2])
    """
    tiers = np.zeros(len(dag), dtype=np.int64)
    front = dag.any(axis=0)
    while front.any():
        tiers[front] += 1
        front = dag[front].any(axis=0)
    return tiers


def _may_be_sink(left: BoolArray, joined: BoolArray, node: int) -> bool:
    """Whether every line at the node leads to one that is joined with all its other neighbours."""
    lines = np.flatnonzero(left[node] & left[:, node])
    neighbors = np.flatnonzero(joined[node])
    n_joined = int(np.count_nonzero(joined[np.ix_(lines, neighbors)]))
    return n_joined == len(lines) * (len(neighbors) - 1)


def _least_contradicted(
    joined: BoolArray, may_be: BoolArray, n_out: IntArray, is_left: BoolArray
) -> int:
    """Find the node with the fewest arcs out of it among those that may be a sink."""
    is_possible = is_left & ~(joined & ~may_be.T).any(axis=1)
    return int(np.argmin(np.where(is_possible, n_out, len(n_out) + 1)))


def _descendants(arcs: BoolArray, node: int) -> BoolArray:
    """Nodes that paths of arcs lead to from one node, itself among them."""
    reached = np.zeros(len(arcs), dtype=bool)
    reached[node] = True
    front = reached
    while front.any():
        front = arcs[front].any(axis=0) & ~reached
        reached = reached | front
    return reached
