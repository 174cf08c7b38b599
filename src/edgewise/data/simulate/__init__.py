"""Simulated data with a known graph; one file per family of models."""

from edgewise.data.simulate.gaussian import (
    GaussianModel,
    ar1_covariance,
    ar1_precision,
    equicorrelation,
    gaussian_graph,
    sample_gaussian,
)
from edgewise.data.simulate.markov import MarkovModel, markov_model
from edgewise.data.simulate.markov_samples import SAMPLING_METHODS, sample_markov
from edgewise.data.simulate.spatial import (
    CONTOUR_KINDS,
    block_model,
    changed_block_models,
    contour_model,
)
from edgewise.data.simulate.structure import (
    GRAPH_KINDS,
    HUB_LINKS,
    graph_structure,
    six_node_graph,
)

__all__ = [
    "CONTOUR_KINDS",
    "GRAPH_KINDS",
    "HUB_LINKS",
    "SAMPLING_METHODS",
    "GaussianModel",
    "MarkovModel",
    "ar1_covariance",
    "ar1_precision",
    "block_model",
    "changed_block_models",
    "contour_model",
    "equicorrelation",
    "gaussian_graph",
    "graph_structure",
    "markov_model",
    "sample_gaussian",
    "sample_markov",
    "six_node_graph",
]
