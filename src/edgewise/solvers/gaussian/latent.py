"""Latent-variable graphical lasso: sparse plus low rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from edgewise._core.errors import InputError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray
from edgewise.solvers._arguments import check_nonnegative, check_numbers
from edgewise.solvers._solution import Solution
from edgewise.solvers.gaussian.graphical_lasso import graphical_lasso
from edgewise.solvers.gaussian.standard_form import check_problem
from edgewise.solvers.linalg.dense import (
    STEP_SHARE,
    LikelihoodStep,
    inverse_and_log_determinant,
    log_determinant,
)
from edgewise.solvers.linalg.first_order import Pace, Residuals, alternate, refuse_unbounded

RELAXATION = 1.6
PACE = Pace(interval=10, tuning=300, balance=1.0)
#: Up to so many variables all eigenvectors are as cheap as a few.
FEW = 100
#: Share of the variables above which the rank is no longer low.
LOW = 0.2


@dataclass(frozen=True, kw_only=True, eq=False)
class LatentPrecisionSolution(Solution):
    """Solution whose ``value`` is a precision matrix, sparse but for a low rank.

    Attributes
    ----------
    sparse : ndarray of shape (p, p)
        Precision of the variables given the factors, :math:`A`.
    low_rank : ndarray of shape (p, p)
        What the factors take off it, :math:`L`; ``value`` is ``sparse - low_rank``.
    rank : int
        Rank of ``low_rank``: number of factors.
    covariance : ndarray of shape (p, p)
        Inverse of ``value``.
    alpha, tau : float
        Penalty strengths that the problem was solved for.
    """

    sparse: FloatArray
    low_rank: FloatArray
    rank: int
    covariance: FloatArray
    alpha: float
    tau: float


def latent_graphical_lasso(
    S: FloatArray,
    alpha: float,
    tau: float,
    *,
    weights: FloatArray | None = None,
    init: LatentPrecisionSolution | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> LatentPrecisionSolution:
    r"""Estimate a precision matrix that is sparse but for a few hidden factors.

    Minimises over symmetric :math:`A` and positive semidefinite :math:`L` with :math:`A - L`
    positive definite

    .. math::
        \operatorname{tr}(S (A - L)) - \log\det(A - L)
        + \alpha \sum_{i \ne j} w_{ij} |A_{ij}| + \tau \operatorname{tr} L,

    where :math:`S` is the covariance, :math:`\alpha` the penalty of edges with weights :math:`w`
    (one unless given) and :math:`\tau` the penalty of factors. Where the variables and some hidden
    ones are Gaussian together, :math:`A` is the precision of the variables given the hidden ones,
    and :math:`L` has a rank of at most their number.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance or correlation matrix with positive diagonal. The trace of :math:`L` weighs
        variables in their units: take correlations where these differ.
    alpha, tau : float
        Penalty strengths, at least 0 and above 0.
    weights : ndarray of shape (p, p), optional
        Symmetric penalty weights: 0 leaves an edge free, ``inf`` forbids it.
    init : LatentPrecisionSolution, optional
        Solution for nearby strengths to start from.
    tol : float
        Duality gap per variable at which to stop.
    max_iter : int
        Largest number of iterations.

    Returns
    -------
    LatentPrecisionSolution
        ``value`` is :math:`A - L`, ``sparse`` is :math:`A`, with exact zeros, and ``low_rank``
        is :math:`L`.

    Notes
    -----
    The dual problem is that of the graphical lasso with one constraint more,

    .. math:: \max_W \log\det(S + W) + p \quad \text{with} \quad
        |W_{ij}| \le \alpha w_{ij}, \; W_{ii} = 0, \; W \succeq -\tau I,

    so that :math:`L = 0` for every :math:`\tau` of at least :func:`latent_tau_max`, minus the
    smallest eigenvalue of :math:`W` at the optimum of the graphical lasso. Below, alternating
    directions move the precision, :math:`L` and :math:`A` in turn. The multipliers keep to the box;
    shrunk towards zero until the eigenvalues hold they are the dual point of the gap.

    References
    ----------
    V. Chandrasekaran, P. Parrilo and A. Willsky (2012), Latent variable graphical model selection
    via convex optimization, Annals of Statistics 40, 1935-1967. https://doi.org/10.1214/11-AOS949

    Examples
    --------
    A factor behind all of six variables, which are linked by nothing else:

    >>> import numpy as np
    >>> from edgewise.solvers import latent_graphical_lasso
    >>> S = np.full((6, 6), 0.5) + 0.5 * np.eye(6)
    >>> solution = latent_graphical_lasso(S, alpha=0.1, tau=0.2)
    >>> solution.rank, int(np.count_nonzero(np.triu(solution.sparse, 1)))
    (1, 0)
    """
    S, weights = check_problem(S, weights)
    check_numbers([alpha], tol, max_iter)
    check_nonnegative(tau=tau)
    if tau == 0.0:
        raise InputError("tau_positive_for_factors", "tau")
    p = S.shape[0]
    limits = np.full((p, p), float(alpha))
    if weights.size:
        limits = np.where(np.isinf(weights), np.inf, alpha * np.where(weights > 0, weights, 0.0))
    np.fill_diagonal(limits, 0.0)
    problem = _Problem(S, limits, float(alpha), float(tau))
    with blas_threads_for(p):
        if init is None:
            plain = graphical_lasso(
                S, alpha, weights=weights if weights.size else None, tol=tol, decide=0.0
            )
            point = problem.point(plain.value, np.zeros((p, p)), 0)
            W = np.clip(plain.covariance - S, -limits, limits)
        else:
            point = problem.point(init.sparse, init.low_rank, init.rank)
            W = np.clip(init.covariance - S, -limits, limits)
        if point is None:
            raise InputError("latent_init_indefinite", "init")
        return _Split(problem, point, W).run(tol * p, max_iter)


def latent_tau_max(S: FloatArray, alpha: float, *, weights: FloatArray | None = None) -> float:
    """Return the smallest ``tau`` at which no factor is found.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance or correlation matrix.
    alpha : float
        Penalty of edges.
    weights : ndarray of shape (p, p), optional
        Penalty weights of edges.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.gaussian.latent import latent_tau_max
    >>> round(latent_tau_max(np.full((3, 3), 0.5) + 0.5 * np.eye(3), 0.1), 6)
    0.2
    """
    found = graphical_lasso(S, alpha, weights=weights, tol=1e-10)
    W = found.covariance - S
    np.fill_diagonal(W, 0.0)
    return float(max(0.0, -eigh(W, eigvals_only=True, subset_by_index=(0, 0))[0]))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Point:
    """A sparse matrix, a low rank, and the positive definite difference."""

    A: FloatArray
    L: FloatArray
    rank: int
    Theta: FloatArray
    Sigma: FloatArray
    objective: float


@dataclass(frozen=True, eq=False)
class _Problem:
    """What is minimised; ``limits`` are the largest entries of the dual point."""

    S: FloatArray
    limits: FloatArray
    alpha: float
    tau: float

    def point(self, A: FloatArray, L: FloatArray, rank: int) -> _Point | None:
        """Judge a pair, or return None where the difference is not positive definite."""
        Theta = A - L
        Sigma, logdet = inverse_and_log_determinant(Theta)
        if Sigma is None:
            return None
        penalised = float(np.abs(A * np.where(A != 0.0, self.limits, 0.0)).sum())
        objective = float(np.vdot(self.S, Theta)) - logdet + penalised
        objective += self.tau * float(np.trace(L))
        return _Point(A=A, L=L, rank=rank, Theta=Theta, Sigma=Sigma, objective=objective)

    def bound(self, W: FloatArray) -> float:
        """Return the dual objective of a point of the box, shrunk until its eigenvalues hold."""
        lowest = float(eigh(W, eigvals_only=True, subset_by_index=(0, 0))[0])
        if lowest < -self.tau:
            W = W * (self.tau / -lowest)
        return log_determinant(self.S + W) + len(W)


class _Split:
    """Alternating directions for one problem, from a point and a dual point."""

    def __init__(self, problem: _Problem, start: _Point, W: FloatArray) -> None:
        self.problem, self.best = problem, start
        self.A, self.L, self.rank = start.A.copy(), start.L.copy(), start.rank
        self.Z = self.A - self.L
        size = float(np.linalg.norm(W)) / float(np.linalg.norm(self.Z))
        self.mu = size if size > 0.0 else 1.0
        self.U = W / self.mu
        self.likelihood, self.distance = LikelihoodStep(), 0.0
        self.lower = -np.inf
        self.gaps: list[float] = []

    def run(self, target: float, max_iter: int) -> LatentPrecisionSolution:
        """Iterate until the gap is at most ``target``."""
        n_iter = 0
        if not self._look(self.mu * self.U, target):
            n_iter, _ = alternate(
                self._step,
                lambda Omega, mu, count: self._is_done(Omega, mu, target),
                self.U,
                self.mu,
                max_iter,
                PACE,
            )
        best, gap = self.best, self.best.objective - self.lower
        return LatentPrecisionSolution(
            value=best.Theta,
            sparse=best.A,
            low_rank=best.L,
            rank=best.rank,
            covariance=best.Sigma,
            objective=best.objective,
            gap=gap,
            n_iter=n_iter,
            converged=gap <= target,
            history=np.array(self.gaps),
            alpha=self.problem.alpha,
            tau=self.problem.tau,
        )

    def _step(self, mu: float) -> tuple[FloatArray, Residuals]:
        """Move the precision, then the factors, then the edges."""
        problem, Z, U = self.problem, self.Z, self.U
        Omega = self.likelihood(Z - U - problem.S / mu, 1.0 / mu, STEP_SHARE * self.distance)
        H = RELAXATION * Omega + (1.0 - RELAXATION) * Z + U
        self.L, self.rank = _shrink_spectrum(self.A - H, problem.tau / mu, self.rank)
        self.A = _shrink_entries(H + self.L, problem.limits / mu)
        self.Z = self.A - self.L
        U[:] = H - self.Z
        primal = float(np.square(Omega - self.Z).sum())
        residuals = (
            primal,
            float(np.square(self.Z - Z).sum()),
            float(np.square(self.Z).sum()),
            float(np.square(U).sum()),
        )
        self.distance = float(np.sqrt(primal))
        return Omega, residuals

    def _is_done(self, Omega: FloatArray, mu: float, target: float) -> bool:
        """Judge the edges and factors, and the multipliers."""
        refuse_unbounded(float(Omega.diagonal().max()))
        point = self.problem.point(self.A, self.L, self.rank)
        if point is not None and point.objective < self.best.objective:
            self.best = point
        return self._look(mu * self.U, target)

    def _look(self, W: FloatArray, target: float) -> bool:
        """Take in a dual point; say whether the gap is small enough."""
        self.lower = max(self.lower, self.problem.bound(W))
        self.gaps.append(self.best.objective - self.lower)
        return self.gaps[-1] <= target


def _shrink_entries(H: FloatArray, limits: FloatArray) -> FloatArray:
    """Soft-threshold each entry."""
    return np.asarray(H - np.clip(H, -limits, limits))


def _shrink_spectrum(M: FloatArray, limit: float, rank: int) -> tuple[FloatArray, int]:
    """Lower the eigenvalues by ``limit`` and keep the positive ones; ``rank`` is a guess."""
    values, vectors = _largest_eigenvalues(M, limit, max(rank + 1, 2))
    kept = values > limit
    half = vectors[:, kept] * np.sqrt(values[kept] - limit)
    return half @ half.T, int(kept.sum())


def _largest_eigenvalues(M: FloatArray, limit: float, k: int) -> tuple[FloatArray, FloatArray]:
    """Find the eigenvalues above ``limit`` and maybe more, about ``k`` of them."""
    p = len(M)
    # The same start each time keeps results the same from run to run.
    start = np.linspace(1.0, 2.0, p)
    while p > FEW and k < LOW * p:
        try:
            values, vectors = eigsh(M, k=k, which="LA", v0=start, tol=1e-12)
        except ArpackNoConvergence:
            break
        if values.min() <= limit:
            return values, vectors
        k *= 2
    values, vectors = eigh(M, subset_by_value=(limit, np.inf), driver="evr")
    return values, vectors
