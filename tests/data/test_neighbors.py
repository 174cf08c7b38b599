import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

from edgewise import InputError
from edgewise.data import neighbor_pairs
from edgewise.data.neighbors import describe_neighbors, site_positions
from tests.messages import raises


def as_graph(pairs, n_features):
    graph = nx.empty_graph(n_features)
    graph.add_edges_from(pairs.tolist())
    return graph


def row_major_grid(shape):
    """Lattice of networkx, its nodes numbered as numpy.ravel lists them."""
    # networkx takes the sizes from the last axis to the first.
    lattice = nx.grid_graph(tuple(reversed(shape)))
    order = sorted(node if isinstance(node, tuple) else (node,) for node in lattice)
    numbers = {node if len(node) > 1 else node[0]: k for k, node in enumerate(order)}
    return nx.relabel_nodes(lattice, numbers)


def edge_set(graph):
    return {frozenset(edge) for edge in graph.edges}


@pytest.mark.parametrize("shape", [(1,), (7,), (1, 5), (3, 4), (4, 1), (2, 3, 4), (3, 1, 2)])
def test_grids_are_those_of_networkx(shape):
    n_features = int(np.prod(shape))
    pairs = neighbor_pairs(shape, n_features)
    assert pairs.dtype == np.int64
    assert pairs.shape[1] == 2
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert edge_set(as_graph(pairs, n_features)) == edge_set(row_major_grid(shape))
    assert len(np.unique(pairs, axis=0)) == len(pairs)


def test_pairs_of_a_grid_come_axis_by_axis():
    pairs = neighbor_pairs((2, 3, 4), 24)
    steps = np.diff(pairs, axis=1).ravel().tolist()
    assert steps == [1] * 18 + [4] * 16 + [12] * 12


def test_chain_and_ring():
    chain = neighbor_pairs("chain", 9)
    assert edge_set(as_graph(chain, 9)) == edge_set(nx.path_graph(9))
    np.testing.assert_array_equal(chain, neighbor_pairs((9,), 9))
    ring = neighbor_pairs("ring", 9)
    assert edge_set(as_graph(ring, 9)) == edge_set(nx.cycle_graph(9))
    assert (ring[:, 0] < ring[:, 1]).all()
    assert ring.dtype == np.int64
    assert neighbor_pairs("chain", 1).shape == (0, 2)


@pytest.mark.parametrize(
    "shape",
    [[3, 4], np.array([3, 4]), (np.int32(3), np.int64(4)), np.array([3.0, 4.0])],
)
def test_shapes_may_come_in_any_container(shape):
    np.testing.assert_array_equal(neighbor_pairs(shape, 12), neighbor_pairs((3, 4), 12))


@settings(max_examples=40, deadline=None)
@given(mask=hnp.arrays(bool, hnp.array_shapes(max_dims=3, max_side=5)))
def test_masked_grid_is_the_subgraph_of_its_sites(mask):
    sites = np.flatnonzero(mask).tolist()
    lattice = row_major_grid(mask.shape).subgraph(sites)
    renumbered = nx.relabel_nodes(lattice, {site: k for k, site in enumerate(sites)})
    pairs = neighbor_pairs(mask.shape, len(sites), mask=mask)
    assert edge_set(as_graph(pairs, len(sites))) == edge_set(renumbered)
    positions = site_positions(mask.shape, len(sites), mask=mask)
    np.testing.assert_array_equal(positions, site_positions(mask.shape, mask.size)[sites])


def test_a_full_mask_changes_nothing():
    full = np.ones((3, 4), dtype=bool)
    np.testing.assert_array_equal(
        neighbor_pairs((3, 4), 12, mask=full.tolist()), neighbor_pairs((3, 4), 12)
    )


def test_listed_pairs_keep_their_order():
    listed = [[5, 2], [0, 1], [3, 1]]
    expected = [[2, 5], [0, 1], [1, 3]]
    frame = pd.DataFrame(listed, columns=["from", "to"])
    for pairs in (listed, np.array(listed, dtype=np.uint8), np.array(listed, float), frame):
        found = neighbor_pairs(pairs, 6)
        assert found.tolist() == expected
        assert found.dtype == np.int64


def test_pairs_are_not_written_to():
    listed = np.array([[5, 2], [0, 1]])
    neighbor_pairs(listed, 6)
    assert listed.tolist() == [[5, 2], [0, 1]]


@pytest.mark.parametrize("empty", [np.empty((0, 2)), np.empty((0, 2), dtype=np.int32)])
def test_no_neighbours_have_to_be_said_in_full(empty):
    pairs = neighbor_pairs(empty, 4)
    assert pairs.shape == (0, 2)
    assert pairs.dtype == np.int64
    for unclear in ([], (), np.empty(0)):
        with raises(InputError, code="neighbors_empty"):
            neighbor_pairs(unclear, 4)


