from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.covariance import empirical_covariance

from edgewise import InputError
from edgewise.stats import Moments, covariance
from tests.messages import raises


def exact_covariance(X):
    """Mean and covariance in rational arithmetic."""
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    n, p = X.shape
    mean = [sum(row[j] for row in rows) / n for j in range(p)]
    S = [
        [sum((row[j] - mean[j]) * (row[k] - mean[k]) for row in rows) / n for k in range(p)]
        for j in range(p)
    ]
    return np.array(mean, dtype=float), np.array(S, dtype=float)


def test_matches_scikit_learn():
    X = np.random.default_rng(0).normal(size=(50, 6)) + np.arange(6)
    location, S = covariance(X)
    np.testing.assert_allclose(location, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(S, empirical_covariance(X), rtol=1e-12, atol=1e-15)
    assert (S == S.T).all()
    location, S = covariance(X, assume_centered=True)
    assert (location == 0).all()
    np.testing.assert_allclose(S, empirical_covariance(X, assume_centered=True), rtol=1e-12)


def test_weights_match_numpy():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(40, 4)), rng.uniform(0, 3, size=40)
    w[:5] = 0
    location, S = covariance(X, sample_weight=w)
    np.testing.assert_allclose(location, np.average(X, axis=0, weights=w), rtol=1e-13)
    np.testing.assert_allclose(S, np.cov(X.T, aweights=w, bias=True), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(covariance(X, sample_weight=10 * w)[1], S, rtol=1e-13, atol=1e-15)
    _, centered = covariance(X, sample_weight=w, assume_centered=True)
    np.testing.assert_allclose(centered, X.T * w @ X / w.sum(), rtol=1e-12)


def test_integer_weights_repeat_samples():
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(12, 3)), rng.integers(0, 4, size=12)
    np.testing.assert_allclose(
        covariance(X, sample_weight=w)[1], covariance(np.repeat(X, w, axis=0))[1], rtol=1e-12
    )


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9, -1e12])
def test_large_offsets_cost_no_digits(offset):
    X = np.random.default_rng(3).normal(size=(60, 3)) + offset
    mean, S = exact_covariance(X)
    location, ours = covariance(X)
    # A mean near zero is as exact as the values that cancel in it.
    np.testing.assert_allclose(location, mean, rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(ours, S, rtol=1e-12)
    pieces = [Moments.from_samples(X[a : a + 7]) for a in range(0, 60, 7)]
    merged = pieces[0]
    for piece in pieces[1:]:
        merged = merged.merge(piece)
    np.testing.assert_allclose(merged.covariance(), S, rtol=1e-10)
    np.testing.assert_allclose(merged.mean, mean, rtol=1e-15, atol=1e-15)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**32 - 1), exponent=st.integers(0, 10))
def test_moments_merge_in_any_order(data, seed, exponent):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 40)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, p)) * rng.uniform(0.1, 10, size=p) + 10.0**exponent
    w = rng.uniform(0.1, 2, size=n)
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=6)))
    pieces = [
        Moments.from_samples(chunk, sample_weight=weight)
        for chunk, weight in zip(np.split(X, cuts), np.split(w, cuts), strict=True)
    ]
    while len(pieces) > 1:
        i = data.draw(st.integers(0, len(pieces) - 1))
        first = pieces.pop(i)
        j = data.draw(st.integers(0, len(pieces) - 1))
        pieces[j] = first.merge(pieces[j])
    location, S = covariance(X, sample_weight=w)
    merged = pieces[0]
    assert merged.n_samples == n
    assert merged.weight == pytest.approx(w.sum())
    np.testing.assert_allclose(merged.mean, location, rtol=1e-14)
    scale = np.sqrt(np.outer(np.diagonal(S), np.diagonal(S)))
    assert np.abs(merged.covariance() - S).max() <= 1e-10 * scale.max()
    assert (np.abs(merged.covariance() - S) <= 1e-10 * scale).all()
    assert (merged.covariance() == merged.covariance().T).all()


def test_update_is_a_merge_and_changes_nothing_in_place():
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(20, 3)), rng.uniform(1, 2, size=20)
    start = Moments.from_samples(X[:8], sample_weight=w[:8])
    before = start.covariance().copy()
    grown = start.update(X[8:], sample_weight=w[8:])
    np.testing.assert_allclose(grown.covariance(), covariance(X, sample_weight=w)[1], rtol=1e-12)
    np.testing.assert_array_equal(start.covariance(), before)


def test_single_sample_and_single_variable():
    location, S = covariance([[3.0, 4.0]])
    np.testing.assert_array_equal(location, [3, 4])
    np.testing.assert_array_equal(S, np.zeros((2, 2)))
    assert covariance([[1.0], [3.0]])[1] == 1.0


@pytest.mark.parametrize(
    ("X", "part"),
    [
        ([1.0, 2.0], "samples_not_two_dimensional"),
        (np.empty((3, 0)), "samples_not_two_dimensional"),
        (np.empty((0, 2)), "too_few_samples"),
        ([[1.0, np.nan]], "samples_missing"),
        ([[1.0, np.inf]], "samples_infinite"),
    ],
)
def test_bad_samples(X, part):
    with raises(InputError, code=part):
        covariance(X)
    with raises(InputError, code=part):
        covariance(X, assume_centered=True)


def test_bad_weights_and_merges():
    X = np.ones((3, 2))
    for bad in ([1, 2], [1, -1, 1], [0, 0, 0], [np.nan, 1, 1]):
        with pytest.raises(InputError, match="sample_weight"):
            covariance(X, sample_weight=bad)
    with raises(InputError, code="moments_size_mismatch", n_shift=2, n_shift2=3):
        Moments.from_samples(X).merge(Moments.from_samples(np.ones((3, 3))))
