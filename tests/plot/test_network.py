"""The drawn network: what is on the page, where, and in which colours."""

import random
import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from scipy.sparse.csgraph import connected_components

from edgewise import Graph, InputError
from edgewise.plot import plot_network
from edgewise.plot.network import shared_layout
from tests.messages import raises

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
        (random_graph(10, 12, isolated=2), 9),
        (random_graph(10, 12, directed=True), 10),
        (random_graph(200, 260, isolated=30), 150),
        pytest.param(
            random_graph(200, 200, isolated=30, directed=True), 140, marks=pytest.mark.slow
        ),
        (Graph([[0, -1], [-1, 0]]), 2),
    ],
    ids=["10", "10 directed", "200", "200 directed", "two nodes"],
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


@pytest.mark.parametrize("rings", [None, np.linspace(0.0, 1.0, 12)], ids=["plain", "rings"])
def test_short_names_are_written_into_their_nodes(rings):
    weights = random_graph(12, 18).weights
    names = [f"{letter}1" for letter in "ABCDEFGHIJKL"]
    ax = plot_network(Graph(weights, names=names), rings=rings)
    found = boxes(ax)
    discs = [
        c for c in ax.collections if isinstance(c, PathCollection) and len(c.get_offsets()) > 1
    ]
    radius = np.sqrt(discs[-1].get_sizes()[0]) / 2 * ax.figure.dpi / 72
    places = ax.transData.transform(discs[-1].get_offsets())
    for name, place in zip(names, places, strict=True):
        corners = found[name].corners()
        assert np.linalg.norm(corners - place, axis=1).max() <= radius + 1.5
    beside = boxes(plot_network(Graph(weights, names=[f"longer{i}" for i in range(12)])))
    assert len(beside) == 12


def test_nodes_keep_apart_and_inside():
    for graph in (random_graph(10, 12, isolated=3), random_graph(200, 260, isolated=40)):
        ax = plot_network(graph)
        points = node_points(ax)
        gaps = np.linalg.norm(points[:, None] - points, axis=2)
        np.fill_diagonal(gaps, np.inf)
        assert gaps.min() > 3  # points on paper
        assert (points > [ax.get_xlim()[0], ax.get_ylim()[0]]).all()
        assert (points < [ax.get_xlim()[1], ax.get_ylim()[1]]).all()


def notes(ax):
    return " ".join(text.get_text() for text in ax.texts if " " in text.get_text())


def test_isolated_nodes_are_a_line_of_text():
    graph = random_graph(12, 10, isolated=3)
    joined = graph.adjacency.any(axis=0)
    ax = plot_network(graph)
    assert len(node_points(ax)) == joined.sum()
    assert notes(ax).startswith("Without an edge:")
    assert all((f"gene{k}" in notes(ax)) == (not joined[k]) for k in (0, 9, 10, 11))
    alone = 12 - joined.sum()
    assert notes(plot_network(graph, labels="none")) == f"{alone} of 12 nodes have no edge."
    # Where nodes have places of their own, they stay there.
    for layout in ("circle", np.arange(24.0).reshape(12, 2)):
        assert len(node_points(plot_network(graph, layout=layout))) == 12


def test_many_isolated_nodes_take_three_lines():
    weights = np.zeros((600, 600))
    weights[0, 1] = weights[1, 2] = weights[2, 0] = 1
    ax = plot_network(Graph(weights + weights.T))
    (text,) = [text for text in ax.texts if " " in text.get_text()]
    ax.figure.draw_without_rendering()
    assert len(text.get_text().splitlines()) <= 3
    assert text.get_window_extent().x1 < ax.get_window_extent().x1
    assert re.search(r"x3, x4, .* and \d+ more\.$", notes(ax).replace("\n", " "))
    assert node_points(ax)[:, 1].max() < ax.get_ylim()[1] - 3 * 11


@pytest.mark.parametrize("n_nodes", [1, 12])
def test_a_network_without_edges_says_so(n_nodes):
    ax = plot_network(Graph(np.zeros((n_nodes, n_nodes))))
    ax.figure.draw_without_rendering()
    assert notes(ax).startswith("No edges among: x0")


TOGETHER = "the strongest, and those that hold the network together."


