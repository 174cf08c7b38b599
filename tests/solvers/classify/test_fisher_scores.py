"""Fisher scores and their kernel against gradients of the log-likelihood itself."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from edgewise import InputError
from edgewise.solvers.classify.fisher_scores import (
    fisher_kernel,
    fisher_vectors,
    score_correlations,
    select_arcs,
)
from tests.messages import raises
from tests.solvers.classify.class_problems import class_problem, log_likelihoods


def test_scores_are_gradients_of_the_log_likelihood():
    problem = class_problem(np.random.default_rng(0), m=4, n_per_class=5)
    vectors = fisher_vectors(problem.X, problem.coefs)
    m = problem.X.shape[1]
    for a in (0, 7):
        for c in range(2):

            def likelihood(flat, a=a, c=c):
                coefs = problem.coefs.copy()
                coefs[c] = flat.reshape(m + 1, m)
                return log_likelihoods(problem, coefs)[a, c]

            gradient = approx_fprime(problem.coefs[c].ravel(), likelihood).reshape(m + 1, m)
            np.fill_diagonal(gradient[:m], 0.0)
            np.testing.assert_allclose(vectors[a, c], gradient, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_kernel_equals_products_of_vectors(n_classes):
    problem = class_problem(np.random.default_rng(1), n_classes=n_classes, m=7, n_per_class=8)
    other = np.random.default_rng(2).normal(size=(5, 7))
    left = fisher_vectors(problem.X, problem.coefs).reshape(len(problem.X), -1)
    right = fisher_vectors(other, problem.coefs).reshape(5, -1)
    kernel = fisher_kernel(problem.X, other, problem.coefs)
    np.testing.assert_allclose(kernel, left @ right.T, rtol=1e-10, atol=1e-10)


def test_correlations_are_those_of_the_vectors():
    problem = class_problem(np.random.default_rng(3), n_classes=3, m=4, n_per_class=9)
    vectors = fisher_vectors(problem.X, problem.coefs)
    sizes = score_correlations(problem.X, problem.labels, problem.coefs)
    for c, i, j in np.argwhere(vectors.std(axis=0) > 0):
        expected = np.corrcoef(vectors[:, c, i, j], problem.labels == c)[0, 1]
        assert sizes[c, i, j] == pytest.approx(abs(expected), abs=1e-10)


def test_a_score_that_does_not_vary_tells_nothing():
    X = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    sizes = score_correlations(X, np.array([0, 0, 1, 1]), np.zeros((2, 3, 2)))
    assert sizes[0, 2, 0] == 0.0
    assert sizes[0, 2, 1] > 0.8


def test_selection_takes_the_largest_that_are_allowed():
    rng = np.random.default_rng(4)
    sizes = rng.uniform(size=(2, 4, 3))
    allowed = rng.uniform(size=sizes.shape) < 0.5
    arcs = select_arcs(sizes, allowed, 5)
    assert sorted(sizes[tuple(arcs.T)]) == sorted(np.sort(sizes[allowed])[-5:])
    np.testing.assert_array_equal(arcs, arcs[np.lexsort(arcs.T[[1, 2, 0]])])
    assert len(select_arcs(sizes, allowed, 1000)) == allowed.sum()
    with raises(InputError, code="n_arcs_range", n_arcs=0):
        select_arcs(sizes, allowed, 0)
