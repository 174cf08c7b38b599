"""Features of pairs by matrix products and kernels against plain loops over pairs and rows."""

import numpy as np
import pytest

from edgewise import InputError
from edgewise.stats.pair_features import exponents_of, pair_features
from tests.messages import raises

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def one_distance(a, b):
    return np.abs(a - b)


def several_distances(a, b):
    return np.column_stack([np.exp(-((a - b) ** 2)), a * b, np.cos(a + 2.0 * b)])


def constant(a, b):
    return np.full((len(a), 2), 3.0)


CASES = {
    "gaussian": ("gaussian", 2),
    "power 1": ("power", 1),
    "power 3": ("power", 3),
    "polynomial 2": ("polynomial", 2),
    "polynomial 3": ("polynomial", 3),
    "polynomial 4": ("polynomial", 4),
    "ising": ("ising", 2),
    "callable, one feature": (one_distance, 2),
    "callable, several features": (several_distances, 2),
}


def explicit_pair(x, y, basis, degree, is_diagonal):
    """Features of one pair in one row, from the definition."""
    if basis == "gaussian":
        return [x * y]
    if basis == "power":
        return [np.sign(x) * abs(x) ** degree * np.sign(y) * abs(y) ** degree]
    if basis == "ising":
        return [0.0 if is_diagonal else x * y]
    if basis == "polynomial":
        left, right = exponents_of(degree)
        alone = [x**a for a in range(1, degree + 1)]
        if is_diagonal:
            return alone + [0.0] * (len(left) - degree)
        return [x**a * y**b for a, b in zip(left, right, strict=True)]
    return list(np.ravel(basis(np.array([x]), np.array([y]))))


def explicit(X, basis, degree):
    """All features, of shape (d, d, b, n); nothing below the diagonal."""
    n, d = X.shape
    size = len(explicit_pair(X[0, 0], X[0, 0], basis, degree, False))
    out = np.zeros((d, d, size, n))
    for v in range(d):
        for u in range(v, d):
            for i in range(n):
                out[v, u, :, i] = explicit_pair(X[i, v], X[i, u], basis, degree, v == u)
    return out


def upper(d):
    first, second = np.triu_indices(d)
    return first * d + second


@pytest.fixture(params=CASES, name="case")
def one_case(request):
    """Rows, the features of edgewise and the explicit ones."""
    basis, degree = CASES[request.param]
    rng = np.random.default_rng(len(request.param))
    X = rng.normal(size=(11, 5))
    if basis == "ising":
        X = np.where(X > 0, 1.0, -1.0)
    H = explicit(X, basis, degree)
    return X, pair_features(X, basis, degree), H


