"""Sparse Gaussian Bayesian networks as an estimator."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.estimators.base.columns import refuse_relations
from edgewise.estimators.base.fits import (
    CoefficientPath,
    grid_of,
    is_complete,
    note_choice,
    residual_variances,
    solve_grid,
)
from edgewise.estimators.base.statistics import (
    CONSTRAINTS,
    ArrangedStatistics,
    labels,
    positive_rows,
)
from edgewise.estimators.base.summarizer import Summarizer
from edgewise.estimators.base.table import TableEstimator, read_rows
from edgewise.estimators.directed.linear_network import LinearModel, LinearNetwork, fit_equations
from edgewise.graph import Graph
from edgewise.graph.equivalence import cpdag
from edgewise.selection import CV, EBIC, StARS
from edgewise.selection.choose import ConvergenceWarning
from edgewise.selection.criteria import ebic
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import search
from edgewise.solvers.directed.arc_lassos import SCHEDULES, BayesNetSolution
from edgewise.solvers.directed.best_order import best_order_bayes_net
from edgewise.solvers.directed.blankets import lasso_blankets
from edgewise.solvers.directed.order import bcd_bayes_net, order_bayes_net
from edgewise.stats.positive import correlation_from_covariance, find_relations

#: With more parents than this share of the rows, a refitted equation fits anything.
PARENTS_PER_ROW = 1 / 3


@dataclass(frozen=True)
class BayesNetFit:
    """A solution with the statistics it came from, and whether its intercepts are penalised."""

    solution: BayesNetSolution
    statistics: ArrangedStatistics
    has_free_bias: bool

    @property
    def converged(self) -> bool:
        """Whether the solver settled."""
        return self.solution.converged

    @cached_property
    def adjacency(self) -> BoolArray:
        """Which pairs are joined, whatever the direction."""
        arcs: BoolArray = self.statistics.restored(self.solution.value) != 0
        return arcs | arcs.T

    @property
    def tiers(self) -> IntArray:
        """Tier of each column."""
        return self.statistics.restored(self.solution.tiers)

    @cached_property
    def model(self) -> LinearModel:
        """Coefficients, intercepts and noise variances in the units of the data."""
        statistics, value = self.statistics, self.solution.value
        scale, location = statistics.scale, statistics.location
        coef = value * scale / scale[:, None]
        free = location - location @ coef
        intercept = free if self.has_free_bias else self.solution.intercept * scale
        variance = residual_variances(value, statistics.S) * scale**2 + (free - intercept) ** 2
        return LinearModel(
            coef=statistics.restored(coef),
            intercept=statistics.restored(intercept),
            noise_variance=statistics.restored(variance),
        )

    @property
    def location(self) -> FloatArray:
        """Mean of the columns."""
        return self.statistics.restored(self.statistics.location)

    def graph(self, names: list[str] | None) -> Graph:
        """Directed graph whose weights are the coefficients for standardised columns."""
        deviation = np.sqrt(self.statistics.S.diagonal())
        weights = self.solution.value / deviation * deviation[:, None]
        return Graph(self.statistics.restored(weights), names=names, directed=True)

    @property
    def n_edges(self) -> int:
        """Number of arcs."""
        return int(np.count_nonzero(self.solution.value))

    @property
    def is_complete(self) -> bool:
        """Whether all pairs are joined."""
        return is_complete(self.adjacency)

    def ebic(self, gamma: float) -> float:
        """Sum of the criteria of all equations, -2 l + k log n + 2 gamma k log m.

        For k coefficients, that of an undirected graph with k edges and half the gamma. A wrong
        order needs more arcs for the same distribution, and shrunken coefficients make up for
        their bias with more arcs still, so that arcs are judged by refitted coefficients.
        """
        n_samples, S = self.statistics.n_samples or 0.0, self.statistics.S
        arcs: BoolArray = self.solution.value != 0
        log_likelihood = -np.inf
        if arcs.sum(axis=0).max() <= PARENTS_PER_ROW * n_samples:
            variance = fit_equations(S, arcs).noise_variance
            log_likelihood = float(-0.5 * n_samples * np.sum(np.log(2 * np.pi * variance) + 1.0))
        return ebic(log_likelihood, self.n_edges, n_samples, len(S), gamma / 2)


STARTS = ("lasso", "least-squares", "l1mb")


def starting_coefficients(init: Any, statistics: ArrangedStatistics) -> FloatArray | None:
    """Coefficients to start from, on the scale of the solver; None for its own start."""
    if isinstance(init, str):
        if init == "lasso":
            return None
        if init == "l1mb":
            value: FloatArray = lasso_blankets(statistics.S, statistics.n_samples or 0.0).value
            return value
        return least_squares(statistics, "init", "least-squares", "lasso")
    given = per_arc(init, "init", statistics)
    if np.isinf(given).any() or np.diagonal(given).any():
        raise InputError("init_diagonal_or_nan")
    return given / statistics.scale * statistics.scale[:, None]


def per_arc(given: Any, name: str, statistics: ArrangedStatistics) -> FloatArray:
    """Check one number per arc i -> j, in the order of the columns; arrange them."""
    m = len(statistics.S)
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (m, m) or np.isnan(values).any():
        raise InputError("arc_matrix_shape", name=name, m=m, shape=values.shape)
    return statistics.arranged(values)


def least_squares(
    statistics: ArrangedStatistics, parameter: str, value: str, instead: str | None
) -> FloatArray:
    """Coefficients of each column on all others, from the inverse of the covariance."""
    if find_relations(correlation_from_covariance(statistics.S)):
        n = len(statistics.S)
        raise InputError("least_squares_start", parameter, value=value, n=n, instead=instead)
    precision = np.linalg.inv(statistics.S)
    coefficients = -precision / precision.diagonal()
    np.fill_diagonal(coefficients, 0.0)
    return coefficients


def penalty_weights(weights: Any, statistics: ArrangedStatistics) -> FloatArray:
    """Factors of alpha for each arc; an adaptive one is one over a standardised coefficient."""
    if not isinstance(weights, str):
        return per_arc(weights, "weights", statistics)
    found = least_squares(statistics, "weights", "adaptive", None)
    deviation = np.sqrt(statistics.S.diagonal())
    size = np.abs(found * deviation[:, None] / deviation)
    return 1.0 / np.maximum(size, SMALLEST)


#: Smallest standardised coefficient that adaptive weights tell from 0.
SMALLEST = 1e-6
SOLVERS: dict[str, Callable[..., BayesNetSolution]] = {
    "order": order_bayes_net,
    "bcd": bcd_bayes_net,
    "exact": best_order_bayes_net,
}
METHODS = tuple(SOLVERS)
BIASES = ("free", "penalized")
#: Smallest alpha that a rule tries at first, as a share of the largest. Smaller ones take long.
RATIO = 0.02
SOLVER_OPTIONS = (
    "method",
    "schedule",
    "init",
    "bias",
    "standardize",
    "weights",
    "tol",
    "max_iter",
    "n_jobs",
)


class GaussianBayesNet(LinearNetwork, TableEstimator):
    r"""Which way influences run: a sparse network of linear equations without cycles.

    Each column is a linear function of its parents plus Gaussian noise. Coefficients
    :math:`\Theta` and tiers :math:`u` of the columns are found together by alternately minimising

    .. math::

        \sum_j \frac{1}{2n} \Big\| x_j - \sum_i \Theta_{ij} x_i \Big\|^2
        + \sum_{i \ne j} \big( \alpha + \lambda \max(0, 1 - (u_j - u_i)) \big) |\Theta_{ij}|

    over either, with :math:`\lambda` growing until every arc goes up (OR-SGBN [1]_); the tiers of
    each step are exact, see `edgewise.solvers.order_given_weights`. The result does not depend on
    the order of the columns.

    Linear Gaussian data tell directions only up to Markov equivalence: see ``cpdag_`` for the
    arrows that they cannot tell. The penalty does not know more, so that directions are a weak
    point of this method; `BlanketBayesNet` finds them more reliably. What it offers is a sparse
    joint distribution, also with fewer rows than columns.

    Parameters
    ----------
    alpha : float, {"ebic", "cv", "stars"}, EBIC, CV or StARS
        Strength of the penalty in units of correlation: an arc is left out if the partial
        covariance of its parent with the standardised child is below. Or the rule that chooses it
        along a path: extended BIC of the arcs with refitted coefficients (where no column has more
        than a third as many parents as there are rows; of equal ones, the smallest alpha, which
        shrinks them least), held-out likelihood, or stability of the pairs that are joined. By
        default 30 alphas are tried, down to 0.02 of the largest, and 0.1 with no more rows than
        columns; then, with more than two rows per column, up to three decades less while the best
        is the smallest.
    method : {"order", "bcd", "exact"}
        By an order of all columns at once; column by column with a penalty on paths (H-SGBN [2]_);
        or the smallest objective of all orders, for up to 20 columns, which has no use for
        ``schedule`` and ``init``.
    schedule : {"homotopy", "literal"}
        Let :math:`\lambda` grow step by step, which finds smaller objectives; or begin with the
        largest, as published for ``"order"``.
    init : {"lasso", "least-squares", "l1mb"} or array-like of shape (m, m)
        Coefficients to start from: the lasso of each column on all others at the same alpha; least
        squares, which needs more rows than columns; least squares on the blankets of
        `edgewise.solvers.directed.blankets.lasso_blankets`; or any, in the units of X. The start
        decides most of the
        order, least squares badly; ``"homotopy"`` forgets much of it, and all of it with
        ``"bcd"``.
    bias : {"free", "penalized"}
        Fit the intercepts freely; or penalise them by alpha like an arc, as published, which draws
        them to 0: the columns are then not centred.
    standardize : bool
        Divide the columns by their standard deviations. Otherwise alpha is in the squared units of
        X, and columns of small variance tend to come first, which says nothing about influence but
        often matches simulated truth.
    weights : {None, "adaptive"} or array-like of shape (m, m)
        Multiplies alpha for each arc i -> j; ``inf`` forbids it. ``"adaptive"`` divides it by the
        standardised coefficient of i in the least squares of j on all others, which needs more
        rows than columns.
    missing : {"error", "pairwise", "em"}
        What to do with NaN: refuse; take each covariance from the rows that have both columns;
        or use Gaussian maximum likelihood of the observed entries (EM).
    repair : {None, "ridge", "clip"}
        What to do with columns bound by exact relations: refuse them, or raise the small
        eigenvalues of their correlations. ``treatment_`` then says how.
    tol : float
        Largest violation of an optimality condition of the lassos, in units of correlation.
    max_iter : int
        Largest number of alternations, or sweeps over the columns, for each :math:`\lambda`.
    n_jobs : int, optional
        Folds or subsamples fitted, or columns solved, at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles folds, draws subsamples, and draws the rows of ``sample``.
    verbose : int
        Above 0, a progress bar of folds or subsamples is drawn on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the coefficient of the arc i -> j in the units of X; never a cycle.
    intercept_, noise_variance_ : ndarray of shape (m,)
        Of each column's equation.
    order_ : ndarray of shape (m,)
        Tier of each column, from 0: the longest path of arcs that ends in it.
    graph_ : Graph
        Directed; the weight of an arc is its coefficient for standardised columns.
    cpdag_ : Graph
        Arrows that every network with the same independences has; the others both ways.
    history_ : ndarray of shape (``n_iter_``, 2)
        Objective after each alternation or sweep, and the :math:`\lambda` it is for. With
        ``method="order"`` it never rises while :math:`\lambda` stays.
    objective_, gap_ : float
        Objective without the term of the order, and the sum of the lassos' duality gaps given what
        the order allows, on the scale of the correlations (of X if not ``standardize``).
    alpha_, alphas_, selection_
        The strength used, those tried, and the criterion along them (None for a number).
    location_ : ndarray of shape (m,)
        Mean of the columns.
    converged_, n_iter_, treatment_
        Whether the alternation settled, its length, and what was done to the data.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Zhou, Wang, Liu, Ogunbona and Shen (2016). Learning discriminative Bayesian networks
       from high-dimensional continuous neuroimaging data. *IEEE Transactions on Pattern Analysis
       and Machine Intelligence* 38(11). https://doi.org/10.1109/TPAMI.2015.2511754
    .. [2] Huang, Li, Ye, Fleisher, Chen, Wu and Reiman (2013). A sparse structure learning
       algorithm for Gaussian Bayesian network identification from high-dimensional data. *IEEE
       Transactions on Pattern Analysis and Machine Intelligence* 35(6).
       https://doi.org/10.1109/TPAMI.2012.129

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GaussianBayesNet
    >>> warmth, sun, growth = np.random.default_rng(0).normal(size=(3, 500))
    >>> warmth += sun
    >>> growth += sun
    >>> model = GaussianBayesNet(alpha=0.1).fit(np.column_stack([warmth, sun, growth]))
    >>> model.order_
    array([1, 0, 1])
    >>> model.coef_.round(1)
    array([[0. , 0. , 0. ],
           [0.9, 0. , 0.8],
           [0. , 0. , 0. ]])
    >>> model.do({1: 2.0}).round(1)
    array([1.7, 2. , 1.7])
    """

    _methods = (
        "A sparse Gaussian Bayesian network was learned by a penalised order of the variables"
        " (Zhou et al. 2016)."
    )
    _cites = ("zhou2016",)

    _alpha = Strength(EBIC(), CV(), StARS(), why_positive="complete_without_penalty")
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": _alpha,
        "method": OneOf(*METHODS),
        "schedule": OneOf(*SCHEDULES),
        "init": OneOf(*STARTS, or_array=True),
        "bias": OneOf(*BIASES),
        "weights": OneOf(None, "adaptive", or_array=True),
        **CONSTRAINTS,
    }
    _matrices_held = 8.0
    _copies_held = 4.5

    def __init__(
        self,
        alpha: float | str | Rule = "ebic",
        method: str = "order",
        *,
        schedule: str = "homotopy",
        init: str | ArrayLike = "lasso",
        bias: str = "free",
        standardize: bool = True,
        weights: str | ArrayLike | None = None,
        missing: str = "error",
        repair: str | None = None,
        tol: float = 1e-10,
        max_iter: int = 100,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.method = method
        self.schedule = schedule
        self.init = init
        self.bias = bias
        self.standardize = standardize
        self.weights = weights
        self.missing = missing
        self.repair = repair
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the network.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            Rows.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row; a weight of 2 counts as two equal rows, which a fold or subsample
            has both or neither of.

        Returns
        -------
        GaussianBayesNet
        """
        rows, weights, problem, statistics = self._pose(X, sample_weight)
        choice = search(
            problem,
            self._alpha.resolve(self.alpha),
            rows,
            weights,
            statistics,
            grid_of(self, statistics, RATIO),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            takes_last_tie=True,
        )
        fit: BayesNetFit = choice.fit
        note_choice(self, choice, statistics)
        self.coef_, self.intercept_, self.noise_variance_ = fit.model
        self.order_ = fit.tiers
        self.location_ = fit.location
        self.graph_ = fit.graph(self._names())
        self.history_ = np.column_stack([fit.solution.history, fit.solution.strengths])
        return self

    @property
    def cpdag_(self) -> Graph:
        """The arrows that the data can tell, and lines both ways for those that they cannot."""
        check_is_fitted(self)
        return cpdag(self.graph_)

    def path(
        self,
        X: Any,
        alphas: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> CoefficientPath:
        """Fit the network for a sequence of alphas, each from a start of its own.

        Leaves the estimator as it is, fitted or not.

        Parameters
        ----------
        X : array-like or data frame
            As for ``fit``.
        alphas : array-like, optional
            From large to small; by default those that a rule for alpha would try.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        CoefficientPath
            ``alphas``, ``graphs``, ``coefs``, ``gaps``, ``converged`` and ``n_edges``.
        """
        model = clone(self)
        _, _, problem, statistics = model._pose(X, sample_weight)
        grid, fits = solve_grid(alphas, problem, statistics, grid_of(self, statistics, RATIO))
        graphs = (fit.graph(model._names()) for fit in fits)
        coefs = np.stack([fit.model.coef for fit in fits])
        return CoefficientPath.of(grid, fits, graphs, coefs=coefs)

    def _pose(
        self, X: Any, sample_weight: Any
    ) -> tuple[FloatArray, FloatArray | None, BayesNetProblem, ArrangedStatistics]:
        """Read the table; return rows, their weights, the problem and the statistics."""
        check_parameters(self, self._constraints)
        advice = f"{type(self).__name__} learns from the rows behind it."
        rows, weights = read_rows(self, X, sample_weight, advice)
        problem = BayesNetProblem(
            covariance=Summarizer(names=self._names(), missing=self.missing, repair=self.repair),
            **{name: getattr(self, name) for name in SOLVER_OPTIONS},
        )
        statistics = problem.summarize(rows, weights, is_fold=False)
        # Only for the rows that a user hands over: a fold of them may hold a relation by chance.
        if self.repair is None:
            names = labels(self._names(), statistics.arrangement.tolist())
            refuse_relations(statistics, positive_rows(rows, weights)[0], names)
        return rows, weights, problem, statistics


@dataclass(frozen=True, kw_only=True, eq=False)
class BayesNetProblem:
    """Penalised networks as a `PathProblem`; the fields are parameters of `GaussianBayesNet`."""

    covariance: Summarizer
    method: str
    schedule: str
    init: Any
    bias: str
    standardize: bool
    weights: Any
    tol: float
    max_iter: int
    n_jobs: int | None

    def summarize(
        self, rows: FloatArray, weights: FloatArray | None, *, is_fold: bool = True
    ) -> ArrangedStatistics:
        """Return the statistics of the columns in an order of their own."""
        statistics = self.covariance.of_arranged_rows(rows, weights, is_fold=is_fold)
        return statistics.on_correlation_scale() if self.standardize else statistics

    def largest_alpha(self, statistics: ArrangedStatistics) -> float:
        """Return the smallest alpha without arcs."""
        size = statistics.S.copy()
        np.fill_diagonal(size, 0.0)
        if self.bias == "free":
            return float(np.abs(size).max())
        mean = statistics.location / statistics.scale
        outer = np.outer(mean, mean)
        np.fill_diagonal(outer, 0.0)
        return float(max(np.abs(size + outer).max(), np.abs(mean).max()))

    def solve_path(
        self, statistics: ArrangedStatistics, alphas: FloatArray
    ) -> Iterator[BayesNetFit]:
        """Yield one fit per alpha, each from a start of its own."""
        options: dict[str, Any] = {"tol": self.tol}
        if self.weights is not None:
            options["weights"] = penalty_weights(self.weights, statistics)
        has_free_bias = self.bias == "free"
        if not has_free_bias:
            options["location"] = statistics.location / statistics.scale
        if self.method != "exact":
            options["init"] = starting_coefficients(self.init, statistics)
            options |= {"schedule": self.schedule, "max_iter": self.max_iter}
        if self.method != "bcd":
            options["n_jobs"] = self.n_jobs
        solve: Callable[..., BayesNetSolution] = SOLVERS[self.method]
        for alpha in alphas:
            solution = solve(statistics.S, float(alpha), **options)
            yield BayesNetFit(solution, statistics, has_free_bias)

    def score(self, fit: BayesNetFit, rows: FloatArray, weights: FloatArray | None) -> float:
        """Return the mean log-likelihood of rows."""
        return fit.model.log_likelihood(rows, weights)

    def gap_warning(self, fit: BayesNetFit) -> ConvergenceWarning:
        """Return the warning of an alternation that did not converge."""
        return ConvergenceWarning("order_not_converged", n_iter=fit.solution.n_iter)
