"""Base of the estimators of a change between two groups, and covariances of the groups."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, Number, check_parameters
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import FloatArray
from edgewise.data.checks import check_columns, refuse_covariance, varying_columns
from edgewise.data.labels import TwoGroups, TwoSamples, two_groups
from edgewise.estimators.base.fits import ChangePath
from edgewise.estimators.base.statistics import labels
from edgewise.estimators.base.table import TableEstimator
from edgewise.estimators.change.rows import (
    ChangeFit,
    ChangeLoss,
    GroupProblem,
    GroupStatistics,
    Standardization,
)
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.graph import Graph, classify_changes
from edgewise.io.messages import quote_names
from edgewise.selection import CV
from edgewise.selection.choose import decreasing
from edgewise.selection.rules import Strength
from edgewise.selection.search import Choice, Grid
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
#: The rule by which alpha is chosen, with the defaults of its grid.
HELD_OUT: Final = CV(n_alphas=30, alpha_ratio=0.1)
#: Constraints of parameters that all estimators of a change have.
CONSTRAINTS: Final[Mapping[str, Constraint]] = {
    "negligible": Number(at_least=0),
    "tol": Number(above=0),
    "max_iter": Number(at_least=1),
}


class ChangeEstimator(TableEstimator):
    """Base of the estimators that learn what changed between two groups of rows.

    A subclass has a ``fit`` of its own, says what it minimises (``_loss``) and what of a fit is
    scored (``_fitted_values``), and may look at the rows (``_check_rows``), choose another grid
    (``_grid``) and know networks of the groups (``_own_networks``).
    """

    #: Rules by which alpha may be chosen, with their defaults.
    _alpha = Strength(HELD_OUT)
    _constraints: ClassVar[Mapping[str, Constraint]]

    @abstractmethod
    def _loss(self) -> ChangeLoss:
        """Return what is minimised, once it is checked that the parameters go together."""

    @abstractmethod
    def _fitted_values(self) -> tuple[FloatArray, dict[str, Any]]:
        """Return ``values`` and ``features`` of the `ChangeFit`, from the attributes."""

    def _check_rows(self, rows: FloatArray, *, is_fit: bool) -> None:
        """Refuse rows that this estimator cannot learn from, or cannot score."""

    def _is_signed(self) -> bool:
        """Whether a change has a sign."""
        return True

    def _own_networks(self) -> Sequence[Graph] | None:
        """Networks before and after, where the estimator learns them."""
        return None

    def score(self, X: Any, y: Any) -> float:
        """Score the change on other rows; larger is better.

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
        return self._loss().score(*self._fitted_values(), self._as_fitted(X, y))

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
        problem = model._pose(X, y)
        statistics = problem.summarize(problem.places)
        if alphas is None:
            grid = model._grid(problem, statistics).alphas(problem.largest_alpha(statistics))
        else:
            grid = decreasing(np.asarray(alphas))
        fits = list(problem.solve_path(statistics, grid))
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
        if X is not None:
            rows, groups = self._read_known(X, y)
            before, after = (_network_of(rows[group], self.graph_.names) for group in groups.rows)
        else:
            nothing = Graph(np.zeros_like(self.change_), names=self.graph_.names)
            before, after = self._own_networks() or (nothing, nothing)
        return classify_changes(self.graph_, before, after, signed=self._is_signed())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Not a classifier, but this is where scikit-learn looks for how many labels y may have.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _read(self, X: Any, y: Any, *, reset: bool = True) -> tuple[FloatArray, TwoGroups]:
        """Return rows as floats and which group they belong to, and note the column names."""
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
        self._check_rows(rows, is_fit=reset)
        return rows, two_groups(y, len(rows))

    def _pose(
        self, X: Any, y: Any, loss: ChangeLoss | None = None, *, in_order: bool = True
    ) -> GroupProblem:
        """Read the rows, with those of each group sorted by their values, and pose the problem.

        Columns that vary in neither group are refused.
        """
        check_parameters(self, self._constraints)
        rows, groups = self._read(X, y)
        problem = GroupProblem(
            loss=self._loss() if loss is None else loss,
            rows=rows,
            groups=groups.ordered_by(rows) if in_order else groups,
        )
        is_constant = np.asarray(~problem.varies.any(axis=0))
        if is_constant.any():
            raise InputError(
                f"Within each group, {quote_names(self._labels(is_constant))} "
                f"{'has' if is_constant.sum() == 1 else 'have'} a single value, so that no link "
                "can be seen there. Drop such columns."
            )
        return problem

    def _read_known(self, X: Any, y: Any) -> tuple[FloatArray, TwoGroups]:
        """Return rows and groups whose columns and labels are those of the fit."""
        rows, groups = self._read(X, y, reset=False)
        if list(groups.classes) != self.classes_.tolist():
            raise InputError(
                f"y has the labels {quote_names(groups.classes)}; the fit knows "
                f"{quote_names(self.classes_.tolist())}."
            )
        return rows, groups

    def _as_fitted(self, X: Any, y: Any) -> TwoSamples:
        """Rows of both groups, centred and scaled as those of the fit were."""
        standardization = Standardization(locations=self.locations_, scale=self.scale_)
        samples = standardization.apply(*self._read_known(X, y))
        if max(np.abs(samples.first).max(), np.abs(samples.second).max()) > FARTHEST:
            raise InputError(
                f"Rows of X lie more than {FARTHEST:g} standard deviations from those of the fit. "
                "Pass them in the same units."
            )
        return samples

    def _grid(self, problem: GroupProblem, statistics: GroupStatistics) -> Grid:
        """Alphas that a rule tries."""
        rule = self._alpha.grid_rule(self.alpha)
        return Grid(n_alphas=rule.n_alphas or 30, ratio=rule.alpha_ratio or 0.1)

    def _graph(self, fit: ChangeFit) -> Graph:
        """Pairs whose change is not negligible."""
        is_kept = fit.adjacency & (np.abs(fit.change) > self.negligible)
        return Graph(np.where(is_kept, fit.change, 0.0), names=self._names())

    def _note(self, choice: Choice, problem: GroupProblem, statistics: GroupStatistics) -> None:
        """Set the attributes that all estimators of a change have."""
        fit: ChangeFit = choice.fit
        self.classes_ = np.array(problem.groups.classes)
        self.locations_ = statistics.standardization.locations
        self.scale_ = statistics.standardization.scale
        self.alpha_, self.alphas_ = choice.alpha, choice.alphas
        self.selection_ = choice.selection
        self.change_ = fit.change
        self.graph_ = self._graph(fit)
        self.converged_ = fit.converged
        self.n_iter_ = fit.solution.n_iter
        self.gap_ = fit.solution.gap
        self.objective_ = fit.solution.objective

    def _warn_of_constants(self, problem: GroupProblem) -> None:
        """Say which columns do not vary in one of the groups."""
        for label, varies in zip(problem.groups.classes, problem.varies, strict=True):
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

    def _unit(self) -> FloatArray:
        """Return the standard deviations that take standardised values to the units of X."""
        is_scaled = self.covariance == "empirical"
        return self.scale_ if is_scaled else np.ones_like(self.scale_)


