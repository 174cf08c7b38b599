"""Rows of classes with networks of their own, for the solvers that learn them together."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, minimize
from sklearn.svm import SVC

from edgewise.solvers.classify.fisher_scores import network_residuals


@dataclass(frozen=True)
class ClassProblem:
    """Standardised rows, labels, coefficients to start from, and arcs that may move."""

    X: np.ndarray
    labels: np.ndarray
    coefs: np.ndarray
    arcs: np.ndarray

    def at(self, change):
        """Coefficients after a change of the arcs' own."""
        coefs = self.coefs.copy()
        coefs[tuple(self.arcs.T)] += change
        return coefs

    def fit_errors(self, coefs):
        residuals = network_residuals(self.X, coefs)
        return np.array(
            [(residuals[c][self.labels == c] ** 2).sum() for c in range(len(self.coefs))]
        )


def class_problem(rng, *, n_classes=2, n_per_class=25, m=6, n_arcs=14, shift=0.5):
    """Lower-triangular networks whose coefficients are least squares, a little off."""
    labels = np.repeat(np.arange(n_classes), n_per_class)
    X = np.empty((len(labels), m))
    for c in range(n_classes):
        weights = np.triu(rng.normal(scale=0.6, size=(m, m)), 1)
        noise = rng.normal(size=(n_per_class, m)) + shift * rng.normal(size=m)
        X[labels == c] = noise @ np.linalg.inv(np.eye(m) - weights)
    X = (X - X.mean(0)) / X.std(0)
    coefs = np.zeros((n_classes, m + 1, m))
    for c in range(n_classes):
        own = X[labels == c]
        for j in range(m):
            design = np.column_stack([own[:, :j], np.ones(n_per_class)])
            solution = np.linalg.lstsq(design, own[:, j], rcond=None)[0]
            coefs[c, [*range(j), m], j] = 0.9 * solution
    candidates = np.argwhere(coefs)
    chosen = rng.choice(len(candidates), size=min(n_arcs, len(candidates)), replace=False)
    arcs = candidates[chosen]
    return ClassProblem(X, labels, coefs, arcs[np.lexsort(arcs.T[[1, 2, 0]])])


def log_likelihoods(problem, coefs):
    """Log-likelihood of each row in each network, row by row."""
    m = problem.X.shape[1]
    result = np.zeros((len(problem.X), len(coefs)))
    for a, x in enumerate(problem.X):
        for c, coef in enumerate(coefs):
            result[a, c] = -0.5 * sum((x[j] - coef[m, j] - x @ coef[:m, j]) ** 2 for j in range(m))
    return result


def smallest_margins(problem, coefs, nu, weights=None):
    """Objective of the margin problem, as a linear program in r and the shortfalls."""
    likelihoods = log_likelihoods(problem, coefs)
    rows = np.arange(len(problem.X))
    own = likelihoods[rows, problem.labels].copy()
    likelihoods[rows, problem.labels] = -np.inf
    margins = own - likelihoods.max(axis=1)
    n = len(margins)
    share = np.ones(n) if weights is None else weights
    cost = np.r_[share / (nu * share.sum()), -1.0]
    constraints = np.column_stack([-np.eye(n), np.ones(n)])
    answer = linprog(cost, A_ub=constraints, b_ub=margins, bounds=(0, None))
    if answer.status == 3:  # unbounded: nu = 1, where r may grow for ever
        return -float(share @ margins / share.sum())
    return answer.fun


def hard_machine(kernel, sign, ridge=None):
    scale = np.trace(kernel) / len(kernel)
    machine = SVC(C=1e7, kernel="precomputed", tol=1e-8).fit(kernel / scale, sign)
    dual = np.zeros(len(sign))
    dual[machine.support_] = machine.dual_coef_[0] / scale
    return dual


def by_slsqp(problem, objective, slack):
    """Minimise over the changes of the arcs with scipy, from the start."""
    answer = minimize(
        objective,
        np.zeros(len(problem.arcs)),
        method="SLSQP",
        constraints=_within(problem, slack, lambda v: v),
        options={"maxiter": 500, "ftol": 1e-10},
    )
    return answer.fun


def margins_by_slsqp(problem, nu, slack):
    """Minimise the smooth form of two classes' margin problem: over changes, r and shortfalls."""
    n, k = len(problem.X), len(problem.arcs)
    sign = np.where(problem.labels == 0, 1.0, -1.0)

    def margins(change):
        squares = (network_residuals(problem.X, problem.at(change)) ** 2).sum(axis=2)
        return 0.5 * sign * (squares[1] - squares[0])

    cost = np.r_[np.zeros(k), -1.0, np.full(n, 1 / (nu * n))]
    answer = minimize(
        lambda v: float(cost @ v),
        np.r_[np.zeros(k + 1), np.maximum(-margins(np.zeros(k)), 0.0)],
        jac=lambda v: cost,
        method="SLSQP",
        bounds=[(None, None)] * k + [(0, None)] * (n + 1),
        constraints=[
            *_within(problem, slack, lambda v: v[:k]),
            {"type": "ineq", "fun": lambda v: v[k + 1 :] - v[k] + margins(v[:k])},
        ],
        options={"maxiter": 300, "ftol": 1e-9},
    )
    return answer.fun


def _within(problem, slack, change_of):
    limits = (1 + slack) * problem.fit_errors(problem.coefs)
    return [
        {
            "type": "ineq",
            "fun": lambda v: limits - problem.fit_errors(problem.at(change_of(v))),
        }
    ]
