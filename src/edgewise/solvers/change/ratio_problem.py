r"""The density-ratio problem: shrinking, its two objectives and what they certify.

A gap is a sum of terms of at least 0, in which nothing cancels. With :math:`w` the log ratio of
each row and :math:`a` any weights on the simplex, primal less dual objective is

.. math::

    \mathrm{KL}(a \,\|\, \mathrm{softmax}\, w)
    + \sum_G \left( \psi_G(\theta_G) + \psi_G^*(\xi_G) - \xi_G^\top \theta_G \right),
    \qquad \psi(\theta) = \tfrac{q}{2} \|\theta\|^2 + l \|\theta\| .

Both objectives grow like 1 / q where the ridge q is small; their difference does not. Rounding
errors of log ratios and slacks enter these sums by their squares, and are bounded here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.linalg.kernels import sum_error
from edgewise.stats.pair_features import PairFeatures, PairMoments

#: Log ratios closer than this have a divergence that would cancel if it were not rearranged.
CLOSE: Final = 1.0


@kernel
def merge(
    pairs: IntArray,
    values: FloatArray,
    other_pairs: IntArray,
    other_values: FloatArray,
    factor: float,
) -> tuple[IntArray, FloatArray]:
    """Add ``factor`` times other coefficients; return the pairs of both and their coefficients."""
    size = values.shape[1]
    merged = np.empty(len(pairs) + len(other_pairs), dtype=np.int64)
    out = np.zeros((len(merged), size))
    i, j, m = 0, 0, 0
    while i < len(pairs) or j < len(other_pairs):
        takes_other = i == len(pairs) or (j < len(other_pairs) and other_pairs[j] <= pairs[i])
        takes_own = j == len(other_pairs) or (i < len(pairs) and pairs[i] <= other_pairs[j])
        if takes_own:
            merged[m] = pairs[i]
            for b in range(size):
                out[m, b] += values[i, b]
            i += 1
        if takes_other:
            merged[m] = other_pairs[j]
            for b in range(size):
                out[m, b] += factor * other_values[j, b]
            j += 1
        m += 1
    return merged[:m].copy(), out[:m].copy()


@kernel
def inner_product(
    pairs: IntArray, values: FloatArray, other_pairs: IntArray, other_values: FloatArray
) -> float:
    """Sum the products of the coefficients of the pairs that both have."""
    total = 0.0
    i, j = 0, 0
    while i < len(pairs) and j < len(other_pairs):
        if pairs[i] == other_pairs[j]:
            for b in range(values.shape[1]):
                total += values[i, b] * other_values[j, b]
            i += 1
            j += 1
        elif pairs[i] < other_pairs[j]:
            i += 1
        else:
            j += 1
    return total


#: Stands in for a target of 0.
SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Coefficients of a few pairs, in order of their numbers; all others are 0.

    Attributes
    ----------
    pairs : ndarray of int, shape (m,)
    values : ndarray of shape (m, b)
    """

    pairs: IntArray
    values: FloatArray

    @classmethod
    def none(cls, size: int) -> Coefficients:
        """No pair at all."""
        return cls(np.empty(0, dtype=np.int64), np.empty((0, size)))

    @property
    def lengths(self) -> FloatArray:
        """Length of the vector of each pair."""
        return np.asarray(np.sqrt(np.sum(self.values**2, axis=1)))

    def dot(self, other: Coefficients) -> float:
        """Inner product."""
        return float(inner_product(self.pairs, self.values, other.pairs, other.values))

    def scaled(self, factor: float) -> Coefficients:
        """Multiply all coefficients."""
        return Coefficients(self.pairs, factor * self.values)

    def plus(self, other: Coefficients, factor: float = 1.0) -> Coefficients:
        """Add ``factor`` times others, over the pairs of both."""
        return Coefficients(
            *merge(self.pairs, self.values, other.pairs, other.values, float(factor))
        )


class HasRows(Protocol):
    """Features of rows: how many rows, and how long the features of each are."""

    @property
    def n_samples(self) -> int: ...  # noqa: D102

    @property
    def row_lengths(self) -> FloatArray: ...  # noqa: D102


