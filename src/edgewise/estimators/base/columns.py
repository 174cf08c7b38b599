"""Canonical order of columns, constant columns and collinear columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NoReturn

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.data.checks import ROUNDING
from edgewise.estimators.base.statistics import Statistics, labels
from edgewise.stats.positive import (
    correlation_from_covariance,
    find_relations,
    rows_are_independent,
)

#: Values that differ by less, as a share of the range of their column, are equal.
DECIMALS = 9
#: What is added to every variance for the sake of constant columns, as a share of their mean.
RIDGE: Final = 1e-3


def arrangement(X: FloatArray) -> IntArray:
    """Order the columns by their values, whatever their position, unit and sign.

    The key of a column is the set of its values as shares of its range, from the end that gives
    the smaller key; neither a shift, nor a factor, nor another order of the rows, nor their
    repetition changes it. Only columns with the same set of values are compared row by row.
    """
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    # Halves do not overflow.
    width = high / 2 - low / 2
    keys = zip(_keys((X / 2 - low / 2) / width), _keys((high / 2 - X / 2) / width), strict=True)
    smaller = [min(pair) for pair in keys]
    return np.array(sorted(range(len(smaller)), key=smaller.__getitem__), dtype=np.int64)


def _keys(shares: FloatArray) -> list[tuple[bytes, bytes]]:
    """Write down the values of each column, once in order and once row by row."""
    # Adding zero turns -0.0 into 0.0.
    columns = np.ascontiguousarray((np.round(shares, DECIMALS) + 0.0).T)
    ordered = np.sort(columns, axis=1)
    is_new = np.ones(ordered.shape, dtype=bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return [
        (values[new].tobytes(), column.tobytes())
        for values, new, column in zip(ordered, is_new, columns, strict=True)
    ]


def constant_columns(X: FloatArray) -> list[int]:
    """Find columns that vary by nothing but rounding, among the values that are there.

    A single row is no reason to call its columns constant.
    """
    if len(X) < 2:
        return []
    flat = []
    for k, column in enumerate(X.T):
        seen = column[~np.isnan(column)]
        if len(seen):
            size = float(np.abs(seen).max())
            if float(seen.std()) <= ROUNDING * size:
                flat.append(k)
    return flat


def refuse_constant(flat: Sequence[int], n_columns: int, names: Sequence[str] | None) -> NoReturn:
    """Name the constant columns and say what can be done about them."""
    if len(flat) == n_columns:
        which = "The only column has" if n_columns == 1 else f"All {n_columns} columns have"
        raise InputError("all_columns_constant", which=which)
    verb, them = ("has", "it") if len(flat) == 1 else ("have", "them")
    raise InputError(
        "constant_columns_in_space",
        n_flat=len(flat),
        n_columns=n_columns,
        verb=verb,
        labels=labels(names, flat),
        them=them,
        ridge=RIDGE,
    )


def add_ridge(statistics: Statistics, X: FloatArray, flat: Sequence[int]) -> Statistics:
    """Extend the statistics of the varying columns of X to all of them, on record."""
    n_columns = X.shape[1]
    varying = np.setdiff1d(np.arange(n_columns), flat)
    ridge = RIDGE * float(np.mean(statistics.S.diagonal()))
    S = ridge * np.eye(n_columns)
    S[np.ix_(varying, varying)] += statistics.S
    location = np.empty(n_columns)
    location[varying] = statistics.location
    location[flat] = np.nanmean(X[:, flat], axis=0)
    sentence = (
        f'constant="ridge": {ridge:.3g} added to every variance because of {len(flat)} constant '
        f"{'column' if len(flat) == 1 else 'columns'}"
    )
    return replace(
        statistics,
        location=location,
        S=S,
        scale=np.ones(n_columns),
        treatment=(*statistics.treatment, sentence),
    )


def refuse_relations(statistics: Statistics, X: FloatArray, names: Sequence[str] | None) -> None:
    """Raise an `InputError` that names columns bound by an exact linear relation.

    With no more different rows than columns there are always such relations, and only those
    between two columns are looked for.
    """
    has_few_rows = rows_are_independent(X)
    relations = [] if has_few_rows else find_relations(correlation_from_covariance(statistics.S))
    if not (relations or has_few_rows):
        return
    n_different = 0 if has_few_rows else len(np.unique(X, axis=0))
    if len(statistics.S) - len(relations) < n_different - 1:
        bound = min(relations, key=len)
    else:
        bound = list(statistics.perfect_pair() or ())
    if bound:
        raise InputError("collinear_columns", labels=labels(names, bound))
