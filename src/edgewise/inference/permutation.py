"""Permutation test for equal networks of two groups of rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import check_columns
from edgewise.data.labels import TwoGroups, two_groups
from edgewise.data.table import Table, take_rows
from edgewise.graph import Graph
from edgewise.graph.compare import positions_by_name
from edgewise.graph.graph import edge_positions
from edgewise.inference.resample import (
    Problem,
    Resample,
    check_resamplable,
    column_codes,
    count_rows,
    draw_until,
    kinds_of_table,
    needs_labels,
    run_all,
    varies,
)

if TYPE_CHECKING:
    import pandas as pd

#: Means further apart than this many standard deviations distort a shuffle noticeably.
FAR = 1.0
#: Chance of a warning where the means are the same; small groups often seem far apart.
SURE = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class CentredRows:
    r"""Rows of two groups without the means of their groups, which may be dealt out anew.

    The residuals :math:`e_i` of a group of :math:`n` rows add up to 0. Dealt to other groups as
    they are, they would lose the mean of their new group as well, and shuffled groups would vary
    less than the real ones. One row :math:`a` of each group therefore stands apart: the other

    .. math:: r_i = e_i + \frac{e_a}{\sqrt n - 1}

    have the variances of the rows and are not correlated, so that normal ones may change places
    whatever the means are [1]_. Back in a group of :math:`n` rows they become
    :math:`r_i - t / (n - \sqrt n)` and :math:`e_a = t / \sqrt n` with their sum :math:`t`: rows
    with a mean of 0 and the same sums of squares and products. Both ways are the reflection that
    takes the mean of a group to one of its rows.

    Attributes
    ----------
    template : array or data frame of shape (n, p)
        The rows as given.
    groups : TwoGroups
        Which rows are whose.
    apart : ndarray of shape (2,)
        The row of each group that stands apart: the first of those with the fewest gaps.
    residuals : ndarray of shape (n, p)
        :math:`r_i`; and :math:`e_a`, of which only the gaps are used. A column with a gap there
        keeps its :math:`e_i`.

    References
    ----------
    .. [1] Huh and Jhun (2001). Random permutation testing in multiple linear regression.
       *Communications in Statistics - Theory and Methods* 30(10).
       https://doi.org/10.1081/STA-100106060
    """

    template: Any
    groups: TwoGroups
    apart: IntArray
    residuals: FloatArray

    @classmethod
    def make(cls, X: Any, groups: TwoGroups) -> CentredRows:
        """Take the mean of its group away from every column, or name what has none."""
        table = Table.from_input(X)
        pairs = zip(table.names, table.kinds, strict=True)
        if others := [name for name, kind in pairs if kind != "numeric"]:
            raise InputError("center_needs_numbers", others=others)
        check_columns(
            table.values, table.names, allow_missing=True, allow_constant=True, allow_identical=True
        )
        residuals = table.values.copy()
        apart = [rows[np.argmin(table.missing[rows].sum(axis=1))] for rows in groups.rows]
        for rows, one in zip(groups.rows, apart, strict=True):
            mean, _, count = _moments(residuals[rows])
            residuals[rows] -= mean
            others = rows[rows != one]
            own = np.nan_to_num(residuals[one])
            residuals[others] += own / (np.sqrt(np.maximum(count, 2)) - 1)
        return cls(template=X, groups=groups, apart=np.array(apart), residuals=residuals)

    @property
    def sources(self) -> list[IntArray]:
        """Rows of each group whose residuals can be dealt out, as they are."""
        return [rows[rows != one] for rows, one in zip(self.groups.rows, self.apart, strict=True)]

    def values(self, dealt: Sequence[IntArray]) -> FloatArray:
        """All rows, once the residuals of other rows are dealt to each group."""
        values = self.residuals.copy()
        for one, places, sources in zip(self.apart, self.sources, dealt, strict=True):
            taken = self.residuals[sources]
            is_seen = ~np.isnan(taken)
            total = np.where(is_seen, taken, 0.0).sum(axis=0)
            root = np.sqrt(1.0 + is_seen.sum(axis=0))
            has_gap = np.isnan(values[one])
            # Where nothing is seen, the sum is 0 and may be divided by anything.
            shift = total / np.maximum(root**2 - root, 0.5)
            values[places] = taken - np.where(has_gap, 0.0, shift)
            values[one] = np.where(has_gap, np.nan, total / root)
        return values

    def table(self, dealt: Sequence[IntArray]) -> Any:
        """Return the same as a data frame if the rows came as one."""
        import narwhals.stable.v2 as nw

        values = self.values(dealt)
        frame = nw.from_native(self.template, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame) and all(isinstance(name, str) for name in frame.columns):
            return nw.from_numpy(values, frame.columns, backend=frame.implementation).to_native()
        return values


def warn_of_means(X: Any, groups: TwoGroups, *, stacklevel: int) -> None:
    """Say which columns have means so different that shuffled groups are unlike the real ones."""
    table = Table.from_input(X)
    columns = [k for k, kind in enumerate(table.kinds) if kind == "numeric"]
    (mean, spread, count), (other_mean, other_spread, other_count) = (
        _moments(table.values[rows][:, columns]) for rows in groups.rows
    )
    freedom = np.maximum(count + other_count - 2, 1)
    variance = (spread + other_spread) / freedom
    least = stats.t.isf(SURE / 2 / max(len(columns), 1), freedom)
    noise = variance * (1 / np.maximum(count, 1) + 1 / np.maximum(other_count, 1))
    square = (other_mean - mean) ** 2
    is_far = (variance > 0) & (square > FAR**2 * variance) & (square > least**2 * noise)
    if is_far.any():
        names = [table.names[columns[k]] for k in np.flatnonzero(is_far)]
        largest = np.sqrt((square[is_far] / variance[is_far]).max())
        warnings.warn(
            DataWarning("group_means_differ", names=names, largest=largest),
            stacklevel=stacklevel + 1,
        )


def _moments(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean, sum of squares around it and number of the observed entries of each column."""
    is_seen = ~np.isnan(values)
    count: FloatArray = is_seen.sum(axis=0).astype(np.float64)
    mean = np.where(is_seen, values, 0.0).sum(axis=0) / np.maximum(count, 1)
    spread: FloatArray = (np.where(is_seen, values - mean, 0.0) ** 2).sum(axis=0)
    return mean, spread, count


