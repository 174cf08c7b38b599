"""Learn the network behind a table of measurements.

The public names are loaded when first used, so that ``import edgewise`` and
``edgewise --help`` stay quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from edgewise._version import __version__

if TYPE_CHECKING:
    from edgewise._core.errors import (
        DataWarning,
        EdgewiseError,
        InputError,
        NotEnoughMemoryError,
        SolverError,
    )
    from edgewise._core.resume import resumable
    from edgewise.estimators import (
        BayesNetClassifier,
        BlanketBayesNet,
        ConditionalGraph,
        DiscreteMarkovNet,
        DTraceChange,
        FusedNetworkChange,
        GaussianBayesNet,
        GaussianGraph,
        GraphTree,
        KernelGraph,
        LocallyConstantGraph,
        NeighborhoodGraph,
        NetworkChange,
        SeparateNetworkChange,
        load,
    )
    from edgewise.graph import Graph
    from edgewise.inference import BootstrapGraph, StabilitySelection, permutation_test

_HOME = {
    "BayesNetClassifier": "edgewise.estimators",
    "BlanketBayesNet": "edgewise.estimators",
    "BootstrapGraph": "edgewise.inference",
    "ConditionalGraph": "edgewise.estimators",
    "DTraceChange": "edgewise.estimators",
    "DataWarning": "edgewise._core.errors",
    "DiscreteMarkovNet": "edgewise.estimators",
    "EdgewiseError": "edgewise._core.errors",
    "FusedNetworkChange": "edgewise.estimators",
    "GaussianBayesNet": "edgewise.estimators",
    "GaussianGraph": "edgewise.estimators",
    "Graph": "edgewise.graph",
    "GraphTree": "edgewise.estimators",
    "InputError": "edgewise._core.errors",
    "KernelGraph": "edgewise.estimators",
    "LocallyConstantGraph": "edgewise.estimators",
    "NeighborhoodGraph": "edgewise.estimators",
    "NetworkChange": "edgewise.estimators",
    "NotEnoughMemoryError": "edgewise._core.errors",
    "SeparateNetworkChange": "edgewise.estimators",
    "SolverError": "edgewise._core.errors",
    "StabilitySelection": "edgewise.inference",
    "load": "edgewise.estimators",
    "permutation_test": "edgewise.inference",
    "resumable": "edgewise._core.resume",
}
_STAGES = (
    "data",
    "estimators",
    "graph",
    "inference",
    "io",
    "metrics",
    "plot",
    "report",
    "reproduce",
    "selection",
    "solvers",
    "stats",
)

__all__ = [
    "BayesNetClassifier",
    "BlanketBayesNet",
    "BootstrapGraph",
    "ConditionalGraph",
    "DTraceChange",
    "DataWarning",
    "DiscreteMarkovNet",
    "EdgewiseError",
    "FusedNetworkChange",
    "GaussianBayesNet",
    "GaussianGraph",
    "Graph",
    "GraphTree",
    "InputError",
    "KernelGraph",
    "LocallyConstantGraph",
    "NeighborhoodGraph",
    "NetworkChange",
    "NotEnoughMemoryError",
    "SeparateNetworkChange",
    "SolverError",
    "StabilitySelection",
    "__version__",
    "load",
    "permutation_test",
    "resumable",
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
