import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import (
    CV,
    BootstrapGraph,
    DataWarning,
    DirectedGraph,
    GaussianGraph,
    Graph,
    InputError,
    NeighborhoodGraph,
    SolverError,
    StabilitySelection,
)
from edgewise.graph.equivalence import find_cycle
from edgewise.selection.criteria import independent_rows
from edgewise.stats import stream_covariance
from tests.messages import raises


def pair(n_rows=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] += X[:, 0]
    return X


class Recorder(BaseEstimator):
    """Joins what is correlated beyond alpha and keeps what it was given."""

    def __init__(self, alpha=0.3, random_state=None, seen=None):
        self.alpha = alpha
        self.random_state = random_state
        self.seen = seen

    def __sklearn_clone__(self):
        # The list is shared on purpose: it collects what every copy sees.
        return Recorder(self.alpha, self.random_state, self.seen)

    def fit(self, X, y=None, sample_weight=None):
        if self.seen is not None:
            self.seen.append((np.asarray(X), y, sample_weight, self.random_state))
        R = np.corrcoef(np.asarray(X).T)
        np.fill_diagonal(R, 0)
        self.graph_ = Graph(np.where(np.abs(R) > self.alpha, R, 0))
        return self


class Arrows(BaseEstimator):
    """Points from each column to the next when they are correlated."""

    def fit(self, X, y=None):
        weights = np.zeros((X.shape[1], X.shape[1]))
        for k in range(X.shape[1] - 1):
            r = np.corrcoef(X[:, k], X[:, k + 1])[0, 1]
            weights[k, k + 1] = r if abs(r) > 0.2 else 0
        self.graph_ = Graph(weights, directed=True)
        return self


class Failing(BaseEstimator):
    """Fails when the first row drawn is not among the first ``limit``."""

    def __init__(self, limit=40):
        self.limit = limit

    def fit(self, X, y=None):
        if X[0, 2] >= self.limit:
            raise ArithmeticError(f"row {X[0, 2]:.0f} is too far")
        self.graph_ = Graph(np.zeros((X.shape[1], X.shape[1])))
        return self


def test_frequencies_and_intervals_are_those_of_the_resamples():
    seen = []
    model = BootstrapGraph(Recorder(seen=seen), n_resamples=15, level=0.8, random_state=0)
    X = pair()
    model.fit(X)
    np.testing.assert_array_equal(seen[0][0], X)
    resamples = [rows for rows, *_ in seen[1:]]
    assert len(resamples) == 15 == model.n_resamples_
    assert all(rows.shape == X.shape for rows in resamples)
    assert all(len(np.unique(rows, axis=0)) < len(X) for rows in resamples)
    graphs = [Recorder().fit(rows).graph_ for rows in resamples]
    expected = np.mean([graph.adjacency for graph in graphs], axis=0)
    np.testing.assert_allclose(model.edge_frequency_, expected)
    weights = np.stack([graph.weights for graph in graphs])
    np.testing.assert_allclose(model.interval_, np.quantile(weights, [0.1, 0.9], axis=0))
    full = Recorder().fit(X).graph_
    np.testing.assert_array_equal(model.graph_.weights, full.weights)
    np.testing.assert_array_equal(model.graph_.confidence, model.edge_frequency_)
    np.testing.assert_array_equal(model.estimator_.graph_.weights, full.weights)


def test_level_matters():
    def width(level):
        options = {"n_resamples": 30, "random_state": 0}
        model = BootstrapGraph(GaussianGraph(alpha=0.1), level=level, **options).fit(pair())
        return np.ptp(model.interval_, axis=0).sum()

    assert width(0.5) < width(0.95)


def test_result_does_not_depend_on_the_number_of_workers():
    estimator = GaussianGraph(alpha=CV(3, n_alphas=4))
    options = {"n_resamples": 6, "random_state": 5}
    one = BootstrapGraph(estimator, n_jobs=1, **options).fit(pair())
    two = BootstrapGraph(estimator, n_jobs=2, **options).fit(pair())
    np.testing.assert_array_equal(one.edge_frequency_, two.edge_frequency_)
    np.testing.assert_array_equal(one.interval_, two.interval_)
    np.testing.assert_array_equal(one.graph_.weights, two.graph_.weights)
    other = BootstrapGraph(estimator, n_resamples=6, random_state=6).fit(pair())
    assert not np.array_equal(one.interval_, other.interval_)


