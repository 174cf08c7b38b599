"""The table that every method starts from: numbers, names, kinds and weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Complex, Real
from typing import Any, Final, NamedTuple

import numpy as np

from edgewise._core.arrays import to_numpy
from edgewise._core.errors import InputError, InputTypeError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.data.checks import TEXT, check_columns, check_weights
from edgewise.io.messages import repeated
from edgewise.io.tables import RawTable

#: Whole numbers up to this size are the same as floats.
EXACT: Final = 2**53
#: What pandas writes for a missing value among objects; by name, since pandas may not be loaded.
MISSING_TYPES: Final = ("NAType", "NaTType")


class Column(NamedTuple):
    """A column as floats.

    Attributes
    ----------
    values : ndarray of shape (n_samples,)
        NaN where a value is missing.
    kind : str
        ``"numeric"``, ``"boolean"`` or ``"categorical"``.
    levels : tuple of str or None
        Levels of a categorical column.
    is_ordered : bool
        Whether the order of the levels was declared.
    """

    values: FloatArray
    kind: str
    levels: tuple[str, ...] | None
    is_ordered: bool = False


def as_floats(values: AnyArray, names: Sequence[str]) -> FloatArray:
    """Turn a table of numbers into floats, without a copy if possible.

    Raises
    ------
    InputError
        Where whole numbers that differ would become the same float.
    """
    if values.dtype.kind in "iu" and values.dtype.itemsize == 8 and values.size:
        is_large = (values.max(axis=0) > EXACT) | (values.min(axis=0) < -EXACT)
        for k in np.flatnonzero(is_large).tolist():
            distinct = np.unique(values[:, k])
            _refuse_merged(len(distinct), len(np.unique(distinct.astype(np.float64))), names[k])
    # A long double beyond the largest float becomes inf, which is refused later and by name.
    with np.errstate(over="ignore"):
        return values.astype(np.float64, copy=False)


def encode(column: AnyArray, name: str) -> Column:
    """Turn one column of any dtype into floats."""
    if column.dtype.kind in "biuf":
        kind = "boolean" if column.dtype.kind == "b" else "numeric"
        return Column(as_floats(column[:, None], [name])[:, 0], kind, None)
    if column.dtype.kind == "c":
        raise _complex_numbers(name)
    if column.dtype.kind in "mM":
        is_gone = np.isnat(column)
        column = column.astype(str).astype(object)
        column[is_gone] = None
    values = column.tolist()
    return _encode_objects(values, [_is_missing(value) for value in values], name)


def encode_series(series: Any, name: str) -> Column:
    """Turn one column of a data frame, held by narwhals, into floats."""
    import narwhals.stable.v2 as nw

    if series.dtype.is_numeric():
        floats = series.cast(nw.Float64)
        if series.dtype.is_integer() and _is_beyond_exact(floats.min(), floats.max()):
            _refuse_merged(series.n_unique(), floats.n_unique(), name)
        return Column(np.asarray(floats.to_numpy(), np.float64), "numeric", None)
    declared = None
    if isinstance(series.dtype, nw.Enum):
        # Ordered categories of pandas may be anything, such as the intervals of a cut.
        declared = tuple(str(level) for level in series.dtype.categories)
    elif type(getattr(series.to_native(), "dtype", None)).__name__ == "CategoricalDtype":
        # Elsewhere the categories are whatever any column has used so far.
        declared = tuple(str(level) for level in series.cat.get_categories().to_list())
    column = _encode_objects(
        series.to_list(),
        series.is_null().to_list(),
        name,
        is_category=isinstance(series.dtype, (nw.Categorical, nw.Enum)),
        declared=declared,
    )
    return column._replace(is_ordered=isinstance(series.dtype, nw.Enum))


def _is_beyond_exact(lowest: float | None, highest: float | None) -> bool:
    return lowest is not None and highest is not None and max(-lowest, highest) >= EXACT


def is_written_number(text: str) -> bool:
    """Whether text is a number in writing."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_missing(value: object) -> bool:
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or type(value).__name__ in MISSING_TYPES


