"""Effects by adjustment for parents: least squares for numbers, standardisation for levels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg, special

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.kinds import code_new_rows
from edgewise.data.table import Table
from edgewise.estimators.base.summarizer import Summarizer
from edgewise.estimators.base.table import read_new_rows
from edgewise.estimators.directed.known_arcs import read_interventions

#: Rows at the mean that each configuration of levels counts beside its own.
PRIOR_ROWS: Final = 1.0
#: Rows for each coefficient that a product of columns takes.
ROWS_PER_PRODUCT: Final = 10
#: Newton steps of a regression of levels, and the change of a coefficient that ends them.
MAX_STEPS, NO_CHANGE = 50, 1e-8
#: A variance below this share is rounding.
NO_VARIANCE: Final = 1e-12

#: Columns that are set together; mostly one.
Sources: TypeAlias = tuple[int, ...]


class Answer(NamedTuple):
    """One number that is asked for: what is raised, what else is held, and what is looked at.

    ``scale`` takes the number to standard deviations of the columns.
    """

    source: tuple[int, ...]
    held: tuple[int, ...]
    target: int
    change: str
    outcome: str
    scale: float


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberRows:
    """Rows of numbers, for effects by least squares.

    Attributes
    ----------
    values : ndarray of shape (n, p)
    weights : ndarray of shape (n,) or None
    is_set : ndarray of bool of shape (n, p) or None
        What was set from outside in each row.
    summarizer : Summarizer
        How covariances are computed.
    """

    values: FloatArray
    weights: FloatArray | None
    is_set: BoolArray | None
    summarizer: Summarizer

    def drawn(self, rows: IntArray) -> NumberRows:
        """Return some of the rows."""
        return replace(
            self,
            values=self.values[rows],
            weights=None if self.weights is None else self.weights[rows],
            is_set=None if self.is_set is None else self.is_set[rows],
        )

    def answers(self, sources: Sources, target: int) -> Iterator[Answer]:
        """List what there is to say of the effect of some columns on another."""
        for source in sources:
            held = tuple(other for other in sources if other != source)
            yield Answer((source,), held, target, "+1", "mean", self._ratio(source, target))
        if len(sources) > 1:
            yield Answer(sources, (), target, "+1", "mean", np.nan)

    def effects(
        self, sources: Sources, parents: Sequence[Sequence[int]], targets: Sequence[int]
    ) -> FloatArray:
        """Return all answers on each target in turn, given the parents of each source.

        The effect of two columns at once follows from those of each: what the second passes on of
        the first is taken away (Nandy, Maathuis and Richardson 2017).
        """
        alone = [self._slopes(x, of) for x, of in zip(sources, parents, strict=True)]
        if len(sources) == 1:
            return alone[0][list(targets)]
        (x, a), (y, b) = zip(sources, alone, strict=True)
        first, second = a - a[y] * b, b - b[x] * a
        return np.stack([first, second, first + second])[:, list(targets)].T.ravel()

    def _ratio(self, source: int, target: int) -> float:
        spread = np.sqrt(self._statistics(()).S.diagonal()) * self._statistics(()).scale
        return float(spread[source] / spread[target])

    def _slopes(self, source: int, parents: Sequence[int]) -> FloatArray:
        """Coefficients of a column, given its parents, in the regression of each other column."""
        family = [source, *parents]
        statistics = self._statistics(tuple(family))
        S, scale = statistics.S, statistics.scale
        inner = S[np.ix_(family, family)]
        # The first row of the inverse is what is left of the column given its parents.
        unit = np.zeros(len(family))
        unit[0] = 1.0
        slopes = linalg.lstsq(inner, unit, cond=NO_VARIANCE)[0] @ S[family]
        slopes *= scale / scale[source]
        slopes[list(parents)] = 0.0
        return np.asarray(slopes)

    def _statistics(self, family: Sources) -> Any:
        """Covariances in the rows in which nothing was set but the source or its parents."""
        if self.is_set is None:
            return self._of_all
        others = np.setdiff1d(np.arange(self.values.shape[1]), family)
        is_free = ~self.is_set[:, others].any(axis=1) if family else ~self.is_set.any(axis=1)
        if is_free.sum() < len(family) + 3:
            raise InputError("too_few_free_rows", n=int(is_free.sum()))
        return self.drawn(np.flatnonzero(is_free))._of_all

    @cached_property
    def _of_all(self) -> Any:
        return self.summarizer.of_rows(self.values, self.weights)


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelRows:
    r"""Rows of which some columns have levels, for effects by standardisation.

    With P the parents of x, the mean of y when x is set is

    .. math:: E[y \mid do(x)] = \sum_P \Pr(P) \, E[y \mid x, P],

    of y, or of whether it has a level. Where x and P are levels, the inner mean is that of each
    configuration; else it is a regression, linear or of levels, with products of x and P.

    Attributes
    ----------
    values : ndarray of shape (n, p)
        Numbers, standardised by the whole table, or numbers of levels.
    levels : sequence
        Levels of each column that has some.
    spread : ndarray of shape (p,)
        Standard deviations of the numbers, 1 for levels.
    weights : ndarray of shape (n,)
    is_set : ndarray of bool of shape (n, p) or None
    """

    values: FloatArray
    levels: Sequence[Any]
    spread: FloatArray
    weights: FloatArray
    is_set: BoolArray | None

    def drawn(self, rows: IntArray) -> LevelRows:
        """Return some of the rows."""
        return replace(
            self,
            values=self.values[rows],
            weights=self.weights[rows],
            is_set=None if self.is_set is None else self.is_set[rows],
        )

    def answers(self, sources: Sources, target: int) -> Iterator[Answer]:
        """List each change of a column with each outcome of another."""
        if len(sources) > 1:
            raise InputError("joint_needs_numbers")
        (source,) = sources
        outcomes, changes = ["mean"], ["+1"]
        if (own := self.levels[target]) is not None:
            outcomes = [str(level) for level in (own[1:] if len(own) == 2 else own)]
        if (own := self.levels[source]) is not None:
            changes = [f"{own[0]} to {level}" for level in own[1:]]
        scale = float(self.spread[source] / self.spread[target])
        for change in changes:
            for outcome in outcomes:
                yield Answer(sources, (), target, change, outcome, scale)

    def effects(
        self, sources: Sources, parents: Sequence[Sequence[int]], targets: Sequence[int]
    ) -> FloatArray:
        """Return all answers on each target in turn, given the parents of the source."""
        (source,), (given,) = sources, parents
        here = self._free((source, *given))
        found = []
        for target in targets:
            if target in given:
                found.append(np.zeros(len(list(self.answers(sources, target)))))
            elif all(self.levels[k] is not None for k in (source, *given)):
                found.append(here._by_cells(source, given, target))
            else:
                found.append(here._by_regression(source, given, target))
        return np.concatenate(found)

    def _free(self, family: Sources) -> LevelRows:
        """Return the rows in which nothing was set but the source or its parents."""
        if self.is_set is None:
            return self
        others = np.setdiff1d(np.arange(self.values.shape[1]), family)
        is_free = ~self.is_set[:, others].any(axis=1)
        if is_free.sum() < len(family) + 3:
            raise InputError("too_few_free_rows", n=int(is_free.sum()))
        return replace(self.drawn(np.flatnonzero(is_free)), is_set=None)

    def _outcomes(self, target: int) -> FloatArray:
        """Whether the target has each of its levels, or its values in their units."""
        own = self.levels[target]
        if own is None:
            return np.asarray(self.values[:, [target]] * self.spread[target])
        return np.asarray(np.eye(len(own))[self.values[:, target].astype(np.int64)])

    def _contrasts(self, means: FloatArray, target: int) -> FloatArray:
        """Differences between the means at each setting and at the first."""
        own = self.levels[target]
        if own is not None and len(own) == 2:
            means = means[:, 1:]
        return np.asarray((means[1:] - means[0]).ravel())

    def _by_cells(self, source: int, given: Sequence[int], target: int) -> FloatArray:
        """Means in each configuration of source and parents, averaged over the parents."""
        outcome, w = self._outcomes(target), self.weights
        x = self.values[:, source].astype(np.int64)
        n_x = len(self.levels[source])
        _, cell = np.unique(self.values[:, list(given)], axis=0, return_inverse=True)
        cell = cell.reshape(-1)
        n_cells = int(cell.max()) + 1
        total, count = np.zeros((n_cells, n_x, outcome.shape[1])), np.zeros((n_cells, n_x))
        np.add.at(total, (cell, x), outcome * w[:, None])
        np.add.at(count, (cell, x), w)
        overall = (w @ outcome) / w.sum()
        per_level = total.sum(axis=0) + PRIOR_ROWS * overall
        per_level /= (count.sum(axis=0) + PRIOR_ROWS)[:, None]
        means = (total + PRIOR_ROWS * per_level) / (count + PRIOR_ROWS)[..., None]
        share = count.sum(axis=1) / w.sum()
        return self._contrasts(np.tensordot(share, means, 1), target)

    def _by_regression(self, source: int, given: Sequence[int], target: int) -> FloatArray:
        """Regress on source, parents and their products; average over the rows as each is set."""
        outcome, w = self._outcomes(target), self.weights
        around = np.column_stack([np.ones(len(w)), *(self._coded(k) for k in given)])
        own = self.levels[source]
        x = self.values[:, source]
        settings: Sequence[FloatArray]
        if own is None:
            # One standard deviation, around where each row is: the mean slope, whatever the units.
            settings = (x[:, None] - 0.5, x[:, None] + 0.5)
        else:
            settings = [np.eye(len(own))[np.full(len(x), k), 1:] for k in range(len(own))]
        n_more = settings[0].shape[1] * (around.shape[1] - 1)
        has_products = ROWS_PER_PRODUCT * (n_more + around.shape[1]) <= w.sum()

        def design(own_part: FloatArray) -> FloatArray:
            crossed = around if has_products else around[:, :1]
            products = (own_part[:, :, None] * crossed[:, None]).reshape(len(w), -1)
            return np.column_stack([around, products])

        seen = design(self._coded(source))
        predict = _linear if self.levels[target] is None else _logistic
        fitted = predict(seen, outcome, w)
        means = np.stack([(w @ fitted(design(part))) / w.sum() for part in settings])
        contrasts = self._contrasts(means, target)
        return contrasts / self.spread[source] if own is None else contrasts

    def _coded(self, column: int) -> FloatArray:
        own = self.levels[column]
        if own is None:
            return self.values[:, [column]]
        return np.eye(len(own))[self.values[:, column].astype(np.int64), 1:]


def _linear(design: FloatArray, outcome: FloatArray, w: FloatArray) -> Any:
    """Fit least squares; return the function that predicts."""
    root = np.sqrt(w)[:, None]
    coef = linalg.lstsq(design * root, outcome * root, cond=np.sqrt(NO_VARIANCE))[0]
    return lambda rows: rows @ coef


def _logistic(design: FloatArray, outcome: FloatArray, w: FloatArray) -> Any:
    """Fit multinomial logistic regression with a ridge worth a row, by Newton's method."""
    n_features, n_levels = design.shape[1], outcome.shape[1]
    coef = np.zeros((n_features, n_levels - 1))
    ridge = np.full(n_features, PRIOR_ROWS)
    # The constant is free, but for what keeps a level that nobody has from running away.
    ridge[0] = 1e-3

    def chances(rows: FloatArray, at: FloatArray) -> FloatArray:
        eta = np.column_stack([np.zeros(len(rows)), rows @ at])
        return np.asarray(special.softmax(eta, axis=1))

    def objective(at: FloatArray) -> float:
        eta = np.column_stack([np.zeros(len(design)), design @ at])
        logs = (eta * outcome).sum(axis=1) - special.logsumexp(eta, axis=1)
        return float(0.5 * np.sum(ridge[:, None] * at**2) - w @ logs)

    value = objective(coef)
    for _ in range(MAX_STEPS):
        p = chances(design, coef)[:, 1:]
        gradient = ridge[:, None] * coef - design.T @ (w[:, None] * (outcome[:, 1:] - p))
        H = np.zeros((n_levels - 1, n_features, n_levels - 1, n_features))
        for a in range(n_levels - 1):
            for b in range(n_levels - 1):
                v = w * p[:, a] * ((a == b) - p[:, b])
                H[a, :, b] = (design * v[:, None]).T @ design
            H[a, :, a] += np.diag(ridge)
        size = (n_levels - 1) * n_features
        step = linalg.solve(H.reshape(size, size), gradient.T.ravel(), assume_a="pos")
        step = step.reshape(n_levels - 1, n_features).T
        length = 1.0
        while (after := objective(coef - length * step)) > value and length > NO_CHANGE:
            length /= 2.0
        coef, value = coef - length * step, min(after, value)
        if np.abs(length * step).max() < NO_CHANGE:
            break
    return lambda rows: chances(rows, coef)


