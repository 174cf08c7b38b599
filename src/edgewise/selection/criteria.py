r"""Selection criteria: EBIC, held-out log-likelihood, StARS instability."""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg, special

from edgewise._core.errors import InputError, SolverError
from edgewise._core.typing import AnyArray, FloatArray


def ebic(
    log_likelihood: float,
    n_edges: int,
    n_samples: float,
    n_features: int,
    gamma: float = 0.5,
) -> float:
    r"""Give the extended Bayesian information criterion of a Gaussian graph; smaller is better.

    .. math::

        \mathrm{EBIC}_\gamma = -2 \ell + E \log n + 4 \gamma E \log p

    with :math:`\ell` the log-likelihood of all rows, :math:`E` edges, :math:`n` rows and
    :math:`p` variables [1]_. The last term makes up for the number of graphs with E edges;
    ``gamma=0`` gives the ordinary BIC.

    Parameters
    ----------
    log_likelihood : float
        Log-likelihood of all rows together (not their mean).
    n_edges : int
        Unordered pairs that are joined.
    n_samples : float
        Number of rows, or the sum of their weights.
    n_features : int
        Number of variables.
    gamma : float
        From 0 to 1; larger favours fewer edges.

    Returns
    -------
    float

    References
    ----------
    .. [1] Foygel and Drton (2010). Extended Bayesian information criteria for Gaussian graphical
       models. *Advances in Neural Information Processing Systems* 23.
       https://doi.org/10.48550/arXiv.1011.6640

    Examples
    --------
    >>> round(ebic(-100.0, n_edges=3, n_samples=50, n_features=10), 4)
    225.5516
    """
    if not 0 <= gamma <= 1:
        raise InputError("gamma_range", gamma=gamma)
    if not n_samples > 1:
        raise InputError("ebic_rows", n_samples=n_samples)
    per_edge = np.log(n_samples) + 4.0 * gamma * np.log(n_features)
    return float(-2.0 * log_likelihood + n_edges * per_edge)


def independent_rows(X: FloatArray, block_length: int) -> float:
    r"""Count the independent rows that say as much of correlations as rows in order do.

    With autocorrelations :math:`\rho_i(k)` at lag :math:`k`, the correlation of two columns that
    have nothing to do with each other has the variance [1]_

    .. math:: \frac{1}{n} \Bigl(1 + 2 \sum_{k=1}^{b-1} (1 - k/n) \rho_i(k) \rho_j(k)\Bigr),

    and the mean of the bracket over all pairs divides the number of rows. Rows that are a block of
    :math:`b` rows apart count as unrelated.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows in order, NaN where a value is missing.
    block_length : int
        :math:`b`.

    Returns
    -------
    float
        At most n.

    References
    ----------
    .. [1] Bartlett (1946). On the theoretical specification and sampling properties of
       autocorrelated time-series. *Supplement to the Journal of the Royal Statistical Society*
       8(1).
       https://doi.org/10.2307/2983611

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> round(independent_rows(X, 10)), round(independent_rows(X[1:] + X[:-1], 10))
    (200, 141)
    """
    n, p = X.shape
    Z = X - np.nanmean(X, axis=0)
    spread = np.sqrt(np.nanmean(Z**2, axis=0))
    Z = np.nan_to_num(Z / np.where(spread > 0, spread, 1.0))
    excess = 0.0
    for lag in range(1, min(block_length, n - 1)):
        lagged = (Z[lag:] * Z[:-lag]).sum(axis=0) / (n - lag)
        pairs = (lagged.sum() ** 2 - (lagged**2).sum()) / max(p * (p - 1), 1)
        excess += 2.0 * (1.0 - lag / n) * pairs
    return float(n / max(1.0 + excess, 1.0))


#: Chance edges, as a share of the columns, that the default gamma allows for.
CHANCE_EDGES = 0.2


