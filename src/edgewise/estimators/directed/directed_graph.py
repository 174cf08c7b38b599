"""Directed networks up to Markov equivalence, by whichever search is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Self

from numpy.typing import ArrayLike

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, RandomState
from edgewise.estimators.base.statistics import CONSTRAINTS
from edgewise.estimators.base.table import TableEstimator
from edgewise.estimators.directed.blankets import BlanketBayesNet, direct_edges, learn_structure
from edgewise.estimators.directed.linear_network import (
    LinearNetwork,
    NetworkProblem,
    network_problem,
)
from edgewise.graph.equivalence import complete_dag
from edgewise.solvers import boss_bayes_net, exact_bayes_net, ges_bayes_net, stable_skeleton
from edgewise.solvers.directed.greedy import MOST_EXACT, SCORES, dag_cost


class Found(NamedTuple):
    """A directed acyclic graph, and how the search for it went."""

    dag: BoolArray
    is_consistent: bool
    n_iter: int
    converged: bool


class DirectedGraph(LinearNetwork, TableEstimator):
    r"""Which way influences run, as far as the data can tell: by the best score or by tests.

    Linear Gaussian data tell a directed network only up to Markov equivalence: same edges, same
    places where two arcs meet without an edge between their tails. ``cpdag_`` shows what that
    identifies; ``graph_`` and ``coef_`` are one network of the class. By default the network with
    the best score is searched over orders of the columns [1]_, which on simulated networks makes
    the fewest errors of all methods here. Columns count as if standardised: their variances often
    give the order of simulated columns away, but mean nothing where units are arbitrary.

    An arc means a cause only if no common cause of two columns is missing, no column feeds back on
    itself through others, and the rows were not selected by what follows from the columns.

    Parameters
    ----------
    method : {"boss", "ges", "exact", "pc", "blankets"}
        By the best order of the columns (BOSS [1]_, `edgewise.solvers.boss_bayes_net`); by greedy
        search among equivalence classes (`edgewise.solvers.ges_bayes_net`); the best score of all,
        for up to 20 columns (`edgewise.solvers.exact_bayes_net`); by tests of independence:
        PC-stable with colliders by the largest p-value (`edgewise.solvers.stable_skeleton`), or
        IAMB as in `BlanketBayesNet`. Where tests contradict each other on directions, the surest
        count.
    score : {"bic", "bge"}
        BIC, or the marginal likelihood under a normal-Wishart prior (BGe). Whatever the method,
        ``score_`` is in its terms.
    penalty_discount : float, optional
        Factor of the penalty of ``"bic"``. By default 2, or what makes it the extended BIC with
        gamma = 1 where that is more.
    significance : float
        Level of each test of ``"pc"`` and ``"blankets"``.
    forbidden : array of bool of shape (m, m) or iterable of pairs, optional
        Arcs that cannot be: as a matrix with entry [i, j] for i -> j, or as pairs (from, to) of
        columns by name or number. Rows and columns of a data frame are found by name.
    required : array of bool of shape (m, m) or iterable of pairs, optional
        Arcs that must be.
    tiers : sequence of m numbers or mapping of columns to numbers, optional
        No arc leads from a column to one in a lower tier, such as from later to earlier
        measurements. None or NaN, or no entry, where nothing is known.
    n_starts : int
        Most orders that ``"boss"`` starts from. It stops once the best score was found twice.
    missing : {"error", "pairwise", "em"}
        What to do with NaN: refuse; take each covariance from the rows that have both columns; or
        maximise the Gaussian likelihood of what is there. Scores and tests count the rows of the
        pair of columns that has fewest in common.
    repair : {None, "ridge", "clip"}
        What to do with columns bound by exact relations: refuse them, or raise the small
        eigenvalues of their correlations. ``treatment_`` then says how.
    n_jobs : int, optional
        Starts at a time. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        Shuffles the orders that ``"boss"`` starts from, None in the same way each time, and draws
        the rows of ``sample``.

    Attributes
    ----------
    cpdag_ : Graph
        Directed; an edge whose direction is not identified runs both ways. With ``forbidden``,
        ``required`` or ``tiers``, these direct more.
    graph_ : Graph
        Directed and without cycles, one of those that ``cpdag_`` stands for; the weight of an arc
        is its coefficient for standardised columns.
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the least squares coefficient of the arc i -> j of ``graph_``, in the
        units of X.
    score_ : float
        Of ``graph_`` for standardised columns, on the scale of a log-likelihood: larger is better.
    intercept_, noise_variance_ : ndarray of shape (m,)
        Of each column's equation.
    order_ : ndarray of shape (m,)
        Tier of each column in ``graph_``, from 0: the longest path of arcs that ends in it.
    total_effects_ : ndarray of shape (m, m)
        Entry [i, j] is by how much j rises when i is set one unit higher, over all paths.
    location_ : ndarray of shape (m,)
        Mean of the columns.
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
        "score": OneOf(*SCORES),
        "penalty_discount": Number(above=0, or_none=True),
        "n_starts": Number(at_least=1, is_whole=True),
        "missing": CONSTRAINTS["missing"],
        "repair": CONSTRAINTS["repair"],
    }
    _matrices_held = 10.0
    _copies_held = 4.5

    def __init__(
        self,
        method: str = "boss",
        *,
        score: str = "bic",
        penalty_discount: float | None = None,
        significance: float = 0.01,
        forbidden: Any = None,
        required: Any = None,
        tiers: Any = None,
        n_starts: int = 5,
        missing: str = "error",
        repair: str | None = None,
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.method = method
        self.score = score
        self.penalty_discount = penalty_discount
        self.significance = significance
        self.forbidden = forbidden
        self.required = required
        self.tiers = tiers
        self.n_starts = n_starts
        self.missing = missing
        self.repair = repair
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the network.

        Parameters
        ----------
        X : array-like or data frame of shape (n, m)
            Rows.
        y : ignored
        sample_weight : array-like of shape (n,), optional
            Weight of each row; a weight of 2 counts as two equal rows.

        Returns
        -------
        DirectedGraph
        """
        check_parameters(self, self._constraints)
        problem = network_problem(
            self,
            X,
            sample_weight,
            "Pass the rows; edgewise.solvers.boss_bayes_net takes a covariance.",
        )
        statistics, n_samples = problem.statistics, problem.n_samples
        if n_samples <= 3:
            raise InputError(f"Directions are learned from more than 3 rows, got {n_samples:g}.")
        found = self._by_tests(problem)
        if found is None:
            found = self._by_score(problem)
        cpdag = complete_dag(found.dag, problem.known.allowed)
        self.cpdag_ = self._store_network(found.dag, cpdag, statistics)
        cost = dag_cost(statistics.S, n_samples, found.dag, self.score, self.penalty_discount)
        self.score_ = -cost
        self.is_consistent_ = found.is_consistent
        self.converged_ = found.converged
        self.n_iter_ = found.n_iter
        return self

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

    def _by_score(self, problem: NetworkProblem) -> Found:
        """Learn a structure by its score."""
        S, known = problem.statistics.S, problem.known
        if self.method == "exact" and len(S) > MOST_EXACT:
            raise InputError(
                f'method="exact" goes through all subsets of at most {MOST_EXACT} columns; there '
                f'are {len(S)}. Pass method="boss", or fewer columns.'
            )
        options: dict[str, Any] = {
            "score": self.score,
            "penalty_discount": self.penalty_discount,
            "allowed": None if known.is_empty else known.allowed,
            "required": known.required,
        }
        search = {"ges": ges_bayes_net, "exact": exact_bayes_net}.get(self.method, boss_bayes_net)
        if search is boss_bayes_net:
            options["n_starts"] = self.n_starts
            options["n_jobs"] = self.n_jobs
            options["random_state"] = 0 if self.random_state is None else self.random_state
        found = search(S, problem.n_samples, **options)
        return Found(found.value, True, found.n_iter, found.converged)
