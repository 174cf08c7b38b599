"""Exact tests of independence of each pair of discrete variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from scipy.stats import hypergeom

from edgewise._core.typing import AnyArray, FloatArray, IntArray

#: Rows counted at a time, so that data on disk pass through memory in pieces.
CHUNK_ROWS: Final = 2**16
#: So many cells, those furthest from independence, are tested exactly.
MOST_CELLS: Final = 2000


def smallest_pair_p_value(
    codes: AnyArray, cardinalities: IntArray, counts: IntArray | None = None
) -> float:
    """Test all pairs of variables for independence; return the smallest p-value of a pair.

    A cell of a table of two variables has a hypergeometric distribution given the margins. The
    p-value of a pair is the smallest two-sided one of its cells, multiplied by their number; a
    table of two levels by two has one. It holds for any number of rows and for rare levels, where
    the chi-squared test does not.

    Parameters
    ----------
    codes : ndarray of int, shape (n_samples, n_features)
        Levels of the variables, from 0.
    cardinalities : ndarray of int, shape (n_features,)
    counts : ndarray of int, shape (n_samples,), optional
        How often each row stands, if not once.

    Returns
    -------
    float
        1.0 where no pair of variables varies.

    Examples
    --------
    >>> same = np.repeat([[0, 0], [1, 1]], 5, axis=0)
    >>> round(smallest_pair_p_value(same, np.array([2, 2])), 4)
    0.0079
    """
    starts = np.concatenate([[0], np.cumsum(cardinalities)])
    together = np.zeros((starts[-1], starts[-1]))
    for marks, weight in _indicators(codes, starts, counts):
        together += (marks * weight[:, None]).T @ marks
    margins, total = together.diagonal(), float(together[: starts[1], : starts[1]].trace())
    seen = margins > 0
    n_seen = np.add.reduceat(seen, starts[:-1])
    # One level of a variable that has two says all.
    is_second = np.zeros(len(margins), dtype=bool)
    for k in np.flatnonzero(n_seen == 2).tolist():
        own = np.arange(starts[k], starts[k + 1])
        is_second[own[seen[own]][1]] = True
    owner = np.repeat(np.arange(len(cardinalities)), cardinalities)
    tested = np.flatnonzero(seen & ~is_second & (n_seen[owner] > 1))
    first, second = (tested[at] for at in np.triu_indices(len(tested), 1))
    is_pair = owner[first] != owner[second]
    first, second = first[is_pair], second[is_pair]
    if not len(first):
        return 1.0
    a, b = margins[first], margins[second]
    expected = a * b / total
    distance = (together[first, second] - expected) ** 2 / (
        expected * (1 - a / total) * (1 - b / total)
    )
    if len(distance) > MOST_CELLS:
        far = np.argpartition(distance, -MOST_CELLS)[-MOST_CELLS:]
        first, second, a, b = first[far], second[far], a[far], b[far]
    observed = together[first, second]
    tail = np.minimum(hypergeom.cdf(observed, total, a, b), hypergeom.sf(observed - 1, total, a, b))
    n_tested = np.bincount(owner[tested], minlength=len(cardinalities))
    n_cells = n_tested[owner[first]] * n_tested[owner[second]]
    return float(np.minimum(2.0 * tail * n_cells, 1.0).min())


def _indicators(
    codes: AnyArray, starts: IntArray, counts: IntArray | None
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield indicators of all levels and weights of some rows at a time."""
    for begin in range(0, len(codes), CHUNK_ROWS):
        part = np.asarray(codes[begin : begin + CHUNK_ROWS]).astype(np.int64)
        marks = np.zeros((len(part), starts[-1]))
        np.put_along_axis(marks, part + starts[:-1], 1.0, axis=1)
        weight = np.ones(len(part)) if counts is None else counts[begin : begin + CHUNK_ROWS]
        yield marks, np.asarray(weight, dtype=np.float64)
