"""Wrapper of scikit-learn's private libsvm binding."""

from __future__ import annotations

import numpy as np

from edgewise._core.typing import FloatArray


def train_on_kernel(
    kernel: FloatArray, sign: FloatArray, *, C: float, tol: float
) -> tuple[FloatArray, float]:
    """Train a support vector machine of two classes on a kernel matrix.

    A small machine is trained ten times in the time that the public estimator takes to check its
    input, which counts where one is trained at every step of an optimisation. Where scikit-learn
    has moved libsvm, the public estimator is used.

    Parameters
    ----------
    kernel : ndarray of shape (n, n)
        Finite.
    sign : ndarray of shape (n,)
        -1 and 1, both there.
    C : float
        Cost of slack.
    tol : float
        Precision.

    Returns
    -------
    dual : ndarray of shape (n,)
        Signed dual coefficients.
    intercept : float
    """
    try:
        from sklearn.svm._libsvm import fit, set_verbosity_wrap
    except ImportError:
        return _by_public_estimator(kernel, sign, C, tol)
    set_verbosity_wrap(0)
    is_positive = (sign > 0).astype(np.float64)
    support, _, _, coefficients, intercept, *_ = fit(
        np.ascontiguousarray(kernel), is_positive, kernel="precomputed", C=C, tol=tol
    )
    dual = np.zeros(len(sign))
    # libsvm's own signs are for the class that comes first.
    dual[support] = -coefficients[0]
    return dual, -float(intercept[0])


def _by_public_estimator(
    kernel: FloatArray, sign: FloatArray, C: float, tol: float
) -> tuple[FloatArray, float]:
    from sklearn.svm import SVC

    machine = SVC(C=C, kernel="precomputed", tol=tol).fit(kernel, sign)
    dual = np.zeros(len(sign))
    dual[machine.support_] = machine.dual_coef_[0]
    return dual, float(machine.intercept_[0])
