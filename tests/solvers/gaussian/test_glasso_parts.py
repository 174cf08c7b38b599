"""The parts of the graphical lasso solver, each against plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise.solvers import graphical_lasso
from edgewise.solvers.gaussian.descent import FEW, Pace, descend, empty_columns
from edgewise.solvers.gaussian.dual_ascent import climb
from edgewise.solvers.gaussian.glasso_certificate import confirm
from edgewise.solvers.gaussian.glasso_component import solve_component
from edgewise.solvers.gaussian.likelihood_splitting import split_likelihood
from edgewise.solvers.gaussian.orthant_newton import orthant_newton
from edgewise.solvers.gaussian.standard_form import (
    check_problem,
    clip_to_box,
    components,
    shrink_into_box,
    standard_form,
)
from edgewise.solvers.linalg.sparse_inverse import factorize, inverse
from tests.solvers.gaussian.glasso_problems import (
    clipped_gap,
    objective,
    penalty_matrix,
    sample_covariance,
)


def form_of(S, alpha, weights=None):
    S, weights = check_problem(S, weights)
    return standard_form(S, alpha, weights, penalize_diagonal=False)


def correlation(p, n, seed):
    S = sample_covariance(p, n, seed)
    d = np.sqrt(np.diag(S))
    S = S / np.outer(d, d)
    np.fill_diagonal(S, 1.0)
    return 0.5 * (S + S.T)


@settings(max_examples=40, deadline=None)
@given(p=st.integers(1, 120), density=st.floats(0.0, 1.0), seed=st.integers(0, 10_000))
def test_sparse_inverse_agrees_with_dense(p, density, seed):
    rng = np.random.default_rng(seed)
    A = np.triu(rng.standard_normal((p, p)) * (rng.random((p, p)) < density), 1)
    A = A + A.T
    A += np.diag(np.abs(A).sum(axis=1) + rng.uniform(0.5, 2.0, p))
    factor = factorize(A)
    assert factor is not None
    Sigma = inverse(factor)
    assert np.array_equal(Sigma, Sigma.T)
    np.testing.assert_allclose(A @ Sigma, np.eye(p), atol=1e-10)
    assert factor.logdet == pytest.approx(np.linalg.slogdet(A)[1], abs=1e-9)


@pytest.mark.parametrize("density", [0.02, 0.1, 0.9])
def test_factorize_says_when_a_matrix_is_not_positive_definite(density):
    rng = np.random.default_rng(1)
    A = np.triu(rng.standard_normal((90, 90)) * (rng.random((90, 90)) < density), 1)
    A = A + A.T
    smallest = np.linalg.eigvalsh(A)[0]
    assert factorize(A - (smallest + 1e-6) * np.eye(90)) is None
    assert factorize(A - (smallest - 1e-6) * np.eye(90)) is not None


@pytest.mark.parametrize("p", [30, 60])
def test_block_descent_never_lowers_the_dual_objective(p):
    S = correlation(p, 90, 3)
    form = form_of(S, 0.1)
    W = np.zeros_like(S)
    clip_to_box(form, W)
    assert np.linalg.eigvalsh(W)[0] > 0
    columns = empty_columns(W, np.empty((p, p)), np.empty((p, p)), 1)
    values = [np.linalg.slogdet(W)[1]]
    for _ in range(12):
        *_, columns = descend(form, columns, 1e-12, 0.0, 1, Pace(0.0, 1.0, 1.0), p <= FEW)
        assert np.abs(W - S).max() <= 0.1 + 1e-12
        values.append(np.linalg.slogdet(W)[1])
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0]


def test_newton_steps_never_raise_the_objective():
    S = correlation(30, 40, 4)
    T = penalty_matrix(30, 0.02)
    Theta = np.linalg.inv(S + 0.5 * np.eye(30))
    values = [objective(S, Theta, T)]
    for _ in range(8):
        result = orthant_newton(form_of(S, 0.02), Theta, 0.0, 1)
        Theta = result.Theta
        values.append(objective(S, Theta, T))
    assert np.diff(values).max() <= 1e-10
    assert values[-1] < values[0]


@pytest.mark.parametrize(("n", "alpha"), [(15, 0.01), (15, 0.2), (200, 0.05)])
def test_four_routes_to_the_same_solution(n, alpha):
    S = correlation(25, n, 5)
    T = penalty_matrix(25, alpha)
    form = form_of(S, alpha)
    reference = graphical_lasso(S, alpha, tol=1e-10).value
    split = split_likelihood(form, np.eye(25), np.eye(25), 1e-9, 5000)
    assert clipped_gap(S, split.Theta, T) < 1e-8
    np.testing.assert_allclose(split.Theta, reference, atol=1e-3 * np.abs(reference).max())
    polished = orthant_newton(form, reference.copy(), 1e-11, 20)
    np.testing.assert_allclose(polished.Theta, reference, atol=1e-4 * np.abs(reference).max())
    W = np.empty_like(S)
    shrink_into_box(form, W)
    climbed = climb(form, W, 1e-9, 5000)
    assert clipped_gap(S, climbed.Theta, T) < 1e-8
    np.testing.assert_allclose(climbed.Theta, reference, atol=1e-4 * np.abs(reference).max())
    np.testing.assert_allclose(climbed.Sigma @ climbed.Theta, np.eye(25), atol=1e-10)
    descended = solve_component(form, 1e-9, 5000)
    assert clipped_gap(S, descended.Theta, T) < 1e-8


def test_newton_refuses_an_indefinite_start():
    assert orthant_newton(form_of(np.eye(3), 0.1), -np.eye(3), 1e-6, 5) is None


def test_ascent_ends_higher_and_in_the_box():
    S = correlation(40, 30, 4)
    form = form_of(S, 0.05)
    W = np.empty_like(S)
    shrink_into_box(form, W)
    before = np.linalg.slogdet(W)[1]
    found = climb(form, W, 1e-8, 1000)
    dual = np.clip(found.Sigma, S - 0.05, S + 0.05)
    np.fill_diagonal(dual, 1.0)
    assert (
        before
        < np.linalg.slogdet(dual)[1]
        <= objective(S, found.Theta, penalty_matrix(40, 0.05)) - 40
    )


@pytest.mark.parametrize("tol", [1e-6, 1e-10, 1e-12])
def test_ascent_reaches_small_gaps(tol):
    """Equal correlations: the largest eigenvalue of the covariance is half their number."""
    rng = np.random.default_rng(8)
    rows = rng.standard_normal((160, 80)) + rng.standard_normal((160, 1))
    S = np.corrcoef(rows, rowvar=False)
    form = form_of(S, 0.3)
    W = np.zeros_like(S)
    clip_to_box(form, W)
    found = climb(form, W, tol * 80, 2000)
    assert clipped_gap(S, found.Theta, penalty_matrix(80, 0.3)) <= 1.01 * tol * 80 + 1e-12


def test_ascent_refuses_an_indefinite_start():
    assert climb(form_of(np.eye(3), 0.1), -np.eye(3), 1e-6, 5) is None


def test_confirm_is_the_gap_of_plain_linear_algebra():
    S = correlation(60, 40, 9)
    form = form_of(S, 0.1)
    Theta = graphical_lasso(S, 0.1, tol=1e-3).value
    exact = clipped_gap(S, Theta, penalty_matrix(60, 0.1))
    assert exact - 1e-10 <= confirm(form, Theta).gap <= 1.001 * exact
    assert exact - 1e-10 <= confirm(form, Theta, 2.0 * exact).gap <= 2.0 * exact
    assert confirm(form, Theta - 2.0 * np.eye(60) * Theta.max()) is None


@pytest.mark.parametrize("tol", [1e-6, 1e-9])
def test_free_edges_leave_few_dual_points(tol):
    """A chain of free edges: covariances cannot all be shrunk alike, and ascent has no start."""
    p = 60
    S = correlation(p, 25, 6)
    weights = np.ones((p, p))
    step = np.arange(p - 1)
    weights[step, step + 1] = weights[step + 1, step] = 0.0
    found = solve_component(form_of(S, 0.02, weights), tol * p, 20_000)
    assert clipped_gap(S, found.Theta, penalty_matrix(p, 0.02, weights)) <= 1.01 * tol * p


@settings(max_examples=20, deadline=None)
@given(p=st.integers(1, 40), seed=st.integers(0, 1000), alpha=st.floats(0.0, 1.0))
def test_components_are_those_of_the_thresholded_graph(p, seed, alpha):
    from scipy.sparse.csgraph import connected_components

    S = correlation(p, 20, seed)
    found = components(form_of(S, alpha))
    n_components, label = connected_components(np.abs(S) > alpha, directed=False)
    assert len(found) == n_components
    assert sorted(np.concatenate(found)) == list(range(p))
    assert all(len(set(label[part])) == 1 for part in found)
