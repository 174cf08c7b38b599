"""Mean and covariance: of a whole table, accumulated over chunks, or near a point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from edgewise._core.arrays import array_namespace, is_foreign, like
from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.data.checks import check_weights
from edgewise.io.messages import describe_mismatch
from edgewise.stats.positive import correlation_from_covariance


def as_samples(X: Any, *, min_samples: int = 1, allow_missing: bool = False) -> Any:
    """Return ``X`` as floats, rows by columns, after validation."""
    xp: Any = array_namespace(X) if is_foreign(X) else np
    values = xp.astype(X, xp.float64) if is_foreign(X) else np.asarray(X, dtype=np.float64)
    shape = tuple(values.shape)
    if len(shape) != 2 or shape[1] == 0:
        raise InputError("samples_not_two_dimensional", shape=shape)
    if shape[0] < min_samples:
        raise InputError("too_few_samples", shape=shape[0], min_samples=min_samples)
    if bool(xp.all(xp.isfinite(values))):
        return values
    if bool(xp.any(xp.isinf(values))):
        raise InputError("samples_infinite")
    if not allow_missing and bool(xp.any(xp.isnan(values))):
        raise InputError("samples_missing")
    return values


def as_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return one weight per sample, ones by default."""
    if sample_weight is None:
        return np.ones(n_samples)
    return check_weights(sample_weight, n_samples)


#: Per variable, what rounding may leave of a variance that others explain, as a share of it.
ROUNDING = 1e-13


def covariance(
    X: Any, *, sample_weight: Any = None, assume_centered: bool = False
) -> tuple[FloatArray, FloatArray]:
    r"""Maximum-likelihood mean and covariance of samples.

    .. math::

        \mu = \sum_i w_i x_i, \qquad S = \sum_i w_i (x_i - \mu)(x_i - \mu)^\top,

    with weights :math:`w_i` that sum to one (:math:`1/n` by default, as in scikit-learn's
    ``empirical_covariance``). The samples are shifted by their mean before they are multiplied,
    and what the rounding of that mean leaves over is taken off after, so large offsets cost no
    digits.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples without missing values.
    sample_weight : array-like of shape (n_samples,), optional
        Relative weights; their sum has no effect.
    assume_centered : bool
        Take the mean to be zero instead of estimating it.

    Returns
    -------
    location : ndarray of shape (n_features,)
        :math:`\mu`; zeros if ``assume_centered``.
    S : ndarray of shape (n_features, n_features)
        Exactly symmetric.

    See Also
    --------
    Moments : The same in chunks.

    Examples
    --------
    >>> location, S = covariance([[1.0, 2.0], [3.0, 6.0]])
    >>> location
    array([2., 4.])
    >>> S
    array([[1., 2.],
           [2., 4.]])
    """
    if assume_centered:
        values = as_samples(X)
        weights = as_weights(sample_weight, len(values))
        return np.zeros(values.shape[1]), _scatter(values, weights) / weights.sum()
    moments = Moments.from_samples(X, sample_weight=sample_weight)
    return moments.mean, moments.covariance()


def explained_variance(S: FloatArray) -> FloatArray:
    r"""Share of each variable's variance that a linear regression on all others explains.

    .. math:: R_j^2 = 1 - \frac{1}{S_{jj} (S^{-1})_{jj}}

    Parameters
    ----------
    S : ndarray of shape (n_features, n_features)
        Covariance, of full rank.

    Returns
    -------
    ndarray of shape (n_features,)
        Between 0 and 1.

    Examples
    --------
    >>> explained_variance(np.array([[1.0, 0.6], [0.6, 1.0]])).round(6)
    array([0.36, 0.36])
    """
    left = _left_by_others(S)
    if left.min() <= ROUNDING * len(S):
        raise InputError("exactly_collinear")
    return np.clip(1.0 - left, 0.0, 1.0)


