r"""Generalised linear regression with a penalty on groups of coefficients, and its certificate.

One response of four families (Gaussian, binary, multinomial, Poisson) on columns in groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import DECIDE, Solution, go_on
from edgewise.solvers.lasso.decided import RegressionProof
from edgewise.solvers.lasso.generalized_kernels import BINARY, GAUSSIAN, MULTINOMIAL, regress

FAMILIES: Final = ("gaussian", "binary", "poisson", "multinomial")
#: Deviations from the mean of at most this share of the largest value are rounding.
CONSTANT: Final = 1e-13


@dataclass(frozen=True, kw_only=True, eq=False)
class RegressionSolution(Solution):
    """Coefficients of a penalised generalised regression.

    Attributes
    ----------
    intercept : ndarray of shape (c,)
        Constant of each linear predictor: one, or one per level of a multinomial response.
    loss : float
        Mean negative log-likelihood of the rows, without the penalty; for a Gaussian response
        half the mean squared residual, for counts without the logarithm of their factorials.
    """

    intercept: FloatArray
    loss: float


def generalized_lasso(
    X: ArrayLike,
    y: ArrayLike,
    alpha: float,
    *,
    family: str = "gaussian",
    groups: ArrayLike | None = None,
    group_weights: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    init: RegressionSolution | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
    decide: float = DECIDE,
) -> RegressionSolution:
    r"""Regress one column on others, with a penalty on the length of each group of coefficients.

    .. math::

        \min_{b, B} \; \frac1n \sum_i \ell(y_i, b + B^\top x_i) + \alpha \sum_g w_g \|B_g\|_F

    where :math:`\ell` is the negative log-likelihood of a response that is Gaussian
    (:math:`(y - \eta)^2 / 2`), binary (:math:`\log(1 + e^\eta) - y \eta`), a count
    (:math:`e^\eta - y \eta`) or one of several levels
    (:math:`\log \sum_c e^{\eta_c} - \eta_y`, one column of :math:`B` per level), and :math:`B_g`
    are the coefficients of the columns of group :math:`g` [1]_. The certificate is the duality gap
    at residuals that are drawn towards 0 until they meet the constraints of the dual problem
    [2]_.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Columns to regress on.
    y : array-like of shape (n,)
        The response: numbers; 0 and 1; whole numbers of at least 0; or numbers of levels from 0.
    alpha : float
        Strength of the penalty, above 0.
    family : {"gaussian", "binary", "poisson", "multinomial"}
        Distribution of the response.
    groups : array-like of int, shape (d,), optional
        Group of each column, from 0 and rising by 0 or 1. By default each column is one.
    group_weights : array-like of shape (number of groups,), optional
        Factor of the penalty of each group: positive, or ``inf`` to leave it out. By default the
        root of its number of columns.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows.
    init : RegressionSolution, optional
        Solution to start from.
    tol : float
        Largest duality gap.
    max_iter : int
        Largest number of Newton steps.
    decide : float
        Steps that may follow while groups are not ``decided``, as a multiple of those that led to
        ``tol``; 0 stops there.

    Returns
    -------
    RegressionSolution
        ``value`` has shape (d, c), with one column per linear predictor: 1, or the number of
        levels, whose coefficients add up to 0. ``decided`` has one entry per group.

    References
    ----------
    .. [1] Friedman, Hastie and Tibshirani (2010). Regularization paths for generalized linear
       models via coordinate descent. *Journal of Statistical Software* 33(1).
       https://doi.org/10.18637/jss.v033.i01
    .. [2] Ndiaye, Fercoq, Gramfort and Salmon (2017). Gap safe screening rules for sparsity
       enforcing penalties. *Journal of Machine Learning Research* 18(128).
       https://doi.org/10.48550/arXiv.1611.05780

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import generalized_lasso
    >>> X = np.array([[-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    >>> found = generalized_lasso(X, [0, 1, 0, 1], 0.25, family="binary")
    >>> found.value.ravel().round(4), bool(found.gap < 1e-8)
    (array([1.0986, 0.    ]), True)
    """
    problem = Regression.of(
        X,
        y,
        family,
        groups=groups,
        group_weights=group_weights,
        sample_weight=sample_weight,
        tol=tol,
        max_iter=max_iter,
    )
    return next(problem.solve_path(np.array([alpha]), init, decide))


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """One response on columns that several responses may share, ready for the kernels.

    Attributes
    ----------
    columns : ndarray of shape (d, n)
        One row per column to regress on, less its mean.
    centre : ndarray of shape (d,)
        Weighted mean of each column.
    response : ndarray of shape (c, n)
        The response; for levels, one row per level that is 1 where the response has it.
    family : int
        Position in `FAMILIES`.
    starts : ndarray of int
        First column of each group, and d.
    group_weights : ndarray
        Factor of the penalty of each group.
    row_weights : ndarray of shape (n,)
        Weights of the rows, which add up to 1.
    gram : ndarray of shape (d, d)
        Weighted second moments of the columns; only read for a Gaussian response.
    tol, max_iter
        As in `generalized_lasso`.
    """

    columns: FloatArray
    centre: FloatArray
    response: FloatArray
    family: int
    starts: IntArray
    group_weights: FloatArray
    row_weights: FloatArray
    gram: FloatArray
    tol: float
    max_iter: int

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        family: str,
        *,
        groups: ArrayLike | None,
        group_weights: ArrayLike | None,
        sample_weight: ArrayLike | None,
        tol: float,
        max_iter: int,
    ) -> Regression:
        """Check the arguments of `generalized_lasso`."""
        if not tol > 0:
            raise InputError("tol_positive", "tol", tol=tol)
        if max_iter < 1:
            raise InputError("max_iter_range", "max_iter", max_iter=max_iter)
        columns = np.ascontiguousarray(np.asarray(X, dtype=np.float64).T)
        if columns.ndim != 2 or not columns.size or not np.isfinite(columns).all():
            raise InputError("design_matrix_shape", "X", shape=np.shape(X))
        d, n = columns.shape
        label = np.arange(d) if groups is None else np.asarray(groups)
        is_step = np.diff(label, prepend=-1)
        if label.shape != (d,) or label[0] != 0 or not np.isin(is_step[1:], (0, 1)).all():
            raise InputError("group_numbers", "groups", d=d)
        starts = np.append(np.flatnonzero(is_step), d)
        size = np.diff(starts)
        weights = np.sqrt(size) if group_weights is None else np.asarray(group_weights, float)
        if weights.shape != size.shape or not (weights > 0).all():
            raise InputError("group_weights_length", "group_weights", n_size=len(size))
        rows = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
        if rows.shape != (n,) or not np.isfinite(rows).all() or (rows < 0).any() or not rows.any():
            raise InputError("row_weights_range", "sample_weight", n=n)
        rows = rows / rows.sum()
        centre = columns @ rows
        size = np.abs(columns).max(axis=1)
        columns = columns - centre[:, None]
        # Of a constant column, nothing but rounding is left.
        columns[np.abs(columns).max(axis=1) <= CONSTANT * size] = 0.0
        response = _as_response(y, n, family)
        is_gaussian = family == FAMILIES[GAUSSIAN]
        return cls(
            columns=columns,
            centre=centre,
            response=response,
            family=FAMILIES.index(family),
            starts=starts.astype(np.int64),
            group_weights=weights.astype(np.float64),
            row_weights=rows,
            gram=(columns * rows) @ columns.T if is_gaussian else np.empty((0, 0)),
            tol=float(tol),
            max_iter=max_iter,
        )

    @property
    def null_intercept(self) -> FloatArray:
        """Linear predictors that fit best without any column."""
        mean = self.response @ self.row_weights
        if self.family == GAUSSIAN:
            return mean
        if self.family == BINARY:
            return np.log(mean / (1.0 - mean))
        constant: FloatArray = np.log(mean)
        return constant - constant.mean() if self.family == MULTINOMIAL else constant

    def largest_alpha(self) -> float:
        """Return the smallest alpha for which every coefficient is 0."""
        mean = self.response @ self.row_weights
        residual = (self.response - mean[:, None]) * self.row_weights
        square = np.sum((self.columns @ residual.T) ** 2, axis=1)
        return float(
            np.max(np.sqrt(np.add.reduceat(square, self.starts[:-1])) / self.group_weights)
        )

    def solve_path(
        self,
        alphas: FloatArray,
        init: RegressionSolution | None = None,
        decide: float = 0.0,
    ) -> Iterator[RegressionSolution]:
        """Yield one solution per alpha, each started from the one before.

        ``decide`` is for each of them, as in `generalized_lasso`.
        """
        seen = self.response[:, self.row_weights > 0]
        if self.family != GAUSSIAN and not seen.any(axis=1).all():
            raise InputError("count_response_empty", "y")
        if self.family == BINARY and seen.all():
            raise InputError("binary_response_constant", "y")
        B = np.zeros((len(self.columns), len(self.response)))
        b = self.null_intercept
        if init is not None:
            if init.value.shape != B.shape:
                raise InputError("coefficients_shape", "init", shape=B.shape)
            B = init.value.copy()
            b = init.intercept + self.centre @ B
        for alpha in np.asarray(alphas, dtype=np.float64).tolist():
            if not 0 < alpha < np.inf:
                raise InputError("lasso_alpha_positive", "alpha", alpha=alpha)
            found = self._solve(alpha, B, b, self.tol, self.max_iter)

            def again(gap: float, max_iter: int, alpha: float = alpha) -> RegressionSolution:
                return self._solve(alpha, B, b, gap, max_iter)

            yield go_on(found, again, decide, 1)

    def _solve(
        self, alpha: float, B: FloatArray, b: FloatArray, tol: float, max_iter: int
    ) -> RegressionSolution:
        """Solve at one alpha from coefficients and constants, which are changed in place."""
        history = np.empty(max_iter + 1)
        objective, loss, n_checks = regress(
            self.columns,
            self.response,
            self.row_weights,
            self.family,
            self.starts,
            alpha * self.group_weights,
            self.gram,
            B,
            b,
            tol,
            history,
        )
        return RegressionSolution(
            value=B.copy(),
            intercept=b - self.centre @ B,
            objective=objective,
            loss=loss,
            gap=float(history[n_checks - 1]),
            n_iter=n_checks - 1,
            converged=bool(history[n_checks - 1] <= tol),
            history=history[:n_checks].copy(),
            proof=RegressionProof(regression=self, alpha=alpha),
        )


def _as_response(y: ArrayLike, n: int, family: str) -> FloatArray:
    """Check a response; return one row per linear predictor."""
    given = np.asarray(y, dtype=np.float64)
    if given.shape != (n,) or not np.isfinite(given).all():
        raise InputError("response_shape", "y", n=n, shape=given.shape)
    is_whole = bool((given == np.round(given)).all() and (given >= 0).all())
    if family not in FAMILIES:
        raise InputError("unknown_family", "family", families=FAMILIES, family=family)
    if family != "gaussian" and not is_whole:
        raise InputError("count_response", "y", family=family)
    if family == "binary" and given.max() > 1:
        raise InputError("binary_response", "y")
    if family != "multinomial":
        return np.ascontiguousarray(given[None])
    return np.array(given == np.arange(given.max() + 1)[:, None], dtype=np.float64)
