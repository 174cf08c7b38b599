"""Whether the networks of groups of rows differ: one test of everything, and tests of each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import stats

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.labels import label_codes
from edgewise.data.table import take_rows
from edgewise.graph import Graph
from edgewise.inference.design import Design
from edgewise.inference.networks import (
    ABSOLUTE,
    CORRELATION,
    LARGEST,
    PARTIAL,
    Block,
    Problem,
    joined_totals,
    pose,
    shuffle,
    verdict,
)
from edgewise.inference.permutation import PermutationTest, assemble_test, at_least
from edgewise.inference.resample import count_rows

if TYPE_CHECKING:
    import pandas as pd

#: Statistics of nodes that differ by no more than this share are equal.
NODE_TIES = 1e-9


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkComparison:
    """What `compare_networks` found; K is the number of groups, p that of variables.

    Attributes
    ----------
    pvalue : float
        That the networks of any groups differ: the verdict, of all statistics together.
    pvalues : dict of str to float
        Of each statistic by itself.
    evidence : float
        Minus the logarithm, to base 10, of the weighted harmonic mean of the p-values.
    null_evidence : ndarray of shape (n_permutations,)
        The same of each permutation.
    partial : PermutationTest
        Pair by pair of variables, of partial correlations. ``observed`` holds the difference of
        two groups, second minus first, in standard errors; of more groups how far they lie apart.
    marginal : PermutationTest
        The same of correlations.
    networks, correlations : ndarray of shape (K, p, p)
        Partial correlations, and correlations, of each group; 0 on the diagonal.
    pvalue_strength : float
        That the global strength, the sum of all absolute partial correlations, differs.
    strengths : ndarray of shape (K,)
        The global strength of each group.
    nodes : DataFrame
        A row per variable: its strength in each group (``strength_`` and the label), with
        ``strength_pvalue``, ``strength_qvalue`` and ``strength_pvalue_familywise``, and the same
        of all of its links (``links_pvalue``, ...), by the sum of their squared standardised
        differences.
    columns : DataFrame
        A row per variable: its mean and its standard deviation in each group (``mean_`` and
        ``spread_`` and the label), adjusted as the design says, with ``mean_pvalue``,
        ``mean_pvalue_familywise`` and the same of spreads: tests apart, which have no part in
        ``pvalue``. Of several groups, smallest p-values of two of them, times their number.
    pairwise : dict of (label, label) to NetworkComparison
        Of three groups or more, the comparison of each two, by permutations of their rows alone.
    untested : dict of (label, label) to str
        Two groups that the design confounds, and why.
    shrinkage : float
        Share of the identity in the correlations that were inverted.
    rare : tuple of str
        Columns that vary in too few rows to be compared; they have no part in the networks.
    classes : tuple
        Labels of the groups.
    n_rows : tuple of int
        Their sizes.
    n_permutations : int
        Number of permutations; all that there are, if those are no more than were asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.inference import compare_networks
    >>> X, dose = np.random.default_rng(0).normal(size=(150, 4)), np.repeat([0, 1, 2], 50)
    >>> X[dose == 2, 1] += 2 * X[dose == 2, 0]
    >>> test = compare_networks(X, dose, n_permutations=199, random_state=0)
    >>> test.pvalue
    0.005
    >>> test.groups[["first", "second", "pvalue_holm"]].head(2)
       first  second  pvalue_holm
    0      0       2        0.015
    1      1       2        0.015
    """

    pvalue: float
    pvalues: dict[str, float]
    evidence: float
    null_evidence: FloatArray = field(repr=False)
    partial: PermutationTest = field(repr=False)
    marginal: PermutationTest = field(repr=False)
    networks: FloatArray = field(repr=False)
    correlations: FloatArray = field(repr=False)
    pvalue_strength: float
    strengths: FloatArray = field(repr=False)
    nodes: pd.DataFrame = field(repr=False)
    columns: pd.DataFrame = field(repr=False)
    pairwise: dict[tuple[Any, Any], NetworkComparison] = field(repr=False)
    untested: dict[tuple[Any, Any], str]
    shrinkage: float
    rare: tuple[str, ...]
    classes: tuple[Any, ...]
    n_rows: tuple[int, ...]
    n_permutations: int

    def table(self) -> pd.DataFrame:
        """List pairs of variables by pairs of groups, the largest standardised difference first.

        Returns
        -------
        DataFrame
            ``source``, ``target``; the labels ``first`` and ``second``; their partial correlations
            ``estimate_first`` and ``estimate_second``, the ``difference``, the same in standard
            errors (``standardized``), and of it ``pvalue``, ``qvalue`` (among the pairs of
            variables) and ``pvalue_familywise`` (among all rows of the table). Then the same of
            correlations, in columns that begin with ``correlation_``.
        """
        import pandas as pd

        tests = self._by_groups()
        joined: pd.DataFrame = pd.concat([one._rows() for one in tests.values()], ignore_index=True)
        for name in ("pvalue_familywise", "correlation_pvalue_familywise"):
            joined[name] = np.minimum(joined[name] * len(tests), 1.0)
        return joined

    def significant(self, level: float = 0.05, by: Literal["q", "familywise", "p"] = "q") -> Graph:
        """Keep the pairs of variables whose partial correlations differ.

        Parameters
        ----------
        level : float
            Largest value that is kept.
        by : {"q", "familywise", "p"}
            Which values, as in `PermutationTest.significant`.

        Returns
        -------
        Graph
            Weighted by the difference, second group minus first; of several groups by the largest
            difference between two of them. 1 minus the values are its confidence.
        """
        kept = self.partial.significant(level, by)
        sizes = self.networks[-1] - self.networks[0]
        if len(self.classes) > 2:
            sizes = np.ptp(self.networks, axis=0)
        return Graph(
            np.where(kept.adjacency, sizes, 0.0),
            names=kept.names,
            adjacency=kept.adjacency,
            confidence=kept.confidence,
        )

    @property
    def groups(self) -> pd.DataFrame:
        """Pairs of groups, the smallest p-value first.

        ``first`` and ``second`` label, rows of each, ``pvalue`` of the pair by itself and
        ``pvalue_holm``, family-wise over the pairs of groups [1]_; the variables whose partial
        correlation differs most (``source``, ``target``, ``difference``) and the family-wise
        ``pvalue_largest`` of that; the difference in global strength, with a p-value of its own.

        References
        ----------
        .. [1] Holm (1979). A simple sequentially rejective multiple test procedure. *Scandinavian
           Journal of Statistics* 6(2). https://www.jstor.org/stable/4615733
        """
        import pandas as pd

        found = []
        for (first, second), test in self._by_groups().items():
            top = test._rows().iloc[0]
            found.append(
                {
                    "first": first,
                    "second": second,
                    "n_first": test.n_rows[0],
                    "n_second": test.n_rows[1],
                    "pvalue": test.pvalue,
                    "source": top["source"],
                    "target": top["target"],
                    "difference": top["difference"],
                    "pvalue_largest": top["pvalue_familywise"],
                    "strength_difference": test.strengths[1] - test.strengths[0],
                    "pvalue_strength": test.pvalue_strength,
                }
            )
        table = pd.DataFrame(found)
        table.insert(5, "pvalue_holm", holm(table["pvalue"].to_numpy()))
        return table.sort_values("pvalue", kind="stable", ignore_index=True)

    @property
    def edges(self) -> pd.DataFrame:
        """Pairs of variables with the partial correlation in each group (by its label).

        ``spread`` is how far all groups lie apart, in standard errors, with ``pvalue``,
        ``qvalue`` and ``pvalue_familywise``; then the same of correlations, in columns that begin
        with ``correlation_``. Those furthest apart come first.
        """
        found = self._pairs()
        for start, _, networks, test in self._kinds():
            upper = np.triu_indices(len(networks[0]), 1)
            pairs = zip(self.classes, networks, strict=True)
            found |= {f"{start}{label}": network[upper] for label, network in pairs}
            found |= _tested(test, start, "spread")
        return _sorted(found, "spread")

    def _by_groups(self) -> dict[tuple[Any, Any], NetworkComparison]:
        """Return the comparison of each two groups."""
        first, second = self.classes[:2]
        return self.pairwise if len(self.classes) > 2 else {(first, second): self}

    def _rows(self) -> pd.DataFrame:
        """Table of two groups."""
        first, second = self.classes
        found = self._pairs() | {"first": first, "second": second}
        for start, what, networks, test in self._kinds():
            before, after = (network[np.triu_indices(len(network), 1)] for network in networks)
            found |= {f"{what}_first": before, f"{what}_second": after}
            found[f"{start}difference"] = after - before
            found |= _tested(test, start, "standardized")
        return _sorted(found, "standardized")

    def _pairs(self) -> dict[str, Any]:
        """Name the two variables of every pair."""
        names = np.array(self.partial.observed.names, dtype=object)
        i, j = np.triu_indices(len(names), 1)
        return {"source": names[i], "target": names[j]}

    def _kinds(self) -> tuple[tuple[str, str, FloatArray, PermutationTest], ...]:
        """How columns of a table begin, what they estimate, the estimates and their tests."""
        return (
            ("", "estimate", self.networks, self.partial),
            ("correlation_", "correlation", self.correlations, self.marginal),
        )


def _tested(test: PermutationTest, start: str, size: str) -> dict[str, FloatArray]:
    """Differences of all pairs in standard errors, with their p-values."""
    values = {
        size: test.observed.weights,
        "pvalue": test.pvalues,
        "qvalue": test.qvalues,
        "pvalue_familywise": test.familywise,
    }
    return {
        f"{start}{name}": matrix[np.triu_indices(len(matrix), 1)] for name, matrix in values.items()
    }


def _sorted(found: dict[str, Any], size: str) -> pd.DataFrame:
    """Table with the largest size first."""
    import pandas as pd

    table = pd.DataFrame(found)
    order = np.argsort(-np.abs(table[size].to_numpy()), kind="stable")
    return table.iloc[order].reset_index(drop=True)


def holm(pvalues: FloatArray) -> FloatArray:
    """Correct p-values for their number, step by step (Holm 1979).

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(pvalues, kind="stable")
    steps = pvalues[order] * np.arange(len(pvalues), 0, -1)
    found = np.empty(len(pvalues))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found


