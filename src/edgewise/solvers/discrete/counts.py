"""Counts of a variable with all others, in every configuration of its blanket, from one pass.

For variable i with blanket B, the rows that agree on B are a slice, and those that agree on i as
well a group. Adding up the rows of each group, with one column per level but the first of every
variable, gives the tables of (i, k) in every slice for all k outside B at once; those for k inside
B follow by adding up groups that differ in k alone. Memory follows the groups that occur, not all
that could.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, BoolArray, IntArray
from edgewise.data.levels import MOST_AXES

#: Rows are handed out at most so many bytes at a time: data on disk pass through memory in pieces.
CHUNK_BYTES = 2**26
#: Columns of indicators are filled up to a multiple of this, for the sake of vector instructions.
LANES = 32


class Chunk(NamedTuple):
    """Some rows of a table.

    Attributes
    ----------
    columns : ndarray of int, shape (n, n_rows)
        Levels, a variable at a time.
    marks : ndarray of uint8, shape (n_rows, width)
        Indicators of all levels but the first of every variable, filled up with zeros.
    weight : ndarray of int32, shape (n_rows,)
        How often each row stands.
    """

    columns: AnyArray
    marks: AnyArray
    weight: AnyArray


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedTable:
    """Discrete data as level numbers.

    Attributes
    ----------
    X : ndarray of int, shape (n_rows, n)
        Level of each variable, from 0; may be mapped from a file.
    cardinalities : ndarray of int, shape (n,)
        Number of levels, whether they occur or not.
    offsets : ndarray of int, shape (n + 1,)
        Columns ``offsets[k]`` to ``offsets[k + 1]`` mark levels 1, 2, ... of variable k.
    weight : ndarray of int32, shape (n_rows,), or None
        How often each row stands, if not once.
    chunk_bytes : int
        Most bytes of rows that are handed out at a time.
    """

    X: AnyArray
    cardinalities: IntArray
    offsets: IntArray
    weight: AnyArray | None = None
    chunk_bytes: int = CHUNK_BYTES

    @classmethod
    def from_codes(
        cls,
        X: AnyArray,
        cardinalities: IntArray,
        counts: IntArray | None = None,
        *,
        chunk_bytes: int = CHUNK_BYTES,
    ) -> CodedTable:
        """Take checked codes; equal rows of few variables are counted once, if not before."""
        offsets = np.append(0, np.cumsum(cardinalities - 1))
        weight = None if counts is None else counts.astype(np.int32)
        table = cls(
            X=X,
            cardinalities=cardinalities,
            offsets=offsets,
            weight=weight,
            chunk_bytes=chunk_bytes,
        )
        n_states = math.prod(cardinalities.tolist())
        if counts is not None or len(cardinalities) > MOST_AXES or 4 * n_states > len(X):
            return table
        count = table._count_states()
        seen = np.flatnonzero(count)
        rows = np.stack(np.unravel_index(seen, cardinalities), axis=1).astype(X.dtype)
        return replace(table, X=rows, weight=count[seen].astype(np.int32))

    @property
    def n_samples(self) -> int:
        """Number of rows, equal ones counted."""
        return len(self.X) if self.weight is None else int(self.weight.sum(dtype=np.int64))

    @property
    def width(self) -> int:
        """Number of columns of the level indicators."""
        return -(-max(int(self.offsets[-1]), 1) // LANES) * LANES

    def chunks(self) -> Iterator[Chunk]:
        """Yield all rows, some at a time."""
        step = self._chunk_rows
        if len(self.X) <= step:
            yield self._whole
            return
        for first in range(0, len(self.X), step):
            yield self._chunk(first, first + step)

    @property
    def _chunk_rows(self) -> int:
        return max(1, self.chunk_bytes // max(self.width, len(self.cardinalities)))

    @cached_property
    def _whole(self) -> Chunk:
        chunk = self._chunk(0, len(self.X))
        return chunk._replace(columns=np.ascontiguousarray(chunk.columns))

    def _chunk(self, first: int, last: int) -> Chunk:
        X = np.asarray(self.X[first:last])
        marks = np.zeros((len(X), self.width), dtype=np.uint8)
        if (self.cardinalities == 2).all():
            marks[:, : X.shape[1]] = X
        else:
            # An array that cannot be written to would make the kernel compile a second time.
            _mark_levels(np.require(X, requirements=["C", "W"]), self.offsets, marks)
        once = np.ones(len(X), dtype=np.int32)
        weight = once if self.weight is None else self.weight[first:last]
        return Chunk(columns=X.T, marks=marks, weight=weight)

    def _count_states(self) -> IntArray:
        """Count the rows in every configuration of all variables, the last running fastest."""
        strides = np.cumprod(np.append(1, self.cardinalities[:0:-1]))[::-1].copy()
        count = np.zeros(int(np.prod(self.cardinalities)), dtype=np.int64)
        for first in range(0, len(self.X), self._chunk_rows):
            columns = np.array(self.X[first : first + self._chunk_rows].T, order="C")
            count += np.bincount(encode(columns, strides), minlength=len(count))
        return count


@kernel
def encode(columns: AnyArray, strides: IntArray) -> IntArray:
    """Add up levels times strides, row by row."""
    codes = np.zeros(columns.shape[1], np.int64)
    for q in range(len(columns)):
        column = columns[q]
        stride = strides[q]
        for row in range(len(codes)):
            codes[row] += stride * column[row]
    return codes


@kernel
def _mark_levels(X: AnyArray, offsets: IntArray, marks: AnyArray) -> None:
    """Set indicators of the levels 1, 2, ... of every variable."""
    for s in range(X.shape[0]):
        for k in range(X.shape[1]):
            if X[s, k] > 0:
                marks[s, offsets[k] + X[s, k] - 1] = 1


#: Where the tables of all possible groups take no more, each has a place without being looked up.
DIRECT_BYTES = 2**20
#: Largest number of groups that integers can number.
MOST_NUMBERED = 2**62


class GroupCounts(NamedTuple):
    """Counts of one variable in the slices of its blanket.

    Attributes
    ----------
    levels : ndarray of int32, shape (n_groups, 1 + n_members)
        Level of the variable, then of the members of its blanket, in each group.
    strides : ndarray of int, shape (1 + n_members,)
        Weights whose sum with the levels tells groups apart.
    codes : ndarray of int, shape (n_groups,)
        Those sums.
    totals : ndarray of int, shape (n_groups,)
        Rows of each group.
    starts : ndarray of int, shape (n_slices + 1,)
        Groups ``starts[z]`` to ``starts[z + 1]`` are slice z.
    slice_totals : ndarray of int, shape (n_slices,)
        Rows of each slice.
    largest : int
        Most rows of a slice.
    places : ndarray of int, shape (n_groups,)
        Where each group stands in ``tables``.
    tables : ndarray of int32, shape (at least n_groups, width)
        Rows with each marked level.
    """

    levels: AnyArray
    strides: IntArray
    codes: IntArray
    totals: IntArray
    starts: IntArray
    slice_totals: IntArray
    largest: int
    places: IntArray
    tables: AnyArray


def count_groups(
    data: CodedTable, i: int, members: IntArray, *, direct_bytes: int = DIRECT_BYTES
) -> GroupCounts:
    """Count variable ``i`` with all others in every configuration of ``members`` that occurs."""
    chosen = np.append(i, members)
    radix = data.cardinalities[chosen]
    n_possible = math.prod(radix.tolist())
    strides = _strides(radix, n_possible)
    is_direct = 4 * n_possible * data.width <= direct_bytes
    codes = np.arange(n_possible if is_direct else 0)
    levels = np.empty((0, len(chosen)), dtype=np.int32)
    totals = np.zeros(len(codes), dtype=np.int64)
    tables = np.zeros((len(codes), data.width), dtype=np.int32)
    for chunk in data.chunks():
        columns = np.ascontiguousarray(chunk.columns[chosen])
        groups = encode(columns, strides)
        if not is_direct:
            codes, first_rows = number_codes(groups, codes)
            levels = np.concatenate([levels, columns[:, first_rows].T], dtype=np.int32)
            totals = np.append(totals, np.zeros(len(first_rows), dtype=np.int64))
            new_tables = np.zeros((len(first_rows), data.width), dtype=np.int32)
            tables = np.concatenate([tables, new_tables])
        _add_rows(groups, chunk.marks, chunk.weight, totals, tables)
    if is_direct:
        places = np.flatnonzero(totals)
        levels = (places[:, None] // strides % radix).astype(np.int32)
    else:
        places = np.lexsort((levels[:, 0], codes - strides[0] * levels[:, 0]))
        levels = levels[places]
    return _arranged(levels, strides, codes[places], totals[places], places, tables)


def _strides(radix: IntArray, n_possible: int) -> IntArray:
    if n_possible <= MOST_NUMBERED:
        return np.append(1, np.cumprod(radix[:-1]))
    # Random weights give two groups the same code once in 2**64, and a blanket may be as large
    # as it likes.
    return np.random.default_rng(0).integers(-(2**63), 2**63 - 1, size=len(radix))


def _arranged(
    levels: AnyArray,
    strides: IntArray,
    codes: IntArray,
    totals: IntArray,
    places: IntArray,
    tables: AnyArray,
) -> GroupCounts:
    """Find the slices of groups that are sorted by slice."""
    slices = codes - strides[0] * levels[:, 0]
    starts = np.flatnonzero(np.append(True, slices[1:] != slices[:-1])[: len(slices)])
    slice_totals = np.add.reduceat(totals, starts) if len(starts) else totals
    return GroupCounts(
        levels=levels,
        strides=strides,
        codes=codes,
        totals=totals,
        starts=np.append(starts, len(codes)),
        slice_totals=slice_totals,
        largest=int(slice_totals.max(initial=0)),
        places=places,
        tables=tables,
    )


@kernel
def _add_rows(
    groups: IntArray, marks: AnyArray, weight: AnyArray, totals: IntArray, tables: AnyArray
) -> None:
    """Add every row to the counts of its group."""
    width = marks.shape[1]
    for row in range(len(groups)):
        w = weight[row]
        totals[groups[row]] += w
        counts = tables[groups[row]]
        mark = marks[row]
        if w == 1:
            for k in range(width):
                counts[k] += mark[k]
        else:
            for k in range(width):
                counts[k] += w * mark[k]


@kernel
def number_codes(codes: IntArray, known: IntArray) -> tuple[IntArray, IntArray]:
    """Replace codes by their positions among those known, to which new ones are appended.

    Returns the known codes with the new ones, and where the new ones were first met.
    """
    size = 4
    while size < 2 * (len(known) + len(codes)):
        size *= 2
    table = np.full(size, -1)
    names = np.empty(len(known) + len(codes), np.int64)
    met = np.empty(len(codes), np.int64)
    count = 0
    for q in range(-len(known), len(codes)):
        code = codes[q] if q >= 0 else known[q + len(known)]
        place = _scatter(code) & (size - 1)
        while table[place] >= 0 and names[table[place]] != code:
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place] = count
            names[count] = code
            if q >= 0:
                met[count - len(known)] = q
            count += 1
        if q >= 0:
            codes[q] = table[place]
    return names[:count].copy(), met[: count - len(known)].copy()


@kernel
def _scatter(code: int) -> int:
    """Spread codes evenly: every bit of the code has a say in the lower bits of the result."""
    mixed = (code ^ (code >> 31)) * 7046029254386353131
    mixed = (mixed ^ (mixed >> 29)) * 7046029254386353131
    return mixed ^ (mixed >> 32)


@kernel
def merge_member(member: int, counts: GroupCounts) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Add up groups that differ in one member of the blanket alone.

    Returns the merged group of each group, the number of rows in each merged group, the slice of
    each merged group, and the number of rows in each of those slices.
    """
    levels, strides = counts.levels, counts.strides
    nothing = np.empty(0, np.int64)
    merged = np.empty(len(counts.codes), np.int64)
    for g in range(len(merged)):
        merged[g] = counts.codes[g] - strides[1 + member] * levels[g, 1 + member]
    slices, met = number_codes(merged, nothing)
    margins = np.zeros(len(slices), np.int64)
    for g in range(len(merged)):
        margins[merged[g]] += counts.totals[g]
    for m in range(len(slices)):
        slices[m] -= strides[0] * levels[met[m], 0]
    names, _ = number_codes(slices, nothing)
    sums = np.zeros(len(names), np.int64)
    for m in range(len(margins)):
        sums[slices[m]] += margins[m]
    return merged, margins, slices, sums


@kernel
def outside(i: int, members: IntArray, n: int) -> BoolArray:
    """Mark the variables that are neither ``i`` nor in its blanket."""
    is_outside = np.ones(n, np.bool_)
    is_outside[i] = False
    for k in members:
        is_outside[k] = False
    return is_outside


@kernel
def take_alike(first: int, cardinalities: IntArray, is_open: BoolArray) -> IntArray:
    """Close, and return, all open variables with as many levels: they share their parameters."""
    alike = np.empty(len(cardinalities), np.int64)
    count = 0
    for k in range(first, len(cardinalities)):
        if is_open[k] and cardinalities[k] == cardinalities[first]:
            is_open[k] = False
            alike[count] = k
            count += 1
    return alike[:count]