def _encode_objects(
    values: list[Any],
    is_missing: list[bool],
    name: str,
    *,
    is_category: bool = False,
    declared: Sequence[str] | None = None,
) -> Column:
    """Turn Python objects into floats: booleans, numbers, or else positions of sorted text."""
    present = [value for value, gone in zip(values, is_missing, strict=True) if not gone]
    kind = "categorical"
    levels: tuple[str, ...] | None = None
    if not is_category and all(isinstance(value, (Real, Decimal, np.bool_)) for value in present):
        is_boolean = present and all(isinstance(value, (bool, np.bool_)) for value in present)
        kind = "boolean" if is_boolean else "numeric"
        numbers = iter(_object_numbers(present, name))
    else:
        _refuse_containers(present, name)
        seen = {str(value) for value in present}
        levels = tuple(declared or sorted(seen))
        position = {level: float(k) for k, level in enumerate(levels)}
        numbers = iter([position[str(value)] for value in present])
    coded = np.array([np.nan if gone else next(numbers) for gone in is_missing])
    return Column(coded, kind, levels)


def _object_numbers(present: list[Any], name: str) -> list[float]:
    try:
        numbers = [float(value) for value in present]
    except OverflowError as error:
        raise InputError("integers_too_large", name=name) from error
    if any(isinstance(value, int) and abs(value) > EXACT for value in present):
        _refuse_merged(len(set(present)), len(set(numbers)), name)
    return numbers


def _refuse_merged(n_distinct: int, n_floats: int, name: str) -> None:
    """Refuse whole numbers that differ but are the same as floats."""
    if n_floats < n_distinct:
        raise InputError(
            "integers_beyond_float",
            name=name,
            n_distinct=n_distinct,
            n_distinct2=n_distinct - n_floats,
        )


def _refuse_containers(present: list[Any], name: str) -> None:
    for value in present:
        if isinstance(value, Complex) and not isinstance(value, Real):
            raise _complex_numbers(name)
        if isinstance(value, (dict, list, set, np.ndarray)):
            raise InputTypeError("objects_in_column", name=name, type=type(value).__name__)


def _complex_numbers(name: str) -> InputError:
    return InputError("complex_column", name=name)


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
    ordered : tuple of bool
        Whether the order of the levels of each column was declared, as by ordered categories of
        pandas or an Enum of polars.
    weights : ndarray of shape (n_samples,) or None
        Sample weights as given.

    See Also
    --------
    edgewise.data.checks.check_columns : Whether the columns are fit for a numerical method.

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
    ordered: tuple[bool, ...]
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

    def stray_word(self, name: str) -> tuple[int, str] | None:
        """Row and text of the first entry that is no number, in a column where others are.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        tuple of int and str, or None

        Examples
        --------
        >>> Table.from_input([["1.5", "a"], ["n/a", "b"]]).stray_word("x0")
        (1, 'n/a')
        """
        k = self.names.index(name)
        is_number = [is_written_number(level) for level in self.levels[k] or ()]
        if not any(is_number):
            return None
        codes = np.where(self.missing[:, k], is_number.index(True), self.values[:, k])
        is_stray = ~np.array(is_number)[codes.astype(np.int64)]
        if not is_stray.any():
            return None
        row = int(is_stray.argmax())
        return row, (self.levels[k] or ())[int(codes[row])]

    def refuse_text(self, *, allows_order: bool = False) -> None:
        """Raise an `InputError` that names the columns which hold no numbers, if any do.

        Parameters
        ----------
        allows_order : bool
            Whether categories with a declared order pass for numbers.

        Examples
        --------
        >>> Table.from_input([[1, 2], [3, "n/a"]]).refuse_text()
        Traceback (most recent call last):
            ...
        edgewise._core.errors.InputError: Column 'x1' holds text, not numbers: 'n/a' in row 1.
        Drop it, or convert it to numbers.
        """
        kinds = [
            "numeric" if allows_order and has_order else kind
            for kind, has_order in zip(self.kinds, self.ordered, strict=True)
        ]
        text = [name for name, kind in zip(self.names, kinds, strict=True) if kind == TEXT]
        if len(text) == 1 and (stray := self.stray_word(text[0])):
            row, word = stray
            raise InputError("text_column", text=text[0], word=word, row=row)
        if text:
            check_columns(self.values, self.names, kinds=kinds)

    @classmethod
    def from_input(
        cls,
        X: Any,
        *,
        names: Sequence[str] | None = None,
        sample_weight: Any = None,
        called: str = "X",
    ) -> Table:
        """Build a table from whatever a user has.

        Parameters
        ----------
        X : array-like, data frame, AnnData or RawTable
            A two-dimensional array (masked values count as missing), nested lists, a pandas,
            polars or pyarrow table, the ``X`` of an AnnData with its ``var_names``, or what
            `edgewise.io.read_table` returned.
        names : sequence of str, optional
            Column names in place of those of ``X``; arrays without get ``x0``, ``x1``, ...
        sample_weight : array-like of shape (n_samples,), optional
            Not negative, not all zero.
        called : str
            What the messages call the table; columns without names are called after it.

        Returns
        -------
        Table

        Examples
        --------
        >>> Table.from_input([[1, 2], [3, 4]]).names
        ('x0', 'x1')
        """
        content = _content(X, called)
        n_samples, n_features = content.values.shape
        if n_samples == 0 or n_features == 0:
            lacking = "sample" if n_samples == 0 else "feature"
            raise InputError(
                "empty_table",
                called=called,
                n_samples=n_samples,
                n_features=n_features,
                lacking=lacking,
            )
        return cls(
            values=content.values,
            names=_checked_names(content.names if names is None else names, n_features),
            kinds=content.kinds,
            levels=content.levels,
            ordered=content.ordered,
            weights=None if sample_weight is None else check_weights(sample_weight, n_samples),
        )