def compare_networks(
    X: Any,
    y: Any,
    *,
    design: Design | None = None,
    ranks: bool = True,
    n_permutations: int = 999,
    block_length: int = 1,
    risk: float | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> NetworkComparison:
    r"""Test whether the networks of groups of rows differ, whatever kind of difference it is.

    Within each group, columns are turned into normal scores by their ranks (or centred and scaled
    only), so that neither means nor spreads count. Labels are then shuffled, and in the groups of
    each shuffle four kinds of correlations are compared: those of the columns, their partial
    correlations, correlations of magnitudes :math:`|z_i|, |z_j|`, and those of a magnitude with a
    column, :math:`|z_i|, z_j`, which see a dependence that is not linear. A difference is
    standardised by the variance :math:`v` that one row adds to the estimate [2]_, over all rows:

    .. math:: t_{ij} = \frac{r_{ij}^{\mathrm{after}} - r_{ij}^{\mathrm{before}}}
        {\sqrt{v_{ij} (1 / n_1 + 1 / n_2)}}.

    Of more groups, :math:`t^2` is the sum of squares between them,

    .. math:: t_{ij}^2 = \sum_{k < l} \frac{n_k n_l}{n} \frac{(r_{k, ij} - r_{l, ij})^2}{v_{ij}} .

    :math:`\sum t^6` sees one changed pair or a few, :math:`\sum t^2` many [3]_, and the Schatten
    norm :math:`(\operatorname{tr} T^8)^{1/8}` of the matrix :math:`T` of the :math:`t_{ij}` sees a
    block, a hub or a rise of all, which one direction of the columns explains. Each statistic
    :math:`k` has a p-value :math:`p_k` in every shuffle. Their weighted harmonic mean
    [4]_ is held against those of the shuffles [1]_, so that it needs no approximation.
    Nothing is fitted and no strength of a penalty is chosen, so that there is no choice that
    could make the test void.

    Each two of several groups are then compared by permutations of their rows alone, so that a
    third group that differs does not matter.

    Parameters
    ----------
    X : array-like or data frame of shape (n, p)
        Rows of all groups; numbers without gaps.
    y : array-like of shape (n,)
        Labels of two groups or more, of any type that can be sorted.
    ranks : bool
        Turn columns into normal scores within each group. Without, a few far rows decide.
    n_permutations : int
        Number of shuffles; where there are fewer ways to deal out the labels, each is used once.
    block_length : int
        Rows that change groups together: blocks of so many consecutive rows of a group, for rows in
        order that are like the rows before them. One block of a shuffle may be cut, so that groups
        keep their sizes. Differences between shuffled groups are scaled up by what blocks of an
        autoregression lose at their ends.
    design : Design, optional
        Pairs, blocks, clusters and covariates. Without it, rows are independent of each other.
    risk : float, optional
        End shuffling once the p-value is above or below 5 % beyond doubt: the chance that so many
        shuffles as were asked for, or any number, would decide otherwise is at most this.
        ``pvalue`` then comes from fewer shuffles.
    n_jobs : int, optional
        Blocks of shuffles at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the shuffles.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    NetworkComparison

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
    >>> from edgewise.inference import compare_networks
    >>> X = np.random.default_rng(0).normal(size=(200, 10))
    >>> y = np.repeat(["before", "now"], 100)
    >>> X[y == "now", 1] += X[y == "now", 0]
    >>> test = compare_networks(X, y, random_state=0)
    >>> test.pvalue
    0.001
    >>> test.significant(by="familywise").edges()[["source", "target"]]
      source target
    0     x0     x1
    """
    problem, classes = pose(X, y, design, ranks=ranks, block_length=block_length)
    options: dict[str, Any] = {"block_length": block_length, "risk": risk, "n_jobs": n_jobs}
    options |= {"n_permutations": n_permutations, "verbose": verbose}
    if len(classes) == 2:
        return _found(problem, classes, shuffle(problem, random_state=random_state, **options))
    member = label_codes(y, count_rows(X))[1]
    pairs = list(combinations(range(len(classes)), 2))
    streams = spawn(as_generator(random_state), 1 + len(pairs))
    rows = [np.flatnonzero((member == k) | (member == m)) for k, m in pairs]
    labels = [(classes[k], classes[m]) for k, m in pairs]
    # Before the work, which may be long.
    untested = {
        pair: reason
        for pair, part in zip(labels, rows, strict=True)
        if (reason := _confounding(design, pair, member[part], part))
    }
    blocks = shuffle(problem, random_state=streams[0], **options)
    pairwise = {
        pair: compare_networks(
            take_rows(X, part),
            take_rows(y, part),
            design=None if design is None else design.take(part),
            ranks=ranks,
            random_state=stream,
            **options,
        )
        for pair, part, stream in zip(labels, rows, streams[1:], strict=True)
        if pair not in untested
    }
    return _found(problem, classes, blocks, pairwise, untested)


def _confounding(
    design: Design | None, labels: tuple[Any, Any], member: IntArray, rows: IntArray
) -> str:
    """Say why the design cannot tell two groups apart, or nothing."""
    if design is None:
        return ""
    part, which = design.take(rows), np.unique(member, return_inverse=True)[1]
    try:
        part.units(labels, which)
        part.columns(labels, which)
    except InputError as error:
        # What to do instead is for comparisons of these two alone.
        return str(error.values.get("finding", error)).rstrip(".")
    return ""


def _found(
    problem: Problem,
    classes: tuple[Any, ...],
    blocks: Sequence[Block],
    pairwise: dict[tuple[Any, Any], NetworkComparison] | None = None,
    untested: dict[tuple[Any, Any], str] | None = None,
) -> NetworkComparison:
    """Turn statistics into p-values; the first block holds the groups as they are."""
    sizes = problem.spread if len(classes) > 2 else problem.differences(0, 1)
    marginal, partial = edge_tests(problem, sizes, blocks, classes)
    pvalue, pvalues, evidence = verdict(joined_totals(blocks))
    is_self = np.eye(problem.n_columns, dtype=bool)
    correlations, networks = (np.where(is_self, 0.0, one) for one in problem.observed)
    nodes, strengths, pvalue_strength = _node_tests(problem, blocks, classes)
    return NetworkComparison(
        pvalue=pvalue,
        pvalues=pvalues,
        evidence=float(evidence[0]),
        null_evidence=evidence[1:],
        partial=partial,
        marginal=marginal,
        networks=networks,
        correlations=correlations,
        pvalue_strength=pvalue_strength,
        strengths=strengths,
        nodes=nodes,
        columns=_columns(problem, classes, blocks, list((pairwise or {}).values())),
        pairwise=pairwise or {},
        untested=untested or {},
        shrinkage=problem.shrinkage,
        rare=problem.rare,
        classes=classes,
        n_rows=tuple(problem.units.sizes.tolist()),
        n_permutations=len(evidence) - 1,
    )


def _columns(
    problem: Problem,
    classes: Sequence[Any],
    blocks: Sequence[Block],
    pairwise: Sequence[NetworkComparison],
) -> pd.DataFrame:
    """Test means and spreads of each column, by itself and among all columns."""
    import pandas as pd

    found: dict[str, Any] = {"column": list(problem.names)}
    differences = np.abs(np.concatenate([block.columns for block in blocks], axis=2))
    for what, sizes, values in zip(
        ("mean", "spread"), differences, problem.moments.summaries, strict=True
    ):
        found |= {f"{what}_{label}": one for label, one in zip(classes, values, strict=True)}
        heads = (f"{what}_pvalue", f"{what}_pvalue_familywise")
        if len(classes) == 2:
            least = at_least(sizes[:, :1])
            reached = (sizes >= least, sizes.max(axis=0) >= least)
            found |= {head: np.mean(one, axis=1) for head, one in zip(heads, reached, strict=True)}
        else:
            for head in heads:
                smallest = [one.columns[head] for one in pairwise]
                least = np.min(smallest, axis=0, initial=1.0)
                found[head] = np.minimum(least * len(smallest), 1.0) if smallest else np.nan
    return pd.DataFrame(found)


def edge_tests(
    problem: Problem, sizes: FloatArray, blocks: Sequence[Block], classes: tuple[Any, ...]
) -> tuple[PermutationTest, PermutationTest]:
    """Test pairs of columns one by one, by correlations and by partial ones.

    ``sizes``, of shape (2, p, p), are the differences that were found, in standard errors.
    """
    totals, counts = joined_totals(blocks), np.sum([block.reached for block in blocks[1:]], axis=0)
    found = []
    for family, difference, reached in zip((CORRELATION, PARTIAL), sizes, counts, strict=True):
        weights = np.triu(difference, 1)
        graph = Graph(weights + weights.T, names=problem.names)
        test = assemble_test(
            graph,
            reached[np.nonzero(np.triu(graph.adjacency))],
            null_max=totals[1:, family, LARGEST],
            null_sum=totals[1:, family, ABSOLUTE],
            classes=classes,
        )
        found.append(test)
    return found[0], found[1]


def _node_tests(
    problem: Problem, blocks: Sequence[Block], labels: Sequence[Any]
) -> tuple[pd.DataFrame, FloatArray, float]:
    """Test the links and the strength of each column, and the strength of the whole network.

    A group of few rows has larger partial correlations by chance. Strengths are therefore compared
    with their mean over the shuffles of a group of its size.
    """
    import pandas as pd

    strengths = np.concatenate([block.strengths for block in blocks])
    whole = strengths.sum(axis=2, keepdims=True) / 2
    links = np.concatenate([block.links for block in blocks])
    found: dict[str, Any] = {"node": list(problem.names)}
    found |= {f"strength_{label}": strengths[0, k] for k, label in enumerate(labels)}
    for what, sizes in (("strength", _apart(strengths, problem.units.sizes)), ("links", links)):
        # Every node counts alike in the largest: over the mean of its own shuffles.
        sizes = sizes / np.maximum(sizes.mean(axis=0), np.finfo(np.float64).tiny)
        least = sizes[0] * (1 - NODE_TIES)
        pvalues = np.mean(sizes >= least, axis=0)
        found |= {
            f"{what}_pvalue": pvalues,
            f"{what}_qvalue": stats.false_discovery_control(pvalues),
            f"{what}_pvalue_familywise": np.mean(sizes.max(axis=1)[:, None] >= least, axis=0),
        }
    total = _apart(whole, problem.units.sizes)[:, 0]
    pvalue = float(np.mean(total >= total[0] * (1 - NODE_TIES)))
    return pd.DataFrame(found), whole[0, :, 0], pvalue


def _apart(values: FloatArray, sizes: IntArray) -> FloatArray:
    """Return squares between groups of values, of shape (1 + b, K, p), beyond their means."""
    beyond = values - values.mean(axis=0)
    shares = (sizes / sizes.sum())[:, None]
    beyond -= (shares * beyond).sum(axis=1, keepdims=True)
    return np.asarray((shares * beyond**2).sum(axis=1))
