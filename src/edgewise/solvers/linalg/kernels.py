"""Vector, Cholesky and union-find kernels shared by the solvers."""

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
def find_root(root: IntArray, i: int) -> int:
    """Find the representative of ``i`` in a union-find forest, halving the way there."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


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
