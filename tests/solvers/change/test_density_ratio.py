"""The density-ratio solver against CVXPY, closed forms and itself by other ways."""

import numpy as np
import pytest

from edgewise import InputError
from edgewise.solvers import density_ratio
from edgewise.solvers.change.density_ratio import (
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
    ratio_alpha_min,
)
from edgewise.stats import stream_covariance
from tests.cases import by_default
from tests.messages import raises
from tests.solvers.change.ratio_problems import (
    BASES,
    cvxpy_ratio,
    draw,
    explicit,
    is_own,
    listed,
    objective,
    problem,
)

#: Bases, the one with the most coefficients at the end.
LONGEST_LAST = sorted(BASES, key="polynomial 3".__eq__)


def assert_optimal(solution, X_p, X_q, alpha, ridge, tol, **options):
    """What must hold for every solution."""
    assert solution.converged
    assert 0.0 <= solution.gap <= tol * X_q.shape[1]
    assert solution.alpha == alpha
    assert alpha <= solution.raised_alpha <= alpha * (1.0 + tol)
    theta = listed(solution.value)
    value = objective(theta, X_p, X_q, alpha, ridge, **options)
    assert solution.objective == pytest.approx(value, abs=1e-11)
    assert solution.weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert solution.history[-1] == solution.gap


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.02, 5.0])
@pytest.mark.parametrize("name", by_default(6, LONGEST_LAST))
def test_agrees_with_an_interior_point_method(name, ridge, penalize_diagonal):
    # Without a ridge, weights of the rows have to match a free diagonal: that takes more rows.
    is_matched = ridge == 0 and not penalize_diagonal
    X_p, X_q, options = problem(name, **({"n_p": 200, "n_q": 80} if is_matched else {}))
    options["penalize_diagonal"] = penalize_diagonal
    largest = ratio_alpha_max(X_p, X_q, ridge=ridge, **options)
    smallest = ratio_alpha_min(X_p, X_q, **options) if ridge == 0 else 0.0
    tol = 1e-12 if ridge > 0 else 1e-10
    for share in (0.5, 0.15):
        alpha = smallest + share * (largest - smallest)
        solution = density_ratio(X_p, X_q, alpha, ridge=ridge, tol=tol, **options)
        assert_optimal(solution, X_p, X_q, alpha, ridge, tol, **options)
        expected = cvxpy_ratio(X_p, X_q, alpha, ridge, **options)
        value = objective(expected, X_p, X_q, alpha, ridge, **options)
        assert solution.objective == pytest.approx(value, abs=1e-7)
        if ridge > 0:
            # By strong convexity, each is as far from the optimum as its objective says at most.
            lacking = np.array([solution.gap, max(value - solution.objective, 0) + solution.gap])
            apart = np.sqrt(2.0 * (lacking + 1e-12 * abs(value)) / ridge).sum()
            np.testing.assert_allclose(listed(solution.value), expected, rtol=0.0, atol=apart)


