r"""Compiled parts of the D-trace solver: patterns of entries, descent, curvature, certificate.

The matrices are :math:`A = S_P`, :math:`B = S_Q`, :math:`C = B - A`; the residual of a symmetric
:math:`\Delta` is :math:`C - (A \Delta B + B \Delta A) / 2`. A pattern lists some entries of a
symmetric matrix row by row: those of row j stand from ``starts[j]`` to ``starts[j + 1]``, their
columns are ``columns``, and ``mates`` says where the mirror image of each entry stands.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.rows import add_rows, dot, soft_threshold

SQUARE_ROOT_HALF = np.sqrt(0.5)
#: Rounding of a sum of two numbers, as a share of it.
EPSILON = float(np.finfo(np.float64).eps)


@kernel
def list_entries(
    Delta: FloatArray, residual: FloatArray, ridge: float, alpha: float, is_diagonal_free: bool
) -> tuple[IntArray, IntArray, IntArray]:
    """List the entries that are not 0, or that a residual above ``alpha`` pulls away from 0.

    Returns ``starts``, ``columns`` and ``mates``. A free diagonal is always listed.
    """
    d = Delta.shape[0]
    starts = np.zeros(d + 1, np.int64)
    for i in range(d):
        count = 0
        for j in range(d):
            pull = abs(residual[i, j] - ridge * Delta[i, j])
            count += Delta[i, j] != 0.0 or pull > alpha or (i == j and is_diagonal_free)
        starts[i + 1] = starts[i] + count
    columns = np.empty(starts[d], np.int64)
    mates = np.empty(starts[d], np.int64)
    seen = np.zeros(d, np.int64)
    place = 0
    for i in range(d):
        for j in range(d):
            pull = abs(residual[i, j] - ridge * Delta[i, j])
            if Delta[i, j] != 0.0 or pull > alpha or (i == j and is_diagonal_free):
                columns[place] = j
                # Rows come in order, so this is the next entry of row j to find its mate.
                mates[place] = starts[j] + seen[j]
                seen[j] += 1
                place += 1
    return starts, columns, mates


@kernel
def descend(
    A: FloatArray,
    B: FloatArray,
    ridge: float,
    thresholds: tuple[float, float],
    starts: IntArray,
    columns: IntArray,
    mates: IntArray,
    values: FloatArray,
) -> float:
    r"""Minimise over each listed entry in turn, in place; return the fall of the objective.

    An entry and its mirror image become
    :math:`\mathrm{soft}(r_{ij} + h_{ij} \Delta_{ij}, t) / h_{ij}` with :math:`r` the residual less
    :math:`\mathrm{ridge}\,\Delta`, :math:`h` the curvature and :math:`t` one of ``thresholds``,
    off and on the diagonal. Column j of :math:`\Delta B` and of :math:`\Delta A` is all that the
    entries of column j need, and each step changes two entries of it.
    """
    d = A.shape[0]
    by_B = np.empty(d)
    by_A = np.empty(d)
    fall = 0.0
    for j in range(d):
        if starts[j] == starts[j + 1] or columns[starts[j]] > j:
            continue
        _multiply_column(A[j], B[j], starts, columns, values, by_A, by_B)
        for place in range(starts[j], starts[j + 1]):
            i = columns[place]
            if i > j:
                break
            x = values[place]
            h = entry_curvature(A, B, i, j) + ridge
            if h <= 0.0:
                continue
            pull = B[i, j] - A[i, j] - 0.5 * (dot(A[i], by_B) + dot(B[i], by_A)) - ridge * x
            value = soft_threshold(pull + h * x, thresholds[int(i == j)]) / h
            step = value - x
            if step == 0.0:
                continue
            values[place] = value
            values[mates[place]] = value
            fall += 0.5 * h * step * step * (1.0 if i == j else 2.0)
            by_B[i] += step * B[j, j]
            by_A[i] += step * A[j, j]
            if i != j:
                by_B[j] += step * B[i, j]
                by_A[j] += step * A[i, j]
    return fall


@kernel
def entry_curvature(A: FloatArray, B: FloatArray, i: int, j: int) -> float:
    """Second derivative of the loss along an entry and its mirror image, counted per entry."""
    if i == j:
        return float(A[i, i] * B[i, i])
    return float(0.5 * (A[i, i] * B[j, j] + A[j, j] * B[i, i]) + A[i, j] * B[i, j])


@kernel
def _multiply_column(
    a: FloatArray,
    b: FloatArray,
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    by_A: FloatArray,
    by_B: FloatArray,
) -> None:
    """Multiply the listed matrix by a column of A and one of B."""
    for i in range(a.size):
        in_A = 0.0
        in_B = 0.0
        for place in range(starts[i], starts[i + 1]):
            in_A += values[place] * a[columns[place]]
            in_B += values[place] * b[columns[place]]
        by_A[i] = in_A
        by_B[i] = in_B


@kernel
def curve(
    A: FloatArray,
    B: FloatArray,
    starts: IntArray,
    columns: IntArray,
    mates: IntArray,
    values: FloatArray,
    products: FloatArray,
    out: FloatArray,
) -> None:
    r"""Write the listed entries of :math:`(A \Delta B + B \Delta A) / 2` to ``out``.

    ``products`` is memory of shape (2, d, d), for the transposes of both :math:`\Delta B` and
    :math:`\Delta A`: the rest are inner products of rows.
    """
    d = A.shape[0]
    row = np.empty(d)
    for i in range(d):
        first = starts[i]
        count = starts[i + 1] - first
        add_rows(B, columns[first:], values[first:], count, row)
        for j in range(d):
            products[0, j, i] = row[j]
        add_rows(A, columns[first:], values[first:], count, row)
        for j in range(d):
            products[1, j, i] = row[j]
    for j in range(d):
        for place in range(starts[j], starts[j + 1]):
            i = columns[place]
            if i > j:
                break
            out[place] = 0.5 * (dot(A[i], products[0, j]) + dot(B[i], products[1, j]))
            out[mates[place]] = out[place]


@kernel
def gram(
    A: FloatArray, B: FloatArray, ridge: float, first: IntArray, second: IntArray, out: FloatArray
) -> None:
    r"""Write the curvature of loss and ridge between pairs of variables to ``out``.

    Pairs (i, j), i <= j, stand for :math:`(e_i e_j' + e_j e_i') / \sqrt 2`, or for
    :math:`e_i e_i'`: an orthonormal basis of symmetric matrices.
    """
    for a in range(first.size):
        i = first[a]
        j = second[a]
        for b in range(a + 1):
            k = first[b]
            m = second[b]
            value = A[i, k] * B[j, m] + A[j, m] * B[i, k] + A[i, m] * B[j, k] + A[j, k] * B[i, m]
            if i == j:
                value *= SQUARE_ROOT_HALF
            if k == m:
                value *= SQUARE_ROOT_HALF
            out[a, b] = 0.5 * value
            out[b, a] = out[a, b]
        out[a, a] += ridge


@kernel
def list_curvatures(
    A: FloatArray, B: FloatArray, starts: IntArray, columns: IntArray, out: FloatArray
) -> None:
    """Write the curvature of every listed entry to ``out``."""
    for i in range(A.shape[0]):
        for place in range(starts[i], starts[i + 1]):
            out[place] = entry_curvature(A, B, i, columns[place])


@kernel
def measure(
    Delta: FloatArray, residual: FloatArray, is_diagonal_free: bool
) -> tuple[float, float, float]:
    """Return the penalised sum of sizes, the inner product and the largest penalised residual."""
    d = Delta.shape[0]
    size = 0.0
    inner = 0.0
    largest = 0.0
    for i in range(d):
        for j in range(d):
            inner += Delta[i, j] * residual[i, j]
            if i != j or not is_diagonal_free:
                size += abs(Delta[i, j])
                largest = max(largest, abs(residual[i, j]))
    return size, inner, largest


@kernel
def weigh(Delta: FloatArray, a: FloatArray, b: FloatArray) -> float:
    r"""Return :math:`\sum_{ij} a_i |\Delta_{ij}| b_j`."""
    total = 0.0
    for i in range(a.size):
        for j in range(b.size):
            total += a[i] * abs(Delta[i, j]) * b[j]
    return total


@kernel
def entry_error(a: FloatArray, b: FloatArray, share: float, i: int, j: int) -> float:
    """Bound the rounding error of an entry of both products that make a residual."""
    return float(0.5 * share * (a[i] * b[j] + b[i] * a[j]))


@kernel
def largest_residual(
    residual: FloatArray, a: FloatArray, b: FloatArray, share: float, is_diagonal_free: bool
) -> float:
    """Return the largest size that a penalised residual has, or has lost to rounding."""
    largest = 0.0
    for i in range(a.size):
        for j in range(a.size):
            if i != j or not is_diagonal_free:
                size = abs(residual[i, j]) * (1.0 + EPSILON) + entry_error(a, b, share, i, j)
                largest = max(largest, size)
    return largest


@kernel
def conjugate_terms(
    Delta: FloatArray,
    residual: FloatArray,
    errors: tuple[FloatArray, FloatArray, float],
    ridge: float,
    alpha: float,
    scale: float,
    is_diagonal_free: bool,
) -> float:
    r"""Add up what each entry leaves open between the objective and its bound.

    With penalty :math:`g(x) = \alpha |x| + \mathrm{ridge}\, x^2 / 2`, the terms are
    :math:`g(x) + g^*(y) - x y \ge 0` at y = ``scale`` times the residual. With :math:`x^*` the
    maximiser of :math:`x y - g(x)` and z the y clipped to alpha, each is
    :math:`\mathrm{ridge}\, (x - x^*)^2 / 2 + \alpha |x| - x z`, in which nothing large cancels;
    and an error e of y changes it by :math:`|x - x^*| e + e^2 / (2\, \mathrm{ridge})` at most.
    Without a ridge the caller sees to it that y is at most alpha and, on a free diagonal, 0.
    """
    a, b, share = errors
    total = 0.0
    for i in range(a.size):
        for j in range(a.size):
            x = Delta[i, j]
            y = scale * residual[i, j]
            is_free = i == j and is_diagonal_free
            t = 0.0 if is_free else alpha
            error = scale * (entry_error(a, b, share, i, j) + EPSILON * abs(residual[i, j]))
            z = min(max(y, -t), t)
            total += max(0.0, t * abs(x) - x * z)
            if ridge > 0.0:
                lack = abs(x - (y - z) / ridge)
                total += 0.5 * ridge * lack**2 + lack * error + 0.5 * error**2 / ridge
            elif not is_free:
                total += abs(x) * error
    return total
