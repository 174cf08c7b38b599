"""Averages around points, against sums written out row by row."""

import numpy as np
import pytest

from edgewise import InputError
from edgewise.stats.moments import (
    bandwidth_for,
    effective_samples,
    kernel_weights,
    weighted_moments,
)
from tests.messages import raises


@pytest.fixture
def distances():
    return np.random.default_rng(0).uniform(0, 4, size=(5, 40)) ** 2


def test_weights_are_gaussian_densities(distances):
    density = np.exp(-distances / (2 * 0.7**2))
    expected = density / density.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(kernel_weights(distances, 0.7), expected, rtol=1e-12)


def test_each_point_may_have_its_own_bandwidth(distances):
    widths = np.linspace(0.2, 3, 5)
    together = kernel_weights(distances, widths)
    for k in range(5):
        alone = kernel_weights(distances[k : k + 1], float(widths[k]))
        np.testing.assert_allclose(together[k], alone[0], rtol=1e-12)


def test_far_from_all_rows_the_nearest_counts():
    weights = kernel_weights(np.array([[1e8, 1.1e8, 1.2e8]]), 1.0)
    np.testing.assert_array_equal(weights, [[1, 0, 0]])


def test_effective_rows():
    assert effective_samples(np.full((1, 7), 0.3))[0] == pytest.approx(7)
    assert effective_samples(np.eye(3)).tolist() == [1, 1, 1]


@pytest.mark.parametrize("wanted", [2.0, 11.5, 39.0])
def test_bandwidth_gives_the_rows_asked_for(distances, wanted):
    widths = bandwidth_for(distances, wanted)
    found = effective_samples(kernel_weights(distances, widths))
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_rows_that_coincide_are_enough_at_any_bandwidth():
    distances = np.array([[0.0, 0.0, 0.0, 1.0], [2.0, 2.0, 2.0, 2.0]])
    widths = bandwidth_for(distances, 3.0)
    assert (effective_samples(kernel_weights(distances, widths)) >= 3 - 1e-9).all()
    assert widths[0] < 1e-6


def test_moments_are_those_of_numpy():
    rng = np.random.default_rng(1)
    Y = rng.normal(size=(30, 4)) + 3
    weights = rng.uniform(size=(6, 30))
    weights /= weights.sum(axis=1, keepdims=True)
    mean, S = weighted_moments(Y, weights)
    about, T = weighted_moments(Y, weights, location=np.ones((6, 4)))
    for k in range(6):
        np.testing.assert_allclose(mean[k], np.average(Y, axis=0, weights=weights[k]))
        np.testing.assert_allclose(S[k], np.cov(Y.T, aweights=weights[k], ddof=0))
        np.testing.assert_allclose(T[k], (Y - 1).T @ np.diag(weights[k]) @ (Y - 1))
    np.testing.assert_array_equal(S, S.swapaxes(1, 2))
    np.testing.assert_array_equal(about, 1)


def test_bad_arguments(distances):
    with raises(InputError, code="bandwidth_positive"):
        kernel_weights(distances, 0.0)
    with raises(InputError, code="n_effective_range", n_rows=40, n_effective=40):
        bandwidth_for(distances, 40)
