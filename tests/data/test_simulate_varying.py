"""Rows whose network varies with covariates: partitions, chains and grids."""

import numpy as np
import pytest
from scipy import stats

from edgewise import InputError
from edgewise.data import make_drifting_chain, make_drifting_grid, make_tree_partition
from edgewise.data.simulate.covariates import PARTITION_LAYOUTS, _cell_of
from tests.messages import raises

DESIGNS = {
    "partition": lambda size=100, **options: make_tree_partition(size, **options),
    "chain": lambda size=100, **options: make_drifting_chain(size, **options),
    "grid": lambda size=10, **options: make_drifting_grid(size, **options),
}


def n_edges(adjacencies):
    return adjacencies.sum(axis=(-1, -2)) // 2


@pytest.mark.parametrize("name", DESIGNS)
def test_rows_and_graphs(name):
    data = DESIGNS[name](n_features=12, rng=1)
    assert data.X.shape == data.X_val.shape
    assert data.Y.shape == data.Y_val.shape == (100, 12)
    assert data.graph.shape == data.graph_val.shape == (100,)
    assert data.adjacencies.dtype == bool
    assert (data.adjacencies == data.adjacencies.transpose(0, 2, 1)).all()
    assert not np.diagonal(data.adjacencies, axis1=1, axis2=2).any()
    assert data.adjacencies.sum(axis=1).max() <= 4
    assert ((data.X >= 0) & (data.X <= 1)).all()
    assert data.graph.max() < len(data.adjacencies)
    expected = np.where(data.adjacencies, 0.245, 0.0) + np.eye(12)
    np.testing.assert_array_equal(data.precisions, expected)
    assert np.linalg.eigvalsh(data.precisions).min() > 0


