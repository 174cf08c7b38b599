"""Tests of the edges of networks of levels and numbers, by products of residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import special

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.graph import Graph
from edgewise.graph.metrics import GraphLike, as_adjacency
from edgewise.graph.rows import are_levels, level_columns, match_columns, residuals


@dataclass(frozen=True, eq=False)
class ProductTests:
    """Tests of all pairs, with estimates of those that have one product.

    Parameters
    ----------
    estimate : ndarray of shape (p, p)
        Correlations of residuals, NaN where there are several, and on the diagonal.
    pvalues : ndarray of shape (p, p)
        Of the products.
    degrees : ndarray of shape (p, p)
        How many products there are.
    """

    estimate: FloatArray
    pvalues: FloatArray
    degrees: FloatArray

    @property
    def standard_error(self) -> FloatArray:
        """What the p-value implies."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.abs(self.estimate / special.ndtri(self.pvalues / 2.0)))

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Leave out 0 exactly where the p-value is below one minus the level."""
        reach = float(-special.ndtri((1.0 - level) / 2.0)) * self.standard_error
        ends = (self.estimate - reach, self.estimate + reach)
        return np.clip(ends[0], -1.0, 1.0), np.clip(ends[1], -1.0, 1.0)


def product_tests(graph: GraphLike, X: Any) -> tuple[ProductTests, tuple[str, ...], int]:
    """Test all pairs of columns, each given its neighbours; also return names and rows."""
    table = match_columns(graph, X)
    if table.missing.any():
        raise InputError("missing_in_edge_tests")
    joined, _ = as_adjacency(graph)
    joined = joined | joined.T
    if len(joined) != table.n_features:
        raise InputError(
            "edge_tests_column_count", n_features=table.n_features, n_joined=len(joined)
        )
    values, is_level = table.values, are_levels(table)

    @cache
    def left(node: int, without: int) -> FloatArray:
        others = np.flatnonzero(joined[node])
        others = others[others != without]
        features = level_columns(values[:, others], is_level[others])
        return residuals(features, values[:, node], is_level=bool(is_level[node]))

    p = len(joined)
    estimate, pvalues, degrees = (np.full((p, p), np.nan) for _ in range(3))
    for i, j in zip(*np.triu_indices(p, 1), strict=True):
        # Without an edge, the regressions do not depend on the pair.
        pair = (left(i, j), left(j, i)) if joined[i, j] else (left(i, i), left(j, j))
        pvalues[i, j] = pvalues[j, i] = max(_hotelling(*pair), _chi_squared(*pair))
        degrees[i, j] = degrees[j, i] = max(pair[0].shape[1] * pair[1].shape[1], 1)
        if all(one.shape[1] == 1 for one in pair):
            estimate[i, j] = estimate[j, i] = _correlation(*pair)
    names = tuple(graph.names if isinstance(graph, Graph) else table.names)
    return ProductTests(estimate, pvalues, degrees), names, len(values)


def pooled(tests: Sequence[ProductTests]) -> ProductTests:
    r"""Pool the tests of several fillings of the same missing values.

    With :math:`d_m` the chi-squared statistics of q degrees that have the p-values of M fillings,
    and :math:`r = (1 + 1/M) \operatorname{var} \sqrt{d_m}`, how much the fillings differ,
    :math:`D = (\bar d / q - r (M + 1) / (M - 1)) / (1 + r)` has an F distribution of q and
    :math:`q^{-3/M} (M - 1) (1 + 1/r)^2` degrees of freedom (Li and others 1991).
    """
    if len(tests) == 1:
        return tests[0]
    m, q = len(tests), np.max([one.degrees for one in tests], axis=0)
    squares = special.chdtri(q, np.clip([one.pvalues for one in tests], 1e-300, 1.0))
    spread = (1.0 + 1.0 / m) * np.var(np.sqrt(squares), axis=0, ddof=1)
    D = (squares.mean(axis=0) / q - spread * (m + 1) / (m - 1)) / (1.0 + spread)
    with np.errstate(divide="ignore"):
        rest = np.minimum(q ** (-3.0 / m) * (m - 1) * (1.0 + 1.0 / spread) ** 2, 1e8)
    estimate: FloatArray = np.mean([one.estimate for one in tests], axis=0)
    return ProductTests(estimate, special.fdtrc(q, rest, np.maximum(D, 0.0)), q)


def _correlation(first: FloatArray, second: FloatArray) -> float:
    """Correlate residuals about 0; NaN where there are none."""
    size = float(np.sqrt(np.sum(first**2) * np.sum(second**2)))
    return float(np.sum(first * second)) / size if size > 0.0 else np.nan


def _hotelling(first: FloatArray, second: FloatArray) -> float:
    """Test whether products of residuals have a mean of 0, by their own covariance."""
    n = len(first)
    products = (first[:, :, None] * second[:, None, :]).reshape(n, -1)
    mean = products.mean(axis=0)
    C = np.atleast_2d(np.cov(products.T))
    scale = np.sqrt(C.diagonal())
    known = scale > 1e-12
    if not known.any():
        return 1.0
    C, mean, scale = C[np.ix_(known, known)], mean[known], scale[known]
    size, axes = np.linalg.eigh(C / np.outer(scale, scale))
    # Products that follow from others say nothing more.
    kept = size > 1e-8
    q = int(kept.sum())
    statistic = n * float(np.sum((axes[:, kept].T @ (mean / scale)) ** 2 / size[kept]))
    if n <= q + 1:
        return 1.0
    return float(special.fdtrc(q, n - q, statistic * (n - q) / (q * (n - 1))))


def _chi_squared(first: FloatArray, second: FloatArray) -> float:
    """Test the same, by the covariance that products of independent residuals have."""
    bases = []
    if not first.shape[1] * second.shape[1]:
        return 1.0
    for one in (first, second):
        axes, size, _ = np.linalg.svd(one - one.mean(axis=0), full_matrices=False)
        bases.append(axes[:, size > 1e-8 * max(float(size[0]), 1e-12)])
    q = bases[0].shape[1] * bases[1].shape[1]
    if not q:
        return 1.0
    return float(special.chdtrc(q, len(first) * np.sum((bases[0].T @ bases[1]) ** 2)))
