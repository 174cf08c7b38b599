"""Choosing how far a kernel reaches, and how sparse its graphs are, by rows that were held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.selection import alpha_grid
from edgewise.selection.choose import make_folds
from edgewise.selection.search import default_ratio
from edgewise.solvers.covariates.nearby_fits import path_risks
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from edgewise.stats.kernel import (
    bandwidth_for,
    effective_samples,
    kernel_weights,
    weighted_moments,
)

#: Variance below which a response counts as constant near a point, as a share of that of all rows.
FLOOR = 1e-6
#: Duality gap per variable of the graphical lassos of a search.
SEARCH_TOL = 1e-5
#: Narrower bandwidths without a smaller risk after which a search ends.
PATIENCE = 2
#: Held-out rows that judge a point overlap with those of its neighbours about this many times.
OVERLAP = 2.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighborhoods:
    """Rows to be averaged around points, in the units of the search.

    Attributes
    ----------
    X : ndarray of shape (n, n_coordinates)
        Coordinates of the rows.
    Y : ndarray of shape (n, p)
        Responses with mean 0 and, if standardised, variance 1.
    own_mean : bool
        Whether a point has the mean of the rows around it, instead of the mean of all.
    min_samples : float
        Effective rows that each point gets at least; its bandwidth is widened to that.
    """

    X: FloatArray
    Y: FloatArray
    own_mean: bool
    min_samples: float

    def weights(self, points: FloatArray, bandwidth: float) -> tuple[FloatArray, FloatArray]:
        """Weights of the rows around points, and the bandwidth at each."""
        distances = squared_distances(points, self.X)
        width = np.full(len(points), bandwidth)
        weights = kernel_weights(distances, bandwidth)
        few = np.flatnonzero(effective_samples(weights) < self.min_samples)
        if few.size:
            width[few] = bandwidth_for(distances[few], self.min_samples)
            weights[few] = kernel_weights(distances[few], width[few])
        return weights, width

    def moments(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance under each set of weights, variances raised to the floor."""
        location = None if self.own_mean else np.zeros((len(weights), self.Y.shape[1]))
        mean, S = weighted_moments(self.Y, weights, location=location)
        diagonal = np.einsum("nii->ni", S)
        np.maximum(diagonal, FLOOR * self.Y.var(axis=0), out=diagonal)
        return mean, S

    def part(self, rows: IntArray) -> Neighborhoods:
        """Take some of the rows."""
        return Neighborhoods(
            X=self.X[rows], Y=self.Y[rows], own_mean=self.own_mean, min_samples=self.min_samples
        )


class KernelSearch(NamedTuple):
    """Outcome of a search.

    Attributes
    ----------
    bandwidths : ndarray of shape (n_bandwidths,)
        From wide to narrow.
    alphas : ndarray of shape (n_bandwidths, n_alphas)
        Strengths tried at each, from large to small.
    risks : ndarray of shape (n_bandwidths, n_alphas)
        Mean held-out risk.
    n_unconverged : int
        Graphical lassos that stopped above their tolerance.
    """

    bandwidths: FloatArray
    alphas: FloatArray
    risks: FloatArray
    n_unconverged: int

    @property
    def best(self) -> tuple[int, int]:
        """Position of the least risk; of equal ones the widest, then the sparsest."""
        first, second = np.unravel_index(int(np.argmin(self.risks)), self.risks.shape)
        return int(first), int(second)


def search(
    rows: Neighborhoods,
    bandwidths: FloatArray,
    alphas: FloatArray,
    *,
    refit: bool,
    lasso: dict[str, Any],
    cv: Any,
    n_anchors: int,
    random_state: RandomState,
    n_jobs: int | None,
    verbose: int,
) -> KernelSearch:
    """Judge every bandwidth and strength around points of each fold."""
    generator = as_generator(random_state)
    folds = make_folds(rows.Y, cv, generator)
    most = int(rows.min_samples) + 1
    if any(len(train) < most for train, _ in folds):
        raise InputError(
            f"A fold leaves {min(len(train) for train, _ in folds)} rows to fit to, and "
            f"min_samples={rows.min_samples:g} asks for more. Pass a larger cv or a smaller "
            "min_samples."
        )
    parts = [
        (rows.part(train), _Judge.of(rows, test, choose_anchors(test, n_anchors, generator)))
        for train, test in folds
    ]
    sizes = [len(test) for _, test in folds]
    risks: list[FloatArray] = []
    n_unconverged = 0
    for bandwidth, strengths in zip(bandwidths, alphas, strict=True):
        tasks = [(*part, float(bandwidth), strengths, refit, lasso) for part in parts]
        results = parallel_map(
            _judge_fold,
            tasks,
            n_jobs=n_jobs,
            description=f"Bandwidth {bandwidth:.3g}",
            verbose=verbose,
        )
        risks.append(np.average([risk for risk, _ in results], axis=0, weights=sizes))
        n_unconverged += sum(count for _, count in results)
        best = int(np.argmin([risk.min() for risk in risks]))
        if len(risks) - 1 - best >= PATIENCE:
            break
    return KernelSearch(
        bandwidths=bandwidths[: len(risks)],
        alphas=alphas[: len(risks)],
        risks=np.stack(risks),
        n_unconverged=n_unconverged,
    )


