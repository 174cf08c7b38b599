"""Fused precisions of two groups against CVXPY, GGLasso, JGL and closed forms."""

import contextlib
import io
import shutil
import subprocess

import cvxpy as cp
import numpy as np
import pytest

from edgewise import InputError, SolverError
from edgewise.solvers import graphical_lasso
from edgewise.solvers.change.joint_path import joint_coupling_max, joint_graphical_lasso_path
from tests.messages import raises
from tests.solvers.change.test_fused_neighborhood import covariances, two_samples

SIZES = [(60, 40), (8, 7), (150, 5)]


def on_diagonal(options):
    """Options of the solver, whose diagonal is coupled unless they say otherwise."""
    options = dict(options)
    is_coupled = options.pop("penalize_diagonal", True)
    return options | {"penalize_diagonal": "coupling" if is_coupled else False}


def fused_path(S, alphas, *, sparsity=0.0, tol=1e-6, **options):
    """Solve for strengths of fusion, with a tolerance per variable and not per group."""
    return joint_graphical_lasso_path(S, sparsity, alphas, tol=tol / 2, **on_diagonal(options))


def fused(S, alpha, **options):
    return fused_path(S, [alpha], **options)[0]


def fused_alpha_max(S, *, sparsity=0.0, **options):
    return joint_coupling_max(S, sparsity, **on_diagonal(options))


def objective(Theta, S, alpha, sparsity, weights=(1.0, 1.0), penalize_diagonal=True):
    """Objective at two positive definite matrices."""
    off = ~np.eye(S.shape[1], dtype=bool)
    value = 0.0
    for one, sample, weight in zip(Theta, S, weights, strict=True):
        assert np.linalg.eigvalsh(one)[0] > 0
        value += weight * (np.sum(one * sample) - np.linalg.slogdet(one)[1])
        value += sparsity * np.abs(one[off]).sum()
    change = np.abs(Theta[1] - Theta[0])
    return value + alpha * (change.sum() if penalize_diagonal else change[off].sum())


def oracle(S, alpha, sparsity, weights=(1.0, 1.0), penalize_diagonal=True):
    """Precisions by an interior point method; only what counts is named, which keeps digits."""
    p = S.shape[1]
    Theta = [cp.Variable((p, p), symmetric=True) for _ in S]
    rows, columns = np.triu_indices(p, 1)
    change = Theta[1] - Theta[0]
    cost = 2 * alpha * cp.norm1(change[rows, columns])
    if penalize_diagonal:
        cost += alpha * cp.norm1(cp.diag(change))
    for one, sample, weight in zip(Theta, S, weights, strict=True):
        cost += weight * (cp.trace(sample @ one) - cp.log_det(one))
        if sparsity > 0:
            cost += 2 * sparsity * cp.norm1(one[rows, columns])
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return np.stack([one.value for one in Theta])


def assert_optimal(solution, S, options, tol):
    """What must hold for every solution."""
    p = S.shape[1]
    assert solution.converged
    assert -1e-11 * p <= solution.gap <= tol * p
    assert solution.history[-1] == pytest.approx(solution.gap)
    np.testing.assert_array_equal(solution.value, solution.value.transpose(0, 2, 1))
    for one, inverse in zip(solution.value, solution.covariance, strict=True):
        np.testing.assert_allclose(one @ inverse, np.eye(p), atol=1e-7)
    weights = options.get("group_weights", (1.0, 1.0))
    diagonal = options.get("penalize_diagonal", True)
    value = objective(
        solution.value, S, solution.coupling, solution.alpha, weights, penalize_diagonal=diagonal
    )
    assert solution.objective == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"sparsity": 0.03},
        {"sparsity": 0.2, "penalize_diagonal": False},
        {"sparsity": 0.05, "group_weights": (0.5, 3.0)},
    ],
)
@pytest.mark.parametrize("sizes", SIZES)
def test_agrees_with_an_interior_point_method(sizes, options):
    S = covariances(two_samples(sum(sizes), d=6, sizes=sizes))
    largest = fused_alpha_max(S, **options)
    # Rounded: the oracle warns of its accuracy for some alphas, depending on the last digit.
    alpha = round(0.3 * largest, 4)
    solution = fused(S, alpha, tol=1e-8, **options)
    assert_optimal(solution, S, options, 1e-8)
    weights = options.get("group_weights", (1.0, 1.0))
    diagonal = options.get("penalize_diagonal", True)
    problem = (alpha, options.get("sparsity", 0.0), weights)
    expected = oracle(S, *problem, penalize_diagonal=diagonal)
    best = objective(expected, S, *problem, penalize_diagonal=diagonal)
    assert solution.objective - solution.gap <= best + 1e-10
    assert solution.objective <= best + 1e-7
    np.testing.assert_allclose(
        solution.value, expected, atol=1e-3 * np.abs(expected).max(axis=(1, 2)).min()
    )
    changes = np.abs(expected[1] - expected[0])
    assert changes[solution.value[1] == solution.value[0]].max() < 1e-3 * changes.max()


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("sparsity", [0.0, 0.05])
@pytest.mark.parametrize("sizes", SIZES)
def test_no_change_at_the_largest_alpha_and_some_just_below(sizes, sparsity, penalize_diagonal):
    S = covariances(two_samples(8, d=6, sizes=sizes))
    options = {"sparsity": sparsity, "penalize_diagonal": penalize_diagonal}
    largest = fused_alpha_max(S, **options)
    off = ~np.eye(6, dtype=bool)
    shares = (2.0, 1.0, 0.99)
    path = fused_path(S, largest * np.array(shares), **options)
    alone = [fused(S, share * largest, **options) for share in shares]
    for *empty, below in (path, alone):
        assert not any((at.value[1] - at.value[0])[off].any() for at in empty)
        assert (below.value[1] - below.value[0])[off].any()


