"""Skeleton and colliders of a Bayesian network by separating sets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.blanket_kernels import (
    correlation_given,
    prune_stably,
    separate_pairs,
    separate_surely,
)
from edgewise.solvers.directed.blankets import MOST_TESTS, largest_condition
from edgewise.solvers.directed.partial_correlation import (
    check_test,
    correlations,
    significant_from,
    truth_matrix,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class SkeletonSolution(Solution):
    """Pairs that are joined: ``value`` is symmetric; ``objective`` and ``gap`` are NaN.

    Attributes
    ----------
    pairs : ndarray of int, shape (n_separated, 2)
        Members of each other's blankets that are not joined.
    separators : ndarray of bool, shape (n_separated, m)
        Members of the set given which each of them is independent.
    colliders : ndarray of int, shape (n_colliders, 3)
        Triples x, z, y of arcs x -> z <- y, with x and y not joined. The one with the most
        significant dependence of x and y given z and their separating set comes first.
    n_tests : int
        Partial correlations that were compared with their bounds.
    """

    pairs: IntArray
    separators: BoolArray
    colliders: IntArray
    n_tests: int


def separating_sets(
    S: FloatArray,
    n_samples: float,
    blankets: ArrayLike,
    *,
    significance: float = 0.01,
    max_condition: int | None = None,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
) -> SkeletonSolution:
    """Tell neighbours in a Bayesian network from spouses, by tests of independence.

    Two members of each other's blankets are joined unless some subset of the smaller of their two
    blankets separates them: given its members, they are independent. If they are not joined, the
    neighbours of x in the moral graph of the ancestors of x and y are such a set, so that one
    blanket is enough [1]_. Subsets are tried from small to large; of those with the same size, the
    one with the smallest partial correlation counts. A common neighbour that is not in the set, and
    given which the two are dependent, is their common child.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows.
    n_samples : float
        Number of rows.
    blankets : array-like of bool, shape (m, m)
        Whether i and j are in each other's blankets; symmetric.
    significance : float
        Level of each test.
    max_condition : int, optional
        Largest separating set tried. By default as large as 20,000 tests for each pair allow,
        which is all of them for blankets of up to 15.
    allowed : array-like of bool, shape (m, m), optional
        Whether there may be an arc i -> j. A pair without any is not joined, and what cannot be an
        ancestor of either variable is in no separating set.
    required : array-like of bool, shape (m, m), optional
        Whether there must be an arc i -> j; such a pair is joined without a test.

    Returns
    -------
    SkeletonSolution
        ``value`` says which pairs are joined; ``colliders`` where arcs meet.

    References
    ----------
    .. [1] Margaritis and Thrun (1999). Bayesian network induction via local neighborhoods.
       *NIPS* 12. https://papers.nips.cc/paper/1685

    Examples
    --------
    In 0 -> 2 <- 1, 2 -> 3 the parents of 2 are not joined:

    >>> import numpy as np
    >>> from edgewise.solvers import markov_blankets
    >>> from edgewise.solvers.directed.separation import separating_sets
    >>> effects = np.eye(4)
    >>> effects[[0, 1], 2] = effects[[0, 1, 2], 3] = 1.0
    >>> S = effects.T @ effects
    >>> found = separating_sets(S, 1000, markov_blankets(S, 1000).value)
    >>> found.value.astype(int)
    array([[0, 0, 1, 0],
           [0, 0, 1, 0],
           [1, 1, 0, 1],
           [0, 0, 1, 0]])
    >>> found.colliders
    array([[0, 2, 1]])
    """
    check_test(n_samples, significance, max_condition)
    R = correlations(S)
    m = len(R)
    partners = truth_matrix(blankets, "blankets", m)
    if (partners != partners.T).any():
        raise InputError("blankets_asymmetric")
    may_be = truth_matrix(True if allowed is None else allowed, "allowed", m)
    must_be = truth_matrix(False if required is None else required, "required", m)
    is_required = must_be | must_be.T
    partners |= is_required
    np.fill_diagonal(partners, False)
    limits = significant_from(n_samples, significance, m)

    pairs = np.argwhere(np.triu(partners & ~is_required))
    sizes = np.empty(len(pairs), dtype=np.int64)
    is_member = np.zeros((len(pairs), m), dtype=bool)
    n_tests = separate_pairs(
        R,
        pairs,
        partners,
        may_precede(may_be) if allowed is not None else may_be,
        limits,
        largest_condition(n_samples, max_condition, m),
        MOST_TESTS,
        sizes,
        is_member,
    )
    is_separated = sizes >= 0
    separated, separators = pairs[is_separated], is_member[is_separated]
    skeleton = partners & (may_be | may_be.T | is_required)
    skeleton[separated[:, 0], separated[:, 1]] = False
    skeleton[separated[:, 1], separated[:, 0]] = False
    colliders, n_more = _find_colliders(
        R, n_samples, limits, skeleton & may_be, separated, separators
    )
    return SkeletonSolution(
        value=skeleton,
        objective=float("nan"),
        gap=float("nan"),
        n_iter=1,
        converged=True,
        pairs=separated,
        separators=separators,
        colliders=colliders,
        n_tests=int(n_tests) + n_more,
    )


def stable_skeleton(
    S: FloatArray,
    n_samples: float,
    *,
    significance: float = 0.01,
    max_condition: int | None = None,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
) -> SkeletonSolution:
    """Find neighbours in a Bayesian network by PC-stable, and colliders by PC-max.

    All pairs are joined at first. Those that some subset of the neighbours of either variable
    separates are parted, from small subsets to large ones; neighbours are brought up to date after
    each size only, so that the order of the pairs makes no difference [1]_. Two variables that are
    not joined meet at a common neighbour unless it is in the subset that separates them best, the
    one with the largest p-value [2]_, which rests on more than the first subset found.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows.
    n_samples : float
        Number of rows.
    significance : float
        Level of each test.
    max_condition : int, optional
        Largest separating set tried. By default as large as 20,000 tests for each pair allow.
    allowed : array-like of bool, shape (m, m), optional
        Whether there may be an arc i -> j. A pair without any is not joined, and what cannot be an
        ancestor of either variable is in no separating set.
    required : array-like of bool, shape (m, m), optional
        Whether there must be an arc i -> j; such a pair is joined without a test.

    Returns
    -------
    SkeletonSolution
        ``value`` says which pairs are joined, ``colliders`` where arcs meet, and ``separators``
        what separates the pairs that share a neighbour.

    References
    ----------
    .. [1] Colombo and Maathuis (2014). Order-independent constraint-based causal structure
       learning. *Journal of Machine Learning Research* 15. https://jmlr.org/papers/v15/colombo14a.html
    .. [2] Ramsey (2016). Improving accuracy and scalability of the PC algorithm by maximizing
       p-value. https://doi.org/10.48550/arXiv.1610.00378

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.directed.separation import stable_skeleton
    >>> effects = np.eye(4)
    >>> effects[[0, 1], 2] = effects[[0, 1, 2], 3] = 1.0
    >>> stable_skeleton(effects.T @ effects, 1000).colliders
    array([[0, 2, 1]])
    """
    check_test(n_samples, significance, max_condition)
    R = correlations(S)
    m = len(R)
    may_be = truth_matrix(True if allowed is None else allowed, "allowed", m)
    must_be = truth_matrix(False if required is None else required, "required", m)
    is_required = must_be | must_be.T
    skeleton = may_be | may_be.T | is_required
    np.fill_diagonal(skeleton, False)
    limits = significant_from(n_samples, significance, m)
    deepest = largest_condition(n_samples, max_condition, m)
    precedes = may_precede(may_be) if allowed is not None else may_be
    n_tests = prune_stably(R, skeleton, is_required, precedes, limits, deepest, MOST_TESTS)
    pairs, separators, n_more = _best_separators(R, n_samples, skeleton, precedes, deepest)
    colliders, n_last = _find_colliders(R, n_samples, limits, skeleton & may_be, pairs, separators)
    return SkeletonSolution(
        value=skeleton,
        objective=float("nan"),
        gap=float("nan"),
        n_iter=1,
        converged=True,
        pairs=pairs,
        separators=separators,
        colliders=colliders,
        n_tests=n_tests + n_more + n_last,
    )


def _best_separators(
    R: FloatArray, n_samples: float, skeleton: BoolArray, precedes: BoolArray, deepest: int
) -> tuple[IntArray, BoolArray, int]:
    """Find what separates best each pair that is not joined but shares a neighbour."""
    shares = skeleton.astype(float) @ skeleton > 0
    pairs = np.argwhere(np.triu(shares & ~skeleton, 1))
    separators = np.zeros((len(pairs), len(R)), dtype=bool)
    n_tests = separate_surely(
        R, pairs, skeleton, precedes, float(n_samples), deepest, MOST_TESTS, separators
    )
    return pairs, separators, n_tests


def may_precede(allowed: BoolArray) -> BoolArray:
    """Whether a path of allowed arcs leads from i to j."""
    reached = allowed.copy()
    for k in range(len(reached)):
        reached |= reached[:, [k]] & reached[k]
    return reached


def _find_colliders(
    R: FloatArray,
    n_samples: float,
    limits: FloatArray,
    arcs: BoolArray,
    pairs: IntArray,
    separators: BoolArray,
) -> tuple[IntArray, int]:
    """List the common children of separated pairs, the surest first, and count the tests."""
    found = []
    n_tests = 0
    for (x, y), is_member in zip(pairs.tolist(), separators, strict=True):
        given = np.flatnonzero(is_member)
        for z in np.flatnonzero(arcs[x] & arcs[y] & ~is_member).tolist():
            n_tests += 1
            strength = abs(correlation_given(R, x, y, np.append(given, z)))
            if strength > limits[len(given) + 1]:
                freedom = n_samples - len(given) - 4
                sureness = np.sqrt(freedom) * np.arctanh(min(strength, 1.0 - 1e-16))
                found.append((sureness, x, z, y))
    found.sort(key=lambda triple: -triple[0])
    return np.array([triple[1:] for triple in found], dtype=np.int64).reshape(-1, 3), n_tests
