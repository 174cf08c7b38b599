r"""Dual block coordinate descent for graphical lassos of a few dozen variables, many of them.

The steps are those of block descent for one large problem: column :math:`i` of the unit-variance
covariance :math:`W` becomes :math:`v = W_{\setminus i} b` with :math:`b` a lasso. With few
variables it pays to do without the Gram matrix of the active set, which would have to be gathered:
descent on :math:`b` keeps all of :math:`v` up to date, one row of :math:`W` per step, and
:math:`v` shows what violates optimality as soon as the active set has settled. Nothing is
allocated while a path is solved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.gaussian.descent import (
    FIRST,
    MAX_ROUNDS,
    SINGULAR,
    active_lasso,
    assemble,
    certify,
    columns_from_precision,
    descend,
)
from edgewise.solvers.linalg.kernels import add_rows, clip_to_box, dot, penalty, soft_threshold

#: Passes over one active set before it goes to the lasso that solves it by factorisation.
MAX_PASSES = 30
#: Sweeps after which a problem is left to the general solver.
MAX_SWEEPS = 100


class Problem(NamedTuple):
    """A covariance with unit variances, and what scales it to them."""

    S: FloatArray
    units: FloatArray
    scale: FloatArray
    no_weights: FloatArray


class Columns(NamedTuple):
    """State and buffers of descent, see `edgewise.solvers.gaussian.block_descent.descend`."""

    W: FloatArray
    before: FloatArray
    support: IntArray
    coef: FloatArray
    size: IntArray
    theta: FloatArray
    Theta: FloatArray
    R: FloatArray
    thresholds: FloatArray
    column: FloatArray


def room_for_descent(p: int) -> tuple[Problem, Columns]:
    """Allocate what problems of ``p`` variables need, again and again."""
    matrix, vector = (p, p), (p,)
    problem = Problem(
        S=np.empty(matrix),
        units=np.empty(matrix),
        scale=np.empty(vector),
        no_weights=np.empty((0, 0)),
    )
    columns = Columns(
        W=np.empty(matrix),
        before=np.empty(matrix),
        support=np.empty(matrix, np.int64),
        coef=np.empty(matrix),
        size=np.empty(vector, np.int64),
        theta=np.empty(vector),
        Theta=np.empty(matrix),
        R=np.empty(matrix),
        thresholds=np.empty(vector),
        column=np.empty(vector),
    )
    return problem, columns


@kernel
def standardize(S: FloatArray, ridge: float, problem: Problem) -> None:
    """Write the standard form of ``S`` with ``ridge`` on its diagonal to ``problem``."""
    p = S.shape[0]
    for i in range(p):
        problem.scale[i] = 1.0 / np.sqrt(S[i, i] + ridge)
    for i in range(p):
        for j in range(p):
            units = problem.scale[i] * problem.scale[j]
            problem.units[i, j] = units
            problem.S[i, j] = S[i, j] * units
        problem.S[i, i] = 1.0


@kernel
def change_units(columns: Columns, old: FloatArray, new: FloatArray) -> None:
    """Carry a state of descent from one scale of the variables to another."""
    p = old.size
    for i in range(p):
        ratio = new[i] / old[i]
        columns.theta[i] /= ratio * ratio
        for j in range(p):
            columns.W[i, j] *= ratio * new[j] / old[j]
            columns.before[i, j] *= ratio * new[j] / old[j]
        for k in range(columns.size[i]):
            j = columns.support[i, k]
            columns.coef[i, k] *= ratio * old[j] / new[j]


@kernel
def extrapolate(columns: Columns, step: float) -> None:
    """Go on along the line through the last two dual points; the last becomes ``before``."""
    p = columns.size.size
    for i in range(p):
        for j in range(p):
            last = columns.W[i, j]
            columns.W[i, j] += step * (last - columns.before[i, j])
            columns.before[i, j] = last


@kernel
def reset(columns: Columns) -> None:
    """Empty the columns; the next descent starts at the thresholded covariance."""
    for i in range(columns.size.size):
        for j in range(columns.size.size):
            columns.W[i, j] = 0.0
            columns.before[i, j] = 0.0
        columns.W[i, i] = 1.0
        columns.size[i] = 0
        columns.theta[i] = 1.0


@kernel
def descend_from(problem: Problem, alpha: float, columns: Columns, target: float) -> float:
    """Solve from the dual point in ``columns``, leaving the precision in ``columns.Theta``.

    When to certify is decided as in `edgewise.solvers.gaussian.block_descent.descend`. Returns the
    certified duality gap; infinite where the problem is left to the general solver.
    """
    p = problem.scale.size
    finest = 0.05 * target / p
    eagerness = 40.0 / np.sqrt(p)
    _clip(problem, alpha, columns.W)
    change = -1.0
    is_cold = False
    for _ in range(MAX_SWEEPS):
        coarse = 0.01 * np.sqrt(change) / p if change >= 0.0 else min(FIRST / p, 1e-4)
        before = change
        change = _sweep(problem, alpha, columns, max(finest, coarse))
        if change < 0.0:
            if is_cold:
                return np.inf
            reset(columns)
            _shrink(problem, alpha, columns.W)
            is_cold = True
            continue
        ratio = min(change / before, 1.0) if before > 0.0 else 1.0
        if np.sqrt(change * ratio) <= eagerness * target:
            assemble(columns.support, columns.coef, columns.size, columns.theta, columns.Theta)
            gap = certify(
                problem.S,
                alpha,
                problem.scale,
                problem.no_weights,
                columns.W,
                columns.support,
                columns.size,
                columns.Theta,
                columns.R,
            )
            if gap <= target:
                return gap
    return np.inf


@kernel
def _sweep(problem: Problem, alpha: float, columns: Columns, eps: float) -> float:
    """Update every column once; return the estimated change in objective, -1 if it failed."""
    S, W, t, v = problem.S, columns.W, columns.thresholds, columns.column
    p = problem.scale.size
    total = 0.0
    for i in range(p):
        s = S[i]
        units = problem.units[i]
        for j in range(p):
            t[j] = alpha * units[j]
        index, b = columns.support[i], columns.coef[i]
        n = _solve_column(i, s, t, W, index, b, columns.size[i], v, eps)
        if n < 0:
            return -1.0
        columns.size[i] = n
        schur = 1.0
        for k in range(n):
            schur -= b[k] * v[index[k]]
        if schur <= SINGULAR:
            return -1.0
        columns.theta[i] = 1.0 / schur
        row = W[i]
        v[i] = 1.0
        t[i] = 0.0
        change = 0.0
        for j in range(p):
            clipped = min(max(v[j], s[j] - t[j]), s[j] + t[j])
            change += columns.theta[j] * (clipped - row[j]) ** 2
            row[j] = clipped
        for j in range(p):
            W[j, i] = row[j]
        total += change * columns.theta[i]
    return total


@kernel
def _solve_column(
    i: int,
    s: FloatArray,
    t: FloatArray,
    W: FloatArray,
    index: IntArray,
    b: FloatArray,
    n: int,
    v: FloatArray,
    eps: float,
) -> int:
    """Solve the lasso of column ``i`` from the active set ``index[:n]``, adding what violates it.

    Leaves the full column in ``v`` and returns the size of the active set, -1 if it is unbounded.
    """
    p = v.size
    add_rows(W, index, b, n, v)
    for _ in range(MAX_ROUNDS):
        largest = np.inf
        n_passes = 0
        while largest > eps and n_passes < MAX_PASSES:
            n_passes += 1
            largest = 0.0
            for k in range(n):
                j = index[k]
                d = soft_threshold(s[j] - v[j] + b[k], t[j]) - b[k]
                if d != 0.0:
                    b[k] += d
                    row = W[j]
                    for m in range(p):
                        v[m] += d * row[m]
                    largest = max(largest, abs(d))
        if largest > eps and not _factorize_lasso(s, t, W, index, b, n, v, eps):
            return -1
        known = n
        for j in range(p):
            if abs(s[j] - v[j]) > t[j] + eps and j != i:
                is_new = True
                for k in range(known):
                    is_new = is_new and index[k] != j
                if is_new:
                    index[n] = j
                    b[n] = 0.0
                    n += 1
        if n == known:
            break
    kept = 0
    for k in range(n):
        if b[k] != 0.0:
            index[kept] = index[k]
            b[kept] = b[k]
            kept += 1
    return kept


@kernel
def _factorize_lasso(
    s: FloatArray,
    t: FloatArray,
    W: FloatArray,
    index: IntArray,
    b: FloatArray,
    n: int,
    v: FloatArray,
    eps: float,
) -> bool:
    """Hand an active set to the lasso that factorises; False says that it is unbounded."""
    G = np.empty((n, n))
    c = np.empty(n)
    weight = np.empty(n)
    for a in range(n):
        c[a] = s[index[a]]
        weight[a] = t[index[a]]
        for e in range(n):
            G[a, e] = W[index[a], index[e]]
    is_bounded = active_lasso(G, c, weight, b, n, eps)
    add_rows(W, index, b, n, v)
    return is_bounded


@kernel
def _clip(problem: Problem, alpha: float, W: FloatArray) -> None:
    """Move ``W`` to the nearest dual feasible point, entry by entry."""
    p = W.shape[0]
    for i in range(p):
        s = problem.S[i]
        units = problem.units[i]
        row = W[i]
        for j in range(p):
            t = alpha * units[j]
            row[j] = min(max(row[j], s[j] - t), s[j] + t)
        row[i] = 1.0


@kernel
def _shrink(problem: Problem, alpha: float, W: FloatArray) -> None:
    """Set ``W`` to the covariances shrunk as far as the box allows, which is positive definite."""
    p = W.shape[0]
    share = 1.0
    for i in range(p):
        for j in range(i):
            if abs(problem.S[i, j]) * share > alpha * problem.units[i, j]:
                share = alpha * problem.units[i, j] / abs(problem.S[i, j])
    for i in range(p):
        for j in range(p):
            W[i, j] = (1.0 - share) * problem.S[i, j]
        W[i, i] = 1.0


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
