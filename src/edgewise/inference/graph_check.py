"""Whether rows contradict a directed graph: tests of the independences that it implies."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from scipy import linalg, stats
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

from edgewise._core.constraints import Number
from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.kinds import read_mixed
from edgewise.data.labels import label_codes
from edgewise.data.table import Table, take_rows
from edgewise.estimators.directed.levels import level_kinds
from edgewise.estimators.directed.linear_network import LinearNetwork
from edgewise.graph import Graph
from edgewise.graph.equivalence import (
    apply_meek_rules,
    extend_pattern,
    find_cycle,
    longest_paths,
)
from edgewise.inference.adjustment import NO_VARIANCE
from edgewise.selection.criteria import false_discovery_control
from edgewise.solvers.directed.tables import LevelTable, RatioTests

if TYPE_CHECKING:
    import pandas as pd

#: Level of single tests, at which contradictions are counted.
SIGNIFICANCE: Final = 0.05
#: Graphs with permuted names that the graph is compared with.
PERMUTATIONS: Final = 100


class Implied(NamedTuple):
    """An independence that a graph implies: of a node and an earlier one, given the parents."""

    node: int
    other: int
    given: tuple[int, ...]
    estimate: float
    pvalue: float


class _Fold(NamedTuple):
    """Tests of a graph in rows that did not choose it, and how graphs with other names do there."""

    tests: list[Implied]
    pvalue: float
    permuted: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class GraphCheck:
    """What rows say of the independences that a graph implies, as `check_graph` returns it.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.
    tests : tuple of tuple of Implied
        By part of the rows: each independence that could be tested there.
    pvalue : float
        Of the graph as a whole; NaN where it implies nothing that could be tested. A small one
        says that the rows contradict it.
    contradicted : float
        Share of the tests that are significant at 5 %. A true graph has 0.05.
    permuted : ndarray
        The same share for graphs with permuted names.
    """

    names: tuple[str, ...]
    tests: tuple[tuple[Implied, ...], ...]
    pvalue: float
    contradicted: float
    permuted: FloatArray

    @property
    def n_tests(self) -> int:
        """Number of independences that were tested."""
        return sum(map(len, self.tests))

    @property
    def n_contradicted(self) -> int:
        """Number of them that are significant at 5 %."""
        return sum(one.pvalue <= SIGNIFICANCE for part in self.tests for one in part)

    def table(self) -> pd.DataFrame:
        """List the independences, the most clearly contradicted first.

        Returns
        -------
        DataFrame
            ``source``, ``target``, ``given`` (columns that are held), ``estimate`` (the partial
            correlation; NaN for levels), ``pvalue``, ``qvalue`` (Benjamini and Hochberg), and
            ``part`` of the rows in which it was tested.
        """
        import pandas as pd

        found = [(part, one) for part, own in enumerate(self.tests) for one in own]
        pvalues = np.array([one.pvalue for _, one in found])
        listed = pd.DataFrame(
            {
                "source": [self.names[one.other] for _, one in found],
                "target": [self.names[one.node] for _, one in found],
                "given": [", ".join(self.names[k] for k in one.given) for _, one in found],
                "estimate": [one.estimate for _, one in found],
                "pvalue": pvalues,
                "qvalue": false_discovery_control(pvalues) if found else pvalues,
                "part": [part for part, _ in found],
            }
        )
        return listed.sort_values("pvalue", kind="stable", ignore_index=True)


def check_graph(
    graph: Any,
    X: Any,
    *,
    n_folds: int = 2,
    n_permutations: int = PERMUTATIONS,
    clusters: Any = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> GraphCheck:
    r"""Test the independences that a directed graph implies, in rows that did not choose it.

    With the columns in an order of the graph, each is independent of the earlier ones that are not
    its parents, given its parents: one test for each pair without an edge, by the partial
    correlation, or with levels by the likelihood ratio. Of Gaussian rows from the graph the tests
    of different columns are independent. So with :math:`p_j` the smallest p-value of column j times
    their number, Fisher's

    .. math:: -2 \sum_j \log \min(1, p_j)

    gives a p-value for the graph as a whole, conservative by what Bonferroni's correction is.
    For scale, the share of tests that are significant at 5 % is also that of the same graph with
    permuted names [1]_.

    Parameters
    ----------
    graph : Graph or estimator
        A directed `Graph` (a CPDAG stands for all graphs of its class, which imply the same), to be
        tested in all rows: they must not be those that it was learned from. Or a `DirectedGraph`,
        fitted or not, that is learned again from the other folds for each fold of the rows.
    X : array-like or data frame of shape (n, m)
        Rows. Those with missing values do not count.
    n_folds : int
        Parts of the rows that a learner is tested in; not for a `Graph`.
    n_permutations : int
        Graphs with permuted names.
    clusters : sequence of n labels, optional
        Rows of one cluster, such as a subject or a block in time, stay in one fold.
    random_state : int, Generator, RandomState or None
        Draws folds and permutations.
    n_jobs : int, optional
        Folds at a time. The result does not depend on it.

    Returns
    -------
    GraphCheck
        ``pvalue``, ``contradicted``, ``permuted``; ``table()`` lists the tests.

    References
    ----------
    .. [1] Eulig, Mastakouri, Blöbaum, Hardt and Janzing (2025). Toward falsifying causal graphs
       using a permutation-based test. *AAAI*. https://doi.org/10.1609/aaai.v39i25.34871

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import DirectedGraph
    >>> from edgewise.inference import check_graph
    >>> rng = np.random.default_rng(0)
    >>> a, b, c, d = rng.normal(size=(4, 400))
    >>> b += a
    >>> c += b
    >>> d += c
    >>> found = check_graph(DirectedGraph(), np.c_[a, b, c, d], random_state=0)
    >>> found.n_contradicted, found.n_tests, bool(found.permuted.mean() > 0.5)
    (0, 6, True)
    """
    rng = as_generator(random_state)
    Number(at_least=2, is_whole=True).check("n_folds", n_folds)
    Number(at_least=0, is_whole=True).check("n_permutations", n_permutations)
    if isinstance(graph, Graph):
        dag = _member(graph)
        rows = _Rows.read(_columns_of(graph, X), None)
        folds = [_test(dag, rows, n_permutations, rng)]
    else:
        learner = getattr(graph, "estimator_", getattr(graph, "estimator", graph))
        if not isinstance(learner, LinearNetwork):
            raise InputError("no_directed_graph", "graph", learner=type(learner).__name__)
        rows = _Rows.read(X, getattr(learner, "kinds", None))
        folds = parallel_map(
            _learn_and_test,
            [
                (learner, take_rows(X, chosen), rows.drawn(held), n_permutations, own)
                for (chosen, held), own in zip(
                    rows.split(n_folds, clusters, rng), rng.spawn(n_folds), strict=True
                )
            ],
            n_jobs=n_jobs,
        )
    pvalues = np.array([fold.pvalue for fold in folds])
    pvalues = pvalues[~np.isnan(pvalues)]
    singles = np.array([one.pvalue for fold in folds for one in fold.tests])
    return GraphCheck(
        names=rows.names,
        tests=tuple(tuple(fold.tests) for fold in folds),
        pvalue=min(1.0, float(pvalues.min() * len(pvalues))) if len(pvalues) else float("nan"),
        contradicted=_share(singles),
        permuted=np.mean([fold.permuted for fold in folds], axis=0),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """Complete rows of a table: numbers, or numbers of levels."""

    names: tuple[str, ...]
    values: FloatArray
    n_levels: IntArray
    which: IntArray
    n_rows: int

    @classmethod
    def read(cls, X: Any, kinds: Any) -> _Rows:
        """Read the table; ``which`` are the numbers of the rows that are complete."""
        names = Table.from_input(X).names
        table = read_mixed(X, level_kinds(X, kinds) or dict.fromkeys(names, "continuous"), "drop")
        return cls(
            names=tuple(table.names),
            values=table.values,
            n_levels=np.array([0 if own is None else len(own) for own in table.levels]),
            which=np.flatnonzero(table.is_kept),
            n_rows=len(table.is_kept),
        )

    def split(
        self, n_folds: int, clusters: Any, rng: np.random.Generator
    ) -> Iterator[tuple[IntArray, IntArray]]:
        """Deal the rows out; give the rows of the table to learn from, and own rows to test in."""
        seed = int(rng.integers(2**31))
        if clusters is None:
            folds = KFold(n_folds, shuffle=True, random_state=seed).split(self.which)
        else:
            member = label_codes(clusters, self.n_rows)[1][self.which]
            folds = GroupKFold(n_folds, shuffle=True, random_state=seed).split(
                self.which, groups=member
            )
        for chosen, held in folds:
            yield self.which[chosen], held

    def drawn(self, rows: IntArray) -> _Rows:
        """Return some of the rows."""
        return replace(self, values=self.values[rows], which=self.which[rows])

    @cached_property
    def tests(self) -> Callable[[int, Sequence[int], Sequence[int]], Iterator[Implied]]:
        """Tests of a column and each of some others, given its parents."""
        if (self.n_levels > 0).any():
            table = LevelTable.from_rows(self.values, self.n_levels)
            return partial(_by_likelihood, RatioTests(table.cells()))
        m = self.values.shape[1]
        with np.errstate(invalid="ignore", divide="ignore"):
            R = np.nan_to_num(np.corrcoef(self.values, rowvar=False))
        return partial(_by_correlation, np.reshape(R, (m, m)), len(self.values))


def _by_correlation(
    R: FloatArray, n: int, node: int, parents: Sequence[int], others: Sequence[int]
) -> Iterator[Implied]:
    """Test partial correlations by Student's t."""
    freedom = n - 2 - len(parents)
    if freedom < 1 or not len(others):
        return
    given, both = list(parents), [node, *others]
    left = R[np.ix_(both, both)]
    if given:
        inner = linalg.lstsq(R[np.ix_(given, given)], R[np.ix_(given, both)], cond=NO_VARIANCE)[0]
        left = left - R[np.ix_(both, given)] @ inner
    spread = np.sqrt(np.maximum(left.diagonal(), 0.0))
    if spread[0] <= NO_VARIANCE:
        return
    for other, own, product in zip(others, spread[1:], left[0, 1:], strict=True):
        if own > NO_VARIANCE:
            r = float(np.clip(product / (own * spread[0]), -1.0, 1.0))
            t = abs(r) * np.sqrt(freedom / max(1.0 - r * r, NO_VARIANCE))
            yield Implied(node, int(other), tuple(given), r, float(2.0 * stats.t.sf(t, freedom)))


