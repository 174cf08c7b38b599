r"""Proximal gradients and alternating directions for the precision matrices of several groups.

Gradient steps (`descend`) are the faster as long as they go well; alternating directions (`split`)
do not depend on how well conditioned the precisions are. With scaled multipliers :math:`U_k`,
penalty parameter :math:`\rho` and copies :math:`Z_k`,

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
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.linalg.dense import (
    STEP_SHARE,
    LikelihoodStep,
    inverse_and_log_determinant,
    log_determinant,
    mirror,
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
#: A gradient step must lower the objective by this share of its squared length over its size, and
#: is not shortened below the next.
LEAST_DECREASE, SHORTEST = 0.05, 0.01
#: Gradient steps end where this many of them leave more than that share of the gap.
WINDOW, SLOW = 5, 0.2
#: Of both sizes of Barzilai and Borwein, the short one is taken where it is below this share of the
#: long one (Zhou, Gao and Dai 2006).
UNEVEN = 0.3
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

    def bound(self, Y: FloatArray) -> float:
        """Dual objective; a point that is not positive definite is drawn towards `interior`."""
        share, value = 1.0, self.dual(self.weighted + Y)
        while value == -np.inf and share > 1e-3:
            share *= 0.7
            value = self.dual(self.weighted + self.interior + share * (Y - self.interior))
        return value if value > -np.inf else self.dual(self.weighted + self.interior)

    def dual(self, fitted: FloatArray) -> float:
        """Dual objective at ``weighted`` plus feasible multipliers; -inf outside its domain."""
        logdets = np.array([log_determinant(one) for one in fitted])
        return float(self.weights @ (logdets + self.size * (1.0 - np.log(self.weights))))

    @cached_property
    def interior(self) -> FloatArray:
        """Feasible multipliers at which the covariances are positive definite, if any are.

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
        return not self._exceeds(Y).any()

    def _exceeds(self, Y: FloatArray) -> BoolArray:
        """Where multipliers are beyond a subgradient at 0; of several layers, that of the first."""
        return np.asarray(
            _exceeds(
                Y, self.sparsity, self.coupling, self.layers.kind, self.layers.paths[0],
                self.layers.is_linked[0],
            )
        )  # fmt: skip

    def blocks(self) -> list[IntArray]:
        """Split the variables where -S is a feasible multiplier, so that nothing links them."""
        n_blocks, label = connected_components(self._exceeds(self.weighted), directed=False)
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


def inverses(Theta: FloatArray) -> FloatArray:
    """Return the inverses of positive definite matrices."""
    return np.stack([inverse_and_log_determinant(one)[0] for one in Theta])


def state_of(problem: JointProblem, Theta: FloatArray) -> SplitState:
    """Start from positive definite precisions: their inverses say what the multipliers are."""
    n_layers = len(problem.layers.paths)
    Y = problem.weights[:, None, None] * (inverses(Theta) - problem.S) / n_layers
    mu = float(np.linalg.norm(Y) / np.linalg.norm(Theta)) or 1.0
    return SplitState(
        Z=np.repeat(Theta[None], n_layers, axis=0), Y=np.repeat(Y[None], n_layers, axis=0), mu=mu
    )


