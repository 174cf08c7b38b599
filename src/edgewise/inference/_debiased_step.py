"""A Newton step without penalty for every feature of a density ratio, and its standard error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError, SolverError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.change.ratio_certificate import log_softmax, log_total
from edgewise.solvers.lasso.neighborhood import neighborhood_lasso

#: A variance below this share of the mean square is rounding.
NO_CURVATURE = 1e-10
#: One row can stand for this share of a direction at most, as far as its correction goes.
MOST_LEVERAGE = 0.9
#: Newton steps without a penalty, and what they must gain to go on.
MAX_STEPS, NO_GAIN = 100, 1e-12


class RatioFeatures(NamedTuple):
    """Features of all pairs in the rows of both groups, of shape (m, n)."""

    first: IntArray
    second: IntArray
    before: FloatArray
    after: FloatArray


class DebiasedStep(NamedTuple):
    """What a Newton step without penalty says about each feature; NaN where it can say nothing."""

    estimate: FloatArray
    standard_error: FloatArray
    alpha_hessian: float
    effective_sample_size: float


def one_step(ratio: RatioFeatures, theta: FloatArray, alpha_hessian: float | None) -> DebiasedStep:
    """Take a Newton step without penalty in every feature, each along a direction of its own."""
    n_before, n_after = ratio.before.shape[1], ratio.after.shape[1]
    weights, mean = _weigh(ratio.before, theta)
    centred = ratio.before - mean[:, None]
    H = (centred * weights) @ centred.T
    spread = np.sqrt(H.diagonal())
    known = np.flatnonzero(H.diagonal() > NO_CURVATURE * (ratio.before**2 @ weights))
    if not len(known):
        raise InputError("No product of two columns varies in the first group.")
    n_effective = 1.0 / float(np.sum(weights**2))
    alpha = alpha_hessian
    if alpha is None:
        alpha = 2.0 * float(np.sqrt(np.log(max(len(theta), 2)) / n_effective))
    directions = _directions(H[np.ix_(known, known)], spread[known], alpha)
    slack = ratio.after[known].mean(axis=1) - mean[known]
    moved = directions @ (ratio.after[known] - ratio.after[known].mean(axis=1, keepdims=True))
    pulled = directions @ centred[known]
    leverage = weights * pulled**2
    leverage /= np.maximum(leverage.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    pulled *= n_before * weights / (1.0 - np.minimum(leverage, MOST_LEVERAGE))
    variance = (
        np.sum(moved**2, axis=1) / (n_after * (n_after - 1)) + np.mean(pulled**2, axis=1) / n_before
    )
    estimate, error = (np.full(len(theta), np.nan) for _ in range(2))
    estimate[known] = theta[known] + directions @ slack
    error[known] = np.sqrt(variance)
    return DebiasedStep(
        estimate=estimate,
        standard_error=error,
        alpha_hessian=alpha,
        effective_sample_size=n_effective,
    )


def _weigh(before: FloatArray, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ratio at the rows of the first group, summing to 1, and the means of the features there."""
    used = np.flatnonzero(theta)
    log_ratio = theta[used] @ before[used]
    weights = np.exp(log_softmax(log_ratio))
    return weights, before @ weights


def _directions(H: FloatArray, spread: FloatArray, alpha: float) -> FloatArray:
    """Rows of a sparse inverse of the curvature, by a lasso of each feature on all others.

    With the coefficients b of feature k, the row is (1, -b) over what they leave of its variance.
    """
    correlation = H / np.outer(spread, spread)
    np.fill_diagonal(correlation, 1.0)
    coef = neighborhood_lasso(correlation, alpha, tol=1e-8).value
    left = 1.0 - np.sum(correlation * coef, axis=0)
    rows = (np.eye(len(H)) - coef.T) / left[:, None]
    return np.asarray(rows / np.outer(spread, spread))


def refit_some(ratio: RatioFeatures, kept: IntArray, start: FloatArray) -> FloatArray:
    """Fit some coefficients without penalty by Newton steps; the others are 0."""
    theta = np.zeros(len(start))
    theta[kept] = start[kept]
    if not len(kept):
        return theta
    before, target = ratio.before[kept], ratio.after[kept].mean(axis=1)

    def loss(values: FloatArray) -> float:
        return log_total(values @ before) - float(values @ target)

    values, height = theta[kept], loss(theta[kept])
    for _ in range(MAX_STEPS):
        weights, mean = _weigh(before, values)
        centred = before - mean[:, None]
        H = (centred * weights) @ centred.T
        try:
            step = linalg.cho_solve(linalg.cho_factor(H), target - mean)
        except linalg.LinAlgError:
            break
        gain = float((target - mean) @ step)
        if gain <= NO_GAIN:
            theta[kept] = values
            return theta
        size = 1.0
        while (lower := loss(values + size * step)) > height - 0.1 * size * gain and size > 1e-10:
            size *= 0.5
        values, height = values + size * step, lower
    raise SolverError(
        f"Without a penalty the {len(kept)} surest changes have no finite size: the rows of the "
        "first group do not reach those of the second."
    )
