from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import sparse

from edgewise import InputError, SolverError
from edgewise.solvers.gaussian.graphical_lasso import graphical_lasso
from edgewise.solvers.space.difference_penalty import difference_penalized
from tests.cases import by_default
from tests.messages import raises
from tests.solvers.space.locally_constant_problems import (
    cvxpy_difference_penalized,
    difference_matrix,
    elementwise,
    golden_problem,
    operator_objective,
    pairs_of,
    random_pairs,
    random_problem,
    sample_sizes,
)


def operator_of(kind, rng, p):
    """Difference operator of one of the arrangements, by name."""
    if kind == "laplacian":
        D = difference_matrix(pairs_of("ring", p), p)
        return D.T @ D
    if kind == "arbitrary":
        return difference_matrix(random_pairs(rng, p, p + 2), p)
    shape = (3, p // 3) if kind == "grid" else (p,)
    return difference_matrix(pairs_of(kind, *shape), p)


def random_weights(rng, p):
    weights = rng.uniform(0.2, 3.0, (p, p))
    return (weights + weights.T) / 2


def assert_optimal(solution, S, thresholds, tau, D, tol):
    """Everything that a solution promises, by independent arithmetic."""
    p = len(S)
    Theta = solution.value
    assert np.array_equal(Theta, Theta.T)
    np.testing.assert_allclose(Theta @ solution.covariance, np.eye(p), atol=1e-10)
    value = operator_objective(Theta, S, thresholds, tau, D)
    assert solution.objective == pytest.approx(value, abs=1e-10 * p)
    assert solution.converged
    assert 0 <= solution.gap <= tol * p
    assert solution.n_iter == len(solution.history) - 1
    assert solution.history.min() == solution.gap


@pytest.mark.parametrize("kind", ["chain", "ring", "grid", "arbitrary", "laplacian"])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("with_weights", [True, False])
@pytest.mark.parametrize("p", by_default(1, [6, 9]))
def test_agrees_with_cvxpy(kind, penalize_diagonal, with_weights, p):
    rng = np.random.default_rng(3)
    D = operator_of(kind, rng, p)
    for n_samples, alpha, tau in zip(
        sample_sizes(p), (0.1, 0.04, 0.02), (0.01, 0.1, 0.03), strict=True
    ):
        S = random_problem(rng, random_pairs(rng, p, p), p, n_samples)
        weights = random_weights(rng, p) if with_weights else None
        thresholds = elementwise(p, alpha, weights, penalize_diagonal)
        solution = difference_penalized(
            S,
            alpha,
            tau,
            D,
            weights=weights,
            penalize_diagonal=penalize_diagonal,
            tol=1e-8,
            max_iter=20_000,
        )
        assert_optimal(solution, S, thresholds, tau, D, 1e-8)
        best, _ = cvxpy_difference_penalized(S, thresholds, tau, D)
        assert -1e-7 <= solution.objective - best <= solution.gap + 1e-8


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 8), st.floats(0.0, 0.5))
def test_any_operator_and_a_gap_that_bounds_the_distance(seed, p, n_rows, tau):
    """Operators with any numbers in them, rows of zeros and rows without any zero."""
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(n_rows, p)) * (rng.random((n_rows, p)) < rng.choice([0.0, 0.4, 1.0]))
    S = random_problem(rng, pairs_of("chain", p), p, 2 * p)
    thresholds = elementwise(p, 0.05)
    best, _ = cvxpy_difference_penalized(S, thresholds, tau, D)
    for max_iter in (1, 5, 20, 5000):
        solution = difference_penalized(S, 0.05, tau, D, max_iter=max_iter)
        value = operator_objective(solution.value, S, thresholds, tau, D)
        assert solution.objective == pytest.approx(value, abs=1e-10)
        assert solution.gap >= value - best - 1e-7
        assert solution.gap >= 0
        assert value >= best - 1e-7
    assert solution.converged


def test_closed_form():
    S, alpha, tau, pairs = golden_problem()
    D = difference_matrix(pairs, 14)
    solution = difference_penalized(S, alpha, tau, D, tol=1e-12)
    assert solution.objective == pytest.approx(14.6333678568, abs=1e-9)
    np.testing.assert_allclose(solution.value[2:5, 8:11], -0.0699557962, atol=1e-7)
    expected = np.full(14, 1 / 1.05)
    expected[np.r_[2:5, 8:11]] = 0.9680377258
    np.testing.assert_allclose(np.diagonal(solution.value), expected, atol=1e-7)


