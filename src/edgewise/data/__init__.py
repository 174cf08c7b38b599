"""Tables that have been checked, simulators, and real data that come with the package."""

from edgewise.data.checks import (
    ColumnReport,
    check_columns,
    check_weights,
    inspect_columns,
    looks_like_covariance,
    refuse_covariance,
)
from edgewise.data.cliques import maximal_cliques
from edgewise.data.datasets import Dataset, Network, list_datasets, load_network, load_table
from edgewise.data.neighbors import describe_neighbors, neighbor_pairs, site_positions
from edgewise.data.simulate import (
    GaussianModel,
    MarkovModel,
    ar1_covariance,
    ar1_precision,
    block_model,
    changed_block_models,
    contour_model,
    equicorrelation,
    gaussian_graph,
    graph_structure,
    markov_model,
    sample_gaussian,
    sample_markov,
    six_node_graph,
)
from edgewise.data.table import Table

__all__ = [
    "ColumnReport",
    "Dataset",
    "GaussianModel",
    "MarkovModel",
    "Network",
    "Table",
    "ar1_covariance",
    "ar1_precision",
    "block_model",
    "changed_block_models",
    "check_columns",
    "check_weights",
    "contour_model",
    "describe_neighbors",
    "equicorrelation",
    "gaussian_graph",
    "graph_structure",
    "inspect_columns",
    "list_datasets",
    "load_network",
    "load_table",
    "looks_like_covariance",
    "markov_model",
    "maximal_cliques",
    "neighbor_pairs",
    "refuse_covariance",
    "sample_gaussian",
    "sample_markov",
    "site_positions",
    "six_node_graph",
]
