"""Locally constant graphs of awkward data: constant columns, gaps, odd neighbours, bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from edgewise import CV, GaussianGraph, InputError, LocallyConstantGraph
from edgewise.solvers import locally_constant
from edgewise.stats import Moments, em_covariance, pairwise_covariance, repair_covariance
from tests.estimators.space.locally_constant_rows import (
    NUMBERS,
    SMALL_SEARCH,
    covariance,
    patches,
    small_search,
)
from tests.messages import raises

NAMES = ["a", "b", "c", "d", "e", "f"]
KEPT = [0, 1, 3, 5]
SEARCH_ENDS = pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")


def fit(X, **options):
    return LocallyConstantGraph(**{**NUMBERS, **options}).fit(X)


@pytest.fixture
def flat():
    """Six columns on a grid of 2 x 3, of which the third and the fifth are constant."""
    frame = pd.DataFrame(patches(n_columns=6), columns=NAMES)
    frame["c"] = 1.0
    frame["e"] = -2.0
    return frame


def test_constant_columns_are_counted_and_named_with_both_remedies(flat):
    pattern = r"2 of 6 columns have.*'c' and 'e'.*\"drop\" to leave them.*\"ridge\" to add 0\.001"
    with pytest.raises(InputError, match=pattern):
        fit(flat)
    with raises(InputError, code="constant_columns_in_space", n_flat=1, n_columns=6):
        fit(flat.assign(c=patches()[:, 0]).to_numpy())


def test_columns_that_vary_by_rounding_only_are_constant(flat):
    flat["c"] = 1e8 + np.spacing(1e8) * (np.arange(80) % 2)
    flat["e"] = patches()[:, 0]
    with raises(InputError, code="constant_columns_in_space", n_flat=1, n_columns=6):
        fit(flat)
    assert fit(flat, constant="drop").kept_.tolist() == [0, 1, 3, 4, 5]
    assert "because of 1 constant column" in fit(flat, constant="ridge").treatment_[0]


def test_constant_columns_can_be_left_out(flat):
    options = {"alpha": 0.03, "tau": 0.1, "neighbors": (2, 3), "tol": 1e-9}
    model = fit(flat, constant="drop", **options)
    inside = np.ix_(KEPT, KEPT)
    options["neighbors"] = [(0, 1), (0, 2)]
    rest = fit(flat[NAMES].iloc[:, KEPT], **options)
    np.testing.assert_array_equal(model.kept_, KEPT)
    np.testing.assert_allclose(model.precision_, rest.precision_, rtol=1e-9)
    np.testing.assert_allclose(model.covariance_, rest.covariance_, rtol=1e-9)
    np.testing.assert_allclose(model.location_, rest.location_, rtol=1e-9)
    np.testing.assert_array_equal(model.pairs_.tolist(), pairs_of_two_by_three())
    np.testing.assert_allclose(model.graph_.weights[inside], rest.graph_.weights, rtol=1e-9)
    np.testing.assert_array_equal(model.groups_[inside], rest.groups_)
    assert rest.graph_.n_edges > 0
    assert model.graph_.names == tuple(NAMES)
    assert not model.graph_.adjacency[[2, 4]].any()
    assert (model.groups_[[2, 4]] == -1).all()
    np.testing.assert_array_equal(model.partial_correlation_[[2, 4]], np.eye(6)[[2, 4]])
    assert model.n_features_in_ == 6
    assert model.treatment_ == [
        'constant="drop": 2 constant columns left out',
        "1 of 4 variables has no neighbour.",
    ]


def pairs_of_two_by_three():
    return [[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]]


def test_rows_with_columns_that_were_left_out_can_be_scored(flat):
    model = fit(flat, constant="drop")
    new = flat + 0.1
    density = multivariate_normal(model.location_, model.covariance_)
    expected = density.logpdf(new.iloc[:, KEPT].to_numpy()).mean()
    assert model.score(new) == pytest.approx(expected)
    new.loc[3, "f"] = np.nan
    with raises(InputError, code="values_not_finite", which="'f'"):
        model.score(new)


def test_path_keeps_columns_that_were_left_out(flat):
    path = LocallyConstantGraph(constant="drop", **NUMBERS).path(flat, [0.5, 0.1])
    expected = fit(flat, constant="drop")
    assert path.precisions.shape == (2, 4, 4)
    assert path.graphs[1].names == tuple(NAMES)
    np.testing.assert_allclose(path.graphs[1].weights, expected.graph_.weights, atol=1e-3)


def test_columns_are_left_out_anew_at_every_fit(flat):
    model = LocallyConstantGraph(constant="drop", **NUMBERS).fit(flat)
    model.fit(patches(n_columns=5))
    np.testing.assert_array_equal(model.kept_, np.arange(5))
    assert model.precision_.shape == (5, 5)
    assert model.treatment_ == []


def test_constant_columns_can_be_given_a_ridge(flat):
    model = fit(flat, constant="ridge", tol=1e-9)
    S = covariance(flat.to_numpy())
    ridge = 1e-3 * np.mean(np.diag(S)[KEPT])
    S += ridge * np.eye(6)
    expected = fit(Moments.from_covariance(S, 80), tol=1e-9)
    np.testing.assert_allclose(model.precision_, expected.precision_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.location_, flat.mean())
    assert model.treatment_ == [
        f'constant="ridge": {ridge:.3g} added to every variance because of 2 constant columns'
    ]
    assert not model.graph_.adjacency[[2, 4]].any()
    density = multivariate_normal(model.location_, model.covariance_).logpdf(flat)
    assert model.score(flat) == pytest.approx(density.mean())
    # Without constant columns there is nothing to add.
    plain = patches()
    np.testing.assert_array_equal(fit(plain, constant="ridge").precision_, fit(plain).precision_)


@pytest.mark.parametrize("constant", ["drop", "ridge"])
@pytest.mark.parametrize("missing", ["pairwise", "em"])
def test_constant_columns_with_gaps(constant, missing, flat):
    flat.loc[[1, 2], "a"] = np.nan
    flat.loc[5, "c"] = np.nan
    model = fit(flat, constant=constant, missing=missing)
    missing_record, constant_record = model.treatment_[:2]
    assert missing_record.startswith(f'missing="{missing}": 2 missing values in 1 column;')
    assert constant_record.startswith(f'constant="{constant}"')
    if constant == "drop":
        expected = fit(flat.iloc[:, KEPT], missing=missing, neighbors=[(0, 1)])
        np.testing.assert_allclose(model.precision_, expected.precision_)
    else:
        np.testing.assert_allclose(model.location_[[2, 4]], [1.0, -2.0])
        assert model.converged_
    assert np.isfinite(model.score(flat))


@pytest.mark.parametrize("repair", ["ridge", "clip"])
def test_constant_columns_and_a_repair(repair, flat):
    flat["b"] = flat["a"]
    model = fit(flat, constant="ridge", repair=repair)
    assert [record.split(":")[0] for record in model.treatment_] == [
        f'repair="{repair}"',
        'constant="ridge"',
    ]
    assert model.graph_.adjacency[0, 1]


def test_a_column_is_constant_if_the_rows_that_count_say_so(flat):
    X = patches()
    X[:40, 3] = 7.0
    weights = np.repeat([1.0, 0.0], 40)
    with raises(InputError, code="constant_columns_in_space", n_flat=1, n_columns=8):
        LocallyConstantGraph(**NUMBERS).fit(X, sample_weight=weights)
    for constant in ("drop", "ridge"):
        model = LocallyConstantGraph(constant=constant, **NUMBERS)
        assert model.fit(X, sample_weight=weights).treatment_[0].startswith(f'constant="{constant}')


@pytest.mark.parametrize("constant", ["error", "drop", "ridge"])
def test_nothing_but_constant_columns_is_refused(constant):
    X = np.ones((20, 3)) * [1.0, 2.0, 3.0]
    with raises(InputError, code="all_columns_constant", which="All 3 columns have"):
        fit(X, constant=constant)
    with raises(InputError, code="all_columns_constant", which="The only column has"):
        fit(X[:, :1], constant=constant)


@SEARCH_ENDS
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scale": "variable"},
        {"constant": "drop"},
        {"missing": "pairwise"},
        {"missing": "em"},
        {"repair": "ridge"},
    ],
    ids=str,
)
def test_a_column_may_be_constant_in_one_fold(options):
    X = patches(n_rows=30, n_columns=5) - 3.0
    X[:, 2] = 0.0
    X[:10, 2] = np.linspace(-1, 1, 10)
    if "missing" in options:
        X[15, 0] = np.nan
    splits = [(np.arange(10, 30), np.arange(10)), (np.arange(20), np.arange(20, 30))]
    model = LocallyConstantGraph(**{**small_search(splits), **options}).fit(X)
    assert np.isfinite(model.selection_.details).all()
    assert len(model.kept_) == 5
    assert not any("constant" in record for record in model.treatment_)


def test_a_fold_of_constant_columns_is_named():
    X = patches(n_rows=30, n_columns=4)
    X[10:] = X[10]
    splits = [(np.arange(20), np.arange(20, 30)), (np.arange(10, 30), np.arange(10))]
    with raises(InputError, code="fit_failed"):
        LocallyConstantGraph(**small_search(splits)).fit(X)
    with raises(InputError, code="fit_failed"):
        LocallyConstantGraph(CV(2)).fit(patches(n_rows=2))


@pytest.mark.parametrize(
    ("missing", "statistics"), [("pairwise", pairwise_covariance), ("em", em_covariance)]
)
def test_missing_values_are_treated_and_stated(missing, statistics):
    X = patches(n_columns=5)
    X[[1, 5, 9], 1] = np.nan
    X[[2, 5], 3] = np.nan
    with pytest.raises(InputError, match=r"5 values.*'x1' \(3\) and 'x3' \(2\)"):
        fit(X)
    model = fit(X, missing=missing)
    (record,) = model.treatment_
    assert record.startswith(f'missing="{missing}": 5 missing values in 2 columns')
    result = statistics(X)
    expected = fit(Moments.from_covariance(result.covariance, 80))
    np.testing.assert_allclose(model.precision_, expected.precision_, atol=1e-9)
    np.testing.assert_allclose(model.location_, result.location)
    seen = np.array([0, 2, 4])
    density = multivariate_normal(
        model.location_[seen], model.covariance_[np.ix_(seen, seen)]
    ).logpdf(X[5, seen])
    assert model.score(X[[5]]) == pytest.approx(density)


@SEARCH_ENDS
@pytest.mark.parametrize("missing", ["pairwise", "em"])
def test_search_with_missing_values(missing):
    X = patches(n_rows=40, n_columns=5)
    X[[1, 5, 9], 1] = np.nan
    model = LocallyConstantGraph(missing=missing, **SMALL_SEARCH).fit(X)
    assert np.isfinite(model.selection_.values).all()


def test_indefinite_covariance_is_refused_with_a_way_to_repair_it():
    S = np.array([[1.0, 0.9, -0.5], [0.9, 1.0, 0.7], [-0.5, 0.7, 1.0]])
    with pytest.raises(InputError, match=r"smallest eigenvalue is.*repair_covariance"):
        Moments.from_covariance(S, 80)
    repaired, _ = repair_covariance(S)
    assert fit(Moments.from_covariance(repaired, 80)).converged_


def test_identical_columns_are_named_and_can_be_repaired():
    X = pd.DataFrame(patches(n_columns=3), columns=["left", "middle", "right"])
    X["right"] = X["left"]
    with raises(InputError, code="identical_columns_in_table", unpenalised=False):
        fit(X)
    assert fit(X, repair="ridge").graph_.adjacency[0, 2]


def test_variables_without_neighbours_and_separate_parts_are_treated_and_said():
    X = patches(n_columns=6)
    pairs = [(0, 1), (4, 5)]
    model = fit(X, neighbors=pairs, tol=1e-9)
    assert model.treatment_ == [
        "2 of 6 variables have no neighbour.",
        "The other 4 fall into 2 parts that do not touch.",
    ]
    S = covariance(X)
    unit = np.mean(np.diag(S))
    expected = locally_constant(S / unit, 0.1, 0.05, pairs, tol=1e-9)
    np.testing.assert_allclose(model.precision_ * unit, expected.value, atol=1e-6)
    alone = fit(X, neighbors=np.empty((0, 2), dtype=int), tol=1e-9)
    assert alone.treatment_ == ["6 of 6 variables have no neighbour."]
    lasso = GaussianGraph(0.1 * unit, covariance="empirical", penalize_diagonal=True, tol=1e-9).fit(
        X
    )
    np.testing.assert_allclose(alone.precision_, lasso.precision_, atol=1e-5)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tau": -0.1}, "invalid_value"),
        ({"tau": np.nan}, "invalid_value"),
        ({"tau": np.inf}, "invalid_value"),
        ({"tau": "ebic"}, "invalid_value"),
        ({"tau": None}, "invalid_value"),
        ({"tau": True}, "invalid_value"),
        ({"tau": np.array([0.1, 0.2])}, "invalid_value"),
        ({"alpha": 0}, "invalid_value"),
        ({"alpha": -1.0}, "invalid_value"),
        ({"alpha": np.nan}, "invalid_value"),
        ({"alpha": "ebic"}, "invalid_value"),
        ({"alpha": np.array([0.1, 0.2])}, "invalid_value"),
        ({"neighbors": [(0, 1), (2, 8)]}, "invalid_neighbor_pair"),
        ({"neighbors": [(0, -1)]}, "invalid_neighbor_pair"),
        ({"neighbors": [(0, 1), (1, 0)]}, "invalid_neighbor_pair"),
        ({"neighbors": [(3, 3)]}, "invalid_neighbor_pair"),
        ({"neighbors": [(0.5, 1)]}, "invalid_neighbor_pair"),
        ({"neighbors": (3, 3)}, "grid_column_count"),
        ({"neighbors": (2, 2, 3)}, "grid_column_count"),
        ({"neighbors": (2, -4)}, "grid_sizes"),
        ({"neighbors": "circle"}, "unknown_neighbors"),
        ({"neighbors": None}, "unknown_neighbors"),
        ({"neighbors": np.eye(3, dtype=bool)}, "grid_column_count"),
        ({"scale": "local"}, "invalid_value"),
        ({"constant": None}, "invalid_value"),
        ({"missing": "drop"}, "invalid_value"),
        ({"repair": "magic"}, "invalid_value"),
        ({"tol": 0.0}, "invalid_value"),
        ({"max_iter": 0}, "invalid_value"),
        ({"alpha": CV(n_alphas=1)}, "too_few_alphas"),
        ({"alpha": CV(1)}, "cv_range"),
        ({"alpha": CV(81)}, "cv_range"),
    ],
)
def test_impossible_parameters_are_named(parameters, message):
    with raises(InputError, code=message):
        fit(patches(), **parameters)


def test_data_that_cannot_be_used_are_named():
    X = patches()
    with raises(InputError, code="too_few_rows_in_table", n_samples=1):
        fit(X[:1])
    with raises(InputError, code="covariance_given_as_rows", size=8):
        fit(covariance(X))
    with pytest.raises(InputError, match="square"):
        Moments.from_covariance(X, 80)
    moments = Moments.from_covariance(covariance(X), 80)
    with raises(InputError, code="sample_weight_without_rows"):
        LocallyConstantGraph(**NUMBERS).fit(moments, None, np.ones(8))
    for name in ("alpha", "tau"):
        with pytest.raises(InputError, match=f'{name}="cv" resamples rows'):
            fit(moments, **{name: "cv"})
    X[3, 2] = np.inf
    for constant in ("error", "drop", "ridge"):
        with pytest.raises(InputError, match=r"'x2' has 1 infinite"):
            fit(X, constant=constant)


def test_fewer_rows_than_columns():
    X = patches(n_rows=5, n_columns=8)
    model = fit(X)
    assert model.converged_
    assert np.linalg.eigvalsh(model.precision_)[0] > 0
    assert fit(patches(n_rows=2)).converged_


@SEARCH_ENDS
@pytest.mark.parametrize("n_columns", [1, 2])
def test_one_or_two_columns(n_columns):
    X = patches(n_rows=60, n_columns=3)[:, [0, 2][:n_columns]]
    variance = X.var(axis=0)
    model = fit(X, tol=1e-10)
    unit = np.mean(variance)
    lasso = GaussianGraph(
        0.1 * unit, covariance="empirical", penalize_diagonal=True, tol=1e-10
    ).fit(X)
    np.testing.assert_allclose(model.precision_, lasso.precision_, rtol=1e-6)
    assert model.pairs_.tolist() == [[0, 1]][: n_columns - 1]
    searched = LocallyConstantGraph(**SMALL_SEARCH).fit(X)
    np.testing.assert_allclose(np.diag(searched.covariance_), variance, rtol=0.2)
    with raises(InputError, code="ring_too_small"):
        fit(X, neighbors="ring")


def test_only_one_solver_runs_on_a_device():
    X = np.random.default_rng(0).normal(size=(30, 4))
    with raises(InputError, code="solver_cpu_only", parameter="device", solver="dual"):
        LocallyConstantGraph(0.1, 0.1, solver="dual", device="cuda").fit(X)
