from fractions import Fraction

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError, SolverError
from edgewise.solvers.change.dtrace import Entries, dtrace, dtrace_alpha_max, dtrace_path
from edgewise.solvers.change.dtrace_problem import DTraceProblem
from tests.messages import raises


def covariance(rng, d, n, mixing):
    X = rng.normal(size=(n, d)) @ (np.eye(d) + mixing * rng.normal(size=(d, d)) / np.sqrt(d))
    return np.cov(X.T, bias=True)


def pair(seed, d=6, n=(30, 25), mixing=0.5):
    rng = np.random.default_rng(seed)
    return tuple(covariance(rng, d, rows, mixing) for rows in n)


def objective(S_q, S_p, alpha, Delta, *, ridge=0.0, penalize_diagonal=True):
    quadratic = np.trace(S_p @ Delta @ S_q @ Delta)
    size = np.abs(Delta).sum() - (0 if penalize_diagonal else np.abs(Delta.diagonal()).sum())
    linear = np.sum(Delta * (S_q - S_p))
    return quadratic / 2 - linear + ridge / 2 * np.sum(Delta**2) + alpha * size


def oracle(S_q, S_p, alpha, *, ridge=0.0, penalize_diagonal=True):
    """Value of the minimum, and whether there is one, by an interior-point method."""
    d = len(S_q)
    roots = []
    for S in (S_p, S_q):
        values, vectors = np.linalg.eigh(S)
        kept = values > 1e-10 * values[-1]
        roots.append((vectors[:, kept] * np.sqrt(values[kept])).T)
    Delta = cvxpy.Variable((d, d), symmetric=True)
    counted = np.ones((d, d)) - (0 if penalize_diagonal else np.eye(d))
    cost = (
        cvxpy.sum_squares(roots[0] @ Delta @ roots[1].T) / 2
        - cvxpy.trace(Delta @ (S_q - S_p))
        + ridge / 2 * cvxpy.sum_squares(Delta)
        + alpha * cvxpy.sum(cvxpy.multiply(counted, cvxpy.abs(Delta)))
    )
    problem = cvxpy.Problem(cvxpy.Minimize(cost))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return problem.value, problem.status == "optimal", Delta.value


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.01, 1.0]),
    st.booleans(),
    st.sampled_from([0.05, 0.3, 0.8]),
)
def test_agrees_with_cvxpy(seed, ridge, penalize_diagonal, share):
    S_q, S_p = pair(seed)
    options = {"ridge": ridge, "penalize_diagonal": penalize_diagonal}
    alpha = share * dtrace_alpha_max(S_q, S_p, **options)
    ours = dtrace(S_q, S_p, alpha, tol=1e-9, **options)
    value, has_minimum, _ = oracle(S_q, S_p, alpha, **options)
    assert has_minimum
    assert ours.converged
    assert ours.objective == pytest.approx(objective(S_q, S_p, alpha, ours.value, **options))
    assert ours.objective == pytest.approx(value, abs=1e-6 * (1 + abs(value)))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(4, 4), (12, 4), (5, 30), (6, 6)]),
    st.booleans(),
    st.sampled_from([0.35, 0.6, 0.95]),
)
def test_singular_covariances_have_a_certificate_or_no_minimum(
    seed, rows, penalize_diagonal, share
):
    S_q, S_p = pair(seed, n=rows)
    options = {"penalize_diagonal": penalize_diagonal}
    alpha = share * dtrace_alpha_max(S_q, S_p, **options)
    value, has_minimum, _ = oracle(S_q, S_p, alpha, **options)
    try:
        ours = dtrace(S_q, S_p, alpha, tol=1e-8, **options)
    except SolverError:
        assert not has_minimum
    else:
        # Where there just is a minimum, it is so far off that rounding decides.
        assert ours.converged or not has_minimum or value < -100
        assert ours.objective == pytest.approx(value, rel=1e-6, abs=1e-6) or not ours.converged


def test_value_agrees_with_cvxpy():
    S_q, S_p = pair(3, n=(60, 60))
    expected = oracle(S_q, S_p, 0.2, ridge=0.1)[2]
    ours = dtrace(S_q, S_p, 0.2, ridge=0.1, tol=1e-12).value
    np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_without_penalty_the_difference_of_the_inverses():
    S_q, S_p = pair(5)
    solution = dtrace(S_q, S_p, 0.0)
    assert solution.converged
    np.testing.assert_allclose(
        solution.value, np.linalg.inv(S_p) - np.linalg.inv(S_q), rtol=1e-9, atol=1e-9
    )
    small = dtrace(S_q, S_p, 1e-7, tol=1e-12)
    np.testing.assert_allclose(small.value, solution.value, atol=1e-3)