def _by_likelihood(
    ratios: RatioTests, node: int, parents: Sequence[int], others: Sequence[int]
) -> Iterator[Implied]:
    """Test by likelihood ratios, where there are enough rows for each cell."""
    for other in others:
        log_p = ratios.log_p(node, other, parents)
        if log_p is not None:
            yield Implied(node, int(other), tuple(parents), np.nan, float(np.exp(log_p)))


def _implied(dag: BoolArray, rows: _Rows) -> list[list[Implied]]:
    """Test what a directed acyclic graph implies, column by column."""
    order = np.argsort(longest_paths(dag), kind="stable")
    found = []
    for place, node in enumerate(order.tolist()):
        earlier = order[:place]
        parents = np.flatnonzero(dag[:, node]).tolist()
        others = np.sort(earlier[~dag[earlier, node]]).tolist()
        found.append(list(rows.tests(node, parents, others)))
    return found


def _test(dag: BoolArray, rows: _Rows, n_permutations: int, rng: np.random.Generator) -> _Fold:
    """Test a graph, and the same with permuted names."""
    by_node = _implied(dag, rows)
    smallest = [min(one.pvalue for one in own) * len(own) for own in by_node if own]
    pvalue = float("nan")
    if smallest:
        logs = np.log(np.maximum(np.minimum(smallest, 1.0), np.finfo(float).tiny))
        pvalue = float(stats.chi2.sf(-2.0 * logs.sum(), 2 * len(smallest)))
    permuted = []
    for _ in range(n_permutations):
        place = rng.permutation(len(dag))
        other = _implied(dag[np.ix_(place, place)], rows)
        permuted.append(_share(np.array([one.pvalue for own in other for one in own])))
    return _Fold([one for own in by_node for one in own], pvalue, np.array(permuted))


