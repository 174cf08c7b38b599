"""Networks of several groups by the joint graphical lasso."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from edgewise._core.arrays import on_host, to_device
from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import check_columns, refuse_covariance
from edgewise.data.labels import label_codes
from edgewise.estimators.base.columns import constant_columns
from edgewise.estimators.base.fits import note_decided
from edgewise.estimators.base.statistics import labels
from edgewise.estimators.base.table import TableEstimator, follow, followed
from edgewise.graph import Graph
from edgewise.selection import CV, EBIC
from edgewise.selection.choose import ConvergenceWarning
from edgewise.selection.criteria import gaussian_log_likelihood
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import Choice, Grid, search
from edgewise.solvers import joint_graphical_lasso
from edgewise.solvers.change.joint_graphical_lasso import (
    GPU_FROM,
    JointPrecisionSolution,
    joint_alpha_max,
)
from edgewise.stats import covariance as covariance_of
from edgewise.stats.positive import correlation_from_covariance

#: Couplings that ``coupling="search"`` tries, in units of alpha over the groups that a group has.
RATIOS = (0.0, 0.3, 1.0, 3.0)


class JointGraphs(TableEstimator):
    r"""Sparse Gaussian graphs of several groups, which share what they can.

    .. math::

        \min_{\Theta_1, \dots, \Theta_K \succ 0} \;
        \sum_k w_k \left( \operatorname{tr}(S_k \Theta_k) - \log\det \Theta_k \right)
        + \alpha \sum_k \sum_{i \ne j} |\Theta_{k, ij}| + \gamma\, C(\Theta)

    with :math:`S_k` the covariance of group k, :math:`w_k` its share of the rows times the number
    of groups, and the coupling C of `edgewise.solvers.joint_graphical_lasso`: differences between
    groups, or a norm over them [1]_.

    Parameters
    ----------
    alpha : float or {"ebic", "cv"} or rule
        Strength of sparsity, or the rule that picks it along a path.
    coupling : float or "search"
        Strength of the coupling. ``"search"`` takes the best by the rule for alpha, of none and
        three that are in proportion to alpha.
    penalty : {"fused", "group"}
        ``"fused"`` makes entries of groups equal, ``"group"`` absent in all groups together.
    order : {"none", "chain"} or array of pairs
        Which groups a fused penalty compares: all, those that follow each other in ``classes_``
        (doses, times), or the pairs of group numbers that are listed.
    covariance : {"correlation", "empirical"}
        Columns scaled within each group, so that networks are compared and not spreads, or as
        they are.
    penalize_diagonal : bool
        Whether the penalties include the diagonal.
    tol : float
        Stop once the duality gap is at most ``tol`` per variable and group.
    max_iter : int
        Largest number of iterations of one fit.
    device : {"cpu", "cuda", "auto"}
        Where to solve: ``"cuda"`` takes PyTorch and a GPU, ``"auto"`` takes it where there is one
        and at least 1,000 columns. Fitted attributes are NumPy arrays.
    n_jobs : int, optional
        Folds fitted at a time.
    random_state : int, Generator, RandomState or None
        Shuffles folds.
    verbose : int
        Above 0, a progress bar of folds is drawn on standard error.

    Attributes
    ----------
    classes_ : ndarray
        The labels of the groups, sorted.
    precisions_ : ndarray of shape (K, p, p)
        Precision of each group, of columns with unit variance where ``covariance`` is
        ``"correlation"``. Entries that groups share are exactly equal.
    graphs_ : tuple of Graph
        One per group, in the order of ``classes_``; weights are partial correlations.
    graph_ : Graph
        Edges that any group has, with the mean of their weights over the groups.
    alpha_, coupling_ : float
        The strengths used.
    selection_ : Selection or None
        Criterion along the path, when a rule picked alpha.
    gap_, objective_ : float
        Duality gap and objective of the fit.
    decided_ : ndarray of bool, shape (p, p)
        Pairs whose edge, with its sign, or whose absence the gap proves to be the optimum's, in all
        groups; `graphs_` has those of each.
    is_decided_ : bool
        Whether all pairs are.
    converged_ : bool
        Whether the gap met the tolerance.
    n_iter_ : int
        Iterations of the fit.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Danaher, Wang and Witten (2014). The joint graphical lasso for inverse covariance
       estimation across multiple classes. *Journal of the Royal Statistical Society B* 76(2).
       https://doi.org/10.1111/rssb.12033

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import JointGraphs
    >>> rng = np.random.default_rng(0)
    >>> X, dose = rng.normal(size=(300, 3)), np.repeat([0, 1, 2], 100)
    >>> X[:, 1] += X[:, 0]
    >>> X[dose == 2, 2] += X[dose == 2, 1]
    >>> model = JointGraphs(0.2, coupling=0.1, order="chain").fit(X, dose)
    >>> [graph.n_edges for graph in model.graphs_]
    [1, 1, 3]
    """

    _methods = (
        "The networks of the groups were estimated together by the joint graphical lasso (Danaher "
        "et al. 2014)."
    )
    _cites = ("danaher2014",)
    _alpha = Strength(EBIC(n_alphas=15), CV(n_alphas=15))
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": _alpha,
        "penalty": OneOf("fused", "group"),
        "covariance": OneOf("correlation", "empirical"),
        "tol": Number(above=0),
        "max_iter": Number(at_least=1, is_whole=True),
        "device": OneOf("cpu", "cuda", "auto"),
    }
    _matrices_held = 20.0
    _copies_held = 3.0

    def __init__(
        self,
        alpha: float | str | Rule = "ebic",
        *,
        coupling: float | str = "search",
        penalty: str = "fused",
        order: str | Sequence[tuple[int, int]] = "none",
        covariance: str = "correlation",
        penalize_diagonal: bool = False,
        tol: float = 1e-6,
        max_iter: int = 5000,
        device: str = "cpu",
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.coupling = coupling
        self.penalty = penalty
        self.order = order
        self.covariance = covariance
        self.penalize_diagonal = penalize_diagonal
        self.tol = tol
        self.max_iter = max_iter
        self.device = device
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the graphs.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows of all groups.
        y : array-like of shape (n,)
            The group of each row, two groups at least.

        Returns
        -------
        JointGraphs
        """
        check_parameters(self, self._constraints)
        is_searched = self.coupling == "search"
        if not is_searched and not Number(at_least=0).allows(self.coupling):
            raise InputError("coupling_or_search", coupling=self.coupling)
        labelled, classes = self._read(X, y)
        pairs = self._pairs(len(classes))
        if is_searched:
            width = max(len(classes) - 1, 1) if pairs is None else 1
            couplings = [ratio / width for ratio in RATIOS]
        else:
            couplings = [float(self.coupling)]
        model = followed(X)
        problems = [
            JointProblem(
                n_groups=len(classes),
                coupling=coupling,
                is_ratio=is_searched,
                penalty=self.penalty,
                pairs=pairs,
                covariance=self.covariance,
                penalize_diagonal=self.penalize_diagonal,
                tol=self.tol,
                max_iter=self.max_iter,
                device=self.device if model is None else model,
            )
            for coupling in couplings
        ]
        statistics = problems[0].summarize(labelled, None)
        tried = [self._choose(problem, labelled, statistics) for problem in problems]
        choice, problem, told = min(tried, key=lambda one: _cost(one[0]))
        for warning in told:
            warnings.warn(warning.message, warning.category, stacklevel=2)
        fit: JointFit = choice.fit
        names = self._names()
        self.classes_ = np.array(classes)
        self.precisions_ = fit.solution.value
        decided = fit.solution.decided
        self.graphs_ = tuple(
            replace(
                Graph.from_precision(one, names=names),
                decided=None if decided is None else decided[k],
            )
            for k, one in enumerate(self.precisions_)
        )
        weights = np.stack([graph.weights for graph in self.graphs_])
        is_joined = (weights != 0).any(axis=0)
        self.graph_ = Graph(weights.mean(axis=0), names=names, adjacency=is_joined)
        note_decided(self, None if decided is None else np.all(decided, axis=0))
        self.alpha_ = choice.alpha
        self.coupling_ = problem.strength(choice.alpha)
        self.alphas_ = choice.alphas
        self.selection_ = choice.selection
        self.gap_, self.objective_ = fit.solution.gap, fit.solution.objective
        self.converged_, self.n_iter_ = fit.converged, fit.solution.n_iter
        follow(self, model, "precisions_")
        return self

    def _read(self, X: Any, y: Any) -> tuple[FloatArray, list[Any]]:
        """Return the rows, each after the number of its group, and the labels of the groups."""
        rows = self._as_rows(X, reset=True)
        self._refuse_missing(rows)
        refuse_covariance(rows, "JointGraphs learns from the rows behind it.")
        check_columns(rows, self._names(), allow_identical=True)
        if y is None:
            raise InputError("joint_groups_required")
        classes, member = label_codes(y, len(rows))
        self._check_groups(rows, classes, member)
        return np.column_stack([member, rows]), classes

    def _check_groups(self, rows: FloatArray, classes: list[Any], member: IntArray) -> None:
        if len(classes) < 2:
            raise InputError("joint_one_class", label=classes[0])
        for k, label in enumerate(classes):
            own = rows[member == k]
            if len(own) < 2:
                raise InputError("joint_group_with_one_row", n_classes=len(classes), label=label)
            if flat := constant_columns(own):
                raise InputError(
                    "joint_constant_in_group",
                    label=label,
                    labels=labels(self._names(), flat),
                    n_flat=len(flat),
                )

    def _pairs(self, n_groups: int) -> Any:
        """Pairs of groups that are compared; None for all."""
        if isinstance(self.order, str):
            if self.order not in ("none", "chain"):
                raise InputError("unknown_group_order", order=self.order)
            chain = [(k, k + 1) for k in range(n_groups - 1)]
            return chain if self.order == "chain" else None
        return self.order

    def _choose(
        self, problem: JointProblem, labelled: FloatArray, statistics: JointStatistics
    ) -> tuple[Choice, JointProblem, list[warnings.WarningMessage]]:
        """Choose alpha for one coupling, and keep what there is to warn of."""
        rule = self._alpha.grid_rule(self.alpha)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            choice = search(
                problem,
                self._alpha.resolve(self.alpha),
                labelled,
                None,
                statistics,
                Grid.of(rule, statistics.n_samples.min(), self.n_features_in_),
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
        return choice, problem, told


def _cost(choice: Choice) -> float:
    """Return the criterion of a choice, the smaller the better; EBIC where alpha is a number."""
    if choice.selection is None:
        fit: JointFit = choice.fit
        return fit.ebic(0.5)
    value = float(choice.selection.values[choice.selection.index])
    return value if choice.selection.rule == "ebic" else -value


@dataclass(frozen=True, kw_only=True, eq=False)
class JointStatistics:
    """Covariances and sizes of the groups."""

    S: FloatArray
    n_samples: FloatArray
    location: FloatArray
    scale: FloatArray

    @property
    def weights(self) -> FloatArray:
        """Weights of the likelihoods: 1 for groups of one size."""
        return np.asarray(self.n_samples / self.n_samples.mean())


@dataclass(frozen=True, eq=False)
class JointFit:
    """Precisions of the groups with the statistics behind them."""

    solution: JointPrecisionSolution
    statistics: JointStatistics

    @property
    def converged(self) -> bool:
        """Whether the solver met its tolerance."""
        return self.solution.converged

    @cached_property
    def adjacency(self) -> BoolArray:
        """Pairs that are joined in any group."""
        joined: BoolArray = (self.solution.value != 0).any(axis=0)
        np.fill_diagonal(joined, False)
        return joined

    @property
    def is_complete(self) -> bool:
        """Whether every group has every edge."""
        return bool((self.solution.value != 0).all())

    @cached_property
    def n_edges(self) -> int:
        """Number of different values that the entries of a pair have, summed over pairs."""
        above = np.triu_indices(self.solution.value.shape[1], 1)
        return sum(len(set(values[values != 0])) for values in self.solution.value[:, *above].T)

    def ebic(self, gamma: float) -> float:
        """Return the extended BIC, in which entries that groups share count once."""
        parts = zip(self.solution.value, self.statistics.S, self.statistics.n_samples, strict=True)
        fit = sum(n * gaussian_log_likelihood(Theta, S) for Theta, S, n in parts)
        p = self.solution.value.shape[1]
        each = math.log(self.statistics.n_samples.sum()) + 4.0 * gamma * math.log(p)
        return float(-2.0 * fit + self.n_edges * each)


@dataclass(frozen=True, kw_only=True, eq=False)
class JointProblem:
    """The joint graphical lasso as a `PathProblem`, of rows whose first entry is their group."""

    n_groups: int
    coupling: float
    is_ratio: bool
    penalty: Any
    pairs: Any
    covariance: str
    penalize_diagonal: bool
    tol: float
    max_iter: int
    device: Any
    decide: float = 0.0

    def strength(self, alpha: float) -> float:
        """Coupling that goes with an alpha."""
        return self.coupling * alpha if self.is_ratio else self.coupling

    def summarize(self, rows: FloatArray, weights: FloatArray | None) -> JointStatistics:
        """Return covariances and sizes of the groups."""
        groups = [rows[rows[:, 0] == k, 1:] for k in range(self.n_groups)]
        if min(len(group) for group in groups) < 2:
            raise InputError("fold_with_one_row")
        means, moments = zip(*(covariance_of(group) for group in groups), strict=True)
        S = np.stack(moments)
        scale = np.ones(S.shape[:2])
        if self.covariance == "correlation":
            scale = np.sqrt(S.diagonal(axis1=1, axis2=2))
            S = np.stack([correlation_from_covariance(one) for one in S])
        sizes = np.array([float(len(group)) for group in groups])
        return JointStatistics(S=S, n_samples=sizes, location=np.stack(means), scale=scale)

    def largest_alpha(self, statistics: JointStatistics) -> float:
        """Return the smallest alpha with empty graphs."""
        return joint_alpha_max(
            statistics.S,
            self.coupling,
            penalty=self.penalty,
            pairs=self.pairs,
            group_weights=statistics.weights,
            is_ratio=self.is_ratio,
        )

    def solve_path(self, statistics: JointStatistics, alphas: FloatArray) -> Iterator[JointFit]:
        """Yield one fit per alpha, each started from the one before."""
        S, init = to_device(statistics.S, self.device, GPU_FROM), None
        for k, alpha in enumerate(alphas):
            solution = joint_graphical_lasso(
                S,
                float(alpha),
                self.strength(float(alpha)),
                penalty=self.penalty,
                pairs=self.pairs,
                group_weights=statistics.weights,
                penalize_diagonal=self.penalize_diagonal,
                init=init,
                tol=self.tol,
                max_iter=self.max_iter,
                decide=self.decide if k == len(alphas) - 1 else 0.0,
            )
            init = solution.value
            yield JointFit(on_host(solution), statistics)

    def score(self, fit: JointFit, rows: FloatArray, weights: FloatArray | None) -> float:
        """Return the mean log-likelihood of other rows, on the scale of the fit."""
        total = 0.0
        for k, Theta in enumerate(fit.solution.value):
            own = rows[rows[:, 0] == k, 1:]
            if len(own):
                own = (own - fit.statistics.location[k]) / fit.statistics.scale[k]
                total += len(own) * gaussian_log_likelihood(Theta, own.T @ own / len(own))
        return total / len(rows)

    def gap_warning(self, fit: JointFit) -> ConvergenceWarning:
        """Say how far from the optimum the fit stopped."""
        return ConvergenceWarning(
            "joint_gap_above_tol", gap=fit.solution.gap, max_iter=self.max_iter
        )
