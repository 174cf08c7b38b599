"""Rows of two groups that tests of changes share."""

import numpy as np


def two_groups(n_first=80, n_second=80, n_features=4, strength=0.8, seed=0):
    """Independent columns; in the second group the second one follows the first."""
    X = np.random.default_rng(seed).normal(size=(n_first + n_second, n_features))
    y = np.repeat(["a", "b"], [n_first, n_second])
    X[y == "b", 1] += strength * X[y == "b", 0]
    return X, y


def signs(n=200, n_features=4, seed=0):
    """Columns of -1 and 1; in the second group the first two mostly agree."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(2 * n, n_features))
    y = np.repeat([0, 1], n)
    agree = (y == 1) & (rng.random(2 * n) < 0.7)
    X[agree, 1] = X[agree, 0]
    return X, y


def standardized(X, y):
    """Rows of the two groups by hand: each less its mean, over the deviation within groups."""
    first, second = (X[y == label] - X[y == label].mean(axis=0) for label in np.unique(y))
    scale = np.sqrt((first**2).sum(axis=0) / len(X) + (second**2).sum(axis=0) / len(X))
    return first / scale, second / scale
