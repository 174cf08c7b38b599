"""Permutation engine: networks of permuted groups, and statistics of their differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.parallel import parallel_map
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import check_columns, varying_columns
from edgewise.data.labels import label_codes
from edgewise.data.table import Table
from edgewise.inference.design import (
    FEWEST_ROWS,
    Design,
    Shuffles,
    Units,
    is_decided,
    orthonormal,
    without_means,
)
from edgewise.inference.moments import Moments
from edgewise.inference.permutation import at_least
from edgewise.stats.rank import nonparanormal

#: Families of pairs, as coded in the matrix of families; 0 is for entries that do not count.
CORRELATION, MAGNITUDE, CURVE, PARTIAL = 1, 2, 3, 4
#: What is made of the standardised differences of a family.
ABSOLUTE, SQUARES, SIXTH, LARGEST, SPECTRUM = 0, 1, 2, 3, 4
N_FAMILIES, N_AGGREGATES = 5, 5
#: Powers that put each on the scale of a squared difference.
TO_SQUARES: Final = {SQUARES: 1.0, SIXTH: 1 / 3, LARGEST: 2.0, SPECTRUM: 2.0}
#: The statistics: of which family, what of it, and the weight of its p-value in the verdict. Those
#: without a weight are there to be looked at. The weights were set on simulated changes, with
#: other draws than those of docs/defaults.md.
STATISTICS: Final = {
    "correlations, largest": (CORRELATION, LARGEST, 0.0),
    "correlations, several": (CORRELATION, SIXTH, 1.0),
    "correlations, many": (CORRELATION, SQUARES, 1.0),
    "correlations, together": (CORRELATION, SPECTRUM, 1 / 2),
    "partial correlations, largest": (PARTIAL, LARGEST, 0.0),
    "partial correlations, several": (PARTIAL, SIXTH, 1.0),
    "partial correlations, many": (PARTIAL, SQUARES, 0.0),
    "magnitudes, largest": (MAGNITUDE, LARGEST, 0.0),
    "magnitudes, several": (MAGNITUDE, SIXTH, 1 / 3),
    "magnitudes, many": (MAGNITUDE, SQUARES, 0.0),
    "magnitudes, together": (MAGNITUDE, SPECTRUM, 1 / 3),
    "curves, largest": (CURVE, LARGEST, 0.0),
    "curves, several": (CURVE, SIXTH, 2 / 3),
    "curves, many": (CURVE, SQUARES, 0.0),
}
#: Least variance of a magnitude beyond a line of its score; that of a normal one is 0.36.
LEAST_MAGNITUDE: Final = 0.1
#: Rows of the smallest group from which on magnitudes and curves are compared.
ROWS_FOR_CURVES: Final = 12
#: A column whose commonest value most rows have is not compared, unless so many other rows are to
#: be expected in the smaller group: with fewer, one row more or less decides its correlations.
OTHER_ROWS: Final = 5
#: Smallest share of the identity in correlations before they are inverted, and how much of the
#: share with the least expected error is used: more of it hides links between columns that are
#: nearly the same.
LEAST_SHRINKAGE: Final = 0.01
SHRINKAGE: Final = 0.2
#: Logarithms of shares that differ by no more than this are equal.
ROUNDING: Final = 1e-9
#: Shares of the shuffles between which the tail of a statistic is drawn.
TAIL: Final = (0.15, 0.03)
#: Numbers to hold at a time.
MEMORY: Final = 2**20


class _Pairs(NamedTuple):
    """Weights that standardise the differences of a matrix, and the family of each entry."""

    weights: FloatArray
    families: IntArray


class Block(NamedTuple):
    """Statistics of some shuffles.

    Attributes
    ----------
    totals : ndarray of shape (b, N_FAMILIES, N_AGGREGATES)
        What is made of the standardised differences.
    reached : ndarray of shape (2, p, p)
        Shuffles that come up to the difference of each pair, in correlations and in partial ones.
    columns : ndarray of shape (2, p, b)
        Differences of means and of spreads between two groups; without columns for more groups.
    links : ndarray of shape (b, p)
        Squared differences of the partial correlations of each column, summed.
    strengths : ndarray of shape (b, K, p)
        Absolute partial correlations of each column in each group, summed.
    """

    totals: FloatArray
    columns: FloatArray
    reached: IntArray
    links: FloatArray
    strengths: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """What every shuffle needs; rows are in the order of ``units``.

    ``scores`` has the columns standardised within groups, and their magnitudes if there are rows
    enough; ``basis`` spans the covariates that shuffled rows are adjusted for. ``moments`` tests
    means and spreads. ``growth`` is by how much differences between shuffled groups are too small,
    in means and in all else.
    """

    units: Units
    names: tuple[str, ...]
    rare: tuple[str, ...]
    scores: FloatArray
    n_columns: int
    shrinkage: float
    correlations: _Pairs
    partial: _Pairs
    moments: Moments
    basis: FloatArray | None
    is_exact: bool
    growth: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def make(
        cls,
        table: Table,
        classes: Sequence[Any],
        member: IntArray,
        design: Design,
        *,
        ranks: bool,
        block_length: int,
    ) -> Problem:
        """Standardise the rows of each group, and weigh the pairs by all rows."""
        units = design.units(classes, member)
        given = table.values[units.order]
        covariates = design.columns(classes, member)
        covariates = None if covariates is None else covariates[units.order]
        basis = None
        if covariates is not None:
            basis = orthonormal(without_means(covariates, member[units.order]))
        adjusted = given if basis is None else given - basis @ (basis.T @ given)
        ends = np.cumsum(units.sizes)[:-1]
        parts, n_fewest = np.split(adjusted, ends), int(units.sizes.min())
        if (units.lengths > 1).any():
            scores = _cluster_scores(parts, units, ranks=ranks)
        else:
            scores = np.concatenate([_scores(part, ranks=ranks) for part in parts])
        rare = _rare_columns(table.values, n_fewest)
        scores[:, rare] = 0.0
        d = scores.shape[1]
        shrinkage = _shrinkage(scores, n_fewest)
        (precision,) = _precisions(scores[None], shrinkage)
        root = np.sqrt(np.diagonal(precision))
        extended = scores
        if n_fewest >= ROWS_FOR_CURVES:
            extended = np.concatenate([scores, _magnitudes(np.split(scores, ends))], axis=1)
        return cls(
            units=units,
            names=table.names,
            rare=tuple(table.names[k] for k in rare),
            scores=extended,
            n_columns=d,
            shrinkage=shrinkage,
            correlations=_Pairs(
                _weights(extended, _correlations(extended)), _families(d, extended.shape[1])
            ),
            partial=_Pairs(
                _weights(scores @ precision / root, precision / np.outer(root, root)),
                np.triu(np.full((d, d), PARTIAL), 1),
            ),
            moments=Moments.make(given, covariates, units),
            # Residuals of units with other numbers of rows do not fit into each other's places.
            basis=basis if units.is_even else None,
            # Residuals have more arrangements than labels.
            is_exact=design.covariates is None,
            growth=_growth(np.split(scores, ends), block_length),
        )

    @property
    def squares(self) -> dict[int, slice]:
        """Scores whose correlations with each other are a family."""
        d, q = self.n_columns, self.scores.shape[1]
        both = {CORRELATION: slice(0, d), MAGNITUDE: slice(d, q)}
        return both if q > d else {CORRELATION: both[CORRELATION]}

    def as_given(self) -> Shuffles:
        """Return the rows as a shuffle that leaves all in their places."""
        return self.units.as_given

    @cached_property
    def observed(self) -> tuple[FloatArray, FloatArray]:
        """Correlations, and partial ones, of the groups: arrays of shape (K, p, p)."""
        correlations, partial = self.networks(self.as_given(), is_given=True)
        d = self.n_columns
        return correlations[:, 0, :d, :d], partial[:, 0]

    def differences(self, first: int, second: int) -> FloatArray:
        """Differences between two groups over standard errors, (2, p, p): also partial ones."""
        d, sizes = self.n_columns, self.units.sizes
        error = np.sqrt(1 / sizes[first] + 1 / sizes[second])
        pairs = zip(self.observed, (self.correlations, self.partial), strict=True)
        return np.stack(
            [
                (found[second] - found[first]) * weights[:d, :d] / error
                for found, (weights, _) in pairs
            ]
        )

    @cached_property
    def spread(self) -> FloatArray:
        """Root of the sum of squared differences between all groups, of shape (2, p, p)."""
        sizes = self.units.sizes
        total = np.zeros((2, self.n_columns, self.n_columns))
        for k in range(len(sizes)):
            for m in range(k + 1, len(sizes)):
                total += (sizes[k] + sizes[m]) / sizes.sum() * self.differences(k, m) ** 2
        return np.sqrt(total)

    @cached_property
    def dealt(self) -> FloatArray:
        """Scores that shuffles deal out."""
        return self.units.spread_out(self.scores)

    def networks(
        self, shuffles: Shuffles, *, is_given: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Correlations, and partial ones, of shape (K, b, ., .), in the groups of shuffles."""
        values = (self.scores if is_given else self.dealt)[shuffles.orders]
        if self.basis is not None:
            values -= self.basis @ (self.basis.T @ values)
        found = []
        for unit in _groups(values, shuffles.sizes):
            precisions = _precisions(unit[:, :, : self.n_columns], self.shrinkage)
            root = np.sqrt(np.diagonal(precisions, axis1=1, axis2=2))
            partial = -precisions / (root[:, :, None] * root[:, None, :])
            found.append((_correlations(unit), partial))
        correlations, partials = (np.stack(networks) for networks in zip(*found, strict=True))
        if not is_given and self.growth[1] != 1.0:
            shares = (shuffles.sizes / shuffles.sizes.sum(axis=1, keepdims=True)).T
            for networks in (correlations, partials):
                mean = np.einsum("kb,kbij->bij", shares, networks)
                networks += (self.growth[1] - 1.0) * (networks - mean)
        return correlations, partials


