"""Dyadic cells of a table: their rows, the sums over them, and the risk of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.parallel import parallel_map
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.covariates.cell_fits import CellFits, PathRules, fit_cells, n_sums
from edgewise.solvers.covariates.scan import ALL, GRAPH, MOMENTS

#: Cells that are judged together.
CHUNK = 64


class Rows(NamedTuple):
    """Rows of a table.

    Attributes
    ----------
    codes : ndarray of int, shape (n, d)
        For each coordinate the number of the finest interval that the row lies in.
    Y : ndarray of shape (n, p)
        Responses about their common mean.
    """

    codes: IntArray
    Y: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Cell:
    """A product of dyadic intervals, one per coordinate.

    Attributes
    ----------
    levels, positions : tuple of int
        Interval ``positions[k]`` of the ``2 ** levels[k]`` that coordinate k is cut into.
    train, validation : ndarray of int
        Row numbers, increasing.
    risk : float
        Share of the cell in the risk of a tree.
    """

    levels: tuple[int, ...]
    positions: tuple[int, ...]
    train: IntArray
    validation: IntArray
    risk: float

    @property
    def key(self) -> tuple[int, ...]:
        """What two equal cells have in common."""
        return self.levels + self.positions

    @property
    def depth(self) -> int:
        """Number of halvings."""
        return sum(self.levels)


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianCells:
    """Cells of a table, each with the risk of the Gaussian fitted to its rows.

    The risk of a cell is that of its validation rows under the Gaussian of its training rows, as a
    sum over the number of all validation rows, so that risks of disjoint cells add up. With
    ``exchange`` it is, in the end, the mean of that and of the risk of the training rows under the
    Gaussian of the validation rows. Sums run over rows in increasing order: a cell has the same
    risk to the last bit, whichever cell it was split from.

    Attributes
    ----------
    train, validation : Rows
        Rows to fit to and rows to judge by; the same for a risk on the training rows.
    depths : ndarray of int, shape (d,)
        How often each coordinate can be halved.
    rules : PathRules
        Which estimate the risk is of.
    own_mean : bool
        Whether each cell has a mean of its own.
    floor : ndarray of shape (2, p)
        Variance of each response below which rows of a cell count as alike; and what it is then
        raised to, times their number: one in n of other rows may differ although n are alike.
    min_samples : int
        Fewest rows of either kind in a cell.
    max_total_depth : int
        Largest number of halvings of a cell.
    exchange : bool
        Whether training and validation rows change places for a second opinion.
    n_jobs : int or None
        Cells whose splits are tried at a time.
    part : str
        What a split gains by: ``ALL``, means and variances (``MOMENTS``) or the ``GRAPH``.
    """

    train: Rows
    validation: Rows
    depths: IntArray
    rules: PathRules
    own_mean: bool
    floor: FloatArray
    min_samples: int
    max_total_depth: int
    exchange: bool = False
    n_jobs: int | None = None
    part: str = ALL

    def root(self) -> Cell:
        """Return the cell of all rows."""
        d = len(self.depths)
        cell = Cell(
            levels=(0,) * d,
            positions=(0,) * d,
            train=np.arange(len(self.train.Y)),
            validation=np.arange(len(self.validation.Y)),
            risk=np.nan,
        )
        return self.with_risks([cell])[0]

    def fit(self, cells: Sequence[Cell], rules: PathRules) -> CellFits:
        """Fit a Gaussian to each cell by any rules; risks are means over the cell."""
        train, validation = self.sums(cells)
        return fit_cells(train, validation, rules, own_mean=self.own_mean, floor=self.floor)

    def sums(self, cells: Sequence[Cell]) -> tuple[FloatArray, FloatArray]:
        """Add up the rows of each cell, see `fit_cells`."""
        shape = (len(cells), n_sums(self.floor.shape[1]))
        train, validation = np.zeros(shape), np.zeros(shape)
        for c, cell in enumerate(cells):
            _add_rows(self.train.Y, cell.train, train[c])
            _add_rows(self.validation.Y, cell.validation, validation[c])
        return train, validation

    def with_risks(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells with the risks of their validation rows."""
        risks = self.fit(cells, self.rules).risk * [len(cell.validation) for cell in cells]
        shares = (risks / len(self.validation.Y)).tolist()
        return [replace(cell, risk=risk) for cell, risk in zip(cells, shares, strict=True)]

    def split(self, cells: Sequence[Cell], *, in_order: bool = False) -> list[FloatArray]:
        """Risks of the halves of each cell, per coordinate: arrays of shape (d, 2).

        NaN marks a half with too few rows. With ``in_order`` only coordinates from the last one
        that has been halved on are tried, so that every cell is reached by one way only;
        otherwise a half counts only if the other one does, too.
        """
        if self.n_jobs in (None, 1):
            return [self._split(cell, in_order=in_order) for cell in cells]
        tasks = []
        for cell in cells:
            sums, is_used = self._halves(cell, in_order=in_order)
            tasks.append((*sums, is_used, self.rules, self.own_mean, self.floor))
        risks = parallel_map(_half_risks, tasks, n_jobs=self.n_jobs)
        return [risk / len(self.validation.Y) for risk in risks]

    def child(self, cell: Cell, coordinate: int, side: int, risk: float) -> Cell:
        """Half of a cell, left (0) or right (1)."""
        levels, positions = list(cell.levels), list(cell.positions)
        shift = int(self.depths[coordinate]) - levels[coordinate] - 1
        levels[coordinate] += 1
        positions[coordinate] = 2 * positions[coordinate] + side
        train, validation = (
            number[(rows.codes[number, coordinate] >> shift) & 1 == side]
            for rows, number in ((self.train, cell.train), (self.validation, cell.validation))
        )
        return Cell(
            levels=tuple(levels),
            positions=tuple(positions),
            train=train,
            validation=validation,
            risk=risk,
        )

    def judge(self, cells: Sequence[Cell]) -> list[Cell]:
        """Return the cells with the risks by which trees are compared in the end."""
        if not self.exchange:
            return list(cells)
        chunks = [cells[first : first + CHUNK] for first in range(0, len(cells), CHUNK)]
        tasks = (
            (*self.sums(chunk)[::-1], self.rules, self.own_mean, self.floor) for chunk in chunks
        )
        if self.n_jobs in (None, 1):
            risks = [_summed_risks(*task) for task in tasks]
        else:
            risks = parallel_map(_summed_risks, tasks, n_jobs=self.n_jobs)
        second = np.concatenate(risks) / len(self.train.Y)
        return [
            replace(cell, risk=0.5 * (cell.risk + other))
            for cell, other in zip(cells, second.tolist(), strict=True)
        ]

    def gain(self, whole: Cell, halves: Sequence[Cell]) -> float:
        """Gain of a split in risk, of the part that counts.

        Means and variances gain what a model with those of each half, but common partial
        correlations, has less than one Gaussian for both; the graph gains what partial
        correlations of its own take off the risk of each half, whatever means and variances are.
        """
        if self.part == ALL:
            return whole.risk - sum(half.risk for half in halves)
        shared = self.pooled_risk(halves, own_scale=True)
        if self.part == MOMENTS:
            return whole.risk - shared
        return shared - sum(self.pooled_risk([half], own_scale=True) for half in halves)

    def pooled_risk(self, found: Sequence[Cell], *, own_scale: bool) -> float:
        """Risk of a model between one Gaussian for some cells together and one for each.

        Cells have their own means but one precision, fitted to the scatter within them; with
        ``own_scale`` they have their own variances, too, but one matrix of partial correlations,
        fitted to their pooled correlations.
        """
        sums = self.sums(found)
        means = self.own_mean or self.part == GRAPH
        risks = []
        for train, validation in (sums, sums[::-1]) if self.exchange else (sums,):
            fit, score, offset = _pool(
                train, validation, self.floor, own_mean=means, own_scale=own_scale
            )
            found_risk = fit_cells(fit, score, self.rules, own_mean=False, floor=self.floor).risk[0]
            n = len(self.validation.Y) if train is sums[0] else len(self.train.Y)
            risks.append(float(score[0, 0]) * (float(found_risk) + offset) / n)
        return sum(risks) / len(risks)

    def counts(self, cell: Cell, *, in_order: bool) -> IntArray:
        """Fewer of training and validation rows in each half, -1 where it may not be halved."""
        shifts = self._shifts(cell, in_order=in_order)
        counts = [
            _count_rows(rows.codes, shifts, number)
            for rows, number in ((self.train, cell.train), (self.validation, cell.validation))
        ]
        fewest: IntArray = np.minimum(*counts)
        fewest[shifts < 0] = -1
        return fewest

    def can_split(self) -> BoolArray:
        """Whether each coordinate can be halved at all: cells inside have fewer rows."""
        counts = self.counts(self.root(), in_order=False)
        is_enough: BoolArray = np.all(counts >= self.min_samples, axis=1)
        return is_enough

    def _split(self, cell: Cell, *, in_order: bool) -> FloatArray:
        sums, is_used = self._halves(cell, in_order=in_order)
        risks = _half_risks(*sums, is_used, self.rules, self.own_mean, self.floor)
        return risks / len(self.validation.Y)

    def _halves(
        self, cell: Cell, *, in_order: bool
    ) -> tuple[tuple[FloatArray, FloatArray], BoolArray]:
        """Return sums over the halves that count, and which of all halves those are."""
        is_enough = self.counts(cell, in_order=in_order) >= self.min_samples
        if not in_order:
            is_enough[:] = is_enough.all(axis=1, keepdims=True)
        shifts = self._shifts(cell, in_order=in_order)
        shifts[~is_enough.any(axis=1)] = -1
        shape = (len(shifts), 2, n_sums(self.floor.shape[1]))
        sums = np.zeros(shape), np.zeros(shape)
        _add_halves(self.train.codes, shifts, self.train.Y, cell.train, sums[0])
        _add_halves(self.validation.codes, shifts, self.validation.Y, cell.validation, sums[1])
        return (sums[0][is_enough], sums[1][is_enough]), is_enough

    def _shifts(self, cell: Cell, *, in_order: bool) -> IntArray:
        """Bit of the code that halves each coordinate next; -1 where it may not be halved."""
        levels = np.array(cell.levels)
        shifts: IntArray = self.depths - levels - 1
        if cell.depth >= self.max_total_depth:
            shifts[:] = -1
        if in_order and levels.any():
            shifts[: np.flatnonzero(levels)[-1]] = -1
        return shifts


