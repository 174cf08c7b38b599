"""Bayesian networks by Markov blankets and tests of independence as an estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Self

from numpy.typing import ArrayLike

from edgewise._core.constraints import Constraint, Number, OneOf, check_parameters
from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, RandomState
from edgewise.estimators.base.statistics import CONSTRAINTS
from edgewise.estimators.base.table import TableEstimator
from edgewise.estimators.directed.known_arcs import KnownArcs, refuse_forced_cycle
from edgewise.estimators.directed.linear_network import LinearNetwork, network_problem
from edgewise.graph.equivalence import complete_dag, extend_pattern, orient_skeleton
from edgewise.solvers import markov_blankets
from edgewise.solvers.directed.blankets import lasso_blankets, total_conditioning
from edgewise.solvers.directed.greedy import greedy_bayes_net
from edgewise.solvers.directed.separation import SkeletonSolution, separating_sets

METHODS: Final = (
    "iamb",
    "inter-iamb",
    "fast-iamb",
    "iamb-npc",
    "inter-iamb-npc",
    "gs",
    "tc",
    "tc-bw",
    "l1mb",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Structure:
    """A learned structure.

    Attributes
    ----------
    blankets : ndarray of bool, shape (m, m)
        Pairs in each other's blankets.
    dag : ndarray of bool, shape (m, m)
        Entry [i, j] is the arc i -> j.
    cpdag : ndarray of bool, shape (m, m)
        Arcs shared by all graphs that cannot be told from ``dag``; other edges both ways.
    is_consistent : bool
        Whether the tests did not contradict each other on directions.
    n_tests : int
        Number of tests of independence.
    n_steps : int
        Steps of the greedy search; 1 where directions are from tests.
    converged : bool
        Whether it ended by itself.
    """

    blankets: BoolArray
    dag: BoolArray
    cpdag: BoolArray
    is_consistent: bool
    n_tests: int
    n_steps: int
    converged: bool


def learn_structure(
    R: FloatArray,
    n_samples: float,
    settings: BlanketBayesNet,
    known: KnownArcs,
    names: Sequence[str],
) -> Structure:
    """Find blankets, and in them neighbours and directions, as the parameters of a model say."""
    members, n_tests = _find_members(R, n_samples, settings)
    # The search, and separating sets from both sides, drop false members themselves; asking that
    # both blankets agree would lose more true ones than it keeps false ones out.
    takes_either = settings.search == "greedy" or settings.method.endswith("npc")
    blankets = members | members.T if takes_either else members & members.T
    if settings.search == "greedy":
        return _climb(R, n_samples, settings, known, blankets, n_tests)
    found = separating_sets(
        R,
        n_samples,
        blankets,
        significance=settings.significance,
        max_condition=settings.max_condition,
        allowed=None if known.is_empty else known.allowed,
        required=known.required,
    )
    dag, is_consistent = direct_edges(found, known, names)
    return Structure(
        blankets=blankets,
        dag=dag,
        cpdag=complete_dag(dag, known.allowed),
        is_consistent=is_consistent,
        n_tests=n_tests + found.n_tests,
        n_steps=1,
        converged=True,
    )


def direct_edges(
    found: SkeletonSolution, known: KnownArcs, names: Sequence[str]
) -> tuple[BoolArray, bool]:
    """Direct the edges of a skeleton; also say whether its colliders do not contradict each other.

    The surest come first; one that contradicts another before it, or would close a cycle with
    those, does not count.
    """
    refuse_forced_cycle(found.value, known, names)
    pattern = orient_skeleton(found.value, found.colliders, known.allowed)
    dag, is_consistent = extend_pattern(pattern, known.allowed)
    first, child, second = found.colliders.T
    # A common child that contradicts a surer one was left out before there was a pattern.
    return dag, is_consistent and bool((dag[first, child] & dag[second, child]).all())


def _find_members(
    R: FloatArray, n_samples: float, settings: BlanketBayesNet
) -> tuple[BoolArray, int]:
    """Whether i is in the blanket of j, and the number of tests that took."""
    method, significance = settings.method, settings.significance
    if method == "l1mb":
        return lasso_blankets(R, n_samples, gamma=settings.gamma).blankets, 0
    if method in ("tc", "tc-bw"):
        _refuse_few_rows(len(R), n_samples, method)
        found = total_conditioning(
            R, n_samples, significance=significance, backward=method == "tc-bw"
        )
    else:
        found = markov_blankets(
            R,
            n_samples,
            method,
            significance=significance,
            max_condition=settings.max_condition,
        )
    members: BoolArray = found.value
    return members, found.n_tests


def _refuse_few_rows(m: int, n_samples: float, method: str) -> None:
    if n_samples <= m + 3:
        raise InputError(
            "too_few_rows_for_method", method=method, m=m + 3, m2=m, n_samples=n_samples
        )


def _climb(
    R: FloatArray,
    n_samples: float,
    settings: BlanketBayesNet,
    known: KnownArcs,
    blankets: BoolArray,
    n_tests: int,
) -> Structure:
    found = greedy_bayes_net(
        R,
        n_samples,
        gamma=settings.gamma,
        allowed=blankets & known.allowed,
        required=known.required,
    )
    return Structure(
        blankets=blankets,
        dag=found.value,
        cpdag=complete_dag(found.value, known.allowed),
        is_consistent=True,
        n_tests=n_tests,
        n_steps=found.n_iter,
        converged=found.converged,
    )


class BlanketBayesNet(LinearNetwork, TableEstimator):
    r"""Which way influences run, as far as the data can tell: by tests of independence.

    First the Markov blanket [2]_ of each column is found: the columns given which it is independent
    of all others. Two columns in each other's blankets are joined unless some subset of the blanket
    separates them. Where x and y are not joined but are both joined with z, which is not in the set
    that separates them, arcs meet: x -> z <- y. Meek's rules [1]_ then direct every edge that
    these arcs force; ``cpdag_`` shows which, and leaves the others without a direction, since no
    linear Gaussian data can tell it. ``graph_`` and ``coef_`` take one direction for each that
    agrees with it.

    All tests are of partial correlations by Fisher's z, see
    `edgewise.solvers.directed.partial_correlation.fisher_z_test`; with
    exact correlations of a network that hides no independence, every method finds its
    ``cpdag_``. The result does not depend on the order or the units of the columns. On simulated
    networks it makes fewer errors than `GaussianBayesNet`.

    Parameters
    ----------
    method : str
        How blankets are found: by adding and dropping columns one test at a time (``"iamb"``,
        ``"inter-iamb"``, ``"fast-iamb"``, ``"iamb-npc"``, ``"inter-iamb-npc"``, ``"gs"``,
        `edgewise.solvers.markov_blankets`); by the partial correlations given all other columns,
        as they are or by backward elimination, which takes more rows than columns plus 3
        (``"tc"``, ``"tc-bw"``, `edgewise.solvers.directed.blankets.total_conditioning`); or by
        lasso paths
        (``"l1mb"``, `edgewise.solvers.directed.blankets.lasso_blankets`).
    significance : float
        Level of each test. Larger ones find more edges, and more false ones.
    search : {"tests", "greedy"}
        Find neighbours and directions inside the blankets by tests; or by adding, deleting and
        reversing arcs as long as the BIC improves
        (`edgewise.solvers.directed.greedy.greedy_bayes_net`), which with
        ``"l1mb"`` is L1MB as published and finds directions less reliably.
    forbidden : array of bool of shape (m, m) or iterable of pairs, optional
        Forbidden arcs, as a matrix with entry [i, j] for i -> j, or as pairs (from, to) of
        columns by name or number. Rows and columns of a data frame are found by name.
    required : array of bool of shape (m, m) or iterable of pairs, optional
        Required arcs.
    tiers : sequence of m numbers or mapping of columns to numbers, optional
        No arc leads from a column to one in a lower tier, such as from later to earlier
        measurements. None or NaN, or no entry, where nothing is known.
    max_condition : int, optional
        Largest separating set that is tried. By default as large as 20,000 tests for each pair
        allow: all subsets of blankets of up to 15 columns.
    gamma : float
        For ``"l1mb"`` and ``"greedy"``: from 0, the BIC, to 1, the extended BIC that allows the
        fewest arcs.
    missing : {"error", "pairwise", "em"}
        What to do with NaN: refuse; take each covariance from the rows that have both columns; or
        use Gaussian maximum likelihood of the observed entries (EM). Tests count the rows of the
        pair of columns with fewest in common.
    repair : {None, "ridge", "clip"}
        What to do with columns bound by exact relations: refuse them, or raise the small
        eigenvalues of their correlations. ``treatment_`` then says how.
    random_state : int, Generator, RandomState or None
        Draws the rows of ``sample``; nothing else is random.

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
    intercept_, noise_variance_ : ndarray of shape (m,)
        Of each column's equation.
    blankets_ : ndarray of bool, shape (m, m)
        Which columns are in each other's Markov blankets.
    order_ : ndarray of shape (m,)
        Tier of each column in ``graph_``, from 0: the longest path of arcs that ends in it.
    location_ : ndarray of shape (m,)
        Mean of the columns.
    n_tests_ : int
        Number of tests.
    is_consistent_ : bool
        Whether the tests did not contradict each other on directions. Otherwise the surest come
        first, and some arcs of the rest are turned round.
    converged_, n_iter_, treatment_
        Whether the greedy search ended by itself and its length (True and 1 for tests), and what
        was done to the data.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Meek (1995). Causal inference and causal explanation with background knowledge. *UAI*.
       https://doi.org/10.48550/arXiv.1302.4972
    .. [2] Pellet and Elisseeff (2008). Using Markov blankets for causal structure learning.
       *Journal of Machine Learning Research* 9. https://jmlr.org/papers/v9/pellet08a.html

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from edgewise import BlanketBayesNet
    >>> rng = np.random.default_rng(0)
    >>> rain, sprinkler, wet, slip = rng.normal(size=(4, 1000))
    >>> wet += rain + sprinkler
    >>> slip += wet
    >>> lawn = pd.DataFrame({"slip": slip, "rain": rain, "sprinkler": sprinkler, "wet": wet})
    >>> model = BlanketBayesNet().fit(lawn)
    >>> model.graph_.edges()[["source", "target"]]
          source target
    0        wet   slip
    1  sprinkler    wet
    2       rain    wet
    >>> bool((model.cpdag_.adjacency == (model.coef_ != 0)).all())
    True
    """

    _methods = (
        "Directions were learned up to Markov equivalence, by Meek's rules (Meek 1995), from "
        "Markov blankets."
    )
    _cites = ("meek1995",)
    #: How blankets are found, and the references of it.
    _methods_by: ClassVar[Mapping[str, tuple[str, tuple[str, ...]]]] = {
        "iamb": ("tests, IAMB (Tsamardinos et al. 2003)", ("tsamardinos2003",)),
        "inter-iamb": ("tests, Inter-IAMB (Tsamardinos et al. 2003)", ("tsamardinos2003",)),
        "iamb-npc": ("tests, IAMBnPC (Tsamardinos et al. 2003)", ("tsamardinos2003",)),
        "inter-iamb-npc": ("tests, Inter-IAMBnPC (Tsamardinos et al. 2003)", ("tsamardinos2003",)),
        "fast-iamb": (
            "tests, Fast-IAMB (Yaramakala and Margaritis 2005)",
            ("yaramakala2005",),
        ),
        "gs": ("tests, grow-shrink (Margaritis and Thrun 1999)", ("margaritis1999",)),
        "tc": ("tests, total conditioning (Pellet and Elisseeff 2008)", ("pellet2008",)),
        "tc-bw": ("tests, total conditioning (Pellet and Elisseeff 2008)", ("pellet2008",)),
        "l1mb": (
            "lasso regressions, L1MB (Schmidt, Niculescu-Mizil and Murphy 2007)",
            ("schmidt2007",),
        ),
    }

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "method": OneOf(*METHODS),
        "search": OneOf("tests", "greedy"),
        "gamma": Number(at_least=0, at_most=1),
        "missing": CONSTRAINTS["missing"],
        "repair": CONSTRAINTS["repair"],
    }
    _matrices_held = 10.0
    _copies_held = 4.5

    def __init__(
        self,
        method: str = "iamb",
        significance: float = 0.01,
        *,
        search: str = "tests",
        forbidden: Any = None,
        required: Any = None,
        tiers: Any = None,
        max_condition: int | None = None,
        gamma: float = 0.0,
        missing: str = "error",
        repair: str | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.method = method
        self.significance = significance
        self.search = search
        self.forbidden = forbidden
        self.required = required
        self.tiers = tiers
        self.max_condition = max_condition
        self.gamma = gamma
        self.missing = missing
        self.repair = repair
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
        BlanketBayesNet
        """
        check_parameters(self, self._constraints)
        problem = network_problem(
            self,
            X,
            sample_weight,
            "Pass the rows; edgewise.solvers.markov_blankets and separating_sets take a "
            "covariance.",
        )
        structure = learn_structure(
            problem.statistics.S, problem.n_samples, self, problem.known, problem.names
        )
        self.cpdag_ = self._store_network(structure.dag, structure.cpdag, problem.statistics)
        self._allowed = problem.statistics.restored(problem.known.allowed)
        self.blankets_ = problem.statistics.restored(structure.blankets)
        self.n_tests_ = structure.n_tests
        self.is_consistent_ = structure.is_consistent
        self.converged_ = structure.converged
        self.n_iter_ = structure.n_steps
        return self
