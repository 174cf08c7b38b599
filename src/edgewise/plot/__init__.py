"""Pictures of networks and of the paths that lead to them, drawn with matplotlib."""

from edgewise.plot.curves import plot_path, plot_precision_recall
from edgewise.plot.matrix import plot_matrix
from edgewise.plot.network import plot_network
from edgewise.plot.permutation import plot_permutation
from edgewise.plot.save import save_figure
from edgewise.plot.sites import plot_sites
from edgewise.plot.spatial import plot_seed_map, plot_seed_maps

__all__ = [
    "plot_matrix",
    "plot_network",
    "plot_path",
    "plot_permutation",
    "plot_precision_recall",
    "plot_seed_map",
    "plot_seed_maps",
    "plot_sites",
    "save_figure",
]
