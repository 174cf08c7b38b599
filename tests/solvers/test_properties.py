"""What holds of a solver whatever the problem: certificates, symmetries, and where it is empty."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import edgewise.solvers
from edgewise.solvers import (
    density_ratio,
    generalized_lasso,
    graphical_lasso,
    graphical_lasso_path,
    latent_graphical_lasso,
    learn_structure,
    locally_constant,
    locally_constant_path,
    log_score,
    screened_graphical_lasso,
)
from edgewise.solvers.change.density_ratio import (
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
    ratio_alpha_min,
)
from edgewise.solvers.change.fused_neighborhood import (
    fused_neighborhood,
    fused_neighborhood_alpha_max,
    fused_neighborhood_path,
)
from edgewise.solvers.change.joint_path import joint_coupling_max, joint_graphical_lasso_path
from edgewise.solvers.change.sampled_likelihood import (
    draw_proposals,
    sampled_fused_alpha_max,
    sampled_fused_path,
)
from edgewise.solvers.classify.class_networks import fisher_networks, margin_networks
from edgewise.solvers.classify.fisher_scores import fisher_kernel, fisher_vectors, network_residuals
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from edgewise.solvers.lasso.gram import neighborhood_lasso
from tests.fuzz.mutation import examples
from tests.guarantees import assert_definite, is_acyclic
from tests.solvers.classify.class_problems import class_problem, hard_machine

TOL = 1e-6
SEEDS = st.integers(0, 10**6)
SIZES = st.integers(2, 5)
SHARES = st.sampled_from([0.05, 0.3, 0.8])
few = examples(25)


def rows(seed, p, n=None):
    """Rows of a random network, with columns of different sizes and fewer rows than columns too."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30)) if n is None else n
    mixing = np.eye(p) + np.triu(rng.normal(scale=0.7, size=(p, p)), 1)
    X = rng.normal(size=(n, p)) @ mixing
    return X - X.mean(axis=0)


def covariance(seed, p, n=None):
    X = rows(seed, p, n)
    return X.T @ X / len(X)


def two_covariances(seed, p):
    return np.stack([covariance(seed + k, p, 12 + p) for k in (0, 1)])


def assert_certified(solution, n_variables, tol=TOL):
    assert solution.converged
    assert np.isfinite(solution.value).all()
    scale = max(1.0, abs(solution.objective))
    assert -1e-10 * scale <= solution.gap <= tol * n_variables


def moved(matrix, order):
    return matrix[..., order, :][..., :, order]


@few
@given(seed=SEEDS, p=SIZES, share=SHARES)
def test_graphical_lasso(seed, p, share):
    S = covariance(seed, p)
    largest = alpha_max(S)
    found = graphical_lasso(S, share * largest, tol=1e-10)
    assert_certified(found, p)
    assert_definite(found.value, "value")
    np.testing.assert_allclose(found.value @ found.covariance, np.eye(p), atol=1e-6)
    empty = graphical_lasso(S, largest)
    assert not np.any(empty.value[~np.eye(p, dtype=bool)])
    assert found.objective <= empty.objective + 1e-9
    order, unit = np.random.default_rng(seed).permutation(p), 3.0
    other = graphical_lasso(moved(S, order), share * largest, tol=1e-10)
    np.testing.assert_allclose(other.value, moved(found.value, order), rtol=1e-3, atol=1e-4)
    scaled = graphical_lasso(unit * S, unit * share * largest, tol=1e-10)
    np.testing.assert_allclose(unit * scaled.value, found.value, rtol=1e-3, atol=1e-4)
    *_, last = graphical_lasso_path(S, [largest, share * largest], tol=1e-10)
    np.testing.assert_allclose(last.value, found.value, rtol=1e-3, atol=1e-4)


@few
@given(seed=SEEDS, p=SIZES, share=SHARES, tau=st.sampled_from([0.05, 0.3, 2.0]))
def test_latent_graphical_lasso(seed, p, share, tau):
    S = covariance(seed, p)
    alpha = share * alpha_max(S)
    tau *= float(S.diagonal().mean())
    found = latent_graphical_lasso(S, alpha, tau, tol=1e-8)
    assert_certified(found, p)
    assert_definite(found.value, "value")
    assert np.linalg.eigvalsh(found.low_rank).min() > -1e-9
    plain = graphical_lasso(S, alpha, tol=1e-10)
    assert found.objective <= plain.objective + 1e-7
    order = np.random.default_rng(seed).permutation(p)
    other = latent_graphical_lasso(moved(S, order), alpha, tau, tol=1e-8)
    assert other.objective == pytest.approx(found.objective, abs=2e-8 * p)


