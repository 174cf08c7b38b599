"""The locally constant solver against CVXPY, closed forms and its own other solvers."""

from pathlib import Path

import numpy as np
import pytest

from edgewise import InputError, SolverError
from edgewise.solvers import graphical_lasso, locally_constant, locally_constant_path
from tests.messages import raises
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
    ("chain", (7,)),
    ("ring", (7,)),
    ("grid", (3, 3)),
    ("grid", (2, 2, 2)),
    ("star", (6,)),
]


def assert_optimal(solution, S, thresholds, tau, pairs, tol=1e-6):
    """What must hold for every solution."""
    p = len(S)
    Theta = solution.value
    np.testing.assert_array_equal(Theta, Theta.T)
    assert np.linalg.eigvalsh(Theta)[0] > 0
    assert solution.converged
    assert -1e-10 * p <= solution.gap <= tol * p
    np.testing.assert_allclose(Theta @ solution.covariance, np.eye(p), atol=1e-8)
    assert solution.objective == pytest.approx(objective(Theta, S, thresholds, tau, pairs))
    off = ~np.eye(p, dtype=bool)
    np.testing.assert_array_equal(solution.groups >= 0, (Theta != 0) & off)
    for number in range(solution.n_groups):
        assert len(np.unique(Theta[solution.groups == number])) == 1