def at(H, pairs):
    """Explicit features of some pairs, of shape (m, b, n)."""
    d = len(H)
    return np.array([H[pair // d, pair % d] for pair in pairs])


def test_sizes(case):
    X, features, H = case
    assert (features.n_samples, features.n_variables) == X.shape
    assert features.size == H.shape[2]


def test_moments(case):
    X, features, H = case
    n, d = X.shape
    weights = np.random.default_rng(1).dirichlet(np.ones(n))
    pairs = upper(d)
    expected = at(H, pairs) @ weights
    np.testing.assert_allclose(features.moments(weights).at(pairs), expected, **CLOSE)
    some = np.array([1, 3, d + 1, 2 * d + 4, d * d - 1])
    np.testing.assert_allclose(features.moments(weights).at(some), at(H, some) @ weights, **CLOSE)
    np.testing.assert_allclose(features.mean().at(pairs), at(H, pairs).mean(axis=2), **CLOSE)


def test_moments_of_some_pairs_with_weights_of_any_sign(case):
    X, features, H = case
    weights = np.random.default_rng(2).normal(size=len(X))
    some = np.array([0, 2, 4, 2 * X.shape[1] + 3])
    np.testing.assert_allclose(features.moments_at(weights, some), at(H, some) @ weights, **CLOSE)


def test_values_and_columns(case):
    X, features, H = case
    rng = np.random.default_rng(3)
    some = np.array([0, 1, 4, X.shape[1] + 2, 2 * X.shape[1] + 2])
    coef = rng.normal(size=(len(some), features.size))
    coef[1, 0] = 0.0
    # Many pairs and a single one are added up in different ways.
    for few in (some, some[1:2], some[:1]):
        expected = np.einsum("gb,gbn->n", coef[: len(few)], at(H, few))
        np.testing.assert_allclose(features.values(few, coef[: len(few)]), expected, **CLOSE)
    scale = rng.normal(size=len(X))
    np.testing.assert_allclose(features.columns(some, scale), at(H, some) * scale, **CLOSE)


def test_no_pair_has_no_value(case):
    X, features, _ = case
    none, coef = np.empty(0, dtype=np.int64), np.empty((0, features.size))
    np.testing.assert_array_equal(features.values(none, coef), np.zeros(len(X)))
    assert features.columns(none, np.ones(len(X))).shape == (0, features.size, len(X))
    assert features.moments_at(np.ones(len(X)), none).shape == (0, features.size)
    assert features.mean().at(none).shape == (0, features.size)


def test_a_subset_of_the_variables(case):
    X, features, H = case
    rng = np.random.default_rng(4)
    chosen = np.array([0, 2, 3])
    small = features.subset(chosen)
    assert (small.n_variables, small.size, small.n_samples) == (3, features.size, len(X))
    among = H[np.ix_(chosen, chosen)]
    pairs = upper(3)
    weights = rng.dirichlet(np.ones(len(X)))
    expected = at(among, pairs) @ weights
    np.testing.assert_allclose(small.moments(weights).at(pairs), expected, **CLOSE)
    np.testing.assert_allclose(
        features.moments(weights).subset(chosen).at(pairs), expected, **CLOSE
    )
    coef = rng.normal(size=(len(pairs), features.size))
    values = np.einsum("gb,gbn->n", coef, at(among, pairs))
    np.testing.assert_allclose(small.values(pairs, coef), values, **CLOSE)
    # A part of a part, down to a single variable.
    one = small.subset(np.array([1])).moments(weights).at(np.array([0]))
    np.testing.assert_allclose(one, at(H, [2 * X.shape[1] + 2]) @ weights, **CLOSE)


def test_pairs_above_a_threshold(case):
    X, features, H = case
    n, d = X.shape
    rng = np.random.default_rng(5)
    first, second = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    difference = at(H, upper(d)) @ (first - second)
    length = np.sqrt(np.sum(difference**2, axis=1))
    here, there = features.moments(first), features.moments(second)
    is_diagonal = upper(d) // d == upper(d) % d
    middle = 1.001 * float(np.median(length))
    for threshold in (0.0, middle, 1.001 * float(length.max())):
        for diagonal in (0.0, middle, np.inf):
            limit = np.where(is_diagonal, diagonal, threshold)
            found = here.above(there, threshold, diagonal)
            np.testing.assert_array_equal(found, upper(d)[length > limit])
    assert here.largest(there, diagonal=True) == pytest.approx(length.max(), rel=1e-10)
    assert here.largest(there, diagonal=False) == pytest.approx(
        length[~is_diagonal].max(), rel=1e-10
    )
    assert here.largest(here, diagonal=True) == 0.0


def test_many_pairs_above_a_threshold():
    X = np.random.default_rng(6).normal(size=(3, 60))
    weights = np.array([0.7, 0.2, 0.1])
    for basis in ("gaussian", "polynomial"):
        features = pair_features(X, basis)
        found = features.moments(weights).above(features.mean(), 0.0, 0.0)
        np.testing.assert_array_equal(found, upper(60))


def test_coefficients_of_both_ways_round_give_the_same_values(case):
    X, features, _ = case
    d = X.shape[1]
    rng = np.random.default_rng(7)
    pairs = np.array([1, 3, d + 1, d + 4])
    coef = rng.normal(size=(len(pairs), features.size))
    theta = features.full(pairs, coef)
    assert theta.shape == (d, d, features.size)
    assert np.count_nonzero(np.any(theta != 0, axis=2)) == 7
    for pair, row in zip(pairs, coef, strict=True):
        np.testing.assert_array_equal(theta[pair // d, pair % d], row)


@pytest.mark.parametrize("name", [name for name in CASES if "callable" not in name])
def test_columns_in_reverse_give_the_transposed_coefficients(name):
    basis, degree = CASES[name]
    X = np.random.default_rng(8).normal(size=(7, 4))
    X = np.sign(X) if basis == "ising" else X
    features, reverse = pair_features(X, basis, degree), pair_features(X[:, ::-1], basis, degree)
    pairs = np.array([1, 7])
    coef = np.random.default_rng(9).normal(size=(2, features.size))
    theta = features.full(pairs, coef)[::-1, ::-1]
    first, second = np.nonzero(np.triu(np.any(theta != 0, axis=2)))
    values = reverse.values(first * 4 + second, theta[first, second])
    np.testing.assert_allclose(values, features.values(pairs, coef), **CLOSE)


@pytest.mark.parametrize("basis", ["gaussian", "power", "ising"])
def test_products_of_all_pairs(basis):
    X = np.random.default_rng(10).normal(size=(6, 5))
    X = np.sign(X) if basis == "ising" else X
    H = at(explicit(X, basis, 2), upper(5)).reshape(-1, 6)
    np.testing.assert_allclose(pair_features(X, basis).all_products(), H.T @ H, **CLOSE)


@pytest.mark.parametrize(("basis", "degree"), [("polynomial", 2), (one_distance, 2)])
def test_products_of_all_pairs_that_are_not_cheap(basis, degree):
    assert pair_features(np.ones((2, 3)), basis, degree).all_products() is None


@pytest.mark.parametrize("degree", [2, 3, 4])
def test_scales_of_the_powers(degree):
    rng = np.random.default_rng(degree)
    X = rng.normal(size=(6, 3))
    scale = rng.uniform(0.5, 2.0, size=(degree, 3))
    left, right = exponents_of(degree)
    full = np.vstack([np.ones(3), scale])
    H = explicit(X, "polynomial", degree)
    for v in range(3):
        H[v, v, :degree] /= scale[:, v][:, None]
        for u in range(v + 1, 3):
            H[v, u] /= (full[left, v] * full[right, u])[:, None]
    features = pair_features(X, "polynomial", degree, power_scale=scale)
    np.testing.assert_allclose(features.columns(upper(3), np.ones(6)), at(H, upper(3)), **CLOSE)
    weights = rng.dirichlet(np.ones(6))
    expected = at(H, upper(3)) @ weights
    np.testing.assert_allclose(features.moments(weights).at(upper(3)), expected, **CLOSE)


def test_exponents_hold_every_monomial_once():
    for degree in range(2, 7):
        found = list(zip(*exponents_of(degree), strict=True))
        expected = {
            (a, b) for a in range(degree + 1) for b in range(degree + 1) if 1 <= a + b <= degree
        }
        assert len(found) == len(expected)
        assert set(found) == expected


def test_a_constant_function_has_features_too():
    features = pair_features(np.ones((4, 2)), constant)
    np.testing.assert_array_equal(features.mean().at(np.array([1])), [[3.0, 3.0]])


@pytest.mark.parametrize(
    ("X", "basis", "degree", "message"),
    [
        (np.ones((2, 2)), "fourier", 2, "unknown_basis"),
        (np.ones((2, 2)), "power", 0, "degree_whole"),
        (np.ones((2, 2)), "polynomial", 1, "degree_whole"),
        (np.ones((2, 2)), "polynomial", 2.5, "degree_whole"),
        (np.ones((2, 2)), "polynomial", True, "degree_whole"),
        (np.array([[1.0, 0.0], [1.0, 1.0]]), "ising", 2, "ising_column"),
        (np.ones(3), "gaussian", 2, "table_required"),
        (np.full((2, 2), 1e200), "gaussian", 2, "entries_too_large"),
        (np.full((2, 2), 1e100), "power", 4, "entries_too_large"),
        (np.full((2, 2), 1e100), "polynomial", 4, "entries_too_large"),
        (np.array([[1.0, np.nan]]), "gaussian", 2, "table_not_finite"),
        (np.ones((2, 2)), lambda a, b: a[:1], 2, "basis_shape"),
        (np.ones((2, 2)), lambda a, b: np.ones((2, 1, 1)), 2, "basis_shape"),
        (np.eye(2), lambda a, b: a / b, 2, "basis_not_finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_refuses(X, basis, degree, message):
    with raises(InputError, code=message):
        pair_features(X, basis, degree)


def test_refuses_a_function_with_a_changing_number_of_features():
    calls = []

    def function(a, b):
        calls.append(1)
        return np.ones((len(a), len(calls)))

    with raises(InputError, code="basis_shape", shape=[3, 2], v=0):
        pair_features(np.ones((3, 2)), function)


@pytest.mark.parametrize(
    "scale", [np.ones((3, 2)), np.ones(2), np.zeros((2, 2)), np.full((2, 2), np.nan)]
)
def test_refuses_scales(scale):
    with raises(InputError, code="power_scale_shape", shape=2, shape2=2):
        pair_features(np.ones((3, 2)), "polynomial", power_scale=scale)


def test_refuses_scales_of_powers_that_there_are_not():
    with raises(InputError, code="power_scale_polynomial"):
        pair_features(np.ones((3, 2)), "gaussian", power_scale=np.ones((2, 2)))