@pytest.mark.parametrize("alpha", [0.0, 0.2])
@pytest.mark.parametrize("name", BASES)
def test_both_solvers_agree(name, alpha):
    X_p, X_q, options = problem(name, seed=1)
    options |= {"ridge": 0.1, "tol": 1e-14}
    alpha *= ratio_alpha_max(X_p, X_q, basis=options["basis"], degree=options["degree"])
    dual = density_ratio(X_p, X_q, alpha, solver="dual", **options)
    primal = density_ratio(X_p, X_q, alpha, solver="primal", **options)
    assert dual.converged
    assert primal.converged
    np.testing.assert_allclose(dual.value, primal.value, atol=1e-6)
    auto = density_ratio(X_p, X_q, alpha, **options)
    np.testing.assert_array_equal(auto.value, dual.value)


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("name", ["gaussian", "polynomial 2", "two kernels"])
def test_both_solvers_agree_without_a_ridge(name, penalize_diagonal):
    X_p, X_q, options = problem(name, seed=1, n_q=60)
    options |= {"penalize_diagonal": penalize_diagonal}
    largest = ratio_alpha_max(X_p, X_q, ridge=0.0, **options)
    alpha = 0.5 * (ratio_alpha_min(X_p, X_q, **options) + largest)
    options |= {"ridge": 0.0, "tol": 1e-11}
    dual = density_ratio(X_p, X_q, alpha, solver="dual", **options)
    primal = density_ratio(X_p, X_q, alpha, solver="primal", **options)
    assert np.any(dual.value != 0)
    if not penalize_diagonal and name == "two kernels":
        dual.value[np.arange(5), np.arange(5), 0] = primal.value[np.arange(5), np.arange(5), 0]
    np.testing.assert_allclose(dual.value, primal.value, atol=1e-6)


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.01, 1.0])
@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("name", ["gaussian", "two kernels"])
def test_the_gap_bounds_what_is_lacking(name, solver, ridge, penalize_diagonal):
    X_p, X_q, options = problem(name, seed=2, n_q=60)
    options |= {"penalize_diagonal": penalize_diagonal}
    alpha = 0.3 * ratio_alpha_max(X_p, X_q, **options)
    options |= {"ridge": ridge}
    for tol in (1e-1, 1e-3, 1e-5):
        rough = density_ratio(X_p, X_q, alpha, tol=tol, solver=solver, **options)
        best = density_ratio(X_p, X_q, rough.raised_alpha, tol=1e-12 if ridge else 1e-10, **options)
        value = objective(listed(rough.value), X_p, X_q, rough.raised_alpha, **options)
        # With a free diagonal and no ridge, the gap is for a slightly larger penalty there.
        slightly = 0.0
        if ridge == 0 and not penalize_diagonal:
            own = explicit(X_p, options["basis"], 2).mean(axis=2)[is_own(5)]
            slightly = tol * np.sqrt(np.sum(own**2, axis=1)).max()
            slightly *= np.sum(np.sqrt(np.sum(listed(best.value)[is_own(5)] ** 2, axis=1)))
        assert -1e-11 <= value - best.objective <= rough.gap + slightly + 1e-11
        assert 0.0 <= rough.gap <= 5 * tol


@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("name", by_default(6, LONGEST_LAST))
def test_nothing_changes_from_the_largest_alpha_on(name, ridge, penalize_diagonal, solver):
    X_p, X_q, options = problem(name, seed=3, n_p=100, n_q=60)
    options |= {"penalize_diagonal": penalize_diagonal, "ridge": ridge}
    largest = ratio_alpha_max(X_p, X_q, **options)
    at, above, below = (
        density_ratio(X_p, X_q, share * largest, solver=solver, **options).value
        for share in (1.0, 2.0, 1.0 - 1e-3)
    )
    assert below.any()
    if not penalize_diagonal:
        own = np.eye(5, dtype=bool)
        assert below[~own].any()
        np.testing.assert_allclose(at[own], above[own], atol=1e-4)
        at, above = at[~own], above[~own]
    assert not at.any()
    assert not above.any()


