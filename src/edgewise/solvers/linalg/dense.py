"""Dense linear algebra on positive definite matrices, for numpy or any other array library.

What a solver needs of an array library is gathered here, in names of the array API standard
(https://data-apis.org/array-api). Plain numpy arrays take a shorter way through LAPACK, which
factorises a matrix once for both its determinant and its inverse.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import blas, eigh, lapack

from edgewise._core.arrays import array_namespace
from edgewise._core.jit import kernel


def log_determinant(A: Any) -> float:
    """Return the log-determinant of a symmetric matrix, -inf where it is not positive definite.

    Parameters
    ----------
    A : array of shape (p, p)
        Symmetric matrix, of numpy or of a library that follows the array API standard. Of a numpy
        array the upper triangle is read.

    Examples
    --------
    >>> import numpy as np
    >>> log_determinant(np.eye(2)), log_determinant(np.diag([1.0, -1.0]))
    (0.0, -inf)
    """
    return Factor.of(A).log_determinant


def inverse_and_log_determinant(A: Any) -> tuple[Any, float]:
    """Return the inverse of a symmetric matrix, exactly symmetric, and its log-determinant.

    Parameters
    ----------
    A : array of shape (p, p)
        Symmetric matrix, of numpy or of a library that follows the array API standard. Of a numpy
        array the upper triangle is read.

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
    factor = Factor.of(A)
    value = factor.log_determinant
    return factor.inverse(), value


class Factor(NamedTuple):
    """A symmetric matrix with its Cholesky factor, or None where it is not positive definite."""

    A: Any
    L: Any

    @classmethod
    def of(cls, A: Any) -> Factor:
        """Factorise a matrix; of a numpy array the upper triangle is read."""
        return cls(A, _cholesky(A))

    @property
    def log_determinant(self) -> float:
        """Log-determinant, -inf where there is no factor."""
        return -math.inf if self.L is None else _log_determinant(self.L)

    def inverse(self) -> Any:
        """Return the inverse, exactly symmetric, or None; the factor is used up."""
        if self.L is None:
            return None
        if type(self.A) is np.ndarray:
            return mirror(lapack.dpotri(self.L, lower=1, overwrite_c=1)[0].T)
        inverse = _inverse(self.A, self.L)
        return 0.5 * (inverse + inverse.T)


#: Share of the distance between the copies of an iteration that a likelihood step may be off by.
#: A tenth costs half as many iterations again; one does not converge.
STEP_SHARE = 0.03
#: Corrections of higher order tried before a matrix is decomposed anew.
ORDERS = 2
#: Such corrections that cost as much as a decomposition, on a core and on other devices.
PATIENCE, DEVICE_PATIENCE = 7, 40


#: Up to so many variables single precision saves no time, and double precision keeps results the
#: same to more digits when rows come in another order.
SMALL = 64


class LikelihoodStep:
    r"""The positive definite :math:`O` with :math:`O - c\, O^{-1} = V`, for one V after another.

    It minimises :math:`\tfrac12 \|O - V\|^2 - c \log\det O`. With
    :math:`V = Q \operatorname{diag}(\lambda) Q^\top`, the eigenvalues of :math:`O` are
    :math:`(\lambda + \sqrt{\lambda^2 + 4 c}) / 2`.

    Examples
    --------
    >>> import numpy as np
    >>> step = LikelihoodStep()
    >>> step(np.diag([0.0, 1.5]), 1.0)
    array([[1., 0.],
           [0., 2.]])
    >>> step(np.diag([0.0, 1.6]), 1.0, 0.1).round(6), step.n_decompositions
    (array([[1.     , 0.     ],
           [0.     , 2.080625]]), 1)

    Notes
    -----
    Where the next V is near, the eigenvectors of an earlier one serve again. In their basis V is
    :math:`M = \operatorname{diag}(m) + F` with a small :math:`F` of zero diagonal. Let :math:`w`
    solve the equation for :math:`m`, and :math:`h = (w + c / w) / 2`. Then
    :math:`B = \operatorname{diag}(w) + E` with

    .. math:: E_{ij} = F_{ij} \frac{w_i w_j}{w_i w_j + c}

    is the solution to first order (Daleckii and Krein). It satisfies
    :math:`B^2 - \operatorname{sym}(B M) = c I` up to a remainder :math:`R`, and moving :math:`B` by
    :math:`-\delta_{ij} = -R_{ij} / (h_i + h_j)` leaves the remainder
    :math:`\operatorname{sym}(\delta (F - 2 E + \delta))`: one product for each further order. Only
    differences from the decomposed V are rotated, so numpy does it in single precision for large
    matrices, whose rounding is relative to them.
    """

    def __init__(self) -> None:
        self.n_decompositions = 0
        self._basis: _Basis | None = None

    def __call__(self, V: Any, strength: float, tolerated: float = 0.0) -> Any:
        """Return :math:`O`.

        Parameters
        ----------
        V : array of shape (p, p)
            Symmetric matrix, of numpy or of a library that follows the array API standard.
        strength : float
            :math:`c > 0`.
        tolerated : float
            Error of the result, in Frobenius norm and estimated, up to which an earlier basis
            serves.

        Returns
        -------
        array of shape (p, p)
            Exactly symmetric; not to be written to.
        """
        found = None
        if self._basis is not None and self._basis.patience > 0 and tolerated > 0.0:
            found = self._basis.correct(V, strength, tolerated)
        if found is None:
            # Free the old basis before the new one is made.
            self._basis = None
            self._basis = _Basis(V, strength)
            self.n_decompositions += 1
            found = self._basis.O
        return found


