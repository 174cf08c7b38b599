r"""One connected component of a graphical lasso problem: descent first, ascent where it is slow.

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

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack

from edgewise._core.errors import SolverError
from edgewise._core.jit import kernel, scratch
from edgewise._core.typing import AnyArray, FloatArray, IntArray
from edgewise.solvers.gaussian.decided import is_decided
from edgewise.solvers.gaussian.descent import (
    START,
    Columns,
    Pace as DescentPace,
    columns_from_precision,
    descend,
    empty_columns,
)
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    clip_to_box,
    fill_thresholds,
    measure_inverse,
    next_look,
    penalty,
    shrink_into_box,
)
from edgewise.solvers.linalg.dense import STEP_SHARE, LikelihoodStep, log_determinant, mirror
from edgewise.solvers.linalg.first_order import (
    Pace,
    Residuals,
    alternate,
    refuse_unbounded,
    step_size,
)
from edgewise.solvers.linalg.kernels import SINGULAR, dot, soft_threshold
from edgewise.solvers.linalg.sparse_inverse import factorize, inverse


@dataclass(frozen=True, kw_only=True, eq=False)
class CertifiedPrecision:
    """A positive definite precision and its inverse, with its duality gap."""

    Theta: FloatArray
    Sigma: FloatArray
    logdet: float
    objective: float
    gap: float
    n_iter: int = 0


def confirm(
    form: StandardForm, Theta: FloatArray, target: float = 0.0, out: FloatArray | None = None
) -> CertifiedPrecision | None:
    """Find the duality gap of ``Theta`` at its inverse, clipped to the dual box.

    A bound on it does where that is at most ``target`` or known to a thousandth. The inverse lies
    in ``out`` if that is given. None says that ``Theta`` is not positive definite; the gap is
    infinite where the dual point is not.
    """
    factor = factorize(Theta, out)
    if factor is None:
        return None
    Sigma = inverse(factor, out)
    slack, trace, bound = measure_inverse(form, Theta, Sigma)
    if slack + bound > target and bound > 1e-3 * slack:
        W = Sigma.copy()
        clip_to_box(form, W)
        bound = min(bound, max(trace - factor.logdet - log_determinant(W), 0.0))
    value = float(np.vdot(form.S, Theta)) + penalty(form, Theta) - factor.logdet
    return CertifiedPrecision(
        Theta=Theta, Sigma=Sigma, logdet=factor.logdet, objective=value, gap=slack + bound
    )


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


#: Conjugate gradient steps for one Newton direction.
MAX_INNER = 100


def orthant_newton(
    form: StandardForm, Theta: FloatArray, target: float, max_iter: int
) -> CertifiedPrecision | None:
    r"""Take up to ``max_iter`` Newton steps from a positive definite ``Theta``.

    Returns None when the start is not positive definite. For the last digits, which rounding hides
    from methods that invert a covariance.

    Notes
    -----
    On the orthant that the current signs span, the objective is smooth with gradient
    :math:`S - W + t \odot \operatorname{sign}` and Hessian :math:`D \mapsto W D W` for
    :math:`W = \Theta^{-1}`. Each step solves the Newton equations on the free entries by conjugate
    gradients, preconditioned with :math:`R \mapsto \Theta R \Theta` (the inverse Hessian if every
    entry were free), and then searches along the path projected onto the orthant, in the manner of
    Olsen, Oztoprak, Nocedal and Rennie (2012). An entry at zero is free when its gradient exceeds
    its threshold. All of the work is matrix products; the objective never rises.
    """
    found = confirm(form, Theta, target)
    for count in range(1, max_iter + 1):
        if found is None or found.gap <= target:
            break
        refuse_unbounded(float(np.diagonal(found.Theta).max()))
        sign, gradient = _orthant(form, found.Theta, found.Sigma)
        step = newton_direction(found.Theta, found.Sigma, sign != 0.0, gradient)
        moved = _search(form, found, step, sign, gradient, target)
        if moved is None:
            break
        found = replace(moved, n_iter=count)
    return found


@kernel
def _orthant(
    form: StandardForm, Theta: FloatArray, Sigma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Choose signs and form the gradient on them.

    The sign is 0 for an entry that stays at zero and 2 on the diagonal, which is free.
    """
    S, p = form.S, form.scale.size
    t = np.empty(p)
    sign, gradient = np.zeros((p, p)), np.zeros((p, p))
    for i in range(p):
        fill_thresholds(i, form, t)
        for j in range(p):
            slope = S[i, j] - Sigma[i, j]
            if Theta[i, j] != 0.0:
                sign[i, j] = np.sign(Theta[i, j])
            elif abs(slope) > t[j]:
                sign[i, j] = -np.sign(slope)
            if sign[i, j] != 0.0 and i != j:
                gradient[i, j] = slope + t[j] * sign[i, j]
        sign[i, i] = 2.0
        gradient[i, i] = 1.0 - Sigma[i, i]
    return sign, gradient


