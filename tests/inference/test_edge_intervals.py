"""Intervals of partial correlations, against their definition, exact ones and simulations."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_diabetes, load_iris, load_wine
from sklearn.linear_model import LinearRegression

from edgewise import FDR, GaussianGraph, InputError
from edgewise.inference import edge_intervals
from edgewise.solvers import refit_precision
from studies.gaussian.answers import draw_answers
from tests.messages import raises


def partial_correlations(precision):
    scale = np.sqrt(precision.diagonal())
    return -precision / np.outer(scale, scale)


def chain(p, link=0.3):
    return np.eye(p) + link * (np.eye(p, k=1) + np.eye(p, k=-1))


def draw(rng, precision, n):
    return rng.multivariate_normal(np.zeros(len(precision)), np.linalg.inv(precision), size=n)


def debiased_by_cvxpy(Z, penalties):
    """Lassos by CVXPY, then the sums over residuals as Liu (2013) writes them."""
    n, p = Z.shape
    B = np.zeros((p, p))
    for j in range(p):
        others = [i for i in range(p) if i != j]
        b = cp.Variable(p - 1)
        penalty = penalties[j, others] @ cp.abs(b)
        cost = cp.sum_squares(Z[:, j] - Z[:, others] @ b) / (2 * n) + penalty
        cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
        B[others, j] = np.where(np.abs(b.value) > 1e-4, b.value, 0.0)
    E = Z - Z @ B
    estimate = np.zeros((p, p))
    for i in range(p):
        for j in set(range(p)) - {i}:
            T = np.mean(E[:, i] * E[:, j] + E[:, i] ** 2 * B[i, j] + E[:, j] ** 2 * B[j, i])
            estimate[i, j] = T / np.sqrt(np.mean(E[:, i] ** 2) * np.mean(E[:, j] ** 2))
    return np.clip(estimate, -1 + 1e-12, 1 - 1e-12), B


def bound_pairs(R, n, alpha):
    """Pairs with a column of which least squares leave less than the penalty."""
    left = np.array([1 / np.linalg.inv(R)[j, j] for j in range(len(R))]) * n / (n - len(R))
    return (left < alpha)[:, None] | (left < alpha)


def by_least_squares(X):
    """Partial correlations as those of what two regressions leave."""
    n, p = X.shape
    estimate = np.zeros((p, p))
    for i in range(p):
        for j in range(i):
            others = np.column_stack([np.ones(n), np.delete(X, [i, j], axis=1)])
            left = X[:, [i, j]] - others @ np.linalg.lstsq(others, X[:, [i, j]])[0]
            estimate[i, j] = estimate[j, i] = np.corrcoef(left.T)[0, 1]
    return estimate


def test_few_columns_have_the_partial_correlations_of_least_squares():
    X = load_diabetes(as_frame=True).frame.to_numpy()
    n, p = X.shape
    found = edge_intervals(X, level=0.9)
    above = np.triu_indices(p, 1)
    r, df = by_least_squares(X)[above], n - p
    np.testing.assert_allclose(found.estimate[above], r, atol=1e-9)
    # That of a coefficient in the regression of either column on all others.
    first = LinearRegression().fit(X[:, 1:], X[:, 0])
    left = X[:, 0] - first.predict(X[:, 1:])
    design = np.column_stack([np.ones(n), X[:, 1:]])
    errors = np.sqrt(np.linalg.inv(design.T @ design).diagonal() * (left @ left) / df)[1:]
    by_regression = 2 * stats.t.sf(np.abs(first.coef_) / errors, df)
    np.testing.assert_allclose(found.pvalues[0, 1:], by_regression, rtol=1e-6)
    t = stats.t.ppf(0.95, df)
    reach = np.arctanh(t / np.sqrt(df + t**2))
    np.testing.assert_allclose(found.lower[above], np.tanh(np.arctanh(r) - reach), atol=1e-9)
    np.testing.assert_allclose(found.upper[above], np.tanh(np.arctanh(r) + reach), atol=1e-9)
    assert (found.alpha, found.errors) == (0, "formula")


@pytest.mark.parametrize(("n", "is_penalised"), [(69, True), (70, False)])
def test_a_penalty_begins_where_other_columns_are_a_tenth_of_the_rows(n, is_penalised):
    found = edge_intervals(draw(np.random.default_rng(0), chain(9), n))
    expected = 0.5 * np.sqrt(np.log(9) / n) if is_penalised else 0.0
    assert found.alpha == pytest.approx(expected)


@pytest.mark.parametrize("is_close", [False, True])
def test_estimates_follow_the_definition(is_close):
    n, p = 60, 9
    X = draw(np.random.default_rng(0), chain(p), n)
    if is_close:
        X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    found = edge_intervals(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    first, B = debiased_by_cvxpy(Z, np.full((p, p), found.alpha))
    number = (B != 0).sum(axis=0)
    above = np.triu_indices(p, 1)
    rows = n - 3 - (number[:, None] + number) / 2
    sure = np.abs(np.arctanh(first) * np.sqrt(rows)) > np.sqrt(2 * np.log(p))
    assert 0 < sure.sum() < sure.size
    second, B = debiased_by_cvxpy(Z, found.alpha * np.where(sure, 0.3, 1.0))
    bound, squares = bound_pairs(np.corrcoef(X.T), n, found.alpha), by_least_squares(X)
    assert bound.any() == is_close
    assert not bound.all()
    for i, j in zip(*above, strict=True):
        used = [set(np.flatnonzero(B[:, k])) for k in (i, j)]
        mean, either = (
            np.mean([len(columns) for columns in used]),
            len((used[0] | used[1]) - {i, j}),
        )
        rows = n - p - 1 if bound[i, j] else n - 3 - (mean + either) / 2
        wanted = squares[i, j] if bound[i, j] else second[i, j]
        assert found.estimate[i, j] == pytest.approx(wanted, abs=1e-4)
        df = rows + 1
        t = stats.t.isf(0.025, df)
        upper = np.arctanh(wanted) + np.arctanh(t / np.sqrt(df + t**2))
        # Rows are few: the plain correlation has to be significant, too.
        plain = stats.pearsonr(X[:, i], X[:, j]).pvalue
        if plain > 0.05:
            upper = max(upper, 0)
        assert np.arctanh(found.upper[i, j]) == pytest.approx(upper, abs=1e-3)
        partial = 2 * stats.t.sf(np.abs(wanted) * np.sqrt(df / (1 - wanted**2)), df)
        assert found.pvalues[i, j] == pytest.approx(max(partial, plain), abs=1e-3)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    ("n", "p", "options"),
    [
        (60, 4, {}),
        (442, 11, {}),
        (60, 20, {}),
        (40, 60, {}),
        (60, 20, {"covariance": "nonparanormal"}),
        (60, 6, {"covariance": "spearman", "n_resamples": 20}),
        (60, 12, {"missing": "pairwise", "n_resamples": 20}),
        (60, 6, {"method": "graphical-lasso"}),
        (200, 6, {"tails": 3}),
        (120, 40, {"tails": 3}),
        (80, 20, {"tails": 5}),
    ],
)
def test_a_p_value_is_small_exactly_where_the_interval_leaves_out_0(n, p, options, level):
    rng, n_out, n_in = np.random.default_rng(n * p), 0, 0
    options, tails = dict(options), options.get("tails")
    options.pop("tails", None)
    for _ in range(4):
        # Columns that depend on each other by chance, two of them strongly.
        X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.2 * rng.normal(size=(p, p)))
        X[:, 0] = X[:, 1] + 0.05 * X[:, 0]
        if "missing" in options:
            X[rng.random(X.shape) < 0.02] = np.nan
        if tails:
            X /= np.sqrt(rng.chisquare(tails, size=(n, 1)))
        found = edge_intervals(X, level=level, **options)
        assert (found.errors == "robust") == bool(tails)
        above = np.triu_indices(p, 1)
        is_out = (found.lower[above] > 0) | (found.upper[above] < 0)
        np.testing.assert_array_equal(found.pvalues[above] < 1 - level, is_out)
        n_out, n_in = n_out + is_out.sum(), n_in + (~is_out).sum()
    assert min(n_out, n_in) > 0


@pytest.mark.parametrize(
    ("name", "n"),
    [("diabetes", 442), ("diabetes", 100), ("diabetes", 20), ("wine", 442), ("wine", 100)],
)
def test_intervals_cover_where_columns_nearly_determine_each_other(name, n):
    load = {"diabetes": load_diabetes, "wine": load_wine}[name]
    table = load(as_frame=True).frame.to_numpy()
    precision = np.linalg.inv(np.corrcoef(table.T))
    above = np.triu_indices(len(precision), 1)
    truth, rng = partial_correlations(precision)[above], np.random.default_rng(0)
    covered = []
    for _ in range(200):
        found = edge_intervals(draw(rng, precision, n))
        covered.append((found.lower[above] <= truth) & (truth <= found.upper[above]))
    assert 0.93 < np.mean(covered) < 0.97
    # Lassos are behind some pairs where rows are few, and a few of these bear their bias.
    is_penalised = (name, n) in (("wine", 100), ("diabetes", 20))
    worst = 0.8 if is_penalised else 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200)
    assert np.mean(covered, axis=0).min() > worst


def test_few_edges_are_false_where_neighbours_nearly_determine_each_other():
    """A series of columns; lassos without relief found edges of which nine in ten were false."""
    p, n = 40, 100
    close = 0.98 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))
    is_edge = np.eye(p, k=1, dtype=bool)
    rng, false, found = np.random.default_rng(0), [], []
    for _ in range(40):
        X = rng.multivariate_normal(np.zeros(p), close, size=n)
        kept = np.triu(edge_intervals(X).significant().adjacency)
        false.append((kept & ~is_edge).sum() / max(kept.sum(), 1))
        found.append((kept & is_edge).sum() / is_edge.sum())
    assert np.mean(false) < 0.05 + 3 * np.std(false) / np.sqrt(len(false))
    assert np.mean(found) > 0.8


def test_the_graphical_lasso_freed_of_its_bias():
    n, p = 60, 5
    X = draw(np.random.default_rng(0), chain(p), n)
    found = edge_intervals(X, method="graphical-lasso")
    R, Theta = np.corrcoef(X.T), cp.Variable((p, p), PSD=True)
    size = found.alpha * cp.sum(cp.abs(Theta - cp.diag(cp.diag(Theta))))
    cost = cp.trace(R @ Theta) - cp.log_det(Theta) + size
    cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
    T = 2 * Theta.value - Theta.value @ R @ Theta.value
    above = np.triu_indices(p, 1)
    wanted = partial_correlations(T)[above]
    np.testing.assert_allclose(found.estimate[above], wanted, atol=1e-3)
    r = found.estimate[above]
    t = np.abs(r) * np.sqrt((n - 2) / (1 - r**2))
    np.testing.assert_allclose(found.pvalues[above], 2 * stats.t.sf(t, n - 2), rtol=1e-6)


def test_many_rows_give_the_partial_correlations_and_their_intervals():
    X = draw(np.random.default_rng(1), chain(6), 20_000)
    exact = partial_correlations(np.linalg.inv(np.cov(X.T)))
    found = edge_intervals(X)
    above = np.triu_indices(6, 1)
    np.testing.assert_allclose(found.estimate[above], exact[above], atol=2e-3)
    z = np.arctanh(found.estimate[above])
    reach = stats.norm.isf(0.025) / np.sqrt(20_000 - 7)
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
        ([["1.5", 1], *[["a", 1]] * 9], {}, "text"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"level": 2}, "level"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"fdr": "no"}, "fdr"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"covariance": "phi"}, "polychoric"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"n_resamples": 2}, "at least 20"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"method": "clime"}, "nodewise"),
        (np.random.default_rng(0).normal(size=(9, 2)), {"missing": "drop"}, "pairwise"),
        (np.where(np.eye(9)[:, :2], np.nan, np.arange(18.0).reshape(9, 2)), {}, "missing"),
    ],
)
def test_bad_input(X, options, message):
    with pytest.raises(InputError, match=message):
        edge_intervals(X, **options)


@pytest.mark.parametrize("covariance", ["spearman", "kendall", "polychoric"])
def test_rank_and_polychoric_errors_are_those_of_resamples(covariance):
    rng = np.random.default_rng(6)
    X = draw(rng, chain(4, 0.4), 250)
    if covariance == "polychoric":
        X = np.digitize(X, [-1.0, 0.0, 1.0]).astype(float)
    found = edge_intervals(X, covariance=covariance, n_resamples=40)
    assert found.errors == "bootstrap"
    assert edge_intervals(X).errors == "formula"
    truth = partial_correlations(chain(4, 0.4))
    above = np.triu_indices(4, 1)
    assert (np.abs(found.estimate - truth)[above] < 5 * found.standard_error[above]).all()
    # Answers and ranks hold less than the numbers behind them, but not much.
    assert (found.standard_error[above] > 0.04).all()
    assert (found.standard_error[above] < 0.15).all()
    same = edge_intervals(X, covariance=covariance, n_resamples=40, n_jobs=2)
    np.testing.assert_array_equal(found.pvalues, same.pvalues)
    other = edge_intervals(X, covariance=covariance, n_resamples=40, random_state=1)
    assert not np.array_equal(found.pvalues[above], other.pvalues[above])


@pytest.mark.parametrize("n", [150, 90])
def test_a_rule_for_alpha_joins_the_pairs_that_pass(n):
    X = draw(np.random.default_rng(7), chain(12, 0.4), n)
    intervals = edge_intervals(X)
    model = GaussianGraph(alpha="fdr", covariance="correlation").fit(X)
    np.testing.assert_array_equal(model.graph_.adjacency, intervals.significant().adjacency)
    assert np.isnan(model.alpha_)
    refit = refit_precision(np.cov(X.T, bias=True), model.graph_.adjacency)
    np.testing.assert_allclose(model.precision_, refit.value, rtol=1e-5, atol=1e-8)
    strict = GaussianGraph(alpha=FDR(1e-4, correction="by")).fit(X).graph_
    wanted = edge_intervals(X, fdr="by").significant(1e-4)
    np.testing.assert_array_equal(strict.adjacency, wanted.adjacency)
    assert strict.n_edges < model.graph_.n_edges


def test_the_rule_keeps_forbidden_and_free_pairs_apart():
    X = draw(np.random.default_rng(8), chain(5, 0.45), 200)
    weights = np.ones((5, 5))
    weights[0, 1] = weights[1, 0] = np.inf
    weights[0, 4] = weights[4, 0] = 0.0
    graph = GaussianGraph(alpha="fdr", weights=weights).fit(X).graph_
    assert not graph.adjacency[0, 1]
    assert graph.adjacency[0, 4]
    assert graph.adjacency[1, 2]
    S = np.cov(X.T, bias=True)
    same = GaussianGraph("fdr", covariance="precomputed", n_samples=200).fit(S).graph_
    np.testing.assert_array_equal(same.adjacency, GaussianGraph("fdr").fit(X).graph_.adjacency)


def test_where_the_rule_has_no_tests():
    X = draw(np.random.default_rng(9), chain(3), 50)
    with raises(InputError, code="fdr_with_covariance", scale="kendall"):
        GaussianGraph("fdr", covariance="kendall").fit(X)
    with raises(InputError, code="fdr_needs_rows"):
        GaussianGraph("fdr", covariance="precomputed").fit(np.eye(3))
    with raises(InputError, code="fdr_without_grid"):
        FDR(n_alphas=10)
    with raises(InputError, code="invalid_value", parameter="level"):
        FDR(2.0)


def test_missing_values_and_kinds_of_columns_take_resamples():
    X = draw(np.random.default_rng(10), chain(4, 0.4), 250)
    gaps = X.copy()
    gaps[:20, 0] = np.nan
    above = np.triu_indices(4, 1)
    found = edge_intervals(gaps, missing="pairwise", n_resamples=20)
    assert found.errors == "bootstrap"
    assert (found.standard_error[above] > 0.04).all()
    assert edge_intervals(X, covariance="auto").errors == "formula"
    np.testing.assert_allclose(
        edge_intervals(X, covariance="auto").estimate, edge_intervals(X).estimate, rtol=1e-6
    )
    X[:, 0] = np.digitize(X[:, 0], [-1.0, 0.0, 1.0])
    assert edge_intervals(X, covariance="auto", n_resamples=20).errors == "bootstrap"


def test_answers_that_give_way_to_pearson_do_so_in_every_resample():
    """Iris with its kinds by number; resamples of their own choice had intervals from -1 to 1."""
    iris = load_iris(as_frame=True).frame
    found = edge_intervals(iris, covariance="auto")
    expected = edge_intervals(iris, covariance="correlation")
    assert found.errors == "formula"
    np.testing.assert_allclose(found.lower, expected.lower, atol=1e-9)
    np.testing.assert_allclose(found.upper, expected.upper, atol=1e-9)


def test_answers_are_tested_with_the_power_of_their_scores():
    """Polychoric correlations of a few hundred rows say little of partial correlations."""
    above = np.triu_indices(20, 1)
    kept, by_scores, edges, covered = [], [], [], []
    for seed in range(3):
        X, truth = draw_answers("factor", "4 skewed", 300, np.random.default_rng(seed))
        tested = edge_intervals(X, covariance="auto", n_resamples=50, random_state=0)
        kept.append(tested.qvalues[above] <= 0.05)
        by_scores.append(edge_intervals(X, covariance="nonparanormal").qvalues[above] <= 0.05)
        edges.append(np.abs(truth) > 1e-9)
        covered.append((tested.lower[above] <= truth) & (truth <= tested.upper[above]))
    is_edge, is_kept = np.concatenate(edges), np.concatenate(kept)
    assert 0.93 < np.mean(covered) < 0.985
    assert is_kept[~is_edge].sum() <= 2
    assert is_kept[is_edge].sum() > 0.3 * np.concatenate(by_scores)[is_edge].sum()
