"""Stability selection of edges, and case-dropping bootstrap of node statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.graph import Graph
from edgewise.inference.bootstrap import (
    BootstrapGraph,
    Statistic,
    graphs_of,
    name_of,
    values_of,
)
from edgewise.inference.resample import (
    Outcome,
    ResamplingGraph,
    classes,
    cluster_codes,
    count_rows,
    frequency,
    kinds_of,
    number_of_pairs,
    rows_of_clusters,
    takes_classes,
)
from edgewise.selection.choose import decreasing

if TYPE_CHECKING:
    import pandas as pd


class StabilitySelection(ResamplingGraph):
    r"""Keep the edges that an estimator finds on most random halves of the rows.

    An edge is kept when the share of subsamples with it reaches ``threshold`` :math:`\tau`. If a
    fit finds :math:`q` of :math:`P` possible edges on average, the expected number of false edges
    kept is at most

    .. math::

        \frac{q^2}{(2 \tau - 1) P}

    provided that false edges are found no more easily than by guessing, and all alike [1]_. With
    complementary pairs, two halves that share no row at a time, the bound holds without that
    assumption for the edges whose chance of being found is below average [2]_.

    Parameters
    ----------
    estimator : estimator
        Has ``graph_`` after ``fit``; a pipeline or a search may end in one.
    n_resamples : int
        Subsamples drawn; even with ``complementary_pairs``.
    sample_fraction : float
        Share of the rows in each; at most 0.5 with ``complementary_pairs``. The bound is for 0.5.
    threshold : float
        Share of the subsamples that must have an edge, above 0.5.
    complementary_pairs : bool
        Draw two subsamples without a common row at a time.
    assumption : {"none", "unimodal"}
        Sharpen the bound by assuming that the frequencies of the false edges have a single peak,
        which is mild [2]_; for ``complementary_pairs`` without ``alphas``.
    alphas : array-like, optional
        Fit the estimator's whole ``path`` to each subsample, from large to small alphas. The
        frequency of an edge is then its largest along the path [1]_, and q counts the edges found
        anywhere on it.
    n_jobs : int, optional
        Subsamples fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the rows, and seeds every ``random_state`` of the estimator that is None.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Attributes
    ----------
    edge_frequency_ : ndarray of shape (p, p)
        Share of the subsamples that have each edge (arc, for directed graphs).
    path_frequency_ : ndarray of shape (n_alphas, p, p) or None
        The same at each of the ``alphas``.
    graph_ : Graph
        Edges at or above the threshold; the weight is the mean over the fits that have the edge,
        ``confidence`` the frequency.
    n_selected_ : float
        q, the mean number of edges of a fit.
    false_edge_bound_ : float
        Bound on the expected number of false edges in ``graph_``.
    n_resamples_ : int
        Subsamples that were fitted.
    failures_ : list of (int, str)
        Number and error of those that were not.
    n_redrawn_ : int
        Draws thrown away because a column became constant.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Meinshausen and Bühlmann (2010). Stability selection. *Journal of the Royal Statistical
       Society B* 72(4). https://doi.org/10.1111/j.1467-9868.2010.00740.x
    .. [2] Shah and Samworth (2013). Variable selection with error control: another look at
       stability selection. *Journal of the Royal Statistical Society B* 75(1).
       https://doi.org/10.1111/j.1467-9868.2011.01034.x

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GaussianGraph, StabilitySelection
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> X[:, 1] += X[:, 0]
    >>> model = StabilitySelection(GaussianGraph(alpha=0.3), n_resamples=20, random_state=0)
    >>> model.fit(X).graph_.edges()[["source", "target", "confidence"]]
      source target  confidence
    0     x0     x1         1.0
    """

    _methods = (
        "Edges were kept by stability selection (Meinshausen and Bühlmann 2010): those found in "
        "a large share of random halves of the rows."
    )
    _cites = ("meinshausen2010",)

    def __init__(
        self,
        estimator: Any,
        *,
        n_resamples: int = 100,
        sample_fraction: float = 0.5,
        threshold: float = 0.75,
        complementary_pairs: bool = True,
        assumption: str = "none",
        alphas: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.sample_fraction = sample_fraction
        self.threshold = threshold
        self.complementary_pairs = complementary_pairs
        self.assumption = assumption
        self.alphas = alphas
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the estimator to every subsample.

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
        StabilitySelection
        """
        self._check_parameters()
        alphas = None if self.alphas is None else decreasing(np.asarray(self.alphas))
        problem = self._problem(X, y, sample_weight, alphas)
        generator = as_generator(self.random_state)
        # The fit to all rows meets bad data first, and with the plainest message.
        fitted, graphs = problem.fit(int(generator.integers(2**31 - 1)))
        problem = replace(problem, kinds=kinds_of(fitted))
        self._check_size(count_rows(X))
        draw = partial(
            _draw_pair if self.complementary_pairs else _draw_one, fraction=self.sample_fraction
        )
        n_draws = self.n_resamples // 2 if self.complementary_pairs else self.n_resamples
        outcomes = self._resample(problem, draw, generator, n_draws, "Stability selection")
        n_nodes = graphs[0].n_nodes
        along = np.stack([frequency(outcomes, n_nodes, k) for k in range(len(graphs))])
        self.path_frequency_ = None if alphas is None else along
        self.edge_frequency_ = along.max(axis=0)
        found = np.mean([len(_union(outcome)) for outcome in outcomes])
        self.n_selected_ = float(found if graphs[0].directed else found / 2)
        self.false_edge_bound_ = false_edge_bound(
            self.n_selected_,
            number_of_pairs(graphs[0]),
            self.threshold,
            n_pairs=len(outcomes) // 2 if self.assumption == "unimodal" else None,
        )
        joined = self.edge_frequency_ >= self.threshold
        self.graph_ = Graph(
            np.where(joined, _mean_weights(outcomes, n_nodes), 0.0),
            names=graphs[0].names,
            directed=graphs[0].directed,
            adjacency=joined,
            confidence=self.edge_frequency_,
            signed=_signed(graphs),
        )
        return self

    def _check_parameters(self) -> None:
        if not 0.5 < self.threshold <= 1:
            raise InputError("stability_threshold_range", threshold=self.threshold)
        largest = 0.5 if self.complementary_pairs else 1.0
        if not 0 < self.sample_fraction <= largest or self.sample_fraction == 1:
            raise InputError("sample_fraction_range", sample_fraction=self.sample_fraction)
        if self.n_resamples < 2 or (self.complementary_pairs and self.n_resamples % 2):
            raise InputError("stability_resamples", n_resamples=self.n_resamples)
        if self.assumption not in ("none", "unimodal"):
            raise InputError("unknown_assumption", assumption=self.assumption)
        if self.assumption == "unimodal" and (
            not self.complementary_pairs or self.alphas is not None
        ):
            raise InputError("unimodal_requires")
        if self.alphas is not None and not hasattr(self.estimator, "path"):
            raise InputError("no_path_method", type=type(self.estimator).__name__)

    def _check_size(self, n_rows: int) -> None:
        size = math.floor(n_rows * self.sample_fraction)
        if size < 2:
            raise InputError("subsamples_too_small", size=size, n_rows=n_rows)


