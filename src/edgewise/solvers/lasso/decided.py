r"""Which coefficients of lassos are proven to be those of the optimum.

With a duality gap G, the loss :math:`\sum_i w_i A(\eta_i)` less its linear part has a Bregman
distance from the optimum of at most G, since the penalty is convex and the optimum balances it:

.. math:: \sum_i w_i \left( A(\eta_i) - A(\eta_i^*) - A'(\eta_i^*) (\eta_i - \eta_i^*) \right)
    \le G,

which in exponential families is the mean Kullback-Leibler divergence of the expected responses
:math:`\mu^*` from :math:`\mu`. By the convex conjugate of that divergence, the slope along any x
differs from that of the optimum by

.. math:: \Big| \sum_i w_i x_i (\mu_i - \mu_i^*) \Big| \le \inf_{\lambda > 0} \frac1\lambda \Big(
    G + \sum_i w_i \left( A(\eta_i + \lambda x_i) - A(\eta_i) - \lambda x_i \mu_i \right) \Big)
    \le \sqrt{2 V G} + M G / 3,

with :math:`V = \sum_i w_i x_i^2` and M = 0 for a Gaussian response, a quarter of that V for a
binary one, half of it for levels, and :math:`V = \sum_i w_i A''(\eta_i) x_i^2`,
:math:`M = \max |x_i|` for counts and binary ones (Bernstein). Where the slope of a group stays
below its penalty, the optimum has no such coefficients. If none of any group is fitted, the slopes
are those of the optimum as soon as they do not exceed the penalties: the largest alpha is decided.

Coefficients that may differ are those of the groups that are left, V. Since
:math:`A''(\eta - s) \ge A''(\eta) e^{-|s|}` (with s the range of the differences for several
levels), differences E with :math:`|z_i^\top E| \le m` have a distance of at least

.. math:: \frac{1 - (1 + m) e^{-m}}{m^2} \, E^\top H E, \qquad
    H = \sum_i w_i A''(\eta_i) z_i z_i^\top,

and of half :math:`E^\top H E` for a Gaussian response. The distance grows along E, so that with
:math:`\kappa = \max_i (z_i^\top H^{-1} z_i)^{1/2}` and m the solution of
:math:`1 - (1 + m) e^{-m} = \kappa^2 G`, the E of the optimum has
:math:`E^\top H E \le (m / \kappa)^2`. A group that is longer than its share of it is in the
optimum, with the sign of a single coefficient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.lasso.generalized_kernels import (
    BINARY,
    GAUSSIAN,
    MULTINOMIAL,
    POISSON,
    set_means,
)

if TYPE_CHECKING:
    from edgewise.solvers.lasso.generalized import Regression

EPSILON: Final = float(np.finfo(np.float64).eps)
#: An eigenvalue of at most this share of the largest counts as none.
SINGULAR: Final = 1e-10
#: Coefficients up to which each regression has its own curvature looked at.
FEW: Final = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class NeighborhoodProof:
    """The lassos of all variables on a covariance, and the gap of each."""

    S: FloatArray
    alpha: float
    gaps: FloatArray

    def decide(self, solution: Any) -> BoolArray:
        """Mark the coefficients that are proven, ``[i, j]`` in the regression of j."""
        S, B = self.S, solution.value
        p = len(S)
        unit = np.sqrt(S.diagonal())
        slope = S - S @ B
        error = 4.0 * (p + 2) * EPSILON * np.outer(unit, unit + unit @ np.abs(B))
        # A dual point that is off by as much is drawn towards 0 that much further.
        share = error.max(axis=0) / self.alpha
        gaps = self.gaps + 2.0 * share * (self.alpha * np.abs(B).sum(axis=0) + share * unit**2)
        reach = np.sqrt(2.0 * gaps)
        absent = np.abs(slope) + error + np.outer(unit, reach) < self.alpha
        is_small = np.abs(S) <= self.alpha
        for one in (absent, is_small):
            np.fill_diagonal(one, True)
        absent |= is_small.all(axis=0) & ~B.any(axis=0)
        whole = _inverse_diagonal(S)
        present = np.zeros_like(absent)
        for j in np.flatnonzero(B.any(axis=0)).tolist():
            is_open = ~absent[:, j] | (B[:, j] != 0.0)
            is_open[j] = False
            index = np.flatnonzero(is_open)
            spread = whole[index]
            if index.size <= FEW:
                spread = np.minimum(spread, _inverse_diagonal(S[np.ix_(index, index)]))
            present[index, j] = np.abs(B[index, j]) > reach[j] * np.sqrt(spread)
        return np.asarray(np.where(B == 0.0, absent, present))


def _inverse_diagonal(H: FloatArray) -> FloatArray:
    """Diagonal of an inverse, rounded up; infinite where the matrix is singular."""
    inverse = invert_curvature(H)
    return np.full(len(H), np.inf) if inverse is None else np.asarray(inverse.diagonal())


def invert_curvature(H: FloatArray) -> FloatArray | None:
    """Inverse of a matrix of curvatures, rounded up; None where it is singular."""
    unit = np.sqrt(np.maximum(H.diagonal(), 0.0))
    if len(H) == 0 or unit.min() == 0.0:
        return None
    values, vectors = np.linalg.eigh(H / np.outer(unit, unit))
    if values[0] <= SINGULAR * values[-1]:
        return None
    values -= 4.0 * len(H) * EPSILON * values[-1]
    return np.asarray((vectors / values) @ vectors.T / np.outer(unit, unit))


@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionProof:
    """A generalised regression at one alpha."""

    regression: Regression
    alpha: float

    def decide(self, solution: Any) -> BoolArray:
        """Mark the groups that are proven, in order."""
        posed, B = self.regression, solution.value
        weights, columns = posed.row_weights, posed.columns
        b = solution.intercept + posed.centre @ B
        eta = np.ascontiguousarray((columns.T @ B + b).T)
        mean = np.empty_like(eta)
        set_means(posed.family, posed.response, weights, eta, mean)
        residual = weights * (posed.response - mean)
        slope = columns @ residual.T
        size = np.abs(columns) @ (weights * (np.abs(posed.response) + np.abs(mean))).sum(axis=0)
        error = 4.0 * (len(weights) + len(B)) * EPSILON * size
        gap = solution.gap + 64.0 * EPSILON * (1.0 + abs(solution.objective))
        first = posed.starts[:-1]
        length = np.sqrt(np.add.reduceat(np.sum(slope**2, axis=1), first))
        error = np.sqrt(np.add.reduceat(error**2, first))
        penalty = self.alpha * posed.group_weights
        if not B.any() and (length <= penalty + error).all():
            return np.ones(len(penalty), dtype=bool)
        absent = length + error + self._drift(mean, gap) < penalty
        sizes = np.sqrt(np.add.reduceat(np.sum(B**2, axis=1), first))
        spread = self._spread(mean, gap, ~absent | (sizes > 0.0))
        return np.asarray(np.where(sizes == 0.0, absent, sizes > spread))

    def _drift(self, mean: FloatArray, gap: float) -> FloatArray:
        """Bound how far the slope of each group is from that at the optimum."""
        posed = self.regression
        weights, squares, first = posed.row_weights, posed.columns**2, posed.starts[:-1]

        def of_groups(curvature: FloatArray) -> FloatArray:
            return np.asarray(np.add.reduceat(squares @ (weights * curvature), first))

        share = {GAUSSIAN: 1.0, BINARY: 0.25, MULTINOMIAL: 0.5}.get(posed.family, np.inf)
        drift = np.full(len(first), np.inf)
        if share < np.inf:
            drift = np.sqrt(2.0 * gap * share * of_groups(np.ones_like(weights)))
        if posed.family in (BINARY, POISSON):
            local = mean[0] * (1.0 - mean[0]) if posed.family == BINARY else mean[0]
            seen = squares[:, weights > 0.0]
            farthest = np.sqrt(np.add.reduceat(seen, first, axis=0).max(axis=1))
            drift = np.minimum(drift, np.sqrt(2.0 * gap * of_groups(local)) + farthest * gap / 3.0)
        return drift

    def _spread(self, mean: FloatArray, gap: float, is_open: BoolArray) -> FloatArray:
        """Bound how far the coefficients of each open group are from those of the optimum."""
        posed = self.regression
        spread = np.full(len(is_open), np.inf)
        index = np.flatnonzero(np.repeat(is_open, np.diff(posed.starts)))
        is_seen = posed.row_weights > 0.0
        Z = np.vstack([np.ones(len(is_seen)), posed.columns[index]])[:, is_seen]
        weights, mean = posed.row_weights[is_seen], mean[:, is_seen]
        basis = _zero_sums(len(mean))
        inverse = invert_curvature(_curvature(Z, weights, mean, posed.family, basis))
        if inverse is None:
            return spread
        n_free = basis.shape[1]
        blocks = inverse.reshape(len(Z), n_free, len(Z), n_free)
        reach = np.sqrt(2.0 * gap)
        if posed.family != GAUSSIAN:
            across = np.einsum("kala->kl", blocks)
            # The range of numbers is at most the root of 2 times their length.
            share = 2.0 if posed.family == MULTINOMIAL else 1.0
            longest = share * np.sum(Z * (across @ Z), axis=0).max()
            reach = _distance(float(longest * gap)) / np.sqrt(longest)
        places = _places(posed.starts, index, is_open)
        for g, own in zip(np.flatnonzero(is_open).tolist(), places, strict=True):
            block = blocks[own][:, :, own].reshape(len(own) * n_free, -1)
            spread[g] = reach * np.sqrt(np.linalg.eigvalsh(block)[-1])
        return spread


def _places(starts: IntArray, index: IntArray, is_open: BoolArray) -> list[IntArray]:
    """Rows of the curvature that belong to each open group; the first is the constant."""
    return [
        1 + np.flatnonzero((index >= starts[g]) & (index < starts[g + 1]))
        for g in np.flatnonzero(is_open).tolist()
    ]


def _zero_sums(n_responses: int) -> FloatArray:
    """Orthonormal basis of what coefficients of levels may be: they add up to 0."""
    if n_responses == 1:
        return np.ones((1, 1))
    return np.asarray(np.linalg.svd(np.ones((1, n_responses)))[2][1:].T)


def _curvature(
    Z: FloatArray, weights: FloatArray, mean: FloatArray, family: int, basis: FloatArray
) -> FloatArray:
    """Second derivatives of the loss, by rows of ``Z`` and then by columns of ``basis``."""
    if family == GAUSSIAN:
        local = np.ones((1, 1, len(weights)))
    elif family == POISSON:
        local = mean[None]
    elif family == BINARY:
        local = (mean * (1.0 - mean))[None]
    else:
        moved = basis.T @ mean
        local = np.einsum("ca,ci,cb->abi", basis, mean, basis) - moved[:, None] * moved[None]
    H = np.einsum("ki,abi,li->kalb", Z, local * weights, Z, optimize=True)
    return np.asarray(H.reshape(len(Z) * len(local), -1))


def _distance(cost: float) -> float:
    """Solve ``1 - (1 + m) exp(-m) = cost`` for m, rounded up; infinite from a cost of 1 on."""
    if not cost < 0.99:
        return np.inf
    low, high = 0.0, 7.0
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        # A series where the difference would cancel.
        paid = (
            middle**2 * (0.5 - middle / 3.0)
            if middle < 1e-4
            else (1.0 - (1.0 + middle) * np.exp(-middle))
        )
        low, high = (middle, high) if paid < cost else (low, middle)
        if high < 1e-12:
            break
    return high