def _learn_and_test(
    learner: Any, X: Any, rows: _Rows, n_permutations: int, rng: np.random.Generator
) -> _Fold:
    """Learn the network from some rows and test it in others."""
    return _test(_member(clone(learner).fit(X).graph_), rows, n_permutations, rng)


def _share(pvalues: FloatArray) -> float:
    return float(np.mean(pvalues <= SIGNIFICANCE)) if len(pvalues) else float("nan")


def _member(graph: Graph) -> BoolArray:
    """Return a directed acyclic graph with the independences of a graph or its class."""
    if not graph.directed:
        raise InputError("needs_directed_graph", "graph")
    if cycle := find_cycle(graph.adjacency & ~graph.adjacency.T):
        raise InputError("cyclic_graph", cycle=[graph.names[k] for k in cycle])
    return extend_pattern(apply_meek_rules(graph.adjacency)).dag


def _columns_of(graph: Graph, X: Any) -> Any:
    """Put the columns of a table into the order of the graph's nodes."""
    table = Table.from_input(X)
    if {*graph.names} <= {*table.names} and hasattr(X, "columns"):
        return X[list(graph.names)]
    if len(table.names) != len(graph.names):
        raise InputError(
            "columns_not_of_graph",
            "X",
            columns=[name for name in graph.names if name not in table.names],
        )
    return X