@pytest.mark.parametrize(
    ("neighbors", "part"),
    [
        ("torus", '"chain", "ring".*got \'torus\''),
        ("", "got ''"),
        (5, "got 5"),
        (None, "got None"),
        ((8, 8), "8 x 8 has 64 sites, but the table has 6 columns"),
        ((10**6, 10**6), "1000000000000 sites"),
        ((2, 3, 1, 1), "1 to 3 sizes"),
        ((2.5, 4), "whole numbers.*2.5, 4"),
        ((0, 6), "at least 1"),
        ((-2, -3), "at least 1"),
        (("2", "3"), "whole numbers"),
        ([[0, 1], [2, 6], [3, 9]], r"Pair 1 .*\(2, 6\).*1 more.*6 columns are numbered 0 to 5"),
        ([[0, 1], [-1, 2]], r"Pair 1 .*\(-1, 2\), is out of range: "),
        ([[0, 1], [2, 2]], r"Pair 1 .*\(2, 2\), joins a variable to itself"),
        ([[0, 1], [1, 2], [0, 1]], r"Pair 2 .*\(0, 1\), is there twice"),
        ([[0, 1], [1, 2], [2, 1]], r"Pair 2 .*\(2, 1\), is there twice"),
        ([[0, 1, 2]], r"shape \(1, 3\)"),
        (np.zeros((2, 2, 2), int), r"shape \(2, 2, 2\)"),
        (np.empty((0, 3)), r"shape \(0, 3\)"),
        (np.eye(6), r"numpy\.argwhere"),
        ([[0, 1], [2]], "different lengths"),
        ([[0, np.nan]], r"Pair 0 .*\(0.0, nan\).*whole numbers"),
        ([[0, np.inf]], "whole numbers"),
        ([[0, 1], [0.5, 2]], r"Pair 1 .*\(0.5, 2.0\).*whole numbers"),
        ([["a", "b"]], r"\(a, b\).*whole numbers"),
        ([[True, False]], "1 sites in the mask, but the table has 6 columns"),
    ],
)
@pytest.mark.parametrize("function", [neighbor_pairs, site_positions])
def test_bad_neighbours(function, neighbors, part):
    with pytest.raises(InputError, match=part):
        function(neighbors, 6)


@pytest.mark.parametrize("n_features", [1, 2])
def test_a_ring_needs_three(n_features):
    with raises(InputError, code="ring_too_small"):
        neighbor_pairs("ring", n_features)


@pytest.mark.parametrize(
    ("neighbors", "mask", "part"),
    [
        ((2, 3), np.array([[1, 1, 0], [1, 1, 1]]), "mask_not_boolean"),
        ((2, 3), np.ones((3, 2), dtype=bool), "mask_shape"),
        ((2, 3), np.ones((2, 3), dtype=bool), "grid_column_count"),
        ("chain", np.ones(5, dtype=bool), "mask_without_grid"),
        ("ring", np.ones(5, dtype=bool), "mask_without_grid"),
        ([[0, 1]], np.ones(5, dtype=bool), "mask_without_grid"),
    ],
)
@pytest.mark.parametrize("function", [neighbor_pairs, site_positions])
def test_bad_masks(function, neighbors, mask, part):
    with raises(InputError, code=part):
        function(neighbors, 5, mask=mask)


@pytest.mark.parametrize(
    ("neighbors", "n_features"), [("chain", 6), ("ring", 3), ("ring", 11), ((3, 4), 12)]
)
def test_neighbours_and_only_they_are_drawn_at_distance_one(neighbors, n_features):
    positions = site_positions(neighbors, n_features)
    assert positions.shape == (n_features, 2)
    distance = np.linalg.norm(positions[:, None] - positions, axis=2)
    first, second = np.nonzero(np.triu(np.isclose(distance, 1)))
    near = {frozenset(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)}
    assert near == edge_set(as_graph(neighbor_pairs(neighbors, n_features), n_features))
    np.fill_diagonal(distance, 2)
    assert distance.min() > 1 - 1e-12


def test_positions_follow_the_page():
    assert site_positions("chain", 3).tolist() == [[0, 0], [1, 0], [2, 0]]
    assert site_positions((2, 3), 6).tolist() == [[0, 0], [1, 0], [2, 0], [0, -1], [1, -1], [2, -1]]
    top, right = site_positions("ring", 4)[:2]
    assert top[1] > 0 == pytest.approx(top[0])
    assert right[0] > 0 == pytest.approx(right[1])


def test_slices_stand_side_by_side():
    positions = site_positions((3, 2, 4), 24).reshape(3, 2, 4, 2)
    flat = site_positions((2, 4), 8).reshape(2, 4, 2)
    for k in range(3):
        np.testing.assert_array_equal(positions[k], flat + np.array([5 * k, 0]))


def test_listed_pairs_have_no_places():
    assert site_positions([[0, 1]], 3) is None


def test_neighbourhood_in_words():
    def describe(pairs, n_features):
        return describe_neighbors(neighbor_pairs(pairs, n_features), n_features)

    assert describe((3, 4), 12) == []
    assert describe("chain", 1) == []
    assert describe([[0, 1], [2, 3]], 4) == ["The 4 variables fall into 2 parts that do not touch."]
    assert describe([[0, 1], [1, 2]], 5) == ["2 of 5 variables have no neighbour."]
    assert describe([[0, 1], [3, 4]], 5) == [
        "1 of 5 variables has no neighbour.",
        "The other 4 fall into 2 parts that do not touch.",
    ]
    assert describe(np.empty((0, 2)), 3) == ["3 of 3 variables have no neighbour."]