@few
@given(seed=SEEDS, p=SIZES, share=SHARES)
def test_neighborhood_lasso(seed, p, share):
    S = covariance(seed, p)
    S = S / np.sqrt(np.outer(S.diagonal(), S.diagonal()))
    largest = np.max(np.abs(S - np.eye(p)))
    found = neighborhood_lasso(S, share * largest)
    assert_certified(found, p)
    assert not np.any(found.value.diagonal())
    assert not np.any(neighborhood_lasso(S, 1.0001 * largest).value)
    order = np.random.default_rng(seed).permutation(p)
    other = neighborhood_lasso(moved(S, order), share * largest)
    assert other.objective == pytest.approx(found.objective, abs=1e-6)


@few
@given(seed=SEEDS, p=SIZES, share=SHARES, tau=st.sampled_from([0.0, 0.05, 0.5]))
def test_locally_constant(seed, p, share, tau):
    S = covariance(seed, p)
    S /= S.diagonal().mean()
    pairs = [(k, k + 1) for k in range(p - 1)]
    alpha = share * max(alpha_max(S), 0.01)
    found = locally_constant(S, alpha, tau, pairs, tol=1e-8)
    assert_certified(found, p)
    assert_definite(found.value, "value")
    plain = graphical_lasso(S, alpha, penalize_diagonal=True, tol=1e-8)
    if tau == 0:
        np.testing.assert_allclose(found.value, plain.value, rtol=1e-2, atol=1e-3)
    # More of a penalty can only cost more, and a chain is the same from its other end.
    assert found.objective >= plain.objective - 1e-6
    back = locally_constant(moved(S, slice(None, None, -1)), alpha, tau, pairs, tol=1e-8)
    np.testing.assert_allclose(
        back.value, moved(found.value, slice(None, None, -1)), rtol=1e-2, atol=1e-3
    )
    ((again,),) = locally_constant_path(S, [alpha], [tau], pairs, tol=1e-8)
    assert again.objective == pytest.approx(found.objective, abs=1e-6)


@few
@given(seed=SEEDS, p=SIZES, share=SHARES, block_size=st.integers(1, 4))
def test_screened_graphical_lasso(seed, p, share, block_size):
    X = rows(seed, p, 12 + p)
    S = np.cov(X.T, bias=True)
    alpha = share * alpha_max(S)
    found = screened_graphical_lasso(X, alpha, standardize=False, block_size=block_size)
    whole = graphical_lasso(S, alpha)
    assert found.converged
    assert -1e-10 <= found.gap <= TOL * p
    assert abs(found.objective - whole.objective) <= found.gap + whole.gap + 1e-9
    order = np.random.default_rng(seed).permutation(p)
    other = screened_graphical_lasso(X[:, order], alpha, standardize=False)
    np.testing.assert_array_equal(
        np.bincount(other.component)[other.component],
        np.bincount(found.component)[found.component][order],
    )


@pytest.mark.slow
@few
@given(seed=SEEDS, p=SIZES, share=SHARES, sparsity=st.sampled_from([0.0, 0.1]))
def test_joint_graphical_lasso_path(seed, p, share, sparsity):
    def solve(S, *couplings):
        options = {"penalize_diagonal": "coupling", "tol": 5e-9}
        return joint_graphical_lasso_path(S, sparsity, couplings, **options)[-1]

    S = two_covariances(seed, p)
    S /= S.diagonal(axis1=1, axis2=2).mean()
    largest = joint_coupling_max(S, sparsity, penalize_diagonal="coupling")
    found = solve(S, share * largest)
    equal = solve(S, 1.001 * largest + 1e-5)
    for solution in (found, equal):
        assert_certified(solution, p)
        for Theta in solution.value:
            assert_definite(Theta, "value")
    is_edge = ~np.eye(p, dtype=bool)
    np.testing.assert_array_equal(equal.value[0][is_edge], equal.value[1][is_edge])
    assert found.objective <= equal.objective + 1e-6
    swapped = solve(S[::-1], share * largest)
    np.testing.assert_allclose(swapped.value, found.value[::-1], rtol=1e-2, atol=1e-3)
    order = np.random.default_rng(seed).permutation(p)
    other = solve(moved(S, order), share * largest)
    np.testing.assert_allclose(other.value, moved(found.value, order), rtol=1e-2, atol=1e-3)
    last = solve(S, largest, share * largest)
    assert last.objective == pytest.approx(found.objective, abs=1e-6)


