"""Hill climbing in the space of directed acyclic graphs."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.directed.blanket_kernels import DEPENDENT

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
