"""What all estimators of change by covariances have in common."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from edgewise import (
    CV,
    DTraceChange,
    FusedNetworkChange,
    InputError,
    NetworkChange,
    SeparateNetworkChange,
)
from tests.estimators.change.change_rows import odd_groups, standardized, two_groups
from tests.messages import raises

ESTIMATORS = {
    "dtrace": DTraceChange(0.05),
    "separate": SeparateNetworkChange(0.05),
    "neighborhood": FusedNetworkChange(coupling=0.05),
    "joint": FusedNetworkChange(coupling=0.05, method="joint"),
}


@pytest.fixture(params=ESTIMATORS)
def make(request):
    """Return a function that makes the estimator with other parameters."""
    start = ESTIMATORS[request.param]

    def build(**parameters):
        if "alpha" in parameters:
            # The penalty on changes.
            parameters[start._strength] = parameters.pop("alpha")
        return type(start)(**{**start.get_params(), **parameters})

    return build


def test_search_options(make):
    X, y = odd_groups(sizes=(60, 50))
    options = {"alpha": CV(3, n_alphas=4)}
    model = make(**options, random_state=0).fit(X, y)
    assert len(getattr(model, f"{model._strength}s_")) == 4
    assert model.selection_.details.shape == (4, 3)
    again = make(**options, random_state=0, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(again.selection_.details, model.selection_.details)
    np.testing.assert_array_equal(again.change_, model.change_)
    other = make(**options, random_state=1).fit(X, y)
    assert (other.selection_.details != model.selection_.details).any()


@pytest.mark.parametrize(
    "model", [*ESTIMATORS.values(), NetworkChange(0.05)], ids=[*ESTIMATORS, "ratio"]
)
def test_the_number_of_threads_changes_no_digit(model):
    X, y = two_groups(400, 400, n_features=40)
    found = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            found.append(clone(model).fit(X, y))
    one, two = found
    np.testing.assert_array_equal(two.change_, one.change_)
    assert (two.gap_, two.objective_) == (one.gap_, one.objective_)


def test_a_bar_is_drawn_when_asked_for(make, capsys, lines_at_once):
    X, y = odd_groups(sizes=(30, 30))
    options = {"alpha": CV(2, n_alphas=2), "random_state": 0}
    make(**options, verbose=1).fit(X, y)
    assert capsys.readouterr().err
    make(**options).fit(X, y)
    assert not capsys.readouterr().err


def test_negligible_changes_are_left_out(make):
    X, y = odd_groups()
    model = make().fit(X, y)
    limit = np.sort(np.abs(model.change_[np.triu_indices(6, 1)]))[-2]
    fewer = make(negligible=limit).fit(X, y)
    assert fewer.graph_.n_edges == 1 < model.graph_.n_edges
    np.testing.assert_array_equal(fewer.change_, model.change_)


def test_groups_that_are_alike_do_not_change(make):
    X = odd_groups(sizes=(40, 40))[0][:40]
    y = np.repeat([0, 1], 40)
    for alpha in (0.01, "cv"):
        model = make(alpha=alpha, random_state=0).fit(np.concatenate([X, X]), y)
        assert model.graph_.n_edges == 0


def test_rows_as_they_are(make):
    X, y = odd_groups()
    tidy = np.concatenate(standardized(X, y))
    raw = make(alpha=0.1, standardize=False).fit(tidy, y)
    pooled = make(alpha=0.1, standardize="pooled").fit(X, y)
    np.testing.assert_allclose(raw.change_, pooled.change_, atol=1e-9)
    # Not centred: the means count as well.
    shifted = make(alpha=0.1, standardize=False).fit(tidy + 1.0, y)
    assert np.abs(shifted.change_ - raw.change_).max() > 1e-3


def test_bad_labels_and_values_are_refused(make):
    X, y = odd_groups()
    with raises(InputError, code="not_two_groups", n_classes=3, classes=[0, 1, 2]):
        make().fit(X, np.arange(len(X)) % 3)
    X[3, 2] = np.nan
    with raises(InputError, code="missing_values_where", n_missing=1, which="'x2'"):
        make().fit(X, y)
