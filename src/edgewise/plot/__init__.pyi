from ._canvas import (
    save_figure as save_figure,
)
from .change import (
    plot_change as plot_change,
)
from .curves import (
    plot_intervals as plot_intervals,
    plot_path as plot_path,
    plot_precision_recall as plot_precision_recall,
)
from .directed import (
    plot_dag as plot_dag,
)
from .matrix import (
    plot_matrix as plot_matrix,
)
from .network import (
    plot_network as plot_network,
)
from .nodes import (
    plot_centrality as plot_centrality,
    plot_communities as plot_communities,
)
from .partition import (
    plot_leaf_map as plot_leaf_map,
)
from .seed_maps import (
    plot_seed_map as plot_seed_map,
)
from .space import (
    plot_sites as plot_sites,
)
from .tree import (
    plot_tree as plot_tree,
)
