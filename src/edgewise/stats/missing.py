"""Mean and covariance of samples with missing values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError, SolverError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.stats.moments import as_samples, as_weights

#: A variable with less than this share of its variance left, given others, counts as theirs.
SINGULAR = 1e-10
LOG_TWO_PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouped:
    """Samples in an order that puts those with the same gaps together.

    Pattern t holds the samples ``row_starts[t]`` to ``row_starts[t + 1] - 1``; its gaps are the
    variables ``gaps[gap_starts[t]]`` to ``gaps[gap_starts[t + 1] - 1]``.
    """

    values: FloatArray
    weights: FloatArray
    is_gap: BoolArray
    row_starts: IntArray
    gaps: IntArray
    gap_starts: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """Parameters, their objective, and the parameters that the expected sums call for next."""

    location: FloatArray
    covariance: FloatArray
    log_likelihood: float
    objective: float
    next_location: FloatArray
    next_covariance: FloatArray


def group_by_gaps(values: FloatArray, weights: FloatArray, is_gap: BoolArray) -> Grouped:
    """Put samples that miss the same variables together."""
    masks, which = np.unique(is_gap, axis=0, return_inverse=True)
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    return Grouped(
        values=np.where(is_gap, 0.0, values)[order],
        weights=weights[order],
        is_gap=is_gap[order],
        row_starts=np.concatenate([[0], np.cumsum(np.bincount(which))]).astype(np.int64),
        gaps=np.nonzero(masks)[1].astype(np.int64),
        gap_starts=np.concatenate([[0], np.cumsum(masks.sum(axis=1))]).astype(np.int64),
    )


def climb(
    samples: Grouped, ridge: float, tol: float, max_iter: int
) -> tuple[State, FloatArray, bool]:
    """Iterate from the identity until an iteration gains less than ``tol`` per sample.

    Parameters
    ----------
    samples : Grouped
        Scaled so that the observed values of a variable have mean 0 and variance 1.
    ridge, tol, max_iter
        As in `edgewise.stats.em_covariance`.

    Returns
    -------
    state : State
    history : ndarray
        The objective at every state, the first included.
    converged : bool
    """
    n_features = samples.values.shape[1]
    weight = float(samples.weights.sum())
    state = _evaluate(samples, ridge, np.zeros(n_features), np.eye(n_features))
    history = [state.objective]
    converged = False
    while not converged and len(history) <= max_iter:
        state = _evaluate(samples, ridge, state.next_location, state.next_covariance)
        history.append(state.objective)
        converged = history[-1] - history[-2] < tol * weight
    return state, np.array(history), converged


def _evaluate(
    samples: Grouped, ridge: float, location: FloatArray, covariance: FloatArray
) -> State:
    r"""Compute the objective and, in the same pass, the expected sums.

    With the gaps filled by their conditional mean, :math:`r^\top K r` is the quadratic form
    :math:`r_o^\top \Sigma_{oo}^{-1} r_o` of the observed part, and
    :math:`\det \Sigma_{oo} = \det \Sigma \det K_{mm}`.
    """
    K, logdet = _inverse(covariance)
    n_features = len(location)
    weights, weight = samples.weights, float(samples.weights.sum())
    r = np.where(samples.is_gap, 0.0, samples.values - location)
    second = np.zeros((n_features, n_features))
    logdet_gaps = _fill_gaps(
        r, weights, K, samples.row_starts, samples.gaps, samples.gap_starts, second
    )
    if math.isnan(logdet_gaps):
        raise _singular()
    weighted = r * weights[:, None]
    second += weighted.T @ r
    form = float(np.sum((weighted @ K) * r))
    n_seen = float(weights @ (n_features - samples.is_gap.sum(axis=1)))
    log_likelihood = -0.5 * (form + weight * logdet + logdet_gaps + n_seen * LOG_TWO_PI)
    offset = weighted.sum(axis=0) / weight
    S = second / weight - np.outer(offset, offset)
    return State(
        location=location,
        covariance=covariance,
        log_likelihood=log_likelihood,
        objective=log_likelihood - 0.5 * weight * ridge * float(np.trace(K)),
        next_location=location + offset,
        next_covariance=(S + S.T) / 2.0 + ridge * np.eye(n_features),
    )


@kernel
def _fill_gaps(
    r: FloatArray,
    weights: FloatArray,
    K: FloatArray,
    row_starts: IntArray,
    gaps: IntArray,
    gap_starts: IntArray,
    spread: FloatArray,
) -> float:
    """Fill the gaps of the deviations ``r``, zero so far, with their conditional means.

    Given the observed part o, the gaps m have mean ``-inv(K_mm) K_mo r_o`` and covariance
    ``inv(K_mm)``, which is added to ``spread`` by weight. Returns the weighted sum of
    ``log det K_mm``, or NaN if one is not positive definite.
    """
    n_features = len(K)
    factor = np.empty((n_features, n_features))
    solution = np.empty(n_features)
    logdet = 0.0
    for t in range(len(row_starts) - 1):
        g = gaps[gap_starts[t] : gap_starts[t + 1]]
        size = len(g)
        if size == 0:
            continue
        total = 0.0
        for row in range(row_starts[t], row_starts[t + 1]):
            total += weights[row]
        for a in range(size):
            for b in range(a + 1):
                value = K[g[a], g[b]]
                for c in range(b):
                    value -= factor[a, c] * factor[b, c]
                if b < a:
                    factor[a, b] = value / factor[b, b]
                elif value > 0.0:
                    factor[a, a] = math.sqrt(value)
                    logdet += total * math.log(value)
                else:
                    return math.nan
        for row in range(row_starts[t], row_starts[t + 1]):
            for a in range(size):
                solution[a] = -np.dot(K[g[a]], r[row])
            _solve_in_place(factor, size, solution)
            for a in range(size):
                r[row, g[a]] = solution[a]
        for b in range(size):
            solution[:size] = 0.0
            solution[b] = 1.0
            _solve_in_place(factor, size, solution)
            for a in range(size):
                spread[g[a], g[b]] += total * solution[a]
    return logdet


@kernel
def _solve_in_place(factor: FloatArray, size: int, x: FloatArray) -> None:
    """Solve ``L L' x = b`` with the leading block of a lower factor; b comes in as ``x``."""
    for a in range(size):
        for c in range(a):
            x[a] -= factor[a, c] * x[c]
        x[a] /= factor[a, a]
    for a in range(size - 1, -1, -1):
        for c in range(a + 1, size):
            x[a] -= factor[c, a] * x[c]
        x[a] /= factor[a, a]


