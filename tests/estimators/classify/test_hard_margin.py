"""The machine with a hard margin: conditions of its optimum, and libsvm's answer."""

import numpy as np
import pytest

from edgewise.estimators.classify.class_networks import _by_pairs, hard_margin


@pytest.mark.parametrize("shift", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("n_rows", [12, 90])
def test_conditions_of_the_optimum(n_rows, shift):
    """Without a shift of the classes most rows count; with a large one, few do."""
    rng = np.random.default_rng(n_rows)
    sign = np.where(np.arange(n_rows) % 3 == 0, -1.0, 1.0)
    rows = rng.normal(size=(n_rows, 4)) + shift * (sign > 0)[:, None]
    kernel = rows @ rows.T + np.diag(rng.uniform(0.1, 2.0, size=n_rows))
    dual, intercept = hard_margin(kernel, sign)
    margin = sign * (kernel @ dual + intercept)
    assert (sign * dual >= 0).all()
    assert dual.sum() == pytest.approx(0.0, abs=1e-8)
    assert margin.min() >= 1 - 1e-8
    np.testing.assert_allclose(margin[dual != 0], 1.0, atol=1e-8)
    by_libsvm = _by_pairs(kernel, sign)
    np.testing.assert_allclose(dual, by_libsvm[0], atol=1e-3 * np.abs(dual).max())
    assert intercept == pytest.approx(by_libsvm[1], abs=1e-3)


def test_a_kernel_that_is_not_positive_definite_goes_to_libsvm():
    rows = np.random.default_rng(0).normal(size=(20, 3))
    sign = np.where(rows[:, 0] > 0, 1.0, -1.0)
    dual, intercept = hard_margin(rows @ rows.T, sign)
    assert (sign * (rows @ (rows.T @ dual) + intercept)).min() > 0.99