class _Content(NamedTuple):
    values: FloatArray
    names: Sequence[str]
    kinds: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    ordered: tuple[bool, ...]


def _content(X: Any, called: str) -> _Content:
    """Sort out what kind of table ``X`` is."""
    if isinstance(X, RawTable):
        columns = zip(X.columns, X.names, strict=True)
        return _stacked([encode(column, name) for column, name in columns], X.names, X.n_rows)
    if isinstance(X, (np.ndarray, list, tuple)):
        return _array_content(X, called)
    if is_anndata(X):
        return _array_content(dense(X.X), called)._replace(names=column_names(X))
    if hasattr(X, "__dask_graph__"):
        raise InputError("dask_not_table", called=called)
    if hasattr(X, "toarray"):
        raise InputError("sparse_not_table", called=called)
    import narwhals.stable.v2 as nw

    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        if hasattr(X, "collect"):
            raise InputError("lazy_frame", called=called) from None
        if hasattr(X, "schema") and hasattr(X, "__arrow_c_array__"):
            return _content(_whole_batch(X), called)
        return _array_content(X, called)
    except ValueError as error:
        twice = repeated([str(name) for name in getattr(X, "column_names", X.columns)])
        raise InputError("repeated_names_in_table", called=called, twice=twice) from error
    names = column_names(X) if _has_name_levels(X) else [str(name) for name in frame.columns]
    if (content := _numeric_content(frame, names)) is not None:
        return content
    columns = zip(frame.iter_columns(), names, strict=True)
    return _stacked([encode_series(series, name) for series, name in columns], names, len(frame))


def _numeric_content(frame: Any, names: Sequence[str]) -> _Content | None:
    """Take a data frame at once, which is quick, if its columns are numbers of common kinds."""
    kinds = {str(dtype) for dtype in frame.schema.values()}
    if not kinds or not kinds <= {"Float64", "Int64", "Int32"}:
        return None
    values = frame.to_numpy()
    if values.dtype.kind not in "if":
        # Some were missing among integers.
        return None
    # Comparisons with NaN are False.
    if "Int64" in kinds and ((values >= EXACT).any() or (values <= -EXACT).any()):
        return None
    p = len(names)
    # Column by column, as data frames hold them.
    floats = np.asfortranarray(values, dtype=np.float64)
    return _Content(floats, names, ("numeric",) * p, (None,) * p, (False,) * p)


def _whole_batch(batch: Any) -> Any:
    """Turn a batch of rows of pyarrow, which would lose its names as an array, into a table."""
    import pyarrow as pa

    return pa.table(batch)