@pytest.mark.parametrize("name", DESIGNS)
def test_equal_seeds_give_equal_data(name):
    data, same, other = (DESIGNS[name](rng=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(data.Y, same.Y)
    np.testing.assert_array_equal(data.Y_val, same.Y_val)
    np.testing.assert_array_equal(data.adjacencies, same.adjacencies)
    assert not (data.Y == other.Y).any()
    assert not (data.Y_val == data.Y).any()


@pytest.mark.parametrize("layout", PARTITION_LAYOUTS)
def test_cells_tile_the_square(layout):
    data = make_tree_partition(4000, n_covariates=3, layout=layout, rng=0)
    boxes = data.boxes
    assert boxes.shape == (22, 2, 2)
    np.testing.assert_allclose(data.areas, [1 / 64] * 16 + [1 / 16] * 4 + [1 / 4] * 2)
    for X, cell in ((data.X, data.graph), (data.X_val, data.graph_val)):
        inside = (boxes[:, :, 0] < X[:, None, :2]) & (X[:, None, :2] <= boxes[:, :, 1])
        inside = inside.all(axis=2)
        # Each row lies in one cell, and that is its own.
        np.testing.assert_array_equal(inside.sum(axis=1), 1)
        np.testing.assert_array_equal(inside.argmax(axis=1), cell)
    # Halvings: every end is a multiple of the side of its cell.
    sides = boxes[:, :, 1] - boxes[:, :, 0]
    assert ((boxes[:, :, 0] / sides) % 1 == 0).all()
    np.testing.assert_array_equal(n_edges(data.adjacencies), 10)
    assert len({graph.tobytes() for graph in data.adjacencies}) == 22


def test_layouts_differ_in_where_the_small_cells_are():
    gathered, spread = (
        make_tree_partition(10, layout=name, rng=0).boxes for name in PARTITION_LAYOUTS
    )
    assert gathered[:16].max() == 0.5
    quarters = {tuple((box[:, 0] >= 0.5).tolist()) for box in spread[:16]}
    assert quarters == {(False, False), (True, True)}
    for corner in ((0.0, 0.0), (0.5, 0.5)):
        is_there = ((spread[:, :, 0] >= corner) & (spread[:, :, 0] < np.add(corner, 0.5))).all(1)
        assert is_there[:16].sum() == 8
        assert is_there[16:20].sum() == 2


def test_corner_of_the_square_belongs_to_a_cell():
    boxes = make_tree_partition(10, rng=0).boxes
    assert _cell_of(np.zeros((1, 2)), boxes).tolist() == [0]
    assert _cell_of(np.array([[0.125, 0.125], [0.125, 0.1251]]), boxes).tolist() == [0, 1]


def test_responses_have_the_precision_of_their_cell():
    data = make_tree_partition(40_000, n_features=5, n_edges=4, max_degree=3, strength=0.3, rng=2)
    for cell in (20, 21):
        rows = data.Y[data.graph == cell]
        white = rows @ np.linalg.cholesky(data.precisions[cell])
        np.testing.assert_allclose(white.T @ white / len(rows), np.eye(5), atol=0.05)
        assert stats.kstest(white.ravel(), "norm").pvalue > 1e-3
    # Other cells have other graphs, and the same rows are not white under them.
    white = data.Y[data.graph == 20] @ np.linalg.cholesky(data.precisions[21])
    assert np.abs(white.T @ white / len(white) - np.eye(5)).max() > 0.1


def test_options_of_the_partition():
    data = make_tree_partition(
        50, n_covariates=4, n_features=9, n_edges=6, max_degree=2, strength=-0.4, rng=0
    )
    assert data.X.shape == (50, 4)
    assert data.Y.shape == (50, 9)
    np.testing.assert_array_equal(n_edges(data.adjacencies), 6)
    assert data.adjacencies.sum(axis=1).max() <= 2
    assert set(np.unique(data.precisions)) == {-0.4, 0.0, 1.0}


def test_chain_changes_an_edge_at_a_time():
    data = make_drifting_chain(4000, rng=5)
    np.testing.assert_allclose(np.diff(data.X[:, 0]), 1 / 3999)
    np.testing.assert_array_equal(data.X, data.X_val)
    np.testing.assert_array_equal(data.graph, data.graph_val)
    assert n_edges(data.adjacencies[0]) == 10
    counts = n_edges(data.adjacencies)
    # A walk of hundreds of steps that nothing held would have left these bounds.
    assert counts.min() == 5
    assert counts.max() == 15
    steps = np.diff(data.graph)
    assert set(np.unique(steps)) == {0, 1}
    for before, after in zip(data.adjacencies[:-1], data.adjacencies[1:], strict=True):
        removed, added = np.triu(before & ~after).sum(), np.triu(after & ~before).sum()
        assert removed <= 1
        assert added <= 1
        assert removed + added >= 1
    # Two chances of 1 in 20 at each step, a little less where a bound is met.
    assert 0.07 < steps.mean() < 0.1


def test_grid_grows_from_its_corner():
    side = 30
    data = make_drifting_grid(side, rng=6)
    number = data.graph.reshape(side, side)
    np.testing.assert_allclose(data.X[1] - data.X[0], [0, 1 / (side - 1)])
    np.testing.assert_allclose(data.X[side] - data.X[0], [1 / (side - 1), 0])
    is_from_left, is_from_below = np.zeros((2, side, side), dtype=bool)
    for i in range(side):
        for j in range(side):
            for found, (a, b) in ((is_from_left, (i - 1, j)), (is_from_below, (i, j - 1))):
                if a >= 0 and b >= 0:
                    before, here = (data.adjacencies[number[k]] for k in ((a, b), (i, j)))
                    found[i, j] = np.triu(before != here).sum() <= 2
    assert (is_from_left | is_from_below)[1:, 1:].all()
    assert is_from_left[1:, 0].all()
    assert is_from_below[0, 1:].all()
    same = [(number[1:, 1:] == other).mean() for other in (number[:-1, 1:], number[1:, :-1])]
    # A fair coin, and no change nine times in ten.
    assert min(same) > 0.4


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: make_tree_partition(layout="ring"), "unknown_layout"),
        (lambda: make_tree_partition(n_covariates=1), "n_covariates_range"),
        (lambda: make_tree_partition(0), "n_rows_range"),
        (lambda: make_tree_partition(10, n_features=1), "n_features_range"),
        (lambda: make_tree_partition(10, strength=0.25), "strength_too_large"),
        (lambda: make_tree_partition(10, n_features=4, n_edges=9), "edges_exceed_degree"),
        (lambda: make_tree_partition(10, n_edges=39), "no_sparse_graph_drawn"),
        (lambda: make_drifting_chain(10, n_edges=4), "n_edges_range"),
        (lambda: make_drifting_grid(3, n_edges=16), "n_edges_range"),
    ],
)
def test_bad_designs_are_named(draw, message):
    with raises(InputError, code=message):
        draw()
