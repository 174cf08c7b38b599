"""Precisions of several groups together, against CVXPY, closed forms and the solvers of fewer."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError, SolverError
from edgewise.solvers import graphical_lasso, joint_graphical_lasso
from edgewise.solvers.change.joint_graphical_lasso import _make_layers, joint_alpha_max
from edgewise.solvers.change.joint_path import joint_graphical_lasso_path
from tests.messages import raises


def covariances(rng, n_groups, p, n=12):
    mixing = rng.normal(size=(p, p))
    rows = [rng.normal(size=(n, p)) @ (mixing + 0.5 * rng.normal(size=(p, p))) for _ in
            range(n_groups)]  # fmt: skip
    return np.stack([X.T @ X / n for X in rows])


def all_pairs(n_groups):
    return [(k, m) for k in range(n_groups) for m in range(k)]


def optimum(S, alpha, coupling, *, penalty="fused", pairs=None, group_weights=None,
            penalize_diagonal=False):  # fmt: skip
    """Value of the objective at the optimum that CVXPY finds."""
    n_groups, p, _ = S.shape
    weights = np.ones(n_groups) if group_weights is None else group_weights
    counts = np.ones((p, p)) if penalize_diagonal else 1 - np.eye(p)
    Theta = [cp.Variable((p, p), PSD=True) for _ in range(n_groups)]
    cost = 0
    for k in range(n_groups):
        cost += weights[k] * (cp.trace(S[k] @ Theta[k]) - cp.log_det(Theta[k]))
        cost += alpha * cp.sum(cp.multiply(counts, cp.abs(Theta[k])))
    if penalty == "fused":
        for k, m in all_pairs(n_groups) if pairs is None else pairs:
            cost += coupling * cp.sum(cp.multiply(counts, cp.abs(Theta[k] - Theta[m])))
    else:
        for i, j in zip(*np.nonzero(counts), strict=True):
            cost += coupling * cp.norm(cp.hstack([one[i, j] for one in Theta]))
    problem = cp.Problem(cp.Minimize(cost))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


CASES = {
    "all pairs": {},
    "a chain": {"pairs": [(0, 1), (1, 2), (2, 3)]},
    "a star": {"pairs": [(0, 1), (0, 2), (0, 3)]},
    "a ring with a chord": {"pairs": [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]},
    "norms": {"penalty": "group"},
}


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_the_optimum_is_within_the_gap(case, diagonal):
    rng = np.random.default_rng(len(case))
    S = covariances(rng, 4, 3)
    options = {**CASES[case], "group_weights": rng.uniform(0.5, 2, 4),
               "penalize_diagonal": diagonal}  # fmt: skip
    found = joint_graphical_lasso(S, 0.2, 0.15, tol=1e-8, **options)
    assert found.converged
    # CVXPY itself is right to about 1e-6.
    assert found.objective == pytest.approx(optimum(S, 0.2, 0.15, **options), abs=3e-6)
    np.testing.assert_allclose(found.value @ found.covariance, np.tile(np.eye(3), (4, 1, 1)),
                               atol=1e-9)  # fmt: skip


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.integers(1, 5), st.sampled_from(sorted(CASES)))
def test_certificates_and_structure_hold_on_random_problems(seed, p, case):
    rng = np.random.default_rng(seed)
    S = covariances(rng, 4, p, n=int(rng.integers(2, 12))) + 0.01 * np.eye(p)
    alpha, coupling = rng.uniform(0.01, 1, 2)
    found = joint_graphical_lasso(S, alpha, coupling, **CASES[case])
    assert found.converged
    assert 0 <= found.gap <= 1e-6 * p * 4
    np.testing.assert_array_equal(found.value, found.value.transpose(0, 2, 1))
    largest = joint_alpha_max(S, coupling, **CASES[case])
    above = np.triu_indices(p, 1)
    assert (
        not joint_graphical_lasso(S, largest + 1e-9, coupling, **CASES[case]).value[:, *above].any()
    )
    order = rng.permutation(p)
    moved = joint_graphical_lasso(S[:, order][:, :, order], alpha, coupling, **CASES[case])
    assert moved.objective == pytest.approx(found.objective, abs=1e-5 * p)


def test_one_group_is_the_graphical_lasso():
    S = covariances(np.random.default_rng(0), 1, 6)
    alone = graphical_lasso(S[0], 0.3, tol=1e-9)
    for penalty in ("fused", "group"):
        coupling = 0.0 if penalty == "group" else 5.0
        found = joint_graphical_lasso(S, 0.3, coupling, penalty=penalty, tol=1e-9)
        np.testing.assert_allclose(found.value[0], alone.value, atol=1e-4)
    # A norm of one number is its size.
    found = joint_graphical_lasso(S, 0.1, 0.2, penalty="group", tol=1e-9)
    np.testing.assert_allclose(found.value[0], alone.value, atol=1e-4)


@pytest.mark.parametrize("diagonal", [False, "coupling", True])
@pytest.mark.parametrize("case", [{}, {"penalty": "group"}, {"pairs": [(0, 1)]}])
def test_a_path_gives_what_single_solves_do(case, diagonal):
    S = covariances(np.random.default_rng(1), 2, 5)
    options = case | {"penalize_diagonal": diagonal, "tol": 1e-9}
    couplings = [0.05, 0.2, 0.1]
    path = joint_graphical_lasso_path(S, 0.2, couplings, **options)
    for coupling, found in zip(couplings, path, strict=True):
        alone = joint_graphical_lasso(S, 0.2, coupling, **options)
        assert (found.alpha, found.coupling) == (0.2, coupling)
        assert found.objective == pytest.approx(alone.objective, abs=1e-7)
        np.testing.assert_allclose(found.value, alone.value, atol=1e-4)


def test_a_strong_coupling_makes_all_groups_equal_or_absent_together():
    S = covariances(np.random.default_rng(2), 3, 5)
    S /= np.sqrt(S.diagonal(axis1=1, axis2=2)[:, :, None] * S.diagonal(axis1=1, axis2=2)[:, None])
    equal = joint_graphical_lasso(S, 0.05, 50.0).value
    pairs = np.triu_indices(5, 1)
    np.testing.assert_array_equal(equal[0][pairs], equal[1][pairs])
    np.testing.assert_array_equal(equal[0][pairs], equal[2][pairs])
    pooled = graphical_lasso(S.mean(axis=0), 0.05, tol=1e-9).value
    np.testing.assert_allclose(equal[0], pooled, atol=1e-2)
    is_joined = joint_graphical_lasso(S, 0.0, 0.3, penalty="group").value != 0
    np.testing.assert_array_equal(is_joined.any(axis=0), is_joined.all(axis=0))
    assert 0 < is_joined[0][pairs].sum() < 10


def test_blocks_change_nothing():
    rng = np.random.default_rng(3)
    S = np.zeros((3, 7, 7))
    S[:, :3, :3], S[:, 3:6, 3:6] = covariances(rng, 3, 3), covariances(rng, 3, 3)
    S[:, 6, 6] = 4.0
    whole = joint_graphical_lasso(S, 0.1, 0.1, tol=1e-9)
    assert not whole.value[:, :3, 3:].any()
    total = 0.0
    for part in (slice(0, 3), slice(3, 6), slice(6, 7)):
        alone = joint_graphical_lasso(S[:, part, part], 0.1, 0.1, tol=1e-9)
        np.testing.assert_allclose(whole.value[:, part, part], alone.value, atol=1e-4)
        np.testing.assert_allclose(
            whole.covariance[:, part, part] @ whole.value[:, part, part],
            np.broadcast_to(np.eye(part.stop - part.start), alone.value.shape), atol=1e-9,
        )  # fmt: skip
        total += alone.objective
    assert whole.objective == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize("penalty", ["fused", "group"])
def test_the_units_of_variables_are_those_of_the_penalty(penalty):
    # Columns in other units by a common factor: the penalties count for that much less.
    S = covariances(np.random.default_rng(5), 3, 6)
    plain = joint_graphical_lasso(S, 0.2, 0.1, penalty=penalty, tol=1e-9)
    large = joint_graphical_lasso(1e6 * S, 2e5, 1e5, penalty=penalty, tol=1e-9)
    np.testing.assert_allclose(1e6 * large.value, plain.value, atol=1e-4)
    expected = plain.objective + 3 * 6 * np.log(1e6)
    assert large.objective == pytest.approx(expected, abs=1e-6)


def test_a_start_changes_iterations_only():
    S = covariances(np.random.default_rng(4), 3, 6)
    cold = joint_graphical_lasso(S, 0.1, 0.1, tol=1e-8)
    given = cold.value.copy()
    warm = joint_graphical_lasso(S, 0.1, 0.1, tol=1e-8, init=given)
    np.testing.assert_array_equal(given, cold.value)
    assert warm.objective == pytest.approx(cold.objective, abs=2e-7)


def test_any_graph_of_groups_is_split_into_paths():
    pairs = all_pairs(6)
    layers = _make_layers("fused", pairs, 6)
    found = {
        tuple(sorted((int(path[k - 1]), int(path[k])), reverse=True))
        for path, linked in zip(layers.paths, layers.is_linked, strict=True)
        for k in range(1, 6)
        if linked[k]
    }
    assert found == set(pairs)
    assert all(sorted(path) == list(range(6)) for path in layers.paths)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"S": np.ones((2, 3))}, "covariances_shape"),
        ({"S": np.full((2, 2, 2), np.nan)}, "covariances_not_finite"),
        ({"S": np.array([[[1.0, 0.5], [0.0, 1.0]]])}, "covariances_asymmetric"),
        ({"S": -np.ones((2, 1, 1))}, "negative_variance"),
        ({"alpha": 0, "coupling": 0}, "alpha_and_coupling_zero"),
        ({"alpha": -1}, "finite_non_negative"),
        ({"penalty": "ridge"}, "joint_penalty_choice"),
        ({"penalty": "group", "pairs": [(0, 1)]}, "pairs_need_fused"),
        ({"pairs": [(0, 5)]}, "group_pairs_range"),
        ({"pairs": [0, 1]}, "group_pairs_shape"),
        ({"group_weights": [1, 0]}, "group_weights_positive"),
        ({"init": np.zeros((2, 2, 2))}, "init_indefinite"),
        ({"init": np.zeros((1, 2, 2))}, "inits_shape"),
    ],
)
def test_bad_arguments(options, message):
    given = {"S": np.tile(np.eye(2), (2, 1, 1)), "alpha": 0.1, "coupling": 0.1} | options
    with raises(InputError, code=message):
        joint_graphical_lasso(given.pop("S"), given.pop("alpha"), given.pop("coupling"), **given)


def test_no_minimum_is_said():
    S = np.ones((2, 3, 3))
    with raises(SolverError, code="free_edges_singular"):
        joint_graphical_lasso(S, 0.0, 0.1)


def exact_objective(S, Theta, alpha, coupling):
    """Objective of two groups of two columns, in extended precision."""
    S, Theta = (np.asarray(one, dtype=np.longdouble) for one in (S, Theta))
    determinants = Theta[:, 0, 0] * Theta[:, 1, 1] - Theta[:, 0, 1] ** 2
    links = Theta[:, 0, 1]
    penalties = 2 * alpha * np.abs(links).sum() + 2 * coupling * abs(links[0] - links[1])
    return (S * Theta).sum() - np.log(determinants).sum() + penalties


def test_no_certificate_is_false_where_groups_have_units_far_apart():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        units = 10.0 ** rng.uniform(-4, 4, (2, 2))
        S = np.stack([np.cov((rng.normal(size=(30, 2)) * unit).T) for unit in units])
        alpha, coupling = np.abs(S).max() * 10.0 ** rng.uniform(-8, 0, 2)
        tols = (1e-6, 1e-11, 1e-13)
        found = [joint_graphical_lasso(S, alpha, coupling, tol=tol) for tol in tols]
        values = [exact_objective(S, one.value, alpha, coupling) for one in found]
        for tol, solution, value in zip(tols, found, values, strict=True):
            assert value - min(values) <= solution.gap, seed
            assert not solution.converged or solution.gap <= tol * 4, seed


def test_a_few_iterations_do_not_say_that_there_is_no_minimum():
    for seed in range(20):
        S = covariances(np.random.default_rng(seed), 2, 7, n=6)
        rough = joint_graphical_lasso(S, 0.01, 0.3, pairs=[(0, 1)], max_iter=2)
        assert not rough.converged
        assert rough.gap > 0.0
