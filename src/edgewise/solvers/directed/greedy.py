"""Scores of Gaussian Bayesian networks, and hill climbing among directed acyclic graphs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import multigammaln

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.io.messages import quote_names
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.blanket_kernels import DEPENDENT
from edgewise.solvers.directed.partial_correlation import (
    check_criterion,
    correlations,
    truth_matrix,
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
def explained_by(R: FloatArray, child: int, parents: IntArray, k: int, L: FloatArray) -> float:
    """Variance of a child that ``parents[k]`` explains in addition to those before.

    ``L[k]`` becomes its row of the Cholesky factor, with its entry in the row of the child last.
    """
    node, last = parents[k], L.shape[1] - 1
    pivot, share = R[node, node], R[node, child]
    for j in range(k):
        value = R[node, parents[j]]
        for i in range(j):
            value -= L[k, i] * L[j, i]
        value /= L[j, j]
        L[k, j] = value
        pivot -= value * value
        share -= value * L[j, last]
    if pivot <= DEPENDENT:
        L[k, k], L[k, last] = 1.0, 0.0
        return 0.0
    L[k, k] = np.sqrt(pivot)
    L[k, last] = share / L[k, k]
    explained: float = L[k, last] ** 2
    return explained


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


SCORES = ("bic", "bge")
#: A change of the cost that is smaller is rounding.
IMPROVEMENT = 1e-6
#: Most parents of a variable, whatever the number of rows.
MOST_PARENTS = 500
#: No node has more parents than this share of the rows: with many, an equation fits anything.
PARENTS_PER_ROW = 1 / 3


class Score(NamedTuple):
    r"""Cost of a variable given its parents, from their correlations R.

    With k parents P it is ``base[k] + slope[k] log(residual variance) + drift log det R[P, P]``,
    minus the logarithm of a score.
    """

    R: FloatArray
    base: FloatArray
    slope: FloatArray
    drift: float


class Arcs(NamedTuple):
    """What is known of arcs: ``may_be[j, i]`` and ``must_be[j, i]`` are about i -> j."""

    may_be: BoolArray
    must_be: BoolArray


def gaussian_score(
    S: FloatArray, n_samples: float, score: str, penalty_discount: float | None, least: int = 1
) -> Score:
    """Prepare the cost of all variables given as many parents as the rows allow, or ``least``."""
    if score not in SCORES:
        raise InputError(f"score must be one of {quote_names(SCORES)}, got {score!r}.")
    if not n_samples > 2:
        raise InputError(f"n_samples must be above 2, got {n_samples!r}.")
    R = correlations(S)
    m = len(R)
    if penalty_discount is None:
        penalty_discount = max(2.0, 1.0 + 2.0 * np.log(m) / np.log(n_samples))
    elif not 0 < penalty_discount < np.inf:
        raise InputError(f"penalty_discount must be positive, got {penalty_discount!r}.")
    most = max(min(int(n_samples * PARENTS_PER_ROW), m - 1, MOST_PARENTS), least, 1)
    k = np.arange(most + 1.0)
    if score == "bic":
        per_arc = 0.5 * penalty_discount * np.log(n_samples)
        return Score(R, per_arc * k, np.full(len(k), 0.5 * n_samples), 0.0)
    return _bge(R, float(n_samples), np.arange(most + 2.0))


def _bge(R: FloatArray, n: float, k: FloatArray) -> Score:
    """Prepare the BGe score with one row's worth of prior mean and m + 2 of prior covariance."""
    m = len(R)
    prior = 0.5
    T = (n * R + prior * np.eye(m)) / (n + prior)
    # Logarithm of the marginal likelihood of k variables, but for -slope log det T.
    freedom, grown = 2.0 + k, n + 2.0 + k
    marginal = np.array(
        [
            -0.5 * size * np.log(n + 1.0)
            - 0.5 * size * n * np.log(np.pi)
            + (multigammaln(0.5 * b, int(size)) - multigammaln(0.5 * a, int(size)) if size else 0.0)
            + 0.5 * a * size * np.log(prior)
            - 0.5 * b * size * np.log(n + prior)
            for size, a, b in zip(k, freedom, grown, strict=True)
        ]
    )
    return Score(T, -np.diff(marginal), 0.5 * grown[1:], 0.5)


def as_arcs(allowed: ArrayLike | None, required: ArrayLike | None, m: int) -> Arcs:
    """Check what is known of arcs."""
    may_be = truth_matrix(True if allowed is None else allowed, "allowed", m).T.copy()
    must_be = truth_matrix(False if required is None else required, "required", m).T.copy()
    np.fill_diagonal(may_be, False)
    may_be &= ~must_be.T
    may_be |= must_be
    return Arcs(may_be, must_be)


@kernel
def local_cost(score: Score, child: int, parents: IntArray, size: int, L: FloatArray) -> float:
    """Cost of a variable given ``parents[:size]``; L is scratch."""
    left, log_det = score.R[child, child], 0.0
    for k in range(size):
        left -= explained_by(score.R, child, parents, k, L)
        if score.drift != 0.0:
            log_det += 2.0 * np.log(L[k, k])
    cost: float = score.base[size] + score.slope[size] * np.log(max(left, DEPENDENT))
    return cost + score.drift * log_det


