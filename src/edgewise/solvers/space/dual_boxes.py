r"""Projected gradient ascent over the dual boxes of a precision matrix with two penalties.

The dual of a log-determinant problem with an l1 penalty of the entries of :math:`\Theta` and
another of :math:`D \Theta` is to maximise

.. math::
    \log\det \Sigma, \qquad \Sigma = S + U + \tfrac12 (D^\top Q + Q^\top D),

over a box for each entry of :math:`U` and :math:`Q`. The gradients are :math:`\Sigma^{-1}` and
:math:`D \Sigma^{-1}`. Steps have the lengths of Barzilai and Borwein, the longer and the shorter
one in turn, which took half the iterations of either one alone; the search is non-monotone (Birgin,
Martínez and Raydan 2000).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.newton import refuse_unbounded
from edgewise.solvers.linalg.dense import inverse_and_log_determinant

#: Objectives looked back on: a step must improve on the worst of them.
MEMORY = 10
#: Share of the increase promised by the slope that a step must reach.
SUFFICIENT = 1e-4
#: A step cut to less than this is lost in rounding.
SHORTEST = 1e-10
#: Iterations at each height of the ridge that leads to a feasible start.
RIDGE_ITERATIONS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class DualBoxes:
    r"""Maximise the log-determinant of :math:`S + U + (D^\top Q + Q^\top D) / 2` over boxes.

    Attributes
    ----------
    S : ndarray of shape (p, p)
        Covariance, a penalty of the diagonal added.
    D, D_transposed : csr_array of shape (M, p), (p, M)
        Operator.
    entry_box : ndarray of shape (p, p)
        Largest size of the entries of :math:`U`, 0 on the diagonal.
    difference_box : ndarray of shape (M, p)
        Largest size of the entries of :math:`Q`.
    """

    S: FloatArray
    D: sparse.csr_array
    D_transposed: sparse.csr_array
    entry_box: FloatArray
    difference_box: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class DualPoint:
    """A feasible dual point, what was made of it, and its duality gap."""

    U: FloatArray
    Q: FloatArray
    Sigma: FloatArray
    Theta: FloatArray
    differences: FloatArray
    log_determinant: float
    gap: float


def feasible_point(problem: DualBoxes) -> DualPoint:
    """Find a positive definite dual point.

    Covariances shrunken by as much as the boxes allow are one, unless some have no room at all or
    ``S`` has a negative eigenvalue. If so, a ridge keeps the point positive definite while it
    climbs away from singularity, and is lowered by most of what it did not need.
    """
    U = problem.S - np.diag(np.diagonal(problem.S))
    size = np.abs(U)
    room = np.divide(problem.entry_box, size, out=np.ones_like(size), where=size > 0.0)
    np.fill_diagonal(room, 1.0)
    U *= -min(float(room.min()), 1.0)
    Q = np.zeros_like(problem.difference_box)
    point = _evaluate(problem, U, Q)
    ridge = 1.0
    while point is None:
        refuse_unbounded(1.0 / ridge)
        eased = replace(problem, S=problem.S + ridge * np.eye(len(U)))
        lifted = _evaluate(eased, U, Q)
        if lifted is None:
            ridge *= 2.0
            continue
        lifted, _ = climb(eased, lifted, 0.0, RIDGE_ITERATIONS)
        U, Q = lifted.U, lifted.Q
        ridge -= 0.9 * float(np.linalg.eigvalsh(lifted.Sigma)[0])
        if ridge <= 0.0:
            point = _evaluate(problem, U, Q)
    return point


def climb(
    problem: DualBoxes, point: DualPoint, target: float, max_iter: int
) -> tuple[DualPoint, list[float]]:
    """Take projected gradient steps until the gap is at most ``target``.

    Returns the point with the smallest gap, and the gap of every point.
    """
    best = point
    gaps = [point.gap]
    recent = [point.log_determinant]
    step = float(np.diagonal(point.Theta).max()) ** -2
    while best.gap > target and len(gaps) <= max_iter:
        refuse_unbounded(float(np.diagonal(point.Theta).max()))
        move_U, slope_U = _project(point.U, point.Theta, problem.entry_box, step)
        move_Q, slope_Q = _project(point.Q, point.differences, problem.difference_box, step)
        found = _search(problem, point, move_U, move_Q, slope_U + slope_Q, min(recent))
        if found is None:
            break
        moved, length = found
        # The objective is concave: its gradient changes against the move.
        change_U = _compare(point.Theta, moved.Theta, move_U)
        change_Q = _compare(point.differences, moved.differences, move_Q)
        square, product, change = (length**2, -length, 1.0) * np.add(change_U, change_Q)
        if product > 0.0:
            step = square / product if len(gaps) % 2 else product / change
        point = moved
        gaps.append(point.gap)
        recent = [*recent, point.log_determinant][-MEMORY:]
        if point.gap < best.gap:
            best = point
    return best, gaps


def _search(
    problem: DualBoxes,
    point: DualPoint,
    move_U: FloatArray,
    move_Q: FloatArray,
    slope: float,
    reference: float,
) -> tuple[DualPoint, float] | None:
    """Halve a move until it improves on ``reference``; also returns the length that is left."""
    length = 1.0
    while slope > 0.0 and length > SHORTEST:
        trial = _evaluate(problem, point.U + length * move_U, point.Q + length * move_Q)
        if trial and trial.log_determinant >= reference + SUFFICIENT * length * slope:
            return trial, length
        length *= 0.5
    return None


def _evaluate(problem: DualBoxes, U: FloatArray, Q: FloatArray) -> DualPoint | None:
    """Invert a dual point; None says that it is not positive definite."""
    Sigma = _assemble(problem.S, U, problem.D_transposed @ Q)
    Theta, log_determinant = inverse_and_log_determinant(Sigma)
    if Theta is None:
        return None
    differences = problem.D @ Theta
    cost = float(np.vdot(problem.S, Theta))
    cost += _weighted_size(problem.entry_box, Theta)
    cost += _weighted_size(problem.difference_box, differences)
    return DualPoint(
        U=U,
        Q=Q,
        Sigma=Sigma,
        Theta=Theta,
        differences=differences,
        log_determinant=log_determinant,
        gap=cost - len(U),
    )


@kernel
def _assemble(S: FloatArray, U: FloatArray, A: FloatArray) -> FloatArray:
    """Return ``S + U + (A + A.T) / 2``, exactly symmetric."""
    p = S.shape[0]
    Sigma = np.empty((p, p))
    for i in range(p):
        for j in range(i + 1):
            Sigma[i, j] = S[i, j] + U[i, j] + 0.5 * (A[i, j] + A[j, i])
            Sigma[j, i] = Sigma[i, j]
    return Sigma


@kernel
def _project(
    x: FloatArray, gradient: FloatArray, box: FloatArray, step: float
) -> tuple[FloatArray, float]:
    """Return the move to the projection of a gradient step onto the box, and the slope there."""
    move = np.empty(x.shape)
    slope = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            goal = x[i, j] + step * gradient[i, j]
            move[i, j] = min(max(goal, -box[i, j]), box[i, j]) - x[i, j]
            slope += gradient[i, j] * move[i, j]
    return move, slope


@kernel
def _compare(before: FloatArray, after: FloatArray, move: FloatArray) -> tuple[float, float, float]:
    """Return the sums of squares and products of a move and of the change of its gradient."""
    square = product = change = 0.0
    for i in range(move.shape[0]):
        for j in range(move.shape[1]):
            difference = after[i, j] - before[i, j]
            square += move[i, j] * move[i, j]
            product += move[i, j] * difference
            change += difference * difference
    return square, product, change


@kernel
def _weighted_size(box: FloatArray, x: FloatArray) -> float:
    """Return the sum of ``box * abs(x)``."""
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += box[i, j] * abs(x[i, j])
    return total