@few
@given(seed=SEEDS, p=SIZES, share=SHARES, sparsity=st.sampled_from([0.0, 0.1]))
def test_fused_neighborhood(seed, p, share, sparsity):
    S = two_covariances(seed, p)
    S /= S.diagonal(axis1=1, axis2=2).mean()
    largest = fused_neighborhood_alpha_max(S, sparsity=sparsity)
    alpha = share * largest + 1e-3
    found = fused_neighborhood(S, alpha, sparsity=sparsity, tol=1e-8)
    equal = fused_neighborhood(S, 1.001 * largest + 1e-6, sparsity=sparsity, tol=1e-8)
    assert_certified(found, p)
    assert_certified(equal, p)
    np.testing.assert_array_equal(equal.value[0], equal.value[1])
    swapped = fused_neighborhood(S[::-1], alpha, sparsity=sparsity, tol=1e-8)
    assert swapped.objective == pytest.approx(found.objective, abs=1e-6)
    order = np.random.default_rng(seed).permutation(p)
    other = fused_neighborhood(moved(S, order), alpha, sparsity=sparsity, tol=1e-8)
    assert other.objective == pytest.approx(found.objective, abs=1e-6)
    *_, last = fused_neighborhood_path(S, [largest + 1e-3, alpha], sparsity=sparsity, tol=1e-8)
    assert last.objective == pytest.approx(found.objective, abs=1e-6)


@few
@given(
    seed=SEEDS,
    p=SIZES,
    share=SHARES,
    basis=st.sampled_from(["gaussian", "polynomial", "power"]),
)
def test_density_ratio(seed, p, share, basis):
    X_p, X_q = (rows(seed + k, p) / 3.0 for k in (0, 1))
    largest = ratio_alpha_max(X_p, X_q, basis=basis)
    found = density_ratio(X_p, X_q, share * largest, basis=basis)
    assert_certified(found, p)
    assert not np.any(density_ratio(X_p, X_q, 1.0001 * largest, basis=basis).value)
    # At 0, a feasible point, the objective is 0.
    assert found.objective <= 1e-9
    ratio = np.exp(log_density_ratio(X_q, found.value, basis=basis) - found.log_normalizer)
    assert np.mean(ratio) == pytest.approx(1.0)
    assert found.weights.sum() == pytest.approx(1.0)
    primal = density_ratio(X_p, X_q, share * largest, basis=basis, solver="primal")
    assert primal.objective == pytest.approx(found.objective, abs=1e-6)
    order = np.random.default_rng(seed).permutation(p)
    other = density_ratio(X_p[:, order], X_q[:, order], share * largest, basis=basis)
    np.testing.assert_allclose(
        np.linalg.norm(other.value, axis=2),
        moved(np.linalg.norm(found.value, axis=2), order),
        atol=1e-3,
    )
    *_, last = density_ratio_path(X_p, X_q, [largest, share * largest], basis=basis)
    assert last.objective == pytest.approx(found.objective, abs=1e-6)
    smallest = ratio_alpha_min(X_p, X_q, basis=basis)
    assert 0.0 <= smallest <= ratio_alpha_max(X_p, X_q, basis=basis, ridge=0.0) + 1e-9


@pytest.mark.slow
@few
@given(seed=SEEDS, p=st.integers(2, 3), share=SHARES)
def test_sampled_likelihood(seed, p, share):
    first, second = (rows(seed + k, p, 15) / 2.0 for k in (0, 1))
    proposals = draw_proposals(p, 60, rng=seed)
    again = draw_proposals(p, 60, rng=seed)
    np.testing.assert_array_equal(proposals.rows, again.rows)
    density = stats.norm(scale=1.5).logpdf(proposals.rows).sum(axis=1)
    np.testing.assert_allclose(proposals.log_density, density)
    largest = sampled_fused_alpha_max(first, second)
    alphas = [1.001 * largest, share * largest]
    equal, found = sampled_fused_path(first, second, proposals, alphas)
    for solution in (equal, found):
        assert_certified(solution, p, tol=1e-5)
    np.testing.assert_allclose(equal.value[0], equal.value[1], atol=1e-12)
    assert found.objective <= equal.objective + 1e-4
    *_, swapped = sampled_fused_path(second, first, proposals, alphas)
    assert swapped.objective == pytest.approx(found.objective, abs=1e-3)


