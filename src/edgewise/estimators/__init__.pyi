from .base.table import (
    load as load,
)
from .change.density_ratio import (
    NetworkChange as NetworkChange,
)
from .change.dtrace import (
    DTraceChange as DTraceChange,
)
from .change.fused import (
    FusedNetworkChange as FusedNetworkChange,
)
from .change.joint import (
    JointGraphs as JointGraphs,
)
from .change.sampled import (
    SampledLikelihood as SampledLikelihood,
)
from .change.separate import (
    SeparateNetworkChange as SeparateNetworkChange,
)
from .classify.classifier import (
    BayesNetClassifier as BayesNetClassifier,
)
from .covariates.conditional import (
    ConditionalGraph as ConditionalGraph,
)
from .covariates.kernel import (
    KernelGraph as KernelGraph,
)
from .covariates.kernel_search import (
    KernelCV as KernelCV,
)
from .covariates.tree import (
    GraphTree as GraphTree,
    HeldOut as HeldOut,
    Penalized as Penalized,
)
from .directed.blankets import (
    BlanketBayesNet as BlanketBayesNet,
)
from .directed.directed_graph import (
    BIC as BIC,
    BDeu as BDeu,
    DirectedGraph as DirectedGraph,
)
from .directed.order import (
    GaussianBayesNet as GaussianBayesNet,
)
from .discrete.markov_net import (
    DiscreteMarkovNet as DiscreteMarkovNet,
)
from .discrete.mixed import (
    MixedGraph as MixedGraph,
)
from .gaussian.graphical_lasso import (
    GaussianGraph as GaussianGraph,
)
from .gaussian.neighborhood import (
    NeighborhoodGraph as NeighborhoodGraph,
)
from .gaussian.temporal import (
    TemporalGraph as TemporalGraph,
)
from .space.locally_constant import (
    LocallyConstantGraph as LocallyConstantGraph,
)
