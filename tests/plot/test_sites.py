"""Edges over the places of the sites: which are drawn, where, how wide and how bundled."""

import time

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from edgewise import Graph, InputError
from edgewise.plot import plot_sites
from tests.messages import raises

BLUE, ORANGE, GREY = to_rgb("#0072B2"), to_rgb("#D55E00"), to_rgb("#767676")


def graph_of(n, edges, names=None):
    weights = np.zeros((n, n))
    for i, j, weight in edges:
        weights[i, j] = weights[j, i] = weight
    return Graph(weights, names=names)


def boxes_graph():
    """A grid of 8 x 8 whose corners are joined: box to box, positive and negative."""
    number = np.arange(64).reshape(8, 8)
    weights, groups = np.zeros((64, 64)), np.full((64, 64), -1)
    for group, (a, b, weight) in enumerate(
        [
            (number[:3, :3], number[5:, 5:], 0.5),
            (number[:3, 5:], number[5:, :3], -0.4),
        ]
    ):
        for i, j in ((a, b), (b, a)):
            weights[np.ix_(i.ravel(), j.ravel())] = weight
            groups[np.ix_(i.ravel(), j.ravel())] = group
    return Graph(weights), groups


def dense_graph(n, seed=0):
    upper = np.triu(np.random.default_rng(seed).normal(size=(n, n)), 1)
    return Graph(upper + upper.T)


