"""What a graph says of its own proof: which pairs are those of an optimum, in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgewise._core.messages import Note
from edgewise.graph.graph import Graph


def describe_decided(graph: Graph, *, is_change: bool = False) -> Note | None:
    """Say that all pairs are proven, or name those that are not; None of a graph without proof.

    Parameters
    ----------
    graph : Graph
        Undirected.
    is_change : bool
        Whether its edges are changes.

    Examples
    --------
    >>> graph = Graph([[0, 0.5], [0.5, 0]], decided=[[True, True], [True, True]])
    >>> print(describe_decided(graph))
    The 1 edge is proven to be that of the optimum.
    """
    if graph.decided is None:
        return None
    n_pairs = graph.n_nodes * (graph.n_nodes - 1) // 2
    n_edges = graph.n_edges
    values: dict[str, Any] = {"n_pairs": n_pairs, "is_change": is_change}
    first, second = np.nonzero(np.triu(~graph.decided, 1))
    if len(first) == 0:
        return Note("graph_decided", n_edges=n_edges, n_absent=n_pairs - n_edges, **values)
    names = [f"{graph.names[a]} -- {graph.names[b]}" for a, b in zip(first, second, strict=True)]
    return Note("pairs_undecided", n_open=len(names), pairs=names, **values)
