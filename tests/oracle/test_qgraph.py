"""Networks of ordered answers, beside R's qgraph on the same rows with gaps."""

from pathlib import Path

import numpy as np
import pytest

from edgewise import GaussianGraph
from edgewise.selection import EBIC
from edgewise.stats import latent_correlation, ordinal_columns

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def answers():
    """Answers as in ``qgraph_reference.R``: the first item a measurement, others with gaps."""
    X = np.loadtxt(HERE.parent / "stats" / "psych_answers.csv", delimiter=",", skiprows=1)
    row = np.arange(1, len(X) + 1)
    X[:, 0] += np.sin(row)
    for j in range(1, X.shape[1]):
        X[(row + j + 1) % 11 == 0, j] = np.nan
    return X


def test_correlations_by_kinds_are_those_of_cor_auto(answers):
    expected = np.loadtxt(HERE / "qgraph_correlation.csv", delimiter=",")
    found = latent_correlation(answers, ordinal=ordinal_columns(answers))
    np.testing.assert_allclose(found.correlation, expected, atol=1e-6)


def test_the_network_is_that_of_ebicglasso(answers):
    expected = np.loadtxt(HERE / "qgraph_network.csv", delimiter=",")
    rule = EBIC(gamma=0.5, n_alphas=100, alpha_ratio=0.01, refit=False)
    model = GaussianGraph(rule, covariance="auto", missing="pairwise").fit(answers)
    np.testing.assert_array_equal(model.graph_.adjacency, expected != 0)
    np.testing.assert_allclose(model.graph_.weights, expected, atol=3e-5)
