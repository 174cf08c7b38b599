"""An order of columns that the data give, so that no result depends on the order they come in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.estimators.base.statistics import Statistics

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