def _network_of(rows: FloatArray, names: Sequence[str]) -> Graph:
    """Network of the rows of one group, without edges where a column does not vary."""
    import pandas as pd

    varies = varying_columns(rows)
    weights = np.zeros((len(varies), len(varies)))
    table = pd.DataFrame(rows, columns=list(names)).loc[:, varies]
    weights[np.ix_(varies, varies)] = GaussianGraph().fit(table).graph_.weights
    return Graph(weights, names=names)


_CORRELATIONS: Final = {
    "nonparanormal": nonparanormal_correlation,
    "spearman": spearman_correlation,
    "kendall": kendall_correlation,
}
#: What can stand for the covariances of the groups.
COVARIANCES: Final = ("empirical", *_CORRELATIONS)
GROUPS: Final = ("first", "second")


class Covariances(NamedTuple):
    """Covariances before and after, the rows behind each, and what was done to them."""

    before: FloatArray
    after: FloatArray
    sizes: tuple[int, int]
    treatment: tuple[str, ...]


def group_moments(
    samples: TwoSamples, covariance: str, names: Sequence[str] | None
) -> list[FloatArray]:
    """Second moments of the rows of both groups, or correlations of their ranks."""
    both = (samples.first, samples.second)
    if covariance == "empirical":
        return [covariance_of(rows, assume_centered=True)[1] for rows in both]
    refuse_constant_in_a_group(samples, names, "has no ranks")
    return [_CORRELATIONS[covariance](rows) for rows in both]


def group_covariances(
    samples: TwoSamples, covariance: str, repair: Any, names: Sequence[str] | None
) -> Covariances:
    """Moments that are positive semidefinite, as such or by the repair that was asked for."""
    moments, treatment = group_moments(samples, covariance, names), []
    for k, S in enumerate(moments):
        if repair is not None:
            moments[k], record = repair_covariance(S, repair)
            if record["amount"] > 0:
                treatment.append(
                    f'repair="{repair}": in the {GROUPS[k]} group, the smallest '
                    "eigenvalue of the correlations was raised from "
                    f"{record['smallest_eigenvalue_before']:.3g} to "
                    f"{record['smallest_eigenvalue_after']:.3g}"
                )
        elif covariance in ("spearman", "kendall"):
            moments[k] = check_covariance(S, names)
    sizes = (len(samples.first), len(samples.second))
    return Covariances(moments[0], moments[1], sizes, tuple(treatment))


def refuse_constant_in_a_group(
    samples: TwoSamples, names: Sequence[str] | None, reason: str
) -> None:
    """Name the columns with a single value in one of the groups."""
    for group, rows in zip(GROUPS, (samples.first, samples.second), strict=True):
        constant = np.flatnonzero(np.ptp(rows, axis=0) == 0).tolist()
        if constant:
            raise InputError(
                f"In the {group} group, {quote_names(labels(names, constant))} has a single value "
                f"and {reason}. Drop such columns."
            )


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
