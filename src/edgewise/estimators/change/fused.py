"""Changes between two conditions, by networks of both with a sparse difference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from edgewise._core.constraints import Constraint, Number, OneOf
from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays
from edgewise._core.typing import FloatArray, RandomState
from edgewise.data.checks import ColumnReport, refuse_pairs
from edgewise.data.labels import TwoSamples
from edgewise.estimators.base.fits import residual_variances
from edgewise.estimators.change.base import (
    CONSTRAINTS,
    HELD_OUT,
    ChangeEstimator,
    ChangeFit,
    ChangeLoss,
    group_moments,
    in_log_ratio,
)
from edgewise.estimators.change.sampled import (
    SampledFusedLoss,
    SampledLikelihood,
    as_sampled,
    check_sampled,
)
from edgewise.graph import Graph
from edgewise.selection.criteria import gaussian_log_likelihood
from edgewise.selection.rules import Rule, Strength
from edgewise.solvers import Solution
from edgewise.solvers.change.decided import TieProof
from edgewise.solvers.change.fused_neighborhood import (
    RULES,
    FusedNeighborhoodSolution,
    fused_neighborhood_alpha_max,
    fused_neighborhood_path,
)
from edgewise.solvers.change.joint_path import joint_coupling_max, joint_graphical_lasso_path

#: Arrays of p x p that each method holds at its peak, at least.
MATRICES_HELD: Final = {"neighborhood": 14.0, "joint": 27.0, "sampled": 20.0}


class FusedNetworkChange(ChangeEstimator):
    r"""Learn the networks of both groups at once, with few differences between them.

    With ``method="neighborhood"``, each variable is regressed on all the others in both groups,
    and differences between the coefficients of the two are penalised [1]_:

    .. math::

        \min_{b^1, b^2} \; \sum_{g = 1}^2 \frac{1}{2 n_g} \| x_u^g - X^g b^g \|^2
        + \alpha \left( \|b^1\|_1 + \|b^2\|_1 \right) + \gamma \|b^2 - b^1\|_1 .

    With ``method="joint"``, the precision matrices of both groups are learned together [2]_:

    .. math::

        \min_{\Theta_1, \Theta_2 \succ 0} \;
        \sum_{g = 1}^2 \operatorname{tr}(S_g \Theta_g) - \log\det \Theta_g
        + \alpha \sum_{g = 1}^2 \sum_{i \ne j} |\Theta_{g, ij}|
        + \gamma \sum_{ij} |\Theta_{2, ij} - \Theta_{1, ij}| .

    With ``method="sampled"``, log-linear models with polynomial features take the place of Gaussian
    ones, and importance sampling that of the integral which normalises them: see
    `edgewise.solvers.sampled_likelihood.sampled_fused_path`. This is the one for links that no
    correlation shows; it is slow, and no better than the rows that stand for the integral.

    :math:`\gamma` is the ``coupling``. With an ``alpha`` of 0 neither network need be sparse, only
    the change; then both groups together must have more rows than there are variables. Groups
    count alike, whatever their numbers of rows.

    Parameters
    ----------
    alpha : float
        Sparsity: weight of the l1 penalty on the networks themselves.
    coupling : float, "cv" or CV
        Penalty on the difference; ``"cv"`` takes the one with the best held-out score. By default
        30 are tried, down to 0.1 of the smallest without any change, on 5 folds that hold rows of
        both groups, or as many as the smaller group has rows; ``coupling=CV(10, n_alphas=50)``
        says otherwise.
    method : {"neighborhood", "joint", "sampled"} or SampledLikelihood
        Regressions, precision matrices, or log-linear models. Regressions are faster by far.
    covariance : {"empirical", "nonparanormal"}
        ``"nonparanormal"`` sees only the ranks within each group, for rows that are Gaussian on
        some other scale of each variable.
    rule : {"or", "and"}
        Regressions give two changes for a pair. Take the larger, which is there if one of them
        is, or the smaller, which takes both. Precision matrices are symmetric and need no rule.
    standardize : {"within", "pooled", False}
        Subtract the mean of its group from every column and divide by the standard deviation in
        its group, so that networks are compared and spreads do not count; or by one that both
        groups have in common (``"pooled"``), so that a change of the spread counts. With False
        the rows are used as they are, as if their means were 0.
    negligible : float
        Changes up to this size are left out of ``graph_``.
    tol : float
        Largest duality gap per variable.
    max_iter : int
        Largest number of iterations of the solver.
    n_jobs : int, optional
        Folds at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Splits the rows into folds.
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
    alpha_, coupling_ : float
        The strengths used.
    couplings_, selection_
        The couplings tried, and the criterion along them (None for a number).
    locations_, scale_ : ndarray of shape (2, d)
        Means of the groups and standard deviations that were taken out; ``scale_`` has shape
        (d,) unless ``standardize="within"``.
    gap_, objective_, converged_, n_iter_
        Certificate of the solver.
    decided_ : ndarray of bool, shape (d, d)
        Of ``method="joint"``: pairs that the gap proves to change, or not to, at the optimum.
    is_decided_ : bool
        Whether all pairs are.
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
    >>> model = FusedNetworkChange(coupling=0.2).fit(X, y)
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
    _alpha = Strength(HELD_OUT)
    _strength = "coupling"
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": Number(at_least=0),
        "coupling": _alpha,
        "covariance": OneOf("empirical", "nonparanormal"),
        "rule": OneOf(*RULES),
        **CONSTRAINTS,
    }

    def __init__(
        self,
        alpha: float = 0.0,
        *,
        coupling: float | str | Rule = "cv",
        method: str | SampledLikelihood = "neighborhood",
        covariance: str = "empirical",
        rule: str = "or",
        standardize: str | bool = "within",
        negligible: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.coupling = coupling
        self.method = method
        self.covariance = covariance
        self.rule = rule
        self.standardize = standardize
        self.negligible = negligible
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> Self:
        """Learn what changed from the rows of one label to those of the other.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)
            Rows of both groups.
        y : array-like of shape (n,)
            Labels of two groups, of any type that can be sorted. The change is from
            ``classes_[0]`` to ``classes_[1]``.

        Returns
        -------
        FusedNetworkChange
        """
        problem = self._pose(X, y)
        fit = self._learn(problem, self._rule(problem))
        self.alpha_ = float(self.alpha)
        values, unit = fit.values, self._unit()
        if as_sampled(self.method):
            self.thetas_ = values
            self.power_scale_ = fit.features["power_scale"]
        elif self.method == "joint":
            self.precisions_ = values / self._squares()
        else:
            self.coefs_ = values * _quotients(unit)
        return self

    def _loss(self) -> ChangeLoss:
        if sampled := as_sampled(self.method):
            if self.alpha > 0:
                raise InputError("sampled_without_alpha")
            return SampledFusedLoss(**check_sampled(self, sampled))
        if self.method not in MATRICES_HELD:
            raise InputError("unknown_fused_method", method=self.method)
        if self.alpha == 0 and self.coupling == 0:
            raise InputError("nothing_penalised", "coupling")
        return FusedLoss(
            is_joint=self.method == "joint",
            sparsity=float(self.alpha),
            covariance=self.covariance,
            rule=self.rule,
            names=self._names(),
            standardize=self.standardize,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _check_rows(self, rows: FloatArray, report: ColumnReport, *, is_fit: bool) -> None:
        is_unbounded = self.method == "neighborhood" and self.alpha == 0
        if is_fit and is_unbounded and report.identical:
            names = self._labels(np.ones(rows.shape[1], dtype=bool))
            refuse_pairs(report.identical, names, unpenalised=True)

    def _arrays_held(self, n_rows: int, n_features: int) -> list[Arrays]:
        held = super()._arrays_held(n_rows, n_features)
        method = "sampled" if as_sampled(self.method) else str(self.method)
        return [*held, Arrays(MATRICES_HELD.get(method, 0.0), (n_features, n_features))]

    def _fitted_values(self) -> tuple[FloatArray, dict[str, Any]]:
        unit = self._unit()
        if sampled := as_sampled(self.method):
            return self.thetas_, sampled.features(self.power_scale_)
        if self.method == "joint":
            return self.precisions_ * self._squares(), {}
        return self.coefs_ / _quotients(unit), {}

    def _is_signed(self) -> bool:
        return as_sampled(self.method) is None

    def _own_networks(self) -> list[Graph] | None:
        if as_sampled(self.method):
            return None
        values, names = self._fitted_values()[0], self.graph_.names
        if self.method == "joint":
            return [Graph.from_precision(one, names=names) for one in values]
        return [Graph((one + one.T) / 2, names=names) for one in values]


def _quotients(unit: FloatArray) -> FloatArray:
    """Divide the unit of the response by that of the predictor, in each group."""
    quotients: FloatArray = unit[:, None, :] / unit[:, :, None]
    return quotients


@dataclass(frozen=True, kw_only=True, eq=False)
class FusedLoss(ChangeLoss):
    """Models of both groups with a penalised difference, as a `ChangeLoss`.

    The fields are parameters of `FusedNetworkChange`.
    """

    is_joint: bool
    sparsity: float
    covariance: str
    rule: str
    names: Sequence[str] | None

    def prepare(self, samples: TwoSamples) -> FloatArray:
        """Return the second moments of both groups, or correlations of their normal scores."""
        return np.stack(group_moments(samples, self.covariance, self.names))

    def largest_alpha(self, moments: FloatArray) -> float:
        """Return the smallest alpha without any change."""
        if self.is_joint:
            return joint_coupling_max(moments, self.sparsity, penalize_diagonal="coupling")
        return fused_neighborhood_alpha_max(moments, sparsity=self.sparsity)

    def solve_path(self, moments: FloatArray, alphas: FloatArray) -> Iterator[ChangeFit]:
        """Yield one fit per alpha, each started from the one before."""
        for solution in self._solve(moments, alphas):
            values = np.asarray(solution.value)
            if isinstance(solution, FusedNeighborhoodSolution):
                change = solution.change(self.rule)
            else:
                solution = replace(solution, proof=TieProof(S=moments))
                change = in_log_ratio(values[1] - values[0])
            yield ChangeFit(solution=solution, values=values, change=change, features={})

    def _solve(self, moments: FloatArray, alphas: FloatArray) -> Sequence[Solution]:
        """Return the solutions of either method."""
        if self.is_joint:
            # The gap of the joint problem is counted per variable and group.
            options: Any = {"tol": 0.5 * self.tol, "penalize_diagonal": "coupling"}
            return joint_graphical_lasso_path(
                moments, self.sparsity, alphas, max_iter=self.max_iter, **options
            )
        return fused_neighborhood_path(
            moments, alphas, sparsity=self.sparsity, tol=self.tol, max_iter=self.max_iter
        )

    def score(self, values: FloatArray, features: dict[str, Any], samples: TwoSamples) -> float:
        """Mean over both groups of the log-likelihood, or of minus the mean squared residual."""
        pairs = list(zip(values, self.prepare(samples), strict=True))
        if self.is_joint:
            return float(np.mean([gaussian_log_likelihood(*pair) for pair in pairs]))
        return -float(np.mean([residual_variances(*pair) for pair in pairs]))
