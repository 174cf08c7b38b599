"""Parts of the locally constant model: blocks, fused lassos of rows, groups of equal entries."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from edgewise._core.jit import ShareRows, in_turn, kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.linalg.dense import log_determinant
from edgewise.solvers.linalg.kernels import find_root

#: Entries of a path up to which the direct method, quadratic at worst, is the faster one.
SHORT = 128


class FusedProblem(NamedTuple):
    """Covariance, l1 strengths with those of the diagonal, strength of differences, neighbours."""

    S: FloatArray
    thresholds: FloatArray
    tau: float
    pairs: IntArray

    def objective(self, Theta: FloatArray) -> float:
        """Objective at a symmetric matrix, inf where it is not positive definite."""
        logdet = log_determinant(Theta)
        if logdet == -np.inf:
            return np.inf
        return float(np.vdot(self.S, Theta)) - logdet + penalty(Theta, self)

    def blocks(self) -> list[IntArray]:
        """Return the variables of each block that can be solved by itself."""
        return split_blocks(self)

    def restrict(self, block: IntArray) -> FusedProblem:
        """Return the problem of one block."""
        return restrict(self, block)

    def diagonal_solution(self) -> FloatArray:
        """Return the best diagonal precision."""
        return np.diag(1.0 / (self.S.diagonal() + self.thresholds.diagonal()))

    def interior_dual(self) -> FloatArray | None:
        """Return a dual point that is positive definite, or None where none is obvious.

        Correlations shrunken by a common factor, as far as the thresholds allow, with the penalty
        of the diagonal added.
        """
        off = ~np.eye(len(self.S), dtype=bool)
        size = np.abs(self.S[off])
        room = np.divide(self.thresholds[off], size, out=np.full_like(size, np.inf), where=size > 0)
        shrink = min(1.0, float(room.min(initial=1.0)))
        Sigma = self.S * np.where(off, 1.0 - shrink, 1.0) + np.diag(self.thresholds.diagonal())
        return Sigma if log_determinant(Sigma) > -np.inf else None


def split_blocks(problem: FusedProblem) -> list[IntArray]:
    r"""Return the variables of each block, for the finest split that merging finds.

    If for every pair of variables :math:`i, j` in different blocks

    .. math:: |S_{ij}| + \tfrac{\tau}{2} c_{ij} \le t_{ij},

    where :math:`c_{ij}` counts the neighbours of :math:`i` in the block of :math:`j` and those of
    :math:`j` in the block of :math:`i`, then the solution is 0 between blocks: each of those
    neighbours joins the entry to an entry inside a block by a difference, whose subgradient is at
    most :math:`\tau / 2`; the differences between two entries outside the blocks need no
    subgradient.

    Leaving out a variable is not enough, though. Its differences stay, as absolute values of the
    entries they are taken from: inside a block the l1 strength of an entry :math:`(i, j)` grows by
    :math:`\tau / 2` for every neighbour of :math:`i`, and every neighbour of :math:`j`, outside.
    """
    start, neighbor = neighbor_lists(problem.pairs, len(problem.S))
    label = _merge_blocks(problem, start, neighbor)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def restrict(problem: FusedProblem, block: IntArray) -> FusedProblem:
    """Return the problem of one block by itself."""
    p = len(problem.S)
    if block.size == p:
        return problem
    pairs, n_outside = cut(problem.pairs, block, p)
    thresholds = problem.thresholds[np.ix_(block, block)]
    added = 0.5 * problem.tau * np.add.outer(n_outside, n_outside)
    np.fill_diagonal(added, 0.0)
    return FusedProblem(
        S=problem.S[np.ix_(block, block)],
        thresholds=thresholds + added,
        tau=problem.tau,
        pairs=pairs,
    )


def cut(pairs: IntArray, block: IntArray, p: int) -> tuple[IntArray, IntArray]:
    """Return the pairs inside a block, and the number of neighbours outside of its variables."""
    position = np.full(p, -1)
    position[block] = np.arange(block.size)
    ends = position[pairs]
    is_inside = ends >= 0
    leaving = pairs[is_inside.sum(axis=1) == 1]
    n_outside = np.bincount(leaving[position[leaving] >= 0], minlength=p)[block]
    return ends[is_inside.all(axis=1)], n_outside


def neighbor_lists(pairs: IntArray, p: int) -> tuple[IntArray, IntArray]:
    """Return the neighbours of variable i as ``neighbor[start[i]:start[i + 1]]``."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    start = np.zeros(p + 1, dtype=np.int64)
    np.cumsum(np.bincount(both[:, 0], minlength=p), out=start[1:])
    return start, np.ascontiguousarray(both[:, 1])


