"""Gaussians of covariances that are alike, against one solve at a time."""

import numpy as np
import pytest

from edgewise.solvers import graphical_lasso, refit_precision
from edgewise.solvers.covariates.cell_fits import fit_nearby, path_risks

P = 6


@pytest.fixture(scope="module")
def covariances():
    rng = np.random.default_rng(0)
    B = np.eye(P) + np.diag(np.full(P - 1, 0.6), 1)
    return np.stack([np.cov((rng.normal(size=(80, P)) @ B).T) for _ in range(5)])


def risk(Theta, S):
    return np.trace(Theta @ S) - np.log(np.linalg.det(Theta))


@pytest.mark.parametrize("penalize_diagonal", [False, True])
def test_lassos_are_those_of_the_solver(covariances, penalize_diagonal):
    options = {"penalize_diagonal": penalize_diagonal, "tol": 1e-10}
    fits = fit_nearby(covariances, 0.2, refit=False, **options)
    for S, precision in zip(covariances, fits.precision, strict=True):
        alone = graphical_lasso(S, 0.2, **options)
        np.testing.assert_allclose(precision, alone.value, atol=1e-5)
    assert not fits.is_refit.any()
    assert (fits.gap >= 0).all()
    assert (fits.gap <= 1e-10 * P).all()
    assert (fits.n_iter >= 1).all()


def test_refits_are_maximum_likelihood_on_the_graph(covariances):
    fits = fit_nearby(covariances, 0.2, refit=True, tol=1e-10)
    assert fits.is_refit.all()
    for S, precision in zip(covariances, fits.precision, strict=True):
        graph = graphical_lasso(S, 0.2, tol=1e-10).value != 0
        np.testing.assert_array_equal(precision != 0, graph)
        np.testing.assert_allclose(np.linalg.inv(precision)[graph], S[graph], atol=1e-4)


@pytest.mark.parametrize("refit", [False, True])
def test_risks_along_a_path(covariances, refit):
    alphas = np.array([1.0, 0.3, 0.1])
    judges = covariances[::-1]
    risks, n_unconverged = path_risks(covariances, judges, alphas, refit=refit, tol=1e-9)
    assert n_unconverged == 0
    for k, S in enumerate(covariances):
        for a, alpha in enumerate(alphas):
            Theta = graphical_lasso(S, alpha, tol=1e-9).value
            if refit:
                Theta = refit_precision(S, Theta != 0).value
            assert risks[k, a] == pytest.approx(risk(Theta, judges[k]), abs=1e-4)


def test_without_a_maximum_the_lasso_stays():
    Y = np.random.default_rng(1).normal(size=(4, P))
    S = np.cov(Y.T)[None]
    fits = fit_nearby(S, 0.05, refit=True, tol=1e-10)
    assert not fits.is_refit[0]
    lasso = graphical_lasso(S[0], 0.05, tol=1e-10).value
    np.testing.assert_allclose(fits.precision[0], lasso, atol=1e-4)
    alphas = np.array([3.0, 0.05])
    risks, _ = path_risks(S, S, alphas, refit=True, tol=1e-10)
    assert risks[0, 1] == pytest.approx(risk(fits.precision[0], S[0]), abs=1e-6)
    empty = np.diag(1 / S[0].diagonal())
    assert risks[0, 0] == pytest.approx(risk(empty, S[0]), abs=1e-9)


def test_lassos_that_stop_early_are_counted(covariances):
    alphas = np.array([0.1, 0.01])
    _, n_unconverged = path_risks(
        covariances, covariances, alphas, refit=False, tol=1e-14, max_iter=1
    )
    assert n_unconverged > 0