def test_the_largest_alpha_in_closed_form():
    X_p, X_q, _ = problem(seed=4)
    slack = X_p.T @ X_p / len(X_p) - X_q.T @ X_q / len(X_q)
    assert ratio_alpha_max(X_p, X_q) == pytest.approx(np.abs(slack).max(), rel=1e-12)
    offset = np.linspace(-1.0, 1.0, len(X_q))
    weights = np.exp(offset) / np.exp(offset).sum()
    slack = X_p.T @ X_p / len(X_p) - X_q.T @ (X_q * weights[:, None])
    assert ratio_alpha_max(X_p, X_q, offset=offset) == pytest.approx(np.abs(slack).max(), rel=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("name", ["gaussian", "polynomial 2", "two kernels"])
def test_the_largest_alpha_with_a_free_diagonal(name, ridge):
    X_p, X_q, options = problem(name, seed=4, n_p=100, n_q=60)
    H, G = explicit(X_q, **options), explicit(X_p, **options).mean(axis=2)
    own = is_own(5)
    features, target = H[own].reshape(-1, len(X_q)), G[own].ravel()

    def softmax(theta):
        w = theta @ features
        weights = np.exp(w - w.max())
        return weights / weights.sum()

    # Newton's method on what is not penalised; features that are 0 or constant drop out.
    theta = np.zeros(len(target))
    for _ in range(50):
        weights = softmax(theta)
        mean = features @ weights
        hessian = (features * weights) @ features.T - np.outer(mean, mean)
        hessian += ridge * np.eye(len(target))
        theta -= np.linalg.lstsq(hessian, mean - target + ridge * theta, rcond=1e-10)[0]
    slack = (G - H @ softmax(theta))[~own]
    largest = ratio_alpha_max(X_p, X_q, ridge=ridge, penalize_diagonal=False, **options)
    assert largest == pytest.approx(np.sqrt(np.sum(slack**2, axis=1)).max(), rel=1e-7)


@pytest.mark.parametrize("name", [name for name in BASES if "kernel" not in name])
def test_columns_in_another_order_give_the_same_coefficients(name):
    X_p, X_q, options = problem(name, seed=5)
    order = np.array([3, 0, 4, 1, 2])
    alpha = 0.2 * ratio_alpha_max(X_p, X_q, **options)
    options |= {"ridge": 0.1, "tol": 1e-14}
    value = density_ratio(X_p, X_q, alpha, **options).value
    other = density_ratio(X_p[:, order], X_q[:, order], alpha, **options).value
    np.testing.assert_allclose(other, value[np.ix_(order, order)], atol=1e-7)


def test_rows_in_another_order_give_the_same_coefficients():
    X_p, X_q, _ = problem(seed=6)
    rng = np.random.default_rng(0)
    value = density_ratio(X_p, X_q, 0.1, tol=1e-14).value
    other = density_ratio(rng.permutation(X_p), rng.permutation(X_q), 0.1, tol=1e-14).value
    np.testing.assert_allclose(other, value, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "ridge", "solver"),
    [
        *((name, ridge, "dual") for name in BASES for ridge in (0.001, 0.1)),
        *((name, 0.0, "dual") for name in ("gaussian", "polynomial 2", "ising", "two kernels")),
        ("gaussian", 0.0, "primal"),
        ("gaussian", 0.1, "primal"),
        ("polynomial 2", 0.1, "primal"),
    ],
)
def test_a_path_equals_cold_solves(name, ridge, solver):
    X_p, X_q, options = problem(name, seed=7, d=8, n_q=50)
    largest = ratio_alpha_max(X_p, X_q, **options)
    smallest = ratio_alpha_min(X_p, X_q, **options) if ridge == 0 else 0.1 * largest
    alphas = np.geomspace(largest, smallest + 0.3 * (largest - smallest), 4)
    options |= {"ridge": ridge, "solver": solver, "tol": 1e-10}
    path = list(density_ratio_path(X_p, X_q, alphas, **options))
    assert [solution.alpha for solution in path] == alphas.tolist()
    assert not path[0].value.any()
    for solution, alpha in zip(path, alphas, strict=True):
        cold = density_ratio(X_p, X_q, alpha, **options)
        assert_optimal(solution, X_p, X_q, alpha, ridge, 1e-10, **_named(options))
        assert solution.objective == pytest.approx(cold.objective, abs=3e-9)
        np.testing.assert_allclose(solution.value, cold.value, atol=2e-3)


def _named(options):
    return {key: options[key] for key in ("basis", "degree")}


def test_alphas_in_any_order():
    X_p, X_q, _ = problem(seed=8, d=10)
    alphas = [0.3, 0.5, 0.1, 0.4, 0.2]
    for alpha, solution in zip(alphas, density_ratio_path(X_p, X_q, alphas), strict=True):
        cold = density_ratio(X_p, X_q, alpha)
        np.testing.assert_allclose(solution.value, cold.value, atol=1e-3)
        assert solution.objective == pytest.approx(cold.objective, abs=2e-7)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("solver", ["dual", "primal"])
