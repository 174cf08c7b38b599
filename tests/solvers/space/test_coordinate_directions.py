from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise.solvers.gaussian.graphical_lasso import graphical_lasso
from edgewise.solvers.space.fused_rows import FusedProblem, neighbor_lists
from edgewise.solvers.space.published_descent import (
    Kinks,
    _minimize,
    _move_column,
    coordinate_directions,
)
from tests.solvers.space.locally_constant_problems import (
    cvxpy_locally_constant,
    elementwise,
    golden_problem,
    objective,
    pairs_of,
    random_pairs,
    random_problem,
    sample_sizes,
)

ARRANGEMENTS = [
    ("chain", 7),
    ("ring", 6),
    ("grid", 3, 3),
    ("grid", 2, 2, 2),
    ("star", 6),
]


def diagonal_start(S, thresholds):
    return np.diag(1.0 / (np.diagonal(S) + np.diagonal(thresholds)))


def descend(S, thresholds, tau, pairs, start=None, max_sweeps=2000, tol=1e-13):
    start = diagonal_start(S, thresholds) if start is None else start
    problem = FusedProblem(S, thresholds, tau, pairs)
    return coordinate_directions(problem, start, max_sweeps, tol)


def random_thresholds(rng, p):
    thresholds = rng.uniform(0.02, 0.2, (p, p))
    return (thresholds + thresholds.T) / 2


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 8))
def test_minimum_of_a_parabola_with_kinks(seed, n):
    rng = np.random.default_rng(seed)
    curvature, slope = rng.uniform(0.1, 3.0), rng.normal(0, 3)
    # Rounded, so that kinks coincide; strengths of 0 happen with tau = 0.
    shift, strength = np.round(rng.normal(size=n), 1), np.round(rng.uniform(0, 1, n), 1)
    kinks = Kinks(shift, strength, shift, np.empty(n, np.int64))
    step, kink = _minimize(curvature, slope, n, kinks)

    def value(x):
        return 0.5 * curvature * x**2 + slope * x + np.abs(x - shift) @ strength

    candidates = [*shift, *(step + np.linspace(-1, 1, 201)), step - 1e-7, step + 1e-7]
    assert all(value(step) <= value(x) + 1e-12 for x in candidates)
    if kink >= 0:
        assert step == shift[kink]


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("free_diagonal", [False, True])
def test_no_direction_is_left_that_lowers_the_objective(arrangement, free_diagonal):
    """Where it stops, no single entry and no two neighbours of a column can move with a gain,
    whatever the diagonal does: by the objective itself, not by the formulas of the method."""
    rng = np.random.default_rng(len(arrangement))
    pairs = pairs_of(*arrangement)
    p = int(np.prod(arrangement[1:]))
    S = random_problem(rng, pairs, p, 3 * p)
    thresholds = random_thresholds(rng, p)
    if free_diagonal:
        np.fill_diagonal(thresholds, 0.0)
    Theta, objectives, _ = descend(S, thresholds, 0.07, pairs)
    assert objectives[-1] == pytest.approx(objective(Theta, S, thresholds, 0.07, pairs), abs=1e-12)
    single = [(i,) for i in range(p)]
    for column in range(p):
        others = np.delete(np.arange(p), column)
        for direction in [*single, *map(tuple, pairs)]:
            if column in direction:
                continue
            for step in (-0.1, -1e-3, -1e-5, 1e-5, 1e-3, 0.1):
                moved = Theta.copy()
                for i in direction:
                    moved[i, column] += step
                    moved[column, i] += step
                # The best diagonal entry for the moved column, in closed form.
                y = moved[others, column]
                schur = y @ np.linalg.solve(moved[np.ix_(others, others)], y)
                moved[column, column] = schur + 1 / (S + thresholds)[column, column]
                assert objective(moved, S, thresholds, 0.07, pairs) >= objectives[-1] - 1e-11


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_never_below_the_optimum_and_at_it_where_differences_hardly_count(arrangement):
    rng = np.random.default_rng(1)
    pairs = pairs_of(*arrangement)
    p = int(np.prod(arrangement[1:]))
    for n_samples in sample_sizes(p):
        S = random_problem(rng, pairs, p, n_samples)
        thresholds = random_thresholds(rng, p)
        thresholds[0, 2] = thresholds[2, 0] = np.inf
        for tau in (1e-6, 0.02, 0.2):
            best, _ = cvxpy_locally_constant(S, thresholds, tau, pairs)
            Theta, objectives, _ = descend(S, thresholds, tau, pairs)
            assert objectives[-1] >= best - 1e-7
            if tau == 1e-6:
                # What the differences can add at most, and the accuracy of the oracle.
                assert objectives[-1] <= best + 2e-5
            assert np.array_equal(Theta, Theta.T)
            assert np.linalg.eigvalsh(Theta)[0] > 0
            assert Theta[0, 2] == 0.0


