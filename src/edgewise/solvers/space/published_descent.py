r"""Coordinate-direction descent for the locally constant model, as it was published.

One variable :math:`N` at a time, the rest :math:`W` of the precision is held fixed. With
:math:`y` the column of :math:`N`, :math:`u = S_{\cdot N}`, :math:`v = S_{NN} + t_{NN}` and the
diagonal entry at its best value :math:`1 / v + y^\top W^{-1} y`, what is left is

.. math::
    \min_y \; \tfrac{v}{2} y^\top W^{-1} y + u^\top y + \sum_i t_{iN} |y_i|
    + \tfrac{\tau}{2} \Bigl[ \sum_{a \sim b} |y_a - y_b|
    + \sum_{a \sim N} \sum_{n \ne a} |y_n - W_{an}| \Bigr],

where :math:`t` are the l1 strengths and :math:`a \sim b` neighbours other than :math:`N`. The
linear term and the l1 norm stand for an entry and its mirror image and were halved together; a
difference of two entries is in the objective once, so it is left with :math:`\tau / 2`. Along one
variable, or along two neighbours that move together, this is a parabola plus absolute values, which
is minimised exactly by walking through its sorted kinks (Honorio, Ortiz, Samaras, Paragios and
Goldstein 2009, section 4).

**It need not reach the optimum.** Descent along a fixed set of directions is safe where the
non-smooth part is a sum over those directions. Here it is not: :math:`|y_n - W_{an}|` ties
every column to the columns of its neighbours, and :math:`|y_a - y_b|` the entries of one column to
each other. Where a whole patch of equal entries ought to move, each entry by itself, or two of
them, would have to tear away from the others and pay for it; every such move costs more than it
gains, although all of them together gain. Two neighbours at a time loosen the corners of one
column and no more, and even an exact solution of every column stops at such points. The start from
a diagonal is the commonest of them: all zeros are one patch. Between a patch of :math:`k \times k`
covariances :math:`s` on a chain, the optimum has edges from :math:`s > t + 2 \tau / k` on, the
descent only from :math:`s > t + 1.5 \tau` on. The method is here for comparison with what was
published; a duality gap has to say how far from the optimum it stopped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.dense import inverse_and_log_determinant
from edgewise.solvers.space.fused_rows import FusedProblem, neighbor_lists, penalty


class Kinks(NamedTuple):
    """Kinks along a direction: distance, strength, value of the entry there, sorted order."""

    shift: FloatArray
    strength: FloatArray
    value: FloatArray
    order: IntArray


def coordinate_directions(
    problem: FusedProblem, Theta: FloatArray, max_sweeps: int, tol: float
) -> tuple[FloatArray, FloatArray, int]:
    r"""Sweep over all variables until a sweep lowers the objective by less than ``tol``.

    .. math::
        \operatorname{tr}(S \Theta) - \log\det \Theta + \sum_{ij} t_{ij} |\Theta_{ij}|
        + \tau \sum_{(a, b)} \sum_{n \notin \{a, b\}} |\Theta_{an} - \Theta_{bn}|

    Parameters
    ----------
    problem : FusedProblem
        Covariance :math:`S`, symmetric l1 strengths :math:`t` (``inf`` holds an entry at 0),
        strength :math:`\tau` of the differences and neighbours :math:`(a, b)`;
        :math:`S_{ii} + t_{ii}` must be positive.
    Theta : ndarray of shape (p, p)
        Positive definite start.
    max_sweeps : int
        Largest number of sweeps, at least 1.
    tol : float
        Decrease of the objective, in its own units, below which to stop.

    Returns
    -------
    Theta : ndarray of shape (p, p)
        Symmetric and positive definite, with exact zeros and ties.
    objectives : ndarray of shape (n_sweeps,)
        Objective after each sweep; it never increases.
    n_sweeps : int
        Number of sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[1.0, 0.3, 0.3], [0.3, 1.0, 0.5], [0.3, 0.5, 1.0]])
    >>> pairs = np.array([[0, 1], [1, 2]])
    >>> start = np.diag(1.0 / (np.diagonal(S) + 0.1))
    >>> problem = FusedProblem(S, np.full((3, 3), 0.1), 0.05, pairs)
    >>> Theta, _, _ = coordinate_directions(problem, start, 50, 1e-12)
    >>> Theta.round(3)
    array([[ 0.963, -0.139, -0.139],
           [-0.139,  1.049, -0.331],
           [-0.139, -0.331,  1.049]])
    """
    neighbors = neighbor_lists(problem.pairs, len(problem.S))
    Sigma, logdet = inverse_and_log_determinant(Theta)
    value = float(np.vdot(problem.S, Theta)) + penalty(Theta, problem) - logdet
    objectives = []
    for _ in range(max_sweeps):
        moved = Theta.copy()
        _sweep(problem, neighbors, moved, Sigma)
        # From the factor again, so that rounding does not build up over the sweeps.
        Sigma, logdet = inverse_and_log_determinant(moved)
        before = value
        value = float(np.vdot(problem.S, moved)) + penalty(moved, problem) - logdet
        if not value < before:
            objectives.append(before)
            break
        Theta = moved
        objectives.append(value)
        if before - value < tol:
            break
    return Theta, np.array(objectives), len(objectives)


@kernel
def _sweep(
    problem: FusedProblem,
    neighbors: tuple[IntArray, IntArray],
    Theta: FloatArray,
    Sigma: FloatArray,
) -> None:
    r"""Update every column of ``Theta`` and its inverse ``Sigma`` in place, one pass each.

    With :math:`s` the column of :math:`\Sigma` and :math:`h = W^{-1} y = -s / s_N`, the inverse
    loses :math:`s s^\top / s_N` to become :math:`W^{-1}` and gets back :math:`v h h^\top`
    (Sherman and Morrison).
    """
    S, thresholds, p = problem.S, problem.thresholds, len(problem.S)
    y = np.empty(p)
    h = np.empty(p)
    for N in range(p):
        v = S[N, N] + thresholds[N, N]
        weight = 1.0 / Sigma[N, N]
        for i in range(p):
            y[i] = Theta[i, N]
            h[i] = Sigma[i, N]
        for i in range(p):
            for j in range(p):
                Sigma[i, j] -= weight * (h[i] * h[j])
        for i in range(p):
            h[i] *= -weight
            Sigma[i, N] = 0.0
            Sigma[N, i] = 0.0
        h[N] = 0.0
        y[N] = 0.0
        _move_column(N, v, problem, neighbors, Theta, Sigma, y, h)
        square = 0.0
        for i in range(p):
            square += y[i] * h[i]
            Theta[i, N] = y[i]
            Theta[N, i] = y[i]
        Theta[N, N] = 1.0 / v + square
        h[N] = -1.0
        for i in range(p):
            for j in range(p):
                Sigma[i, j] += v * (h[i] * h[j])


@kernel
def _move_column(
    N: int,
    v: float,
    problem: FusedProblem,
    neighbors: tuple[IntArray, IntArray],
    Theta: FloatArray,
    inverse: FloatArray,
    y: FloatArray,
    h: FloatArray,
) -> None:
    """Move one column ``y``, with ``h = inverse @ y``, along every direction once, in place."""
    u, threshold, pairs, p = problem.S[N], problem.thresholds[N], problem.pairs, y.size
    for i in range(p):
        if threshold[i] == np.inf and y[i] != 0.0:
            _add(inverse[i], -y[i], h)
            y[i] = 0.0
    most = 2 + p + neighbors[1].size
    kinks = Kinks(np.empty(most), np.empty(most), np.empty(most), np.empty(most, np.int64))
    for direction in range(p + pairs.shape[0]):
        # A single variable is a pair with itself.
        i, j = direction, direction
        if direction >= p:
            i, j = pairs[direction - p, 0], pairs[direction - p, 1]
        if i == N or j == N or threshold[i] == np.inf or threshold[j] == np.inf:
            continue
        n = n_first = 0
        slope = 0.0
        for entry, partner in ((i, j), (j, i)):
            n_first = n
            n = _add_kinks(entry, partner, N, problem, neighbors, Theta, y, kinks, n)
            slope += v * h[entry] + u[entry]
            if i == j:
                break
        curvature = v * inverse[i, i]
        if i != j:
            curvature += v * (inverse[j, j] + 2.0 * inverse[i, j])
        step, kink = _minimize(curvature, slope, n, kinks)
        if step == 0.0:
            continue
        _add(inverse[i], step, h)
        if j != i:
            _add(inverse[j], step, h)
        # Onto a kink by its own value: adding the step would miss it by a rounding error.
        is_tied = y[i] == y[j]
        new_i, new_j = y[i] + step, y[j] + step
        if kink >= 0 and (is_tied or kink < n_first):
            new_i = kinks.value[kink]
        if kink >= 0 and (is_tied or kink >= n_first):
            new_j = kinks.value[kink]
        y[i], y[j] = new_i, new_j


@kernel
def _add_kinks(
    i: int,
    partner: int,
    N: int,
    problem: FusedProblem,
    neighbors: tuple[IntArray, IntArray],
    Theta: FloatArray,
    y: FloatArray,
    kinks: Kinks,
    n: int,
) -> int:
    """Append to ``n`` kinks those that moving ``y[i]`` meets, and return their number.

    Kinks are at zero, at the entries of its neighbours in the same column, except for the
    ``partner`` that moves along, and at the entries of its row in the columns of the neighbours of
    ``N``.
    """
    start, neighbor = neighbors
    known = n
    kinks.value[n] = 0.0
    kinks.strength[n] = problem.thresholds[N, i]
    n += 1
    for k in range(start[i], start[i + 1]):
        if neighbor[k] != N and neighbor[k] != partner:
            kinks.value[n] = y[neighbor[k]]
            kinks.strength[n] = 0.5 * problem.tau
            n += 1
    for k in range(start[N], start[N + 1]):
        if neighbor[k] != i:
            kinks.value[n] = Theta[neighbor[k], i]
            kinks.strength[n] = 0.5 * problem.tau
            n += 1
    for k in range(known, n):
        kinks.shift[k] = kinks.value[k] - y[i]
    return n


@kernel
def _minimize(curvature: float, slope: float, n: int, kinks: Kinks) -> tuple[float, int]:
    r"""Minimise :math:`\tfrac12 c x^2 + q x + \sum_k r_k |x - s_k|` over :math:`x`.

    Returns the minimiser and the number of the kink it lies on, or -1 if it lies between kinks.
    """
    shift, strength, order = kinks.shift, kinks.strength, kinks.order
    for k in range(n):
        slope -= strength[k]
        m = k
        while m > 0 and shift[order[m - 1]] > shift[k]:
            order[m] = order[m - 1]
            m -= 1
        order[m] = k
    for k in range(n):
        kink = order[k]
        step = -slope / curvature
        if step < shift[kink]:
            return step, -1
        slope += 2.0 * strength[kink]
        if curvature * shift[kink] + slope >= 0.0:
            return shift[kink], kink
    return -slope / curvature, -1


@kernel
def _add(x: FloatArray, factor: float, out: FloatArray) -> None:
    """Add ``factor * x`` to ``out``."""
    for k in range(out.size):
        out[k] += factor * x[k]
