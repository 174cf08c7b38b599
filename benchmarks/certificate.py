"""The one measure of accuracy that every solver of a problem is held to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, lapack

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: Steps of the search for a dual point, and how many between two looks at its value.
STEPS, INTERVAL = 400, 50


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


def fused_objective(
    S: FloatArray, omega: FloatArray, alpha: float, tau: float, pairs: IntArray
) -> float:
    """Objective of the locally constant model, inf unless ``omega`` is positive definite.

    ``tr(S Omega) - logdet Omega + alpha * sum_ij |Omega_ij|`` plus ``tau`` times the sum of
    ``|Omega_an - Omega_bn|`` over the pairs of neighbours ``(a, b)`` and all other ``n``.
    """
    omega = (omega + omega.T) / 2
    factored = _cholesky(omega)
    if factored is None:
        return np.inf
    size = alpha * np.abs(omega).sum() + tau * np.abs(_differences(omega, pairs)).sum()
    return float(np.vdot(S, omega) - factored[1] + size)


def fused_bound(
    S: FloatArray, omega: FloatArray, alpha: float, tau: float, pairs: IntArray
) -> float:
    """Lower bound on the optimum of the locally constant model, from an estimate near it.

    For any ``|U| <= alpha`` and ``|Q| <= tau``, with one row of Q per pair (a, b) and zeros in its
    columns a and b, and with D the matrix of those differences, ``logdet W + p`` is a lower bound
    where ``W = S + U + (D'Q + Q'D) / 2`` is positive definite. U and Q are set to the signs of the
    entries and differences of ``omega``, and where those are 0 they are chosen by accelerated
    projected gradient, in least squares, to bring W close to the inverse of ``omega``. The
    difference between the objective at ``omega`` and the bound is then of second order in what is
    left. Whatever ``omega`` is, the bound holds; it is close to the optimum only if ``omega`` is
    close to it and has its zeros and ties.
    """
    p, n_pairs = len(S), len(pairs)
    each = np.arange(n_pairs)
    D = sparse.csr_array(
        (np.repeat([1.0, -1.0], n_pairs), (np.tile(each, 2), pairs.T.ravel())), shape=(n_pairs, p)
    )
    D_transposed = sparse.csr_array(D.T)
    goal = np.linalg.inv(omega) - S
    goal = (goal + goal.T) / 2
    U_low, U_high = _box(omega, alpha)
    Q_low, Q_high = _box(_differences(omega, pairs), tau)
    for end in pairs.T:
        Q_low[each, end] = Q_high[each, end] = 0.0
    # No direction is curved more than this: an entry meets twice the differences of a variable.
    curvature = 1.0 + 2.0 * float(np.bincount(pairs.ravel(), minlength=p).max())
    U, Q = np.clip(goal, U_low, U_high), np.clip(0.0, Q_low, Q_high)
    U_ahead, Q_ahead, momentum = U, Q, 1.0
    best = -np.inf
    for step in range(1, STEPS + 1):
        residual = _symmetric(U_ahead, D_transposed @ Q_ahead) - goal
        U_before, Q_before = U, Q
        U = np.clip(U_ahead - residual / curvature, U_low, U_high)
        Q = np.clip(Q_ahead - (D @ residual) / curvature, Q_low, Q_high)
        grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        share = (momentum - 1.0) / grown
        U_ahead, Q_ahead = U + share * (U - U_before), Q + share * (Q - Q_before)
        momentum = grown
        if step % INTERVAL == 0:
            factored = _cholesky(S + _symmetric(U, D_transposed @ Q))
            best = max(best, -np.inf if factored is None else factored[1] + p)
    return best


def _differences(omega: FloatArray, pairs: IntArray) -> FloatArray:
    """Differences of the rows of neighbours, 0 where they would involve the diagonal."""
    found: FloatArray = omega[pairs[:, 0]] - omega[pairs[:, 1]]
    for end in pairs.T:
        found[np.arange(len(pairs)), end] = 0.0
    return found


def _box(values: FloatArray, strength: float) -> tuple[FloatArray, FloatArray]:
    """Least and largest subgradient of ``strength * |values|``."""
    return np.where(values > 0, strength, -strength), np.where(values < 0, -strength, strength)


def _symmetric(U: FloatArray, A: FloatArray) -> FloatArray:
    return U + (A + A.T) / 2


def _cholesky(matrix: FloatArray) -> tuple[FloatArray, float] | None:
    """Lower factor and log-determinant, or None unless ``matrix`` is positive definite."""
    if not np.isfinite(matrix).all():
        return None
    factor, info = lapack.dpotrf(matrix, lower=1)
    if info != 0:
        return None
    return factor, 2.0 * float(np.log(factor.diagonal()).sum())