def _magnitudes(parts: Sequence[FloatArray]) -> FloatArray:
    """Magnitudes of scores, without what is a line of the scores themselves.

    Of two levels they are such a line, which rises or falls by which level is the rarer one: the
    shares of the groups would count as a difference of their networks.
    """
    found, shares = [], []
    for Z in parts:
        size = np.abs(Z) - np.abs(Z).mean(axis=0)
        square = (Z**2).sum(axis=0)
        slope = (size * Z).sum(axis=0) / np.where(square > 0, square, 1.0)
        found.append(size - slope * Z)
        shares.append(found[-1].var(axis=0))
    rows = np.concatenate(found)
    rows[:, np.min(shares, axis=0) < LEAST_MAGNITUDE] = 0.0
    return _unit(rows)


def _groups(values: FloatArray, sizes: IntArray) -> list[FloatArray]:
    """Split rows into groups with unit columns; those of different sizes are filled up with 0."""
    if (sizes == sizes[0]).all():
        return [_unit(part) for part in np.split(values, np.cumsum(sizes[0])[:-1], axis=1)]
    n, ends = values.shape[1], np.cumsum(sizes, axis=1)
    found = []
    for size, end in zip(sizes.T, ends.T, strict=True):
        places = np.arange(size.max())
        rows = np.minimum((end - size)[:, None] + places, n - 1)
        is_there = (places < size[:, None])[:, :, None]
        found.append(
            _unit(np.take_along_axis(values, rows[:, :, None], axis=1) * is_there, is_there)
        )
    return found


