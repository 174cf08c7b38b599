"""Stability selection: edges that are selected on most subsamples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.graph import Graph
from edgewise.inference.resample import (
    Outcome,
    ResamplingGraph,
    count_rows,
    frequency,
    number_of_pairs,
)
from edgewise.selection.choose import decreasing


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
        _, graphs = problem.fit(int(generator.integers(2**31 - 1)))
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
            raise InputError(f"threshold must be above 0.5 and at most 1, got {self.threshold!r}.")
        largest = 0.5 if self.complementary_pairs else 1.0
        if not 0 < self.sample_fraction <= largest or self.sample_fraction == 1:
            raise InputError(
                f"sample_fraction must be above 0, below 1, and at most 0.5 with "
                f"complementary_pairs, got {self.sample_fraction!r}."
            )
        if self.n_resamples < 2 or (self.complementary_pairs and self.n_resamples % 2):
            raise InputError(
                "n_resamples must be at least 2, and even with complementary_pairs, got "
                f"{self.n_resamples!r}."
            )
        if self.assumption not in ("none", "unimodal"):
            raise InputError(f"assumption must be 'none' or 'unimodal', got {self.assumption!r}.")
        if self.assumption == "unimodal" and (
            not self.complementary_pairs or self.alphas is not None
        ):
            raise InputError(
                'assumption="unimodal" needs complementary_pairs=True and alphas=None.'
            )
        if self.alphas is not None and not hasattr(self.estimator, "path"):
            raise InputError(
                f"alphas needs an estimator with a path method; {type(self.estimator).__name__} "
                "has none."
            )

    def _check_size(self, n_rows: int) -> None:
        size = math.floor(n_rows * self.sample_fraction)
        if size < 2:
            raise InputError(
                f"Subsamples of {size} of {n_rows} rows are too small. Pass more rows."
            )


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