def false_edge_bound(
    n_selected: float, n_possible: int, threshold: float, n_pairs: int | None = None
) -> float:
    r"""Bound the expected number of false edges that stability selection keeps.

    Parameters
    ----------
    n_selected : float
        Mean number q of edges of a fit.
    n_possible : int
        Number P of possible edges.
    threshold : float
        Smallest frequency :math:`\tau` of an edge that is kept, above 0.5.
    n_pairs : int, optional
        Number B of complementary pairs. Given, the bound under unimodality is used where it holds
        and is smaller: :math:`q^2 / P` times :math:`1 / (2 (2 \tau - 1 - 1 / (2 B)))` up to
        :math:`\tau = 3/4`, and times :math:`4 (1 - \tau + 1 / (2 B)) / (1 + 1 / B)` above.

    Returns
    -------
    float

    References
    ----------
    Meinshausen and Bühlmann (2010), Theorem 1, https://doi.org/10.1111/j.1467-9868.2010.00740.x;
    Shah and Samworth (2013), Theorem 2, https://doi.org/10.1111/j.1467-9868.2011.01034.x

    Examples
    --------
    >>> false_edge_bound(10, 100, threshold=0.75)
    2.0
    >>> false_edge_bound(10, 100, threshold=0.9, n_pairs=50)
    0.43137254901960775
    """
    if n_possible == 0:
        return 0.0
    base = n_selected**2 / n_possible
    worst = base / (2 * threshold - 1)
    share = n_selected / n_possible
    if n_pairs is None or n_pairs < 1 or share > 1 / math.sqrt(3):
        return worst
    half = 1 / (2 * n_pairs)
    if threshold > 0.75:
        return min(worst, base * 4 * (1 - threshold + half) / (1 + 2 * half))
    if threshold <= 0.5 + min(share**2, half + 0.75 * share**2):
        return worst
    return min(worst, base / (2 * (2 * threshold - 1 - half)))


def _draw_pair(
    generator: np.random.Generator, groups: list[IntArray], *, fraction: float
) -> list[IntArray]:
    """Draw two subsamples without a common row, within each class."""
    first, second = [], []
    for rows in groups:
        size = max(math.floor(len(rows) * fraction), 1)
        mixed = generator.permutation(rows)
        first.append(mixed[:size])
        second.append(mixed[size : 2 * size])
    return [np.concatenate(first), np.concatenate(second)]


