"""Directions of edges against the enumeration of every directed acyclic graph on five nodes."""

import itertools

import networkx as nx
import numpy as np
import pytest

from edgewise.graph.equivalence import (
    apply_meek_rules,
    complete_dag,
    extend_pattern,
    longest_paths,
    orient_skeleton,
)
from edgewise.metrics import cpdag

N_NODES = 5
NO_COLLIDERS = np.empty((0, 3), dtype=np.int64)


def is_acyclic(arcs):
    return nx.is_directed_acyclic_graph(nx.DiGraph(arcs))


def colliders(dag):
    """Every x, z, y with x -> z <- y and x, y not joined."""
    found = [
        (x, z, y)
        for x, y in itertools.combinations(range(len(dag)), 2)
        for z in range(len(dag))
        if dag[x, z] and dag[y, z] and not dag[x, y] and not dag[y, x]
    ]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


@pytest.fixture(scope="module")
def classes():
    """All graphs on five nodes, by skeleton and v-structures."""
    pairs = list(itertools.combinations(range(N_NODES), 2))
    marks = np.array(list(itertools.product((0, 1, 2), repeat=len(pairs))))
    graphs = np.zeros((len(marks), N_NODES, N_NODES), dtype=bool)
    for column, (i, j) in enumerate(pairs):
        graphs[:, i, j] = marks[:, column] == 1
        graphs[:, j, i] = marks[:, column] == 2
    # A graph has no cycle if no path is as long as there are nodes.
    paths = np.linalg.matrix_power(graphs.astype(np.int64), N_NODES)
    graphs = graphs[~paths.any(axis=(1, 2))]
    joined = graphs | graphs.transpose(0, 2, 1)
    meet = graphs[:, :, None, :] & graphs[:, None, :, :] & ~joined[:, :, :, None]
    meet[:, np.arange(N_NODES), np.arange(N_NODES)] = False
    keys = np.concatenate([joined.reshape(len(graphs), -1), meet.reshape(len(graphs), -1)], axis=1)
    members = {}
    for key, graph in zip(np.packbits(keys, axis=1), graphs, strict=True):
        members.setdefault(key.tobytes(), []).append(graph)
    return list(members.values())


def some(classes, count, seed):
    picked = np.random.default_rng(seed).choice(len(classes), count, replace=False)
    return [classes[k] for k in picked]


def test_number_of_graphs_and_classes(classes):
    assert sum(map(len, classes)) == 29281
    assert len(classes) == 8782


@pytest.mark.parametrize("count", [1500, pytest.param(8782, marks=pytest.mark.slow)])
def test_cpdag_of_every_class(classes, count):
    rng = np.random.default_rng(0)
    for members in some(classes, count, 0):
        dag = members[rng.integers(len(members))]
        np.testing.assert_array_equal(cpdag(dag), np.any(members, axis=0))


def test_skeleton_and_v_structures_give_the_class(classes):
    for members in some(classes, 800, 1):
        dag = members[0]
        found = orient_skeleton(dag | dag.T, colliders(dag))
        np.testing.assert_array_equal(found, np.any(members, axis=0))


def test_an_extension_is_a_member_of_the_class(classes):
    for members in some(classes, 1500, 2):
        extension = extend_pattern(np.any(members, axis=0))
        assert extension.is_consistent
        assert any((extension.dag == dag).all() for dag in members)


def test_what_is_known_leaves_the_members_that_agree(classes):
    rng = np.random.default_rng(3)
    large = [members for members in classes if len(members) > 3]
    n_directed = 0
    for members in some(large, 500, 4):
        dag = members[rng.integers(len(members))]
        # Some directions that this member does not have are known not to be.
        allowed = ~(dag.T & (rng.random(dag.shape) < 0.4))
        agreeing = [other for other in members if not (other & ~allowed).any()]
        expected = np.any(agreeing, axis=0)
        np.testing.assert_array_equal(complete_dag(dag, allowed), expected)
        found = orient_skeleton(dag | dag.T, colliders(dag), allowed)
        np.testing.assert_array_equal(found, expected)
        extension = extend_pattern(found, allowed)
        assert extension.is_consistent
        assert any((extension.dag == other).all() for other in agreeing)
        n_directed += np.count_nonzero(expected != np.any(members, axis=0))
    assert n_directed > 500


