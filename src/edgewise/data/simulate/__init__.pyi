from .change import (
    GaussianChange as GaussianChange,
    SimulatedChange as SimulatedChange,
    gaussian_change as gaussian_change,
    lattice_change as lattice_change,
)
from .covariates import (
    PARTITION_LAYOUTS as PARTITION_LAYOUTS,
    PartitionedGraphs as PartitionedGraphs,
    VaryingGraphs as VaryingGraphs,
    drifting_chain as drifting_chain,
    drifting_grid as drifting_grid,
    tree_partition as tree_partition,
)
from .directed import (
    LinearSEM as LinearSEM,
    linear_sem as linear_sem,
    random_dag as random_dag,
    sample_linear_sem as sample_linear_sem,
)
from .gaussian import (
    GRAPH_KINDS as GRAPH_KINDS,
    HUB_LINKS as HUB_LINKS,
    GaussianModel as GaussianModel,
    ar1_covariance as ar1_covariance,
    ar1_precision as ar1_precision,
    equicorrelation as equicorrelation,
    gaussian_graph as gaussian_graph,
    graph_structure as graph_structure,
    sample_gaussian as sample_gaussian,
    six_node_graph as six_node_graph,
)
from .nongaussian import (
    DIAMOND_METHODS as DIAMOND_METHODS,
    REGULATION_KINDS as REGULATION_KINDS,
    SAMPLING_METHODS as SAMPLING_METHODS,
    DiamondChange as DiamondChange,
    GeneRegulationChange as GeneRegulationChange,
    Regulation as Regulation,
    diamond_change as diamond_change,
    gene_regulation_change as gene_regulation_change,
    sample_diamond as sample_diamond,
    sample_markov as sample_markov,
)
from .space import (
    CONTOUR_KINDS as CONTOUR_KINDS,
    block_model as block_model,
    changed_block_models as changed_block_models,
    contour_model as contour_model,
)
