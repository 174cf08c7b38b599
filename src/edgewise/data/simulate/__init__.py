"""Simulated data with a known graph; one file per family of models."""

from edgewise.data.simulate.gaussian import (
    GaussianModel,
    ar1_covariance,
    ar1_precision,
    equicorrelation,
    gaussian_graph,
    sample_gaussian,
)
from edgewise.data.simulate.structure import GRAPH_KINDS, graph_structure

__all__ = [
    "GRAPH_KINDS",
    "GaussianModel",
    "ar1_covariance",
    "ar1_precision",
    "equicorrelation",
    "gaussian_graph",
    "graph_structure",
    "sample_gaussian",
]
