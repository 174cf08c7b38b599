"""Conditional Gaussian graph: the network of responses given covariates."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

import numpy as np

from edgewise._core.constraints import Constraint, Number, check_parameters
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.typing import FloatArray, RandomState
from edgewise.data.checks import varying_columns
from edgewise.data.table import Table
from edgewise.estimators.base.fits import PrecisionFit, gap_warning, note_choice
from edgewise.estimators.base.statistics import Statistics
from edgewise.estimators.covariates.base import CovariateEstimator, describe_covariates
from edgewise.estimators.covariates.tree_nodes import Covariate
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.graph import Graph
from edgewise.selection import CV, EBIC
from edgewise.selection.choose import ConvergenceWarning
from edgewise.selection.criteria import gaussian_log_likelihood
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import Grid, search
from edgewise.solvers.gaussian.graphical_lasso import alpha_max, graphical_lasso_path

#: Share of a response's variance below which nothing is left of it.
EXPLAINED: Final = 1e-10


class ConditionalGraph(CovariateEstimator):
    r"""The network of some variables given others that shift their means.

    Covariates X and responses Y are taken to be Gaussian together. Given x, the responses then
    have a mean that is linear in x and one precision matrix,

    .. math::
        Y \mid X = x \;\sim\; N\left(\mu_Y + B^\top (x - \mu_X),\; \Theta^{-1}\right),
        \qquad B = \Omega_X S_{XY},

    and :math:`\Theta` is the graphical lasso of what the regression leaves [1]_,

    .. math::
        \min_{\Theta \succ 0} \; \mathrm{tr}\left((S_Y - S_{YX} \Omega_X S_{XY}) \Theta\right)
        - \log\det\Theta + \alpha \sum_{i \ne j} |\Theta_{ij}| .

    :math:`\Omega_X` is the inverse of the covariance of X, which makes B least squares, or a
    graphical lasso of its own. The graph is the same for every x: what it shows is how responses
    hang together other than through the covariates.

    Parameters
    ----------
    alpha : float, {"ebic", "cv"}, EBIC or CV
        Penalty, or the rule that chooses it along a path: the extended BIC, or the likelihood of
        held-out rows. By default 30 alphas are tried, from the smallest with an empty graph down
        to :math:`0.2 / \sqrt n` of it (at most 0.05, and 0.1 with no more rows than responses);
        then, with more than two rows per response, up to three decades less while the best alpha
        is the smallest.
    covariate_alpha : float or "ebic"
        0 for least squares; otherwise the penalty of the graphical lasso for :math:`\Omega_X`,
        in units of correlations, for covariates that are nearly collinear. Where what is left
        would not be positive definite, least squares takes its place, with a `DataWarning`.
    penalize_diagonal : bool
        Whether the penalty includes the diagonal, as published; it is left free by default, which
        shrinks no variances.
    standardize : bool
        Scale what is left of the responses to unit variance, so that alpha is in units of
        correlations.
    tol : float
        Stop once the duality gap is at most ``tol * p``.
    max_iter : int
        Largest number of iterations of one fit.
    n_jobs : int, optional
        Folds fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles folds.
    verbose : int
        Above 0, a progress bar of folds is drawn on standard error.

    Attributes
    ----------
    coef_ : ndarray of shape (d, p)
        B: ``coef_[j, k]`` is the effect of column j of the design on response k.
    intercept_ : ndarray of shape (p,)
        Mean of the responses where all columns are 0.
    coef_names_ : list of str
        Columns of the design: covariates, and levels of categorical ones but for the first.
    precision_, covariance_ : ndarray of shape (p, p)
        Of the responses given the covariates, in the units of Y; each other's inverse.
    partial_correlation_ : ndarray of shape (p, p)
        With a diagonal of 1.
    graph_ : Graph
        Weights are partial correlations.
    alpha_ : float
        The penalty used.
    alphas_ : ndarray
        The penalties tried.
    selection_ : Selection or None
        Criterion along the path, when a rule picked alpha.
    gap_, objective_ : float
        Duality gap and objective of the fit, on the scale the solver works on.
    converged_ : bool
        Whether the gap met the tolerance.
    n_iter_ : int
        Iterations of the fit.
    covariates_ : list of Covariate
        Kind and range of each covariate.
    response_names_ : list of str
        Names of the responses.
    treatment_ : list of str
        What was done to the data.
    n_features_in_ : int
        Number of covariates.
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    See Also
    --------
    GraphTree, KernelGraph : Networks that vary with the covariates.

    References
    ----------
    .. [1] Liu, Chen, Lafferty and Wasserman (2010). Graph-valued regression. *Advances in Neural
       Information Processing Systems* 23. https://doi.org/10.48550/arXiv.1006.3972

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import ConditionalGraph, GaussianGraph
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 1))
    >>> Y = 2 * X + rng.normal(size=(300, 3))
    >>> GaussianGraph().fit(Y).graph_.n_edges
    3
    >>> model = ConditionalGraph().fit(X, Y)
    >>> model.graph_.n_edges
    0
    >>> model.coef_.round(1)
    array([[2. , 2.1, 2. ]])
    """

    _methods = (
        "One network was estimated for the residuals of a regression of the variables on the "
        "covariates (Liu et al. 2010; Friedman et al. 2008)."
    )
    _cites = ("liu2010", "friedman2008")

    _matrices_held = 9.0
    _copies_held = 3.0
    _alpha = Strength(EBIC(), CV())
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": _alpha,
        "covariate_alpha": Strength(EBIC()),
        "tol": Number(above=0),
        "max_iter": Number(at_least=1, is_whole=True),
    }

    def __init__(
        self,
        alpha: float | str | Rule = "ebic",
        *,
        covariate_alpha: float | str | EBIC = 0.0,
        penalize_diagonal: bool = False,
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.covariate_alpha = covariate_alpha
        self.penalize_diagonal = penalize_diagonal
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, Y: Any) -> Self:
        """Regress the responses on the covariates, and learn the network of what is left.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Covariates: numbers, booleans, text or categories.
        Y : array-like or data frame of shape (n, p)
            Responses, the variables of the network.

        Returns
        -------
        ConditionalGraph
        """
        check_parameters(self, self._constraints)
        covariates, responses = self._read(X, Y)
        self.covariates_ = describe_covariates(covariates)
        self.response_names_ = list(responses.names)
        design, self.coef_names_ = _design(covariates, self.covariates_)
        problem = ResidualProblem(
            n_columns=design.shape[1],
            names=responses.names,
            covariate_alpha=self.covariate_alpha,
            standardize=self.standardize,
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        rows = np.hstack([design, responses.values])
        residuals = problem.summarize(rows, None)
        choice = search(
            problem,
            self._alpha.resolve(self.alpha),
            rows,
            None,
            residuals,
            Grid.of(self._alpha.grid_rule(self.alpha), *responses.values.shape),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        fit: PrecisionFit = choice.fit
        note_choice(self, choice, residuals)
        self.coef_ = residuals.coef
        self.intercept_ = residuals.location - residuals.design_location @ residuals.coef
        self.precision_, self.covariance_ = fit.precision, fit.covariance
        self.graph_ = Graph.from_precision(fit.solution.value, names=self.response_names_)
        self.partial_correlation_ = self.graph_.weights + np.eye(len(self.response_names_))
        if residuals.is_plain and self.covariate_alpha != 0:
            warnings.warn(DataWarning("conditional_fallback"), stacklevel=2)
        return self

    def _mean_at(self, covariates: Table) -> FloatArray:
        return self.intercept_ + _design(covariates, self.covariates_)[0] @ self.coef_

    def _precision_at(self, covariates: Table) -> FloatArray:
        """Repeat the precision for every row, none of which may have a level unseen in the fit."""
        return np.tile(self.precision_, (len(self._mean_at(covariates)), 1, 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Residuals(Statistics):
    """Statistics of what a regression of responses on a design leaves.

    Attributes
    ----------
    design_location : ndarray of shape (d,)
        Means of the columns of the design.
    coef : ndarray of shape (d, p)
        ``coef[j, k]`` is the effect of column j on response k.
    is_plain : bool
        Whether the regression is least squares.
    """

    design_location: FloatArray
    coef: FloatArray
    is_plain: bool

    def mean(self, design: FloatArray) -> FloatArray:
        """Mean of the responses given rows of the design."""
        return self.location + (design - self.design_location) @ self.coef


class ResidualFit(PrecisionFit):
    """A graphical lasso of residuals."""

    @property
    def log_likelihood(self) -> float:
        """Mean log-likelihood of the rows on the scale that the solver works on."""
        return gaussian_log_likelihood(self.solution.value, self.statistics.S)


@dataclass(frozen=True, kw_only=True, eq=False)
class ResidualProblem:
    """The graphical lasso of residuals as a `PathProblem`; rows are the design, then responses.

    Attributes
    ----------
    n_columns : int
        Columns of the design.
    names : sequence of str
        Names of the responses.
    covariate_alpha, standardize, penalize_diagonal, tol, max_iter
        Parameters of `ConditionalGraph`.
    """

    n_columns: int
    names: Sequence[str]
    covariate_alpha: float | str | EBIC
    standardize: bool
    penalize_diagonal: bool
    tol: float
    max_iter: int

    def summarize(self, rows: FloatArray, weights: FloatArray | None) -> Residuals:
        r"""Regress responses on the design.

        The covariance that is left is :math:`S_Y - S_{YX} \Omega_X S_{XY}`, where
        :math:`\Omega_X` is a graphical lasso of the design, or its inverse covariance where
        ``covariate_alpha`` is 0 or the difference would not be positive definite.
        """
        design, Y = rows[:, : self.n_columns], rows[:, self.n_columns :]
        design_location, location = design.mean(axis=0), Y.mean(axis=0)
        X, Z = design - design_location, Y - location
        is_plain = self.covariate_alpha == 0
        if not is_plain:
            Omega = _design_precision(X, self.covariate_alpha)
            cross = X.T @ Z / len(X)
            S = Z.T @ Z / len(Z) - cross.T @ Omega @ cross
            coef: FloatArray = Omega @ cross
            deviation = Z.std(axis=0)
            is_plain = bool(np.linalg.eigvalsh(S / np.outer(deviation, deviation))[0] <= EXPLAINED)
        if is_plain:
            # On one scale, or a column of small numbers would count as none.
            unit = np.where(varying_columns(design), X.std(axis=0), 1.0)
            coef = np.linalg.lstsq(X / unit, Z, rcond=None)[0] / unit[:, None]
            left = Z - X @ coef
            S = left.T @ left / len(left)
        gone: list[int] = np.flatnonzero(S.diagonal() <= EXPLAINED * Z.var(axis=0)).tolist()
        if gone:
            raise InputError(
                "responses_explained_fully",
                gone=[self.names[k] for k in gone],
                n_columns=X.shape[1],
                n_rows=len(X),
            )
        scale = np.sqrt(S.diagonal()) if self.standardize else np.ones(Y.shape[1])
        method = "least squares" if is_plain else "a graphical lasso of the covariates"
        return Residuals(
            location=location,
            design_location=design_location,
            coef=coef,
            S=(S + S.T) / 2.0 / np.outer(scale, scale),
            scale=scale,
            n_samples=len(Y),
            n_rows=len(Y),
            treatment=(f"{X.shape[1]} columns of covariates removed by {method}",),
            is_plain=is_plain,
        )

    def largest_alpha(self, residuals: Residuals) -> float:
        """Return the smallest alpha with an empty graph."""
        return alpha_max(residuals.S)

    def solve_path(self, residuals: Residuals, alphas: FloatArray) -> Iterator[PrecisionFit]:
        """Yield one fit per alpha."""
        for solution in graphical_lasso_path(
            residuals.S,
            alphas,
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
        ):
            yield ResidualFit(solution, residuals)

    def score(self, fit: PrecisionFit, rows: FloatArray, weights: FloatArray | None) -> float:
        """Return the mean log-likelihood of other rows."""
        residuals: Any = fit.statistics
        deviation = rows[:, self.n_columns :] - residuals.mean(rows[:, : self.n_columns])
        return gaussian_log_likelihood(fit.precision, deviation.T @ deviation / len(deviation))

    def gap_warning(self, fit: PrecisionFit) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        return gap_warning(fit.solution, self.tol)


def _design(table: Table, covariates: Sequence[Covariate]) -> tuple[FloatArray, list[str]]:
    """Columns for a regression, and their names.

    Numbers stay as they are and booleans become 0 and 1. A categorical covariate has a column for
    each level but the first.
    """
    columns: list[FloatArray] = []
    names: list[str] = []
    for k, covariate in enumerate(covariates):
        values = table.values[:, k]
        if covariate.kind != "categorical":
            columns.append(values)
            names.append(covariate.name)
            continue
        levels = table.levels[k] or ()
        seen = [levels[code] for code in np.unique(values).astype(np.int64).tolist()]
        if new := [level for level in seen if level not in covariate.levels]:
            raise InputError("covariate_new_levels", name=covariate.name, new=new)
        for level in covariate.levels[1:]:
            code = levels.index(level) if level in levels else -1
            columns.append((values == code).astype(np.float64))
            names.append(f"{covariate.name}={level}")
    return np.column_stack(columns), names


def _design_precision(X: FloatArray, alpha: float | str | EBIC) -> FloatArray:
    """Sparse precision of the columns that vary; zeros for those that do not."""
    varies = np.flatnonzero(X.std(axis=0) > 0)
    Omega = np.zeros((X.shape[1], X.shape[1]))
    if len(varies) == 1:
        Omega[varies, varies] = 1.0 / X[:, varies].var()
    elif len(varies):
        # A stable inverse is wanted here, which shrinks, and not the right graph.
        model = GaussianGraph(alpha, covariance="correlation").fit(X[:, varies])
        Omega[np.ix_(varies, varies)] = model.precision_
    return Omega
