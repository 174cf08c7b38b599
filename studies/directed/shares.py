"""How often an edge of a kind is there when a share of the resamples says so."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from edgewise.data import make_dag, make_linear_sem
from edgewise.estimators import DirectedGraph
from edgewise.graph.equivalence import complete_dag
from edgewise.inference import BootstrapGraph
from studies.figures import COLORS, legend_above, name_outer, panels
from studies.study import Part, Report, Row, combinations
from studies.tables import fill, markdown_table, rows_of

#: Columns, neighbours on average, and resamples of each simulation.
N_COLUMNS, DEGREE, N_RESAMPLES = 20, 3.0, 100
ROWS: Final = (200, 1000)
#: Bounds of the bins of shares.
BINS: Final = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
ARROW, LINE, JOINED = "an arrow", "an edge of no direction", "an edge of any kind"
KINDS: Final = (ARROW, LINE, JOINED)


def list_tasks(quick: bool) -> list[Row]:
    """List the simulations."""
    return combinations(n_rows=ROWS, repetition=range(1 if quick else 20))


def run_task(rng: np.random.Generator, *, n_rows: int, repetition: int) -> list[Row]:
    """Resample one table; count what is true of the pairs, or arcs, with shares in each bin."""
    truth = make_linear_sem(make_dag(N_COLUMNS, degree=DEGREE, rng=rng), permute=True, rng=rng)
    X = truth.sample(n_rows, rng=rng, standardize=True)
    seed = int(rng.integers(2**31 - 1))
    model = BootstrapGraph(DirectedGraph(), n_resamples=N_RESAMPLES, random_state=seed).fit(X)
    ahead, joined = model.direction_frequency_, model.edge_frequency_ + model.edge_frequency_.T
    pattern = complete_dag(truth.adjacency)
    upper, apart = np.triu_indices(N_COLUMNS, 1), ~np.eye(N_COLUMNS, dtype=bool)
    found = {
        ARROW: (ahead[apart], (pattern & ~pattern.T)[apart]),
        LINE: ((joined - ahead - ahead.T)[upper], (pattern & pattern.T)[upper]),
        JOINED: (joined[upper], (pattern | pattern.T)[upper]),
    }
    rows = []
    for kind, (share, is_true) in found.items():
        # Shares above the first bound fall into its bin; those never seen are left out.
        which = np.digitize(share, BINS[1:-1], right=True)
        for k in range(len(BINS) - 1):
            inside = (which == k) & (share > 1e-9)
            count, total = int(inside.sum()), float(share[inside].sum())
            rows.append({"kind": kind, "bin": k, "count": count, "said": total,
                         "true": int(is_true[inside].sum())})  # fmt: skip
    return rows


def calibrate(frame: pd.DataFrame) -> pd.DataFrame:
    """Add up simulations: the mean share and the share that is true, by rows, kind and bin."""
    sums = frame.groupby(["n_rows", "kind", "bin"], as_index=False)[["count", "said", "true"]].sum()
    sums = sums[sums["count"] > 0]
    return sums.assign(said=sums["said"] / sums["count"], true=sums["true"] / sums["count"])


def report(frame: pd.DataFrame) -> Report:
    """Lay out what is true beside what resamples say."""
    found = calibrate(frame)
    rows = []
    for kind in KINDS:
        for k, (low, high) in enumerate(itertools.pairwise(BINS)):
            cells = [kind, f"{low:.1f} to {high:.1f}"]
            for n_rows in ROWS:
                part = rows_of(found, n_rows=n_rows, kind=kind, bin=k)
                said = "" if part.empty else f"{part['said'].item():.2f}"
                true = "" if part.empty else f"{part['true'].item():.2f} of {part['count'].item()}"
                cells += [said, true]
            rows.append(cells)
    header = ["share of resamples with", "bin"]
    header += [f"{n_rows} rows: {what}" for n_rows in ROWS for what in ("said", "true")]
    text = fill(
        __package__,
        "shares",
        n=frame.groupby("n_rows")["repetition"].nunique().max(),
        n_columns=N_COLUMNS,
        degree=DEGREE,
        n_resamples=N_RESAMPLES,
        table=markdown_table(header, rows),
    )
    return Report(text)


def draw(frame: pd.DataFrame) -> dict[str, Figure]:
    """Draw what is true beside what resamples say, a panel for each number of rows."""
    found = calibrate(frame)
    figure, axes = panels(1, len(ROWS), (8.5, 3.8), grid="both", sharey=True)
    for ax, n_rows in zip(axes.flat, ROWS, strict=True):
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
        for kind, color, marker in zip(KINDS, COLORS, "oDs", strict=False):
            part = rows_of(found, n_rows=n_rows, kind=kind)
            ax.plot(part["said"], part["true"], color=color, marker=marker, label=kind)
        ax.set(title=f"{n_rows} rows", xlim=(0, 1.02), ylim=(0, 1.02))
    name_outer(axes, "share of the resamples", "share that is true")
    legend_above(figure, axes[0, 0])
    return {"shares": figure}


PART = Part(name="shares", tasks=list_tasks, run=run_task, report=report, figures=draw)
