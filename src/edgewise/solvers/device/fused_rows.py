"""Rows of the locally constant model on arrays of other libraries than numpy.

On a GPU for which numba compiles, a thread takes a path of a row (`PathsOnDevice`). Elsewhere
everything is made of matrix operations (`PairRows`): each layer of paths is taken apart into two
layers of pairs, whose fused lasso is a mean or a shift, and sparsity has a layer of its own, which
takes up to twice as many iterations.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Any

import numpy as np

from edgewise._core.arrays import array_namespace, like, to_numpy
from edgewise._core.process import restore_row_stack
from edgewise._core.typing import IntArray
from edgewise.solvers.device.graphical_lasso import HOST_BELOW, components
from edgewise.solvers.linalg.blocks import take
from edgewise.solvers.linalg.dense import (
    log_determinant,
    set_diagonal,
    soften,
)
from edgewise.solvers.linalg.first_order import (
    Residuals,
)
from edgewise.solvers.space.fused_rows import (
    SHORT,
    FusedProblem,
    Layers,
    cut,
    shrink_row,
    split_blocks,
)
from edgewise.solvers.space.path_layers import RELAXATION, cover_by_paths


@dataclass(frozen=True, kw_only=True, eq=False)
class Matching:
    """Pairs of a layer of which none share a variable.

    Attributes
    ----------
    layer : int
        The layer of paths that the pairs belong to.
    partner : array of int, shape (p,)
        The other variable of the pair, or the variable itself where it is in none.
    counts : array of bool, shape (p, p)
        Whether the entry of a row is in a difference: not that of the row itself, nor its partner.
    """

    layer: int
    partner: Any
    counts: Any

    @classmethod
    def of(cls, layer: int, pairs: IntArray, model: Any) -> Matching:
        """Put pairs where ``model``, a matrix, is."""
        xp, p = array_namespace(model), model.shape[0]
        partner = np.arange(p)
        partner[pairs] = pairs[:, ::-1]
        other, own = (xp.asarray(one, device=model.device) for one in (partner, np.arange(p)))
        is_beside = (own[:, None] == own[None, :]) | (other[:, None] == own[None, :])
        return cls(layer=layer, partner=other, counts=(other != own)[:, None] & ~is_beside)

    def swap(self, A: Any) -> Any:
        """Return a matrix with the rows of partners in each other's place."""
        return array_namespace(A).take(A, self.partner, axis=0)


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseFused:
    """A `FusedProblem` on arrays of another library than numpy, such as those of a GPU."""

    S: Any
    thresholds: Any
    tau: float
    pairs: IntArray

    @cached_property
    def layers(self) -> Layers:
        """Layers of paths."""
        return cover_by_paths(self.pairs, self.S.shape[0])

    @cached_property
    def matchings(self) -> list[Matching]:
        """Every other pair of the paths of a layer, and the others."""
        found = []
        for k, (nodes, is_joined) in enumerate(
            zip(self.layers.nodes, self.layers.is_joined, strict=True)
        ):
            place = np.flatnonzero(is_joined)
            starts = np.flatnonzero(np.append(True, ~is_joined[:-1]))
            step = place - starts[np.searchsorted(starts, place, side="right") - 1]
            colour = step % 2
            # The pair that closes a ring of odd length meets both others.
            colour[(place == nodes.size - 1) & (nodes.size % 2 == 1)] = 2
            pairs = np.column_stack([nodes[place], nodes[(place + 1) % nodes.size]])
            found += [Matching.of(k, pairs[colour == c], self.S) for c in np.unique(colour)]
        return found

    def blocks(self) -> list[IntArray]:
        """Return the variables of each block, or all as one where most of them are linked."""
        parts = components(self)
        return parts if len(parts) == 1 else split_blocks(self.on_host())

    def on_host(self) -> FusedProblem:
        """Return the problem on arrays of numpy."""
        return FusedProblem(to_numpy(self.S), to_numpy(self.thresholds), self.tau, self.pairs)

    def restrict(self, block: IntArray) -> FusedProblem | DenseFused:
        """Return the problem of one block by itself, on the host where it is small."""
        part = self
        if block.size < self.S.shape[0]:
            pairs, n_outside = cut(self.pairs, block, self.S.shape[0])
            outside = like(0.5 * self.tau * n_outside, self.S)
            added = set_diagonal(outside[:, None] + outside[None, :], 0.0)
            part = DenseFused(
                S=take(self.S, block),
                thresholds=take(self.thresholds, block) + added,
                tau=self.tau,
                pairs=pairs,
            )
        return part.on_host() if block.size < HOST_BELOW else part

    def objective(self, Theta: Any) -> float:
        """Objective at a symmetric matrix, inf where it is not positive definite."""
        logdet = log_determinant(Theta)
        if logdet == -math.inf:
            return math.inf
        xp = array_namespace(Theta)
        # A forbidden entry that is 0 costs nothing.
        cost = xp.where(Theta == 0.0, 0.0, self.thresholds) * xp.abs(Theta)
        value = xp.sum(self.S * Theta + cost)
        for matching in self.matchings:
            apart = xp.abs(Theta - matching.swap(Theta))
            # Both partners see their difference.
            value = value + 0.5 * self.tau * xp.sum(xp.where(matching.counts, apart, 0.0))
        return float(value) - logdet

    def diagonal_solution(self) -> Any:
        """Return the best diagonal precision."""
        xp = array_namespace(self.S)
        variance = xp.linalg.diagonal(self.S) + xp.linalg.diagonal(self.thresholds)
        return set_diagonal(xp.zeros_like(self.S), 1.0 / variance)

    def interior_dual(self) -> Any:
        """Return a dual point that is positive definite, as `FusedProblem` does."""
        xp = array_namespace(self.S)
        size = set_diagonal(xp.abs(self.S), 0.0)
        is_any = size > 0.0
        room = xp.where(is_any, self.thresholds / xp.where(is_any, size, 1.0), math.inf)
        shrink = min(1.0, float(xp.min(room)))
        variance = xp.linalg.diagonal(self.S) + xp.linalg.diagonal(self.thresholds)
        Sigma = set_diagonal(self.S * (1.0 - shrink), variance)
        return Sigma if log_determinant(Sigma) > -math.inf else None


