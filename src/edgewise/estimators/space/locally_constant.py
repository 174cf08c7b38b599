"""Sparse and locally constant Gaussian graphs as an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from edgewise._core.arrays import on_host, to_device
from edgewise._core.constraints import Constraint, OneOf, check_parameters, is_number
from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import AnyArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import check_columns
from edgewise.data.neighbors import Neighbors, describe_neighbors, neighbor_pairs
from edgewise.estimators.base.columns import constant_columns, refuse_constant
from edgewise.estimators.base.density import GaussianDensity
from edgewise.estimators.base.fits import (
    GaussianModel,
    LocallyConstantPath,
    PrecisionFit,
    gap_warning,
    gaussian_score,
    note_choice,
    note_decided,
)
from edgewise.estimators.base.statistics import CONSTRAINTS, Statistics, labels, positive_rows
from edgewise.estimators.base.summarizer import Summarizer
from edgewise.estimators.base.table import (
    follow,
    followed,
    read_table,
)
from edgewise.graph import Graph
from edgewise.selection import CV, SelectionWarning
from edgewise.selection.choose import (
    ConvergenceWarning,
    PairSelection,
    alpha_grid,
    choose_pair_by_cv,
    decreasing,
)
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import Choice, deciding, warn_of_smallest, warn_of_unconverged
from edgewise.solvers.device.fused_rows import GPU_FROM
from edgewise.solvers.gaussian.graphical_lasso import alpha_max
from edgewise.solvers.space.locally_constant import (
    SOLVERS,
    locally_constant,
    locally_constant_path,
)
from edgewise.solvers.space.smooth import smooth_precision
from edgewise.stats import Moments

#: Duality gap per variable that is enough to compare strengths.
SEARCH_TOL: Final = 1e-4
#: Smallest strength tried as a share of the largest.
RATIO: Final = 1e-3
#: What may be drawn to 0.
DIFFERENCES: Final = ("constant", "smooth")


class LocallyConstantGraph(GaussianDensity):
    r"""Sparse Gaussian graph that is constant over neighbours in space, with a certificate.

    .. math::

        \min_{\Theta \succ 0} \; \mathrm{tr}(S \Theta) - \log\det\Theta
        + \alpha \sum_{ij} |\Theta_{ij}|
        + \tau \sum_{(a, b) \in E} \; \sum_{n \notin \{a, b\}} |\Theta_{an} - \Theta_{bn}|

    where :math:`S` is the covariance of the data, :math:`\Theta` the precision matrix and
    :math:`E` the pairs of ``neighbors``. The last sum draws the edges of neighbouring variables to
    equal strength, so that links between patches of space stand out from noise that no single
    edge would [1]_. With ``differences="smooth"`` it has the difference between the edges of a
    variable and their mean over its neighbours, so that strengths may fade over space.
    `edgewise.solvers.locally_constant` has weights for single entries, too.

    Parameters
    ----------
    alpha : float, "cv" or CV
        Strength of sparsity, above 0, counted for every entry of the symmetric matrix; or chosen
        by held-out likelihood. ``"cv"`` is ``CV(5, n_alphas=8, alpha_ratio=1e-3)``: the largest
        alpha tried is the smallest with an empty graph. A column that is constant in the training
        rows of a fold gets the ridge of ``constant`` there.
    tau : float, "cv" or CV
        Strength of local constancy, at least 0, each difference counted once; or chosen together
        with alpha, on the same folds. ``"cv"`` tries 0 and 6 taus, up to the largest alpha and down
        to the same share of it; ``CV(n_alphas=10)`` tries 0 and 10.
    neighbors : {"chain", "ring"}, grid shape, array of bool, or array-like of shape (n_pairs, 2)
        Where the columns sit: in a row; in a ring; on a grid of two or three sizes such as
        ``(8, 8)``, in row-major order; on a grid with holes, as an array of the grid's shape that
        is True where there is a site; or pairs of column numbers.
    differences : {"constant", "smooth", "cv"}
        What is drawn to 0: differences between neighbours; differences from the mean of all
        neighbours (a graph Laplacian), to which the descent and groups have nothing to say; or what
        held-out rows like better, at the strengths that suit it best.
    penalize_diagonal : bool
        Whether sparsity includes the diagonal.
    scale : {"global", "variable", None}
        Units of S: divided by the mean variance; correlations; or as they are. Local constancy
        compares precisions of neighbours, which is meaningful in a common unit: take
        ``"variable"`` only where columns are measured in different ones.
    solver : {"admm", "descent", "dual"}
        ``"admm"`` reaches the optimum; the others are for comparison, see
        `edgewise.solvers.locally_constant`.
    constant : {"error", "drop", "ridge"}
        What to do with columns that have one value in every row, as pixels at the border of an
        image may: refuse; leave them out, isolated in the graph; or add a thousandth of the mean
        variance to the variance of every column.
    missing, repair
        As in `GaussianGraph`.
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
    device : {"cpu", "cuda", "auto"}
        Where ``"admm"`` runs. ``"cuda"`` is a GPU by way of PyTorch, which pays from about 400
        variables on; ``"auto"`` takes a GPU where there is one and there are as many. Fitted
        attributes are NumPy arrays and agree up to the duality gap.

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
        diagonal and where there is no edge. Smooth edges are groups of their own.
    differences_ : str
        ``"constant"`` or ``"smooth"``.
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
    decided_ : ndarray of bool, shape (p, p)
        Pairs whose edge, with its sign, or whose absence the gap proves to be the optimum's; with
        ``solver="admm"``.
    is_decided_ : bool
        Whether all pairs are.
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

    _alpha = Strength(
        CV(n_alphas=8, alpha_ratio=RATIO),
        why_positive="unbounded_without_penalty",
    )
    _tau = Strength(CV(n_alphas=6))
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "tau": _tau,
        "alpha": _alpha,
        "differences": OneOf(*DIFFERENCES, "cv"),
        "solver": OneOf(*SOLVERS),
        "device": OneOf("cpu", "cuda", "auto"),
        "scale": OneOf("global", "variable", None),
        "constant": OneOf("error", "drop", "ridge"),
        **CONSTRAINTS,
    }
    #: How statistics are summed up, for `read_table`; it is not for users to choose.
    covariance = "empirical"
    _matrices_held = 12.0

    def __init__(
        self,
        alpha: float | str | CV = "cv",
        tau: float | str | CV = "cv",
        *,
        neighbors: Neighbors = "chain",
        differences: str = "constant",
        penalize_diagonal: bool = True,
        scale: str | None = "global",
        solver: str = "admm",
        constant: str = "error",
        missing: str = "error",
        repair: str | None = None,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        device: str = "cpu",
    ) -> None:
        self.alpha = alpha
        self.tau = tau
        self.neighbors = neighbors
        self.differences = differences
        self.penalize_diagonal = penalize_diagonal
        self.scale = scale
        self.solver = solver
        self.constant = constant
        self.missing = missing
        self.repair = repair
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the graph.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p), or Moments
            Rows; a covariance, as `edgewise.stats.Moments.from_covariance` takes it; or what
            `edgewise.stats.stream_covariance` made of rows, for given alpha and tau.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row; a weight of 2 counts as two equal rows, which a fold has both or
            neither of.

        Returns
        -------
        LocallyConstantGraph
        """
        table, weights, problem, statistics = self._pose(X, sample_weight)
        problem, choice = self._search(problem, table, weights, statistics)
        fit = choice.fit
        note_choice(self, choice, statistics)
        self.differences_ = problem.differences
        self.tau_ = fit.solution.tau
        self.taus_ = np.array([self.tau_]) if self.selection_ is None else self.selection_.taus
        self.precision_ = fit.precision
        self.covariance_ = fit.covariance
        self.location_ = statistics.location
        self.groups_ = self._on_all_columns(fit.solution.groups, -1)
        self.graph_ = self._graph(fit)
        self.partial_correlation_ = self.graph_.weights + np.eye(self.n_features_in_)
        decided = fit.solution.decided
        note_decided(self, None if decided is None else self._on_all_columns(decided, True))
        follow(self, followed(X), "precision_", "covariance_", "location_", "partial_correlation_")
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
        self._refuse_search_of_differences()
        model: Self = clone(self)
        _, _, problem, statistics = model._pose(X, sample_weight)
        first = problem.alphas(statistics, self._alpha.grid_rule(self.alpha))
        if alphas is not None:
            first = decreasing(np.asarray(alphas))
        second = model._path_taus(taus)
        fits = [
            fit for alpha in first for fit in problem.solve_taus(statistics, float(alpha), second)
        ]
        return LocallyConstantPath.of(
            np.repeat(first, len(second)),
            fits,
            (model._graph(fit) for fit in fits),
            taus=np.tile(second, len(first)),
            precisions=np.stack([fit.precision for fit in fits]),
        )

    def _pose(
        self, X: Any, sample_weight: Any
    ) -> tuple[Any, FloatArray | None, LocallyConstantProblem, Statistics]:
        """Read the table; return the columns that are used, their weights, problem, statistics."""
        check_parameters(self, self._constraints)
        model = followed(X)
        table, weights = read_table(self, X, sample_weight, advice="")
        self.pairs_ = neighbor_pairs(self.neighbors, self.n_features_in_)
        self.kept_: IntArray = np.arange(self.n_features_in_)
        if isinstance(table, Moments):
            problem = self._problem(model)
            statistics = problem.in_units(problem.covariance.of_table(table, weights))
        else:
            rows, positive = positive_rows(table, weights)
            flat = self._constant_columns(rows)
            if self.constant != "ridge":
                self.kept_ = np.setdiff1d(self.kept_, flat)
                table, rows, flat = self._used(table), self._used(rows), []
            problem = self._problem(model)
            statistics = problem.in_units(problem.covariance.with_ridge(rows, positive, flat))
        treatment = list(statistics.treatment)
        if n_dropped := self.n_features_in_ - len(self.kept_):
            columns = "column" if n_dropped == 1 else "columns"
            treatment.append(f'constant="drop": {n_dropped} constant {columns} left out')
        treatment += describe_neighbors(problem.pairs, len(self.kept_))
        return table, weights, problem, replace(statistics, treatment=tuple(treatment))

    def _constant_columns(self, rows: FloatArray) -> list[int]:
        """Find columns without variance, or refuse them, after a check of all columns."""
        names = self._names()
        check_columns(
            rows,
            names,
            allow_missing=self.missing != "error",
            allow_constant=True,
            allow_identical=self.repair is not None,
        )
        flat = constant_columns(rows)
        if flat and (self.constant == "error" or len(flat) == self.n_features_in_):
            refuse_constant(flat, self.n_features_in_, names)
        return flat

    def _used(self, rows: FloatArray) -> FloatArray:
        """Return the columns that are used."""
        return rows if len(self.kept_) == self.n_features_in_ else rows[:, self.kept_]

    def _problem(self, model: Any = None) -> LocallyConstantProblem:
        """Pose the problem for the columns that are used, on the device of ``model`` if any."""
        place = np.full(self.n_features_in_, -1)
        place[self.kept_] = np.arange(len(self.kept_))
        pairs: IntArray = place[self.pairs_]
        if self.device == "cuda" and self.solver != "admm":
            raise InputError("solver_cpu_only", "device", solver=self.solver)
        if self.differences != "constant" and (self.device == "cuda" or self.solver != "admm"):
            raise InputError("smooth_differences", "differences")
        return LocallyConstantProblem(
            covariance=Summarizer(
                names=labels(self._names(), self.kept_.tolist()),
                covariance=self.covariance,
                missing=self.missing,
                repair=self.repair,
            ),
            pairs=pairs[(pairs >= 0).all(axis=1)],
            differences="constant" if self.differences == "cv" else self.differences,
            scale=self.scale,
            solver=self.solver,
            device=self.device if model is None else model,
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _search(
        self,
        problem: LocallyConstantProblem,
        rows: Any,
        weights: FloatArray | None,
        statistics: Statistics,
    ) -> tuple[LocallyConstantProblem, Choice]:
        """Fit at the strengths as given, or as held-out rows choose them on a grid.

        Also returns the problem with the differences that were chosen.
        """
        alpha: Any = self._alpha.resolve(self.alpha)
        tau: Any = self._tau.resolve(self.tau)
        rule = alpha if isinstance(alpha, CV) else tau
        selection = None
        if isinstance(rule, CV):
            if isinstance(self.tau, CV) and repr(self.tau.cv) != repr(rule.cv):
                raise InputError("space_search_settings", cv=rule.cv, cv2=self.tau.cv)
            # Splits that were handed in count all rows; otherwise a weight of 0 means no row.
            if weights is not None and isinstance(rule.cv, Integral):
                rows, weights = positive_rows(rows, weights)
            # As in a search for one strength, so that equal seeds give equal folds.
            seed = int(as_generator(self.random_state).integers(2**31))
            tried = [
                replace(problem, differences=one)
                for one in (DIFFERENCES if self.differences == "cv" else (self.differences,))
            ]
            found = [
                choose_pair_by_cv(
                    rows,
                    one.alphas(statistics, alpha),
                    one.taus(statistics, tau, rule),
                    one.fit_taus,
                    one.score,
                    cv=rule.cv,
                    sample_weight=weights,
                    random_state=seed,
                    n_jobs=self.n_jobs,
                    verbose=self.verbose,
                )
                for one in tried
            ]
            best = int(np.argmax([one.values.max() for one in found]))
            problem, selection = tried[best], found[best]
            alpha, tau = selection.alpha, selection.tau
        else:
            self._refuse_search_of_differences()
        last = deciding(problem)
        (fit,) = last.solve_taus(statistics, float(alpha), np.array([float(tau)]))
        if selection is not None:
            _warn_of_search(selection, fit, rule)
        if not fit.converged:
            warnings.warn(problem.gap_warning(fit), stacklevel=3)
        return problem, Choice(fit=fit, alpha=float(alpha), selection=selection)

    def _refuse_search_of_differences(self) -> None:
        if self.differences == "cv":
            raise InputError("differences_without_folds", "differences")

    def _path_taus(self, taus: ArrayLike | None) -> FloatArray:
        """Taus of a path as an array."""
        if taus is None and not is_number(self.tau):
            raise InputError("path_needs_tau")
        listed = np.atleast_1d(np.asarray(self.tau if taus is None else taus))
        if listed.ndim > 1 or not listed.size or listed.dtype.kind not in "iuf":
            raise InputError("taus_empty")
        return listed.astype(np.float64)

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


@dataclass(frozen=True, kw_only=True, eq=False)
class LocallyConstantProblem:
    """Paths of two strengths; most fields are parameters of `LocallyConstantGraph`.

    Attributes
    ----------
    pairs : ndarray of int, shape (n_pairs, 2)
        Neighbours among the columns that are used.
    """

    covariance: Summarizer
    pairs: IntArray
    differences: str
    scale: str | None
    solver: str
    device: Any
    penalize_diagonal: bool
    tol: float
    max_iter: int
    decide: float = 0.0

    def in_units(self, statistics: Statistics) -> Statistics:
        """Put statistics into the units that ``scale`` asks for."""
        if self.scale == "global":
            return statistics.on_common_scale()
        return statistics.on_correlation_scale() if self.scale == "variable" else statistics

    def largest_alpha(self, statistics: Statistics) -> float:
        """Return the smallest alpha with an empty graph; without edges, the mean variance."""
        return alpha_max(statistics.S) or float(np.mean(statistics.S.diagonal()))

    def alphas(self, statistics: Statistics, alpha: Rule | float) -> FloatArray:
        """List the alphas to try, from large to small."""
        if not isinstance(alpha, Rule):
            return np.array([alpha])
        n_alphas, ratio = alpha.n_alphas or 0, alpha.alpha_ratio or 0.0
        return alpha_grid(self.largest_alpha(statistics), n_alphas, ratio)

    def taus(self, statistics: Statistics, tau: Rule | float, rule: Rule) -> FloatArray:
        """List the taus to try, from small to large."""
        if not isinstance(tau, Rule):
            return np.array([tau])
        largest = self.largest_alpha(statistics)
        ratio = tau.alpha_ratio or rule.alpha_ratio or RATIO
        return np.append(0.0, np.geomspace(ratio * largest, largest, tau.n_alphas or 0))

    def fit_taus(
        self, alpha: float, rows: FloatArray, weights: FloatArray | None, taus: FloatArray
    ) -> Iterable[PrecisionFit]:
        """Fit some rows for each tau, as accurately as it takes to compare strengths."""
        rows, weights = positive_rows(rows, weights)
        check_columns(
            rows,
            self.covariance.names,
            allow_missing=self.covariance.missing != "error",
            allow_constant=True,
            allow_identical=True,
        )
        statistics = self.covariance.with_ridge(rows, weights, constant_columns(rows))
        problem = replace(self, tol=max(self.tol, SEARCH_TOL))
        return problem.solve_taus(self.in_units(statistics), alpha, taus)

    def solve_taus(
        self, statistics: Statistics, alpha: float, taus: FloatArray
    ) -> list[PrecisionFit]:
        """Return one fit per tau, each started from the one before where the solver can."""
        options: dict[str, Any] = {
            "penalize_diagonal": self.penalize_diagonal,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }
        if self.differences == "smooth":
            solutions = [
                smooth_precision(statistics.S, alpha, float(tau), self.pairs, **options)
                for tau in taus
            ]
        elif self.solver == "admm":
            S = to_device(statistics.S, self.device, GPU_FROM)
            (solutions,) = locally_constant_path(
                S, [alpha], taus, self.pairs, decide=self.decide, **options
            )
            solutions = [on_host(solution) for solution in solutions]
        else:
            options["solver"] = self.solver
            solutions = [
                locally_constant(statistics.S, alpha, float(tau), self.pairs, **options)
                for tau in taus
            ]
        return [PrecisionFit(solution, statistics) for solution in solutions]

    def score(
        self, fit: PrecisionFit | GaussianModel, rows: FloatArray, weights: FloatArray | None
    ) -> float:
        """Return the mean log-likelihood of rows."""
        return gaussian_score(fit, rows, weights, self.covariance)

    def gap_warning(self, fit: PrecisionFit) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        if self.solver != "descent":
            return gap_warning(fit.solution, self.tol)
        return ConvergenceWarning("descent_stalled", gap=fit.solution.gap)


def _warn_of_search(selection: PairSelection, fit: Any, rule: Rule) -> None:
    warn_of_unconverged(selection.n_unconverged, stacklevel=5)
    first, second = selection.index
    if 0 < first == len(selection.alphas) - 1 and not fit.is_complete:
        warn_of_smallest(rule, selection.alphas, stacklevel=5)
    if 0 < second == len(selection.taus) - 1 and fit.solution.n_groups > 1:
        warnings.warn(SelectionWarning("largest_tau_chosen", tau=selection.tau), stacklevel=4)
