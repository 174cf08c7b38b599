"""Class networks: CPU seconds of KL-SGBN and MM-SGBN, beside SLSQP on the same problems.

Run from the root of the repository::

    python -m benchmarks.classify --markdown table.md --json results.json
    python -m benchmarks.classify --quick

Progress goes to standard error, the tables to standard output. README.md beside this file says
how it measures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

from benchmarks.classify_peers import (
    CLOSE,
    DEFAULT,
    ClassProblem,
    first_as_low,
    fisher_by_slsqp,
    margin_by_slsqp,
    timed_solve,
)
from benchmarks.report import duration, say
from benchmarks.space import cpu
from benchmarks.tables import Benchmark, Row
from edgewise import BayesNetClassifier
from edgewise.estimators.classify.class_networks import hard_machine
from edgewise.solvers.classify.class_networks import (
    ClassNetworksSolution,
    fisher_networks,
    margin_networks,
)
from edgewise.solvers.classify.fisher_scores import score_correlations, select_arcs

Array = NDArray[Any]

#: Variables, rows and arcs of the problem with goals, and CPU seconds that its fits may take.
SIZE = (40, 60, 100)
GOALS = {"fisher": 0.1, "margin": 0.3}
#: How much longer SLSQP should take at least.
LEAD = 7.0
ALPHA = 0.15
BIASES = ("free", "penalized")
PUBLISHED_NAMES = {"fisher": "KL-SGBN", "margin": "MM-SGBN"}
SOLVERS: dict[str, Callable[..., ClassNetworksSolution]] = {
    "fisher": partial(fisher_networks, machine=hard_machine),
    "margin": margin_networks,
}
PEERS = {"fisher": fisher_by_slsqp, "margin": margin_by_slsqp}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Numbers of arcs for SLSQP, and variables, rows and arcs of the fits that grow."""

    arcs: tuple[int, ...]
    sizes: tuple[tuple[int, int, int], ...]


FULL = Plan(
    arcs=(30, 100, 200),
    sizes=(SIZE, (80, 60, 100), (160, 60, 100), (40, 120, 100), (40, 240, 100), (40, 60, 400)),
)
QUICK = Plan(arcs=(30, 100), sizes=(SIZE, (40, 120, 100)))


