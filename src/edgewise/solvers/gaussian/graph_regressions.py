r"""Gaussian maximum likelihood under a given graph, one regression on the neighbours at a time.

The covariance :math:`W` has unit variances and agrees with the sample covariance :math:`S` on the
edges. Column :math:`j` of :math:`W` becomes :math:`W_{\cdot N} \beta`, where :math:`N` are the
neighbours of :math:`j` and :math:`W_{NN} \beta = S_{Nj}` (Hastie, Tibshirani and Friedman 2009,
algorithm 17.1). After one sweep :math:`W` is a feasible point of the dual problem

.. math:: \max_W \log\det W + p \quad\text{with}\quad W_{ij} = S_{ij} \text{ on edges and diagonal}

and every update raises its log-determinant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.linalg.rows import add_rows
from edgewise.solvers.linalg.small_cholesky import factor, solve

#: Conditional variance, as a share of the variance, at which a variable counts as redundant.
REDUNDANT = 1e-12


class Regressions(NamedTuple):
    """State and buffers: the regression of each variable on its neighbours.

    Attributes
    ----------
    W : ndarray of shape (p, p)
        The dual point.
    Theta : ndarray of shape (p, p)
        The precision.
    neighbors : ndarray of shape (p, p)
        Row ``i`` lists the ``degree[i]`` neighbours of ``i``.
    degree, order : ndarray of shape (p,)
        Number of neighbours, and the variables by that number.
    beta : ndarray of shape (p, p)
        Row ``i`` holds the coefficients on the neighbours of ``i``.
    theta : ndarray of shape (p,)
        Diagonal of the precision.
    gram, L, column : ndarray
        Scratch.
    """

    W: FloatArray
    Theta: FloatArray
    neighbors: IntArray
    degree: IntArray
    order: IntArray
    beta: FloatArray
    theta: FloatArray
    gram: FloatArray
    L: FloatArray
    column: FloatArray


def room_for_regressions(p: int) -> Regressions:
    """Allocate what fits to graphs over ``p`` variables need, again and again."""
    matrix, vector = (p, p), (p,)
    return Regressions(
        W=np.empty(matrix),
        Theta=np.empty(matrix),
        neighbors=np.empty(matrix, np.int64),
        degree=np.empty(vector, np.int64),
        order=np.empty(vector, np.int64),
        beta=np.empty(matrix),
        theta=np.empty(vector),
        gram=np.empty(matrix),
        L=np.empty(matrix),
        column=np.empty(vector),
    )


@kernel
def fit_to_graph(
    S: FloatArray, adjacency: BoolArray, state: Regressions, target: float, max_sweeps: int
) -> tuple[float, int]:
    """Fill ``state.Theta`` with the precision and ``state.W`` with a dual point.

    ``S`` has unit variances. Returns the duality gap and the number of sweeps. A gap of -1 says
    that a regression was singular: either the likelihood has no maximum or this start, the sample
    covariance itself, is not good enough to find it. A finite gap proves ``Theta`` positive
    definite if ``W`` is, and the other way round.
    """
    _start(S, adjacency, state)
    gap = np.inf
    for count in range(1, max_sweeps + 1):
        change = 0.0
        for j in state.order:
            moved = _regress(j, S, state)
            if moved < 0.0:
                return -1.0, count
            change = max(change, moved)
        # The gap is about the square of the residual, which follows the change.
        if change * change <= target or count == max_sweeps:
            _assemble(state)
            gap = _bound_gap(state)
            if gap <= target:
                return gap, count
    return gap, max_sweeps


@kernel
def _start(S: FloatArray, adjacency: BoolArray, state: Regressions) -> None:
    """List the neighbours, start at the sample covariance, and put the variables in order.

    Few neighbours come first: with fewer rows than a hub has neighbours, their covariance is
    singular until they have been made independent given the hub.
    """
    p = S.shape[0]
    for i in range(p):
        degree = 0
        for j in range(p):
            state.W[i, j] = S[i, j]
            if i != j and adjacency[i, j]:
                state.neighbors[i, degree] = j
                degree += 1
        state.degree[i] = degree
        place = i
        while place > 0 and state.degree[state.order[place - 1]] > degree:
            state.order[place] = state.order[place - 1]
            place -= 1
        state.order[place] = i


@kernel
def _regress(j: int, S: FloatArray, state: Regressions) -> float:
    """Update column ``j``; return its largest change, or -1 if the regression is singular."""
    p = S.shape[0]
    W, gram, column = state.W, state.gram, state.column
    neighbors, degree, beta = state.neighbors[j], state.degree[j], state.beta[j]
    for a in range(degree):
        beta[a] = S[j, neighbors[a]]
        for b in range(a + 1):
            gram[a, b] = W[neighbors[a], neighbors[b]]
    if not factor(gram, degree, state.L):
        return -1.0
    solve(state.L, degree, beta)
    add_rows(W, neighbors, beta, degree, column)
    rest = 1.0
    for a in range(degree):
        rest -= beta[a] * S[j, neighbors[a]]
        # What rounding leaves between the two would otherwise stay in the dual point.
        column[neighbors[a]] = S[j, neighbors[a]]
    if not rest > REDUNDANT:
        return -1.0
    state.theta[j] = 1.0 / rest
    column[j] = 1.0
    change = 0.0
    for i in range(p):
        change = max(change, abs(column[i] - W[j, i]))
        W[j, i] = column[i]
        W[i, j] = column[i]
    return change


@kernel
def _assemble(state: Regressions) -> None:
    """Write the precision that the regressions agree on, the mean of the two for each edge."""
    Theta = state.Theta
    p = state.theta.size
    for i in range(p):
        for j in range(p):
            Theta[i, j] = 0.0
    for i in range(p):
        Theta[i, i] = state.theta[i]
        for a in range(state.degree[i]):
            j = state.neighbors[i, a]
            half = -0.5 * state.beta[i, a] * state.theta[i]
            Theta[i, j] += half
            Theta[j, i] += half


@kernel
def _bound_gap(state: Regressions) -> float:
    r"""Bound the duality gap of the precision at the dual point, infinite where the bound fails.

    With :math:`R = \Theta W - I` the gap is :math:`\operatorname{tr} R - \log\det(I + R)`, at most
    :math:`\delta^2 / (2 (1 - \delta))` for :math:`\delta^2 = \operatorname{tr} R^2 < 1`.
    """
    W, Theta, R, values = state.W, state.Theta, state.gram, state.column
    p = W.shape[0]
    for i in range(p):
        degree = state.degree[i]
        for a in range(degree):
            values[a] = Theta[i, state.neighbors[i, a]]
        add_rows(W, state.neighbors[i], values, degree, R[i])
        for j in range(p):
            R[i, j] += Theta[i, i] * W[i, j]
        R[i, i] -= 1.0
    square = 0.0
    for i in range(p):
        square += R[i, i] * R[i, i]
        for j in range(i):
            square += 2.0 * R[i, j] * R[j, i]
    if not square < 1.0:
        return np.inf
    square = max(square, 0.0)
    bound: float = 0.5 * square / (1.0 - np.sqrt(square))
    return bound