def test_without_differences_it_is_the_graphical_lasso():
    rng = np.random.default_rng(4)
    pairs = pairs_of("chain", 12)
    S = random_problem(rng, pairs, 12, 30)
    expected = graphical_lasso(S, 0.08, penalize_diagonal=True, tol=1e-12)
    Theta, _, _ = descend(S, elementwise(12, 0.08), 0.0, pairs)
    np.testing.assert_allclose(Theta, expected.value, atol=1e-6)
    np.testing.assert_array_equal(Theta == 0, expected.value == 0)
    without_pairs, _, _ = descend(S, elementwise(12, 0.08), 0.3, pairs[:0])
    np.testing.assert_allclose(without_pairs, expected.value, atol=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 0.5), st.integers(2, 9), st.booleans())
def test_objective_never_increases(seed, tau, p, with_forbidden):
    rng = np.random.default_rng(seed)
    pairs = random_pairs(rng, p, int(rng.integers(0, 2 * p)))
    S = random_problem(rng, pairs, p, int(rng.integers(2, 3 * p)))
    thresholds = random_thresholds(rng, p)
    forbidden = np.triu(rng.random((p, p)) < 0.3, 1)
    if with_forbidden:
        thresholds[forbidden | forbidden.T] = np.inf
    Theta, objectives, n_sweeps = descend(S, thresholds, tau, pairs, max_sweeps=200)
    assert len(objectives) == n_sweeps
    start = objective(diagonal_start(S, thresholds), S, thresholds, tau, pairs)
    assert np.all(np.diff(objectives, prepend=start) <= 1e-12 * p)
    assert objectives[-1] == pytest.approx(objective(Theta, S, thresholds, tau, pairs), abs=1e-11)


def test_stops_at_the_diagonal_where_the_optimum_has_a_patch_of_edges():
    S, alpha, tau, pairs = golden_problem()
    Theta, objectives, n_sweeps = descend(S, elementwise(14, alpha), tau, pairs)
    np.testing.assert_allclose(Theta, np.eye(14) / 1.05, rtol=1e-14)
    assert not Theta[~np.eye(14, dtype=bool)].any()
    assert objectives[-1] == pytest.approx(14.6830622984, abs=1e-9)
    assert n_sweeps == 1


@pytest.mark.parametrize(("excess", "is_stuck"), [(1.45, True), (1.55, False)])
def test_leaves_the_diagonal_only_where_two_entries_pay_for_themselves(excess, is_stuck):
    S, alpha, tau, pairs = golden_problem()
    S[S == 0.195] = alpha + excess * tau
    Theta, _, _ = descend(S, elementwise(14, alpha), tau, pairs)
    assert (np.count_nonzero(Theta) == 14) == is_stuck


def test_from_the_optimum_it_stays_there():
    S, alpha, tau, pairs = golden_problem()
    start = np.eye(14) / 1.05
    patch = np.r_[2:5, 8:11]
    start[patch, patch] = 0.9680377258
    start[2:5, 8:11] = start[8:11, 2:5] = -0.0699557962
    Theta, objectives, _ = descend(S, elementwise(14, alpha), tau, pairs, start)
    assert objectives[-1] == pytest.approx(14.6333678568, abs=1e-9)
    np.testing.assert_allclose(Theta, start, atol=1e-7)
    assert len(np.unique(Theta[2:5, 8:11])) == 1


