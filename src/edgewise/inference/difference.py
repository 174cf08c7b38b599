"""Whether the networks of two groups of rows differ: one p-value out of several statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.parallel import as_generator, parallel_map, spawn
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.checks import check_columns, varying_columns
from edgewise.data.labels import TwoGroups, two_groups
from edgewise.data.table import Table
from edgewise.graph import Graph
from edgewise.inference.change_test import standardized_differences
from edgewise.inference.permutation import PermutationTest, assemble_test, at_least
from edgewise.stats import nonparanormal

if TYPE_CHECKING:
    import pandas as pd

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
#: Rows of the smaller group from which on magnitudes and curves are compared, and at all.
ROWS_FOR_CURVES: Final = 12
FEWEST_ROWS: Final = 5
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
#: Blocks of shuffles, each with a random stream of its own, and numbers to hold at a time.
N_BLOCKS: Final = 32
MEMORY: Final = 2**20


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkDifference:
    """What `network_difference_test` found; p is the number of variables.

    Attributes
    ----------
    pvalue : float
        That the networks differ: the verdict, of all statistics together.
    pvalues : dict of str to float
        Of each statistic by itself.
    evidence : float
        Minus the logarithm, to base 10, of the weighted harmonic mean of the p-values.
    null_evidence : ndarray of shape (n_permutations,)
        The same of each shuffle.
    partial : PermutationTest
        Pair by pair, of partial correlations. ``observed`` holds differences, second group minus
        first, in standard errors.
    marginal : PermutationTest
        The same of correlations.
    before, after : ndarray of shape (p, p)
        Partial correlations of the first and of the second group; 0 on the diagonal.
    shrinkage : float
        Share of the identity in the correlations that were inverted.
    pvalue_means, pvalue_spreads : float
        That the mean of any column differs, and that the spread of any does: tests apart, which
        have no part in ``pvalue``.
    columns : DataFrame
        A row per column: ``column``, means (``mean_before``, ``mean_after``) with ``mean_p`` and
        ``mean_p_familywise``, and standard deviations (``spread_before``, ...) likewise.
    rare : tuple of str
        Columns that vary in too few rows to be compared; they have no part in the networks.
    classes : tuple
        Labels of the first and the second group.
    n_rows : tuple of int
        Their sizes.
    n_permutations : int
        Number of shuffles; all that there are, if those are no more than were asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.inference import network_difference_test
    >>> X = np.random.default_rng(0).normal(size=(120, 4))
    >>> X[60:] *= 3
    >>> test = network_difference_test(X, np.repeat(["before", "now"], 60), random_state=0)
    >>> test.pvalue > 0.05, test.pvalue_spreads
    (True, 0.001)
    """

    pvalue: float
    pvalues: dict[str, float]
    evidence: float
    null_evidence: FloatArray = field(repr=False)
    partial: PermutationTest = field(repr=False)
    marginal: PermutationTest = field(repr=False)
    before: FloatArray = field(repr=False)
    after: FloatArray = field(repr=False)
    shrinkage: float
    pvalue_means: float
    pvalue_spreads: float
    columns: pd.DataFrame = field(repr=False)
    rare: tuple[str, ...]
    classes: tuple[Any, Any]
    n_rows: tuple[int, int]
    n_permutations: int

    def pairs(self) -> pd.DataFrame:
        """List all pairs, those with the largest standardised difference first."""
        import pandas as pd

        names = self.partial.observed.names
        i, j = np.triu_indices(len(names), 1)
        labels = np.array(names, dtype=object)
        table = pd.DataFrame(
            {
                "source": labels[i],
                "target": labels[j],
                "before": self.before[i, j],
                "after": self.after[i, j],
                "change": self.after[i, j] - self.before[i, j],
                "standardized": self.partial.observed.weights[i, j],
                "p": self.partial.pvalues[i, j],
                "q": self.partial.qvalues[i, j],
                "p_familywise": self.partial.familywise[i, j],
            }
        )
        order = np.argsort(-np.abs(table["standardized"].to_numpy()), kind="stable")
        return table.iloc[order].reset_index(drop=True)


def network_difference_test(
    X: Any,
    y: Any,
    *,
    ranks: bool = True,
    n_permutations: int = 999,
    block_length: int = 1,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> NetworkDifference:
    r"""Test whether the networks of two groups differ, whatever kind of difference it is.

    Within each group, columns are turned into normal scores by their ranks (or centred and scaled
    only), so that neither means nor spreads count. Labels are then shuffled, and in the groups of
    each shuffle four kinds of correlations are compared: those of the columns, their partial
    correlations, correlations of magnitudes :math:`|z_i|, |z_j|`, and those of a magnitude with a
    column, :math:`|z_i|, z_j`, which see a dependence that is not linear. A difference is
    standardised by the variance :math:`v` that one row adds to the estimate [2]_, over all rows:

    .. math:: t_{ij} = \frac{r_{ij}^{\mathrm{after}} - r_{ij}^{\mathrm{before}}}
        {\sqrt{v_{ij} (1 / n_1 + 1 / n_2)}}.

    :math:`\sum t^6` sees one changed pair or a few, :math:`\sum t^2` many [3]_, and the Schatten
    norm :math:`(\operatorname{tr} T^8)^{1/8}` of the matrix :math:`T` of the :math:`t_{ij}` sees a
    block, a hub or a rise of all, which one direction of the columns explains. Each statistic
    :math:`k` has a p-value :math:`p_k` in every shuffle. Their weighted harmonic mean
    [4]_ is held against those of the shuffles [1]_, so that it needs no approximation.
    Nothing is fitted and no strength of a penalty is chosen, so that there is no choice that
    could make the test void.

    Parameters
    ----------
    X : array-like or data frame of shape (n, p)
        Rows of both groups; numbers without gaps.
    y : array-like of shape (n,)
        Labels of two groups, of any type that can be sorted.
    ranks : bool
        Turn columns into normal scores within each group. Without, a few far rows decide.
    n_permutations : int
        Number of shuffles; where there are fewer ways to deal out the labels, each is used once.
    block_length : int
        Rows that change groups together: blocks of so many consecutive rows of a group, for rows in
        order that are like the rows before them. One block of a shuffle may be cut, so that groups
        keep their sizes.
    n_jobs : int, optional
        Blocks of shuffles at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the shuffles.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    NetworkDifference

    Notes
    -----
    Shuffling tests for equal distributions, and columns standardised by estimates are not exactly
    exchangeable between the groups; `docs/defaults.md` has the share of false alarms that this
    leads to. Magnitudes and curves are left out where a group has fewer than 12 rows, and columns
    of which nearly all rows have one value (fewer than 5 others expected in a group). The
    density ratio of `edgewise.NetworkChange` starts its path at the largest difference of
    correlations, and the area under the path is half the sum of their squares, to first order:
    both are among ``pvalues``, without a fit.

    Partial correlations are those of correlations mixed with a share of the identity, chosen on
    all rows together, so that there may be more columns than rows.

    References
    ----------
    .. [1] Westfall and Young (1993). Resampling-based multiple testing. Wiley.
    .. [2] Cai and Zhang (2016). Inference for high-dimensional differential correlation matrices.
       *Journal of Multivariate Analysis* 143. https://doi.org/10.1016/j.jmva.2015.08.019
    .. [3] Xu, Lin, Wei and Pan (2016). An adaptive two-sample test for high-dimensional means.
       *Biometrika* 103(3). https://doi.org/10.1093/biomet/asw029
    .. [4] Wilson (2019). The harmonic mean p-value for combining dependent tests. *Proceedings of
       the National Academy of Sciences* 116(4). https://doi.org/10.1073/pnas.1814092116

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.inference import network_difference_test
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = np.repeat(["before", "now"], 100)
    >>> X[y == "now", 1] += X[y == "now", 0]
    >>> test = network_difference_test(X, y, random_state=0)
    >>> test.pvalue
    0.001
    >>> test.partial.significant(by="familywise").edges()[["source", "target"]]
      source target
    0     x0     x1
    """
    if n_permutations < 1:
        raise InputError(f"n_permutations must be at least 1, got {n_permutations!r}.")
    if block_length < 1:
        raise InputError(f"block_length must be at least 1, got {block_length!r}.")
    table = Table.from_input(X)
    table.refuse_text()
    check_columns(table.values, table.names, kinds=table.kinds, allow_identical=True)
    groups = two_groups(y, len(table.values))
    _check_groups(table, groups, block_length)
    problem = _Problem.make(table.values, groups, ranks=ranks)
    blocks = parallel_map(
        _compare,
        [
            (problem, at_least(np.abs(problem.differences)), deal)
            for deal in [
                problem.as_given,
                *_deals(problem, n_permutations, block_length, random_state),
            ]
        ],
        n_jobs=n_jobs,
        description="Comparison of networks",
        verbose=verbose,
    )
    return _result(problem, table, groups, blocks)


def _check_groups(table: Table, groups: TwoGroups, block_length: int) -> None:
    if table.n_features < 2:
        raise InputError("X has one column. A change of links needs at least 2 variables.")
    for label, rows in zip(groups.classes, groups.rows, strict=True):
        if block_length > 1 and len(rows) < FEWEST_ROWS * block_length:
            raise InputError(
                f"The group {label!r} has {len(rows)} rows, fewer than {FEWEST_ROWS} blocks of "
                f"{block_length}: shuffles of so few say nothing. Take a block_length of at most "
                f"{max(len(rows) // FEWEST_ROWS, 1)}."
            )
        if len(rows) < FEWEST_ROWS:
            raise InputError(
                f"The group {label!r} has {len(rows)} rows, and a test of its network needs "
                f"{FEWEST_ROWS}: shuffles of fewer say nothing."
            )


class _Pairs(NamedTuple):
    """Weights that standardise the differences of a matrix, and the family of each entry."""

    weights: FloatArray
    families: IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class _Problem:
    """What every shuffle needs; the ``n_first`` rows of the first group come first.

    ``scores`` has the columns standardised within groups, and their magnitudes if there are rows
    enough; ``columns`` and ``deviations``, of shape (p, n), the entries as they are and how far
    they lie from the median of their group.
    """

    scores: FloatArray
    n_first: int
    n_columns: int
    shrinkage: float
    correlations: _Pairs
    partial: _Pairs
    columns: FloatArray
    deviations: FloatArray

    @classmethod
    def make(cls, values: FloatArray, groups: TwoGroups, *, ranks: bool) -> _Problem:
        """Standardise the rows of each group, and weigh the pairs by all rows."""
        parts = [values[rows] for rows in groups.rows]
        n_rows = [len(part) for part in parts]
        scores = np.concatenate([_scores(part, ranks=ranks) for part in parts])
        scores[:, _rare_columns(values, min(n_rows))] = 0.0
        d, error = scores.shape[1], 1 / n_rows[0] + 1 / n_rows[1]
        shrinkage = _shrinkage(scores, min(n_rows))
        (precision,) = _precisions(scores[None], shrinkage)
        root = np.sqrt(np.diagonal(precision))
        extended = scores
        if min(n_rows) >= ROWS_FOR_CURVES:
            extended = np.concatenate([scores, _unit(np.abs(scores))], axis=1)
        deviations = np.concatenate([np.abs(part - np.median(part, axis=0)) for part in parts])
        return cls(
            scores=extended,
            n_first=n_rows[0],
            n_columns=d,
            shrinkage=shrinkage,
            correlations=_Pairs(
                _weights(extended, _correlations(extended), error),
                _families(d, extended.shape[1]),
            ),
            partial=_Pairs(
                _weights(scores @ precision / root, precision / np.outer(root, root), error),
                np.triu(np.full((d, d), PARTIAL), 1),
            ),
            columns=_unit(np.concatenate(parts)).T.copy(),
            deviations=_unit(deviations).T.copy(),
        )

    @property
    def n_rows(self) -> int:
        """Rows of both groups."""
        return len(self.scores)

    @property
    def sizes(self) -> tuple[int, int]:
        """Rows of each group."""
        return self.n_first, self.n_rows - self.n_first

    @property
    def squares(self) -> dict[int, slice]:
        """Scores whose correlations with each other are a family."""
        d, q = self.n_columns, self.scores.shape[1]
        both = {CORRELATION: slice(0, d), MAGNITUDE: slice(d, q)}
        return both if q > d else {CORRELATION: both[CORRELATION]}

    def as_given(self) -> IntArray:
        """Return the rows as a shuffle that leaves all in their places."""
        return np.arange(self.n_rows)[None]

    @cached_property
    def observed(self) -> tuple[FloatArray, FloatArray]:
        """Correlations, and partial ones, of both groups: arrays of shape (2, p, p)."""
        groups = [self.networks(rows) for rows in np.split(self.as_given(), [self.n_first], axis=1)]
        d = self.n_columns
        correlations, partial = (
            np.concatenate([networks[k] for networks in groups])[:, :d, :d] for k in (0, 1)
        )
        return correlations, partial

    @cached_property
    def differences(self) -> FloatArray:
        """Standardised differences of correlations and of partial ones, of shape (2, p, p)."""
        d, pairs = self.n_columns, (self.correlations, self.partial)
        return np.stack(
            [
                (after - before) * weights[:d, :d]
                for (before, after), (weights, _) in zip(self.observed, pairs, strict=True)
            ]
        )

    def networks(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """Correlations, and partial ones, of one group in each of several shuffles."""
        unit = _unit(self.scores[rows])
        precisions = _precisions(unit[:, :, : self.n_columns], self.shrinkage)
        root = np.sqrt(np.diagonal(precisions, axis1=1, axis2=2))
        return _correlations(unit), -precisions / (root[:, :, None] * root[:, None, :])


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


def _unit(rows: FloatArray) -> FloatArray:
    """Centre columns and give them unit variance, or leave them at 0."""
    centred = rows - rows.mean(axis=-2, keepdims=True)
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


def _weights(unit: FloatArray, slopes: FloatArray, error: float) -> FloatArray:
    """One over the standard error of every difference of correlations between the columns.

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
    weights: FloatArray = 1 / np.sqrt(np.maximum(variance, 1e-6) * error)
    return weights


