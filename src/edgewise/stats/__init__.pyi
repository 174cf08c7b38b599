from .missing import (
    em_covariance as em_covariance,
    pairwise_covariance as pairwise_covariance,
)
from .moments import (
    Moments as Moments,
    covariance as covariance,
)
from .polychoric import (
    latent_correlation as latent_correlation,
    polychoric_correlation as polychoric_correlation,
)
from .positive import (
    repair_covariance as repair_covariance,
)
from .rank import (
    kendall_correlation as kendall_correlation,
    nonparanormal_correlation as nonparanormal_correlation,
    spearman_correlation as spearman_correlation,
)
from .stream import (
    stream_counts as stream_counts,
    stream_covariance as stream_covariance,
    stream_group_covariance as stream_group_covariance,
)
