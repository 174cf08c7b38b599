"""Hill climbing in the space of directed acyclic graphs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.blanket_kernels import DEPENDENT
from edgewise.solvers.directed.partial_correlation import correlations, truth_matrix

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


#: No node has more parents than this share of the rows: with many, an equation fits anything.
PARENTS_PER_ROW = 1 / 3


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
    if not n_samples > 2:
        raise InputError(f"n_samples must be above 2, got {n_samples!r}.")
    if not 0 <= gamma <= 1:
        raise InputError(f"gamma must be between 0 and 1, got {gamma!r}.")
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