@examples(6)
@given(seed=SEEDS, n_classes=st.integers(2, 3), slack=st.sampled_from([0.01, 0.3]))
def test_networks_of_classes(seed, n_classes, slack):
    problem = class_problem(
        np.random.default_rng(seed), n_classes=n_classes, n_per_class=8, m=4, n_arcs=6
    )
    data = (problem.X, problem.labels, problem.coefs, problem.arcs)
    limits = (1.0 + slack) * problem.fit_errors(problem.coefs)
    for found in (
        margin_networks(*data, slack=slack, tol=1e-2),
        fisher_networks(*data, hard_machine, slack=slack, tol=1e-2, max_iter=30),
    ):
        assert np.isfinite(found.value).all()
        assert found.gap >= 0.0
        assert found.objective <= found.start + 1e-8 * abs(found.start)
        assert (problem.fit_errors(found.value) <= limits * (1.0 + 1e-8)).all()
        for coef in found.value:
            assert is_acyclic(coef[:-1] != 0)


@few
@given(seed=SEEDS, m=SIZES, n_classes=st.integers(1, 3))
def test_fisher_scores(seed, m, n_classes):
    rng = np.random.default_rng(seed)
    coefs = np.triu(rng.normal(size=(n_classes, m + 1, m)), 1)
    X, Y = rng.normal(size=(7, m)), rng.normal(size=(4, m))
    residuals = network_residuals(X, coefs)
    for c in range(n_classes):
        expected = X - X @ coefs[c, :m] - coefs[c, m]
        np.testing.assert_allclose(residuals[c], expected, atol=1e-10)
    kernel = fisher_kernel(X, X, coefs)
    assert np.linalg.eigvalsh(kernel)[0] >= -1e-9 * np.trace(kernel)
    left, right = (fisher_vectors(part, coefs).reshape(len(part), -1) for part in (X, Y))
    np.testing.assert_allclose(fisher_kernel(X, Y, coefs), left @ right.T, atol=1e-8)
    np.testing.assert_allclose(kernel, left @ left.T, atol=1e-8)


@few
@given(
    seed=SEEDS,
    family=st.sampled_from(["gaussian", "binary", "poisson", "multinomial"]),
    share=SHARES,
)
def test_generalized_lasso(seed, family, share):
    rng = np.random.default_rng(seed)
    X = rows(seed, 4, 40)
    draws = {
        "gaussian": X[:, 0] + rng.normal(size=40),
        "binary": rng.permutation(40) % 2,
        "poisson": rng.poisson(2.0, size=40),
        "multinomial": rng.permutation(40) % 3,
    }
    y, groups = draws[family], [0, 0, 1, 2]
    alpha = share * np.abs(X).max()
    found = generalized_lasso(X, y, alpha, family=family, groups=groups, tol=TOL)
    assert 0.0 <= found.gap <= TOL
    assert found.converged
    # Nothing near it is better by more than the gap.
    again = generalized_lasso(X, y, alpha, family=family, groups=groups, tol=1e-10, init=found)
    assert again.objective - 1e-10 <= found.objective <= again.objective + found.gap + 1e-12
    turned = generalized_lasso(X[::-1], y[::-1], alpha, family=family, groups=groups, tol=1e-10)
    assert turned.objective == pytest.approx(again.objective, abs=2e-10)


@few
@given(
    seed=SEEDS,
    p=st.integers(2, 4),
    levels=st.integers(2, 3),
    criterion=st.sampled_from(["bjp", "mpl"]),
)
def test_learn_structure(seed, p, levels, criterion):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, size=(40, p))
    X[:, 1] = np.where(rng.uniform(size=40) < 0.7, X[:, 0], X[:, 1])
    options = {"criterion": criterion, "cardinalities": np.full(p, levels), "ties": "mean"}
    hill = learn_structure(X, **options)
    best = learn_structure(X, search="exhaustive", **options)
    for found in (hill, best):
        np.testing.assert_array_equal(found.value, found.value.T)
        assert not found.value.diagonal().any()
        assert found.objective == pytest.approx(log_score(X, found.value, **options))
    empty = log_score(X, np.zeros((p, p), dtype=bool), **options)
    assert empty - 1e-9 <= hill.objective <= best.objective + 1e-9
    order = rng.permutation(p)
    other = learn_structure(X[:, order], search="exhaustive", **options)
    assert other.objective == pytest.approx(best.objective)


def test_every_solver_has_a_property_test():
    files = [path.read_text() for path in Path(__file__).parent.rglob("test_*.py")]
    text = "\n".join(content for content in files if "@given" in content)
    public = {name: getattr(edgewise.solvers, name) for name in edgewise.solvers.__all__}
    functions = [name for name, item in public.items() if not isinstance(item, type)]
    assert [name for name in functions if not re.search(rf"\b{name}\(", text)] == []