def _inverse(matrix: FloatArray) -> tuple[FloatArray, float]:
    """Inverse and log-determinant of a covariance that is not close to singular."""
    try:
        factor = linalg.cholesky(matrix, lower=True)
    except linalg.LinAlgError as error:
        raise _singular() from error
    pivots = np.diagonal(factor) ** 2
    if (pivots < SINGULAR * np.diagonal(matrix)).any():
        raise _singular()
    inverse: FloatArray = linalg.cho_solve((factor, True), np.eye(len(matrix)))
    return np.ascontiguousarray((inverse + inverse.T) / 2.0), float(np.log(pivots).sum())


def _singular() -> SolverError:
    return SolverError("em_singular")


#: Ridge of `em_covariance` where the samples cannot determine the covariance by themselves.
DEFAULT_RIDGE = 1e-2


@dataclass(frozen=True, kw_only=True, eq=False)
class PairwiseCovariance:
    """Result of `pairwise_covariance`.

    Attributes
    ----------
    location : ndarray of shape (n_features,)
        Mean of the observed values of each variable.
    covariance : ndarray of shape (n_features, n_features)
        Symmetric; may have negative eigenvalues.
    n_pairs : ndarray of int, shape (n_features, n_features)
        Number of samples in which both variables are observed.

    Examples
    --------
    >>> pairwise_covariance([[1.0, 2.0], [3.0, np.nan], [5.0, 0.0]]).n_pairs
    array([[3, 2],
           [2, 2]])
    """

    location: FloatArray
    covariance: FloatArray
    n_pairs: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class EMCovariance:
    """Result of `em_covariance`.

    Attributes
    ----------
    location : ndarray of shape (n_features,)
    covariance : ndarray of shape (n_features, n_features)
        Symmetric and positive definite.
    log_likelihood : float
        Of the observed values, summed over samples (by weight), without the ridge.
    history : ndarray of shape (n_iter + 1,)
        The objective before the first and after every iteration; never falls.
    n_iter : int
    converged : bool
        Whether the last iteration gained less than the tolerance.
    ridge : float
        The ridge that was used.
    n_empty : int
        Samples without any observed value; they carry no information and were left out.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, np.nan], [5.0, 0.0]])
    >>> em_covariance(X).converged
    True
    """

    location: FloatArray
    covariance: FloatArray
    log_likelihood: float
    history: FloatArray
    n_iter: int
    converged: bool
    ridge: float
    n_empty: int


