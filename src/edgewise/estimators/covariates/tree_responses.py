"""Responses of a tree: what they may be, and which rows train and which validate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import about_size, inspect_columns, varying_columns
from edgewise.data.table import Table
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
