"""The dense steps give the same in another array library as in numpy."""

import array_api_strict as strict
import numpy as np
import pytest

from edgewise.solvers.linalg.dense import (
    LikelihoodStep,
    inverse_and_log_determinant,
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
    other = LikelihoodStep()(strict.asarray(V), strength)
    assert type(other) is type(strict.asarray(V))
    found = LikelihoodStep()(V.copy(), strength)
    for O in (found, np.asarray(other)):  # noqa: E741
        assert np.linalg.eigvalsh(O)[0] > 0
        np.testing.assert_array_equal(O, O.T)
        np.testing.assert_allclose(O @ O - strength * np.eye(p), O @ V, atol=1e-9)
    np.testing.assert_allclose(np.asarray(other), found, atol=1e-10)


def test_likelihood_step_keeps_the_digits_of_small_eigenvalues():
    # The smaller solution of x - c / x = -1e6 is c / 1e6, up to c / 1e12 of that.
    V = np.diag([-1e6, 1.0])
    for given in (V.copy(), strict.asarray(V)):
        O = np.asarray(LikelihoodStep()(given, 1e-3))  # noqa: E741
        assert O[0, 0] == pytest.approx(1e-9, rel=1e-12)


@pytest.mark.parametrize("library", [np, strict], ids=["numpy", "strict"])
@pytest.mark.parametrize("distance", [1e-4, 1e-2, 0.3])
@pytest.mark.parametrize("strength", [0.01, 1.0])
def test_an_old_basis_serves_up_to_the_error_that_is_tolerated(library, distance, strength):
    rng = np.random.default_rng(3)
    V, _ = positive_definite(40, seed=2)
    step = LikelihoodStep()
    step(library.asarray(V - 2.0 * np.eye(40)), strength)
    for scale in (1.0, 1.2):
        noise = rng.normal(size=V.shape)
        V = V + distance * np.linalg.norm(V) / np.linalg.norm(noise) * 0.5 * (noise + noise.T)
        exact = LikelihoodStep()(V - 2.0 * np.eye(40), scale * strength)
        given = library.asarray(V - 2.0 * np.eye(40))
        for tolerated in (1e-1, 1e-3, 1e-5):
            found = np.asarray(step(given, scale * strength, tolerated))
            # The error is estimated from the orders that were computed.
            assert np.linalg.norm(found - exact) <= 3 * tolerated
            np.testing.assert_array_equal(found, found.T)
        np.testing.assert_array_equal(np.asarray(given), V - 2.0 * np.eye(40))
    assert step.n_decompositions == 1 or distance > 1e-4


def test_inputs_of_determinants_stay_as_they_are():
    A, _ = positive_definite(5)
    before = A.copy()
    log_determinant(A)
    inverse_and_log_determinant(A)
    np.testing.assert_array_equal(A, before)
