"""Features of pairs that a function of the user's computes, all of them kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays, require_memory
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.stats._pair_base import PairFeatures, PairMoments

#: A function of two columns that returns one or several features, of shape (n,) or (n, b).
PairFunction: TypeAlias = Callable[[FloatArray, FloatArray], Any]


@dataclass(frozen=True)
class ListedMoments(PairMoments):
    """Means of the features of a list of pairs, of shape (n_pairs, b)."""

    values: FloatArray
    pairs: IntArray
    is_diagonal: BoolArray

    def above(self, other: Any, threshold: float, diagonal_threshold: float) -> IntArray:
        """Pairs whose means differ by more than a threshold, in order."""
        square = np.sum((self.values - other.values) ** 2, axis=1)
        limit = np.where(self.is_diagonal, diagonal_threshold, threshold)
        return np.asarray(self.pairs[square > limit**2])

    def at(self, pairs: IntArray) -> FloatArray:
        """Means of some pairs."""
        return self.values[np.searchsorted(self.pairs, pairs)]

    def subset(self, variables: IntArray) -> ListedMoments:
        """Means of the pairs among some of the variables, which are in order."""
        d = int(np.sqrt(2 * len(self.pairs)))
        first, second = np.triu_indices(len(variables))
        places = np.searchsorted(self.pairs, variables[first] * d + variables[second])
        pairs = first * len(variables) + second
        return ListedMoments(self.values[places], pairs, self.is_diagonal[places])


class ListedFeatures(PairFeatures):
    """Features that a function computes of every pair, all of them in memory.

    Parameters
    ----------
    table : ndarray of shape (d (d + 1) / 2, b, n)
        Features of the pairs (v, u), v <= u, in order.
    n_variables : int
    """

    def __init__(self, table: FloatArray, n_variables: int) -> None:
        self.table = table
        self.n_variables = n_variables
        _, self.size, self.n_samples = table.shape
        first, second = np.triu_indices(n_variables)
        self.pairs = first * n_variables + second
        self.is_diagonal = first == second

    def moments(self, weights: FloatArray) -> PairMoments:
        """Sum over the rows of the features of all pairs."""
        return ListedMoments(self.table @ weights, self.pairs, self.is_diagonal)

    def moments_at(self, weights: FloatArray, pairs: IntArray) -> FloatArray:
        """Sum over the rows of the features of some pairs."""
        out: FloatArray = self.table[self._places(pairs)] @ weights
        return out

    def values(self, pairs: IntArray, coef: FloatArray) -> FloatArray:
        """Sum over some pairs, of each row."""
        out: FloatArray = np.tensordot(coef, self.table[self._places(pairs)], axes=2)
        return out

    def columns(self, pairs: IntArray, scale: FloatArray) -> FloatArray:
        """Features of some pairs."""
        return self.table[self._places(pairs)] * scale

    def subset(self, variables: IntArray) -> ListedFeatures:
        """Features of the pairs among some of the variables, which are in order."""
        first, second = np.triu_indices(len(variables))
        places = self._places(variables[first] * self.n_variables + variables[second])
        return ListedFeatures(self.table[places], len(variables))

    @cached_property
    def row_lengths(self) -> FloatArray:
        """Length of all the features of each row."""
        return np.asarray(np.sqrt(np.einsum("gbn,gbn->n", self.table, self.table)))

    def _places(self, pairs: IntArray) -> IntArray:
        return np.searchsorted(self.pairs, pairs)


def listed_features(X: FloatArray, function: PairFunction) -> ListedFeatures:
    """Call the function for every pair of columns, the first one not after the second."""
    n, d = X.shape
    rows: list[FloatArray] = []
    for v, u in zip(*np.triu_indices(d), strict=True):
        found = np.asarray(function(X[:, v], X[:, u]), dtype=np.float64)
        if found.ndim == 1:
            found = found[:, None]
        if found.ndim != 2 or len(found) != n or (rows and found.shape[1] != len(rows[0])):
            raise InputError(
                f"The basis function returned an array of shape {found.shape} for columns {v} and "
                f"{u}; one row for each of the {n} rows is needed, and the same number of "
                "features for all pairs."
            )
        if not np.isfinite(found).all():
            raise InputError(
                f"The basis function returned NaN or infinite features for columns {v} and {u}."
            )
        if not rows:
            require_memory(
                f"A basis function of {d:,} columns",
                [Arrays(2.0, (d * (d + 1) // 2, found.shape[1], n))],
                advice="Keep fewer columns or rows, or pass the name of a basis.",
            )
        rows.append(found.T)
    return ListedFeatures(np.stack(rows), d)
