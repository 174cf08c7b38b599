"""The graphical lasso in standard form: unit variances, free diagonal, gap, components."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from edgewise._core.errors import InputError
from edgewise._core.jit import kernel, scratch
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.linalg.kernels import add_rows, dot

_TILE = 32
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
def certify(
    form: StandardForm,
    W: FloatArray,
    support: IntArray,
    size: IntArray,
    Theta: FloatArray,
    R: FloatArray,
) -> float:
    r"""Bound the duality gap of a positive definite ``Theta``, moving ``W`` onto its edges.

    To the gap at ``W`` is added what the dual point :math:`\Theta^{-1}`, clipped to the box, loses
    by slackness (to first order in :math:`R`), so that whoever has only the precision can confirm
    the figure. Infinite where the bound does not hold. ``R`` is scratch.
    """
    p = size.size
    _pin_edges(form, W, support, size, Theta)
    index = np.empty(support.shape[1] + 1, np.int64)
    value = np.empty(support.shape[1] + 1)
    for i in range(p):
        n = 1
        index[0] = i
        value[0] = Theta[i, i]
        for k in range(size[i]):
            if Theta[i, support[i, k]] != 0.0:
                index[n] = support[i, k]
                value[n] = Theta[i, support[i, k]]
                n += 1
        add_rows(W, index, value, n, R[i])
        R[i, i] -= 1.0
    square = _transpose_and_trace_square(R)
    if not square < 1.0:
        return np.inf
    square = max(square, 0.0)
    slack = 0.0
    for i in range(p):
        for k in range(size[i]):
            j = support[i, k]
            if j > i and Theta[i, j] != 0.0:
                slack += 2.0 * max(0.0, Theta[i, j] * dot(W[i], R[j]))
    bound: float = 0.5 * square / (1.0 - np.sqrt(square)) + slack
    return bound


@kernel
def _pin_edges(
    form: StandardForm, W: FloatArray, support: IntArray, size: IntArray, Theta: FloatArray
) -> None:
    """Move ``W`` to the edge of its box wherever ``Theta`` has an edge."""
    t = np.empty(size.size)
    for i in range(size.size):
        fill_thresholds(i, form, t)
        for k in range(size[i]):
            j = support[i, k]
            if Theta[i, j] != 0.0:
                W[i, j] = form.S[i, j] + (t[j] if Theta[i, j] > 0.0 else -t[j])
                W[j, i] = W[i, j]


@kernel
def _transpose_and_trace_square(R: FloatArray) -> float:
    """Transpose ``R`` in place, tile by tile, and return the trace of its square."""
    p = R.shape[0]
    square = 0.0
    for a in range(0, p, _TILE):
        for b in range(0, a + 1, _TILE):
            part = 0.0
            for i in range(a, min(a + _TILE, p)):
                for j in range(b, min(b + _TILE, i + 1)):
                    x = R[i, j]
                    y = R[j, i]
                    part += x * y if i == j else 2.0 * x * y
                    R[i, j] = y
                    R[j, i] = x
            square += part
    return square


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
        raise InputError(f"S must be a square covariance matrix, got shape {S.shape}.")
    is_symmetric, is_finite = _symmetric_and_finite(S)
    if not is_finite:
        raise InputError("S contains NaN or infinite entries.")
    if not is_symmetric:
        mean, difference = _symmetrize(S)
        if difference > 1e-8 * np.diagonal(S).max():
            i, j = np.unravel_index(np.argmax(np.abs(S - S.T)), S.shape)
            raise InputError(
                f"S is not symmetric: entries ({i}, {j}) and ({j}, {i}) differ by "
                f"{difference:.3g}. Pass (S + S.T) / 2 if that is what you mean."
            )
        S = mean
    smallest = int(np.argmin(np.diagonal(S)))
    if S[smallest, smallest] <= 0.0:
        raise InputError(
            f"Variable {smallest} has variance {S[smallest, smallest]:.3g}; every variance must "
            "be positive. Drop constant variables first."
        )
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
        raise InputError(f"weights must have shape ({p}, {p}) like S, got {weights.shape}.")
    if np.isnan(weights).any() or (weights < 0.0).any():
        raise InputError("weights must be at least 0 (0 = free edge, inf = forbidden edge).")
    if not np.array_equal(weights, weights.T):
        raise InputError("weights must be symmetric: the edge i--j has one weight.")
    if np.isinf(np.diagonal(weights)).any():
        raise InputError("The diagonal of weights must be finite: a variance cannot be forbidden.")
    return weights
