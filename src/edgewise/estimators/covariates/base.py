"""Reading covariates and responses, for the estimators of a network given covariates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
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
from edgewise.estimators.covariates.tree_nodes import Covariate
from edgewise.graph import Graph


class CovariateEstimator(TableEstimator):
    """Base of the estimators of a Gaussian of Y that depends on X.

    A subclass sets ``covariates_`` and ``response_names_`` in its ``fit`` and supplies
    ``_mean_at`` and ``_precision_at``.
    """

    if TYPE_CHECKING:
        covariates_: list[Covariate]
        response_names_: list[str]

    @abstractmethod
    def _mean_at(self, covariates: Table) -> FloatArray:
        """Mean of the responses for each row, shape (n, p)."""

    @abstractmethod
    def _precision_at(self, covariates: Table) -> FloatArray:
        """Precision matrix of the responses for each row, shape (n, p, p)."""

    def predict_mean(self, X: Any) -> FloatArray:
        """Mean of the responses for each row of covariates, shape (n, p)."""
        check_is_fitted(self)
        return self._mean_at(self._read_covariates(X, self._kinds()))

    def predict_precision(self, X: Any) -> FloatArray:
        """Precision matrix of the responses for each row of covariates.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates as in the fit.

        Returns
        -------
        ndarray of shape (n, p, p)
        """
        check_is_fitted(self)
        return self._precision_at(self._read_covariates(X, self._kinds()))

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
        covariates, responses = self._read(X, Y, self._kinds(), self.response_names_)
        deviation = responses.values - self._mean_at(covariates)
        precision = self._precision_at(covariates)
        distance = np.einsum("ni,nij,nj->n", deviation, precision, deviation)
        log_determinant: FloatArray = np.linalg.slogdet(precision)[1]
        constant = responses.n_features * np.log(2.0 * np.pi)
        return float(np.mean(log_determinant - distance - constant) / 2.0)

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
            raise InputError("responses_required", type=type(self).__name__)
        if kinds is None:
            self._require_memory(Y)
        table = _read_responses(Y, responses)
        if covariates.n_samples != table.n_samples:
            raise InputError(
                "responses_row_count", n_samples=covariates.n_samples, n_samples2=table.n_samples
            )
        return covariates, table

    def _read_covariates(self, X: Any, kinds: Sequence[str] | None = None) -> Table:
        """Check covariates; with ``kinds``, that they are like those of the fit.

        A level that the fit did not see counts as none of those that it did.
        """
        table = Table.from_input(X)
        note_columns(self, X, reset=kinds is None)
        if gaps := _names(table, np.asarray(~np.isfinite(table.values).all(axis=0))):
            raise InputError("covariates_not_finite", gaps=gaps)
        numbers = np.where([kind == "numeric" for kind in table.kinds], table.values, 0.0)
        if error := about_size(numbers, table.names, noun="Covariate"):
            raise error
        for name, kind, known in zip(table.names, table.kinds, kinds or table.kinds, strict=True):
            if (kind == "categorical") != (known == "categorical"):
                raise InputError("covariate_type_changed", name=name, known=known, kind=kind)
        return table


def _read_responses(Y: object, names: Sequence[str] | None = None) -> Table:
    """Check responses; with ``names``, that they are those of the fit."""
    table = Table.from_input(Y, called="Y")
    is_nameless = not hasattr(Y, "columns")
    if is_nameless and names is not None and len(names) == table.n_features:
        table = replace(table, names=tuple(names))
    if text := _names(table, np.array([kind == "categorical" for kind in table.kinds])):
        raise InputError("text_responses", text=text)
    report = inspect_columns(table.values)
    if bad := _names(table, report.n_missing + report.n_infinite > 0):
        raise InputError("responses_not_finite", bad=bad)
    if error := about_size(table.values, table.names, noun="Response"):
        raise error
    if names is not None:
        if tuple(names) != table.names:
            raise InputError("responses_of_fit", names=table.names, names2=names)
        return table
    if table.n_features < 2:
        raise InputError("one_response")
    if table.n_samples < 2:
        raise InputError("one_row_of_tables")
    if report.constant:
        flat = [table.names[k] for k in report.constant]
        raise InputError("constant_responses", flat=flat)
    if flat := _names(table, ~varying_columns(table.values)):
        raise InputError("responses_constant_to_rounding", flat=flat)
    if report.identical:
        first, second = (table.names[k] for k in report.identical[0])
        raise InputError("identical_responses", first=first, second=second)
    return table


def _names(table: Table, is_meant: BoolArray) -> list[str]:
    return [table.names[k] for k in np.flatnonzero(is_meant).tolist()]


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeRows:
    """Training and validation rows, sorted so that nothing depends on their order in the tables.

    Attributes
    ----------
    X, X_val : Table
        Covariates. The second is None where there are no validation rows.
    Y, Y_val : ndarray of shape (n, p)
        Responses.
    responses : tuple of str
        Their names.
    unit, unit_val : ndarray of int or None
        Which rows belong together.
    """

    X: Table
    Y: FloatArray
    X_val: Table | None
    Y_val: FloatArray | None
    responses: tuple[str, ...]
    unit: IntArray | None = None
    unit_val: IntArray | None = None

    @property
    def units(self) -> IntArray | None:
        """Which rows belong together, training rows first."""
        parts = [one for one in (self.unit, self.unit_val) if one is not None]
        return np.concatenate(parts) if parts else None

    @property
    def counts(self) -> str:
        """Say how many rows there are."""
        n_validation = 0 if self.Y_val is None else len(self.Y_val)
        return f"{len(self.Y)} training rows, {n_validation} validation rows"


def split_rows(
    rows: tuple[Table, Table],
    validation: tuple[Table, Table] | None,
    *,
    needs_validation: bool,
    random_state: RandomState,
    unit: IntArray | None = None,
) -> TreeRows:
    """Sort the rows and, if need be, set half of them aside for validation.

    Those that belong together stay in their order, and are set aside together.
    """
    if unit is not None:
        return _split_units(*rows, unit, random_state, needs_validation=needs_validation)
    X, Y = _sorted(*rows)
    X_val, Y_val = (None, None) if validation is None else _sorted(*validation)
    if validation is None and needs_validation:
        order = as_generator(random_state).permutation(len(Y))
        n_train = (len(Y) + 1) // 2
        train, kept = np.sort(order[:n_train]), np.sort(order[n_train:])
        X_val, Y_val = replace(X, values=X.values[kept]), Y[kept]
        X, Y = replace(X, values=X.values[train]), Y[train]
    n_validation = 1 if Y_val is None else len(Y_val)
    if len(Y) < 2 or n_validation < 1:
        raise InputError("too_few_validation_rows", n_rows=len(Y), n_validation=n_validation)
    _check_variation(Y, rows[1].names)
    return TreeRows(X=X, Y=Y, X_val=X_val, Y_val=Y_val, responses=rows[1].names)


def _check_variation(Y: FloatArray, names: Sequence[str]) -> None:
    """Refuse responses that do not vary in the training rows."""
    if flat := [names[k] for k in np.flatnonzero(~varying_columns(Y)).tolist()]:
        raise InputError("responses_constant_in_training", flat=flat)


def _split_units(
    X: Table, Y: Table, unit: IntArray, random_state: RandomState, *, needs_validation: bool
) -> TreeRows:
    """Set half of the blocks or subjects aside, the training rows first."""
    number = np.unique(unit, return_inverse=True)[1]
    is_kept = np.zeros(len(unit), dtype=bool)
    if needs_validation:
        n_units = int(number.max()) + 1
        order = as_generator(random_state).permutation(n_units)
        is_kept = np.isin(number, order[(n_units + 1) // 2 :])
    if is_kept.all() or (needs_validation and not is_kept.any()):
        raise InputError("one_held_out_group")
    train = Y.values[~is_kept]
    _check_variation(train, Y.names)
    return TreeRows(
        X=replace(X, values=X.values[~is_kept]),
        Y=train,
        X_val=replace(X, values=X.values[is_kept]) if needs_validation else None,
        Y_val=Y.values[is_kept] if needs_validation else None,
        responses=Y.names,
        unit=number[~is_kept],
        unit_val=number[is_kept] if needs_validation else None,
    )


def _sorted(X: Table, Y: Table) -> tuple[Table, FloatArray]:
    """Sort rows by their responses; equal rows may change places."""
    order: IntArray = np.argsort(Y.values[:, 0], kind="stable")
    first = Y.values[order, 0]
    if (first[1:] == first[:-1]).any():
        order = np.lexsort(np.column_stack([X.values, Y.values]).T)
    return replace(X, values=X.values[order]), Y.values[order]


def describe_covariates(table: Table, bounds: Any = None) -> list[Covariate]:
    """Note the kind and the range of each covariate.

    ``bounds`` are ends of ranges that take the place of those of the rows, see `GraphTree`.
    """
    limits = {} if bounds is None else _check_bounds(bounds, table)
    covariates = []
    for k, name in enumerate(table.names):
        kind, levels = table.kinds[k], table.levels[k]
        if kind == "numeric":
            lower, upper = limits.get(k, (table.values[:, k].min(), table.values[:, k].max()))
            covariate = Covariate(name=name, kind=kind, lower=float(lower), upper=float(upper))
        else:
            covariate = Covariate(name=name, kind=kind, levels=levels or ())
        covariates.append(covariate)
    return covariates


def _check_bounds(bounds: Any, table: Table) -> dict[int, tuple[float, float]]:
    """Bounds of numeric covariates, by column number."""
    names = list(table.names)
    if isinstance(bounds, Mapping):
        if unknown := [name for name in bounds if name not in names]:
            raise InputError("bounds_unknown_covariate", unknown=unknown, names=names)
        pairs = {names.index(name): pair for name, pair in bounds.items()}
    else:
        array = np.asarray(bounds, dtype=np.float64)
        if array.shape == (2,):
            array = np.tile(array, (len(names), 1))
        if array.shape != (len(names), 2):
            raise InputError("bounds_shape", shape=array.shape, n_names=len(names))
        pairs = dict(enumerate(array.tolist()))
    limits = {}
    for column, pair in pairs.items():
        if table.kinds[column] != "numeric":
            continue
        lower, upper = (float(end) for end in pair)
        if not (np.isfinite([lower, upper]).all() and lower < upper):
            raise InputError("bounds_not_increasing", name=names[column], pair=pair)
        limits[column] = (lower, upper)
    return limits
