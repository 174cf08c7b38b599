r"""Second-order steps for the graphical lasso, for dense graphs where block descent is slow.

On the orthant that the current signs span, the objective is smooth with gradient
:math:`S - W + t \odot \operatorname{sign}` and Hessian :math:`D \mapsto W D W` for
:math:`W = \Theta^{-1}`. Each step solves the Newton equations on the free entries by conjugate
gradients, preconditioned with :math:`R \mapsto \Theta R \Theta` (the inverse Hessian if every entry
were free), and then searches along the path projected onto the orthant, in the manner of Olsen,
Oztoprak, Nocedal and Rennie (2012). An entry at zero is free when its gradient exceeds its
threshold. All of the work is matrix products; the objective never rises.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.descent import certify, columns_from_precision
from edgewise.solvers.gaussian.standard_form import StandardForm, fill_thresholds
from edgewise.solvers.linalg.admm import refuse_unbounded
from edgewise.solvers.linalg.sparse_inverse import Factor, factorize, inverse

#: Conjugate gradient steps for one Newton direction.
MAX_INNER = 100


@dataclass(frozen=True, kw_only=True, eq=False)
class CertifiedPrecision:
    """A positive definite precision, factorised, with its duality gap."""

    Theta: FloatArray
    factor: Factor
    gap: float
    n_iter: int


def orthant_newton(
    form: StandardForm, Theta: FloatArray, target: float, max_iter: int
) -> CertifiedPrecision | None:
    """Take up to ``max_iter`` Newton steps from a positive definite ``Theta``.

    Returns None when the start is not positive definite.
    """
    factor = factorize(Theta)
    if factor is None:
        return None
    R = np.empty_like(Theta)
    for count in range(max_iter + 1):
        Sigma = inverse(factor)
        sign, gradient, W, penalty = _orthant(form, Theta, Sigma)
        support, _, size, _ = columns_from_precision(Theta)
        gap = certify(form, W, support, size, Theta, R)
        if gap <= target or count == max_iter:
            break
        refuse_unbounded(float(np.diagonal(Theta).max()))
        step = newton_direction(Theta, Sigma, sign != 0.0, gradient)
        value = float(np.vdot(form.S, Theta)) - factor.logdet + penalty
        moved = _search(form, Theta, step, sign, gradient, value)
        if moved is None:
            break
        Theta, factor = moved
    return CertifiedPrecision(Theta=Theta, factor=factor, gap=gap, n_iter=count)


@kernel
def _orthant(
    form: StandardForm, Theta: FloatArray, Sigma: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Choose signs, form the gradient on them, clip ``Sigma`` to the dual box, sum the penalty.

    The sign is 0 for an entry that stays at zero and 2 on the diagonal, which is free.
    """
    S, p = form.S, form.scale.size
    t = np.empty(p)
    sign = np.zeros((p, p))
    gradient = np.zeros((p, p))
    W = np.empty((p, p))
    penalty = 0.0
    for i in range(p):
        fill_thresholds(i, form, t)
        for j in range(p):
            slope = S[i, j] - Sigma[i, j]
            W[i, j] = min(max(Sigma[i, j], S[i, j] - t[j]), S[i, j] + t[j])
            if Theta[i, j] != 0.0:
                sign[i, j] = np.sign(Theta[i, j])
            elif abs(slope) > t[j]:
                sign[i, j] = -np.sign(slope)
            if sign[i, j] != 0.0 and i != j:
                gradient[i, j] = slope + t[j] * sign[i, j]
                penalty += t[j] * abs(Theta[i, j])
        sign[i, i] = 2.0
        gradient[i, i] = 1.0 - Sigma[i, i]
        W[i, i] = 1.0
    return sign, gradient, W, penalty


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
    Theta: FloatArray,
    step: FloatArray,
    sign: FloatArray,
    gradient: FloatArray,
    value: float,
) -> tuple[FloatArray, Factor] | None:
    """Halve the step until the projected point is positive definite and low enough (Armijo)."""
    # Near the optimum the decrease drowns in rounding; a step within it counts as good.
    rounding = 1e-14 * (abs(value) + form.scale.size)
    length = 1.0
    while length > 1e-6:
        trial, decrease, penalty = _project(form, Theta, length * step, sign, gradient)
        factor = factorize(trial)
        if factor is not None:
            new = float(np.vdot(form.S, trial)) - factor.logdet + penalty
            if decrease < 0.0 and new <= value + 1e-4 * decrease + rounding:
                return trial, factor
        length *= 0.5
    return None


@kernel
def _project(
    form: StandardForm, Theta: FloatArray, step: FloatArray, sign: FloatArray, gradient: FloatArray
) -> tuple[FloatArray, float, float]:
    """Move along ``step``, set to zero what leaves the orthant; also the slope and the penalty."""
    p = Theta.shape[0]
    trial = np.zeros((p, p))
    t = np.empty(p)
    decrease = 0.0
    penalty = 0.0
    for i in range(p):
        fill_thresholds(i, form, t)
        for j in range(p):
            if sign[i, j] != 0.0:
                x = Theta[i, j] + step[i, j]
                if i != j and x * sign[i, j] < 0.0:
                    x = 0.0
                trial[i, j] = x
                decrease += gradient[i, j] * (x - Theta[i, j])
                if i != j and x != 0.0:
                    penalty += t[j] * abs(x)
    return trial, decrease, penalty
