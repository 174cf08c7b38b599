"""Hill climbing among directed acyclic graphs, and the best of all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.blanket_kernels import DEPENDENT
from edgewise.solvers.directed.partial_correlation import (
    check_criterion,
    correlations,
    truth_matrix,
)
from edgewise.solvers.directed.scores import (
    PARENTS_PER_ROW,
    Arcs,
    Sample,
    Score,
    ScoredProblem,
    ScoredSolution,
    explained_by,
    score_subsets,
    scored_problem,
    total_cost,
)

#: A change of the score that is smaller is rounding.
NEGLIGIBLE = 1e-9


@kernel
def climb(
    R: FloatArray,
    allowed: BoolArray,
    required: BoolArray,
    n_samples: float,
    per_arc: float,
    most: int,
    arcs: BoolArray,
    scores: FloatArray,
    history: FloatArray,
) -> int:
    """Add, delete or reverse the arc that lowers the score most, until none does.

    ``arcs`` holds the graph, at first one without cycles; ``scores`` are set to those of the nodes
    given their parents, ``history`` to the score after each step. Returns the number of steps.
    """
    m = R.shape[0]
    gains = np.full((m, m), np.inf)
    parents, L = np.empty(most + 1, np.int64), np.empty((most + 1, most + 2))
    seen, stack = np.empty(m, np.bool_), np.empty(m, np.int64)
    for j in range(m):
        weigh_child(R, j, allowed, arcs, n_samples, per_arc, most, parents, L, gains, scores)
    for step in range(len(history)):
        tail, head, is_reversal = best_step(gains, allowed, required, arcs, seen, stack)
        if tail < 0:
            return step
        arcs[tail, head] = not arcs[tail, head]
        if is_reversal:
            arcs[head, tail] = True
            weigh_child(R, tail, allowed, arcs, n_samples, per_arc, most, parents, L, gains, scores)
        weigh_child(R, head, allowed, arcs, n_samples, per_arc, most, parents, L, gains, scores)
        history[step] = scores.sum()
    return len(history)


@kernel
def weigh_child(
    R: FloatArray,
    child: int,
    allowed: BoolArray,
    arcs: BoolArray,
    n_samples: float,
    per_arc: float,
    most: int,
    parents: IntArray,
    L: FloatArray,
    gains: FloatArray,
    scores: FloatArray,
) -> None:
    """Score a child, and set ``gains[i, child]`` to the change if the arc from i were toggled."""
    scores[child] = score(R, child, -1, arcs, n_samples, per_arc, parents, L)
    n_parents = arcs[:, child].sum()
    for i in range(len(R)):
        gains[i, child] = np.inf
        if i != child and (arcs[i, child] or (allowed[i, child] and n_parents < most)):
            toggled = score(R, child, i, arcs, n_samples, per_arc, parents, L)
            gains[i, child] = toggled - scores[child]


@kernel
def score(
    R: FloatArray,
    child: int,
    toggled: int,
    arcs: BoolArray,
    n_samples: float,
    per_arc: float,
    parents: IntArray,
    L: FloatArray,
) -> float:
    """Half the criterion of a child and its parents, with one of the arcs toggled."""
    size, left = 0, R[child, child]
    for i in range(len(R)):
        if arcs[i, child] != (i == toggled):
            parents[size] = i
            left -= explained_by(R, child, parents, size, L)
            size += 1
    value: float = 0.5 * n_samples * np.log(max(left, DEPENDENT)) + per_arc * size
    return value


@kernel
def best_step(
    gains: FloatArray,
    allowed: BoolArray,
    required: BoolArray,
    arcs: BoolArray,
    seen: BoolArray,
    stack: IntArray,
) -> tuple[int, int, bool]:
    """Find the arc to toggle or to reverse; -1 where nothing lowers the score."""
    best, tail, head, is_reversal = -NEGLIGIBLE, -1, -1, False
    for i in range(len(gains)):
        for j in range(len(gains)):
            if not arcs[i, j]:
                is_new = gains[i, j] < best and allowed[i, j] and not arcs[j, i]
                if is_new and not leads_to(arcs, j, i, seen, stack):
                    best, tail, head, is_reversal = gains[i, j], i, j, False
            elif not required[i, j]:
                if gains[i, j] < best:
                    best, tail, head, is_reversal = gains[i, j], i, j, False
                both = gains[i, j] + gains[j, i]
                if both < best and allowed[j, i]:
                    arcs[i, j] = False
                    if not leads_to(arcs, i, j, seen, stack):
                        best, tail, head, is_reversal = both, i, j, True
                    arcs[i, j] = True
    return tail, head, is_reversal


@kernel
def leads_to(arcs: BoolArray, start: int, goal: int, seen: BoolArray, stack: IntArray) -> bool:
    """Whether a path of arcs leads from one node to another."""
    for i in range(len(arcs)):
        seen[i] = False
    stack[0], n_waiting, seen[start] = start, 1, True
    while n_waiting > 0:
        n_waiting -= 1
        node = stack[n_waiting]
        if node == goal:
            return True
        for i in range(len(arcs)):
            if arcs[node, i] and not seen[i]:
                seen[i] = True
                stack[n_waiting] = i
                n_waiting += 1
    return False


@dataclass(frozen=True, kw_only=True, eq=False)
class GreedySolution(Solution):
    """A graph that no single step improves; ``value[i, j]`` says whether there is an arc i -> j.

    ``history`` has the objective after each step. Other graphs may be better: ``gap`` is NaN.
    """


def greedy_bayes_net(
    S: FloatArray,
    n_samples: float,
    *,
    gamma: float = 0.0,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
    max_iter: int = 10_000,
) -> GreedySolution:
    r"""Climb from the empty graph to a Gaussian Bayesian network with a good extended BIC.

    Each step adds, deletes or reverses the arc that lowers

    .. math::

        \sum_j \tfrac n2 \log \hat\sigma_j^2 + k_j \left(\tfrac12 \log n + \gamma \log m\right)

    most and makes no cycle; :math:`\hat\sigma_j^2` is the residual variance of variable j given
    its :math:`k_j` parents, by least squares. The search ends where no step lowers it. With arcs
    allowed between blankets of `lasso_blankets` only this is L1MB [1]_.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows.
    n_samples : float
        Number of rows, n. No variable has more parents than a third of it.
    gamma : float
        From 0, the ordinary BIC, to 1, which allows fewer false arcs.
    allowed : array-like of bool, shape (m, m), optional
        Whether there may be an arc i -> j; by default all may.
    required : array-like of bool, shape (m, m), optional
        Whether there must be an arc i -> j: the search starts with those. Without a cycle.
    max_iter : int
        Largest number of steps.

    Returns
    -------
    GreedySolution
        ``value`` is the adjacency of a directed acyclic graph, ``objective`` its score for
        variables with a variance of 1.

    References
    ----------
    .. [1] Schmidt, Niculescu-Mizil and Murphy (2007). Learning graphical model structure using
       L1-regularization paths. *AAAI*.
       https://cdn.aaai.org/AAAI/2007/AAAI07-202.pdf

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.directed.greedy import greedy_bayes_net
    >>> effects = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> greedy_bayes_net(effects.T @ effects, 1000).value.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    check_criterion(n_samples, gamma)
    if max_iter < 1:
        raise InputError("max_iter_at_least_one", max_iter=max_iter)
    R = correlations(S)
    m = len(R)
    may_be = truth_matrix(True if allowed is None else allowed, "allowed", m)
    arcs = truth_matrix(False if required is None else required, "required", m)
    np.fill_diagonal(may_be, False)
    must_be = arcs.copy()
    most = max(int(n_samples * PARENTS_PER_ROW), 1, int(must_be.sum(axis=0).max()))
    scores, history = np.zeros(m), np.zeros(max_iter)
    per_arc = 0.5 * np.log(n_samples) + gamma * np.log(m)
    n_steps = climb(
        R, may_be, must_be, float(n_samples), per_arc, min(most, m), arcs, scores, history
    )
    return GreedySolution(
        value=arcs,
        objective=float(scores.sum()),
        gap=float("nan"),
        n_iter=max(n_steps, 1),
        converged=n_steps < max_iter,
        history=history[:n_steps].copy(),
    )


