import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError
from edgewise.solvers import graphical_lasso, refit_precision
from edgewise.solvers.gaussian.refit import newton_on_graph


def covariance(n_rows, p, seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n_rows, p)) @ rng.normal(size=(p, p)) * 0.3 + rng.normal(size=(n_rows, p))
    return Y.T @ Y / n_rows


def random_graph(p, share, seed):
    upper = np.triu(np.random.default_rng(seed).random((p, p)) < share, 1)
    return upper | upper.T


def star(p):
    graph = np.zeros((p, p), dtype=bool)
    graph[0, 1:] = graph[1:, 0] = True
    return graph


def cycle(p):
    graph = np.zeros((p, p), dtype=bool)
    for i in range(p):
        graph[i, (i + 1) % p] = graph[(i + 1) % p, i] = True
    return graph


def objective(S, Theta):
    sign, logdet = np.linalg.slogdet(Theta)
    assert sign > 0
    return np.sum(S * Theta) - logdet


def equations(S, adjacency, Theta):
    """Largest error in the likelihood equations."""
    free = adjacency | np.eye(len(S), dtype=bool)
    return np.abs(np.linalg.inv(Theta) - S)[free].max()


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(0.0, 1.0))
def test_agrees_with_cvxpy(seed, p, share):
    S, adjacency = covariance(3 * p, p, seed), random_graph(p, share, seed)
    ours = refit_precision(S, adjacency)
    Theta = cvxpy.Variable((p, p), PSD=True)
    cost = cvxpy.trace(S @ Theta) - cvxpy.log_det(Theta)
    absent = ~adjacency & ~np.eye(p, dtype=bool)
    constraints = [Theta[i, j] == 0 for i, j in np.argwhere(absent)]
    problem = cvxpy.Problem(cvxpy.Minimize(cost), constraints)
    problem.solve(solver="CLARABEL")
    assert ours.exists
    assert ours.converged
    assert ours.objective == pytest.approx(problem.value, abs=1e-5)
    np.testing.assert_allclose(ours.value, Theta.value, atol=2e-3 * np.abs(Theta.value).max())


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 25), st.floats(0.05, 0.9))
def test_satisfies_the_likelihood_equations(seed, p, share):
    S, adjacency = covariance(2 * p, p, seed), random_graph(p, share, seed)
    solution = refit_precision(S, adjacency)
    scale = np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    free = adjacency | np.eye(p, dtype=bool)
    assert solution.converged
    assert (np.abs(solution.covariance - S) / scale)[free].max() < 1e-6
    assert solution.residual < 1e-6
    assert (solution.value[~free] == 0).all()
    np.testing.assert_array_equal(solution.value, solution.value.T)
    np.testing.assert_allclose(solution.covariance @ solution.value, np.eye(p), atol=1e-8)
    assert solution.objective == pytest.approx(objective(S, solution.value), abs=1e-9)


def test_gap_bounds_the_distance_to_the_optimum():
    S, adjacency = covariance(40, 20, 3), random_graph(20, 0.4, 3)
    exact = refit_precision(S, adjacency)
    gaps = []
    for max_iter in (3, 4, 5):
        rough = refit_precision(S, adjacency, max_iter=max_iter)
        assert not rough.converged
        assert rough.gap >= rough.objective - exact.objective >= -1e-12
        gaps.append(rough.gap)
    assert gaps == sorted(gaps, reverse=True)
    assert 0 <= exact.gap <= 1e-14 * 20


def test_tolerance_is_obeyed():
    S, adjacency = covariance(40, 20, 3), random_graph(20, 0.4, 3)
    rough, fine = refit_precision(S, adjacency, tol=1e-4), refit_precision(S, adjacency)
    assert rough.converged
    assert rough.n_iter < fine.n_iter
    assert fine.gap < 1e-3 * rough.gap <= 1e-3 * 1e-4 * 20


def test_closed_forms():
    S = covariance(30, 6, 1)
    everything = refit_precision(S, np.ones((6, 6)))
    np.testing.assert_allclose(everything.value, np.linalg.inv(S), rtol=1e-9)
    nothing = refit_precision(S, np.zeros((6, 6)))
    np.testing.assert_allclose(nothing.value, np.diag(1 / S.diagonal()), rtol=1e-14)
    # A chain 0 - 1 - 2: one over each pair, less one over the middle.
    chain = np.eye(3, k=1, dtype=bool) | np.eye(3, k=-1, dtype=bool)
    expected = np.zeros((3, 3))
    expected[:2, :2] += np.linalg.inv(S[:2, :2])
    expected[1:, 1:] += np.linalg.inv(S[1:3, 1:3])
    expected[1, 1] -= 1 / S[1, 1]
    np.testing.assert_allclose(refit_precision(S[:3, :3], chain).value, expected, rtol=1e-8)


def test_takes_back_the_shrinkage_of_a_lasso():
    S = covariance(100, 10, 5)
    lasso = graphical_lasso(S, 0.3)
    refit = refit_precision(S, lasso.value != 0)
    np.testing.assert_array_equal(refit.value != 0, lasso.value != 0)
    assert refit.objective < objective(S, lasso.value) - 0.05


