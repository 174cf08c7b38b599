r"""The D-trace problem: its products, its certificate, and where it has no minimum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from edgewise._core.errors import InputError, SolverError
from edgewise._core.typing import FloatArray
from edgewise.solvers.change.dtrace_kernels import (
    conjugate_terms,
    largest_residual,
    measure,
    weigh,
)
from edgewise.solvers.linalg.rounding import sum_error

#: A pivot of at most this share of the largest variance counts as rounding.
SINGULAR = 1e-12
#: A residual that exceeds its bound by no more than this share of it has met it.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class DTraceProblem:
    r"""Loss and ridge of the D-trace problem, for any strength of sparsity.

    Attributes
    ----------
    A, B : ndarray of shape (d, d)
        Covariances after (of P) and before (of Q), symmetric and positive semidefinite.
    ridge : float
        Curvature added in all directions.
    penalize_diagonal : bool
        Whether alpha counts for the diagonal; if not, the diagonal is eliminated exactly.
    """

    A: FloatArray
    B: FloatArray
    ridge: float
    penalize_diagonal: bool

    @cached_property
    def C(self) -> FloatArray:  # noqa: N802, a matrix
        """Linear term: before minus after."""
        return self.B - self.A

    def check(self) -> None:
        """Refuse covariances that are not positive semidefinite."""
        _ = self.factors

    @cached_property
    def factors(self) -> tuple[FloatArray, FloatArray]:
        """Matrices F and G with A = F'F and B = G'G, with as many rows as the rank."""
        return _low_rank_factor(self.A, "S_p"), _low_rank_factor(self.B, "S_q")

    @cached_property
    def is_definite(self) -> bool:
        """Whether the loss is curved in all directions."""
        d = len(self.A)
        return all(len(factor) == d for factor in self.factors)

    @property
    def may_be_unbounded(self) -> bool:
        """Whether only alpha, and not curvature, keeps the objective from falling for ever."""
        return self.ridge == 0.0 and not self.is_definite

    @cached_property
    def bottomless_alpha(self) -> float:
        r"""An alpha up to which the objective falls without bound; the smallest may be larger.

        The loss of :math:`t\, v v'` falls at the rate :math:`v' B v` if :math:`A v = 0`, and that
        of :math:`-t\, v v'` at :math:`v' A v` if :math:`B v = 0`; the penalty rises at alpha times
        the squared sum of the sizes in v. Tried are the axes and the eigenvectors of the other
        matrix, within the null space.
        """
        found = 0.0
        for singular, other in ((self.A, self.B), (self.B, self.A)):
            values, vectors = np.linalg.eigh(singular)
            null = vectors[:, values <= 1e2 * SINGULAR * values[-1]]
            if null.shape[1] == 0:
                continue
            within = np.linalg.eigh(null.T @ other @ null)[1]
            rays = null @ np.hstack([null.T, within])
            rates = np.einsum("ik,ik->k", rays, other @ rays)
            costs = np.abs(rays).sum(axis=0) ** 2
            if not self.penalize_diagonal:
                costs -= (rays**2).sum(axis=0)
            # A ray along an axis costs nothing if the diagonal is free; its own check sees it.
            tried = costs > 1e-8 * np.abs(rays).sum(axis=0) ** 2
            found = max(found, float(np.max(rates[tried] / costs[tried], initial=0.0)))
        return found

    def no_minimum(self, alpha: float) -> NoReturn:
        """Raise the error for an objective that falls without end."""
        raise SolverError(
            f"The objective falls without bound at alpha={alpha:.3g}: S_p or S_q is singular. "
            f"There is a minimum only if alpha is larger than {self.bottomless_alpha:.3g} at "
            "least. Raise alpha, or pass a positive ridge."
        )

    @cached_property
    def _inverses(self) -> tuple[FloatArray, FloatArray]:
        return np.asarray(np.linalg.inv(self.A)), np.asarray(np.linalg.inv(self.B))

    @cached_property
    def unpenalised(self) -> FloatArray:
        """Difference of the inverses: the minimum of the loss, where it is definite."""
        after, before = self._inverses
        return 0.5 * (after - before + (after - before).T)

    @cached_property
    def _least_curvature(self) -> float:
        """Lower bound of the curvature of a definite loss, which is a product of eigenvalues."""
        after, before = self._inverses
        return 1.0 / (float(np.linalg.norm(after)) * float(np.linalg.norm(before)))

    @cached_property
    def _unpenalised_error(self) -> float:
        """How far `unpenalised` may be from the minimum, by the norm that the loss defines."""
        product = (self.A @ self.unpenalised) @ self.B
        left = np.abs(self.C - 0.5 * (product + product.T))
        a, b, share = self._errors(self.unpenalised)
        left += share * np.outer(a, b)
        return float(np.linalg.norm(left)) / float(np.sqrt(self._least_curvature))

    @cached_property
    def _deviations(self) -> tuple[FloatArray, FloatArray]:
        """Roots of the variances after and before, whose products bound covariances."""
        return np.sqrt(self.A.diagonal()), np.sqrt(self.B.diagonal())

    def _errors(self, Delta: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        r"""Bound what rounding makes of :math:`A \Delta B`, as multiples of products of deviations.

        Since covariances are at most the products of their deviations a and b, entry (i, j) of
        :math:`|A| |\Delta| |B|` is at most :math:`a_i b_j \sum_{kl} a_k |\Delta_{kl}| b_l`.
        """
        a, b = self._deviations
        return a, b, 2.0 * sum_error(len(a)) * float(weigh(Delta, a, b))

    @cached_property
    def _has_few_factors(self) -> bool:
        """Whether products of the factors are faster, and as good as those of the covariances."""
        F, G = self.factors
        d = len(self.A)
        return len(F) + len(G) < d and all(
            (S.diagonal() - np.sum(factor**2, axis=0) <= sum_error(d) * S.diagonal()).all()
            for S, factor in ((self.A, F), (self.B, G))
        )

    def sandwich(self, Delta: FloatArray) -> FloatArray:
        """Multiply a symmetric matrix by A from the left and by B from the right."""
        if self._has_few_factors:
            F, G = self.factors
            return np.asarray(F.T @ ((F @ Delta) @ G.T @ G))
        return np.asarray((self.A @ Delta) @ self.B)

    def residual(self, Delta: FloatArray) -> FloatArray:
        r"""Return :math:`C - (A \Delta B + B \Delta A) / 2`, once a free diagonal is at its best.

        ``Delta`` is changed in place: :math:`(A \circ B + \mathrm{ridge}\, I)\, \delta` is the
        residual of the diagonal if :math:`\delta` is what it lacks.
        """
        if not self.penalize_diagonal:
            diagonal = np.einsum("ij,ij->i", self.A @ Delta, self.B)
            lack = self.C.diagonal() - diagonal - self.ridge * Delta.diagonal()
            np.fill_diagonal(Delta, Delta.diagonal() + self._solve_diagonal(lack))
        product = self.sandwich(Delta)
        residual = self.C - 0.5 * (product + product.T)
        if not self.penalize_diagonal:
            np.fill_diagonal(residual, self.ridge * Delta.diagonal())
        return residual

    def objective(self, Delta: FloatArray, residual: FloatArray, alpha: float) -> float:
        """Loss, ridge and penalty, given the residual."""
        size, inner, _ = measure(Delta, residual, not self.penalize_diagonal)
        loss = -0.5 * (float(np.vdot(self.C, Delta)) + inner)
        return loss + 0.5 * self.ridge * float(np.vdot(Delta, Delta)) + alpha * size

    def gap(self, Delta: FloatArray, residual: FloatArray, alpha: float) -> float:
        r"""Return the duality gap.

        The dual problem is to maximise :math:`-\frac12 \langle \Gamma, H \Gamma \rangle - \sum
        g^*((C - H \Gamma)_{ij})`, with :math:`H` the operator of the loss. With a ridge,
        :math:`\Gamma = \Delta` is feasible. Without one, residuals must not exceed alpha: the
        point between :math:`\Delta` and the minimum of the loss that scales them down to it is
        taken, which costs half of :math:`(1 - s)^2 \langle R, H^{-1} R \rangle`. What rounding may
        have done to the residuals is counted in: where the loss is curved in all directions, as
        a change of that point; otherwise, as residuals that are larger.
        """
        is_free = not self.penalize_diagonal
        a, b, share = self._errors(Delta)
        scale, cost = 1.0, 0.0
        if self.ridge == 0.0 and self.is_definite:
            largest = largest_residual(residual, a, b, 0.0, is_free)
            scale = min(1.0, alpha / largest) if largest > 0.0 else 1.0
            cost = 0.5 * self._detour(Delta, residual, share, scale) ** 2
            share = 0.0
        elif self.ridge == 0.0 and largest_residual(residual, a, b, share, is_free) > alpha * (
            1.0 + ROUNDING
        ):
            return np.inf
        errors = (a, b, share)
        return cost + conjugate_terms(Delta, residual, errors, self.ridge, alpha, scale, is_free)

    def _detour(self, Delta: FloatArray, residual: FloatArray, share: float, scale: float) -> float:
        """Bound how far a point is whose residual is ``scale`` times the one that was computed.

        Counted from ``Delta``, by the norm that the loss defines.
        """
        a, b = self._deviations
        way = 0.0
        if scale < 1.0:
            ahead = self.unpenalised - Delta
            square = max(float(np.vdot(residual, ahead)), 0.0) + share * weigh(ahead, a, b)
            way = (1.0 - scale) * (float(np.sqrt(square)) + self._unpenalised_error)
        error = share * float(np.linalg.norm(a) * np.linalg.norm(b))
        return way + error / float(np.sqrt(self._least_curvature))

    def _solve_diagonal(self, lack: FloatArray) -> FloatArray:
        factor = self._diagonal_factor
        if factor is not None:
            return np.asarray(linalg.cho_solve(factor, lack))
        inverse = self._diagonal_inverse
        solution = np.asarray(inverse @ lack)
        unmet = linalg.norm(lack - self._diagonal_matrix @ solution)
        if unmet > 1e-8 * linalg.norm(self.C.diagonal()):
            raise SolverError(
                "The objective falls without bound for any alpha: the diagonal is free, and S_p or "
                "S_q is singular. Pass penalize_diagonal=True or a positive ridge."
            )
        return solution

    @cached_property
    def _diagonal_matrix(self) -> FloatArray:
        return self.A * self.B + self.ridge * np.eye(len(self.A))

    @cached_property
    def _diagonal_factor(self) -> tuple[FloatArray, bool] | None:
        """Cholesky factor of the curvature of the diagonal, None where it is singular."""
        try:
            factor, is_lower = linalg.cho_factor(self._diagonal_matrix)
        except linalg.LinAlgError:
            return None
        pivots = factor.diagonal() ** 2
        return (factor, is_lower) if pivots.min() > SINGULAR * pivots.max() else None

    @cached_property
    def _diagonal_inverse(self) -> FloatArray:
        return np.asarray(linalg.pinvh(self._diagonal_matrix, rtol=SINGULAR))


def _low_rank_factor(S: FloatArray, name: str) -> FloatArray:
    """Return F with S = F'F and as many rows as S has rank, or refuse what has no such F."""
    largest = float(S.diagonal().max())
    factor, pivots, rank, info = lapack.dpstrf(S, tol=SINGULAR * largest)
    d = len(S)
    F = np.zeros((rank, d))
    F[:, pivots - 1] = np.triu(factor)[:rank]
    # On a matrix with negative eigenvalues the pivots end early and leave something over.
    if info != 0 and np.abs(F.T @ F - S).max() > 1e-8 * largest:
        raise InputError(
            f"{name} must be positive semidefinite; its smallest eigenvalue is "
            f"{np.linalg.eigvalsh(S)[0]:.3g}. Repair it first."
        )
    return F
