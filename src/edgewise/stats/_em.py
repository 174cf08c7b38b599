"""The EM algorithm for a Gaussian with missing values, on samples grouped by their gaps."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from edgewise._core.errors import SolverError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: A variable with less than this share of its variance left, given others, counts as theirs.
SINGULAR = 1e-10
LOG_TWO_PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouped:
    """Samples in an order that puts those with the same gaps together.

    Pattern t holds the samples ``row_starts[t]`` to ``row_starts[t + 1] - 1``; its gaps are the
    variables ``gaps[gap_starts[t]]`` to ``gaps[gap_starts[t + 1] - 1]``.
    """

    values: FloatArray
    weights: FloatArray
    is_gap: BoolArray
    row_starts: IntArray
    gaps: IntArray
    gap_starts: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """Parameters, their objective, and the parameters that the expected sums call for next."""

    location: FloatArray
    covariance: FloatArray
    log_likelihood: float
    objective: float
    next_location: FloatArray
    next_covariance: FloatArray


def group_by_gaps(values: FloatArray, weights: FloatArray, is_gap: BoolArray) -> Grouped:
    """Put samples that miss the same variables together."""
    masks, which = np.unique(is_gap, axis=0, return_inverse=True)
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    return Grouped(
        values=np.where(is_gap, 0.0, values)[order],
        weights=weights[order],
        is_gap=is_gap[order],
        row_starts=np.concatenate([[0], np.cumsum(np.bincount(which))]).astype(np.int64),
        gaps=np.nonzero(masks)[1].astype(np.int64),
        gap_starts=np.concatenate([[0], np.cumsum(masks.sum(axis=1))]).astype(np.int64),
    )


def climb(
    samples: Grouped, ridge: float, tol: float, max_iter: int
) -> tuple[State, FloatArray, bool]:
    """Iterate from the identity until an iteration gains less than ``tol`` per sample.

    Parameters
    ----------
    samples : Grouped
        Scaled so that the observed values of a variable have mean 0 and variance 1.
    ridge, tol, max_iter
        As in `edgewise.stats.em_covariance`.

    Returns
    -------
    state : State
    history : ndarray
        The objective at every state, the first included.
    converged : bool
    """
    n_features = samples.values.shape[1]
    weight = float(samples.weights.sum())
    state = _evaluate(samples, ridge, np.zeros(n_features), np.eye(n_features))
    history = [state.objective]
    converged = False
    while not converged and len(history) <= max_iter:
        state = _evaluate(samples, ridge, state.next_location, state.next_covariance)
        history.append(state.objective)
        converged = history[-1] - history[-2] < tol * weight
    return state, np.array(history), converged


def _evaluate(
    samples: Grouped, ridge: float, location: FloatArray, covariance: FloatArray
) -> State:
    r"""Compute the objective and, in the same pass, the expected sums.

    With the gaps filled by their conditional mean, :math:`r^\top K r` is the quadratic form
    :math:`r_o^\top \Sigma_{oo}^{-1} r_o` of the observed part, and
    :math:`\det \Sigma_{oo} = \det \Sigma \det K_{mm}`.
    """
    K, logdet = _inverse(covariance)
    n_features = len(location)
    weights, weight = samples.weights, float(samples.weights.sum())
    r = np.where(samples.is_gap, 0.0, samples.values - location)
    second = np.zeros((n_features, n_features))
    logdet_gaps = _fill_gaps(
        r, weights, K, samples.row_starts, samples.gaps, samples.gap_starts, second
    )
    if math.isnan(logdet_gaps):
        raise _singular()
    weighted = r * weights[:, None]
    second += weighted.T @ r
    form = float(np.sum((weighted @ K) * r))
    n_seen = float(weights @ (n_features - samples.is_gap.sum(axis=1)))
    log_likelihood = -0.5 * (form + weight * logdet + logdet_gaps + n_seen * LOG_TWO_PI)
    offset = weighted.sum(axis=0) / weight
    S = second / weight - np.outer(offset, offset)
    return State(
        location=location,
        covariance=covariance,
        log_likelihood=log_likelihood,
        objective=log_likelihood - 0.5 * weight * ridge * float(np.trace(K)),
        next_location=location + offset,
        next_covariance=(S + S.T) / 2.0 + ridge * np.eye(n_features),
    )


@kernel
def _fill_gaps(
    r: FloatArray,
    weights: FloatArray,
    K: FloatArray,
    row_starts: IntArray,
    gaps: IntArray,
    gap_starts: IntArray,
    spread: FloatArray,
) -> float:
    """Fill the gaps of the deviations ``r``, zero so far, with their conditional means.

    Given the observed part o, the gaps m have mean ``-inv(K_mm) K_mo r_o`` and covariance
    ``inv(K_mm)``, which is added to ``spread`` by weight. Returns the weighted sum of
    ``log det K_mm``, or NaN if one is not positive definite.
    """
    n_features = len(K)
    factor = np.empty((n_features, n_features))
    solution = np.empty(n_features)
    logdet = 0.0
    for t in range(len(row_starts) - 1):
        g = gaps[gap_starts[t] : gap_starts[t + 1]]
        size = len(g)
        if size == 0:
            continue
        total = 0.0
        for row in range(row_starts[t], row_starts[t + 1]):
            total += weights[row]
        for a in range(size):
            for b in range(a + 1):
                value = K[g[a], g[b]]
                for c in range(b):
                    value -= factor[a, c] * factor[b, c]
                if b < a:
                    factor[a, b] = value / factor[b, b]
                elif value > 0.0:
                    factor[a, a] = math.sqrt(value)
                    logdet += total * math.log(value)
                else:
                    return math.nan
        for row in range(row_starts[t], row_starts[t + 1]):
            for a in range(size):
                solution[a] = -np.dot(K[g[a]], r[row])
            _solve_in_place(factor, size, solution)
            for a in range(size):
                r[row, g[a]] = solution[a]
        for b in range(size):
            solution[:size] = 0.0
            solution[b] = 1.0
            _solve_in_place(factor, size, solution)
            for a in range(size):
                spread[g[a], g[b]] += total * solution[a]
    return logdet


@kernel
def _solve_in_place(factor: FloatArray, size: int, x: FloatArray) -> None:
    """Solve ``L L' x = b`` with the leading block of a lower factor; b comes in as ``x``."""
    for a in range(size):
        for c in range(a):
            x[a] -= factor[a, c] * x[c]
        x[a] /= factor[a, a]
    for a in range(size - 1, -1, -1):
        for c in range(a + 1, size):
            x[a] -= factor[c, a] * x[c]
        x[a] /= factor[a, a]


def _inverse(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Inverse and log-determinant of a covariance that is not close to singular."""
    try:
        factor = linalg.cholesky(matrix, lower=True)
    except linalg.LinAlgError as error:
        raise _singular() from error
    pivots = np.diagonal(factor) ** 2
    if (pivots < SINGULAR * np.diagonal(matrix)).any():
        raise _singular()
    inverse: FloatArray = linalg.cho_solve((factor, True), np.eye(len(matrix)))
    return np.ascontiguousarray((inverse + inverse.T) / 2.0), float(np.log(pivots).sum())


def _singular() -> SolverError:
    return SolverError(
        "The covariance became singular: the samples do not determine it. "
        "Pass a ridge, such as ridge=0.01, or drop variables that repeat others."
    )
