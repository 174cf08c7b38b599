"""Directed acyclic graphs up to Markov equivalence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, IntArray
from edgewise.graph.graph import Graph
from edgewise.graph.metrics import (
    EdgeMetrics,
    GraphLike,
    aligned,
    as_adjacency,
    edge_metrics,
    rates,
)
from edgewise.solvers.directed.equivalence import complete, direct_forced, extend
from edgewise.solvers.directed.scores import as_arcs


@dataclass(frozen=True, kw_only=True)
class PdagErrors:
    """How two partially directed graphs differ.

    Attributes
    ----------
    missing : int
        Node pairs joined in the true graph only.
    extra : int
        Node pairs joined in the learned graph only.
    misoriented : int
        Node pairs joined in both, with another or no direction in one of them.
    entries : int
        Entries in which the two 0/1 matrices differ, an edge without direction being 1 both
        ways: a reversed arc counts 2, a direction lost or invented counts 1.
    """

    missing: int
    extra: int
    misoriented: int
    entries: int

    @property
    def total(self) -> int:
        """Structural Hamming distance: node pairs that are missing, extra or misoriented."""
        return self.missing + self.extra + self.misoriented


@overload
def cpdag(dag: Graph) -> Graph: ...
@overload
def cpdag(dag: ArrayLike) -> BoolArray: ...
def cpdag(dag: GraphLike) -> Graph | BoolArray:
    """Completed partially directed graph of a directed acyclic graph.

    It keeps the direction of exactly those arcs that have the same direction in every graph
    with the same conditional independences (same skeleton, same v-structures i -> k <- j with
    i and j not joined). The other edges are present both ways.

    Parameters
    ----------
    dag : Graph or array-like of shape (n_nodes, n_nodes)
        Entry (i, j) is not zero for the arc i -> j.

    Returns
    -------
    Graph or ndarray of bool
        A directed `Graph` with weights 1 for a `Graph`, else an adjacency matrix.

    References
    ----------
    C. Meek (1995). Causal inference and causal explanation with background knowledge. UAI.
    https://doi.org/10.48550/arXiv.1302.4972

    Examples
    --------
    A chain has no compelled direction, a v-structure keeps both of its arcs:

    >>> from edgewise.metrics import cpdag
    >>> cpdag([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    >>> cpdag([[0, 1, 0], [0, 0, 0], [0, 1, 0]]).astype(int)
    array([[0, 1, 0],
           [0, 0, 0],
           [0, 1, 0]])
    """
    arcs, _ = as_adjacency(dag)
    names = dag.names if isinstance(dag, Graph) else [str(node) for node in range(len(arcs))]
    if cycle := find_cycle(arcs):
        raise InputError("cyclic_graph", cycle=[names[node] for node in cycle])
    pattern = complete_dag(arcs)
    return Graph(pattern, names=names, directed=True) if isinstance(dag, Graph) else pattern


def pdag_errors(true_dag: GraphLike, learned: GraphLike) -> PdagErrors:
    """Count the errors of a learned structure up to Markov equivalence.

    Both graphs are completed with `cpdag` and then compared; a graph that already has edges
    without a direction is compared as it is.

    Parameters
    ----------
    true_dag, learned : Graph or array-like of shape (n_nodes, n_nodes)
        Directed acyclic, or partially directed with an undirected edge present both ways. Two
        `Graph` objects are matched by name.

    Returns
    -------
    PdagErrors
        Errors by kind; ``total`` is their sum, the structural Hamming distance of the classes.

    Examples
    --------
    >>> from edgewise.metrics import pdag_errors
    >>> chain, collider = [[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> pdag_errors(chain, collider)
    PdagErrors(missing=0, extra=0, misoriented=2, entries=2)
    """
    truth, guess, _ = aligned(_completed(true_dag), _completed(learned))
    joined, guessed = truth | truth.T, guess | guess.T
    differs = truth != guess
    return PdagErrors(
        missing=_pairs(joined & ~guessed),
        extra=_pairs(guessed & ~joined),
        misoriented=_pairs(joined & guessed & (differs | differs.T)),
        entries=int(np.count_nonzero(differs)),
    )


def adjacency_metrics(true_dag: GraphLike, learned: GraphLike) -> EdgeMetrics:
    """Precision and recall of the pairs that are joined, whatever their direction.

    Parameters
    ----------
    true_dag, learned : Graph or array-like of shape (n_nodes, n_nodes)
        Directed or partially directed. Two `Graph` objects are matched by name.

    Returns
    -------
    EdgeMetrics
        Counts are of pairs of nodes.

    Examples
    --------
    >>> from edgewise.metrics import adjacency_metrics
    >>> adjacency_metrics([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 0, 0], [1, 0, 0], [0, 0, 0]])
    EdgeMetrics(precision=1.0, recall=0.5, f1=0.6666666666666666, hamming=1, tp=1, fp=0, fn=1)
    """
    truth, guess, _ = aligned(true_dag, learned)
    return edge_metrics(truth | truth.T, guess | guess.T)


def arrowhead_metrics(true_dag: GraphLike, learned: GraphLike) -> EdgeMetrics:
    """Precision and recall of the directions that are identified.

    Both graphs are completed with `cpdag`, unless they have edges without a direction already. An
    arrow i -> j counts if the edge has that direction only; lines count neither for nor against.

    Parameters
    ----------
    true_dag, learned : Graph or array-like of shape (n_nodes, n_nodes)
        Directed acyclic, or partially directed with an undirected edge present both ways. Two
        `Graph` objects are matched by name.

    Returns
    -------
    EdgeMetrics
        Counts are of arrows; a reversed one is both false and missing.

    Examples
    --------
    The chain that was learned identifies no direction, so that nothing false was said:

    >>> from edgewise.metrics import arrowhead_metrics
    >>> collider, chain = [[0, 1, 0], [0, 0, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> found = arrowhead_metrics(collider, chain)
    >>> found.precision, found.recall
    (1.0, 0.0)
    """
    truth, guess, _ = aligned(_completed(true_dag), _completed(learned))
    truth, guess = truth & ~truth.T, guess & ~guess.T
    tp = int(np.count_nonzero(truth & guess))
    return rates(tp, int(guess.sum()) - tp, int(truth.sum()) - tp)


def _completed(graph: GraphLike) -> GraphLike:
    adjacency, _ = as_adjacency(graph)
    if (adjacency & adjacency.T).any():
        return graph
    return cpdag(graph)


def _pairs(symmetric: BoolArray) -> int:
    return int(np.count_nonzero(np.triu(symmetric)))


def find_cycle(arcs: BoolArray) -> list[int]:
    """Return the nodes of one directed cycle, the first repeated at the end; [] if none."""
    remaining = np.ones(len(arcs), dtype=bool)
    n_parents = arcs.sum(axis=0)
    roots = np.flatnonzero(n_parents == 0).tolist()
    while roots:
        node = roots.pop()
        remaining[node] = False
        for child in np.flatnonzero(arcs[node]).tolist():
            n_parents[child] -= 1
            if n_parents[child] == 0:
                roots.append(child)
    if not remaining.any():
        return []
    # Every node left has a parent left, so walking up must come back to a node seen before.
    walk = [int(np.argmax(remaining))]
    while walk.count(walk[-1]) == 1:
        walk.append(int(np.argmax(arcs[:, walk[-1]] & remaining)))
    return walk[walk.index(walk[-1]) :][::-1]


def complete_dag(dag: BoolArray, allowed: BoolArray | None = None) -> BoolArray:
    """Find the arcs that a directed acyclic graph shares with its Markov equivalence class.

    Parameters
    ----------
    dag : ndarray of bool, shape (n_nodes, n_nodes)
        Arc i -> j at (i, j).
    allowed : ndarray of bool, shape (n_nodes, n_nodes), optional
        Whether there may be an arc i -> j; ``dag`` has no other. Graphs that break this are not
        in question, so that more directions are known.

    Returns
    -------
    ndarray of bool, shape (n_nodes, n_nodes)
        Shared arcs one way, the other edges both ways.
    """
    dag = np.ascontiguousarray(dag, dtype=np.bool_)
    pattern = np.empty_like(dag)
    complete(dag, as_arcs(allowed, None, len(dag)), pattern)
    return pattern


def apply_meek_rules(pdag: BoolArray) -> BoolArray:
    """Orient edges of a partially directed graph until Meek's four rules find no more.

    Parameters
    ----------
    pdag : ndarray of bool, shape (n_nodes, n_nodes)
        Arc i -> j at (i, j) only; an edge without direction both ways.

    Returns
    -------
    ndarray of bool, shape (n_nodes, n_nodes)
        The same edges, with every direction that the given ones force.
    """
    pattern = np.array(pdag, dtype=np.bool_, order="C")
    direct_forced(pattern)
    return pattern


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
    >>> from edgewise.graph.equivalence import orient_skeleton
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
    >>> from edgewise.graph.equivalence import extend_pattern
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    >>> extension = extend_pattern(chain)
    >>> extension.dag.astype(int), extension.is_consistent
    (array([[0, 0, 0],
           [1, 0, 0],
           [0, 1, 0]]), True)
    """
    pattern = np.ascontiguousarray(pattern, dtype=np.bool_)
    may_be = np.ones_like(pattern) if allowed is None else np.ascontiguousarray(allowed)
    dag = np.empty_like(pattern)
    is_consistent = bool(extend(pattern, may_be, False, dag))
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
    >>> from edgewise.graph.equivalence import longest_paths
    >>> longest_paths(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool))
    array([0, 1, 2])
    """
    tiers = np.zeros(len(dag), dtype=np.int64)
    front = dag.any(axis=0)
    while front.any():
        tiers[front] += 1
        front = dag[front].any(axis=0)
    return tiers


def _descendants(arcs: BoolArray, node: int) -> BoolArray:
    """Nodes that paths of arcs lead to from one node, itself among them."""
    reached = np.zeros(len(arcs), dtype=bool)
    reached[node] = True
    front = reached
    while front.any():
        front = arcs[front].any(axis=0) & ~reached
        reached = reached | front
    return reached
