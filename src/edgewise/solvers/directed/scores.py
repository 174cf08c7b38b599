r"""Scores of Bayesian networks, from correlations or from cells of levels.

The score of column j given its parents P is :math:`F(P \cup j) - F(P)`, with F(A) the logarithm
of the score of all columns of a set A together: for a table with levels that of the counts of all
configurations of the levels, plus that of the numbers, which are normal in each configuration with
a mean and a covariance of its own. Two networks that cannot be told apart add up the same terms,
whatever F is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import multigammaln

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, BoolArray, FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.directed.blanket_kernels import DEPENDENT
from edgewise.solvers.directed.partial_correlation import correlations, truth_matrix
from edgewise.solvers.linalg.kernels import factor

#: Rows with identity covariance that are added to those of each configuration.
PRIOR_ROWS = 1.0
#: Prior covariance of standardised numbers under a normal-Wishart prior, as in the BGe score.
PRIOR_SCALE = 0.5


class Cells(NamedTuple):
    """Columns with levels or numbers, and how sets of them are scored.

    Attributes
    ----------
    codes : ndarray of int32, shape (m, n)
        Level of each row, from 0, by column; 0 for numbers.
    n_levels : ndarray of int, shape (m,)
        Levels of each column; 0 for numbers.
    values : ndarray of shape (m, n)
        Standardised numbers; 0 for levels.
    weight : ndarray of shape (n,)
        Of each row. Without a row nothing is scored here.
    is_set : ndarray of bool, shape (m, n) or (0, 0)
        Rows in which a column was set from outside, which tell nothing of its parents.
    per_parameter : float
        Penalty of each parameter.
    ess : float
        Above 0: rows that the Dirichlet prior of the levels is worth, and marginal likelihoods;
        0: largest likelihoods.
    most_cells : float
        Most configurations of the levels of parents.
    """

    codes: AnyArray
    n_levels: IntArray
    values: FloatArray
    weight: FloatArray
    is_set: BoolArray
    per_parameter: float
    ess: float
    most_cells: float


def no_cells() -> Cells:
    """Stand in where columns are scored by their correlations."""
    return Cells(
        codes=np.empty((0, 0), dtype=np.int32),
        n_levels=np.empty(0, dtype=np.int64),
        values=np.empty((0, 0)),
        weight=np.empty(0),
        is_set=np.empty((0, 0), dtype=bool),
        per_parameter=0.0,
        ess=0.0,
        most_cells=0.0,
    )


@kernel
def family_cost(cells: Cells, child: int, parents: IntArray, size: int) -> float:
    """Return minus the score of a column given ``parents[:size]``; infinite with too many cells."""
    if count_cells(cells, parents, size) > cells.most_cells:
        return np.inf
    family = np.empty(size + 1, np.int64)
    for k in range(size):
        family[k] = parents[k]
    family[size] = child
    return set_score(cells, family, size, child) - set_score(cells, family, size + 1, child)


@kernel
def count_cells(cells: Cells, members: IntArray, size: int) -> float:
    """Count the configurations of the levels of ``members[:size]``, whether they occur or not."""
    n_cells = 1.0
    for k in range(size):
        n_cells *= max(cells.n_levels[members[k]], 1)
    return n_cells


@kernel
def set_score(cells: Cells, members: IntArray, size: int, child: int) -> float:
    """Return the logarithm of the score of ``members[:size]`` in rows where ``child`` was free."""
    n = len(cells.weight)
    code, numbers = np.zeros(n, np.int64), np.empty(size, np.int64)
    n_cells, c = 1, 0
    for k in range(size):
        n_levels, own = cells.n_levels[members[k]], cells.codes[members[k]]
        if n_levels == 0:
            numbers[c] = members[k]
            c += 1
            continue
        for row in range(n):
            code[row] += n_cells * own[row]
        n_cells *= n_levels
    count, total = np.zeros(n_cells), 0.0
    for row in range(n):
        if len(cells.is_set) > 0 and cells.is_set[child, row]:
            code[row] = -1
        else:
            count[code[row]] += cells.weight[row]
            total += cells.weight[row]
    score = -cells.per_parameter * (n_cells - 1.0 + 0.5 * n_cells * c * (c + 3))
    share = cells.ess / n_cells
    for a in range(n_cells):
        if count[a] > 0.0:
            if cells.ess > 0.0:
                score += math.lgamma(count[a] + share) - math.lgamma(share)
            else:
                score += count[a] * math.log(count[a] / total)
    if c > 0:
        score += score_numbers(cells, numbers, c, code, count)
    return score


@kernel
def score_numbers(
    cells: Cells, numbers: IntArray, c: int, code: IntArray, count: FloatArray
) -> float:
    """Add up the scores of ``numbers[:c]`` over the configurations that occur."""
    place, n_found = np.full(len(count), -1), 0
    for a in range(len(count)):
        if count[a] > 0.0:
            place[a] = n_found
            n_found += 1
    sums, products = np.zeros((n_found, c)), np.zeros((n_found, c, c))
    for row in range(len(code)):
        if code[row] < 0:
            continue
        w, at = cells.weight[row], place[code[row]]
        for i in range(c):
            x = w * cells.values[numbers[i], row]
            sums[at, i] += x
            for j in range(i + 1):
                products[at, i, j] += x * cells.values[numbers[j], row]
    total, L = 0.0, np.empty((c, c))
    for a in range(len(count)):
        if place[a] >= 0:
            mean = sums[place[a]] / count[a]
            if cells.ess > 0.0:
                total += evidence(count[a], mean, products[place[a]], c, L)
            else:
                total += likelihood(count[a], mean, products[place[a]], c, L)
    return total


@kernel
def likelihood(n: float, mean: FloatArray, products: FloatArray, c: int, L: FloatArray) -> float:
    """Return the log-likelihood of n rows, but for constants, at a covariance drawn to identity.

    One row with identity covariance is added, so that few rows have a covariance too.
    """
    grown = n + PRIOR_ROWS
    for i in range(c):
        for j in range(i + 1):
            L[i, j] = (products[i, j] - n * mean[i] * mean[j]) / grown
        L[i, i] += PRIOR_ROWS / grown
    log_det = factor_in_place(L, c)
    # The trace of the inverse is the sum of squares of the inverse factor.
    trace, column = 0.0, np.empty(c)
    for k in range(c):
        for i in range(k, c):
            value = 1.0 if i == k else 0.0
            for j in range(k, i):
                value -= L[i, j] * column[j]
            column[i] = value / L[i, i]
            trace += column[i] * column[i]
    return -0.5 * (n * log_det + grown * c - PRIOR_ROWS * trace)


@kernel
def evidence(n: float, mean: FloatArray, products: FloatArray, c: int, L: FloatArray) -> float:
    """Return the logarithm of the marginal likelihood of n rows under a normal-Wishart prior."""
    for i in range(c):
        for j in range(i + 1):
            L[i, j] = products[i, j] - n * n / (n + 1.0) * mean[i] * mean[j]
        L[i, i] += PRIOR_SCALE
    value = -0.5 * c * (math.log(n + 1.0) + n * math.log(math.pi))
    for i in range(c):
        value += math.lgamma(0.5 * (n + 2.0 + c - i)) - math.lgamma(0.5 * (2.0 + c - i))
    value += 0.5 * (2.0 + c) * c * math.log(PRIOR_SCALE)
    return value - 0.5 * (n + 2.0 + c) * factor_in_place(L, c)


@kernel
def factor_in_place(L: FloatArray, c: int) -> float:
    """Replace the lower triangle of a matrix by its Cholesky factor; return the log determinant."""
    factor(L, c, L)
    log_det = 0.0
    for i in range(c):
        log_det += 2.0 * math.log(L[i, i])
    return log_det


@kernel
def score_subsets(cells: Cells, child: int, values: FloatArray) -> None:
    """Set the score of each subset of the columns, a bit for each; -inf with too many cells."""
    m = len(cells.n_levels)
    members, most = np.empty(m, np.int64), 1.0
    for i in range(m):
        most = max(most, float(cells.n_levels[i]))
    for subset in range(len(values)):
        size = 0
        for i in range(m):
            if subset >> i & 1:
                members[size] = i
                size += 1
        is_large = count_cells(cells, members, size) > cells.most_cells * most
        values[subset] = -np.inf if is_large else set_score(cells, members, size, child)


SCORES = ("bic", "bge")
#: A change of the cost that is smaller is rounding.
IMPROVEMENT = 1e-6
#: Most parents of a variable, whatever the number of rows.
MOST_PARENTS = 500
#: Correlations that tell variables apart, and most variables that are compared by all they have.
N_KEYS, MOST_KEYS = 4, 1000
#: No node has more parents than this share of the rows: with many, an equation fits anything.
PARENTS_PER_ROW = 1 / 3


class Score(NamedTuple):
    r"""Cost of a variable given its parents, from their correlations or from their cells.

    With k parents P the cost of variable j is ``base[g, k] + slope[g, k] log(residual variance) +
    drift log det R[g][P, P]``, minus the logarithm of a score, with g = ``which[j]``: variables
    that were set in different rows have correlations of their own. Where ``cells`` has rows, its
    cost is that of `family_cost`.
    """

    R: FloatArray
    base: FloatArray
    slope: FloatArray
    drift: float
    which: IntArray
    cells: Cells


class Arcs(NamedTuple):
    """What is known of arcs: ``may_be[j, i]`` and ``must_be[j, i]`` are about i -> j.

    ``told`` is symmetric: experiments tell the direction of an edge between i and j.
    """

    may_be: BoolArray
    must_be: BoolArray
    told: BoolArray

    def arranged(self, place: IntArray) -> Arcs:
        """Put variable ``place[k]`` at position k."""
        return Arcs(*(matrix[np.ix_(place, place)] for matrix in self))


class Sample(NamedTuple):
    """Rows as scores of networks see them.

    Attributes
    ----------
    covariances : ndarray of shape (n_groups, m, m)
        Of the rows in which the variables of each group were free.
    n_samples : ndarray of shape (n_groups,)
        Number of those rows.
    which : ndarray of int, shape (m,)
        Group of each variable.
    n_rows : float
        Number of all rows.
    told : ndarray of bool, shape (m, m), or None
        Pairs of which one was set in rows where the other was free.
    """

    covariances: FloatArray
    n_samples: FloatArray
    which: IntArray
    n_rows: float
    told: BoolArray | None = None

    @classmethod
    def observed(cls, S: FloatArray, n_samples: float) -> Sample:
        """Take rows in which nothing was set."""
        which = np.zeros(len(S), dtype=np.int64)
        return cls(np.asarray(S)[None], np.array([n_samples]), which, n_samples)


def gaussian_score(
    sample: Sample, score: str, penalty_discount: float | None, least: int = 1
) -> Score:
    """Prepare the cost of all variables given as many parents as the rows allow, or ``least``."""
    if score not in SCORES:
        raise InputError("unknown_score", scores=SCORES, score=score)
    n_rows, fewest = sample.n_rows, float(sample.n_samples.min())
    if not fewest > 2:
        raise InputError("n_samples_of_scores", fewest=fewest)
    m = len(sample.which)
    per_arc = 0.5 * discount_of(penalty_discount, n_rows, m) * np.log(n_rows)
    most = max(min(int(fewest * PARENTS_PER_ROW), m - 1, MOST_PARENTS), least, 1)
    parts = []
    for S, n in zip(sample.covariances, sample.n_samples.tolist(), strict=True):
        R = correlations(S)
        if score == "bge":
            parts.append(_bge(R, float(n), np.arange(most + 2.0)))
        else:
            parts.append((R, per_arc * np.arange(most + 1.0), np.full(most + 1, 0.5 * n)))
    R, base, slope = (np.stack(part) for part in zip(*parts, strict=True))
    drift = 0.5 if score == "bge" else 0.0
    return Score(R, base, slope, drift, sample.which, no_cells())


def discount_of(penalty_discount: float | None, n_samples: float, m: int) -> float:
    """Return the factor of the penalty of the BIC, by default that of the extended BIC."""
    if penalty_discount is None:
        return float(max(2.0, 1.0 + 2.0 * np.log(m) / np.log(n_samples)))
    if not 0 < penalty_discount < np.inf:
        raise InputError("penalty_discount_positive", penalty_discount=penalty_discount)
    return penalty_discount


def _bge(R: FloatArray, n: float, k: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Prepare the BGe score with one row's worth of prior mean and m + 2 of prior covariance."""
    m = len(R)
    prior = 0.5
    T = (n * R + prior * np.eye(m)) / (n + prior)
    # Logarithm of the marginal likelihood of k variables, but for -slope log det T.
    freedom, grown = 2.0 + k, n + 2.0 + k
    marginal = np.array(
        [
            -0.5 * size * np.log(n + 1.0)
            - 0.5 * size * n * np.log(np.pi)
            + (multigammaln(0.5 * b, int(size)) - multigammaln(0.5 * a, int(size)) if size else 0.0)
            + 0.5 * a * size * np.log(prior)
            - 0.5 * b * size * np.log(n + prior)
            for size, a, b in zip(k, freedom, grown, strict=True)
        ]
    )
    return T, -np.diff(marginal), 0.5 * grown[1:]


