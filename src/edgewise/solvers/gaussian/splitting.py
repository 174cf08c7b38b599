r"""Alternating directions for the graphical lasso, for problems too ill-conditioned for descent.

The precision is split into :math:`X` for the likelihood and a sparse :math:`Z` for the penalty, see
`edgewise.solvers.linalg.admm`; :math:`S + \mu U` is the dual point. One eigendecomposition an
iteration makes the rate almost independent of the conditioning of :math:`S`; once the signs have
settled, Newton steps finish the work.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.newton import CertifiedPrecision, orthant_newton
from edgewise.solvers.gaussian.standard_form import StandardForm, fill_thresholds
from edgewise.solvers.linalg.admm import Pace, Residuals, alternate, refuse_unbounded
from edgewise.solvers.linalg.dense import likelihood_step
from edgewise.solvers.linalg.kernels import soft_threshold

RELAXATION = 1.6
PACE = Pace(interval=10, tuning=300, balance=1.0)
#: Newton steps tried at a look, once the gap per variable has fallen to `SETTLED`.
NEWTON_STEPS = 3
#: Gap per variable at which the signs have mostly settled.
SETTLED = 1e-6


def split_likelihood(
    form: StandardForm, Theta: FloatArray, W: FloatArray, target: float, max_iter: int
) -> CertifiedPrecision | None:
    """Iterate from a precision and a dual point until the gap is at most ``target``.

    Returns the best certified point, or None if no iterate was positive definite.
    """
    Z, Y = Theta.copy(), W - form.S
    size = float(np.linalg.norm(Y)) / float(np.linalg.norm(Z))
    mu = size if size > 0.0 else 1.0
    U = Y / mu
    best: CertifiedPrecision | None = None

    def step(mu: float) -> tuple[FloatArray, Residuals]:
        X = likelihood_step(Z - U - form.S / mu, 1.0 / mu)
        return X, _shrink(form, X, Z, U, mu)

    def is_done(X: FloatArray, mu: float, count: int) -> bool:
        nonlocal best
        refuse_unbounded(float(X.diagonal().max()))
        is_settled = best is not None and best.gap <= SETTLED * form.scale.size
        found = orthant_newton(form, Z.copy(), target, NEWTON_STEPS if is_settled else 0)
        if found is not None and (best is None or found.gap < best.gap):
            best = replace(found, n_iter=count)
        return best is not None and best.gap <= target

    alternate(step, is_done, U, mu, max_iter, PACE)
    return best


@kernel
def _shrink(
    form: StandardForm, X: FloatArray, Z: FloatArray, U: FloatArray, mu: float
) -> tuple[float, float, float, float]:
    """Over-relax and soft-threshold, in place on ``Z`` and ``U``; return the residuals."""
    p = X.shape[0]
    t = np.empty(p)
    primal = dual = size_Z = size_U = 0.0
    for i in range(p):
        fill_thresholds(i, form, t)
        t[i] = 0.0
        for j in range(i + 1):
            h = RELAXATION * X[i, j] + (1.0 - RELAXATION) * Z[i, j] + U[i, j]
            z = soft_threshold(h, t[j] / mu)
            share = 1.0 if i == j else 2.0
            primal += share * (X[i, j] - z) ** 2
            dual += share * (z - Z[i, j]) ** 2
            size_Z += share * z * z
            size_U += share * (h - z) ** 2
            Z[i, j] = Z[j, i] = z
            U[i, j] = U[j, i] = h - z
    return primal, dual, size_Z, size_U