def rows_of(model: Any, X: Any, sample_weight: Any, interventions: Any) -> NumberRows | LevelRows:
    """Read the rows that a network was learned from, for effects."""
    names = list(model.graph_.names)
    levels = getattr(model, "levels_", [None] * len(names))
    if all(own is None for own in levels):
        values, weights = read_new_rows(model, X, sample_weight)
        summarizer = Summarizer(names=names, missing=model.missing, repair=model.repair)
        is_set = read_interventions(interventions, len(values), names)
        return NumberRows(values=values, weights=weights, is_set=is_set, summarizer=summarizer)
    values = code_new_rows(Table.from_input(X), names, list(model.kinds_.values()), levels)
    is_set = read_interventions(interventions, len(values), names)
    weights = np.ones(len(values)) if sample_weight is None else np.asarray(sample_weight, float)
    # Incomplete rows stay, without weight, so that rows keep their numbers.
    is_whole: BoolArray = np.asarray(~np.isnan(values).any(axis=1))
    weights = np.where(is_whole, weights, 0.0)
    values = np.where(is_whole[:, None], values, 0.0)
    is_number = np.array([own is None for own in levels])
    middle = np.average(values, axis=0, weights=weights)
    spread = np.sqrt(np.average((values - middle) ** 2, axis=0, weights=weights))
    middle, spread = np.where(is_number, middle, 0.0), np.where(is_number, spread, 1.0)
    return LevelRows(
        values=(values - middle) / spread,
        levels=levels,
        spread=spread,
        weights=weights,
        is_set=is_set,
    )
