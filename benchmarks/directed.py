"""Directed networks: CPU seconds of fits, of the order step beside HiGHS, of Table 4, and peers.

Run from the root of the repository::

    python -m benchmarks.directed --markdown table.md --json results.json
    python -m benchmarks.directed --quick

Progress goes to standard error, the tables to standard output. README.md beside this file says
how it measures.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from benchmarks.report import duration, say
from benchmarks.space import cpu
from benchmarks.tables import Benchmark, Row
from edgewise import BlanketBayesNet, DirectedGraph, GaussianBayesNet
from edgewise.data import load_dag, make_dag, make_linear_sem
from edgewise.metrics import pdag_errors
from edgewise.solvers import markov_blankets, order_given_weights
from edgewise.solvers.directed.blankets import total_conditioning
from edgewise.solvers.directed.order import bcd_bayes_net, order_bayes_net
from edgewise.solvers.directed.scores import topological_order
from edgewise.solvers.lasso.gram import neighborhood_lasso
from studies.directed import networks
from studies.directed.methods import (
    ALPHA,
    NETWORKS,
    count_errors,
    installed_peers,
    list_methods,
    peer,
    simulate,
)

Array = NDArray[Any]

#: Python that has causal-learn, ges or dagma, if this one has not; of the same version.
PEERS_PYTHON = "EDGEWISE_BENCH_DAGS"
#: Rows of every table, and neighbours of a variable on average.
N_ROWS, DEGREE = 1000, 3.0
LITERAL, HOMOTOPY, TC = "OR-SGBN, literal", "OR-SGBN, homotopy", "TC"
#: CPU seconds that a fit may take, by method and variables.
GOAL_SECONDS = {(LITERAL, 40): 0.01, (LITERAL, 500): 0.25, (HOMOTOPY, 500): 2.5, (TC, 500): 1.0}
#: CPU seconds of the order step with dense weights, and how many times as long HiGHS should take.
GOAL_ORDER, GOAL_RATIO = {500: 0.1}, {100: 10.0}
SPARSE, DENSE = "lasso", "least squares"
CLASSES, PEERS = "classes", "peers"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Variables of the problems of each table, and simulations."""

    fit: tuple[int, ...]
    order: tuple[int, ...]
    largest_program: dict[str, int]
    n_simulations: int
    classes: tuple[int, ...]
    large: tuple[int, ...]


FULL = Plan(
    fit=(40, 100, 200, 500),
    order=(40, 100, 200, 500),
    largest_program={SPARSE: 500, DENSE: 100},
    n_simulations=3,
    classes=(20, 50, 100),
    large=(1000,),
)
QUICK = Plan(
    fit=(40, 100),
    order=(40, 100),
    largest_program={SPARSE: 100, DENSE: 40},
    n_simulations=1,
    classes=(20,),
    large=(),
)


def draw(m: int) -> Array:
    """Standardised rows of a random network."""
    model = make_linear_sem(make_dag(m, degree=DEGREE, rng=m), permute=True, rng=m)
    return model.sample(N_ROWS, rng=m, standardize=True)


def correlations(rows: Array) -> Array:
    R: Array = np.corrcoef(rows, rowvar=False)
    return np.asarray((R + R.T) / 2.0)


#: Solvers that take correlations, and estimators that take rows, by name.
FITS: dict[str, tuple[Callable[[Array], Any], Callable[[Array], Any]]] = {
    LITERAL: (
        lambda R: order_bayes_net(R, ALPHA, schedule="literal"),
        lambda rows: GaussianBayesNet(ALPHA, schedule="literal").fit(rows),
    ),
    HOMOTOPY: (
        lambda R: order_bayes_net(R, ALPHA),
        lambda rows: GaussianBayesNet(ALPHA).fit(rows),
    ),
    "H-SGBN": (
        lambda R: bcd_bayes_net(R, ALPHA),
        lambda rows: GaussianBayesNet(ALPHA, "bcd").fit(rows),
    ),
    TC: (
        lambda R: total_conditioning(R, N_ROWS),
        lambda rows: BlanketBayesNet("tc").fit(rows),
    ),
    "IAMB": (
        lambda R: markov_blankets(R, N_ROWS),
        lambda rows: BlanketBayesNet("iamb").fit(rows),
    ),
}


def warm_up() -> None:
    """Compile everything that is timed."""
    rows = draw(12)
    for solve, fit in FITS.values():
        solve(correlations(rows))
        fit(rows)
    data = simulate("chain", np.random.default_rng(0))
    for learn in list_methods().values():
        learn(data)


