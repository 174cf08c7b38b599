"""Our graphical lasso against results of R's glasso package, frozen beside the script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgewise.solvers import graphical_lasso

REFERENCE = json.loads(Path(__file__).with_name("glasso_reference.json").read_text())
PROBLEMS = {problem["name"]: problem for problem in REFERENCE["problems"]}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


def penalties(problem: dict[str, Any]) -> np.ndarray:
    """What each entry of the precision matrix costs, infinity where it is forbidden."""
    p = len(problem["s"])
    weights = np.ones((p, p)) if problem["weights"] is None else np.array(problem["weights"])
    cost = problem["alpha"] * weights
    if problem["zero"] is not None:
        rows, columns = np.array(problem["zero"], dtype=int).T - 1
        cost[rows, columns] = cost[columns, rows] = np.inf
    if not problem["penalize_diagonal"]:
        np.fill_diagonal(cost, 0.0)
    return cost


def reference_precision(problem: dict[str, Any]) -> np.ndarray:
    """R's estimate, which is symmetric only up to its tolerance."""
    wi = np.array(problem["wi"])
    return (wi + wi.T) / 2


def solve(problem: dict[str, Any], tol: float = 1e-12):
    weights = None
    if problem["weights"] is not None or problem["zero"] is not None:
        weights = penalties(problem) / problem["alpha"]
        np.fill_diagonal(weights, 1.0)
    return graphical_lasso(
        np.array(problem["s"]),
        problem["alpha"],
        weights=weights,
        penalize_diagonal=problem["penalize_diagonal"],
        tol=tol,
    )


def objective(problem: dict[str, Any], precision: np.ndarray) -> float:
    cost = penalties(problem)
    is_allowed = np.isfinite(cost)
    assert not precision[~is_allowed].any()
    sign, logdet = np.linalg.slogdet(precision)
    assert sign == 1
    penalty = cost[is_allowed] @ np.abs(precision[is_allowed])
    return float(np.sum(np.array(problem["s"]) * precision) - logdet + penalty)


def test_reference_is_optimal(problem):
    """The frozen results meet the optimality conditions, so they may serve as an oracle."""
    cost = penalties(problem)
    precision = reference_precision(problem)
    excess = np.linalg.inv(precision) - np.array(problem["s"])
    is_zero = precision == 0
    pull = np.where(is_zero, 0.0, np.where(np.isfinite(cost), cost, 0.0) * np.sign(precision))
    np.testing.assert_allclose(excess[~is_zero], pull[~is_zero], rtol=0, atol=5e-9)
    # Strictly inside for every zero, so the set of edges is unique and can be compared exactly.
    assert np.all(np.abs(excess[is_zero]) < cost[is_zero] - 1e-4)


def test_precision_and_covariance_agree(problem):
    solution = solve(problem)
    assert solution.converged
    expected = reference_precision(problem)
    error = np.abs(solution.value - expected).max()
    assert error <= 1e-5 * np.abs(expected).max()
    expected = np.array(problem["w"])
    error = np.abs(solution.covariance - expected).max()
    assert error <= 1e-5 * np.abs(expected).max()


def test_edges_are_the_same(problem):
    np.testing.assert_array_equal(solve(problem).value != 0, reference_precision(problem) != 0)


def test_objective_is_not_above_the_reference(problem):
    solution = solve(problem)
    ours = objective(problem, solution.value)
    assert ours <= objective(problem, reference_precision(problem)) + 1e-9
    assert solution.objective == pytest.approx(ours, rel=1e-12, abs=1e-11)


def test_gap_bounds_the_distance_to_the_reference(problem):
    """A loose solve says truthfully how far above the optimum it stands."""
    loose = solve(problem, tol=1e-3)
    excess = objective(problem, loose.value) - objective(problem, reference_precision(problem))
    assert -1e-9 <= excess <= loose.gap + 1e-9


def test_reference_covers_every_option():
    assert {problem["penalize_diagonal"] for problem in PROBLEMS.values()} == {True, False}
    costs = [penalties(problem) for problem in PROBLEMS.values()]
    off = [cost[~np.eye(len(cost), dtype=bool)] for cost in costs]
    assert any((cost == 0).any() for cost in off)
    assert any(np.isinf(cost).any() for cost in off)
    assert any(len(np.unique(cost[np.isfinite(cost)])) > 2 for cost in off)
