"""Pictures of networks and of the paths that lead to them, drawn with matplotlib."""

from edgewise.plot._canvas import save_figure
from edgewise.plot.change import plot_change, plot_change_strip
from edgewise.plot.change_path import plot_change_path
from edgewise.plot.classify import plot_accuracy, plot_arc_changes, plot_class_networks
from edgewise.plot.curves import (
    plot_path,
    plot_permutation,
    plot_precision_recall,
    plot_score_history,
    plot_selection,
)
from edgewise.plot.directed import plot_arc_confidence, plot_dag
from edgewise.plot.matrix import plot_coefficients, plot_matrix
from edgewise.plot.network import plot_network
from edgewise.plot.partition import plot_leaf_map, plot_partition
from edgewise.plot.seed_maps import plot_seed_map, plot_seed_maps
from edgewise.plot.space import plot_sites
from edgewise.plot.tree import plot_tree, plot_tree_risk

__all__ = [
    "plot_accuracy",
    "plot_arc_changes",
    "plot_arc_confidence",
    "plot_change",
    "plot_change_path",
    "plot_change_strip",
    "plot_class_networks",
    "plot_coefficients",
    "plot_dag",
    "plot_leaf_map",
    "plot_matrix",
    "plot_network",
    "plot_partition",
    "plot_path",
    "plot_permutation",
    "plot_precision_recall",
    "plot_score_history",
    "plot_seed_map",
    "plot_seed_maps",
    "plot_selection",
    "plot_sites",
    "plot_tree",
    "plot_tree_risk",
    "save_figure",
]