#: Most variables of an exact search, which takes memory and time for every subset of them.
MOST_EXACT = 20


@kernel
def log_determinants(R: FloatArray, values: FloatArray) -> None:
    """Set the logarithm of the determinant of R over each subset, a bit for each variable."""
    m = len(R)
    nodes, L = np.empty(m, np.int64), np.empty((m, m + 1))
    values[0] = 0.0
    for subset in range(1, len(values)):
        size = 0
        while subset >> (m - 1 - size) == 0:
            size += 1
        last, size = m - 1 - size, 0
        for i in range(last):
            if subset >> i & 1:
                nodes[size] = i
                size += 1
        left = R[last, last]
        for k in range(size):
            left -= explained_by(R, last, nodes, k, L)
        values[subset] = values[subset - (1 << last)] + np.log(max(left, DEPENDENT))


@kernel
def best_parents(
    score: Score, arcs: Arcs, log_det: FloatArray, child: int, most: int, best: FloatArray
) -> None:
    """Set the least cost of a variable with parents among the members of each subset.

    ``log_det`` has the logarithm of the determinant of the correlations, or the score, of each.
    """
    m = len(score.which)
    allowed, required = 0, 0
    for i in range(m):
        allowed += arcs.may_be[child, i] << i
        required += arcs.must_be[child, i] << i
    for subset in range(len(best)):
        best[subset] = parents_cost(score, log_det, child, subset, allowed, required, most)
        for i in range(m):
            if subset >> i & 1:
                best[subset] = min(best[subset], best[subset - (1 << i)])


