"""The smallest alpha for which a density ratio without a ridge has a minimum."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from edgewise._core.errors import SolverError
from edgewise._core.typing import FloatArray, IntArray
from edgewise.solvers.change.ratio_problem import RatioProblem
from edgewise.stats.pair_features import PairMoments

#: Pairs added to the linear programme at a time.
BATCH = 200
#: Accuracy relative to the bound, and to the standard deviation of the features.
RELATIVE, ABSOLUTE = 1e-6, 1e-8
#: Accuracy of the linear programme, whose features have a standard deviation of 1.
FEASIBLE: Any = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
INFEASIBLE = 2


def smallest_bounded_alpha(problem: RatioProblem, *, max_rounds: int = 200) -> float:
    r"""Minimise ``max_G |g_G - H_G a|`` over weights a on the simplex.

    The objective without a ridge is bounded below if and only if some weights have all slacks at
    most alpha. Lengths are approximated from below by the cuts ``u'(g_G - H_G a) <= t``, u the
    direction of a slack that was too long: a linear programme that grows until no pair is longer
    than its optimum. What is returned is the largest length, which the last weights attain.
    """
    features, unit = problem.features, np.sqrt(problem.feature_variance())
    n = features.n_samples
    weights = np.full(n, 1.0 / n)
    cuts, limits = np.empty((0, n + 1)), np.empty(0)
    exact, values = _free_diagonal(problem)
    lower, largest = 0.0, np.inf
    for _ in range(max_rounds):
        moments = features.moments(weights)
        pairs = _longest(problem, moments, lower)
        slack = problem.slack(moments, pairs)
        length = np.sqrt(np.sum(slack**2, axis=1))
        largest = float(np.max(length, initial=lower))
        if largest <= lower + max(RELATIVE * lower, ABSOLUTE * unit):
            break
        # A single feature can be too long either way, and soon will be.
        units = [slack / length[:, None]]
        if features.size == 1:
            units.append(-units[0])
        columns = features.columns(pairs, np.ones(n))
        for along in units:
            rows = -np.einsum("gb,gbn->gn", along, columns) / unit
            cuts = np.vstack([cuts, np.column_stack([rows, -np.ones(len(rows))])])
            target = np.sum(along * problem.target.at(pairs), axis=1)
            limits = np.append(limits, -target / unit)
        found = linprog(
            np.append(np.zeros(n), 1.0), A_ub=cuts, b_ub=limits,
            A_eq=np.vstack([np.append(np.ones(n), 0.0), exact / unit]),
            b_eq=np.append(1.0, values / unit), bounds=(0.0, None), method="highs",
            options=FEASIBLE,
        )  # fmt: skip
        if found.x is None:
            raise SolverError(_reason(found.status, found.message))
        lower = float(found.x[n]) * unit
        weights = np.maximum(found.x[:n], 0.0)
        weights /= weights.sum()
    return largest


def _longest(problem: RatioProblem, moments: PairMoments, lower: float) -> IntArray:
    """Penalised pairs with the longest slacks above a bound, at most so many at a time."""
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
    return np.column_stack([rows, np.zeros(len(rows))]), values


def _reason(status: int, message: str) -> str:
    if status == INFEASIBLE:
        return (
            "Without a ridge and with a free diagonal the ratio has no minimum for any alpha: no "
            "weights of the first group match the variances of the second. Pass a ridge."
        )
    return f"The linear programme for the smallest alpha failed: {message}"