def _stacked(columns: list[Column], names: Sequence[str], n_rows: int) -> _Content:
    return _Content(
        # Column by column, as data frames hold them.
        values=np.array([c.values for c in columns]).T if columns else np.empty((n_rows, 0)),
        names=names,
        kinds=tuple(column.kind for column in columns),
        levels=tuple(column.levels for column in columns),
        ordered=tuple(column.is_ordered for column in columns),
    )


def _array_content(X: Any, called: str) -> _Content:
    """Content of an array-like; arrays of numbers are kept whole, without a copy if possible."""
    array, is_masked = _as_array(X, called)
    names = [f"{called.lower()}{k}" for k in range(array.shape[1])]
    if array.dtype.kind not in "biuf":
        if is_masked is not None:
            array = array.astype(object)
            array[is_masked] = None
        columns = [encode(column, name) for column, name in zip(array.T, names, strict=True)]
        return _stacked(columns, names, len(array))
    values = as_floats(array, names)
    if is_masked is not None:
        values = np.where(is_masked, np.nan, values)
    kind = "boolean" if array.dtype.kind == "b" else "numeric"
    n = array.shape[1]
    return _Content(values, names, (kind,) * n, (None,) * n, (False,) * n)


def _as_array(X: Any, called: str) -> tuple[AnyArray, BoolArray | None]:
    """Array of two dimensions, and which of its entries are masked, if any."""
    try:
        array: AnyArray = to_numpy(X)
        if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
            # One word in a list would turn the numbers beside it into text.
            array = np.asarray(X, dtype=object)
    except ValueError as error:
        raise InputError("ragged_rows", called=called) from error
    if array.ndim == 0 and array.dtype.kind not in "biufc":
        raise InputTypeError("not_a_table", called=called, type=type(X).__name__)
    if array.dtype.names is not None:
        raise InputError("record_array", called=called)
    if array.ndim != 2:
        raise InputError("not_two_dimensional", called=called, ndim=array.ndim)
    return array, np.ma.getmaskarray(X) if np.ma.is_masked(X) else None


def _checked_names(names: Sequence[object], n_features: int) -> tuple[str, ...]:
    given = tuple(str(name) for name in names)
    if len(given) != n_features:
        raise InputError("names_given_count", n_given=len(given), n_features=n_features)
    if nameless := [k for k, name in enumerate(given) if not name.strip()]:
        raise InputError("nameless_column", nameless=nameless[0], given=given[nameless[0]])
    if twice := repeated(given):
        raise InputError("repeated_column_names", twice=twice)
    return given


def is_anndata(X: Any) -> bool:
    """Whether a table is an AnnData of observations (rows) by variables (columns)."""
    return all(hasattr(X, name) for name in ("X", "obs_names", "var_names"))


def dense(matrix: Any) -> Any:
    """Return a matrix with all of its entries, once a sparse one has been found to be sound.

    Of a damaged file, places of entries may lie outside, where they would be written to.
    """
    if not hasattr(matrix, "toarray"):
        return matrix
    if hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise InputError("sparse_matrix_damaged", error=error) from error
    return matrix.toarray()


def _has_name_levels(X: Any) -> bool:
    """Whether the columns of a pandas frame have names of several parts."""
    return getattr(getattr(X, "columns", None), "nlevels", 1) > 1


def column_names(X: Any) -> list[Any]:
    """Names of the columns of a data frame or an AnnData; none for an array.

    Names of several parts are joined: ``lab_CRP``.
    """
    if _has_name_levels(X):
        return ["_".join(str(part) for part in name if str(part)) for name in X.columns]
    return list(X.var_names if is_anndata(X) else getattr(X, "columns", ()))


def take_rows(X: Any, rows: IntArray) -> Any:
    """Take rows of an array, a data frame or an AnnData, which stays one."""
    import narwhals.stable.v2 as nw

    if is_anndata(X):
        # A copy, since a view may not be changed or saved.
        return X[rows].copy()
    frame = nw.from_native(X, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(frame, (nw.DataFrame, nw.Series)):
        return frame[rows.tolist()].to_native()
    # Any kind of array, so that masked values stay masked.
    return np.asanyarray(X)[rows]
