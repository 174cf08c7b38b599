"""Simulated data with a known graph; one file per family of models."""

from edgewise.data.markov_model import MarkovModel, markov_model
from edgewise.data.simulate.change import (
    GaussianChange,
    SimulatedChange,
    gaussian_change,
    lattice_change,
)
from edgewise.data.simulate.covariates import (
    PARTITION_LAYOUTS,
    PartitionedGraphs,
    VaryingGraphs,
    drifting_chain,
    drifting_grid,
    tree_partition,
)
from edgewise.data.simulate.diamond import (
    DIAMOND_METHODS,
    DiamondChange,
    diamond_change,
    sample_diamond,
)
from edgewise.data.simulate.directed import (
    LinearSEM,
    linear_sem,
    random_dag,
    sample_linear_sem,
)
from edgewise.data.simulate.discrete import SAMPLING_METHODS, sample_markov
from edgewise.data.simulate.gaussian import (
    GRAPH_KINDS,
    HUB_LINKS,
    GaussianModel,
    ar1_covariance,
    ar1_precision,
    equicorrelation,
    gaussian_graph,
    graph_structure,
    sample_gaussian,
    six_node_graph,
)
from edgewise.data.simulate.gene_regulation import (
    REGULATION_KINDS,
    GeneRegulationChange,
    Regulation,
    gene_regulation_change,
)
from edgewise.data.simulate.space import (
    CONTOUR_KINDS,
    block_model,
    changed_block_models,
    contour_model,
)

__all__ = [
    "CONTOUR_KINDS",
    "DIAMOND_METHODS",
    "GRAPH_KINDS",
    "HUB_LINKS",
    "PARTITION_LAYOUTS",
    "REGULATION_KINDS",
    "SAMPLING_METHODS",
    "DiamondChange",
    "GaussianChange",
    "GaussianModel",
    "GeneRegulationChange",
    "LinearSEM",
    "MarkovModel",
    "PartitionedGraphs",
    "Regulation",
    "SimulatedChange",
    "VaryingGraphs",
    "ar1_covariance",
    "ar1_precision",
    "block_model",
    "changed_block_models",
    "contour_model",
    "diamond_change",
    "drifting_chain",
    "drifting_grid",
    "equicorrelation",
    "gaussian_change",
    "gaussian_graph",
    "gene_regulation_change",
    "graph_structure",
    "lattice_change",
    "linear_sem",
    "markov_model",
    "random_dag",
    "sample_diamond",
    "sample_gaussian",
    "sample_linear_sem",
    "sample_markov",
    "six_node_graph",
    "tree_partition",
]
