"""A whole path of small graphical lasso problems in one compiled call.

With a few dozen variables a solve takes microseconds, so that anything done in Python between two
solves would cost more than the solves. Screening is not needed: covariances across components stay
at zero by themselves.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.gaussian.block_descent import descend
from edgewise.solvers.gaussian.certificate import columns_from_precision
from edgewise.solvers.linalg.rows import clip_to_box, dot, penalty


@kernel
def small_path(
    S: FloatArray,
    alphas: FloatArray,
    weights: FloatArray,
    penalize_diagonal: bool,
    precision: FloatArray,
    covariance: FloatArray,
    tol: float,
    patience: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
    """Solve for each of ``alphas`` in turn, starting from the solution before.

    ``precision`` and ``covariance`` are where the first solve starts, ``patience`` is the number of
    sweeps before a solve is left to the general solver. Returns the precisions, their
    inverses, the objectives, the gaps (infinite where a solve was left) and the sweeps.
    """
    p = S.shape[0]
    precisions = np.zeros((alphas.size, p, p))
    covariances = np.zeros((alphas.size, p, p))
    objectives = np.empty(alphas.size)
    gaps = np.full(alphas.size, np.inf)
    sweeps = np.zeros(alphas.size, np.int64)
    scale = np.empty(p)
    previous = np.ones(p)
    scaled = np.empty((p, p))
    Theta = np.empty((p, p))
    R = np.empty((p, p))
    W = covariance.copy()
    before = covariance.copy()
    n_steady = 0
    support, coef, size, theta = columns_from_precision(precision)
    for a in range(alphas.size):
        alpha = alphas[a]
        _scale_to_unit_variance(S, alpha, weights, penalize_diagonal, scale, scaled)
        _rescale(W, support, coef, size, theta, previous, scale)
        for i in range(p):
            previous[i] = scale[i]
        step = 0.0
        if n_steady >= 2 and alphas[a - 1] < alphas[a - 2] and not penalize_diagonal:
            step = (alpha - alphas[a - 1]) / (alphas[a - 1] - alphas[a - 2])
        _extrapolate(W, before, step)
        n_steady += 1
        for _ in range(2):
            clip_to_box(scaled, alpha, scale, weights, W)
            status, count, gap, _, _, support, coef = descend(
                scaled,
                alpha,
                scale,
                weights,
                W,
                support,
                coef,
                size,
                theta,
                Theta,
                R,
                tol * p,
                patience,
                -1.0,
            )
            sweeps[a] += count
            if status > 0:
                logdet = _invert(Theta, covariances[a])
                if logdet > -np.inf:
                    gaps[a] = gap
                    objectives[a] = _objective(scaled, alpha, scale, weights, Theta, logdet)
                    for i in range(p):
                        for j in range(p):
                            units = scale[i] * scale[j]
                            precisions[a, i, j] = Theta[i, j] * units
                            covariances[a, i, j] /= units
                    break
            # A cold start: clipping zero to the box gives the thresholded covariance.
            W[:] = 0.0
            size[:] = 0
            theta[:] = 1.0
            n_steady = 0
    return precisions, covariances, objectives, gaps, sweeps


@kernel
def _extrapolate(W: FloatArray, before: FloatArray, step: float) -> None:
    """Go on along the line through the last two dual points; the last becomes ``before``."""
    for i in range(W.shape[0]):
        for j in range(W.shape[0]):
            last = W[i, j]
            W[i, j] += step * (last - before[i, j])
            before[i, j] = last


@kernel
def _scale_to_unit_variance(
    S: FloatArray,
    alpha: float,
    weights: FloatArray,
    penalize_diagonal: bool,
    scale: FloatArray,
    scaled: FloatArray,
) -> None:
    """Write the standard form of the problem into ``scale`` and ``scaled``."""
    p = S.shape[0]
    for i in range(p):
        variance = S[i, i]
        if penalize_diagonal:
            variance += alpha if weights.shape[0] == 0 else alpha * weights[i, i]
        scale[i] = 1.0 / np.sqrt(variance)
    for i in range(p):
        for j in range(p):
            scaled[i, j] = S[i, j] * (scale[i] * scale[j])
        scaled[i, i] = 1.0


@kernel
def _objective(
    S: FloatArray,
    alpha: float,
    scale: FloatArray,
    weights: FloatArray,
    Theta: FloatArray,
    logdet: float,
) -> float:
    """Return the objective in the original units."""
    total = penalty(alpha, scale, weights, Theta) - logdet
    for i in range(scale.size):
        total += dot(S[i], Theta[i]) - 2.0 * np.log(scale[i])
    return total


@kernel
def _rescale(
    W: FloatArray,
    support: IntArray,
    coef: FloatArray,
    size: IntArray,
    theta: FloatArray,
    old: FloatArray,
    new: FloatArray,
) -> None:
    """Carry a state of block descent from one scaling of the variables to another."""
    p = old.size
    for i in range(p):
        ratio = new[i] / old[i]
        theta[i] /= ratio * ratio
        for j in range(p):
            W[i, j] *= ratio * new[j] / old[j]
        for k in range(size[i]):
            j = support[i, k]
            coef[i, k] *= ratio * old[j] / new[j]


@kernel
def _invert(A: FloatArray, out: FloatArray) -> float:
    """Write the inverse to ``out`` and return the log-determinant, by Cholesky.

    Minus infinity says that the matrix is not positive definite.
    """
    p = A.shape[0]
    L = np.empty((p, p))
    logdet = 0.0
    for i in range(p):
        for j in range(i):
            L[i, j] = (A[i, j] - dot(L[i, :j], L[j, :j])) / L[j, j]
        pivot = A[i, i] - dot(L[i, :i], L[i, :i])
        if not pivot > 0.0:
            return -np.inf
        L[i, i] = np.sqrt(pivot)
        logdet += np.log(pivot)
    # One column at a time: forward from its unit vector, then back down to its own row.
    x = np.zeros(p)
    for c in range(p):
        x[c] = 1.0 / L[c, c]
        for i in range(c + 1, p):
            x[i] = -dot(L[i, c:i], x[c:i]) / L[i, i]
        for i in range(p - 1, c - 1, -1):
            x[i] /= L[i, i]
            for k in range(c, i):
                x[k] -= L[i, k] * x[i]
        for i in range(c, p):
            out[c, i] = x[i]
            out[i, c] = x[i]
    return logdet
