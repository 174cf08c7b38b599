"""Networks of ordered answers, beside R's qgraph on the same rows, some with gaps."""

import csv
from pathlib import Path

import numpy as np
import pytest

from edgewise import GaussianGraph
from edgewise.selection import EBIC
from edgewise.solvers import refit_precision
from edgewise.stats import latent_correlation
from edgewise.stats.polychoric import ordinal_columns

HERE = Path(__file__).parent
#: How far cor_auto, by lavaan, is from ours, and EBICglasso, told to be exact.
OF_CORRELATION, OF_NETWORK = 1e-6, 3e-7
#: How far EBICglasso is from the optimum as it comes: its glasso stops at 1e-4.
AS_IT_COMES = 3e-5


def read():
    """Return the matrices of the file by name."""
    found = {}
    with (HERE / "qgraph_reference.csv").open(newline="") as file:
        for name, *row in csv.reader(file):
            found.setdefault(name, []).append([float(value) for value in row])
    return {name: np.array(rows) for name, rows in found.items()}


REFERENCE = read()


def learner(gamma=0.5, **options):
    rule = EBIC(gamma=gamma, n_alphas=100, alpha_ratio=0.01)
    return GaussianGraph(rule, tol=1e-8, **options)


def rows_of(name):
    """Return the rows as ``qgraph_reference.R`` has them."""
    if name == "twelve":
        return REFERENCE["items"]
    # The first item is a measurement, others have gaps.
    X = np.loadtxt(HERE.parent / "stats" / "psych_answers.csv", delimiter=",", skiprows=1)
    row = np.arange(1, len(X) + 1)
    X[:, 0] += np.sin(row)
    for j in range(1, X.shape[1]):
        X[(row + j + 1) % 11 == 0, j] = np.nan
    return X


@pytest.mark.parametrize("name", ["four", "twelve"])
def test_correlations_by_kinds_are_those_of_cor_auto(name):
    X = rows_of(name)
    found = latent_correlation(X, ordinal=ordinal_columns(X))
    expected = REFERENCE[f"{name} correlation"]
    np.testing.assert_allclose(found.correlation, expected, atol=OF_CORRELATION)


@pytest.mark.parametrize("name", ["four", "twelve"])
def test_the_network_of_the_answers_is_that_of_ebicglasso(name):
    graph = learner(covariance="auto", missing="pairwise").fit(rows_of(name)).graph_
    exact, as_it_comes = REFERENCE[f"{name} 0.5"], REFERENCE[f"{name} as it comes"]
    np.testing.assert_array_equal(graph.adjacency, exact != 0)
    np.testing.assert_allclose(graph.weights, exact, atol=OF_NETWORK)
    np.testing.assert_allclose(graph.weights, as_it_comes, atol=AS_IT_COMES)
    # It is EBICglasso that is off its own optimum by as much.
    assert np.abs(as_it_comes - exact).max() > 10 * np.abs(graph.weights - exact).max()


@pytest.mark.parametrize("setting", ["0", "0.25", "0.5", "diagonal"])
def test_the_network_of_the_same_correlations_has_the_same_numbers(setting):
    S = REFERENCE["twelve correlation"]
    is_diagonal = setting == "diagonal"
    model = learner(
        0.5 if is_diagonal else float(setting),
        covariance="precomputed",
        n_samples=300,
        penalize_diagonal=is_diagonal,
    ).fit(S)
    expected = REFERENCE[f"twelve {setting}"]
    assert 0 < model.graph_.n_edges < 66
    np.testing.assert_array_equal(model.graph_.adjacency, expected != 0)
    np.testing.assert_allclose(model.graph_.weights, expected, atol=OF_NETWORK)


def test_the_refitted_network_is_the_maximum_likelihood_of_the_chosen_one():
    S = REFERENCE["twelve correlation"]
    chosen = learner(covariance="precomputed", n_samples=300).fit(S).graph_
    Theta = refit_precision(S, chosen.adjacency, tol=1e-12).value
    scale = np.sqrt(Theta.diagonal())
    found = np.where(chosen.adjacency, -Theta / np.outer(scale, scale), 0.0)
    np.testing.assert_allclose(found, REFERENCE["twelve refitted"], atol=OF_NETWORK)
