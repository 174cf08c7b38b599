from ._solution import Solution as Solution
from .change.density_ratio import (
    RatioSolution as RatioSolution,
    density_ratio as density_ratio,
    density_ratio_path as density_ratio_path,
    log_density_ratio as log_density_ratio,
    ratio_alpha_max as ratio_alpha_max,
    ratio_alpha_min as ratio_alpha_min,
)
from .change.dtrace import (
    DifferenceSolution as DifferenceSolution,
    dtrace as dtrace,
    dtrace_alpha_max as dtrace_alpha_max,
    dtrace_path as dtrace_path,
)
from .change.fused_neighborhood import (
    FusedNeighborhoodSolution as FusedNeighborhoodSolution,
    fused_neighborhood as fused_neighborhood,
    fused_neighborhood_alpha_max as fused_neighborhood_alpha_max,
    fused_neighborhood_path as fused_neighborhood_path,
)
from .change.joint_graphical_lasso import (
    JointPrecisionSolution as JointPrecisionSolution,
    joint_alpha_max as joint_alpha_max,
    joint_graphical_lasso as joint_graphical_lasso,
)
from .change.joint_path import (
    joint_coupling_max as joint_coupling_max,
    joint_graphical_lasso_path as joint_graphical_lasso_path,
)
from .change.sampled_likelihood import (
    Proposals as Proposals,
    SampledFusedSolution as SampledFusedSolution,
    draw_proposals as draw_proposals,
    sampled_fused_alpha_max as sampled_fused_alpha_max,
    sampled_fused_path as sampled_fused_path,
)
from .classify.class_networks import (
    ClassNetworksSolution as ClassNetworksSolution,
    fisher_networks as fisher_networks,
    margin_networks as margin_networks,
)
from .classify.fisher_scores import (
    fisher_kernel as fisher_kernel,
    fisher_vectors as fisher_vectors,
    network_residuals as network_residuals,
)
from .directed.blankets import (
    lasso_blankets as lasso_blankets,
    markov_blankets as markov_blankets,
    total_conditioning as total_conditioning,
)
from .directed.boss import boss_bayes_net as boss_bayes_net
from .directed.ges import ges_bayes_net as ges_bayes_net
from .directed.greedy import (
    exact_bayes_net as exact_bayes_net,
    greedy_bayes_net as greedy_bayes_net,
)
from .directed.order import bcd_bayes_net as bcd_bayes_net, order_bayes_net as order_bayes_net
from .directed.partial_correlation import (
    FisherTest as FisherTest,
    fisher_z_test as fisher_z_test,
    partial_correlation as partial_correlation,
)
from .directed.scores import ScoredSolution as ScoredSolution
from .directed.separation import (
    separating_sets as separating_sets,
    stable_skeleton as stable_skeleton,
)
from .directed.tiers import order_given_weights as order_given_weights
from .discrete.potentials import (
    PotentialSolution as PotentialSolution,
    fit_potentials as fit_potentials,
)
from .discrete.scores import (
    edge_associations as edge_associations,
    independence_logposterior as independence_logposterior,
    log_score as log_score,
)
from .discrete.search import learn_structure as learn_structure
from .gaussian.graphical_lasso import (
    alpha_max as alpha_max,
    graphical_lasso as graphical_lasso,
    graphical_lasso_path as graphical_lasso_path,
)
from .gaussian.latent import (
    LatentPrecisionSolution as LatentPrecisionSolution,
    latent_graphical_lasso as latent_graphical_lasso,
)
from .gaussian.refit import RefitSolution as RefitSolution, refit_precision as refit_precision
from .gaussian.screened import (
    SparsePrecisionSolution as SparsePrecisionSolution,
    screened_graphical_lasso as screened_graphical_lasso,
)
from .lasso.generalized import (
    RegressionSolution as RegressionSolution,
    generalized_lasso as generalized_lasso,
)
from .space.difference_penalty import difference_penalized as difference_penalized
from .space.locally_constant import (
    locally_constant as locally_constant,
    locally_constant_path as locally_constant_path,
)