def test_ties_and_zeros_are_exact():
    rng = np.random.default_rng(7)
    pairs = pairs_of("chain", 10)
    S = random_problem(rng, pairs, 10, 15)
    Theta, _, _ = descend(S, elementwise(10, 0.05), 0.1, pairs)
    off = Theta[np.triu_indices(10, 1)]
    gaps = np.diff(np.unique(np.append(off, 0.0)))
    assert gaps.min() > 1e-9
    assert len(gaps) < 15


def test_neighbours_that_move_together_meet_a_third_entry_exactly():
    """Two entries at 0.7 end at the 0.1 of the next one, although 0.7 + (0.1 - 0.7) is not 0.1.

    Only the first pair may move: the second one would repair what the first one missed.
    """
    pairs = np.array([[1, 2], [2, 3]])
    y, u = np.array([0.0, 0.7, 0.7, 0.1]), np.array([0.0, 0.2, -0.75, 0.9])
    inverse = Theta = np.eye(4)
    problem = FusedProblem(np.tile(u, (4, 1)), np.zeros((4, 4)), 2.0, pairs[:1])
    _move_column(0, 1.0, problem, neighbor_lists(pairs, 4), Theta, inverse, y, y.copy())
    assert y[1] == y[2] == y[3]
    assert y[3] == pytest.approx(0.1)


def test_first_sweep_over_forbidden_entries_keeps_the_inverse():
    rng = np.random.default_rng(8)
    pairs = pairs_of("chain", 6)
    S = random_problem(rng, pairs, 6, 40)
    thresholds = elementwise(6, 0.05)
    thresholds[0, 5] = thresholds[5, 0] = np.inf
    Theta, _, _ = descend(S, thresholds, 1e-3, pairs, np.linalg.inv(S), max_sweeps=1)
    schur = Theta[5, 5] - Theta[5, :5] @ np.linalg.solve(Theta[:5, :5], Theta[:5, 5])
    assert schur == pytest.approx(1 / (S[5, 5] + 0.05), rel=1e-12)


def test_start_with_forbidden_entries_is_put_right():
    rng = np.random.default_rng(9)
    pairs = pairs_of("chain", 6)
    S = random_problem(rng, pairs, 6, 40)
    thresholds = elementwise(6, 0.05)
    thresholds[1, 4] = thresholds[4, 1] = np.inf
    start = np.linalg.inv(S)
    Theta, objectives, _ = descend(S, thresholds, 1e-3, pairs, start)
    assert start[1, 4] != 0.0
    assert Theta[1, 4] == Theta[4, 1] == 0.0
    from_diagonal = descend(S, thresholds, 1e-3, pairs)[1]
    assert objectives[-1] == pytest.approx(from_diagonal[-1], abs=1e-6)


def test_sweep_limit_and_tolerance_are_obeyed_and_the_start_is_left_alone():
    rng = np.random.default_rng(11)
    pairs = pairs_of("ring", 9)
    S = random_problem(rng, pairs, 9, 5)
    thresholds = elementwise(9, 0.01)
    start = diagonal_start(S, thresholds)
    kept = start.copy()
    assert descend(S, thresholds, 0.01, pairs, start, max_sweeps=3, tol=0.0)[2] == 3
    _, objectives, n_sweeps = descend(S, thresholds, 0.01, pairs, start, tol=1e-3)
    decrease = -np.diff(objectives)
    assert 3 < n_sweeps < descend(S, thresholds, 0.01, pairs, start, tol=1e-9)[2]
    assert decrease[-1] < 1e-3 <= decrease[:-1].min()
    np.testing.assert_array_equal(start, kept)


def test_inverse_stays_accurate_over_many_sweeps():
    """The objective of every sweep comes from a fresh factor; the last one must still be exact."""
    rng = np.random.default_rng(13)
    pairs = pairs_of("grid", 6, 6)
    S = random_problem(rng, pairs, 36, 12)
    thresholds = elementwise(36, 0.003)
    Theta, objectives, n_sweeps = descend(S, thresholds, 1e-3, pairs, max_sweeps=300, tol=0.0)
    assert n_sweeps > 100
    assert objectives[-1] == pytest.approx(objective(Theta, S, thresholds, 1e-3, pairs), abs=1e-9)
