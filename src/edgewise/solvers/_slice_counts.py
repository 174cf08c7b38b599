"""Counts of a variable with all others, in every configuration of its blanket, from one pass.

For variable i with blanket B, the rows that agree on B are a slice, and those that agree on i as
well a group. Adding up the rows of each group, with one column per level but the first of every
variable, gives the tables of (i, k) in every slice for all k outside B at once; those for k inside
B follow by adding up groups that differ in k alone. Memory follows the groups that occur, not all
that could.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, BoolArray, IntArray

#: Where the tables of all possible groups take no more, each has a place without being looked up.
DIRECT_BYTES = 2**20
#: Rows are counted at most so many bytes at a time: data on disk pass through memory in pieces.
CHUNK_BYTES = 2**26
#: Largest number of configurations whose code fits an integer.
MOST_GROUPS = 2**62
#: Columns of indicators are filled up to a multiple of this, for the sake of vector instructions.
LANES = 32

Chunk = tuple[AnyArray, AnyArray, AnyArray]


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
    """

    X: AnyArray
    cardinalities: IntArray
    offsets: IntArray
    weight: AnyArray | None = None

    @classmethod
    def from_codes(cls, X: AnyArray, cardinalities: IntArray) -> CodedTable:
        """Take checked codes; equal rows of few variables are counted once."""
        offsets = np.append(0, np.cumsum(cardinalities - 1))
        table = cls(X=X, cardinalities=cardinalities, offsets=offsets)
        if np.prod(cardinalities.astype(np.float64)) > len(X) / 4:
            return table
        count = table._count_states()
        seen = np.flatnonzero(count)
        rows = np.stack(np.unravel_index(seen, cardinalities), axis=1).astype(X.dtype)
        weight = count[seen].astype(np.int32)
        return cls(X=rows, cardinalities=cardinalities, offsets=offsets, weight=weight)

    @property
    def n_samples(self) -> int:
        """Number of rows, equal ones counted."""
        return len(self.X) if self.weight is None else int(self.weight.sum(dtype=np.int64))

    @property
    def width(self) -> int:
        """Number of columns of the level indicators."""
        return -(-max(int(self.offsets[-1]), 1) // LANES) * LANES

    def chunks(self) -> Iterator[Chunk]:
        """Yield columns of codes, level indicators and weights of some rows at a time."""
        step = self._chunk_rows
        if len(self.X) <= step:
            yield self._whole
            return
        for first in range(0, len(self.X), step):
            yield self._chunk(first, first + step)

    @property
    def _chunk_rows(self) -> int:
        return max(1, CHUNK_BYTES // max(self.width, len(self.cardinalities)))

    @cached_property
    def _whole(self) -> Chunk:
        columns, marks, weight = self._chunk(0, len(self.X))
        return np.ascontiguousarray(columns), marks, weight

    def _chunk(self, first: int, last: int) -> Chunk:
        X = np.asarray(self.X[first:last])
        marks = np.zeros((len(X), self.width), dtype=np.uint8)
        if (self.cardinalities == 2).all():
            marks[:, : X.shape[1]] = X
        else:
            # An array that cannot be written to would make the kernel compile a second time.
            _mark_levels(np.require(X, requirements=["C", "W"]), self.offsets, marks)
        if self.weight is None:
            return X.T, marks, np.ones(len(X), dtype=np.int32)
        return X.T, marks, self.weight[first:last]

    def _count_states(self) -> IntArray:
        """Count the rows in every configuration of all variables."""
        shape = tuple(self.cardinalities.tolist())
        count = np.zeros(int(np.prod(self.cardinalities)), dtype=np.int64)
        for first in range(0, len(self.X), self._chunk_rows):
            X = self.X[first : first + self._chunk_rows].astype(np.int64)
            count += np.bincount(np.ravel_multi_index(tuple(X.T), shape), minlength=len(count))
        return count


class GroupCounts(NamedTuple):
    """Counts of one variable, with r levels, in the slices of its blanket.

    Attributes
    ----------
    codes : ndarray of int, shape (n_groups,)
        Level of the variable and configuration of its blanket in mixed radix, sorted. The variable
        runs fastest, then the first member of the blanket.
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

    codes: IntArray
    totals: IntArray
    starts: IntArray
    slice_totals: IntArray
    largest: int
    places: IntArray
    tables: AnyArray


def count_groups(data: CodedTable, i: int, members: IntArray) -> GroupCounts:
    """Count variable ``i`` with all others in every configuration of ``members`` that occurs."""
    columns = np.append(members[::-1], i)
    radix = data.cardinalities[columns]
    space = float(np.prod(radix.astype(np.float64)))
    if space > MOST_GROUPS:
        raise InputError(
            f"A variable and its {len(members)} neighbours have {space:.3g} configurations, too "
            "many to number. Pass max_degree."
        )
    is_direct = 4 * space * data.width <= DIRECT_BYTES
    known = np.arange(int(space) if is_direct else 0)
    totals = np.zeros(len(known), dtype=np.int64)
    tables = np.zeros((len(known), data.width), dtype=np.int32)
    for levels, marks, weight in data.chunks():
        groups = np.empty(len(marks), dtype=np.int64)
        _encode(np.ascontiguousarray(levels[columns]), radix, groups)
        if not is_direct:
            known = number_codes(groups, known)
            n_new = len(known) - len(totals)
            totals = np.concatenate([totals, np.zeros(n_new, dtype=np.int64)])
            tables = np.concatenate([tables, np.zeros((n_new, data.width), dtype=np.int32)])
        _add_rows(groups, marks, weight, totals, tables)
    places = np.flatnonzero(totals) if is_direct else np.argsort(known)
    codes, totals = known[places], totals[places]
    starts = np.flatnonzero(np.diff(codes // data.cardinalities[i], prepend=-1))
    slice_totals = np.add.reduceat(totals, starts) if len(starts) else totals
    return GroupCounts(
        codes=codes,
        totals=totals,
        starts=np.append(starts, len(codes)),
        slice_totals=slice_totals,
        largest=int(slice_totals.max(initial=0)),
        places=places,
        tables=tables,
    )


@kernel
def _encode(columns: AnyArray, radix: IntArray, codes: IntArray) -> None:
    """Write the configuration of some columns as one number, the last running fastest."""
    for row in range(len(codes)):
        codes[row] = columns[0, row]
    for q in range(1, len(columns)):
        column = columns[q]
        for row in range(len(codes)):
            codes[row] = codes[row] * radix[q] + column[row]


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
def number_codes(codes: IntArray, known: IntArray) -> IntArray:
    """Replace codes by their positions among the known ones and return those, with the new ones.

    New codes are appended as they turn up.
    """
    size = 4
    while size < 2 * (len(known) + len(codes)):
        size *= 2
    table = np.full(size, -1)
    names = np.empty(len(known) + len(codes), np.int64)
    count = 0
    for q in range(len(known) + len(codes)):
        code = known[q] if q < len(known) else codes[q - len(known)]
        place = _scatter(code) & (size - 1)
        while table[place] >= 0 and names[table[place]] != code:
            place = (place + 1) & (size - 1)
        if table[place] < 0:
            table[place] = count
            names[count] = code
            count += 1
        if q >= len(known):
            codes[q - len(known)] = table[place]
    return names[:count].copy()


@kernel
def _scatter(code: int) -> int:
    """Spread codes evenly: every bit of the code has a say in the lower bits of the result."""
    mixed = (code ^ (code >> 31)) * 7046029254386353131
    mixed = (mixed ^ (mixed >> 29)) * 7046029254386353131
    return mixed ^ (mixed >> 32)


@kernel
def _mark_levels(X: AnyArray, offsets: IntArray, marks: AnyArray) -> None:
    """Set indicators of the levels 1, 2, ... of every variable."""
    for s in range(X.shape[0]):
        for k in range(X.shape[1]):
            if X[s, k] > 0:
                marks[s, offsets[k] + X[s, k] - 1] = 1


@kernel
def merge_member(
    r: int, s: int, stride: int, codes: IntArray, totals: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Add up groups that differ in one member of the blanket alone.

    Returns the merged group of each group, the number of rows in each merged group, the slice of
    each merged group, and the number of rows in each of those slices.
    """
    nothing = np.empty(0, np.int64)
    merged = np.empty(len(codes), np.int64)
    for g in range(len(codes)):
        # The code without the digit of the member.
        merged[g] = codes[g] % stride + codes[g] // (stride * s) * stride
    rest = number_codes(merged, nothing)
    margins = np.zeros(len(rest), np.int64)
    for g in range(len(codes)):
        margins[merged[g]] += totals[g]
    for m in range(len(rest)):
        rest[m] //= r
    n_slices = len(number_codes(rest, nothing))
    sums = np.zeros(n_slices, np.int64)
    for m in range(len(margins)):
        sums[rest[m]] += margins[m]
    return merged, margins, rest, sums


@kernel
def outside(i: int, members: IntArray, n: int) -> BoolArray:
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
