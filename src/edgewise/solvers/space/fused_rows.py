"""Kernels of the locally constant model on whole matrices: shrinking rows, fusing entries."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray


@kernel
def fused_path(
    y: FloatArray,
    weight: FloatArray,
    strength: float,
    n: int,
    b: FloatArray,
    knot: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Solve for the first ``n`` entries of ``y`` into ``b``.

    ``knot``, ``slope`` and ``level`` are scratch of size 2 n + 2: where the derivative changes, and
    by how much its slope and level do, from left to right. ``low`` and ``high`` are scratch of
    size n for the ends of the clipped part.
    """
    first = n + 1
    last = n
    jump = 0.0
    edge = 0.0
    for k in range(n):
        # Left of all knots the derivative is x + left, right of them x + right.
        left = -edge - y[k] - weight[k]
        right = edge - y[k] + weight[k]
        jump += 2.0 * weight[k]
        target = strength if k < n - 1 else 0.0
        t, a, c, first, jump = _from_left(-target, left, jump, knot, slope, level, first, last)
        if k == n - 1:
            b[k] = t
            break
        low[k] = t
        first -= 1
        knot[first] = t
        slope[first] = a
        level[first] = c + strength
        t, a, c, last, jump = _from_right(target, right, jump, knot, slope, level, first, last)
        high[k] = t
        last += 1
        knot[last] = t
        slope[last] = -a
        level[last] = strength - c
        edge = strength
    for k in range(n - 2, -1, -1):
        b[k] = min(max(b[k + 1], low[k]), high[k])


@kernel
def fused_path_unweighted(
    y: FloatArray,
    strength: float,
    n: int,
    b: FloatArray,
    knot: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    low: FloatArray,
    high: FloatArray,
) -> None:
    """Solve as `fused_path` does where all weights are 0."""
    first = n + 1
    last = n
    edge = 0.0
    for k in range(n - 1):
        a = 1.0
        c = -edge - y[k]
        while first <= last and a * knot[first] + c < -strength:
            a += slope[first]
            c += level[first]
            first += 1
        low[k] = (-strength - c) / a
        first -= 1
        knot[first] = low[k]
        slope[first] = a
        level[first] = c + strength
        a = 1.0
        c = edge - y[k]
        while last > first and a * knot[last] + c > strength:
            a -= slope[last]
            c -= level[last]
            last -= 1
        # Never left of the other end, whatever rounding says.
        high[k] = max((strength - c) / a, low[k])
        last += 1
        knot[last] = high[k]
        slope[last] = -a
        level[last] = strength - c
        edge = strength
    a = 1.0
    c = -edge - y[n - 1]
    while first <= last and a * knot[first] + c < 0.0:
        a += slope[first]
        c += level[first]
        first += 1
    b[n - 1] = -c / a
    for k in range(n - 2, -1, -1):
        b[k] = min(max(b[k + 1], low[k]), high[k])


@kernel
def _from_left(
    target: float,
    level_left: float,
    jump: float,
    knot: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    first: int,
    last: int,
) -> tuple[float, float, float, int, float]:
    """Find where the derivative reaches ``target``, coming from the left.

    Returns the place, slope and level just right of it, the first knot that is left, and what is
    left of the jump at 0.
    """
    a = 1.0
    c = level_left
    while True:
        is_knot = first <= last
        if jump > 0.0 and (not is_knot or knot[first] >= 0.0):
            if c >= target:
                break
            c += jump
            if c >= target:
                # The level just right of 0 belongs to the jump, not to the knot made here.
                return 0.0, a, target, first, c - target
            jump = 0.0
        elif is_knot:
            if a * knot[first] + c >= target:
                break
            a += slope[first]
            c += level[first]
            first += 1
        else:
            break
    return (target - c) / a, a, c, first, jump


