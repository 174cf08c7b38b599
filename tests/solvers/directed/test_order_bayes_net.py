import itertools

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError
from edgewise.solvers.directed.arc_lassos import arc_lassos
from edgewise.solvers.directed.order import order_bayes_net
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import (
    is_acyclic,
    lasso_objective,
    linear_network,
    optimality_violation,
)


def upward(tiers):
    return np.less.outer(tiers, tiers)


def lasso_in_order(S, alpha, allowed):
    """Objective of the lassos on the allowed arcs, by CVXPY."""
    n_nodes = len(S)
    values, vectors = np.linalg.eigh(S)
    root = vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T
    coef = cvxpy.Variable((n_nodes, n_nodes))
    cost = cvxpy.sum_squares(root - root @ coef) / 2 + alpha * cvxpy.sum(cvxpy.abs(coef))
    problem = cvxpy.Problem(cvxpy.Minimize(cost), [coef[~allowed] == 0])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return float(problem.value), coef.value


def set_up(S, alpha, **options):
    defaults = {"weights": None, "location": None, "init": None, "tol": 1e-10, "max_iter": 100}
    return arc_lassos(S, alpha, schedule="literal", n_jobs=None, **defaults | options)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 15),
    st.sampled_from([5, 20, 300]),
    st.floats(0.02, 0.6),
    st.sampled_from(["homotopy", "literal"]),
)
def test_never_a_cycle_and_always_optimal_in_its_order(seed, n_nodes, n_rows, alpha, schedule):
    S, _ = linear_network(seed, n_nodes, n_rows)
    found = order_bayes_net(S, alpha, schedule=schedule)
    assert is_acyclic(found.value)
    assert found.is_acyclic
    assert found.converged
    assert found.violation <= 1e-10
    penalties = np.full_like(S, alpha)
    assert optimality_violation(S, found.value, penalties, upward(found.tiers)) <= 1e-10
    assert found.objective == pytest.approx(lasso_objective(S, found.value, penalties), rel=1e-12)
    assert 0 <= found.gap <= 1e-9


@pytest.mark.parametrize("schedule", ["homotopy", "literal"])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_cvxpy_in_its_order(seed, schedule):
    S, _ = linear_network(seed, 8, 60)
    found = order_bayes_net(S, 0.1, schedule=schedule)
    value, coef = lasso_in_order(S, 0.1, upward(found.tiers))
    assert found.objective == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(found.value, coef, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_no_order_is_better_than_the_best_of_all(seed):
    S, _ = linear_network(seed, 4, 200)
    best = np.inf
    for order in itertools.permutations(range(4)):
        best = min(best, lasso_in_order(S, 0.1, upward(np.array(order)))[0])
    found = order_bayes_net(S, 0.1).objective
    assert best - 1e-8 <= found <= 1.1 * best


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["homotopy", "literal"]))
def test_objective_never_rises_while_the_strength_stays(seed, schedule):
    S, _ = linear_network(seed, 12, 40)
    found = order_bayes_net(S, 0.08, schedule=schedule)
    assert len(found.history) == len(found.strengths) == found.n_iter
    same = found.strengths[1:] == found.strengths[:-1]
    assert (np.diff(found.history)[same] <= 1e-12).all()
    assert found.history[-1] == found.objective
    # Breaking ties ends the climb of the strength, and lowers the objective too.
    for k in np.flatnonzero(np.isinf(found.strengths)):
        assert found.history[k] <= found.history[k - 1] + 1e-12


def test_strengths_grow_to_the_bound():
    S, _ = linear_network(1, 10)
    found = order_bayes_net(S, 0.1)
    finite = found.strengths[np.isfinite(found.strengths)]
    assert len(np.unique(finite)) == 12
    assert finite[0] == pytest.approx(0.02 * 0.1)
    assert finite.max() == pytest.approx(1 - 0.1)
    literal = order_bayes_net(S, 0.1, schedule="literal").strengths
    assert np.unique(literal[np.isfinite(literal)]) == pytest.approx([1 - 0.1])


