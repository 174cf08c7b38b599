"""Cholesky factors of matrices so small that a call of LAPACK would cost more than the work."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray

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
