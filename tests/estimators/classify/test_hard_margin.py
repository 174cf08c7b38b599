"""The machine with a hard margin: conditions of its optimum, and libsvm's answer."""

import numpy as np
import pytest

from edgewise.estimators.classify.class_networks import hard_margin
from tests.solvers.classify.class_problems import hard_machine


@pytest.mark.parametrize("shift", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("n_rows", [12, 90])
def test_conditions_of_the_optimum(n_rows, shift):
    """Without a shift of the classes most rows count; with a large one, few do."""
    rng = np.random.default_rng(n_rows)
    sign = np.where(np.arange(n_rows) % 3 == 0, -1.0, 1.0)
    rows = rng.normal(size=(n_rows, 4)) + shift * (sign > 0)[:, None]
    ridge = rng.uniform(0.01, 0.5, size=n_rows)
    kernel = rows @ rows.T + np.diag(ridge)
    dual, intercept = hard_margin(kernel, sign, ridge)
    margin = sign * (kernel @ dual + intercept)
    assert (sign * dual >= 0).all()
    assert dual.sum() == pytest.approx(0.0, abs=1e-8)
    assert margin.min() >= 1 - 1e-8
    np.testing.assert_allclose(margin[dual != 0], 1.0, atol=1e-8)
    by_libsvm = hard_machine(kernel, sign)
    np.testing.assert_allclose(dual, by_libsvm, atol=1e-5 * np.abs(dual).max())


def test_rows_that_come_and_go():
    """Steps that are always whole end in a circle here: most rows are close to the margin."""
    rng = np.random.default_rng(3)
    rows, sign = rng.normal(size=(300, 150)), np.tile([-1.0, 1.0], 150)
    ridge = np.full(300, 0.05)
    kernel = rows @ rows.T + np.diag(ridge)
    dual, intercept = hard_margin(kernel, sign, ridge)
    margin = sign * (kernel @ dual + intercept)
    assert margin.min() >= 1 - 1e-8
    assert (sign * dual >= 0).all()