def test_history_is_the_objective_with_the_term_of_the_order():
    S, _ = linear_network(2, 8)
    lassos = set_up(S, 0.1)
    rows = lassos.start(None)
    tiers = np.array([0, 2, 1, 1, 0, 3, 2, 0])
    objective = lassos.regress_in_order(rows, tiers, 0.05)
    penalties = 0.1 + 0.05 * np.maximum(0, 1 - np.subtract.outer(tiers, tiers).T)
    assert objective == pytest.approx(lasso_objective(S, rows.T, penalties), rel=1e-12)
    assert optimality_violation(S, rows.T, penalties, ~np.eye(8, dtype=bool)) <= 1e-10
    assert lassos.history == [(objective, 0.05)]


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 0.5), st.booleans())
def test_from_the_bound_on_all_arcs_go_up(seed, alpha, standardize):
    S, _ = linear_network(seed, 10, 30, standardize=standardize)
    tiers = np.random.default_rng(seed).integers(0, 4, 10)
    for factor in (1.0, 1.001, 50.0):
        lassos = set_up(S, alpha)
        rows = lassos.start(None)
        lassos.regress_in_order(rows, tiers, factor * lassos.bound)
        forbidden = lassos.start(None)
        lassos.regress_in_order(forbidden, tiers, np.inf)
        assert not rows.T[~upward(tiers)].any()
        np.testing.assert_allclose(rows, forbidden, atol=1e-12)


def test_below_what_a_pair_has_in_common_its_arcs_survive_the_order():
    S = np.array([[1.0, 0.6], [0.6, 1.0]])
    for strength, survives in ((0.49, True), (0.51, False)):
        lassos = set_up(S, 0.1)
        rows = lassos.start(None)
        lassos.regress_in_order(rows, np.array([0, 0]), strength)
        assert rows.any() == survives


def test_a_pair_alone_keeps_its_arc():
    S = np.eye(5)
    S[1, 3] = S[3, 1] = 0.6
    for schedule in ("homotopy", "literal"):
        found = order_bayes_net(S, 0.1, schedule=schedule)
        assert np.count_nonzero(found.value) == 1
        # Nothing but the position is left to decide.
        assert found.value[1, 3] == pytest.approx(0.5)
        np.testing.assert_array_equal(found.tiers, [0, 0, 0, 1, 0])


def test_a_tied_pair_is_parted_by_what_else_leaves_it():
    # 2 - 1 balance; 2 also points to 3, but nothing points back.
    init = np.zeros((3, 3))
    init[0, 1] = init[1, 0] = 0.3
    init[1, 2] = 0.2
    S = np.array([[1.0, 0.6, 0.3], [0.6, 1.0, 0.5], [0.3, 0.5, 1.0]])
    found = order_bayes_net(S, 0.1, schedule="literal", init=init)
    assert found.value[1, 0] > 0
    assert found.value[0, 1] == 0
    np.testing.assert_array_equal(found.tiers, [1, 0, 1])


def test_variables_that_are_all_alike_are_put_in_a_row():
    S = np.full((4, 4), 0.5)
    np.fill_diagonal(S, 1.0)
    found = order_bayes_net(S, 0.1)
    np.testing.assert_array_equal(found.value != 0, np.triu(np.ones((4, 4)), 1) > 0)
    value, _ = lasso_in_order(S, 0.1, upward(np.arange(4)))
    assert found.objective == pytest.approx(value, abs=1e-9)


def test_two_variables_in_closed_form():
    S = np.array([[2.0, 0.9], [0.9, 1.0]])
    found = order_bayes_net(S, 0.1)
    # Covariances, not correlations: the larger coefficient is that of the smaller variance.
    assert found.value[1, 0] == pytest.approx((0.9 - 0.1) / 1.0)
    assert found.value[0, 1] == 0
    assert found.objective == pytest.approx(0.5 * (2.0 + 1.0) - 0.5 * (0.9 - 0.1) ** 2 / 1.0)


def test_empty_from_the_largest_correlation_on_and_not_below():
    S, _ = linear_network(4, 8)
    largest = np.abs(S - np.eye(8)).max()
    assert not order_bayes_net(S, largest).value.any()
    assert order_bayes_net(S, 0.99 * largest).value.any()


