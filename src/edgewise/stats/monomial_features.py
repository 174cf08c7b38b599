"""Features of pairs: what all have, and products of powers of two variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.blas import dsyrk

from edgewise._core.jit import kernel
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


@kernel
def add_values(
    powers: FloatArray,
    pairs: IntArray,
    left: IntArray,
    right: IntArray,
    diagonal_size: int,
    coef: FloatArray,
    out: FloatArray,
) -> None:
    """Add sum_g sum_m coef[g, m] x_v^a_m x_u^b_m of every row to ``out``."""
    d, n = powers.shape[1], powers.shape[2]
    for g in range(len(pairs)):
        v, u = pairs[g] // d, pairs[g] % d
        size = diagonal_size if v == u else len(left)
        for m in range(size):
            c = coef[g, m]
            if c != 0.0:
                first, second = powers[left[m], v], powers[right[m], u]
                for i in range(n):
                    out[i] += c * first[i] * second[i]


@kernel
def some_moments(
    powers: FloatArray,
    pairs: IntArray,
    left: IntArray,
    right: IntArray,
    diagonal_size: int,
    weights: FloatArray,
    out: FloatArray,
) -> None:
    """Put sum_i weights[i] x_iv^a_m x_iu^b_m of some pairs into ``out[g, m]``."""
    d, n = powers.shape[1], powers.shape[2]
    for g in range(len(pairs)):
        v, u = pairs[g] // d, pairs[g] % d
        size = diagonal_size if v == u else len(left)
        for m in range(len(left)):
            total = 0.0
            if m < size:
                first, second = powers[left[m], v], powers[right[m], u]
                for i in range(n):
                    total += weights[i] * first[i] * second[i]
            out[g, m] = total


@kernel
def some_columns(
    powers: FloatArray,
    pairs: IntArray,
    left: IntArray,
    right: IntArray,
    diagonal_size: int,
    scale: FloatArray,
    out: FloatArray,
) -> None:
    """Put scale[i] x_iv^a_m x_iu^b_m of some pairs into ``out[g, m, i]``."""
    d, n = powers.shape[1], powers.shape[2]
    for g in range(len(pairs)):
        v, u = pairs[g] // d, pairs[g] % d
        size = diagonal_size if v == u else len(left)
        for m in range(len(left)):
            if m < size:
                first, second = powers[left[m], v], powers[right[m], u]
                for i in range(n):
                    out[g, m, i] = scale[i] * first[i] * second[i]
            else:
                for i in range(n):
                    out[g, m, i] = 0.0


@kernel
def _longer(found: IntArray) -> IntArray:
    """Room for twice as many numbers."""
    longer = np.empty(2 * len(found), dtype=np.int64)
    for k in range(len(found)):
        longer[k] = found[k]
    return longer


@kernel
def products_above(
    target: FloatArray,
    moments: FloatArray,
    threshold: float,
    diagonal_threshold: float,
) -> IntArray:
    """Pairs v <= u with |target - moments| above a threshold, in order."""
    d = len(target)
    found, count = np.empty(1024, dtype=np.int64), 0
    for v in range(d):
        for u in range(v, d):
            limit = diagonal_threshold if v == u else threshold
            if abs(target[v, u] - moments[v, u]) > limit:
                if count == len(found):
                    found = _longer(found)
                found[count] = v * d + u
                count += 1
    return found[:count].copy()


@kernel
def monomials_above(
    cross: FloatArray,
    cross_moments: FloatArray,
    is_mixed: IntArray,
    single: FloatArray,
    threshold: float,
    diagonal_threshold: float,
) -> IntArray:
    """Pairs v <= u whose vector of differences is longer than a threshold, in order.

    ``single`` holds the squared length of what depends on one variable, which is a part of each
    of its pairs. A layer of ``cross`` with two different powers serves (v, u) and (u, v).
    """
    d = cross.shape[1]
    found, count = np.empty(1024, dtype=np.int64), 0
    for v in range(d):
        for u in range(v, d):
            if v == u:
                square, limit = single[v], diagonal_threshold
            else:
                square, limit = single[v] + single[u], threshold
                for t in range(len(cross)):
                    square += (cross[t, v, u] - cross_moments[t, v, u]) ** 2
                    if is_mixed[t]:
                        square += (cross[t, u, v] - cross_moments[t, u, v]) ** 2
            if square > limit * limit:
                if count == len(found):
                    found = _longer(found)
                found[count] = v * d + u
                count += 1
    return found[:count].copy()


#: Share of d^2 pairs up to which they are quicker one by one than by a product of matrices.
FEW = 0.06


@dataclass(frozen=True)
class ProductMoments(PairMoments):
    """Means of x_v x_u, on and above the diagonal of ``values``."""

    values: FloatArray

    def above(self, other: Any, threshold: float, diagonal_threshold: float) -> IntArray:
        """Pairs whose means differ by more than a threshold, in order."""
        pairs: IntArray = products_above(self.values, other.values, threshold, diagonal_threshold)
        return pairs

    def at(self, pairs: IntArray) -> FloatArray:
        """Means of some pairs."""
        return self.values.ravel()[pairs][:, None]

    def subset(self, variables: IntArray) -> ProductMoments:
        """Means of the pairs among some of the variables, which are in order."""
        return ProductMoments(np.ascontiguousarray(self.values[np.ix_(variables, variables)]))


@dataclass(frozen=True)
class MonomialMoments(PairMoments):
    """Means of x_v^a x_u^b with a <= b, one layer of ``cross`` each, and of powers ``single``."""

    cross: FloatArray
    single: FloatArray
    layers: IntArray

    def above(self, other: Any, threshold: float, diagonal_threshold: float) -> IntArray:
        """Pairs whose means differ by more than a threshold, in order."""
        is_mixed = (self.layers[:, 0] != self.layers[:, 1]).astype(np.int64)
        square = np.sum((self.single - other.single) ** 2, axis=0)
        pairs: IntArray = monomials_above(
            self.cross, other.cross, is_mixed, square, threshold, diagonal_threshold
        )
        return pairs

    def at(self, pairs: IntArray) -> FloatArray:
        """Means of some pairs."""
        degree, d = self.single.shape
        first, second = pairs // d, pairs % d
        parts = [self.single[:, first].T, self.single[:, second].T]
        for t, (a, b) in enumerate(self.layers):
            parts.append(self.cross[t, first, second][:, None])
            if a != b:
                parts.append(self.cross[t, second, first][:, None])
        out = np.hstack(parts)
        out[first == second, degree:] = 0.0
        return out

    def subset(self, variables: IntArray) -> MonomialMoments:
        """Means of the pairs among some of the variables, which are in order."""
        cross = np.ascontiguousarray(self.cross[:, variables[:, None], variables])
        return MonomialMoments(cross, self.single[:, variables], self.layers)


class MonomialFeatures(PairFeatures):
    """Products of powers of two variables.

    Parameters
    ----------
    powers : ndarray of shape (k + 1, d, n)
        Powers 0 to k of every variable.
    left, right : ndarray of int, shape (size,)
        Powers of the first and of the second variable in each feature.
    diagonal_size : int
        How many of the features, from the first, a variable with itself has.
    """

    def __init__(
        self, powers: FloatArray, left: IntArray, right: IntArray, diagonal_size: int
    ) -> None:
        self.powers = powers
        self.left = left
        self.right = right
        self.diagonal_size = diagonal_size
        self.n_variables, self.n_samples = powers.shape[1:]
        self.size = len(left)

    def moments_at(self, weights: FloatArray, pairs: IntArray) -> FloatArray:
        """Sum over the rows of the features of some pairs."""
        out = np.empty((len(pairs), self.size))
        some_moments(self.powers, pairs, self.left, self.right, self.diagonal_size, weights, out)
        return out

    def values(self, pairs: IntArray, coef: FloatArray) -> FloatArray:
        """Sum over some pairs, of each row."""
        out = np.zeros(self.n_samples)
        add_values(self.powers, pairs, self.left, self.right, self.diagonal_size, coef, out)
        return out

    def columns(self, pairs: IntArray, scale: FloatArray) -> FloatArray:
        """Features of some pairs."""
        out = np.empty((len(pairs), self.size, self.n_samples))
        some_columns(self.powers, pairs, self.left, self.right, self.diagonal_size, scale, out)
        return out

    def subset(self, variables: IntArray) -> MonomialFeatures:
        """Features of the pairs among some of the variables, which are in order."""
        powers = np.ascontiguousarray(self.powers[:, variables])
        return type(self)(powers, self.left, self.right, self.diagonal_size)

    def moments(self, weights: FloatArray) -> PairMoments:
        """Sum over the rows, one matrix product for each pair of powers."""
        layers = power_layers(len(self.powers) - 1)
        d = self.n_variables
        cross = np.empty((len(layers), d, d))
        for t, (a, b) in enumerate(layers):
            np.matmul(self.powers[a] * weights, self.powers[b].T, out=cross[t])
        single = self.powers[1:] @ weights
        return MonomialMoments(cross, single, np.array(layers, dtype=np.int64).reshape(-1, 2))

    @cached_property
    def row_lengths(self) -> FloatArray:
        """Length of the features of each row over all pairs, both ways round."""
        squares = np.einsum("adn,adn->an", self.powers, self.powers)
        return np.asarray(np.sqrt(np.sum(squares[self.left] * squares[self.right], axis=0)))

    def _swapped(self) -> IntArray:
        exponents = list(zip(self.left.tolist(), self.right.tolist(), strict=True))
        return np.array([exponents.index((b, a)) for a, b in exponents], dtype=np.int64)


class ProductFeatures(MonomialFeatures):
    """Products of two variables: one feature for each pair."""

    def moments(self, weights: FloatArray) -> PairMoments:
        """Sum over the rows, by one symmetric product of half the cost of a general one."""
        rows = self.powers[1] * np.sqrt(weights)
        # BLAS fills the lower triangle in column order, which is the upper one in row order.
        values = dsyrk(1.0, rows.T, trans=1, lower=1).T
        if not self.diagonal_size:
            np.fill_diagonal(values, 0.0)
        return ProductMoments(values)

    def values(self, pairs: IntArray, coef: FloatArray) -> FloatArray:
        """Sum over some pairs, of each row: by one matrix product if they are many."""
        d = self.n_variables
        if len(pairs) < FEW * d**2:
            return super().values(pairs, coef)
        flat = np.zeros(d * d)
        flat[pairs] = coef[:, 0]
        matrix = flat.reshape(d, d)
        if not self.diagonal_size:
            np.fill_diagonal(matrix, 0.0)
        X = self.powers[1]
        return np.asarray(np.einsum("vi,vi->i", matrix @ X, X))

    def all_products(self) -> FloatArray | None:
        """Sum over v <= u of x_iv x_iu x_jv x_ju, from products of the rows themselves."""
        X = self.powers[1]
        rows, squares = (X.T @ X) ** 2, (X**2).T @ (X**2)
        return np.asarray(0.5 * (rows + (1.0 if self.diagonal_size else -1.0) * squares))


def power_layers(degree: int) -> list[tuple[int, int]]:
    """Powers a <= b of two variables with a sum of at most the degree.

    Examples
    --------
    >>> power_layers(3)
    [(1, 1), (1, 2)]
    """
    return [(a, b) for a in range(1, degree) for b in range(a, degree - a + 1)]


def exponents_of(degree: int) -> tuple[IntArray, IntArray]:
    """Powers of the two variables in each feature of the polynomial basis.

    Parameters
    ----------
    degree : int
        Largest sum of the two powers.

    Returns
    -------
    left, right : ndarray of int
        First the powers of the first variable alone, then of the second alone, then products.

    Examples
    --------
    >>> exponents_of(2)
    (array([1, 2, 0, 0, 1]), array([0, 0, 1, 2, 1]))
    """
    alone = list(range(1, degree + 1))
    left, right = alone + [0] * degree, [0] * degree + alone
    for a, b in power_layers(degree):
        left, right = [*left, a], [*right, b]
        if a != b:
            left, right = [*left, b], [*right, a]
    return np.array(left), np.array(right)
