import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from edgewise import (
    DataWarning,
    GaussianGraph,
    Graph,
    InputError,
    NeighborhoodGraph,
    StabilitySelection as Stability,
)
from edgewise.inference.stability import false_edge_bound
from tests.messages import raises


def pair(n_rows=80, n_columns=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 1] += X[:, 0]
    X[:, 3] += 0.3 * X[:, 2]
    return X


class Recorder(BaseEstimator):
    """Joins what is correlated beyond alpha and keeps the rows it was given."""

    def __init__(self, seen, alpha=0.2):
        self.seen = seen
        self.alpha = alpha

    def __sklearn_clone__(self):
        return Recorder(self.seen, self.alpha)

    def fit(self, X, y=None, sample_weight=None):
        self.seen.append((X, y, sample_weight))
        self.graph_ = joined(X, self.alpha)
        return self


def joined(X, alpha=0.2):
    R = np.corrcoef(X.T)
    np.fill_diagonal(R, 0)
    return Graph(np.where(np.abs(R) > alpha, R, 0))


class Arrows(BaseEstimator):
    """Points from the first column to all others."""

    def fit(self, X, y=None):
        weights = np.zeros((X.shape[1], X.shape[1]))
        weights[0, 1:] = 1.0
        self.graph_ = Graph(weights, directed=True)
        return self


def test_frequencies_bound_and_graph_are_those_of_the_subsamples():
    seen = []
    model = Stability(Recorder(seen), n_resamples=20, threshold=0.8, random_state=0).fit(pair())
    graphs = [joined(rows) for rows, *_ in seen[1:]]
    assert len(graphs) == 20 == model.n_resamples_
    frequency = np.mean([graph.adjacency for graph in graphs], axis=0)
    np.testing.assert_allclose(model.edge_frequency_, frequency)
    np.testing.assert_array_equal(model.graph_.adjacency, frequency >= 0.8)
    np.testing.assert_allclose(model.graph_.confidence, frequency)
    weight = np.mean([g.weights[0, 1] for g in graphs if g.adjacency[0, 1]])
    assert model.graph_.weights[0, 1] == pytest.approx(weight)
    q = np.mean([graph.n_edges for graph in graphs])
    assert model.n_selected_ == pytest.approx(q)
    assert model.false_edge_bound_ == pytest.approx(q**2 / (0.6 * 10))
    assert model.path_frequency_ is None


def test_complementary_pairs_share_no_row():
    seen = []
    Stability(Recorder(seen), n_resamples=6, random_state=0).fit(pair(n_rows=81))
    for first, second in zip(seen[1::2], seen[2::2], strict=True):
        rows = np.vstack([first[0], second[0]])
        assert rows.shape == (80, 5)
        assert len(np.unique(rows, axis=0)) == 80
    seen.clear()
    model = Stability(Recorder(seen), n_resamples=7, complementary_pairs=False, random_state=0)
    model.fit(pair())
    overlaps = [
        len(np.unique(np.vstack([a[0], b[0]]), axis=0)) for a, b in itertools.pairwise(seen[1:])
    ]
    assert min(overlaps) < 80
    assert all(len(np.unique(rows, axis=0)) == 40 for rows, *_ in seen[1:])


def test_sample_fraction_sets_the_size():
    seen = []
    Stability(Recorder(seen), n_resamples=4, sample_fraction=0.25).fit(pair())
    assert {len(rows) for rows, *_ in seen[1:]} == {20}
    seen.clear()
    options = {"sample_fraction": 0.9, "complementary_pairs": False}
    Stability(Recorder(seen), n_resamples=3, **options).fit(pair())
    assert {len(rows) for rows, *_ in seen[1:]} == {72}


def test_threshold_matters():
    def edges(threshold):
        options = {"n_resamples": 20, "threshold": threshold, "random_state": 0}
        return Stability(GaussianGraph(alpha=0.1), **options).fit(pair()).graph_.n_edges

    assert edges(0.55) > edges(1.0)


def test_frequency_along_a_path_is_the_largest():
    options = {"n_resamples": 10, "random_state": 0}
    alphas = [0.8, 0.3, 0.1]
    model = Stability(NeighborhoodGraph(), alphas=alphas, **options).fit(pair())
    assert model.path_frequency_.shape == (3, 5, 5)
    np.testing.assert_array_equal(model.edge_frequency_, model.path_frequency_.max(axis=0))
    for alpha, frequency in zip(alphas, model.path_frequency_, strict=True):
        single = Stability(NeighborhoodGraph(alpha=alpha), **options).fit(pair())
        np.testing.assert_allclose(single.edge_frequency_, frequency)
    assert model.n_selected_ >= single.n_selected_


def test_result_does_not_depend_on_the_number_of_workers():
    options = {"n_resamples": 6, "random_state": 5}
    one = Stability(GaussianGraph(), n_jobs=1, **options).fit(pair())
    two = Stability(GaussianGraph(), n_jobs=2, **options).fit(pair())
    np.testing.assert_array_equal(one.edge_frequency_, two.edge_frequency_)
    assert one.graph_ == two.graph_
    other = Stability(Recorder([]), n_resamples=6, random_state=1).fit(pair())
    again = Stability(Recorder([]), n_resamples=6, random_state=2).fit(pair())
    assert not np.array_equal(other.edge_frequency_, again.edge_frequency_)


