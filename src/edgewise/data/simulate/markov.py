"""Discrete Markov networks with a table of potentials per clique."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.parallel import as_generator
from edgewise._core.typing import BoolArray, FloatArray, IntArray, RandomState
from edgewise.data.cliques import CliqueLayout, check_adjacency, maximal_cliques
from edgewise.data.codes import check_cardinalities, check_codes


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
    >>> model = markov_model([[0, 1, 0], [1, 0, 1], [0, 1, 0]], rng=0)
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
            raise InputError(f"Got {len(given)} cliques and {len(tables)} tables of potentials.")
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
        from edgewise.data.simulate._markov_kernels import conditional_distributions

        if not 0 <= variable < self.n_features:
            raise InputError(
                f"variable must lie between 0 and {self.n_features - 1}, got {variable}."
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
        from edgewise.data.simulate._markov_kernels import add_log_conditionals

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

    @cached_property
    def layout(self) -> CliqueLayout:
        """Where the table of each clique stands in `cells`."""
        return CliqueLayout.from_cliques(self.cliques, self.cardinalities)

    @cached_property
    def cells(self) -> FloatArray:
        """The log potentials of all cliques in one vector."""
        return np.concatenate([table.ravel() for table in self.potentials])


def markov_model(
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
    >>> from edgewise.data import graph_structure
    >>> model = markov_model(graph_structure(4, "ring"), cardinalities=[2, 3, 2, 4], rng=0)
    >>> [table.shape for table in model.potentials]
    [(2, 3), (2, 4), (3, 2), (2, 4)]
    """
    is_edge = check_adjacency(adjacency)
    levels = check_cardinalities(cardinalities, len(is_edge))
    if not (0.0 <= low <= high < np.inf and high > 0.0):
        raise InputError(
            "Potentials are drawn between low and high with 0 <= low <= high and high above 0; "
            f"got low={low} and high={high}."
        )
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


def _levels_of_tables(cliques: Sequence[Sequence[int]], tables: Sequence[FloatArray]) -> IntArray:
    """Read the number of levels of each variable off the shapes of the tables."""
    levels: dict[int, int] = {}
    for clique, table in zip(cliques, tables, strict=True):
        if table.ndim != len(clique):
            raise InputError(
                f"The table of clique {tuple(clique)} has {table.ndim} axes for {len(clique)} "
                "members."
            )
        if not np.isfinite(table).all():
            raise InputError(f"The log potentials of clique {tuple(clique)} are not all finite.")
        for v, length in zip(clique, table.shape, strict=True):
            if levels.setdefault(v, length) != length:
                raise InputError(
                    f"Variable {v} has {levels[v]} levels in one table and {length} in that of "
                    f"clique {tuple(clique)}."
                )
    if not levels:
        raise InputError("A model needs at least one clique.")
    return np.array([levels.get(v, 1) for v in range(max(levels) + 1)], dtype=np.int64)
