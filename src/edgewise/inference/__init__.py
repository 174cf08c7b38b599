"""Certainty about edges: bootstrap and stability selection around any estimator."""

from edgewise.inference.bootstrap import BootstrapGraph
from edgewise.inference.stability import StabilitySelection, false_edge_bound

__all__ = ["BootstrapGraph", "StabilitySelection", "false_edge_bound"]
