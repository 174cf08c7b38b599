"""Validation of arguments that several solvers share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from edgewise._core.arrays import array_namespace, is_foreign
from edgewise._core.errors import InputError
from edgewise._core.typing import FloatArray
from edgewise.solvers.gaussian.standard_form import writable
from edgewise.solvers.linalg.sparse_inverse import factorize, inverse


def check_nonnegative(**numbers: float | Sequence[float] | FloatArray) -> None:
    """Raise unless each of the named numbers is finite and at least 0."""
    for name, values in numbers.items():
        for value in np.ravel(values).tolist():
            if not 0.0 <= value < np.inf:
                raise InputError("finite_non_negative", name, name=name, value=value)


def check_numbers(alphas: Sequence[float] | FloatArray, tol: float, max_iter: int) -> None:
    """Validate penalties, tolerance and number of iterations."""
    check_nonnegative(alpha=alphas)
    if not 0.0 < tol < np.inf:
        raise InputError("tol_positive", "tol", tol=tol)
    if max_iter < 1:
        raise InputError("max_iter_range", "max_iter", max_iter=max_iter)


def check_start(init: FloatArray, p: int) -> tuple[FloatArray, FloatArray]:
    """Pair a precision to start from with its inverse, or say what is wrong with it."""
    init = writable(init)
    if init.shape != (p, p):
        raise InputError("init_shape", p=p, shape=init.shape)
    if not np.isfinite(init).all():
        raise InputError("init_not_finite")
    init = 0.5 * (init + init.T)
    factor = factorize(init)
    if factor is None:
        raise InputError("init_indefinite")
    return init, inverse(factor)


#: A variance that others explain but for one part in as many counts as explained.
LARGEST_INFLATION: Final = 1e8


def check_covariances(S: Any, n_groups: int | None = None) -> Any:
    """Return the covariances of groups, exactly symmetric, or say what is wrong with them.

    They may be arrays of another library than numpy.
    """
    xp: Any = array_namespace(S) if is_foreign(S) else np
    S = xp.astype(S, xp.float64) if is_foreign(S) else np.array(S, dtype=np.float64, order="C")
    shape = tuple(S.shape)
    is_stack = len(shape) == 3 and shape[1] == shape[2] and 0 not in shape
    if not is_stack or n_groups not in (None, shape[0]):
        expected = f"({n_groups or 'K'}, d, d)"
        raise InputError("covariances_shape", expected=expected, shape=shape)
    if not bool(xp.all(xp.isfinite(S))):
        raise InputError("covariances_not_finite")
    transposed = xp.permute_dims(S, (0, 2, 1))
    if float(xp.max(xp.abs(S - transposed))) > 1e-8 * float(xp.max(xp.abs(S))):
        raise InputError("covariances_asymmetric")
    if float(xp.min(xp.linalg.diagonal(S))) < 0:
        raise InputError("negative_variance")
    return 0.5 * (S + transposed)


def check_group_weights(weights: Sequence[float] | FloatArray | None, n_groups: int) -> FloatArray:
    """Return the weights of groups as an array, 1 by default, or say what is wrong with them."""
    if weights is None:
        return np.ones(n_groups)
    checked = np.asarray(weights, dtype=np.float64)
    if checked.shape != (n_groups,) or not (np.isfinite(checked) & (checked > 0)).all():
        raise InputError("group_weights_positive", n_groups=n_groups, weights=weights)
    return checked


def check_starts(init: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Return the precisions of groups to start from, or say what is wrong with them."""
    if np.shape(init) != shape:
        raise InputError("inits_shape", shape=shape, shape2=np.shape(init))
    return np.stack([check_start(one, shape[-1])[0] for one in init])


def check_fusion(
    alphas: Sequence[float] | FloatArray, sparsity: float, tol: float, max_iter: int
) -> FloatArray:
    """Return strengths of fusion as an array, or say what is wrong with them."""
    strengths = np.asarray(alphas, dtype=np.float64)
    if strengths.ndim != 1 or strengths.size == 0:
        raise InputError("alphas_empty")
    check_numbers(strengths, tol, max_iter)
    if sparsity == 0 and strengths.min() == 0:
        raise InputError("alpha_or_sparsity", "alpha")
    return strengths
