import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.linear_model import Lasso

from edgewise import InputError
from edgewise.solvers.directed.order import bcd_bayes_net, order_bayes_net
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import (
    is_acyclic,
    lasso_objective,
    linear_network,
    optimality_violation,
)


def not_descendants(coef):
    """Whether i may be a parent of j without closing a cycle."""
    reachable = nx.transitive_closure(nx.DiGraph(coef != 0), reflexive=True)
    return ~nx.to_numpy_array(reachable, nodelist=range(len(coef)), weight=None).astype(bool).T


def slow_descent(S, alpha, strengths, n_sweeps):
    """The same sweeps with another solver, on rows whose covariance is S."""
    n_nodes = len(S)
    X = np.sqrt(n_nodes) * np.linalg.cholesky(S).T
    coef = np.zeros_like(S)

    def solve(j, penalties):
        others = np.delete(np.arange(n_nodes), j)
        scaled = X[:, others] / penalties[others]
        lasso = Lasso(alpha=1.0, fit_intercept=False, tol=1e-14, max_iter=10**6)
        coef[others, j] = lasso.fit(scaled, X[:, j]).coef_ / penalties[others]

    for j in range(n_nodes):
        solve(j, np.full(n_nodes, alpha))
    for strength, count in zip(strengths, n_sweeps, strict=True):
        for _ in range(count):
            for j in range(n_nodes):
                below = list(nx.descendants(nx.DiGraph(coef != 0), j))
                penalties = np.full(n_nodes, alpha)
                penalties[below] += strength
                solve(j, penalties)
    return coef


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6), st.integers(2, 15), st.sampled_from([5, 20, 300]), st.floats(0.02, 0.6)
)
def test_never_a_cycle_and_optimal_among_arcs_that_close_none(seed, n_nodes, n_rows, alpha):
    S, _ = linear_network(seed, n_nodes, n_rows)
    found = bcd_bayes_net(S, alpha)
    assert is_acyclic(found.value)
    assert found.is_acyclic
    penalties = np.full_like(S, alpha)
    assert found.objective == pytest.approx(lasso_objective(S, found.value, penalties), rel=1e-10)
    if found.converged:
        allowed = not_descendants(found.value)
        assert optimality_violation(S, found.value, penalties, allowed) <= 1e-7


def test_agrees_with_slow_sweeps():
    S, _ = linear_network(3, 7, 100)
    found = bcd_bayes_net(S, 0.1)
    strengths, n_sweeps = np.unique(found.strengths, return_counts=True)
    slow = slow_descent(S, 0.1, strengths, n_sweeps)
    assert len(strengths) == 12
    np.testing.assert_allclose(found.value, slow, atol=1e-6)


def test_the_order_of_the_columns_matters():
    differ = 0
    for seed in range(5):
        S, _ = linear_network(seed, 20, 40)
        order = np.random.default_rng(seed).permutation(20)
        found = bcd_bayes_net(S, 0.15).value[np.ix_(order, order)]
        moved = bcd_bayes_net(S[np.ix_(order, order)], 0.15).value
        differ += np.count_nonzero((found != 0) != (moved != 0)) > 0
    assert differ >= 3


def test_all_columns_at_once_go_round_in_circles():
    n_cyclic = 0
    for seed in range(8):
        S, _ = linear_network(seed, 15, 500)
        whole = bcd_bayes_net(S, 0.1, update="whole")
        assert whole.period == 2
        assert not whole.converged
        # Arcs come when no path leads back, and go when one does.
        assert whole.history[-1] != pytest.approx(whole.history[-2])
        assert whole.is_acyclic == is_acyclic(whole.value)
        n_cyclic += not whole.is_acyclic
        assert bcd_bayes_net(S, 0.1).period == 1
    assert n_cyclic >= 4


def test_all_columns_at_once_settle_where_nothing_is_joined():
    whole = bcd_bayes_net(np.eye(3), 0.1, update="whole")
    assert whole.period == 1
    assert whole.converged


def test_without_growth_the_start_decides():
    S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    chain = np.zeros((3, 3))
    chain[0, 1] = chain[1, 2] = 0.5
    for arcs in (chain, chain.T):
        found = bcd_bayes_net(S, 0.1, schedule="literal", init=arcs)
        np.testing.assert_array_equal(found.value != 0, arcs != 0)
        assert len(np.unique(found.strengths)) == 1
    assert len(np.unique(bcd_bayes_net(S, 0.1, init=chain).strengths)) == 12


def test_two_variables_in_closed_form():
    S = np.array([[1.0, 0.6], [0.6, 1.0]])
    found = bcd_bayes_net(S, 0.1)
    # The first column gives way, because the second still leads to it.
    np.testing.assert_allclose(found.value, [[0.0, 0.5], [0.0, 0.0]], atol=1e-12)
    np.testing.assert_array_equal(found.tiers, [0, 1])


def test_start_weights_and_location():
    S, _ = linear_network(5, 8)
    start = bcd_bayes_net(S, 0.1).value
    again = bcd_bayes_net(S, 0.1, init=start)
    np.testing.assert_allclose(again.value, start, atol=1e-8)
    tail, head = np.argwhere(start)[0]
    weights = np.ones_like(S)
    weights[tail, head] = np.inf
    assert bcd_bayes_net(S, 0.1, weights=weights).value[tail, head] == 0
    location = np.linspace(-1, 1, 8)
    shifted = bcd_bayes_net(S, 0.1, location=location)
    assert shifted.intercept.any()
    assert is_acyclic(shifted.value)
    forbidden = np.full_like(S, np.inf)
    alone = bcd_bayes_net(S, 0.1, location=location, weights=forbidden)
    expected = np.sign(location) * np.maximum(np.abs(location) - 0.1, 0)
    np.testing.assert_allclose(alone.intercept, expected, atol=1e-12)


def test_running_out_of_sweeps_is_said():
    S, _ = linear_network(6, 20)
    stopped = bcd_bayes_net(S, 0.05, max_iter=1)
    assert stopped.n_iter == 12
    assert len(np.unique(stopped.strengths)) == 12
    assert stopped.period == 0
    assert not stopped.converged
    assert is_acyclic(stopped.value)


def test_tolerance_is_obeyed():
    S, _ = linear_network(7, 20, 30)
    assert bcd_bayes_net(S, 0.02).violation <= 1e-10 < bcd_bayes_net(S, 0.02, tol=1e-2).violation


def test_usually_no_better_than_an_order():
    ratio = [
        bcd_bayes_net(S, 0.15).objective / order_bayes_net(S, 0.15).objective
        for S, _ in (linear_network(seed, 25, 200) for seed in range(8))
    ]
    assert np.mean(ratio) > 0.999


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schedule": "slow"}, "unknown_schedule"),
        ({"update": "rows"}, "unknown_update"),
        ({"alpha": 0.0}, "alpha_positive_for_arcs"),
        ({"S": np.ones((2, 3))}, "covariance_not_square"),
        ({"init": np.eye(2)}, "arcs_init_diagonal"),
        ({"weights": np.zeros((2, 2))}, "arc_weights_positive"),
        ({"location": np.zeros(3)}, "location_length"),
        ({"max_iter": 0}, "max_iter_range"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"S": np.eye(2), "alpha": 0.1} | change
    with raises(InputError, code=message):
        bcd_bayes_net(arguments.pop("S"), arguments.pop("alpha"), **arguments)
