"""The network of responses once covariates are accounted for, as an estimator."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Real
from typing import Any, Final, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import FloatArray, RandomState
from edgewise.data.checks import varying_columns
from edgewise.data.table import Table
from edgewise.estimators.covariates.base import ConditionalEstimator
from edgewise.estimators.covariates.coding import describe_covariates
from edgewise.estimators.covariates.tree_nodes import Covariate
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection import (
    Selection,
    SelectionWarning,
    alpha_grid,
    choose_by_cv,
    choose_by_ebic,
    gaussian_log_likelihood,
)
from edgewise.selection.search import MAX_EXTENSIONS, default_ratio
from edgewise.solvers.gaussian.graphical_lasso import (
    PrecisionSolution,
    alpha_max,
    graphical_lasso_path,
)

#: Share of a response's variance below which nothing is left of it.
EXPLAINED = 1e-10


@dataclass(frozen=True, kw_only=True, eq=False)
class Residuals:
    """Regression of responses on a design, and what it leaves.

    Attributes
    ----------
    location, response_location : ndarray
        Means of the columns of the design and of the responses.
    coef : ndarray of shape (d, p)
        ``coef[j, k]`` is the effect of column j on response k.
    S : ndarray of shape (p, p)
        Covariance that is left, divided by ``scale``.
    scale : ndarray of shape (p,)
        Unit of each response.
    is_plain : bool
        Whether the regression is least squares.
    """

    location: FloatArray
    response_location: FloatArray
    coef: FloatArray
    S: FloatArray
    scale: FloatArray
    is_plain: bool

    def mean(self, design: FloatArray) -> FloatArray:
        """Mean of the responses given rows of the design."""
        return self.response_location + (design - self.location) @ self.coef


def take_off(
    design: FloatArray,
    Y: FloatArray,
    names: Sequence[str],
    *,
    covariate_alpha: float | str,
    standardize: bool,
) -> Residuals:
    r"""Regress responses on a design.

    The covariance that is left is :math:`S_Y - S_{YX} \Omega_X S_{XY}`, where :math:`\Omega_X` is
    a graphical lasso of the design, or its inverse covariance where ``covariate_alpha`` is 0 or
    the difference would not be positive definite.
    """
    location, response_location = design.mean(axis=0), Y.mean(axis=0)
    X, Z = design - location, Y - response_location
    is_plain = covariate_alpha == 0
    if not is_plain:
        Omega = _design_precision(X, covariate_alpha)
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
            f"The covariates explain responses {quote_names([names[k] for k in gone])} completely, "
            f"with {X.shape[1]} columns for {len(X)} rows. Leave covariates out, or take more rows."
        )
    scale = np.sqrt(S.diagonal()) if standardize else np.ones(Y.shape[1])
    return Residuals(
        location=location,
        response_location=response_location,
        coef=coef,
        S=(S + S.T) / 2.0 / np.outer(scale, scale),
        scale=scale,
        is_plain=is_plain,
    )


@dataclass(frozen=True)
class ResidualFit:
    """A graphical lasso of what a regression leaves."""

    solution: PrecisionSolution
    residuals: Residuals

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        Theta = self.solution.value
        return (int(np.count_nonzero(Theta)) - len(Theta)) // 2

    @property
    def is_complete(self) -> bool:
        """Whether every pair is joined."""
        p = len(self.residuals.S)
        return self.n_edges == p * (p - 1) // 2

    @property
    def log_likelihood(self) -> float:
        """Mean log-likelihood of the rows of the fit, less a constant."""
        return gaussian_log_likelihood(self.solution.value, self.residuals.S)

    @property
    def precision(self) -> FloatArray:
        """Precision in the units of the responses."""
        scale = self.residuals.scale
        return self.solution.value / np.outer(scale, scale)

    def score(self, design: FloatArray, Y: FloatArray) -> float:
        """Mean log-likelihood of other rows."""
        deviation = Y - self.residuals.mean(design)
        return gaussian_log_likelihood(self.precision, deviation.T @ deviation / len(deviation))


def fit_path(residuals: Residuals, alphas: FloatArray, **lasso: Any) -> Iterator[ResidualFit]:
    """Solve for each alpha."""
    for solution in graphical_lasso_path(residuals.S, alphas, **lasso):
        yield ResidualFit(solution, residuals)


def design_of(table: Table, covariates: Sequence[Covariate]) -> tuple[FloatArray, list[str]]:
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
            raise InputError(
                f"Covariate '{covariate.name}' has levels {quote_names(new)} that the fit did not "
                "see, so that nothing is known of their effect. Drop those rows."
            )
        for level in covariate.levels[1:]:
            code = levels.index(level) if level in levels else -1
            columns.append((values == code).astype(np.float64))
            names.append(f"{covariate.name}={level}")
    return np.column_stack(columns), names


def _design_precision(X: FloatArray, alpha: float | str) -> FloatArray:
    """Sparse precision of the columns that vary; zeros for those that do not."""
    varies = np.flatnonzero(X.std(axis=0) > 0)
    Omega = np.zeros((X.shape[1], X.shape[1]))
    if len(varies) == 1:
        Omega[varies, varies] = 1.0 / X[:, varies].var()
    elif len(varies):
        model = GaussianGraph(alpha, covariance="correlation").fit(X[:, varies])
        Omega[np.ix_(varies, varies)] = model.precision_
    return Omega


RULES: Final = ("ebic", "cv")


class ConditionalGraph(ConditionalEstimator):
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
    alpha : float or {"ebic", "cv"}
        Strength of the penalty, or the rule that picks it along a path: the extended BIC, or the
        likelihood of held-out rows.
    covariate_alpha : float or "ebic"
        0 for least squares; otherwise the strength of the graphical lasso for :math:`\Omega_X`,
        in units of correlations, for covariates that are nearly collinear. Where what is left
        would not be positive definite, least squares takes its place, with a `DataWarning`.
    penalize_diagonal : bool
        Whether the penalty includes the diagonal.
    standardize : bool
        Scale what is left of the responses to unit variance, so that alpha is in units of
        correlations.
    n_alphas : int
        Alphas tried by a rule, log-spaced down from the smallest with an empty graph.
    alpha_ratio : float, optional
        Smallest alpha tried as a share of the largest. By default :math:`0.2 / \sqrt n`, at most
        0.05, and 0.1 with no more rows than responses; then, with more than two rows per response,
        up to three decades less while the best alpha is the smallest.
    gamma : float
        Parameter of the extended BIC, from 0 (ordinary BIC) to 1 (sparsest).
    cv : int, splitter or iterable
        Folds for ``alpha="cv"``; a number is shuffled by ``random_state``.
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
        The strength used.
    alphas_ : ndarray
        The strengths tried.
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

    def __init__(
        self,
        alpha: float | str = "ebic",
        *,
        covariate_alpha: float | str = 0.0,
        penalize_diagonal: bool = False,
        standardize: bool = True,
        n_alphas: int = 30,
        alpha_ratio: float | None = None,
        gamma: float = 0.5,
        cv: Any = 5,
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
        self.n_alphas = n_alphas
        self.alpha_ratio = alpha_ratio
        self.gamma = gamma
        self.cv = cv
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
        self._check_parameters()
        covariates, responses = self._read(X, Y)
        self.covariates_ = describe_covariates(
            covariates, scale="range", bounds=None, names=self._names()
        )
        self.response_names_ = list(responses.names)
        design, self.coef_names_ = design_of(covariates, self.covariates_)
        residuals = self._take_off(design, responses.values)
        fit, selection = self._choose(residuals, design, responses.values)
        self._keep(fit, selection)
        self._warn(fit, selection)
        return self

    def predict_mean(self, X: Any) -> FloatArray:
        """Mean of the responses for each row of covariates, shape (n, p)."""
        check_is_fitted(self)
        table = self._read_covariates(X, self._kinds())
        return self.intercept_ + design_of(table, self.covariates_)[0] @ self.coef_

    def predict_precision(self, X: Any) -> FloatArray:
        """Precision matrix of the responses for each row of covariates, shape (n, p, p).

        It is the same for every row.
        """
        n_rows = len(self.predict_mean(X))
        return np.tile(self.precision_, (n_rows, 1, 1))

    def _check_parameters(self) -> None:
        """Refuse parameters that no data could make sense of."""
        for name, rules in (("alpha", RULES), ("covariate_alpha", ("ebic",))):
            value = getattr(self, name)
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if value not in rules and not (is_number and 0 <= float(value) < np.inf):
                raise InputError(
                    f"{name} must be a number of at least 0 or {quote_names(rules)}, got {value!r}."
                )
        if not self.tol > 0 or self.max_iter < 1:
            raise InputError(
                f"tol must be positive and max_iter at least 1, got tol={self.tol!r} and "
                f"max_iter={self.max_iter!r}."
            )

    def _take_off(self, design: FloatArray, Y: FloatArray) -> Residuals:
        return take_off(
            design,
            Y,
            self.response_names_,
            covariate_alpha=self.covariate_alpha,
            standardize=self.standardize,
        )

    def _solve(self, residuals: Residuals, alphas: FloatArray) -> Iterator[ResidualFit]:
        return fit_path(
            residuals,
            alphas,
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _choose(
        self, residuals: Residuals, design: FloatArray, Y: FloatArray
    ) -> tuple[ResidualFit, Selection | None]:
        """Fit at alpha as given, or as its rule finds it."""
        if not isinstance(self.alpha, str):
            return next(self._solve(residuals, np.array([float(self.alpha)]))), None
        # Every extension must see the same folds, also where random_state is a generator.
        seed = int(as_generator(self.random_state).integers(2**31))
        n, p = Y.shape
        may_extend = self.alpha_ratio is None and n > 2 * p
        ratio = default_ratio(n, p) if self.alpha_ratio is None else self.alpha_ratio
        largest, n_alphas = alpha_max(residuals.S), self.n_alphas
        for _ in range(MAX_EXTENSIONS + 1):
            alphas = alpha_grid(largest, n_alphas, ratio)
            selection = self._search(residuals, design, Y, alphas, seed)
            fit = next(self._solve(residuals, np.array([selection.alpha])))
            if not (may_extend and selection.end == "smallest") or fit.is_complete:
                break
            ratio, n_alphas = ratio / 10.0, n_alphas + self.n_alphas // 2
        return fit, selection

    def _search(
        self,
        residuals: Residuals,
        design: FloatArray,
        Y: FloatArray,
        alphas: FloatArray,
        seed: int,
    ) -> Selection:
        n, p = Y.shape
        if self.alpha == "ebic":
            return choose_by_ebic(
                self._solve(residuals, alphas),
                alphas,
                log_likelihood=lambda fit: n * fit.log_likelihood,
                count_edges=lambda fit: fit.n_edges,
                n_samples=n,
                n_features=p,
                gamma=self.gamma,
            )
        d = design.shape[1]
        return choose_by_cv(
            np.hstack([design, Y]),
            alphas,
            partial(self._fit_fold, d),
            partial(_score_fold, d),
            cv=self.cv,
            random_state=seed,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _fit_fold(
        self, d: int, rows: FloatArray, _weights: FloatArray | None, alphas: FloatArray
    ) -> Iterator[ResidualFit]:
        return self._solve(self._take_off(rows[:, :d], rows[:, d:]), alphas)

    def _keep(self, fit: ResidualFit, selection: Selection | None) -> None:
        """Store what was found, in the units of the data."""
        residuals, solution = fit.residuals, fit.solution
        self.coef_ = residuals.coef
        self.intercept_ = residuals.response_location - residuals.location @ residuals.coef
        self.precision_ = fit.precision
        self.covariance_ = solution.covariance * np.outer(residuals.scale, residuals.scale)
        self.graph_ = Graph.from_precision(solution.value, names=self.response_names_)
        self.partial_correlation_ = self.graph_.weights + np.eye(len(self.response_names_))
        self.alpha_ = solution.alpha
        self.alphas_ = np.array([solution.alpha]) if selection is None else selection.alphas
        self.selection_ = selection
        self.gap_, self.objective_ = solution.gap, solution.objective
        self.converged_, self.n_iter_ = solution.converged, solution.n_iter
        how = "least squares" if residuals.is_plain else "a graphical lasso of the covariates"
        self.treatment_ = [f"{len(self.coef_)} columns of covariates taken off by {how}"]

    def _warn(self, fit: ResidualFit, selection: Selection | None) -> None:
        """Warn where the result should be read with care."""
        if fit.residuals.is_plain and self.covariate_alpha != 0:
            warnings.warn(
                "With the graphical lasso of the covariates, what is left of the responses has no "
                "positive definite covariance; least squares was used. Pass a smaller "
                "covariate_alpha.",
                DataWarning,
                stacklevel=3,
            )
        if not self.converged_:
            p = len(self.response_names_)
            warnings.warn(
                f"Stopped after {self.n_iter_} iterations at a duality gap of {self.gap_:.2g}, "
                f"above tol * p = {self.tol * p:.2g}. Raise max_iter or alpha, or accept a larger "
                "tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if selection is not None and selection.end == "smallest" and not fit.is_complete:
            smaller = selection.alphas[-1] / selection.alphas[0] / 10
            warnings.warn(
                f'alpha="{selection.rule}" chose {selection.alpha:.3g}, the smallest alpha it '
                f"tried, so a smaller one may be better. Pass alpha_ratio={smaller:.1g} to search "
                "further.",
                SelectionWarning,
                stacklevel=3,
            )


def _score_fold(d: int, fit: ResidualFit, rows: FloatArray, _weights: FloatArray | None) -> float:
    return fit.score(rows[:, :d], rows[:, d:])