def _pool(
    train: FloatArray,
    validation: FloatArray,
    floor: FloatArray,
    *,
    own_mean: bool,
    own_scale: bool,
) -> tuple[FloatArray, FloatArray, float]:
    """Pool the scatter within cells, in units of their own or in common ones.

    Returns sums over the rows to fit to and to score on, and what the units add to the risk.
    """
    p = floor.shape[1]
    means = train[:, 1 : 1 + p] / train[:, :1] if own_mean else np.zeros((len(train), p))
    own = [_moments(sums, mean) for sums, mean in zip(train, means, strict=True)]
    variances = np.stack([S.diagonal() for S in own])
    if not own_scale:
        variances[:] = np.average(variances, axis=0, weights=train[:, 0])
    raised = np.maximum(floor[0], floor[1] / train[:, :1])
    deviations = np.sqrt(np.where(variances < floor[0], raised, variances))
    pooled = np.zeros((2, p, p))
    for k, deviation in enumerate(deviations):
        units = np.outer(deviation, deviation)
        pooled[0] += train[k, 0] * own[k] / units
        pooled[1] += validation[k, 0] * _moments(validation[k], means[k]) / units
    offset = 2.0 * float(validation[:, 0] @ np.log(deviations).sum(axis=1))
    counts = (train[:, 0].sum(), validation[:, 0].sum())
    fit, score = (
        np.concatenate([[n], np.zeros(p), S[np.triu_indices(p)]])[None]
        for n, S in zip(counts, pooled, strict=True)
    )
    return fit, score, offset / float(counts[1])


