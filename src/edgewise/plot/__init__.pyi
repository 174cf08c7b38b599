from ._canvas import save_figure as save_figure
from .change import plot_change as plot_change, plot_change_strip as plot_change_strip
from .change_path import plot_change_path as plot_change_path
from .classify import (
    plot_accuracy as plot_accuracy,
    plot_arc_changes as plot_arc_changes,
    plot_class_networks as plot_class_networks,
)
from .curves import (
    plot_intervals as plot_intervals,
    plot_path as plot_path,
    plot_permutation as plot_permutation,
    plot_precision_recall as plot_precision_recall,
    plot_score_history as plot_score_history,
    plot_selection as plot_selection,
)
from .directed import plot_arc_confidence as plot_arc_confidence, plot_dag as plot_dag
from .groups import (
    plot_group_edges as plot_group_edges,
    plot_group_networks as plot_group_networks,
    plot_group_pairs as plot_group_pairs,
    plot_group_strengths as plot_group_strengths,
)
from .matrix import plot_coefficients as plot_coefficients, plot_matrix as plot_matrix
from .network import plot_network as plot_network, shared_layout as shared_layout
from .nodes import (
    plot_case_dropping as plot_case_dropping,
    plot_centrality as plot_centrality,
    plot_communities as plot_communities,
    plot_differences as plot_differences,
)
from .partition import plot_leaf_map as plot_leaf_map, plot_partition as plot_partition
from .seed_maps import plot_seed_map as plot_seed_map, plot_seed_maps as plot_seed_maps
from .space import plot_sites as plot_sites
from .tree import plot_tree as plot_tree, plot_tree_risk as plot_tree_risk
