r"""Which edges of a graphical lasso are proven to be the optimum's.

The duality gap :math:`G` of a precision :math:`\Theta` and a dual point :math:`W` bounds more than
the objective. With :math:`h(x) = x - \log(1 + x)`, the optimum :math:`\Theta^*` and its inverse
:math:`W^*` satisfy

.. math::
    \sum_i h(e_i) \le G, \qquad \sum_i h(e'_i) \le G

for the eigenvalues :math:`1 + e_i` of :math:`\Theta \Theta^{*-1}` and :math:`1 + e'_i` of
:math:`W W^{*-1}`: the left sides are the Bregman distances of :math:`-\log\det`, and the optimality
of the other point makes them smaller than what the objectives differ by. Of all :math:`e` with
:math:`\sum h(e_i) \le G`, a single negative one moves the optimum farthest:

.. math::
    \|\Theta^{-1/2} \Theta^* \Theta^{-1/2} - I\|_F \le r, \qquad \log(1 + r) - \frac{r}{1 + r} = G,

and the same for :math:`W`. So

.. math::
    |\Theta^*_{ij} - \Theta_{ij}| \le r \sqrt{(\Theta_{ii} \Theta_{jj} + \Theta_{ij}^2) / 2}, \qquad
    |W^*_{ij} - W_{ij}| \le r \sqrt{(W_{ii} W_{jj} + W_{ij}^2) / 2}.

An entry larger than its radius is in the optimum's graph, with its sign. Where the radius keeps
:math:`W^*` off the walls of the dual box, the optimum has no edge.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    components,
    fill_thresholds,
    measure_inverse,
    submatrix,
)

#: Rounding of a gap, in units of the last place of what it is the difference of.
ROUNDING: Final = 8.0 * float(np.finfo(np.float64).eps)


def decide_edges(form: StandardForm, Theta: FloatArray, Sigma: FloatArray, gap: float) -> BoolArray:
    """Mark the pairs whose place in the optimum's graph is proven, with the sign of an edge.

    Parameters
    ----------
    form : StandardForm
        The problem.
    Theta, Sigma : ndarray of shape (p, p)
        A precision and its inverse, in standard form.
    gap : float
        Duality gap of ``Theta``. Components of the problem have gaps of their own, which are used
        where they are smaller.

    Returns
    -------
    ndarray of bool, shape (p, p)
        True where ``Theta`` has an edge and the optimum has it with the same sign, and where
        neither has one. The diagonal is True.
    """
    # Between components the optimum is exactly zero.
    decided: BoolArray = Theta == 0.0
    np.fill_diagonal(decided, True)
    for index in components(form):
        if index.size == 1:
            continue
        part = form.component(index)
        shape = (index.size, index.size)
        theta = submatrix(Theta, index, np.empty(shape))
        sigma = submatrix(Sigma, index, np.empty(shape))
        slack, _, bound = measure_inverse(part, theta, sigma)
        found = np.empty(shape, np.bool_)
        _decide(part, theta, sigma, _reach(theta, sigma, min(slack + bound, gap)), found)
        decided[np.ix_(index, index)] = found
    return decided


def is_decided(form: StandardForm, Theta: FloatArray, Sigma: FloatArray, gap: float) -> bool:
    """Whether all pairs of one component are."""
    reach = _reach(Theta, Sigma, gap)
    n_open: int = _decide(form, Theta, Sigma, reach, np.empty((0, 0), np.bool_))
    return n_open == 0


def _reach(Theta: FloatArray, Sigma: FloatArray, gap: float) -> float:
    """Return the radius for a gap that may be off by its rounding."""
    return radius(max(gap, 0.0) + ROUNDING * _size(Theta, Sigma))


def radius(gap: float) -> float:
    r"""Solve :math:`\log(1 + r) - r / (1 + r) = G` for :math:`r`, rounded up.

    Examples
    --------
    >>> from edgewise.solvers.gaussian.decided import radius
    >>> round(radius(5e-9), 6)
    0.0001
    """
    if not gap < 500.0:
        return np.inf
    low, high = 0.0, float(np.sqrt(2.0 * gap))
    while _excess(high) < gap:
        low, high = high, 2.0 * high
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _excess(middle) < gap else (low, middle)
    return high


def _excess(r: float) -> float:
    """Return what a step of ``r`` costs at least; a series where it would cancel."""
    if r < 1e-3:
        return r * r * (0.5 - r * (2.0 / 3.0 - 0.75 * r + 0.8 * r * r))
    return float(np.log1p(r)) - r / (1.0 + r)


@kernel
def _size(Theta: FloatArray, Sigma: FloatArray) -> float:
    """Bound what a relative error of one in the entries of a Cholesky factor moves a gap by."""
    p = Theta.shape[0]
    root = np.sqrt(np.diag(Theta))
    total = 0.0
    for i in range(p):
        row = Sigma[i]
        part = 0.0
        for j in range(p):
            part += abs(row[j]) * root[j]
        total += root[i] * part
    return total


@kernel
def _decide(
    form: StandardForm, Theta: FloatArray, Sigma: FloatArray, reach: float, decided: BoolArray
) -> int:
    """Compare each entry with the walls that it may reach; return how many pairs may.

    The marks are written to ``decided`` unless that is empty.
    """
    S, p = form.S, form.scale.size
    t = np.empty(p)
    half = 0.5 * reach * reach
    n_open = 0
    for i in range(p):
        fill_thresholds(i, form, t)
        s, sigma, theta = S[i], Sigma[i], Theta[i]
        for j in range(i):
            x = theta[j]
            if x != 0.0:
                is_known = x * x > half * (theta[i] * Theta[j, j] + x * x)
            elif t[j] == np.inf:
                is_known = True
            else:
                # The clipped inverse has a diagonal of ones.
                w = min(max(sigma[j], s[j] - t[j]), s[j] + t[j])
                room = t[j] - abs(w - s[j])
                is_known = room > 0.0 and room * room > half * (1.0 + w * w)
            n_open += not is_known
            if decided.size:
                decided[i, j] = decided[j, i] = is_known
        if decided.size:
            decided[i, i] = True
    return n_open
