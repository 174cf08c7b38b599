"""Numerical problems: arrays in, a frozen `Solution` with its certificate out."""

from edgewise.solvers._solution import Solution
from edgewise.solvers.graphical_lasso import alpha_max, graphical_lasso, graphical_lasso_path
from edgewise.solvers.weighted_lasso import weighted_lasso

__all__ = ["Solution", "alpha_max", "graphical_lasso", "graphical_lasso_path", "weighted_lasso"]
