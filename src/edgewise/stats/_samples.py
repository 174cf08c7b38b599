"""The checks that every statistic makes of its samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.data.checks import check_weights


def as_samples(X: Any, *, min_samples: int = 1, allow_missing: bool = False) -> FloatArray:
    """Return ``X`` as floats, rows by columns, once it is fit to be summed up."""
    values = np.asarray(X, dtype=np.float64)
    if values.ndim != 2 or values.shape[1] == 0:
        raise InputError(f"Samples are rows by columns; got an array of shape {values.shape}.")
    if len(values) < min_samples:
        raise InputError(f"Found {len(values)} sample(s); at least {min_samples} are needed.")
    if np.isfinite(values).all():
        return values
    if np.isinf(values).any():
        raise InputError("The samples hold infinite values (inf). Replace or drop those rows.")
    if not allow_missing and np.isnan(values).any():
        raise InputError(
            "The samples hold missing values (NaN). Use pairwise_covariance or em_covariance, "
            "or fill them first."
        )
    return values


def as_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return one weight per sample, ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    return check_weights(sample_weight, n_samples)