def default_gamma(n_samples: float, n_features: int) -> float:
    r"""Gamma of the extended BIC of refitted graphs: 0.25, and more with fewer rows than columns.

    At 0.25 the best of many columns pays for an edge by chance once there are few rows, and then
    the next one, until rows run out. So gamma is raised until independent Gaussian columns would
    have an expected number of edges of a fifth of the number of columns: a pair is joined where
    :math:`-n \log(1 - r^2)` is above the price of an edge.

    Parameters
    ----------
    n_samples : float
        Number of rows.
    n_features : int
        Number of columns.

    Returns
    -------
    float
        From 0.25 to 1.

    Examples
    --------
    >>> default_gamma(100, 20), round(default_gamma(38, 3051), 2)
    (0.25, 0.37)
    """
    if n_features < 2 or n_samples <= 2:
        return 0.25
    tail = min(0.5, CHANCE_EDGES / (n_features - 1))
    statistic = float(special.stdtrit(n_samples - 2.0, tail))
    gain = n_samples * math.log1p(statistic**2 / (n_samples - 2.0))
    needed = (gain - math.log(n_samples)) / (4.0 * math.log(n_features))
    return min(1.0, max(0.25, needed))


def smallest_p_value(S: FloatArray, n_samples: float) -> float:
    """Test whether any correlation differs from 0, corrected for their number by Bonferroni.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance or correlation matrix.
    n_samples : float
        Rows behind it.

    Returns
    -------
    float
        The p-value of the largest correlation, by Student's t, times the number of pairs, at
        most 1; NaN where the number of rows is.

    Examples
    --------
    >>> import numpy as np
    >>> round(smallest_p_value(np.array([[1.0, 0.4], [0.4, 1.0]]), 30), 4)
    0.0285
    """
    p = len(S)
    if math.isnan(n_samples):
        return math.nan
    if p < 2 or n_samples <= 2:
        return 1.0
    scale = 1.0 / np.sqrt(S.diagonal())
    largest = 0.0
    for i in range(1, p):
        largest = max(largest, float(np.abs(S[i, :i] * scale[:i]).max() * scale[i]))
    if largest >= 1.0:
        return 0.0
    statistic = largest * math.sqrt((n_samples - 2.0) / (1.0 - largest**2))
    tail = float(special.stdtr(n_samples - 2.0, -statistic))
    return min(1.0, p * (p - 1) * tail)


def two_sided(score: FloatArray) -> FloatArray:
    """P-values of normal scores, of whichever sign."""
    return np.asarray(2.0 * special.ndtr(-np.abs(score)))


def false_discovery_control(pvalues: FloatArray, method: str = "bh") -> FloatArray:
    """Adjust p-values for their number, to compare with a false discovery rate.

    As in `scipy.stats`, which takes longer to import than a fit.

    Parameters
    ----------
    pvalues : ndarray of shape (m,)
    method : {"bh", "by"}
        Of Benjamini and Hochberg, or of Benjamini and Yekutieli.

    Returns
    -------
    ndarray of shape (m,)

    Examples
    --------
    >>> false_discovery_control(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.04, 0.04])
    """
    order = np.argsort(pvalues)
    rank = np.arange(1, len(pvalues) + 1)
    scaled = pvalues[order] * (len(pvalues) / rank)
    if method == "by":
        scaled *= np.sum(1 / rank)
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum.accumulate(scaled[::-1])[::-1]
    return np.clip(adjusted, 0.0, 1.0)


def gaussian_log_likelihood(
    precision: FloatArray, S: FloatArray, *, log_determinant: float | None = None
) -> float:
    r"""Mean Gaussian log-likelihood per row, from the rows' second moments about the mean.

    .. math::

        \tfrac12 \left( \log\det\Theta - \mathrm{tr}(S \Theta) - p \log 2\pi \right)

    Parameters
    ----------
    precision : ndarray of shape (p, p)
        The model's precision matrix Theta, positive definite.
    S : ndarray of shape (p, p)
        Second moments of the rows about the model's mean.
    log_determinant : float, optional
        That of the precision, where it is known; otherwise it costs a factorisation.

    Returns
    -------
    float

    Examples
    --------
    >>> round(gaussian_log_likelihood(np.eye(1), np.eye(1)), 4)
    -1.4189
    """
    n_features = len(precision)
    trace = float(np.sum(S * precision))
    if log_determinant is None:
        log_determinant = 2.0 * float(np.sum(np.log(_cholesky(precision).diagonal())))
    return 0.5 * (log_determinant - trace - n_features * math.log(2 * math.pi))


