"""Estimators with two strengths, searched for together on a grid."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, Final

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.estimators._precision import PrecisionEstimator
from edgewise.estimators._statistics import Statistics
from edgewise.selection import PairSelection, SelectionWarning, alpha_grid, choose_pair_by_cv

#: Duality gap per variable that is enough to compare strengths.
SEARCH_TOL: Final = 1e-4


class PairSearchEstimator(PrecisionEstimator):
    """Base of estimators whose ``alpha`` and ``tau`` are numbers or ``"cv"``."""

    _rules = ("cv",)

    @abstractmethod
    def _solve_taus(
        self, statistics: Statistics, alpha: float, taus: FloatArray, tol: float
    ) -> Iterator[Any]:
        """Yield one fit per tau, each started from the one before where the solver can."""

    def _alphas(self, statistics: Statistics) -> FloatArray:
        return alpha_grid(self._largest_alpha(statistics), self.n_alphas, self.alpha_ratio)

    def _taus(self, statistics: Statistics) -> FloatArray:
        largest = self._largest_alpha(statistics) or 1.0
        return np.append(0.0, np.geomspace(self.alpha_ratio * largest, largest, self.n_taus))

    def _fit_taus(
        self,
        alpha: float,
        X: FloatArray,
        sample_weight: FloatArray | None,
        taus: FloatArray,
    ) -> Iterator[Any]:
        tol = max(self.tol, SEARCH_TOL)
        return self._solve_taus(self._statistics(X, sample_weight), alpha, taus, tol)

    def _choose_alpha(
        self, X: FloatArray, sample_weight: FloatArray | None, statistics: Statistics
    ) -> tuple[Any, float, PairSelection | None]:
        """Return the fit at the strengths as given, or as the search finds them."""
        selection = None
        alpha, tau = self.alpha, self.tau
        if "cv" in (alpha, tau):
            rows, weights = X, sample_weight
            # Splits that were handed in count all rows; otherwise a weight of 0 means no row.
            if weights is not None and isinstance(self.cv, Integral):
                rows, weights = rows[weights > 0], weights[weights > 0]
            selection = choose_pair_by_cv(
                rows,
                self._alphas(statistics) if alpha == "cv" else np.array([float(alpha)]),
                self._taus(statistics) if tau == "cv" else np.array([float(tau)]),
                self._fit_taus,
                self._score_fit,
                cv=self.cv,
                sample_weight=weights,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
            alpha, tau = selection.alpha, selection.tau
        fits = self._solve_taus(statistics, float(alpha), np.array([float(tau)]), self.tol)
        return next(iter(fits)), float(alpha), selection

    def _warn_of_search(self, selection: Any, fit: Any) -> None:
        if selection is None:
            return
        if selection.n_unconverged:
            warnings.warn(
                f"Of the fits in the search, {selection.n_unconverged} stopped above their "
                "tolerance. Raise max_iter, or raise alpha_ratio to leave out the smallest "
                "strengths.",
                ConvergenceWarning,
                stacklevel=4,
            )
        first, second = selection.index
        joined: BoolArray = fit.adjacency
        is_complete = joined.sum() == len(joined) * (len(joined) - 1)
        if 0 < first == len(selection.alphas) - 1 and not is_complete:
            warnings.warn(
                f'alpha="cv" chose {selection.alpha:.3g}, the smallest alpha it tried, so a '
                f"smaller one may be better. Pass alpha_ratio={self.alpha_ratio / 10:.1g} to "
                "search further.",
                SelectionWarning,
                stacklevel=4,
            )
        if 0 < second == len(selection.taus) - 1 and fit.solution.n_groups > 1:
            warnings.warn(
                f'tau="cv" chose {selection.tau:.3g}, the largest tau it tried, so a larger one '
                "may be better. Pass a number for tau to see.",
                SelectionWarning,
                stacklevel=4,
            )