@kernel
def parents_cost(
    score: Score,
    log_det: FloatArray,
    child: int,
    subset: int,
    allowed: int,
    required: int,
    most: int,
) -> float:
    """Cost of a variable given a subset; infinite where that cannot be."""
    size, n_cells, has_cells = 0, 1.0, len(score.cells.weight) > 0
    for i in range(len(score.which)):
        if subset >> i & 1:
            size += 1
            if has_cells:
                n_cells *= max(score.cells.n_levels[i], 1)
    if subset & ~allowed or required & ~subset or size > most:
        return np.inf
    if has_cells:
        if n_cells > score.cells.most_cells:
            return np.inf
        added: float = log_det[subset] - log_det[subset | 1 << child]
        return added
    group = score.which[child]
    left = log_det[subset | 1 << child] - log_det[subset]
    cost: float = score.base[group, size] + score.slope[group, size] * left
    cost += score.drift * log_det[subset]
    return cost


@kernel
def best_sinks(best: FloatArray, total: FloatArray, sink: IntArray) -> None:
    """Set the least cost of a graph over each subset, and the node without children in it."""
    total[0] = 0.0
    for subset in range(1, len(total)):
        total[subset] = np.inf
        for i in range(len(best)):
            if subset >> i & 1:
                before = subset - (1 << i)
                cost = total[before] + best[i, before]
                if cost < total[subset] - 1e-9:
                    total[subset], sink[subset] = cost, i


@kernel
def trace_parents(best: FloatArray, child: int, subset: int) -> int:
    """Reduce the predecessors of a variable to the smallest subset with the least cost."""
    has_changed = True
    while has_changed:
        has_changed = False
        for i in range(len(best)):
            if subset >> i & 1 and best[child, subset - (1 << i)] <= best[child, subset] + 1e-9:
                subset -= 1 << i
                has_changed = True
    return subset


def exact_bayes_net(
    S: FloatArray,
    n_samples: float,
    *,
    score: str = "bic",
    penalty_discount: float | None = None,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
) -> ScoredSolution:
    r"""Find the Gaussian Bayesian network with the best score of all.

    The cheapest graph over a set of variables has a variable without children; the others make the
    cheapest graph without it [1]_. So the costs of all :math:`2^m` sets follow from those of
    smaller ones. At most 20 variables: their costs take 200 MB then, and some ten seconds.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows; only the correlations count.
    n_samples : float
        Number of rows, n. No variable has more parents than a third of it.
    score : {"bic", "bge"}
        The Bayesian information criterion, or the marginal likelihood under a normal-Wishart prior
        [2]_ of one row for the means and m + 2 for the covariance.
    penalty_discount : float, optional
        Factor of the penalty of ``"bic"``, c. By default 2, or what makes it the extended BIC with
        gamma = 1, 1 + 2 log(m) / log(n), where that is more.
    allowed : array-like of bool, shape (m, m), optional
        Whether there may be an arc i -> j; by default all may.
    required : array-like of bool, shape (m, m), optional
        Whether there must be an arc i -> j. Without a cycle.

    Returns
    -------
    ScoredSolution
        ``value`` is the adjacency of a directed acyclic graph, ``objective`` its cost, the least
        there is: ``gap`` is 0.

    References
    ----------
    .. [1] Silander and Myllymaki (2006). A simple approach for finding the globally optimal
       Bayesian network structure. *UAI*. https://doi.org/10.48550/arXiv.1206.6875
    .. [2] Kuipers, Moffa and Heckerman (2014). Addendum on the scoring of Gaussian directed acyclic
       graphical models. *Annals of Statistics* 42(4). https://doi.org/10.1214/14-AOS1217

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import exact_bayes_net
    >>> effects = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> exact_bayes_net(effects.T @ effects, 1000).value.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    if len(S) > MOST_EXACT:
        raise InputError("exact_search_too_large", most_exact=MOST_EXACT, n_variables=len(S))
    sample = Sample.observed(S, n_samples)
    return search_all(scored_problem(sample, score, penalty_discount, allowed, required))


def search_all(problem: ScoredProblem) -> ScoredSolution:
    """Find the best graph of all for a problem of few variables."""
    score, arcs, place = problem
    m = len(place)
    log_det, total = np.empty(2**m), np.empty(2**m)
    best, sink = np.empty((m, 2**m)), np.empty(2**m, dtype=np.int64)
    has_cells, known = len(score.cells.weight) > 0, -1
    for child in range(m):
        # What the subsets are worth differs where variables were set in different rows.
        if has_cells and (child == 0 or len(score.cells.is_set)):
            score_subsets(score.cells, child, log_det)
        elif not has_cells and score.which[child] != known:
            known = int(score.which[child])
            log_determinants(score.R[known], log_det)
        best_parents(score, arcs, log_det, child, score.base.shape[1] - 1, best[child])
    best_sinks(best, total, sink)
    dag = np.zeros((m, m), dtype=bool)
    subset, order = 2**m - 1, np.empty(m, dtype=np.int64)
    for k in reversed(range(m)):
        order[k] = node = sink[subset]
        subset -= 1 << int(node)
        parents = trace_parents(best, node, subset)
        dag[:, node] = [parents >> i & 1 for i in range(m)]
    costs = np.empty(m)
    total_cost(score, dag, costs)
    return ScoredSolution(
        value=dag,
        objective=float(costs.sum()),
        gap=0.0,
        n_iter=1,
        converged=True,
        order=order,
        costs=costs,
    ).rearranged(place)
