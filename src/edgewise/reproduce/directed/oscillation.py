"""The penalty on paths with all columns solved at once, which never settles."""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.reproduce.directed.methods import ALPHA, NETWORKS, simulate
from edgewise.reproduce.study import Part, Row
from edgewise.solvers import bcd_bayes_net
from edgewise.solvers.directed.bcd import UPDATES

SCHEDULES: Final = ("literal", "homotopy")
#: Rounds that are followed after the solver has stopped, at the largest strength.
N_ROUNDS: Final = 12


def list_tasks(quick: bool) -> list[Row]:
    """List the simulations."""
    return [
        {"network": network, "repetition": repetition}
        for repetition in range(1 if quick else 10)
        for network in NETWORKS
    ]


def run_task(rng: np.random.Generator, *, network: str, repetition: int) -> list[Row]:
    """Solve all columns at once, or one after the other, and follow what comes then."""
    R = simulate(network, rng).correlations
    return [
        {"update": update, "schedule": schedule, **follow(R, update, schedule)}
        for update in UPDATES
        for schedule in SCHEDULES
    ]


def follow(R: FloatArray, update: str, schedule: str) -> Row:
    """Run the solver until it stops or repeats itself, and then some rounds more.

    Examples
    --------
    >>> found = follow(np.array([[1.0, 0.5], [0.5, 1.0]]), "whole", "literal")
    >>> found["period"], found["arcs"][:11], found["cyclic"][:11]
    (2, '0 2 0 2 0 2', '0 1 0 1 0 1')
    """
    found = bcd_bayes_net(R, ALPHA, update=update, schedule=schedule)
    period = found.period
    arcs, cyclic = [], []
    for _ in range(N_ROUNDS):
        found = bcd_bayes_net(
            R, ALPHA, update=update, schedule="literal", init=found.value, max_iter=1
        )
        arcs.append(int(np.count_nonzero(found.value)))
        cyclic.append(int(not found.is_acyclic))
    return {
        "period": period,
        "arcs": " ".join(map(str, arcs)),
        "cyclic": " ".join(map(str, cyclic)),
    }


PART = Part(name="oscillation", tasks=list_tasks, run=run_task)
