"""The duality gap of a graphical lasso, at the inverse of a precision."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.standard_form import (
    StandardForm,
    clip_to_box,
    measure_inverse,
    penalty,
)
from edgewise.solvers.linalg.dense import log_determinant
from edgewise.solvers.linalg.sparse_inverse import factorize, inverse


@dataclass(frozen=True, kw_only=True, eq=False)
class CertifiedPrecision:
    """A positive definite precision and its inverse, with its duality gap."""

    Theta: FloatArray
    Sigma: FloatArray
    logdet: float
    objective: float
    gap: float
    n_iter: int = 0


def confirm(
    form: StandardForm, Theta: FloatArray, target: float = 0.0, out: FloatArray | None = None
) -> CertifiedPrecision | None:
    """Find the duality gap of ``Theta`` at its inverse, clipped to the dual box.

    A bound on it does where that is at most ``target`` or known to a thousandth. The inverse lies
    in ``out`` if that is given. None says that ``Theta`` is not positive definite; the gap is
    infinite where the dual point is not.
    """
    factor = factorize(Theta, out)
    if factor is None:
        return None
    Sigma = inverse(factor, out)
    slack, trace, bound = measure_inverse(form, Theta, Sigma)
    if slack + bound > target and bound > 1e-3 * slack:
        W = Sigma.copy()
        clip_to_box(form, W)
        bound = min(bound, max(trace - factor.logdet - log_determinant(W), 0.0))
    value = float(np.vdot(form.S, Theta)) + penalty(form, Theta) - factor.logdet
    return CertifiedPrecision(
        Theta=Theta, Sigma=Sigma, logdet=factor.logdet, objective=value, gap=slack + bound
    )
