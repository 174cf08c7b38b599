"""What the graph estimators share: checked input, the search for alpha, names and files."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import is_number
from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.checks import check_columns, refuse_covariance, refuse_identical
from edgewise.data.table import Table
from edgewise.estimators.base.fits import GaussianModel, PrecisionFit
from edgewise.estimators.base.statistics import (
    MISSING,
    RANKS,
    REPAIRS,
    Statistics,
    labels,
    moment_statistics,
    precomputed_statistics,
    row_statistics,
)
from edgewise.estimators.base.table import TableEstimator, named
from edgewise.io.messages import quote_names
from edgewise.selection import (
    Selection,
    SelectionWarning,
    alpha_grid,
    choose_by_cv,
    choose_by_stars,
    gaussian_log_likelihood,
    row_log_likelihood,
)
from edgewise.selection.choose import decreasing
from edgewise.selection.search import MAX_EXTENSIONS, PathFit, default_ratio
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from edgewise.stats import Moments, covariance as covariance_of

RULES = ("ebic", "cv", "stars")


class GraphEstimator(TableEstimator):
    """Base of the estimators that learn one undirected graph from one table.

    A subclass says which covariances it takes (``_covariances``), which rules for alpha
    (``_rules``) and whether constant columns (``_takes_constant``), how a path of fits is solved
    (``_solve_path``), how far alpha can go (``_largest_alpha``) and how a fit is judged
    (``_choose_by_ebic`` on the rows it was fitted to, ``_score_fit`` on others).
    """

    _covariances: tuple[str, ...] = ()
    _rules: tuple[str, ...] = RULES
    _takes_constant = False

    @abstractmethod
    def _solve_path(self, statistics: Statistics, alphas: FloatArray) -> Iterator[Any]:
        """Yield one fit per alpha, each started from the one before."""

    @abstractmethod
    def _largest_alpha(self, statistics: Statistics) -> float:
        """Smallest alpha with an empty graph."""

    @abstractmethod
    def _choose_by_ebic(self, statistics: Statistics, alphas: FloatArray) -> Selection:
        """Search the path by the extended BIC."""

    @abstractmethod
    def _score_fit(self, fit: Any, X: FloatArray, sample_weight: FloatArray | None) -> float:
        """Mean log-likelihood of other rows."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters that no data could make sense of."""
        is_rule = isinstance(self.alpha, str) and self.alpha in self._rules
        if not is_rule and not is_number(self.alpha, least=0):
            rules = f"{'one of ' if len(self._rules) > 1 else ''}{quote_names(self._rules)}"
            raise InputError(
                f"alpha must be a number of at least 0 or {rules}, got {self.alpha!r}."
            )
        choices = {
            "covariance": self._covariances,
            "missing": MISSING,
            "repair": REPAIRS,
        }
        for name, allowed in choices.items():
            value = getattr(self, name)
            if (value is not None and value not in allowed) or (value is None and name != "repair"):
                raise InputError(f"{name} must be one of {quote_names(allowed)}, got {value!r}.")
        if not self.tol > 0 or self.max_iter < 1:
            raise InputError(
                f"tol must be positive and max_iter at least 1, got tol={self.tol!r} and "
                f"max_iter={self.max_iter!r}."
            )
        if "ebic" in self._rules and not 0 <= self.gamma <= 1:
            raise InputError(f"gamma must be between 0 and 1, got {self.gamma!r}.")

    def _check_without_rows(self, given: str) -> None:
        """Refuse a search that resamples what was handed in, where that is not rows."""
        if self.alpha in ("cv", "stars"):
            raise InputError(
                f'alpha="{self.alpha}" resamples rows, which {given} does not have. Pass the rows, '
                'a number for alpha, or alpha="ebic".'
            )

    def _check_precomputed(self) -> None:
        """Refuse what makes no sense with nothing but a covariance."""
        self._check_without_rows('covariance="precomputed"')
        n_samples = getattr(self, "n_samples", None)
        if self.alpha == "ebic" and n_samples is None:
            raise InputError(
                'alpha="ebic" needs to know how many rows are behind the covariance. '
                "Pass n_samples, or a number for alpha."
            )
        if n_samples is not None and not n_samples > 1:
            raise InputError(f"n_samples must be above 1, got {n_samples!r}.")

    def _summarize(
        self, X: Any, sample_weight: Any
    ) -> tuple[FloatArray, FloatArray | None, Statistics]:
        """Return rows, their weights and their statistics; no rows where only these are known."""
        if isinstance(X, Moments):
            return np.empty((0, len(X.mean))), None, self._moment_statistics(X, sample_weight)
        if self.covariance == "precomputed":
            self._check_precomputed()
        rows, weights = self._check_input(X, sample_weight)
        return rows, weights, self._statistics(rows, weights)

    def _moment_statistics(self, moments: Moments, sample_weight: Any) -> Statistics:
        """Sufficient statistics that were summed up before, and learn the column names."""
        if "precomputed" not in self._covariances:
            raise InputError(f"{type(self).__name__} learns from rows, not from their Moments.")
        if sample_weight is not None:
            raise InputError("sample_weight has no meaning with Moments, which have weights.")
        if self.covariance in RANKS:
            raise InputError(
                f'covariance="{self.covariance}" sees the ranks of rows, which Moments do not '
                'have. Pass covariance="empirical".'
            )
        self._check_without_rows("a summary (Moments)")
        self._learn_names(moments)
        statistics = moment_statistics(
            moments,
            names=self._names(),
            repair=self.repair,
            assume_centered=getattr(self, "assume_centered", False),
        )
        is_scaled = self.covariance == "correlation"
        return self._adapt(statistics.on_correlation_scale() if is_scaled else statistics)

    def _learn_names(self, moments: Moments) -> None:
        """Set what scikit-learn wants to know of columns."""
        self._as_rows(named(moments.scatter, moments.names), reset=True)

    def _check_input(
        self, X: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return rows as floats, with their weights or None, and learn the column names."""
        rows = self._as_rows(X, reset=reset)
        if self.covariance == "precomputed" and reset:
            if sample_weight is not None:
                raise InputError('sample_weight has no meaning with covariance="precomputed".')
            return rows, None
        if reset:
            if "precomputed" in self._covariances:
                refuse_covariance(rows)
            else:
                refuse_covariance(rows, f"{type(self).__name__} learns from the rows behind it.")
            # Only where a user hands rows over: a fold of them may make columns equal by chance.
            if self.repair is None:
                refuse_identical(rows, self._names())
        else:
            self._refuse_not_finite(rows)
        return rows, Table.from_input(rows, sample_weight=sample_weight).weights

    def _refuse_not_finite(self, X: FloatArray) -> None:
        """Name the columns of rows to be scored that hold what the fit did not allow."""
        is_bad = ~np.isfinite(X) if self.missing == "error" else np.isinf(X)
        if is_bad.any():
            bad = np.flatnonzero(is_bad.any(axis=0)).tolist()
            raise InputError(
                f"Columns {quote_names(labels(self._names(), bad))} hold NaN or inf. Drop those "
                'rows; missing="pairwise" or missing="em" lets NaN pass.'
            )

    def _used_names(self) -> list[str] | None:
        """Names of the columns that statistics are computed of: all, unless some are left out."""
        return self._names()

    def _statistics(self, X: FloatArray, sample_weight: FloatArray | None) -> Statistics:
        """Sufficient statistics of the rows, or of the covariance that was handed in."""
        names = self._used_names()
        if self.covariance == "precomputed":
            n_samples = getattr(self, "n_samples", None)
            given = precomputed_statistics(X, names=names, n_samples=n_samples, repair=self.repair)
            return self._adapt(given)
        if sample_weight is not None:
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        return self._adapt(self._row_statistics(X, sample_weight, names))

    def _adapt(self, statistics: Statistics) -> Statistics:
        """Check statistics for what this estimator alone wants, and put them on its scale."""
        return statistics

    def _row_statistics(
        self, X: FloatArray, sample_weight: FloatArray | None, names: list[str] | None
    ) -> Statistics:
        """Sufficient statistics of rows that all count."""
        self._check_columns(X, names)
        return row_statistics(
            X,
            sample_weight,
            names=names,
            covariance=self.covariance,
            missing=self.missing,
            repair=self.repair,
            assume_centered=getattr(self, "assume_centered", False),
        )

    def _check_columns(self, X: FloatArray, names: list[str] | None) -> None:
        """Refuse columns that no statistics can be computed of."""
        check_columns(
            X,
            names,
            allow_missing=self.missing != "error",
            allow_constant=self._takes_constant,
            allow_identical=True,
        )

    def _fit_path(
        self, X: FloatArray, sample_weight: FloatArray | None, alphas: FloatArray
    ) -> Iterator[Any]:
        return self._solve_path(self._statistics(X, sample_weight), alphas)

    def _grid(self, statistics: Statistics, n_extensions: int = 0) -> FloatArray:
        """Alphas that a rule tries; each extension adds a decade at the same density."""
        ratio = self.alpha_ratio
        if ratio is None:
            ratio = default_ratio(statistics.n_rows, len(statistics.S))
        decades = -math.log10(ratio) if 0 < ratio < 1 else 1.0
        n_alphas = self.n_alphas + round(self.n_alphas * n_extensions / decades)
        largest = self._largest_alpha(statistics)
        return alpha_grid(largest, n_alphas, ratio * 10.0**-n_extensions)

    def _choose_alpha(
        self, X: FloatArray, sample_weight: FloatArray | None, statistics: Statistics
    ) -> tuple[Any, float, Any]:
        """Return the fit at alpha as given, or as its rule finds it along a path."""
        if not isinstance(self.alpha, str):
            alpha = float(self.alpha)
            return self._solve_one(statistics, alpha), alpha, None
        # Every extension must see the same folds, also where random_state is a generator.
        seed = int(as_generator(self.random_state).integers(2**31))
        n_rows = statistics.n_rows or 0.0
        # With few rows per column, ever smaller alphas only fit the rows ever more closely.
        may_extend = self.alpha_ratio is None and n_rows > 2 * len(statistics.S)
        for n_extensions in range(MAX_EXTENSIONS + 1):
            alphas = self._grid(statistics, n_extensions)
            selection = self._search(X, sample_weight, statistics, alphas, seed)
            fit = self._solve_one(statistics, selection.alpha)
            if not (may_extend and selection.end == "smallest") or _is_complete(fit):
                break
        return fit, selection.alpha, selection

    def _search(
        self,
        X: FloatArray,
        sample_weight: FloatArray | None,
        statistics: Statistics,
        alphas: FloatArray,
        seed: int,
    ) -> Selection:
        if self.alpha == "ebic":
            return self._choose_by_ebic(statistics, alphas)
        # Splits that were handed in count all rows; otherwise a weight of 0 means no row at all.
        if sample_weight is not None and (self.alpha == "stars" or isinstance(self.cv, Integral)):
            X, sample_weight = X[sample_weight > 0], sample_weight[sample_weight > 0]
        resampling: dict[str, Any] = {
            "sample_weight": sample_weight,
            "random_state": seed,
            "n_jobs": self.n_jobs,
            "verbose": self.verbose,
        }
        if self.alpha == "cv":
            return choose_by_cv(
                X, alphas, self._fit_path, self._score_fit, cv=self.cv, **resampling
            )
        return choose_by_stars(
            X,
            alphas,
            self._fit_path,
            _adjacency,
            threshold=self.instability,
            n_subsamples=self.n_subsamples,
            **resampling,
        )

    def _solve_one(self, statistics: Statistics, alpha: float) -> Any:
        return next(iter(self._solve_path(statistics, np.array([alpha]))))

    def _fit(self, X: Any, sample_weight: Any) -> tuple[Any, Statistics]:
        """Run check, statistics, search and solve; store what is common to the estimators."""
        self._check_parameters()
        rows, weights, statistics = self._summarize(X, sample_weight)
        fit, alpha, selection = self._choose_alpha(rows, weights, statistics)
        self.alpha_ = alpha
        self.alphas_ = np.array([alpha]) if selection is None else selection.alphas
        self.selection_ = selection
        self.treatment_ = list(statistics.treatment)
        self.converged_ = fit.converged
        self.n_iter_ = fit.solution.n_iter
        self.gap_ = fit.solution.gap
        self.objective_ = fit.solution.objective
        self._warn_of_search(selection, fit)
        self._warn_of_gap(len(statistics.S))
        return fit, statistics

    def _fit_along(
        self, X: Any, alphas: ArrayLike | None, sample_weight: Any
    ) -> tuple[list[Any], FloatArray, list[str] | None]:
        """Fit a path without touching this estimator; return fits, alphas and column names."""
        model = clone(self)
        model._check_parameters()
        _, _, statistics = model._summarize(X, sample_weight)
        grid = model._grid(statistics) if alphas is None else decreasing(np.asarray(alphas))
        return list(model._solve_path(statistics, grid)), grid, model._names()

    def _warn_of_search(self, selection: Selection | None, fit: PathFit) -> None:
        if selection is None:
            return
        if selection.n_unconverged:
            warnings.warn(
                f"Of the fits in the search for alpha, {selection.n_unconverged} stopped above "
                "their tolerance. Raise max_iter, or raise alpha_ratio to leave out the smallest "
                "alphas.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if selection.rule == "stars" and selection.values[selection.index] > self.instability:
            warnings.warn(
                f"Every alpha tried is less stable than instability={self.instability:g} asks; "
                f"the empty graph was taken, at {selection.values[0]:.2g}. With few variables one "
                'undecided edge is enough for that. Pass a larger instability, or alpha="ebic".',
                SelectionWarning,
                stacklevel=4,
            )
        # At the other end the graph is empty, and a larger alpha would change nothing.
        if selection.end == "smallest" and not _is_complete(fit):
            smaller = selection.alphas[-1] / selection.alphas[0] / 10
            warnings.warn(
                f'alpha="{selection.rule}" chose {selection.alpha:.3g}, the smallest alpha it '
                f"tried, so a smaller one may be better. Pass alpha_ratio={smaller:.1g} to search "
                "further.",
                SelectionWarning,
                stacklevel=4,
            )

    def _warn_of_gap(self, n_features: int) -> None:
        if not self.converged_:
            warnings.warn(self._describe_gap(n_features), ConvergenceWarning, stacklevel=4)

    def _describe_gap(self, n_features: int) -> str:
        """Say how far from the optimum the fit stopped, and what to do."""
        return (
            f"Stopped after {self.n_iter_} iterations at a duality gap of {self.gap_:.2g}, "
            f"above tol * n_features = {self.tol * n_features:.2g}. Raise max_iter or alpha, "
            "or accept a larger tol."
        )


def _adjacency(fit: PathFit) -> BoolArray:
    return fit.adjacency


def _is_complete(fit: PathFit) -> bool:
    n_features = len(fit.adjacency)
    return int(np.count_nonzero(fit.adjacency)) == n_features * (n_features - 1)


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
