"""Directed graphs for other causal software: one acyclic graph, or text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgewise._core.errors import InputError
from edgewise.graph.equivalence import find_cycle

if TYPE_CHECKING:
    import networkx as nx

    from edgewise.graph.graph import Graph


def as_dag(graph: Graph) -> nx.DiGraph[str]:
    """Convert a directed acyclic graph to networkx; refuse others, which packages do not take."""
    if not graph.directed:
        raise InputError("needs_directed_graph", "graph")
    both = np.argwhere(np.triu(graph.adjacency & graph.adjacency.T))
    if len(both):
        edges = [f"{graph.names[i]} - {graph.names[j]}" for i, j in both.tolist()]
        raise InputError("takes_one_dag", edges=edges)
    if cycle := find_cycle(graph.adjacency):
        raise InputError("cyclic_graph", cycle=[graph.names[k] for k in cycle])
    import networkx as nx

    return nx.DiGraph(graph.to_networkx())


def to_dagitty(graph: Graph) -> str:
    """Write the text that dagitty reads; edges of no direction make it a ``pdag``."""
    if not graph.directed:
        raise InputError("needs_directed_graph", "graph")
    pattern = graph.adjacency
    lines = np.triu(pattern & pattern.T)
    quoted = ['"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"' for name in graph.names]
    rows = [f"{name}\n" for name in quoted]
    for ends, link in ((np.argwhere(pattern & ~pattern.T), "->"), (np.argwhere(lines), "--")):
        rows += [f"{quoted[i]} {link} {quoted[j]}\n" for i, j in ends.tolist()]
    return ("pdag" if lines.any() else "dag") + " {\n" + "".join(rows) + "}\n"
