"""Arcs that are known in advance."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from edgewise import BlanketBayesNet, InputError
from edgewise.graph.equivalence import complete_dag
from tests.estimators.directed.bayes_net_rows import network_rows
from tests.messages import raises

SEARCHES = ["tests", "greedy"]


@pytest.fixture(scope="module")
def chain():
    """Rows of a -> b -> c -> d, whose directions no data can tell."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(2000, 4)), columns=list("abcd"))
    for parent, child in zip("abc", "bcd", strict=True):
        frame[child] += frame[parent]
    return frame[["c", "a", "d", "b"]]


def arcs(model):
    edges = model.graph_.edges()
    return set(zip(edges["source"], edges["target"], strict=True))


FORWARD = {("a", "b"), ("b", "c"), ("c", "d")}
BACKWARD = {("b", "a"), ("c", "b"), ("d", "c")}


def test_nothing_known_leaves_a_chain_undirected(chain):
    model = BlanketBayesNet().fit(chain)
    np.testing.assert_array_equal(model.cpdag_.adjacency, model.cpdag_.adjacency.T)
    assert model.cpdag_.adjacency.sum() == 6


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"required": [("a", "b")]}, FORWARD),
        ({"required": [("d", "c")]}, BACKWARD),
        ({"forbidden": [("b", "a")]}, FORWARD),
        ({"forbidden": [(0, 2)]}, BACKWARD),
        ({"tiers": {"a": 0, "b": 1}}, FORWARD),
        ({"tiers": {"d": -1.5, "a": 3}, "forbidden": [("c", "d")]}, BACKWARD),
        ({"tiers": [1, None, 0, np.nan]}, BACKWARD),
        ({"tiers": [2, 1, 2, 1]}, {("b", "c")}),
    ],
)
def test_one_arc_directs_a_chain(chain, search, known, expected):
    model = BlanketBayesNet(search=search, **known).fit(chain)
    assert expected <= arcs(model)
    assert model.graph_.n_edges == 3
    # What is known directs the rest as far as Meek's rules lead.
    names = list(chain.columns)
    for source, target in expected:
        i, j = names.index(source), names.index(target)
        assert model.cpdag_.adjacency[i, j]
        assert not model.cpdag_.adjacency[j, i]


@pytest.mark.parametrize("search", SEARCHES)
def test_matrices_and_pairs_are_the_same(chain, search):
    matrix = np.zeros((4, 4), dtype=bool)
    matrix[0, 3] = matrix[2, 1] = True
    for name in ("forbidden", "required"):
        one = BlanketBayesNet(search=search, **{name: matrix}).fit(chain)
        two = BlanketBayesNet(search=search, **{name: [("c", "b"), (2, 1)]}).fit(chain)
        three = BlanketBayesNet(search=search, **{name: np.argwhere(matrix)}).fit(chain)
        np.testing.assert_array_equal(one.cpdag_.adjacency, two.cpdag_.adjacency)
        np.testing.assert_array_equal(one.cpdag_.adjacency, three.cpdag_.adjacency)


def test_data_frames_go_by_name(chain):
    frame = pd.DataFrame(False, index=list("dcba"), columns=list("abcd"))
    frame.loc["a", "b"] = True
    model = BlanketBayesNet(required=frame).fit(chain)
    assert arcs(model) == FORWARD
    np.testing.assert_array_equal(
        model.cpdag_.adjacency, BlanketBayesNet(required=[("a", "b")]).fit(chain).cpdag_.adjacency
    )
    with raises(InputError, code="arcs_frame_names"):
        BlanketBayesNet(forbidden=frame.rename(index={"a": "z"})).fit(chain)


@pytest.mark.parametrize("search", SEARCHES)
def test_a_pair_forbidden_both_ways_is_not_joined(chain, search):
    model = BlanketBayesNet(search=search, forbidden=[("b", "c"), ("c", "b")]).fit(chain)
    assert not {("b", "c"), ("c", "b")} & arcs(model)
    assert {frozenset(arc) for arc in arcs(model)} >= {frozenset("ab"), frozenset("cd")}


