import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Lasso
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import CV, EBIC, InputError, NeighborhoodGraph, StARS
from tests.messages import raises


def chain(n_rows=200, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    for k in range(1, n_columns):
        X[:, k] += 0.6 * X[:, k - 1]
    return X


def regressions(X, alpha):
    """Lasso of each standardised column on the others, by scikit-learn."""
    Z = StandardScaler().fit_transform(X)
    coef = np.zeros((X.shape[1], X.shape[1]))
    for j in range(X.shape[1]):
        others = np.delete(np.arange(X.shape[1]), j)
        lasso = Lasso(alpha=alpha, fit_intercept=False, tol=1e-13, max_iter=10**6)
        coef[others, j] = lasso.fit(Z[:, others], Z[:, j]).coef_
    return Z, coef


def test_coefficients_are_lassos_of_standardised_columns_in_units_of_x():
    X = chain() * [1.0, 20.0, 0.1, 3.0, 1.0, 5.0] + 7.0
    model = NeighborhoodGraph(alpha=0.1, tol=1e-12).fit(X)
    Z, coef = regressions(X, 0.1)
    deviation = X.std(axis=0)
    np.testing.assert_allclose(model.coef_, coef * deviation / deviation[:, None], atol=1e-7)
    predicted = model.location_ + (X - model.location_) @ model.coef_
    np.testing.assert_allclose(predicted, Z @ coef * deviation + X.mean(axis=0), atol=1e-6)
    np.testing.assert_allclose(model.noise_variance_, np.mean((X - predicted) ** 2, axis=0))
    assert model.converged_
    assert 0 <= model.gap_ <= 1e-12 * 6


def test_graph_weights_are_mean_standardised_coefficients():
    X = chain() * [1.0, 20.0, 0.1, 3.0, 1.0, 5.0]
    _, coef = regressions(X, 0.05)
    both = (coef != 0) & (coef.T != 0)
    graph = NeighborhoodGraph(alpha=0.05, tol=1e-12).fit(X).graph_
    np.testing.assert_allclose(graph.weights, np.where(both, (coef + coef.T) / 2, 0), atol=1e-7)


def test_rule_joins_by_both_or_by_one():
    X = chain(n_rows=40, n_columns=12)
    loose = NeighborhoodGraph(alpha=0.2, rule="or").fit(X)
    strict = NeighborhoodGraph(alpha=0.2, rule="and").fit(X)
    chosen = strict.coef_ != 0
    np.testing.assert_array_equal(strict.graph_.adjacency, chosen & chosen.T)
    np.testing.assert_array_equal(loose.graph_.adjacency, chosen | chosen.T)
    assert loose.graph_.n_edges > strict.graph_.n_edges


@pytest.mark.parametrize("alpha", ["ebic", "cv", StARS(n_subsamples=10)], ids=str)
def test_rules_find_the_chain(alpha):
    X = chain(n_rows=500, n_columns=12)
    model = NeighborhoodGraph(alpha=alpha, random_state=0).fit(X)
    found = model.graph_.adjacency
    assert np.diagonal(found, 1).all()
    assert model.alpha_ in model.alphas_
    assert model.selection_.rule == getattr(alpha, "name", alpha)


def test_ebic_is_the_sum_over_regressions():
    X = chain(n_rows=50)
    model = NeighborhoodGraph(alpha=EBIC(gamma=0.4, n_alphas=5, alpha_ratio=0.1), tol=1e-12).fit(X)
    for alpha, value in zip(model.alphas_, model.selection_.values, strict=True):
        Z, coef = regressions(X, alpha)
        total = 0.0
        for j in range(6):
            squared = np.mean((Z[:, j] - Z @ coef[:, j]) ** 2)
            size = np.count_nonzero(coef[:, j])
            total += 50 * (np.log(2 * np.pi * squared) + 1)
            total += size * np.log(50) + 2 * 0.4 * size * np.log(6)
        assert value == pytest.approx(total, abs=1e-6)


def test_cross_validation_scores_the_pseudo_likelihood_of_held_out_rows():
    X = chain(n_rows=60)
    splitter = KFold(3)
    model = NeighborhoodGraph(alpha=CV(splitter, n_alphas=4)).fit(X)
    for k, (train, test) in enumerate(splitter.split(X)):
        for index, alpha in enumerate(model.alphas_):
            fit = NeighborhoodGraph(alpha=float(alpha)).fit(X[train])
            expected = fit.score(X[test])
            assert model.selection_.details[index, k] == pytest.approx(expected, abs=1e-4)


def test_score_is_the_mean_log_pseudo_likelihood():
    X, new = chain(), chain(seed=1)
    model = NeighborhoodGraph(alpha=0.1).fit(X)
    predicted = model.location_ + (new - model.location_) @ model.coef_
    density = norm(predicted, np.sqrt(model.noise_variance_)).logpdf(new).sum(axis=1)
    assert model.score(new) == pytest.approx(density.mean())
    weights = np.linspace(0, 1, len(new))
    expected = np.average(density, weights=weights)
    assert model.score(new, sample_weight=weights) == pytest.approx(expected)
    with pytest.raises(NotFittedError):
        NeighborhoodGraph().score(X)


@pytest.mark.parametrize("kind", ["nonparanormal", "spearman", "kendall"])
def test_rank_correlations_ignore_monotone_changes(kind):
    X = chain()
    plain = NeighborhoodGraph(alpha=0.1, covariance=kind).fit(X)
    bent = NeighborhoodGraph(alpha=0.1, covariance=kind).fit(np.exp(X))
    np.testing.assert_array_equal(plain.coef_, bent.coef_)
    assert not np.allclose(plain.coef_, NeighborhoodGraph(alpha=0.1).fit(X).coef_)
    assert np.isfinite(plain.score(X))


def test_precomputed_is_the_same_as_rows():
    X = chain()
    rows = NeighborhoodGraph(alpha=EBIC(n_alphas=8)).fit(X)
    given = NeighborhoodGraph(alpha=EBIC(n_alphas=8), covariance="precomputed", n_samples=200)
    given.fit(np.cov(X.T, bias=True))
    np.testing.assert_allclose(given.coef_, rows.coef_, atol=1e-9)
    sparse = NeighborhoodGraph(alpha=EBIC(alpha_ratio=0.01), covariance="precomputed", n_samples=10)
    assert sparse.fit(np.cov(X.T, bias=True)).graph_.n_edges < given.graph_.n_edges


def test_integer_weights_are_repeated_rows():
    X = chain(n_rows=60)
    weights = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = NeighborhoodGraph().fit(X, sample_weight=weights)
    repeated = NeighborhoodGraph().fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-6)
    np.testing.assert_allclose(weighted.selection_.values, repeated.selection_.values)


