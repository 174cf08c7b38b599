"""A graph to and from networkx, igraph and plain lists of edges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays, require_memory
from edgewise.graph.graph import Graph, check_names, edge_positions

if TYPE_CHECKING:
    import networkx as nx


class Edge(NamedTuple):
    """One edge between node positions; no ``weight`` counts as 1, no ``confidence`` stays None.

    ``signed`` is False where the weight has no sign, and text in some files.
    """

    source: int
    target: int
    weight: Any = None
    confidence: Any = None
    signed: Any = True


def edge_list(graph: Graph) -> list[Edge]:
    """List the edges in index order, with plain Python numbers."""
    rows, columns = edge_positions(graph.adjacency, directed=graph.directed)
    weights = graph.weights[rows, columns].tolist()
    confidence = (
        [None] * len(rows) if graph.confidence is None else graph.confidence[rows, columns].tolist()
    )
    signed = [True] * len(rows) if graph.signed is None else graph.signed[rows, columns].tolist()
    return [
        Edge(*edge)
        for edge in zip(rows.tolist(), columns.tolist(), weights, confidence, signed, strict=True)
    ]


def from_edge_list(names: Sequence[str], edges: Iterable[Edge], *, directed: bool) -> Graph:
    """Build a graph; an edge given twice must be given alike."""
    checked_names = check_names(names, len(names))
    if not checked_names:
        raise InputError("There are no nodes; a graph needs at least one.")
    shape = (len(checked_names), len(checked_names))
    require_memory(
        f"A graph of {len(checked_names):,} nodes",
        [Arrays(5.0, shape)],
        advice="Keep fewer nodes, such as those that have edges.",
    )
    weights, confidence = np.zeros(shape), np.full(shape, np.nan)
    adjacency, signed = np.zeros(shape, dtype=bool), np.ones(shape, dtype=bool)
    for edge in edges:
        source, target = edge.source, edge.target
        label = f"{checked_names[source]!r} to {checked_names[target]!r}"
        if source == target:
            raise InputError(
                f"Node {checked_names[source]!r} has an edge to itself. Remove that edge."
            )
        weight = _number(edge.weight, 1.0, f"weight of the edge from {label}")
        sureness = _number(edge.confidence, np.nan, f"confidence of the edge from {label}")
        # NaN stands for "not known" and must equal itself here, hence array_equal.
        if adjacency[source, target] and not np.array_equal(
            (weights[source, target], confidence[source, target]),
            (weight, sureness),
            equal_nan=True,
        ):
            raise InputError(
                f"The edge from {label} is given twice with different values. Keep one of them"
                + (", or read the graph as directed." if not directed else ".")
            )
        ways = [(source, target)] if directed else [(source, target), (target, source)]
        for way in ways:
            adjacency[way], weights[way], confidence[way] = True, weight, sureness
            signed[way] = str(edge.signed).strip().lower() != "false"
    return Graph(
        weights,
        names=checked_names,
        directed=directed,
        adjacency=adjacency,
        confidence=_complete(confidence, adjacency, checked_names),
        signed=signed,
    )


def _number(value: Any, missing: float, label: str) -> float:
    if value is None:
        return missing
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = np.nan
    if not np.isfinite(number):
        raise InputError(
            f"The {label} is {value!r}, which is not a finite number. Give every edge one."
        )
    return number


def _complete(confidence: Any, adjacency: Any, names: Sequence[str]) -> Any:
    """Return None when no edge has a confidence; refuse a graph where only some have."""
    unknown = adjacency & np.isnan(confidence)
    if np.array_equal(unknown, adjacency):
        return None
    if unknown.any():
        row, column = np.argwhere(unknown)[0]
        raise InputError(
            f"The edge from {names[row]!r} to {names[column]!r} has no confidence although others "
            "do. Give one to every edge, or to none."
        )
    return np.where(adjacency, confidence, 0.0)


def _values(data: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Weight, confidence and whether there is a sign, as attributes of an edge have them."""
    signed = data.get("signed")
    return data.get("weight"), data.get("confidence"), True if signed is None else signed


def _attributes(edge: Edge) -> dict[str, float]:
    known = {"weight": edge.weight}
    if edge.confidence is not None:
        known["confidence"] = edge.confidence
    if not edge.signed:
        known["signed"] = False
    return known


def to_networkx(graph: Graph) -> nx.Graph[str]:
    """Convert to networkx, nodes and edges in index order."""
    import networkx as nx

    converted: nx.Graph[str] = nx.DiGraph() if graph.directed else nx.Graph()
    converted.add_nodes_from(graph.names)
    converted.add_edges_from(
        (graph.names[edge.source], graph.names[edge.target], _attributes(edge))
        for edge in edge_list(graph)
    )
    return converted


def from_networkx(graph: nx.Graph[Any], names: Sequence[str] | None = None) -> Graph:
    """Convert from networkx, nodes named by ``names`` or by their text; parallel edges agree."""
    positions = {node: index for index, node in enumerate(graph.nodes)}
    edges = [
        Edge(positions[source], positions[target], *_values(data))
        for source, target, data in graph.edges(data=True)
    ]
    if names is None:
        names = [str(node) for node in positions]
    return from_edge_list(names, edges, directed=graph.is_directed())


def to_igraph(graph: Graph) -> Any:
    """Convert to igraph, vertices and edges in index order."""
    import igraph

    edges = edge_list(graph)
    converted = igraph.Graph(
        n=graph.n_nodes,
        edges=[(edge.source, edge.target) for edge in edges],
        directed=graph.directed,
        vertex_attrs={"name": list(graph.names)},
    )
    converted.es["weight"] = [edge.weight for edge in edges]
    if graph.confidence is not None:
        converted.es["confidence"] = [edge.confidence for edge in edges]
    if graph.signed is not None:
        converted.es["signed"] = [edge.signed for edge in edges]
    return converted


def from_igraph(graph: Any) -> Graph:
    """Convert from igraph; parallel edges must agree."""
    attributes = graph.vs.attributes()
    names = (
        [str(name) for name in graph.vs["name"]]
        if "name" in attributes
        else [f"x{index}" for index in range(graph.vcount())]
    )
    edges = [Edge(edge.source, edge.target, *_values(edge.attributes())) for edge in graph.es]
    return from_edge_list(names, edges, directed=graph.is_directed())
