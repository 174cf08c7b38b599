"""Whether the networks of several groups of rows differ, and which groups, edges and nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from edgewise._core.parallel import as_generator, spawn
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.labels import label_codes
from edgewise.data.table import take_rows
from edgewise.inference.design import Design
from edgewise.inference.difference import (
    NetworkDifference,
    edge_tests,
    network_difference_test,
    node_tests,
)
from edgewise.inference.networks import (
    joined_totals,
    pose,
    shuffle,
    verdict,
)
from edgewise.inference.permutation import PermutationTest

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupDifference:
    """What `group_difference_test` found; K is the number of groups, p that of variables.

    Attributes
    ----------
    pvalue : float
        That the networks of any groups differ: the omnibus verdict, of all statistics together.
    pvalues : dict of str to float
        Of each statistic by itself.
    evidence : float
        Minus the logarithm, to base 10, of the weighted harmonic mean of the p-values.
    null_evidence : ndarray of shape (n_permutations,)
        The same of each permutation.
    partial : PermutationTest
        Pair by pair of variables, of partial correlations, over all groups. ``observed`` holds
        how far the groups lie apart, in standard errors.
    marginal : PermutationTest
        The same of correlations.
    networks : ndarray of shape (K, p, p)
        Partial correlations of each group; 0 on the diagonal.
    pvalue_strength : float
        That the global strength, the sum of all absolute partial correlations, differs.
    strengths : ndarray of shape (K,)
        The global strength of each group.
    nodes : DataFrame
        A row per variable: its strength in each group (``strength_`` and the label), with
        ``strength_p``, ``strength_q`` and ``strength_p_familywise``, and the same of all of its
        links (``links_p``, ...), by the sum of their squared standardised differences.
    pairwise : dict of (label, label) to NetworkDifference
        The test of each pair of groups, by permutations of the rows of these two.
    shrinkage : float
        Share of the identity in the correlations that were inverted.
    rare : tuple of str
        Columns that vary in too few rows to be compared; they have no part in the networks.
    classes : tuple
        Labels of the groups.
    n_rows : tuple of int
        Their sizes.
    n_permutations : int
        Permutations of the omnibus test; all that there are, if those are no more than were asked
        for.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.inference import group_difference_test
    >>> X, dose = np.random.default_rng(0).normal(size=(150, 4)), np.repeat([0, 1, 2], 50)
    >>> X[dose == 2, 1] += 2 * X[dose == 2, 0]
    >>> test = group_difference_test(X, dose, n_permutations=199, random_state=0)
    >>> test.pvalue
    0.005
    >>> test.pairs()[["first", "second", "p_holm"]].head(2)
       first  second  p_holm
    0      0       2   0.015
    1      1       2   0.015
    """

    pvalue: float
    pvalues: dict[str, float]
    evidence: float
    null_evidence: FloatArray = field(repr=False)
    partial: PermutationTest = field(repr=False)
    marginal: PermutationTest = field(repr=False)
    networks: FloatArray = field(repr=False)
    pvalue_strength: float
    strengths: FloatArray = field(repr=False)
    nodes: pd.DataFrame = field(repr=False)
    pairwise: dict[tuple[Any, Any], NetworkDifference] = field(repr=False)
    shrinkage: float
    rare: tuple[str, ...]
    classes: tuple[Any, ...]
    n_rows: tuple[int, ...]
    n_permutations: int

    def pairs(self) -> pd.DataFrame:
        """List the pairs of groups, with p-values corrected for their number; smallest first.

        Returns
        -------
        DataFrame
            ``first`` and ``second`` label, rows of each, ``p`` of the pair by itself and
            ``p_holm``, family-wise over the pairs of groups; the variables with the largest
            change (``source``, ``target``), the ``change`` of their partial correlation and its
            ``p_largest``, family-wise over all pairs of variables; and the difference in global
            strength (``strength_change``) with ``p_strength``.
        """
        import pandas as pd

        found = []
        for (first, second), test in self.pairwise.items():
            top = test.pairs().iloc[0]
            one = {"first": first, "second": second}
            one |= dict(zip(("n_first", "n_second"), test.n_rows, strict=True))
            one |= {
                "p": test.pvalue,
                "p_holm": 1.0,
                "source": top["source"],
                "target": top["target"],
                "change": top["change"],
                "p_largest": test.partial.pvalue,
                "strength_change": test.strengths[1] - test.strengths[0],
                "p_strength": test.pvalue_strength,
            }
            found.append(one)
        table = pd.DataFrame(found)
        table["p_holm"] = holm(table["p"].to_numpy())
        return table.sort_values("p", kind="stable", ignore_index=True)

    def differences(self, level: float = 1.0) -> pd.DataFrame:
        """List pairs of variables by pairs of groups, in the order of ``classes``.

        Parameters
        ----------
        level : float
            Largest ``p`` that is listed.

        Returns
        -------
        DataFrame
            ``first`` and ``second`` label, and the columns of `NetworkDifference.pairs`, whose
            ``p_familywise`` is over the pairs of variables of two groups.
        """
        import pandas as pd

        found = []
        for (first, second), test in self.pairwise.items():
            table = test.pairs()
            table = table[table["p"] <= level]
            table.insert(0, "first", first)
            table.insert(1, "second", second)
            found.append(table)
        joined: pd.DataFrame = pd.concat(found, ignore_index=True)
        return joined

    def edges(self) -> pd.DataFrame:
        """List all pairs of variables, those in which the groups lie furthest apart first.

        Returns
        -------
        DataFrame
            ``source``, ``target``, the partial correlation in each group (by its label),
            ``spread`` in standard errors, ``p``, ``q`` and ``p_familywise``.
        """
        import pandas as pd

        names = np.array(self.partial.observed.names, dtype=object)
        i, j = np.triu_indices(len(names), 1)
        found = {"source": names[i], "target": names[j]}
        found |= {
            str(label): network[i, j]
            for label, network in zip(self.classes, self.networks, strict=True)
        }
        found |= {
            "spread": self.partial.observed.weights[i, j],
            "p": self.partial.pvalues[i, j],
            "q": self.partial.qvalues[i, j],
            "p_familywise": self.partial.familywise[i, j],
        }
        return pd.DataFrame(found).sort_values(
            "spread", ascending=False, kind="stable", ignore_index=True
        )


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


def group_difference_test(
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
) -> GroupDifference:
    r"""Test whether the networks of several groups differ, and which groups do.

    The omnibus test is `network_difference_test` for K groups. A correlation :math:`r_k` of group
    k, or a partial one, that a row adds the variance :math:`v` to, is as far from the others as

    .. math:: t_{ij}^2 = \sum_{k < l} \frac{n_k n_l}{n} \frac{(r_{k, ij} - r_{l, ij})^2}{v_{ij}}

    says, the squares between groups in an analysis of variance; for two groups it is the squared
    standardised difference. Sums of :math:`t^2` and :math:`t^6` and a Schatten norm, for
    correlations, partial ones, magnitudes and curves, are combined and held against permutations
    as for two groups. No strength of a penalty is chosen.

    Each pair of groups is then tested by `network_difference_test`, with permutations of the rows
    of these two alone, so that a third group that differs does not matter, and the p-values are
    corrected by Holm's steps [1]_: whichever groups differ, the chance that any pair that does
    not is named is at most the level.

    Parameters
    ----------
    X : array-like or data frame of shape (n, p)
        Rows of all groups; numbers without gaps.
    y : array-like of shape (n,)
        Labels of two groups or more, of any type that can be sorted.
    ranks : bool
        Turn columns into normal scores within each group. Without, a few far rows decide.
    n_permutations : int
        Number of permutations; where there are fewer ways to deal out the labels, each is used
        once. With m pairs of groups, no ``p_holm`` is below ``m / (1 + n_permutations)``.
    block_length : int
        Rows that change groups together: blocks of so many consecutive rows of a group.
    design : Design, optional
        Pairs, blocks, clusters and covariates. Without it, rows are independent of each other.
    risk : float, optional
        End each test once its p-value is above or below 5 % beyond doubt: the chance that any
        number of permutations would decide otherwise is at most this.
    n_jobs : int, optional
        Blocks of permutations at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the permutations.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    GroupDifference

    References
    ----------
    .. [1] Holm (1979). A simple sequentially rejective multiple test procedure. *Scandinavian
       Journal of Statistics* 6(2). https://www.jstor.org/stable/4615733

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.inference import group_difference_test
    >>> X = np.random.default_rng(0).normal(size=(150, 4))
    >>> site = np.repeat(["north", "south", "west"], 50)
    >>> test = group_difference_test(X, site, n_permutations=199, random_state=0)
    >>> test.pvalue > 0.05, len(test.pairs())
    (True, 3)
    """
    problem, classes = pose(X, y, design, ranks=ranks, block_length=block_length)
    member = label_codes(y, problem.units.n_rows)[1]
    streams = spawn(as_generator(random_state), 1 + len(classes) * (len(classes) - 1) // 2)
    options: dict[str, Any] = {
        "block_length": block_length,
        "risk": risk,
        "n_jobs": n_jobs,
        "verbose": verbose,
    }
    blocks = shuffle(problem, n_permutations, random_state=streams[0], **options)
    options |= {"ranks": ranks, "n_permutations": n_permutations}
    pairwise = {
        (classes[k], classes[m]): network_difference_test(
            **_rows_of(X, y, design, np.flatnonzero((member == k) | (member == m))),
            random_state=stream,
            **options,
        )
        for (k, m), stream in zip(combinations(range(len(classes)), 2), streams[1:], strict=True)
    }
    marginal, partial = edge_tests(problem, problem.spread, blocks, classes)
    pvalue, pvalues, evidence = verdict(joined_totals(blocks))
    return GroupDifference(
        pvalue=pvalue,
        pvalues=pvalues,
        evidence=float(evidence[0]),
        null_evidence=evidence[1:],
        partial=partial,
        marginal=marginal,
        networks=np.where(np.eye(problem.n_columns, dtype=bool), 0.0, problem.observed[1]),
        **node_tests(problem, blocks, [str(label) for label in classes])._asdict(),
        pairwise=pairwise,
        shrinkage=problem.shrinkage,
        rare=problem.rare,
        classes=classes,
        n_rows=tuple(problem.units.sizes.tolist()),
        n_permutations=len(evidence) - 1,
    )


def _rows_of(X: Any, y: Any, design: Design | None, rows: IntArray) -> dict[str, Any]:
    """Return rows, labels and design of some rows, as arguments of a test."""
    part = None if design is None else design.take(rows)
    return {"X": take_rows(X, rows), "y": take_rows(y, rows), "design": part}
