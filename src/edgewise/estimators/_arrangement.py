"""An order of columns that the data give, so that no result depends on the order they come in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.estimators._statistics import Statistics

#: Values that differ by less, as a share of the range of their column, are equal.
DECIMALS = 9


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrangedStatistics(Statistics):
    """Statistics whose variables are in the order of `arrangement`.

    Attributes
    ----------
    arrangement : ndarray of shape (p,)
        Column of the data that each variable is.
    """

    arrangement: IntArray

    def restored(self, values: AnyArray) -> AnyArray:
        """Put one value per variable, or per pair of variables, back into the data's order."""
        result = np.empty_like(values)
        result[np.ix_(*[self.arrangement] * values.ndim)] = values
        return result

    def arranged(self, values: AnyArray) -> AnyArray:
        """Put a value per pair of columns into the order of the variables."""
        return np.ascontiguousarray(values[np.ix_(self.arrangement, self.arrangement)])


def arrangement(X: FloatArray) -> IntArray:
    """Order the columns by their values, whatever their position and unit.

    The key of a column is the set of its values as shares of its range, which neither a shift, nor
    a positive factor, nor another order of the rows, nor their repetition changes. Only columns
    with the same set of values are compared row by row.
    """
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    # Halves do not overflow, and adding zero turns -0.0 into 0.0.
    shares = np.round((X / 2 - low / 2) / (high / 2 - low / 2), DECIMALS) + 0.0
    columns = np.ascontiguousarray(shares.T)
    ordered = np.sort(columns, axis=1)
    is_new = np.ones(ordered.shape, dtype=bool)
    is_new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    keys = [
        (values[new].tobytes(), column.tobytes())
        for values, new, column in zip(ordered, is_new, columns, strict=True)
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
