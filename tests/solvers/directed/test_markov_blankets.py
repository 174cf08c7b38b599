import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError
from edgewise.solvers import markov_blankets
from edgewise.solvers.directed.blankets import METHODS
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import linear_network
from tests.solvers.directed.blanket_problems import (
    EXACT,
    exact_correlations,
    make_dag,
    moral_graph,
    random_weights,
    slow_blanket,
    slow_pruned_blanket,
)

PRUNED = ["iamb-npc", "inter-iamb-npc"]


def as_matrix(blankets):
    value = np.zeros((len(blankets), len(blankets)), dtype=bool)
    for target, members in enumerate(blankets):
        value[members, target] = True
    return value


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), n_rows=st.sampled_from([15, 60, 1000]))
def test_agrees_with_plain_tests(method, seed, n_rows):
    R, _ = linear_network(seed, 9, n_rows, n_parents=2.0)
    slow = slow_pruned_blanket if method in PRUNED else slow_blanket
    expected = as_matrix([slow(R, n_rows, j, method, 0.05) for j in range(9)])
    found = markov_blankets(R, n_rows, method, significance=0.05)
    np.testing.assert_array_equal(found.value, expected)
    assert found.n_tests > 0


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10**6), n_nodes=st.integers(1, 14))
def test_exact_correlations_give_parents_children_and_spouses(method, seed, n_nodes):
    arcs = make_dag(seed, n_nodes)
    R = exact_correlations(random_weights(arcs, seed))
    found = markov_blankets(R, EXACT, method)
    np.testing.assert_array_equal(found.value, moral_graph(arcs))


def test_methods_differ_on_rows():
    found = {}
    for method in METHODS:
        found[method] = b"".join(
            markov_blankets(linear_network(seed, 15, 60, n_parents=3.0)[0], 60, method)
            .value.tobytes()
            for seed in range(20)
        )  # fmt: skip
    assert len(set(found.values())) == len(METHODS)


@pytest.mark.parametrize("method", METHODS)
def test_moves_with_the_variables_and_ignores_units(method):
    S, _ = linear_network(3, 20, 100, n_parents=2.5)
    found = markov_blankets(S, 100, method).value
    order = np.random.default_rng(0).permutation(20)
    scale = np.geomspace(0.01, 100, 20)
    moved = markov_blankets((S * np.outer(scale, scale))[np.ix_(order, order)], 100, method).value
    np.testing.assert_array_equal(moved, found[np.ix_(order, order)])


@pytest.mark.parametrize("method", METHODS)
def test_significance_lets_more_in(method):
    S, _ = linear_network(4, 20, 100)
    sizes = [markov_blankets(S, 100, method, significance=a).value.sum() for a in (1e-6, 0.2)]
    assert 0 < sizes[0] < sizes[1]


def test_largest_subset_is_obeyed():
    # 3 has the largest correlation with 0, and both variables between them separate the two.
    weights = np.zeros((4, 4))
    weights[0, [1, 2]], weights[[1, 2], 3] = 0.7, 2.0
    R = exact_correlations(weights)
    assert not markov_blankets(R, EXACT, "iamb-npc").value[3, 0]
    assert not markov_blankets(R, EXACT, "iamb-npc", max_condition=2).value[3, 0]
    assert markov_blankets(R, EXACT, "iamb-npc", max_condition=1).value[3, 0]
    counts = [markov_blankets(R, EXACT, m, max_condition=c).n_tests for m in PRUNED for c in (0, 1)]
    assert counts[0] < counts[1]
    assert counts[2] < counts[3]


@pytest.mark.parametrize("method", METHODS)
def test_more_variables_than_rows(method):
    S, _ = linear_network(6, 40, 12)
    found = markov_blankets(S, 12, method)
    assert found.value.sum(axis=0).max() <= 6
    assert not found.value.diagonal().any()


@pytest.mark.parametrize("method", METHODS)
def test_variables_that_follow_from_others_end_nothing(method):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 5))
    X[:, 4] = X[:, 0] + X[:, 1]
    found = markov_blankets(np.cov(X.T), 50, method)
    assert found.value[[0, 1], 4].all()


@pytest.mark.parametrize("method", METHODS)
def test_many_relations_end_nothing(method):
    for seed in range(5):
        a, b, c, d, e = np.random.default_rng(seed).normal(size=(5, 100))
        X = np.column_stack([a, b, a + b, a + b + 0.5 * c, d, a - b, a + 0.3 * e, a])
        found = markov_blankets(np.cov(X.T), 100, method, significance=0.05)
        # The copy of a, and what is a up to noise, tell all there is to tell of each other.
        assert found.value[7, 0]
        assert found.value[0, 7]
        assert found.value[[0, 7], 6].any()
        assert not found.value[4, [0, 7]].any()


def test_independent_variables_have_none():
    found = markov_blankets(np.eye(5), 100)
    assert not found.value.any()
    assert found.converged
    assert np.isnan(found.gap)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((np.eye(3), 100, "pc"), {}, "unknown_blanket_method"),
        ((np.eye(3), 3), {}, "tests_need_rows"),
        ((np.eye(3), np.inf), {}, "tests_need_rows"),
        ((np.eye(3), 100), {"significance": 0.0}, "significance_range"),
        ((np.eye(3), 100), {"significance": 1.0}, "significance_range"),
        ((np.eye(3), 100), {"max_condition": -1}, "max_condition_range"),
        ((np.ones((2, 3)), 100), {}, "covariance_not_square"),
    ],
)
def test_bad_input_is_named(arguments, options, message):
    with raises(InputError, code=message):
        markov_blankets(*arguments, **options)
