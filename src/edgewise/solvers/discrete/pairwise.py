r"""The pairwise model of columns of several kinds by its pseudo-likelihood, and its certificate.

Every column follows the generalised linear model of its family given all others, and the two
regressions of a pair share one block of coefficients (Lee and Hastie 2015). With the standardised
columns :math:`u_j` of column j, their linear predictors :math:`\eta_j = \theta_j + \sum_{i \ne j}
\Gamma_{ij}^\top u_i` and :math:`\Gamma_{ji} = \Gamma_{ij}^\top`,

.. math::

    \min_{\theta, \Gamma} \; \sum_j \ell_j(\eta_j)
    + 2 \alpha \sum_{i < j} \sqrt{d_i d_j} \, \|\Gamma_{ij}\|_F,

where :math:`\ell_j` is the mean negative log-likelihood. That of a Gaussian column with the
precision :math:`\beta` given the others is convex in both, and minimised over :math:`\beta`,

.. math:: \ell(\eta) = \min_\beta \; \tfrac12 \beta \overline{u^2} - \tfrac12 \log \beta
    - \overline{u \eta} + \overline{\eta^2} / (2 \beta).

Accelerated proximal gradient steps solve it. The dual problem asks for expected responses
:math:`q_j` with the means of the observed ones, for which no block of
:math:`u_i^\top (y_j - q_j) + (y_i - q_i)^\top u_j` is longer than its penalty; the residuals of the
fit, centred and drawn towards 0, are such a point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import kl_div

from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.lasso.generalized_kernels import BINARY, GAUSSIAN, set_means

#: Gradient steps between two looks at the gap.
INTERVAL: Final = 20
#: A step may grow by this from one to the next, since curvatures differ along a path.
GROWTH: Final = 1.05


@dataclass(frozen=True, kw_only=True, eq=False)
class PairwiseSolution(Solution):
    """Coefficients of the pairwise model: ``value`` has shape (d, d) and is symmetric.

    Attributes
    ----------
    intercept : ndarray of shape (d,)
        Constants of the linear predictors.
    precision : ndarray of shape (p,)
        That of each Gaussian column given the others; 1 for other columns.
    losses : ndarray of shape (p,)
        Mean negative log-likelihood of each column; of a Gaussian one half the mean squared
        residual.
    """

    intercept: FloatArray
    precision: FloatArray
    losses: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class _Expected:
    """What a point expects: loss, residuals of columns, means of responses, precisions."""

    loss: float
    losses: FloatArray
    residual: FloatArray
    means: list[FloatArray]
    precision: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Pairwise:
    """The pseudo-likelihood of a table, ready to be solved.

    Attributes
    ----------
    columns : ndarray of shape (d, n)
        Standardised columns; those from ``starts[j]`` to ``starts[j + 1]`` are of column j.
    starts : ndarray of int, shape (p + 1,)
    families : tuple of int
        As in `edgewise.solvers.lasso.generalized_kernels`.
    responses : tuple of ndarray
        Of each column, (c, n): its values, or one row per level that is 1 where it has it.
    maps : tuple of ndarray
        Of each column, (c, its columns): linear predictors of the response by those of its columns.
    row_weights : ndarray of shape (n,)
        Weights of the rows, which add up to 1.
    tol, max_iter
        Largest duality gap, and largest number of looks at it.
    """

    columns: FloatArray
    starts: IntArray
    families: tuple[int, ...]
    responses: tuple[FloatArray, ...]
    maps: tuple[FloatArray, ...]
    row_weights: FloatArray
    tol: float
    max_iter: int

    @property
    def group_weights(self) -> FloatArray:
        """Factor of the penalty of each pair of columns; infinite for a column with itself."""
        size = np.sqrt(np.diff(self.starts))
        weights = np.outer(size, size)
        np.fill_diagonal(weights, np.inf)
        return np.asarray(weights)

    def largest_alpha(self) -> float:
        """Return the smallest alpha for which no pair is joined."""
        gram = (self.columns * self.row_weights) @ self.columns.T
        return float(np.max(self._lengths(gram) / self.group_weights))

    def solve_path(self, alphas: FloatArray) -> Iterator[PairwiseSolution]:
        """Yield one solution per alpha, each started from the one before."""
        Gamma = np.zeros((len(self.columns), len(self.columns)))
        theta = np.concatenate([self._null_intercept(j) for j in range(len(self.families))])
        for alpha in np.asarray(alphas, dtype=np.float64).tolist():
            Gamma, theta, found, gaps = self._descend(alpha, Gamma, theta)
            penalty = alpha * float(self._penalty(Gamma).sum())
            losses = found.losses.copy()
            for j in np.flatnonzero(np.array(self.families) == GAUSSIAN).tolist():
                losses[j] = 0.5 * self.row_weights @ found.residual[self.starts[j]] ** 2
            yield PairwiseSolution(
                value=Gamma.copy(),
                intercept=theta.copy(),
                precision=found.precision,
                losses=losses,
                objective=found.loss + penalty,
                gap=gaps[-1],
                n_iter=len(gaps),
                converged=gaps[-1] <= self.tol,
                history=np.array(gaps),
            )

    def _descend(
        self, alpha: float, Gamma: FloatArray, theta: FloatArray
    ) -> tuple[FloatArray, FloatArray, _Expected, list[float]]:
        """Take accelerated steps, begun anew where they overshoot, until the gap is small."""
        thresholds = 2.0 * alpha * self.group_weights
        found = self._expect(Gamma, theta)
        gaps = [self._gap(thresholds, Gamma, found)]
        ahead, ahead_theta, there = Gamma, theta, found
        bound, pace = 1.0, 1.0
        while gaps[-1] > self.tol and len(gaps) <= self.max_iter:
            for _ in range(INTERVAL):
                slope, slope_theta = self._gradient(there)
                bound /= GROWTH
                while True:
                    new = self._shrink(ahead - slope / bound, thresholds / bound)
                    new_theta = ahead_theta - slope_theta / bound
                    step, step_theta = new - ahead, new_theta - ahead_theta
                    after = self._expect(new, new_theta)
                    promised = (
                        0.5 * np.sum(slope * step)
                        + slope_theta @ step_theta
                        + 0.5 * bound * (0.5 * np.sum(step**2) + step_theta @ step_theta)
                    )
                    if after.loss <= there.loss + promised + 1e-14 * (1.0 + abs(there.loss)):
                        break
                    bound *= 2.0
                move, move_theta = new - Gamma, new_theta - theta
                if 0.5 * np.sum(step * move) + step_theta @ move_theta < 0.0:
                    pace = 1.0
                following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace**2))
                momentum = (pace - 1.0) / following
                Gamma, theta, found, pace = new, new_theta, after, following
                ahead, ahead_theta, there = Gamma, theta, found
                if momentum:
                    ahead, ahead_theta = Gamma + momentum * move, theta + momentum * move_theta
                    there = self._expect(ahead, ahead_theta)
            gaps.append(self._gap(thresholds, Gamma, found))
        return Gamma, theta, found, gaps

    def _null_intercept(self, j: int) -> FloatArray:
        """Linear predictors of a column that fit best without the others."""
        if self.families[j] == GAUSSIAN:
            return np.zeros(1)
        mean = self.responses[j] @ self.row_weights
        eta = np.log(mean / (1.0 - mean)) if self.families[j] == BINARY else np.log(mean)
        return np.asarray(np.linalg.lstsq(self.maps[j], eta, rcond=None)[0])

    def _expect(self, Gamma: FloatArray, theta: FloatArray) -> _Expected:
        """Compute losses, expected responses and residuals at a point."""
        predictors = Gamma @ self.columns + theta[:, None]
        residual = np.empty_like(predictors)
        losses, precision = np.empty(len(self.families)), np.ones(len(self.families))
        means = []
        for j, family in enumerate(self.families):
            own = slice(self.starts[j], self.starts[j + 1])
            if family == GAUSSIAN:
                u, eta = self.columns[self.starts[j]], predictors[self.starts[j]]
                square, size = float(u**2 @ self.row_weights), float(eta**2 @ self.row_weights)
                beta = (1.0 + np.sqrt(1.0 + 4.0 * square * size)) / (2.0 * square)
                inner = float((u * eta) @ self.row_weights)
                losses[j] = 0.5 * (beta * square - np.log(beta) + size / beta) - inner
                precision[j] = beta
                means.append(eta[None] / beta)
                residual[own] = u - means[-1]
                continue
            eta = self.maps[j] @ predictors[own]
            mean = np.empty_like(eta)
            losses[j] = set_means(family, self.responses[j], self.row_weights, eta, mean)
            means.append(mean)
            residual[own] = self.maps[j].T @ (self.responses[j] - mean)
        return _Expected(
            loss=float(losses.sum()),
            losses=losses,
            residual=residual,
            means=means,
            precision=precision,
        )

    def _gradient(self, found: _Expected) -> tuple[FloatArray, FloatArray]:
        """Slope of the loss by blocks that two regressions share, and by constants."""
        pull = (self.columns * self.row_weights) @ found.residual.T
        return -(pull + pull.T), -(found.residual @ self.row_weights)

    def _lengths(self, matrix: FloatArray) -> FloatArray:
        """Length of the block of each pair of columns, shape (p, p)."""
        rows = np.add.reduceat(matrix**2, self.starts[:-1], axis=0)
        return np.asarray(np.sqrt(np.add.reduceat(rows, self.starts[:-1], axis=1)))

    def _penalty(self, Gamma: FloatArray) -> FloatArray:
        """Length of each block times its weight; 0 for a column with itself."""
        lengths = self._lengths(Gamma)
        return np.where(lengths > 0.0, self.group_weights, 0.0) * lengths

    def _shrink(self, Gamma: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Shorten every block by its threshold, at most to 0."""
        with np.errstate(divide="ignore"):
            share = np.maximum(1.0 - thresholds / self._lengths(Gamma), 0.0)
        size = np.diff(self.starts)
        return np.asarray(Gamma * np.repeat(np.repeat(share, size, axis=0), size, axis=1))

    def _gap(self, thresholds: FloatArray, Gamma: FloatArray, found: _Expected) -> float:
        """Return the duality gap, as a sum of terms that are each at least 0."""
        centred = [self._centred(j, mean) for j, mean in enumerate(found.means)]
        residual = np.vstack(
            [
                maps.T @ (response - mean)
                for maps, response, mean in zip(self.maps, self.responses, centred, strict=True)
            ]
        )
        pull = (self.columns * self.row_weights) @ residual.T
        pull = pull + pull.T
        with np.errstate(divide="ignore"):
            share = min(1.0, float(np.min(thresholds / self._lengths(pull))))
        gap = 0.0
        for j, (mean, middle) in enumerate(zip(found.means, centred, strict=True)):
            q = (1.0 - share) * self.responses[j] + share * middle
            gap += self._divergence(j, q, mean, float(found.precision[j]))
        lengths = self._lengths(Gamma)
        inner = np.add.reduceat(Gamma * pull, self.starts[:-1], axis=0)
        inner = np.add.reduceat(inner, self.starts[:-1], axis=1)
        joined = lengths > 0.0
        left = thresholds[joined] * lengths[joined] - share * inner[joined]
        return gap + 0.5 * float(np.maximum(left, 0.0).sum())

    def _centred(self, j: int, mean: FloatArray) -> FloatArray:
        """Mix expected responses with a constant, so that they have the mean of the observed."""
        target, found = self.responses[j] @ self.row_weights, mean @ self.row_weights
        t = 0.0
        if self.families[j] != GAUSSIAN:
            t = max(t, float(np.max(1.0 - target / found)))
        if self.families[j] == BINARY:
            t = max(t, float(np.max(1.0 - (1.0 - target) / (1.0 - found))))
        return np.asarray((1.0 - t) * mean + (target - (1.0 - t) * found)[:, None])

    def _divergence(self, j: int, q: FloatArray, mean: FloatArray, precision: float) -> float:
        """Return by how much the loss of a column is above its dual at q."""
        if self.families[j] != GAUSSIAN:
            rows = kl_div(np.maximum(q, 0.0), mean).sum(axis=0)
            if self.families[j] == BINARY:
                rows += kl_div(np.maximum(1.0 - q[0], 0.0), 1.0 - mean[0])
            return float(rows @ self.row_weights)
        square = self.responses[j][0] ** 2 - q[0] ** 2
        variance = precision * float(square @ self.row_weights)
        if variance <= 0.0:
            return float("inf")
        away = float((q[0] - mean[0]) ** 2 @ self.row_weights)
        return float(0.5 * (variance - 1.0 - np.log(variance) + precision * away))
