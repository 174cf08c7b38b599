"""What the graphs of an equivalence class have in common, against all of them one by one."""

import itertools

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from edgewise import Graph, InputError
from edgewise.graph.equivalence import complete_dag, find_cycle
from edgewise.graph.members import EquivalenceClass, first_members, members
from edgewise.metrics import cpdag
from tests.messages import raises


def random_dag(rng, m, density=0.5):
    order = rng.permutation(m)
    dag = np.zeros((m, m), dtype=bool)
    upper = np.triu(rng.random((m, m)) < density, 1)
    dag[np.ix_(order, order)] = upper
    return dag


def v_structures(dag):
    joined = dag | dag.T
    return {
        (i, j, k)
        for k in range(len(dag))
        for i, j in itertools.combinations(np.flatnonzero(dag[:, k]).tolist(), 2)
        if not joined[i, j]
    }


def by_brute_force(dag, allowed):
    """All orientations of the edges, kept where cycles, v-structures and knowledge agree."""
    pairs = np.argwhere(np.triu(dag | dag.T))
    found = []
    for turns in itertools.product((False, True), repeat=len(pairs)):
        other = np.zeros_like(dag)
        for (i, j), is_turned in zip(pairs, turns, strict=True):
            other[(j, i) if is_turned else (i, j)] = True
        if (other & ~allowed).any() or find_cycle(other):
            continue
        if v_structures(other) == v_structures(dag):
            found.append(other)
    return found


def descendants(dag):
    reach = dag.copy()
    for k in range(len(dag)):
        reach |= reach[:, [k]] & reach[k]
    return reach


def problems(n, m=5, seed=0):
    """Random graphs, half of them with knowledge that some arcs cannot be."""
    rng = np.random.default_rng(seed)
    for k in range(n):
        dag = random_dag(rng, m, rng.uniform(0.3, 0.9))
        forbidden = rng.random((m, m)) < (0.25 if k % 2 else 0.0)
        yield dag, ~forbidden | dag


@pytest.mark.parametrize("m", [4, 5])
def test_members_are_those_of_brute_force(m):
    for dag, allowed in problems(60, m):
        pattern = complete_dag(dag, allowed)
        mine = {one.tobytes() for one in members(pattern)}
        assert mine == {one.tobytes() for one in by_brute_force(dag, allowed)}


def test_parents_and_paths_are_those_of_all_members():
    for dag, allowed in problems(150):
        graphs = by_brute_force(dag, allowed)
        one = EquivalenceClass(complete_dag(dag, allowed))
        paths = np.array([descendants(graph) for graph in graphs])
        np.testing.assert_array_equal(one.leads, descendants(one.arcs))
        assert not (one.leads & ~paths.all(axis=0)).any()
        for node in range(len(dag)):
            parents = {tuple(np.flatnonzero(graph[:, node]).tolist()) for graph in graphs}
            listed = one.parent_sets(node)
            assert len(listed) == len(set(listed))
            assert set(listed) == parents
            np.testing.assert_array_equal(one.may_lead(node), paths[:, node].any(axis=0))


def test_joint_parents_are_those_of_all_members():
    for dag, allowed in problems(100, seed=1):
        graphs = by_brute_force(dag, allowed)
        one = EquivalenceClass(complete_dag(dag, allowed))
        for a, b in itertools.permutations(range(len(dag)), 2):
            both = {
                tuple(tuple(np.flatnonzero(graph[:, k]).tolist()) for k in (a, b))
                for graph in graphs
            }
            assert set(one.joint_parent_sets((a, b))) == both


def test_effects_are_identified_where_all_members_agree():
    rng = np.random.default_rng(2)
    n_open = 0
    for dag, allowed in problems(150, seed=3):
        graphs = by_brute_force(dag, allowed)
        m = len(dag)
        coef = dag * rng.uniform(0.5, 2, (m, m)) * rng.choice([-1, 1], (m, m))
        inverse = np.linalg.inv(np.eye(m) - coef)
        S = inverse.T @ inverse
        one = EquivalenceClass(complete_dag(dag, allowed))
        for x, y in itertools.permutations(range(m), 2):
            effects = []
            for graph in graphs:
                rest = [x, *np.flatnonzero(graph[:, x]).tolist()]
                value = 0.0 if y in rest else np.linalg.solve(S[np.ix_(rest, rest)], S[rest, y])[0]
                effects.append(value)
            is_identified = np.ptp(effects) < 1e-9
            assert (not one.open_edges(x, y)) == is_identified
            n_open += not is_identified
    assert n_open > 200


def test_a_limit_holds():
    complete = ~np.eye(4, dtype=bool)
    assert len(first_members(complete, 24)) == 24
    with raises(InputError, code="too_many_graphs", limit=23, parameter="limit"):
        first_members(complete, 23)


def class_of_a_chain():
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = 0.5, 0.25
    return Graph(weights, names=["a", "b", "c d"], directed=True), cpdag(
        Graph(weights, names=["a", "b", "c d"], directed=True)
    )


def test_graphs_of_a_class_keep_names_and_all_edges():
    dag, pattern = class_of_a_chain()
    found = pattern.members()
    assert len(found) == 3
    assert {tuple(map(tuple, one.adjacency)) for one in found} == {
        tuple(map(tuple, one)) for one in members(pattern.adjacency)
    }
    assert all(one.names == dag.names and one.n_edges == 2 for one in found)
    with raises(InputError, code="too_many_graphs", limit=2):
        pattern.members(limit=2)
    with raises(InputError, code="needs_directed_graph"):
        Graph(np.ones((2, 2)) - np.eye(2)).members()


def test_other_software_takes_one_acyclic_graph():
    dag, pattern = class_of_a_chain()
    assert [*dag.to_dowhy().edges] == [("a", "b"), ("b", "c d")]
    assert all(nx.is_directed_acyclic_graph(one.to_dowhy()) for one in pattern.members())
    with raises(InputError, code="takes_one_dag", edges=["a - b", "b - c d"]):
        pattern.to_dowhy()
    with raises(InputError, code="cyclic_graph"):
        Graph(np.roll(np.eye(3), 1, axis=1), directed=True).to_dowhy()


def test_dagitty_has_lines_and_quoted_names():
    dag, pattern = class_of_a_chain()
    assert dag.to_dagitty() == 'dag {\n"a"\n"b"\n"c d"\n"a" -> "b"\n"b" -> "c d"\n}\n'
    assert pattern.to_dagitty().splitlines()[0] == "pdag {"
    assert '"a" -- "b"' in pattern.to_dagitty()


def test_dowhy_and_pgmpy_read_what_they_are_given():
    dowhy = pytest.importorskip("dowhy")
    dag, _ = class_of_a_chain()
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 3)), columns=dag.names)
    model = dowhy.CausalModel(rows, treatment="a", outcome="c d", graph=dag.to_dowhy())
    assert model.identify_effect().estimands["backdoor"] is not None
    base = pytest.importorskip("pgmpy.base")
    assert {*base.DAG(dag.to_dowhy()).edges} == {*dag.to_dowhy().edges}
