"""Statistics of nodes, against R's qgraph, networkx and their definitions."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from edgewise import Graph, InputError
from edgewise.metrics import node_statistics

HERE = Path(__file__).parent
WEIGHTS = np.loadtxt(HERE / "qgraph_weights.csv", delimiter=",")


def test_same_as_qgraph():
    """Twelve nodes with weights of both signs, the last of them alone."""
    wanted = pd.read_csv(HERE / "qgraph_centrality.csv", skipinitialspace=True)
    found = node_statistics(WEIGHTS)
    for ours, theirs in {
        "strength": "Strength",
        "expected_influence": "ExpectedInfluence",
        "closeness": "Closeness",
        "betweenness": "Betweenness",
        "clustering": "Clustering",
    }.items():
        np.testing.assert_allclose(found[ours], wanted[theirs], atol=1e-9, err_msg=ours)


def test_same_as_networkx_along_arcs():
    rng = np.random.default_rng(0)
    W = np.where(rng.random((9, 9)) < 0.3, rng.uniform(0.2, 1.0, (9, 9)), 0.0)
    np.fill_diagonal(W, 0.0)
    graph = Graph(W, directed=True)
    found = node_statistics(graph)
    net = nx.from_numpy_array(W, create_using=nx.DiGraph)
    for _, _, edge in net.edges(data=True):
        edge["length"] = 1 / edge["weight"]
    between = nx.betweenness_centrality(net, weight="length", normalized=False)
    np.testing.assert_allclose(found["betweenness"], list(between.values()), atol=1e-9)
    np.testing.assert_allclose(found["strength"], W.sum(axis=1))
    np.testing.assert_allclose(found["in_strength"], W.sum(axis=0))
    np.testing.assert_array_equal(found["degree"], (W != 0).sum(axis=1) + (W != 0).sum(axis=0))


def test_eigenvector_is_that_of_the_sizes():
    found = node_statistics(WEIGHTS)["eigenvector"].to_numpy()
    image = np.abs(WEIGHTS) @ found
    is_joined = found > 1e-9
    np.testing.assert_allclose(image[is_joined] / found[is_joined], image.max(), rtol=1e-9)
    assert found.max() == 1
    assert found[-1] == pytest.approx(0, abs=1e-12)


def test_influence_in_two_steps_and_across_communities():
    sides = ["a"] * 6 + ["b"] * 6
    found = node_statistics(WEIGHTS, communities=sides)
    influence = WEIGHTS.sum(axis=1)
    np.testing.assert_allclose(found["expected_influence_2"], influence + WEIGHTS @ influence)
    across = np.zeros_like(WEIGHTS)
    across[:6, 6:], across[6:, :6] = WEIGHTS[:6, 6:], WEIGHTS[6:, :6]
    np.testing.assert_allclose(found["bridge_strength"], np.abs(across).sum(axis=1))
    np.testing.assert_allclose(found["bridge_expected_influence"], across.sum(axis=1))


def test_names_and_empty_graphs():
    empty = node_statistics(Graph(np.zeros((2, 2)), names=["sun", "rain"]))
    assert empty.index.tolist() == ["sun", "rain"]
    assert (empty.drop(columns="closeness") == 0).all(axis=None)
    assert empty["closeness"].isna().all()


def test_bad_input():
    with pytest.raises(InputError, match="one for each of the 12 nodes"):
        node_statistics(WEIGHTS, communities=[1, 2])
    joined = np.array([[False, True], [True, False]])
    with pytest.raises(InputError, match="weight of 0"):
        node_statistics(Graph(np.zeros((2, 2)), adjacency=joined))
