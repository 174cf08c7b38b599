r"""Which edges of a graphical lasso are proven to be the optimum's.

A precision :math:`\Theta` with a duality gap :math:`G` is at most G above the optimum
:math:`\Theta^*` of a Gaussian likelihood with any convex penalty. Some subgradient of the penalty
at :math:`\Theta^*` balances the slope of the likelihood there, so that the Bregman distance of
:math:`-\log\det` is at most G as well,

.. math:: \sum_i h(e_i) \le G, \qquad h(x) = x - \log(1 + x),

with :math:`1 + e_i` the eigenvalues of :math:`\Theta^{*-1/2} \Theta\, \Theta^{*-1/2}`. They are
those of :math:`\Theta^{1/2} \Sigma^* \Theta^{1/2}` as well, and their inverses
:math:`1 + d_i` those of :math:`\Theta^{-1/2} \Theta^* \Theta^{-1/2}`, for which :math:`h(e) = k(d)
= \log(1 + d) - d / (1 + d)`. As functions of :math:`x^2`, both h and k are concave for positive
x and smaller there than for negative, so that a single positive one is the farthest that G pays
for:

.. math::
    \|\Theta^{-1/2} \Theta^* \Theta^{-1/2} - I\|_F \le r, \quad k(r) = G, \qquad
    \|\Theta^{1/2} \Sigma^* \Theta^{1/2} - I\|_F \le q, \quad h(q) = G.

An entry of :math:`A^{1/2} E A^{1/2}` with a symmetric E is the inner product of E with
:math:`(a_i a_j' + a_j a_i') / 2`, so that with :math:`\Sigma = \Theta^{-1}`

.. math::
    |\Theta^*_{ij} - \Theta_{ij}| \le r \sqrt{(\Theta_{ii} \Theta_{jj} + \Theta_{ij}^2) / 2}, \qquad
    |\Sigma^*_{ij} - \Sigma_{ij}| \le q \sqrt{(\Sigma_{ii} \Sigma_{jj} + \Sigma_{ij}^2) / 2}.

An entry larger than its radius is in the optimum's graph, with its sign. Where the radius keeps
:math:`\Sigma^*` off the walls :math:`|\Sigma_{ij} - S_{ij}| = t_{ij}`, the optimum has no edge.
With groups of weights :math:`w_k` the distances add up to
:math:`\sum_k w_k \sum_i h(e_{ki}) \le G`, and each group has the radii of :math:`G / w_k`.
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
        _decide(part, theta, sigma, *radii(theta, sigma, min(slack + bound, gap)), found)
        decided[np.ix_(index, index)] = found
    return decided


def is_decided(form: StandardForm, Theta: FloatArray, Sigma: FloatArray, gap: float) -> bool:
    """Whether all pairs of one component are."""
    reaches = radii(Theta, Sigma, gap)
    n_open: int = _decide(form, Theta, Sigma, *reaches, np.empty((0, 0), np.bool_))
    return n_open == 0


def radii(Theta: FloatArray, Sigma: FloatArray, gap: float) -> tuple[float, float]:
    """Radii of a precision and of its inverse, for a gap that may be off by its rounding."""
    gap = max(gap, 0.0) + ROUNDING * _size(Theta, Sigma)
    return radius(gap), radius(gap, of_inverse=True)


def radius(gap: float, *, of_inverse: bool = False) -> float:
    r"""Solve :math:`k(r) = G` for r, or :math:`h(q) = G` for the inverse; rounded up.

    Examples
    --------
    >>> from edgewise.solvers.gaussian.decided import radius
    >>> round(radius(5e-9), 6), round(radius(0.5), 3), round(radius(0.5, of_inverse=True), 3)
    (0.0001, 2.314, 1.358)
    """
    if not gap < 500.0:
        return np.inf
    cost = _cost_of_inverse if of_inverse else _cost
    low, high = 0.0, float(np.sqrt(2.0 * gap))
    while cost(high) < gap:
        low, high = high, 2.0 * high
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if cost(middle) < gap else (low, middle)
    return high


def _cost(r: float) -> float:
    """Return what a step of ``r`` costs at least; a series where it would cancel."""
    if r < 1e-3:
        return r * r * (0.5 - r * (2.0 / 3.0 - 0.75 * r + 0.8 * r * r))
    return float(np.log1p(r)) - r / (1.0 + r)


def _cost_of_inverse(q: float) -> float:
    """Return what a step of ``q`` of the inverse costs at least."""
    if q < 1e-3:
        return q * q * (0.5 - q * (1.0 / 3.0 - 0.25 * q + 0.2 * q * q))
    return q - float(np.log1p(q))


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
    form: StandardForm,
    Theta: FloatArray,
    Sigma: FloatArray,
    reach: float,
    reach_of_inverse: float,
    decided: BoolArray,
) -> int:
    """Compare each entry with the walls that it may reach; return how many pairs may.

    The marks are written to ``decided`` unless that is empty.
    """
    S, p = form.S, form.scale.size
    t = np.empty(p)
    half, half_of_inverse = 0.5 * reach * reach, 0.5 * reach_of_inverse * reach_of_inverse
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
                room = t[j] - abs(sigma[j] - s[j])
                size = sigma[i] * Sigma[j, j] + sigma[j] * sigma[j]
                is_known = room > 0.0 and room * room > half_of_inverse * size
            n_open += not is_known
            if decided.size:
                decided[i, j] = decided[j, i] = is_known
        if decided.size:
            decided[i, i] = True
    return n_open