class _Block(NamedTuple):
    """Of some shuffles the statistics by family, differences of columns, and pairs reached."""

    totals: FloatArray
    columns: FloatArray
    reached: IntArray


def _deals(
    problem: _Problem, n_permutations: int, block_length: int, random_state: RandomState
) -> list[Callable[[], IntArray]]:
    """Draw shuffles block by block, or list all that there are if those are few enough."""
    n = problem.n_rows
    if block_length == 1 and comb(n, problem.n_first) <= n_permutations + 1:
        firsts = np.array(list(combinations(range(n), problem.n_first)))[1:]
        orders = np.array([[*first, *np.setdiff1d(np.arange(n), first)] for first in firsts])
        return [partial(np.asarray, orders)]
    counts = [len(part) for part in np.array_split(range(n_permutations), N_BLOCKS) if len(part)]
    streams = spawn(as_generator(random_state), len(counts))
    draw = partial(_draw, problem.sizes, block_length)
    return [partial(draw, stream, count) for stream, count in zip(streams, counts, strict=True)]


def _draw(
    sizes: tuple[int, int], block_length: int, stream: np.random.Generator, n_shuffles: int
) -> IntArray:
    """Draw orders of the rows in which those of a block follow each other."""
    if block_length == 1:
        return stream.permuted(np.tile(np.arange(sum(sizes)), (n_shuffles, 1)), axis=1)
    starts = [np.arange(0, size, block_length) for size in sizes]
    blocks = np.split(np.arange(sum(sizes)), np.concatenate([starts[0], sizes[0] + starts[1]])[1:])
    orders = (stream.permutation(len(blocks)) for _ in range(n_shuffles))
    return np.stack([np.concatenate([blocks[k] for k in order]) for order in orders])


