"""Column checks shared by all estimators."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.messages import Note
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.io.messages import NAMES_SHOWN, quote_names

#: Values up to this size can be squared and summed without overflow.
LARGEST: Final = 1e150
#: In columns without larger values than this, squares of differences vanish.
SMALLEST: Final = 1e-130
#: A standard deviation of at most this share of the largest value is nothing but rounding.
ROUNDING: Final = 4.0 * float(np.finfo(np.float64).eps)


def about_size(
    values: FloatArray,
    names: Sequence[str],
    noun: str = "Column",
    least: float = SMALLEST,
    most: float = LARGEST,
) -> InputError | None:
    """Return an error for columns whose squares overflow or vanish, if there are any.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
    names : sequence of str
    noun : {"Column", "Covariate", "Response"}
        The role of the columns.
    least : float
        The squares of smaller values vanish.
    most : float
        The squares of larger values overflow.

    Examples
    --------
    >>> print(about_size(np.array([[1.0, 1e200], [2.0, 3.0]]), ["dose", "count"]))
    Column 'count' holds values beyond 1e+150, whose squares overflow. Change its unit.
    """
    largest = _largest(values)
    is_large = (largest > most) & (largest < np.inf)
    is_small = (largest > 0) & (largest < least)
    if meant := [names[k] for k in np.flatnonzero(is_large).tolist()]:
        return InputError("values_too_large", noun=noun, columns=meant, most=most)
    if meant := [names[k] for k in np.flatnonzero(is_small).tolist()]:
        return InputError("values_too_small", noun=noun, columns=meant, least=least)
    return None


def varying_columns(values: FloatArray) -> BoolArray:
    """Whether the values of each column differ by more than rounding; missing ones do not count.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> varying_columns(np.array([[1.0, 0.1 + 0.2, 7.0], [2.0, 0.3, 7.0]]))
    array([ True, False, False])
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        lowest, highest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    size = np.maximum(np.abs(lowest), np.abs(highest))
    # No standard deviation is smaller than this share of the range, nor larger than the range.
    varies: BoolArray = highest - lowest > ROUNDING * size * np.sqrt(2.0 * len(values))
    for k in np.flatnonzero(~varies & (highest > lowest)).tolist():
        varies[k] = np.nanstd(values[:, k] - lowest[k]) > ROUNDING * size[k]
    return varies


def _largest(values: FloatArray) -> FloatArray:
    with warnings.catch_warnings():
        # A column of NaN alone is the caller's to allow.
        warnings.simplefilter("ignore", RuntimeWarning)
        largest: FloatArray = np.nanmax(np.abs(values), axis=0)
    return largest


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnReport:
    """What `inspect_columns` found.

    Attributes
    ----------
    n_missing : ndarray of shape (n_features,)
        Number of NaN per column.
    n_infinite : ndarray of shape (n_features,)
        Number of infinite values per column.
    constant : tuple of int
        Columns with a single value among the observed ones.
    identical : tuple of (int, int)
        Pairs of columns that agree in every row: an earlier column and its later copy. Constant
        and empty columns are not listed.

    Examples
    --------
    >>> report = inspect_columns(np.array([[1.0, 2.0, 1.0], [3.0, 2.0, 3.0]]))
    >>> report.constant, report.identical
    ((1,), ((0, 2),))
    """

    n_missing: IntArray
    n_infinite: IntArray
    constant: tuple[int, ...]
    identical: tuple[tuple[int, int], ...]


def inspect_columns(values: FloatArray) -> ColumnReport:
    """Count missing and infinite values; find constant columns and copies.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)

    Returns
    -------
    ColumnReport

    Examples
    --------
    >>> inspect_columns(np.array([[1.0, np.nan], [2.0, 5.0]])).n_missing
    array([0, 1])
    """
    is_missing = np.isnan(values)
    constant = tuple(
        k
        for k in range(values.shape[1])
        if len(seen := values[~is_missing[:, k], k]) and bool((seen == seen[0]).all())
    )
    empty = np.flatnonzero(is_missing.all(axis=0)).tolist()
    return ColumnReport(
        n_missing=is_missing.sum(axis=0),
        n_infinite=np.isinf(values).sum(axis=0),
        constant=constant,
        identical=_identical_pairs(values, skip={*constant, *empty}),
    )


