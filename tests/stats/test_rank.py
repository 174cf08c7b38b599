from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as reference

from edgewise import InputError
from edgewise.data import make_gaussian_graph
from edgewise.stats import kendall_correlation, nonparanormal_correlation, spearman_correlation
from edgewise.stats.rank import average_ranks, nonparanormal
from tests.messages import raises

HERE = Path(__file__).parent
ALL = [nonparanormal_correlation, spearman_correlation, kendall_correlation]


def frozen(name):
    return pd.read_csv(HERE / f"huge_npn_{name}.csv").to_numpy()


def kendall_by_scipy(X):
    p = X.shape[1]
    tau = np.eye(p)
    for j in range(p):
        for k in range(j):
            tau[j, k] = tau[k, j] = reference.kendalltau(X[:, j], X[:, k]).statistic
    return tau


@pytest.mark.parametrize("method", ["shrinkage", "truncation"])
def test_nonparanormal_matches_huge(method):
    expected = frozen(method)
    ours = nonparanormal(frozen("data"), method=method)
    # huge divides every column by the deviation (divisor n - 1) of the first.
    np.testing.assert_allclose(ours, expected / expected.std(axis=0), rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(
        nonparanormal_correlation(frozen("data"), method=method),
        np.corrcoef(expected.T),
        rtol=1e-9,
        atol=1e-14,
    )


def test_spearman_matches_huge():
    np.testing.assert_allclose(spearman_correlation(frozen("data")), frozen("skeptic"), rtol=1e-12)


def test_nonparanormal_has_unit_variance_and_keeps_the_order():
    X = np.random.default_rng(0).exponential(size=(101, 3))
    Z = nonparanormal(X)
    np.testing.assert_allclose(Z.var(axis=0), 1)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(np.argsort(Z, axis=0), np.argsort(X, axis=0))


tables = st.tuples(st.integers(2, 40), st.integers(2, 4), st.integers(2, 50), st.integers(0, 999))


@settings(max_examples=40, deadline=None)
@given(tables)
def test_ranks_and_correlations_match_scipy_with_ties(case):
    n, p, n_levels, seed = case
    X = np.random.default_rng(seed).integers(0, n_levels, size=(n, p)).astype(float)
    X[0], X[1] = -1.0, n_levels  # no column is constant
    ranks = reference.rankdata(X, axis=0)
    np.testing.assert_array_equal(average_ranks(X), ranks)
    rho = np.corrcoef(ranks.T)
    expected = 2 * np.sin(np.pi / 6 * rho)
    np.testing.assert_allclose(spearman_correlation(X), expected, atol=1e-12)
    np.testing.assert_allclose(
        kendall_correlation(X), np.sin(np.pi / 2 * kendall_by_scipy(X)), atol=1e-12
    )


def test_continuous_data_match_scipy_and_pandas():
    X = np.random.default_rng(5).normal(size=(300, 5)) @ np.random.default_rng(6).normal(
        size=(5, 5)
    )
    rho = reference.spearmanr(X).statistic
    np.testing.assert_allclose(spearman_correlation(X), 2 * np.sin(np.pi / 6 * rho), atol=1e-12)
    tau = pd.DataFrame(X).corr("kendall").to_numpy()
    np.testing.assert_allclose(kendall_correlation(X), np.sin(np.pi / 2 * tau), atol=1e-12)


def test_kendall_without_ties_counts_concordant_pairs():
    X = np.random.default_rng(7).normal(size=(25, 2))
    sign = np.sign(X[:, None, :] - X[None, :, :])
    tau = (sign[..., 0] * sign[..., 1]).sum() / (25 * 24)
    assert kendall_correlation(X)[0, 1] == pytest.approx(np.sin(np.pi / 2 * tau), abs=1e-12)


@pytest.mark.parametrize("estimate", ALL)
def test_invariant_under_monotone_maps_and_permutations(estimate):
    X = np.random.default_rng(8).normal(size=(60, 4))
    R = estimate(X)
    assert (R == R.T).all()
    assert (np.diagonal(R) == 1).all()
    curved = np.column_stack([np.exp(X[:, 0]), X[:, 1] ** 3, np.arctan(X[:, 2]), 5 * X[:, 3] - 7])
    np.testing.assert_allclose(estimate(curved), R, atol=1e-12)
    np.testing.assert_allclose(estimate(-X), R, atol=1e-12)
    flipped = X * [-1, 1, 1, 1]
    np.testing.assert_allclose(estimate(flipped)[0, 1:], -R[0, 1:], atol=1e-12)
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(estimate(X[:, order]), R[np.ix_(order, order)], atol=1e-12)
    np.testing.assert_allclose(estimate(X[::-1]), R, atol=1e-12)


@pytest.mark.parametrize("estimate", ALL)
def test_copies_have_correlation_one_even_with_ties(estimate):
    x = np.array([1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 4.0])
    R = estimate(np.column_stack([x, 2 * x, -x]))
    np.testing.assert_allclose(R, [[1, 1, -1], [1, 1, -1], [-1, -1, 1]], atol=1e-12)


@pytest.mark.parametrize("estimate", ALL)
def test_consistent_for_a_gaussian_copula(estimate):
    model = make_gaussian_graph(4, "ring", signal=(0.4, 0.45), rng=1)
    X = np.exp(model.sample(4000, rng=2))
    # Three standard errors of a correlation from 4000 samples are 0.05.
    assert np.abs(estimate(X) - model.covariance).max() < 0.05


def test_rank_estimates_may_be_indefinite():
    X = np.random.default_rng(0).normal(size=(8, 12))
    assert np.linalg.eigvalsh(kendall_correlation(X))[0] < -1e-3
    assert np.linalg.eigvalsh(spearman_correlation(X))[0] < -1e-3
    assert np.linalg.eigvalsh(nonparanormal_correlation(X))[0] > -1e-10


@pytest.mark.parametrize("estimate", [*ALL, nonparanormal])
def test_refusals(estimate):
    with raises(InputError, code="constant_ranks", flat=[1]):
        estimate([[1.0, 2.0], [2.0, 2.0]])
    with raises(InputError, code="too_few_samples", shape=1, min_samples=2):
        estimate([[1.0, 2.0]])
    with raises(InputError, code="samples_missing"):
        estimate([[1.0, np.nan], [2.0, 3.0]])


def test_unknown_method():
    with raises(InputError, code="rank_method", method="clip"):
        nonparanormal([[1.0], [2.0]], method="clip")
