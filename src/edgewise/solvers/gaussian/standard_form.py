"""The graphical lasso in standard form: unit variances, free diagonal, gap, components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel, scratch
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.kernels import dot

#: Stands for "every weight is one" without a p by p array.
NO_WEIGHTS: FloatArray = np.empty((0, 0))


class StandardForm(NamedTuple):
    r"""A graphical lasso problem scaled to unit variances.

    A penalised diagonal is the same as a free one with :math:`\alpha w_{ii}` added to
    :math:`S_{ii}`; with :math:`d_i^2` the diagonal after that, the problem in
    :math:`\Theta'_{ij} = d_i d_j \Theta_{ij}` has unit variances and thresholds
    :math:`\alpha w_{ij} / (d_i d_j)`. Gaps are the same in both.

    Attributes
    ----------
    S : ndarray of shape (p, p)
        Scaled covariance with unit diagonal.
    alpha : float
        Penalty strength.
    scale : ndarray of shape (p,)
        :math:`1 / d_i`.
    weights : ndarray of shape (p, p) or (0, 0)
        Penalty weights; empty where all are one.
    """

    S: FloatArray
    alpha: float
    scale: FloatArray
    weights: FloatArray

    def component(self, index: IntArray) -> StandardForm:
        """Restrict the problem to some of its variables; valid until the next is asked for."""
        if index.size == self.scale.size:
            return self
        shape = (index.size, index.size)
        weights = NO_WEIGHTS
        if self.weights.size:
            weights = submatrix(self.weights, index, scratch("weights", shape))
        S = submatrix(self.S, index, scratch("sample covariance", shape))
        return StandardForm(S, self.alpha, self.scale[index], weights)


@kernel
def standardize(
    S: FloatArray,
    alpha: float,
    weights: FloatArray,
    penalize_diagonal: bool,
    scale: FloatArray,
    scaled: FloatArray,
) -> StandardForm:
    """Scale a checked covariance to unit variances, into ``scale`` and ``scaled``."""
    for i in range(S.shape[0]):
        variance = S[i, i]
        if penalize_diagonal:
            variance += alpha if weights.shape[0] == 0 else alpha * weights[i, i]
        scale[i] = 1.0 / np.sqrt(variance)
    rescale(S, scale, scaled)
    for i in range(S.shape[0]):
        scaled[i, i] = 1.0
    return StandardForm(scaled, alpha, scale, weights)


def standard_form(
    S: FloatArray, alpha: float, weights: FloatArray, *, penalize_diagonal: bool
) -> StandardForm:
    """Scale a checked covariance to unit variances; one that has them already is not copied."""
    scale = np.ones(len(S))
    if not penalize_diagonal and np.all(np.diagonal(S) == 1.0):
        return StandardForm(S, alpha, scale, weights)
    return standardize(S, alpha, weights, penalize_diagonal, scale, np.empty_like(S))


@kernel
def fill_thresholds(i: int, form: StandardForm, row: FloatArray) -> None:
    """Write the thresholds ``alpha * weights[i, j] * scale[i] * scale[j]`` to ``row``."""
    scale, weights = form.scale, form.weights
    factor = form.alpha * scale[i]
    if weights.shape[0] == 0:
        for j in range(row.size):
            row[j] = factor * scale[j]
    else:
        for j in range(row.size):
            # Infinite even where alpha is 0: a forbidden edge stays forbidden.
            row[j] = np.inf if weights[i, j] == np.inf else factor * scale[j] * weights[i, j]


@kernel
def clip_to_box(form: StandardForm, W: FloatArray) -> None:
    """Move ``W`` to the nearest dual feasible point, entry by entry."""
    S, p = form.S, form.scale.size
    t = np.empty(p)
    for i in range(p):
        fill_thresholds(i, form, t)
        for j in range(p):
            W[i, j] = min(max(W[i, j], S[i, j] - t[j]), S[i, j] + t[j])
        W[i, i] = 1.0


@kernel
def shrink_into_box(form: StandardForm, W: FloatArray) -> None:
    """Set ``W`` to ``S`` with covariances shrunk by the largest common share the box allows.

    It is positive definite if any such matrix is.
    """
    S, p = form.S, form.scale.size
    t = np.empty(p)
    share = 1.0
    for i in range(p):
        fill_thresholds(i, form, t)
        for j in range(p):
            if i != j and abs(S[i, j]) * share > t[j]:
                share = t[j] / abs(S[i, j])
    for i in range(p):
        for j in range(p):
            W[i, j] = (1.0 - share) * S[i, j]
        W[i, i] = 1.0


@kernel
def penalty(form: StandardForm, Theta: FloatArray) -> float:
    """Return the penalty of the off-diagonal entries, reading thresholds only for edges."""
    scale, weights = form.scale, form.weights
    total = 0.0
    for i in range(scale.size):
        for j in range(i):
            if Theta[i, j] != 0.0:
                w = 1.0 if weights.shape[0] == 0 else weights[i, j]
                total += 2.0 * form.alpha * w * scale[i] * scale[j] * abs(Theta[i, j])
    return total


@kernel
def measure_inverse(
    form: StandardForm, Theta: FloatArray, Sigma: FloatArray
) -> tuple[float, float, float]:
    r"""Measure the dual point that is ``Sigma``, the inverse of ``Theta``, clipped to the box.

    With :math:`\Delta` the move into the box and :math:`W = \Sigma + \Delta`, the duality gap is
    what :math:`W` loses by slackness, :math:`\sum_{ij} \Theta_{ij} (S_{ij} + t_{ij}
    \operatorname{sign} \Theta_{ij} - W_{ij})`, and :math:`\operatorname{tr} \Theta \Delta -
    \log\det(I + \Theta \Delta)`. Returns the slackness, the trace, and a bound on the second part,
    infinite where it has none.
    """
    S, p = form.S, form.scale.size
    t, root = np.empty(p), np.empty(p)
    for i in range(p):
        root[i] = np.sqrt(Theta[i, i])
    slack = trace = square = largest = 0.0
    width = np.ones(p)
    for i in range(p):
        fill_thresholds(i, form, t)
        t[i] = 0.0
        s, row, x = S[i], Sigma[i], Theta[i]
        part = 0.0
        for j in range(i):
            d = (min(max(row[j], s[j] - t[j]), s[j] + t[j]) - row[j]) * root[j]
            part += d * d
        square += (2.0 * part + Theta[i, i] * (1.0 - row[i]) ** 2) * Theta[i, i]
        trace += Theta[i, i] * (1.0 - row[i])
        for j in range(i):
            if x[j] != 0.0:
                w = min(max(row[j], s[j] - t[j]), s[j] + t[j])
                slack += 2.0 * x[j] * (s[j] + (t[j] if x[j] > 0.0 else -t[j]) - w)
                trace += 2.0 * x[j] * (w - row[j])
                part = abs(x[j]) / (root[i] * root[j])
                width[i] += part
                width[j] += part
    for i in range(p):
        largest = max(largest, width[i])
    # The eigenvalues of Theta, its diagonal scaled to 1, are below the largest sum of a row.
    square *= largest * largest
    bound = 0.5 * square / (1.0 - np.sqrt(square)) if square < 1.0 else np.inf
    return slack, trace, bound


@kernel
def confirm_few(
    form: StandardForm, Theta: FloatArray, Sigma: FloatArray, target: float
) -> tuple[float, float]:
    """Bound the gap of ``Theta`` at its inverse, clipped to the dual box, for few variables.

    ``Sigma`` receives the inverse. Also returns the log-determinant of ``Theta``; the gap is
    infinite where it is not positive definite. It is computed where a bound leaves open whether it
    is at most ``target``.
    """
    logdet = _invert(Theta, Sigma)
    if logdet == -np.inf:
        return np.inf, logdet
    slack, trace, bound = measure_inverse(form, Theta, Sigma)
    if slack <= target < slack + bound:
        W = Sigma.copy()
        clip_to_box(form, W)
        bound = max(trace - logdet - _invert(W, np.empty_like(W)), 0.0)
    return slack + bound, logdet


@kernel
def _invert(A: FloatArray, out: FloatArray) -> float:
    """Write the inverse to ``out`` and return the log-determinant, by Cholesky.

    Minus infinity says that the matrix is not positive definite.
    """
    p = A.shape[0]
    L = np.empty((p, p))
    logdet = 0.0
    for i in range(p):
        for j in range(i):
            L[i, j] = (A[i, j] - dot(L[i, :j], L[j, :j])) / L[j, j]
        pivot = A[i, i] - dot(L[i, :i], L[i, :i])
        if not pivot > 0.0:
            return -np.inf
        L[i, i] = np.sqrt(pivot)
        logdet += np.log(pivot)
    # One column at a time: forward from its unit vector, then back down to its own row.
    x = np.zeros(p)
    for c in range(p):
        x[c] = 1.0 / L[c, c]
        for i in range(c + 1, p):
            x[i] = -dot(L[i, c:i], x[c:i]) / L[i, i]
        for i in range(p - 1, c - 1, -1):
            x[i] /= L[i, i]
            for k in range(c, i):
                x[k] -= L[i, k] * x[i]
        for i in range(c, p):
            out[c, i] = x[i]
            out[i, c] = x[i]
    return logdet


@kernel
def next_look(expected: float, gap: float, target: float) -> float:
    """Say at what size of an estimate to look at the gap again, after it was too large.

    Half of the way, in logarithms, that the gap has to go: the estimate is a rough one, and a look
    costs less than a sweep.
    """
    return expected * (np.sqrt(target / gap) if gap < np.inf else 0.1)


def components(form: StandardForm) -> list[IntArray]:
    """Split the variables where no covariance exceeds its threshold.

    The solution is block diagonal over exactly these components (Witten, Friedman and Simon 2011;
    Mazumder and Hastie 2012), so each can be solved alone.
    """
    label, n_components = _label_components(form)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.cumsum(np.bincount(label, minlength=n_components))[:-1])


@kernel
def _label_components(form: StandardForm) -> tuple[IntArray, int]:
    """Give every variable the number of its component in the thresholded covariance."""
    p = form.scale.size
    label = np.full(p, -1, np.int64)
    stack = np.empty(p, np.int64)
    t = np.empty(p)
    n_components = 0
    for i in range(p):
        if label[i] >= 0:
            continue
        label[i] = n_components
        stack[0] = i
        top = 1
        while top:
            top -= 1
            a = stack[top]
            row = form.S[a]
            fill_thresholds(a, form, t)
            for b in range(p):
                if abs(row[b]) > t[b] and label[b] < 0:
                    label[b] = n_components
                    stack[top] = b
                    top += 1
        n_components += 1
    return label, n_components


def writable(array: FloatArray) -> FloatArray:
    """Return a contiguous float array that is not read-only.

    numba compiles a kernel again for read-only arrays, such as those joblib hands to its workers;
    copying one is far cheaper.
    """
    array = np.ascontiguousarray(array, dtype=np.float64)
    return array if array.flags.writeable else array.copy()


def check_problem(S: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Return a contiguous symmetric covariance and its weights, or say what is wrong with them."""
    S = writable(S)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise InputError("covariance_not_square", shape=S.shape)
    is_symmetric, is_finite = _symmetric_and_finite(S)
    if not is_finite:
        raise InputError("covariances_not_finite")
    if not is_symmetric:
        mean, difference = _symmetrize(S)
        if difference > 1e-8 * np.diagonal(S).max():
            i, j = np.unravel_index(np.argmax(np.abs(S - S.T)), S.shape)
            raise InputError("covariance_asymmetric_at", i=i, j=j, difference=difference)
        S = mean
    smallest = int(np.argmin(np.diagonal(S)))
    if S[smallest, smallest] <= 0.0:
        raise InputError("variance_not_positive_at", smallest=smallest, value=S[smallest, smallest])
    return S, _check_weights(weights, S.shape[0])


