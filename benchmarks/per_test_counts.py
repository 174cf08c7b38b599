"""A baseline: the walk of a search again, with every test of independence counted by itself.

Binary data with a pseudocount of 1. Columns are contiguous, which suits this way of counting best.
It can be done with more or less thrift:

- ``"anew"``: every graph on the way is scored from nothing, with all the tests of its score;
- ``"same"``: no test is made twice, and after a flip all those of its two variables are made, which
  are the tests that ours makes;
- ``"needed"``: of these only the ones that the score asks for, which for BJP is about half.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgewise._core.jit import kernel
from edgewise.solvers.discrete.search import StructureSolution

Array = NDArray[Any]

THRIFT = ("anew", "same", "needed")


@kernel
def log_against(
    columns: Array, i: int, j: int, given: Array, log_prior: float, log_factorial: Array
) -> float:
    """Return -log P(i and j independent, given others)."""
    counts = np.zeros((2 ** len(given), 2, 2), np.int64)
    for row in range(columns.shape[1]):
        code = 0
        for k in given:
            code = 2 * code + columns[k, row]
        counts[code, columns[i, row], columns[j, row]] += 1
    n_slices = 0
    for z in range(len(counts)):
        if counts[z].sum() > 0:
            n_slices += 1
    log_p = log_prior / n_slices
    odds = math.log(-math.expm1(log_p)) - log_p
    against = 0.0
    for z in range(len(counts)):
        total = counts[z].sum()
        if total == 0:
            continue
        # log h - log g: four cells against two margins of two cells, each Dirichlet(1).
        value = odds + math.log(6.0) - log_factorial[total + 3] + 2 * log_factorial[total + 1]
        for x in range(2):
            value -= log_factorial[counts[z, x, 0] + counts[z, x, 1]]
            value -= log_factorial[counts[z, 0, x] + counts[z, 1, x]]
            for y in range(2):
                value += log_factorial[counts[z, x, y]]
        if value > 35.0:
            against += value
        else:
            against += math.log1p(math.exp(value))
    return against


class PerTestWalk:
    """Goes the way of a search again, and scores every graph on it."""

    def __init__(self, X: Array, criterion: str, thrift: str, prior: float = 0.5) -> None:
        self.columns = np.ascontiguousarray(X.T)
        self.criterion, self.thrift = criterion, thrift
        self.log_prior = math.log(prior)
        self.log_factorial = np.append(0.0, np.cumsum(np.log(np.arange(1, len(X) + 4))))
        self.known: dict[tuple[int, int, frozenset[int]], float] = {}
        self.n_tests = 0

    def scores(self, solution: StructureSolution) -> list[float]:
        """Return the score after each flip of a search."""
        n = len(self.columns)
        self.blankets: list[frozenset[int]] = [frozenset() for _ in range(n)]
        supports = np.zeros((n, n))
        self._update(supports, range(n))
        found = []
        for i, j in solution.flips.tolist():
            self.blankets[i] ^= {j}
            self.blankets[j] ^= {i}
            if self.thrift == "anew":
                self.known.clear()
                self._update(supports, range(n))
            else:
                self._update(supports, (i, j))
            found.append(float(supports.sum()))
        return found

    def _update(self, supports: Array, changed: Iterable[int]) -> None:
        """Score all pairs of the variables whose blankets have changed."""
        for i in changed:
            for j in range(len(supports)):
                if i != j:
                    supports[max(i, j), min(i, j)] = self._support(i, j)
                    if self.thrift == "same":
                        self._assertion(i, j)

    def _support(self, i: int, j: int) -> float:
        """Return the part of a pair in the score: what one blanket asserts of it, or both."""
        first, second = sorted((i, j), key=lambda k: (len(self.blankets[k]), k))
        support = self._assertion(first, second)
        return support if self.criterion == "bjp" else support + self._assertion(second, first)

    def _assertion(self, i: int, j: int) -> float:
        given = self.blankets[i] - {j}
        key = (min(i, j), max(i, j), given)
        if key not in self.known:
            self.n_tests += 1
            members = np.array(sorted(given), dtype=np.int64)
            self.known[key] = log_against(
                self.columns, i, j, members, self.log_prior, self.log_factorial
            )
        against = self.known[key]
        # Past any doubt the exact size of this logarithm is beyond the reach of the sum.
        return math.log(-math.expm1(-max(against, 1e-300))) if j in self.blankets[i] else -against
