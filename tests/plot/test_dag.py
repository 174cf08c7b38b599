"""Directed networks: drawn tier by tier, and as a heat map in the order of the tiers."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from edgewise import Graph, InputError
from edgewise.data import load_dag, make_dag, make_linear_sem
from edgewise.metrics import cpdag
from edgewise.plot import plot_dag
from edgewise.plot.directed import _add_bends, _crossings, tiered_layout
from edgewise.plot.matrix import plot_coefficients
from tests.messages import raises

BLUE, ORANGE = to_rgb("#0072B2"), to_rgb("#D55E00")
#: a -> b -> d, a -> c -> d and an isolated e.
DIAMOND = np.zeros((5, 5))
DIAMOND[0, 1], DIAMOND[0, 2], DIAMOND[1, 3], DIAMOND[2, 3] = 1.0, -0.5, 0.2, 0.4


def bundled(name):
    network = load_dag(name)
    coef = make_linear_sem(network.adjacency, rng=0).coef
    return Graph(coef, names=network.names, directed=True)


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def way_of(arrow):
    """Vertices of the curve alone; the public path has the head as well."""
    return arrow._path_original.vertices


def places(ax):
    return {text.get_text(): text.get_position() for text in ax.texts}


@pytest.mark.parametrize("name", ["asia", "alarm", "hepar2", "win95pts"])
def test_every_name_is_written_without_covering_another(name):
    graph = bundled(name)
    ax = plot_dag(graph)
    ax.figure.draw_without_rendering()
    names = [text.get_text() for text in ax.texts if " " not in text.get_text()]
    assert sorted(names) == sorted(graph.names)
    assert min(text.get_fontsize() for text in ax.texts) >= 6.5
    written = [text.get_window_extent() for text in ax.texts]
    for a, b in itertools.combinations(written, 2):
        assert min(a.x1, b.x1) - max(a.x0, b.x0) < 1 or min(a.y1, b.y1) - max(a.y0, b.y0) < 1
    frame = ax.get_window_extent()
    assert all(frame.x0 < box.x0 and box.x1 < frame.x1 for box in written)
    assert all(frame.y0 < box.y0 and box.y1 < frame.y1 for box in written)


def test_arcs_lead_to_the_right():
    graph = bundled("alarm")
    ax = plot_dag(graph)
    x = {name: place[0] for name, place in places(ax).items()}
    for _, arc in graph.edges().iterrows():
        assert x[arc.source] < x[arc.target]
    ends = [way_of(arrow) for arrow in arrows(ax)]
    assert len(ends) == graph.n_edges
    assert all(way[0, 0] < way[-1, 0] for way in ends)


def test_signs_widths_and_heads():
    drawn = {
        round(patch.get_linewidth(), 3): (patch.get_edgecolor()[:3], patch.get_arrowstyle())
        for patch in arrows(plot_dag(Graph(DIAMOND, directed=True)))
    }
    colors = [drawn[width][0] for width in sorted(drawn)]
    assert colors == [BLUE, BLUE, ORANGE, BLUE]
    assert all(type(style).__name__ == "CurveFilledB" for _, style in drawn.values())


def test_edges_both_ways_are_dashed_lines_without_a_head():
    dag = Graph(DIAMOND, names=list("abcde"), directed=True)
    pattern = cpdag(dag)
    assert pattern.adjacency[0, 1]
    assert pattern.adjacency[1, 0]
    ax = plot_dag(pattern)
    heads = [type(patch.get_arrowstyle()).__name__ for patch in arrows(ax)]
    assert sorted(heads) == ["Curve", "Curve", "CurveFilledB", "CurveFilledB"]
    assert "direction not told" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert plot_dag(dag).get_legend().get_texts()[-1].get_text() != "direction not told"


def test_pattern_dashes_arrows_that_the_data_cannot_tell():
    dag = Graph(DIAMOND, names=list("abcde"), directed=True)
    for pattern in (cpdag(dag), cpdag(dag).adjacency):
        ax = plot_dag(dag, pattern=pattern)
        is_dashed = [patch.get_linestyle() != "-" for patch in arrows(ax)]
        assert sorted(is_dashed) == [False, False, True, True]
        heads = {type(patch.get_arrowstyle()).__name__ for patch in arrows(ax)}
        assert heads == {"CurveFilledB"}
        assert ax.get_legend().get_texts()[-1].get_text() == "direction not told"


def test_same_tiers_give_network_and_pattern_the_same_places():
    dag = bundled("alarm")
    tiers = np.zeros(dag.n_nodes, dtype=int)
    for _ in range(dag.n_nodes):
        tiers = np.maximum(tiers, (dag.adjacency * (tiers[:, None] + 1)).max(axis=0))
    drawn = [places(plot_dag(graph, tiers=tiers, legend=False)) for graph in (dag, cpdag(dag))]
    assert drawn[0] == drawn[1]


def test_given_tiers_are_the_columns():
    graph = Graph(DIAMOND, names=list("abcde"), directed=True)
    x = {name: place[0] for name, place in places(plot_dag(graph, tiers=[0, 5, 1, 9, 0])).items()}
    assert x["a"] < x["c"] < x["b"] < x["d"]
    x = {name: place[0] for name, place in places(plot_dag(graph)).items()}
    assert abs(x["b"] - x["c"]) < 1e-9


def test_nodes_without_an_edge_are_listed_above():
    ax = plot_dag(Graph(DIAMOND, directed=True))
    first, *names = [text.get_text() for text in ax.texts]
    assert first == "Without an edge: x4."
    assert names == ["x0", "x1", "x2", "x3"]
    ax.figure.draw_without_rendering()
    note, *boxes = [text.get_window_extent() for text in ax.texts]
    assert note.y0 > max(box.y1 for box in boxes)
    (text,) = plot_dag(Graph(np.zeros((12, 12)), directed=True)).texts
    assert text.get_text().startswith("No edges among: x0, x1")
    plot_dag(Graph(np.zeros((1, 1)), directed=True)).figure.draw_without_rendering()


def test_no_more_arcs_are_drawn_than_can_be_told_apart():
    graph = Graph(np.triu(np.random.default_rng(0).uniform(0.1, 1, (30, 30)), 1), directed=True)
    ax = plot_dag(graph)
    assert len(arrows(ax)) == 29 + 36
    assert ax.texts[0].get_text().startswith("Showing 65 of 435 edges")
    assert len(arrows(plot_dag(graph, max_edges=None))) == 435
    few = plot_dag(graph, max_edges=5)
    assert len(arrows(few)) == 5
    assert len(few.texts) < 12


def test_causes_stand_right_before_their_effects():
    # A long chain, and a cause of its end that would stand at its beginning.
    weights = np.eye(7, k=1)
    weights[5, 6] = 0
    weights[6, 5] = 1
    graph = Graph(weights, names=list("abcdefz"), directed=True)
    x = {name: place[0] for name, place in places(plot_dag(graph)).items()}
    assert abs(x["z"] - x["e"]) < 1e-9


def test_confidence_fades():
    confidence = np.where(DIAMOND != 0, 0.2, 0.0)
    confidence[0, 1] = 1.0
    ax = plot_dag(Graph(DIAMOND, directed=True, confidence=confidence))
    alphas = sorted(patch.get_edgecolor()[3] for patch in arrows(ax))
    assert alphas[0] < 0.5 < alphas[-1]


def test_options_and_given_axes():
    graph = Graph(DIAMOND, directed=True)
    ax = Figure(figsize=(3, 2)).add_subplot()
    assert plot_dag(graph, ax) is ax
    (note,) = plot_dag(graph, labels="none").texts
    assert note.get_text() == "1 of 5 nodes have no edge."
    assert plot_dag(graph, legend=False).get_legend() is None
    chain = Graph(np.eye(120, k=1), directed=True)
    assert len(plot_dag(chain).texts) == 0
    assert len(plot_dag(chain, labels="all").texts) == 120


@pytest.mark.parametrize(
    ("graph", "options", "words"),
    [
        (Graph([[0, 1], [1, 0]]), {}, "dag_required"),
        (Graph(np.roll(np.eye(3), 1, axis=1), directed=True), {}, "tiers_of_cycle"),
        (Graph(DIAMOND, directed=True), {"labels": "most"}, "plot_labels"),
        (Graph(DIAMOND, directed=True), {"tiers": [0, 1]}, "plot_tiers_shape"),
        (Graph(DIAMOND, directed=True), {"pattern": np.eye(2)}, "pattern_size"),
        (Graph(DIAMOND, directed=True), {"pattern": Graph(np.zeros((2, 2)))}, "pattern_nodes"),
        (Graph(DIAMOND, directed=True), {"tiers": [0, 1, 0, 2, 0]}, "arc_against_tiers"),
    ],
)
def test_what_cannot_be_drawn(graph, options, words):
    with raises(InputError, code=words):
        plot_dag(graph, **options)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 12))
def test_crossings_are_counted_one_by_one(seed, n_nodes):
    arcs = make_dag(n_nodes, degree=3, rng=seed)
    tiers = np.zeros(n_nodes, dtype=int)
    for _ in range(n_nodes):
        tiers = np.maximum(tiers, (arcs * (tiers[:, None] + 1)).max(axis=0))
    found = _add_bends(np.argwhere(arcs), tiers)
    layers = found.layers
    rank = {int(node): k for layer in layers for k, node in enumerate(layer)}
    steps = [
        (tier, rank[a], rank[b])
        for tier, between in enumerate(found.steps)
        for a, b in between.tolist()
    ]
    expected = sum(
        s[0] == t[0] and (s[1] - t[1]) * (s[2] - t[2]) < 0
        for s, t in itertools.combinations(steps, 2)
    )
    assert _crossings(found, layers) == expected


def test_crossing_arcs_are_untangled():
    # Four arcs that all cross in the order given, and a long one.
    arcs = np.array([[0, 7], [1, 6], [2, 5], [3, 4], [0, 8], [7, 8]])
    layout = tiered_layout(arcs, np.array([0, 0, 0, 0, 1, 1, 1, 1, 2]))
    first, second = layout.heights[[0, 1, 2, 3]], layout.heights[[7, 6, 5, 4]]
    assert (np.argsort(first) == np.argsort(second)).all()
    assert [len(route) for route in layout.routes] == [0, 0, 0, 0, 1, 0]
    gaps = np.diff(np.sort(layout.heights[4:8]))
    assert (gaps > 0.99).all()


def test_curves_end_at_the_names():
    ax = plot_dag(Graph([[0, 1], [0, 0]], names=["cause", "effect"], directed=True))
    ax.figure.draw_without_rendering()
    (arrow,) = arrows(ax)
    way = ax.transData.transform(way_of(arrow))
    cause, effect = (text.get_window_extent() for text in ax.texts)
    assert cause.x1 < way[0, 0] < way[-1, 0] < effect.x0


def names_of(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_coefficients_stand_above_the_diagonal():
    shuffle = np.random.default_rng(0).permutation(37)
    graph = bundled("alarm")
    shuffled = Graph(
        graph.weights[np.ix_(shuffle, shuffle)],
        names=[graph.names[k] for k in shuffle],
        directed=True,
    )
    ax = plot_coefficients(shuffled)
    values = np.asarray(ax.images[0].get_array())
    assert not np.tril(values).any()
    assert np.count_nonzero(values) == 46
    assert sorted(names_of(ax)) == sorted(graph.names)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("cause", "effect")


def test_coefficients_heed_tiers_and_options():
    graph = Graph(DIAMOND, names=list("abcde"), directed=True)
    assert names_of(plot_coefficients(graph, tiers=[0, 5, 1, 9, 7])) == list("acbed")
    assert names_of(plot_coefficients(graph, labels="none")) == []
    assert len(plot_coefficients(graph, colorbar=False).figure.axes) == 1
    ax = Figure().add_subplot()
    assert plot_coefficients(graph, ax) is ax


def test_legend_stays_on_the_page():
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2], weights[0, 2], weights[2, 0] = 0.9, -0.6, 0.5, 0.5
    ax = plot_dag(Graph(weights, directed=True, confidence=0.8 * (weights != 0)))
    ax.figure.draw_without_rendering()
    legend, page = ax.get_legend().get_window_extent(), ax.figure.bbox
    assert len(ax.get_legend().get_texts()) == 7
    assert page.x0 <= legend.x0 < legend.x1 <= page.x1
