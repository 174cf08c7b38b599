"""Joint precisions along a path of couplings, and the coupling that ties two groups.

Two fused groups tell exactly when nothing differs: what ties their entries off the diagonal is
compared with its bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from edgewise._core.arrays import is_foreign, to_numpy
from edgewise._core.errors import InputError, SolverError
from edgewise._core.jit import blas_threads_for
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._arguments import (
    LARGEST_INFLATION,
    check_covariances,
    check_group_weights,
    check_numbers,
    check_starts,
)
from edgewise.solvers._solution import sum_histories
from edgewise.solvers.change.group_penalties import ALL_PAIRS, Layers
from edgewise.solvers.change.joint_graphical_lasso import (
    JointPrecisionSolution,
    JointProblem,
    joint_graphical_lasso,
    split,
    state_of,
)
from edgewise.solvers.gaussian.graphical_lasso import graphical_lasso
from edgewise.solvers.linalg.dense import inverse_and_log_determinant
from edgewise.solvers.linalg.first_order import SplitState, weigh

#: Groups whose covariances differ by less, as a share of the largest entry, are alike.
ALIKE = 1e-9
#: Relative accuracy to which the largest alpha is found, gap per variable for that, and steps.
ALPHA_ACCURACY, ALPHA_TOL, ALPHA_STEPS = 1e-4, 1e-11, 30
#: Times its bound up to which a multiplier may come to meet it: once variances are free to
#: differ, and once they are solved for as accurately as the rest.
LIKELY = (20.0, 1.5)
#: The coupling of two groups: the one difference there is.
BOTH = Layers(kind=ALL_PAIRS, paths=np.arange(2)[None], is_linked=np.zeros((1, 2), dtype=bool))


def joint_graphical_lasso_path(
    S: FloatArray,
    alpha: float,
    couplings: Sequence[float] | FloatArray,
    *,
    penalty: Literal["fused", "group"] = "fused",
    pairs: Sequence[tuple[int, int]] | IntArray | None = None,
    group_weights: Sequence[float] | FloatArray | None = None,
    penalize_diagonal: bool | Literal["coupling"] = False,
    init: FloatArray | None = None,
    tol: float = 1e-6,
    max_iter: int = 5000,
) -> list[JointPrecisionSolution]:
    r"""Solve `joint_graphical_lasso` for several strengths of coupling, each started from the last.

    Parameters
    ----------
    S : ndarray of shape (K, p, p)
        Covariances of the groups.
    alpha : float
        Strength of sparsity.
    couplings : sequence of float
        Strengths of the coupling. They are solved from the largest down and returned in the order
        given.
    penalty, pairs, group_weights, penalize_diagonal, init, tol, max_iter
        As in `joint_graphical_lasso`; ``init`` starts the first.

    Returns
    -------
    list of JointPrecisionSolution
        One for each of ``couplings``.

    Notes
    -----
    Two groups with a fused penalty start from the precision that they would have in common. Where
    the coupling may be too strong for any entry off the diagonal to differ, these are tied first;
    that is the solution if the multipliers keep to their bounds

    .. math::
        |Y_{1, ij} + Y_{2, ij}| \le 2 \alpha, \qquad |Y_{k, ij}| \le \alpha + \gamma

    all the same, so that entries are exactly equal from `joint_coupling_max` on.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.joint_path import joint_graphical_lasso_path
    >>> S = np.stack([np.eye(3), [[1.0, 0.6, 0.2], [0.6, 1.0, 0.0], [0.2, 0.0, 1.0]]])
    >>> path = joint_graphical_lasso_path(S, 0.0, [0.4, 0.2, 0.05], penalize_diagonal="coupling")
    >>> [int(np.count_nonzero(np.triu(s.value[1] != s.value[0], 1))) for s in path]
    [0, 1, 2]
    """
    strengths = np.asarray(couplings, dtype=np.float64)
    if strengths.ndim != 1 or strengths.size == 0:
        raise InputError("couplings_empty", "coupling")
    order = np.argsort(-strengths, kind="stable")
    is_pair = not is_foreign(S) and len(S) == 2 and penalty == "fused" and pairs is None
    if is_pair and penalize_diagonal is not True:
        diagonal = penalize_diagonal == "coupling"
        model = _check(S, alpha, strengths, group_weights, tol, max_iter, is_diagonal=diagonal)
        found = list(model.solve_path(strengths[order], init, tol, max_iter))
    else:
        found = []
        for coupling in strengths[order].tolist():
            solution = joint_graphical_lasso(
                S,
                alpha,
                coupling,
                penalty=penalty,
                pairs=pairs,
                group_weights=group_weights,
                penalize_diagonal=penalize_diagonal,
                init=init,
                tol=tol,
                max_iter=max_iter,
            )
            found.append(solution)
            init = to_numpy(solution.value)
    return [found[k] for k in np.argsort(order, kind="stable")]


def joint_coupling_max(
    S: FloatArray,
    alpha: float,
    *,
    group_weights: Sequence[float] | FloatArray | None = None,
    penalize_diagonal: bool | Literal["coupling"] = False,
    max_iter: int = 5000,
) -> float:
    """Return the smallest fused coupling at which no entry of two groups differs off the diagonal.

    It is larger by a part in 10^4, the accuracy to which it is found: variances may change where
    nothing else does, so that it has no closed form. Beside much larger covariances it is less
    accurate, by some 10^-6 of them.

    Parameters
    ----------
    S : ndarray of shape (2, p, p)
        Covariances of the two groups.
    alpha : float
        Strength of sparsity.
    group_weights, penalize_diagonal, max_iter
        As in `joint_graphical_lasso`; sparsity leaves out the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from edgewise.solvers.change.joint_path import joint_coupling_max
    >>> S = np.stack([np.eye(2), [[1.0, 0.6], [0.6, 1.0]]])
    >>> round(joint_coupling_max(S, 0.0, penalize_diagonal="coupling"), 3)
    0.3
    """
    if penalize_diagonal is True:
        raise InputError("penalize_diagonal_path")
    diagonal = penalize_diagonal == "coupling"
    one = np.ones(1)
    model = _check(S, alpha, one, group_weights, ALPHA_TOL, max_iter, is_diagonal=diagonal)
    with blas_threads_for(len(model.scale)):
        problem, state = model.begin(ALPHA_TOL)
        needed = model.fusion_needed(problem, state.Z[0])
        coupling = _off_diagonal(needed)
        if not diagonal or needed.diagonal().max() > coupling:
            coupling = _tied_coupling(model, problem, state, coupling, max_iter)
    is_some = coupling > ALIKE * np.abs(model.S_given).max()
    return coupling * (1.0 + ALPHA_ACCURACY) if is_some else 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class _TwoGroupProblem(JointProblem):
    """The problem of two groups; there is no sparsity on the diagonal.

    Attributes
    ----------
    common : ndarray of shape (p, p)
        Positive definite covariance from which each entry of the mean of ``S`` is no further than
        sparsity allows: that of the model which both groups have in common.
    """

    common: FloatArray

    @cached_property
    def interior(self) -> FloatArray:
        """Feasible dual point, on the way from ``S`` to what is common.

        Both covariances are positive definite there if they are positive semidefinite.
        """
        Y: FloatArray = weigh(self.weights, self.common - self.S)
        limit = self.sparsity + self.coupling
        size = np.abs(Y).max(axis=0)
        room = np.divide(limit, size, out=np.ones_like(size), where=size > limit)
        return Y * float(room.min())

    def restrict(self, block: IntArray) -> Self:
        """Return the problem of some of the variables."""
        return replace(super().restrict(block), common=self.common[np.ix_(block, block)])

    def diagonal_solution(self) -> FloatArray:
        r"""Return the best diagonal precisions.

        With :math:`a_g = w_g S_{g, ii}`, the larger of the two is :math:`w_g / (a_g + \alpha)`,
        the other :math:`w_g / (a_g - \alpha)`, if that is in order; otherwise they are equal.
        """
        a = self.weighted.diagonal(axis1=1, axis2=2)
        w, fusion = self.weights[:, None], self.coupling.diagonal()
        high = w / (a + fusion)
        low = np.divide(w, a - fusion, out=np.full_like(a, np.inf), where=a > fusion)
        theta = np.broadcast_to(w.sum() / a.sum(axis=0), a.shape).copy()
        for g in (0, 1):
            is_lower = low[g] < high[1 - g]
            theta[g, is_lower] = low[g, is_lower]
            theta[1 - g, is_lower] = high[1 - g, is_lower]
        return theta[:, :, None] * np.eye(self.size)


def _solve_blocks(
    problem: _TwoGroupProblem, start: SplitState, tol: float, max_iter: int
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
        near = replace(start, Z=start.Z[..., rows, columns], Y=start.Y[..., rows, columns])
        found, last, n_steps = split(
            problem.restrict(block), near, Theta[:, rows, columns], 2 * tol * block.size, max_iter
        )
        Theta[:, rows, columns] = found.Theta
        state.Z[..., rows, columns] = last.Z
        state.Y[..., rows, columns] = last.Y
        state = replace(state, mu=last.mu)
        histories.append(found.gaps)
        n_iter = max(n_iter, n_steps)
    return Theta, state, sum_histories(histories), n_iter


def _solve_tied(
    model: _Model,
    problem: _TwoGroupProblem,
    start: SplitState,
    alpha: float,
    tol: float,
    max_iter: int,
) -> tuple[FloatArray, SplitState, FloatArray, int] | None:
    """Solve with all entries off the diagonal tied, and return that if fusion is enough for it.

    That is so if what ties them, the multipliers, is within the bounds of the problem without
    ties. They are found in two steps, the first of which says whether the second is worth while.
    """
    off = ~np.eye(problem.size, dtype=bool)
    limit = problem.sparsity + problem.coupling
    tied = replace(problem, coupling=model.fusion(alpha, is_tied=True))
    state, n_iter = start, 0
    for excess, accuracy in ((LIKELY[0], tol), (LIKELY[1], min(tol, ALPHA_TOL))):
        if not off.any() or (np.abs(state.Y[0]).max(axis=0) > excess * limit)[off].any():
            return None
        Theta, state, _, n_steps = _solve_blocks(tied, state, accuracy, max_iter)
        n_iter += n_steps
    if (np.abs(state.Y[0]).max(axis=0) > limit)[off].any():
        return None
    gap = problem.objective(Theta) - problem.bound(state.Y[0])
    return (Theta, state, np.array([gap]), n_iter) if gap <= 2 * tol * problem.size else None


def _tied_coupling(
    model: _Model, problem: _TwoGroupProblem, state: SplitState, alpha: float, max_iter: int
) -> float:
    """Find the alpha that is just enough for entries off the diagonal to stay tied.

    How much they need depends on how far apart it lets the variances be, so that it is the root
    of a function, found by the secant method within bounds that close in on it.
    """
    slope, before, needed_before = 0.0, np.nan, np.nan
    low, high = 0.0, np.inf
    for step in range(ALPHA_STEPS):
        tied = replace(problem, coupling=model.fusion(alpha, is_tied=True))
        Theta, state, _, _ = _solve_blocks(tied, state, ALPHA_TOL, max_iter)
        needed = _off_diagonal(model.fusion_needed(tied, Theta))
        low, high = (alpha, high) if needed > alpha else (low, alpha)
        is_found = min(abs(needed - alpha), high - low) <= 0.1 * ALPHA_ACCURACY * alpha
        if is_found or not model.penalize_diagonal:
            break
        if step > 0:
            slope = min((needed - needed_before) / (alpha - before), 0.5)
        before, needed_before = alpha, needed
        alpha += (needed - alpha) / (1.0 - slope)
        if not low < alpha < high:
            alpha = 0.5 * (low + high)
    return needed


@dataclass(frozen=True, kw_only=True, eq=False)
class _Model:
    """Checked arguments, in units in which the mean variance of each variable is 1."""

    S: FloatArray
    S_given: FloatArray
    scale: FloatArray
    weights: FloatArray
    sparsity: float
    penalize_diagonal: bool

    def solve_path(
        self, couplings: FloatArray, init: FloatArray | None, tol: float, max_iter: int
    ) -> Iterator[JointPrecisionSolution]:
        """Yield a solution for each coupling, from large to small."""
        with blas_threads_for(len(self.scale)):
            problem, common = self.begin(tol)
            state = self.start(problem, init, common)
            tied: SplitState | None = common
            for coupling in couplings.tolist():
                part = replace(problem, coupling=self.fusion(coupling))
                found = (
                    None if tied is None else _solve_tied(self, part, tied, coupling, tol, max_iter)
                )
                tied = None if found is None else found[1]
                Theta, state, gaps, n_iter = found or _solve_blocks(part, state, tol, max_iter)
                yield self.solution(part, Theta, coupling, gaps, n_iter, tol)

    def fusion(self, alpha: float, *, is_tied: bool = False) -> FloatArray:
        """Return the strength of fusion of every entry, infinite off the diagonal if tied."""
        strength = alpha * np.outer(self.scale, self.scale)
        if is_tied:
            strength = np.where(np.eye(len(strength), dtype=bool), strength, np.inf)
        if not self.penalize_diagonal:
            np.fill_diagonal(strength, 0.0)
        return strength

    def begin(self, tol: float) -> tuple[_TwoGroupProblem, SplitState]:
        """Return the problem, with any fusion at first, and what both groups have in common."""
        sparsity = self.sparsity * np.outer(self.scale, self.scale)
        np.fill_diagonal(sparsity, 0.0)
        pooled = np.tensordot(self.weights / self.weights.sum(), self.S, axes=1)
        if self.sparsity > 0:
            box = 2.0 * sparsity / self.weights.sum()
            found = graphical_lasso(pooled, 1.0, weights=box, tol=tol)
            precision = found.value
            common = np.clip(found.covariance, pooled - box, pooled + box)
        else:
            precision, _ = inverse_and_log_determinant(pooled)
            common = pooled
            if precision is None or precision.diagonal().max() > LARGEST_INFLATION:
                raise SolverError("singular_without_sparsity")
        problem = _TwoGroupProblem(
            S=self.S,
            weights=self.weights,
            sparsity=sparsity,
            coupling=np.full_like(pooled, np.inf),
            layers=BOTH,
            common=common,
        )
        return problem, state_of(problem, np.stack([precision, precision]))

    def start(
        self, problem: _TwoGroupProblem, init: FloatArray | None, common: SplitState
    ) -> SplitState:
        """Start from precisions that were given, or else from those in common."""
        if init is None:
            return common
        unit = np.outer(self.scale, self.scale)
        return state_of(problem, check_starts(init, self.S.shape) / unit)

    def fusion_needed(self, problem: _TwoGroupProblem, Theta: FloatArray) -> FloatArray:
        """Return the strength of fusion that holds every entry of ``Theta`` in its place.

        Entries of the two precisions must be equal, on the diagonal unless they are free.
        """
        first, second = state_of(problem, Theta).Y[0]
        needed = np.where(
            Theta[0] == 0.0,
            np.maximum(np.abs(first), np.abs(second)) - problem.sparsity,
            0.5 * np.abs(second - first),
        )
        return np.asarray(np.maximum(needed, 0.0) / np.outer(self.scale, self.scale))

    def solution(
        self,
        problem: _TwoGroupProblem,
        Theta: FloatArray,
        coupling: float,
        gaps: FloatArray,
        n_iter: int,
        tol: float,
    ) -> JointPrecisionSolution:
        """Return a solution in the units of the covariances that were given."""
        unit = np.outer(self.scale, self.scale)
        logdet = 2.0 * float(np.log(self.scale).sum())
        gap = float(gaps[-1]) if len(gaps) else 0.0
        return JointPrecisionSolution(
            value=Theta * unit,
            covariance=np.stack([inverse_and_log_determinant(one)[0] for one in Theta]) / unit,
            objective=problem.objective(Theta) - float(self.weights.sum()) * logdet,
            gap=gap,
            n_iter=n_iter,
            converged=gap <= 2 * tol * problem.size,
            history=gaps,
            alpha=self.sparsity,
            coupling=coupling,
        )


def _check(
    S: FloatArray,
    sparsity: float,
    couplings: FloatArray,
    group_weights: Sequence[float] | FloatArray | None,
    tol: float,
    max_iter: int,
    *,
    is_diagonal: bool,
) -> _Model:
    """Refuse arguments that make no sense; scale the variables."""
    S = check_covariances(S, 2)
    check_numbers([sparsity, *couplings.tolist()], tol, max_iter)
    if sparsity == 0 and couplings.min() == 0:
        raise InputError("alpha_and_coupling_zero")
    weights = check_group_weights(group_weights, 2)
    variances = S.diagonal(axis1=1, axis2=2)
    pooled = weights @ variances / weights.sum()
    _refuse_constant(pooled, "both groups")
    if not is_diagonal or couplings.min() == 0:
        _refuse_constant(variances.min(axis=0), "one of the groups")
    scale = 1.0 / np.sqrt(pooled)
    return _Model(
        S=S * np.outer(scale, scale),
        S_given=S,
        scale=scale,
        weights=weights,
        sparsity=float(sparsity),
        penalize_diagonal=is_diagonal,
    )


def _refuse_constant(variance: FloatArray, where: str) -> None:
    if variance.min() <= 0:
        raise InputError("no_variance_in_group", variable=int(variance.argmin()), where=where)


def _off_diagonal(A: FloatArray) -> float:
    """Return the largest entry off the diagonal, at least 0."""
    return float(A[~np.eye(len(A), dtype=bool)].max(initial=0.0))
