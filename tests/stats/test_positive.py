import numpy as np
import pytest

from edgewise import InputError
from edgewise.stats import kendall_correlation, repair_covariance
from edgewise.stats.positive import (
    check_covariance,
    correlation_from_covariance,
    smallest_eigenvalue,
)
from tests.messages import raises

NAMES = ["a", "b", "c"]


def refusal(S, **kwargs):
    with pytest.raises(InputError) as caught:
        check_covariance(S, **kwargs)
    return str(caught.value)


@pytest.fixture
def indefinite():
    """Correlations that contradict each other, in units far apart."""
    R = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    scale = np.array([1e-4, 1.0, 1e5])
    return R * np.outer(scale, scale)


def test_good_covariances_pass():
    X = np.random.default_rng(0).normal(size=(10, 30)) * 10.0 ** np.arange(-15, 15)
    S = np.cov(X.T)  # rank 9, units over 30 orders of magnitude
    checked = check_covariance(S)
    np.testing.assert_array_equal(checked, (S + S.T) / 2)
    assert (checked == checked.T).all()
    check_covariance([[2]])


def test_rounding_asymmetry_is_evened_out():
    S = np.array([[1.0, 0.5], [0.5 + 1e-10, 1.0]])
    checked = check_covariance(S)
    assert checked[0, 1] == checked[1, 0] == pytest.approx(0.5 + 5e-11, abs=1e-14)


def test_refusals():
    assert "got shape (2, 3)" in refusal(np.ones((2, 3)))
    assert "square" in refusal(np.ones(3))
    assert "square" in refusal(np.ones((0, 0)))
    S = np.eye(3)
    S[0, 2] = S[2, 0] = np.nan
    assert "'a' and 'c'" in refusal(S, names=NAMES)
    S = np.diag([1.0, 0.0, -1.0])
    assert "variance of 'b' and 'c' is not positive" in refusal(S, names=NAMES)
    assert "variance of 'x1' and 'x2'" in refusal(S)
    S = np.eye(3)
    S[1, 2] = 0.25
    text = refusal(S, names=NAMES)
    assert "'b' and 'c' is 0.25, the reverse 0" in text


def test_indefinite_matrix_names_its_eigenvalue_and_the_remedy(indefinite):
    text = refusal(indefinite)
    assert 'repair="ridge"' in text
    assert "(-0.8 as correlations)" in text
    S = np.array([[2.0, 3.0], [3.0, 1.0]])
    assert f"eigenvalue is {np.linalg.eigvalsh(S)[0]:.6g} (" in refusal(S)
    assert "eigenvalue is -1. Pass" in refusal([[1, 2], [2, 1]])
    np.testing.assert_array_equal(check_covariance(indefinite, allow_indefinite=True), indefinite)


def test_tolerance_sits_at_rounding():
    def matrix(eigenvalue):
        return np.array([[1.0, 1.0 - eigenvalue], [1.0 - eigenvalue, 1.0]])

    check_covariance(matrix(-0.5e-8))
    refusal(matrix(-2e-8))


def test_smallest_eigenvalue_matches_numpy():
    A = np.random.default_rng(1).normal(size=(20, 20))
    assert smallest_eigenvalue(A + A.T) == pytest.approx(np.linalg.eigvalsh(A + A.T)[0])


def test_correlation():
    S = np.cov(np.random.default_rng(2).normal(size=(4, 30)))
    np.testing.assert_allclose(
        correlation_from_covariance(S), np.corrcoef(np.random.default_rng(2).normal(size=(4, 30)))
    )


@pytest.mark.parametrize("minimum", [1e-6, 1e-2])
@pytest.mark.parametrize("method", ["ridge", "clip"])
def test_repair_reaches_the_minimum(indefinite, method, minimum):
    repaired, record = repair_covariance(indefinite, method, minimum=minimum)
    R = correlation_from_covariance(indefinite)
    assert record["method"] == method
    assert record["smallest_eigenvalue_before"] == pytest.approx(np.linalg.eigvalsh(R)[0])
    after = np.linalg.eigvalsh(correlation_from_covariance(repaired))[0]
    assert after == pytest.approx(minimum, abs=1e-12)
    assert record["smallest_eigenvalue_after"] == pytest.approx(after, abs=1e-12)
    assert record["amount"] > 0
    assert (repaired == repaired.T).all()
    check_covariance(repaired)


def test_ridge_adds_to_the_diagonal_only(indefinite):
    repaired, record = repair_covariance(indefinite, "ridge")
    expected = indefinite + record["amount"] * np.diag(np.diagonal(indefinite))
    np.testing.assert_allclose(repaired, expected, rtol=1e-15)


def test_clip_keeps_the_variances(indefinite):
    repaired, record = repair_covariance(indefinite, "clip")
    np.testing.assert_allclose(np.diagonal(repaired), np.diagonal(indefinite), rtol=1e-15)
    change = correlation_from_covariance(repaired) - correlation_from_covariance(indefinite)
    assert record["amount"] == pytest.approx(np.abs(change).max())


def test_clip_changes_less_than_ridge():
    R = kendall_correlation(np.random.default_rng(0).normal(size=(8, 12)))
    change = {
        method: np.linalg.norm(correlation_from_covariance(repair_covariance(R, method)[0]) - R)
        for method in ("ridge", "clip")
    }
    assert change["clip"] < 0.9 * change["ridge"]


@pytest.mark.parametrize("method", ["ridge", "clip"])
def test_definite_matrix_is_left_alone(method):
    S = np.array([[2.0, 0.5], [0.5, 3.0]])
    repaired, record = repair_covariance(S, method)
    np.testing.assert_array_equal(repaired, S)
    assert record["amount"] == 0


@pytest.mark.parametrize("method", ["ridge", "clip"])
def test_repair_does_not_depend_on_units(indefinite, method):
    units = np.outer([3, 50, 1e-6], [3, 50, 1e-6])
    repaired, _ = repair_covariance(indefinite, method)
    np.testing.assert_allclose(
        repair_covariance(indefinite * units, method)[0], repaired * units, rtol=1e-10
    )


def test_repair_refusals(indefinite):
    with raises(InputError, code="repair_method", method="shrink"):
        repair_covariance(indefinite, "shrink")
    with raises(InputError, code="repair_minimum", minimum=0):
        repair_covariance(indefinite, minimum=0)
    with raises(InputError, code="asymmetric_covariance", label2="x1"):
        repair_covariance([[1, 0.5], [0, 1]])