@kernel
def _merge_blocks(problem: FusedProblem, start: IntArray, neighbor: IntArray) -> IntArray:
    """Merge single variables into blocks until no pair across blocks breaks the rule."""
    S, p = problem.S, len(problem.S)
    label = np.arange(p)
    root = np.arange(p)
    is_changed = True
    while is_changed:
        is_changed = False
        for i in range(p):
            for j in range(i):
                if label[i] == label[j]:
                    continue
                count = 0
                for k in range(start[i], start[i + 1]):
                    count += neighbor[k] != j and label[neighbor[k]] == label[j]
                for k in range(start[j], start[j + 1]):
                    count += neighbor[k] != i and label[neighbor[k]] == label[i]
                if abs(S[i, j]) + 0.5 * problem.tau * count > problem.thresholds[i, j]:
                    a, b = find_root(root, i), find_root(root, j)
                    if a != b:
                        root[max(a, b)] = min(a, b)
                        is_changed = True
        for i in range(p):
            label[i] = find_root(root, i)
    return label


class Layers(NamedTuple):
    """Paths that together hold every pair once; the paths of one layer share no variable.

    Attributes
    ----------
    nodes : ndarray of int, shape (n_layers, p)
        All variables, path after path; one without a pair in the layer is a path by itself.
    is_joined : ndarray of bool, shape (n_layers, p)
        Whether a node and the next are a pair; the last entry, whether the first and the last are.
    layer : ndarray of int, shape (n_pairs,)
        Layer of each pair.
    """

    nodes: IntArray
    is_joined: BoolArray
    layer: IntArray

    @property
    def n_layers(self) -> int:
        """Number of layers."""
        return len(self.nodes)


@kernel
def fused_path(
    y: FloatArray, weight: FloatArray, strength: float, n: int, b: FloatArray, work: FloatArray
) -> None:
    """Solve the fused lasso of the first ``n`` entries of ``y`` into ``b``.

    Five rows of scratch, of size 2 n + 2 at least: where the derivative changes, by how much its
    slope and its level do, from left to right, and the ends of the clipped part.
    """
    knot, slope, level, low, high = work[0], work[1], work[2], work[3], work[4]
    first = n + 1
    last = n
    jump = 0.0
    edge = 0.0
    for k in range(n):
        # Left of all knots the derivative is x + left, right of them x + right.
        left = -edge - y[k] - weight[k]
        right = edge - y[k] + weight[k]
        jump += 2.0 * weight[k]
        target = strength if k < n - 1 else 0.0
        t, a, c, first, jump = _reach(-target, left, jump, work, first, last + 1, 1)
        if k == n - 1:
            b[k] = t
            break
        low[k] = t
        first -= 1
        knot[first] = t
        slope[first] = a
        level[first] = c + strength
        t, a, c, last, jump = _reach(target, right, jump, work, last, first, -1)
        # Never left of the other end, whatever rounding says.
        high[k] = max(t, low[k])
        last += 1
        knot[last] = high[k]
        slope[last] = -a
        level[last] = strength - c
        edge = strength
    for k in range(n - 2, -1, -1):
        b[k] = min(max(b[k + 1], low[k]), high[k])


@kernel
def _reach(
    target: float, c: float, jump: float, work: FloatArray, k: int, stop: int, way: int
) -> tuple[float, float, float, int, float]:
    """Find where the derivative reaches ``target``, from the left (``way`` 1) or right (-1).

    ``c`` is the level outside all knots, ``k`` the outermost knot, and ``stop`` the one not to be
    passed. Returns the place, slope and level just inside it, the knot that is outermost then, and
    what is left of the jump at 0.
    """
    a = 1.0
    while True:
        if jump > 0.0 and (k == stop or way * work[0, k] >= 0.0):
            if way * (c - target) >= 0.0:
                break
            c += way * jump
            if way * (c - target) >= 0.0:
                # The level just inside 0 belongs to the jump, not to the knot made here.
                return 0.0, a, target, k, way * (c - target)
            jump = 0.0
        elif k != stop and way * (a * work[0, k] + c - target) < 0.0:
            a += way * work[1, k]
            c += way * work[2, k]
            k += way
        else:
            break
    return (target - c) / a, a, c, k, jump


