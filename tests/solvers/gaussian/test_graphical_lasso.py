from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.signal import lfilter

from edgewise import InputError, SolverError
from edgewise.solvers import graphical_lasso, graphical_lasso_path
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from tests.messages import raises
from tests.solvers.gaussian.glasso_problems import (
    clipped_gap,
    kkt_residual,
    objective,
    penalty_matrix,
    sample_covariance,
)


def cvxpy_solution(S, T):
    p = len(S)
    Theta = cp.Variable((p, p), symmetric=True)
    finite = np.where(np.isinf(T), 0.0, T)
    terms = cp.trace(S @ Theta) - cp.log_det(Theta) + cp.sum(cp.multiply(finite, cp.abs(Theta)))
    constraints = [Theta[i, j] == 0 for i, j in np.argwhere(np.isinf(T)) if i < j]
    problem = cp.Problem(cp.Minimize(terms), constraints)
    problem.solve(solver=cp.CLARABEL)
    return Theta.value, problem.value


def assert_optimal(solution, S, T, tol):
    """Everything that a solution promises, by independent arithmetic."""
    p = len(S)
    Theta = solution.value
    assert np.array_equal(Theta, Theta.T)
    assert np.linalg.eigvalsh(Theta)[0] > 0
    assert np.abs(Theta @ solution.covariance - np.eye(p)).max() < 1e-8
    assert solution.objective == pytest.approx(objective(S, Theta, T), rel=1e-9, abs=1e-9)
    assert solution.converged
    assert 0 <= solution.gap <= tol * p
    assert clipped_gap(S, Theta, T) <= tol * p * 1.01 + 1e-11 * p


@settings(max_examples=25, deadline=None)
@given(
    p=st.integers(2, 7),
    n=st.integers(3, 30),
    seed=st.integers(0, 10_000),
    share=st.floats(0.02, 0.9),
    penalize_diagonal=st.booleans(),
    with_weights=st.booleans(),
)
def test_agrees_with_cvxpy_on_random_problems(p, n, seed, share, penalize_diagonal, with_weights):
    S = sample_covariance(p, n, seed)
    weights = None
    if with_weights:
        rng = np.random.default_rng(seed)
        weights = rng.choice([0.3, 1.0, 2.5, np.inf], (p, p))
        weights = np.triu(weights, 1)
        weights = weights + weights.T + np.diag(rng.uniform(0.5, 2.0, p))
    alpha = share * np.abs(S - np.diag(np.diag(S))).max()
    T = penalty_matrix(p, alpha, weights, penalize_diagonal)
    solution = graphical_lasso(
        S, alpha, weights=weights, penalize_diagonal=penalize_diagonal, tol=1e-9
    )
    assert_optimal(solution, S, T, 1e-9)
    expected, value = cvxpy_solution(S, T)
    scale = np.abs(expected).max()
    assert solution.objective <= value + 1e-5
    assert np.abs(solution.value - expected).max() < 2e-3 * scale


def free_and_forbidden(p, rng, free=0.2, forbidden=0.3):
    """Random weights, some of them 0 and some infinite."""
    weights, kind = np.triu(rng.uniform(0.3, 2.5, (p, p)), 1), rng.random((p, p))
    weights[(kind < free) & (weights > 0)] = 0.0
    weights[np.triu((kind >= free) & (kind < free + forbidden), 1)] = np.inf
    return weights + weights.T + np.eye(p)


@settings(max_examples=15, deadline=None)
@given(p=st.integers(3, 7), seed=st.integers(0, 10_000), share=st.floats(0.02, 0.9))
def test_agrees_with_cvxpy_on_free_and_forbidden_edges(p, seed, share):
    S = sample_covariance(p, 4 * p, seed)
    weights = free_and_forbidden(p, np.random.default_rng(seed))
    alpha = share * np.abs(S - np.diag(np.diag(S))).max()
    T = penalty_matrix(p, alpha, weights)
    solution = graphical_lasso(S, alpha, weights=weights, tol=1e-9)
    assert_optimal(solution, S, T, 1e-9)
    expected, value = cvxpy_solution(S, T)
    assert solution.objective <= value + 1e-5
    assert np.abs(solution.value - expected).max() < 2e-3 * np.abs(expected).max()


