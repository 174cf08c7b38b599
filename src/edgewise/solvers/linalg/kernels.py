"""Row operations that the graphical lasso kernels share."""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray


@kernel
def soft_threshold(x: float, t: float) -> float:
    """Shrink ``x`` towards zero by ``t``."""
    if x > t:
        return x - t
    if x < -t:
        return x + t
    return 0.0


@kernel
def dot(x: FloatArray, y: FloatArray) -> float:
    """Inner product in four partial sums, so that it runs in vector registers."""
    a0 = a1 = a2 = a3 = 0.0
    n = x.size
    quarter = n - n % 4
    for k in range(0, quarter, 4):
        a0 += x[k] * y[k]
        a1 += x[k + 1] * y[k + 1]
        a2 += x[k + 2] * y[k + 2]
        a3 += x[k + 3] * y[k + 3]
    for k in range(quarter, n):
        a0 += x[k] * y[k]
    return (a0 + a1) + (a2 + a3)


@kernel
def add_rows(A: FloatArray, index: IntArray, b: FloatArray, n: int, out: FloatArray) -> None:
    """Set ``out = sum_k b[k] A[index[k]]``, four rows at a time to spare passes over ``out``."""
    p = out.size
    out[:] = 0.0
    k = 0
    while k + 4 <= n:
        b0, b1, b2, b3 = b[k], b[k + 1], b[k + 2], b[k + 3]
        a0, a1, a2, a3 = A[index[k]], A[index[k + 1]], A[index[k + 2]], A[index[k + 3]]
        for j in range(p):
            out[j] += b0 * a0[j] + b1 * a1[j] + b2 * a2[j] + b3 * a3[j]
        k += 4
    if k + 2 <= n:
        b0, b1 = b[k], b[k + 1]
        a0, a1 = A[index[k]], A[index[k + 1]]
        for j in range(p):
            out[j] += b0 * a0[j] + b1 * a1[j]
        k += 2
    if k < n:
        b0 = b[k]
        a0 = A[index[k]]
        for j in range(p):
            out[j] += b0 * a0[j]


@kernel
def fill_thresholds(
    i: int, alpha: float, scale: FloatArray, weights: FloatArray, row: FloatArray
) -> None:
    """Put the thresholds ``alpha * weights[i, j] * scale[i] * scale[j]`` into ``row``.

    An empty ``weights`` stands for ones, which spares a p by p array.
    """
    factor = alpha * scale[i]
    if weights.shape[0] == 0:
        for j in range(row.size):
            row[j] = factor * scale[j]
    else:
        for j in range(row.size):
            # Infinite even where alpha is 0: a forbidden edge is not a matter of strength.
            row[j] = np.inf if weights[i, j] == np.inf else factor * scale[j] * weights[i, j]


@kernel
def clip_to_box(
    S: FloatArray, alpha: float, scale: FloatArray, weights: FloatArray, W: FloatArray
) -> None:
    """Move ``W`` to the nearest dual feasible point, entry by entry."""
    p = S.shape[0]
    t = np.empty(p)
    for i in range(p):
        fill_thresholds(i, alpha, scale, weights, t)
        for j in range(p):
            W[i, j] = min(max(W[i, j], S[i, j] - t[j]), S[i, j] + t[j])
        W[i, i] = 1.0


@kernel
def penalty(alpha: float, scale: FloatArray, weights: FloatArray, Theta: FloatArray) -> float:
    """Return the penalty of the off-diagonal entries, reading thresholds only for edges."""
    p = Theta.shape[0]
    total = 0.0
    for i in range(p):
        for j in range(i):
            if Theta[i, j] != 0.0:
                w = 1.0 if weights.shape[0] == 0 else weights[i, j]
                total += 2.0 * alpha * w * scale[i] * scale[j] * abs(Theta[i, j])
    return total


#: A pivot below this share of a unit variance says that the matrix is singular.
SINGULAR = 1e-13


@kernel
def factor(A: FloatArray, n: int, L: FloatArray) -> bool:
    """Write the factor of the leading ``n`` rows of ``A`` to ``L``; False if it is singular.

    Only the lower triangle of ``A`` is read, so that ``A`` may be built in halves.
    """
    for i in range(n):
        row = L[i]
        for j in range(i):
            other = L[j]
            total = A[i, j]
            for k in range(j):
                total -= row[k] * other[k]
            row[j] = total / other[j]
        pivot = A[i, i]
        for k in range(i):
            pivot -= row[k] * row[k]
        if not pivot > SINGULAR:
            return False
        row[i] = np.sqrt(pivot)
    return True


@kernel
def solve(L: FloatArray, n: int, x: FloatArray) -> None:
    """Replace the first ``n`` entries of ``x`` by the solution of ``L L' z = x``."""
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total / L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] /= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]


@kernel
def gaussian_risk(Theta: FloatArray, S: FloatArray, L: FloatArray) -> float:
    r"""Return :math:`\operatorname{tr}(S \Theta) - \log\det \Theta`; ``L`` is scratch.

    Infinite where ``Theta`` is not positive definite.
    """
    p = Theta.shape[0]
    if not factor(Theta, p, L):
        return np.inf
    total = 0.0
    for i in range(p):
        total += Theta[i, i] * S[i, i] - 2.0 * np.log(L[i, i])
        for j in range(i):
            total += 2.0 * Theta[i, j] * S[i, j]
    return total


#: Standard deviations of a sum of rounding errors that are allowed for.
DEVIATIONS: Final = 8.0


def sum_error(n_terms: int) -> float:
    """Bound the error of a sum of products, as a share of the sum of their sizes.

    The bound that always holds grows with the number of terms; errors that do not all go the same
    way add up to the root of it, and exceed eight times that less than once in 10^13 times [1]_.

    References
    ----------
    .. [1] Higham and Mary (2019). A new approach to probabilistic rounding error analysis. *SIAM
       Journal on Scientific Computing* 41(5). https://doi.org/10.1137/18M1226312
    """
    return DEVIATIONS * 0.5 * float(np.finfo(np.float64).eps) * float(np.sqrt(n_terms + 2.0))
