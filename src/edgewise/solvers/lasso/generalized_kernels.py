"""Kernels of generalised linear regression with a penalty on groups of coefficients.

Newton's method on the groups that are not 0 or pull away from 0. Each step minimises its quadratic
model by block coordinate descent; a small duality gap ends them.
"""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.kernels import dot, factor, solve

GAUSSIAN, BINARY, POISSON, MULTINOMIAL = 0, 1, 2, 3
#: Rounds of block descent on one quadratic model.
_SWEEPS = 2000
#: Halvings of one Newton step.
_HALVINGS = 40
#: Probabilities and rates are taken for this at least in the certificate, where they divide.
_TINY = 1e-300


@kernel
def regress(
    columns: FloatArray,
    response: FloatArray,
    weights: FloatArray,
    family: int,
    starts: IntArray,
    penalty: FloatArray,
    gram: FloatArray,
    B: FloatArray,
    b: FloatArray,
    tol: float,
    history: FloatArray,
) -> tuple[float, float, int]:
    """Improve ``B`` and ``b`` in place until the gap is at most ``tol``.

    Returns the objective, the loss and the number of gaps written to ``history``.
    """
    n_responses, n = response.shape
    eta = np.empty((n_responses, n))
    mean = np.empty((n_responses, n))
    residual = np.empty((n_responses, n))
    gradient = np.empty(B.shape)
    moments = np.empty(B.shape)
    for c in range(n_responses):
        residual[c] = weights * response[c]
    correlate(columns, residual, moments)
    centre = columns_mean(columns, weights)
    for g in range(len(penalty)):
        if penalty[g] == np.inf:
            B[starts[g] : starts[g + 1]] = 0.0
    predict(columns, B, b, eta)
    loss = set_means(family, response, weights, eta, mean)
    objective = loss + penalty_of(B, starts, penalty)
    for n_iter in range(len(history)):
        for c in range(n_responses):
            for i in range(n):
                residual[c, i] = weights[i] * (response[c, i] - mean[c, i])
        correlate(columns, residual, gradient)
        gap = certificate(
            family, response, weights, mean, B, gradient, moments, centre, starts, penalty
        )
        history[n_iter] = gap
        if gap <= tol or n_iter + 1 == len(history):
            return objective, loss, n_iter + 1
        index = working_columns(B, gradient, starts, penalty)
        H = curvature(columns, weights, family, mean, gram, centre, index)
        step, rise = newton_step(H, B, b, residual, gradient, starts, penalty, index, tol, gap)
        before = objective
        length = 1.0
        for _ in range(_HALVINGS):
            move(B, b, step, index, length)
            predict(columns, B, b, eta)
            loss = set_means(family, response, weights, eta, mean)
            objective = loss + penalty_of(B, starts, penalty)
            # Near the optimum, what is left to gain is below the rounding of the two sums.
            if objective <= before + 1e-4 * length * rise + 1e-14 * (1.0 + abs(before)):
                break
            move(B, b, step, index, -length)
            length *= 0.5
    return objective, loss, len(history)


