"""Expression of thirteen genes, six of whose regulations change their kind."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from edgewise.data import gene_regulation_change
from edgewise.estimators import NetworkChange
from edgewise.reproduce.change.methods import (
    N_PROPOSALS,
    QUICK_PROPOSALS,
    SAMPLED_FLASSO,
    Method,
    by_path,
    gaussian_rivals,
    sampled_flasso,
    score_methods,
)
from edgewise.reproduce.study import Part, Row

DEGREES: Final = (2, 3, 4)
GAUSSIAN: Final = "KLIEP, Gaussian"


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    n_proposals = QUICK_PROPOSALS if quick else N_PROPOSALS
    return [
        {"repetition": repetition, "n_proposals": n_proposals}
        for repetition in range(4 if quick else 20)
    ]


def run_task(rng: np.random.Generator, *, repetition: int, n_proposals: int) -> list[Row]:
    """Draw both groups, and rank the pairs by every method."""
    data = gene_regulation_change(rng=rng)
    methods = list_methods(n_proposals=n_proposals, random_state=int(rng.integers(2**31)))
    return score_methods(methods, data)


def list_methods(**sampling: Any) -> dict[str, Method]:
    """All methods by name; ``sampling`` says how those by importance sampling draw."""
    return {
        GAUSSIAN: by_path(NetworkChange()),
        **{
            polynomial(degree): by_path(NetworkChange(basis="polynomial", degree=degree))
            for degree in DEGREES
        },
        # Of the published degrees the one that is affordable.
        SAMPLED_FLASSO: sampled_flasso(DEGREES[0], **sampling),
        **gaussian_rivals("empirical"),
    }


def polynomial(degree: int) -> str:
    """Name of the density ratio with a polynomial basis."""
    return f"KLIEP, polynomial {degree}"


PART = Part(name="genes", tasks=list_tasks, run=run_task)
