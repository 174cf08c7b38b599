"""A reference period against windows that slide over ordered rows."""

import numpy as np
import pandas as pd
import pytest

from edgewise import CV, GaussianGraph, InputError, NetworkChange
from edgewise.inference import window_changes


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
    assert changed.graph.confidence[0, 1] == 1 - changed.frequency[0, 1]


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


def test_level_is_the_share_of_shuffles_that_may_find_an_edge():
    strict, loose = (
        run(estimator=NetworkChange(alpha=0.1), level=level)[0] for level in (0.0, 0.99)
    )
    assert (strict.frequency == loose.frequency).all()
    assert strict.graph.n_edges < loose.graph.n_edges
    kept = strict.graph.adjacency
    assert (strict.frequency[kept] == 0).all()


def test_every_pair_of_a_complete_change_is_in_every_shuffle():
    (change, _) = run(estimator=NetworkChange(alpha=0.0), n_permutations=3)
    off = ~np.eye(4, dtype=bool)
    assert (change.frequency[off] == 1).all()
    assert change.observed.n_edges == 6
    assert change.graph.n_edges == 0


def test_result_does_not_depend_on_jobs_and_follows_the_seed():
    first, parallel, other = (
        run(estimator=NetworkChange(alpha=0.15), **options)[0].frequency
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
        ({"window": 1}, "window must be at least 2"),
        ({"step": 0}, "step must be at least 1"),
        ({"reference": 1}, "reference must be at least 2"),
        ({"n_permutations": 0}, "n_permutations must be at least 1"),
        ({"reference": 200}, "take 280, and there are 240"),
        ({"level": 1.0}, "level must be"),
        ({"estimator": GaussianGraph(alpha=0.1)}, "an estimator of changes"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(InputError, match=message):
        run(**options)
