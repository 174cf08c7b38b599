"""The exact tests of all pairs of discrete variables, against scipy's."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from edgewise.solvers.discrete import pair_tests
from edgewise.solvers.discrete.pair_tests import smallest_pair_p_value


def fisher(table):
    """Twice the smaller tail of Fisher's test."""
    return min(1.0, 2 * min(fisher_exact(table, alternative=way)[1] for way in ("less", "greater")))


@pytest.mark.parametrize("seed", range(5))
def test_two_levels_are_tested_by_fisher(seed):
    X = (np.random.default_rng(seed).random((60, 4)) < [0.5, 0.3, 0.1, 0.05]).astype(int)
    tables = [
        [[np.sum((X[:, i] == a) & (X[:, j] == b)) for b in (0, 1)] for a in (0, 1)]
        for i in range(4)
        for j in range(i)
    ]
    found = smallest_pair_p_value(X, np.full(4, 2))
    assert found == pytest.approx(min(map(fisher, tables)))


def test_more_levels_are_tested_cell_by_cell():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(3, size=80), rng.integers(4, size=80)])
    X[:30, 1] = X[:30, 0]
    cells = [
        fisher([[np.sum(a & b), np.sum(a & ~b)], [np.sum(~a & b), np.sum(~a & ~b)]])
        for a in (X[:, 0] == level for level in range(3))
        for b in (X[:, 1] == level for level in range(4))
    ]
    assert smallest_pair_p_value(X, np.array([3, 4])) == pytest.approx(min(1, 12 * min(cells)))


def test_counts_stand_for_rows(monkeypatch):
    rng = np.random.default_rng(2)
    states, counts = rng.integers(3, size=(20, 3)), rng.integers(1, 9, size=20)
    expected = smallest_pair_p_value(np.repeat(states, counts, axis=0), np.full(3, 3))
    monkeypatch.setattr(pair_tests, "CHUNK_ROWS", 7)
    assert smallest_pair_p_value(states, np.full(3, 3), counts) == pytest.approx(expected)


def test_levels_and_columns_that_do_not_occur_are_left_out():
    X = np.column_stack([np.arange(40) % 2, np.arange(40) % 2, np.zeros(40, dtype=int)])
    one = smallest_pair_p_value(X, np.array([2, 2, 1]))
    assert smallest_pair_p_value(X, np.array([5, 3, 4])) == pytest.approx(one)
    assert smallest_pair_p_value(X[:, 1:], np.array([2, 1])) == 1.0


def test_of_many_cells_the_furthest_are_enough(monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.integers(2, size=(200, 12))
    X[:40, 1] = X[:40, 0]
    every = smallest_pair_p_value(X, np.full(12, 2))
    monkeypatch.setattr(pair_tests, "MOST_CELLS", 10)
    assert smallest_pair_p_value(X, np.full(12, 2)) == pytest.approx(every)


def test_rare_levels_do_not_deceive_it():
    tables = [np.random.default_rng(seed).random((100, 20)) < 0.03 for seed in range(200)]
    n_pairs = 190
    found = [n_pairs * smallest_pair_p_value(X.astype(int), np.full(20, 2)) <= 0.05 for X in tables]
    assert np.mean(found) <= 0.07
