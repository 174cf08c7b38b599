"""Fused regressions in two groups against an interior point method, scikit-learn and algebra."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import Lasso

from edgewise import InputError, SolverError
from edgewise.solvers.change.fused_neighborhood import (
    _best_pair,
    fused_neighborhood,
    fused_neighborhood_alpha_max,
    fused_neighborhood_path,
)
from tests.messages import raises

SIZES = [(40, 30), (7, 6), (150, 6)]


def two_samples(seed, d=7, sizes=(40, 30)):
    """Rows of two groups that differ in a few links, centred."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(d) + 0.6 * rng.normal(size=(d, d)) * (rng.random((d, d)) < 0.3)
    other = mixing.copy()
    other[0, 1] += 0.8
    both = [rng.normal(size=(sizes[g], d)) @ (mixing, other)[g] for g in (0, 1)]
    return [rows - rows.mean(axis=0) for rows in both]


def covariances(both):
    return np.stack([rows.T @ rows / len(rows) for rows in both])


def objective(both, coefs, alpha, sparsity):
    """From the rows, not from their covariances."""
    loss = sum(
        np.sum((rows - rows @ one) ** 2) / (2 * len(rows))
        for rows, one in zip(both, coefs, strict=True)
    )
    change = np.abs(coefs[1] - coefs[0]).sum()
    return loss + sparsity * np.abs(coefs).sum() + alpha * change


def oracle(both, u, alpha, sparsity):
    """Coefficients of the regression of variable u, by an interior point method."""
    d = both[0].shape[1]
    b = [cp.Variable(d), cp.Variable(d)]
    cost = alpha * cp.norm1(b[1] - b[0])
    for rows, one in zip(both, b, strict=True):
        cost += cp.sum_squares(rows[:, u] - rows @ one) / (2 * len(rows))
        cost += sparsity * cp.norm1(one)
    problem = cp.Problem(cp.Minimize(cost), [b[0][u] == 0, b[1][u] == 0])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return np.stack([one.value for one in b])


@pytest.mark.parametrize("sparsity", [0.0, 0.005, 0.1])
@pytest.mark.parametrize("sizes", SIZES)
def test_agrees_with_an_interior_point_method(sizes, sparsity):
    both = two_samples(sum(sizes), sizes=sizes)
    S = covariances(both)
    for alpha in fused_neighborhood_alpha_max(S, sparsity=sparsity) * np.array([0.7, 0.05]):
        solution = fused_neighborhood(S, alpha, sparsity=sparsity, tol=1e-10)
        assert solution.converged
        assert 0.0 <= solution.gap <= 1e-10 * 7
        assert solution.objective == pytest.approx(
            objective(both, solution.value, alpha, sparsity), abs=1e-10
        )
        expected = np.stack([oracle(both, u, alpha, sparsity) for u in range(7)], axis=2)
        assert solution.objective <= objective(both, expected, alpha, sparsity) + 1e-9
        np.testing.assert_allclose(solution.value, expected, atol=3e-5)


def test_the_gap_is_what_the_objective_may_still_fall():
    S = covariances(two_samples(3))
    for sparsity in (0.0, 0.02):
        best = fused_neighborhood(S, 0.05, sparsity=sparsity, tol=1e-13).objective
        # One round is a single pass, far from done.
        rough = fused_neighborhood(S, 0.05, sparsity=sparsity, tol=1e-13, max_iter=1)
        assert not rough.converged
        assert rough.n_iter == 1
        assert 0 < rough.objective - best <= rough.gap


@pytest.mark.parametrize("sparsity", [0.0, 0.05])
@pytest.mark.parametrize("sizes", SIZES)
def test_no_change_at_the_largest_alpha_and_some_just_below(sizes, sparsity):
    S = covariances(two_samples(8, sizes=sizes))
    largest = fused_neighborhood_alpha_max(S, sparsity=sparsity)
    at, below = fused_neighborhood_path(S, [largest, 0.999 * largest], sparsity=sparsity, tol=1e-11)
    np.testing.assert_array_equal(at.value[0], at.value[1])
    assert np.count_nonzero(below.value[1] - below.value[0]) == 1
    if sparsity == 0:
        # What is in common is then the regression on the rows of both, each group counting 1.
        inverse = np.linalg.inv(S[0] + S[1])
        pooled = np.where(np.eye(7, dtype=bool), 0.0, -inverse / inverse.diagonal())
        np.testing.assert_allclose(at.value[0], pooled, atol=1e-9)


def test_without_fusion_the_groups_are_regressed_apart():
    both = two_samples(1)
    solution = fused_neighborhood(covariances(both), 0.0, sparsity=0.1, tol=1e-14)
    for rows, one in zip(both, solution.value, strict=True):
        lasso = Lasso(alpha=0.1, fit_intercept=False, tol=1e-13, max_iter=10**6)
        lasso.fit(rows[:, 1:], rows[:, 0])
        np.testing.assert_allclose(one[1:, 0], lasso.coef_, atol=1e-8)


@pytest.mark.parametrize("sparsity", [0.0, 0.03])
def test_equivariance(sparsity):
    S = covariances(two_samples(5))
    plain = fused_neighborhood(S, 0.08, sparsity=sparsity, tol=1e-13)
    order = np.random.default_rng(0).permutation(7)
    moved = fused_neighborhood(S[:, order][:, :, order], 0.08, sparsity=sparsity, tol=1e-13)
    np.testing.assert_allclose(moved.value, plain.value[:, order][:, :, order], atol=1e-7)
    swapped = fused_neighborhood(S[::-1], 0.08, sparsity=sparsity, tol=1e-13)
    np.testing.assert_allclose(swapped.value, plain.value[::-1], atol=1e-7)
    np.testing.assert_allclose(swapped.change(), -plain.change(), atol=1e-7)
    assert np.count_nonzero(plain.change()) > 0
    # In units where everything is three times as large, penalties count nine times as much.
    larger = fused_neighborhood(9 * S, 9 * 0.08, sparsity=9 * sparsity, tol=1e-12)
    np.testing.assert_allclose(larger.value, plain.value, atol=1e-7)
    assert larger.objective == pytest.approx(9 * plain.objective)


