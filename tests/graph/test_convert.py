"""Graphs to and from networkx and igraph."""

import igraph
import networkx as nx
import numpy as np

from edgewise import Graph, InputError
from tests.messages import raises


def test_from_networkx_reads_order_weights_and_direction():
    foreign = nx.DiGraph()
    foreign.add_nodes_from([3, 1, 2])
    foreign.add_edge(1, 3, weight=np.float32(0.5), confidence=0.75)
    graph = Graph.from_networkx(foreign)
    assert graph.names == ("3", "1", "2")
    assert graph.directed
    assert graph.edges().to_numpy().tolist() == [["1", "3", 0.5, 0.75]]


def test_from_networkx_refuses_ambiguity():
    with raises(InputError, code="repeated_names", names=("1",)):
        Graph.from_networkx(nx.Graph([(1, "1")]))
    parallel = nx.MultiGraph([("a", "b", {"weight": 1}), ("a", "b", {"weight": 2})])
    with raises(InputError, code="conflicting_edges"):
        Graph.from_networkx(parallel)
    with raises(InputError, code="no_nodes"):
        Graph.from_networkx(nx.Graph())


def test_to_networkx_gives_plain_numbers():
    graph = Graph([[0, 0.5], [0, 0]], directed=True, confidence=np.ones((2, 2)))
    data = graph.to_networkx().edges["x0", "x1"]
    assert data == {"weight": 0.5, "confidence": 1.0}
    assert [type(value) for value in data.values()] == [float, float]
    assert "confidence" not in Graph([[0, 1], [1, 0]]).to_networkx().edges["x0", "x1"]


def test_igraph_attributes():
    converted = Graph([[0, 0.5, 0], [0, 0, 0], [0, 0, 0]], directed=True).to_igraph()
    assert converted.is_directed()
    assert converted.vcount() == 3
    assert converted.es["weight"] == [0.5]
    assert "confidence" not in converted.es.attributes()
    assert Graph.from_igraph(igraph.Graph([(0, 2)], n=4)).names == ("x0", "x1", "x2", "x3")