@kernel
def _from_right(
    target: float,
    level_right: float,
    jump: float,
    knot: FloatArray,
    slope: FloatArray,
    level: FloatArray,
    first: int,
    last: int,
) -> tuple[float, float, float, int, float]:
    """Find where the derivative reaches ``target``, coming from the right; mirrors the above.

    The first knot is the left end of the clipped part, where the derivative is below ``target``.
    It is never passed, whatever rounding says.
    """
    a = 1.0
    c = level_right
    while True:
        is_knot = last > first
        if jump > 0.0 and (not is_knot or knot[last] <= 0.0):
            if c <= target:
                break
            c -= jump
            if c <= target:
                return 0.0, a, target, last, target - c
            jump = 0.0
        elif is_knot:
            if a * knot[last] + c <= target:
                break
            a -= slope[last]
            c -= level[last]
            last -= 1
        else:
            break
    return max((target - c) / a, knot[first]), a, c, last, jump


@kernel
def shrink_layers(
    Omega: FloatArray,
    thresholds: FloatArray,
    tau: float,
    mu: float,
    relaxation: float,
    nodes: IntArray,
    is_joined: BoolArray,
    Z: FloatArray,
    U: FloatArray,
    mean: FloatArray,
) -> tuple[float, float, float, float]:
    r"""Move the copies ``Z`` and scaled multipliers ``U`` of all layers, in place.

    For each layer, with :math:`a` the over-relaxation,

    .. math::
        H = a \Omega + (1 - a) Z + U, \qquad Z \gets \operatorname{prox}(H), \qquad U \gets H - Z,

    row by row; the first layer carries the sparsity. ``mean`` receives the mean of
    :math:`Z - U` over the layers. Returns the squared norms of :math:`\Omega - Z`, of the change of
    :math:`Z`, of :math:`Z` and of :math:`U`.
    """
    n_layers, p = nodes.shape
    work = np.empty((9, 2 * p + 3))
    place = np.empty(p, np.int64)
    h = np.empty(p)
    fresh = np.empty(p)
    primal = 0.0
    dual = 0.0
    size_Z = 0.0
    size_U = 0.0
    for k in range(n_layers):
        factor = 1.0 / mu if k == 0 else 0.0
        for j in range(p):
            z = Z[k, j]
            u = U[k, j]
            o = Omega[j]
            for i in range(p):
                h[i] = relaxation * o[i] + (1.0 - relaxation) * z[i] + u[i]
            _shrink_row(
                h, j, thresholds[j], factor, tau / mu, nodes[k], is_joined[k], work, place, fresh
            )
            total = mean[j]
            for i in range(p):
                x = fresh[i]
                primal += (o[i] - x) ** 2
                dual += (x - z[i]) ** 2
                z[i] = x
                u[i] = h[i] - x
                size_Z += x * x
                size_U += u[i] * u[i]
                total[i] = (total[i] if k > 0 else 0.0) + (x - u[i]) / n_layers
    return primal, dual, size_Z, size_U


@kernel
def _shrink_row(
    h: FloatArray,
    j: int,
    threshold: FloatArray,
    factor: float,
    strength: float,
    nodes: IntArray,
    is_joined: BoolArray,
    work: FloatArray,
    place: IntArray,
    z: FloatArray,
) -> None:
    """Apply the fused lasso to row ``j`` along the paths of one layer.

    Entry j is in no difference and cuts its path. So does an entry that must be 0, whose
    differences become absolute values of its neighbours. The strength of sparsity is ``factor``
    times ``threshold``; a ``factor`` of 0 leaves sparsity to another layer.
    """
    p = len(nodes)
    y = work[0]
    w = work[1]
    b = work[2]
    # A ring is entered behind j, so that it is a path that ends before j.
    shift = 0
    if is_joined[p - 1]:
        while nodes[shift] != j:
            shift += 1
        shift += 1
    n = 0
    beside_zero = 0.0
    for step in range(p):
        k = step + shift
        if k >= p:
            k -= p
        i = nodes[k]
        t = factor * threshold[i] if factor > 0.0 else 0.0
        is_free = i != j and t < np.inf
        if is_free:
            y[n] = h[i]
            w[n] = t + beside_zero
            place[n] = i
            n += 1
            beside_zero = 0.0
        elif i == j:
            z[j] = h[j] - min(max(h[j], -t), t)
            beside_zero = 0.0
        else:
            z[i] = 0.0
            if n > 0:
                w[n - 1] += strength
            beside_zero = strength
        if n > 0 and not (is_free and is_joined[k] and step < p - 1):
            _shrink_path(y, w, strength, n, b, work)
            for m in range(n):
                z[place[m]] = b[m]
            n = 0
        if not is_joined[k]:
            beside_zero = 0.0