def test_offset(solver, ridge):
    X_p, X_q, _ = problem(seed=9, n_q=50)
    offset = np.random.default_rng(0).normal(size=len(X_q))
    alpha = 0.4 * ratio_alpha_max(X_p, X_q, offset=offset)
    options = {"ridge": ridge, "offset": offset}
    tol = 1e-12 if ridge else 1e-9
    solution = density_ratio(X_p, X_q, alpha, solver=solver, tol=tol, **options)
    assert_optimal(solution, X_p, X_q, alpha, tol=tol, **options)
    expected = cvxpy_ratio(X_p, X_q, alpha, **options)
    np.testing.assert_allclose(listed(solution.value), expected, atol=1e-5)
    plain = density_ratio(X_p, X_q, alpha, ridge=ridge, solver=solver)
    assert np.abs(solution.value - plain.value).max() > 1e-2
    log_ratio = log_density_ratio(X_q, solution.value) + offset
    weights = np.exp(log_ratio) / np.exp(log_ratio).sum()
    np.testing.assert_allclose(solution.weights, weights, atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "polynomial 2"])
def test_an_offset_of_log_counts_stands_for_repeated_rows(name):
    X_p, X_q, options = problem(name, seed=10)
    counts = np.random.default_rng(0).integers(1, 5, size=len(X_q))
    repeated = np.repeat(X_q, counts, axis=0)
    options["tol"] = 1e-13
    first = density_ratio(X_p, repeated, 0.2, **options)
    second = density_ratio(X_p, X_q, 0.2, offset=np.log(counts), **options)
    np.testing.assert_allclose(first.value, second.value, atol=1e-6)
    shift = np.log(len(repeated) / len(X_q))
    assert second.objective - first.objective == pytest.approx(shift, abs=1e-10)


def test_a_constant_offset_changes_nothing_but_the_objective():
    X_p, X_q, _ = problem(seed=11)
    plain = density_ratio(X_p, X_q, 0.2)
    shifted = density_ratio(X_p, X_q, 0.2, offset=np.full(len(X_q), 50.0))
    np.testing.assert_allclose(shifted.value, plain.value, atol=1e-9)
    assert shifted.objective - plain.objective == pytest.approx(50.0)
    assert shifted.log_normalizer - plain.log_normalizer == pytest.approx(50.0)
    np.testing.assert_allclose(shifted.weights, plain.weights, atol=1e-9)


@pytest.mark.parametrize("solver", ["dual", "primal"])
@pytest.mark.parametrize("name", ["gaussian", "polynomial 2"])
def test_init_saves_the_steps(name, solver):
    X_p, X_q, options = problem(name, seed=12)
    options["solver"] = solver
    solution = density_ratio(X_p, X_q, 0.1, tol=1e-12, **options)
    again = density_ratio(X_p, X_q, 0.1, init=solution.value, **options)
    assert again.n_iter < density_ratio(X_p, X_q, 0.1, **options).n_iter
    assert again.n_iter <= 1
    assert again.objective == pytest.approx(solution.objective, abs=1e-7)


def test_init_from_anywhere_ends_in_the_same_place():
    X_p, X_q, _ = problem(seed=13)
    init = np.random.default_rng(0).normal(size=(5, 5))
    for solver in ("dual", "primal"):
        found = density_ratio(X_p, X_q, 0.1, init=init + init.T, solver=solver, tol=1e-12)
        plain = density_ratio(X_p, X_q, 0.1, solver=solver, tol=1e-12)
        np.testing.assert_allclose(found.value, plain.value, atol=1e-5)


def test_log_ratio_and_what_follows_from_it():
    for name in BASES:
        X_p, X_q, options = problem(name, seed=14)
        solution = density_ratio(X_p, X_q, 0.05, **options)
        log_ratio = np.einsum("gb,gbn->n", listed(solution.value), explicit(X_q, **options))
        np.testing.assert_allclose(
            log_density_ratio(X_q, solution.value, **options), log_ratio, atol=1e-10
        )
        ratio = np.exp(log_ratio - solution.log_normalizer)
        assert ratio.mean() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(solution.weights, ratio / len(X_q), atol=1e-12)
        size = 1.0 / np.sum(solution.weights**2)
        assert solution.effective_sample_size == pytest.approx(size)
        assert 1.0 <= solution.effective_sample_size <= len(X_q)


