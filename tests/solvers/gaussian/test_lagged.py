"""The joint problem of past and present, against CVXPY and its own definition."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, strategies as st

from edgewise import InputError
from edgewise.solvers import lagged_graphical_lasso

P, Q, N = 6, 4, 60


@pytest.fixture
def moments():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, Q))
    Y = X @ rng.normal(size=(Q, P)) * 0.3 + rng.normal(size=(N, P))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return Y.T @ Y / N, X.T @ Y / N, X.T @ X / N


def objective(moments, alpha, beta, Lambda, T):
    S_yy, S_xy, S_xx = moments
    off = ~np.eye(P, dtype=bool)
    return (
        -np.linalg.slogdet(Lambda)[1]
        + np.sum(S_yy * Lambda)
        + 2 * np.sum(S_xy * T)
        + np.trace(np.linalg.solve(Lambda, T.T @ S_xx @ T))
        + alpha * np.abs(Lambda[off]).sum()
        + beta * np.abs(T).sum()
    )


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.13), (0.05, 0.4), (0.3, 0.02)])
def test_cvxpy_finds_the_same(moments, alpha, beta):
    S_yy, S_xy, S_xx = moments
    R = np.linalg.cholesky(S_xx).T
    Lambda, T = cp.Variable((P, P), symmetric=True), cp.Variable((Q, P))
    M = cp.Variable((Q, Q), symmetric=True)
    lagged = R @ T
    problem = cp.Problem(
        cp.Minimize(
            -cp.log_det(Lambda)
            + cp.trace(S_yy @ Lambda)
            + 2 * cp.trace(S_xy.T @ T)
            + cp.trace(M)
            + alpha * cp.sum(cp.abs(cp.multiply(1 - np.eye(P), Lambda)))
            + beta * cp.sum(cp.abs(T))
        ),
        [cp.bmat([[M, lagged], [lagged.T, Lambda]]) >> 0],
    )
    problem.solve(solver="CLARABEL")
    found = lagged_graphical_lasso(S_yy, S_xy, S_xx, alpha, beta, tol=1e-9)
    assert found.objective == pytest.approx(problem.value, abs=1e-6)
    assert found.objective <= objective(moments, alpha, beta, Lambda.value, T.value) + found.gap
    np.testing.assert_allclose(found.value, Lambda.value, atol=1e-3)
    np.testing.assert_allclose(found.lagged, T.value, atol=1e-3)


def test_objective_is_that_of_the_solution(moments):
    found = lagged_graphical_lasso(*moments, 0.1, 0.2, tol=1e-9)
    own = objective(moments, 0.1, 0.2, found.value, found.lagged)
    assert found.objective == pytest.approx(own, abs=1e-9)
    assert found.converged
    assert 0 <= found.gap <= 1e-9 * (P + Q)
    np.testing.assert_allclose(found.coef, -found.lagged @ found.covariance)
    np.testing.assert_allclose(found.covariance @ found.value, np.eye(P), atol=1e-9)


def test_without_penalties_it_is_least_squares(moments):
    S_yy, S_xy, S_xx = moments
    found = lagged_graphical_lasso(S_yy, S_xy, S_xx, 0.0, 0.0, tol=1e-12)
    coef = np.linalg.solve(S_xx, S_xy)
    np.testing.assert_allclose(found.coef, coef, atol=1e-5)
    np.testing.assert_allclose(found.covariance, S_yy - S_xy.T @ coef, atol=1e-5)


def test_the_gap_decides_entries_of_past_and_present(moments):
    found = lagged_graphical_lasso(*moments, 0.1, 0.2, tol=1e-10)
    assert found.decided.shape == (P, P)
    assert found.lagged_decided.shape == (Q, P)
    assert found.lagged_decided.all()


def test_moments_must_fit_and_the_past_must_be_regular(moments):
    S_yy, S_xy, S_xx = moments
    with pytest.raises(InputError) as caught:
        lagged_graphical_lasso(S_yy, S_xy.T, S_xx, 0.1, 0.1)
    assert caught.value.code == "lagged_shapes"
    with pytest.raises(InputError) as caught:
        lagged_graphical_lasso(S_yy, S_xy, np.ones((Q, Q)), 0.1, 0.1)
    assert caught.value.code == "singular_past"


@given(st.integers(0, 10_000), st.floats(0.02, 0.5), st.floats(0.02, 0.5))
def test_order_of_columns_changes_nothing(seed, alpha, beta):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3))
    Y = X @ rng.normal(size=(3, 4)) * 0.4 + rng.normal(size=(40, 4))
    now, before = rng.permutation(4), rng.permutation(3)
    S_yy, S_xy, S_xx = Y.T @ Y / 40, X.T @ Y / 40, X.T @ X / 40
    found = lagged_graphical_lasso(S_yy, S_xy, S_xx, alpha, beta)
    other = lagged_graphical_lasso(
        S_yy[np.ix_(now, now)], S_xy[np.ix_(before, now)], S_xx[np.ix_(before, before)], alpha, beta
    )
    assert found.converged
    assert 0 <= found.gap <= 7e-6
    assert abs(found.objective - other.objective) <= found.gap + other.gap + 1e-10
    np.testing.assert_allclose(found.lagged[np.ix_(before, now)], other.lagged, atol=0.02)