def newton_direction(
    Theta: FloatArray, Sigma: FloatArray, is_free: FloatArray, gradient: FloatArray
) -> FloatArray:
    """Solve the Newton equations on the free entries by preconditioned conjugate gradients."""
    step = np.zeros_like(Theta)
    residual = -gradient
    image = is_free * (Theta @ residual @ Theta)
    search = image.copy()
    size = float(np.vdot(residual, image))
    # Quadratic forcing: the inner accuracy follows the size of the outer residual.
    goal = min(0.01, size) * size
    for _ in range(MAX_INNER):
        product = is_free * (Sigma @ search @ Sigma)
        curvature = float(np.vdot(search, product))
        if curvature <= 0.0:
            break
        length = size / curvature
        step += length * search
        residual -= length * product
        image = is_free * (Theta @ residual @ Theta)
        size, before = float(np.vdot(residual, image)), size
        if size <= goal:
            break
        search *= size / before
        search += image
    return 0.5 * (step + step.T)


def _search(
    form: StandardForm,
    start: CertifiedPrecision,
    step: FloatArray,
    sign: FloatArray,
    gradient: FloatArray,
    target: float,
) -> CertifiedPrecision | None:
    """Halve the step until the projected point is positive definite and low enough (Armijo)."""
    # Near the optimum the decrease drowns in rounding; a step within it counts as good.
    rounding = 1e-14 * (abs(start.objective) + form.scale.size)
    length = 1.0
    while length > 1e-6:
        trial, decrease = _project(start.Theta, length * step, sign, gradient)
        found = confirm(form, trial, target) if decrease < 0.0 else None
        limit = start.objective + 1e-4 * decrease + rounding
        if found is not None and found.objective <= limit:
            return found
        length *= 0.5
    return None


@kernel
def _project(
    Theta: FloatArray, step: FloatArray, sign: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, float]:
    """Move along ``step``, set to zero what leaves the orthant; also return the slope."""
    p = Theta.shape[0]
    trial = np.zeros((p, p))
    decrease = 0.0
    for i in range(p):
        for j in range(p):
            if sign[i, j] != 0.0:
                x = Theta[i, j] + step[i, j]
                if i != j and x * sign[i, j] < 0.0:
                    x = 0.0
                trial[i, j] = x
                decrease += gradient[i, j] * (x - Theta[i, j])
    return trial, decrease


RELAXATION = 1.6
PACE = Pace(interval=10, tuning=300, balance=1.0)
#: Newton steps tried at a look, once the gap per variable has fallen to `SETTLED`.
SETTLED_STEPS = 3
#: Gap per variable at which the signs have mostly settled.
SETTLED = 1e-6


