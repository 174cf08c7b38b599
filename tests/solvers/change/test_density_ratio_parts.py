"""Parts of the density-ratio solver: no ridge, screening, scales, branches."""

import re
from dataclasses import replace

import numpy as np
import pytest

from edgewise import SolverError
from edgewise.solvers import density_ratio
from edgewise.solvers.change.density_ratio import (
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
    ratio_alpha_min,
)
from edgewise.solvers.change.ratio_newton import DualProblem, Proximal, _direction, _System, newton
from edgewise.solvers.change.ratio_path import Stop, _dual, solve_with_screening, starting_point
from edgewise.solvers.change.ratio_problem import Coefficients, RatioProblem
from edgewise.stats.pair_features import pair_features
from tests.messages import raises
from tests.solvers.change.ratio_problems import (
    BASES,
    cvxpy_ratio,
    cvxpy_smallest_alpha,
    draw,
    listed,
    objective,
    problem,
)


def stated(X_p, X_q, basis="gaussian", degree=2, ridge=0.1, penalize_diagonal=True):
    """The problem in the form that the solver has it."""
    return RatioProblem(
        features=pair_features(X_q, basis, degree),
        target=pair_features(X_p, basis, degree).mean(),
        offset=np.zeros(len(X_q)),
        ridge=ridge,
        penalize_diagonal=penalize_diagonal,
    )


