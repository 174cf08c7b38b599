"""Numerical problems: arrays in, a frozen `Solution` with its certificate out."""

from edgewise.solvers._solution import Solution
from edgewise.solvers.blanket_scores import independence_logposterior, log_score
from edgewise.solvers.blanket_search import learn_structure
from edgewise.solvers.difference_penalty import difference_penalized
from edgewise.solvers.graphical_lasso import alpha_max, graphical_lasso, graphical_lasso_path
from edgewise.solvers.locally_constant import locally_constant, locally_constant_path
from edgewise.solvers.markov_potentials import PotentialSolution, fit_potentials
from edgewise.solvers.weighted_lasso import weighted_lasso

__all__ = [
    "PotentialSolution",
    "Solution",
    "alpha_max",
    "difference_penalized",
    "fit_potentials",
    "graphical_lasso",
    "graphical_lasso_path",
    "independence_logposterior",
    "learn_structure",
    "locally_constant",
    "locally_constant_path",
    "log_score",
    "weighted_lasso",
]
