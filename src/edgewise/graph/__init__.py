"""The network that every learner returns, its files, and the comparison of two networks."""

from edgewise.graph.compare import GraphDifference, classify_changes
from edgewise.graph.graph import Graph

__all__ = ["Graph", "GraphDifference", "classify_changes"]
