"""Rows of two groups as a problem of a path: standardised, split into folds, and scored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from edgewise._core.errors import InputError, SolverError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import varying_columns
from edgewise.data.labels import TwoGroups, TwoSamples
from edgewise.selection import CV
from edgewise.selection.rules import Rule
from edgewise.solvers import Solution

#: Rows of a group that leave two to train on in each fold.
FEWEST_ROWS: Final = 3

#: Training and held-out rows of each fold.
Folds: TypeAlias = list[tuple[IntArray, IntArray]]


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
    standardize : {True, "pooled", "within", False}
        Whether rows are centred and scaled first: by the spread that both groups have in common
        (True, ``"pooled"``), or each group by its own.
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

    @property
    def scales(self) -> FloatArray:
        """What each group is divided by, of shape (2, d)."""
        return np.broadcast_to(self.scale, self.locations.shape)

    def apply(self, rows: FloatArray, groups: TwoGroups) -> TwoSamples:
        """Rows of the two groups, centred and scaled."""
        first, second = (
            (rows[group] - location) / scale
            for group, location, scale in zip(groups.rows, self.locations, self.scales, strict=True)
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

    def solve_path(self, statistics: GroupStatistics, alphas: FloatArray) -> Iterator[Any]:
        """Yield one fit per alpha."""
        fits = self.loss.solve_path(statistics.prepared, alphas)
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

    def describe_gap(self, fit: ChangeFit) -> str:
        """Say how far from the optimum the fit stopped, and what to do."""
        return (
            f"Stopped after {fit.solution.n_iter} iterations at a duality gap of "
            f"{fit.solution.gap:.2g}, above tol * n_features = "
            f"{self.loss.tol * self.rows.shape[1]:.2g}. Raise max_iter or alpha, or accept a "
            "larger tol."
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


def with_group_folds(
    rule: Rule | float, problem: GroupProblem, random_state: RandomState
) -> Rule | float:
    """Return a rule whose folds all hold rows of both groups; other rules as they are."""
    if not isinstance(rule, CV):
        return rule
    folds = _make_group_folds(problem.groups, len(problem.rows), rule.cv, random_state)
    return replace(rule, cv=folds)


def _make_group_folds(groups: TwoGroups, n_rows: int, cv: Any, random_state: RandomState) -> Folds:
    """Training and held-out rows of each fold, all of which hold rows of both groups."""
    from sklearn.model_selection import StratifiedKFold, check_cv

    member = np.zeros(n_rows, dtype=np.int64)
    member[groups.rows[1]] = 1
    smallest = int(np.bincount(member).min())
    # The default number of folds is more than a small group has rows.
    if isinstance(cv, int) and cv == CV().cv:
        if smallest < FEWEST_ROWS:
            raise InputError(
                f"The smaller group has {smallest} rows, too few to choose alpha by held-out ones, "
                f"which takes {FEWEST_ROWS}. Pass a number, such as alpha=0.3."
            )
        cv = min(cv, smallest)
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if not 2 <= cv <= smallest:
            raise InputError(
                f"cv must be between 2 and the number of rows of the smaller group, {smallest}, "
                f"got {cv}."
            )
        seed = int(as_generator(random_state).integers(2**31 - 1))
        cv = StratifiedKFold(n_splits=int(cv), shuffle=True, random_state=seed)
    folds = []
    for train, test in check_cv(cv).split(np.zeros((n_rows, 1)), member):
        sizes = [np.bincount(member[part], minlength=2) for part in (train, test)]
        if sizes[0].min() < 2 or sizes[1].min() < 1:
            raise InputError(
                "A fold of cv holds fewer than 2 training rows or no held-out row of one of the "
                "groups. Pass a number of folds, or a splitter that keeps both groups in all "
                "folds, such as StratifiedKFold."
            )
        folds.append((np.asarray(train), np.asarray(test)))
    return folds
