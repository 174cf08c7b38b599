"""How a kernel-smoothed network is found: parameters, search, checks and warnings."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Final

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.memory import Arrays
from edgewise._core.typing import FloatArray, IntArray
from edgewise.estimators.base.numbers import is_number
from edgewise.estimators.covariates.conditional import ConditionalEstimator, as_coordinates
from edgewise.estimators.covariates.kernel_search import (
    SEARCH_TOL,
    KernelSearch,
    Neighborhoods,
    alpha_grids,
    bandwidth_grid,
    neighboring_order,
    search,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection import SelectionWarning
from edgewise.solvers.covariates.nearby_fits import NearbyFits, fit_nearby
from edgewise.stats.kernel import effective_samples

CHOICES: Final = {"mean": ("local", "global"), "scale": ("range", "none")}
#: Smallest values of the whole numbers among the parameters.
COUNTS: Final = {
    "min_samples": 2,
    "n_bandwidths": 2,
    "n_alphas": 2,
    "n_anchors": 2,
    "max_iter": 1,
}


class KernelEstimator(ConditionalEstimator):
    """Base of `KernelGraph`: everything that users do not call."""

    _copies_held = 3.0

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        anchors = min(n_rows, self.n_anchors)
        held = super()._arrays_held(n_rows, n_features)
        return [*held, Arrays(5.0, (anchors, n_features, n_features))]

    def _check_parameters(self) -> None:
        """Refuse parameters that no data could make sense of."""
        for name, lowest in (("bandwidth", "above"), ("alpha", "at least")):
            value = getattr(self, name)
            is_fine = is_number(value, least=0) and (value > 0 or name == "alpha")
            if value != "cv" and not is_fine:
                raise InputError(f'{name} must be a number {lowest} 0 or "cv", got {value!r}.')
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name} must be one of {quote_names(allowed)}, got {getattr(self, name)!r}."
                )
        for name, least in COUNTS.items():
            value = getattr(self, name)
            is_count = isinstance(value, Integral) and not isinstance(value, bool)
            if not is_count or value < least:
                raise InputError(f"{name} must be a whole number, at least {least}; got {value!r}.")
        if not self.tol > 0:
            raise InputError(f"tol must be positive, got {self.tol!r}.")

    def _units(self) -> tuple[FloatArray, FloatArray]:
        """Location and scale that take the responses to those of the search."""
        deviation: FloatArray = self.responses_.std(axis=0)
        scale = deviation if self.standardize else np.ones_like(deviation)
        return self.responses_.mean(axis=0), scale

    def _neighborhoods(self) -> Neighborhoods:
        location, scale = self._units()
        return Neighborhoods(
            X=self.coordinates_,
            Y=(self.responses_ - location) / scale,
            own_mean=self.mean == "local",
            min_samples=float(self.min_samples),
        )

    def _points(self, X: Any) -> tuple[FloatArray, IntArray]:
        """Distinct coordinates of covariates, and which of them each row has."""
        check_is_fitted(self)
        table = self._read_covariates(X, self._kinds())
        coordinates = as_coordinates(table, self.covariates_, scale=self.scale)
        points, at = np.unique(coordinates, axis=0, return_inverse=True)
        return points, at.reshape(-1)

    def _settings(self) -> tuple[float, float, bool, dict[str, Any]]:
        """Bandwidth, alpha, whether to refit, and options of the graphical lasso."""
        return self.bandwidth_, self.alpha_, self.refit, {"tol": self.tol, **self._lasso()}

    def _lasso(self) -> dict[str, Any]:
        return {"penalize_diagonal": self.penalize_diagonal, "max_iter": self.max_iter}

    def _search(self, rows: Neighborhoods, generator: np.random.Generator) -> KernelSearch:
        """Judge what there is to choose; with nothing to choose, give back what was asked for."""
        bandwidths = np.array([self.bandwidth], dtype=object)
        if isinstance(self.bandwidth, str):
            bandwidths = bandwidth_grid(rows, self.anchors_, self.n_bandwidths)
        bandwidths = bandwidths.astype(np.float64)
        if isinstance(self.alpha, str):
            alphas = alpha_grids(
                rows, self.anchors_, bandwidths, n_alphas=self.n_alphas, ratio=self.alpha_ratio
            )
        else:
            alphas = np.full((len(bandwidths), 1), float(self.alpha))
        if alphas.size == 1:
            return KernelSearch(bandwidths, alphas, np.full((1, 1), np.nan), 0)
        return search(
            rows,
            bandwidths,
            alphas,
            refit=self.refit,
            lasso={"tol": max(self.tol, SEARCH_TOL), **self._lasso()},
            cv=self.cv,
            n_anchors=self.n_anchors,
            random_state=generator,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _keep(self, found: KernelSearch) -> None:
        """Store the choice, and warn where it sits at an end."""
        first, second = found.best
        self.bandwidth_ = float(found.bandwidths[first])
        self.alpha_ = float(found.alphas[first, second])
        self.bandwidths_, self.alphas_ = found.bandwidths, found.alphas
        p = len(self.response_names_)
        constant = p * np.log(2.0 * np.pi) + 2.0 * float(np.log(self._units()[1]).sum())
        self.heldout_ = None if found.risks.size == 1 else -0.5 * (found.risks + constant)
        if found.n_unconverged:
            warnings.warn(
                f"Of the fits in the search, {found.n_unconverged} stopped above their tolerance. "
                "Raise max_iter, or raise alpha_ratio to leave out the smallest alphas.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if len(found.bandwidths) > 1 and first == len(found.bandwidths) - 1:
            warnings.warn(
                f"The narrowest bandwidth tried, {self.bandwidth_:.3g}, is the best, so a narrower "
                "one may be better. It leaves min_samples effective rows at the typical x: lower "
                "min_samples to search further, or use GraphTree if the network changes at "
                "borders.",
                SelectionWarning,
                stacklevel=3,
            )
        if found.alphas.shape[1] > 1 and second == found.alphas.shape[1] - 1:
            smaller = found.alphas[first, -1] / found.alphas[first, 0] / 10
            warnings.warn(
                f"The smallest alpha tried, {self.alpha_:.3g}, is the best, so a smaller one may "
                f"be better. Pass alpha_ratio={smaller:.1g} to search further.",
                SelectionWarning,
                stacklevel=3,
            )

    def _check_anchors(self, rows: Neighborhoods) -> None:
        """Fit at the anchors, for the certificate, and to all rows together."""
        points = self.coordinates_[self.anchors_]
        order = neighboring_order(points)
        fits, _ = fit_points(rows, points[order], *self._settings())
        weights, _ = rows.weights(points, self.bandwidth_)
        self.effective_samples_ = effective_samples(weights)
        alike = np.full((1, len(rows.Y)), 1.0 / len(rows.Y))
        _, alpha, refit, lasso = self._settings()
        pooled = fit_nearby(rows.moments(alike)[1], alpha, refit=refit, **lasso)
        self.graph_ = Graph.from_precision(pooled.precision[0], names=self.response_names_)
        self.gap_ = float(fits.gap.max())
        self.n_iter_ = int(fits.n_iter.max())
        self.converged_ = self.gap_ <= self.tol * len(self.response_names_)
        if not self.converged_:
            warnings.warn(
                f"The duality gap at some x is {self.gap_:.2g}, above tol * p = "
                f"{self.tol * len(self.response_names_):.2g}. Raise max_iter or alpha, or accept "
                "a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _warn_of_width(self, widths: FloatArray) -> None:
        if n_wider := int(np.count_nonzero(widths > self.bandwidth_)):
            warnings.warn(
                f"At {n_wider} of {len(widths)} points fewer than min_samples="
                f"{self.min_samples} effective rows are near; the bandwidth was widened there, up "
                f"to {widths.max():.3g} from {self.bandwidth_:.3g}.",
                DataWarning,
                stacklevel=3,
            )


def fit_points(
    rows: Neighborhoods,
    points: FloatArray,
    bandwidth: float,
    alpha: float,
    refit: bool,
    lasso: dict[str, Any],
) -> tuple[NearbyFits, FloatArray]:
    """Fit the Gaussian at each point; return the bandwidth at each as well."""
    weights, widths = rows.weights(points, bandwidth)
    _, S = rows.moments(weights)
    return fit_nearby(S, alpha, refit=refit, **lasso), widths
