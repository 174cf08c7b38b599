r"""Precision matrices of several groups, sparse and alike, with a certified duality gap.

Gradient steps (`descend_jointly`) are the faster as long as they go well; alternating directions
(`split`) do not depend on how well conditioned the precisions are. With scaled multipliers
:math:`U_k`, penalty parameter :math:`\rho` and copies :math:`Z_k`,

.. math::
    \Theta_k = \arg\min_{\Theta \succ 0} \; w_k (\operatorname{tr}(S_k \Theta) - \log\det \Theta)
    + \tfrac{\rho}{2} \|\Theta - Z_k + U_k\|^2, \qquad
    Z = \operatorname{prox}_{h / \rho}(\Theta + U), \qquad U_k \gets U_k + \Theta_k - Z_k,

over-relaxed. The proximal map of the penalty :math:`h` is exact (`joint_places`). Where the penalty
is a sum of layers, each has copies of its own. :math:`Y_k = \rho U_k` is always a subgradient of
:math:`h`, hence a feasible dual point. Arrays are those of numpy or of any other library.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from edgewise._core.arrays import (
    array_namespace,
    is_foreign,
    like,
    require_device_memory,
    to_numpy,
)
from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._arguments import (
    check_covariances,
    check_group_weights,
    check_numbers,
    check_starts,
)
from edgewise.solvers._solution import DECIDE, Solution, go_on, sum_histories
from edgewise.solvers.change.decided import JointProof
from edgewise.solvers.change.group_penalties import ALL_PAIRS, GROUP, PATHS, KernelPlaces, Layers
from edgewise.solvers.device.graphical_lasso import HOST_BELOW
from edgewise.solvers.device.group_penalties import ArrayPlaces
from edgewise.solvers.linalg.blocks import linked_sets, put, take
from edgewise.solvers.linalg.dense import (
    STEP_SHARE,
    LikelihoodStep,
    inner,
    inverse_and_log_determinant,
    log_determinant,
    mirror,
    set_diagonal,
    squared_norm,
)
from edgewise.solvers.linalg.first_order import (
    DEVICE,
    EPSILON,
    HOST,
    Bracket,
    Pace,
    Residuals,
    SplitState,
    alternate,
    descend,
    refuse_unbounded,
    weigh,
)

PACE = Pace(interval=3, tuning=1000, balance=0.3)
#: Matrices of the size of a covariance that a device holds at the same time for every group, at
#: most, and for every layer of a group.
MATRICES, COPIES = 14, 4
#: Variables from which on a GPU is the faster one.
GPU_FROM = 1000


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
    decided : ndarray of bool, shape (K, p, p)
        Pairs of each group that the gap proves to be as in the optimum's graph.
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
    penalize_diagonal: bool | Literal["coupling"] = False,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
    decide: float = DECIDE,
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
    penalize_diagonal : bool or "coupling"
        Whether both penalties include the diagonal, or the coupling alone, as in JGL.
    init : ndarray of shape (K, p, p), optional
        Positive definite precisions to start from.
    tol : float
        Duality gap per variable and group at which to stop.
    max_iter : int
        Largest number of iterations in any block.
    decide : float
        Iterations that may follow while pairs are not ``decided``, as a multiple of those that led
        to ``tol``; 0 stops there.

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
        raise InputError("alpha_and_coupling_zero")
    layers = _make_layers(penalty, pairs, n_groups, is_by_pairs=is_foreign(S))
    if is_foreign(S):
        require_device_memory(S, MATRICES * n_groups + COPIES * n_groups * len(layers.paths), p)
    if penalize_diagonal not in (True, False, "coupling"):
        raise InputError("penalize_diagonal_choice", penalize_diagonal=penalize_diagonal)
    everywhere, off_diagonal = np.ones((p, p)), 1.0 - np.eye(p)
    is_sparse = everywhere if penalize_diagonal is True else off_diagonal
    is_coupled = everywhere if penalize_diagonal else off_diagonal
    problem = JointProblem(
        S=S,
        weights=weights,
        sparsity=like(float(alpha) * is_sparse, S),
        coupling=like(float(coupling) * is_coupled, S),
        layers=layers,
    )
    start = None if init is None else like(check_starts(to_numpy(init), tuple(S.shape)), S)
    with blas_threads_for(p):
        Theta, covariance, objective, blocks, n_iter = _solve_scaled(problem, start, tol, max_iter)
    history = sum_histories([gaps for _, gaps in blocks])
    gap = float(history[-1]) if len(history) else 0.0
    found = JointPrecisionSolution(
        value=Theta,
        objective=objective,
        gap=gap,
        n_iter=n_iter,
        converged=gap <= tol * p * n_groups,
        history=history,
        covariance=covariance,
        alpha=float(alpha),
        coupling=float(coupling),
        proof=JointProof(
            S=S,
            weights=weights,
            layers=layers,
            blocks=tuple(block for block, _ in blocks),
            gaps=tuple(gaps[-1] for _, gaps in blocks),
        ),
    )

    def again(gap: float, max_iter: int) -> JointPrecisionSolution:
        # On the host, so that graphs do not depend on the device.
        further = joint_graphical_lasso(
            to_numpy(S), alpha, coupling, penalty=penalty, pairs=pairs, group_weights=weights,
            penalize_diagonal=penalize_diagonal, init=to_numpy(Theta), tol=gap / (p * n_groups),
            max_iter=max_iter, decide=0.0,
        )  # fmt: skip
        value, inverse = like(further.value, S), like(further.covariance, S)
        return replace(further, value=value, covariance=inverse)

    return go_on(found, again, decide, p * n_groups)


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
    S = check_covariances(to_numpy(S))
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
    problem: JointProblem, init: Any, tol: float, max_iter: int
) -> tuple[Any, Any, float, list[_Block], int]:
    """Solve in units in which one size of step does for all variables; return as below."""
    xp = array_namespace(problem.S)
    variances = xp.mean(xp.linalg.diagonal(problem.S), axis=0)
    if float(xp.min(variances)) == 0.0 or float(xp.max(xp.abs(variances - 1.0))) < 0.1:
        return _solve_blocks(problem, init, tol, max_iter)
    scale = xp.sqrt(variances)
    units = scale[:, None] * scale[None, :]
    scaled = replace(
        problem,
        S=problem.S / units,
        sparsity=problem.sparsity / units,
        coupling=problem.coupling / units,
    )
    start = None if init is None else init * units
    Theta, Sigma, objective, blocks, n_iter = _solve_blocks(scaled, start, tol, max_iter)
    objective += 2.0 * float(problem.weights.sum()) * float(xp.sum(xp.log(scale)))
    return Theta / units, Sigma * units, objective, blocks, n_iter


#: Variables of a block, and its gap at each look.
_Block = tuple[IntArray, list[float]]


def _solve_blocks(
    problem: JointProblem, init: Any, tol: float, max_iter: int
) -> tuple[Any, Any, float, list[_Block], int]:
    """Solve block by block; return precisions, inverses, objective, blocks and iterations."""
    xp = array_namespace(problem.S)
    variances = to_numpy(xp.linalg.diagonal(problem.S))
    penalties = to_numpy(xp.linalg.diagonal(problem.sparsity))
    if variances.min() <= 0 and not penalties.any():
        refuse_unbounded(np.inf)
    covers = variances + penalties / problem.weights[:, None]
    costs = problem.weights @ (1.0 + np.log(covers))
    blocks = problem.blocks()
    alone = [block for block in blocks if block.size == 1]
    blocks = [block for block in blocks if block.size > 1]
    # Variables that nothing links to others: where their precisions are penalised, they remain to
    # be found.
    if alone and (penalties.any() or bool(xp.any(xp.linalg.diagonal(problem.coupling) != 0.0))):
        blocks.append(np.concatenate(alone))
    parts: list[tuple[IntArray, Any, Any]] = []
    histories: list[_Block] = []
    n_iter = 0
    for block in blocks:
        part = problem.restrict(block)
        if block.size < HOST_BELOW:
            part = part.on_host()
        if init is None:
            first, inverse = (
                like(_diagonals(one[:, block]), part.S) for one in (1.0 / covers, covers)
            )
        else:
            first = like(take(init, block), part.S)
            inverse = inverses(first)
        found, inverse, n_steps = _solve(part, first, inverse, tol, max_iter)
        parts.append((block, found.Theta, inverse))
        costs[block] = found.objective / block.size
        histories.append((block, found.gaps))
        n_iter = max(n_iter, n_steps)
    Theta, Sigma = (
        _assemble(one, [(part[0], part[k]) for part in parts], problem.S)
        for k, one in ((1, 1.0 / covers), (2, covers))
    )
    return Theta, Sigma, float(costs.sum()), histories, n_iter


def _diagonals(values: FloatArray) -> FloatArray:
    """Return the diagonal matrices of groups."""
    return values[:, :, None] * np.eye(values.shape[1])


def _assemble(diagonals: FloatArray, parts: list[tuple[IntArray, Any]], model: Any) -> Any:
    """Put blocks, small ones of the host among them, into matrices that are diagonal elsewhere."""
    if parts and parts[0][0].size == diagonals.shape[1]:
        return like(parts[0][1], model)
    whole = _diagonals(diagonals)
    for block, values in parts:
        if not is_foreign(values):
            whole[:, block[:, None], block] = values
    whole = like(whole, model)
    for block, values in parts:
        if is_foreign(values):
            whole = array_namespace(model).stack(
                [put(whole[k, ...], block, values[k, ...]) for k in range(len(diagonals))]
            )
    return whole


def _solve(
    problem: JointProblem, Theta: Any, Sigma: Any, tol: float, max_iter: int
) -> tuple[Bracket, Any, int]:
    """Solve from precisions and their inverses; return the best, its inverses and iterations."""
    target = tol * problem.size * len(problem.weights)
    best, Sigma, n_steps = descend_jointly(problem, Theta, Sigma, target, max_iter)
    if best.gap <= target or n_steps == max_iter:
        return best, Sigma, n_steps
    start, gaps = state_of(problem, best.Theta), best.gaps
    best, _, more = split(problem, start, best.Theta, target, max_iter - n_steps)
    return replace(best, gaps=gaps + best.gaps), inverses(best.Theta), n_steps + more


@dataclass(frozen=True, kw_only=True, eq=False)
class JointProblem:
    """Covariances of the groups and the penalties of their precisions.

    Attributes
    ----------
    S : array of shape (K, p, p)
        Covariances.
    weights : ndarray of shape (K,)
        Weights of the likelihoods.
    sparsity, coupling : array of shape (p, p)
        Strengths of both penalties for every entry. An infinite coupling ties the entries of two
        groups.
    layers : Layers
        Kind of the coupling.
    """

    S: Any
    weights: FloatArray
    sparsity: Any
    coupling: Any
    layers: Layers

    @property
    def size(self) -> int:
        """Number of variables."""
        return int(self.S.shape[-1])

    @cached_property
    def places(self) -> KernelPlaces | ArrayPlaces:
        """Penalties of the entries of a place."""
        kind = ArrayPlaces if is_foreign(self.S) else KernelPlaces
        return kind(layers=self.layers, sparsity=self.sparsity, coupling=self.coupling)

    @cached_property
    def weighted(self) -> Any:
        """Covariances times the weights of their groups."""
        return weigh(self.weights, self.S)

    def objective(self, Theta: Any) -> float:
        """Objective at symmetric matrices, inf where one is not positive definite."""
        logdets = log_determinants(Theta)
        if np.isinf(logdets).any():
            return np.inf
        fit = inner(self.weighted, Theta) - float(self.weights @ logdets)
        return fit + self.places.penalty(Theta)

    def bound(self, Y: Any) -> float:
        """Dual objective; a point that is not positive definite is drawn towards `interior`."""
        share, value = 1.0, self.dual(self.weighted + Y)
        while value == -np.inf and share > 1e-3:
            share *= 0.7
            value = self.dual(self.weighted + self.interior + share * (Y - self.interior))
        return value if value > -np.inf else self.dual(self.weighted + self.interior)

    def dual(self, fitted: Any) -> float:
        """Dual objective at ``weighted`` plus feasible multipliers; -inf outside its domain."""
        logdets = log_determinants(fitted)
        return float(self.weights @ (logdets + self.size * (1.0 - np.log(self.weights))))

    @cached_property
    def interior(self) -> Any:
        """Feasible multipliers at which the covariances are positive definite, if any are.

        Sparsity lets entries be drawn towards 0, coupling alone towards their mean; the way there
        is cut where it leaves the feasible set.
        """
        xp = array_namespace(self.S)
        is_sparse = bool(xp.any(self.sparsity != 0.0))
        Y = -self.weighted
        if not is_sparse:
            mean = xp.sum(self.weighted, axis=0) / float(self.weights.sum())
            Y = Y + weigh(self.weights, xp.stack([mean] * len(self.weights)))
        if is_sparse or not bool(xp.any(xp.linalg.diagonal(self.coupling) != 0.0)):
            Y = xp.stack([set_diagonal(Y[k, ...], 0.0) for k in range(len(self.weights))])
        low, high = 0.0, 1.0
        if self.is_feasible(Y):
            return Y
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.is_feasible(middle * Y) else (low, middle)
        return low * Y

    def is_feasible(self, Y: Any) -> bool:
        """Whether multipliers are a subgradient of the penalty at 0."""
        return not bool(array_namespace(Y).any(self.places.exceeds(Y)))

    def blocks(self) -> list[IntArray]:
        """Split the variables where -S is a feasible multiplier, so that nothing links them."""
        return linked_sets(self.places.exceeds(self.weighted))

    def restrict(self, block: IntArray) -> Self:
        """Return the problem of some of the variables."""
        if block.size == self.size:
            return self
        return replace(
            self,
            S=take(self.S, block),
            sparsity=take(self.sparsity, block),
            coupling=take(self.coupling, block),
        )

    def on_host(self) -> Self:
        """Return the problem on arrays of numpy."""
        arrays = {name: to_numpy(getattr(self, name)) for name in ("S", "sparsity", "coupling")}
        return replace(self, **arrays)


def log_determinants(A: Any) -> FloatArray:
    """Return the log-determinants of the matrices of all groups."""
    return np.array([log_determinant(A[k, ...]) for k in range(A.shape[0])])


def inverses(Theta: Any) -> Any:
    """Return the inverses of positive definite matrices."""
    found = [inverse_and_log_determinant(Theta[k, ...])[0] for k in range(Theta.shape[0])]
    return array_namespace(Theta).stack(found)


def state_of(problem: JointProblem, Theta: Any) -> SplitState:
    """Start from positive definite precisions: their inverses say what the multipliers are."""
    xp, n_layers = array_namespace(Theta), len(problem.layers.paths)
    Y = weigh(problem.weights, inverses(Theta) - problem.S) / n_layers
    mu = float(np.sqrt(squared_norm(Y) / squared_norm(Theta))) or 1.0
    return SplitState(Z=xp.stack([Theta] * n_layers), Y=xp.stack([Y] * n_layers), mu=mu)


def descend_jointly(
    problem: JointProblem, Theta: Any, Sigma: Any, target: float, max_iter: int
) -> tuple[Bracket, Any, int]:
    """Take gradient steps from precisions and their inverses, as `descend` says.

    There are none where the penalty has several layers. ``Theta`` and ``Sigma`` are overwritten.
    """
    n_layers, steps = len(problem.layers.paths), problem.places.steps(problem.S, problem.weights)
    first = 1.0 / float(problem.weights.mean())
    best, Sigma, count = descend(
        steps,
        problem.dual,
        (Theta, Sigma),
        first,
        target,
        max_iter if n_layers == 1 else 0,
        DEVICE if is_foreign(Theta) else HOST,
    )
    if best.objective == np.inf:
        # No step was short enough yet: the start is the best there is.
        best.narrow(Theta, problem.objective(Theta), problem.bound(problem.interior))
    if not is_foreign(best.Theta):
        for one in best.Theta:
            mirror(one)
    return best, Sigma, count


def split(
    problem: JointProblem, start: SplitState, Theta: Any, target: float, max_iter: int
) -> tuple[Bracket, SplitState, int]:
    """Iterate until the duality gap is at most ``target``; also return state and iterations.

    ``Theta`` are precisions that are kept until better ones are found. ``Z`` and ``Y`` of a state
    have a copy for each layer.
    """
    S, places = problem.S, problem.places
    xp, n_layers = array_namespace(S), len(problem.layers.paths)
    Z, U = start.Z + 0.0, start.Y / start.mu
    best = Bracket(Theta=Theta, objective=problem.objective(Theta))
    variances = xp.linalg.diagonal(S)
    likelihoods, distance = [LikelihoodStep() for _ in problem.weights], 0.0

    def step(mu: float) -> tuple[Any, Residuals]:
        nonlocal distance
        mean = Z[0, ...] - U[0, ...] if n_layers == 1 else xp.mean(Z - U, axis=0)
        found = []
        for k, (solve, weight) in enumerate(zip(likelihoods, problem.weights, strict=True)):
            strength = float(weight) / (mu * n_layers)
            V = mean[k, ...] - strength * S[k, ...]
            found.append(solve(V, strength, STEP_SHARE * distance))
        Omega = xp.stack(found)
        residuals = places.shrink(Omega, mu, Z, U)
        distance = float(np.sqrt(residuals[0] / (n_layers * len(likelihoods))))
        return Omega, residuals

    def is_done(Omega: Any, mu: float, count: int) -> bool:
        refuse_unbounded(float(xp.max(xp.linalg.diagonal(Omega) * variances)))
        candidate = places.structured(Omega, Z)
        bound = problem.bound(mu * xp.sum(U, axis=0))
        # Multipliers are differences of two numbers each.
        size = xp.abs(Z)
        sums = mu * inner(size + xp.abs(U), size) + inner(xp.abs(problem.weighted), size[0, ...])
        bound -= EPSILON * (sums + abs(bound))
        return best.narrow(candidate, problem.objective(candidate), bound) <= target

    n_iter, mu = alternate(step, is_done, U, start.mu, max_iter, PACE)
    if best.bound == -np.inf and n_iter >= PACE.tuning:
        # No dual point was ever positive definite, which is what having no minimum looks like.
        refuse_unbounded(np.inf)
    return best, SplitState(Z=Z, Y=mu * U, mu=mu), n_iter


def _make_layers(
    penalty: str,
    pairs: Sequence[tuple[int, int]] | IntArray | None,
    n_groups: int,
    *,
    is_by_pairs: bool = False,
) -> Layers:
    """Write the coupling as a sum of layers: one for all pairs or a norm, else paths of groups.

    ``is_by_pairs`` asks for paths of two groups at most.
    """
    one = np.arange(n_groups)[None]
    none = np.zeros((1, n_groups), dtype=bool)
    if penalty not in ("fused", "group"):
        raise InputError("joint_penalty_choice", penalty=penalty)
    if pairs is None:
        return Layers(kind=GROUP if penalty == "group" else ALL_PAIRS, paths=one, is_linked=none)
    if penalty == "group":
        raise InputError("pairs_need_fused")
    asked = np.asarray(pairs)
    if asked.ndim != 2 or asked.shape[1:] != (2,) or asked.dtype.kind not in "iu":
        raise InputError("group_pairs_shape")
    if asked.min() < 0 or asked.max() >= n_groups or (asked[:, 0] == asked[:, 1]).any():
        raise InputError("group_pairs_range", n_groups=n_groups - 1, pairs=pairs)
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
            if is_by_pairs and len(first) + len(second) > 2:
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
