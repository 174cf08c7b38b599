"""What can be wrong with the columns of a table, found once and said in one voice."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
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
) -> str | None:
    """Say which columns hold finite numbers too large or too small to be squared, if any do.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
    names : sequence of str
    noun : str
        What the columns are called.
    least : float
        Columns without larger values than this are too small.
    most : float
        Columns with larger values than this are too large.

    Examples
    --------
    >>> about_size(np.array([[1.0, 1e200], [2.0, 3.0]]), ["dose", "count"])
    "Column 'count' holds values beyond 1e+150, whose squares overflow. Change its unit."
    """
    largest = _largest(values)
    is_large = (largest > most) & (largest < np.inf)
    is_small = (largest > 0) & (largest < least)
    for is_meant, found in (
        (is_large, f"values beyond {most:g}, whose squares overflow"),
        (is_small, f"no values beyond {least:g}, and squares of smaller ones vanish"),
    ):
        if meant := [names[k] for k in np.flatnonzero(is_meant).tolist()]:
            if len(meant) == 1:
                return f"{noun} {quote_names(meant)} holds {found}. Change its unit."
            return f"{noun}s {quote_names(meant)} hold {found}. Change their unit."
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
            f"{column_nouns(text)} {agree(text, 'holds', 'hold')} text, not numbers. "
            f"Drop {agree(text, 'it', 'them')}, or turn {agree(text, 'it', 'them')} into numbers."
        )
    if n_samples < 2:
        raise InputError(
            f"Found {n_samples} sample{'' if n_samples == 1 else 's'} (rows of the table); "
            "at least 2 are needed."
        )
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
        raise InputError(
            "sample_weight must hold one number for each row, and it holds something else or "
            "masked values. Give every row a weight."
        )
    weights = given.astype(np.float64)
    if weights.shape != (n_samples,):
        raise InputError(
            f"sample_weight has shape {weights.shape}; the table has {n_samples} rows. "
            "Give one weight per row."
        )
    if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise InputError("sample_weight must be finite, not negative, and not zero throughout.")
    return weights


def looks_like_covariance(X: Any) -> bool:
    """Whether an array has the form of a covariance matrix rather than of samples.

    Parameters
    ----------
    X : array-like
        What was handed in as data.

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
    """Raise an `InputError` if a covariance matrix was handed in where samples belong.

    Parameters
    ----------
    X : array-like
        What was handed in as data.
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
        raise InputError(
            f"X is square ({size} x {size}) and symmetric, so it looks like a covariance matrix, "
            f"not like samples. {advice}"
        )


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
            f"{column_nouns(names)} {agree(names, 'has', 'have')} {total} infinite "
            f"{'value' if total == 1 else 'values'} (inf). Replace or drop those rows."
        )


def _check_size(values: FloatArray, labels: Sequence[str]) -> None:
    if sentence := about_size(values, labels):
        raise InputError(sentence)


def _check_constant(values: FloatArray, report: ColumnReport, labels: Sequence[str]) -> None:
    if report.constant:
        flat = [labels[k] for k in report.constant]
        raise InputError(
            f"{column_nouns(flat)} {agree(flat, 'has', 'have')} one value in every row. "
            f"Drop {agree(flat, 'it', 'them')}."
        )
    if flat := [labels[k] for k in np.flatnonzero(~varying_columns(values)).tolist()]:
        raise InputError(
            f"{column_nouns(flat)} {agree(flat, 'is', 'are')} constant up to rounding. "
            f"Drop {agree(flat, 'it', 'them')}, or take the mean off."
        )


def _check_missing(
    report: ColumnReport, labels: Sequence[str], n_samples: int, *, allow_missing: bool
) -> None:
    if empty := [labels[k] for k in np.flatnonzero(report.n_missing == n_samples).tolist()]:
        raise InputError(
            f"{column_nouns(empty)} {agree(empty, 'has', 'have')} no value at all (NaN in every "
            f"row). Drop {agree(empty, 'it', 'them')}."
        )
    where = np.flatnonzero(report.n_missing).tolist()
    if where and not allow_missing:
        counts = [f"'{labels[k]}' ({report.n_missing[k]})" for k in where]
        shown = ", ".join(counts[:NAMES_SHOWN])
        more = f" and {len(counts) - NAMES_SHOWN} more" if len(counts) > NAMES_SHOWN else ""
        total = int(report.n_missing.sum())
        raise InputError(
            f"{total} {'value is' if total == 1 else 'values are'} missing (NaN), in "
            f"{agree(counts, 'column', 'columns')} {shown}{more}. Fill or drop them, or pass "
            'missing="pairwise" or missing="em".'
        )


def refuse_pairs(
    identical: Sequence[tuple[int, int]], labels: Sequence[str], remedy: str = 'repair="ridge"'
) -> None:
    """Raise an `InputError` that names columns which are copies of each other."""
    pairs = [f"'{labels[i]}' and '{labels[j]}'" for i, j in identical]
    more = f"; and {len(pairs) - NAMES_SHOWN} more pairs" if len(pairs) > NAMES_SHOWN else ""
    drop = "one" if len(pairs) == 1 else "one of each pair"
    raise InputError(
        f"Columns {'; '.join(pairs[:NAMES_SHOWN])}{more} are identical. "
        f"Drop {drop}, or pass {remedy}."
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
