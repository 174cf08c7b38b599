r"""Which entries of changes and of joint networks are proven to be the optimum's.

**Joint graphical lassos.** The bounds of `edgewise.solvers.gaussian.decided` hold for each group,
so that the balance :math:`y_k = w_k (\Sigma_k - S_k)` of a place is within known distances
:math:`\rho_k` of that of the optimum, :math:`y^*`, which is a subgradient of the penalty h at the
optimum's entries x. Where :math:`\|(|y| + \rho - \alpha)_+\|_2 < \gamma` the norm has all of them
0, and wherever :math:`|y_k| + \rho_k < \alpha` that of group k. A fused penalty is the support
function of :math:`\{y : |y(A)| \le \alpha |A| + \gamma\, \mathrm{cut}(A)\}` over sets A of
groups: x is a positive combination of the signed indicators of connected sets whose bound
:math:`y^*` meets. Group k is absent where no such set with k in it is within reach. If entries of
two groups differ, :math:`|y^*_k| = \alpha + \gamma` in one of them: where neither can reach that,
they are equal.

**D-trace.** With the curvature :math:`M = S_P \otimes S_Q + \rho I`, differences E from the optimum
have :math:`\langle E, M E \rangle \le 2 G`. An entry of the slope's change, the symmetric part of
:math:`M E`, is at most :math:`\sqrt{G\, h_{ij}}` with the curvature :math:`h_{ij} =
(a_{ii} b_{jj} + a_{jj} b_{ii}) / 2 + a_{ij} b_{ij} + \rho` of the entry (on the diagonal with
:math:`2 \rho`). An entry of E itself is at most :math:`\sqrt{2 G\, (M^{-1})_{ij,ij}}`; if few pairs
are left that may be there, M is that of symmetric matrices of these pairs.

**Density ratio.** The loss is :math:`\log \sum_i e^{\theta^\top f_i}`, whose Bregman distance from
the optimum is the divergence :math:`\mathrm{KL}(w^* \| w)` of the weights of the rows, so that
:math:`\mathrm{KL}(w^* \| w) + \frac{\rho}{2} \|\theta - \theta^*\|^2 \le G`. Means of the features
of a pair, of variance V and of length M at most about their mean, differ by at most
:math:`\sqrt{2 V G} + M G / 3` (Bernstein), and by no more than :math:`\sqrt{2 G} \max \|f\|`
(Pinsker).

Where nothing changes at all, slopes are those of the optimum as soon as none exceeds alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from edgewise._core.arrays import to_numpy
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.change.dtrace_problem import DTraceProblem, gram
from edgewise.solvers.change.group_penalties import ALL_PAIRS, GROUP, Layers
from edgewise.solvers.change.ratio_problem import RatioProblem, moment_rounding
from edgewise.solvers.gaussian.decided import radii
from edgewise.solvers.lasso.decided import invert_curvature

EPSILON: Final = float(np.finfo(np.float64).eps)
#: Sets of groups that are looked at one by one; beyond, groups are absent together or not at all.
MOST_SETS: Final = 512
#: Pairs that may be there up to which their own curvature is looked at.
FEW_PAIRS: Final = 800
#: Numbers held at a time while pairs are looked at.
CHUNK: Final = 4_000_000


@dataclass(frozen=True, kw_only=True, eq=False)
class JointProof:
    """A joint graphical lasso, and the gap of each of its blocks."""

    S: Any
    weights: FloatArray
    layers: Layers
    blocks: tuple[IntArray, ...]
    gaps: tuple[float, ...]

    def decide(self, solution: Any) -> BoolArray:
        """Mark the pairs of each group that are proven, in an array of shape (K, p, p)."""
        S, Theta, Sigma = (to_numpy(A) for A in (self.S, solution.value, solution.covariance))
        # Between blocks the optimum is exactly zero.
        decided: BoolArray = Theta == 0.0
        for block, gap in zip(self.blocks, self.gaps, strict=True):
            part = np.ix_(np.arange(len(S)), block, block)
            decided[part] = self._decide_block(S[part], Theta[part], Sigma[part], gap, solution)
        for one in decided:
            np.fill_diagonal(one, True)
        return decided

    def _decide_block(
        self, S: FloatArray, Theta: FloatArray, Sigma: FloatArray, gap: float, solution: Any
    ) -> BoolArray:
        decided = np.ones(S.shape, dtype=bool)
        above = np.triu_indices(S.shape[1], 1)
        y, x, drift, size = _distances(S, Theta, Sigma, self.weights, gap)
        absent = absent_groups(y, drift, solution.alpha, solution.coupling, self.layers)
        found = np.where(x == 0.0, absent, np.abs(x) > size)
        decided[:, above[0], above[1]] = decided[:, above[1], above[0]] = found
        return decided


def _distances(
    S: FloatArray, Theta: FloatArray, Sigma: FloatArray, weights: FloatArray, gap: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Balances and entries of the pairs of each group, and how far the optimum's are from them."""
    above = np.triu_indices(S.shape[1], 1)
    size, drift = np.empty((2, len(S), len(above[0])))
    for k, weight in enumerate(weights.tolist()):
        # Scaled to unit variances, what is lost to rounding does not depend on the units.
        unit = np.sqrt(Sigma[k].diagonal())
        units = np.outer(unit, unit)
        reach, reach_of_inverse = radii(Theta[k] * units, Sigma[k] / units, gap / weight)
        size[k] = reach * _spread(Theta[k])[above]
        drift[k] = weight * reach_of_inverse * _spread(Sigma[k])[above]
    y = weights[:, None] * (Sigma - S)[:, above[0], above[1]]
    return y, Theta[:, above[0], above[1]], drift, size


