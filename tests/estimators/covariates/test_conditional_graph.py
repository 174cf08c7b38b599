"""Networks given covariates: least squares and CVXPY as oracles, options, bad input, files."""

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV

import edgewise
from edgewise import CV, EBIC, ConditionalGraph, DataWarning, GaussianGraph, InputError
from edgewise.selection import SelectionWarning
from tests.messages import raises


def draw(n=200, seed=0):
    """Four responses in a chain, all pushed by two covariates."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1, 5] + [3, -2]
    Y = rng.normal(size=(n, 4))
    for k in range(3):
        Y[:, k + 1] += 0.5 * Y[:, k]
    B = np.array([[1.0, -1, 2, 0], [0.3, 0.3, 0, 0.5]])
    return X, Y @ np.diag([1, 2, 1, 0.5]) + X @ B + 7, B


@pytest.fixture(scope="module")
def rows():
    return draw()[:2]


@pytest.fixture(scope="module")
def fitted(rows):
    return ConditionalGraph(0.1).fit(*rows)


def cvxpy_lasso(S, alpha, penalize_diagonal):
    Theta = cp.Variable(S.shape, PSD=True)
    counted = np.ones(S.shape) if penalize_diagonal else 1 - np.eye(len(S))
    penalty = cp.sum(cp.multiply(counted, cp.abs(Theta)))
    problem = cp.Problem(cp.Minimize(cp.trace(S @ Theta) - cp.log_det(Theta) + alpha * penalty))
    problem.solve(solver="SCS", eps=1e-9, max_iters=50_000)
    return Theta.value, problem.value


@pytest.mark.parametrize("penalize_diagonal", [False, True])
def test_least_squares_and_then_the_convex_problem(rows, penalize_diagonal):
    X, Y = rows
    model = ConditionalGraph(0.1, penalize_diagonal=penalize_diagonal, tol=1e-9).fit(X, Y)
    regression = LinearRegression().fit(X, Y)
    np.testing.assert_allclose(model.coef_, regression.coef_.T, atol=1e-10)
    np.testing.assert_allclose(model.intercept_, regression.intercept_, atol=1e-9)
    left = Y - regression.predict(X)
    scale = left.std(axis=0)
    S = np.corrcoef(left.T)
    Theta, objective = cvxpy_lasso(S, 0.1, penalize_diagonal)
    np.testing.assert_allclose(model.precision_ * np.outer(scale, scale), Theta, atol=2e-3)
    assert model.objective_ == pytest.approx(objective, abs=1e-5)
    assert 0 <= model.gap_ <= 1e-9 * 4
    np.testing.assert_allclose(model.precision_ @ model.covariance_, np.eye(4), atol=1e-8)


def test_a_graphical_lasso_of_the_covariates(rows):
    X, Y = rows
    model = ConditionalGraph(0.1, covariate_alpha=0.3, standardize=False, tol=1e-9).fit(X, Y)
    scale = X.std(axis=0)
    Omega, _ = cvxpy_lasso(np.corrcoef(X.T), 0.3, False)
    Omega /= np.outer(scale, scale)
    cross = np.cov(X.T, Y.T, ddof=0)[:2, 2:]
    np.testing.assert_allclose(model.coef_, Omega @ cross, atol=1e-5)
    S = np.cov(Y.T, ddof=0) - cross.T @ Omega @ cross
    Theta, _ = cvxpy_lasso(S, 0.1, False)
    np.testing.assert_allclose(model.precision_, Theta, atol=2e-3)
    assert "graphical lasso of the covariates" in model.treatment_[0]


def test_what_covariates_explain_is_not_in_the_graph():
    X, Y, B = draw(2000, seed=1)
    chain = np.abs(np.subtract.outer(np.arange(4), np.arange(4))) == 1
    far = ~chain & ~np.eye(4, dtype=bool)
    model = ConditionalGraph().fit(X, Y)
    assert model.graph_.adjacency[chain].all()
    assert np.abs(model.graph_.weights[far]).max() < 0.05
    np.testing.assert_allclose(model.coef_, B, atol=0.25)
    pooled = GaussianGraph(covariance="correlation").fit(Y).graph_
    assert np.abs(pooled.weights[far]).max() > 0.3


def test_predictions(rows, fitted):
    X, Y = rows
    mean = fitted.predict_mean(X)
    np.testing.assert_allclose(mean, LinearRegression().fit(X, Y).predict(X), atol=1e-9)
    precision = fitted.predict_precision(X[:3])
    assert precision.shape == (3, 4, 4)
    np.testing.assert_array_equal(precision[2], fitted.precision_)
    graphs = fitted.predict_graphs(X[:3])
    np.testing.assert_allclose(graphs[1].weights, fitted.graph_.weights, atol=1e-12)
    left = multivariate_normal(np.zeros(4), fitted.covariance_).logpdf(Y - mean)
    assert fitted.score(X, Y) == pytest.approx(left.mean())


def test_alpha_by_held_out_rows(rows):
    X, Y = rows
    folds = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    model = ConditionalGraph(CV(folds, n_alphas=4), standardize=False, tol=1e-9).fit(X, Y)
    assert len(model.selection_.alphas) > 4  # the grid grew while its smallest was the best
    for alpha, value in zip(model.selection_.alphas, model.selection_.values, strict=True):
        scores = [
            ConditionalGraph(alpha, standardize=False, tol=1e-9)
            .fit(X[train], Y[train])
            .score(X[test], Y[test])
            for train, test in folds
        ]
        assert value == pytest.approx(np.mean(scores), abs=1e-6)
    assert model.alpha_ == model.selection_.alphas[model.selection_.values.argmax()]


def test_folds_do_not_depend_on_jobs(rows):
    one, two = (
        ConditionalGraph(CV(n_alphas=4), n_jobs=k, random_state=3).fit(*rows) for k in (1, 2)
    )
    np.testing.assert_array_equal(one.selection_.values, two.selection_.values)
    other = ConditionalGraph(CV(n_alphas=4), random_state=4).fit(*rows)
    assert not np.array_equal(one.selection_.values, other.selection_.values)


def test_gamma_and_the_grid(rows):
    X, Y = rows
    loose = ConditionalGraph(EBIC(gamma=0.0)).fit(X, Y)
    strict = ConditionalGraph(EBIC(gamma=1.0)).fit(X, Y)
    assert strict.alpha_ >= loose.alpha_
    assert strict.selection_.values[-1] > loose.selection_.values[-1]
    few = ConditionalGraph(EBIC(n_alphas=5, alpha_ratio=0.001)).fit(X, Y)
    assert len(few.alphas_) == 5
    assert few.alphas_[-1] == pytest.approx(0.001 * few.alphas_[0])


def test_standardize(rows):
    X, Y = rows
    units = np.array([1, 100, 0.1, 1])
    plain = ConditionalGraph(0.1).fit(X, Y).graph_.weights
    np.testing.assert_allclose(ConditionalGraph(0.1).fit(X, Y * units).graph_.weights, plain)
    raw = ConditionalGraph(0.1, standardize=False).fit(X, Y * units).graph_.weights
    assert not np.allclose(raw, plain, atol=1e-3)


def test_names_and_kinds_of_covariates():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "site": rng.choice(["a", "b", "c"], size=200),
            "old": rng.uniform(size=200) < 0.5,
            "dose": rng.uniform(size=200),
            "same": 1.0,
        }
    )
    Y = pd.DataFrame(rng.normal(size=(200, 2)), columns=["u", "v"])
    Y["u"] += 3 * (X["site"] == "c") - X["old"]
    model = ConditionalGraph(0.1).fit(X, Y)
    assert model.coef_names_ == ["site=b", "site=c", "old", "dose", "same"]
    np.testing.assert_allclose(model.coef_[:, 0], [0, 3, -1, 0, 0], atol=0.5)
    assert model.coef_[4, 0] == 0
    assert model.graph_.names == ("u", "v")
    one = pd.DataFrame({"site": ["c"], "old": [True], "dose": [0.5], "same": [1.0]})
    in_fit = X[(X["site"] == "c") & X["old"]].iloc[:1].assign(dose=0.5)
    np.testing.assert_allclose(model.predict_mean(one), model.predict_mean(in_fit))
    with raises(InputError, code="covariate_new_levels", name="site", new=["d"]):
        model.predict_mean(one.assign(site="d"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict_mean(one.rename(columns={"dose": "amount"}))


def test_collinear_and_many_covariates(rows):
    X, Y = rows
    twice = np.column_stack([X, X[:, 0]])
    plain, doubled = (ConditionalGraph(0.1).fit(Z, Y) for Z in (X, twice))
    np.testing.assert_allclose(plain.precision_, doubled.precision_, rtol=1e-6)
    many = np.random.default_rng(0).normal(size=(200, 250))
    with raises(InputError, code="responses_explained_fully", n_columns=250, n_rows=200):
        ConditionalGraph(0.1).fit(many, Y)
    nearly = twice + 0.05 * many[:, :3]
    sparse = ConditionalGraph(0.1, covariate_alpha="ebic").fit(nearly, Y)
    np.testing.assert_allclose(sparse.graph_.weights, plain.graph_.weights, atol=0.1)


def test_least_squares_where_the_difference_is_not_positive_definite():
    """Covariates that nearly cancel: a diagonal precision of X explains more than there is."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=(300, 1))
    X = u + 0.3 * rng.normal(size=(300, 3))
    Y = X.sum(axis=1, keepdims=True) + 0.1 * rng.normal(size=(300, 2))
    with pytest.warns(DataWarning, match="least squares was used"):
        model = ConditionalGraph(0.01, covariate_alpha=2.0).fit(X, Y)
    np.testing.assert_allclose(model.coef_, ConditionalGraph(0.01).fit(X, Y).coef_, atol=1e-10)


