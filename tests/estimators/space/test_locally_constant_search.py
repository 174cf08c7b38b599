"""Locally constant graphs: the search for strengths, paths, and estimators around them."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from joblib.parallel import SequentialBackend
from scipy.stats import multivariate_normal
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import CV, BootstrapGraph, InputError, LocallyConstantGraph, StabilitySelection
from edgewise.selection import SelectionWarning
from edgewise.solvers import locally_constant
from edgewise.solvers.space.smooth import smooth_precision
from tests.estimators.space.locally_constant_rows import (
    NUMBERS,
    SMALL_SEARCH,
    covariance,
    patches,
    small_search,
)
from tests.messages import raises
from tests.solvers.space.locally_constant_problems import pairs_of


def held_out_by_hand(X, folds, alphas, taus):
    """Held-out log-likelihood of every fold, one fit and one density at a time."""
    details = np.empty((len(alphas), len(taus), len(folds)))
    for k, (train, test) in enumerate(folds):
        S = covariance(X[train])
        unit = np.mean(np.diag(S))
        for i, alpha in enumerate(alphas):
            for j, tau in enumerate(taus):
                pairs = pairs_of("chain", X.shape[1])
                found = locally_constant(S / unit, alpha, tau, pairs, tol=1e-9)
                density = multivariate_normal(X[train].mean(axis=0), found.covariance * unit)
                details[i, j, k] = density.logpdf(X[test]).mean()
    return details


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
@pytest.mark.parametrize(
    "searched", [("alpha", "tau"), ("alpha",), ("tau",)], ids=["both", "alpha", "tau"]
)
def test_search_takes_the_best_of_an_explicit_loop(searched, monkeypatch):
    monkeypatch.setattr("edgewise.estimators.space.locally_constant.SEARCH_TOL", 0.0)
    X = patches(n_rows=32, n_columns=5)
    splitter = KFold(3)
    numbers = {name: value for name, value in NUMBERS.items() if name not in searched}
    model = LocallyConstantGraph(**{**small_search(splitter), **numbers}, tol=1e-9).fit(X)
    S = covariance(X) / np.mean(X.var(axis=0))
    largest = np.abs(S - np.diag(np.diag(S))).max()
    alphas = largest * np.array([1.0, 0.1, 0.01]) if "alpha" in searched else [0.1]
    taus = largest * np.array([0.0, 0.01, 1.0]) if "tau" in searched else [0.05]
    np.testing.assert_allclose(model.alphas_, alphas)
    np.testing.assert_allclose(model.taus_, taus)
    folds = list(splitter.split(X))
    details = held_out_by_hand(X, folds, alphas, taus)
    np.testing.assert_allclose(model.selection_.details, details, atol=1e-4)
    values = details @ [len(test) for _, test in folds] / 32
    np.testing.assert_allclose(model.selection_.values, values, atol=1e-4)
    first, second = np.unravel_index(np.argmax(values), values.shape)
    assert (model.alpha_, model.tau_) == (model.alphas_[first], model.taus_[second])
    single = LocallyConstantGraph(model.alpha_, model.tau_, tol=1e-9).fit(X)
    np.testing.assert_allclose(model.precision_, single.precision_, atol=1e-5)


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_grid_follows_its_parameters():
    search = small_search(n_alphas=4, n_taus=3, alpha_ratio=0.05)
    model = LocallyConstantGraph(**search).fit(patches())
    assert len(model.alphas_) == 4
    assert model.alphas_[-1] / model.alphas_[0] == pytest.approx(0.05)
    assert len(model.taus_) == 4
    assert model.taus_[0] == 0
    assert model.taus_[1] / model.taus_[-1] == pytest.approx(0.05)
    assert model.taus_[-1] == pytest.approx(model.alphas_[0])
    assert model.selection_.details.shape == (4, 4, 3)


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_folds_are_set_by_cv_and_random_state():
    X = patches(n_rows=40, n_columns=5)

    def details(*cv, **options):
        return LocallyConstantGraph(**small_search(*cv, **options)).fit(X).selection_.details

    assert details(4).shape[2] == 4
    splitter = ShuffleSplit(2, random_state=0)
    by_splitter = details(splitter)
    assert by_splitter.shape[2] == 2
    np.testing.assert_array_equal(details(list(splitter.split(X))), by_splitter)
    np.testing.assert_array_equal(details(random_state=1), details(random_state=1))
    assert not np.allclose(details(random_state=1), details(random_state=2))


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_result_does_not_depend_on_the_number_of_workers():
    X = patches(n_rows=40, n_columns=5)
    one, two = (LocallyConstantGraph(n_jobs=n, **SMALL_SEARCH).fit(X) for n in (1, 2))
    np.testing.assert_array_equal(one.selection_.details, two.selection_.details)
    np.testing.assert_array_equal(one.precision_, two.precision_)


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_as_many_workers_as_asked_for():
    asked = []

    class Remembers(SequentialBackend):
        def effective_n_jobs(self, n_jobs):
            asked.append(n_jobs)
            return 1

    with parallel_config(Remembers()):
        LocallyConstantGraph(n_jobs=7, **SMALL_SEARCH).fit(patches(n_rows=40, n_columns=4))
    assert 7 in asked


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
@pytest.mark.parametrize(("verbose", "is_drawn"), [(0, False), (1, True)])
def test_progress_only_when_asked(verbose, is_drawn, capsys, lines_at_once):
    LocallyConstantGraph(verbose=verbose, **SMALL_SEARCH).fit(patches(n_columns=4))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert bool(printed.err) is is_drawn


def test_ends_of_the_grid_are_warned_of():
    X = patches(n_rows=200, n_columns=5)
    alpha = CV(3, n_alphas=2, alpha_ratio=0.3)
    with pytest.warns(SelectionWarning, match=r"alpha=\"cv\" chose.*CV\(alpha_ratio=0\.03\)"):
        LocallyConstantGraph(alpha, 0.0, random_state=0).fit(X)
    even = 1.0 * np.random.default_rng(0).normal(size=(40, 5))
    even += 0.5 * even.mean(axis=1, keepdims=True)
    with pytest.warns(SelectionWarning, match=r"tau=\"cv\" chose.*largest tau"):
        LocallyConstantGraph(0.01, CV(3, n_alphas=1, alpha_ratio=0.01), random_state=0).fit(even)


def test_both_strengths_are_searched_on_the_same_folds():
    with raises(InputError, code="space_search_settings", cv=5, cv2=3):
        LocallyConstantGraph("cv", CV(3)).fit(patches())


def test_complete_graph_at_the_end_of_the_grid_is_no_reason_to_warn():
    model = LocallyConstantGraph(**{**SMALL_SEARCH, "tau": 0.0}).fit(patches(300, 2))
    assert model.selection_.index == (2, 0)


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_explicit_splits_count_rows_of_weight_zero():
    X = patches(n_rows=30, n_columns=4)
    weights = np.r_[np.zeros(10), np.ones(20)]
    search = small_search(KFold(3))
    model = LocallyConstantGraph(**search).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.selection_.details[:, :, 0], 0)


def test_path_goes_through_all_taus_of_each_alpha():
    X = patches()
    model = LocallyConstantGraph(0.1, 0.3, tol=1e-9)
    path = model.path(pd.DataFrame(X, columns=list("abcdefgh")), [0.3, 0.1], [0.2, 0.0, 0.05])
    assert not hasattr(model, "n_features_in_")
    np.testing.assert_array_equal(path.alphas, [0.3, 0.3, 0.3, 0.1, 0.1, 0.1])
    np.testing.assert_array_equal(path.taus, [0.2, 0.0, 0.05] * 2)
    assert path.converged.all()
    for alpha, tau, graph, Theta, gap in zip(
        path.alphas, path.taus, path.graphs, path.precisions, path.gaps, strict=True
    ):
        single = LocallyConstantGraph(alpha, tau, tol=1e-9).fit(X)
        np.testing.assert_allclose(Theta, single.precision_, atol=1e-4)
        assert graph.names == tuple("abcdefgh")
        np.testing.assert_array_equal(graph.adjacency, (Theta != 0) & ~np.eye(8, dtype=bool))
        assert gap <= 8e-9
    np.testing.assert_array_equal(path.n_edges, [graph.n_edges for graph in path.graphs])


def test_path_has_the_strengths_of_the_estimator_by_default():
    X = patches()
    weights = np.linspace(0, 1, len(X))
    model = LocallyConstantGraph(CV(n_alphas=3, alpha_ratio=0.1), 0.05)
    path = model.path(X, sample_weight=weights)
    np.testing.assert_array_equal(path.taus, [0.05] * 3)
    assert path.n_edges[0] == 0 < path.n_edges[2]
    assert path.alphas[2] / path.alphas[0] == pytest.approx(0.1)
    expected = LocallyConstantGraph(path.alphas[2], 0.05).fit(X, sample_weight=weights)
    np.testing.assert_allclose(path.precisions[2], expected.precision_, atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "path_needs_tau"),
        ({"taus": "cv"}, "taus_empty"),
        ({"taus": []}, "taus_empty"),
        ({"taus": [[0.1]]}, "taus_empty"),
        ({"alphas": [0.1], "taus": [-0.1]}, "finite_non_negative"),
        ({"alphas": [0.1], "taus": [np.nan]}, "finite_non_negative"),
        ({"alphas": [0.1, 0.2], "taus": [0.1]}, "alphas_descending"),
        ({"alphas": [0.1, 0.0], "taus": [0.1]}, "space_alpha_positive"),
    ],
)
def test_impossible_paths_are_refused(arguments, message):
    with raises(InputError, code=message):
        LocallyConstantGraph().path(patches(), **arguments)


def test_resampling_of_a_locally_constant_graph():
    X = pd.DataFrame(patches(), columns=list("abcdefgh"))
    model = LocallyConstantGraph(0.3, 0.1)
    options = {"n_resamples": 4, "random_state": 0}
    stable = StabilitySelection(model, **options).fit(X)
    assert stable.edge_frequency_[:3, 7].min() == 1
    along = StabilitySelection(model, alphas=[1.5, 0.3], **options).fit(X)
    np.testing.assert_array_equal(along.path_frequency_[0], 0)
    np.testing.assert_array_equal(along.path_frequency_[1], stable.edge_frequency_)
    resampled = BootstrapGraph(model, **options).fit(X)
    assert resampled.graph_.adjacency[0, 7]
    assert resampled.graph_.names == tuple("abcdefgh")


def test_pipeline_and_grid_search():
    X = patches(n_rows=60)
    pipeline = make_pipeline(StandardScaler(), LocallyConstantGraph(scale=None, **NUMBERS)).fit(X)
    direct = LocallyConstantGraph(scale="variable", **NUMBERS).fit(X)
    np.testing.assert_allclose(pipeline[-1].graph_.weights, direct.graph_.weights, atol=1e-6)
    assert np.isfinite(pipeline.score(X))
    strengths = {"alpha": [0.03, 0.3], "tau": [0.0, 0.1, 1.0]}
    search = GridSearchCV(LocallyConstantGraph(), strengths, cv=3).fit(X)
    assert len(set(search.cv_results_["mean_test_score"])) == 6
    assert search.best_estimator_.graph_.n_nodes == 8


# Smooth differences


def test_smooth_differences_are_those_of_the_solver():
    X = patches(n_rows=60, n_columns=8)
    model = LocallyConstantGraph(0.1, 0.2, differences="smooth", tol=1e-9).fit(X)
    unit = np.mean(X.var(axis=0))
    expected = smooth_precision(covariance(X) / unit, 0.1, 0.2, pairs_of("chain", 8), tol=1e-9)
    np.testing.assert_allclose(model.precision_ * unit, expected.value, atol=1e-9)
    assert (model.differences_, model.converged_) == ("smooth", True)
    constant = LocallyConstantGraph(0.1, 0.2).fit(X)
    assert constant.differences_ == "constant"
    assert np.abs(constant.precision_ - model.precision_).max() > 0.01


@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
def test_held_out_rows_choose_what_is_drawn_to_zero():
    X = patches(n_rows=60, n_columns=8)
    fits = {
        differences: LocallyConstantGraph(**SMALL_SEARCH, differences=differences).fit(X)
        for differences in ("constant", "smooth", "cv")
    }
    values = {name: fit.selection_.values.max() for name, fit in fits.items()}
    assert values["constant"] != values["smooth"]
    best = max("constant", "smooth", key=values.__getitem__)
    assert fits["cv"].differences_ == best
    np.testing.assert_array_equal(fits["cv"].precision_, fits[best].precision_)


def test_smooth_differences_that_cannot_be():
    X = patches(n_rows=60, n_columns=8)
    with raises(InputError, code="differences_without_folds"):
        LocallyConstantGraph(0.1, 0.2, differences="cv").fit(X)
    with raises(InputError, code="differences_without_folds"):
        LocallyConstantGraph(differences="cv").path(X, taus=[0.1])
    for options in ({"solver": "dual"}, {"device": "cuda"}):
        with raises(InputError, code="smooth_differences"):
            LocallyConstantGraph(0.1, 0.2, differences="smooth", **options).fit(X)
