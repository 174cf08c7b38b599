"""The diamond distribution, where variables that depend on each other have no correlation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from edgewise.data import diamond_change
from edgewise.estimators import NetworkChange
from edgewise.reproduce.change.methods import (
    N_PROPOSALS,
    QUICK_PROPOSALS,
    SAMPLED_FLASSO,
    SAMPLED_GLASSO,
    Method,
    by_path,
    gaussian_rivals,
    sampled_flasso,
    sampled_glasso,
    score_methods,
)
from edgewise.reproduce.study import Part, Row

POLYNOMIAL: Final = "KLIEP, polynomial 4"
RAW: Final = "KLIEP, raw polynomial 4"
QUADRATIC: Final = "KLIEP, polynomial 2"
POWER: Final = "KLIEP, power 2"
GAUSSIAN: Final = "KLIEP, Gaussian"
#: Curvature, and the end of the path as a share of its beginning.
RIDGE: Final = 1e-3
END: Final = 0.03
N_ALPHAS: Final = 15
#: The same for two Glassos, which have to take the proposals to the data first.
SEPARATE_END: Final = 0.003
#: Suffix of methods that see the ranks of the rows only.
RANKS: Final = ", ranks"


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    n_proposals = QUICK_PROPOSALS if quick else N_PROPOSALS
    return [
        {"repetition": repetition, "n_proposals": n_proposals}
        for repetition in range(2 if quick else 20)
    ]


def run_task(
    rng: np.random.Generator, *, repetition: int, n_proposals: int, **design: Any
) -> list[Row]:
    """Draw both groups, by default as published, and rank the pairs by every method."""
    data = diamond_change(rng=rng, **design)
    methods = list_methods(n_proposals=n_proposals, random_state=int(rng.integers(2**31)))
    return score_methods(methods, data)


def list_methods(**sampling: Any) -> dict[str, Method]:
    """All methods by name; ``sampling`` says how those by importance sampling draw."""
    options: dict[str, Any] = {
        "ridge": RIDGE, "alpha_ratio": END, "n_alphas": N_ALPHAS, "tol": 1e-6
    }  # fmt: skip
    quartic = {"basis": "polynomial", "degree": 4, **options}
    return {
        POLYNOMIAL: by_path(NetworkChange(**quartic)),
        RAW: by_path(NetworkChange(standardize=False, **quartic)),
        QUADRATIC: by_path(NetworkChange(basis="polynomial", degree=2, **options)),
        POWER: by_path(NetworkChange(basis="power", degree=2, **options)),
        GAUSSIAN: by_path(NetworkChange(**options)),
        SAMPLED_FLASSO: sampled_flasso(4, alpha_ratio=END, **sampling),
        SAMPLED_GLASSO: sampled_glasso(4, alpha_ratio=SEPARATE_END, **sampling),
        **gaussian_rivals("empirical"),
        **{name + RANKS: rank for name, rank in gaussian_rivals("nonparanormal").items()},
    }


PART = Part(name="diamond", tasks=list_tasks, run=run_task)