def test_warnings_say_what_to_do(rows):
    X, Y = rows
    wide = np.random.default_rng(0).normal(size=(40, 20)).cumsum(axis=1)
    with pytest.warns(ConvergenceWarning, match="Raise max_iter"):
        ConditionalGraph(0.01, tol=1e-12, max_iter=1).fit(X[:40], wide)
    with pytest.warns(SelectionWarning, match=r"Pass alpha=EBIC\(alpha_ratio="):
        ConditionalGraph(EBIC(n_alphas=2, alpha_ratio=0.7)).fit(X, Y)


def test_saved_and_loaded(rows, fitted, tmp_path):
    fitted.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    assert again.score(*rows) == fitted.score(*rows)
    chosen = ConditionalGraph().fit(*rows)
    chosen.save(tmp_path / "chosen.edgewise")
    again = edgewise.load(tmp_path / "chosen.edgewise")
    np.testing.assert_array_equal(again.selection_.values, chosen.selection_.values)


def test_grid_search_and_clone(rows):
    search = GridSearchCV(ConditionalGraph(), {"alpha": [0.05, 10.0]}, cv=3).fit(*rows)
    assert search.best_params_ == {"alpha": 0.05}
    assert clone(ConditionalGraph(0.2)).get_params()["alpha"] == 0.2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": "stars"}, "invalid_value"),
        ({"alpha": -0.1}, "invalid_value"),
        ({"covariate_alpha": "cv"}, "invalid_value"),
        ({"tol": 0}, "invalid_value"),
    ],
)
def test_bad_parameters(rows, parameters, message):
    with raises(InputError, code=message):
        ConditionalGraph(**parameters).fit(*rows)


def test_bad_rows(rows, fitted):
    X, Y = rows
    with raises(InputError, code="responses_row_count", n_samples=200, n_samples2=199):
        ConditionalGraph().fit(X, Y[:-1])
    with raises(InputError, code="covariates_not_finite", gaps=["x1"]):
        ConditionalGraph().fit(np.where([False, True], np.nan, X), Y)
    with raises(InputError, code="one_response"):
        ConditionalGraph().fit(X, Y[:, :1])
    with raises(InputError, code="responses_of_fit", names=["y0", "y1", "y2"]):
        fitted.score(X, Y[:, :3])