def fit_rows(plan: Plan) -> list[Row]:
    """Learn random networks of growing size."""
    table = []
    for m in plan.fit:
        rows = draw(m)
        R = correlations(rows)
        for name, (solve, fit) in FITS.items():
            say(f"{name}, {m} variables")
            solver, _ = cpu(solve, R)
            estimator, model = cpu(fit, rows)
            table.append(
                {
                    "variables": m,
                    "method": name,
                    "solver CPU": solver,
                    "estimator CPU": estimator,
                    "goal": GOAL_SECONDS.get((name, m)),
                    "arcs": model.graph_.n_edges,
                }
            )
    return table


def order_rows(plan: Plan) -> list[Row]:
    """Find tiers for the weights that a lasso or least squares starts from."""
    table = []
    for m in plan.order:
        R = correlations(draw(m))
        for start in (SPARSE, DENSE):
            say(f"order, {m} variables, {start}")
            weights = start_weights(R, start)
            seconds, found = cpu(order_given_weights, weights)
            row: Row = {
                "variables": m,
                "weights from": start,
                "arcs": int(np.count_nonzero(weights)),
                "tiers": int(found.tiers.max()) + 1,
                "ours CPU": seconds,
                "goal": GOAL_ORDER.get(m) if start == DENSE else None,
                "HiGHS CPU": None,
                "HiGHS / ours": None,
                "goal of ratio": GOAL_RATIO.get(m) if start == DENSE else None,
                "difference": None,
            }
            if m <= plan.largest_program[start]:
                taken, objective = cpu(agony_by_program, weights)
                row |= {
                    "HiGHS CPU": taken,
                    "HiGHS / ours": taken / seconds,
                    "difference": abs(objective - found.agony) / max(objective, 1e-12),
                }
            table.append(row)
    return table


def start_weights(R: Array, start: str) -> Array:
    """Coefficients of each variable on all others, without an order."""
    if start == DENSE:
        K = np.linalg.inv(R)
        regression: Array = -K / K.diagonal()
        np.fill_diagonal(regression, 0.0)
        return regression
    coef: Array = neighborhood_lasso(R, ALPHA).value
    return coef


def agony_by_program(weights: Array) -> float:
    """Agony as a linear program, by HiGHS: what a tier falls short of its parents' by one costs."""
    tails, heads = np.nonzero(weights)
    n_arcs, m = len(tails), len(weights)
    every = np.arange(n_arcs)
    rises: Any = sparse.coo_array(
        (
            np.concatenate([np.ones(n_arcs), -np.ones(n_arcs), -np.ones(n_arcs)]),
            (np.tile(every, 3), np.concatenate([tails, heads, m + every])),
        ),
        shape=(n_arcs, m + n_arcs),
    )
    costs = np.concatenate([np.zeros(m), np.abs(weights[tails, heads])])
    found: Any = linprog(costs, A_ub=rises.tocsr(), b_ub=-np.ones(n_arcs), method="highs")
    return float(found.fun)


def study_rows(plan: Plan) -> list[Row]:
    """Run simulations of Table 4, with all methods, and see what 50 of each take."""
    table: list[Row] = []
    for network in NETWORKS:
        say(f"Table 4, {network}")
        start = time.process_time()
        for repetition in range(plan.n_simulations):
            rng = np.random.default_rng(repetition)
            networks.run_task(rng, network=network, repetition=repetition)
        seconds = (time.process_time() - start) / plan.n_simulations
        table.append({"network": network, "one CPU": seconds, "fifty CPU": 50 * seconds})
    total = sum(row["one CPU"] for row in table)
    table.append({"network": "all", "one CPU": total, "fifty CPU": 50 * total})
    return table


def peer_rows(_: Plan) -> list[Row]:
    """Learn Alarm by ours and by what other packages have."""
    own = {
        "IAMB": lambda rows: BlanketBayesNet("iamb").fit(rows).graph_.adjacency,
        "TC": lambda rows: BlanketBayesNet("tc").fit(rows).graph_.adjacency,
        LITERAL: lambda rows: FITS[LITERAL][1](rows).graph_.adjacency,
        HOMOTOPY: lambda rows: FITS[HOMOTOPY][1](rows).graph_.adjacency,
    }
    theirs = {name: peer(name) for name in installed_peers()}
    data = simulate("alarm", np.random.default_rng(0))
    table: list[Row] = []
    for name, learn in {**own, **theirs}.items():
        say(f"Alarm, {name}")
        time_it = cpu if name in own else once
        seconds, found = time_it(learn, data.standardized)
        table.append(
            {
                "method": name,
                "CPU": seconds,
                "CPU / IAMB": seconds / table[0]["CPU"] if table else 1.0,
                "total errors": count_errors(data.arcs, found)["total"],
            }
        )
    return table


