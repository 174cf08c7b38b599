"""A log density ratio along a path: what a search, a path and a score take of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers import RatioSolution


class RatioModel(NamedTuple):
    """What scoring rows takes of a fit."""

    theta: FloatArray
    features: dict[str, Any]


@dataclass(frozen=True)
class RatioFit:
    """A log ratio with the features it is linear in."""

    solution: RatioSolution
    features: dict[str, Any]

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @property
    def theta(self) -> FloatArray:
        """Coefficients of all pairs."""
        return np.asarray(self.solution.value)

    @cached_property
    def change(self) -> FloatArray:
        """The coefficient of each pair, or the length of its vector of coefficients."""
        if self.theta.shape[2] == 1:
            return self.theta[:, :, 0]
        # The features of (u, v) and (v, u) stand in another order, and so round differently.
        length = np.triu(np.sqrt(np.sum(self.theta**2, axis=2)))
        return np.asarray(np.maximum(length, length.T))

    @property
    def adjacency(self) -> BoolArray:
        """Which pairs change."""
        joined: BoolArray = self.change != 0
        np.fill_diagonal(joined, False)
        return joined
