import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Lasso, LinearRegression

from edgewise import InputError, SolverError
from edgewise.solvers import weighted_lasso


def regression(seed, n_rows=60, n_columns=12, correlation=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns)) * np.sqrt(1 - correlation)
    X += rng.normal(size=(n_rows, 1)) * np.sqrt(correlation)
    y = X[:, :3] @ [1.0, -2.0, 0.5] + rng.normal(size=n_rows)
    return X, y, X.T @ X / n_rows, X.T @ y / n_rows


def objective(G, c, w, b):
    finite = np.isfinite(w)
    return 0.5 * b @ G @ b - c @ b + w[finite] @ np.abs(b[finite])


def optimality_violation(G, c, w, b):
    residual = c - G @ b
    active = b != 0
    inside = np.maximum(np.abs(residual[~active]) - w[~active], 0)
    on = residual[active] - w[active] * np.sign(b[active])
    return max(np.abs(on).max(initial=0), inside.max(initial=0))


@pytest.mark.parametrize(("n_rows", "correlation"), [(60, 0.3), (300, 0.99), (8, 0.0)])
def test_agrees_with_scikit_learn(n_rows, correlation):
    X, y, G, c = regression(1, n_rows=n_rows, correlation=correlation)
    alpha = 0.1 * np.abs(c).max()
    theirs = Lasso(alpha=alpha, fit_intercept=False, tol=1e-13, max_iter=10**6).fit(X, y)
    ours = weighted_lasso(G, c, alpha, tol=1e-14)
    assert ours.converged
    np.testing.assert_allclose(ours.value, theirs.coef_, atol=1e-7)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(2, 30))
def test_agrees_with_cvxpy_for_any_weights(seed, n_columns, n_rows):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = rng.normal(size=n_rows)
    w = rng.uniform(0.01, 0.4, size=n_columns)
    kind = rng.integers(0, 4, size=n_columns)
    w[kind == 0] = 0.0
    w[kind == 1] = np.inf
    ours = weighted_lasso(X.T @ X / n_rows, X.T @ y / n_rows, w)
    b = cvxpy.Variable(n_columns)
    finite = np.where(np.isfinite(w), w, 0.0)
    cost = cvxpy.sum_squares(X @ b - y) / (2 * n_rows) + finite @ cvxpy.abs(b)
    problem = cvxpy.Problem(cvxpy.Minimize(cost), [b[np.isinf(w)] == 0])
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert ours.converged
    assert (ours.value[np.isinf(w)] == 0).all()
    assert ours.objective == pytest.approx(problem.value - y @ y / (2 * n_rows), abs=1e-7)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 0.999), st.floats(0.001, 1.0))
def test_gap_bounds_the_distance_to_the_optimum(seed, correlation, share):
    _, _, G, c = regression(seed, correlation=correlation)
    w = np.full(len(c), share * np.abs(c).max())
    exact = weighted_lasso(G, c, w, tol=1e-15)
    for max_iter in (1, 2, 3):
        rough = weighted_lasso(G, c, w, tol=1e-15, max_iter=max_iter)
        assert rough.gap >= 0
        assert rough.gap >= rough.objective - exact.objective - 1e-12
    assert optimality_violation(G, c, w, exact.value) < 1e-6


def test_gap_counts_free_coefficients():
    _, _, G, c = regression(3)
    w = np.full(len(c), 0.05)
    w[[0, 4]] = 0.0
    exact = weighted_lasso(G, c, w, tol=1e-15)
    rough = weighted_lasso(G, c, w, tol=1e-15, max_iter=1)
    assert rough.gap >= rough.objective - exact.objective
    assert optimality_violation(G, c, w, exact.value) < 1e-9
    assert exact.objective == pytest.approx(objective(G, c, w, exact.value), abs=1e-14)


def test_all_free_is_least_squares():
    X, y, G, c = regression(5)
    expected = LinearRegression(fit_intercept=False).fit(X, y).coef_
    np.testing.assert_allclose(weighted_lasso(G, c, 0.0).value, expected, atol=1e-10)


