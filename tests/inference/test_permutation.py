import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgewise import (
    CV,
    DataWarning,
    GaussianGraph,
    Graph,
    InputError,
    NeighborhoodGraph,
    SolverError,
)
from edgewise.inference import permutation_test
from edgewise.inference.permutation import PermutationTest
from tests.messages import raises


def correlations(X):
    R = np.corrcoef(np.asarray(X, dtype=float).T)
    np.fill_diagonal(R, 0)
    return (R + R.T) / 2


class Correlation(BaseEstimator):
    """Joins everything by its correlation, and keeps what it was given."""

    def __init__(self, seen=None, random_state=None):
        self.seen = seen
        self.random_state = random_state

    def __sklearn_clone__(self):
        # The list is shared on purpose: it collects what every copy sees.
        return type(self)(self.seen, self.random_state)

    def fit(self, X, y=None):
        if self.seen is not None:
            self.seen.append((np.asarray(X), y, self.random_state))
        self.graph_ = Graph(correlations(X))
        return self


class CorrelationChange(Correlation):
    """Learns the change of the correlations from the first label to the second."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X, y):
        first, second = np.unique(y)
        if self.seen is not None:
            self.seen.append((np.asarray(X), y, self.random_state))
        X, y = np.asarray(X), np.asarray(y)
        self.graph_ = Graph(correlations(X[y == second]) - correlations(X[y == first]))
        return self


class Recorder(CorrelationChange):
    """Keeps what it was given, gaps and all, and learns nothing."""

    def fit(self, X, y):
        self.seen.append((np.asarray(X), np.asarray(y), self.random_state))
        self.graph_ = Graph(np.zeros((X.shape[1], X.shape[1])))
        return self


class Arrows(BaseEstimator):
    """Points from each column to the next with the weight of their covariance."""

    def fit(self, X, y=None):
        self.graph_ = Graph(np.diag(np.diagonal(np.cov(X.T), 1), 1), directed=True)
        return self


class Unweighted(BaseEstimator):
    """Says what is joined, but not how strongly."""

    def fit(self, X, y=None):
        joined = np.abs(correlations(X)) > 0.5
        self.graph_ = Graph(np.zeros(joined.shape), adjacency=joined)
        return self


class Failing(BaseEstimator):
    """Fails when the row of this number is not in the table."""

    def __init__(self, needed=(0, 1)):
        self.needed = needed

    def fit(self, X, y=None):
        if not set(self.needed) & set(X[:, 2]):
            raise ArithmeticError(f"rows {self.needed} are missing")
        self.graph_ = Graph(correlations(X))
        return self


def groups(n_first=30, n_second=30, strength=0.0, n_features=4, seed=0):
    """Independent columns; in the second group the second one follows the first."""
    X = np.random.default_rng(seed).normal(size=(n_first + n_second, n_features))
    X[n_first:, 1] += strength * X[n_first:, 0]
    return X, np.repeat([0, 1], [n_first, n_second])


def slow_test(X, observed_rows, shuffled_rows):
    """Every count of the test, pair by pair."""

    def difference(rows):
        return correlations(X[rows[1]]) - correlations(X[rows[0]])

    delta = difference(observed_rows)
    nulls = [difference(rows) for rows in shuffled_rows]
    n_features, n_shuffles = len(delta), len(nulls)
    single, family = np.ones_like(delta), np.ones_like(delta)
    for i in range(n_features):
        for j in range(n_features):
            if i != j:
                limit = abs(delta[i, j]) - 1e-13
                n_single = sum(abs(null[i, j]) >= limit for null in nulls)
                n_family = sum(np.abs(null).max() >= limit for null in nulls)
                single[i, j] = (1 + n_single) / (1 + n_shuffles)
                family[i, j] = (1 + n_family) / (1 + n_shuffles)
    total = np.array([np.abs(np.triu(null)).sum() for null in nulls])
    n_total = (total >= np.abs(np.triu(delta)).sum() - 1e-13).sum()
    return delta, single, family, (1 + n_total) / (1 + n_shuffles), total


def step_up(pvalues):
    """Benjamini and Hochberg's values, from the largest to the smallest."""
    order = np.argsort(pvalues)[::-1]
    values, least = np.empty(len(pvalues)), 1.0
    for rank, k in zip(range(len(pvalues), 0, -1), order, strict=True):
        least = min(least, pvalues[k] * len(pvalues) / rank)
        values[k] = least
    return values


