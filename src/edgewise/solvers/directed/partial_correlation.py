"""Partial correlations of Gaussian variables, and Fisher's z test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers.directed.blanket_kernels import correlation_given
from edgewise.solvers.gaussian.standard_form import check_problem


class FisherTest(NamedTuple):
    """Result of a test of independence.

    Attributes
    ----------
    correlation : float
        Partial correlation.
    statistic : float
        Its size on a scale on which it is normal with variance 1 under independence.
    p_value : float
        Probability of a size at least as large under independence.
    """

    correlation: float
    statistic: float
    p_value: float


def partial_correlation(S: FloatArray, i: int, j: int, given: Sequence[int] = ()) -> float:
    """Correlation of two variables once others are held fixed.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance.
    i, j : int
        The two variables.
    given : sequence of int
        The others.

    Returns
    -------
    float
        0 where the others determine one of the two.

    Examples
    --------
    Two causes of one effect are independent, but not given the effect:

    >>> import numpy as np
    >>> from edgewise.solvers.directed.partial_correlation import partial_correlation
    >>> S = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 3.0]])
    >>> partial_correlation(S, 0, 1), round(partial_correlation(S, 0, 1, [2]), 3)
    (0.0, -0.5)
    """
    R = correlations(S)
    given = [int(k) for k in given]
    nodes = [int(i), int(j), *given]
    if len(set(nodes)) < len(nodes) or not all(0 <= node < len(R) for node in nodes):
        raise InputError("test_indices", n_variables=len(R) - 1, i=i, j=j, given=given)
    return float(correlation_given(R, nodes[0], nodes[1], np.array(given, dtype=np.int64)))


def fisher_z_test(
    S: FloatArray, n_samples: float, i: int, j: int, given: Sequence[int] = ()
) -> FisherTest:
    r"""Test whether two Gaussian variables are independent given others.

    Fisher's transform of the partial correlation r given c variables,

    .. math:: z = \sqrt{n - c - 3} \; |\operatorname{artanh} r|,

    is close to the size of a standard normal variable if they are independent [1]_.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows.
    n_samples : float
        Number of rows, n; more than c + 3.
    i, j : int
        The two variables.
    given : sequence of int
        The others.

    Returns
    -------
    FisherTest
        ``correlation``, ``statistic`` and ``p_value``.

    References
    ----------
    .. [1] Fisher (1924). The distribution of the partial correlation coefficient. *Metron* 3.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.directed.partial_correlation import fisher_z_test
    >>> S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> fisher_z_test(S, 103, 0, 2).p_value < 0.05, fisher_z_test(S, 103, 0, 2, [1]).p_value
    (True, 1.0)
    """
    freedom = n_samples - len(given) - 3
    if not freedom > 0:
        raise InputError(
            "too_few_rows_for_test",
            n_given=len(given),
            n_given2=len(given) + 3,
            n_samples=n_samples,
        )
    correlation = partial_correlation(S, i, j, given)
    size = min(abs(correlation), 1.0 - np.finfo(np.float64).epsneg)
    statistic = float(np.sqrt(freedom) * np.arctanh(size))
    p_value = float(2.0 * ndtr(-statistic))
    return FisherTest(correlation=correlation, statistic=statistic, p_value=p_value)


def correlations(S: FloatArray) -> FloatArray:
    """Correlations of a covariance that was checked, exactly symmetric."""
    S, _ = check_problem(S, None)
    scale = np.sqrt(S.diagonal())
    R: FloatArray = S / np.outer(scale, scale)
    np.fill_diagonal(R, 1.0)
    return R


def check_criterion(n_samples: float, gamma: float) -> None:
    """Validate the number of rows and the weight of the extended BIC."""
    if not n_samples > 2:
        raise InputError("n_samples_above_two", n_samples=n_samples)
    if not 0 <= gamma <= 1:
        raise InputError("gamma_between", gamma=gamma)


def check_test(n_samples: float, significance: float, max_condition: int | None) -> None:
    """Refuse numbers that no test can be done with."""
    if not 3 < n_samples < np.inf:
        raise InputError("tests_need_rows", n_samples=n_samples)
    if not 0 < significance < 1:
        raise InputError("significance_range", "significance", significance=significance)
    if max_condition is not None and max_condition < 0:
        raise InputError("max_condition_range", max_condition=max_condition)


def significant_from(n_samples: float, significance: float, m: int) -> FloatArray:
    """Size above which a partial correlation given 0, 1, ..., m variables is significant.

    Infinite where there are not enough rows for a test.
    """
    freedom = n_samples - np.arange(m + 1) - 3.0
    bound = -ndtri(significance / 2.0)
    limits: FloatArray = np.full(m + 1, np.inf)
    is_possible = freedom > 0
    limits[is_possible] = np.tanh(bound / np.sqrt(freedom[is_possible]))
    return limits


def truth_matrix(given: ArrayLike | bool, name: str, m: int) -> BoolArray:
    """Copy one truth value per pair of variables, or take the same for all."""
    if isinstance(given, bool):
        return np.full((m, m), given)
    matrix = np.array(given, dtype=bool)
    if matrix.shape != (m, m):
        raise InputError("square_shape", name=name, m=m, shape=matrix.shape)
    return matrix
