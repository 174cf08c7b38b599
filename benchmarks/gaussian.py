"""Graphical lasso: ours beside its peers at equal duality gap.

Run from the root of the repository::

    python -m benchmarks.gaussian --markdown table.md --json results.json
    python -m benchmarks.gaussian --quick

Progress goes to standard error, the tables to standard output. README.md beside this file says
how the peers are installed and how to read the result.
"""

from __future__ import annotations

import argparse
import datetime
import fnmatch
import json
import os
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import THRESHOLD, Outcome, time_paths, time_solver
from benchmarks.problems import RECIPES, draw, draw_paths
from benchmarks.report import duration, machine, markdown, say
from benchmarks.worker import PEERS, Worker
from edgewise._core.jit import CACHE_SWITCH

PATH = "path"
QUICK = ("er20-x1", "er20-x3", "er100-x1", "er100-x3", PATH)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.gaussian", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--problems",
        nargs="+",
        metavar="PATTERN",
        default=["*"],
        help=f"names or shell patterns out of: {' '.join([*RECIPES, PATH])}",
    )
    parser.add_argument(
        "--peers",
        nargs="+",
        choices=list(PEERS),
        default=list(PEERS),
        help="solvers to run; all by default",
    )
    parser.add_argument("--skip", nargs="+", choices=list(PEERS), default=[], help="peers to skip")
    parser.add_argument(
        "--large-peers",
        nargs="+",
        choices=list(PEERS),
        default=[],
        help="peers to run at p = 5000 as well (QUIC takes minutes); only ours by default",
    )
    parser.add_argument(
        "--budget", type=float, default=60.0, help="seconds per peer and problem (default 60)"
    )
    parser.add_argument(
        "--data-sets", type=int, default=200, help="data sets in the path problem (default 200)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="p <= 100, 10 data sets, 2 s per peer and problem"
    )
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--markdown", type=Path, help="file for the tables")
    options = parser.parse_args(arguments)
    if options.quick:
        options.budget = min(options.budget, 2.0)
        options.data_sets = min(options.data_sets, 10)
    return options


def chosen_problems(options: argparse.Namespace) -> list[str]:
    names = [
        name
        for name in [*RECIPES, PATH]
        if any(fnmatch.fnmatch(name, pattern) for pattern in options.problems)
    ]
    if options.quick:
        names = [name for name in names if name in QUICK]
    if not names:
        sys.exit(f"no problem matches {' '.join(options.problems)}; see --help for the names")
    return names


def compilation() -> float:
    """Seconds of the first calls of ours in a process that finds nothing compiled on disk."""
    previous = os.environ.get(CACHE_SWITCH)
    os.environ[CACHE_SWITCH] = "0"
    worker = Worker("ours")
    worker.start()
    worker.stop()
    if previous is None:
        del os.environ[CACHE_SWITCH]
    else:
        os.environ[CACHE_SWITCH] = previous
    say(f"first calls of ours, compiled afresh: {worker.first_call:.1f} s (not in the times)")
    return worker.first_call


def tell(name: str, outcome: Outcome) -> None:
    """One line of progress."""
    taken = "" if outcome.seconds is None else duration(outcome.seconds)
    share = "" if outcome.share is None else f"share {outcome.share:.4f}"
    setting = "" if outcome.setting is None else json.dumps(outcome.setting)
    parts = [f"  {name:14s} {taken:>9s}  {outcome.status:12s} gap/p {outcome.gap:.1e}"]
    parts += [part for part in (share, outcome.variant, setting, outcome.note) if part]
    say("  ".join(parts))


def run_problem(
    name: str, workers: dict[str, Worker], options: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """Time every solver on one problem."""
    say(f"{name}: drawing")
    problem = draw(name)
    p = len(problem.S)
    say(f"{name}: p={p} n={problem.n} alpha={problem.alpha:.4g} true edges={problem.n_true_edges}")
    path = folder / f"{name}.npy"
    np.save(path, problem.S)
    outcomes: dict[str, Outcome] = {}
    is_large = problem.group == "large"
    for peer, worker in workers.items():
        if is_large and peer != "ours" and peer not in options.large_peers:
            continue
        if is_large:
            # A fresh process, so that the peak of its memory is this problem's.
            worker.stop()
        outcome = time_solver(worker, str(path), p, problem.alpha, options.budget)
        if outcome.status != "missing":
            tell(peer, outcome)
        outcomes[peer] = outcome
        if peer == "ours" and outcome.gap > THRESHOLD:
            say(f"  warning: ours ends at gap/p {outcome.gap:.1e} by the common certificate")
    path.unlink()
    about = {k: v for k, v in vars(problem).items() if k != "S"}
    return about | {"p": p, "outcomes": outcomes}


def run_paths(
    workers: dict[str, Worker], options: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """Time every solver on the small paths."""
    stack, alphas = draw_paths(options.data_sets)
    say(f"path: {len(stack)} data sets, {len(alphas)} penalties, p={stack.shape[1]}")
    path = folder / "paths.npz"
    np.savez(path, stack=stack, alphas=alphas)
    outcomes = {}
    for peer, worker in workers.items():
        outcome = time_paths(worker, str(path), stack.shape[1], len(stack), options.budget)
        if outcome is not None:
            outcomes[peer] = outcome
            if outcome.status != "missing":
                tell(peer, outcome)
    return {"name": PATH, "group": PATH, "data_sets": len(stack), "outcomes": outcomes}


def main(arguments: list[str] | None = None) -> None:
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parse(arguments)
    names = chosen_problems(options)
    workers = {name: Worker(name) for name in options.peers if name not in options.skip}
    run: dict[str, Any] = {
        "command": f"python -m benchmarks.gaussian {shlex.join(arguments)}".strip(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "threshold": THRESHOLD,
        "machine": machine(),
        "compilation_s": compilation() if "ours" in workers and not options.quick else None,
        "solvers": list(workers),
        "results": [],
    }
    for worker in workers.values():
        worker.launch()
    for name, worker in workers.items():
        if not worker.start():
            say(f"skipping {name}: {worker.missing}")
    run["versions"] = {name: worker.version for name, worker in workers.items()}
    run["missing"] = {name: w.missing for name, w in workers.items() if w.missing}
    try:
        with tempfile.TemporaryDirectory(prefix="edgewise-bench-") as folder:
            for name in names:
                runner_arguments = (workers, options, Path(folder))
                result = (
                    run_paths(*runner_arguments)
                    if name == PATH
                    else run_problem(name, *runner_arguments)
                )
                run["results"].append(result)
                run["machine"]["load_at_end"] = round(os.getloadavg()[0], 2)
                write(run, options)
    finally:
        for worker in workers.values():
            worker.stop()
    print(markdown(run))


def write(run: dict[str, Any], options: argparse.Namespace) -> None:
    """Write what is known so far, so that a run cut short leaves its results."""
    if options.markdown:
        options.markdown.write_text(markdown(run))
    if options.json:
        plain = run | {
            "results": [
                result
                | {"outcomes": {k: outcome.as_dict() for k, outcome in result["outcomes"].items()}}
                for result in run["results"]
            ]
        }
        options.json.write_text(json.dumps(plain, indent=1, allow_nan=False) + "\n")


if __name__ == "__main__":
    main()
