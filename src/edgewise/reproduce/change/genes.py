"""Expression of thirteen genes, six of whose regulations change their kind."""

from __future__ import annotations

from typing import Final

import numpy as np

from edgewise.data import gene_regulation_change
from edgewise.estimators import NetworkChange
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.change._methods import Method, by_path, gaussian_rivals, score_methods

DEGREES: Final = (2, 3, 4)
GAUSSIAN: Final = "KLIEP, Gaussian"


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    return [{"repetition": repetition} for repetition in range(4 if quick else 20)]


def run_task(rng: np.random.Generator, *, repetition: int) -> list[Row]:
    """Draw both groups, and rank the pairs by every method."""
    return score_methods(list_methods(), gene_regulation_change(rng=rng))


def list_methods() -> dict[str, Method]:
    """All methods by name."""
    return {
        GAUSSIAN: by_path(NetworkChange()),
        **{
            polynomial(degree): by_path(NetworkChange(basis="polynomial", degree=degree))
            for degree in DEGREES
        },
        **gaussian_rivals("empirical"),
    }


def polynomial(degree: int) -> str:
    """Name of the density ratio with a polynomial basis."""
    return f"KLIEP, polynomial {degree}"


PART = Part(name="genes", tasks=list_tasks, run=run_task)
