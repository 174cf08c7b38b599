"""Estimators that follow scikit-learn's conventions and return a `Graph`."""

from edgewise.estimators._archive import load
from edgewise.estimators._path import (
    CoefficientPath,
    GraphPath,
    LocallyConstantPath,
    PrecisionPath,
)
from edgewise.estimators.discrete_markov_net import DiscreteMarkovNet
from edgewise.estimators.gaussian_graph import GaussianGraph
from edgewise.estimators.locally_constant_graph import LocallyConstantGraph
from edgewise.estimators.neighborhood_graph import NeighborhoodGraph

__all__ = [
    "CoefficientPath",
    "DiscreteMarkovNet",
    "GaussianGraph",
    "GraphPath",
    "LocallyConstantGraph",
    "LocallyConstantPath",
    "NeighborhoodGraph",
    "PrecisionPath",
    "load",
]
