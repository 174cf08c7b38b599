"""Rows of random linear networks."""

import numpy as np


def network_rows(seed, n_rows=200, n_columns=8, n_parents=1.5):
    """Draw rows with columns of different units, shuffled."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    for j in range(1, n_columns):
        parents = rng.choice(j, min(j, rng.poisson(n_parents)), replace=False)
        X[:, j] += X[:, parents] @ rng.uniform(0.5, 1.0, len(parents))
    order = rng.permutation(n_columns)
    return X[:, order] * rng.uniform(0.2, 5.0, n_columns) + rng.normal(size=n_columns)


def pair_and_others(seed, n_rows=300):
    """Draw two columns that go together and three that go with nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 3] += X[:, 1]
    return X
