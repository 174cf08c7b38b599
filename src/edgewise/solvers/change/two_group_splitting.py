r"""Alternating directions for the precision matrices of two groups.

With scaled multipliers :math:`U_g`, penalty parameter :math:`\rho` and copies :math:`Z_g`,

.. math::
    \Theta_g = \arg\min_{\Theta \succ 0} \; w_g (\operatorname{tr}(S_g \Theta) - \log\det \Theta)
    + \tfrac{\rho}{2} \|\Theta - Z_g + U_g\|^2, \qquad
    (Z_1, Z_2) = \operatorname{prox}_{h / \rho}(\Theta_1 + U_1, \Theta_2 + U_2), \qquad
    U_g \gets U_g + \Theta_g - Z_g,

over-relaxed. The penalty :math:`h` falls apart into pairs of entries, for which the proximal map is
that of the fused lasso on two points: draw them together, then both towards 0 (Friedman, Hastie,
Höfling and Tibshirani 2007, https://doi.org/10.1214/07-AOAS131). :math:`Y_g = \rho U_g` is always a
subgradient of :math:`h`, hence a feasible dual point.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.csgraph import connected_components

from edgewise._core.jit import kernel
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._solution import sum_histories
from edgewise.solvers.linalg.admm import (
    Bracket,
    Pace,
    Residuals,
    SplitState,
    alternate,
    refuse_unbounded,
)
from edgewise.solvers.linalg.dense import (
    inverse_and_log_determinant,
    likelihood_step,
    log_determinant,
)

RELAXATION = 1.8
PACE = Pace(interval=3, tuning=1000, balance=0.3)


@dataclass(frozen=True, kw_only=True, eq=False)
class TwoGroupProblem:
    """Two covariances and the penalties of their precisions.

    Attributes
    ----------
    S : ndarray of shape (2, p, p)
        Covariances.
    weights : ndarray of shape (2,)
        Weights of the likelihoods.
    sparsity, fusion : ndarray of shape (p, p)
        Strengths of both penalties for every entry. There is no sparsity on the diagonal.
    common : ndarray of shape (p, p)
        Positive definite covariance from which each entry of the mean of ``S`` is no further than
        sparsity allows: that of the model which both groups have in common.
    """

    S: FloatArray
    weights: FloatArray
    sparsity: FloatArray
    fusion: FloatArray
    common: FloatArray

    @property
    def size(self) -> int:
        """Number of variables."""
        return len(self.common)

    @property
    def weighted(self) -> FloatArray:
        """Covariances times the weights of their groups."""
        return self.weights[:, None, None] * self.S

    def objective(self, Theta: FloatArray) -> float:
        """Objective at two symmetric matrices, inf where one is not positive definite."""
        logdets = np.array([log_determinant(one) for one in Theta])
        if np.isinf(logdets).any():
            return np.inf
        fit = float(np.vdot(self.weighted, Theta) - self.weights @ logdets)
        return fit + _penalty(Theta, self.sparsity, self.fusion)

    def bound(self, Y: FloatArray, interior: FloatArray) -> float:
        """Dual objective; a point that is not positive definite is drawn towards ``interior``."""
        share = 1.0
        while share > 1e-3:
            value = self._dual(interior + share * (Y - interior))
            if value > -np.inf:
                return value
            share *= 0.7
        return self._dual(interior)

    def _dual(self, Y: FloatArray) -> float:
        logdets = np.array([log_determinant(one) for one in self.weighted + Y])
        return float(self.weights @ (logdets + self.size * (1.0 - np.log(self.weights))))

    def interior(self) -> FloatArray:
        """Return a feasible dual point, on the way from ``S`` to what is common.

        Both covariances are positive definite there if they are positive semidefinite.
        """
        Y = self.weights[:, None, None] * (self.common - self.S)
        limit = self.sparsity + self.fusion
        size = np.abs(Y).max(axis=0)
        room = np.divide(limit, size, out=np.ones_like(size), where=size > limit)
        return Y * float(room.min())

    def blocks(self) -> list[IntArray]:
        """Split the variables where -S is a feasible multiplier, so that nothing links them."""
        first, second = self.weighted
        limit = self.sparsity + self.fusion
        is_linked = (
            (np.abs(first) > limit)
            | (np.abs(second) > limit)
            | (np.abs(first + second) > 2.0 * self.sparsity)
        )
        n_blocks, label = connected_components(is_linked, directed=False)
        order = np.argsort(label, kind="stable")
        return np.split(order, np.cumsum(np.bincount(label, minlength=n_blocks))[:-1])

    def restrict(self, block: IntArray) -> TwoGroupProblem:
        """Return the problem of some of the variables."""
        if block.size == self.size:
            return self
        rows, columns = inside = np.ix_(block, block)
        return replace(
            self,
            S=self.S[:, rows, columns],
            sparsity=self.sparsity[inside],
            fusion=self.fusion[inside],
            common=self.common[inside],
        )

    def diagonal_solution(self) -> FloatArray:
        r"""Return the best diagonal precisions.

        With :math:`a_g = w_g S_{g, ii}`, the larger of the two is :math:`w_g / (a_g + \alpha)`,
        the other :math:`w_g / (a_g - \alpha)`, if that is in order; otherwise they are equal.
        """
        a = self.weighted.diagonal(axis1=1, axis2=2)
        w, fusion = self.weights[:, None], self.fusion.diagonal()
        high = w / (a + fusion)
        low = np.divide(w, a - fusion, out=np.full_like(a, np.inf), where=a > fusion)
        theta = np.broadcast_to(w.sum() / a.sum(axis=0), a.shape).copy()
        for g in (0, 1):
            is_lower = low[g] < high[1 - g]
            theta[g, is_lower] = low[g, is_lower]
            theta[1 - g, is_lower] = high[1 - g, is_lower]
        return theta[:, :, None] * np.eye(self.size)


def state_of(problem: TwoGroupProblem, Theta: FloatArray) -> SplitState:
    """Start from positive definite precisions: their inverses say what the multipliers are."""
    Sigma = np.stack([inverse_and_log_determinant(one)[0] for one in Theta])
    Y = problem.weights[:, None, None] * (Sigma - problem.S)
    size = float(np.linalg.norm(Y))
    mu = size / float(np.linalg.norm(Theta)) if size > 0 else 1.0
    return SplitState(Z=Theta.copy(), Y=Y, mu=mu)


def solve_blocks(
    problem: TwoGroupProblem, start: SplitState, tol: float, max_iter: int
) -> tuple[FloatArray, SplitState, FloatArray, int]:
    """Solve block by block; return precisions, where the blocks ended, gaps and iterations."""
    Theta = problem.diagonal_solution()
    state = replace(state_of(problem, Theta), mu=start.mu)
    histories, n_iter = [], 0
    # The largest block last, whose penalty parameter is handed on.
    for block in sorted(problem.blocks(), key=len):
        if block.size == 1:
            continue
        rows, columns = np.ix_(block, block)
        part = problem.restrict(block)
        near = replace(start, Z=start.Z[:, rows, columns], Y=start.Y[:, rows, columns])
        found, last, n_steps = split_pair(part, near, tol * block.size, max_iter)
        Theta[:, rows, columns] = found.Theta
        state.Z[:, rows, columns] = last.Z
        state.Y[:, rows, columns] = last.Y
        state = replace(state, mu=last.mu)
        histories.append(found.gaps)
        n_iter = max(n_iter, n_steps)
    return Theta, state, sum_histories(histories), n_iter


def split_pair(
    problem: TwoGroupProblem, start: SplitState, target: float, max_iter: int
) -> tuple[Bracket, SplitState, int]:
    """Iterate until the duality gap is at most ``target``; also return state and iterations."""
    Z, U = start.Z.copy(), start.Y / start.mu
    diagonal = problem.diagonal_solution()
    best = Bracket(Theta=diagonal, objective=problem.objective(diagonal))
    interior = problem.interior()

    def step(mu: float) -> tuple[FloatArray, Residuals]:
        groups = zip(Z, U, problem.weights / mu, problem.S, strict=True)
        Omega = np.stack([likelihood_step(z - u - w * S, w) for z, u, w, S in groups])
        return Omega, _shrink_pairs(Omega, problem.sparsity, problem.fusion, mu, Z, U)

    def is_done(Omega: FloatArray, mu: float, count: int) -> bool:
        refuse_unbounded(float(Omega.diagonal(axis1=1, axis2=2).max()))
        candidate = _structured(Omega, Z)
        bound = problem.bound(mu * U, interior)
        return best.narrow(candidate, problem.objective(candidate), bound) <= target

    count, mu = alternate(step, is_done, U, start.mu, max_iter, PACE)
    if best.bound == -np.inf:
        # No dual point was positive definite, which is what having no minimum looks like.
        refuse_unbounded(np.inf)
    return best, SplitState(Z=Z, Y=mu * U, mu=mu), count


@kernel
def _shrink_pairs(
    Omega: FloatArray,
    sparsity: FloatArray,
    fusion: FloatArray,
    mu: float,
    Z: FloatArray,
    U: FloatArray,
) -> tuple[float, float, float, float]:
    r"""Move copies ``Z`` and scaled multipliers ``U`` in place, a pair of entries at a time.

    With :math:`a` the over-relaxation, :math:`H = a \Theta + (1 - a) Z + U`, then
    :math:`Z \gets \operatorname{prox}(H)` and :math:`U \gets H - Z`. Returns the squared norms of
    :math:`\Theta - Z`, of the change of :math:`Z`, of :math:`Z` and of :math:`U`.
    """
    p = Omega.shape[1]
    primal = dual = size_Z = size_U = 0.0
    for i in range(p):
        for j in range(i + 1):
            first = RELAXATION * Omega[0, i, j] + (1.0 - RELAXATION) * Z[0, i, j] + U[0, i, j]
            second = RELAXATION * Omega[1, i, j] + (1.0 - RELAXATION) * Z[1, i, j] + U[1, i, j]
            middle = 0.5 * (first + second)
            half = 0.5 * (second - first)
            # Where they meet, both are the middle itself, so that ties are exact.
            t = fusion[i, j] / mu
            half = half - t if half > t else (half + t if half < -t else 0.0)
            t = sparsity[i, j] / mu
            for g in range(2):
                h = first if g == 0 else second
                z = middle - half if g == 0 else middle + half
                z -= min(max(z, -t), t)
                u = h - z
                share = 1.0 if i == j else 2.0
                primal += share * (Omega[g, i, j] - z) ** 2
                dual += share * (z - Z[g, i, j]) ** 2
                size_Z += share * z * z
                size_U += share * u * u
                Z[g, i, j] = Z[g, j, i] = z
                U[g, i, j] = U[g, j, i] = u
    return primal, dual, size_Z, size_U


def _structured(Omega: FloatArray, Z: FloatArray) -> FloatArray:
    """Give ``Omega`` the zeros and ties of ``Z``; it is closer to the optimum than ``Z``."""
    tied = np.where(Z[0] == Z[1], 0.5 * (Omega[0] + Omega[1]), Omega)
    return np.where(Z == 0.0, 0.0, tied)


@kernel
def _penalty(Theta: FloatArray, sparsity: FloatArray, fusion: FloatArray) -> float:
    """Return the value of both penalties; where entries are equal, fusion may be infinite."""
    p = Theta.shape[1]
    total = 0.0
    for i in range(p):
        for j in range(p):
            total += sparsity[i, j] * (abs(Theta[0, i, j]) + abs(Theta[1, i, j]))
            if Theta[0, i, j] != Theta[1, i, j]:
                total += fusion[i, j] * abs(Theta[1, i, j] - Theta[0, i, j])
    return total
