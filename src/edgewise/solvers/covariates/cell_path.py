r"""The best Gaussian of one cell along the path of its graphical lassos.

For a covariance :math:`S` of :math:`n` rows and second moments :math:`S'` of rows to be judged by,
each estimate :math:`\Omega` on the path has the risk

.. math:: \operatorname{tr}(S' \Omega) - \log\det \Omega .
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from edgewise._core.jit import kernel
from edgewise._core.typing import BoolArray, FloatArray
from edgewise.solvers.gaussian.graph_regressions import (
    Regressions,
    fit_to_graph,
    room_for_regressions,
)
from edgewise.solvers.gaussian.small_descent import (
    Columns,
    Problem,
    change_units,
    descend_from,
    extrapolate,
    reset,
    room_for_descent,
    standardize,
)
from edgewise.solvers.linalg.small_cholesky import gaussian_risk

#: Which estimate is judged at each alpha: the graphical lasso; maximum likelihood on its graph
#: where that exists; or the better of the two.
LASSO: Final = 0
REFIT: Final = 1
BEST: Final = 2
#: Duality gap per variable of the graphical lassos. Risks come out right to about this much.
LASSO_TOL: Final = 1e-5
#: Duality gap per variable of the refits, and the sweeps they may take.
REFIT_TOL: Final = 1e-8
REFIT_SWEEPS: Final = 500


class PathRules(NamedTuple):
    """How to go along a path and how to judge it.

    Attributes
    ----------
    estimate : int
        ``LASSO``, ``REFIT`` or ``BEST``.
    n_alphas : int
        Strengths, from the smallest with an empty graph down, evenly spaced on a log scale.
    ratio : float
        Last strength as a share of the first.
    patience : int
        Strengths without a smaller risk after which the path ends.
    rate : float
        Above 0: instead of a path one strength, ``rate * sqrt(log(p) / n)``.
    penalize_diagonal : bool
        Whether the graphical lasso shrinks the diagonal as well.
    price_edges : bool
        Add ``(log(n) + 2 log(p)) / n`` per edge to the risk, which makes it an extended BIC where
        the rows to be judged by are those of the fit.
    """

    estimate: int
    n_alphas: int
    ratio: float
    patience: int
    rate: float
    penalize_diagonal: bool
    price_edges: bool


class Choice(NamedTuple):
    """What was chosen; ``is_solved`` is False where a lasso is left to the general solver."""

    risk: float
    alpha: float
    is_refit: bool
    is_solved: bool


class Room(NamedTuple):
    """State and buffers of a path.

    Attributes
    ----------
    problem, columns, regressions
        Of the graphical lassos and of the refits.
    scale : ndarray of shape (p,)
        Takes the covariance to correlations, the units of what follows.
    correlation, S_val : ndarray of shape (p, p)
        Moments of the rows to fit to and of those to judge by.
    estimate : ndarray of shape (p, p)
        Precision by the graphical lasso.
    adjacency : ndarray of bool, shape (p, p)
        Its graph.
    old_scale, L : ndarray
        Scratch.
    """

    problem: Problem
    columns: Columns
    regressions: Regressions
    scale: FloatArray
    correlation: FloatArray
    S_val: FloatArray
    estimate: FloatArray
    adjacency: BoolArray
    old_scale: FloatArray
    L: FloatArray


def room_for_paths(p: int) -> Room:
    """Allocate what paths over ``p`` variables need, again and again."""
    problem, columns = room_for_descent(p)
    return Room(
        problem=problem,
        columns=columns,
        regressions=room_for_regressions(p),
        scale=np.empty(p),
        correlation=np.empty((p, p)),
        S_val=np.empty((p, p)),
        estimate=np.empty((p, p)),
        adjacency=np.empty((p, p), np.bool_),
        old_scale=np.empty(p),
        L=np.empty((p, p)),
    )


@kernel
def best_on_path(
    S: FloatArray,
    S_val: FloatArray,
    n: float,
    rules: PathRules,
    room: Room,
    precision: FloatArray,
) -> Choice:
    """Leave the best estimate in ``precision``, in the units of ``S``, and say which it is."""
    p = S.shape[0]
    largest, offset = _start(S, S_val, room)
    n_alphas, alpha = rules.n_alphas, largest
    if rules.rate > 0.0:
        n_alphas, alpha = 1, rules.rate * np.sqrt(np.log(p) / n)
    price = (np.log(n) + 2.0 * np.log(p)) / n if rules.price_edges else 0.0
    step = rules.ratio ** (1.0 / max(n_alphas - 1, 1))
    best = Choice(np.inf, alpha, False, True)
    n_worse = 0
    may_refit = rules.estimate != LASSO
    refit_risk = np.inf
    for count in range(n_alphas):
        if rules.penalize_diagonal:
            _change_ridge(S, alpha, room)
        extrapolate(room.columns, step if count >= 2 else 0.0)
        if not descend_from(room.problem, alpha, room.columns, LASSO_TOL * p) < np.inf:
            return Choice(best.risk, best.alpha, best.is_refit, False)
        n_edges, is_new = _read_estimate(room)
        is_new = is_new or count == 0
        if may_refit and is_new:
            gap, _ = fit_to_graph(
                room.correlation, room.adjacency, room.regressions, REFIT_TOL * p, REFIT_SWEEPS
            )
            may_refit = 0.0 <= gap <= REFIT_TOL * p
            if may_refit:
                refit_risk = gaussian_risk(room.regressions.Theta, room.S_val, room.L)
        risk = np.inf
        if rules.estimate != REFIT or not may_refit:
            risk = gaussian_risk(room.estimate, room.S_val, room.L)
        is_refit = may_refit and refit_risk < risk
        if is_refit:
            risk = refit_risk
        risk += offset + price * n_edges
        if risk < best.risk:
            best = Choice(risk, alpha, is_refit, True)
            _store(room.regressions.Theta if is_refit else room.estimate, room.scale, precision)
            n_worse = 0
        elif is_new or not is_refit:
            n_worse += 1
            if n_worse >= rules.patience:
                break
        alpha *= step
    return best


@kernel
def _start(S: FloatArray, S_val: FloatArray, room: Room) -> tuple[float, float]:
    """Change to correlation units; return the largest covariance and the risk of the units."""
    p = S.shape[0]
    standardize(S, 0.0, room.problem)
    reset(room.columns)
    largest = 0.0
    offset = 0.0
    for i in range(p):
        room.scale[i] = room.problem.scale[i]
        offset -= 2.0 * np.log(room.scale[i])
        for j in range(p):
            room.correlation[i, j] = room.problem.S[i, j]
            room.S_val[i, j] = S_val[i, j] * room.problem.units[i, j]
            room.adjacency[i, j] = False
            if i != j:
                largest = max(largest, abs(S[i, j]))
    return largest, offset


@kernel
def _change_ridge(S: FloatArray, ridge: float, room: Room) -> None:
    """Put another ridge on the diagonal, keeping the state of descent."""
    for i in range(room.scale.size):
        room.old_scale[i] = room.problem.scale[i]
    standardize(S, ridge, room.problem)
    change_units(room.columns, room.old_scale, room.problem.scale)


@kernel
def _read_estimate(room: Room) -> tuple[int, bool]:
    """Take the graphical lasso to correlation units, and its graph.

    Returns the number of edges and whether the graph has changed.
    """
    p = room.scale.size
    n_edges = 0
    is_new = False
    for i in range(p):
        ratio = room.problem.scale[i] / room.scale[i]
        for j in range(p):
            units = ratio * room.problem.scale[j] / room.scale[j]
            room.estimate[i, j] = room.columns.Theta[i, j] * units
            is_joined = i != j and room.estimate[i, j] != 0.0
            is_new = is_new or is_joined != room.adjacency[i, j]
            room.adjacency[i, j] = is_joined
            n_edges += is_joined and i < j
    return n_edges, is_new


@kernel
def _store(Theta: FloatArray, scale: FloatArray, precision: FloatArray) -> None:
    """Copy ``Theta`` back to the original units."""
    for i in range(Theta.shape[0]):
        for j in range(Theta.shape[0]):
            precision[i, j] = Theta[i, j] * scale[i] * scale[j]