def test_directed_graphs_count_arcs():
    model = Stability(Arrows(), n_resamples=4, random_state=0).fit(pair())
    assert model.graph_.directed
    assert model.n_selected_ == 4
    assert model.graph_.n_edges == 4
    assert model.false_edge_bound_ == pytest.approx(16 / (0.5 * 20))


def test_rows_and_weights_are_drawn_within_classes():
    seen = []
    X = pair()
    y = np.r_[np.zeros(20), np.ones(60)]
    weights = X[:, 4] - X[:, 4].min()
    Stability(Recorder(seen), n_resamples=4).fit(X, y, sample_weight=weights)
    for rows, labels, given in seen[1:]:
        assert np.count_nonzero(labels == 0) == 10
        assert np.count_nonzero(labels == 1) == 30
        np.testing.assert_allclose(given, rows[:, 4] - X[:, 4].min())


def test_failing_subsamples_are_named():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    X[:, 2] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    model = Stability(NeighborhoodGraph(alpha=0.3), n_resamples=4, random_state=0)
    with pytest.warns(DataWarning, match="2 of 4 resamples failed.*'x2'"):
        model.fit(X)
    # The rare value can be in one half only, however often the halves are drawn.
    assert len(model.failures_) == 2
    assert model.n_resamples_ == 2
    assert model.n_redrawn_ > 0


def test_names_are_kept():
    frame = pd.DataFrame(pair(), columns=list("abcde"))
    model = Stability(GaussianGraph(alpha=0.2), n_resamples=4, random_state=0).fit(frame)
    assert model.graph_.names == tuple("abcde")
    assert model.feature_names_in_.tolist() == list("abcde")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"threshold": 0.5}, "stability_threshold_range"),
        ({"threshold": 1.1}, "stability_threshold_range"),
        ({"sample_fraction": 0.6}, "sample_fraction_range"),
        ({"sample_fraction": 1.0, "complementary_pairs": False}, "sample_fraction_range"),
        ({"n_resamples": 5}, "stability_resamples"),
        ({"n_resamples": 0}, "stability_resamples"),
        ({"assumption": "concave"}, "unknown_assumption"),
        ({"assumption": "unimodal", "complementary_pairs": False}, "unimodal_requires"),
        ({"assumption": "unimodal", "alphas": [0.1]}, "unimodal_requires"),
        ({"alphas": [0.1, 0.2]}, "alphas_descending"),
        ({"alphas": [0.1], "estimator": Arrows()}, "no_path_method"),
        ({"sample_fraction": 0.01}, "subsamples_too_small"),
    ],
)
def test_impossible_parameters_are_named(parameters, message):
    with raises(InputError, code=message):
        Stability(**({"estimator": GaussianGraph(alpha=0.1)} | parameters)).fit(pair())


def test_bound_of_meinshausen_and_buhlmann():
    assert false_edge_bound(20, 1000, 0.9) == pytest.approx(400 / (0.8 * 1000))
    assert false_edge_bound(0, 0, 0.9) == 0


@pytest.mark.parametrize(
    ("threshold", "constant"),
    # The two branches of Shah and Samworth (2013), Theorem 2, for 50 pairs.
    [(0.6, 1 / (2 * (0.2 - 0.01))), (0.75, 1 / (2 * (0.5 - 0.01))), (0.9, 4 * 0.11 / 1.02)],
)
def test_bound_of_shah_and_samworth(threshold, constant):
    assert false_edge_bound(20, 1000, threshold, n_pairs=50) == pytest.approx(0.4 * constant)


def test_sharper_bound_is_used_only_where_it_holds():
    assert false_edge_bound(700, 1000, 0.9, n_pairs=50) == false_edge_bound(700, 1000, 0.9)
    assert false_edge_bound(500, 1000, 0.6, n_pairs=50) == false_edge_bound(500, 1000, 0.6)
    assert false_edge_bound(20, 1000, 0.51, n_pairs=50) <= false_edge_bound(20, 1000, 0.51)


def test_assumption_sharpens_the_bound():
    options = {"n_resamples": 20, "random_state": 0, "threshold": 0.9}
    plain = Stability(GaussianGraph(alpha=0.3), **options).fit(pair())
    sharp = Stability(GaussianGraph(alpha=0.3), assumption="unimodal", **options).fit(pair())
    assert sharp.n_selected_ == plain.n_selected_
    assert sharp.false_edge_bound_ < plain.false_edge_bound_


@pytest.mark.parametrize(("verbose", "is_drawn"), [(0, False), (1, True)])
def test_progress_only_when_asked(verbose, is_drawn, capsys, lines_at_once):
    Stability(GaussianGraph(alpha=0.3), n_resamples=2, verbose=verbose).fit(pair())
    printed = capsys.readouterr()
    assert printed.out == ""
    assert bool(printed.err) is is_drawn
