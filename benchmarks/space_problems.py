"""The locally constant problems: correlations of blocks on a grid, with their penalties."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.certificate import fused_bound, fused_objective
from benchmarks.measure import THRESHOLD
from benchmarks.problems import sample_correlation
from edgewise.data import make_block_model, neighbor_pairs
from edgewise.solvers import locally_constant

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: The solve that the bound on the optimum is taken from is this much more accurate.
TIGHT = 1e-3
FOUR = ((0.1, 0.02), (0.1, 0.1), (0.03, 0.03), (0.01, 0.1))


@dataclass(frozen=True)
class Recipe:
    """A grid, its samples, the penalties ``(alpha, tau)``, and the CPU seconds aimed at."""

    shape: tuple[int, ...]
    n: int
    strengths: tuple[tuple[float, float], ...] = FOUR
    goal: float = math.inf
    n_blocks: int = 8

    @property
    def name(self) -> str:
        """Shape in words."""
        return ("path " if len(self.shape) == 1 else "grid ") + "x".join(map(str, self.shape))


@dataclass(frozen=True)
class Plan:
    """Problems of each table."""

    solve: tuple[Recipe, ...]
    cvxpy: Recipe
    path: tuple[Recipe, ...]
    screening: Recipe


FULL = Plan(
    solve=(
        Recipe((50,), 100, goal=0.05),
        Recipe((10, 10), 200, goal=0.6),
        Recipe((20, 20), 200, goal=2.5),
        Recipe((8, 8, 6), 100, ((0.1, 0.05), (0.02, 0.05)), goal=30.0),
    ),
    cvxpy=Recipe((50,), 100),
    path=(Recipe((50,), 100), Recipe((10, 10), 200), Recipe((20, 20), 200)),
    screening=Recipe((20, 20), 400, ((0.3, 0.02), (0.2, 0.02), (0.15, 0.02)), n_blocks=4),
)
QUICK = Plan(
    solve=(
        Recipe((50,), 100, goal=0.05),
        Recipe((6, 6), 72, n_blocks=3),
        Recipe((6, 4, 3), 100, n_blocks=1),
    ),
    cvxpy=Recipe((20,), 40, FOUR[:2], n_blocks=3),
    path=(Recipe((50,), 100),),
    screening=Recipe((10, 10), 400, ((0.3, 0.02),), n_blocks=2),
)


@dataclass(frozen=True, eq=False)
class Problem:
    """A drawn problem."""

    name: str
    n: int
    S: FloatArray
    pairs: IntArray

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.S)

    def bound(self, alpha: float, tau: float) -> float:
        """Lower bound on the optimum and close to it, which holds by the certificate alone."""
        near = locally_constant(self.S, alpha, tau, self.pairs, tol=TIGHT * THRESHOLD)
        return fused_bound(self.S, near.value, alpha, tau, self.pairs)

    def excess(self, omega: FloatArray, alpha: float, tau: float, bound: float) -> float:
        """Objective above ``bound``."""
        return fused_objective(self.S, omega, alpha, tau, self.pairs) - bound


def draw(recipe: Recipe) -> Problem:
    """Draw a sample correlation matrix of blocks on a grid; the same one every time."""
    rng = np.random.default_rng(zlib.crc32(recipe.name.encode()))
    model = make_block_model(recipe.shape, n_blocks=recipe.n_blocks, rng=rng)
    S = sample_correlation(model.precision, recipe.n, rng)
    return Problem(recipe.name, recipe.n, S, neighbor_pairs(recipe.shape, len(S)))
