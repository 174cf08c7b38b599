"""Markov blankets by the lasso path of every variable on all others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.gaussian.standard_form import check_problem
from edgewise.solvers.lasso.lars import best_supports


@dataclass(frozen=True, kw_only=True, eq=False)
class BlanketSolution(Solution):
    """Blankets of all variables; ``value[i, j]`` is the coefficient of i in that of j.

    ``objective`` is the sum of the criteria. Only the paths were searched, so that ``gap`` is NaN.
    """

    @property
    def blankets(self) -> BoolArray:
        """Whether i is in the blanket of j; not symmetric."""
        chosen: BoolArray = self.value != 0
        return chosen


def lasso_blankets(
    S: FloatArray,
    n_samples: float,
    *,
    gamma: float = 0.0,
    allowed: BoolArray | None = None,
) -> BlanketSolution:
    r"""Choose the blanket of each variable along its lasso path by the extended BIC.

    For variable j, the lasso on all others is followed from the largest penalty down, from one
    change of its support A to the next [1]_. Each support is refitted by least squares and judged
    by

    .. math::

        \tfrac n2 \log \hat\sigma_j^2(A) + |A| \left( \tfrac12 \log n + \gamma \log m \right),

    half the extended BIC, with :math:`\hat\sigma_j^2` the residual variance [2]_. The best support
    is the blanket.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance; the lasso sees the correlations.
    n_samples : float
        Number of rows, n. No blanket is larger than half of it.
    gamma : float
        From 0, the ordinary BIC, to 1, which allows fewer false members.
    allowed : ndarray of bool, shape (m, m), optional
        Whether i may be in the blanket of j; by default all may.

    Returns
    -------
    BlanketSolution
        ``value[i, j]`` is the least squares coefficient of i in the blanket of j.

    References
    ----------
    .. [1] Efron, Hastie, Johnstone and Tibshirani (2004). Least angle regression. *Annals of
       Statistics* 32(2). https://doi.org/10.1214/009053604000000067
    .. [2] Schmidt, Niculescu-Mizil and Murphy (2007). Learning graphical model structure using
       L1-regularization paths. *AAAI*.
       https://cdn.aaai.org/AAAI/2007/AAAI07-202.pdf

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import lasso_blankets
    >>> S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> lasso_blankets(S, 1000).blankets.astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    S, _ = check_problem(S, None)
    m = len(S)
    if not n_samples > 2:
        raise InputError(f"n_samples must be above 2, got {n_samples!r}.")
    if not 0 <= gamma <= 1:
        raise InputError(f"gamma must be between 0 and 1, got {gamma!r}.")
    permitted = np.ones((m, m), dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
    if permitted.shape != (m, m):
        raise InputError(f"allowed must have shape ({m}, {m}) like S, got {permitted.shape}.")
    scale = np.sqrt(S.diagonal())
    R = S / np.outer(scale, scale)
    most = max(int(n_samples / 2), 1)
    per_variable = 0.5 * np.log(n_samples) + gamma * np.log(m)
    rows, scores = np.zeros((m, m)), np.zeros(m)
    best_supports(
        R,
        np.ascontiguousarray(permitted.T),
        _least_residual_variances(R),
        float(n_samples),
        per_variable,
        most,
        rows,
        scores,
    )
    return BlanketSolution(
        value=rows.T * scale / scale[:, None],
        objective=float(scores.sum() + 0.5 * n_samples * np.sum(np.log(S.diagonal()))),
        gap=float("nan"),
        n_iter=1,
        converged=True,
    )


def _least_residual_variances(R: FloatArray) -> FloatArray:
    """Residual variance of each variable given all others, from below; 0 where they determine it.

    A little less than computed, which makes up for rounding.
    """
    try:
        precision = np.linalg.inv(R)
    except np.linalg.LinAlgError:
        return np.full(len(R), np.finfo(np.float64).tiny)
    diagonal = precision.diagonal()
    is_sure = (diagonal > 0) & (diagonal < 1e10)
    return np.where(is_sure, 0.99 / np.maximum(diagonal, 1.0), np.finfo(np.float64).tiny)
