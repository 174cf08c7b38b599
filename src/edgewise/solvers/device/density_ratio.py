"""The dual of the density-ratio problem with matrices of all pairs, on any device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve

from edgewise._core.arrays import array_namespace, like, to_numpy
from edgewise._core.typing import FloatArray
from edgewise.solvers.change.ratio_newton import TINY, DualWeights, NewtonResult, cholesky
from edgewise.solvers.change.ratio_problem import (
    divergence_rounding,
    log_softmax,
    slack_rounding,
)
from edgewise.solvers.linalg.dense import set_diagonal
from edgewise.stats.monomial_features import exponents_of, power_layers

#: Entries of features that a device computes at a time: it has no small cache, and many cores.
DEVICE_CHUNK = 2**27
#: Rows of a part of a long product on a device, and columns from which on it needs no parts.
SLAB, NARROW = 8192, 1024


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseDual:
    """The same with matrices of all pairs in place of lists, on any device.

    Matrices of pairs live on the device of the features, everything that has an entry per row in
    numpy. Slacks and penalties are kept in units of the ridge: shrunken slacks are coefficients.

    Attributes
    ----------
    features : ProductPairs or MonomialPairs
        Of the rows of the denominator.
    target
        Mean features of the numerator over the ridge, as `moments` of the features has them.
    offset : ndarray of shape (n,)
    ridge, alpha : float
    penalize_diagonal : bool
    """

    features: ProductPairs | MonomialPairs
    target: Any
    offset: FloatArray
    ridge: float
    alpha: float
    penalize_diagonal: bool

    @property
    def own(self) -> float:
        """Penalty of the diagonal, infinite where a variable has no feature of its own."""
        if not self.features.n_own:
            return np.inf
        return self.alpha if self.penalize_diagonal else 0.0

    def at(self, log_weights: FloatArray) -> DualWeights:
        """Coefficients and objective at some weights, which are normalised first."""
        log_weights = log_softmax(log_weights)
        weights = np.exp(log_weights)
        slack = self.features.slack(self.target, weights / self.ridge)
        theta = self.features.shrink(slack, self.alpha / self.ridge, self.own / self.ridge)
        value = float(weights @ (log_weights - self.offset)) + 0.5 * self.ridge * theta.squares
        return DualWeights(log_weights=log_weights, moments=None, theta=theta, value=value)

    def log_ratio(self, theta: DenseCoefficients) -> FloatArray:
        """Logarithm of the ratio of each row, not normalised."""
        return self.features.values(theta) + self.offset

    def objective(self, result: NewtonResult) -> float:
        """Value of the problem itself: that of the dual and the gap, without another look."""
        return result.gap - result.point.value - float(np.log(self.features.n_samples))

    def rounding(self, result: NewtonResult) -> float:
        """Bound what rounding hides of a gap."""
        theta, log_weights = result.point.theta, result.point.log_weights
        n_terms = self.features.size * sum(self.features.counts(theta))
        fitted = log_softmax(result.log_ratio)
        lengths = (n_terms, float(np.sqrt(theta.squares)))
        hidden = divergence_rounding(self.features, *lengths, self.offset, log_weights, fitted)
        return hidden + slack_rounding(self.features, log_weights, 0.0, self.ridge)

    def system(self, theta: DenseCoefficients, root: FloatArray) -> _DenseSystem:
        """Matrix of a Newton step at some coefficients and roots of the weights."""
        return _DenseSystem(self.features.gram(theta) * np.outer(root, root) / self.ridge)


@dataclass(frozen=True, eq=False)
class _DenseSystem:
    """The matrix ``s J s`` of a device, brought to the host: it is as large as rows are many."""

    gram: FloatArray

    def solve(self, right: FloatArray, direct: int) -> tuple[FloatArray, FloatArray]:
        """Solve for the rows of ``right``; return the solutions z and ``s J s z``."""
        found = cho_solve(cholesky(self.gram), right.T, check_finite=False).T
        return found, right - found


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseCoefficients:
    """Coefficients of all pairs, in parts that the features know, and the sum of their squares."""

    parts: Any
    squares: float


class ProductPairs:
    """Products of two columns, for all pairs: coefficients are a matrix.

    It is symmetric up to rounding, and made so by `full`, once per solution. The inner products
    of the rows in the features of the active pairs are kept, and brought up to date by those of
    the pairs that changed.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows, of any array library.
    has_own : bool
        Whether a variable with itself has a feature.
    """

    size = 1
    left = right = np.ones(1, dtype=np.int64)
    #: Matrices of all pairs that a solve holds at the same time, at most.
    n_matrices = 8

    def __init__(self, X: Any, *, has_own: bool = True) -> None:
        self.X, self.powers, self.squares, self.n_own = X, [X], X * X, int(has_own)
        self.n_samples, self.n_variables = (int(size) for size in X.shape)
        self.columns = _rows_of_columns(X)
        self._before: tuple[Any, Any] | None = None

    @cached_property
    def row_lengths(self) -> FloatArray:
        """Length of the products of each row."""
        xp = array_namespace(self.X)
        total, own = xp.sum(self.squares, axis=1) ** 2, xp.sum(self.squares**2, axis=1)
        return np.asarray(np.sqrt(to_numpy(0.5 * (total + own if self.n_own else total - own))))

    def moments(self, weights: FloatArray, sign: float = 1.0) -> Any:
        """Sum over the rows of all products, with weights of at least 0."""
        rows = self.X * like(np.sqrt(weights), self.X)[:, None]
        return rows.T @ (sign * rows)

    def slack(self, target: Any, weights: FloatArray) -> Any:
        """Target less moments."""
        slack = self.moments(weights, -1.0)
        slack += target
        return slack

    def shrink(self, slack: Any, alpha: float, own: float) -> DenseCoefficients:
        """Shorten slacks by their penalties, in place."""
        xp = array_namespace(slack)
        diagonal = xp.linalg.diagonal(slack)
        diagonal = diagonal - xp.clip(diagonal, -own, own)
        slack -= xp.clip(slack, -alpha, alpha)
        if own != alpha:
            slack = set_diagonal(slack, diagonal)
        length = xp.linalg.vector_norm(slack)
        squares = 0.5 * float(length * length + xp.sum(diagonal * diagonal))
        return DenseCoefficients(parts=slack, squares=squares)

    def largest(self, slack: Any, *, diagonal: bool) -> float:
        """Length of the longest slack, in the diagonal too or outside only."""
        xp = array_namespace(slack)
        return float(xp.max(xp.abs(slack if diagonal else set_diagonal(slack, 0.0))))

    def values(self, theta: DenseCoefficients) -> FloatArray:
        """Sum over the pairs of their products times coefficients, of each row."""
        xp = array_namespace(self.X)
        own = self.squares @ xp.linalg.diagonal(theta.parts)
        total = xp.sum((self.X @ theta.parts) * self.X, axis=1)
        return np.asarray(to_numpy(0.5 * (total + own)))

    def counts(self, theta: DenseCoefficients) -> tuple[int, int]:
        """Count the pairs of two variables, and the variables alone, that are not 0."""
        is_active = theta.parts != 0.0
        n_own = _count(array_namespace(is_active).linalg.diagonal(is_active))
        return (_count(is_active) - n_own + 1) // 2, n_own

    def full(self, theta: DenseCoefficients) -> Any:
        """Coefficients of shape (d, d, 1)."""
        value = theta.parts + theta.parts.T
        value *= 0.5
        return value[:, :, None]

    def gram(self, theta: DenseCoefficients) -> FloatArray:
        """Inner products of the rows in the features of the active pairs."""
        xp = array_namespace(self.X)
        is_active = xp.triu(theta.parts != 0.0, k=1)
        n_active = _count(is_active)
        n_left = self.n_variables * (self.n_variables - 1) // 2 - n_active
        was_active, total = (None, None) if self._before is None else self._before
        has_changed = None if was_active is None else is_active != was_active
        if has_changed is not None and _count(has_changed) < min(n_active, n_left):
            total = total + self._products(has_changed & is_active)
            total -= self._products(has_changed & was_active)
        elif n_left < n_active:
            # All products of two columns, less those of the pairs that are not active.
            is_left = xp.triu(theta.parts == 0.0, k=1)
            total = self._all_products - self._products(is_left)
        else:
            total = self._products(is_active)
        self._before = is_active, total
        own = xp.astype(xp.linalg.diagonal(theta.parts) != 0.0, self.X.dtype)
        return np.asarray(to_numpy(total + (self.squares * own) @ self.squares.T))

    @cached_property
    def _all_products(self) -> Any:
        inner = self.X @ self.X.T
        return 0.5 * (inner * inner - self.squares @ self.squares.T)

    def _products(self, is_chosen: Any) -> Any:
        """Sum over some pairs of the outer product of their products."""
        xp, n = array_namespace(is_chosen), self.n_samples
        first, second = xp.nonzero(is_chosen)
        total = xp.zeros((n, n), dtype=self.X.dtype, device=self.X.device)
        for part in _chunks(first.shape[0], n):
            rows = xp.take(self.columns, first[part], axis=0)
            rows *= xp.take(self.columns, second[part], axis=0)
            total += _outer(rows)
        return total


class MonomialParts(NamedTuple):
    """Moments or slacks of x_v^a x_u^b, a matrix each, and of single powers, of shape (k, d).

    With the share of them that is left for each pair, and for a variable with itself.
    """

    cross: list[Any]
    single: Any
    share: Any = None
    own: Any = None


class MonomialPairs:
    r"""Products of powers of two columns, for all pairs: vectors that are shortened together.

    The slacks of powers of one variable are part of the vectors of all its pairs, so that a matrix
    for each two powers, a vector for each single one and the share :math:`1 - l / |z|` of each
    pair are all there is to keep.

    Parameters
    ----------
    powers : list of arrays of shape (n, d)
        Powers 1 to k of the columns, of any array library.
    """

    def __init__(self, powers: list[Any]) -> None:
        self.powers, self.n_own = powers, len(powers)
        self.n_samples, self.n_variables = (int(size) for size in powers[0].shape)
        self.layers = power_layers(len(powers))
        self.left, self.right = exponents_of(len(powers))
        self.size = len(self.left)
        self.columns = [_rows_of_columns(power) for power in powers]
        # Slacks twice and their target, lengths and what they are made of, and two results.
        self.n_matrices = 3 * len(self.layers) + 6 + 2 * self.size

    @cached_property
    def row_lengths(self) -> FloatArray:
        """Length of the features of each row over all pairs, both ways round."""
        xp = array_namespace(self.powers[0])
        squares = [np.full(self.n_samples, float(self.n_variables))]
        squares += [to_numpy(xp.sum(power * power, axis=1)) for power in self.powers]
        total = sum(squares[a] * squares[b] for a, b in zip(self.left, self.right, strict=True))
        return np.asarray(np.sqrt(total))

    def moments(self, weights: FloatArray) -> MonomialParts:
        """Sum over the rows of all features."""
        xp, column = array_namespace(self.powers[0]), like(weights, self.powers[0])[:, None]
        weighted = [power * column for power in self.powers]
        cross = [weighted[a - 1].T @ self.powers[b - 1] for a, b in self.layers]
        return MonomialParts(cross, xp.stack([xp.sum(one, axis=0) for one in weighted]))

    def slack(self, target: MonomialParts, weights: FloatArray) -> MonomialParts:
        """Target less moments."""
        cross, single, *_ = self.moments(-weights)
        for one, goal in zip(cross, target.cross, strict=True):
            one += goal
        return MonomialParts(cross, single + target.single)

    def _squares(self, slack: MonomialParts) -> tuple[Any, Any]:
        """Squared length of the slacks of each pair, of two variables and of one; never 0."""
        xp = array_namespace(slack.single)
        own = xp.sum(slack.single * slack.single, axis=0) + TINY
        squares = own[:, None] + own[None, :]
        for (a, b), one in zip(self.layers, slack.cross, strict=True):
            square = one * one
            squares += square
            if a != b:
                squares += square.T
        return squares, own

    def shrink(self, slack: MonomialParts, alpha: float, own: float) -> DenseCoefficients:
        """Shorten slacks by their penalties."""
        xp = array_namespace(slack.single)
        both, alone = (xp.sqrt(squares) for squares in self._squares(slack))
        length = set_diagonal(xp.clip(both - alpha, 0.0), 0.0)
        own_length = xp.clip(alone - own, 0.0)
        norm = xp.linalg.vector_norm(length)
        squares = 0.5 * norm * norm + xp.sum(own_length * own_length)
        length /= both
        parts = slack._replace(share=length, own=own_length / alone)
        return DenseCoefficients(parts=parts, squares=float(squares))

    def largest(self, slack: MonomialParts, *, diagonal: bool) -> float:
        """Length of the longest slack, in the diagonal too or outside only."""
        xp = array_namespace(slack.single)
        squares, own = self._squares(slack)
        return math.sqrt(float(xp.max(set_diagonal(squares, own if diagonal else 0.0))))

    def values(self, theta: DenseCoefficients) -> FloatArray:
        """Sum over the pairs of their features times coefficients, of each row."""
        cross, single, share, own = theta.parts
        xp = array_namespace(share)
        reach = xp.sum(share, axis=1) + own
        total = 0.0
        for power, slack in zip(self.powers, xp.unstack(single), strict=True):
            total = total + power @ (reach * slack)
        for (a, b), one in zip(self.layers, cross, strict=True):
            values = xp.sum((self.powers[a - 1] @ (share * one)) * self.powers[b - 1], axis=1)
            # Each pair of the same powers is met twice.
            total = total + (values if a != b else 0.5 * values)
        return np.asarray(to_numpy(total))

    def counts(self, theta: DenseCoefficients) -> tuple[int, int]:
        """Count the pairs of two variables, and the variables alone, that are not 0."""
        return (_count(theta.parts.share > 0.0) + 1) // 2, _count(theta.parts.own > 0.0)

    def full(self, theta: DenseCoefficients) -> Any:
        """Coefficients of shape (d, d, b), in the order of `exponents_of`."""
        cross, single, share, own = theta.parts
        xp = array_namespace(share)
        share = 0.5 * (share + share.T)
        with_own = set_diagonal(share + 0.0, own)
        slacks = [(with_own, slack[:, None]) for slack in xp.unstack(single)]
        slacks += [(share, slack[None, :]) for slack in xp.unstack(single)]
        for (a, b), one in zip(self.layers, cross, strict=True):
            slacks += [(share, one), (share, one.T)] if a != b else [(share, 0.5 * (one + one.T))]
        value = xp.empty((*share.shape, self.size), dtype=share.dtype, device=share.device)
        for m, (part, slack) in enumerate(slacks):
            value[:, :, m] = part * slack + 0.0  # No zeros with a sign.
        return value

    def gram(self, theta: DenseCoefficients) -> FloatArray:
        """``q H M H'``: inner products of the rows, with the M of `_System` between them.

        With w the share and u the direction of a pair, ``q M = w I + (1 - w) u u'``. The first
        part of what depends on one variable is summed over its pairs beforehand.
        """
        _, single, share, own = theta.parts
        xp = array_namespace(share)
        reach = xp.sum(share, axis=1) + own
        squares = xp.sum(single * single, axis=0) + TINY
        slacks = zip(self.columns, xp.unstack(single), strict=True)
        along: Any = sum(rows * slack[:, None] for rows, slack in slacks)
        total: Any = sum(rows.T @ (rows * reach[:, None]) for rows in self.columns)
        rest = xp.where(own > 0.0, 1.0 - own, 0.0) / squares
        total += along.T @ (along * rest[:, None])
        first, second = xp.nonzero(xp.triu(share > 0.0, k=1))
        for part in _chunks(first.shape[0], 4 * self.n_samples):
            for rows in self._bent(theta.parts, along, squares, first[part], second[part]):
                total += _outer(rows)
        return np.asarray(to_numpy(total))

    def _bent(
        self, parts: MonomialParts, along: Any, squares: Any, first: Any, second: Any
    ) -> Iterator[Any]:
        """Features of some pairs of two variables times the root of w, and those along u.

        ``along`` and ``squares`` are what single powers add to the latter and to their length.
        """
        xp = array_namespace(first)
        there, back = first * self.n_variables + second, second * self.n_variables + first
        share = xp.take(xp.reshape(parts.share, (-1,)), there)
        sides = [(xp.take(along, one, axis=0), xp.take(squares, one)) for one in (first, second)]
        total, length = (mine + other for mine, other in zip(*sides, strict=True))
        for (a, b), layer in zip(self.layers, parts.cross, strict=True):
            flat = xp.reshape(layer, (-1,))
            for power, other, place in ((a, b, there), (b, a, back))[: 1 + (a != b)]:
                rows, slack = xp.take(self.columns[power - 1], first, axis=0), xp.take(flat, place)
                rows *= xp.take(self.columns[other - 1], second, axis=0)
                total += rows * slack[:, None]
                length += slack * slack
                rows *= xp.sqrt(share)[:, None]
                yield rows
        total *= xp.sqrt((1.0 - share) / length)[:, None]
        yield total


def _rows_of_columns(X: Any) -> Any:
    """Return the transpose, one column after the other in memory."""
    xp = array_namespace(X)
    return xp.reshape(xp.reshape(X.T, (-1,)), (X.shape[1], X.shape[0]))


def _count(is_chosen: Any) -> int:
    """Count the entries that are True."""
    xp = array_namespace(is_chosen)
    return int(xp.sum(xp.astype(is_chosen, xp.uint8), dtype=xp.int64))


def _chunks(n_pairs: int, n_entries: int) -> Iterator[slice]:
    """Parts of a list of pairs, with so many entries of features each."""
    chunk = max(1, DEVICE_CHUNK // n_entries)
    for start in range(0, n_pairs, chunk):
        yield slice(start, min(start + chunk, n_pairs))


def _outer(rows: Any) -> Any:
    """``rows' rows``, in parts: a device would be idle with few entries of long sums."""
    xp, (m, n) = array_namespace(rows), rows.shape
    whole = m // SLAB * SLAB if n <= NARROW else 0
    total = rows[whole:, :].T @ rows[whole:, :]
    if whole:
        slabs = xp.reshape(rows[:whole, :], (-1, SLAB, n))
        total += xp.sum(xp.matmul(xp.permute_dims(slabs, (0, 2, 1)), slabs), axis=0)
    return total