def test_without_differences_it_is_the_graphical_lasso():
    rng = np.random.default_rng(5)
    S = random_problem(rng, pairs_of("chain", 9), 9, 6)
    D = difference_matrix(pairs_of("chain", 9), 9)
    for penalize_diagonal in (True, False):
        expected = graphical_lasso(S, 0.1, penalize_diagonal=penalize_diagonal, tol=1e-12)
        for operator, tau in [(D, 0.0), (D[:0], 0.3), (np.zeros((2, 9)), 0.3)]:
            solution = difference_penalized(
                S, 0.1, tau, operator, penalize_diagonal=penalize_diagonal, tol=1e-10
            )
            assert solution.converged
            assert solution.objective == pytest.approx(expected.objective, abs=1e-8)
            np.testing.assert_allclose(solution.value, expected.value, atol=1e-4)


def test_huge_tau_makes_all_edges_equal():
    rng = np.random.default_rng(6)
    S = random_problem(rng, pairs_of("chain", 6), 6, 40)
    D = difference_matrix(pairs_of("chain", 6), 6)
    off = difference_penalized(S, 0.001, 50.0, D, max_iter=20_000).value[np.triu_indices(6, 1)]
    assert np.ptp(off) < 1e-5 < np.abs(off).min()


@pytest.mark.parametrize("factor", [1e-8, 1e8])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
def test_units_do_not_matter(factor, penalize_diagonal):
    rng = np.random.default_rng(8)
    S = random_problem(rng, pairs_of("ring", 8), 8, 5)
    D = difference_matrix(pairs_of("ring", 8), 8)
    base = difference_penalized(S, 0.05, 0.02, D, penalize_diagonal=penalize_diagonal, tol=1e-9)
    scaled = difference_penalized(
        S * factor,
        0.05 * factor,
        0.02 * factor,
        D,
        penalize_diagonal=penalize_diagonal,
        tol=1e-9,
    )
    assert scaled.converged
    np.testing.assert_allclose(scaled.value * factor, base.value, atol=1e-6)
    np.testing.assert_allclose(scaled.covariance / factor, base.covariance, atol=1e-6)
    assert scaled.objective - 8 * np.log(factor) == pytest.approx(base.objective, abs=1e-7)
    rows = difference_penalized(
        S, 0.05, 0.02 / factor, D * factor, penalize_diagonal=penalize_diagonal, tol=1e-9
    )
    np.testing.assert_allclose(rows.value, base.value, atol=1e-6)


def test_variables_of_very_different_scale():
    rng = np.random.default_rng(9)
    scale = np.logspace(-2, 2, 6)
    S = random_problem(rng, pairs_of("chain", 6), 6, 20) * np.outer(scale, scale)
    D = difference_matrix(pairs_of("chain", 6), 6)
    weights = np.outer(scale, scale)
    solution = difference_penalized(S, 0.05, 1e-3, D, weights=weights)
    assert_optimal(solution, S, 0.05 * weights, 1e-3, D, 1e-6)


def test_permuted_variables_give_the_permuted_solution():
    rng = np.random.default_rng(10)
    pairs = pairs_of("grid", 3, 3)
    S = random_problem(rng, pairs, 9, 18)
    D = difference_matrix(pairs, 9)
    weights = random_weights(rng, 9)
    order = rng.permutation(9)
    both = np.ix_(order, order)
    base = difference_penalized(S, 0.03, 0.05, D, weights=weights, tol=1e-11)
    moved = difference_penalized(
        S[both], 0.03, 0.05, D[::-1, order], weights=weights[both], tol=1e-11
    )
    np.testing.assert_allclose(moved.value, base.value[both], atol=1e-5)
    assert moved.objective == pytest.approx(base.objective, abs=1e-9)


def test_operator_may_be_sparse_or_a_list():
    rng = np.random.default_rng(12)
    S = random_problem(rng, pairs_of("chain", 5), 5, 10)
    D = difference_matrix(pairs_of("chain", 5), 5)
    expected = difference_penalized(S, 0.05, 0.1, D).value
    # A zero that is stored is a zero; entries given twice add up.
    rows, columns = np.nonzero(np.ones_like(D))
    stored = sparse.coo_array((D.ravel(), (rows, columns)), shape=D.shape)
    twice = sparse.coo_array(
        (np.tile(D.ravel() / 2, 2), (np.tile(rows, 2), np.tile(columns, 2))), shape=D.shape
    )
    for operator in (sparse.csc_matrix(D), stored, twice, D.astype(int).tolist()):
        np.testing.assert_array_equal(difference_penalized(S, 0.05, 0.1, operator).value, expected)
    assert stored.nnz == D.size


@pytest.mark.parametrize("p", [1, 2])
def test_one_and_two_variables(p):
    S = np.array([[2.0, 0.7], [0.7, 1.0]])[:p, :p]
    D = difference_matrix(pairs_of("chain", p), p)
    solution = difference_penalized(S, 0.1, 0.5, D, tol=1e-10)
    expected = np.linalg.inv(np.array([[2.1, 0.6], [0.6, 1.1]])[:p, :p])
    np.testing.assert_allclose(solution.value, expected, atol=1e-8)


