"""Changes by density ratios: labels of every type, and data that cannot be used."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold

from edgewise import (
    CV,
    DataWarning,
    DTraceChange,
    FusedNetworkChange,
    InputError,
    NetworkChange,
    SeparateNetworkChange,
)
from edgewise.selection import SelectionWarning
from tests.estimators.change.change_rows import signs, two_groups
from tests.messages import raises

LABELS = {
    "text": ("before", "later"),
    "whole numbers": (3, 7),
    "numbers": (0.5, 2.0),
    "truth": (False, True),
    "dates": (datetime.date(2005, 1, 1), datetime.date(2006, 1, 1)),
}


def as_series(labels):
    return pd.Series(labels, index=np.arange(len(labels))[::-1])


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("make", [list, np.array, as_series, pd.Categorical, pl.Series])
def test_labels_of_any_type(kind, make):
    X, y = two_groups()
    first, second = LABELS[kind]
    labels = [first if label == "a" else second for label in y]
    model = NetworkChange(0.3).fit(X, make(labels))
    assert model.classes_.tolist() == [first, second]
    assert model.score(X, labels) == model.score(X, make(labels))
    np.testing.assert_array_equal(model.change_, NetworkChange(0.3).fit(X, y).change_)


def test_order_of_the_rows_does_not_matter():
    X, y = two_groups()
    order = np.random.default_rng(0).permutation(len(y))
    mixed = NetworkChange(0.2).fit(X[order], y[order])
    np.testing.assert_allclose(mixed.change_, NetworkChange(0.2).fit(X, y).change_, atol=1e-6)


BAD_LABELS = {
    "mixed": ([1, "b"] * 80, r"different types, 'int' and 'str'.*Convert them to text"),
    "three": (["b", "a", "c", "a"] * 40, r"3 groups: 'a', 'b' and 'c'.*such as those of 'a' and"),
    "one": (["a"] * 160, r"All labels in y are 'a'. A comparison needs two groups"),
    "missing": (["a", None] * 80, r"80 missing labels.*row 1"),
    "not a number": ([0.0, np.nan] * 80, r"80 missing labels"),
    "single": (["a"] * 159 + ["b"], r"group 'b' has 1 row"),
    "short": (["a", "b"] * 10, r"one label for each of the 160 rows"),
    "table": ([["a"], ["b"]] * 80, r"its shape is \(160, 1\)"),
    "none": (None, r"requires y to be passed"),
}


@pytest.mark.parametrize("kind", BAD_LABELS)
@pytest.mark.parametrize("method", ["fit", "path"])
def test_bad_labels_are_named(kind, method):
    X, _ = two_groups()
    labels, message = BAD_LABELS[kind]
    with pytest.raises(InputError, match=message):
        getattr(NetworkChange(0.3), method)(X, labels)


BAD_VALUES = {
    "missing": (np.nan, r"X contains NaN: 1 missing in 'w'. Drop those rows or columns"),
    "infinite": (np.inf, r"Column 'w' has 1 infinite value"),
    "text": ("high", r"Column 'w' holds text"),
}


@pytest.mark.parametrize("kind", BAD_VALUES)
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_bad_values_are_named(kind, make):
    X, y = two_groups()
    value, message = BAD_VALUES[kind]
    columns = dict(zip("vwxyz", np.hstack([X, X[:, :1] ** 2]).T, strict=True))
    first = [str(value)] * 160 if kind == "text" else [value, *columns["w"][1:]]
    with pytest.raises(InputError, match=message):
        NetworkChange(0.3).fit(make({**columns, "w": first}), y)


def test_bad_values_of_new_rows_are_named():
    X, y = two_groups()
    model = NetworkChange(0.3).fit(X, y)
    X[3, 2] = np.nan
    with raises(InputError, code="missing_values_where", n_missing=1, which="'x2'"):
        model.score(X, y)
    with raises(InputError, code="rows_contain_nan"):
        model.density_ratio(X)


def test_a_covariance_is_not_rows():
    S = np.cov(np.random.default_rng(0).normal(size=(6, 20)))
    with raises(InputError, code="covariance_given_as_rows", size=6):
        NetworkChange(0.3).fit(S, ["a", "b"] * 3)
    # Only what it looks like: six rows of six columns are fine.
    rows = np.random.default_rng(1).normal(size=(6, 6))
    assert NetworkChange(5.0).fit(rows, ["a", "b"] * 3).graph_.n_edges == 0


@pytest.mark.parametrize("standardize", ["within", "pooled", False])
@pytest.mark.parametrize("basis", ["gaussian", "polynomial"])
def test_a_column_that_is_constant_in_one_group(standardize, basis):
    X, y = two_groups()
    X[y == "b", 3] = 0.1
    frame = pd.DataFrame(X, columns=list("wxyz"))
    model = NetworkChange(0.3, basis=basis, standardize=standardize)
    with pytest.warns(DataWarning, match=r"'z' is constant in group 'b'.*variance") as caught:
        model.fit(frame, y)
    assert caught[0].filename == __file__
    assert np.isfinite(model.theta_).all()
    assert model.converged_
    assert model.change_[3, 3] != 0
    listed = model.changes(frame, y)
    assert np.isfinite(listed[["change", "before", "after"]].to_numpy()).all()
    X[y == "b", 2] = 0.2
    with pytest.warns(DataWarning, match="'x2' and 'x3' are constant"):
        NetworkChange(0.3).fit(X, y)


def test_a_column_that_is_constant_in_both_groups():
    X, y = two_groups()
    X[:, 3] = 0.1
    with raises(InputError, code="constant_columns", columns=["x3"]):
        NetworkChange(0.3).fit(X, y)
    X[y == "b", 3] = 0.3
    for method in ("fit", "path"):
        with pytest.raises(InputError, match="'x3' is constant within each group"):
            getattr(NetworkChange(0.3), method)(X, y)
    X[y == "b", 2], X[y == "a", 2] = 1.0, 2.0
    with pytest.raises(InputError, match="'x2' and 'x3' are constant"):
        NetworkChange(0.3).fit(X, y)


def test_a_value_so_rare_that_folds_lack_it():
    X, y = two_groups(30, 30)
    X[:, 3] = 0.1
    X[[4, 40], 3] = 7.0
    folds = [
        (np.setdiff1d(np.arange(60), test), test) for test in (np.r_[:8, 38:44], np.r_[8:20, 45:60])
    ]
    model = NetworkChange(CV(folds, n_alphas=4)).fit(X, y)
    assert np.isfinite(model.selection_.values).all()
    # The first fold never sees the column vary, so nothing can be said about it there.
    assert np.abs(model.selection_.values).max() < 5


def test_entries_of_an_ising_model():
    X, y = signs()
    frame = pd.DataFrame((X + 1) / 2, columns=list("wxyz"))
    with raises(InputError, code="ising_entries", which="'w', 'x', 'y' and 'z'"):
        NetworkChange(0.2, basis="ising").fit(frame, y)
    frame = pd.DataFrame(X.copy(), columns=list("wxyz"))
    frame.loc[0, "y"] = 0.0
    with raises(InputError, code="ising_entries", which="'y'"):
        NetworkChange(0.2, basis="ising").path(frame, y)
    recoded = NetworkChange(0.2, basis="ising").fit(2 * ((X + 1) / 2) - 1, y)
    assert recoded.graph_.n_edges == 1


BAD_PARAMETERS = {
    "alpha": ({"alpha": "ebic"}, "alpha must be"),
    "negative alpha": ({"alpha": -1}, "alpha must be"),
    "true alpha": ({"alpha": True}, "alpha must be"),
    "ridge": ({"ridge": -0.1}, "ridge must be"),
    "ridge in words": ({"ridge": "small"}, "ridge must be"),
    "basis": ({"basis": "cosine"}, "basis must be"),
    "solver": ({"solver": "newton"}, "solver must be"),
    "degree": ({"basis": "polynomial", "degree": 1}, "degree must be a whole number of at least 2"),
    "power": ({"basis": "power", "degree": 0.5}, "degree must be a whole number of at least 1"),
    "negligible": ({"negligible": -1}, "negligible must be"),
    "tol": ({"tol": 0}, "tol must be"),
    "max_iter": ({"max_iter": 0}, "max_iter must be"),
    "n_alphas": ({"alpha": CV(n_alphas=1)}, "at least 2 alphas"),
    "cv": ({"alpha": CV(81)}, "between 2 and the number of rows of the smaller group, 80"),
}


@pytest.mark.parametrize(
    "estimator", [NetworkChange, DTraceChange, FusedNetworkChange, SeparateNetworkChange]
)
@pytest.mark.filterwarnings("ignore::edgewise.selection.SelectionWarning")
@pytest.mark.filterwarnings("ignore::edgewise.DataWarning")
def test_small_groups_have_fewer_folds_by_default(estimator):
    X, y = two_groups(3, 9, n_features=2)
    name = estimator._strength
    model = estimator(**{name: "cv"}, random_state=0)
    by_default = model.fit(X, y).selection_
    as_asked = model.set_params(**{name: CV(3)}).fit(X, y).selection_
    np.testing.assert_array_equal(by_default.values, as_asked.values)
    with raises(InputError, code="too_few_rows_for_cv", smallest=2, fewest_rows=3):
        model.set_params(**{name: "cv"}).fit(X[1:], y[1:])


@pytest.mark.parametrize("kind", BAD_PARAMETERS)
def test_bad_parameters_are_named(kind):
    X, y = two_groups()
    parameters, message = BAD_PARAMETERS[kind]
    with pytest.raises(InputError, match=message):
        NetworkChange(**{"alpha": 0.3, **parameters}).fit(X, y)


def test_folds_must_hold_both_groups():
    X, y = two_groups()
    with raises(InputError, code="fold_without_group"):
        NetworkChange(CV(KFold(2))).fit(X, y)


def test_the_end_of_the_search_is_said_with_a_way_on():
    X, y = two_groups(300, 300, strength=1.5)
    with pytest.warns(SelectionWarning, match=r"smallest alpha tried.*alpha_ratio=0\.09"):
        NetworkChange(CV(2, n_alphas=2, alpha_ratio=0.9), random_state=0, standardize="pooled").fit(
            X, y
        )
    # Without a ridge a smaller alpha may have no solution, and the advice is another.
    X, y = two_groups(60, 60, strength=4.0, n_features=3)
    rule = CV(2, n_alphas=2, alpha_ratio=0.01)
    with (
        pytest.warns(DataWarning, match="hardly overlap"),
        pytest.warns(SelectionWarning, match=r"Pass ridge=0\.1 to search further"),
    ):
        NetworkChange(rule, ridge=0.0, random_state=0, standardize="pooled").fit(X, y)
