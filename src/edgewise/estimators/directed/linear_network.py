"""Networks of linear equations: least squares, scores, interventions, predictions, samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.estimators.base.columns import refuse_relations
from edgewise.estimators.base.statistics import ArrangedStatistics, labels, positive_rows
from edgewise.estimators.base.summarizer import Summarizer
from edgewise.estimators.base.table import column_number, read_new_rows, read_rows
from edgewise.estimators.directed.known_arcs import (
    KnownArcs,
    known_arcs,
    read_interventions,
    told_apart,
)
from edgewise.graph import Graph
from edgewise.graph.equivalence import complete_dag, extend_pattern, longest_paths


class LinearModel(NamedTuple):
    """Equations of all variables: x = intercept + x coef + noise."""

    coef: FloatArray
    intercept: FloatArray
    noise_variance: FloatArray

    def log_likelihood(self, X: FloatArray, sample_weight: FloatArray | None) -> float:
        """Mean log-density of the rows that are complete."""
        by_row = self.row_log_likelihood(X)
        is_whole = ~np.isnan(by_row)
        if not is_whole.any():
            raise InputError("no_complete_row")
        weights = None if sample_weight is None else sample_weight[is_whole]
        return float(np.average(by_row[is_whole], weights=weights))

    def row_log_likelihood(self, X: FloatArray) -> FloatArray:
        """Log-density of each row; NaN where a value is missing."""
        residual = X - X @ self.coef - self.intercept
        terms = np.log(2 * np.pi * self.noise_variance) + residual**2 / self.noise_variance
        return np.asarray(-0.5 * terms.sum(axis=1))


class Equations(NamedTuple):
    """Least squares coefficients, [i, j] for the arc i -> j, and residual variances."""

    coef: FloatArray
    noise_variance: FloatArray


def fit_equations(S: FloatArray, dag: BoolArray, free: FreeRows | None = None) -> Equations:
    """Regress every variable on its parents, in the rows in which it was free."""
    coef, variance = np.zeros_like(S), S.diagonal().copy()
    if free is not None:
        variance = np.array([free.covariances[g][j, j] for j, g in enumerate(free.which)])
    for j in np.flatnonzero(dag.any(axis=0)).tolist():
        parents = np.flatnonzero(dag[:, j])
        if free is not None:
            S = free.covariances[free.which[j]]
        inner, cross = S[np.ix_(parents, parents)], S[parents, j]
        coef[parents, j] = np.linalg.lstsq(inner, cross, rcond=None)[0]
        variance[j] -= cross @ coef[parents, j]
    # Among few rows a relation may be exact by chance.
    return Equations(coef=coef, noise_variance=np.maximum(variance, 1e-12 * S.diagonal()))


class FreeRows(NamedTuple):
    """Moments of standardised columns in the rows in which each was free.

    ``covariances`` and ``means`` are those of groups of columns that were free in the same rows,
    ``n_samples`` of them, and ``which`` says the group of each column. ``told`` marks pairs of
    which one was set in rows where the other was free.
    """

    covariances: FloatArray
    means: FloatArray
    n_samples: FloatArray
    which: IntArray
    told: BoolArray


def free_rows(
    rows: FloatArray, weights: FloatArray | None, is_set: BoolArray, problem: NetworkProblem
) -> FreeRows:
    """Compute the moments behind each column's equation, in the order of the statistics."""
    statistics, names = problem.statistics, problem.names
    place = statistics.arrangement
    Z = (rows[:, place] - statistics.location) / statistics.scale
    is_set = is_set[:, place]
    if np.isnan(Z).any():
        raise InputError("missing_with_interventions")
    patterns, which = np.unique(is_set.T, axis=0, return_inverse=True)
    parts = []
    for pattern in patterns:
        w = np.where(pattern, 0.0, 1.0 if weights is None else weights)
        mean = np.average(Z, axis=0, weights=w)
        centered = (Z - mean) * np.sqrt(w / w.sum())[:, None]
        parts.append((centered.T @ centered, mean, w.sum()))
    covariances, means, n_samples = (np.stack(part) for part in zip(*parts, strict=True))
    for g, S in enumerate(covariances):
        if (flat := S.diagonal() < 1e-12).any():
            of = names[int(np.flatnonzero(which.reshape(-1) == g)[0])]
            raise InputError(
                "constant_without_intervention",
                "interventions",
                columns=[names[k] for k in np.flatnonzero(flat)],
                of=of,
            )
    return FreeRows(covariances, means, n_samples, which.reshape(-1), told_apart(is_set))


