"""Contingency counts of discrete columns, which can be merged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, IntArray
from edgewise.data.levels import MOST_AXES, DiscreteTable, Level, code_levels, code_type
from edgewise.data.table import Table
from edgewise.io.messages import describe_mismatch

#: A column with more levels holds measurements or row labels.
MOST_LEVELS: Final = 2**16
#: Different rows may take so many bytes.
MOST_BYTES: Final = 2**31
#: A contingency table may have so many cells.
MOST_CELLS: Final = 2**27
#: Rows are told apart by whole numbers up to here, and beyond it by comparing them.
MOST_NUMBERED: Final = 2**62


@dataclass(frozen=True, kw_only=True, eq=False)
class Counts:
    """How often each combination of levels occurs; can be merged in any order.

    Attributes
    ----------
    levels : tuple of tuple
        What the levels of each column are called: text, numbers or booleans.
    states : ndarray of int, shape (n_states, n_features)
        Combinations of levels that occur, by number, in lexicographic order.
    counts : ndarray of int, shape (n_states,)
        Rows with each of them.
    names : tuple of str or None
        Names of the columns, where they have any.

    See Also
    --------
    stream_counts : From chunks, files and clusters.

    Examples
    --------
    >>> counts = Counts.from_samples([[0, 1], [0, 1], [1, 0]])
    >>> counts.states.tolist(), counts.counts.tolist()
    ([[0, 1], [1, 0]], [2, 1])
    >>> counts.merge(counts).table(0)
    array([4, 2])
    """

    levels: tuple[tuple[Level, ...], ...]
    states: AnyArray
    counts: IntArray
    names: tuple[str, ...] | None = None

    @classmethod
    def from_samples(cls, X: Any) -> Counts:
        """Count rows.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Text, booleans, categories or whole numbers, none missing.

        Returns
        -------
        Counts
        """
        table = code_levels(Table.from_input(X))
        return cls.from_table(table, table.names if hasattr(X, "columns") else None)

    @classmethod
    def from_table(cls, table: DiscreteTable, names: Sequence[str] | None) -> Counts:
        """Count the rows of a table of level numbers.

        Parameters
        ----------
        table : DiscreteTable
            Coded rows.
        names : sequence of str or None
            Names of the columns, if they have any.

        Returns
        -------
        Counts
        """
        once = np.ones(len(table.codes), dtype=np.int64)
        given = None if names is None else tuple(names)
        return cls._distinct(table.codes, once, table.levels, given)

    @classmethod
    def merge_all(cls, parts: Sequence[Counts]) -> Counts:
        """Count the rows of all parts.

        Parameters
        ----------
        parts : sequence of Counts
            Of the same columns; levels may occur in one and not in another.

        Returns
        -------
        Counts
        """
        first = parts[0]
        for part in parts[1:]:
            if part.names != first.names or len(part.levels) != len(first.levels):
                raise InputError(
                    "counts_do_not_merge",
                    describe_mismatch=describe_mismatch(first._labels(), part._labels()),
                )
        levels = tuple(
            _union(label, [part.levels[k] for part in parts])
            for k, label in enumerate(first._labels())
        )
        return cls._distinct(
            np.concatenate([part._recoded(levels) for part in parts]),
            np.concatenate([part.counts for part in parts]),
            levels,
            first.names,
        )

    def merge(self, other: Counts) -> Counts:
        """Count the rows of both.

        Parameters
        ----------
        other : Counts
            Of the same columns.

        Returns
        -------
        Counts
            A new object.
        """
        return Counts.merge_all([self, other])

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def cardinalities(self) -> IntArray:
        """Number of levels of each column."""
        return np.array([len(levels) for levels in self.levels], dtype=np.int64)

    def table(self, *columns: str | int) -> IntArray:
        """Contingency table of some columns.

        Parameters
        ----------
        *columns : str or int
            Names or numbers of columns, one for each axis of the table.

        Returns
        -------
        ndarray of int
            Rows with each combination of levels, in the order of ``levels``.
        """
        places = [self._place(column) for column in columns]
        shape = tuple(self.cardinalities[places].tolist())
        if not places or math.prod(shape) > MOST_CELLS:
            raise InputError(
                "contingency_too_large",
                n_places=len(places),
                shape=shape,
                n_sites=math.prod(shape),
                most_cells=MOST_CELLS,
            )
        cells = np.ravel_multi_index(tuple(self.states[:, places].T), shape)
        found = np.zeros(math.prod(shape), dtype=np.int64)
        np.add.at(found, cells, self.counts)
        return found.reshape(shape)

    def _place(self, column: str | int) -> int:
        labels = self._labels()
        if column in labels:
            return labels.index(str(column))
        if isinstance(column, int) and 0 <= column < len(labels):
            return column
        raise InputError("unknown_column", column=column, labels=labels)

    def _labels(self) -> tuple[str, ...]:
        return self.names or tuple(f"x{k}" for k in range(len(self.levels)))

    def _recoded(self, levels: tuple[tuple[Level, ...], ...]) -> AnyArray:
        """Return the combinations by the numbers of other levels, which contain these."""
        dtype = code_type(np.array([len(column) for column in levels]))
        states = np.empty(self.states.shape, dtype=dtype)
        for k, (mine, theirs) in enumerate(zip(self.levels, levels, strict=True)):
            place = {level: code for code, level in enumerate(theirs)}
            states[:, k] = np.array([place[level] for level in mine], dtype=dtype)[
                self.states[:, k]
            ]
        return states

    @classmethod
    def _distinct(
        cls,
        codes: AnyArray,
        counts: IntArray,
        levels: tuple[tuple[Level, ...], ...],
        names: tuple[str, ...] | None,
        most_bytes: int = MOST_BYTES,
    ) -> Counts:
        """Add up the counts of equal rows."""
        shape = tuple(len(column) for column in levels)
        labels = names or tuple(f"x{k}" for k in range(len(shape)))
        if many := [labels[k] for k, count in enumerate(shape) if count > MOST_LEVELS]:
            raise InputError("too_many_levels", many=many, most_levels=MOST_LEVELS)
        if len(shape) <= MOST_AXES and math.prod(shape) <= MOST_NUMBERED:
            found, place = np.unique(
                np.ravel_multi_index(tuple(codes.T), shape), return_inverse=True
            )
            states = np.stack(np.unravel_index(found, shape), axis=1).astype(codes.dtype)
        else:
            states, place = np.unique(codes, axis=0, return_inverse=True)
        total = np.zeros(len(states), dtype=np.int64)
        np.add.at(total, place.reshape(-1), counts)
        if (size := states.nbytes + total.nbytes) > most_bytes:
            raise InputError("too_many_distinct_rows", n_states=len(states), size=size / 2**30)
        return cls(levels=levels, states=states, counts=total, names=names)


def _union(label: str, parts: Sequence[tuple[Level, ...]]) -> tuple[Level, ...]:
    """Levels of a column that occur in any part."""
    if all(levels == parts[0] for levels in parts):
        return parts[0]
    found = {level for levels in parts for level in levels}
    if len({isinstance(level, str) for level in found}) > 1:
        raise InputError("chunk_text_and_numbers", label=label)
    if any(list(levels) != sorted(levels) for levels in parts):
        raise InputError("chunk_categories_differ", label=label)
    if any(isinstance(level, float) for level in found):
        found = {float(level) for level in found}
    return tuple(sorted(found))