def test_a_network_shows_as_many_edges_as_can_be_told_apart():
    graph = random_graph(25, 153)
    ax = plot_network(graph)
    assert notes(ax) == f"Showing 60 of 153 edges: {TOGETHER}"
    assert len(lines(ax).get_segments()) == 60
    assert len(node_points(ax)) == 25
    assert len(lines(plot_network(graph, max_edges=None)).get_segments()) == 153
    assert not notes(plot_network(graph, max_edges=153))
    # A few edges more are not worth a line that says that they are missing.
    assert not notes(plot_network(random_graph(25, 66)))
    chain = np.diag(np.linspace(1, 2, 99), 1) + np.diag(np.linspace(0.5, 1, 98), 2)
    assert len(lines(plot_network(Graph(chain + chain.T))).get_segments()) == 99 + 36
    for bad in (0, -1, 2.5, True, "all"):
        with raises(InputError, code="max_edges_range"):
            plot_network(graph, max_edges=bad)


def n_crossings(ends):
    """Count the pairs of lines that cross."""
    start, step = ends[:, 0], ends[:, 1] - ends[:, 0]
    sides = [
        step[:, None, 0] * (ends[None, :, k, 1] - start[:, None, 1])
        - step[:, None, 1] * (ends[None, :, k, 0] - start[:, None, 0])
        for k in (0, 1)
    ]
    parts = sides[0] * sides[1] < -1e-9
    return int((parts & parts.T).sum()) // 2


@pytest.mark.parametrize(
    ("n_nodes", "n_edges"), [(10, 13), (10, 45), (25, 38), (25, 300), (100, 150), (100, 2000)]
)
def test_every_line_is_crossed_by_few(n_nodes, n_edges):
    ax = plot_network(random_graph(n_nodes, n_edges))
    ends = np.array(lines(ax).get_segments())
    assert n_crossings(ends) <= 2.6 * len(ends)
    assert len(node_points(ax)) >= 0.9 * n_nodes


@pytest.mark.slow
@pytest.mark.parametrize(("n_nodes", "n_edges"), [(240, 360), (240, 9000), (1000, 1500)])
def test_of_a_large_network_no_more_is_drawn_than_a_page_holds(n_nodes, n_edges):
    ax = plot_network(random_graph(n_nodes, n_edges))
    ends = np.array(lines(ax).get_segments())
    assert len(ends) <= 200
    assert n_crossings(ends) <= 2.6 * len(ends)
    if n_nodes == 1000:
        n_drawn = len(node_points(ax))
        said = f"Showing 200 of 1500 edges, strong ones, and the {n_drawn} nodes that they join."
        assert said in notes(ax)
        named = [text for text in ax.texts if " " not in text.get_text()]
        assert len(named) >= 0.95 * n_drawn


def test_what_hangs_together_does_so_in_the_picture():
    weights = np.kron(np.eye(2), np.ones((12, 12)))
    weights[3, 17] = weights[17, 3] = 0.01  # the one bridge
    np.fill_diagonal(weights, 0)
    ax = plot_network(Graph(weights), max_edges=23)
    ends = np.array(lines(ax).get_segments())
    points = node_points(ax)
    near = np.linalg.norm(ends[:, :, None] - points, axis=3).argmin(axis=2)
    joined = np.zeros((24, 24), dtype=bool)
    joined[tuple(near.T)] = True
    assert connected_components(joined, directed=False)[0] == 1


def test_an_edge_both_ways_is_drawn_whole_or_not_at_all():
    weights = np.triu(np.random.default_rng(0).uniform(0.3, 1, size=(20, 20)), 1)
    ax = plot_network(Graph(weights + weights.T, directed=True))
    assert not arrows(ax)
    assert len(lines(ax).get_segments()) == 19 + 36


def test_hidden_edges_are_the_weak_ones_of_nodes_that_show_others():
    weights = np.triu(np.random.default_rng(0).uniform(0.3, 1, size=(20, 20)), 1)
    weights[:19, 19] = 0.0
    weights[0, 19] = 0.01  # the only edge of the last node
    ax = plot_network(Graph(weights + weights.T), max_edges=30)
    ends = np.array(lines(ax).get_segments())
    assert len(ends) == 30
    last = node_points(ax)[19]
    assert (ends == last).all(axis=2).any()
    widths = np.sort(lines(ax).get_linewidths())
    assert widths[1] > 0.5 + 0.5 * (widths[-1] - 0.5)
    # Of a few edges alone, the nodes that they join are drawn.
    few = plot_network(Graph(weights + weights.T), max_edges=4)
    n_drawn = len(node_points(few))
    assert n_drawn < 20
    assert notes(few).endswith(
        f"4 of 172 edges, strong ones, and the {n_drawn} nodes that they join."
    )


