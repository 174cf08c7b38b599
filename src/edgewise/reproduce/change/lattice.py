"""Lattices of two sizes: how often exactly the edges that changed are found."""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise.data import lattice_change
from edgewise.metrics import edge_metrics
from edgewise.reproduce._study import Part, Row
from edgewise.solvers import density_ratio

SIZES: Final = (64, 100)
#: Rows of each group in units of the logarithm of the number of variables.
RATIOS: Final = (40, 60, 80, 100, 125, 150)
#: alpha in units of the square root of log(number of variables) / rows.
FACTORS: Final = (2.0, 2.5)
#: Largest duality gap per variable; what is zero does not change below it.
TOL: Final = 1e-6


def list_tasks(quick: bool) -> list[Row]:
    """List sizes of lattices and of data sets, with how many of these are drawn."""
    return [
        {"n_features": n_features, "ratio": ratio, "n_runs": 20 if quick else 200}
        for ratio in (RATIOS[1::2] if quick else RATIOS)
        for n_features in SIZES
    ]


def run_task(rng: np.random.Generator, *, n_features: int, ratio: float, n_runs: int) -> list[Row]:
    """Draw data sets, and count on how many the edges found are those that changed."""
    n_samples = round(ratio * np.log(n_features))
    errors = np.empty((n_runs, len(FACTORS), 2))
    for run, stream in enumerate(rng.spawn(n_runs)):
        data = lattice_change(n_features, n_samples, rng=stream)
        for column, factor in enumerate(FACTORS):
            alpha = factor * np.sqrt(np.log(n_features) / n_samples)
            found = density_ratio(data.second, data.first, alpha, ridge=0.0, tol=TOL)
            edges = edge_metrics(data.changed, found.value[:, :, 0])
            errors[run, column] = edges.fn, edges.fp
    return [
        {
            "n_samples": n_samples,
            "factor": factor,
            "success": float(np.mean(errors[:, column].sum(axis=1) == 0)),
            "missed": float(errors[:, column, 0].mean()),
            "false": float(errors[:, column, 1].mean()),
        }
        for column, factor in enumerate(FACTORS)
    ]


PART = Part(name="lattice", tasks=list_tasks, run=run_task)