class _Judge(NamedTuple):
    """Points of a fold, and the held-out rows that judge each: responses and weights."""

    points: FloatArray
    Y: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, rows: Neighborhoods, test: IntArray, anchors: IntArray) -> _Judge:
        if len(anchors) == len(test):
            return cls(rows.X[test], rows.Y[test], np.eye(len(test)))
        distances = squared_distances(rows.X[anchors], rows.X[test])
        width = bandwidth_for(distances, min(OVERLAP * len(test) / len(anchors), len(test) - 1.0))
        return cls(rows.X[anchors], rows.Y[test], kernel_weights(distances, width))


def _judge_fold(
    near: Neighborhoods,
    judge: _Judge,
    bandwidth: float,
    alphas: FloatArray,
    refit: bool,
    lasso: dict[str, Any],
) -> tuple[FloatArray, int]:
    """Mean risk at each strength around the points of a fold, and the lassos not converged."""
    mean, S = near.moments(near.weights(judge.points, bandwidth)[0])
    _, S_val = weighted_moments(judge.Y, judge.weights, location=mean)
    risks, n_unconverged = path_risks(S, S_val, alphas, refit=refit, **lasso)
    return risks.mean(axis=0), n_unconverged


def bandwidth_grid(rows: Neighborhoods, anchors: IntArray, n_bandwidths: int) -> FloatArray:
    """Bandwidths from all rows alike to the fewest effective rows around the typical point."""
    distances = squared_distances(rows.X[anchors], rows.X)
    widest = float(np.sqrt(distances.max()))
    if widest == 0.0:
        raise InputError("All covariates are constant, so nothing can vary with them.")
    narrowest = float(np.median(bandwidth_for(distances, rows.min_samples)))
    return np.geomspace(widest, min(narrowest, widest / 2.0), n_bandwidths)


def alpha_grids(
    rows: Neighborhoods,
    anchors: IntArray,
    bandwidths: FloatArray,
    *,
    n_alphas: int,
    ratio: float | None,
) -> FloatArray:
    """Strengths for each bandwidth, from the smallest with no edge at any anchor down."""
    grids = []
    for bandwidth in bandwidths:
        weights, _ = rows.weights(rows.X[anchors], float(bandwidth))
        _, S = rows.moments(weights)
        n_effective = float(np.median(effective_samples(weights)))
        share = default_ratio(n_effective, rows.Y.shape[1]) if ratio is None else ratio
        largest = max(alpha_max(here) for here in S)
        grids.append(alpha_grid(largest or 1.0, n_alphas, share))
    return np.stack(grids)


def choose_anchors(rows: IntArray, n_anchors: int, generator: np.random.Generator) -> IntArray:
    """Take some of the rows, or all where they are not more."""
    if len(rows) <= n_anchors:
        return rows
    return np.sort(generator.choice(rows, n_anchors, replace=False))


def squared_distances(points: FloatArray, rows: FloatArray) -> FloatArray:
    """Squared distances, shape (n_points, n_rows); a row is at distance 0 from itself exactly."""
    total = np.zeros((len(points), len(rows)))
    for k in range(points.shape[1]):
        total += (points[:, k, None] - rows[:, k]) ** 2
    return total


def neighboring_order(points: FloatArray) -> IntArray:
    """Order points so that those next to each other in the list are close."""
    waiting: list[IntArray] = [np.arange(len(points))]
    order: list[IntArray] = []
    while waiting:
        part = waiting.pop()
        spread = np.ptp(points[part], axis=0)
        if len(part) < 3 or not spread.any():
            order.append(part)
            continue
        part = part[np.argsort(points[part, int(spread.argmax())], kind="stable")]
        waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
    return np.concatenate(order)


def chunks(order: IntArray, size: int) -> Sequence[IntArray]:
    """Cut an order into pieces that do not depend on who works on them."""
    return [order[k : k + size] for k in range(0, len(order), size)]
