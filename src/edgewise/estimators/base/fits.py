"""What a solver found, together with the statistics it came from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.estimators.base.statistics import Statistics
from edgewise.graph import Graph
from edgewise.selection import gaussian_log_likelihood
from edgewise.solvers import Solution
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution


class PathFit(Protocol):
    """One fit along a path, as far as the search looks at it."""

    @property
    def adjacency(self) -> BoolArray:
        """Which pairs are joined."""
        ...

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        ...


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


class GaussianModel(NamedTuple):
    """What scoring rows takes of a fit."""

    location: FloatArray
    precision: FloatArray
    covariance: FloatArray
    log_determinant: float | None = None


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

    def graph(self, names: list[str] | None) -> Graph:
        """Graph whose weights are the mean of the two standardised coefficients of a pair."""
        joined = self.adjacency
        mean = (self.solution.value + self.solution.value.T) / 2
        return Graph(np.where(joined, mean, 0.0), names=names, adjacency=joined)


class NeighborhoodModel(NamedTuple):
    """What scoring rows takes of a fit."""

    location: FloatArray
    coef: FloatArray
    residual_variance: FloatArray


def residual_variances(coef: FloatArray, moments: FloatArray) -> FloatArray:
    """Mean squared residual of each regression, from second moments of the rows."""
    explained = np.sum((2.0 * moments - moments @ coef) * coef, axis=0)
    return np.asarray(moments.diagonal() - explained)
