"""Base classes of pairwise features and of their moments."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from edgewise._core.typing import FloatArray, IntArray


class PairMoments(ABC):
    """Weighted means of the features of all pairs."""

    @abstractmethod
    def above(self, other: Any, threshold: float, diagonal_threshold: float) -> IntArray:
        """Pairs whose means differ from those of another by more than a threshold, in order."""

    @abstractmethod
    def at(self, pairs: IntArray) -> FloatArray:
        """Means of some pairs, of shape (len(pairs), b)."""

    @abstractmethod
    def subset(self, variables: IntArray) -> PairMoments:
        """Means of the pairs among some of the variables, which are in order."""

    def largest(self, other: Any, *, diagonal: bool) -> float:
        """Length of the largest difference from another, in the diagonal too or outside only."""
        pairs = self.above(other, 0.0, 0.0 if diagonal else np.inf)
        if not len(pairs):
            return 0.0
        return float(np.sqrt(np.max(np.sum((self.at(pairs) - other.at(pairs)) ** 2, axis=1))))


class PairFeatures(ABC):
    """Features of the pairs (v, u), v <= u, of d variables in n rows.

    A pair has the number ``v * d + u`` and ``size`` features.
    """

    n_samples: int
    n_variables: int
    size: int

    @abstractmethod
    def moments(self, weights: FloatArray) -> PairMoments:
        """Sum over the rows of the features of all pairs, with weights of at least 0."""

    @abstractmethod
    def moments_at(self, weights: FloatArray, pairs: IntArray) -> FloatArray:
        """Sum over the rows of the features of some pairs, with weights of any sign."""

    @abstractmethod
    def values(self, pairs: IntArray, coef: FloatArray) -> FloatArray:
        """Sum over some pairs of their features times coefficients, of each row."""

    @abstractmethod
    def columns(self, pairs: IntArray, scale: FloatArray) -> FloatArray:
        """Features of some pairs, of shape (len(pairs), size, n), times a scale of each row."""

    @abstractmethod
    def subset(self, variables: IntArray) -> PairFeatures:
        """Features of the pairs among some of the variables, which are in order."""

    @property
    @abstractmethod
    def row_lengths(self) -> FloatArray:
        """Upper bound of the length of all the features of each row, of shape (n,)."""

    def all_products(self) -> FloatArray | None:
        """Inner products of the rows in the features of all pairs, if they can be had cheaply."""
        return None

    def mean(self) -> PairMoments:
        """Mean of the features of all pairs."""
        return self.moments(np.full(self.n_samples, 1.0 / self.n_samples))

    def full(self, pairs: IntArray, coef: FloatArray) -> FloatArray:
        """Coefficients of all pairs, of shape (d, d, size), both ways round."""
        d = self.n_variables
        first, second = pairs // d, pairs % d
        out = np.zeros((d, d, self.size))
        out[second, first] = coef[:, self._swapped()]
        out[first, second] = coef
        return out

    def _swapped(self) -> IntArray:
        """For each feature of (v, u), the one of (u, v) that is the same."""
        return np.arange(self.size)
