"""Polychoric, polyserial and tetrachoric correlations, against integrals, R and closed forms."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from edgewise import InputError
from edgewise.stats import latent_correlation, polychoric_correlation
from edgewise.stats.polychoric import polychoric_standard_error
from tests.messages import raises

HERE = Path(__file__).parent
CUTS = ([0.0], [-1.0, 0.2], [-1.5, -0.5, 0.5, 1.5], [-0.3, 0.4, 0.9])


def draw(rng, n, p=4):
    """Latent normals with a random correlation, and answers cut from them."""
    factors = rng.normal(size=(p, 2))
    S = factors @ factors.T + np.eye(p)
    scale = np.sqrt(S.diagonal())
    R = S / np.outer(scale, scale)
    Z = rng.multivariate_normal(np.zeros(p), R, size=n)
    X = np.column_stack([np.digitize(Z[:, k], CUTS[k % 4]) for k in range(p)]).astype(float)
    return R, Z, X


def orthant(h, k, rho):
    """P(U <= h, V <= k) by integrating one of the two out."""
    s = np.sqrt(1 - rho**2)
    return quad(lambda u: norm.pdf(u) * ndtr((k - rho * u) / s), -9, h, epsabs=1e-12, limit=200)[0]


def by_integration(first, second):
    """Maximise the likelihood of a cross table with probabilities from numerical integration."""
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(table, (first.astype(int), second.astype(int)), 1)
    a, b = (
        np.r_[-9, ndtri(np.cumsum(margin)[:-1] / table.sum()), 9]
        for margin in (table.sum(axis=1), table.sum(axis=0))
    )

    def cost(rho):
        joint = np.array([[orthant(h, k, rho) for k in b] for h in a])
        P = np.diff(np.diff(joint, axis=0), axis=1)
        return -np.sum(table * np.log(np.maximum(P, 1e-14)))

    options = {"xatol": 1e-7}
    return minimize_scalar(cost, bounds=(-0.99, 0.99), method="bounded", options=options).x


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_polychoric_maximises_the_likelihood(seed):
    rng = np.random.default_rng(seed)
    _, _, X = draw(rng, 120)
    found = polychoric_correlation(X)
    # The cost is flat to 1e-15 of its size over about the root of that.
    assert found[1, 3] == pytest.approx(by_integration(X[:, 1], X[:, 3]), abs=1e-5)
    assert found[0, 2] == pytest.approx(by_integration(X[:, 0], X[:, 2]), abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_polyserial_maximises_the_likelihood(seed):
    _, Z, X = draw(np.random.default_rng(seed), 150)
    mixed = np.column_stack([5 + 3 * Z[:, 0], X[:, 3]])
    found = latent_correlation(mixed, ordinal=[False, True]).correlation[0, 1]
    z = (Z[:, 0] - Z[:, 0].mean()) / Z[:, 0].std()
    answers = X[:, 3].astype(int)
    inner = ndtri(np.cumsum(np.bincount(answers))[:-1] / len(z))
    cuts = np.r_[-np.inf, inner, np.inf]

    def cost(rho):
        s = np.sqrt(1 - rho**2)
        P = ndtr((cuts[answers + 1] - rho * z) / s) - ndtr((cuts[answers] - rho * z) / s)
        return -np.sum(np.log(P))

    options = {"xatol": 1e-9}
    best = minimize_scalar(cost, bounds=(-0.99, 0.99), method="bounded", options=options).x
    assert found == pytest.approx(best, abs=1e-6)


def test_same_as_psych():
    answers = np.loadtxt(HERE / "psych_answers.csv", delimiter=",", skiprows=1)
    wanted = np.loadtxt(HERE / "psych_polychoric.csv", delimiter=",")
    np.testing.assert_allclose(polychoric_correlation(answers), wanted, atol=1e-4)


@pytest.mark.parametrize("rho", [-0.8, -0.1, 0.0, 0.3, 0.95])
def test_tetrachoric_with_even_margins_has_a_closed_form(rho):
    both = 0.25 + np.arcsin(rho) / (2 * np.pi)
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    weights = [both, 0.5 - both, 0.5 - both, both]
    found = polychoric_correlation(X, sample_weight=weights)
    assert found[0, 1] == pytest.approx(rho, abs=1e-10)


def test_it_finds_the_correlation_behind_the_answers():
    R, Z, X = draw(np.random.default_rng(5), 40_000, p=6)
    np.testing.assert_allclose(polychoric_correlation(X), R, atol=0.03)
    mixed = np.column_stack([Z[:, :3], X[:, 3:]])
    found = latent_correlation(mixed, ordinal=[False] * 3 + [True] * 3)
    np.testing.assert_allclose(found.correlation, R, atol=0.03)
    np.testing.assert_allclose(found.correlation[:3, :3], np.corrcoef(Z[:, :3].T))
    assert [len(cuts) for cuts in found.thresholds] == [0, 0, 0, 3, 1, 2]


def test_missing_answers_leave_a_row_out_of_the_pairs_of_its_column():
    rng = np.random.default_rng(2)
    _, _, X = draw(rng, 200)
    X[:60, 1] = np.nan
    found = latent_correlation(X)
    # Thresholds are those of all rows that have a column, as in lavaan and psych.
    np.testing.assert_allclose(found.thresholds[0], latent_correlation(X[:, [0, 2]]).thresholds[0])
    np.testing.assert_allclose(
        found.correlation[0, 1], polychoric_correlation(X[60:])[0, 1], atol=0.02
    )
    assert (found.n_samples[0, 1], found.n_samples[0, 2], found.n_samples[1, 1]) == (140, 200, 140)


def test_a_weight_of_two_is_two_rows():
    _, Z, X = draw(np.random.default_rng(3), 80)
    X[:, 2] = Z[:, 2]
    ordinal = [True, True, False, True]
    weights = np.where(np.arange(80) < 30, 2.0, 1.0)
    weighted = latent_correlation(X, ordinal=ordinal, sample_weight=weights)
    repeated = latent_correlation(np.vstack([X, X[:30]]), ordinal=ordinal)
    np.testing.assert_allclose(weighted.correlation, repeated.correlation, atol=1e-9)
    np.testing.assert_allclose(weighted.n_samples, repeated.n_samples)


def test_order_of_columns_and_of_answers_changes_nothing_but_signs():
    _, _, X = draw(np.random.default_rng(4), 150)
    found = polychoric_correlation(X)
    order = [2, 0, 3, 1]
    moved = polychoric_correlation(X[:, order])
    np.testing.assert_allclose(moved, found[np.ix_(order, order)], atol=1e-9)
    turned = polychoric_correlation(np.column_stack([X[:, 0], -X[:, 1], 10 * X[:, 2:]]))
    np.testing.assert_allclose(turned[1, [0, 2, 3]], -found[1, [0, 2, 3]], atol=1e-9)
    np.testing.assert_allclose(turned[2, 3], found[2, 3], atol=1e-9)


def test_an_empty_cell_of_four_gets_half_a_row():
    X = np.repeat([[0, 0], [0, 1], [1, 1]], [10, 5, 12], axis=0).astype(float)
    found = latent_correlation(X)
    assert found.n_corrected == 1
    filled = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    wanted = polychoric_correlation(filled, sample_weight=[9.5, 5.5, 0.5, 11.5])
    np.testing.assert_allclose(found.correlation, wanted)


@pytest.mark.parametrize("sign", [1, -1])
def test_answers_that_always_agree_are_correlated_as_far_as_it_goes(sign):
    X = np.repeat(np.arange(3.0), 20)
    found = polychoric_correlation(np.column_stack([X, sign * X]))
    assert 0.99 < sign * found[0, 1] <= 0.9999


def test_standard_error_is_that_of_repeated_samples():
    rng = np.random.default_rng(6)
    R = np.array([[1.0, 0.5], [0.5, 1.0]])
    found, errors = [], []
    for _ in range(300):
        Z = rng.multivariate_normal([0, 0], R, size=300)
        X = np.column_stack([np.digitize(Z[:, 0], CUTS[1]), np.digitize(Z[:, 1], CUTS[3])])
        found.append(polychoric_correlation(X)[0, 1])
        table = np.zeros((3, 4))
        np.add.at(table, tuple(X.T), 1)
        errors.append(polychoric_standard_error(found[-1], table))
    # A standard deviation of 300 draws is known to a share of 1 / sqrt(600).
    assert np.mean(errors) == pytest.approx(np.std(found), rel=4 / np.sqrt(600))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((5, 2)), "single_value_column"),
        (np.column_stack([np.arange(80), np.arange(80) % 2]), "too_many_answers"),
        ([[1.0, np.inf], [2.0, 1.0]], "rows_infinite"),
        ([1.0, 2.0], "not_two_dimensional"),
        ([[0, 1], [np.nan, 0], [0, 0], [1, np.nan]], "no_common_variation"),
    ],
)
def test_bad_tables(X, message):
    with raises(InputError, code=message):
        polychoric_correlation(X)


def test_bad_weights_and_kinds():
    X = np.array([[0, 1], [1, 0], [1, 1], [0, 0]], dtype=float)
    with raises(InputError, code="row_weights_nonnegative"):
        polychoric_correlation(X, sample_weight=[1, 1, -1, 1])
    with raises(InputError, code="ordinal_length", n_features=2):
        latent_correlation(X, ordinal=[True])


def test_polyserial_correlations_are_at_the_maximum_of_the_likelihood():
    """Few rows and a rare level: steps by the outer product of gradients stop far from it."""
    n_checked = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, rho = int(rng.integers(20, 51)), rng.uniform(-0.9, 0.9)
        first = rng.normal(size=n)
        second = rho * first + np.sqrt(1 - rho**2) * rng.normal(size=n)
        answers = np.digitize(first, [[1.2], [-0.5, 1.3], [0.8, 1.5]][seed % 3]) * 1.0
        if len(np.unique(answers)) < 2:
            continue
        found = latent_correlation(
            np.column_stack([answers, second]), ordinal=np.array([True, False])
        ).correlation[0, 1]
        z, (_, level) = (
            (second - second.mean()) / second.std(),
            np.unique(answers, return_inverse=True),
        )
        cuts = np.r_[-np.inf, ndtri(np.cumsum(np.bincount(level))[:-1] / n), np.inf]

        def cost(r, z=z, level=level, cuts=cuts):
            s = np.sqrt(1 - r**2)
            P = ndtr((cuts[level + 1] - r * z) / s) - ndtr((cuts[level] - r * z) / s)
            return -np.sum(np.log(np.maximum(P, 1e-300)))

        others = np.linspace(-0.99, 0.99, 199)
        assert cost(found) <= min(cost(r) for r in others) + 1e-9
        n_checked += 1
    assert n_checked > 30


def test_the_polyserial_correlation_of_a_small_table():
    v = [0.336, -0.634, 1.827, -0.01, 0.108, 0.926, 1.559, 0.099, 0.107, 1.04]
    v += [-0.744, -1.461, -0.862, -1.191, -0.087, 0.02, -0.163, -0.076, -1.008, 0.931]
    x = [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1]
    found = latent_correlation(np.c_[x, v], ordinal=np.array([True, False]))
    assert found.correlation[0, 1] == pytest.approx(0.1884, abs=5e-5)