#: Differences smaller by no more than this share count as equal: their sums were rounded apart.
TIES = 1e-12


def at_least(size: Any) -> Any:
    """Smallest differences that count as large as these."""
    return size * (1.0 - TIES)


@dataclass(frozen=True, kw_only=True, eq=False)
class PermutationTest:
    """What `permutation_test` found; p is the number of variables.

    Attributes
    ----------
    observed : Graph
        The differences, second group minus first, or the graph of an estimator of changes.
    pvalues : ndarray of shape (p, p)
        Of each pair by itself; for directed graphs of each ordered pair. 1 on the diagonal.
    familywise : ndarray of shape (p, p)
        Corrected for the number of pairs: the chance of a difference this large anywhere.
    qvalues : ndarray of shape (p, p)
        ``pvalues`` after Benjamini and Hochberg: keeping the pairs up to a level makes that the
        expected share of false ones among those kept.
    pvalue : float
        That the networks differ, by the largest difference.
    pvalue_sum : float
        The same by the sum of the absolute differences, which sees many small ones.
    null_max : ndarray of shape (n_permutations,)
        Largest absolute difference of each shuffle.
    null_sum : ndarray of shape (n_permutations,)
        Sum of the absolute differences of each shuffle.
    classes : tuple
        Labels of the groups, the first before the second.
    n_permutations : int
        Shuffles that could be fitted.
    failures : tuple of (int, str)
        Number and error of those that could not.
    n_redrawn : int
        Shuffles thrown away because a column became constant in a group.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GaussianGraph
    >>> from edgewise.inference import permutation_test
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> X[40:, 1] += 2 * X[40:, 0]
    >>> y = ["control"] * 40 + ["case"] * 40
    >>> test = permutation_test(GaussianGraph(alpha=0.1), X, y, n_permutations=99, random_state=0)
    >>> test.classes
    ('case', 'control')
    >>> test.significant(by="familywise").edges()[["source", "target"]]
      source target
    0     x0     x1
    """

    observed: Graph
    pvalues: FloatArray = field(repr=False)
    familywise: FloatArray = field(repr=False)
    qvalues: FloatArray = field(repr=False)
    pvalue: float
    pvalue_sum: float
    null_max: FloatArray = field(repr=False)
    null_sum: FloatArray = field(repr=False)
    classes: tuple[Any, ...]
    n_permutations: int
    failures: tuple[tuple[int, str], ...]
    n_redrawn: int

    def table(self) -> pd.DataFrame:
        """List the pairs, the surest first.

        Returns
        -------
        pandas.DataFrame
            ``source``, ``target``, ``difference``, ``pvalue``, ``qvalue`` and
            ``pvalue_familywise``.
        """
        import pandas as pd

        names, n = self.observed.names, self.observed.n_nodes
        off = ~np.eye(n, dtype=bool) if self.observed.directed else np.triu(np.ones((n, n)), 1) > 0
        frame = pd.DataFrame(
            {
                "source": [names[i] for i in np.nonzero(off)[0]],
                "target": [names[j] for j in np.nonzero(off)[1]],
                "difference": self.observed.weights[off],
                "pvalue": self.pvalues[off],
                "qvalue": self.qvalues[off],
                "pvalue_familywise": self.familywise[off],
            }
        )
        order = np.lexsort((-np.abs(frame["difference"]), frame["pvalue"]))
        return frame.loc[order].reset_index(drop=True)

    def significant(self, level: float = 0.05, by: Literal["q", "familywise", "p"] = "q") -> Graph:
        """Keep the differences that chance does not explain.

        Parameters
        ----------
        level : float
            Largest value that is kept.
        by : {"q", "familywise", "p"}
            Which values: ``qvalues``, ``familywise`` or, without any correction for the number of
            pairs, ``pvalues``.

        Returns
        -------
        Graph
            The differences as weights, and 1 minus the values as confidence.
        """
        values = {"q": self.qvalues, "familywise": self.familywise, "p": self.pvalues}
        if by not in values:
            raise InputError("by_q_familywise_p", by=by)
        if not 0 < level < 1:
            raise InputError("level_range", level=level)
        is_kept = self.observed.adjacency & (values[by] <= level)
        return Graph(
            np.where(is_kept, self.observed.weights, 0.0),
            names=self.observed.names,
            directed=self.observed.directed,
            confidence=1.0 - values[by],
        )


