from . import (
    data as data,
    estimators as estimators,
    graph as graph,
    inference as inference,
    io as io,
    metrics as metrics,
    plot as plot,
    report as report,
    selection as selection,
    solvers as solvers,
    stats as stats,
)
from ._core.errors import (
    DataWarning as DataWarning,
    EdgewiseError as EdgewiseError,
    InputError as InputError,
    NotEnoughMemoryError as NotEnoughMemoryError,
    SolverError as SolverError,
)
from ._core.resume import resumable as resumable
from ._version import __version__ as __version__
from .estimators.base.table import load as load
from .estimators.change.density_ratio import NetworkChange as NetworkChange
from .estimators.change.dtrace import DTraceChange as DTraceChange
from .estimators.change.fused import FusedNetworkChange as FusedNetworkChange
from .estimators.change.joint import JointGraphs as JointGraphs
from .estimators.change.sampled import SampledLikelihood as SampledLikelihood
from .estimators.change.separate import SeparateNetworkChange as SeparateNetworkChange
from .estimators.classify.classifier import (
    BayesNetClassifier as BayesNetClassifier,
)
from .estimators.covariates.conditional import ConditionalGraph as ConditionalGraph
from .estimators.covariates.kernel import KernelGraph as KernelGraph
from .estimators.covariates.kernel_search import KernelCV as KernelCV
from .estimators.covariates.tree import (
    GraphTree as GraphTree,
    HeldOut as HeldOut,
    Penalized as Penalized,
)
from .estimators.directed.blankets import BlanketBayesNet as BlanketBayesNet
from .estimators.directed.directed_graph import (
    BIC as BIC,
    BDeu as BDeu,
    DirectedGraph as DirectedGraph,
)
from .estimators.directed.order import GaussianBayesNet as GaussianBayesNet
from .estimators.discrete.markov_net import DiscreteMarkovNet as DiscreteMarkovNet
from .estimators.discrete.mixed import MixedGraph as MixedGraph
from .estimators.gaussian.graphical_lasso import GaussianGraph as GaussianGraph
from .estimators.gaussian.neighborhood import NeighborhoodGraph as NeighborhoodGraph
from .estimators.gaussian.temporal import TemporalGraph as TemporalGraph
from .estimators.space.locally_constant import LocallyConstantGraph as LocallyConstantGraph
from .graph.graph import Graph as Graph
from .inference.bootstrap import BootstrapGraph as BootstrapGraph
from .inference.permutation import permutation_test as permutation_test
from .inference.stability import StabilitySelection as StabilitySelection
from .selection.choose import SelectionWarning as SelectionWarning
from .selection.rules import (
    CV as CV,
    EBIC as EBIC,
    FDR as FDR,
    StARS as StARS,
    Stepwise as Stepwise,
)
