"""Precision matrices of several groups, sparse and alike, with a certified duality gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._arguments import (
    check_covariances,
    check_group_weights,
    check_numbers,
    check_starts,
)
from edgewise.solvers._solution import Solution, sum_histories
from edgewise.solvers.change.joint_splitting import (
    ALL_PAIRS,
    GROUP,
    PATHS,
    JointProblem,
    Layers,
    descend,
    inverses,
    split,
    state_of,
)
from edgewise.solvers.linalg.first_order import Bracket, refuse_unbounded


@dataclass(frozen=True, kw_only=True, eq=False)
class JointPrecisionSolution(Solution):
    """Solution whose ``value`` holds the precision matrices of all groups.

    Attributes
    ----------
    value : ndarray of shape (K, p, p)
        Precisions; entries that the penalty joins are exactly equal, absent ones exactly 0.
    covariance : ndarray of shape (K, p, p)
        Their inverses.
    alpha, coupling : float
        Strengths that the problem was solved for.
    """

    covariance: FloatArray
    alpha: float
    coupling: float


def joint_graphical_lasso(
    S: FloatArray,
    alpha: float,
    coupling: float,
    *,
    penalty: Literal["fused", "group"] = "fused",
    pairs: Sequence[tuple[int, int]] | IntArray | None = None,
    group_weights: Sequence[float] | FloatArray | None = None,
    penalize_diagonal: bool = False,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> JointPrecisionSolution:
    r"""Estimate the precision matrices of several groups together.

    Minimises over positive definite :math:`\Theta_1, \dots, \Theta_K` [1]_

    .. math::

        \sum_k w_k \left( \operatorname{tr}(S_k \Theta_k) - \log\det \Theta_k \right)
        + \alpha \sum_k \sum_{i \ne j} |\Theta_{k, ij}| + \gamma\, C(\Theta), \qquad
        C = \sum_{(k, l)} \sum_{i \ne j} |\Theta_{k, ij} - \Theta_{l, ij}|
        \;\text{ or }\; \sum_{i \ne j} \Big( \sum_k \Theta_{k, ij}^2 \Big)^{1/2}

    with the coupling :math:`\gamma` of the groups: ``"fused"`` makes entries of groups equal,
    ``"group"`` lets them be absent in all groups together.

    Parameters
    ----------
    S : ndarray of shape (K, p, p)
        Covariances of the groups, which may be singular.
    alpha : float
        Strength of sparsity, at least 0; counted for every entry of the symmetric matrices.
    coupling : float
        Strength of the coupling, at least 0; not both may be 0.
    penalty : {"fused", "group"}
        Kind of coupling.
    pairs : sequence of pairs of group numbers, optional
        Which groups a fused penalty compares: all by default, neighbours for ordered groups such
        as doses, ``[(0, 1), (1, 2), ...]``, or any others.
    group_weights : sequence of K floats, optional
        Weights of the likelihoods, above 0; 1 by default.
    penalize_diagonal : bool
        Whether both penalties include the diagonal.
    init : ndarray of shape (K, p, p), optional
        Positive definite precisions to start from.
    tol : float
        Duality gap per variable and group at which to stop.
    max_iter : int
        Largest number of iterations in any block.

    Returns
    -------
    JointPrecisionSolution

    Raises
    ------
    InputError
        If an argument is not valid.
    SolverError
        If no minimum exists.

    Notes
    -----
    The penalty falls apart into the K entries of each place, whose proximal map is exact. Proximal
    gradient steps, each with a Cholesky factor of every precision, are taken while they close the
    gap fast, as they do where networks are sparse; alternating directions, with an
    eigendecomposition of every precision, do the rest. The proximal map of all differences sorts
    the entries and is an isotonic regression in that order; that along a path of groups is a taut
    string; other graphs of groups are split into paths. What the map subtracts is a subgradient
    of the penalty, so that the multipliers :math:`Y_k` are always feasible and
    :math:`\sum_k w_k (\log\det(S_k + Y_k / w_k) + p)` bounds the optimum from below. Variables are
    solved apart where :math:`-w_k S_{k, ij}` is feasible between them, which changes nothing [1]_.

    References
    ----------
    .. [1] Danaher, Wang and Witten (2014). The joint graphical lasso for inverse covariance
       estimation across multiple classes. *Journal of the Royal Statistical Society B* 76(2).
       https://doi.org/10.1111/rssb.12033

    Examples
    --------
    >>> S = np.array([[[1.0, r], [r, 1.0]] for r in (0.5, 0.6, -0.4)])
    >>> found = joint_graphical_lasso(S, 0.1, 0.05)
    >>> found.value[:, 0, 1].round(3)
    array([-0.476, -0.476,  0.208])
    >>> found.converged
    True
    """
    S = check_covariances(S)
    n_groups, p = S.shape[:2]
    weights = check_group_weights(group_weights, n_groups)
    check_numbers([alpha, coupling], tol, max_iter)
    if alpha == 0 and coupling == 0:
        raise InputError("alpha and coupling are both 0: nothing would be penalised.")
    is_penalized = np.ones((p, p)) if penalize_diagonal else 1.0 - np.eye(p)
    problem = JointProblem(
        S=S,
        weights=weights,
        sparsity=float(alpha) * is_penalized,
        coupling=float(coupling) * is_penalized,
        layers=_make_layers(penalty, pairs, n_groups),
    )
    start = None if init is None else check_starts(init, S.shape)
    with blas_threads_for(p):
        Theta, covariance, objective, history, n_iter = _solve_scaled(problem, start, tol, max_iter)
    gap = float(history[-1]) if len(history) else 0.0
    return JointPrecisionSolution(
        value=Theta,
        objective=objective,
        gap=gap,
        n_iter=n_iter,
        converged=gap <= tol * p * n_groups,
        history=history,
        covariance=covariance,
        alpha=float(alpha),
        coupling=float(coupling),
    )


def joint_alpha_max(
    S: FloatArray,
    coupling: float,
    *,
    penalty: Literal["fused", "group"] = "fused",
    pairs: Sequence[tuple[int, int]] | IntArray | None = None,
    group_weights: Sequence[float] | FloatArray | None = None,
    is_ratio: bool = False,
) -> float:
    """Find the smallest alpha at which no group has an edge, to a relative accuracy of 1e-6.

    Parameters
    ----------
    S, penalty, pairs, group_weights
        As in `joint_graphical_lasso`.
    coupling : float
        Strength of the coupling, or what it is a multiple of alpha by where ``is_ratio``.
    is_ratio : bool
        Whether the coupling grows with alpha.

    Returns
    -------
    float

    Examples
    --------
    >>> S = np.array([[[1.0, r], [r, 1.0]] for r in (0.5, 0.3)])
    >>> round(joint_alpha_max(S, 0.0), 4), round(joint_alpha_max(S, 0.2), 4)
    (0.5, 0.4)
    """
    S = check_covariances(S)
    is_penalized = 1.0 - np.eye(S.shape[1])
    problem = JointProblem(
        S=S,
        weights=check_group_weights(group_weights, len(S)),
        sparsity=0.0 * is_penalized,
        coupling=coupling * is_penalized,
        layers=_make_layers(penalty, pairs, len(S)),
    )
    weighted = problem.weighted * is_penalized
    low, high = 0.0, float(np.abs(weighted).max())
    while high - low > 1e-6 * high:
        alpha = 0.5 * (low + high)
        sparsity = alpha * is_penalized
        coupled = coupling * sparsity if is_ratio else problem.coupling
        is_empty = replace(problem, sparsity=sparsity, coupling=coupled).is_feasible(weighted)
        low, high = (low, alpha) if is_empty else (alpha, high)
    return high


def _solve_scaled(
    problem: JointProblem, init: FloatArray | None, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, float, FloatArray, int]:
    """Solve in units in which one size of step does for all variables; return as below."""
    variances = problem.S.diagonal(axis1=1, axis2=2).mean(axis=0)
    if not variances.all() or np.abs(variances - 1.0).max() < 0.1:
        return _solve_blocks(problem, init, tol, max_iter)
    scale = np.sqrt(variances)
    units = np.outer(scale, scale)
    scaled = replace(
        problem,
        S=problem.S / units,
        sparsity=problem.sparsity / units,
        coupling=problem.coupling / units,
    )
    start = None if init is None else init * units
    Theta, Sigma, objective, history, n_iter = _solve_blocks(scaled, start, tol, max_iter)
    objective += 2.0 * float(problem.weights.sum() * np.log(scale).sum())
    return Theta / units, Sigma * units, objective, history, n_iter


def _solve_blocks(
    problem: JointProblem, init: FloatArray | None, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, float, FloatArray, int]:
    """Solve block by block; return precisions, inverses, objective, gaps and iterations."""
    variances = problem.S.diagonal(axis1=1, axis2=2)
    if variances.min() <= 0 and not problem.sparsity.diagonal().any():
        refuse_unbounded(np.inf)
    covers = variances + problem.sparsity.diagonal() / problem.weights[:, None]
    Theta, Sigma, diagonal = np.zeros_like(problem.S), np.zeros_like(problem.S), range(problem.size)
    Theta[:, diagonal, diagonal], Sigma[:, diagonal, diagonal] = 1.0 / covers, covers
    costs = problem.weights @ (1.0 + np.log(covers))
    histories, n_iter = [], 0
    blocks = problem.blocks()
    alone = [block for block in blocks if block.size == 1]
    blocks = [block for block in blocks if block.size > 1]
    # Variables that nothing links to others: where their precisions are penalised, they remain to
    # be found.
    if alone and (problem.sparsity + problem.coupling).diagonal().any():
        blocks.append(np.concatenate(alone))
    for block in blocks:
        # A slice is a view, which costs nothing.
        rows, columns = np.ix_(block, block) if block.size < problem.size else np.s_[:, :]
        first, inverse = Theta[:, rows, columns], Sigma[:, rows, columns]
        if init is not None:
            first = init[:, rows, columns].copy()
            inverse = inverses(first)
        found, inverse, n_steps = _solve(problem.restrict(block), first, inverse, tol, max_iter)
        Theta[:, rows, columns], Sigma[:, rows, columns] = found.Theta, inverse
        costs[block] = found.objective / block.size
        histories.append(found.gaps)
        n_iter = max(n_iter, n_steps)
    return Theta, Sigma, float(costs.sum()), sum_histories(histories), n_iter


def _solve(
    problem: JointProblem, Theta: FloatArray, Sigma: FloatArray, tol: float, max_iter: int
) -> tuple[Bracket, FloatArray, int]:
    """Solve from precisions and their inverses; return the best, its inverses and iterations."""
    target = tol * problem.size * len(problem.S)
    best, Sigma, n_steps = descend(problem, Theta, Sigma, target, max_iter)
    if best.gap <= target or n_steps == max_iter:
        return best, Sigma, n_steps
    start, gaps = state_of(problem, best.Theta), best.gaps
    best, _, more = split(problem, start, best.Theta, target, max_iter - n_steps)
    return replace(best, gaps=gaps + best.gaps), inverses(best.Theta), n_steps + more


def _make_layers(
    penalty: str, pairs: Sequence[tuple[int, int]] | IntArray | None, n_groups: int
) -> Layers:
    """Write the coupling as a sum of layers: one for all pairs or a norm, else paths of groups."""
    one = np.arange(n_groups)[None]
    none = np.zeros((1, n_groups), dtype=bool)
    if penalty not in ("fused", "group"):
        raise InputError(f"penalty must be 'fused' or 'group', got {penalty!r}.")
    if pairs is None:
        return Layers(kind=GROUP if penalty == "group" else ALL_PAIRS, paths=one, is_linked=none)
    if penalty == "group":
        raise InputError("pairs say which groups a fused penalty compares; penalty is 'group'.")
    asked = np.asarray(pairs)
    if asked.ndim != 2 or asked.shape[1:] != (2,) or asked.dtype.kind not in "iu":
        raise InputError("pairs must hold two group numbers in each row.")
    if asked.min() < 0 or asked.max() >= n_groups or (asked[:, 0] == asked[:, 1]).any():
        raise InputError(
            f"pairs must name two different groups each, from 0 to {n_groups - 1}; got {pairs!r}."
        )
    left = [(int(a), int(b)) for a, b in np.unique(np.sort(asked, axis=1), axis=0)]
    paths, links = [], []
    while left:
        # Each pair joins the first layer in which both groups still are ends of different paths.
        ends: dict[int, list[int]] = {k: [k] for k in range(n_groups)}
        rest = []
        for a, b in left:
            first, second = ends.get(a), ends.get(b)
            if first is None or second is None or first is second:
                rest.append((a, b))
                continue
            joined = (first if first[-1] == a else first[::-1]) + (
                second if second[0] == b else second[::-1]
            )
            for k in joined[1:-1]:
                ends.pop(k, None)
            ends[joined[0]] = ends[joined[-1]] = joined
        whole = {id(path): path for path in ends.values()}.values()
        paths.append([k for path in whole for k in path])
        links.append([position > 0 for path in whole for position in range(len(path))])
        left = rest
    return Layers(kind=PATHS, paths=np.array(paths), is_linked=np.array(links))
