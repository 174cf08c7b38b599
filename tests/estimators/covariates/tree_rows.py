"""Tables whose network changes with a covariate in a known way."""

from __future__ import annotations

import numpy as np
import pandas as pd


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


def penguins(n_rows=333, seed=0, turned=None):
    """Four measurements of three species and two sexes that differ in their means only.

    ``turned`` names a species in which two of the measurements have the other sign.
    """
    rng = np.random.default_rng(seed)
    species = rng.choice(["Adelie", "Chinstrap", "Gentoo"], n_rows, p=[0.44, 0.2, 0.36])
    sex = rng.choice(["female", "male"], n_rows)
    means = {
        "Adelie": [37.3, 17.6, 188.0, 3370.0],
        "Chinstrap": [46.6, 17.6, 192.0, 3530.0],
        "Gentoo": [45.6, 14.2, 213.0, 4680.0],
    }
    within = np.full((4, 4), 0.4) + 0.6 * np.eye(4)
    Z = rng.multivariate_normal(np.zeros(4), within, n_rows)
    if turned is not None:
        Z[species == turned] *= [1, -1, 1, -1]
    Y = np.array([means[one] for one in species]) + np.outer(sex == "male", [3.1, 1.4, 2.7, 670])
    names = ["bill_length", "bill_depth", "flipper", "mass"]
    X = pd.DataFrame({"species": species, "sex": sex})
    return X, pd.DataFrame(Y + Z * [2.0, 0.8, 6.0, 300.0], columns=names)


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