@kernel
def columns_mean(columns: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted mean of each column."""
    centre = np.empty(len(columns))
    for k in range(len(columns)):
        centre[k] = dot(columns[k], weights)
    return centre


@kernel
def correlate(columns: FloatArray, residual: FloatArray, out: FloatArray) -> None:
    """Set ``out`` to the inner products of columns and weighted residuals."""
    for k in range(len(columns)):
        for c in range(len(residual)):
            out[k, c] = dot(columns[k], residual[c])


@kernel
def predict(columns: FloatArray, B: FloatArray, b: FloatArray, eta: FloatArray) -> None:
    """Set ``eta`` to b + B'x of every row."""
    n = columns.shape[1]
    for c in range(len(b)):
        row = eta[c]
        row[:] = b[c]
        for k in range(len(columns)):
            slope = B[k, c]
            if slope != 0.0:
                column = columns[k]
                for i in range(n):
                    row[i] += slope * column[i]


@kernel
def set_means(
    family: int, response: FloatArray, weights: FloatArray, eta: FloatArray, mean: FloatArray
) -> float:
    """Set the expected responses; return the loss, the mean negative log-likelihood."""
    loss = 0.0
    n = eta.shape[1]
    if family == GAUSSIAN:
        for i in range(n):
            mean[0, i] = eta[0, i]
            loss += 0.5 * weights[i] * (response[0, i] - eta[0, i]) ** 2
    elif family == BINARY:
        for i in range(n):
            # Of the smaller of the two exponentials, which cannot overflow.
            small = np.exp(-abs(eta[0, i]))
            mean[0, i] = 1.0 / (1.0 + small) if eta[0, i] >= 0 else small / (1.0 + small)
            loss += weights[i] * (
                max(eta[0, i], 0.0) + np.log1p(small) - response[0, i] * eta[0, i]
            )
    elif family == POISSON:
        for i in range(n):
            mean[0, i] = np.exp(eta[0, i])
            loss += weights[i] * (mean[0, i] - response[0, i] * eta[0, i])
    else:
        for i in range(n):
            largest = eta[0, i]
            for c in range(1, len(eta)):
                largest = max(largest, eta[c, i])
            total = 0.0
            own = 0.0
            for c in range(len(eta)):
                mean[c, i] = np.exp(eta[c, i] - largest)
                total += mean[c, i]
                own += response[c, i] * eta[c, i]
            for c in range(len(eta)):
                mean[c, i] /= total
            loss += weights[i] * (largest + np.log(total) - own)
    return loss


@kernel
def group_norm(B: FloatArray, first: int, last: int) -> float:
    """Length of the coefficients of columns ``first`` to ``last``, that one not included."""
    square = 0.0
    for k in range(first, last):
        for c in range(B.shape[1]):
            square += B[k, c] * B[k, c]
    return float(np.sqrt(square))


@kernel
def penalty_of(B: FloatArray, starts: IntArray, penalty: FloatArray) -> float:
    """Sum of the lengths of the groups, each times its penalty."""
    total = 0.0
    for g in range(len(penalty)):
        size = group_norm(B, starts[g], starts[g + 1])
        if size > 0.0:
            total += penalty[g] * size
    return total


@kernel
def divergence(family: int, q: float, mean: float) -> float:
    """Return by how much the loss of a row with an expected response is above its dual at q."""
    if family == GAUSSIAN:
        return 0.5 * (q - mean) ** 2
    part = q * np.log(q / max(mean, _TINY)) if q > 0.0 else 0.0
    if family == POISSON:
        return max(part - q + mean, 0.0)
    if family == BINARY and q < 1.0:
        part += (1.0 - q) * np.log((1.0 - q) / max(1.0 - mean, _TINY))
    return part


@kernel
def certificate(
    family: int,
    response: FloatArray,
    weights: FloatArray,
    mean: FloatArray,
    B: FloatArray,
    gradient: FloatArray,
    moments: FloatArray,
    centre: FloatArray,
    starts: IntArray,
    penalty: FloatArray,
) -> float:
    r"""Return the duality gap, as a sum of terms that are each at least 0.

    The dual problem asks for means :math:`q_i` of the response with
    :math:`\sum_i w_i (y_i - q_i) = 0` and
    :math:`\|\sum_i w_i x_{ig} (y_i - q_i)\| \le \lambda_g`. Mixing the expected responses with a
    constant, :math:`m_i = (1 - t) \mu_i + \bar y - (1 - t) \bar\mu` with the smallest t that keeps
    them in range, meets the first; :math:`q = y - s (y - m)` with s <= 1 the second. The gap is
    then :math:`\sum_i w_i D(q_i, \mu_i) + \sum_g (\lambda_g \|B_g\| - s \langle B_g, \cdot\rangle)`
    with the divergence D of the family.
    """
    n_responses, n = response.shape
    shift = np.empty(n_responses)
    t = 0.0
    for c in range(n_responses):
        target, found = dot(response[c], weights), dot(mean[c], weights)
        shift[c] = target
        if family != GAUSSIAN and found > target:
            t = max(t, 1.0 - target / found)
        if family == BINARY and found < target:
            t = max(t, 1.0 - (1.0 - target) / (1.0 - found))
    for c in range(n_responses):
        shift[c] -= (1.0 - t) * dot(mean[c], weights)
    scale = 1.0
    inner = np.zeros(len(penalty))
    for g in range(len(penalty)):
        square = 0.0
        for k in range(starts[g], starts[g + 1]):
            for c in range(n_responses):
                pull = t * moments[k, c] + (1.0 - t) * gradient[k, c] - shift[c] * centre[k]
                square += pull * pull
                inner[g] += pull * B[k, c]
        if square > penalty[g] ** 2:
            scale = min(scale, penalty[g] / np.sqrt(square))
    gap = 0.0
    for i in range(n):
        row = 0.0
        for c in range(n_responses):
            dual = (1.0 - t) * mean[c, i] + shift[c]
            row += divergence(family, (1.0 - scale) * response[c, i] + scale * dual, mean[c, i])
        gap += weights[i] * max(row, 0.0)
    for g in range(len(penalty)):
        size = group_norm(B, starts[g], starts[g + 1])
        if size > 0.0:
            gap += max(penalty[g] * size - scale * inner[g], 0.0)
    return gap


@kernel
def working_columns(
    B: FloatArray, gradient: FloatArray, starts: IntArray, penalty: FloatArray
) -> IntArray:
    """List the columns of the groups that are not 0, or that the gradient pulls away from 0."""
    index = np.empty(len(B), dtype=np.int64)
    n_index = 0
    for g in range(len(penalty)):
        first, last = starts[g], starts[g + 1]
        is_working = group_norm(B, first, last) > 0.0
        if is_working or group_norm(gradient, first, last) > penalty[g]:
            for k in range(first, last):
                index[n_index] = k
                n_index += 1
    return index[:n_index]


@kernel
def curvature(
    columns: FloatArray,
    weights: FloatArray,
    family: int,
    mean: FloatArray,
    gram: FloatArray,
    centre: FloatArray,
    index: IntArray,
) -> FloatArray:
    """Second derivatives of the loss: the constant first, then the working columns.

    Entry (k c + a, l c + b) belongs to predictor a of column k and predictor b of column l.
    """
    size = len(index) + 1
    n_responses, n = mean.shape
    H = np.empty((size * n_responses, size * n_responses))
    if family == GAUSSIAN:
        H[0, 0] = 1.0
        for k in range(1, size):
            H[k, 0] = H[0, k] = centre[index[k - 1]]
            for m in range(1, size):
                H[k, m] = gram[index[k - 1], index[m - 1]]
        return H
    Z = np.ones((size, n))
    for k in range(1, size):
        Z[k] = columns[index[k - 1]]
    weighted = np.empty((size, n))
    # The last level is what the others leave: its derivatives are minus their sum.
    n_free = max(n_responses - 1, 1)
    H[:] = 0.0
    for a in range(n_free):
        for b in range(a + 1):
            for i in range(n):
                if family == POISSON:
                    weighted[0, i] = weights[i] * mean[0, i]
                elif a == b:
                    weighted[0, i] = weights[i] * mean[a, i] * (1.0 - mean[a, i])
                else:
                    weighted[0, i] = -weights[i] * mean[a, i] * mean[b, i]
            for k in range(1, size):
                for i in range(n):
                    weighted[k, i] = weighted[0, i] * Z[k, i]
            product = np.dot(weighted, Z.T)
            add_product(H, product, a, b, n_responses)
    return H


@kernel
def add_product(H: FloatArray, product: FloatArray, a: int, b: int, n_responses: int) -> None:
    """Add the derivatives by predictors a and b, and take them off those by the last level."""
    last = n_responses - 1
    for k in range(len(product)):
        for m in range(len(product)):
            value = product[k, m]
            row, column = k * n_responses, m * n_responses
            for _ in range(1 if a == b else 2):
                H[row + a, column + b] += value
                if n_responses > 1:
                    H[row + a, column + last] -= value
                    H[row + last, column + b] -= value
                    H[row + last, column + last] += value
                a, b = b, a


@kernel
def newton_step(
    H: FloatArray,
    B: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    gradient: FloatArray,
    starts: IntArray,
    penalty: FloatArray,
    index: IntArray,
    tol: float,
    gap: float,
) -> tuple[FloatArray, float]:
    """Minimise the quadratic model by block descent.

    Returns the step of the constants and working columns, and the fall of the objective that its
    first derivatives promise, as a negative number.
    """
    n_responses = len(b)
    start = np.empty(len(H))
    pull = np.empty(len(H))
    for c in range(n_responses):
        start[c], pull[c] = b[c], residual[c].sum()
        for k in range(len(index)):
            start[(k + 1) * n_responses + c] = B[index[k], c]
            pull[(k + 1) * n_responses + c] = gradient[index[k], c]
    slope = pull.copy()
    z = start.copy()
    block = H[:n_responses, :n_responses].copy()
    if n_responses > 1:
        # Only differences of the constants matter; this fixes their sum, and changes nothing else.
        block += 1.0 / n_responses
    L = np.zeros((n_responses, n_responses))
    is_regular = factor(block, n_responses, L)
    bounds, first, last, member = blocks_of(H, starts, index, n_responses)
    # The gap falls with the size of the gradient, whose square is what is left to gain.
    goal = max(1e-2 * tol, 1e-3 * gap) ** 2
    fresh = np.empty(len(H))
    for _ in range(_SWEEPS):
        fall = 0.0
        if is_regular:
            fresh[:n_responses] = pull[:n_responses]
            solve(L, n_responses, fresh)
            fall += shift_block(H, z, pull, fresh, 0, n_responses)
        for g in range(len(member)):
            shrink_block(z, pull, fresh, first[g], last[g], bounds[g], penalty[member[g]])
            fall += shift_block(H, z, pull, fresh, first[g], last[g])
        if fall <= goal:
            break
    rise = 0.0
    for k in range(len(H)):
        z[k] -= start[k]
        rise -= slope[k] * z[k]
    for g in range(len(member)):
        before = after = 0.0
        for k in range(first[g], last[g]):
            before += start[k] ** 2
            after += (start[k] + z[k]) ** 2
        rise += penalty[member[g]] * (np.sqrt(after) - np.sqrt(before))
    return z, min(rise, 0.0)


@kernel
def blocks_of(
    H: FloatArray, starts: IntArray, index: IntArray, n_responses: int
) -> tuple[FloatArray, IntArray, IntArray, IntArray]:
    """List the groups among the working columns: a bound of their curvature, their place, number.

    The bound is the largest sum of sizes in a row of the block, which no eigenvalue exceeds.
    """
    bounds = np.empty(len(index))
    first = np.empty(len(index), dtype=np.int64)
    last = np.empty(len(index), dtype=np.int64)
    member = np.empty(len(index), dtype=np.int64)
    n_groups = 0
    g = 0
    k = 0
    while k < len(index):
        while starts[g + 1] <= index[k]:
            g += 1
        size = starts[g + 1] - starts[g]
        low, high = (k + 1) * n_responses, (k + 1 + size) * n_responses
        largest = 0.0
        for i in range(low, high):
            largest = max(largest, np.abs(H[i, low:high]).sum())
        bounds[n_groups], member[n_groups] = largest, g
        first[n_groups], last[n_groups] = low, high
        n_groups += 1
        k += size
    return bounds[:n_groups], first[:n_groups], last[:n_groups], member[:n_groups]


@kernel
def shrink_block(
    z: FloatArray,
    pull: FloatArray,
    fresh: FloatArray,
    first: int,
    last: int,
    bound: float,
    penalty: float,
) -> None:
    """Set the change of a block to that of z + r / L, shortened by penalty / L."""
    square = 0.0
    for k in range(first, last):
        fresh[k] = bound * z[k] + pull[k]
        square += fresh[k] * fresh[k]
    size = np.sqrt(square)
    factor_ = (1.0 - penalty / size) / bound if size > penalty and bound > 0.0 else 0.0
    for k in range(first, last):
        fresh[k] = factor_ * fresh[k] - z[k]


@kernel
def shift_block(
    H: FloatArray, z: FloatArray, pull: FloatArray, change: FloatArray, first: int, last: int
) -> float:
    """Add a change to a block of ``z``; return half its squared length in the metric of H."""
    fall = 0.0
    for k in range(first, last):
        step = change[k]
        if step != 0.0:
            z[k] += step
            row = H[k]
            fall += 0.5 * row[k] * step * step
            for m in range(len(pull)):
                pull[m] -= row[m] * step
    return fall


@kernel
def move(B: FloatArray, b: FloatArray, step: FloatArray, index: IntArray, length: float) -> None:
    """Add a multiple of a step to the constants and the working columns."""
    n_responses = len(b)
    for c in range(n_responses):
        b[c] += length * step[c]
        for k in range(len(index)):
            B[index[k], c] += length * step[(k + 1) * n_responses + c]
