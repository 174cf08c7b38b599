"""Gaussians of cells against the general solver, CVXPY-checked elsewhere, and plain numpy."""

import numpy as np
import pytest

from edgewise.solvers import graphical_lasso, graphical_lasso_path, refit_precision
from edgewise.solvers.covariates.cell_fits import (
    BEST,
    LASSO,
    REFIT,
    PathRules,
    allocate_path,
    best_by_general_solver,
    best_on_path,
    fit_cells,
    n_sums,
)
from edgewise.solvers.gaussian.graphical_lasso import alpha_max

RULES = PathRules(
    estimate=LASSO,
    n_alphas=20,
    ratio=0.02,
    patience=20,
    rate=0.0,
    penalize_diagonal=True,
    price_edges=False,
)


def rows(n_rows, p, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(n_rows, p))
    for j in range(1, p):
        Y[:, j] += 0.7 * Y[:, rng.integers(j)]
    return Y + shift


def sums(Y):
    p = Y.shape[1]
    products = (Y.T @ Y)[np.triu_indices(p)]
    assert 1 + p + len(products) == n_sums(p)
    return np.concatenate([[len(Y)], Y.sum(axis=0), products])


def risk(Theta, S):
    return np.sum(Theta * S) - np.linalg.slogdet(Theta)[1]


def moments(Y, mean):
    return (Y - mean).T @ (Y - mean) / len(Y)


def fit_one(train, validation, rules, *, own_mean=False, floor=1e-6):
    p = train.shape[1]
    return fit_cells(
        sums(train)[None],
        sums(validation)[None],
        rules,
        own_mean=own_mean,
        floor=np.stack([np.full(p, floor), np.zeros(p)]),
    )


def candidates(train, validation, rules, mean):
    """Lasso and refit risks along the path, by the general solver at a tight tolerance."""
    S, S_val = moments(train, mean), moments(validation, mean)
    alphas = alpha_max(S) * np.geomspace(1.0, rules.ratio, rules.n_alphas)
    path = graphical_lasso_path(S, alphas, penalize_diagonal=rules.penalize_diagonal, tol=1e-10)
    lasso = [risk(solution.value, S_val) for solution in path]
    refits = [refit_precision(S, solution.value != 0) for solution in path]
    return alphas, lasso, [risk(r.value, S_val) if r.exists else np.inf for r in refits], path


@pytest.mark.parametrize("penalize_diagonal", [True, False])
@pytest.mark.parametrize("own_mean", [True, False])
@pytest.mark.parametrize("estimate", [LASSO, REFIT, BEST])
def test_finds_the_least_risk_along_the_path(estimate, own_mean, penalize_diagonal):
    rules = RULES._replace(estimate=estimate, penalize_diagonal=penalize_diagonal)
    train, validation = rows(60, 8, 1, shift=0.3), rows(50, 8, 2, shift=0.3)
    mean = train.mean(axis=0) if own_mean else np.zeros(8)
    alphas, lasso, refit, path = candidates(train, validation, rules, mean)
    risks = {LASSO: lasso, REFIT: refit, BEST: np.minimum(lasso, refit)}[estimate]
    best = int(np.argmin(risks))
    fits = fit_one(train, validation, rules, own_mean=own_mean)
    assert fits.risk[0] == pytest.approx(risks[best], abs=2e-4)
    assert fits.alpha[0] == pytest.approx(alphas[best], rel=1e-9)
    assert fits.is_refit[0] == (risks[best] == refit[best])
    np.testing.assert_allclose(fits.mean[0], mean, atol=1e-12)
    np.testing.assert_array_equal(fits.precision[0] != 0, path[best].value != 0)
    assert risk(fits.precision[0], moments(validation, mean)) == pytest.approx(fits.risk[0])


def test_path_ends_when_patience_does():
    train, validation = rows(30, 10, 3), rows(30, 10, 4)
    _, lasso, _, _ = candidates(train, validation, RULES, np.zeros(10))
    best = int(np.argmin(lasso))
    assert 0 < best < 15
    # The risk falls on the way there, so that a patience of 1 is enough, and of 0 is not.
    assert fit_one(train, validation, RULES._replace(patience=1)).risk[0] == pytest.approx(
        lasso[best], abs=2e-4
    )
    stopped = RULES._replace(n_alphas=5)
    assert fit_one(train, validation, stopped).alpha[0] != pytest.approx(
        fit_one(train, validation, RULES).alpha[0]
    )


def test_rate_takes_one_strength():
    train = rows(50, 6, 5)
    rules = RULES._replace(rate=1.3)
    fits = fit_one(train, train, rules)
    alpha = 1.3 * np.sqrt(np.log(6) / 50)
    expected = graphical_lasso(moments(train, 0), alpha, penalize_diagonal=True, tol=1e-10)
    assert fits.alpha[0] == pytest.approx(alpha, rel=1e-12)
    np.testing.assert_allclose(fits.precision[0], expected.value, atol=1e-3)