@pytest.mark.slow
@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("sparsity", [0.0, 0.05])
def test_the_largest_alpha_leaves_no_change_at_any_tolerance(sparsity, penalize_diagonal):
    """Of many draws, in some of which variances differ much more than covariances do."""
    options = {"sparsity": sparsity, "penalize_diagonal": penalize_diagonal}
    off = ~np.eye(6, dtype=bool)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        S = covariances(two_samples(seed, d=6, sizes=(60, 60)))
        scale = np.exp(0.6 * (seed % 3) * rng.normal(size=6))
        S[1] *= np.outer(scale, scale)
        largest = fused_alpha_max(S, **options)
        start = fused(S, 0.3 * largest, **options).value
        for tol, init in ((1e-6, None), (1e-3, None), (1e-6, start)):
            at = fused(S, largest, tol=tol, init=init, **options)
            assert at.converged
            assert not (at.value[1] - at.value[0])[off].any()


def test_far_above_the_largest_alpha_both_are_the_graphical_lasso_of_the_mean():
    S = covariances(two_samples(1))
    solution = fused(S, 100.0, sparsity=0.1, group_weights=(1.0, 3.0), tol=1e-10)
    mean = (S[0] + 3 * S[1]) / 4
    np.testing.assert_array_equal(solution.value[0], solution.value[1])
    expected = graphical_lasso(mean, 2 * 0.1 / 4, tol=1e-10).value
    np.testing.assert_allclose(solution.value[0], expected, atol=1e-4)
    free = fused(S, 100.0, group_weights=(1.0, 3.0))
    np.testing.assert_allclose(free.value[0], np.linalg.inv(mean), rtol=1e-6)


def test_without_fusion_the_groups_are_apart():
    S = covariances(two_samples(2, sizes=(30, 5)))
    solution = fused(S, 0.0, sparsity=0.2, group_weights=(1.0, 2.0), tol=1e-9)
    for one, sample, weight in zip(solution.value, S, (1.0, 2.0), strict=True):
        alone = graphical_lasso(sample, 0.2 / weight, tol=1e-9)
        np.testing.assert_allclose(one, alone.value, atol=2e-3 * np.abs(alone.value).max())


# It compiles for most of a minute, every time.
@pytest.mark.slow
def test_agrees_with_gglasso():
    solver = pytest.importorskip("gglasso.solver.admm_solver")
    S = covariances(two_samples(3, d=8, sizes=(60, 30)))
    identity = np.stack([np.eye(8)] * 2)
    for alpha, sparsity in ((0.2, 0.05), (0.05, 0.1)):
        with contextlib.redirect_stdout(io.StringIO()):
            theirs, _ = solver.ADMM_MGL(
                S, sparsity, alpha, "FGL", identity, tol=1e-9, rtol=1e-9, max_iter=5000
            )
        ours = fused(S, alpha, sparsity=sparsity, penalize_diagonal=False, tol=1e-12)
        np.testing.assert_allclose(ours.value, theirs["Theta"], atol=2e-5)
        np.testing.assert_array_equal(ours.value == 0, theirs["Theta"] == 0)


