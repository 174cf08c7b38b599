"""The private door to libsvm against the public estimator."""

import numpy as np
import pytest

from edgewise._core import libsvm


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_give_the_same_machine(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 6))
    sign = np.where(rng.uniform(size=40) < 0.4, -1.0, 1.0)
    kernel = rows @ rows.T + 0.5 * np.eye(40)
    options = {"C": 1e4, "tol": 1e-6}
    dual, intercept = libsvm.train_on_kernel(kernel, sign, **options)
    public = libsvm._by_public_estimator(kernel, sign, *options.values())
    np.testing.assert_allclose(dual, public[0], atol=1e-8)
    assert intercept == pytest.approx(public[1], abs=1e-8)
    # A hard margin: every support vector lies on it, all other rows beyond.
    margin = sign * (kernel @ dual + intercept)
    assert margin.min() >= 1 - 1e-4
    np.testing.assert_allclose(margin[dual != 0], 1.0, atol=1e-3)
    assert (sign * dual >= 0).all()


def test_without_the_private_name(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.svm._libsvm", None)
    kernel, sign = np.diag([2.0, 2.0, 2.0]), np.array([-1.0, 1.0, 1.0])
    dual, _ = libsvm.train_on_kernel(kernel, sign, C=1e4, tol=1e-6)
    assert dual.sum() == pytest.approx(0.0, abs=1e-8)