def test_without_alpha_a_ridge_solves_linear_equations():
    S_q, S_p = pair(5, n=(4, 4))
    Delta = dtrace(S_q, S_p, 0.0, ridge=0.3, tol=1e-14).value
    left = (S_p @ Delta @ S_q + S_q @ Delta @ S_p) / 2 + 0.3 * Delta
    np.testing.assert_allclose(left, S_q - S_p, atol=1e-6)


@pytest.mark.parametrize(("ridge", "rows"), [(0.0, (30, 25)), (0.1, (4, 5)), (0.1, (30, 25))])
@pytest.mark.parametrize("penalize_diagonal", [True, False])
def test_gap_bounds_the_distance_to_the_minimum(ridge, rows, penalize_diagonal):
    S_q, S_p = pair(7, n=rows)
    options = {"ridge": ridge, "penalize_diagonal": penalize_diagonal}
    alpha = 0.1 * dtrace_alpha_max(S_q, S_p, **options)
    exact = dtrace(S_q, S_p, alpha, tol=1e-13, **options)
    for max_iter in range(1, exact.n_iter):
        rough = dtrace(S_q, S_p, alpha, tol=1e-13, max_iter=max_iter, **options)
        assert rough.gap >= rough.objective - exact.objective >= -1e-10
        assert np.isfinite(rough.gap)
    assert exact.gap >= 0
    assert (exact.history >= 0).all()


def test_badly_conditioned_covariances():
    S_q, S_p = pair(29, d=10, n=(40, 40), mixing=0.3 * np.sqrt(10))
    assert min(np.linalg.cond(S_q), np.linalg.cond(S_p)) > 5000
    for share in (0.5, 0.1, 0.02, 0.002):
        alpha = share * dtrace_alpha_max(S_q, S_p)
        solution = dtrace(S_q, S_p, alpha)
        assert solution.converged
        value = oracle(S_q, S_p, alpha)[0]
        assert solution.objective == pytest.approx(value, rel=1e-5, abs=1e-5)


def test_gap_of_a_singular_problem_bounds_the_distance():
    S_q, S_p = pair(11, n=(5, 5))
    alpha = 0.7 * dtrace_alpha_max(S_q, S_p)
    value = oracle(S_q, S_p, alpha)[0]
    for tol in (1e-2, 1e-4, 1e-6):
        solution = dtrace(S_q, S_p, alpha, tol=tol)
        assert solution.converged
        assert solution.gap >= solution.objective - value - 1e-7


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize(("ridge", "rows"), [(0.0, (30, 25)), (0.1, (4, 4)), (0.0, (5, 5))])
def test_no_change_from_the_largest_alpha_on_and_some_below(penalize_diagonal, ridge, rows):
    S_q, S_p = pair(13, n=rows)
    options = {"ridge": ridge, "penalize_diagonal": penalize_diagonal}
    largest = dtrace_alpha_max(S_q, S_p, **options)
    off = ~np.eye(6, dtype=bool)
    at = dtrace(S_q, S_p, largest, **options)
    assert at.converged
    assert not at.value[off].any()
    below = dtrace(S_q, S_p, 0.99 * largest, tol=1e-9, **options)
    assert below.value[off].any() or (penalize_diagonal and below.value.any())


def test_free_diagonal_is_at_its_best_without_links():
    S_q, S_p = pair(17)
    alpha = dtrace_alpha_max(S_q, S_p, penalize_diagonal=False)
    solution = dtrace(S_q, S_p, alpha, penalize_diagonal=False)
    expected = np.linalg.solve(S_p * S_q, (S_q - S_p).diagonal())
    np.testing.assert_allclose(solution.value.diagonal(), expected, rtol=1e-9)
    assert not dtrace(S_q, S_p, np.abs(S_q - S_p).max()).value.any()


def test_change_is_after_minus_before():
    before = np.eye(3)
    after = np.eye(3)
    after[0, 1] = after[1, 0] = 0.6
    Delta = dtrace(before, after, 0.1).value
    assert np.linalg.inv(after)[0, 1] < 0
    assert Delta[0, 1] < 0
    np.testing.assert_allclose(dtrace(after, before, 0.1).value, -Delta, atol=1e-6)


def test_equal_covariances_do_not_change():
    S = pair(19)[0]
    solution = dtrace(S, S, 1e-9)
    assert solution.converged
    assert not solution.value.any()
    assert dtrace_alpha_max(S, S) == 0


