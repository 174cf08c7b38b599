"""Discrete Markov networks: CPU seconds of the search, how counting matters, size, streaming.

Run from the root of the repository::

    python -m benchmarks.discrete --markdown table.md --json results.json
    python -m benchmarks.discrete --quick

Progress goes to standard error, the tables to standard output. README.md beside this file says
how it measures.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.per_test_counts import THRIFT, PerTestWalk
from benchmarks.report import duration, say
from benchmarks.space import cpu
from benchmarks.tables import Benchmark
from benchmarks.worker import peak_memory
from edgewise import EBIC, MixedGraph
from edgewise.data import load_network, make_graph, make_markov_model
from edgewise.metrics import edge_metrics
from edgewise.solvers import learn_structure
from edgewise.stats import polychoric_correlation

Row = dict[str, Any]
Array = NDArray[Any]

CRITERIA = ("bjp", "ib", "mpl")
#: Python that has pgmpy, if this one has not.
PGMPY_PYTHON = "EDGEWISE_BENCH_PGMPY"
PGMPY = "pgmpy"
#: CPU seconds that BJP may take for 62 variables and 16,000 rows.
GOAL_SECONDS = 0.3
#: Rows drawn at a time for the table that does not fit memory.
CHUNK = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Sizes of the problems: rows of the dolphins, and (variables, rows) of the others."""

    search: tuple[int, ...]
    large: tuple[int, int]
    stream: tuple[tuple[int, int], ...]
    mixed: int
    answers: tuple[tuple[int, int], ...]


FULL = Plan(
    search=(1000, 16_000),
    large=(500, 10_000),
    stream=((20, 20_000_000), (40, 5_000_000)),
    mixed=3500,
    answers=((25, 2800), (240, 500)),
)
QUICK = Plan(
    search=(1000,), large=(100, 1000), stream=((12, 200_000),), mixed=500, answers=((25, 500),)
)


def draw(adjacency: Array, n_samples: int, seed: int = 1) -> Array:
    """Rows of a Gibbs sampler, with potentials uniform between 0 and 1."""
    of_model, of_rows = np.random.default_rng(seed).spawn(2)
    model = make_markov_model(adjacency, rng=of_model)
    return model.sample(n_samples, method="gibbs", rng=of_rows)


def warm_up() -> None:
    """Compile everything that is timed."""
    X = draw(make_graph(8, "ring"), 300)
    for criterion in CRITERIA:
        learn_structure(X, criterion)
    PerTestWalk(X, "bjp", "needed").scores(learn_structure(X))


def search_rows(plan: Plan) -> list[Row]:
    """Search the dolphins with the three scores."""
    truth = load_network("dolphins").adjacency
    X = draw(truth, max(plan.search))
    rows = []
    for n_samples in plan.search:
        for criterion in CRITERIA:
            say(f"dolphins, {n_samples} rows, {criterion}")
            seconds, found = cpu(learn_structure, X[:n_samples], criterion)
            is_goal = criterion == "bjp" and n_samples == max(FULL.search)
            rows.append(
                {
                    "rows": n_samples,
                    "score": criterion,
                    "CPU": seconds,
                    "goal": GOAL_SECONDS if is_goal else None,
                    "steps": found.n_iter,
                    "tests": found.n_tests,
                    "Hamming": edge_metrics(truth, found.value).hamming,
                }
            )
    return rows


def counting_rows(plan: Plan) -> list[Row]:
    """Go the same way with every test counted by itself."""
    X = draw(load_network("dolphins").adjacency, max(plan.search))
    rows = []
    for n_samples in plan.search:
        for criterion in CRITERIA[:2]:
            seconds, found = cpu(learn_structure, X[:n_samples], criterion)
            for thrift in THRIFT:
                say(f"per-test counting, {n_samples} rows, {criterion}, {thrift}")
                walk = PerTestWalk(X[:n_samples], criterion, thrift)
                start = time.process_time()
                scores = walk.scores(found)
                per_test = time.process_time() - start
                rows.append(
                    {
                        "rows": n_samples,
                        "score": criterion,
                        "CPU": seconds,
                        "tests": found.n_tests,
                        "per-test": thrift,
                        "per-test CPU": per_test,
                        "per-test tests": walk.n_tests,
                        "per-test / ours": per_test / seconds,
                        "scores differ by": float(np.abs(scores / found.history - 1).max()),
                    }
                )
    return rows