@pytest.mark.parametrize("sparsity", [0.0, 0.02])
def test_a_path_gives_what_single_solves_do(sparsity):
    S = covariances(two_samples(6))
    alphas = [0.02, 0.2, 0.06]
    path = fused_neighborhood_path(S, alphas, sparsity=sparsity, tol=1e-12)
    assert [solution.alpha for solution in path] == alphas
    for alpha, solution in zip(alphas, path, strict=True):
        alone = fused_neighborhood(S, alpha, sparsity=sparsity, tol=1e-12)
        np.testing.assert_allclose(solution.value, alone.value, atol=1e-7)
    # A start at the solution is certified in the first round.
    again = fused_neighborhood(S, 0.02, sparsity=sparsity, init=path[0].value, tol=1e-8)
    assert again.n_iter == 1 < path[0].n_iter


def test_groups_that_are_alike_do_not_change():
    S = covariances(two_samples(4))[[0, 0]]
    for sparsity in (0.0, 0.05):
        assert fused_neighborhood_alpha_max(S, sparsity=sparsity) == 0
        assert not fused_neighborhood(S, 1e-5, sparsity=sparsity, tol=1e-13).change().any()


def test_more_variables_than_rows():
    S = covariances(two_samples(2, d=12, sizes=(8, 7)))
    solution = fused_neighborhood(S, 0.05, tol=1e-10)
    assert solution.converged
    fewer = covariances(two_samples(2, d=12, sizes=(6, 5)))
    with raises(SolverError, code="perfect_fit_without_sparsity"):
        fused_neighborhood(fewer, 0.05)
    with raises(SolverError, code="perfect_fit_without_sparsity"):
        fused_neighborhood_alpha_max(fewer)
    assert fused_neighborhood(fewer, 0.05, sparsity=0.05, tol=1e-10).converged


@pytest.mark.parametrize("sparsity", [0.0, 0.02, 0.2])
def test_a_variable_that_is_constant_in_one_group(sparsity):
    both = two_samples(9)
    both[0][:, 2] = 0.0
    S = covariances(both)
    solution = fused_neighborhood(S, 0.1, sparsity=sparsity, tol=1e-10)
    assert solution.converged
    expected = np.stack([oracle(both, u, 0.1, sparsity) for u in range(7)], axis=2)
    best = objective(both, expected, 0.1, sparsity)
    assert solution.objective == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("sparsity", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("alpha", [0.0, 0.4, 2.0])
def test_the_best_pair_is_the_minimum(alpha, sparsity):
    rng = np.random.default_rng(0)
    for _ in range(20):
        curvature = rng.uniform(0.3, 2.0, size=2)
        pull = rng.normal(scale=2.0, size=2)

        def cost(first, second, curvature=curvature, pull=pull):
            value = 0.0
            for a, z, b in zip(curvature, pull, (first, second), strict=True):
                value = value + 0.5 * a * b**2 - z * b + sparsity * np.abs(b)
            return value + alpha * np.abs(second - first)

        found = np.array(_best_pair(*curvature, *pull, alpha, sparsity))
        steps = rng.normal(size=(2, 500)) * 10.0 ** rng.uniform(-6, 1, size=500)
        steps[1, ::3] = steps[0, ::3]
        assert cost(*found) <= cost(*(found[:, None] + steps)).min() + 1e-13


def test_the_rule_takes_the_larger_or_the_smaller_change():
    S = covariances(two_samples(5))
    solution = fused_neighborhood(S, 0.08)
    change = solution.value[1] - solution.value[0]
    either, both = solution.change("or"), solution.change("and")
    for rule, joined in (("or", either), ("and", both)):
        np.testing.assert_array_equal(joined, joined.T, err_msg=rule)
    np.testing.assert_array_equal(either != 0, (change != 0) | (change.T != 0))
    np.testing.assert_array_equal(both != 0, (change != 0) & (change.T != 0))
    assert np.count_nonzero(both) < np.count_nonzero(either)
    assert np.isin(either, change).all()
    np.testing.assert_array_equal(np.abs(either), np.maximum(np.abs(change), np.abs(change.T)))
    with raises(InputError, code="rule_or_and", rule="xor"):
        solution.change("xor")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"S": np.eye(2)}, r"\(2, d, d\)"),
        ({"S": np.full((2, 2, 2), np.nan)}, "NaN"),
        ({"S": np.stack([np.eye(2), [[1.0, 0.5], [0.0, 1.0]]])}, "symmetric"),
        ({"S": np.stack([np.eye(2), -np.eye(2)])}, "negative"),
        ({"alpha": 0.0}, "above 0"),
        ({"alpha": -1.0}, "alpha"),
        ({"sparsity": -1.0}, "sparsity"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"init": np.zeros((2, 3, 3))}, "init"),
        ({"init": np.stack([np.eye(2)] * 2)}, "init"),
        ({"init": np.array([[[0.0, np.inf], [0.0, 0.0]], np.zeros((2, 2))])}, "init"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {"S": np.stack([np.eye(2)] * 2), "alpha": 0.1} | change
    with pytest.raises(InputError, match=message):
        fused_neighborhood(**arguments)


def test_an_empty_path_is_refused():
    with raises(InputError, code="alphas_empty"):
        fused_neighborhood_path(np.stack([np.eye(2)] * 2), [])
