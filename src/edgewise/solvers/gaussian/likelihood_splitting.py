"""Alternating directions for a graphical lasso that is nearly singular."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import lapack

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.glasso_certificate import CertifiedPrecision
from edgewise.solvers.gaussian.orthant_newton import orthant_newton
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    fill_thresholds,
)
from edgewise.solvers.linalg.dense import STEP_SHARE, LikelihoodStep
from edgewise.solvers.linalg.first_order import (
    Pace,
    Residuals,
    alternate,
    refuse_unbounded,
)
from edgewise.solvers.linalg.kernels import SINGULAR, soft_threshold

RELAXATION = 1.6
PACE = Pace(interval=10, tuning=300, balance=1.0)
#: Newton steps tried at a look, once the gap per variable has fallen to `SETTLED`.
SETTLED_STEPS = 3
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
    likelihood, distance = LikelihoodStep(), 0.0

    def step(mu: float) -> tuple[FloatArray, Residuals]:
        nonlocal distance
        X = likelihood(Z - U - form.S / mu, 1.0 / mu, STEP_SHARE * distance)
        residuals = _shrink(form, X, Z, U, mu)
        distance = float(np.sqrt(residuals[0]))
        return X, residuals

    def is_done(X: FloatArray, mu: float, count: int) -> bool:
        nonlocal best
        refuse_unbounded(float(X.diagonal().max()))
        is_settled = best is not None and best.gap <= SETTLED * form.scale.size
        found = orthant_newton(form, Z.copy(), target, SETTLED_STEPS if is_settled else 0)
        # Without a dual point near by the gap is infinite for long, and the objective tells.
        if found is not None and (
            best is None or (found.gap, found.objective) < (best.gap, best.objective)
        ):
            best = replace(found, n_iter=count)
        return best is not None and best.gap <= target

    alternate(step, is_done, U, mu, max_iter, PACE)
    return best


def _is_definite(W: FloatArray) -> bool:
    """Whether the matrix with this upper triangle is positive definite beyond rounding."""
    factor, info = lapack.dpotrf(W.T, lower=1, clean=0)
    return info == 0 and bool(factor.diagonal().min() ** 2 > SINGULAR)


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
