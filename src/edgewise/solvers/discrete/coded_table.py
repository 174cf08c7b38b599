"""Discrete data as level numbers, handed out in pieces that are ready to be counted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, IntArray
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
