"""Where a Bayesian network starts: coefficients and penalties in the order of its statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.estimators.base.arrangement import ArrangedStatistics
from edgewise.estimators.base.relations import find_relations
from edgewise.solvers import lasso_blankets
from edgewise.stats import correlation_from_covariance

STARTS = ("lasso", "least-squares", "l1mb")


def starting_coefficients(init: Any, statistics: ArrangedStatistics) -> FloatArray | None:
    """Coefficients to start from, on the scale of the solver; None for its own start."""
    if isinstance(init, str):
        if init == "lasso":
            return None
        if init == "l1mb":
            value: FloatArray = lasso_blankets(statistics.S, statistics.n_samples or 0.0).value
            return value
        return _least_squares(statistics)
    given = per_arc(init, "init", statistics)
    if np.isinf(given).any() or np.diagonal(given).any():
        raise InputError("init must be finite with a diagonal of 0: no column is its own parent.")
    return given / statistics.scale * statistics.scale[:, None]


def per_arc(given: Any, name: str, statistics: ArrangedStatistics) -> FloatArray:
    """Check one number per arc i -> j, in the order of the columns; arrange them."""
    m = len(statistics.S)
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (m, m) or np.isnan(values).any():
        raise InputError(
            f"{name} must hold one number per arc i -> j and have shape ({m}, {m}), got shape "
            f"{values.shape}."
        )
    return statistics.arranged(values)


def _least_squares(statistics: ArrangedStatistics) -> FloatArray:
    """Coefficients of each column on all others, from the inverse of the covariance."""
    if find_relations(correlation_from_covariance(statistics.S)):
        raise InputError(
            f'init="least-squares" needs more different rows than the {len(statistics.S)} columns, '
            'and none that follows from others. Pass init="lasso".'
        )
    precision = np.linalg.inv(statistics.S)
    coefficients = -precision / precision.diagonal()
    np.fill_diagonal(coefficients, 0.0)
    return coefficients