@pytest.mark.parametrize("kind", ["factor", "chain", "low rank", "tree"])
@pytest.mark.parametrize("p", [3, 10, 30, 48, 60, 100])
def test_anyone_can_confirm_the_gap(p, kind):
    """The gap at the inverse of the precision, clipped to the box, is at most that reported."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, noise = (p + 2, 3 * p, 10 * p)[seed % 3], rng.standard_normal((10 * p, p))
        if kind == "factor":
            rows = noise + rng.choice([1.0, 3.0, 10.0]) * rng.standard_normal((10 * p, 1))
        elif kind == "chain":
            rows = lfilter([1.0], [1.0, -rng.choice([0.9, 0.99])], noise, axis=1)
        elif kind == "low rank":
            loadings = rng.standard_normal((max(1, p // 4), p))
            rows = rng.standard_normal((10 * p, len(loadings))) @ loadings + 0.2 * noise
        else:
            rows = noise @ np.linalg.inv(np.eye(p) - np.triu(rng.random((p, p)) < 1 / p, 1))
        S = np.corrcoef(rows[:n], rowvar=False)
        weights = None if seed == 5 else free_and_forbidden(p, rng, 0.1 * (seed % 2))
        alphas = alpha_max(S) * 10.0 ** rng.uniform(-2.5, -0.2) * np.array([3.0, 1.0])
        tol = (1e-3, 1e-4, 1e-6)[seed % 3]
        for solution in (
            graphical_lasso(S, alphas[1], weights=weights, tol=tol),
            *graphical_lasso_path(S, alphas, weights=weights, tol=tol),
        ):
            gap = clipped_gap(S, solution.value, penalty_matrix(p, solution.alpha, weights))
            # What an objective of sums of this size is known to.
            rounding = 1e-13 * (np.abs(S * solution.value).sum() + p)
            assert gap <= solution.gap + rounding
            assert solution.converged
            assert solution.gap <= tol * p


@pytest.mark.parametrize("s12", [0.7, -0.3, 0.05])
def test_two_variables_in_closed_form(s12):
    S = np.array([[2.0, s12], [s12, 0.5]])
    W = np.array([[2.0, np.sign(s12) * max(abs(s12) - 0.1, 0)], [0, 0.5]])
    W[1, 0] = W[0, 1]
    solution = graphical_lasso(S, 0.1)
    np.testing.assert_allclose(solution.value, np.linalg.inv(W), atol=1e-12)
    np.testing.assert_allclose(solution.covariance, W, atol=1e-12)


def test_one_variable():
    solution = graphical_lasso(np.array([[4.0]]), 1.0, penalize_diagonal=True)
    assert solution.value[0, 0] == pytest.approx(0.2)


@pytest.mark.parametrize("n", [100, 1000])
def test_optimality_conditions_at_300_variables(n):
    S = sample_covariance(300, n, 3)
    alpha = 0.2 * alpha_max(S)
    solution = graphical_lasso(S, alpha, tol=1e-12)
    T = penalty_matrix(300, alpha)
    assert_optimal(solution, S, T, 1e-12)
    assert kkt_residual(S, solution.value, T) < 1e-6


@pytest.mark.parametrize(("p", "n"), [(10, 5), (30, 15), (60, 20), (60, 200)])
@pytest.mark.parametrize("share", [0.5, 0.1, 0.01, 0.001])
def test_from_strong_to_very_weak_penalties(p, n, share):
    S = sample_covariance(p, n, 7)
    alpha = share * alpha_max(S)
    assert_optimal(graphical_lasso(S, alpha), S, penalty_matrix(p, alpha), 1e-6)


@pytest.mark.parametrize("correlation", [0.9, 0.999, 0.99999])
def test_variables_that_are_nearly_copies_of_each_other(correlation):
    S = sample_covariance(40, 60, 1, correlation=correlation)
    for share in (0.5, 0.05):
        alpha = share * alpha_max(S)
        assert_optimal(graphical_lasso(S, alpha), S, penalty_matrix(40, alpha), 1e-6)


@pytest.mark.parametrize("p", [30, 120])
def test_long_chains_with_strong_links(p):
    S = 0.95 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    for alpha in (0.3, 0.05, 0.005):
        assert_optimal(graphical_lasso(S, alpha), S, penalty_matrix(p, alpha), 1e-6)


def test_the_order_of_a_chain_does_not_make_it_slow():
    """Shuffled, the first columns have many neighbours at first; ascent took 2,000 steps there."""
    rng = np.random.default_rng(4)
    rows = lfilter([1.0], [1.0, -0.95], rng.standard_normal((500, 400)), axis=1)[:, 100:]
    S = np.corrcoef(rows, rowvar=False)
    order = rng.permutation(300)
    for variables in (np.arange(300), order):
        part = S[np.ix_(variables, variables)]
        solution = graphical_lasso(part, 0.05)
        assert_optimal(solution, part, penalty_matrix(300, 0.05), 1e-6)
        assert solution.n_iter < 100


def test_exactly_singular_and_duplicated_variables():
    S = sample_covariance(12, 30, 2)
    S = S[np.ix_([0, 0, *range(1, 12)], [0, 0, *range(1, 12)])]
    solution = graphical_lasso(S, 0.2)
    assert_optimal(solution, S, penalty_matrix(13, 0.2), 1e-6)


def test_scales_from_tiny_to_huge():
    scales = 10.0 ** np.linspace(-6, 6, 10)
    S = sample_covariance(10, 50, 5, scales=scales)
    weights = np.outer(scales, scales)
    solution = graphical_lasso(S, 0.1, weights=weights, tol=1e-10)
    plain = graphical_lasso(S / weights, 0.1, tol=1e-10)
    np.testing.assert_allclose(solution.value * weights, plain.value, atol=1e-6)
    assert solution.gap <= 1e-9


def test_common_scale_moves_the_precision_alone():
    S = sample_covariance(15, 40, 6)
    one = graphical_lasso(S, 0.1, tol=1e-11)
    many = graphical_lasso(1e8 * S, 1e7, tol=1e-11)
    np.testing.assert_allclose(many.value * 1e8, one.value, atol=1e-7)


@pytest.mark.parametrize("p", [15, 80])
def test_permuting_variables_permutes_the_solution(p):
    S = sample_covariance(p, 50, 8)
    order = np.random.default_rng(0).permutation(p)
    one = graphical_lasso(S, 0.15, tol=1e-12).value
    other = graphical_lasso(S[np.ix_(order, order)], 0.15, tol=1e-12).value
    np.testing.assert_allclose(other, one[np.ix_(order, order)], atol=1e-6)


@pytest.mark.parametrize("p", [20, 80])
def test_empty_at_alpha_max_and_not_below(p):
    S = sample_covariance(p, 60, 9)
    top = alpha_max(S)
    empty = graphical_lasso(S, top)
    np.testing.assert_allclose(empty.value, np.diag(1 / np.diag(S)))
    assert empty.gap == pytest.approx(0, abs=1e-12)
    assert np.count_nonzero(graphical_lasso(S, 0.999 * top).value) == p + 2


def test_alpha_max_with_weights():
    S = sample_covariance(6, 30, 1)
    weights = np.full((6, 6), 2.0)
    weights[0, 1] = weights[1, 0] = np.inf
    weights[2, 3] = weights[3, 2] = 0.0
    top = alpha_max(S, weights=weights)
    below = graphical_lasso(S, 0.999 * top, weights=weights).value
    at = graphical_lasso(S, top, weights=weights).value
    assert np.count_nonzero(at) == 6 + 2
    assert np.count_nonzero(below) == 6 + 4


@pytest.mark.parametrize("p", [12, 60])
def test_forbidden_and_free_edges(p):
    S = sample_covariance(p, 4 * p, 4)
    weights = np.ones((p, p))
    weights[0, 1] = weights[1, 0] = np.inf
    weights[2, 3] = weights[3, 2] = 0.0
    solution = graphical_lasso(S, 0.4, weights=weights, tol=1e-10)
    assert_optimal(solution, S, penalty_matrix(p, 0.4, weights), 1e-10)
    assert solution.value[0, 1] == 0
    assert solution.covariance[2, 3] == pytest.approx(S[2, 3], abs=1e-6)
    plain = graphical_lasso(S, 0.4, tol=1e-10)
    assert np.abs(plain.value - solution.value).max() > 1e-3


@pytest.mark.parametrize("p", [10, 60])
def test_without_penalty_it_is_the_inverse(p):
    S = sample_covariance(p, 5 * p, 4)
    np.testing.assert_allclose(
        graphical_lasso(S, 0.0, tol=1e-12).value, np.linalg.inv(S), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("p", [10, 60])
def test_without_penalty_a_singular_covariance_has_no_solution(p):
    with raises(SolverError, code="unpenalised_singular"):
        graphical_lasso(sample_covariance(p, p // 2, 4), 0.0)


def test_components_are_solved_apart():
    first, second = sample_covariance(40, 80, 1), sample_covariance(50, 80, 2)
    S = np.zeros((90, 90))
    S[:40, :40] = first
    S[40:, 40:] = second
    mixed = np.random.default_rng(0).permutation(90)
    whole = graphical_lasso(S[np.ix_(mixed, mixed)], 0.1, tol=1e-11).value
    back = np.argsort(mixed)
    whole = whole[np.ix_(back, back)]
    assert not whole[:40, 40:].any()
    np.testing.assert_allclose(
        whole[:40, :40], graphical_lasso(first, 0.1, tol=1e-11).value, atol=1e-6
    )
    np.testing.assert_allclose(
        whole[40:, 40:], graphical_lasso(second, 0.1, tol=1e-11).value, atol=1e-6
    )


@pytest.mark.parametrize("p", [15, 70])
@pytest.mark.parametrize("penalize_diagonal", [False, True])
def test_path_equals_single_solves_in_the_order_given(p, penalize_diagonal):
    S = sample_covariance(p, 60, 11, scales=np.linspace(0.5, 2, p))
    alphas = [0.3, 0.05, 0.3, 0.8, 0.1]
    path = graphical_lasso_path(S, alphas, penalize_diagonal=penalize_diagonal, tol=1e-10)
    for alpha, solution in zip(alphas, path, strict=True):
        assert solution.alpha == alpha
        T = penalty_matrix(p, alpha, None, penalize_diagonal)
        assert_optimal(solution, S, T, 1e-10)
        single = graphical_lasso(S, alpha, penalize_diagonal=penalize_diagonal, tol=1e-10)
        np.testing.assert_allclose(solution.value, single.value, atol=1e-5)


@pytest.mark.parametrize("p", [15, 70])
def test_warm_start_saves_sweeps_and_changes_nothing_else(p):
    S = sample_covariance(p, 60, 12)
    cold = graphical_lasso(S, 0.1, tol=1e-10)
    warm = graphical_lasso(S, 0.1, init=cold.value, tol=1e-10)
    assert warm.n_iter < cold.n_iter
    np.testing.assert_allclose(warm.value, cold.value, atol=1e-6)


@pytest.mark.parametrize("p", [15, 70])
def test_a_misleading_warm_start_does_no_harm(p):
    S = sample_covariance(p, 60, 12)
    init = np.linalg.inv(sample_covariance(p, 500, 99))
    solution = graphical_lasso(S, 0.1, init=init)
    assert_optimal(solution, S, penalty_matrix(p, 0.1), 1e-6)


@pytest.mark.parametrize("p", [15, 70])
def test_out_of_iterations_is_said_and_still_certified(p):
    S = sample_covariance(p, 40, 13, correlation=0.9)
    T = penalty_matrix(p, 0.02)
    solution = graphical_lasso(S, 0.02, tol=1e-10, max_iter=2)
    best = graphical_lasso(S, 0.02, tol=1e-10)
    assert not solution.converged
    assert np.linalg.eigvalsh(solution.value)[0] > 0
    assert solution.gap > 1e-10 * p
    assert objective(S, solution.value, T) - best.objective <= solution.gap


def test_the_gap_bounds_the_distance_to_the_optimum():
    S = sample_covariance(60, 50, 14)
    best = graphical_lasso(S, 0.1, tol=1e-13).objective
    for tol in (1e-2, 1e-4, 1e-6):
        solution = graphical_lasso(S, 0.1, tol=tol)
        assert -1e-10 <= solution.objective - best <= solution.gap + 1e-10
        assert solution.gap == pytest.approx(solution.history[-1])


@pytest.mark.parametrize("kind", ["read-only", "fortran", "float32", "nested lists"])
def test_arrays_of_any_kind(kind):
    S = sample_covariance(8, 30, 1).astype(np.float32).astype(float)
    given_as = {
        "read-only": S.copy(),
        "fortran": np.asfortranarray(S),
        "float32": S.astype(np.float32),
        "nested lists": S.tolist(),
    }[kind]
    if kind == "read-only":
        given_as.flags.writeable = False
    np.testing.assert_allclose(
        graphical_lasso(given_as, 0.1).value, graphical_lasso(S, 0.1).value, atol=1e-12
    )


def test_inputs_are_left_alone():
    S = sample_covariance(60, 30, 1)
    copy = S.copy()
    graphical_lasso(S, 0.1, init=np.eye(60))
    graphical_lasso(S[:10, :10].copy(), 0.1)
    assert np.array_equal(S, copy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"S": np.ones((2, 3))}, "square"),
        ({"S": np.empty((0, 0))}, "square"),
        ({"S": np.array([[1.0, np.nan], [np.nan, 1.0]])}, "NaN"),
        ({"S": np.array([[1.0, np.inf], [np.inf, 1.0]])}, "infinite"),
        ({"S": np.array([[1.0, 0.5], [0.2, 1.0]])}, "not symmetric"),
        ({"S": np.array([[1.0, 0.0], [0.0, 0.0]])}, "Variable 1 has variance 0"),
        ({"alpha": -0.1}, "alpha must be"),
        ({"alpha": np.nan}, "alpha must be"),
        ({"alpha": np.inf}, "alpha must be"),
        ({"tol": 0.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"weights": np.ones(2)}, "weights must have shape"),
        ({"weights": -np.ones((2, 2))}, "at least 0"),
        ({"weights": np.array([[1.0, 2.0], [1.0, 1.0]])}, "symmetric"),
        ({"weights": np.full((2, 2), np.inf)}, "diagonal of weights"),
        ({"init": np.eye(3)}, "init must have shape"),
        ({"init": -np.eye(2)}, "positive definite"),
        ({"init": np.full((2, 2), np.nan)}, "NaN"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"S": np.array([[1.0, 0.5], [0.5, 1.0]]), "alpha": 0.1} | change
    with pytest.raises(InputError, match=message):
        graphical_lasso(arguments.pop("S"), arguments.pop("alpha"), **arguments)


@pytest.mark.parametrize("alphas", [[], 0.1, [[0.1]], [0.1, -1.0]])
def test_bad_paths_are_refused(alphas):
    with pytest.raises(InputError, match="alpha"):
        graphical_lasso_path(np.eye(3), alphas)
