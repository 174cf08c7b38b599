"""Searching for the structure of a Markov network that scores best on discrete data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from edgewise._core.errors import InputError
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.discrete.all_structures import TOLERANCE, best_by_assertions, best_by_families
from edgewise.solvers.discrete.column_order import column_order, first_of, first_pair
from edgewise.solvers.discrete.scores import (
    BDEU,
    FamilyRows,
    IndependenceRows,
    ScoreSettings,
    code_table,
    pair_supports,
    support_row,
)

Pair = tuple[int, int]
Watch = Callable[[int, float], None]

SEARCHES: Final = ("hill", "exhaustive")
COMBINATIONS: Final = ("global", "and", "or")


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
    combine: str = "global",
    watch: Watch | None = None,
) -> StructureSolution:
    """Find a Markov network structure with a large score.

    ``"hill"`` for ``"bjp"`` and ``"ib"`` starts from the empty graph and again and again flips the
    pair with the least support, whether the score rises or not, unless that leads to a graph seen
    before; it returns the best graph on the way, ``patience`` steps after the last improvement.
    With ``patience=1`` it stops at the first step that does not improve, as published. For
    ``"mpl"`` every variable first searches for a blanket by itself, greedily; the blankets are
    then combined.

    Parameters
    ----------
    X : array-like of int, shape (N, n)
        Levels of the variables, from 0.
    criterion : {"bjp", "ib", "mpl"}
        The score, see `log_score`.
    search : {"hill", "exhaustive"}
        As above, or all structures of up to 7 variables.
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
    combine : {"global", "and", "or"}
        For ``"mpl"``: join what both blankets have, what either has, or climb from the empty
        graph among the latter.
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
    _check_search(criterion, search, patience, max_degree, combine)
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
        return _combine_blankets(families, most, order, combine, watch)
    rows = IndependenceRows(data, settings)
    if search == "exhaustive":
        adjacency, score = best_by_assertions(rows, most, order)
        return _solution(adjacency, score, rows.evidence(adjacency), rows.n_tests, [], [], gap=0.0)
    return _walk(rows, most, order, patience, watch)


def _check_search(
    criterion: str, search: str, patience: int, max_degree: int | None, combine: str
) -> None:
    if search not in SEARCHES:
        raise InputError(f"search must be 'hill' or 'exhaustive', got {search!r}.")
    if combine not in COMBINATIONS:
        raise InputError(f"combine must be 'global', 'and' or 'or', got {combine!r}.")
    if patience < 1:
        raise InputError(f"patience must be at least 1, got {patience!r}.")
    if max_degree is not None and max_degree < 0:
        raise InputError(f"max_degree must be at least 0, got {max_degree!r}.")
    if max_degree is not None and (criterion, search, combine) == ("mpl", "hill", "or"):
        raise InputError(
            "combine='or' joins whatever either variable found and cannot keep to max_degree. Use "
            "combine='global' or 'and'."
        )


def _walk(
    rows: IndependenceRows, most: IntArray, order: IntArray, patience: int, watch: Watch | None
) -> StructureSolution:
    """Flip the pair with the least support until nothing better has turned up for a while."""
    n = len(most)
    adjacency = np.zeros((n, n), dtype=bool)
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
        for i in pair:
            assertions[i] = rows.assertions(adjacency, i)
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
    families: FamilyRows, most: IntArray, order: IntArray, combine: str, watch: Watch | None
) -> StructureSolution:
    """Let each variable find its blanket, then agree."""
    chosen = np.stack([_greedy_blanket(families, i, most, order) for i in range(len(most))])
    if combine == "and":
        return _family_solution(families, chosen & chosen.T, [], [])
    if combine == "or":
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