def _spread(A: FloatArray) -> FloatArray:
    """Largest inner product of a matrix of norm 1 between the columns of the root of ``A``."""
    diagonal = A.diagonal()
    return np.asarray(np.sqrt(0.5 * (np.outer(diagonal, diagonal) + A * A)))


@dataclass(frozen=True, kw_only=True, eq=False)
class TieProof:
    """A joint graphical lasso of two groups with a fused penalty: which pairs differ."""

    S: FloatArray

    def decide(self, solution: Any) -> BoolArray:
        """Mark the pairs that are proven to differ, with the sign, or to be equal."""
        decided = np.ones(self.S.shape[1:], dtype=bool)
        first, second = np.triu_indices(len(decided), 1)
        y, x, drift, size = _distances(
            self.S, solution.value, solution.covariance, np.ones(2), solution.gap
        )
        tied = np.all(np.abs(y) + drift < solution.alpha + solution.coupling, axis=0)
        found = np.where(x[0] == x[1], tied, np.abs(x[1] - x[0]) > size.sum(axis=0))
        decided[first, second] = decided[second, first] = found
        return decided


def absent_groups(
    y: FloatArray, drift: FloatArray, alpha: float, coupling: float, layers: Layers
) -> BoolArray:
    """Tell which of the K entries of each place, shape (K, m), are proven to be 0.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.joint_graphical_lasso import _make_layers
    >>> layers = _make_layers("fused", None, 2)
    >>> y, drift = np.array([[0.5], [0.05]]), np.full((2, 1), 0.01)
    >>> absent_groups(y, drift, 0.2, 0.1, layers).ravel()
    array([False,  True])
    """
    high = np.abs(y) + drift
    if layers.kind == GROUP:
        over = np.sqrt(np.sum(np.maximum(high - alpha, 0.0) ** 2, axis=0))
        return np.asarray((high < alpha) | (over < coupling))
    is_apart = np.all(high < alpha, axis=0)
    absent = np.repeat(is_apart[None], len(y), axis=0)
    links = _links(layers, len(y))
    sets = connected_sets(links, len(y)) if coupling > 0.0 else list(np.eye(len(y), dtype=bool))
    if sets is None or is_apart.all():
        return absent
    left = np.flatnonzero(~is_apart)
    y, drift = y[:, left], drift[:, left]
    # No entry of the optimum's balance is larger than what its own set allows.
    most = alpha + (coupling * links.sum(axis=1) if coupling > 0.0 else np.zeros(len(y)))
    up = np.minimum(y + drift, most[:, None])
    down = np.minimum(drift - y, most[:, None])
    may_be = np.zeros(y.shape, dtype=bool)
    for own in sets:
        cut = int(links[np.ix_(own, ~own)].sum())
        room = alpha * own.sum() + (coupling * cut if cut else 0.0)
        sums = np.maximum(up[own].sum(axis=0), down[own].sum(axis=0))
        may_be[own] |= ~(sums < room)
    absent[:, left] = ~may_be
    return absent


def _links(layers: Layers, n_groups: int) -> IntArray:
    """How often the penalty compares two groups."""
    links = np.zeros((n_groups, n_groups), dtype=np.int64)
    if layers.kind == ALL_PAIRS:
        return np.asarray(1 - np.eye(n_groups, dtype=np.int64))
    for path, is_linked in zip(layers.paths, layers.is_linked, strict=True):
        second = np.flatnonzero(is_linked)
        np.add.at(links, (path[second], path[second - 1]), 1)
    return links + links.T


def connected_sets(links: IntArray, n_groups: int) -> list[BoolArray] | None:
    """List the sets of groups that links hold together; None where there are too many.

    Examples
    --------
    >>> len(connected_sets(1 - np.eye(3, dtype=int), 3))
    7
    """
    found = {frozenset([k]) for k in range(n_groups)}
    last = set(found)
    while last:
        last = {
            own | {k}
            for own in last
            for k in range(n_groups)
            if k not in own and links[k, list(own)].any()
        } - found
        found |= last
        if len(found) > MOST_SETS:
            return None
    return [np.isin(np.arange(n_groups), list(own)) for own in found]


