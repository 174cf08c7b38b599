"""Which edges are proven: false decisions on problems with a known optimum, share and extra time.

Run from the root of the repository::

    python -m benchmarks.decided --markdown table.md
    python -m benchmarks.decided --quick

Progress goes to standard error, the tables to standard output.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import duration, say
from benchmarks.tables import Benchmark
from edgewise.solvers import (
    density_ratio,
    dtrace,
    generalized_lasso,
    graphical_lasso,
    joint_graphical_lasso,
    locally_constant,
)
from edgewise.solvers.change.density_ratio import ratio_alpha_max
from edgewise.solvers.change.dtrace import dtrace_alpha_max
from edgewise.solvers.lasso.gram import neighborhood_lasso
from tests.oracle.decided import KINDS, judge

Row = dict[str, Any]
FALSE, EFFORT = "false", "effort"
#: Seed of the first problem; tests take others.
FIRST = 10_000


@dataclass(frozen=True)
class Plan:
    """Problems of each kind, and columns of those that are timed."""

    n_problems: int
    sizes: tuple[int, ...]
    n_repeats: int


def false_rows(plan: Plan) -> list[Row]:
    """Count what is decided wrongly, solver by solver."""
    rows = []
    for kind in KINDS:
        say(kind)
        seeds = range(FIRST, FIRST + plan.n_problems)
        verdicts = [judge(kind, seed) for seed in seeds]
        known = sum(one.known for one in verdicts)
        rows.append(
            {
                "solver": kind,
                "problems": len(verdicts),
                "pairs": known,
                "decided": sum(one.decided for one in verdicts) / known,
                "false": sum(one.wrong for one in verdicts),
            }
        )
    return rows


def blocks(n: int, p: int, strength: float, seed: int) -> Any:
    """Return standardised rows of chains of seven columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        if j % 7:
            X[:, j] += strength * X[:, j - 1]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def problems(p: int) -> dict[str, Callable[..., Any]]:
    """Return a solve of each kind with so many columns, by its options."""
    X, Y = blocks(max(p // 2, 200), p, 0.5, 1), blocks(max(p // 2, 200), p, 0.2, 2)
    S, T = X.T @ X / len(X), Y.T @ Y / len(Y)
    alpha = 0.2 * float(np.abs(S - np.eye(p)).max())
    found: dict[str, Callable[..., Any]] = {
        "graphical lasso": lambda **more: graphical_lasso(S, alpha, **more),
        "neighbourhood lassos": lambda **more: neighborhood_lasso(S, alpha, tol=1e-6, **more),
    }
    if p <= 300:
        both, chain = np.stack([S, T]), [(j, j + 1) for j in range(p - 1)]
        far = 0.5 * dtrace_alpha_max(S, T)
        found |= {
            "joint, fused": lambda **more: joint_graphical_lasso(both, alpha, 0.3 * alpha, **more),
            "joint, group": lambda **more: joint_graphical_lasso(
                both, alpha, 0.3 * alpha, penalty="group", **more
            ),
            "D-trace": lambda **more: dtrace(S, T, far, **more),
        }
    if p <= 100:
        ratio = 0.5 * ratio_alpha_max(Y, X)
        y = (X[:, 0] + X[:, 1] > 0).astype(float)
        found |= {
            "locally constant": lambda **more: locally_constant(
                S, alpha, 0.2 * alpha, chain, **more
            ),
            "density ratio": lambda **more: density_ratio(Y, X, ratio, tol=1e-6, **more),
            "logistic lasso": lambda **more: generalized_lasso(
                X[:, 2:], y, 0.02, family="binary", tol=1e-6, **more
            ),
        }
    return found


def effort_rows(plan: Plan) -> list[Row]:
    """Count open pairs at tol and after going on, and how much longer that takes."""
    rows = []
    for p in plan.sizes:
        for kind, solve in problems(p).items():
            say(f"{kind}, {p} columns")
            stopped, first = timed(partial(solve, decide=0.0), plan.n_repeats)
            went_on, both = timed(partial(solve, decide=1.5), plan.n_repeats)
            is_square = stopped.decided.ndim > 1 and kind != "neighbourhood lassos"
            share = 2 if is_square else 1
            total = stopped.decided.size
            total -= total // p if stopped.decided.ndim > 1 else 0
            rows.append(
                {
                    "solver": kind,
                    "columns": p,
                    "pairs": total // share,
                    "open at tol": int((~stopped.decided).sum()) // share,
                    "open after": int((~went_on.decided).sum()) // share,
                    "gap at tol": stopped.gap,
                    "gap after": went_on.gap,
                    "time to tol": first,
                    "ratio": both / first,
                }
            )
    return rows


def timed(solve: Callable[[], Any], n_repeats: int) -> tuple[Any, float]:
    """Return a solution and the least CPU time that it took."""
    times = []
    for _ in range(n_repeats):
        start = time.process_time()
        found = solve()
        times.append(time.process_time() - start)
    return found, max(min(times), 1e-9)


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if title == "decided":
        return f"{value:.1%}"
    if title.startswith("gap"):
        return f"{value:.0e}"
    if title == "time to tol":
        return duration(value)
    if title == "ratio":
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def warm_up(tables: Sequence[str]) -> None:
    """Compile what is timed."""
    for solve in problems(30).values():
        solve(decide=1.5)


BENCHMARK = Benchmark(
    "decided",
    (__doc__ or "").splitlines()[0],
    (Plan(n_problems=800, sizes=(100, 300, 1000), n_repeats=3), Plan(10, (50,), 1)),
    {
        FALSE: ("Decisions at known optima, near-ties included", false_rows),
        EFFORT: ("What is open at tol, and what it takes to go on", effort_rows),
    },
    written,
    [
        "Of the first table, tolerances are drawn between 1e-12 and 1e-2, and many entries of the",
        "optimum, or the room of absent ones, between 1e-12 and 0.1 of their size: no solver can",
        "decide all. The second has chains of seven columns, alpha 0.2 of the largest (of changes",
        "half), and CPU times on one thread; *ratio* is that of going on to that of stopping.",
    ],
    warm_up,
)

if __name__ == "__main__":
    BENCHMARK.main()
