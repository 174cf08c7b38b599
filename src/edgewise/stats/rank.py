"""Rank-based correlations (nonparanormal, Spearman, Kendall).

If monotone functions turn the variables into a Gaussian vector (a nonparanormal, or Gaussian
copula), these estimate the correlations of that vector without knowing the functions. Ties get
average ranks. The Spearman and Kendall estimates may fail to be positive semi-definite; see
`edgewise.stats.repair_covariance`.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.stats.moments import as_samples


def nonparanormal(
    X: Any, *, method: Literal["shrinkage", "truncation"] = "shrinkage"
) -> FloatArray:
    r"""Make every variable look normal by its ranks.

    .. math:: z_{ij} = \Phi^{-1}(\hat F_j(x_{ij})) / s_j,

    where :math:`\hat F_j` is :math:`\mathrm{rank} / (n + 1)` (``"shrinkage"``) or
    :math:`\mathrm{rank} / n` kept between :math:`\delta` and :math:`1 - \delta` with
    :math:`\delta = 1 / (4 n^{1/4} \sqrt{\pi \log n})` (``"truncation"``), and :math:`s_j` gives
    every column unit variance. Up to the divisor (:math:`n` here, :math:`n - 1` there) this is
    ``huge.npn`` of the R package huge.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples without missing values or constant columns.
    method : {"shrinkage", "truncation"}
        How the empirical distribution is kept away from 0 and 1.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Mean zero up to ties and truncation, variance one.

    References
    ----------
    H. Liu, J. Lafferty and L. Wasserman (2009), The nonparanormal: semiparametric estimation of
    high dimensional undirected graphs, Journal of Machine Learning Research 10, 2295-2328.

    Examples
    --------
    >>> nonparanormal([[1.0], [10.0], [1000.0]]).round(3)
    array([[-1.225],
           [ 0.   ],
           [ 1.225]])
    """
    ranks = average_ranks(X)
    n_samples = len(ranks)
    if method == "shrinkage":
        levels = ranks / (n_samples + 1)
    elif method == "truncation":
        margin = 1.0 / (4.0 * n_samples**0.25 * math.sqrt(math.pi * math.log(n_samples)))
        levels = np.clip(ranks / n_samples, margin, 1.0 - margin)
    else:
        raise InputError("rank_method", method=method)
    scores: FloatArray = ndtri(levels)
    scores /= scores.std(axis=0)
    return scores


def nonparanormal_correlation(
    X: Any, *, method: Literal["shrinkage", "truncation"] = "shrinkage"
) -> FloatArray:
    """Correlations of the samples after `nonparanormal`; always positive semi-definite.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples without missing values or constant columns.
    method : {"shrinkage", "truncation"}
        As in `nonparanormal`.

    Returns
    -------
    ndarray of shape (n_features, n_features)

    Examples
    --------
    >>> X = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    >>> nonparanormal_correlation(np.exp(X))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    return _pearson(nonparanormal(X, method=method))


def spearman_correlation(X: Any) -> FloatArray:
    r"""Correlations of a Gaussian copula from Spearman's rank correlation.

    .. math:: R_{jk} = 2 \sin\left(\frac{\pi}{6} \hat\rho_{jk}\right),

    with :math:`\hat\rho` the correlation of the (average) ranks.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples without missing values or constant columns.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Unit diagonal; may have negative eigenvalues.

    References
    ----------
    H. Liu, F. Han, M. Yuan, J. Lafferty and L. Wasserman (2012), High-dimensional semiparametric
    Gaussian copula graphical models, Annals of Statistics 40, 2293-2326, doi:10.1214/12-AOS1037.

    Examples
    --------
    >>> spearman_correlation([[1, 2], [2, 1], [3, 3]]).round(4)
    array([[1.    , 0.5176],
           [0.5176, 1.    ]])
    """
    R: FloatArray = 2.0 * np.sin(np.pi / 6.0 * _pearson(average_ranks(X)))
    return _unit_diagonal(R)


