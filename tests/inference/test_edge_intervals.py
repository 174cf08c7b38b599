"""Intervals of partial correlations, against their definition, exact ones and simulations."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from edgewise import InputError
from edgewise.inference import edge_intervals


def partial_correlations(precision):
    scale = np.sqrt(precision.diagonal())
    return -precision / np.outer(scale, scale)


def chain(p, link=0.3):
    return np.eye(p) + link * (np.eye(p, k=1) + np.eye(p, k=-1))


def draw(rng, precision, n):
    return rng.multivariate_normal(np.zeros(len(precision)), np.linalg.inv(precision), size=n)


def test_estimates_follow_the_definition():
    """Lassos by CVXPY, then the sums over residuals as Liu (2013) writes them."""
    rng = np.random.default_rng(0)
    X = draw(rng, chain(5), 60)
    found = edge_intervals(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    n, p = Z.shape
    B = np.zeros((p, p))
    for j in range(p):
        others = [i for i in range(p) if i != j]
        b = cp.Variable(p - 1)
        cost = cp.sum_squares(Z[:, j] - Z[:, others] @ b) / (2 * n) + found.alpha * cp.norm1(b)
        cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
        B[others, j] = b.value
    E = Z - Z @ B
    for i in range(p):
        for j in range(i):
            T = np.mean(E[:, i] * E[:, j] + E[:, i] ** 2 * B[i, j] + E[:, j] ** 2 * B[j, i])
            wanted = T / np.sqrt(np.mean(E[:, i] ** 2) * np.mean(E[:, j] ** 2))
            assert found.estimate[i, j] == pytest.approx(wanted, abs=1e-4)


def test_many_rows_give_the_partial_correlations_and_their_intervals():
    X = draw(np.random.default_rng(1), chain(6), 20_000)
    exact = partial_correlations(np.linalg.inv(np.cov(X.T)))
    found = edge_intervals(X)
    above = np.triu_indices(6, 1)
    np.testing.assert_allclose(found.estimate[above], exact[above], atol=2e-3)
    z = np.arctanh(found.estimate[above])
    reach = stats.norm.isf(0.025) / np.sqrt(20_000 - 3 - 5)
    np.testing.assert_allclose(np.arctanh(found.upper[above]) - z, reach, rtol=1e-3)
    np.testing.assert_allclose(z - np.arctanh(found.lower[above]), reach, rtol=1e-3)


@pytest.mark.parametrize("covariance", ["correlation", "nonparanormal"])
def test_intervals_cover_and_false_edges_are_few(covariance):
    rng = np.random.default_rng(2)
    precision = chain(20)
    truth = partial_correlations(precision)[np.triu_indices(20, 1)]
    covered, false = [], []
    for _ in range(40):
        X = draw(rng, precision, 200)
        found = edge_intervals(np.exp(X) if covariance == "nonparanormal" else X,
                               covariance=covariance)  # fmt: skip
        above = np.triu_indices(20, 1)
        covered.append((found.lower[above] <= truth) & (truth <= found.upper[above]))
        is_kept = found.significant().adjacency[above]
        false.append((is_kept & (truth == 0)).sum() / max(is_kept.sum(), 1))
    # 7,600 intervals, of which those of one sample depend on each other.
    assert 0.93 < np.mean(covered) < 0.97
    assert np.mean(false) < 0.05 + 3 * np.std(false) / np.sqrt(len(false))


def test_more_columns_than_rows():
    X = draw(np.random.default_rng(3), chain(80, 0.4), 60)
    found = edge_intervals(X)
    assert np.isfinite(found.pvalues[np.triu_indices(80, 1)]).all()
    assert (np.abs(found.estimate[np.triu_indices(80, 1)]) <= 1).all()


def test_the_table_has_one_row_per_pair_and_the_graph_the_sure_ones():
    X = pd.DataFrame(draw(np.random.default_rng(4), chain(4, 0.45), 300), columns=list("abcd"))
    found = edge_intervals(X)
    table = found.table()
    assert table.columns.tolist() == [
        "source", "target", "estimate", "standard_error", "lower", "upper", "pvalue", "qvalue",
    ]  # fmt: skip
    assert len(table) == 6
    assert table["pvalue"].is_monotonic_increasing
    assert (table["lower"] < table["estimate"]).all()
    sure = found.significant().edges()
    chained = {("a", "b"), ("b", "c"), ("c", "d")}
    assert chained <= {tuple(pair) for pair in sure[["source", "target"]].to_numpy()}
    assert len(sure) == np.count_nonzero(table["qvalue"] <= 0.05)
    strict = edge_intervals(X, fdr="by")
    assert (strict.table()["qvalue"] >= table["qvalue"]).all()


def test_order_and_units_of_columns_do_not_matter():
    X = draw(np.random.default_rng(5), chain(6), 100)
    found = edge_intervals(X).estimate
    order = np.random.default_rng(0).permutation(6)
    moved = edge_intervals(X[:, order] * [1, 10, 1e-3, -1, 5, 2]).estimate
    signs = np.sign([1, 10, 1e-3, -1, 5, 2])
    wanted = found[np.ix_(order, order)] * np.outer(signs, signs)
    np.testing.assert_allclose(moved, wanted, atol=1e-6)


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (np.eye(5)[:, :3], {}, "at least 8 rows"),
        (np.column_stack([np.arange(9.0), np.ones(9)]), {}, "x1"),
        ([["a", 1]] * 9, {}, "text"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"level": 2}, "level"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"fdr": "no"}, "fdr"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"covariance": "kendall"}, "Bootstrap"),
    ],
)
def test_bad_input(X, options, message):
    with pytest.raises(InputError, match=message):
        edge_intervals(X, **options)