def test_random_states_of_the_estimator_are_seeded_once_each():
    seen = []
    BootstrapGraph(Recorder(seen=seen), n_resamples=5, random_state=0).fit(pair())
    seeds = [seed for *_, seed in seen]
    assert len(set(seeds)) == 6
    seen.clear()
    BootstrapGraph(Recorder(seen=seen, random_state=3), n_resamples=2, random_state=0).fit(pair())
    assert [seed for *_, seed in seen] == [3, 3, 3]


def test_directed_graphs_have_a_frequency_per_arc():
    model = BootstrapGraph(Arrows(), n_resamples=10, random_state=0).fit(pair())
    assert model.graph_.directed
    assert model.edge_frequency_[0, 1] == 1.0
    assert model.edge_frequency_[1, 0] == 0.0


def test_rows_are_drawn_within_classes():
    seen = []
    y = np.array(["sick"] * 20 + ["well"] * 60)
    model = BootstrapGraph(Recorder(seen=seen), n_resamples=5, random_state=0)
    model.fit(pair(), y)
    assert all(np.count_nonzero(labels == "sick") == 20 for _, labels, *_ in seen)
    seen.clear()
    model.fit(pair(), np.random.default_rng(0).normal(size=80))
    assert all(len(labels) == 80 for _, labels, *_ in seen)


def test_weights_travel_with_their_rows():
    seen = []
    X = pair()
    weights = X[:, 2] - X[:, 2].min()
    model = BootstrapGraph(Recorder(seen=seen), n_resamples=3, random_state=0)
    model.fit(X, sample_weight=weights)
    for rows, _, given, _ in seen:
        np.testing.assert_allclose(given, rows[:, 2] - X[:, 2].min())


def test_failures_are_named_and_counted():
    X = np.column_stack([pair()[:, :2], np.arange(80.0)])
    model = BootstrapGraph(Failing(), n_resamples=20, random_state=0)
    with pytest.warns(DataWarning, match=r"of 20 resamples failed; resample \d+: Arithmetic"):
        model.fit(X)
    assert 0 < len(model.failures_) < 20
    assert model.n_resamples_ == 20 - len(model.failures_)
    number, message = model.failures_[0]
    assert isinstance(number, int)
    assert message.startswith("ArithmeticError: row")


def test_failure_of_every_resample_is_an_error():
    X = np.column_stack([pair()[:, :2], np.r_[0.0, np.full(79, 50.0)]])
    model = BootstrapGraph(Failing(limit=1), n_resamples=3, random_state=1)
    with pytest.raises(SolverError, match=r"3 of 3 resamples failed; resample 0: Arithmetic"):
        model.fit(X)


def test_bad_data_fails_at_once_and_plainly():
    with raises(InputError, code="constant_columns", columns=["x0", "x1"]):
        BootstrapGraph(GaussianGraph(alpha=0.1)).fit(np.ones((10, 2)))


def test_a_rare_value_does_not_make_columns_constant():
    X = pair(n_rows=20)
    X[:, 3] = 0.0
    X[4, 3] = 1.0
    model = BootstrapGraph(GaussianGraph(alpha=0.1), n_resamples=20, random_state=0).fit(X)
    assert model.failures_ == []
    assert model.n_redrawn_ > 0
    assert BootstrapGraph(GaussianGraph(alpha=0.1), n_resamples=5).fit(pair()).n_redrawn_ == 0


def test_warnings_of_workers_are_passed_on():
    estimator = NeighborhoodGraph(alpha=0.001, tol=1e-15, max_iter=1)
    model = BootstrapGraph(estimator, n_resamples=3, random_state=0)
    with pytest.warns() as caught:
        model.fit(pair())
    full, resamples = (str(item.message) for item in caught)
    assert full.startswith("Stopped after 1 iteration")
    assert resamples.startswith("3 of 3 resamples gave a warning, the first: ConvergenceWarning")


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_names_of_data_frames_are_kept(kind):
    table = kind(dict(zip("abcd", pair().T, strict=True)))
    model = BootstrapGraph(GaussianGraph(alpha=0.3), n_resamples=3, random_state=0).fit(table)
    assert model.graph_.names == tuple("abcd")
    assert model.feature_names_in_.tolist() == list("abcd")
    assert model.n_features_in_ == 4


