r"""Newton steps for Gaussian maximum likelihood under a given graph.

The slow and sure way, for covariances so singular that regressions on the neighbours fail. The
objective :math:`f(\Theta) = \operatorname{tr}(S \Theta) - \log\det \Theta` on the free entries is
self-concordant: with :math:`\lambda` the Newton decrement, steps of length
:math:`1 / (1 + \lambda)` lead to the minimum from anywhere, and a point with :math:`\lambda < 1`
proves that there is one (Nesterov 2004, theorem 4.1.11).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers.gaussian.newton import _direction

#: Steps before the minimum counts as not there; a few dozen do where it is.
MAX_STEPS = 300
#: Up to this many free entries the Newton equations are solved as they stand.
DENSE = 2000
#: From this decrement on steps are taken whole.
CLOSE = 0.25
#: A standardised precision beyond this says that the likelihood has no maximum.
UNBOUNDED = 1e12


@dataclass(frozen=True, kw_only=True, eq=False)
class NewtonFit:
    """Where the steps ended."""

    Theta: FloatArray
    gap: float
    n_iter: int
    has_minimum: bool


def newton_on_graph(
    S: FloatArray, adjacency: BoolArray, target: float, *, dense: int = DENSE
) -> NewtonFit:
    """Minimise for a unit-variance ``S`` until the duality gap is at most ``target``."""
    p = len(S)
    is_free = adjacency | np.eye(p, dtype=bool)
    Theta = np.eye(p)
    gap = np.inf
    has_minimum = False
    for count in range(1, MAX_STEPS + 1):
        Sigma = _inverse(Theta)
        if Sigma is None or Theta.diagonal().max() > UNBOUNDED:
            break
        gap = bound_newton_gap(np.where(is_free, S, Sigma), Theta)
        if gap <= target:
            return NewtonFit(Theta=Theta, gap=gap, n_iter=count, has_minimum=True)
        gradient = np.where(is_free, S - Sigma, 0.0)
        step = _newton_step(Theta, Sigma, is_free, gradient, dense)
        if step is None:
            break
        decrement = math.sqrt(max(-float(np.vdot(gradient, step)), 0.0))
        has_minimum = has_minimum or decrement < 1.0
        length = 1.0 if decrement < CLOSE else 1.0 / (1.0 + decrement)
        Theta = Theta + length * step
    return NewtonFit(Theta=Theta, gap=gap, n_iter=count, has_minimum=has_minimum)


def _newton_step(
    Theta: FloatArray, Sigma: FloatArray, is_free: BoolArray, gradient: FloatArray, dense: int
) -> FloatArray | None:
    r"""Solve :math:`(\Sigma D \Sigma)_{ij} = -G_{ij}` for a symmetric ``D`` on the free entries.

    None says that the equations have become singular.
    """
    rows, columns = np.nonzero(np.triu(is_free))
    if rows.size > dense:
        return _direction(Theta, Sigma, is_free.astype(np.float64), gradient)
    # One unknown per unordered pair; a pair off the diagonal stands for two entries.
    share = np.where(rows == columns, 0.5, 1.0)
    H = Sigma[np.ix_(rows, rows)] * Sigma[np.ix_(columns, columns)]
    H += Sigma[np.ix_(rows, columns)] * Sigma[np.ix_(columns, rows)]
    H *= np.outer(share, share)
    try:
        factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    solved = linalg.cho_solve(factor, -share * gradient[rows, columns], check_finite=False)
    step = np.zeros_like(Theta)
    step[rows, columns] = solved
    step[columns, rows] = solved
    return step


def _inverse(Theta: FloatArray) -> FloatArray | None:
    """Invert by Cholesky; None where the matrix is not positive definite."""
    try:
        factor = linalg.cho_factor(Theta, lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    inverse: FloatArray = linalg.cho_solve(factor, np.eye(len(Theta)), check_finite=False)
    return 0.5 * (inverse + inverse.T)


def bound_newton_gap(W: FloatArray, Theta: FloatArray) -> float:
    """Bound the duality gap of a positive definite ``Theta`` at the dual point ``W``."""
    R = Theta @ W - np.eye(len(W))
    square = max(float(np.vdot(R, R.T)), 0.0)
    return 0.5 * square / (1.0 - float(np.sqrt(square))) if square < 1.0 else np.inf
