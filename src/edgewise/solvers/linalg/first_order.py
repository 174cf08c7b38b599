r"""First-order methods: alternating directions, and projected gradients over balls.

Alternating directions (ADMM) are for likelihoods with a penalty that splits off. The precision is
:math:`\Omega` for the likelihood and :math:`Z` for the penalty :math:`g`, tied by scaled
multipliers :math:`U` and a penalty parameter :math:`\mu`. An iteration is

.. math::
    \Omega = \arg\min f(\Omega) + \tfrac{\mu}{2} \|\Omega - Z + U\|^2, \qquad
    H = a \Omega + (1 - a) Z + U, \qquad Z \gets \operatorname{prox}_{g / \mu}(H), \qquad
    U \gets H - Z,

with over-relaxation :math:`a` (Boyd et al. 2011, section 3.4). The parameter :math:`\mu` balances
the relative residuals at first and is then left alone: convergence is proved for a fixed one.
:math:`\mu U` is a subgradient of :math:`g`, hence a feasible dual point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from edgewise._core.errors import SolverError
from edgewise._core.typing import FloatArray, IntArray

#: A precision of standardised variables beyond this says that the likelihood has no maximum.
UNBOUNDED = 1e12
#: How far off the balance may be, and the largest change at a time.
TOLERATED, LARGEST_CHANGE = 1.6, 5.0

#: Squared norms of the primal residual, of the change of Z, of Z and of U.
Residuals = tuple[float, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How often to look at the residuals, and how to balance them.

    Attributes
    ----------
    interval : int
        Iterations between two looks at the gap and at the residuals.
    tuning : int
        Iterations during which the penalty parameter may change.
    balance : float
        Relative primal over relative dual residual at which the gap falls fastest, by trial.
    """

    interval: int
    tuning: int
    balance: float


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitState:
    """Copies ``Z`` of the precision, multipliers ``Y`` in units of the covariance, parameter."""

    Z: FloatArray
    Y: FloatArray
    mu: float


@dataclass(kw_only=True, eq=False)
class Bracket:
    """Best precision, its objective, the largest dual bound, and the gap at each look."""

    Theta: FloatArray
    objective: float
    bound: float = -np.inf
    gaps: list[float] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Duality gap."""
        return self.objective - self.bound

    def narrow(self, Theta: FloatArray, objective: float, bound: float) -> float:
        """Take in another primal and dual point; return the gap."""
        if objective < self.objective:
            self.Theta, self.objective = Theta, objective
        self.bound = max(self.bound, bound)
        self.gaps.append(self.gap)
        return self.gap


def alternate(
    step: Callable[[float], tuple[FloatArray, Residuals]],
    is_done: Callable[[FloatArray, float, int], bool],
    U: FloatArray | None,
    mu: float,
    max_iter: int,
    pace: Pace,
) -> tuple[int, float]:
    """Iterate until ``is_done``; return the number of iterations and the last parameter.

    Parameters
    ----------
    step : callable of mu
        One iteration, in place on Z and ``U``; returns Omega and the residuals.
    is_done : callable of Omega, mu and the number of iterations
        Look at the gap.
    U : ndarray or None
        Scaled multipliers, rescaled in place with the parameter; None where ``step`` does that.
    mu : float
        First penalty parameter.
    max_iter : int
        Most iterations.
    pace : Pace
        When to look, and how to balance.
    """
    count = 0
    for count in range(1, max_iter + 1):
        Omega, residuals = step(mu)
        if count % pace.interval and count < max_iter:
            continue
        if is_done(Omega, mu, count):
            break
        if count < pace.tuning:
            change = _change(*residuals, pace.balance)
            mu *= change
            if U is not None:
                U /= change
    return count, mu


def refuse_unbounded(largest: float) -> None:
    """Raise where the size of the precision shows that the likelihood has no maximum."""
    if largest > UNBOUNDED:
        raise SolverError(
            "The objective has no minimum: the covariance is singular on variables whose "
            "edges are free of penalty. Penalise them, or repair the covariance."
        )


def _change(primal: float, dual: float, size_Z: float, size_U: float, balance: float) -> float:
    """Return the factor for the penalty parameter."""
    if primal * size_U == 0.0 or dual * size_Z == 0.0:
        return 1.0
    ratio = float(np.sqrt(primal / size_Z * (size_U / dual))) / balance
    if 1.0 / TOLERATED < ratio < TOLERATED:
        return 1.0
    return float(np.clip(ratio**0.7, 1.0 / LARGEST_CHANGE, LARGEST_CHANGE))


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
