"""Locally constant graphs: CPU seconds to a certified optimum, beside other ways to it.

Run from the root of the repository::

    python -m benchmarks.space --markdown table.md --json results.json
    python -m benchmarks.space --quick

Progress goes to standard error, the tables to standard output. README.md beside this file says
how it measures.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.cvxpy_peers import LADDERS, time_cvxpy
from benchmarks.measure import LONG_CALL, MEASUREMENT, REPEATS, THRESHOLD
from benchmarks.report import duration, say
from benchmarks.space_problems import FULL, QUICK, Plan, Problem, draw
from benchmarks.tables import Benchmark
from edgewise.solvers import locally_constant, locally_constant_path
from edgewise.solvers.space.fused_rows import FusedProblem, split_blocks
from edgewise.solvers.space.locally_constant import SOLVERS
from edgewise.solvers.space.published_descent import coordinate_directions
from edgewise.solvers.space.splitting import split_layers

Row = dict[str, Any]
Result = TypeVar("Result")

CVXPY = "cvxpy"

#: Sweeps of the descent, and iterations on the dual and without screening, at most.
MAX_SWEEPS, MAX_ITER = 200, 2000
#: One alpha and six taus, as a search would go through them.
PATH_ALPHA, PATH_TAUS = 0.03, np.geomspace(0.003, 0.3, 6)


def cpu(function: Callable[..., Result], *arguments: Any, **keywords: Any) -> tuple[float, Result]:
    """CPU seconds of a call, the best of several, and what it returns.

    A busy machine only ever adds to the CPU time, by emptying the caches.
    """
    start = time.process_time()
    result = function(*arguments, **keywords)
    first = time.process_time() - start
    if first > LONG_CALL:
        return first, result
    number = max(1, math.ceil(MEASUREMENT / max(first, 1e-6)))
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        for _ in range(number):
            function(*arguments, **keywords)
        times.append((time.process_time() - start) / number)
    return min(times), result


def warm_up() -> None:
    """Compile everything that is timed."""
    S, pairs = np.eye(9) + 0.1, np.column_stack([np.arange(8), np.arange(1, 9)])
    for solver in SOLVERS:
        locally_constant(S, 0.01, 0.01, pairs, solver=solver)
    locally_constant_path(S, [0.01], [0.0, 0.01], pairs)


def solve_rows(plan: Plan) -> list[Row]:
    """Solve each problem with the three solvers."""
    rows = []
    for recipe in plan.solve:
        problem = draw(recipe)
        for alpha, tau in recipe.strengths:
            say(f"{problem.name} alpha={alpha:g} tau={tau:g}")
            rows.append(_solve_row(problem, recipe.goal, alpha, tau))
    return rows


def _solve_row(problem: Problem, goal: float, alpha: float, tau: float) -> Row:
    p = problem.p
    bound = problem.bound(alpha, tau)
    stated = (problem.S, alpha, tau, problem.pairs)
    seconds, ours = cpu(locally_constant, *stated, tol=THRESHOLD)
    dual_seconds, dual = cpu(
        locally_constant, *stated, solver="dual", tol=THRESHOLD, max_iter=MAX_ITER
    )
    # Called by itself: the solver "descent" goes on to bound the optimum by other means.
    descent_seconds, (descended, _, n_sweeps) = cpu(
        coordinate_directions,
        FusedProblem(problem.S, np.full((p, p), alpha), float(tau), problem.pairs),
        np.eye(p) / (1.0 + alpha),
        MAX_SWEEPS,
        THRESHOLD * p,
    )
    gap = problem.excess(ours.value, alpha, tau, bound) / p
    if gap > THRESHOLD:
        say(f"  warning: ours ends at gap/p {gap:.1e} by the certificate")
    return {
        "problem": problem.name,
        "n": problem.n,
        "alpha": alpha,
        "tau": tau,
        "edges": int(np.count_nonzero(ours.value) - p) // 2,
        "groups": ours.n_groups,
        "iterations": ours.n_iter,
        "gap/p": gap,
        "own gap/p": ours.gap / p,
        "CPU": seconds,
        "goal": goal if math.isfinite(goal) else None,
        "dual CPU": dual_seconds,
        "dual gap/p": problem.excess(dual.value, alpha, tau, bound) / p,
        "descent CPU": descent_seconds,
        "sweeps": n_sweeps,
        "descent excess": problem.excess(descended, alpha, tau, bound),
    }


def cvxpy_rows(plan: Plan) -> list[Row]:
    """Solve a problem through CVXPY as well."""
    problem = draw(plan.cvxpy)
    rows = []
    for alpha, tau in plan.cvxpy.strengths:
        say(f"CVXPY: {problem.name} alpha={alpha:g} tau={tau:g}")
        bound = problem.bound(alpha, tau)
        seconds, ours = cpu(locally_constant, problem.S, alpha, tau, problem.pairs, tol=THRESHOLD)
        row: Row = {"problem": problem.name, "alpha": alpha, "tau": tau, "CPU": seconds}
        row["gap/p"] = problem.excess(ours.value, alpha, tau, bound) / problem.p
        for solver in LADDERS:
            taken, gap = time_cvxpy(solver, problem, alpha, tau, bound)
            row |= {
                f"{solver} CPU": taken,
                f"{solver} / ours": taken / seconds,
                f"{solver} gap/p": gap,
            }
        rows.append(row)
    return rows


def path_rows(plan: Plan) -> list[Row]:
    """Solve for six taus, from each other and from scratch."""
    rows = []
    for recipe in plan.path:
        problem = draw(recipe)
        say(f"path of taus: {problem.name}")
        warm_seconds, grid = cpu(
            locally_constant_path,
            problem.S,
            [PATH_ALPHA],
            PATH_TAUS,
            problem.pairs,
            tol=THRESHOLD,
        )
        gaps, cold_seconds, n_cold = [], 0.0, 0
        for solution, tau in zip(grid[0], PATH_TAUS, strict=True):
            stated = (problem.S, PATH_ALPHA, tau, problem.pairs)
            taken, cold = cpu(locally_constant, *stated, tol=THRESHOLD)
            cold_seconds += taken
            n_cold += cold.n_iter
            bound = problem.bound(PATH_ALPHA, tau)
            gaps.append(problem.excess(solution.value, PATH_ALPHA, tau, bound) / problem.p)
        rows.append(
            {
                "problem": problem.name,
                "alpha": PATH_ALPHA,
                "warm iterations": sum(solution.n_iter for solution in grid[0]),
                "cold iterations": n_cold,
                "warm CPU": warm_seconds,
                "cold CPU": cold_seconds,
                "cold / warm": cold_seconds / warm_seconds,
                "worst gap/p": max(gaps),
            }
        )
    return rows


def screening_rows(plan: Plan) -> list[Row]:
    """Solve with and without the split into blocks."""
    problem = draw(plan.screening)
    p = problem.p
    rows = []
    for alpha, tau in plan.screening.strengths:
        say(f"screening: {problem.name} alpha={alpha:g} tau={tau:g}")
        bound = problem.bound(alpha, tau)
        seconds, ours = cpu(locally_constant, problem.S, alpha, tau, problem.pairs, tol=THRESHOLD)
        # The solver's own units, in which the penalised variances are one.
        unit = 1.0 + alpha
        whole = FusedProblem(
            S=problem.S / unit,
            thresholds=np.full((p, p), alpha / unit),
            tau=tau / unit,
            pairs=problem.pairs,
        )
        with threadpool_limits(1):
            whole_seconds, (found, _, _) = cpu(split_layers, whole, THRESHOLD * p, MAX_ITER)
        sizes = sorted(len(block) for block in split_blocks(whole))
        rows.append(
            {
                "problem": problem.name,
                "n": problem.n,
                "alpha": alpha,
                "tau": tau,
                "single variables": sizes.count(1),
                "other blocks": ", ".join(str(size) for size in sizes if size > 1) or None,
                "CPU": seconds,
                "gap/p": problem.excess(ours.value, alpha, tau, bound) / p,
                "whole CPU": whole_seconds,
                "whole gap/p": problem.excess(found.Theta / unit, alpha, tau, bound) / p,
                "whole / split": whole_seconds / seconds,
            }
        )
    return rows


TABLES: dict[str, tuple[str, Callable[[Plan], list[Row]]]] = {
    "solve": ("One solve", solve_rows),
    CVXPY: ("Beside CVXPY", cvxpy_rows),
    "path": ("Six taus, warm and cold", path_rows),
    "screening": ("With and without screening", screening_rows),
}


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if value is None:
        return "-"
    if title.endswith(("CPU", "goal")):
        return duration(value)
    if title.endswith(("gap/p", "excess")):
        return f"{value:.0e}"
    if " / " in title:
        return f"{value:.3g}x"
    return str(value)


def _missing() -> dict[str, str]:
    """Tables whose peer is not here, and why."""
    return {} if importlib.util.find_spec("cvxpy") else {CVXPY: "it is not installed"}


BENCHMARK = Benchmark(
    "space",
    (__doc__ or "").splitlines()[0],
    (FULL, QUICK),
    TABLES,
    written,
    [
        "CPU seconds, compilation left out. Every `gap/p` is the objective less one lower bound on",
        "the optimum, per variable, by the certificate of the benchmark; `own` is the solver's.",
    ],
    lambda tables: warm_up(),
    _missing,
)

if __name__ == "__main__":
    BENCHMARK.main()
