"""Greedy search among the equivalence classes of Gaussian Bayesian networks."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.directed.equivalence import complete, copy_matrix, extend, list_joined
from edgewise.solvers.directed.scores import (
    IMPROVEMENT,
    Arcs,
    Sample,
    Score,
    ScoredProblem,
    ScoredSolution,
    local_cost,
    scored_problem,
    topological_order,
    total_cost,
)

#: Neighbours whose subsets an operator goes through.
MOST_NEIGHBORS = 10


@kernel
def is_clique(pdag: BoolArray, nodes: IntArray, size: int) -> bool:
    """Whether the nodes are all joined with each other."""
    for a in range(size):
        for b in range(a):
            if not (pdag[nodes[a], nodes[b]] or pdag[nodes[b], nodes[a]]):
                return False
    return True


@kernel
def delete_backward(score: Score, arcs: Arcs, dag: BoolArray, costs: FloatArray) -> int:
    """Delete edges, that which lowers the cost most first, until none lowers it.

    Each deletion is one among equivalence classes (the backward phase of GES). ``dag`` holds a
    graph of the class, ``costs`` the costs of its variables. Returns the number of deletions.
    """
    m = len(dag)
    pdag, changed, trial = np.empty_like(dag), np.empty_like(dag), np.empty_like(dag)
    new_costs = np.empty(m)
    is_barred = np.zeros((m, m), np.bool_)
    kept, n_deleted, total = np.empty(MOST_NEIGHBORS, np.int64), 0, total_cost(score, dag, costs)
    complete(dag, arcs, pdag)
    while True:
        x, y, n_kept = best_deletion(score, arcs, pdag, is_barred, kept)
        if x < 0:
            return n_deleted
        copy_matrix(pdag, changed)
        delete_edge(changed, x, y, kept, n_kept)
        # Without knowledge a deletion is always possible, and lowers the cost as foreseen.
        is_possible = extend(changed, changed, True, trial)
        new_total = total_cost(score, trial, new_costs) if is_possible else np.inf
        if new_total > total - 0.5 * IMPROVEMENT:
            is_barred[x, y] = True
            continue
        total = new_total
        copy_matrix(trial, dag)
        for i in range(m):
            costs[i] = new_costs[i]
        complete(dag, arcs, pdag)
        n_deleted += 1


@kernel
def best_deletion(
    score: Score, arcs: Arcs, pdag: BoolArray, is_barred: BoolArray, best_kept: IntArray
) -> tuple[int, int, int]:
    """Find the edge x - y or x -> y to delete, and the common neighbours that stay before y."""
    m, most = len(pdag), score.base.shape[1]
    start, near = list_joined(pdag)
    common, parents = np.empty(MOST_NEIGHBORS, np.int64), np.empty(m + 1, np.int64)
    kept, L = np.empty(MOST_NEIGHBORS, np.int64), np.empty((m + 1, m + 2))
    best, best_x, best_y, n_best = -IMPROVEMENT, -1, -1, 0
    for y in range(m):
        neighbors = near[start[y] : start[y + 1]]
        for x in neighbors:
            if not pdag[x, y] or is_barred[x, y] or arcs.must_be[y, x] or arcs.must_be[x, y]:
                continue
            n_common, n_parents = split_neighbors(pdag, neighbors, x, y, common, parents)
            for subset in range(2**n_common):
                n_kept = choose_members(common, n_common, subset, kept)
                size = n_parents + n_kept
                if size + 2 > most or not is_clique(pdag, kept, n_kept):
                    continue
                for k in range(n_kept):
                    parents[n_parents + k] = kept[k]
                parents[size] = x
                change = local_cost(score, y, parents, size, L)
                change -= local_cost(score, y, parents, size + 1, L)
                if change < best:
                    best, best_x, best_y, n_best = change, x, y, n_kept
                    for k in range(n_kept):
                        best_kept[k] = kept[k]
    return best_x, best_y, n_best


@kernel
def split_neighbors(
    pdag: BoolArray, neighbors: IntArray, x: int, y: int, common: IntArray, parents: IntArray
) -> tuple[int, int]:
    """List the nodes with a line to y that are joined with x, and the parents of y but x."""
    n_common, n_parents = 0, 0
    for node in neighbors:
        if node == x or not pdag[node, y]:
            continue
        if not pdag[y, node]:
            parents[n_parents] = node
            n_parents += 1
        elif (pdag[node, x] or pdag[x, node]) and n_common < len(common):
            common[n_common] = node
            n_common += 1
    return n_common, n_parents


@kernel
def choose_members(nodes: IntArray, n_nodes: int, subset: int, chosen: IntArray) -> int:
    """List the nodes of a subset, a bit for each; return how many."""
    n_chosen = 0
    for k in range(n_nodes):
        if subset >> k & 1:
            chosen[n_chosen] = nodes[k]
            n_chosen += 1
    return n_chosen


@kernel
def delete_edge(pdag: BoolArray, x: int, y: int, kept: IntArray, n_kept: int) -> None:
    """Delete an edge; the common neighbours that are not kept become children of x and y."""
    pdag[x, y], pdag[y, x] = False, False
    for node in range(len(pdag)):
        if not (pdag[node, y] and pdag[y, node]) or not (pdag[node, x] or pdag[x, node]):
            continue
        is_kept = False
        for k in range(n_kept):
            is_kept = is_kept or kept[k] == node
        if not is_kept:
            pdag[node, y] = False
            if pdag[node, x] and pdag[x, node]:
                pdag[node, x] = False


#: Add an arc between nodes that are not joined, or turn one round.
INSERT, TURN = 0, 1


@kernel
def climb_classes(
    score: Score, arcs: Arcs, dag: BoolArray, costs: FloatArray, history: FloatArray
) -> int:
    """Delete, turn or insert edges among equivalence classes while that lowers the cost.

    Whatever deletion lowers it comes first, then turning, then insertion, each time the best.
    ``dag`` is replaced, ``costs`` are those of its variables and ``history`` is the cost after each
    step. Returns the number of steps.
    """
    m = len(dag)
    pdag, changed, trial = np.empty_like(dag), np.empty_like(dag), np.empty_like(dag)
    gains, subsets = np.empty((2, m, m)), np.zeros((2, m, m), np.int64)
    floors, is_stale = np.empty((2, m, m)), np.ones((m, m), np.bool_)
    for k in range(2):
        for a in range(m):
            for b in range(m):
                gains[k, a, b], floors[k, a, b] = np.inf, -np.inf
    new_costs = np.empty(m)
    total_cost(score, dag, costs)
    complete(dag, arcs, pdag)
    for step in range(len(history)):
        complete(dag, arcs, changed)
        mark_stale(pdag, changed, is_stale)
        copy_matrix(changed, pdag)
        weigh_stale(score, arcs, pdag, is_stale, gains, subsets, floors)
        total = costs.sum()
        while True:
            kind, x, y = best_change(gains)
            if kind < 0:
                return step
            copy_matrix(pdag, changed)
            change_edge(kind, x, y, subsets[kind, x, y], changed)
            if extend(changed, changed, True, trial):
                new_total = total_cost(score, trial, new_costs)
                if new_total < total - 0.5 * IMPROVEMENT:
                    break
            # Impossible here: the next best subset takes its place.
            floors[kind, x, y] = gains[kind, x, y]
            is_stale[x, y] = True
            weigh_stale(score, arcs, pdag, is_stale, gains, subsets, floors)
        for a in range(m):
            for b in range(m):
                for k in range(2):
                    if floors[k, a, b] > -np.inf:
                        floors[k, a, b], is_stale[a, b] = -np.inf, True
        copy_matrix(trial, dag)
        delete_backward(score, arcs, dag, costs)
        history[step] = costs.sum()
    return len(history)


@kernel
def mark_stale(before: BoolArray, after: BoolArray, is_stale: BoolArray) -> None:
    """Mark the pairs whose change depends on an edge that differs."""
    m = len(before)
    has_changed, is_near = np.zeros(m, np.bool_), np.zeros(m, np.bool_)
    for i in range(m):
        for j in range(m):
            if before[i, j] != after[i, j]:
                has_changed[i], has_changed[j] = True, True
    for i in range(m):
        is_near[i] = has_changed[i]
        for j in range(m):
            if has_changed[j] and after[i, j] and after[j, i]:
                is_near[i] = True
    for x in range(m):
        for y in range(m):
            if has_changed[x] or is_near[y]:
                is_stale[x, y] = True


@kernel
def best_change(gains: FloatArray) -> tuple[int, int, int]:
    """Find the best edge to turn or, where none is worth it, to insert."""
    m = gains.shape[1]
    for kind in (TURN, INSERT):
        best, best_x, best_y = -IMPROVEMENT, -1, -1
        for x in range(m):
            for y in range(m):
                if gains[kind, x, y] < best:
                    best, best_x, best_y = gains[kind, x, y], x, y
        if best_x >= 0:
            return kind, best_x, best_y
    return -1, -1, -1


@kernel
def weigh_stale(
    score: Score,
    arcs: Arcs,
    pdag: BoolArray,
    is_stale: BoolArray,
    gains: FloatArray,
    subsets: IntArray,
    floors: FloatArray,
) -> None:
    """Compute what inserting or turning x -> y would change, for pairs marked as stale."""
    m = len(pdag)
    pool, chosen = np.empty(MOST_NEIGHBORS, np.int64), np.empty(MOST_NEIGHBORS, np.int64)
    parents, others, L = np.empty(m + 1, np.int64), np.empty(m + 1, np.int64), np.empty((m, m + 1))
    start, near = list_joined(pdag)
    for x in range(m):
        for y in range(m):
            if not is_stale[x, y] or x == y:
                continue
            is_stale[x, y] = False
            gains[INSERT, x, y], gains[TURN, x, y] = np.inf, np.inf
            if (pdag[x, y] and not pdag[y, x]) or not arcs.may_be[y, x] or arcs.must_be[x, y]:
                continue
            kind = TURN if pdag[y, x] else INSERT
            around_x, around_y = near[start[x] : start[x + 1]], near[start[y] : start[y + 1]]
            gains[kind, x, y], subsets[kind, x, y] = weigh_change(
                score, pdag, x, y, around_x, around_y, floors[kind, x, y], pool, chosen, parents,
                others, L,
            )  # fmt: skip


@kernel
def weigh_change(
    score: Score,
    pdag: BoolArray,
    x: int,
    y: int,
    around_x: IntArray,
    around_y: IntArray,
    floor: float,
    pool: IntArray,
    chosen: IntArray,
    parents: IntArray,
    others: IntArray,
    L: FloatArray,
) -> tuple[float, int]:
    """Find the subset of neighbours that makes x -> y lower the cost most, but not below ``floor``.

    Neighbours of y become its parents: those joined with x (all, unless x - y is a line) and a
    subset of the others, if all are joined with each other.
    """
    is_line, most = pdag[x, y] and pdag[y, x], score.base.shape[1]
    n_pool, n_fixed, n_others = split_around(pdag, x, y, around_x, around_y, pool, parents, others)
    best, best_subset, n_parents = np.inf, 0, n_fixed
    for subset in range(2**n_pool):
        n_chosen = choose_members(pool, n_pool, subset, chosen)
        size, n_after, is_new = n_fixed, n_others, not is_line
        for k in range(n_chosen):
            parents[size] = chosen[k]
            size += 1
            if not is_line:
                continue
            if pdag[chosen[k], x] or pdag[x, chosen[k]]:
                others[n_after] = chosen[k]
                n_after += 1
            else:
                is_new = True
        n_parents = count_parents(pdag, parents, size, y)
        if not is_new or size + 2 > most or n_after + 2 > most:
            continue
        if not is_clique(pdag, parents[n_parents:], size - n_parents):
            continue
        change = -local_cost(score, y, parents, size, L)
        parents[size] = x
        change += local_cost(score, y, parents, size + 1, L)
        if pdag[y, x]:
            others[n_after] = y
            change += local_cost(score, x, others, n_after, L)
            change -= local_cost(score, x, others, n_after + 1, L)
        if floor < change < best:
            best, best_subset = change, subset
    return best, best_subset


@kernel
def count_parents(pdag: BoolArray, nodes: IntArray, size: int, child: int) -> int:
    """Count the nodes with an arc to a child, which come before those with a line."""
    for k in range(size):
        if pdag[child, nodes[k]]:
            return k
    return size


@kernel
def split_around(
    pdag: BoolArray,
    x: int,
    y: int,
    around_x: IntArray,
    around_y: IntArray,
    pool: IntArray,
    parents: IntArray,
    others: IntArray,
) -> tuple[int, int, int]:
    """List neighbours of y to choose from, its parents whatever the choice, and parents of x."""
    is_line = pdag[x, y] and pdag[y, x]
    n_pool, n_fixed, n_others = 0, 0, 0
    for node in around_y:
        if node != x and pdag[node, y] and not pdag[y, node]:
            parents[n_fixed] = node
            n_fixed += 1
    for node in around_y:
        if node == x or not (pdag[node, y] and pdag[y, node]):
            continue
        if not is_line and (pdag[node, x] or pdag[x, node]):
            parents[n_fixed] = node
            n_fixed += 1
        elif n_pool < len(pool):
            pool[n_pool] = node
            n_pool += 1
    for node in around_x:
        if node != y and pdag[node, x] and not pdag[x, node]:
            others[n_others] = node
            n_others += 1
    return n_pool, n_fixed, n_others


@kernel
def change_edge(kind: int, x: int, y: int, subset: int, pdag: BoolArray) -> None:
    """Insert or turn x -> y, and direct the lines that the change of the cost supposes."""
    m = len(pdag)
    start, near = list_joined(pdag)
    pool, chosen = np.empty(MOST_NEIGHBORS, np.int64), np.empty(MOST_NEIGHBORS, np.int64)
    parents, others = np.empty(m, np.int64), np.empty(m, np.int64)
    around_x, around_y = near[start[x] : start[x + 1]], near[start[y] : start[y + 1]]
    is_line = pdag[x, y] and pdag[y, x]
    n_pool, n_fixed, _ = split_around(pdag, x, y, around_x, around_y, pool, parents, others)
    n_chosen = choose_members(pool, n_pool, subset, chosen)
    is_parent = np.zeros(m, np.bool_)
    for k in range(n_chosen):
        is_parent[chosen[k]] = True
    if kind == TURN:
        for k in range(n_fixed):
            is_parent[parents[k]] = True
        for node in around_x:
            if node != y and pdag[node, x] and pdag[x, node]:
                is_before = is_line and is_parent[node]
                pdag[node, x], pdag[x, node] = is_before, not is_before
        for node in around_y:
            if node != x and pdag[node, y] and pdag[y, node] and not is_parent[node]:
                pdag[node, y] = False
    for node in around_y:
        if is_parent[node] and pdag[y, node]:
            pdag[y, node] = False
    pdag[x, y], pdag[y, x] = True, False


def ges_bayes_net(
    S: FloatArray,
    n_samples: float,
    *,
    score: str = "bic",
    penalty_discount: float | None = None,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
    max_iter: int = 10_000,
) -> ScoredSolution:
    r"""Learn a Gaussian Bayesian network by greedy search among equivalence classes (GES).

    Starting without an edge, each step changes one edge of the class of equivalent graphs: it
    deletes that which lowers the cost most; if no deletion does, it turns one round; if that does
    not help either, it inserts one [1]_ [2]_. To prefer deletions to insertions finds better scores
    than two phases do [3]_. The cost is that of `boss_bayes_net`, which as a rule finds a smaller
    one.

    Parameters
    ----------
    S : ndarray of shape (m, m)
        Covariance of the rows; only the correlations count.
    n_samples : float
        Number of rows, n. No variable has more parents than a third of it.
    score : {"bic", "bge"}
        The Bayesian information criterion, or the marginal likelihood under a normal-Wishart prior
        [4]_ of one row for the means and m + 2 for the covariance.
    penalty_discount : float, optional
        Factor of the penalty of ``"bic"``, c. By default 2, or what makes it the extended BIC with
        gamma = 1, 1 + 2 log(m) / log(n), where that is more.
    allowed : array-like of bool, shape (m, m), optional
        Whether there may be an arc i -> j; by default all may.
    required : array-like of bool, shape (m, m), optional
        Whether there must be an arc i -> j. Without a cycle.
    max_iter : int
        Most insertions and turns.

    Returns
    -------
    ScoredSolution
        ``value`` is the adjacency of a directed acyclic graph, ``objective`` its cost; ``gap`` is
        NaN, as other graphs may be better, and ``history`` the cost after each step.

    References
    ----------
    .. [1] Chickering (2002). Optimal structure identification with greedy search. *Journal of
       Machine Learning Research* 3. https://jmlr.org/papers/v3/chickering02b.html
    .. [2] Hauser and Buhlmann (2012). Characterization and greedy learning of interventional Markov
       equivalence classes of directed acyclic graphs. *Journal of Machine Learning Research* 13.
       https://jmlr.org/papers/v13/hauser12a.html
    .. [3] Nazaret and Blei (2024). Extremely greedy equivalence search. *UAI*.
       https://doi.org/10.48550/arXiv.2502.19551
    .. [4] Kuipers, Moffa and Heckerman (2014). Addendum on the scoring of Gaussian directed acyclic
       graphical models. *Annals of Statistics* 42(4). https://doi.org/10.1214/14-AOS1217

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import ges_bayes_net
    >>> effects = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> ges_bayes_net(effects.T @ effects, 1000).value.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    if max_iter < 1:
        raise InputError("max_iter_at_least_one", max_iter=max_iter)
    sample = Sample.observed(S, n_samples)
    problem = scored_problem(sample, score, penalty_discount, allowed, required)
    return search_classes(problem, max_iter)


def search_classes(problem: ScoredProblem, max_iter: int = 10_000) -> ScoredSolution:
    """Search among equivalence classes for a problem of any score."""
    dag = np.ascontiguousarray(problem.arcs.must_be.T)
    costs, history = np.empty(len(dag)), np.empty(max_iter)
    n_steps = climb_classes(problem.score, problem.arcs, dag, costs, history)
    return ScoredSolution(
        value=dag,
        objective=float(costs.sum()),
        gap=float("nan"),
        n_iter=max(n_steps, 1),
        converged=n_steps < max_iter,
        history=history[:n_steps].copy(),
        order=topological_order(dag),
        costs=costs,
    ).rearranged(problem.place)
