"""Trees of graphs: CPU seconds and memory, against rows, covariates and responses, and a peer.

Run from the root of the repository::

    python -m benchmarks.covariates --markdown table.md --json results.json
    python -m benchmarks.covariates --quick

Progress goes to standard error, the tables to standard output. README.md beside this file says
how it measures.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.covariates_peers import cells_of, our_risks, sklearn_risks
from benchmarks.discrete import alone
from benchmarks.report import duration, say
from benchmarks.space import cpu
from benchmarks.tables import Benchmark
from benchmarks.worker import peak_memory
from edgewise import GraphTree, HeldOut, Penalized
from edgewise.data import make_tree_partition
from edgewise.data.simulate.covariates import PartitionedGraphs

Row = dict[str, Any]
Array = NDArray[Any]

#: The published problem: training rows (and as many validation rows), covariates, responses.
N, D, P = 10_000, 10, 20
#: CPU seconds that a fit of it may take, by lookahead, and how often a tree must beat the peer.
GOAL_SECONDS = {0: 1.5, 2: 5.0}
GOAL_RATIO = 30


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Sizes of the problems of each table."""

    n: int
    rows: tuple[int, ...]
    covariates: tuple[int, ...]
    responses: tuple[int, ...]
    depth: int
    peer_cells: int
    large: int


FULL = Plan(
    n=N,
    rows=(2500, 5000, 10_000, 20_000, 40_000),
    covariates=(2, 5, 10, 20),
    responses=(10, 20, 40, 80),
    depth=7,
    peer_cells=60,
    large=200_000,
)
QUICK = Plan(
    n=2500,
    rows=(1000, 2500),
    covariates=(2, 5),
    responses=(10, 20),
    depth=4,
    peer_cells=8,
    large=20_000,
)

#: The published model: one mean for all leaves, and splits for anything.
PAPER: Row = {"mean": "global", "split_for": "all"}


