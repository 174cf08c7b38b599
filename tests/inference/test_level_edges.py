"""Tests of the edges of networks of levels and numbers, against closed forms and simulations."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from edgewise import DiscreteMarkovNet, Graph, InputError, MixedGraph
from edgewise.inference import edge_intervals
from tests.messages import raises


def chain(rng, n, p, n_levels, stay=0.3):
    """Each column repeats the one before with some probability."""
    X = rng.integers(n_levels, size=(n, p))
    for k in range(1, p):
        X[:, k] = np.where(rng.random(n) < stay, X[:, k - 1], X[:, k])
    return pd.DataFrame(X.astype(str), columns=[f"v{k}" for k in range(p)])


def test_two_levels_without_neighbours_are_compared_by_their_covariance():
    X = pd.DataFrame(np.random.default_rng(0).integers(2, size=(80, 2)).astype(str))
    found = edge_intervals(X, graph=np.zeros((2, 2)))
    first, second = ((X[k] == "0") - (X[k] == "0").mean() for k in range(2))
    product = first * second
    t = product.mean() / (product.std(ddof=1) / np.sqrt(80))
    table = pd.crosstab(X[0], X[1])
    by_counts = stats.chi2_contingency(table, correction=False).pvalue
    assert found.pvalues[0, 1] == pytest.approx(max(2 * stats.t.sf(abs(t), 79), by_counts))
    assert found.errors == "residuals"
    phi = np.corrcoef(first, second)[0, 1]
    assert found.estimate[0, 1] == pytest.approx(phi)
    assert found.lower[0, 1] < phi < found.upper[0, 1]


def test_three_levels_are_compared_by_their_counts():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.integers(3, size=(300, 2)).astype(str))
    found = edge_intervals(X, graph=np.zeros((2, 2)))
    by_counts = stats.chi2_contingency(pd.crosstab(X[0], X[1])).pvalue
    assert found.pvalues[0, 1] >= by_counts * (1 - 1e-9)
    assert found.pvalues[0, 1] == pytest.approx(by_counts, abs=0.1)
    table = found.table()
    assert table[["estimate", "standard_error", "lower", "upper"]].isna().all(axis=None)
    assert len(table) == 1


def test_numbers_are_regressed_on_their_other_neighbours():
    X = np.random.default_rng(1).normal(size=(60, 3))
    X[:, 1] += 0.3 * X[:, 0]
    found = edge_intervals(X, graph=np.ones((3, 3)) - np.eye(3))
    left = [
        X[:, k] - np.poly1d(np.polyfit(X[:, 2], X[:, k], 1))(X[:, 2]) for k in (0, 1)
    ]  # fmt: skip
    product = left[0] * left[1]
    t = product.mean() / (product.std(ddof=1) / np.sqrt(60))
    r = np.corrcoef(*left)[0, 1]
    expected = max(2 * stats.t.sf(abs(t), 59), stats.chi2.sf(60 * r**2, 1))
    assert found.pvalues[0, 1] == pytest.approx(expected)
    assert found.estimate[0, 1] == pytest.approx(r)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_an_interval_leaves_out_0_where_the_p_value_is_small(level):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(100, 5)), columns=list("abcde"))
    X["b"] = np.where(X["a"] + rng.normal(size=100) > 0, "high", "low")
    X["c"] += 0.5 * X["d"]
    found = edge_intervals(X, level=level)
    above = np.triu_indices(5, 1)
    is_out = (found.lower[above] > 0) | (found.upper[above] < 0)
    np.testing.assert_array_equal(found.pvalues[above] < 1 - level, is_out)
    assert is_out.any()
    # Without a graph, one of the same rows is learned.
    given = edge_intervals(X, graph=MixedGraph().fit(X).graph_, level=level)
    np.testing.assert_array_equal(found.pvalues, given.pvalues)


def test_a_chain_of_levels_is_found_and_names_decide_the_order():
    X = chain(np.random.default_rng(2), 400, 5, 3)
    graph = DiscreteMarkovNet().fit(X).graph_
    found = edge_intervals(X, graph=graph)
    table = found.table()
    assert table["pvalue"].is_monotonic_increasing
    assert table["estimate"].isna().all()
    links = {(f"v{k}", f"v{k + 1}") for k in range(4)}
    assert {tuple(pair) for pair in table.loc[:3, ["source", "target"]].to_numpy()} == links
    sure = found.significant()
    assert sure.n_edges == (table["qvalue"] <= 0.05).sum()
    turned = edge_intervals(X[X.columns[::-1]], graph=graph)
    np.testing.assert_allclose(turned.pvalues, found.pvalues)
    strict = edge_intervals(X, graph=graph, fdr="by")
    above = np.triu_indices(5, 1)
    assert (strict.qvalues[above] >= found.qvalues[above]).all()


def test_a_constant_residual_says_nothing():
    X = pd.DataFrame({"a": list("xy") * 20, "b": ["z"] * 40})
    found = edge_intervals(X, graph=Graph(np.zeros((2, 2)), names=["a", "b"]))
    assert found.pvalues[0, 1] == 1.0


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.eye(9)[:, :3], {}, "edge_tests_column_count"),
        (np.full((9, 2), np.nan), {}, "missing_in_edge_tests"),
        (np.eye(9)[:, :2], {"fdr": "no"}, "unknown_choice"),
    ],
)
def test_bad_input(X, options, message):
    with raises(InputError, code=message):
        edge_intervals(X, graph=np.zeros((2, 2)), **options)


@pytest.mark.slow
@pytest.mark.parametrize(("n_levels", "n"), [(2, 500), (3, 300)])
def test_level_and_false_discoveries(n_levels, n):
    """60 tables, each with a network learned from the same rows."""
    rng = np.random.default_rng(0)
    above = np.triu_indices(10, 1)
    is_edge = above[1] - above[0] == 1
    small, false = [], []
    for _ in range(60):
        X = chain(rng, n, 10, n_levels)
        found = edge_intervals(X, graph=DiscreteMarkovNet().fit(X).graph_)
        small.append(np.mean(found.pvalues[above][~is_edge] < 0.05))
        kept = found.qvalues[above] <= 0.05
        false.append((kept & ~is_edge).sum() / max(kept.sum(), 1))
        assert kept[is_edge].mean() > 0.5
    for shares in (small, false):
        assert np.mean(shares) < 0.05 + 3 * np.std(shares) / np.sqrt(60)


@pytest.mark.parametrize(("n_levels", "n", "shares"), [(4, 60, None), (4, 60, 0.7), (2, 60, 0.5)])
def test_noise_of_few_rows(n_levels, n, shares):
    """Chi-squared tests are too bold with uneven levels, and Hotelling's with even ones."""
    above = np.triu_indices(6, 1)
    small, found_any = [], []
    for seed in range(60):
        rng = np.random.default_rng([6, seed])
        chance = None
        if shares:
            chance = [shares, *[(1 - shares) / (n_levels - 1)] * (n_levels - 1)]
        X = pd.DataFrame(rng.choice(n_levels, p=chance, size=(n, 6)).astype(str))
        found = edge_intervals(X, graph=np.zeros((6, 6)))
        small.append(np.mean(found.pvalues[above] < 0.05))
        found_any.append((found.qvalues[above] <= 0.05).any())
    assert np.mean(small) < 0.07
    assert np.mean(found_any) <= 0.07
