"""The drawn network: what is on the page, where, and in which colours."""

import random

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from edgewise import Graph, InputError
from edgewise.plot import plot_network

BLUE, ORANGE, GREY = to_rgb("#0072B2"), to_rgb("#D55E00"), to_rgb("#767676")


def random_graph(n, n_edges, seed=0, directed=False, isolated=0):
    rng = np.random.default_rng(seed)
    weights = np.zeros((n, n))
    pairs = np.argwhere(np.triu(np.ones((n - isolated, n - isolated)), 1))
    for i, j in pairs[rng.permutation(len(pairs))[:n_edges]]:
        weights[i, j] = rng.choice([-1, 1]) * rng.uniform(0.1, 1)
        if not directed:
            weights[j, i] = weights[i, j]
    return Graph(weights, names=[f"gene{i}" for i in range(n)], directed=directed)


def node_points(ax):
    (nodes,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    return np.asarray(nodes.get_offsets())


def lines(ax):
    (edges,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return edges


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def boxes(ax):
    ax.figure.draw_without_rendering()
    return {text.get_text(): text.get_window_extent() for text in ax.texts}


@pytest.mark.parametrize(
    ("graph", "least"),
    [
        (random_graph(10, 12, isolated=2), 10),
        (random_graph(10, 12, directed=True), 10),
        (random_graph(200, 260, isolated=30), 190),
        pytest.param(
            random_graph(200, 200, isolated=30, directed=True), 190, marks=pytest.mark.slow
        ),
        (Graph(np.zeros((12, 12))), 12),
        (Graph([[0.0]]), 1),
        (Graph([[0, -1], [-1, 0]]), 2),
    ],
    ids=["10", "10 directed", "200", "200 directed", "no edges", "one node", "two nodes"],
)
def test_names_are_written_without_covering_each_other(graph, least):
    ax = plot_network(graph)
    written = list(boxes(ax).values())
    assert len(written) >= least
    overlaps = [
        1
        for i, a in enumerate(written)
        for b in written[:i]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]
    assert not overlaps
    frame = ax.get_window_extent()
    assert all(box.x0 >= frame.x0 - 1 and box.x1 <= frame.x1 + 1 for box in written)


def test_nodes_keep_apart_and_inside():
    for graph in (random_graph(10, 12, isolated=3), random_graph(200, 260, isolated=40)):
        ax = plot_network(graph)
        points = node_points(ax)
        gaps = np.linalg.norm(points[:, None] - points, axis=2)
        np.fill_diagonal(gaps, np.inf)
        assert gaps.min() > 3  # points on paper
        assert (points > [ax.get_xlim()[0], ax.get_ylim()[0]]).all()
        assert (points < [ax.get_xlim()[1], ax.get_ylim()[1]]).all()


def test_isolated_nodes_stand_below_the_rest():
    graph = random_graph(40, 50, isolated=15)
    joined = graph.adjacency.any(axis=0)
    points = node_points(plot_network(graph))
    assert points[~joined, 1].max() < points[joined, 1].min()
    # They must not squash the rest: the connected part keeps most of the height.
    assert np.ptp(points[joined, 1]) > 2 * np.ptp(points[~joined, 1])


def test_many_isolated_nodes_leave_room_for_the_rest():
    weights = np.zeros((600, 600))
    weights[0, 1] = weights[1, 2] = weights[2, 0] = 1
    points = node_points(plot_network(Graph(weights + weights.T), labels="none"))
    assert np.ptp(points[:3, 1]) > 0.05 * np.ptp(points[:, 1])
    assert points[3:, 1].max() < points[:3, 1].min()


def test_components_do_not_overlap():
    blocks = np.kron(np.eye(4), np.ones((5, 5)) - np.eye(5))
    points = node_points(plot_network(Graph(blocks))).reshape(4, 5, 2)
    for i in range(4):
        for j in range(i):
            low = np.maximum(points[i].min(axis=0), points[j].min(axis=0))
            high = np.minimum(points[i].max(axis=0), points[j].max(axis=0))
            assert (low > high).any()


def test_same_graph_same_picture():
    graph = random_graph(60, 80, isolated=5)
    random.seed(1)
    first = node_points(plot_network(graph))
    state = random.getstate()
    random.seed(2)
    np.testing.assert_array_equal(node_points(plot_network(graph)), first)
    random.setstate(state)


def test_sign_sets_colour_and_size_sets_width():
    weights = np.zeros((4, 4))
    weights[0, 1], weights[1, 2], weights[2, 3] = 1.0, -0.5, 0.1
    edges = lines(plot_network(Graph(weights + weights.T)))
    drawn = sorted(zip(edges.get_linewidths(), map(tuple, edges.get_colors()), strict=True))
    assert [color[:3] for _, color in drawn] == [BLUE, ORANGE, BLUE]
    widths = [width for width, _ in drawn]
    assert widths[0] < widths[1] < widths[2]


def test_edge_of_unknown_weight_is_grey():
    graph = Graph(np.zeros((2, 2)), adjacency=[[0, 1], [1, 0]])
    ax = plot_network(graph)
    assert tuple(lines(ax).get_colors()[0][:3]) == GREY
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["weight not known"]


def test_confidence_sets_opacity():
    weights = np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    confidence = np.array([[0, 0.9, 0.2], [0.9, 0, 0], [0.2, 0, 0]])
    alphas = lines(plot_network(Graph(weights, confidence=confidence))).get_colors()[:, 3]
    assert alphas[0] > 2 * alphas[1]
    plain = lines(plot_network(Graph(weights))).get_colors()[:, 3]
    assert plain[0] == plain[1]


def test_arrows_only_where_there_is_a_direction():
    assert not arrows(plot_network(Graph([[0, 1], [1, 0]])))
    (arrow,) = arrows(plot_network(Graph([[0, 1], [0, 0]], directed=True)))
    assert tuple(arrow.get_edgecolor()[:3]) == BLUE
    # Both ways with one weight: a line. Both ways with two weights: two bent arrows.
    line = plot_network(Graph([[0, 1], [1, 0]], directed=True))
    assert not arrows(line)
    assert len(lines(line).get_segments()) == 1
    bent = arrows(plot_network(Graph([[0, 1], [-2, 0]], directed=True)))
    assert len(bent) == 2
    assert {tuple(arrow.get_edgecolor()[:3]) for arrow in bent} == {BLUE, ORANGE}


def test_arrow_points_at_the_target():
    layout = [[0.0, 0.0], [1.0, 0.0]]
    (arrow,) = arrows(plot_network(Graph([[0, 0], [1, 0]], directed=True), layout=layout))
    start, end = arrow._posA_posB
    assert start[0] == 1
    assert end[0] == 0


def test_layouts():
    graph = random_graph(8, 9)
    circle = node_points(plot_network(graph, layout="circle"))
    radii = np.linalg.norm(circle - circle.mean(axis=0), axis=1)
    np.testing.assert_allclose(radii, radii[0])
    assert circle[0, 1] == circle[:, 1].max()  # node 0 on top
    given = np.random.default_rng(0).normal(size=(8, 2)) * [1000, 0.1]
    ax = plot_network(graph, layout=given)
    np.testing.assert_array_equal(node_points(ax), given)
    assert (given > [ax.get_xlim()[0], ax.get_ylim()[0]]).all()
    assert (given < [ax.get_xlim()[1], ax.get_ylim()[1]]).all()
    for bad in (given[:3], np.full((8, 2), np.nan)):
        with pytest.raises(InputError, match="two finite coordinates for each of 8 nodes"):
            plot_network(graph, layout=bad)
    with pytest.raises(InputError, match="got 'spiral'"):
        plot_network(graph, layout="spiral")


def test_coinciding_positions_are_drawn():
    ax = plot_network(random_graph(4, 3), layout=np.zeros((4, 2)))
    ax.figure.draw_without_rendering()
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()


def test_labels_option():
    crowded = random_graph(100, 300)
    size = {"figsize": (3, 3)}
    counts = {}
    for labels in ("none", "auto", "all"):
        ax = plot_network(crowded, ax=Figure(**size).add_subplot(), labels=labels)
        counts[labels] = len(ax.texts)
    assert counts["none"] == 0
    assert counts["none"] < counts["auto"] < counts["all"] == 100
    with pytest.raises(InputError, match="'auto', 'all' or 'none', got 'some'"):
        plot_network(crowded, labels="some")


def test_crowded_labels_go_to_the_nodes_with_most_neighbours():
    weights = np.zeros((150, 150))
    weights[0, 1:] = weights[1:, 0] = 1
    ax = plot_network(Graph(weights), ax=Figure(figsize=(2, 2)).add_subplot())
    names = [text.get_text() for text in ax.texts]
    assert names[0] == "x0"
    assert len(names) < 150


def test_legend_says_what_is_there():
    def entries(graph, **options):
        legend = plot_network(graph, **options).get_legend()
        return [text.get_text() for text in legend.get_texts()] if legend else []

    signed = Graph([[0, 1, -0.5], [1, 0, 0], [-0.5, 0, 0]])
    assert entries(signed) == ["positive", "negative", "|weight| 1", "|weight| 0.5"]
    assert entries(signed, legend=False) == []
    assert entries(Graph([[0, 1], [1, 0]])) == ["positive"]
    assert entries(Graph(np.zeros((2, 2)))) == []
    sure = Graph([[0, 1], [1, 0]], confidence=np.ones((2, 2)))
    assert entries(sure) == ["positive", "confidence 1", "confidence 0.5"]


def test_given_axes_are_used():
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    assert plot_network(random_graph(10, 12), right) is right
    assert not left.collections
    figure.draw_without_rendering()


def test_layout_engines_of_the_user_cause_no_noise(caplog):
    figure = Figure(layout="constrained")
    for ax in figure.subplots(2, 2).flat:
        plot_network(random_graph(10, 12), ax).set_title("title")
    figure.draw_without_rendering()
    assert not caplog.records