@pytest.mark.parametrize(("ridge", "rows"), [(0.0, (60, 60)), (0.1, (6, 60))])
def test_permutation_and_scale_equivariance(ridge, rows):
    S_q, S_p = pair(23, d=12, n=rows)
    alpha = 0.2 * dtrace_alpha_max(S_q, S_p, ridge=ridge)
    base = dtrace(S_q, S_p, alpha, ridge=ridge, tol=1e-13).value
    order = np.random.default_rng(0).permutation(12)
    permuted = dtrace(*(S[np.ix_(order, order)] for S in (S_q, S_p)), alpha, ridge=ridge, tol=1e-13)
    np.testing.assert_allclose(permuted.value, base[np.ix_(order, order)], atol=1e-6)
    scaled = dtrace(4 * S_q, 4 * S_p, 4 * alpha, ridge=16 * ridge, tol=1e-13)
    np.testing.assert_allclose(4 * scaled.value, base, atol=1e-6)


def test_path_gives_what_single_solves_give():
    S_q, S_p = pair(29, d=10, n=(40, 40))
    alphas = dtrace_alpha_max(S_q, S_p) * np.geomspace(1, 0.05, 6)
    path = list(dtrace_path(S_q, S_p, alphas, tol=1e-12))
    assert [solution.alpha for solution in path] == alphas.tolist()
    for alpha, solution in zip(alphas, path, strict=True):
        alone = dtrace(S_q, S_p, alpha, tol=1e-12)
        np.testing.assert_allclose(solution.value, alone.value, atol=1e-6)
        assert solution.objective == pytest.approx(alone.objective, abs=1e-9)


def test_start_saves_rounds():
    S_q, S_p = pair(31, d=10, n=(40, 40))
    cold = dtrace(S_q, S_p, 0.05)
    warm = dtrace(S_q, S_p, 0.05, init=cold.value)
    assert warm.n_iter == 1 < cold.n_iter


def test_tolerance_and_round_limit_are_obeyed():
    S_q, S_p = pair(37, d=10, n=(40, 40))
    alpha = 0.02
    rough, fine = (dtrace(S_q, S_p, alpha, tol=tol, decide=0.0) for tol in (1e-1, 1e-9))
    assert rough.n_iter < fine.n_iter
    stopped = dtrace(S_q, S_p, alpha, tol=1e-12, max_iter=2)
    assert not stopped.converged
    assert stopped.n_iter == len(stopped.history) == 2
    assert stopped.gap == stopped.history[-1] > 1e-12 * 10


def test_solution_is_symmetric_with_exact_zeros():
    S_q, S_p = pair(41, d=15, n=(50, 50))
    value = dtrace(S_q, S_p, 0.4 * dtrace_alpha_max(S_q, S_p)).value
    np.testing.assert_array_equal(value, value.T)
    assert 0 < np.count_nonzero(value) < 100


def test_optimality_conditions_on_a_larger_problem():
    S_q, S_p = pair(43, d=60, n=(150, 100))
    alpha, ridge = 0.1 * dtrace_alpha_max(S_q, S_p), 0.05
    solution = dtrace(S_q, S_p, alpha, ridge=ridge, tol=1e-11)
    Delta = solution.value
    product = S_p @ Delta @ S_q
    residual = S_q - S_p - (product + product.T) / 2 - ridge * Delta
    joined = Delta != 0
    assert 200 < joined.sum() < 3000
    np.testing.assert_allclose(residual[joined], alpha * np.sign(Delta[joined]), atol=1e-4)
    assert np.abs(residual[~joined]).max() <= alpha + 1e-4


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_listed_and_whole_products_agree(share):
    S_q, S_p = pair(47, d=30, n=(8, 40))
    problem = DTraceProblem(S_p, S_q, 0.2, True)
    rng = np.random.default_rng(0)
    Delta = np.where(rng.random((30, 30)) < share / 2, rng.normal(size=(30, 30)), 0.0)
    Delta += Delta.T
    entries = Entries.pulled(problem, Delta, Delta, np.inf)
    assert entries.is_many == (share > 0.1)
    expected = (S_p @ Delta @ S_q + S_q @ Delta @ S_p) / 2 + 0.2 * Delta
    np.testing.assert_allclose(
        entries.curve(entries.take(Delta)), entries.take(expected), rtol=1e-10, atol=1e-10
    )


def test_few_rows_take_the_short_way():
    S_q, S_p = pair(53, d=30, n=(8, 10))
    problem = DTraceProblem(S_p, S_q, 0.1, True)
    assert [len(factor) for factor in problem.factors] == [9, 7]
    Delta = np.random.default_rng(0).normal(size=(30, 30))
    np.testing.assert_allclose(problem.sandwich(Delta), S_p @ Delta @ S_q, atol=1e-9)


