"""Nine variables on an open contour: how close each method comes to a truth that is known."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.data import contour_model, neighbor_pairs, sample_gaussian
from edgewise.data.simulate.space import ContourKind
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.space.methods import (
    Fit,
    Method,
    fit_full,
    fit_graphical_lasso,
    fit_independent,
    fit_locally_constant,
    fit_regressions,
    fit_regressions_refitted,
    grid_for,
)
from edgewise.reproduce.space.tuning import measures, second_moments, split, tune
from edgewise.solvers import difference_penalized

LOCALLY_CONSTANT = "locally constant"
GRAPHICAL_LASSO = "graphical lasso"
COVARIANCE_SELECTION = "covariance selection"
REFITTED = "Meinshausen-Bühlmann, refitted"
REGRESSIONS = "Meinshausen-Bühlmann, raw"
FULL = "full, with a ridge"
INDEPENDENT = "independent, with a ridge"
#: In the order of the tables.
METHODS = (
    LOCALLY_CONSTANT,
    GRAPHICAL_LASSO,
    COVARIANCE_SELECTION,
    REFITTED,
    REGRESSIONS,
    FULL,
    INDEPENDENT,
)
N_VARIABLES = 9
SAMPLES = (4, 400)
TRUTHS: Final[tuple[ContourKind, ...]] = ("two-blocks", "one-block")
#: Partial correlations below this are zeros that the dual solver reached only approximately.
ZERO = 1e-4


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets, and how fine their grids are."""
    return [
        {"truth": truth, "n_samples": n_samples, "repetition": repetition, "per_decade": per_decade}
        for per_decade, n_repetitions in [(1, 6) if quick else (4, 50)]
        for repetition in range(n_repetitions)
        for truth in TRUTHS
        for n_samples in SAMPLES
    ]


def run_task(
    rng: np.random.Generator,
    *,
    truth: ContourKind,
    n_samples: int,
    repetition: int,
    per_decade: int,
) -> list[Row]:
    """Draw one data set and tune every method on it, as an oracle would and by held-out rows."""
    model = contour_model(truth)
    X = sample_gaussian(model.precision, n_samples, rng)
    # Of four rows, one at a time is left out.
    folds = split(n_samples, min(n_samples, 5), rng)
    S = second_moments(X)
    grid = grid_for(S, per_decade=per_decade)
    rows = []
    for name, method in _methods():
        tuned = tune(method, X, model.precision, grid, folds)
        for tuning, fit in (("oracle", tuned.oracle), ("cv", tuned.cross_validated)):
            about = {"tuning": tuning, "unconverged": tuned.n_unconverged}
            rows.append({"method": name, **about, **measures(fit, model.precision)})
            if name == GRAPHICAL_LASSO:
                rows.append(about | covariance_selection(S, fit, model.precision))
    return rows


def covariance_selection(S: FloatArray, lasso: Fit, truth: FloatArray) -> Row:
    """Solve the problem of a graphical lasso fit by the other route, and tell how far apart.

    Covariance selection looks for the covariance of largest determinant in a box around S. That
    is the dual of the graphical lasso: one optimum, two solvers. Its tuning is therefore that of
    the graphical lasso.
    """
    no_differences = np.zeros((1, len(S)))
    solution = difference_penalized(S, lasso.settings["alpha"], 0.0, no_differences, tol=1e-9)
    scale = np.sqrt(solution.value.diagonal())
    adjacency = np.abs(solution.value) > ZERO * np.outer(scale, scale)
    np.fill_diagonal(adjacency, False)
    fit = Fit(precision=solution.value, adjacency=adjacency, settings=lasso.settings)
    return {
        "method": COVARIANCE_SELECTION,
        "unconverged": int(not solution.converged),
        **measures(fit, truth),
        "difference": float(np.abs(solution.value - lasso.precision).max()),
    }


def _methods() -> Iterator[tuple[str, Method]]:
    pairs = neighbor_pairs("chain", N_VARIABLES)
    yield LOCALLY_CONSTANT, partial(fit_locally_constant, pairs=pairs, tol=1e-6)
    yield GRAPHICAL_LASSO, partial(fit_graphical_lasso, tol=1e-6)
    yield REFITTED, fit_regressions_refitted
    yield REGRESSIONS, fit_regressions
    yield FULL, fit_full
    yield INDEPENDENT, fit_independent


PART = Part(name="contour", tasks=list_tasks, run=run_task)