def test_pipelines_and_searches_can_be_wrapped():
    pipeline = make_pipeline(StandardScaler(), GaussianGraph(alpha=0.3))
    search = GridSearchCV(GaussianGraph(), {"alpha": [0.1, 0.3]}, cv=2)
    for estimator in (pipeline, search):
        model = BootstrapGraph(estimator, n_resamples=3, random_state=0).fit(pair())
        assert model.edge_frequency_[0, 1] == 1.0
    with raises(InputError, code="no_graph_after_fit", type="StandardScaler"):
        BootstrapGraph(StandardScaler(), n_resamples=3).fit(pair())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_resamples": 1}, "n_resamples_and_level"),
        ({"level": 1.0}, "n_resamples_and_level"),
        ({"estimator": "GaussianGraph"}, "not_an_estimator"),
        (
            {"estimator": GaussianGraph(alpha=0.1, covariance="precomputed")},
            "resampling_precomputed",
        ),
    ],
)
def test_impossible_parameters_are_named(parameters, message):
    with raises(InputError, code=message):
        BootstrapGraph(**({"estimator": GaussianGraph(alpha=0.1)} | parameters)).fit(pair())


@pytest.mark.parametrize(("verbose", "is_drawn"), [(0, False), (1, True)])
def test_progress_only_when_asked(verbose, is_drawn, capsys, lines_at_once):
    BootstrapGraph(GaussianGraph(alpha=0.3), n_resamples=2, verbose=verbose).fit(pair())
    printed = capsys.readouterr()
    assert printed.out == ""
    assert bool(printed.err) is is_drawn


def test_a_fitted_estimator_is_taken_as_it_is():
    X, seen = pair(), []
    options = {"n_resamples": 5, "random_state": 3}
    expected = BootstrapGraph(Recorder(), **options).fit(X)
    learner = Recorder(seen=seen).fit(X)
    model = BootstrapGraph(learner, prefit=True, **options).fit(X)
    assert model.estimator_ is learner
    # Once by hand, and then the resamples only, which are those of a bootstrap without prefit.
    assert len(seen) == 6
    np.testing.assert_array_equal(model.edge_frequency_, expected.edge_frequency_)
    np.testing.assert_array_equal(model.graph_.weights, expected.graph_.weights)


def test_what_the_fit_learned_is_read_from_it():
    X = np.random.default_rng(0).normal(size=(60, 3))
    bootstrap = BootstrapGraph(GaussianGraph(0.1), n_resamples=2, random_state=0)
    with pytest.raises(AttributeError, match="'BootstrapGraph' object has no attribute"):
        _ = bootstrap.precision_
    model = pickle.loads(pickle.dumps(bootstrap.fit(X)))
    np.testing.assert_array_equal(model.precision_, model.estimator_.precision_)
    with pytest.raises(AttributeError, match="'GaussianGraph' object has no attribute"):
        _ = model.tree_
    assert not hasattr(clone(model), "precision_")


def test_prefit_takes_what_was_fitted_to_these_columns():
    X = pair()
    with raises(InputError, code="prefit_not_fitted", type="GaussianGraph"):
        BootstrapGraph(GaussianGraph(0.3), prefit=True).fit(X)
    learner = GaussianGraph(0.3).fit(X[:, :3])
    with pytest.raises(InputError, match="X has 4 columns, and the estimator was fitted to 3"):
        BootstrapGraph(learner, prefit=True).fit(X)


def in_time(n_rows, n_columns, rho, rng):
    """Columns that have nothing to do with each other, each an autoregression."""
    noise = rng.normal(size=(n_rows, n_columns))
    values = noise.copy()
    for t in range(1, n_rows):
        values[t] = rho * values[t - 1] + np.sqrt(1 - rho**2) * noise[t]
    return values