def _growth(groups: Sequence[FloatArray], block_length: int) -> tuple[float, float]:
    r"""Return how much further apart groups of rows in time are than those of their blocks.

    Shuffles cut what rows of one block have in common with those of the next. The variance of a
    mean of values with autocorrelations :math:`r^k`, times their number :math:`b`, is
    :math:`(1 + r) / (1 - r)` times

    .. math:: 1 - \frac{2 r (1 - r^b)}{b (1 - r^2)},

    which is smaller for the rows of a block than for those of a group. Columns have
    :math:`r = \rho`, their mean autocorrelation at lag 1, and products of two about
    :math:`\rho^2`.
    """
    if block_length == 1:
        return 1.0, 1.0
    lagged = sum(np.sum(rows[1:] * rows[:-1], axis=0) for rows in groups)
    squares = np.sum([np.sum(rows * rows, axis=0) for rows in groups], axis=0)
    is_there = squares > 0.0
    if not is_there.any():
        return 1.0, 1.0
    n_fewest = min(map(len, groups))
    rho = float(np.mean((lagged / np.where(is_there, squares, 1.0))[is_there]))
    # The autocorrelation of n rows is too small by (1 + 3 rho) / n (Kendall 1954).
    rho = float(np.clip((n_fewest * rho + 1.0) / (n_fewest - 3.0), 0.0, 0.99))

    def share(r: float, length: int) -> float:
        return 1.0 - 2.0 * r * (1.0 - r**length) / (length * (1.0 - r * r))

    means, networks = (np.sqrt(share(r, n_fewest) / share(r, block_length)) for r in (rho, rho**2))
    return float(means), float(networks)