#: Most threads of a block, blocks at least, most threads, most bytes of scratch for them on a GPU.
THREADS, BLOCKS, MOST_THREADS, SCRATCH = 64, 512, 2**18, 2**30
#: Matrices of the size of the covariance that are held at the same time, on a grid in the plane.
MATRICES = 35
#: Variables from which on a GPU is the faster one.
GPU_FROM = 400


def join_equal(matchings: list[Matching], copies: list[Any], is_zero: Any) -> Any:
    """Label each entry by the first of those that copies hold equal to it, through others.

    ``copies[m]`` is compared along the pairs of ``matchings[m]``. The smallest label goes from
    neighbour to neighbour, and to whoever is labelled by an entry that has a smaller one by now.
    Entries that are 0, and all that are held equal to one, have the label 0.
    """
    xp, p = array_namespace(is_zero), is_zero.shape[0]
    own = xp.arange(p, device=is_zero.device)
    first, second = own[:, None], own[None, :]
    label = xp.where(first > second, first * p + second, second * p + first)
    label = xp.where(is_zero, 0, label)
    ties = [one.counts & (one.swap(A) == A) for one, A in zip(matchings, copies, strict=True)]
    while True:
        before = label
        for matching, is_tied in zip(matchings, ties, strict=True):
            label = xp.where(is_tied, xp.minimum(label, matching.swap(label)), label)
        label = xp.minimum(label, label.T)
        flat = xp.reshape(label, (-1,))
        label = xp.reshape(xp.take(flat, flat), (p, p))
        if bool(xp.all(label == before)):
            return label


