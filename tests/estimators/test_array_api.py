"""Estimators under scikit-learn's array API: results follow X, and are those of numpy."""

import numpy as np
import pytest
import sklearn

import edgewise
from edgewise import GaussianGraph, JointGraphs, LocallyConstantGraph, NetworkChange
from edgewise.solvers.change import joint_graphical_lasso
from edgewise.solvers.device import graphical_lasso as dense_lasso
from edgewise.stats import Moments, stream, stream_covariance
from tests.solvers.array_libraries import array_of, host

__all__ = ["array_of"]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 7))
X[:, 1:] += 0.7 * X[:, :-1]
Y = np.repeat([0, 1, 2], 30)

MATRICES = ("precision_", "covariance_", "location_", "partial_correlation_")
FITS = {
    "GaussianGraph": (GaussianGraph(0.1, tol=1e-10), (X,), MATRICES),
    "searched": (GaussianGraph("cv", tol=1e-10, random_state=0), (X,), MATRICES),
    "LocallyConstantGraph": (LocallyConstantGraph(0.1, 0.1, tol=1e-10), (X,), MATRICES),
    "NetworkChange": (NetworkChange(0.3, tol=1e-10), (X, Y > 0), ("theta_", "change_")),
    "JointGraphs": (JointGraphs(0.2, coupling=0.1, tol=1e-10), (X, Y), ("precisions_",)),
}


@pytest.fixture
def dispatched(monkeypatch):
    """Let small problems be solved where the arrays are."""
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    monkeypatch.setattr(dense_lasso, "HOST_BELOW", 2)
    monkeypatch.setattr(joint_graphical_lasso, "HOST_BELOW", 2)
    # scikit-learn asks for scipy's own switch, which scipy reads when it is imported.
    monkeypatch.setattr("sklearn.utils._array_api._check_array_api_dispatch", lambda _: None)
    with sklearn.config_context(array_api_dispatch=True):
        yield


@pytest.mark.parametrize("name", FITS)
def test_results_follow_the_rows(array_of, dispatched, name):
    estimator, data, attributes = FITS[name]
    expected = sklearn.clone(estimator).fit(*data)
    model = sklearn.clone(estimator).fit(*(array_of(one) for one in data))
    for attribute in attributes:
        found = getattr(model, attribute)
        assert type(found) is type(array_of(X))
        np.testing.assert_allclose(host(found), getattr(expected, attribute), atol=1e-4)
    assert isinstance(model.graph_.weights, np.ndarray)
    np.testing.assert_array_equal(model.graph_.adjacency, expected.graph_.adjacency)
    assert model.alpha_ == pytest.approx(expected.alpha_)
    if hasattr(model, "score"):
        score = model.score(*(array_of(one) for one in data))
        assert score == pytest.approx(expected.score(*data), abs=1e-5)


def test_without_dispatch_results_are_numpy(array_of):
    model = GaussianGraph(0.1).fit(array_of(X))
    np.testing.assert_array_equal(model.precision_, GaussianGraph(0.1).fit(X).precision_)


def test_what_follows_can_be_saved(array_of, dispatched, tmp_path):
    model = GaussianGraph(0.1).fit(array_of(X))
    model.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    np.testing.assert_array_equal(again.precision_, host(model.precision_))


def test_sums_stay_where_the_rows_are(array_of):
    weights = RNG.uniform(0.5, 2.0, 90)
    moments = Moments.from_samples(array_of(X[:40] + 1e6), sample_weight=weights[:40])
    moments = moments.update(array_of(X[40:] + 1e6), sample_weight=weights[40:])
    expected = Moments.from_samples(X + 1e6, sample_weight=weights)
    assert type(moments.covariance()) is type(array_of(X))
    np.testing.assert_allclose(host(moments.covariance()), expected.covariance(), rtol=1e-9)
    np.testing.assert_allclose(host(moments.mean), expected.mean, rtol=1e-15)
    np.testing.assert_array_equal(host(moments.scatter), host(moments.scatter).T)
    np.testing.assert_allclose(
        GaussianGraph(0.1).fit(moments).precision_,
        GaussianGraph(0.1).fit(expected).precision_,
        atol=1e-6,
    )


def test_chunks_are_summed_up_on_a_device(array_of, monkeypatch):
    monkeypatch.setattr(stream, "to_device", lambda rows, device: array_of(rows))
    moments = stream_covariance((X[k : k + 30] for k in range(0, 90, 30)), device="cuda")
    assert type(moments.scatter) is type(array_of(X))
    np.testing.assert_allclose(host(moments.covariance()), np.cov(X.T, bias=True), atol=1e-12)
