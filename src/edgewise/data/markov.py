"""Discrete Markov networks with a table of potentials per clique."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.parallel import as_generator
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.levels import check_cardinalities, check_codes, code_type

SamplingMethod: TypeAlias = Literal["auto", "gibbs", "exact"]
SAMPLING_METHODS: Final[tuple[str, ...]] = get_args(SamplingMethod)

#: Up to this many states the whole distribution is written out.
MOST_STATES = 2**20


@kernel
def find_cells(
    row: AnyArray,
    variable: int,
    cliques: IntArray,
    offsets: IntArray,
    clique_start: IntArray,
    members: IntArray,
    strides: IntArray,
    cells: AnyArray,
) -> None:
    """Fill in the cells that the levels in ``row`` select with ``variable`` at level 0."""
    for q in range(len(cliques)):
        cell = offsets[cliques[q]]
        for k in range(clique_start[cliques[q]], clique_start[cliques[q] + 1]):
            if members[k] != variable:
                cell += strides[k] * np.int64(row[members[k]])
        cells[q] = cell


@kernel
def level_weights(
    potentials: FloatArray, cells: AnyArray, strides: IntArray, weights: FloatArray
) -> tuple[float, float]:
    r"""Fill in :math:`w_l \propto P(x_v = l \mid x_{-v})`, the largest of them 1.

    .. math:: \log w_l = \sum_{c \ni v} \theta_c(x_c) - m \quad \text{with } x_v = l

    Returns
    -------
    largest, total : float
        The largest of the sums, :math:`m`, and the sum of the weights.
    """
    largest = -math.inf
    for level in range(len(weights)):
        log_weight = 0.0
        for q in range(len(cells)):
            log_weight += potentials[cells[q] + strides[q] * level]
        weights[level] = log_weight
        largest = max(largest, log_weight)
    total = 0.0
    for level in range(len(weights)):
        weights[level] = math.exp(weights[level] - largest)
        total += weights[level]
    return largest, total


#: Largest number of cells in the tables of all cliques together: 1 GiB of numbers.
MOST_CELLS = 2**27

Clique = tuple[int, ...]


def maximal_cliques(adjacency: ArrayLike) -> tuple[Clique, ...]:
    """List the maximal sets of variables that are all joined to each other.

    Parameters
    ----------
    adjacency : array-like of bool, shape (n_features, n_features)
        Symmetric with a False diagonal.

    Returns
    -------
    tuple of tuple of int
        Each clique sorted, and the list too. An isolated variable is a clique by itself.

    References
    ----------
    C. Bron and J. Kerbosch (1973), Algorithm 457: finding all cliques of an undirected graph,
    Communications of the ACM 16, 575-577, doi:10.1145/362342.362367.

    Examples
    --------
    >>> maximal_cliques([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]])
    ((0, 1, 2), (3,))
    """
    import networkx

    is_edge = check_adjacency(adjacency)
    network = networkx.from_numpy_array(is_edge)
    return tuple(sorted(tuple(sorted(clique)) for clique in networkx.find_cliques(network)))


def check_adjacency(adjacency: ArrayLike) -> BoolArray:
    """Return an undirected graph as booleans, or raise an `InputError`.

    Examples
    --------
    >>> check_adjacency([[0, 1], [1, 0]])
    array([[False,  True],
           [ True, False]])
    """
    matrix = np.asarray(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) == 0:
        raise InputError("adjacency_not_square", shape=matrix.shape)
    if not np.isin(matrix, (0, 1)).all():
        raise InputError("adjacency_not_binary")
    is_edge: BoolArray = matrix.astype(bool)
    if not np.array_equal(is_edge, is_edge.T):
        i, j = np.argwhere(is_edge & ~is_edge.T)[0]
        raise InputError("adjacency_asymmetric", i=i, j=j)
    if is_edge.diagonal().any():
        raise InputError("adjacency_self_loop", node=is_edge.diagonal().argmax())
    return is_edge


@dataclass(frozen=True, kw_only=True, eq=False)
class CliqueLayout:
    """Where the tables of all cliques stand in one vector of cells.

    Clique c owns the cells ``offsets[c]`` to ``offsets[c + 1]``, in row-major order of its table.
    A member's level times its stride, added up over the members, is the place within. Kernels
    walk the cliques of variable v: entries ``variable_start[v]`` to ``variable_start[v + 1]`` of
    ``variable_cliques`` and ``variable_strides``.

    Attributes
    ----------
    cliques : tuple of tuple of int
        Members of each clique, one axis of its table each.
    cardinalities : ndarray of int, shape (n_features,)
        Levels of each variable.
    offsets : ndarray of int, shape (n_cliques + 1,)
        First cell of each clique, and the number of cells.
    clique_start : ndarray of int, shape (n_cliques + 1,)
        Where each clique starts in ``members`` and ``strides``.
    members, strides : ndarray of int
        Variables of all cliques one after the other, and the stride of each.
    variable_start : ndarray of int, shape (n_features + 1,)
        Where each variable starts in ``variable_cliques`` and ``variable_strides``.
    variable_cliques, variable_strides : ndarray of int
        Cliques of all variables one after the other, and the variable's stride in each.
    """

    cliques: tuple[Clique, ...]
    cardinalities: IntArray
    offsets: IntArray
    clique_start: IntArray
    members: IntArray
    strides: IntArray
    variable_start: IntArray
    variable_cliques: IntArray
    variable_strides: IntArray

    @classmethod
    def from_cliques(
        cls, cliques: Iterable[Sequence[int]], cardinalities: ArrayLike
    ) -> CliqueLayout:
        """Lay out one table per clique.

        Parameters
        ----------
        cliques : iterable of sequence of int
            Distinct sets of variables that contain every variable at least once.
        cardinalities : array-like of int, shape (n_features,)
            Levels of each variable.

        Examples
        --------
        >>> layout = CliqueLayout.from_cliques([(0, 1), (1, 2)], [2, 3, 2])
        >>> layout.offsets.tolist(), layout.variable_strides.tolist()
        ([0, 6, 12], [3, 1, 2, 1])
        """
        levels = check_cardinalities(cardinalities, np.size(cardinalities))
        sets = tuple(tuple(int(v) for v in clique) for clique in cliques)
        _check_cliques(sets, len(levels))
        sizes = [math.prod(int(levels[v]) for v in clique) for clique in sets]
        if sum(sizes) > MOST_CELLS:
            largest = sets[int(np.argmax(np.array(sizes, dtype=np.float64)))]
            raise InputError(
                "tables_too_large",
                sizes=sum(sizes),
                most_cells=MOST_CELLS,
                n_largest=len(largest),
                largest=largest,
            )
        members = np.array([v for clique in sets for v in clique], dtype=np.int64)
        clique_start = np.append(0, np.cumsum([len(clique) for clique in sets]))
        strides = np.concatenate([_strides(levels[list(clique)]) for clique in sets])
        by_variable = np.argsort(members, kind="stable")
        owners = np.repeat(np.arange(len(sets)), np.diff(clique_start))
        return cls(
            cliques=sets,
            cardinalities=levels,
            offsets=np.append(0, np.cumsum(sizes)),
            clique_start=clique_start,
            members=members,
            strides=strides,
            variable_start=np.searchsorted(members[by_variable], np.arange(len(levels) + 1)),
            variable_cliques=owners[by_variable],
            variable_strides=strides[by_variable],
        )

    @property
    def n_cells(self) -> int:
        """Number of cells in all tables."""
        return int(self.offsets[-1])

    def cliques_of(self, variable: int) -> tuple[IntArray, IntArray]:
        """Give the numbers of the cliques that hold ``variable``, and its stride in each."""
        own = slice(*self.variable_start[variable : variable + 2])
        return self.variable_cliques[own], self.variable_strides[own]

    def neighbors(self, variable: int) -> IntArray:
        """Give the variables that share a clique with ``variable``, sorted."""
        together = {v for c in self.cliques_of(variable)[0] for v in self.cliques[c]}
        return np.array(sorted(together - {variable}), dtype=np.int64)

    def tables(self, cells: FloatArray) -> tuple[FloatArray, ...]:
        """Cut a vector of cells into one array per clique, without copying."""
        return tuple(
            cells[first:last].reshape([int(self.cardinalities[v]) for v in clique])
            for clique, first, last in zip(
                self.cliques, self.offsets[:-1], self.offsets[1:], strict=True
            )
        )


def _strides(levels: IntArray) -> IntArray:
    """Strides of a row-major table with these side lengths."""
    strides: IntArray = np.append(np.cumprod(levels[:0:-1])[::-1], 1)
    return strides


def _check_cliques(cliques: Sequence[Clique], n_features: int) -> None:
    for clique in cliques:
        if not clique or len(set(clique)) < len(clique):
            raise InputError("invalid_clique", clique=clique)
        if min(clique) < 0 or max(clique) >= n_features:
            raise InputError(
                "clique_out_of_range",
                clique=clique,
                n_features=n_features,
                n_features2=n_features - 1,
            )
    if len({frozenset(clique) for clique in cliques}) < len(cliques):
        raise InputError("clique_repeated")
    missing = sorted(set(range(n_features)) - {v for clique in cliques for v in clique})
    if missing:
        raise InputError("variable_in_no_clique", missing=missing[0])


@kernel
def gibbs(
    potentials: FloatArray,
    cardinalities: IntArray,
    variable_start: IntArray,
    variable_cliques: IntArray,
    variable_strides: IntArray,
    state: IntArray,
    selected: IntArray,
    burn_in: int,
    thin: int,
    generator: np.random.Generator,
    rows: AnyArray,
) -> None:
    """Draw the variables in turn given the others, and keep every ``thin``-th sweep.

    ``state`` holds the levels and ``selected`` the cell of every clique that they select. A new
    level of one variable moves the cells of its own cliques and no others.
    """
    all_weights = np.empty(cardinalities.max())
    all_cells = np.empty(len(selected), dtype=np.int64)
    for sweep in range(1 - burn_in, 1 + thin * len(rows)):
        for v in range(len(state)):
            start, stop = variable_start[v], variable_start[v + 1]
            cliques = variable_cliques[start:stop]
            strides = variable_strides[start:stop]
            cells = all_cells[: stop - start]
            for q in range(len(cliques)):
                cells[q] = selected[cliques[q]] - strides[q] * state[v]
            weights = all_weights[: cardinalities[v]]
            _, left = level_weights(potentials, cells, strides, weights)
            left *= generator.random()
            level = 0
            while level < len(weights) - 1 and left >= weights[level]:
                left -= weights[level]
                level += 1
            state[v] = level
            for q in range(len(cliques)):
                selected[cliques[q]] = cells[q] + strides[q] * level
        if sweep > 0 and sweep % thin == 0:
            row = rows[sweep // thin - 1]
            for v in range(len(state)):
                row[v] = state[v]


@kernel
def conditional_distributions(
    potentials: FloatArray,
    offsets: IntArray,
    clique_start: IntArray,
    members: IntArray,
    strides: IntArray,
    variable: int,
    variable_cliques: IntArray,
    variable_strides: IntArray,
    X: AnyArray,
    probabilities: FloatArray,
) -> None:
    """Fill in the distribution of ``variable`` given the others, for each row of ``X``."""
    cells = np.empty(len(variable_cliques), dtype=np.int64)
    for n in range(len(X)):
        find_cells(X[n], variable, variable_cliques, offsets, clique_start, members, strides, cells)
        weights = probabilities[n]
        _, total = level_weights(potentials, cells, variable_strides, weights)
        for level in range(len(weights)):
            weights[level] /= total


@kernel
def add_log_conditionals(
    potentials: FloatArray,
    offsets: IntArray,
    clique_start: IntArray,
    members: IntArray,
    strides: IntArray,
    variable: int,
    variable_cliques: IntArray,
    variable_strides: IntArray,
    X: AnyArray,
    weights: FloatArray,
    values: FloatArray,
) -> None:
    """Add the log probability of ``variable`` given the others to the value of each row."""
    cells = np.empty(len(variable_cliques), dtype=np.int64)
    for n in range(len(X)):
        find_cells(X[n], variable, variable_cliques, offsets, clique_start, members, strides, cells)
        largest, total = level_weights(potentials, cells, variable_strides, weights)
        # Summed again rather than read off the weights, where it may have become 0.
        own = 0.0
        for q in range(len(cells)):
            own += potentials[cells[q] + variable_strides[q] * np.int64(X[n, variable])]
        values[n] += own - largest - math.log(total)


@dataclass(frozen=True, kw_only=True, eq=False)
class MarkovModel:
    r"""A distribution of discrete variables that factorises over the cliques of a graph.

    .. math:: P(x) \propto \exp \sum_c \theta_c(x_c)

    where :math:`x_c` are the levels of the members of clique :math:`c`, numbered from 0, and the
    table :math:`\theta_c` holds a log potential for each of their combinations.

    Attributes
    ----------
    cliques : tuple of tuple of int
        Members of each clique, sorted, and the cliques too.
    potentials : tuple of ndarray
        Log potentials of each clique, with one axis per member in the clique's order.
    cardinalities : ndarray of int, shape (n_features,)
        Number of levels of each variable.
    adjacency : ndarray of bool, shape (n_features, n_features)
        The graph: two variables are joined if a clique holds both.

    Examples
    --------
    >>> model = make_markov_model([[0, 1, 0], [1, 0, 1], [0, 1, 0]], rng=0)
    >>> model.cliques
    ((0, 1), (1, 2))
    >>> model.potentials[0].shape
    (2, 2)
    """

    cliques: tuple[tuple[int, ...], ...]
    potentials: tuple[FloatArray, ...]
    cardinalities: IntArray
    adjacency: BoolArray

    @classmethod
    def from_potentials(
        cls, cliques: Iterable[Sequence[int]], potentials: Iterable[ArrayLike]
    ) -> MarkovModel:
        """Take tables as they stand.

        Parameters
        ----------
        cliques : iterable of sequence of int
            Distinct sets of variables. They need not be maximal: pairs alone give a pairwise
            model. Every variable is in at least one.
        potentials : iterable of array-like
            Finite log potentials of each clique, one axis per member in the order given. The
            lengths of the axes are the numbers of levels.

        Examples
        --------
        >>> model = MarkovModel.from_potentials([(1, 0)], [[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]])
        >>> model.cliques, model.cardinalities.tolist()
        (((0, 1),), [2, 3])
        """
        given = [(tuple(int(v) for v in clique)) for clique in cliques]
        tables = [np.array(table, dtype=np.float64) for table in potentials]
        if len(given) != len(tables):
            raise InputError("cliques_and_tables", n_given=len(given), n_tables=len(tables))
        levels = _levels_of_tables(given, tables)
        ordered = sorted(
            (
                (tuple(sorted(clique)), np.ascontiguousarray(table.transpose(np.argsort(clique))))
                for clique, table in zip(given, tables, strict=True)
            ),
            key=lambda pair: pair[0],
        )
        layout = CliqueLayout.from_cliques([clique for clique, _ in ordered], levels)
        return _assemble(layout, tuple(table for _, table in ordered))

    @property
    def n_features(self) -> int:
        """Number of variables."""
        return len(self.cardinalities)

    @property
    def n_states(self) -> int:
        """Number of combinations of levels of all variables."""
        return math.prod(self.cardinalities.tolist())

    def conditional(self, variable: int, states: ArrayLike) -> FloatArray:
        r"""Distribution of one variable given all others.

        .. math:: P(x_v = l \mid x_{-v}) \propto \exp \sum_{c \ni v} \theta_c(x_c)

        Parameters
        ----------
        variable : int
            Which one.
        states : array-like of int, shape (n_samples, n_features)
            Levels of all variables. Only the columns of its neighbours are read.

        Returns
        -------
        ndarray of shape (n_samples, n_levels)
            Probabilities, each row adding up to 1.

        Examples
        --------
        >>> model = MarkovModel.from_potentials([(0, 1)], [[[0.0, 0.0], [0.0, np.log(3.0)]]])
        >>> model.conditional(0, [[0, 0], [0, 1]])
        array([[0.5 , 0.5 ],
               [0.25, 0.75]])
        """
        if not 0 <= variable < self.n_features:
            raise InputError(
                "variable_out_of_range", n_features=self.n_features - 1, variable=variable
            )
        columns = np.asarray(states)
        if columns.ndim == 2 and columns.shape[1] == self.n_features:
            columns = np.where(self.adjacency[variable], columns, 0)
        X = check_codes(columns, self.cardinalities)
        probabilities = np.empty((len(X), int(self.cardinalities[variable])))
        tables = self.layout
        conditional_distributions(
            self.cells,
            tables.offsets,
            tables.clique_start,
            tables.members,
            tables.strides,
            int(variable),
            *tables.cliques_of(variable),
            X,
            probabilities,
        )
        return probabilities

    def log_pseudo_likelihood(self, X: ArrayLike) -> FloatArray:
        r"""Log pseudo-likelihood of each row.

        .. math:: \sum_v \log P(x_v \mid x_{-v})

        Parameters
        ----------
        X : array-like of int, shape (n_samples, n_features)
            Levels of all variables.

        Returns
        -------
        ndarray of shape (n_samples,)

        References
        ----------
        J. Besag (1975), Statistical analysis of non-lattice data, The Statistician 24, 179-195,
        doi:10.2307/2987782.

        Examples
        --------
        >>> model = MarkovModel.from_potentials([(0,), (1,)], [[0.0, 0.0], [0.0, 0.0]])
        >>> np.exp(model.log_pseudo_likelihood([[0, 1]]))
        array([0.25])
        """
        codes = check_codes(X, self.cardinalities)
        values = np.zeros(len(codes))
        tables = self.layout
        for variable, n_levels in enumerate(self.cardinalities.tolist()):
            add_log_conditionals(
                self.cells,
                tables.offsets,
                tables.clique_start,
                tables.members,
                tables.strides,
                variable,
                *tables.cliques_of(variable),
                codes,
                np.empty(n_levels),
                values,
            )
        return values

    def sample(
        self,
        n_samples: int,
        rng: RandomState = None,
        *,
        method: SamplingMethod = "auto",
        burn_in: int = 100,
        thin: int = 1,
    ) -> AnyArray:
        """Draw rows.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        rng : int, Generator or None
            Seed.
        method : {"auto", "gibbs", "exact"}
            ``"exact"`` writes out the probabilities of all states, up to 2**20 of them, and
            draws independent rows. ``"gibbs"`` draws each variable in turn from its distribution
            given the others; its rows are a Markov chain, so that neighbouring rows are
            correlated. ``"auto"`` is exact where that is possible.
        burn_in : int
            Sweeps over all variables before the first row, from levels drawn evenly; for Gibbs
            only.
        thin : int
            Sweeps from one row to the next; for Gibbs only.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Levels, of type uint8 if no variable has more than 256 of them, else uint16 or int32.

        References
        ----------
        S. Geman and D. Geman (1984), Stochastic relaxation, Gibbs distributions, and the Bayesian
        restoration of images, IEEE Transactions on Pattern Analysis and Machine Intelligence 6,
        721-741, doi:10.1109/TPAMI.1984.4767596.

        Examples
        --------
        >>> from edgewise.data import load_network
        >>> model = make_markov_model(load_network("karate").adjacency, rng=0)
        >>> model.sample(1000, rng=1).shape
        (1000, 34)
        """
        if method not in SAMPLING_METHODS:
            raise InputError(
                "unknown_sampling_method",
                method=method,
                listed=", ".join(map(repr, SAMPLING_METHODS)),
            )
        if n_samples < 1:
            raise InputError("n_samples_range", n_samples=n_samples)
        if burn_in < 0 or thin < 1:
            raise InputError("burn_in_range", burn_in=burn_in, thin=thin)
        generator = as_generator(rng)
        if method == "gibbs" or (method == "auto" and self.n_states > MOST_STATES):
            return _walk(self, n_samples, burn_in, thin, generator)
        if self.n_states > MOST_STATES:
            raise InputError(
                "too_many_states",
                n_features=self.n_features,
                n_states=self.n_states,
                most_states=MOST_STATES,
            )
        return _sample_exact(self, n_samples, generator)

    @cached_property
    def layout(self) -> CliqueLayout:
        """Where the table of each clique stands in `cells`."""
        return CliqueLayout.from_cliques(self.cliques, self.cardinalities)

    @cached_property
    def cells(self) -> FloatArray:
        """The log potentials of all cliques in one vector."""
        return np.concatenate([table.ravel() for table in self.potentials])


def make_markov_model(
    adjacency: ArrayLike,
    *,
    cardinalities: ArrayLike = 2,
    low: float = 0.0,
    high: float = 1.0,
    rng: RandomState = None,
) -> MarkovModel:
    """Draw a Markov network on a graph: one table per maximal clique, with even random potentials.

    Parameters
    ----------
    adjacency : array-like of bool, shape (n_features, n_features)
        The graph, symmetric with a False diagonal.
    cardinalities : int or array-like of shape (n_features,)
        Number of levels of all variables, or of each.
    low, high : float
        Potentials (not their logarithms) are independent and uniform between these; at least 0.
        With equal bounds all states are equally likely.
    rng : int, Generator or None
        Seed.

    Returns
    -------
    MarkovModel

    References
    ----------
    F. Schlüter, Y. Strappa, D. H. Milone and F. Bromberg (2016), Blankets joint posterior score for
    learning Markov network structures, doi:10.48550/arXiv.1608.02315, whose simulations draw
    their distributions like this.

    Examples
    --------
    >>> from edgewise.data import make_graph
    >>> model = make_markov_model(make_graph(4, "ring"), cardinalities=[2, 3, 2, 4], rng=0)
    >>> [table.shape for table in model.potentials]
    [(2, 3), (2, 4), (3, 2), (2, 4)]
    """
    is_edge = check_adjacency(adjacency)
    levels = check_cardinalities(cardinalities, len(is_edge))
    if not (0.0 <= low <= high < np.inf and high > 0.0):
        raise InputError("potentials_range", low=low, high=high)
    layout = CliqueLayout.from_cliques(maximal_cliques(is_edge), levels)
    # Counted down from the upper end, so that a draw of exactly 0 does not make a potential of 0.
    drawn = high - (high - low) * as_generator(rng).random(layout.n_cells)
    return _assemble(layout, layout.tables(np.log(drawn)))


def _assemble(layout: CliqueLayout, tables: tuple[FloatArray, ...]) -> MarkovModel:
    n_features = len(layout.cardinalities)
    adjacency = np.zeros((n_features, n_features), dtype=bool)
    for clique in layout.cliques:
        adjacency[np.ix_(clique, clique)] = True
    np.fill_diagonal(adjacency, False)
    return MarkovModel(
        cliques=layout.cliques,
        potentials=tables,
        cardinalities=layout.cardinalities,
        adjacency=adjacency,
    )


def _walk(
    model: MarkovModel,
    n_samples: int,
    burn_in: int,
    thin: int,
    generator: np.random.Generator,
) -> AnyArray:
    tables = model.layout
    state = generator.integers(model.cardinalities)
    steps = tables.strides * state[tables.members]
    selected = tables.offsets[:-1] + np.add.reduceat(steps, tables.clique_start[:-1])
    rows = np.empty((n_samples, model.n_features), dtype=code_type(model.cardinalities))
    gibbs(
        model.cells,
        model.cardinalities,
        tables.variable_start,
        tables.variable_cliques,
        tables.variable_strides,
        state,
        selected,
        burn_in,
        thin,
        generator,
        rows,
    )
    return rows


def _sample_exact(model: MarkovModel, n_samples: int, generator: np.random.Generator) -> AnyArray:
    """Invert the distribution function over all states, in row-major order."""
    # Variables with one level get no axis, since numpy has only so many.
    levels = model.cardinalities
    log_weights = np.zeros(tuple(levels[levels > 1]))
    for clique, table in zip(model.cliques, model.potentials, strict=True):
        inside = np.isin(np.arange(model.n_features), clique)[levels > 1]
        log_weights += table.reshape(np.where(inside, levels[levels > 1], 1))
    cumulative = np.cumsum(np.exp(log_weights - log_weights.max()))
    drawn = np.searchsorted(
        cumulative[:-1], generator.random(n_samples) * cumulative[-1], side="right"
    )
    rows = np.zeros((n_samples, model.n_features), dtype=code_type(levels))
    for v in reversed(np.flatnonzero(levels > 1).tolist()):
        drawn, rows[:, v] = np.divmod(drawn, levels[v])
    return rows


def _levels_of_tables(cliques: Sequence[Sequence[int]], tables: Sequence[FloatArray]) -> IntArray:
    """Read the number of levels of each variable off the shapes of the tables."""
    levels: dict[int, int] = {}
    for clique, table in zip(cliques, tables, strict=True):
        if table.ndim != len(clique):
            raise InputError(
                "clique_table_axes", clique=tuple(clique), ndim=table.ndim, n_clique=len(clique)
            )
        if not np.isfinite(table).all():
            raise InputError("potentials_not_finite", clique=tuple(clique))
        for v, length in zip(clique, table.shape, strict=True):
            if levels.setdefault(v, length) != length:
                raise InputError(
                    "clique_levels_differ",
                    v=v,
                    level=levels[v],
                    length=length,
                    clique=tuple(clique),
                )
    if not levels:
        raise InputError("no_cliques")
    return np.array([levels.get(v, 1) for v in range(max(levels) + 1)], dtype=np.int64)