@kernel
def short_path(y: FloatArray, strength: float, n: int, b: FloatArray) -> None:
    """Do the same without weights, for paths that are not long.

    The solution is a row of runs of equal entries. What a run carries over to the next entry must
    stay within the strength, which bounds its value from below and above. It ends where the entry
    ahead contradicts a bound, at the last entry that set that bound. Entries behind are read again,
    so the work may be quadratic, but nothing is stored [1]_.

    References
    ----------
    .. [1] Condat (2013). A direct algorithm for 1D total variation denoising. *IEEE Signal
       Processing Letters* 20(11). https://doi.org/10.1109/LSP.2013.2278339
    """
    first = 0
    carried = 0.0
    while first < n:
        total = carried
        low, high = -np.inf, np.inf
        low_end = high_end = first
        way = 0
        for k in range(first, n - 1):
            total += y[k]
            share = 1.0 / (k - first + 1)
            lower = (total - strength) * share
            upper = (total + strength) * share
            if lower > high:
                way = 1
                break
            if upper < low:
                way = -1
                break
            # Selections rather than branches, which would be guessed wrong half of the time.
            low_end = k if lower >= low else low_end
            low = max(lower, low)
            high_end = k if upper <= high else high_end
            high = min(upper, high)
        value = (total + y[n - 1]) / (n - first)
        if way > 0 or (way == 0 and value > high):
            end, value, carried = high_end, high, -strength
        elif way < 0 or (way == 0 and value < low):
            end, value, carried = low_end, low, strength
        else:
            end = n - 1
        for m in range(first, end + 1):
            b[m] = value
        first = end + 1


def shrink_layers(
    Omega: FloatArray,
    problem: FusedProblem,
    mu: float,
    relaxation: float,
    layers: Layers,
    Z: FloatArray,
    U: FloatArray,
    mean: FloatArray,
    share: ShareRows = in_turn,
) -> tuple[float, float, float, float]:
    r"""Move the copies ``Z`` and scaled multipliers ``U`` of all layers, in place.

    For each layer, with :math:`a` the over-relaxation,

    .. math::
        H = a \Omega + (1 - a) Z + U, \qquad Z \gets \operatorname{prox}(H), \qquad U \gets H - Z,

    row by row; the first layer carries the sparsity. ``mean`` receives the mean of
    :math:`Z - U` over the layers, ``share`` runs some rows at a time. Returns the squared norms of
    :math:`\Omega - Z`, of the change of :math:`Z`, of :math:`Z` and of :math:`U`.
    """
    sums = share(
        len(Omega),
        partial(_shrink_rows, Omega, problem, mu, relaxation, layers, Z, U, mean),
    )
    primal, dual, size_Z, size_U = np.sum(sums, axis=0).tolist()
    return primal, dual, size_Z, size_U


@kernel
def _shrink_rows(
    Omega: FloatArray,
    problem: FusedProblem,
    mu: float,
    relaxation: float,
    layers: Layers,
    Z: FloatArray,
    U: FloatArray,
    mean: FloatArray,
    first: int,
    last: int,
) -> tuple[float, float, float, float]:
    """Do so for the rows from ``first`` up to ``last``."""
    n_layers, p = layers.nodes.shape
    strength = problem.tau / mu
    work = np.empty((8, 2 * p + 3))
    place = np.empty(p, np.int64)
    h = np.empty(p)
    fresh = np.empty(p)
    primal = dual = size_Z = size_U = 0.0
    for k in range(n_layers):
        factor = 1.0 / mu if k == 0 else 0.0
        for j in range(first, last):
            z = Z[k, j]
            u = U[k, j]
            o = Omega[j]
            for i in range(p):
                h[i] = relaxation * o[i] + (1.0 - relaxation) * z[i] + u[i]
            nodes, is_joined = layers.nodes[k], layers.is_joined[k]
            shrink_row(
                h, j, problem.thresholds[j], factor, strength, nodes, is_joined, work, place, fresh
            )
            total = mean[j]
            for i in range(p):
                x = fresh[i]
                primal += (o[i] - x) ** 2
                dual += (x - z[i]) ** 2
                z[i] = x
                u[i] = h[i] - x
                size_Z += x * x
                size_U += u[i] * u[i]
                total[i] = (total[i] if k > 0 else 0.0) + (x - u[i]) / n_layers
    return primal, dual, size_Z, size_U