@dataclass(frozen=True, kw_only=True, eq=False)
class RatioProblem:
    r"""Minimise the loss of `density_ratio` plus its penalties, over the pairs of some variables.

    Attributes
    ----------
    features : PairFeatures
        Of the rows of the denominator.
    target : PairMoments
        Mean features of the numerator.
    offset : ndarray of shape (n,)
        Added to the log ratio of each row.
    ridge : float
    penalize_diagonal : bool
    """

    features: PairFeatures
    target: PairMoments
    offset: FloatArray
    ridge: float
    penalize_diagonal: bool

    @property
    def log_n(self) -> float:
        """Logarithm of the number of rows of the denominator."""
        return float(np.log(self.features.n_samples))

    def subset(self, variables: IntArray) -> RatioProblem:
        """Keep the pairs among some of the variables, which are in order."""
        return RatioProblem(
            features=self.features.subset(variables),
            target=self.target.subset(variables),
            offset=self.offset,
            ridge=self.ridge,
            penalize_diagonal=self.penalize_diagonal,
        )

    def is_diagonal(self, pairs: IntArray) -> BoolArray:
        """Which pairs are a variable with itself."""
        d = self.features.n_variables
        return np.asarray(pairs // d == pairs % d)

    def thresholds(self, pairs: IntArray, alpha: float) -> FloatArray:
        """Penalty of each pair."""
        if self.penalize_diagonal:
            return np.full(len(pairs), alpha)
        return np.where(self.is_diagonal(pairs), 0.0, alpha)

    def slack(self, moments: PairMoments, pairs: IntArray) -> FloatArray:
        """Target less moments of some pairs: the gradient of the loss with its sign turned."""
        return self.target.at(pairs) - moments.at(pairs)

    def shrink(
        self,
        moments: PairMoments,
        alpha: float,
        curvature: float,
        shift: Coefficients | None = None,
    ) -> Coefficients:
        r"""Maximise ``z'theta - alpha sum |theta_G| - curvature / 2 |theta|^2``.

        ``z`` is target less moments, plus ``shift``. The solution is ``z_G`` shortened by alpha,
        over the curvature.
        """
        free = alpha if self.penalize_diagonal else 0.0
        pairs = self.target.above(moments, alpha, free)
        if shift is None:
            z = self.slack(moments, pairs)
        else:
            nothing = Coefficients(pairs, np.zeros((len(pairs), self.features.size)))
            shifted = nothing.plus(shift)
            pairs, z = shifted.pairs, shifted.values
            z += self.slack(moments, pairs)
        length = np.sqrt(np.sum(z**2, axis=1))
        limit = self.thresholds(pairs, alpha)
        is_kept = length > limit
        shorter = (1.0 - limit[is_kept] / length[is_kept]) / curvature
        return Coefficients(pairs[is_kept], z[is_kept] * shorter[:, None])

    def log_ratio(self, theta: Coefficients) -> FloatArray:
        """Logarithm of the ratio of each row, not normalised, with the offset."""
        return self.features.values(theta.pairs, theta.values) + self.offset

    def loss(self, theta: Coefficients, log_ratio: FloatArray) -> float:
        """``log mean exp(log ratio)`` less the mean of the numerator, plus the ridge."""
        mean = float(np.sum(self.target.at(theta.pairs) * theta.values))
        squares = float(np.sum(theta.values**2))
        return log_total(log_ratio) - self.log_n - mean + 0.5 * self.ridge * squares

    def penalty(self, theta: Coefficients, alpha: float) -> float:
        """Sum of the lengths of the penalised pairs, times alpha."""
        return float(self.thresholds(theta.pairs, alpha) @ theta.lengths)

    def entropy(self, log_weights: FloatArray) -> float:
        """``sum a (log a - offset)`` for weights a on the rows."""
        return float(np.exp(log_weights) @ (log_weights - self.offset))

    def feature_variance(self) -> float:
        """Variance of the features of some pairs over the rows: the unit of curvature."""
        d = self.features.n_variables
        first = np.arange(max(d - 1, 1))
        pairs = first * d + np.minimum(first + 1, d - 1)
        columns = self.features.columns(pairs, np.ones(self.features.n_samples))
        variance = float(np.mean(np.var(columns, axis=2)))
        return variance if variance > 0 else 1.0

    def certify(
        self, theta: Coefficients, log_ratio: FloatArray, log_weights: FloatArray, alpha: float
    ) -> Certificate:
        """Duality gap at some weights of the rows, which sum to 1.

        With a ridge the dual point is feasible and the gap is that of the problem itself. Without
        one, only weights are feasible that leave slacks of at most alpha and, where the diagonal
        is free, match the target there. The gap is then that of the problem in which alpha is
        raised by the share ``excess``, and the diagonal penalised by the slack that it has. The
        excess is at least that slack as a share of the target.
        """
        moments = self.features.moments(np.exp(log_weights))
        excess, free = (0.0, 0.0) if self.ridge > 0 else self._excess(moments, alpha)
        both = theta
        if self.ridge > 0:
            both = self.shrink(moments, alpha, self.ridge).scaled(0.0).plus(theta)
        limit = self.thresholds(both.pairs, alpha * (1.0 + excess))
        if not self.penalize_diagonal:
            limit[self.is_diagonal(both.pairs)] = free
        slack = self.slack(moments, both.pairs)
        open_terms, distance = conjugate_gap(both.values, slack, limit, self.ridge)
        return Certificate(
            gap=divergence(log_weights, log_softmax(log_ratio)) + open_terms,
            excess=excess,
            rounding=self.rounding(theta, log_ratio, log_weights, distance),
            moments=moments,
        )

    def rounding(
        self,
        theta: Coefficients,
        log_ratio: FloatArray,
        log_weights: FloatArray,
        distance: float = 0.0,
    ) -> float:
        """Bound what rounding hides of a gap, at coefficients so far from the best for weights."""
        fitted = log_softmax(log_ratio)
        length = float(np.sqrt(np.sum(theta.values**2)))
        hidden = divergence_rounding(
            self.features, theta.values.size, length, self.offset, log_weights, fitted
        )
        return hidden + slack_rounding(self.features, log_weights, distance, self.ridge)

    def _excess(self, moments: PairMoments, alpha: float) -> tuple[float, float]:
        """Share by which slacks exceed alpha, and the longest slack of a free diagonal."""
        excess = max(0.0, self.target.largest(moments, diagonal=self.penalize_diagonal) / alpha - 1)
        if self.penalize_diagonal:
            return excess, 0.0
        own = np.arange(self.features.n_variables) * (self.features.n_variables + 1)
        free = _longest(self.slack(moments, own))
        return max(excess, free / max(_longest(self.target.at(own)), SMALLEST)), free


@dataclass(frozen=True, kw_only=True, eq=False)
class Certificate:
    """How far coefficients are from the best, at most.

    Attributes
    ----------
    gap : float
        Duality gap as computed.
    excess : float
        What the gap of a problem without a ridge leaves out, as `RatioProblem.certify` says.
    rounding : float
        What rounding may hide of the gap.
    moments : PairMoments
        Of the rows with the weights of the dual point.
    """

    gap: float
    excess: float
    rounding: float
    moments: PairMoments


def _longest(vectors: FloatArray) -> float:
    return float(np.sqrt(np.sum(vectors**2, axis=1).max()))


def log_total(values: FloatArray) -> float:
    """Logarithm of the sum of exponentials (scipy's takes ten times as long for a short vector)."""
    largest = float(values.max())
    return largest + float(np.log(np.sum(np.exp(values - largest))))


def log_softmax(values: FloatArray) -> FloatArray:
    """Subtract `log_total`, the largest value first: weights sum to 1 however large values are."""
    shifted = values - values.max()
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted))))


