"""Bandwidth and alpha of a kernel-smoothed network, chosen by held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from edgewise._core.constraints import Constraint, Number
from edgewise._core.errors import InputError
from edgewise._core.parallel import parallel_map
from edgewise._core.plain_values import archived
from edgewise._core.typing import FloatArray, IntArray
from edgewise.data.table import Table
from edgewise.estimators.covariates.tree_nodes import Covariate
from edgewise.selection import CV
from edgewise.selection.choose import alpha_grid, make_folds
from edgewise.selection.search import default_ratio
from edgewise.solvers.covariates.cell_fits import path_risks
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from edgewise.stats.moments import (
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
#: Held-out rows that score a point overlap with those of its neighbours about this many times.
OVERLAP = 2.0


@archived
@dataclass(frozen=True, repr=False)
class KernelCV(CV):
    r"""Choose the bandwidth and the alpha of a `KernelGraph` together, by held-out rows.

    Parameters
    ----------
    cv : int, splitter or iterable
        Folds; a number is shuffled by the ``random_state`` of the estimator.
    n_alphas : int
        Alphas tried at each bandwidth, log-spaced down from the smallest with no edge.
    alpha_ratio : float, optional
        The smallest of them as a share of the largest; by default :math:`0.2 / \sqrt{m}` for m
        effective rows, at most 0.05, and 0.1 with no more than p.
    n_bandwidths : int
        Bandwidths to try, log-spaced from one that weighs all rows about alike down to one that
        leaves ``min_samples`` effective rows at the typical x. The search ends once two in a row
        are worse than the best before.

    Examples
    --------
    >>> from edgewise import KernelCV, KernelGraph
    >>> fine = KernelGraph(KernelCV(n_bandwidths=30))
    >>> only_alpha = KernelGraph(0.1, KernelCV(5))
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_bandwidths": Number(at_least=2, is_whole=True)
    }

    cv: Any = 3
    n_alphas: int | None = field(default=12, kw_only=True)
    n_bandwidths: int = field(default=12, kw_only=True)


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
        Alphas tried at each, from large to small.
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


def search_bandwidths(
    rows: Neighborhoods,
    bandwidths: FloatArray,
    alphas: FloatArray,
    rule: KernelCV,
    *,
    n_anchors: int,
    refit: bool,
    lasso: dict[str, Any],
    generator: np.random.Generator,
    n_jobs: int | None,
    verbose: int,
) -> KernelSearch:
    """Score every bandwidth and alpha around points of each fold."""
    folds = make_folds(rows.Y, rule.cv, generator)
    most = int(rows.min_samples) + 1
    if any(len(train) < most for train, _ in folds):
        raise InputError(
            "fold_too_small_for_kernel",
            folds=min((len(train) for train, _ in folds)),
            min_samples=rows.min_samples,
        )
    parts = [
        (rows.part(train), _held_out(rows, test, choose_anchors(test, n_anchors, generator)))
        for train, test in folds
    ]
    sizes = [len(test) for _, test in folds]
    risks: list[FloatArray] = []
    n_unconverged = 0
    for bandwidth, strengths in zip(bandwidths, alphas, strict=True):
        tasks = [(*part, float(bandwidth), strengths, refit, lasso) for part in parts]
        results = parallel_map(
            _score_fold,
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


class _HeldOutRows(NamedTuple):
    """Points of a fold, and the held-out rows that score each: responses and weights."""

    points: FloatArray
    Y: FloatArray
    weights: FloatArray


def _held_out(rows: Neighborhoods, test: IntArray, anchors: IntArray) -> _HeldOutRows:
    """Weigh the held-out rows around each anchor; where all are anchors, each row by itself."""
    if len(anchors) == len(test):
        return _HeldOutRows(rows.X[test], rows.Y[test], np.eye(len(test)))
    distances = squared_distances(rows.X[anchors], rows.X[test])
    width = bandwidth_for(distances, min(OVERLAP * len(test) / len(anchors), len(test) - 1.0))
    return _HeldOutRows(rows.X[anchors], rows.Y[test], kernel_weights(distances, width))


def _score_fold(
    near: Neighborhoods,
    held_out: _HeldOutRows,
    bandwidth: float,
    alphas: FloatArray,
    refit: bool,
    lasso: dict[str, Any],
) -> tuple[FloatArray, int]:
    """Mean risk at each alpha around the points of a fold, and the lassos not converged."""
    mean, S = near.moments(near.weights(held_out.points, bandwidth)[0])
    _, S_val = weighted_moments(held_out.Y, held_out.weights, location=mean)
    risks, n_unconverged = path_risks(S, S_val, alphas, refit=refit, **lasso)
    return risks.mean(axis=0), n_unconverged


def bandwidth_grid(rows: Neighborhoods, anchors: IntArray, n_bandwidths: int) -> FloatArray:
    """Bandwidths from all rows alike to the fewest effective rows around the typical point."""
    distances = squared_distances(rows.X[anchors], rows.X)
    widest = float(np.sqrt(distances.max()))
    if widest == 0.0:
        raise InputError("covariates_constant")
    narrowest = float(np.median(bandwidth_for(distances, rows.min_samples)))
    return np.geomspace(widest, min(narrowest, widest / 2.0), n_bandwidths)


def alpha_grids(
    rows: Neighborhoods, anchors: IntArray, bandwidths: FloatArray, rule: KernelCV
) -> FloatArray:
    """Alphas for each bandwidth, from the smallest with no edge at any anchor down."""
    grids = []
    for bandwidth in bandwidths:
        weights, _ = rows.weights(rows.X[anchors], float(bandwidth))
        _, S = rows.moments(weights)
        n_effective = float(np.median(effective_samples(weights)))
        ratio = rule.alpha_ratio
        share = default_ratio(n_effective, rows.Y.shape[1]) if ratio is None else ratio
        largest = max(alpha_max(here) for here in S)
        grids.append(alpha_grid(largest or 1.0, rule.n_alphas or 12, share))
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


def as_coordinates(table: Table, covariates: Sequence[Covariate], *, scale: str) -> FloatArray:
    """Turn covariates of any kind into points whose distances mean something.

    A numeric covariate becomes its share of the range of the fit, or stays as it is with
    ``scale="none"``; a boolean one becomes 0 or 1. Two levels of a categorical one are 1 apart,
    and so is a level that the fit did not see from all others.

    Returns
    -------
    ndarray of shape (n, n_coordinates)
    """
    columns = []
    for k, covariate in enumerate(covariates):
        values = table.values[:, k]
        if covariate.kind == "categorical":
            levels = table.levels[k] or ()
            known = {level: number for number, level in enumerate(covariate.levels)}
            other = len(covariate.levels)
            number = np.array([known.get(level, other) for level in levels])
            columns.append(np.eye(other + 1)[number[values.astype(np.int64)]] / np.sqrt(2.0))
            continue
        if covariate.kind == "numeric" and scale == "range":
            width = covariate.upper - covariate.lower
            values = (values - covariate.lower) / (width if width > 0 else 1.0)
        columns.append(values[:, None])
    return np.hstack(columns)