def pairwise_covariance(
    X: Any, *, sample_weight: Any = None, names: Sequence[str] | None = None
) -> PairwiseCovariance:
    r"""Covariance of each pair of variables over the samples in which both are observed.

    .. math:: S_{jk} = \sum_i w_i (x_{ij} - m_{jk}) (x_{ik} - m_{kj}),

    where the sum, the weights (scaled to sum to one) and the means :math:`m_{jk}` of variable j
    and :math:`m_{kj}` of variable k run over the samples that have both. Consistent when values
    are missing completely at random; entries rest on different samples, so the matrix may be
    indefinite.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples, NaN where a value is missing.
    sample_weight : array-like of shape (n_samples,), optional
        Relative weights.
    names : sequence of str, optional
        Variable names for messages; ``x0``, ``x1``, ... without them.

    Returns
    -------
    PairwiseCovariance

    Raises
    ------
    InputError
        If two variables are observed together in fewer than two samples.

    Examples
    --------
    >>> X = [[1.0, 2.0], [3.0, np.nan], [5.0, 0.0]]
    >>> pairwise_covariance(X).covariance.round(3)
    array([[ 2.667, -2.   ],
           [-2.   ,  1.   ]])
    """
    values = as_samples(X, allow_missing=True)
    weights = as_weights(sample_weight, len(values))
    is_seen = ~np.isnan(values) & (weights > 0)[:, None]
    n_pairs = _count_pairs(is_seen, names)
    seen = is_seen.astype(np.float64)
    total: FloatArray = (seen * weights[:, None]).T @ seen
    filled = np.where(is_seen, values, 0.0)
    location: FloatArray = (weights @ filled) / np.diagonal(total)
    centered = np.where(is_seen, values - location, 0.0)
    pair_mean = (centered * weights[:, None]).T @ seen / total
    product = (centered * weights[:, None]).T @ centered / total
    S = product - pair_mean * pair_mean.T
    return PairwiseCovariance(location=location, covariance=(S + S.T) / 2.0, n_pairs=n_pairs)