def test_all_rows_count_where_nothing_changes():
    X_p, X_q, _ = problem(seed=15)
    assert density_ratio(X_p, X_q, 100.0).effective_sample_size == pytest.approx(len(X_q))


def test_identical_groups_have_no_change():
    rng = np.random.default_rng(16)
    for name in BASES:
        X_p, _, options = problem(name, seed=16)
        assert ratio_alpha_max(X_p, X_p, **options) == 0.0
        for ridge, alpha in ((0.1, 0.0), (0.1, 1e-9), (0.1, 0.1), (0.0, 0.1)):
            solution = density_ratio(X_p, X_p, alpha, ridge=ridge, **options)
            assert solution.converged
            assert np.abs(solution.value).max() <= (0.0 if alpha > 0 else 1e-13)
        # The same rows in another order are the same group.
        other = density_ratio(X_p, rng.permutation(X_p), 1e-9, **options)
        assert np.abs(other.value).max() < 1e-9


def test_one_row_before_leaves_nothing_to_choose():
    rng = np.random.default_rng(17)
    X_p, X_q = draw(rng, n_p=20, n_q=1, d=4)
    slack = listed((X_p.T @ X_p / 20 - X_q.T @ X_q)[:, :, None])
    expected = np.sign(slack) * np.maximum(np.abs(slack) - 0.3, 0.0) / 0.5
    for solver in ("dual", "primal"):
        found = density_ratio(X_p, X_q, 0.3, ridge=0.5, solver=solver, tol=1e-13)
        np.testing.assert_allclose(listed(found.value), expected, atol=1e-6)
    assert found.effective_sample_size == 1.0


@pytest.mark.parametrize(("n_p", "n_q"), [(1, 20), (5, 4), (3, 200), (200, 3)])
def test_few_rows(n_p, n_q):
    X_p, X_q = draw(np.random.default_rng(18), n_p=n_p, n_q=n_q, d=8)
    solution = density_ratio(X_p, X_q, 0.2, tol=1e-12)
    assert_optimal(solution, X_p, X_q, 0.2, 0.1, 1e-12)
    np.testing.assert_allclose(listed(solution.value), cvxpy_ratio(X_p, X_q, 0.2, 0.1), atol=1e-5)


def test_one_variable():
    X_p, X_q = draw(np.random.default_rng(19), d=1)
    X_p *= 2.0
    for penalize_diagonal in (True, False):
        solution = density_ratio(X_p, X_q, 0.1, penalize_diagonal=penalize_diagonal, tol=1e-13)
        expected = cvxpy_ratio(X_p, X_q, 0.1, 0.1, penalize_diagonal=penalize_diagonal)
        assert solution.value.shape == (1, 1, 1)
        assert solution.value[0, 0, 0] == pytest.approx(expected[0, 0], abs=1e-6)


def test_the_numerator_may_be_streamed():
    X_p, X_q = draw(np.random.default_rng(0), n_p=40, n_q=60, d=4)
    moments = stream_covariance([X_p[:11], X_p[11:]])
    alpha = 0.3 * ratio_alpha_max(X_p, X_q)
    assert ratio_alpha_max(moments, X_q) == pytest.approx(ratio_alpha_max(X_p, X_q), rel=1e-12)
    assert ratio_alpha_min(moments, X_q) == pytest.approx(ratio_alpha_min(X_p, X_q), rel=1e-6)
    from_rows, streamed = (density_ratio(X, X_q, alpha) for X in (X_p, moments))
    np.testing.assert_allclose(streamed.value, from_rows.value, atol=1e-9)
    assert streamed.objective == pytest.approx(from_rows.objective, rel=1e-10)
    with raises(InputError, code="moments_gaussian_only"):
        density_ratio(moments, X_q, alpha, basis="polynomial")
    with pytest.raises(InputError, match="X_p has 4 columns and X_q 3"):
        density_ratio(moments, X_q[:, :3], alpha)
