"""The smallest alpha for which a density ratio without a ridge has a minimum."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from edgewise._core.errors import SolverError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers._ratio_problem import RatioProblem

#: Pairs added to the linear programme at a time.
BATCH = 200
#: Relative accuracy.
ACCURACY = 1e-6


def smallest_bounded_alpha(problem: RatioProblem, *, max_rounds: int = 200) -> float:
    r"""Minimise ``max_G |g_G - H_G a|`` over weights a on the simplex.

    The objective without a ridge is bounded below if and only if some weights have all slacks at
    most alpha. Lengths are approximated from below by the cuts ``u'(g_G - H_G a) <= t``, u the
    direction of a slack that was too long: a linear programme that grows until no pair is longer
    than its optimum.
    """
    features = problem.features
    n = features.n_samples
    weights = np.full(n, 1.0 / n)
    cuts, limits = np.empty((0, n + 1)), np.empty(0)
    exact, values = _free_diagonal(problem)
    lower = 0.0
    for _ in range(max_rounds):
        moments = features.moments(weights)
        pairs = _longest(problem, weights, lower)
        slack = problem.slack(moments, pairs)
        length = np.sqrt(np.sum(slack**2, axis=1))
        if not len(pairs) or length.max() <= lower * (1.0 + ACCURACY) + 1e-12:
            return lower
        # A single feature can be too long either way, and soon will be.
        units = [slack / length[:, None]]
        if features.size == 1:
            units.append(-units[0])
        columns = features.columns(pairs, np.ones(n))
        for unit in units:
            rows = -np.einsum("gb,gbn->gn", unit, columns)
            cuts = np.vstack([cuts, np.column_stack([rows, -np.ones(len(rows))])])
            limits = np.append(limits, -np.sum(unit * problem.target.at(pairs), axis=1))
        found = linprog(
            np.append(np.zeros(n), 1.0), A_ub=cuts, b_ub=limits,
            A_eq=np.vstack([np.append(np.ones(n), 0.0), exact]), b_eq=np.append(1.0, values),
            bounds=(0.0, None), method="highs",
        )  # fmt: skip
        if found.status != 0 or found.x is None:
            raise SolverError(
                "Without a ridge and with a free diagonal the ratio has no minimum for any alpha: "
                "no weights of the first group match the variances of the second. Pass a ridge."
            )
        lower = float(found.x[n])
        weights = np.maximum(found.x[:n], 0.0)
        weights /= weights.sum()
    return lower


def _longest(problem: RatioProblem, weights: FloatArray, lower: float) -> IntArray:
    """Penalised pairs with the longest slacks above a bound, at most so many at a time."""
    moments = problem.features.moments(weights)
    diagonal = lower if problem.penalize_diagonal else np.inf
    pairs = problem.target.above(moments, lower, diagonal)
    length = np.sum(problem.slack(moments, pairs) ** 2, axis=1)
    return np.sort(pairs[np.argsort(-length, kind="stable")[:BATCH]])


def _free_diagonal(problem: RatioProblem) -> tuple[FloatArray, FloatArray]:
    """Equations ``H_G a = g_G`` of the variables whose own features carry no penalty."""
    n, d = problem.features.n_samples, problem.features.n_variables
    if problem.penalize_diagonal:
        return np.empty((0, n + 1)), np.empty(0)
    pairs = np.arange(d) * (d + 1)
    rows = problem.features.columns(pairs, np.ones(n)).reshape(-1, n)
    values = problem.target.at(pairs).ravel()
    is_used = np.ptp(rows, axis=1) > 0
    return np.column_stack([rows, np.zeros(len(rows))])[is_used], values[is_used]
