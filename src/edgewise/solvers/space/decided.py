r"""Which edges and ties of a locally constant model are proven to be the optimum's.

The bounds of `edgewise.solvers.gaussian.decided` hold for the precision, and say which of its
entries are present. Absence and ties follow from the dual. Number the pairs of variables u, and
let e run over the differences of entries of neighbours; the penalty of the entries x is

.. math:: \sum_u 2 t_u |x_u| + \tau \sum_e |(D x)_e|,

and the balance :math:`y^* = 2 (W^* - S)` of the optimum one of its subgradients. A set A of entries
that is connected by differences and where the optimum lies above (or below) all its neighbours, by
the side of 0, has :math:`y^*(A) = 2 t(A) + \tau |\partial A|`. If the optimum has an entry u, such
an A holds it; if it has entries of neighbours that differ, such an A holds one of them only.

The layers of the solver give :math:`y = 2 (W - S) = s + D^\top q + \varepsilon` with
:math:`|s_u| \le 2 t_u`, :math:`|q_e| \le \tau` and what rounding leaves. So such an A has

.. math:: \sum_{u \in A} (2 t_u \mp s_u) + \sum_{e \in \partial A} (\tau - |q_e|)
    \le (y^* - y)(A) + |\varepsilon|(A),

of which all terms on the left are at least 0. As the dual objective at W is at most its gap G below
its optimum, :math:`W^* = W^{1/2} (I + E) W^{1/2}` with :math:`\|E\|_F \le r`, so that the right
side is at most :math:`T = \min(r \lambda_{\max}(W) \sqrt{2 |C|}, \sum_{u \in C} 2 \rho_u) +
|\varepsilon|(C)` for all A within C. An entry with :math:`2 t_u \mp s_u > T` is in no A; one joined
to it by a difference with :math:`\tau - |q_e| > T` is not either. What is left falls apart into
smaller sets C, with a smaller T each, until nothing is left to rule out.

Flows q along a path need not be unique. All that are possible lie between a smallest and a largest
one, both of which are possible; their mean, which stays clear of the bounds, is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from edgewise._core.arrays import to_numpy
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers._solution import Solution
from edgewise.solvers.gaussian.decided import radii
from edgewise.solvers.linalg.dense import inverse_and_log_determinant, log_determinant
from edgewise.solvers.space.fused_rows import FusedProblem
from edgewise.solvers.space.path_layers import cover_by_paths

#: Rounding of an objective, as a share of it.
ROUNDING: Final = 16.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, kw_only=True, eq=False)
class LocallyConstantProof:
    """What is proven of each block, of which nothing links the variables."""

    pairs: IntArray
    parts: tuple[tuple[IntArray, BlockProof], ...]

    def decide(self, solution: Any) -> BoolArray:
        """Mark the pairs that are proven."""
        return self.prove(solution)[0]

    def prove(self, solution: Any) -> tuple[BoolArray, BoolArray]:
        """Mark the pairs that are proven, and the entries (a, n) and (b, n) that are equal."""
        value = to_numpy(solution.value)
        p = len(value)
        decided = value == 0.0
        np.fill_diagonal(decided, True)
        ties = np.zeros((len(self.pairs), p), dtype=bool)
        for block, part in self.parts:
            found, tied = part.proven
            decided[np.ix_(block, block)] = found
            inside = np.flatnonzero(np.isin(self.pairs, block).all(axis=1))
            ties[np.ix_(inside, block)] = tied
        absent = decided & (value == 0.0)
        a, b = self.pairs.T
        return decided, ties | (absent[a] & absent[b])


class BlockProof(Protocol):
    """A solved block."""

    @property
    def proven(self) -> tuple[BoolArray, BoolArray]:
        """Pairs that are proven, and ties."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class SparseProof:
    """A block without local constancy, and its graphical lasso."""

    solution: Solution
    n_pairs: int

    @property
    def proven(self) -> tuple[BoolArray, BoolArray]:
        """Pairs that are proven; ties are those of absent pairs only."""
        decided = self.solution.decided
        assert decided is not None
        return decided, np.zeros((self.n_pairs, len(decided)), dtype=bool)


