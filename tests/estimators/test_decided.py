"""Estimators say which pairs are proven to be the optimum's, and where nothing is."""

from __future__ import annotations

import numpy as np
import pytest

import edgewise
from edgewise import (
    DiscreteMarkovNet,
    DTraceChange,
    FusedNetworkChange,
    GaussianGraph,
    JointGraphs,
    LocallyConstantGraph,
    MixedGraph,
    NeighborhoodGraph,
    NetworkChange,
)
from edgewise.estimators.base.fits import either_way
from edgewise.graph.proven import describe_decided


def table(n=150, p=7, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] += 0.5 * X[:, j - 1]
    return X


X, Y = table(), np.repeat(["a", "b"], 75)
FITS = {
    "gaussian": (GaussianGraph("ebic"), (X,)),
    "given": (GaussianGraph(0.1), (X,)),
    "neighborhood": (NeighborhoodGraph(0.1), (X,)),
    "mixed": (MixedGraph(0.1), (X,)),
    "space": (LocallyConstantGraph(0.1, 0.02), (X,)),
    "joint": (JointGraphs(0.1, coupling=0.02), (X, Y)),
    "ratio": (NetworkChange(0.1), (X, Y)),
    "fused": (FusedNetworkChange(0.05, coupling=0.1, method="joint"), (X, Y)),
    "dtrace": (DTraceChange(0.2), (X, Y)),
}


@pytest.mark.parametrize("kind", FITS)
def test_convex_fits_say_which_pairs_are_decided(kind):
    estimator, data = FITS[kind]
    model = estimator.fit(*data)
    assert model.decided_.shape == (7, 7)
    assert model.decided_.dtype == bool
    assert model.is_decided_ is True
    assert model.decided_.all()
    assert model.graph_.edges()["decided"].all()


def test_a_fit_without_proof_has_none_and_forgets_that_of_another():
    model = GaussianGraph(0.1).fit(X)
    model.set_params(alpha="stepwise").fit(X)
    assert not hasattr(model, "decided_")
    assert not hasattr(model, "is_decided_")
    assert "decided" not in model.graph_.edges()
    levels = DiscreteMarkovNet().fit((X > 0).astype(int))
    assert not hasattr(levels, "decided_")


@pytest.mark.parametrize(
    ("estimator", "data"),
    [(MixedGraph(0.1, method="joint"), (X,)), (FusedNetworkChange(0.1, coupling=0.1), (X, Y))],
)
def test_pseudo_likelihoods_and_fused_regressions_prove_nothing(estimator, data):
    model = estimator.fit(*data)
    assert not hasattr(model, "decided_")
    assert model.graph_.decided is None


def test_archives_and_bootstraps_keep_what_is_decided(tmp_path):
    model = GaussianGraph(0.1).fit(X)
    model.save(tmp_path / "model.edgewise")
    read = edgewise.load(tmp_path / "model.edgewise")
    np.testing.assert_array_equal(read.decided_, model.decided_)
    assert read.is_decided_
    assert read.graph_ == model.graph_
    resampled = edgewise.BootstrapGraph(model, n_resamples=3, random_state=0).fit(X)
    np.testing.assert_array_equal(resampled.graph_.decided, model.decided_)


def test_changes_dropped_as_negligible_are_not_the_optimums():
    whole = DTraceChange(0.05).fit(X, Y)
    least = np.abs(whole.change_[whole.graph_.adjacency]).min()
    some = DTraceChange(0.05, negligible=1.01 * least).fit(X, Y)
    np.testing.assert_array_equal(some.decided_, whole.decided_)
    assert not some.graph_.decided.all()


@pytest.mark.parametrize(
    ("rule", "known"), [("and", [True, True, False]), ("or", [True, False, True])]
)
def test_pairs_of_two_regressions_are_decided_by_the_rule(rule, known):
    # Pairs 0-1: both proven there. 0-2: one proven absent. 1-2: one proven there.
    chosen = np.array([[0, 1, 0], [1, 0, 1], [1, 1, 0]], dtype=bool)
    decided = np.array([[1, 1, 1], [1, 1, 1], [0, 0, 1]], dtype=bool)
    found = either_way(chosen, decided, rule)
    np.testing.assert_array_equal(found, found.T)
    assert [found[0, 1], found[0, 2], found[1, 2]] == known


def test_the_words_name_pairs_that_are_open():
    graph = GaussianGraph(0.1).fit(X).graph_
    note = describe_decided(graph)
    n_absent = 21 - graph.n_edges
    assert note.code == "graph_decided"
    assert note.values["n_absent"] == n_absent
    open_pairs = graph.decided.copy()
    open_pairs[0, 3] = open_pairs[3, 0] = False
    note = describe_decided(edgewise.Graph(graph.weights, decided=open_pairs))
    assert (note.code, note.values["pairs"]) == ("pairs_undecided", ["x0 -- x3"])
    assert describe_decided(edgewise.Graph(graph.weights)) is None
