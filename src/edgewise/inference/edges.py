"""Intervals and p-values for the edges of one network, numbers or levels, chosen or not."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from scipy import special

from edgewise._core.errors import DataWarning, InputError
from edgewise._core.parallel import as_generator, parallel_map
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.checks import TEXT, check_columns, refuse_covariance
from edgewise.data.dependence import row_order
from edgewise.data.table import Table
from edgewise.estimators.base.row_statistics import pearson_instead, row_scores, row_statistics
from edgewise.estimators.base.statistics import Statistics
from edgewise.graph.metrics import GraphLike
from edgewise.inference.intervals import PairIntervals
from edgewise.inference.level_edges import pooled, product_tests
from edgewise.inference.resample import MAX_DRAWS, cluster_codes, rows_of_clusters, varies
from edgewise.selection.criteria import false_discovery_control
from edgewise.selection.edge_tests import (
    ConfirmedTests,
    FormulaTests,
    PairTests,
    edge_penalty,
    few_rows,
    pair_tests,
    plan_partial_correlations,
)
from edgewise.solvers.gaussian.graphical_lasso import graphical_lasso
from edgewise.stats.polychoric import latent_correlation, ordinal_columns
from edgewise.stats.positive import correlation_from_covariance

Covariance: TypeAlias = Literal[
    "correlation", "nonparanormal", "spearman", "kendall", "polychoric", "auto"
]
_COVARIANCES: Final = (
    "correlation", "nonparanormal", "spearman", "kendall", "polychoric", "auto",
)  # fmt: skip


Errors: TypeAlias = Literal["formula", "confirmed", "robust", "bootstrap", "residuals"]


#: Rows that those in order count as at least, so that a correlation has a variance.
FEWEST_EFFECTIVE: Final = 4.0
#: Degrees of freedom of which Student's t is normal.
NORMAL: Final = 1e10


@dataclass(frozen=True, kw_only=True, eq=False)
class EdgeIntervals(PairIntervals):
    """Intervals for the partial correlation of every pair, as `edge_intervals` returns them.

    Attributes
    ----------
    alpha : float
        Penalty of the regressions of each variable on the others, 0 for least squares; or of the
        graphical lasso.
    n_samples : int
        Rows behind the estimates.
    n_effective : float
        Independent rows that they count as.
    errors : {"formula", "confirmed", "robust", "bootstrap", "residuals"}
        Where the standard errors come from: the formula for normal rows, the same with small
        p-values confirmed by a robust score, the robust score, resamples, or, of levels, products
        of residuals.
    """

    alpha: float
    n_samples: int
    n_effective: float
    errors: Errors

    def _listed(self) -> tuple[IntArray, IntArray]:
        """All pairs."""
        return np.triu_indices(len(self.names), 1)


def edge_intervals(
    X: Any,
    *,
    graph: GraphLike | None = None,
    level: float = 0.95,
    covariance: Covariance = "correlation",
    missing: Literal["error", "pairwise", "em"] = "error",
    method: Literal["nodewise", "graphical-lasso"] = "nodewise",
    fdr: Literal["bh", "by"] = "bh",
    clusters: Any = None,
    n_samples: float | None = None,
    n_resamples: int = 200,
    n_jobs: int | None = None,
    random_state: RandomState = 0,
) -> EdgeIntervals:
    r"""Give every pair of columns an estimate of its partial correlation with an interval.

    No graph is chosen first: an interval holds whether or not there is an edge. Interval and
    p-value are of one statistic: an interval of any level leaves out 0 exactly where the p-value
    is below one minus the level. With :math:`\nu_{ij}` degrees of freedom and the quantile
    :math:`t` of Student's distribution,

    .. math:: p_{ij} = P \Bigl( |t_{\nu_{ij}}| > |\hat\rho_{ij}|
        \sqrt{\nu_{ij} / (1 - \hat\rho_{ij}^2)} \Bigr), \qquad
        \tanh \bigl( \operatorname{artanh} \hat\rho_{ij} \pm
        \operatorname{arsinh} ( t / \sqrt{\nu_{ij}} ) \bigr).

    **Least squares.** While the other columns are at most a tenth as many as the rows,
    :math:`p - 2 \le n / 10`, no penalty is needed: :math:`\hat\rho_{ij}` is the partial
    correlation of least squares, from the inverse of the correlations, and
    :math:`\nu_{ij} = n - p`, which is exact for normal rows [1]_.

    **Lassos.** With more columns that would cost power. With a lasso of each column on all
    others, coefficients :math:`b_{ij}` of column i in the regression of j and residual variances
    :math:`r_j`, the residual covariances :math:`R_{ij}` are freed of the bias of the lassos [2]_,

    .. math:: T_{ij} = R_{ij} + r_i b_{ij} + r_j b_{ji}, \qquad
        \hat\rho_{ij} = T_{ij} / \sqrt{r_i r_j}, \qquad
        \nu_{ij} = n - 2 - s_{ij}.

    What bias they leave is the product of what two lassos shrink, and counts where columns depend
    on each other strongly. So there are second regressions, which penalise pairs that the first
    find beyond :math:`\sqrt{2 \log p}` standard errors 0.3 times as much as others; they are
    between a lasso and least squares, and so is :math:`s_{ij}`: half way from the mean number of
    their coefficients to that of the columns in either regression. Pairs with a column of whose
    variance, standardised, the others leave less than ``alpha`` are by least squares here, too,
    provided :math:`n \ge p + 6`: no lasso sees what is left of it.

    **Few rows.** Below 100 rows, what lassos leave varies more than this formula says. So the
    p-value of a pair is the larger of its own and that of its plain correlation, and an interval
    reaches to 0 where the plain correlation is not significant. A :math:`\hat\rho_{ij}` that ends
    beyond 1 is no estimate: the pair has NaN everywhere, and counts as one that was not found.

    **Heavy tails.** The formula is too bold where columns have their large values in the same
    rows, as fourth moments tell. Then :math:`\hat\rho_{ij}` is the mean of the products
    :math:`w_r` of standardised residuals of both columns given the others. With half the sum of
    their squares, :math:`v_r`, and with the share :math:`g_r` of a row that the regressions leave
    free, p-value and interval are those of a robust score,

    .. math:: Z(\rho) = \sum_r (w_r - \rho v_r) \Big/
        \sqrt{\textstyle\sum_r (w_r - \rho v_r)^2 / g_r}, \qquad
        p_{ij} = 2 \Phi ( - |Z(0)| ), \qquad \{ \rho : |Z(\rho)| \le z \}.

    At the true :math:`\rho`, elliptical rows have terms that are symmetric around 0, so that Z has
    no longer tails than a normal variable, however long those of the rows are [4]_. Where single
    columns have heavy tails, each in rows of its own, the formula holds but far out. There, a
    p-value below 0.01 is the larger of both, as far as 0.01, and so are intervals above 99 %.

    With ``method="graphical-lasso"`` the estimate is made of that of the graphical lasso,
    :math:`2 \Theta - \Theta S \Theta` [3]_, for comparison: it is biased more.

    **Levels.** Columns of text, categories and two values in a table with any text are levels.
    Each column is regressed on its neighbours in a graph, without the other column of the pair:
    numbers by least squares, levels by logistic regression, which leaves a residual for each level
    but the last, its indicator less its probability. If two columns are independent given the
    others, products of their residuals :math:`w_r` have a mean of 0 [5]_. With the mean
    :math:`\bar w` and covariance :math:`C` of the :math:`q` products,

    .. math:: T^2 = n\, \bar w^\top C^{-1} \bar w, \qquad
        \frac{n - q}{q (n - 1)} T^2 \sim F_{q,\, n - q}

    approximately; with the covariance that products of independent residuals have in place of C,
    it is a :math:`\chi^2` of q degrees. Few rows in a level spoil either, and the larger p-value
    counts. What a regression misses, because the graph lacks an edge, does no harm unless the
    regression of the other column misses it too: the tests hold for pairs with and without an
    edge, also where the graph was learned from the same rows. Where there is one product, the
    estimate is the correlation of the residuals, with an interval as wide as the p-value implies;
    pairs with a column of three levels or more have a p-value only.

    Parameters
    ----------
    X : array-like or data frame of shape (n, p), or list of data frames
        Rows, at least 8. With a ``graph``, a list of fillings of the same missing values as
        `edgewise.data.impute` returns them, whose tests are pooled [6]_.
    graph : Graph or array-like of shape (p, p), optional
        Neighbours, such as ``graph_`` of a `DiscreteMarkovNet` or `MixedGraph`, of columns that are
        levels, or numbers and levels. Without one, a `MixedGraph` learns it where there is text.
    level : float
        Coverage of each interval.
    covariance : {"correlation", "nonparanormal", "spearman", "kendall", "polychoric", "auto"}
        Correlations of the columns; of their ranks turned into normal scores, which heavy tails
        and outliers do not move; from rank correlations; of the normal variables behind ordered
        answers; or by the kinds of each pair, shrunk half as far as weights of `GaussianGraph`. The
        formulas above are for the first two, without missing values. For the others, the standard
        deviation of :math:`\operatorname{artanh} \hat\rho_{ij}` is that over bootstrap resamples of
        the rows; ``errors`` of the result says which.
    missing : {"error", "pairwise", "em"}
        What to do with missing values: refuse them, compute each correlation from the rows that
        have both columns, or by the EM algorithm.
    method : {"nodewise", "graphical-lasso"}
        What the bias is taken from.
    fdr : {"bh", "by"}
        How ``qvalues`` are corrected: by Benjamini and Hochberg, which with these statistics
        controls the share of false edges as n grows [2]_, or by Benjamini and Yekutieli, which
        holds under any dependence and finds less.
    clusters : array-like of shape (n,), optional
        Which rows belong together, as those of one subject do. Errors are then those over bootstrap
        resamples of whole clusters, of which there should be 30 or more.
    n_samples : float, optional
        Independent rows that these are worth. By default all; where rows are like the rows before
        them, fewer, by what that adds to the variance of a correlation (Bartlett), with a warning.
    n_resamples : int
        Bootstrap resamples, where there is no formula.
    n_jobs : int, optional
        Resamples at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Draws the resamples.

    Returns
    -------
    EdgeIntervals
        ``table()`` lists the pairs, ``significant()`` is the graph of those that are sure.

    References
    ----------
    .. [1] Fisher (1924). The distribution of the partial correlation coefficient. *Metron* 3.
    .. [2] Liu (2013). Gaussian graphical model estimation with false discovery rate control.
       *Annals of Statistics* 41(6). https://doi.org/10.1214/13-AOS1169
    .. [3] Janková and van de Geer (2015). Confidence intervals for high-dimensional inverse
       covariance estimation. *Electronic Journal of Statistics* 9(1).
       https://doi.org/10.1214/15-EJS1031
    .. [4] Efron (1969). Student's t-test under symmetry conditions. *Journal of the American
       Statistical Association* 64. https://doi.org/10.1080/01621459.1969.10501056
    .. [5] Shah and Peters (2020). The hardness of conditional independence testing and the
       generalised covariance measure. *Annals of Statistics* 48(3).
       https://doi.org/10.1214/19-AOS1857
    .. [6] Li, Meng, Raghunathan and Rubin (1991). Significance levels from repeated p-values with
       multiply-imputed data. *Statistica Sinica* 1(1). https://www.jstor.org/stable/24303994

    Examples
    --------
    >>> import pandas as pd
    >>> from edgewise.inference import edge_intervals
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["sun", "warmth", "wind"])
    >>> frame["warmth"] += frame["sun"]
    >>> columns = ["source", "target", "lower", "upper", "qvalue"]
    >>> edge_intervals(frame).table()[columns].round(2)
       source  target  lower  upper  qvalue
    0     sun  warmth   0.66   0.77    0.00
    1     sun    wind  -0.14   0.08    0.92
    2  warmth    wind  -0.11   0.12    0.94
    """
    if not 0 < level < 1:
        raise InputError("level_range", level=level)
    for name, value, known in (
        ("fdr", fdr, ("bh", "by")),
        ("covariance", covariance, _COVARIANCES),
        ("missing", missing, ("error", "pairwise", "em")),
        ("method", method, ("nodewise", "graphical-lasso")),
    ):
        if value not in known:
            raise InputError("unknown_choice", name=name, listed=", ".join(known), value=value)
    if n_resamples < 20:
        raise InputError("n_resamples_at_least", n_resamples=n_resamples)
    if isinstance(X, list) and graph is not None and all(hasattr(x, "columns") for x in X):
        return _level_intervals(graph, X, level, fdr)
    table = Table.from_input(X)
    if graph is None and _has_levels(table, covariance):
        from edgewise.estimators import MixedGraph

        graph = MixedGraph().fit(X).graph_
    if graph is not None and clusters is not None:
        raise InputError("clusters_need_numbers")
    if graph is not None:
        return _level_intervals(graph, X, level, fdr)
    table.refuse_text(allows_order=covariance in ("polychoric", "auto"))
    n, p = table.values.shape
    if n < 8 or p < 2:
        raise InputError("too_few_rows_for_intervals", n=n, p=p)
    refuse_covariance(table.values, "Intervals are learned from the rows behind it.")
    check_columns(table.values, list(table.names), allow_missing=missing != "error")
    rows = _rows(table, covariance, missing)
    if clusters is not None:
        rows = replace(rows, member=cluster_codes(clusters, X))
        n_samples = n
    n_effective = _independent_rows(table) if n_samples is None else float(n_samples)
    tests, alpha, errors = _tested(rows, n_effective, method, n_resamples, n_jobs, random_state)
    diagonal = np.where(np.eye(p), np.nan, 0.0)
    lower, upper = tests.interval(level)
    pvalues = tests.pvalues
    return EdgeIntervals(
        estimate=tests.estimate + diagonal,
        standard_error=tests.standard_error + diagonal,
        lower=lower + diagonal,
        upper=upper + diagonal,
        pvalues=pvalues + diagonal,
        qvalues=_corrected(pvalues, fdr),
        level=level,
        names=tuple(table.names),
        alpha=alpha,
        n_samples=n,
        n_effective=n_effective,
        errors=errors,
    )


def _independent_rows(table: Table) -> float:
    """Count the independent rows that rows in order are worth, with a warning if that is fewer."""
    n = float(len(table.values))
    order = row_order(table.values, list(table.names), has_trends=False)
    if order.kind != "order":
        return n
    n_effective = max(n / order.inflation, FEWEST_EFFECTIVE)
    warnings.warn(
        DataWarning(
            "autocorrelated_edge_tests",
            column=order.columns[0],
            autocorrelation=order.autocorrelation,
            n=n,
            n_effective=n_effective,
        ),
        stacklevel=3,
    )
    return n_effective


def _has_levels(table: Table, covariance: Covariance) -> bool:
    """Whether columns of text are more than words among numbers, or answers in an order."""
    allows_order = covariance in ("polychoric", "auto")
    return any(
        kind == TEXT and not (allows_order and has_order) and table.stray_word(name) is None
        for name, kind, has_order in zip(table.names, table.kinds, table.ordered, strict=True)
    )


def _level_intervals(
    graph: GraphLike, X: Any, level: float, fdr: Literal["bh", "by"]
) -> EdgeIntervals:
    """Test products of residuals of regressions on neighbours."""
    fillings = X if isinstance(X, list) and hasattr(X[0], "columns") else [X]
    found = [product_tests(graph, one) for one in fillings]
    tests, names, n = pooled([one[0] for one in found]), *found[0][1:]
    lower, upper = tests.interval(level)
    return EdgeIntervals(
        estimate=tests.estimate,
        standard_error=tests.standard_error,
        lower=lower,
        upper=upper,
        pvalues=tests.pvalues,
        qvalues=_corrected(tests.pvalues, fdr),
        level=level,
        names=names,
        alpha=0.0,
        n_samples=n,
        n_effective=float(n),
        errors="residuals",
    )


def _tested(
    rows: _Rows,
    n: float,
    method: str,
    n_resamples: int,
    n_jobs: int | None,
    random_state: RandomState,
) -> tuple[PairTests, float, Errors]:
    """Test all pairs; also return the penalty, and where the errors come from.

    ``n`` is how many independent rows there are.
    """
    p = rows.values.shape[1]
    R = rows.correlations()
    if method == "nodewise" and rows.has_formula:
        found = pair_tests(R, n, row_scores(rows.values, rows.covariance, rows.ordinal))
        return found.tests, found.alpha, found.errors
    estimator: Any = _FreedGraphicalLasso(n, edge_penalty(p, n))
    if method == "nodewise":
        estimator = plan_partial_correlations(R, n)
    if rows.has_formula:
        return FormulaTests(*estimator(R)), estimator.alpha, "formula"
    seeds = as_generator(random_state).integers(2**31 - 1, size=n_resamples)
    tasks = [(rows, estimator, int(seed)) for seed in seeds]
    drawn = parallel_map(_estimate_again, tasks, n_jobs=n_jobs, description="Bootstrap")
    degrees = NORMAL
    if rows.member is not None:
        # Of a few clusters and resamples, the spread itself is not known well.
        degrees = 1.0 / (1.0 / max(int(rows.member.max()), 1) + 1.0 / (n_resamples - 1))
    growth = np.sqrt(len(rows.values) / n)
    partial, plain = (_ResampledTests.of(x, [again[k] for again in drawn], degrees, growth)
                      for k, x in enumerate((estimator(R)[0], R)))  # fmt: skip
    tests = ConfirmedTests(partial, plain) if few_rows(R, n) else partial
    return tests, estimator.alpha, "bootstrap"


@dataclass(frozen=True, eq=False)
class _ResampledTests:
    """Tests of correlations whose artanh has a spread among resamples."""

    estimate: FloatArray
    spread: FloatArray
    degrees: float

    @classmethod
    def of(
        cls, estimate: FloatArray, drawn: list[FloatArray], degrees: float, growth: float
    ) -> _ResampledTests:
        """Measure the spread, to be multiplied; pairs that a resample cannot tell have no test."""
        inside = np.where(np.eye(len(estimate), dtype=bool), 0.0, estimate)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = growth * np.std(np.arctanh(drawn), axis=0, ddof=1)
        is_known = np.isfinite(spread) & (np.abs(inside) < 1.0)
        inside, spread = (np.where(is_known, x, np.nan) for x in (inside, spread + 1e-12))
        return cls(inside, spread, degrees)

    @property
    def standard_error(self) -> FloatArray:
        return np.asarray((1.0 - self.estimate**2) * self.spread)

    @property
    def pvalues(self) -> FloatArray:
        score = np.arctanh(self.estimate) / self.spread
        return np.asarray(2.0 * special.stdtr(self.degrees, -np.abs(score)))

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        reach = float(-special.stdtrit(self.degrees, (1.0 - level) / 2)) * self.spread
        z = np.arctanh(self.estimate)
        return np.tanh(z - reach), np.tanh(z + reach)


def errors_by(X: Any, covariance: Covariance) -> Literal["formula", "bootstrap"]:
    """Say where `edge_intervals` would take its standard errors from."""
    rows = _rows(Table.from_input(X), covariance, "pairwise")
    return "formula" if rows.has_formula else "bootstrap"


def _rows(table: Table, covariance: Covariance, missing: str) -> _Rows:
    ordinal = ordinal_columns(table) if covariance == "auto" else None
    if ordinal is not None and ordinal.any():
        R = latent_correlation(table.values, ordinal=ordinal).correlation
        if pearson_instead(R, table.values) is not None:
            # For resamples, too: those that happen to fit together would be noise among them.
            ordinal = np.zeros_like(ordinal)
    rows = _Rows(table.values, covariance, missing, ordinal)
    if ordinal is None or not ordinal.any():
        return rows
    # Half of that for weights: intervals are to cover. Resamples have no share of their own.
    return replace(rows, share=0.25 * rows.statistics().noise_share())


@dataclass(frozen=True)
class _Rows:
    """Rows, and how their correlations are computed."""

    values: FloatArray
    covariance: str
    missing: str
    ordinal: BoolArray | None
    member: IntArray | None = None
    share: float = 0.0

    @property
    def has_formula(self) -> bool:
        """Whether a formula gives the errors of these correlations."""
        if self.member is not None:
            return False
        is_pearson = self.covariance == "auto" and not np.any(self.ordinal)
        is_known = is_pearson or self.covariance in ("correlation", "nonparanormal")
        return is_known and not np.isnan(self.values).any()

    def statistics(self, drawn: IntArray | slice = slice(None)) -> Statistics:
        """Summarize some rows; correlations by pairs that do not fit together are moved."""
        return row_statistics(
            self.values[drawn],
            None,
            names=None,
            covariance=self.covariance,
            missing=self.missing,
            repair="clip",
            ordinal=self.ordinal,
            is_decided=True,
        )

    def correlations(self, drawn: IntArray | slice = slice(None)) -> FloatArray:
        """Correlate some rows, those of ordered answers shrunk by the share of the whole table."""
        found = self.statistics(drawn).shrunk(self.share)
        return np.ascontiguousarray(correlation_from_covariance(found.S))


@dataclass(frozen=True)
class _FreedGraphicalLasso:
    """Debiased graphical lasso of correlations, with its effective sample size."""

    n_samples: float
    alpha: float

    def __call__(self, R: FloatArray) -> tuple[FloatArray, FloatArray]:
        Theta = graphical_lasso(R, self.alpha, decide=0.0).value
        T = 2.0 * Theta - Theta @ R @ Theta
        scale = np.sqrt(T.diagonal())
        estimate = -T / np.outer(scale, scale)
        np.fill_diagonal(estimate, 0.0)
        estimate[np.abs(estimate) >= 1.0] = np.nan
        return estimate, np.full(R.shape, max(self.n_samples - 3.0, 1.0))


def _estimate_again(rows: _Rows, estimator: Any, seed: int) -> tuple[FloatArray, FloatArray]:
    """Estimate partial and plain correlations again from rows drawn with replacement."""
    generator = np.random.default_rng(seed)
    n = len(rows.values)
    parts = None if rows.member is None else rows_of_clusters(rows.member, np.arange(n))
    for _ in range(MAX_DRAWS):
        drawn = generator.integers(n if parts is None else len(parts), size=n)
        if parts is not None:
            drawn = np.concatenate([parts[k] for k in drawn[: len(parts)]])
        if varies(rows.values[drawn]).all():
            break
    R = rows.correlations(drawn)
    return estimator(R)[0], np.where(np.eye(len(R), dtype=bool), 0.0, R)


def _corrected(pvalues: FloatArray, fdr: Literal["bh", "by"]) -> FloatArray:
    """Correct the p-values of all pairs for their number; those without a test count, too."""
    above = np.triu_indices(len(pvalues), 1)
    values = pvalues[above]
    corrected = false_discovery_control(np.nan_to_num(values, nan=1.0), method=fdr)
    qvalues = np.full(pvalues.shape, np.nan)
    qvalues[above] = np.where(np.isnan(values), np.nan, corrected)
    qvalues.T[above] = qvalues[above]
    return qvalues
