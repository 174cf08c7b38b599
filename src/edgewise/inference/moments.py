"""Tests of the means and variances of columns between groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import FloatArray, IntArray
from edgewise.inference.design import Shuffles, Units, orthonormal

#: A variance below this share of the largest one possible is rounding.
NO_SPREAD = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    r"""Columns, less what covariates explain of them, that shuffles deal out to two groups.

    A mean differs by the coefficient :math:`\beta` of the group, of least squares on covariates
    :math:`Z` and an indicator of the second group, which is :math:`g` once :math:`Z` is taken off,

    .. math:: t = \beta \frac{\sum_i g_i^2}{\sqrt{\sum_i g_i^2 e_i^2 / (1 - h_i)}}, \qquad
        \beta = \frac{g^\top y}{g^\top g},

    with residuals :math:`e` and leverages :math:`h` [1]_. Without covariates this is the difference
    of two means over its standard error, with a variance for each group. Residuals of :math:`Z`
    alone change places (Freedman and Lane 1983). For spreads, the same is asked of how far
    residuals lie from the median of their group, which is found anew in every shuffle.

    Attributes
    ----------
    units : Units
        Which rows are whose; all rows below are in their order.
    covariates : ndarray of shape (n, c)
        Orthonormal columns that span covariates and a constant.
    rows : ndarray of shape (n, p)
        Columns without what the covariates explain, in standard deviations.
    within : ndarray of shape (n, p)
        The same, without what the groups explain either.
    leverages : ndarray of shape (2, n)
        Of the rows in both of these fits.
    summaries : tuple of ndarray of shape (K, p)
        Adjusted means of the groups, at the mean of all covariates, and standard deviations.

    References
    ----------
    .. [1] MacKinnon and White (1985). Some heteroskedasticity-consistent covariance matrix
       estimators with improved finite sample properties. *Journal of Econometrics* 29(3).
       https://doi.org/10.1016/0304-4076(85)90158-7
    """

    units: Units
    covariates: FloatArray
    rows: FloatArray
    within: FloatArray
    leverages: FloatArray
    summaries: tuple[FloatArray, FloatArray]

    @classmethod
    def make(cls, given: FloatArray, covariates: FloatArray | None, units: Units) -> Moments:
        """Take off the columns what covariates and groups explain."""
        middle, scale = given.mean(axis=0), given.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        centred = (given - middle) / scale
        groups = np.eye(units.n_groups)[np.repeat(units.group, units.lengths)]
        parts = [np.ones((len(given), 1)), *([] if covariates is None else [covariates])]
        both = [orthonormal(np.concatenate(some, axis=1)) for some in (parts, [*parts, groups])]
        rows, within = (centred - Z @ (Z.T @ centred) for Z in both)
        # At the mean of the covariates, the coefficients of the groups are their means.
        model = np.concatenate([groups, *(part - part.mean(axis=0) for part in parts[1:])], axis=1)
        means = np.linalg.lstsq(model, centred)[0][: units.n_groups]
        freedom = np.maximum(units.sizes - 1, 1)[:, None]
        spreads = np.sqrt(groups.T @ within**2 / freedom)
        return cls(
            units=units,
            covariates=both[0],
            rows=rows,
            within=within,
            leverages=np.stack([np.minimum(np.sum(Z**2, axis=1), 1 - NO_SPREAD) for Z in both]),
            summaries=(middle + scale * means, scale * spreads),
        )

    def tests(self, shuffles: Shuffles, *, is_given: bool) -> FloatArray:
        """Standardised differences of means and of spreads, of shape (2, p, b)."""
        orders, sizes = shuffles
        dealt, Z = [self.rows, self.within], self.covariates
        if not is_given:
            # Residuals have lost some of their variance, and lose it again.
            roots = np.sqrt(1 - self.leverages)[:, :, None]
            dealt = [self.rows / roots[0], self.units.spread_out(self.within / roots[1])]
            # Residuals of units with other numbers of rows do not fit into each other's places.
            Z = Z if self.units.is_even else np.full((len(Z), 1), len(Z) ** -0.5)
        means, spreads = (part[orders] for part in dealt)
        if Z.shape[1] > 1 and not is_given:
            means, spreads = (part - Z @ (Z.T @ part) for part in (means, spreads))
        apart = _distances(spreads, sizes)
        constant = np.full((len(Z), 1), len(Z) ** -0.5)
        apart -= apart.mean(axis=1, keepdims=True)
        found = (_coefficients(means, sizes, Z)[1], _coefficients(apart, sizes, constant)[1])
        return np.stack([one.T for one in found])


def _coefficients(
    values: FloatArray, sizes: IntArray, Z: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Coefficient of the second group given Z, and the same over its standard error.

    ``values``, of shape (b, n, p), are without what Z explains of them.
    """
    n = values.shape[1]
    group = (np.arange(n) >= sizes[:, :1]).astype(np.float64)
    group -= group @ Z @ Z.T
    squares = (group**2).sum(axis=1, keepdims=True)
    beta = np.einsum("bn,bnp->bp", group, values) / squares
    left = values - group[:, :, None] * beta[:, None, :]
    free = 1 - np.sum(Z**2, axis=1) - group**2 / squares
    weights = group**2 / np.maximum(free, NO_SPREAD)
    variance = np.einsum("bn,bnp->bp", weights, left**2) / squares**2
    # Groups that a value tells apart without a doubt have no spread to divide by.
    np.maximum(variance, NO_SPREAD * (values**2).sum(axis=1) / squares**2, out=variance)
    return beta, np.divide(beta, np.sqrt(variance), out=np.zeros_like(beta), where=variance > 0)


def _distances(values: FloatArray, sizes: IntArray) -> FloatArray:
    """How far values lie from the median of their group."""
    if (sizes == sizes[0]).all():
        parts = np.split(values, np.cumsum(sizes[0])[:-1], axis=1)
        return np.concatenate(
            [np.abs(part - np.median(part, axis=1, keepdims=True)) for part in parts], axis=1
        )
    pairs = zip(values, sizes, strict=True)
    return np.concatenate([_distances(one[None], size[None]) for one, size in pairs])
