"""Change between two networks: CPU seconds of the density ratio, primal and dual, size, peers.

Run from the root of the repository::

    python -m benchmarks.change --markdown table.md --json results.json
    python -m benchmarks.change --quick

Progress goes to standard error, the tables to standard output. README.md beside this file says
how it measures.
"""

from __future__ import annotations

import importlib.util
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.change_peers import (
    PYANOM_PYTHON,
    SPARSITY,
    Fused,
    Joint,
    lbfgs_path,
    pyanom_rows,
    time_gglasso,
    time_joint,
)
from benchmarks.discrete import alone
from benchmarks.report import duration, say
from benchmarks.space import cpu
from benchmarks.tables import Benchmark
from benchmarks.worker import peak_memory
from edgewise.data import make_gaussian_change
from edgewise.inference import compare_networks
from edgewise.solvers import density_ratio
from edgewise.solvers.change.density_ratio import RatioSolution, density_ratio_path, ratio_alpha_max

Row = dict[str, Any]
Array = NDArray[Any]

#: Rows of each group, ridge, duality gap to be reached at every alpha, and alphas.
N_SAMPLES, RIDGE, GAP, N_ALPHAS = 150, 0.1, 1e-6, 20
#: Two ranges of alpha: down to where nearly all pairs are active, and the sparse part.
DENSE, SPARSE = "1 to 1e-4", "largest to a fifth"
#: CPU seconds that the three paths may take, and bytes that the large fit may.
GOAL_SECONDS = {(80, DENSE): 0.2, (500, SPARSE): 2.0, (1000, SPARSE): 6.0}
GOAL_BYTES = 3 * 10**9
FUSED, JOINT, PYANOM = "fused", "joint", "pyanom"
#: Groups, rows of each, both strengths, and gap per variable and group of the joint lasso.
N_GROUPS, GROUP_ROWS, ALPHAS, COUPLING, JOINT_GAP = 3, 300, (0.1, 0.2), 0.05, 1e-6
#: Permutations, rows of each of two groups and columns of the test with a goal in seconds.
N_PERMUTATIONS, TEST_ROWS, TEST_COLUMNS, GOAL_TEST = 1000, 300, 30, 20.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Variables of the problems of each table."""

    path: tuple[tuple[int, str], ...]
    solvers: tuple[tuple[int, str], ...]
    cost: tuple[int, ...]
    large: int
    lbfgs: tuple[tuple[int, str], ...]
    fused: tuple[int, ...]
    joint: tuple[int, ...]
    pyanom: int


FULL = Plan(
    path=tuple(GOAL_SECONDS),
    solvers=(*((d, DENSE) for d in (40, 50, 60, 70, 80)), (200, SPARSE), (500, SPARSE)),
    cost=(125, 250, 500, 1000, 2000),
    large=5000,
    lbfgs=((40, DENSE), (80, DENSE), (80, SPARSE), (160, SPARSE)),
    fused=(40, 80),
    joint=(100, 300, 1000),
    pyanom=40,
)
QUICK = Plan(
    path=((80, DENSE), (200, SPARSE)),
    solvers=((40, DENSE), (80, SPARSE)),
    cost=(50, 100, 200),
    large=1000,
    lbfgs=((40, DENSE),),
    fused=(20,),
    joint=(30,),
    pyanom=20,
)


def draw(d: int) -> tuple[Array, Array]:
    """Rows before and after the change of 15 edges.

    A quarter of all pairs are edges or, where that is not positive definite, 10 per variable.
    """
    data = make_gaussian_change(d, N_SAMPLES, n_neighbors=10 if d > 100 else None, rng=1)
    return data.first, data.second


def alphas_of(first: Array, second: Array, span: str) -> Array:
    if span == DENSE:
        return np.logspace(0, -4, N_ALPHAS)
    return ratio_alpha_max(second, first, ridge=RIDGE) * np.geomspace(1.0, 0.2, N_ALPHAS)


def walk(first: Array, second: Array, alphas: Array, solver: str = "auto") -> list[RatioSolution]:
    tol = GAP / first.shape[1]
    return list(density_ratio_path(second, first, alphas, ridge=RIDGE, solver=solver, tol=tol))


def warm_up() -> None:
    """Compile everything that is timed."""
    first, second = draw(20)
    for solver in ("dual", "primal"):
        walk(first, second, np.array([0.5, 0.01]), solver)


def _counts(solutions: list[RatioSolution]) -> Row:
    last = solutions[-1].value
    return {
        "steps": sum(solution.n_iter for solution in solutions),
        "worst gap": max(solution.gap for solution in solutions),
        "active at the end": int(np.count_nonzero(np.triu(last[:, :, 0]))),
    }


def path_rows(plan: Plan) -> list[Row]:
    """Walk the paths that have a goal."""
    rows = []
    for d, span in plan.path:
        say(f"path, {d} variables, {span}")
        first, second = draw(d)
        alphas = alphas_of(first, second, span)
        seconds, found = cpu(walk, first, second, alphas)
        goal = GOAL_SECONDS.get((d, span))
        rows.append(
            {"variables": d, "pairs": d * (d + 1) // 2, "alphas": span, "CPU": seconds}
            | {"goal": goal}
            | _counts(found)
        )
    return rows


def solver_rows(plan: Plan) -> list[Row]:
    """Walk paths with both solvers."""
    rows = []
    for d, span in plan.solvers:
        first, second = draw(d)
        alphas = alphas_of(first, second, span)
        row: Row = {"variables": d, "alphas": span}
        for solver in ("dual", "primal"):
            say(f"{solver}, {d} variables, {span}")
            seconds, found = cpu(walk, first, second, alphas, solver)
            counts = _counts(found)
            row |= {
                f"{solver} CPU": seconds,
                f"{solver} steps": counts["steps"],
                f"{solver} worst gap": counts["worst gap"],
            }
        row["primal / dual"] = row["primal CPU"] / row["dual CPU"]
        rows.append(row)
    return rows


def cost_rows(plan: Plan) -> list[Row]:
    """See how the time grows with the variables: the last row has the exponent of all."""
    rows: list[Row] = []
    for d in plan.cost:
        say(f"cost, {d} variables")
        first, second = draw(d)
        seconds, found = cpu(walk, first, second, alphas_of(first, second, SPARSE))
        exponent = None
        if rows:
            exponent = math.log(seconds / rows[-1]["CPU"]) / math.log(d / rows[-1]["variables"])
        rows.append({"variables": d, "CPU": seconds, "exponent": exponent} | _counts(found))
    slope = np.polyfit(
        np.log([row["variables"] for row in rows]), np.log([row["CPU"] for row in rows]), 1
    )[0]
    rows.append(dict.fromkeys(rows[0]) | {"variables": "all", "exponent": float(slope)})
    return rows


def large_rows(plan: Plan) -> list[Row]:
    """Solve one large problem in a process of its own."""
    return [alone(_fit_large, plan.large)]


def _fit_large(d: int) -> Row:
    warm_up()
    rng = np.random.default_rng(1)
    first, second = rng.standard_normal((2, N_SAMPLES, d))
    # 20 pairs of variables that have become dependent.
    second[:, 1:40:2] = 0.8 * second[:, :40:2] + 0.6 * second[:, 1:40:2]
    before = peak_memory()
    with threadpool_limits(1):
        start = time.process_time()
        alpha = 0.5 * ratio_alpha_max(second, first, ridge=RIDGE)
        found = density_ratio(second, first, alpha, ridge=RIDGE, tol=GAP / d)
        seconds = time.process_time() - start
    return {
        "variables": d,
        "pairs": d * (d + 1) // 2,
        "CPU": seconds,
        "peak memory": peak_memory(),
        "memory goal": GOAL_BYTES,
        "memory before": before,
    } | _counts([found])


def lbfgs_rows(plan: Plan) -> list[Row]:
    """Solve the same problem by L-BFGS with all features in memory."""
    rows = []
    for d, span in plan.lbfgs:
        say(f"L-BFGS, {d} variables, {span}")
        first, second = draw(d)
        alphas = alphas_of(first, second, span)
        seconds, found = cpu(walk, first, second, alphas)
        taken, worst = cpu(lbfgs_path, first, second, RIDGE, alphas, GAP)
        rows.append(
            {
                "variables": d,
                "alphas": span,
                "CPU": seconds,
                "worst gap": _counts(found)["worst gap"],
                "L-BFGS CPU": taken,
                "L-BFGS worst gap": worst,
                "L-BFGS / ours": taken / seconds,
            }
        )
    return rows


def fused_rows(plan: Plan) -> list[Row]:
    """Walk a path of the fused graphical lasso, another model of the same change."""
    Fused.of_rows(*draw(20), 2, 0.5).gglasso(1e-3)
    rows = []
    for d in plan.fused:
        say(f"fused graphical lasso, {d} variables")
        first, second = draw(d)
        seconds, _ = cpu(walk, first, second, alphas_of(first, second, SPARSE))
        fused = Fused.of_rows(first, second, N_ALPHAS, 0.2)
        ours, found = cpu(fused.ours, GAP)
        taken, worst, residual = time_gglasso(fused, GAP)
        rows.append(
            {
                "variables": d,
                "density ratio CPU": seconds,
                "ours, fused CPU": ours,
                "ours, fused worst gap": max(solution.gap for solution in found),
                "gglasso CPU": taken,
                "gglasso worst gap": worst,
                "gglasso tolerance": residual,
                "gglasso / ours, fused": taken / ours,
                "gglasso / density ratio": taken / seconds,
            }
        )
    return rows


def draw_groups(d: int) -> Array:
    """Correlations of two networks that share most of their edges, and of a mixture of both."""
    data = make_gaussian_change(d, GROUP_ROWS, n_neighbors=4, rng=1)
    both = np.concatenate([data.first, data.second])
    mixed = both[np.random.default_rng(1).choice(len(both), GROUP_ROWS)]
    return np.stack([np.corrcoef(rows, rowvar=False) for rows in (data.first, data.second, mixed)])


def joint_rows(plan: Plan) -> list[Row]:
    """Solve the joint graphical lasso of three groups, by us and by gglasso, at equal gaps."""
    for penalty in ("fused", "group"):
        small = Joint(S=draw_groups(20), alpha=ALPHAS[0], coupling=COUPLING, penalty=penalty)
        small.ours(JOINT_GAP)
        small.gglasso(1e-3)
    rows = []
    for d, alpha, penalty in product(plan.joint, ALPHAS, ("fused", "group")):
        say(f"joint graphical lasso, {penalty}, {d} variables, alpha {alpha:g}")
        joint = Joint(S=draw_groups(d), alpha=alpha, coupling=COUPLING, penalty=penalty)
        seconds, solution = cpu(joint.ours, JOINT_GAP)
        taken, worst, residual = time_joint(joint, JOINT_GAP * d * N_GROUPS)
        rows.append(
            {
                "variables": d,
                "alpha": f"{alpha:g}",
                "penalty": penalty,
                "ours CPU": seconds,
                "gap": solution.gap,
                "gglasso CPU": taken,
                "gglasso gap": worst,
                "gglasso tolerance": residual,
                "gglasso / ours": taken / seconds,
            }
        )
    return rows


def permutation_rows(plan: Plan) -> list[Row]:
    """Test whether two networks differ."""
    del plan
    say("permutations")
    X = np.random.default_rng(0).normal(size=(2 * TEST_ROWS, TEST_COLUMNS))
    y = np.repeat([0, 1], TEST_ROWS)
    compare_networks(X[:, :3], y, n_permutations=9)
    seconds, test = cpu(partial(compare_networks, n_permutations=N_PERMUTATIONS), X, y)
    return [
        {
            "rows": f"{TEST_ROWS} + {TEST_ROWS}",
            "columns": TEST_COLUMNS,
            "permutations": test.n_permutations,
            "goal": GOAL_TEST,
            "CPU": seconds,
        }
    ]


def anomaly_rows(plan: Plan) -> list[Row]:
    """Run pyanom at one alpha, with its own settings."""
    say(f"pyanom, {plan.pyanom} variables")
    first, second = draw(plan.pyanom)
    return pyanom_rows(first, second, RIDGE, 0.3 * ratio_alpha_max(second, first, ridge=RIDGE))


TABLES: dict[str, tuple[str, Callable[[Plan], list[Row]]]] = {
    "path": ("Paths of 20 alphas", path_rows),
    "solvers": ("Dual and primal", solver_rows),
    "cost": ("Cost against the number of variables", cost_rows),
    "large": ("One fit of many variables", large_rows),
    "lbfgs": ("Beside L-BFGS on explicit features", lbfgs_rows),
    FUSED: (f"Beside a fused graphical lasso, sparsity {SPARSITY:g}", fused_rows),
    JOINT: (f"Joint graphical lasso of {N_GROUPS} groups", joint_rows),
    "test": ("Permutation test of two networks", permutation_rows),
    PYANOM: ("Beside pyanom", anomaly_rows),
}


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if value is None:
        return "-"
    if title.endswith("CPU"):
        return duration(value)
    if title == "goal":
        return f"{value:g} s"
    if "memory" in title:
        return f"{value / 10**9:.2f} GB"
    if " / " in title:
        return f"{value:.3g}x"
    if title == "exponent":
        return f"{value:.2f}"
    if "objective" in title or title == "optimum":
        return f"{value:.4f}"
    return f"{value:.0e}" if isinstance(value, float) else str(value)


def _missing() -> dict[str, str]:
    """Tables whose peer is not here, and why."""
    missing = {}
    if importlib.util.find_spec("gglasso") is None:
        missing[FUSED] = missing[JOINT] = "gglasso is not installed"
    if PYANOM_PYTHON not in os.environ and importlib.util.find_spec("pyanom") is None:
        missing[PYANOM] = f"pyanom is not installed, and {PYANOM_PYTHON} is not set"
    return missing


BENCHMARK = Benchmark(
    "change",
    (__doc__ or "").splitlines()[0],
    (FULL, QUICK),
    TABLES,
    written,
    [
        f"CPU seconds, compilation left out; {N_SAMPLES} rows per group, ridge {RIDGE:g}, duality",
        f"gap at most {GAP:g} at every one of {N_ALPHAS} alphas.",
    ],
    lambda tables: warm_up(),
    _missing,
)

if __name__ == "__main__":
    BENCHMARK.main()
