"""Numerical problems: arrays in, a frozen `Solution` with its certificate out."""

from edgewise.solvers._solution import Solution
from edgewise.solvers.difference_penalty import difference_penalized
from edgewise.solvers.graphical_lasso import alpha_max, graphical_lasso, graphical_lasso_path
from edgewise.solvers.locally_constant import locally_constant, locally_constant_path
from edgewise.solvers.weighted_lasso import weighted_lasso

__all__ = [
    "Solution",
    "alpha_max",
    "difference_penalized",
    "graphical_lasso",
    "graphical_lasso_path",
    "locally_constant",
    "locally_constant_path",
    "weighted_lasso",
]
