"""Sparse Gaussian Bayesian networks as an estimator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.estimators.base.fits import residual_variances
from edgewise.estimators.base.graph_estimator import GraphEstimator
from edgewise.estimators.base.paths import CoefficientPath
from edgewise.estimators.base.statistics import (
    ArrangedStatistics,
    Statistics,
    arrangement,
    find_relations,
    refuse_relations,
    row_statistics,
)
from edgewise.estimators.directed.linear_network import LinearModel, LinearNetwork
from edgewise.graph import Graph
from edgewise.graph.equivalence import cpdag
from edgewise.io.messages import quote_names
from edgewise.selection import Selection, alpha_grid, ebic
from edgewise.selection.choose import make_selection
from edgewise.selection.search import default_ratio
from edgewise.solvers import bcd_bayes_net, lasso_blankets, order_bayes_net
from edgewise.solvers.directed.arc_lassos import SCHEDULES, BayesNetSolution
from edgewise.stats import correlation_from_covariance

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
    def n_arcs(self) -> int:
        """Number of arcs."""
        return int(np.count_nonzero(self.solution.value))

    @property
    def most_parents(self) -> int:
        """Largest number of parents of a column."""
        return int(np.count_nonzero(self.solution.value, axis=0).max())

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

    def refitted_log_likelihood(self) -> float:
        """Log-likelihood of all rows with the same arcs and free coefficients."""
        S, arcs = self.statistics.S, self.solution.value != 0
        variance = S.diagonal().copy()
        for j in np.flatnonzero(arcs.any(axis=0)).tolist():
            parents = np.flatnonzero(arcs[:, j])
            inner, cross = S[np.ix_(parents, parents)], S[parents, j]
            coefficients = np.linalg.lstsq(inner, cross, rcond=None)[0]
            variance[j] -= cross @ coefficients
        # Among few rows a relation may be exact by chance.
        variance = np.maximum(variance, 1e-12 * S.diagonal())
        n_samples = self.statistics.n_samples or 0.0
        return float(-0.5 * n_samples * np.sum(np.log(2 * np.pi * variance) + 1.0))


def choose_by_refitted_ebic(
    fits: Iterable[BayesNetFit], alphas: FloatArray, gamma: float
) -> Selection:
    """Take the alpha whose arcs have the smallest extended BIC; of those, the smallest.

    A wrong order needs more arcs for the same distribution, and shrunken coefficients make up for
    their bias with more arcs still, so that the arcs are judged by refitted coefficients. The same
    arcs then have the same criterion, and the smallest alpha shrinks them least.
    """
    values, n_arcs, n_unconverged = [], [], 0
    for fit in fits:
        # The sum of the criteria of all equations, -2 l + k log n + 2 gamma k log m for k
        # coefficients: that of an undirected graph with k edges and half the gamma.
        n_samples, m = fit.statistics.n_samples or 0.0, len(fit.statistics.S)
        is_judged = fit.most_parents <= PARENTS_PER_ROW * n_samples
        log_likelihood = fit.refitted_log_likelihood() if is_judged else -np.inf
        values.append(ebic(log_likelihood, fit.n_arcs, n_samples, m, gamma / 2))
        n_arcs.append(fit.n_arcs)
        n_unconverged += not fit.converged
    lowest = min(values)
    ties = [k for k, value in enumerate(values) if value <= lowest + 1e-9 * abs(lowest)]
    return make_selection(
        "ebic", alphas, np.array(values), ties[-1], n_unconverged, np.array(n_arcs)
    )


STARTS = ("lasso", "least-squares", "l1mb")


def starting_coefficients(init: Any, statistics: ArrangedStatistics) -> FloatArray | None:
    """Coefficients to start from, on the scale of the solver; None for its own start."""
    if isinstance(init, str):
        if init == "lasso":
            return None
        if init == "l1mb":
            value: FloatArray = lasso_blankets(statistics.S, statistics.n_samples or 0.0).value
            return value
        return _least_squares(statistics)
    given = per_arc(init, "init", statistics)
    if np.isinf(given).any() or np.diagonal(given).any():
        raise InputError("init must be finite with a diagonal of 0: no column is its own parent.")
    return given / statistics.scale * statistics.scale[:, None]


def per_arc(given: Any, name: str, statistics: ArrangedStatistics) -> FloatArray:
    """Check one number per arc i -> j, in the order of the columns; arrange them."""
    m = len(statistics.S)
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (m, m) or np.isnan(values).any():
        raise InputError(
            f"{name} must hold one number per arc i -> j and have shape ({m}, {m}), got shape "
            f"{values.shape}."
        )
    return statistics.arranged(values)


def _least_squares(statistics: ArrangedStatistics) -> FloatArray:
    """Coefficients of each column on all others, from the inverse of the covariance."""
    if find_relations(correlation_from_covariance(statistics.S)):
        raise InputError(
            f'init="least-squares" needs more different rows than the {len(statistics.S)} columns, '
            'and none that follows from others. Pass init="lasso".'
        )
    precision = np.linalg.inv(statistics.S)
    coefficients = -precision / precision.diagonal()
    np.fill_diagonal(coefficients, 0.0)
    return coefficients


METHODS = ("order", "bcd")
BIASES = ("free", "penalized")
#: Smallest alpha that a rule tries at first, as a share of the largest. Smaller ones take long.
RATIO = 0.02


class GaussianBayesNet(LinearNetwork, GraphEstimator):
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
    alpha : float or {"ebic", "cv", "stars"}
        Strength of the penalty in units of correlation: an arc is left out if the partial
        covariance of its parent with the standardised child is below. Or the rule that picks it
        along a path: extended BIC of the arcs with refitted coefficients (where no column has more
        than a third as many parents as there are rows), held-out likelihood, or stability of the
        pairs that are joined.
    method : {"order", "bcd"}
        By an order of all columns at once, or column by column with a penalty on paths (H-SGBN
        [2]_).
    schedule : {"homotopy", "literal"}
        Let :math:`\lambda` grow step by step, which finds smaller objectives; or begin with the
        largest, as published for ``"order"``.
    init : {"lasso", "least-squares", "l1mb"} or array-like of shape (m, m)
        Coefficients to start from: the lasso of each column on all others at the same alpha; least
        squares, which needs more rows than columns; least squares on the blankets of
        `edgewise.solvers.lasso_blankets`; or any, in the units of X. The start decides most of the
        order, least squares badly; ``"homotopy"`` forgets much of it, and all of it with
        ``"bcd"``.
    bias : {"free", "penalized"}
        Fit the intercepts freely; or penalise them by alpha like an arc, as published, which draws
        them to 0: the columns are then not centred.
    standardize : bool
        Divide the columns by their standard deviations. Otherwise alpha is in the squared units of
        X, and columns of small variance tend to come first, which says nothing about influence but
        often matches simulated truth.
    weights : array-like of shape (m, m), optional
        Multiplies alpha for each arc i -> j; ``inf`` forbids it.
    missing : {"error", "pairwise", "em"}
        What to do with NaN: refuse; take each covariance from the rows that have both columns;
        or maximise the Gaussian likelihood of what is there.
    repair : {None, "ridge", "clip"}
        What to do with columns bound by exact relations: refuse them, or raise the small
        eigenvalues of their correlations. ``treatment_`` then says how.
    alpha_ratio : float, optional
        Smallest alpha tried by a rule as a share of the largest. By default 0.02, and 0.1 with no
        more rows than columns; then, with more than two rows per column, up to three decades less
        while the best is the smallest.
    n_alphas, gamma, cv, instability, n_subsamples
        Of the search for alpha, as in `GaussianGraph`.
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
    total_effects_ : ndarray of shape (m, m)
        Entry [i, j] is by how much j rises when i is set one unit higher, over all paths.
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

    covariance = "empirical"
    _covariances = ("empirical",)
    _matrices_held = 8.0
    _copies_held = 4.5

    def __init__(
        self,
        alpha: float | str = "ebic",
        method: str = "order",
        *,
        schedule: str = "homotopy",
        init: str | ArrayLike = "lasso",
        bias: str = "free",
        standardize: bool = True,
        weights: ArrayLike | None = None,
        missing: str = "error",
        repair: str | None = None,
        n_alphas: int = 30,
        alpha_ratio: float | None = None,
        gamma: float = 0.5,
        cv: Any = 5,
        instability: float = 0.05,
        n_subsamples: int = 20,
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
        self.n_alphas = n_alphas
        self.alpha_ratio = alpha_ratio
        self.gamma = gamma
        self.cv = cv
        self.instability = instability
        self.n_subsamples = n_subsamples
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
        fit, _ = self._fit(X, sample_weight)
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

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean Gaussian log-likelihood per row.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            Rows; one with missing values does not count, unless ``missing="error"``, which refuses
            it.
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rows, weights = self._check_input(X, sample_weight, reset=False)
        model = LinearModel(self.coef_, self.intercept_, self.noise_variance_)
        return model.log_likelihood(rows, weights)

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
        fits, grid, names = self._fit_along(X, alphas, sample_weight)
        return CoefficientPath(
            alphas=grid,
            graphs=tuple(fit.graph(names) for fit in fits),
            coefs=np.stack([fit.model.coef for fit in fits]),
            gaps=np.array([fit.solution.gap for fit in fits]),
            converged=np.array([fit.converged for fit in fits]),
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choices: dict[str, tuple[str, ...]] = {
            "method": METHODS,
            "schedule": SCHEDULES,
            "bias": BIASES,
        }
        if isinstance(self.init, str):
            choices["init"] = STARTS
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise InputError(
                    f"{name} must be one of {quote_names(allowed)}, got {getattr(self, name)!r}."
                )
        if self.alpha == 0:
            raise InputError("alpha must be positive: without a penalty every pair is joined.")

    def _row_statistics(
        self, X: FloatArray, sample_weight: FloatArray | None, names: list[str] | None
    ) -> ArrangedStatistics:
        """Sufficient statistics of the columns in an order of their own."""
        self._check_columns(X, names)
        order = arrangement(X)
        known = [f"x{k}" for k in range(X.shape[1])] if names is None else names
        statistics = row_statistics(
            np.ascontiguousarray(X[:, order]),
            sample_weight,
            names=[known[k] for k in order],
            covariance=self.covariance,
            missing=self.missing,
            repair=self.repair,
        )
        if self.standardize:
            statistics = statistics.on_correlation_scale()
        return ArrangedStatistics(**vars(statistics), arrangement=order)

    def _choose_alpha(
        self, X: FloatArray, sample_weight: FloatArray | None, statistics: Any
    ) -> tuple[Any, float, Any]:
        # Only for the rows that a user hands over: a fold of them may hold a relation by chance.
        if self.repair is None:
            order = statistics.arrangement
            known = self._names() or [f"x{k}" for k in range(len(order))]
            rows = X if sample_weight is None else X[sample_weight > 0]
            refuse_relations(statistics, rows, [known[k] for k in order])
        return super()._choose_alpha(X, sample_weight, statistics)

    def _solve_path(self, statistics: Any, alphas: FloatArray) -> Iterator[BayesNetFit]:
        options: dict[str, Any] = {
            "schedule": self.schedule,
            "init": starting_coefficients(self.init, statistics),
            "tol": self.tol,
            "max_iter": self.max_iter,
        }
        if self.weights is not None:
            options["weights"] = per_arc(self.weights, "weights", statistics)
        has_free_bias = self.bias == "free"
        if not has_free_bias:
            options["location"] = statistics.location / statistics.scale
        solve: Callable[..., BayesNetSolution] = bcd_bayes_net
        if self.method == "order":
            solve = order_bayes_net
            options["n_jobs"] = self.n_jobs
        for alpha in alphas:
            solution = solve(statistics.S, float(alpha), **options)
            yield BayesNetFit(solution, statistics, has_free_bias)

    def _grid(self, statistics: Statistics, n_extensions: int = 0) -> FloatArray:
        if self.alpha_ratio is not None:
            return super()._grid(statistics, n_extensions)
        ratio = max(RATIO, default_ratio(statistics.n_rows, len(statistics.S)))
        n_alphas = self.n_alphas + round(self.n_alphas * n_extensions / -math.log10(ratio))
        return alpha_grid(self._largest_alpha(statistics), n_alphas, ratio * 10.0**-n_extensions)

    def _largest_alpha(self, statistics: Statistics) -> float:
        size = statistics.S.copy()
        np.fill_diagonal(size, 0.0)
        if self.bias == "free":
            return float(np.abs(size).max())
        mean = statistics.location / statistics.scale
        outer = np.outer(mean, mean)
        np.fill_diagonal(outer, 0.0)
        return float(max(np.abs(size + outer).max(), np.abs(mean).max()))

    def _choose_by_ebic(self, statistics: Statistics, alphas: FloatArray) -> Selection:
        return choose_by_refitted_ebic(self._solve_path(statistics, alphas), alphas, self.gamma)

    def _score_fit(
        self, fit: BayesNetFit, X: FloatArray, sample_weight: FloatArray | None
    ) -> float:
        return fit.model.log_likelihood(X, sample_weight)

    def _describe_gap(self, n_features: int) -> str:
        return (
            f"Stopped after {self.n_iter_} iterations before coefficients and order had settled. "
            "Raise max_iter or alpha."
        )
