"""Estimators that follow scikit-learn's conventions and return a `Graph`."""

from edgewise.estimators._archive import load
from edgewise.estimators._path import CoefficientPath, GraphPath, PrecisionPath
from edgewise.estimators.gaussian_graph import GaussianGraph
from edgewise.estimators.neighborhood_graph import NeighborhoodGraph

__all__ = [
    "CoefficientPath",
    "GaussianGraph",
    "GraphPath",
    "NeighborhoodGraph",
    "PrecisionPath",
    "load",
]