def as_arcs(
    allowed: ArrayLike | None, required: ArrayLike | None, m: int, told: BoolArray | None = None
) -> Arcs:
    """Check what is known of arcs."""
    may_be = truth_matrix(True if allowed is None else allowed, "allowed", m).T.copy()
    must_be = truth_matrix(False if required is None else required, "required", m).T.copy()
    np.fill_diagonal(may_be, False)
    may_be &= ~must_be.T
    may_be |= must_be
    return Arcs(may_be, must_be, np.zeros((m, m), dtype=bool) if told is None else told)


def must_come_before(arcs: Arcs) -> BoolArray:
    """Whether i comes before j in every order: there can be a path i to j, but none back."""
    reached = arcs.may_be.T.copy()
    if (reached | np.eye(len(reached), dtype=bool)).all():
        return np.zeros_like(reached)
    required = arcs.must_be.T.copy()
    for k in range(len(reached)):
        reached |= reached[:, [k]] & reached[k]
        required |= required[:, [k]] & required[k]
    return (reached & ~reached.T) | required


def starting_order(comes_before: BoolArray, rng: np.random.Generator | None) -> IntArray:
    """Order the variables as they are or at random, as far as knowledge leaves it open."""
    m = len(comes_before)
    order = np.arange(m) if rng is None else rng.permutation(m)
    tiers, front = np.zeros(m, dtype=np.int64), comes_before.any(axis=0)
    while front.any():
        tiers[front] += 1
        front = comes_before[front].any(axis=0)
    return order[np.argsort(tiers[order], kind="stable")]


