"""Arguments that solvers have in common, checked in one place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.standard_form import writable
from edgewise.solvers.linalg.sparse_inverse import factorize, inverse


def check_numbers(alphas: Sequence[float] | FloatArray, tol: float, max_iter: int) -> None:
    """Refuse strengths, tolerances and iteration counts that make no sense."""
    for alpha in alphas:
        if not 0.0 <= alpha < np.inf:
            raise InputError(f"alpha must be a finite number of at least 0, got {alpha}.")
    if not 0.0 < tol < np.inf:
        raise InputError(f"tol must be positive, got {tol}.")
    if max_iter < 1:
        raise InputError(f"max_iter must be at least 1, got {max_iter}.")


def check_start(init: FloatArray, p: int) -> tuple[FloatArray, FloatArray]:
    """Pair a precision to start from with its inverse, or say what is wrong with it."""
    init = writable(init)
    if init.shape != (p, p):
        raise InputError(f"init must have shape ({p}, {p}) like S, got {init.shape}.")
    if not np.isfinite(init).all():
        raise InputError("init contains NaN or infinite entries.")
    init = 0.5 * (init + init.T)
    factor = factorize(init)
    if factor is None:
        raise InputError("init must be positive definite.")
    return init, inverse(factor)
