import numpy as np
import pandas as pd
import pytest
from scipy import optimize

from edgewise import InputError, SolverError
from edgewise.data import make_gaussian_graph
from edgewise.stats import covariance, em_covariance, pairwise_covariance
from tests.messages import raises


def with_gaps(n, p, share, seed, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + offset
    X[rng.random((n, p)) < share] = np.nan
    return X


def observed_log_likelihood(X, mean, Sigma, weights=None):
    """Sum over samples, each by the density of its observed part."""
    weights = np.ones(len(X)) if weights is None else weights
    total = 0.0
    for row, weight in zip(X, weights, strict=True):
        seen = ~np.isnan(row)
        deviation, block = (row - mean)[seen], Sigma[np.ix_(seen, seen)]
        form = deviation @ np.linalg.solve(block, deviation)
        constant = seen.sum() * np.log(2 * np.pi) + np.linalg.slogdet(block)[1]
        total -= 0.5 * weight * (form + constant)
    return total


class TestPairwise:
    def test_matches_pandas(self):
        X = with_gaps(60, 5, 0.3, 0, offset=100.0)
        result = pairwise_covariance(X)
        n = result.n_pairs
        # pandas divides by one less than the number of pairs.
        expected = pd.DataFrame(X).cov().to_numpy() * (n - 1) / n
        np.testing.assert_allclose(result.covariance, expected, rtol=1e-10)
        np.testing.assert_allclose(result.location, np.nanmean(X, axis=0), rtol=1e-13)
        seen = ~np.isnan(X)
        np.testing.assert_array_equal(n, seen.T.astype(int) @ seen)
        assert (result.covariance == result.covariance.T).all()

    def test_complete_data_give_the_covariance(self):
        X = np.random.default_rng(1).normal(size=(30, 4))
        result = pairwise_covariance(X)
        location, S = covariance(X)
        np.testing.assert_allclose(result.covariance, S, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(result.location, location, rtol=1e-12)

    def test_large_offsets(self):
        X = with_gaps(60, 3, 0.3, 2)
        np.testing.assert_allclose(
            pairwise_covariance(np.round(X, 3) + 2.0**20).covariance,
            pairwise_covariance(np.round(X, 3)).covariance,
            rtol=1e-7,
        )

    def test_integer_weights_repeat_samples(self):
        X = with_gaps(40, 3, 0.3, 3)
        w = np.random.default_rng(3).integers(0, 3, size=40)
        weighted = pairwise_covariance(X, sample_weight=w)
        repeated = pairwise_covariance(np.repeat(X, w, axis=0))
        np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-10)
        np.testing.assert_allclose(weighted.location, repeated.location, rtol=1e-12)
        unweighted = pairwise_covariance(X)
        assert np.abs(weighted.covariance - unweighted.covariance).max() > 1e-3

    def test_may_be_indefinite(self):
        assert np.linalg.eigvalsh(pairwise_covariance(with_gaps(16, 8, 0.3, 7)).covariance)[0] < 0

    def test_pairs_never_seen_together(self):
        X = np.random.default_rng(4).normal(size=(10, 3))
        X[:5, 0] = np.nan
        X[5:, 2] = np.nan
        with raises(InputError, code="too_few_pairwise", label2="'w'", n_pair=0):
            pairwise_covariance(X, names=["u", "v", "w"])
        X[5, 2] = 1.0
        with raises(InputError, code="too_few_pairwise", label2="'x2'", n_pair=1):
            pairwise_covariance(X)
        with raises(InputError, code="too_few_pairwise", label2="'x1'", n_pair=0):
            pairwise_covariance(
                [[1, np.nan, np.nan], [2, np.nan, np.nan], [np.nan, 1, 1], [np.nan, 2, 1]]
            )
        with raises(InputError, code="too_few_observed", column="'x1'", count=1):
            pairwise_covariance([[1, 2], [2, np.nan], [3, np.nan]])

    def test_samples_of_weight_zero_do_not_count(self):
        X = [[1, 2], [2, 1], [3, 0]]
        with raises(InputError, code="too_few_observed", column="'x0'", count=1):
            pairwise_covariance(X, sample_weight=[1, 0, 0])


class TestEM:
    def test_complete_data_give_the_covariance(self):
        X = np.random.default_rng(0).normal(size=(30, 4)) + 5
        result = em_covariance(X)
        location, S = covariance(X)
        np.testing.assert_allclose(result.covariance, S, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(result.location, location, rtol=1e-12)
        assert result.converged
        assert result.ridge == 0

    def test_likelihood_is_that_of_the_observed_values_and_never_falls(self):
        X = with_gaps(50, 4, 0.3, 1, offset=3.0)
        result = em_covariance(X)
        expected = observed_log_likelihood(X, result.location, result.covariance)
        assert result.log_likelihood == pytest.approx(expected, rel=1e-10)
        assert result.history[-1] == pytest.approx(expected, rel=1e-10)
        assert len(result.history) == result.n_iter + 1
        assert (np.diff(result.history) >= -1e-9).all()

    def test_history_begins_with_the_observed_means_and_variances(self):
        X = with_gaps(30, 3, 0.2, 2)
        start = observed_log_likelihood(X, np.nanmean(X, axis=0), np.diag(np.nanvar(X, axis=0)))
        assert em_covariance(X).history[0] == pytest.approx(start, rel=1e-12)

    @pytest.mark.parametrize("p", [2, 3])
    def test_reaches_the_maximum_found_by_a_general_optimiser(self, p):
        X = with_gaps(40, p, 0.3, 10 + p, offset=1.0)
        X = X[~np.isnan(X).all(axis=1)]
        lower = np.tril_indices(p)

        def loss(parameters):
            factor = np.zeros((p, p))
            factor[lower] = parameters[p:]
            factor[np.diag_indices(p)] = np.exp(np.diagonal(factor))
            return -observed_log_likelihood(X, parameters[:p], factor @ factor.T)

        found = optimize.minimize(loss, np.zeros(p + len(lower[0])), method="BFGS")
        result = em_covariance(X, tol=1e-13)
        assert result.log_likelihood >= -found.fun - 1e-6
        assert result.log_likelihood == pytest.approx(-found.fun, rel=1e-8)
        np.testing.assert_allclose(result.location, found.x[:p], atol=1e-3)

    def test_stationary(self):
        X = with_gaps(60, 3, 0.25, 20)
        result = em_covariance(X, tol=1e-14)
        step = 1e-5

        def gradient(move):
            def value(t):
                mean, Sigma = move(t)
                return observed_log_likelihood(X, mean, Sigma)

            return (value(step) - value(-step)) / (2 * step)

        mean, Sigma = result.location, result.covariance
        for j in range(3):
            e = np.eye(3)[j]
            assert abs(gradient(lambda t, e=e: (mean + t * e, Sigma))) < 1e-3
            for k in range(j + 1):
                E = np.outer(e, np.eye(3)[k])
                assert abs(gradient(lambda t, E=E: (mean, Sigma + t * (E + E.T)))) < 1e-3

    def test_closed_form_for_monotone_gaps(self):
        rng = np.random.default_rng(4)
        X = rng.normal(size=(30, 2)) @ [[1, 0.7], [0, 1]]
        X[20:, 1] = np.nan
        x, y = X[:20].T
        slope = np.cov(x, y, bias=True)[0, 1] / x.var()
        rest = (y - y.mean() - slope * (x - x.mean())).var()
        all_x = X[:, 0]
        expected_mean = [all_x.mean(), y.mean() + slope * (all_x.mean() - x.mean())]
        v = all_x.var()
        expected = [[v, slope * v], [slope * v, rest + slope**2 * v]]
        result = em_covariance(X, tol=1e-15)
        np.testing.assert_allclose(result.location, expected_mean, atol=1e-6)
        np.testing.assert_allclose(result.covariance, expected, atol=1e-6)

    def test_missing_at_random_is_undone(self):
        model = make_gaussian_graph(3, "chain", signal=(0.6, 0.6), positive=1.0, rng=0)
        X = model.sample(4000, rng=1)
        X[X[:, 0] > 0, 1] = np.nan  # the gap depends on what is seen
        result = em_covariance(X)
        assert np.abs(result.covariance - model.covariance).max() < 0.1
        assert np.abs(result.location).max() < 0.06
        assert abs(pairwise_covariance(X).location[1]) > 0.2

    def test_integer_weights_repeat_samples(self):
        X = with_gaps(40, 3, 0.3, 5)
        w = np.random.default_rng(5).integers(0, 3, size=40)
        weighted = em_covariance(X, sample_weight=w, tol=1e-12)
        repeated = em_covariance(np.repeat(X, w, axis=0), tol=1e-12)
        np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-9)
        assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood, rel=1e-10)
        assert np.abs(weighted.covariance - em_covariance(X).covariance).max() > 1e-3

    def test_units_and_order_do_not_matter(self):
        X = with_gaps(40, 4, 0.25, 6)
        base = em_covariance(X, tol=1e-12)
        scale, shift = np.array([1e-6, 1.0, 1e4, 30.0]), np.array([0.0, 5.0, 1e6, -3.0])
        other = em_covariance(X * scale + shift, tol=1e-12)
        unscaled = other.covariance / np.outer(scale, scale)
        np.testing.assert_allclose(unscaled, base.covariance, rtol=1e-5)
        order = [3, 1, 0, 2]
        turned = em_covariance(X[::-1][:, order], tol=1e-12)
        np.testing.assert_allclose(
            turned.covariance, base.covariance[np.ix_(order, order)], rtol=1e-8
        )

    def test_ridge_is_the_penalised_optimum(self):
        X = with_gaps(30, 2, 0.2, 8)
        X = X[~np.isnan(X).all(axis=1)]
        rho = 0.2
        D = np.diag(np.nanvar(X, axis=0))
        result = em_covariance(X, ridge=rho, tol=1e-14)

        def loss(parameters):
            a, b, c = parameters[2:]
            Sigma = np.array([[np.exp(a), 0], [b, np.exp(c)]])
            Sigma = Sigma @ Sigma.T
            penalty = 0.5 * len(X) * rho * np.trace(D @ np.linalg.inv(Sigma))
            return penalty - observed_log_likelihood(X, parameters[:2], Sigma)

        found = optimize.minimize(loss, np.zeros(5), method="BFGS")
        assert result.history[-1] == pytest.approx(-found.fun, rel=1e-8)
        assert result.ridge == rho
        assert result.log_likelihood > result.history[-1]
        assert (np.diff(result.history) >= -1e-9).all()

    def test_fewer_samples_than_variables_get_the_stated_ridge(self):
        X = with_gaps(10, 15, 0.1, 9)
        result = em_covariance(X)
        assert result.ridge == 0.01
        assert result.converged
        assert np.linalg.eigvalsh(result.covariance)[0] > 0
        assert (np.diff(result.history) >= -1e-9).all()
        with raises(SolverError, code="em_singular"):
            em_covariance(X, ridge=0.0)

    def test_singular_covariance_gets_the_stated_ridge(self):
        X = np.random.default_rng(0).normal(size=(50, 2))
        X = np.column_stack([X, X.sum(axis=1)])
        X[0, 0] = np.nan
        assert em_covariance(X).ridge == 0.01
        with raises(SolverError, code="em_singular"):
            em_covariance(X, ridge=0.0)

    def test_stops_as_told(self):
        X = with_gaps(40, 4, 0.4, 11)
        short = em_covariance(X, max_iter=3)
        assert not short.converged
        assert short.n_iter == 3
        assert em_covariance(X, tol=1e-3).n_iter < em_covariance(X, tol=1e-10).n_iter

    def test_empty_samples_are_counted_and_left_out(self):
        X = with_gaps(30, 3, 0.2, 12)
        X = X[~np.isnan(X).all(axis=1)]
        padded = np.vstack([X, np.full((4, 3), np.nan)])
        result = em_covariance(padded)
        assert result.n_empty == 4
        np.testing.assert_allclose(result.covariance, em_covariance(X).covariance, rtol=1e-12)

    def test_refusals(self):
        X = np.array([[1.0, np.nan], [2.0, np.nan], [4.0, np.nan]])
        with raises(InputError, code="too_few_observed", column="'b'", count=0):
            em_covariance(X, names=["a", "b"])
        with raises(InputError, code="too_few_pairwise", label2="'x1'", n_pair=0):
            em_covariance([[1, np.nan], [2, np.nan], [np.nan, 1], [np.nan, 2]])
        with raises(InputError, code="constant_where_observed", column="'x1'"):
            em_covariance([[1.0, 2.0], [2.0, 2.0], [4.0, np.nan]])
        with raises(InputError, code="negative_ridge", ridge=-1):
            em_covariance(np.eye(3), ridge=-1)
        with raises(InputError, code="samples_infinite"):
            em_covariance([[1.0, np.inf], [2.0, 1.0]])
        with raises(InputError, code="too_few_observed", column="'x0'", count=0):
            em_covariance(np.full((3, 2), np.nan))
