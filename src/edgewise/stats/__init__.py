"""Sufficient statistics: what a method needs to know of the samples, and no more."""

from edgewise.stats.counts import Counts
from edgewise.stats.covariance import Moments, covariance, explained_variance
from edgewise.stats.kernel import (
    bandwidth_for,
    effective_samples,
    kernel_weights,
    weighted_moments,
)
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
from edgewise.stats.stream import stream_counts, stream_covariance, stream_group_covariance

__all__ = [
    "Counts",
    "EMCovariance",
    "Moments",
    "PairwiseCovariance",
    "bandwidth_for",
    "check_covariance",
    "correlation_from_covariance",
    "covariance",
    "effective_samples",
    "em_covariance",
    "explained_variance",
    "kendall_correlation",
    "kernel_weights",
    "nonparanormal",
    "nonparanormal_correlation",
    "pairwise_covariance",
    "repair_covariance",
    "smallest_eigenvalue",
    "spearman_correlation",
    "stream_counts",
    "stream_covariance",
    "stream_group_covariance",
    "weighted_moments",
]