class NetworkProblem(NamedTuple):
    """What a directed network is learned from, with the columns in an order of their own.

    Attributes
    ----------
    statistics : ArrangedStatistics
        Correlations, and the way back to the columns of the table.
    n_samples : float
        Rows, or the sum of their weights, that any two columns have in common at least.
    known : KnownArcs
        Arcs that may and that must be there.
    names : list of str
        Names of the columns.
    free : FreeRows or None
        Moments of the rows in which each column was free, where some were set.
    """

    statistics: ArrangedStatistics
    n_samples: float
    known: KnownArcs
    names: list[str]
    free: FreeRows | None = None


def network_problem(
    estimator: Any,
    X: Any,
    sample_weight: ArrayLike | None,
    advice: str,
    interventions: Any = None,
) -> NetworkProblem:
    """Read the rows and the knowledge that an estimator is fitted to."""
    rows, weights = read_rows(estimator, X, sample_weight, advice)
    names = labels(estimator._names(), range(rows.shape[1]))
    is_set = read_interventions(interventions, len(rows), names)
    if is_set is not None and weights is not None:
        is_set = is_set[weights > 0]
    rows, weights = positive_rows(rows, weights)
    known = known_arcs(estimator.forbidden, estimator.required, estimator.tiers, names)
    summarizer = Summarizer(names=names, missing=estimator.missing, repair=estimator.repair)
    statistics = summarizer.of_arranged_rows(rows, weights, is_fold=False)
    statistics = statistics.on_correlation_scale()
    names = [names[k] for k in statistics.arrangement]
    if estimator.repair is None:
        refuse_relations(statistics, rows, names)
    known = KnownArcs(
        allowed=statistics.arranged(known.allowed), required=statistics.arranged(known.required)
    )
    problem = NetworkProblem(statistics, _fewest_rows(rows, weights), known, names)
    if is_set is None or not is_set.any():
        return problem
    return problem._replace(free=free_rows(rows, weights, is_set, problem))


def _fewest_rows(X: FloatArray, weights: FloatArray | None) -> float:
    """Rows, or the sum of their weights, that any two columns have in common at least."""
    count = np.ones(len(X)) if weights is None else weights
    is_seen = ~np.isnan(X)
    if is_seen.all():
        return float(count.sum())
    common: FloatArray = (is_seen * count[:, None]).T @ is_seen
    return float(common.min())


def identified_arcs(dag: BoolArray, allowed: BoolArray, told: BoolArray | None) -> BoolArray:
    """Return what is identified of a graph, given which arcs may be and what experiments tell."""
    return complete_dag(dag, allowed if told is None else allowed & ~(told & dag.T))


def representative(
    dag: BoolArray, cpdag: BoolArray, allowed: BoolArray, place: IntArray | None = None
) -> BoolArray:
    """Return the network of a class that follows from what is identified, and nothing else.

    Scores of the networks of a class differ by rounding only, so that which of them a search ends
    at is chance. Columns are gone through in the order of ``place``.
    """
    order = np.arange(len(dag)) if place is None else place
    block, back = np.ix_(order, order), np.argsort(order)
    extension = extend_pattern(cpdag[block], allowed[block])
    return extension.dag[np.ix_(back, back)] if extension.is_consistent else dag


