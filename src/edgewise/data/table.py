"""The table that every method starts from: numbers, names, kinds and weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray
from edgewise.data.checks import check_weights
from edgewise.io.messages import quote_names, repeated
from edgewise.io.tables import RawTable


@dataclass(frozen=True, kw_only=True, eq=False)
class Table:
    """A rectangular table with one kind per column.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_features)
        Numbers; booleans as 0 and 1; categories as the positions of their level. NaN where a
        value is missing. May share memory with the input.
    names : tuple of str
        Column names, all different.
    kinds : tuple of str
        ``"numeric"``, ``"boolean"`` or ``"categorical"`` (text, dates and declared categories).
    levels : tuple
        For a categorical column the names of its levels, in the declared order or sorted; None
        for the others.
    weights : ndarray of shape (n_samples,) or None
        Sample weights as given.

    See Also
    --------
    edgewise.data.check_columns : Whether the columns are fit for a numerical method.

    Examples
    --------
    >>> import pandas as pd
    >>> table = Table.from_input(pd.DataFrame({"height": [1.5, None], "city": ["Ulm", "Bonn"]}))
    >>> table.names, table.kinds
    (('height', 'city'), ('numeric', 'categorical'))
    >>> table.values
    array([[1.5, 1. ],
           [nan, 0. ]])
    >>> table.levels[1]
    ('Bonn', 'Ulm')
    """

    values: FloatArray
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    weights: FloatArray | None = None

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.values)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.values.shape[1])

    @property
    def missing(self) -> BoolArray:
        """Where a value is missing, shape (n_samples, n_features)."""
        return np.isnan(self.values)

    @classmethod
    def from_input(
        cls,
        X: Any,
        *,
        names: Sequence[str] | None = None,
        sample_weight: Any = None,
    ) -> Table:
        """Build a table from whatever a user has.

        Parameters
        ----------
        X : array-like, data frame or RawTable
            A two-dimensional array (masked values count as missing), nested lists, a pandas,
            polars or pyarrow table, or what `edgewise.io.read_table` returned.
        names : sequence of str, optional
            Column names in place of those of ``X``; arrays without get ``x0``, ``x1``, ...
        sample_weight : array-like of shape (n_samples,), optional
            Not negative, not all zero.

        Returns
        -------
        Table

        Examples
        --------
        >>> Table.from_input([[1, 2], [3, 4]]).names
        ('x0', 'x1')
        """
        content = _content(X)
        n_samples, n_features = content.values.shape
        if n_samples == 0 or n_features == 0:
            raise InputError(
                f"X has {n_samples} rows and {n_features} columns; a table needs some of both."
            )
        return cls(
            values=content.values,
            names=_checked_names(content.names if names is None else names, n_features),
            kinds=content.kinds,
            levels=content.levels,
            weights=None if sample_weight is None else check_weights(sample_weight, n_samples),
        )


class _Column(NamedTuple):
    values: FloatArray
    kind: str
    levels: tuple[str, ...] | None


class _Content(NamedTuple):
    values: FloatArray
    names: Sequence[str]
    kinds: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]


def _content(X: Any) -> _Content:
    """Sort out what kind of table ``X`` is."""
    if isinstance(X, RawTable):
        return _stacked([_encode(column) for column in X.columns], X.names)
    if isinstance(X, (np.ndarray, list, tuple)):
        return _array_content(X)
    if hasattr(X, "toarray"):
        raise InputError("X is a sparse matrix. Pass X.toarray().")
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        if hasattr(X, "collect"):
            raise InputError("X is a lazy frame. Pass X.collect().") from None
        return _array_content(X)
    except ValueError as error:
        raise InputError(f"X has two columns of the same name: {error}.") from error
    return _stacked([_series_column(s) for s in frame.iter_columns()], frame.columns)


def _stacked(columns: list[_Column], names: Sequence[object]) -> _Content:
    return _Content(
        values=np.column_stack([c.values for c in columns]) if columns else np.empty((0, 0)),
        names=[str(name) for name in names],
        kinds=tuple(column.kind for column in columns),
        levels=tuple(column.levels for column in columns),
    )


def _array_content(X: Any) -> _Content:
    """Content of an array-like; arrays of numbers are kept whole, without a copy if possible."""
    try:
        array: AnyArray = np.asarray(X)
    except ValueError as error:
        raise InputError("The rows of X differ in length; give one value per column.") from error
    if array.ndim != 2:
        raise InputError(
            f"X must have two dimensions, rows and columns; it has {array.ndim}. "
            "Use X.reshape(-1, 1) for a single column."
        )
    names = [f"x{k}" for k in range(array.shape[1])]
    if array.dtype.kind not in "biuf":
        return _stacked([_encode(column) for column in array.T], names)
    values = array.astype(np.float64, copy=False)
    if isinstance(X, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(X), np.nan, values)
    kind = "boolean" if array.dtype.kind == "b" else "numeric"
    n_features = array.shape[1]
    return _Content(values, names, (kind,) * n_features, (None,) * n_features)


def _encode(column: AnyArray) -> _Column:
    """Turn one column of any dtype into floats."""
    if column.dtype.kind in "biuf":
        kind = "boolean" if column.dtype.kind == "b" else "numeric"
        return _Column(column.astype(np.float64), kind, None)
    if column.dtype.kind == "c":
        raise InputError("X holds complex numbers. Pass real and imaginary parts as columns.")
    if column.dtype.kind in "mM":
        is_gone = np.isnat(column)
        column = column.astype(str).astype(object)
        column[is_gone] = None
    return _encode_objects(column.tolist(), [_is_missing(value) for value in column.tolist()])


def _series_column(series: Any) -> _Column:
    """Turn one column of a data frame, held by narwhals, into floats."""
    import narwhals.stable.v2 as nw

    if series.dtype.is_numeric():
        return _Column(np.asarray(series.cast(nw.Float64).to_numpy(), np.float64), "numeric", None)
    declared = series.dtype.categories if isinstance(series.dtype, nw.Enum) else None
    if isinstance(series.dtype, nw.Categorical) and series.implementation.is_pandas_like():
        # Elsewhere the categories are whatever any column has used so far.
        declared = tuple(str(level) for level in series.cat.get_categories().to_list())
    return _encode_objects(
        series.to_list(),
        series.is_null().to_list(),
        is_category=isinstance(series.dtype, (nw.Categorical, nw.Enum)),
        declared=declared,
    )


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _encode_objects(
    values: list[Any],
    is_missing: list[bool],
    *,
    is_category: bool = False,
    declared: Sequence[str] | None = None,
) -> _Column:
    """Turn Python objects into floats: booleans, numbers, or else positions of sorted text."""
    present = [value for value, gone in zip(values, is_missing, strict=True) if not gone]
    kind = "categorical"
    levels: tuple[str, ...] | None = None
    if not is_category and all(isinstance(value, (Real, Decimal, np.bool_)) for value in present):
        is_boolean = present and all(isinstance(value, (bool, np.bool_)) for value in present)
        kind = "boolean" if is_boolean else "numeric"
        numbers = iter(float(value) for value in present)
    else:
        seen = {str(value) for value in present}
        levels = tuple(declared or sorted(seen))
        position = {level: float(k) for k, level in enumerate(levels)}
        numbers = iter(position[str(value)] for value in present)
    coded = np.array([np.nan if gone else next(numbers) for gone in is_missing])
    return _Column(coded, kind, levels)


def _checked_names(names: Sequence[object], n_features: int) -> tuple[str, ...]:
    given = tuple(str(name) for name in names)
    if len(given) != n_features:
        raise InputError(f"{len(given)} names were given for {n_features} columns.")
    if twice := repeated(given):
        raise InputError(f"More than one column is called {quote_names(twice)}. Rename them.")
    return given
