import itertools
from functools import partial

import cvxpy
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.stats import multivariate_normal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import (
    CV,
    EBIC,
    FDR,
    DataWarning,
    GaussianGraph,
    InputError,
    NeighborhoodGraph,
    StARS,
    Stepwise,
)
from edgewise.data import make_gaussian_graph, make_graph
from edgewise.selection import SelectionWarning
from edgewise.selection.criteria import ebic, gaussian_log_likelihood
from edgewise.solvers import refit_precision
from edgewise.solvers.gaussian.graph_search import fit_graph
from tests.cases import by_default
from tests.messages import raises


def chain(n_rows=200, n_columns=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    for k in range(1, n_columns):
        X[:, k] += 0.6 * X[:, k - 1]
    return X


def covariance(X):
    return np.cov(X.T, bias=True)


def optimum(S, penalty):
    """Precision by CVXPY; ``penalty`` has one entry per entry of the matrix."""
    Theta = cvxpy.Variable(S.shape, PSD=True)
    finite = np.where(np.isfinite(penalty), penalty, 0.0)
    cost = cvxpy.trace(S @ Theta) - cvxpy.log_det(Theta)
    cost += cvxpy.sum(cvxpy.multiply(finite, cvxpy.abs(Theta)))
    forbidden = [Theta[i, j] == 0 for i, j in np.argwhere(np.isinf(penalty))]
    cvxpy.Problem(cvxpy.Minimize(cost), forbidden).solve(
        solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    return Theta.value


OFF_DIAGONAL = 1 - np.eye(4)


@pytest.mark.parametrize("penalize_diagonal", [False, True])
def test_precision_is_the_optimum(penalize_diagonal):
    X = chain(n_columns=4)
    model = GaussianGraph(
        alpha=0.2, covariance="empirical", penalize_diagonal=penalize_diagonal, tol=1e-9
    ).fit(X)
    penalty = 0.2 * (np.ones((4, 4)) if penalize_diagonal else OFF_DIAGONAL)
    np.testing.assert_allclose(model.precision_, optimum(covariance(X), penalty), atol=1e-4)


def test_weights_free_and_forbid_edges():
    X = chain(n_columns=4)
    weights = OFF_DIAGONAL.copy()
    weights[0, 1] = weights[1, 0] = np.inf
    weights[0, 3] = weights[3, 0] = 0.0
    weights[1, 2] = weights[2, 1] = 0.5
    model = GaussianGraph(0.2, covariance="empirical", weights=weights, tol=1e-9).fit(X)
    penalty = 0.2 * np.where(np.eye(4) == 1, 0, weights)
    np.testing.assert_allclose(model.precision_, optimum(covariance(X), penalty), atol=1e-4)
    assert not model.graph_.adjacency[0, 1]
    assert model.graph_.adjacency[0, 3]


@pytest.mark.parametrize(
    "alpha", [0.05, EBIC(n_alphas=8), CV(n_alphas=8), StARS(0.2, n_alphas=8)], ids=str
)
@pytest.mark.parametrize("kind", ["empirical", "correlation", "nonparanormal", "spearman"])
def test_attributes_belong_together(alpha, kind):
    X = chain()
    model = GaussianGraph(alpha=alpha, covariance=kind, random_state=0).fit(X)
    Theta = model.precision_
    assert (np.linalg.eigvalsh(Theta) > 0).all()
    np.testing.assert_array_equal(Theta, Theta.T)
    np.testing.assert_allclose(Theta @ model.covariance_, np.eye(6), atol=1e-8)
    scale = np.sqrt(np.diag(Theta))
    expected = -Theta / np.outer(scale, scale)
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(model.partial_correlation_, expected, atol=1e-12)
    np.testing.assert_array_equal(model.graph_.adjacency, (Theta != 0) & ~np.eye(6, dtype=bool))
    assert 0.0 <= model.gap_ <= 1e-6 * 6
    assert model.converged_
    assert model.n_iter_ >= 0
    assert model.treatment_ == []
    assert model.alpha_ in model.alphas_


def test_correlation_penalises_all_columns_alike_and_keeps_units():
    X = chain()
    units = np.array([1.0, 50.0, 0.1, 3.0, 1.0, 7.0])
    plain = GaussianGraph(alpha=0.1, covariance="correlation").fit(X)
    scaled = GaussianGraph(alpha=0.1, covariance="correlation").fit(X * units)
    np.testing.assert_allclose(scaled.precision_ * np.outer(units, units), plain.precision_)
    np.testing.assert_allclose(scaled.covariance_ / np.outer(units, units), plain.covariance_)
    np.testing.assert_allclose(scaled.location_, plain.location_ * units)
    R = np.corrcoef(X.T)
    direct = GaussianGraph(alpha=0.1, covariance="precomputed").fit(R)
    deviation = X.std(axis=0)
    expected = direct.precision_ / np.outer(deviation, deviation)
    np.testing.assert_allclose(plain.precision_, expected, rtol=1e-6)
    raw = GaussianGraph(alpha=0.1, covariance="empirical").fit(X)
    assert not np.allclose(raw.precision_, plain.precision_)


def test_precomputed_is_the_same_as_rows():
    X = chain()
    rows = GaussianGraph(alpha=EBIC(n_alphas=10), covariance="empirical").fit(X)
    given = GaussianGraph(alpha=EBIC(n_alphas=10), covariance="precomputed", n_samples=200)
    given.fit(covariance(X))
    np.testing.assert_allclose(given.precision_, rows.precision_, atol=1e-8)
    np.testing.assert_allclose(given.selection_.values, rows.selection_.values)
    np.testing.assert_array_equal(given.location_, np.zeros(6))


def test_n_samples_matters_for_a_precomputed_covariance():
    S = covariance(chain(n_rows=40))
    few, many = (
        GaussianGraph(alpha=EBIC(alpha_ratio=0.01), covariance="precomputed", n_samples=n).fit(S)
        for n in (5, 10**3)
    )
    assert few.graph_.n_edges < many.graph_.n_edges


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "cv"}, "rule_needs_rows"),
        ({"alpha": "stars"}, "rule_needs_rows"),
        ({"alpha": "ebic"}, "rule_needs_n_samples"),
        ({"alpha": "ebic", "n_samples": 1}, "n_samples_above_one"),
    ],
)
def test_precomputed_refuses_what_needs_rows(parameters, message):
    with raises(InputError, code=message):
        GaussianGraph(covariance="precomputed", **parameters).fit(np.eye(3))


