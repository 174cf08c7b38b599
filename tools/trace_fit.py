"""Count how often a reader of a fit changes files before its solver is called.

A switch is a function of ``estimators/`` entered in another file than the last one. Run with
``python tools/trace_fit.py``; fails where a fit has more than `MOST` switches.
"""

import sys
from types import FrameType
from typing import Any

import numpy as np

from edgewise import (
    BlanketBayesNet,
    GaussianGraph,
    GraphTree,
    LocallyConstantGraph,
    NetworkChange,
)

MOST = 12


def files_before_solver(model: Any, *data: Any) -> list[str]:
    """List the files of ``estimators/`` that a fit goes through, each time it enters one."""
    files: list[str] = []
    is_solving = False

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal is_solving
        name = frame.f_code.co_filename.replace("\\", "/")
        if event != "call" or is_solving or "/edgewise/" not in name:
            return
        place = name.split("/edgewise/")[-1]
        # A solver that is imported on the way is not called yet.
        is_solving = place.startswith("solvers/") and frame.f_code.co_name != "<module>"
        if place.startswith("estimators/") and (not files or files[-1] != place):
            files.append(place)

    model.fit(*data)  # Imports and compiles; only the second fit is watched.
    sys.setprofile(watch)
    try:
        model.fit(*data)
    finally:
        sys.setprofile(None)
    return files


def traced_fits() -> list[tuple[Any, ...]]:
    """List estimators with the data that they are fitted to."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6))
    X[:, 1] += X[:, 0]
    halves = np.arange(80) % 2
    return [
        (GaussianGraph(), X),
        (GaussianGraph(alpha=0.2), X),
        (LocallyConstantGraph(0.1, 0.1), X),
        (LocallyConstantGraph(0.1, "cv", random_state=0), X),
        (NetworkChange(alpha=0.3), X, halves),
        (NetworkChange(random_state=0), X, halves),
        (GraphTree(random_state=0), X[:, :2], X[:, 2:]),
        (BlanketBayesNet(), X),
    ]


def main() -> int:
    """Print the switches of each estimator; return how many have too many."""
    n_bad = 0
    for model, *data in traced_fits():
        n_switches = len(files_before_solver(model, *data)) - 1
        n_bad += n_switches > MOST
        # The name and the parameters, on one line.
        sys.stdout.write(f"{n_switches:3d}  {' '.join(repr(model).split())}\n")
    return n_bad


if __name__ == "__main__":
    sys.exit(main())
