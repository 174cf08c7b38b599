"""Bootstrap of edges, of the directions of arcs, and of statistics of nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse, stats
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.graph import Graph
from edgewise.graph.equivalence import complete_dag
from edgewise.graph.metrics import edge_vector, node_statistics
from edgewise.inference.resample import (
    Draw,
    Outcome,
    Problem,
    Resample,
    ResamplingGraph,
    cluster_codes,
    frequency,
    graph_of,
    kinds_of,
    rows_of_clusters,
)

if TYPE_CHECKING:
    import pandas as pd

#: Entries of the dense block in which quantiles are taken.
BLOCK = 10**7
#: A column of `node_statistics`, ``"edges"`` for all weights, or a function of a graph.
Statistic: TypeAlias = str | Callable[[Graph], ArrayLike]


class BootstrapGraph(ResamplingGraph):
    """Bootstrap of the rows around any estimator that learns a graph.

    The estimator is fitted to all rows, and again to ``n_resamples`` draws of as many rows with
    replacement [1]_, each time with whatever search it does. How often an edge is found says how
    much the graph depends on the rows at hand. Penalised weights are drawn towards 0, so the
    intervals describe their variation and are not confidence intervals for the true weights.
    What else the fit to all rows has learned, such as ``precision_``, is read from it.

    Parameters
    ----------
    estimator : estimator
        Has ``graph_`` after ``fit``; a pipeline or a search may end in one.
    n_resamples : int
        Draws of the rows.
    level : float
        Share of the resampled weights that ``interval_`` covers.
    block_length : int
        Rows that are drawn together: blocks of so many consecutive ones [2]_, for rows in order
        that are like the rows before them. 1 draws rows one by one.
    prefit : bool
        Whether ``estimator`` has been fitted to the rows that are passed to ``fit``. It is then
        used as it is, and copies of it are fitted to the resamples only.
    n_jobs : int, optional
        Resamples fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the rows, and seeds every ``random_state`` of the estimator that is None.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Attributes
    ----------
    estimator_ : estimator
        Fitted to all rows; with ``prefit``, ``estimator`` itself.
    graph_ : Graph
        Of ``estimator_``, with the frequencies as ``confidence``.
    edge_frequency_ : ndarray of shape (p, p)
        Share of the resamples that have each edge (arc, for directed graphs).
    direction_frequency_ : ndarray of shape (p, p)
        For directed graphs, the share of the resamples in which the arc i -> j is identified: all
        networks that fit as well have it.
    interval_ : ndarray of shape (2, p, p)
        Lower and upper percentile of each weight, 0 where the edge is absent.
    n_resamples_ : int
        Resamples that were fitted.
    failures_ : list of (int, str)
        Number and error of those that were not.
    n_redrawn_ : int
        Draws thrown away because a column became constant.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Efron (1979). Bootstrap methods: another look at the jackknife. *Annals of Statistics*
       7(1). https://doi.org/10.1214/aos/1176344552
    .. [2] Künsch (1989). The jackknife and the bootstrap for general stationary observations.
       *Annals of Statistics* 17(3). https://doi.org/10.1214/aos/1176347265

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import BootstrapGraph, GaussianGraph
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> X[:, 1] += X[:, 0]
    >>> model = BootstrapGraph(GaussianGraph(alpha=0.3), n_resamples=20, random_state=0).fit(X)
    >>> float(model.edge_frequency_[0, 1])
    1.0
    """

    _methods = (
        "The confidence of an edge is the share of bootstrap resamples (Efron 1979) whose "
        "network has it."
    )
    _cites = ("efron1979",)

    def __init__(
        self,
        estimator: Any,
        *,
        n_resamples: int = 200,
        level: float = 0.95,
        block_length: int = 1,
        prefit: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.level = level
        self.block_length = block_length
        self.prefit = prefit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __getattr__(self, name: str) -> Any:
        # Code that reads a model file need not know whether the run had time to resample.
        if name.endswith("_") and not name.startswith("_") and "estimator_" in self.__dict__:
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        interventions: Any = None,
        clusters: Any = None,
    ) -> Self:
        """Fit the estimator to all rows and to every resample.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows.
        y : array-like of shape (n,), optional
            Passed on to the estimator. Rows are drawn within the classes where it is a label.
        sample_weight : array-like of shape (n,), optional
            Passed on with the rows; it does not change how often a row is drawn.
        interventions : sequence of n columns, or array of bool of shape (n, p), optional
            What was set in each row, for `DirectedGraph`. Rows are drawn among those in which the
            same was set.
        clusters : array-like of shape (n,), optional
            Which rows belong together, as those of one subject do: whole clusters are drawn.

        Returns
        -------
        BootstrapGraph
        """
        if self.n_resamples < 2 or not 0 < self.level < 1:
            raise InputError(
                "n_resamples_and_level", n_resamples=self.n_resamples, level=self.level
            )
        if self.block_length < 1:
            raise InputError("block_length_at_least_one", block_length=self.block_length)
        problem = replace(self._problem(X, y, sample_weight, None), interventions=interventions)
        generator = as_generator(self.random_state)
        # Drawn in either case, so that the resamples do not depend on ``prefit``.
        seed = int(generator.integers(2**31 - 1))
        graph = self._fit_all(problem, seed)
        problem = replace(problem, kinds=kinds_of(self.estimator_))
        draw: Draw = partial(_draw, block_length=self.block_length)
        if clusters is not None:
            draw = partial(_draw_clusters, member=cluster_codes(clusters, X, self.block_length))
        outcomes = self._resample(problem, draw, generator, self.n_resamples, "Bootstrap")
        # A model file has none of them, as they would be most of it.
        self._outcomes = outcomes
        self.edge_frequency_ = frequency(outcomes, graph.n_nodes)
        self.interval_ = _intervals(outcomes, graph.n_nodes, self.level)
        if graph.directed:
            self.direction_frequency_ = _directions(outcomes, self.estimator_, graph.n_nodes)
        self.graph_ = Graph(
            graph.weights,
            names=graph.names,
            directed=graph.directed,
            adjacency=graph.adjacency,
            confidence=self.edge_frequency_,
            signed=graph.signed,
            decided=graph.decided,
        )
        return self

    def resampled(self, statistic: Statistic = "strength") -> FloatArray:
        """Compute a statistic of the graph of each resample.

        Parameters
        ----------
        statistic : str or callable
            A column of `edgewise.metrics.node_statistics`, ``"edges"`` for the weights of all
            pairs, or a function that takes a `Graph` and returns as many numbers for each.

        Returns
        -------
        ndarray of shape (n_resamples_, n_values)
        """
        return np.stack([values_of(graph, statistic) for graph in self._graphs()])

    def arc_shares(self) -> pd.DataFrame:
        """List the pairs of columns with the share of resamples that have each kind of edge.

        Returns
        -------
        DataFrame
            ``source`` and ``target``, in the direction identified more often; ``forward`` and
            ``backward``, the shares in which that direction and the other is identified;
            ``undirected``, that of an edge whose direction is not; and ``none``. Pairs that were
            joined most often come first, those never joined are left out.
        """
        import pandas as pd

        ahead, joined = self._identified(), self.edge_frequency_ + self.edge_frequency_.T
        source, target = np.nonzero(np.triu(joined))
        is_back = ahead[target, source] > ahead[source, target]
        source, target = np.where(is_back, [target, source], [source, target])
        together = joined[source, target]
        forward, backward = ahead[source, target], ahead[target, source]
        names = np.array(self.graph_.names, dtype=object)
        table = pd.DataFrame(
            {
                "source": names[source],
                "target": names[target],
                "forward": forward,
                "backward": backward,
                # What rounding leaves of a difference is nothing.
                "undirected": np.maximum(together - forward - backward, 0.0).round(12),
                "none": np.maximum(1.0 - together, 0.0).round(12),
            }
        )
        return table.iloc[np.lexsort((-forward, -together))].reset_index(drop=True)

    def consensus(self, threshold: float = 0.5) -> Graph:
        """Join the pairs that most resamples join, by the kind of edge that most of them have.

        Parameters
        ----------
        threshold : float
            Share of the resamples that must join a pair.

        Returns
        -------
        Graph
            Directed; an edge without a direction runs both ways. No path of arcs leads back: of
            arcs that would close a cycle the least frequent has no direction. ``confidence`` is the
            share of resamples with just that kind of edge.
        """
        if not 0 <= threshold < 1:
            raise InputError("threshold_range", threshold=threshold)
        ahead, joined = self._identified(), self.edge_frequency_ + self.edge_frequency_.T
        open_share = joined - ahead - ahead.T
        edges = joined > threshold
        is_arc = edges & (ahead > ahead.T) & (ahead > open_share)
        arcs, lead = np.zeros_like(edges), np.eye(len(edges), dtype=bool)
        order = np.argsort(-ahead[is_arc], kind="stable")
        for i, j in np.argwhere(is_arc)[order].tolist():
            if not lead[j, i]:
                arcs[i, j] = True
                lead |= lead[:, [i]] & lead[j]
        adjacency = edges & ~arcs.T
        share = np.where(arcs, ahead, np.maximum(open_share, 0.0))
        return Graph(
            np.where(adjacency, joined, 0.0),
            names=self.graph_.names,
            directed=True,
            adjacency=adjacency,
            signed=np.zeros_like(adjacency),
            confidence=np.clip(np.where(adjacency, share, 0.0), 0.0, 1.0),
        )

    def _identified(self) -> FloatArray:
        if not hasattr(self, "direction_frequency_"):
            raise InputError("arc_shares_need_directed")
        return self.direction_frequency_

    def node_intervals(
        self, statistics: Sequence[Statistic] = ("strength", "expected_influence")
    ) -> pd.DataFrame:
        """Give statistics of the nodes the percentile intervals of their resamples.

        As with the weights, these describe how the estimate varies. A sum of absolute weights
        tends to be larger in the resamples than in all rows, so that an estimate may lie low in
        its interval.

        Parameters
        ----------
        statistics : sequence of str or callable
            As for ``resampled``, with a value for each node.

        Returns
        -------
        DataFrame
            ``node``, ``statistic``, ``estimate``, ``lower`` and ``upper``, one row for each.
        """
        import pandas as pd

        tails = [(1 - self.level) / 2, (1 + self.level) / 2]
        tables = []
        for statistic in statistics:
            lower, upper = np.quantile(self.resampled(statistic), tails, axis=0)
            columns = {
                "node": self.graph_.names,
                "statistic": name_of(statistic),
                "estimate": values_of(self.graph_, statistic),
                "lower": lower,
                "upper": upper,
            }
            tables.append(pd.DataFrame(columns))
        return pd.concat(tables, ignore_index=True)

    def difference_test(
        self,
        statistic: Statistic = "edges",
        *,
        method: Literal["percentile", "normal"] = "percentile",
        fdr: Literal["bh", "by"] = "bh",
    ) -> Differences:
        r"""Test which edges, or which nodes, differ from each other.

        With the differences :math:`d_1, \dots, d_B` of two values in the resamples, the p-value is

        .. math:: \min\{1, 2 (1 + \min(\#\{d_b \le 0\}, \#\{d_b \ge 0\})) / (B + 1)\},

        the level at which their percentile interval begins to contain 0 [3]_. It is at least
        2 / (B + 1): to tell many pairs apart after the correction for their number takes a
        thousand resamples or more. With ``method="normal"`` the difference in all rows, over the
        standard deviation of the :math:`d_b`, is referred to the standard normal instead, which a
        hundred resamples do for; weights that are often exactly 0 are not normal.

        Parameters
        ----------
        statistic : str or callable
            As for ``resampled``; ``"edges"`` compares the edges of ``graph_``.
        method : {"percentile", "normal"}
            How p-values are computed.
        fdr : {"bh", "by"}
            How ``qvalues`` are corrected: by Benjamini and Hochberg, or by Benjamini and
            Yekutieli, which holds under any dependence.

        Returns
        -------
        Differences

        References
        ----------
        .. [3] Epskamp, Borsboom and Fried (2018). Estimating psychological networks and their
           accuracy. *Behavior Research Methods* 50. https://doi.org/10.3758/s13428-017-0862-1
        """
        if fdr not in ("bh", "by") or method not in ("percentile", "normal"):
            raise InputError("fdr_and_method", fdr=fdr, method=method)
        estimate, drawn = values_of(self.graph_, statistic), self.resampled(statistic)
        labels = list(self.graph_.names)
        if statistic == "edges":
            is_edge = edge_vector(self.graph_.adjacency, directed=self.graph_.directed)
            estimate, drawn = estimate[is_edge], drawn[:, is_edge]
            labels = _edge_labels(self.graph_)
        elif len(estimate) != len(labels):
            labels = [str(k) for k in range(len(estimate))]
        if len(estimate) < 2:
            raise InputError("too_few_values_to_compare")
        is_normal = method == "normal"
        lower, upper, pvalues = _compare_pairs(estimate, drawn, self.level, is_normal=is_normal)
        above = np.triu_indices(len(estimate), 1)
        qvalues = np.full(pvalues.shape, np.nan)
        q = stats.false_discovery_control(pvalues[above], method=fdr)
        qvalues[above] = qvalues.T[above] = q
        return Differences(
            of=name_of(statistic),
            labels=tuple(labels),
            estimate=estimate,
            lower=lower,
            upper=upper,
            pvalues=pvalues,
            qvalues=qvalues,
            level=self.level,
        )

    def _fit_all(self, problem: Problem, seed: int) -> Graph:
        """Fit all rows, unless that has been done."""
        if self.prefit:
            self.estimator_ = self.estimator
            return _fitted_graph(self.estimator, problem.X)
        self.estimator_, (graph,) = problem.fit(seed)
        return graph

    def _graphs(self) -> Iterator[Graph]:
        """Graphs of the resamples, one at a time."""
        if not hasattr(self, "_outcomes"):
            raise InputError("no_resamples_kept")
        return graphs_of(self._outcomes, self.graph_)


def resamples_of(bootstrap: BootstrapGraph, X: Any) -> list[tuple[Resample, Graph]]:
    """Return the rows of each resample of a fitted bootstrap, with the graph that was learned."""
    graphs = list(bootstrap._graphs())
    failed = {number for number, _ in bootstrap.failures_}
    drawn = bootstrap._redraw.again(X)
    kept = [resample for k, resample in enumerate(drawn) if k not in failed]
    return list(zip(kept, graphs, strict=True))


def classes_by(learner: Any) -> Callable[[BoolArray], BoolArray]:
    """Return what tells the equivalence class of another graph of the same columns."""
    # What is known in advance, or was set in experiments, directs more.
    return learner._class_of if hasattr(learner, "_allowed") else complete_dag


def _directions(outcomes: Sequence[Outcome], learner: Any, n_nodes: int) -> FloatArray:
    """Share of the outcomes in which each arc is identified."""
    class_of = classes_by(learner)
    counts = np.zeros((n_nodes, n_nodes))
    for outcome in outcomes:
        dag = np.zeros(n_nodes * n_nodes, dtype=bool)
        dag[outcome.edges[0][0]] = True
        pattern = class_of(dag.reshape(n_nodes, n_nodes))
        counts += pattern & ~pattern.T
    return counts / len(outcomes)


@dataclass(frozen=True, kw_only=True, eq=False)
class Differences:
    """Which of several values differ, as `BootstrapGraph.difference_test` returns it.

    Attributes
    ----------
    of : str
        What the values are: ``"edges"``, or the name of a statistic.
    labels : tuple of str
        Names of the m values.
    estimate : ndarray of shape (m,)
        The values in all rows.
    lower, upper : ndarray of shape (m, m)
        Percentile interval of the value of the row minus that of the column.
    pvalues, qvalues : ndarray of shape (m, m)
        By itself, and corrected for all pairs; NaN on the diagonal.
    level : float
        Coverage of the intervals.
    """

    of: str
    labels: tuple[str, ...]
    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    pvalues: FloatArray
    qvalues: FloatArray
    level: float

    def is_different(self, level: float = 0.05, *, by: Literal["q", "p"] = "q") -> BoolArray:
        """Which pairs differ: those with a q-value (or p-value) of at most ``level``."""
        values = {"q": self.qvalues, "p": self.pvalues}
        if by not in values or not 0 < level < 1:
            raise InputError("by_and_level", by=by, level=level)
        return np.asarray(np.nan_to_num(values[by], nan=1.0) <= level)

    def table(self) -> pd.DataFrame:
        """List all pairs, those that differ most surely first."""
        import pandas as pd

        first, second = np.triu_indices(len(self.labels), 1)
        columns = {
            "first": np.array(self.labels, dtype=object)[first],
            "second": np.array(self.labels, dtype=object)[second],
            "difference": self.estimate[first] - self.estimate[second],
            "lower": self.lower[first, second],
            "upper": self.upper[first, second],
            "pvalue": self.pvalues[first, second],
            "qvalue": self.qvalues[first, second],
        }
        return pd.DataFrame(columns).sort_values("pvalue", kind="stable", ignore_index=True)


def graphs_of(outcomes: Sequence[Outcome], like: Graph) -> Iterator[Graph]:
    """Put together the graphs of resamples, over the nodes of another."""
    for outcome in outcomes:
        positions, weights = outcome.edges[0]
        adjacency = np.zeros(like.n_nodes**2, dtype=bool)
        matrix = np.zeros(like.n_nodes**2)
        adjacency[positions], matrix[positions] = True, weights
        yield Graph(
            matrix.reshape(like.n_nodes, -1),
            names=like.names,
            directed=like.directed,
            adjacency=adjacency.reshape(like.n_nodes, -1),
        )


#: Statistics that are sums over rows, which need no search for paths.
_SUMS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "strength": lambda weights: np.abs(weights).sum(axis=1),
    "expected_influence": lambda weights: weights.sum(axis=1),
}


def values_of(graph: Graph, statistic: Statistic) -> FloatArray:
    """Compute a statistic of a graph."""
    if statistic == "edges":
        return np.asarray(edge_vector(graph.weights, directed=graph.directed), dtype=np.float64)
    if not isinstance(statistic, str):
        values = np.asarray(statistic(graph), dtype=np.float64)
        if values.ndim != 1:
            raise InputError("statistic_shape", name_of=name_of(statistic), shape=values.shape)
        return values
    if statistic in _SUMS:
        return _SUMS[statistic](graph.weights)
    table = node_statistics(graph)
    if statistic not in table:
        raise InputError(
            "unknown_statistic",
            statistic=statistic,
            listed=", ".join(repr(name) for name in table),
        )
    return table[statistic].to_numpy(dtype=np.float64)


def name_of(statistic: Statistic) -> str:
    """Return what a statistic is called."""
    is_text = isinstance(statistic, str)
    return str(statistic) if is_text else getattr(statistic, "__name__", "statistic")


def _edge_labels(graph: Graph) -> list[str]:
    """Names of the edges, in the order of `edge_vector`."""
    mark = " → " if graph.directed else " - "
    ends = np.argwhere(graph.adjacency if graph.directed else np.triu(graph.adjacency))
    return [f"{graph.names[i]}{mark}{graph.names[j]}" for i, j in ends]


def _compare_pairs(
    estimate: FloatArray, drawn: FloatArray, level: float, *, is_normal: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Interval and p-value of the difference of each pair of columns of resampled values."""
    n_resamples, m = drawn.shape
    lower, upper, pvalues = (np.full((m, m), np.nan) for _ in range(3))
    tails = [(1 - level) / 2, (1 + level) / 2]
    for k in range(m - 1):
        difference = drawn[:, [k]] - drawn[:, k + 1 :]
        lower[k, k + 1 :], upper[k, k + 1 :] = np.quantile(difference, tails, axis=0)
        if is_normal:
            spread = np.maximum(difference.std(axis=0, ddof=1), np.finfo(np.float64).tiny)
            pvalues[k, k + 1 :] = 2.0 * stats.norm.sf(
                np.abs(estimate[k] - estimate[k + 1 :]) / spread
            )
        else:
            n_beyond = np.minimum((difference <= 0).sum(axis=0), (difference >= 0).sum(axis=0))
            pvalues[k, k + 1 :] = np.minimum(2.0 * (1 + n_beyond) / (n_resamples + 1), 1.0)
    above = np.triu_indices(m, 1)
    pvalues.T[above] = pvalues[above]
    lower.T[above], upper.T[above] = -upper[above], -lower[above]
    return lower, upper, pvalues


def _fitted_graph(estimator: Any, X: Any) -> Graph:
    """Return the graph of an estimator that was fitted to the columns of X."""
    try:
        check_is_fitted(estimator)
    except NotFittedError as error:
        raise InputError("prefit_not_fitted", type=type(estimator).__name__) from error
    n_fitted, n_columns = getattr(estimator, "n_features_in_", None), np.shape(X)[1]
    if n_fitted not in (None, n_columns):
        raise InputError("prefit_column_count", n_columns=n_columns, n_fitted=n_fitted)
    return graph_of(estimator)


def _draw(
    generator: np.random.Generator, groups: list[IntArray], *, block_length: int
) -> list[IntArray]:
    """Draw as many rows as there are, with replacement, within each class; or blocks of them."""
    drawn = []
    for rows in groups:
        n, length = len(rows), min(block_length, len(rows))
        starts = generator.choice(n - length + 1, size=-(-n // length))
        drawn.append(rows[(starts[:, None] + np.arange(length)).ravel()[:n]])
    return [np.concatenate(drawn)]


def _draw_clusters(
    generator: np.random.Generator, groups: list[IntArray], *, member: IntArray
) -> list[IntArray]:
    """Draw as many clusters as there are, with replacement, within each class."""
    drawn = []
    for rows in groups:
        parts = rows_of_clusters(member, rows)
        drawn += [parts[k] for k in generator.integers(len(parts), size=len(parts))]
    return [np.concatenate(drawn)]


def _intervals(outcomes: list[Outcome], n_nodes: int, level: float) -> FloatArray:
    """Percentiles of the weights, held sparse: most pairs are never joined."""
    n_resamples = len(outcomes)
    found = np.unique(np.concatenate([outcome.edges[0][0] for outcome in outcomes]))
    table = sparse.lil_array((len(found), n_resamples))
    for k, outcome in enumerate(outcomes):
        positions, weights = outcome.edges[0]
        table[np.searchsorted(found, positions), k] = weights
    rows = table.tocsr()
    tails = [(1 - level) / 2, (1 + level) / 2]
    interval = np.zeros((2, n_nodes * n_nodes))
    size = max(BLOCK // n_resamples, 1)
    for start in range(0, len(found), size):
        block = rows[start : start + size].toarray()
        interval[:, found[start : start + size]] = np.quantile(block, tails, axis=1)
    return interval.reshape(2, n_nodes, n_nodes)
