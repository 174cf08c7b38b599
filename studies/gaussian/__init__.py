"""Rules that choose a Gaussian graph, ours and those of R packages, on known graphs."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from scipy import special

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data import GaussianModel, make_gaussian_graph
from edgewise.metrics import edge_metrics
from edgewise.selection import EBIC, StARS, Stepwise
from edgewise.selection.criteria import smallest_p_value
from studies.study import Part, Report, Row, combinations
from studies.tables import fill, matthews, rules_table, wide_table

KINDS: Final = ("random", "scale-free", "hub", "band", "block", "factor")
DISTRIBUTIONS: Final = ("gaussian", "t3", "nonparanormal")
#: Columns and rows.
SIZES: Final = (
    *((20, n) for n in (10, 20, 40, 100, 300, 1000)),
    *((50, n) for n in (10, 25, 50, 125, 500)),
)
#: R packages run on tables with so many columns at most: some take minutes for more.
PEER_COLUMNS: Final = 20
PEERS: Final = {
    "qgraph": ("qgraph EBICglasso", "qgraph ggmModSelect"),
    "huge": ("huge glasso, ric", "huge glasso, stars", "huge glasso, ebic", "huge mb, ric"),
    "BDgraph": ("BDgraph",),
}
DEFAULT: Final = "`GaussianGraph()`"
#: Side of a block, and number of columns that load on a factor.
BLOCK: Final = 10
FACTOR: Final = 5


def list_tasks(quick: bool) -> list[Row]:
    """List kinds of graphs, distributions, sizes and draws."""
    sizes = [(20, 40), (20, 300)] if quick else SIZES
    draws = range(1 if quick else 3)
    return [
        {"n_features": p, "n_samples": n, **task}
        for p, n in sizes
        for task in combinations(kind=KINDS, distribution=DISTRIBUTIONS, draw=draws)
    ]


def run_task(
    rng: np.random.Generator,
    *,
    kind: str,
    distribution: str,
    n_features: int,
    n_samples: int,
    draw: int,
) -> list[Row]:
    """Learn the graph of one table by every rule."""
    truth = draw_model(kind, n_features, rng)
    X = draw_rows(truth, distribution, n_samples, rng)
    is_dependent = smallest_p_value(np.asarray(np.corrcoef(X.T)), n_samples) <= 0.05
    graphs: dict[str, tuple[BoolArray, float]] = {}
    for rule, learn in our_rules().items():
        began = time.perf_counter()
        adjacency = learn(X)
        graphs[rule] = adjacency, time.perf_counter() - began
    if n_features <= PEER_COLUMNS:
        graphs |= learn_in_r(X)
    return [
        {
            "rule": rule,
            "mcc": matthews(truth.adjacency, adjacency),
            "f1": edge_metrics(truth.adjacency, adjacency).f1,
            "n_edges": int(adjacency.sum()) // 2,
            "missed": bool(is_dependent and not adjacency.any()),
            "seconds": seconds,
        }
        for rule, (adjacency, seconds) in graphs.items()
    ]


def draw_model(kind: str, p: int, rng: np.random.Generator) -> GaussianModel:
    """Draw a model of a kind; columns of a factor graph share one factor per group."""
    options = {
        "random": {"kind": "erdos-renyi", "degree": 3.0},
        "scale-free": {"kind": "barabasi-albert", "degree": 2.0},
        "hub": {"kind": "hub", "n_hubs": max(1, p // 10)},
    }
    if kind in options:
        return make_gaussian_graph(p, **options[kind], rng=rng)  # type: ignore[arg-type]
    place = np.arange(p)
    if kind == "factor":
        loading = rng.uniform(0.5, 0.9, size=p)
        is_shared = place[:, None] // FACTOR == place // FACTOR
        Sigma = np.where(is_shared, np.outer(loading, loading), 0.0)
        np.fill_diagonal(Sigma, 1.0)
        Theta = np.where(is_shared, np.linalg.inv(Sigma), 0.0)
        return GaussianModel.from_precision((Theta + Theta.T) / 2)
    distance = np.abs(place[:, None] - place)
    if kind == "band":
        joined = distance <= 2
    else:
        joined = (place[:, None] // BLOCK == place // BLOCK) & (rng.random((p, p)) < 0.4)
    size = np.triu(joined * rng.uniform(0.2, 0.5, (p, p)), 1)
    upper = size * np.where(rng.random((p, p)) < 0.5, 1.0, -1.0)
    R = upper + upper.T
    largest = float(np.linalg.eigvalsh(R)[-1])
    return GaussianModel.from_precision(np.eye(p) - R * min(1.0, 0.9 / largest))


def draw_rows(
    model: GaussianModel, distribution: str, n: int, rng: np.random.Generator
) -> FloatArray:
    """Draw rows; those of ``"nonparanormal"`` were skewed and turned into normal scores."""
    X = model.sample(n, rng)
    if distribution == "t3":
        X /= np.sqrt(rng.chisquare(3, size=(n, 1)) / 3)
    if distribution == "nonparanormal":
        # Ranks do not see the skewing, which is left out.
        X = special.ndtri((X.argsort(axis=0).argsort(axis=0) + 1) / (n + 1))
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


def our_rules() -> dict[str, Callable[[FloatArray], BoolArray]]:
    """List the rules of this package by name."""
    from edgewise.estimators import GaussianGraph, NeighborhoodGraph

    estimators = {
        DEFAULT: GaussianGraph(covariance="correlation"),
        **{
            f"`Stepwise(gamma={gamma:g})`": GaussianGraph(Stepwise(gamma), covariance="correlation")
            for gamma in (0.0, 0.5, 1.0)
        },
        **{
            f"`EBIC(gamma={gamma:g})`": GaussianGraph(EBIC(gamma), covariance="correlation")
            for gamma in (0.0, 0.5)
        },
        '`alpha="stars"`': GaussianGraph(StARS(), covariance="correlation", random_state=0),
        "`NeighborhoodGraph()`": NeighborhoodGraph(),
    }

    def learner(estimator: GaussianGraph | NeighborhoodGraph) -> Callable[..., BoolArray]:
        def learn(X: FloatArray) -> BoolArray:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return estimator.fit(X).graph_.adjacency

        return learn

    return {name: learner(estimator) for name, estimator in estimators.items()}


@cache
def peers_here() -> tuple[str, ...]:
    """List the rules of R packages that are installed."""
    if shutil.which("Rscript") is None:
        return ()
    asked = "; ".join(
        f'cat(requireNamespace("{package}", quietly = TRUE), "")' for package in PEERS
    )
    run = subprocess.run(["Rscript", "-e", asked], capture_output=True, text=True, check=False)
    is_here = [word == "TRUE" for word in run.stdout.split()]
    return tuple(
        rule
        for found, rules in zip(is_here, PEERS.values(), strict=False)
        if found
        for rule in rules
    )


def learn_in_r(X: FloatArray) -> dict[str, tuple[BoolArray, float]]:
    """Learn by the rules of R packages; the time is that of all of them, shared out."""
    rules, p = peers_here(), X.shape[1]
    if not rules:
        return {}
    with (
        tempfile.TemporaryDirectory() as folder,
        as_file(files(__package__).joinpath("peers.R")) as script,
    ):
        table, found = Path(folder, "table.csv"), Path(folder, "found.txt")
        np.savetxt(table, X, delimiter=",")
        began = time.perf_counter()
        command = ["Rscript", str(script), str(table), str(found), *rules]
        subprocess.run(command, check=True, capture_output=True)
        seconds = (time.perf_counter() - began) / len(rules)
        lines = found.read_text(encoding="utf-8").splitlines()
    graphs = {}
    for rule, line in zip(rules, lines, strict=True):
        adjacency = np.zeros(p * p, dtype=bool)
        adjacency[[int(position) for position in line.split()]] = True
        square = adjacency.reshape(p, p)
        graphs[rule] = square | square.T, seconds
    return graphs


#: Columns of the table of rules.
COLUMNS: Final = {
    "F1": "{mean[f1]:.3f}",
    "edges": "{mean[n_edges]:.1f}",
    "missed": "{sum[missed]:.0f}",
}


def report(frame: pd.DataFrame) -> Report:
    """Rank the rules."""
    ours = frame[~frame["rule"].isin([rule for rules in PEERS.values() for rule in rules])]
    small = frame[frame["n_features"] <= PEER_COLUMNS]
    has_peers = len(small) > len(ours[ours["n_features"] <= PEER_COLUMNS])
    by_rows = frame.pivot_table(
        index="rule", columns=["n_features", "n_samples"], values="mcc", sort=False
    ).round(2)
    sizes = [f"{size[0]} x {size[1]}" for size in by_rows.columns.to_list()]
    text = fill(
        __package__,
        "graphs",
        n=ours["task"].nunique(),
        n_peer=small["task"].nunique() if has_peers else 0,
        table=rules_table(ours, COLUMNS),
        peers=rules_table(small, COLUMNS) if has_peers else "None was run.",
        sizes=wide_table(by_rows, sizes),
    )
    return Report(text)


PART = Part(name="graphs", tasks=list_tasks, run=run_task, report=report)
