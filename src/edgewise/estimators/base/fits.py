"""Fits along a path, with the statistics they came from, and what ``path`` methods return."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from edgewise._core.arrays import to_numpy
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.estimators.base.statistics import Statistics
from edgewise.estimators.base.summarizer import Summarizer
from edgewise.estimators.base.table import ON_LATENT_SCALE
from edgewise.graph import Graph
from edgewise.selection.choose import ConvergenceWarning, decreasing
from edgewise.selection.criteria import ebic, gaussian_log_likelihood, row_log_likelihood
from edgewise.selection.search import Choice, Grid, PathProblem
from edgewise.solvers import Solution
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution
from edgewise.stats import covariance as covariance_of


@dataclass(frozen=True)
class PrecisionFit:
    """A precision matrix with the statistics it came from."""

    solution: PrecisionSolution
    statistics: Statistics

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @cached_property
    def adjacency(self) -> BoolArray:
        """Which pairs are joined."""
        joined: BoolArray = self.solution.value != 0
        np.fill_diagonal(joined, False)
        return joined

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(np.count_nonzero(self.adjacency)) // 2

    @property
    def is_complete(self) -> bool:
        """Whether all pairs are joined."""
        return is_complete(self.adjacency)

    def ebic(self, gamma: float) -> float:
        """Return the extended BIC."""
        n_samples = self.statistics.n_samples or 0.0
        n_features = len(self.statistics.S)
        return ebic(n_samples * self.log_likelihood, self.n_edges, n_samples, n_features, gamma)

    @cached_property
    def log_likelihood(self) -> float:
        """Mean log-likelihood of the rows on the scale that the solver works on."""
        value, S = self.solution.value, self.statistics.S
        return gaussian_log_likelihood(value, S, log_determinant=self._log_determinant)

    @cached_property
    def _log_determinant(self) -> float:
        return float(np.linalg.slogdet(self.solution.value)[1])

    @property
    def log_determinant(self) -> float:
        """Log-determinant of the precision in the units of the data."""
        return self._log_determinant - 2.0 * float(np.sum(np.log(self.statistics.scale)))

    @property
    def location(self) -> FloatArray:
        """Mean of the columns."""
        return self.statistics.location

    @property
    def precision(self) -> FloatArray:
        """Precision in the units of the data."""
        scale = self.statistics.scale
        return self.solution.value / np.outer(scale, scale)

    @property
    def covariance(self) -> FloatArray:
        """Covariance in the units of the data."""
        scale = self.statistics.scale
        return self.solution.covariance * np.outer(scale, scale)


@dataclass(frozen=True)
class GaussianFit(PrecisionFit):
    """A graphical lasso, with the penalty in its objective."""

    penalty: float

    @cached_property
    def _log_determinant(self) -> float:
        # The objective is the trace, less the log-determinant, plus the penalty.
        trace = float(np.sum(self.solution.value * self.statistics.S))
        return trace + self.penalty - self.solution.objective


def is_complete(adjacency: BoolArray) -> bool:
    """Whether all pairs are joined."""
    return int(np.count_nonzero(adjacency)) == len(adjacency) * (len(adjacency) - 1)


def gaussian_score(
    fit: PrecisionFit | GaussianModel,
    rows: FloatArray,
    weights: FloatArray | None,
    summarizer: Summarizer,
) -> float:
    """Mean log-likelihood of the observed entries of rows."""
    if summarizer.covariance in ON_LATENT_SCALE:
        return gaussian_log_likelihood(fit.precision, summarizer.of_scored_rows(rows, weights))
    if np.isnan(rows).any():
        by_row = row_log_likelihood(rows, fit.location, fit.covariance)
        return float(np.average(by_row, weights=weights))
    _, moments = covariance_of(rows - fit.location, sample_weight=weights, assume_centered=True)
    return gaussian_log_likelihood(fit.precision, moments, log_determinant=fit.log_determinant)


def gap_warning(solution: Solution, tol: float) -> ConvergenceWarning:
    """Return the warning of a solver that stopped above its tolerance."""
    return ConvergenceWarning(
        "gap_above_tol", n_iter=solution.n_iter, gap=solution.gap, tol=tol * len(solution.value)
    )


def note_choice(estimator: Any, choice: Choice, statistics: Statistics) -> None:
    """Set the attributes about alpha, the certificate and the data that estimators share."""
    solution = choice.fit.solution
    estimator.alpha_ = choice.alpha
    estimator.alphas_ = choice.alphas
    estimator.selection_ = choice.selection
    estimator.treatment_ = list(choice.fit.statistics.treatment)
    estimator.converged_ = choice.fit.converged
    estimator.n_iter_ = solution.n_iter
    estimator.gap_ = solution.gap
    estimator.objective_ = solution.objective
    estimator.smallest_p_value_ = statistics.smallest_p_value()
    if statistics.ordinal is not None:
        estimator.ordinal_ = statistics.ordinal


def note_decided(estimator: Any, decided: BoolArray | None) -> None:
    """Set which pairs are proven to be the optimum's, also in the graph; nothing without proof."""
    for name in ("decided_", "is_decided_"):
        vars(estimator).pop(name, None)
    if decided is not None:
        estimator.decided_ = decided
        estimator.is_decided_ = bool(decided.all())
        estimator.graph_ = replace(estimator.graph_, decided=decided)