def _left_by_others(S: FloatArray) -> FloatArray:
    """Share of each variance that all other variables leave; 0 where factors break down."""
    if (S.diagonal() <= 0).any():
        return np.zeros(len(S))
    try:
        # On the scale of correlations, so that no unit decides what is small.
        factor = linalg.cholesky(correlation_from_covariance(S), lower=True)
    except linalg.LinAlgError:
        return np.zeros(len(S))
    inverse = linalg.solve_triangular(factor, np.eye(len(S)), lower=True)
    left: FloatArray = 1.0 / np.sum(inverse**2, axis=0)
    return left


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    r"""Weight, mean and scatter of samples, which can be merged in any order.

    Two summaries :math:`(n_a, \mu_a, M_a)` and :math:`(n_b, \mu_b, M_b)` merge into

    .. math::

        n = n_a + n_b, \qquad \delta = \mu_b - \mu_a, \qquad
        \mu = \mu_a + \frac{n_b}{n} \delta, \qquad
        M = M_a + M_b + \frac{n_a n_b}{n} \delta \delta^\top.

    A mean is held as the sum of two parts, ``shift + offset``, because :math:`\delta` would lose
    its digits to a large common offset otherwise.

    Attributes
    ----------
    weight : float
        Sum of the sample weights; the number of samples if they have none.
    n_samples : int
        Number of samples.
    shift, offset : array of shape (n_features,)
        The mean in two parts.
    scatter : array of shape (n_features, n_features)
        Weighted sum of squared deviations from the mean.
    names : tuple of str or None
        Names of the variables, where they have any.

    See Also
    --------
    stream_covariance : From chunks, files and clusters.

    References
    ----------
    T. F. Chan, G. H. Golub and R. J. LeVeque (1983), Algorithms for computing the sample
    variance, The American Statistician 37, 242-247, doi:10.1080/00031305.1983.10483115.

    Examples
    --------
    >>> X = np.arange(12.0).reshape(6, 2) ** 2
    >>> moments = Moments.from_samples(X[:4])
    >>> moments = moments.update(X[4:])
    >>> bool(np.allclose(moments.covariance(), np.cov(X.T, bias=True)))
    True
    """

    weight: float
    n_samples: int
    shift: Any
    offset: Any
    scatter: Any
    names: tuple[str, ...] | None = None

    @classmethod
    def from_samples(
        cls, X: Any, *, sample_weight: Any = None, names: Sequence[str] | None = None
    ) -> Moments:
        """Summarise samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples without missing values. Those of another array library than numpy are summed up
            on their device, and so are the summaries merged there.
        sample_weight : array-like of shape (n_samples,), optional
            Absolute weights: a weight of 2 counts a sample twice.
        names : sequence of str, optional
            Names of the variables.

        Returns
        -------
        Moments
        """
        values = as_samples(X)
        if names is not None and len(names) != values.shape[1]:
            raise InputError("moment_names_count", n_names=len(names), n_columns=values.shape[1])
        weights = as_weights(sample_weight, values.shape[0])
        total, here = float(weights.sum()), like(weights, values)
        shift = here @ values / total
        deviation = values - shift
        offset = here @ deviation / total
        scatter = _scatter(deviation, weights)
        scatter -= _square(offset, total)
        return cls(
            weight=total,
            n_samples=values.shape[0],
            shift=shift,
            offset=offset,
            scatter=scatter,
            names=None if names is None else tuple(names),
        )

    @classmethod
    def from_covariance(
        cls, S: Any, n_samples: int, *, mean: Any = None, names: Sequence[str] | None = None
    ) -> Moments:
        """Summarise samples of which only the covariance is left.

        Parameters
        ----------
        S : array-like of shape (n_features, n_features)
            Covariance, divided by the number of samples.
        n_samples : int
            Number of samples behind it.
        mean : array-like of shape (n_features,), optional
            Mean of the samples; 0 by default.
        names : sequence of str, optional
            Names of the variables.

        Returns
        -------
        Moments

        Examples
        --------
        >>> Moments.from_covariance([[1.0, 0.5], [0.5, 1.0]], 50).covariance()
        array([[1. , 0.5],
               [0.5, 1. ]])
        """
        from edgewise.stats.positive import check_covariance

        try:
            matrix = check_covariance(S, names)
        except InputError as error:
            if error.code != "not_semidefinite_covariance":
                raise
            raise InputError("moments_not_semidefinite", **error.values) from error
        if not n_samples >= 1:
            raise InputError("n_samples_at_least_one", n_samples=n_samples)
        center = np.zeros(len(matrix)) if mean is None else np.asarray(mean, dtype=np.float64)
        for given in (center, () if names is None else names):
            if len(given) not in (0, len(matrix)):
                raise InputError("moment_values_count", n_given=len(given), n_matrix=len(matrix))
        return cls(
            weight=float(n_samples),
            n_samples=int(n_samples),
            shift=center,
            offset=np.zeros(len(matrix)),
            scatter=matrix * float(n_samples),
            names=None if names is None else tuple(names),
        )

    @property
    def mean(self) -> Any:
        """Mean of the samples, shape (n_features,)."""
        return self.shift + self.offset

    def merge(self, other: Moments) -> Moments:
        """Summarise the samples of both.

        Parameters
        ----------
        other : Moments
            Of the same variables.

        Returns
        -------
        Moments
            A new object.
        """
        if self.shift.shape != other.shift.shape:
            raise InputError(
                "moments_size_mismatch", n_shift=len(self.shift), n_shift2=len(other.shift)
            )
        if self.names != other.names:
            raise InputError(
                "moments_names_mismatch",
                describe_mismatch=describe_mismatch(self.names, other.names),
            )
        weight = self.weight + other.weight
        # The shifts are of one size, so that their difference is nearly exact.
        delta = (other.shift - self.shift) + (other.offset - self.offset)
        # In place: a matrix may be most of the memory there is.
        scatter = _square(delta, self.weight * other.weight / weight)
        scatter += self.scatter
        scatter += other.scatter
        return Moments(
            weight=weight,
            n_samples=self.n_samples + other.n_samples,
            shift=self.shift,
            offset=self.offset + delta * (other.weight / weight),
            scatter=scatter,
            names=self.names,
        )

    def update(self, X: Any, *, sample_weight: Any = None) -> Moments:
        """Summarise further samples too.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The next chunk.
        sample_weight : array-like of shape (n_samples,), optional
            Its absolute weights.

        Returns
        -------
        Moments
            A new object.
        """
        return self.merge(Moments.from_samples(X, sample_weight=sample_weight, names=self.names))

    def covariance(self) -> Any:
        """Covariance of all samples seen, shape (n_features, n_features)."""
        return self.scatter / self.weight


