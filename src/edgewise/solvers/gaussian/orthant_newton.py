"""Newton steps of a graphical lasso within an orthant, where little is left to do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.glasso_certificate import CertifiedPrecision, confirm
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    fill_thresholds,
)
from edgewise.solvers.linalg.first_order import (
    refuse_unbounded,
)

#: Conjugate gradient steps for one Newton direction.
MAX_INNER = 100


def orthant_newton(
    form: StandardForm, Theta: FloatArray, target: float, max_iter: int
) -> CertifiedPrecision | None:
    r"""Take up to ``max_iter`` Newton steps from a positive definite ``Theta``.

    Returns None when the start is not positive definite. For the last digits, which rounding hides
    from methods that invert a covariance.

    Notes
    -----
    On the orthant that the current signs span, the objective is smooth with gradient
    :math:`S - W + t \odot \operatorname{sign}` and Hessian :math:`D \mapsto W D W` for
    :math:`W = \Theta^{-1}`. Each step solves the Newton equations on the free entries by conjugate
    gradients, preconditioned with :math:`R \mapsto \Theta R \Theta` (the inverse Hessian if every
    entry were free), and then searches along the path projected onto the orthant, in the manner of
    Olsen, Oztoprak, Nocedal and Rennie (2012). An entry at zero is free when its gradient exceeds
    its threshold. All of the work is matrix products; the objective never rises.
    """
    found = confirm(form, Theta, target)
    for count in range(1, max_iter + 1):
        if found is None or found.gap <= target:
            break
        refuse_unbounded(float(np.diagonal(found.Theta).max()))
        sign, gradient = _orthant(form, found.Theta, found.Sigma)
        step = newton_direction(found.Theta, found.Sigma, sign != 0.0, gradient)
        moved = _search(form, found, step, sign, gradient, target)
        if moved is None:
            break
        found = replace(moved, n_iter=count)
    return found


@kernel
def _orthant(
    form: StandardForm, Theta: FloatArray, Sigma: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Choose signs and form the gradient on them.

    The sign is 0 for an entry that stays at zero and 2 on the diagonal, which is free.
    """
    S, p = form.S, form.scale.size
    t = np.empty(p)
    sign, gradient = np.zeros((p, p)), np.zeros((p, p))
    for i in range(p):
        fill_thresholds(i, form, t)
        for j in range(p):
            slope = S[i, j] - Sigma[i, j]
            if Theta[i, j] != 0.0:
                sign[i, j] = np.sign(Theta[i, j])
            elif abs(slope) > t[j]:
                sign[i, j] = -np.sign(slope)
            if sign[i, j] != 0.0 and i != j:
                gradient[i, j] = slope + t[j] * sign[i, j]
        sign[i, i] = 2.0
        gradient[i, i] = 1.0 - Sigma[i, i]
    return sign, gradient


def newton_direction(
    Theta: FloatArray, Sigma: FloatArray, is_free: FloatArray, gradient: FloatArray
) -> FloatArray:
    """Solve the Newton equations on the free entries by preconditioned conjugate gradients."""
    step = np.zeros_like(Theta)
    residual = -gradient
    image = is_free * (Theta @ residual @ Theta)
    search = image.copy()
    size = float(np.vdot(residual, image))
    # Quadratic forcing: the inner accuracy follows the size of the outer residual.
    goal = min(0.01, size) * size
    for _ in range(MAX_INNER):
        product = is_free * (Sigma @ search @ Sigma)
        curvature = float(np.vdot(search, product))
        if curvature <= 0.0:
            break
        length = size / curvature
        step += length * search
        residual -= length * product
        image = is_free * (Theta @ residual @ Theta)
        size, before = float(np.vdot(residual, image)), size
        if size <= goal:
            break
        search *= size / before
        search += image
    return 0.5 * (step + step.T)


def _search(
    form: StandardForm,
    start: CertifiedPrecision,
    step: FloatArray,
    sign: FloatArray,
    gradient: FloatArray,
    target: float,
) -> CertifiedPrecision | None:
    """Halve the step until the projected point is positive definite and low enough (Armijo)."""
    # Near the optimum the decrease drowns in rounding; a step within it counts as good.
    rounding = 1e-14 * (abs(start.objective) + form.scale.size)
    length = 1.0
    while length > 1e-6:
        trial, decrease = _project(start.Theta, length * step, sign, gradient)
        found = confirm(form, trial, target) if decrease < 0.0 else None
        limit = start.objective + 1e-4 * decrease + rounding
        if found is not None and found.objective <= limit:
            return found
        length *= 0.5
    return None


@kernel
def _project(
    Theta: FloatArray, step: FloatArray, sign: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, float]:
    """Move along ``step``, set to zero what leaves the orthant; also return the slope."""
    p = Theta.shape[0]
    trial = np.zeros((p, p))
    decrease = 0.0
    for i in range(p):
        for j in range(p):
            if sign[i, j] != 0.0:
                x = Theta[i, j] + step[i, j]
                if i != j and x * sign[i, j] < 0.0:
                    x = 0.0
                trial[i, j] = x
                decrease += gradient[i, j] * (x - Theta[i, j])
    return trial, decrease
