"""How far a learned network is from the true one: the public names."""

from edgewise.graph.equivalence import PdagErrors, cpdag, pdag_errors
from edgewise.graph.metrics import (
    EdgeMetrics,
    PrecisionRecallCurve,
    edge_metrics,
    gaussian_kl,
    irregularity,
    precision_recall_curve,
    shd,
)
from edgewise.graph.sortability import r2_sortability, varsortability

__all__ = [
    "EdgeMetrics",
    "PdagErrors",
    "PrecisionRecallCurve",
    "cpdag",
    "edge_metrics",
    "gaussian_kl",
    "irregularity",
    "pdag_errors",
    "precision_recall_curve",
    "r2_sortability",
    "shd",
    "varsortability",
]