def survey(p=25, factors=5, seed=0):
    """Partial correlations of answers to items of a few scales, the 153 largest."""
    rng = np.random.default_rng(seed)
    loadings = rng.normal(scale=0.08, size=(p, factors))
    loadings[np.arange(p), np.arange(p) % factors] += rng.uniform(0.4, 0.85, p)
    S = loadings @ (0.25 + 0.75 * np.eye(factors)) @ loadings.T
    S += np.diag(np.maximum(1 - np.diag(S), 0.2))
    X = rng.multivariate_normal(np.zeros(p), S, size=2000)
    Theta = np.linalg.inv(np.corrcoef(X.T))
    weights = -Theta / np.sqrt(np.outer(np.diag(Theta), np.diag(Theta)))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    least = np.sort(np.abs(weights[np.triu_indices(p, 1)]))[-153]
    return Graph(np.where(np.abs(weights) >= least, weights, 0.0))


@pytest.mark.parametrize("seed", range(3))
def test_strong_edges_are_short(seed):
    graph = survey(seed=seed)
    for most in ("auto", None):
        ax = plot_network(graph, max_edges=most)
        ends, widths = np.array(lines(ax).get_segments()), lines(ax).get_linewidths()
        length = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        strongest = np.argsort(widths)[-10:]
        assert length[strongest].mean() <= 0.5 * length.mean()
    assert len([text for text in ax.texts if " " not in text.get_text()]) == 25


def test_nodes_of_several_networks_keep_their_places():
    first, second = survey(seed=0), survey(seed=1)
    places = shared_layout([first, second])
    for graph in (first, second):
        np.testing.assert_array_equal(node_points(plot_network(graph, layout=places)), places)
    # What is strong in either is close.
    far = np.linalg.norm(places[:, None] - places, axis=2)
    for graph in (first, second):
        strong = np.abs(graph.weights) > 0.35
        assert far[strong].mean() < 0.5 * far[graph.adjacency].mean()
    with raises(InputError, code="graphs_of_same_nodes"):
        shared_layout([first, Graph([[0.0]])])


def test_weak_edges_fade():
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = 1.0, 0.1
    edges = lines(plot_network(Graph(weights + weights.T)))
    faint, solid = edges.get_colors()[np.argsort(edges.get_linewidths()), 3]
    assert faint < 0.6 * solid


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


def test_weak_edges_fade_however_sure():
    weights = np.array([[0, 1, 0.2], [1, 0, 0], [0.2, 0, 0]])
    drawn = lines(plot_network(Graph(weights, confidence=np.ones((3, 3))))).get_colors()[:, 3]
    assert drawn.min() < 0.7 * drawn.max()


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
        with raises(InputError, code="layout_shape", n_nodes=8):
            plot_network(graph, layout=bad)
    with raises(InputError, code="unknown_plot_layout", layout="spiral"):
        plot_network(graph, layout="spiral")


def test_coinciding_positions_are_drawn():
    ax = plot_network(random_graph(4, 3), layout=np.zeros((4, 2)))
    ax.figure.draw_without_rendering()
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()


@pytest.mark.slow
def test_labels_option():
    crowded = random_graph(100, 300)
    size = {"figsize": (3, 3)}
    counts = {}
    for labels in ("none", "auto", "all"):
        ax = plot_network(crowded, ax=Figure(**size).add_subplot(), labels=labels)
        counts[labels] = sum(" " not in text.get_text() for text in ax.texts)
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


