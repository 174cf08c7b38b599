"""Positive definiteness of covariances: test and repair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray

#: Largest relative asymmetry, and largest negative eigenvalue of the correlations, that count
#: as rounding.
TOLERANCE = 1e-8
#: A smaller eigenvalue of the correlations is 0 up to rounding.
SINGULAR = 1e-10
#: A variable with a smaller share in a relation has no part in it.
NEGLIGIBLE = 1e-5


def smallest_eigenvalue(S: Any) -> float:
    """Smallest eigenvalue of a symmetric matrix.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features)
        Symmetric.

    Returns
    -------
    float

    Examples
    --------
    >>> round(smallest_eigenvalue([[1.0, 2.0], [2.0, 1.0]]), 12)
    -1.0
    """
    return float(linalg.eigvalsh(np.asarray(S, dtype=np.float64), subset_by_index=[0, 0])[0])


def correlation_from_covariance(S: Any) -> FloatArray:
    """Correlations that belong to a covariance with a positive diagonal.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features)

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Unit diagonal.

    Examples
    --------
    >>> correlation_from_covariance([[4.0, 1.0], [1.0, 1.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    matrix = np.asarray(S, dtype=np.float64)
    scale = np.sqrt(np.diagonal(matrix))
    R: FloatArray = matrix / np.outer(scale, scale)
    np.fill_diagonal(R, 1.0)
    return R


def check_covariance(
    S: Any, names: Sequence[str] | None = None, *, allow_indefinite: bool = False
) -> FloatArray:
    """Return a given covariance as an array, or raise an `InputError`.

    Whether it is positive semi-definite is judged on the correlations, so that the units of the
    variables do not matter; eigenvalues above ``-1e-8`` count as zero.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features)
        The candidate.
    names : sequence of str, optional
        Variable names for the message; ``x0``, ``x1``, ... without them.
    allow_indefinite : bool
        Let negative eigenvalues pass, for callers that repair them.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        ``S`` as floats, exactly symmetric.

    Examples
    --------
    >>> check_covariance([[1.0, 2.0], [2.0, 1.0]])
    Traceback (most recent call last):
        ...
    edgewise._core.errors.InputError: The covariance is not positive semi-definite: its smallest
    eigenvalue is -1. Pass repair="ridge" to raise it.
    """
    matrix = np.asarray(S, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise InputError("covariance_shape", shape=matrix.shape)
    labels = list(names) if names is not None else [f"x{k}" for k in range(len(matrix))]
    if not np.isfinite(matrix).all():
        where = [labels[k] for k in np.flatnonzero(~np.isfinite(matrix).all(axis=0)).tolist()]
        raise InputError("covariance_not_finite", where=where)
    diagonal = np.diagonal(matrix)
    if (diagonal <= 0).any():
        where = [labels[k] for k in np.flatnonzero(diagonal <= 0).tolist()]
        raise InputError("covariance_variance", where=where)
    _check_symmetric(matrix, labels)
    matrix = (matrix + matrix.T) / 2.0
    if not allow_indefinite:
        _check_semidefinite(matrix)
    return matrix


def repair_covariance(
    S: Any, method: Literal["ridge", "clip"] = "ridge", *, minimum: float = 1e-6
) -> tuple[FloatArray, dict[str, Any]]:
    r"""Raise the eigenvalues of a covariance to at least ``minimum``, and record how.

    Eigenvalues are those of the correlations, so that the units of the variables do not matter.
    ``"ridge"`` adds the same amount :math:`\delta` to every variance, in units of that variance:
    :math:`S + \delta\, \mathrm{diag}(S)`. ``"clip"`` keeps the variances: it replaces the
    eigenvalues below ``minimum``, scales back to a unit diagonal, and shrinks the correlations by
    the little that the scaling has cost. A matrix that needs nothing is returned as it is.

    Parameters
    ----------
    S : array-like of shape (n_features, n_features)
        Symmetric with a positive diagonal.
    method : {"ridge", "clip"}
        What to do.
    minimum : float
        Smallest eigenvalue wanted, between 0 and 1.

    Returns
    -------
    repaired : ndarray of shape (n_features, n_features)
    record : dict
        ``method``; ``smallest_eigenvalue_before`` and ``smallest_eigenvalue_after`` of the
        correlations; ``amount``: the :math:`\delta` of a ridge, or the largest change of a
        correlation by clipping; 0 where nothing was done.

    Examples
    --------
    >>> repaired, record = repair_covariance([[1.0, 1.5], [1.5, 1.0]])
    >>> round(record["smallest_eigenvalue_before"], 12), round(record["amount"], 6)
    (-0.5, 0.500002)
    """
    if method not in ("ridge", "clip"):
        raise InputError("repair_method", method=method)
    if not 0 < minimum < 1:
        raise InputError("repair_minimum", minimum=minimum)
    matrix = check_covariance(S, allow_indefinite=True)
    R = correlation_from_covariance(matrix)
    before = smallest_eigenvalue(R)
    repaired, amount = matrix, 0.0
    if before < minimum and method == "ridge":
        amount = (minimum - before) / (1.0 - minimum)
        repaired = matrix + amount * np.diag(np.diagonal(matrix))
    elif before < minimum:
        scale = np.sqrt(np.diagonal(matrix))
        clipped = _clip(R, minimum)
        amount = float(np.abs(clipped - R).max())
        repaired = clipped * np.outer(scale, scale)
    record = {
        "method": method,
        "smallest_eigenvalue_before": before,
        "smallest_eigenvalue_after": smallest_eigenvalue(correlation_from_covariance(repaired)),
        "amount": amount,
    }
    return repaired, record


def _clip(R: FloatArray, minimum: float) -> FloatArray:
    """Replace small eigenvalues of a correlation matrix and restore its unit diagonal."""
    values, vectors = linalg.eigh(R)
    raised: FloatArray = (vectors * np.maximum(values, minimum)) @ vectors.T
    clipped = correlation_from_covariance((raised + raised.T) / 2.0)
    smallest = smallest_eigenvalue(clipped)
    if smallest < minimum:
        clipped *= (1.0 - minimum) / (1.0 - smallest)
        np.fill_diagonal(clipped, 1.0)
    return clipped


def _check_semidefinite(matrix: FloatArray) -> None:
    on_correlations = smallest_eigenvalue(correlation_from_covariance(matrix))
    if on_correlations < -TOLERANCE:
        own, scaled = f"{smallest_eigenvalue(matrix):.6g}", f"{on_correlations:.6g}"
        as_correlations = "" if own == scaled else f" ({scaled} as correlations)"
        raise InputError("not_semidefinite_covariance", own=own, as_correlations=as_correlations)


def _check_symmetric(matrix: FloatArray, labels: Sequence[str]) -> None:
    scale = np.sqrt(np.diagonal(matrix))
    asymmetry = np.abs(matrix - matrix.T) / np.outer(scale, scale)
    i, j = np.unravel_index(int(asymmetry.argmax()), matrix.shape)
    if asymmetry[i, j] > TOLERANCE:
        raise InputError(
            "asymmetric_covariance",
            label=labels[int(i)],
            label2=labels[int(j)],
            matrix=matrix[i, j],
            matrix2=matrix[j, i],
        )


def find_relations(R: FloatArray) -> list[list[int]]:
    """List the variables of each exact linear relation, as many as are independent.

    Each null vector of the correlations is a relation. Elimination with complete pivoting turns
    a basis of them into one with many zeros.
    """
    with blas_threads_for(len(R)):
        try:
            linalg.cholesky(R - SINGULAR * np.eye(len(R)), check_finite=False)
        except linalg.LinAlgError:
            values, vectors = linalg.eigh(R)
        else:
            return []
    basis = vectors[:, values <= SINGULAR].T.copy()
    for k in range(len(basis)):
        size = np.abs(basis)
        size[:k] = 0.0
        row, column = divmod(int(size.argmax()), size.shape[1])
        basis[[k, row]] = basis[[row, k]]
        basis[k] /= basis[k, column]
        others = np.arange(len(basis)) != k
        basis[others] -= np.outer(basis[others, column], basis[k])
    return [np.flatnonzero(np.abs(vector) > NEGLIGIBLE).tolist() for vector in basis]


def rows_are_independent(X: FloatArray) -> bool:
    """Whether rows, no more of them than columns, have no relation but those that few rows have.

    That is, whether the rows that differ lie in as many dimensions as they can. Their inner
    products tell in a time that grows with the square of the rows, not of the columns.
    """
    if len(X) > X.shape[1] or np.isnan(X).any():
        return False
    rows = np.unique(X, axis=0)
    spread = rows.std(axis=0)
    rows = (rows - rows.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    values = linalg.eigvalsh(rows @ rows.T / len(rows))
    return bool((values[1:] > SINGULAR).all())
