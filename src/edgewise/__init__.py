"""Learn the network behind a table of measurements.

The public names are loaded when first used, so that ``import edgewise`` and
``edgewise --help`` stay quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from edgewise._version import __version__

if TYPE_CHECKING:
    from edgewise._core.errors import DataWarning, EdgewiseError, InputError, SolverError
    from edgewise.estimators import (
        DiscreteMarkovNet,
        GaussianBayesNet,
        GaussianGraph,
        GraphTree,
        LocallyConstantGraph,
        NeighborhoodGraph,
        NetworkChange,
        load,
    )
    from edgewise.graph import Graph
    from edgewise.inference import BootstrapGraph, StabilitySelection, permutation_test

_HOME = {
    "BootstrapGraph": "edgewise.inference",
    "DataWarning": "edgewise._core.errors",
    "DiscreteMarkovNet": "edgewise.estimators",
    "EdgewiseError": "edgewise._core.errors",
    "GaussianBayesNet": "edgewise.estimators",
    "GaussianGraph": "edgewise.estimators",
    "Graph": "edgewise.graph",
    "GraphTree": "edgewise.estimators",
    "InputError": "edgewise._core.errors",
    "LocallyConstantGraph": "edgewise.estimators",
    "NeighborhoodGraph": "edgewise.estimators",
    "NetworkChange": "edgewise.estimators",
    "SolverError": "edgewise._core.errors",
    "StabilitySelection": "edgewise.inference",
    "load": "edgewise.estimators",
    "permutation_test": "edgewise.inference",
}
_STAGES = (
    "data",
    "estimators",
    "graph",
    "inference",
    "io",
    "metrics",
    "plot",
    "reproduce",
    "selection",
    "solvers",
    "stats",
)

__all__ = [
    "BootstrapGraph",
    "DataWarning",
    "DiscreteMarkovNet",
    "EdgewiseError",
    "GaussianBayesNet",
    "GaussianGraph",
    "Graph",
    "GraphTree",
    "InputError",
    "LocallyConstantGraph",
    "NeighborhoodGraph",
    "NetworkChange",
    "SolverError",
    "StabilitySelection",
    "__version__",
    "load",
    "permutation_test",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in _STAGES:
        value = importlib.import_module(f"edgewise.{name}")
    else:
        raise AttributeError(f"module 'edgewise' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_STAGES})