def test_agrees_with_jgl(tmp_path):
    has_jgl = (
        shutil.which("Rscript") is not None
        and not subprocess.run(
            ["Rscript", "-e", "library(JGL)"], capture_output=True, check=False
        ).returncode
    )
    if not has_jgl:
        pytest.skip("The R package JGL is not installed.")
    both = two_samples(3, d=8, sizes=(60, 30))
    for k, rows in enumerate(both):
        np.savetxt(tmp_path / f"rows{k}.txt", rows)
    script = """
        library(JGL)
        rows <- lapply(0:1, function(k) as.matrix(read.table(sprintf("rows%d.txt", k))))
        fit <- JGL(rows, penalty = "fused", lambda1 = 0.1, lambda2 = 0.05, tol = 1e-10,
                   maxiter = 10000, return.whole.theta = TRUE)
        for (k in 1:2)
            write.table(fit$theta[[k]], sprintf("theta%d.txt", k - 1), row.names = FALSE,
                        col.names = FALSE)
    """
    subprocess.run(["Rscript", "-e", script], cwd=tmp_path, capture_output=True, check=True)
    theirs = np.stack([np.loadtxt(tmp_path / f"theta{k}.txt") for k in (0, 1)])
    ours = fused(covariances(both), 0.05, sparsity=0.1, tol=1e-11)
    np.testing.assert_allclose(ours.value, theirs, atol=1e-4)


@pytest.mark.parametrize("sparsity", [0.0, 0.05])
def test_equivariance(sparsity):
    S = covariances(two_samples(5))
    plain = fused(S, 0.1, sparsity=sparsity, tol=1e-10)
    order = np.random.default_rng(0).permutation(7)
    moved = fused(S[:, order][:, :, order], 0.1, sparsity=sparsity, tol=1e-10)
    np.testing.assert_allclose(moved.value, plain.value[:, order][:, :, order], atol=2e-4)
    swapped = fused(S[::-1], 0.1, sparsity=sparsity, tol=1e-10)
    np.testing.assert_allclose(swapped.value, plain.value[::-1], atol=2e-4)
    # In units that are ten times smaller, precisions are a hundred times larger.
    tiny = fused(S / 100, 0.001, sparsity=sparsity / 100, tol=1e-10)
    np.testing.assert_allclose(tiny.value / 100, plain.value, atol=1e-6)
    assert np.count_nonzero(plain.value[1] - plain.value[0]) > 7


def test_variables_of_very_different_units():
    S = covariances(two_samples(6))
    unit = 10.0 ** np.array([-3, -2, -1, 0, 1, 2, 3])
    scaled = S * np.outer(unit, unit)
    assert_optimal(fused(scaled, 0.1, sparsity=0.05), scaled, {}, 1e-6)


def test_blocks_are_solved_apart_and_change_nothing():
    parts = [covariances(two_samples(seed, d=4)) for seed in (0, 1)]
    S = np.zeros((2, 9, 9))
    S[:, :4, :4], S[:, 4:8, 4:8] = parts
    S[:, 8, 8] = 1.0, 2.0
    # Weak links across, within reach of the penalties.
    S[0, :4, 4:8] = S[0, 4:8, :4] = 0.01
    S[1, :4, 4:8] = S[1, 4:8, :4] = -0.05
    solution = fused(S, 0.1, sparsity=0.03, tol=1e-9)
    assert_optimal(solution, S, {}, 1e-9)
    assert not solution.value[:, :4, 4:].any()
    for k, part in enumerate(parts):
        alone = fused(part, 0.1, sparsity=0.03, tol=1e-9)
        inside = slice(4 * k, 4 * k + 4)
        np.testing.assert_allclose(solution.value[:, inside, inside], alone.value, atol=1e-3)
    # The larger covariance has the smaller precision, and both move towards each other.
    np.testing.assert_allclose(solution.value[:, 8, 8], [1 / 1.1, 1 / 1.9])
    # Where the sum is beyond twice the sparsity, nothing holds the entries at 0.
    S[1, :4, 4:8] = S[1, 4:8, :4] = 0.06
    assert fused(S, 0.1, sparsity=0.03).value[:, :4, 4:8].any()


@pytest.mark.parametrize("penalize_diagonal", [True, False])
def test_one_variable_has_a_closed_form(penalize_diagonal):
    S = np.array([[[1.0]], [[3.0]]])
    for alpha in (0.2, 0.9, 1.2):
        solution = fused(S, alpha, penalize_diagonal=penalize_diagonal)
        expected = [1.0, 1 / 3]
        if penalize_diagonal:
            expected = [1 / (1 + alpha), 1 / (3 - alpha)] if alpha < 1 else [0.5, 0.5]
        np.testing.assert_allclose(solution.value[:, 0, 0], expected)
        assert (solution.gap, solution.n_iter) == (0.0, 0)


