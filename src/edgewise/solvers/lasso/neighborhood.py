r"""One lasso per variable on all the others, from their covariance."""

from __future__ import annotations

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.lasso.gram import regress_all


def neighborhood_lasso(
    S: FloatArray,
    alpha: float,
    *,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> Solution:
    r"""Regress each variable on all others with an l1 penalty.

    .. math::

        \min_B \; \sum_j \left( \tfrac12 S_{jj} - S_{j}^\top b_j + \tfrac12 b_j^\top S b_j
        + \alpha \sum_{i \ne j} |b_{ij}| \right), \quad b_{jj} = 0

    where :math:`b_j` is column j of :math:`B`; the smooth part is half the mean squared residual
    of variable j [1]_.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Positive semidefinite covariance, or a correlation matrix to penalise all alike.
    alpha : float
        Strength of the penalty, above 0. From the largest ``|S_ij|``, i != j, on, ``B`` is 0.
    init : ndarray of shape (p, p), optional
        Warm start with a diagonal of 0.
    tol : float
        Stop each regression once its duality gap is at most ``tol``, so that the sum of the
        gaps is at most ``tol * p``.
    max_iter : int
        Largest number of rounds of each regression.

    Returns
    -------
    Solution
        ``value[i, j]`` is the coefficient of variable i in the regression of variable j;
        ``gap`` and ``objective`` are sums over the regressions, ``n_iter`` the largest number of
        rounds.

    References
    ----------
    .. [1] Meinshausen and Bühlmann (2006). High-dimensional graphs and variable selection with
       the lasso. *Annals of Statistics* 34(3). https://doi.org/10.1214/009053606000000281

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.lasso.neighborhood import neighborhood_lasso
    >>> S = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> neighborhood_lasso(S, 0.2).value
    array([[0. , 0.3, 0. ],
           [0.3, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    S = np.ascontiguousarray(S, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
        raise InputError(f"S must be a finite square matrix, got shape {S.shape}.")
    if not (np.isfinite(alpha) and alpha > 0 and tol > 0 and max_iter >= 1):
        raise InputError(
            f"alpha and tol must be positive and max_iter at least 1, got alpha={alpha}, "
            f"tol={tol}, max_iter={max_iter}."
        )
    # One row per regression keeps each start and result contiguous.
    rows = np.zeros_like(S) if init is None else np.array(init.T, dtype=np.float64, order="C")
    if rows.shape != S.shape or rows.diagonal().any():
        raise InputError(f"init must have shape {S.shape} and a diagonal of 0.")
    gaps, rounds = regress_all(S, float(alpha), rows, float(tol), max_iter)
    B = np.ascontiguousarray(rows.T)
    fit = 0.5 * np.sum(S.diagonal()) - np.sum(S * B) + 0.5 * np.sum(B * (S @ B))
    return Solution(
        value=B,
        objective=float(fit + alpha * np.abs(B).sum()),
        gap=float(gaps.sum()),
        n_iter=int(rounds.max(initial=0)),
        converged=bool((gaps <= tol).all()),
    )