def draw(n: int = N, d: int = D, p: int = P, seed: int = 1) -> PartitionedGraphs:
    return make_tree_partition(n, n_covariates=d, n_features=p, n_edges=p // 2, rng=seed)


def grow(data: PartitionedGraphs, **options: Any) -> GraphTree:
    tree = GraphTree(search="halving", scale=(0, 1), **PAPER, **options)
    return tree.fit(data.X, data.Y, data.X_val, data.Y_val)


def warm_up() -> None:
    """Compile everything that is timed."""
    data = draw(600)
    grow(data)
    GraphTree("penalized", "optimal", max_total_depth=3, **PAPER).fit(data.X[:, :2], data.Y)


def fit_rows(plan: Plan) -> list[Row]:
    """Fit the published problem with and without lookahead."""
    data = draw(plan.n)
    rows = []
    for lookahead in (0, 2):
        say(f"{plan.n} rows, lookahead {lookahead}")
        seconds, tree = cpu(grow, data, lookahead=lookahead)
        rows.append(
            {
                "rows": plan.n,
                "lookahead": lookahead,
                "CPU": seconds,
                "goal": GOAL_SECONDS[lookahead] if plan.n == N else None,
                "cells": tree.n_iter_,
                "leaves": len(tree.leaves_),
            }
        )
    return rows


def size_rows(plan: Plan) -> list[Row]:
    """Vary rows, covariates and responses, one at a time."""
    base = (plan.n, min(D, max(plan.covariates)), P)
    problems = [
        (*base[:place], value, *base[place + 1 :])
        for place, values in enumerate((plan.rows, plan.covariates, plan.responses))
        for value in values
    ]
    rows = []
    for n, d, p in dict.fromkeys(problems):
        say(f"{n} rows, {d} covariates, {p} responses")
        seconds, tree = cpu(grow, draw(n, d, p), lookahead=0)
        rows.append(
            {
                "rows": n,
                "covariates": d,
                "responses": p,
                "CPU": seconds,
                "cells": tree.n_iter_,
                "leaves": len(tree.leaves_),
                "per cell CPU": seconds / tree.n_iter_,
            }
        )
    return rows


def exact_rows(plan: Plan) -> list[Row]:
    """Search all trees of the two covariates that matter, in either form."""
    data = draw(plan.n)
    where: Row = {"max_total_depth": plan.depth, **PAPER}
    rows = []
    for name, criterion in (("heldout", HeldOut(min_gain=0)), ("penalized", Penalized())):
        given = () if name == "penalized" else (data.X_val[:, :2], data.Y_val)
        trees = {}
        for search in ("halving", "optimal"):
            say(f"{search} search, {name}")
            tree = GraphTree(criterion, search, scale=(0, 1), **where)
            seconds, trees[search] = cpu(tree.fit, data.X[:, :2], data.Y, *given)
            found = trees[search]
            rows.append(
                {
                    "criterion": name,
                    "search": search,
                    "CPU": seconds,
                    "cells": found.n_iter_,
                    "leaves": len(found.leaves_),
                    "risk": found.risk_,
                }
            )
    return rows


def peer_rows(plan: Plan) -> list[Row]:
    """Solve the paths of a sample of the cells of a tree by scikit-learn's graphical lasso."""
    data = draw(plan.n)
    # scikit-learn leaves the diagonal free, and so does this tree.
    options: Row = {
        "criterion": HeldOut(exchange=False, penalize_diagonal=False, standardize=False),
    }
    rows = []
    for lookahead in (0, 2):
        say(f"scikit-learn, lookahead {lookahead}")
        seconds, tree = cpu(grow, data, lookahead=lookahead, **options)
        cells = cells_of(tree, data, plan.peer_cells, rng=0)
        ours, our_risk = cpu(our_risks, cells)
        start = time.process_time()
        risk, n_solves = sklearn_risks(cells)
        theirs = time.process_time() - start
        whole = theirs / len(cells) * tree.n_iter_
        rows.append(
            {
                "lookahead": lookahead,
                "cells": tree.n_iter_,
                "sampled": len(cells),
                "solves": n_solves,
                "ours, sampled CPU": ours,
                "scikit-learn, sampled CPU": theirs,
                "largest difference in risk": float(np.abs(our_risk - risk).max()),
                "our tree CPU": seconds,
                "scikit-learn, all cells CPU": whole,
                "scikit-learn / our tree": whole / seconds,
                "goal": GOAL_RATIO,
            }
        )
    return rows


def memory_rows(plan: Plan) -> list[Row]:
    """Fit in processes of their own."""
    return [alone(_fit_alone, n) for n in (plan.n, plan.large)]


def _fit_alone(n: int) -> Row:
    warm_up()
    data = draw(n)
    before = peak_memory()
    with threadpool_limits(1):
        start = time.process_time()
        tree = grow(data)
        seconds = time.process_time() - start
    size = sum(part.nbytes for part in (data.X, data.Y, data.X_val, data.Y_val))
    return {
        "rows": n,
        "CPU": seconds,
        "leaves": len(tree.leaves_),
        "memory of the table": size,
        "memory before": before,
        "peak memory": peak_memory(),
    }


TABLES: dict[str, tuple[str, Callable[[Plan], list[Row]]]] = {
    "fit": ("The published problem", fit_rows),
    "size": ("Rows, covariates and responses, lookahead 0", size_rows),
    "exact": ("All trees of two covariates", exact_rows),
    "peer": ("The same tree over scikit-learn's graphical lasso", peer_rows),
    "memory": ("Memory", memory_rows),
}


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if value is None:
        return "-"
    if title.endswith("CPU"):
        return duration(value)
    if title == "goal":
        return f"{value:g} s" if isinstance(value, float) else f"{value}x"
    if "memory" in title:
        return f"{value / 10**6:.0f} MB"
    if " / " in title:
        return f"{value:.3g}x"
    if title == "risk":
        return f"{value:.5f}"
    return f"{value:.0e}" if isinstance(value, float) else str(value)


BENCHMARK = Benchmark(
    "covariates",
    (__doc__ or "").splitlines()[0],
    (FULL, QUICK),
    TABLES,
    written,
    [
        "CPU seconds on one thread, compilation left out; 22 cells in two of the covariates, as",
        "many validation as training rows, p / 2 edges in each graph of p responses.",
    ],
    lambda tables: warm_up(),
)

if __name__ == "__main__":
    BENCHMARK.main()
