"""Base class of the results of all solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from edgewise._core.typing import AnyArray, BoolArray, FloatArray

#: Share of the objective by which two sums that are equal may differ.
ROUNDING: Final = 1e-10
#: Iterations that may follow while pairs are undecided, as a multiple of those before.
DECIDE: Final = 1.5
#: Gap that is aimed at for pairs that are not decided, relative to the last and per variable.
CLOSER, LEAST_GAP = 1e-6, 1e-14


class Proof(Protocol):
    """The problem of a solution: what its gap proves of the optimum."""

    def decide(self, solution: Any) -> BoolArray:
        """Mark the entries whose presence, with their sign, or absence the gap proves."""
        ...


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
    decided : ndarray of bool or None
        Where the gap proves that the optimum has an entry, of the same sign, or has none, as
        ``value`` says. Looked at when it is first asked for; None where nothing is proven.
    """

    value: AnyArray
    objective: float
    gap: float
    n_iter: int
    converged: bool
    history: FloatArray = field(default_factory=lambda: np.empty(0))
    proof: Proof | None = field(default=None, repr=False)

    @cached_property
    def decided(self) -> BoolArray | None:
        """Where the optimum is proven to have an entry, or none, as ``value`` says."""
        return None if self.proof is None else self.proof.decide(self)

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


Solved = TypeVar("Solved", bound=Solution)


def go_on(first: Solved, again: Callable[[float, int], Solved], decide: float, size: int) -> Solved:
    """Solve on while pairs are undecided.

    Parameters
    ----------
    first : Solution
        What met the tolerance.
    again : callable of a gap and a number of iterations
        Solves on from there, until it reaches that gap.
    decide : float
        Iterations allowed, as a multiple of those of ``first``; 0 leaves it at that.
    size : int
        Number of variables, whose rounding no gap is below.
    """
    least, left = LEAST_GAP * size, int(np.ceil(decide * first.n_iter))
    if left == 0 or not first.converged or first.gap <= least:
        return first
    if first.decided is None or first.decided.all():
        return first
    # One far look, at which hardly a pair is left open, costs less than several.
    further = again(max(CLOSER * first.gap, least), left)
    if not further.gap < first.gap:
        return first
    history = np.concatenate([first.history, further.history])
    n_iter = first.n_iter + further.n_iter
    return replace(further, n_iter=n_iter, history=history, converged=True)


def sum_histories(histories: list[list[float]]) -> FloatArray:
    """Add up the gaps of all components at each check; one that is done keeps its last gap."""
    length = max((len(h) for h in histories), default=0)
    total = np.zeros(length)
    for gaps in histories:
        total += np.array(gaps + gaps[-1:] * (length - len(gaps)))
    return total