def check_columns(
    values: FloatArray,
    names: Sequence[str] | None = None,
    *,
    kinds: Sequence[str] | None = None,
    allow_missing: bool = False,
    allow_constant: bool = False,
    allow_identical: bool = False,
    report: ColumnReport | None = None,
) -> ColumnReport:
    """Raise an `InputError` for the first thing that makes a table unfit for a numerical fit.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        Numbers; NaN where a value is missing.
    names : sequence of str, optional
        Column names for the message; ``x0``, ``x1``, ... without them.
    kinds : sequence of str, optional
        Kind of each column as in `Table`; a categorical one is refused as text.
    allow_missing : bool
        Let NaN pass, for callers that treat them. A column without any value never passes.
    allow_constant : bool
        Let constant columns pass.
    allow_identical : bool
        Let copies of a column pass, for callers that repair the covariance.
    report : ColumnReport, optional
        What `inspect_columns` found, for callers that know it.

    Returns
    -------
    ColumnReport
        The findings, for callers that let some pass.

    Examples
    --------
    >>> check_columns(np.array([[1.0, 1.0], [2.0, 2.0]]), ["gene3", "gene7"])
    Traceback (most recent call last):
        ...
    edgewise._core.errors.InputError: Columns 'gene3' and 'gene7' are identical.
    Drop one, or pass repair="ridge".
    """
    n_samples, n_features = values.shape
    labels = list(names) if names is not None else [f"x{k}" for k in range(n_features)]
    if text := [label for label, kind in zip(labels, kinds or (), strict=False) if kind == TEXT]:
        raise InputError(
            "text_columns_in_table",
            columns=text,
        )
    if n_samples < 2:
        raise InputError("too_few_rows_in_table", n_samples=n_samples)
    report = inspect_columns(values) if report is None else report
    _check_infinite(report, labels)
    _check_missing(report, labels, n_samples, allow_missing=allow_missing)
    _check_size(values, labels)
    if not allow_constant:
        _check_constant(values, report, labels)
    if report.identical and not allow_identical:
        refuse_pairs(report.identical, labels)
    return report


def check_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return sample weights as floats, or raise an `InputError`.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,)
        Finite, not negative, not zero throughout.
    n_samples : int
        Number of rows that they belong to.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> check_weights([1, 2], 2)
    array([1., 2.])
    """
    given = None if np.ma.is_masked(sample_weight) else _real_array(sample_weight)
    if given is None:
        raise InputError("sample_weight_not_numbers")
    weights = given.astype(np.float64)
    if weights.shape != (n_samples,):
        raise InputError("sample_weight_shape", shape=weights.shape, n_samples=n_samples)
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("sample_weight_range")
    return weights


def looks_like_covariance(X: Any) -> bool:
    """Whether an array has the form of a covariance matrix rather than of samples.

    Parameters
    ----------
    X : array-like
        The data.

    Returns
    -------
    bool
        True for a finite, symmetric array of at least two rows with a positive diagonal.

    Examples
    --------
    >>> looks_like_covariance([[1.0, 0.5], [0.5, 2.0]])
    True
    >>> looks_like_covariance([[1.0, 0.5], [0.4, 2.0]])
    False
    """
    matrix = np.asarray(X)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        return False
    if matrix.dtype.kind not in "iuf":
        return False
    matrix = matrix.astype(np.float64)
    if not np.isfinite(matrix).all() or not (np.diagonal(matrix) > 0).all():
        return False
    # A covariance that went through a text file is symmetric to its printed digits at least.
    return bool(np.abs(matrix - matrix.T).max() <= 1e-8 * np.abs(matrix).max())


def refuse_covariance(
    X: Any, advice: str = 'Pass covariance="precomputed" to use it as one.'
) -> None:
    """Raise an `InputError` if a covariance matrix was passed as samples.

    Parameters
    ----------
    X : array-like
        The data.
    advice : str
        What to do, as the end of the message.

    Examples
    --------
    >>> refuse_covariance([[1.0, 0.5, 0.2], [2.0, 0.4, 0.9]])
    >>> refuse_covariance([[1.0, 0.5], [0.5, 2.0]])
    Traceback (most recent call last):
        ...
    edgewise._core.errors.InputError: X is square (2 x 2) and symmetric, so it looks like a
    covariance matrix, not like samples. Pass covariance="precomputed" to use it as one.
    """
    if looks_like_covariance(X):
        size = len(X)
        raise InputError("covariance_given_as_rows", size=size, advice=advice)


def _real_array(values: Any) -> AnyArray | None:
    """Array of real numbers, None where there is something else among them."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.dtype.kind in "biuf" else None