def test_precomputed_refuses_weights_and_rows():
    model = GaussianGraph(alpha=0.1, covariance="precomputed")
    with raises(InputError, code="sample_weight_without_rows"):
        model.fit(np.eye(3), sample_weight=np.ones(3))
    with raises(InputError, code="covariance_shape", shape=[200, 6]):
        model.fit(chain())


@pytest.mark.parametrize("kind", ["nonparanormal", "spearman", "kendall"])
def test_rank_correlations_ignore_monotone_changes(kind):
    X = chain()
    plain = GaussianGraph(alpha=0.1, covariance=kind).fit(X)
    bent = GaussianGraph(alpha=0.1, covariance=kind).fit(np.exp(X))
    np.testing.assert_array_equal(plain.precision_, bent.precision_)
    np.testing.assert_array_equal(plain.location_, 0)
    others = {"nonparanormal", "spearman", "kendall", "correlation"} - {kind}
    for other in others:
        different = GaussianGraph(alpha=0.1, covariance=other).fit(X).partial_correlation_
        assert not np.allclose(different, plain.partial_correlation_, atol=1e-9)
    assert np.isfinite(plain.score(X))
    assert plain.score(X) > GaussianGraph(alpha=5.0, covariance=kind).fit(X).score(X)
    with raises(InputError, code="correlation_without_weights"):
        plain.fit(X, sample_weight=np.linspace(1, 2, len(X)))


def test_assume_centered_keeps_the_mean_at_zero():
    X = chain() + 1.0
    model = GaussianGraph(0.1, covariance="empirical", assume_centered=True).fit(X)
    np.testing.assert_array_equal(model.location_, 0)
    expected = GaussianGraph(alpha=0.1, covariance="precomputed").fit(X.T @ X / len(X))
    np.testing.assert_allclose(model.precision_, expected.precision_, atol=1e-9)
    np.testing.assert_allclose(GaussianGraph(alpha=0.1).fit(X).location_, X.mean(axis=0))


def test_integer_weights_are_repeated_rows():
    X = chain(n_rows=60)
    weights = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = GaussianGraph().fit(X, sample_weight=weights)
    repeated = GaussianGraph().fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.alphas_, repeated.alphas_)
    np.testing.assert_allclose(weighted.selection_.values, repeated.selection_.values)
    np.testing.assert_allclose(weighted.precision_, repeated.precision_, atol=1e-6)
    np.testing.assert_allclose(weighted.location_, repeated.location_)
    assert not np.allclose(weighted.precision_, GaussianGraph().fit(X).precision_, atol=1e-3)


