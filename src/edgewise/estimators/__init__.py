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
from edgewise.estimators.bayes_net_classifier import BayesNetClassifier
from edgewise.estimators.blanket_bayes_net import BlanketBayesNet
from edgewise.estimators.conditional_graph import ConditionalGraph
from edgewise.estimators.discrete_markov_net import DiscreteMarkovNet
from edgewise.estimators.dtrace_change import DTraceChange
from edgewise.estimators.fused_change import FusedNetworkChange
from edgewise.estimators.gaussian_bayes_net import GaussianBayesNet
from edgewise.estimators.gaussian_graph import GaussianGraph
from edgewise.estimators.graph_tree import GraphTree
from edgewise.estimators.kernel_graph import KernelGraph
from edgewise.estimators.locally_constant_graph import LocallyConstantGraph
from edgewise.estimators.neighborhood_graph import NeighborhoodGraph
from edgewise.estimators.network_change import NetworkChange
from edgewise.estimators.separate_change import SeparateNetworkChange

__all__ = [
    "BayesNetClassifier",
    "BlanketBayesNet",
    "ChangePath",
    "CoefficientPath",
    "ConditionalGraph",
    "DTraceChange",
    "DirectionCheck",
    "DiscreteMarkovNet",
    "FusedNetworkChange",
    "GaussianBayesNet",
    "GaussianGraph",
    "GraphPath",
    "GraphTree",
    "KernelGraph",
    "LocallyConstantGraph",
    "LocallyConstantPath",
    "NeighborhoodGraph",
    "NetworkChange",
    "PrecisionPath",
    "SeparateNetworkChange",
    "load",
]
