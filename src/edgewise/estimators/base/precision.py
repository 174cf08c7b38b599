"""What the estimators of a precision matrix share: weights of edges and the likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.estimators.base.base import GraphEstimator
from edgewise.estimators.base.fits import GaussianModel, PrecisionFit
from edgewise.estimators.base.statistics import RANKS, Statistics
from edgewise.selection import gaussian_log_likelihood, row_log_likelihood
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from edgewise.stats import covariance as covariance_of


class PrecisionEstimator(GraphEstimator):
    """Base of the estimators whose graph is the support of a precision matrix."""

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean Gaussian log-likelihood per row.

        For the rank correlations, that of the latent Gaussian, from the ranks within ``X``. A row
        with missing values counts what it has, unless ``missing="error"``.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows, also when the fit was to a precomputed covariance (of centred columns).
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rows, weights = self._check_input(X, sample_weight, reset=False)
        model = GaussianModel(self.location_, self.precision_, self.covariance_)
        return self._score_fit(model, rows, weights)

    def _largest_alpha(self, statistics: Statistics) -> float:
        return alpha_max(statistics.S, weights=self._edge_weights(len(statistics.S)))

    def _edge_weights(self, n_features: int) -> FloatArray | None:
        if self.weights is None:
            return None
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (n_features, n_features):
            raise InputError(
                f"weights must have one row and column per variable, ({n_features}, "
                f"{n_features}), got {weights.shape}."
            )
        return weights

    def _score_fit(
        self, fit: PrecisionFit | GaussianModel, X: FloatArray, sample_weight: FloatArray | None
    ) -> float:
        if self.covariance in RANKS:
            S = self._statistics(X, sample_weight).S
            return gaussian_log_likelihood(fit.precision, S)
        if np.isnan(X).any():
            by_row = row_log_likelihood(X, fit.location, fit.covariance)
            return float(np.average(by_row, weights=sample_weight))
        _, moments = covariance_of(
            X - fit.location, sample_weight=sample_weight, assume_centered=True
        )
        return gaussian_log_likelihood(fit.precision, moments, log_determinant=fit.log_determinant)
