"""Bayesian networks of columns with levels: problems for the searches, and PC by counts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.solvers.directed.blankets import MOST_TESTS
from edgewise.solvers.directed.partial_correlation import check_test
from edgewise.solvers.directed.scores import (
    MOST_PARENTS,
    PARENTS_PER_ROW,
    Cells,
    Score,
    ScoredProblem,
    as_arcs,
    count_cells,
    intrinsic_order,
    set_score,
)
from edgewise.solvers.directed.separation import SkeletonSolution, may_precede

#: Decimals of the logarithm of a p-value that rounding leaves alone.
DECIMALS = 8
#: Fewer rows per cell tell nothing about independence: such a test is not done.
ROWS_PER_CELL = 5.0


class LevelTable(NamedTuple):
    """Columns with levels, or some with levels and others with numbers.

    Attributes
    ----------
    codes : ndarray of int32, shape (m, n)
        Level of each row, from 0, by column; 0 for numbers.
    n_levels : ndarray of int, shape (m,)
        Levels of each column; 0 for numbers.
    values : ndarray of shape (m, n)
        Standardised numbers; 0 for levels.
    weight : ndarray of shape (n,)
        Of each row.
    is_set : ndarray of bool, shape (m, n) or (0, 0)
        Rows in which a column was set from outside.
    """

    codes: AnyArray
    n_levels: IntArray
    values: FloatArray
    weight: FloatArray
    is_set: BoolArray

    @classmethod
    def from_rows(
        cls,
        rows: FloatArray,
        n_levels: IntArray,
        weight: FloatArray | None = None,
        is_set: BoolArray | None = None,
    ) -> LevelTable:
        """Take level numbers and numbers row by row; equal rows of levels alone count together."""
        weight = np.ones(len(rows)) if weight is None else weight
        if is_set is None and (n_levels > 0).all():
            rows, place = np.unique(rows, axis=0, return_inverse=True)
            weight = np.bincount(place.reshape(-1), weights=weight).astype(np.float64)
        is_number = n_levels == 0
        values = np.where(is_number, rows, 0.0)
        values -= np.average(values, axis=0, weights=weight)
        scale = np.sqrt(np.average(values**2, axis=0, weights=weight))
        values /= np.where(is_number, scale, 1.0)
        values[:, ~is_number] = 0.0
        return cls(
            codes=np.ascontiguousarray(np.where(is_number, 0, rows).T, dtype=np.int32),
            n_levels=n_levels.astype(np.int64),
            values=np.ascontiguousarray(values.T),
            weight=weight.astype(np.float64),
            is_set=(
                np.empty((0, 0), dtype=bool) if is_set is None else np.ascontiguousarray(is_set.T)
            ),
        )

    @property
    def n_samples(self) -> float:
        """Number of rows, or the sum of their weights."""
        return float(self.weight.sum())

    def cells(self, *, per_parameter: float = 0.0, ess: float = 0.0) -> Cells:
        """Say how sets of the columns are scored; by default by their largest likelihood."""
        return Cells(*self, per_parameter, ess, max(self.n_samples, float(self.n_levels.max())))

    def arranged(self, place: IntArray) -> LevelTable:
        """Put column ``place[k]`` at position k."""
        is_set = self.is_set[place] if len(self.is_set) else self.is_set
        return LevelTable(
            self.codes[place], self.n_levels[place], self.values[place], self.weight, is_set
        )


@kernel
def pair_scores(cells: Cells, strength: FloatArray) -> None:
    """Set by how much pairs of columns are more likely together than alone, or one by itself."""
    members = np.empty(2, np.int64)
    for i in range(len(strength)):
        members[0] = i
        strength[i, i] = set_score(cells, members, 1, i)
    for i in range(len(strength)):
        for j in range(i):
            members[0], members[1] = i, j
            both = set_score(cells, members, 2, i) - strength[i, i] - strength[j, j]
            strength[i, j], strength[j, i] = both, both


def table_problem(
    table: LevelTable,
    score: str,
    penalty_discount: float | None,
    ess: float,
    allowed: ArrayLike | None,
    required: ArrayLike | None,
    told: BoolArray | None = None,
) -> ScoredProblem:
    """Pose the search for a network of columns with levels.

    ``score`` is ``"bic"``, with ``penalty_discount`` 1 by default, or anything else for the
    marginal likelihood: BDeu with ``ess`` rows, and BGe for the numbers in each configuration.
    """
    m, n = len(table.n_levels), table.n_samples
    arcs = as_arcs(allowed, required, m, told)
    strength = np.empty((m, m))
    pair_scores(table._replace(is_set=np.empty((0, 0), dtype=bool)).cells(), strength)
    place = intrinsic_order(strength / n)
    arcs, table = arcs.arranged(place), table.arranged(place)
    if score == "bic":
        discount = 1.0 if penalty_discount is None else penalty_discount
        cells = table.cells(per_parameter=0.5 * discount * np.log(n))
    else:
        cells = table.cells(ess=ess)
    for child in range(m):
        parents = np.flatnonzero(arcs.must_be[child])
        if (n_cells := count_cells(cells, parents, len(parents))) > cells.most_cells:
            raise InputError("too_many_configurations", n_cells=n_cells, n=n)
    most_required = int(arcs.must_be.sum(axis=1).max())
    most = max(min(int(n * PARENTS_PER_ROW), m - 1, MOST_PARENTS), most_required, 1)
    sizes = np.zeros((1, most + 1))
    none = np.zeros((1, 1, 1))
    which = np.zeros(m, dtype=np.int64)
    return ScoredProblem(Score(none, sizes, sizes, 0.0, which, cells), arcs, place)


@dataclass(eq=False)
class RatioTests:
    """Likelihood ratio tests of independence; of levels that is the G2 test."""

    cells: Cells
    n_tests: int = 0
    _scores: dict[tuple[int, ...], float] = field(default_factory=dict)

    def log_p(self, x: int, y: int, given: Sequence[int]) -> float | None:
        """Logarithm of the p-value of x and y given others; None if there are too few rows."""
        family = np.array([x, y, *given])
        n_rows = self.cells.weight.sum()
        n_cells = count_cells(self.cells, family, len(family))
        if given and n_cells * ROWS_PER_CELL > n_rows:
            return None
        self.n_tests += 1
        statistic, freedom = 0.0, 0.0
        for sign, members in ((1, (x, y)), (1, ()), (-1, (x,)), (-1, (y,))):
            key = tuple(sorted((*members, *given)))
            statistic += 2 * sign * self._score(key)
            freedom += sign * self._parameters(key)
        # What differs by rounding only is equal, so that ties go by the order of the columns.
        return round(float(stats.chi2.logsf(max(statistic, 0.0), freedom)), DECIMALS)

    def _score(self, members: tuple[int, ...]) -> float:
        if members not in self._scores:
            nodes = np.array(members, dtype=np.int64)
            self._scores[members] = set_score(self.cells, nodes, len(nodes), 0)
        return self._scores[members]

    def _parameters(self, members: tuple[int, ...]) -> float:
        levels = self.cells.n_levels[list(members)]
        c = np.count_nonzero(levels == 0)
        n_cells = float(np.prod(levels[levels > 0], dtype=np.float64))
        return n_cells - 1.0 + 0.5 * n_cells * c * (c + 3)


def table_skeleton(
    table: LevelTable,
    *,
    significance: float = 0.01,
    allowed: ArrayLike | None = None,
    required: ArrayLike | None = None,
) -> SkeletonSolution:
    """Find neighbours and colliders as `stable_skeleton` does, from columns with levels.

    Independence is tested by the likelihood ratio, for levels alone the G2 test. A test with fewer
    than 5 rows per cell is not done, and separates nothing.
    """
    check_test(table.n_samples, significance, None)
    m = len(table.n_levels)
    arcs = as_arcs(allowed, required, m)
    may_be, is_required = arcs.may_be.T, arcs.must_be | arcs.must_be.T
    joined = may_be | may_be.T
    precedes = may_precede(may_be)
    tests, level = RatioTests(table.cells()), float(np.log(significance))
    for size in range(m - 1):
        neighbors, parted = joined.copy(), []
        if (neighbors.sum(axis=1) - 1 < size).all():
            break
        for x, y in np.argwhere(np.triu(joined & ~is_required)).tolist():
            for given in _candidates(neighbors, precedes, x, y, size):
                found = tests.log_p(x, y, given)
                if found is not None and found > level:
                    parted.append((x, y))
                    break
        for x, y in parted:
            joined[x, y] = joined[y, x] = False
    pairs, separators = _surest_separators(tests, joined, precedes)
    colliders = _colliders(tests, level, joined & may_be, pairs, separators)
    is_member = np.zeros((len(pairs), m), dtype=bool)
    for k, given in enumerate(separators):
        is_member[k, list(given)] = True
    return SkeletonSolution(
        value=joined,
        objective=float("nan"),
        gap=float("nan"),
        n_iter=1,
        converged=True,
        pairs=np.array(pairs, dtype=np.int64).reshape(-1, 2),
        separators=is_member,
        colliders=colliders,
        n_tests=tests.n_tests,
    )


def _candidates(
    joined: BoolArray, precedes: BoolArray, x: int, y: int, size: int
) -> Iterator[tuple[int, ...]]:
    """Subsets of a size of the neighbours of either that may be an ancestor of one of the two."""
    seen: set[tuple[int, ...]] = set()
    for end in (x, y):
        is_there = joined[end] & (precedes[:, x] | precedes[:, y])
        pool = [k for k in np.flatnonzero(is_there).tolist() if k not in (x, y)]
        for given in itertools.combinations(pool, size):
            if given not in seen:
                if len(seen) >= MOST_TESTS:
                    return
                seen.add(given)
                yield given


def _surest_separators(
    tests: RatioTests, joined: BoolArray, precedes: BoolArray
) -> tuple[list[tuple[int, int]], list[tuple[int, ...]]]:
    """Find what separates best each pair that is not joined but shares a neighbour (PC-max)."""
    shares = joined.astype(float) @ joined > 0
    pairs, separators = [], []
    for x, y in np.argwhere(np.triu(shares & ~joined, 1)).tolist():
        best, chosen = -np.inf, tuple[int, ...]()
        most = int(max(joined[x].sum(), joined[y].sum()))
        for size in range(most + 1):
            for given in _candidates(joined, precedes, x, y, size):
                found = tests.log_p(x, y, given)
                if found is not None and found > best:
                    best, chosen = found, given
        pairs.append((x, y))
        separators.append(chosen)
    return pairs, separators


def _colliders(
    tests: RatioTests,
    level: float,
    arcs: BoolArray,
    pairs: Sequence[tuple[int, int]],
    separators: Sequence[tuple[int, ...]],
) -> IntArray:
    """List the common children of separated pairs, the surest first."""
    found = []
    for (x, y), given in zip(pairs, separators, strict=True):
        for z in np.flatnonzero(arcs[x] & arcs[y]).tolist():
            if z in given:
                continue
            log_p = tests.log_p(x, y, (*given, z))
            # Without enough rows for the test, what separates the pair decides.
            if log_p is None or log_p < level:
                found.append((0.0 if log_p is None else log_p, x, z, y))
    found.sort(key=lambda triple: triple[0])
    return np.array([triple[1:] for triple in found], dtype=np.int64).reshape(-1, 3)
