"""Numerical problems: arrays in, a frozen `Solution` with its certificate out."""

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
from edgewise.solvers.graphical_lasso import alpha_max, graphical_lasso, graphical_lasso_path
from edgewise.solvers.lasso_blankets import lasso_blankets
from edgewise.solvers.locally_constant import locally_constant, locally_constant_path
from edgewise.solvers.markov_potentials import PotentialSolution, fit_potentials
from edgewise.solvers.order_bayes_net import order_bayes_net
from edgewise.solvers.order_given_weights import order_given_weights
from edgewise.solvers.weighted_lasso import weighted_lasso

__all__ = [
    "PotentialSolution",
    "RatioSolution",
    "Solution",
    "alpha_max",
    "bcd_bayes_net",
    "density_ratio",
    "density_ratio_path",
    "difference_penalized",
    "fit_potentials",
    "graphical_lasso",
    "graphical_lasso_path",
    "independence_logposterior",
    "lasso_blankets",
    "learn_structure",
    "locally_constant",
    "locally_constant_path",
    "log_density_ratio",
    "log_score",
    "order_bayes_net",
    "order_given_weights",
    "ratio_alpha_max",
    "ratio_alpha_min",
    "weighted_lasso",
]
