import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import InputError
from edgewise.data import load_dag, make_dag, make_linear_sem
from edgewise.metrics import edge_metrics
from studies.directed.sort_and_regress import sort_and_regress


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6))
def test_finds_the_network_from_its_population_and_order(seed):
    model = make_linear_sem(make_dag(8, degree=2, rng=seed), rng=seed)
    # The longest path to each node is an order of causes before effects.
    rank = sum((np.linalg.matrix_power(model.adjacency, k) > 0).any(axis=0) for k in range(1, 8))
    found = sort_and_regress(model.covariance, 10**7, by=rank)
    np.testing.assert_allclose(found.value, model.coef, atol=1e-8)
    assert (np.diff(np.asarray(rank)[found.order]) >= 0).all()


@pytest.mark.parametrize("by", ["variance", "r2"])
def test_sorts_by_the_figure_that_is_asked_for(by):
    model = make_linear_sem(make_dag(7, degree=3, rng=2), permute=True, rng=3)
    S = model.covariance
    left = 1 / np.linalg.inv(S).diagonal()
    figure = S.diagonal() if by == "variance" else 1 - left / S.diagonal()
    found = sort_and_regress(S, 500, by=by)
    np.testing.assert_array_equal(found.order, np.argsort(figure))
    assert not np.tril(found.value[np.ix_(found.order, found.order)]).any()


def test_coefficients_are_least_squares_on_the_parents():
    model = make_linear_sem(make_dag(10, degree=3, rng=0), rng=1)
    X = model.sample(200, rng=2)
    X -= X.mean(axis=0)
    found = sort_and_regress(X.T @ X / 200, 200)
    for j in range(10):
        parents = np.flatnonzero(found.value[:, j])
        expected = np.linalg.lstsq(X[:, parents], X[:, j], rcond=None)[0]
        np.testing.assert_allclose(found.value[parents, j], expected, atol=1e-8)


def test_raw_scale_gives_the_order_away():
    model = make_linear_sem(load_dag("alarm").adjacency, permute=True, rng=0)
    X = model.sample(1000, rng=1)
    raw, scaled = np.cov(X.T), np.corrcoef(X.T)
    errors = [
        edge_metrics(model.adjacency, sort_and_regress(S, 1000).value).hamming
        for S in (raw, scaled)
    ]
    assert errors[0] < errors[1] / 2


def test_rounding_does_not_decide_between_equal_variances():
    X = np.random.default_rng(0).normal(size=(50, 12))
    noise = 1 + 1e-13 * np.random.default_rng(1).normal(size=12)
    S = np.corrcoef(X.T) * np.sqrt(np.outer(noise, noise))
    np.testing.assert_array_equal(sort_and_regress(S, 50).order, np.arange(12))


def test_gamma_leaves_fewer_arcs():
    X = np.random.default_rng(0).normal(size=(60, 30))
    counts = [
        np.count_nonzero(sort_and_regress(np.cov(X.T), 60, gamma=gamma).value)
        for gamma in (0.0, 1.0)
    ]
    assert counts[1] < counts[0] / 2


@pytest.mark.parametrize(
    ("by", "n_samples", "words"),
    [
        ("size", 10, "by must be"),
        ([1.0, 2.0], 10, "3 numbers"),
        ([1.0, 2.0, np.nan], 10, "3 numbers"),
        ("r2", 3, "more rows"),
    ],
)
def test_bad_arguments_are_refused(by, n_samples, words):
    with pytest.raises(InputError, match=words):
        sort_and_regress(np.eye(3), n_samples, by=by)