class _Basis:
    """Eigenvectors of a matrix, and the likelihood step that was solved with them."""

    def __init__(self, V: Any, strength: float) -> None:
        xp = array_namespace(V)
        self.V = V
        if type(V) is np.ndarray:
            self.values, vectors = eigh(V, driver="evd", check_finite=False)
        else:
            self.values, vectors = xp.linalg.eigh(V)
        self.w = _roots(xp, self.values, strength)
        half = vectors * xp.sqrt(self.w)
        self.O = half @ half.T
        if type(V) is not np.ndarray:
            # numpy's product of a matrix with its own transpose is symmetric to the last digit.
            self.O = 0.5 * (self.O + self.O.T)
        #: What the first order left out the last time it was looked at, twice, over its bound.
        self.ratio = 1.0
        self.patience = PATIENCE if type(V) is np.ndarray else DEVICE_PATIENCE
        self.Q, self.Q_transposed = vectors, vectors.T
        if type(V) is np.ndarray:
            precision = np.float32 if len(V) > SMALL else np.float64
            self.Q = np.asfortranarray(vectors, dtype=precision)
            self.Q_transposed = np.asfortranarray(vectors.T, dtype=precision)

    def correct(self, V: Any, strength: float, tolerated: float) -> Any:
        """Solve for another matrix, or return None where the error would be larger."""
        xp = array_namespace(V)
        F = _rotate(self.Q, V - self.V)
        diagonal = xp.astype(xp.linalg.diagonal(F), self.w.dtype)
        F = set_diagonal(F, 0.0)
        w = _roots(xp, self.values + diagonal, strength)
        moved = w - self.w
        E = self._solve(F, w, strength, tolerated - _rounding(F, diagonal, moved))
        if E is None:
            return None
        E = set_diagonal(E, xp.linalg.diagonal(E) + xp.astype(moved, E.dtype))
        return self.O + xp.astype(_rotate(self.Q_transposed, E), self.O.dtype)

    def _solve(self, F: Any, w: Any, strength: float, tolerated: float) -> Any:
        """Return the solution in this basis less the diagonal ``w``."""
        xp = array_namespace(F)
        w = xp.astype(w, F.dtype)
        E = w[:, None] * w[None, :]
        E = F * (E / (E + strength))
        bound = squared_norm(F - E) / (4.0 * math.sqrt(strength))
        left = self.ratio * bound
        move, size = -E, squared_norm(E)
        h = 0.5 * (w + strength / w)
        for order in range(ORDERS):
            if left <= tolerated:
                return E
            self.patience -= 1
            # E holds the move already: F - 2 (E + move) + move.
            product = move @ (F - 2.0 * E - move)
            move = (product + product.T) / (2.0 * (h[:, None] + h[None, :]))
            E = E - move
            before, size = size, squared_norm(move)
            # The next moves shrink as this one did, if they do.
            share = math.sqrt(size / max(before, 1e-300))
            left = math.sqrt(size) * share / (1.0 - share) if share < 1.0 else math.inf
            if order == 0 and bound > 0.0:
                self.ratio = min(1.0, 2.0 * math.sqrt(size) / bound)
        return E if left <= tolerated else None


