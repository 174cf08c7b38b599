"""Estimators that follow scikit-learn's conventions and return a `Graph`."""

from edgewise.estimators.base.archive import load
from edgewise.estimators.base.paths import (
    ChangePath,
    CoefficientPath,
    GraphPath,
    LocallyConstantPath,
    PrecisionPath,
)
from edgewise.estimators.change.density_ratio import DirectionCheck, NetworkChange
from edgewise.estimators.change.dtrace import DTraceChange
from edgewise.estimators.change.fused import FusedNetworkChange
from edgewise.estimators.change.separate import SeparateNetworkChange
from edgewise.estimators.classify.classifier import BayesNetClassifier
from edgewise.estimators.covariates.conditional import ConditionalGraph
from edgewise.estimators.covariates.kernel import KernelGraph
from edgewise.estimators.covariates.tree import GraphTree
from edgewise.estimators.directed.blankets import BlanketBayesNet
from edgewise.estimators.directed.order import GaussianBayesNet
from edgewise.estimators.discrete.markov_net import DiscreteMarkovNet
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.estimators.gaussian.neighborhood import NeighborhoodGraph
from edgewise.estimators.space.locally_constant import LocallyConstantGraph

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
