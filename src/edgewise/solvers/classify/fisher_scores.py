"""Fisher scores of linear networks: gradients of the log-likelihood of each row."""

from __future__ import annotations

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray


def with_constant(X: FloatArray) -> FloatArray:
    """Rows with a last column of ones, the parent whose coefficients are the intercepts."""
    return np.column_stack([X, np.ones(len(X))])


def network_residuals(X: FloatArray, coefs: FloatArray) -> FloatArray:
    """Work out what each network leaves unexplained of each row.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Rows.
    coefs : ndarray of shape (n_classes, m + 1, m)
        ``coefs[c, i, j]`` is the coefficient of i -> j in network c; the last row of each holds
        the intercepts.

    Returns
    -------
    ndarray of shape (n_classes, n, m)
    """
    m = X.shape[1]
    return np.stack([X - X @ coef[:m] - coef[m] for coef in coefs])


def fisher_vectors(X: FloatArray, coefs: FloatArray) -> FloatArray:
    r"""Gradient of each row's log-likelihood in all coefficients of all networks.

    With unit noise the component of the arc i -> j is :math:`r_j x_i`, where :math:`r` are the
    residuals of the network; the constant 1 takes the place of :math:`x_i` for an intercept.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Rows.
    coefs : ndarray of shape (n_classes, m + 1, m)
        As in `network_residuals`.

    Returns
    -------
    ndarray of shape (n, n_classes, m + 1, m)
        0 where an arc would lead from a variable to itself.

    Examples
    --------
    >>> import numpy as np
    >>> X, nothing = np.array([[1.0, 2.0]]), np.zeros((1, 3, 2))
    >>> fisher_vectors(X, nothing)[0, 0]
    array([[0., 2.],
           [2., 0.],
           [1., 2.]])
    """
    residuals = network_residuals(X, coefs)
    vectors: FloatArray = np.einsum("ai,caj->acij", with_constant(X), residuals)
    loops = np.arange(X.shape[1])
    vectors[:, :, loops, loops] = 0.0
    return vectors


def fisher_kernel(X: FloatArray, Y: FloatArray, coefs: FloatArray) -> FloatArray:
    r"""Inner products of `fisher_vectors`, which are never formed.

    .. math::

        K = \sum_c (R_c R_c'^\top) \circ (X Y^\top + 1)
        - (R_c \circ X) (R_c' \circ Y)^\top

    with the residuals :math:`R_c, R_c'` of network c on X and Y. It costs :math:`O(n^2 m)` and not
    :math:`O(n^2 m^2)`.

    Parameters
    ----------
    X : ndarray of shape (n, m)
    Y : ndarray of shape (n_other, m)
    coefs : ndarray of shape (n_classes, m + 1, m)
        As in `network_residuals`.

    Returns
    -------
    ndarray of shape (n, n_other)

    References
    ----------
    Jaakkola and Haussler (1998). Exploiting generative models in discriminative classifiers.
    *Advances in Neural Information Processing Systems* 11.

    Examples
    --------
    >>> import numpy as np
    >>> X, nothing = np.array([[1.0, 2.0]]), np.zeros((1, 3, 2))
    >>> fisher_kernel(X, X, nothing)
    array([[13.]])
    """
    products = X @ Y.T + 1.0
    kernel = np.zeros_like(products)
    pairs = zip(network_residuals(X, coefs), network_residuals(Y, coefs), strict=True)
    for ours, theirs in pairs:
        kernel += (ours @ theirs.T) * products - (ours * X) @ (theirs * Y).T
    return kernel


def score_correlations(X: FloatArray, labels: IntArray, coefs: FloatArray) -> FloatArray:
    """How far each arc's Fisher score tells the class of its network from the others.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        Rows.
    labels : ndarray of shape (n,)
        Number of the class of each row.
    coefs : ndarray of shape (n_classes, m + 1, m)
        Network of each class, as in `network_residuals`.

    Returns
    -------
    ndarray of shape (n_classes, m + 1, m)
        Absolute correlation of the component with belonging to the class; 0 for a component that
        does not vary.
    """
    extended = with_constant(X)
    n, sizes = len(X), []
    for c, residuals in enumerate(network_residuals(X, coefs)):
        is_member = (labels == c) - np.mean(labels == c)
        mean = extended.T @ residuals / n
        spread = (extended**2).T @ residuals**2 / n - mean**2
        covariance = extended.T @ (is_member[:, None] * residuals) / n
        # A spread that is rounding would make any correlation.
        varies = spread > 1e-12 * np.maximum(mean**2, np.finfo(float).tiny)
        scale = np.sqrt(np.where(varies, spread, 1.0) * np.mean(is_member**2))
        sizes.append(np.where(varies, np.abs(covariance) / scale, 0.0))
    return np.stack(sizes)


def select_arcs(correlations: FloatArray, allowed: BoolArray, n_arcs: int) -> IntArray:
    """List the allowed arcs whose scores tell most.

    Parameters
    ----------
    correlations : ndarray of shape (n_classes, m + 1, m)
        Of `score_correlations`.
    allowed : ndarray of bool of the same shape
        Which arcs may be taken.
    n_arcs : int
        Largest number of arcs.

    Returns
    -------
    ndarray of shape (k, 3)
        Class, parent and child of each, sorted by class and child; parent m is the constant.

    Examples
    --------
    >>> import numpy as np
    >>> correlations = np.array([[[0.0, 0.9], [0.2, 0.0], [0.1, 0.3]]])
    >>> select_arcs(correlations, correlations > 0, 2)
    array([[0, 0, 1],
           [0, 2, 1]])
    """
    if n_arcs < 1:
        raise InputError("n_arcs_range", n_arcs=n_arcs)
    sizes = np.where(allowed, correlations, 0.0).ravel()
    best = np.argsort(-sizes, kind="stable")[:n_arcs]
    arcs = np.column_stack(np.unravel_index(best[sizes[best] > 0], correlations.shape))
    return arcs[np.lexsort((arcs[:, 1], arcs[:, 2], arcs[:, 0]))].astype(np.int64)
