"""What changed between two conditions, by learning the network of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from edgewise._core.constraints import is_number
from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, RandomState
from edgewise.data.labels import TwoGroups, TwoSamples
from edgewise.estimators.base.fits import GaussianFit
from edgewise.estimators.base.statistics import Statistics, Summarizer
from edgewise.estimators.change.base import CovarianceChange, in_log_ratio
from edgewise.estimators.change.sampled import (
    SampledModels,
    polynomial_options,
    sampled_likelihood_of,
)
from edgewise.estimators.gaussian.graphical_lasso import GaussianProblem
from edgewise.graph import Graph
from edgewise.selection import Selection, ebic, gaussian_log_likelihood
from edgewise.selection.choose import make_selection
from edgewise.solvers import Solution
from edgewise.solvers.gaussian.graphical_lasso import alpha_max


class _PrecisionsModel(NamedTuple):
    """What scoring rows takes of a fit."""

    precisions: FloatArray


@dataclass(frozen=True)
class _SeparateFit:
    """Graphical lassos of both groups, with what was done to their covariances."""

    before: GaussianFit
    after: GaussianFit
    treatment: tuple[str, ...]

    @cached_property
    def solution(self) -> Solution:
        """Both as one problem, since neither has to do with the other."""
        before, after = self.before.solution, self.after.solution
        return Solution(
            value=np.stack([before.value, after.value]),
            objective=before.objective + after.objective,
            gap=before.gap + after.gap,
            n_iter=max(before.n_iter, after.n_iter),
            converged=before.converged and after.converged,
        )

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance in both groups."""
        return self.solution.converged

    @property
    def precisions(self) -> FloatArray:
        """Precision matrices before and after."""
        return np.asarray(self.solution.value)

    @cached_property
    def change(self) -> FloatArray:
        """Change of every pair, above 0 where a link became more positive."""
        return in_log_ratio(self.precisions[1] - self.precisions[0])

    @property
    def adjacency(self) -> BoolArray:
        """Which pairs change."""
        joined: BoolArray = self.change != 0
        np.fill_diagonal(joined, False)
        return joined

    @cached_property
    def n_edges(self) -> tuple[int, int]:
        """Number of edges of each network."""
        before, after = (
            int(np.count_nonzero(fit.adjacency)) // 2 for fit in (self.before, self.after)
        )
        return before, after

    def ebic(self, sizes: tuple[int, int], gamma: float) -> float:
        """Add up the extended BIC of groups with so many rows."""
        return sum(
            ebic(n_rows * fit.log_likelihood, n_edges, n_rows, self.precisions.shape[1], gamma)
            for n_rows, fit, n_edges in zip(
                sizes, (self.before, self.after), self.n_edges, strict=True
            )
        )


