r"""Log-determinant and inverse of a sparse positive definite matrix stored densely.

Variables with few neighbours are eliminated first, least degree first; what remains is a small
dense core that goes to LAPACK. Eliminating variable :math:`i` with pivot :math:`d_i` and
neighbours :math:`N_i` leaves :math:`\Theta_{ab} - \Theta_{ai} \Theta_{ib} / d_i` on
:math:`N_i \times N_i`; backwards, the inverse follows row by row from

.. math::
    \Sigma_{ij} = -\sum_{a \in N_i} \ell_{ia} \Sigma_{aj}, \qquad
    \Sigma_{ii} = 1/d_i - \sum_{a \in N_i} \ell_{ia} \Sigma_{ai}, \qquad
    \ell_{ia} = \Theta_{ia} / d_i.

On a graph with three edges per variable the core holds about a tenth of the variables, so the
inverse costs a small multiple of :math:`p^2` operations instead of :math:`p^3`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray

#: A variable with more neighbours than this is left to the dense core.
MAX_DEGREE = 40
#: Elimination ends when the least degree exceeds this share of the variables that are left.
CORE_DENSITY = 0.25


@dataclass(frozen=True, kw_only=True)
class Factor:
    """Elimination of a positive definite matrix, ready for its inverse."""

    order: IntArray
    start: IntArray
    neighbour: IntArray
    multiplier: FloatArray
    pivot: FloatArray
    core: IntArray
    core_factor: FloatArray
    logdet: float


def factorize(Theta: FloatArray, work: FloatArray | None = None) -> Factor | None:
    """Factorise a symmetric matrix; None says that it is not positive definite.

    ``work`` is scratch of the same shape: touching new memory costs as much as the elimination.
    """
    work = np.empty_like(Theta) if work is None else work
    np.copyto(work, Theta)
    order, start, neighbour, multiplier, pivot, core = _eliminate(work)
    if order.size and not pivot.min() > 0.0:
        return None
    logdet = float(np.log(pivot).sum())
    core_factor = np.empty((0, 0))
    if core.size:
        block = work if order.size == 0 else np.ascontiguousarray(work[np.ix_(core, core)])
        # The block is symmetric, so its transpose is the same matrix in LAPACK's own order.
        core_factor, info = lapack.dpotrf(block.T, lower=1, clean=0, overwrite_a=1)
        if info != 0:
            return None
        logdet += 2.0 * float(np.log(np.diagonal(core_factor)).sum())
    return Factor(
        order=order,
        start=start,
        neighbour=neighbour,
        multiplier=multiplier,
        pivot=pivot,
        core=core,
        core_factor=core_factor,
        logdet=logdet,
    )


def inverse(factor: Factor, out: FloatArray | None = None) -> FloatArray:
    """Return the inverse, exactly symmetric, from the factor; in ``out`` if that is given."""
    p = factor.order.size + factor.core.size
    # First of all, because the factor of the core may lie in the memory of ``out``.
    block = lapack.dpotri(factor.core_factor, lower=1)[0] if factor.core.size else None
    Sigma = np.empty((p, p)) if out is None else out
    Sigma[:] = 0.0
    if block is not None:
        _mirror_lower(block.T, factor.core, Sigma)
    _back_substitute(
        factor.order, factor.start, factor.neighbour, factor.multiplier, factor.pivot, Sigma
    )
    return Sigma


@kernel
def _mirror_lower(upper: FloatArray, index: IntArray, out: FloatArray) -> None:
    """Write the symmetric matrix with this upper triangle into rows and columns ``index``."""
    for a in range(index.size):
        for b in range(a, index.size):
            out[index[a], index[b]] = upper[a, b]
            out[index[b], index[a]] = upper[a, b]


@kernel
def _neighbours(Theta: FloatArray) -> tuple[IntArray, IntArray]:
    """List the off-diagonal non-zeros of each row, up to `MAX_DEGREE` + 1 of them."""
    p = Theta.shape[0]
    lists = np.empty((p, MAX_DEGREE + 1), np.int64)
    degree = np.zeros(p, np.int64)
    for i in range(p):
        row = Theta[i]
        n = 0
        for j in range(p):
            if row[j] != 0.0 and j != i:
                if n > MAX_DEGREE:
                    break
                lists[i, n] = j
                n += 1
        degree[i] = n
    return lists, degree


@kernel
def _eliminate(
    M: FloatArray,
) -> tuple[IntArray, IntArray, IntArray, FloatArray, FloatArray, IntArray]:
    """Eliminate low-degree variables from ``M`` in place, least degree first.

    A variable whose list would overflow keeps degree ``MAX_DEGREE + 1`` from then on and is never
    eliminated; its entries stay right because ``M`` itself is dense.
    """
    p = M.shape[0]
    lists, degree = _neighbours(M)
    is_gone = np.zeros(p, np.bool_)
    mark = np.full(p, -1, np.int64)
    order = np.empty(p, np.int64)
    pivot = np.empty(p)
    start = np.zeros(p + 1, np.int64)
    neighbour = np.empty(p * 8, np.int64)
    multiplier = np.empty(p * 8)
    n_gone = 0
    for limit in range(MAX_DEGREE + 1):
        # Passes over the variables at a rising degree limit: a bucket queue without the queue.
        has_progress = True
        while has_progress:
            has_progress = False
            for i in range(p):
                if is_gone[i] or degree[i] > limit:
                    continue
                n = degree[i]
                if n > CORE_DENSITY * (p - n_gone) and p - n_gone > 8:
                    continue
                d = M[i, i]
                order[n_gone] = i
                pivot[n_gone] = d
                if not d > 0.0:
                    pivot[n_gone] = -1.0
                    return (
                        order[: n_gone + 1],
                        start[: n_gone + 2],
                        neighbour,
                        multiplier,
                        pivot[: n_gone + 1],
                        order[:0],
                    )
                is_gone[i] = True
                has_progress = True
                first = start[n_gone]
                if first + n > neighbour.size:
                    neighbour = np.concatenate((neighbour, np.empty(p * 8, np.int64)))
                    multiplier = np.concatenate((multiplier, np.empty(p * 8)))
                for k in range(n):
                    neighbour[first + k] = lists[i, k]
                    multiplier[first + k] = M[i, lists[i, k]] / d
                start[n_gone + 1] = first + n
                n_gone += 1
                _update_neighbours(M, i, lists, degree, mark, n)
    core = np.empty(p - n_gone, np.int64)
    k = 0
    for i in range(p):
        if not is_gone[i]:
            core[k] = i
            k += 1
    return (
        order[:n_gone],
        start[: n_gone + 1],
        neighbour[: start[n_gone]],
        multiplier[: start[n_gone]],
        pivot[:n_gone],
        core,
    )


@kernel
def _update_neighbours(
    M: FloatArray, i: int, lists: IntArray, degree: IntArray, mark: IntArray, n: int
) -> None:
    """Subtract the outer product of row ``i`` and join its ``n`` neighbours to each other."""
    d = M[i, i]
    for k in range(n):
        a = lists[i, k]
        factor = M[i, a] / d
        for m in range(n):
            b = lists[i, m]
            M[a, b] -= factor * M[i, b]
        if degree[a] > MAX_DEGREE:
            continue
        kept = 0
        for m in range(degree[a]):
            b = lists[a, m]
            if b != i:
                lists[a, kept] = b
                kept += 1
                mark[b] = a
        mark[a] = a
        for m in range(n):
            b = lists[i, m]
            if mark[b] != a:
                if kept > MAX_DEGREE:
                    break
                lists[a, kept] = b
                kept += 1
        degree[a] = kept


@kernel
def _back_substitute(
    order: IntArray,
    start: IntArray,
    neighbour: IntArray,
    multiplier: FloatArray,
    pivot: FloatArray,
    Sigma: FloatArray,
) -> None:
    """Fill in the rows and columns of the eliminated variables, last eliminated first.

    Columns not yet filled are zero and stay so, which lets every update run over whole rows.
    """
    p = Sigma.shape[0]
    for k in range(order.size - 1, -1, -1):
        i = order[k]
        row = Sigma[i]
        for m in range(start[k], start[k + 1]):
            factor = multiplier[m]
            other = Sigma[neighbour[m]]
            for j in range(p):
                row[j] -= factor * other[j]
        variance = 1.0 / pivot[k]
        for m in range(start[k], start[k + 1]):
            variance -= multiplier[m] * row[neighbour[m]]
        for j in range(p):
            Sigma[j, i] = row[j]
        Sigma[i, i] = variance
