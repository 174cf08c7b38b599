"""Dense linear algebra on positive definite matrices, for numpy or any other array library.

What a solver needs of an array library is gathered here, in names of the array API standard
(https://data-apis.org/array-api). Plain numpy arrays take a shorter way through LAPACK, which
factorises a matrix once for both its determinant and its inverse.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import eigh, lapack

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray


def log_determinant(A: Any) -> float:
    """Return the log-determinant of a symmetric matrix, -inf where it is not positive definite.

    Parameters
    ----------
    A : array of shape (p, p)
        Symmetric matrix, of numpy or of a library that follows the array API standard.

    Examples
    --------
    >>> import numpy as np
    >>> log_determinant(np.eye(2)), log_determinant(np.diag([1.0, -1.0]))
    (0.0, -inf)
    """
    factor = _cholesky(A)
    return -math.inf if factor is None else _log_determinant(factor)


def inverse_and_log_determinant(A: Any) -> tuple[Any, float]:
    """Return the inverse of a symmetric matrix, exactly symmetric, and its log-determinant.

    Parameters
    ----------
    A : array of shape (p, p)
        Symmetric matrix, of numpy or of a library that follows the array API standard.

    Returns
    -------
    inverse : array of shape (p, p) or None
        None where ``A`` is not positive definite.
    log_determinant : float
        -inf where ``A`` is not positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> inverse, value = inverse_and_log_determinant(np.array([[2.0, 1.0], [1.0, 1.0]]))
    >>> inverse.round(12), round(value, 12)
    (array([[ 1., -1.],
           [-1.,  2.]]), 0.0)
    """
    factor = _cholesky(A)
    if factor is None:
        return None, -math.inf
    value = _log_determinant(factor)
    if type(A) is np.ndarray:
        return _mirror(lapack.dpotri(factor, lower=1, overwrite_c=1)[0].T), value
    inverse = A.__array_namespace__().linalg.inv(A)
    return 0.5 * (inverse + inverse.mT), value


def likelihood_step(V: Any, strength: float) -> Any:
    r"""Return the positive definite :math:`O` with :math:`O - c\, O^{-1} = V`.

    With :math:`V = Q \operatorname{diag}(\lambda) Q^\top`, the eigenvalues of :math:`O` are
    :math:`(\lambda + \sqrt{\lambda^2 + 4 c}) / 2`. It minimises
    :math:`\tfrac12 \|O - V\|^2 - c \log\det O`.

    Parameters
    ----------
    V : array of shape (p, p)
        Symmetric matrix, of numpy or of a library that follows the array API standard. A numpy
        array is overwritten.
    strength : float
        :math:`c > 0`.

    Examples
    --------
    >>> import numpy as np
    >>> likelihood_step(np.diag([0.0, 1.5]), 1.0)
    array([[1., 0.],
           [0., 2.]])
    """
    xp = V.__array_namespace__()
    if type(V) is np.ndarray:
        values, vectors = eigh(V, driver="evd", overwrite_a=True, check_finite=False)
    else:
        values, vectors = xp.linalg.eigh(V)
    larger = 0.5 * (xp.abs(values) + xp.sqrt(values * values + 4.0 * strength))
    # For a negative eigenvalue the sum would cancel, but c is the product of both solutions.
    values = xp.where(values > 0.0, larger, strength / larger)
    # A matrix times its own transpose is symmetric to the last digit.
    half = vectors * xp.sqrt(values)
    return half @ half.T


def _cholesky(A: Any) -> Any:
    """Return a lower triangular factor, or None where there is none.

    Of numpy's factor only the lower triangle counts.
    """
    if type(A) is np.ndarray:
        # A is symmetric, so its transpose is the same matrix in LAPACK's own order.
        factor, info = lapack.dpotrf(A.T, lower=1, clean=0)
        # LAPACK lets NaN pass.
        return factor if info == 0 and factor[-1, -1] > 0.0 else None
    xp = A.__array_namespace__()
    try:
        factor = xp.linalg.cholesky(A)
    except (ValueError, RuntimeError):
        # The standard names no error; libraries raise one of these or return NaN.
        return None
    return factor if bool(xp.all(xp.isfinite(factor))) else None


def _log_determinant(factor: Any) -> float:
    """Return the log-determinant of the matrix that a Cholesky factor belongs to."""
    xp = factor.__array_namespace__()
    return 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(factor))))


@kernel
def _mirror(A: FloatArray) -> FloatArray:
    """Copy the upper triangle of a matrix onto the lower one, in place."""
    p = A.shape[0]
    for i in range(p):
        for j in range(i):
            A[i, j] = A[j, i]
    return A