def test_search_parameters_matter():
    X = chain(n_rows=60, n_columns=12)
    model = NeighborhoodGraph(alpha=EBIC(n_alphas=6, alpha_ratio=0.03)).fit(X)
    assert len(model.alphas_) == 6
    assert model.alphas_[-1] / model.alphas_[0] == pytest.approx(0.03)
    dense, sparse = (NeighborhoodGraph(alpha=EBIC(gamma=gamma)).fit(X) for gamma in (0.0, 1.0))
    assert dense.graph_.n_edges > sparse.graph_.n_edges
    loose = NeighborhoodGraph(StARS(0.3, n_alphas=10), random_state=0).fit(X)
    strict = NeighborhoodGraph(StARS(0.02, n_alphas=10), random_state=0).fit(X)
    assert loose.graph_.n_edges > strict.graph_.n_edges
    fewer = NeighborhoodGraph(StARS(0.3, n_subsamples=4, n_alphas=10), random_state=0).fit(X)
    assert not np.array_equal(fewer.selection_.details, loose.selection_.details)


@pytest.mark.parametrize("alpha", [CV(n_alphas=6), StARS(n_subsamples=4, n_alphas=6)], ids=str)
def test_result_does_not_depend_on_the_number_of_workers(alpha):
    X = chain(n_rows=80, n_columns=12)
    one = NeighborhoodGraph(alpha, n_jobs=1, random_state=3).fit(X)
    two = NeighborhoodGraph(alpha, n_jobs=2, random_state=3).fit(X)
    np.testing.assert_array_equal(one.selection_.details, two.selection_.details)
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize(("verbose", "is_drawn"), [(0, False), (1, True)])
def test_progress_only_when_asked(verbose, is_drawn, capsys, lines_at_once):
    NeighborhoodGraph(alpha=CV(n_alphas=3), verbose=verbose, random_state=0).fit(chain())
    assert bool(capsys.readouterr().err) is is_drawn


def test_stopping_early_is_said_and_tolerance_obeyed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1)) + 0.3 * rng.normal(size=(60, 8))
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        model = NeighborhoodGraph(alpha=0.01, tol=1e-12, max_iter=1).fit(X)
    assert not model.converged_
    assert NeighborhoodGraph(alpha=0.01, tol=0.1).fit(X).n_iter_ < (
        NeighborhoodGraph(alpha=0.01, tol=1e-12).fit(X).n_iter_
    )


def test_path_agrees_with_single_fits():
    X = pd.DataFrame(chain(), columns=list("abcdef"))
    path = NeighborhoodGraph(rule="or").path(X, [0.5, 0.2, 0.05])
    for alpha, coef, graph in zip(path.alphas, path.coefs, path.graphs, strict=True):
        single = NeighborhoodGraph(alpha=float(alpha), rule="or").fit(X)
        np.testing.assert_allclose(coef, single.coef_, atol=1e-4)
        assert graph.names == tuple("abcdef")
    assert path.n_edges[0] < path.n_edges[-1]
    assert path.converged.all()
    default = NeighborhoodGraph(alpha=EBIC(n_alphas=5)).path(X)
    assert len(default.alphas) == 5
    assert default.n_edges[0] == 0
    with raises(InputError, code="alphas_descending"):
        NeighborhoodGraph().path(X, [0.1, 0.2])


def test_grid_search_and_pipeline():
    X = chain(n_rows=60)
    alphas = [0.01, 0.1, 0.3, 0.9]
    search = GridSearchCV(NeighborhoodGraph(), {"alpha": alphas}, cv=3).fit(X)
    assert search.best_params_["alpha"] in (0.01, 0.1, 0.3)
    pipeline = make_pipeline(StandardScaler(), NeighborhoodGraph(alpha=0.1)).fit(X)
    direct = NeighborhoodGraph(alpha=0.1).fit(X)
    np.testing.assert_allclose(pipeline[-1].graph_.weights, direct.graph_.weights, atol=1e-9)


def test_order_and_units_of_columns_do_not_matter():
    X = chain()
    order = np.random.default_rng(0).permutation(6)
    units = np.array([1.0, 20.0, 0.1, 3.0, 1.0, 5.0])
    plain = NeighborhoodGraph().fit(X)
    mixed = NeighborhoodGraph().fit((X * units)[:, order])
    expected = plain.graph_.weights[np.ix_(order, order)]
    np.testing.assert_allclose(mixed.graph_.weights, expected, atol=1e-6)


def test_single_column():
    model = NeighborhoodGraph().fit(chain(n_columns=1))
    assert model.graph_.n_edges == 0
    np.testing.assert_array_equal(model.coef_, [[0.0]])