@kernel
def shrink_row(
    h: FloatArray,
    j: int,
    threshold: FloatArray,
    factor: float,
    strength: float,
    nodes: IntArray,
    is_joined: BoolArray,
    work: FloatArray,
    place: IntArray,
    z: FloatArray,
) -> None:
    """Apply the fused lasso to row ``j`` along the paths of one layer, or along one of them.

    Entry j is in no difference and cuts its path. So does an entry that must be 0, whose
    differences become absolute values of its neighbours. The strength of sparsity is ``factor``
    times the threshold; a ``factor`` of 0 leaves sparsity to another layer. The last five rows of
    ``work`` are for paths that are long or have different thresholds.
    """
    p = len(nodes)
    y, w, b = work[0], work[1], work[2]
    # A ring is entered behind j, so that it is a path that ends before j.
    shift = 0
    if is_joined[p - 1]:
        while nodes[shift] != j:
            shift += 1
        shift += 1
    n = 0
    beside_zero = 0.0
    for step in range(p):
        k = step + shift
        if k >= p:
            k -= p
        i = nodes[k]
        t = factor * threshold[i] if factor > 0.0 else 0.0
        is_free = i != j and t < np.inf
        if is_free:
            y[n] = h[i]
            w[n] = t + beside_zero
            place[n] = i
            n += 1
            beside_zero = 0.0
        elif i == j:
            z[j] = h[j] - min(max(h[j], -t), t)
            beside_zero = 0.0
        else:
            z[i] = 0.0
            if n > 0:
                w[n - 1] += strength
            beside_zero = strength
        if n > 0 and not (is_free and is_joined[k] and step < p - 1):
            _shrink_path(y, w, strength, n, b, work[3:])
            for m in range(n):
                z[place[m]] = b[m]
            n = 0
        if not is_joined[k]:
            beside_zero = 0.0


@kernel
def _shrink_path(
    y: FloatArray, w: FloatArray, strength: float, n: int, b: FloatArray, work: FloatArray
) -> None:
    """Solve the fused lasso of one path into ``b``."""
    t = w[0]
    for m in range(1, n):
        if w[m] != t:
            fused_path(y, w, strength, n, b, work)
            return
    # Equal weights are a threshold after the fact.
    if n <= SHORT:
        short_path(y, strength, n, b)
    else:
        for m in range(n):
            w[m] = 0.0
        fused_path(y, w, strength, n, b, work)
    if t > 0.0:
        for m in range(n):
            b[m] -= min(max(b[m], -t), t)


@kernel
def find_groups(pairs: IntArray, layer: IntArray, Z: FloatArray) -> IntArray:
    """Give a number to each set of entries that are held equal, and -1 to diagonal and zeros.

    Entries (a, n) and (b, n) of neighbours a and b are joined where ``Z`` of the layer of that
    pair holds them equal. A set with a 0 in it is 0 throughout; ``Z[0]`` is the layer with zeros.
    """
    p = Z.shape[1]
    root = np.arange(p * p)
    for m in range(len(pairs)):
        a = pairs[m, 0]
        b = pairs[m, 1]
        copy = Z[layer[m]]
        for n in range(p):
            if n != a and n != b and copy[n, a] == copy[n, b]:
                r = find_root(root, max(a, n) * p + min(a, n))
                s = find_root(root, max(b, n) * p + min(b, n))
                root[max(r, s)] = min(r, s)
    is_zero = np.zeros(p * p, np.bool_)
    for i in range(p):
        for j in range(i):
            if Z[0, i, j] == 0.0 or Z[0, j, i] == 0.0:
                is_zero[find_root(root, i * p + j)] = True
    groups = np.full((p, p), -1)
    number = np.full(p * p, -1)
    n_groups = 0
    for i in range(p):
        for j in range(i):
            r = find_root(root, i * p + j)
            if is_zero[r]:
                continue
            if number[r] < 0:
                number[r] = n_groups
                n_groups += 1
            groups[i, j] = number[r]
            groups[j, i] = number[r]
    return groups


@kernel
def average_groups(Omega: FloatArray, groups: IntArray) -> FloatArray:
    """Return the mean of ``Omega`` over each group, with its diagonal, and 0 elsewhere."""
    p = Omega.shape[0]
    n_groups = groups.max() + 1
    total = np.zeros(n_groups)
    count = np.zeros(n_groups)
    for i in range(p):
        for j in range(i):
            g = groups[i, j]
            if g >= 0:
                total[g] += 0.5 * (Omega[i, j] + Omega[j, i])
                count[g] += 1.0
    X = np.zeros((p, p))
    for i in range(p):
        X[i, i] = Omega[i, i]
        for j in range(i):
            g = groups[i, j]
            if g >= 0:
                X[i, j] = total[g] / count[g]
                X[j, i] = X[i, j]
    return X


@kernel
def penalty(Theta: FloatArray, problem: FusedProblem) -> float:
    """Return the weighted l1 norm plus ``tau`` times the absolute differences of neighbours."""
    pairs, p = problem.pairs, Theta.shape[0]
    sparsity = 0.0
    for i in range(p):
        for j in range(p):
            # A forbidden entry that is 0 costs nothing.
            if Theta[i, j] != 0.0:
                sparsity += problem.thresholds[i, j] * abs(Theta[i, j])
    difference = 0.0
    for m in range(len(pairs)):
        a = pairs[m, 0]
        b = pairs[m, 1]
        for n in range(p):
            if n != a and n != b:
                difference += abs(Theta[a, n] - Theta[b, n])
    return sparsity + problem.tau * difference