#: The kind of a `Table` column that no numerical method can take.
TEXT = "categorical"


def column_nouns(names: Sequence[str]) -> str:
    """Name columns at the beginning of a sentence."""
    return f"{agree(names, 'Column', 'Columns')} {quote_names(names)}"


def agree(names: Sequence[object], singular: str, plural: str) -> str:
    """Choose a word by the number of columns."""
    return singular if len(names) == 1 else plural


def _check_infinite(report: ColumnReport, labels: Sequence[str]) -> None:
    if where := np.flatnonzero(report.n_infinite).tolist():
        names = [labels[k] for k in where]
        total = int(report.n_infinite.sum())
        raise InputError(
            "infinite_values",
            columns=names,
            total=total,
        )


def _check_size(values: FloatArray, labels: Sequence[str]) -> None:
    if error := about_size(values, labels):
        raise error


def _check_constant(values: FloatArray, report: ColumnReport, labels: Sequence[str]) -> None:
    if report.constant:
        flat = [labels[k] for k in report.constant]
        raise InputError(
            "constant_columns",
            columns=flat,
        )
    if flat := [labels[k] for k in np.flatnonzero(~varying_columns(values)).tolist()]:
        raise InputError(
            "columns_constant_to_rounding",
            columns=flat,
        )


def _check_missing(
    report: ColumnReport, labels: Sequence[str], n_samples: int, *, allow_missing: bool
) -> None:
    if empty := [labels[k] for k in np.flatnonzero(report.n_missing == n_samples).tolist()]:
        raise InputError(
            "empty_columns",
            columns=empty,
        )
    where = np.flatnonzero(report.n_missing).tolist()
    if where and not allow_missing:
        counts = [
            Note("column_count_missing", name=labels[k], n=report.n_missing[k]) for k in where
        ]
        raise InputError("missing_values", total=report.n_missing.sum(), columns=counts)


def refuse_pairs(
    identical: Sequence[tuple[int, int]], labels: Sequence[str], *, unpenalised: bool = False
) -> None:
    """Raise an `InputError` that names identical columns, with a remedy."""
    pairs = [Note("pair_of_columns", columns=(labels[i], labels[j])) for i, j in identical]
    more = max(len(pairs) - NAMES_SHOWN, 0)
    raise InputError(
        "identical_columns_in_table",
        pairs=pairs[:NAMES_SHOWN],
        more=more,
        unpenalised=unpenalised,
    )


def _identical_pairs(values: FloatArray, skip: set[int]) -> tuple[tuple[int, int], ...]:
    """Pair every column with the first that equals it; the bytes of a column are its key."""
    first: dict[bytes, int] = {}
    pairs = []
    for k in range(values.shape[1]):
        if k in skip:
            continue
        # Adding zero turns -0.0 into 0.0, and NaN of any payload becomes the same NaN.
        column = np.where(np.isnan(values[:, k]), np.nan, values[:, k]) + 0.0
        original = first.setdefault(column.tobytes(), k)
        if original != k:
            pairs.append((original, k))
    return tuple(pairs)


def row_order(rows: FloatArray) -> IntArray:
    """Numbers of the rows, sorted by their values in the first column, then in the second ones.

    Sums in another order are rounded otherwise, and an iteration that stops at a tolerance makes
    more of that. In this order, the result does not depend on the order the rows come in.

    Parameters
    ----------
    rows : ndarray of shape (n, p)

    Returns
    -------
    ndarray of int, shape (n,)

    Examples
    --------
    >>> row_order(np.array([[2.0, 0.0], [1.0, 5.0], [1.0, 3.0]]))
    array([2, 1, 0])
    """
    return np.lexsort(rows.T[::-1])
