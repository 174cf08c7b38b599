"""Numerical problems: arrays in, a frozen `Solution` with its certificate out."""

from edgewise.solvers._class_arcs import ClassNetworksSolution
from edgewise.solvers._solution import Solution
from edgewise.solvers.bcd_bayes_net import bcd_bayes_net
from edgewise.solvers.blanket_scores import independence_logposterior, log_score
from edgewise.solvers.blanket_search import learn_structure
from edgewise.solvers.density_ratio import (
    RatioSolution,
    density_ratio,
    density_ratio_path,
    log_density_ratio,
    ratio_alpha_max,
    ratio_alpha_min,
)
from edgewise.solvers.difference_penalty import difference_penalized
from edgewise.solvers.dtrace import DifferenceSolution, dtrace, dtrace_alpha_max, dtrace_path
from edgewise.solvers.fisher_networks import fisher_networks
from edgewise.solvers.fisher_scores import fisher_kernel, fisher_vectors, network_residuals
from edgewise.solvers.fisher_z import FisherTest, fisher_z_test, partial_correlation
from edgewise.solvers.fused_graphical_lasso import (
    FusedPrecisionSolution,
    fused_graphical_lasso,
    fused_graphical_lasso_alpha_max,
    fused_graphical_lasso_path,
)
from edgewise.solvers.fused_neighborhood import (
    FusedNeighborhoodSolution,
    fused_neighborhood,
    fused_neighborhood_alpha_max,
    fused_neighborhood_path,
)
from edgewise.solvers.graphical_lasso import alpha_max, graphical_lasso, graphical_lasso_path
from edgewise.solvers.greedy_bayes_net import greedy_bayes_net
from edgewise.solvers.lasso_blankets import lasso_blankets
from edgewise.solvers.locally_constant import locally_constant, locally_constant_path
from edgewise.solvers.margin_networks import margin_networks
from edgewise.solvers.markov_blankets import markov_blankets
from edgewise.solvers.markov_potentials import PotentialSolution, fit_potentials
from edgewise.solvers.order_bayes_net import order_bayes_net
from edgewise.solvers.order_given_weights import order_given_weights
from edgewise.solvers.refit_precision import RefitSolution, refit_precision
from edgewise.solvers.sampled_likelihood import (
    Proposals,
    SampledFusedSolution,
    draw_proposals,
    sampled_fused_alpha_max,
    sampled_fused_path,
)
from edgewise.solvers.separating_sets import separating_sets
from edgewise.solvers.total_conditioning import total_conditioning

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
