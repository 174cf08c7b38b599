"""Sparse and locally constant Gaussian graphs as an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, IntArray, RandomState
from edgewise.data.checks import inspect_columns
from edgewise.data.neighbors import Neighbors, describe_neighbors, neighbor_pairs
from edgewise.estimators._fits import PrecisionFit
from edgewise.estimators._pair_search import PairSearchEstimator
from edgewise.estimators._path import LocallyConstantPath
from edgewise.estimators._statistics import Statistics, constant_columns, labels
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection.grid import decreasing
from edgewise.solvers.graphical_lasso import alpha_max
from edgewise.solvers.locally_constant import (
    SOLVERS,
    LocallyConstantSolution,
    locally_constant,
    locally_constant_path,
)

SCALES: Final = ("global", "variable", None)
CONSTANT: Final = ("error", "drop", "ridge")
#: What is added to every variance for the sake of constant columns, as a share of their mean.
RIDGE: Final = 1e-3


class LocallyConstantGraph(PairSearchEstimator):
    r"""Sparse Gaussian graph that is constant over neighbours in space, with a certificate.

    .. math::

        \min_{\Theta \succ 0} \; \mathrm{tr}(S \Theta) - \log\det\Theta
        + \alpha \sum_{ij} w_{ij} |\Theta_{ij}|
        + \tau \sum_{(a, b) \in E} \; \sum_{n \notin \{a, b\}} |\Theta_{an} - \Theta_{bn}|

    where :math:`S` is the covariance of the data, :math:`\Theta` the precision matrix, :math:`E`
    the pairs of ``neighbors`` and :math:`w_{ij}` the ``weights``. The last sum draws the edges of
    neighbouring variables to equal strength, so that links between patches of space stand out
    from noise that no single edge would [1]_.

    Parameters
    ----------
    alpha : float or "cv"
        Strength of sparsity, above 0, counted for every entry of the symmetric matrix; or chosen
        by held-out likelihood.
    tau : float or "cv"
        Strength of local constancy, at least 0, each difference counted once; or chosen together
        with alpha on a grid.
    neighbors : {"chain", "ring"}, grid shape or array-like of shape (n_pairs, 2)
        Where the columns sit: in a row; in a ring; on a grid of two or three sizes such as
        ``(8, 8)``, in row-major order; or pairs of column numbers.
    penalize_diagonal : bool
        Whether sparsity includes the diagonal.
    scale : {"global", "variable", None}
        Units of S: divided by the mean variance; correlations; or as they are. Local constancy
        compares precisions of neighbours, which is meaningful in a common unit: take
        ``"variable"`` only where columns are measured in different ones.
    mask : array-like of bool, optional
        Of the grid's shape, True where there is a site.
    weights : array-like of shape (p, p), optional
        Multiplies alpha per entry: 0 leaves an entry free of sparsity, ``inf`` forbids an edge.
    solver : {"admm", "descent", "dual"}
        ``"admm"`` reaches the optimum; the others are for comparison, see
        `edgewise.solvers.locally_constant`.
    covariance : {"empirical", "precomputed"}
        ``"precomputed"``: ``fit`` takes a covariance matrix instead of rows.
    constant : {"error", "drop", "ridge"}
        What to do with columns that have one value in every row, as pixels at the border of an
        image may: refuse; leave them out, isolated in the graph; or add a thousandth of the mean
        variance to the variance of every column.
    missing, repair, assume_centered
        As in `GaussianGraph`.
    n_alphas, n_taus : int
        Strengths tried by ``"cv"``; ``tau = 0`` is tried besides.
    alpha_ratio : float
        Smallest strength tried, of both kinds, as a share of the largest, which is the smallest
        alpha with an empty graph.
    cv : int, splitter or iterable
        Folds; a number is shuffled by ``random_state``.
    tol : float
        Stop once the duality gap is at most ``tol * p``. Searches stop at ``1e-4 * p``.
    max_iter : int
        Largest number of iterations of one fit.
    n_jobs : int, optional
        Folds and alphas fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles folds.
    verbose : int
        Above 0, a progress bar of the search is drawn on standard error.

    Attributes
    ----------
    precision_, covariance_ : ndarray of shape (p, p)
        In the units of X; each other's inverse. Of the columns in ``kept_`` only.
    location_ : ndarray of shape (p,)
        Mean of the columns in ``kept_``.
    partial_correlation_ : ndarray of shape (n_features_in_, n_features_in_)
        With a diagonal of 1; 0 for columns that were left out.
    graph_ : Graph
        Weights are partial correlations. Has all columns.
    groups_ : ndarray of int, shape (n_features_in_, n_features_in_)
        Number of the fused group of each entry, on the scale that the solver works on; -1 on the
        diagonal and where there is no edge.
    pairs_ : ndarray of int, shape (n_pairs, 2)
        Neighbours among all columns.
    kept_ : ndarray of int
        Columns that were used.
    alpha_, tau_ : float
        The strengths used.
    alphas_, taus_ : ndarray
        The strengths tried.
    selection_ : PairSelection or None
        Held-out likelihood on the grid, when a strength was searched for.
    gap_, objective_ : float
        Duality gap and objective of the fit, on the scale the solver works on.
    converged_ : bool
        Whether the gap met the tolerance.
    n_iter_ : int
        Iterations of the fit.
    treatment_ : list of str
        What was done to the data, and what is unusual about the neighbours.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Honorio, Ortiz, Samaras, Paragios and Goldstein (2009). Sparse and locally constant
       Gaussian graphical models. *Advances in Neural Information Processing Systems* 22.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import LocallyConstantGraph
    >>> X = np.random.default_rng(0).normal(size=(100, 8))
    >>> X[:, :3] += 0.7 * X[:, [7]]
    >>> model = LocallyConstantGraph(alpha=0.1, tau=0.2, neighbors="chain").fit(X)
    >>> model.precision_[:4, 7].round(2)
    array([-0.31, -0.31, -0.31,  0.  ])
    """

    _covariances = ("empirical", "precomputed")
    _takes_constant = True

    def __init__(
        self,
        alpha: float | str = "cv",
        tau: float | str = "cv",
        neighbors: Neighbors = "chain",
        penalize_diagonal: bool = True,
        scale: str | None = "global",
        *,
        mask: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        solver: str = "admm",
        covariance: str = "empirical",
        constant: str = "error",
        missing: str = "error",
        repair: str | None = None,
        assume_centered: bool = False,
        n_alphas: int = 8,
        n_taus: int = 6,
        alpha_ratio: float = 1e-3,
        cv: Any = 5,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.tau = tau
        self.neighbors = neighbors
        self.penalize_diagonal = penalize_diagonal
        self.scale = scale
        self.mask = mask
        self.weights = weights
        self.solver = solver
        self.covariance = covariance
        self.constant = constant
        self.missing = missing
        self.repair = repair
        self.assume_centered = assume_centered
        self.n_alphas = n_alphas
        self.n_taus = n_taus
        self.alpha_ratio = alpha_ratio
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the graph.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows; a (p, p) covariance when ``covariance="precomputed"``.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row; a weight of 2 counts as two equal rows.

        Returns
        -------
        LocallyConstantGraph
        """
        fit, statistics = self._fit(X, sample_weight)
        self.tau_ = fit.solution.tau
        self.taus_ = np.array([self.tau_]) if self.selection_ is None else self.selection_.taus
        self.pairs_ = self._all_pairs()
        self.precision_ = fit.precision
        self.covariance_ = fit.covariance
        self.location_ = statistics.location
        inside = np.ix_(self.kept_, self.kept_)
        weights = np.zeros((self.n_features_in_, self.n_features_in_))
        weights[inside] = Graph.from_precision(fit.solution.value).weights
        self.groups_ = np.full(weights.shape, -1)
        self.groups_[inside] = fit.solution.groups
        self.graph_ = Graph(weights, names=super()._names())
        self.partial_correlation_ = weights + np.eye(self.n_features_in_)
        return self

    def path(
        self,
        X: Any,
        alphas: ArrayLike | None = None,
        taus: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> LocallyConstantPath:
        """Fit the graph for combinations of strengths, each started from the one before.

        Leaves the estimator as it is, fitted or not.

        Parameters
        ----------
        X : array-like or data frame
            As for ``fit``.
        alphas : array-like, optional
            From large to small; by default those that a search would try.
        taus : array-like, optional
            By default ``tau`` of the estimator, if it is a number.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        LocallyConstantPath
            ``alphas``, ``taus``, ``graphs``, ``precisions``, ``gaps``, ``converged``, ``n_edges``.
        """
        model: Self = clone(self)
        model._check_parameters()
        rows, weights = model._check_input(X, sample_weight)
        statistics = model._statistics(rows, weights)
        if taus is None:
            if isinstance(self.tau, str):
                raise InputError("A path needs to know tau. Pass taus, or a number for tau.")
            taus = [self.tau]
        first = model._alphas(statistics) if alphas is None else decreasing(np.asarray(alphas))
        second = np.atleast_1d(np.asarray(taus, dtype=np.float64))
        fits = [
            fit
            for alpha in first
            for fit in model._solve_taus(statistics, float(alpha), second, self.tol)
        ]
        names = model._names()
        return LocallyConstantPath(
            alphas=np.repeat(first, len(second)),
            taus=np.tile(second, len(first)),
            graphs=tuple(Graph.from_precision(fit.solution.value, names=names) for fit in fits),
            precisions=np.stack([fit.precision for fit in fits]),
            gaps=np.array([fit.solution.gap for fit in fits]),
            converged=np.array([fit.converged for fit in fits]),
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.alpha == 0:
            raise InputError("alpha must be above 0: without sparsity there may be no solution.")
        tau: Any = self.tau
        is_number = isinstance(tau, Real) and not isinstance(tau, bool)
        if tau != "cv" and not (is_number and 0 <= tau < np.inf):
            raise InputError(f"tau must be a number of at least 0 or 'cv', got {tau!r}.")
        if self.tau == "cv" and self.covariance == "precomputed":
            raise InputError(
                'tau="cv" needs rows, which covariance="precomputed" does not have. Pass the rows, '
                "or numbers for alpha and tau."
            )
        for name, allowed in (("scale", SCALES), ("constant", CONSTANT), ("solver", SOLVERS)):
            if getattr(self, name) not in allowed:
                choices = ", ".join(repr(choice) for choice in allowed)
                raise InputError(f"{name} must be one of {choices}, got {getattr(self, name)!r}.")
        if "cv" in (self.alpha, self.tau) and self.n_taus < 1:
            raise InputError(f"n_taus must be at least 1, got {self.n_taus!r}.")

    def _check_precomputed(self) -> None:
        if self.alpha == "cv":
            raise InputError(
                'alpha="cv" needs rows, which covariance="precomputed" does not have. Pass the '
                "rows, or numbers for alpha and tau."
            )

    def _check_input(
        self, X: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return rows of the columns that are used; find out which when ``reset``."""
        if not reset:
            rows, weights = super()._check_input(X, sample_weight, reset=False)
            return rows[:, self.kept_], weights
        if hasattr(self, "kept_"):
            del self.kept_
        rows, weights = super()._check_input(X, sample_weight)
        self._all_pairs()
        self.kept_: IntArray = np.arange(rows.shape[1])
        if self.covariance == "precomputed" or self.constant == "ridge" or len(rows) < 2:
            return rows, weights
        seen = rows if weights is None else rows[weights > 0]
        flat = np.array(inspect_columns(seen).constant, dtype=np.int64)
        if not flat.size:
            return rows, weights
        if self.constant == "error" or flat.size == rows.shape[1]:
            self._refuse_constant(flat)
        self.kept_ = np.setdiff1d(self.kept_, flat)
        return rows[:, self.kept_], weights

    def _refuse_constant(self, flat: IntArray) -> None:
        names = quote_names(labels(super()._names(), flat.tolist()))
        raise InputError(
            f"{flat.size} of {self.n_features_in_} columns have one value in every row: {names}. "
            'Pass constant="drop" to leave them out, or constant="ridge" to add '
            f"{RIDGE:g} of the mean variance to every variance."
        )

    def _names(self) -> list[str] | None:
        """Names of the columns that are used; None where they are all of nameless data."""
        names = super()._names()
        kept = getattr(self, "kept_", None)
        if kept is None or len(kept) == self.n_features_in_:
            return names
        return labels(names, kept.tolist())

    def _all_pairs(self) -> IntArray:
        return neighbor_pairs(self.neighbors, self.n_features_in_, mask=self.mask)

    def _pairs(self) -> IntArray:
        """Neighbours among the columns that are used, by their place among those."""
        place = np.full(self.n_features_in_, -1)
        place[self.kept_] = np.arange(len(self.kept_))
        pairs: IntArray = place[self._all_pairs()]
        return pairs[(pairs >= 0).all(axis=1)]

    def _statistics(self, X: FloatArray, sample_weight: FloatArray | None) -> Statistics:
        """Sufficient statistics, in the units that ``scale`` asks for.

        Columns that are constant get here if ``constant="ridge"``, or if they are constant in the
        training rows of a fold; held-out rows then need a variance above 0 all the same.
        """
        statistics = super()._statistics(X, sample_weight)
        treatment = [*statistics.treatment, *describe_neighbors(self._pairs(), X.shape[1])]
        n_dropped = self.n_features_in_ - len(self.kept_)
        if n_dropped:
            treatment.append(f'constant="drop": {n_dropped} constant columns left out')
        S = statistics.S
        if self.covariance != "precomputed" and (flat := constant_columns(X, S)):
            if len(flat) == len(S):
                self._refuse_constant(self.kept_)
            ridge = RIDGE * float(np.mean(np.delete(S.diagonal(), flat)))
            S = S + ridge * np.eye(len(S))
            treatment.append(
                f'constant="ridge": {ridge:.3g} added to every variance because of {len(flat)} '
                "constant columns"
            )
        statistics = replace(statistics, S=S, treatment=tuple(treatment))
        if self.scale == "global":
            return statistics.on_common_scale()
        return statistics.on_correlation_scale() if self.scale == "variable" else statistics

    def _largest_alpha(self, statistics: Statistics) -> float:
        return alpha_max(statistics.S, weights=self._edge_weights(len(statistics.S)))

    def _edge_weights(self, n_features: int) -> FloatArray | None:
        """Weights of the columns that are used."""
        weights = super()._edge_weights(self.n_features_in_)
        return None if weights is None else weights[np.ix_(self.kept_, self.kept_)]

    def _solve_taus(
        self, statistics: Statistics, alpha: float, taus: FloatArray, tol: float
    ) -> Iterator[PrecisionFit]:
        """Yield one fit per tau, each started from the one before where the solver can."""
        options: dict[str, Any] = {
            "penalize_diagonal": self.penalize_diagonal,
            "weights": self._edge_weights(len(statistics.S)),
            "tol": tol,
            "max_iter": self.max_iter,
        }
        solutions: list[LocallyConstantSolution]
        if self.solver == "admm":
            (solutions,) = locally_constant_path(
                statistics.S, [alpha], taus, self._pairs(), **options
            )
        else:
            solutions = [
                locally_constant(
                    statistics.S, alpha, float(tau), self._pairs(), solver=self.solver, **options
                )
                for tau in taus
            ]
        for solution in solutions:
            yield PrecisionFit(solution, statistics)

    def _warn_of_gap(self, n_features: int) -> None:
        if self.solver != "descent" or self.converged_:
            super()._warn_of_gap(n_features)
            return
        warnings.warn(
            f"The descent stopped {self.gap_:.2g} above a lower bound of the optimum. It can "
            'stall wherever neighbours are fused; solver="admm" does not.',
            ConvergenceWarning,
            stacklevel=4,
        )
