"""Base of the estimators of a change between two groups, and the problem that they pose."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import DataWarning, InputError, SolverError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import (
    ColumnReport,
    check_columns,
    refuse_covariance,
    varying_columns,
)
from edgewise.data.labels import TwoGroups, TwoSamples, two_groups
from edgewise.estimators.base.fits import ChangePath, note_decided
from edgewise.estimators.base.statistics import labels
from edgewise.estimators.base.table import TableEstimator
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.graph import Graph
from edgewise.graph.compare import classify_changes
from edgewise.selection import CV
from edgewise.selection.choose import ConvergenceWarning, Selection, decreasing
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import Grid, search
from edgewise.solvers import Solution
from edgewise.stats import (
    covariance as covariance_of,
    kendall_correlation,
    nonparanormal_correlation,
    repair_covariance,
    spearman_correlation,
)
from edgewise.stats.positive import check_covariance

if TYPE_CHECKING:
    import pandas as pd


#: Products of four numbers up to this size are finite.
FARTHEST: Final = 1e70
#: The rule by which alpha is chosen, with the defaults of its grid.
HELD_OUT: Final = CV(n_alphas=30, alpha_ratio=0.1)
#: Constraints of parameters that all estimators of a change have.
CONSTRAINTS: Final[Mapping[str, Constraint]] = {
    "standardize": OneOf("within", "pooled", False),
    "negligible": Number(at_least=0),
    "tol": Number(above=0),
    "max_iter": Number(at_least=1),
}
#: What to do where the smallest alpha that has a solution is the best.
#: Rows of a group that leave two to train on in each fold.
FEWEST_ROWS: Final = 3


class ChangeEstimator(TableEstimator):
    """Base of the estimators that learn what changed between two groups of rows.

    A subclass has a ``fit`` of its own, says what it minimises (``_loss``) and what of a fit is
    scored (``_fitted_values``), and may refuse rows (``_check_rows``), learn the size of a change
    without its sign (``_is_signed``) and the networks of the groups (``_own_networks``).
    """

    #: Rules by which alpha may be chosen, with their defaults.
    _alpha = Strength(HELD_OUT)
    #: The parameter that penalises changes.
    _strength: ClassVar[str] = "alpha"
    _constraints: ClassVar[Mapping[str, Constraint]]

    @abstractmethod
    def _loss(self) -> ChangeLoss:
        """Check that the parameters go together, and return what is minimised."""

    @abstractmethod
    def _fitted_values(self) -> tuple[FloatArray, dict[str, Any]]:
        """Return ``values`` and ``features`` of the `ChangeFit`, from the attributes."""

    def _check_rows(self, rows: FloatArray, report: ColumnReport, *, is_fit: bool) -> None:
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
        """Learn the change at each of several penalties; the estimator itself stays as it is.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows of both groups.
        y : array-like of shape (n,)
            Their labels.
        alphas : array-like, optional
            Penalties on changes from large to small; by default those that a search would try.

        Returns
        -------
        ChangePath
        """
        model = clone(self)
        problem = model._pose(X, y)
        statistics = problem.summarize(problem.places)
        if alphas is None:
            rule = model._alpha.grid_rule(getattr(model, model._strength))
            grid = problem.grid(rule, statistics).alphas(problem.largest_alpha(statistics))
        else:
            grid = decreasing(np.asarray(alphas))
        fits = list(problem.solve_path(statistics, grid))
        graphs = (model._graph(fit) for fit in fits)
        return ChangePath.of(grid, fits, graphs, changes=np.stack([fit.change for fit in fits]))

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
            `edgewise.graph.compare.classify_changes` gives them.
        """
        check_is_fitted(self)
        if X is not None:
            rows, groups = self._read_known(X, y)
            before, after = (_network_of(rows[group], self.graph_.names) for group in groups.rows)
        else:
            nothing = Graph(np.zeros_like(self.graph_.weights), names=self.graph_.names)
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
            raise InputError("groups_required", type=type(self).__name__)
        rows = self._as_rows(X, reset=reset)
        if reset:
            refuse_covariance(rows, f"{type(self).__name__} learns from the rows of both groups.")
        self._refuse_missing(rows)
        report = check_columns(
            rows,
            self._names(),
            allow_missing=True,
            allow_constant=not reset,
            allow_identical=True,
        )
        self._check_rows(rows, report, is_fit=reset)
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
                "constant_within_group",
                labels=self._labels(is_constant),
                is_constant=is_constant.sum(),
            )
        return problem

    def _read_known(self, X: Any, y: Any) -> tuple[FloatArray, TwoGroups]:
        """Return rows and groups whose columns and labels are those of the fit."""
        rows, groups = self._read(X, y, reset=False)
        if list(groups.classes) != self.classes_.tolist():
            raise InputError(
                "unknown_groups", classes=groups.classes, classes2=self.classes_.tolist()
            )
        return rows, groups

    def _as_fitted(self, X: Any, y: Any) -> TwoSamples:
        """Rows of both groups, centred and scaled as those of the fit were."""
        standardization = Standardization(locations=self.locations_, scale=self.scale_)
        samples = standardization.apply(*self._read_known(X, y))
        if max(np.abs(samples.first).max(), np.abs(samples.second).max()) > FARTHEST:
            raise InputError("rows_far_from_fit", farthest=FARTHEST)
        return samples

    def _graph(self, fit: ChangeFit) -> Graph:
        """Pairs whose change is not negligible."""
        is_kept = fit.adjacency & (np.abs(fit.change) > self.negligible)
        return Graph(np.where(is_kept, fit.change, 0.0), names=self._names())

    def _rule(self, problem: GroupProblem) -> Rule | float:
        """Return the number or the rule in ``alpha``, whose folds all hold rows of both groups."""
        rule = self._alpha.resolve(getattr(self, self._strength))
        if not isinstance(rule, CV):
            return rule
        folds = make_group_folds(
            problem.groups, len(problem.rows), rule.cv, self.random_state, self._strength
        )
        return replace(rule, cv=folds)

    def _learn(
        self, problem: GroupProblem, rule: Rule | float, selection: Selection | None = None
    ) -> ChangeFit:
        """Fit at the alpha that the rule chooses, and set what all estimators of a change have.

        To be called from ``fit``: warnings point to the line that called it.
        """
        self._warn_of_constants(problem)
        statistics = problem.summarize(problem.places)
        grid_rule = self._alpha.grid_rule(getattr(self, self._strength))
        grid = problem.grid(grid_rule, statistics)
        choice = search(
            problem,
            rule,
            problem.places,
            None,
            statistics,
            grid,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            is_warm=True,
            selection=selection,
            has_limit=grid.ratio > (grid_rule.alpha_ratio or 0.0),
            strength=self._strength,
            stacklevel=4,
        )
        fit: ChangeFit = choice.fit
        self.classes_ = np.array(problem.groups.classes)
        self.locations_ = statistics.standardization.locations
        self.scale_ = statistics.standardization.scale
        setattr(self, f"{self._strength}_", choice.alpha)
        setattr(self, f"{self._strength}s_", choice.alphas)
        self.selection_ = choice.selection
        self.change_ = fit.change
        self.graph_ = self._graph(fit)
        note_decided(self, decided := fit.solution.decided)
        if decided is not None and self.negligible > 0:
            # What was dropped as negligible is an edge of the optimum still.
            is_whole = self.graph_.adjacency == fit.adjacency
            self.graph_ = replace(self.graph_, decided=decided & is_whole)
        self.converged_ = fit.converged
        self.n_iter_ = fit.solution.n_iter
        self.gap_ = fit.solution.gap
        self.objective_ = fit.solution.objective
        return fit

    def _warn_of_constants(self, problem: GroupProblem) -> None:
        """Say which columns do not vary in one of the groups."""
        for label, varies in zip(problem.groups.classes, problem.varies, strict=True):
            if not varies.all():
                which = self._labels(~varies)
                warnings.warn(
                    DataWarning("constant_in_one_group", label=label, columns=which), stacklevel=4
                )

    def _unit(self) -> FloatArray:
        """Return what takes standardised values of each group to the units of X."""
        scale = self.scale_ if self.covariance == "empirical" else np.ones_like(self.scale_)
        return np.broadcast_to(scale, self.locations_.shape)

    def _squares(self) -> FloatArray:
        """Return the products of the units of two columns, in each group."""
        unit = self._unit()
        squares: FloatArray = unit[:, :, None] * unit[:, None, :]
        return squares


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
                "constant_in_group", group=group, labels=labels(names, constant), reason=reason
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


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangeFit:
    """One fit along a path.

    Attributes
    ----------
    solution : Solution
        What the solver returned.
    values : ndarray
        Coefficients, a difference of precisions, or the models of both groups.
    change : ndarray of shape (d, d)
        Signed change of every pair, symmetric, with the variables on the diagonal.
    features : dict
        Arguments of the solver that say what coefficients belong to.
    treatment : tuple of str
        What was done to the covariances.
    """

    solution: Solution
    values: FloatArray
    change: FloatArray
    features: dict[str, Any]
    treatment: tuple[str, ...] = ()
    #: The size of a change still shrinks with alpha where all pairs change.
    is_complete: bool = False

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @property
    def adjacency(self) -> BoolArray:
        """Which pairs change, with a False diagonal."""
        joined: BoolArray = self.change != 0
        np.fill_diagonal(joined, False)
        return joined


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangeLoss(ABC):
    """What an estimator of a change minimises on the rows of both groups.

    Attributes
    ----------
    standardize : {"within", "pooled", False}
        Whether rows are centred and scaled first: each group by its own spread, or both by the
        one that they have in common.
    tol : float
        Largest duality gap per variable.
    max_iter : int
        Largest number of iterations of the solver.
    """

    standardize: bool | str
    tol: float
    max_iter: int

    @abstractmethod
    def prepare(self, samples: TwoSamples) -> Any:
        """Return what the solver needs of the rows: moments, or features."""

    @abstractmethod
    def largest_alpha(self, prepared: Any) -> float:
        """Return the smallest alpha without any change."""

    def smallest_alpha(self, prepared: Any) -> float:
        """Return the alpha below which there is no solution; 0 where there always is one."""
        return 0.0

    @abstractmethod
    def solve_path(self, prepared: Any, alphas: FloatArray) -> Iterator[ChangeFit]:
        """Yield one fit per alpha, each started from the one before."""

    @abstractmethod
    def score(self, values: FloatArray, features: dict[str, Any], samples: TwoSamples) -> float:
        """Score a fit on other rows; larger is better."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Standardization:
    """How rows of either group are centred and scaled.

    Attributes
    ----------
    locations : ndarray of shape (2, d)
        Subtracted from the rows of the first and of the second group.
    scale : ndarray of shape (d,) or (2, d)
        What both are divided by, or each of them.
    """

    locations: FloatArray
    scale: FloatArray

    def apply(self, rows: FloatArray, groups: TwoGroups) -> TwoSamples:
        """Rows of the two groups, centred and scaled."""
        scales = np.broadcast_to(self.scale, self.locations.shape)
        first, second = (
            (rows[group] - location) / scale
            for group, location, scale in zip(groups.rows, self.locations, scales, strict=True)
        )
        return TwoSamples(first=first, second=second)


class GroupStatistics(NamedTuple):
    """Standardised rows of both groups, and what the solver needs of them.

    Attributes
    ----------
    standardization : Standardization
        How the rows were standardised.
    samples : TwoSamples
        The rows.
    prepared : object
        What the ``prepare`` of a `ChangeLoss` returned.
    is_fold : bool
        Whether these are not all rows.
    """

    standardization: Standardization
    samples: TwoSamples
    prepared: Any
    is_fold: bool


class FoldFit(NamedTuple):
    """A fit to the rows of a fold, with how they were standardised; None where there is none."""

    fit: ChangeFit | None
    standardization: Standardization

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.fit is None or self.fit.converged


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupProblem:
    """A `ChangeLoss` on rows of two groups as a `PathProblem`, which folds of the rows share.

    What is split into folds are the numbers of the rows, ``places``: whether a row is of one group
    or the other has to be known in a fold as well.

    Attributes
    ----------
    loss : ChangeLoss
        What is minimised.
    rows : ndarray of shape (n, d)
        All rows.
    groups : TwoGroups
        Which group they belong to.
    """

    loss: ChangeLoss
    rows: FloatArray
    groups: TwoGroups
    decide: float = 0.0

    @property
    def places(self) -> Any:
        """Numbers of all rows."""
        return np.arange(len(self.rows))

    @cached_property
    def varies(self) -> BoolArray:
        """Whether each column varies by more than rounding in either group, shape (2, d)."""
        return _varies_within(self.rows, self.groups)

    def summarize(self, rows: IntArray, weights: FloatArray | None = None) -> GroupStatistics:
        """Standardise some rows."""
        is_fold = len(rows) < len(self.rows)
        groups = self.groups.among(rows, len(self.rows)) if is_fold else self.groups
        values = self.rows[rows] if is_fold else self.rows
        # In a fold a column may be constant in both groups; its spread is then rounding.
        varies = _varies_within(values, groups) if is_fold else self.varies
        standardization = self._standardization(values, groups, varies)
        samples = standardization.apply(values, groups)
        return GroupStatistics(standardization, samples, self.loss.prepare(samples), is_fold)

    def largest_alpha(self, statistics: GroupStatistics) -> float:
        """Return the smallest alpha without any change."""
        largest = self.loss.largest_alpha(statistics.prepared)
        samples = statistics.samples
        # Between identical groups a difference of moments is rounding, and no change is found.
        size = max(float(np.abs(rows).max()) for rows in (samples.first, samples.second)) ** 2
        return largest if largest > 1e-12 * size else 0.0

    def grid(self, rule: Rule, statistics: GroupStatistics) -> Grid:
        """Return the alphas that a rule tries, all of which have a solution."""
        grid = Grid.of(rule, None, self.rows.shape[1])
        smallest = self.loss.smallest_alpha(statistics.prepared)
        largest = self.largest_alpha(statistics) if smallest > 0 else 0.0
        if largest == 0:
            return grid
        # A little above the smallest, where the solution begins to run away.
        return replace(grid, ratio=min(max(grid.ratio, 1.05 * smallest / largest), 0.99))

    def solve_path(self, statistics: GroupStatistics, alphas: FloatArray) -> Iterator[Any]:
        """Yield one fit per alpha."""
        loss: Any = self.loss
        if self.decide and hasattr(loss, "decide"):
            loss = replace(loss, decide=self.decide)
        fits = loss.solve_path(statistics.prepared, alphas)
        if not statistics.is_fold:
            yield from fits
            return
        n_fits = 0
        try:
            for fit in fits:
                yield FoldFit(fit, statistics.standardization)
                n_fits += 1
        except SolverError:
            # With fewer rows there may be no solution where there is one with all.
            for _ in range(len(alphas) - n_fits):
                yield FoldFit(None, statistics.standardization)

    def score(self, fit: FoldFit, rows: Any, weights: FloatArray | None) -> float:
        """Score a fit on held-out rows; one that failed is not to be chosen."""
        if fit.fit is None:
            return -np.inf
        groups = self.groups.among(rows, len(self.rows))
        samples = fit.standardization.apply(self.rows[rows], groups)
        return float(self.loss.score(fit.fit.values, fit.fit.features, samples))

    def gap_warning(self, fit: ChangeFit) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        return ConvergenceWarning(
            "gap_above_tol",
            n_iter=fit.solution.n_iter,
            gap=fit.solution.gap,
            tol=self.loss.tol * self.rows.shape[1],
        )

    def _standardization(
        self, rows: FloatArray, groups: TwoGroups, varies: BoolArray
    ) -> Standardization:
        """Mean of each group, and its own spread or the one that both have in common."""
        d = rows.shape[1]
        if not self.loss.standardize:
            return Standardization(locations=np.zeros((2, d)), scale=np.ones(d))
        locations = np.stack([rows[group].mean(axis=0) for group in groups.rows])
        squares = np.stack(
            [
                ((rows[group] - location) ** 2).sum(axis=0)
                for group, location in zip(groups.rows, locations, strict=True)
            ]
        )
        if self.loss.standardize == "within":
            variances = squares / [[len(group)] for group in groups.rows]
        else:
            variances = squares.sum(axis=0) / len(rows)
            varies = np.asarray(varies.any(axis=0))
        return Standardization(locations=locations, scale=np.where(varies, np.sqrt(variances), 1.0))


def _varies_within(rows: FloatArray, groups: TwoGroups) -> BoolArray:
    return np.stack([varying_columns(rows[group]) for group in groups.rows])


def make_group_folds(
    groups: TwoGroups, n_rows: int, cv: Any, random_state: RandomState, strength: str = "alpha"
) -> list[tuple[IntArray, IntArray]]:
    """Training and held-out rows of each fold, all of which hold rows of both groups."""
    from sklearn.model_selection import StratifiedKFold, check_cv

    member = np.zeros(n_rows, dtype=np.int64)
    member[groups.rows[1]] = 1
    smallest = int(np.bincount(member).min())
    # The default number of folds is more than a small group has rows.
    if isinstance(cv, int) and cv == CV().cv:
        if smallest < FEWEST_ROWS:
            raise InputError(
                "too_few_rows_for_cv", smallest=smallest, strength=strength, fewest_rows=FEWEST_ROWS
            )
        cv = min(cv, smallest)
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if not 2 <= cv <= smallest:
            raise InputError("cv_range_group", smallest=smallest, cv=cv)
        seed = int(as_generator(random_state).integers(2**31 - 1))
        cv = StratifiedKFold(n_splits=int(cv), shuffle=True, random_state=seed)
    folds = []
    for train, test in check_cv(cv).split(np.zeros((n_rows, 1)), member):
        sizes = [np.bincount(member[part], minlength=2) for part in (train, test)]
        if sizes[0].min() < 2 or sizes[1].min() < 1:
            raise InputError("fold_without_group")
        folds.append((np.asarray(train), np.asarray(test)))
    return folds
