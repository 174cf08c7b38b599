import time

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError, SolverError
from edgewise.solvers.directed.blankets import total_conditioning
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import linear_network
from tests.solvers.directed.blanket_problems import (
    EXACT,
    exact_correlations,
    make_dag,
    moral_graph,
    p_value,
    random_weights,
    slow_shrink,
)


@pytest.mark.parametrize("n_rows", [20, 500])
def test_agrees_with_tests_given_all_others(n_rows):
    R, _ = linear_network(0, 10, n_rows)
    found = total_conditioning(R, n_rows, significance=0.05)
    for i in range(10):
        for j in range(i):
            others = [k for k in range(10) if k not in (i, j)]
            is_dependent = p_value(R, n_rows, i, j, others) < 0.05
            assert found.value[i, j] == found.value[j, i] == is_dependent
    assert found.n_tests == 45


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([20, 500]))
def test_agrees_with_plain_elimination(seed, n_rows):
    R, _ = linear_network(seed, 9, n_rows)
    found = total_conditioning(R, n_rows, significance=0.05, backward=True).value
    for j in range(9):
        others = [k for k in range(9) if k != j]
        members = slow_shrink(R, n_rows, j, others, 0.05)
        assert set(np.flatnonzero(found[:, j])) == set(members)


@pytest.mark.parametrize("backward", [False, True])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), n_nodes=st.integers(1, 14))
def test_exact_correlations_give_parents_children_and_spouses(backward, seed, n_nodes):
    arcs = make_dag(seed, n_nodes)
    R = exact_correlations(random_weights(arcs, seed))
    found = total_conditioning(R, EXACT, backward=backward)
    np.testing.assert_array_equal(found.value, moral_graph(arcs))


@pytest.mark.parametrize("backward", [False, True])
def test_moves_with_the_variables_and_ignores_units(backward):
    S, _ = linear_network(3, 20, 100)
    found = total_conditioning(S, 100, backward=backward).value
    order = np.random.default_rng(0).permutation(20)
    scale = np.geomspace(0.01, 100, 20)
    other = (S * np.outer(scale, scale))[np.ix_(order, order)]
    moved = total_conditioning(other, 100, backward=backward).value
    np.testing.assert_array_equal(moved, found[np.ix_(order, order)])


def test_elimination_finds_more_than_all_at_once():
    # Many members that say the same leave little to each.
    R, _ = linear_network(5, 30, 60)
    at_once = total_conditioning(R, 60).value
    backward = total_conditioning(R, 60, backward=True).value
    assert backward.sum() > at_once.sum() > 0


def test_many_variables_take_under_a_second():
    R, _ = linear_network(0, 500, 1500)
    total_conditioning(R[:5, :5], 1500)
    start = time.process_time()
    found = total_conditioning(R, 1500)
    assert time.process_time() - start < 1.0
    assert found.value.any()


@pytest.mark.parametrize("backward", [False, True])
def test_few_rows_are_refused_with_what_to_use(backward):
    with raises(InputError, code="too_few_rows_for_blankets", m=8, n_samples=8):
        total_conditioning(np.eye(5), 8, backward=backward)
    assert not total_conditioning(np.eye(5), 9, backward=backward).value.any()


def test_no_inverse_is_an_error():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X = np.column_stack([X, X.sum(axis=1)])
    for S in (np.cov(X.T), np.ones((3, 3))):
        with raises(SolverError, code="correlations_singular"):
            total_conditioning(S, 100)
    with pytest.raises(InputError, match="above 0 and below 1"):
        total_conditioning(np.eye(3), 100, significance=2)
