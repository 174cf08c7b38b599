r"""Alternating directions for the graphical lasso, for problems too ill-conditioned for descent.

The precision is split into :math:`X` for the likelihood and a sparse :math:`Z` for the penalty,
tied by a multiplier :math:`Y` with :math:`|Y_{ij}| \le t_{ij}`, so that :math:`S + Y` is the dual
point. With :math:`Q \operatorname{diag}(\lambda) Q^\top = \rho Z - Y - S`,

.. math::
    X = Q \operatorname{diag}\Bigl(\frac{\lambda + \sqrt{\lambda^2 + 4 \rho}}{2 \rho}\Bigr) Q^\top,
    \qquad Z = \operatorname{soft}(X + Y / \rho,\, t / \rho), \qquad Y \gets Y + \rho (X - Z),

over-relaxed (Boyd et al. 2011, section 6.5). The penalty parameter :math:`\rho` balances the two
relative residuals at first and is then left alone, which keeps the convergence proof. One
eigendecomposition an iteration makes the rate almost independent of the conditioning of :math:`S`;
once the signs have settled, Newton steps finish the work.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.linalg

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.newton import NewtonResult, newton, refuse_unbounded
from edgewise.solvers.gaussian.standard_form import StandardForm
from edgewise.solvers.linalg.kernels import fill_thresholds, soft_threshold

RELAXATION = 1.6
#: Iterations between two looks at the residuals and at the gap.
INTERVAL = 10
#: Iterations during which the penalty parameter may change.
TUNING = 300
#: Newton steps tried at a look, once the gap per variable has fallen to `SETTLED`.
NEWTON_STEPS = 3
#: Gap per variable at which the signs have mostly settled.
SETTLED = 1e-6


def alternate(
    form: StandardForm, Theta: FloatArray, W: FloatArray, target: float, max_iter: int
) -> NewtonResult | None:
    """Iterate from a precision and a dual point until the gap is at most ``target``.

    Returns the best certified point, or None if no iterate was positive definite.
    """
    problem = (form.alpha, form.scale, form.weights)
    settled = SETTLED * form.scale.size
    Z = Theta.copy()
    Y = W - form.S
    rho = _balance(Y, Z)
    best: NewtonResult | None = None
    for count in range(1, max_iter + 1):
        values, vectors = scipy.linalg.eigh(
            rho * Z - Y - form.S, driver="evd", overwrite_a=True, check_finite=False
        )
        x = (values + np.sqrt(values**2 + 4.0 * rho)) / (2.0 * rho)
        X = (vectors * x) @ vectors.T
        primal, dual, size_X = _update(*problem, X, Z, Y, rho)
        if count % INTERVAL and count < max_iter:
            continue
        refuse_unbounded(float(x.max()))
        is_settled = best is not None and best.gap <= settled
        # A copy, because the next iterations write into Z.
        found = newton(form, Z.copy(), target, NEWTON_STEPS if is_settled else 0)
        if found is not None and (best is None or found.gap < best.gap):
            best = replace(found, n_iter=count)
            if best.gap <= target:
                break
        if count < TUNING:
            size_Y = max(float(np.linalg.norm(Y)), 1e-300)
            ratio = np.sqrt((primal / size_X) / max(rho * dual / size_Y, 1e-300))
            ratio = min(max(float(ratio), 0.2), 5.0)
            if ratio > 1.5 or ratio < 1.0 / 1.5:
                rho *= ratio
    return best


def _balance(Y: FloatArray, Z: FloatArray) -> float:
    """Guess the penalty parameter from the sizes of multiplier and precision."""
    size = float(np.linalg.norm(Y)) / float(np.linalg.norm(Z))
    return size if size > 0.0 else 1.0


@kernel
def _update(
    alpha: float,
    scale: FloatArray,
    weights: FloatArray,
    X: FloatArray,
    Z: FloatArray,
    Y: FloatArray,
    rho: float,
) -> tuple[float, float, float]:
    """Shrink into ``Z`` and move ``Y``, both in place; return the norms of residuals and ``X``."""
    p = X.shape[0]
    t = np.empty(p)
    primal = 0.0
    dual = 0.0
    size = 0.0
    for i in range(p):
        fill_thresholds(i, alpha, scale, weights, t)
        t[i] = 0.0
        for j in range(i + 1):
            x = 0.5 * (X[i, j] + X[j, i])
            relaxed = RELAXATION * x + (1.0 - RELAXATION) * Z[i, j]
            v = relaxed + Y[i, j] / rho
            z = soft_threshold(v, t[j] / rho)
            share = 1.0 if i == j else 2.0
            primal += share * (x - z) ** 2
            dual += share * (z - Z[i, j]) ** 2
            size += share * x * x
            Z[i, j] = z
            Z[j, i] = z
            Y[i, j] = rho * (v - z)
            Y[j, i] = Y[i, j]
    return np.sqrt(primal), np.sqrt(dual), np.sqrt(size)