def test_homotopy_finds_smaller_objectives():
    falls = []
    for seed in range(8):
        S, _ = linear_network(seed, 20, 200)
        literal = order_bayes_net(S, 0.1, schedule="literal")
        falls.append(1 - order_bayes_net(S, 0.1).objective / literal.objective)
    assert np.mean(falls) > 0.001


def test_the_start_decides_the_literal_order():
    S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    chain = np.zeros((3, 3))
    chain[0, 1] = chain[1, 2] = 0.5
    forward = order_bayes_net(S, 0.1, schedule="literal", init=chain)
    backward = order_bayes_net(S, 0.1, schedule="literal", init=chain.T)
    np.testing.assert_array_equal(forward.value != 0, chain != 0)
    np.testing.assert_array_equal(backward.value != 0, chain.T != 0)


def test_the_default_start_is_the_lasso_of_each_variable_on_all_others():
    S, _ = linear_network(6, 10)
    alone, _ = lasso_in_order(S, 0.1, ~np.eye(10, dtype=bool))
    lassos = set_up(S, 0.1)
    rows = lassos.start(None)
    assert lasso_objective(S, rows.T, np.full_like(S, 0.1)) == pytest.approx(alone, abs=1e-8)
    given_start = order_bayes_net(S, 0.1, init=np.ascontiguousarray(rows.T))
    np.testing.assert_array_equal(given_start.value, order_bayes_net(S, 0.1).value)


def test_forbidden_and_dear_arcs():
    S, _ = linear_network(7, 8)
    free = order_bayes_net(S, 0.1)
    tail, head = np.argwhere(free.value)[0]
    weights = np.ones_like(S)
    weights[tail, head] = np.inf
    weights[np.diag_indices(8)] = np.nan
    assert order_bayes_net(S, 0.1, weights=weights).value[tail, head] == 0
    uneven = np.random.default_rng(0).uniform(0.5, 2.0, S.shape)
    found = order_bayes_net(S, 0.1, weights=uneven)
    allowed = upward(found.tiers)
    assert optimality_violation(S, found.value, 0.1 * uneven, allowed) <= 1e-10


def test_a_forbidden_arc_is_not_started_from():
    init = np.array([[0.0, 0.9], [0.1, 0.0]])
    weights = np.array([[1.0, np.inf], [1.0, 1.0]])
    S = np.array([[1.0, 0.6], [0.6, 1.0]])
    found = order_bayes_net(S, 0.1, init=init, weights=weights, schedule="literal")
    assert found.value[1, 0] == pytest.approx(0.5)


def test_penalised_intercepts_in_closed_form():
    location = np.array([0.5, -0.05, 1.0])
    alone = order_bayes_net(np.eye(3), 0.1, location=location, weights=np.full((3, 3), np.inf))
    np.testing.assert_allclose(alone.intercept, [0.4, 0.0, 0.9], atol=1e-12)
    expected = 0.5 * np.sum(1 + (location - alone.intercept) ** 2) + 0.1 * 1.3
    assert alone.objective == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(3))
def test_penalised_intercepts_are_a_column_of_ones(seed):
    S, _ = linear_network(seed, 6, 50)
    location = np.random.default_rng(seed).normal(size=6)
    found = order_bayes_net(S, 0.1, location=location)
    assert is_acyclic(found.value)
    assert found.intercept.any()
    # Moments about 0 of the variables and of one that is constant.
    moments = np.block([[S + np.outer(location, location), location[:, None]], [location, 1.0]])
    coef = np.zeros((7, 7))
    coef[:6, :6], coef[6, :6] = found.value, found.intercept
    allowed = upward(np.append(found.tiers, -1))
    allowed[:, 6] = False
    assert optimality_violation(moments, coef, np.full((7, 7), 0.1), allowed) <= 1e-9
    free = order_bayes_net(S, 0.1)
    np.testing.assert_array_equal(free.intercept, np.zeros(6))


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_moves_with_the_variables(seed):
    S, _ = linear_network(seed, 12, 25)
    order = np.random.default_rng(seed).permutation(12)
    # So small an alpha leaves no pair by itself, whose arc would go by position.
    found = order_bayes_net(S, 0.03)
    moved = order_bayes_net(S[np.ix_(order, order)], 0.03)
    np.testing.assert_array_equal(moved.tiers, found.tiers[order])
    np.testing.assert_allclose(moved.value, found.value[np.ix_(order, order)], atol=1e-9)


