"""Precision matrices of several groups, sparse and alike, with a certified duality gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.sparse.csgraph import connected_components

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for, kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._arguments import check_numbers
from edgewise.solvers._solution import Solution, sum_histories
from edgewise.solvers.linalg.admm import (
    Bracket,
    Pace,
    Residuals,
    alternate,
    refuse_unbounded,
)
from edgewise.solvers.linalg.dense import (
    inverse_and_log_determinant,
    likelihood_step,
    log_determinant,
)

RELAXATION = 1.8
PACE = Pace(interval=3, tuning=1000, balance=0.3)
#: Kinds of penalties that a layer has: differences of all pairs, along paths, or a norm.
ALL_PAIRS, PATHS, GROUP = 0, 1, 2


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
    Alternating directions: each precision takes an eigendecomposition; the penalty falls apart into
    the K entries of each place, whose proximal map is exact. That of all differences sorts the
    entries and is an isotonic regression in that order; that along a path of groups is a taut
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
    S = _check_covariances(S)
    n_groups, p = S.shape[:2]
    weights = _check_weights(group_weights, n_groups)
    check_numbers([alpha, coupling], tol, max_iter)
    if alpha == 0 and coupling == 0:
        raise InputError("alpha and coupling are both 0: nothing would be penalised.")
    problem = _JointProblem(
        S=S,
        weights=weights,
        alpha=float(alpha),
        coupling=float(coupling),
        layers=_make_layers(penalty, pairs, n_groups),
        penalize_diagonal=penalize_diagonal,
    )
    with blas_threads_for(p):
        Theta, history, n_iter = _solve_blocks(problem, _check_init(init, S.shape), tol, max_iter)
        covariance = np.stack([inverse_and_log_determinant(one)[0] for one in Theta])
    gap = float(history[-1]) if len(history) else 0.0
    return JointPrecisionSolution(
        value=Theta,
        objective=problem.objective(Theta),
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
    S = _check_covariances(S)
    problem = _JointProblem(
        S=S,
        weights=_check_weights(group_weights, len(S)),
        alpha=0.0,
        coupling=float(coupling),
        layers=_make_layers(penalty, pairs, len(S)),
        penalize_diagonal=False,
    )
    weighted = problem.weighted * ~np.eye(S.shape[1], dtype=bool)
    low, high = 0.0, float(np.abs(weighted).max())
    while high - low > 1e-6 * high:
        alpha = 0.5 * (low + high)
        strength = coupling * alpha if is_ratio else coupling
        is_empty = replace(problem, alpha=alpha, coupling=strength).is_feasible(weighted)
        low, high = (low, alpha) if is_empty else (alpha, high)
    return high


@dataclass(frozen=True, kw_only=True, eq=False)
class _Layers:
    """The coupling as a sum of penalties whose proximal maps are exact.

    Attributes
    ----------
    kind : int
        `ALL_PAIRS`, `PATHS` or `GROUP`.
    paths : ndarray of shape (n_layers, K)
        Of each layer of paths: the groups, path after path.
    is_linked : ndarray of bool, shape (n_layers, K)
        Whether a group is compared with the one before it in ``paths``.
    """

    kind: int
    paths: IntArray
    is_linked: FloatArray


@dataclass(frozen=True, kw_only=True, eq=False)
class _JointProblem:
    """Covariances and penalties."""

    S: FloatArray
    weights: FloatArray
    alpha: float
    coupling: float
    layers: _Layers
    penalize_diagonal: bool

    @property
    def weighted(self) -> FloatArray:
        return self.weights[:, None, None] * self.S

    def objective(self, Theta: FloatArray) -> float:
        """Objective at symmetric matrices, inf where one is not positive definite."""
        logdets = np.array([log_determinant(one) for one in Theta])
        if np.isinf(logdets).any():
            return np.inf
        fit = float(np.vdot(self.weighted, Theta) - self.weights @ logdets)
        penalty = _penalty(
            np.ascontiguousarray(Theta), self.alpha, self.coupling, self.layers.kind,
            self.layers.paths, self.layers.is_linked, self.penalize_diagonal,
        )  # fmt: skip
        return fit + penalty

    def dual(self, Y: FloatArray) -> float:
        """Dual objective at feasible multipliers, -inf where no precisions belong to them."""
        logdets = np.array([log_determinant(one) for one in self.weighted + Y])
        p = self.S.shape[1]
        return float(self.weights @ (logdets + p * (1.0 - np.log(self.weights))))

    def bound(self, Y: FloatArray, interior: FloatArray) -> float:
        """Dual objective; a point that is not positive definite is drawn towards ``interior``."""
        share = 1.0
        while share > 1e-3:
            value = self.dual(interior + share * (Y - interior))
            if value > -np.inf:
                return value
            share *= 0.7
        return self.dual(interior)

    def interior(self) -> FloatArray:
        """Return feasible multipliers at which the covariances are positive definite, if any are.

        Sparsity lets entries be drawn towards 0, coupling alone towards their mean; the way there
        is cut where it leaves the feasible set.
        """
        target = np.zeros_like(self.S)
        if self.alpha == 0.0:
            target += np.tensordot(self.weights / self.weights.sum(), self.S, axes=1)
        Y = self.weights[:, None, None] * (target - self.S)
        if self.alpha > 0.0 or not self.penalize_diagonal:
            Y *= ~np.eye(self.S.shape[1], dtype=bool)
        low, high = 0.0, 1.0
        if self.is_feasible(Y):
            return Y
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.is_feasible(middle * Y) else (low, middle)
        return low * Y

    def is_feasible(self, Y: FloatArray) -> bool:
        """Whether multipliers are a subgradient of the penalty at 0."""
        return not self.shrink(Y).any()

    def shrink(self, V: FloatArray) -> FloatArray:
        """Return the proximal map of the whole penalty; of several layers, that of the first."""
        Z, U = np.zeros((1, *V.shape)), np.zeros((1, *V.shape))
        first = replace(self.layers, paths=self.layers.paths[:1],
                        is_linked=self.layers.is_linked[:1])  # fmt: skip
        _shrink(V / RELAXATION, self.alpha, self.coupling, 1.0, first.kind, first.paths,
                first.is_linked, self.penalize_diagonal, Z, U)  # fmt: skip
        return np.asarray(Z[0])

    def blocks(self) -> list[IntArray]:
        """Split the variables where nothing links them."""
        is_linked = np.asarray(self.shrink(self.weighted).any(axis=0))
        n_blocks, label = connected_components(is_linked, directed=False)
        order = np.argsort(label, kind="stable")
        return np.split(order, np.cumsum(np.bincount(label, minlength=n_blocks))[:-1])


def _solve_blocks(
    problem: _JointProblem, init: FloatArray | None, tol: float, max_iter: int
) -> tuple[FloatArray, FloatArray, int]:
    """Solve block by block; return precisions, gaps and iterations."""
    n_groups, p = problem.S.shape[:2]
    variances = problem.S.diagonal(axis1=1, axis2=2)
    if variances.min() <= 0 and not (problem.penalize_diagonal and problem.alpha > 0):
        refuse_unbounded(np.inf)
    with np.errstate(divide="ignore"):
        Theta = np.where(np.eye(p), 1.0 / variances[:, :, None], 0.0)
    histories, n_iter = [], 0
    blocks = problem.blocks()
    alone = [block for block in blocks if block.size == 1]
    blocks = [block for block in blocks if block.size > 1]
    if problem.penalize_diagonal and alone:
        blocks.append(np.concatenate(alone))
    for block in blocks:
        rows, columns = np.ix_(block, block)
        part = replace(problem, S=np.ascontiguousarray(problem.S[:, rows, columns]))
        start = None if init is None else init[:, rows, columns]
        target = tol * block.size * n_groups
        found, n_steps = _alternate(part, start, target, max_iter)
        Theta[:, rows, columns] = found.Theta
        histories.append(found.gaps)
        n_iter = max(n_iter, n_steps)
    return Theta, sum_histories(histories), n_iter


def _alternate(
    problem: _JointProblem, init: FloatArray | None, target: float, max_iter: int
) -> tuple[Bracket, int]:
    """Iterate until the duality gap is at most ``target``; also return the iterations."""
    layers, weights = problem.layers, problem.weights
    n_layers = len(layers.paths)
    Theta = _first_precisions(problem) if init is None else init
    Sigma = np.stack([inverse_and_log_determinant(one)[0] for one in Theta])
    Y = weights[:, None, None] * (Sigma - problem.S) / n_layers
    mu = float(np.linalg.norm(Y) / np.linalg.norm(Theta)) or 1.0
    Z = np.repeat(Theta[None], n_layers, axis=0)
    U = np.repeat(Y[None] / mu, n_layers, axis=0)
    best = Bracket(Theta=Theta, objective=problem.objective(Theta))
    interior = problem.interior()

    def step(mu: float) -> tuple[FloatArray, Residuals]:
        mean = (Z - U).mean(axis=0)
        parts = zip(mean, weights / (mu * n_layers), problem.S, strict=True)
        Omega = np.stack([likelihood_step(V - w * S, w) for V, w, S in parts])
        residuals = _shrink(
            Omega, problem.alpha, problem.coupling, mu, layers.kind, layers.paths,
            layers.is_linked, problem.penalize_diagonal, Z, U,
        )  # fmt: skip
        return Omega, residuals

    def is_done(Omega: FloatArray, mu: float, count: int) -> bool:
        refuse_unbounded(float(Omega.diagonal(axis1=1, axis2=2).max() * problem.S.max()))
        candidate = _structured(Omega, Z, layers.kind)
        bound = problem.bound(mu * U.sum(axis=0), interior)
        return best.narrow(candidate, problem.objective(candidate), bound) <= target

    n_iter, _ = alternate(step, is_done, U, mu, max_iter, PACE)
    if best.bound == -np.inf:
        # No dual point was positive definite, which is what having no minimum looks like.
        refuse_unbounded(np.inf)
    return best, n_iter


def _first_precisions(problem: _JointProblem) -> FloatArray:
    variances = problem.S.diagonal(axis1=1, axis2=2)
    more = problem.alpha / problem.weights[:, None] if problem.penalize_diagonal else 0.0
    return np.where(np.eye(variances.shape[1]), 1.0 / (variances + more)[:, :, None], 0.0)


def _check_covariances(S: FloatArray) -> FloatArray:
    S = np.array(S, dtype=np.float64, order="C")
    if S.ndim != 3 or S.shape[1] != S.shape[2] or S.size == 0:
        raise InputError(f"S must hold covariance matrices, (K, p, p), got shape {S.shape}.")
    if not np.isfinite(S).all():
        raise InputError("S contains NaN or infinite entries.")
    if np.abs(S - S.transpose(0, 2, 1)).max() > 1e-8 * np.abs(S).max():
        raise InputError("All matrices in S must be symmetric.")
    if S.diagonal(axis1=1, axis2=2).min() < 0:
        raise InputError("No variance in S may be negative.")
    return 0.5 * (S + S.transpose(0, 2, 1))


def _check_weights(weights: Sequence[float] | FloatArray | None, n_groups: int) -> FloatArray:
    if weights is None:
        return np.ones(n_groups)
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (n_groups,) or not (np.isfinite(checked) & (checked > 0)).all():
        raise InputError(f"group_weights must hold {n_groups} positive numbers, got {weights!r}.")
    return checked


def _check_init(init: FloatArray | None, shape: tuple[int, ...]) -> FloatArray | None:
    if init is None:
        return None
    checked = np.array(init, dtype=np.float64, order="C")
    if checked.shape != shape:
        raise InputError(f"init must have shape {shape} like S, got {checked.shape}.")
    if not np.isfinite(checked).all() or any(log_determinant(one) == -np.inf for one in checked):
        raise InputError("init must hold positive definite matrices.")
    return 0.5 * (checked + checked.transpose(0, 2, 1))


def _make_layers(
    penalty: str, pairs: Sequence[tuple[int, int]] | IntArray | None, n_groups: int
) -> _Layers:
    """Write the coupling as a sum of layers: one for all pairs or a norm, else paths of groups."""
    one = np.arange(n_groups)[None]
    none = np.zeros((1, n_groups), dtype=bool)
    if penalty not in ("fused", "group"):
        raise InputError(f"penalty must be 'fused' or 'group', got {penalty!r}.")
    if pairs is None:
        return _Layers(kind=GROUP if penalty == "group" else ALL_PAIRS, paths=one, is_linked=none)
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
    return _Layers(kind=PATHS, paths=np.array(paths), is_linked=np.array(links))


@kernel
def _shrink(
    Omega: FloatArray,
    alpha: float,
    coupling: float,
    mu: float,
    kind: int,
    paths: IntArray,
    is_linked: FloatArray,
    penalize_diagonal: bool,
    Z: FloatArray,
    U: FloatArray,
) -> tuple[float, float, float, float]:
    """Move copies ``Z`` and scaled multipliers ``U`` in place, the entries of a place at a time.

    Returns the squared norms of Omega - Z, of the change of Z, of Z and of U.
    """
    n_layers, K, p = Z.shape[:3]
    primal = dual = size_Z = size_U = 0.0
    h, z, work = np.empty(K), np.empty(K), np.empty((6, K + 1))
    order = np.empty(K, dtype=np.int64)
    for layer in range(n_layers):
        for i in range(p):
            for j in range(i + 1):
                for k in range(K):
                    old = Z[layer, k, i, j]
                    h[k] = (
                        RELAXATION * Omega[k, i, j] + (1.0 - RELAXATION) * old + U[layer, k, i, j]
                    )
                    z[k] = h[k]
                if i != j or penalize_diagonal:
                    if kind == ALL_PAIRS:
                        _draw_together(h, coupling / mu, order, work, z)
                    elif kind == PATHS:
                        _draw_along(h, coupling / mu, paths[layer], is_linked[layer], work, z)
                    # Sparsity is the business of the first layer.
                    limit = alpha / mu if layer == 0 else 0.0
                    for k in range(K):
                        z[k] -= min(max(z[k], -limit), limit)
                    if kind == GROUP:
                        norm = np.sqrt(np.sum(z * z))
                        z *= 1.0 - coupling / mu / norm if norm > coupling / mu else 0.0
                share = 1.0 if i == j else 2.0
                for k in range(K):
                    u = h[k] - z[k]
                    primal += share * (Omega[k, i, j] - z[k]) ** 2
                    dual += share * (z[k] - Z[layer, k, i, j]) ** 2
                    size_Z += share * z[k] * z[k]
                    size_U += share * u * u
                    Z[layer, k, i, j] = Z[layer, k, j, i] = z[k]
                    U[layer, k, i, j] = U[layer, k, j, i] = u
    return primal, dual, size_Z, size_U


@kernel
def _draw_together(
    h: FloatArray, t: float, order: IntArray, work: FloatArray, z: FloatArray
) -> None:
    """Minimise half the squared distance to ``h`` plus t times all differences.

    In the order of h the differences are linear, which leaves an isotonic regression.
    """
    K = h.size
    for k in range(K):
        position = k
        while position > 0 and h[order[position - 1]] > h[k]:
            order[position] = order[position - 1]
            position -= 1
        order[position] = k
    means, sizes, n = work[0], work[1], 0
    for k in range(K):
        means[n] = h[order[k]] - t * (2 * k - K + 1)
        sizes[n] = 1.0
        n += 1
        while n > 1 and means[n - 2] >= means[n - 1]:
            total = sizes[n - 2] + sizes[n - 1]
            means[n - 2] = (sizes[n - 2] * means[n - 2] + sizes[n - 1] * means[n - 1]) / total
            sizes[n - 2] = total
            n -= 1
    k = 0
    for block in range(n):
        for _ in range(int(sizes[block])):
            z[order[k]] = means[block]
            k += 1


@kernel
def _draw_along(
    h: FloatArray, t: float, path: IntArray, is_linked: FloatArray, work: FloatArray, z: FloatArray
) -> None:
    """Do the same for the differences along paths."""
    first = 0
    for last in range(1, path.size + 1):
        if last == path.size or not is_linked[last]:
            _taut_string(h, t, path, first, last, work, z)
            first = last


@kernel
def _taut_string(
    h: FloatArray, t: float, path: IntArray, first: int, last: int, work: FloatArray, z: FloatArray
) -> None:
    """Fit the function of least variation whose sums stay within t of those of ``h``.

    The shortest string through the tube of running sums (Davies and Kovac 2001): its lower and
    upper hulls from the last knot are kept until they cross.
    """
    n = last - first
    sums = work[0]
    sums[0] = 0.0
    for m in range(n):
        sums[m + 1] = sums[m] + h[path[first + m]]
    start, height = 0, 0.0
    while start < n:
        low, high = -np.inf, np.inf
        low_at, high_at, m = start, start, start + 1
        end, slope = n, 0.0
        while True:
            width = t if m < n else 0.0
            rise_low = (sums[m] - width - height) / (m - start)
            rise_high = (sums[m] + width - height) / (m - start)
            if rise_low > high:
                end, slope = high_at, high
                break
            if rise_high < low:
                end, slope = low_at, low
                break
            if rise_low >= low:
                low, low_at = rise_low, m
            if rise_high <= high:
                high, high_at = rise_high, m
            if m == n:
                end, slope = n, rise_low
                break
            m += 1
        for position in range(start, end):
            z[path[first + position]] = slope
        height += slope * (end - start)
        start = end


def _structured(Omega: FloatArray, Z: FloatArray, kind: int) -> FloatArray:
    """Give ``Omega`` the zeros and ties of the copies; it is closer to the optimum than they are.

    An entry that is 0 in a copy becomes 0; entries that a copy has equal get their mean.
    """
    value = Omega
    if kind != GROUP:
        value = _tied(np.ascontiguousarray(Omega), Z)
    return np.where((Z[0] == 0.0) & ~np.eye(Omega.shape[1], dtype=bool), 0.0, value)


@kernel
def _tied(Omega: FloatArray, Z: FloatArray) -> FloatArray:
    """Mean of the entries of a place that some copy has equal, by labels that spread."""
    n_layers, K, p = Z.shape[:3]
    value = np.empty_like(Omega)
    label = np.empty(K, dtype=np.int64)
    for i in range(p):
        for j in range(i + 1):
            for k in range(K):
                label[k] = k
            for layer in range(n_layers):
                for k in range(K):
                    for m in range(k):
                        if label[m] != label[k] and Z[layer, m, i, j] == Z[layer, k, i, j]:
                            old, new = max(label[m], label[k]), min(label[m], label[k])
                            for q in range(K):
                                if label[q] == old:
                                    label[q] = new
            for k in range(K):
                total, count = 0.0, 0
                for m in range(K):
                    if label[m] == label[k]:
                        total += Omega[m, i, j]
                        count += 1
                value[k, i, j] = value[k, j, i] = total / count
    return value


@kernel
def _penalty(
    Theta: FloatArray,
    alpha: float,
    coupling: float,
    kind: int,
    paths: IntArray,
    is_linked: FloatArray,
    penalize_diagonal: bool,
) -> float:
    K, p = Theta.shape[:2]
    total = 0.0
    for i in range(p):
        for j in range(p):
            if i == j and not penalize_diagonal:
                continue
            squares = 0.0
            for k in range(K):
                total += alpha * abs(Theta[k, i, j])
                squares += Theta[k, i, j] ** 2
                if kind == ALL_PAIRS:
                    for m in range(k):
                        total += coupling * abs(Theta[k, i, j] - Theta[m, i, j])
            if kind == GROUP:
                total += coupling * np.sqrt(squares)
            elif kind == PATHS:
                for layer in range(paths.shape[0]):
                    for k in range(1, K):
                        if is_linked[layer, k]:
                            before, here = paths[layer, k - 1], paths[layer, k]
                            total += coupling * abs(Theta[here, i, j] - Theta[before, i, j])
    return total
