"""An order of the columns of a discrete table that the table gives, wherever they stand."""

from __future__ import annotations

import numpy as np

from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.solvers.discrete.coded_table import CodedTable

#: Odd numbers that scatter 64 bits.
MULTIPLIERS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0x9E3779B97F4A7C15], np.uint64)


def column_order(data: CodedTable) -> IntArray:
    """Order the columns by what they hold, whatever the order of columns and rows.

    A column has a number, at first that of its levels. A row gets the sum of numbers drawn from
    its columns and levels, and a column a new one from the rows that each of its levels has. Again
    and again, columns that differ come to have different numbers. Columns that have the same in
    the end, as identical ones do, stay in the order they come in.
    """
    numbers = data.cardinalities.astype(np.uint64)
    n_different = 0
    while n_different < len(np.unique(numbers)):
        n_different = len(np.unique(numbers))
        if n_different == len(numbers):
            break
        numbers = _renumber(data, numbers)
    return np.argsort(numbers, kind="stable")


def first_pair(values: FloatArray, order: IntArray, tolerance: float) -> tuple[int, int]:
    """Find the smallest entry of a symmetric matrix; of those that tie the first in an order."""
    arranged = values[np.ix_(order, order)]
    i, j = divmod(first_of(arranged.ravel(), np.arange(arranged.size), tolerance), len(order))
    first, second = sorted((int(order[i]), int(order[j])))
    return first, second


def first_of(values: FloatArray, order: IntArray, tolerance: float) -> int:
    """Find the smallest value; of those that tie the first in an order."""
    arranged = values[order]
    return int(order[np.argmax(arranged <= arranged.min() + tolerance)])


def _renumber(data: CodedTable, numbers: AnyArray) -> AnyArray:
    """Give each column a number made of the rows that its levels have."""
    starts = np.append(0, np.cumsum(data.cardinalities))
    levels = np.concatenate([np.arange(1, r + 1, dtype=np.uint64) for r in data.cardinalities])
    labels = _scatter(np.repeat(numbers, data.cardinalities) + levels * MULTIPLIERS[2])
    sums = np.zeros(starts[-1], dtype=np.uint64)
    for chunk in data.chunks():
        rows = np.zeros(len(chunk.weight), dtype=np.uint64)
        for k, column in enumerate(chunk.columns):
            rows += labels[starts[k] + column.astype(np.int64)]
        rows = _scatter(rows) * chunk.weight.astype(np.uint64)
        for k, column in enumerate(chunk.columns):
            np.add.at(sums, starts[k] + column.astype(np.int64), rows)
    return np.add.reduceat(_scatter(labels + sums), starts[:-1], dtype=np.uint64)


def _scatter(numbers: AnyArray) -> AnyArray:
    """Turn numbers into others without a pattern, different ones into different ones."""
    for shift, factor in ((30, MULTIPLIERS[0]), (27, MULTIPLIERS[1])):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * factor
    scattered: AnyArray = numbers ^ (numbers >> np.uint64(31))
    return scattered