def either_way(chosen: BoolArray, decided: BoolArray, rule: str) -> BoolArray:
    """Tell which pairs are decided that two regressions join: by both ("and") or by one ("or")."""
    present, absent = chosen & decided, ~chosen & decided
    if rule == "and":
        return np.asarray((present & present.T) | absent | absent.T)
    return np.asarray(present | present.T | (absent & absent.T))


def grid_of(estimator: Any, statistics: Statistics, least_ratio: float = 0.0) -> Grid:
    """Return the alphas that the rule of an estimator tries, or its path by default."""
    rule = estimator._alpha.grid_rule(estimator.alpha)
    return Grid.of(rule, statistics.n_rows, len(statistics.S), least_ratio)


def solve_grid(
    alphas: Any, problem: PathProblem, statistics: Any, grid: Grid
) -> tuple[FloatArray, list[Any]]:
    """Fit at the alphas that are given, from large to small, or at those of a grid."""
    if alphas is None:
        alphas = grid.alphas(problem.largest_alpha(statistics))
    else:
        alphas = decreasing(np.asarray(alphas))
    return alphas, list(problem.solve_path(statistics, alphas))


class GaussianModel(NamedTuple):
    """Parameters needed to score new rows."""

    location: FloatArray
    precision: FloatArray
    covariance: FloatArray
    log_determinant: float | None = None

    @classmethod
    def of(cls, estimator: Any) -> Self:
        """Take the fitted arrays of an estimator, which may be those of another library."""
        names = "location_", "precision_", "covariance_"
        return cls(*(to_numpy(getattr(estimator, name)) for name in names))


@dataclass(frozen=True)
class NeighborhoodFit:
    """The regressions of all variables with the statistics they came from."""

    solution: Solution
    statistics: Statistics
    rule: str

    @property
    def converged(self) -> bool:
        """Whether every regression met its tolerance."""
        return self.solution.converged

    @cached_property
    def adjacency(self) -> BoolArray:
        """Pairs joined by the rule."""
        chosen: BoolArray = self.solution.value != 0
        return chosen & chosen.T if self.rule == "and" else chosen | chosen.T

    @property
    def n_edges(self) -> int:
        """Number of coefficients that are not 0."""
        return int(np.count_nonzero(self.solution.value))

    @property
    def is_complete(self) -> bool:
        """Whether all pairs are joined."""
        return is_complete(self.adjacency)

    def ebic(self, gamma: float) -> float:
        """Sum of the regressions' criteria, -2 l + k log n + 2 gamma k log p.

        For k coefficients, that of a graph with k edges and half the gamma.
        """
        n_samples, S = self.statistics.n_samples or 0.0, self.statistics.S
        variance = residual_variances(self.solution.value, S)
        log_likelihood = float(-0.5 * n_samples * np.sum(np.log(2 * np.pi * variance) + 1.0))
        return ebic(log_likelihood, self.n_edges, n_samples, len(S), gamma / 2)

    @property
    def location(self) -> FloatArray:
        """Mean of the columns."""
        return self.statistics.location

    @property
    def coef(self) -> FloatArray:
        """Coefficients in the units of the data."""
        scale = self.statistics.scale
        return self.solution.value * scale / scale[:, None]

    @property
    def residual_variance(self) -> FloatArray:
        """Residual variance of each regression in the units of the data."""
        return residual_variances(self.solution.value, self.statistics.S) * (
            self.statistics.scale**2
        )

    @property
    def decided(self) -> BoolArray | None:
        """Pairs that are proven to be joined, or not, at the optimum."""
        known = self.solution.decided
        return None if known is None else either_way(self.solution.value != 0, known, self.rule)

    def graph(self, names: list[str] | None) -> Graph:
        """Graph whose weights are the mean of the two standardised coefficients of a pair."""
        joined = self.adjacency
        mean = (self.solution.value + self.solution.value.T) / 2
        return Graph(np.where(joined, mean, 0.0), names=names, adjacency=joined)


