"""The graphical lasso of the present given the past, with the gap of one convex problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers._arguments import check_nonnegative
from edgewise.solvers._solution import Solution
from edgewise.solvers.gaussian.graphical_lasso import PrecisionSolution, graphical_lasso


@dataclass(frozen=True, kw_only=True, eq=False)
class LaggedPrecisionSolution(Solution):
    r"""Solution whose ``value`` is the precision of the present given the past.

    Attributes
    ----------
    lagged : ndarray of shape (q, p)
        Entries between past and present of the precision of both, :math:`T`; its zeros are pairs
        that are independent given all else, past and present.
    coef : ndarray of shape (q, p)
        Regression of the present on the past, :math:`B = -T \Lambda^{-1}`.
    covariance : ndarray of shape (p, p)
        Inverse of ``value``.
    decided, lagged_decided : ndarray of bool
        Entries of ``value`` and ``lagged`` whose presence or absence the gap proves.
    """

    lagged: FloatArray
    coef: FloatArray
    covariance: FloatArray
    joint: PrecisionSolution

    @property
    def decided(self) -> BoolArray | None:
        """Pairs of the present that the gap proves to be as at the optimum."""
        known = self.joint.decided
        return None if known is None else known[len(self.lagged) :, len(self.lagged) :]

    @property
    def lagged_decided(self) -> BoolArray | None:
        """Pairs of past and present that the gap proves to be as at the optimum."""
        known = self.joint.decided
        return None if known is None else known[: len(self.lagged), len(self.lagged) :]


def lagged_graphical_lasso(
    S_yy: FloatArray,
    S_xy: FloatArray,
    S_xx: FloatArray,
    alpha: float,
    beta: float,
    *,
    init: LaggedPrecisionSolution | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> LaggedPrecisionSolution:
    r"""Estimate how the present depends on the past, and on itself given the past, together.

    Minimises over positive definite :math:`\Lambda` and over :math:`T`

    .. math::
        -\log\det\Lambda + \operatorname{tr}(S_{yy} \Lambda)
        + 2 \operatorname{tr}(S_{xy}^\top T)
        + \operatorname{tr}(\Lambda^{-1} T^\top S_{xx} T)
        + \alpha \sum_{i \ne j} |\Lambda_{ij}| + \beta \sum_{ij} |T_{ij}|,

    twice the negative log-likelihood of Gaussian rows y given rows x [1]_ [2]_, where
    :math:`\Lambda` is the precision of y given x and :math:`B = -T \Lambda^{-1}` the regression
    of y on x.

    Parameters
    ----------
    S_yy : ndarray of shape (p, p)
        Second moments of the present, centred.
    S_xy : ndarray of shape (q, p)
        Those of past and present.
    S_xx : ndarray of shape (q, q)
        Those of the past, positive definite.
    alpha, beta : float
        Penalties, at least 0. With ``beta = 2 * alpha`` an edge of the present and one from the
        past cost the same.
    init : LaggedPrecisionSolution, optional
        Solution for nearby penalties to start from.
    tol : float
        Duality gap per variable, of past and present, at which to stop.
    max_iter : int
        Largest number of iterations.

    Returns
    -------
    LaggedPrecisionSolution

    Notes
    -----
    The problem is the graphical lasso of past and present together with a free block: minimising
    over the entries of the past alone, :math:`\Theta_{xx}`, which no penalty holds,

    .. math:: \min_{\Theta_{xx}} \operatorname{tr}(S \Theta) - \log\det\Theta
        = -\log\det\Lambda + \operatorname{tr}(S_{yy} \Lambda) + 2 \operatorname{tr}(S_{xy}^\top T)
        + \operatorname{tr}(\Lambda^{-1} T^\top S_{xx} T) + q + \log\det S_{xx} .

    So objectives differ by a constant, and the duality gap is that of the graphical lasso.

    References
    ----------
    .. [1] Sohn and Kim (2012). Joint estimation of structured sparsity and output structure in
       multiple-output regression via inverse-covariance regularization. *AISTATS* 15.
       https://proceedings.mlr.press/v22/sohn12.html
    .. [2] Wytock and Kolter (2013). Sparse Gaussian conditional random fields. *ICML* 28.
       https://proceedings.mlr.press/v28/wytock13.html

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import lagged_graphical_lasso
    >>> S_xy = np.array([[0.5, 0.4], [0.0, 0.0]])
    >>> solution = lagged_graphical_lasso(np.eye(2), S_xy, np.eye(2), alpha=0.1, beta=0.2)
    >>> solution.coef.round(2)
    array([[0.4, 0.3],
           [0. , 0. ]])
    """
    S_xy, S_xx = np.asarray(S_xy, dtype=np.float64), np.asarray(S_xx, dtype=np.float64)
    S_yy = np.asarray(S_yy, dtype=np.float64)
    q = len(S_xx)
    if S_xx.shape != (q, q) or S_xy.shape != (q, len(S_yy)) or S_yy.shape != (len(S_yy),) * 2:
        raise InputError("lagged_shapes", yy=S_yy.shape, xy=S_xy.shape, xx=S_xx.shape)
    check_nonnegative(alpha=alpha, beta=beta)
    S = np.block([[S_xx, S_xy], [S_xy.T, S_yy]])
    weights = np.full(S.shape, beta / 2.0)
    weights[:q, :q] = 0.0
    weights[q:, q:] = alpha
    try:
        log_determinant = 2.0 * float(np.log(np.linalg.cholesky(S_xx).diagonal()).sum())
    except np.linalg.LinAlgError:
        raise InputError("singular_past", columns=[]) from None
    joint = graphical_lasso(
        S,
        1.0,
        weights=weights,
        init=None if init is None else init.joint.value,
        tol=tol,
        max_iter=max_iter,
        decide=0.0,
    )
    Theta = joint.value
    Lambda, T = Theta[q:, q:].copy(), Theta[:q, q:].copy()
    covariance = np.linalg.inv(Lambda)
    return LaggedPrecisionSolution(
        value=Lambda,
        lagged=T,
        coef=-T @ covariance,
        covariance=(covariance + covariance.T) / 2.0,
        objective=joint.objective - q - log_determinant,
        gap=joint.gap,
        n_iter=joint.n_iter,
        converged=joint.converged,
        history=joint.history,
        joint=joint,
    )