@pytest.mark.parametrize("search", SEARCHES)
def test_a_required_arc_is_there_whatever_the_data_say(chain, search):
    model = BlanketBayesNet(search=search, required=[("a", "d")]).fit(chain)
    assert ("a", "d") in arcs(model)
    assert abs(model.coef_[1, 2]) < 2


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_known_holds_in_any_table(search, seed):
    X = network_rows(seed, 60, 12, 3.0)
    rng = np.random.default_rng(seed)
    tiers = rng.integers(0, 4, 12)
    required = [(int(i), int(j)) for i, j in rng.integers(0, 12, (20, 2)) if tiers[i] < tiers[j]][
        :4
    ]
    forbidden = rng.random((12, 12)) < 0.1
    np.fill_diagonal(forbidden, False)
    forbidden[tuple(np.transpose(required))] = False
    # Only ever against an order, so that what is left makes no cycle.
    forbidden &= tiers[:, None] >= tiers
    forbidden &= np.arange(12)[:, None] > np.arange(12)
    model = BlanketBayesNet(
        search=search, tiers=tiers, required=required, forbidden=forbidden, significance=0.1
    ).fit(X)
    dag = model.graph_.adjacency
    assert nx.is_directed_acyclic_graph(nx.DiGraph(dag))
    assert all(dag[arc] for arc in required)
    assert not (dag & forbidden).any()
    tails, heads = np.nonzero(dag)
    assert (tiers[tails] <= tiers[heads]).all()
    allowed = ~(forbidden | (tiers[:, None] > tiers))
    allowed[tuple(np.transpose(required)[::-1])] = False
    np.testing.assert_array_equal(model.cpdag_.adjacency, complete_dag(dag, allowed))


def test_tiers_help():
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = np.triu(rng.random((12, 12)) < 0.2, 1)
        weights = truth * rng.uniform(0.5, 1.0, truth.shape)
        X = rng.normal(size=(300, 12)) @ np.linalg.inv(np.eye(12) - weights)
        order = rng.permutation(12)
        truth = truth[np.ix_(order, order)]
        found = [BlanketBayesNet(tiers=t).fit(X[:, order]) for t in (None, order // 2)]
        errors.append([np.count_nonzero(m.graph_.adjacency != truth) for m in found])
    without, known = np.sum(errors, axis=0)
    assert known < 0.7 * without


@pytest.mark.parametrize("search", SEARCHES)
def test_moves_with_the_columns(search):
    X = network_rows(5, 80, 10, 2.5)
    rng = np.random.default_rng(0)
    forbidden = np.tril(rng.random((10, 10)) < 0.3, -1)
    tiers = np.arange(10) // 4
    model = BlanketBayesNet(search=search, forbidden=forbidden, tiers=tiers).fit(X)
    order = rng.permutation(10)
    index = np.ix_(order, order)
    moved = BlanketBayesNet(search=search, forbidden=forbidden[index], tiers=tiers[order])
    np.testing.assert_array_equal(
        moved.fit(X[:, order]).cpdag_.adjacency, model.cpdag_.adjacency[index]
    )


def test_directions_forced_into_a_cycle_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) + rng.normal(size=(500, 1))
    forbidden = [(1, 0), (2, 1), (0, 2)]
    with raises(InputError, code="forbidden_arcs_cycle"):
        BlanketBayesNet(forbidden=forbidden).fit(X)
    assert BlanketBayesNet(search="greedy", forbidden=forbidden).fit(X).graph_.n_edges >= 2


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"required": [("a", "b"), ("b", "a")]}, "required_arcs_cycle"),
        (
            {"required": [("a", "b")], "forbidden": [("a", "b")]},
            "arc_required_and_forbidden",
        ),
        (
            {"required": [("a", "b")], "tiers": {"a": 2, "b": 1}},
            "required_arc_against_tiers",
        ),
        ({"required": [("a", "z")]}, "unknown_columns_listed"),
        ({"forbidden": [("a", 9)]}, "unknown_columns_listed"),
        ({"forbidden": [("a", True)]}, "unknown_columns_listed"),
        ({"forbidden": [("a", "a")]}, "arc_self_loop"),
        ({"forbidden": ["ab"]}, "arcs_type"),
        ({"forbidden": np.ones((2, 3))}, "arcs_type"),
        ({"tiers": [0, 1]}, "tiers_shape"),
        ({"tiers": {"z": 1}}, "unknown_columns_listed"),
        ({"tiers": {"a": "first"}}, "tier_not_number"),
    ],
)
def test_what_cannot_be_known_is_refused(chain, known, message):
    with raises(InputError, code=message):
        BlanketBayesNet(**known).fit(chain)