@kernel
def explained_by(R: FloatArray, child: int, parents: IntArray, k: int, L: FloatArray) -> float:
    """Variance of a child that ``parents[k]`` explains in addition to those before.

    ``L[k]`` becomes its row of the Cholesky factor, with its entry in the row of the child last.
    """
    node, last = parents[k], L.shape[1] - 1
    pivot, share = R[node, node], R[node, child]
    for j in range(k):
        value = R[node, parents[j]]
        for i in range(j):
            value -= L[k, i] * L[j, i]
        value /= L[j, j]
        L[k, j] = value
        pivot -= value * value
        share -= value * L[j, last]
    if pivot <= DEPENDENT:
        L[k, k], L[k, last] = 1.0, 0.0
        return 0.0
    L[k, k] = np.sqrt(pivot)
    L[k, last] = share / L[k, k]
    explained: float = L[k, last] ** 2
    return explained


@kernel
def local_cost(score: Score, child: int, parents: IntArray, size: int, L: FloatArray) -> float:
    """Cost of a variable given ``parents[:size]``; L is scratch."""
    if len(score.cells.weight) > 0:
        return family_cost(score.cells, child, parents, size)
    group = score.which[child]
    R = score.R[group]
    left, log_det = R[child, child], 0.0
    for k in range(size):
        left -= explained_by(R, child, parents, k, L)
        if score.drift != 0.0:
            log_det += 2.0 * np.log(L[k, k])
    cost: float = score.base[group, size] + score.slope[group, size] * np.log(max(left, DEPENDENT))
    return cost + score.drift * log_det