class SeparateNetworkChange(CovarianceChange):
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

    With ``likelihood="sampled"``, log-linear models with polynomial features take the place of
    Gaussian ones, normalised by importance sampling, for links that no correlation shows.

    Parameters
    ----------
    alpha : float or {"ebic", "cv"}
        Sparsity of both networks, counted for every entry of a symmetric matrix; or the rule that
        picks it: the sum of the extended BIC of both groups [2]_, or held-out likelihood.
    covariance : {"empirical", "nonparanormal", "spearman", "kendall"}
        What stands for the covariances. All but the first see only ranks within each group, for
        rows that are Gaussian on some other scale of each variable.
    likelihood : {"gaussian", "sampled"}
        Of Gaussian networks, or of log-linear ones; for these alpha is a number or ``"cv"``.
    degree, ridge, n_proposals, proposal_scale
        Of ``likelihood="sampled"``: degree of the polynomials; curvature of both models; number
        of rows that stand for the integral, and their standard deviation in units of that of the
        data.
    gamma : float
        Parameter of the extended BIC, from 0 (ordinary BIC) to 1 (sparsest).
    repair : {None, "ridge", "clip"}
        What to do with rank correlations that are not positive semidefinite: refuse them, or raise
        their small eigenvalues, by adding to the diagonal or one by one. ``treatment_`` then says
        how.
    standardize : bool
        Take away the mean of its group from every column and divide by the standard deviation
        within groups. With False the rows are used as they are, as if their means were 0.
    negligible : float
        Changes up to this size are left out of ``graph_``.
    n_alphas : int
        Number of alphas that a search tries.
    alpha_ratio : float, optional
        Smallest alpha that a search tries, as a share of the largest; by default 0.1, or 0.001
        with ``likelihood="sampled"``.
    cv : int or splitter, optional
        Folds for ``alpha="cv"``, each with rows of both groups; by default 5, or one per row of the
        smaller group where that has fewer.
    tol : float
        Largest duality gap per variable, of both groups together.
    max_iter : int
        Largest number of iterations of each solve.
    n_jobs : int, optional
        Folds at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Deals the rows to folds.
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
        coefficients with ``likelihood="sampled"``.
    thetas_ : ndarray of shape (2, d, d, b)
        Of ``likelihood="sampled"``: coefficients of both models, in standardised units.
        ``change_`` is then the length of their difference, without a sign.
    power_scale_ : ndarray of shape (degree, d)
        Of ``likelihood="sampled"``: what powers were divided by.
    graph_ : Graph
        Pairs that changed by more than ``negligible``.
    classes_ : ndarray of shape (2,)
        Labels before and after.
    alpha_, alphas_, selection_
        The strength used, those tried, and the criterion along them (None for a number).
    locations_, scale_ : ndarray
        Means of the groups and standard deviations that were taken out.
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

    _rules = ("ebic", "cv")
    _matrices_held = 15.0

    def __init__(
        self,
        alpha: float | str = "ebic",
        *,
        covariance: str = "empirical",
        likelihood: str = "gaussian",
        degree: int = 2,
        ridge: float = 0.1,
        n_proposals: int = 5000,
        proposal_scale: float = 1.5,
        gamma: float = 0.5,
        repair: str | None = None,
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
        self.covariance = covariance
        self.likelihood = likelihood
        self.degree = degree
        self.ridge = ridge
        self.n_proposals = n_proposals
        self.proposal_scale = proposal_scale
        self.gamma = gamma
        self.repair = repair
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

    @property
    def networks_(self) -> tuple[Graph, Graph]:
        """Networks before and after."""
        if self.likelihood == "sampled":
            lengths = np.sqrt(np.sum(self.thetas_**2, axis=3))
            lengths[:, range(self.n_features_in_), range(self.n_features_in_)] = 0.0
            first, second = (Graph(one, names=self.graph_.names) for one in lengths)
            return first, second
        before, after = (
            Graph.from_precision(one, names=self.graph_.names) for one in self.precisions_
        )
        return before, after

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not is_number(self.gamma, least=0) or self.gamma > 1:
            raise InputError(f"gamma must be between 0 and 1, got {self.gamma!r}.")
        if self.likelihood not in ("gaussian", "sampled"):
            raise InputError(
                f'likelihood must be "gaussian" or "sampled", got {self.likelihood!r}.'
            )
        if self.likelihood == "sampled":
            sampled_likelihood_of(self)
            if self.alpha == "ebic":
                raise InputError(
                    'The extended BIC needs a likelihood that is exact. With likelihood="sampled" '
                    'pass a number for alpha, or "cv".'
                )

    def _solve_path(self, samples: TwoSamples, alphas: FloatArray) -> Iterator[Any]:
        if self.likelihood == "sampled":
            return sampled_likelihood_of(self).separate_path(samples, alphas)
        return self._solve_lassos(samples, alphas)

    def _solve_lassos(self, samples: TwoSamples, alphas: FloatArray) -> Iterator[_SeparateFit]:
        self._refuse_constant_in_a_group(samples, "no finite precision")
        covariances = self._covariances(samples)
        # Each to half of the tolerance, since the gaps add up.
        lasso = GaussianProblem(
            covariance=Summarizer(names=None),
            weights=None,
            penalize_diagonal=False,
            tol=0.5 * self.tol,
            max_iter=self.max_iter,
        )
        paths = [lasso.solve_path(_statistics(S), alphas) for S in covariances[:2]]
        for before, after in zip(*paths, strict=True):
            yield _SeparateFit(before, after, covariances.treatment)

    def _ratio(self) -> float:
        """Go further down where alpha has to take the proposals to the data first."""
        if self.likelihood == "sampled" and self.alpha_ratio is None:
            return 1e-3
        return super()._ratio()

    def _largest_alpha(self, samples: TwoSamples) -> float:
        if self.likelihood == "sampled":
            return sampled_likelihood_of(self).separate_alpha_max(samples)
        self._refuse_constant_in_a_group(samples, "no finite precision")
        return max(alpha_max(S) for S in self._covariances(samples)[:2])

    def _choose_alpha(
        self, rows: FloatArray, groups: TwoGroups, samples: TwoSamples
    ) -> tuple[Any, float, Selection | None]:
        """Return the fit at alpha as given, or as a rule chooses it along a path."""
        if self.alpha != "ebic":
            return super()._choose_alpha(rows, groups, samples)
        alphas = self._grid(samples)
        sizes = (len(samples.first), len(samples.second))
        best: Any = None
        index, n_unconverged = 0, 0
        values: list[float] = []
        edges: list[int] = []
        for k, fit in enumerate(self._solve_path(samples, alphas)):
            values.append(fit.ebic(sizes, self.gamma))
            edges.append(sum(fit.n_edges))
            n_unconverged += not fit.converged
            if best is None or values[k] < values[index]:
                best, index = fit, k
        selection = make_selection(
            "ebic", alphas, np.array(values), index, n_unconverged, np.array(edges)
        )
        return best, selection.alpha, selection

    def _score_fit(self, fit: Any, samples: TwoSamples) -> float:
        """Mean log-likelihood of other rows, each under the network of its group."""
        if self.likelihood == "sampled":
            return sampled_likelihood_of(self).score(fit, samples)
        pairs = zip(fit.precisions, self._moments(samples), strict=True)
        sizes = (len(samples.first), len(samples.second))
        return float(np.average([gaussian_log_likelihood(*pair) for pair in pairs], weights=sizes))

    def _fitted(self) -> _PrecisionsModel | SampledModels:
        if self.likelihood == "sampled":
            return SampledModels(self.thetas_, polynomial_options(self.degree, self.power_scale_))
        unit = self._unit()
        return _PrecisionsModel(self.precisions_ * np.outer(unit, unit))

    def _is_signed(self) -> bool:
        return bool(self.likelihood == "gaussian")

    def _store(self, fit: Any, samples: TwoSamples) -> None:
        if self.likelihood == "sampled":
            self.thetas_ = fit.thetas
            self.power_scale_ = fit.features["power_scale"]
            self.treatment_: list[str] = []
            return
        unit = self._unit()
        self.precisions_ = fit.precisions / np.outer(unit, unit)
        self.treatment_ = list(fit.treatment)

    def _networks(self, X: Any, y: Any) -> tuple[Graph, Graph]:
        """Networks of the two groups, as this model has them unless there are rows."""
        return self.networks_ if X is None else super()._networks(X, y)


def _statistics(S: FloatArray) -> Statistics:
    """Wrap a covariance of centred columns for the estimator of one network."""
    d = len(S)
    return Statistics(location=np.zeros(d), S=S, scale=np.ones(d), n_samples=None, n_rows=None)
