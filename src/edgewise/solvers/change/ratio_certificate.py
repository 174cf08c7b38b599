r"""What certifies a log-linear model: sums of terms of at least 0, in which nothing cancels.

With :math:`w` the log ratio of each row and :math:`a` any weights on the simplex, primal less dual
objective is

.. math::

    \mathrm{KL}(a \,\|\, \mathrm{softmax}\, w)
    + \sum_G \left( \psi_G(\theta_G) + \psi_G^*(\xi_G) - \xi_G^\top \theta_G \right),
    \qquad \psi(\theta) = \tfrac{q}{2} \|\theta\|^2 + l \|\theta\| .

Both objectives grow like 1 / q where the ridge q is small; their difference does not. Rounding
errors of log ratios and slacks enter these sums by their squares, and are bounded here.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.solvers.linalg.kernels import sum_error
from edgewise.stats.pair_features import PairFeatures

#: Log ratios closer than this have a divergence that would cancel if it were not rearranged.
CLOSE: Final = 1.0


def log_total(values: FloatArray) -> float:
    """Logarithm of the sum of exponentials (scipy's takes ten times as long for a short vector)."""
    largest = float(values.max())
    return largest + float(np.log(np.sum(np.exp(values - largest))))


def log_softmax(values: FloatArray) -> FloatArray:
    """Subtract `log_total`, the largest value first: weights sum to 1 however large values are."""
    shifted = values - values.max()
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted))))


def divergence(log_weights: FloatArray, log_fitted: FloatArray) -> float:
    """Kullback-Leibler divergence of weights from others, as a sum of terms of at least 0.

    Both sum to 1, so that ``sum a r`` with ``r = log(a / b)`` is ``sum a (r - 1 + exp(-r))``.
    """
    weights, apart = np.exp(log_weights), log_weights - log_fitted
    is_close = np.abs(apart) < CLOSE
    near = weights * (apart + np.expm1(-np.where(is_close, apart, 0.0)))
    far = weights * (apart - 1.0) + np.exp(log_fitted)
    return float(np.sum(np.maximum(np.where(is_close, near, far), 0.0)))


def conjugate_gap(
    theta: FloatArray, slack: FloatArray, limit: FloatArray | float, curvature: float
) -> tuple[float, float]:
    r"""Sum of :math:`\psi(\theta) + \psi^*(\xi) - \xi^\top \theta` over the rows, and a distance.

    With :math:`\theta^*` the maximiser in the conjugate and :math:`u = \xi - q \theta^*`, of
    length l at most, each term is :math:`\frac{q}{2} \|\theta - \theta^*\|^2 + l \|\theta\| -
    u^\top \theta`. The distance is that of all coefficients from their maximisers. Without
    curvature slacks must not be longer than ``limit``, and maximisers are 0.

    Parameters
    ----------
    theta, slack : ndarray of shape (m, b)
        Coefficients and :math:`\xi` of each pair.
    limit : float or ndarray of shape (m,)
        Penalty l of each pair.
    curvature : float
        The q.
    """
    length, size = _lengths(slack), _lengths(theta)
    bound = np.minimum(length, limit)
    toward = np.divide(slack, length[:, None], out=np.zeros_like(slack), where=length[:, None] > 0)
    along = np.divide(theta, size[:, None], out=np.zeros_like(theta), where=size[:, None] > 0)
    # l |theta| - u'theta for a u of length `bound`: its lack of length, and its lack of direction.
    terms = (limit - bound) * size + 0.5 * bound * size * np.sum((toward - along) ** 2, axis=1)
    best = np.zeros_like(theta)
    if curvature > 0:
        best = toward * ((length - bound) / curvature)[:, None]
    squares = float(np.sum((theta - best) ** 2))
    return float(np.sum(terms)) + 0.5 * curvature * squares, float(np.sqrt(squares))


def divergence_rounding(
    features: PairFeatures,
    theta: FloatArray,
    offset: FloatArray,
    log_weights: FloatArray,
    log_fitted: FloatArray,
) -> float:
    """By how much `divergence` may be too small because log ratios are rounded.

    With errors e of the log ratios and b the weights fitted, ``log sum b exp(e) - sum a e`` is at
    most ``sum (b - a) e + sum b (exp(e) - 1 - e)``.
    """
    size = float(np.sqrt(np.sum(theta**2)))
    error = sum_error(theta.size) * size * features.row_lengths + sum_error(1) * np.abs(offset)
    fitted = np.exp(log_fitted)
    with np.errstate(over="ignore"):
        second = np.sum(fitted * (np.expm1(error) - error))
    return float(np.abs(fitted - np.exp(log_weights)) @ error + second)


def slack_rounding(
    features: PairFeatures, log_weights: FloatArray, distance: float, curvature: float
) -> float:
    """By how much `conjugate_gap` may be too small because moments are rounded.

    ``distance`` is the one that it returned.
    """
    error = moment_rounding(features, log_weights)
    return distance * error + (0.5 * error**2 / curvature if curvature > 0 else 0.0)


def moment_rounding(features: PairFeatures, log_weights: FloatArray) -> float:
    """Bound the rounding error of the moments of a pair."""
    lengths = float(np.exp(log_weights) @ features.row_lengths)
    return sum_error(features.n_samples) * lengths


def moment_distance(features: PairFeatures, gap: float) -> float:
    """Bound how far the moments of a pair are from those at the solution.

    By Pinsker's inequality the dual objective is strongly convex in the sum of the sizes of
    weights, so that weights with a duality gap g are within ``sqrt(2 g)`` of the best.
    """
    return float(np.sqrt(2.0 * gap) * features.row_lengths.max())


def _lengths(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.sum(vectors**2, axis=1)))
