"""Tests of the edges of networks of levels and numbers, against closed forms and simulations."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from edgewise import DiscreteMarkovNet, Graph, InputError
from edgewise.inference import edge_tests


def chain(rng, n, p, n_levels, stay=0.3):
    """Each column repeats the one before with some probability."""
    X = rng.integers(n_levels, size=(n, p))
    for k in range(1, p):
        X[:, k] = np.where(rng.random(n) < stay, X[:, k - 1], X[:, k])
    return pd.DataFrame(X.astype(str), columns=[f"v{k}" for k in range(p)])


def test_two_levels_without_neighbours_are_compared_by_their_covariance():
    X = pd.DataFrame(np.random.default_rng(0).integers(2, size=(80, 2)).astype(str))
    found = edge_tests(np.zeros((2, 2)), X)
    first, second = ((X[k] == "0") - (X[k] == "0").mean() for k in range(2))
    product = first * second
    t = product.mean() / (product.std(ddof=1) / np.sqrt(80))
    assert found.statistic[0, 1] == pytest.approx(t**2)
    assert found.pvalues[0, 1] == pytest.approx(2 * stats.t.sf(abs(t), 79))
    assert found.degrees[0, 1] == 1


def test_numbers_are_regressed_on_their_other_neighbours():
    X = np.random.default_rng(1).normal(size=(60, 3))
    X[:, 1] += X[:, 0]
    found = edge_tests(np.ones((3, 3)) - np.eye(3), X)
    left = [
        X[:, k] - np.poly1d(np.polyfit(X[:, 2], X[:, k], 1))(X[:, 2]) for k in (0, 1)
    ]  # fmt: skip
    product = left[0] * left[1]
    t = product.mean() / (product.std(ddof=1) / np.sqrt(60))
    assert found.statistic[0, 1] == pytest.approx(t**2)


def test_a_chain_of_levels_is_found_and_names_decide_the_order():
    X = chain(np.random.default_rng(2), 400, 5, 3)
    graph = DiscreteMarkovNet().fit(X).graph_
    found = edge_tests(graph, X)
    table = found.table()
    assert table["pvalue"].is_monotonic_increasing
    assert (table["degrees"] == 4).all()
    links = {(f"v{k}", f"v{k + 1}") for k in range(4)}
    assert {tuple(pair) for pair in table.loc[:3, ["source", "target"]].to_numpy()} == links
    sure = found.significant()
    assert sure.n_edges == (table["qvalue"] <= 0.05).sum()
    turned = edge_tests(graph, X[X.columns[::-1]])
    np.testing.assert_allclose(turned.pvalues, found.pvalues)
    strict = edge_tests(graph, X, fdr="by")
    above = np.triu_indices(5, 1)
    assert (strict.qvalues[above] >= found.qvalues[above]).all()


def test_a_constant_residual_says_nothing():
    X = pd.DataFrame({"a": list("xy") * 20, "b": ["z"] * 40})
    found = edge_tests(Graph(np.zeros((2, 2)), names=["a", "b"]), X)
    assert found.pvalues[0, 1] == 1.0
    assert found.degrees[0, 1] == 0


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.eye(9)[:, :3], {}, "3 columns"),
        (np.full((9, 2), np.nan), {}, "missing"),
        (np.eye(9)[:, :2], {"fdr": "no"}, "fdr"),
    ],
)
def test_bad_input(X, options, message):
    with pytest.raises(InputError, match=message):
        edge_tests(np.zeros((2, 2)), X, **options)


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
        found = edge_tests(DiscreteMarkovNet().fit(X).graph_, X)
        small.append(np.mean(found.pvalues[above][~is_edge] < 0.05))
        kept = found.qvalues[above] <= 0.05
        false.append((kept & ~is_edge).sum() / max(kept.sum(), 1))
        assert kept[is_edge].mean() > 0.5
    for shares in (small, false):
        assert np.mean(shares) < 0.05 + 3 * np.std(shares) / np.sqrt(60)
