"""The dense steps give the same in another array library as in numpy."""

import array_api_strict as strict
import numpy as np
import pytest

from edgewise.solvers.linalg.dense import (
    inverse_and_log_determinant,
    likelihood_step,
    log_determinant,
)


def positive_definite(p, seed=0, smallest=0.1):
    """Symmetric matrix with eigenvalues from ``smallest`` to 10, and these eigenvalues."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(p, p)))[0]
    values = np.geomspace(smallest, 10.0, p)
    A = (Q * values) @ Q.T
    return (A + A.T) / 2, values


SIZES = pytest.mark.parametrize("p", [1, 2, 7, 40])


@SIZES
def test_log_determinant(p):
    A, values = positive_definite(p)
    expected = np.log(values).sum()
    for given in (A, strict.asarray(A)):
        found = log_determinant(given)
        assert isinstance(found, float)
        assert found == pytest.approx(expected, abs=1e-10)


@SIZES
def test_inverse_and_its_log_determinant(p):
    A, values = positive_definite(p, seed=1)
    inverse, value = inverse_and_log_determinant(A)
    other, other_value = inverse_and_log_determinant(strict.asarray(A))
    assert type(other) is type(strict.asarray(A))
    assert value == pytest.approx(np.log(values).sum(), abs=1e-10)
    assert other_value == pytest.approx(value, abs=1e-10)
    for found in (inverse, np.asarray(other)):
        np.testing.assert_allclose(found @ A, np.eye(p), atol=1e-11)
        np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize(
    "A",
    [np.diag([1.0, -1.0]), np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros((3, 3))],
    ids=["negative", "indefinite", "zero"],
)
def test_what_is_not_positive_definite_has_neither(A):
    for given in (A, strict.asarray(A)):
        assert log_determinant(given) == -np.inf
        assert inverse_and_log_determinant(given) == (None, -np.inf)


@SIZES
@pytest.mark.parametrize("strength", [1e-6, 0.3, 50.0])
def test_likelihood_step_solves_its_equation(p, strength):
    V, _ = positive_definite(p, seed=2)
    V = V - 3.0 * np.eye(p)
    other = likelihood_step(strict.asarray(V), strength)
    assert type(other) is type(strict.asarray(V))
    found = likelihood_step(V.copy(), strength)
    for O in (found, np.asarray(other)):  # noqa: E741
        assert np.linalg.eigvalsh(O)[0] > 0
        np.testing.assert_array_equal(O, O.T)
        np.testing.assert_allclose(O @ O - strength * np.eye(p), O @ V, atol=1e-9)
    np.testing.assert_allclose(np.asarray(other), found, atol=1e-10)


def test_likelihood_step_keeps_the_digits_of_small_eigenvalues():
    # The smaller solution of x - c / x = -1e6 is c / 1e6, up to c / 1e12 of that.
    V = np.diag([-1e6, 1.0])
    for given in (V.copy(), strict.asarray(V)):
        O = np.asarray(likelihood_step(given, 1e-3))  # noqa: E741
        assert O[0, 0] == pytest.approx(1e-9, rel=1e-12)


def test_inputs_of_determinants_stay_as_they_are():
    A, _ = positive_definite(5)
    before = A.copy()
    log_determinant(A)
    inverse_and_log_determinant(A)
    np.testing.assert_array_equal(A, before)