def split_likelihood(
    form: StandardForm, Theta: FloatArray, W: FloatArray, target: float, max_iter: int
) -> CertifiedPrecision | None:
    """Iterate from a precision and a dual point until the gap is at most ``target``.

    Returns the best certified point, or None if no iterate was positive definite.
    """
    Z, Y = Theta.copy(), W - form.S
    size = float(np.linalg.norm(Y)) / float(np.linalg.norm(Z))
    mu = size if size > 0.0 else 1.0
    U = Y / mu
    best: CertifiedPrecision | None = None
    likelihood, distance = LikelihoodStep(), 0.0

    def step(mu: float) -> tuple[FloatArray, Residuals]:
        nonlocal distance
        X = likelihood(Z - U - form.S / mu, 1.0 / mu, STEP_SHARE * distance)
        residuals = _shrink(form, X, Z, U, mu)
        distance = float(np.sqrt(residuals[0]))
        return X, residuals

    def is_done(X: FloatArray, mu: float, count: int) -> bool:
        nonlocal best
        refuse_unbounded(float(X.diagonal().max()))
        is_settled = best is not None and best.gap <= SETTLED * form.scale.size
        found = orthant_newton(form, Z.copy(), target, SETTLED_STEPS if is_settled else 0)
        # Without a dual point near by the gap is infinite for long, and the objective tells.
        if found is not None and (
            best is None or (found.gap, found.objective) < (best.gap, best.objective)
        ):
            best = replace(found, n_iter=count)
        return best is not None and best.gap <= target

    alternate(step, is_done, U, mu, max_iter, PACE)
    return best


def _is_definite(W: FloatArray) -> bool:
    """Whether the matrix with this upper triangle is positive definite beyond rounding."""
    factor, info = lapack.dpotrf(W.T, lower=1, clean=0)
    return info == 0 and bool(factor.diagonal().min() ** 2 > SINGULAR)


@kernel
def _shrink(
    form: StandardForm, X: FloatArray, Z: FloatArray, U: FloatArray, mu: float
) -> tuple[float, float, float, float]:
    """Over-relax and soft-threshold, in place on ``Z`` and ``U``; return the residuals."""
    p = X.shape[0]
    t = np.empty(p)
    primal = dual = size_Z = size_U = 0.0
    for i in range(p):
        fill_thresholds(i, form, t)
        t[i] = 0.0
        for j in range(i + 1):
            h = RELAXATION * X[i, j] + (1.0 - RELAXATION) * Z[i, j] + U[i, j]
            z = soft_threshold(h, t[j] / mu)
            share = 1.0 if i == j else 2.0
            primal += share * (X[i, j] - z) ** 2
            dual += share * (z - Z[i, j]) ** 2
            size_Z += share * z * z
            size_U += share * (h - z) ** 2
            Z[i, j] = Z[j, i] = z
            U[i, j] = U[j, i] = h - z
    return primal, dual, size_Z, size_U


#: Sweeps before ascent is thought of; doubled each time.
PATIENCE = 6
#: Cost of a whole ascent in units of p^3, where a unit is one multiply-add on whole rows.
ASCENT_COST = 60.0
#: Gap that is aimed at for pairs that are not decided, relative to the last and per variable.
CLOSER, LEAST_GAP = 1e-6, 1e-14
#: Gap per variable from which Newton steps are tried, and how many.
NEAR, NEWTON_STEPS = 1e-3, 6


@dataclass(frozen=True, kw_only=True, eq=False)
class ComponentSolution:
    """Precision and covariance of one component in standard form.

    Both may lie in scratch memory: copy them before the next component is solved.
    """

    Theta: FloatArray
    Sigma: FloatArray
    logdet: float
    gap: float
    n_iter: int
    history: list[float]