def test_a_common_unit_only_scales_alpha():
    S, _ = linear_network(8, 8, standardize=False)
    found = order_bayes_net(S, 0.2)
    scaled = order_bayes_net(49.0 * S, 49.0 * 0.2)
    np.testing.assert_allclose(scaled.value, found.value, atol=1e-10)
    assert scaled.objective == pytest.approx(49.0 * found.objective)


def test_threads_change_nothing():
    S, _ = linear_network(9, 30)
    one = order_bayes_net(S, 0.05)
    for n_jobs in (2, -1):
        many = order_bayes_net(S, 0.05, n_jobs=n_jobs)
        np.testing.assert_array_equal(many.value, one.value)
        np.testing.assert_array_equal(many.history, one.history)


def test_more_variables_than_rows():
    S, _ = linear_network(10, 40, 12)
    found = order_bayes_net(S, 0.2)
    assert found.converged
    assert is_acyclic(found.value)
    assert found.value.any()


def test_identical_variables_do_no_harm():
    S, _ = linear_network(11, 6)
    twins = np.r_[np.arange(6), 0]
    found = order_bayes_net(S[np.ix_(twins, twins)], 0.1)
    assert is_acyclic(found.value)
    assert found.violation <= 1e-10


def test_running_out_of_iterations_is_said():
    S, _ = linear_network(12, 15)
    init = np.random.default_rng(0).normal(size=(15, 15))
    np.fill_diagonal(init, 0)
    stopped = order_bayes_net(S, 0.05, schedule="literal", init=init, max_iter=1)
    assert not stopped.converged
    assert is_acyclic(stopped.value)
    assert order_bayes_net(S, 0.05, schedule="literal", init=init).converged


def test_tolerance_is_obeyed():
    S, _ = linear_network(13, 20, 30)
    rough = order_bayes_net(S, 0.02, tol=1e-2)
    assert rough.converged
    assert order_bayes_net(S, 0.02).violation < 1e-10 < rough.violation <= 1e-2


def test_one_variable():
    found = order_bayes_net(np.array([[2.0]]), 0.1)
    assert found.value == [[0.0]]
    assert found.objective == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.0}, "alpha_positive_for_arcs"),
        ({"alpha": -1.0}, "finite_non_negative"),
        ({"alpha": np.nan}, "finite_non_negative"),
        ({"schedule": "slow"}, "unknown_schedule"),
        ({"S": np.ones((2, 3))}, "covariance_not_square"),
        ({"S": np.array([[1.0, np.nan], [np.nan, 1.0]])}, "covariances_not_finite"),
        ({"S": np.diag([1.0, 0.0])}, "variance_not_positive_at"),
        ({"init": np.zeros((3, 3))}, "arcs_init_shape"),
        ({"init": np.full((2, 2), np.nan)}, "arcs_init_shape"),
        ({"init": np.eye(2)}, "arcs_init_diagonal"),
        ({"weights": np.ones((3, 3))}, "arc_weights_shape"),
        ({"weights": np.zeros((2, 2))}, "arc_weights_positive"),
        ({"weights": np.full((2, 2), np.nan)}, "arc_weights_positive"),
        ({"location": np.zeros(3)}, "location_length"),
        ({"location": np.array([0.0, np.inf])}, "location_length"),
        ({"tol": 0.0}, "tol_positive"),
        ({"max_iter": 0}, "max_iter_range"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"S": np.eye(2), "alpha": 0.1} | change
    with raises(InputError, code=message):
        order_bayes_net(arguments.pop("S"), arguments.pop("alpha"), **arguments)
