"""Columns of which some follow exactly from others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray
from edgewise.estimators.base.statistics import Statistics, labels
from edgewise.io.messages import quote_names
from edgewise.stats import correlation_from_covariance

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
