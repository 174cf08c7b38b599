"""Markov equivalence against the enumeration of every small directed acyclic graph."""

import itertools
import time

import networkx as nx
import numpy as np
import pytest

from edgewise import Graph, InputError
from edgewise.graph.equivalence import apply_meek_rules, find_cycle
from edgewise.metrics import adjacency_metrics, arrowhead_metrics, cpdag, pdag_errors, shd
from tests.messages import raises


def all_dags(n):
    pairs = list(itertools.combinations(range(n), 2))
    for marks in itertools.product((0, 1, 2), repeat=len(pairs)):
        dag = np.zeros((n, n), dtype=bool)
        for (i, j), mark in zip(pairs, marks, strict=True):
            if mark == 1:
                dag[i, j] = True
            elif mark == 2:
                dag[j, i] = True
        if nx.is_directed_acyclic_graph(nx.DiGraph(dag)):
            yield dag


def signature(dag):
    """Skeleton and v-structures, found one triple at a time."""
    n = len(dag)
    pairs = list(itertools.combinations(range(n), 2))
    skeleton = frozenset((i, j) for i, j in pairs if dag[i, j] or dag[j, i])
    colliders = frozenset(
        (i, k, j)
        for i, j in pairs
        for k in range(n)
        if dag[i, k] and dag[j, k] and not dag[i, j] and not dag[j, i]
    )
    return skeleton, colliders


def classes(n):
    members = {}
    for dag in all_dags(n):
        members.setdefault(signature(dag), []).append(dag)
    return members


@pytest.fixture(scope="module")
def four_node_classes():
    return classes(4)


def test_cpdag_of_every_dag_on_four_nodes(four_node_classes):
    assert sum(map(len, four_node_classes.values())) == 543
    assert len(four_node_classes) == 185
    for members in four_node_classes.values():
        # An entry is present when some member has that direction.
        expected = np.any(members, axis=0)
        for dag in members:
            np.testing.assert_array_equal(cpdag(dag), expected)


def test_cpdag_of_random_graphs_is_the_same_within_the_class():
    rng = np.random.default_rng(0)
    for _ in range(20):
        dag = np.triu(rng.uniform(size=(7, 7)) < 0.4, 1)
        target = cpdag(dag)
        skeleton, colliders = signature(dag)
        # Walk through the class by covered-edge reversals (same parents otherwise).
        current = dag.copy()
        for _ in range(30):
            covered = [
                (i, j)
                for i, j in np.argwhere(current)
                if (np.delete(current[:, i], [i, j]) == np.delete(current[:, j], [i, j])).all()
            ]
            if not covered:
                break
            i, j = covered[rng.integers(len(covered))]
            current[i, j], current[j, i] = False, True
            assert signature(current) == (skeleton, colliders)
            np.testing.assert_array_equal(cpdag(current), target)


def test_cpdag_of_a_graph_keeps_names():
    dag = Graph([[0, 0.5, 0], [0, 0, 0], [0, -2, 0]], names=["a", "b", "c"], directed=True)
    completed = cpdag(dag)
    assert isinstance(completed, Graph)
    assert completed.directed
    assert completed.names == ("a", "b", "c")
    np.testing.assert_array_equal(completed.weights, [[0, 1, 0], [0, 0, 0], [0, 1, 0]])


def test_cycles_are_named():
    cyclic = np.zeros((5, 5))
    cyclic[0, 1] = cyclic[1, 2] = cyclic[2, 3] = cyclic[3, 1] = cyclic[3, 4] = 1
    graph = Graph(cyclic, names=["a", "b", "c", "d", "e"], directed=True)
    with raises(InputError, code="cyclic_graph"):
        cpdag(graph)
    with raises(InputError, code="cyclic_graph"):
        cpdag([[0, 1], [1, 0]])


@pytest.mark.parametrize("seed", range(20))
def test_find_cycle_agrees_with_networkx(seed):
    rng = np.random.default_rng(seed)
    arcs = rng.uniform(size=(8, 8)) < 0.15
    np.fill_diagonal(arcs, False)
    cycle = find_cycle(arcs)
    assert bool(cycle) != nx.is_directed_acyclic_graph(nx.DiGraph(arcs))
    if cycle:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1
        assert all(arcs[a, b] for a, b in itertools.pairwise(cycle))


