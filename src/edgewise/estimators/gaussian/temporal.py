"""Networks of rows in order: from the past to the present, within the present, between units."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import DataWarning, InputError
from edgewise._core.messages import Note
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.checks import check_columns, varying_columns
from edgewise.data.dependence import row_order
from edgewise.data.lagged import LaggedRows, lagged_rows
from edgewise.estimators.base.fits import gap_warning
from edgewise.estimators.base.table import TableEstimator, named, read_rows
from edgewise.estimators.gaussian.graphical_lasso import GaussianGraph
from edgewise.graph import Graph
from edgewise.graph.graph import partial_correlations
from edgewise.selection import EBIC, FDR
from edgewise.selection.choose import ConvergenceWarning
from edgewise.selection.criteria import ebic, false_discovery_control, gaussian_log_likelihood
from edgewise.selection.edge_tests import SPARE_ROWS, PairTests, pair_tests
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import Grid, search
from edgewise.solvers.gaussian.lagged import LaggedPrecisionSolution, lagged_graphical_lasso
from edgewise.stats.positive import find_relations, repair_covariance

#: Lagged columns for which there are at least so many pairs of rows each are few.
PAIRS_PER_COLUMN: Final = 5
#: Fewest units of a network between them, and rows of each without a word on their bias.
FEWEST_UNITS, FEWEST_OCCASIONS = 20, 20
#: Rows for each lagged column that a table has to forget in: its rows, times what one step takes
#: off the memory of the longest. With fewer, tests of least squares find too much.
ROWS_FORGOTTEN: Final = 15.0
#: Smaller eigenvalues of the correlations of the past are rounding.
SINGULAR: Final = 1e-10
#: Rows that the joint problem needs besides one for each unit.
FEWEST_FREE: Final = 8
#: Coverage of the intervals.
LEVEL: Final = 0.95
#: Least eigenvalue of the correlations of the past in the joint problem.
LEAST: Final = 0.01


class Pairs(NamedTuple):
    """Rows and the rows before them, lag after lag, and the unit of each.

    The row one step further back is NaN where there is none.
    """

    now: FloatArray
    past: FloatArray
    further: FloatArray
    unit: IntArray

    @classmethod
    def of(cls, values: FloatArray, order: LaggedRows) -> Pairs:
        """Take the pairs of rows that lags find."""
        further = np.where(order.further[:, None] >= 0, values[order.further], np.nan)
        return cls(values[order.now], order.lagged(values), further, order.unit[order.now])

    @property
    def n_free(self) -> int:
        """Rows that estimate more than means: one mean per unit is taken off, one is counted."""
        return len(self.now) - len(np.unique(self.unit)) + 1

    def centred(self) -> Pairs:
        """Take the means of each unit off."""
        codes, unit = np.unique(self.unit, return_inverse=True)
        both = np.hstack([self.now, self.past, self.further])
        means = np.zeros((len(codes), both.shape[1]))
        np.add.at(means, unit, both)
        both = both - (means / np.bincount(unit)[:, None])[unit]
        now, past, further = np.split(both, self._ends, axis=1)
        return Pairs(now, past, further, self.unit)

    def take(self, rows: IntArray) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.now[rows], self.past[rows], self.further[rows], self.unit[rows])

    def lengthened(self) -> Pairs:
        """Add the row one step further back to the past, where there is one."""
        found = self.take(np.flatnonzero(~np.isnan(self.further).any(axis=1)))
        past = np.hstack([found.past, found.further])
        return found._replace(past=past, further=np.full_like(found.further, np.nan))

    @property
    def _ends(self) -> list[int]:
        p = self.now.shape[1]
        return [p, p + self.past.shape[1]]


class Certificate(NamedTuple):
    """How a fit ended, and the penalty of the joint problem."""

    alpha: float
    gap: float
    objective: float
    converged: bool
    n_iter: int


class Networks(NamedTuple):
    """What is learned from pairs of rows, in the units of the data; lags on the first axis."""

    coef: FloatArray
    covariance: FloatArray
    precision: FloatArray
    temporal: BoolArray
    temporal_tests: EffectTests
    contemporaneous: Graph
    contemporaneous_tests: EffectTests
    certificate: Certificate
    notes: tuple[Note, ...] = ()


class EffectTests(NamedTuple):
    """Partial correlations with their tests, of any shape."""

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    pvalue: FloatArray
    qvalue: FloatArray

    @classmethod
    def of(cls, tests: PairTests) -> EffectTests:
        """Read the tests of all pairs, also of copies of columns; q-values come later."""
        with np.errstate(divide="ignore", invalid="ignore"):
            lower, upper = tests.interval(LEVEL)
            return cls(tests.estimate, lower, upper, tests.pvalues, np.full(lower.shape, np.nan))

    def part(self, *at: Any) -> EffectTests:
        """Index each array."""
        return EffectTests(*(values[at] for values in self))

    def corrected(self, groups: Sequence[BoolArray], correction: str) -> EffectTests:
        """Correct p-values for their number, group by group."""
        qvalue = np.full(self.pvalue.shape, np.nan)
        for group in groups:
            known = group & ~np.isnan(self.pvalue)
            if known.any():
                # A pair without a test counts as one that was not found.
                tested = np.nan_to_num(self.pvalue[group], nan=1.0)
                qvalue[group] = false_discovery_control(tested, method=correction)
        return self._replace(qvalue=np.where(np.isnan(self.pvalue), np.nan, qvalue))


class TemporalGraph(TableEstimator):
    r"""Networks of rows in order: temporal, contemporaneous, and between units.

    Each row is regressed on the rows before it in the same series,

    .. math:: y_t = c_u + \sum_{k=1}^{L} B_k^\top y_{t-k} + e_t, \qquad e_t \sim N(0, \Sigma),

    with a mean :math:`c_u` for each unit, such as a person. An arc of the temporal network leads
    from the past of one column to the present of another; the contemporaneous network has the
    partial correlations of the residuals :math:`e_t`, and the network between units those of
    their means [1]_.

    **Few lagged columns** (at least five pairs of rows for each): B is least squares. Every lagged
    effect is tested by its partial correlation given all other columns of the past, as in
    `edgewise.inference.edge_intervals`; arcs have a false discovery rate of 5 % among the effects
    of columns on others. Where columns have a long memory beside the number of rows,
    :math:`n (1 - \rho) < 15 L p` for the spectral radius :math:`\rho`, tests of least squares find
    too much; one lag more then stands among the others in the tests, with which they hold up to
    random walks [3]_, and ``treatment_`` says so. The contemporaneous network is that of
    `GaussianGraph` with its defaults for the residuals, which count as fewer rows by what the
    regressions cost.

    **Many**: the precision :math:`\Lambda` of the residuals and :math:`T = -B \Lambda` solve one
    convex problem together [2]_, standardised, with the penalty ``alpha`` on each entry of
    :math:`\Lambda` off the diagonal and twice that on each of :math:`T`; ``gap_`` bounds the
    distance to the optimum. An arc is then an entry of :math:`T`, a partial correlation given all
    else in the past *and at the same time*; a zero of it is not a zero of B.

    Parameters
    ----------
    lags : int
        Number of steps back, :math:`L`.
    alpha : float, {"fdr", "ebic"}, FDR or EBIC, optional
        ``"fdr"`` for tests, ``"ebic"`` or a number for the joint problem. By default tests where
        lagged columns are few, else ``"ebic"``.
    missing : {"error", "drop"}
        What to do with rows that have missing values: refuse them, or leave them out as gaps, which
        ``treatment_`` counts.
    tol : float
        Stop once the duality gap is at most ``tol`` per column of past and present.
    max_iter : int
        Largest number of iterations of one fit.
    verbose : int
        Above 0, progress of the search is shown on standard error.

    Attributes
    ----------
    temporal_ : Graph
        Directed; an arc from i to j if the past of i tells of the present of j. Weights are
        partial correlations, of several lags the largest.
    contemporaneous_ : Graph
        Weights are partial correlations of what the past leaves.
    between_ : Graph or None
        Of the means of units; None for fewer than 20 of them.
    graph_ : Graph
        The temporal network.
    coef_ : ndarray of shape (lags, p, p)
        ``coef_[k, i, j]`` is the effect of column i at t - k - 1 on column j at t, in their units.
    autoregression_ : ndarray of shape (p,)
        Effect of each column on itself, summed over lags.
    partial_correlation_, pvalues_, qvalues_ : ndarray of shape (lags, p, p)
        Of the lagged effects. q-values of effects on other columns and of those on the column
        itself are corrected apart.
    interval_ : ndarray of shape (2, lags, p, p)
        95 % intervals of the partial correlations.
    contemporaneous_tests_ : dict of str to ndarray of shape (p, p)
        ``estimate``, ``lower``, ``upper``, ``pvalue`` and ``qvalue`` of each pair.
    covariance_, precision_ : ndarray of shape (p, p)
        Of the residuals, in the units of X: least squares, or of the joint problem.
    predictability_ : ndarray of shape (p,)
        Share of the variance within units that the past explains, less what chance would.
    alpha_ : float
        Penalty of the joint problem; NaN after tests.
    gap_, objective_ : float
        Of the joint problem, or of the contemporaneous network.
    n_pairs_ : int
        Rows with enough rows before them.
    treatment_ : list of str
        Which rows have no pair, and why.
    converged_, n_iter_, n_features_in_, feature_names_in_
        As in `GaussianGraph`.

    References
    ----------
    .. [1] Epskamp, Waldorp, Mõttus and Borsboom (2018). The Gaussian graphical model in
       cross-sectional and time-series data. *Multivariate Behavioral Research* 53(4).
       https://doi.org/10.1080/00273171.2018.1454823
    .. [2] Wytock and Kolter (2013). Sparse Gaussian conditional random fields. *ICML* 28.
       https://proceedings.mlr.press/v28/wytock13.html
    .. [3] Dolado and Lütkepohl (1996). Making Wald tests work for cointegrated VAR systems.
       *Econometric Reviews* 15(4). https://doi.org/10.1080/07474939608800362

    Examples
    --------
    >>> import pandas as pd
    >>> from edgewise import TemporalGraph
    >>> rng = np.random.default_rng(0)
    >>> rows = np.zeros((400, 3))
    >>> for t in range(1, 400):
    ...     rows[t] = 0.5 * rows[t - 1] + rng.normal(size=3)
    ...     rows[t, 1] += 0.4 * rows[t - 1, 0]
    >>> diary = pd.DataFrame(rows, columns=["stress", "mood", "sleep"])
    >>> model = TemporalGraph().fit(diary)
    >>> model.temporal_.edges()[["source", "target", "weight"]].round(2)
       source target  weight
    0  stress   mood    0.48
    >>> model.contemporaneous_.n_edges, model.autoregression_.round(1)
    (0, array([0.5, 0.5, 0.6]))
    """

    _methods = (
        "Each row was regressed on the rows before it in its series, with a mean for each unit; "
        "the temporal network has the lagged effects, the contemporaneous network the partial "
        "correlations of the residuals (Epskamp et al. 2018)."
    )
    _cites = ("epskamp2018",)
    _matrices_held = 12.0
    _copies_held = 4.0
    _alpha = Strength(FDR(), EBIC())
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "lags": Number(at_least=1, is_whole=True),
        "missing": OneOf("error", "drop"),
        "tol": Number(above=0),
        "max_iter": Number(at_least=1, is_whole=True),
    }

    def __init__(
        self,
        lags: int = 1,
        alpha: float | str | Rule | None = None,
        *,
        missing: str = "error",
        tol: float = 1e-6,
        max_iter: int = 5000,
        verbose: int = 0,
    ) -> None:
        self.lags = lags
        self.alpha = alpha
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def fit(self, X: Any, series: Any = None, time: Any = None) -> Self:
        """Learn the networks.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows, in the order of time within each series.
        series : array-like of shape (n,) or (n, k), optional
            Labels of the series, which no pair of rows leaves. Of several columns the first is
            the unit that has a mean of its own, such as a person, the others its parts, such as
            days.
        time : array-like of shape (n,), optional
            Numbers or dates, rising within each series; a step longer than usual is a gap.
            Without it rows follow each other as they stand.

        Returns
        -------
        TemporalGraph
        """
        values, order = self._read(X, series, time)
        pairs = Pairs.of(values, order)
        names = self._names() or [f"x{k}" for k in range(values.shape[1])]
        self._refuse_constant(pairs, names)
        found = self._learn(pairs)
        self._store(found, pairs)
        notes = [*order.notes(), *found.notes]
        self.between_, note = _between(values, order, names)
        self.treatment_ = [str(one) for one in (*notes, *note)]
        self.n_pairs_ = order.n_pairs
        self._warn(values, order, names)
        return self

    def table(self) -> Any:
        """List what was tested: network, source, target, lag, effect, interval, p- and q-value.

        Returns
        -------
        DataFrame
            Effects of a column on itself stand under ``autoregression``. ``estimate`` is a partial
            correlation, ``coef`` the lagged effect in the units of X.
        """
        import pandas as pd

        check_is_fitted(self)
        names = np.array(self.temporal_.names)
        lag, i, j = (one.ravel() for one in np.indices(self.coef_.shape))
        lagged = pd.DataFrame(
            {
                "network": np.where(i == j, "autoregression", "temporal"),
                "source": names[i],
                "target": names[j],
                "lag": lag + 1,
                "coef": self.coef_.ravel(),
                "estimate": self.partial_correlation_.ravel(),
                "lower": self.interval_[0].ravel(),
                "upper": self.interval_[1].ravel(),
                "pvalue": self.pvalues_.ravel(),
                "qvalue": self.qvalues_.ravel(),
            }
        )
        a, b = np.triu_indices(len(names), 1)
        tests = {name: one[a, b] for name, one in self.contemporaneous_tests_.items()}
        same = {"network": "contemporaneous", "source": names[a], "target": names[b], "lag": 0}
        return pd.concat([lagged, pd.DataFrame({**same, **tests})], ignore_index=True)

    def _read(self, X: Any, series: Any, time: Any) -> tuple[FloatArray, LaggedRows]:
        """Check parameters and rows, and find the pairs."""
        check_parameters(self, self._constraints)
        if self.alpha is not None:
            self._alpha.check("alpha", self.alpha)
        values, _ = read_rows(self, X, None, "Pass the rows behind it.")
        names = self._names() or [f"x{k}" for k in range(values.shape[1])]
        check_columns(values, names, allow_missing=self.missing != "error")
        order = lagged_rows(
            len(values),
            self.lags,
            series=series,
            time=time,
            is_complete=np.asarray(~np.isnan(values).any(axis=1)),
        )
        p = values.shape[1]
        n_units = len(np.unique(order.unit[order.now]))
        least = n_units + FEWEST_FREE
        if self._has_tests(order.n_pairs, p):
            least = n_units + (self.lags + 1) * p + SPARE_ROWS
        if order.n_pairs < least:
            shape = {"n": order.n_pairs, "lags": self.lags, "n_columns": p, "least": least}
            raise InputError("too_few_pairs", **shape)
        check_columns(values[order.now], names)
        return values, order

    def _has_tests(self, n_pairs: int, p: int) -> bool:
        """Whether effects are tested one by one."""
        if self.alpha is None:
            return self.lags * p * PAIRS_PER_COLUMN <= n_pairs
        return isinstance(self._alpha.resolve(self.alpha), FDR)

    def _refuse_constant(self, pairs: Pairs, names: Sequence[str]) -> None:
        """Refuse columns that vary between units only."""
        centred, p = pairs.centred(), len(names)
        size = np.abs(pairs.now).max(axis=0)
        varies = np.abs(centred.now).max(axis=0) > 1e-10 * size
        for k in range(self.lags):
            varies &= np.abs(centred.past[:, k * p : (k + 1) * p]).max(axis=0) > 1e-10 * size
        if not varies.all():
            raise InputError("constant_within", columns=self._labels(~varies))

    def _learn(self, pairs: Pairs) -> Networks:
        """Learn the networks of some pairs of rows."""
        if self._has_tests(len(pairs.now), pairs.now.shape[1]):
            rule = self._alpha.grid_rule("fdr" if self.alpha is None else self.alpha)
            model = GaussianGraph(tol=self.tol, max_iter=self.max_iter)
            return _learn_by_tests(pairs, self.lags, rule, model, self._names())
        alpha = self._alpha.resolve("ebic" if self.alpha is None else self.alpha)
        return self._learn_jointly(pairs.centred(), pairs.n_free, alpha)

    def _learn_jointly(self, pairs: Pairs, n_free: int, alpha: Rule | float) -> Networks:
        """Solve the joint problem, and test its entries."""
        # It scores no held-out rows, which are like their neighbours.
        problem: Any = LaggedProblem(tol=self.tol, max_iter=self.max_iter)
        p, lags = pairs.now.shape[1], self.lags
        moments = PastAndPresent.of(pairs, n_free)
        rule = self._alpha.grid_rule("ebic")
        grid = Grid.of(alpha if isinstance(alpha, Rule) else rule, n_free, p * (lags + 1))
        choice = search(
            problem, alpha, None, None, moments, grid, verbose=self.verbose, stacklevel=5
        )
        solution: LaggedPrecisionSolution = choice.fit.solution
        q = p * lags
        scale_past, scale = moments.scale[:q], moments.scale[q:]
        joint = partial_correlations(solution.joint.value, [""] * (q + p))
        Z = np.hstack([pairs.past, pairs.now]) / moments.scale
        tested = EffectTests.of(pair_tests(moments.R, n_free, Z).tests)
        joined = (solution.lagged != 0).reshape(lags, p, p)
        shown = joint[:q, q:].reshape(lags, p, p)
        lagged = tested.part(slice(q), slice(q, None))
        lagged = EffectTests(*(one.reshape(lags, p, p) for one in lagged))
        lagged = lagged._replace(estimate=np.where(joined, shown, 0.0))
        now = tested.part(slice(q, None), slice(q, None))
        coef = solution.coef * scale / scale_past[:, None]
        return Networks(
            coef=coef.reshape(lags, p, p),
            covariance=solution.covariance * np.outer(scale, scale),
            precision=solution.value / np.outer(scale, scale),
            temporal=joined,
            temporal_tests=lagged.corrected(_groups(lags, p), "bh"),
            contemporaneous=Graph.from_precision(solution.value, names=self._names()),
            contemporaneous_tests=_corrected_pairs(now, "bh"),
            certificate=Certificate(
                choice.alpha,
                solution.gap,
                solution.objective,
                solution.converged,
                solution.n_iter,
            ),
            notes=moments.notes,
        )

    def _store(self, found: Networks, pairs: Pairs) -> None:
        """Note the networks as attributes."""
        self.coef_, self.covariance_ = found.coef, found.covariance
        self.precision_ = found.precision
        self.autoregression_ = np.einsum("kii->i", found.coef)
        tests = found.temporal_tests
        self.partial_correlation_ = tests.estimate
        self.pvalues_, self.qvalues_ = tests.pvalue, tests.qvalue
        self.interval_ = np.stack([tests.lower, tests.upper])
        self.contemporaneous_tests_ = found.contemporaneous_tests._asdict()
        self.temporal_ = summary_graph(tests.estimate, found.temporal, self._names())
        self.contemporaneous_ = found.contemporaneous
        self.graph_ = self.temporal_
        centred, n_free = pairs.centred(), pairs.n_free
        q = self.lags * len(found.covariance)
        left = centred.now - centred.past @ found.coef.reshape(q, -1)
        certificate = found.certificate
        free = n_free - 1 - (q if math.isnan(certificate.alpha) else 0)
        share = (left**2).sum(axis=0) / (centred.now**2).sum(axis=0) * (n_free - 1) / free
        self.predictability_ = np.clip(1.0 - share, 0.0, 1.0)
        self.alpha_, self.gap_, self.objective_ = certificate[:3]
        self.converged_, self.n_iter_ = certificate.converged, certificate.n_iter

    def _warn(self, values: FloatArray, order: LaggedRows, names: Sequence[str]) -> None:
        """Warn of columns that drift, of effects that explode, and of short series."""
        found = row_order(values, names, series=order.unit)
        drifting = found.columns if found.kind == "trend" else found.drifts
        radius, growing = growth(self.coef_)
        if radius >= 1.0:
            columns = [names[k] for k in growing]
            warnings.warn(
                DataWarning("explosive_rows", columns=columns, radius=radius), stacklevel=3
            )
        elif drifting:
            warnings.warn(DataWarning("drifting_columns", columns=[*drifting]), stacklevel=3)
        occasions = len(values) / order.n_units
        if occasions < FEWEST_OCCASIONS:
            bias = -(1.0 + float(self.autoregression_.mean())) / (occasions - 1.0)
            warnings.warn(DataWarning("few_occasions", n=occasions, bias=bias), stacklevel=3)


def summary_graph(estimate: FloatArray, joined: BoolArray, names: Sequence[str] | None) -> Graph:
    """Join columns whose past tells of another at any lag; weights are the largest of them."""
    size = np.where(joined, np.abs(estimate), -1.0)
    largest = np.take_along_axis(estimate, size.argmax(axis=0)[None], axis=0)[0]
    arcs = np.array(joined.any(axis=0))
    np.fill_diagonal(arcs, False)
    return Graph(np.where(arcs, largest, 0.0), names=names, directed=True, adjacency=arcs)


def growth(coef: FloatArray) -> tuple[float, IntArray]:
    """Spectral radius of the lagged effects, and the columns that grow the most along it."""
    lags, p, _ = coef.shape
    companion = np.zeros((lags * p, lags * p))
    companion[:p] = np.hstack([one.T for one in coef])
    companion[p:, :-p] = np.eye((lags - 1) * p)
    values, vectors = np.linalg.eig(companion)
    first = int(np.abs(values).argmax())
    share = np.abs(vectors[:p, first])
    return float(np.abs(values[first])), np.flatnonzero(share >= 0.5 * share.max())


def _between(
    values: FloatArray, order: LaggedRows, names: Sequence[str]
) -> tuple[Graph | None, list[Note]]:
    """Learn the network of the means of units, where they are enough."""
    if order.n_units < 2:
        return None, []
    if order.n_units < FEWEST_UNITS:
        return None, [Note("no_between", n=order.n_units, least=FEWEST_UNITS)]
    whole = ~np.isnan(values).any(axis=1)
    unit = np.unique(order.unit[whole], return_inverse=True)[1]
    means = np.zeros((int(unit.max()) + 1, values.shape[1]))
    np.add.at(means, unit, values[whole])
    means /= np.bincount(unit)[:, None]
    if len(means) < FEWEST_UNITS or not varying_columns(means).all():
        return None, [Note("no_between", n=len(means), least=FEWEST_UNITS)]
    graph = GaussianGraph().fit(means).graph_
    return Graph(graph.weights, names=names, adjacency=graph.adjacency), []


def _groups(lags: int, p: int) -> list[BoolArray]:
    """Effects on other columns, and on the column itself, which are corrected apart."""
    own = np.broadcast_to(np.eye(p, dtype=bool), (lags, p, p))
    return [~own, own]


def _corrected_pairs(tested: EffectTests, correction: str) -> EffectTests:
    """Correct tests of pairs that are each in both triangles."""
    p = len(tested.pvalue)
    upper = tested.corrected([np.triu(np.ones((p, p), dtype=bool), 1)], correction).qvalue
    qvalue = np.where(np.isnan(upper), upper.T, upper)
    alone = np.where(np.eye(p, dtype=bool), np.nan, 0.0)
    return EffectTests(*(one + alone for one in tested._replace(qvalue=qvalue)))


def _learn_by_tests(
    pairs: Pairs, lags: int, rule: Any, model: GaussianGraph, names: list[str] | None
) -> Networks:
    """Test every lagged effect of least squares, and learn the network of the residuals."""
    centred, n_free = pairs.centred(), pairs.n_free
    past, now = centred.past, centred.now
    scale_past, scale = past.std(axis=0), now.std(axis=0)
    p, q = now.shape[1], past.shape[1]
    if not _is_regular(past):
        Z = past / scale_past
        labels = names or [f"x{k}" for k in range(p)]
        first = min(find_relations(Z.T @ Z / len(Z)), default=[], key=len)
        raise InputError("singular_past", columns=[*dict.fromkeys(labels[k % p] for k in first)])
    standard = np.linalg.lstsq(past / scale_past, now / scale, rcond=None)[0]
    flat = standard * scale / scale_past[:, None]
    coef = flat.reshape(lags, p, p)
    notes: tuple[Note, ...] = ()
    tested = pairs
    if n_free * (1.0 - growth(coef)[0]) < ROWS_FORGOTTEN * q:
        longer = pairs.lengthened()
        if longer.n_free > 2 * p + q + SPARE_ROWS and _is_regular(longer.centred().past):
            tested, notes = longer, (Note("tested_with_another_lag", n=len(longer.now)),)
    lagged = _lagged_tests(tested, q)
    lagged = EffectTests(*(one.reshape(lags, p, p) for one in lagged))
    lagged = lagged.corrected(_groups(lags, p), rule.correction)
    left, n_left = now - past @ flat, n_free - q
    model.fit(named(left, names), sample_weight=np.full(len(left), n_left / len(left)))
    Z = left / left.std(axis=0)
    now_tests = EffectTests.of(pair_tests(Z.T @ Z / len(Z), n_left, Z).tests)
    covariance = left.T @ left / len(left)
    return Networks(
        coef=coef,
        covariance=covariance,
        precision=np.linalg.inv(covariance),
        temporal=np.nan_to_num(lagged.qvalue, nan=1.0) <= rule.level,
        temporal_tests=lagged,
        contemporaneous=model.graph_,
        contemporaneous_tests=_corrected_pairs(now_tests, rule.correction),
        certificate=Certificate(
            math.nan, model.gap_, model.objective_, model.converged_, model.n_iter_
        ),
        notes=notes,
    )


def _is_regular(past: FloatArray) -> bool:
    """Whether no column of the past follows from others."""
    Z = past / past.std(axis=0)
    return float(np.linalg.eigvalsh(Z.T @ Z / len(Z))[0]) > SINGULAR


def _lagged_tests(pairs: Pairs, q: int) -> EffectTests:
    """Test the effects of the first columns of the past, each given all of it; (q, p) arrays."""
    centred, n_free = pairs.centred(), pairs.n_free
    both = np.hstack([centred.past, centred.now])
    both /= both.std(axis=0)
    R = both.T @ both / len(both)
    n_past, p = centred.past.shape[1], centred.now.shape[1]
    columns = []
    for j in range(n_past, n_past + p):
        at = [*range(n_past), j]
        found = EffectTests.of(pair_tests(R[np.ix_(at, at)], n_free, both[:, at]).tests)
        columns.append(found.part(slice(q), n_past))
    return EffectTests(*(np.stack(one, axis=1) for one in zip(*columns, strict=True)))


@dataclass(frozen=True, kw_only=True, eq=False)
class PastAndPresent:
    """Correlations of past and present, as the joint problem needs them.

    Attributes
    ----------
    R : ndarray of shape (q + p, q + p)
        Those of the columns; ``S`` with a ridge where the past is singular.
    n_past : int
        Columns of the past, q.
    n_free : float
        Rows that estimate more than means.
    scale : ndarray of shape (q + p,)
        Standard deviations.
    """

    R: FloatArray
    S: FloatArray
    n_past: int
    n_free: float
    scale: FloatArray
    notes: tuple[Note, ...] = ()

    @classmethod
    def of(cls, pairs: Pairs, n_free: int) -> Self:
        """Correlate centred pairs; add a ridge where columns of the past determine each other."""
        both = np.hstack([pairs.past, pairs.now])
        scale = both.std(axis=0)
        Z = both / scale
        R = Z.T @ Z / len(Z)
        S, record = repair_covariance(R, minimum=LEAST)
        notes: tuple[Note, ...] = ()
        q, amount = pairs.past.shape[1], record["amount"]
        if amount:
            notes = (Note("past_ridge", n_columns=q, n=len(Z), amount=amount),)
        return cls(R=R, S=S, n_past=q, n_free=n_free, scale=scale, notes=notes)

    @property
    def largest_alpha(self) -> float:
        """Smallest penalty without an edge or a lagged effect."""
        held = np.abs(self.S[:, self.n_past :])
        np.fill_diagonal(held[self.n_past :], 0.0)
        return float(held.max())


@dataclass(frozen=True, eq=False)
class LaggedFit:
    """A solution of the joint problem, with the correlations behind it."""

    solution: LaggedPrecisionSolution
    statistics: PastAndPresent

    @property
    def converged(self) -> bool:
        """Whether the gap met the tolerance."""
        return self.solution.converged

    @cached_property
    def adjacency(self) -> BoolArray:
        """Pairs of past and present, and of the present, as a square over both."""
        joined: BoolArray = self.solution.joint.value != 0
        q = self.statistics.n_past
        joined[:q, :q] = False
        np.fill_diagonal(joined, False)
        return joined

    @property
    def n_edges(self) -> int:
        """Number of edges of the present and of lagged effects."""
        return int(np.count_nonzero(np.triu(self.adjacency)))

    @property
    def is_complete(self) -> bool:
        """Whether no entry is 0."""
        q, p = self.solution.lagged.shape
        return bool(self.n_edges == q * p + p * (p - 1) // 2)

    def ebic(self, gamma: float) -> float:
        """Return the extended BIC of the present given the past."""
        S, q, solution = self.statistics.S, self.statistics.n_past, self.solution
        cross = S[:q, q:].T @ solution.coef
        left = S[q:, q:] - cross - cross.T + solution.coef.T @ S[:q, :q] @ solution.coef
        n = self.statistics.n_free
        likelihood = n * gaussian_log_likelihood(solution.value, left)
        return ebic(likelihood, self.n_edges, n, q + len(left), gamma)


@dataclass(frozen=True, kw_only=True)
class LaggedProblem:
    """The joint problem of past and present, for `search` by the extended BIC."""

    tol: float
    max_iter: int

    def largest_alpha(self, statistics: PastAndPresent) -> float:
        """Return the smallest alpha with empty networks."""
        return statistics.largest_alpha

    def solve_path(self, statistics: PastAndPresent, alphas: FloatArray) -> Iterator[LaggedFit]:
        """Yield one fit per alpha, each from the one before."""
        S, q, solution = statistics.S, statistics.n_past, None
        for alpha in alphas.tolist():
            solution = lagged_graphical_lasso(
                S[q:, q:],
                S[:q, q:],
                S[:q, :q],
                alpha,
                2.0 * alpha,
                init=solution,
                tol=self.tol,
                max_iter=self.max_iter,
            )
            yield LaggedFit(solution, statistics)

    def gap_warning(self, fit: LaggedFit) -> ConvergenceWarning:
        """Return the warning of a fit that stopped above its tolerance."""
        return gap_warning(fit.solution.joint, self.tol)