def test_values_are_those_of_a_slow_implementation():
    X, y = groups(9, 12, strength=1.0)
    # The first column tells the rows apart.
    number = {value: k for k, value in enumerate(X[:, 0])}
    y = y[::-1].copy()
    seen = []
    test = permutation_test(Correlation(seen), X, y, n_permutations=60, random_state=3)
    fitted = [[number[value] for value in rows[:, 0]] for rows, *_ in seen]
    pairs = list(zip(fitted[::2], fitted[1::2], strict=True))
    assert len(pairs) == 61
    for first, second in pairs:
        assert len(first) == (y == 0).sum()
        assert sorted(first + second) == list(range(21))
    assert len({tuple(first) for first, _ in pairs}) > 55
    np.testing.assert_array_equal(pairs[0][0], np.flatnonzero(y == 0))
    delta, single, family, pvalue_sum, total = slow_test(X, pairs[0], pairs[1:])
    np.testing.assert_allclose(test.observed.weights, delta, atol=1e-14)
    np.testing.assert_allclose(test.pvalues, single)
    np.testing.assert_allclose(test.familywise, family)
    upper = np.triu_indices(4, 1)
    np.testing.assert_allclose(test.qvalues[upper], step_up(single[upper]))
    np.testing.assert_array_equal(test.qvalues, test.qvalues.T)
    for values in (test.pvalues, test.familywise, test.qvalues):
        assert (values.diagonal() == 1).all()
    assert test.pvalue == family[upper].min()
    assert test.pvalue_sum == pytest.approx(pvalue_sum)
    np.testing.assert_allclose(test.null_sum, total)
    assert test.null_max.shape == test.null_sum.shape == (60,)
    assert test.n_permutations == 60
    assert test.failures == ()
    assert test.n_redrawn == 0


@pytest.mark.slow
def test_many_shuffles_come_near_all_assignments():
    X, y = groups(4, 4, strength=2.0, n_features=3)
    observed = np.abs(correlations(X[y == 1]) - correlations(X[y == 0]))
    nulls = []
    for first in combinations(range(8), 4):
        second = [k for k in range(8) if k not in first]
        nulls.append(np.abs(correlations(X[second]) - correlations(X[list(first)])))
    exact = np.mean([null >= observed - 1e-12 for null in nulls], axis=0)
    largest = np.array([null.max() for null in nulls])
    test = permutation_test(Correlation(), X, y, n_permutations=1000, random_state=0)
    # Four standard errors of a share of 1000; both labelings of a split always tie.
    np.testing.assert_allclose(test.pvalues, exact, atol=0.064)
    assert test.pvalue == pytest.approx(np.mean(largest >= observed.max() - 1e-12), abs=0.064)
    assert test.pvalues.min() > 0.9 * 2 / 70


@pytest.mark.slow
def test_pvalues_are_uniform_where_nothing_differs():
    rng = np.random.default_rng(0)
    values = []
    for seed in range(150):
        X, y = groups(8, 6, n_features=3, seed=seed)
        test = permutation_test(Correlation(), X, y, n_permutations=19, random_state=seed)
        values.append((test.pvalue, test.pvalue_sum, test.pvalues[0, 2]))
    # Among 20 equally likely ranks; a random point within each makes the values continuous.
    spread = np.array(values) - rng.uniform(0, 1 / 20, size=(150, 3))
    for column in spread.T:
        assert stats.kstest(column, "uniform").pvalue > 0.01


@pytest.mark.slow
def test_a_planted_difference_is_found_and_nothing_else():
    X, y = groups(80, 80, strength=1.0, n_features=6, seed=1)
    test = permutation_test(GaussianGraph(alpha=0.1), X, y, n_permutations=399, random_state=0)
    assert isinstance(test, PermutationTest)
    assert test.pvalue == test.familywise[0, 1] == 1 / 400
    assert test.pvalue_sum < 0.05
    for by in ("q", "familywise"):
        found = test.significant(by=by)
        assert np.argwhere(np.triu(found.adjacency)).tolist() == [[0, 1]]
        assert found.weights[0, 1] == test.observed.weights[0, 1] > 0
    assert (test.pvalues <= test.familywise).all()
    assert (test.pvalues <= test.qvalues).all()


