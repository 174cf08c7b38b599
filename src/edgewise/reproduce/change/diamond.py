"""The diamond distribution, where variables that depend on each other have no correlation."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from edgewise.data import diamond_change
from edgewise.estimators import NetworkChange
from edgewise.reproduce._study import Part, Row
from edgewise.reproduce.change._methods import Method, by_path, gaussian_rivals, score_methods

POLYNOMIAL: Final = "KLIEP, polynomial 4"
RAW: Final = "KLIEP, raw polynomial 4"
QUADRATIC: Final = "KLIEP, polynomial 2"
POWER: Final = "KLIEP, power 2"
GAUSSIAN: Final = "KLIEP, Gaussian"
#: Curvature, and the end of the path as a share of its beginning.
RIDGE: Final = 1e-3
END: Final = 0.03
N_ALPHAS: Final = 15
#: Suffix of methods that see the ranks of the rows only.
RANKS: Final = ", ranks"


def list_tasks(quick: bool) -> list[Row]:
    """List the data sets."""
    return [{"repetition": repetition} for repetition in range(2 if quick else 20)]


def run_task(rng: np.random.Generator, *, repetition: int) -> list[Row]:
    """Draw both groups, and rank the pairs by every method."""
    return score_methods(list_methods(), diamond_change(rng=rng))


def list_methods() -> dict[str, Method]:
    """All methods by name."""
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
        **gaussian_rivals("empirical"),
        **{name + RANKS: rank for name, rank in gaussian_rivals("nonparanormal").items()},
    }


PART = Part(name="diamond", tasks=list_tasks, run=run_task)
