"""What the estimators share that learn a change from the covariances of two groups."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.data.labels import TwoSamples
from edgewise.estimators.base.statistics import RANKS, REPAIRS
from edgewise.estimators.change.change import ChangeEstimator
from edgewise.io.messages import quote_names
from edgewise.stats import (
    check_covariance,
    kendall_correlation,
    nonparanormal_correlation,
    repair_covariance,
    spearman_correlation,
)
from edgewise.stats import covariance as covariance_of

COVARIANCES: Final = ("empirical", *RANKS)
_CORRELATIONS: Final = {
    "nonparanormal": nonparanormal_correlation,
    "spearman": spearman_correlation,
    "kendall": kendall_correlation,
}
GROUPS: Final = ("first", "second")


class Covariances(NamedTuple):
    """Covariances before and after, and what was done to them."""

    before: FloatArray
    after: FloatArray
    treatment: tuple[str, ...]


class CovarianceChange(ChangeEstimator):
    """Base of the estimators that see two covariances, of rows or of their ranks."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.covariance not in COVARIANCES:
            raise InputError(
                f"covariance must be one of {quote_names(COVARIANCES)}, got {self.covariance!r}."
            )
        if self.repair is not None and self.repair not in REPAIRS:
            raise InputError(
                f"repair must be None or one of {quote_names(REPAIRS)}, got {self.repair!r}."
            )

    def _moments(self, samples: TwoSamples) -> tuple[FloatArray, FloatArray]:
        """Second moments of the rows of both groups, or correlations of their ranks."""
        both = (samples.first, samples.second)
        if self.covariance == "empirical":
            before, after = (covariance_of(rows, assume_centered=True)[1] for rows in both)
        else:
            self._refuse_constant_in_a_group(samples, "has no ranks")
            before, after = (_CORRELATIONS[self.covariance](rows) for rows in both)
        return before, after

    def _covariances(self, samples: TwoSamples) -> Covariances:
        """Moments that are positive semidefinite, as such or by the repair that was asked for."""
        moments, treatment = list(self._moments(samples)), []
        for k, S in enumerate(moments):
            if self.repair is not None:
                moments[k], record = repair_covariance(S, self.repair)
                if record["amount"] > 0:
                    treatment.append(
                        f'repair="{self.repair}": in the {GROUPS[k]} group, the smallest '
                        "eigenvalue of the correlations was raised from "
                        f"{record['smallest_eigenvalue_before']:.3g} to "
                        f"{record['smallest_eigenvalue_after']:.3g}"
                    )
            elif self.covariance in ("spearman", "kendall"):
                moments[k] = check_covariance(S, self._names())
        return Covariances(moments[0], moments[1], tuple(treatment))

    def _refuse_constant_in_a_group(self, samples: TwoSamples, reason: str) -> None:
        """Name the columns with a single value in one of the groups."""
        for group, rows in zip(GROUPS, (samples.first, samples.second), strict=True):
            is_constant = np.ptp(rows, axis=0) == 0
            if is_constant.any():
                raise InputError(
                    f"In the {group} group, {quote_names(self._labels(is_constant))} has a single "
                    f"value and {reason}. Drop such columns."
                )

    def _unit(self) -> FloatArray:
        """Return the standard deviations that turn standardised values into those shown."""
        is_scaled = self.covariance == "empirical"
        return self.scale_ if is_scaled else np.ones_like(self.scale_)


def in_log_ratio(difference: FloatArray) -> FloatArray:
    """Turn a difference of precisions, after less before, into coefficients of a log ratio.

    The log-density of a Gaussian is minus half of x' Theta x: a product of two variables has minus
    the entry of its pair, a square minus half of its own.
    """
    change: FloatArray = -difference
    np.fill_diagonal(change, 0.5 * change.diagonal())
    # No change is 0, not -0.
    return change + 0.0


def from_log_ratio(change: FloatArray) -> FloatArray:
    """Turn coefficients of a log ratio into a difference of precisions; undo `in_log_ratio`."""
    difference: FloatArray = -change
    np.fill_diagonal(difference, 2.0 * difference.diagonal())
    return difference
