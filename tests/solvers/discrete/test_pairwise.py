"""The pairwise model of columns of several kinds, beside CVXPY."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest

from edgewise.estimators.discrete.mixed_problem import Coding, JointProblem
from edgewise.solvers.lasso.generalized_kernels import BINARY, GAUSSIAN, POISSON

KINDS = ("continuous", "binary", "nominal", "continuous", "count")


def rows(n=50, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    level = np.digitize(a + rng.normal(size=n), [-0.5, 0.5])
    b = a + (level == 1) + rng.normal(size=n)
    return np.column_stack(
        [a, rng.random(n) < 1 / (1 + np.exp(-b)), level, b, rng.poisson(np.exp(0.3 * a))]
    ).astype(float)


def pose(values, weights=None, **how):
    coding = Coding(names=tuple("abcde"), kinds=KINDS, n_levels=(0, 2, 3, 0, 0))
    problem = JointProblem(coding=coding, **({"tol": 1e-10, "max_iter": 500} | how))
    return problem.summarize(values, weights).pairwise


def solve(problem, alpha):
    return next(problem.solve_path(np.array([alpha])))


def blocks(problem):
    ends = list(zip(problem.starts[:-1].tolist(), problem.starts[1:].tolist(), strict=True))
    return [slice(*end) for end in ends]


def by_cvxpy(problem, alpha):
    """Minimise the same objective, with a precision for each Gaussian column."""
    U, w, own = problem.columns, problem.row_weights, blocks(problem)
    size = [part.stop - part.start for part in own]
    Gamma = {(i, j): cp.Variable((size[i], size[j])) for j in range(len(own)) for i in range(j)}
    terms = [
        2 * alpha * np.sqrt(size[i] * size[j]) * cp.norm(G, "fro") for (i, j), G in Gamma.items()
    ]
    for j, family in enumerate(problem.families):
        eta = cp.Variable((size[j], 1)) @ np.ones((1, len(w)))
        for i in range(len(own)):
            if i != j:
                eta = eta + (Gamma[i, j].T if i < j else Gamma[j, i]) @ U[own[i]]
        y = problem.responses[j]
        if family == GAUSSIAN:
            beta = cp.Variable()
            fit = cp.quad_over_lin(cp.multiply(np.sqrt(w)[None], eta), beta)
            terms.append(0.5 * (beta * (y**2 @ w)[0] - cp.log(beta) + fit))
            terms.append(-cp.sum(cp.multiply(w * y, eta)))
            continue
        eta = problem.maps[j] @ eta
        terms.append(-cp.sum(cp.multiply(w * y, eta)))
        mean = {BINARY: cp.logistic, POISSON: cp.exp}.get(family)
        row = cp.log_sum_exp(eta, axis=0) if mean is None else mean(eta)[0]
        terms.append(w @ row)
    found = cp.Problem(cp.Minimize(sum(terms)))
    found.solve(solver=cp.CLARABEL)
    return found.value, {pair: G.value for pair, G in Gamma.items()}


@pytest.mark.parametrize(("alpha", "weighted"), [(0.05, True), (0.2, False)])
def test_the_optimum_is_that_of_cvxpy(alpha, weighted):
    weights = np.arange(50) % 3 + 0.5 if weighted else None
    problem = pose(rows(), weights)
    solution = solve(problem, alpha)
    value, Gamma = by_cvxpy(problem, alpha)
    assert solution.converged
    assert 0 <= solution.gap <= 5e-10
    assert abs(solution.objective - value) < 1e-6
    own = blocks(problem)
    for (i, j), expected in Gamma.items():
        np.testing.assert_allclose(solution.value[own[i], own[j]], expected, atol=1e-4)
    np.testing.assert_array_equal(solution.value, solution.value.T)
    for part in own:
        assert not solution.value[part, part].any()


def test_the_gap_bounds_the_distance_to_the_optimum_wherever_it_stops():
    best = solve(pose(rows()), 0.05).objective
    for max_iter in (1, 2):
        early = solve(pose(rows(), max_iter=max_iter, tol=1e-14), 0.05)
        assert early.objective - best <= early.gap + 1e-12
    start = replace(pose(rows()), tol=1e9)
    first = solve(start, 0.05)
    assert first.objective - best <= first.gap


def test_no_pair_is_joined_above_the_largest_alpha():
    problem = pose(rows())
    largest = problem.largest_alpha()
    assert not solve(problem, 1.0001 * largest).value.any()
    assert solve(problem, 0.99 * largest).value.any()
