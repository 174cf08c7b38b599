"""Rows, strengths and a small search for the tests of locally constant graphs."""

import numpy as np

NUMBERS = {"alpha": 0.1, "tau": 0.05}
SMALL_SEARCH = {"n_alphas": 3, "n_taus": 2, "cv": 3, "random_state": 0, "alpha_ratio": 0.01}


def patches(n_rows=80, n_columns=8, seed=0):
    """Rows in which the first three columns go with the last, in units that differ a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :3] += 0.8 * X[:, [-1]]
    return X * np.linspace(1.0, 2.0, n_columns) + 3.0


def covariance(X):
    return np.atleast_2d(np.cov(X.T, bias=True))
