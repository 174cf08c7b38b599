r"""Alternating directions (ADMM) for likelihoods with a penalty that splits off.

The precision is :math:`\Omega` for the likelihood and :math:`Z` for the penalty :math:`g`, tied by
scaled multipliers :math:`U` and a penalty parameter :math:`\mu`. An iteration is

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
from edgewise._core.typing import FloatArray

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
    U: FloatArray,
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
    U : ndarray
        Scaled multipliers.
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