def row_log_likelihood(X: FloatArray, location: FloatArray, covariance: FloatArray) -> FloatArray:
    r"""Gaussian log-likelihood of the observed entries of each row.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows; NaN marks what is missing.
    location : ndarray of shape (p,)
        Mean of the model.
    covariance : ndarray of shape (p, p)
        Covariance of the model, positive definite.

    Returns
    -------
    ndarray of shape (n,)
        Log-density of the observed part of each row, which is that of the marginal Gaussian; 0
        for a row with no value at all.

    Examples
    --------
    >>> row_log_likelihood(np.array([[0.0, np.nan]]), np.zeros(2), np.eye(2)).round(4)
    array([-0.9189])
    """
    distance, log_determinant, n_seen = _by_pattern(X, location, covariance)
    return -0.5 * (distance + log_determinant + n_seen * math.log(2 * math.pi))


def squared_distances(X: FloatArray, location: FloatArray, covariance: FloatArray) -> FloatArray:
    r"""Squared Mahalanobis distance of each row; a row with missing values counts what it has.

    Parameters
    ----------
    X, location, covariance
        As for `row_log_likelihood`.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> squared_distances(np.array([[2.0, np.nan], [1.0, 1.0]]), np.zeros(2), np.eye(2))
    array([4., 2.])
    """
    return _by_pattern(X, location, covariance)[0]


def _by_pattern(
    X: FloatArray, location: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Distance, log-determinant and number of values of the observed part of each row."""
    is_observed = ~np.isnan(X)
    patterns, member = np.unique(is_observed, axis=0, return_inverse=True)
    distance, log_determinant = np.zeros((2, len(X)))
    for index, pattern in enumerate(patterns):
        if not pattern.any():
            continue
        rows = np.flatnonzero(member.ravel() == index)
        factor = _cholesky(covariance[np.ix_(pattern, pattern)])
        deviation = X[np.ix_(rows, np.flatnonzero(pattern))] - location[pattern]
        whitened = linalg.solve_triangular(factor, deviation.T, lower=True)
        distance[rows] = np.sum(whitened**2, axis=0)
        log_determinant[rows] = 2.0 * np.sum(np.log(factor.diagonal()))
    return distance, log_determinant, is_observed.sum(axis=1).astype(np.float64)


def instability(frequency: AnyArray) -> float:
    r"""StARS instability: how often two subsamples disagree about a pair, on average.

    .. math::

        D = \binom{p}{2}^{-1} \sum_{s < t} 2 \theta_{st} (1 - \theta_{st})

    where :math:`\theta_{st}` is the share of subsamples that join s and t [1]_.

    Parameters
    ----------
    frequency : ndarray of shape (n_pairs,)
        The shares, one entry per pair.

    Returns
    -------
    float
        Between 0 and 1/2; 0 when there is no pair.

    References
    ----------
    .. [1] Liu, Roeder and Wasserman (2010). Stability approach to regularization selection
       (StARS) for high dimensional graphical models. *Advances in Neural Information Processing
       Systems* 23. https://doi.org/10.48550/arXiv.1006.3316

    Examples
    --------
    >>> instability(np.array([0.0, 0.5, 1.0, 1.0]))
    0.125
    """
    share = np.asarray(frequency, dtype=np.float64)
    return float(np.mean(2.0 * share * (1.0 - share))) if share.size else 0.0


def stars_subsample_size(n_samples: int) -> int:
    r"""Rows per StARS subsample: ``floor(10 sqrt(n))`` above 144 rows, else ``floor(0.8 n)``.

    Examples
    --------
    >>> stars_subsample_size(400), stars_subsample_size(100)
    (200, 80)
    """
    if n_samples > 144:
        return int(np.floor(10 * np.sqrt(n_samples)))
    return n_samples * 4 // 5


def _cholesky(matrix: FloatArray) -> FloatArray:
    try:
        factor: FloatArray = linalg.cholesky(matrix, lower=True)
    except linalg.LinAlgError as error:
        raise SolverError("likelihood_indefinite") from error
    return factor
