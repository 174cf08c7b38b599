"""Two log-linear models by importance-sampled likelihood, beside CVXPY and closed forms."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import stats

from edgewise import InputError
from edgewise.solvers.change.sampled_likelihood import (
    Proposals,
    draw_proposals,
    sampled_fused_alpha_max,
    sampled_fused_path,
)
from tests.messages import raises


def make_rows(seed, n=60, d=3):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(n, d)), rng.normal(size=(n + 10, d))
    second[:, 1] += 0.7 * second[:, 0]
    return first, second


def explicit_features(X, degree):
    """Monomials of every pair, one block per pair v <= u, in the order of the coefficients."""
    blocks = []
    for v in range(X.shape[1]):
        for u in range(v, X.shape[1]):
            x, y = X[:, v], X[:, u]
            alone = [x**k for k in range(1, degree + 1)]
            if u == v:
                blocks.append(np.column_stack(alone))
                continue
            both = [y**k for k in range(1, degree + 1)]
            cross = [
                x**a * y**b for a in range(1, degree) for b in range(1, degree) if a + b <= degree
            ]
            blocks.append(np.column_stack(alone + both + cross))
    return blocks


def solve_with_cvxpy(first, second, proposals, alpha, ridge, degree):
    blocks = explicit_features(proposals.rows, degree)
    objective, thetas = 0, []
    for rows in (first, second):
        theta = [cp.Variable(block.shape[1]) for block in blocks]
        means = [block.mean(axis=0) for block in explicit_features(rows, degree)]
        log_ratio = sum(block @ part for block, part in zip(blocks, theta, strict=True))
        objective += cp.log_sum_exp(log_ratio - proposals.log_density) - np.log(len(blocks[0]))
        objective -= sum(mean @ part for mean, part in zip(means, theta, strict=True))
        objective += ridge / 2 * sum(cp.sum_squares(part) for part in theta)
        thetas.append(theta)
    objective += alpha * sum(cp.norm(b - a) for a, b in zip(*thetas, strict=True))
    problem = cp.Problem(cp.Minimize(objective))
    problem.solve(solver=cp.CLARABEL)
    lengths = [np.linalg.norm(b.value - a.value) for a, b in zip(*thetas, strict=True)]
    return problem.value, np.array(lengths)


@pytest.mark.parametrize(
    ("degree", "ridge", "share"), [(2, 0.1, 0.5), (2, 1.0, 0.2), (3, 0.5, 0.4)]
)
def test_agrees_with_cvxpy(degree, ridge, share):
    first, second = make_rows(degree)
    proposals = draw_proposals(3, 80, rng=1)
    alpha = share * sampled_fused_alpha_max(first, second, degree=degree)
    path = sampled_fused_path(
        first, second, proposals, [alpha], ridge=ridge, degree=degree, tol=1e-9, max_iter=20000
    )
    solution = next(path)
    value, lengths = solve_with_cvxpy(first, second, proposals, alpha, ridge, degree)
    assert solution.converged
    assert solution.gap >= 0.0
    assert solution.objective == pytest.approx(value, abs=1e-7)
    difference = np.linalg.norm(solution.value[1] - solution.value[0], axis=2)
    np.testing.assert_allclose(difference[np.triu_indices(3)], lengths, atol=2e-4)


def test_gap_bounds_the_distance_to_the_optimum():
    first, second = make_rows(0)
    proposals = draw_proposals(3, 100, rng=0)
    exact = next(sampled_fused_path(first, second, proposals, [0.1], tol=1e-11, max_iter=50000))
    for max_iter in (1, 10, 40):
        rough = next(
            sampled_fused_path(first, second, proposals, [0.1], tol=1e-11, max_iter=max_iter)
        )
        assert rough.n_iter == max_iter
        assert not rough.converged
        assert rough.objective - exact.objective <= rough.gap + 1e-10


def test_models_are_the_same_from_alpha_max_on():
    first, second = make_rows(1)
    proposals = draw_proposals(3, 100, rng=0)
    largest = sampled_fused_alpha_max(first, second)
    path = list(
        sampled_fused_path(
            first, second, proposals, [1.001 * largest, 0.95 * largest], tol=1e-10, max_iter=50000
        )
    )
    np.testing.assert_array_equal(path[0].value[0], path[0].value[1])
    assert np.any(path[1].value[0] != path[1].value[1])


def test_gaussian_features_recover_precisions():
    rng = np.random.default_rng(0)
    precision = np.array([[1.5, 0.5], [0.5, 1.0]])
    rows = rng.multivariate_normal(np.zeros(2), np.linalg.inv(precision), size=20000)
    proposals = draw_proposals(2, 20000, scale=1.5, rng=1)
    path = sampled_fused_path(
        rows[:10000], rows[10000:], proposals, [1.0], ridge=1e-3, basis="gaussian", tol=1e-7
    )
    theta = next(path).value[0, :, :, 0]
    # The density is exp(-x'Theta x / 2): one coefficient per pair, halves on the diagonal.
    expected = -np.where(np.eye(2, dtype=bool), precision / 2, precision)
    np.testing.assert_allclose(theta, expected, atol=0.05)


def test_proposals_know_their_density():
    proposals = draw_proposals(3, 50, scale=2.0, rng=0)
    expected = stats.norm(scale=2.0).logpdf(proposals.rows).sum(axis=1)
    np.testing.assert_allclose(proposals.log_density, expected)
    again = draw_proposals(3, 50, scale=2.0, rng=0)
    np.testing.assert_array_equal(again.rows, proposals.rows)
    assert np.std(draw_proposals(3, 5000, scale=4.0, rng=0).rows) == pytest.approx(4.0, rel=0.05)


def test_scaling_powers_scales_coefficients_at_no_penalty():
    first, second = make_rows(2)
    proposals = draw_proposals(3, 80, rng=2)
    scale = np.full((2, 3), 2.0)
    plain, scaled = (
        next(
            sampled_fused_path(
                first, second, proposals, [0.05], power_scale=powers, tol=1e-9, max_iter=20000
            )
        )
        for powers in (None, scale)
    )
    assert np.abs(plain.value - scaled.value).max() > 0.01
    ones = next(
        sampled_fused_path(
            first, second, proposals, [0.05], power_scale=np.ones((2, 3)), tol=1e-9, max_iter=20000
        )
    )
    np.testing.assert_allclose(ones.value, plain.value, atol=1e-12)


def test_bad_arguments():
    first, second = make_rows(0)
    proposals = Proposals(rows=first, log_density=np.zeros(len(first)))
    with raises(InputError, code="ridge_positive"):
        sampled_fused_path(first, second, proposals, [0.1], ridge=0.0)
    with raises(InputError, code="finite_non_negative", parameter="alpha", name="alpha"):
        sampled_fused_path(first, second, proposals, [-0.1])