def test_price_of_edges_makes_an_extended_bic():
    train = rows(80, 8, 6)
    rules = RULES._replace(estimate=REFIT, price_edges=True)
    alphas, _, refit, path = candidates(train, train, rules, np.zeros(8))
    n_edges = np.array([np.count_nonzero(np.triu(solution.value, 1)) for solution in path])
    ebic = np.array(refit) + n_edges * (np.log(80) + 4 * 0.5 * np.log(8)) / 80
    fits = fit_one(train, train, rules)
    assert fits.alpha[0] == pytest.approx(alphas[int(np.argmin(ebic))], rel=1e-9)
    assert fits.risk[0] == pytest.approx(ebic.min(), abs=1e-6)
    dense = fit_one(train, train, rules._replace(price_edges=False))
    assert np.count_nonzero(dense.precision[0]) > np.count_nonzero(fits.precision[0])


@pytest.mark.parametrize("n_rows", [1, 2, 5, 10])
@pytest.mark.parametrize("estimate", [LASSO, REFIT, BEST])
@pytest.mark.parametrize("own_mean", [True, False])
def test_fewer_rows_than_variables(n_rows, estimate, own_mean):
    fits = fit_one(
        rows(n_rows, 20, 7), rows(40, 20, 8), RULES._replace(estimate=estimate), own_mean=own_mean
    )
    assert np.isfinite(fits.risk).all()
    assert np.linalg.eigvalsh(fits.precision[0])[0] > 0


def test_lasso_stands_in_where_there_is_no_refit():
    # With 3 rows every clique of four is too much; the path soon has one.
    train, validation = rows(3, 12, 9), rows(200, 12, 9)
    rules = RULES._replace(estimate=REFIT, penalize_diagonal=False)
    _, lasso, refit, _ = candidates(train, validation, rules, np.zeros(12))
    first_gone = int(np.argmax(np.isinf(refit)))
    assert np.isinf(refit).any()
    fits = fit_one(train, validation, rules)
    # From some strength on, at the latest where the maximum is gone, the lasso counts.
    allowed = [min([*refit[:k], *lasso[k:]]) for k in range(1, first_gone + 1)]
    assert np.abs(np.array(allowed) - fits.risk[0]).min() < 1e-3
    assert not fits.is_refit[0]
    assert min(refit) > fits.risk[0] + 0.1


def test_zero_variance_is_raised_to_the_floor():
    train = rows(30, 5, 10)
    train[:, 3] = 0.0
    fits = fit_one(train, rows(30, 5, 11), RULES, floor=1e-4)
    np.testing.assert_array_equal(fits.is_floored[0], [False, False, False, True, False])
    assert np.isfinite(fits.risk[0])
    free = fit_one(train, rows(30, 5, 11), RULES._replace(penalize_diagonal=False), floor=1e-4)
    assert np.linalg.inv(free.precision[0])[3, 3] == pytest.approx(1e-4)


def test_general_solver_agrees_with_the_kernel():
    train, validation = rows(25, 9, 12), rows(40, 9, 13)
    S, S_val = moments(train, 0), moments(validation, 0)
    for estimate in (LASSO, REFIT, BEST):
        for rules in (
            RULES._replace(estimate=estimate, patience=8),
            RULES._replace(estimate=estimate, rate=1.0, price_edges=True),
        ):
            fast, slow = np.empty((9, 9)), np.empty((9, 9))
            one = best_on_path(S, S_val, 25.0, rules, allocate_path(9), fast)
            other = best_by_general_solver(S, S_val, 25.0, rules, slow)
            assert one.is_solved
            assert other.risk == pytest.approx(one.risk, abs=2e-4)
            assert other.alpha == pytest.approx(one.alpha)
            assert other.is_refit == one.is_refit
            np.testing.assert_allclose(slow, fast, atol=2e-3)


@pytest.mark.parametrize("n_rows", [3, 6])
def test_what_the_kernel_gives_up_goes_to_the_general_solver(n_rows):
    # So few rows, and strengths so small, that descent does not get to the end of the path.
    train = rows(n_rows, 12, 1)
    rules = RULES._replace(ratio=1e-3)
    alphas, lasso, _, path = candidates(train, train, rules, 0.0)
    best = int(np.argmin(lasso))
    fits = fit_one(train, train, rules)
    assert fits.alpha[0] == pytest.approx(alphas[best])
    assert fits.risk[0] == pytest.approx(lasso[best], abs=2e-4)
    np.testing.assert_allclose(fits.precision[0], path[best].value, rtol=1e-2, atol=1e-2)


def test_strong_correlations():
    rng = np.random.default_rng(0)
    common = rng.normal(size=(400, 1))
    train = common + 1e-3 * rng.normal(size=(400, 6))
    rules = RULES._replace(ratio=1e-4, n_alphas=40)
    fits = fit_one(train, train, rules)
    S = moments(train, 0)
    alpha = fits.alpha[0]
    expected = graphical_lasso(S, alpha, penalize_diagonal=True, tol=1e-10)
    assert fits.risk[0] == pytest.approx(risk(expected.value, S), rel=1e-3)


def test_cells_do_not_depend_on_each_other():
    tables = [rows(n, 6, n) for n in (15, 40, 80)]
    train = np.array([sums(Y) for Y in tables])
    together = fit_cells(
        train,
        train[::-1].copy(),
        RULES,
        own_mean=True,
        floor=np.stack([np.full(6, 1e-6), np.zeros(6)]),
    )
    for c in range(3):
        alone = fit_one(tables[c], tables[2 - c], RULES, own_mean=True)
        np.testing.assert_array_equal(alone.precision[0], together.precision[c])
        assert alone.risk[0] == together.risk[c]
