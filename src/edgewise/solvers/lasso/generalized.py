r"""Generalised linear regression with a penalty on groups of coefficients, and its certificate.

One response of four families (Gaussian, binary, multinomial, Poisson) on columns in groups, by
Newton's method on the groups that are not 0 or pull away from 0. Each step minimises its quadratic
model by block coordinate descent; a small duality gap ends them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.linalg.kernels import dot, factor, solve

GAUSSIAN, BINARY, POISSON, MULTINOMIAL = 0, 1, 2, 3
FAMILIES: Final = ("gaussian", "binary", "poisson", "multinomial")
#: Rounds of block descent on one quadratic model.
_SWEEPS = 2000
#: Halvings of one Newton step.
_HALVINGS = 40
#: Probabilities and rates are taken for this at least in the certificate, where they divide.
_TINY = 1e-300


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

    Returns
    -------
    RegressionSolution
        ``value`` has shape (d, c), with one column per linear predictor: 1, or the number of
        levels, whose coefficients add up to 0.

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
    return next(problem.solve_path(np.array([alpha]), init))


@dataclass(frozen=True, kw_only=True, eq=False)
class Regression:
    """One response on columns that several responses may share, ready for the kernels.

    Attributes
    ----------
    columns : ndarray of shape (d, n)
        One row per column to regress on.
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
        if not (tol > 0 and max_iter >= 1):
            raise InputError(
                f"tol must be positive and max_iter at least 1, got tol={tol}, max_iter={max_iter}."
            )
        columns = np.ascontiguousarray(np.asarray(X, dtype=np.float64).T)
        if columns.ndim != 2 or not columns.size or not np.isfinite(columns).all():
            raise InputError(f"X must be a finite matrix, got shape {np.shape(X)}.")
        d, n = columns.shape
        label = np.arange(d) if groups is None else np.asarray(groups)
        is_step = np.diff(label, prepend=-1)
        if label.shape != (d,) or label[0] != 0 or not np.isin(is_step[1:], (0, 1)).all():
            raise InputError(
                f"groups must be {d} whole numbers from 0, each equal to the one before or 1 more."
            )
        starts = np.append(np.flatnonzero(is_step), d)
        size = np.diff(starts)
        weights = np.sqrt(size) if group_weights is None else np.asarray(group_weights, float)
        if weights.shape != size.shape or not (weights > 0).all():
            raise InputError(f"group_weights must be {len(size)} positive numbers.")
        rows = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
        if rows.shape != (n,) or not np.isfinite(rows).all() or (rows < 0).any() or not rows.any():
            raise InputError(f"sample_weight must be {n} finite numbers of at least 0.")
        rows = rows / rows.sum()
        response = _as_response(y, n, family)
        is_gaussian = family == FAMILIES[GAUSSIAN]
        return cls(
            columns=columns,
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
        self, alphas: FloatArray, init: RegressionSolution | None = None
    ) -> Iterator[RegressionSolution]:
        """Yield one solution per alpha, each started from the one before."""
        seen = self.response[:, self.row_weights > 0]
        if self.family != GAUSSIAN and not seen.any(axis=1).all():
            raise InputError("Every level, and one count at least, must be above 0 in some row.")
        if self.family == BINARY and seen.all():
            raise InputError("A binary response must be 0 in some row and 1 in another.")
        B = np.zeros((len(self.columns), len(self.response)))
        b = self.null_intercept
        if init is not None:
            if init.value.shape != B.shape:
                raise InputError(f"init must have coefficients of shape {B.shape}.")
            B, b = init.value.copy(), init.intercept.copy()
        for alpha in np.asarray(alphas, dtype=np.float64).tolist():
            if not 0 < alpha < np.inf:
                raise InputError(f"alpha must be a positive number, got {alpha}.")
            history = np.empty(self.max_iter + 1)
            penalty = alpha * self.group_weights
            objective, loss, n_checks = regress(
                self.columns,
                self.response,
                self.row_weights,
                self.family,
                self.starts,
                penalty,
                self.gram,
                B,
                b,
                self.tol,
                history,
            )
            yield RegressionSolution(
                value=B.copy(),
                intercept=b.copy(),
                objective=objective,
                loss=loss,
                gap=float(history[n_checks - 1]),
                n_iter=n_checks - 1,
                converged=bool(history[n_checks - 1] <= self.tol),
                history=history[:n_checks].copy(),
            )


