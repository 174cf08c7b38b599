"""Changes between two conditions, by separate networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from edgewise._core.constraints import Constraint, OneOf
from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray, RandomState
from edgewise.data.labels import TwoSamples
from edgewise.estimators.base.fits import GaussianFit
from edgewise.estimators.base.statistics import REPAIRS, Statistics
from edgewise.estimators.base.summarizer import Summarizer
from edgewise.estimators.change.base import (
    CONSTRAINTS,
    COVARIANCES,
    HELD_OUT,
    ChangeEstimator,
    ChangeFit,
    ChangeLoss,
    Covariances,
    group_covariances,
    group_moments,
    in_log_ratio,
    refuse_constant_in_a_group,
)
from edgewise.estimators.change.sampled import (
    SampledLikelihood,
    SampledSeparateLoss,
    add_certificates,
    as_sampled,
    check_sampled,
)
from edgewise.estimators.gaussian.graphical_lasso import GaussianProblem
from edgewise.graph import Graph
from edgewise.selection import EBIC
from edgewise.selection.criteria import gaussian_log_likelihood
from edgewise.selection.rules import Rule, Strength, rule_name
from edgewise.solvers.gaussian.graphical_lasso import alpha_max

#: Rules for Gaussian networks; and for log-linear ones, where alpha has to take the proposals to
#: the data first, so that the grid goes further down.
GAUSSIAN_RULES: Final = Strength(EBIC(n_alphas=30, alpha_ratio=0.1), HELD_OUT)
SAMPLED_RULES: Final = Strength(replace(HELD_OUT, alpha_ratio=1e-3))


class SeparateNetworkChange(ChangeEstimator):
    r"""Learn the network of each group by itself, and take the difference.

    In each group g, with covariance :math:`S_g`,

    .. math::

        \min_{\Theta_g \succ 0} \; \operatorname{tr}(S_g \Theta_g) - \log\det \Theta_g
        + \alpha \sum_{i \ne j} |\Theta_{g, ij}|,

    the graphical lasso [1]_ with one alpha for both, so that both are shrunken alike. It is the
    natural thing to do where both networks are wanted, and sparse. As an estimate of the change it
    takes twice what it needs: every edge of either network differs a little between two estimates,
    also where nothing changed, so that ``graph_`` has most edges of both; ``negligible`` leaves
    the small differences out. `DTraceChange` and `NetworkChange` learn the change itself.

    With ``method="sampled"``, log-linear models with polynomial features take the place of
    Gaussian ones, normalised by importance sampling, for links that no correlation shows.

    Parameters
    ----------
    alpha : float, {"ebic", "cv"}, EBIC or CV
        Penalty of both networks, counted for every entry of a symmetric matrix; or the rule that
        chooses it: the sum of the extended BIC of both groups [2]_, or held-out likelihood on
        folds that hold rows of both groups. By default 30 alphas are tried, down to 0.1 of the
        smallest with empty networks; ``alpha=EBIC(gamma=1, n_alphas=50)`` says otherwise.
    covariance : {"empirical", "nonparanormal", "spearman", "kendall"}
        What stands for the covariances. All but the first see only ranks within each group, for
        rows that are Gaussian on some other scale of each variable.
    method : {"gaussian", "sampled"} or SampledLikelihood
        Gaussian networks, or log-linear ones; for these alpha is a number or ``"cv"``.
    repair : {None, "ridge", "clip"}
        What to do with rank correlations that are not positive semidefinite: refuse them, or raise
        their small eigenvalues, by adding to the diagonal or one by one. ``treatment_`` then says
        how.
    standardize : {"within", "pooled", False}
        Subtract the mean of its group from every column and divide by the standard deviation in
        its group, so that networks are compared and spreads do not count; or by one that both
        groups have in common (``"pooled"``), so that a change of the spread counts. With False
        the rows are used as they are, as if their means were 0.
    negligible : float
        Changes up to this size are left out of ``graph_``.
    tol : float
        Largest duality gap per variable, of both groups together.
    max_iter : int
        Largest number of iterations of each solve.
    n_jobs : int, optional
        Folds at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Splits the rows into folds.
    verbose : int
        Above 0, a progress bar is drawn on standard error.

    Attributes
    ----------
    change_ : ndarray of shape (d, d)
        In standardised units, above 0 where a link became more positive: precision before less
        precision after, with half of its diagonal, which are the coefficients of products and
        squares in the log ratio of the densities, as in `NetworkChange`.
    precisions_ : ndarray of shape (2, d, d)
        Precision matrices of both groups, in the units of X, or of normal scores with covariances
        of ranks.
    networks_ : tuple of Graph
        Networks before and after; weights are partial correlations, or lengths of vectors of
        coefficients with ``method="sampled"``.
    thetas_ : ndarray of shape (2, d, d, b)
        Of ``method="sampled"``: coefficients of both models, in standardised units.
        ``change_`` is then the length of their difference, without a sign.
    power_scale_ : ndarray of shape (degree, d)
        Of ``method="sampled"``: what powers were divided by.
    graph_ : Graph
        Pairs that changed by more than ``negligible``.
    classes_ : ndarray of shape (2,)
        Labels before and after.
    alpha_, alphas_, selection_
        The penalty used, those tried, and the criterion along them (None for a number).
    locations_, scale_ : ndarray of shape (2, d)
        Means of the groups and standard deviations that were taken out; ``scale_`` has shape
        (d,) unless ``standardize="within"``.
    treatment_ : list of str
        What was done to the covariances.
    gap_, objective_, converged_, n_iter_
        Certificate of the solver, of both groups together.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    See Also
    --------
    DTraceChange : Learns the difference of two Gaussian networks without the networks.
    FusedNetworkChange : Learns both networks together, with few differences.
    GaussianGraph : The network of one table.

    References
    ----------
    .. [1] Friedman, Hastie and Tibshirani (2008). Sparse inverse covariance estimation with the
       graphical lasso. *Biostatistics* 9(3). https://doi.org/10.1093/biostatistics/kxm045
    .. [2] Foygel and Drton (2010). Extended Bayesian information criteria for Gaussian graphical
       models. https://doi.org/10.48550/arXiv.1011.6640

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import SeparateNetworkChange
    >>> X = np.random.default_rng(0).normal(size=(200, 4))
    >>> y = np.repeat(["1 before", "2 after"], 100)
    >>> X[y == "2 after", 1] += 0.8 * X[y == "2 after", 0]
    >>> model = SeparateNetworkChange().fit(X, y)
    >>> model.graph_.edges()[["source", "target"]]
      source target
    0     x0     x1
    >>> [network.n_edges for network in model.networks_]
    [0, 1]
    """

    _methods = (
        "The networks of the two groups were estimated by one graphical lasso each (Friedman "
        "et al. 2008) and subtracted."
    )
    _cites = ("friedman2008",)

    _matrices_held = 15.0
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": GAUSSIAN_RULES,
        "covariance": OneOf(*COVARIANCES),
        "repair": OneOf(None, *REPAIRS),
        **CONSTRAINTS,
    }

    def __init__(
        self,
        alpha: float | str | Rule = "ebic",
        *,
        covariance: str = "empirical",
        method: str | SampledLikelihood = "gaussian",
        repair: str | None = None,
        standardize: str | bool = "within",
        negligible: float = 0.0,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.covariance = covariance
        self.method = method
        self.repair = repair
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
        SeparateNetworkChange
        """
        problem = self._pose(X, y)
        fit = self._learn(problem, self._rule(problem))
        if as_sampled(self.method):
            self.thetas_ = fit.values
            self.power_scale_ = fit.features["power_scale"]
        else:
            self.precisions_ = fit.values / self._squares()
        self.treatment_ = list(fit.treatment)
        return self

    @property
    def networks_(self) -> tuple[Graph, Graph]:
        """Networks before and after."""
        names = self.graph_.names
        if as_sampled(self.method):
            lengths = np.sqrt(np.sum(self.thetas_**2, axis=3))
            lengths[:, range(self.n_features_in_), range(self.n_features_in_)] = 0.0
            before, after = (Graph(one, names=names) for one in lengths)
        else:
            before, after = (Graph.from_precision(one, names=names) for one in self.precisions_)
        return before, after

    @property
    def _alpha(self) -> Strength:  # type: ignore[override]
        return SAMPLED_RULES if as_sampled(self.method) else GAUSSIAN_RULES

    def _loss(self) -> ChangeLoss:
        if sampled := as_sampled(self.method):
            if rule_name(self.alpha) == EBIC.name:
                raise InputError("sampled_without_ebic")
            return SampledSeparateLoss(**check_sampled(self, sampled))
        if self.method != "gaussian":
            raise InputError("unknown_separate_method", method=self.method)
        return SeparateLoss(
            covariance=self.covariance,
            repair=self.repair,
            names=self._names(),
            standardize=self.standardize,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def _fitted_values(self) -> tuple[FloatArray, dict[str, Any]]:
        if sampled := as_sampled(self.method):
            return self.thetas_, sampled.features(self.power_scale_)
        return self.precisions_ * self._squares(), {}

    def _is_signed(self) -> bool:
        return as_sampled(self.method) is None

    def _own_networks(self) -> tuple[Graph, Graph]:
        return self.networks_


@dataclass(frozen=True, kw_only=True, eq=False)
class SeparateFit(ChangeFit):
    """Graphical lassos of both groups, which have nothing to do with each other."""

    lassos: tuple[GaussianFit, GaussianFit]

    @property
    def n_edges(self) -> int:
        """Number of edges of both networks."""
        return sum(lasso.n_edges for lasso in self.lassos)

    def ebic(self, gamma: float) -> float:
        """Return the sum of the extended BIC of both groups."""
        return sum(lasso.ebic(gamma) for lasso in self.lassos)


@dataclass(frozen=True, kw_only=True, eq=False)
class SeparateLoss(ChangeLoss):
    """Graphical lassos of both groups as a `ChangeLoss`.

    The fields are parameters of `SeparateNetworkChange`.
    """

    covariance: str
    repair: str | None
    names: Sequence[str] | None

    def prepare(self, samples: TwoSamples) -> Covariances:
        """Return the covariances of both groups."""
        refuse_constant_in_a_group(samples, self.names, "no finite precision")
        return group_covariances(samples, self.covariance, self.repair, self.names)

    def largest_alpha(self, covariances: Covariances) -> float:
        """Return the smallest alpha with empty networks."""
        return max(alpha_max(covariances.before), alpha_max(covariances.after))

    def solve_path(self, covariances: Covariances, alphas: FloatArray) -> Iterator[SeparateFit]:
        """Yield one fit per alpha, each started from the one before."""
        lasso = GaussianProblem(
            covariance=Summarizer(names=None),
            weights=None,
            penalize_diagonal=False,
            # Each to half of the tolerance, since the gaps add up.
            tol=0.5 * self.tol,
            max_iter=self.max_iter,
        )
        paths = [
            lasso.solve_path(_statistics(S, n_rows), alphas)
            for S, n_rows in zip(covariances[:2], covariances.sizes, strict=True)
        ]
        for before, after in zip(*paths, strict=True):
            solution = add_certificates(before.solution, after.solution)
            values = np.asarray(solution.value)
            yield SeparateFit(
                solution=solution,
                values=values,
                change=in_log_ratio(values[1] - values[0]),
                features={},
                treatment=covariances.treatment,
                lassos=(before, after),
            )

    def score(self, values: FloatArray, features: dict[str, Any], samples: TwoSamples) -> float:
        """Mean log-likelihood of other rows, each under the network of its group."""
        pairs = zip(values, group_moments(samples, self.covariance, self.names), strict=True)
        sizes = (len(samples.first), len(samples.second))
        return float(np.average([gaussian_log_likelihood(*pair) for pair in pairs], weights=sizes))


def _statistics(S: FloatArray, n_rows: int) -> Statistics:
    """Wrap a covariance of centred columns for the estimator of one network."""
    d = len(S)
    return Statistics(location=np.zeros(d), S=S, scale=np.ones(d), n_samples=n_rows, n_rows=n_rows)
