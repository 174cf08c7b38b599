"""Tables whose network changes with a covariate in a known way."""

from __future__ import annotations

import numpy as np


def changing_rows(n_rows=600, seed=0, d=2, p=4, strength=1.0):
    """The first two responses change the sign of their link at the middle of covariate 1."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, d))
    Y = rng.normal(size=(n_rows, p))
    Y[:, 0] += np.where(X[:, 1] > 0.5, strength, -strength) * Y[:, 1]
    return X, Y


def four_cells(n_rows=800, seed=0, d=3):
    """A checkerboard of two covariates: one split alone shows next to nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, d))
    Y = rng.normal(size=(n_rows, 4))
    Y[:, 0] += np.where((X[:, 0] > 0.5) == (X[:, 1] > 0.5), 1.0, -1.0) * Y[:, 1]
    return X, Y


def assert_same_tree(one, other):
    """Hold two fitted trees to the same nodes, to the last bit."""
    assert one.export_text() == other.export_text()
    np.testing.assert_array_equal(one.risk_path_, other.risk_path_)
    for first, second in zip(one.nodes_, other.nodes_, strict=True):
        assert (first.box, first.n, first.n_validation) == (
            second.box,
            second.n,
            second.n_validation,
        )
        np.testing.assert_array_equal(first.mean, second.mean)
        np.testing.assert_array_equal(first.precision, second.precision)
