"""The whole lasso path of a regression, and the support along it with the best criterion."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray, IntArray

#: A variable with less of its variance left beside those in the support depends on them.
_DEPENDENT = 1e-10


@kernel
def best_supports(
    G: FloatArray,
    is_allowed: BoolArray,
    least: FloatArray,
    n_samples: float,
    per_variable: float,
    most: int,
    rows: FloatArray,
    scores: FloatArray,
) -> None:
    """Find for every variable the support with the smallest criterion along its lasso path.

    ``rows[j]`` is set to the least squares coefficients of variable j on its support, ``scores[j]``
    to n / 2 log(residual variance) + ``per_variable`` times the size of the support. No residual
    variance can be below ``least[j]``.
    """
    for j in range(G.shape[0]):
        floor = 0.5 * n_samples * np.log(least[j])
        scores[j] = follow_path(G, j, is_allowed[j], floor, n_samples, per_variable, most, rows[j])


@kernel
def follow_path(
    G: FloatArray,
    j: int,
    is_allowed: BoolArray,
    floor: float,
    n_samples: float,
    per_variable: float,
    most: int,
    best: FloatArray,
) -> float:
    """Follow the lasso path of variable j from the empty support down, one change at a time.

    Between two changes the coefficients move along d = G_AA^-1 s for the support A and its signs
    s, while the covariances of all variables with the residual fall by G_A' d. No support is
    larger than ``most``. Returns the smallest criterion met, and its coefficients in ``best``.
    """
    n_variables = G.shape[0]
    residual = G[j].copy()
    candidate = is_allowed.copy()
    candidate[j] = False
    room = min(most, n_variables)
    support = np.empty(room, np.int64)
    signs = np.empty(room)
    b = np.zeros(room)
    factor = np.empty((room, room))
    buffer = np.empty(room)
    best[:] = 0.0
    lowest: float = 0.5 * n_samples * np.log(G[j, j])
    size = 0
    entering, level = largest(residual, candidate)
    while entering >= 0:
        candidate[entering] = False
        if append_row(G, support, size, entering, factor):
            support[size], signs[size], b[size] = entering, np.sign(residual[entering]), 0.0
            size += 1
            lowest = judge(G, j, support, size, factor, n_samples, per_variable, lowest, best)
        # Not even the smallest residual variance would be enough, unless a quarter left again.
        if size in (0, most) or floor + per_variable * (size - size // 4 - 3) >= lowest:
            break
        entering = -1
        while size > 0 and entering < 0 and level > 0.0:
            direction = solve(factor, size, signs, buffer)
            drift = np.zeros(n_variables)
            for k in range(size):
                for i in range(n_variables):
                    drift[i] += G[support[k], i] * direction[k]
            step, entering, leaving = next_change(
                residual, drift, candidate, level, b, direction, size
            )
            level -= step
            for k in range(size):
                b[k] += step * direction[k]
            for i in range(n_variables):
                residual[i] -= step * drift[i]
            if leaving >= 0:
                candidate[support[leaving]] = True
                size = drop(G, support, signs, b, size, leaving, factor)
                lowest = judge(G, j, support, size, factor, n_samples, per_variable, lowest, best)
            elif entering < 0:
                level = 0.0
    return lowest


@kernel
def largest(residual: FloatArray, candidate: BoolArray) -> tuple[int, float]:
    """Find the candidate with the largest covariance; -1 if none has any."""
    found, level = -1, 0.0
    for i in range(len(residual)):
        if candidate[i] and abs(residual[i]) > level:
            found, level = i, abs(residual[i])
    return found, level


@kernel
def next_change(
    residual: FloatArray,
    drift: FloatArray,
    candidate: BoolArray,
    level: float,
    b: FloatArray,
    direction: FloatArray,
    size: int,
) -> tuple[float, int, int]:
    """Find how far the level falls until a variable enters or leaves, and which; -1 for none.

    One enters where its covariance meets the level: r_i - t a_i = +-(level - t).
    """
    step, entering, leaving = level, -1, -1
    for i in range(len(residual)):
        if candidate[i]:
            for sign in (1.0, -1.0):
                slope = 1.0 - sign * drift[i]
                distance = level - sign * residual[i]
                if slope > 0.0 and distance < step * slope:
                    step, entering = max(distance / slope, 0.0), i
    for k in range(size):
        if b[k] * direction[k] < 0.0 and -b[k] / direction[k] < step:
            step, entering, leaving = -b[k] / direction[k], -1, k
    return step, entering, leaving


@kernel
def append_row(G: FloatArray, support: IntArray, size: int, node: int, factor: FloatArray) -> bool:
    """Extend the Cholesky factor of G on the support; say whether the variable adds to it."""
    left = G[node, node]
    for k in range(size):
        value = G[node, support[k]]
        for i in range(k):
            value -= factor[size, i] * factor[k, i]
        factor[size, k] = value / factor[k, k]
        left -= factor[size, k] ** 2
    if left <= _DEPENDENT * G[node, node]:
        return False
    factor[size, size] = np.sqrt(left)
    return True


@kernel
def drop(
    G: FloatArray,
    support: IntArray,
    signs: FloatArray,
    b: FloatArray,
    size: int,
    leaving: int,
    factor: FloatArray,
) -> int:
    """Take a variable out of the support and factorise what follows it again."""
    for k in range(leaving, size - 1):
        support[k], signs[k], b[k] = support[k + 1], signs[k + 1], b[k + 1]
        append_row(G, support, k, support[k], factor)
    return size - 1


@kernel
def solve(factor: FloatArray, size: int, target: FloatArray, solution: FloatArray) -> FloatArray:
    """Solve L L' x = target."""
    for k in range(size):
        value = target[k]
        for i in range(k):
            value -= factor[k, i] * solution[i]
        solution[k] = value / factor[k, k]
    for k in range(size - 1, -1, -1):
        value = solution[k]
        for i in range(k + 1, size):
            value -= factor[i, k] * solution[i]
        solution[k] = value / factor[k, k]
    return solution


@kernel
def judge(
    G: FloatArray,
    j: int,
    support: IntArray,
    size: int,
    factor: FloatArray,
    n_samples: float,
    per_variable: float,
    lowest: float,
    best: FloatArray,
) -> float:
    """Refit by least squares; keep the coefficients in ``best`` if the criterion is the lowest."""
    target = np.empty(size)
    for k in range(size):
        target[k] = G[j, support[k]]
    coefficients = solve(factor, size, target, np.empty(size))
    left = G[j, j]
    for k in range(size):
        left -= coefficients[k] * target[k]
    if left <= 0.0:
        return lowest
    score: float = 0.5 * n_samples * np.log(left) + per_variable * size
    if score >= lowest:
        return lowest
    best[:] = 0.0
    for k in range(size):
        best[support[k]] = coefficients[k]
    return score
