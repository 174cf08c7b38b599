from .datasets import (
    list_datasets as list_datasets,
    load_climate as load_climate,
    load_dag as load_dag,
    load_network as load_network,
    load_senate as load_senate,
    load_table as load_table,
)
from .kinds import (
    impute as impute,
)
from .markov import (
    make_markov_model as make_markov_model,
)
from .neighbors import (
    neighbor_pairs as neighbor_pairs,
)
from .roles import (
    martingale_residuals as martingale_residuals,
)
from .simulate.change import (
    make_gaussian_change as make_gaussian_change,
    make_lattice_change as make_lattice_change,
)
from .simulate.covariates import (
    make_drifting_chain as make_drifting_chain,
    make_drifting_grid as make_drifting_grid,
    make_tree_partition as make_tree_partition,
)
from .simulate.diamond import (
    make_diamond_change as make_diamond_change,
)
from .simulate.directed import (
    make_dag as make_dag,
    make_linear_sem as make_linear_sem,
)
from .simulate.gaussian import (
    GaussianModel as GaussianModel,
    make_gaussian_graph as make_gaussian_graph,
    make_graph as make_graph,
)
from .simulate.space import (
    make_block_model as make_block_model,
    make_changed_block_models as make_changed_block_models,
)
