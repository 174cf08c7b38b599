"""The graphical lasso as an estimator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from edgewise._core.arrays import on_host, to_device
from edgewise._core.constraints import Constraint, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.resume import chain
from edgewise._core.typing import BoolArray, FloatArray, RandomState
from edgewise.estimators.base.density import GaussianDensity
from edgewise.estimators.base.fits import (
    GaussianFit,
    GaussianModel,
    PrecisionFit,
    PrecisionPath,
    gap_warning,
    gaussian_score,
    grid_of,
    note_choice,
    note_decided,
    solve_grid,
)
from edgewise.estimators.base.statistics import (
    CONSTRAINTS,
    Statistics,
    edge_weights,
    labels,
    warn_of_scales,
)
from edgewise.estimators.base.summarizer import Summarizer
from edgewise.estimators.base.table import (
    ON_LATENT_SCALE,
    decided_kinds,
    follow,
    followed,
    read_table,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection import CV, EBIC, FDR, StARS, Stepwise
from edgewise.selection.choose import ConvergenceWarning
from edgewise.selection.graph_choice import choose_stepwise, choose_tested
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import search
from edgewise.solvers.device.graphical_lasso import GPU_FROM
from edgewise.solvers.gaussian.graphical_lasso import (
    PrecisionSolution,
    alpha_max,
    graphical_lasso,
    graphical_lasso_path,
)
from edgewise.solvers.gaussian.refit import refit_precision
from edgewise.stats import Moments

#: A path that takes more memory than this is solved and judged one alpha at a time.
PATH_BYTES: Final = 2**30


class GaussianGraph(GaussianDensity):
    r"""Sparse Gaussian graph by the graphical lasso, with a certificate.

    .. math::

        \min_{\Theta \succ 0} \; \mathrm{tr}(S \Theta) - \log\det\Theta
        + \alpha \sum_{i \ne j} w_{ij} |\Theta_{ij}|

    where :math:`S` is the covariance of the data, :math:`\Theta` the precision matrix and
    :math:`w_{ij}` the ``weights``. Two variables are joined when their entry of :math:`\Theta` is
    not 0: they are then dependent given all the others [1]_.

    Parameters
    ----------
    alpha : float, {"stepwise", "ebic", "cv", "stars", "fdr"}, or a rule
        Strength of the penalty, counted for every entry of the symmetric matrix; or a rule.
        ``"stepwise"`` (`Stepwise`) fits the graphs along a path without the penalty, and adds edges
        to and removes them from the best by the extended BIC [2]_; the graph is empty if and only
        if no correlation passes a Bonferroni test at 5 %. ``"fdr"`` (`FDR`) tests every pair and
        joins those at a false discovery rate of 5 % [4]_. Both give the maximum likelihood under
        the graph, without a penalty. The others choose the strength of the penalty along a path:
        ``"ebic"`` (`EBIC`) by the extended BIC of the penalised fits, as published [2]_, ``"cv"``
        (`CV`) by held-out likelihood, and ``"stars"`` (`StARS`) by stability [3]_.
        The rules' own parameters are set as in ``alpha=EBIC(gamma=0.25)``; by default 30
        alphas are tried, from the smallest with an empty graph down to :math:`0.2 / \sqrt n` of
        it (at most 0.05, and 0.1 with no more rows than columns); then, with more than two rows
        per column, up to three decades less while the best alpha is the smallest.
    covariance : str
        What stands for S. ``"correlation"`` penalises all columns alike, whatever their units, and
        gives the result back in the units of X; ``"empirical"``, the covariance;
        ``"nonparanormal"``, ``"spearman"`` or
        ``"kendall"``, correlations that see ranks only; ``"polychoric"``, those of the normal
        variables behind ordered answers; ``"auto"``, polychoric, polyserial or Pearson
        correlations by the kinds of each pair, where at most 10 different whole numbers in a
        column are ordered answers (`edgewise.stats.polychoric.ordinal_columns`), and Pearson
        correlations of
        all where those are not positive definite together, or next to singular; or
        ``"precomputed"``, where ``fit`` takes a covariance matrix instead of rows.
    penalize_diagonal : bool
        Whether the penalty includes the diagonal.
    weights : array-like of shape (p, p), optional
        Multiplies alpha per entry: 0 leaves an edge free, ``inf`` forbids it.
    missing : {"error", "pairwise", "em"}
        What to do with NaN: refuse; take each covariance from the rows that have both columns;
        or use Gaussian maximum likelihood of the observed entries (EM). ``"polychoric"`` and
        ``"auto"`` use pairs; the extended BIC then counts the mean number of rows of a pair.
    repair : {None, "ridge", "clip"}
        What to do with a covariance that is not positive definite: refuse it where it has
        negative eigenvalues, or raise its small eigenvalues, by adding to the diagonal or one by
        one. ``treatment_`` then says how.
    assume_centered : bool
        Take the mean as 0 instead of estimating it.
    n_samples : float, optional
        Rows behind a precomputed covariance, for the extended BIC.
    tol : float
        Stop once the duality gap is at most ``tol * p``.
    max_iter : int
        Largest number of iterations of one fit.
    n_jobs : int, optional
        Folds or subsamples fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles folds and draws subsamples.
    verbose : int
        Above 0, progress of paths, folds, subsamples and searches is shown on standard error.
    device : {"cpu", "cuda", "auto"}
        Where the graphical lasso is solved. ``"cuda"`` is a GPU by way of PyTorch, which pays from
        about a thousand variables on, where the graph is dense or the covariance nearly singular;
        fitted attributes are NumPy arrays and agree up to the duality gap. ``"auto"`` takes a
        GPU where there is one, for a thousand variables and more.

    Attributes
    ----------
    precision_, covariance_ : ndarray of shape (p, p)
        In the units of X (of the latent Gaussian for correlations of ranks and of answers); each
        other's inverse. Absent edges are exact zeros of the precision.
    location_ : ndarray of shape (p,)
        Mean of the columns; 0 for ranks, answers and for a precomputed covariance.
    partial_correlation_ : ndarray of shape (p, p)
        With a diagonal of 1.
    graph_ : Graph
        Weights are partial correlations.
    alpha_ : float
        The strength used, which as ``alpha`` gives the same fit; NaN after ``"stepwise"`` and
        ``"fdr"``, whose fits have no penalty.
    alphas_ : ndarray
        The strengths tried.
    selection_ : Selection or None
        Criterion along the path, when a rule picked alpha.
    gap_, objective_ : float
        Duality gap and objective of the fit, on the scale the solver works on; without the penalty
        after ``"stepwise"`` and ``"fdr"``.
    decided_ : ndarray of bool, shape (p, p)
        Pairs whose edge, with its sign, or whose absence the gap proves to be the optimum's; not of
        graphs chosen without a penalty.
    is_decided_ : bool
        Whether all pairs are.
    converged_ : bool
        Whether the gap met the tolerance.
    n_iter_ : int
        Iterations of the fit.
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
    .. [1] Friedman, Hastie and Tibshirani (2008). Sparse inverse covariance estimation with the
       graphical lasso. *Biostatistics* 9(3). https://doi.org/10.1093/biostatistics/kxm045
    .. [2] Foygel and Drton (2010). Extended Bayesian information criteria for Gaussian graphical
       models. https://doi.org/10.48550/arXiv.1011.6640
    .. [3] Liu, Roeder and Wasserman (2010). Stability approach to regularization selection
       (StARS) for high dimensional graphical models. https://doi.org/10.48550/arXiv.1006.3316
    .. [4] Liu (2013). Gaussian graphical model estimation with false discovery rate control.
       *Annals of Statistics* 41(6). https://doi.org/10.1214/13-AOS1169

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise import GaussianGraph
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[:, 1] += X[:, 0]
    >>> model = GaussianGraph().fit(X)
    >>> model.graph_.adjacency
    array([[False,  True, False],
           [ True, False, False],
           [False, False, False]])
    """

    _methods = (
        "The network was estimated by the graphical lasso (Friedman et al. 2008): two "
        "variables are joined if their partial correlation given all others is not zero."
    )
    _methods_stepwise = (
        "The network was chosen by the extended BIC of Gaussian graphs at their "
        "maximum likelihood: the graphical lasso (Friedman et al. 2008) along a path of penalties "
        "only proposed graphs, and single edges were added to and removed from the best of them "
        "(or from the pairs that pay for an edge given all others, where these are better). "
        "The estimate is the maximum likelihood under the chosen graph, without a penalty: two "
        "variables are joined if their partial correlation given all others is not zero."
    )
    _methods_tested = (
        "Two variables are joined if their partial correlation given all others, estimated by "
        "least squares (Fisher 1924) or, of many columns, from lassos and freed of the bias of "
        "their penalty (Liu 2013), differs from zero in a test at a controlled false discovery "
        "rate. The estimate is the Gaussian maximum likelihood under this network."
    )
    _cites = ("friedman2008",)

    _alpha = Strength(Stepwise(), EBIC(), CV(), StARS(), FDR())
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": _alpha,
        "covariance": OneOf("empirical", "correlation", "precomputed", *ON_LATENT_SCALE),
        "device": OneOf("cpu", "cuda", "auto"),
        **CONSTRAINTS,
    }
    _matrices_held = 9.0

    def __init__(
        self,
        alpha: float | str | Rule = "stepwise",
        *,
        covariance: str = "correlation",
        penalize_diagonal: bool = False,
        weights: ArrayLike | None = None,
        missing: str = "error",
        repair: str | None = None,
        assume_centered: bool = False,
        n_samples: float | None = None,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
        device: str = "cpu",
    ) -> None:
        self.alpha = alpha
        self.covariance = covariance
        self.penalize_diagonal = penalize_diagonal
        self.weights = weights
        self.missing = missing
        self.repair = repair
        self.assume_centered = assume_centered
        self.n_samples = n_samples
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.device = device

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
        GaussianGraph
        """
        table, weights, problem, statistics = self._pose(X, sample_weight)
        rule, grid = self._alpha.resolve(self.alpha), grid_of(self, statistics)
        if isinstance(rule, Stepwise):
            choice = choose_stepwise(problem, rule, statistics, grid, self.verbose)
        elif isinstance(rule, FDR):
            problem.refuse_untestable(statistics, table)
            choice = choose_tested(problem, rule, statistics, problem.scores(table, weights))
        else:
            choice = search(
                problem,
                rule,
                table,
                weights,
                statistics,
                grid,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                verbose=self.verbose,
            )
        fit: PrecisionFit = choice.fit
        note_choice(self, choice, statistics)
        self.precision_ = fit.precision
        self.covariance_ = fit.covariance
        self.location_ = statistics.location
        self.graph_ = Graph.from_precision(fit.solution.value, names=self._names())
        self.partial_correlation_ = self.graph_.weights + np.eye(self.n_features_in_)
        if self.covariance == "empirical":
            warn_of_scales(statistics, self._names())
        note_decided(self, fit.solution.decided)
        follow(self, followed(X), "precision_", "covariance_", "location_", "partial_correlation_")
        return self

    def path(
        self,
        X: Any,
        alphas: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> PrecisionPath:
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
        PrecisionPath
            ``alphas``, ``graphs``, ``precisions``, ``gaps``, ``converged`` and ``n_edges``.
        """
        model = clone(self)
        _, _, problem, statistics = model._pose(X, sample_weight)
        grid, fits = solve_grid(alphas, problem, statistics, grid_of(self, statistics))
        names = model._names()
        return PrecisionPath.of(
            grid,
            fits,
            (Graph.from_precision(fit.solution.value, names=names) for fit in fits),
            precisions=np.stack([fit.precision for fit in fits]),
        )

    def _pose(
        self, X: Any, sample_weight: Any
    ) -> tuple[Any, FloatArray | None, GaussianProblem, Statistics]:
        """Read the table; return it with its weights, the problem and the statistics."""
        check_parameters(self, self._constraints)
        table, weights = read_table(self, X, sample_weight)
        model = followed(X)
        problem = replace(self._problem(), device=self.device if model is None else model)
        statistics = problem.covariance.of_table(table, weights, self.n_samples)
        problem = replace(problem, covariance=problem.covariance.decided_by(statistics))
        problem.refuse_unbounded(statistics, self.alpha)
        return table, weights, problem, statistics

    def _problem(self) -> GaussianProblem:
        return GaussianProblem(
            covariance=Summarizer(
                names=self._names(),
                covariance=self.covariance,
                missing=self.missing,
                repair=self.repair,
                assume_centered=self.assume_centered,
                **decided_kinds(self),
            ),
            weights=edge_weights(self.weights, self.n_features_in_),
            penalize_diagonal=self.penalize_diagonal,
            tol=self.tol,
            max_iter=self.max_iter,
            device=self.device,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class GaussianProblem:
    """The graphical lasso as a `PathProblem`; the fields are parameters of `GaussianGraph`."""

    covariance: Summarizer
    weights: FloatArray | None
    penalize_diagonal: bool
    tol: float
    max_iter: int
    device: Any = "cpu"
    decide: float = 0.0

    def summarize(self, rows: FloatArray, weights: FloatArray | None) -> Statistics:
        """Return the covariance of some rows."""
        statistics = self.covariance.of_rows(rows, weights)
        self.refuse_unbounded(statistics)
        return statistics

    def largest_alpha(self, statistics: Statistics) -> float:
        """Return the smallest alpha with an empty graph."""
        return alpha_max(statistics.S, weights=self.weights)

    def solve_path(
        self, statistics: Statistics, alphas: FloatArray, *, at_once: bool = True
    ) -> Iterator[GaussianFit]:
        """Yield one fit per alpha, each started from the one before.

        Only where the path is not solved at once does leaving it early save time.
        """
        options: dict[str, Any] = {
            "weights": self.weights,
            "penalize_diagonal": self.penalize_diagonal,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }
        solutions: Iterator[PrecisionSolution]
        if self.decide and len(alphas) == 1:
            S = to_device(statistics.S, self.device, GPU_FROM)
            found = graphical_lasso(S, float(alphas[0]), decide=self.decide, **options)
            solutions = iter([on_host(found)])
        elif at_once and 8 * statistics.S.size * len(alphas) <= PATH_BYTES:
            S = to_device(statistics.S, self.device, GPU_FROM)
            solutions = map(on_host, graphical_lasso_path(S, alphas, **options))
        else:
            tasks = [(float(alpha), statistics, options, self.device) for alpha in alphas]
            solutions = chain(_next_on_path, tasks)
        for alpha, solution in zip(alphas, solutions, strict=True):
            yield GaussianFit(solution, statistics, alpha * self._weighted_norm(solution.value))

    def score(
        self, fit: GaussianFit | GaussianModel, rows: FloatArray, weights: FloatArray | None
    ) -> float:
        """Return the mean log-likelihood of rows."""
        return gaussian_score(fit, rows, weights, self.covariance)

    def scores(self, rows: Any, weights: FloatArray | None) -> FloatArray | None:
        """Return the standardised rows whose correlations are used; None where there are none."""
        if isinstance(rows, Moments) or weights is not None:
            return None
        return self.covariance.scores_of(rows)

    def refit(self, statistics: Statistics, adjacency: BoolArray) -> PrecisionFit | None:
        """Fit a graph by maximum likelihood; None where there is none."""
        refit = refit_precision(statistics.S, adjacency)
        if not refit.exists:
            return None
        solution = PrecisionSolution(
            value=refit.value,
            covariance=refit.covariance,
            alpha=0.0,
            objective=refit.objective,
            gap=refit.gap,
            n_iter=refit.n_iter,
            converged=refit.converged,
            history=refit.history,
        )
        return PrecisionFit(solution, statistics)

    def gap_warning(self, fit: PrecisionFit) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        if isinstance(fit, GaussianFit):
            return gap_warning(fit.solution, self.tol)
        return ConvergenceWarning(
            "likelihood_not_reached", n_iter=fit.solution.n_iter, gap=fit.solution.gap
        )

    def refuse_unbounded(self, statistics: Statistics, alpha: Any = None) -> None:
        """Refuse data for which the likelihood has no maximum; a penalty makes it have one."""
        is_free = alpha == 0
        if not is_free and (self.weights is None or self.weights.all()):
            return
        pair = statistics.perfect_pair()
        if pair is not None and (is_free or (self.weights is not None and not self.weights[pair])):
            names = quote_names(labels(self.covariance.names, pair))
            raise InputError("infinite_weight", names=names)
        if is_free and self.weights is None and not self.penalize_diagonal:
            n_features = len(statistics.S)
            rank = int(np.linalg.matrix_rank(statistics.on_correlation_scale().S, hermitian=True))
            if rank < n_features:
                raise InputError("rank_deficient", rank=rank, n_features=n_features)

    def refuse_untestable(self, statistics: Statistics, table: Any) -> None:
        """Refuse data that the tests of ``alpha="fdr"`` are not for."""
        scale, n_samples = self.covariance.covariance, statistics.n_samples or 0.0
        if scale not in ("empirical", "correlation", "nonparanormal", "precomputed"):
            raise InputError("fdr_with_covariance", scale=scale)
        if isinstance(table, np.ndarray) and np.isnan(table).any():
            raise InputError("fdr_with_missing")
        if n_samples < 8:
            raise InputError("fdr_needs_rows", n_samples=n_samples)

    def _weighted_norm(self, Theta: FloatArray) -> float:
        """Sum of the sizes of the penalised entries; forbidden ones are 0."""
        size = np.abs(Theta)
        if self.weights is not None:
            size *= np.where(np.isfinite(self.weights), self.weights, 0.0)
        total = float(size.sum())
        return total if self.penalize_diagonal else total - float(np.trace(size))


def _next_on_path(
    previous: PrecisionSolution | None,
    alpha: float,
    statistics: Statistics,
    options: dict[str, Any],
    device: Any,
) -> PrecisionSolution:
    """Solve for one alpha, starting from the solution for the alpha before."""
    init = None if previous is None else previous.value
    S = to_device(statistics.S, device, GPU_FROM)
    return on_host(graphical_lasso(S, alpha, init=init, decide=0.0, **options))
