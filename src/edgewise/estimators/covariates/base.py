"""What estimators of responses given covariates share: checked tables, graphs and likelihood."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import about_size, inspect_columns, varying_columns
from edgewise.data.table import Table
from edgewise.estimators.base.table import TableEstimator, note_columns
from edgewise.estimators.covariates.tree_nodes import Covariate, check_covariates
from edgewise.graph import Graph
from edgewise.io.messages import quote_names


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeRows:
    """Training and validation rows, each in an order that does not depend on how they came.

    Attributes
    ----------
    X, X_val : Table
        Covariates. The second is None where there are no validation rows.
    Y, Y_val : ndarray of shape (n, p)
        Responses.
    responses : tuple of str
        Their names.
    """

    X: Table
    Y: FloatArray
    X_val: Table | None
    Y_val: FloatArray | None
    responses: tuple[str, ...]


def read_responses(Y: object, names: Sequence[str] | None = None) -> Table:
    """Take responses from whatever a user has; with ``names``, like those of the fit only."""
    table = _table(Y, names)
    if text := _names(table, np.array([kind == "categorical" for kind in table.kinds])):
        raise InputError(f"Responses {quote_names(text)} hold text, not numbers. Leave them out.")
    report = inspect_columns(table.values)
    if bad := _names(table, report.n_missing + report.n_infinite > 0):
        raise InputError(
            f"Responses {quote_names(bad)} hold missing or infinite values. Fill them, or drop "
            "those rows."
        )
    if sentence := about_size(table.values, table.names, noun="Response"):
        raise InputError(sentence)
    if names is not None:
        if tuple(names) != table.names:
            raise InputError(
                f"Y has the columns {quote_names(table.names)}; the model was fitted to "
                f"{quote_names(names)}. Pass the columns of the fit."
            )
        return table
    if table.n_features < 2:
        raise InputError("Y has one column; a network needs at least two variables.")
    if table.n_samples < 2:
        raise InputError("Found 1 sample (rows of the tables); at least 2 are needed.")
    if report.constant:
        flat = [table.names[k] for k in report.constant]
        raise InputError(f"Responses {quote_names(flat)} have one value in every row. Drop them.")
    if flat := _names(table, ~varying_columns(table.values)):
        raise InputError(
            f"Responses {quote_names(flat)} are constant up to rounding. Drop them, or take the "
            "mean off."
        )
    if report.identical:
        first, second = (table.names[k] for k in report.identical[0])
        raise InputError(f"Responses '{first}' and '{second}' are identical. Drop one.")
    return table


def split_rows(
    rows: tuple[Table, Table],
    validation: tuple[Table, Table] | None,
    *,
    needs_validation: bool,
    random_state: RandomState,
) -> TreeRows:
    """Sort the rows and, if need be, set half of them aside for validation."""
    X, Y = _in_order(*rows)
    names = rows[1].names
    if validation is not None:
        X_val, Y_val = _in_order(*validation)
        return _checked(TreeRows(X=X, Y=Y, X_val=X_val, Y_val=Y_val, responses=names))
    if not needs_validation:
        return _checked(TreeRows(X=X, Y=Y, X_val=None, Y_val=None, responses=names))
    order = as_generator(random_state).permutation(len(Y))
    n_train = (len(Y) + 1) // 2
    train, kept = np.sort(order[:n_train]), np.sort(order[n_train:])
    return _checked(
        TreeRows(
            X=replace(X, values=X.values[train]),
            Y=Y[train],
            X_val=replace(X, values=X.values[kept]),
            Y_val=Y[kept],
            responses=names,
        )
    )


def _checked(rows: TreeRows) -> TreeRows:
    """Refuse training rows that no Gaussian can be fitted to."""
    n_validation = 1 if rows.Y_val is None else len(rows.Y_val)
    if len(rows.Y) < 2 or n_validation < 1:
        raise InputError(
            f"There are {len(rows.Y)} training and {n_validation} validation rows; at least 2 and "
            "1 are needed."
        )
    if flat := [rows.responses[k] for k in np.flatnonzero(~varying_columns(rows.Y)).tolist()]:
        raise InputError(
            f"Responses {quote_names(flat)} have one value in every training row. Drop them, or "
            "split the rows in another way."
        )
    return rows


def _in_order(X: Table, Y: Table) -> tuple[Table, FloatArray]:
    order = _row_order(Y.values, X.values)
    return replace(X, values=X.values[order]), Y.values[order]


def _row_order(Y: FloatArray, X: FloatArray) -> IntArray:
    """Order of the rows that does not depend on how they came; equal rows may change places."""
    order: IntArray = np.argsort(Y[:, 0], kind="stable")
    first = Y[order, 0]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort(np.column_stack([X, Y]).T)
    return order


def _table(Y: object, names: Sequence[str] | None) -> Table:
    """Read a table; columns without names are called y0, y1, ..., or as in the fit."""
    table = Table.from_input(Y, called="Y")
    is_nameless = not hasattr(Y, "columns")
    if is_nameless and names is not None and len(names) == table.n_features:
        return replace(table, names=tuple(names))
    return table


def _names(table: Table, is_meant: BoolArray) -> list[str]:
    return [table.names[k] for k in np.flatnonzero(is_meant).tolist()]


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
