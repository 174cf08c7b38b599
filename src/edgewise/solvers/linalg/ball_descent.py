"""Projected gradients over a product of balls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import FloatArray, IntArray

#: A step must reach this share of the decrease that the slope promises.
ARMIJO = 1e-4
#: Range of the step along the negative gradient.
STEPS = (1e-10, 1e10)
#: A line search that gets this short has met the rounding of the function.
SHORTEST = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class Balls:
    """A product of balls, each over some of the coordinates.

    Attributes
    ----------
    member : ndarray of shape (k,)
        Ball that each coordinate belongs to.
    centre : ndarray of shape (k,)
    radius : ndarray of shape (n_balls,)
    """

    member: IntArray
    centre: FloatArray
    radius: FloatArray

    def project(self, z: FloatArray) -> FloatArray:
        """Nearest point of the set: each ball draws its part in towards its centre."""
        away = z - self.centre
        length = self._lengths(away)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(length > self.radius, self.radius / length, 1.0)
        return np.asarray(self.centre + away * share[self.member])

    def gap(self, z: FloatArray, gradient: FloatArray) -> float:
        r"""Largest decrease that the gradient promises anywhere in the set.

        .. math:: \max_v \; g^\top (z - v)

        is 0 at stationary points only, and bounds the distance to the optimum where the function
        is convex.
        """
        inner = float(gradient @ (z - self.centre))
        return inner + float(self.radius @ self._lengths(gradient))

    def _lengths(self, values: FloatArray) -> FloatArray:
        squares = np.bincount(self.member, weights=values**2, minlength=len(self.radius))
        return np.sqrt(squares)


@dataclass(frozen=True, kw_only=True, eq=False)
class Minimum:
    """Where `minimize_over_balls` stopped; ``history`` is the value after each iteration."""

    z: FloatArray
    value: float
    gap: float
    history: list[float]
    converged: bool


def minimize_over_balls(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    balls: Balls,
    z: FloatArray,
    *,
    tol: float,
    max_iter: int,
) -> Minimum:
    r"""Go downhill from a point until the largest promised decrease is below a tolerance.

    Each iteration projects a gradient step onto the set and searches the segment to there; the
    length of the step is that of Barzilai and Borwein [1]_. Every iteration lowers the value.

    Parameters
    ----------
    function : callable
        Returns value and gradient at a point.
    balls : Balls
        The set.
    z : ndarray
        Start.
    tol : float
        Bound on `Balls.gap`.
    max_iter : int

    Returns
    -------
    Minimum

    References
    ----------
    .. [1] Birgin, Martínez and Raydan (2000). Nonmonotone spectral projected gradient methods on
       convex sets. *SIAM Journal on Optimization* 10(4).
       https://doi.org/10.1137/S1052623497330963
    """
    z = balls.project(z)
    value, gradient = function(z)
    history = [value]
    step = 1.0 / max(float(np.abs(gradient).max(initial=0.0)), STEPS[0])
    while (gap := balls.gap(z, gradient)) > tol and len(history) <= max_iter:
        direction = balls.project(z - step * gradient) - z
        found = _search_segment(function, z, value, gradient, direction)
        if found is None:
            break
        new, value, new_gradient = found
        moved, turned = new - z, new_gradient - gradient
        curvature = float(moved @ turned)
        longest = STEPS[1] if curvature <= 0 else float(moved @ moved) / curvature
        step = min(max(longest, STEPS[0]), STEPS[1])
        z, gradient = new, new_gradient
        history.append(value)
    return Minimum(z=z, value=value, gap=gap, history=history, converged=gap <= tol)


def _search_segment(
    function: Callable[[FloatArray], tuple[float, FloatArray]],
    z: FloatArray,
    value: float,
    gradient: FloatArray,
    direction: FloatArray,
) -> tuple[FloatArray, float, FloatArray] | None:
    """Find a lower point between z and z + direction; None where rounding hides any."""
    slope = float(gradient @ direction)
    share = 1.0
    while slope < 0 and share > SHORTEST:
        new = z + share * direction
        new_value, new_gradient = function(new)
        if new_value <= value + ARMIJO * share * slope:
            return new, new_value, new_gradient
        # Minimum of the parabola through what is known, kept away from both ends.
        bend = 2 * (new_value - value - share * slope)
        best = -slope * share**2 / bend if bend > 0 else 0.5 * share
        share = min(max(best, 0.1 * share), 0.5 * share)
    return None