@kernel
def _symmetric_and_finite(S: FloatArray) -> tuple[bool, bool]:
    """Check both; columns are read sixteen at a time, a cache line or two of each row."""
    p = S.shape[0]
    block = 16
    n_different = 0
    n_infinite = 0
    for a in range(0, p, block):
        width = min(block, p - a)
        for j in range(p):
            row = S[j]
            for k in range(width):
                n_different += row[a + k] != S[a + k, j]
                n_infinite += not abs(row[a + k]) < np.inf
    return n_different == 0, n_infinite == 0


@kernel
def _symmetrize(S: FloatArray) -> tuple[FloatArray, float]:
    """Return the mean of a matrix and its transpose, and how far apart the two are."""
    p = S.shape[0]
    tile = 32
    mean = np.empty((p, p))
    difference = 0.0
    for a in range(0, p, tile):
        for b in range(0, a + 1, tile):
            for i in range(a, min(a + tile, p)):
                for j in range(b, min(b + tile, i + 1)):
                    x = S[i, j]
                    y = S[j, i]
                    difference = max(difference, abs(x - y))
                    mean[i, j] = 0.5 * (x + y)
                    mean[j, i] = mean[i, j]
    return mean, difference


@kernel
def rescale(A: FloatArray, factor: FloatArray, out: FloatArray) -> FloatArray:
    """Write ``A[i, j] * factor[i] * factor[j]`` to ``out``, rounded alike on both sides."""
    p = A.shape[0]
    for i in range(p):
        for j in range(p):
            out[i, j] = A[i, j] * (factor[i] * factor[j])
    return out


@kernel
def submatrix(A: FloatArray, index: IntArray, out: FloatArray) -> FloatArray:
    """Copy the rows and columns ``index`` to ``out``."""
    for a in range(index.size):
        row = A[index[a]]
        for b in range(index.size):
            out[a, b] = row[index[b]]
    return out


@kernel
def scatter(block: FloatArray, index: IntArray, out: FloatArray) -> None:
    """Write ``block`` into the rows and columns ``index`` of ``out``."""
    for a in range(index.size):
        row = out[index[a]]
        for b in range(index.size):
            row[index[b]] = block[a, b]


def _check_weights(weights: FloatArray | None, p: int) -> FloatArray:
    """Return valid penalty weights, empty where there are none."""
    if weights is None:
        return NO_WEIGHTS
    weights = writable(weights)
    if weights.shape != (p, p):
        raise InputError("glasso_weights_shape", p=p, shape=weights.shape)
    if np.isnan(weights).any() or (weights < 0.0).any():
        raise InputError("glasso_weights_range")
    if not np.array_equal(weights, weights.T):
        raise InputError("glasso_weights_asymmetric")
    if np.isinf(np.diagonal(weights)).any():
        raise InputError("weights_diagonal_finite")
    return weights
