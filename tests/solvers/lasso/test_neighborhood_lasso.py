import numpy as np
import pytest
from sklearn.linear_model import Lasso

from edgewise import InputError
from edgewise.solvers.lasso.gram import neighborhood_lasso


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 7))
    X[:, 1:] += 0.8 * X[:, :-1]
    return X - X.mean(axis=0)


def test_each_column_is_the_lasso_on_the_others(rows):
    S = rows.T @ rows / len(rows)
    result = neighborhood_lasso(S, 0.1, tol=1e-14)
    objective = 0.0
    for j in range(rows.shape[1]):
        others = np.delete(np.arange(rows.shape[1]), j)
        lasso = Lasso(alpha=0.1, fit_intercept=False, tol=1e-13, max_iter=10**6)
        lasso.fit(rows[:, others], rows[:, j])
        np.testing.assert_allclose(result.value[others, j], lasso.coef_, atol=1e-9)
        residual = rows[:, j] - lasso.predict(rows[:, others])
        objective += residual @ residual / (2 * len(rows)) + 0.1 * np.abs(lasso.coef_).sum()
    assert result.objective == pytest.approx(objective, abs=1e-10)
    assert not result.value.diagonal().any()
    assert result.converged
    assert 0 <= result.gap <= 1e-14 * len(S)


def test_empty_at_the_largest_covariance(rows):
    S = np.corrcoef(rows.T)
    largest = np.abs(S - np.eye(len(S))).max()
    assert not neighborhood_lasso(S, largest).value.any()
    assert np.count_nonzero(neighborhood_lasso(S, 0.99 * largest).value) == 2


def test_warm_start_and_limits(rows):
    S = np.corrcoef(rows.T)
    cold = neighborhood_lasso(S, 0.05, tol=1e-9)
    warm = neighborhood_lasso(S, 0.05, tol=1e-9, init=cold.value)
    assert warm.n_iter == 1 < cold.n_iter
    assert not neighborhood_lasso(S, 0.05, tol=1e-12, max_iter=1).converged


@pytest.mark.parametrize(
    "change",
    [{"S": np.ones((2, 3))}, {"alpha": 0.0}, {"tol": 0.0}, {"max_iter": 0}, {"init": np.eye(2)}],
)
def test_bad_input_is_refused(change):
    with pytest.raises(InputError):
        neighborhood_lasso(**({"S": np.eye(2), "alpha": 0.1} | change))