def variables(pairs, d=15):
    return np.unique([pairs // d, pairs % d])


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("name", BASES)
def test_the_smallest_alpha_without_a_ridge(name, penalize_diagonal):
    sizes = {"n_p": 200, "n_q": 60} if not penalize_diagonal else {"n_q": 15}
    X_p, X_q, options = problem(name, seed=20, **sizes)
    options["penalize_diagonal"] = penalize_diagonal
    smallest = ratio_alpha_min(X_p, X_q, **options)
    expected = cvxpy_smallest_alpha(X_p, X_q, **options)
    assert smallest == pytest.approx(expected, rel=3e-6, abs=1e-7)


@pytest.mark.parametrize("solver", ["auto", "dual", "primal"])
@pytest.mark.parametrize("name", ["gaussian", "polynomial 2", "two kernels"])
def test_below_the_smallest_alpha_an_error_says_where_to_go(name, solver):
    X_p, X_q, options = problem(name, seed=21, n_q=12)
    smallest = ratio_alpha_min(X_p, X_q, **options)
    options |= {"ridge": 0.0, "solver": solver}
    with raises(SolverError, code="ratio_unbounded") as caught:
        density_ratio(X_p, X_q, 0.7 * smallest, max_iter=100, **options)
    named = float(re.search(r"bounded only from alpha=(\S+) on", str(caught.value))[1])
    assert smallest <= named <= 1.001 * smallest
    assert density_ratio(X_p, X_q, 1.02 * smallest, tol=1e-7, **options).converged


def test_just_above_the_smallest_alpha():
    X_p, X_q, _ = problem(seed=22, n_q=12)
    alpha = 1.002 * ratio_alpha_min(X_p, X_q)
    solution = density_ratio(X_p, X_q, alpha, ridge=0.0, solver="dual", tol=1e-9)
    assert solution.converged
    theta = cvxpy_ratio(X_p, X_q, alpha, 0.0)
    assert solution.objective <= objective(theta, X_p, X_q, alpha, 0.0) + 1e-7


def test_a_free_diagonal_that_nothing_matches():
    X_p, X_q, _ = problem(seed=23)
    X_p[:, 2] *= 50.0
    match = "no minimum for any alpha"
    with pytest.raises(SolverError, match=match):
        ratio_alpha_min(X_p, X_q, penalize_diagonal=False)
    with pytest.raises(SolverError, match=match):
        ratio_alpha_max(X_p, X_q, penalize_diagonal=False, ridge=0.0)
    with pytest.raises(SolverError, match=match):
        density_ratio(X_p, X_q, 0.5, penalize_diagonal=False, ridge=0.0, max_iter=100)
    # A column that is constant before cannot change at all.
    X_p, X_q, _ = problem(seed=23)
    X_q[:, 2] = 1.0
    with pytest.raises(SolverError, match=match):
        ratio_alpha_min(X_p, X_q, penalize_diagonal=False)
    assert density_ratio(X_p, X_q, 0.5, penalize_diagonal=False).converged


@pytest.mark.parametrize("scale", [1e-3, 30.0, 1e3])
@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_scales_cancel(scale, ridge, solver):
    X_p, X_q, _ = problem(seed=24, n_q=50)
    alpha = 0.4 * ratio_alpha_max(X_p, X_q)
    options = {"solver": solver, "tol": 1e-10}
    plain = density_ratio(X_p, X_q, alpha, ridge=ridge, **options)
    scaled = density_ratio(
        scale * X_p, scale * X_q, scale**2 * alpha, ridge=scale**4 * ridge, **options
    )
    assert scaled.converged
    assert scaled.objective == pytest.approx(plain.objective, abs=1e-9)
    np.testing.assert_allclose(scale**2 * scaled.value, plain.value, atol=1e-4)
    assert ratio_alpha_min(scale * X_p, scale * X_q) == pytest.approx(
        scale**2 * ratio_alpha_min(X_p, X_q), rel=1e-5, abs=1e-7 * scale**2
    )


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_with_a_ridge_no_ratio_is_too_large(solver):
    whole = stated(*problem(seed=25)[:2])
    stop = Stop(gap=1e-8, slightly=1e-8, max_iter=500, patience=1, spread=1e-3)
    point = solve_with_screening(whole, 0.1, starting_point(whole), np.inf, solver, stop)
    assert point.certificate.gap <= stop.gap
    assert np.ptp(point.log_ratio) > stop.spread


def test_a_weak_ridge_is_a_ridge():
    # Far below the smallest alpha that would do without it, ratios are astronomical.
    X_p, X_q = draw(np.random.default_rng(25), n_p=30, n_q=20, d=12)
    alphas = ratio_alpha_max(X_p, X_q) * np.geomspace(1.0, 0.05, 8)
    assert alphas[-1] < 0.2 * ratio_alpha_min(X_p, X_q)
    for solution in density_ratio_path(X_p, X_q, alphas, ridge=1e-4, solver="dual"):
        assert solution.converged
    assert np.ptp(log_density_ratio(X_q, solution.value)) > 2e4
    value = objective(listed(solution.value), X_p, X_q, alphas[-1], 1e-4)
    assert solution.objective == pytest.approx(value, rel=1e-10)
    theta = cvxpy_ratio(X_p, X_q, alphas[-1], 1e-4)
    assert value <= objective(theta, X_p, X_q, alphas[-1], 1e-4) + 1e-6


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_variables_that_screening_misses_join_in(solver):
    rng = np.random.default_rng(26)
    X_p, X_q = draw(rng, n_p=100, n_q=100, d=15, change=0.9)
    X_p[:, 2] = 0.8 * X_p[:, 1] + 0.6 * X_p[:, 2]
    whole = stated(X_p, X_q, ridge=0.01)
    alpha = 0.4 * ratio_alpha_max(X_p, X_q)
    stop = Stop(gap=1e-9, slightly=1e-9, max_iter=500)
    start = starting_point(whole)
    # As if the alpha before had been this one: only what is too long already is looked at.
    point = solve_with_screening(whole, alpha, start, alpha, solver, stop)
    looked_at = whole.target.above(start.certificate.moments, alpha, alpha)
    assert set(variables(looked_at)) < set(variables(point.theta.pairs)) < set(range(15))
    assert point.certificate.gap <= stop.gap
    expected = cvxpy_ratio(X_p, X_q, alpha, 0.01)
    found = whole.features.full(point.theta.pairs, point.theta.values)
    np.testing.assert_allclose(listed(found), expected, atol=1e-3)
    again = whole.certify(point.theta, point.log_ratio, point.log_weights, alpha)
    assert again.gap == pytest.approx(point.certificate.gap, abs=1e-12)


def test_a_step_of_alpha_that_is_too_large_for_screening():
    X_p, X_q = draw(np.random.default_rng(27), n_p=60, n_q=60, d=20)
    largest = ratio_alpha_max(X_p, X_q)
    path = density_ratio_path(X_p, X_q, [0.99 * largest, 0.05 * largest], tol=1e-10)
    solution = list(path)[-1]
    assert solution.converged
    cold = density_ratio(X_p, X_q, 0.05 * largest, tol=1e-10, solver="primal")
    np.testing.assert_allclose(solution.value, cold.value, atol=1e-3)
    assert solution.objective == pytest.approx(cold.objective, abs=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("name", ["gaussian", "polynomial 2", "ising", "two kernels"])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
def test_conjugate_gradients_go_the_same_way(name, ridge, penalize_diagonal):
    X_p, X_q, options = problem(name, seed=28, n_q=60)
    options["penalize_diagonal"] = penalize_diagonal
    alpha = 0.5 * ratio_alpha_max(X_p, X_q, **options)
    whole = stated(X_p, X_q, ridge=ridge, **options)
    start = starting_point(whole)
    proximal = Proximal(center=start.theta, size=20.0) if ridge == 0 else None
    dual = DualProblem(problem=whole, alpha=alpha, proximal=proximal)
    gap = 1e-12
    factored, iterative = (
        newton(dual, start.log_weights, gap=gap, max_iter=100, direct=direct)
        for direct in (3000, 0)
    )
    for result in (factored, iterative):
        assert result.gap <= gap
    # Either is so far from the optimum, at most, by the curvature of the ridge or of the term.
    first, second = (
        whole.features.full(result.point.theta.pairs, result.point.theta.values)
        for result in (factored, iterative)
    )
    np.testing.assert_allclose(second, first, atol=2.0 * np.sqrt(2.0 * gap / dual.curvature))


@pytest.mark.parametrize("name", ["gaussian", "power", "ising"])
def test_a_crowded_system_from_what_is_not_active(name):
    X_p, X_q, options = problem(name, seed=29, d=9)
    alpha = 0.02 * ratio_alpha_max(X_p, X_q, **options)
    whole = stated(X_p, X_q, **options)
    dual = DualProblem(problem=whole, alpha=alpha)
    point = newton(dual, starting_point(whole).log_weights, gap=1e-10, max_iter=50).point
    assert len(point.theta.pairs) > 25
    root = np.exp(0.5 * point.log_weights)
    rows = whole.features.columns(point.theta.pairs, root).reshape(-1, len(X_q))
    gram = _System(dual, point.theta, root)._gram()
    np.testing.assert_allclose(np.tril(gram), np.tril(rows.T @ rows) / dual.curvature, atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "polynomial 2", "polynomial 3", "two kernels"])
@pytest.mark.parametrize("n_q", [8, 200])
@pytest.mark.parametrize("branch", ["direct", "by gradients"])
def test_newton_directions_solve_the_system(name, n_q, branch):
    """Against the Hessian by finite differences of the gradient of the dual objective."""
    X_p, X_q, options = problem(name, seed=30, n_q=n_q, d=4)
    dual = DualProblem(problem=stated(X_p, X_q, ridge=0.3, **options), alpha=0.05)
    rng = np.random.default_rng(0)
    point = dual.at(0.3 * rng.normal(size=n_q))
    weights = np.exp(point.log_weights)

    def gradient(a):
        # Not normalised: the derivative of sum a log a + (ridge / 2) |theta(a)|^2.
        moments = dual.problem.features.moments(a)
        theta = dual.problem.shrink(moments, dual.alpha, dual.curvature)
        return np.log(a) + 1.0 - dual.problem.log_ratio(theta)

    centered = gradient(weights)
    centered = centered - weights @ centered
    largest = 3000 if branch == "direct" else 0
    step = _direction(dual, point, centered, largest) * weights
    assert abs(step.sum()) < 1e-7 * np.abs(centered).max()
    size = 1e-6
    bent = (gradient(weights + size * step) - gradient(weights - size * step)) / (2.0 * size)
    rest = bent + centered
    np.testing.assert_allclose(rest - rest.mean(), 0.0, atol=1e-4 * np.abs(centered).max())


@pytest.mark.parametrize("name", ["gaussian", "polynomial 2"])
@pytest.mark.parametrize("size", [None, 10.0])
def test_every_newton_step_goes_down(name, size):
    X_p, X_q, options = problem(name, seed=31, n_q=40)
    proximal = None
    if size is not None:
        center = Coefficients(
            np.array([1, 7]), np.full((2, pair_features(X_q, **options).size), 0.2)
        )
        proximal = Proximal(center=center, size=size)
    whole = stated(X_p, X_q, ridge=0.01, **options)
    dual = DualProblem(problem=whole, alpha=0.1, proximal=proximal)
    start = starting_point(whole).log_weights
    results = [newton(dual, start, gap=1e-12, max_iter=steps) for steps in range(12)]
    values = np.array([result.point.value for result in results])
    assert (np.diff(values) <= 1e-13 * np.abs(values[1:])).all()
    assert values[0] > values[-1]
    # The dual objective bounds the primal one, with the proximal term and without.
    gaps = [result.gap for result in results]
    assert min(gaps) >= 0.0
    assert results[-1].history[: len(results[3].history)] == pytest.approx(results[3].history)
    best = max(-result.point.value - whole.log_n for result in results)
    assert all(-result.point.value - whole.log_n + result.gap >= best - 1e-12 for result in results)


def test_arithmetic_of_a_few_coefficients():
    rng = np.random.default_rng(0)
    for size in (1, 3):
        for n_first, n_second in ((6, 9), (0, 4), (4, 0), (0, 0), (20, 20)):
            dense = np.zeros((2, 20, size))
            some = []
            for row, n in zip(dense, (n_first, n_second), strict=True):
                pairs = np.sort(rng.permutation(20)[:n])
                row[pairs] = rng.normal(size=(n, size))
                some.append(Coefficients(pairs, row[pairs]))
            first, second = some
            assert first.dot(second) == pytest.approx(np.sum(dense[0] * dense[1]))
            for factor in (1.0, -0.5):
                total = first.plus(second, factor)
                np.testing.assert_array_equal(total.pairs, np.union1d(first.pairs, second.pairs))
                expected = (dense[0] + factor * dense[1])[total.pairs]
                np.testing.assert_allclose(total.values, expected, atol=1e-14)


@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_steps_and_history_are_those_of_each_alpha(solver):
    X_p, X_q, _ = problem(seed=31)
    first, *others = density_ratio_path(X_p, X_q, [0.1, 0.1, 0.1], solver=solver)
    assert first.n_iter > 0
    for again in others:
        assert again.n_iter == 0
        assert len(again.history) == 1


def test_the_quicker_way_goes_first():
    X_p, X_q, _ = problem(seed=32)
    whole = stated(X_p, X_q)
    stop = Stop(gap=1e-9, slightly=1e-9, max_iter=500)
    start = starting_point(whole)
    alone = _dual(whole, 0.1, replace(start, pace=(5, 5)), stop)
    assert alone.pace == (alone.n_iter, 5)
    together = _dual(whole, 0.1, replace(start, pace=(6, 5)), stop)
    assert together.pace == (6, together.n_iter)
    # Where the first way is given up, its steps count too.
    after = _dual(whole, 0.1, start, replace(stop, patience=1))
    assert after.n_iter == 1 + together.n_iter
    assert after.pace == (1, together.n_iter)
    for point in (alone, together, after):
        assert point.certificate.gap <= stop.gap
        np.testing.assert_array_equal(point.theta.pairs, alone.theta.pairs)
        np.testing.assert_allclose(point.theta.values, alone.theta.values, atol=1e-3)


@pytest.mark.parametrize("share", [0.8, 0.2])
def test_screening_remembers_the_pace(share):
    X_p, X_q = draw(np.random.default_rng(32), n_p=60, n_q=60, d=12)
    whole = stated(X_p, X_q, ridge=0.01)
    largest = ratio_alpha_max(X_p, X_q)
    stop = Stop(gap=1e-9, slightly=1e-9, max_iter=500)
    start = starting_point(whole)
    for pace, kept in (((0, 700), 1), ((700, 600), 0)):
        before = replace(start, pace=pace)
        point = solve_with_screening(whole, share * largest, before, largest, "auto", stop)
        assert point.pace[kept] == pace[kept]
        assert point.pace != pace
