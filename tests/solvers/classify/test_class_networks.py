"""Networks learned together: gradients, bounds, optima, and what never changes."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from edgewise import InputError
from edgewise.solvers.classify.class_networks import (
    ClassArcs,
    _Margins,
    _PairBound,
    fisher_networks,
    margin_networks,
)
from edgewise.solvers.classify.fisher_scores import fisher_kernel
from edgewise.solvers.linalg.ball_descent import Balls, minimize_over_balls
from tests.cases import by_default
from tests.messages import raises
from tests.solvers.classify.class_problems import (
    by_slsqp,
    class_problem,
    hard_machine,
    log_likelihoods,
    margins_by_slsqp,
    smallest_margins,
)


def fisher(problem, **options):
    return fisher_networks(
        problem.X, problem.labels, problem.coefs, problem.arcs, hard_machine, **options
    )


def margin(problem, **options):
    return margin_networks(problem.X, problem.labels, problem.coefs, problem.arcs, **options)


def radius_margin(problem, coefs, C=1.0):
    """The bound of two classes from its definition."""
    n = len(problem.X)
    kernel = fisher_kernel(problem.X, problem.X, coefs) + np.eye(n) / C
    dual = hard_machine(kernel, np.where(problem.labels == 0, -1.0, 1.0))
    return (np.abs(dual).sum() - 0.5 * dual @ kernel @ dual) * (np.trace(kernel) - kernel.sum() / n)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_gradient_of_the_margins(n_classes):
    problem = class_problem(np.random.default_rng(0), n_classes=n_classes)
    move = ClassArcs.of(problem.X, problem.labels, problem.coefs, problem.arcs, 0.1)
    share = np.random.default_rng(1).uniform(size=len(problem.X))
    margins = _Margins.of(problem.X, problem.labels, problem.coefs, move, 2 * share / share.sum())
    z = 0.1 * np.random.default_rng(2).normal(size=len(problem.arcs))
    gradient = margins.rounded(z, 0.3, 1.5)[1]
    expected = approx_fprime(z, lambda z: margins.rounded(z, 0.3, 1.5)[0])
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_gradient_of_the_bound():
    problem = class_problem(np.random.default_rng(3), n_classes=3, n_per_class=12)
    move = ClassArcs.of(problem.X, problem.labels, problem.coefs, problem.arcs, 0.1)
    cost = np.random.default_rng(4).uniform(0.5, 2.0, size=len(problem.X))
    bound = _PairBound.of(
        problem.X, problem.labels, problem.coefs, (0, 2), move, cost, hard_machine
    )
    z = 0.1 * np.random.default_rng(5).normal(size=len(problem.arcs))

    def value(z):
        return bound.bound(move.residuals(z))[0]

    per_residual = np.zeros_like(move.initial)
    per_residual[np.ix_(bound.rows, bound.blocks)] = bound.bound(move.residuals(z))[1]
    expected = approx_fprime(z, value, 1e-5)
    np.testing.assert_allclose(
        move.gradient(per_residual), expected, rtol=2e-3, atol=1e-3 * np.abs(expected).max()
    )


@pytest.mark.parametrize("nu", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_objective_of_the_margins_is_that_of_a_linear_program(nu, n_classes):
    problem = class_problem(np.random.default_rng(6), n_classes=n_classes, n_per_class=9)
    weights = np.random.default_rng(7).uniform(0.2, 2.0, size=len(problem.X))
    found = margin(problem, nu=nu, weights=weights)
    assert found.start == pytest.approx(smallest_margins(problem, problem.coefs, nu, weights))
    assert found.objective == pytest.approx(smallest_margins(problem, found.value, nu, weights))
    assert found.objective < found.start


def test_bound_is_as_defined_and_falls():
    problem = class_problem(np.random.default_rng(8))
    found = fisher(problem)
    share = radius_margin(problem, found.value) / radius_margin(problem, problem.coefs)
    assert found.objective == pytest.approx(share, rel=1e-5)
    assert found.objective < 0.95


@pytest.mark.parametrize("seed", by_default(1, [10, 11]))
def test_margins_are_not_worse_than_slsqp_finds(seed):
    problem = class_problem(np.random.default_rng(seed), m=8, n_arcs=30)
    found = margin(problem, slack=0.05, tol=1e-5)
    peer = margins_by_slsqp(problem, 0.5, 0.05)
    assert found.objective <= peer + 1e-3 * abs(peer)


@pytest.mark.parametrize("seed", by_default(1, [12, 13]))
def test_bound_is_not_worse_than_slsqp_finds(seed):
    problem = class_problem(np.random.default_rng(seed), m=8, n_arcs=30)
    found = fisher(problem, tol=1e-5)
    start = radius_margin(problem, problem.coefs)
    peer = by_slsqp(problem, lambda d: radius_margin(problem, problem.at(d)) / start, 0.01)
    assert found.objective <= peer + 1e-3


@pytest.mark.parametrize("solve", [fisher, margin])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("slack", [0.01, 0.3])
def test_fit_stays_within_the_slack_and_other_arcs_as_they_were(solve, n_classes, slack):
    problem = class_problem(np.random.default_rng(14), n_classes=n_classes)
    found = solve(problem, slack=slack)
    assert found.converged
    assert found.gap >= 0
    ratio = problem.fit_errors(found.value) / problem.fit_errors(problem.coefs)
    np.testing.assert_allclose(found.fit_error_ratio, ratio)
    assert ratio.max() <= 1 + slack + 1e-9
    assert ratio.max() > 1 + 0.9 * slack, "the slack is worth using"
    is_arc = np.zeros(problem.coefs.shape, dtype=bool)
    is_arc[tuple(problem.arcs.T)] = True
    np.testing.assert_array_equal(found.value[~is_arc], problem.coefs[~is_arc])
    assert np.diff(found.history).max() <= 1e-12


def test_collinear_parents_and_fewer_rows_than_parents():
    rng = np.random.default_rng(15)
    problem = class_problem(rng, n_per_class=4, m=6, n_arcs=30)
    problem.X[:, 1] = problem.X[:, 0]
    for solve in (fisher, margin):
        found = solve(problem)
        assert np.isfinite(found.value).all()
        ratio = problem.fit_errors(found.value) / problem.fit_errors(problem.coefs)
        assert ratio.max() <= 1.01 + 1e-9


def test_weights_of_rows_matter():
    problem = class_problem(np.random.default_rng(16), shift=0.2)
    weights = np.where(problem.labels == 0, 5.0, 1.0)
    for solve in (fisher, margin):
        assert not np.allclose(solve(problem).value, solve(problem, weights=weights).value)


def test_cost_of_slack_matters():
    problem = class_problem(np.random.default_rng(17), shift=0.2)
    assert not np.allclose(fisher(problem, C=0.01).value, fisher(problem, C=10.0).value)


def test_largest_margins_of_easy_rows_do_not_count():
    problem = class_problem(np.random.default_rng(18))
    found = margin(problem, nu=0.2)
    likelihoods = log_likelihoods(problem, found.value)
    rows = np.arange(len(problem.X))
    own = likelihoods[rows, problem.labels]
    margins = np.sort(2 * own - likelihoods.sum(axis=1))
    if margins[:10].mean() > 0:
        assert found.objective == pytest.approx(-margins[:10].mean(), rel=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slack": 0.0}, "slack_positive"),
        ({"nu": 0.0}, "nu_range"),
        ({"nu": 1.5}, "nu_range"),
        ({"arcs": np.empty((0, 3), dtype=int)}, "arc_triples_shape"),
        ({"labels": np.zeros(50, dtype=int)}, "class_label_numbers"),
        ({"coefs": np.zeros((1, 7, 6))}, "coefs_shape"),
    ],
)
def test_bad_arguments_of_margins(change, message):
    problem = class_problem(np.random.default_rng(19))
    arguments = {
        "X": problem.X,
        "labels": problem.labels,
        "coefs": problem.coefs,
        "arcs": problem.arcs,
    }
    with raises(InputError, code=message):
        margin_networks(**{**arguments, **change})


def test_bad_cost_of_slack():
    with raises(InputError, code="c_positive"):
        fisher(class_problem(np.random.default_rng(20)), C=0.0)


def test_projected_gradient_reaches_the_optimum_of_a_quadratic():
    rng = np.random.default_rng(21)
    root = rng.normal(size=(6, 6))
    target = 3 * rng.normal(size=6)
    balls = Balls(member=np.array([0, 0, 0, 1, 1, 1]), centre=np.zeros(6), radius=np.ones(2))

    def quadratic(z):
        away = root @ (z - target)
        return 0.5 * float(away @ away), root.T @ away

    minimum = minimize_over_balls(quadratic, balls, np.zeros(6), tol=1e-8, max_iter=2000)
    assert minimum.converged
    assert minimum.gap <= 1e-8
    assert np.linalg.norm(minimum.z[:3]) <= 1 + 1e-12
    import cvxpy as cp

    z = cp.Variable(6)
    problem = cp.Problem(
        cp.Minimize(0.5 * cp.sum_squares(root @ (z - target))),
        [cp.norm(z[:3]) <= 1, cp.norm(z[3:]) <= 1],
    )
    problem.solve(solver=cp.CLARABEL)
    assert minimum.value == pytest.approx(problem.value, rel=1e-6)
    stopped = minimize_over_balls(quadratic, balls, np.zeros(6), tol=1e-8, max_iter=2)
    assert not stopped.converged
    assert len(stopped.history) == 3