def large_rows(plan: Plan) -> list[Row]:
    """Search a scale-free tree of many variables, each score in a process of its own."""
    return [alone(_learn_large, *plan.large, criterion) for criterion in CRITERIA]


def _learn_large(n: int, n_samples: int, criterion: str) -> Row:
    warm_up()
    truth = make_graph(n, "barabasi-albert", degree=2, rng=1)
    X = draw(truth, n_samples)
    before = peak_memory()
    start = time.process_time()
    found = learn_structure(X, criterion)
    seconds = time.process_time() - start
    return {
        "variables": n,
        "rows": n_samples,
        "score": criterion,
        "CPU": seconds,
        "steps": found.n_iter,
        "tests": found.n_tests,
        "Hamming": edge_metrics(truth, found.value).hamming,
        "peak memory": peak_memory(),
        "memory before": before,
    }


def stream_rows(plan: Plan) -> list[Row]:
    """Learn from tables in files, mapped and not read."""
    rows = []
    for n, n_samples in plan.stream:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "rows.bin")
            truth = make_graph(n, "barabasi-albert", degree=2, rng=1)
            _write(path, truth, n_samples)
            rows.append(alone(_learn_mapped, path, n, n_samples))
            found = rows[-1].pop("adjacency")
            rows[-1]["Hamming"] = edge_metrics(truth, found).hamming
    return rows


def _write(path: str, truth: Array, n_samples: int) -> None:
    """Draw the rows piece by piece into a file."""
    model = make_markov_model(truth, rng=1)
    shape = (n_samples, len(truth))
    mapped = np.memmap(path, dtype=np.uint8, mode="w+", shape=shape)
    starts = range(0, n_samples, CHUNK)
    for first, stream in zip(starts, np.random.default_rng(2).spawn(len(starts)), strict=True):
        last = min(first + CHUNK, n_samples)
        say(f"writing rows {first:,} to {last:,} of {shape}")
        mapped[first:last] = model.sample(last - first, rng=stream)
    mapped.flush()


def _learn_mapped(path: str, n: int, n_samples: int) -> Row:
    warm_up()
    mapped = np.memmap(path, dtype=np.uint8, mode="r", shape=(n_samples, n))
    before = peak_memory()
    with _PrivateMemory() as private:
        start, wall_start = time.process_time(), time.perf_counter()
        found = learn_structure(mapped, cardinalities=np.full(n, 2))
        seconds, wall = time.process_time() - start, time.perf_counter() - wall_start
    return {
        "variables": n,
        "rows": n_samples,
        "file": Path(path).stat().st_size,
        "CPU": seconds,
        "wall": wall,
        "tests": found.n_tests,
        "peak memory": peak_memory(),
        "private": private.peak,
        "memory before": before,
        "adjacency": found.value,
    }


class _PrivateMemory:
    """The largest private memory of this process, looked up many times a second.

    Pages of a mapped file count as memory of the process too, although the system may take them
    back whenever it likes; these do not.
    """

    def __enter__(self) -> _PrivateMemory:
        self.peak: int | None = None
        self._is_over = threading.Event()
        self._watcher = threading.Thread(target=self._watch)
        self._watcher.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_over.set()
        self._watcher.join()

    def _watch(self) -> None:
        status = Path("/proc/self/status")
        while status.exists():
            for line in status.read_text().splitlines():
                if line.startswith("RssAnon:"):
                    self.peak = max(self.peak or 0, int(line.split()[1]) * 1024)
            if self._is_over.wait(0.02):
                return