@kernel
def list_parents(dag: BoolArray) -> tuple[IntArray, IntArray]:
    """List the parents of each node: those of node j are ``parents[start[j]:start[j + 1]]``.

    Goes along rows: down a column every entry of a large matrix is fetched from memory.
    """
    m = len(dag)
    start = np.zeros(m + 2, np.int64)
    for i in range(m):
        for j in range(m):
            if dag[i, j]:
                start[j + 2] += 1
    for j in range(m):
        start[j + 2] += start[j + 1]
    parents = np.empty(start[m + 1], np.int64)
    for i in range(m):
        for j in range(m):
            if dag[i, j]:
                parents[start[j + 1]] = i
                start[j + 1] += 1
    return start, parents


@kernel
def total_cost(score: Score, dag: BoolArray, costs: FloatArray) -> float:
    """Cost of a graph; ``costs`` are set to those of its variables."""
    m, most = len(dag), 0
    start, parents = list_parents(dag)
    for j in range(m):
        most = max(most, start[j + 1] - start[j])
    L = np.empty((most + 1, most + 2))
    for j in range(m):
        own = parents[start[j] : start[j + 1]]
        costs[j] = local_cost(score, j, own, len(own), L)
    total: float = costs.sum()
    return total


@dataclass(frozen=True, kw_only=True, eq=False)
class ScoredSolution(Solution):
    """A graph found by its score; ``value[i, j]`` says whether there is an arc i -> j.

    ``objective`` is minus the logarithm of the score, with a variance of 1 for each variable.

    Attributes
    ----------
    order : ndarray of int, shape (m,)
        Variables, each after its parents.
    costs : ndarray of shape (m,)
        What each variable adds to the objective.
    """

    order: IntArray
    costs: FloatArray

    def rearranged(self, place: IntArray) -> Self:
        """Give variable k the number ``place[k]``."""
        value, costs = np.empty_like(self.value), np.empty_like(self.costs)
        value[np.ix_(place, place)], costs[place] = self.value, self.costs
        return replace(self, value=value, costs=costs, order=place[self.order])