def lines(ax):
    (edges,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return edges


def site_points(ax):
    (sites,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    return np.asarray(sites.get_offsets())


def curves(ax):
    """Points along each edge, the heaviest first."""
    return np.array(lines(ax).get_segments())[::-1]


def middles(ax):
    points = curves(ax)
    return points[:, points.shape[1] // 2]


def caption(ax):
    return ax.texts[-1].get_text()


def ends_of(curve):
    return {tuple(np.round(curve[0], 9)), tuple(np.round(curve[-1], 9))}


def test_edges_join_the_places_of_their_sites():
    graph = graph_of(6, [(0, 5, 1.0), (1, 3, 0.5)])
    ax = plot_sites(graph, (2, 3))
    np.testing.assert_array_equal(
        site_points(ax), [[0, 0], [1, 0], [2, 0], [0, -1], [1, -1], [2, -1]]
    )
    assert [ends_of(curve) for curve in curves(ax)] == [{(0, 0), (2, -1)}, {(1, 0), (0, -1)}]


def test_places_as_given():
    given = np.random.default_rng(0).normal(size=(5, 2)) * [100, 30]
    ax = plot_sites(graph_of(5, [(0, 4, 1.0)]), given)
    np.testing.assert_array_equal(site_points(ax), given)
    assert ends_of(curves(ax)[0]) == {tuple(np.round(given[0], 9)), tuple(np.round(given[4], 9))}
    assert (given > [ax.get_xlim()[0], ax.get_ylim()[0]]).all()
    assert (given < [ax.get_xlim()[1], ax.get_ylim()[1]]).all()
    ring = site_points(plot_sites(graph_of(8, []), "ring"))
    np.testing.assert_allclose(np.ptp(np.linalg.norm(ring, axis=1)), 0, atol=1e-9)


def test_mask_leaves_out_sites():
    mask = np.array([[True, False, True], [True, True, False]])
    ax = plot_sites(graph_of(4, [(0, 1, 1.0)]), (2, 3), mask=mask)
    np.testing.assert_array_equal(site_points(ax), [[0, 0], [2, 0], [0, -1], [1, -1]])


def test_sign_sets_colour_and_size_sets_width_and_opacity():
    graph = graph_of(4, [(0, 1, 1.0), (1, 3, -0.5), (2, 3, 0.1)])
    edges = lines(plot_sites(graph, (2, 2)))
    assert [tuple(color[:3]) for color in edges.get_colors()] == [BLUE, ORANGE, BLUE]
    assert (np.diff(edges.get_linewidths()) > 0).all()
    assert (np.diff(edges.get_colors()[:, 3]) > 0).all()


def test_unknown_weight_is_grey_and_arcs_count_once():
    unknown = Graph(np.zeros((2, 2)), adjacency=[[0, 1], [1, 0]])
    assert tuple(lines(plot_sites(unknown, "chain")).get_colors()[0][:3]) == GREY
    arcs = Graph([[0, 0.5, 0], [-1, 0, 0], [0, 0.2, 0]], directed=True)
    ax = plot_sites(arcs, [[0, 0], [1, 0], [1, 1]])
    assert caption(ax) == "all 2 edges"
    assert [tuple(color[:3]) for color in lines(ax).get_colors()] == [BLUE, ORANGE]


def test_the_heaviest_edges_are_drawn_and_counted():
    graph = dense_graph(40)
    ax = plot_sites(graph, (5, 8), top=20)
    assert caption(ax) == "the 20 strongest of 780 edges"
    i, j = np.triu_indices(40, 1)
    heaviest = np.argsort(-np.abs(graph.weights[i, j]))[:20]
    places = site_points(ax)
    expected = [ends_of(places[[i[k], j[k]]]) for k in heaviest]
    assert [ends_of(curve) for curve in curves(ax)] == expected
    assert caption(plot_sites(graph, (5, 8), labels="none")) == "the 60 strongest of 780 edges"
    assert caption(plot_sites(graph, (5, 8), top=None, labels="none")) == "all 780 edges"
    every = plot_sites(graph, (5, 8), top=None, labels="none")
    assert caption(every) == "all 780 edges"
    assert len(curves(every)) == 780
    assert caption(plot_sites(graph, (5, 8), top=1)) == "the strongest of 780 edges"
    assert caption(plot_sites(graph_of(3, []), "chain")) == "no edges"
    with raises(InputError, code="top_range", top=0):
        plot_sites(graph, (5, 8), top=0)


def test_boxes_are_bundled():
    graph, _ = boxes_graph()
    bundled, free = plot_sites(graph, (8, 8)), plot_sites(graph, (8, 8), bundle=False)
    # The 81 positive edges come first; between the centres of the corner boxes lies (3.5, -3.5).
    positive, spread = middles(bundled)[:81], middles(free)[:81]
    np.testing.assert_allclose(positive.mean(axis=0), [3.5, -3.5], atol=1e-9)
    assert np.ptp(positive, axis=0).max() < 0.3 * np.ptp(spread, axis=0).min()
    for one, other in zip(curves(bundled), curves(free), strict=True):
        assert ends_of(one) == ends_of(other)


def test_signs_are_never_in_one_bundle():
    places = [[0, 0], [0, 1], [10, 0], [10, 1]]
    same = plot_sites(graph_of(4, [(0, 2, 1.0), (1, 3, 0.9)]), places)
    mixed = plot_sites(graph_of(4, [(0, 2, 1.0), (1, 3, -0.9)]), places)
    gap, free_gap = (np.ptp(middles(ax)[:, 1]) for ax in (same, mixed))
    assert gap < 0.2 < 0.4 < free_gap


def test_edges_listed_either_way_share_a_bundle():
    places = [[0, 0], [10, 1], [10, 0], [0, 1]]
    ax = plot_sites(graph_of(4, [(0, 2, 1.0), (1, 3, 0.9)]), places)
    assert np.ptp(middles(ax)[:, 1]) < 0.2
    assert [ends_of(curve) for curve in curves(ax)] == [{(0, 0), (10, 0)}, {(10, 1), (0, 1)}]


def test_groups_decide_what_is_bundled():
    places = [[0, 0], [0, 1], [10, 0], [10, 1]]
    graph = graph_of(4, [(0, 2, 1.0), (1, 3, 0.9)])
    groups = np.full((4, 4), -1)
    groups[0, 2] = groups[2, 0] = 0
    groups[1, 3] = groups[3, 1] = 1
    apart = middles(plot_sites(graph, places, groups=groups))
    groups[1, 3] = groups[3, 1] = 0
    together = middles(plot_sites(graph, places, groups=groups))
    assert np.ptp(together[:, 1]) < 0.2 < 0.4 < np.ptp(apart[:, 1])


THREE_AND_THREE = [[0, 0], [0, 1], [0, 2], [10, 0], [10, 1], [10, 2]]


@pytest.mark.parametrize(
    "edges",
    [
        pytest.param([(0, 3, 1.0), (2, 5, 1.0)], id="not beside each other"),
        pytest.param([(0, 3, 1.0), (1, 4, 0.5)], id="not of about the same weight"),
    ],
)
def test_groups_bundle_what_places_and_weights_do_not(edges):
    graph = graph_of(6, edges)
    groups = np.where(graph.adjacency, 0, -1)
    apart = np.ptp(middles(plot_sites(graph, THREE_AND_THREE))[:, 1])
    together = np.ptp(middles(plot_sites(graph, THREE_AND_THREE, groups=groups))[:, 1])
    assert together < 0.3 < 0.45 < apart


def test_bundles_grow_from_edge_to_edge():
    ends = [(0, 3, 1.0), (2, 5, 1.0)]
    alone = middles(plot_sites(graph_of(6, ends), THREE_AND_THREE))
    bridged = middles(plot_sites(graph_of(6, [*ends, (1, 4, 0.9)]), THREE_AND_THREE))
    assert np.ptp(bridged[:, 1]) < 0.3 < 0.45 < np.ptp(alone[:, 1])


def test_near_edges_stay_straight_and_long_ones_avoid_the_sites_between():
    number = np.arange(64).reshape(8, 8)
    steps = [(i, j, 0.1) for i, j in zip(number[:, :-1].flat, number[:, 1:].flat, strict=True)]
    for curve in curves(plot_sites(graph_of(64, steps), (8, 8))):
        np.testing.assert_allclose(curve[:, 1], curve[0, 1], atol=1e-12)
    long = curves(plot_sites(graph_of(64, [(0, 7, 1.0)]), (8, 8)))[0]
    assert long[12, 1] < -0.3  # towards the middle of the grid


def test_short_edges_keep_out_of_long_bundles():
    chain = [(0, 9, 1.0), (1, 10, 1.0), (4, 5, 0.9)]
    heights = curves(plot_sites(graph_of(11, chain), "chain"))[..., 1].max(axis=1)
    assert heights[2] < 0.2 * heights[0]


@pytest.mark.parametrize("sites", [(5, 5), "chain", "ring"])
def test_no_edge_goes_a_long_way_round(sites):
    # One weight for all: nothing but the places tells bundles apart.
    everything = Graph(np.ones((25, 25)) - np.eye(25))
    points = curves(plot_sites(everything, sites, top=None, labels="none"))
    walked = np.linalg.norm(np.diff(points, axis=1), axis=2).sum(axis=1)
    assert (walked < 2.5 * np.linalg.norm(points[:, -1] - points[:, 0], axis=1)).all()


def test_sites_on_one_line_are_joined_by_arcs():
    edges = [(0, 9, 1.0), (2, 5, -0.5), (3, 4, 0.2)]
    for sites in ("chain", (10,), np.column_stack([np.arange(10.0), np.zeros(10)])):
        ax = plot_sites(graph_of(10, edges), sites)
        peaks = middles(ax)[:, 1]
        assert peaks[0] > 1
        assert peaks[1] < -0.3
        assert 0 < peaks[2] < peaks[0]
        points = curves(ax).reshape(-1, 2)
        assert points[:, 1].max() < ax.get_ylim()[1]
        assert points[:, 1].min() > ax.get_ylim()[0]
    low = plot_sites(graph_of(10, edges), "chain", Figure(figsize=(9, 2)).add_subplot())
    assert middles(low)[0, 1] < low.get_ylim()[1]
    upright = plot_sites(graph_of(3, [(0, 2, 1.0)]), [[0, 0], [0, 1], [0, 2]])
    assert abs(middles(upright)[0, 0]) > 0.2


def test_slices_are_numbered():
    ax = plot_sites(graph_of(24, [(0, 23, 1.0)]), (3, 2, 4), labels="none")
    assert [text.get_text() for text in ax.texts] == ["slice 0", "1", "2", "1 edge"]
    assert [text.xy[0] for text in ax.texts[:3]] == [1.5, 6.5, 11.5]


@pytest.mark.slow
def test_labels_option():
    graph, _ = boxes_graph()
    assert len(plot_sites(graph, (8, 8), labels="none").texts) == 1
    assert len(plot_sites(graph, (8, 8), labels="all").texts) == 65
    assert len(plot_sites(graph, (8, 8)).texts) > 50
    narrow = {
        labels: plot_sites(graph, (8, 8), Figure(figsize=(2, 2)).add_subplot(), labels=labels)
        for labels in ("auto", "all")
    }
    assert len(narrow["auto"].texts) < 50 < len(narrow["all"].texts) == 65
    many = dense_graph(101)
    assert len(plot_sites(many, "ring", top=5).texts) == 1
    assert len(plot_sites(many, "ring", top=5, labels="all").texts) == 102
    with pytest.raises(InputError, match="'auto', 'all' or 'none', got 'some'"):
        plot_sites(graph, (8, 8), labels="some")


@pytest.mark.parametrize(
    ("n", "sites"), [(64, (8, 8)), (40, "ring"), (12, (3, 2, 2)), (30, "chain")]
)
def test_texts_do_not_cover_each_other(n, sites):
    hostile = ["$x^2$ and more of it than anyone can read", "日本語", "a\tb\nc", "_", "W" * 30]
    names = [f"{hostile[i % 5]}{i}" if i % 7 == 0 else f"site {i}" for i in range(n)]
    weights = dense_graph(n).weights
    ax = plot_sites(Graph(weights, names=names), sites, top=50)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    boxes.append(ax.get_legend().get_window_extent())
    for i, box in enumerate(boxes):
        assert not any(
            min(box.x1, other.x1) - max(box.x0, other.x0) > 1
            and min(box.y1, other.y1) - max(box.y0, other.y0) > 1
            for other in boxes[:i]
        )
    frame = ax.get_window_extent()
    assert all(box.x0 >= frame.x0 - 1 and box.x1 <= frame.x1 + 1 for box in boxes)


def test_legend_says_what_is_there():
    def entries(graph):
        legend = plot_sites(graph, "chain").get_legend()
        return [text.get_text() for text in legend.get_texts()] if legend else []

    assert entries(graph_of(3, [(0, 1, 1.0), (1, 2, -0.5)])) == [
        "positive",
        "negative",
        "|weight| 1",
        "|weight| 0.5",
    ]
    # The median would read like the largest, so that the smallest is shown.
    alike = graph_of(4, [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 0.5)])
    assert entries(alike) == ["positive", "|weight| 1", "|weight| 0.5"]
    assert entries(graph_of(3, [])) == []


def test_same_graph_same_picture():
    graph = dense_graph(36)
    np.testing.assert_array_equal(
        curves(plot_sites(graph, (6, 6))), curves(plot_sites(graph, (6, 6)))
    )


def test_many_edges_are_quick():
    graph = dense_graph(100)
    start = time.process_time()
    plot_sites(graph, (10, 10), top=2000, labels="none").figure.draw_without_rendering()
    assert time.process_time() - start < 5


def test_coinciding_sites_are_drawn():
    ax = plot_sites(graph_of(4, [(0, 1, 1.0), (2, 3, -1.0)]), np.zeros((4, 2)))
    ax.figure.draw_without_rendering()
    assert np.isfinite(curves(ax)).all()
    plot_sites(Graph([[0.0]]), (1, 1)).figure.draw_without_rendering()


def test_given_axes_are_used():
    left, right = Figure(figsize=(8, 4)).subplots(1, 2)
    assert plot_sites(graph_of(4, [(0, 3, 1.0)]), (2, 2), right) is right
    assert not left.collections


@pytest.mark.parametrize(
    ("sites", "options", "message"),
    [
        ((2, 3), {}, "grid_column_count"),
        (np.zeros((3, 2)), {}, "sites_shape"),
        (np.full((4, 2), np.nan), {}, "sites_shape"),
        ("circle", {}, "unknown_neighbors"),
        (np.zeros((4, 2)), {"mask": np.ones((2, 2), bool)}, "mask_without_shape"),
        ((2, 2), {"groups": np.zeros((3, 3), int)}, "matrix_groups"),
        ((2, 2), {"groups": np.zeros((4, 4))}, "matrix_groups"),
    ],
)
def test_bad_input_is_named(sites, options, message):
    with raises(InputError, code=message):
        plot_sites(graph_of(4, [(0, 3, 1.0)]), sites, **options)