class TestBlocks:
    def test_consecutive_rows_are_drawn_together(self):
        seen = []

        class Rows(BaseEstimator):
            def fit(self, X, y=None):
                seen.append(X[:, 0].astype(int))
                self.graph_ = Graph(1.0 - np.eye(2))
                return self

        X = np.column_stack([np.arange(50), np.arange(50) ** 2])
        BootstrapGraph(Rows(), n_resamples=4, block_length=8, random_state=0).fit(X)
        for rows in seen[1:]:
            assert len(rows) == 50
            steps = np.diff(rows)
            assert (np.delete(steps, np.arange(7, 49, 8)) == 1).all()
        with raises(InputError, code="block_length_at_least_one", block_length=0):
            BootstrapGraph(Rows(), block_length=0).fit(X)

    @pytest.mark.slow
    def test_intervals_of_rows_in_time_are_wide_enough(self):
        rng = np.random.default_rng(1)
        covered = {1: 0, 20: 0}
        for _ in range(25):
            X = in_time(300, 2, 0.9, rng)
            for length in covered:
                fit = BootstrapGraph(
                    GaussianGraph(1e-3), n_resamples=60, block_length=length, random_state=0
                ).fit(X)
                low, high = fit.interval_[:, 0, 1]
                covered[length] += bool(low <= 0 <= high)
        # At 95 %, and with few blocks a little below.
        assert covered[1] <= 17
        assert covered[20] >= 20

    def test_rows_are_counted_by_what_they_are_worth(self):
        rng = np.random.default_rng(0)
        n_edges = np.zeros(2)
        for _ in range(15):
            X = in_time(400, 6, 0.8, rng)
            n_rows = independent_rows(X, 25)
            # Bartlett's formula for an autoregression.
            assert n_rows == pytest.approx(400 * (1 - 0.64) / (1 + 0.64), rel=0.35)
            weights = np.full(400, n_rows / 400)
            n_edges += [
                GaussianGraph().fit(X).graph_.n_edges,
                GaussianGraph().fit(X, sample_weight=weights).graph_.n_edges,
            ]
        assert n_edges[0] >= 15
        assert n_edges[1] <= 4


def test_shares_of_the_four_kinds_of_edges():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    X[:, 2] += X[:, 0] + X[:, 1]
    X[:, 4] += 0.25 * X[:, 3]
    model = BootstrapGraph(DirectedGraph(), n_resamples=20, random_state=0).fit(X)
    table = model.arc_shares()
    kinds = table[["forward", "backward", "undirected", "none"]]
    np.testing.assert_allclose(kinds.sum(axis=1), 1.0)
    assert (kinds >= 0).all(axis=None)
    assert (table["forward"] >= table["backward"]).all()
    by_pair = table.set_index(["source", "target"])
    assert by_pair.loc[("x0", "x2"), "forward"] == 1.0
    # A pair by itself has no direction, and is sometimes missed.
    lonely = table[table["source"].isin(["x3", "x4"]) & table["target"].isin(["x3", "x4"])]
    assert 0 < lonely["undirected"].item() < 1
    assert lonely["none"].item() > 0
    consensus = model.consensus()
    assert consensus.adjacency[0, 2]
    assert not consensus.adjacency[2, 0]
    assert find_cycle(consensus.adjacency & ~consensus.adjacency.T) == []
    assert model.consensus(0.0).n_edges > consensus.n_edges
    # What is known in advance directs the pair in every resample.
    known = BootstrapGraph(DirectedGraph(required=[(3, 4)]), n_resamples=5, random_state=0).fit(X)
    assert known.direction_frequency_[3, 4] == 1.0
    with raises(InputError, code="threshold_range"):
        model.consensus(1.0)
    undirected = BootstrapGraph(GaussianGraph(alpha=0.2), n_resamples=2, random_state=0).fit(X)
    with raises(InputError, code="arc_shares_need_directed"):
        undirected.arc_shares()


def test_consensus_breaks_cycles_at_the_least_frequent_arc():
    model = BootstrapGraph(DirectedGraph(), n_resamples=2)
    model.graph_ = Graph(np.zeros((3, 3)), directed=True)
    shares = np.zeros((3, 3))
    shares[0, 1], shares[1, 2], shares[2, 0] = 0.9, 0.8, 0.7
    model.edge_frequency_ = model.direction_frequency_ = shares
    found = model.consensus().adjacency
    assert found.tolist() == [[False, True, True], [False, False, True], [True, False, False]]


@pytest.mark.parametrize("wrapper", [BootstrapGraph, StabilitySelection])
def test_sums_of_rows_cannot_be_resampled(wrapper):
    moments = stream_covariance([np.random.default_rng(0).normal(size=(50, 3))])
    fitted = GaussianGraph(0.2).fit(moments)
    for options in ({}, {"prefit": True} if wrapper is BootstrapGraph else {}):
        with raises(InputError, code="resampling_moments"):
            wrapper(fitted, **options).fit(moments)
