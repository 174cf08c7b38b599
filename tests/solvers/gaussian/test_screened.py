"""The graphical lasso of many columns from their rows agrees with that of their covariance."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from edgewise._core.errors import InputError, NotEnoughMemoryError
from edgewise.solvers import graphical_lasso, screened_graphical_lasso
from tests.messages import raises
from tests.solvers.gaussian.glasso_problems import clipped_gap, penalty_matrix


def rows_of(n, p, seed=0):
    """Rows of pairs and chains of columns in no order, with means and scales of their own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    for j in range(1, p):
        if j % 5:
            X[:, j] += X[:, j - 1]
    X = X[:, rng.permutation(p)]
    return X * rng.uniform(0.5, 2.0, p) + rng.normal(scale=100.0, size=p)


def largest_component(S, alpha):
    return np.bincount(connected_components(np.abs(S) > alpha, directed=False)[1]).max()


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("standardize", "penalize_diagonal"), [(True, False), (False, False), (False, True)]
)
def test_agrees_with_the_dense_solver(seed, standardize, penalize_diagonal):
    X = rows_of(40, 60, seed)
    S = np.corrcoef(X.T) if standardize else np.cov(X.T, bias=True)
    alpha = 0.45 if standardize else 4.0
    expected = graphical_lasso(S, alpha, penalize_diagonal=penalize_diagonal)
    found = [
        screened_graphical_lasso(
            X,
            alpha,
            standardize=standardize,
            penalize_diagonal=penalize_diagonal,
            block_size=block_size,
        )
        for block_size in (1, 16, 2048)
    ]
    first = found[0]
    for other in found[1:]:
        np.testing.assert_array_equal(other.value.toarray(), first.value.toarray())
        np.testing.assert_array_equal(other.component, first.component)
    value = first.value.toarray()
    np.testing.assert_array_equal(value, value.T)
    assert first.converged
    assert first.alpha == alpha
    rounding = 1e-12 * abs(expected.objective)
    assert abs(first.objective - expected.objective) <= first.gap + expected.gap + rounding
    certified = clipped_gap(S, value, penalty_matrix(60, alpha, None, penalize_diagonal))
    assert certified <= 1e-6 * 60
    labels = connected_components(np.abs(S) > alpha, directed=False)[1]
    np.testing.assert_array_equal(first.component, labels)
    assert 3 <= labels.max() < 50
    np.testing.assert_allclose(first.location, X.mean(axis=0))
    np.testing.assert_allclose(first.scale, X.std(axis=0))


@pytest.mark.parametrize("seed", range(1, 4))
def test_blocks_do_not_decide_what_is_joined_at_the_threshold(seed):
    X = np.random.default_rng(seed).normal(size=(500, 12))
    sizes = np.abs(np.triu(np.corrcoef(X.T), 1))
    # Products of blocks come out on either side of these, depending on the block.
    steps = [-1000, *range(-8, 9), 1000]
    alphas = sizes.max() * (1.0 + np.finfo(np.float64).eps * np.array(steps))
    joined = [
        [screened_graphical_lasso(X, a, block_size=size).component.max() for a in alphas]
        for size in (1, 5, 12)
    ]
    assert joined[0] == joined[1] == joined[2] == sorted(joined[0])
    assert joined[0][0] == 10
    assert joined[0][-1] == 11


@pytest.mark.parametrize("largest", [2, 7, 30, 119])
def test_alpha_is_the_smallest_that_keeps_components_small(largest):
    X = rows_of(30, 120)
    S = np.corrcoef(X.T)
    for block_size in (25, 2048):
        found = screened_graphical_lasso(X, largest=largest, block_size=block_size, tol=1e-2)
        assert np.bincount(found.component).max() == largest_component(S, found.alpha) <= largest
        assert largest_component(S, found.alpha * (1.0 - 2e-3)) > largest
    with raises(InputError, code="component_too_large", parameter="alpha"):
        screened_graphical_lasso(X, 0.9 * found.alpha, largest=largest)