def number_groups(problem: DenseFused, Theta: Any) -> Any:
    """Return a number for each set of equal entries of neighbours, as `find_groups` does."""
    xp, p = array_namespace(Theta), Theta.shape[0]
    label = join_equal(problem.matchings, [Theta] * len(problem.matchings), Theta == 0.0)
    is_edge = set_diagonal(label > 0, False)
    # In the order of their first entry; all that are no edge come last.
    listed = xp.reshape(xp.where(is_edge, label, p * p), (-1,))
    number = xp.reshape(xp.unique_inverse(listed).inverse_indices, (p, p))
    return xp.where(is_edge, number, -1)


def _sum_by(label: Any, values: Any) -> Any:
    """Return for each entry the sum of the values of all that have its label."""
    xp = array_namespace(values)
    weights = xp.reshape(values, (-1,))
    if hasattr(xp, "bincount"):
        totals = xp.bincount(label, weights=weights, minlength=label.shape[0])
    else:
        sums = np.bincount(to_numpy(label), weights=to_numpy(weights), minlength=label.shape[0])
        totals = like(sums, values)
    return xp.reshape(xp.take(totals, label), values.shape)


class PairRows:
    """Copies on any device: one for sparsity, the others for pairs that share no variable.

    ``Z[k, i, j]`` is entry i of row j.
    """

    def __init__(self, problem: DenseFused) -> None:
        self._problem = problem
        self.n_layers = 1 + len(problem.matchings)

    def shrink(self, Omega: Any, mu: float, Z: Any, U: Any, mean: Any) -> Residuals:
        """Move copies and multipliers in place, as `shrink_layers` says."""
        xp = array_namespace(Omega)
        total, sums = xp.zeros_like(Omega), 0.0
        for k in range(self.n_layers):
            H = RELAXATION * Omega + (1.0 - RELAXATION) * Z[k, ...] + U[k, ...]
            if k == 0:
                fresh = soften(H, self._problem.thresholds / mu)
            else:
                fresh = self._fuse(self._problem.matchings[k - 1], H, self._problem.tau / mu)
            rest = H - fresh
            parts = (Omega - fresh, fresh - Z[k, ...], fresh, rest)
            sums = sums + xp.stack([xp.sum(part * part) for part in parts])
            total = total + (fresh - rest)
            Z[k, ...], U[k, ...] = fresh, rest
        mean[...] = total / self.n_layers
        primal, dual, size_Z, size_U = to_numpy(sums).tolist()
        return primal, dual, size_Z, size_U

    def _fuse(self, matching: Matching, H: Any, strength: float) -> Any:
        """Solve the fused lasso of pairs."""
        xp = array_namespace(H)
        other = matching.swap(H)
        half = 0.5 * (H - other)
        # The mean is the same number for both.
        moved = xp.where(
            xp.abs(half) <= strength,
            0.5 * (H + other),
            H - xp.clip(half, min=-strength, max=strength),
        )
        return xp.where(matching.counts, moved, H)

    def structured(self, Omega: Any, Z: Any) -> Any:
        """Return a precision with the zeros and ties of the copies."""
        xp, matchings = array_namespace(Omega), self._problem.matchings
        is_zero = set_diagonal((Z[0, ...] == 0.0) | (Z[0, ...].T == 0.0), False)
        copies = [Z[self._copy(m), ...] for m in range(len(matchings))]
        label = xp.reshape(join_equal(matchings, copies, is_zero), (-1,))
        # So many sums into one number would have to wait for each other.
        apart = xp.where(label > 0, label, xp.arange(label.shape[0], device=Omega.device))
        average = _sum_by(apart, Omega) / _sum_by(apart, xp.ones_like(Omega))
        average = xp.where(xp.reshape(label, Omega.shape) > 0, average, 0.0)
        return set_diagonal(average, xp.linalg.diagonal(Omega))

    def _copy(self, matching: int) -> int:
        """Return the copy in which the pairs of a matching are held equal."""
        return 1 + matching


