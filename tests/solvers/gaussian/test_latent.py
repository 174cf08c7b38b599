"""Sparse plus low rank against CVXPY, the plain graphical lasso, and known factors."""

from __future__ import annotations

import numpy as np
import pytest

from edgewise import InputError
from edgewise.solvers import graphical_lasso, latent_graphical_lasso
from edgewise.solvers.gaussian.latent import latent_tau_max


def draw_covariance(seed, p=8, n=40, n_factors=2):
    """Return a correlation matrix of a chain and of factors behind it."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(p, n_factors))
    X = rng.normal(size=(n, p))
    for i in range(1, p):
        if i % 4:
            X[:, i] += 0.5 * X[:, i - 1]
    S = np.corrcoef((X + rng.normal(size=(n, n_factors)) @ loadings.T).T)
    return S, 0.2 * np.abs(S - np.eye(p)).max()


def solve_by_cvxpy(S, alpha, tau, weights):
    """Return the least objective."""
    cp = pytest.importorskip("cvxpy")
    p = len(S)
    A, L = cp.Variable((p, p), symmetric=True), cp.Variable((p, p), PSD=True)
    penalties = alpha * np.where(np.isinf(weights), 0.0, weights)
    np.fill_diagonal(penalties, 0.0)
    objective = (
        cp.trace(S @ (A - L))
        - cp.log_det(A - L)
        + cp.sum(cp.multiply(penalties, cp.abs(A)))
        + tau * cp.trace(L)
    )
    forbidden = [A[i, j] == 0 for i, j in np.argwhere(np.isinf(weights))]
    problem = cp.Problem(cp.Minimize(objective), forbidden)
    problem.solve(solver="CLARABEL")
    return problem.value


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.9, 0.3])
def test_agrees_with_cvxpy(seed, share):
    S, alpha = draw_covariance(seed)
    rng = np.random.default_rng(seed)
    weights = np.ones_like(S)
    if seed % 2:
        weights = np.triu(rng.choice([0.5, 1.0, 2.0, np.inf], size=S.shape), 1)
        weights = weights + weights.T + np.eye(len(S))
    tau = share * latent_tau_max(S, alpha, weights=weights)
    found = latent_graphical_lasso(S, alpha, tau, weights=weights, tol=1e-8)
    assert found.converged
    assert 0.0 <= found.gap <= 1e-8 * len(S)
    assert found.objective == pytest.approx(solve_by_cvxpy(S, alpha, tau, weights), abs=2e-6)
    assert (found.sparse[np.isinf(weights)] == 0.0).all()
    assert found.rank == np.linalg.matrix_rank(found.low_rank, tol=1e-10)
    assert np.linalg.eigvalsh(found.low_rank).min() > -1e-12
    np.testing.assert_allclose(found.value, found.sparse - found.low_rank, atol=1e-14)
    np.testing.assert_allclose(found.value @ found.covariance, np.eye(len(S)), atol=1e-9)


def test_the_gap_bounds_the_distance_to_the_optimum():
    S, alpha = draw_covariance(7, p=30, n=60)
    tau = 0.4 * latent_tau_max(S, alpha)
    exact = latent_graphical_lasso(S, alpha, tau, tol=1e-11)
    for tol in (1e-2, 1e-4, 1e-6):
        found = latent_graphical_lasso(S, alpha, tau, tol=tol)
        assert found.objective - exact.objective <= found.gap <= tol * 30


def test_no_factor_pays_from_tau_max_on():
    S, alpha = draw_covariance(1)
    tau = latent_tau_max(S, alpha)
    plain = graphical_lasso(S, alpha, tol=1e-10)
    above = latent_graphical_lasso(S, alpha, 1.001 * tau, tol=1e-9)
    assert above.rank == 0
    np.testing.assert_allclose(above.value, plain.value, atol=1e-6)
    assert latent_graphical_lasso(S, alpha, 0.9 * tau).rank == 1


def test_more_variables_than_a_full_decomposition_is_cheap_for():
    S, alpha = draw_covariance(2, p=120, n=400, n_factors=3)
    tau = 0.4 * latent_tau_max(S, alpha)
    found = latent_graphical_lasso(S, alpha, tau)
    assert found.converged
    assert 1 <= found.rank <= 6
    near = latent_graphical_lasso(S, alpha, 0.9 * tau, init=found)
    assert near.converged
    assert near.n_iter <= latent_graphical_lasso(S, alpha, 0.9 * tau).n_iter


def test_columns_may_come_in_any_order():
    S, alpha = draw_covariance(3)
    order = np.random.default_rng(0).permutation(len(S))
    tau = 0.5 * latent_tau_max(S, alpha)
    found = latent_graphical_lasso(S, alpha, tau, tol=1e-11)
    moved = latent_graphical_lasso(S[np.ix_(order, order)], alpha, tau, tol=1e-11)
    np.testing.assert_allclose(moved.sparse, found.sparse[np.ix_(order, order)], atol=1e-5)


def test_a_singular_covariance_has_a_solution():
    S, alpha = draw_covariance(5, p=30, n=12)
    assert latent_graphical_lasso(S, alpha, 0.5 * latent_tau_max(S, alpha)).converged


@pytest.mark.parametrize("tau", [0.0, -1.0, np.nan])
def test_refuses_a_tau_without_a_penalty(tau):
    with pytest.raises(InputError, match="tau"):
        latent_graphical_lasso(np.eye(3), 0.1, tau)
