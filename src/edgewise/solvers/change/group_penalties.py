r"""Penalties of the entries that several precision matrices have at one place.

The penalty of the joint graphical lasso falls apart into the K entries of each place, whose
proximal map is exact: draw them together, then all towards 0 (Friedman, Hastie, Höfling and
Tibshirani 2007, https://doi.org/10.1214/07-AOAS131). The map of all differences sorts the entries
and is an isotonic regression in that order; that along a path of groups is a taut string; other
graphs of groups are a sum of layers of paths.

`KernelPlaces` go from place to place; `solvers/device/group_penalties.py` does one thing at all
places, on arrays of any library.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray
from edgewise.solvers.linalg.dense import Factor
from edgewise.solvers.linalg.first_order import EPSILON, Residuals, Steps, Trial

RELAXATION = 1.8
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
class KernelPlaces:
    """Penalties of groups on arrays of numpy.

    Attributes
    ----------
    layers : Layers
        Kind of the coupling.
    sparsity, coupling : ndarray of shape (p, p)
        Strengths of both penalties for every entry.
    """

    layers: Layers
    sparsity: FloatArray
    coupling: FloatArray

    def penalty(self, Theta: FloatArray) -> float:
        """Return the value of both penalties."""
        layers = self.layers
        return _penalty(
            np.ascontiguousarray(Theta), self.sparsity, self.coupling, layers.kind, layers.paths,
            layers.is_linked,
        )  # fmt: skip

    def exceeds(self, Y: FloatArray) -> BoolArray:
        """Where multipliers are beyond a subgradient at 0; of several layers, that of the first."""
        layers = self.layers
        return np.asarray(
            _exceeds(
                Y, self.sparsity, self.coupling, layers.kind, layers.paths[0], layers.is_linked[0]
            )
        )

    def shrink(self, Omega: FloatArray, mu: float, Z: FloatArray, U: FloatArray) -> Residuals:
        """Move copies and scaled multipliers in place, over-relaxed; return the residuals."""
        layers = self.layers
        return _shrink(
            Omega, self.sparsity, self.coupling, mu, layers.kind, layers.paths, layers.is_linked,
            Z, U,
        )  # fmt: skip

    def structured(self, Omega: FloatArray, Z: FloatArray) -> FloatArray:
        """Give ``Omega`` the zeros and ties of the copies."""
        return _structured(Omega, Z, self.layers.kind)

    def steps(self, S: FloatArray, weights: FloatArray) -> Steps:
        """Return how to take gradient steps."""
        return _KernelSteps(self, S, weights)


class _KernelSteps:
    """Gradient steps in upper triangles, back and forth between two sets of arrays.

    Large arrays are costly to come by.
    """

    def __init__(self, places: KernelPlaces, S: FloatArray, weights: FloatArray) -> None:
        self._places, self._S, self._weights = places, S, weights
        self._spare = np.empty_like(S), np.empty_like(S)
        self._fitted = np.empty_like(S)

    def take(self, Theta: FloatArray, Sigma: FloatArray, t: float) -> Trial:
        """Try a step of size ``t``."""
        places, layers = self._places, self._places.layers
        Z, after = self._spare
        value, moved, sums = _gradient_step(
            Theta, Sigma, self._S, self._weights, places.sparsity, places.coupling, t, layers.kind,
            layers.paths, layers.is_linked, Z, self._fitted,
        )  # fmt: skip
        found = [Factor.of(one) for one in Z]
        likelihood = float(self._weights @ [factor.log_determinant for factor in found])

        def invert() -> FloatArray:
            for k, factor in enumerate(found):
                after[k] = factor.inverse()
            return after

        rounding = EPSILON * (sums + abs(likelihood))
        return Trial(Z, invert, value - likelihood, moved, self._fitted, rounding)

    def turn(
        self, Theta: FloatArray, Sigma: FloatArray, Z: FloatArray, after: FloatArray
    ) -> tuple[float, float]:
        """Return the product of a step and the change of the gradient, and its squared length.

        The step is taken then, and what it started from is free.
        """
        self._spare = Theta, Sigma
        return _turn(self._weights, Theta, Z, Sigma, after)


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
) -> tuple[float, float, float]:
    """Take a proximal gradient step of size ``t`` to ``Z``, in upper triangles only.

    Into ``fitted`` go the weighted covariances plus the multipliers that belong to ``Z``. Returns
    the objective there but for the determinants, the squared length of the step, and the sum of
    the sizes of all that is added up, which rounding is a share of.
    """
    K, p = Theta.shape[:2]
    h, z, work = np.empty(K), np.empty(K), np.empty((6, K + 1))
    order = np.empty(K, dtype=np.int64)
    row, largest = np.empty((K, p)), np.empty(p)
    value = moved = sums = 0.0
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
                penalty = (1.0 if i == j else 2.0) * _place_penalty(
                    z, sparsity[i, j], coupling[i, j], kind, paths, is_linked
                )
                value += penalty
                sums += penalty
                for k in range(K):
                    Z[k, i, j] = z[k]
        for k in range(K):
            for j in range(i, p):
                share = 1.0 if i == j else 2.0
                fit = weights[k] * S[k, i, j]
                fitted[k, i, j] = fit + (row[k, j] - Z[k, i, j]) / t
                value += share * fit * Z[k, i, j]
                sums += share * (abs(fit) + abs(row[k, j]) / t) * abs(Z[k, i, j])
                moved += share * (Z[k, i, j] - Theta[k, i, j]) ** 2
    return value, moved, sums


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
