import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError
from edgewise.metrics import cpdag
from edgewise.solvers.directed.greedy import greedy_bayes_net
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import is_acyclic, linear_network
from tests.solvers.directed.blanket_problems import exact_correlations


def criterion(R, n_samples, arcs, gamma=0.0):
    total = 0.0
    for j in range(len(R)):
        parents = np.flatnonzero(arcs[:, j])
        left = R[j, j]
        if len(parents):
            left -= R[j, parents] @ np.linalg.solve(R[np.ix_(parents, parents)], R[parents, j])
        per_arc = 0.5 * np.log(n_samples) + gamma * np.log(len(R))
        total += 0.5 * n_samples * np.log(left) + per_arc * len(parents)
    return total


def one_step_away(arcs):
    for i, j in itertools.permutations(range(len(arcs)), 2):
        other = arcs.copy()
        if arcs[i, j]:
            other[i, j] = False
            yield other
            other = other.copy()
            other[j, i] = True
        elif not arcs[j, i]:
            other[i, j] = True
        else:
            continue
        if is_acyclic(other):
            yield other


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([30, 1000]), st.sampled_from([0.0, 0.7]))
def test_no_single_step_is_better(seed, n_rows, gamma):
    R, _ = linear_network(seed, 7, n_rows, n_parents=2.0)
    found = greedy_bayes_net(R, n_rows, gamma=gamma)
    assert is_acyclic(found.value)
    assert found.objective == pytest.approx(criterion(R, n_rows, found.value, gamma))
    best = min(criterion(R, n_rows, other, gamma) for other in one_step_away(found.value))
    assert best >= found.objective - 1e-8
    assert (np.diff(found.history) < 0).all()
    assert found.history[-1] == found.objective
    assert found.converged


def test_each_step_is_the_best_one():
    R, _ = linear_network(1, 6, 200, n_parents=2.0)
    arcs = np.zeros((6, 6), dtype=bool)
    for score in greedy_bayes_net(R, 200).history:
        best = min(criterion(R, 200, other) for other in one_step_away(arcs))
        assert score == pytest.approx(best)
        # Arcs of one strength may be taken either way, so that only the score is followed.
        arcs = min(one_step_away(arcs), key=lambda other: criterion(R, 200, other))


def test_finds_what_can_be_told_of_small_networks():
    weights = np.zeros((4, 4))
    weights[[0, 1], 2], weights[2, 3] = 0.9, 0.9
    found = greedy_bayes_net(exact_correlations(weights), 10_000)
    np.testing.assert_array_equal(cpdag(found.value), weights != 0)


def test_gamma_allows_fewer_arcs():
    R, _ = linear_network(2, 20, 60)
    sizes = [greedy_bayes_net(R, 60, gamma=gamma).value.sum() for gamma in (0.0, 1.0)]
    assert sizes[0] > sizes[1] > 0


def test_only_what_is_allowed():
    R, _ = linear_network(3, 10, 300)
    allowed = np.triu(np.ones((10, 10), dtype=bool), 1)
    found = greedy_bayes_net(R, 300, allowed=allowed)
    assert found.value.any()
    assert not found.value[~allowed].any()


def test_required_arcs_stay():
    R, _ = linear_network(4, 8, 300)
    free = greedy_bayes_net(R, 300).value
    required = np.zeros((8, 8), dtype=bool)
    required[tuple(np.argwhere(free)[0][::-1])] = True
    i, j = np.argwhere(~(free | free.T | np.eye(8, dtype=bool)))[0]
    required[i, j] = True
    found = greedy_bayes_net(R, 300, required=required)
    assert found.value[required].all()
    assert is_acyclic(found.value)


def test_few_rows_have_few_parents():
    R, _ = linear_network(5, 30, 12)
    found = greedy_bayes_net(R, 12)
    assert found.value.sum(axis=0).max() <= 4
    assert np.isfinite(found.objective)


def test_running_out_of_steps_is_said():
    R, _ = linear_network(6, 10, 300)
    found = greedy_bayes_net(R, 300, max_iter=2)
    assert not found.converged
    assert found.n_iter == found.value.sum() == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 2}, "n_samples_above_two"),
        ({"gamma": 2}, "gamma_between"),
        ({"max_iter": 0}, "max_iter_at_least_one"),
        ({"allowed": np.ones((2, 2))}, "square_shape"),
        ({"required": np.ones((2, 2))}, "square_shape"),
    ],
)
def test_bad_input_is_named(options, message):
    with raises(InputError, code=message):
        greedy_bayes_net(np.eye(3), **{"n_samples": 50, **options})
