"""Our neighbourhoods and graphical lassos against those of R's huge, frozen beside the script."""

import csv
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Lasso

from edgewise import GaussianGraph, NeighborhoodGraph

#: How far huge stops from the optimum of a regression, which scikit-learn's lasso shows: it has not
#: got a coefficient of 0.0009. Its graphical lasso is closer.
OF_MB, OF_GLASSO = 1e-3, 1e-5


def read():
    """Return the matrices of the file by name."""
    found = {}
    with Path(__file__).with_name("huge_reference.csv").open(newline="") as file:
        for name, *row in csv.reader(file):
            found.setdefault(name, []).append([float(value) for value in row])
    return {name: np.array(rows) for name, rows in found.items()}


REFERENCE = read()


@pytest.mark.parametrize("alpha", [0.4, 0.2, 0.1])
@pytest.mark.parametrize("rule", ["or", "and"])
def test_neighbourhoods_are_those_of_mb(alpha, rule):
    X = REFERENCE["x"]
    model = NeighborhoodGraph(alpha, rule=rule).fit(X)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    coef = model.coef_ * np.outer(X.std(axis=0), 1 / X.std(axis=0))
    np.testing.assert_allclose(coef, REFERENCE[f"beta {alpha}"], atol=OF_MB)
    for j in range(len(coef)):
        others = np.delete(np.arange(len(coef)), j)
        lasso = Lasso(alpha, fit_intercept=False, tol=1e-14, max_iter=100_000)
        expected = lasso.fit(Z[:, others], Z[:, j]).coef_
        np.testing.assert_allclose(coef[others, j], expected, atol=1e-10)
    is_large = np.abs(coef) > OF_MB
    joined = is_large & is_large.T if rule == "and" else is_large | is_large.T
    np.testing.assert_array_equal(joined, REFERENCE[f"{rule} {alpha}"] != 0)


@pytest.mark.parametrize("alpha", [0.4, 0.2, 0.1])
def test_precision_is_that_of_glasso_of_correlations(alpha):
    X = REFERENCE["x"]
    model = GaussianGraph(alpha, covariance="correlation", penalize_diagonal=True).fit(X)
    spread = X.std(axis=0)
    of_correlations = model.precision_ * np.outer(spread, spread)
    np.testing.assert_allclose(of_correlations, REFERENCE[f"icov {alpha}"], atol=OF_GLASSO)
    # The diagonal is free by default here, which is another problem.
    free = GaussianGraph(alpha, covariance="correlation").fit(X)
    assert np.abs(free.precision_ * np.outer(spread, spread) - of_correlations).max() > 0.05
