"""Distances between networks, and statistics of their nodes: the public names."""

from edgewise.graph.equivalence import (
    PdagErrors as PdagErrors,
    adjacency_metrics,
    arrowhead_metrics,
    cpdag,
    pdag_errors,
)
from edgewise.graph.metrics import (
    EdgeMetrics as EdgeMetrics,
    PrecisionRecallCurve as PrecisionRecallCurve,
    communities,
    edge_metrics,
    gaussian_kl,
    irregularity,
    node_statistics,
    precision_recall_curve,
    shd,
)
from edgewise.graph.rows import predictability, r2_sortability, varsortability

__all__ = [
    "adjacency_metrics",
    "arrowhead_metrics",
    "communities",
    "cpdag",
    "edge_metrics",
    "gaussian_kl",
    "irregularity",
    "node_statistics",
    "pdag_errors",
    "precision_recall_curve",
    "predictability",
    "r2_sortability",
    "shd",
    "varsortability",
]
