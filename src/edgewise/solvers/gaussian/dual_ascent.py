r"""Ascent of the dual of a graphical lasso, where descent is slow.

Descent moves one column of the covariance :math:`W` at a time, which is cheap where columns have
few neighbours. Ascent moves all entries at once, along the gradient of the same dual problem

.. math:: \max_W \; \log\det W \quad \text{with} \quad |W_{ij} - S_{ij}| \le t_{ij}, \; W_{ii} = 1,

which is :math:`\Theta = W^{-1}`: a Cholesky factor and an inverse for a step. A step is projected
onto the box entry by entry, its length is that of Barzilai and Borwein, and the last steps and the
turns of the gradient along them correct it by least squares on the entries that the box does not
hold (Anderson 1965; Birgin, Martínez and Raydan 2000 for the projected steps and their line
search).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from edgewise._core.jit import kernel
from edgewise._core.typing import AnyArray, FloatArray
from edgewise.solvers.gaussian.glasso_certificate import CertifiedPrecision, confirm
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    fill_thresholds,
)
from edgewise.solvers.linalg.dense import mirror
from edgewise.solvers.linalg.first_order import (
    step_size,
)
from edgewise.solvers.linalg.kernels import dot

#: Steps that are remembered.
MEMORY = 5
#: Values among which the worst must be improved on, the share of the slope by which, and how much
#: shorter a step gets that does not, at most.
WINDOW, ARMIJO, SHORTER, SHORTEST = 8, 1e-4, 0.3, 1e-9
#: Relative size of the free part of the gradient at the first look at the gap, which follows it.
FIRST_LOOK = 1e-3
#: The next look is aimed this much below the target, and at most so much below the last.
AIM, FARTHEST = 0.7, 0.03
#: Steps that must halve the free part of the gradient.
STALLED = 200


class _Ascent:
    """Where an ascent stands; of all matrices only the upper triangle counts."""

    def __init__(self, form: StandardForm, W: FloatArray) -> None:
        p = form.scale.size
        self.form, self.W = form, W
        self.New, self.spare = np.empty((p, p)), np.empty((p, p))
        inverse, logdet = _invert(W, np.empty((p, p)))
        self.is_definite = inverse is not None
        self.Theta = self.spare if inverse is None else inverse
        #: Minus the log-determinants.
        self.values = [-logdet]
        self.length = 1.0
        #: Size of the part of the gradient that the box does not hold, relative to all of it.
        self.share = np.inf
        # Upper triangles, row by row. Single precision is ample for a correction that the line
        # search has to agree to.
        size = p * (p - 1) // 2
        self.steps, self.turns = (np.empty((MEMORY, size), np.float32) for _ in range(2))
        self.gram, self.right = np.zeros((MEMORY, MEMORY)), np.zeros(MEMORY)
        self.n_steps = 0

    def step(self) -> bool:
        """Move on; False says that rounding hides any higher point."""
        n_kept = min(self.n_steps, MEMORY)
        found = self._try(self._weights(n_kept), 1.0) if n_kept else None
        if found is None:
            self.n_steps, shorter = 0, 1.0
            while found is None and shorter > SHORTEST:
                found = self._try(np.empty(0), shorter)
                shorter *= SHORTER
        if found is None:
            return False
        After, value = found
        slot, self.n_steps = self.n_steps % MEMORY, self.n_steps + 1
        squares, product, turned, self.share = _turn(
            self.form, self.W, self.New, self.Theta, After,
            self.steps, self.turns, slot, min(self.n_steps, MEMORY), self.gram, self.right,
        )  # fmt: skip
        self.W, self.New = self.New, self.W
        self.Theta, self.spare = After, self.Theta
        self.values.append(value)
        if product <= 0.0:
            return False
        self.length = step_size(squares, product, turned)
        return True

    def _weights(self, n: int) -> FloatArray:
        """Weigh the turns so that together they cancel the free part of the gradient best."""
        gram = self.gram[:n, :n]
        ridge = 1e-12 * float(np.trace(gram)) + 1e-300
        return np.asarray(np.linalg.solve(gram + ridge * np.eye(n), self.right[:n]))

    def _try(self, weights: FloatArray, shorter: float) -> tuple[FloatArray, float] | None:
        """Propose a point and return its inverse and value, or None where it is not high enough."""
        slope = _propose(
            self.form, self.W, self.Theta, self.length, shorter, self.steps, self.turns, weights,
            self.New,
        )  # fmt: skip
        if not slope > 0.0:
            return None
        # Near the optimum the change drowns in rounding; a step within it counts as good.
        worst = max(self.values[-WINDOW:])
        rounding = 1e-14 * (abs(worst) + len(self.W))
        After, logdet = _invert(self.New, self.spare, worst - ARMIJO * slope + rounding)
        return None if After is None else (After, -logdet)


def climb(
    form: StandardForm, W: FloatArray, target: float, max_iter: int
) -> CertifiedPrecision | None:
    """Ascend from a dual point until the gap is at most ``target``.

    Of ``W``, which is overwritten, the upper triangle is read. Returns the best precision that was
    looked at, or None where ``W`` is not positive definite or none was.
    """
    ascent = _Ascent(form, W)
    if not ascent.is_definite:
        return None
    best: CertifiedPrecision | None = None
    look_at, lowest, since, can_move = FIRST_LOOK, np.inf, 0, True
    for count in range(max_iter + 1):
        if ascent.share < 0.5 * lowest:
            lowest, since = ascent.share, count
        is_last = count == max_iter or not can_move or count > since + STALLED
        if ascent.share <= look_at or is_last:
            Theta = _held_entries(form, ascent.W, ascent.Theta, np.empty_like(W))
            found = confirm(form, Theta, target)
            gap = np.inf if found is None else found.gap
            if found is not None and (best is None or gap < best.gap):
                best = replace(found, n_iter=count)
            if is_last or gap <= target:
                break
            look_at = ascent.share * (max(AIM * target / gap, FARTHEST) if gap < np.inf else 0.1)
        can_move = ascent.step()
    return best


def _invert(
    A: FloatArray, out: FloatArray, highest: float = np.inf
) -> tuple[FloatArray | None, float]:
    """Return the inverse of a matrix, which lies in ``out``, and its log-determinant.

    None where the matrix is not positive definite or minus the log-determinant above ``highest``.
    """
    np.copyto(out, A)
    # The upper triangle is the lower one in LAPACK's own order.
    factor, info = lapack.dpotrf(out.T, lower=1, clean=0, overwrite_a=1)
    if info != 0 or not factor[-1, -1] > 0.0:
        return None, -np.inf
    logdet = 2.0 * float(np.log(factor.diagonal()).sum())
    if -logdet > highest:
        return None, logdet
    return lapack.dpotri(factor, lower=1, overwrite_c=1)[0].T, logdet


@kernel
def _propose(
    form: StandardForm,
    W: FloatArray,
    Theta: FloatArray,
    length: float,
    shorter: float,
    steps: AnyArray,
    turns: AnyArray,
    weights: FloatArray,
    New: FloatArray,
) -> float:
    """Write a projected step to ``New`` and return the slope along it.

    ``weights`` of former steps correct it; a share of the way is gone where it is ``shorter``.
    """
    S, p = form.S, form.scale.size
    t, move = np.empty(p), np.empty(p)
    slope = 0.0
    start = 0
    for i in range(p):
        fill_thresholds(i, form, t)
        n = p - i - 1
        limit, s, w = t[i + 1 :], S[i, i + 1 :], W[i, i + 1 :]
        x, new = Theta[i, i + 1 :], New[i, i + 1 :]
        part = move[:n]
        for j in range(n):
            part[j] = length * x[j]
        for k in range(weights.size):
            step, turn = steps[k, start : start + n], turns[k, start : start + n]
            for j in range(n):
                part[j] -= weights[k] * (step[j] + length * turn[j])
        for j in range(n):
            lower, upper = s[j] - limit[j], s[j] + limit[j]
            is_held = w[j] >= upper if x[j] > 0.0 else w[j] <= lower
            goal = w[j] if is_held else min(max(w[j] + part[j], lower), upper)
            part[j] = shorter * (goal - w[j])
            new[j] = goal if shorter == 1.0 else w[j] + part[j]
        slope += 2.0 * dot(part, x)
        New[i, i] = 1.0
        start += n
    return slope


@kernel
def _turn(
    form: StandardForm,
    W: FloatArray,
    New: FloatArray,
    Theta: FloatArray,
    After: FloatArray,
    steps: AnyArray,
    turns: AnyArray,
    slot: int,
    n_kept: int,
    gram: FloatArray,
    right: FloatArray,
) -> tuple[float, float, float, float]:
    """Remember a step and the turn of the gradient along it, where the box does not hold it.

    Returns the squared length of the step, its product with the turn, the squared turn, and the
    relative size of the free part of the gradient.
    """
    S, p = form.S, form.scale.size
    t, free, step, turn, turned = np.empty(p), np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    squares = product = square_turn = all_free = whole = 0.0
    gram[slot, :] = 0.0
    right[:] = 0.0
    start = 0
    for i in range(p):
        fill_thresholds(i, form, t)
        n = p - i - 1
        limit, s, w, x = t[i + 1 :], S[i, i + 1 :], New[i, i + 1 :], After[i, i + 1 :]
        w_before, x_before = W[i, i + 1 :], Theta[i, i + 1 :]
        for j in range(n):
            step[j] = w[j] - w_before[j]
            turn[j] = x[j] - x_before[j]
            is_held = w[j] >= s[j] + limit[j] if x[j] > 0.0 else w[j] <= s[j] - limit[j]
            free[j] = 0.0 if is_held else x[j]
            turned[j] = 0.0 if is_held else turn[j]
            steps[slot, start + j] = step[j]
            turns[slot, start + j] = turned[j]
        squares += dot(step[:n], step[:n])
        product -= dot(step[:n], turn[:n])
        square_turn += dot(turn[:n], turn[:n])
        all_free += dot(free[:n], free[:n])
        whole += 2.0 * dot(x, x) + After[i, i] ** 2
        for k in range(n_kept):
            one = turns[k, start : start + n]
            right[k] += dot(one, free[:n])
            gram[slot, k] += dot(one, turned[:n])
        start += n
    for k in range(n_kept):
        gram[k, slot] = gram[slot, k]
    return squares, product, square_turn, np.sqrt(2.0 * all_free / whole)


@kernel
def _held_entries(
    form: StandardForm, W: FloatArray, Theta: FloatArray, out: FloatArray
) -> FloatArray:
    """Write the entries of ``Theta`` that the box holds to a symmetric matrix; others are 0."""
    S, p = form.S, form.scale.size
    t = np.empty(p)
    for i in range(p):
        fill_thresholds(i, form, t)
        out[i, i] = Theta[i, i]
        for j in range(i + 1, p):
            x, w = Theta[i, j], W[i, j]
            is_held = w >= S[i, j] + t[j] if x > 0.0 else w <= S[i, j] - t[j]
            out[i, j] = x if is_held else 0.0
    mirror(out)
    return out
