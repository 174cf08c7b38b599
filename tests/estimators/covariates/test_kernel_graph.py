"""Networks that vary smoothly: averages written out, known truths, options, bad input, files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

import edgewise
from edgewise import DataWarning, InputError, KernelCV, KernelGraph
from edgewise.selection import SelectionWarning
from edgewise.solvers import graphical_lasso
from tests.messages import raises

FIXED = {"bandwidth": 0.15, "alpha": 0.1}


def draw(n=300, seed=0):
    """Three responses; the tie of the first two goes from negative to positive along x0."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, size=(n, 1))
    Y = rng.normal(size=(n, 3))
    Y[:, 0] += 1.5 * (X[:, 0] / 5 - 1) * Y[:, 1]
    return X, Y


@pytest.fixture(scope="module")
def rows():
    return draw()


@pytest.fixture(scope="module")
def fitted(rows):
    return KernelGraph(**FIXED).fit(*rows)


def by_hand(X, Y, x, *, bandwidth, alpha, own_mean=True):
    """Kernel-weighted covariance and its graphical lasso, straight from the formulas."""
    scale = Y.std(axis=0)
    Z = (Y - Y.mean(axis=0)) / scale
    width = X.max() - X.min()
    weight = np.exp(-(((X[:, 0] - x) / width) ** 2) / (2 * bandwidth**2))
    mean = np.average(Z, axis=0, weights=weight) if own_mean else np.zeros(3)
    S = (Z - mean).T @ np.diag(weight / weight.sum()) @ (Z - mean)
    Theta = graphical_lasso(S, alpha, tol=1e-10).value
    return Y.mean(axis=0) + scale * mean, Theta / np.outer(scale, scale), weight


@pytest.mark.parametrize("mean", ["local", "global"])
def test_the_formulas(rows, mean):
    X, Y = rows
    model = KernelGraph(**FIXED, refit=False, mean=mean, tol=1e-10).fit(X, Y)
    at = np.array([[1.0], [5.5], [9.0]])
    for k, x in enumerate(at[:, 0]):
        centre, Theta, weight = by_hand(X, Y, x, **FIXED, own_mean=mean == "local")
        np.testing.assert_allclose(model.predict_mean(at)[k], centre, atol=1e-10)
        np.testing.assert_allclose(model.predict_precision(at)[k], Theta, atol=1e-5)
        expected = weight.sum() ** 2 / (weight**2).sum()
        assert model.effective_samples(at)[k] == pytest.approx(expected)


def test_refit_takes_back_the_shrinkage(rows):
    X, Y = rows
    lasso = KernelGraph(**FIXED, refit=False, tol=1e-9).fit(X, Y).predict_precision([[9.0]])[0]
    refit = KernelGraph(**FIXED, tol=1e-9).fit(X, Y).predict_precision([[9.0]])[0]
    np.testing.assert_array_equal(refit != 0, lasso != 0)
    assert abs(refit[0, 1]) > 1.05 * abs(lasso[0, 1])


def test_the_known_change_is_found(rows):
    X, Y = rows
    model = KernelGraph(random_state=0).fit(X, Y)
    low, high = model.predict_graphs([[0.5], [9.5]])
    assert low.weights[0, 1] < -0.5
    assert high.weights[0, 1] > 0.5
    assert low.n_edges <= 2
    assert 0.01 < model.bandwidth_ < 0.6
    assert model.bandwidth_ in model.bandwidths_
    assert model.alpha_ in model.alphas_
    best = np.unravel_index(model.heldout_.argmax(), model.heldout_.shape)
    assert model.alphas_[best] == model.alpha_


def test_a_network_that_does_not_vary_gets_a_wide_kernel():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(400, 1))
    Y = rng.normal(size=(400, 3))
    Y[:, 1] += Y[:, 0]
    model = KernelGraph(random_state=0).fit(X, Y)
    assert np.median(model.effective_samples_) > 200


def test_heldout_likelihood_is_that_of_held_out_rows(rows):
    """With all held-out rows as anchors, the search computes the score on each fold."""
    X, Y = rows[0][:60], rows[1][:60]
    folds = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    searched = KernelGraph(0.3, KernelCV(folds, n_alphas=2, alpha_ratio=0.5), refit=False, tol=1e-9)
    searched.fit(X, Y)
    # The search takes its units from all rows; so does this.
    for alpha, value in zip(searched.alphas_[0], searched.heldout_[0], strict=True):
        model = KernelGraph(0.3, alpha, standardize=False, scale="none", refit=False)
        by_fold = []
        for train, test in folds:
            scale, width = Y.std(axis=0), np.ptp(X)
            model.fit(X[train] / width, Y[train] / scale)
            by_fold.append(model.score(X[test] / width, Y[test] / scale) - np.log(scale).sum())
        assert value == pytest.approx(np.mean(by_fold), abs=1e-4)


