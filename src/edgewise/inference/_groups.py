"""What the means of two groups have to do with a comparison of their networks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.data.checks import check_columns
from edgewise.data.labels import TwoGroups
from edgewise.data.table import Table
from edgewise.io.messages import quote_names

#: Means further apart than this many standard deviations distort a shuffle noticeably.
FAR = 1.0
#: Chance of a warning where the means are the same; small groups often seem far apart.
SURE = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class CentredRows:
    r"""Rows of two groups without the means of their groups, which may be dealt out anew.

    The residuals :math:`e_i` of a group of :math:`n` rows add up to 0. Dealt to other groups as
    they are, they would lose the mean of their new group as well, and shuffled groups would vary
    less than the real ones. One row :math:`a` of each group therefore stands apart: the other

    .. math:: r_i = e_i + \frac{e_a}{\sqrt n - 1}

    have the variances of the rows and are not correlated, so that normal ones may change places
    whatever the means are [1]_. Back in a group of :math:`n` rows they become
    :math:`r_i - t / (n - \sqrt n)` and :math:`e_a = t / \sqrt n` with their sum :math:`t`: rows
    with a mean of 0 and the same sums of squares and products. Both ways are the reflection that
    takes the mean of a group to one of its rows.

    Attributes
    ----------
    template : array or data frame of shape (n, p)
        The rows as given.
    groups : TwoGroups
        Which rows are whose.
    apart : ndarray of shape (2,)
        The row of each group that stands apart: the first of those with the fewest gaps.
    residuals : ndarray of shape (n, p)
        :math:`r_i`; and :math:`e_a`, of which only the gaps are used. A column with a gap there
        keeps its :math:`e_i`.

    References
    ----------
    .. [1] Huh and Jhun (2001). Random permutation testing in multiple linear regression.
       *Communications in Statistics - Theory and Methods* 30(10).
       https://doi.org/10.1081/STA-100106060
    """

    template: Any
    groups: TwoGroups
    apart: IntArray
    residuals: FloatArray

    @classmethod
    def make(cls, X: Any, groups: TwoGroups) -> CentredRows:
        """Take the mean of its group away from every column, or name what has none."""
        table = Table.from_input(X)
        pairs = zip(table.names, table.kinds, strict=True)
        if others := [name for name, kind in pairs if kind != "numeric"]:
            raise InputError(
                f"center=True takes means away, and {quote_names(others)} hold no numbers. Drop "
                "these columns, or pass center=False."
            )
        check_columns(
            table.values, table.names, allow_missing=True, allow_constant=True, allow_identical=True
        )
        residuals = table.values.copy()
        apart = [rows[np.argmin(table.missing[rows].sum(axis=1))] for rows in groups.rows]
        for rows, one in zip(groups.rows, apart, strict=True):
            mean, _, count = _moments(residuals[rows])
            residuals[rows] -= mean
            others = rows[rows != one]
            own = np.nan_to_num(residuals[one])
            residuals[others] += own / (np.sqrt(np.maximum(count, 2)) - 1)
        return cls(template=X, groups=groups, apart=np.array(apart), residuals=residuals)

    @property
    def sources(self) -> list[IntArray]:
        """Rows of each group whose residuals can be dealt out, as they are."""
        return [rows[rows != one] for rows, one in zip(self.groups.rows, self.apart, strict=True)]

    def values(self, dealt: Sequence[IntArray]) -> FloatArray:
        """All rows, once the residuals of other rows are dealt to each group."""
        values = self.residuals.copy()
        for one, places, sources in zip(self.apart, self.sources, dealt, strict=True):
            taken = self.residuals[sources]
            is_seen = ~np.isnan(taken)
            total = np.where(is_seen, taken, 0.0).sum(axis=0)
            root = np.sqrt(1.0 + is_seen.sum(axis=0))
            has_gap = np.isnan(values[one])
            # Where nothing is seen, the sum is 0 and may be divided by anything.
            shift = total / np.maximum(root**2 - root, 0.5)
            values[places] = taken - np.where(has_gap, 0.0, shift)
            values[one] = np.where(has_gap, np.nan, total / root)
        return values

    def table(self, dealt: Sequence[IntArray]) -> Any:
        """Return the same as a data frame if the rows came as one."""
        import narwhals.stable.v2 as nw

        values = self.values(dealt)
        frame = nw.from_native(self.template, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame) and all(isinstance(name, str) for name in frame.columns):
            return nw.from_numpy(values, frame.columns, backend=frame.implementation).to_native()
        return values


def warn_of_means(X: Any, groups: TwoGroups, *, stacklevel: int) -> None:
    """Say which columns have means so different that shuffled groups are unlike the real ones."""
    table = Table.from_input(X)
    columns = [k for k, kind in enumerate(table.kinds) if kind == "numeric"]
    (mean, spread, count), (other_mean, other_spread, other_count) = (
        _moments(table.values[rows][:, columns]) for rows in groups.rows
    )
    freedom = np.maximum(count + other_count - 2, 1)
    variance = (spread + other_spread) / freedom
    least = stats.t.isf(SURE / 2 / max(len(columns), 1), freedom)
    noise = variance * (1 / np.maximum(count, 1) + 1 / np.maximum(other_count, 1))
    square = (other_mean - mean) ** 2
    is_far = (variance > 0) & (square > FAR**2 * variance) & (square > least**2 * noise)
    if is_far.any():
        names = [table.names[columns[k]] for k in np.flatnonzero(is_far)]
        largest = np.sqrt((square[is_far] / variance[is_far]).max())
        warnings.warn(
            f"Between the groups, the means of {quote_names(names)} differ by up to {largest:.2g} "
            "standard deviations. Shuffled groups mix both means, so that this can pass for a "
            "difference between networks. Pass center=True to take the means away first.",
            DataWarning,
            stacklevel=stacklevel + 1,
        )


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, sum of squares around it and number of the observed entries of each column."""
    is_seen = ~np.isnan(values)
    count: FloatArray = is_seen.sum(axis=0).astype(np.float64)
    mean = np.where(is_seen, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    spread: FloatArray = (np.where(is_seen, values - mean, 0.0) ** 2).sum(axis=0)
    return mean, spread, count
