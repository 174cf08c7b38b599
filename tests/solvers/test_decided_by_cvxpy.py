"""What is called decided is so at the optima that an interior point method finds."""

from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest

from edgewise.solvers import graphical_lasso, joint_graphical_lasso, locally_constant
from tests.solvers.space.locally_constant_problems import cvxpy_locally_constant

#: An interior point method tells an entry of this size from 0; what is smaller is not judged.
CLEAR = 1e-3
#: Distances of alpha from where an entry leaves, as a share of it.
NEAR = [-0.1, -0.03, -0.01, 0.01, 0.03, 0.1]


def draw_covariance(rng, p):
    """Return the correlations of a few rows of columns that depend on each other."""
    X = rng.normal(size=(int(rng.integers(p + 2, 6 * p)), p))
    for j in range(1, p):
        X[:, j] += rng.normal() * X[:, rng.integers(j)]
    return np.corrcoef(X.T)


def near_tie(solve, alpha, rng):
    """Move alpha close to where an entry leaves, of problems of even seeds."""
    there = np.argwhere(solve(alpha).value)
    there = [tuple(place) for place in there if place[-1] > place[-2]]
    if not there:
        return alpha
    place, low, high = there[rng.integers(len(there))], alpha, 1.0
    for _ in range(25):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if solve(middle).value[place] != 0.0 else (low, middle)
    return low * (1.0 + rng.choice(NEAR))


def log_likelihood(S, Theta):
    return cp.log_det(Theta) - cp.trace(S @ Theta)


def lasso(rng):
    S = draw_covariance(rng, int(rng.integers(3, 8)))
    off = 1.0 - np.eye(len(S))

    def exact(alpha):
        Theta = cp.Variable(S.shape, symmetric=True)
        cost = alpha * cp.sum(cp.multiply(off, cp.abs(Theta))) - log_likelihood(S, Theta)
        return minimise(cost, [Theta])[0]

    return lambda alpha, **more: graphical_lasso(S, alpha, **more), exact


def joint(rng):
    p, K = int(rng.integers(3, 6)), int(rng.integers(2, 4))
    S = np.stack([draw_covariance(rng, p) for _ in range(K)])
    coupling, penalty = rng.uniform(0.02, 0.2), str(rng.choice(["fused", "group"]))
    above = [(i, j) for j in range(p) for i in range(j)]

    def exact(alpha):
        Theta = [cp.Variable((p, p), symmetric=True) for _ in range(K)]
        cost = 0
        for one, own in zip(S, Theta, strict=True):
            cost += 2 * alpha * sum(cp.abs(own[place]) for place in above)
            cost -= log_likelihood(one, own)
        if penalty == "group":
            cost += (
                2
                * coupling
                * sum(cp.norm(cp.hstack([own[place] for own in Theta])) for place in above)
            )
        else:
            pairs = [(k, m) for k in range(K) for m in range(k)]
            cost += (
                2
                * coupling
                * sum(
                    cp.abs(Theta[k][place] - Theta[m][place]) for k, m in pairs for place in above
                )
            )
        return np.stack(minimise(cost, Theta))

    def solve(alpha, **more):
        return joint_graphical_lasso(S, alpha, coupling, penalty=penalty, **more)

    return solve, exact


def space(rng):
    p = int(rng.integers(4, 8))
    S, tau = draw_covariance(rng, p), rng.uniform(0.02, 0.2)
    chain = [(j, j + 1) for j in range(p - 1)]

    def exact(alpha):
        return cvxpy_locally_constant(S, alpha * (1.0 - np.eye(p)), tau, chain)[1]

    def solve(alpha, **more):
        return locally_constant(S, alpha, tau, chain, penalize_diagonal=False, **more)

    return solve, exact


def minimise(cost, variables):
    cp.Problem(cp.Minimize(cost)).solve(
        solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10
    )
    return [one.value for one in variables]


def hold_to_oracle(kind, seed):
    """Return how many pairs are decided, and judged; fail where one is decided wrongly."""
    rng = np.random.default_rng([seed, len(kind.__name__)])
    solve, exact = kind(rng)
    alpha = rng.uniform(0.05, 0.4)
    if seed % 2 == 0:
        alpha = near_tie(solve, alpha, rng)
    found = solve(alpha, tol=10.0 ** rng.uniform(-8, -2), decide=rng.choice([0.0, 1.5]))
    optimum = exact(alpha)
    is_there = np.abs(optimum) > CLEAR
    present = found.decided & (found.value != 0.0)
    absent = found.decided & (found.value == 0.0)
    assert not (absent & is_there).any(), seed
    assert not (present & is_there & (np.sign(found.value) != np.sign(optimum))).any(), seed
    # What is proven to be there, and is not small, the oracle has as well.
    assert not (present & (np.abs(found.value) > 0.1) & ~is_there).any(), seed
    return found.decided.sum(), found.decided.size


@pytest.mark.slow
@pytest.mark.parametrize("kind", [lasso, joint, space])
def test_no_decision_contradicts_an_interior_point_method(kind):
    counts = [hold_to_oracle(kind, seed) for seed in range(60)]
    decided, judged = np.sum(counts, axis=0)
    assert decided > 0.7 * judged
