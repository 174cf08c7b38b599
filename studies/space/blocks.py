"""Larger problems with constant blocks, where local constancy has something to gain."""

from __future__ import annotations

from math import prod
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise.data import GaussianModel, make_block_model, neighbor_pairs
from studies import tables
from studies.figures import curve, numbered_log, panels, plain_log
from studies.space import methods
from studies.study import Part, Report, Row, combinations

#: Shape of the sites and side of the boxes; six pairs of boxes each.
PROBLEMS = {"grid 10x10": ((10, 10), 3), "path 60": ((60,), 6)}
SAMPLES = (30, 100, 400)


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets, and how fine their grids are."""
    n_repetitions, samples, per_decade = (1, (100,), 2) if quick else (5, SAMPLES, 4)
    return combinations(
        problem=PROBLEMS,
        n_samples=samples,
        repetition=range(n_repetitions),
        per_decade=[per_decade],
    )


def run_task(
    rng: np.random.Generator, *, problem: str, n_samples: int, repetition: int, per_decade: int
) -> list[Row]:
    """Draw a truth and data from it, and tune both methods as an oracle would."""
    shape, size = PROBLEMS[problem]
    of_truth, of_rows = rng.spawn(2)
    truth = make_block_model(shape, n_blocks=6, size=size, rng=of_truth).precision
    S = methods.second_moments(GaussianModel.from_precision(truth).sample(n_samples, of_rows))
    grid = methods.grid_for(S, per_decade=per_decade)
    pairs = neighbor_pairs(shape, prod(shape))
    rows = []
    for name, fits in methods.fit_both(S, grid, pairs).items():
        fit = methods.refine(S, methods.best(fits, -methods.divergences(fits, truth)), pairs)
        about = {
            "method": name,
            "tuning": "oracle",
            "unconverged": methods.count_unconverged([*fits, fit]),
        }
        rows.append(about | methods.measures(fit, truth))
    return rows


#: Rows at which the two methods are compared in words.
COMPARED_SAMPLES: Final = 100


def report(frame: pd.DataFrame) -> Report:
    """Set the KL of both methods side by side, by problem and number of rows."""
    rows, at_size = [], {}
    for problem in PROBLEMS:
        for n_samples, part in tables.rows_of(frame, problem=problem).groupby("n_samples"):
            kl = tables.grouped(part, ["method"], "kl")
            ratio = (
                f"{kl[methods.LOCALLY_CONSTANT].mean() / kl[methods.GRAPHICAL_LASSO].mean():.2f}"
            )
            if n_samples == COMPARED_SAMPLES:
                at_size[problem] = ratio
            cells = [
                tables.mean_and_error(kl[name])
                for name in (methods.GRAPHICAL_LASSO, methods.LOCALLY_CONSTANT)
            ]
            rows.append([problem, str(n_samples), *cells, ratio])
    header = ["problem", "rows", "KL, graphical lasso", "KL, locally constant", "ratio"]
    text = tables.fill(
        __package__,
        "blocks",
        table=tables.markdown_table(header, rows),
        n_samples=COMPARED_SAMPLES,
        ratios=tables.listed(at_size, " and "),
    )
    return Report(text)


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """KL against the number of rows, both methods, one panel per problem."""
    figure, (axes,) = panels(1, len(PROBLEMS), (8.4, 3.8))
    for ax, problem in zip(axes, PROBLEMS, strict=True):
        part = tables.rows_of(frame, problem=problem)
        rows = sorted(part["n_samples"].unique())
        for method in (methods.GRAPHICAL_LASSO, methods.LOCALLY_CONSTANT):
            kl = [tables.rows_of(part, method=method, n_samples=n)["kl"] for n in rows]
            curve(ax, rows, kl, label=method, **methods.LOOK[method])
        numbered_log(ax, rows)
        ax.set(yscale="log", title=problem, xlabel="rows")
        plain_log(ax.yaxis)
    axes[0].set_ylabel("KL from the truth (nats), oracle tuning")
    axes[0].legend()
    return {"blocks-kl": figure}


PART = Part(name="blocks", tasks=list_tasks, run=run_task, report=report, figures=draw)
