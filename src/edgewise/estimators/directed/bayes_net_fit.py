"""A learned Gaussian Bayesian network in the units of the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.estimators.base.arrangement import ArrangedStatistics
from edgewise.estimators.base.fits import residual_variances
from edgewise.estimators.directed.linear_network import LinearModel
from edgewise.graph import Graph
from edgewise.selection import Selection, ebic
from edgewise.selection.search import make_selection
from edgewise.solvers.directed.arc_lassos import BayesNetSolution

#: With more parents than this share of the rows, a refitted equation fits anything.
PARENTS_PER_ROW = 1 / 3


@dataclass(frozen=True)
class BayesNetFit:
    """A solution with the statistics it came from, and whether its intercepts are penalised."""

    solution: BayesNetSolution
    statistics: ArrangedStatistics
    has_free_bias: bool

    @property
    def converged(self) -> bool:
        """Whether the solver settled."""
        return self.solution.converged

    @cached_property
    def adjacency(self) -> BoolArray:
        """Which pairs are joined, whatever the direction."""
        arcs: BoolArray = self.statistics.restored(self.solution.value) != 0
        return arcs | arcs.T

    @property
    def n_arcs(self) -> int:
        """Number of arcs."""
        return int(np.count_nonzero(self.solution.value))

    @property
    def most_parents(self) -> int:
        """Largest number of parents of a column."""
        return int(np.count_nonzero(self.solution.value, axis=0).max())

    @property
    def tiers(self) -> IntArray:
        """Tier of each column."""
        return self.statistics.restored(self.solution.tiers)

    @cached_property
    def model(self) -> LinearModel:
        """Coefficients, intercepts and noise variances in the units of the data."""
        statistics, value = self.statistics, self.solution.value
        scale, location = statistics.scale, statistics.location
        coef = value * scale / scale[:, None]
        free = location - location @ coef
        intercept = free if self.has_free_bias else self.solution.intercept * scale
        variance = residual_variances(value, statistics.S) * scale**2 + (free - intercept) ** 2
        return LinearModel(
            coef=statistics.restored(coef),
            intercept=statistics.restored(intercept),
            noise_variance=statistics.restored(variance),
        )

    @property
    def location(self) -> FloatArray:
        """Mean of the columns."""
        return self.statistics.restored(self.statistics.location)

    def graph(self, names: list[str] | None) -> Graph:
        """Directed graph whose weights are the coefficients for standardised columns."""
        deviation = np.sqrt(self.statistics.S.diagonal())
        weights = self.solution.value / deviation * deviation[:, None]
        return Graph(self.statistics.restored(weights), names=names, directed=True)

    def refitted_log_likelihood(self) -> float:
        """Log-likelihood of all rows with the same arcs and free coefficients."""
        S, arcs = self.statistics.S, self.solution.value != 0
        variance = S.diagonal().copy()
        for j in np.flatnonzero(arcs.any(axis=0)).tolist():
            parents = np.flatnonzero(arcs[:, j])
            inner, cross = S[np.ix_(parents, parents)], S[parents, j]
            coefficients = np.linalg.lstsq(inner, cross, rcond=None)[0]
            variance[j] -= cross @ coefficients
        # Among few rows a relation may be exact by chance.
        variance = np.maximum(variance, 1e-12 * S.diagonal())
        n_samples = self.statistics.n_samples or 0.0
        return float(-0.5 * n_samples * np.sum(np.log(2 * np.pi * variance) + 1.0))


def choose_by_refitted_ebic(
    fits: Iterable[BayesNetFit], alphas: FloatArray, gamma: float
) -> Selection:
    """Take the alpha whose arcs have the smallest extended BIC; of those, the smallest.

    A wrong order needs more arcs for the same distribution, and shrunken coefficients make up for
    their bias with more arcs still, so that the arcs are judged by refitted coefficients. The same
    arcs then have the same criterion, and the smallest alpha shrinks them least.
    """
    values, n_arcs, n_unconverged = [], [], 0
    for fit in fits:
        # The sum of the criteria of all equations, -2 l + k log n + 2 gamma k log m for k
        # coefficients: that of an undirected graph with k edges and half the gamma.
        n_samples, m = fit.statistics.n_samples or 0.0, len(fit.statistics.S)
        is_judged = fit.most_parents <= PARENTS_PER_ROW * n_samples
        log_likelihood = fit.refitted_log_likelihood() if is_judged else -np.inf
        values.append(ebic(log_likelihood, fit.n_arcs, n_samples, m, gamma / 2))
        n_arcs.append(fit.n_arcs)
        n_unconverged += not fit.converged
    lowest = min(values)
    ties = [k for k, value in enumerate(values) if value <= lowest + 1e-9 * abs(lowest)]
    return make_selection(
        "ebic", alphas, np.array(values), ties[-1], n_unconverged, np.array(n_arcs)
    )
