import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError
from edgewise.solvers import markov_blankets
from edgewise.solvers.directed.separation import separating_sets, stable_skeleton
from tests.messages import raises
from tests.solvers.directed.bayes_net_problems import linear_network
from tests.solvers.directed.blanket_problems import (
    EXACT,
    exact_correlations,
    make_dag,
    moral_graph,
    p_value,
    random_weights,
    slow_separator,
    without,
)


def v_structures(arcs):
    joined = arcs | arcs.T
    return {
        (min(x, y), z, max(x, y))
        for z in range(len(arcs))
        for x in np.flatnonzero(arcs[:, z]).tolist()
        for y in np.flatnonzero(arcs[:, z]).tolist()
        if x != y and not joined[x, y]
    }


def members(row):
    return set(np.flatnonzero(row).tolist())


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12))
def test_exact_correlations_give_the_skeleton_and_its_v_structures(seed, n_nodes):
    arcs = make_dag(seed, n_nodes)
    R = exact_correlations(random_weights(arcs, seed))
    found = separating_sets(R, EXACT, moral_graph(arcs))
    np.testing.assert_array_equal(found.value, arcs | arcs.T)
    assert {(min(x, y), z, max(x, y)) for x, z, y in found.colliders.tolist()} == v_structures(arcs)
    assert len(found.pairs) == np.count_nonzero(np.triu(moral_graph(arcs) & ~found.value))
    stable = stable_skeleton(R, EXACT)
    np.testing.assert_array_equal(stable.value, arcs | arcs.T)
    assert {(min(x, y), z, max(x, y)) for x, z, y in stable.colliders.tolist()} == v_structures(
        arcs
    )


def slow_skeleton(R, n_rows, level):
    """PC-stable, one plain test at a time."""
    joined = ~np.eye(len(R), dtype=bool)
    for size in range(len(R) - 1):
        before = joined.copy()
        for x, y in np.argwhere(before).tolist():
            pool = without(np.flatnonzero(before[x]).tolist(), y)
            for subset in itertools.combinations(pool, size):
                if p_value(R, n_rows, x, y, subset) > level:
                    joined[x, y] = joined[y, x] = False
    return joined


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([20, 1000]))
def test_stable_skeleton_agrees_with_a_plain_one(seed, n_rows):
    R, _ = linear_network(seed, 6, n_rows, n_parents=2.0)
    found = stable_skeleton(R, n_rows, significance=0.05)
    np.testing.assert_array_equal(found.value, slow_skeleton(R, n_rows, 0.05))
    for (x, y), row in zip(found.pairs.tolist(), found.separators, strict=True):
        best = p_value(R, n_rows, x, y, np.flatnonzero(row).tolist())
        for owner, other in ((x, y), (y, x)):
            pool = without(np.flatnonzero(found.value[owner]).tolist(), other)
            for size in range(len(pool) + 1):
                for subset in itertools.combinations(pool, size):
                    assert p_value(R, n_rows, x, y, subset) <= best + 1e-9


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([12, 60, 1000]), st.sampled_from([None, 0, 1, 2]))
def test_agrees_with_a_plain_search(seed, n_rows, deepest):
    R, _ = linear_network(seed, 8, n_rows, n_parents=2.0)
    blankets = markov_blankets(R, n_rows, significance=0.2).value
    blankets |= blankets.T
    found = separating_sets(R, n_rows, blankets, significance=0.05, max_condition=deepest)
    separators = {
        tuple(pair): members(row)
        for pair, row in zip(found.pairs.tolist(), found.separators, strict=True)
    }
    most = n_rows - 4 if deepest is None else min(deepest, n_rows - 4)
    for x, y in np.argwhere(np.triu(blankets)).tolist():
        pools = []
        for owner, other in ((x, y), (y, x)):
            pool = without(np.flatnonzero(blankets[owner]).tolist(), other)
            pools.append((len(pool), np.abs(R[owner, pool]).sum(), pool))
        expected = slow_separator(R, n_rows, x, y, min(pools)[2], 0.05, most)
        assert found.value[x, y] == found.value[y, x] == (expected is None)
        assert separators.get((x, y)) == expected
    assert not found.value[~blankets].any()


def test_colliders_are_dependent_given_the_child_and_sorted():
    R, _ = linear_network(3, 20, 500, n_parents=2.0)
    blankets = markov_blankets(R, 500).value
    found = separating_sets(R, 500, blankets & blankets.T)
    separators = {
        tuple(pair): members(row)
        for pair, row in zip(found.pairs.tolist(), found.separators, strict=True)
    }
    assert len(found.colliders) > 5
    sureness = []
    for x, z, y in found.colliders.tolist():
        assert found.value[x, z]
        assert found.value[y, z]
        assert not found.value[x, y]
        assert z not in separators[x, y]
        sureness.append(p_value(R, 500, x, y, [*separators[x, y], z]))
    assert max(sureness) < 0.01
    assert (np.diff(sureness) >= -1e-12).all()