@kernel
def total_cost(score: Score, dag: BoolArray, costs: FloatArray) -> float:
    """Cost of a graph; ``costs`` are set to those of its variables."""
    m = len(dag)
    most = 0
    for j in range(m):
        most = max(most, dag[:, j].sum())
    parents, L = np.empty(most + 1, np.int64), np.empty((most + 1, most + 2))
    for j in range(m):
        size = 0
        for i in range(m):
            if dag[i, j]:
                parents[size] = i
                size += 1
        costs[j] = local_cost(score, j, parents, size, L)
    total: float = costs.sum()
    return total


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
    >>> from edgewise.solvers import greedy_bayes_net
    >>> effects = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> greedy_bayes_net(effects.T @ effects, 1000).value.astype(int)
    array([[0, 0, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    check_criterion(n_samples, gamma)
    if max_iter < 1:
        raise InputError(f"max_iter must be at least 1, got {max_iter!r}.")
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


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredSolution(Solution):
    """A graph found by its score; ``value[i, j]`` says whether there is an arc i -> j.

    ``objective`` is minus the logarithm of the score, with a variance of 1 for each variable.

    Attributes
    ----------
    order : ndarray of int, shape (m,)
        Variables, each after its parents.
    costs : ndarray of shape (m,)
        What each variable adds to the objective.
    """

    order: IntArray
    costs: FloatArray

    def rearranged(self, place: IntArray) -> Self:
        """Give variable k the number ``place[k]``."""
        value, costs = np.empty_like(self.value), np.empty_like(self.costs)
        value[np.ix_(place, place)], costs[place] = self.value, self.costs
        return replace(self, value=value, costs=costs, order=place[self.order])


class ScoredProblem(NamedTuple):
    """A search for a graph, with the variables in an order of their own."""

    score: Score
    arcs: Arcs
    place: IntArray


def scored_problem(
    S: FloatArray,
    n_samples: float,
    score: str,
    penalty_discount: float | None,
    allowed: ArrayLike | None,
    required: ArrayLike | None,
) -> ScoredProblem:
    """Check the arguments that the searches have in common."""
    R = correlations(S)
    arcs = as_arcs(allowed, required, len(R))
    # By their correlations, so that their position makes no difference.
    place = np.lexsort(np.sort(np.abs(R), axis=1).round(9).T)
    arcs = Arcs(*(matrix[np.ix_(place, place)] for matrix in arcs))
    most_required = int(arcs.must_be.sum(axis=1).max())
    R = R[np.ix_(place, place)]
    return ScoredProblem(
        gaussian_score(R, n_samples, score, penalty_discount, most_required), arcs, place
    )


def dag_cost(
    S: FloatArray, n_samples: float, dag: BoolArray, score: str, penalty_discount: float | None
) -> float:
    """Cost of any graph, to compare results of whatever search."""
    most = int(dag.sum(axis=0).max())
    cost = gaussian_score(S, n_samples, score, penalty_discount, most)
    return float(total_cost(cost, dag, np.empty(len(dag))))


def topological_order(dag: BoolArray) -> IntArray:
    """Order the nodes by the longest path that leads to each."""
    tiers, front = np.zeros(len(dag), dtype=np.int64), dag.any(axis=0)
    while front.any():
        tiers[front] += 1
        front = dag[front].any(axis=0)
    return np.argsort(tiers, kind="stable")


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
    """Set the least cost of a variable with parents among the members of each subset."""
    m = len(score.R)
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
    size = 0
    for i in range(len(score.R)):
        size += subset >> i & 1
    if subset & ~allowed or required & ~subset or size > most:
        return np.inf
    left = log_det[subset | 1 << child] - log_det[subset]
    cost: float = score.base[size] + score.slope[size] * left + score.drift * log_det[subset]
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
        raise InputError(
            f"An exact search goes through all subsets of at most {MOST_EXACT} variables, got "
            f"{len(S)}. Use boss_bayes_net, or fewer variables."
        )
    cost, arcs, place = scored_problem(S, n_samples, score, penalty_discount, allowed, required)
    m = len(place)
    log_det, total = np.empty(2**m), np.empty(2**m)
    best, sink = np.empty((m, 2**m)), np.empty(2**m, dtype=np.int64)
    log_determinants(cost.R, log_det)
    for child in range(m):
        best_parents(cost, arcs, log_det, child, len(cost.base) - 1, best[child])
    best_sinks(best, total, sink)
    dag = np.zeros((m, m), dtype=bool)
    subset, order = 2**m - 1, np.empty(m, dtype=np.int64)
    for k in reversed(range(m)):
        order[k] = node = sink[subset]
        subset -= 1 << int(node)
        parents = trace_parents(best, node, subset)
        dag[:, node] = [parents >> i & 1 for i in range(m)]
    costs = np.empty(m)
    total_cost(cost, dag, costs)
    return ScoredSolution(
        value=dag,
        objective=float(costs.sum()),
        gap=0.0,
        n_iter=1,
        converged=True,
        order=order,
        costs=costs,
    ).rearranged(place)
