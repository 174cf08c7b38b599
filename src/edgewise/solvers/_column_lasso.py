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
from edgewise.solvers._rows import dot, soft_threshold

#: Passes over one active set before the column is left for the next sweep.
MAX_PASSES = 500
#: A coordinate step beyond this shows that the Gram matrix is not positive definite.
BLOW_UP = 1e8


@kernel
def active_lasso(
    G: FloatArray, c: FloatArray, t: FloatArray, b: FloatArray, n: int, eps: float
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
def _solve_on_signs(G: FloatArray, c: FloatArray, t: FloatArray, b: FloatArray, n: int) -> bool:
    """Move ``b`` to the minimum on its signs, or as far towards it as the signs allow.

    The objective is quadratic up to the first sign change, so the move never raises it. False
    says that the Gram matrix is not positive definite.
    """
    index = np.empty(n, np.int64)
    m = 0
    for k in range(n):
        if b[k] != 0.0:
            index[m] = k
            m += 1
    L = np.empty((m, m))
    x = np.empty(m)
    for a in range(m):
        k = index[a]
        x[a] = c[k] - (t[k] if b[k] > 0.0 else -t[k])
        for e in range(a):
            L[a, e] = (G[k, index[e]] - dot(L[a, :e], L[e, :e])) / L[e, e]
        pivot = G[k, k] - dot(L[a, :a], L[a, :a])
        if pivot <= 1e-14:
            return False
        L[a, a] = np.sqrt(pivot)
        x[a] = (x[a] - dot(L[a, :a], x[:a])) / L[a, a]
    for a in range(m - 1, -1, -1):
        x[a] /= L[a, a]
        for e in range(a):
            x[e] -= L[a, e] * x[a]
    step = 1.0
    blocked = -1
    for a in range(m):
        old = b[index[a]]
        if old * x[a] < 0.0 and old / (old - x[a]) < step:
            step = old / (old - x[a])
            blocked = a
    for a in range(m):
        b[index[a]] += step * (x[a] - b[index[a]])
    if blocked >= 0:
        b[index[blocked]] = 0.0
    return True
