"""Where the published descent stops short of the optimum, measured against a certified one."""

from __future__ import annotations

from math import prod

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise._core.typing import FloatArray, IntArray
from edgewise.data import make_block_model, make_gaussian_graph, neighbor_pairs
from edgewise.solvers import locally_constant
from studies.figures import BLUE, GREEN, VERMILION, numbered_log, panels, percent
from studies.space.methods import second_moments
from studies.study import Claim, Part, Report, Row, combinations
from studies.tables import fill, markdown_table, rows_of

#: Strength of local constancy in units of that of sparsity.
RATIOS = (0.1, 0.3, 1.0, 3.0, 10.0)
#: Objective above the optimum, in nats, from which a run counts as stalled.
LEVELS = (1e-6, 1e-3, 1e-2)
#: Gap per variable of the reference; far below the smallest of the levels.
REFERENCE_TOL = 1e-9
#: The descent runs on until a sweep gains no more than this per variable, or for so many sweeps,
#: so that what is slow does not count as stalled.
STANDSTILL = 1e-12
MOST_SWEEPS = 20_000
#: Per variable, what is left when a descent has practically come to its end.
LITTLE = 1e-6
#: Iterations that the paper says are usual.
USUAL = 10
#: Neighbourhoods with the shape of their sites.
NEIGHBORHOODS: dict[str, tuple[int, ...]] = {
    "path": (8, 12),
    "ring": (8, 12),
    "grid 3x3": (3, 3),
    "grid 3x4": (3, 4),
}
#: Stands for the neighbourhood of the problem with a known answer.
GOLDEN = "golden"
#: The optimum of the golden problem in closed form, and its value at the best diagonal matrix.
GOLDEN_OPTIMUM = 14.6333678568
GOLDEN_DIAGONAL = 14.6830622984


def list_tasks(quick: bool) -> list[Row]:
    """List random problems, how often each neighbourhood is drawn, and the golden problem."""
    drawn = combinations(neighborhood=NEIGHBORHOODS, repetition=range(3 if quick else 25))
    return [*drawn, {"neighborhood": GOLDEN, "repetition": 0}]


def run_task(rng: np.random.Generator, *, neighborhood: str, repetition: int) -> list[Row]:
    """Draw a problem, and solve it by descent and to the optimum for each ratio.

    Nothing is drawn of the golden problem, which has one ratio.
    """
    if neighborhood == GOLDEN:
        S, alpha, tau, pairs = golden_problem()
        return [{"ratio": tau / alpha, **compare(S, alpha, tau, pairs)}]
    S, pairs = draw_problem(rng, neighborhood)
    alpha = float(np.exp(rng.uniform(np.log(0.003), np.log(0.2))))
    return [{"ratio": ratio, **compare(S, alpha, ratio * alpha, pairs)} for ratio in RATIOS]


