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
from edgewise.solvers.directed.ges import delete_backward
from edgewise.solvers.directed.grow_shrink import Families, follow, make_families, shrink
from edgewise.solvers.directed.scores import (
    IMPROVEMENT,
    Arcs,
    Sample,
    Score,
    ScoredProblem,
    ScoredSolution,
    must_come_before,
    scored_problem,
    starting_order,
    topological_order,
)

#: Variables that a perturbation moves.
N_MOVED = 3
#: Perturbations in a row that may bring nothing before a search ends: at least so many, and so many
#: for each variable. No more than ten times as many in all.
PATIENCE, PATIENCE_EACH = 30, 0.3
#: Work that perturbations may take: nodes of trees walked through, times variables. Minutes at
#: most; below some hundreds of variables patience ends first.
MOST_WORK = 5e10
#: Most orders to start from by default, and most variables in all of them beyond one.
N_STARTS, MOST_STARTED = 5, 1000


class Places(NamedTuple):
    """An order of the variables, what it implies, and what it was before a perturbation.

    ``rank`` is the position of each variable, ``costs`` what each costs given those before it, and
    ``interest[j, i]`` says whether i is, or could become, a parent of j. ``comes_before`` is empty
    where any order will do. ``is_awake`` marks
    variables that may have a better place. Of variables marked by ``is_changed``, the costs and
    interests of before are in ``old_costs`` and ``old_interest``.
    """

    order: IntArray
    rank: IntArray
    comes_before: BoolArray
    costs: FloatArray
    interest: BoolArray
    is_awake: BoolArray
    is_changed: BoolArray
    old_order: IntArray
    old_costs: FloatArray
    old_interest: BoolArray


@kernel
def find_parents(places: Places, families: Families, dag: BoolArray) -> None:
    """Set the arcs and costs that an order implies, and what is of interest to each variable."""
    rank, work = places.rank, families.work
    for i in range(len(rank)):
        for j in range(len(rank)):
            dag[i, j] = False
    for node in range(len(rank)):
        places.costs[node] = follow(
            node, rank[node], -1, False, rank, families, places.interest[node]
        )
        shrink(node, work.state[3], families.n_required[node], families.score, work)
        for k in range(work.state[2]):
            dag[work.nodes[k + 1], node] = True


@kernel
def sweep(places: Places, families: Families) -> int:
    """Move each variable that is awake to its best place in the order; return how many moved."""
    n_moved, order, turns = 0, places.order, families.work.turns
    for turn in range(len(order)):
        turns[turn] = order[turn]
    for variable in turns:
        if not places.is_awake[variable]:
            continue
        places.is_awake[variable] = False
        here, place = places.rank[variable], best_place(variable, places, families)
        if place not in (here, here + 1):
            n_moved += 1
            move(variable, place - 1 if place > here else place, places, families)
    return n_moved


@kernel
def move(variable: int, target: int, places: Places, families: Families) -> None:
    """Move a variable to a position, and wake up those whose cost that changes."""
    order, rank, costs, interest = places.order, places.rank, places.costs, places.interest
    here = rank[variable]
    step = 1 if target > here else -1
    for k in range(here, target, step):
        order[k] = order[k + step]
        rank[order[k]] = k
    order[target], rank[variable] = variable, target
    for k in range(min(here, target), max(here, target) + 1):
        node = order[k]
        if node != variable and not interest[node, variable]:
            continue
        before = costs[node]
        if not places.is_changed[node]:
            places.is_changed[node], places.old_costs[node] = True, before
            for i in range(len(order)):
                places.old_interest[node, i] = interest[node, i]
        costs[node] = follow(node, k, -1, False, rank, families, interest[node])
        if abs(costs[node] - before) > IMPROVEMENT:
            places.is_awake[node] = True


@kernel
def bounds(variable: int, places: Places) -> tuple[int, int]:
    """Return the first and the last position before which knowledge lets a variable stand."""
    low, high = 0, len(places.order)
    for i in range(len(places.comes_before)):
        if places.comes_before[i, variable]:
            low = max(low, places.rank[i] + 1)
        if places.comes_before[variable, i]:
            high = min(high, places.rank[i])
    return low, high


