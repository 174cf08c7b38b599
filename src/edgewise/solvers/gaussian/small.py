"""Paths of graphical lassos of a few dozen variables, each in one compiled call."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.gaussian.descent import (
    Columns,
    columns_from_precision,
    descend_from,
    extrapolate,
    rescale_columns,
)
from edgewise.solvers.gaussian.standard_form import StandardForm, penalty, standardize
from edgewise.solvers.linalg.kernels import dot


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
    scale, scaled = np.empty(p), np.empty((p, p))
    previous = np.ones(p)
    before = covariance.copy()
    n_steady = 0
    support, coef, size, theta = columns_from_precision(precision)
    columns = Columns(
        covariance.copy(), support, coef, size, theta, np.empty((p, p)), np.empty((p, p))
    )
    for a in range(alphas.size):
        form = standardize(S, alphas[a], weights, penalize_diagonal, scale, scaled)
        rescale_columns(columns, before, previous, scale)
        previous[:] = scale
        step = 0.0
        if n_steady >= 2 and alphas[a - 1] < alphas[a - 2] and not penalize_diagonal:
            step = (alphas[a] - alphas[a - 1]) / (alphas[a - 1] - alphas[a - 2])
        extrapolate(columns.W, before, step)
        gap, sweeps[a], is_warm = descend_from(form, columns, tol * p, patience)
        n_steady = n_steady + 1 if is_warm else 0
        logdet = _invert(columns.Theta, covariances[a]) if gap < np.inf else -np.inf
        if logdet > -np.inf:
            gaps[a] = gap
            objectives[a] = _objective(form, columns.Theta, logdet)
            for i in range(p):
                for j in range(p):
                    units = scale[i] * scale[j]
                    precisions[a, i, j] = columns.Theta[i, j] * units
                    covariances[a, i, j] /= units
    return precisions, covariances, objectives, gaps, sweeps


@kernel
def _objective(form: StandardForm, Theta: FloatArray, logdet: float) -> float:
    """Return the objective in the original units."""
    total = penalty(form, Theta) - logdet
    for i in range(form.scale.size):
        total += dot(form.S[i], Theta[i]) - 2.0 * np.log(form.scale[i])
    return total


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