def test_rows_may_come_in_parts_and_from_files(tmp_path):
    X = np.round(rows_of(25, 60))
    expected = screened_graphical_lasso(X, 0.5, block_size=16).value.toarray()
    np.save(tmp_path / "left.npy", X[:, :23].astype(np.float32))
    np.save(tmp_path / "right.npy", X[:, 23:].astype(np.int16))
    np.save(tmp_path / "all.npy", X)
    paths = tmp_path / "left.npy", str(tmp_path / "right.npy")
    mapped = np.load(tmp_path / "all.npy", mmap_mode="r")
    for given in (paths, [X[:, :50], X[:, 50:]], mapped, tmp_path / "all.npy", X.tolist()):
        found = screened_graphical_lasso(given, 0.5, block_size=16)
        np.testing.assert_array_equal(found.value.toarray(), expected)


def test_edges_are_partial_correlations():
    X = rows_of(40, 30)
    found = screened_graphical_lasso(X, 0.4)
    value = found.value.toarray()
    scale = np.sqrt(np.diagonal(value))
    first, second, weight = found.edges()
    np.testing.assert_array_equal(np.transpose([first, second]), np.argwhere(np.triu(value, 1)))
    np.testing.assert_allclose(weight, -(value / np.outer(scale, scale))[first, second])
    assert first.size


def test_nothing_of_the_size_of_the_covariance_is_held():
    p = 4000
    X = np.random.default_rng(0).normal(size=(30, p))
    # To compile takes memory of its own.
    screened_graphical_lasso(X[:, :1000], 0.75, block_size=500)
    tracemalloc.start()
    found = screened_graphical_lasso(X, 0.75, block_size=500)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.value.nnz > p
    # Two blocks of 2 MB each beside the pairs that were found, and 30 p numbers in some copies.
    assert peak < 0.15 * 8 * p**2


def test_a_component_that_does_not_fit_is_refused_with_an_alpha_that_does(monkeypatch):
    from edgewise._core import memory

    X = rows_of(30, 120)
    monkeypatch.setattr(memory, "SURELY_THERE", 10**5)
    monkeypatch.setattr(memory, "available_bytes", lambda: 3 * 10**5)
    monkeypatch.setattr("edgewise.solvers.gaussian.screened.WAITING", 10)
    with raises(
        NotEnoughMemoryError, code="memory_estimate_too_large", count=7, shape="120 x 120"
    ) as error:
        screened_graphical_lasso(X, 0.2, block_size=32)
    alpha = float(str(error.value).split("alpha=")[1].split()[0])
    assert screened_graphical_lasso(X, alpha, block_size=32).converged


SQUARE = np.corrcoef(np.random.default_rng(0).normal(size=(9, 4)).T)
ROWS = np.random.default_rng(0).normal(size=(9, 4))


@pytest.mark.parametrize(
    ("X", "options", "message"),
    [
        (ROWS, {}, "screening_needs_no_alpha"),
        (ROWS, {"alpha": -1.0}, "finite_non_negative"),
        (ROWS, {"alpha": 0.1, "largest": 0}, "at_least_one"),
        (ROWS, {"alpha": 0.1, "block_size": 0}, "at_least_one"),
        (ROWS, {"alpha": 0.1, "tol": 0.0}, "tol_positive"),
        (SQUARE, {"alpha": 0.1}, "covariance_given_to_screening"),
        (ROWS[0], {"alpha": 0.1}, "screening_input"),
        (ROWS.astype(str), {"alpha": 0.1}, "screening_input"),
        ([ROWS, ROWS[:5]], {"alpha": 0.1}, "parts_differ"),
        (ROWS[:1], {"alpha": 0.1}, "parts_differ"),
        ("table.parquet", {"alpha": 0.1}, "screening_source"),
        ([ROWS, ROWS * [1, 1, 0, 1]], {"alpha": 0.1}, "constant_column_streamed"),
        (
            np.where(np.arange(36).reshape(9, 4) == 14, np.nan, ROWS),
            {"alpha": 0.1},
            "value_not_finite_at",
        ),
    ],
)
def test_bad_input(X, options, message):
    with raises(InputError, code=message):
        screened_graphical_lasso(X, **options)


def test_as_many_rows_as_columns_in_small_units_are_rows():
    X = 1e-9 * rows_of(30, 30)
    found = screened_graphical_lasso(X, 0.5)
    assert found.converged
