"""The nine networks: errors of every method on simulated rows."""

from __future__ import annotations

import numpy as np

from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.directed.methods import count_errors, list_methods, simulate
from edgewise.reproduce.directed.published import NETWORKS


def list_tasks(quick: bool) -> list[Row]:
    """List the simulations."""
    return [
        {"network": network, "repetition": repetition}
        for repetition in range(1 if quick else 50)
        for network in NETWORKS
    ]


def run_task(rng: np.random.Generator, *, network: str, repetition: int) -> list[Row]:
    """Draw a table, and learn the network by every method."""
    data = simulate(network, rng)
    sortability = data.sortability
    return [
        {"method": name, **count_errors(data.arcs, learn(data)), **sortability}
        for name, learn in list_methods().items()
    ]


PART = Part(name="networks", tasks=list_tasks, run=run_task)