@pytest.mark.parametrize("n_rows", [2, 3, 10])
def test_a_star_needs_two_rows_only(n_rows):
    # A hub with more neighbours than rows: their covariance is singular, the optimum exists.
    S = covariance(n_rows, 20, n_rows)
    solution = refit_precision(S, star(20))
    assert solution.converged
    assert equations(S, star(20), solution.value) < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_newton_steps_decide_where_regressions_are_singular(seed):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(2, 12))
    S = Y.T @ Y / 2
    found = newton_on_graph(S / np.sqrt(np.outer(S.diagonal(), S.diagonal())), cycle(12), 1e-12)
    solution = refit_precision(S, cycle(12))
    assert solution.exists == found.has_minimum
    if solution.exists:
        assert equations(S, cycle(12), solution.value) < 1e-6


def test_newton_by_conjugate_gradients():
    S = covariance(4, 9, 2)
    scale = np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    found = newton_on_graph(S / scale, cycle(9), 1e-12, dense=0)
    full = refit_precision(S, cycle(9))
    assert found.has_minimum
    np.testing.assert_allclose(found.Theta / scale, full.value, rtol=1e-5, atol=1e-8)
    assert refit_precision(S, cycle(9), max_iter=1).exists


@pytest.mark.parametrize(("p", "share", "seed"), [(12, 0.5, 0), (20, 0.4, 0)])
def test_columns_that_nearly_determine_each_other(p, share, seed):
    """Sweeps alone would stop above the tolerance, or take hundreds more."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(p, 3))
    S = factors @ factors.T + 1e-4 * np.eye(p)
    upper = np.triu(rng.random((p, p)) < share, 1)
    graph = upper | upper.T
    S /= np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    solution = refit_precision(S, graph)
    assert solution.converged
    assert 200 < solution.n_iter < 300
    assert equations(S, graph, solution.value) < 1e-8
    few = refit_precision(S, graph, max_iter=200)
    assert not few.converged
    assert few.gap >= few.objective - solution.objective >= -1e-12


def test_a_clique_with_too_few_rows_is_named():
    graph = np.zeros((8, 8), dtype=bool)
    graph[np.ix_([1, 4, 6, 7], [1, 4, 6, 7])] = True
    np.fill_diagonal(graph, False)
    solution = refit_precision(covariance(3, 8, 0), graph)
    assert not solution.exists
    assert not solution.converged
    assert "'1', '4', '6' and '7'" in solution.message
    assert "more rows, or fewer edges" in solution.message
    assert np.isnan(solution.value).all()
    assert np.isnan(solution.covariance).all()
    assert solution.objective == -np.inf
    assert solution.gap == solution.residual == np.inf
    assert refit_precision(covariance(4, 8, 0), graph).exists


def test_a_cycle_without_a_completion():
    # Three steps of correlation 0.9 cannot turn into -0.9; no clique shows it.
    S = np.eye(4)
    for i, j, r in [(0, 1, 0.9), (1, 2, 0.9), (2, 3, 0.9), (0, 3, -0.9)]:
        S[i, j] = S[j, i] = r
    solution = refit_precision(S, cycle(4))
    assert not solution.exists
    assert "without bound" in solution.message


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7, 1.0])
@pytest.mark.parametrize("n_rows", [1, 2, 5, 10, 15])
def test_small_samples_never_crash(n_rows, share):
    for seed in range(5):
        S, graph = covariance(n_rows, 20, seed), random_graph(20, share, seed)
        solution = refit_precision(S, graph)
        assert solution.exists == (solution.message == "")
        if solution.exists:
            assert equations(S, graph, solution.value) < 1e-5 * S.diagonal().max()


def test_zero_variance_is_said():
    S = covariance(30, 4, 0)
    S[2] = S[:, 2] = 0.0
    solution = refit_precision(S, np.ones((4, 4)))
    assert not solution.exists
    assert "'2' have variance 0" in solution.message


def test_permutation_and_scale_equivariance():
    S, graph = covariance(30, 9, 4), random_graph(9, 0.4, 4)
    base = refit_precision(S, graph).value
    order = np.random.default_rng(0).permutation(9)
    permuted = refit_precision(S[np.ix_(order, order)], graph[np.ix_(order, order)]).value
    np.testing.assert_allclose(permuted, base[np.ix_(order, order)], atol=1e-7)
    d = np.logspace(-3, 3, 9)
    scaled = refit_precision(S * np.outer(d, d), graph).value
    np.testing.assert_allclose(scaled * np.outer(d, d), base, atol=1e-7)


def test_the_diagonal_of_the_graph_makes_no_difference():
    S, graph = covariance(30, 5, 4), random_graph(5, 0.4, 4)
    with_diagonal = (graph | np.eye(5, dtype=bool)).astype(int)
    np.testing.assert_array_equal(
        refit_precision(S, with_diagonal).value, refit_precision(S, graph).value
    )
    assert with_diagonal.diagonal().all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"adjacency": np.zeros((2, 2))}, "shape"),
        ({"adjacency": np.zeros(3)}, "square"),
        ({"adjacency": np.eye(3, k=1)}, "symmetric"),
        ({"S": np.ones((2, 3))}, "square"),
        ({"S": np.diag([1.0, np.nan, 1.0])}, "NaN"),
        ({"S": np.diag([1.0, -1.0, 1.0])}, "variance"),
        ({"tol": 0.0}, "tol"),
        ({"max_iter": 0}, "max_iter"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"S": np.eye(3), "adjacency": np.zeros((3, 3))} | change
    with pytest.raises(InputError, match=message):
        refit_precision(**arguments)