def test_constant_variable_needs_a_penalty_on_the_diagonal_or_a_ridge():
    S_q, S_p = pair(59)
    S_p[2] = S_p[:, 2] = 0.0
    with raises(SolverError, code="unbounded_diagonal"):
        dtrace(S_q, S_p, 10.0, penalize_diagonal=False)
    assert dtrace(S_q, S_p, 0.5, ridge=0.1, penalize_diagonal=False).converged
    assert not dtrace(S_q, S_p, np.abs(S_q - S_p).max()).value.any()


def test_equal_columns_share_a_free_diagonal():
    S_q, S_p = (np.pad(S, (0, 1), mode="wrap") for S in pair(61))
    alpha = 0.8 * dtrace_alpha_max(S_q, S_p, penalize_diagonal=False)
    solution = dtrace(S_q, S_p, alpha, penalize_diagonal=False, tol=1e-8)
    value = oracle(S_q, S_p, alpha, penalize_diagonal=False)[0]
    assert solution.converged
    assert solution.objective == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("alpha", [0.0, 1e-3])
def test_problem_without_a_minimum_is_refused(alpha):
    S_q, S_p = pair(67, n=(4, 4))
    with raises(SolverError, code="unbounded_at_alpha"):
        dtrace(S_q, S_p, alpha)
    assert dtrace(S_q, S_p, alpha, ridge=0.1).converged


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"S_q": np.eye(3)}, "dtrace_shapes"),
        ({"S_q": np.ones((2, 3))}, "not_covariance_shape"),
        ({"S_p": np.array([[1.0, np.nan], [np.nan, 1.0]])}, "rows_not_finite_named"),
        ({"S_p": np.array([[1.0, 0.2], [0.1, 1.0]])}, "covariance_asymmetric_named"),
        ({"S_p": np.array([[1.0, 2.0], [2.0, 1.0]])}, "not_semidefinite"),
        ({"alpha": -1.0}, "finite_non_negative"),
        ({"alpha": np.inf}, "finite_non_negative"),
        ({"ridge": -0.1}, "finite_non_negative"),
        ({"init": np.zeros(3)}, "dtrace_init"),
        ({"init": np.full((2, 2), np.nan)}, "dtrace_init"),
        ({"tol": 0.0}, "tol_positive"),
        ({"max_iter": 0}, "max_iter_range"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"S_q": np.eye(2), "S_p": 2 * np.eye(2), "alpha": 0.1} | change
    with raises(InputError, code=message):
        dtrace(**arguments)


def test_path_needs_alphas():
    with raises(InputError, code="alphas_empty"):
        dtrace_path(np.eye(2), np.eye(2), [])


def rows_in_other_units(seed):
    """Return raw covariances of two columns whose units are many orders of magnitude apart."""
    rng = np.random.default_rng(seed)
    after = np.cov(rng.normal(size=(30, 2)).T)
    before = np.cov((rng.normal(size=(30, 2)) * 10.0 ** rng.uniform(-4, 4, 2)).T)
    alpha = 10.0 ** rng.uniform(-3, 0) * np.abs(after - before).max()
    return after, before, alpha


def test_no_certificate_is_false_where_units_are_far_apart():
    S_q, S_p, alpha = rows_in_other_units(2455)
    found = dtrace(S_q, S_p, alpha, ridge=1e-4, penalize_diagonal=False)
    # Where the penalty keeps the pair apart, the diagonal solves two equations.
    alone = np.linalg.solve(S_q * S_p + 1e-4 * np.eye(2), (S_q - S_p).diagonal())
    assert not found.value[0, 1]
    np.testing.assert_allclose(found.value.diagonal(), alone, rtol=1e-9)
    assert found.converged


def as_fractions(values):
    """Return the very numbers that floats stand for, to be reckoned with exactly."""
    return np.vectorize(Fraction, otypes=[object])(values)


@pytest.mark.parametrize("ridge", [0.0, 1e-4])
@pytest.mark.parametrize("is_free", [False, True])
@pytest.mark.parametrize("seed", range(100, 120))
def test_units_far_apart_do_not_make_covariances_singular(seed, is_free, ridge):
    S_q, S_p, alpha = rows_in_other_units(seed)
    options = {"ridge": ridge, "penalize_diagonal": not is_free}
    starts = (None, np.diag(1.0 / S_p.diagonal() - 1.0 / S_q.diagonal()))
    found = dtrace(S_q, S_p, alpha, **options)
    others = [dtrace(S_q, S_p, alpha, init=one, tol=1e-12, **options) for one in starts]
    exact = [as_fractions(one) for one in (S_q, S_p, alpha)]
    options["ridge"] = Fraction(ridge)
    value, *values = (
        objective(*exact, as_fractions(one.value), **options) for one in (found, *others)
    )
    assert value - min(values) <= found.gap
