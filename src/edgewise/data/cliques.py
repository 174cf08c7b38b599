"""Cliques of a graph, and the tables over them laid out in one vector."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.data.codes import check_cardinalities

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
        raise InputError(f"adjacency must be a square matrix, got shape {matrix.shape}.")
    if not np.isin(matrix, (0, 1)).all():
        raise InputError("adjacency must hold nothing but 0 and 1, or False and True.")
    is_edge: BoolArray = matrix.astype(bool)
    if not np.array_equal(is_edge, is_edge.T):
        i, j = np.argwhere(is_edge & ~is_edge.T)[0]
        raise InputError(
            f"adjacency must be symmetric: it has ({i}, {j}) and lacks ({j}, {i}). For the "
            "undirected version of an arrow pattern take adjacency | adjacency.T."
        )
    if is_edge.diagonal().any():
        raise InputError(f"adjacency joins variable {is_edge.diagonal().argmax()} to itself.")
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
                f"The tables of all cliques have {sum(sizes):.3g} cells, and {MOST_CELLS:.3g} is "
                f"the most; the largest is that of the {len(largest)} variables {largest}. Take a "
                "graph with smaller cliques."
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
            raise InputError(f"A clique is a set of variables, got {clique}.")
        if min(clique) < 0 or max(clique) >= n_features:
            raise InputError(
                f"Clique {clique} names a variable that is not there; {n_features} variables are "
                f"numbered 0 to {n_features - 1}."
            )
    if len({frozenset(clique) for clique in cliques}) < len(cliques):
        raise InputError("Each clique must be listed once. Add up the tables of those that repeat.")
    missing = sorted(set(range(n_features)) - {v for clique in cliques for v in clique})
    if missing:
        raise InputError(
            f"Variable {missing[0]} is in no clique. Give it one of its own: ({missing[0]},)."
        )