def test_significant_uses_level_and_kind():
    X, y = groups(20, 20, strength=0.8, n_features=6, seed=2)
    test = permutation_test(Correlation(), X, y, n_permutations=99, random_state=0)
    off_diagonal = ~np.eye(6, dtype=bool)
    for by, values in [("q", test.qvalues), ("familywise", test.familywise), ("p", test.pvalues)]:
        for level in (0.05, 0.5):
            graph = test.significant(level, by)
            np.testing.assert_array_equal(graph.adjacency, (values <= level) & off_diagonal)
            np.testing.assert_allclose(graph.confidence, np.where(off_diagonal, 1 - values, 0))
    assert test.significant(0.5, "p").n_edges > test.significant(0.05, "p").n_edges
    assert test.significant(0.5, "p").n_edges > test.significant(0.5, "familywise").n_edges
    table = test.table()
    assert len(table) == 15
    assert table["pvalue"].is_monotonic_increasing
    i, j = (test.observed.names.index(table[end][0]) for end in ("source", "target"))
    assert table["difference"][0] == test.observed.weights[i, j]
    assert table["pvalue_familywise"][0] == test.familywise[i, j]
    with raises(InputError, code="by_q_familywise_p", by="bonferroni"):
        test.significant(by="bonferroni")
    with raises(InputError, code="level_range", level=5):
        test.significant(level=5)


