"""Problems and an independent certificate for the graphical lasso tests."""

from __future__ import annotations

import numpy as np


def sample_covariance(p, n, seed, *, correlation=0.0, scales=None):
    """Covariance of n draws from a sparse model, optionally with a strong common factor."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for j in range(1, p):
        X[:, j] += 0.6 * X[:, rng.integers(j)]
    if correlation:
        common = rng.standard_normal((n, 1))
        X = np.sqrt(1 - correlation) * X / X.std(axis=0) + np.sqrt(correlation) * common
    if scales is not None:
        X = X * scales
    X = X - X.mean(axis=0)
    return X.T @ X / n


def penalty_matrix(p, alpha, weights=None, penalize_diagonal=False):
    T = (
        np.full((p, p), float(alpha))
        if weights is None
        else np.where(np.isinf(weights), np.inf, alpha * np.where(np.isinf(weights), 0, weights))
    )
    if not penalize_diagonal:
        np.fill_diagonal(T, 0.0)
    return T


def objective(S, Theta, T):
    sign, logdet = np.linalg.slogdet(Theta)
    assert sign > 0
    edges = Theta != 0
    return np.sum(S * Theta) - logdet + np.sum(T[edges] * np.abs(Theta[edges]))


def clipped_gap(S, Theta, T):
    """Duality gap that anyone can compute from the precision: invert, clip to the dual box."""
    W = np.linalg.inv(Theta)
    W = S + np.clip(0.5 * (W + W.T) - S, -T, T)
    # The best choice on the diagonal is the upper end of its interval.
    np.fill_diagonal(W, np.diagonal(S) + np.diagonal(T))
    sign, logdet = np.linalg.slogdet(W)
    if sign <= 0 or np.linalg.eigvalsh(W)[0] <= 0:
        return np.inf
    return objective(S, Theta, T) - logdet - len(S)


def kkt_residual(S, Theta, T):
    """Largest violation of the optimality conditions."""
    G = S - np.linalg.inv(Theta)
    on = Theta != 0
    active = np.abs(G + np.where(on & np.isfinite(T), T, 0) * np.sign(Theta))[on].max()
    idle = np.max(np.abs(G) - T, initial=0.0, where=~on)
    return max(active, idle)
