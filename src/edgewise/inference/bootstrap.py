"""Bootstrap frequencies of edges, and percentile intervals of their weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.graph import Graph
from edgewise.inference.resample import Outcome, ResamplingGraph, frequency, graph_of

#: Entries of the dense block in which quantiles are taken.
BLOCK = 10**7


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
        prefit: bool = False,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_resamples = n_resamples
        self.level = level
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
        problem = self._problem(X, y, sample_weight, None)
        generator = as_generator(self.random_state)
        # Drawn in either case, so that the resamples do not depend on ``prefit``.
        seed = int(generator.integers(2**31 - 1))
        if self.prefit:
            self.estimator_, graph = self.estimator, _fitted_graph(self.estimator, X)
        else:
            self.estimator_, (graph,) = problem.fit(seed)
        outcomes = self._resample(problem, _draw, generator, self.n_resamples, "Bootstrap")
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


def _draw(generator: np.random.Generator, groups: list[IntArray]) -> list[IntArray]:
    """Draw as many rows as there are, with replacement, within each class."""
    return [np.concatenate([generator.choice(rows, size=len(rows)) for rows in groups])]


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
