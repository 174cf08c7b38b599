"""Sufficient statistics: what a method needs to know of the samples, and no more."""

from edgewise.stats.covariance import Moments, covariance
from edgewise.stats.missing import (
    EMCovariance,
    PairwiseCovariance,
    em_covariance,
    pairwise_covariance,
)
from edgewise.stats.positive import (
    check_covariance,
    correlation_from_covariance,
    repair_covariance,
    smallest_eigenvalue,
)
from edgewise.stats.rank import (
    kendall_correlation,
    nonparanormal,
    nonparanormal_correlation,
    spearman_correlation,
)

__all__ = [
    "EMCovariance",
    "Moments",
    "PairwiseCovariance",
    "check_covariance",
    "correlation_from_covariance",
    "covariance",
    "em_covariance",
    "kendall_correlation",
    "nonparanormal",
    "nonparanormal_correlation",
    "pairwise_covariance",
    "repair_covariance",
    "smallest_eigenvalue",
    "spearman_correlation",
]
