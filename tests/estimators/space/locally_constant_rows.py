"""Rows, strengths and a small search for the tests of locally constant graphs."""

import numpy as np

from edgewise import CV

NUMBERS = {"alpha": 0.1, "tau": 0.05}


def small_search(cv=3, *, n_alphas=3, n_taus=2, alpha_ratio=0.01, random_state=0):
    """Parameters of a search of both strengths on a small grid."""
    return {
        "alpha": CV(cv, n_alphas=n_alphas, alpha_ratio=alpha_ratio),
        "tau": CV(cv, n_alphas=n_taus, alpha_ratio=alpha_ratio),
        "random_state": random_state,
    }


SMALL_SEARCH = small_search()


def patches(n_rows=80, n_columns=8, seed=0):
    """Rows in which the first three columns go with the last, in units that differ a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :3] += 0.8 * X[:, [-1]]
    return X * np.linspace(1.0, 2.0, n_columns) + 3.0


def covariance(X):
    return np.atleast_2d(np.cov(X.T, bias=True))
