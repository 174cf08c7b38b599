"""Base class of the results of all solvers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from edgewise._core.typing import AnyArray, FloatArray

#: Share of the objective by which two sums that are equal may differ.
ROUNDING: Final = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Solution:
    """Result of one numerical problem, with the certificate of its quality.

    Attributes
    ----------
    value : ndarray
        The solution array.
    objective : float
        Objective at ``value``.
    gap : float
        Duality gap at a feasible dual point, in objective units: ``value`` is at most this far
        above the optimum. Never below 0.
    n_iter : int
        Iterations of the outer loop.
    converged : bool
        Whether the gap fell below the tolerance asked for.
    history : ndarray
        Gap (convex problems) or objective (others) at each check, first to last.
    """

    value: AnyArray
    objective: float
    gap: float
    n_iter: int
    converged: bool
    history: FloatArray = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        """Report a gap that came out below 0 by its size, which is what rounding makes of it.

        The objective is then wrong by as much at least. What is more than rounding speaks against
        the certificate, and is no convergence.
        """
        if self.gap < 0.0:
            is_rounding = -self.gap <= ROUNDING * max(1.0, abs(self.objective))
            if len(self.history) and self.history[-1] == self.gap:
                object.__setattr__(self, "history", np.abs(self.history))
            object.__setattr__(self, "converged", self.converged and is_rounding)
            object.__setattr__(self, "gap", -self.gap)


def sum_histories(histories: list[list[float]]) -> FloatArray:
    """Add up the gaps of all components at each check; one that is done keeps its last gap."""
    length = max((len(h) for h in histories), default=0)
    total = np.zeros(length)
    for gaps in histories:
        total += np.array(gaps + gaps[-1:] * (length - len(gaps)))
    return total
