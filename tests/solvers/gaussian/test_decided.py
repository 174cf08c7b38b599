"""Edges that a gap decides are those of the optimum, on problems solved again to rounding."""

from __future__ import annotations

import numpy as np
import pytest

from edgewise.solvers import graphical_lasso, graphical_lasso_path
from edgewise.solvers.gaussian.decided import radius

EXACT = {"tol": 1e-13, "max_iter": 50_000}


def draw_problem(seed):
    """Return a covariance, an alpha and options of a random problem."""
    rng = np.random.default_rng(seed)
    p = int(rng.choice([rng.integers(2, 20), rng.integers(50, 60)], p=[0.9, 0.1]))
    n = int(rng.integers(max(2, p // 2), 5 * p + 3))
    X = rng.normal(size=(n, p))
    for i in range(1, p):
        if rng.random() < 0.7:
            X[:, i] += rng.normal() * X[:, rng.integers(i)]
    S = np.cov(X.T).reshape(p, p) + 1e-9 * np.eye(p)
    options = {"penalize_diagonal": bool(rng.random() < 0.3)}
    if rng.random() < 0.4:
        weights = np.triu(rng.choice([0.0, 1.0, 1.0, 0.5, 2.0, np.inf], size=(p, p)), 1)
        options["weights"] = weights + weights.T + np.eye(p)
    largest = np.abs(S - np.diag(np.diag(S))).max()
    return S, largest * rng.uniform(0.02, 0.9), options, rng


def edge_about_to_leave(S, alpha, options, rng):
    """Move alpha until one of the edges is about to leave."""
    edges = np.argwhere(np.triu(graphical_lasso(S, alpha, **options).value, 1))
    if len(edges) == 0:
        return alpha
    i, j = edges[rng.integers(len(edges))]
    low, high = alpha, 1.5 * np.abs(S - np.diag(np.diag(S))).max()
    for _ in range(30):
        middle = 0.5 * (low + high)
        there = graphical_lasso(S, middle, **options, tol=1e-12).value[i, j] != 0.0
        low, high = (middle, high) if there else (low, middle)
    return low * (1.0 + rng.choice([-1e-6, -1e-9, 0.0, 1e-9, 1e-6]))


def hold_to_optimum(seed, *, near_tie):
    """Compare what is decided at a loose gap with what is at rounding."""
    S, alpha, options, rng = draw_problem(seed)
    if near_tie:
        alpha = edge_about_to_leave(S, alpha, options, rng)
    exact = graphical_lasso(S, alpha, **options, **EXACT, decide=0.0)
    found = graphical_lasso(
        S, alpha, **options, tol=10.0 ** rng.uniform(-12, -2), decide=rng.choice([0.0, 1.5])
    )
    both = found.decided & exact.decided
    np.testing.assert_array_equal(np.sign(found.value)[both], np.sign(exact.value)[both])
    return found


@pytest.mark.parametrize("near_tie", [False, True])
def test_no_decision_is_false(near_tie):
    shares = [hold_to_optimum(seed, near_tie=near_tie).decided.mean() for seed in range(15)]
    assert np.mean(shares) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_no_decision_is_false_on_many_problems(block):
    for seed in range(100 + 150 * block, 250 + 150 * block):
        hold_to_optimum(seed, near_tie=seed % 3 == 0)


@pytest.mark.parametrize("distance", [1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_two_variables_are_decided_where_the_optimum_is_known(distance, side):
    # The edge is there if and only if the covariance exceeds alpha.
    found = graphical_lasso(np.array([[1.0, 0.5], [0.5, 1.0]]), 0.5 + side * distance)
    # Above alpha_max thresholding is exact; below, rounding hides a distance of 1e-9.
    assert found.decided.all() == (side > 0.0 or distance > 1e-8)
    assert not found.decided.all() or (found.value[0, 1] != 0.0) == (side < 0.0)


def test_a_loose_gap_leaves_pairs_open_and_more_sweeps_decide_them():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 100))
    for i in range(1, 100):
        if i % 7:
            X[:, i] += 0.5 * X[:, i - 1]
    S = np.corrcoef(X.T)
    stopped = graphical_lasso(S, 0.1, decide=0.0)
    went_on = graphical_lasso(S, 0.1)
    assert not stopped.decided.all()
    assert went_on.decided.all()
    assert stopped.n_iter < went_on.n_iter <= 2.5 * stopped.n_iter
    assert went_on.gap < stopped.gap


def test_paths_decide_and_do_not_go_on():
    S, _, _, _ = draw_problem(4)
    alphas = np.abs(np.triu(S, 1)).max() * np.array([0.5, 0.2])
    path = graphical_lasso_path(S, alphas)
    singles = [graphical_lasso(S, alpha, decide=0.0) for alpha in alphas]
    for on_path, single in zip(path, singles, strict=True):
        both = on_path.decided & single.decided
        np.testing.assert_array_equal((on_path.value != 0.0)[both], (single.value != 0.0)[both])


def test_pairs_between_components_and_forbidden_pairs_are_decided():
    S = np.eye(4)
    S[0, 1] = S[1, 0] = 0.6
    S[1, 2] = S[2, 1] = 0.3
    weights = np.ones((4, 4))
    weights[0, 2] = weights[2, 0] = np.inf
    found = graphical_lasso(S, 0.1, weights=weights, tol=1e-1, decide=0.0)
    assert found.decided[3].all()
    assert found.decided[0, 2]


@pytest.mark.parametrize("gap", [1e-16, 1e-8, 1e-2, 1.0, 30.0])
def test_radius_solves_its_equation(gap):
    r = radius(gap)
    exact = np.log1p(r) - r / (1.0 + r) if r > 1e-3 else r * r / 2 - 2 * r**3 / 3 + 0.75 * r**4
    assert exact == pytest.approx(gap, rel=1e-6)