def test_a_path_gives_what_single_solves_do():
    S = covariances(two_samples(6, sizes=(20, 15)))
    alphas = [0.02, 0.2, 0.06]
    for options in ({"sparsity": 0.05}, {"penalize_diagonal": False}):
        path = fused_path(S, alphas, tol=1e-8, **options)
        assert [solution.coupling for solution in path] == alphas
        for alpha, solution in zip(alphas, path, strict=True):
            assert_optimal(solution, S, options, 1e-8)
            alone = fused(S, alpha, tol=1e-8, **options)
            assert solution.objective == pytest.approx(alone.objective, abs=2e-7)


def test_starts_and_limits():
    S = covariances(two_samples(7, sizes=(12, 10)))
    cold = fused(S, 0.05, tol=1e-8)
    warm = fused(S, 0.05, tol=1e-8, init=cold.value)
    assert warm.n_iter < cold.n_iter
    rough = fused(S, 0.05, tol=1e-8, max_iter=2)
    assert not rough.converged
    assert rough.n_iter == 2
    assert rough.objective - cold.objective + cold.gap > 0
    assert rough.objective - cold.objective <= rough.gap


def test_groups_that_are_alike_do_not_change():
    S = covariances(two_samples(4))[[0, 0]]
    for sparsity in (0.0, 0.1):
        assert fused_alpha_max(S, sparsity=sparsity) == 0
        solution = fused(S, 1e-3, sparsity=sparsity)
        np.testing.assert_array_equal(solution.value[0], solution.value[1])


def test_more_variables_than_rows():
    S = covariances(two_samples(2, d=12, sizes=(8, 7)))
    assert_optimal(fused(S, 0.05), S, {}, 1e-6)
    fewer = covariances(two_samples(2, d=12, sizes=(6, 5)))
    for function in (
        lambda: fused(fewer, 0.05),
        lambda: fused_alpha_max(fewer),
    ):
        with raises(SolverError, code="singular_without_sparsity"):
            function()
    assert_optimal(fused(fewer, 0.05, sparsity=0.05), fewer, {}, 1e-6)


def test_a_variable_that_is_constant_in_one_group():
    both = two_samples(9)
    both[0][:, 2] = 0.0
    S = covariances(both)
    assert_optimal(fused(S, 0.1, sparsity=0.05), S, {}, 1e-6)
    with raises(InputError, code="no_variance_in_group", variable=2):
        fused(S, 0.1, sparsity=0.05, penalize_diagonal=False)
    both[1][:, 2] = 0.0
    with raises(InputError, code="no_variance_in_group", variable=2):
        fused(covariances(both), 0.1, sparsity=0.05)
    with raises(InputError, code="no_variance_in_group", variable=2):
        fused(S, 0.0, sparsity=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"S": np.eye(2)}, "covariances_shape"),
        ({"alpha": 0.0}, "alpha_and_coupling_zero"),
        ({"alpha": np.inf}, "finite_non_negative"),
        ({"sparsity": -1.0}, "finite_non_negative"),
        ({"tol": 0.0}, "tol_positive"),
        ({"max_iter": 0}, "max_iter_range"),
        ({"group_weights": (1.0, 0.0)}, "group_weights_positive"),
        ({"group_weights": (1.0,)}, "group_weights_positive"),
        ({"init": np.eye(2)}, "inits_shape"),
        ({"init": np.stack([np.eye(2), -np.eye(2)])}, "init_indefinite"),
    ],
)
def test_bad_input_is_refused(change, message):
    arguments = {"S": np.stack([np.eye(2)] * 2), "alpha": 0.1} | change
    with raises(InputError, code=message):
        fused(**arguments)


def test_the_search_for_the_largest_alpha_stays_above_0():
    """A secant of what entries need, which has a kink, once led below 0, where nothing is."""
    S = np.array([[[0.4, -0.38], [-0.38, 0.79]], [[0.48, -0.94], [-0.94, 2.32]]])
    largest = fused_alpha_max(S)
    assert largest > 0
    above, below = (fused(S, share * largest, tol=1e-10).value for share in (1.001, 0.99))
    assert above[0, 0, 1] == above[1, 0, 1]
    assert below[0, 0, 1] != below[1, 0, 1]


def test_a_few_iterations_do_not_say_that_there_is_no_minimum():
    rng = np.random.default_rng([9, 49])
    p, n = int(rng.integers(2, 8)), int(rng.integers(3, 12))
    S = np.stack([np.cov(rng.normal(size=(n, p)).T) for _ in range(2)])
    sparsity, alpha = 10 ** rng.uniform(-3, -0.5, 2)
    for max_iter in (1, 2, 3):
        rough = fused(S, alpha, sparsity=sparsity, penalize_diagonal=False, max_iter=max_iter)
        assert rough.gap > 0.0