def _as_response(y: ArrayLike, n: int, family: str) -> FloatArray:
    """Check a response; return one row per linear predictor."""
    given = np.asarray(y, dtype=np.float64)
    if given.shape != (n,) or not np.isfinite(given).all():
        raise InputError(f"y must be {n} finite numbers, got shape {given.shape}.")
    is_whole = bool((given == np.round(given)).all() and (given >= 0).all())
    if family not in FAMILIES:
        raise InputError(f"family must be one of {FAMILIES}, got {family!r}.")
    if family != "gaussian" and not is_whole:
        raise InputError(f"A {family} response must be whole numbers of at least 0.")
    if family == "binary" and given.max() > 1:
        raise InputError("A binary response must be 0 or 1.")
    if family != "multinomial":
        return np.ascontiguousarray(given[None])
    return np.array(given == np.arange(given.max() + 1)[:, None], dtype=np.float64)


@kernel
def regress(
    columns: FloatArray,
    response: FloatArray,
    weights: FloatArray,
    family: int,
    starts: IntArray,
    penalty: FloatArray,
    gram: FloatArray,
    B: FloatArray,
    b: FloatArray,
    tol: float,
    history: FloatArray,
) -> tuple[float, float, int]:
    """Improve ``B`` and ``b`` in place until the gap is at most ``tol``.

    Returns the objective, the loss and the number of gaps written to ``history``.
    """
    n_responses, n = response.shape
    eta = np.empty((n_responses, n))
    mean = np.empty((n_responses, n))
    residual = np.empty((n_responses, n))
    gradient = np.empty(B.shape)
    moments = np.empty(B.shape)
    for c in range(n_responses):
        residual[c] = weights * response[c]
    correlate(columns, residual, moments)
    centre = columns_mean(columns, weights)
    for g in range(len(penalty)):
        if penalty[g] == np.inf:
            B[starts[g] : starts[g + 1]] = 0.0
    predict(columns, B, b, eta)
    loss = set_means(family, response, weights, eta, mean)
    objective = loss + penalty_of(B, starts, penalty)
    for n_iter in range(len(history)):
        for c in range(n_responses):
            for i in range(n):
                residual[c, i] = weights[i] * (response[c, i] - mean[c, i])
        correlate(columns, residual, gradient)
        gap = certificate(
            family, response, weights, mean, B, gradient, moments, centre, starts, penalty
        )
        history[n_iter] = gap
        if gap <= tol or n_iter + 1 == len(history):
            return objective, loss, n_iter + 1
        index = working_columns(B, gradient, starts, penalty)
        H = curvature(columns, weights, family, mean, gram, centre, index)
        step, rise = newton_step(H, B, b, residual, gradient, starts, penalty, index, tol, gap)
        before = objective
        length = 1.0
        for _ in range(_HALVINGS):
            move(B, b, step, index, length)
            predict(columns, B, b, eta)
            loss = set_means(family, response, weights, eta, mean)
            objective = loss + penalty_of(B, starts, penalty)
            # Near the optimum, what is left to gain is below the rounding of the two sums.
            if objective <= before + 1e-4 * length * rise + 1e-14 * (1.0 + abs(before)):
                break
            move(B, b, step, index, -length)
            length *= 0.5
    return objective, loss, len(history)


