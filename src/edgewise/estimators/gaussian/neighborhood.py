"""Neighbourhood selection as an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.resume import chain
from edgewise._core.typing import FloatArray, RandomState
from edgewise.estimators.base.fits import (
    CoefficientPath,
    NeighborhoodFit,
    NeighborhoodModel,
    gap_warning,
    grid_of,
    note_choice,
    note_decided,
    residual_variances,
    solve_grid,
)
from edgewise.estimators.base.statistics import CONSTRAINTS, Statistics, labels
from edgewise.estimators.base.summarizer import Summarizer
from edgewise.estimators.base.table import (
    ON_LATENT_SCALE,
    TableEstimator,
    decided_kinds,
    read_new_rows,
    read_table,
)
from edgewise.selection import CV, EBIC, StARS
from edgewise.selection.choose import ConvergenceWarning
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import search
from edgewise.solvers import Solution
from edgewise.solvers.lasso.gram import neighborhood_lasso
from edgewise.stats import covariance as covariance_of
from edgewise.stats.positive import correlation_from_covariance


class NeighborhoodGraph(TableEstimator):
    r"""Gaussian graph by regressing each variable on all the others with the lasso.

    Columns are standardised. Variable i is chosen as a neighbour of j when its coefficient in
    the regression of j,

    .. math::

        \min_{b} \; \frac{1}{2n} \Big\| x_j - \sum_{i \ne j} b_i x_i \Big\|^2
        + \alpha \sum_{i \ne j} |b_i|,

    is not 0 [1]_. The regressions are solved apart, so that i may choose j but not the other way;
    ``rule`` says what becomes of such a pair.

    Parameters
    ----------
    alpha : float, {"ebic", "cv", "stars"}, EBIC, CV or StARS
        Strength of the penalty, from 0 to 1 in units of correlation and the same for all
        regressions, or the rule that chooses it along a path: the sum of the regressions' extended
        BIC [2]_, held-out pseudo-likelihood, or stability [3]_. The alphas tried are as in
        `GaussianGraph`.
    rule : {"and", "or"}
        Join a pair when both, or at least one, of its two coefficients are not 0.
    covariance : str
        ``"correlation"``; ``"nonparanormal"``, ``"spearman"`` or ``"kendall"``, which see ranks
        only; ``"polychoric"`` or ``"auto"``, for ordered answers as in `GaussianGraph`; or
        ``"precomputed"``, where ``fit`` takes a covariance matrix instead of rows.
    missing : {"error", "pairwise", "em"}
        What to do with NaN: refuse; take each covariance from the rows that have both columns;
        or maximise the Gaussian likelihood of what is there. ``"polychoric"`` and ``"auto"`` take
        pairs; the mean number of rows of a pair is then that of the extended BIC.
    repair : {None, "ridge", "clip"}
        What to do with a covariance that is not positive definite: refuse it where it has
        negative eigenvalues or equal columns, or raise its small eigenvalues, by adding to the
        diagonal or one by one. ``treatment_`` then says how.
    n_samples : float, optional
        Rows behind a precomputed covariance, for the extended BIC.
    tol : float
        Stop each regression once its duality gap, in units of the variance of its standardised
        column, is at most ``tol``.
    max_iter : int
        Largest number of rounds of one regression.
    n_jobs : int, optional
        Folds or subsamples fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles folds and draws subsamples.
    verbose : int
        Above 0, a progress bar of folds or subsamples is drawn on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (p, p)
        ``coef_[i, j]`` is the coefficient of variable i in the regression of j, in the units of
        X: ``X - location_`` is predicted by ``(X - location_) @ coef_``.
    noise_variance_ : ndarray of shape (p,)
        Residual variance of each regression.
    location_ : ndarray of shape (p,)
        Mean of the columns; 0 for ranks, answers and for a precomputed covariance.
    graph_ : Graph
        The weight of an edge is the mean of its two coefficients for standardised columns.
    alpha_, alphas_, selection_
        The strength used, those tried, and the criterion along them (None for a number).
    gap_, objective_ : float
        Sums over the regressions of standardised columns.
    decided_ : ndarray of bool, shape (p, p)
        Pairs whose edge, with its sign, or whose absence the gap proves to be the optimum's.
    is_decided_ : bool
        Whether all pairs are.
    converged_ : bool
        Whether every regression met the tolerance.
    n_iter_ : int
        Rounds of the slowest regression.
    smallest_p_value_ : float
        Of a test of all correlations, corrected for their number by Bonferroni; NaN where the
        number of rows is not known.
    treatment_ : list of str
        What was done to the data: missing values, repair.
    ordinal_ : ndarray of bool, shape (p,)
        Columns treated as ordinal, with ``"polychoric"`` and ``"auto"``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Meinshausen and Bühlmann (2006). High-dimensional graphs and variable selection with
       the lasso. *Annals of Statistics* 34(3). https://doi.org/10.1214/009053606000000281
    .. [2] Chen and Chen (2008). Extended Bayesian information criteria for model selection with
       large model spaces. *Biometrika* 95(3). https://doi.org/10.1093/biomet/asn034
    .. [3] Liu, Roeder and Wasserman (2010). Stability approach to regularization selection
       (StARS) for high dimensional graphical models. https://doi.org/10.48550/arXiv.1006.3316

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import NeighborhoodGraph
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[:, 1] += X[:, 0]
    >>> NeighborhoodGraph().fit(X).graph_.adjacency
    array([[False,  True, False],
           [ True, False, False],
           [False, False, False]])
    """

    _methods = (
        "The network was estimated by a lasso regression of each variable on all others "
        "(Meinshausen and Bühlmann 2006)."
    )
    _cites = ("meinshausen2006",)

    _alpha = Strength(EBIC(), CV(), StARS(), why_positive="complete_without_penalty")
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": _alpha,
        "rule": OneOf("and", "or"),
        "covariance": OneOf("correlation", "precomputed", *ON_LATENT_SCALE),
        **CONSTRAINTS,
    }
    _matrices_held = 8.0

    def __init__(
        self,
        alpha: float | str | Rule = "ebic",
        *,
        rule: str = "and",
        covariance: str = "correlation",
        missing: str = "error",
        repair: str | None = None,
        n_samples: float | None = None,
        tol: float = 1e-8,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.rule = rule
        self.covariance = covariance
        self.missing = missing
        self.repair = repair
        self.n_samples = n_samples
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
            `edgewise.stats.stream_covariance` made of rows that do not fit into memory.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row; a weight of 2 counts as two equal rows, which a fold or subsample
            has both or neither of.

        Returns
        -------
        NeighborhoodGraph
        """
        table, weights, problem, statistics = self._pose(X, sample_weight)
        choice = search(
            problem,
            self._alpha.resolve(self.alpha),
            table,
            weights,
            statistics,
            grid_of(self, statistics),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        fit: NeighborhoodFit = choice.fit
        note_choice(self, choice, statistics)
        self.coef_ = fit.coef
        self.noise_variance_ = fit.residual_variance
        self.location_ = statistics.location
        self.graph_ = fit.graph(self._names())
        note_decided(self, fit.decided)
        return self

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean Gaussian log-pseudo-likelihood per row: the sum over variables given the others.

        For correlations of ranks and of ordered answers, that of the latent Gaussian, from the
        correlations within ``X``. A row
        with missing values does not count, unless ``missing="error"``, which refuses it.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows, also when the fit was to a precomputed covariance (of centred columns).
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rows, weights = read_new_rows(self, X, sample_weight)
        model = NeighborhoodModel(self.location_, self.coef_, self.noise_variance_)
        return self._problem().score(model, rows, weights)

    def path(
        self,
        X: Any,
        alphas: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> CoefficientPath:
        """Fit the graph for a sequence of alphas, each started from the one before.

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
        grid, fits = solve_grid(alphas, problem, statistics, grid_of(self, statistics))
        graphs = (fit.graph(model._names()) for fit in fits)
        return CoefficientPath.of(grid, fits, graphs, coefs=np.stack([fit.coef for fit in fits]))

    def _pose(
        self, X: Any, sample_weight: Any
    ) -> tuple[Any, FloatArray | None, NeighborhoodProblem, Statistics]:
        """Read the table; return it with its weights, the problem and the statistics."""
        check_parameters(self, self._constraints)
        table, weights = read_table(self, X, sample_weight)
        problem = self._problem()
        statistics = problem.standardize(
            problem.covariance.of_table(table, weights, self.n_samples)
        )
        problem = replace(problem, covariance=problem.covariance.decided_by(statistics))
        return table, weights, problem, statistics

    def _problem(self) -> NeighborhoodProblem:
        return NeighborhoodProblem(
            covariance=Summarizer(
                names=self._names(),
                covariance=self.covariance,
                missing=self.missing,
                repair=self.repair,
                **decided_kinds(self),
            ),
            rule=self.rule,
            tol=self.tol,
            max_iter=self.max_iter,
        )


@dataclass(frozen=True, kw_only=True)
class NeighborhoodProblem:
    """Lasso regressions as a `PathProblem`; the fields are parameters of `NeighborhoodGraph`."""

    covariance: Summarizer
    rule: str
    tol: float
    max_iter: int
    decide: float = 0.0

    def summarize(self, rows: FloatArray, weights: FloatArray | None) -> Statistics:
        """Return the correlations of some rows."""
        return self.standardize(self.covariance.of_rows(rows, weights))

    def standardize(self, statistics: Statistics) -> Statistics:
        """Turn covariances into correlations; refuse columns that predict each other perfectly."""
        statistics = statistics.on_correlation_scale()
        pair = statistics.perfect_pair()
        if pair is not None:
            raise InputError(
                "neighborhood_identical_columns", labels=labels(self.covariance.names, pair)
            )
        return statistics

    def largest_alpha(self, statistics: Statistics) -> float:
        """Return the smallest alpha with an empty graph."""
        size = np.abs(statistics.S)
        np.fill_diagonal(size, 0.0)
        return float(size.max())

    def solve_path(self, statistics: Statistics, alphas: FloatArray) -> Iterator[NeighborhoodFit]:
        """Yield one fit per alpha, each started from the one before."""
        options = {"tol": self.tol, "max_iter": self.max_iter, "decide": self.decide}
        tasks = [(float(alpha), statistics, options) for alpha in alphas]
        for solution in chain(_next_on_path, tasks):
            yield NeighborhoodFit(solution, statistics, self.rule)

    def score(
        self,
        fit: NeighborhoodFit | NeighborhoodModel,
        rows: FloatArray,
        weights: FloatArray | None,
    ) -> float:
        """Return the mean log-pseudo-likelihood of rows."""
        if self.covariance.covariance in ON_LATENT_SCALE:
            S = self.covariance.of_scored_rows(rows, weights)
            moments = correlation_from_covariance(S)
        else:
            is_whole = ~np.isnan(rows).any(axis=1)
            if not is_whole.any():
                raise InputError("no_complete_row")
            kept = None if weights is None else weights[is_whole]
            deviation = rows[is_whole] - fit.location
            moments = covariance_of(deviation, sample_weight=kept, assume_centered=True)[1]
        squared = residual_variances(fit.coef, moments) / fit.residual_variance
        constant = np.log(2 * np.pi * fit.residual_variance)
        return float(-0.5 * np.sum(constant + squared))

    def gap_warning(self, fit: NeighborhoodFit) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        return gap_warning(fit.solution, self.tol)


def _next_on_path(
    previous: Solution | None, alpha: float, statistics: Statistics, options: dict[str, Any]
) -> Solution:
    """Solve for one alpha, starting from the solution for the alpha before."""
    init = None if previous is None else previous.value
    return neighborhood_lasso(statistics.S, alpha, init=init, **options)
