"""CPU time of the primal and of the dual problem against the number of variables."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Final

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.data import GaussianChange, gaussian_change
from edgewise.reproduce._study import Part, Row
from edgewise.solvers import density_ratio_path, ratio_alpha_max

N_SAMPLES: Final = 150
N_ALPHAS: Final = 20
RIDGE: Final = 0.1
#: Largest duality gap, the same for all sizes.
GAP: Final = 1e-6
PUBLISHED_SIZES: Final = (40, 50, 60, 70, 80)
SIZES: Final = (*PUBLISHED_SIZES, 120, 200, 500, 1000)
#: Variables from which on a quarter of all pairs leaves no positive definite precision.
MANY: Final = 100
#: Alphas: those of the paper, at most of which nearly every pair changes, and a sparse range.
PUBLISHED: Final = "published"
SPARSE: Final = "sparse"
#: The most variables for which the primal is solved.
LARGEST_PRIMAL: Final = {PUBLISHED: 80, SPARSE: 200}
SOLVERS: Final = ("dual", "primal")


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    return [
        {"n_features": n_features, "repetition": repetition}
        for repetition in range(1 if quick else 3)
        for n_features in ((*PUBLISHED_SIZES[::2], 200) if quick else SIZES)
    ]


def run_task(
    rng: np.random.Generator,
    *,
    n_features: int,
    repetition: int,
    n_samples: int = N_SAMPLES,
    largest_primal: Mapping[str, int] = LARGEST_PRIMAL,
) -> list[Row]:
    """Time both problems along both ranges of alpha."""
    compile_kernels()
    many = n_features >= MANY
    data = gaussian_change(n_features, n_samples, n_neighbors=10 if many else None, rng=rng)
    rows = []
    for name, alphas in ranges(data).items():
        for solver in SOLVERS:
            if solver == "primal" and n_features > largest_primal[name]:
                continue
            start = time.process_time()
            pairs = solve(data, alphas, solver)
            seconds = time.process_time() - start
            rows.append({"range": name, "solver": solver, "seconds": seconds, "pairs": pairs})
    return rows


def ranges(data: GaussianChange) -> dict[str, FloatArray]:
    """Alphas of both ranges, from large to small."""
    largest = ratio_alpha_max(data.second, data.first, ridge=RIDGE)
    return {
        PUBLISHED: np.logspace(0, -4, N_ALPHAS),
        SPARSE: np.geomspace(largest, largest / 5, N_ALPHAS),
    }


def solve(data: GaussianChange, alphas: FloatArray, solver: str) -> int:
    """Solve along the alphas, and count the pairs that change at the last one."""
    *_, last = density_ratio_path(
        data.second, data.first, alphas, ridge=RIDGE, solver=solver, tol=GAP / data.n_features
    )
    return int(np.count_nonzero(np.triu(last.value[:, :, 0], 1)))


@cache
def compile_kernels() -> None:
    """Let both solvers run once, so that no compilation is timed."""
    data = gaussian_change(20, 50, n_changed=2, rng=0)
    for alphas in ranges(data).values():
        for solver in SOLVERS:
            solve(data, alphas, solver)


PART = Part(name="times", tasks=list_tasks, run=run_task)