def draw(m: int, n: int) -> tuple[Array, Array]:
    """Rows of two networks of linear equations: a third of the arcs and some means differ."""
    rng = np.random.default_rng(1)
    coefs = np.zeros((2, m, m))
    for j in range(1, m):
        parents = rng.choice(j, size=min(j, 3), replace=False)
        coefs[:, parents, j] = rng.uniform(0.2, 0.5, len(parents)) * rng.choice([-1, 1])
        coefs[1, parents[0], j] *= -1
    labels = np.repeat([0, 1], n // 2)
    shift = np.where(rng.random(m) < 0.25, 0.5, 0.0)
    noise = rng.standard_normal((n, m)) + labels[:, None] * shift
    X = np.empty((n, m))
    for c in (0, 1):
        X[labels == c] = noise[labels == c] @ np.linalg.inv(np.eye(m) - coefs[c])
    return X, labels


def breast() -> tuple[Array, Array]:
    """Take 30 rows of each class of scikit-learn's breast cancer table."""
    data = load_breast_cancer()
    rows = np.concatenate([np.flatnonzero(data.target == c)[:30] for c in (0, 1)])
    return data.data[rows], data.target[rows]


def problem_of(X: Array, y: Array, bias: str, n_arcs: int) -> ClassProblem:
    """Where the learning starts: what `BayesNetClassifier` hands to its solvers."""
    model = BayesNetClassifier("generative", alpha=ALPHA, bias=bias).fit(X, y)
    standard = (X - model.location_) / model.scale_
    coefs = model.start_coef_
    allowed = coefs != 0
    allowed[:, -1] = True
    arcs = select_arcs(score_correlations(standard, y, coefs), allowed, n_arcs)
    return ClassProblem(X=standard, labels=y, coefs=coefs, arcs=arcs)


def learn(learning: str, problem: ClassProblem) -> ClassNetworksSolution:
    return SOLVERS[learning](problem.X, problem.labels, problem.coefs, problem.arcs)


def fit(learning: str, bias: str, n_arcs: int, X: Array, y: Array) -> BayesNetClassifier:
    return BayesNetClassifier(learning, alpha=ALPHA, bias=bias, n_edges=n_arcs).fit(X, y)


def timed(learning: str, bias: str, n_arcs: int, X: Array, y: Array) -> Row:
    """Time a whole fit, and the learning of the networks together alone."""
    seconds, model = cpu(fit, learning, bias, n_arcs, X, y)
    problem = problem_of(X, y, bias, n_arcs)
    alone, found = cpu(learn, learning, problem)
    return {
        "CPU": seconds,
        "learning CPU": alone,
        "arcs moved": len(problem.arcs),
        "iterations": found.n_iter,
        "objective at start": found.start,
        "objective": found.objective,
        "converged": str(model.converged_),
    }


def fit_rows(plan: Plan) -> list[Row]:
    """Fit the problems that have goals, and a real table of about that size."""
    m, n, n_arcs = SIZE
    rows = []
    for table, (X, y) in {f"{m} simulated": draw(m, n), "breast cancer": breast()}.items():
        for learning, goal in GOALS.items():
            for bias in BIASES:
                say(f"fit, {table}, {learning}, {bias}")
                about = {"table": table, "learning": PUBLISHED_NAMES[learning], "bias": bias}
                rows.append(about | {"goal": goal} | timed(learning, bias, n_arcs, X, y))
    return rows


def slsqp_rows(plan: Plan) -> list[Row]:
    """Solve the same problems by SLSQP."""
    m, n, _ = SIZE
    rows = []
    for table, (X, y) in {f"{m} simulated": draw(m, n), "breast cancer": breast()}.items():
        for learning, by_slsqp in PEERS.items():
            for n_arcs in plan.arcs:
                say(f"SLSQP, {table}, {learning}, {n_arcs} arcs")
                problem = problem_of(X, y, "penalized", n_arcs)
                seconds, found = cpu(learn, learning, problem)
                taken, objective, ftol = first_as_low(by_slsqp, problem, found.objective)
                usual, _ = timed_solve(by_slsqp, problem, DEFAULT)
                rows.append(
                    {
                        "table": table,
                        "learning": PUBLISHED_NAMES[learning],
                        "arcs": len(problem.arcs),
                        "learning CPU": seconds,
                        "objective": found.objective,
                        "SLSQP CPU": taken,
                        "SLSQP objective": objective,
                        "SLSQP tolerance": ftol,
                        "SLSQP / ours": taken / seconds,
                        "SLSQP default CPU": usual,
                        "default / ours": usual / seconds,
                        "goal / ours": LEAD,
                    }
                )
    return rows


def size_rows(plan: Plan) -> list[Row]:
    """See how fits grow with variables, rows and arcs."""
    rows = []
    for m, n, n_arcs in plan.sizes:
        X, y = draw(m, n)
        row: Row = {"variables": m, "rows": n}
        for learning, name in PUBLISHED_NAMES.items():
            say(f"size, {m} variables, {n} rows, {n_arcs} arcs, {learning}")
            found = timed(learning, "penalized", n_arcs, X, y)
            row["arcs moved"] = found["arcs moved"]
            row |= {f"{name} {title}": found[title] for title in ("CPU", "learning CPU")}
        rows.append(row)
    return rows


TABLES: dict[str, tuple[str, Callable[[Plan], list[Row]]]] = {
    "fit": ("Whole fits", fit_rows),
    "slsqp": ("Beside SLSQP", slsqp_rows),
    "size": ("Cost against size", size_rows),
}


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if title.endswith("CPU"):
        return duration(value)
    if title == "goal":
        return f"{value:g} s"
    if " / " in title:
        return f"{value:.3g}x"
    if "objective" in title:
        return f"{value:.4f}"
    return f"{value:.0e}" if isinstance(value, float) else str(value)


def prepare(tables: Sequence[str]) -> None:
    """Compile everything that is timed."""
    X, y = draw(6, 20)
    for bias in BIASES:
        for learning in GOALS:
            fit(learning, bias, 10, X, y)


BENCHMARK = Benchmark(
    "classify",
    (__doc__ or "").splitlines()[0],
    (FULL, QUICK),
    TABLES,
    written,
    [
        f"CPU seconds, compilation left out; alpha {ALPHA:g}, slack 0.01, C 1, nu 0.5. SLSQP is",
        f"credited with the coarsest tolerance that comes within {CLOSE:g} of our objective.",
    ],
    prepare,
)

if __name__ == "__main__":
    BENCHMARK.main()
