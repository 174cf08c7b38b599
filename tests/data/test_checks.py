import numpy as np
import pytest

from edgewise import InputError
from edgewise.data.checks import (
    check_columns,
    inspect_columns,
    looks_like_covariance,
    refuse_covariance,
)
from tests.messages import raises


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(20, 8))


def message(*args, **kwargs):
    with pytest.raises(InputError) as caught:
        check_columns(*args, **kwargs)
    return str(caught.value)


NAMES = [f"g{k}" for k in range(8)]


def test_good_table_passes(X):
    report = check_columns(X, NAMES, kinds=["numeric"] * 7 + ["boolean"])
    assert not report.n_missing.any()
    assert report.constant == report.identical == ()


def test_missing_values(X):
    X[3, 1] = X[4, 1] = X[5, 6] = np.nan
    text = message(X, NAMES)
    assert "3 values are missing (NaN), in columns 'g1' (2) and 'g6' (1)." in text
    assert 'missing="em"' in text
    assert check_columns(X, NAMES, allow_missing=True).n_missing.tolist() == [
        0,
        2,
        0,
        0,
        0,
        0,
        1,
        0,
    ]


def test_long_lists_are_cut(X):
    X[0] = np.nan
    assert "'g4' (1) and 3 more." in message(X, NAMES)
    X[0] = np.inf
    assert "'g4' and 3 more have 8 infinite values" in message(X, NAMES)


def test_column_without_any_value_never_passes(X):
    X[:, 2] = np.nan
    assert "Column 'g2' has no value at all" in message(X, NAMES, allow_missing=True)


def test_infinite_values(X):
    X[3, 1] = -np.inf
    assert "Column 'g1' has 1 infinite value (inf)" in message(X, NAMES, allow_missing=True)


def test_constant_columns(X):
    X[:, 4] = 2.5
    assert "Column 'g4' has one value in every row (constant). Drop it." in message(X, NAMES)
    assert check_columns(X, NAMES, allow_constant=True).constant == (4,)
    X[1:, 5] = np.nan
    assert inspect_columns(X).constant == (4, 5)


def test_columns_that_vary_by_rounding_only(X):
    X[:, 4] = 1.0
    X[0, 4] = np.nextafter(1.0, 2.0)
    assert "Column 'g4' is constant up to rounding. Drop it" in message(X, NAMES)
    check_columns(X, NAMES, allow_constant=True)
    X[0, 4] = 1.0 + 1e-12
    check_columns(X, NAMES)
    X[:, 4] += 1e3
    assert "Column 'g4' is constant up to rounding" in message(X, NAMES)


def test_columns_too_small_to_be_squared(X):
    X[:, 1] *= 1e-140
    assert "Column 'g1' holds no values beyond 1e-130" in message(X, NAMES)
    X[:, 1] *= 1e20
    check_columns(X, NAMES)


def test_empty_columns_are_no_copies_of_each_other(X):
    X[:, [1, 3]] = np.nan
    assert inspect_columns(X).identical == ()
    assert "Columns 'g1' and 'g3' have no value at all" in message(X, NAMES, allow_missing=True)


def test_identical_columns(X):
    X[:, 7] = X[:, 3]
    assert message(X, NAMES) == (
        "Columns 'g3' and 'g7' are identical. Drop one, or pass repair=\"ridge\"."
    )
    assert check_columns(X, NAMES, allow_identical=True).identical == ((3, 7),)
    X[:, 5] = X[:, 0]
    assert "'g0' and 'g5'; 'g3' and 'g7' are identical. Drop one of each pair" in message(X, NAMES)


def test_identical_up_to_the_sign_of_zero_and_with_gaps(X):
    X[0, 3], X[1, 3] = 0.0, np.nan
    X[:, 7] = X[:, 3]
    X[0, 7] = -0.0
    assert inspect_columns(X).identical == ((3, 7),)
    X[1, 7] = 1.0
    assert inspect_columns(X).identical == ()


def test_many_copies_are_cut_short():
    X = np.repeat(np.arange(3.0)[:, None], 10, axis=1)
    assert "and 4 more pairs are identical" in message(X)
    assert len(inspect_columns(X).identical) == 9


def test_text_columns(X):
    kinds = ["numeric"] * 6 + ["categorical"] * 2
    assert message(X, NAMES, kinds=kinds).startswith("Columns 'g6' and 'g7' hold text")
    assert "Column 'g7' holds text" in message(X, NAMES, kinds=["numeric"] * 7 + ["categorical"])


def test_too_few_rows(X):
    assert "Found 1 sample (" in message(X[:1], NAMES)
    assert "Found 0 samples" in message(X[:0], NAMES)


def test_names_are_made_up_when_missing(X):
    X[:, 4] = 2.5
    assert "'x4'" in message(X)


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[2.0, 0.1], [0.1, 3.0]], True),
        (np.eye(3, dtype=int), True),
        (np.array([[2.0, 0.1], [0.1 * (1 + 1e-12), 3.0]]), True),
        ([[2.0, 0.1], [0.2, 3.0]], False),
        ([[2.0, 0.1], [0.1, -3.0]], False),
        ([[2.0, 0.1], [0.1, 0.0]], False),
        ([[2.0, np.nan], [np.nan, 3.0]], False),
        ([[2.0]], False),
        ([[2.0, 0.1]], False),
        ([2.0, 0.1], False),
        ([["a", "b"], ["b", "a"]], False),
        ([[True, False], [False, True]], False),
    ],
)
def test_looks_like_covariance(matrix, expected):
    assert looks_like_covariance(matrix) is expected


def test_refuse_covariance(X):
    refuse_covariance(X)
    with raises(InputError, code="covariance_given_as_rows", size=8):
        refuse_covariance(X.T @ X)


def test_values_whose_squares_overflow_are_named():
    values = np.array([[1.0, 1e300, 2.0], [2.0, -3e200, 1.0]])
    with raises(InputError, code="values_too_large", noun="Column", columns=["b"]):
        check_columns(values, ["a", "b", "c"])
    assert check_columns(values[:, [0, 2]] * 1e100).constant == ()