def _compare(
    problem: _Problem, least: Sequence[FloatArray], deal: Callable[[], IntArray]
) -> _Block:
    """Compare the groups of some shuffles, as many at a time as fit into memory."""
    orders = deal()
    n, q = problem.scores.shape
    size = max(MEMORY // (n * q + 4 * q * q), 1)
    d, first = problem.n_columns, problem.n_first
    totals = np.zeros((len(orders), N_FAMILIES, N_AGGREGATES))
    reached = np.zeros((2, d, d), dtype=np.int64)
    columns = np.empty((2, d, len(orders)))
    for start in range(0, len(orders), size):
        part = slice(start, start + size)
        befores, afters = (
            problem.networks(rows) for rows in np.split(orders[part], [first], axis=1)
        )
        for k, pairs in enumerate((problem.correlations, problem.partial)):
            _summarize(befores[k], afters[k], *pairs, least[k], totals[part], reached[k])
        for family, block in problem.squares.items():
            weights = problem.correlations.weights[block, block]
            difference = (afters[0] - befores[0])[:, block, block] * weights
            totals[part, family, SPECTRUM] = _schatten(difference)
        members = np.zeros((n, len(befores[0])))
        np.put_along_axis(members, orders[part, first:].T, 1.0, axis=0)
        for k, values in enumerate((problem.columns, problem.deviations)):
            columns[k, :, part] = standardized_differences(values, members, problem.sizes)
    return _Block(totals=totals, columns=columns, reached=reached)


def _schatten(symmetric: FloatArray) -> FloatArray:
    """Eighth root of the sum of the eighth powers of the eigenvalues, by products alone."""
    symmetric[:, np.arange(symmetric.shape[1]), np.arange(symmetric.shape[1])] = 0.0
    fourth = symmetric @ symmetric
    fourth = fourth @ fourth
    norm: FloatArray = (fourth**2).sum(axis=(1, 2)) ** (1 / 8)
    return norm


@kernel
def _summarize(
    first: FloatArray,
    second: FloatArray,
    weights: FloatArray,
    families: IntArray,
    least: FloatArray,
    totals: FloatArray,
    reached: IntArray,
) -> None:
    """Add up the standardised differences of each family, and count those that come up to some."""
    for b in range(first.shape[0]):
        for i in range(first.shape[1]):
            for j in range(first.shape[2]):
                family = families[i, j]
                if family == 0:
                    continue
                difference = (second[b, i, j] - first[b, i, j]) * weights[i, j]
                size, square = abs(difference), difference * difference
                totals[b, family, ABSOLUTE] += size
                totals[b, family, SQUARES] += square
                totals[b, family, SIXTH] += square * square * square
                if size > totals[b, family, LARGEST]:
                    totals[b, family, LARGEST] = size
                if family in (CORRELATION, PARTIAL) and size >= least[i, j]:
                    reached[i, j] += 1


def _result(
    problem: _Problem, table: Table, groups: TwoGroups, blocks: Sequence[_Block]
) -> NetworkDifference:
    """Turn statistics into p-values; the first block holds the groups as they are."""
    totals = np.abs(np.concatenate([block.totals for block in blocks]))
    counts = np.sum([block.reached for block in blocks[1:]], axis=0)
    tests = []
    for family, difference, reached in zip(
        (CORRELATION, PARTIAL), problem.differences, counts, strict=True
    ):
        weights = np.triu(difference, 1)
        graph = Graph(weights + weights.T, names=table.names)
        test = assemble_test(
            graph,
            reached[np.nonzero(np.triu(graph.adjacency))],
            null_max=totals[1:, family, LARGEST],
            null_sum=totals[1:, family, ABSOLUTE],
            classes=groups.classes,
        )
        tests.append(test)
    before, after = np.where(np.eye(problem.n_columns, dtype=bool), 0.0, problem.observed[1])
    pvalue, pvalues, evidence = _verdict(totals)
    columns = _columns(table, groups, np.concatenate([block.columns for block in blocks], axis=2))
    return NetworkDifference(
        pvalue=pvalue,
        pvalues=pvalues,
        evidence=float(evidence[0]),
        null_evidence=evidence[1:],
        partial=tests[1],
        marginal=tests[0],
        before=before,
        after=after,
        shrinkage=problem.shrinkage,
        pvalue_means=float(columns["mean_p_familywise"].min()),
        pvalue_spreads=float(columns["spread_p_familywise"].min()),
        columns=columns,
        rare=tuple(np.array(table.names)[_rare_columns(table.values, min(problem.sizes))].tolist()),
        classes=groups.classes,
        n_rows=problem.sizes,
        n_permutations=len(totals) - 1,
    )


def _verdict(totals: FloatArray) -> tuple[float, dict[str, float], FloatArray]:
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
    steepness = np.log(TAIL[0] / TAIL[1]) / max(end - start, np.finfo(np.float64).tiny)
    line = np.log(TAIL[0]) - steepness * (sizes - start)
    found: FloatArray = np.where(sizes > start, line, np.log(shares))
    return found


def _columns(table: Table, groups: TwoGroups, differences: FloatArray) -> pd.DataFrame:
    """Test means and spreads of each column, by itself and among all columns."""
    import pandas as pd

    parts = [table.values[rows] for rows in groups.rows]
    summaries = (
        [part.mean(axis=0) for part in parts],
        [part.std(axis=0, ddof=1) for part in parts],
    )
    found: dict[str, Any] = {"column": list(table.names)}
    for what, sizes, (before, after) in zip(
        ("mean", "spread"), np.abs(differences), summaries, strict=True
    ):
        least = at_least(sizes[:, :1])
        found |= {
            f"{what}_before": before,
            f"{what}_after": after,
            f"{what}_p": np.mean(sizes >= least, axis=1),
            f"{what}_p_familywise": np.mean(sizes.max(axis=0) >= least, axis=1),
        }
    return pd.DataFrame(found)
