r"""Semismooth Newton steps on the dual of the density-ratio problem.

The unknown are weights a of the rows on the simplex, as many as rows, however many pairs there
are. With theta(a) the shrunken slack of `RatioProblem.shrink`, the dual objective is

    phi(a) = sum a (log a - offset) + (q / 2) |theta(a)|^2,

q being the ridge, or the ridge and the curvature of a proximal term. Its Hessian is 1 / a on the
diagonal plus a matrix of the active pairs only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.sparse.linalg import LinearOperator, cg

from edgewise._core.errors import SolverError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.change.ratio_problem import (
    Coefficients,
    RatioProblem,
    divergence,
    log_softmax,
)

if TYPE_CHECKING:
    from edgewise.solvers.device.density_ratio import DenseDual

#: Largest system that is factored.
DIRECT = 3000
#: Entries of features computed at a time, few enough to stay in the cache.
CHUNK = 100_000
#: Added to squared lengths, which are divided by.
TINY: Final = 1e-300
#: Largest step of a logarithm.
LONGEST = 1e5
ARMIJO = 1e-4
#: Logarithm of the smallest weight whose root is still exact.
SMALLEST = -600.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Proximal:
    """The term ``|theta - center|^2 / (2 size)``, for problems that have no ridge."""

    center: Coefficients
    size: float

    @property
    def shift(self) -> Coefficients:
        """What it adds to the slack."""
        return self.center.scaled(1.0 / self.size)

    @property
    def constant(self) -> float:
        """Its value at 0."""
        return 0.5 * float(np.sum(self.center.values**2)) / self.size


@dataclass(frozen=True, kw_only=True, eq=False)
class DualWeights:
    """Weights of the rows, and what follows from them."""

    log_weights: FloatArray
    moments: Any
    theta: Any
    value: float


@dataclass(frozen=True, kw_only=True, eq=False)
class DualProblem:
    """The dual of the problem at one alpha, with a proximal term or a ridge."""

    problem: RatioProblem
    alpha: float
    proximal: Proximal | None = None

    @property
    def curvature(self) -> float:
        """What the coefficients are divided by."""
        extra = 0.0 if self.proximal is None else 1.0 / self.proximal.size
        return self.problem.ridge + extra

    def at(self, log_weights: FloatArray) -> DualWeights:
        """Coefficients and objective at some weights, which are normalised first."""
        log_weights = log_softmax(log_weights)
        moments = self.problem.features.moments(np.exp(log_weights))
        shift = None if self.proximal is None else self.proximal.shift
        theta = self.problem.shrink(moments, self.alpha, self.curvature, shift)
        value = self.problem.entropy(log_weights)
        value += 0.5 * self.curvature * float(np.sum(theta.values**2))
        if self.proximal is not None:
            value -= self.proximal.constant
        return DualWeights(log_weights=log_weights, moments=moments, theta=theta, value=value)

    def log_ratio(self, theta: Coefficients) -> FloatArray:
        """Logarithm of the ratio of each row, not normalised."""
        return self.problem.log_ratio(theta)

    def system(self, theta: Coefficients, root: FloatArray) -> _System:
        """Matrix of a Newton step at some coefficients and roots of the weights."""
        return _System(self, theta, root)


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonResult:
    """Where Newton's method stopped."""

    point: DualWeights
    log_ratio: FloatArray
    gap: float
    n_iter: int
    history: list[float]


def newton(
    dual: DualProblem | DenseDual,
    log_weights: FloatArray,
    *,
    gap: float,
    residual: float = np.inf,
    max_iter: int,
    direct: int = DIRECT,
) -> NewtonResult:
    """Step until the gap, and the root mean square of the residual, are small enough.

    Systems larger than ``direct`` are solved by conjugate gradients.
    """
    point = dual.at(log_weights)
    history: list[float] = []
    for n_iter in range(max_iter + 1):
        log_ratio = dual.log_ratio(point.theta)
        fitted = log_softmax(log_ratio)
        # Coefficients are the best for the weights, so that nothing else is left open.
        history.append(divergence(point.log_weights, fitted))
        weights = np.exp(point.log_weights)
        # Up to a constant this is the gradient, which is 0 where a is the softmax of the ratio.
        gradient = point.log_weights - fitted
        gradient -= weights @ gradient
        is_done = history[-1] <= gap and np.sqrt(weights @ gradient**2) <= residual
        if is_done or n_iter == max_iter:
            break
        step = _direction(dual, point, gradient, direct)
        slope = float(gradient @ (weights * step))
        better = _search(dual, point, step, slope)
        if better is None:
            break
        point = better
    return NewtonResult(
        point=point, log_ratio=log_ratio, gap=history[-1], n_iter=n_iter, history=history
    )


def _search(
    dual: DualProblem | DenseDual, point: DualWeights, step: FloatArray, slope: float
) -> DualWeights | None:
    """Go along the logarithms of the weights until the objective has fallen enough."""
    longest = float(step.max() - np.exp(point.log_weights) @ step)
    size = min(1.0, LONGEST / longest) if longest > 0 else 1.0
    rounding = 1e-14 * max(1.0, abs(point.value))
    for _ in range(40):
        candidate = dual.at(point.log_weights + size * step)
        if candidate.value <= point.value + ARMIJO * size * slope + rounding:
            return candidate
        size *= 0.5
    return None


