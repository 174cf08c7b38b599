"""Columns that do not vary: finding, refusing, or carrying them along with a ridge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NoReturn

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray
from edgewise.data.checks import ROUNDING
from edgewise.estimators.base.statistics import Statistics, labels
from edgewise.io.messages import quote_names
from edgewise.stats import correlation_from_covariance

#: What is added to every variance for the sake of constant columns, as a share of their mean.
RIDGE: Final = 1e-3


def constant_columns(X: FloatArray, *, assume_centered: bool = False) -> list[int]:
    """Find columns that vary by nothing but rounding, among the values that are there.

    A single row is no reason to call its columns constant. Where the mean is taken as 0, only
    columns of zeros have no variance.
    """
    if len(X) < 2:
        return []
    flat = []
    for k, column in enumerate(X.T):
        seen = column[~np.isnan(column)]
        if len(seen):
            size = float(np.abs(seen).max())
            deviation = size if assume_centered else float(seen.std())
            if deviation <= ROUNDING * size:
                flat.append(k)
    return flat


def refuse_constant(flat: Sequence[int], n_columns: int, names: Sequence[str] | None) -> NoReturn:
    """Name the constant columns and say what can be done about them."""
    if len(flat) == n_columns:
        which = "The only column has" if n_columns == 1 else f"All {n_columns} columns have"
        raise InputError(f"{which} one value in every row, so that there is nothing to learn.")
    verb, them = ("has", "it") if len(flat) == 1 else ("have", "them")
    raise InputError(
        f"{len(flat)} of {n_columns} columns {verb} one value in every row: "
        f'{quote_names(labels(names, flat))}. Pass constant="drop" to leave {them} out, or '
        f'constant="ridge" to add {RIDGE:g} of the mean variance to every variance.'
    )


def add_ridge(statistics: Statistics, X: FloatArray, flat: Sequence[int]) -> Statistics:
    """Extend the statistics of the varying columns of X to all of them, on record."""
    n_columns = X.shape[1]
    varying = np.setdiff1d(np.arange(n_columns), flat)
    ridge = RIDGE * float(np.mean(statistics.S.diagonal()))
    S = ridge * np.eye(n_columns)
    S[np.ix_(varying, varying)] += statistics.S
    location = np.empty(n_columns)
    location[varying] = statistics.location
    location[flat] = np.nanmean(X[:, flat], axis=0)
    sentence = (
        f'constant="ridge": {ridge:.3g} added to every variance because of {len(flat)} constant '
        f"{'column' if len(flat) == 1 else 'columns'}"
    )
    return replace(
        statistics,
        location=location,
        S=S,
        scale=np.ones(n_columns),
        treatment=(*statistics.treatment, sentence),
    )


#: A smaller eigenvalue of the correlations is 0 up to rounding.
SINGULAR = 1e-10
#: A variable with a smaller share in a relation has no part in it.
NEGLIGIBLE = 1e-5


def refuse_relations(statistics: Statistics, X: FloatArray, names: Sequence[str] | None) -> None:
    """Raise an `InputError` that names columns bound by an exact linear relation.

    With no more different rows than columns there are always such relations, and only those
    between two columns are looked for.
    """
    relations = find_relations(correlation_from_covariance(statistics.S))
    if not relations:
        return
    n_different = len(np.unique(X, axis=0))
    if len(statistics.S) - len(relations) < n_different - 1:
        bound = min(relations, key=len)
    else:
        bound = list(statistics.perfect_pair() or ())
    if bound:
        raise InputError(
            f"Columns {quote_names(labels(names, bound))} are bound by an exact linear relation: "
            "each follows from the others, so that no direction between them can be learned. Drop "
            'one of them, or pass repair="ridge".'
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