class PathsOnDevice(PairRows):
    """Copies on a GPU, one per layer of paths; a thread takes a path of a row."""

    def __init__(self, problem: DenseFused, shrink: Any) -> None:
        super().__init__(problem)
        self.n_layers = problem.layers.n_layers
        self._launch = shrink
        paths = _list_paths(problem.layers)
        longest = int(np.diff(paths[:, 1:]).max())
        # With one threshold for all, short paths need no more than themselves.
        is_plain = longest <= SHORT and _is_constant(problem.thresholds)
        shape = (3, longest) if is_plain else (8, 2 * longest + 3)
        most = min(len(paths) * problem.S.shape[0], MOST_THREADS, SCRATCH // (8 * math.prod(shape)))
        per_block = min(max(most // BLOCKS, 1), THREADS)
        self._grid = max(-(-most // per_block), BLOCKS), per_block
        n_threads = math.prod(self._grid)
        xp, device = array_namespace(problem.S), problem.S.device
        tables = (problem.layers.nodes, problem.layers.is_joined, paths)
        sizes = ((*shape, n_threads), (longest, n_threads), (4, n_threads))
        work, old, self._sums = (xp.empty(size, dtype=xp.float64, device=device) for size in sizes)
        place = xp.empty((longest, n_threads), dtype=xp.int64, device=device)
        # Handing an array over takes longer than a small launch: what stays is handed over once.
        self._thresholds = _bare(_in_row_order(problem.thresholds))
        self._tables = [_bare(xp.asarray(table, device=device)) for table in tables]
        self._scratch = [_bare(one) for one in (work, place, old, self._sums)]

    def shrink(self, Omega: Any, mu: float, Z: Any, U: Any, mean: Any) -> Residuals:
        """Move copies and multipliers in place, as `shrink_layers` says."""
        self._launch[self._grid](
            _bare(_in_row_order(Omega)), self._thresholds, 1.0 / mu, self._problem.tau / mu,
            RELAXATION, *self._tables, _bare(Z), _bare(U), *self._scratch,
        )  # fmt: skip
        mean[...] = sum(Z[k, ...] - U[k, ...] for k in range(self.n_layers)) / self.n_layers
        sums = array_namespace(Omega).sum(self._sums, axis=1)
        primal, dual, size_Z, size_U = to_numpy(sums).tolist()
        return primal, dual, size_Z, size_U

    def _copy(self, matching: int) -> int:
        return self._problem.matchings[matching].layer


def _list_paths(layers: Layers) -> IntArray:
    """List the paths of all layers, long ones first: layer, first place in it, and the end."""
    found = []
    for k, is_joined in enumerate(layers.is_joined):
        # A ring is one path.
        ends = np.append(np.flatnonzero(~is_joined[:-1]) + 1, is_joined.size)
        starts = np.append(0, ends[:-1])
        found.append(np.column_stack([np.full(ends.size, k), starts, ends]))
    paths = np.concatenate(found)
    return np.ascontiguousarray(paths[np.argsort(paths[:, 1] - paths[:, 2], kind="stable")])


def _is_constant(thresholds: Any) -> bool:
    """Whether all thresholds off the diagonal are the same."""
    xp = array_namespace(thresholds)
    one = float(thresholds[0, 1])
    return one < math.inf and bool(xp.all(set_diagonal(thresholds + 0.0, one) == one))


def _in_row_order(A: Any) -> Any:
    """Return a symmetric matrix in the order that the kernel was compiled for."""
    if hasattr(A, "contiguous"):
        return A.contiguous()
    return A if A.flags.c_contiguous else A.T


def _bare(array: Any) -> Any:
    """Hand an array of any library on a GPU to numba without a copy."""
    if hasattr(array, "__cuda_array_interface__"):
        return import_module("numba.cuda").as_cuda_array(array)
    return array


#: The module numba.cuda when it is needed, which costs time to import and is not everywhere.
cuda: Any = None


@cache
def compile_for_device() -> Any:
    """Compile the fused lasso of rows for a GPU; return None where numba can not."""
    try:
        with warnings.catch_warnings():
            # They are about numba and its versions, and nobody here could act on them.
            warnings.simplefilter("ignore")
            return _compile()
    except Exception:
        # Whatever is missing or does not fit, matrix operations do the same.
        return None


def _compile() -> Any:
    """Return the kernel, compiled for the types that it is launched with."""
    global cuda
    cuda = import_module("numba.cuda")
    if not cuda.is_available():
        return None
    restore_row_stack()
    shrink = cuda.jit(_shrink_on_device)
    shapes = (1, 1), (1, 1, 1), (3, 1, BLOCKS), (1, BLOCKS), (4, BLOCKS)
    matrix, copy, work, old, sums = (cuda.to_device(np.ones(shape)) for shape in shapes)
    lists = [[0]], [[False]], [[0, 0, 1]], [[0] * BLOCKS]
    *tables, place = (cuda.to_device(np.array(one)) for one in lists)
    strengths = 1.0, 1.0, 1.0
    shrink[BLOCKS, 1](matrix, matrix, *strengths, *tables, copy, copy, work, place, old, sums)
    return shrink


def _shrink_on_device(
    Omega: Any,
    thresholds: Any,
    factor: float,
    strength: float,
    relaxation: float,
    nodes: Any,
    is_joined: Any,
    paths: Any,
    Z: Any,
    U: Any,
    work: Any,
    place: Any,
    old: Any,
    sums: Any,
) -> None:
    """Move copies and multipliers; neighbouring threads take, and read, neighbouring rows."""
    p = Omega.shape[0]
    thread = cuda.grid(1)
    primal = dual = size_Z = size_U = 0.0
    for task in range(thread, paths.shape[0] * p, cuda.gridsize(1)):
        q = task // p
        j = task - q * p
        k, start, stop = paths[q, 0], paths[q, 1], paths[q, 2]
        z, u = Z[k, :, j], U[k, :, j]
        for m in range(start, stop):
            i = nodes[k, m]
            u[i] += relaxation * Omega[i, j] + (1.0 - relaxation) * z[i]
            old[m - start, thread] = z[i]
        shrink_row(
            u, j, thresholds[:, j], factor if k == 0 else 0.0, strength, nodes[k, start:stop],
            is_joined[k, start:stop], work[:, :, thread], place[:, thread], z,
        )  # fmt: skip
        for m in range(start, stop):
            i = nodes[k, m]
            u[i] -= z[i]
            primal += (Omega[i, j] - z[i]) ** 2
            dual += (z[i] - old[m - start, thread]) ** 2
            size_Z += z[i] * z[i]
            size_U += u[i] * u[i]
    sums[0, thread] = primal
    sums[1, thread] = dual
    sums[2, thread] = size_Z
    sums[3, thread] = size_U


def rows_on_device(problem: DenseFused) -> PairRows:
    """Return the copies that suit the device."""
    S, is_reached = problem.S, False
    if type(S).__module__.startswith("torch") and S.is_cuda:
        stream = import_module("torch").cuda.current_stream(S.device).cuda_stream
        is_reached = S.device.index == 0 and stream == 0
    elif type(S).__module__.startswith("cupy"):
        stream = import_module("cupy").cuda.get_current_stream().ptr
        is_reached = S.device.id == 0 and stream == 0
    # numba works on the default stream of the first device.
    shrink = compile_for_device() if is_reached else None
    return PairRows(problem) if shrink is None else PathsOnDevice(problem, shrink)