@kernel
def columns_mean(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted mean of each column."""
    centre = np.empty(len(columns))
    for k in range(len(columns)):
        centre[k] = dot(columns[k], weights)
    return centre


@kernel
def correlate(columns: FloatArray, residual: FloatArray, out: FloatArray) -> None:
    """Set ``out`` to the inner products of columns and weighted residuals."""
    for k in range(len(columns)):
        for c in range(len(residual)):
            out[k, c] = dot(columns[k], residual[c])


@kernel
def predict(columns: FloatArray, B: FloatArray, b: FloatArray, eta: FloatArray) -> None:
    """Set ``eta`` to b + B'x of every row."""
    n = columns.shape[1]
    for c in range(len(b)):
        row = eta[c]
        row[:] = b[c]
        for k in range(len(columns)):
            slope = B[k, c]
            if slope != 0.0:
                column = columns[k]
                for i in range(n):
                    row[i] += slope * column[i]


@kernel
def set_means(
    family: int, response: FloatArray, weights: FloatArray, eta: FloatArray, mean: FloatArray
) -> float:
    """Set the expected responses; return the loss, the mean negative log-likelihood."""
    loss = 0.0
    n = eta.shape[1]
    if family == GAUSSIAN:
        for i in range(n):
            mean[0, i] = eta[0, i]
            loss += 0.5 * weights[i] * (response[0, i] - eta[0, i]) ** 2
    elif family == BINARY:
        for i in range(n):
            # Of the smaller of the two exponentials, which cannot overflow.
            small = np.exp(-abs(eta[0, i]))
            mean[0, i] = 1.0 / (1.0 + small) if eta[0, i] >= 0 else small / (1.0 + small)
            loss += weights[i] * (
                max(eta[0, i], 0.0) + np.log1p(small) - response[0, i] * eta[0, i]
            )
    elif family == POISSON:
        for i in range(n):
            mean[0, i] = np.exp(eta[0, i])
            loss += weights[i] * (mean[0, i] - response[0, i] * eta[0, i])
    else:
        for i in range(n):
            largest = eta[0, i]
            for c in range(1, len(eta)):
                largest = max(largest, eta[c, i])
            total = 0.0
            own = 0.0
            for c in range(len(eta)):
                mean[c, i] = np.exp(eta[c, i] - largest)
                total += mean[c, i]
                own += response[c, i] * eta[c, i]
            for c in range(len(eta)):
                mean[c, i] /= total
            loss += weights[i] * (largest + np.log(total) - own)
    return loss


@kernel
def group_norm(B: FloatArray, first: int, last: int) -> float:
    """Length of the coefficients of columns ``first`` to ``last``, that one not included."""
    square = 0.0
    for k in range(first, last):
        for c in range(B.shape[1]):
            square += B[k, c] * B[k, c]
    return float(np.sqrt(square))


@kernel
def penalty_of(B: FloatArray, starts: IntArray, penalty: FloatArray) -> float:
    """Sum of the lengths of the groups, each times its penalty."""
    total = 0.0
    for g in range(len(penalty)):
        size = group_norm(B, starts[g], starts[g + 1])
        if size > 0.0:
            total += penalty[g] * size
    return total


@kernel
def divergence(family: int, q: float, mean: float) -> float:
    """Return by how much the loss of a row with an expected response is above its dual at q."""
    if family == GAUSSIAN:
        return 0.5 * (q - mean) ** 2
    part = q * np.log(q / max(mean, _TINY)) if q > 0.0 else 0.0
    if family == POISSON:
        return max(part - q + mean, 0.0)
    if family == BINARY and q < 1.0:
        part += (1.0 - q) * np.log((1.0 - q) / max(1.0 - mean, _TINY))
    return part


@kernel
def certificate(
    family: int,
    response: FloatArray,
    weights: FloatArray,
    mean: FloatArray,
    B: FloatArray,
    gradient: FloatArray,
    moments: FloatArray,
    centre: FloatArray,
    starts: IntArray,
    penalty: FloatArray,
) -> float:
    r"""Return the duality gap, as a sum of terms that are each at least 0.

    The dual problem asks for means :math:`q_i` of the response with
    :math:`\sum_i w_i (y_i - q_i) = 0` and
    :math:`\|\sum_i w_i x_{ig} (y_i - q_i)\| \le \lambda_g`. Mixing the expected responses with a
    constant, :math:`m_i = (1 - t) \mu_i + \bar y - (1 - t) \bar\mu` with the smallest t that keeps
    them in range, meets the first; :math:`q = y - s (y - m)` with s <= 1 the second. The gap is
    then :math:`\sum_i w_i D(q_i, \mu_i) + \sum_g (\lambda_g \|B_g\| - s \langle B_g, \cdot\rangle)`
    with the divergence D of the family.
    """
    n_responses, n = response.shape
    shift = np.empty(n_responses)
    t = 0.0
    for c in range(n_responses):
        target, found = dot(response[c], weights), dot(mean[c], weights)
        shift[c] = target
        if family != GAUSSIAN and found > target:
            t = max(t, 1.0 - target / found)
        if family == BINARY and found < target:
            t = max(t, 1.0 - (1.0 - target) / (1.0 - found))
    for c in range(n_responses):
        shift[c] -= (1.0 - t) * dot(mean[c], weights)
    scale = 1.0
    inner = np.zeros(len(penalty))
    for g in range(len(penalty)):
        square = 0.0
        for k in range(starts[g], starts[g + 1]):
            for c in range(n_responses):
                pull = t * moments[k, c] + (1.0 - t) * gradient[k, c] - shift[c] * centre[k]
                square += pull * pull
                inner[g] += pull * B[k, c]
        if square > penalty[g] ** 2:
            scale = min(scale, penalty[g] / np.sqrt(square))
    gap = 0.0
    for i in range(n):
        row = 0.0
        for c in range(n_responses):
            dual = (1.0 - t) * mean[c, i] + shift[c]
            row += divergence(family, (1.0 - scale) * response[c, i] + scale * dual, mean[c, i])
        gap += weights[i] * max(row, 0.0)
    for g in range(len(penalty)):
        size = group_norm(B, starts[g], starts[g + 1])
        if size > 0.0:
            gap += max(penalty[g] * size - scale * inner[g], 0.0)
    return gap


@kernel
def working_columns(
    B: FloatArray, gradient: FloatArray, starts: IntArray, penalty: FloatArray
) -> IntArray:
    """List the columns of the groups that are not 0, or that the gradient pulls away from 0."""
    index = np.empty(len(B), dtype=np.int64)
    n_index = 0
    for g in range(len(penalty)):
        first, last = starts[g], starts[g + 1]
        is_working = group_norm(B, first, last) > 0.0
        if is_working or group_norm(gradient, first, last) > penalty[g]:
            for k in range(first, last):
                index[n_index] = k
                n_index += 1
    return index[:n_index]


@kernel
def curvature(
    columns: FloatArray,
    weights: FloatArray,
    family: int,
    mean: FloatArray,
    gram: FloatArray,
    centre: FloatArray,
    index: IntArray,
) -> FloatArray:
    """Second derivatives of the loss: the constant first, then the working columns.

    Entry (k c + a, l c + b) belongs to predictor a of column k and predictor b of column l.
    """
    size = len(index) + 1
    n_responses, n = mean.shape
    H = np.empty((size * n_responses, size * n_responses))
    if family == GAUSSIAN:
        H[0, 0] = 1.0
        for k in range(1, size):
            H[k, 0] = H[0, k] = centre[index[k - 1]]
            for m in range(1, size):
                H[k, m] = gram[index[k - 1], index[m - 1]]
        return H
    Z = np.ones((size, n))
    for k in range(1, size):
        Z[k] = columns[index[k - 1]]
    weighted = np.empty((size, n))
    # The last level is what the others leave: its derivatives are minus their sum.
    n_free = max(n_responses - 1, 1)
    H[:] = 0.0
    for a in range(n_free):
        for b in range(a + 1):
            for i in range(n):
                if family == POISSON:
                    weighted[0, i] = weights[i] * mean[0, i]
                elif a == b:
                    weighted[0, i] = weights[i] * mean[a, i] * (1.0 - mean[a, i])
                else:
                    weighted[0, i] = -weights[i] * mean[a, i] * mean[b, i]
            for k in range(1, size):
                for i in range(n):
                    weighted[k, i] = weighted[0, i] * Z[k, i]
            product = np.dot(weighted, Z.T)
            add_product(H, product, a, b, n_responses)
    return H


@kernel
def add_product(H: FloatArray, product: FloatArray, a: int, b: int, n_responses: int) -> None:
    """Add the derivatives by predictors a and b, and take them off those by the last level."""
    last = n_responses - 1
    for k in range(len(product)):
        for m in range(len(product)):
            value = product[k, m]
            row, column = k * n_responses, m * n_responses
            for _ in range(1 if a == b else 2):
                H[row + a, column + b] += value
                if n_responses > 1:
                    H[row + a, column + last] -= value
                    H[row + last, column + b] -= value
                    H[row + last, column + last] += value
                a, b = b, a


@kernel
def newton_step(
    H: FloatArray,
    B: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    gradient: FloatArray,
    starts: IntArray,
    penalty: FloatArray,
    index: IntArray,
    tol: float,
    gap: float,
) -> tuple[FloatArray, float]:
    """Minimise the quadratic model by block descent.

    Returns the step of the constants and working columns, and the fall of the objective that its
    first derivatives promise, as a negative number.
    """
    n_responses = len(b)
    start = np.empty(len(H))
    pull = np.empty(len(H))
    for c in range(n_responses):
        start[c], pull[c] = b[c], residual[c].sum()
        for k in range(len(index)):
            start[(k + 1) * n_responses + c] = B[index[k], c]
            pull[(k + 1) * n_responses + c] = gradient[index[k], c]
    slope = pull.copy()
    z = start.copy()
    block = H[:n_responses, :n_responses].copy()
    if n_responses > 1:
        # Only differences of the constants matter; this fixes their sum, and changes nothing else.
        block += 1.0 / n_responses
    L = np.zeros((n_responses, n_responses))
    is_regular = factor(block, n_responses, L)
    bounds, first, last, member = blocks_of(H, starts, index, n_responses)
    # The gap falls with the size of the gradient, whose square is what is left to gain.
    goal = max(1e-2 * tol, 1e-3 * gap) ** 2
    fresh = np.empty(len(H))
    for _ in range(_SWEEPS):
        fall = 0.0
        if is_regular:
            fresh[:n_responses] = pull[:n_responses]
            solve(L, n_responses, fresh)
            fall += shift_block(H, z, pull, fresh, 0, n_responses)
        for g in range(len(member)):
            shrink_block(z, pull, fresh, first[g], last[g], bounds[g], penalty[member[g]])
            fall += shift_block(H, z, pull, fresh, first[g], last[g])
        if fall <= goal:
            break
    rise = 0.0
    for k in range(len(H)):
        z[k] -= start[k]
        rise -= slope[k] * z[k]
    for g in range(len(member)):
        before = after = 0.0
        for k in range(first[g], last[g]):
            before += start[k] ** 2
            after += (start[k] + z[k]) ** 2
        rise += penalty[member[g]] * (np.sqrt(after) - np.sqrt(before))
    return z, min(rise, 0.0)


@kernel
def blocks_of(
    H: FloatArray, starts: IntArray, index: IntArray, n_responses: int
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """List the groups among the working columns: a bound of their curvature, their place, number.

    The bound is the largest sum of sizes in a row of the block, which no eigenvalue exceeds.
    """
    bounds = np.empty(len(index))
    first = np.empty(len(index), dtype=np.int64)
    last = np.empty(len(index), dtype=np.int64)
    member = np.empty(len(index), dtype=np.int64)
    n_groups = 0
    g = 0
    k = 0
    while k < len(index):
        while starts[g + 1] <= index[k]:
            g += 1
        size = starts[g + 1] - starts[g]
        low, high = (k + 1) * n_responses, (k + 1 + size) * n_responses
        largest = 0.0
        for i in range(low, high):
            largest = max(largest, np.abs(H[i, low:high]).sum())
        bounds[n_groups], member[n_groups] = largest, g
        first[n_groups], last[n_groups] = low, high
        n_groups += 1
        k += size
    return bounds[:n_groups], first[:n_groups], last[:n_groups], member[:n_groups]


@kernel
def shrink_block(
    z: FloatArray,
    pull: FloatArray,
    fresh: FloatArray,
    first: int,
    last: int,
    bound: float,
    penalty: float,
) -> None:
    """Set the change of a block to that of z + r / L, shortened by penalty / L."""
    square = 0.0
    for k in range(first, last):
        fresh[k] = bound * z[k] + pull[k]
        square += fresh[k] * fresh[k]
    size = np.sqrt(square)
    factor_ = (1.0 - penalty / size) / bound if size > penalty and bound > 0.0 else 0.0
    for k in range(first, last):
        fresh[k] = factor_ * fresh[k] - z[k]


@kernel
def shift_block(
    H: FloatArray, z: FloatArray, pull: FloatArray, change: FloatArray, first: int, last: int
) -> float:
    """Add a change to a block of ``z``; return half its squared length in the metric of H."""
    fall = 0.0
    for k in range(first, last):
        step = change[k]
        if step != 0.0:
            z[k] += step
            row = H[k]
            fall += 0.5 * row[k] * step * step
            for m in range(len(pull)):
                pull[m] -= row[m] * step
    return fall


@kernel
def move(B: FloatArray, b: FloatArray, step: FloatArray, index: IntArray, length: float) -> None:
    """Add a multiple of a step to the constants and the working columns."""
    n_responses = len(b)
    for c in range(n_responses):
        b[c] += length * step[c]
        for k in range(len(index)):
            B[index[k], c] += length * step[(k + 1) * n_responses + c]
