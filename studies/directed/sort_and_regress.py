"""The baseline of directed networks: sort the variables, regress each on those before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.blankets import lasso_blankets
from edgewise.solvers.gaussian.standard_form import check_problem
from edgewise.stats.moments import explained_variance

#: Figures that differ by less are equal, so that rounding does not decide the order.
DECIMALS = 9


@dataclass(frozen=True, kw_only=True, eq=False)
class SortedSolution(Solution):
    """Regressions along an order; ``value[i, j]`` is the coefficient of the arc i -> j.

    Attributes
    ----------
    order : ndarray of int, shape (m,)
        The variables from first to last.
    """

    order: IntArray


def sort_and_regress(
    S: FloatArray,
    n_samples: float,
    by: str | ArrayLike = "variance",
    *,
    gamma: float = 0.0,
) -> SortedSolution:
    """Sort the variables by a figure of their own and regress each on those before it.

    No search for directions at all. Where it does as well as a method that searches, the data gave
    the order away by their scale [1]_ or by how predictable they are [2]_, and the comparison says
    little about the method. Regressions are sparse: of the supports along the lasso path that with
    the smallest extended BIC, as in `lasso_blankets`.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance on the scale that the other methods see. Variances that are all the same leave
        the variables in the order they come in: permute them first, or it may be the true one.
    n_samples : float
        Number of rows.
    by : {"variance", "r2"} or array-like of shape (m,)
        The figure, smallest first: the variance, the share of it that all others explain, or any
        numbers, such as random ones.
    gamma : float
        From 0, the ordinary BIC, to 1, which allows fewer false arcs.

    Returns
    -------
    SortedSolution

    References
    ----------
    .. [1] Reisach, Seiler and Weichwald (2021). Beware of the simulated DAG! Causal discovery
       benchmarks may be easy to game. *NeurIPS* 34. https://doi.org/10.48550/arXiv.2102.13647
    .. [2] Reisach, Tami, Seiler, Chambaz and Weichwald (2023). A scale-invariant sorting criterion
       to find a causal order in additive noise models. *NeurIPS* 36.
       https://doi.org/10.48550/arXiv.2303.18211

    Examples
    --------
    >>> import numpy as np
    >>> from studies.directed.sort_and_regress import sort_and_regress
    >>> S = np.array([[3.0, 2.0, 1.0], [2.0, 2.0, 1.0], [1.0, 1.0, 1.0]])
    >>> found = sort_and_regress(S, 1000)
    >>> found.order
    array([2, 1, 0])
    >>> found.value.round(6)
    array([[0., 0., 0.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """
    S, _ = check_problem(S, None)
    order = np.argsort(_figures(S, n_samples, by), kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    found = lasso_blankets(S, n_samples, gamma=gamma, allowed=rank[:, None] < rank)
    return SortedSolution(**vars(found), order=order)


def _figures(S: FloatArray, n_samples: float, by: str | ArrayLike) -> FloatArray:
    if isinstance(by, str):
        if by == "variance":
            return np.asarray(np.round(np.log(S.diagonal()), DECIMALS), dtype=np.float64)
        if by != "r2":
            raise InputError(f'by must be "variance", "r2" or numbers, got {by!r}.')
        if n_samples <= len(S):
            raise InputError(
                f'by="r2" takes more rows than the {len(S)} columns; there are {n_samples:g}.'
            )
        return np.round(explained_variance(S), DECIMALS)
    figures = np.asarray(by, dtype=np.float64)
    if figures.shape != (len(S),) or np.isnan(figures).any():
        raise InputError(f"by must hold {len(S)} numbers, got shape {figures.shape}.")
    return figures
