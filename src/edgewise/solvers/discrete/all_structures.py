"""The best of all Markov network structures over a few variables."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.discrete.scores import FamilyRows, IndependenceRows, log_dependent

#: Most variables for which all structures are tried.
MOST_EXHAUSTIVE: Final = 7
#: Scores closer than this count as equal, so that rounding decides nothing.
TOLERANCE: Final = 1e-9


def _structures(
    most: IntArray, order: IntArray
) -> tuple[list[tuple[int, int]], IntArray, BoolArray]:
    """Return all pairs, the blankets in each structure as bit patterns, and which are allowed.

    Structures are numbered by the edges they have, those between variables early in the order
    counting least.
    """
    n = len(most)
    if n > MOST_EXHAUSTIVE:
        n_structures = 2 ** (n * (n - 1) // 2)
        raise InputError(
            f"{n} variables have {n_structures:.3g} structures, too many to try. Use "
            f"search='hill', or at most {MOST_EXHAUSTIVE} variables."
        )
    pairs = [(min(pair), max(pair)) for pair in combinations(order.tolist(), 2)]
    numbers = np.arange(2 ** len(pairs))
    blankets = np.zeros((len(numbers), n), dtype=np.int64)
    for bit, (i, j) in enumerate(pairs):
        is_joined = numbers >> bit & 1
        blankets[:, i] |= is_joined << j
        blankets[:, j] |= is_joined << i
    degree = np.bitwise_count(blankets)
    is_allowed: BoolArray = np.all(degree <= most, axis=1)
    return pairs, blankets, is_allowed


def best_by_assertions(
    rows: IndependenceRows, most: IntArray, order: IntArray
) -> tuple[BoolArray, float]:
    """Return the structure with the best sum of assertions, from a table of all rows."""
    pairs, blankets, is_allowed = _structures(most, order)
    n = len(most)
    table = np.zeros((n, 2**n, n))
    for i, bits, members in _blankets(n):
        table[i, bits] = -rows.row(i, members)
        table[i, bits, members] = log_dependent(rows.row(i, members)[members])
    degree = np.bitwise_count(blankets)
    scores = np.zeros(len(blankets))
    for i, j in pairs:
        of_i, of_j = table[i, blankets[:, i], j], table[j, blankets[:, j], i]
        if rows.settings.criterion == "ib":
            scores += of_i + of_j
            continue
        part = np.where(degree[:, i] <= degree[:, j], of_i, of_j)
        if rows.settings.ties == "mean":
            part = np.where(degree[:, i] == degree[:, j], (of_i + of_j) / 2, part)
        scores += part
    return _best(scores, blankets, is_allowed)


def best_by_families(families: FamilyRows, most: IntArray, order: IntArray) -> BoolArray:
    """Return the structure with the best marginal pseudo-likelihood, from a table of all rows."""
    _, blankets, is_allowed = _structures(most, order)
    n = len(most)
    table = np.zeros((n, 2**n))
    for i, bits, members in _blankets(n):
        table[i, bits] = families.row(i, members)[0]
    scores = table[np.arange(n), blankets].sum(axis=1)
    return _best(scores, blankets, is_allowed)[0]


def _blankets(n: int) -> Iterator[tuple[int, int, IntArray]]:
    """Yield every variable with every set of others, as a bit pattern and as a list."""
    for i in range(n):
        for bits in range(2**n):
            if not bits >> i & 1:
                yield i, bits, np.flatnonzero(bits >> np.arange(n) & 1)


def _best(scores: FloatArray, blankets: IntArray, is_allowed: BoolArray) -> tuple[BoolArray, float]:
    """Return the best structure; of those that score alike the first with the fewest edges."""
    scores[~is_allowed] = -np.inf
    tied = np.flatnonzero(scores >= scores.max() - TOLERANCE)
    n_edges = np.bitwise_count(blankets[tied]).sum(axis=1)
    best = tied[n_edges.argmin()]
    bits = np.arange(blankets.shape[1])
    return (blankets[best][:, None] >> bits & 1).astype(bool), float(scores[best])
