"""How the time of each method grows with rows and columns: sizes, seconds and fitted exponents.

Run from the root of the repository::

    python -m benchmarks.scaling --markdown table.md --json results.json
    python -m benchmarks.scaling --quick

Progress goes to standard error, the tables to standard output. README.md beside this file says
how it measures.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.change import draw as draw_change
from benchmarks.covariates import draw as draw_partition, grow
from benchmarks.directed import correlations, draw as draw_network
from benchmarks.discrete import alone
from benchmarks.report import duration, say
from benchmarks.space import cpu
from benchmarks.streaming import levels
from benchmarks.tables import Benchmark
from edgewise import GaussianGraph
from edgewise.data import (
    make_block_model,
    make_gaussian_graph,
    make_graph,
    make_markov_model,
    neighbor_pairs,
)
from edgewise.solvers import (
    density_ratio,
    dtrace,
    graphical_lasso,
    learn_structure,
    locally_constant,
    markov_blankets,
    screened_graphical_lasso,
)
from edgewise.solvers.change.density_ratio import ratio_alpha_max
from edgewise.solvers.change.dtrace import dtrace_alpha_max
from edgewise.solvers.directed.order import order_bayes_net
from edgewise.solvers.directed.separation import separating_sets
from edgewise.solvers.lasso.gram import neighborhood_lasso
from edgewise.stats import covariance, stream_counts, stream_covariance

Row = dict[str, Any]
Array = NDArray[Any]
Call = Callable[[], Any]

#: Rows behind the covariances of Gaussian problems, and their alpha, which finds about as many
#: edges as there are.
N_ROWS, ALPHA = 1000, 0.14
ROWS, COLUMNS = "rows", "columns"
MEMORY, WIDE = "memory", "wide"


@dataclass(frozen=True)
class Case:
    """A method, what of its problem grows, and how one of some size is made."""

    method: str
    grows: str
    fixed: str
    sizes: tuple[int, ...]
    make: Callable[[int], Call]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many sizes of each case are tried, where memory is read, columns of wide tables."""

    n_sizes: int
    memory: tuple[tuple[str, int], ...]
    wide: tuple[int, ...]


@cache
def gaussian_rows(p: int, n: int = N_ROWS) -> Array:
    """Rows of a random graph with three edges per variable."""
    return make_gaussian_graph(p, rng=1).sample(n, rng=1)


def correlation(p: int) -> Array:
    return correlations(gaussian_rows(p))


@cache
def normal_rows(n: int, p: int) -> Array:
    return np.random.default_rng(0).standard_normal((n, p))


def _covariance(n: int, p: int) -> Call:
    X = normal_rows(n, p)
    return lambda: stream_covariance(X[k : k + 20_000] for k in range(0, n, 20_000))


def _counts(n: int) -> Call:
    chunks = list(levels(n))
    return lambda: stream_counts(chunks)


def _lasso(p: int) -> Call:
    S = correlation(p)
    return lambda: graphical_lasso(S, ALPHA)


def _search(p: int) -> Call:
    X = gaussian_rows(p)
    return lambda: GaussianGraph(covariance="correlation").fit(X)


def _neighborhood(p: int) -> Call:
    S = correlation(p)
    return lambda: neighborhood_lasso(S, ALPHA)


def _locally_constant(p: int) -> Call:
    _, S = covariance(make_block_model((p,), rng=1).sample(200, rng=1))
    pairs = neighbor_pairs("chain", p)
    return lambda: locally_constant(S, 0.1, 0.02, pairs)


def _ratio(d: int, n: int | None = None) -> Call:
    first, second = draw_change(d)
    if n is not None:
        rng = np.random.default_rng(1)
        first, second = rng.standard_normal((2, n, d))
        second[:, 1::2] = 0.6 * second[:, ::2] + 0.8 * second[:, 1::2]
    alpha = 0.5 * ratio_alpha_max(second, first)
    return lambda: density_ratio(second, first, alpha, tol=1e-6 / d)


def _dtrace(d: int) -> Call:
    S_q, S_p = (covariance(rows)[1] for rows in draw_change(d))
    alpha = 0.5 * dtrace_alpha_max(S_q, S_p)
    return lambda: dtrace(S_q, S_p, alpha)


