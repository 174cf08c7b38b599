"""Sparse and locally constant Gaussian graphs as an estimator."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.neighbors import Neighbors, describe_neighbors, neighbor_pairs
from edgewise.estimators.base.columns import add_ridge, constant_columns, refuse_constant
from edgewise.estimators.base.fits import PrecisionFit
from edgewise.estimators.base.graph_estimator import PrecisionEstimator
from edgewise.estimators.base.paths import LocallyConstantPath
from edgewise.estimators.base.statistics import Statistics, labels
from edgewise.graph import Graph
from edgewise.selection import PairSelection, SelectionWarning, alpha_grid, choose_pair_by_cv
from edgewise.selection.choose import decreasing
from edgewise.solvers.space.locally_constant import (
    SOLVERS,
    LocallyConstantSolution,
    locally_constant,
    locally_constant_path,
)
from edgewise.stats import Moments


class PairSearchEstimator(PrecisionEstimator):
    """Base of estimators whose ``alpha`` and ``tau`` are numbers or ``"cv"``."""

    _rules = ("cv",)
    #: Duality gap per variable that is enough to compare strengths.
    _search_tol = 1e-4

    @abstractmethod
    def _solve_taus(
        self, statistics: Statistics, alpha: float, taus: FloatArray, tol: float
    ) -> Iterator[Any]:
        """Yield one fit per tau, each started from the one before where the solver can."""

    def _check_parameters(self) -> None:
        is_number = isinstance(self.tau, Real) and not isinstance(self.tau, bool)
        is_rule = isinstance(self.tau, str) and self.tau == "cv"
        if not is_rule and not (is_number and 0 <= self.tau < np.inf):
            raise InputError(f"tau must be a number of at least 0 or 'cv', got {self.tau!r}.")
        super()._check_parameters()
        if self.alpha == 0:
            raise InputError("alpha must be above 0: without sparsity there may be no solution.")
        is_ratio = isinstance(self.alpha_ratio, Real)
        if not (is_ratio and 0 < self.alpha_ratio < 1):
            raise InputError(f"alpha_ratio must be between 0 and 1, got {self.alpha_ratio!r}.")
        if not isinstance(self.n_taus, Integral) or self.n_taus < 1:
            raise InputError(f"n_taus must be a whole number above 0, got {self.n_taus!r}.")

    def _check_without_rows(self, given: str) -> None:
        for name in ("alpha", "tau"):
            if getattr(self, name) == "cv":
                raise InputError(
                    f'{name}="cv" needs rows, which {given} does not have. Pass the rows, or '
                    "numbers for alpha and tau."
                )

    def _largest_strength(self, statistics: Statistics) -> float:
        """Smallest alpha with an empty graph; the mean variance where no edge is possible."""
        return self._largest_alpha(statistics) or float(np.mean(statistics.S.diagonal()))

    def _alphas(self, statistics: Statistics) -> FloatArray:
        return alpha_grid(self._largest_strength(statistics), self.n_alphas, self.alpha_ratio)

    def _taus(self, statistics: Statistics) -> FloatArray:
        largest = self._largest_strength(statistics)
        return np.append(0.0, np.geomspace(self.alpha_ratio * largest, largest, self.n_taus))

    def _path_taus(self, taus: ArrayLike | None) -> FloatArray:
        """Taus of a path as an array."""
        if taus is None and isinstance(self.tau, str):
            raise InputError("A path needs to know tau. Pass taus, or a number for tau.")
        listed = np.atleast_1d(np.asarray(self.tau if taus is None else taus))
        if listed.ndim > 1 or not listed.size or listed.dtype.kind not in "iuf":
            raise InputError("taus must be a non-empty list of numbers of at least 0.")
        return listed.astype(np.float64)

    def _fit_taus(
        self,
        alpha: float,
        X: FloatArray,
        sample_weight: FloatArray | None,
        taus: FloatArray,
    ) -> Iterator[Any]:
        tol = max(self.tol, self._search_tol)
        return self._solve_taus(self._statistics(X, sample_weight), alpha, taus, tol)

    def _choose_alpha(
        self, X: FloatArray, sample_weight: FloatArray | None, statistics: Statistics
    ) -> tuple[Any, float, PairSelection | None]:
        """Return the fit at the strengths as given, or as the search finds them."""
        selection = None
        alpha, tau = self.alpha, self.tau
        if "cv" in (alpha, tau):
            rows, weights = X, sample_weight
            # Splits that were handed in count all rows; otherwise a weight of 0 means no row.
            if weights is not None and isinstance(self.cv, Integral):
                rows, weights = rows[weights > 0], weights[weights > 0]
            selection = choose_pair_by_cv(
                rows,
                self._alphas(statistics) if alpha == "cv" else np.array([float(alpha)]),
                self._taus(statistics) if tau == "cv" else np.array([float(tau)]),
                self._fit_taus,
                self._score_fit,
                cv=self.cv,
                sample_weight=weights,
                # As in a search for one strength, so that equal seeds give equal folds.
                random_state=int(as_generator(self.random_state).integers(2**31)),
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
            alpha, tau = selection.alpha, selection.tau
        fits = self._solve_taus(statistics, float(alpha), np.array([float(tau)]), self.tol)
        return next(iter(fits)), float(alpha), selection

    def _warn_of_search(self, selection: Any, fit: Any) -> None:
        if selection is None:
            return
        if selection.n_unconverged:
            remedy = (
                'Pass solver="admm".'
                if self.solver == "descent"
                else "Raise max_iter, or raise alpha_ratio to leave out the smallest strengths."
            )
            warnings.warn(
                f"Of the fits in the search, {selection.n_unconverged} stopped above their "
                f"tolerance. {remedy}",
                ConvergenceWarning,
                stacklevel=4,
            )
        first, second = selection.index
        joined: BoolArray = fit.adjacency
        is_complete = joined.sum() == len(joined) * (len(joined) - 1)
        if 0 < first == len(selection.alphas) - 1 and not is_complete:
            warnings.warn(
                f'alpha="cv" chose {selection.alpha:.3g}, the smallest alpha it tried, so a '
                f"smaller one may be better. Pass alpha_ratio={self.alpha_ratio / 10:.1g} to "
                "search further.",
                SelectionWarning,
                stacklevel=4,
            )
        if 0 < second == len(selection.taus) - 1 and fit.solution.n_groups > 1:
            warnings.warn(
                f'tau="cv" chose {selection.tau:.3g}, the largest tau it tried, so a larger one '
                "may be better. Pass a number for tau to see.",
                SelectionWarning,
                stacklevel=4,
            )


SCALES: Final = ("global", "variable", None)
CONSTANT: Final = ("error", "drop", "ridge")


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
        Folds; a number is shuffled by ``random_state``. A column that is constant in the training
        rows of a fold gets the ridge of ``constant`` there.
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
    partial_correlation_ : ndarray of shape (``n_features_in_``, ``n_features_in_``)
        With a diagonal of 1; no edge for columns that were left out.
    graph_ : Graph
        Weights are partial correlations. Has all columns.
    groups_ : ndarray of int, shape (``n_features_in_``, ``n_features_in_``)
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
    array([-0.27, -0.27, -0.27,  0.  ])
    """

    _methods = (
        "The network was estimated as a sparse and locally constant Gaussian graphical model "
        "(Honorio et al. 2009), in which partial dependences of neighbouring sites tend to be"
        " equal."
    )
    _cites = ("honorio2009",)

    _covariances = ("empirical", "precomputed")
    _takes_constant = True
    _matrices_held = 12.0

    def __init__(
        self,
        alpha: float | str = "cv",
        tau: float | str = "cv",
        *,
        neighbors: Neighbors = "chain",
        penalize_diagonal: bool = True,
        scale: str | None = "global",
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
        X : array-like or data frame of shape (n, p), or Moments
            Rows; a (p, p) covariance when ``covariance="precomputed"``; or what
            `edgewise.stats.stream_covariance` made of rows, for given alpha and tau.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row; a weight of 2 counts as two equal rows, which a fold has both or
            neither of.

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
        self.groups_ = self._on_all_columns(fit.solution.groups, -1)
        self.graph_ = self._graph(fit)
        self.partial_correlation_ = self.graph_.weights + np.eye(self.n_features_in_)
        return self

    def path(
        self,
        X: Any,
        alphas: ArrayLike | None = None,
        taus: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> LocallyConstantPath:
        """Fit the graph for combinations of strengths, one tau started from the last.

        Leaves the estimator as it is, fitted or not.

        Parameters
        ----------
        X : array-like or data frame
            As for ``fit``.
        alphas : array-like, optional
            From large to small; by default those that a search would try.
        taus : array-like, optional
            At least 0; by default ``tau`` of the estimator, if it is a number.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        LocallyConstantPath
            ``alphas``, ``taus``, ``graphs``, ``precisions``, ``gaps``, ``converged``, ``n_edges``.
        """
        model: Self = clone(self)
        model._check_parameters()
        _, _, statistics = model._summarize(X, sample_weight)
        first = model._alphas(statistics) if alphas is None else decreasing(np.asarray(alphas))
        second = model._path_taus(taus)
        fits = [
            fit
            for alpha in first
            for fit in model._solve_taus(statistics, float(alpha), second, self.tol)
        ]
        return LocallyConstantPath(
            alphas=np.repeat(first, len(second)),
            taus=np.tile(second, len(first)),
            graphs=tuple(model._graph(fit) for fit in fits),
            precisions=np.stack([fit.precision for fit in fits]),
            gaps=np.array([fit.solution.gap for fit in fits]),
            converged=np.array([fit.converged for fit in fits]),
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, allowed in (("scale", SCALES), ("constant", CONSTANT), ("solver", SOLVERS)):
            if getattr(self, name) not in allowed:
                choices = ", ".join(repr(choice) for choice in allowed)
                raise InputError(f"{name} must be one of {choices}, got {getattr(self, name)!r}.")

    def _check_input(
        self, X: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return rows of the columns that are used; find out which when ``reset``."""
        rows, weights = super()._check_input(X, sample_weight, reset=reset)
        if reset:
            self._all_pairs()
            self.kept_: IntArray = np.arange(rows.shape[1])
            if self.covariance != "precomputed":
                self._leave_out_constant(rows if weights is None else rows[weights > 0])
        is_whole = len(self.kept_) == self.n_features_in_
        return rows if is_whole else rows[:, self.kept_], weights

    def _learn_names(self, moments: Moments) -> None:
        super()._learn_names(moments)
        self.kept_ = np.arange(self.n_features_in_)

    def _leave_out_constant(self, rows: FloatArray) -> None:
        """Refuse or leave out constant columns, unless they are to have a ridge."""
        self._check_columns(rows, self._names())
        flat = [] if self.constant == "ridge" else constant_columns(rows)
        if flat and (self.constant == "error" or len(flat) == self.n_features_in_):
            refuse_constant(flat, self.n_features_in_, self._names())
        self.kept_ = np.setdiff1d(self.kept_, flat)

    def _used_names(self) -> list[str]:
        return labels(self._names(), self.kept_.tolist())

    def _all_pairs(self) -> IntArray:
        return neighbor_pairs(self.neighbors, self.n_features_in_, mask=self.mask)

    def _pairs(self) -> IntArray:
        """Neighbours among the columns that are used, by their place among those."""
        place = np.full(self.n_features_in_, -1)
        place[self.kept_] = np.arange(len(self.kept_))
        pairs: IntArray = place[self._all_pairs()]
        return pairs[(pairs >= 0).all(axis=1)]

    def _row_statistics(
        self, X: FloatArray, sample_weight: FloatArray | None, names: list[str] | None
    ) -> Statistics:
        """Sufficient statistics, with a ridge where columns are constant.

        Those get here if ``constant="ridge"``, or if they are constant in the training rows of a
        fold; held-out rows then need a variance above 0 all the same.
        """
        flat = constant_columns(X, assume_centered=self.assume_centered)
        if not flat:
            return super()._row_statistics(X, sample_weight, names)
        n_columns = X.shape[1]
        if len(flat) == n_columns:
            refuse_constant(flat, n_columns, names)
        varying = np.setdiff1d(np.arange(n_columns), flat)
        used = labels(names, varying.tolist())
        return add_ridge(super()._row_statistics(X[:, varying], sample_weight, used), X, flat)

    def _adapt(self, statistics: Statistics) -> Statistics:
        """Put statistics into the units that ``scale`` asks for."""
        treatment = list(statistics.treatment)
        if n_dropped := self.n_features_in_ - len(self.kept_):
            columns = "column" if n_dropped == 1 else "columns"
            treatment.append(f'constant="drop": {n_dropped} constant {columns} left out')
        treatment += describe_neighbors(self._pairs(), len(statistics.S))
        statistics = replace(statistics, treatment=tuple(treatment))
        if self.scale == "global":
            return statistics.on_common_scale()
        return statistics.on_correlation_scale() if self.scale == "variable" else statistics

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

    def _describe_gap(self, n_features: int) -> str:
        if self.solver != "descent":
            return super()._describe_gap(n_features)
        return (
            f"The descent stopped {self.gap_:.2g} above a lower bound of the optimum. It can "
            'stall wherever neighbours are fused; solver="admm" does not.'
        )

    def _on_all_columns(self, matrix: AnyArray, elsewhere: float) -> AnyArray:
        """Extend a matrix of the columns that are used to all of them."""
        shape = (self.n_features_in_, self.n_features_in_)
        extended = np.full(shape, elsewhere, dtype=matrix.dtype)
        extended[np.ix_(self.kept_, self.kept_)] = matrix
        return extended

    def _graph(self, fit: PrecisionFit) -> Graph:
        """Graph of all columns; those that were left out are isolated."""
        weights = Graph.from_precision(fit.solution.value).weights
        return Graph(self._on_all_columns(weights, 0.0), names=self._names())
