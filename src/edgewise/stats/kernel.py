r"""Means and covariances near a point: rows weighted by a kernel of their distance."""

from __future__ import annotations

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray

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
        raise InputError(f"bandwidth must be above 0, got {float(width.min()):g}.")
    # The nearest row gets weight 1 before scaling: far from all rows nothing underflows.
    beyond = squared_distances - squared_distances.min(axis=1, keepdims=True)
    weights: FloatArray = np.exp(beyond * (-0.5 / width**2)[:, None])
    weights /= weights.sum(axis=1, keepdims=True)
    return weights


def effective_samples(weights: FloatArray) -> FloatArray:
    r"""How many equally weighted rows are worth as much: :math:`(\sum_i w_i)^2 / \sum_i w_i^2`.

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
        raise InputError(f"n_effective must be between 0 and {n_rows}, got {n_effective:g}.")
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
