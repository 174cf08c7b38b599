"""Sufficient statistics of a table: correlation matrix, missing values, repair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.checks import check_columns
from edgewise.estimators.base.columns import add_ridge, arrangement, refuse_constant
from edgewise.estimators.base.row_statistics import (
    moment_statistics,
    precomputed_statistics,
    row_scores,
    row_statistics,
)
from edgewise.estimators.base.statistics import (
    ArrangedStatistics,
    Statistics,
    labels,
    positive_rows,
)
from edgewise.estimators.base.table import LATENT
from edgewise.stats import (
    Moments,
)


@dataclass(frozen=True, kw_only=True)
class Summarizer:
    """How the statistics of a table are computed; the fields are parameters of estimators.

    Attributes
    ----------
    names : list of str or None
        Names of the columns, for messages.
    covariance : str
        What stands for the covariance, see `GaussianGraph`.
    missing : {"error", "pairwise", "em"}
        What to do with NaN.
    repair : {None, "ridge", "clip"}
        What to do with a covariance that is not positive definite.
    assume_centered : bool
        Take the mean as 0.
    ordinal : ndarray of bool, shape (p,), or None
        Columns of ordered answers, for ``covariance="auto"``: those of the whole table, so that
        folds agree on them.
    is_decided : bool
        Whether ``ordinal`` is what the correlations of the whole table have been, so that there is
        nothing left to decide; those that do not fit together in a part of the rows are clipped.
    """

    names: list[str] | None
    covariance: str = "empirical"
    missing: str = "error"
    repair: str | None = None
    assume_centered: bool = False
    ordinal: BoolArray | None = None
    is_decided: bool = False

    def decided_by(self, statistics: Statistics) -> Self:
        """Return how parts of the rows are summarized, once all of them have been."""
        if self.covariance not in LATENT:
            return self
        return replace(self, ordinal=statistics.ordinal, is_decided=True)

    def of_rows(
        self, X: FloatArray, sample_weight: FloatArray | None, *, is_fold: bool = True
    ) -> Statistics:
        """Statistics of some rows; those of weight 0 do not count.

        Columns that are copies of each other are refused, but in a fold they may be so by chance.
        """
        X, sample_weight = positive_rows(X, sample_weight)
        self._check(X, is_fold=is_fold)
        return row_statistics(X, sample_weight, **vars(self))

    def of_scored_rows(self, X: FloatArray, sample_weight: FloatArray | None) -> FloatArray:
        """Covariance of rows that a fit is judged by; without repair, it may be indefinite."""
        X, sample_weight = positive_rows(X, sample_weight)
        self._check(X, is_fold=True)
        return row_statistics(X, sample_weight, **vars(self), is_scored=True).S

    def with_ridge(
        self, X: FloatArray, sample_weight: FloatArray | None, flat: Sequence[int]
    ) -> Statistics:
        """Statistics of checked rows, with a ridge for the sake of some constant columns."""
        if not flat:
            return row_statistics(X, sample_weight, **vars(self))
        if len(flat) == X.shape[1]:
            refuse_constant(flat, X.shape[1], self.names)
        varying = np.setdiff1d(np.arange(X.shape[1]), flat)
        options = {**vars(self), "names": labels(self.names, varying.tolist())}
        return add_ridge(row_statistics(X[:, varying], sample_weight, **options), X, flat)

    def of_arranged_rows(
        self, X: FloatArray, sample_weight: FloatArray | None, *, is_fold: bool = True
    ) -> ArrangedStatistics:
        """Statistics of some rows, with the columns in an order of their own."""
        X, sample_weight = positive_rows(X, sample_weight)
        self._check(X, is_fold=is_fold)
        order = arrangement(X)
        options = {**vars(self), "names": labels(self.names, order.tolist())}
        statistics = row_statistics(np.ascontiguousarray(X[:, order]), sample_weight, **options)
        return ArrangedStatistics(**vars(statistics), arrangement=order)

    def scores_of(self, X: FloatArray) -> FloatArray | None:
        """Standardised rows whose correlations are used; None where they are of other kinds."""
        return None if self.assume_centered else row_scores(X, self.covariance, self.ordinal)

    def _check(self, X: FloatArray, *, is_fold: bool) -> None:
        """Refuse columns that no statistics can be computed of."""
        check_columns(
            X,
            self.names,
            allow_missing=self.missing != "error",
            allow_identical=is_fold or self.repair is not None,
        )

    def of_table(
        self,
        table: FloatArray | Moments,
        sample_weight: FloatArray | None,
        n_samples: float | None = None,
    ) -> Statistics:
        """Statistics of the data of ``fit``: rows, a covariance, or moments."""
        if isinstance(table, Moments):
            statistics = moment_statistics(
                table,
                names=self.names,
                repair=self.repair,
                assume_centered=self.assume_centered,
            )
            is_scaled = self.covariance == "correlation"
            return statistics.on_correlation_scale() if is_scaled else statistics
        if self.covariance == "precomputed":
            return precomputed_statistics(
                table, names=self.names, n_samples=n_samples, repair=self.repair
            )
        return self.of_rows(table, sample_weight, is_fold=False)
