"""Lassos of all variables on all others, with a penalty of its own for every arc."""

from __future__ import annotations

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.lasso.gram import (
    PARTIAL,
    certificate,
    find_support,
    polish,
    set_residual,
    sweep,
)

#: Passes over the support, and exact steps on it, between two checks of all coefficients.
_SUPPORT_PASSES = 10
_POLISHES = 10


@kernel
def set_penalties(
    base: FloatArray, tiers: IntArray, strength: float, penalties: FloatArray
) -> None:
    """Write ``base[j, i] + strength * max(0, 1 - (tiers[j] - tiers[i]))``, for i in equation j.

    An infinite strength forbids every arc that does not go up, and adds nothing to the others.
    """
    for j in range(base.shape[0]):
        for i in range(base.shape[1]):
            climb = tiers[j] - tiers[i]
            penalties[j, i] = base[j, i]
            if climb < 1:
                penalties[j, i] += strength * (1 - climb)


@kernel
def regress_all(
    G: FloatArray,
    scale: FloatArray,
    penalties: FloatArray,
    rows: FloatArray,
    first: int,
    last: int,
    tol: float,
    max_rounds: int,
    report: FloatArray,
) -> None:
    """Regress the variables from ``first`` to ``last`` on all others, in place.

    ``scale`` is the root of the diagonal of G.
    ``rows[j, i]`` is the coefficient of i in the regression of j, and ``penalties[j, i]`` its
    weight. ``report[j]`` is set to objective, duality gap and violation, as in `solve_column`.
    """
    residual = np.empty(G.shape[0])
    support = np.empty(G.shape[0], np.int64)
    for j in range(first, last):
        solve_column(
            G, scale, j, penalties[j], rows[j], residual, support, tol, max_rounds, report[j]
        )


@kernel
def solve_column(
    G: FloatArray,
    scale: FloatArray,
    j: int,
    w: FloatArray,
    b: FloatArray,
    residual: FloatArray,
    support: IntArray,
    tol: float,
    max_rounds: int,
    report: FloatArray,
) -> None:
    """Minimise G_jj / 2 - G_j'b + b'G b / 2 + sum_i w_i |b_i| from the start ``b``, in place.

    Coordinate descent with exact steps on the support, as in `_lasso_kernels.descend`, but until
    no optimality condition is violated by more than ``tol``: |r_i - w_i sign(b_i)| on the support
    and |r_i| - w_i elsewhere, for r = G_j - G b, both in units of ``scale[i] * scale[j]``.
    """
    n_variables = G.shape[0]
    c = G[j]
    for i in range(n_variables):
        if w[i] == np.inf:
            b[i] = 0.0
    set_residual(G, c, b, residual)
    violation = np.inf
    for _ in range(max_rounds):
        for i in range(n_variables):
            support[i] = i
        sweep(G, w, b, residual, support, n_variables)
        set_residual(G, c, b, residual)
        violation = largest_violation(w, b, residual, scale) / scale[j]
        if violation <= tol:
            break
        n_support = find_support(b, support)
        for _ in range(_SUPPORT_PASSES):
            if sweep(G, w, b, residual, support, n_support) <= (tol * scale[j]) ** 2:
                break
        for _ in range(_POLISHES):
            n_support = find_support(b, support)
            if polish(G, c, w, b, residual, support[:n_support]) != PARTIAL:
                break
    fit = c[j]
    penalty = 0.0
    for i in range(n_variables):
        if b[i] != 0.0:
            fit -= b[i] * (c[i] + residual[i])
            penalty += w[i] * abs(b[i])
    report[0] = 0.5 * fit + penalty
    report[1] = certificate(c, w, b, residual, c[j])
    report[2] = violation


@kernel
def largest_violation(
    w: FloatArray, b: FloatArray, residual: FloatArray, scale: FloatArray
) -> float:
    """Find by how much the optimality condition of a coefficient is missed, at most."""
    largest = 0.0
    for i in range(len(b)):
        miss = abs(residual[i]) - w[i]
        if b[i] != 0.0:
            miss = abs(residual[i] - w[i] * np.sign(b[i]))
        largest = max(largest, miss / scale[i])
    return largest
