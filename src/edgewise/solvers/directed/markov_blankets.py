"""Markov blankets by tests of conditional independence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.io.messages import quote_names
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.blanket_kernels import (
    ALL,
    AT_END,
    EACH_TIME,
    MARGINAL,
    NEVER,
    STRONGEST,
    find_blanket,
)
from edgewise.solvers.directed.partial_correlation import check_test, correlations, significant_from
from edgewise.solvers.directed.separation_kernels import keep_neighbors_and_spouses

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
        raise InputError(f"method must be one of {quote_names(METHODS)}, got {method!r}.")
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
