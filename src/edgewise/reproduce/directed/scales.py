"""One network on the scale of the equations and standardised, with methods of other packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.estimators import BlanketBayesNet, GaussianBayesNet
from edgewise.reproduce.directed.methods import (
    ALPHA,
    GES,
    SIGNIFICANCE,
    count_errors,
    installed_peers,
    peer,
    simulate,
)
from edgewise.reproduce.directed.sort_and_regress import sort_and_regress
from edgewise.reproduce.study import Part, Row

NETWORK: Final = "alarm"
STANDARDIZED: Final = "standardised"
RAW: Final = "raw"
SCALES: Final = (STANDARDIZED, RAW)
#: Takes half a minute, and its score is the same on either scale.
ONE_SCALE: Final = (GES,)

OR_LASSO: Final = "OR-SGBN"
OR_LEAST_SQUARES: Final = "OR-SGBN from least squares"
IAMB: Final = "IAMB"
TC: Final = "TC"
SORT_VARIANCE: Final = "sort by variance, regress"
SORT_R2: Final = "sort by R2, regress"


def list_tasks(quick: bool) -> list[Row]:
    """List the simulations; what is installed is part of the task, so that more of it runs anew."""
    peers = installed_peers()
    return [
        {"repetition": repetition, "peers": peers[:1] if quick else peers}
        for repetition in range(2 if quick else 5)
    ]


def run_task(rng: np.random.Generator, *, repetition: int, peers: list[str]) -> list[Row]:
    """Draw a table, and learn the network on either scale by ours and by what is installed."""
    data = simulate(NETWORK, rng)
    rows = []
    for scale, table in ((STANDARDIZED, data.standardized), (RAW, data.raw)):
        theirs = [name for name in peers if scale == STANDARDIZED or name not in ONE_SCALE]
        for name, learn in {**own_methods(), **{name: peer(name) for name in theirs}}.items():
            errors = count_errors(data.arcs, learn(table))
            rows.append({"scale": scale, "method": name, **errors, **data.sortability})
    return rows


def own_methods() -> dict[str, Callable[[FloatArray], BoolArray]]:
    """Ours, with the rows as they are."""
    raw: dict[str, Any] = {"schedule": "literal", "standardize": False}
    return {
        OR_LASSO: lambda rows: _fit(GaussianBayesNet(ALPHA, **raw), rows),
        OR_LEAST_SQUARES: lambda rows: _fit(
            GaussianBayesNet(ALPHA, init="least-squares", **raw), rows
        ),
        IAMB: lambda rows: _fit(BlanketBayesNet("iamb", SIGNIFICANCE), rows),
        TC: lambda rows: _fit(BlanketBayesNet("tc", SIGNIFICANCE), rows),
        SORT_VARIANCE: lambda rows: _sort(rows, "variance"),
        SORT_R2: lambda rows: _sort(rows, "r2"),
    }


def _fit(estimator: GaussianBayesNet | BlanketBayesNet, rows: FloatArray) -> BoolArray:
    arcs: BoolArray = estimator.fit(rows).graph_.adjacency
    return arcs


def _sort(rows: FloatArray, by: str) -> BoolArray:
    found: BoolArray = sort_and_regress(np.cov(rows, rowvar=False), len(rows), by).value != 0
    return found


PART = Part(name="scales", tasks=list_tasks, run=run_task)
