r"""Regressions in two groups at once: descent on differences, and on pairs of coefficients.

In the plane of the two coefficients of a variable the penalty
:math:`\lambda (|b^1| + |b^2|) + \alpha |b^2 - b^1|` bends along the axes and the diagonal. Its unit
ball is a hexagon with a corner on each of these lines, so that it is a weighted l1 norm of the
steps :math:`x, y, z` along them,

.. math::
    \min \; (\lambda + \alpha) (|x| + |y|) + 2 \lambda |z|
    \quad \text{where} \quad b^1 = x + z, \; b^2 = y + z,

and whatever is known of the lasso holds for it: certificate, exact steps on the support. Descent
moves a pair at a time all the same, since the three directions of a variable depend on each other.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.lasso.gram import (
    PARTIAL,
    certificate,
    descend,
    find_support,
    polish,
    set_residual,
)

#: Passes over the coefficients that are not 0, and exact steps on them, between certificates.
_SUPPORT_PASSES = 10
_POLISHES = 10


@kernel
def regress_differences(
    parallel: FloatArray,
    H: FloatArray,
    scale: FloatArray,
    alphas: FloatArray,
    rows: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, IntArray]:
    """Solve the lasso of every difference in place, ``rows[k, u]`` for alpha k and variable u.

    ``H[u]`` is h and ``scale`` is 1 / B_uu. The first rows hold the start.
    """
    n_alphas, d = rows.shape[:2]
    gaps = np.zeros((n_alphas, d))
    rounds = np.zeros((n_alphas, d), dtype=np.int64)
    history = np.empty(max_iter)
    weights = np.empty(d)
    c = np.empty(d)
    G = np.empty((d, d))
    for u in range(d):
        for i in range(d):
            c[i] = H[u, i] * scale[u]
            for j in range(d):
                G[i, j] = parallel[i, j] + c[i] * H[u, j]
        for k in range(n_alphas):
            for i in range(d):
                weights[i] = alphas[k]
                if k > 0:
                    rows[k, u, i] = rows[k - 1, u, i]
            weights[u] = np.inf
            # What the regression in common leaves of the variable bounds what can be explained.
            gaps[k, u], rounds[k, u] = descend(G, c, weights, rows[k, u], scale[u], tol, history)
    return gaps, rounds


@kernel
def regress_pairs(
    G: FloatArray,
    alphas: FloatArray,
    sparsity: float,
    start: FloatArray,
    rows: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, IntArray]:
    """Solve every regression in place, ``rows[k, u]`` for alpha k and variable u.

    ``start[g, u]`` is the regression of u in group g to begin with.
    """
    n_alphas, d = rows.shape[:2]
    gaps = np.zeros((n_alphas, d))
    rounds = np.zeros((n_alphas, d), dtype=np.int64)
    weights = np.empty(3 * d)
    for u in range(d):
        for j in range(d):
            _set_pair(rows[0, u], j, start[0, u, j], start[1, u, j])
        for k in range(n_alphas):
            for i in range(3 * d):
                weights[i] = 2.0 * sparsity if i >= 2 * d else sparsity + alphas[k]
                if k > 0:
                    rows[k, u, i] = rows[k - 1, u, i]
            for group in range(3):
                weights[u + group * d] = np.inf
            gaps[k, u], rounds[k, u] = _descend_pairs(
                G, u, alphas[k], sparsity, weights, rows[k, u], tol, max_iter
            )
    return gaps, rounds


@kernel
def _descend_pairs(
    G: FloatArray,
    u: int,
    alpha: float,
    sparsity: float,
    weights: FloatArray,
    b: FloatArray,
    goal: float,
    max_iter: int,
) -> tuple[float, int]:
    """Improve ``b`` in place until its gap is at most ``goal``; return the gap and the rounds."""
    d = len(b) // 3
    c = G[2 * d + u]
    energy = c[2 * d + u]
    residual = np.empty(3 * d)
    others = np.empty(d - 1, dtype=np.int64)
    for j in range(d - 1):
        others[j] = j + (j >= u)
    chosen = np.empty(d, dtype=np.int64)
    support = np.empty(3 * d, dtype=np.int64)
    set_residual(G, c, b, residual)
    gap = np.inf
    for n_iter in range(max_iter):
        _sweep_pairs(G, b, residual, alpha, sparsity, others, d - 1)
        set_residual(G, c, b, residual)
        gap = certificate(c, weights, b, residual, energy)
        if gap <= goal:
            return gap, n_iter + 1
        n_chosen = _find_pairs(b, chosen)
        for _ in range(_SUPPORT_PASSES):
            # What these passes leave is far below what the certificate can see.
            if _sweep_pairs(G, b, residual, alpha, sparsity, chosen, n_chosen) <= 1e-3 * goal:
                break
        set_residual(G, c, b, residual)
        for _ in range(_POLISHES):
            n_support = find_support(b, support)
            if polish(G, c, weights, b, residual, support[:n_support]) != PARTIAL:
                break
    return gap, max_iter


@kernel
def _find_pairs(b: FloatArray, chosen: IntArray) -> int:
    """List the variables with a coefficient in either group; return their number."""
    d = len(b) // 3
    n_chosen = 0
    for j in range(d):
        if b[j] != 0.0 or b[d + j] != 0.0 or b[2 * d + j] != 0.0:
            chosen[n_chosen] = j
            n_chosen += 1
    return n_chosen


@kernel
def _sweep_pairs(
    G: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    alpha: float,
    sparsity: float,
    order: IntArray,
    n_order: int,
) -> float:
    """Set each pair of coefficients to its minimum given the others; return the fall.

    Keeps the residuals of the two groups, not those of their sum.
    """
    d = len(b) // 3
    fall = 0.0
    for k in range(n_order):
        j = order[k]
        first = b[j] + b[2 * d + j]
        second = b[d + j] + b[2 * d + j]
        curvature_1 = G[j, j]
        curvature_2 = G[d + j, d + j]
        value_1, value_2 = _best_pair(
            curvature_1,
            curvature_2,
            residual[j] + curvature_1 * first,
            residual[d + j] + curvature_2 * second,
            alpha,
            sparsity,
        )
        step_1 = value_1 - first
        step_2 = value_2 - second
        if step_1 == 0.0 and step_2 == 0.0:
            continue
        _set_pair(b, j, value_1, value_2)
        fall += 0.5 * (curvature_1 * step_1**2 + curvature_2 * step_2**2)
        for i in range(d):
            residual[i] -= G[j, i] * step_1
            residual[d + i] -= G[d + j, d + i] * step_2
    return fall


@kernel
def _best_pair(
    curvature_1: float,
    curvature_2: float,
    pull_1: float,
    pull_2: float,
    alpha: float,
    sparsity: float,
) -> tuple[float, float]:
    r"""Minimise :math:`\sum_g \tfrac12 a_g b_g^2 - z_g b_g + \lambda |b_g| + \alpha |b_2 - b_1|`.

    Where the two differ, the fusion is linear and they are found apart; if the order they come out
    in is not the one that was assumed, either way, they are equal.
    """
    first = _shrink(pull_1 + alpha, sparsity, curvature_1)
    second = _shrink(pull_2 - alpha, sparsity, curvature_2)
    if first < second:
        return first, second
    first = _shrink(pull_1 - alpha, sparsity, curvature_1)
    second = _shrink(pull_2 + alpha, sparsity, curvature_2)
    if first > second:
        return first, second
    common = _shrink(pull_1 + pull_2, 2.0 * sparsity, curvature_1 + curvature_2)
    if abs(common) == np.inf:
        common = 0.0
    return common, common


@kernel
def _shrink(pull: float, threshold: float, curvature: float) -> float:
    """Minimise a parabola plus an absolute value; infinite where the parabola is a line."""
    excess = abs(pull) - threshold
    if excess <= 0.0:
        return 0.0
    size = excess / curvature if curvature > 0.0 else np.inf
    return size if pull > 0.0 else -size


@kernel
def _set_pair(b: FloatArray, j: int, first: float, second: float) -> None:
    """Write a pair of coefficients as steps along the axes and the diagonal, at most two of them.

    The step along the diagonal is what both have in common, which is cheapest.
    """
    d = len(b) // 3
    common = 0.0
    if first * second > 0.0:
        common = first if abs(first) < abs(second) else second
    b[j] = first - common
    b[d + j] = second - common
    b[2 * d + j] = common
