"""Effective sample sizes of correlations, and the test of all pairs, against what they must be."""

import itertools

import numpy as np
import pytest
from scipy import stats

from edgewise.stats.effective import PairScores, student_p
from edgewise.stats.polychoric import level_scores


def test_gaussian_rows_count_as_they_are():
    X = np.random.default_rng(0).normal(size=(300, 6))
    scores = PairScores(values=X)
    assert scores.n_effective == 300
    np.testing.assert_allclose(scores.correlation, np.corrcoef(X.T), atol=1e-12)
    pairs = itertools.combinations(range(6), 2)
    plain = min(1.0, 15 * min(stats.pearsonr(X[:, i], X[:, j])[1] for i, j in pairs))
    assert plain <= scores.smallest_p_value() <= 1.5 * plain


def test_p_values_are_those_of_student():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 40))
    r, expected = stats.pearsonr(x, y)
    assert student_p(np.array([r]), np.array([40.0]))[0] == pytest.approx(expected)
    assert student_p(np.array([0.9, 1.0]), np.array([2.0, 9.0])).tolist() == [1.0, 0.0]


def test_the_search_for_the_smallest_p_value_misses_none():
    """The batches end once no other pair can be surer: beside all pairs, one by one."""
    rng = np.random.default_rng(2)
    for heavy in (False, True):
        X = rng.standard_t(2, size=(60, 25)) if heavy else rng.normal(size=(60, 25))
        X[rng.random(X.shape) < 0.2] = np.nan
        scores = PairScores(values=X)
        i, j = np.triu_indices(25, 1)
        least = max(scores.tails, 1.0)
        tails = np.maximum(scores._tails_of(i, j), least)
        p = student_p(scores.correlation[i, j], scores.n_pairs[i, j] / tails)
        assert scores.smallest_p_value() == pytest.approx(min(1.0, 300 * p.min()))
        allowed = rng.random((25, 25)) < 0.5
        allowed |= allowed.T
        some = p[allowed[i, j]].min()
        assert scores.smallest_p_value(allowed) == pytest.approx(min(1.0, 300 * some))


def test_missing_values_leave_the_rows_that_have_both():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    X[:50, 0] = X[40:120, 1] = np.nan
    scores = PairScores(values=X)
    assert scores.n_pairs[0, 1] == 80
    both = X[120:, :2]
    assert scores.correlation[0, 1] == pytest.approx(np.corrcoef(both.T)[0, 1])
    assert scores.n_effective == pytest.approx((80 + 150 + 120) / 3)


def test_weights_repeat_rows():
    rng = np.random.default_rng(4)
    X = rng.standard_t(3, size=(80, 5))
    weights = rng.integers(0, 4, 80)
    weighted = PairScores(values=X, weights=weights.astype(float))
    repeated = PairScores(values=np.repeat(X, weights, axis=0))
    assert weighted.n_effective == pytest.approx(repeated.n_effective)
    assert weighted.smallest_p_value() == pytest.approx(repeated.smallest_p_value())


def test_tails_are_those_of_the_family():
    """Of a multivariate t with k degrees the variance of a correlation is (k - 2) / (k - 4) / n."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(100_000, 4)) / np.sqrt(rng.chisquare(12, size=(100_000, 1)) / 12)
    assert PairScores(values=X).tails == pytest.approx(10 / 8, rel=0.05)


def test_scores_of_levels_are_conditional_means():
    rng = np.random.default_rng(6)
    z = rng.normal(size=200_000)
    answers = np.digitize(z, [-0.5, 0.3, 1.5]).astype(float)
    scores, variance = level_scores(answers)
    for level in range(4):
        assert scores[answers == level][0] == pytest.approx(z[answers == level].mean(), abs=0.01)
    assert variance == pytest.approx(np.var(scores))
    gaps = np.where(np.arange(200_000) % 2, answers, np.nan)
    assert np.isnan(level_scores(gaps)[0]).sum() == 100_000