def test_result_does_not_depend_on_the_number_of_workers():
    X, y = groups(15, 15, strength=1.0)
    estimator = GaussianGraph(alpha=CV(3, n_alphas=4))
    options = {"n_permutations": 6, "random_state": 5}
    one = permutation_test(estimator, X, y, n_jobs=1, **options)
    two = permutation_test(estimator, X, y, n_jobs=2, **options)
    for name in ("pvalues", "familywise", "qvalues", "null_max", "null_sum"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.observed == two.observed
    other = permutation_test(estimator, X, y, n_permutations=6, random_state=6)
    assert not np.array_equal(one.null_max, other.null_max)


def test_random_states_of_the_estimator_are_seeded_once_each():
    X, y = groups()
    seen = []
    permutation_test(Correlation(seen), X, y, n_permutations=4, random_state=0)
    assert len({seed for *_, seed in seen}) == 10
    seen.clear()
    permutation_test(Correlation(seen, random_state=3), X, y, n_permutations=2)
    assert {seed for *_, seed in seen} == {3}


def test_estimators_of_changes_see_all_rows_and_shuffled_labels():
    X, y = groups(12, 9, strength=1.0)
    names = np.where(y == 0, "well", "sick")
    seen = []
    options = {"n_permutations": 30, "random_state": 2}
    change = permutation_test(CorrelationChange(seen), X, names, **options)
    assert len(seen) == 31
    assert all(np.array_equal(rows, X) for rows, *_ in seen)
    np.testing.assert_array_equal(seen[0][1], names)
    assert all(np.count_nonzero(labels == "well") == 12 for _, labels, _ in seen)
    assert any((labels != names).any() for _, labels, _ in seen)
    apart = permutation_test(Correlation(), X, names, **options)
    assert change.classes == apart.classes == ("sick", "well")
    np.testing.assert_allclose(change.observed.weights, apart.observed.weights, atol=1e-15)
    np.testing.assert_allclose(change.null_max, apart.null_max)
    np.testing.assert_array_equal(change.pvalues, apart.pvalues)
    assert change.observed.weights[0, 1] < 0


@pytest.mark.parametrize("learner", [Correlation, CorrelationChange])
def test_pipelines_and_searches(learner):
    X, y = groups(12, 12, strength=1.0)
    options = {"n_permutations": 5, "random_state": 0}
    bare = permutation_test(learner(), X, y, **options)
    inside = permutation_test(make_pipeline(StandardScaler(), learner()), X, y, **options)
    np.testing.assert_allclose(bare.observed.weights, inside.observed.weights)
    np.testing.assert_allclose(bare.null_max, inside.null_max)
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(learner(), {"random_state": [1]}, cv=folds, scoring=lambda *_: 0.0)
    searched = permutation_test(search, X, y, **options)
    np.testing.assert_allclose(bare.observed.weights, searched.observed.weights)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("center", [False, True])
def test_data_frames(kind, center):
    X, y = groups(20, 20, strength=1.0)
    table = kind(dict(zip("abcd", X.T, strict=True)))
    labels = pd.Series(y).astype("category") if kind is pd.DataFrame else pl.Series(y)
    options = {"n_permutations": 5, "random_state": 0, "center": center}
    test = permutation_test(GaussianGraph(alpha=0.2), table, labels, **options)
    plain = permutation_test(GaussianGraph(alpha=0.2), X, y.tolist(), **options)
    assert test.observed.names == test.significant().names == tuple("abcd")
    np.testing.assert_allclose(test.observed.weights, plain.observed.weights)
    np.testing.assert_allclose(test.null_max, plain.null_max)


def test_centering_keeps_frames_whose_columns_are_numbers():
    X, y = groups(10, 10)
    frame = pd.DataFrame(X, columns=range(4))
    options = {"n_permutations": 3, "random_state": 0, "center": True}
    by_frame = permutation_test(Correlation(), frame, y, **options)
    np.testing.assert_allclose(
        by_frame.null_max, permutation_test(Correlation(), X, y, **options).null_max
    )


def test_no_edge_anywhere_is_no_difference():
    X, y = groups()
    test = permutation_test(GaussianGraph(alpha=10.0), X, y, n_permutations=10, random_state=0)
    for values in (test.pvalues, test.familywise, test.qvalues):
        assert (values == 1).all()
    assert test.pvalue == test.pvalue_sum == 1
    assert test.observed.n_edges == test.significant(0.99, "p").n_edges == 0


def test_directed_graphs_have_a_value_per_arc():
    X, y = groups(40, 40, strength=2.0)
    test = permutation_test(Arrows(), X, y, n_permutations=99, random_state=0)
    assert test.observed.directed
    assert test.pvalues[0, 1] == 1 / 100
    assert test.pvalues[1, 0] == 1
    # Three arcs can differ, among the twelve that the step-up counts.
    arcs = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(test.qvalues[arcs], step_up(test.pvalues[arcs]))
    delta = Arrows().fit(X[y == 1]).graph_.weights - Arrows().fit(X[y == 0]).graph_.weights
    np.testing.assert_allclose(test.observed.weights, delta)
    assert np.abs(delta).sum() > test.null_sum.max()
    assert test.pvalue_sum == 1 / 100


def test_edges_without_a_weight_count_with_one():
    X, y = groups(40, 40, strength=2.0)
    test = permutation_test(Unweighted(), X, y, n_permutations=99, random_state=0)
    assert test.observed.weights[0, 1] == 1
    assert set(test.null_max) <= {0.0, 1.0}
    assert test.familywise[0, 1] == (1 + np.count_nonzero(test.null_max)) / 100
    assert test.pvalues[0, 1] < test.familywise[0, 1] < 1


def test_means_far_apart_are_named_and_can_be_taken_away():
    X, y = groups(30, 30, n_features=5)
    X[y == 1, :2] += 4.0
    table = pd.DataFrame(X, columns=list("abcde"))
    options = {"n_permutations": 39, "random_state": 0}
    with pytest.warns(DataWarning, match=r"means of 'a' and 'b' differ by up to 5.*center=True"):
        mixed = permutation_test(Correlation(), table, y, **options)
    centred = permutation_test(Correlation(), table, y, center=True, **options)
    np.testing.assert_allclose(mixed.observed.weights, centred.observed.weights)
    X[y == 1, :2] -= 4.0
    level = permutation_test(Correlation(), X, y, center=True, **options)
    np.testing.assert_allclose(centred.null_max, level.null_max)
    # Shuffled, both columns are tied together by their means and hardly vary any more.
    assert mixed.pvalues[0, 1] < centred.pvalues[0, 1]


def test_missing_values_are_left_out_of_the_means():
    X, y = groups(30, 30)
    X[[0, 1, 40], 2] = np.nan
    estimator = GaussianGraph(alpha=0.2, missing="pairwise")
    options = {"center": True, "n_permutations": 3, "random_state": 0}
    level = permutation_test(estimator, X, y, **options)
    observed = permutation_test(estimator, X, y, n_permutations=1, random_state=0).observed
    np.testing.assert_allclose(level.observed.weights, observed.weights, atol=1e-6)
    X[y == 1] += 3.0
    moved = permutation_test(estimator, X, y, **options)
    np.testing.assert_allclose(moved.null_max, level.null_max, atol=1e-6)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_shuffles_of_centred_rows_lose_as_many_degrees_of_freedom_as_the_groups(has_gaps):
    # Residuals of a group add up to 0. Dealt out as they are, they would lose twice: the mean of
    # their own group and that of the one they come into, and shuffles would vary too little.
    X, y = groups(5, 8)
    X[y == 1] += 2.0
    if has_gaps:
        X[[0, 2, 9], [0, 1, 3]] = np.nan
    seen = []
    options = {"n_permutations": 20, "random_state": 0, "center": True}
    permutation_test(Recorder(seen), X, y, **options)
    tables = [(rows[labels == 0], rows[labels == 1]) for rows, labels, _ in seen]
    for group, label in zip(tables[0], (0, 1), strict=True):
        own = X[y == label]
        np.testing.assert_allclose(group, own - np.nanmean(own, axis=0), atol=1e-13)
    squares = [sum(np.nansum(group**2, axis=0) for group in table) for table in tables]
    np.testing.assert_allclose(squares, np.tile(squares[0], (21, 1)), rtol=1e-12)
    if not has_gaps:
        scatter = [sum(group.T @ group for group in table) for table in tables]
        np.testing.assert_allclose(scatter, np.stack([scatter[0]] * 21), atol=1e-12)
    for table in tables:
        for group in table:
            np.testing.assert_allclose(np.nanmean(group, axis=0), 0.0, atol=1e-13)


def test_a_group_of_two_rows_can_be_centred():
    X, y = groups(2, 6)
    seen = []
    permutation_test(Arrows(), X, y, n_permutations=5, random_state=0, center=True)
    permutation_test(Recorder(seen), X, y, n_permutations=5, random_state=0, center=True)
    assert all(np.isfinite(rows).all() for rows, *_ in seen)


class Covariance(BaseEstimator):
    """Joins everything by its covariance."""

    def fit(self, X, y=None):
        self.graph_ = Graph(np.cov(X.T, ddof=0) * (1 - np.eye(X.shape[1])))
        return self


@pytest.mark.slow
def test_level_holds_in_small_centred_groups():
    values = []
    for seed in range(1000):
        X, y = groups(6, 6, seed=seed)
        X[y == 1] += 5.0
        test = permutation_test(
            Covariance(), X, y, n_permutations=39, center=True, random_state=seed
        )
        values.append((test.pvalue, test.pvalue_sum))
    n_found = np.count_nonzero(np.array(values) <= 0.05, axis=0)
    # A test that holds its level is above this in one run of a thousand.
    assert (n_found <= stats.binom.isf(1e-3, 1000, 0.05)).all()


def test_small_groups_are_not_far_apart_by_chance():
    for seed in range(20):
        X, y = groups(4, 4, n_features=8, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error", DataWarning)
            test = permutation_test(Correlation(), X, y, n_permutations=1, random_state=0)
        assert test.n_permutations == 1


def test_failures_are_named_and_counted():
    X, y = groups(10, 10)
    X[:, 2] = [*range(0, 20, 2), *range(1, 20, 2)]
    with pytest.warns(DataWarning, match=r"of 40 shuffles failed; shuffle \d+: ArithmeticError"):
        test = permutation_test(Failing(), X, y, n_permutations=40, random_state=0)
    assert 0 < len(test.failures) < 40
    assert test.n_permutations == 40 - len(test.failures) == len(test.null_max)
    assert round(1 / test.pvalues.min()) <= test.n_permutations + 1
    number, message = test.failures[0]
    assert message == "ArithmeticError: rows (0, 1) are missing"
    assert isinstance(number, int)


def test_failure_of_every_shuffle_is_an_error(monkeypatch):
    X, y = groups(10, 10)
    calls = []
    fit = Correlation.fit

    def fail_after_two(self, X, y=None):
        calls.append(0)
        if len(calls) > 2:
            raise ArithmeticError("no more")
        return fit(self, X)

    monkeypatch.setattr(Correlation, "fit", fail_after_two)
    with pytest.raises(SolverError, match="3 of 3 shuffles failed; shuffle 0: ArithmeticError"):
        permutation_test(Correlation(), X, y, n_permutations=3)


def test_a_rare_value_does_not_make_columns_constant():
    X, y = groups(10, 10)
    X[:, 3] = 0.0
    X[[2, 12], 3] = 1.0
    test = permutation_test(GaussianGraph(alpha=0.1), X, y, n_permutations=20, random_state=0)
    assert test.failures == ()
    assert test.n_redrawn > 0


def test_warnings_of_workers_are_passed_on():
    X, y = groups()
    estimator = NeighborhoodGraph(alpha=0.001, tol=1e-15, max_iter=1)
    with pytest.warns() as caught:
        permutation_test(estimator, X, y, n_permutations=3, random_state=0)
    messages = [str(item.message) for item in caught]
    assert messages[-1].startswith("3 of 3 shuffles gave a warning, the first: Convergence")
    assert caught[-1].filename == __file__


def test_trouble_in_one_group_says_which():
    X, y = groups(10, 12)
    X[y == 1, 2] = 7.0
    with raises(InputError, code="in_group", n_rows=12):
        permutation_test(GaussianGraph(alpha=0.1), X, y)


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        (["a"] * 10, "one_group"),
        (["a"] * 4 + ["b"] * 4 + ["c"] * 2, "not_two_groups"),
        (np.arange(10.0) / 10, "not_two_groups"),
        (["a"] * 5 + ["b"] * 4 + [None], "labels_missing"),
        (["a"] * 4 + [np.nan] * 2 + ["b"] * 4, "labels_missing"),
        ([0.0] * 5 + [1.0] * 4 + [np.nan], "labels_missing"),
        (pd.Series(["a", pd.NA] * 5, dtype="string"), "labels_missing"),
        (pl.Series(["a", None] * 5), "labels_missing"),
        (["a"] * 9 + ["b"], "group_with_one_row"),
        ([0, 0, 0, "b", "b"] * 2, "labels_not_sortable"),
        (["a", "b"] * 4, "labels_shape"),
        (np.zeros((10, 1)), "labels_shape"),
        (None, "labels_shape"),
    ],
)
def test_bad_labels(labels, part):
    X, _ = groups(5, 5)
    with raises(InputError, code=part):
        permutation_test(Correlation(), X, labels)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([True, False] * 5, (False, True)),
        (np.array(["b", "a"] * 5), ("a", "b")),
        (pd.Series(["x", "w"] * 5, dtype="category"), ("w", "x")),
        (pl.Series([2.5, -1.0] * 5), (-1.0, 2.5)),
        ([3, 1] * 5, (1, 3)),
    ],
)
def test_labels_of_any_type(labels, expected):
    X, _ = groups(5, 5)
    test = permutation_test(Correlation(), X, labels, n_permutations=2)
    assert test.classes == expected
    delta = correlations(X[::2]) - correlations(X[1::2])
    np.testing.assert_allclose(
        test.observed.weights, delta * (1 if labels[0] == expected[1] else -1)
    )


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"n_permutations": 0}, "n_permutations_range"),
        ({"estimator": "lasso"}, "not_an_estimator"),
        ({"estimator": GaussianGraph(covariance="precomputed")}, "resampling_precomputed"),
        ({"estimator": StandardScaler()}, "in_group"),
        ({"X": np.random.default_rng(0).normal(size=(10, 1))}, "comparison_one_node"),
        (
            {"X": pd.DataFrame({"a": range(10), "b": list("uv") * 5}), "center": True},
            "center_needs_numbers",
        ),
        ({"random_state": -1}, "random_state_negative"),
    ],
)
def test_bad_input(change, part):
    X, y = groups(5, 5)
    arguments = {"estimator": GaussianGraph(alpha=0.1), "X": X, "y": y} | change
    with raises(InputError, code=part):
        permutation_test(**arguments)


@pytest.mark.parametrize(("verbose", "is_drawn"), [(0, False), (1, True)])
def test_progress_only_when_asked(verbose, is_drawn, capsys, lines_at_once):
    X, y = groups(5, 5)
    permutation_test(Correlation(), X, y, n_permutations=2, verbose=verbose)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert bool(printed.err) is is_drawn


def test_repr_is_short():
    X, y = groups(5, 5)
    shown = repr(permutation_test(Correlation(), X, y, n_permutations=2))
    assert "pvalue=" in shown
    assert "array" not in shown
