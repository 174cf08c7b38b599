r"""Alternating directions for the locally constant model.

The penalty of a matrix that need not be symmetric falls apart into rows, and each row into fused
lassos along paths, one set of paths per layer (`_layers`), which are solved exactly
(`_fused_prox`). So the precision :math:`\Omega` gets one copy :math:`Z_k` per layer, with scaled
multipliers :math:`U_k`, and with :math:`K` layers and penalty parameter :math:`\mu`

.. math::
    \Omega = \arg\min_{\Omega \succ 0} \; \operatorname{tr}(S \Omega) - \log\det \Omega
    + \tfrac{\mu}{2} \sum_k \|\Omega - Z_k + U_k\|^2, \qquad
    Z_k = \operatorname{prox}_{g_k / \mu}(\Omega + U_k), \qquad U_k \gets U_k + \Omega - Z_k,

over-relaxed. :math:`\mu U_k` always lies in the dual set of :math:`g_k`, since what a proximal map
takes off is a subgradient, so that :math:`S + \mu \sum_k U_k`, made symmetric, is a feasible dual
point of the whole problem at every iteration, and its log-determinant bounds the optimum from
below. The primal point is structured: entries that the layers hold equal are joined into groups,
groups with a zero become zero, the others take their mean of :math:`\Omega`. It is therefore sparse
and fused exactly, and close to the optimum closer than :math:`\Omega`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.gaussian.newton import refuse_unbounded
from edgewise.solvers.linalg.dense import (
    inverse_and_log_determinant,
    likelihood_step,
    log_determinant,
)
from edgewise.solvers.space.fused_rows import average_groups, find_groups, penalty, shrink_layers
from edgewise.solvers.space.layers import cover_by_paths

RELAXATION = 1.9
#: Iterations between two looks at the gap and at the residuals.
INTERVAL = 10
#: Iterations during which the penalty parameter may change; convergence is proved for a fixed one.
TUNING = 1000
#: Relative primal over relative dual residual at which the gap falls fastest, by trial on paths
#: and grids in two and three dimensions: more weight on agreement than the usual 1.
BALANCE = 0.2
#: How far off the balance may be, and the largest change at a time.
TOLERATED, LARGEST_CHANGE = 1.6, 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class FusedProblem:
    """Covariance, l1 strengths with those of the diagonal, strength of differences, neighbours."""

    S: FloatArray
    thresholds: FloatArray
    tau: float
    pairs: IntArray

    def objective(self, Theta: FloatArray) -> float:
        """Objective at a symmetric matrix, inf where it is not positive definite."""
        logdet = log_determinant(Theta)
        if logdet == -np.inf:
            return np.inf
        return (
            float(np.vdot(self.S, Theta))
            - logdet
            + penalty(Theta, self.thresholds, self.tau, self.pairs)
        )

    def diagonal_solution(self) -> FloatArray:
        """Return the best diagonal precision."""
        return np.diag(1.0 / (self.S.diagonal() + self.thresholds.diagonal()))

    def interior_dual(self) -> FloatArray | None:
        """Return a dual point that is positive definite, or None where none is obvious.

        Correlations shrunken by a common factor, as far as the thresholds allow, with the penalty
        of the diagonal added.
        """
        off = ~np.eye(len(self.S), dtype=bool)
        size = np.abs(self.S[off])
        room = np.divide(self.thresholds[off], size, out=np.full_like(size, np.inf), where=size > 0)
        shrink = min(1.0, float(room.min(initial=1.0)))
        Sigma = self.S * np.where(off, 1.0 - shrink, 1.0) + np.diag(self.thresholds.diagonal())
        return Sigma if log_determinant(Sigma) > -np.inf else None


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitState:
    """Where alternating directions stand; a start for a problem nearby.

    Attributes
    ----------
    Z, Y : ndarray of shape (n_layers, p, p)
        Copies of the precision, and their multipliers in units of the covariance.
    mu : float
        Penalty parameter.
    """

    Z: FloatArray
    Y: FloatArray
    mu: float


@dataclass(frozen=True, kw_only=True, eq=False)
class SplitResult:
    """Best structured precision found and how good it is."""

    Theta: FloatArray
    objective: float
    bound: float
    n_iter: int
    state: SplitState
    gaps: list[float] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """Duality gap."""
        return self.objective - self.bound


def alternate(
    problem: FusedProblem,
    target: float,
    max_iter: int,
    *,
    start: SplitState | None = None,
    Theta: FloatArray | None = None,
) -> SplitResult:
    """Iterate until the duality gap is at most ``target``.

    Starts from a former state, or from a precision, or from the best diagonal one.
    """
    S, tau, pairs = problem.S, problem.tau, problem.pairs
    p = len(S)
    layers = cover_by_paths(pairs, p)
    state = _first_state(problem, layers.n_layers, Theta) if start is None else start
    Z, mu = state.Z.copy(), state.mu
    U = state.Y / mu
    mean = np.mean(Z - U, axis=0)
    interior = problem.interior_dual()
    best = problem.diagonal_solution()
    objective = problem.objective(best)
    bound = -np.inf
    gaps: list[float] = []
    for count in range(1, max_iter + 1):
        step = 1.0 / (layers.n_layers * mu)
        Omega = likelihood_step(0.5 * (mean + mean.T) - step * S, step)
        residuals = shrink_layers(
            Omega,
            problem.thresholds,
            tau,
            mu,
            RELAXATION,
            layers.nodes,
            layers.is_joined,
            Z,
            U,
            mean,
        )
        if count % INTERVAL and count < max_iter:
            continue
        refuse_unbounded(float(Omega.diagonal().max() * S.diagonal().min()))
        candidate = average_groups(Omega, find_groups(pairs, layers.layer, Z))
        value = problem.objective(candidate)
        if value < objective:
            best, objective = candidate, value
        multiplier = mu * U.sum(axis=0)
        bound = max(bound, _dual_value(S + 0.5 * (multiplier + multiplier.T), interior))
        gaps.append(objective - bound)
        if gaps[-1] <= target:
            break
        if count < TUNING:
            change = _change(*residuals)
            mu *= change
            U /= change
            mean = np.mean(Z - U, axis=0)
    if bound == -np.inf:
        # No dual point was positive definite, which is what having no minimum looks like.
        refuse_unbounded(np.inf)
    return SplitResult(
        Theta=best,
        objective=objective,
        bound=bound,
        n_iter=count,
        state=SplitState(Z=Z, Y=mu * U, mu=mu),
        gaps=gaps,
    )


def _first_state(problem: FusedProblem, n_layers: int, Theta: FloatArray | None) -> SplitState:
    """Start from a precision: its inverse says what the multipliers would be at the optimum."""
    Y = np.zeros_like(problem.S)
    if Theta is None:
        Theta = problem.diagonal_solution()
    else:
        Y = (inverse_and_log_determinant(Theta)[0] - problem.S) / n_layers
    return SplitState(Z=np.stack([Theta] * n_layers), Y=np.stack([Y] * n_layers), mu=1.0)


def _dual_value(Sigma: FloatArray, interior: FloatArray | None) -> float:
    """Dual objective; a point that is not positive definite is drawn towards one that is."""
    value = log_determinant(Sigma)
    share = 1.0
    while value == -np.inf and interior is not None:
        share *= 0.7
        value = log_determinant(interior + share * (Sigma - interior))
    return value + len(Sigma)


def _change(primal: float, dual: float, size_Z: float, size_U: float) -> float:
    """Say by how much to raise the penalty parameter, from squared residuals and sizes."""
    if primal * size_U == 0.0 or dual == 0.0:
        return 1.0
    ratio = float(np.sqrt(primal / size_Z * (size_U / dual))) / BALANCE
    if 1.0 / TOLERATED < ratio < TOLERATED:
        return 1.0
    change: float = ratio**0.7
    return min(max(change, 1.0 / LARGEST_CHANGE), LARGEST_CHANGE)
