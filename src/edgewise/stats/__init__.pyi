from .counts import Counts as Counts
from .missing import (
    EMCovariance as EMCovariance,
    PairwiseCovariance as PairwiseCovariance,
    em_covariance as em_covariance,
    pairwise_covariance as pairwise_covariance,
)
from .moments import (
    Moments as Moments,
    bandwidth_for as bandwidth_for,
    covariance as covariance,
    effective_samples as effective_samples,
    explained_variance as explained_variance,
    kernel_weights as kernel_weights,
    weighted_moments as weighted_moments,
)
from .polychoric import (
    LatentCorrelation as LatentCorrelation,
    latent_correlation as latent_correlation,
    ordinal_columns as ordinal_columns,
    polychoric_correlation as polychoric_correlation,
    polychoric_standard_error as polychoric_standard_error,
)
from .positive import (
    check_covariance as check_covariance,
    correlation_from_covariance as correlation_from_covariance,
    repair_covariance as repair_covariance,
    smallest_eigenvalue as smallest_eigenvalue,
)
from .rank import (
    kendall_correlation as kendall_correlation,
    nonparanormal as nonparanormal,
    nonparanormal_correlation as nonparanormal_correlation,
    spearman_correlation as spearman_correlation,
)
from .stream import (
    stream_counts as stream_counts,
    stream_covariance as stream_covariance,
    stream_group_covariance as stream_group_covariance,
)