@dataclass(frozen=True, kw_only=True, eq=False)
class FusedProof:
    """A block: the problem, multipliers of each layer, precision and objective."""

    problem: FusedProblem
    Y: FloatArray
    Theta: FloatArray
    objective: float

    @cached_property
    def proven(self) -> tuple[BoolArray, BoolArray]:
        """Pairs that are proven, and the entries (a, n) and (b, n) that are equal."""
        problem, Theta = self.problem, self.Theta
        p = len(Theta)
        first, second = np.triu_indices(p, 1)
        Sigma, _ = inverse_and_log_determinant(Theta)
        W = problem.S + 0.5 * (self.Y.sum(axis=0) + self.Y.sum(axis=0).T)
        logdet = log_determinant(W)
        decided = np.eye(p, dtype=bool)
        if Sigma is None or logdet == -np.inf:
            return decided, np.zeros((len(problem.pairs), p), dtype=bool)
        balance = _Balance(problem=problem, Y=self.Y, W=W)
        # Multipliers that rounding puts outside their bounds let the dual objective be too large.
        error = float(balance.parts[1].sum()) * float(np.abs(Theta).max())
        gap = self.objective - logdet - p + error + ROUNDING * abs(self.objective)
        reach, _ = radii(Theta, Sigma, gap)
        absent, ties = balance.rule_out(reach)
        x = Theta[first, second]
        diagonal = Theta.diagonal()
        spread = reach * np.sqrt(0.5 * (diagonal[first] * diagonal[second] + x**2))
        decided[first, second] = np.where(x == 0.0, absent, np.abs(x) > spread)
        return decided | decided.T, ties