@dataclass(frozen=True, kw_only=True, eq=False)
class DTraceProof:
    """A D-trace problem."""

    problem: DTraceProblem

    def decide(self, solution: Any) -> BoolArray:
        """Mark the pairs that are proven."""
        problem, Delta = self.problem, solution.value
        A, B, ridge = problem.A, problem.B, problem.ridge
        gap = solution.gap + 16.0 * EPSILON * abs(solution.objective)
        product = problem.sandwich(Delta)
        slope = 0.5 * (product + product.T) - problem.C + ridge * Delta
        a, b, share = problem.errors(Delta)
        across = np.outer(a, b)
        error = 0.5 * (share + 8.0 * EPSILON) * (across + across.T)
        squares = across**2
        curvature = 0.5 * (squares + squares.T) + A * B + ridge * (1.0 + np.eye(len(A)))
        absent = np.abs(slope) + error + np.sqrt(gap * curvature) < solution.alpha
        is_exact = not Delta.any() or not (problem.penalize_diagonal or np.triu(Delta, 1).any())
        if is_exact and np.all(np.triu(np.abs(slope) - error, 1) <= solution.alpha):
            return np.ones(Delta.shape, dtype=bool)
        inverse = self._inverse_curvature()
        spread = np.sqrt(2.0 * gap * np.minimum(inverse, inverse.T))
        if not problem.penalize_diagonal:
            np.fill_diagonal(absent, False)
        first, second = np.nonzero(np.triu(~absent | (Delta != 0.0)))
        if len(first) <= FEW_PAIRS:
            H = np.empty((len(first), len(first)))
            gram(A, B, ridge, first, second, H)
            among = invert_curvature(H)
            if among is not None:
                # In the orthonormal basis an entry off the diagonal counts twice.
                counts = np.where(first == second, 2.0, 1.0)
                found = np.sqrt(counts * gap * among.diagonal())
                spread[first, second] = np.minimum(spread[first, second], found)
                spread = np.minimum(spread, spread.T)
        decided = np.where(Delta == 0.0, absent, np.abs(Delta) > spread)
        np.fill_diagonal(decided, True)
        return np.asarray(decided)

    def _inverse_curvature(self) -> FloatArray:
        """Diagonal of the inverse of the curvature, rounded up; huge where there is none."""
        problem = self.problem
        values, squares = [], []
        for S in (problem.A, problem.B):
            found, vectors = np.linalg.eigh(S)
            values.append(np.maximum(found - 4.0 * len(S) * EPSILON * found[-1], 0.0))
            squares.append(vectors**2 + 4.0 * len(S) * EPSILON)
        curved = np.maximum(np.outer(*values) + problem.ridge, np.finfo(np.float64).tiny)
        return np.asarray(squares[0] @ (1.0 / curved) @ squares[1].T)


@dataclass(frozen=True, kw_only=True, eq=False)
class RatioProof:
    """A density ratio with a ridge."""

    problem: RatioProblem

    def decide(self, solution: Any) -> BoolArray:
        """Mark the pairs that are proven; of a single coefficient per pair, with its sign."""
        problem = self.problem
        features, ridge = problem.features, problem.ridge
        d, theta = features.n_variables, to_numpy(solution.value)
        weights = to_numpy(solution.weights)
        gap = solution.gap
        first, second = np.triu_indices(d, 1)
        pairs = first * d + second
        coef = theta[first, second]
        slack = problem.slack(features.moments(weights), pairs)
        length, size = (np.sqrt(np.sum(one**2, axis=1)) for one in (slack, coef))
        error = moment_rounding(features, np.log(np.maximum(weights, 1e-300)))
        if not theta.any() and np.all(length <= solution.alpha + error):
            return np.ones((d, d), dtype=bool)
        drift = np.full(len(pairs), np.sqrt(2.0 * gap) * float(features.row_lengths.max()))
        absent = length + drift + error < solution.alpha
        open_pairs = np.flatnonzero(~absent & ~(size > np.sqrt(2.0 * gap / ridge)))
        drift[open_pairs] = np.minimum(
            drift[open_pairs], self._drift(pairs[open_pairs], weights, gap)
        )
        absent = length + drift + error < solution.alpha
        # The slope of a pair is longer than alpha at the optimum only where that has the pair.
        present = length - drift - error > solution.alpha
        if coef.shape[1] == 1:
            present &= (slack * coef)[:, 0] > 0.0
        present |= size > np.sqrt(2.0 * gap / ridge)
        decided = np.ones((d, d), dtype=bool)
        found = np.where(size == 0.0, absent, present)
        decided[first, second] = decided[second, first] = found
        return decided

    def _drift(self, pairs: IntArray, weights: FloatArray, gap: float) -> FloatArray:
        """Bound how far the means of the features of some pairs are from those at the optimum."""
        features = self.problem.features
        drift = np.empty(len(pairs))
        step = max(1, CHUNK // (len(weights) * features.size))
        for start in range(0, len(pairs), step):
            some = slice(start, start + step)
            columns = features.columns(pairs[some], np.ones(len(weights)))
            away = columns - (columns @ weights)[:, :, None]
            squares = np.sum(away**2, axis=1)
            variance = squares @ weights
            drift[some] = np.sqrt(2.0 * variance * gap) + np.sqrt(squares.max(axis=1)) * gap / 3.0
        return drift
