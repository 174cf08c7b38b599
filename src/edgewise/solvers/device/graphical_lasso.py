r"""The graphical lasso on arrays of any library, such as those of a GPU.

Block descent has no work for many cores at once. Proximal gradients have, a Cholesky factor and an
inverse a step, and are taken as long as they close the gap fast (`descend`); alternating directions
do the rest. With :math:`t` the thresholds, scaled multipliers :math:`U` and penalty parameter
:math:`\mu`, an iteration is

.. math::
    X = \arg\min_{X \succ 0} \; \operatorname{tr}(S X) - \log\det X
    + \tfrac{\mu}{2} \|X - Z + U\|^2, \qquad
    Z \gets \operatorname{soft}_{t / \mu}(H), \qquad U \gets H - Z,

with :math:`H = a X + (1 - a) Z + U`. It is made of matrix products, and every few iterations of two
Cholesky factors for the gap: the objective at :math:`Z` less the dual objective at
:math:`S + \mu U`, which lies in the box around :math:`S` at every iteration.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from edgewise._core.arrays import array_namespace, like, to_numpy
from edgewise._core.errors import InputError, SolverError
from edgewise._core.typing import IntArray
from edgewise.solvers.device.gradient_steps import ArraySteps
from edgewise.solvers.gaussian.glasso_component import solve_component
from edgewise.solvers.gaussian.standard_form import StandardForm
from edgewise.solvers.linalg.blocks import linked_sets, put, take
from edgewise.solvers.linalg.dense import (
    STEP_SHARE,
    LikelihoodStep,
    inner,
    inverse_and_log_determinant,
    log_determinant,
    set_diagonal,
    soften,
    squared_norm,
)
from edgewise.solvers.linalg.first_order import (
    DEVICE,
    Bracket,
    Pace,
    Residuals,
    alternate,
    descend,
    refuse_unbounded,
)

RELAXATION = 1.6
PACE = Pace(interval=10, tuning=300, balance=1.0)
#: Matrices of the size of the covariance that are held at the same time, at most.
MATRICES = 20
#: Variables from which on a GPU is the faster one but for sparse graphs, where it is as fast.
GPU_FROM = 1000
#: Components below this many variables are solved on the host, where they take less time.
HOST_BELOW = 200
#: Share of the variables in one component from which on all are solved as one: cutting the others
#: out saves less than sizes that are no multiple of a power of two cost.
MOSTLY = 0.9


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseProblem:
    """A covariance with unit diagonal, and thresholds that are 0 on the diagonal."""

    S: Any
    thresholds: Any

    @classmethod
    def scaled(
        cls, S: Any, alpha: float, weights: Any, *, penalize_diagonal: bool
    ) -> tuple[DenseProblem, Any]:
        """Bring a covariance to unit diagonal, as `StandardForm` says; also return the scale."""
        xp = array_namespace(S)
        limits = xp.full_like(S, alpha)
        if weights is not None:
            # Infinite even where alpha is 0: a forbidden edge stays forbidden.
            is_forbidden = xp.isinf(weights)
            limits = xp.where(is_forbidden, math.inf, limits * xp.where(is_forbidden, 0.0, weights))
        variance = xp.linalg.diagonal(S)
        if penalize_diagonal:
            variance = variance + xp.linalg.diagonal(limits)
        scale = 1.0 / xp.sqrt(variance)
        units = scale[:, None] * scale[None, :]
        problem = cls(S=set_diagonal(S * units, 1.0), thresholds=set_diagonal(limits * units, 0.0))
        return problem, scale

    def restrict(self, index: IntArray) -> DenseProblem:
        """Return the problem of some of the variables."""
        return DenseProblem(S=take(self.S, index), thresholds=take(self.thresholds, index))

    def clip(self, W: Any) -> Any:
        """Return the dual feasible point that is nearest to ``W``."""
        xp = array_namespace(W)
        W = xp.maximum(xp.minimum(W, self.S + self.thresholds), self.S - self.thresholds)
        return set_diagonal(W, 1.0)

    def objective(self, Theta: Any, logdet: float) -> float:
        """Objective at a positive definite matrix whose log-determinant is known."""
        return inner(self.S, Theta) + self.penalty(Theta) - logdet

    def penalty(self, Theta: Any) -> float:
        """Return the penalty of a matrix."""
        xp = array_namespace(Theta)
        # A forbidden entry that is 0 costs nothing.
        return inner(xp.where(Theta == 0.0, 0.0, self.thresholds), xp.abs(Theta))

    def bound(self, W: Any) -> float:
        """Dual objective at a feasible point."""
        return log_determinant(W) + int(W.shape[0])

    def shrink(self, H: Any, t: float) -> Any:
        """Return the proximal map of t times the penalty."""
        return soften(H, t * self.thresholds)


def split_dense(
    problem: DenseProblem, target: float, max_iter: int, start: tuple[Any, Any] | None = None
) -> tuple[Bracket, int]:
    """Iterate until the duality gap is at most ``target``; also return the iterations.

    Parameters
    ----------
    problem : DenseProblem
    target : float
        Gap to reach.
    max_iter : int
        Most iterations.
    start : tuple (Theta, W), optional
        Precision and covariance of a nearby problem.
    """
    S = problem.S
    xp = array_namespace(S)
    Z = set_diagonal(xp.zeros_like(S), 1.0) if start is None else start[0]
    W = problem.clip(xp.zeros_like(S) if start is None else start[1])
    mu = math.sqrt(squared_norm(W - S) / squared_norm(Z)) or 1.0
    U = (W - S) / mu
    best = Bracket(Theta=Z, objective=math.inf)
    likelihood, distance, last_mu = LikelihoodStep(), 0.0, mu

    def step(mu: float) -> tuple[Any, Residuals]:
        nonlocal Z, U, distance, last_mu
        if mu != last_mu:
            U, last_mu = U * (last_mu / mu), mu
        X = likelihood(Z - U - S / mu, 1.0 / mu, STEP_SHARE * distance)
        H = RELAXATION * X + (1.0 - RELAXATION) * Z + U
        before, Z = Z, problem.shrink(H, 1.0 / mu)
        U = H - Z
        primal = squared_norm(X - Z)
        distance = math.sqrt(primal)
        return X, (primal, squared_norm(Z - before), squared_norm(Z), squared_norm(U))

    def is_done(X: Any, mu: float, count: int) -> bool:
        refuse_unbounded(float(xp.max(xp.linalg.diagonal(X))))
        logdet = log_determinant(Z)
        value = problem.objective(Z, logdet) if logdet > -math.inf else math.inf
        return best.narrow(Z, value, problem.bound(problem.clip(S + mu * U))) <= target

    n_iter, _ = alternate(step, is_done, None, mu, max_iter, PACE)
    if not best.gap < math.inf:
        raise SolverError("no_certified_precision", n_iter=n_iter)
    return best, n_iter


def _solve_large(
    problem: DenseProblem, target: float, max_iter: int, near: Any
) -> tuple[Bracket, Any, int]:
    """Solve one component from a nearby precision, if any; also return inverse and iterations."""
    xp = array_namespace(problem.S)
    start = set_diagonal(xp.zeros_like(problem.S), 1.0) if near is None else near
    inverse = start if near is None else inverse_and_log_determinant(near)[0]
    steps = ArraySteps(
        S=problem.S[None, ...],
        weights=np.ones(1),
        shrink=problem.shrink,
        penalty=lambda Theta: problem.penalty(Theta[0, ...]),
    )
    best, Sigma, count = descend(
        steps,
        lambda fitted: problem.bound(fitted[0, ...]),
        (start[None, ...], inverse[None, ...]),
        1.0,
        target,
        max_iter,
        DEVICE,
    )
    if best.gap <= target:
        return replace(best, Theta=best.Theta[0, ...]), Sigma[0, ...], count
    # Where steps are slow, the point they reached is no better to begin at: correlations of
    # neighbours of 0.95 take half as many iterations again from there.
    gaps, again = best.gaps, None if near is None else (near, inverse)
    best, more = split_dense(problem, target, max(max_iter - count, 1), again)
    Sigma, _ = inverse_and_log_determinant(best.Theta)
    return replace(best, gaps=gaps + best.gaps), Sigma, count + more


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseSolution:
    """Precision and covariance of all components, with unit variances, and their sums."""

    Theta: Any
    Sigma: Any
    logdet: float
    gap: float
    n_iter: int
    histories: list[list[float]]


def solve_dense(problem: DenseProblem, tol: float, max_iter: int, near: Any) -> DenseSolution:
    """Solve component by component, the small ones on the host, to a gap of ``tol`` per variable.

    ``near`` is the precision of a nearby problem, or None.
    """
    S = problem.S
    p, parts = S.shape[0], components(problem)
    is_whole = parts[0].size == p >= HOST_BELOW
    xp = array_namespace(S)
    Theta, Sigma = (S if is_whole else set_diagonal(xp.zeros_like(S), 1.0) for _ in range(2))
    logdet, gap, n_iter, histories = 0.0, 0.0, 0, []
    small = [index for index in parts if 1 < index.size < HOST_BELOW]
    if small:
        together = np.concatenate(small)
        # On the host a matrix of all variables would take longer to come by than most solves.
        on_host = [np.zeros((together.size, together.size)) for _ in range(2)]
        first = 0
        for index in small:
            part, here = problem.restrict(index), slice(first, first + index.size)
            form = StandardForm(
                to_numpy(part.S), 1.0, np.ones(index.size), to_numpy(part.thresholds)
            )
            solved = solve_component(form, tol * index.size, max_iter)
            on_host[0][here, here], on_host[1][here, here] = solved.Theta, solved.Sigma
            logdet, gap = logdet + solved.logdet, gap + solved.gap
            n_iter, first = max(n_iter, solved.n_iter), here.stop
            histories.append(solved.history)
        Theta, Sigma = (
            put(A, together, like(B, S)) for A, B in zip((Theta, Sigma), on_host, strict=True)
        )
    for index in parts:
        if index.size < HOST_BELOW:
            continue
        start = near if is_whole or near is None else take(near, index)
        part = problem if is_whole else problem.restrict(index)
        best, inverse, count = _solve_large(part, tol * index.size, max_iter, start)
        # What the objective takes off its other terms.
        logdet += part.objective(best.Theta, best.objective)
        gap += best.gap
        n_iter = max(n_iter, count)
        histories.append(best.gaps)
        Theta = best.Theta if is_whole else put(Theta, index, best.Theta)
        Sigma = inverse if is_whole else put(Sigma, index, inverse)
    return DenseSolution(
        Theta=Theta, Sigma=Sigma, logdet=logdet, gap=gap, n_iter=n_iter, histories=histories
    )


def components(problem: Any) -> list[IntArray]:
    """Split the variables where no covariance exceeds its threshold, unless most are linked.

    ``problem`` has a covariance ``S`` and ``thresholds``. The component of the variable with most
    links, which is most of them as a rule, is found where the matrices are.
    """
    xp = array_namespace(problem.S)
    is_linked = set_diagonal(xp.abs(problem.S) > problem.thresholds, False)
    degree = xp.sum(xp.astype(is_linked, xp.int64), axis=1)
    first = int(xp.argmax(degree))
    is_reached = xp.arange(degree.shape[0], device=degree.device) == first
    n_reached, count = 0, 1
    while count > n_reached:
        is_reached = is_reached | xp.any(is_linked & is_reached[None, :], axis=1)
        n_reached, count = count, int(xp.sum(xp.astype(is_reached, xp.int64)))
    if n_reached > MOSTLY * degree.shape[0]:
        return [np.arange(degree.shape[0])]
    reached = to_numpy(is_reached)
    rest = np.flatnonzero(~reached)
    others = [rest[part] for part in linked_sets(take(is_linked, rest))] if rest.size else []
    return [np.flatnonzero(reached), *others]


def check_dense(S: Any, weights: Any) -> tuple[Any, Any]:
    """Return a symmetric covariance and its weights, or say what is wrong with them."""
    xp = array_namespace(S)
    if len(S.shape) != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise InputError("covariance_not_square", shape=tuple(S.shape))
    if S.dtype != xp.float64:
        S = xp.astype(S, xp.float64)
    if not bool(xp.all(xp.isfinite(S))):
        raise InputError("covariances_not_finite")
    difference = float(xp.max(xp.abs(S - S.T)))
    if difference > 1e-8 * float(xp.max(xp.linalg.diagonal(S))):
        raise InputError("covariance_asymmetric_by", difference=difference)
    if float(xp.min(xp.linalg.diagonal(S))) <= 0.0:
        raise InputError("variance_not_positive")
    if weights is not None:
        weights = like(weights, S)
        if tuple(weights.shape) != tuple(S.shape):
            raise InputError(
                "weights_shape_like_s", shape=tuple(S.shape), shape2=tuple(weights.shape)
            )
        if not bool(xp.all(weights >= 0.0)) or not bool(xp.all(weights == weights.T)):
            raise InputError("weights_symmetric_positive")
        if not bool(xp.all(xp.isfinite(xp.linalg.diagonal(weights)))):
            raise InputError("weights_diagonal_finite")
    return (S if difference == 0.0 else 0.5 * (S + S.T)), weights