def em_covariance(
    X: Any,
    *,
    sample_weight: Any = None,
    ridge: float | None = None,
    tol: float = 1e-8,
    max_iter: int = 2000,
    names: Sequence[str] | None = None,
) -> EMCovariance:
    r"""Maximum-likelihood mean and covariance of Gaussian samples with missing values.

    Maximises, by the EM algorithm, the likelihood of the observed parts :math:`x_{i, o_i}`,

    .. math::

        \sum_i w_i \log N(x_{i, o_i};\, \mu_{o_i}, \Sigma_{o_i o_i})
        - \frac{n \rho}{2} \operatorname{tr}(D \Sigma^{-1}),

    where :math:`\rho` is the ridge, :math:`n = \sum_i w_i` and :math:`D` the diagonal matrix of the
    variances of the observed values. With :math:`\rho = 0` this is the maximum-likelihood estimate,
    consistent when values are missing at random. With no more samples than variables the
    likelihood has no maximum; the ridge keeps the covariance away from singular ones.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples, NaN where a value is missing. Those without any value are left out.
    sample_weight : array-like of shape (n_samples,), optional
        Weights; a weight of 2 counts a sample twice.
    ridge : float, optional
        :math:`\rho`. By default 0, unless there are no more samples than variables or the
        covariance proves singular: then 0.01.
    tol : float
        Stop when an iteration adds less than this to the objective per sample.
    max_iter : int
        Most iterations.
    names : sequence of str, optional
        Variable names for messages; ``x0``, ``x1``, ... without them.

    Returns
    -------
    EMCovariance

    Raises
    ------
    InputError
        If two variables are observed together in fewer than two samples.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin (1977), Maximum likelihood from incomplete data via
    the EM algorithm, Journal of the Royal Statistical Society B 39, 1-38,
    doi:10.1111/j.2517-6161.1977.tb01600.x.

    Notes
    -----
    Samples are handled by their pattern of gaps. With :math:`K = \Sigma^{-1}` and :math:`r` the
    deviations from the mean, the missing part m given the observed part o has mean
    :math:`-K_{mm}^{-1} K_{mo} r_o` and covariance :math:`K_{mm}^{-1}`, so that a pattern costs a
    factorisation of the size of its gaps only.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, np.nan], [5.0, 0.0]])
    >>> em_covariance(X).location.round(3)
    array([2.75 , 0.962])
    """
    values = as_samples(X, allow_missing=True)
    weights = as_weights(sample_weight, len(values))
    is_seen = ~np.isnan(values)
    keep = is_seen.any(axis=1) & (weights > 0)
    n_empty = int((~is_seen.any(axis=1)).sum())
    values, weights, is_seen = values[keep], weights[keep], is_seen[keep]
    if ridge is not None and ridge < 0:
        raise InputError("negative_ridge", ridge=ridge)
    _count_pairs(is_seen, names)
    center, scale = _observed_scale(values, weights, is_seen, names)
    samples = group_by_gaps((values - center) / scale, weights, ~is_seen)
    if ridge is None:
        # Rows that repeat others add nothing that would make the covariance regular.
        n_different = len(np.unique(np.where(is_seen, values, np.inf), axis=0))
        ridge = 0.0 if n_different > values.shape[1] else DEFAULT_RIDGE
        try:
            state, history, converged = climb(samples, ridge, tol, max_iter)
        except SolverError:
            ridge = DEFAULT_RIDGE
            state, history, converged = climb(samples, ridge, tol, max_iter)
    else:
        state, history, converged = climb(samples, ridge, tol, max_iter)
    # The scaling of each observed value adds its logarithm to the log-likelihood.
    log_scale = float(weights @ (is_seen @ np.log(scale)))
    return EMCovariance(
        location=center + scale * state.location,
        covariance=state.covariance * np.outer(scale, scale),
        log_likelihood=state.log_likelihood - log_scale,
        history=history - log_scale,
        n_iter=len(history) - 1,
        converged=converged,
        ridge=float(ridge),
        n_empty=n_empty,
    )


def _count_pairs(is_seen: BoolArray, names: Sequence[str] | None) -> IntArray:
    """Count the samples that have both variables, and refuse pairs that are as good as unseen.

    No likelihood or average says anything about two variables that are never seen together.
    """
    seen = is_seen.astype(np.float64)
    n_pairs: IntArray = np.rint(seen.T @ seen).astype(np.int64)
    single = np.flatnonzero(np.diagonal(n_pairs) < 2)
    rare = np.argwhere(np.triu(n_pairs < 2))
    if len(single):
        column = _label(int(single[0]), names)
        count = n_pairs[single[0], single[0]]
        raise InputError("too_few_observed", column=column, count=count)
    if len(rare):
        j, k = (int(index) for index in rare[0])
        more = f", and so are {len(rare) - 1} more pairs" if len(rare) > 1 else ""
        raise InputError(
            "too_few_pairwise",
            label=_label(j, names),
            label2=_label(k, names),
            n_pair=n_pairs[j, k],
            more=more,
        )
    return n_pairs


def _label(column: int, names: Sequence[str] | None) -> str:
    return f"'{names[column]}'" if names is not None else f"'x{column}'"


def _observed_scale(
    values: FloatArray, weights: FloatArray, is_seen: BoolArray, names: Sequence[str] | None
) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of the observed values of each variable."""
    total = weights @ is_seen
    center: FloatArray = weights @ np.where(is_seen, values, 0.0) / total
    deviation = np.where(is_seen, values - center, 0.0)
    scale: FloatArray = np.sqrt(weights @ deviation**2 / total)
    if (scale <= 0).any():
        column = _label(int(np.argmin(scale)), names)
        raise InputError("constant_where_observed", column=column)
    return center, scale