#: Largest networks that other packages get, by degree: they take minutes beyond.
LARGEST_PEER = {2: 50, 4: 50, 8: 20}
#: Largest network that GES of causal-learn gets: at 50 variables it takes minutes.
LARGEST_GES = 20
#: Penalties of causal-learn's BIC: its own, and as much as ours has by default.
LAMBDAS = (0.5, 1.0)


def class_rows(plan: Plan) -> list[Row]:
    """Learn random networks and those of the study; count errors of the equivalence class."""
    table: list[Row] = []
    for m in plan.classes:
        for degree in (2, 4, 8):
            graphs = [make_dag(m, degree=degree, rng=k) for k in range(plan.n_simulations)]
            has_peers = m <= LARGEST_PEER[degree]
            table += learn_classes(f"{m} variables, degree {degree}", graphs, has_peers=has_peers)
    for name in NETWORKS if len(plan.classes) > 1 else ():
        table += learn_classes(name, [load_dag(name).adjacency] * plan.n_simulations)
    for m in plan.large:
        table += learn_classes(f"{m} variables, degree 4", [make_dag(m, degree=4, rng=0)])
    return table


def learn_classes(name: str, graphs: Sequence[Array], *, has_peers: bool = False) -> list[Row]:
    """Rows of one kind of network, a row for each method."""
    is_large = len(graphs[0]) > 200
    learners = {
        method: lambda rows, method=method: DirectedGraph(method).fit(rows).cpdag_.adjacency
        for method in ("boss", "ges", "pc", "blankets")
        if method in ("boss", "blankets") or not is_large
    }
    if has_peers and importlib.util.find_spec("causallearn"):
        theirs = causal_learners()
        if len(graphs[0]) > LARGEST_GES:
            theirs = {key: learn for key, learn in theirs.items() if not key.startswith("GES")}
        learners |= theirs
    seconds: dict[str, list[float]] = {method: [] for method in learners}
    errors: dict[str, list[int]] = {method: [] for method in learners}
    for k, graph in enumerate(graphs):
        model = make_linear_sem(graph, permute=True, rng=k)
        rows = model.sample(N_ROWS, rng=k, standardize=True)
        for method, learn in learners.items():
            say(f"{name}, draw {k}, {method}")
            taken, found = (once if "causal-learn" in method else cpu)(learn, rows)
            seconds[method].append(taken)
            errors[method].append(pdag_errors(model.adjacency, found).entries)
    return [
        {
            "network": name,
            "method": method,
            "CPU": float(np.mean(seconds[method])),
            "errors": f"{np.mean(errors[method]):.1f}",
        }
        for method in learners
    ]


def draw_levels(arcs: Array, n_rows: int, rng: np.random.Generator) -> Array:
    """Rows of a network of two or three levels with random probabilities, as text."""
    n_levels = rng.integers(2, 4, len(arcs))
    codes = np.zeros((n_rows, len(arcs)), dtype=np.int64)
    for child in topological_order(arcs).tolist():
        parents = np.flatnonzero(arcs[:, child])
        cells = np.zeros(n_rows, dtype=np.int64)
        for parent in parents.tolist():
            cells = cells * n_levels[parent] + codes[:, parent]
        chances = rng.dirichlet(np.full(n_levels[child], 0.5), int(np.prod(n_levels[parents])))
        limits = np.cumsum(chances[cells], axis=1)[:, :-1]
        codes[:, child] = (rng.uniform(size=(n_rows, 1)) > limits).sum(axis=1)
    return codes


