r"""Alternating directions for the locally constant model.

The penalty of a matrix that need not be symmetric falls apart into rows, and each row into fused
lassos along paths, one set of paths per layer (`Layers`), which are solved exactly
(`fused_path`). So the precision :math:`\Omega` gets one copy :math:`Z_k` per layer, with scaled
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
and fused exactly and, near the optimum, closer to it than :math:`\Omega`.

Arrays of other libraries than numpy have the same iterations (`solvers/device/fused_rows.py`).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edgewise._core.arrays import array_namespace
from edgewise._core.jit import ShareRows, rows_shared
from edgewise.solvers.device.fused_rows import DenseFused, PairRows, rows_on_device
from edgewise.solvers.linalg.dense import (
    STEP_SHARE,
    LikelihoodStep,
    inverse_and_log_determinant,
    log_determinant,
)
from edgewise.solvers.linalg.first_order import (
    Bracket,
    Pace,
    Residuals,
    SplitState,
    alternate,
    refuse_unbounded,
)
from edgewise.solvers.space.fused_rows import (
    FusedProblem,
    average_groups,
    find_groups,
    shrink_layers,
)
from edgewise.solvers.space.path_layers import RELAXATION, cover_by_paths

#: The balance is by trial on paths and grids in two and three dimensions.
PACE = Pace(interval=10, tuning=1000, balance=0.2)


class PathRows:
    """Copies of the rows on the host, one per layer of paths."""

    def __init__(self, problem: FusedProblem, share: ShareRows) -> None:
        self._problem, self._share = problem, share
        self._layers = cover_by_paths(problem.pairs, len(problem.S))
        self.n_layers = self._layers.n_layers

    def shrink(self, Omega: Any, mu: float, Z: Any, U: Any, mean: Any) -> Residuals:
        """Move copies and multipliers in place, as `shrink_layers` says."""
        return shrink_layers(
            Omega, self._problem, mu, RELAXATION, self._layers, Z, U, mean, self._share
        )

    def structured(self, Omega: Any, Z: Any) -> Any:
        """Return a precision with the zeros and ties of the copies."""
        groups = find_groups(self._problem.pairs, self._layers.layer, Z)
        return average_groups(Omega, groups)


def split_layers(
    problem: FusedProblem | DenseFused,
    target: float,
    max_iter: int,
    *,
    start: SplitState | None = None,
    Theta: Any = None,
) -> tuple[Bracket, SplitState, int]:
    """Iterate until the duality gap is at most ``target``.

    Starts from a former state, or from a precision, or from the best diagonal one. Also returns
    the state and the number of iterations.
    """
    with rows_shared(problem.S.shape[0]) as share:
        if isinstance(problem, DenseFused):
            return _split(problem, rows_on_device(problem), target, max_iter, start, Theta)
        return _split(problem, PathRows(problem, share), target, max_iter, start, Theta)


def _split(
    problem: FusedProblem | DenseFused,
    rows: PathRows | PairRows,
    target: float,
    max_iter: int,
    start: SplitState | None,
    Theta: Any,
) -> tuple[Bracket, SplitState, int]:
    """Do so with given copies of the rows."""
    S, n_layers = problem.S, rows.n_layers
    xp = array_namespace(S)
    state = _first_state(problem, n_layers, Theta) if start is None else start
    Z, U = state.Z + 0.0, state.Y / state.mu
    interior = problem.interior_dual()
    diagonal = problem.diagonal_solution()
    best = Bracket(Theta=diagonal, objective=problem.objective(diagonal))
    mean, last_mu = xp.mean(Z - U, axis=0), state.mu
    likelihood, distance = LikelihoodStep(), 0.0

    def step(mu: float) -> tuple[Any, Residuals]:
        nonlocal mean, last_mu, distance
        if mu != last_mu:
            mean, last_mu = xp.mean(Z - U, axis=0), mu
        strength = 1.0 / (n_layers * mu)
        V = 0.5 * (mean + mean.T) - strength * S
        Omega = likelihood(V, strength, STEP_SHARE * distance)
        residuals = rows.shrink(Omega, mu, Z, U, mean)
        distance = math.sqrt(residuals[0] / n_layers)
        return Omega, residuals

    def is_done(Omega: Any, mu: float, count: int) -> bool:
        largest = float(xp.max(xp.linalg.diagonal(Omega)))
        refuse_unbounded(largest * float(xp.min(xp.linalg.diagonal(S))))
        candidate = rows.structured(Omega, Z)
        multiplier = mu * xp.sum(U, axis=0)
        bound = _dual_value(S + 0.5 * (multiplier + multiplier.T), interior)
        return best.narrow(candidate, problem.objective(candidate), bound) <= target

    count, mu = alternate(step, is_done, U, state.mu, max_iter, PACE)
    if best.bound == -np.inf:
        # No dual point was positive definite, which is what having no minimum looks like.
        refuse_unbounded(np.inf)
    return best, SplitState(Z=Z, Y=mu * U, mu=mu), count


def _first_state(problem: FusedProblem | DenseFused, n_layers: int, Theta: Any) -> SplitState:
    """Start from a precision: its inverse says what the multipliers would be at the optimum."""
    xp = array_namespace(problem.S)
    Y = xp.zeros_like(problem.S)
    if Theta is None:
        Theta = problem.diagonal_solution()
    else:
        Y = (inverse_and_log_determinant(Theta)[0] - problem.S) / n_layers
    return SplitState(Z=xp.stack([Theta] * n_layers), Y=xp.stack([Y] * n_layers), mu=1.0)


def _dual_value(Sigma: Any, interior: Any) -> float:
    """Dual objective; a point that is not positive definite is drawn towards one that is."""
    value = log_determinant(Sigma)
    share = 1.0
    while value == -np.inf and interior is not None:
        share *= 0.7
        value = log_determinant(interior + share * (Sigma - interior))
    return value + int(Sigma.shape[0])