def draw_problem(rng: np.random.Generator, neighborhood: str) -> tuple[FloatArray, IntArray]:
    """Draw a truth with or without blocks, and correlations of few, some or many rows."""
    sizes = NEIGHBORHOODS[neighborhood]
    is_grid = neighborhood.startswith("grid")
    shape = sizes if is_grid else (int(rng.integers(sizes[0], sizes[1] + 1)),)
    n_variables = prod(shape)
    if rng.random() < 0.5:
        # Runs of two neighbours: there is no room for two boxes on the smallest grid.
        truth = make_block_model((n_variables,), n_blocks=2, size=2, rng=rng)
    else:
        truth = make_gaussian_graph(n_variables, rng=rng)
    n_samples = int(rng.choice([n_variables // 2, 2 * n_variables, 20 * n_variables]))
    X = truth.sample(n_samples, rng)
    pairs = neighbor_pairs("ring" if neighborhood == "ring" else shape, n_variables)
    return second_moments(X / np.sqrt(np.mean(X**2, axis=0))), pairs


def compare(S: FloatArray, alpha: float, tau: float, pairs: IntArray) -> Row:
    """Tell how far above the optimum the descent stops, and what its certificate says of that."""
    optimum = locally_constant(S, alpha, tau, pairs, tol=REFERENCE_TOL)
    stopped = locally_constant(
        S, alpha, tau, pairs, solver="descent", tol=STANDSTILL, max_iter=MOST_SWEEPS
    )
    return {
        "alpha": alpha,
        "tau": tau,
        "optimum": optimum.objective,
        "optimum_gap": optimum.gap,
        "descent": stopped.objective,
        "descent_gap": stopped.gap,
        "excess": stopped.objective - optimum.objective,
        "sweeps": count_sweeps(stopped.history, len(S)),
    }


def count_sweeps(history: FloatArray, n_variables: int) -> int:
    """Count the sweeps until the descent is where it ends, but for a little per variable."""
    is_there = history <= history[-1] + LITTLE * n_variables
    return 1 + int(np.argmax(is_there))


def golden_problem() -> tuple[FloatArray, float, float, IntArray]:
    """Return a path of 14 with one block of covariances; its optimum is known in closed form."""
    alpha, tau = 0.05, 0.1
    S = np.eye(14)
    S[2:5, 8:11] = S[8:11, 2:5] = alpha + 1.45 * tau
    return S, alpha, tau, neighbor_pairs("chain", 14)


def report(frame: pd.DataFrame) -> Report:
    """Tabulate how often and how far the descent stops above the optimum."""
    known = rows_of(frame, neighborhood=GOLDEN).iloc[0]
    frame = frame[frame["neighborhood"] != GOLDEN]
    rows = []
    for ratio in RATIOS:
        excess = rows_of(frame, ratio=ratio)["excess"]
        stalled = excess[excess > LEVELS[0]]
        shares = [f"{np.mean(excess > level):.0%}" for level in LEVELS]
        median = f"{stalled.median():.1g}" if len(stalled) else "-"
        rows.append([f"{ratio:g}", *shares, median, f"{excess.max():.1g}"])
    header = ["tau / alpha", *(f"more than {level:g} above" for level in LEVELS)]
    text = fill(
        __package__,
        "stalls",
        n=frame["task"].nunique(),
        gap=frame["optimum_gap"].max(),
        table=markdown_table([*header, "median if stalled", "largest"], rows),
        closed_form=GOLDEN_OPTIMUM,
        diagonal=GOLDEN_DIAGONAL,
        known=known,
    )
    first, second, _ = (float(np.mean(frame["excess"] > level)) for level in LEVELS)
    within = float(np.mean(frame["sweeps"] <= USUAL))
    quick = Claim(
        f"The descent converges quickly, usually in {USUAL} iterations.",
        f"It is where it ends, but for {LITTLE:g} per variable, after "
        f"{frame['sweeps'].median():.0f} sweeps in the median, and after {USUAL} or fewer in "
        f"{within:.0%} of the problems and strengths.",
        "yes" if within >= 0.5 else "no",
    )
    claim = Claim(
        "The problem has a unique optimum, to which the descent along one or two neighbouring "
        "variables converges.",
        f"It stops more than {LEVELS[0]:g} above the optimum on {first:.0%} of the random problems "
        f"and strengths, more than {LEVELS[1]:g} on {second:.0%}, and {known['excess']:.4f} above "
        "it on the problem with a known answer.",
        "no" if first > 0 else "yes",
    )
    return Report(text, (claim, quick))


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Share of problems on which the descent ends above the optimum."""
    figure, ((ax,),) = panels(1, 1, (6, 4))
    looks = zip(LEVELS, (BLUE, GREEN, VERMILION), "os^", strict=True)
    for level, color, marker in looks:
        shares = [np.mean(rows_of(frame, ratio=ratio)["excess"] > level) for ratio in RATIOS]
        ax.plot(RATIOS, shares, color=color, marker=marker, label=f"by more than {level:g} nats")
    numbered_log(ax, RATIOS)
    percent(ax.yaxis)
    ax.set(xlabel="tau / alpha", ylim=(-0.02, 1.02))
    ax.set_ylabel("problems on which descent misses the optimum")
    ax.legend()
    return {"stalls": figure}


PART = Part(name="stalls", tasks=list_tasks, run=run_task, report=report, figures=draw)
