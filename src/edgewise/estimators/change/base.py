"""What the estimators of a change between two groups share."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import is_number
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.data.checks import check_columns, refuse_covariance
from edgewise.data.labels import TwoGroups, TwoSamples, two_groups
from edgewise.estimators.base.fits import ChangePath
from edgewise.estimators.base.statistics import RANKS, REPAIRS
from edgewise.estimators.base.table import TableEstimator
from edgewise.estimators.change.rows import Standard, choose_by_group_cv, network_of, varies_within
from edgewise.graph import Graph, classify_changes
from edgewise.io.messages import quote_names
from edgewise.selection import Selection, SelectionWarning, alpha_grid
from edgewise.selection.choose import decreasing
from edgewise.solvers import Solution
from edgewise.stats import (
    check_covariance,
    covariance as covariance_of,
    kendall_correlation,
    nonparanormal_correlation,
    repair_covariance,
    spearman_correlation,
)

if TYPE_CHECKING:
    import pandas as pd


#: Products of four numbers up to this size are finite.
FARTHEST: Final = 1e70


class ChangeFit(Protocol):
    """One fit along a path: what a search, a path and ``fit`` take of it."""

    @property
    def solution(self) -> Solution:
        """What the solver returned."""
        ...

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        ...

    @property
    def change(self) -> FloatArray:
        """Signed change of every pair, symmetric, with the variables on the diagonal."""
        ...

    @property
    def adjacency(self) -> BoolArray:
        """Which pairs change, with a False diagonal."""
        ...


class ChangeEstimator(TableEstimator):
    """Base of the estimators that learn what changed between two groups of rows.

    A subclass says how a path of fits is solved (``_solve_path``), how far alpha can go
    (``_largest_alpha``) and how a fit is judged on other rows (``_score_fit``).
    """

    _rules: tuple[str, ...] = ("cv",)

    @abstractmethod
    def _solve_path(self, samples: TwoSamples, alphas: FloatArray) -> Iterator[Any]:
        """Yield one fit per alpha, each started from the one before."""

    @abstractmethod
    def _largest_alpha(self, samples: TwoSamples) -> float:
        """Smallest alpha without any change."""

    @abstractmethod
    def _score_fit(self, fit: Any, samples: TwoSamples) -> float:
        """Judge a fit by other rows; larger is better."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn what changed from the rows of one label to those of the other.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows of both groups.
        y : array-like of shape (n,)
            Labels of two groups, of any type that can be sorted. The change is from
            ``classes_[0]`` to ``classes_[1]``.

        Returns
        -------
        Self
        """
        self._check_parameters()
        rows, groups = self._rows_in_order(X, y)
        standard = self._standardize(rows, groups)
        self._warn_of_constants(rows, groups)
        samples = standard.samples(rows, groups)
        fit, alpha, selection = self._choose_alpha(rows, groups, samples)
        self.classes_ = np.array(groups.classes)
        self.locations_ = standard.locations
        self.scale_ = standard.scale
        self.alpha_ = alpha
        self.alphas_ = np.array([alpha]) if selection is None else selection.alphas
        self.selection_ = selection
        self.change_ = fit.change
        self.graph_ = self._graph(fit)
        self.converged_ = fit.converged
        self.n_iter_ = fit.solution.n_iter
        self.gap_ = fit.solution.gap
        self.objective_ = fit.solution.objective
        self._store(fit, samples)
        self._warn_of_search(selection)
        self._warn_of_gap()
        return self

    def _store(self, fit: Any, samples: TwoSamples) -> None:
        """Set what only this estimator has."""

    @abstractmethod
    def _fitted(self) -> Any:
        """Return what ``_score_fit`` takes of the fit, from the attributes."""

    def score(self, X: Any, y: Any) -> float:
        """Judge the change by other rows; larger is better.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows of both groups.
        y : array-like of shape (n,)
            Their labels, those of the fit.

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return self._score_fit(self._fitted(), self._as_fitted(X, y))

    def path(self, X: Any, y: Any, alphas: ArrayLike | None = None) -> ChangePath:
        """Learn the change at each of several alphas; the estimator itself stays as it is.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows of both groups.
        y : array-like of shape (n,)
            Their labels.
        alphas : array-like, optional
            From large to small; by default those that a search would try.

        Returns
        -------
        ChangePath
        """
        model = clone(self)
        model._check_parameters()
        rows, groups = model._rows_in_order(X, y)
        samples = model._standardize(rows, groups).samples(rows, groups)
        grid = model._grid(samples) if alphas is None else decreasing(np.asarray(alphas))
        fits = list(model._solve_path(samples, grid))
        return ChangePath(
            alphas=grid,
            graphs=tuple(model._graph(fit) for fit in fits),
            gaps=np.array([fit.solution.gap for fit in fits]),
            converged=np.array([fit.converged for fit in fits]),
            changes=np.stack([fit.change for fit in fits]),
        )

    def changes(self, X: Any = None, y: Any = None) -> pd.DataFrame:
        """List the pairs that changed, the largest change first.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d), optional
            Rows of both groups, to learn the network of each (`GaussianGraph` with its defaults)
            and say whether a link was gained or lost, flipped its sign, or grew stronger or
            weaker. Without them only the direction of the change is known.
        y : array-like of shape (n,), optional
            Their labels.

        Returns
        -------
        pandas.DataFrame
            ``source``, ``target``, ``change``, ``before``, ``after`` and ``kind``, as
            `edgewise.graph.classify_changes` gives them.
        """
        check_is_fitted(self)
        return classify_changes(self.graph_, *self._networks(X, y), signed=self._is_signed())

    def _networks(self, X: Any, y: Any) -> tuple[Graph, Graph]:
        """Networks of the two groups, empty where there are no rows to learn them from."""
        names, weights = self.graph_.names, [np.zeros_like(self.change_)] * 2
        if X is not None:
            rows, groups = self._check_known(X, y)
            weights = [network_of(rows[group], names) for group in groups.rows]
        return Graph(weights[0], names=names), Graph(weights[1], names=names)

    def _is_signed(self) -> bool:
        """Whether a change has a sign."""
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Not a classifier, but this is where scikit-learn looks for how many labels y may have.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _check_parameters(self) -> None:
        """Refuse parameters that no data could make sense of."""
        is_rule = isinstance(self.alpha, str) and self.alpha in self._rules
        if not is_rule and not is_number(self.alpha, least=0):
            rules = f"{'one of ' if len(self._rules) > 1 else ''}{quote_names(self._rules)}"
            raise InputError(
                f"alpha must be a number of at least 0 or {rules}, got {self.alpha!r}."
            )
        if not is_number(self.negligible, least=0):
            raise InputError(f"negligible must be a number of at least 0, got {self.negligible!r}.")
        if not self.tol > 0 or self.max_iter < 1:
            raise InputError(
                f"tol must be positive and max_iter at least 1, got tol={self.tol!r} and "
                f"max_iter={self.max_iter!r}."
            )

    def _check_input(self, X: Any, y: Any, *, reset: bool = True) -> tuple[FloatArray, TwoGroups]:
        """Return rows as floats and which group they belong to, and learn the column names."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "Pass a label of one of two groups for every row."
            )
        rows = self._as_rows(X, reset=reset)
        if reset:
            refuse_covariance(rows, f"{type(self).__name__} learns from the rows of both groups.")
        self._refuse_missing(rows)
        check_columns(rows, self._names(), allow_constant=not reset, allow_identical=True)
        groups = two_groups(y, len(rows))
        if reset:
            self._refuse_constants(rows, groups)
        return rows, groups

    def _rows_in_order(self, X: Any, y: Any) -> tuple[FloatArray, TwoGroups]:
        """Return checked rows, and those of each group in an order of their own."""
        rows, groups = self._check_input(X, y)
        return rows, groups.ordered_by(rows)

    def _check_known(self, X: Any, y: Any) -> tuple[FloatArray, TwoGroups]:
        """Return rows and groups whose columns and labels are those of the fit."""
        rows, groups = self._check_input(X, y, reset=False)
        if list(groups.classes) != self.classes_.tolist():
            raise InputError(
                f"y has the labels {quote_names(groups.classes)}; the fit knows "
                f"{quote_names(self.classes_.tolist())}."
            )
        return rows, groups

    def _as_fitted(self, X: Any, y: Any) -> TwoSamples:
        """Rows of both groups, centred and scaled as those of the fit were."""
        standard = Standard(locations=self.locations_, scale=self.scale_)
        samples = standard.samples(*self._check_known(X, y))
        if max(np.abs(samples.first).max(), np.abs(samples.second).max()) > FARTHEST:
            raise InputError(
                f"Rows of X lie more than {FARTHEST:g} standard deviations from those of the fit. "
                "Pass them in the same units."
            )
        return samples

    def _refuse_constants(self, rows: FloatArray, groups: TwoGroups) -> None:
        is_constant = np.asarray(~varies_within(rows, groups).any(axis=0))
        if is_constant.any():
            raise InputError(
                f"Within each group, {quote_names(self._labels(is_constant))} "
                f"{'has' if is_constant.sum() == 1 else 'have'} a single value, so that no link "
                "can be seen there. Drop such columns."
            )

    def _standardize(self, rows: FloatArray, groups: TwoGroups) -> Standard:
        """Mean of each group, and the spread that they have in common."""
        d = rows.shape[1]
        if not self.standardize:
            return Standard(locations=np.zeros((2, d)), scale=np.ones(d))
        locations = np.stack([rows[group].mean(axis=0) for group in groups.rows])
        squares = sum(
            ((rows[group] - location) ** 2).sum(axis=0)
            for group, location in zip(groups.rows, locations, strict=True)
        )
        scale = np.sqrt(np.asarray(squares) / len(rows))
        # In a fold a column may be constant in both groups; its spread is then rounding.
        is_constant = np.asarray(~varies_within(rows, groups).any(axis=0))
        return Standard(locations=locations, scale=np.where(is_constant, 1.0, scale))

    def _warn_of_constants(self, rows: FloatArray, groups: TwoGroups) -> None:
        """Say which columns do not vary in one of the groups."""
        for label, varies in zip(groups.classes, varies_within(rows, groups), strict=True):
            if not varies.all():
                which = self._labels(~varies)
                warnings.warn(
                    f"In the rows of group {label!r}, {quote_names(which)} "
                    f"{'has' if len(which) == 1 else 'have'} a single value. Whatever changes "
                    "there is the spread, not a link. Drop such columns if that is not of "
                    "interest.",
                    DataWarning,
                    stacklevel=3,
                )

    def _graph(self, fit: ChangeFit) -> Graph:
        """Pairs whose change is not negligible."""
        is_kept = fit.adjacency & (np.abs(fit.change) > self.negligible)
        return Graph(np.where(is_kept, fit.change, 0.0), names=self._names())

    def _grid(self, samples: TwoSamples) -> FloatArray:
        """Alphas that a rule tries."""
        largest = self._largest_alpha(samples)
        # Between identical groups a difference of moments is rounding, and no change is found.
        size = max(float(np.abs(rows).max()) for rows in (samples.first, samples.second)) ** 2
        return alpha_grid(largest if largest > 1e-12 * size else 0.0, self.n_alphas, self._ratio())

    def _ratio(self) -> float:
        """Smallest alpha that a rule tries, as a share of the largest."""
        return 0.1 if self.alpha_ratio is None else float(self.alpha_ratio)

    def _choose_alpha(
        self, rows: FloatArray, groups: TwoGroups, samples: TwoSamples
    ) -> tuple[Any, float, Selection | None]:
        """Return the fit at alpha as given, or as held-out rows choose it along a path."""
        if not isinstance(self.alpha, str):
            alpha = float(self.alpha)
            return next(iter(self._solve_path(samples, np.array([alpha])))), alpha, None
        alphas = self._grid(samples)
        selection = choose_by_group_cv(self, rows, groups, alphas)
        # The way down is the warm start, and what is below the choice is not wanted.
        way = alphas[: selection.index + 1]
        *_, fit = self._solve_path(samples, way)
        return fit, selection.alpha, selection

    def _warn_of_search(self, selection: Selection | None) -> None:
        if selection is None:
            return
        if selection.n_unconverged:
            warnings.warn(
                f"Of the fits in the search for alpha, {selection.n_unconverged} stopped above "
                "their tolerance. Raise max_iter, or raise alpha_ratio to leave out the smallest "
                "alphas.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if selection.end == "smallest":
            warnings.warn(
                f'alpha="{selection.rule}" chose {selection.alpha:.3g}, the smallest alpha it '
                f"tried, so a smaller one may be better. {self._search_advice(selection)}",
                SelectionWarning,
                stacklevel=3,
            )

    def _search_advice(self, selection: Selection) -> str:
        """Say how to go on from the smallest alpha."""
        smaller = selection.alphas[-1] / selection.alphas[0] / 10
        return f"Pass alpha_ratio={smaller:.1g} to search further."

    def _warn_of_gap(self) -> None:
        if not self.converged_:
            warnings.warn(
                f"Stopped after {self.n_iter_} iterations at a duality gap of {self.gap_:.2g}, "
                f"above tol * n_features = {self.tol * self.n_features_in_:.2g}. Raise max_iter "
                "or alpha, or accept a larger tol.",
                ConvergenceWarning,
                stacklevel=3,
            )


COVARIANCES: Final = ("empirical", *RANKS)
_CORRELATIONS: Final = {
    "nonparanormal": nonparanormal_correlation,
    "spearman": spearman_correlation,
    "kendall": kendall_correlation,
}
GROUPS: Final = ("first", "second")


class Covariances(NamedTuple):
    """Covariances before and after, and what was done to them."""

    before: FloatArray
    after: FloatArray
    treatment: tuple[str, ...]


class CovarianceChange(ChangeEstimator):
    """Base of the estimators that see two covariances, of rows or of their ranks."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.covariance not in COVARIANCES:
            raise InputError(
                f"covariance must be one of {quote_names(COVARIANCES)}, got {self.covariance!r}."
            )
        if self.repair is not None and self.repair not in REPAIRS:
            raise InputError(
                f"repair must be None or one of {quote_names(REPAIRS)}, got {self.repair!r}."
            )

    def _moments(self, samples: TwoSamples) -> tuple[FloatArray, FloatArray]:
        """Second moments of the rows of both groups, or correlations of their ranks."""
        both = (samples.first, samples.second)
        if self.covariance == "empirical":
            before, after = (covariance_of(rows, assume_centered=True)[1] for rows in both)
        else:
            self._refuse_constant_in_a_group(samples, "has no ranks")
            before, after = (_CORRELATIONS[self.covariance](rows) for rows in both)
        return before, after

    def _covariances(self, samples: TwoSamples) -> Covariances:
        """Moments that are positive semidefinite, as such or by the repair that was asked for."""
        moments, treatment = list(self._moments(samples)), []
        for k, S in enumerate(moments):
            if self.repair is not None:
                moments[k], record = repair_covariance(S, self.repair)
                if record["amount"] > 0:
                    treatment.append(
                        f'repair="{self.repair}": in the {GROUPS[k]} group, the smallest '
                        "eigenvalue of the correlations was raised from "
                        f"{record['smallest_eigenvalue_before']:.3g} to "
                        f"{record['smallest_eigenvalue_after']:.3g}"
                    )
            elif self.covariance in ("spearman", "kendall"):
                moments[k] = check_covariance(S, self._names())
        return Covariances(moments[0], moments[1], tuple(treatment))

    def _refuse_constant_in_a_group(self, samples: TwoSamples, reason: str) -> None:
        """Name the columns with a single value in one of the groups."""
        for group, rows in zip(GROUPS, (samples.first, samples.second), strict=True):
            is_constant = np.ptp(rows, axis=0) == 0
            if is_constant.any():
                raise InputError(
                    f"In the {group} group, {quote_names(self._labels(is_constant))} has a single "
                    f"value and {reason}. Drop such columns."
                )

    def _unit(self) -> FloatArray:
        """Return the standard deviations that turn standardised values into those shown."""
        is_scaled = self.covariance == "empirical"
        return self.scale_ if is_scaled else np.ones_like(self.scale_)


def in_log_ratio(difference: FloatArray) -> FloatArray:
    """Turn a difference of precisions, after less before, into coefficients of a log ratio.

    The log-density of a Gaussian is minus half of x' Theta x: a product of two variables has minus
    the entry of its pair, a square minus half of its own.
    """
    change: FloatArray = -difference
    np.fill_diagonal(change, 0.5 * change.diagonal())
    # No change is 0, not -0.
    return change + 0.0


def from_log_ratio(change: FloatArray) -> FloatArray:
    """Turn coefficients of a log ratio into a difference of precisions; undo `in_log_ratio`."""
    difference: FloatArray = -change
    np.fill_diagonal(difference, 2.0 * difference.diagonal())
    return difference