def test_weights_that_add_up_to_one_do_not_shorten_the_grid():
    X = chain(n_rows=60)
    share = GaussianGraph().path(X, sample_weight=np.full(60, 1 / 60)).alphas
    np.testing.assert_allclose(share, GaussianGraph().path(X).alphas)


@pytest.mark.parametrize("alpha", [CV(n_alphas=8), StARS(n_alphas=8)], ids=str)
def test_rows_of_weight_zero_do_not_count(alpha):
    X = chain(n_rows=80)
    junk = np.vstack([X, np.full((5, 6), 1e3)])
    weights = np.r_[np.ones(80), np.zeros(5)]
    options = {"alpha": alpha, "random_state": 0}
    with_junk = GaussianGraph(**options).fit(junk, sample_weight=weights)
    without = GaussianGraph(**options).fit(X)
    np.testing.assert_allclose(with_junk.precision_, without.precision_, atol=1e-8)


def test_explicit_splits_count_rows_of_weight_zero():
    X = chain(n_rows=30)
    weights = np.r_[np.zeros(10), np.ones(20)]
    splits = list(KFold(3).split(X))
    model = GaussianGraph(alpha=CV(splits, alpha_ratio=0.05)).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.selection_.details[:, 0], 0)


FREE_PAIR = np.ones((6, 6))
FREE_PAIR[0, 5] = FREE_PAIR[5, 0] = 0.0
FREE_PAIR[1, 2] = FREE_PAIR[2, 1] = np.inf
FREE_PAIR[3, 4] = FREE_PAIR[4, 3] = 0.5


@pytest.mark.parametrize("options", [{}, {"weights": FREE_PAIR}, {"penalize_diagonal": True}])
def test_ebic_is_that_of_the_fits_along_the_path(options):
    X = chain()
    rule = EBIC(gamma=0.3, n_alphas=7, alpha_ratio=0.005)
    model = GaussianGraph(rule, covariance="empirical", **options).fit(X)
    path = model.path(X, model.alphas_)
    S = covariance(X)
    expected = [
        ebic(200 * gaussian_log_likelihood(Theta, S), edges, 200, 6, gamma=0.3)
        for Theta, edges in zip(path.precisions, path.n_edges, strict=True)
    ]
    np.testing.assert_allclose(model.selection_.values, expected)
    assert model.alpha_ == model.alphas_[np.argmin(expected)]


def test_gamma_matters():
    X = chain(n_rows=60, n_columns=15)
    edges = [GaussianGraph(alpha=EBIC(gamma=g)).fit(X).graph_.n_edges for g in (0.0, 1.0)]
    assert edges[0] > edges[1]


def test_grid_follows_its_parameters():
    X = chain()
    rule = EBIC(n_alphas=7, alpha_ratio=0.03)
    model = GaussianGraph(rule, covariance="empirical").fit(X)
    assert len(model.alphas_) == 7
    assert model.alphas_[-1] / model.alphas_[0] == pytest.approx(0.03)
    S = np.abs(covariance(X) - np.diag(X.var(axis=0)))
    assert model.alphas_[0] == pytest.approx(S.max())
    # With fewer rows than columns the default grid ends early.
    assert GaussianGraph().path(chain(n_rows=5)).alphas[-1] == pytest.approx(
        0.1 * GaussianGraph().path(chain(n_rows=5)).alphas[0]
    )


def test_default_grid_grows_while_its_end_is_best():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(400, 1))
    X = factor + 0.05 * rng.normal(size=(400, 5))
    X = np.column_stack([X, rng.normal(size=400)])
    model = GaussianGraph(alpha=EBIC()).fit(X)
    assert len(model.alphas_) > 30
    assert model.alphas_[-1] < 0.01 * model.alphas_[0]
    fixed = GaussianGraph(alpha=EBIC(alpha_ratio=0.05))
    with pytest.warns(SelectionWarning, match=r"EBIC\(alpha_ratio=0.005\)"):
        fixed.fit(X)
    assert fixed.selection_.end == "smallest"


def test_complete_graph_at_the_end_of_the_grid_is_no_reason_to_warn():
    X = chain(n_columns=2, n_rows=500)
    model = GaussianGraph(alpha=EBIC(alpha_ratio=0.1)).fit(X)
    assert model.selection_.end == "smallest"


