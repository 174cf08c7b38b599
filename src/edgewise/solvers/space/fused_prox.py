r"""The proximal map of the fused lasso on a path, exactly and in linear time.

.. math::
    \min_b \; \tfrac12 \sum_k (b_k - y_k)^2 + \sum_k w_k |b_k|
    + \lambda \sum_k |b_{k+1} - b_k|

by dynamic programming (Johnson 2013). With :math:`h_k(b)` the smallest cost of the first
:math:`k` terms given :math:`b_k = b`, its derivative obeys

.. math::
    h_{k+1}'(b) = b - y_{k+1} + w_{k+1} \operatorname{sign} b
    + \operatorname{clip}(h_k'(b), -\lambda, \lambda),

a rising, piecewise linear function. It is held as a list of knots, from which clipping only ever
removes at the two ends, so that every knot is made and removed once. The absolute values add a jump
at 0, kept as one number beside the list. Clipping happens between :math:`t_k^-` and :math:`t_k^+`;
going back, :math:`b_k` is :math:`b_{k+1}` clipped to those. Ties and zeros are exact.

Where all :math:`w_k` are the same, the solution is that without them, soft-thresholded (Friedman,
Hastie, Höfling and Tibshirani 2007), and without weights there is no jump to look after, which
takes half the time.

References
----------
N. A. Johnson (2013), A dynamic programming algorithm for the fused lasso and L0-segmentation,
Journal of Computational and Graphical Statistics 22, 246-260.
https://doi.org/10.1080/10618600.2012.681238

J. Friedman, T. Hastie, H. Höfling and R. Tibshirani (2007), Pathwise coordinate optimization,
Annals of Applied Statistics 1, 302-332. https://doi.org/10.1214/07-AOAS131
"""

from __future__ import annotations

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray


@kernel
def fused_path(
    y: FloatArray,
    weight: FloatArray,
    strength: float,
    n: int,
    b: FloatArray,
    knot: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Solve for the first ``n`` entries of ``y`` into ``b``.

    ``knot``, ``slope`` and ``level`` are scratch of size 2 n + 2: where the derivative changes, and
    by how much its slope and level do, from left to right. ``low`` and ``high`` are scratch of
    size n for the ends of the clipped part.
    """
    first = n + 1
    last = n
    jump = 0.0
    edge = 0.0
    for k in range(n):
        # Left of all knots the derivative is x + left, right of them x + right.
        left = -edge - y[k] - weight[k]
        right = edge - y[k] + weight[k]
        jump += 2.0 * weight[k]
        target = strength if k < n - 1 else 0.0
        t, a, c, first, jump = _from_left(-target, left, jump, knot, slope, level, first, last)
        if k == n - 1:
            b[k] = t
            break
        low[k] = t
        first -= 1
        knot[first] = t
        slope[first] = a
        level[first] = c + strength
        t, a, c, last, jump = _from_right(target, right, jump, knot, slope, level, first, last)
        high[k] = t
        last += 1
        knot[last] = t
        slope[last] = -a
        level[last] = strength - c
        edge = strength
    for k in range(n - 2, -1, -1):
        b[k] = min(max(b[k + 1], low[k]), high[k])


@kernel
def fused_path_unweighted(
    y: FloatArray,
    strength: float,
    n: int,
    b: FloatArray,
    knot: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Solve as `fused_path` does where all weights are 0."""
    first = n + 1
    last = n
    edge = 0.0
    for k in range(n - 1):
        a = 1.0
        c = -edge - y[k]
        while first <= last and a * knot[first] + c < -strength:
            a += slope[first]
            c += level[first]
            first += 1
        low[k] = (-strength - c) / a
        first -= 1
        knot[first] = low[k]
        slope[first] = a
        level[first] = c + strength
        a = 1.0
        c = edge - y[k]
        while last > first and a * knot[last] + c > strength:
            a -= slope[last]
            c -= level[last]
            last -= 1
        # Never left of the other end, whatever rounding says.
        high[k] = max((strength - c) / a, low[k])
        last += 1
        knot[last] = high[k]
        slope[last] = -a
        level[last] = strength - c
        edge = strength
    a = 1.0
    c = -edge - y[n - 1]
    while first <= last and a * knot[first] + c < 0.0:
        a += slope[first]
        c += level[first]
        first += 1
    b[n - 1] = -c / a
    for k in range(n - 2, -1, -1):
        b[k] = min(max(b[k + 1], low[k]), high[k])


@kernel
def _from_left(
    target: float,
    level_left: float,
    jump: float,
    knot: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    first: int,
    last: int,
) -> tuple[float, float, float, int, float]:
    """Find where the derivative reaches ``target``, coming from the left.

    Returns the place, slope and level just right of it, the first knot that is left, and what is
    left of the jump at 0.
    """
    a = 1.0
    c = level_left
    while True:
        is_knot = first <= last
        if jump > 0.0 and (not is_knot or knot[first] >= 0.0):
            if c >= target:
                break
            c += jump
            if c >= target:
                # The level just right of 0 belongs to the jump, not to the knot made here.
                return 0.0, a, target, first, c - target
            jump = 0.0
        elif is_knot:
            if a * knot[first] + c >= target:
                break
            a += slope[first]
            c += level[first]
            first += 1
        else:
            break
    return (target - c) / a, a, c, first, jump


@kernel
def _from_right(
    target: float,
    level_right: float,
    jump: float,
    knot: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    first: int,
    last: int,
) -> tuple[float, float, float, int, float]:
    """Find where the derivative reaches ``target``, coming from the right; mirrors the above.

    The first knot is the left end of the clipped part, where the derivative is below ``target``.
    It is never passed, whatever rounding says.
    """
    a = 1.0
    c = level_right
    while True:
        is_knot = last > first
        if jump > 0.0 and (not is_knot or knot[last] <= 0.0):
            if c <= target:
                break
            c -= jump
            if c <= target:
                return 0.0, a, target, last, target - c
            jump = 0.0
        elif is_knot:
            if a * knot[last] + c <= target:
                break
            a -= slope[last]
            c -= level[last]
            last -= 1
        else:
            break
    return max((target - c) / a, knot[first]), a, c, last, jump