def test_patterns_that_contradict_themselves_still_give_acyclic_graphs():
    rng = np.random.default_rng(5)
    n_consistent = 0
    for _ in range(200):
        pattern = rng.random((8, 8)) < 0.35
        np.fill_diagonal(pattern, False)
        extension = extend_pattern(pattern)
        assert is_acyclic(extension.dag)
        np.testing.assert_array_equal(extension.dag | extension.dag.T, pattern | pattern.T)
        if extension.is_consistent:
            n_consistent += 1
            assert not (extension.dag & ~pattern).any()
    assert 0 < n_consistent < 200


def test_contradictions_never_break_what_is_known():
    rng = np.random.default_rng(6)
    for _ in range(100):
        order = rng.permutation(8)
        allowed = ~((order[:, None] > order) & (rng.random((8, 8)) < 0.5))
        pattern = rng.random((8, 8)) < 0.5
        np.fill_diagonal(pattern, False)
        joined = pattern | pattern.T
        pattern = np.where(pattern & allowed, True, joined & allowed & ~allowed.T)
        extension = extend_pattern(pattern, allowed)
        assert is_acyclic(extension.dag)
        assert not (extension.dag & ~allowed).any()


def test_the_surest_collider_wins():
    # 0 - 1 - 2 - 3: arcs cannot meet at both 1 and 2.
    skeleton = np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    triples = np.array([[0, 1, 2], [1, 2, 3]])
    first = orient_skeleton(skeleton, triples)
    assert first[2, 1]
    assert not first[1, 2]
    second = orient_skeleton(skeleton, triples[::-1])
    assert second[1, 2]
    assert not second[2, 1]


def test_colliders_close_no_cycle():
    # A ring of six, with something outside pointing at every other node's successor.
    skeleton = np.zeros((6, 6), dtype=bool)
    for k in range(3):
        skeleton[k, (k + 1) % 3] = skeleton[k, k + 3] = True
    skeleton |= skeleton.T
    triples = np.array([[0, 1, 4], [1, 2, 5], [2, 0, 3]])
    found = orient_skeleton(skeleton, triples)
    assert is_acyclic(found & ~found.T)
    assert found[0, 1]
    assert not found[1, 0]


def test_directions_that_are_known_come_before_tests():
    skeleton = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], dtype=bool)
    allowed = np.ones((3, 3), dtype=bool)
    allowed[0, 2] = False
    found = orient_skeleton(skeleton, np.array([[0, 2, 1]]), allowed)
    # 2 -> 0 is known; 2 - 1 has no direction, since 1 -> 2 -> 0 and 0 <- 2 -> 1 are alike.
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 0, 1], [1, 1, 0]])


def test_rules_are_applied_to_no_end():
    chain = np.eye(30, k=1, dtype=bool) | np.eye(30, k=-1, dtype=bool)
    chain[1, 0] = False
    np.testing.assert_array_equal(apply_meek_rules(chain), np.eye(30, k=1))
    np.testing.assert_array_equal(orient_skeleton(chain | chain.T, NO_COLLIDERS), chain | chain.T)


@pytest.mark.parametrize("seed", range(5))
def test_longest_paths(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(12)
    dag = np.triu(rng.random((12, 12)) < 0.25, 1)[np.ix_(order, order)]
    graph = nx.DiGraph(dag)
    expected = [
        nx.dag_longest_path_length(graph.subgraph({*nx.ancestors(graph, node), node}))
        for node in range(12)
    ]
    np.testing.assert_array_equal(longest_paths(dag), expected)


def test_empty_graphs():
    empty = np.zeros((3, 3), dtype=bool)
    assert not extend_pattern(empty).dag.any()
    assert extend_pattern(empty).is_consistent
    np.testing.assert_array_equal(longest_paths(empty), 0)
    assert extend_pattern(np.zeros((1, 1), dtype=bool)).dag.shape == (1, 1)
