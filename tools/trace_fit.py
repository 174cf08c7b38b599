"""Count the functions and files between a ``fit`` and its solver, over all stages.

``python tools/trace_fit.py`` prints, for each of a few fits, the calls and the changes of file
before the first function of ``solvers/`` is entered. ``tools/house.py`` holds them.
"""

import sys
from itertools import pairwise
from types import FrameType
from typing import Any

import numpy as np

from edgewise import (
    DirectedGraph,
    DiscreteMarkovNet,
    GaussianGraph,
    GraphTree,
    JointGraphs,
    LocallyConstantGraph,
    NetworkChange,
)


def places_before_solver(model: Any, *data: Any) -> list[str]:
    """List the file of each function of ours that a fit calls before its solver."""
    places: list[str] = []
    is_solving = False

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal is_solving
        name = frame.f_code.co_filename.replace("\\", "/")
        # Comprehensions and lambdas belong to the function that they stand in.
        if event != "call" or is_solving or frame.f_code.co_name.startswith("<"):
            return
        if "/edgewise/" in name:
            place = name.split("/edgewise/")[-1]
            is_solving = place.startswith("solvers/")
            places.append(place)

    model.fit(*data)  # Imports and compiles; only the second fit is watched.
    sys.setprofile(watch)
    try:
        model.fit(*data)
    finally:
        sys.setprofile(None)
    return places[:-1] if is_solving else places


def count_walk(places: list[str]) -> tuple[int, int]:
    """Count calls, and how often the file changes from one to the next."""
    return len(places), sum(a != b for a, b in pairwise(places))


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
        (NetworkChange(alpha=0.3), X, halves),
        (JointGraphs(alpha=0.1, coupling=0.1), X, halves),
        (GraphTree(random_state=0), X[:, :2], X[:, 2:]),
        (DirectedGraph(), X),
        (DiscreteMarkovNet(), (X > 0).astype(int)),
    ]


def walks() -> dict[str, tuple[int, int]]:
    """Return calls and changes of file of each fit, by name."""
    return {
        # The name and the parameters, on one line.
        " ".join(repr(model).split()): count_walk(places_before_solver(model, *data))
        for model, *data in traced_fits()
    }


if __name__ == "__main__":
    for name, (n_calls, n_switches) in walks().items():
        sys.stdout.write(f"{n_calls:4d} calls {n_switches:4d} switches  {name}\n")
