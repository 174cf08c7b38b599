"""The private door to libsvm against the public estimator."""

import sys
import types

import numpy as np
import pytest

from edgewise.estimators.classify import class_networks


@pytest.mark.parametrize("seed", range(4))
def test_both_ways_give_the_same_machine(seed, capfd):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(40, 6))
    sign = np.where(rng.uniform(size=40) < 0.4, -1.0, 1.0)
    kernel = rows @ rows.T + 0.5 * np.eye(40)
    options = {"C": 1e4, "tol": 1e-6}
    dual, intercept = class_networks.train_on_kernel(kernel, sign, **options)
    public = class_networks._by_public_estimator(kernel, sign, *options.values())
    np.testing.assert_allclose(dual, public[0], atol=1e-8)
    assert intercept == pytest.approx(public[1], abs=1e-8)
    # A hard margin: every support vector lies on it, all other rows beyond.
    margin = sign * (kernel @ dual + intercept)
    assert margin.min() >= 1 - 1e-4
    np.testing.assert_allclose(margin[dual != 0], 1.0, atol=1e-3)
    assert (sign * dual >= 0).all()
    assert capfd.readouterr().out == ""


def test_without_the_private_name(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(12, 3))
    kernel, sign = rows @ rows.T + np.eye(12), np.tile([-1.0, 1.0], 6)
    expected = class_networks.train_on_kernel(kernel, sign, C=1e4, tol=1e-6)
    monkeypatch.setitem(sys.modules, "sklearn.svm._libsvm", types.ModuleType("moved"))
    found = class_networks.train_on_kernel(kernel, sign, C=1e4, tol=1e-6)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-8)
