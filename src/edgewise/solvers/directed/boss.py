"""Gaussian Bayesian networks by the best order of the variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.parallel import parallel_map, spawn
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.solvers.directed.blanket_kernels import DEPENDENT, invert
from edgewise.solvers.directed.ges import delete_backward
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
)

#: Memory for the branches of the grow-shrink trees of one search, in bytes; when it is used up,
#: the trees grow anew.
CACHE_BYTES = 2**28


class Trees(NamedTuple):
    """Grow-shrink trees of all variables.

    A path from the root of the tree of variable j holds what was added to its parents, one after
    another. ``first`` and ``n_branches`` say where the branches of a node are (-1: not known yet),
    ``cost`` what its set costs after shrinking (NaN: not known yet), ``variable`` what a branch
    adds, the best first, and ``child`` which node it leads to (-1: none yet). ``used`` counts nodes
    and branches.
    """

    roots: IntArray
    first: IntArray
    n_branches: IntArray
    cost: FloatArray
    variable: IntArray
    child: IntArray
    used: IntArray


class Regression(NamedTuple):
    """Scratch, and the regression along the path that was followed last.

    ``state`` has the variable it is of, how many of ``members`` count, how many parents were left
    at the last shrinking, and the length of ``path``. ``rows[k]`` is the row of the Cholesky factor
    that member k adds; ``left[k]`` are the variances of all variables given the first k members,
    ``shared[k]`` their covariances with the variable.
    """

    state: IntArray
    members: IntArray
    path: IntArray
    nodes: IntArray
    turns: IntArray
    rows: FloatArray
    left: FloatArray
    shared: FloatArray
    strength: FloatArray
    K: FloatArray
    L: FloatArray
    own: FloatArray
    is_of_interest: BoolArray


@kernel
def follow(
    target: int,
    limit: int,
    special: int,
    has_special: bool,
    rank: IntArray,
    score: Score,
    arcs: Arcs,
    trees: Trees,
    work: Regression,
    is_of_interest: BoolArray,
) -> float:
    """Grow and shrink the parents of a variable among those of a rank below ``limit``.

    ``special`` is a predecessor if ``has_special``, whatever its rank. At each node of the tree the
    first branch whose variable is a predecessor is taken. ``work.path`` receives the parents;
    ``is_of_interest`` is set to True for all that were added, and for all that would have been, had
    they been predecessors. Returns the cost.
    """
    for i in range(len(rank)):
        is_of_interest[i] = False
    while True:
        node, size = trees.roots[target], 0
        for i in range(len(rank)):
            if arcs.must_be[target, i]:
                work.path[size] = i
                size += 1
        n_required = size
        if node < 0:
            node = add_node(trees)
            trees.roots[target] = node
        while node >= 0:
            if trees.n_branches[node] < 0 and not grow(
                target, node, size, score, arcs, trees, work
            ):
                break
            branch = -1
            for k in range(trees.first[node], trees.first[node] + trees.n_branches[node]):
                variable = trees.variable[k]
                is_of_interest[variable] = True
                if has_special if variable == special else rank[variable] < limit:
                    branch = k
                    break
            if branch < 0:
                work.state[3] = size
                if np.isnan(trees.cost[node]):
                    trees.cost[node] = shrink(target, size, n_required, score, work)
                cost: float = trees.cost[node]
                return cost
            work.path[size] = trees.variable[branch]
            size += 1
            if trees.child[branch] < 0:
                trees.child[branch] = add_node(trees)
            node = trees.child[branch]
        # The memory is used up.
        for i in range(len(rank)):
            trees.roots[i] = -1
        trees.used[0], trees.used[1] = 0, 0


@kernel
def add_node(trees: Trees) -> int:
    """Add a node about which nothing is known; return its number, -1 if there is no room."""
    node = trees.used[0]
    if node >= len(trees.n_branches):
        return -1
    trees.used[0] += 1
    trees.n_branches[node], trees.cost[node] = -1, np.nan
    return int(node)


@kernel
def grow(
    target: int,
    node: int,
    size: int,
    score: Score,
    arcs: Arcs,
    trees: Trees,
    work: Regression,
) -> bool:
    """List what lowers the cost of a variable if added to ``work.path[:size]``, the best first."""
    m, start = len(score.which), trees.used[1]
    if start + m > len(trees.variable):
        return False
    trees.first[node], trees.n_branches[node] = start, 0
    if size + 2 > score.base.shape[1]:
        return True
    if len(score.cells.weight) > 0:
        n_found = weigh_additions(target, size, start, score, arcs, trees, work)
    else:
        n_found = weigh_regressors(target, size, start, score, arcs, trees, work)
    sort_branches(work.strength, trees.variable, start, n_found)
    for k in range(n_found):
        trees.child[start + k] = -1
    trees.n_branches[node] = n_found
    trees.used[1] += n_found
    return True


@kernel
def weigh_additions(
    target: int, size: int, start: int, score: Score, arcs: Arcs, trees: Trees, work: Regression
) -> int:
    """List what lowers the cost if added, whatever the score; return how many there are."""
    n_found, is_member = 0, np.zeros(len(score.which), np.bool_)
    for k in range(size):
        work.nodes[k] = work.path[k]
        is_member[work.path[k]] = True
    before = local_cost(score, target, work.nodes, size, work.L)
    for i in range(len(is_member)):
        if is_member[i] or not arcs.may_be[target, i]:
            continue
        work.nodes[size] = i
        gain = before - local_cost(score, target, work.nodes, size + 1, work.L)
        if gain > IMPROVEMENT:
            work.strength[n_found] = gain
            trees.variable[start + n_found] = i
            n_found += 1
    return n_found


@kernel
def weigh_regressors(
    target: int, size: int, start: int, score: Score, arcs: Arcs, trees: Trees, work: Regression
) -> int:
    """List what lowers the cost if added, by the correlations; return how many there are."""
    group = score.which[target]
    base, slope = score.base[group], score.slope[group]
    condition(target, size, score.R[group], work)
    left, shared, n_found = work.left[size], work.shared[size], 0
    rest = left[target]
    if rest <= DEPENDENT:
        return 0
    step = base[size + 1] - base[size]
    step += (slope[size + 1] - slope[size]) * np.log(rest)
    least = 1.0 - np.exp(-(step + IMPROVEMENT) / slope[size + 1])
    for i in range(len(left)):
        if not arcs.may_be[target, i] or left[i] <= DEPENDENT:
            continue
        share = shared[i] * shared[i] / (left[i] * rest)
        if score.drift == 0.0:
            gain = share if share > least else 0.0
        else:
            gain = -step - slope[size + 1] * np.log(max(1.0 - share, DEPENDENT))
            gain -= score.drift * np.log(left[i])
        if gain > (0.0 if score.drift == 0.0 else IMPROVEMENT):
            work.strength[n_found] = gain
            trees.variable[start + n_found] = i
            n_found += 1
    return n_found


@kernel
def sort_branches(strength: FloatArray, variable: IntArray, start: int, size: int) -> None:
    """Sort by strength, the largest first, and then by number."""
    step = size // 2
    while step > 0:
        for k in range(step, size):
            key, node, at = strength[k], variable[start + k], k
            while at >= step:
                other = variable[start + at - step]
                before = strength[at - step]
                if before > key or (before == key and other < node):
                    break
                strength[at], variable[start + at] = before, other
                at -= step
            strength[at], variable[start + at] = key, node
        step //= 2


@kernel
def condition(target: int, size: int, R: FloatArray, work: Regression) -> None:
    """Set the variances and covariances given the path, keeping those of its part known before."""
    known, m = 0, len(R)
    if work.state[0] == target:
        while known < min(size, work.state[1]) and work.members[known] == work.path[known]:
            known += 1
    else:
        for i in range(m):
            work.left[0, i], work.shared[0, i] = R[i, i], R[target, i]
    for k in range(known, size):
        member, row = work.path[k], work.rows[k]
        work.members[k] = member
        for i in range(m):
            row[i] = R[member, i]
        for before in range(k):
            share, other = work.rows[before, member], work.rows[before]
            for i in range(m):
                row[i] -= share * other[i]
        scale = 1.0 / np.sqrt(max(work.left[k, member], DEPENDENT))
        with_target = row[target] * scale
        left, shared = work.left[k], work.shared[k]
        new_left, new_shared = work.left[k + 1], work.shared[k + 1]
        for i in range(m):
            row[i] *= scale
            new_left[i] = left[i] - row[i] * row[i]
            new_shared[i] = shared[i] - with_target * row[i]
    work.state[0], work.state[1] = target, size


@kernel
def shrink(target: int, size: int, n_required: int, score: Score, work: Regression) -> float:
    """Drop members of ``work.path[:size]`` while that lowers the cost; return the cost.

    ``work.nodes[1:work.state[2] + 1]`` are those that stay. Without member j the precision K of the
    variable and its parents is K - K_j K_j' / K_jj.
    """
    nodes, K = work.nodes, work.K
    nodes[0] = target
    for k in range(size):
        nodes[k + 1] = work.path[k]
    if len(score.cells.weight) > 0:
        return drop_parents(target, size, n_required, score, work)
    group = score.which[target]
    R, base, slope = score.R[group], score.base[group], score.slope[group]
    for a in range(size + 1):
        for b in range(size + 1):
            K[a, b] = R[nodes[a], nodes[b]]
    invert(K, size + 1)
    while size > n_required:
        best, weakest, rest = -IMPROVEMENT, 0, -np.log(K[0, 0])
        for k in range(n_required + 1, size + 1):
            share = max(1.0 - K[0, k] * K[0, k] / (K[0, 0] * K[k, k]), DEPENDENT)
            change = base[size - 1] - base[size] - slope[size] * rest
            change += slope[size - 1] * (rest - np.log(share))
            if score.drift != 0.0:
                change += score.drift * np.log(K[k, k] * share)
            if change < best:
                best, weakest = change, k
        if weakest == 0:
            break
        remove(K, nodes, weakest, size)
        size -= 1
    work.state[2] = size
    return local_cost(score, target, nodes[1:], size, work.L)


@kernel
def drop_parents(target: int, size: int, n_required: int, score: Score, work: Regression) -> float:
    """Drop members of ``work.nodes[1:size + 1]`` while that lowers the cost, whatever the score."""
    nodes, rest = work.nodes, np.empty(size, np.int64)
    cost = local_cost(score, target, nodes[1:], size, work.L)
    while size > n_required:
        best, weakest = cost - IMPROVEMENT, 0
        for k in range(n_required + 1, size + 1):
            for j in range(1, size):
                rest[j - 1] = nodes[size] if j == k else nodes[j]
            without = local_cost(score, target, rest, size - 1, work.L)
            if without < best:
                best, weakest = without, k
        if weakest == 0:
            break
        nodes[weakest] = nodes[size]
        size, cost = size - 1, best
    work.state[2] = size
    return cost


@kernel
def remove(K: FloatArray, nodes: IntArray, weakest: int, size: int) -> None:
    """Take a member out of the precision, and move the last one into the gap."""
    row = K[weakest]
    for i in range(size + 1):
        if i != weakest:
            share = K[i, weakest] / row[weakest]
            for j in range(size + 1):
                K[i, j] -= share * row[j]
    nodes[weakest] = nodes[size]
    for k in range(size + 1):
        K[weakest, k] = K[size, k]
    for k in range(size + 1):
        K[k, weakest] = K[k, size]


@kernel
def find_parents(
    rank: IntArray,
    score: Score,
    arcs: Arcs,
    trees: Trees,
    work: Regression,
    costs: FloatArray,
    interest: BoolArray,
    dag: BoolArray,
) -> None:
    """Set the arcs and costs that an order implies, and what is of interest to each variable."""
    for node in range(len(rank)):
        costs[node] = follow(
            node, rank[node], -1, False, rank, score, arcs, trees, work, interest[node]
        )
        shrink(node, work.state[3], arcs.must_be[node].sum(), score, work)
        for k in range(work.state[2]):
            dag[work.nodes[k + 1], node] = True


@kernel
def sweep(
    order: IntArray,
    rank: IntArray,
    comes_before: BoolArray,
    score: Score,
    arcs: Arcs,
    trees: Trees,
    work: Regression,
    costs: FloatArray,
    interest: BoolArray,
) -> int:
    """Move each variable to its best place in the order; return how many moved."""
    n_moved = 0
    for turn in range(len(order)):
        work.turns[turn] = order[turn]
    for variable in work.turns:
        place = best_place(
            variable, order, rank, comes_before, score, arcs, trees, work, costs, interest
        )
        here = rank[variable]
        if place in (here, here + 1):
            continue
        n_moved += 1
        target = place - 1 if place > here else place
        step = 1 if target > here else -1
        for k in range(here, target, step):
            order[k] = order[k + step]
            rank[order[k]] = k
        order[target], rank[variable] = variable, target
        for k in range(min(here, target), max(here, target) + 1):
            node = order[k]
            if node == variable or interest[node, variable]:
                costs[node] = follow(
                    node, k, -1, False, rank, score, arcs, trees, work, interest[node]
                )
    return n_moved


@kernel
def best_place(
    variable: int,
    order: IntArray,
    rank: IntArray,
    comes_before: BoolArray,
    score: Score,
    arcs: Arcs,
    trees: Trees,
    work: Regression,
    costs: FloatArray,
    interest: BoolArray,
) -> int:
    """Find the position before which a variable lowers the cost most; its own if none does.

    Only variables that it is of interest to can change their parents, and its own parents change
    only where it passes one of interest to it.
    """
    here, low, high = rank[variable], 0, len(order)
    for i in range(len(order)):
        if comes_before[i, variable]:
            low = max(low, rank[i] + 1)
        if comes_before[variable, i]:
            high = min(high, rank[i])
    own, is_of_interest = work.own, work.is_of_interest
    is_stale = True
    for place in range(low, high + 1):
        if is_stale:
            own[place] = follow(
                variable, place, -1, False, rank, score, arcs, trees, work, is_of_interest
            )
        else:
            own[place] = own[place - 1]
        is_stale = place < high and is_of_interest[order[place]]
    best, best_place, others, at_here = np.inf, here, 0.0, 0.0
    for place in range(high, low - 1, -1):
        if place < high and place != here:
            node = order[place]
            if interest[node, variable]:
                other = follow(
                    node, place, variable, place < here, rank, score, arcs, trees, work,
                    work.is_of_interest,
                )  # fmt: skip
                others += other - costs[node] if place < here else costs[node] - other
        if place == here:
            at_here = own[place] + others
        elif own[place] + others < best:
            best, best_place = own[place] + others, place
    return int(best_place if best < at_here - IMPROVEMENT else here)


def must_come_before(arcs: Arcs) -> BoolArray:
    """Whether i comes before j in every order: there can be a path i to j, but none back."""
    reached = arcs.may_be.T.copy()
    if (reached | np.eye(len(reached), dtype=bool)).all():
        return np.zeros_like(reached)
    required = arcs.must_be.T.copy()
    for k in range(len(reached)):
        reached |= reached[:, [k]] & reached[k]
        required |= required[:, [k]] & required[k]
    return (reached & ~reached.T) | required


def starting_order(comes_before: BoolArray, rng: np.random.Generator | None) -> IntArray:
    """Order the variables as they are or at random, as far as knowledge leaves it open."""
    m = len(comes_before)
    order = np.arange(m) if rng is None else rng.permutation(m)
    tiers, front = np.zeros(m, dtype=np.int64), comes_before.any(axis=0)
    while front.any():
        tiers[front] += 1
        front = comes_before[front].any(axis=0)
    return order[np.argsort(tiers[order], kind="stable")]


def search_orders(
    score: Score,
    arcs: Arcs,
    comes_before: BoolArray,
    orders: Sequence[IntArray],
    max_iter: int,
    stops_at_agreement: bool,
) -> list[ScoredSolution]:
    """Improve orders one after another; what the trees know after one serves the next."""
    m, most = len(score.which), score.base.shape[1]
    trees = make_trees(m, most + 1)
    work = Regression(
        state=np.full(4, -1),
        members=np.empty(most, dtype=np.int64),
        path=np.empty(most, dtype=np.int64),
        nodes=np.empty(most + 1, dtype=np.int64),
        turns=np.empty(m, dtype=np.int64),
        rows=np.empty((most, m)),
        left=np.empty((most + 1, m)),
        shared=np.empty((most + 1, m)),
        strength=np.empty(m),
        K=np.empty((most + 1, most + 1)),
        L=np.empty((most + 1, most + 2)),
        own=np.empty(m + 1),
        is_of_interest=np.empty(m, dtype=bool),
    )
    found: list[ScoredSolution] = []
    for order in orders:
        found.append(improve_order(order, comes_before, score, arcs, trees, work, max_iter))
        if stops_at_agreement and has_agreed(found):
            break
    return found


def has_agreed(found: Sequence[ScoredSolution]) -> bool:
    """Whether the smallest objective was found twice."""
    objectives = np.array([one.objective for one in found])
    return int(np.count_nonzero(objectives <= objectives.min() + IMPROVEMENT)) > 1


def improve_order(
    order: IntArray,
    comes_before: BoolArray,
    score: Score,
    arcs: Arcs,
    trees: Trees,
    work: Regression,
    max_iter: int,
) -> ScoredSolution:
    """Move variables until none has a better place; last, delete edges among classes."""
    m, order, rank = len(order), order.copy(), np.argsort(order)
    costs, interest = np.empty(m), np.zeros((m, m), dtype=bool)
    dag = np.zeros((m, m), dtype=bool)
    history: list[float] = []
    n_moved = m
    find_parents(rank, score, arcs, trees, work, costs, interest, dag)
    while n_moved and len(history) < max_iter:
        n_moved = sweep(order, rank, comes_before, score, arcs, trees, work, costs, interest)
        history.append(float(costs.sum()))
    dag[:] = False
    find_parents(rank, score, arcs, trees, work, costs, interest, dag)
    delete_backward(score, arcs, dag, costs)
    return ScoredSolution(
        value=dag,
        objective=float(costs.sum()),
        gap=float("nan"),
        n_iter=len(history),
        converged=n_moved == 0,
        history=np.array(history),
        order=topological_order(dag),
        costs=costs,
    )


def make_trees(m: int, longest: int) -> Trees:
    """Trees without a node, and the memory that they may use: a path of any length at least."""
    n_branches = max(CACHE_BYTES // 8, longest * m)
    n_nodes = max(n_branches // 8, longest)
    return Trees(
        roots=np.full(m, -1),
        first=np.empty(n_nodes, dtype=np.int64),
        n_branches=np.empty(n_nodes, dtype=np.int32),
        cost=np.empty(n_nodes),
        variable=np.empty(n_branches, dtype=np.int32),
        child=np.empty(n_branches, dtype=np.int32),
        used=np.zeros(2, dtype=np.int64),
    )


def boss_bayes_net(
    S: FloatArray,
    n_samples: float,
    *,
    score: str = "bic",
    penalty_discount: float | None = None,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
    n_starts: int = 5,
    max_iter: int = 1000,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> ScoredSolution:
    r"""Learn a Gaussian Bayesian network by the best order of the variables (BOSS).

    An order implies a graph: the parents of a variable are grown from those before it, one at a
    time, by what lowers its cost most, and shrunk again. The search moves one variable at a time
    to its best place in the order until none has a better one, and at last deletes edges among
    equivalence classes [1]_. The cost of variable j with :math:`k_j` parents is

    .. math:: \tfrac n2 \log \hat\sigma_j^2 + \tfrac c2 k_j \log n

    with :math:`\hat\sigma_j^2` its residual variance and c the penalty discount, or minus its
    part of the logarithm of the BGe score. Trees keep the parents and costs that were found, so
    that an order is judged in little more time than it takes to walk through it. Several orders
    are tried, until the best result came twice.

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
    n_starts : int
        Most orders to start from: one given by the correlations, the others random. Unless
        ``n_jobs`` is above 1, none is begun after the best objective was found twice.
    max_iter : int
        Most sweeps over the variables for each start.
    random_state : int, Generator, RandomState or None
        Shuffles the orders to start from.
    n_jobs : int, optional
        Starts at a time. The result does not depend on it.

    Returns
    -------
    ScoredSolution
        ``value`` is the adjacency of a directed acyclic graph, ``objective`` its cost; ``gap`` is
        NaN, as other orders may be better, and ``history`` the cost after each sweep.

    References
    ----------
    .. [1] Andrews, Ramsey, Sanchez-Romero, Camchong and Kummerfeld (2023). Fast scalable and
       accurate discovery of DAGs using the best order score search and grow-shrink trees.
       *NeurIPS* 36. https://doi.org/10.48550/arXiv.2310.17679
    .. [2] Kuipers, Moffa and Heckerman (2014). Addendum on the scoring of Gaussian directed acyclic
       graphical models. *Annals of Statistics* 42(4). https://doi.org/10.1214/14-AOS1217

    Examples
    --------
    In 0 -> 2 <- 1, 2 -> 3 all directions can be told:

    >>> import numpy as np
    >>> from edgewise.solvers import boss_bayes_net
    >>> effects = np.eye(4)
    >>> effects[[0, 1], 2] = effects[[0, 1, 2], 3] = 1.0
    >>> boss_bayes_net(effects.T @ effects, 1000).value.astype(int)
    array([[0, 0, 1, 0],
           [0, 0, 1, 0],
           [0, 0, 0, 1],
           [0, 0, 0, 0]])
    """
    if n_starts < 1:
        raise InputError(f"n_starts must be at least 1, got {n_starts!r}.")
    if max_iter < 1:
        raise InputError(f"max_iter must be at least 1, got {max_iter!r}.")
    sample = Sample.observed(S, n_samples)
    problem = scored_problem(sample, score, penalty_discount, allowed, required)
    return best_order(problem, n_starts, max_iter, random_state, n_jobs)


def best_order(
    problem: ScoredProblem,
    n_starts: int = 5,
    max_iter: int = 1000,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> ScoredSolution:
    """Search orders for a problem of any score."""
    costs, arcs, place = problem
    comes_before = must_come_before(arcs)
    orders = [starting_order(comes_before, None)]
    orders += [starting_order(comes_before, rng) for rng in spawn(random_state, n_starts - 1)]
    n_tasks = min(effective_n_jobs(n_jobs), n_starts)
    parts = parallel_map(
        search_orders,
        [
            (costs, arcs, comes_before, orders[k::n_tasks], max_iter, n_tasks == 1)
            for k in range(n_tasks)
        ],
        n_jobs=n_jobs,
        description="Searching orders",
    )
    if n_tasks == 1:
        found = parts[0]
    else:
        # Searches that one worker would not have begun do not count.
        found = [parts[k % n_tasks][k // n_tasks] for k in range(n_starts)]
        n_counted = next((k for k in range(2, n_starts) if has_agreed(found[:k])), n_starts)
        found = found[:n_counted]
    best = min(found, key=lambda one: one.objective)
    return best.rearranged(place)
