"""Markov blankets by conditioning on all other variables at once."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError, SolverError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers.directed.blanket_kernels import DEPENDENT, eliminate
from edgewise.solvers.directed.markov_blankets import MarkovBlanketSolution, blanket_solution
from edgewise.solvers.directed.partial_correlation import check_test, correlations, significant_from


def total_conditioning(
    S: FloatArray, n_samples: float, *, significance: float = 0.01, backward: bool = False
) -> MarkovBlanketSolution:
    r"""Find the Markov blankets of Gaussian variables from the inverse of their correlations.

    Two variables are in each other's blankets if their partial correlation given all others,

    .. math:: -K_{ij} / \sqrt{K_{ii} K_{jj}}, \qquad K = R^{-1},

    is significant [1]_: one inversion finds the blankets of all.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows.
    n_samples : float
        Number of rows, more than m + 3.
    significance : float
        Level of each test.
    backward : bool
        For each variable, drop the others one at a time, the weakest first, until all that are
        left are significant given the rest. Takes :math:`m^4` operations.

    Returns
    -------
    MarkovBlanketSolution
        ``value[i, j]`` is True where i is in the blanket of j; symmetric unless ``backward``.

    References
    ----------
    .. [1] Pellet and Elisseeff (2008). Using Markov blankets for causal structure learning.
       *Journal of Machine Learning Research* 9. https://jmlr.org/papers/v9/pellet08a.html

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import total_conditioning
    >>> S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> total_conditioning(S, 1000).value.astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    check_test(n_samples, significance, None)
    R = correlations(S)
    m = len(R)
    if n_samples <= m + 3:
        raise InputError(
            f"Conditioning on all other variables needs more than m + 3 = {m + 3} rows, got "
            f"n_samples={n_samples:g}. Use markov_blankets, which conditions on few at a time."
        )
    limits = significant_from(n_samples, significance, m)
    K = _inverse(R)
    if backward:
        return _eliminate_backward(K, limits)
    scale = np.sqrt(K.diagonal())
    is_member: BoolArray = np.abs(K) > limits[max(m - 2, 0)] * np.outer(scale, scale)
    np.fill_diagonal(is_member, False)
    return blanket_solution(is_member & is_member.T, m * (m - 1) // 2)


def _inverse(R: FloatArray) -> FloatArray:
    with blas_threads_for(len(R)):
        try:
            factor = linalg.cholesky(R, lower=True, check_finite=False)
        except linalg.LinAlgError:
            factor = None
        # The square of an entry here is the variance that earlier variables leave to one.
        if factor is None or factor.diagonal().min() ** 2 <= DEPENDENT:
            raise SolverError(
                "The correlations have no inverse: some variables follow exactly from others. Drop "
                "them, or add a ridge."
            )
        inverse = linalg.cho_solve((factor, True), np.eye(len(R)), check_finite=False)
    symmetric: FloatArray = (inverse + inverse.T) / 2
    return symmetric


def _eliminate_backward(K: FloatArray, limits: FloatArray) -> MarkovBlanketSolution:
    m = len(K)
    is_member = np.zeros((m, m), dtype=bool)
    n_tests = 0
    for target in range(m):
        nodes = np.arange(m)
        nodes[0], nodes[target] = target, 0
        size, n_more = eliminate(K[np.ix_(nodes, nodes)], nodes, m - 1, limits)
        is_member[target, nodes[1 : size + 1]] = True
        n_tests += n_more
    return blanket_solution(is_member, n_tests)