def _scatter(deviation: Any, weights: FloatArray) -> Any:
    """Return ``deviation.T @ diag(weights) @ deviation``, exactly symmetric."""
    is_plain = bool((weights == 1.0).all())
    root = deviation if is_plain else deviation * like(np.sqrt(weights), deviation)[:, None]
    scatter = root.T @ root
    if is_foreign(scatter):
        return 0.5 * (scatter + scatter.T)
    scatter += scatter.T
    scatter *= 0.5
    return scatter


def _square(vector: Any, factor: float) -> Any:
    """Return ``factor * outer(vector, vector)``, exactly symmetric."""
    scaled = vector * math.sqrt(factor)
    return scaled[:, None] * scaled[None, :]


#: Halvings of the interval that holds a bandwidth, on a log scale: relative error 1e-6.
BISECTIONS = 30


def kernel_weights(squared_distances: FloatArray, bandwidth: float | FloatArray) -> FloatArray:
    r"""Gaussian weights of rows around points, each point's summing to one.

    .. math:: w_i(x) \propto \exp\left(-\frac{\|x - x_i\|^2}{2 h^2}\right)

    Parameters
    ----------
    squared_distances : ndarray of shape (n_points, n_rows)
        :math:`\|x - x_i\|^2`.
    bandwidth : float or ndarray of shape (n_points,)
        h, the same for all points or one for each.

    Returns
    -------
    ndarray of shape (n_points, n_rows)

    Examples
    --------
    >>> import numpy as np
    >>> kernel_weights(np.array([[0.0, 1.0, 4.0]]), 1.0).round(3)
    array([[0.574, 0.348, 0.078]])
    """
    width = np.broadcast_to(np.asarray(bandwidth, dtype=np.float64), len(squared_distances))
    if not (width > 0).all():
        raise InputError("bandwidth_positive", width=float(width.min()))
    # The nearest row gets weight 1 before scaling: far from all rows nothing underflows.
    beyond = squared_distances - squared_distances.min(axis=1, keepdims=True)
    weights: FloatArray = np.exp(beyond * (-0.5 / width**2)[:, None])
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def effective_samples(weights: FloatArray) -> FloatArray:
    r"""Effective sample size of weighted rows: :math:`(\sum_i w_i)^2 / \sum_i w_i^2`.

    Parameters
    ----------
    weights : ndarray of shape (n_points, n_rows)
        Not negative.

    Returns
    -------
    ndarray of shape (n_points,)

    Examples
    --------
    >>> import numpy as np
    >>> effective_samples(np.array([[1.0, 1.0, 0.0], [2.0, 1.0, 1.0]])).round(2)
    array([2.  , 2.67])
    """
    total: FloatArray = weights.sum(axis=1)
    squares: FloatArray = np.einsum("ij,ij->i", weights, weights)
    return total**2 / squares