def pgmpy_rows(plan: Plan) -> list[Row]:
    """Learn karate from 1000 rows, beside a Bayesian network by pgmpy."""
    truth = load_network("karate").adjacency
    X = draw(truth, 1000)
    say("karate, pgmpy")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        np.save(path, X)
        peer = Path(__file__).with_name("pgmpy_peer.py")
        command = [os.environ.get(PGMPY_PYTHON, sys.executable), str(peer), str(path)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    theirs = json.loads(answer.splitlines()[-1])
    rows = []
    for criterion in CRITERIA:
        seconds, found = cpu(learn_structure, X, criterion)
        rows.append(
            {
                "score": criterion,
                "CPU": seconds,
                "edges": int(found.value.sum()) // 2,
                "Hamming": edge_metrics(truth, found.value).hamming,
                "pgmpy CPU": theirs["seconds"],
                "pgmpy / ours": theirs["seconds"] / seconds,
                "pgmpy arcs": len(theirs["arcs"]),
                "Hamming of its moral graph": edge_metrics(
                    truth, moral(theirs["arcs"], len(truth))
                ).hamming,
                "pgmpy version": theirs["version"],
            }
        )
    return rows


def moral(arcs: list[list[int]], n: int) -> Array:
    """Undirected graph of a Bayesian network: arcs without direction, and parents joined."""
    has_arc = np.zeros((n, n), dtype=np.int64)
    has_arc[tuple(np.array(arcs).T)] = 1
    joined = (has_arc + has_arc.T + has_arc @ has_arc.T) > 0
    np.fill_diagonal(joined, False)
    return joined


#: CPU seconds that `MixedGraph` may take for 20 columns, 3,500 rows and a path of 30 alphas.
MIXED_GOAL_SECONDS = 2.0


def mixed_frame(n_samples: int) -> pd.DataFrame:
    """Twenty columns of four kinds in a chain: 8 numbers, 5 yes / no, 4 nominal ones, 3 counts."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n_samples, 20))
    for j in range(1, 20):
        z[:, j] = 0.5 * z[:, j - 1] + 0.85 * z[:, j]
    columns: dict[str, Array] = {f"number{j}": z[:, j] for j in range(8)}
    columns |= {f"binary{j}": (z[:, j] > 0.5).astype(float) for j in range(8, 13)}
    for j, n_levels in zip(range(13, 17), (3, 4, 5, 3), strict=True):
        cuts = np.linspace(-1, 1, n_levels - 1)
        columns[f"nominal{j}"] = np.array(list("dbaec"))[np.digitize(z[:, j], cuts)]
    columns |= {f"count{j}": rng.poisson(np.exp(0.5 * z[:, j])) for j in range(17, 20)}
    return pd.DataFrame(columns)


def mixed_rows(plan: Plan) -> list[Row]:
    """Time a path of 30 alphas for each of 20 columns of several kinds, beside scikit-learn."""
    from sklearn.linear_model import Lasso, LogisticRegression

    frame = mixed_frame(plan.mixed)
    kinds = {name: "count" for name in frame if name.startswith("count")}
    model = MixedGraph(EBIC(n_alphas=30, alpha_ratio=0.01), kinds=kinds)
    model.fit(frame.head(200))
    seconds, _ = cpu(model.fit, frame)
    indicators = pd.get_dummies(frame.select_dtypes(exclude="number"), dtype=float)
    X = pd.concat([frame.select_dtypes("number"), indicators], axis=1)
    X = (X - X.mean()) / X.std()

    def peer() -> None:
        for name, kind in model.kinds_.items():
            if kind == "count":
                continue
            others = X[[column for column in X if column.split("_")[0] != name]].to_numpy()
            largest = 0.5 if kind == "continuous" else 0.2
            for alpha in largest * np.geomspace(1, 0.01, 30):
                if kind == "continuous":
                    Lasso(alpha).fit(others, frame[name])
                else:
                    logistic = LogisticRegression(
                        l1_ratio=1.0, C=1 / (alpha * len(X)), solver="saga", max_iter=100
                    )
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        logistic.fit(others, frame[name])

    start = time.process_time()
    peer()
    theirs = time.process_time() - start
    return [
        {
            "columns": frame.shape[1],
            "rows": len(frame),
            "alphas": 30,
            "CPU": seconds,
            "goal": MIXED_GOAL_SECONDS,
            "joint CPU": cpu(MixedGraph(model.alpha, kinds=kinds, method="joint").fit, frame)[0],
            "sum of gaps": float(model.gap_),
            "scikit-learn CPU": theirs,
            "scikit-learn / ours": theirs / seconds,
        }
    ]


#: Prints the user seconds of two packages of R, on one core, for the answers in a file.
R_ANSWERS = """
options(mc.cores = 1)
X <- read.csv(commandArgs(TRUE)[1])
ordinal <- as.data.frame(lapply(X, ordered))
lavaan <- system.time(suppressWarnings(lavaan::lavCor(ordinal)))
psych <- system.time(suppressWarnings(psych::polychoric(X, correct = 0)))
cat(lavaan[["user.self"]], psych[["user.self"]])
"""
#: R takes minutes for more columns than this.
R_COLUMNS = 50


def answer_rows(plan: Plan) -> list[Row]:
    """Time the polychoric correlations of all pairs of items with six answers, beside R."""
    polychoric_correlation(np.arange(40).reshape(20, 2) % 3)
    table = []
    for n_items, n_samples in plan.answers:
        rng = np.random.default_rng(0)
        latent = rng.normal(size=(n_samples, n_items)) + rng.normal(size=(n_samples, 1))
        answers = np.digitize(latent, [-2.0, -1.0, 0.0, 1.0, 2.0])
        seconds, _ = cpu(polychoric_correlation, answers)
        lavaan, psych = _seconds_of_r(answers) if n_items <= R_COLUMNS else (None, None)
        table.append(
            {
                "items": n_items,
                "rows": n_samples,
                "pairs": n_items * (n_items - 1) // 2,
                "CPU": seconds,
                "lavaan CPU": lavaan,
                "psych CPU": psych,
                "lavaan / ours": lavaan and lavaan / seconds,
                "psych / ours": psych and psych / seconds,
            }
        )
    return table


def _seconds_of_r(answers: Array) -> tuple[float | None, float | None]:
    """Return the seconds of lavaan and psych; None where R or a package is not there."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.csv"
        pd.DataFrame(answers).add_prefix("q").to_csv(file, index=False)
        command = ["Rscript", "--vanilla", "-e", R_ANSWERS, str(file)]
        try:
            found = subprocess.run(command, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return None, None
    lavaan, psych = (float(word) for word in found.stdout.split()[-2:])
    return lavaan, psych


def alone(function: Callable[..., Row], *arguments: Any) -> Row:
    """Call in a fresh process, so that its memory is its own."""
    say(f"{function.__name__.strip('_')} {arguments}")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


TABLES: dict[str, tuple[str, Callable[[Plan], list[Row]]]] = {
    "search": ("Search, 62 variables (dolphins)", search_rows),
    "counting": ("The same walk, every test counted by itself", counting_rows),
    "large": ("A scale-free tree", large_rows),
    "stream": ("From a file", stream_rows),
    "mixed": ("Columns of several kinds, beside scikit-learn column by column", mixed_rows),
    "answers": ("Polychoric correlations, beside R's lavaan and psych", answer_rows),
    PGMPY: ("Beside a Bayesian network by pgmpy: karate, 1000 rows", pgmpy_rows),
}


def written(title: str, value: Any) -> str:
    """One cell of a table."""
    if value is None:
        return "-"
    if title.endswith(("CPU", "wall")):
        return duration(value)
    if title == "goal":
        return f"{value:g}"
    if "memory" in title or title in {"file", "private"}:
        return f"{value / 2**20:.0f} MiB"
    if " / " in title:
        return f"{value:.3g}x"
    return f"{value:.0e}" if isinstance(value, float) else str(value)


def _missing() -> dict[str, str]:
    """Tables whose peer is not here, and why."""
    if PGMPY_PYTHON in os.environ or importlib.util.find_spec("pgmpy") is not None:
        return {}
    return {PGMPY: f"it is not installed, and {PGMPY_PYTHON} is not set"}


BENCHMARK = Benchmark(
    "discrete",
    (__doc__ or "").splitlines()[0],
    (FULL, QUICK),
    TABLES,
    written,
    [],
    lambda tables: warm_up(),
    _missing,
)

if __name__ == "__main__":
    BENCHMARK.main()
