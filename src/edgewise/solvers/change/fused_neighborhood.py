"""Regressions of each variable on the others in two groups at once, with a sparse difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from edgewise._core.errors import InputError, SolverError
from edgewise._core.jit import blas_threads_for, kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._arguments import (
    LARGEST_INFLATION,
    check_covariances,
    check_fusion,
    check_nonnegative,
)
from edgewise.solvers._solution import Solution
from edgewise.solvers.lasso.gram import (
    PARTIAL,
    certificate,
    descend,
    find_support,
    polish,
    regress_all,
    set_residual,
)
from edgewise.solvers.linalg.dense import inverse_and_log_determinant

#: Passes over the coefficients that are not 0, and exact steps on them, between certificates.
_SUPPORT_PASSES = 10
_POLISHES = 10


@kernel
def regress_differences(
    parallel: FloatArray,
    H: FloatArray,
    scale: FloatArray,
    alphas: FloatArray,
    rows: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, IntArray]:
    """Solve the lasso of every difference in place, ``rows[k, u]`` for alpha k and variable u.

    ``H[u]`` is h and ``scale`` is 1 / B_uu. The first rows hold the start.
    """
    n_alphas, d = rows.shape[:2]
    gaps = np.zeros((n_alphas, d))
    rounds = np.zeros((n_alphas, d), dtype=np.int64)
    history = np.empty(max_iter)
    weights = np.empty(d)
    c = np.empty(d)
    G = np.empty((d, d))
    for u in range(d):
        for i in range(d):
            c[i] = H[u, i] * scale[u]
            for j in range(d):
                G[i, j] = parallel[i, j] + c[i] * H[u, j]
        for k in range(n_alphas):
            for i in range(d):
                weights[i] = alphas[k]
                if k > 0:
                    rows[k, u, i] = rows[k - 1, u, i]
            weights[u] = np.inf
            # What the regression in common leaves of the variable bounds what can be explained.
            gaps[k, u], rounds[k, u] = descend(G, c, weights, rows[k, u], scale[u], tol, history)
    return gaps, rounds


@kernel
def regress_pairs(
    G: FloatArray,
    alphas: FloatArray,
    sparsity: float,
    start: FloatArray,
    rows: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, IntArray]:
    """Solve every regression in place, ``rows[k, u]`` for alpha k and variable u.

    ``start[g, u]`` is the regression of u in group g to begin with.
    """
    n_alphas, d = rows.shape[:2]
    gaps = np.zeros((n_alphas, d))
    rounds = np.zeros((n_alphas, d), dtype=np.int64)
    weights = np.empty(3 * d)
    for u in range(d):
        for j in range(d):
            _set_pair(rows[0, u], j, start[0, u, j], start[1, u, j])
        for k in range(n_alphas):
            for i in range(3 * d):
                weights[i] = 2.0 * sparsity if i >= 2 * d else sparsity + alphas[k]
                if k > 0:
                    rows[k, u, i] = rows[k - 1, u, i]
            for group in range(3):
                weights[u + group * d] = np.inf
            gaps[k, u], rounds[k, u] = _descend_pairs(
                G, u, alphas[k], sparsity, weights, rows[k, u], tol, max_iter
            )
    return gaps, rounds


@kernel
def _descend_pairs(
    G: FloatArray,
    u: int,
    alpha: float,
    sparsity: float,
    weights: FloatArray,
    b: FloatArray,
    goal: float,
    max_iter: int,
) -> tuple[float, int]:
    """Improve ``b`` in place until its gap is at most ``goal``; return the gap and the rounds."""
    d = len(b) // 3
    c = G[2 * d + u]
    energy = c[2 * d + u]
    residual = np.empty(3 * d)
    others = np.empty(d - 1, dtype=np.int64)
    for j in range(d - 1):
        others[j] = j + (j >= u)
    chosen = np.empty(d, dtype=np.int64)
    support = np.empty(3 * d, dtype=np.int64)
    set_residual(G, c, b, residual)
    gap = np.inf
    for n_iter in range(max_iter):
        _sweep_pairs(G, b, residual, alpha, sparsity, others, d - 1)
        set_residual(G, c, b, residual)
        gap = certificate(c, weights, b, residual, energy)
        if gap <= goal:
            return gap, n_iter + 1
        n_chosen = _find_pairs(b, chosen)
        for _ in range(_SUPPORT_PASSES):
            # What these passes leave is far below what the certificate can see.
            if _sweep_pairs(G, b, residual, alpha, sparsity, chosen, n_chosen) <= 1e-3 * goal:
                break
        set_residual(G, c, b, residual)
        for _ in range(_POLISHES):
            n_support = find_support(b, support)
            if polish(G, c, weights, b, residual, support[:n_support]) != PARTIAL:
                break
    return gap, max_iter


@kernel
def _find_pairs(b: FloatArray, chosen: IntArray) -> int:
    """List the variables with a coefficient in either group; return their number."""
    d = len(b) // 3
    n_chosen = 0
    for j in range(d):
        if b[j] != 0.0 or b[d + j] != 0.0 or b[2 * d + j] != 0.0:
            chosen[n_chosen] = j
            n_chosen += 1
    return n_chosen


@kernel
def _sweep_pairs(
    G: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    alpha: float,
    sparsity: float,
    order: IntArray,
    n_order: int,
) -> float:
    """Set each pair of coefficients to its minimum given the others; return the fall.

    Keeps the residuals of the two groups, not those of their sum.
    """
    d = len(b) // 3
    fall = 0.0
    for k in range(n_order):
        j = order[k]
        first = b[j] + b[2 * d + j]
        second = b[d + j] + b[2 * d + j]
        curvature_1 = G[j, j]
        curvature_2 = G[d + j, d + j]
        value_1, value_2 = _best_pair(
            curvature_1,
            curvature_2,
            residual[j] + curvature_1 * first,
            residual[d + j] + curvature_2 * second,
            alpha,
            sparsity,
        )
        step_1 = value_1 - first
        step_2 = value_2 - second
        if step_1 == 0.0 and step_2 == 0.0:
            continue
        _set_pair(b, j, value_1, value_2)
        fall += 0.5 * (curvature_1 * step_1**2 + curvature_2 * step_2**2)
        for i in range(d):
            residual[i] -= G[j, i] * step_1
            residual[d + i] -= G[d + j, d + i] * step_2
    return fall


@kernel
def _best_pair(
    curvature_1: float,
    curvature_2: float,
    pull_1: float,
    pull_2: float,
    alpha: float,
    sparsity: float,
) -> tuple[float, float]:
    r"""Minimise :math:`\sum_g \tfrac12 a_g b_g^2 - z_g b_g + \lambda |b_g| + \alpha |b_2 - b_1|`.

    Where the two differ, the fusion is linear and they are found apart; if the order they come out
    in is not the one that was assumed, either way, they are equal.
    """
    first = _shrink(pull_1 + alpha, sparsity, curvature_1)
    second = _shrink(pull_2 - alpha, sparsity, curvature_2)
    if first < second:
        return first, second
    first = _shrink(pull_1 - alpha, sparsity, curvature_1)
    second = _shrink(pull_2 + alpha, sparsity, curvature_2)
    if first > second:
        return first, second
    common = _shrink(pull_1 + pull_2, 2.0 * sparsity, curvature_1 + curvature_2)
    if abs(common) == np.inf:
        common = 0.0
    return common, common


@kernel
def _shrink(pull: float, threshold: float, curvature: float) -> float:
    """Minimise a parabola plus an absolute value; infinite where the parabola is a line."""
    excess = abs(pull) - threshold
    if excess <= 0.0:
        return 0.0
    size = excess / curvature if curvature > 0.0 else np.inf
    return size if pull > 0.0 else -size


@kernel
def _set_pair(b: FloatArray, j: int, first: float, second: float) -> None:
    """Write a pair of coefficients as steps along the axes and the diagonal, at most two of them.

    The step along the diagonal is what both have in common, which is cheapest.
    """
    d = len(b) // 3
    common = 0.0
    if first * second > 0.0:
        common = first if abs(first) < abs(second) else second
    b[j] = first - common
    b[d + j] = second - common
    b[2 * d + j] = common


RULES: Final = ("or", "and")
#: A change of at most this share of the largest variance is nothing but rounding.
ROUNDING: Final = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class FusedNeighborhoodSolution(Solution):
    """Solution whose ``value`` holds the regressions of both groups.

    Attributes
    ----------
    value : ndarray of shape (2, d, d)
        ``value[g, i, j]`` is the coefficient of variable i in the regression of j in group g.
        Coefficients that do not change are exactly equal.
    alpha, sparsity : float
        Strengths that the problem was solved for.
    """

    alpha: float
    sparsity: float

    def change(self, rule: str = "or") -> FloatArray:
        """Return one signed change per pair, out of those in its two regressions.

        Parameters
        ----------
        rule : {"or", "and"}
            Of the two changes of a pair, take the larger or the smaller in size. It is not 0
            where at least one of them, or both of them, are not 0.

        Returns
        -------
        ndarray of shape (d, d)
            Symmetric, with a diagonal of 0.
        """
        if rule not in RULES:
            raise InputError("rule_or_and", rule=rule)
        change: FloatArray = self.value[1] - self.value[0]
        size = np.abs(change)
        is_larger = size > size.T if rule == "or" else size < size.T
        is_tied = size == size.T
        chosen = np.where(is_larger, change, change.T)
        return np.where(is_tied, np.maximum(change, change.T), chosen)


def fused_neighborhood(
    S: FloatArray,
    alpha: float,
    *,
    sparsity: float = 0.0,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> FusedNeighborhoodSolution:
    r"""Regress each variable on all others in two groups, with few differences between them.

    For each variable :math:`u` [1]_

    .. math::

        \min_{b^1, b^2} \; \sum_{g = 1}^2 \frac{1}{2 n_g} \| x_u^g - X^g b^g \|^2
        + \lambda \left( \|b^1\|_1 + \|b^2\|_1 \right) + \alpha \|b^2 - b^1\|_1,
        \quad b^1_u = b^2_u = 0

    where :math:`X^g` holds the :math:`n_g` centred rows of group :math:`g`, :math:`x_u^g` its
    column :math:`u`, :math:`\alpha` is the strength of fusion and :math:`\lambda` that of
    sparsity. Only the covariances :math:`S^g = X^{g\top} X^g / n_g` enter.

    Parameters
    ----------
    S : ndarray of shape (2, d, d)
        Positive semidefinite covariances of the two groups.
    alpha : float
        Strength of fusion, at least 0, and above 0 where ``sparsity`` is 0.
    sparsity : float
        Strength of the l1 penalty on the coefficients themselves, at least 0.
    init : ndarray of shape (2, d, d), optional
        Warm start with diagonals of 0.
    tol : float
        Stop each regression once its duality gap is at most ``tol``, so that the sum of the gaps
        is at most ``tol * d``.
    max_iter : int
        Largest number of rounds of each regression.

    Returns
    -------
    FusedNeighborhoodSolution
        ``gap`` and ``objective`` are sums over the regressions, ``n_iter`` the largest number of
        rounds.

    Raises
    ------
    InputError
        If an argument is not valid.
    SolverError
        If ``sparsity`` is 0 and the sum of the covariances is singular, as with fewer rows in
        both groups together than variables: one regression then fits both groups perfectly.

    Notes
    -----
    Without sparsity, what both groups have in common is free of penalty and is solved out: with
    :math:`A = S^1 + S^2`, :math:`B = A^{-1}` and :math:`h = S^2 B_u`, the difference
    :math:`\delta = b^2 - b^1` solves the lasso

    .. math::

        \min_\delta \; \tfrac12 \delta^\top
        \Bigl( S^1 B S^2 + \frac{h h^\top}{B_{uu}} \Bigr) \delta
        - \frac{h^\top \delta}{B_{uu}} + \alpha \|\delta\|_1 .

    With sparsity, coordinate descent over the pairs :math:`(b^1_j, b^2_j)` takes the exact minimum
    for each. In the plane of a pair the penalty bends along the two axes and the diagonal, so that
    it is a weighted l1 norm of the steps along those three directions: the problem is a lasso with
    columns :math:`(X^1, 0)`, :math:`(0, X^2)` and :math:`(X^1, X^2)` and weights
    :math:`\lambda + \alpha`, :math:`\lambda + \alpha` and :math:`2 \lambda`, whose certificate and
    exact steps on the support end the work.

    References
    ----------
    .. [1] Zhang and Wang (2010). Learning structural changes of Gaussian graphical models in
       controlled experiments. *Uncertainty in Artificial Intelligence* 26, 701-708.
       https://doi.org/10.48550/arXiv.1203.3532

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.fused_neighborhood import fused_neighborhood
    >>> before = np.eye(3)
    >>> after = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> solution = fused_neighborhood(np.stack([before, after]), 0.1)
    >>> solution.change().round(3)
    array([[0. , 0.4, 0. ],
           [0.4, 0. , 0. ],
           [0. , 0. , 0. ]])
    """
    return fused_neighborhood_path(
        S, [alpha], sparsity=sparsity, init=init, tol=tol, max_iter=max_iter
    )[0]


def fused_neighborhood_path(
    S: FloatArray,
    alphas: Sequence[float] | FloatArray,
    *,
    sparsity: float = 0.0,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> list[FusedNeighborhoodSolution]:
    """Solve for several strengths of fusion, each started from the last.

    Parameters
    ----------
    S : ndarray of shape (2, d, d)
        Covariances of the two groups.
    alphas : sequence of float
        Strengths of fusion. They are solved from the largest down and returned in the order given.
    sparsity, init, tol, max_iter
        As in `fused_neighborhood`; ``init`` starts the first.

    Returns
    -------
    list of FusedNeighborhoodSolution
        One for each of ``alphas``.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.fused_neighborhood import fused_neighborhood_path
    >>> S = np.stack([np.eye(3), [[1.0, 0.6, 0.2], [0.6, 1.0, 0.0], [0.2, 0.0, 1.0]]])
    >>> path = fused_neighborhood_path(S, [0.4, 0.2, 0.05])
    >>> [int(np.count_nonzero(solution.change())) // 2 for solution in path]
    [0, 1, 3]
    """
    S = check_covariances(S, 2)
    check_nonnegative(sparsity=sparsity)
    strengths = check_fusion(alphas, sparsity, tol, max_iter)
    start = _check_start(init, S.shape)
    order = np.argsort(-strengths, kind="stable")
    solve = _solve_differences if sparsity == 0 else _solve_pairs
    with blas_threads_for(S.shape[1]):
        values, gaps, rounds = solve(
            S, strengths[order], float(sparsity), start, float(tol), max_iter
        )
        objectives = [
            _objective(S, values[k], alpha, sparsity) for k, alpha in enumerate(strengths[order])
        ]
    solutions = [
        FusedNeighborhoodSolution(
            value=values[k],
            objective=objectives[k],
            gap=float(gaps[k].sum()),
            n_iter=int(rounds[k].max()),
            converged=bool((gaps[k] <= tol).all()),
            alpha=float(alpha),
            sparsity=float(sparsity),
        )
        for k, alpha in enumerate(strengths[order])
    ]
    return [solutions[k] for k in np.argsort(order, kind="stable")]


def fused_neighborhood_alpha_max(
    S: FloatArray, *, sparsity: float = 0.0, max_iter: int = 10_000
) -> float:
    """Return the smallest ``alpha`` at which both groups have the same coefficients.

    It is larger by a part in 10^9, so that rounding leaves no change.

    Parameters
    ----------
    S : ndarray of shape (2, d, d)
        Covariances of the two groups.
    sparsity : float
        Strength of the l1 penalty on the coefficients.
    max_iter : int
        Largest number of rounds of the regressions that both groups have in common, which are
        solved where ``sparsity`` is above 0.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.fused_neighborhood import fused_neighborhood_alpha_max
    >>> S = np.stack([np.eye(2), [[1.0, 0.6], [0.6, 1.0]]])
    >>> round(fused_neighborhood_alpha_max(S), 6)
    0.3
    """
    S = check_covariances(S, 2)
    check_nonnegative(sparsity=sparsity)
    with blas_threads_for(S.shape[1]):
        needed = _fusion_needed(S, sparsity, max_iter)
    np.fill_diagonal(needed, 0.0)
    largest = float(needed.max())
    # Groups that are alike differ by rounding at most.
    return largest * (1.0 + 1e-9) if largest > ROUNDING * np.abs(S).max() else 0.0


def _fusion_needed(S: FloatArray, sparsity: float, max_iter: int) -> FloatArray:
    """Return the strength of fusion that holds each coefficient in common in its place."""
    if sparsity == 0:
        B, H = _pooled_inverse(S)
        return np.asarray(np.abs(H) / B.diagonal())
    pooled = np.zeros_like(S[0])
    goal = 1e-13 * float(S.diagonal(axis1=1, axis2=2).max())
    regress_all(S[0] + S[1], 2.0 * sparsity, pooled, goal, max_iter)
    B = pooled.T
    first, second = S - S @ B
    needed: FloatArray = np.where(
        B == 0,
        np.maximum(np.abs(first), np.abs(second)) - sparsity,
        0.5 * np.abs(second - first),
    )
    return needed


def _check_start(init: FloatArray | None, shape: tuple[int, ...]) -> FloatArray:
    start = np.zeros(shape) if init is None else np.array(init, dtype=np.float64, order="C")
    if start.shape != shape or start.diagonal(axis1=1, axis2=2).any():
        raise InputError("fused_init", shape=shape)
    if not np.isfinite(start).all():
        raise InputError("init_not_finite")
    return start


def _objective(S: FloatArray, B: FloatArray, alpha: float, sparsity: float) -> float:
    fit = 0.5 * np.trace(S, axis1=1, axis2=2).sum() - np.sum(S * B) + 0.5 * np.sum(B * (S @ B))
    penalty = sparsity * np.abs(B).sum() + alpha * np.abs(B[1] - B[0]).sum()
    return float(fit + penalty)


def _pooled_inverse(S: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the inverse of the sum of the covariances, and the second times that inverse."""
    pooled = S[0] + S[1]
    scale = np.sqrt(np.maximum(pooled.diagonal(), np.finfo(np.float64).tiny))
    inverse, _ = inverse_and_log_determinant(pooled / np.outer(scale, scale))
    if inverse is None or inverse.diagonal().max() > LARGEST_INFLATION:
        raise SolverError("perfect_fit_without_sparsity")
    B = inverse / np.outer(scale, scale)
    return B, S[1] @ B


def _solve_differences(
    S: FloatArray,
    alphas: FloatArray,
    sparsity: float,
    start: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Solve without sparsity, the coefficients in common solved out."""
    B, H = _pooled_inverse(S)
    parallel = S[0] @ H.T
    parallel = np.ascontiguousarray(0.5 * (parallel + parallel.T))
    rows = np.zeros((len(alphas), *B.shape))
    rows[0] = (start[1] - start[0]).T
    scale = 1.0 / B.diagonal()
    gaps, rounds = regress_differences(
        parallel, np.ascontiguousarray(H.T), scale, alphas, rows, tol, max_iter
    )
    values = np.empty((len(alphas), *S.shape))
    for k in range(len(alphas)):
        difference = rows[k].T
        explained = B @ (S[1] @ difference)
        common = B * ((explained.diagonal() - 1.0) * scale) - explained
        np.fill_diagonal(common, 0.0)
        values[k] = common, common + difference
    return values, gaps, rounds


def _solve_pairs(
    S: FloatArray,
    alphas: FloatArray,
    sparsity: float,
    start: FloatArray,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Solve with sparsity, as a lasso along three directions per pair of coefficients."""
    first, second = S
    nothing = np.zeros_like(first)
    G = np.block(
        [[first, nothing, first], [nothing, second, second], [first, second, first + second]]
    )
    rows = np.zeros((len(alphas), len(first), len(G)))
    gaps, rounds = regress_pairs(
        G, alphas, sparsity, start.transpose(0, 2, 1).copy(), rows, tol, max_iter
    )
    along_first, along_second, along_both = np.split(rows.transpose(0, 2, 1), 3, axis=1)
    values = np.stack([along_first + along_both, along_second + along_both], axis=1)
    return values, gaps, rounds
