"""The objectives of the density ratio of products of two variables, to sixty digits."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np

DIGITS = 60


def _numbers(values):
    return [Decimal(float(value)) for value in values]


def _features(X):
    """Products of the pairs v <= u of each row."""
    first, second = np.triu_indices(X.shape[1])
    rows = [_numbers(row) for row in X]
    return [[row[v] * row[u] for v, u in zip(first, second, strict=True)] for row in rows]


def _dot(first, second):
    return sum((a * b for a, b in zip(first, second, strict=True)), Decimal(0))


class ExactRatio:
    """The problem of `edgewise.solvers.density_ratio` with products as features.

    Coefficients are those of the pairs v <= u, in order.
    """

    def __init__(self, X_p, X_q, alpha, ridge, *, penalize_diagonal=True):
        with localcontext(prec=DIGITS):
            self.before = _features(X_q)
            n_after = Decimal(len(X_p))
            self.target = [sum(column) / n_after for column in zip(*_features(X_p), strict=True)]
            self.ridge = Decimal(float(ridge))
            first, second = np.triu_indices(X_q.shape[1])
            is_free = (first == second) & (not penalize_diagonal)
            self.limits = [Decimal(0) if free else Decimal(float(alpha)) for free in is_free]

    def objective(self, theta):
        with localcontext(prec=DIGITS):
            theta = _numbers(theta)
            ratios = [_dot(theta, row) for row in self.before]
            largest = max(ratios)
            total = sum((ratio - largest).exp() for ratio in ratios) / len(ratios)
            penalty = _dot(self.limits, [abs(one) for one in theta])
            squares = self.ridge * _dot(theta, theta) / 2
            return largest + total.ln() - _dot(self.target, theta) + squares + penalty

    def bound(self, weights):
        """The dual objective at weights of the rows, which are made to sum to 1."""
        with localcontext(prec=DIGITS):
            weights = _numbers(weights)
            total = sum(weights)
            weights = [weight / total for weight in weights]
            value = -Decimal(len(weights)).ln()
            value -= sum(weight * weight.ln() for weight in weights if weight > 0)
            for pair, limit in enumerate(self.limits):
                moment = _dot(weights, [row[pair] for row in self.before])
                excess = abs(self.target[pair] - moment) - limit
                value -= max(excess, Decimal(0)) ** 2 / (2 * self.ridge)
            return value