def test_groups_rings_and_sizes_of_nodes():
    graph = Graph([[0, 0.5, 0, 0], [0.5, 0, 0.2, 0], [0, 0.2, 0, 0], [0, 0, 0, 0]])
    plain = plot_network(graph)
    assert len(plain.collections) == 2, "edges and nodes"
    look = {"groups": ["a", "a", "b", "c"], "rings": [0.5, -0.1, 1.0, 0.0], "sizes": [4, 1, 0, 2]}
    ax = plot_network(graph, **look)
    _, circles, *wedges, nodes = ax.collections
    assert len(wedges) == 2, "a share below 0 has no part of its ring"
    colors = nodes.get_facecolors()
    assert (colors[0] == colors[1]).all()
    assert (colors[0] != colors[2]).any()
    discs = nodes.get_sizes()
    assert discs[0] > discs[1] > discs[2]
    assert (circles.get_sizes() > discs).all()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[-4:] == ["a", "b", "c", "ring: share"]
    told = pd.Series(look["rings"], name="predictability")
    named = plot_network(graph, rings=told).get_legend().get_texts()
    assert named[-1].get_text() == "ring: predictability"
    for name, value in look.items():
        with raises(InputError, code="per_node_length", n_nodes=4, shape=[2]):
            plot_network(graph, **{name: value[:2]})
    with raises(InputError, code="rings_range"):
        plot_network(graph, rings=[2, 0, 0, 0])
    with raises(InputError, code="sizes_range"):
        plot_network(graph, sizes=[-1, 0, 0, 0])


def test_minimum_maximum_and_cut_are_those_of_qgraph():
    weights = np.zeros((4, 4))
    weights[0, 1], weights[1, 2], weights[2, 3] = 0.5, 0.2, 0.1
    graph = Graph(weights + weights.T)

    def lines(**options):
        ax = plot_network(graph, legend=False, **options)
        found = next(c for c in ax.collections if isinstance(c, LineCollection))
        return ax, found.get_linewidths(), found.get_colors()[:, 3]

    _, whole, shades = lines()
    _, wide, _ = lines(maximum=1.0)
    assert wide[-1] < whole[-1]
    ax, widths, _ = lines(minimum=0.15)
    assert len(widths) == 2
    assert "Showing 2 of 3 edges, of at least 0.15" in ax.texts[0].get_text()
    _, widths, cut_shades = lines(cut=0.2)
    assert widths[0] == widths[1] < widths[2] == whole[2]
    assert shades[1] < cut_shades[1] == cut_shades[2]
    with raises(InputError, code="edge_scaling"):
        lines(maximum=0.1, cut=0.2)
    assert plot_network(graph, maximum=1.0, cut=0.1).get_legend() is not None


def test_many_groups_have_different_colours():
    graph = Graph(np.ones((20, 20)) - np.eye(20))
    ax = plot_network(graph, groups=range(20), max_edges=20)
    discs = [c for c in ax.collections if isinstance(c, PathCollection)][-1]
    assert len(np.unique(discs.get_facecolors().round(3), axis=0)) == 20


def test_what_nodes_stand_for_is_listed_at_the_right():
    graph = Graph([[0, 0.5], [0.5, 0]], names=["q1", "q2"])
    ax = plot_network(graph, about={"q2": "How often sad", "q9": "no node"})
    assert "q2: How often sad" in [text.get_text() for text in ax.texts]
    assert ax.figure.get_size_inches()[0] > plot_network(graph).figure.get_size_inches()[0]


def test_a_long_name_at_the_side_of_the_page_covers_no_node():
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = 0.5, 0.1
    names = ["alcalinity_of_the_ash", "ash", "far"]
    graph = Graph(weights + weights.T, names=names)
    ax = Figure(figsize=(2.9, 2.4)).add_axes((0, 0, 1, 1))
    plot_network(graph, ax, layout=[[260, 100], [240, 100], [0, 100]], legend=False)
    ax.figure.draw_without_rendering()
    frame, nodes = ax.get_window_extent(), ax.collections[-1].get_offsets()
    centres = dict(zip(names, ax.transData.transform(nodes), strict=True))
    (long,) = [text for text in ax.texts if text.get_text() == names[0]]
    box = long.get_window_extent()
    assert frame.x0 <= box.x0 < box.x1 <= frame.x1
    assert box.x0 < centres["ash"][0] < box.x1, "it reaches over its neighbour"
    assert abs(centres["ash"][1] - np.clip(centres["ash"][1], box.y0, box.y1)) > 4
