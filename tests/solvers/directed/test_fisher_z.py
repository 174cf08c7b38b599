import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from edgewise import InputError
from edgewise.solvers.directed.partial_correlation import (
    fisher_z_test,
    partial_correlation,
    significant_from,
)
from tests.messages import raises


def rows(seed, n_rows=60, n_columns=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, n_columns)) @ rng.normal(size=(n_columns, n_columns))


def residual(X, column, others):
    design = np.column_stack([np.ones(len(X)), X[:, others]])
    return X[:, column] - design @ np.linalg.lstsq(design, X[:, column])[0]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(2, 5), unique=True))
def test_correlation_of_residuals(seed, others):
    X = rows(seed)
    expected = np.corrcoef(residual(X, 0, others), residual(X, 1, others))[0, 1]
    found = partial_correlation(np.cov(X.T), 0, 1, others)
    assert found == pytest.approx(expected, abs=1e-10)
    assert partial_correlation(np.cov(X.T), 1, 0, others[::-1]) == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_all_others_are_the_inverse_covariance(seed):
    S = np.cov(rows(seed).T)
    K = np.linalg.inv(S)
    for i, j in [(0, 1), (4, 2), (5, 3)]:
        others = [k for k in range(6) if k not in (i, j)]
        expected = -K[i, j] / np.sqrt(K[i, i] * K[j, j])
        assert partial_correlation(S, i, j, others) == pytest.approx(expected, abs=1e-10)


def test_variables_that_follow_from_others():
    X = rows(0)
    X[:, 2] = X[:, 3] - 2 * X[:, 4]
    S = np.cov(X.T)
    # The third adds nothing to the two that it follows from.
    fewer = partial_correlation(S, 0, 1, [3, 4])
    assert partial_correlation(S, 0, 1, [3, 4, 2]) == pytest.approx(fewer, abs=1e-8)
    assert partial_correlation(S, 0, 2, [3, 4]) == 0.0


@pytest.mark.parametrize("others", [[], [2], [2, 3, 4]])
def test_fisher_z(others):
    S = np.cov(rows(1).T)
    test = fisher_z_test(S, 60, 0, 1, others)
    assert test.correlation == partial_correlation(S, 0, 1, others)
    expected = np.sqrt(60 - len(others) - 3) * abs(np.arctanh(test.correlation))
    assert test.statistic == pytest.approx(expected)
    assert test.p_value == pytest.approx(2 * stats.norm.sf(expected))


def test_p_values_are_uniform_under_independence():
    rng = np.random.default_rng(0)
    found = []
    for _ in range(500):
        X = rng.normal(size=(30, 4))
        X[:, :2] += X[:, 2:].sum(axis=1, keepdims=True)
        found.append(fisher_z_test(np.cov(X.T), 30, 0, 1, [2, 3]).p_value)
    assert stats.kstest(found, "uniform").pvalue > 0.01


@pytest.mark.parametrize("significance", [1e-12, 0.01, 0.5, 1 - 1e-7])
def test_limits_agree_with_the_test(significance):
    limits = significant_from(20, significance, 18)
    assert np.isinf(limits[17:]).all()
    for c in (0, 5, 16):
        z = np.sqrt(20 - c - 3) * np.arctanh(limits[c])
        assert 2 * stats.norm.sf(z) == pytest.approx(significance, rel=1e-6)


def test_perfect_correlation_has_a_finite_statistic():
    test = fisher_z_test(np.ones((2, 2)), 50, 0, 1)
    assert np.isfinite(test.statistic)
    assert test.p_value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 0, ()), "test_indices"),
        ((0, 1, (1,)), "test_indices"),
        ((0, 3, ()), "test_indices"),
        ((0, 1, (-1,)), "test_indices"),
    ],
)
def test_bad_variables_are_named(arguments, message):
    with raises(InputError, code=message):
        partial_correlation(np.eye(3), *arguments)


def test_bad_covariances_are_named():
    with raises(InputError, code="variance_not_positive_at", smallest=1):
        partial_correlation(np.diag([1.0, 0.0]), 0, 1)
    with raises(InputError, code="covariance_asymmetric_at", i=0, j=1):
        partial_correlation(np.array([[1.0, 0.5], [0.2, 1.0]]), 0, 1)
    with raises(InputError, code="too_few_rows_for_test", n_given=1, n_given2=4):
        fisher_z_test(np.eye(3), 4, 0, 1, [2])
