"""Smooth precision matrices: CVXPY, what is set to 0, and the operator."""

import cvxpy as cp
import numpy as np
import pytest

from edgewise.data import neighbor_pairs
from edgewise.solvers.gaussian.graphical_lasso import graphical_lasso
from edgewise.solvers.space.smooth import mean_differences, smooth_precision


def problem(shape, seed=0):
    p = int(np.prod(shape))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, p))
    X[:, :3] += 0.7 * X[:, [-1]]
    return X.T @ X / 60, neighbor_pairs(shape if len(shape) > 1 else "chain", p)


@pytest.mark.parametrize("shape", [(8,), (3, 4)])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
def test_optimum(shape, penalize_diagonal):
    S, pairs = problem(shape)
    p, alpha, tau = len(S), 0.1, 0.15
    D = mean_differences(pairs, p).toarray()
    Theta = cp.Variable((p, p), PSD=True)
    size = cp.sum(cp.abs(Theta)) - (0 if penalize_diagonal else cp.trace(Theta))
    differences = cp.sum(cp.abs(cp.multiply(D == 0, D @ Theta)))
    fit = cp.trace(S @ Theta) - cp.log_det(Theta)
    least = cp.Problem(cp.Minimize(fit + alpha * size + tau * differences)).solve("CLARABEL")
    found = smooth_precision(S, alpha, tau, pairs, penalize_diagonal=penalize_diagonal, tol=1e-8)
    assert found.converged
    assert abs(found.objective - least) <= 1e-6
    assert 0 <= found.gap <= 1e-8 * p
    np.testing.assert_allclose(found.value, Theta.value, atol=2e-4)
    np.testing.assert_allclose(found.covariance @ found.value, np.eye(p), atol=1e-9)
    # What is 0 at the optimum is exactly 0.
    np.testing.assert_array_equal(found.value == 0, np.abs(Theta.value) < 1e-4)
    np.testing.assert_array_equal(found.groups == -1, (found.value == 0) | np.eye(p, dtype=bool))
    assert found.n_groups == np.count_nonzero(np.triu(found.value, 1))


def test_without_smoothness_it_is_the_graphical_lasso():
    S, pairs = problem((8,))
    found = smooth_precision(S, 0.1, 0.0, pairs, tol=1e-8)
    lasso = graphical_lasso(S, 0.1, penalize_diagonal=True, tol=1e-10)
    np.testing.assert_allclose(found.value, lasso.value, atol=1e-4)
    np.testing.assert_array_equal(found.value != 0, lasso.value != 0)


def test_each_row_is_compared_with_the_mean_of_its_neighbours():
    pairs = np.array([[0, 1], [1, 2], [2, 1]])
    expected = [[1, -1, 0, 0], [-0.5, 1, -0.5, 0], [0, -1, 1, 0]]
    np.testing.assert_allclose(mean_differences(pairs, 4).toarray(), expected)
    assert mean_differences(np.empty((0, 2), dtype=int), 4).shape == (0, 4)