def level_rows(plan: Plan) -> list[Row]:
    """Learn networks of levels, shuffled; count errors of the equivalence class."""
    table: list[Row] = []
    for name in ("asia", "alarm"):
        arcs = load_dag(name).adjacency
        for n_rows in (1000, 5000):
            draws = []
            for k in range(plan.n_simulations):
                rng = np.random.default_rng(k)
                codes, order = draw_levels(arcs, n_rows, rng), rng.permutation(len(arcs))
                order = order[[len(np.unique(codes[:, k])) > 1 for k in order]]
                draws.append(
                    (codes[:, order].astype(str).astype(object), arcs[np.ix_(order, order)])
                )
            for method, score in (("boss", "bic"), ("boss", "bdeu"), ("ges", "bic"), ("pc", "bic")):
                say(f"levels, {name}, {n_rows} rows, {method}, {score}")
                learner = DirectedGraph(method, criterion=score)
                found = [(cpu(learner.fit, rows), true) for rows, true in draws]
                errors = [
                    pdag_errors(true, fit.cpdag_.adjacency).entries for (_, fit), true in found
                ]
                table.append(
                    {
                        "network": name,
                        "rows": n_rows,
                        "method": f"{method}, {score}",
                        "CPU": float(np.mean([seconds for (seconds, _), _ in found])),
                        "errors": f"{np.mean(errors):.1f}",
                    }
                )
    return table


def causal_learners() -> dict[str, Callable[[Array], Array]]:
    """Return BOSS, GRaSP, GES and PC of causal-learn, the scored ones at either penalty."""
    search = "causallearn.search."
    boss = importlib.import_module(f"{search}PermutationBased.BOSS").boss
    grasp = importlib.import_module(f"{search}PermutationBased.GRaSP").grasp
    ges = importlib.import_module(f"{search}ScoreBased.GES").ges
    pc = importlib.import_module(f"{search}ConstraintBased.PC").pc

    def by_order(function: Callable[..., Any], penalty: float) -> Callable[[Array], Array]:
        options = {"parameters": {"lambda_value": penalty}, "verbose": False}
        return lambda rows: class_of(quietly(function, rows, **options))

    def by_classes(penalty: float) -> Callable[[Array], Array]:
        return lambda rows: class_of(quietly(ges, rows, lambda_value=penalty)["G"])

    found: dict[str, Callable[[Array], Array]] = {}
    for penalty in LAMBDAS:
        label = f"(causal-learn, lambda {penalty:g})"
        found[f"BOSS {label}"] = by_order(boss, penalty)
        found[f"GRaSP {label}"] = by_order(grasp, penalty)
        found[f"GES {label}"] = by_classes(penalty)
    found["PC (causal-learn)"] = lambda rows: class_of(
        quietly(pc, rows, alpha=0.01, show_progress=False).G
    )
    return found


def quietly(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Call what prints its progress."""
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments, **options)


def class_of(graph: Any) -> Array:
    """Adjacency of a graph of causal-learn, where [j, i] = 1 and [i, j] = -1 is the arc i -> j."""
    ends = graph.graph
    return np.asarray((ends == -1) & (ends.T != 0))


def once(learn: Callable[[Array], Array], rows: Array) -> tuple[float, Array]:
    """CPU seconds of a single call, after imports."""
    learn(rows[:50, :4])
    start = time.process_time()
    found = learn(rows)
    return time.process_time() - start, found


TABLES: dict[str, tuple[str, Callable[[Plan], list[Row]]]] = {
    "fit": (f"Random networks, {N_ROWS} rows", fit_rows),
    "order": ("The order step", order_rows),
    "study": ("Table 4 of the study, all methods", study_rows),
    "levels": ("Errors of the equivalence class, columns with levels", level_rows),
    CLASSES: (f"Errors of the equivalence class, {N_ROWS} rows", class_rows),
    PEERS: ("Alarm beside other packages", peer_rows),
}


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if value is None:
        return "-"
    if title.endswith("CPU"):
        return duration(value)
    if title == "goal":
        return f"{value:g} s"
    if " / " in title or title == "goal of ratio":
        return f"{value:.3g}x"
    return f"{value:.0e}" if isinstance(value, float) else str(value)


def find_peers() -> None:
    """Let packages of another Python be imported after all of our own."""
    if python := os.environ.get(PEERS_PYTHON):
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        answer = subprocess.run([python, "-c", ask], capture_output=True, text=True, check=True)
        sys.path.append(answer.stdout.strip())
    if not installed_peers():
        say(f"no causal-learn, ges or dagma here, and {PEERS_PYTHON} is not set: ours alone")


def prepare(tables: Sequence[str]) -> None:
    """Compile, and find other packages."""
    if PEERS in tables or CLASSES in tables:
        find_peers()
    warm_up()


BENCHMARK = Benchmark(
    "directed",
    (__doc__ or "").splitlines()[0],
    (FULL, QUICK),
    TABLES,
    written,
    [f"CPU seconds, compilation left out; {N_ROWS} rows, alpha {ALPHA:g}, tests at 0.01."],
    prepare,
)

if __name__ == "__main__":
    BENCHMARK.main()