@kernel
def _shrink_path(
    y: FloatArray, w: FloatArray, strength: float, n: int, b: FloatArray, work: FloatArray
) -> None:
    """Solve the fused lasso of one path into ``b``."""
    t = w[0]
    for m in range(1, n):
        if w[m] != t:
            fused_path(y, w, strength, n, b, work[3], work[4], work[5], work[6], work[7])
            return
    fused_path_unweighted(y, strength, n, b, work[3], work[4], work[5], work[6], work[7])
    if t > 0.0:
        for m in range(n):
            b[m] -= min(max(b[m], -t), t)


@kernel
def find_groups(pairs: IntArray, layer: IntArray, Z: FloatArray) -> IntArray:
    """Give a number to each set of entries that are held equal, and -1 to diagonal and zeros.

    Entries (a, n) and (b, n) of neighbours a and b are joined where ``Z`` of the layer of that
    pair holds them equal. A set with a 0 in it is 0 throughout; ``Z[0]`` is the layer with zeros.
    """
    p = Z.shape[1]
    root = np.arange(p * p)
    for m in range(len(pairs)):
        a = pairs[m, 0]
        b = pairs[m, 1]
        copy = Z[layer[m]]
        for n in range(p):
            if n != a and n != b and copy[n, a] == copy[n, b]:
                r = _find(root, max(a, n) * p + min(a, n))
                s = _find(root, max(b, n) * p + min(b, n))
                root[max(r, s)] = min(r, s)
    is_zero = np.zeros(p * p, np.bool_)
    for i in range(p):
        for j in range(i):
            if Z[0, i, j] == 0.0 or Z[0, j, i] == 0.0:
                is_zero[_find(root, i * p + j)] = True
    groups = np.full((p, p), -1)
    number = np.full(p * p, -1)
    n_groups = 0
    for i in range(p):
        for j in range(i):
            r = _find(root, i * p + j)
            if is_zero[r]:
                continue
            if number[r] < 0:
                number[r] = n_groups
                n_groups += 1
            groups[i, j] = number[r]
            groups[j, i] = number[r]
    return groups


@kernel
def _find(root: IntArray, i: int) -> int:
    """Find the representative of ``i``, halving the way there."""
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


@kernel
def average_groups(Omega: FloatArray, groups: IntArray) -> FloatArray:
    """Return the mean of ``Omega`` over each group, with its diagonal, and 0 elsewhere."""
    p = Omega.shape[0]
    n_groups = groups.max() + 1
    total = np.zeros(n_groups)
    count = np.zeros(n_groups)
    for i in range(p):
        for j in range(i):
            g = groups[i, j]
            if g >= 0:
                total[g] += 0.5 * (Omega[i, j] + Omega[j, i])
                count[g] += 1.0
    X = np.zeros((p, p))
    for i in range(p):
        X[i, i] = Omega[i, i]
        for j in range(i):
            g = groups[i, j]
            if g >= 0:
                X[i, j] = total[g] / count[g]
                X[j, i] = X[i, j]
    return X


@kernel
def penalty(Theta: FloatArray, thresholds: FloatArray, tau: float, pairs: IntArray) -> float:
    """Return the weighted l1 norm plus ``tau`` times the absolute differences of neighbours."""
    p = Theta.shape[0]
    sparsity = 0.0
    for i in range(p):
        for j in range(p):
            # A forbidden entry that is 0 costs nothing.
            if Theta[i, j] != 0.0:
                sparsity += thresholds[i, j] * abs(Theta[i, j])
    difference = 0.0
    for m in range(len(pairs)):
        a = pairs[m, 0]
        b = pairs[m, 1]
        for n in range(p):
            if n != a and n != b:
                difference += abs(Theta[a, n] - Theta[b, n])
    return sparsity + tau * difference