@pytest.mark.parametrize("kind", ["empirical", "correlation"])
def test_cross_validation_scores_held_out_rows(kind):
    X = chain(n_rows=60)
    splitter = KFold(3)
    model = GaussianGraph(alpha=CV(splitter, n_alphas=5), covariance=kind).fit(X)
    for k, (train, test) in enumerate(splitter.split(X)):
        for index, alpha in enumerate(model.alphas_):
            fit = GaussianGraph(alpha=float(alpha), covariance=kind).fit(X[train])
            density = multivariate_normal(X[train].mean(axis=0), fit.covariance_)
            expected = density.logpdf(X[test]).mean()
            assert model.selection_.details[index, k] == pytest.approx(expected, abs=1e-4)


def test_folds_are_set_by_cv_and_random_state():
    X = chain(n_rows=60)

    def details(cv, seed):
        model = GaussianGraph(alpha=CV(cv, n_alphas=4), random_state=seed)
        return model.fit(X).selection_.details

    assert details(3, 0).shape[1] == 3
    np.testing.assert_array_equal(details(5, 1), details(5, 1))
    assert not np.allclose(details(5, 1), details(5, 2))


def test_stars_parameters_matter():
    X = chain(n_rows=100, n_columns=12)

    def fit(**options):
        return GaussianGraph(alpha=StARS(n_alphas=15, **options), random_state=0).fit(X)

    loose, strict = fit(instability=0.3), fit(instability=0.02)
    assert loose.graph_.n_edges > strict.graph_.n_edges
    assert not np.array_equal(fit(n_subsamples=5).selection_.details, loose.selection_.details)


def test_stars_says_when_nothing_is_stable():
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.warns(SelectionWarning, match="Every alpha tried"):
        model = GaussianGraph(alpha="stars", random_state=0).fit(X)
    assert model.graph_.n_edges == 0


@pytest.mark.parametrize("alpha", [CV(n_alphas=6), StARS(0.2, n_subsamples=4, n_alphas=6)], ids=str)
def test_result_does_not_depend_on_the_number_of_workers(alpha):
    X = chain(n_rows=80)
    one = GaussianGraph(alpha, n_jobs=1, random_state=3).fit(X)
    two = GaussianGraph(alpha, n_jobs=2, random_state=3).fit(X)
    np.testing.assert_array_equal(one.selection_.details, two.selection_.details)
    np.testing.assert_array_equal(one.precision_, two.precision_)


@pytest.mark.parametrize(("verbose", "is_drawn"), [(0, False), (1, True)])
def test_progress_only_when_asked(verbose, is_drawn, capsys, lines_at_once):
    GaussianGraph(alpha=CV(n_alphas=3), verbose=verbose, random_state=0).fit(chain())
    printed = capsys.readouterr()
    assert printed.out == ""
    assert bool(printed.err) is is_drawn


def test_tolerance_bounds_the_gap():
    X = chain(n_columns=20)
    for tol in (1e-2, 1e-9):
        assert GaussianGraph(alpha=0.05, tol=tol).fit(X).gap_ <= tol * 20
    loose, tight = (GaussianGraph(alpha=0.05, tol=tol).fit(X) for tol in (1e-1, 1e-9))
    assert loose.gap_ > tight.gap_


def test_stopping_early_is_said():
    X = chain(n_columns=20, n_rows=40)
    model = GaussianGraph(alpha=0.01, tol=1e-12, max_iter=1)
    with pytest.warns(ConvergenceWarning, match=r"duality gap.*Raise max_iter"):
        model.fit(X)
    assert not model.converged_
    assert model.n_iter_ == 1
    searching = GaussianGraph(alpha=EBIC(n_alphas=4), tol=1e-12, max_iter=1)
    with pytest.warns(ConvergenceWarning, match="fits of the search"):
        searching.fit(X)
    assert searching.selection_.n_unconverged > 0


def test_path_is_warm_and_leaves_the_estimator_alone():
    X = chain()
    model = GaussianGraph(alpha=0.1)
    alphas = [0.5, 0.2, 0.05]
    path = model.path(pd.DataFrame(X, columns=list("abcdef")), alphas)
    assert not hasattr(model, "n_features_in_")
    np.testing.assert_array_equal(path.alphas, alphas)
    assert path.graphs[0].names == tuple("abcdef")
    for alpha, Theta, graph in zip(alphas, path.precisions, path.graphs, strict=True):
        single = GaussianGraph(alpha=alpha).fit(X)
        np.testing.assert_allclose(Theta, single.precision_, atol=1e-3)
        assert graph.n_edges == np.count_nonzero(np.triu(Theta, 1))
    np.testing.assert_array_equal(path.n_edges, [graph.n_edges for graph in path.graphs])
    assert path.converged.all()
    assert (path.gaps >= 0.0).all()
    assert (path.gaps <= 6e-6).all()


