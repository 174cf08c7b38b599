"""Size of the HTML report, and the time to build it, against the number of nodes."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import duration, say
from benchmarks.tables import Benchmark, Row
from edgewise import Graph
from edgewise.report import Report, render

#: The most that a page of a thousand nodes may take.
GOAL_MB = 5


@dataclass(frozen=True)
class Plan:
    """Numbers of nodes."""

    sizes: tuple[int, ...]


FULL = Plan(sizes=(10, 200, 1000))
QUICK = Plan(sizes=(10, 200))


def random_graph(p: int, n_edges: int) -> Graph:
    """Draw as many edges, or all pairs where there are fewer, with confidences."""
    rng = np.random.default_rng(0)
    rows, columns = np.triu_indices(p, 1)
    chosen = rng.permutation(len(rows))[:n_edges]
    weights, confidence = np.zeros((2, p, p))
    weights[rows[chosen], columns[chosen]] = rng.normal(size=len(chosen))
    confidence[rows[chosen], columns[chosen]] = rng.uniform(size=len(chosen))
    names = [f"variable {k}" for k in range(p)]
    return Graph(weights + weights.T, names=names, confidence=confidence + confidence.T)


def page_rows(plan: Plan) -> list[Row]:
    """Build pages of sparse and of dense graphs, without pictures."""
    rows = []
    for p in plan.sizes:
        for n_edges in (3 * p, p * p):
            graph = random_graph(p, n_edges)
            say(f"page, {p} nodes, {graph.n_edges} edges")
            found = Report(headline="", findings="", graph=graph, record={}, methods=())
            start = time.process_time()
            page = render([found], title="benchmark")
            seconds = time.process_time() - start
            size = len(page.encode("utf-8")) / 1e6
            rows.append(
                {"nodes": p, "edges": graph.n_edges, "CPU": seconds, "MB": size, "goal MB": GOAL_MB}
            )
    return rows


def learn_rows(plan: Plan) -> list[Row]:
    """Simulate a table and learn from it by the command line; weigh the report it writes."""
    rows = []
    for p in plan.sizes:
        say(f"learn, {p} columns")
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            table, target = str(folder / "data.csv"), folder / "out"
            edgewise("simulate", "--features", str(p), "--samples", "500", "--out", table)
            edgewise("learn", table, "--alpha", "0.15", "--quiet", "--out", str(target))
            n_edges = Graph.read(target / "graph.graphml").n_edges
            size = (target / "report.html").stat().st_size / 1e6
        rows.append({"columns": p, "edges": n_edges, "MB": size, "goal MB": GOAL_MB})
    return rows


def edgewise(*arguments: str) -> None:
    """Run a command in a process of its own."""
    command = [sys.executable, "-m", "edgewise", *arguments]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


TABLES: dict[str, tuple[str, Callable[[Plan], list[Row]]]] = {
    "page": ("The page alone", page_rows),
    "learn": ("The report of `edgewise learn`", learn_rows),
}


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if title == "CPU":
        return duration(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def prepare(tables: Sequence[str]) -> None:
    """Import what is timed."""
    if "page" in tables:
        page_rows(Plan(sizes=(5,)))


BENCHMARK = Benchmark(
    "html_report",
    (__doc__ or "").splitlines()[0],
    (FULL, QUICK),
    TABLES,
    written,
    [
        "Megabytes are millions of bytes; Bokeh's library, 1.2 of them, is in each page. A page",
        "holds the 10 000 strongest edges. `learn` fits 500 simulated rows at alpha 0.15.",
    ],
    prepare,
)

if __name__ == "__main__":
    BENCHMARK.main()