@dataclass(frozen=True, kw_only=True, eq=False)
class _Balance:
    """The balance of a dual point, split into sparsity and flows."""

    problem: FusedProblem
    Y: FloatArray
    W: FloatArray

    @cached_property
    def number(self) -> IntArray:
        """Number of each pair of variables; those of the diagonal are never read."""
        p = len(self.W)
        number = np.zeros((p, p), dtype=np.int64)
        above = np.triu_indices(p, 1)
        number[above] = np.arange(len(above[0]))
        return number + number.T

    @cached_property
    def parts(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Sparsity s and rest of each pair of variables, and flow of each difference."""
        problem, p = self.problem, len(self.W)
        layers = cover_by_paths(problem.pairs, p)
        s, rest = np.zeros((2, p, p))
        flows = np.zeros((len(problem.pairs), p))
        place = {(min(a, b), max(a, b)): m for m, (a, b) in enumerate(problem.pairs.tolist())}
        for k in range(layers.n_layers):
            limits = problem.thresholds if k == 0 else np.zeros((p, p))
            order, links = _orders(layers.nodes[k], layers.is_joined[k], p)
            rows = np.arange(p)[:, None]
            kept, flow = _flows(
                self.Y[k][rows, order], limits[rows, order], np.where(links, problem.tau, 0.0)
            )
            limit = limits[rows, order]
            clipped = np.clip(kept, -limit, limit)
            s[rows, order] += clipped
            rest[rows, order] += np.abs(kept - clipped)
            _collect(flow, order, links, place, flows)
        above = np.triu_indices(p, 1)
        return (s + s.T)[above], (rest + rest.T)[above], np.abs(flows)

    def rule_out(self, reach: float) -> tuple[BoolArray, BoolArray]:
        """Return which pairs are absent at the optimum, and which differences are 0."""
        problem, p = self.problem, len(self.W)
        s, rest, flows = self.parts
        above = np.triu_indices(p, 1)
        t = 2.0 * problem.thresholds[above]
        diagonal = self.W.diagonal()
        squares = np.outer(diagonal, diagonal) + self.W**2
        spread = 2.0 * reach * np.sqrt(0.5 * squares[above])
        scale = reach * np.sqrt(2.0) * float(np.linalg.eigvalsh(self.W)[-1])
        a, b = problem.pairs.T
        n = np.arange(p)
        is_there = (n != a[:, None]) & (n != b[:, None])
        ends = self.number[a][is_there], self.number[b][is_there]
        room = (problem.tau - flows)[is_there]
        absent = np.ones(len(t), dtype=bool)
        tied = np.ones(len(room), dtype=bool)
        for sign in (1.0, -1.0):
            slack = np.maximum(np.where(np.isinf(t), np.inf, t - sign * s), 0.0)
            label = _peel(slack, ends, room, spread, rest, scale)
            absent &= label < 0
            tied &= label[ends[0]] == label[ends[1]]
        ties = np.zeros(is_there.shape, dtype=bool)
        ties[is_there] = tied
        return absent, ties


def _orders(nodes: IntArray, is_joined: BoolArray, p: int) -> tuple[IntArray, BoolArray]:
    """Entries of every row in the order of the paths of a layer, and which are compared.

    Entry j of row j is in no difference. A ring is entered behind it.
    """
    order = np.tile(nodes, (p, 1))
    links = np.tile(is_joined, (p, 1))
    if is_joined[-1]:
        place = np.argsort(nodes)
        turn = (place[:, None] + 1 + np.arange(p)) % p
        order, links = nodes[turn], is_joined[turn]
    is_own = order == np.arange(p)[:, None]
    links &= ~is_own
    links[:, :-1] &= ~is_own[:, 1:]
    links[:, -1] = False
    return order, links


def _flows(Y: FloatArray, t: FloatArray, tau: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split each row of Y into s and flows: ``Y_m = s_m + q_(m-1) - q_m``.

    ``tau`` bounds the flow behind each entry; it is 0 behind the last of a path.
    """
    rows, p = Y.shape
    low, high = np.empty((2, rows, p))
    last_low = last_high = np.zeros(rows)
    for m in range(p):
        last_low = np.clip(last_low - Y[:, m] - t[:, m], -tau[:, m], tau[:, m])
        last_high = np.clip(last_high - Y[:, m] + t[:, m], -tau[:, m], tau[:, m])
        low[:, m], high[:, m] = last_low, last_high
    next_low = next_high = np.zeros(rows)
    for m in range(p - 1, -1, -1):
        low[:, m] = np.maximum(low[:, m], next_low)
        high[:, m] = np.minimum(high[:, m], next_high)
        if m > 0:
            next_low = np.clip(next_low + Y[:, m] - t[:, m], -tau[:, m - 1], tau[:, m - 1])
            next_high = np.clip(next_high + Y[:, m] + t[:, m], -tau[:, m - 1], tau[:, m - 1])
    q = np.clip(0.5 * (low + high), -tau, tau)
    s = Y + q
    s[:, 1:] -= q[:, :-1]
    return s, q


def _collect(
    flow: FloatArray,
    order: IntArray,
    links: BoolArray,
    place: dict[tuple[int, int], int],
    flows: FloatArray,
) -> None:
    """Put the flows of a layer where their pair of neighbours and their row are."""
    rows, steps = np.nonzero(links)
    first, second = order[rows, steps], order[rows, steps + 1]
    low, high = np.minimum(first, second), np.maximum(first, second)
    p = flows.shape[1]
    table = np.full(p * p, -1)
    for (a, b), m in place.items():
        table[a * p + b] = m
    flows[table[low * p + high], rows] = flow[rows, steps]


def _peel(
    slack: FloatArray,
    ends: tuple[IntArray, IntArray],
    room: FloatArray,
    spread: FloatArray,
    rest: FloatArray,
    scale: float,
) -> IntArray:
    """Rule out entries; return -1 for those, and for others the number of what they are tied to."""
    n = len(slack)
    is_open = np.ones(n, dtype=bool)
    first, second = ends
    while True:
        inside = is_open[first] & is_open[second]
        label = _join(n, first[inside], second[inside])
        count = np.bincount(label[is_open], minlength=n)
        sums = np.bincount(label[is_open], weights=spread[is_open], minlength=n)
        errors = np.bincount(label[is_open], weights=rest[is_open], minlength=n)
        # Rounding of the sums themselves.
        most = (1.0 + 1e-12) * (np.minimum(sums, scale * np.sqrt(count)) + errors)
        limit = most[label]
        is_firm = inside & (room > limit[first])
        bundle = _join(n, first[is_firm], second[is_firm])
        is_out = ~is_open | (slack > limit)
        across = is_open[first] != is_open[second]
        held = np.where(is_open[first], first, second)[across]
        is_out[held[room[across] > limit[held]]] = True
        ruled = np.zeros(n, dtype=bool)
        ruled[bundle[is_out & is_open]] = True
        still = is_open & ~ruled[bundle]
        if np.array_equal(still, is_open):
            return np.where(is_open, bundle, -1)
        is_open = still


def _join(n: int, first: IntArray, second: IntArray) -> IntArray:
    """Label the connected components of n things."""
    graph = sparse.coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    label: Any = connected_components(graph, directed=False)[1]
    return np.asarray(label)
