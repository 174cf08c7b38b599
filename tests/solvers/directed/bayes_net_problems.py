"""Linear networks with a known structure, and checks of what was learned that are not our code."""

import networkx as nx
import numpy as np


def linear_network(seed, n_nodes=10, n_rows=300, n_parents=1.5, standardize=True):
    """Covariance of rows from a random network, and its arcs, with the columns shuffled."""
    rng = np.random.default_rng(seed)
    arcs = np.zeros((n_nodes, n_nodes), dtype=bool)
    for j in range(1, n_nodes):
        count = min(j, rng.poisson(n_parents))
        arcs[rng.choice(j, count, replace=False), j] = True
    weights = arcs * rng.uniform(0.5, 1.0, arcs.shape) * rng.choice([-1, 1], arcs.shape)
    X = rng.normal(size=(n_rows, n_nodes))
    for j in range(n_nodes):
        X[:, j] += X @ weights[:, j]
    order = rng.permutation(n_nodes)
    X, arcs = X[:, order] - X[:, order].mean(axis=0), arcs[np.ix_(order, order)]
    S = X.T @ X / n_rows
    if standardize:
        scale = np.sqrt(S.diagonal())
        S = S / np.outer(scale, scale)
        np.fill_diagonal(S, 1.0)
    return (S + S.T) / 2, arcs


def is_acyclic(coef):
    return nx.is_directed_acyclic_graph(nx.DiGraph(np.asarray(coef) != 0))


def lasso_objective(S, coef, penalties):
    """Half the residual variances plus the penalties of all arcs that are there."""
    fit = np.trace(S) - 2 * np.sum(S * coef) + np.sum(coef * (S @ coef))
    used = coef != 0
    return 0.5 * fit + np.sum(penalties[used] * np.abs(coef[used]))


def optimality_violation(S, coef, penalties, allowed):
    """Largest miss of the conditions of all lassos, restricted to the arcs that are allowed."""
    pull = S - S @ coef
    active = coef != 0
    assert not (active & ~allowed).any()
    on = pull[active] - penalties[active] * np.sign(coef[active])
    off = allowed & ~active
    inside = np.abs(pull[off]) - penalties[off]
    return max(np.abs(on).max(initial=0), inside.max(initial=0))