def pose(
    X: Any, y: Any, design: Design | None, *, ranks: bool, block_length: int
) -> tuple[Problem, tuple[Any, ...]]:
    """Check rows, labels and design, and prepare their comparison; also return the labels."""
    table = Table.from_input(X)
    table.refuse_text()
    check_columns(table.values, table.names, kinds=table.kinds, allow_identical=True)
    classes, member = label_codes(y, len(table.values))
    if len(classes) == 1:
        raise InputError("one_group", label=classes[0])
    _check_rows(table, classes, np.bincount(member), block_length)
    if block_length > 1 and design is not None:
        raise InputError("block_length_with_design")
    problem = Problem.make(
        table, classes, member, design or Design(), ranks=ranks, block_length=block_length
    )
    return problem, tuple(classes)


def _check_rows(table: Table, classes: Sequence[Any], sizes: IntArray, block_length: int) -> None:
    """Raise where there are too few rows, runs of rows or columns to compare."""
    if block_length < 1:
        raise InputError("block_length_at_least_one", block_length=block_length)
    if table.n_features < 2:
        raise InputError("change_needs_columns")
    for label, size in zip(classes, sizes.tolist(), strict=True):
        if block_length > 1 and size < FEWEST_ROWS * block_length:
            raise InputError(
                "too_few_blocks",
                label=label,
                size=size,
                fewest_rows=FEWEST_ROWS,
                block_length=block_length,
                size2=max(size // FEWEST_ROWS, 1),
            )
        if size < FEWEST_ROWS:
            raise InputError(
                "too_few_rows_to_test",
                label=label,
                size=size,
                size2="s" * (size != 1),
                fewest_rows=FEWEST_ROWS,
            )


def shuffle(
    problem: Problem,
    n_permutations: int,
    *,
    block_length: int,
    risk: float | None,
    n_jobs: int | None,
    random_state: RandomState,
    verbose: int,
) -> list[Block]:
    """Compare the groups as they are, first, and those of shuffles.

    With a ``risk``, shuffles end once the verdict is decided: after 1, 2, 4, ... of their blocks.
    """
    if n_permutations < 1:
        raise InputError("n_permutations_range", n_permutations=n_permutations)
    if risk is not None and not 0 < risk < 1:
        raise InputError("risk_range", risk=risk)
    least = at_least(problem.spread)
    deals = problem.units.deals(
        n_permutations,
        random_state,
        block_length=block_length,
        is_exact=problem.is_exact,
    )
    ends = [len(deals)]
    if risk is not None:
        ends = [*(2**k for k in range(len(deals).bit_length()) if 2**k < len(deals)), len(deals)]
    todo: list[Callable[[], Shuffles]] = [problem.as_given, *deals]
    blocks: list[Block] = []
    for end in ends:
        blocks += parallel_map(
            _compare,
            [(problem, least, deal) for deal in todo[len(blocks) : 1 + end]],
            n_jobs=n_jobs,
            description="Comparison of networks",
            verbose=verbose,
        )
        if risk is not None:
            pvalue, _, evidence = verdict(joined_totals(blocks))
            n = len(evidence) - 1
            if is_decided(round(pvalue * (n + 1)) - 1, n, risk):
                break
    return blocks


def joined_totals(blocks: Sequence[Block]) -> FloatArray:
    """Totals of all shuffles, after those of the groups as they are."""
    totals: FloatArray = np.abs(np.concatenate([block.totals for block in blocks]))
    return totals


def _compare(problem: Problem, least: FloatArray, deal: Callable[[], Shuffles]) -> Block:
    """Compare the groups of some shuffles, as many at a time as fit into memory."""
    orders, sizes = deal()
    is_given = deal == problem.as_given
    (n, q), d, n_groups = problem.scores.shape, problem.n_columns, sizes.shape[1]
    size = max(MEMORY // (n * q + 2 * n_groups * q * q), 1)
    totals = np.zeros((len(orders), N_FAMILIES, N_AGGREGATES))
    reached = np.zeros((2, d, d), dtype=np.int64)
    columns = np.empty((2, d if n_groups == 2 else 0, len(orders)))
    links = np.zeros((2, len(orders), q))
    strengths = np.empty((len(orders), n_groups, d))
    for start in range(0, len(orders), size):
        part = slice(start, start + size)
        shuffles = Shuffles(orders[part], sizes[part])
        found = problem.networks(shuffles, is_given=is_given)
        counts = shuffles.sizes.astype(np.float64)
        for k, pairs in enumerate((problem.correlations, problem.partial)):
            _summarize(found[k], counts, *pairs, least[k], totals[part], reached[k], links[k, part])
        for family, block in problem.squares.items():
            weights = problem.correlations.weights[block, block]
            totals[part, family, SPECTRUM] = _spectrum(
                found[0][:, :, block, block], counts, weights
            )
        strengths[part] = (np.abs(found[1]).sum(axis=3) - 1.0).swapaxes(0, 1)
        if n_groups == 2:
            growth = (1.0, 1.0) if is_given else problem.growth
            columns[:, :, part] = problem.moments.tests(shuffles, is_given=is_given) * np.reshape(
                growth, (2, 1, 1)
            )
    return Block(
        totals=totals,
        columns=columns,
        reached=reached,
        links=links[1, :, :d],
        strengths=strengths,
    )


def _spectrum(networks: FloatArray, sizes: FloatArray, weights: FloatArray) -> FloatArray:
    """Schatten norms of the differences of the groups from their mean, together.

    For two groups, all differences are multiples of one matrix.
    """
    shares = (sizes / sizes.sum(axis=1, keepdims=True)).T[:, :, None, None]
    if len(networks) == 2:
        scale: FloatArray = np.sqrt(sizes.prod(axis=1) / sizes.sum(axis=1))
        return _schatten((networks[1] - networks[0]) * weights) * scale
    mean = (networks * shares).sum(axis=0)
    parts = [
        _schatten((network - mean) * weights * np.sqrt(size)[:, None, None])
        for network, size in zip(networks, sizes.T, strict=True)
    ]
    norm: FloatArray = (np.stack(parts) ** 8).sum(axis=0) ** (1 / 8)
    return norm


def _schatten(symmetric: FloatArray) -> FloatArray:
    """Eighth root of the sum of the eighth powers of the eigenvalues, by products alone."""
    symmetric[:, np.arange(symmetric.shape[1]), np.arange(symmetric.shape[1])] = 0.0
    fourth = symmetric @ symmetric
    fourth = fourth @ fourth
    norm: FloatArray = (fourth**2).sum(axis=(1, 2)) ** (1 / 8)
    return norm


@kernel
def _summarize(
    networks: FloatArray,
    sizes: FloatArray,
    weights: FloatArray,
    families: IntArray,
    least: FloatArray,
    totals: FloatArray,
    reached: IntArray,
    links: FloatArray,
) -> None:
    """Add up the standardised differences of each family, and count those that come up to some.

    The squared difference of K groups is the sum of the squares between them in an analysis of
    variance, as a sum over pairs of groups, which nothing cancels in.
    """
    n_groups = networks.shape[0]
    for b in range(networks.shape[1]):
        n_rows = sizes[b].sum()
        for i in range(networks.shape[2]):
            for j in range(networks.shape[3]):
                family = families[i, j]
                if family == 0:
                    continue
                square = 0.0
                for k in range(n_groups):
                    for m in range(k + 1, n_groups):
                        difference = (networks[m, b, i, j] - networks[k, b, i, j]) * weights[i, j]
                        square += sizes[b, k] * sizes[b, m] / n_rows * difference * difference
                size = np.sqrt(square)
                totals[b, family, ABSOLUTE] += size
                totals[b, family, SQUARES] += square
                totals[b, family, SIXTH] += square * square * square
                links[b, i] += square
                links[b, j] += square
                if size > totals[b, family, LARGEST]:
                    totals[b, family, LARGEST] = size
                if family in (CORRELATION, PARTIAL) and size >= least[i, j]:
                    reached[i, j] += 1


def _rare_columns(values: FloatArray, n_fewest: int) -> IntArray:
    """Columns that vary in too few rows to be compared."""
    n = len(values)
    commonest = np.array([np.unique(column, return_counts=True)[1].max() for column in values.T])
    is_rare = (2 * commonest > n) & ((n - commonest) * n_fewest < OTHER_ROWS * n)
    return np.flatnonzero(is_rare)


def _families(n_columns: int, n_scores: int) -> IntArray:
    """Code what each correlation between columns and magnitudes is of; every pair counts once."""
    families = np.full((n_scores, n_scores), CURVE)
    families[:n_columns, :n_columns] = CORRELATION
    families[n_columns:, n_columns:] = MAGNITUDE
    families[np.tril_indices(n_scores)] = 0
    # A column and its own magnitude are no pair.
    np.fill_diagonal(families[:, n_columns:], 0)
    return families


def _scores(rows: FloatArray, *, ranks: bool) -> FloatArray:
    """Columns of one group, centred and scaled; 0 where one does not vary."""
    scores = np.zeros_like(rows)
    varies = varying_columns(rows)
    taken = nonparanormal(rows[:, varies]) if ranks else rows[:, varies]
    scores[:, varies] = _unit(taken)
    return scores


def _cluster_scores(parts: Sequence[FloatArray], units: Units, *, ranks: bool) -> FloatArray:
    """Columns of all groups, centred and scaled within each, every cluster with the same weight.

    Row by row, the largest clusters would pull the mean of their group to themselves, and vary less
    in other groups than in their own. Ranks within a few clusters follow those as closely, so that
    ranks are over all groups.
    """
    shares = np.split(np.repeat(1 / units.lengths, units.lengths), np.cumsum(units.sizes)[:-1])

    def standardized(groups: Sequence[FloatArray]) -> FloatArray:
        found = []
        for rows, weights in zip(groups, shares, strict=True):
            centred = rows - np.average(rows, axis=0, weights=weights)
            spread = np.sqrt(np.average(centred**2, axis=0, weights=weights))
            found.append(centred / np.where(varying_columns(rows), spread, 1.0))
        return np.concatenate(found)

    scores = standardized(parts)
    if not ranks:
        return scores
    ranked = _scores(scores, ranks=True)
    return standardized(np.split(ranked, np.cumsum(units.sizes)[:-1]))


def _unit(rows: FloatArray, is_there: BoolArray | None = None) -> FloatArray:
    """Centre columns and give them unit variance, or leave them at 0.

    Rows that fill up a group, where ``is_there`` is False, are 0 before and after.
    """
    if is_there is None:
        centred = rows - rows.mean(axis=-2, keepdims=True)
    else:
        counts = is_there.sum(axis=-2, keepdims=True)
        centred = (rows - rows.sum(axis=-2, keepdims=True) / counts) * is_there
    spread = np.sqrt((centred**2).mean(axis=-2, keepdims=True))
    # What is left of a constant column is rounding.
    is_flat = spread <= 1e-10 * (np.abs(rows).max(axis=-2, keepdims=True) + 1e-300)
    unit: FloatArray = np.where(is_flat, 0.0, centred / np.where(is_flat, 1.0, spread))
    return unit


def _correlations(unit: FloatArray) -> FloatArray:
    """Correlations of rows with unit columns, of shape (..., n, q)."""
    product: FloatArray = np.swapaxes(unit, -1, -2) @ unit / unit.shape[-2]
    return product


def _shrinkage(scores: FloatArray, n_rows: int) -> float:
    """Share of the identity with the least expected error in the smaller group, reduced."""
    n = len(scores)
    R = _correlations(scores)
    squares = scores**2
    off = ~np.eye(len(R), dtype=bool)
    noise = (squares.T @ squares / n - R**2)[off].sum() / n_rows
    signal = max((R[off] ** 2).sum() - noise * n_rows / n, 0.0)
    share = noise / (noise + signal) if noise > 0 else 0.0
    return float(max(SHRINKAGE * share, LEAST_SHRINKAGE))


def _precisions(unit: FloatArray, shrinkage: float) -> FloatArray:
    """Inverses of correlations mixed with the identity, of shape (b, p, p)."""
    n, d = unit.shape[1:]
    if d <= n:
        mixed = (1 - shrinkage) * _correlations(unit)
        mixed[:, np.arange(d), np.arange(d)] += shrinkage
        return np.asarray(np.linalg.inv(mixed), dtype=np.float64)
    # With fewer rows than columns, a system of the size of the rows says the same.
    rows = unit * np.sqrt((1 - shrinkage) / n)
    small = rows @ rows.swapaxes(1, 2)
    small[:, np.arange(n), np.arange(n)] += shrinkage
    inverse: FloatArray = -(rows.swapaxes(1, 2) @ np.linalg.solve(small, rows))
    inverse[:, np.arange(d), np.arange(d)] += 1.0
    return inverse / shrinkage


def _weights(unit: FloatArray, slopes: FloatArray) -> FloatArray:
    """One over the standard deviation that a row adds to every correlation of the columns.

    With columns a, b and a slope r, their correlation where columns are unit ones, a row adds
    ab - r (a^2 + b^2) / 2 to the estimate.
    """
    n, squares = len(unit), unit**2
    both, third = squares.T @ squares / n, (unit**3).T @ unit / n
    second, fourth = squares.mean(axis=0), np.diagonal(both)
    mean = _correlations(unit) - slopes * (second[:, None] + second) / 2
    variance = (
        both * (1 + slopes**2 / 2)
        + slopes**2 * (fourth[:, None] + fourth) / 4
        - slopes * (third + third.T)
        - mean**2
    )
    # Copies of a column have no variance, and no difference either.
    weights: FloatArray = 1 / np.sqrt(np.maximum(variance, 1e-6))
    return weights


def verdict(totals: FloatArray) -> tuple[float, dict[str, float], FloatArray]:
    """Hold the weighted harmonic mean of the p-values against those of the shuffles."""
    sizes = {
        name: totals[:, family, aggregate] ** TO_SQUARES[aggregate]
        for name, (family, aggregate, _) in STATISTICS.items()
        if totals[:, family, LARGEST].any()
    }
    if not sizes:
        # Nothing differs in any shuffle.
        return 1.0, dict.fromkeys(STATISTICS, 1.0), np.zeros(len(totals))
    weights = {name: STATISTICS[name][2] for name in sizes if STATISTICS[name][2]}
    evidence = np.logaddexp.reduce(
        [np.log(weight) - _log_shares(sizes[name]) for name, weight in weights.items()]
    )
    pvalue = np.mean(evidence >= evidence[0] - ROUNDING * (1 + abs(evidence[0])))
    pvalues = {name: float(np.mean(size >= at_least(size[0]))) for name, size in sizes.items()}
    scaled: FloatArray = (evidence - np.log(sum(weights.values()))) / np.log(10)
    return float(pvalue), pvalues, scaled


def _log_shares(sizes: FloatArray) -> FloatArray:
    """Logarithms of the share of sizes that are at least as large as each, itself included.

    Beyond the first share of `TAIL` they go on along a line through two quantiles, as the tail of
    a squared normal variable does. Else all largest ones would share one value, however far out
    they are, and with several statistics a good part of the shuffles are the largest in one.
    """
    shares = (len(sizes) - np.searchsorted(np.sort(sizes), at_least(sizes))) / len(sizes)
    start, end = np.quantile(sizes, [1 - share for share in TAIL])
    if end - start <= ROUNDING * end:
        return np.asarray(np.log(shares))
    steepness = np.log(TAIL[0] / TAIL[1]) / (end - start)
    line = np.log(TAIL[0]) - steepness * (sizes - start)
    found: FloatArray = np.where(sizes > start, line, np.log(shares))
    return found