def kendall_correlation(X: Any) -> FloatArray:
    r"""Correlations of a Gaussian copula from Kendall's rank correlation.

    .. math:: R_{jk} = \sin\left(\frac{\pi}{2} \hat\tau_{jk}\right),

    with :math:`\hat\tau` the share of concordant less that of discordant pairs of samples. Where
    values are tied it is divided by :math:`\sqrt{(1 - t_j)(1 - t_k)}`, :math:`t_j` being the share
    of pairs tied in variable :math:`j` (Kendall's :math:`\tau_b`), so that a variable and its copy
    have correlation one; the estimator of the reference, for continuous variables, has no such
    factor and is the same without ties. One pair of variables costs
    :math:`O(n \log n)`.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples without missing values or constant columns.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Unit diagonal; may have negative eigenvalues.

    References
    ----------
    H. Liu, F. Han, M. Yuan, J. Lafferty and L. Wasserman (2012), High-dimensional semiparametric
    Gaussian copula graphical models, Annals of Statistics 40, 2293-2326, doi:10.1214/12-AOS1037.

    W. R. Knight (1966), A computer method for calculating Kendall's tau with ungrouped data,
    Journal of the American Statistical Association 61, 436-439,
    doi:10.1080/01621459.1966.10480879.

    Examples
    --------
    >>> kendall_correlation([[1, 2], [2, 1], [3, 3]]).round(4)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    values = _varying_samples(X)
    order = np.ascontiguousarray(np.argsort(values, axis=0, kind="stable").T, dtype=np.int64)
    R: FloatArray = np.sin(np.pi / 2.0 * _kendall_matrix(*_dense_ranks(values, order), order))
    return _unit_diagonal(R)


def _varying_samples(X: Any) -> FloatArray:
    values: FloatArray = as_samples(X, min_samples=2)
    flat = np.flatnonzero((values == values[0]).all(axis=0)).tolist()
    if flat:
        raise InputError("constant_ranks", flat=flat[:5])
    return values


def average_ranks(X: Any) -> FloatArray:
    """Average ranks from 1, column by column."""
    values = _varying_samples(X)
    order = np.ascontiguousarray(np.argsort(values, axis=0, kind="stable").T, dtype=np.int64)
    dense, starts = _dense_ranks(values, order)
    # A value with dense rank r fills the places starts[r] to starts[r + 1] - 1, counted from 0.
    first = np.take_along_axis(starts, dense, axis=1)
    last = np.take_along_axis(starts, dense + 1, axis=1)
    ranks: FloatArray = (first + last + 1) / 2.0
    return ranks.T


def _dense_ranks(values: FloatArray, order: IntArray) -> tuple[IntArray, IntArray]:
    """Rank the distinct values of every column.

    Returns ``dense`` (n_features, n_samples), the number of distinct smaller values, and
    ``starts`` (n_features, n_samples + 1), the number of samples below each distinct value, filled
    up with n_samples.
    """
    n_samples, n_features = values.shape
    in_order = np.take_along_axis(values.T, order, axis=1)
    is_new = np.ones((n_features, n_samples), dtype=bool)
    is_new[:, 1:] = in_order[:, 1:] != in_order[:, :-1]
    dense = np.empty((n_features, n_samples), dtype=np.int64)
    np.put_along_axis(dense, order, np.cumsum(is_new, axis=1) - 1, axis=1)
    starts = np.full((n_features, n_samples + 1), n_samples, dtype=np.int64)
    for k in range(n_features):
        places = np.flatnonzero(is_new[k])
        starts[k, : len(places)] = places
    return dense, starts


def _pearson(values: FloatArray) -> FloatArray:
    centered = values - values.mean(axis=0)
    centered /= np.sqrt((centered**2).sum(axis=0))
    R: FloatArray = centered.T @ centered
    return _unit_diagonal(np.clip((R + R.T) / 2.0, -1.0, 1.0))


def _unit_diagonal(R: FloatArray) -> FloatArray:
    np.fill_diagonal(R, 1.0)
    return R


@kernel
def _kendall_matrix(dense: IntArray, starts: IntArray, order: IntArray) -> FloatArray:
    """Kendall's tau-b of all pairs of variables, after Knight.

    With the samples sorted by variable j, and by variable k among equals, a pair is discordant
    when the later one has the smaller k. Writing P for the number of pairs, T_j and T_k for those
    tied in one variable and T_jk for those tied in both,

        tau = (P - T_j - T_k + T_jk - 2 discordant) / sqrt((P - T_j) (P - T_k)).
    """
    n_features, n_samples = dense.shape
    pairs = n_samples * (n_samples - 1) // 2
    tied = np.zeros(n_features, dtype=np.int64)
    for j in range(n_features):
        for r in range(n_samples):
            size = starts[j, r + 1] - starts[j, r]
            tied[j] += size * (size - 1) // 2
    tau = np.eye(n_features)
    place = np.empty(n_samples, dtype=np.int64)
    by_j = np.empty(n_samples, dtype=np.int64)
    tree = np.empty(n_samples + 1, dtype=np.int64)
    for j in range(n_features):
        for k in range(j):
            # The order by k, dealt out to the places of the values of j, is sorted by both.
            place[:] = starts[j, :n_samples]
            for i in range(n_samples):
                sample = order[k, i]
                by_j[place[dense[j, sample]]] = sample
                place[dense[j, sample]] += 1
            tied_both = 0
            run = 1
            for i in range(1, n_samples):
                a, b = by_j[i - 1], by_j[i]
                if dense[j, a] == dense[j, b] and dense[k, a] == dense[k, b]:
                    tied_both += run
                    run += 1
                else:
                    run = 1
            tree[:] = 0
            discordant = 0
            for i in range(n_samples):
                rank = dense[k, by_j[i]] + 1
                discordant += i - _count_up_to(tree, rank)
                _add_at(tree, rank)
            concordance = pairs - tied[j] - tied[k] + tied_both - 2 * discordant
            scale = math.sqrt(float(pairs - tied[j])) * math.sqrt(float(pairs - tied[k]))
            tau[j, k] = tau[k, j] = concordance / scale
    return tau


@kernel
def _count_up_to(tree: IntArray, rank: int) -> int:
    """Count the ranks entered so far that are at most ``rank`` (a Fenwick tree)."""
    count = 0
    while rank > 0:
        count += tree[rank]
        rank -= rank & -rank
    return count


@kernel
def _add_at(tree: IntArray, rank: int) -> None:
    """Enter ``rank`` into the tree."""
    while rank < len(tree):
        tree[rank] += 1
        rank += rank & -rank