def divergence(log_weights: FloatArray, log_fitted: FloatArray) -> float:
    """Kullback-Leibler divergence of weights from others, as a sum of terms of at least 0.

    Both sum to 1, so that ``sum a r`` with ``r = log(a / b)`` is ``sum a (r - 1 + exp(-r))``.
    """
    weights, apart = np.exp(log_weights), log_weights - log_fitted
    is_close = np.abs(apart) < CLOSE
    near = weights * (apart + np.expm1(-np.where(is_close, apart, 0.0)))
    far = weights * (apart - 1.0) + np.exp(log_fitted)
    return float(np.sum(np.maximum(np.where(is_close, near, far), 0.0)))


def conjugate_gap(
    theta: FloatArray, slack: FloatArray, limit: FloatArray | float, curvature: float
) -> tuple[float, float]:
    r"""Sum of :math:`\psi(\theta) + \psi^*(\xi) - \xi^\top \theta` over the rows, and a distance.

    With :math:`\theta^*` the maximiser in the conjugate and :math:`u = \xi - q \theta^*`, of
    length l at most, each term is :math:`\frac{q}{2} \|\theta - \theta^*\|^2 + l \|\theta\| -
    u^\top \theta`. The distance is that of all coefficients from their maximisers. Without
    curvature slacks must not be longer than ``limit``, and maximisers are 0.

    Parameters
    ----------
    theta, slack : ndarray of shape (m, b)
        Coefficients and :math:`\xi` of each pair.
    limit : float or ndarray of shape (m,)
        Penalty l of each pair.
    curvature : float
        The q.
    """
    length, size = _lengths(slack), _lengths(theta)
    bound = np.minimum(length, limit)
    toward = np.divide(slack, length[:, None], out=np.zeros_like(slack), where=length[:, None] > 0)
    along = np.divide(theta, size[:, None], out=np.zeros_like(theta), where=size[:, None] > 0)
    # l |theta| - u'theta for a u of length `bound`: its lack of length, and its lack of direction.
    terms = (limit - bound) * size + 0.5 * bound * size * np.sum((toward - along) ** 2, axis=1)
    best = np.zeros_like(theta)
    if curvature > 0:
        best = toward * ((length - bound) / curvature)[:, None]
    squares = float(np.sum((theta - best) ** 2))
    return float(np.sum(terms)) + 0.5 * curvature * squares, float(np.sqrt(squares))


