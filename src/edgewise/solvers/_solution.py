"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from edgewise._core.typing import AnyArray, FloatArray


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
        above the optimum. At least 0 up to rounding.
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


def sum_histories(histories: list[list[float]]) -> FloatArray:
    """Add up the gaps of all components at each check; one that is done keeps its last gap."""
    length = max((len(h) for h in histories), default=0)
    total = np.zeros(length)
    for gaps in histories:
        total += np.array(gaps + gaps[-1:] * (length - len(gaps)))
    return total