@pytest.mark.parametrize(("kind", "shape"), ARRANGEMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_an_interior_point_method(kind, shape, seed):
    rng = np.random.default_rng([seed, len(shape), shape[0]])
    p = int(np.prod(shape))
    pairs = pairs_of(kind, *shape)
    S = random_problem(rng, pairs, p, sample_sizes(p)[seed])
    alpha = 10 ** rng.uniform(-2, -0.5)
    tau = alpha * 10 ** rng.uniform(-1, 1)
    solution = locally_constant(S, alpha, tau, pairs)
    thresholds = elementwise(p, alpha)
    assert_optimal(solution, S, thresholds, tau, pairs)
    value, _ = cvxpy_locally_constant(S, thresholds, tau, pairs)
    assert solution.objective - solution.gap - 1e-7 <= value <= solution.objective + 1e-7


@pytest.mark.parametrize("seed", range(4))
def test_arbitrary_pairs_weights_and_a_free_diagonal(seed):
    rng = np.random.default_rng(seed)
    p = 7
    pairs = random_pairs(rng, p, 8)
    S = random_problem(rng, pairs, p, 5 if seed % 2 else 60)
    weights = rng.uniform(0.3, 2.0, (p, p))
    weights = (weights + weights.T) / 2
    weights[1, 4] = weights[4, 1] = np.inf
    is_diagonal_penalized = seed < 2
    solution = locally_constant(
        S, 0.1, 0.06, pairs, weights=weights, penalize_diagonal=is_diagonal_penalized, tol=1e-8
    )
    thresholds = elementwise(p, 0.1, weights, penalize_diagonal=is_diagonal_penalized)
    assert_optimal(solution, S, thresholds, 0.06, pairs, tol=1e-8)
    value, _ = cvxpy_locally_constant(S, thresholds, 0.06, pairs)
    assert solution.objective == pytest.approx(value, abs=2e-7)
    assert solution.value[1, 4] == 0


def test_the_golden_problem_in_closed_form():
    S, alpha, tau, pairs = golden_problem()
    solution = locally_constant(S, alpha, tau, pairs, tol=1e-12)
    assert solution.objective == pytest.approx(14.6333678568, abs=1e-9)
    # The objective grows by more than a third of the squared distance from the optimum.
    distance = np.sqrt(3 * max(solution.gap, 1e-14))
    block = solution.value[2:5, 8:11]
    assert len(np.unique(block)) == 1
    assert block[0, 0] == pytest.approx(-0.0699557962, abs=distance)
    inside = np.r_[2:5, 8:11]
    expected = np.full(14, 1 / 1.05)
    expected[inside] = 0.9680377258
    np.testing.assert_allclose(np.diag(solution.value), expected, atol=distance)
    assert np.count_nonzero(solution.value) == 14 + 18
    assert solution.n_groups == 1


def test_the_gap_exposes_where_the_descent_stalls():
    S, alpha, tau, pairs = golden_problem()
    solution = locally_constant(S, alpha, tau, pairs, solver="descent")
    np.testing.assert_allclose(solution.value, np.eye(14) / 1.05, atol=1e-12)
    assert solution.objective == pytest.approx(14.6830622984, abs=1e-9)
    assert solution.gap == pytest.approx(14.6830622984 - 14.6333678568, abs=1e-5)
    assert not solution.converged


@pytest.mark.parametrize(("kind", "shape"), ARRANGEMENTS)
def test_three_solvers_agree(kind, shape):
    rng = np.random.default_rng(11)
    p = int(np.prod(shape))
    pairs = pairs_of(kind, *shape)
    S = random_problem(rng, pairs, p, 3 * p)
    best = locally_constant(S, 0.05, 0.05, pairs, tol=1e-9)
    dual = locally_constant(S, 0.05, 0.05, pairs, solver="dual", tol=1e-9)
    descent = locally_constant(S, 0.05, 0.05, pairs, solver="descent", tol=1e-9)
    assert best.converged
    assert dual.converged
    assert dual.objective == pytest.approx(best.objective, abs=2e-8 * p)
    np.testing.assert_allclose(dual.value, best.value, atol=2e-3)
    assert descent.objective >= best.objective - 1e-8
    assert descent.gap == pytest.approx(descent.objective - best.objective, abs=1e-7)
    # Where nothing is torn between neighbours, the descent arrives as well.
    easy = locally_constant(S, 0.1, 1e-4, pairs, solver="descent", tol=1e-7)
    assert easy.gap <= 1e-4


def test_without_local_constancy_it_is_the_graphical_lasso():
    rng = np.random.default_rng(3)
    pairs = pairs_of("grid", 3, 4)
    S = random_problem(rng, pairs, 12, 30)
    reference = graphical_lasso(S, 0.1, penalize_diagonal=True, tol=1e-10)
    for tau, neighbors in ((0.0, pairs), (0.3, np.empty((0, 2), dtype=int))):
        solution = locally_constant(S, 0.1, tau, neighbors, tol=1e-10)
        np.testing.assert_allclose(solution.value, reference.value, atol=1e-6)
        assert solution.objective == pytest.approx(reference.objective, abs=1e-9)
    nearly = locally_constant(S, 0.1, 1e-9, pairs, tol=1e-9)
    np.testing.assert_allclose(nearly.value, reference.value, atol=1e-4)


def test_very_strong_local_constancy_makes_all_edges_equal():
    rng = np.random.default_rng(4)
    pairs = pairs_of("grid", 3, 3)
    S = random_problem(rng, pairs, 9, 40) + 0.4
    solution = locally_constant(S, 0.02, 50.0, pairs)
    off = solution.value[~np.eye(9, dtype=bool)]
    assert len(np.unique(off)) == 1
    assert off[0] < 0
    assert solution.n_groups == 1


def test_no_edge_from_the_largest_covariance_on():
    rng = np.random.default_rng(5)
    pairs = pairs_of("ring", 8)
    S = random_problem(rng, pairs, 8, 30)
    largest = np.abs(S - np.diag(np.diag(S))).max()
    empty = locally_constant(S, largest, 0.1, pairs)
    np.testing.assert_array_equal(empty.value, np.diag(np.diag(empty.value)))
    np.testing.assert_allclose(np.diag(empty.value), 1 / (np.diag(S) + largest), rtol=1e-12)
    assert empty.gap == 0
    assert locally_constant(S, 0.9 * largest, 1e-3, pairs).n_groups > 0


def test_permuting_the_variables_permutes_the_solution():
    rng = np.random.default_rng(6)
    pairs = pairs_of("grid", 3, 3)
    S = random_problem(rng, pairs, 9, 20)
    order = rng.permutation(9)
    place = np.argsort(order)
    one = locally_constant(S, 0.05, 0.05, pairs, tol=1e-10)
    other = locally_constant(S[np.ix_(order, order)], 0.05, 0.05, place[pairs], tol=1e-10)
    np.testing.assert_allclose(other.value, one.value[np.ix_(order, order)], atol=1e-5)
    assert other.objective == pytest.approx(one.objective, abs=1e-8)


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 1e12])
@pytest.mark.parametrize("solver", ["admm", "descent"])
def test_units_do_not_matter(unit, solver):
    rng = np.random.default_rng(7)
    pairs = pairs_of("chain", 8)
    S = random_problem(rng, pairs, 8, 20)
    one = locally_constant(S, 0.05, 0.03, pairs, solver=solver)
    other = locally_constant(unit * S, unit * 0.05, unit * 0.03, pairs, solver=solver)
    np.testing.assert_allclose(unit * other.value, one.value, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(other.groups, one.groups)
    assert other.objective == pytest.approx(one.objective + 8 * np.log(unit), abs=1e-7)


def test_a_path_gives_what_single_solves_give():
    rng = np.random.default_rng(8)
    pairs = pairs_of("grid", 3, 3)
    S = random_problem(rng, pairs, 9, 15)
    alphas, taus = [0.02, 0.3, 0.1], [0.05, 0.0, 0.4]
    rows = locally_constant_path(S, alphas, taus, pairs, tol=1e-8)
    for alpha, row in zip(alphas, rows, strict=True):
        for tau, solution in zip(taus, row, strict=True):
            assert (solution.alpha, solution.tau) == (alpha, tau)
            assert_optimal(solution, S, elementwise(9, alpha), tau, pairs, tol=1e-8)
            single = locally_constant(S, alpha, tau, pairs, tol=1e-8)
            assert solution.objective == pytest.approx(single.objective, abs=2e-7)


def test_a_start_near_the_solution_saves_iterations_only():
    rng = np.random.default_rng(2)
    pairs = pairs_of("ring", 20)
    S = random_problem(rng, pairs, 20, 80)
    cold = locally_constant(S, 0.01, 0.03, pairs, tol=1e-8)
    warm = locally_constant(S, 0.01, 0.03, pairs, tol=1e-8, init=cold.value)
    assert warm.n_iter < cold.n_iter
    assert warm.objective == pytest.approx(cold.objective, abs=4e-7)
    S, alpha, tau, pairs = golden_problem()
    best = locally_constant(S, alpha, tau, pairs)
    stalled = locally_constant(S, alpha, tau, pairs, solver="descent")
    helped = locally_constant(S, alpha, tau, pairs, solver="descent", init=best.value)
    assert helped.objective < stalled.objective - 0.04


def test_running_out_of_iterations_is_said():
    rng = np.random.default_rng(10)
    pairs = pairs_of("grid", 4, 4)
    S = random_problem(rng, pairs, 16, 20)
    solution = locally_constant(S, 0.01, 0.05, pairs, max_iter=3)
    assert not solution.converged
    assert solution.gap > 1e-6 * 16
    assert solution.n_iter == 3
    best = locally_constant(S, 0.01, 0.05, pairs)
    assert solution.objective - solution.gap <= best.objective <= solution.objective
    assert np.linalg.eigvalsh(solution.value)[0] > 0


def test_a_problem_that_needs_thousands_of_iterations_gets_there():
    """Two rows, nine variables, next to no sparsity: the slowest of many random problems."""
    with np.load(Path(__file__).with_name("slow_locally_constant.npz")) as stored:
        S, alpha, tau = stored["S"], float(stored["alpha"]), float(stored["tau"])
        pairs = stored["pairs"]
    solution = locally_constant(S, alpha, tau, pairs)
    assert_optimal(solution, S, elementwise(len(S), alpha), tau, pairs)


def test_the_history_ends_with_the_gap():
    S, alpha, tau, pairs = golden_problem()
    for solver in ("admm", "descent", "dual"):
        solution = locally_constant(S, alpha, tau, pairs, solver=solver)
        assert solution.history[-1] == pytest.approx(solution.gap, abs=1e-9)


def test_one_variable_and_one_pair():
    one = locally_constant(np.array([[2.0]]), 0.5, 0.1, np.empty((0, 2), dtype=int))
    np.testing.assert_allclose(one.value, [[0.4]])
    two = locally_constant(np.array([[1.0, 0.5], [0.5, 1.0]]), 0.1, 9.0, [(0, 1)], tol=1e-11)
    reference = graphical_lasso(np.array([[1.0, 0.5], [0.5, 1.0]]), 0.1, penalize_diagonal=True)
    np.testing.assert_allclose(two.value, reference.value, atol=1e-6)


def test_no_minimum_is_said():
    S = np.ones((3, 3))
    with raises(SolverError, code="free_edges_singular"):
        locally_constant(S, 0.1, 0.1, [(0, 1)], weights=np.zeros((3, 3)), penalize_diagonal=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 0.0}, "space_alpha_positive"),
        ({"alpha": -1.0}, "finite_non_negative"),
        ({"alpha": np.nan}, "finite_non_negative"),
        ({"tau": -0.1}, "finite_non_negative"),
        ({"tau": np.inf}, "finite_non_negative"),
        ({"pairs": [(0, 3)]}, "invalid_neighbor_pair"),
        ({"pairs": [(1, 1)]}, "invalid_neighbor_pair"),
        ({"pairs": [(0, 1), (1, 0)]}, "invalid_neighbor_pair"),
        ({"pairs": [0, 1]}, "neighbor_pair_shape"),
        ({"pairs": "chain"}, "neighbor_pair_shape"),
        ({"solver": "newton"}, "space_solver"),
        ({"tol": 0.0}, "tol_positive"),
        ({"max_iter": 0}, "max_iter_range"),
        ({"init": -np.eye(3)}, "init_indefinite"),
        ({"init": np.eye(2)}, "init_shape"),
        ({"weights": np.ones((2, 2))}, "glasso_weights_shape"),
        ({"S": np.ones((3, 2))}, "covariance_not_square"),
    ],
)
def test_bad_arguments_are_named(change, message):
    arguments = {"S": np.eye(3) + 0.1, "alpha": 0.1, "tau": 0.1, "pairs": [(0, 1)], **change}
    with raises(InputError, code=message):
        locally_constant(**arguments)


def test_empty_paths_are_refused():
    with raises(InputError, code="alphas_and_taus_empty"):
        locally_constant_path(np.eye(3), [], [0.1], [(0, 1)])


def test_the_number_of_threads_does_not_matter(monkeypatch):
    pairs = pairs_of("grid", 12, 12)
    S = random_problem(np.random.default_rng(0), pairs, 144, 100)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr("edgewise._core.jit.SETTINGS.NUMBA_NUM_THREADS", n_threads)
        found.append(locally_constant(S, 0.05, 0.05, pairs, max_iter=15))
    np.testing.assert_array_equal(found[0].value, found[1].value)
    assert found[0].gap == found[1].gap