class NeighborhoodModel(NamedTuple):
    """Parameters needed to score new rows."""

    location: FloatArray
    coef: FloatArray
    residual_variance: FloatArray


def residual_variances(coef: FloatArray, moments: FloatArray) -> FloatArray:
    """Mean squared residual of each regression, from second moments of the rows."""
    explained = np.sum((2.0 * moments - moments @ coef) * coef, axis=0)
    return np.asarray(moments.diagonal() - explained)


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphPath:
    """Graphs along a sequence of alphas.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        From large to small.
    graphs : tuple of Graph
        One per alpha.
    gaps : ndarray of shape (n_alphas,)
        Duality gap of each fit.
    converged : ndarray of bool, shape (n_alphas,)
        Whether each fit met its tolerance.
    """

    alphas: FloatArray
    graphs: tuple[Graph, ...]
    gaps: FloatArray
    converged: BoolArray

    @classmethod
    def of(
        cls, alphas: FloatArray, fits: Sequence[Any], graphs: Iterable[Graph], **more: FloatArray
    ) -> Self:
        """Collect the fits of a path, their graphs, and what a subclass has besides."""
        return cls(
            alphas=alphas,
            graphs=tuple(graphs),
            gaps=np.array([fit.solution.gap for fit in fits]),
            converged=np.array([fit.converged for fit in fits]),
            **more,
        )

    @property
    def n_edges(self) -> IntArray:
        """Number of edges of each graph."""
        return np.array([graph.n_edges for graph in self.graphs])


@dataclass(frozen=True, kw_only=True, eq=False)
class PrecisionPath(GraphPath):
    """Graphs along a sequence of alphas, with the precision matrices behind them.

    Attributes
    ----------
    precisions : ndarray of shape (n_alphas, p, p)
        In the units of the data.
    """

    precisions: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class LocallyConstantPath(PrecisionPath):
    """Graphs for combinations of alpha and tau: all taus of the first alpha, then of the next.

    Attributes
    ----------
    taus : ndarray of shape (n_alphas,)
        Strength of local constancy that goes with each of ``alphas``.
    """

    taus: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class CoefficientPath(GraphPath):
    """Graphs along a sequence of alphas, with the regressions behind them.

    Attributes
    ----------
    coefs : ndarray of shape (n_alphas, p, p)
        ``coefs[k, i, j]`` is the coefficient of variable i in the regression of j.
    """

    coefs: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangePath(GraphPath):
    """Changes between two groups along a sequence of alphas.

    Attributes
    ----------
    changes : ndarray of shape (n_alphas, p, p)
        Signed change of every pair, with the variables on the diagonal.
    """

    changes: FloatArray

    @property
    def entry(self) -> FloatArray:
        """Largest alpha at which each pair changes, of shape (p, p); 0 where none does."""
        entered = np.where(self.changes != 0, self.alphas[:, None, None], 0.0)
        return np.asarray(entered.max(axis=0))

    @property
    def order(self) -> FloatArray:
        """Score to rank pairs by, of shape (p, p): the entry, and the last change among ties."""
        size = np.abs(self.changes[-1])
        steps = np.searchsorted(self.alphas[::-1], self.entry)
        return np.where(self.entry > 0, steps + 1 + size / (1 + size.max()), 0.0)
