"""Choosing the sparsity: criteria, and searches along a path for any solver."""

from edgewise.selection.criteria import (
    ebic,
    gaussian_log_likelihood,
    instability,
    row_log_likelihood,
    stars_subsample_size,
)
from edgewise.selection.search import (
    PairSelection,
    Selection,
    SelectionWarning,
    alpha_grid,
    choose_by_cv,
    choose_by_ebic,
    choose_by_stars,
    choose_pair_by_cv,
)

__all__ = [
    "PairSelection",
    "Selection",
    "SelectionWarning",
    "alpha_grid",
    "choose_by_cv",
    "choose_by_ebic",
    "choose_by_stars",
    "choose_pair_by_cv",
    "ebic",
    "gaussian_log_likelihood",
    "instability",
    "row_log_likelihood",
    "stars_subsample_size",
]
