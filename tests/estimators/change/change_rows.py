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


def spread(X, y):
    """Standard deviation of each column within the groups."""
    rows = [X[y == label] - X[y == label].mean(axis=0) for label in np.unique(y)]
    return np.concatenate(rows).std(axis=0)


def standardized(X, y):
    """Rows of the two groups by hand: each less its mean, over the deviation within groups."""
    scale = spread(X, y)
    first, second = (X[y == label] - X[y == label].mean(axis=0) for label in np.unique(y))
    return first / scale, second / scale


#: Units of the columns of `odd_groups`.
UNITS = np.array([1.0, 10.0, 0.1, 3.0, 0.5, 7.0])


def odd_groups(seed=0, sizes=(80, 60), change=0.9):
    """Rows of two groups in odd units with odd means; x0 -> x1 is new in the second."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(sum(sizes), 6))
    y = np.repeat(["a", "b"], sizes)
    X[:, 3] += 0.7 * X[:, 2]
    X[y == "b", 1] += change * X[y == "b", 0]
    X = UNITS * X + np.arange(6.0)
    X[y == "b"] += 2.0
    return X, y


def moments(rows):
    """Covariance of each group of rows that are centred."""
    return np.stack([one.T @ one / len(one) for one in rows])
