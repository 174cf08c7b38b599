"""Larger problems with constant blocks, where local constancy has something to gain."""

from __future__ import annotations

from math import prod

import numpy as np

from edgewise.data import block_model, neighbor_pairs, sample_gaussian
from edgewise.reproduce.space.contour import GRAPHICAL_LASSO, LOCALLY_CONSTANT
from edgewise.reproduce.space.methods import (
    TUNING_TOL,
    best,
    count_unconverged,
    divergences,
    fit_graphical_lasso,
    fit_locally_constant,
    grid_for,
    measures,
    refine,
    second_moments,
)
from edgewise.reproduce.study import Part, Row

#: Shape of the sites and side of the boxes; six pairs of boxes each.
PROBLEMS = {"grid 10x10": ((10, 10), 3), "path 60": ((60,), 6)}
SAMPLES = (30, 100, 400)


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets, and how fine their grids are."""
    return [
        {
            "problem": problem,
            "n_samples": n_samples,
            "repetition": repetition,
            "per_decade": 2 if quick else 4,
        }
        for repetition in range(1 if quick else 5)
        for n_samples in ((100,) if quick else SAMPLES)
        for problem in PROBLEMS
    ]


def run_task(
    rng: np.random.Generator, *, problem: str, n_samples: int, repetition: int, per_decade: int
) -> list[Row]:
    """Draw a truth and data from it, and tune both methods as an oracle would."""
    shape, size = PROBLEMS[problem]
    of_truth, of_rows = rng.spawn(2)
    truth = block_model(shape, n_blocks=6, size=size, rng=of_truth).precision
    S = second_moments(sample_gaussian(truth, n_samples, of_rows))
    grid = grid_for(S, per_decade=per_decade)
    pairs = neighbor_pairs(shape, prod(shape))
    rows = []
    for name, fits in (
        (GRAPHICAL_LASSO, fit_graphical_lasso(S, grid, tol=TUNING_TOL)),
        (LOCALLY_CONSTANT, fit_locally_constant(S, grid, pairs, tol=TUNING_TOL)),
    ):
        fit = refine(S, best(fits, -divergences(fits, truth)), pairs)
        about = {"method": name, "tuning": "oracle", "unconverged": count_unconverged([*fits, fit])}
        rows.append(about | measures(fit, truth))
    return rows


PART = Part(name="blocks", tasks=list_tasks, run=run_task)