@kernel
def best_place(variable: int, places: Places, families: Families) -> int:
    """Find the position before which a variable lowers the cost most; its own if none does.

    Only variables that it is of interest to can change their parents, and its own parents change
    only where it passes one of interest to it.
    """
    order, rank, work = places.order, places.rank, families.work
    here = rank[variable]
    low, high = bounds(variable, places)
    own, is_of_interest = work.own, work.is_of_interest
    is_stale = True
    for place in range(low, high + 1):
        if is_stale:
            own[place] = follow(variable, place, -1, False, rank, families, is_of_interest)
        else:
            own[place] = own[place - 1]
        is_stale = place < high and is_of_interest[order[place]]
    best, best_place, others, at_here = np.inf, here, 0.0, 0.0
    for place in range(high, low - 1, -1):
        if place < high and place != here:
            node = order[place]
            if places.interest[node, variable]:
                cost, is_before = places.costs[node], place < here
                other = follow(node, place, variable, is_before, rank, families, is_of_interest)
                others += other - cost if is_before else cost - other
        if place == here:
            at_here = own[place] + others
        elif own[place] + others < best:
            best, best_place = own[place] + others, place
    return int(best_place if best < at_here - IMPROVEMENT else here)


@kernel
def perturb(
    draws: FloatArray, patience: int, most_steps: float, places: Places, families: Families
) -> int:
    """Move a few variables at random and repair the order, again and again.

    What does not cost more than before is kept. Each row of ``draws`` is a perturbation, two
    numbers from 0 to 1 for each variable that moves. Ends when as many in a row as ``patience``
    did not lower the cost, or after so many steps in trees; returns how many lowered it.
    """
    m, n_better, n_failed = len(places.order), 0, 0
    end = families.work.state[4] + most_steps
    for draw in draws:
        if n_failed >= patience or families.work.state[4] > end:
            break
        for i in range(m):
            places.is_awake[i], places.is_changed[i] = False, False
            places.old_order[i] = places.order[i]
        for k in range(len(draw) // 2):
            variable = int(draw[2 * k] * m)
            low, high = bounds(variable, places)
            place, here = low + int(draw[2 * k + 1] * (high - low + 1)), places.rank[variable]
            places.is_awake[variable] = True
            move(variable, place - 1 if place > here else place, places, families)
        while sweep(places, families):
            pass
        gain = 0.0
        for i in range(m):
            if places.is_changed[i]:
                gain += places.old_costs[i] - places.costs[i]
        n_failed += 1
        if gain > IMPROVEMENT:
            n_better, n_failed = n_better + 1, 0
        elif gain < -0.001 * IMPROVEMENT:
            for i in range(m):
                places.order[i] = places.old_order[i]
                places.rank[places.order[i]] = i
                if places.is_changed[i]:
                    places.costs[i] = places.old_costs[i]
                    for j in range(m):
                        places.interest[i, j] = places.old_interest[i, j]
    return n_better


def search_orders(
    score: Score,
    arcs: Arcs,
    comes_before: BoolArray,
    starts: Sequence[tuple[IntArray, np.random.Generator]],
    max_iter: int,
    n_tasks: int,
) -> list[ScoredSolution]:
    """Improve orders one after another; what the trees know after one serves the next.

    A search that is alone ends when the best objective was found twice; of ``n_tasks`` at a time
    none knows of the others.
    """
    families = make_families(score, arcs, n_tasks)
    found: list[ScoredSolution] = []
    for order, rng in starts:
        found.append(improve_order(order, rng, comes_before, families, max_iter))
        if n_tasks == 1 and has_agreed(found):
            break
    return found


def has_agreed(found: Sequence[ScoredSolution]) -> bool:
    """Whether the smallest objective was found twice."""
    objectives = np.array([one.objective for one in found])
    return int(np.count_nonzero(objectives <= objectives.min() + IMPROVEMENT)) > 1


def improve_order(
    order: IntArray,
    rng: np.random.Generator,
    comes_before: BoolArray,
    families: Families,
    max_iter: int,
) -> ScoredSolution:
    """Move variables until none has a better place; last, delete edges among classes.

    Where it settles, an order is perturbed: a better one is often near.
    """
    m = len(order)
    places = Places(
        order=order.copy(),
        rank=np.argsort(order),
        comes_before=comes_before,
        costs=np.empty(m),
        interest=np.zeros((m, m), dtype=bool),
        is_awake=np.ones(m, dtype=bool),
        is_changed=np.zeros(m, dtype=bool),
        old_order=np.empty(m, dtype=np.int64),
        old_costs=np.empty(m),
        old_interest=np.empty((m, m), dtype=bool),
    )
    dag, history = np.zeros((m, m), dtype=bool), list[float]()
    find_parents(places, families, dag)
    converged = settle(places, families, history, max_iter)
    patience = max(PATIENCE, int(PATIENCE_EACH * m))
    draws = rng.uniform(size=(10 * patience, 2 * N_MOVED))
    if converged and perturb(draws, patience, MOST_WORK / m, places, families):
        converged = settle(places, families, history, max_iter)
    find_parents(places, families, dag)
    delete_backward(families.score, families.arcs, dag, places.costs)
    return ScoredSolution(
        value=dag,
        objective=float(places.costs.sum()),
        gap=float("nan"),
        n_iter=len(history),
        converged=converged,
        history=np.array(history),
        order=topological_order(dag),
        costs=places.costs,
    )


def settle(places: Places, families: Families, history: list[float], max_iter: int) -> bool:
    """Move variables until none has a better place; say whether that took few enough sweeps."""
    is_full = True
    places.is_awake[:] = True
    while len(history) < max_iter:
        n_moved = sweep(places, families)
        history.append(float(places.costs.sum()))
        if is_full and not n_moved:
            return True
        # Where none of those that were woken up has a better place, look at all once more.
        is_full = not n_moved
        if is_full:
            places.is_awake[:] = True
    return False


def boss_bayes_net(
    S: FloatArray,
    n_samples: float,
    *,
    score: str = "bic",
    penalty_discount: float | None = None,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
    n_starts: int | None = None,
    max_iter: int = 1000,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> ScoredSolution:
    r"""Learn a Gaussian Bayesian network by the best order of the variables (BOSS).

    An order implies a graph: the parents of a variable are grown from those before it, one at a
    time, by what lowers its cost most, and shrunk again. The search moves one variable at a time
    to its best place in the order until none has a better one, moves a few at random and repairs
    the order, again and again as long as that helps, and at last deletes edges among equivalence
    classes [1]_. The cost of variable j with :math:`k_j` parents is

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
    n_starts : int, optional
        Most orders to start from: one given by the correlations, the others random. Unless
        ``n_jobs`` is above 1, none is begun after the best objective was found twice. By default 5
        for up to 200 variables, 1000 / m for more, and at least one.
    max_iter : int
        Most sweeps over the variables for each start.
    random_state : int, Generator, RandomState or None
        Shuffles the orders to start from, and draws what is moved at random.
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
    if n_starts is not None and n_starts < 1:
        raise InputError("n_starts_range", n_starts=n_starts)
    if max_iter < 1:
        raise InputError("max_iter_at_least_one", max_iter=max_iter)
    sample = Sample.observed(S, n_samples)
    problem = scored_problem(sample, score, penalty_discount, allowed, required)
    return best_order(problem, n_starts, max_iter, random_state, n_jobs)


def best_order(
    problem: ScoredProblem,
    n_starts: int | None = None,
    max_iter: int = 1000,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> ScoredSolution:
    """Search orders for a problem of any score."""
    costs, arcs, place = problem
    comes_before = must_come_before(arcs)
    if n_starts is None:
        n_starts = max(min(N_STARTS, MOST_STARTED // len(place)), 1)
    streams = spawn(random_state, n_starts)
    starts = [
        (starting_order(comes_before, rng if k else None), rng) for k, rng in enumerate(streams)
    ]
    if not comes_before.any():
        comes_before = np.empty((0, 0), dtype=bool)
    n_tasks = min(effective_n_jobs(n_jobs), n_starts)
    parts = parallel_map(
        search_orders,
        [
            (costs, arcs, comes_before, starts[k::n_tasks], max_iter, n_tasks)
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