def permutation_test(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_permutations: int = 999,
    center: bool = False,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> PermutationTest:
    r"""Test whether the networks of two groups of rows differ, and where.

    A copy of the estimator is fitted to each group, and the difference :math:`d_{ij}` of the
    weights is computed for every pair. The labels are then shuffled :math:`B` times, with the sizes
    of the groups kept, and everything is fitted again [1]_. With :math:`d_{ij}^{(b)}` for shuffle
    b, the p-value of a pair is [2]_

    .. math:: p_{ij} = \frac{1 + \#\{b : |d_{ij}^{(b)}| \ge |d_{ij}|\}}{1 + B},

    and the family-wise one has :math:`\max_{kl} |d_{kl}^{(b)}|` in place of
    :math:`|d_{ij}^{(b)}|` [3]_. An estimator that learns the change between groups itself, with
    ``fit(X, y)``, is fitted to all rows instead, and :math:`d` are the weights of its graph.

    Parameters
    ----------
    estimator : estimator
        Has ``graph_`` after ``fit``; a pipeline or a search may end in one.
    X : array-like or data frame of shape (n, p)
        Rows of both groups.
    y : array-like of shape (n,)
        Labels of two groups, of any type that can be sorted.
    n_permutations : int
        Number of shuffles. No p-value can be below ``1 / (1 + n_permutations)``.
    center : bool
        Take the mean of its group away from every column first. The test is of everything in
        which the groups differ, and groups whose means lie far apart look different from shuffled
        ones even where the networks are the same; there is a warning then. What is dealt out are
        residuals that lost no degrees of freedom, so that p-values hold in groups of any size if
        rows are normal, and nearly so if not.
    n_jobs : int, optional
        Shuffles fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the shuffles, and seeds every ``random_state`` of the estimator that is None.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    PermutationTest

    Notes
    -----
    The estimator should have a number for alpha, chosen on the rows of both groups together.
    A rule such as ``alpha="ebic"`` works, but chooses anew in every group and shuffle: slow, and
    part of the difference is then between the alphas.

    With many pairs, q-values need many shuffles: where k of m pairs have the smallest p-value
    possible, their q-value is ``m / (k * (1 + n_permutations))``. All p-values are for groups that
    do not differ at all: next to a strong difference, other pairs may seem surer than they are.

    Shuffles in which a column becomes constant in a group are drawn again, if the column is
    not constant in either group as they are. An edge whose weight is not known counts with 1.

    References
    ----------
    .. [1] van Borkulo, van Bork, Boschloo, Kossakowski, Tio, Schoevers, Borsboom and Waldorp
       (2023). Comparing network structures on three aspects: a permutation test. *Psychological
       Methods* 28(6). https://doi.org/10.1037/met0000476
    .. [2] Phipson and Smyth (2010). Permutation p-values should never be zero. *Statistical
       Applications in Genetics and Molecular Biology* 9(1).
       https://doi.org/10.2202/1544-6115.1585
    .. [3] Nichols and Holmes (2002). Nonparametric permutation tests for functional neuroimaging.
       *Human Brain Mapping* 15(1). https://doi.org/10.1002/hbm.1058

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GaussianGraph
    >>> from edgewise.inference import permutation_test
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> y = np.repeat([0, 1], 40)
    >>> test = permutation_test(GaussianGraph(alpha=0.1), X, y, n_permutations=99, random_state=0)
    >>> test.pvalue > 0.05
    True
    """
    check_resamplable(estimator)
    if n_permutations < 1:
        raise InputError("n_permutations_range", n_permutations=n_permutations)
    groups = two_groups(y, count_rows(X))
    labels = y if needs_labels(estimator) else None
    comparison = _Comparison(
        problem=Problem(
            estimator=estimator,
            X=X,
            y=labels,
            sample_weight=None,
            alphas=None,
            kinds=kinds_of_table(estimator, X),
        ),
        groups=groups,
        centred=CentredRows.make(X, groups) if center else None,
    )
    generator = as_generator(random_state)
    observed = comparison.observe(generator)
    if not center:
        warn_of_means(X, groups, stacklevel=2)
    shuffles, n_redrawn = _draw_shuffles(comparison, spawn(generator, n_permutations))
    nulls, failures = run_all(
        _fit_shuffle,
        [(comparison, observed, shuffle) for shuffle in shuffles],
        noun="shuffle",
        stacklevel=3,
        n_jobs=n_jobs,
        description="Permutation test",
        verbose=verbose,
    )
    return assemble_test(
        observed,
        np.sum([null.reaches for null in nulls], axis=0),
        null_max=np.array([null.largest for null in nulls]),
        null_sum=np.array([null.total for null in nulls]),
        classes=groups.classes,
        failures=failures,
        n_redrawn=n_redrawn,
    )


@dataclass(frozen=True, kw_only=True)
class _Comparison:
    """What is fitted, with labels in the problem if the estimator learns changes itself."""

    problem: Problem
    groups: TwoGroups
    centred: CentredRows | None

    @property
    def sources(self) -> list[IntArray]:
        """Rows of each group that are dealt out."""
        return self.groups.rows if self.centred is None else self.centred.sources

    def observe(self, generator: np.random.Generator) -> Graph:
        """Differences between the groups as they are."""
        seeds = generator.integers(2**31 - 1, size=2)
        pairs = zip(self.sources, seeds, strict=True)
        graph = self.difference([Resample(rows=rows, seed=int(seed)) for rows, seed in pairs])
        if graph.n_nodes < 2:
            raise InputError("comparison_one_node")
        return graph

    def difference(self, shuffle: Sequence[Resample]) -> Graph:
        """Differences between two sets of rows, one per group."""
        if self.centred is not None:
            table = self.centred.table([resample.rows for resample in shuffle])
            plain = replace(self, problem=replace(self.problem, X=table), centred=None)
            pairs = zip(shuffle, self.groups.rows, strict=True)
            return plain.difference([replace(resample, rows=rows) for resample, rows in pairs])
        if self.problem.y is not None:
            return self._change(shuffle)
        before, after = (
            self._fit_group(label, resample)
            for label, resample in zip(self.groups.classes, shuffle, strict=True)
        )
        if before.directed != after.directed:
            raise InputError("comparison_directions")
        order = positions_by_name(before, after)
        weights = _strength(after)[np.ix_(order, order)] - _strength(before)
        return Graph(weights, names=before.names, directed=before.directed)

    def _fit_group(self, label: Any, resample: Resample) -> Graph:
        try:
            return self.problem.fit(resample.seed, resample.rows)[1][0]
        except InputError as error:
            # A column may be fine in the table and constant in a group.
            raise InputError(
                "in_group", n_rows=len(resample.rows), label=label, error=error
            ) from error

    def _change(self, shuffle: Sequence[Resample]) -> Graph:
        """Graph of an estimator of changes, with the labels put on these rows."""
        source = np.empty(count_rows(self.problem.X), dtype=np.int64)
        for rows, resample in zip(self.groups.rows, shuffle, strict=True):
            source[resample.rows] = rows
        problem = replace(self.problem, y=take_rows(self.problem.y, source))
        graph = problem.fit(shuffle[0].seed)[1][0]
        return Graph(_strength(graph), names=graph.names, directed=graph.directed)


@dataclass(frozen=True, kw_only=True)
class _Null:
    """What one shuffle says about the observed differences."""

    reaches: BoolArray
    largest: float
    total: float


def _draw_shuffles(
    comparison: _Comparison, generators: Sequence[np.random.Generator]
) -> tuple[list[list[Resample]], int]:
    """Deal the rows to two groups of the same sizes, in which the same columns vary."""
    codes = column_codes(comparison.problem.X)
    centred, sources = comparison.centred, comparison.sources
    pool = np.sort(np.concatenate(sources))

    def vary(dealt: Sequence[IntArray]) -> BoolArray:
        values, rows = codes, dealt
        if centred is not None:
            values, rows = centred.values(dealt), comparison.groups.rows
        both: BoolArray = varies(values[rows[0]]) & varies(values[rows[1]])
        return both

    def draw(generator: np.random.Generator) -> list[IntArray]:
        # In order, so that the same two sets of rows always give the same fit.
        dealt = np.split(generator.permutation(pool), [len(sources[0])])
        return [np.sort(rows) for rows in dealt]

    must_vary = vary(sources)
    drawn = [
        draw_until(generator, draw, lambda dealt: bool(vary(dealt)[must_vary].all()))
        for generator in generators
    ]
    return [shuffle for shuffle, _ in drawn], sum(n_redrawn for _, n_redrawn in drawn)


def _fit_shuffle(comparison: _Comparison, observed: Graph, shuffle: list[Resample]) -> _Null:
    graph = comparison.difference(shuffle)
    order = positions_by_name(observed, graph)
    size = np.abs(graph.weights[np.ix_(order, order)])
    where = edge_positions(observed.adjacency, directed=observed.directed)
    return _Null(
        reaches=size[where] >= at_least(np.abs(observed.weights[where])),
        largest=float(size.max()),
        total=_total(size, directed=observed.directed),
    )


def assemble_test(
    observed: Graph,
    reached: IntArray,
    *,
    null_max: FloatArray,
    null_sum: FloatArray,
    classes: tuple[Any, ...],
    failures: Sequence[tuple[int, str]] = (),
    n_redrawn: int = 0,
) -> PermutationTest:
    """Turn counts into p-values; ``reached`` says how many shuffles came up to each edge."""
    size = np.abs(observed.weights)
    where = edge_positions(observed.adjacency, directed=observed.directed)
    # A pair without a difference is reached by every shuffle, so its p-values are 1.
    pvalues, familywise, qvalues = (np.ones_like(size) for _ in range(3))
    _fill(pvalues, where, (1 + reached) / (1 + len(null_max)), directed=observed.directed)
    _fill(familywise, where, share_at_least(null_max, size[where]), directed=observed.directed)
    pairs = edge_positions(~np.eye(len(size), dtype=bool), directed=observed.directed)
    _fill(qvalues, pairs, stats.false_discovery_control(pvalues[pairs]), directed=observed.directed)
    return PermutationTest(
        observed=observed,
        pvalues=pvalues,
        familywise=familywise,
        qvalues=qvalues,
        pvalue=float(share_at_least(null_max, size.max())),
        pvalue_sum=float(share_at_least(null_sum, _total(size, directed=observed.directed))),
        null_max=null_max,
        null_sum=null_sum,
        classes=classes,
        n_permutations=len(null_max),
        failures=tuple(failures),
        n_redrawn=n_redrawn,
    )


def _strength(graph: Graph) -> FloatArray:
    """Weights, with 1 where an edge is there but its weight is not known."""
    is_unknown = graph.adjacency & (graph.weights == 0)
    return np.where(is_unknown, 1.0, graph.weights)


def _total(size: FloatArray, *, directed: bool) -> float:
    return float(size.sum()) / (1 if directed else 2)


def share_at_least(null: FloatArray, size: Any) -> Any:
    """Share of the shuffles, the observed labels included, that reach each size."""
    below = np.searchsorted(np.sort(null), at_least(size), side="left")
    return (1 + len(null) - below) / (1 + len(null))


def _fill(
    matrix: FloatArray, where: tuple[IntArray, IntArray], values: FloatArray, *, directed: bool
) -> None:
    rows, columns = where
    matrix[rows, columns] = values
    if not directed:
        matrix[columns, rows] = values
