r"""Effective sample sizes of correlations, and tests of every pair.

A correlation of :math:`n` Gaussian rows has the variance :math:`(1 - \rho^2)^2 / n`. With heavy
tails, missing values, ranks or ordered answers it is larger; the effective sample size is the
number of Gaussian rows with the same variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy import special

from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: Fourth moments up to this much larger than a Gaussian's are put down to chance.
LIGHT_TAILS: Final = 1.25
#: Pairs whose fourth moments are computed at a time.
BATCH: Final = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class PairScores:
    r"""Scores of the columns, whose correlations test every pair for independence.

    Near independence each kind of correlation is, up to a factor, the correlation of some score of
    either column: of the values, their ranks or normal scores, or, for ordered answers, the mean of
    the latent normal within each level. That correlation is the score test of the pair.

    Attributes
    ----------
    values : ndarray of shape (n, p)
        The scores, NaN where a value is missing.
    weights : ndarray of shape (n,) or None
        Weights of the rows.
    inflation : float
        Variance of an entry of the correlations in use, as a multiple of that of the correlation of
        two scores; the mean over pairs.
    counts_tails : bool
        Whether heavy tails lessen `n_effective`: not where the scores are those of a model.
    """

    values: FloatArray
    weights: FloatArray | None = None
    inflation: float = 1.0
    counts_tails: bool = True

    @cached_property
    def _weight(self) -> FloatArray:
        return np.ones(len(self.values)) if self.weights is None else self.weights

    @cached_property
    def _standardised(self) -> FloatArray:
        """Scores with mean 0 and variance 1 over what each column has, 0 where it has none."""
        is_seen = ~np.isnan(self.values)
        share = is_seen * self._weight[:, None]
        share /= np.maximum(share.sum(axis=0), 1e-300)
        filled = np.where(is_seen, self.values, 0.0)
        filled = np.where(is_seen, filled - (share * filled).sum(axis=0), 0.0)
        spread = np.sqrt((share * filled**2).sum(axis=0))
        return np.asarray(filled / np.where(spread > 0.0, spread, 1.0))

    @cached_property
    def n_pairs(self) -> FloatArray:
        """Rows that have both columns of each pair, or their weight."""
        seen = (~np.isnan(self.values)).astype(np.float64)
        if seen.all():
            return np.broadcast_to(self._weight.sum(), (seen.shape[1],) * 2)
        return np.asarray((seen * self._weight[:, None]).T @ seen)

    @cached_property
    def correlation(self) -> FloatArray:
        """Correlation of the scores of each pair over the rows that have both."""
        Z, weight = self._standardised, self._weight[:, None]
        product = (Z * weight).T @ Z
        if not np.isnan(self.values).any():
            return np.asarray(product / self._weight.sum())
        seen = (~np.isnan(self.values)).astype(np.float64)
        total = np.maximum(self.n_pairs, 1e-300)
        mean = (Z * weight).T @ seen / total
        square = (Z * Z * weight).T @ seen / total - mean * mean
        spread = np.sqrt(np.maximum(square * square.T, 0.0))
        R = (product / total - mean * mean.T) / np.where(spread > 0.0, spread, 1.0)
        return np.asarray(np.clip(R, -1.0, 1.0))

    @cached_property
    def tails(self) -> float:
        r"""Fourth moments as a multiple of those of Gaussian columns, the mean over pairs.

        The variance of the correlation of two independent columns is
        :math:`\operatorname{E} z_i^2 z_j^2 / n`.
        """
        Z, p = self._standardised, self.values.shape[1]
        if p < 2 or np.count_nonzero(self._weight) < 4:
            return 1.0
        square = Z * Z
        total = square.sum(axis=1)
        cross = float(self._weight @ (total * total - np.sum(square * square, axis=1)))
        expected = float(np.sum(self.n_pairs * (1.0 + 2.0 * self.correlation**2)))
        expected -= float(np.sum(np.diagonal(self.n_pairs) * 3.0))
        return cross / expected if expected > 0.0 else 1.0

    @property
    def n_effective(self) -> float:
        """Gaussian rows whose correlations vary as much, on average over the pairs."""
        above = np.triu_indices(self.values.shape[1], 1)
        n_pairs = float(self.n_pairs[above].mean() if above[0].size else self._weight.sum())
        n = n_pairs / self.inflation
        is_heavy = self.counts_tails and self.tails > LIGHT_TAILS
        return max(n / self.tails, min(n, 4.0)) if is_heavy else n

    def smallest_p_value(self, allowed: BoolArray | None = None) -> float:
        r"""Test whether any two columns depend, corrected for the number of pairs by Bonferroni.

        Each pair is tested by Student's t with :math:`n_{ij} / \kappa_{ij}` rows,
        :math:`\kappa_{ij}` being the variance of the correlation as a multiple of that of a
        Gaussian pair: from the rows themselves, at least its mean over all pairs, and at least 1.
        Since that is never less than the plain test has, the pairs of the largest plain
        statistics come first, until no other can have a smaller p-value.

        Parameters
        ----------
        allowed : ndarray of bool, shape (p, p), optional
            Pairs that are tested; all by default.
        """
        p = self.values.shape[1]
        least = max(self.tails, 1.0)
        size, n = np.abs(self.correlation), self.n_pairs / least
        is_even = self.n_pairs.strides == (0, 0)
        # With as many rows everywhere, the order of the p-values is that of the correlations.
        rank = size if is_even else 1.0 - student_p(size, n)
        rank[np.tri(p, dtype=bool)] = -1.0
        if allowed is not None:
            rank[~allowed] = -1.0
        smallest = 1.0
        for pairs in _largest_first(rank):
            i, j = np.unravel_index(pairs, rank.shape)
            if student_p(size[i, j], n[i, j]).min() >= smallest:
                break
            tails = np.maximum(self._tails_of(i, j) / least, 1.0)
            smallest = min(smallest, float(student_p(size[i, j], n[i, j] / tails).min()))
        return float(min(1.0, p * (p - 1) / 2 * smallest))

    def _tails_of(self, i: IntArray, j: IntArray) -> FloatArray:
        r"""Variance of the correlation of some pairs, as a multiple of that of a Gaussian pair.

        From its influence function, :math:`z_i z_j - r (z_i^2 + z_j^2) / 2`, or that at
        independence, whichever is less: near a correlation of 1, the first is all rounding. One
        standard error of that of Gaussian rows, :math:`\sqrt{8 / n}`, is put down to chance.
        """
        first, second = self.values[:, i], self.values[:, j]
        share = ~np.isnan(first + second) * self._weight[:, None]
        share = share / np.maximum(share.sum(axis=0), 1e-300)
        a, b = _standardise(first, share), _standardise(second, share)
        r = np.sum(share * a * b, axis=0)
        influence = a * b - r * (a * a + b * b) / 2.0
        sandwich = np.sum(share * influence**2, axis=0) / np.maximum(1.0 - r * r, 1e-12) ** 2
        found = np.minimum(sandwich, np.sum(share * (a * b) ** 2, axis=0))
        return np.asarray(found / (1.0 + np.sqrt(8.0 / np.maximum(self.n_pairs[i, j], 1.0))))


def _largest_first(rank: FloatArray) -> Iterator[IntArray]:
    """Yield the flat positions of the entries of at least 0 in batches, largest first."""
    flat = rank.ravel()
    total = int(np.count_nonzero(flat >= 0.0))
    done, count = 0, BATCH
    while done < total:
        count = min(max(count, BATCH), total)
        top = np.argpartition(-flat, count - 1)[:count] if count < flat.size else np.arange(count)
        top = top[np.argsort(-flat[top], kind="stable")]
        for start in range(done, count, BATCH):
            yield top[start : start + BATCH]
        done, count = count, 16 * count


def _standardise(values: FloatArray, share: FloatArray) -> FloatArray:
    filled = np.where(share > 0.0, values, 0.0)
    filled = np.where(share > 0.0, filled - np.sum(share * filled, axis=0), 0.0)
    spread = np.sqrt(np.sum(share * filled**2, axis=0))
    return np.asarray(filled / np.where(spread > 0.0, spread, 1.0))


def student_p(r: FloatArray, n: FloatArray) -> FloatArray:
    """Two-sided p-values of correlations of n rows, by Student's t; 1 with no more than two.

    Examples
    --------
    >>> student_p(np.array([0.4]), np.array([30.0])).round(4)
    array([0.0285])
    """
    degrees = np.maximum(n - 2.0, 1e-9)
    size = np.minimum(np.abs(r), 1.0)
    with np.errstate(divide="ignore"):
        statistic = size * np.sqrt(degrees / (1.0 - size * size))
    return np.where(n <= 2.0, 1.0, 2.0 * special.stdtr(degrees, -statistic))