def divergence_rounding(
    features: HasRows,
    n_terms: int,
    length: float,
    offset: FloatArray,
    log_weights: FloatArray,
    log_fitted: FloatArray,
) -> float:
    """By how much `divergence` may be too small because log ratios are rounded.

    ``n_terms`` and ``length`` are the number and the length of the coefficients.

    With errors e of the log ratios and b the weights fitted, ``log sum b exp(e) - sum a e`` is at
    most ``sum (b - a) e + sum b (exp(e) - 1 - e)``.
    """
    error = sum_error(n_terms) * length * features.row_lengths + sum_error(1) * np.abs(offset)
    fitted = np.exp(log_fitted)
    with np.errstate(over="ignore"):
        second = np.sum(fitted * (np.expm1(error) - error))
    return float(np.abs(fitted - np.exp(log_weights)) @ error + second)


def slack_rounding(
    features: HasRows, log_weights: FloatArray, distance: float, curvature: float
) -> float:
    """By how much `conjugate_gap` may be too small because moments are rounded.

    ``distance`` is the one that it returned.
    """
    error = moment_rounding(features, log_weights)
    return distance * error + (0.5 * error**2 / curvature if curvature > 0 else 0.0)


def moment_rounding(features: HasRows, log_weights: FloatArray) -> float:
    """Bound the rounding error of the moments of a pair."""
    lengths = float(np.exp(log_weights) @ features.row_lengths)
    return sum_error(features.n_samples) * lengths


def moment_distance(features: HasRows, gap: float) -> float:
    """Bound how far the moments of a pair are from those at the solution.

    By Pinsker's inequality the dual objective is strongly convex in the sum of the sizes of
    weights, so that weights with a duality gap g are within ``sqrt(2 g)`` of the best.
    """
    return float(np.sqrt(2.0 * gap) * features.row_lengths.max())


def _lengths(vectors: FloatArray) -> FloatArray:
    return np.asarray(np.sqrt(np.sum(vectors**2, axis=1)))