def bandwidth_for(squared_distances: FloatArray, n_effective: float) -> FloatArray:
    """Find the bandwidth at each point that gives it a number of effective rows.

    That number grows with the bandwidth, from the rows at the least distance to all rows.

    Parameters
    ----------
    squared_distances : ndarray of shape (n_points, n_rows)
        Between points and rows.
    n_effective : float
        Effective rows wanted, below the number of rows.

    Returns
    -------
    ndarray of shape (n_points,)
        Where more rows than that coincide, next to nothing.

    Examples
    --------
    >>> import numpy as np
    >>> D = np.array([[0.0, 1.0, 4.0]])
    >>> h = bandwidth_for(D, 2.0)
    >>> effective_samples(kernel_weights(D, h)).round(3)
    array([2.])
    """
    n_rows = squared_distances.shape[1]
    if not 0 < n_effective < n_rows:
        raise InputError("n_effective_range", n_rows=n_rows, n_effective=n_effective)
    farthest = np.sqrt(squared_distances.max(axis=1))
    # With no distance at all every bandwidth does; otherwise the upper end all but ignores it.
    upper = np.log(np.where(farthest > 0, farthest, 1.0) * n_rows)
    lower = upper - np.log(1e12)
    for _ in range(BISECTIONS):
        middle = (lower + upper) / 2.0
        weights = kernel_weights(squared_distances, np.exp(middle))
        is_enough = effective_samples(weights) >= n_effective
        upper = np.where(is_enough, middle, upper)
        lower = np.where(is_enough, lower, middle)
    width: FloatArray = np.exp(upper)
    return width


def weighted_moments(
    Y: FloatArray, weights: FloatArray, *, location: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    r"""Mean and covariance of rows under each of several sets of weights.

    .. math::
        \mu(x) = \sum_i w_i(x) y_i, \qquad
        S(x) = \sum_i w_i(x) (y_i - \mu(x))(y_i - \mu(x))^\top

    Parameters
    ----------
    Y : ndarray of shape (n_rows, p)
        Rows, best centred: large offsets cost digits.
    weights : ndarray of shape (n_points, n_rows)
        Each point's sum to one.
    location : ndarray of shape (n_points, p), optional
        Take second moments about these instead of about the means.

    Returns
    -------
    location : ndarray of shape (n_points, p)
        The means, or what was given.
    S : ndarray of shape (n_points, p, p)
        Symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> Y = np.array([[0.0, 1.0], [2.0, 3.0]])
    >>> mean, S = weighted_moments(Y, np.array([[0.5, 0.5]]))
    >>> mean, S[0]
    (array([[1., 2.]]), array([[1., 1.],
           [1., 1.]]))
    """
    mean: FloatArray = weights @ Y
    about = mean if location is None else location
    p = Y.shape[1]
    S = np.empty((len(weights), p, p))
    for k in range(p):
        # One product for all points is far faster than one per point.
        products: FloatArray = weights @ (Y[:, k, None] * Y[:, k:])
        products -= about[:, k, None] * mean[:, k:]
        products -= (mean[:, k, None] - about[:, k, None]) * about[:, k:]
        S[:, k, k:] = products
        S[:, k:, k] = products
    return about, S
