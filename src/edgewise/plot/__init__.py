"""Pictures of networks and of the paths that lead to them, drawn with matplotlib."""

from edgewise.plot.curves import plot_path, plot_precision_recall
from edgewise.plot.matrix import plot_matrix
from edgewise.plot.network import plot_network
from edgewise.plot.save import save_figure

__all__ = ["plot_matrix", "plot_network", "plot_path", "plot_precision_recall", "save_figure"]