def _order(m: int) -> Call:
    R = correlations(draw_network(m))
    return lambda: order_bayes_net(R, 0.15)


def _blankets(m: int) -> Call:
    rows = draw_network(m)
    R = correlations(rows)

    def run() -> Any:
        found = markov_blankets(R, len(rows))
        return separating_sets(R, len(rows), found.value & found.value.T)

    return run


def _discrete(n: int, p: int) -> Call:
    model = make_markov_model(make_graph(p, degree=2.0, rng=1), high=0.8, rng=1)
    X = model.sample(n, method="gibbs", burn_in=30, rng=1)
    return lambda: learn_structure(X)


def _tree(n: int, p: int) -> Call:
    data = draw_partition(n, 10, p)
    return lambda: grow(data, lookahead=0)


CASES: Sequence[Case] = (
    Case("covariance, streamed", ROWS, "p = 50", (50_000, 100_000, 200_000, 400_000, 800_000),
         lambda n: _covariance(n, 50)),
    Case("covariance, streamed", COLUMNS, "n = 20,000", (50, 100, 200, 400, 800),
         lambda p: _covariance(20_000, p)),
    Case("counts, streamed", ROWS, "10 columns, 3 levels",
         (50_000, 100_000, 200_000, 400_000, 800_000), _counts),
    Case("graphical lasso", COLUMNS, "degree 3, one alpha", (125, 250, 500, 1000, 2000), _lasso),
    Case("GaussianGraph, ebic", COLUMNS, "n = 1000, 30 alphas", (50, 100, 200, 400), _search),
    Case("neighbourhood lasso", COLUMNS, "degree 3, one alpha", (125, 250, 500, 1000, 2000),
         _neighborhood),
    Case("locally constant", COLUMNS, "chain, one alpha and tau", (50, 100, 200, 400),
         _locally_constant),
    Case("density ratio", COLUMNS, "n = 150 per group, one alpha", (125, 250, 500, 1000, 2000),
         _ratio),
    Case("density ratio", ROWS, "d = 100, one alpha", (200, 400, 800, 1600, 3200),
         lambda n: _ratio(100, n)),
    Case("D-trace", COLUMNS, "one alpha", (50, 100, 200, 400), _dtrace),
    Case("Bayesian network, order", COLUMNS, "one alpha", (50, 100, 200, 400), _order),
    Case("Bayesian network, IAMB and tests", COLUMNS, "degree 3", (50, 100, 200, 400, 800),
         _blankets),
    Case("discrete network, BJP", COLUMNS, "n = 2000, 2 levels", (10, 20, 40, 80),
         lambda p: _discrete(2000, p)),
    Case("discrete network, BJP", ROWS, "p = 20, 2 levels", (1000, 4000, 16_000, 64_000),
         lambda n: _discrete(n, 20)),
    Case("tree of networks", ROWS, "10 covariates, 10 responses", (1250, 2500, 5000, 10_000),
         lambda n: _tree(n, 10)),
    Case("tree of networks", "responses", "n = 1250, 10 covariates", (5, 10, 20, 40),
         lambda p: _tree(1250, p)),
)  # fmt: skip


def scaling_rows(plan: Plan) -> list[Row]:
    """Time every case at every size, and fit a power of the size."""
    rows = []
    for case in CASES:
        sizes = case.sizes[: plan.n_sizes]
        times = []
        for size in sizes:
            say(f"{case.method}, {size} {case.grows}")
            times.append(cpu(case.make(size))[0])
        gaussian_rows.cache_clear()
        normal_rows.cache_clear()
        slopes = np.diff(np.log(times)) / np.diff(np.log(sizes))
        rows.append(
            {
                "method": case.method,
                "grows": case.grows,
                "fixed": case.fixed,
                "from": sizes[0],
                "to": sizes[-1],
                "smallest CPU": times[0],
                "largest CPU": times[-1],
                "exponent": float(np.polyfit(np.log(sizes), np.log(times), 1)[0]),
                "last exponent": float(slopes[-1]),
            }
        )
    return rows


def memory_rows(plan: Plan) -> list[Row]:
    """Count the matrices that a solve has in memory at a time, beyond what it is given."""
    return [alone(_matrices_of, *problem) for problem in plan.memory]


