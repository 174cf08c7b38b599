"""Numerical problems: arrays in, a frozen `Solution` with its certificate out."""

from edgewise.solvers._solution import Solution
from edgewise.solvers.change.density_ratio import (
    RatioSolution,
    density_ratio,
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
    ratio_alpha_min,
)
from edgewise.solvers.change.dtrace import DifferenceSolution, dtrace, dtrace_alpha_max, dtrace_path
from edgewise.solvers.change.fused_graphical_lasso import (
    FusedPrecisionSolution,
    fused_graphical_lasso,
    fused_graphical_lasso_alpha_max,
    fused_graphical_lasso_path,
)
from edgewise.solvers.change.fused_neighborhood import (
    FusedNeighborhoodSolution,
    fused_neighborhood,
    fused_neighborhood_alpha_max,
    fused_neighborhood_path,
)
from edgewise.solvers.change.sampled_likelihood import (
    Proposals,
    SampledFusedSolution,
    draw_proposals,
    sampled_fused_alpha_max,
    sampled_fused_path,
)
from edgewise.solvers.classify.class_arcs import ClassNetworksSolution
from edgewise.solvers.classify.fisher import fisher_networks
from edgewise.solvers.classify.fisher_scores import fisher_kernel, fisher_vectors, network_residuals
from edgewise.solvers.classify.margin import margin_networks
from edgewise.solvers.directed.agony import order_given_weights
from edgewise.solvers.directed.bcd import bcd_bayes_net
from edgewise.solvers.directed.blankets import lasso_blankets, markov_blankets, total_conditioning
from edgewise.solvers.directed.greedy import greedy_bayes_net
from edgewise.solvers.directed.order import order_bayes_net
from edgewise.solvers.directed.partial_correlation import (
    FisherTest,
    fisher_z_test,
    partial_correlation,
)
from edgewise.solvers.directed.separation import separating_sets
from edgewise.solvers.discrete.potentials import PotentialSolution, fit_potentials
from edgewise.solvers.discrete.scores import independence_logposterior, log_score
from edgewise.solvers.discrete.search import learn_structure
from edgewise.solvers.gaussian.graphical_lasso import (
    alpha_max,
    graphical_lasso,
    graphical_lasso_path,
)
from edgewise.solvers.gaussian.refit import RefitSolution, refit_precision
from edgewise.solvers.space.difference_penalty import difference_penalized
from edgewise.solvers.space.locally_constant import locally_constant, locally_constant_path

__all__ = [
    "ClassNetworksSolution",
    "DifferenceSolution",
    "FisherTest",
    "FusedNeighborhoodSolution",
    "FusedPrecisionSolution",
    "PotentialSolution",
    "Proposals",
    "RatioSolution",
    "RefitSolution",
    "SampledFusedSolution",
    "Solution",
    "alpha_max",
    "bcd_bayes_net",
    "density_ratio",
    "density_ratio_path",
    "difference_penalized",
    "draw_proposals",
    "dtrace",
    "dtrace_alpha_max",
    "dtrace_path",
    "fisher_kernel",
    "fisher_networks",
    "fisher_vectors",
    "fisher_z_test",
    "fit_potentials",
    "fused_graphical_lasso",
    "fused_graphical_lasso_alpha_max",
    "fused_graphical_lasso_path",
    "fused_neighborhood",
    "fused_neighborhood_alpha_max",
    "fused_neighborhood_path",
    "graphical_lasso",
    "graphical_lasso_path",
    "greedy_bayes_net",
    "independence_logposterior",
    "lasso_blankets",
    "learn_structure",
    "locally_constant",
    "locally_constant_path",
    "log_density_ratio",
    "log_score",
    "margin_networks",
    "markov_blankets",
    "network_residuals",
    "order_bayes_net",
    "order_given_weights",
    "partial_correlation",
    "ratio_alpha_max",
    "ratio_alpha_min",
    "refit_precision",
    "sampled_fused_alpha_max",
    "sampled_fused_path",
    "separating_sets",
    "total_conditioning",
]