def _draw_one(
    generator: np.random.Generator, groups: list[IntArray], *, fraction: float
) -> list[IntArray]:
    """Draw one subsample without replacement, within each class."""
    parts = [
        generator.choice(rows, size=max(math.floor(len(rows) * fraction), 1), replace=False)
        for rows in groups
    ]
    return [np.concatenate(parts)]


def _signed(graphs: Sequence[Graph]) -> BoolArray | None:
    """Whose weights have a sign; pairs that no graph joins count as if theirs had."""
    known = [graph.signed for graph in graphs if graph.signed is not None]
    return np.logical_and.reduce(known) if known else None


def _union(outcome: Outcome) -> IntArray:
    """Entries of the adjacency that are found in any graph of a fit."""
    return np.unique(np.concatenate([positions for positions, _ in outcome.edges]))


def _mean_weights(outcomes: Sequence[Outcome], n_nodes: int) -> FloatArray:
    """Mean weight of each edge over the graphs that have it."""
    total = np.zeros(n_nodes * n_nodes)
    count = np.zeros(n_nodes * n_nodes)
    for outcome in outcomes:
        for positions, weights in outcome.edges:
            total[positions] += weights
            count[positions] += 1
    mean: FloatArray = (total / np.maximum(count, 1)).reshape(n_nodes, n_nodes)
    return mean


@dataclass(frozen=True, kw_only=True, eq=False)
class CaseDropping:
    """Statistics of networks from subsets of the rows and from all rows, see `case_dropping`.

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
    clusters: Any = None,
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
    clusters : array-like of shape (n,), optional
        Which rows belong together, as those of one subject or block do: whole clusters are
        dropped.
    n_jobs : int, optional
        Parts fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the rows, and seeds every ``random_state`` of the estimator that is None.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Returns
    -------
    CaseDropping
        ``coefficient()`` and ``table()``; `edgewise.plot.nodes.plot_case_dropping` draws it.

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
        raise InputError("dropped_shares", shares=shares.tolist(), n_resamples=n_resamples)
    engine = BootstrapGraph(estimator, prefit=prefit, n_jobs=n_jobs, verbose=verbose)
    problem = engine._problem(X, y, sample_weight, None)
    generator = as_generator(random_state)
    graph = engine._fit_all(problem, int(generator.integers(2**31 - 1)))
    problem = replace(problem, kinds=kinds_of(engine.estimator_))
    original = [values_of(graph, statistic) for statistic in statistics]
    member = None if clusters is None else cluster_codes(clusters, X)
    draw = partial(_draw_parts, kept=1.0 - shares, member=member)
    outcomes = engine._resample(problem, draw, generator, n_resamples, "Case dropping")
    n_tasks = n_resamples * len(shares)
    done = np.setdiff1d(np.arange(n_tasks), [number for number, _ in engine.failures_])
    correlations = np.full((len(original), n_tasks), np.nan)
    for number, part in zip(done, graphs_of(outcomes, graph), strict=True):
        for k, statistic in enumerate(statistics):
            correlations[k, number] = _correlation(values_of(part, statistic), original[k])
    n_rows = count_rows(X)
    groups = classes(y, n_rows, is_label=takes_classes(estimator))
    units = [len(rows if member is None else np.unique(member[rows])) for rows in groups]
    sizes = [sum(_part(number, share) for number in units) for share in 1.0 - shares]
    return CaseDropping(
        statistics=tuple(name_of(statistic) for statistic in statistics),
        dropped=1.0 - np.array(sizes) / sum(units),
        # The parts of one draw come one after the other.
        correlations=correlations.reshape(len(original), n_resamples, -1).transpose(0, 2, 1),
    )


def _part(n_rows: int, kept: float) -> int:
    """Rows of a part; rounding must not take one that is meant."""
    return max(math.floor(n_rows * kept + 1e-9), 1)


def _draw_parts(
    generator: np.random.Generator,
    groups: list[IntArray],
    *,
    kept: FloatArray,
    member: IntArray | None = None,
) -> list[IntArray]:
    """Draw a part of each size without replacement, within each class, or of whole clusters."""
    found = []
    for share in kept:
        drawn: list[IntArray] = []
        for rows in groups:
            if member is None:
                drawn.append(generator.choice(rows, _part(len(rows), share), replace=False))
                continue
            parts = rows_of_clusters(member, rows)
            size = _part(len(parts), share)
            drawn += [parts[k] for k in generator.choice(len(parts), size, replace=False)]
        found.append(np.concatenate(drawn))
    return found


def _correlation(part: FloatArray, whole: FloatArray) -> float:
    """Pearson correlation over what is known in both; 0 where one of them does not vary."""
    is_known = np.isfinite(part) & np.isfinite(whole)
    pair = np.stack([part[is_known], whole[is_known]])
    if is_known.sum() < 2 or np.ptp(pair, axis=1).min() <= 1e-12 * np.abs(pair).max():
        return 0.0
    return float(np.atleast_2d(np.corrcoef(pair))[0, 1])
