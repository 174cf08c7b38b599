"""Markov networks of discrete variables as an estimator."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from edgewise._core.errors import InputError
from edgewise._core.memory import Arrays
from edgewise._core.parallel import step_counter
from edgewise._core.typing import AnyArray, FloatArray, RandomState
from edgewise.data.levels import DiscreteTable, Level, check_levels, read_levels
from edgewise.data.markov import MarkovModel, maximal_cliques
from edgewise.estimators.base.table import (
    column_number,
    named,
    note_columns,
    require_fit_memory,
    save_estimator,
    show_fit,
)
from edgewise.graph import Graph
from edgewise.selection.choose import ConvergenceWarning
from edgewise.solvers.discrete.pair_tests import smallest_pair_p_value
from edgewise.solvers.discrete.potentials import fit_potentials
from edgewise.solvers.discrete.scores import edge_associations
from edgewise.solvers.discrete.search import StructureSolution, learn_structure
from edgewise.stats.counts import Counts

#: Prior by the number of columns, with a test before any edge.
SPARSE: Final = "sparse"
#: Level of that test.
LEVEL: Final = 0.05


class DiscreteMarkovNet(BaseEstimator):
    r"""Which discrete variables are directly linked: Markov networks by posterior scores.

    Two variables are joined when they are dependent given all others. A structure asserts for
    every pair that it is dependent or independent given the neighbours of one of the two, and each
    assertion has a posterior probability given the data. With :math:`B_i` the neighbours of
    :math:`i`, the independence-based score

    .. math::
        \mathrm{IB}(G) = \sum_{(i, j) \in G} \log P(i \not\perp j \mid B_i \setminus \{j\})
        + \sum_{(i, j) \notin G} \log P(i \perp j \mid B_i)

    takes each pair in both orders [1]_. The blankets joint posterior takes it once, with the
    neighbours of the one that has fewer of them [2]_.

    Parameters
    ----------
    criterion : {"bjp", "ib", "mpl"}
        The score: blankets joint posterior; independence-based; or marginal pseudo-likelihood, see
        `edgewise.solvers.log_score`. With the default prior, the first finds known graphs best, see
        "What the defaults do, and why" in the guide.
    search : {"hill", "and", "or", "exhaustive"}
        Flip the least supported pair again and again; or try all structures of up to 7 variables.
        For ``"mpl"`` each variable first finds neighbours by itself: ``"hill"`` climbs among the
        pairs that either found, ``"and"`` keeps what both found, ``"or"`` what either found.
    patience : int
        Steps without a better graph before the search ends; 1 is the published rule.
    max_degree : int, optional
        Largest number of neighbours of a variable. By default there is no limit, but with
        ``pseudocount="bdeu"`` :math:`2 + \log_2 n` in ``"hill"``, for n rows.
    pseudocount : float or "bdeu"
        Dirichlet parameter of every cell of the tables, for ``"bjp"`` and ``"ib"``; or ``ess``
        shared out among the cells.
    prior : float or "sparse"
        Probability of independence before seeing data, for ``"bjp"`` and ``"ib"``. ``"sparse"`` is
        :math:`1 - 1/p` for p columns, half an edge per column, and the graph is empty
        unless some pair of columns passes an exact test of independence at 5 %, by Bonferroni. A
        number is the published score, without that test; 0.5 is its prior.
    ess : float
        Equivalent sample size for ``"mpl"`` and for ``pseudocount="bdeu"``.
    ties : {"mean", "index"}
        What ``"bjp"`` takes where both columns have equally many neighbours: the mean of both
        assertions, which does not depend on the order of columns, or as published the assertion of
        the column that comes first.
    cardinalities : int or array-like, optional
        Says that the columns hold level numbers from 0, and how many levels there are.
    missing : {"error", "drop"}
        Refuse missing values, or leave out rows that have any.
    random_state : int, Generator, RandomState or None
        Seed of ``sample``.
    verbose : int
        Above 0, a counter of steps is drawn on standard error.

    Attributes
    ----------
    graph_ : Graph
        The weight of an edge is how strong the dependence is given the neighbours, see
        `edgewise.solvers.discrete.scores.edge_associations`: Kendall's tau-b, from -1 to 1, where
        both columns hold
        numbers or booleans; Cramér's V, from 0 to 1 and without a sign, where one holds text.
        ``confidence`` is the posterior probability of dependence, by ``support_``.
    support_ : ndarray of shape (n_features, n_features)
        Log posterior odds of the dependence of each pair, joined or not (for ``"mpl"``, what the
        score gains by the edge).
    criterion_value_ : float
        Score of the structure.
    smallest_p_value_ : float
        With ``prior="sparse"``, the smallest p-value of the exact tests of all pairs, multiplied by
        their number; NaN with any other.
    history_ : ndarray of shape (``n_iter_``, 3)
        Score after each step of the search, and the pair of columns that was flipped.
    n_tests_ : int
        Tests of independence, or families, that were computed.
    n_iter_ : int
        Steps of the search.
    converged_ : bool
        True: the search ends by itself. Only an exhaustive one proves that nothing is better.
    levels_ : list of tuple
        Levels of each column.
    cliques_, potentials_ : list
        Parameters: maximal cliques of the graph and their log potentials, fitted when first asked
        for, also by ``score``, ``conditional``, ``sample`` and ``save``.
    treatment_ : list of str
        What was done to the rows.
    n_samples_ : int
        Rows learned from.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X is a data frame with text column names.

    References
    ----------
    .. [1] Schlüter, Bromberg and Edera (2014). The IBMAP approach for Markov network structure
       learning. *Annals of Mathematics and Artificial Intelligence* 72.
       https://doi.org/10.1007/s10472-014-9419-5
    .. [2] Schlüter, Strappa, Milone and Bromberg (2018). Blankets joint posterior score for
       learning Markov network structures. *International Journal of Approximate Reasoning* 92.
       https://doi.org/10.48550/arXiv.1608.02315

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from edgewise import DiscreteMarkovNet
    >>> rng = np.random.default_rng(0)
    >>> smokes = rng.choice(["no", "yes"], 300)
    >>> coughs = np.where(rng.random(300) < 0.8, smokes, "no")
    >>> sex = rng.choice(["f", "m"], 300)
    >>> frame = pd.DataFrame({"smokes": smokes, "coughs": coughs, "sex": sex})
    >>> model = DiscreteMarkovNet().fit(frame)
    >>> model.graph_.edges()[["source", "target"]].values.tolist()
    [['smokes', 'coughs']]
    >>> {level: round(p, 2) for level, p in model.conditional("coughs", {"smokes": "yes"}).items()}
    {'no': 0.23, 'yes': 0.77}
    """

    _methods = (
        "The structure of the Markov network was learned by scoring Markov blankets (Schlüter"
        " et al. 2014; Schlüter et al. 2018)."
    )
    _cites = ("schluter2014", "schluter2018")
    _html_repr = show_fit

    def __init__(
        self,
        criterion: str = "bjp",
        search: str = "hill",
        *,
        patience: int = 20,
        max_degree: int | None = None,
        pseudocount: float | str = 1.0,
        prior: float | str = SPARSE,
        ess: float = 1.0,
        ties: str = "mean",
        cardinalities: ArrayLike | None = None,
        missing: str = "error",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.criterion = criterion
        self.search = search
        self.patience = patience
        self.max_degree = max_degree
        self.pseudocount = pseudocount
        self.prior = prior
        self.ess = ess
        self.ties = ties
        self.cardinalities = cardinalities
        self.missing = missing
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self.missing == "drop"
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the structure.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p), or Counts
            Discrete columns: whole numbers, booleans, text or categories. Declared categories
            count as levels whether they occur or not. An array of unsigned bytes whose columns
            hold level numbers from 0 without gaps is read in pieces, so that it may be mapped from
            a file larger than memory. `edgewise.stats.stream_counts` counts any other that is.
        y : ignored

        Returns
        -------
        DiscreteMarkovNet
        """
        table = self._table_of(X)
        found = self._search(table)
        for outdated in ("cliques_", "potentials_"):
            self.__dict__.pop(outdated, None)
        self._table = table
        names = table.names if hasattr(self, "feature_names_in_") else None
        is_ordered = np.array([not isinstance(levels[0], str) for levels in table.levels])
        self.graph_ = Graph(
            edge_associations(
                table.codes, found.value, table.cardinalities, is_ordered, table.counts
            ),
            names=names,
            adjacency=found.value,
            confidence=expit(found.support),
            signed=np.logical_and.outer(is_ordered, is_ordered),
        )
        self.support_ = found.support
        self.criterion_value_ = found.objective
        self.history_ = np.column_stack([found.history, found.flips])
        self.n_tests_ = found.n_tests
        self.n_iter_ = found.n_iter
        self.converged_ = found.converged
        self.levels_ = list(table.levels)
        self.treatment_ = list(table.treatment)
        self.n_samples_ = table.n_samples
        return self

    def _search(self, table: DiscreteTable) -> StructureSolution:
        """Search for the graph, or score the empty one where no pair passes the test."""
        n_features = len(table.levels)
        prior, max_degree, search = self.prior, self.max_degree, self.search
        self.smallest_p_value_ = math.nan
        if isinstance(prior, str):
            if prior != SPARSE:
                raise InputError("prior_range", sparse=SPARSE, prior=prior)
            prior = max(1.0 - 1.0 / n_features, 0.5)
            n_pairs = n_features * (n_features - 1) / 2
            smallest = smallest_pair_p_value(table.codes, table.cardinalities, table.counts)
            self.smallest_p_value_ = min(n_pairs * smallest, 1.0)
            if self.smallest_p_value_ > LEVEL:
                max_degree, search = 0, "hill" if search == "or" else search
        with step_counter(self.verbose) as watch:
            return learn_structure(
                table.codes,
                self.criterion,
                search=search,
                patience=self.patience,
                cardinalities=table.cardinalities,
                counts=table.counts,
                pseudocount=self.pseudocount,
                prior=prior,
                ess=self.ess,
                ties=self.ties,
                max_degree=max_degree,
                watch=watch,
            )

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log pseudo-likelihood per row: the sum over columns given all others.

        Parameters
        ----------
        X : array-like or data frame of shape (n, p)
            Rows with levels that the fit knows.
        y : ignored

        Returns
        -------
        float
        """
        check_is_fitted(self)
        rows = read_levels(X, self.missing)
        note_columns(self, X, reset=False)
        codes = self._codes(rows)
        return float(np.mean(self._model().log_pseudo_likelihood(codes)))

    def conditional(self, variable: str | int, given: Mapping[Any, Any]) -> dict[Level, float]:
        """Distribution of one column given its neighbours.

        Parameters
        ----------
        variable : str or int
            Name or number of the column.
        given : mapping
            Level of each neighbour, by name or number; other columns may be there and make no
            difference.

        Returns
        -------
        dict
            Probability of each level.
        """
        check_is_fitted(self)
        names = self.graph_.names
        column = column_number(variable, names)
        states = np.zeros((1, self.n_features_in_), dtype=np.int64)
        known = set()
        for name, level in given.items():
            k = column_number(name, names)
            if level not in self.levels_[k]:
                raise InputError(
                    "unknown_level_of_node",
                    name=self.graph_.names[k],
                    level=level,
                    level2=[str(known_level) for known_level in self.levels_[k]],
                )
            states[0, k] = self.levels_[k].index(level)
            known.add(k)
        neighbors = np.flatnonzero(self.graph_.adjacency[column]).tolist()
        if unknown := [self.graph_.names[k] for k in neighbors if k not in known]:
            raise InputError("evidence_incomplete", name=self.graph_.names[column], unknown=unknown)
        probabilities = self._model().conditional(column, states)[0]
        return dict(zip(self.levels_[column], probabilities.tolist(), strict=True))

    def sample(self, n_samples: int = 1, *, burn_in: int = 100, thin: int = 1) -> Any:
        """Draw rows from the learned network.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        burn_in, thin : int
            Of the Gibbs sampler, which is used where the network has too many states to list.

        Returns
        -------
        DataFrame or ndarray
            With the levels of the data learned from: a data frame if it was learned from one.
        """
        check_is_fitted(self)
        codes = self._model().sample(n_samples, burn_in=burn_in, thin=thin, rng=self.random_state)
        columns = [np.array(levels)[codes[:, k]] for k, levels in enumerate(self.levels_)]
        if not hasattr(self, "feature_names_in_"):
            is_text = {column.dtype.kind == "U" for column in columns}
            # numpy would turn numbers beside text into text.
            return np.column_stack(
                columns if len(is_text) == 1 else [c.astype(object) for c in columns]
            )
        import pandas as pd

        return pd.DataFrame(dict(zip(self.graph_.names, columns, strict=True)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the estimator, fitted or not, to one file without pickled code.

        Parameters
        ----------
        path : str or path
            File to write, by custom ending in ``.edgewise``; `edgewise.load` reads it. The
            parameters of a fitted network go with it; the rows do not.
        """
        if hasattr(self, "graph_"):
            self._model()
        save_estimator(self, path)

    @cached_property
    def cliques_(self) -> list[tuple[int, ...]]:
        """Maximal cliques of the graph."""
        check_is_fitted(self)
        return list(maximal_cliques(self.graph_.adjacency))

    @cached_property
    def potentials_(self) -> list[FloatArray]:
        """Log potentials of each clique, fitted when first asked for."""
        check_is_fitted(self)
        if not hasattr(self, "_table"):
            raise InputError("network_saved_within")
        table = self._table
        fitted = fit_potentials(
            table.codes, self.cliques_, table.cardinalities, sample_weight=table.counts
        )
        if not fitted.converged:
            warnings.warn(
                ConvergenceWarning("potentials_not_converged", gap=fitted.gap), stacklevel=4
            )
        # Drop the training rows so that the model pickles small.
        del self._table
        return list(fitted.potentials)

    def _table_of(self, X: Any) -> DiscreteTable:
        """Rows as level numbers, or rows that were counted before; learn the column names."""
        if not isinstance(X, Counts):
            # Bytes are used as they are, wherever they lie; anything else is numbered anew.
            if getattr(X, "dtype", None) != np.uint8:
                require_fit_memory(self, X, lambda n, p: [Arrays(2.5, (n, p)), Arrays(2, (p, p))])
            rows = DiscreteTable.from_input(
                X, cardinalities=self.cardinalities, missing=self.missing
            )
            note_columns(self, X, reset=True)
            return rows
        if self.cardinalities is not None:
            raise InputError("counts_with_cardinalities")
        note_columns(self, named(X.states, X.names), reset=True)
        names = X.names or tuple(f"x{k}" for k in range(len(X.levels)))
        table = DiscreteTable(codes=X.states, levels=X.levels, names=names, counts=X.counts)
        return check_levels(table)

    def _codes(self, rows: DiscreteTable) -> AnyArray:
        """Level numbers of other rows, by the levels of the fit."""
        learned = DiscreteTable(
            codes=np.empty((0, self.n_features_in_), dtype=np.int64),
            levels=tuple(tuple(levels) for levels in self.levels_),
            names=tuple(self.graph_.names),
        )
        return learned.recode(rows)

    def _model(self) -> MarkovModel:
        return MarkovModel.from_potentials(self.cliques_, self.potentials_)