def descend(
    problem: JointProblem, Theta: FloatArray, Sigma: FloatArray, target: float, max_iter: int
) -> tuple[Bracket, FloatArray, int]:
    r"""Take proximal gradient steps from ``Theta`` as long as they close the gap fast.

    .. math:: \Theta \gets \operatorname{prox}_{t h}\left(
        \Theta_k - t w_k (S_k - \Theta_k^{-1}), \; k = 1, \dots, K \right)

    with the size :math:`t` of Barzilai and Borwein. A step takes a Cholesky factor, which is
    several times faster than the eigendecomposition of alternating directions, and few steps are
    needed where precisions are sparse. The map subtracts a subgradient, so that each step has a
    feasible dual point. ``Theta`` and its inverses ``Sigma`` are overwritten.

    Returns
    -------
    best : Bracket
    Sigma : ndarray of shape (K, p, p)
        Inverses of its precisions.
    n_iter : int
    """
    layers, weights = problem.layers, problem.weights
    best = Bracket(Theta=Theta, objective=np.inf)
    # Large arrays are costly to come by: the steps go back and forth between two.
    Z, fitted, after = np.empty_like(Theta), np.empty_like(Theta), np.empty_like(Theta)
    t, count = 1.0 / float(weights.mean()), 0
    while count < max_iter and len(layers.paths) == 1:
        count += 1
        value, moved = _gradient_step(
            Theta, Sigma, problem.S, weights, problem.sparsity, problem.coupling, t, layers.kind,
            layers.paths, layers.is_linked, Z, fitted,
        )  # fmt: skip
        found = [inverse_and_log_determinant(one) for one in Z]
        objective = value - float(weights @ [logdet for _, logdet in found])
        if not objective < best.objective - LEAST_DECREASE / t * moved:
            if t * weights.mean() < SHORTEST:
                break
            t *= 0.5
            continue
        for k, (inverse, _) in enumerate(found):
            after[k] = inverse
        product, squares = _turn(weights, Theta, Z, Sigma, after)
        Theta, Z, Sigma, after = Z, Theta, after, Sigma
        gap = best.narrow(Theta, objective, problem.dual(fitted))
        is_slow = len(best.gaps) > WINDOW and not gap < SLOW * best.gaps[-WINDOW - 1]
        if gap <= target or is_slow or product <= 0.0:
            break
        long, short = moved / product, product / squares
        t = short if short < UNEVEN * long else long
    if best.objective == np.inf:
        # No step was short enough yet: the start is the best there is.
        best.narrow(Theta, problem.objective(Theta), problem.bound(problem.interior))
    for one in best.Theta:
        mirror(one)
    return best, Sigma, count


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
    largest = float(problem.S.max())

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
        bound = problem.bound(mu * U.sum(axis=0))
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
                    h[k] = relaxed + multipliers[k, i, j]
                # Sparsity is the business of the first layer.
                limit = sparsity[i, j] / mu if layer == 0 else 0.0
                _shrink_place(h, limit, coupling[i, j] / mu, kind, paths[layer], is_linked[layer],
                              order, work, z)  # fmt: skip
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
def _exceeds(
    Y: FloatArray,
    sparsity: FloatArray,
    coupling: FloatArray,
    kind: int,
    path: IntArray,
    is_linked: FloatArray,
) -> BoolArray:
    """Return whether the proximal map of the penalty leaves any of the entries of a place."""
    K, p = Y.shape[:2]
    h, z, work = np.empty(K), np.empty(K), np.empty((6, K + 1))
    order = np.empty(K, dtype=np.int64)
    largest = np.empty(p)
    is_left = np.zeros((p, p), dtype=np.bool_)
    for i in range(p):
        largest[i:] = 0.0
        for k in range(K):
            for j in range(i, p):
                largest[j] = max(largest[j], abs(Y[k, i, j]))
        for j in range(i, p):
            if largest[j] > sparsity[i, j]:
                for k in range(K):
                    h[k] = Y[k, i, j]
                _shrink_place(h, sparsity[i, j], coupling[i, j], kind, path, is_linked, order,
                              work, z)  # fmt: skip
                is_left[i, j] = is_left[j, i] = z.any()
    return is_left


@kernel
def _gradient_step(
    Theta: FloatArray,
    Sigma: FloatArray,
    S: FloatArray,
    weights: FloatArray,
    sparsity: FloatArray,
    coupling: FloatArray,
    t: float,
    kind: int,
    paths: IntArray,
    is_linked: FloatArray,
    Z: FloatArray,
    fitted: FloatArray,
) -> tuple[float, float]:
    """Take a proximal gradient step of size ``t`` to ``Z``, in upper triangles only.

    Into ``fitted`` go the weighted covariances plus the multipliers that belong to ``Z``. Returns
    the objective there but for the determinants, and the squared length of the step.
    """
    K, p = Theta.shape[:2]
    h, z, work = np.empty(K), np.empty(K), np.empty((6, K + 1))
    order = np.empty(K, dtype=np.int64)
    row, largest = np.empty((K, p)), np.empty(p)
    value = moved = 0.0
    for i in range(p):
        largest[i:] = 0.0
        for k in range(K):
            for j in range(i, p):
                row[k, j] = Theta[k, i, j] - t * weights[k] * (S[k, i, j] - Sigma[k, i, j])
                largest[j] = max(largest[j], abs(row[k, j]))
                Z[k, i, j] = 0.0
        for j in range(i, p):
            # Most places are absent, which takes no more than this look.
            if largest[j] > t * sparsity[i, j]:
                for k in range(K):
                    h[k] = row[k, j]
                _shrink_place(h, t * sparsity[i, j], t * coupling[i, j], kind, paths[0],
                              is_linked[0], order, work, z)  # fmt: skip
                value += (1.0 if i == j else 2.0) * _place_penalty(
                    z, sparsity[i, j], coupling[i, j], kind, paths, is_linked
                )
                for k in range(K):
                    Z[k, i, j] = z[k]
        for k in range(K):
            for j in range(i, p):
                share = 1.0 if i == j else 2.0
                fit = weights[k] * S[k, i, j]
                fitted[k, i, j] = fit + (row[k, j] - Z[k, i, j]) / t
                value += share * fit * Z[k, i, j]
                moved += share * (Z[k, i, j] - Theta[k, i, j]) ** 2
    return value, moved