def test_empty_from_the_largest_weight_on_and_not_below():
    _, _, G, c = regression(7)
    largest = np.abs(c).max()
    assert not weighted_lasso(G, c, largest).value.any()
    assert weighted_lasso(G, c, 0.999 * largest).value.any()


def test_everything_forbidden():
    _, _, G, c = regression(7)
    result = weighted_lasso(G, c, np.inf)
    assert not result.value.any()
    assert result.converged
    assert result.objective == 0


def test_permutation_and_scale_equivariance():
    _, _, G, c = regression(11)
    rng = np.random.default_rng(0)
    w = rng.uniform(0.02, 0.2, size=len(c))
    base = weighted_lasso(G, c, w, tol=1e-15).value
    order = rng.permutation(len(c))
    permuted = weighted_lasso(G[np.ix_(order, order)], c[order], w[order], tol=1e-15).value
    np.testing.assert_allclose(permuted, base[order], atol=1e-10)
    d = rng.uniform(0.1, 10, size=len(c))
    scaled = weighted_lasso(G * np.outer(d, d), c * d, w * d, tol=1e-15).value
    np.testing.assert_allclose(scaled * d, base, atol=1e-10)


def test_singular_gram_matrix_of_identical_columns():
    X, y, _, _ = regression(13)
    X = np.column_stack([X, X[:, 0]])
    G, c = X.T @ X / len(X), X.T @ y / len(X)
    result = weighted_lasso(G, c, 0.05)
    alone = weighted_lasso(G[:-1, :-1], c[:-1], 0.05)
    assert result.converged
    assert result.objective == pytest.approx(alone.objective, abs=1e-6)
    assert result.value[0] + result.value[-1] == pytest.approx(alone.value[0], abs=1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_support_larger_than_the_rank_does_not_stall(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 30))
    G, c = X.T @ X / 12, X.T @ rng.normal(size=12) / 12
    # This start has a null direction of G within its support.
    result = weighted_lasso(G, c, 0.02 * np.abs(c).max(), init=np.ones(30), tol=1e-13)
    assert result.converged
    assert result.n_iter < 200
    assert np.count_nonzero(result.value) <= 12


def test_warm_start_saves_rounds():
    _, _, G, c = regression(17, correlation=0.9)
    cold = weighted_lasso(G, c, 0.01)
    warm = weighted_lasso(G, c, 0.01, init=cold.value)
    assert warm.n_iter == 1 < cold.n_iter


def test_tolerance_and_round_limit_are_obeyed():
    _, _, G, c = regression(19, correlation=0.9)
    assert weighted_lasso(G, c, 0.01, tol=1e-2).n_iter < weighted_lasso(G, c, 0.01).n_iter
    stopped = weighted_lasso(G, c, 0.01, tol=1e-12, max_iter=1)
    assert not stopped.converged
    assert stopped.n_iter == len(stopped.history) == 1
    assert stopped.history[-1] == stopped.gap > 1e-12 * len(c)


def test_squared_norm_enters_the_gap_only():
    _, y, G, c = regression(23)
    w = 0.2
    own = weighted_lasso(G, c, w, max_iter=1, tol=1e-12)
    given_norm = weighted_lasso(G, c, w, max_iter=1, tol=1e-12, squared_norm=y @ y / len(y))
    np.testing.assert_array_equal(own.value, given_norm.value)
    assert given_norm.gap > own.gap


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"G": np.eye(3)}, "shapes"),
        ({"weights": np.array([0.1, -0.1])}, "at least 0"),
        ({"weights": np.array([0.1, np.nan])}, "at least 0"),
        ({"G": np.array([[1.0, 0.2], [0.1, 1.0]])}, "symmetric"),
        ({"G": np.array([[1.0, 2.0], [2.0, 1.0]])}, "smallest eigenvalue is -1"),
        ({"c": np.array([np.nan, 1.0])}, "finite"),
        ({"init": np.zeros(3)}, "init"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"G": np.eye(2), "c": np.ones(2), "weights": 0.1} | change
    with pytest.raises(InputError, match=message):
        weighted_lasso(**arguments)


def test_unbounded_problem_is_refused():
    with pytest.raises(SolverError, match="range of G"):
        weighted_lasso(np.diag([1.0, 0.0]), np.array([1.0, 1.0]), 0.1)
