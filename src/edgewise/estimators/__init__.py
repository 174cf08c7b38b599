"""Estimators that follow scikit-learn's conventions and return a `Graph`."""

from edgewise.estimators._archive import load
from edgewise.estimators._direction import DirectionCheck
from edgewise.estimators._path import (
    ChangePath,
    CoefficientPath,
    GraphPath,
    LocallyConstantPath,
    PrecisionPath,
)
from edgewise.estimators.discrete_markov_net import DiscreteMarkovNet
from edgewise.estimators.gaussian_bayes_net import GaussianBayesNet
from edgewise.estimators.gaussian_graph import GaussianGraph
from edgewise.estimators.graph_tree import GraphTree
from edgewise.estimators.locally_constant_graph import LocallyConstantGraph
from edgewise.estimators.neighborhood_graph import NeighborhoodGraph
from edgewise.estimators.network_change import NetworkChange

__all__ = [
    "ChangePath",
    "CoefficientPath",
    "DirectionCheck",
    "DiscreteMarkovNet",
    "GaussianBayesNet",
    "GaussianGraph",
    "GraphPath",
    "GraphTree",
    "LocallyConstantGraph",
    "LocallyConstantPath",
    "NeighborhoodGraph",
    "NetworkChange",
    "PrecisionPath",
    "load",
]
