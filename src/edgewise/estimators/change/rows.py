"""Cross-validation of a change: folds that hold rows of both groups, each standardised anew."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from edgewise._core.errors import InputError, SolverError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import varying_columns
from edgewise.data.labels import TwoGroups, TwoSamples
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.selection import Selection, choose_by_cv

#: Folds by default, and rows of a group that leave two to train on in each of them.
FOLDS, FEWEST_ROWS = 5, 3


@dataclass(frozen=True)
class _FoldFit:
    """A fit, or None, with how its rows were standardised, as held-out rows will be."""

    fit: Any
    standard: Any

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.fit is None or bool(self.fit.converged)


Folds: TypeAlias = list[tuple[IntArray, IntArray]]


def choose_by_group_cv(
    model: Any, rows: FloatArray, groups: TwoGroups, alphas: FloatArray, folds: Folds | None = None
) -> Selection:
    """Take the alpha with the largest held-out score of a `ChangeEstimator`.

    Folds are made as the estimator says, unless they are given for several searches to share.
    """
    if folds is None:
        folds = make_group_folds(groups, len(rows), model.cv, model.random_state)
    # What is split are the numbers of the rows: whether a row is of one group or the other has
    # to be known in a fold as well.
    places: Any = np.arange(len(rows))
    return choose_by_cv(
        places,
        alphas,
        partial(_fit_fold, model, rows, groups),
        partial(_score_fold, model, rows, groups),
        cv=folds,
        n_jobs=model.n_jobs,
        verbose=model.verbose,
    )


def make_group_folds(groups: TwoGroups, n_rows: int, cv: Any, random_state: RandomState) -> Folds:
    """Training and held-out rows of each fold, all of which hold rows of both groups."""
    from sklearn.model_selection import StratifiedKFold, check_cv

    member = np.zeros(n_rows, dtype=np.int64)
    member[groups.rows[1]] = 1
    smallest = int(np.bincount(member).min())
    if cv is None:
        if smallest < FEWEST_ROWS:
            raise InputError(
                f"The smaller group has {smallest} rows, too few to choose alpha by held-out ones, "
                f"which takes {FEWEST_ROWS}. Pass a number, such as alpha=0.3."
            )
        cv = min(FOLDS, smallest)
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


def _fit_fold(
    model: Any, rows: FloatArray, groups: TwoGroups,
    train: IntArray, weights: None, alphas: FloatArray,
) -> Iterator[_FoldFit]:  # fmt: skip
    taken, members = rows[train], groups.among(train, len(rows))
    standard = model._standardize(taken, members)
    n_fits = 0
    try:
        for fit in model._solve_path(standard.samples(taken, members), alphas):
            yield _FoldFit(fit, standard)
            n_fits += 1
    except SolverError:
        # With fewer rows there may be no solution where there is one with all: not to be chosen.
        yield from [_FoldFit(None, standard)] * (len(alphas) - n_fits)


def _score_fold(
    model: Any, rows: FloatArray, groups: TwoGroups,
    fold: _FoldFit, test: IntArray, weights: None,
) -> float:  # fmt: skip
    if fold.fit is None:
        return -np.inf
    samples = fold.standard.samples(rows[test], groups.among(test, len(rows)))
    return float(model._score_fit(fold.fit, samples))


@dataclass(frozen=True, kw_only=True, eq=False)
class Standard:
    """How rows of either group are centred and scaled.

    Attributes
    ----------
    locations : ndarray of shape (2, d)
        Taken away from the rows of the first and of the second group.
    scale : ndarray of shape (d,)
        What both are divided by.
    """

    locations: FloatArray
    scale: FloatArray

    def samples(self, rows: FloatArray, groups: TwoGroups) -> TwoSamples:
        """Rows of the two groups, centred and scaled."""
        first, second = (
            (rows[group] - location) / self.scale
            for group, location in zip(groups.rows, self.locations, strict=True)
        )
        return TwoSamples(first=first, second=second)


def varies_within(rows: FloatArray, groups: TwoGroups) -> BoolArray:
    """Whether each column varies by more than rounding, in the first and in the second group."""
    return np.stack([varying_columns(rows[group]) for group in groups.rows])


def network_of(rows: FloatArray, names: Sequence[str]) -> FloatArray:
    """Edge weights of the rows of one group, none where a column does not vary."""
    import pandas as pd

    varies = varying_columns(rows)
    weights = np.zeros((len(varies), len(varies)))
    table = pd.DataFrame(rows, columns=list(names)).loc[:, varies]
    weights[np.ix_(varies, varies)] = GaussianGraph().fit(table).graph_.weights
    return weights