def test_moves_with_the_variables():
    S, _ = linear_network(4, 25, 200, n_parents=2.0)
    blankets = markov_blankets(S, 200).value
    blankets &= blankets.T
    order = np.random.default_rng(0).permutation(25)
    index = np.ix_(order, order)
    found = separating_sets(S, 200, blankets)
    moved = separating_sets(S[index], 200, blankets[index])
    np.testing.assert_array_equal(moved.value, found.value[index])
    back = order[moved.colliders]
    assert {frozenset((z, frozenset((x, y)))) for x, z, y in back.tolist()} == {
        frozenset((z, frozenset((x, y)))) for x, z, y in found.colliders.tolist()
    }


def test_significance_joins_fewer():
    S, _ = linear_network(5, 15, 100, n_parents=2.0)
    everything = ~np.eye(15, dtype=bool)
    sizes = [
        separating_sets(S, 100, everything, significance=a, max_condition=2).value.sum()
        for a in (1e-6, 0.2)
    ]
    assert 0 < sizes[0] < sizes[1]


def test_large_blankets_are_searched_as_far_as_time_allows():
    # Every subset of 39 others would take years.
    R = np.full((40, 40), 0.5)
    np.fill_diagonal(R, 1.0)
    found = separating_sets(R, 1e6, ~np.eye(40, dtype=bool))
    assert found.value.sum() == 40 * 39
    assert found.n_tests <= 20_000 * 40 * 39 / 2


def test_pairs_without_an_allowed_direction_are_not_joined():
    arcs = np.eye(4, k=1, dtype=bool)
    R = exact_correlations(0.8 * arcs)
    allowed = np.ones((4, 4), dtype=bool)
    allowed[1, 2] = allowed[2, 1] = False
    found = separating_sets(R, EXACT, arcs | arcs.T, allowed=allowed)
    expected = arcs | arcs.T
    expected[1, 2] = expected[2, 1] = False
    np.testing.assert_array_equal(found.value, expected)
    # There was no set that separates them, so nothing is said of where arcs meet.
    assert len(found.pairs) == 0


def test_only_possible_ancestors_separate():
    # 0 -> 2 <- 1 and 2 -> 3 <- 1, all of the moral graph; 3 is the last.
    weights = np.zeros((4, 4))
    weights[0, 2] = weights[1, 2] = weights[2, 3] = weights[1, 3] = 0.9
    R = exact_correlations(weights)
    blankets = ~np.eye(4, dtype=bool)
    allowed = np.ones((4, 4), dtype=bool)
    allowed[3] = False
    free = separating_sets(R, EXACT, blankets)
    known = separating_sets(R, EXACT, blankets, allowed=allowed)
    np.testing.assert_array_equal(known.value, free.value)
    assert known.n_tests < free.n_tests
    index = known.pairs.tolist().index([0, 1])
    assert not known.separators[index].any()


def test_colliders_need_allowed_arcs():
    weights = np.zeros((3, 3))
    weights[[0, 1], 2] = 0.9
    R = exact_correlations(weights)
    blankets = ~np.eye(3, dtype=bool)
    allowed = np.ones((3, 3), dtype=bool)
    assert separating_sets(R, EXACT, blankets).colliders.tolist() == [[0, 2, 1]]
    allowed[0, 2] = False
    found = separating_sets(R, EXACT, blankets, allowed=allowed)
    assert len(found.colliders) == 0
    assert found.value[0, 2]


def test_required_arcs_are_joined_without_a_test():
    required = np.zeros((3, 3), dtype=bool)
    required[0, 1] = True
    found = separating_sets(np.eye(3), 100, np.zeros((3, 3)), required=required)
    np.testing.assert_array_equal(found.value, required | required.T)
    assert found.n_tests == 0


def test_independent_variables_are_not_joined():
    found = separating_sets(np.eye(3), 100, ~np.eye(3, dtype=bool))
    assert not found.value.any()
    assert found.colliders.shape == (0, 3)
    assert len(found.pairs) == len(found.separators) == found.n_tests == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"blankets": np.zeros((2, 2))}, "square_shape"),
        ({"blankets": np.triu(np.ones((3, 3)))}, "blankets_asymmetric"),
        ({"allowed": np.ones((3, 2))}, "square_shape"),
        ({"required": np.ones(3)}, "square_shape"),
        ({"significance": -1}, "significance_range"),
        ({"n_samples": 2}, "tests_need_rows"),
    ],
)
def test_bad_input_is_named(options, message):
    options = {"n_samples": 50, "blankets": np.zeros((3, 3)), **options}
    with raises(InputError, code=message):
        separating_sets(np.eye(3), **options)
