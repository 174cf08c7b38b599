import numpy as np
import pytest
from scipy.stats import multivariate_normal

from edgewise import InputError, SolverError
from edgewise.selection.criteria import (
    ebic,
    gaussian_log_likelihood,
    instability,
    row_log_likelihood,
    stars_subsample_size,
)
from tests.messages import raises


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 4))
    return rng.normal(size=4), A.T @ A, rng.normal(size=(9, 4))


def test_ebic_of_gamma_zero_is_bic():
    assert ebic(-50.0, 4, 100, 7, gamma=0.0) == pytest.approx(100 + 4 * np.log(100))


def test_ebic_charges_four_gamma_log_p_per_edge():
    step = ebic(-50.0, 5, 100, 7, gamma=0.5) - ebic(-50.0, 4, 100, 7, gamma=0.5)
    assert step == pytest.approx(np.log(100) + 2.0 * np.log(7))


@pytest.mark.parametrize(("n_samples", "gamma"), [(1.0, 0.5), (10.0, -0.1), (10.0, 1.1)])
def test_ebic_refuses_impossible_arguments(n_samples, gamma):
    with pytest.raises(InputError):
        ebic(0.0, 1, n_samples, 3, gamma)


def test_likelihoods_agree_with_scipy(model):
    location, covariance, X = model
    expected = multivariate_normal(location, covariance).logpdf(X)
    np.testing.assert_allclose(row_log_likelihood(X, location, covariance), expected)
    deviation = X - location
    S = deviation.T @ deviation / len(X)
    mean = gaussian_log_likelihood(np.linalg.inv(covariance), S)
    assert mean == pytest.approx(expected.mean())


def test_missing_values_count_the_marginal(model):
    location, covariance, X = model
    X[0, 1] = X[3, [0, 2]] = X[4, [0, 2]] = X[5] = np.nan
    result = row_log_likelihood(X, location, covariance)
    for i in range(len(X)):
        seen = ~np.isnan(X[i])
        expected = 0.0
        if seen.any():
            marginal = multivariate_normal(location[seen], covariance[np.ix_(seen, seen)])
            expected = marginal.logpdf(X[i, seen])
        assert result[i] == pytest.approx(expected)


def test_singular_model_is_refused():
    with raises(SolverError, code="likelihood_indefinite"):
        gaussian_log_likelihood(np.ones((2, 2)), np.eye(2))


def test_instability_extremes():
    assert instability(np.zeros(5)) == instability(np.ones(5)) == instability(np.empty(0)) == 0
    assert instability(np.full(5, 0.5)) == 0.5


@pytest.mark.parametrize(("n_samples", "size"), [(10, 8), (99, 79), (144, 115), (145, 120)])
def test_stars_subsample_size(n_samples, size):
    assert stars_subsample_size(n_samples) == size