class LinearNetwork:
    """Mixin of the estimators that learn ``coef_``, ``intercept_`` and ``noise_variance_``.

    ``order_`` holds the tier of each column, below those of the columns it has arcs to.
    """

    if TYPE_CHECKING:
        coef_: FloatArray
        intercept_: FloatArray
        noise_variance_: FloatArray
        order_: IntArray
        graph_: Graph
        n_features_in_: int
        random_state: RandomState
        _allowed: BoolArray

        def _as_rows(self, X: Any, *, reset: bool) -> FloatArray: ...
        def _names(self) -> list[str] | None: ...

    def _store_network(
        self,
        dag: BoolArray,
        cpdag: BoolArray,
        statistics: ArrangedStatistics,
        free: FreeRows | None = None,
    ) -> Graph:
        """Put a structure and its equations into the order and the units of the columns.

        Returns what the data identify of it.
        """
        scale, location, restored = statistics.scale, statistics.location, statistics.restored
        equations = fit_equations(statistics.S, dag, free)
        coef = equations.coef * scale / scale[:, None]
        names = self._names()
        self.coef_ = restored(coef)
        intercept = location - location @ coef
        if free is not None:
            means = (location + scale * free.means)[free.which]
            intercept = means.diagonal() - (means.T * coef).sum(axis=0)
        self.intercept_ = restored(intercept)
        self.noise_variance_ = restored(equations.noise_variance * scale**2)
        self.order_ = restored(longest_paths(dag))
        self.location_ = restored(location)
        self.graph_ = Graph(
            restored(equations.coef), names=names, directed=True, adjacency=restored(dag)
        )
        self.treatment_ = list(statistics.treatment)
        return Graph(restored(cpdag).astype(float), names=names, directed=True)

    def _class_of(self, dag: BoolArray) -> BoolArray:
        """Return what would be identified of another graph of the columns."""
        return identified_arcs(dag, self._allowed, getattr(self, "_told", None))

    def _require_equations(self) -> None:
        """Refuse to go on without a fit, or with a fit to columns that have no linear equations."""
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise InputError("no_linear_equations")

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean Gaussian log-likelihood per row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            Rows; one with missing values does not count, unless ``missing="error"``, which refuses
            it.
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        self._require_equations()
        rows, weights = read_new_rows(self, X, sample_weight)
        model = LinearModel(self.coef_, self.intercept_, self.noise_variance_)
        return model.log_likelihood(rows, weights)

    def score_samples(self, X: Any) -> FloatArray:
        """Log-density of each row, of which `score` is the mean; NaN where a value is missing.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)

        Returns
        -------
        ndarray of shape (n,)
        """
        self._require_equations()
        model = LinearModel(self.coef_, self.intercept_, self.noise_variance_)
        return model.row_log_likelihood(read_new_rows(self, X, None)[0])

    def do(self, values: Mapping[Any, float]) -> FloatArray:
        """Mean of every column when some are set from outside.

        Arcs into the columns that are set no longer count; all others follow their equations. Only
        as good as the directions of the arcs, of which those that are not identified could as well
        be turned round: `edgewise.inference.causal_effects` has the range, and intervals.

        Parameters
        ----------
        values : mapping
            What each column is set to, by name or number.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        self._require_equations()
        names = self.graph_.names
        fixed = {column_number(key, names): float(x) for key, x in values.items()}
        if bad := [names[k] for k, value in fixed.items() if not np.isfinite(value)]:
            raise InputError("set_to_not_finite", bad=bad)
        mean = np.zeros(self.n_features_in_)
        for tier in range(int(self.order_.max()) + 1):
            nodes = np.flatnonzero(self.order_ == tier)
            mean[nodes] = self.intercept_[nodes] + mean @ self.coef_[:, nodes]
            for node in fixed.keys() & set(nodes.tolist()):
                mean[node] = fixed[node]
        return mean

    def predict_node(self, node: str | int, X: Any) -> FloatArray:
        """Predict one column from its parents.

        Parameters
        ----------
        node : str or int
            Name or number of the column.
        X : array-like or data frame of shape (n, n_features)
            Rows. Values of columns that are not parents make no difference and may be NaN.

        Returns
        -------
        ndarray of shape (n,)
        """
        self._require_equations()
        column = column_number(node, self.graph_.names)
        rows = self._as_rows(X, reset=False)
        parents = np.flatnonzero(self.coef_[:, column])
        if bad := parents[~np.isfinite(rows[:, parents]).all(axis=0)].tolist():
            raise InputError(
                "predictors_not_finite",
                name=self.graph_.names[column],
                bad=[self.graph_.names[k] for k in bad],
            )
        return np.asarray(self.intercept_[column] + rows[:, parents] @ self.coef_[parents, column])

    def sample(self, n_samples: int = 1) -> Any:
        """Draw rows from the learned network.

        Parameters
        ----------
        n_samples : int
            Number of rows.

        Returns
        -------
        DataFrame or ndarray
            A data frame if the network was learned from one.
        """
        self._require_equations()
        if n_samples < 1:
            raise InputError("n_samples_at_least_one", n_samples=n_samples)
        noise = as_generator(self.random_state).normal(size=(n_samples, self.n_features_in_))
        rows = self.intercept_ + noise * np.sqrt(self.noise_variance_)
        for tier in range(1, int(self.order_.max()) + 1):
            nodes = np.flatnonzero(self.order_ == tier)
            rows[:, nodes] += rows @ self.coef_[:, nodes]
        if not hasattr(self, "feature_names_in_"):
            return rows
        import pandas as pd

        return pd.DataFrame(rows, columns=list(self.graph_.names))
