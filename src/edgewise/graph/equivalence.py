"""Directed acyclic graphs up to Markov equivalence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray
from edgewise.graph.graph import Graph
from edgewise.graph.metrics import GraphLike, aligned, as_adjacency


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
    total : int
        Entries in which the two 0/1 matrices differ, an edge without direction being 1 both
        ways: a reversed arc counts 2, a direction lost or invented counts 1.
    """

    missing: int
    extra: int
    misoriented: int
    total: int


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
        shown = " -> ".join(names[node] for node in cycle)
        raise InputError(f"The graph is not acyclic: {shown}. Remove an arc of that cycle.")
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
        Errors by kind, and the number of differing matrix entries.

    Examples
    --------
    >>> from edgewise.metrics import pdag_errors
    >>> chain, collider = [[0, 1, 0], [0, 0, 1], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> pdag_errors(chain, collider)
    PdagErrors(missing=0, extra=0, misoriented=2, total=2)
    """
    truth, guess, _ = aligned(_completed(true_dag), _completed(learned))
    joined, guessed = truth | truth.T, guess | guess.T
    differs = truth != guess
    return PdagErrors(
        missing=_pairs(joined & ~guessed),
        extra=_pairs(guessed & ~joined),
        misoriented=_pairs(joined & guessed & (differs | differs.T)),
        total=int(np.count_nonzero(differs)),
    )


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
    """Find the arcs that a directed acyclic graph shares with every graph it cannot be told from.

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
    pattern = _v_structures(dag)
    return apply_meek_rules(pattern if allowed is None else pattern & allowed)


def _v_structures(dag: BoolArray) -> BoolArray:
    """Keep the directions of arcs that meet at an unshielded collider; the rest go both ways."""
    joined = dag | dag.T
    pattern = joined.copy()
    for node in range(len(dag)):
        parents = np.flatnonzero(dag[:, node])
        unjoined = ~joined[np.ix_(parents, parents)]
        np.fill_diagonal(unjoined, False)
        pattern[node, parents[unjoined.any(axis=1)]] = False
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
    pattern = pdag.copy()
    joined = pattern | pattern.T
    changed = True
    while changed:
        changed = False
        for tail, head in np.argwhere(pattern & pattern.T).tolist():
            if pattern[head, tail] and pattern[tail, head] and _forced(pattern, joined, tail, head):
                pattern[head, tail] = False
                changed = True
    return pattern


def _forced(pattern: BoolArray, joined: BoolArray, tail: int, head: int) -> bool:
    """Say whether tail - head must become tail -> head."""
    arcs_in_tail = pattern[:, tail] & ~pattern[tail]
    arcs_in_head = pattern[:, head] & ~pattern[head]
    arcs_out_tail = pattern[tail] & ~pattern[:, tail]
    lines_tail = pattern[tail] & pattern[:, tail]
    # Rule 1: k -> tail, k and head not joined, would make a new v-structure at tail.
    others = ~joined[head]
    others[head] = False
    if (arcs_in_tail & others).any():
        return True
    # Rule 2: tail -> k -> head would close a cycle.
    if (arcs_out_tail & arcs_in_head).any():
        return True
    # Rule 3: tail - k -> head and tail - l -> head with k and l not joined.
    if _has_unjoined_pair(joined, np.flatnonzero(lines_tail & arcs_in_head).tolist()):
        return True
    # Rule 4: tail - k -> l -> head, l joined with tail, k and head not joined.
    middle = arcs_in_head & joined[tail]
    return any(
        (pattern[start] & ~pattern[:, start] & middle).any()
        for start in np.flatnonzero(lines_tail & others)
    )


def _has_unjoined_pair(joined: BoolArray, nodes: Sequence[int]) -> bool:
    among = joined[np.ix_(nodes, nodes)]
    return int(np.count_nonzero(among)) < len(nodes) * (len(nodes) - 1)
