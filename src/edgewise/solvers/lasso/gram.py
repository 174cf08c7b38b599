"""Lassos on a Gram matrix: coordinate descent, its certificate, and one lasso per variable.

All compiled functions stand in this one file because numba keeps what it compiles until the file
of the caller changes, not that of the function called.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import DECIDE, Solution, go_on
from edgewise.solvers.lasso.decided import NeighborhoodProof

#: Passes over the current support between two certificates.
_SUPPORT_PASSES = 10
#: Exact steps on the support after them, each but the last of which drops a coefficient.
_POLISHES = 10
NONE, PARTIAL, WHOLE = 0, 1, 2


def neighborhood_lasso(
    S: FloatArray,
    alpha: float,
    *,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    decide: float = DECIDE,
) -> Solution:
    r"""Regress each variable on all others with an l1 penalty.

    .. math::

        \min_B \; \sum_j \left( \tfrac12 S_{jj} - S_{j}^\top b_j + \tfrac12 b_j^\top S b_j
        + \alpha \sum_{i \ne j} |b_{ij}| \right), \quad b_{jj} = 0

    where :math:`b_j` is column j of :math:`B`; the smooth part is half the mean squared residual
    of variable j [1]_.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Positive semidefinite covariance, or a correlation matrix to penalise all alike.
    alpha : float
        Strength of the penalty, above 0. From the largest ``|S_ij|``, i != j, on, ``B`` is 0.
    init : ndarray of shape (p, p), optional
        Warm start with a diagonal of 0.
    tol : float
        Stop each regression once its duality gap is at most ``tol``, so that the sum of the
        gaps is at most ``tol * p``.
    max_iter : int
        Largest number of rounds of each regression.
    decide : float
        Rounds that may follow while coefficients are not ``decided``, as a multiple of those that
        led to ``tol``; 0 stops there.

    Returns
    -------
    Solution
        ``value[i, j]`` is the coefficient of variable i in the regression of variable j;
        ``gap`` and ``objective`` are sums over the regressions, ``n_iter`` the largest number of
        rounds.

    References
    ----------
    .. [1] Meinshausen and Bühlmann (2006). High-dimensional graphs and variable selection with
       the lasso. *Annals of Statistics* 34(3). https://doi.org/10.1214/009053606000000281

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.lasso.gram import neighborhood_lasso
    >>> S = np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> neighborhood_lasso(S, 0.2).value
    array([[0. , 0.3, 0. ],
           [0.3, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    S = np.ascontiguousarray(S, dtype=np.float64)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or not np.isfinite(S).all():
        raise InputError("gram_shape", shape=S.shape)
    if not (np.isfinite(alpha) and alpha > 0 and tol > 0 and max_iter >= 1):
        raise InputError("gram_arguments", alpha=alpha, tol=tol, max_iter=max_iter)
    # One row per regression keeps each start and result contiguous.
    rows = np.zeros_like(S) if init is None else np.array(init.T, dtype=np.float64, order="C")
    if rows.shape != S.shape or rows.diagonal().any():
        raise InputError("gram_init", shape=S.shape)
    gaps, rounds = regress_all(S, float(alpha), rows, float(tol), max_iter)
    B = np.ascontiguousarray(rows.T)
    fit = 0.5 * np.sum(S.diagonal()) - np.sum(S * B) + 0.5 * np.sum(B * (S @ B))
    found = Solution(
        value=B,
        objective=float(fit + alpha * np.abs(B).sum()),
        gap=float(gaps.sum()),
        n_iter=int(rounds.max(initial=0)),
        converged=bool((gaps <= tol).all()),
        proof=NeighborhoodProof(S=S, alpha=float(alpha), gaps=gaps),
    )

    def again(gap: float, max_iter: int) -> Solution:
        goal = gap / len(S)
        return neighborhood_lasso(S, alpha, init=B, tol=goal, max_iter=max_iter, decide=0.0)

    return go_on(found, again, decide, len(S))


@kernel
def descend(
    G: FloatArray,
    c: FloatArray,
    w: FloatArray,
    b: FloatArray,
    energy: float,
    goal: float,
    history: FloatArray,
) -> tuple[float, int]:
    """Improve ``b`` in place until its gap is at most ``goal``; return the gap and the rounds.

    Weights are positive; ``inf`` skips a coefficient, whose start must then be 0. ``energy`` is
    at least c' G^+ c. The rounds are as many as ``history`` has room for.
    """
    n_variables = len(c)
    residual = np.empty(n_variables)
    everything = np.arange(n_variables)
    support = np.empty(n_variables, dtype=np.int64)
    set_residual(G, c, b, residual)
    gap = np.inf
    for n_iter in range(history.shape[0]):
        sweep(G, w, b, residual, everything, n_variables)
        set_residual(G, c, b, residual)
        gap = certificate(c, w, b, residual, energy)
        history[n_iter] = gap
        if gap <= goal:
            return gap, n_iter + 1
        n_support = find_support(b, support)
        for _ in range(_SUPPORT_PASSES):
            # What these passes leave is far below what the certificate can see.
            if sweep(G, w, b, residual, support, n_support) <= 1e-3 * goal:
                break
        for _ in range(_POLISHES):
            n_support = find_support(b, support)
            if polish(G, c, w, b, residual, support[:n_support]) != PARTIAL:
                break
    return gap, history.shape[0]


@kernel
def find_support(b: FloatArray, support: IntArray) -> int:
    """List the coefficients that are not 0; return their number."""
    n_support = 0
    for j in range(len(b)):
        if b[j] != 0.0:
            support[n_support] = j
            n_support += 1
    return n_support


@kernel
def set_residual(G: FloatArray, c: FloatArray, b: FloatArray, residual: FloatArray) -> None:
    """Write c - G b, free of the rounding that updates gather."""
    for i in range(c.shape[0]):
        residual[i] = c[i]
    for j in range(c.shape[0]):
        if b[j] != 0.0:
            for i in range(c.shape[0]):
                residual[i] -= G[j, i] * b[j]


@kernel
def sweep(
    G: FloatArray,
    w: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    order: IntArray,
    n_order: int,
) -> float:
    """Set each coefficient to soft(r_j + G_jj b_j, w_j) / G_jj; return the fall in objective."""
    fall = 0.0
    for k in range(n_order):
        j = order[k]
        curvature = G[j, j]
        if curvature <= 0.0 or w[j] == np.inf:
            continue
        pull = residual[j] + curvature * b[j]
        if pull > w[j]:
            value = (pull - w[j]) / curvature
        elif pull < -w[j]:
            value = (pull + w[j]) / curvature
        else:
            value = 0.0
        step = value - b[j]
        if step != 0.0:
            b[j] = value
            fall += 0.5 * curvature * step * step
            for i in range(b.shape[0]):
                residual[i] -= G[j, i] * step
    return fall


@kernel
def certificate(
    c: FloatArray, w: FloatArray, b: FloatArray, residual: FloatArray, energy: float
) -> float:
    """Return the duality gap, as a sum of terms that are each at least 0.

    With y such that c = A'y, G = A'A and rho = y - A b, the dual point is y - s rho, where
    s <= 1 is the largest scale that keeps s |r_j| <= w_j. The gap is then
    (1 - s)^2 |rho|^2 / 2 + sum_j (w_j |b_j| - s b_j r_j).
    """
    scale = 1.0
    inner = 0.0
    explained = 0.0
    for j in range(c.shape[0]):
        size = abs(residual[j])
        if size > w[j]:
            scale = min(scale, w[j] / size)
        inner += b[j] * residual[j]
        explained += c[j] * b[j]
    unexplained = max(energy - explained - inner, 0.0)
    gap = 0.5 * (1.0 - scale) ** 2 * unexplained
    for j in range(c.shape[0]):
        if b[j] != 0.0:
            gap += max(w[j] * abs(b[j]) - scale * b[j] * residual[j], 0.0)
    return gap


@kernel
def polish(
    G: FloatArray,
    c: FloatArray,
    w: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    support: IntArray,
) -> int:
    """Step to the minimum for the signs of ``b``, or to where the first coefficient meets 0.

    The step d solves G_AA d = r_A - w_A sign(b_A) =: g. Where G_AA is singular, d is a null
    vector of it instead, turned so that g'd >= 0: along it the objective falls, or stays, until
    a coefficient meets 0. Returns whether the step was ``WHOLE``, ``PARTIAL`` or ``NONE``.
    """
    size = len(support)
    if size == 0:
        return NONE
    pull = np.empty(size)
    for i in range(size):
        pull[i] = residual[support[i]] - w[support[i]] * np.sign(b[support[i]])
    factor = np.empty((size, size))
    rank = cholesky(G, support, factor)
    step = np.zeros(size)
    limit = 1.0
    if rank == size:
        for i in range(size):
            value = pull[i]
            for k in range(i):
                value -= factor[i, k] * step[k]
            step[i] = value / factor[i, i]
    else:
        limit = np.inf
        step[rank] = 1.0
        for k in range(rank):
            step[k] = -factor[rank, k]
    for i in range(min(rank, size) - 1, -1, -1):
        value = step[i]
        for k in range(i + 1, min(rank, size)):
            value -= factor[k, i] * step[k]
        step[i] = value / factor[i, i]
    if rank < size and np.sum(pull * step) < 0.0:
        step = -step
    return walk(G, c, b, residual, support, step, limit)


@kernel
def cholesky(G: FloatArray, support: IntArray, factor: FloatArray) -> int:
    """Factorise G on the support; return the first row that depends on those before it.

    Unlike `edgewise.solvers.linalg.kernels.factor` it is to say which row that is: the null vector
    is the way to go on.
    """
    size = len(support)
    for i in range(size):
        row = support[i]
        for k in range(i + 1):
            value = G[row, support[k]]
            for m in range(k):
                value -= factor[i, m] * factor[k, m]
            if k < i:
                factor[i, k] = value / factor[k, k]
            elif value <= 1e-12 * G[row, row]:
                return i
            else:
                factor[i, i] = np.sqrt(value)
    return size


@kernel
def walk(
    G: FloatArray,
    c: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    support: IntArray,
    step: FloatArray,
    limit: float,
) -> int:
    """Add the step times the largest number up to ``limit`` that lets no coefficient cross 0."""
    length = limit
    first = -1
    for i in range(support.shape[0]):
        j = support[i]
        if step[i] * b[j] < 0.0 and -b[j] / step[i] < length:
            length = -b[j] / step[i]
            first = j
    if length == np.inf:
        return NONE
    for i in range(support.shape[0]):
        b[support[i]] += length * step[i]
    if first >= 0:
        b[first] = 0.0
    set_residual(G, c, b, residual)
    return WHOLE if first < 0 else PARTIAL


@kernel
def regress_all(
    S: FloatArray, alpha: float, rows: FloatArray, tol: float, max_iter: int
) -> tuple[FloatArray, IntArray]:
    """Solve every regression in place, the own coefficient forbidden by an infinite weight."""
    n_variables = S.shape[0]
    gaps = np.zeros(n_variables)
    rounds = np.zeros(n_variables, dtype=np.int64)
    history = np.empty(max_iter)
    weights = np.full(n_variables, alpha)
    for j in range(n_variables):
        weights[j] = np.inf
        gaps[j], rounds[j] = descend(S, S[j], weights, rows[j], S[j, j], tol, history)
        weights[j] = alpha
    return gaps, rounds
