"""Two log-linear models whose difference is sparse, by importance-sampled likelihood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import FloatArray, RandomState
from edgewise.solvers._arguments import check_numbers
from edgewise.solvers._solution import Solution
from edgewise.solvers.change.ratio_problem import (
    conjugate_gap,
    divergence_rounding,
    log_softmax,
    log_total,
)
from edgewise.stats.pair_features import PairFeatures, PairFunction, pair_features

#: Steps between two looks at the gap.
CHECK = 10
#: Share by which the curvature is lowered at every step, so that steps can grow again.
EASE = 0.97


@dataclass(frozen=True, kw_only=True, eq=False)
class Proposals:
    """Rows of a known distribution that stand for an integral over all rows there can be.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
    log_density : ndarray of shape (n,)
        Of the distribution they were drawn from.
    """

    rows: FloatArray
    log_density: FloatArray


def draw_proposals(
    n_features: int, n_samples: int, *, scale: float = 1.5, rng: RandomState = None
) -> Proposals:
    """Draw independent normal rows, wider than standardised data.

    Parameters
    ----------
    n_features, n_samples : int
        Shape of the table.
    scale : float
        Standard deviation of every column.
    rng : int, Generator, RandomState or None

    Returns
    -------
    Proposals

    Examples
    --------
    >>> from edgewise.solvers.change.sampled_likelihood import draw_proposals
    >>> draw_proposals(2, 5, rng=0).rows.shape
    (5, 2)
    """
    rows = scale * as_generator(rng).standard_normal((n_samples, n_features))
    squares = np.sum((rows / scale) ** 2, axis=1)
    constant = n_features * np.log(scale * np.sqrt(2.0 * np.pi))
    return Proposals(rows=rows, log_density=-0.5 * squares - constant)


@dataclass(frozen=True, kw_only=True, eq=False)
class SampledFusedSolution(Solution):
    """Two log-linear models with a sparse difference.

    Attributes
    ----------
    value : ndarray of shape (2, d, d, b)
        Coefficients of the first and of the second model.
    alpha : float
        Strength of the fusion.
    """

    alpha: float


def sampled_fused_path(
    X_first: FloatArray,
    X_second: FloatArray,
    proposals: Proposals,
    alphas: Sequence[float] | FloatArray,
    *,
    ridge: float = 0.1,
    basis: str | PairFunction = "polynomial",
    degree: int = 2,
    power_scale: FloatArray | None = None,
    tol: float = 1e-5,
    max_iter: int = 5000,
) -> Iterator[SampledFusedSolution]:
    r"""Fit two log-linear models, with a penalty on how they differ, at several strengths.

    .. math::

        \min_{\theta^1, \theta^2}\; \sum_{k} \Bigl( \log \frac{1}{n'} \sum_{i}
        \frac{e^{\theta^{k\prime} f(x'_i)}}{p'(x'_i)} - \frac{1}{n_k} \sum_{j} \theta^{k\prime}
        f(x^k_j) + \frac{\mathrm{ridge}}{2} \|\theta^k\|^2 \Bigr)
        + \alpha \sum_{u \ge v} \|\theta^2_{uv} - \theta^1_{uv}\|

    with rows :math:`x'_i` of a known density :math:`p'`, which approximate the normalising
    integral: the IS-Flasso of [1]_. Solved by accelerated proximal gradients and stopped on the
    duality gap.

    Parameters
    ----------
    X_first, X_second : ndarray of shape (n_1, d) and (n_2, d)
        Rows of the two groups.
    proposals : Proposals
        The :math:`x'_i`. Their number and width decide how good the integral is.
    alphas : sequence of float
        Best from large to small; `sampled_fused_alpha_max` is the largest with a difference.
    ridge : float
        Positive.
    basis, degree, power_scale
        As in `edgewise.stats.pair_features`.
    tol : float
        Largest duality gap per variable.
    max_iter : int
        Steps at each alpha.

    Yields
    ------
    SampledFusedSolution

    References
    ----------
    .. [1] Liu, Quinn, Gutmann, Suzuki and Sugiyama (2014). Direct learning of sparse changes in
       Markov networks by density ratio estimation. *Neural Computation* 26(6).
       https://doi.org/10.1162/NECO_a_00589

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.sampled_likelihood import draw_proposals, sampled_fused_path
    >>> rng = np.random.default_rng(0)
    >>> before, after = rng.normal(size=(200, 3)), rng.normal(size=(200, 3))
    >>> after[:, 1] = 0.6 * after[:, 0] + 0.8 * after[:, 1]
    >>> path = sampled_fused_path(before, after, draw_proposals(3, 1000, rng=1), [0.2])
    >>> first, second = next(path).value
    >>> np.any(first != second, axis=2).astype(int)
    array([[0, 1, 0],
           [1, 0, 0],
           [0, 0, 0]])
    """
    check_numbers(list(alphas), tol, max_iter)
    if not 0.0 < ridge < np.inf:
        raise InputError("ridge_positive", ridge=ridge)
    options = {"basis": basis, "degree": degree, "power_scale": power_scale}
    problem = _FusedProblem(
        pair_features(proposals.rows, **options),  # type: ignore[arg-type]
        [pair_features(X, **options) for X in (X_first, X_second)],  # type: ignore[arg-type]
        -proposals.log_density,
        ridge,
    )
    return _walk(problem, np.asarray(alphas, dtype=np.float64), tol, max_iter)


def sampled_fused_alpha_max(
    X_first: FloatArray,
    X_second: FloatArray,
    *,
    basis: str | PairFunction = "polynomial",
    degree: int = 2,
    power_scale: FloatArray | None = None,
) -> float:
    """Smallest alpha at which the two models of `sampled_fused_path` are the same.

    With one model for both groups the normalising terms cancel, so that only the means of the
    features count. It is larger by a part in 10^9, so that rounding leaves no difference.

    Parameters
    ----------
    X_first, X_second, basis, degree, power_scale
        As in `sampled_fused_path`.

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.sampled_likelihood import sampled_fused_alpha_max
    >>> round(sampled_fused_alpha_max(np.ones((1, 1)), 2 * np.ones((1, 1)), basis="gaussian"), 6)
    1.5
    """
    first, second = (
        pair_features(X, basis, degree, power_scale=power_scale).mean() for X in (X_first, X_second)
    )
    return 0.5 * (1.0 + 1e-9) * first.largest(second, diagonal=True)


class _FusedProblem:
    """Loss, gradient, proximal step and gap over the coefficients of all pairs, (2, m, b)."""

    def __init__(
        self, features: PairFeatures, groups: list[PairFeatures], offset: FloatArray, ridge: float
    ) -> None:
        self.features, self.offset, self.ridge = features, offset, ridge
        d = features.n_variables
        first, second = np.triu_indices(d)
        self.pairs = first * d + second
        self.means = np.stack([group.mean().at(self.pairs) for group in groups])

    def log_ratios(self, theta: FloatArray) -> FloatArray:
        """Log of the model over the proposal of every row, not normalised, for both groups."""
        return np.stack([self.features.values(self.pairs, part) for part in theta]) + self.offset

    def loss(self, theta: FloatArray, ratios: FloatArray) -> float:
        """Both losses and their ridges."""
        normalizers = sum(log_total(part) for part in ratios) - 2.0 * np.log(ratios.shape[1])
        return float(normalizers - np.sum(self.means * theta) + 0.5 * self.ridge * np.sum(theta**2))

    def slack(self, ratios: FloatArray) -> FloatArray:
        """Means of the data less those of the models."""
        weights = [np.exp(log_softmax(part)) for part in ratios]
        return self.means - np.stack(
            [self.features.moments(part).at(self.pairs) for part in weights]
        )

    def proximal(self, theta: FloatArray, threshold: float) -> FloatArray:
        """Keep the mean of the two models and shorten their difference."""
        mean, difference = 0.5 * (theta[0] + theta[1]), theta[1] - theta[0]
        length = np.sqrt(np.sum(difference**2, axis=1))
        kept = np.where(length > threshold, 1.0 - threshold / np.maximum(length, threshold), 0.0)
        half = 0.5 * kept[:, None] * difference
        return np.stack([mean - half, mean + half])

    def penalty(self, theta: FloatArray, alpha: float) -> float:
        """Sum of the lengths of the differences, times alpha."""
        return alpha * float(np.sum(np.sqrt(np.sum((theta[1] - theta[0]) ** 2, axis=1))))

    def gap(self, theta: FloatArray, ratios: FloatArray, alpha: float) -> float:
        """Duality gap at the weights that belong to the models.

        Penalties and slacks fall apart into those of the mean of both models, whose curvature is
        twice the ridge, and of their difference, whose curvature is half of it.
        """
        slack = self.slack(ratios)
        mean, difference = 0.5 * (theta[0] + theta[1]), theta[1] - theta[0]
        common, _ = conjugate_gap(mean, slack[0] + slack[1], 0.0, 2.0 * self.ridge)
        apart, _ = conjugate_gap(difference, 0.5 * (slack[1] - slack[0]), alpha, 0.5 * self.ridge)
        hidden = 0.0
        for part, ratio in zip(theta, ratios, strict=True):
            own = log_softmax(ratio)
            length = float(np.sqrt(np.sum(part**2)))
            hidden += divergence_rounding(self.features, part.size, length, self.offset, own, own)
        return common + apart + hidden


def _walk(
    problem: _FusedProblem, alphas: FloatArray, tol: float, max_iter: int
) -> Iterator[SampledFusedSolution]:
    theta, curvature = np.zeros_like(problem.means), 1.0
    limit = tol * problem.features.n_variables
    for alpha in alphas:
        theta, curvature, n_iter, history = _solve(
            problem, float(alpha), theta, curvature, limit, max_iter
        )
        ratios = problem.log_ratios(theta)
        full = [problem.features.full(problem.pairs, part) for part in theta]
        yield SampledFusedSolution(
            value=np.stack(full),
            objective=problem.loss(theta, ratios) + problem.penalty(theta, float(alpha)),
            gap=history[-1],
            n_iter=n_iter,
            converged=history[-1] <= limit,
            history=np.array(history),
            alpha=float(alpha),
        )


def _solve(
    problem: _FusedProblem,
    alpha: float,
    theta: FloatArray,
    curvature: float,
    limit: float,
    max_iter: int,
) -> tuple[FloatArray, float, int, list[float]]:
    """Accelerated proximal gradients; momentum starts anew whenever it points uphill."""
    ratios = problem.log_ratios(theta)
    ahead, ratios_ahead, momentum = theta, ratios, 1.0
    history: list[float] = []
    for n_iter in range(max_iter + 1):
        if n_iter % CHECK == 0 or n_iter == max_iter:
            history.append(problem.gap(theta, ratios, alpha))
            if history[-1] <= limit or n_iter == max_iter:
                break
        loss = problem.loss(ahead, ratios_ahead)
        gradient = problem.ridge * ahead - problem.slack(ratios_ahead)
        while True:
            moved = problem.proximal(ahead - gradient / curvature, 2.0 * alpha / curvature)
            moved_ratios = problem.log_ratios(moved)
            step = moved - ahead
            bound = loss + np.sum(gradient * step) + 0.5 * curvature * np.sum(step**2)
            if problem.loss(moved, moved_ratios) <= bound + 1e-13 * max(1.0, abs(loss)):
                break
            curvature *= 2.0
        if np.sum((ahead - moved) * (moved - theta)) > 0.0:
            momentum, ahead, ratios_ahead = 1.0, moved, moved_ratios
        else:
            following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            share = (momentum - 1.0) / following
            ahead = moved + share * (moved - theta)
            ratios_ahead = moved_ratios + share * (moved_ratios - ratios)
            momentum = following
        theta, ratios = moved, moved_ratios
        curvature *= EASE
    return theta, curvature, n_iter, history
