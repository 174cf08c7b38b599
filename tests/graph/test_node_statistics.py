"""Statistics and communities of nodes, against R's qgraph, networkx and their definitions."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from edgewise import Graph, InputError
from edgewise.metrics import communities, node_statistics
from tests.messages import raises

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
    with raises(InputError, code="community_count", n_nodes=12):
        node_statistics(WEIGHTS, communities=[1, 2])
    joined = np.array([[False, True], [True, False]])
    with raises(InputError, code="zero_weight_edge"):
        node_statistics(Graph(np.zeros((2, 2)), adjacency=joined))


def _distances(sides):
    net = nx.from_numpy_array(np.abs(WEIGHTS))
    for _, _, edge in net.edges(data=True):
        edge["length"] = 1 / edge["weight"]
    return net, [(i, j) for i in net for j in net if i < j and sides[i] != sides[j]]


def test_bridges_lie_on_shortest_paths_between_communities():
    sides = [0, 1, 2] * 4
    found = node_statistics(WEIGHTS, communities=sides)
    net, pairs = _distances(sides)
    wanted = np.zeros(12)
    for i, j in pairs:
        if nx.has_path(net, i, j):
            routes = list(nx.all_shortest_paths(net, i, j, weight="length"))
            for route in routes:
                wanted[route[1:-1]] += 1 / len(routes)
    np.testing.assert_allclose(found["bridge_betweenness"], wanted, atol=1e-9)
    members = sorted(max(nx.connected_components(net), key=len))
    inside = node_statistics(
        WEIGHTS[np.ix_(members, members)], communities=[sides[i] for i in members]
    )
    for row, i in enumerate(members):
        length = nx.single_source_dijkstra_path_length(net, i, weight="length")
        outside = [length[j] for j in members if sides[i] != sides[j]]
        assert inside["bridge_closeness"].iloc[row] == pytest.approx(1 / np.mean(outside))
    assert (found["bridge_closeness"] == 0).all(), "the last node is out of reach"


def test_ties_of_paths_share_a_bridge():
    square = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]], dtype=float)
    found = node_statistics(square, communities=["a", "b", "c", "d"])
    np.testing.assert_allclose(found["bridge_betweenness"], found["betweenness"])
    np.testing.assert_allclose(found["bridge_betweenness"], 0.5)


def test_second_step_of_bridge_influence():
    sides = np.array([0] * 6 + [1] * 6)
    found = node_statistics(WEIGHTS, communities=sides)["bridge_expected_influence_2"]
    for i in range(12):
        out = np.flatnonzero(sides != sides[i])
        second = sum(WEIGHTS[i, j] * WEIGHTS[j, k] for j in range(12) for k in out)
        wanted = WEIGHTS[i, out].sum() + second
        assert found.iloc[i] == pytest.approx(wanted)


@pytest.mark.parametrize("method", ["walktrap", "louvain", "leiden"])
def test_same_communities_as_igraph_in_r(method):
    frozen = pd.read_csv(HERE / "igraph_communities.csv")
    wanted = pd.factorize(frozen["louvain" if method == "leiden" else method])[0]
    np.testing.assert_array_equal(communities(WEIGHTS, method), wanted)


def test_options_of_communities():
    rng = np.random.default_rng(0)
    W = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.2), 1)
    W += W.T
    counts = [len(set(communities(W, "leiden", resolution=r))) for r in (0.2, 1.0, 3.0)]
    assert counts == sorted(set(counts))
    few, many = (communities(W, steps=steps) for steps in (1, 20))
    assert not np.array_equal(few, many)
    same = [communities(W, "louvain", random_state=5) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    drawn = {tuple(communities(W, "louvain", random_state=seed)) for seed in range(10)}
    assert len(drawn) > 1
    np.testing.assert_array_equal(communities(np.zeros((3, 3))), [0, 1, 2])
    with raises(InputError, code="invalid_value"):
        communities(W, "infomap")
