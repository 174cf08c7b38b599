r"""Dual block coordinate descent for the graphical lasso, one column of the covariance at a time.

The problem is standardised first, so that the covariance :math:`W` keeps a unit diagonal. Column
:math:`i` of :math:`W` becomes :math:`v = W_{\setminus i} b` where :math:`b` solves the lasso

.. math::
    \min_b \tfrac12 b^\top W_{\setminus i} b - s_i^\top b + \sum_j t_{ij} |b_j|,

with thresholds :math:`t_{ij}` (Friedman, Hastie and Tibshirani 2008, eq. 2.4). Three things keep a
sweep at about ``degree * p^2`` operations instead of ``p^3``:

- the lasso runs on the Gram matrix of its active set only;
- the full column is formed once, by adding up the active rows of :math:`W`, and serves both as
  optimality check for the variables left out and as the new column;
- columns are written back in blocks, so that the strided half of the symmetric update touches each
  cache line once.

The start is the soft-thresholded covariance: dual feasible, and already exact wherever the solution
has an edge, so that two to five sweeps do for most problems.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    clip_to_box,
    confirm_few,
    fill_thresholds,
    next_look,
    shrink_into_box,
)
from edgewise.solvers.linalg.kernels import add_rows, dot, soft_threshold

#: Up to this many variables a column is solved without the Gram matrix of its active set.
FEW = 48


class Columns(NamedTuple):
    """State of block descent.

    Attributes
    ----------
    W : ndarray of shape (p, p)
        Dual point, a covariance.
    support, coef : ndarray of shape (p, width)
        Row i lists the ``size[i]`` non-zero lasso coefficients of column i.
    size : ndarray of int, shape (p,)
        Number of coefficients of each column.
    theta : ndarray of shape (p,)
        Diagonal of the precision.
    Theta : ndarray of shape (p, p)
        Receives the precision.
    Sigma : ndarray of shape (p, p)
        Receives its inverse.
    """

    W: FloatArray
    support: IntArray
    coef: FloatArray
    size: IntArray
    theta: FloatArray
    Theta: FloatArray
    Sigma: FloatArray


def empty_columns(W: FloatArray, Theta: FloatArray, Sigma: FloatArray, width: int) -> Columns:
    """Pair a dual point with empty columns; lists of few variables have full width."""
    p = len(W)
    width = p if p <= FEW else width
    support, coef = np.empty((p, width), np.int64), np.empty((p, width))
    return Columns(W, support, coef, np.zeros(p, np.int64), np.ones(p), Theta, Sigma)


@kernel
def columns_from_precision(
    Theta: FloatArray,
) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """List the lasso coefficients ``-Theta[i, j] / Theta[i, i]`` of each column.

    Returns support, coefficients, sizes and the diagonal, as `Columns` keeps them.
    """
    p = Theta.shape[0]
    size = np.zeros(p, np.int64)
    for i in range(p):
        for j in range(p):
            size[i] += Theta[i, j] != 0.0
        size[i] -= 1
    room = p if p <= FEW else max(size.max(), 1)
    support = np.empty((p, room), np.int64)
    coef = np.empty((p, room))
    theta = np.empty(p)
    for i in range(p):
        theta[i] = Theta[i, i]
        n = 0
        for j in range(p):
            if Theta[i, j] != 0.0 and j != i:
                support[i, n] = j
                coef[i, n] = -Theta[i, j] / Theta[i, i]
                n += 1
    return support, coef, size, theta


@kernel
def assemble(columns: Columns) -> None:
    """Write the symmetric precision that the columns agree on to ``columns.Theta``.

    Column ``i`` says ``Theta[i, j] = -coef[i, j] * theta[i]``. An edge stays only if both of its
    columns have it with the same sign, as the mean of the two values.
    """
    support, coef, size, theta = columns.support, columns.coef, columns.size, columns.theta
    Theta, p = columns.Theta, size.size
    Theta[:] = 0.0
    for i in range(p):
        Theta[i, i] = theta[i]
        for k in range(size[i]):
            Theta[i, support[i, k]] = -coef[i, k] * theta[i]
    for i in range(p):
        for k in range(size[i]):
            j = support[i, k]
            if i < j:
                value = 0.5 * (Theta[i, j] + Theta[j, i])
                if Theta[i, j] * Theta[j, i] <= 0.0:
                    value = 0.0
                Theta[i, j] = value
                Theta[j, i] = value
    for i in range(p):
        for k in range(size[i]):
            j = support[i, k]
            if Theta[j, i] == 0.0:
                Theta[i, j] = 0.0


#: Passes over one active set before the column is left for the next sweep.
MAX_PASSES = 500
#: A coordinate step beyond this shows that the Gram matrix is not positive definite.
BLOW_UP = 1e8


@kernel
def active_lasso(
    G: FloatArray,
    c: FloatArray,
    t: FloatArray,
    b: FloatArray,
    n: int,
    eps: float,
) -> int:
    """Minimise over ``b[:n]`` in place; return the passes it took, -1 if there is no minimum.

    Descent runs until no coordinate moves by more than ``eps``. Whenever it has cost as much as a
    Cholesky factorisation would, one is tried. `edgewise.solvers.lasso.gram.descend` certifies a
    gap, which is not asked for here: of 3, 10 and 30 active variables it takes 1.1, 1.3 and 0.8
    times as long, and columns with few neighbours, of which there are most, are solved most often.
    """
    r = np.empty(n)
    _residual(G, c, b, n, r)
    patience = 2 + n // 6
    for count in range(1, MAX_PASSES + 1):
        largest = 0.0
        for k in range(n):
            old = b[k]
            new = soft_threshold(r[k] + old, t[k])
            d = new - old
            if d != 0.0:
                b[k] = new
                row = G[k]
                for m in range(n):
                    r[m] -= d * row[m]
                largest = max(largest, abs(d))
        if largest <= eps:
            return count
        if largest > BLOW_UP:
            return -1
        if count % patience == 0:
            if not _solve_on_signs(G, c, t, b, n):
                return -1
            _residual(G, c, b, n, r)
    return MAX_PASSES


@kernel
def _residual(G: FloatArray, c: FloatArray, b: FloatArray, n: int, r: FloatArray) -> None:
    """Set ``r = c - G b``."""
    for k in range(n):
        r[k] = c[k]
    for k in range(n):
        if b[k] != 0.0:
            row = G[k]
            for m in range(n):
                r[m] -= b[k] * row[m]


@kernel
def _leading_dot(x: FloatArray, y: FloatArray, n: int) -> float:
    """Inner product of the first ``n`` entries; slicing only pays for itself on long ones."""
    if n > 16:
        return dot(x[:n], y[:n])
    total = 0.0
    for k in range(n):
        total += x[k] * y[k]
    return total


@kernel
def _solve_on_signs(G: FloatArray, c: FloatArray, t: FloatArray, b: FloatArray, n: int) -> bool:
    """Move ``b`` to the minimum on its signs, or as far towards it as the signs allow.

    The objective is quadratic up to the first sign change, so the move never raises it. False
    says that the Gram matrix is not positive definite.
    """
    L = np.empty((n, n))
    x = np.empty(n)
    for i in range(n):
        if b[i] == 0.0:
            continue
        row = L[i]
        for j in range(i):
            if b[j] != 0.0:
                row[j] = (G[i, j] - _leading_dot(row, L[j], j)) / L[j, j]
            else:
                row[j] = 0.0
        pivot = G[i, i] - _leading_dot(row, row, i)
        if pivot <= 1e-14:
            return False
        row[i] = np.sqrt(pivot)
    for i in range(n):
        x[i] = 0.0
        if b[i] != 0.0:
            target = c[i] - (t[i] if b[i] > 0.0 else -t[i])
            x[i] = (target - _leading_dot(L[i], x, i)) / L[i, i]
    for i in range(n - 1, -1, -1):
        if b[i] != 0.0:
            x[i] /= L[i, i]
            for j in range(i):
                x[j] -= L[i, j] * x[i]
    step = 1.0
    blocked = -1
    for i in range(n):
        if b[i] * x[i] < 0.0 and b[i] / (b[i] - x[i]) < step:
            step = b[i] / (b[i] - x[i])
            blocked = i
    for i in range(n):
        b[i] += step * (x[i] - b[i])
    if blocked >= 0:
        b[blocked] = 0.0
    return True


#: Columns whose strided write-back is put together.
BLOCK = 16
#: Accuracy of the columns in the first sweep, times the number of variables.
FIRST = 2e-3
#: Conditional variance, as a share of the variance, at which a variable counts as redundant.
SINGULAR = 1e-13
#: Passes over the active set of a column of few before it is solved by factorisation.
SHORT_PASSES = 30
#: Rounds of adding violators to one active set.
MAX_ROUNDS = 50
#: A sweep is given up within its first `BLOCK` columns if these have more neighbours on average
#: than `MANY` roots of the number of variables, and work that is enough for a block already, per
#: column and in squares of the number of variables.
MANY, TOO_MUCH = 2.0, 5.0
#: Sweeps after which the last step is continued, in what share of all that would follow, if steps
#: shrink by no more than this, and the largest such factor that is believed.
EVERY, REACH, SHRINKING, SLOWEST = 4, 1.5, 0.6, 0.98
#: Columns go at most so much farther than their optimum. Modes that this makes swing shrink by the
#: rest, 0.4, so that `SHRINKING` tells them from those to continue.
FARTHEST = 1.4
#: Two sweeps after a step was continued the gap may be this much smaller than it seems.
SMALLER = 0.1


class Pace(NamedTuple):
    """Change of the last sweep (-1: none), its ratio to that before, how far columns go."""

    change: float
    ratio: float
    relaxation: float


START = Pace(-1.0, 1.0, 1.0)


@kernel
def descend(
    form: StandardForm,
    columns: Columns,
    target: float,
    look: float,
    max_sweeps: int,
    pace: Pace,
    is_short: bool,
) -> tuple[int, int, float, Pace, Columns]:
    """Sweep until a look at the gap of the precision is worth its cost, and write it down.

    ``is_short`` solves columns by coordinate steps as long as these shrink, which is quick for few
    variables and stops too early on nearly singular ones. Returns a status (1 the gap may well be
    at most ``look``, 0 out of sweeps, -1 start not positive definite, -2 sweeps cost too much), the
    number of sweeps, what the gap may be, the pace, and the columns, whose lists may have grown;
    these are accurate enough for a gap of ``target``.
    """
    p = form.scale.size
    finest = 0.05 * target / p
    expected = np.inf
    change, ratio, relaxation = pace
    # Calibrated on random, hub, grid and block graphs of 20 to 1000 variables.
    eagerness = 12.0 / np.sqrt(p)
    t, v = np.empty(p), np.empty(p)
    last = columns.W
    may_reach, reached = not is_short, -EVERY
    for count in range(1, max_sweeps + 1):
        is_due = may_reach and count % EVERY == 0 and count + 1 < max_sweeps
        is_due = is_due and np.sqrt(ratio) > SHRINKING
        if is_due:
            last = columns.W.copy()
        # Columns need no more accuracy than the sweep as a whole can have.
        coarse = 0.01 * np.sqrt(change) / p if change >= 0.0 else min(FIRST / p, 1e-4)
        before = change
        change, columns = _sweep(form, columns, t, v, max(finest, coarse), relaxation, is_short)
        if change < 0.0 and reached == count - 1:
            columns.W[:] = last
            may_reach, reached, change = False, -EVERY, before
            continue
        if change < 0.0:
            return int(change), count, np.inf, START, columns
        ratio = min(change / before, 1.0) if before > 0.0 else 1.0
        if before > 0.0 and not is_short:
            relaxation = _relax(np.sqrt(ratio), relaxation)
        # The gap follows the square root of what the next sweep would change.
        expected = np.sqrt(change * ratio) / eagerness
        if expected <= look or (reached == count - 2 and SMALLER * expected <= look):
            assemble(columns)
            return 1, count, expected, Pace(change, ratio, relaxation), columns
        # Steps that shrink by the same factor each time add up to a multiple of the last; a sweep
        # that finds the sum not positive definite is taken back.
        factor = min(np.sqrt(ratio), SLOWEST)
        if is_due and factor > SHRINKING:
            reached = count
            extrapolate(columns.W, last, REACH * factor / (1.0 - factor))
            clip_to_box(form, columns.W)
    assemble(columns)
    return 0, max_sweeps, expected, Pace(change, ratio, relaxation), columns


@kernel
def _relax(factor: float, relaxation: float) -> float:
    """Return how far columns best go, by the theory of over-relaxation (Young 1954).

    Steps shrink by ``factor`` while they go as far as ``relaxation``.
    """
    if factor <= relaxation - 1.0:
        return relaxation
    radius = min((factor + relaxation - 1.0) ** 2 / (factor * relaxation**2), 1.0)
    best: float = min(2.0 / (1.0 + np.sqrt(1.0 - radius)), FARTHEST)
    return max(relaxation, best)


@kernel
def descend_from(
    form: StandardForm, columns: Columns, target: float, max_sweeps: int
) -> tuple[float, float, int, bool]:
    """Descend from ``columns`` or, where they are not positive definite, from shrunken covariances.

    ``columns`` must have lists of full width; their ``Theta`` and ``Sigma`` receive the precision
    and its inverse. Returns the gap at the inverse, clipped to the dual box, or infinity where the
    problem is left to the general solver, the log-determinant of the precision, the number of
    sweeps, and whether the start was of use.
    """
    clip_to_box(form, columns.W)
    look, pace, is_warm, n_sweeps, left = target, START, True, 0, max_sweeps
    while left > 0:
        status, count, expected, pace, _ = descend(
            form, columns, min(look, target), look, left, pace, True
        )
        n_sweeps += count
        left -= count
        if status < 0 and not is_warm:
            break
        if status < 0:
            shrink_into_box(form, columns.W)
            columns.size[:] = 0
            columns.theta[:] = 1.0
            is_warm, left = False, max_sweeps
            continue
        gap, logdet = confirm_few(form, columns.Theta, columns.Sigma, target)
        if gap <= target:
            return gap, logdet, n_sweeps, is_warm
        look = next_look(expected, gap, target)
    return np.inf, -np.inf, n_sweeps, False


@kernel
def rescale_columns(columns: Columns, before: FloatArray, old: FloatArray, new: FloatArray) -> None:
    """Convert the state of descent, and the dual point ``before``, to another scaling."""
    for i in range(old.size):
        ratio = new[i] / old[i]
        columns.theta[i] /= ratio * ratio
        for j in range(old.size):
            columns.W[i, j] *= ratio * new[j] / old[j]
            before[i, j] *= ratio * new[j] / old[j]
        for k in range(columns.size[i]):
            j = columns.support[i, k]
            columns.coef[i, k] *= ratio * old[j] / new[j]


@kernel
def extrapolate(W: FloatArray, before: FloatArray, step: float) -> None:
    """Continue along the line through the last two dual points; the last becomes ``before``."""
    for i in range(W.shape[0]):
        for j in range(W.shape[0]):
            last = W[i, j]
            W[i, j] += step * (last - before[i, j])
            before[i, j] = last


@kernel
def _sweep(
    form: StandardForm,
    columns: Columns,
    t: FloatArray,
    v: FloatArray,
    eps: float,
    relaxation: float,
    is_short: bool,
) -> tuple[float, Columns]:
    """Update every column once, in place; ``t`` and ``v`` are scratch.

    The first returned value is the estimated change in objective, or -1 when ``W`` was found not
    to be positive definite, or -2 when the first columns say that the sweep costs too much; above
    the diagonal ``W`` is then a dual point.
    """
    S, W, theta = form.S, columns.W, columns.theta
    p = theta.size
    block = 1 if is_short else BLOCK
    index, b = columns.support[0], columns.coef[0]
    if not is_short:
        index, b = np.empty(p, np.int64), np.empty(p)
    total = work = 0.0
    too_much = TOO_MUCH * BLOCK * float(p) ** 2 if form.alpha > 0.0 else np.inf
    for first in range(0, p, block):
        last = min(first + block, p)
        for i in range(first, last):
            fill_thresholds(i, form, t)
            n = columns.size[i]
            if is_short:
                # Lists of full width: the column is solved in place.
                index, b = columns.support[i], columns.coef[i]
                n = _solve_short_column(i, S[i], t, W, index, b, n, v, eps)
            else:
                index[:n] = columns.support[i, :n]
                b[:n] = columns.coef[i, :n]
                n, spent = _solve_column(i, first, S[i], t, W, index, b, n, v, eps)
                work += spent
                if first == 0 and work > too_much and _has_many(columns.size, i, n):
                    return -2.0, columns
            schur = 1.0
            for k in range(n):
                schur -= b[k] * v[index[k]]
            if n < 0 or schur <= SINGULAR:
                return -1.0, columns
            theta[i] = 1.0 / schur
            columns.size[i] = n
            if not is_short:
                if n > columns.support.shape[1]:
                    columns = _widen(columns, min(p, 2 * n))
                columns.support[i, :n] = index[:n]
                columns.coef[i, :n] = b[:n]
            v[i] = 1.0
            t[i] = np.inf
            total += _write_row(W[i], v, S[i], t, theta, relaxation) * theta[i]
            for j in range(0 if is_short else first, p if is_short else last):
                W[j, i] = W[i, j]
        if not is_short:
            _write_columns(W, first, last)
    return total, columns


@kernel
def _has_many(size: IntArray, i: int, n: int) -> bool:
    """Judge by columns 0 to ``i``, the last of which has ``n`` neighbours."""
    for j in range(i):
        n += size[j]
    return bool(n > MANY * np.sqrt(size.size) * (i + 1))


@kernel
def _solve_column(
    i: int,
    first: int,
    s: FloatArray,
    t: FloatArray,
    W: FloatArray,
    index: IntArray,
    b: FloatArray,
    n: int,
    v: FloatArray,
    eps: float,
) -> tuple[int, float]:
    """Solve the lasso of column ``i`` from the active set ``index[:n]``, adding what violates it.

    Rows ``first`` to ``i`` of ``W`` are newer than their columns. Leaves the full column in ``v``
    and returns the size of the active set, or -1 when the lasso is unbounded, and the work.
    """
    work = 0.0
    for _ in range(MAX_ROUNDS):
        n_passes = _solve_active(i, first, s, t, W, index, b, n, eps)
        if n_passes < 0:
            return -1, work
        work += n_passes * float(n) ** 2
        n = _drop_zeros(index, b, n)
        add_rows(W, index, b, n, v)
        for j in range(first, i):
            v[j] = 0.0
            for k in range(n):
                v[j] += b[k] * W[j, index[k]]
        v[i] = s[i]
        known = n
        n = _add_violators(i, s, t, v, index, b, n, eps)
        if n == known:
            break
    return n, work


@kernel
def _solve_short_column(
    i: int,
    s: FloatArray,
    t: FloatArray,
    W: FloatArray,
    index: IntArray,
    b: FloatArray,
    n: int,
    v: FloatArray,
    eps: float,
) -> int:
    """Do what `_solve_column` does, keeping all of ``v`` up to date, one row of ``W`` per step.

    With few variables that is cheaper than gathering the Gram matrix of the active set.
    """
    add_rows(W, index, b, n, v)
    for _ in range(MAX_ROUNDS):
        largest = np.inf
        n_passes = 0
        while largest > eps and n_passes < SHORT_PASSES:
            n_passes += 1
            largest = 0.0
            for k in range(n):
                j = index[k]
                d = soft_threshold(s[j] - v[j] + b[k], t[j]) - b[k]
                if d != 0.0:
                    b[k] += d
                    row = W[j]
                    for m in range(v.size):
                        v[m] += d * row[m]
                    largest = max(largest, abs(d))
        if largest > eps:
            if _solve_active(i, i, s, t, W, index, b, n, eps) < 0:
                return -1
            add_rows(W, index, b, n, v)
        known = n
        n = _add_violators(i, s, t, v, index, b, n, eps)
        if n == known:
            break
    return _drop_zeros(index, b, n)


@kernel
def _solve_active(
    i: int,
    first: int,
    s: FloatArray,
    t: FloatArray,
    W: FloatArray,
    index: IntArray,
    b: FloatArray,
    n: int,
    eps: float,
) -> int:
    """Solve the lasso on the active set by its Gram matrix; return what `active_lasso` does."""
    G, c, ta = np.empty((n, n)), np.empty(n), np.empty(n)
    for a in range(n):
        ja = index[a]
        c[a] = s[ja]
        ta[a] = t[ja]
        G[a, a] = 1.0
        for e in range(a):
            je = index[e]
            G[a, e] = W[je, ja] if first <= je < i else W[ja, je]
            G[e, a] = G[a, e]
    return active_lasso(G, c, ta, b, n, eps)


@kernel
def _add_violators(
    i: int,
    s: FloatArray,
    t: FloatArray,
    v: FloatArray,
    index: IntArray,
    b: FloatArray,
    n: int,
    eps: float,
) -> int:
    """Append to the active set what violates optimality; return its size."""
    known = n
    for j in range(v.size):
        if abs(s[j] - v[j]) > t[j] + eps and j != i and not _contains(index, known, j):
            index[n] = j
            b[n] = 0.0
            n += 1
    return n


@kernel
def _drop_zeros(index: IntArray, b: FloatArray, n: int) -> int:
    """Remove zero coefficients from an active set; return its size."""
    kept = 0
    for k in range(n):
        if b[k] != 0.0:
            index[kept] = index[k]
            b[kept] = b[k]
            kept += 1
    return kept


@kernel
def _contains(index: IntArray, n: int, j: int) -> bool:
    """Look for ``j`` among the first ``n`` entries."""
    for k in range(n):  # noqa: SIM110 (numba compiles the loop as it stands)
        if index[k] == j:
            return True
    return False


@kernel
def _write_row(
    row: FloatArray,
    v: FloatArray,
    s: FloatArray,
    t: FloatArray,
    theta: FloatArray,
    relaxation: float,
) -> float:
    """Clip ``v`` to the dual box, move ``row`` there or beyond, and measure the change; ``v`` goes.

    The measure is the row's share of the drop in log-determinant divergence, with the precision
    taken as diagonal: an estimate that only decides when the gap is worth a look.
    """
    even = 0.0
    odd = 0.0
    p = v.size
    for j in range(p):
        x = min(max(v[j], s[j] - t[j]), s[j] + t[j])
        v[j] = x - row[j]
        row[j] = x
    for j in range(0, p - 1, 2):
        even += theta[j] * v[j] ** 2
        odd += theta[j + 1] * v[j + 1] ** 2
    if p % 2:
        even += theta[p - 1] * v[p - 1] ** 2
    if relaxation > 1.0:
        for j in range(p):
            x = row[j] + (relaxation - 1.0) * v[j]
            row[j] = min(max(x, s[j] - t[j]), s[j] + t[j])
    return even + odd


@kernel
def _write_columns(W: FloatArray, first: int, last: int) -> None:
    """Copy rows ``first`` to ``last`` into the columns of the same numbers."""
    p = W.shape[0]
    if last - first == BLOCK:
        for j in range(p):
            row = W[j]
            # A fixed number of steps, which the compiler unrolls.
            for k in range(BLOCK):
                row[first + k] = W[first + k, j]
    else:
        for j in range(p):
            for i in range(first, last):
                W[j, i] = W[i, j]


@kernel
def _widen(columns: Columns, width: int) -> Columns:
    """Copy the lists of coefficients into wider arrays."""
    p, old = columns.support.shape
    support, coef = np.empty((p, width), np.int64), np.empty((p, width))
    support[:, :old] = columns.support
    coef[:, :old] = columns.coef
    return Columns(
        columns.W, support, coef, columns.size, columns.theta, columns.Theta, columns.Sigma
    )
