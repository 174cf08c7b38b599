"""Markov blankets by tests of conditional independence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import linalg

from edgewise._core.errors import InputError, SolverError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.blanket_kernels import (
    ALL,
    AT_END,
    DEPENDENT,
    EACH_TIME,
    MARGINAL,
    NEVER,
    STRONGEST,
    eliminate,
    find_blanket,
    keep_neighbors_and_spouses,
)
from edgewise.solvers.directed.partial_correlation import (
    check_criterion,
    check_test,
    correlations,
    significant_from,
)
from edgewise.solvers.gaussian.standard_form import check_problem
from edgewise.solvers.lasso.lars import best_supports


@dataclass(frozen=True, kw_only=True, eq=False)
class BlanketSolution(Solution):
    """Blankets of all variables; ``value[i, j]`` is the coefficient of i in that of j.

    ``objective`` is the sum of the criteria. Only the paths were searched, so that ``gap`` is NaN.
    """

    @property
    def blankets(self) -> BoolArray:
        """Whether i is in the blanket of j; not symmetric."""
        chosen: BoolArray = self.value != 0
        return chosen


def lasso_blankets(
    S: FloatArray,
    n_samples: float,
    *,
    gamma: float = 0.0,
    allowed: BoolArray | None = None,
) -> BlanketSolution:
    r"""Choose the blanket of each variable along its lasso path by the extended BIC.

    For variable j, the lasso on all others is followed from the largest penalty down, from one
    change of its support A to the next [1]_. Each support is refitted by least squares and judged
    by

    .. math::

        \tfrac n2 \log \hat\sigma_j^2(A) + |A| \left( \tfrac12 \log n + \gamma \log m \right),

    half the extended BIC, with :math:`\hat\sigma_j^2` the residual variance [2]_. The best support
    is the blanket.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance; the lasso sees the correlations.
    n_samples : float
        Number of rows, n. No blanket is larger than half of it.
    gamma : float
        From 0, the ordinary BIC, to 1, which allows fewer false members.
    allowed : ndarray of bool, shape (m, m), optional
        Whether i may be in the blanket of j; by default all may.

    Returns
    -------
    BlanketSolution
        ``value[i, j]`` is the least squares coefficient of i in the blanket of j.

    References
    ----------
    .. [1] Efron, Hastie, Johnstone and Tibshirani (2004). Least angle regression. *Annals of
       Statistics* 32(2). https://doi.org/10.1214/009053604000000067
    .. [2] Schmidt, Niculescu-Mizil and Murphy (2007). Learning graphical model structure using
       L1-regularization paths. *AAAI*.
       https://cdn.aaai.org/AAAI/2007/AAAI07-202.pdf

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.directed.blankets import lasso_blankets
    >>> S = np.array([[1.0, 0.5, 0.25], [0.5, 1.0, 0.5], [0.25, 0.5, 1.0]])
    >>> lasso_blankets(S, 1000).blankets.astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    S, _ = check_problem(S, None)
    m = len(S)
    check_criterion(n_samples, gamma)
    permitted = np.ones((m, m), dtype=bool) if allowed is None else np.asarray(allowed, dtype=bool)
    if permitted.shape != (m, m):
        raise InputError("allowed_shape", m=m, shape=permitted.shape)
    scale = np.sqrt(S.diagonal())
    R = S / np.outer(scale, scale)
    most = max(int(n_samples / 2), 1)
    per_variable = 0.5 * np.log(n_samples) + gamma * np.log(m)
    rows, scores = np.zeros((m, m)), np.zeros(m)
    best_supports(
        R,
        np.ascontiguousarray(permitted.T),
        _least_residual_variances(R),
        float(n_samples),
        per_variable,
        most,
        rows,
        scores,
    )
    return BlanketSolution(
        value=rows.T * scale / scale[:, None],
        objective=float(scores.sum() + 0.5 * n_samples * np.sum(np.log(S.diagonal()))),
        gap=float("nan"),
        n_iter=1,
        converged=True,
    )


def _least_residual_variances(R: FloatArray) -> FloatArray:
    """Residual variance of each variable given all others, from below; 0 where they determine it.

    A little less than computed, which makes up for rounding.
    """
    try:
        precision = np.linalg.inv(R)
    except np.linalg.LinAlgError:
        return np.full(len(R), np.finfo(np.float64).tiny)
    diagonal = precision.diagonal()
    is_sure = (diagonal > 0) & (diagonal < 1e10)
    return np.where(is_sure, 0.99 / np.maximum(diagonal, 1.0), np.finfo(np.float64).tiny)


#: How a blanket grows, when it shrinks, and whether separating sets prune it.
METHODS: Final = {
    "gs": (MARGINAL, AT_END, False),
    "iamb": (STRONGEST, AT_END, False),
    "inter-iamb": (STRONGEST, EACH_TIME, False),
    "fast-iamb": (ALL, EACH_TIME, False),
    "iamb-npc": (STRONGEST, NEVER, True),
    "inter-iamb-npc": (STRONGEST, EACH_TIME, True),
}
#: A size of separating sets is left out where a pair would take more tests than this.
MOST_TESTS = 20_000


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkovBlanketSolution(Solution):
    """Blankets of all variables; ``value[i, j]`` says whether i is in that of j.

    No objective is minimised: ``objective`` and ``gap`` are NaN.

    Attributes
    ----------
    n_tests : int
        Partial correlations that were compared with their bounds.
    """

    n_tests: int