def test_path_uses_weights_and_refuses_rising_alphas():
    X = chain()
    weights = np.linspace(0, 1, len(X))
    path = GaussianGraph().path(X, [0.1], sample_weight=weights)
    expected = GaussianGraph(alpha=0.1).fit(X, sample_weight=weights)
    np.testing.assert_allclose(path.precisions[0], expected.precision_)
    with raises(InputError, code="alphas_descending"):
        GaussianGraph().path(X, [0.1, 0.2])
    assert GaussianGraph(alpha=EBIC(n_alphas=4, alpha_ratio=0.1)).path(X).n_edges[0] == 0


def test_long_path_of_a_large_problem_gives_the_same(monkeypatch):
    X = chain()
    at_once = GaussianGraph(alpha=EBIC(n_alphas=5)).fit(X)
    monkeypatch.setattr("edgewise.estimators.gaussian.graphical_lasso.PATH_BYTES", 0)
    one_by_one = GaussianGraph(alpha=EBIC(n_alphas=5)).fit(X)
    np.testing.assert_allclose(one_by_one.selection_.values, at_once.selection_.values, atol=1e-3)
    assert one_by_one.alpha_ == at_once.alpha_


def test_score_is_the_mean_log_density():
    X, new = chain(), chain(seed=1)
    model = GaussianGraph(alpha=0.1).fit(X)
    density = multivariate_normal(model.location_, model.covariance_).logpdf(new)
    assert model.score(new) == pytest.approx(density.mean())
    weights = np.linspace(0, 1, len(new))
    expected = np.average(density, weights=weights)
    assert model.score(new, sample_weight=weights) == pytest.approx(expected)
    assert model.score(new[:1]) == pytest.approx(density[0])


def test_score_needs_a_fit_and_finite_rows():
    model = GaussianGraph(alpha=0.1)
    with pytest.raises(NotFittedError):
        model.score(chain())
    model.fit(pd.DataFrame(chain(), columns=list("abcdef")))
    bad = pd.DataFrame(chain(), columns=list("abcdef"))
    bad.loc[3, "c"] = np.nan
    with raises(InputError, code="values_not_finite", which="'c'"):
        model.score(bad)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_data_frames_are_kept(frame):
    names = ["gene1", "gene2", "gene3", "gene4"]
    X = chain(n_columns=4)
    model = GaussianGraph(alpha=0.1).fit(frame(dict(zip(names, X.T, strict=True))))
    assert model.feature_names_in_.tolist() == names
    assert model.graph_.names == tuple(names)
    np.testing.assert_allclose(model.precision_, GaussianGraph(alpha=0.1).fit(X).precision_)
    assert GaussianGraph(alpha=0.1).fit(X).graph_.names == ("x0", "x1", "x2", "x3")


def test_grid_search_over_alpha_uses_the_score():
    X = chain(n_rows=60)
    alphas = [0.01, 0.1, 0.5, 2.0]
    search = GridSearchCV(GaussianGraph(), {"alpha": alphas}, cv=3).fit(X)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_["alpha"] == alphas[np.argmax(scores)]
    assert len(set(scores)) == 4
    assert search.best_estimator_.graph_.n_nodes == 6


def test_rules_can_be_searched_over_cloned_and_compared():
    X = chain(n_rows=60)
    rules = [EBIC(gamma=0.0), EBIC(gamma=1.0), CV(3), StARS(0.4)]
    search = GridSearchCV(GaussianGraph(), {"alpha": rules}, cv=2).fit(X)
    assert search.best_params_["alpha"] in rules
    assert clone(GaussianGraph(CV(3, n_alphas=4))).alpha == CV(3, n_alphas=4)
    assert repr(GaussianGraph(CV(3, n_alphas=4))) == "GaussianGraph(alpha=CV(cv=3, n_alphas=4))"
    np.testing.assert_array_equal(
        GaussianGraph("ebic").fit(X).precision_, GaussianGraph(EBIC()).fit(X).precision_
    )


@pytest.mark.parametrize(
    ("rule", "options", "message"),
    [
        (EBIC, {"gamma": 2}, "invalid_value"),
        (EBIC, {"n_alphas": 0}, "invalid_value"),
        (CV, {"alpha_ratio": 1.0}, "invalid_value"),
        (StARS, {"instability": 0.5}, "invalid_value"),
        (StARS, {"n_subsamples": 1}, "invalid_value"),
    ],
)
def test_rules_refuse_what_makes_no_sense(rule, options, message):
    with raises(InputError, code=message):
        rule(**options)


