"""Networks of columns of several kinds as an estimator."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.parallel import counted
from edgewise._core.typing import BoolArray, FloatArray, RandomState
from edgewise.data.checks import about_size, check_weights, refuse_covariance
from edgewise.data.kinds import MixedTable, code_new_rows, read_mixed
from edgewise.data.table import Table
from edgewise.estimators.base.fits import either_way, note_decided
from edgewise.estimators.base.table import TableEstimator, column_number, note_columns
from edgewise.estimators.discrete.mixed_problem import (
    FAMILY,
    Coding,
    ColumnFit,
    ColumnProblem,
    Design,
    JointProblem,
    log_likelihood,
    raw_columns,
)
from edgewise.graph import Graph
from edgewise.io.messages import quote_names
from edgewise.selection import CV, EBIC
from edgewise.selection.choose import ConvergenceWarning, SelectionWarning
from edgewise.selection.graph_choice import LEVEL
from edgewise.selection.rules import Rule, Strength
from edgewise.selection.search import Choice, Grid, search
from edgewise.solvers.lasso.generalized_kernels import GAUSSIAN, POISSON

#: What the share that is predicted of each kind is a share of.
MEASURES: Final = {GAUSSIAN: "explained variance", POISSON: "explained deviance"}
ACCURACY: Final = "accuracy"
#: How often missing values are filled in.
FILLINGS: Final = 10


class MixedGraph(TableEstimator):
    r"""Network of numbers, ordered answers, yes / no, levels and counts, in one table.

    Each column is regressed on all others by the generalised linear model of its kind: Gaussian
    for numbers and ordered answers (by their normal scores), logistic for binary columns,
    multinomial for nominal ones, Poisson for counts. The coefficients of a pair are one group
    :math:`B_{ij}`,

    .. math::

        \min_{b, B} \; - \frac1n \sum_r \log P(x_{rj} \mid b + \sum_{i \ne j} B_{ij}^\top z_{ri})
        + \alpha \, s_j \sum_{i \ne j} \sqrt{d_i} \, \|B_{ij}\|_F,

    where :math:`z_i` is column i, standardised (the :math:`d_i` = levels - 1 columns of a nominal
    one together, so that neither their order nor their coding matters) and :math:`s_j` the standard
    deviation of column j [1]_. A pair is joined where its coefficients are not 0 in both
    regressions, or in one. Every regression is certified by its duality gap. With
    ``method="joint"`` the two regressions of a pair share its coefficients: one convex problem, the
    pseudo-likelihood of a pairwise model of the whole table [2]_,

    .. math::

        \min_{\theta, \Gamma} \; - \frac1n \sum_j \sum_r
        \log P(x_{rj} \mid \theta_j + \sum_{i \ne j} \Gamma_{ij}^\top z_{ri})
        + 2 \alpha \sum_{i < j} \sqrt{d_i d_j} \, \|\Gamma_{ij}\|_F,

    in units in which every column is standardised, with the duality gap of the whole.

    Parameters
    ----------
    alpha : float, {"ebic", "cv"}, EBIC or CV
        Strength of the penalty, in units of correlation and the same for all columns; or the rule
        that chooses one for each column along a path: extended BIC or held-out likelihood. With
        ``"ebic"`` the graph is empty unless the correlation of some pair of columns, or of levels
        of nominal ones, passes a Bonferroni test at 5 % that allows for heavy tails.
    kinds : mapping of str to str, or sequence of str, optional
        Kind of columns by name, or of every column: ``"continuous"``, ``"ordinal"``, ``"binary"``,
        ``"nominal"`` or ``"count"``. Those not given are guessed, see
        `edgewise.data.kinds.guess_kind`; a categorical dtype says it too.
    method : {"nodewise", "joint"}
        Regress each column by itself, with an alpha of its own where a rule chooses it; or all of
        them together, with one alpha, where both regressions of a pair have it or neither.
    rule : {"and", "or"}
        Join a pair when both, or at least one, of its two regressions have it.
    covariance : {"empirical", "nonparanormal"}
        What numbers are learned from: as they are, or by the normal scores of their ranks, which
        neither skewness nor outliers move. Counts are then numbers, too.
    missing : {"error", "drop", "impute"}
        Refuse missing values; leave out rows that have any; or fill them in 10 times by chained
        equations, see `edgewise.data.imputation.impute_rows`, and learn from all fillings
        together, each row counted by the share of its pairs of values that are there (one filling
        with ``alpha="cv"``).
    tol : float
        Stop each regression once its duality gap, in units of its mean log-likelihood, is at most
        ``tol``; all of them together at ``tol`` for each column.
    max_iter : int
        Largest number of Newton steps of one regression, or of twenty gradient steps of all.
    n_jobs : int, optional
        Folds fitted at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles folds.
    verbose : int
        Above 0, a progress bar of regressions is drawn on standard error.

    Attributes
    ----------
    graph_ : Graph
        The weight of an edge is the mean, over its two regressions, of the standardised effect: the
        change of one column, in standard deviations of the scale on which it is linear, with a
        standard deviation of the other. Of numbers that is the standardised coefficient, as in
        `NeighborhoodGraph`. Of a binary column more is the second level, see ``levels_``: a
        positive weight joins more of the other column to it. Without a sign where one of the
        columns is nominal; then a root mean square over levels.
    kinds_ : dict of str to str
        Kind of each column, by name.
    levels_ : list
        Levels of each column that has some, None for the others.
    predictability_ : DataFrame
        What the others tell of each column: ``kind``, ``measure`` (explained variance, explained
        deviance or accuracy), ``value`` and ``baseline`` (the accuracy of the most frequent level).
    coef_ : list of ndarray
        For each column, the coefficients of all others: rows as in ``terms_``, one column, or one
        for each level of a nominal column.
    intercept_ : list of ndarray
    terms_ : list of (str, level or None)
        What each row of ``coef_`` multiplies: a column, or for a nominal one that it has a level.
        A binary column counts as 0 and 1, an ordinal one by ``scores_``.
    scores_ : list
        Normal score of each level of an ordinal column, None for the others.
    location_ : ndarray
        Mean of each of ``terms_``: of a level, the share of rows that have it.
    quantiles_ : list
        With ``covariance="nonparanormal"``, the numbers of a column and their normal scores, an
        array of shape (2, m); None for columns of levels.
    scale_ : ndarray of shape (p,)
        Standard deviation of each column, of an ordinal one in scores.
    noise_variance_ : ndarray of shape (p,)
        Residual variance of columns with a Gaussian regression, 1 for the others.
    alpha_ : ndarray of shape (p,)
        The strength used for each column.
    selection_ : list of Selection, or None
        The criterion along the path of each column, the same for all that are learned jointly;
        None for a number, or where no pair passes the test.
    smallest_p_value_ : float
        Of a test of all pairs, corrected for their number by Bonferroni; NaN unless ``"ebic"``
        chooses alpha.
    gap_ : float
        Sum of the duality gaps of the regressions, or that of all together.
    decided_ : ndarray of bool, shape (p, p)
        Pairs whose edge, with its sign, or whose absence the gap proves to be the optimum's; not
        with ``method="joint"``.
    is_decided_ : bool
        Whether all pairs are.
    converged_ : bool
        Whether every regression met the tolerance.
    n_iter_ : int
        Newton steps of the slowest regression.
    treatment_ : list of str
        What was done to the rows.
    n_samples_ : int
        Rows learned from.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Haslbeck and Waldorp (2020). mgm: Estimating time-varying mixed graphical models in
       high-dimensional data. *Journal of Statistical Software* 93(8).
       https://doi.org/10.18637/jss.v093.i08
    .. [2] Lee and Hastie (2015). Learning the structure of mixed graphical models. *Journal of
       Computational and Graphical Statistics* 24(1). https://doi.org/10.1080/10618600.2014.900500

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from edgewise import MixedGraph
    >>> rng = np.random.default_rng(0)
    >>> diet = rng.choice(["none", "vegan", "paleo"], 400)
    >>> weight = rng.normal(70, 8, 400) - 8 * (diet == "vegan")
    >>> smokes = rng.choice(["no", "yes"], 400)
    >>> frame = pd.DataFrame({"diet": diet, "weight": weight, "smokes": smokes})
    >>> model = MixedGraph().fit(frame)
    >>> model.kinds_
    {'diet': 'nominal', 'weight': 'continuous', 'smokes': 'binary'}
    >>> model.graph_.edges()[["source", "target"]].values.tolist()
    [['diet', 'weight']]
    >>> model.interaction("diet", "weight").round(1)
           weight
    none      0.2
    paleo     0.3
    vegan    -0.6
    """

    _methods = (
        "The network was estimated by a penalised generalised linear regression of each variable "
        "on all others, by its kind (Haslbeck and Waldorp 2020; Lee and Hastie 2015)."
    )
    _cites = ("haslbeck2020", "lee2015")

    _alpha = Strength(EBIC(), CV(), why_positive="complete_without_penalty")
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "alpha": _alpha,
        "method": OneOf("nodewise", "joint"),
        "rule": OneOf("and", "or"),
        "covariance": OneOf("empirical", "nonparanormal"),
        "missing": OneOf("error", "drop", "impute"),
        "tol": Number(above=0),
        "max_iter": Number(at_least=1),
    }
    _matrices_held = 4.0
    _copies_held = 3.0

    def __init__(
        self,
        alpha: float | str | Rule = "ebic",
        *,
        kinds: Any = None,
        method: str = "nodewise",
        rule: str = "and",
        covariance: str = "empirical",
        missing: str = "error",
        tol: float = 1e-6,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.kinds = kinds
        self.method = method
        self.rule = rule
        self.covariance = covariance
        self.missing = missing
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the network.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Columns of any kinds.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row.

        Returns
        -------
        MixedGraph
        """
        check_parameters(self, self._constraints)
        self._require_memory(X)
        table = read_mixed(
            X,
            self.kinds,
            self.missing,
            copies=1 if isinstance(self._alpha.resolve(self.alpha), CV) else FILLINGS,
            random_state=self.random_state,
        )
        note_columns(self, X, reset=True)
        refuse_covariance(table.values, "Pass the rows behind it.")
        weights = None
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(table.is_kept))[table.is_kept]
            weights = np.tile(weights, table.copies)
        if table.worth is not None:
            weights = table.worth if weights is None else weights * table.worth
        self.quantiles_: list[FloatArray | None] = [None] * len(table.names)
        if self.covariance == "nonparanormal":
            table = self._by_ranks(table)
        scores = [_normal_scores(table, k) for k in range(len(table.names))]
        rows = with_scores(table.values, scores)
        coding = Coding(
            names=table.names,
            kinds=table.kinds,
            n_levels=tuple(0 if own is None else len(own) for own in table.levels),
        )
        design = coding.design(rows, weights)
        design.refuse_equivalent()
        rule = self._alpha.resolve(self.alpha)
        self.smallest_p_value_ = math.nan
        if isinstance(rule, EBIC):
            self.smallest_p_value_ = design.smallest_p_value()
        is_noise = self.smallest_p_value_ > LEVEL
        choices = self._choose(coding, design, rows, weights, None if is_noise else rule)
        self._store(table, coding, choices)
        self.scores_ = scores
        fits = [choice.fit for choice in choices]
        self.graph_ = self._graph(table, fits)
        note_decided(self, self._decided(fits))
        return self

    def _by_ranks(self, table: MixedTable) -> MixedTable:
        """Replace numbers by normal scores, and note which score each number has."""
        values, kinds = table.values.copy(), list(table.kinds)
        for k, kind in enumerate(kinds):
            if kind in ("continuous", "count"):
                found, place, counts = np.unique(
                    values[:, k], return_inverse=True, return_counts=True
                )
                own = ndtri((np.cumsum(counts) - counts / 2) / counts.sum())
                values[:, k], kinds[k] = own[place], "continuous"
                self.quantiles_[k] = np.stack([found, own])
        which = quote_names(
            n for n, own in zip(table.names, self.quantiles_, strict=True) if own is not None
        )
        note = f'covariance="nonparanormal": {which} count by the normal scores of their ranks'
        return replace(table, values=values, kinds=tuple(kinds), treatment=(*table.treatment, note))

    def _choose(
        self,
        coding: Coding,
        design: Design,
        rows: FloatArray,
        weights: FloatArray | None,
        rule: Rule | float | None,
    ) -> list[Choice]:
        """Choose alpha for every column; warn once of what searches of several warn of.

        Without a rule, the smallest that leaves each without neighbours.
        """
        if self.method == "joint":
            return self._choose_jointly(coding, design, rows, weights, rule)
        choices: list[Choice] = []
        told: dict[type[Warning], list[tuple[str, Warning | str]]] = {}
        n_columns = len(coding.names)
        for j, name in enumerate(counted(coding.names, "Regressions", n_columns, self.verbose)):
            problem = ColumnProblem(coding=coding, column=j, tol=self.tol, max_iter=self.max_iter)
            posed = problem.pose(design)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                choices.append(
                    search(
                        problem,
                        problem.largest_alpha(posed) if rule is None else rule,
                        rows,
                        weights,
                        posed,
                        Grid.of(self._alpha.grid_rule(self.alpha), design.n_samples, n_columns),
                        random_state=self.random_state,
                        n_jobs=self.n_jobs,
                    )
                )
            for one in caught:
                told.setdefault(one.category, []).append((name, one.message))
        for category, found in told.items():
            names = dict.fromkeys(name for name, _ in found)
            warning = found[0][1]
            if issubclass(category, (SelectionWarning, ConvergenceWarning)):
                warning = category("in_regressions", columns=list(names), warning=warning)
            warnings.warn(warning, category, stacklevel=3)
        return choices

    def _choose_jointly(
        self,
        coding: Coding,
        design: Design,
        rows: FloatArray,
        weights: FloatArray | None,
        rule: Rule | float | None,
    ) -> list[Choice]:
        """Choose one alpha for all columns together."""
        problem = JointProblem(coding=coding, tol=self.tol, max_iter=self.max_iter)
        posed = problem.pose(design)
        choice = search(
            problem,
            problem.largest_alpha(posed) if rule is None else rule,
            rows,
            weights,
            posed,
            Grid.of(self._alpha.grid_rule(self.alpha), design.n_samples, len(coding.names)),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        return [replace(choice, fit=fit) for fit in choice.fit.fits]

    def _store(self, table: MixedTable, coding: Coding, choices: list[Choice]) -> None:
        """Note the regressions, in the units of the data."""
        fits: list[ColumnFit] = [choice.fit for choice in choices]
        self.kinds_ = dict(zip(table.names, table.kinds, strict=True))
        self.levels_ = list(table.levels)
        self.treatment_ = list(table.treatment)
        self.n_samples_ = len(table.values) // table.copies
        self.terms_ = [
            (name, level)
            for name, kind, own in zip(table.names, table.kinds, table.levels, strict=True)
            for level in (own or () if kind == "nominal" else (None,))
        ]
        self.coef_ = [fit.raw[0] for fit in fits]
        self.intercept_ = [fit.raw[1] for fit in fits]
        self.noise_variance_ = np.array([fit.noise_variance for fit in fits])
        design = fits[0].posed.design
        self.location_, self.scale_ = design.centre, design.scale
        self.explained_ = np.array([fit.predictability for fit in fits])
        self.alpha_ = np.array([choice.alpha for choice in choices])
        selections = [choice.selection for choice in choices]
        self.selection_ = None if selections[0] is None else selections
        self.gap_ = float(sum(fit.solution.gap for fit in fits))
        self.converged_ = all(fit.converged for fit in fits)
        self.n_iter_ = max(fit.solution.n_iter for fit in fits)

    def _graph(self, table: MixedTable, fits: list[ColumnFit]) -> Graph:
        """Join pairs by the rule; the weight is the mean of the two effects."""
        signs = np.array(table.signs)
        signed = np.logical_and.outer(signs, signs)
        effect = np.column_stack([fit.effects for fit in fits])
        chosen: BoolArray = effect != 0
        joined = chosen & chosen.T if self.rule == "and" else chosen | chosen.T
        effect = np.where(signed, effect, np.abs(effect))
        weights = np.where(joined, (effect + effect.T) / 2, 0.0)
        return Graph(
            weights,
            names=self._names(),
            adjacency=joined,
            signed=None if signed.all() else signed,
        )

    def _decided(self, fits: list[ColumnFit]) -> BoolArray | None:
        """Pairs that are proven, of regressions apart; of one of all columns none are."""
        found = [fit.solution.decided for fit in fits]
        if self.method == "joint":
            return None
        known = np.column_stack([own for own in found if own is not None])
        return either_way(np.column_stack([fit.adjacency for fit in fits]), known, self.rule)

    @property
    def predictability_(self) -> Any:
        """What the others tell of each column."""
        import pandas as pd

        check_is_fitted(self)
        families = [FAMILY[kind] for kind in self.kinds_.values()]
        return pd.DataFrame(
            {
                "kind": list(self.kinds_.values()),
                "measure": [MEASURES.get(family, ACCURACY) for family in families],
                "value": self.explained_[:, 0],
                "baseline": self.explained_[:, 1],
            },
            index=pd.Index(self.kinds_, name="column"),
        )

    def interaction(self, i: str | int, j: str | int) -> Any:
        """Table of an edge: what each level of one column adds to the other.

        Parameters
        ----------
        i, j : str or int
            Names or numbers of two columns.

        Returns
        -------
        DataFrame
            From the regression of j, all else equal. One row per level of i, against the average
            row; or one for a standard deviation more of a number. One column per level of j, whose
            differences are log odds; or one, in standard deviations of a number, or the logarithm
            of a count. All 0 where the pair is not joined.
        """
        import pandas as pd

        check_is_fitted(self)
        names = list(self.kinds_)
        first, second = column_number(i, names), column_number(j, names)
        if first == second:
            raise InputError("edge_to_itself", name=names[first])
        rows = np.array([name == names[first] for name, _ in self.terms_])
        effect = self.coef_[second][rows] * bool(self.graph_.adjacency[first, second])
        kind, other = (list(self.kinds_.values())[k] for k in (first, second))
        heads = [list(self.levels_[k] or ()) for k in (first, second)]
        if kind == "binary":
            effect = np.outer(np.array([0.0, 1.0]) - self.location_[rows], effect[0])
        elif kind == "nominal":
            effect = effect - self.location_[rows] @ effect
        else:
            effect, heads[0] = effect * self.scale_[first], [names[first]]
        if other == "binary":
            effect = effect * np.array([-0.5, 0.5])
        elif FAMILY[other] in (GAUSSIAN, POISSON):
            heads[1] = [names[second]]
            effect = effect / (self.scale_[second] if FAMILY[other] == GAUSSIAN else 1.0)
        return pd.DataFrame(effect, index=heads[0], columns=heads[1])

    def scored(self, frame: Any) -> Any:
        """Replace the numbers of a data frame by the scores that they were learned by.

        Parameters
        ----------
        frame : DataFrame
            With the columns of the fit.

        Returns
        -------
        DataFrame
        """
        check_is_fitted(self)
        scored = frame.copy()
        for k, quantiles in enumerate(self.quantiles_):
            if quantiles is not None:
                scored.isetitem(k, np.interp(frame.iloc[:, k].to_numpy(float), *quantiles))
        return scored

    def predict(self, X: Any) -> Any:
        """Predict each column of each row from all the others.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Complete rows, with levels that the fit knows.

        Returns
        -------
        DataFrame or ndarray of shape (n, p)
            Expected numbers and counts, and the likeliest level of other columns; a data frame if
            it was learned from one.
        """
        rows = self._new_rows(X)
        columns = []
        for j, eta in enumerate(self._predictors(rows)):
            kind, levels = list(self.kinds_.values())[j], self.levels_[j]
            if (quantiles := self.quantiles_[j]) is not None:
                columns.append(np.interp(eta[:, 0], quantiles[1], quantiles[0]))
                continue
            if levels is None:
                columns.append(np.exp(eta[:, 0]) if kind == "count" else eta[:, 0])
                continue
            if (scores := self.scores_[j]) is not None:
                code = np.abs(eta - scores).argmin(axis=1)
            else:
                code = eta.argmax(axis=1) if eta.shape[1] > 1 else (eta[:, 0] > 0).astype(int)
            columns.append(np.array(levels)[code])
        if not hasattr(self, "feature_names_in_"):
            is_text = {column.dtype.kind in "UO" for column in columns}
            return np.column_stack(
                columns if len(is_text) == 1 else [column.astype(object) for column in columns]
            )
        import pandas as pd

        return pd.DataFrame(dict(zip(self.kinds_, columns, strict=True)))

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log pseudo-likelihood per row: the sum over columns given all others.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Complete rows, with levels that the fit knows.
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        rows = self._new_rows(X)
        weights = None if sample_weight is None else check_weights(sample_weight, len(rows))
        families = [FAMILY[kind] for kind in self.kinds_.values()]
        total = np.zeros(len(rows))
        for j, eta in enumerate(self._predictors(rows)):
            total += log_likelihood(families[j], eta, rows[:, j], self.noise_variance_[j])
        return float(np.average(total, weights=weights))

    def _new_rows(self, X: Any) -> FloatArray:
        """Code rows as those of the fit."""
        check_is_fitted(self)
        table = Table.from_input(X)
        note_columns(self, X, reset=False)
        names, kinds = list(self.kinds_), list(self.kinds_.values())
        values = code_new_rows(table, names, kinds, self.levels_)
        for k, quantiles in enumerate(self.quantiles_):
            if quantiles is not None:
                values[:, k] = np.where(
                    np.isnan(values[:, k]), np.nan, np.interp(values[:, k], *quantiles)
                )
        if not np.isfinite(values).all():
            bad = np.flatnonzero(~np.isfinite(values).all(axis=0)).tolist()
            raise InputError("columns_not_finite", bad=[names[k] for k in bad])
        if (error := about_size(values, names, least=0.0)) is not None:
            raise error
        return with_scores(values, self.scores_)

    def _predictors(self, rows: FloatArray) -> Iterator[FloatArray]:
        """Yield the linear predictors of each column, of shape (n, c)."""
        n_levels = [0 if own is None else len(own) for own in self.levels_]
        raw = raw_columns(rows, list(self.kinds_.values()), n_levels)
        for coef, intercept in zip(self.coef_, self.intercept_, strict=True):
            yield raw @ coef + intercept


def _normal_scores(table: MixedTable, k: int) -> FloatArray | None:
    """Return the normal score of the middle rank of each level of an ordinal column."""
    if table.kinds[k] != "ordinal":
        return None
    counts = np.bincount(table.values[:, k].astype(np.int64))
    middle = (np.cumsum(counts) - counts / 2) / counts.sum()
    return np.asarray(ndtri(middle))


def with_scores(values: FloatArray, scores: list[FloatArray | None]) -> FloatArray:
    """Replace the levels of ordinal columns by their scores."""
    rows = values.copy()
    for k, own in enumerate(scores):
        if own is not None:
            rows[:, k] = own[values[:, k].astype(np.int64)]
    return rows
