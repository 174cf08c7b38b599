"""Bootstrap of edges and of statistics of nodes, with and without replacement of the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
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
from edgewise.graph.metrics import edge_vector, node_statistics
from edgewise.inference.resample import (
    Outcome,
    Problem,
    ResamplingGraph,
    classes,
    count_rows,
    frequency,
    graph_of,
    takes_classes,
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

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the estimator to all rows and to every resample.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows.
        y : array-like of shape (n,), optional
            Passed on to the estimator. Rows are drawn within the classes where it is a label.
        sample_weight : array-like of shape (n,), optional
            Passed on with the rows; it does not change how often a row is drawn.

        Returns
        -------
        BootstrapGraph
        """
        if self.n_resamples < 2 or not 0 < self.level < 1:
            raise InputError(
                "n_resamples must be at least 2 and level between 0 and 1, got "
                f"n_resamples={self.n_resamples!r} and level={self.level!r}."
            )
        if self.block_length < 1:
            raise InputError(f"block_length must be at least 1, got {self.block_length!r}.")
        problem = self._problem(X, y, sample_weight, None)
        generator = as_generator(self.random_state)
        # Drawn in either case, so that the resamples do not depend on ``prefit``.
        seed = int(generator.integers(2**31 - 1))
        graph = self._fit_all(problem, seed)
        draw = partial(_draw, block_length=self.block_length)
        outcomes = self._resample(problem, draw, generator, self.n_resamples, "Bootstrap")
        # A model file has none of them, as they would be most of it.
        self._outcomes = outcomes
        self.edge_frequency_ = frequency(outcomes, graph.n_nodes)
        self.interval_ = _intervals(outcomes, graph.n_nodes, self.level)
        self.graph_ = Graph(
            graph.weights,
            names=graph.names,
            directed=graph.directed,
            adjacency=graph.adjacency,
            confidence=self.edge_frequency_,
            signed=graph.signed,
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
        return np.stack([_values(graph, statistic) for graph in self._graphs()])

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
                "statistic": _name(statistic),
                "estimate": _values(self.graph_, statistic),
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
        standard deviation of the :math:`d_b`, is taken for standard normal instead, which a
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
            raise InputError(
                'fdr must be "bh" or "by" and method "percentile" or "normal", got '
                f"{fdr!r} and {method!r}."
            )
        estimate, drawn = _values(self.graph_, statistic), self.resampled(statistic)
        labels = list(self.graph_.names)
        if statistic == "edges":
            is_edge = edge_vector(self.graph_.adjacency, directed=self.graph_.directed)
            estimate, drawn = estimate[is_edge], drawn[:, is_edge]
            labels = _edge_labels(self.graph_)
        elif len(estimate) != len(labels):
            labels = [str(k) for k in range(len(estimate))]
        if len(estimate) < 2:
            raise InputError("There are fewer than two values, so that none can differ.")
        is_normal = method == "normal"
        lower, upper, pvalues = _compare_pairs(estimate, drawn, self.level, is_normal=is_normal)
        above = np.triu_indices(len(estimate), 1)
        qvalues = np.full(pvalues.shape, np.nan)
        q = stats.false_discovery_control(pvalues[above], method=fdr)
        qvalues[above] = qvalues.T[above] = q
        return Differences(
            of=_name(statistic),
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
            raise InputError(
                "There are no resamples: call fit first. A model read from a file has only what "
                "was made of them."
            )
        return _graphs(self._outcomes, self.graph_)


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
            raise InputError(
                f'by must be "q" or "p" and level between 0 and 1, got {by!r} and {level!r}.'
            )
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


@dataclass(frozen=True, kw_only=True, eq=False)
class CaseDropping:
    """Statistics of networks from parts of the rows beside those from all, see `case_dropping`.

    Attributes
    ----------
    statistics : tuple of str
        Names of the statistics.
    dropped : ndarray of shape (n_levels,)
        Shares of the rows that were dropped.
    correlations : ndarray of shape (n_statistics, n_levels, n_resamples)
        Of the statistic in the part with that in all rows; 0 where one of them is constant, as
        in an empty graph; NaN where the fit failed.
    """

    statistics: tuple[str, ...]
    dropped: FloatArray
    correlations: FloatArray

    def coefficient(self, correlation: float = 0.7, probability: float = 0.95) -> pd.Series:
        """Return the CS coefficient of each statistic.

        Parameters
        ----------
        correlation : float
            What the correlation with the statistic in all rows is to exceed,
        probability : float
            in more than this share of the parts.

        Returns
        -------
        Series
            The largest share of rows that can be dropped then; 0 where none can.
        """
        import pandas as pd

        share = self._share_above(correlation)
        largest = np.where(share > probability, self.dropped, 0.0).max(axis=1)
        return pd.Series(largest, index=list(self.statistics), name="cs_coefficient")

    def table(self) -> pd.DataFrame:
        """Summarise the correlations by statistic and share of rows dropped."""
        import pandas as pd

        lower, upper = np.nanquantile(self.correlations, [0.025, 0.975], axis=2)
        columns = {
            "statistic": np.repeat(self.statistics, len(self.dropped)),
            "dropped": np.tile(self.dropped, len(self.statistics)),
            "mean": np.nanmean(self.correlations, axis=2).ravel(),
            "lower": lower.ravel(),
            "upper": upper.ravel(),
            "share_above_0.7": self._share_above(0.7).ravel(),
        }
        return pd.DataFrame(columns)

    def _share_above(self, correlation: float) -> FloatArray:
        known = np.isfinite(self.correlations)
        above = np.sum(known & (self.correlations > correlation), axis=2)
        return np.asarray(above / np.maximum(known.sum(axis=2), 1))


def case_dropping(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    statistics: Sequence[Statistic] = ("strength", "expected_influence"),
    dropped: ArrayLike | None = None,
    n_resamples: int = 100,
    prefit: bool = False,
    sample_weight: ArrayLike | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: int = 0,
) -> CaseDropping:
    """Tell whether the order of the nodes stays when rows are dropped.

    The estimator is fitted to random parts of the rows, of several sizes, and statistics of these
    networks are correlated with those of the network of all rows. The correlation-stability (CS)
    coefficient is the largest share of rows that can be dropped so that the correlation exceeds
    0.7 with a probability of 95 % [1]_, as R's bootnet computes it. Its authors advise not to
    interpret a statistic whose coefficient is below 0.25, and to prefer 0.5.

    Parameters
    ----------
    estimator : estimator
        Has ``graph_`` after ``fit``; a pipeline or a search may end in one.
    X : array-like or data frame of shape (n, p)
        Rows.
    y : array-like of shape (n,), optional
        Passed on to the estimator. Rows are dropped within the classes where it is a label.
    statistics : sequence of str or callable
        Columns of `edgewise.metrics.node_statistics`, ``"edges"`` for the weights of all pairs,
        or functions that take a `Graph` and return as many numbers for each.
    dropped : array-like, optional
        Shares of rows to drop; by default ten from 0.05 to 0.75.
    n_resamples : int
        Random parts of each size.
    prefit : bool
        Whether the estimator has been fitted to all these rows.
    sample_weight : array-like of shape (n,), optional
        Passed on with the rows; it does not change which are dropped.
    n_jobs : int, optional
        Parts fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the rows, and seeds every ``random_state`` of the estimator that is None.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    CaseDropping
        ``coefficient()`` and ``table()``; `edgewise.plot.plot_case_dropping` draws it.

    References
    ----------
    .. [1] Epskamp, Borsboom and Fried (2018). Estimating psychological networks and their
       accuracy. *Behavior Research Methods* 50. https://doi.org/10.3758/s13428-017-0862-1

    Examples
    --------
    >>> from edgewise import GaussianGraph
    >>> from edgewise.inference import case_dropping
    >>> X = np.random.default_rng(0).normal(size=(400, 5))
    >>> X[:, 1:4] += X[:, [0]]
    >>> found = case_dropping(GaussianGraph(0.1), X, n_resamples=20, random_state=0)
    >>> found.coefficient().round(2).to_dict()
    {'strength': 0.75, 'expected_influence': 0.75}
    """
    shares = np.linspace(0.05, 0.75, 10) if dropped is None else np.atleast_1d(dropped)
    if not (np.isfinite(shares) & (shares > 0) & (shares < 1)).all() or n_resamples < 2:
        raise InputError(
            "dropped must be shares between 0 and 1 and n_resamples at least 2, got "
            f"dropped={shares.tolist()!r} and n_resamples={n_resamples!r}."
        )
    engine = BootstrapGraph(estimator, prefit=prefit, n_jobs=n_jobs, verbose=verbose)
    problem = engine._problem(X, y, sample_weight, None)
    generator = as_generator(random_state)
    graph = engine._fit_all(problem, int(generator.integers(2**31 - 1)))
    original = [_values(graph, statistic) for statistic in statistics]
    draw = partial(_draw_parts, kept=1.0 - shares)
    outcomes = engine._resample(problem, draw, generator, n_resamples, "Case dropping")
    n_tasks = n_resamples * len(shares)
    done = np.setdiff1d(np.arange(n_tasks), [number for number, _ in engine.failures_])
    correlations = np.full((len(original), n_tasks), np.nan)
    for number, part in zip(done, _graphs(outcomes, graph), strict=True):
        for k, statistic in enumerate(statistics):
            correlations[k, number] = _correlation(_values(part, statistic), original[k])
    n_rows = count_rows(X)
    groups = classes(y, n_rows, is_label=takes_classes(estimator))
    sizes = [sum(_part(len(rows), share) for rows in groups) for share in 1.0 - shares]
    return CaseDropping(
        statistics=tuple(_name(statistic) for statistic in statistics),
        dropped=1.0 - np.array(sizes) / n_rows,
        # The parts of one draw come one after the other.
        correlations=correlations.reshape(len(original), n_resamples, -1).transpose(0, 2, 1),
    )


def _part(n_rows: int, kept: float) -> int:
    """Rows of a part; rounding must not take one that is meant."""
    return max(math.floor(n_rows * kept + 1e-9), 1)


def _draw_parts(
    generator: np.random.Generator, groups: list[IntArray], *, kept: FloatArray
) -> list[IntArray]:
    """Draw a part of each size without replacement, within each class."""
    return [
        np.concatenate(
            [generator.choice(rows, _part(len(rows), share), replace=False) for rows in groups]
        )
        for share in kept
    ]


def _graphs(outcomes: Sequence[Outcome], like: Graph) -> Iterator[Graph]:
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


def _values(graph: Graph, statistic: Statistic) -> FloatArray:
    """Compute a statistic of a graph."""
    if statistic == "edges":
        return np.asarray(edge_vector(graph.weights, directed=graph.directed), dtype=np.float64)
    if not isinstance(statistic, str):
        values = np.asarray(statistic(graph), dtype=np.float64)
        if values.ndim != 1:
            raise InputError(
                f"{_name(statistic)} must return one number per node or a list of numbers; it "
                f"returned an array of shape {values.shape}."
            )
        return values
    if statistic in _SUMS:
        return _SUMS[statistic](graph.weights)
    table = node_statistics(graph)
    if statistic not in table:
        raise InputError(
            f"There is no statistic {statistic!r}. Take one of 'edges', "
            f"{', '.join(repr(name) for name in table)}, or a function of a graph."
        )
    return table[statistic].to_numpy(dtype=np.float64)


def _name(statistic: Statistic) -> str:
    is_text = isinstance(statistic, str)
    return str(statistic) if is_text else getattr(statistic, "__name__", "statistic")


def _edge_labels(graph: Graph) -> list[str]:
    """Names of the edges, in the order of `edge_vector`."""
    mark = " → " if graph.directed else " - "
    ends = np.argwhere(graph.adjacency if graph.directed else np.triu(graph.adjacency))
    return [f"{graph.names[i]}{mark}{graph.names[j]}" for i, j in ends]


def _correlation(part: FloatArray, whole: FloatArray) -> float:
    """Pearson correlation over what is known in both; 0 where one of them does not vary."""
    is_known = np.isfinite(part) & np.isfinite(whole)
    pair = np.stack([part[is_known], whole[is_known]])
    if is_known.sum() < 2 or np.ptp(pair, axis=1).min() <= 1e-12 * np.abs(pair).max():
        return 0.0
    return float(np.atleast_2d(np.corrcoef(pair))[0, 1])


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
        raise InputError(
            f"prefit=True takes an estimator that has been fitted, and this "
            f"{type(estimator).__name__} has not. Fit it to the same rows first, or leave prefit "
            "out."
        ) from error
    n_fitted, n_columns = getattr(estimator, "n_features_in_", None), np.shape(X)[1]
    if n_fitted not in (None, n_columns):
        raise InputError(
            f"X has {n_columns} columns, and the estimator was fitted to {n_fitted}. Pass the rows "
            "that it was fitted to, or leave prefit out."
        )
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
