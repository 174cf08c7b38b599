"""What estimators of responses given covariates share: checked tables, graphs and likelihood."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.data.table import Table
from edgewise.estimators.base.table import TableEstimator, note_columns
from edgewise.estimators.covariates.tree_nodes import Covariate, check_covariates
from edgewise.estimators.covariates.tree_responses import read_responses
from edgewise.graph import Graph


class CovariateEstimator(TableEstimator):
    """Base of the estimators that are fitted to covariates and responses.

    A subclass sets ``covariates_`` and ``response_names_``.
    """

    if TYPE_CHECKING:
        covariates_: list[Covariate]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.target_tags.required = True
        # A table of responses, also where it has one column.
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def _kinds(self) -> list[str]:
        return [covariate.kind for covariate in self.covariates_]

    def _read(
        self,
        X: Any,
        Y: Any,
        kinds: Sequence[str] | None = None,
        responses: Sequence[str] | None = None,
    ) -> tuple[Table, Table]:
        """Check covariates and responses; without kinds, these are the rows to learn from."""
        covariates = self._read_covariates(X, kinds)
        if Y is None:
            raise InputError(
                f"Y is of type NoneType; {type(self).__name__} requires y to be passed, but the "
                "target y is None. Pass the table of responses as Y."
            )
        if kinds is None:
            self._require_memory(Y)
        table = read_responses(Y, responses)
        if covariates.n_samples != table.n_samples:
            raise InputError(
                f"X has {covariates.n_samples} rows and Y has {table.n_samples}; each row of "
                "Y belongs to one of X."
            )
        return covariates, table

    def _read_covariates(self, X: Any, kinds: Sequence[str] | None = None) -> Table:
        table = Table.from_input(X)
        note_columns(self, X, reset=kinds is None)
        check_covariates(table, kinds)
        return table


class ConditionalEstimator(CovariateEstimator):
    """Base of the estimators whose Gaussian of Y depends on X without a tree.

    A subclass sets ``covariates_`` and ``response_names_`` and supplies ``predict_mean`` and
    ``predict_precision``.
    """

    @abstractmethod
    def predict_mean(self, X: Any) -> FloatArray:
        """Mean of the responses for each row of covariates, shape (n, p)."""

    @abstractmethod
    def predict_precision(self, X: Any) -> FloatArray:
        """Precision matrix of the responses for each row of covariates, shape (n, p, p)."""

    def predict_graphs(self, X: Any) -> list[Graph]:
        """Graph of the responses for each row of covariates.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates as in the fit.

        Returns
        -------
        list of Graph
            Weights are partial correlations.
        """
        precisions = self.predict_precision(X)
        return [
            Graph.from_precision(precision, names=self.response_names_) for precision in precisions
        ]

    def score(self, X: Any, Y: Any) -> float:
        """Mean log-likelihood of the responses given the covariates, per row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates.
        Y : array-like or data frame of shape (n, p)
            Responses.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        _, responses = self._read(X, Y, self._kinds(), self.response_names_)
        return self._mean_log_likelihood(X, responses.values)

    def _mean_log_likelihood(self, X: Any, Y: FloatArray) -> float:
        deviation = Y - self.predict_mean(X)
        precision = self.predict_precision(X)
        distance = np.einsum("ni,nij,nj->n", deviation, precision, deviation)
        log_determinant: FloatArray = np.linalg.slogdet(precision)[1]
        constant = Y.shape[1] * np.log(2.0 * np.pi)
        return float(np.mean(log_determinant - distance - constant) / 2.0)


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