def test_sample_weights_are_routed_through_a_search():
    X = chain(n_rows=60)
    weights = np.linspace(0.1, 1, 60)
    with config_context(enable_metadata_routing=True):
        model = GaussianGraph().set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=True)
        search = GridSearchCV(model, {"alpha": [0.1]}, cv=2).fit(X, sample_weight=weights)
    expected = GaussianGraph(alpha=0.1).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(search.best_estimator_.precision_, expected.precision_)


def test_order_of_columns_does_not_matter():
    X = chain()
    order = np.random.default_rng(0).permutation(6)
    plain = GaussianGraph(tol=1e-10).fit(X)
    mixed = GaussianGraph(tol=1e-10).fit(X[:, order])
    expected = plain.precision_[np.ix_(order, order)]
    np.testing.assert_allclose(mixed.precision_, expected, atol=1e-5)
    assert mixed.selection_.alpha == pytest.approx(plain.selection_.alpha)


def test_pipeline_with_a_scaler_is_the_correlation():
    X = chain() * [1.0, 10.0, 0.1, 2.0, 5.0, 1.0]
    pipeline = make_pipeline(StandardScaler(), GaussianGraph(alpha=0.1)).fit(X)
    direct = GaussianGraph(alpha=0.1, covariance="correlation").fit(X)
    np.testing.assert_allclose(pipeline[-1].graph_.weights, direct.graph_.weights, atol=1e-6)
    assert np.isfinite(pipeline.score(X))


def test_clone_and_refit():
    model = GaussianGraph(alpha=0.1, weights=np.ones((6, 6)))
    again = clone(model).fit(chain())
    np.testing.assert_array_equal(again.fit(chain()).precision_, model.fit(chain()).precision_)


def test_column_scales_that_one_alpha_cannot_suit_are_warned_of():
    X = pd.DataFrame(chain(n_columns=3), columns=["height", "weight", "income"])
    X["income"] *= 1e6
    with pytest.warns(DataWarning, match=r"'income' and 'height'.*covariance=\"correlation\""):
        GaussianGraph(alpha=0.1, covariance="empirical").fit(X)
    GaussianGraph(alpha=0.1).fit(X)


def test_single_column_and_two_rows():
    single = GaussianGraph().fit(chain(n_columns=1))
    assert single.graph_.n_edges == 0
    assert single.precision_[0, 0] == pytest.approx(1 / chain(n_columns=1).var())
    two = GaussianGraph(alpha=0.5).fit(chain(n_rows=2))
    assert two.converged_


def refitted_ebic(S, adjacency, n_samples, gamma):
    """Extended BIC of a graph at its maximum likelihood; infinite where there is none."""
    fit = refit_precision(S, adjacency)
    n_edges = int(adjacency.sum()) // 2
    log_likelihood = n_samples * gaussian_log_likelihood(fit.value, S) if fit.exists else -np.inf
    return ebic(log_likelihood, n_edges, n_samples, len(S), gamma)


def all_graphs(p):
    pairs = list(itertools.combinations(range(p), 2))
    for joined in itertools.product([False, True], repeat=len(pairs)):
        adjacency = np.zeros((p, p), dtype=bool)
        for (i, j), is_joined in zip(pairs, joined, strict=True):
            adjacency[i, j] = adjacency[j, i] = is_joined
        yield adjacency


@pytest.mark.parametrize("seed", by_default(1, range(6)))
def test_refitted_ebic_finds_the_best_of_all_graphs(seed):
    rng = np.random.default_rng(seed)
    model = make_gaussian_graph(5, "erdos-renyi", degree=2, signal=(0.3, 0.6), rng=rng)
    X = model.sample(80, rng) * [1.0, 10.0, 0.1, 3.0, 1.0]
    S = covariance(X)
    best = min(all_graphs(5), key=lambda graph: refitted_ebic(S, graph, 80, 0.5))
    fitted = GaussianGraph(alpha=Stepwise(gamma=0.5)).fit(X)
    np.testing.assert_array_equal(fitted.graph_.adjacency, best)
    np.testing.assert_allclose(fitted.precision_, refit_precision(S, best).value, rtol=1e-6)
    path = fitted.path(X, fitted.alphas_)
    expected = [refitted_ebic(np.corrcoef(X.T), graph.adjacency, 80, 0.5) for graph in path.graphs]
    np.testing.assert_allclose(fitted.selection_.values, expected, rtol=1e-7)