def _direction(
    dual: DualProblem | DenseDual, point: DualWeights, gradient: FloatArray, direct: int
) -> FloatArray:
    """Newton step of the logarithms of the weights.

    With s the root of the weights, ``B = I + s J s`` and ``B z = -s gradient + nu s``, where nu
    keeps the sum of the weights. Where they are nearly 0, ``z / s`` is lost to rounding; the
    same step is ``nu - gradient - (s J s z) / s``, of which every term is accurate.
    """
    root = np.exp(0.5 * np.maximum(point.log_weights, SMALLEST))
    system = dual.system(point.theta, root)
    (first, second), (bent, bent_second) = system.solve(np.stack([-root * gradient, root]), direct)
    level = -float(root @ first) / float(root @ second)
    return np.asarray(level - gradient - (bent + level * bent_second) / root)


class _System:
    """The matrix ``I + s J s`` of the active pairs.

    For a pair with vector z longer than its threshold l, u = z / |z|,
    ``J = sum_G H_G M_G H_G'`` with ``M_G = ((1 - l / |z|) I + (l / |z|) u u') / q``, whose root
    is ``(sqrt(1 - l / |z|) (I - u u') + u u') / sqrt(q)``.
    """

    def __init__(self, dual: DualProblem, theta: Coefficients, root: FloatArray) -> None:
        self.features = dual.problem.features
        self.theta, self.root, self.curvature = theta, root, dual.curvature
        limit = dual.problem.thresholds(theta.pairs, dual.alpha)
        length = theta.lengths
        self.unit = theta.values / length[:, None]
        self.shrunk = self.curvature * length / (self.curvature * length + limit)

    def solve(self, right: FloatArray, direct: int) -> tuple[FloatArray, FloatArray]:
        """Solve for the rows of ``right``; return the solutions z and ``s J s z``."""
        n, m = len(self.root), self.theta.values.size
        if m == 0:
            return right, np.zeros_like(right)
        if min(n, m) > direct:
            return self._solve_by_gradients(right)
        if m < n:
            rows = self._columns(self.theta.pairs)
            inner = dsyrk(1.0, rows.T, trans=1, lower=1)
            if self.features.size > 1:
                # Twice the root of M here costs less than once on all the rows.
                inner = np.tril(inner) + np.tril(inner, -1).T
                inner = self._bend(self._bend(inner).T)
            half = cho_solve(cholesky(inner), self._bend(rows @ right.T), check_finite=False)
            # By Woodbury's identity z = right - F'(I + F F')^-1 F right, and F'F z the rest.
            bent = (rows.T @ self._bend(half)).T
            return right - bent, bent
        found = cho_solve(cholesky(self._gram()), right.T, check_finite=False).T
        return found, right - found

    def _gram(self) -> FloatArray:
        """``s J s``, in the lower triangle, from the active pairs or from the others."""
        n, pairs = len(self.root), self.theta.pairs
        gram, sign = np.zeros((n, n), order="F"), 1.0
        everything = self.features.all_products() if self._is_crowded() else None
        if everything is not None:
            gram = np.asfortranarray(everything * np.outer(self.root, self.root) / self.curvature)
            is_active = np.zeros(self.features.n_variables**2, dtype=bool)
            is_active[pairs] = True
            upper = np.arange(self.features.n_variables)
            is_active |= (upper[:, None] > upper).ravel()
            pairs, sign = np.flatnonzero(~is_active), -1.0
        chunk = max(1, CHUNK // (n * self.features.size))
        for start in range(0, len(pairs), chunk):
            part = slice(start, start + chunk)
            rows = self._bend(self._columns(pairs[part]), part)
            gram = dsyrk(sign, rows.T, beta=1.0, c=gram, lower=1, overwrite_c=1)
        return gram

    def _is_crowded(self) -> bool:
        """Whether more pairs are active than are not."""
        d = self.features.n_variables
        return len(self.theta.pairs) > d * (d + 1) // 4

    def _columns(self, pairs: IntArray) -> FloatArray:
        """Features of some pairs, one after the other, times s over the root of the curvature."""
        columns = self.features.columns(pairs, self.root / np.sqrt(self.curvature))
        return columns.reshape(-1, len(self.root))

    def _bend(self, rows: FloatArray, part: slice = slice(None)) -> FloatArray:
        """Root of q M times rows that belong to the features of some pairs."""
        if self.features.size == 1:
            return rows
        unit, narrow = self.unit[part], np.sqrt(self.shrunk[part])
        vectors = rows.reshape(len(unit), self.features.size, -1)
        along = np.einsum("gbn,gb->gn", vectors, unit) * (1.0 - narrow)[:, None]
        bent = narrow[:, None, None] * vectors + unit[:, :, None] * along[:, None, :]
        return np.asarray(bent.reshape(rows.shape))

    def _solve_by_gradients(self, right: FloatArray) -> tuple[FloatArray, FloatArray]:
        def product(z: FloatArray) -> FloatArray:
            moments = self.features.moments_at(self.root * z, self.theta.pairs)
            along = np.sum(moments * self.unit, axis=1, keepdims=True) * self.unit
            scaled = self.shrunk[:, None] * (moments - along) + along
            bent = self.features.values(self.theta.pairs, scaled / self.curvature)
            return np.asarray(self.root * bent)

        n = len(self.root)
        operator = LinearOperator((n, n), matvec=lambda z: z + product(z), dtype=np.float64)
        found = np.stack([cg(operator, b, rtol=1e-8, maxiter=500)[0] for b in right])
        return found, np.stack([product(z) for z in found])


def cholesky(gram: FloatArray) -> tuple[FloatArray, bool]:
    """Factor I plus a matrix of which the lower triangle is given; eigenvalues are at least 1."""
    gram[np.diag_indices(len(gram))] += 1.0
    try:
        factor: tuple[FloatArray, bool] = cho_factor(
            gram, lower=True, overwrite_a=True, check_finite=False
        )
    except LinAlgError as error:
        raise SolverError("features_ill_scaled") from error
    return factor