def blanket_solution(is_member: BoolArray, n_tests: int) -> MarkovBlanketSolution:
    """Collect the result from ``is_member[j, i]``, whether i is in the blanket of j."""
    return MarkovBlanketSolution(
        value=np.ascontiguousarray(is_member.T),
        objective=float("nan"),
        gap=float("nan"),
        n_iter=1,
        converged=True,
        n_tests=int(n_tests),
    )


def markov_blankets(
    S: FloatArray,
    n_samples: float,
    method: str = "iamb",
    *,
    significance: float = 0.01,
    max_condition: int | None = None,
) -> MarkovBlanketSolution:
    """Find the Markov blanket of each Gaussian variable by tests of independence.

    The blanket of a variable is the smallest set given which it is independent of all others: in
    a Bayesian network its parents, its children and the other parents of those, the spouses. Each
    method grows a set by variables that depend on the target given the set, and drops those that
    are independent of it given the rest, weakest first; `fisher_z_test` decides. With exact
    correlations all of them find the same blankets.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows.
    n_samples : float
        Number of rows. No blanket is larger than half of it.
    method : {"gs", "iamb", "inter-iamb", "fast-iamb", "iamb-npc", "inter-iamb-npc"}
        Grow by the dependent variable with the largest marginal correlation (grow-shrink [1]_); by
        the one with the largest partial correlation (IAMB [2]_); the same, dropping members each
        time and not only at the end (inter-IAMB); by all dependent variables at a time, dropping
        members each time (Fast-IAMB [3]_). The last two drop members in another way: those that
        some subset of the others separates from the target, unless they prove to be spouses. They
        condition on fewer variables at a time, which suits few rows.
    significance : float
        Level of each test.
    max_condition : int, optional
        Largest subset tried by the last two methods; by default as large as 20,000 tests for each
        pair allow.

    Returns
    -------
    MarkovBlanketSolution
        ``value[i, j]`` is True where i is in the blanket of j; not symmetric, as tests may err.

    References
    ----------
    .. [1] Margaritis and Thrun (1999). Bayesian network induction via local neighborhoods.
       *NIPS* 12. https://papers.nips.cc/paper/1685
    .. [2] Tsamardinos, Aliferis and Statnikov (2003). Algorithms for large scale Markov blanket
       discovery. *FLAIRS* 16. https://aaai.org/papers/flairs-2003-073/
    .. [3] Yaramakala and Margaritis (2005). Speculative Markov blanket discovery for optimal
       feature selection. *ICDM*. https://doi.org/10.1109/ICDM.2005.134

    Examples
    --------
    In 0 -> 2 <- 1, 2 -> 3 the parents of 2 are in each other's blankets:

    >>> import numpy as np
    >>> from edgewise.solvers import markov_blankets
    >>> effects = np.eye(4)
    >>> effects[[0, 1], 2] = effects[[0, 1, 2], 3] = 1.0
    >>> markov_blankets(effects.T @ effects, 1000).value.astype(int)
    array([[0, 1, 1, 0],
           [1, 0, 1, 0],
           [1, 1, 0, 1],
           [0, 0, 1, 0]])
    """
    if method not in METHODS:
        raise InputError("unknown_blanket_method", methods=METHODS, method=method)
    check_test(n_samples, significance, max_condition)
    R = correlations(S)
    m = len(R)
    limits = significant_from(n_samples, significance, m)
    growth, shrinkage, is_pruned = METHODS[method]
    grown, n_tests = _grow_and_shrink(R, limits, growth, shrinkage, n_samples)
    if not is_pruned:
        return blanket_solution(grown, n_tests)
    pruned = np.zeros((m, m), dtype=bool)
    deepest = largest_condition(n_samples, max_condition, m)
    n_more = keep_neighbors_and_spouses(R, grown, limits, deepest, MOST_TESTS, pruned)
    return blanket_solution(pruned, n_tests + n_more)


def _grow_and_shrink(
    R: FloatArray, limits: FloatArray, growth: int, shrinkage: int, n_samples: float
) -> tuple[BoolArray, int]:
    """Find the blanket of each variable, one per row, and count the tests."""
    m = len(R)
    most = int(min(m - 1, n_samples // 2))
    rows, K = np.empty((most, m)), np.empty((most + 1, most + 1))
    left, shared, strength, is_free = np.empty(m), np.empty(m), np.empty(m), np.empty(m, bool)
    nodes = np.empty(most + 1, dtype=np.int64)
    is_member = np.zeros((m, m), dtype=bool)
    n_tests = 0
    for target in range(m):
        nodes[0] = target
        size, n_more = find_blanket(
            R, limits, growth, shrinkage, nodes, rows, left, shared, strength, is_free, K
        )
        is_member[target, nodes[1 : size + 1]] = True
        n_tests += n_more
    return is_member, n_tests


def largest_condition(n_samples: float, max_condition: int | None, m: int) -> int:
    """Largest set that a test can condition on, given what was asked for and the rows."""
    possible = int(min(m, np.ceil(n_samples) - 4))
    return possible if max_condition is None else min(max_condition, possible)


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
    >>> from edgewise.solvers.directed.blankets import total_conditioning
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
        raise InputError("too_few_rows_for_blankets", m=m + 3, n_samples=n_samples)
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
            raise SolverError("correlations_singular")
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
