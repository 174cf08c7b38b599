"""Estimators with two strengths, searched for together on a grid."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.estimators.base.precision import PrecisionEstimator
from edgewise.estimators.base.statistics import Statistics
from edgewise.selection import PairSelection, SelectionWarning, alpha_grid, choose_pair_by_cv


class PairSearchEstimator(PrecisionEstimator):
    """Base of estimators whose ``alpha`` and ``tau`` are numbers or ``"cv"``."""

    _rules = ("cv",)
    #: Duality gap per variable that is enough to compare strengths.
    _search_tol = 1e-4

    @abstractmethod
    def _solve_taus(
        self, statistics: Statistics, alpha: float, taus: FloatArray, tol: float
    ) -> Iterator[Any]:
        """Yield one fit per tau, each started from the one before where the solver can."""

    def _check_parameters(self) -> None:
        is_number = isinstance(self.tau, Real) and not isinstance(self.tau, bool)
        is_rule = isinstance(self.tau, str) and self.tau == "cv"
        if not is_rule and not (is_number and 0 <= self.tau < np.inf):
            raise InputError(f"tau must be a number of at least 0 or 'cv', got {self.tau!r}.")
        super()._check_parameters()
        if self.alpha == 0:
            raise InputError("alpha must be above 0: without sparsity there may be no solution.")
        is_ratio = isinstance(self.alpha_ratio, Real)
        if not (is_ratio and 0 < self.alpha_ratio < 1):
            raise InputError(f"alpha_ratio must be between 0 and 1, got {self.alpha_ratio!r}.")
        if not isinstance(self.n_taus, Integral) or self.n_taus < 1:
            raise InputError(f"n_taus must be a whole number above 0, got {self.n_taus!r}.")

    def _check_without_rows(self, given: str) -> None:
        for name in ("alpha", "tau"):
            if getattr(self, name) == "cv":
                raise InputError(
                    f'{name}="cv" needs rows, which {given} does not have. Pass the rows, or '
                    "numbers for alpha and tau."
                )

    def _largest_strength(self, statistics: Statistics) -> float:
        """Smallest alpha with an empty graph; the mean variance where no edge is possible."""
        return self._largest_alpha(statistics) or float(np.mean(statistics.S.diagonal()))

    def _alphas(self, statistics: Statistics) -> FloatArray:
        return alpha_grid(self._largest_strength(statistics), self.n_alphas, self.alpha_ratio)

    def _taus(self, statistics: Statistics) -> FloatArray:
        largest = self._largest_strength(statistics)
        return np.append(0.0, np.geomspace(self.alpha_ratio * largest, largest, self.n_taus))

    def _path_taus(self, taus: ArrayLike | None) -> FloatArray:
        """Taus of a path as an array."""
        if taus is None and isinstance(self.tau, str):
            raise InputError("A path needs to know tau. Pass taus, or a number for tau.")
        listed = np.atleast_1d(np.asarray(self.tau if taus is None else taus))
        if listed.ndim > 1 or not listed.size or listed.dtype.kind not in "iuf":
            raise InputError("taus must be a non-empty list of numbers of at least 0.")
        return listed.astype(np.float64)

    def _fit_taus(
        self,
        alpha: float,
        X: FloatArray,
        sample_weight: FloatArray | None,
        taus: FloatArray,
    ) -> Iterator[Any]:
        tol = max(self.tol, self._search_tol)
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
                # As in a search for one strength, so that equal seeds give equal folds.
                random_state=int(as_generator(self.random_state).integers(2**31)),
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
            remedy = (
                'Pass solver="admm".'
                if self.solver == "descent"
                else "Raise max_iter, or raise alpha_ratio to leave out the smallest strengths."
            )
            warnings.warn(
                f"Of the fits in the search, {selection.n_unconverged} stopped above their "
                f"tolerance. {remedy}",
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
