r"""Blocks of variables of a locally constant problem that can be solved separately.

Split the variables into blocks. If for every pair of variables :math:`i, j` in different blocks

.. math:: |S_{ij}| + \tfrac{\tau}{2} c_{ij} \le t_{ij},

where :math:`c_{ij}` counts the neighbours of :math:`i` in the block of :math:`j` and those of
:math:`j` in the block of :math:`i`, then the solution is 0 between blocks: each of those neighbours
joins the entry to an entry inside a block by a difference, whose subgradient is at most
:math:`\tau / 2`; the differences between two entries outside the blocks need no subgradient.

Leaving out a variable is not enough, though. Its differences stay, as absolute values of the
entries they are taken from: inside a block the l1 strength of an entry :math:`(i, j)` grows by
:math:`\tau / 2` for every neighbour of :math:`i`, and every neighbour of :math:`j`, outside.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import IntArray
from edgewise.solvers.linalg.kernels import find_root
from edgewise.solvers.space.fused_rows import FusedProblem


def split_blocks(problem: FusedProblem) -> list[IntArray]:
    """Return the variables of each block, for the finest split that merging finds."""
    start, neighbor = neighbor_lists(problem.pairs, len(problem.S))
    label = _merge_blocks(problem, start, neighbor)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def restrict(problem: FusedProblem, block: IntArray) -> FusedProblem:
    """Return the problem of one block by itself."""
    p = len(problem.S)
    if block.size == p:
        return problem
    position = np.full(p, -1)
    position[block] = np.arange(block.size)
    ends = position[problem.pairs]
    is_inside = ends >= 0
    cut = problem.pairs[is_inside.sum(axis=1) == 1]
    n_outside = np.bincount(cut[position[cut] >= 0], minlength=p)[block]
    thresholds = problem.thresholds[np.ix_(block, block)]
    added = 0.5 * problem.tau * np.add.outer(n_outside, n_outside)
    np.fill_diagonal(added, 0.0)
    return FusedProblem(
        S=problem.S[np.ix_(block, block)],
        thresholds=thresholds + added,
        tau=problem.tau,
        pairs=ends[is_inside.all(axis=1)],
    )


def neighbor_lists(pairs: IntArray, p: int) -> tuple[IntArray, IntArray]:
    """Return the neighbours of variable i as ``neighbor[start[i]:start[i + 1]]``."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    start = np.zeros(p + 1, dtype=np.int64)
    np.cumsum(np.bincount(both[:, 0], minlength=p), out=start[1:])
    return start, np.ascontiguousarray(both[:, 1])


@kernel
def _merge_blocks(problem: FusedProblem, start: IntArray, neighbor: IntArray) -> IntArray:
    """Merge single variables into blocks until no pair across blocks breaks the rule."""
    S, p = problem.S, len(problem.S)
    label = np.arange(p)
    root = np.arange(p)
    is_changed = True
    while is_changed:
        is_changed = False
        for i in range(p):
            for j in range(i):
                if label[i] == label[j]:
                    continue
                count = 0
                for k in range(start[i], start[i + 1]):
                    count += neighbor[k] != j and label[neighbor[k]] == label[j]
                for k in range(start[j], start[j + 1]):
                    count += neighbor[k] != i and label[neighbor[k]] == label[i]
                if abs(S[i, j]) + 0.5 * problem.tau * count > problem.thresholds[i, j]:
                    a, b = find_root(root, i), find_root(root, j)
                    if a != b:
                        root[max(a, b)] = min(a, b)
                        is_changed = True
        for i in range(p):
            label[i] = find_root(root, i)
    return label
