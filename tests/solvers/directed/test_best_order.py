"""The best order of all, against lassos of scikit-learn on every subset and every order."""

from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from edgewise import InputError
from edgewise.data import make_linear_sem
from edgewise.solvers.directed.best_order import best_order_bayes_net
from edgewise.solvers.directed.order import bcd_bayes_net, order_bayes_net
from tests.messages import raises

M = 5


def make_rows(seed, m=M, n=60):
    rng = np.random.default_rng(seed)
    X = make_linear_sem(np.triu(rng.random((m, m)) < 0.5, 1), permute=True, rng=rng).sample(n, rng)
    return (X - X.mean(axis=0)) / X.std(axis=0)


def least_of_all_orders(X, alpha, weights=None, always=None):
    """Objective of the best order, every lasso by scikit-learn."""
    always = np.empty((len(X), 0)) if always is None else always
    m = X.shape[1]
    weights = np.ones((m, m)) if weights is None else weights
    costs = {}
    for j in range(m):
        for size in range(m):
            for parents in combinations([i for i in range(m) if i != j], size):
                usable = [i for i in parents if np.isfinite(weights[i, j])]
                residual, penalty = X[:, j], 0.0
                scaled = np.hstack([X[:, usable] / weights[usable, j], always])
                if scaled.size:
                    lasso = Lasso(alpha, fit_intercept=False, tol=1e-13, max_iter=100_000)
                    coef = lasso.fit(scaled, X[:, j]).coef_
                    residual, penalty = X[:, j] - scaled @ coef, alpha * np.abs(coef).sum()
                costs[j, frozenset(parents)] = 0.5 * np.mean(residual**2) + penalty
    return min(
        sum(costs[j, frozenset(order[:k])] for k, j in enumerate(order))
        for order in permutations(range(m))
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("alpha", [0.03, 0.15])
def test_no_order_is_better(seed, alpha):
    X = make_rows(seed)
    found = best_order_bayes_net(X.T @ X / len(X), alpha)
    assert found.objective == pytest.approx(least_of_all_orders(X, alpha), abs=1e-9)
    assert found.is_acyclic
    assert found.converged
    assert 0 <= found.gap < 1e-9


def test_weights_and_arcs_that_are_forbidden():
    X, rng = make_rows(7), np.random.default_rng(0)
    weights = rng.uniform(0.3, 2.0, size=(M, M))
    weights[0, 1] = weights[1, 0] = np.inf
    found = best_order_bayes_net(X.T @ X / len(X), 0.1, weights=weights)
    assert found.objective == pytest.approx(least_of_all_orders(X, 0.1, weights), abs=1e-9)
    assert found.value[0, 1] == found.value[1, 0] == 0


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_no_other_solver_is_better(alpha):
    for seed in range(6):
        X = make_rows(seed, m=12, n=200)
        S = X.T @ X / len(X)
        least = best_order_bayes_net(S, alpha).objective
        for solve in (order_bayes_net, bcd_bayes_net):
            assert least <= solve(S, alpha).objective * (1 + 1e-12)


def test_a_penalised_constant_may_be_a_parent_of_all():
    X, location = make_rows(1), np.linspace(-1.0, 1.0, M)
    found = best_order_bayes_net(X.T @ X / len(X), 0.1, location=location)
    moved = X + location
    constant = np.ones((len(X), 1))
    assert found.objective == pytest.approx(least_of_all_orders(moved, 0.1, always=constant))
    rest = moved - moved @ found.value - found.intercept
    used = found.intercept != 0
    assert used.any()
    np.testing.assert_allclose(rest.mean(axis=0)[used], 0.1 * np.sign(found.intercept[used]))


def test_too_many_variables():
    with raises(InputError, code="too_many_to_order", found=21, most=20):
        best_order_bayes_net(np.eye(21), 0.1)
