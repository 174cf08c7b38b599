"""What changed between two conditions, by models of both with a sparse difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from edgewise._core.constraints import is_number
from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays
from edgewise._core.typing import BoolArray, FloatArray, RandomState
from edgewise.data.checks import refuse_identical
from edgewise.data.labels import TwoGroups, TwoSamples
from edgewise.estimators.base.fits import residual_variances
from edgewise.estimators.change.base import ChangeEstimator
from edgewise.estimators.change.sampled import (
    SampledModels,
    polynomial_options,
    sampled_likelihood_of,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection import gaussian_log_likelihood
from edgewise.solvers.change.fused_graphical_lasso import (
    FusedPrecisionSolution,
    fused_graphical_lasso_alpha_max,
    fused_graphical_lasso_path,
)
from edgewise.solvers.change.fused_neighborhood import (
    RULES,
    FusedNeighborhoodSolution,
    fused_neighborhood_alpha_max,
    fused_neighborhood_path,
)
from edgewise.stats import covariance as covariance_of, nonparanormal_correlation

METHODS: Final = ("neighborhood", "joint", "sampled")
#: Arrays of p x p that each method holds at its peak, at least.
MATRICES_HELD: Final = {"neighborhood": 14.0, "joint": 27.0, "sampled": 20.0}
COVARIANCES: Final = ("empirical", "nonparanormal")


@dataclass(frozen=True)
class _FusedFit:
    """Models of both groups, and what of them changed."""

    solution: FusedNeighborhoodSolution | FusedPrecisionSolution
    rule: str

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @property
    def values(self) -> FloatArray:
        """Regressions or precisions of both groups."""
        return np.asarray(self.solution.value)

    @cached_property
    def change(self) -> FloatArray:
        """Change of every pair, above 0 where a link became more positive."""
        if isinstance(self.solution, FusedNeighborhoodSolution):
            return self.solution.change(self.rule)
        change: FloatArray = self.values[0] - self.values[1]
        # In the log-density a pair has its entry, and a variable half of its own.
        np.fill_diagonal(change, 0.5 * change.diagonal())
        return change

    @property
    def adjacency(self) -> BoolArray:
        """Which pairs change."""
        joined: BoolArray = self.change != 0
        np.fill_diagonal(joined, False)
        return joined


class FusedNetworkChange(ChangeEstimator):
    r"""Learn the networks of both groups at once, with few differences between them.

    With ``method="neighborhood"``, each variable is regressed on all the others in both groups,
    and differences between the coefficients of the two are penalised [1]_:

    .. math::

        \min_{b^1, b^2} \; \sum_{g = 1}^2 \frac{1}{2 n_g} \| x_u^g - X^g b^g \|^2
        + \lambda \left( \|b^1\|_1 + \|b^2\|_1 \right) + \alpha \|b^2 - b^1\|_1 .

    With ``method="joint"``, the precision matrices of both groups are learned together [2]_:

    .. math::

        \min_{\Theta_1, \Theta_2 \succ 0} \;
        \sum_{g = 1}^2 \operatorname{tr}(S_g \Theta_g) - \log\det \Theta_g
        + \lambda \sum_{g = 1}^2 \sum_{i \ne j} |\Theta_{g, ij}|
        + \alpha \sum_{ij} |\Theta_{2, ij} - \Theta_{1, ij}| .

    With ``method="sampled"``, log-linear models with polynomial features take the place of Gaussian
    ones, and importance sampling that of the integral which normalises them: see
    `edgewise.solvers.sampled_likelihood.sampled_fused_path`. This is the one for links that no
    correlation shows; it is slow, and no better than the rows that stand for the integral.

    :math:`\lambda` is ``sparsity``. At 0 neither network need be sparse, only the change; then both
    groups together must have more rows than there are variables. Groups count alike, whatever
    their numbers of rows.

    Parameters
    ----------
    alpha : float or "cv"
        Strength of fusion; ``"cv"`` takes the one with the best held-out score.
    sparsity : float
        Strength of the l1 penalty on the networks themselves.
    method : {"neighborhood", "joint", "sampled"}
        Regressions, precision matrices, or log-linear models. Regressions are faster by far.
    covariance : {"empirical", "nonparanormal"}
        ``"nonparanormal"`` sees only the ranks within each group, for rows that are Gaussian on
        some other scale of each variable.
    rule : {"or", "and"}
        Regressions give two changes for a pair. Take the larger, which is there if one of them
        is, or the smaller, which takes both. Precision matrices are symmetric and need no rule.
    degree, ridge, n_proposals, proposal_scale
        Of ``method="sampled"``: degree of the polynomials; curvature of both models; number of
        rows that stand for the integral, and their standard deviation in units of that of the
        data.
    standardize : bool
        Take away the mean of its group from every column and divide by the standard deviation
        within groups. With False the rows are used as they are, as if their means were 0.
    negligible : float
        Changes up to this size are left out of ``graph_``.
    n_alphas : int
        Number of alphas that a search tries.
    alpha_ratio : float, optional
        Smallest alpha that a search tries, as a share of the largest; 0.1 by default.
    cv : int or splitter, optional
        Folds, each with rows of both groups; by default 5, or one per row of the smaller group
        where that has fewer.
    tol : float
        Largest duality gap per variable.
    max_iter : int
        Largest number of iterations of the solver.
    n_jobs : int, optional
        Folds at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Deals the rows to folds.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Attributes
    ----------
    change_ : ndarray of shape (d, d)
        In standardised units, above 0 where a link became more positive. Differences of
        regression coefficients; or of precisions with the sign turned, which are the coefficients
        of the products of two variables in the log ratio of the densities, as in
        `NetworkChange`, with those of the squares on the diagonal.
    coefs_ : ndarray of shape (2, d, d)
        Of ``method="neighborhood"``: ``coefs_[g, i, j]`` is the coefficient of variable i in the
        regression of j in group g, in the units of X.
    precisions_ : ndarray of shape (2, d, d)
        Of ``method="joint"``: precision matrices of both groups, in the units of X, or of
        normal scores with ``covariance="nonparanormal"``, as are ``coefs_``.
    thetas_ : ndarray of shape (2, d, d, b)
        Of ``method="sampled"``: coefficients of both models, in standardised units. ``change_``
        is then the length of their difference, without a sign.
    power_scale_ : ndarray of shape (degree, d)
        Of ``method="sampled"``: what powers were divided by.
    graph_ : Graph
        Pairs that changed by more than ``negligible``.
    classes_ : ndarray of shape (2,)
        Labels before and after.
    alpha_, alphas_, selection_
        The strength used, those tried, and the criterion along them (None for a number).
    locations_, scale_ : ndarray
        Means of the groups and standard deviations that were taken out.
    gap_, objective_, converged_, n_iter_
        Certificate of the solver.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    See Also
    --------
    NetworkChange : Learns the change without the networks.
    DTraceChange : For Gaussian rows the strongest simple alternative.

    References
    ----------
    .. [1] Zhang and Wang (2010). Learning structural changes of Gaussian graphical models in
       controlled experiments. *Uncertainty in Artificial Intelligence* 26, 701-708.
       https://doi.org/10.48550/arXiv.1203.3532
    .. [2] Danaher, Wang and Witten (2014). The joint graphical lasso for inverse covariance
       estimation across multiple classes. *Journal of the Royal Statistical Society B* 76(2),
       373-397. https://doi.org/10.1111/rssb.12033

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import FusedNetworkChange
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = np.repeat(["1 before", "2 after"], 100)
    >>> X[y == "2 after", 1] += 0.8 * X[y == "2 after", 0]
    >>> model = FusedNetworkChange(alpha=0.2).fit(X, y)
    >>> model.graph_.edges()[["source", "target"]]
      source target
    0     x0     x1
    >>> bool(model.change_[0, 1] > 0)
    True
    """

    _methods = (
        "The networks of the two groups were estimated together, with a penalty on their "
        "difference (Zhang and Wang 2010)."
    )
    _cites = ("zhang2010",)

    def __init__(
        self,
        alpha: float | str = "cv",
        sparsity: float = 0.0,
        *,
        method: str = "neighborhood",
        covariance: str = "empirical",
        rule: str = "or",
        degree: int = 2,
        ridge: float = 0.1,
        n_proposals: int = 5000,
        proposal_scale: float = 1.5,
        standardize: bool = True,
        negligible: float = 0.0,
        n_alphas: int = 30,
        alpha_ratio: float | None = None,
        cv: Any = None,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.sparsity = sparsity
        self.method = method
        self.covariance = covariance
        self.rule = rule
        self.degree = degree
        self.ridge = ridge
        self.n_proposals = n_proposals
        self.proposal_scale = proposal_scale
        self.standardize = standardize
        self.negligible = negligible
        self.n_alphas = n_alphas
        self.alpha_ratio = alpha_ratio
        self.cv = cv
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        held = super()._arrays_held(n_rows, n_features)
        return [*held, Arrays(MATRICES_HELD[self.method], (n_features, n_features))]

    def _check_input(self, X: Any, y: Any, *, reset: bool = True) -> tuple[FloatArray, TwoGroups]:
        rows, groups = super()._check_input(X, y, reset=reset)
        if reset and self.method == "neighborhood" and self.sparsity == 0:
            refuse_identical(rows, self._names(), "sparsity above 0")
        return rows, groups

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not is_number(self.sparsity, least=0):
            raise InputError(f"sparsity must be a number of at least 0, got {self.sparsity!r}.")
        choices = {"method": METHODS, "covariance": COVARIANCES, "rule": RULES}
        for name, allowed in choices.items():
            value = getattr(self, name)
            if value not in allowed:
                raise InputError(f"{name} must be one of {quote_names(allowed)}, got {value!r}.")
        if self.method == "sampled":
            sampled_likelihood_of(self)
            if self.sparsity > 0:
                raise InputError('sparsity has no meaning with method="sampled". Leave it at 0.')
        elif self.alpha == 0 and self.sparsity == 0:
            raise InputError("alpha and sparsity are both 0, so that nothing is penalised.")

    def _moments(self, samples: TwoSamples) -> FloatArray:
        """Second moments of both groups, or correlations of their normal scores."""
        both = (samples.first, samples.second)
        if self.covariance == "nonparanormal":
            return np.stack([nonparanormal_correlation(rows) for rows in both])
        return np.stack([covariance_of(rows, assume_centered=True)[1] for rows in both])

    def _solve_path(self, samples: TwoSamples, alphas: FloatArray) -> Iterator[Any]:
        if self.method == "sampled":
            return sampled_likelihood_of(self).fused_path(samples, alphas)
        is_joint = self.method == "joint"
        solve: Any = fused_graphical_lasso_path if is_joint else fused_neighborhood_path
        path = solve(
            self._moments(samples),
            alphas,
            sparsity=self.sparsity,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return (_FusedFit(solution, self.rule) for solution in path)

    def _largest_alpha(self, samples: TwoSamples) -> float:
        if self.method == "sampled":
            return sampled_likelihood_of(self).fused_alpha_max(samples)
        is_joint = self.method == "joint"
        largest = fused_graphical_lasso_alpha_max if is_joint else fused_neighborhood_alpha_max
        return largest(self._moments(samples), sparsity=self.sparsity)

    def _score_fit(self, fit: Any, samples: TwoSamples) -> float:
        """Mean over both groups of the log-likelihood, or of minus the mean squared residual."""
        if self.method == "sampled":
            return sampled_likelihood_of(self).score(fit, samples)
        pairs = list(zip(fit.values, self._moments(samples), strict=True))
        if self.method == "joint":
            return float(np.mean([gaussian_log_likelihood(*pair) for pair in pairs]))
        return -float(np.mean([residual_variances(*pair) for pair in pairs]))

    def _unit(self) -> FloatArray:
        """Return the standard deviations that turn standardised values into those shown."""
        is_scaled = self.covariance == "empirical"
        return self.scale_ if is_scaled else np.ones_like(self.scale_)

    def _is_signed(self) -> bool:
        return bool(self.method != "sampled")

    def _store(self, fit: Any, samples: TwoSamples) -> None:
        unit = self._unit()
        if self.method == "sampled":
            self.thetas_ = fit.thetas
            self.power_scale_ = fit.features["power_scale"]
            return
        if self.method == "joint":
            self.precisions_ = fit.values / np.outer(unit, unit)
        else:
            self.coefs_ = fit.values * (unit / unit[:, None])

    def _fitted(self) -> _Values | SampledModels:
        unit = self._unit()
        if self.method == "sampled":
            return SampledModels(self.thetas_, polynomial_options(self.degree, self.power_scale_))
        if self.method == "joint":
            return _Values(self.precisions_ * np.outer(unit, unit))
        return _Values(self.coefs_ / (unit / unit[:, None]))

    def _networks(self, X: Any, y: Any) -> tuple[Graph, Graph]:
        """Networks of the two groups, as this model has them unless there are rows."""
        if X is not None or self.method == "sampled":
            return super()._networks(X, y)
        values: FloatArray = self._fitted().values  # type: ignore[union-attr]
        names = self.graph_.names
        if self.method == "joint":
            before, after = (Graph.from_precision(one, names=names) for one in values)
        else:
            before, after = (Graph((one + one.T) / 2, names=names) for one in values)
        return before, after


@dataclass(frozen=True)
class _Values:
    """What scoring rows takes of a fit."""

    values: FloatArray
