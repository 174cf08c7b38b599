"""Resampling and shuffling of estimators that learn a change between two groups."""

import datetime
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import (
    BootstrapGraph,
    DataWarning,
    NetworkChange,
    StabilitySelection,
    permutation_test,
)
from edgewise.plot.curves import plot_permutation
from tests.estimators.change.change_rows import two_groups


class Watched(NetworkChange):
    """Keeps the rows of the first label that every copy sees."""

    seen: ClassVar = []

    def fit(self, X, y):
        rows = np.asarray(X)
        self.seen.append([tuple(row) for row in rows[np.asarray(y) == np.unique(y)[0]]])
        return super().fit(X, y)


def watched(wrapper, X, y, **options):
    Watched.seen.clear()
    # Workers would keep what they see to themselves.
    wrapper(Watched(alpha=0.4), random_state=0, n_jobs=1, **options).fit(X, y)
    return list(Watched.seen)


LABELS = {
    "text": ["a", "b"],
    "truth": [False, True],
    "numbers": [0.5, 2.0],
    "dates": [datetime.date(2005, 1, 1), datetime.date(2006, 1, 1)],
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize(
    ("wrapper", "options", "size"),
    [
        (BootstrapGraph, {}, 31),
        (StabilitySelection, {}, 15),
        (StabilitySelection, {"complementary_pairs": False, "sample_fraction": 0.8}, 24),
    ],
)
def test_rows_are_drawn_inside_groups(wrapper, options, size, kind):
    X, y = two_groups(31, 60)
    labels = [LABELS[kind][label == "b"] for label in y]
    everything, *draws = watched(wrapper, X, labels, n_resamples=6, **options)
    assert len(everything) == 31
    assert [len(rows) for rows in draws] == [size] * 6
    first = {tuple(row) for row in X[:31]}
    assert all(set(rows) <= first for rows in draws)
    assert len({frozenset(rows) for rows in draws}) == 6
    if not options and wrapper is StabilitySelection:
        for one, other in zip(draws[::2], draws[1::2], strict=True):
            assert not set(one) & set(other)


def test_pipelines_resample_inside_groups_too():
    X, y = two_groups(31, 60)
    labels = np.where(y == "a", 0.5, 2.0)
    Watched.seen.clear()
    pipe = make_pipeline(StandardScaler(), Watched(alpha=0.4))
    BootstrapGraph(pipe, n_resamples=4, random_state=0, n_jobs=1).fit(X, labels)
    assert [len(rows) for rows in Watched.seen] == [31] * 5


def test_stability_selection_keeps_the_planted_change():
    X, y = two_groups(100, 100, n_features=5, strength=1.0)
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    model = StabilitySelection(
        NetworkChange(0.3, standardize="pooled"), n_resamples=30, random_state=0
    ).fit(frame, y)
    assert model.graph_.edges()[["source", "target"]].to_numpy().tolist() == [["v", "w"]]
    assert model.graph_.confidence[0, 1] >= 0.95
    assert model.graph_.weights[0, 1] > 0
    assert model.false_edge_bound_ < 2
    along = StabilitySelection(
        NetworkChange(standardize="pooled"), alphas=[0.8, 0.3], n_resamples=10, random_state=0
    ).fit(X, y)
    assert along.path_frequency_.shape == (2, 5, 5)
    assert along.path_frequency_[0, 0, 1] <= along.path_frequency_[1, 0, 1]
    one, two = (
        StabilitySelection(
            NetworkChange(0.3, standardize="pooled"), n_resamples=4, random_state=1, n_jobs=jobs
        ).fit(X, y)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.edge_frequency_, two.edge_frequency_)


def test_bootstrap_of_a_change():
    X, y = two_groups(100, 80, strength=1.0)
    model = BootstrapGraph(NetworkChange(0.2), n_resamples=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.graph_.weights, NetworkChange(0.2).fit(X, y).graph_.weights)
    assert model.edge_frequency_[0, 1] == 1
    low, high = model.interval_[:, 0, 1]
    assert 0 < low < model.graph_.weights[0, 1] < high


def test_permutation_test_refits_shuffled_labels():
    X, y = two_groups(40, 30, strength=1.2)
    Watched.seen.clear()
    options = {"n_permutations": 15, "random_state": 0, "n_jobs": 1}
    test = permutation_test(Watched(alpha=0.2), X, y, **options)
    first, *shuffled = Watched.seen
    np.testing.assert_array_equal(first, X[:40])
    assert [len(rows) for rows in shuffled] == [40] * 15
    assert len({frozenset(rows) for rows in shuffled}) == 15
    assert all(frozenset(rows) != frozenset(first) for rows in shuffled)
    largest = [np.abs(shuffle_by_hand(X, rows)).max() for rows in shuffled]
    np.testing.assert_allclose(test.null_max, largest, atol=1e-8)
    np.testing.assert_array_equal(
        test.observed.weights, NetworkChange(0.2).fit(X, y).graph_.weights
    )
    assert test.classes == ("a", "b")


def shuffle_by_hand(X, rows):
    """Graph of the fit in which just these rows have the first label."""
    members = set(rows)
    labels = ["a" if tuple(row) in members else "b" for row in X]
    return NetworkChange(0.2).fit(X, labels).graph_.weights


def test_permutation_test_finds_the_planted_change():
    X, y = two_groups(80, 80, n_features=5, strength=1.0)
    test = permutation_test(NetworkChange(0.2), X, y, n_permutations=99, random_state=0)
    assert test.pvalue == test.familywise[0, 1] == 0.01
    strongest = test.significant(by="familywise").edges().iloc[0]
    assert (strongest.source, strongest.target) == ("x0", "x1")
    assert strongest.weight > 0
    assert plot_permutation(test).get_title().startswith("p = 0.01")


def test_means_are_taken_away_before_labels_are_shuffled():
    X, y = two_groups(60, 40, strength=0.0)
    far = X + np.where(y == "a", 0.0, 5.0)[:, None]
    options = {"n_permutations": 19, "random_state": 0}
    estimator = NetworkChange(0.05)
    centred = permutation_test(estimator, far, y, center=True, **options)
    # Either way the estimator centres the groups as they are itself.
    np.testing.assert_allclose(
        centred.observed.weights, estimator.fit(X, y).graph_.weights, atol=1e-6
    )
    level = permutation_test(estimator, X, y, center=True, **options)
    np.testing.assert_allclose(centred.null_max, level.null_max, rtol=1e-4)
    with pytest.warns(DataWarning, match="center=True"):
        mixed = permutation_test(estimator, far, y, **options)
    # Shuffled groups of two means are unlike the real ones: everything goes together in them.
    assert np.median(mixed.null_max) < 0.7 * np.median(centred.null_max)


def pvalues_of_refits(n_repeats, n_permutations, n_rows):
    """Of the largest change, of their sum, and of one pair, which no penalty puts to 0."""
    found = []
    for seed in range(n_repeats):
        X, y = two_groups(n_rows, n_rows, n_features=3, strength=0.0, seed=seed)
        test = permutation_test(
            NetworkChange(0.0, ridge=1.0),
            X,
            y,
            n_permutations=n_permutations,
            center=True,
            random_state=seed,
        )
        found.append((test.pvalue, test.pvalue_sum, test.pvalues[0, 1]))
    # A random point within each step makes the values continuous.
    steps = np.random.default_rng(0).uniform(size=(n_repeats, 3)) / (1 + n_permutations)
    return np.array(found) - steps


def assert_uniform(values):
    for column in np.atleast_2d(values.T):
        assert stats.kstest(column, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_pvalues_of_refits_are_uniform_where_nothing_changes():
    assert_uniform(pvalues_of_refits(40, 9, 20))


@pytest.mark.slow
def test_pvalues_of_refits_are_uniform_in_many_tables():
    assert_uniform(pvalues_of_refits(200, 19, 30))
