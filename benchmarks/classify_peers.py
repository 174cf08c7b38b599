"""The same learning of class networks by SLSQP of scipy, in plain numpy."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from edgewise.estimators.classify.class_networks import hard_machine
from edgewise.solvers.classify.fisher_scores import fisher_kernel

Array = NDArray[Any]

#: Tolerances of SLSQP, from coarse to fine: the first that comes as low as ours counts.
TOLERANCES = (1e-4, 1e-6, 1e-8)
#: The tolerance that scipy has by default.
DEFAULT = 1e-6
#: How far above ours a relative objective may stay.
CLOSE = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassProblem:
    """Standardised rows of two classes, networks to start from, and the arcs that may move.

    Coefficients are those of `edgewise.solvers.classify.fisher_scores.network_residuals`; unknowns
    are their changes.
    """

    X: Array
    labels: Array
    coefs: Array
    arcs: Array
    slack: float = 0.01

    @property
    def parents(self) -> Array:
        """Rows with a last column of ones."""
        return np.column_stack([self.X, np.ones(len(self.X))])

    def at(self, change: Array) -> Array:
        """Coefficients after a change of the arcs."""
        moved = self.coefs.copy()
        moved[*self.arcs.T] += change
        return moved

    def residuals(self, coefs: Array) -> Array:
        """Residuals of all rows in both networks."""
        return np.stack([self.X - self.parents @ coef for coef in coefs])

    def per_arc(self, per_residual: Array) -> Array:
        """Gradient in the changes, from that in the residuals of both networks."""
        return np.asarray((-self.parents.T @ per_residual)[*self.arcs.T])

    def constraint(self, n_more: int = 0) -> dict[str, Any]:
        """Each class is fitted at most 1 + slack times as badly; unknowns after ours are free."""
        own = np.stack([self.labels == c for c in (0, 1)])
        limits = (1 + self.slack) * self._fit_errors(self.residuals(self.coefs), own)
        k = len(self.arcs)

        def room(v: Array) -> Array:
            return np.asarray(limits - self._fit_errors(self.residuals(self.at(v[:k])), own))

        def slopes(v: Array) -> Array:
            residuals = self.residuals(self.at(v[:k]))
            rows = []
            for c in (0, 1):
                part = np.zeros_like(residuals)
                part[c] = -2 * own[c][:, None] * residuals[c]
                rows.append(np.r_[self.per_arc(part), np.zeros(n_more)])
            return np.stack(rows)

        return {"type": "ineq", "fun": room, "jac": slopes}

    @staticmethod
    def _fit_errors(residuals: Array, own: Array) -> Array:
        return np.array([(residuals[c][own[c]] ** 2).sum() for c in (0, 1)])


def fisher_by_slsqp(problem: ClassProblem, ftol: float) -> float:
    """Radius-margin bound that SLSQP comes down to, as a share of the start."""
    n = len(problem.X)
    products = problem.X @ problem.X.T + 1.0
    sign = np.where(problem.labels == 0, -1.0, 1.0)

    def bound(change: Array) -> tuple[float, Array]:
        coefs = problem.at(change)
        kernel = fisher_kernel(problem.X, problem.X, coefs) + np.eye(n)
        dual = hard_machine(kernel, sign, np.ones(n))
        inverse_margin = np.abs(dual).sum() - 0.5 * dual @ kernel @ dual
        scatter = np.trace(kernel) - kernel.sum() / n
        slope = inverse_margin * (np.eye(n) - 1.0 / n) - 0.5 * scatter * np.outer(dual, dual)
        residuals = problem.residuals(coefs)
        part = (slope * products) @ residuals - problem.X * (slope @ (problem.X * residuals))
        return float(inverse_margin * scatter), problem.per_arc(2.0 * part)

    start = bound(np.zeros(len(problem.arcs)))[0]

    def share(change: Array) -> tuple[float, Array]:
        value, gradient = bound(change)
        return value / start, gradient / start

    answer = minimize(
        share, np.zeros(len(problem.arcs)), jac=True, method="SLSQP",
        constraints=[problem.constraint()], options={"ftol": ftol, "maxiter": 500},
    )  # fmt: skip
    return float(answer.fun)


def margin_by_slsqp(problem: ClassProblem, ftol: float, nu: float = 0.5) -> float:
    """Objective of the margins that SLSQP comes down to, over changes, r and shortfalls."""
    n, k = len(problem.X), len(problem.arcs)
    sign = np.where(problem.labels == 0, 1.0, -1.0)
    cost = np.r_[np.zeros(k), -1.0, np.full(n, 1 / (nu * n))]

    def margins(change: Array) -> Array:
        squares = (problem.residuals(problem.at(change)) ** 2).sum(axis=2)
        return np.asarray(0.5 * sign * (squares[1] - squares[0]))

    def slopes(v: Array) -> Array:
        residuals = problem.residuals(problem.at(v[:k]))
        classes, parents, children = problem.arcs.T
        # Of each margin in each change: those of the first network count against residuals.
        towards = np.where(classes == 0, 1.0, -1.0) * residuals[classes, :, children].T
        per_change = sign[:, None] * towards * problem.parents[:, parents]
        return np.column_stack([per_change, -np.ones(n), np.eye(n)])

    answer = minimize(
        lambda v: float(cost @ v),
        np.r_[np.zeros(k + 1), np.maximum(-margins(np.zeros(k)), 0.0)],
        jac=lambda _: cost,
        method="SLSQP",
        bounds=[(None, None)] * k + [(0, None)] * (n + 1),
        constraints=[
            problem.constraint(n + 1),
            {"type": "ineq", "fun": lambda v: v[k + 1 :] - v[k] + margins(v[:k]), "jac": slopes},
        ],
        options={"ftol": ftol, "maxiter": 500},
    )
    return float(answer.fun)


def first_as_low(
    solve: Callable[[ClassProblem, float], float], problem: ClassProblem, ours: float
) -> tuple[float, float, float]:
    """CPU seconds, objective and tolerance of the coarsest run that comes as low as ours.

    Where none does, those of the finest.
    """
    for ftol in TOLERANCES:
        seconds, objective = timed_solve(solve, problem, ftol)
        if objective <= ours + CLOSE * abs(ours):
            break
    return seconds, objective, ftol


def timed_solve(
    solve: Callable[[ClassProblem, float], float], problem: ClassProblem, ftol: float
) -> tuple[float, float]:
    """CPU seconds and objective of a run, the better of two."""
    times = []
    for _ in range(2):
        start = time.process_time()
        objective = solve(problem, ftol)
        times.append(time.process_time() - start)
    return min(times), objective