def _roots(xp: Any, values: Any, strength: float) -> Any:
    """Solve x - c / x = value for positive x."""
    larger = 0.5 * (xp.abs(values) + xp.sqrt(values * values + 4.0 * strength))
    # For a negative value the sum would cancel, but c is the product of both solutions.
    return xp.where(values > 0.0, larger, strength / larger)


def _rounding(F: Any, *diagonals: Any) -> float:
    """Error of a rotation of a matrix in the precision of ``F``."""
    size = squared_norm(F) + sum(squared_norm(one) for one in diagonals)
    return float(array_namespace(F).finfo(F.dtype).eps) * math.sqrt(size)


def _rotate(Q: Any, A: Any) -> Any:
    """Return Q' A Q for a symmetric ``A``, exactly symmetric and in the precision of ``Q``."""
    if type(A) is not np.ndarray:
        rotated = Q.T @ A @ Q
        return 0.5 * (rotated + rotated.T)
    # With A = L + L' for a triangular L, the result is (L Q)' Q + Q' (L Q): three quarters of
    # the work of two products.
    half = np.array(A.T, dtype=Q.dtype, order="F")
    np.fill_diagonal(half, 0.5 * half.diagonal())
    trmm, syr2k = blas.get_blas_funcs(("trmm", "syr2k"), (half, Q))
    return mirror(syr2k(1.0, trmm(1.0, half, Q, lower=1), Q, trans=1, lower=1).T)


def inner(A: Any, B: Any) -> float:
    """Return the sum of the products of the entries of two arrays."""
    if type(A) is np.ndarray:
        return float(np.vdot(A, B))
    return float(array_namespace(A).sum(A * B))


def squared_norm(A: Any) -> float:
    """Return the sum of the squares of an array."""
    return inner(A, A)


def soften(A: Any, limit: Any) -> Any:
    """Draw the entries of an array towards 0 by at most ``limit``."""
    xp = array_namespace(A)
    return A - xp.maximum(xp.minimum(A, limit), -limit)


def set_diagonal(A: Any, values: Any) -> Any:
    """Return a matrix with another diagonal, a number or a vector; numpy overwrites the matrix."""
    if type(A) is np.ndarray:
        np.fill_diagonal(A, values)
        return A
    xp = array_namespace(A)
    return xp.where(xp.eye(A.shape[0], dtype=xp.bool, device=A.device), values, A)


def _cholesky(A: Any) -> Any:
    """Return a lower triangular factor, or None where there is none.

    Of numpy's factor only the lower triangle counts.
    """
    if type(A) is np.ndarray:
        # A is symmetric, so its transpose is the same matrix in LAPACK's own order.
        factor, info = lapack.dpotrf(A.T, lower=1, clean=0)
        # LAPACK lets NaN pass.
        return factor if info == 0 and factor[-1, -1] > 0.0 else None
    xp = array_namespace(A)
    if hasattr(A, "cholesky_inverse"):
        # torch says so without an error, which would wait for the device twice.
        factor, info = import_module("torch").linalg.cholesky_ex(A)
        return factor if int(info) == 0 and bool(xp.isfinite(factor[-1, -1])) else None
    try:
        factor = xp.linalg.cholesky(A)
    except (ValueError, RuntimeError, np.linalg.LinAlgError):
        # The standard names no error; libraries raise one of these or return NaN.
        return None
    return factor if bool(xp.all(xp.isfinite(factor))) else None


def _inverse(A: Any, factor: Any) -> Any:
    """Return the inverse, from the factor where a library can."""
    if hasattr(factor, "cholesky_inverse"):
        return factor.cholesky_inverse()
    return array_namespace(A).linalg.inv(A)


def _log_determinant(factor: Any) -> float:
    """Return the log-determinant of the matrix that a Cholesky factor belongs to."""
    xp = array_namespace(factor)
    return 2.0 * float(xp.sum(xp.log(xp.linalg.diagonal(factor))))


@kernel
def mirror(A: Any) -> Any:
    """Copy the upper triangle of a matrix onto the lower one, in place."""
    p = A.shape[0]
    tile = 32
    for a in range(0, p, tile):
        for b in range(0, a + 1, tile):
            for i in range(a, min(a + tile, p)):
                for j in range(b, min(b + tile, i)):
                    A[i, j] = A[j, i]
    return A
