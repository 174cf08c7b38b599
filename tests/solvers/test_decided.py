"""What solvers call decided is so at optima that are known, near-ties included."""

from __future__ import annotations

import numpy as np
import pytest

from edgewise.solvers import (
    density_ratio,
    dtrace,
    generalized_lasso,
    joint_graphical_lasso,
    locally_constant,
)
from edgewise.solvers._solution import Solution, go_on
from edgewise.solvers.change.decided import connected_sets
from edgewise.solvers.lasso.decided import _distance
from edgewise.solvers.lasso.gram import neighborhood_lasso
from tests.oracle.decided import KINDS, judge


@pytest.mark.parametrize("kind", KINDS)
def test_no_decision_is_false(kind):
    verdicts = [judge(kind, seed) for seed in range(12)]
    assert sum(one.wrong for one in verdicts) == 0
    assert sum(one.decided for one in verdicts) > 0.4 * sum(one.known for one in verdicts)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(7))
@pytest.mark.parametrize("kind", KINDS)
def test_no_decision_is_false_on_many_problems(kind, block):
    for seed in range(100 + 100 * block, 200 + 100 * block):
        assert judge(kind, seed).wrong == 0, seed


def table(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        X[:, j] += 0.5 * X[:, j - 1]
    return X


S, T = (np.corrcoef(table(200, 20, seed).T) for seed in (0, 1))
CHAIN = [(j, j + 1) for j in range(19)]
ROWS = table(200, 8, 2), table(200, 8, 3)
SOLVES = {
    "joint": lambda **more: joint_graphical_lasso(np.stack([S, T]), 0.1, 0.03, **more),
    "space": lambda **more: locally_constant(S, 0.1, 0.02, CHAIN, **more),
    "change": lambda **more: dtrace(S, T, 0.2, **more),
    "ratio": lambda **more: density_ratio(*ROWS, 0.15, **more),
    "lassos": lambda **more: neighborhood_lasso(S, 0.1, **more),
    "regression": lambda **more: generalized_lasso(
        ROWS[0], (ROWS[1][:, 0] > 0).astype(float), 0.02, family="binary", **more
    ),
}


@pytest.mark.parametrize("kind", SOLVES)
def test_solvers_go_on_until_all_is_decided(kind):
    stopped = SOLVES[kind](tol=1e-3, decide=0.0)
    went_on = SOLVES[kind](tol=1e-3, decide=5.0)
    assert stopped.converged
    assert went_on.converged
    assert went_on.decided.all()
    assert went_on.gap <= stopped.gap
    assert stopped.n_iter <= went_on.n_iter <= 7 * stopped.n_iter + 1


@pytest.mark.parametrize("kind", ["joint", "space"])
def test_loose_gaps_leave_pairs_open(kind):
    assert not SOLVES[kind](tol=1e-2, decide=0.0).decided.all()


def test_without_a_ridge_no_change_of_a_density_ratio_is_proven():
    assert density_ratio(*ROWS, 0.5, ridge=0.0).decided is None


def test_ties_of_neighbours_are_proven_and_those_that_differ_are_not():
    found = locally_constant(S, 0.1, 0.02, CHAIN, decide=5.0)
    n = np.arange(20)
    differs = np.array([found.value[a] != found.value[b] for a, b in CHAIN])
    counts = np.array([(n != a) & (n != b) for a, b in CHAIN])
    np.testing.assert_array_equal(found.tied[counts], ~differs[counts])


def test_nothing_more_is_done_without_proof():
    first = Solution(value=np.zeros(2), objective=0.0, gap=1e-3, n_iter=9, converged=True)
    assert go_on(first, lambda *_: pytest.fail("went on"), 1.5, 2) is first


def test_connected_sets_of_groups():
    chain = np.diag(np.ones(4), 1) + np.diag(np.ones(4), -1)
    assert len(connected_sets(chain.astype(int), 5)) == 15
    assert connected_sets(1 - np.eye(12, dtype=int), 12) is None


@pytest.mark.parametrize("cost", [1e-12, 1e-4, 0.3, 0.95])
def test_distance_solves_its_equation(cost):
    m = _distance(cost)
    paid = m**2 / 2 - m**3 / 3 if m < 1e-3 else 1.0 - (1.0 + m) * np.exp(-m)
    assert paid == pytest.approx(cost, rel=1e-5)
