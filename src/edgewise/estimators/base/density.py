"""Likelihoods and distances of rows in a fitted Gaussian network."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.estimators.base.fits import GaussianModel
from edgewise.estimators.base.table import ON_LATENT_SCALE, TableEstimator, read_new_rows
from edgewise.selection.criteria import row_log_likelihood, squared_distances


class GaussianDensity(TableEstimator):
    """An estimator with ``location_``, ``precision_`` and ``covariance_``."""

    covariance: str

    def _problem(self) -> Any:
        """Return the problem, whose ``score`` is a mean log-likelihood."""
        raise NotImplementedError

    def _used(self, rows: FloatArray) -> FloatArray:
        """Return the columns that the model is of."""
        return rows

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean Gaussian log-likelihood per row.

        For correlations of ranks and of ordered answers, that of the latent Gaussian, from the
        correlations within ``X``; of columns in space, that of the columns in ``kept_``. A row with
        missing values contributes its observed entries, unless ``missing="error"``.

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
        rows, weights = read_new_rows(self, X, sample_weight)
        score: float = self._problem().score(GaussianModel.of(self), self._used(rows), weights)
        return score

    def score_samples(self, X: Any) -> FloatArray:
        """Log-density of each row; the weighted mean of them is `score`.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows. One with missing values has the density of what it has, unless
            ``missing="error"``.

        Returns
        -------
        ndarray of shape (n,)
        """
        return row_log_likelihood(*self._rows_and_model(X))

    def mahalanobis(self, X: Any) -> FloatArray:
        r"""Squared distance of each row from the mean, :math:`(x - \mu)^T \Theta (x - \mu)`.

        Rows of the model have distances of a :math:`\chi^2` distribution with as many degrees of
        freedom as columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            As for `score_samples`.

        Returns
        -------
        ndarray of shape (n,)
        """
        return squared_distances(*self._rows_and_model(X))

    def _rows_and_model(self, X: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return rows with mean and covariance of the model in their units."""
        check_is_fitted(self)
        if self.covariance in ON_LATENT_SCALE:
            raise InputError("latent_without_density", covariance=self.covariance)
        model = GaussianModel.of(self)
        return self._used(read_new_rows(self, X, None)[0]), model.location, model.covariance
