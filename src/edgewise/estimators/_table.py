"""What all estimators of a table of numbers share: rows as floats, names and files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray
from edgewise.data.checks import check_columns
from edgewise.data.table import Table
from edgewise.estimators._archive import save_estimator
from edgewise.io.messages import quote_names


class TableEstimator(BaseEstimator):
    """Base of the estimators that are fitted to a table of numbers."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator, fitted or not, to one file without pickled code.

        Parameters
        ----------
        path : str or path
            File to write, by custom ending in ``.edgewise``; `edgewise.load` reads it.
        """
        save_estimator(self, path)

    def _as_rows(self, X: Any, *, reset: bool) -> FloatArray:
        """Convert to a float array, or name the columns that hold something else."""
        if hasattr(X, "columns"):
            _refuse_text(X)
        try:
            rows: FloatArray = validate_data(
                self, X, reset=reset, dtype=np.float64, ensure_all_finite=False
            )
        except ValueError:
            if isinstance(X, (list, np.ndarray)) and np.asarray(X).dtype.kind in "OUS":
                _refuse_text(X)
            raise
        return rows

    def _names(self) -> list[str] | None:
        """Names of the columns; None where the data had none."""
        names: AnyArray | None = getattr(self, "feature_names_in_", None)
        return None if names is None else [str(name) for name in names]

    def _labels(self, columns: BoolArray) -> list[str]:
        """Names of some columns, for messages."""
        names = self._names() or [f"x{k}" for k in range(len(columns))]
        return [names[k] for k in np.flatnonzero(columns)]

    def _refuse_missing(self, rows: FloatArray) -> None:
        """Name the columns with missing values, for estimators that have no treatment of them."""
        is_missing = np.isnan(rows)
        if is_missing.any():
            which = quote_names(self._labels(np.asarray(is_missing.any(axis=0))))
            raise InputError(
                f"X contains NaN: {np.count_nonzero(is_missing)} missing in {which}. Drop those "
                "rows or columns, or fill them in."
            )


def _refuse_text(X: Any) -> None:
    """Name the columns that hold text, dates or categories."""
    table = Table.from_input(X)
    if "categorical" in table.kinds:
        check_columns(table.values, table.names, kinds=table.kinds)
