"""Level of the default commands on rows that are like the rows before them."""

from __future__ import annotations

import warnings
from typing import Final

import numpy as np
import pandas as pd

from edgewise._core.errors import DataWarning
from edgewise._core.typing import FloatArray, IntArray
from edgewise.data.dependence import Dependence, RowOrder, off_curve, row_order
from edgewise.estimators import GaussianGraph, GraphTree
from edgewise.inference import compare_networks, edge_intervals
from studies.study import Claim, Part, Report, Row, Study, combinations
from studies.tables import markdown_table, mean_and_error, verdict

#: From row to row; 1 is a random walk, and "garch" one of sizes alone.
MEMORIES: Final = ("0", "0.3", "0.5", "0.6", "0.8", "0.95", "1", "garch")
N_ROWS: Final = (100, 300, 1000)
N_COLUMNS: Final = 8
#: Tables of a cell and of a task.
N_TABLES, PER_TASK = 200, 20
#: Share of tables in which something may be found at a level of 5 %.
MOST: Final = 0.07
LEVEL: Final = 0.05


def list_tasks(quick: bool) -> list[Row]:
    """List commands, memories, numbers of rows and batches of tables."""
    return combinations(
        command=("learn", "test", "compare", "regress"),
        memory=MEMORIES,
        n_samples=N_ROWS[:1] if quick else N_ROWS,
        batch=range(1 if quick else N_TABLES // PER_TASK),
    )


def draw_rows(rng: np.random.Generator, memory: str, n_samples: int) -> FloatArray:
    """Draw columns that have nothing to do with each other."""
    noise = rng.normal(size=(n_samples + 200, N_COLUMNS))
    rows, variance = np.zeros_like(noise), np.ones(N_COLUMNS)
    for t in range(1, len(noise)):
        if memory == "garch":
            variance = 0.05 + 0.1 * rows[t - 1] ** 2 + 0.85 * variance
            rows[t] = np.sqrt(variance) * noise[t]
        else:
            rows[t] = float(memory) * rows[t - 1] + noise[t]
    return rows[200:]


def run_task(
    rng: np.random.Generator, *, command: str, memory: str, n_samples: int, batch: int
) -> list[Row]:
    """Say of each table whether a command claims something, and whether it claims at all."""
    run = {"learn": learns, "test": tests, "compare": differs, "regress": splits}[command]
    return [run(draw_rows(rng, memory, n_samples)) for _ in range(PER_TASK)]


def settled(rows: FloatArray, y: IntArray) -> tuple[FloatArray, IntArray, RowOrder]:
    """Take changes where columns drift, as the commands do, and look at the order again."""
    names = [f"x{k}" for k in range(rows.shape[1])]
    order = row_order(rows, names, series=y)
    if order.kind != "trend":
        return rows, y, order
    is_kept = np.append(False, np.diff(y) == 0)
    rows, y = np.diff(rows, axis=0, prepend=np.nan)[is_kept], y[is_kept]
    return rows, y, row_order(rows, names, series=y, has_trends=False)


def learns(rows: FloatArray) -> Row:
    """Whether the network has an edge."""
    rows, _, order = settled(rows, np.zeros(len(rows), dtype=np.int64))
    found = Dependence(order=order)
    weights = np.full(len(rows), found.n_independent(rows) / len(rows))
    graph = GaussianGraph().fit(rows, sample_weight=weights).graph_
    is_sure = False
    if found.kind == "independent" and graph.n_edges:
        qvalues = np.where(graph.adjacency, edge_intervals(rows).qvalues, 1.0)
        is_sure = bool(np.nanmin(qvalues) <= LEVEL)
    return {"claims": graph.n_edges > 0, "sure": is_sure, "says": True}


def tests(rows: FloatArray) -> Row:
    """Whether a pair has a q-value that is small."""
    with warnings.catch_warnings():
        # That rows count as fewer.
        warnings.simplefilter("ignore", DataWarning)
        is_sure = bool(np.nanmin(edge_intervals(rows).qvalues) <= LEVEL)
    return {"claims": is_sure, "sure": is_sure, "says": True}


def differs(rows: FloatArray) -> Row:
    """Whether the networks of two halves are said to differ."""
    rows, y, order = settled(rows, np.arange(len(rows)) * 2 // len(rows))
    n_fewest = int(np.bincount(y).min())
    found = Dependence(order=order)
    if found.kind == "blocks" and not order.has_blocks(n_fewest):
        return {"claims": False, "sure": False, "says": False}
    test = compare_networks(
        rows, y, n_permutations=199, block_length=found.block_length(n_fewest), random_state=0
    )
    return {"claims": test.pvalue <= LEVEL, "sure": test.pvalue <= LEVEL, "says": True}


def splits(rows: FloatArray) -> Row:
    """Whether a tree along the rows has a split."""
    n, names = len(rows), [f"x{k}" for k in range(rows.shape[1])]
    time = np.arange(n, dtype=np.float64)
    order = row_order(rows, names, sorters={"t": time}, has_trends=False)
    if order.kind == "order" and not order.in_spread:
        left, parts = off_curve(rows, time)
        order = row_order(left, names, series=parts, has_trends=False)
    if not order.has_blocks(n):
        return {"claims": False, "sure": False, "says": False}
    groups = np.arange(n) // order.block_length(n) if order.kind == "order" else None
    tree = GraphTree(random_state=0).fit(time[:, None], rows, groups=groups)
    has_splits = len(tree.leaves_) > 1 or len(tree.groups_) > 1
    return {"claims": has_splits, "sure": has_splits, "says": True}


def report(frame: pd.DataFrame) -> Report:
    """Tabulate the share of tables with a claim, and of those with an answer."""
    rows, cases = [], []
    for (command, memory), cell in frame.groupby(["command", "memory"], sort=False):
        shares = []
        for n in N_ROWS:
            own = cell[cell["n_samples"] == n]
            if len(own):
                error = np.sqrt(MOST * (1 - MOST) / len(own))
                share = float(own["claims"].mean())
                cases.append([share <= MOST + 2 * error])
                shares.append(f"{mean_and_error(own['claims'])} of {own['says'].mean():.0%}")
        rows.append([str(command), str(memory), *shares])
    header = ["command", "memory", *(f"{n} rows" for n in N_ROWS)][: len(rows[0])]
    claim = Claim(
        published="at most 7 % of tables without links, changes or splits have any",
        found=f"{np.mean([case[0] for case in cases]):.0%} of the cells",
        holds=verdict(cases),
    )
    about = "Share of tables with an edge, difference or split, of the share that has an answer:"
    return Report(text=f"{about}\n\n{markdown_table(header, rows)}", claims=(claim,))


STUDY = Study(
    name="rows-in-order",
    title="Level of the default commands on rows like the rows before them",
    reference="docs/inference.md, rows that depend on each other",
    version=1,
    parts=(Part(name="level", tasks=list_tasks, run=run_task, report=report),),
)