@pytest.mark.parametrize(
    ("n_rows", "n_columns", "r"),
    [(38, 40, 0.975), (60, 6, 0.996), (128, 12, 0.99), (189, 10, 0.339), (8, 3, 0.99)],
)
def test_a_plain_dependence_is_found_by_default(n_rows, n_columns, r):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, n_columns))
    X -= X.mean(axis=0)
    X[:, 1] -= X[:, 0] * (X[:, 0] @ X[:, 1]) / (X[:, 0] @ X[:, 0])
    X /= X.std(axis=0)
    X[:, 1] = r * X[:, 0] + np.sqrt(1 - r**2) * X[:, 1]
    model = GaussianGraph().fit(X)
    assert model.graph_.adjacency[0, 1]
    assert model.graph_.weights[0, 1] == pytest.approx(r, abs=0.1)
    assert model.gap_ < 1e-6


@pytest.mark.parametrize("n_rows", [5, 20, 100, 1000])
def test_the_default_graph_is_empty_if_no_correlation_passes_bonferroni(n_rows):
    rng = np.random.default_rng(n_rows)
    outcomes = []
    for _ in range(12):
        X = rng.normal(size=(n_rows, 8))
        X[:, 1] += rng.uniform(0, 4 / np.sqrt(n_rows)) * X[:, 0]
        pairs = itertools.combinations(range(8), 2)
        p_values = [stats.pearsonr(X[:, i], X[:, j])[1] for i, j in pairs]
        is_dependent = 28 * min(p_values) <= 0.05
        assert (GaussianGraph().fit(X).graph_.n_edges > 0) == is_dependent
        outcomes.append(is_dependent)
    assert len(set(outcomes)) == 2 or n_rows == 5


def test_heavy_tails_make_rows_count_less():
    rng = np.random.default_rng(0)
    n_false = {}
    for name, divisor in (("gaussian", 1.0), ("heavy", np.sqrt(rng.chisquare(3, (300, 1)) / 3))):
        X = make_gaussian_graph(20, "chain", rng=1).sample(300, 2) / divisor
        graph = GaussianGraph(covariance="correlation").fit(X).graph_
        n_false[name] = int((graph.adjacency & ~make_graph(20, "chain")).sum()) // 2
    S = np.corrcoef(X.T)
    given = GaussianGraph(covariance="precomputed", n_samples=300).fit(S).graph_
    n_given = int((given.adjacency & ~make_graph(20, "chain")).sum()) // 2
    assert n_false["heavy"] < n_given / 2


def test_forbidden_pairs_stay_apart_and_free_ones_joined_in_a_refit():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    X[:, 1] += X[:, 0]
    weights = np.ones((4, 4))
    weights[0, 1] = weights[1, 0] = np.inf
    weights[2, 3] = weights[3, 2] = 0.0
    graph = GaussianGraph(weights=weights).fit(X).graph_
    assert not graph.adjacency[0, 1]
    assert graph.adjacency[2, 3]


def test_columns_that_determine_each_other_are_judged_by_penalised_fits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    X[:, 1] = -2 * X[:, 0]
    with pytest.warns(SelectionWarning, match="collinear"):
        model = GaussianGraph(covariance="correlation").fit(X)
    assert np.isfinite(model.precision_).all()


@pytest.mark.parametrize("seed", range(3))
def test_edges_that_pay_together_are_found(seed):
    """Columns that are products of others: no single edge of theirs pays, and all do."""
    X = np.random.default_rng(seed).normal(3, 1, size=(300, 5))
    a, b, c, d, e = X.T
    noise = np.random.default_rng(seed + 10).normal(size=(300, 3))
    X = np.column_stack([X, a * b, a * c, b * c, a * b * c, d * e, a[:, None] + noise])
    model = GaussianGraph(covariance="correlation").fit(X)
    S, gamma = np.corrcoef(X.T), model.selection_.gamma
    found = refitted_ebic(S, model.graph_.adjacency, 300, gamma)
    assert found < refitted_ebic(S, ~np.eye(13, dtype=bool), 300, gamma)
    assert found < model.selection_.values.min() - 100
    assert model.converged_


def test_a_refit_that_stops_early_is_said(monkeypatch):
    module = "edgewise.estimators.gaussian.graphical_lasso.refit_precision"
    monkeypatch.setattr(module, partial(refit_precision, max_iter=2))
    with pytest.warns(ConvergenceWarning, match="maximum likelihood of the graph was not"):
        model = GaussianGraph().fit(chain(n_columns=20, n_rows=40))
    assert not model.converged_
    assert model.n_iter_ == 2


def test_only_gaussian_graphs_are_searched_edge_by_edge():
    with raises(InputError, code="invalid_value", parameter="alpha"):
        NeighborhoodGraph(alpha="stepwise").fit(chain())


