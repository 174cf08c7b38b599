"""Whether fits to streamed statistics are those to the rows."""

import numpy as np
import pandas as pd
import pytest

import edgewise
from edgewise import (
    EBIC,
    DiscreteMarkovNet,
    GaussianBayesNet,
    GaussianGraph,
    InputError,
    LocallyConstantGraph,
    NeighborhoodGraph,
)
from edgewise.data import make_gaussian_graph
from edgewise.solvers import learn_structure
from edgewise.stats import Moments, stream_counts, stream_covariance
from edgewise.stats.counts import Counts
from tests.messages import raises


@pytest.fixture(scope="module")
def frame():
    X = make_gaussian_graph(8, "chain", rng=0).sample(400, rng=0)
    return pd.DataFrame(X * [1, 2, 3, 1, 1, 1, 1, 5] + 7, columns=list("abcdefgh"))


@pytest.fixture(scope="module")
def moments(frame):
    return stream_covariance([frame[:100], frame[100:150], frame[150:]])


@pytest.mark.parametrize(
    "model",
    [
        GaussianGraph(),
        GaussianGraph(0.1, covariance="correlation"),
        GaussianGraph(0.1, assume_centered=True, repair="ridge"),
        GaussianGraph(alpha=EBIC(gamma=0.0), covariance="correlation"),
        NeighborhoodGraph(),
        LocallyConstantGraph(0.1, 0.05),
    ],
    ids=repr,
)
def test_same_as_from_rows(frame, moments, model):
    from sklearn.base import clone

    from_rows, streamed = clone(model).fit(frame), clone(model).fit(moments)
    assert streamed.alpha_ == pytest.approx(from_rows.alpha_, rel=1e-12, nan_ok=True)
    np.testing.assert_allclose(streamed.alphas_, from_rows.alphas_, rtol=1e-12)
    assert streamed.graph_.names == tuple("abcdefgh")
    assert streamed.feature_names_in_.tolist() == list("abcdefgh")
    np.testing.assert_array_equal(streamed.graph_.adjacency, from_rows.graph_.adjacency)
    np.testing.assert_allclose(streamed.graph_.weights, from_rows.graph_.weights, atol=1e-9)
    np.testing.assert_allclose(streamed.location_, from_rows.location_, rtol=1e-13)
    assert streamed.treatment_ == from_rows.treatment_
    assert streamed.score(frame) == pytest.approx(from_rows.score(frame), rel=1e-9)


def test_precomputed_knows_rows_and_path(frame, moments):
    given = GaussianGraph(covariance="precomputed").fit(moments)
    by_hand = GaussianGraph(covariance="precomputed", n_samples=400).fit(
        pd.DataFrame(moments.covariance(), columns=list("abcdefgh"))
    )
    np.testing.assert_array_equal(given.alphas_, by_hand.alphas_)
    np.testing.assert_array_equal(given.precision_, by_hand.precision_)
    np.testing.assert_allclose(given.location_, frame.mean(), rtol=1e-13)
    path = GaussianGraph().path(moments, [0.5, 0.1])
    np.testing.assert_allclose(path.precisions, GaussianGraph().path(frame, [0.5, 0.1]).precisions)
    space = LocallyConstantGraph(0.1, 0.05).path(moments, [0.5], [0.1])
    np.testing.assert_allclose(
        space.precisions, LocallyConstantGraph(0.1, 0.05).path(frame, [0.5], [0.1]).precisions
    )


def test_weights_count_as_rows(frame):
    w = np.random.default_rng(1).integers(0, 3, len(frame))
    streamed = GaussianGraph().fit(stream_covariance([frame.assign(w=w)], weight="w"))
    from_rows = GaussianGraph().fit(frame, sample_weight=w)
    np.testing.assert_allclose(streamed.alphas_, from_rows.alphas_, rtol=1e-12)
    np.testing.assert_allclose(streamed.precision_, from_rows.precision_, atol=1e-9)


def test_arrays_have_no_names(frame, tmp_path):
    model = GaussianGraph().fit(stream_covariance([frame.to_numpy()]))
    assert not hasattr(model, "feature_names_in_")
    model.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    np.testing.assert_array_equal(again.precision_, model.precision_)


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (GaussianGraph("cv"), "rule_needs_rows"),
        (GaussianGraph("stars"), "rule_needs_rows"),
        (GaussianGraph(covariance="spearman"), "moments_without_ranks"),
        (LocallyConstantGraph(0.1), "rule_needs_rows"),
        (GaussianBayesNet(), "needs_rows_not_moments"),
    ],
)
def test_what_needs_rows_says_so(moments, model, part):
    with raises(InputError, code=part):
        model.fit(moments)


def test_weights_and_constant_columns_are_refused(frame, moments):
    with raises(InputError, code="sample_weight_without_rows"):
        GaussianGraph().fit(moments, sample_weight=np.ones(400))
    flat = stream_covariance(frame[k : k + 37].assign(c=0.1, e=0) for k in range(0, 400, 37))
    with pytest.raises(InputError, match="Columns 'c' and 'e' are constant up to rounding"):
        GaussianGraph().fit(flat)
    with pytest.raises(InputError, match="'x0' and 'x1' are constant"):
        GaussianGraph().fit(Moments.from_samples([[1.0, 2.0]]))


def survey():
    rng = np.random.default_rng(2)
    a = rng.choice(["no", "yes"], 800)
    b = np.where(rng.random(800) < 0.8, a, rng.choice(["no", "yes"], 800))
    return pd.DataFrame({"a": a, "b": b, "c": rng.integers(0, 3, 800), "d": rng.random(800) < 0.5})


@pytest.mark.parametrize("criterion", ["bjp", "ib", "mpl"])
def test_discrete_from_counts(criterion, tmp_path):
    frame = survey()
    counts = stream_counts([frame[:3], frame[3:500], frame[500:]])
    streamed, rows = (DiscreteMarkovNet(criterion).fit(X) for X in (counts, frame))
    assert streamed.levels_ == rows.levels_
    assert streamed.graph_.names == ("a", "b", "c", "d")
    np.testing.assert_allclose(streamed.support_, rows.support_, rtol=1e-12)
    assert streamed.criterion_value_ == pytest.approx(rows.criterion_value_, rel=1e-12)
    assert streamed.score(frame) == pytest.approx(rows.score(frame), rel=1e-9)
    streamed.save(tmp_path / "model.edgewise")
    again = edgewise.load(tmp_path / "model.edgewise")
    assert again.score(frame) == streamed.score(frame)


def test_counts_have_levels_and_may_be_measurements():
    frame = survey()
    with raises(InputError, code="counts_with_cardinalities"):
        DiscreteMarkovNet(cardinalities=2).fit(Counts.from_samples(frame))
    measured = frame.assign(c=np.random.default_rng(0).normal(size=800))
    with pytest.raises(InputError, match="Columns 'c' hold measurements"):
        DiscreteMarkovNet().fit(stream_counts([measured]))


def test_counts_of_rows_in_the_solver():
    X = np.random.default_rng(3).integers(0, 2, size=(200, 4))
    states, counts = np.unique(X, axis=0, return_counts=True)
    whole = learn_structure(X)
    counted = learn_structure(states, counts=counts)
    np.testing.assert_allclose(counted.support, whole.support, rtol=1e-12)
    for bad in (counts[:-1], -counts, counts * 0.5):
        with raises(InputError, code="counts_per_row", n_rows=16):
            learn_structure(states, counts=bad)
    with raises(InputError, code="too_many_counts", most_rows=2147483647):
        learn_structure(states, counts=counts * 2**30)
