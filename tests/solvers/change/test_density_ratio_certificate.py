"""The certificate of the density ratio, in arithmetic that rounding cannot reach."""

import numpy as np
import pytest

from edgewise.solvers import density_ratio
from edgewise.solvers.change.ratio_problem import Coefficients, RatioProblem, log_softmax
from edgewise.stats.pair_features import pair_features
from tests.solvers.change.exact_ratio import ExactRatio
from tests.solvers.change.ratio_problems import listed

RIDGES = [1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10]
ALPHA = 0.1


def spread_rows(*, standardize):
    """Rows three times as wide after as before: far from what weights of the rows can match."""
    rng = np.random.default_rng(7)
    X_q, X_p = rng.normal(size=(2, 30, 5))
    X_p *= 3.0
    if standardize:
        X_p, X_q = ((X - X.mean(axis=0)) / X.std(axis=0) for X in (X_p, X_q))
    return X_p, X_q


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("ridge", RIDGES)
def test_nothing_lies_further_below_than_the_gap(ridge, standardize):
    X_p, X_q = spread_rows(standardize=standardize)
    exact = ExactRatio(X_p, X_q, ALPHA, ridge)
    found = [
        density_ratio(X_p, X_q, ALPHA, ridge=ridge, solver=solver, tol=tol, max_iter=steps)
        for solver, tol, steps in (
            ("dual", 1e-8, 100),
            ("dual", 1e-2, 100),
            ("primal", 1e-8, 4),
            ("auto", 1e-8, 4),
        )
    ]
    values = [exact.objective(listed(solution.value).ravel()) for solution in found]
    for solution, value in zip(found, values, strict=True):
        assert float(value - min(values)) <= solution.gap
        assert solution.weights.sum() == pytest.approx(1.0, abs=1e-13)
        assert solution.history.min() >= 0.0
    if ridge >= 1e-4:
        assert found[0].converged


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("ridge", RIDGES)
def test_the_gap_is_primal_less_dual_objective(ridge, standardize, penalize_diagonal):
    X_p, X_q = spread_rows(standardize=standardize)
    problem = RatioProblem(
        features=pair_features(X_q),
        target=pair_features(X_p).mean(),
        offset=np.zeros(len(X_q)),
        ridge=ridge,
        penalize_diagonal=penalize_diagonal,
    )
    exact = ExactRatio(X_p, X_q, ALPHA, ridge, penalize_diagonal=penalize_diagonal)
    rng = np.random.default_rng(0)
    for own_weights in (True, False):
        # Coefficients that belong to some weights, at their weights or at those others.
        log_weights = log_softmax(rng.normal(size=len(X_q)))
        theta = problem.shrink(problem.features.moments(np.exp(log_weights)), ALPHA, ridge)
        log_ratio = problem.log_ratio(theta)
        if own_weights:
            log_weights = log_softmax(log_ratio)
        certificate = problem.certify(theta, log_ratio, log_weights, ALPHA)
        full = listed(problem.features.full(theta.pairs, theta.values)).ravel()
        expected = exact.objective(full) - exact.bound(np.exp(log_weights))
        assert certificate.gap == pytest.approx(
            float(expected), rel=1e-12, abs=certificate.rounding + 1e-14
        )
        assert certificate.rounding <= 1e-12 * max(1.0, float(expected))


def test_weights_of_huge_log_ratios_sum_to_one():
    values = 1e12 * np.array([3.0, 3.0, 1.0]) + np.array([0.25, 0.75, 0.0])
    expected = np.append(np.exp([0.25, 0.75]) / np.exp([0.25, 0.75]).sum(), 0.0)
    np.testing.assert_allclose(np.exp(log_softmax(values)), expected, rtol=1e-3)
    assert np.exp(log_softmax(values)).sum() == pytest.approx(1.0, abs=1e-15)


def test_rounding_of_large_ratios_is_part_of_the_gap():
    """Coefficients whose log ratios are known to a few digits only cannot be certified."""
    X_p, X_q = spread_rows(standardize=False)
    problem = RatioProblem(
        features=pair_features(X_q),
        target=pair_features(X_p).mean(),
        offset=np.zeros(len(X_q)),
        ridge=1e-14,
        penalize_diagonal=True,
    )
    theta = Coefficients(np.array([0, 1, 6]), np.array([[1e14], [-2e14], [1e14]]))
    log_ratio = problem.log_ratio(theta)
    small, large = (
        problem.rounding(theta.scaled(share), share * log_ratio, log_softmax(share * log_ratio))
        for share in (1e-14, 1.0)
    )
    assert small < 1e-12
    assert large > 1e-4
