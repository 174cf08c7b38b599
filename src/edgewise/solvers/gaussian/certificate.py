r"""From lasso columns to a symmetric precision, and the bound on its duality gap.

With the dual point :math:`W` moved to the edge of its box on the edges of :math:`\Theta`,
complementary slackness is exact and, with :math:`R = \Theta W - I`, the gap at :math:`W` is
:math:`\operatorname{tr} R - \log\det(I + R)`. The eigenvalues of :math:`R` are real and at most
:math:`\delta = (\operatorname{tr} R^2)^{1/2}` in size, so the gap is at most
:math:`\operatorname{tr} R^2 / (2 (1 - \delta))` where :math:`\delta < 1`, which also proves
:math:`W` positive definite if :math:`\Theta` is. No factorisation is needed, and a sum of squares
suffers no cancellation, so that gaps far below rounding of the objective can be told apart.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.rows import add_rows, dot, fill_thresholds

_TILE = 32


@kernel
def columns_from_precision(
    Theta: FloatArray,
) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """List the lasso coefficients ``-Theta[i, j] / Theta[i, i]`` of each column.

    Returns support, coefficients, sizes and the diagonal, as block descent keeps them.
    """
    p = Theta.shape[0]
    size = np.zeros(p, np.int64)
    for i in range(p):
        for j in range(p):
            size[i] += Theta[i, j] != 0.0
        size[i] -= 1
    room = max(size.max(), 1)
    support = np.empty((p, room), np.int64)
    coef = np.empty((p, room))
    theta = np.empty(p)
    for i in range(p):
        theta[i] = Theta[i, i]
        n = 0
        for j in range(p):
            if Theta[i, j] != 0.0 and j != i:
                support[i, n] = j
                coef[i, n] = -Theta[i, j] / Theta[i, i]
                n += 1
    return support, coef, size, theta


@kernel
def assemble(
    support: IntArray, coef: FloatArray, size: IntArray, theta: FloatArray, Theta: FloatArray
) -> None:
    """Write the symmetric precision that the columns agree on into ``Theta``.

    Column ``i`` says ``Theta[i, j] = -coef[i, j] * theta[i]``. An edge stays only if both of its
    columns have it with the same sign, as the mean of the two values.
    """
    p = size.size
    Theta[:] = 0.0
    for i in range(p):
        Theta[i, i] = theta[i]
        for k in range(size[i]):
            Theta[i, support[i, k]] = -coef[i, k] * theta[i]
    for i in range(p):
        for k in range(size[i]):
            j = support[i, k]
            if i < j:
                value = 0.5 * (Theta[i, j] + Theta[j, i])
                if Theta[i, j] * Theta[j, i] <= 0.0:
                    value = 0.0
                Theta[i, j] = value
                Theta[j, i] = value
    for i in range(p):
        for k in range(size[i]):
            j = support[i, k]
            if Theta[j, i] == 0.0:
                Theta[i, j] = 0.0


@kernel
def certify(
    S: FloatArray,
    alpha: float,
    scale: FloatArray,
    weights: FloatArray,
    W: FloatArray,
    support: IntArray,
    size: IntArray,
    Theta: FloatArray,
    R: FloatArray,
) -> float:
    r"""Bound the duality gap of a positive definite ``Theta``, moving ``W`` onto its edges.

    To the gap at ``W`` is added what the dual point :math:`\Theta^{-1}`, clipped to the box, loses
    by slackness (to first order in :math:`R`), so that whoever has only the precision can confirm
    the figure. Infinite where the bound does not hold. ``R`` is scratch.
    """
    p = S.shape[0]
    _pin_edges(S, alpha, scale, weights, W, support, size, Theta)
    index = np.empty(support.shape[1] + 1, np.int64)
    value = np.empty(support.shape[1] + 1)
    for i in range(p):
        n = 1
        index[0] = i
        value[0] = Theta[i, i]
        for k in range(size[i]):
            if Theta[i, support[i, k]] != 0.0:
                index[n] = support[i, k]
                value[n] = Theta[i, support[i, k]]
                n += 1
        add_rows(W, index, value, n, R[i])
        R[i, i] -= 1.0
    square = _transpose_and_trace_square(R)
    if not square < 1.0:
        return np.inf
    square = max(square, 0.0)
    slack = 0.0
    for i in range(p):
        for k in range(size[i]):
            j = support[i, k]
            if j > i and Theta[i, j] != 0.0:
                slack += 2.0 * max(0.0, Theta[i, j] * dot(W[i], R[j]))
    bound: float = 0.5 * square / (1.0 - np.sqrt(square)) + slack
    return bound


@kernel
def _pin_edges(
    S: FloatArray,
    alpha: float,
    scale: FloatArray,
    weights: FloatArray,
    W: FloatArray,
    support: IntArray,
    size: IntArray,
    Theta: FloatArray,
) -> None:
    """Move ``W`` to the edge of its box wherever ``Theta`` has an edge."""
    t = np.empty(size.size)
    for i in range(size.size):
        fill_thresholds(i, alpha, scale, weights, t)
        for k in range(size[i]):
            j = support[i, k]
            if Theta[i, j] != 0.0:
                W[i, j] = S[i, j] + (t[j] if Theta[i, j] > 0.0 else -t[j])
                W[j, i] = W[i, j]


@kernel
def _transpose_and_trace_square(R: FloatArray) -> float:
    """Transpose ``R`` in place, tile by tile, and return the trace of its square."""
    p = R.shape[0]
    square = 0.0
    for a in range(0, p, _TILE):
        for b in range(0, a + 1, _TILE):
            part = 0.0
            for i in range(a, min(a + _TILE, p)):
                for j in range(b, min(b + _TILE, i + 1)):
                    x = R[i, j]
                    y = R[j, i]
                    part += x * y if i == j else 2.0 * x * y
                    R[i, j] = y
                    R[j, i] = x
            square += part
    return square
