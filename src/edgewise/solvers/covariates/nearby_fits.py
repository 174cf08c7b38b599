r"""Gaussians of many covariances that are alike, as those around points that lie close together.

For a covariance :math:`S` and second moments :math:`S'` of rows to be judged by, an estimate
:math:`\Omega` has the risk

.. math:: \operatorname{tr}(S' \Omega) - \log\det \Omega .
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.gaussian.graphical_lasso import (
    PrecisionSolution,
    graphical_lasso,
    graphical_lasso_path,
)
from edgewise.solvers.gaussian.refit import allocate_regressions, fit_to_graph

#: Duality gap per variable of the refits, and the sweeps they may take.
REFIT_TOL = 1e-8
REFIT_SWEEPS = 500


class NearbyFits(NamedTuple):
    """One Gaussian per covariance.

    Attributes
    ----------
    precision : ndarray of shape (n, p, p)
        Precision matrices.
    is_refit : ndarray of bool, shape (n,)
        Whether it is maximum likelihood on the graph, instead of the graphical lasso.
    gap : ndarray of shape (n,)
        Duality gap of the graphical lasso.
    n_iter : ndarray of int, shape (n,)
        Iterations of the graphical lasso.
    """

    precision: FloatArray
    is_refit: BoolArray
    gap: FloatArray
    n_iter: IntArray


def fit_nearby(S: FloatArray, alpha: float, *, refit: bool, **lasso: Any) -> NearbyFits:
    """Fit a Gaussian to each covariance, each graphical lasso started from the one before.

    Parameters
    ----------
    S : ndarray of shape (n, p, p)
        Covariances, in an order in which neighbours are alike.
    alpha : float
        Strength of the graphical lasso.
    refit : bool
        Take maximum likelihood on the graph of the graphical lasso, where it exists.
    **lasso
        Further options of `edgewise.solvers.graphical_lasso`.

    Returns
    -------
    NearbyFits
    """
    solutions: list[PrecisionSolution] = []
    start = None
    for here in S:
        solutions.append(graphical_lasso(here, alpha, init=start, **lasso))
        start = solutions[-1].value
    precision = np.stack([solution.value for solution in solutions])
    is_refit = np.zeros(len(S), dtype=bool)
    if refit:
        for k, here in enumerate(S):
            is_refit[k] = _refit(here, precision[k : k + 1]) == 1
    return NearbyFits(
        precision=precision,
        is_refit=is_refit,
        gap=np.array([solution.gap for solution in solutions]),
        n_iter=np.array([solution.n_iter for solution in solutions]),
    )


def path_risks(
    S: FloatArray, S_val: FloatArray, alphas: FloatArray, *, refit: bool, **lasso: Any
) -> tuple[FloatArray, int]:
    """Risk of every covariance at every strength.

    Parameters
    ----------
    S, S_val : ndarray of shape (n, p, p)
        Covariances to fit to, and second moments to judge by.
    alphas : ndarray of shape (n_alphas,)
        Strengths, from large to small.
    refit, **lasso
        As in `fit_nearby`.

    Returns
    -------
    risks : ndarray of shape (n, n_alphas)
    n_unconverged : int
        Graphical lassos that stopped above their tolerance.
    """
    risks = np.empty((len(S), len(alphas)))
    n_unconverged = 0
    for k, (here, judge) in enumerate(zip(S, S_val, strict=True)):
        solutions = graphical_lasso_path(here, alphas, **lasso)
        n_unconverged += sum(not solution.converged for solution in solutions)
        estimates = np.stack([solution.value for solution in solutions])
        if refit:
            _refit(here, estimates)
        log_determinant: FloatArray = np.linalg.slogdet(estimates)[1]
        risks[k] = np.einsum("aij,ij->a", estimates, judge) - log_determinant
    return risks, n_unconverged


def _refit(S: FloatArray, estimates: FloatArray) -> int:
    """Replace estimates by maximum likelihood on their graphs; return how many.

    They run from sparse to dense. Once a graph has no maximum, denser ones have none either, and
    the estimates are left as they are.
    """
    p = len(S)
    scale = 1.0 / np.sqrt(S.diagonal())
    units = np.outer(scale, scale)
    correlation = S * units
    np.fill_diagonal(correlation, 1.0)
    state = allocate_regressions(p)
    target = REFIT_TOL * p
    before: BoolArray | None = None
    for k, estimate in enumerate(estimates):
        adjacency: BoolArray = estimate != 0.0
        np.fill_diagonal(adjacency, False)
        if before is None or not np.array_equal(adjacency, before):
            gap, _ = fit_to_graph(correlation, adjacency, state, target, REFIT_SWEEPS)
            if not 0.0 <= gap <= target:
                return k
        estimates[k] = state.Theta * units
        before = adjacency
    return len(estimates)
