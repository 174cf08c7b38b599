"""The regressions of `MixedGraph`: standardised columns, one problem per column, and its fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.special import gammaln, logsumexp

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.checks import ROUNDING
from edgewise.estimators.base.statistics import PERFECT
from edgewise.io.messages import quote_names
from edgewise.selection.choose import ConvergenceWarning
from edgewise.selection.criteria import ebic
from edgewise.solvers.discrete.pairwise import Pairwise, PairwiseSolution
from edgewise.solvers.lasso.generalized import Regression, RegressionSolution
from edgewise.solvers.lasso.generalized_kernels import BINARY, GAUSSIAN, MULTINOMIAL, POISSON
from edgewise.stats.effective import PairScores

#: Family of the regression of each kind.
FAMILY: Final = {
    "continuous": GAUSSIAN,
    "ordinal": GAUSSIAN,
    "count": POISSON,
    "binary": BINARY,
    "nominal": MULTINOMIAL,
}


def raw_columns(rows: FloatArray, kinds: Sequence[str], n_levels: Sequence[int]) -> FloatArray:
    """Return numbers and binary columns as they are, and an indicator for each nominal level."""
    parts = [
        rows[:, k : k + 1] == np.arange(n_levels[k]) if kind == "nominal" else rows[:, k : k + 1]
        for k, kind in enumerate(kinds)
    ]
    return np.hstack([np.asarray(part, dtype=np.float64) for part in parts])


def log_likelihood(
    family: int, eta: FloatArray, y: FloatArray, noise_variance: float
) -> FloatArray:
    """Log-likelihood of each row of one column, given its linear predictors."""
    if family == GAUSSIAN:
        square = (y - eta[:, 0]) ** 2 / noise_variance
        return np.asarray(-0.5 * (np.log(2 * np.pi * noise_variance) + square))
    if family == BINARY:
        return np.asarray(y * eta[:, 0] - np.logaddexp(0.0, eta[:, 0]))
    if family == POISSON:
        return np.asarray(y * eta[:, 0] - np.exp(eta[:, 0]) - gammaln(y + 1.0))
    own = eta[np.arange(len(y)), y.astype(np.int64)]
    return np.asarray(own - logsumexp(eta, axis=1))


@dataclass(frozen=True, kw_only=True)
class Coding:
    """How columns of a table become those of a regression."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    n_levels: tuple[int, ...]

    @property
    def n_columns(self) -> list[int]:
        """How many columns of a regression each has: one, or one for each nominal level."""
        pairs = zip(self.kinds, self.n_levels, strict=True)
        return [n if kind == "nominal" else 1 for kind, n in pairs]

    def design(self, rows: FloatArray, weights: FloatArray | None) -> Design:
        """Standardise columns; those of a nominal one have the identity for covariance."""
        n_samples = float(len(rows) if weights is None else weights.sum())
        shares = np.full(len(rows), 1.0 / len(rows)) if weights is None else weights / n_samples
        raw = raw_columns(rows, self.kinds, self.n_levels)
        centre = shares @ raw
        blocks, maps, start = [], [], 0
        for name, size in zip(self.names, self.n_columns, strict=True):
            part = raw[:, start : start + size] - centre[start : start + size]
            value, vector = np.linalg.eigh((part * shares[:, None]).T @ part)
            # Of numbers, what differs by more than rounding; of levels, all but their sum.
            least = (ROUNDING * centre[start]) ** 2 if size == 1 else 1e-12
            is_kept = value > least
            if not is_kept.any():
                raise InputError("constant_in_part", name=name)
            own = vector[:, is_kept] / np.sqrt(value[is_kept])
            maps.append(np.abs(own) if size == 1 else own)
            blocks.append(part @ maps[-1])
            start += size
        columns = np.ascontiguousarray(np.hstack(blocks).T)
        return Design(
            coding=self,
            rows=rows,
            columns=columns,
            starts=np.cumsum([0, *(block.shape[1] for block in blocks)]),
            maps=tuple(maps),
            centre=centre,
            gram=(columns * shares) @ columns.T,
            shares=shares,
            n_samples=n_samples,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """Columns that all regressions share.

    Attributes
    ----------
    rows : ndarray of shape (n, p)
        Numbers, scores of ordinal columns and level numbers.
    columns : ndarray of shape (d, n)
        Standardised; those from ``starts[i]`` to ``starts[i + 1]`` are of column i.
    maps : tuple of ndarray
        What raw columns less ``centre`` are multiplied by, for each column.
    gram : ndarray of shape (d, d)
        Second moments of ``columns``.
    shares : ndarray of shape (n,)
        Weights of the rows, which add up to 1.
    n_samples : float
        Rows, or the sum of their weights.
    """

    coding: Coding
    rows: FloatArray
    columns: FloatArray
    starts: IntArray
    maps: tuple[FloatArray, ...]
    centre: FloatArray
    gram: FloatArray
    shares: FloatArray
    n_samples: float

    @property
    def location(self) -> FloatArray:
        """Mean of each column; of the level numbers of a nominal one."""
        return np.asarray(self.shares @ self.rows)

    @property
    def scale(self) -> FloatArray:
        """Standard deviation of each column."""
        return np.asarray(np.sqrt(self.shares @ (self.rows - self.location) ** 2))

    def smallest_p_value(self) -> float:
        """Test whether any two columns depend, corrected for the number of pairs by Bonferroni.

        Of a nominal column each level is tested by itself.
        """
        coding = self.coding
        raw = raw_columns(self.rows, coding.kinds, coding.n_levels)
        owner = np.repeat(np.arange(len(coding.kinds)), coding.n_columns)
        scores = PairScores(values=raw, weights=self.shares * self.n_samples)
        return scores.smallest_p_value(owner[:, None] != owner)

    def refuse_equivalent(self) -> None:
        """Refuse two columns of which each can be computed from the other."""
        for j in range(1, len(self.maps)):
            own = slice(self.starts[j], self.starts[j + 1])
            for i in range(j):
                other = slice(self.starts[i], self.starts[i + 1])
                block = self.gram[own, other]
                if block.shape[0] == block.shape[1] and np.linalg.norm(block) >= PERFECT * np.sqrt(
                    len(block)
                ):
                    names = quote_names((self.coding.names[i], self.coding.names[j]))
                    raise InputError("columns_identical_up_to_scale", names=names)


@dataclass(frozen=True, kw_only=True, eq=False)
class PosedColumn:
    """The regression of one column on all others.

    Attributes
    ----------
    column : int
    design : Design
    regression : Regression
    present : ndarray of int
        Levels of a nominal column that occur in these rows.
    """

    column: int
    design: Design
    regression: Regression
    present: IntArray


@dataclass(frozen=True, kw_only=True)
class ColumnProblem:
    """Regression of one column as a `PathProblem`."""

    coding: Coding
    column: int
    tol: float
    max_iter: int
    decide: float = 0.0

    def summarize(self, rows: FloatArray, weights: FloatArray | None) -> PosedColumn:
        """Pose the regression for some rows."""
        return self.pose(self.coding.design(rows, weights))

    def pose(self, design: Design) -> PosedColumn:
        """Pose the regression; the column itself is left out by an infinite weight."""
        family = FAMILY[self.coding.kinds[self.column]]
        y, shares = design.rows[:, self.column], design.shares
        present = np.arange(1)
        if family == GAUSSIAN:
            response = design.columns[design.starts[self.column]][None]
        elif family == MULTINOMIAL:
            present = np.unique(y[shares > 0]).astype(np.int64)
            response = (y == present[:, None]).astype(np.float64)
        else:
            response = y[None].copy()
        mean = response @ shares
        scale = np.sqrt(float(np.sum((response - mean[:, None]) ** 2 @ shares)))
        weights = scale * np.sqrt(np.diff(design.starts))
        weights[self.column] = np.inf
        regression = Regression(
            columns=design.columns,
            centre=np.zeros(len(design.columns)),
            response=response,
            family=family,
            starts=design.starts,
            group_weights=weights,
            row_weights=shares,
            gram=design.gram,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return PosedColumn(
            column=self.column, design=design, regression=regression, present=present
        )

    def largest_alpha(self, posed: PosedColumn) -> float:
        """Return the smallest alpha for which the column has no neighbour."""
        return posed.regression.largest_alpha()

    def solve_path(self, posed: PosedColumn, alphas: FloatArray) -> Iterator[ColumnFit]:
        """Yield one fit per alpha, each started from the one before."""
        for solution in posed.regression.solve_path(alphas, decide=self.decide):
            yield ColumnFit(solution=solution, posed=posed)

    def score(self, fit: ColumnFit, rows: FloatArray, weights: FloatArray | None) -> float:
        """Return the mean log-likelihood of the column in other rows."""
        coding, j = self.coding, self.column
        coef, intercept = fit.raw
        eta = raw_columns(rows, coding.kinds, coding.n_levels) @ coef + intercept
        family, y = FAMILY[coding.kinds[j]], rows[:, j]
        if family == MULTINOMIAL:
            if not np.isin(y, fit.posed.present).all():
                raise InputError("level_only_held_out", name=coding.names[j])
            y = np.searchsorted(fit.posed.present, y).astype(np.float64)
        return float(
            np.average(log_likelihood(family, eta, y, fit.noise_variance), weights=weights)
        )

    def gap_warning(self, fit: ColumnFit) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        return ConvergenceWarning(
            "column_gap_above_tol", n_iter=fit.solution.n_iter, gap=fit.solution.gap, tol=self.tol
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnFit:
    """The regression of one column at one alpha."""

    solution: RegressionSolution
    posed: PosedColumn

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @cached_property
    def adjacency(self) -> BoolArray:
        """Which columns the regression has."""
        used = self.solution.value.any(axis=1)
        return np.logical_or.reduceat(used, self.posed.design.starts[:-1])

    @property
    def n_edges(self) -> int:
        """Number of columns that the regression has."""
        return int(self.adjacency.sum())

    @property
    def is_complete(self) -> bool:
        """Whether it has all others."""
        return bool(self.n_edges == len(self.adjacency) - 1)

    @property
    def n_predictors(self) -> int:
        """Number of linear predictors that are free."""
        return max(int(self.solution.value.shape[1]) - 1, 1)

    def ebic(self, gamma: float) -> float:
        """Return -2 l + k log n + 2 gamma g log p, for k coefficients of g columns."""
        regression, design = self.posed.regression, self.posed.design
        likelihood = -self.solution.loss
        if regression.family == GAUSSIAN:
            likelihood = -0.5 * (np.log(4 * np.pi * self.solution.loss) + 1.0)
        n_coefficients = int(np.diff(design.starts) @ self.adjacency) * self.n_predictors
        n, p = design.n_samples, len(self.adjacency)
        # The criterion of a graph counts the logarithm of its nodes four times per edge.
        price = 2.0 * gamma * self.n_edges * np.log(p)
        return ebic(n * likelihood, n_coefficients, n, p, 0.0) + float(price)

    @cached_property
    def raw(self) -> tuple[FloatArray, FloatArray]:
        """Coefficients of raw columns and intercepts, in the units of the data."""
        design, j = self.posed.design, self.posed.column
        parts = [
            own @ self.solution.value[design.starts[k] : design.starts[k + 1]]
            for k, own in enumerate(design.maps)
        ]
        coef = np.vstack(parts)
        intercept = self.solution.intercept - design.centre @ coef
        if self.posed.regression.family == GAUSSIAN:
            coef = coef * design.scale[j]
            intercept = design.location[j] + design.scale[j] * intercept
        return coef, intercept

    @property
    def noise_variance(self) -> float:
        """Residual variance in the units of the data; 1 for families without one."""
        if self.posed.regression.family != GAUSSIAN:
            return 1.0
        return float(2.0 * self.solution.loss * self.posed.design.scale[self.posed.column] ** 2)

    @property
    def effects(self) -> FloatArray:
        """Standardised effect of each other column: of numbers with a sign, else a length.

        What the linear predictor gains with a standard deviation of the other, over the standard
        deviation of the column on the scale of the predictor: that of the predictor and of the
        noise of its family, as of a latent variable. Of several levels it is the root mean square.
        """
        regression, design = self.posed.regression, self.posed.design
        B, mean = self.solution.value, regression.response @ regression.row_weights
        variance = np.sum(B * (design.gram @ B), axis=0)
        if regression.family == GAUSSIAN:
            variance[:] = 1.0
        elif regression.family == BINARY:
            variance += np.pi**2 / 3
        elif regression.family == POISSON:
            variance += np.log1p(1.0 / mean)
        else:
            # Of the utility of a level, less the mean of all.
            variance += np.pi**2 / 6 * (1.0 - 1.0 / len(mean))
        square = np.add.reduceat(np.mean(B**2 / variance, axis=1), design.starts[:-1])
        sign = np.sign(B[design.starts[:-1]].sum(axis=1)) if B.shape[1] == 1 else 1.0
        return np.asarray(np.where(np.diff(design.starts) == 1, sign, 1.0) * np.sqrt(square))

    @property
    def predictability(self) -> tuple[float, float]:
        """Share of the column that is predicted, and the share without any other column."""
        regression, design, j = self.posed.regression, self.posed.design, self.posed.column
        if regression.family == GAUSSIAN:
            return 1.0 - 2.0 * self.solution.loss, 0.0
        y, shares = design.rows[:, j], design.shares
        mean = float(shares @ y)
        if regression.family == POISSON:
            best = float(shares @ (y - y * np.log(np.maximum(y, 1.0))))
            return 1.0 - (self.solution.loss - best) / (mean - mean * np.log(mean) - best), 0.0
        B, b = self.solution.value, self.solution.intercept
        eta = design.columns.T @ B + b
        if regression.family == BINARY:
            return float(shares @ ((eta[:, 0] > 0) == (y > 0.5))), max(mean, 1.0 - mean)
        hit = regression.response[eta.argmax(axis=1), np.arange(len(y))]
        return float(shares @ hit), float((regression.response @ shares).max())


@dataclass(frozen=True, kw_only=True, eq=False)
class PosedTable:
    """The pairwise model of all columns, and the regressions that it consists of."""

    columns: tuple[PosedColumn, ...]
    pairwise: Pairwise


@dataclass(frozen=True, kw_only=True)
class JointProblem:
    """Pseudo-likelihood of all columns together as a `PathProblem`."""

    coding: Coding
    tol: float
    max_iter: int

    @property
    def problems(self) -> list[ColumnProblem]:
        """The regressions of the columns."""
        return [
            ColumnProblem(coding=self.coding, column=j, tol=self.tol, max_iter=self.max_iter)
            for j in range(len(self.coding.names))
        ]

    def summarize(self, rows: FloatArray, weights: FloatArray | None) -> PosedTable:
        """Pose the problem for some rows."""
        return self.pose(self.coding.design(rows, weights))

    def pose(self, design: Design) -> PosedTable:
        """Pose the problem: pairs share what their regressions have apart."""
        columns = tuple(problem.pose(design) for problem in self.problems)
        maps = [
            np.ones((1, 1)) if posed.regression.family == GAUSSIAN else own[posed.present]
            for own, posed in zip(design.maps, columns, strict=True)
        ]
        pairwise = Pairwise(
            columns=design.columns,
            starts=design.starts,
            families=tuple(posed.regression.family for posed in columns),
            responses=tuple(posed.regression.response for posed in columns),
            maps=tuple(maps),
            row_weights=design.shares,
            tol=self.tol * len(columns),
            max_iter=self.max_iter,
        )
        return PosedTable(columns=columns, pairwise=pairwise)

    def largest_alpha(self, posed: PosedTable) -> float:
        """Return the smallest alpha for which no pair is joined."""
        return posed.pairwise.largest_alpha()

    def solve_path(self, posed: PosedTable, alphas: FloatArray) -> Iterator[JointFit]:
        """Yield one fit per alpha, each started from the one before."""
        for solution in posed.pairwise.solve_path(alphas):
            yield JointFit(solution=solution, posed=posed)

    def score(self, fit: JointFit, rows: FloatArray, weights: FloatArray | None) -> float:
        """Return the mean log pseudo-likelihood of other rows."""
        pairs = zip(self.problems, fit.fits, strict=True)
        return sum(problem.score(own, rows, weights) for problem, own in pairs)

    def gap_warning(self, fit: JointFit) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        return ConvergenceWarning(
            "columns_gap_above_tol", gap=fit.solution.gap, tol=self.tol, n_fits=len(fit.fits)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class JointFit:
    """The pairwise model at one alpha."""

    solution: PairwiseSolution
    posed: PosedTable

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @cached_property
    def fits(self) -> list[ColumnFit]:
        """The regression of each column, with an equal share of the gap."""
        solution, pairwise = self.solution, self.posed.pairwise
        fits = []
        for j, posed in enumerate(self.posed.columns):
            own = slice(pairwise.starts[j], pairwise.starts[j + 1])
            regression = RegressionSolution(
                value=solution.value[:, own] @ pairwise.maps[j].T / solution.precision[j],
                intercept=pairwise.maps[j] @ solution.intercept[own] / solution.precision[j],
                loss=float(solution.losses[j]),
                objective=solution.objective,
                gap=solution.gap / len(pairwise.families),
                n_iter=solution.n_iter,
                converged=solution.converged,
            )
            fits.append(ColumnFit(solution=regression, posed=posed))
        return fits

    @cached_property
    def adjacency(self) -> BoolArray:
        """Which pairs are joined."""
        return np.column_stack([fit.adjacency for fit in self.fits])

    @property
    def n_edges(self) -> int:
        """Number of pairs that are joined."""
        return int(self.adjacency.sum()) // 2

    @property
    def is_complete(self) -> bool:
        """Whether all pairs are joined."""
        return bool(self.adjacency.sum() == self.adjacency.size - len(self.adjacency))

    def ebic(self, gamma: float) -> float:
        """Return the sum of the criteria of the regressions: each pair counts in both."""
        return sum(fit.ebic(gamma) for fit in self.fits)
