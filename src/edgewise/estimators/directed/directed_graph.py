"""Directed networks up to Markov equivalence, by whichever search is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.plain_values import archived
from edgewise._core.typing import BoolArray, IntArray, RandomState
from edgewise.estimators.base.statistics import CONSTRAINTS
from edgewise.estimators.base.table import TableEstimator, column_number
from edgewise.estimators.directed.blankets import BlanketBayesNet, direct_edges, learn_structure
from edgewise.estimators.directed.known_arcs import (
    KnownArcs,
    known_arcs,
    read_interventions,
    told_apart,
)
from edgewise.estimators.directed.levels import (
    arc_strengths,
    check_level_score,
    conditional_tables,
    level_kinds,
    level_log_likelihood,
    level_number,
    marginals_when_set,
    read_level_rows,
    read_new_levels,
)
from edgewise.estimators.directed.linear_network import (
    LinearNetwork,
    NetworkProblem,
    identified_arcs,
    network_problem,
    representative,
)
from edgewise.graph import Graph
from edgewise.graph.equivalence import longest_paths
from edgewise.solvers.directed.boss import best_order
from edgewise.solvers.directed.ges import search_classes
from edgewise.solvers.directed.greedy import MOST_EXACT, search_all
from edgewise.solvers.directed.scores import (
    Sample,
    ScoredProblem,
    dag_cost,
    gaussian_score,
    scored_problem,
)
from edgewise.solvers.directed.separation import stable_skeleton
from edgewise.solvers.directed.tables import LevelTable, table_problem, table_skeleton

#: Most columns for which ``"boss"`` goes through all networks, which takes no longer.
FEW = 5
#: Most columns for which ``"boss"`` is compared with ``"ges"``, which takes longer beyond.
MOST_COMPARED = 20


@archived
@dataclass(frozen=True)
class BIC:
    r"""Score a `DirectedGraph` by the log-likelihood less a penalty on each parameter.

    Parameters
    ----------
    penalty_discount : float, optional
        Factor of the penalty, :math:`\tfrac12 \log n` for each parameter. By default 2, or what
        makes it the extended BIC with gamma = 1 where that is more; 1 where some columns have
        levels.

    Examples
    --------
    >>> from edgewise import BIC, DirectedGraph
    >>> plain = DirectedGraph(criterion=BIC(penalty_discount=1))
    """

    penalty_discount: float | None = None

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_parameters(self, {"penalty_discount": Number(above=0, or_none=True)})


@archived
@dataclass(frozen=True)
class BDeu:
    """Score a `DirectedGraph` of levels by their marginal likelihood under a Dirichlet prior.

    Parameters
    ----------
    ess : float
        Equivalent sample size of the prior, spread over the cells of each
        table.

    Examples
    --------
    >>> from edgewise import BDeu, DirectedGraph
    >>> firm = DirectedGraph(criterion=BDeu(ess=10))
    """

    ess: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_parameters(self, {"ess": Number(above=0)})


class Scored(NamedTuple):
    """A criterion: its name, the factor of its penalty, and the equivalent sample size."""

    name: str
    discount: float | None = None
    ess: float = 1.0


class Found(NamedTuple):
    """A directed acyclic graph, and how the search for it went."""

    dag: BoolArray
    is_consistent: bool
    n_iter: int
    converged: bool


class DirectedGraph(LinearNetwork, TableEstimator):
    r"""Which way influences run, as far as the data can tell: by the best score or by tests.

    Linear Gaussian data, and levels, tell a directed network only up to Markov equivalence: same
    edges, same places where two arcs meet without an edge between their tails. ``cpdag_`` shows
    what that identifies; ``graph_`` and ``coef_`` are one network of the class. By default the
    network with the best score is searched over orders of the columns [1]_, which on simulated
    networks makes the fewest errors of all methods here. Columns count as if standardised: their
    variances often give the order of simulated columns away, but mean nothing where units are
    arbitrary. Text, categories and booleans are columns with levels; where there are any, numbers
    are normal in each configuration of the levels (conditional Gaussian).

    An arc means a cause only if no common cause of two columns is missing, no column feeds back on
    itself through others, and the rows were not selected by what follows from the columns.

    Parameters
    ----------
    method : {"boss", "ges", "exact", "pc", "blankets"}
        By the best order of the columns (BOSS [1]_, `edgewise.solvers.boss_bayes_net`), for up to
        20 columns also by the next, of which the better score counts, and for up to 5 by
        ``"exact"``; by greedy search among equivalence classes (`edgewise.solvers.ges_bayes_net`);
        the best score of all, for up to 20 columns (`edgewise.solvers.exact_bayes_net`); by tests
        of independence:
        PC-stable with colliders by the largest p-value
        (`edgewise.solvers.directed.separation.stable_skeleton`), or
        IAMB as in `BlanketBayesNet`. Where tests contradict each other on directions, the surest
        count.
    criterion : {"bic", "bge", "bdeu"}, BIC or BDeu
        `BIC`; or the marginal likelihood: of numbers under a normal-Wishart prior (BGe), of levels
        under a Dirichlet prior (`BDeu`), and under both for a table of both, by either name.
        Whatever the method, ``criterion_value_`` is in its terms.
    kinds : mapping of str to str, sequence of str or "guess", optional
        Kind of columns by name, or of every column: ``"binary"``, ``"ordinal"`` and ``"nominal"``
        have levels, without an order; ``"continuous"`` and ``"count"`` are numbers. By default
        text, categories and booleans have levels and numbers have none; ``"guess"`` takes few
        whole numbers for levels too, see `edgewise.data.kinds.guess_kind`.
    significance : float
        Level of each test of ``"pc"`` and ``"blankets"``.
    forbidden : array of bool of shape (m, m) or iterable of pairs, optional
        Forbidden arcs, as a matrix with entry [i, j] for i -> j, or as pairs (from, to) of
        columns by name or number. Rows and columns of a data frame are found by name.
    required : array of bool of shape (m, m) or iterable of pairs, optional
        Required arcs.
    tiers : sequence of m numbers or mapping of columns to numbers, optional
        No arc leads from a column to one in a lower tier, such as from later to earlier
        measurements. None or NaN, or no entry, where nothing is known.
    missing : {"error", "pairwise", "em", "drop"}
        What to do with NaN: refuse; take each covariance from the rows that have both columns; or
        use Gaussian maximum likelihood of the observed entries (EM); with levels, drop the row.
        Scores and tests count the rows of the pair of columns with fewest in common.
    repair : {None, "ridge", "clip"}
        What to do with columns bound by exact relations: refuse them, or raise the small
        eigenvalues of their correlations. ``treatment_`` then says how.
    n_jobs : int, optional
        Starts at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles the orders that ``"boss"`` starts from and perturbs those it settles on, None in
        the same way each time, and draws the rows of ``sample``.

    Attributes
    ----------
    cpdag_ : Graph
        Directed; an edge whose direction is not identified runs both ways. With ``forbidden``,
        ``required`` or ``tiers``, these direct more.
    graph_ : Graph
        Directed and without cycles, one of those that ``cpdag_`` stands for; the weight of an arc
        is its coefficient for standardised columns. With levels it has no sign: the partial
        correlation that tells as much, :math:`\sqrt{1 - e^{-2I}}` with I the information of child
        and parent given the other parents.
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the least squares coefficient of the arc i -> j of ``graph_``, in the
        units of X. Like what follows from it, only where all columns are numbers.
    criterion_value_ : float
        Of ``graph_`` for standardised columns, on the scale of a log-likelihood: larger is better.
    intercept_, noise_variance_ : ndarray of shape (m,)
        Of each column's equation.
    order_ : ndarray of shape (m,)
        Tier of each column in ``graph_``, from 0: the longest path of arcs that ends in it.
    location_ : ndarray of shape (m,)
        Mean of the columns.
    kinds_ : dict of str to str
        Kind of each column, by name.
    levels_ : list
        Levels of each column that has some, None for the others.
    probabilities_ : list of ndarray
        Where all columns have levels: of each column given its parents, an axis for each parent and
        the last for the column, with a prior worth ``BDeu.ess`` rows.
    is_consistent_ : bool
        Whether tests did not contradict each other on directions; True for scores.
    converged_, n_iter_, treatment_
        Whether the search ended by itself, its sweeps or steps, and what was done to the data.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Andrews, Ramsey, Sanchez-Romero, Camchong and Kummerfeld (2023). Fast scalable and
       accurate discovery of DAGs using the best order score search and grow-shrink trees.
       *NeurIPS* 36. https://doi.org/10.48550/arXiv.2310.17679

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from edgewise import DirectedGraph
    >>> rng = np.random.default_rng(0)
    >>> rain, sprinkler, wet, slip = rng.normal(size=(4, 1000))
    >>> wet += rain + sprinkler
    >>> slip += wet
    >>> lawn = pd.DataFrame({"slip": slip, "rain": rain, "sprinkler": sprinkler, "wet": wet})
    >>> model = DirectedGraph().fit(lawn)
    >>> model.cpdag_.edges()[["source", "target"]]
          source target
    0       rain    wet
    1  sprinkler    wet
    2        wet   slip
    >>> model.do({"wet": 2.0}).round(1)
    array([ 2.1, -0. , -0. ,  2. ])
    """

    _methods = "Directions were learned up to Markov equivalence."
    _cites = ()
    #: The same with the method, and its references.
    _methods_by: ClassVar[Mapping[str, tuple[str, tuple[str, ...]]]] = {
        "boss": ("the best order score search (Andrews et al. 2023)", ("andrews2023",)),
        "ges": ("greedy equivalence search (Chickering 2002)", ("chickering2002",)),
        "exact": (
            "the best score of all directed graphs (Silander and Myllymäki 2006)",
            ("silander2006",),
        ),
        "pc": (
            "tests, PC-stable (Colombo and Maathuis 2014), and Meek's rules (Meek 1995)",
            ("colombo2014", "meek1995"),
        ),
        "blankets": (
            "tests, IAMB (Tsamardinos et al. 2003), and Meek's rules (Meek 1995)",
            ("tsamardinos2003", "meek1995"),
        ),
    }

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "method": OneOf("boss", "ges", "exact", "pc", "blankets"),
        "missing": OneOf("error", "pairwise", "em", "drop"),
        "repair": CONSTRAINTS["repair"],
    }
    _matrices_held = 10.0
    _copies_held = 4.5

    def __init__(
        self,
        method: str = "boss",
        *,
        criterion: str | BIC | BDeu = "bic",
        kinds: Any = None,
        significance: float = 0.01,
        forbidden: Any = None,
        required: Any = None,
        tiers: Any = None,
        missing: str = "error",
        repair: str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.method = method
        self.criterion = criterion
        self.kinds = kinds
        self.significance = significance
        self.forbidden = forbidden
        self.required = required
        self.tiers = tiers
        self.missing = missing
        self.repair = repair
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        interventions: Any = None,
    ) -> Self:
        """Learn the network.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            Rows.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row; a weight of 2 counts as two equal rows.
        interventions : sequence of n columns, or array of bool of shape (n, m), optional
            The column that was set from outside in each row, by name or number (None, NaN, an empty
            text or -1 where none was), or which ones were. Such rows tell nothing of what the
            column responds to, but which way its edges run. Not for tests.

        Returns
        -------
        DirectedGraph
        """
        check_parameters(self, self._constraints)
        if interventions is not None and self.method in ("pc", "blankets"):
            raise InputError("method_without_interventions", "method", method=self.method)
        kinds = level_kinds(X, self.kinds)
        if kinds is not None:
            return self._fit_levels(X, kinds, sample_weight, interventions)
        scored = self._scored()
        self._check_numbers(scored.name)
        problem = network_problem(
            self,
            X,
            sample_weight,
            "Pass the rows; edgewise.solvers.boss_bayes_net takes a covariance.",
            interventions,
        )
        statistics, n_samples, known = problem.statistics, problem.n_samples, problem.known
        if n_samples <= 3:
            raise InputError("too_few_rows_for_directions", n_samples=n_samples)
        sample = Sample.observed(statistics.S, n_samples)
        if free := problem.free:
            sample = Sample(free.covariances, free.n_samples, free.which, n_samples, free.told)
        found = self._by_tests(problem)
        is_scored = found is None
        if found is None:
            allowed = None if known.is_empty else known.allowed
            found = self._by_score(
                scored_problem(sample, scored.name, scored.discount, allowed, known.required)
            )
        cpdag = identified_arcs(found.dag, known.allowed, sample.told)
        if is_scored:
            found = found._replace(dag=representative(found.dag, cpdag, known.allowed))
        self.cpdag_ = self._store_network(found.dag, cpdag, statistics, problem.free)
        most = int(found.dag.sum(axis=0).max())
        score = gaussian_score(sample, scored.name, scored.discount, most)
        restored = statistics.restored
        told = None if sample.told is None else restored(sample.told)
        self._store_search(found, -dag_cost(score, found.dag), restored(known.allowed), told)
        self.kinds_ = dict.fromkeys(self.graph_.names, "continuous")
        self.levels_: list[Any] = [None] * len(self.kinds_)
        self.__dict__.pop("probabilities_", None)
        return self

    def _fit_levels(
        self,
        X: Any,
        kinds: Mapping[str, str],
        sample_weight: ArrayLike | None,
        interventions: Any,
    ) -> Self:
        """Learn the network of columns of which some have levels."""
        scored = self._scored()
        check_level_score(scored.name, self.method, kinds)
        names = list(kinds)
        is_set = read_interventions(interventions, len(X), names)
        table, mixed, _ = read_level_rows(self, X, kinds, sample_weight, is_set)
        if table.n_samples <= 3:
            raise InputError("too_few_rows_for_directions", n_samples=table.n_samples)
        known = known_arcs(self.forbidden, self.required, self.tiers, names)
        allowed = None if known.is_empty else known.allowed
        told = None if is_set is None else told_apart(is_set)
        problem = table_problem(
            table, scored.name, scored.discount, scored.ess, allowed, known.required, told
        )
        if self.method == "pc":
            found = self._by_level_tests(table, known, names, problem.place)
        else:
            found = self._by_score(problem)
        dag, place = found.dag, problem.place
        cpdag = identified_arcs(dag, known.allowed, told)
        # With mixed columns, the networks of an equivalence class may score differently.
        if self.method != "pc" and not {*kinds.values()} & {"continuous", "count"}:
            dag = representative(dag, cpdag, known.allowed, place)
        labels = self._names()
        self.graph_ = Graph(
            arc_strengths(table, dag), names=labels, directed=True, adjacency=dag, signed=~dag
        )
        self.cpdag_ = Graph(cpdag.astype(float), names=labels, directed=True)
        self.order_ = longest_paths(dag)
        score = -dag_cost(problem.score, dag[np.ix_(place, place)])
        self._store_search(found, score, known.allowed, told)
        self.treatment_ = list(mixed.treatment)
        self.kinds_ = dict(zip(mixed.names, mixed.kinds, strict=True))
        self.levels_ = list(mixed.levels)
        # A fit to other columns before this one leaves nothing behind.
        for name in ("coef_", "intercept_", "noise_variance_", "location_", "probabilities_"):
            self.__dict__.pop(name, None)
        if (table.n_levels > 0).all():
            self.probabilities_ = conditional_tables(table, dag, scored.ess)
        return self

    def do(self, values: Mapping[Any, Any]) -> Any:
        """Mean of every column, or probabilities of its levels, when some are set from outside.

        Arcs into the columns that are set no longer count; all others follow their equations, or
        the probabilities given their parents. Only as good as the directions of the arcs, of which
        those that are not identified may be reversed:
        `edgewise.inference.causal_effects` has the range, and intervals. Not for mixed columns
        (levels and numbers).

        Parameters
        ----------
        values : mapping
            What each column is set to, by name or number: a number, or one of its levels.

        Returns
        -------
        ndarray of shape (n_features,), or dict of str to dict
            Means; of columns with levels, the probability of each level, by name.
        """
        if not hasattr(self, "probabilities_"):
            return super().do(values)
        names = self.graph_.names
        fixed = {}
        for key, value in values.items():
            column = column_number(key, names)
            fixed[column] = level_number(value, self.levels_[column], names[column])
        found = marginals_when_set(self.probabilities_, self.graph_.adjacency, fixed)
        return {
            name: dict(zip(levels, chances.tolist(), strict=True))
            for name, levels, chances in zip(names, self.levels_, found, strict=True)
        }

    def score(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> float:
        """Mean log-likelihood per row: Gaussian, or that of the levels.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            Rows. One with missing values does not count, unless ``missing="error"``, which refuses
            it. Not for tables with both levels and numbers.
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        float
        """
        if not hasattr(self, "probabilities_"):
            return super().score(X, y, sample_weight)
        codes, weights = read_new_levels(self, X, sample_weight)
        logs = level_log_likelihood(self.probabilities_, self.graph_.adjacency, codes)
        return float(np.average(logs, weights=weights))

    def _scored(self) -> Scored:
        """Return the criterion by its name and numbers."""
        if isinstance(self.criterion, BIC):
            return Scored("bic", discount=self.criterion.penalty_discount)
        if isinstance(self.criterion, BDeu):
            return Scored("bdeu", ess=self.criterion.ess)
        check_parameters(self, {"criterion": OneOf("bic", "bge", "bdeu")})
        return Scored(self.criterion)

    def _check_numbers(self, criterion: str) -> None:
        """Refuse options that are for columns with levels."""
        for parameter, value, refused, instead in (
            ("criterion", criterion, "bdeu", '"bge", its like for numbers, or "bic"'),
            ("missing", self.missing, "drop", '"em" or "pairwise", which leave out no row'),
        ):
            if value == refused:
                raise InputError(
                    "option_needs_levels", parameter, name=parameter, value=value, instead=instead
                )

    def _store_search(
        self, found: Found, criterion_value: float, allowed: BoolArray, told: BoolArray | None
    ) -> None:
        self.criterion_value_ = criterion_value
        self.is_consistent_ = found.is_consistent
        self.converged_ = found.converged
        self.n_iter_ = found.n_iter
        self._allowed, self._told = allowed, told

    def _by_tests(self, problem: NetworkProblem) -> Found | None:
        """Learn a structure by tests of independence; None for the other methods."""
        S, n_samples, known = problem.statistics.S, problem.n_samples, problem.known
        if self.method == "blankets":
            settings = BlanketBayesNet(significance=self.significance)
            structure = learn_structure(S, n_samples, settings, known, problem.names)
            return Found(structure.dag, structure.is_consistent, 1, True)
        if self.method == "pc":
            skeleton = stable_skeleton(
                S,
                n_samples,
                significance=self.significance,
                allowed=None if known.is_empty else known.allowed,
                required=known.required,
            )
            return Found(*direct_edges(skeleton, known, problem.names), 1, True)
        return None

    def _by_level_tests(
        self, table: LevelTable, known: KnownArcs, names: list[str], place: IntArray
    ) -> Found:
        """Learn a structure by tests of levels.

        Where tests contradict each other, their order decides: that of the columns in ``place``,
        which the data determine.
        """
        block = np.ix_(place, place)
        here = KnownArcs(allowed=known.allowed[block], required=known.required[block])
        skeleton = table_skeleton(
            table.arranged(place),
            significance=self.significance,
            allowed=None if known.is_empty else here.allowed,
            required=here.required,
        )
        arranged, is_consistent = direct_edges(skeleton, here, [names[k] for k in place])
        dag = np.zeros_like(arranged)
        dag[block] = arranged
        return Found(dag, is_consistent, 1, True)

    def _by_score(self, problem: ScoredProblem) -> Found:
        """Learn a structure by its score."""
        m = len(problem.place)
        if self.method == "exact" and m > MOST_EXACT:
            raise InputError("too_many_columns_for_exact", most_exact=MOST_EXACT, m=m)
        if self.method == "exact" or (self.method == "boss" and m <= FEW):
            found = search_all(problem)
        elif self.method == "ges":
            found = search_classes(problem)
        else:
            seed = 0 if self.random_state is None else self.random_state
            found = best_order(problem, random_state=seed, n_jobs=self.n_jobs)
            if m <= MOST_COMPARED:
                found = min(found, search_classes(problem), key=lambda one: one.objective)
        return Found(found.value, True, found.n_iter, found.converged)
