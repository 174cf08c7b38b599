r"""Alternating directions for the precision matrices of several groups.

With scaled multipliers :math:`U_k`, penalty parameter :math:`\rho` and copies :math:`Z_k`,

.. math::
    \Theta_k = \arg\min_{\Theta \succ 0} \; w_k (\operatorname{tr}(S_k \Theta) - \log\det \Theta)
    + \tfrac{\rho}{2} \|\Theta - Z_k + U_k\|^2, \qquad
    Z = \operatorname{prox}_{h / \rho}(\Theta + U), \qquad U_k \gets U_k + \Theta_k - Z_k,

over-relaxed. The penalty :math:`h` falls apart into the K entries of each place, whose proximal map
is exact: draw them together, then all towards 0 (Friedman, Hastie, Höfling and Tibshirani 2007,
https://doi.org/10.1214/07-AOAS131). Where it is a sum of layers, each has copies of its own.
:math:`Y_k = \rho U_k` is always a subgradient of :math:`h`, hence a feasible dual point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.sparse.csgraph import connected_components

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.dense import (
    STEP_SHARE,
    LikelihoodStep,
    inverse_and_log_determinant,
    log_determinant,
)
from edgewise.solvers.linalg.first_order import (
    Bracket,
    Pace,
    Residuals,
    SplitState,
    alternate,
    refuse_unbounded,
)

RELAXATION = 1.8
PACE = Pace(interval=3, tuning=1000, balance=0.3)
#: Kinds of penalties that a layer has: differences of all pairs, along paths, or a norm.
ALL_PAIRS, PATHS, GROUP = 0, 1, 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Layers:
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
class JointProblem:
    """Covariances of the groups and the penalties of their precisions.

    Attributes
    ----------
    S : ndarray of shape (K, p, p)
        Covariances.
    weights : ndarray of shape (K,)
        Weights of the likelihoods.
    sparsity, coupling : ndarray of shape (p, p)
        Strengths of both penalties for every entry. An infinite coupling ties the entries of two
        groups.
    layers : Layers
        Kind of the coupling.
    """

    S: FloatArray
    weights: FloatArray
    sparsity: FloatArray
    coupling: FloatArray
    layers: Layers

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.sparsity)

    @cached_property
    def weighted(self) -> FloatArray:
        """Covariances times the weights of their groups."""
        return self.weights[:, None, None] * self.S

    def objective(self, Theta: FloatArray) -> float:
        """Objective at symmetric matrices, inf where one is not positive definite."""
        logdets = np.array([log_determinant(one) for one in Theta])
        if np.isinf(logdets).any():
            return np.inf
        fit = float(np.vdot(self.weighted, Theta) - self.weights @ logdets)
        return fit + _penalty(
            np.ascontiguousarray(Theta), self.sparsity, self.coupling, self.layers.kind,
            self.layers.paths, self.layers.is_linked,
        )  # fmt: skip

    def bound(self, Y: FloatArray, interior: FloatArray) -> float:
        """Dual objective; a point that is not positive definite is drawn towards ``interior``."""
        share = 1.0
        while share > 1e-3:
            value = self._dual(interior + share * (Y - interior))
            if value > -np.inf:
                return value
            share *= 0.7
        return self._dual(interior)

    def _dual(self, Y: FloatArray) -> float:
        """Dual objective at feasible multipliers, -inf where no precisions belong to them."""
        logdets = np.array([log_determinant(one) for one in self.weighted + Y])
        return float(self.weights @ (logdets + self.size * (1.0 - np.log(self.weights))))

    def interior(self) -> FloatArray:
        """Return feasible multipliers at which the covariances are positive definite, if any are.

        Sparsity lets entries be drawn towards 0, coupling alone towards their mean; the way there
        is cut where it leaves the feasible set.
        """
        target = np.zeros_like(self.S)
        is_sparse = bool(self.sparsity.any())
        if not is_sparse:
            target += np.tensordot(self.weights / self.weights.sum(), self.S, axes=1)
        Y = self.weights[:, None, None] * (target - self.S)
        if is_sparse or not self.coupling.diagonal().any():
            Y *= ~np.eye(self.size, dtype=bool)
        low, high = 0.0, 1.0
        if self.is_feasible(Y):
            return Y
        for _ in range(30):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.is_feasible(middle * Y) else (low, middle)
        return low * Y

    def is_feasible(self, Y: FloatArray) -> bool:
        """Whether multipliers are a subgradient of the penalty at 0."""
        return not self._shrink(Y).any()

    def _shrink(self, V: FloatArray) -> FloatArray:
        """Return the proximal map of the whole penalty; of several layers, that of the first."""
        Z, U = np.zeros((1, *V.shape)), np.zeros((1, *V.shape))
        _shrink(V / RELAXATION, self.sparsity, self.coupling, 1.0, self.layers.kind,
                self.layers.paths[:1], self.layers.is_linked[:1], Z, U)  # fmt: skip
        return np.asarray(Z[0])

    def blocks(self) -> list[IntArray]:
        """Split the variables where -S is a feasible multiplier, so that nothing links them."""
        is_linked = np.asarray(self._shrink(self.weighted).any(axis=0))
        n_blocks, label = connected_components(is_linked, directed=False)
        order = np.argsort(label, kind="stable")
        return np.split(order, np.cumsum(np.bincount(label, minlength=n_blocks))[:-1])

    def restrict(self, block: IntArray) -> Self:
        """Return the problem of some of the variables."""
        if block.size == self.size:
            return self
        rows, columns = inside = np.ix_(block, block)
        return replace(
            self,
            S=np.ascontiguousarray(self.S[:, rows, columns]),
            sparsity=self.sparsity[inside],
            coupling=self.coupling[inside],
        )


def state_of(problem: JointProblem, Theta: FloatArray) -> SplitState:
    """Start from positive definite precisions: their inverses say what the multipliers are."""
    n_layers = len(problem.layers.paths)
    Sigma = np.stack([inverse_and_log_determinant(one)[0] for one in Theta])
    Y = problem.weights[:, None, None] * (Sigma - problem.S) / n_layers
    mu = float(np.linalg.norm(Y) / np.linalg.norm(Theta)) or 1.0
    return SplitState(
        Z=np.repeat(Theta[None], n_layers, axis=0), Y=np.repeat(Y[None], n_layers, axis=0), mu=mu
    )


def split(
    problem: JointProblem, start: SplitState, Theta: FloatArray, target: float, max_iter: int
) -> tuple[Bracket, SplitState, int]:
    """Iterate until the duality gap is at most ``target``; also return state and iterations.

    ``Theta`` are precisions that are kept until better ones are found. ``Z`` and ``Y`` of a state
    have a copy for each layer.
    """
    layers, weights = problem.layers, problem.weights
    n_layers = len(layers.paths)
    Z, U = start.Z.copy(), start.Y / start.mu
    best = Bracket(Theta=Theta, objective=problem.objective(Theta))
    interior, largest = problem.interior(), float(problem.S.max())

    likelihoods, distance = [LikelihoodStep() for _ in weights], 0.0

    def step(mu: float) -> tuple[FloatArray, Residuals]:
        nonlocal distance
        mean = Z[0] - U[0] if n_layers == 1 else (Z - U).mean(axis=0)
        parts = zip(likelihoods, mean, weights / (mu * n_layers), problem.S, strict=True)
        Omega = np.stack([solve(V - w * S, w, STEP_SHARE * distance) for solve, V, w, S in parts])
        residuals = _shrink(
            Omega, problem.sparsity, problem.coupling, mu, layers.kind, layers.paths,
            layers.is_linked, Z, U,
        )  # fmt: skip
        distance = float(np.sqrt(residuals[0] / (n_layers * len(weights))))
        return Omega, residuals

    def is_done(Omega: FloatArray, mu: float, count: int) -> bool:
        refuse_unbounded(float(Omega.diagonal(axis1=1, axis2=2).max()) * largest)
        candidate = _structured(Omega, Z, layers.kind)
        bound = problem.bound(mu * U.sum(axis=0), interior)
        return best.narrow(candidate, problem.objective(candidate), bound) <= target

    n_iter, mu = alternate(step, is_done, U, start.mu, max_iter, PACE)
    if best.bound == -np.inf:
        # No dual point was positive definite, which is what having no minimum looks like.
        refuse_unbounded(np.inf)
    return best, SplitState(Z=Z, Y=mu * U, mu=mu), n_iter


@kernel
def _shrink(
    Omega: FloatArray,
    sparsity: FloatArray,
    coupling: FloatArray,
    mu: float,
    kind: int,
    paths: IntArray,
    is_linked: FloatArray,
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
        copies, multipliers = Z[layer], U[layer]
        for i in range(p):
            for j in range(i + 1):
                for k in range(K):
                    relaxed = RELAXATION * Omega[k, i, j] + (1.0 - RELAXATION) * copies[k, i, j]
                    h[k] = z[k] = relaxed + multipliers[k, i, j]
                t = coupling[i, j] / mu
                if kind == ALL_PAIRS and K == 2:
                    # Where they meet, both are the middle itself, also for an infinite t.
                    middle, half = 0.5 * (h[0] + h[1]), 0.5 * (h[1] - h[0])
                    half -= min(max(half, -t), t)
                    z[0], z[1] = middle - half, middle + half
                elif kind == ALL_PAIRS and t > 0.0:
                    _draw_together(h, t, order, work, z)
                elif kind == PATHS and t > 0.0:
                    _draw_along(h, t, paths[layer], is_linked[layer], work, z)
                # Sparsity is the business of the first layer.
                limit = sparsity[i, j] / mu if layer == 0 else 0.0
                for k in range(K):
                    z[k] -= min(max(z[k], -limit), limit)
                if kind == GROUP and t > 0.0:
                    norm = np.sqrt(np.sum(z * z))
                    z *= 1.0 - t / norm if norm > t else 0.0
                share = 1.0 if i == j else 2.0
                for k in range(K):
                    u = h[k] - z[k]
                    primal += share * (Omega[k, i, j] - z[k]) ** 2
                    dual += share * (z[k] - copies[k, i, j]) ** 2
                    size_Z += share * z[k] * z[k]
                    size_U += share * u * u
                    copies[k, i, j] = copies[k, j, i] = z[k]
                    multipliers[k, i, j] = multipliers[k, j, i] = u
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


@kernel
def _structured(Omega: FloatArray, Z: FloatArray, kind: int) -> FloatArray:
    """Give ``Omega`` the zeros and ties of the copies; it is closer to the optimum than they are.

    An entry that is 0 in a copy becomes 0; entries that a copy has equal get their mean, by labels
    that spread.
    """
    n_layers, K, p = Z.shape[:3]
    value = np.empty_like(Omega)
    label = np.empty(K, dtype=np.int64)
    for i in range(p):
        for j in range(i + 1):
            for k in range(K):
                label[k] = k
            for layer in range(n_layers if kind != GROUP else 0):
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
                is_absent = Z[0, k, i, j] == 0.0 and i != j
                value[k, i, j] = value[k, j, i] = 0.0 if is_absent else total / count
    return value


@kernel
def _penalty(
    Theta: FloatArray,
    sparsity: FloatArray,
    coupling: FloatArray,
    kind: int,
    paths: IntArray,
    is_linked: FloatArray,
) -> float:
    """Return the value of both penalties; where entries are equal, coupling may be infinite."""
    K, p = Theta.shape[:2]
    total = 0.0
    for i in range(p):
        for j in range(p):
            size = squares = variation = 0.0
            for k in range(K):
                size += abs(Theta[k, i, j])
                squares += Theta[k, i, j] ** 2
                if kind == ALL_PAIRS:
                    for m in range(k):
                        variation += abs(Theta[k, i, j] - Theta[m, i, j])
            if kind == GROUP:
                variation = np.sqrt(squares)
            elif kind == PATHS:
                for layer in range(paths.shape[0]):
                    for k in range(1, K):
                        if is_linked[layer, k]:
                            before, here = paths[layer, k - 1], paths[layer, k]
                            variation += abs(Theta[here, i, j] - Theta[before, i, j])
            total += sparsity[i, j] * size
            if variation > 0.0:
                total += coupling[i, j] * variation
    return total