@kernel
def _turn(
    weights: FloatArray, Theta: FloatArray, Z: FloatArray, Sigma: FloatArray, after: FloatArray
) -> tuple[float, float]:
    """Return the product of a step and the change of the gradient, and its squared length."""
    product = squares = 0.0
    for k in range(weights.size):
        for i in range(Z.shape[1]):
            for j in range(i, Z.shape[1]):
                share = 1.0 if i == j else 2.0
                change = weights[k] * (Sigma[k, i, j] - after[k, i, j])
                product += share * (Z[k, i, j] - Theta[k, i, j]) * change
                squares += share * change * change
    return product, squares


@kernel
def _shrink_place(
    h: FloatArray,
    limit: float,
    t: float,
    kind: int,
    path: IntArray,
    is_linked: FloatArray,
    order: IntArray,
    work: FloatArray,
    z: FloatArray,
) -> None:
    """Write the proximal map of the penalty at the K entries ``h`` of a place into ``z``."""
    K = h.size
    largest = 0.0
    for k in range(K):
        z[k] = h[k]
        largest = max(largest, abs(h[k]))
    if largest <= limit:
        # Drawn together, none is larger than the largest was.
        z[:] = 0.0
        return
    if kind == ALL_PAIRS and K == 2:
        # Where they meet, both are the middle itself, also for an infinite t.
        middle, half = 0.5 * (h[0] + h[1]), 0.5 * (h[1] - h[0])
        half -= min(max(half, -t), t)
        z[0], z[1] = middle - half, middle + half
    elif kind == ALL_PAIRS and t > 0.0:
        _draw_together(h, t, order, work, z)
    elif kind == PATHS and t > 0.0:
        _draw_along(h, t, path, is_linked, work, z)
    squares = 0.0
    for k in range(K):
        z[k] -= min(max(z[k], -limit), limit)
        squares += z[k] * z[k]
    if kind == GROUP and t > 0.0:
        norm = np.sqrt(squares)
        for k in range(K):
            z[k] *= 1.0 - t / norm if norm > t else 0.0


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
    z = np.empty(K)
    for i in range(p):
        for j in range(p):
            for k in range(K):
                z[k] = Theta[k, i, j]
            total += _place_penalty(z, sparsity[i, j], coupling[i, j], kind, paths, is_linked)
    return total


@kernel
def _place_penalty(
    z: FloatArray,
    sparsity: float,
    coupling: float,
    kind: int,
    paths: IntArray,
    is_linked: FloatArray,
) -> float:
    """Return the penalties of the K entries of a place."""
    K = z.size
    size = squares = variation = 0.0
    for k in range(K):
        size += abs(z[k])
        squares += z[k] ** 2
        if kind == ALL_PAIRS:
            for m in range(k):
                variation += abs(z[k] - z[m])
    if kind == GROUP:
        variation = np.sqrt(squares)
    elif kind == PATHS and size > 0.0:
        for layer in range(paths.shape[0]):
            for k in range(1, K):
                if is_linked[layer, k]:
                    variation += abs(z[paths[layer, k]] - z[paths[layer, k - 1]])
    total = sparsity * size
    if variation > 0.0:
        total += coupling * variation
    return total
