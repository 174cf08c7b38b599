"""Means and spreads of groups beside their networks: against least squares, and their level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from edgewise._core.typing import FloatArray
from edgewise.inference import Design, compare_networks
from edgewise.inference.networks import pose


def moments_of(X: FloatArray, y: Any, design: Design | None = None) -> tuple[Any, Any]:
    problem, _ = pose(X, y, design, ranks=True, block_length=1)
    return problem.moments, problem.units


def test_means_and_spreads_of_two_groups_are_welch_tests() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)) * [1, 5, 1e3] + [0, 2, 7], np.repeat([0, 1], [15, 25])
    moments, units = moments_of(X, y)
    means, spreads = moments.tests(units.as_given, is_given=True)[:, :, 0]
    first, second = X[y == 0], X[y == 1]
    far = [np.abs(part - np.median(part, axis=0)) for part in (first, second)]
    np.testing.assert_allclose(means, stats.ttest_ind(second, first, equal_var=False).statistic)
    np.testing.assert_allclose(spreads, stats.ttest_ind(*far[::-1], equal_var=False).statistic)
    given = ((first.mean(0), second.mean(0)), (first.std(0, ddof=1), second.std(0, ddof=1)))
    np.testing.assert_allclose(moments.summaries, given)


def test_covariates_are_regressed_on_with_the_group() -> None:
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [20, 30])
    sex = rng.choice(["f", "m"], 50)
    X = rng.normal(size=(50, 2)) + (sex == "m")[:, None] + y[:, None]
    moments, units = moments_of(X, y, Design(covariates=pd.DataFrame({"sex": sex})))
    means = moments.tests(units.as_given, is_given=True)[0, :, 0]
    M = np.column_stack([np.ones(50), sex == "m", y]).astype(float)
    inverse = np.linalg.inv(M.T @ M)
    beta, leverage = inverse @ M.T @ X, np.einsum("ij,jk,ik->i", M, inverse, M)
    left = X - M @ beta
    for j in range(2):
        # The covariance of White (1980), HC2.
        error = inverse @ (M.T * (left[:, j] ** 2 / (1 - leverage))) @ M @ inverse
        assert means[j] == pytest.approx(beta[2, j] / np.sqrt(error[2, 2]))
    (before, after), _ = moments.summaries
    np.testing.assert_allclose(after - before, beta[2])


def test_shuffled_rows_are_regressed_again() -> None:
    rng = np.random.default_rng(2)
    X, y, sex = rng.normal(size=(12, 2)), np.repeat([0, 1], 6), np.tile([0.0, 1.0], 6)
    moments, units = moments_of(X, y, Design(covariates=sex[:, None]))
    shuffles = units.draw(rng, 4)
    found = moments.tests(shuffles, is_given=False)[0]
    Z = np.column_stack([np.ones(12), sex])
    residuals = X - Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    for b, order in enumerate(shuffles.orders):
        again, _ = moments_of(residuals[order], y, Design(covariates=sex[:, None]))
        np.testing.assert_allclose(
            found[:, b], again.tests(units.as_given, is_given=True)[0, :, 0], atol=1e-10
        )


def test_a_mean_that_a_covariate_explains_does_not_differ() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 60)
    age = rng.normal(size=120) + y
    X = rng.normal(size=(120, 4)) + age[:, None]
    plain = compare_networks(X, y, n_permutations=99, random_state=0)
    design = Design(covariates=pd.DataFrame({"age": age}))
    test = compare_networks(X, y, design=design, n_permutations=99, random_state=0)
    assert plain.columns["mean_pvalue_familywise"].min() == 0.01
    assert test.columns["mean_pvalue_familywise"].min() > 0.05


def draw_pairs(rng: np.random.Generator, n: int, n_rows: int, alike: float, K: int = 2) -> Any:
    """Rows of subjects in each of K groups, of which a share of the variance is the subject's."""
    own = np.sqrt(alike) * rng.normal(size=(n, 1, 1, 5))
    X = own + np.sqrt(1 - alike) * rng.normal(size=(n, K, n_rows, 5))
    mix = np.eye(5) + 0.4 * np.tril(np.ones((5, 5)), -1)
    subject = np.repeat(range(n), K * n_rows)
    y = np.tile(np.repeat(range(K), n_rows), n)
    return X.reshape(-1, 5) @ mix.T, y, Design(paired=subject)


def draw_ages(rng: np.random.Generator, effect: Any, shift: float) -> Any:
    """Rows that differ between groups by age only."""
    y = np.repeat([0, 1], 60)
    age = rng.normal(size=120) + shift * y
    X = rng.normal(size=(120, 5)) @ (np.eye(5) + 0.4 * np.tril(np.ones((5, 5)), -1)).T
    return X + effect(age)[:, None], y, Design(covariates=pd.DataFrame({"age": age}))


def draw_blocks(rng: np.random.Generator, n: int, n_rows: int) -> Any:
    """Blocks of other means, scales and shares of the groups."""
    block = np.repeat(np.linspace(0, 1, n), n_rows)
    y = (rng.random(n * n_rows) < 0.2 + 0.6 * block).astype(int)
    X = rng.normal(size=(n * n_rows, 5)) * np.exp(block)[:, None] + 3 * block[:, None]
    return X, y, Design(blocks=block)


def draw_clusters(rng: np.random.Generator) -> Any:
    subject = np.repeat(range(20), 6)
    X = rng.normal(size=(20, 5))[subject] + rng.normal(size=(120, 5))
    return X, subject % 2, Design(clusters=subject)


NULLS: dict[str, Any] = {
    "10 subjects, 3 rows each": lambda rng: draw_pairs(rng, 10, 3, 0.9),
    "8 subjects, 10 rows each": lambda rng: draw_pairs(rng, 8, 10, 0.9),
    "8 subjects, less alike": lambda rng: draw_pairs(rng, 8, 10, 0.5),
    "15 subjects, three groups": lambda rng: draw_pairs(rng, 15, 1, 0.9, 3),
    "effect of age": lambda rng: draw_ages(rng, lambda age: age, 1.0),
    "effect of age that is not linear": lambda rng: draw_ages(rng, np.exp, 1.0),
    "4 blocks": lambda rng: draw_blocks(rng, 4, 25),
    "6 blocks of few rows": lambda rng: draw_blocks(rng, 6, 10),
    "6 rows beside 60": lambda rng: (rng.normal(size=(66, 5)), np.repeat([0, 1], [6, 60]), None),
    "clusters": draw_clusters,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", NULLS)
def test_nothing_differs_in_few_tables(kind: str) -> None:
    found = []
    for seed in range(400):
        X, y, design = NULLS[kind](np.random.default_rng([4, seed]))
        options = {"design": design, "n_permutations": 199, "random_state": seed}
        test = compare_networks(X, y, **options)
        smallest = test.columns[["mean_pvalue_familywise", "spread_pvalue_familywise"]].min()
        found.append((test.pvalue, *smallest))
    shares = np.mean(np.array(found) <= 0.05, axis=0)
    # Not significantly above 7 %: 400 tables have a standard error of 1.3.
    assert (shares <= 0.07 + 1.645 * 0.013).all(), shares