def test_free_edges_where_the_optimum_exists():
    rng = np.random.default_rng(14)
    p = 8
    D = difference_matrix(pairs_of("chain", p), p)
    S = random_problem(rng, pairs_of("chain", p), p, 4)
    weights = np.ones((p, p))
    for i, j in [(0, 1), (2, 5), (3, 7)]:
        weights[i, j] = weights[j, i] = 0.0
    for penalize_diagonal in (True, False):
        thresholds = elementwise(p, 0.05, weights, penalize_diagonal)
        solution = difference_penalized(
            S,
            0.05,
            0.02,
            D,
            weights=weights,
            penalize_diagonal=penalize_diagonal,
            tol=1e-8,
            max_iter=50_000,
        )
        assert_optimal(solution, S, thresholds, 0.02, D, 1e-8)
        best, _ = cvxpy_difference_penalized(S, thresholds, 0.02, D)
        assert -1e-6 <= solution.objective - best <= solution.gap + 1e-7


def test_covariance_with_negative_eigenvalues():
    S = np.full((4, 4), -0.5)
    np.fill_diagonal(S, 1.0)
    assert np.linalg.eigvalsh(S)[0] < -0.4
    D = difference_matrix(pairs_of("chain", 4), 4)
    solution = difference_penalized(S, 0.3, 0.1, D, penalize_diagonal=False, tol=1e-8)
    thresholds = elementwise(4, 0.3, None, False)
    assert_optimal(solution, S, thresholds, 0.1, D, 1e-8)
    best, _ = cvxpy_difference_penalized(S, thresholds, 0.1, D)
    assert abs(solution.objective - best) <= solution.gap + 1e-7


@pytest.mark.parametrize("covariance", [1.0, 1.5])
def test_problem_without_a_minimum_is_refused(covariance):
    S = np.eye(3)
    S[0, 1] = S[1, 0] = covariance
    weights = np.ones((3, 3))
    weights[0, 1] = weights[1, 0] = 0.0
    D = difference_matrix(pairs_of("chain", 3), 3)[1:]
    with raises(SolverError, code="free_edges_singular"):
        difference_penalized(S, 0.1, 0.0, D, weights=weights, penalize_diagonal=False)


def test_running_out_of_iterations_is_said():
    rng = np.random.default_rng(15)
    pairs = pairs_of("grid", 3, 3)
    S = random_problem(rng, pairs, 9, 5)
    D = difference_matrix(pairs, 9)
    stopped = difference_penalized(S, 0.01, 0.1, D, tol=1e-10, max_iter=7)
    assert not stopped.converged
    assert stopped.n_iter == 7
    assert stopped.gap == stopped.history.min() > 1e-10 * 9
    rough = difference_penalized(S, 0.01, 0.1, D, tol=1e-2)
    fine = difference_penalized(S, 0.01, 0.1, D, tol=1e-6)
    assert rough.converged
    assert fine.converged
    assert rough.n_iter < fine.n_iter
    assert (fine.alpha, fine.tau) == (0.01, 0.1)


def test_read_only_arrays_are_left_alone():
    S = np.array([[1.0, 0.4], [0.4, 1.0]])
    D = np.array([[1.0, -1.0]])
    for array in (S, D):
        array.setflags(write=False)
    assert difference_penalized(S, 0.1, 0.1, D).converged


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"S": np.ones((2, 3))}, "covariance_not_square"),
        ({"S": np.array([[1.0, 0.5], [0.1, 1.0]])}, "covariance_asymmetric_at"),
        ({"S": np.array([[1.0, 0.0], [0.0, 0.0]])}, "variance_not_positive_at"),
        ({"alpha": 0.0}, "difference_alpha"),
        ({"alpha": np.nan}, "difference_alpha"),
        ({"tau": -0.1}, "finite_non_negative"),
        ({"tau": np.inf}, "finite_non_negative"),
        ({"operator": np.ones((1, 3))}, "operator_shape"),
        ({"operator": np.ones(2)}, "operator_shape"),
        ({"operator": np.array([[1.0, np.nan]])}, "operator_not_finite"),
        ({"weights": np.array([[1.0, np.inf], [np.inf, 1.0]])}, "difference_weights"),
        ({"weights": np.array([[1.0, -1.0], [-1.0, 1.0]])}, "glasso_weights_range"),
        ({"tol": 0.0}, "tol_positive"),
        ({"max_iter": 0}, "max_iter_range"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"S": np.eye(2), "alpha": 0.1, "tau": 0.1, "operator": np.array([[1.0, -1.0]])}
    with raises(InputError, code=message):
        difference_penalized(**arguments | change)
