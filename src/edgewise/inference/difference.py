"""Whether the networks of two groups of rows differ: one p-value out of several statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import stats

from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.labels import TwoGroups, two_groups
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
NODE_TIES: Final = 1e-9


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
    pvalue_strength : float
        That the global strength, the sum of all absolute partial correlations, differs.
    strengths : ndarray of shape (2,)
        The global strength of both groups.
    nodes : DataFrame
        A row per variable: its strength in each group (``strength_before``, ``strength_after``),
        with ``strength_p``, ``strength_q`` and ``strength_p_familywise``, and the same of all of
        its links (``links_p``, ...), by the sum of their squared standardised differences.
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
    pvalue_strength: float
    strengths: FloatArray = field(repr=False)
    nodes: pd.DataFrame = field(repr=False)
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
    design: Design | None = None,
    risk: float | None = None,
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
    groups = two_groups(y, count_rows(X))
    problem, _ = pose(X, y, design, ranks=ranks, block_length=block_length)
    blocks = shuffle(
        problem,
        n_permutations,
        block_length=block_length,
        risk=risk,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    return _result(problem, groups, blocks)


def _result(problem: Problem, groups: TwoGroups, blocks: Sequence[Block]) -> NetworkDifference:
    """Turn statistics into p-values; the first block holds the groups as they are."""
    marginal, partial = edge_tests(problem, problem.differences(0, 1), blocks, groups.classes)
    before, after = np.where(np.eye(problem.n_columns, dtype=bool), 0.0, problem.observed[1])
    pvalue, pvalues, evidence = verdict(joined_totals(blocks))
    columns = _columns(problem, np.concatenate([block.columns for block in blocks], axis=2))
    first, second = problem.units.sizes.tolist()
    return NetworkDifference(
        pvalue=pvalue,
        pvalues=pvalues,
        evidence=float(evidence[0]),
        null_evidence=evidence[1:],
        partial=partial,
        marginal=marginal,
        before=before,
        after=after,
        shrinkage=problem.shrinkage,
        **node_tests(problem, blocks, ("before", "after"))._asdict(),
        pvalue_means=float(columns["mean_p_familywise"].min()),
        pvalue_spreads=float(columns["spread_p_familywise"].min()),
        columns=columns,
        rare=problem.rare,
        classes=groups.classes,
        n_rows=(first, second),
        n_permutations=len(evidence) - 1,
    )


def _columns(problem: Problem, differences: FloatArray) -> pd.DataFrame:
    """Test means and spreads of each column, by itself and among all columns."""
    import pandas as pd

    found: dict[str, Any] = {"column": list(problem.names)}
    for what, sizes, (before, after) in zip(
        ("mean", "spread"), np.abs(differences), problem.moments.summaries, strict=True
    ):
        least = at_least(sizes[:, :1])
        found |= {
            f"{what}_before": before,
            f"{what}_after": after,
            f"{what}_p": np.mean(sizes >= least, axis=1),
            f"{what}_p_familywise": np.mean(sizes.max(axis=0) >= least, axis=1),
        }
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


class NodeTests(NamedTuple):
    """Tests of the strengths of columns, and of all of them together."""

    nodes: pd.DataFrame
    strengths: FloatArray
    pvalue_strength: float


def node_tests(problem: Problem, blocks: Sequence[Block], labels: Sequence[str]) -> NodeTests:
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
            f"{what}_p": pvalues,
            f"{what}_q": stats.false_discovery_control(pvalues),
            f"{what}_p_familywise": np.mean(sizes.max(axis=1)[:, None] >= least, axis=0),
        }
    total = _apart(whole, problem.units.sizes)[:, 0]
    return NodeTests(
        nodes=pd.DataFrame(found),
        strengths=whole[0, :, 0],
        pvalue_strength=float(np.mean(total >= total[0] * (1 - NODE_TIES))),
    )


def _apart(values: FloatArray, sizes: IntArray) -> FloatArray:
    """Return squares between groups of values, of shape (1 + b, K, p), beyond their means."""
    beyond = values - values.mean(axis=0)
    shares = (sizes / sizes.sum())[:, None]
    beyond -= (shares * beyond).sum(axis=1, keepdims=True)
    return np.asarray((shares * beyond**2).sum(axis=1))
