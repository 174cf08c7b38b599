"""The one measure of accuracy that every solver is held to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, lapack

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Certificate:
    """Quality of one estimate.

    Attributes
    ----------
    gap : float
        Duality gap per variable; infinite where no feasible dual point came out.
    objective : float
        ``tr(S Omega) - logdet Omega + alpha * sum_{i != j} |Omega_ij|``.
    n_edges : int
        Pairs of variables with a non-zero entry.
    """

    gap: float
    objective: float
    n_edges: int


def certify(S: FloatArray, omega: FloatArray, alpha: float) -> Certificate:
    """Objective at ``omega`` less the dual objective at a feasible point derived from it.

    The dual point is the inverse of ``omega`` with its distance to ``S`` clipped to
    ``[-alpha, alpha]`` off the diagonal and to 0 on it; where that is positive definite its
    objective ``logdet + p`` bounds the optimum from below.
    """
    p = len(S)
    omega = (omega + omega.T) / 2
    n_edges = int((np.count_nonzero(omega) - np.count_nonzero(omega.diagonal())) // 2)
    factored = _cholesky(omega)
    if factored is None:
        return Certificate(np.inf, np.inf, n_edges)
    factor, logdet = factored
    magnitude = float(np.abs(omega).sum() - np.abs(omega.diagonal()).sum())
    objective = float(np.vdot(S, omega)) - logdet + alpha * magnitude
    inverse, info = lapack.dpotri(factor, lower=1, overwrite_c=1)
    if info != 0:
        raise LinAlgError("the inverse of a positive definite matrix failed")
    dual = np.tril(inverse, -1)
    dual += dual.T
    dual -= S
    np.clip(dual, -alpha, alpha, out=dual)
    np.fill_diagonal(dual, 0.0)
    dual += S
    factored = _cholesky(dual)
    if factored is None:
        return Certificate(np.inf, objective, n_edges)
    return Certificate((objective - factored[1] - p) / p, objective, n_edges)


def _cholesky(matrix: FloatArray) -> tuple[FloatArray, float] | None:
    """Lower factor and log-determinant, or None unless ``matrix`` is positive definite."""
    if not np.isfinite(matrix).all():
        return None
    factor, info = lapack.dpotrf(matrix, lower=1)
    if info != 0:
        return None
    return factor, 2.0 * float(np.log(factor.diagonal()).sum())
