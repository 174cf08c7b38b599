r"""The lasso of one column of the graphical lasso, on its active set.

.. math::
    \min_b \tfrac12 b^\top G b - c^\top b + \sum_k t_k |b_k|,

where the Gram matrix :math:`G` has a unit diagonal. Coordinate descent settles the signs; then one
Cholesky solve on those signs ends the work, so ill-conditioned neighbourhoods cost no extra passes.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray
from edgewise.solvers.linalg.rows import dot, soft_threshold

#: Passes over one active set before the column is left for the next sweep.
MAX_PASSES = 500
#: A coordinate step beyond this shows that the Gram matrix is not positive definite.
BLOW_UP = 1e8


@kernel
def active_lasso(
    G: FloatArray,
    c: FloatArray,
    t: FloatArray,
    b: FloatArray,
    n: int,
    eps: float,
) -> bool:
    """Minimise over ``b[:n]`` in place; False says that the problem is unbounded.

    Descent runs until no coordinate moves by more than ``eps``. Whenever it has cost as much as a
    Cholesky factorisation would, one is tried.
    """
    r = np.empty(n)
    _residual(G, c, b, n, r)
    patience = 2 + n // 6
    for count in range(1, MAX_PASSES + 1):
        largest = 0.0
        for k in range(n):
            old = b[k]
            new = soft_threshold(r[k] + old, t[k])
            d = new - old
            if d != 0.0:
                b[k] = new
                row = G[k]
                for m in range(n):
                    r[m] -= d * row[m]
                largest = max(largest, abs(d))
        if largest <= eps:
            return True
        if largest > BLOW_UP:
            return False
        if count % patience == 0:
            if not _solve_on_signs(G, c, t, b, n):
                return False
            _residual(G, c, b, n, r)
    return True


@kernel
def _residual(G: FloatArray, c: FloatArray, b: FloatArray, n: int, r: FloatArray) -> None:
    """Set ``r = c - G b``."""
    for k in range(n):
        r[k] = c[k]
    for k in range(n):
        if b[k] != 0.0:
            row = G[k]
            for m in range(n):
                r[m] -= b[k] * row[m]


@kernel
def _leading_dot(x: FloatArray, y: FloatArray, n: int) -> float:
    """Inner product of the first ``n`` entries; slicing only pays for itself on long ones."""
    if n > 16:
        return dot(x[:n], y[:n])
    total = 0.0
    for k in range(n):
        total += x[k] * y[k]
    return total


@kernel
def _solve_on_signs(G: FloatArray, c: FloatArray, t: FloatArray, b: FloatArray, n: int) -> bool:
    """Move ``b`` to the minimum on its signs, or as far towards it as the signs allow.

    The objective is quadratic up to the first sign change, so the move never raises it. False
    says that the Gram matrix is not positive definite.
    """
    L = np.empty((n, n))
    x = np.empty(n)
    for i in range(n):
        if b[i] == 0.0:
            continue
        row = L[i]
        for j in range(i):
            if b[j] != 0.0:
                row[j] = (G[i, j] - _leading_dot(row, L[j], j)) / L[j, j]
            else:
                row[j] = 0.0
        pivot = G[i, i] - _leading_dot(row, row, i)
        if pivot <= 1e-14:
            return False
        row[i] = np.sqrt(pivot)
    for i in range(n):
        x[i] = 0.0
        if b[i] != 0.0:
            target = c[i] - (t[i] if b[i] > 0.0 else -t[i])
            x[i] = (target - _leading_dot(L[i], x, i)) / L[i, i]
    for i in range(n - 1, -1, -1):
        if b[i] != 0.0:
            x[i] /= L[i, i]
            for j in range(i):
                x[j] -= L[i, j] * x[i]
    step = 1.0
    blocked = -1
    for i in range(n):
        if b[i] * x[i] < 0.0 and b[i] / (b[i] - x[i]) < step:
            step = b[i] / (b[i] - x[i])
            blocked = i
    for i in range(n):
        b[i] += step * (x[i] - b[i])
    if blocked >= 0:
        b[blocked] = 0.0
    return True
