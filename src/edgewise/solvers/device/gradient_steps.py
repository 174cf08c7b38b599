"""Proximal gradient steps of precisions on arrays of any library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgewise._core.arrays import array_namespace
from edgewise._core.typing import FloatArray
from edgewise.solvers.linalg.dense import Factor, inner, squared_norm
from edgewise.solvers.linalg.first_order import EPSILON, Trial, weigh


@dataclass(frozen=True, kw_only=True, eq=False)
class ArraySteps:
    """Gradient steps on arrays of any library.

    Attributes
    ----------
    S : array of shape (K, p, p)
        Covariances of the groups.
    weights : ndarray of shape (K,)
        Weights of their likelihoods.
    shrink : callable of H and t
        Proximal map of t times the penalty.
    penalty : callable
        Penalty of precisions.
    """

    S: Any
    weights: FloatArray
    shrink: Callable[[Any, float], Any]
    penalty: Callable[[Any], float]

    def take(self, Theta: Any, Sigma: Any, t: float) -> Trial:
        """Try a step of size ``t``."""
        H = Theta - t * weigh(self.weights, self.S - Sigma)
        Z = self.shrink(H, t)
        found = [Factor.of(Z[k, ...]) for k in range(self.weights.size)]
        logdets = np.array([factor.log_determinant for factor in found])

        def invert() -> Any:
            return array_namespace(Z).stack([factor.inverse() for factor in found])

        if np.isinf(logdets).any():
            return Trial(Z, invert, np.inf, np.inf, H, np.inf)
        xp, weighted = array_namespace(Z), weigh(self.weights, self.S)
        penalty, likelihood = self.penalty(Z), float(self.weights @ logdets)
        value = inner(weighted, Z) + penalty - likelihood
        size = xp.abs(Z)
        sums = inner(xp.abs(H), size) / t + inner(xp.abs(weighted), size) + penalty
        rounding = EPSILON * (sums + abs(likelihood))
        return Trial(Z, invert, value, squared_norm(Z - Theta), weighted + (H - Z) / t, rounding)

    def turn(self, Theta: Any, Sigma: Any, Z: Any, after: Any) -> tuple[float, float]:
        """Return the product of a step and the change of the gradient, and its squared length."""
        change = weigh(self.weights, Sigma - after)
        return inner(Z - Theta, change), squared_norm(change)
