"""Pictures of networks and of the paths that lead to them, drawn with matplotlib."""

from edgewise.plot.arc_confidence import plot_arc_confidence
from edgewise.plot.change import plot_change, plot_change_strip
from edgewise.plot.change_path import plot_change_path
from edgewise.plot.class_networks import plot_accuracy, plot_arc_changes, plot_class_networks
from edgewise.plot.coefficients import plot_coefficients
from edgewise.plot.curves import plot_path
from edgewise.plot.dag import plot_dag
from edgewise.plot.matrix import plot_matrix
from edgewise.plot.network import plot_network
from edgewise.plot.partition import plot_leaf_map, plot_partition
from edgewise.plot.permutation import plot_permutation
from edgewise.plot.precision_recall import plot_precision_recall
from edgewise.plot.save import save_figure
from edgewise.plot.search import plot_score_history, plot_selection
from edgewise.plot.sites import plot_sites
from edgewise.plot.spatial import plot_seed_map, plot_seed_maps
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
