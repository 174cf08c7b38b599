"""Structure search for the Markov network with the best score on discrete data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.constraints import OneOf
from edgewise._core.errors import InputError
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.discrete.counts import CodedTable
from edgewise.solvers.discrete.scores import (
    BDEU,
    FamilyRows,
    IndependenceRows,
    ScoreSettings,
    code_table,
    log_dependent,
    pair_supports,
    support_row,
)

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


#: Most variables for which all structures are tried.
MOST_EXHAUSTIVE: Final = 7
#: Scores closer than this count as equal, so that rounding decides nothing.
TOLERANCE: Final = 1e-9
#: Neighbours up to which a variable's assertions are all computed at once: others will use them.
FEW: Final = 4


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
            "too_many_structures", n=n, n_structures=n_structures, most_exhaustive=MOST_EXHAUSTIVE
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


Pair = tuple[int, int]
Watch = Callable[[int, float], None]

SEARCHES: Final = ("hill", "exhaustive")
COMBINATIONS: Final = ("and", "or")


@dataclass(frozen=True, kw_only=True, eq=False)
class StructureSolution(Solution):
    """Best structure found. No search but the exhaustive one proves it best: ``gap`` is NaN.

    Attributes
    ----------
    support : ndarray of shape (n, n)
        Evidence for each pair to be joined: log posterior odds of dependence, or for ``"mpl"``
        the gain in score by the edge. Positive on most edges.
    n_tests : int
        Tests of independence, or families, that were computed.
    flips : ndarray of int, shape (n_iter, 2)
        Pair that was joined or parted in each step; ``history`` has the score after it.
    """

    support: FloatArray
    n_tests: int
    flips: IntArray


def learn_structure(
    X: ArrayLike,
    criterion: str = "bjp",
    *,
    search: str = "hill",
    patience: int = 20,
    max_degree: int | None = None,
    cardinalities: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    pseudocount: float | str = 1.0,
    prior: float = 0.5,
    ess: float = 1.0,
    ties: str = "index",
    cell: float | None = None,
    watch: Watch | None = None,
) -> StructureSolution:
    """Find a Markov network structure with a large score.

    ``"hill"`` for ``"bjp"`` and ``"ib"`` starts from the empty graph and again and again flips the
    pair with the least support, whether the score rises or not, unless that leads to a graph seen
    before; it returns the best graph on the way, ``patience`` steps after the last improvement.
    With ``patience=1`` it stops at the first step that does not improve, as published. For
    ``"mpl"`` every variable first searches for a blanket by itself, greedily; the search then
    climbs among the pairs that either found.

    Parameters
    ----------
    X : array-like of int, shape (N, n)
        Levels of the variables, from 0.
    criterion : {"bjp", "ib", "mpl"}
        The score, see `log_score`.
    search : {"hill", "and", "or", "exhaustive"}
        As above; for ``"mpl"``, what both blankets have, or what either has; or all structures of
        up to 7 variables.
    patience : int
        Steps without a better graph before the search ends.
    max_degree : int, optional
        Largest number of neighbours of a variable. By default there is no limit, but with
        ``pseudocount="bdeu"``, whose tests find dependence in tables of a few rows, that of
        ``"hill"`` is 2 + log2 N, rounded.
    cardinalities, pseudocount, prior, ess, ties, cell
        As in `log_score`. With ``"bjp"`` and ``ties="index"`` the first of the pairs that score
        alike is flipped; otherwise that is decided by what the columns hold, and nothing depends
        on their order, except between columns that cannot be told apart.
    counts : array-like of int, shape (N,), optional
        How often each row stands, if not once.
    watch : callable, optional
        Called with the number and the score of every step.

    Returns
    -------
    StructureSolution
        ``value`` is the adjacency, ``objective`` its score.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers import learn_structure
    >>> rng = np.random.default_rng(0)
    >>> a = rng.integers(0, 2, 500)
    >>> b = np.where(rng.random(500) < 0.9, a, 1 - a)
    >>> X = np.column_stack([a, b, rng.integers(0, 3, 500)])
    >>> learn_structure(X).value
    array([[False,  True, False],
           [ True, False, False],
           [False, False, False]])
    """
    _check_search(criterion, search, patience, max_degree)
    data = code_table(X, cardinalities, counts)
    settings = ScoreSettings.checked(
        criterion=criterion, pseudocount=pseudocount, prior=prior, ess=ess, ties=ties, cell=cell
    )
    n = len(data.cardinalities)
    if max_degree is None:
        max_degree = n - 1
        if pseudocount == BDEU and search == "hill" and criterion != "mpl":
            max_degree = 2 + round(np.log2(max(data.n_samples, 1)))
    # What has one level depends on nothing; an edge to it would only change who asserts what.
    most = np.where(data.cardinalities > 1, max_degree, 0)
    # Which of the pairs that score alike comes first is for the data to say, or for the columns.
    goes_by_columns = criterion == "bjp" and ties == "index"
    order = np.arange(n) if goes_by_columns else column_order(data)
    if criterion == "mpl":
        families = FamilyRows(data, settings)
        if search == "exhaustive":
            best = best_by_families(families, most, order)
            return _family_solution(families, best, [], [], gap=0.0)
        return _combine_blankets(families, most, order, search, watch)
    rows = IndependenceRows(data, settings)
    if search == "exhaustive":
        adjacency, score = best_by_assertions(rows, most, order)
        return _solution(adjacency, score, rows.evidence(adjacency), rows.n_tests, [], [], gap=0.0)
    return _walk(rows, most, order, patience, watch)


def _check_search(criterion: str, search: str, patience: int, max_degree: int | None) -> None:
    OneOf(*SEARCHES, *(COMBINATIONS if criterion == "mpl" else ())).check("search", search)
    if patience < 1:
        raise InputError("patience_range", patience=patience)
    if max_degree is not None and max_degree < 0:
        raise InputError("max_degree_range", max_degree=max_degree)
    if max_degree is not None and search == "or":
        raise InputError("combine_or_max_degree")


def _walk(
    rows: IndependenceRows, most: IntArray, order: IntArray, patience: int, watch: Watch | None
) -> StructureSolution:
    """Flip the pair with the least support until nothing better has turned up for a while."""
    n = len(most)
    adjacency = np.zeros((n, n), dtype=bool)
    # Few slices: what a variable without neighbours asserts is used sooner or later.
    assertions = np.stack([rows.assertions(adjacency, i) for i in range(n)])
    supports = pair_supports(assertions, adjacency, rows.settings)
    best, best_score = adjacency.copy(), float(supports.sum() / 2)
    flips: list[Pair] = []
    scores: list[float] = []
    n_idle = 0
    while n_idle < patience:
        pair = _least_supported(supports, adjacency, most, order, flips)
        if pair is None:
            break
        _flip(adjacency, pair)
        degree = adjacency.sum(axis=1)
        is_used = rows.used(degree)
        for i in pair:
            assertions[i] = rows.assertions(adjacency, i, None if degree[i] <= FEW else is_used[i])
        _assert_more(rows, adjacency, assertions, is_used, pair)
        for i in pair:
            supports[i] = supports[:, i] = support_row(assertions, degree, i, rows.settings)
        flips.append(pair)
        scores.append(float(supports.sum() / 2))
        n_idle += 1
        if scores[-1] > best_score + TOLERANCE:
            best, best_score, n_idle = adjacency.copy(), scores[-1], 0
        if watch is not None:
            watch(len(scores), scores[-1])
    return _solution(best, best_score, rows.evidence(best), rows.n_tests, flips, scores)


def _assert_more(
    rows: IndependenceRows,
    adjacency: BoolArray,
    assertions: FloatArray,
    is_used: BoolArray,
    pair: Pair,
) -> None:
    """Fill in what others assert of a pair whose degrees have changed, where it is used now."""
    is_lacking = np.zeros_like(is_used)
    columns = list(pair)
    is_lacking[:, columns] = is_used[:, columns] & np.isnan(assertions[:, columns])
    for k in np.flatnonzero(is_lacking.any(axis=1)).tolist():
        # All at once: counting again for a few at a time would take longer than they save.
        assertions[k] = rows.assertions(adjacency, k)


def _flip(adjacency: BoolArray, pair: Pair) -> None:
    i, j = pair
    adjacency[i, j] = adjacency[j, i] = not adjacency[i, j]


def _least_supported(
    supports: FloatArray,
    adjacency: BoolArray,
    most: IntArray,
    order: IntArray,
    flips: list[Pair],
) -> Pair | None:
    """Find the least supported pair whose flip is allowed and leads to a new graph."""
    # Supports are logarithms of probabilities: what has 0 is beyond doubt.
    candidates = np.where(supports < 0.0, supports, np.inf)
    candidates[_is_too_much(adjacency, most)] = np.inf
    for i, j in _ways_back(flips):
        candidates[i, j] = candidates[j, i] = np.inf
    pair = first_pair(candidates, order, TOLERANCE)
    return pair if candidates[pair] < np.inf else None


def _is_too_much(adjacency: BoolArray, most: IntArray) -> BoolArray:
    """Which pairs cannot be joined because one of the two has as many neighbours as it may."""
    is_full = adjacency.sum(axis=1) >= most
    is_too_much: BoolArray = (is_full[:, None] | is_full) & ~adjacency
    return is_too_much


def _ways_back(flips: list[Pair]) -> list[Pair]:
    """Find the pairs whose flip would restore a graph seen before."""
    changed: set[Pair] = set()
    back: list[Pair] = []
    for pair in reversed(flips):
        changed ^= {pair}
        if len(changed) == 1:
            back.extend(changed)
    return back


def _solution(
    adjacency: BoolArray,
    score: float,
    support: FloatArray,
    n_tests: int,
    flips: list[Pair],
    scores: list[float],
    gap: float = float("nan"),
) -> StructureSolution:
    return StructureSolution(
        value=adjacency,
        objective=score,
        gap=gap,
        n_iter=len(scores),
        converged=True,
        history=np.array(scores),
        support=support,
        n_tests=n_tests,
        flips=np.array(flips, dtype=np.int64).reshape(-1, 2),
    )


def _combine_blankets(
    families: FamilyRows, most: IntArray, order: IntArray, search: str, watch: Watch | None
) -> StructureSolution:
    """Let each variable find its blanket, then agree."""
    chosen = np.stack([_greedy_blanket(families, i, most, order) for i in range(len(most))])
    if search == "and":
        return _family_solution(families, chosen & chosen.T, [], [])
    if search == "or":
        return _family_solution(families, chosen | chosen.T, [], [])
    return _family_solution(families, *_climb(families, chosen | chosen.T, most, order, watch))


def _family_solution(
    families: FamilyRows,
    adjacency: BoolArray,
    flips: list[Pair],
    scores: list[float],
    gap: float = float("nan"),
) -> StructureSolution:
    gains = np.stack([families.gains(adjacency, i) for i in range(len(adjacency))])
    support = np.where(adjacency, -1.0, 1.0) * (gains + gains.T)
    score = families.score(adjacency)
    return _solution(adjacency, score, support, families.n_tests, flips, scores, gap)


def _greedy_blanket(families: FamilyRows, i: int, most: IntArray, order: IntArray) -> BoolArray:
    """Add the best variable, then drop what became superfluous, until nothing improves."""
    n = len(most)
    is_member = np.zeros(n, dtype=bool)
    while is_member.sum() < most[i]:
        score, toggled = families.row(i, np.flatnonzero(is_member))
        joined = np.where(is_member | (np.arange(n) == i), -np.inf, toggled)
        k = first_of(-joined, order, TOLERANCE)
        if not joined[k] > score + TOLERANCE:
            break
        is_member[k] = True
        while is_member.sum() > 2:
            score, toggled = families.row(i, np.flatnonzero(is_member))
            parted = np.where(is_member, toggled, -np.inf)
            k = first_of(-parted, order, TOLERANCE)
            if not parted[k] > score + TOLERANCE:
                break
            is_member[k] = False
    return is_member


def _climb(
    families: FamilyRows,
    candidates: BoolArray,
    most: IntArray,
    order: IntArray,
    watch: Watch | None,
) -> tuple[BoolArray, list[Pair], list[float]]:
    """Flip the candidate edge with the largest gain while there is one, from the empty graph."""
    n = len(candidates)
    adjacency = np.zeros((n, n), dtype=bool)
    score = families.score(adjacency)
    gains = np.stack([families.gains(adjacency, i) for i in range(n)])
    flips: list[Pair] = []
    scores: list[float] = []
    while True:
        is_open = candidates & ~_is_too_much(adjacency, most)
        of_pairs = np.where(is_open, gains + gains.T, -np.inf)
        i, j = first_pair(-of_pairs, order, TOLERANCE)
        if not of_pairs[i, j] > TOLERANCE:
            return adjacency, flips, scores
        _flip(adjacency, (i, j))
        score += float(of_pairs[i, j])
        flips.append((i, j))
        scores.append(score)
        for k in (i, j):
            gains[k] = families.gains(adjacency, k)
        if watch is not None:
            watch(len(scores), score)