class ScoredProblem(NamedTuple):
    """A search for a graph, with the variables in an order of their own."""

    score: Score
    arcs: Arcs
    place: IntArray


def scored_problem(
    sample: Sample,
    score: str,
    penalty_discount: float | None,
    allowed: ArrayLike | None,
    required: ArrayLike | None,
) -> ScoredProblem:
    """Check the arguments that the searches have in common."""
    R = np.stack([correlations(S) for S in sample.covariances])
    arcs = as_arcs(allowed, required, len(sample.which), sample.told)
    strength = np.abs(R[0])
    for other in R[1:]:
        strength += np.abs(other)
    place = intrinsic_order(strength / len(R) if len(R) > 1 else strength)
    del strength
    sample = sample._replace(covariances=R[:, place[:, None], place], which=sample.which[place])
    del R
    arcs = arcs.arranged(place)
    most_required = int(arcs.must_be.sum(axis=1).max())
    return ScoredProblem(
        gaussian_score(sample, score, penalty_discount, most_required), arcs, place
    )


def intrinsic_order(strength: FloatArray) -> IntArray:
    """Order variables by how they depend on others, so that their position makes no difference."""
    # The largest count first, and of many variables four nearly always tell all apart.
    if len(strength) > MOST_KEYS:
        keys = np.array([np.partition(row, -N_KEYS)[-N_KEYS:] for row in strength])
        keys = np.sort(keys, axis=1).round(9)
        if len(np.unique(keys, axis=0)) == len(keys):
            return np.lexsort(keys.T)
    return np.lexsort(np.sort(strength, axis=1).round(9).T)


def dag_cost(score: Score, dag: BoolArray) -> float:
    """Cost of any graph, to compare results of whatever search.

    Searches by score leave out families of too many cells; tests may find them.
    """
    score = score._replace(cells=score.cells._replace(most_cells=np.inf))
    return float(total_cost(score, dag, np.empty(len(dag))))


def topological_order(dag: BoolArray) -> IntArray:
    """Order the nodes by the longest path that leads to each."""
    tiers, front = np.zeros(len(dag), dtype=np.int64), dag.any(axis=0)
    while front.any():
        tiers[front] += 1
        front = dag[front].any(axis=0)
    return np.argsort(tiers, kind="stable")