def _matrices_of(method: str, p: int) -> Row:
    make = next(case.make for case in CASES if (case.method, case.grows) == (method, COLUMNS))
    make(24)()
    with threadpool_limits(1):
        run = make(p)
        for cached in (gaussian_rows, normal_rows):
            cached.cache_clear()
        added = _added_by(run)
    return {
        "method": method,
        "columns": p,
        "matrix memory": 8 * p**2,
        "added memory": added,
        "matrices": added / (8 * p**2),
    }


def _added_by(run: Call) -> int:
    """Bytes that a call takes at its peak, beyond what there was."""
    # What the drawing of the problem took is given back, and the largest size so far forgotten.
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmHWM")
    run()
    return _resident("VmHWM") - before


def wide_table(p: int, n: int = 500) -> Array:
    """Rows of chains of 4, 1 and 0.1 per cent of the columns, 60 per cent of them single."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, p), dtype=np.float32)
    start = 0
    for size, count in ((p // 25, 3), (p // 100, 18), (p // 1000, 100)):
        for _ in range(count):
            for j in range(start + 1, start + size):
                X[:, j] = np.float32(0.8) * X[:, j - 1] + np.float32(0.6) * X[:, j]
            start += size
    return X[:, rng.permutation(p)]


def wide_rows(plan: Plan) -> list[Row]:
    """Solve the graphical lasso of very many columns by components, and read time and memory."""
    return [alone(_wide, p) for p in plan.wide]


def _wide(p: int) -> Row:
    screened_graphical_lasso(wide_table(1000)[:, :200], 0.3)
    X = wide_table(p)
    found: list[Any] = []
    with threadpool_limits(1):
        started = time.process_time()
        added = _added_by(lambda: found.append(screened_graphical_lasso(X, largest=p // 20)))
        taken = time.process_time() - started
    solution = found[0]
    return {
        "columns": p,
        "table memory": X.nbytes,
        "alpha": solution.alpha,
        "components": int((np.bincount(solution.component) > 1).sum()),
        "largest": int(np.bincount(solution.component).max()),
        "edges": solution.edges()[0].size,
        "gap per variable": solution.gap / p,
        "CPU": taken,
        "added memory": added,
    }


def _resident(field: str) -> int:
    """Bytes that the system says this process has, or had, in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def warm_up(tables: Sequence[str]) -> None:
    """Compile everything that is timed."""
    if set(tables) <= {MEMORY, WIDE}:
        return
    for case in CASES:
        if case.grows == COLUMNS:
            case.make(24)()
    _tree(600, 5)()
    _counts(100)()


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if title.endswith("CPU"):
        return duration(value)
    if title.endswith("exponent"):
        return f"{value:.2f}"
    if title.endswith("memory"):
        return f"{value / 10**6:.0f} MB"
    if title == "gap per variable":
        return f"{value:.0e}"
    if title == "matrices":
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


BENCHMARK = Benchmark(
    "scaling",
    (__doc__ or "").splitlines()[0],
    (
        Plan(
            n_sizes=5,
            memory=(
                ("graphical lasso", 2000),
                ("neighbourhood lasso", 2000),
                ("locally constant", 600),
                ("density ratio", 2000),
                ("D-trace", 800),
                ("Bayesian network, order", 1000),
                ("Bayesian network, IAMB and tests", 2000),
            ),
            wide=(10_000, 100_000),
        ),
        Plan(n_sizes=2, memory=(("graphical lasso", 500),), wide=(2000,)),
    ),
    {
        "scaling": ("Exponents", scaling_rows),
        MEMORY: ("Matrices in memory", memory_rows),
        WIDE: ("Graphical lasso by components, from 500 rows", wide_rows),
    },
    written,
    [
        "CPU seconds on one thread, compilation left out. *exponent* is that of a power of the",
        "size fitted to all sizes from the smallest to the largest, each twice the one before (for",
        "rows of discrete networks four times); *last exponent* is that of the last step.",
    ],
    warm_up,
    lambda: {} if sys.platform == "linux" else dict.fromkeys((MEMORY, WIDE), "it needs Linux"),
)

if __name__ == "__main__":
    BENCHMARK.main()