def real_tables():
    digits = load_digits().data
    return {
        "iris": load_iris().data,
        "wine": load_wine().data,
        "breast cancer": load_breast_cancer().data,
        "diabetes": load_diabetes().data,
        "digits": digits[:300, digits[:300].std(axis=0) > 1.0][:, ::2],
    }


@pytest.mark.parametrize("name", ["iris", "wine", "breast cancer", "diabetes", "digits"])
@pytest.mark.parametrize("rule", ["ebic", CV(3, n_alphas=10), StARS(n_subsamples=5, n_alphas=10)])
@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_alpha_gives_the_same_fit(name, rule):
    X = real_tables()[name]
    model = GaussianGraph(rule, random_state=0).fit(X)
    again = GaussianGraph(model.alpha_).fit(X)
    np.testing.assert_array_equal(again.graph_.adjacency, model.graph_.adjacency)
    np.testing.assert_array_equal(again.precision_, model.precision_)
    assert again.objective_ == model.objective_


@pytest.mark.parametrize("rule", ["stepwise", "fdr", Stepwise(0.5), FDR(0.1)])
def test_graphs_without_a_penalty_have_no_alpha(rule):
    X = chain()
    model = GaussianGraph(rule).fit(X)
    assert np.isnan(model.alpha_)
    R = np.corrcoef(X.T)
    deviation = X.std(axis=0)
    Theta = model.precision_ * np.outer(deviation, deviation)
    objective = np.trace(R @ Theta) - np.linalg.slogdet(Theta)[1]
    assert model.objective_ == pytest.approx(objective)
    refitted = refit_precision(R, model.graph_.adjacency)
    assert model.objective_ == pytest.approx(refitted.objective, abs=1e-6)


def test_the_default_graph_does_not_depend_on_units():
    X = real_tables()["breast cancer"]
    units = 10.0 ** np.random.default_rng(0).integers(-3, 4, X.shape[1])
    for alpha in ("stepwise", "ebic", 0.1):
        plain, scaled = (GaussianGraph(alpha).fit(rows).graph_ for rows in (X, X * units))
        np.testing.assert_array_equal(scaled.adjacency, plain.adjacency)
        np.testing.assert_allclose(scaled.weights, plain.weights, atol=1e-5)


def test_densities_and_distances_of_rows():
    X = chain()
    model = GaussianGraph(0.1).fit(X)
    normal = stats.multivariate_normal(model.location_, model.covariance_)
    np.testing.assert_allclose(model.score_samples(X), normal.logpdf(X))
    assert model.score(X) == pytest.approx(model.score_samples(X).mean())
    deviation = X - model.location_
    expected = np.sum(deviation @ model.precision_ * deviation, axis=1)
    np.testing.assert_allclose(model.mahalanobis(X), expected)
    gappy = X[:3].copy()
    gappy[0, 1:] = np.nan
    with raises(InputError, code="values_not_finite"):
        model.score_samples(gappy)
    model = GaussianGraph(0.1, missing="em").fit(X)
    expected = (X[0, 0] - model.location_[0]) ** 2 / model.covariance_[0, 0]
    assert model.mahalanobis(gappy)[0] == pytest.approx(expected)
    with raises(InputError, code="latent_without_density", covariance="spearman"):
        GaussianGraph(0.1, covariance="spearman").fit(X).score_samples(X)


@pytest.mark.slow
def test_more_columns_than_rows_end_the_path_early():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 150)) + rng.normal(size=(12, 1))
    model = GaussianGraph().fit(X)
    assert 0 < model.graph_.n_edges < 150 * 6
    assert len(model.alphas_) <= 30
    assert model.converged_


def test_components_that_a_fit_knows_are_not_fitted_again():
    R = np.corrcoef(np.random.default_rng(0).normal(size=(40, 9)).T)
    start = np.zeros((9, 9), dtype=bool)
    for i, j in [(0, 1), (1, 2), (3, 4), (5, 6)]:
        start[i, j] = start[j, i] = True
    more = start.copy()
    more[4, 5] = more[5, 4] = True
    warm, cold = fit_graph(R, more, fit_graph(R, start)), fit_graph(R, more)
    exact = refit_precision(R, more)
    for fit in (warm, cold):
        assert fit.objective == pytest.approx(exact.objective, abs=1e-8)
        for part in fit.parts:
            block = np.ix_(part.index, part.index)
            np.testing.assert_allclose(part.Theta, exact.value[block], atol=1e-6)