def solve_component(
    form: StandardForm,
    target: float,
    max_iter: int,
    start: tuple[FloatArray, FloatArray] | None = None,
    decide: float = 0.0,
) -> ComponentSolution:
    """Solve one component until its duality gap is at most ``target``, and its edges are decided.

    Parameters
    ----------
    form : StandardForm
        The problem.
    target : float
        Gap to reach.
    max_iter : int
        Sweeps and steps allowed.
    start : tuple (Theta, W), optional
        Precision and covariance of a nearby problem.
    decide : float
        Sweeps that may be added for undecided pairs, as a multiple of those that led to
        ``target``.
    """
    p = form.scale.size
    W, Theta, Sigma = (scratch(name, (p, p)) for name in ("dual point", "precision", "inverse"))
    columns = empty_columns(W, Theta, Sigma, min(8, p))
    W[:] = 0.0
    if start is not None:
        W[:] = start[1]
        columns = Columns(W, *columns_from_precision(start[0]), Theta, Sigma)
    # Most problems are nearly solved at the soft-thresholded covariance.
    clip_to_box(form, W)
    history: list[float] = []
    #: Gaps after each round of sweeps.
    ends: list[float] = []
    n_iter, chunk, pace, is_last_start, last = 0, PATIENCE, START, False, 0
    left, look = chunk, target
    while n_iter < max_iter:
        status, n_sweeps, expected, pace, columns = descend(
            form, columns, min(look, target), look, min(left, max_iter - n_iter), pace, False
        )
        n_iter, left = n_iter + n_sweeps, left - n_sweeps
        if status < 0 and not is_last_start and not _is_definite(W):
            shrink_into_box(form, W)
            columns = empty_columns(W, Theta, Sigma, min(8, p))
            is_last_start, left = True, chunk
            continue
        if status < 0:
            break
        found = confirm(form, Theta, target, Sigma)
        gap = np.inf if found is None else found.gap
        history.append(gap)
        if found is not None and gap <= target:
            last = last or n_iter + int(decide * n_iter)
            left = min(last, max_iter) - n_iter
            if left > 0 and gap > LEAST_GAP * p and not is_decided(form, Theta, Sigma, gap):
                # One far look, at which hardly a pair is left open, costs less than several.
                look = max(CLOSER * gap, LEAST_GAP * p)
                continue
            return ComponentSolution(
                Theta=Theta,
                Sigma=Sigma,
                logdet=found.logdet,
                gap=gap,
                n_iter=n_iter,
                history=history,
            )
        if left == 0:
            ends.append(gap)
            is_stalled = len(ends) > 2 and NEAR * p > ends[-3] < 2.0 * gap
            if is_stalled or _is_slow(columns.size, pace, gap, target):
                break
            left = chunk = 2 * chunk
        look = next_look(expected, gap, target)
    if not history:
        Theta = np.eye(p)
    return _finish(form, Theta, W, target, max_iter - n_iter, n_iter, history)


def _is_slow(size: IntArray, pace: DescentPace, gap: float, target: float) -> bool:
    """Compare the sweeps still to come, extrapolated from the last two, with an ascent."""
    if not 0.0 < pace.ratio < 1.0:
        return pace.change > 0.0
    distance = gap if gap < np.inf else np.sqrt(pace.change * pace.ratio)
    n_sweeps = np.log(target / distance) / np.log(np.sqrt(pace.ratio))
    p = size.size
    degree = size.astype(np.float64)
    sweep_cost = float((p * degree + 3.0 * degree**2 + 0.1 * degree**3).sum())
    return bool(n_sweeps * sweep_cost > ASCENT_COST * p**3)


def _finish(
    form: StandardForm,
    Theta: FloatArray,
    W: FloatArray,
    target: float,
    max_steps: int,
    n_iter: int,
    history: list[float],
) -> ComponentSolution:
    """Finish by Newton steps if they are near enough, by ascent, or else alternating directions."""
    if not _is_definite(W):
        shrink_into_box(form, W)
    if form.alpha == 0.0 and not form.weights.size and not _is_definite(W):
        raise SolverError(
            "The objective has no minimum: without a penalty the covariance must be positive "
            "definite, and this one is singular. Use alpha > 0, or repair the covariance."
        )
    near, n_newton = NEAR * form.scale.size, min(NEWTON_STEPS, max_steps)
    result = None
    if history and history[-1] <= near:
        result = orthant_newton(form, Theta.copy(), target, n_newton)
    if (result is None or result.gap > target) and _is_definite(W):
        result = climb(form, W.copy(), target, max_steps) or result
        if result is not None and target < result.gap <= near:
            result = orthant_newton(form, result.Theta, target, n_newton)
    if result is None or result.gap > target:
        start = Theta if result is None else result.Theta
        result = split_likelihood(form, start, mirror(W), target, max_steps) or result
    if result is None:
        result = confirm(form, np.eye(form.scale.size))
    if result is None:
        raise SolverError("The precision matrix lost its positive diagonal.")
    history.append(result.gap)
    return ComponentSolution(
        Theta=result.Theta,
        Sigma=result.Sigma,
        logdet=result.logdet,
        gap=result.gap,
        n_iter=n_iter + result.n_iter,
        history=history,
    )