def test_score_is_the_mean_log_density(rows, fitted):
    X, Y = rows[0][:20], rows[1][:20]
    mean, precision = fitted.predict_mean(X), fitted.predict_precision(X)
    expected = np.mean(
        [
            multivariate_normal.logpdf(y, m, np.linalg.inv(Theta))
            for y, m, Theta in zip(Y, mean, precision, strict=True)
        ]
    )
    assert fitted.score(X, Y) == pytest.approx(expected)


def test_few_rows_widen_the_kernel(rows):
    X, Y = rows
    model = KernelGraph(0.001, 0.2, min_samples=25).fit(X, Y)
    assert model.effective_samples([[5.0]])[0] == pytest.approx(25, rel=1e-3)
    with pytest.warns(DataWarning, match=r"At 1 of 1 points fewer than min_samples=25"):
        model.predict_graphs([[5.0]])
    assert (model.effective_samples_ > 24.9).all()


def test_points_beyond_the_range_are_served_by_the_nearest_rows(rows, fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        far = fitted.predict_precision([[1e6]])[0]
    assert np.isfinite(far).all()
    assert np.linalg.eigvalsh(far)[0] > 0


def test_a_response_that_is_constant_near_a_point(rows):
    X, Y = rows
    Y = Y.copy()
    Y[X[:, 0] < 4, 2] = 0.0
    model = KernelGraph(0.02, 0.1, min_samples=5).fit(X, Y)
    precision = model.predict_precision([[1.0]])[0]
    assert np.isfinite(precision).all()


def test_more_responses_than_effective_rows():
    rng = np.random.default_rng(5)
    X, Y = rng.uniform(size=(60, 1)), rng.normal(size=(60, 15))
    model = KernelGraph(0.03, 0.3).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        values = np.linalg.eigvalsh(model.predict_precision([[0.5]])[0])
    assert values[0] > 0


def test_scale_decides_about_units(rows):
    X, Y = rows
    far = KernelGraph(**FIXED).fit(X * 1000, Y)
    near = KernelGraph(**FIXED).fit(X, Y)
    np.testing.assert_allclose(
        far.predict_precision([[5000.0]]), near.predict_precision([[5.0]]), rtol=1e-6
    )
    plain = KernelGraph(0.15 * np.ptp(X), 0.1, scale="none").fit(X, Y)
    np.testing.assert_allclose(
        plain.predict_precision([[5.0]]), near.predict_precision([[5.0]]), rtol=1e-6
    )


def test_standardize_makes_units_of_responses_matter_not(rows):
    X, Y = rows
    units = np.array([1.0, 100.0, 0.01])
    plain = KernelGraph(**FIXED).fit(X, Y).predict_graphs([[9.0]])[0]
    other = KernelGraph(**FIXED).fit(X, Y * units).predict_graphs([[9.0]])[0]
    np.testing.assert_allclose(plain.weights, other.weights, atol=1e-6)
    raw = KernelGraph(**FIXED, standardize=False).fit(X, Y * units).predict_graphs([[9.0]])[0]
    assert not np.array_equal(raw.adjacency, plain.adjacency)


def test_penalize_diagonal(rows):
    X, Y = rows
    free = KernelGraph(**FIXED, refit=False).fit(X, Y).predict_precision([[5.0]])[0]
    shrunk = KernelGraph(**FIXED, refit=False, penalize_diagonal=True).fit(X, Y)
    assert (shrunk.predict_precision([[5.0]])[0].diagonal() < free.diagonal()).all()


def test_the_search_is_the_same_for_any_number_of_jobs(rows):
    X, Y = rows
    options = {"alpha": KernelCV(n_alphas=3, n_bandwidths=3), "n_anchors": 8, "random_state": 1}
    one, two = (KernelGraph(**options, n_jobs=k).fit(X, Y) for k in (1, 2))
    np.testing.assert_array_equal(one.heldout_, two.heldout_)
    at = np.linspace(0, 10, 230)[:, None]
    np.testing.assert_array_equal(one.predict_precision(at), two.predict_precision(at))


def test_numbers_of_the_search(rows):
    X, Y = rows
    model = KernelGraph(
        alpha=KernelCV(2, n_alphas=4, n_bandwidths=3), n_anchors=7, random_state=0
    ).fit(X, Y)
    assert len(model.bandwidths_) <= 3
    assert model.alphas_.shape == (len(model.bandwidths_), 4)
    assert len(model.anchors_) == 7
    one = KernelGraph(KernelCV(n_bandwidths=3), 0.2, n_anchors=7, random_state=0).fit(X, Y)
    assert one.alphas_.shape[1] == 1
    assert one.alpha_ == 0.2


def test_what_may_be_at_the_end_of_a_search_is_said(rows):
    X, Y = rows
    with pytest.warns(SelectionWarning, match=r"smallest alpha tried.*Pass alpha=KernelCV"):
        KernelGraph(0.1, KernelCV(n_alphas=2, alpha_ratio=0.9), n_anchors=10, random_state=0).fit(
            X, Y
        )
    with pytest.warns(SelectionWarning, match="smallest bandwidth tried"):
        KernelGraph(KernelCV(n_bandwidths=2), 0.1, min_samples=100, random_state=0).fit(X, Y)


def test_a_lasso_that_stops_early_is_said(rows):
    # Of three responses one sweep would do.
    walks = np.random.default_rng(1).normal(size=(len(rows[0]), 10)).cumsum(axis=1)
    with pytest.warns(ConvergenceWarning, match="duality gap"):
        KernelGraph(0.1, 0.01, tol=1e-15, max_iter=1).fit(rows[0], walks)


def test_names_and_kinds_of_covariates():
    rng = np.random.default_rng(7)
    X = pd.DataFrame(
        {
            "place": rng.choice(["coast", "inland"], size=300),
            "wet": rng.uniform(size=300) < 0.5,
            "height": rng.uniform(0, 2000, size=300),
        }
    )
    Y = pd.DataFrame(rng.normal(size=(300, 2)), columns=["wind", "rain"])
    Y["rain"] += np.where(X["place"] == "coast", 2, -2) * Y["wind"]
    model = KernelGraph(0.3, 0.1).fit(X, Y)
    at = pd.DataFrame({"place": ["coast", "inland", "moon"], "wet": True, "height": 500.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        graphs = model.predict_graphs(at)
    assert graphs[0].names == ("wind", "rain")
    assert graphs[0].weights[0, 1] > 0.5
    assert graphs[1].weights[0, 1] < -0.5
    assert abs(graphs[2].weights[0, 1]) < 0.5
    assert model.feature_names_in_.tolist() == ["place", "wet", "height"]


def test_saved_and_loaded(rows, fitted, tmp_path):
    fitted.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    np.testing.assert_array_equal(
        again.predict_precision([[3.0]]), fitted.predict_precision([[3.0]])
    )
    assert again.get_params() == fitted.get_params()


def test_grid_search(rows):
    search = GridSearchCV(KernelGraph(alpha=0.1), {"bandwidth": [0.1, 10.0]}, cv=2)
    search.fit(*rows)
    assert search.best_params_ == {"bandwidth": 0.1}


def test_clone_keeps_parameters():
    model = KernelGraph(0.2, alpha=0.3, mean="global")
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"bandwidth": 0.0}, "invalid_value"),
        ({"bandwidth": "wide"}, "invalid_value"),
        ({"alpha": -1}, "invalid_value"),
        ({"mean": "median"}, "invalid_value"),
        ({"scale": "rank"}, "invalid_value"),
        ({"min_samples": 1}, "invalid_value"),
        ({"n_anchors": 2.5}, "invalid_value"),
        ({"tol": 0}, "invalid_value"),
        ({"min_samples": 300}, "too_few_rows_for_kernel"),
        ({"min_samples": 250}, "fold_too_small_for_kernel"),
    ],
)
def test_bad_parameters(rows, parameters, message):
    with raises(InputError, code=message):
        KernelGraph(**parameters).fit(*rows)


def test_bad_rows(rows, fitted):
    X, Y = rows
    with raises(InputError, code="responses_row_count", n_samples=300, n_samples2=299):
        KernelGraph().fit(X, Y[:-1])
    with raises(InputError, code="covariates_constant"):
        KernelGraph().fit(np.ones_like(X), Y)
    with raises(InputError, code="responses_not_finite", bad=["y1"]):
        KernelGraph().fit(X, np.where(np.arange(3) == 1, np.nan, Y))
    with raises(InputError, code="one_response"):
        KernelGraph().fit(X, Y[:, :1])
    with raises(ValueError, code="columns_of_fit"):
        fitted.predict_precision(np.ones((2, 2)))
    with raises(InputError, code="covariates_not_finite", gaps=["x0"]):
        fitted.predict_graphs([[np.nan]])