def test_meek_rules_complete_background_knowledge(four_node_classes):
    # Every direction shared by all members that agree with one extra arc must be found; this
    # needs the fourth rule, which a pattern alone never calls.
    for members in four_node_classes.values():
        pattern = np.any(members, axis=0)
        for i, j in np.argwhere(pattern & pattern.T):
            agreeing = [dag for dag in members if dag[i, j]]
            known = pattern.copy()
            known[j, i] = False
            np.testing.assert_array_equal(apply_meek_rules(known), np.any(agreeing, axis=0))


def test_pdag_errors_vanish_exactly_within_the_class():
    three = list(all_dags(3))
    for true in three:
        for learned in three:
            errors = pdag_errors(true, learned)
            assert (errors.total == 0) == (signature(true) == signature(learned))
            by_kind = errors.missing + errors.extra + errors.misoriented
            assert by_kind == shd(cpdag(true), cpdag(learned))


def test_pdag_errors_by_kind():
    # True: 0 -> 2 <- 1, 2 -> 3. Learned: 0 -> 2 and 2 -> 3 only, a chain without compelled arcs.
    true = np.zeros((4, 4))
    true[0, 2] = true[1, 2] = true[2, 3] = 1
    learned = np.zeros((4, 4))
    learned[0, 2] = learned[2, 3] = 1
    errors = pdag_errors(true, learned)
    assert (errors.missing, errors.extra, errors.misoriented) == (1, 0, 2)
    assert errors.entries == errors.total == 3  # one arc gone, two directions lost
    errors = pdag_errors(learned, true)
    assert (errors.missing, errors.extra, errors.misoriented, errors.total) == (0, 1, 2, 3)


def test_reversed_arc_counts_two_entries():
    # 0 -> 2 <- 1 against 2 -> 0, 2 -> 1, 0 - 1, which has a line and so is compared as it is.
    true = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    learned = np.array([[0, 1, 0], [1, 0, 0], [1, 1, 0]])
    errors = pdag_errors(true, learned)
    assert (errors.missing, errors.extra, errors.misoriented) == (0, 1, 2)
    assert (errors.entries, errors.total) == (2 + 2 * 2, 3)


def test_pdag_errors_take_partially_directed_graphs_as_they_are():
    dag = Graph([[0, 1, 0], [0, 0, 1], [0, 0, 0]], directed=True)
    line = Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    half = Graph([[0, 1, 0], [1, 0, 1], [0, 0, 0]], directed=True)
    assert pdag_errors(dag, line).total == 0
    assert pdag_errors(dag, half).total == 1
    assert pdag_errors(dag, half).misoriented == 1


def test_pdag_errors_match_by_name():
    collider = Graph([[0, 1, 0], [0, 0, 0], [0, 1, 0]], names=["a", "b", "c"], directed=True)
    same = Graph([[0, 0, 0], [1, 0, 0], [1, 0, 0]], names=["b", "a", "c"], directed=True)
    assert pdag_errors(collider, same).total == 0


def test_large_dag_is_quick():
    rng = np.random.default_rng(0)
    dag = np.triu(rng.uniform(size=(200, 200)) < 0.015, 1)
    start = time.process_time()
    cpdag(dag)
    assert time.process_time() - start < 5


def test_adjacencies_and_arrowheads_are_counted_apart():
    # 0 -> 1 <- 2, 1 -> 3 against 1 -> 0, 1 <- 2 <- 3: one pair lost, one new, no arrow identified.
    truth, guess = np.zeros((4, 4), dtype=bool), np.zeros((4, 4), dtype=bool)
    truth[[0, 2, 1], [1, 1, 3]] = True
    guess[[1, 2, 3], [0, 1, 2]] = True
    joined = adjacency_metrics(truth, guess)
    assert (joined.tp, joined.fp, joined.fn) == (2, 1, 1)
    arrows = arrowhead_metrics(truth, guess)
    assert (arrows.tp, arrows.fp, arrows.fn) == (0, 0, 3)
    assert (arrows.precision, arrows.recall) == (1.0, 0.0)
    turned = arrowhead_metrics(truth, cpdag(truth)[:, [2, 1, 0, 3]][[2, 1, 0, 3]])
    assert (turned.precision, turned.recall, turned.hamming) == (1.0, 1.0, 0)
    reversed_ = arrowhead_metrics(
        [[0, 1, 0], [0, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    )
    assert (reversed_.tp, reversed_.fp, reversed_.fn) == (0, 2, 2)
