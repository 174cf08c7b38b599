"""A reference period against windows that slide over ordered rows."""

import numpy as np
import pandas as pd
import pytest

from edgewise import CV, GaussianGraph, InputError, NetworkChange
from edgewise._core.parallel import as_generator, spawn
from edgewise.inference import window_changes
from tests.messages import raises


def make_rows(n=240, d=4, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[160:, 1] += X[160:, 0]
    return X


def run(**options):
    settings = {
        "window": 80,
        "step": 80,
        "n_permutations": 20,
        "random_state": 0,
        "estimator": NetworkChange(alpha=0.3),
        "X": make_rows(),
    }
    settings |= options
    return window_changes(settings.pop("estimator"), settings.pop("X"), **settings)


def test_finds_when_and_where_the_network_changed():
    calm, changed = run(estimator=NetworkChange(alpha=0.4))
    assert (calm.start, calm.stop) == (80, 160)
    assert (changed.start, changed.stop) == (160, 240)
    assert calm.graph.n_edges == 0
    assert changed.graph.edges()[["source", "target"]].to_numpy().tolist() == [["x0", "x1"]]
    assert changed.graph.confidence[0, 1] == 1 - changed.familywise[0, 1]
    assert changed.significant(0.05).edges().equals(changed.graph.edges())
    first = changed.table().iloc[0]
    assert (first["source"], first["target"]) == ("x0", "x1")
    assert first["change"] == changed.observed.weights[0, 1]
    assert first["pvalue_familywise"] == changed.familywise[0, 1]


def test_same_fit_as_the_estimator_itself():
    X = make_rows()
    (change,) = run(X=X[:160], reference=50, window=110)
    y = np.repeat(["reference", "window"], [50, 110])
    model = NetworkChange(alpha=0.3).fit(X[:160], y)
    np.testing.assert_array_equal(change.observed.weights, model.graph_.weights)


@pytest.mark.parametrize(
    ("options", "starts"),
    [
        ({"step": 40}, [80, 120, 160]),
        ({"step": None}, [80, 120, 160]),
        ({"reference": 100}, [100]),
        ({"reference": 100, "window": 50, "step": 50}, [100, 150]),
    ],
)
def test_windows_start_where_asked(options, starts):
    assert [change.start for change in run(n_permutations=1, **options)] == starts


def test_level_is_that_of_the_largest_change_of_all_windows():
    strict, loose = (run(estimator=NetworkChange(alpha=0.1), level=level) for level in (0.05, 0.99))
    for one, other in zip(strict, loose, strict=True):
        np.testing.assert_array_equal(one.familywise, other.familywise)
        found = one.observed.adjacency
        assert (one.familywise[found] >= 1 / 21).all()
        assert (one.familywise[~found] == 1).all()
        np.testing.assert_array_equal(one.graph.adjacency, found & (one.familywise <= 0.05))
        assert one.pvalue == one.familywise.min()
    assert sum(one.graph.n_edges for one in strict) < sum(one.graph.n_edges for one in loose)


def test_p_values_are_those_of_the_plainest_code():
    """Two windows; the largest change of each shuffle over its mean in the window."""
    X, estimator = make_rows(), NetworkChange(alpha=0.2)
    found = run(estimator=estimator, n_permutations=9)
    largest = []
    for one, source in zip(found, spawn(as_generator(0), 2), strict=True):
        rows = np.r_[0:80, one.start : one.stop]
        source.integers(2**31 - 1)
        y = np.repeat([0, 1], 80)
        shuffled = [y[stream.permutation(160)] for stream in spawn(source, 9)]
        fits = [NetworkChange(alpha=0.2).fit(X[rows], labels) for labels in shuffled]
        largest.append([np.abs(fit.graph_.weights).max() for fit in fits])
    units = np.quantile(largest, 0.95, axis=1)
    overall = np.max(np.array(largest) / units[:, None], axis=0)
    for one, unit in zip(found, units, strict=True):
        i, j = np.nonzero(one.observed.adjacency)
        size = np.abs(one.observed.weights[i, j]) / unit
        expected = (1 + (overall[:, None] >= size * (1 - 1e-12)).sum(axis=0)) / 10
        np.testing.assert_allclose(one.familywise[i, j], expected)


def test_a_change_of_size_is_found_where_every_shuffle_finds_the_pair():
    X = make_rows()
    X[160:, 1] += X[160:, 0]
    changed = run(X=X, estimator=NetworkChange(alpha=0.0), n_permutations=39)[1]
    off = ~np.eye(4, dtype=bool)
    assert (changed.frequency[off] == 1).all()
    assert changed.observed.n_edges == 6
    assert changed.graph.edges()[["source", "target"]].to_numpy().tolist() == [["x0", "x1"]]


@pytest.mark.slow
def test_a_strong_change_is_always_found():
    """A correlation that goes from 0 to 0.7, and one of 0.9 that vanishes."""
    for before, after in ((0.0, 0.7), (0.9, 0.0)):
        for seed in range(12):
            rng = np.random.default_rng([3, seed])
            X = rng.normal(size=(300, 8))
            for rows, r in ((slice(0, 200), before), (slice(200, 300), after)):
                X[rows, 1] = r * X[rows, 0] + np.sqrt(1 - r * r) * X[rows, 1]
            found = window_changes(NetworkChange(), X, window=100, step=100, random_state=seed)
            assert found[1].graph.adjacency[0, 1], (before, after, seed)


@pytest.mark.slow
def test_windows_without_a_change_have_none_in_most_tables():
    tables = range(100)
    n_wrong = 0
    for seed in tables:
        X = np.random.default_rng([8, seed]).normal(size=(300, 5))
        found = window_changes(
            NetworkChange(0.15), X, window=60, step=60, n_permutations=60, random_state=seed
        )
        n_wrong += any(one.graph.n_edges for one in found)
    assert n_wrong <= 9


def test_choices_are_kept_in_shuffles():
    """Several degrees and a rule: chosen once per window."""
    estimator = NetworkChange(CV(3, n_alphas=4), basis="polynomial", degree=[2, 3], random_state=0)
    (found,) = run(estimator=estimator, X=make_rows()[:160], n_permutations=3)
    assert found.alpha > 0
    assert found.familywise.shape == (4, 4)


def test_result_does_not_depend_on_jobs_and_follows_the_seed():
    first, parallel, other = (
        run(estimator=NetworkChange(alpha=0.15), **options)[0].familywise
        for options in ({"n_jobs": 1}, {"n_jobs": 2}, {"random_state": 1})
    )
    np.testing.assert_array_equal(first, parallel)
    assert (first != other).any()


def test_rule_chooses_alpha_once_per_window():
    estimator = NetworkChange(CV(3, n_alphas=5), random_state=0)
    first, second = run(estimator=estimator, n_permutations=3)
    assert first.alpha > 0
    assert second.alpha > 0
    assert estimator.alpha == CV(3, n_alphas=5)


def test_keeps_names():
    X = pd.DataFrame(make_rows(), columns=list("abcd"))
    assert run(X=X, n_permutations=2)[1].graph.names == tuple("abcd")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 1}, "window_size_range"),
        ({"step": 0}, "window_size_range"),
        ({"reference": 1}, "window_size_range"),
        ({"n_permutations": 0}, "window_size_range"),
        ({"reference": 200}, "window_too_long"),
        ({"level": 1.0}, "window_level_range"),
        ({"estimator": GaussianGraph(alpha=0.1)}, "windows_need_change"),
    ],
)
def test_bad_arguments(options, message):
    with raises(InputError, code=message):
        run(**options)