def _moments(sums: FloatArray, mean: FloatArray) -> FloatArray:
    """Second moments about any mean, from the sums over rows."""
    p = len(mean)
    products = np.zeros((p, p))
    products[np.triu_indices(p)] = sums[1 + p :] / sums[0]
    products += np.triu(products, 1).T
    average = sums[1 : 1 + p] / sums[0]
    return products - np.outer(mean, average) - np.outer(average, mean) + np.outer(mean, mean)


def _half_risks(
    train: FloatArray,
    validation: FloatArray,
    is_used: BoolArray,
    rules: PathRules,
    own_mean: bool,
    floor: FloatArray,
) -> FloatArray:
    """Return the summed risks of the halves that count, NaN for the others."""
    risks = np.full(is_used.shape, np.nan)
    risks[is_used] = _summed_risks(train, validation, rules, own_mean, floor)
    return risks


def _summed_risks(
    train: FloatArray,
    validation: FloatArray,
    rules: PathRules,
    own_mean: bool,
    floor: FloatArray,
) -> FloatArray:
    """Return the risk of each cell, summed over its validation rows."""
    fits = fit_cells(train, validation, rules, own_mean=own_mean, floor=floor)
    return fits.risk * validation[:, 0]


@kernel
def _count_rows(codes: IntArray, shifts: IntArray, rows: IntArray) -> IntArray:
    """Count the rows in either half for every coordinate that may be halved."""
    counts = np.zeros((shifts.size, 2), np.int64)
    for i in rows:
        for k in range(shifts.size):
            if shifts[k] >= 0:
                counts[k, (codes[i, k] >> shifts[k]) & 1] += 1
    return counts


@kernel
def _add_halves(
    codes: IntArray, shifts: IntArray, Y: FloatArray, rows: IntArray, sums: FloatArray
) -> None:
    """Add each row to the half that it lies in, for every coordinate that may be halved."""
    z = np.empty(sums.shape[2])
    for i in rows:
        _products(Y[i], z)
        for k in range(shifts.size):
            if shifts[k] >= 0:
                half = sums[k, (codes[i, k] >> shifts[k]) & 1]
                for m in range(z.size):
                    half[m] += z[m]


@kernel
def _add_rows(Y: FloatArray, rows: IntArray, sums: FloatArray) -> None:
    """Add all rows."""
    z = np.empty(sums.size)
    for i in rows:
        _products(Y[i], z)
        for m in range(z.size):
            sums[m] += z[m]


@kernel
def _products(y: FloatArray, z: FloatArray) -> None:
    """Write 1, the responses and the upper triangle of their products to ``z``."""
    p = y.size
    z[0] = 1.0
    k = 1 + p
    for a in range(p):
        z[1 + a] = y[a]
        for b in range(a, p):
            z[k] = y[a] * y[b]
            k += 1
