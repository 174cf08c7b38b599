"""How often arcs come back, and which way round."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from edgewise import BootstrapGraph, DirectedGraph, Graph, InputError
from edgewise.plot.directed import plot_arc_confidence
from tests.messages import raises

DASH = "\N{EN DASH}"
WEIGHTS = np.array([[0, 1, 0], [0, 0, 0], [0, 0.5, 0]])
#: a and b are joined in every resample, mostly from a to b; b and c in 0.6, against the graph.
CONFIDENCE = np.array([[0, 0.7, 0.05], [0.3, 0, 0.5], [0, 0.1, 0]])
#: The direction of b and c is told in 0.25 of the 0.6, of a and b in all.
TOLD = np.array([[0, 0.7, 0.0], [0.3, 0, 0.15], [0, 0.1, 0]])
GRAPH = Graph(WEIGHTS, names=list("abc"), directed=True, confidence=CONFIDENCE)


def rows(ax):
    names = [label.get_text() for label in ax.get_yticklabels()]
    widths = [bar.get_width() for bar in ax.patches]
    n = len(names)
    return {
        name: tuple(round(widths[part * n + k], 9) for part in range(3))
        for k, name in enumerate(names)
    }


def test_bars_are_the_shares_of_each_kind_of_edge():
    found = rows(plot_arc_confidence(GRAPH, TOLD))
    assert found == {
        "a → b": (0.7, 0.3, 0.0),
        f"b {DASH} c": (0.15, 0.1, 0.35),
        f"(a {DASH} c)": (0.0, 0.0, 0.05),
    }
    assert list(found) == ["a → b", f"b {DASH} c", f"(a {DASH} c)"]


def test_bars_of_a_pair_follow_each_other():
    bars = plot_arc_confidence(GRAPH, TOLD).patches
    assert [bar.get_x() for bar in bars[3:6]] == [bar.get_width() for bar in bars[:3]]
    ends = [bar.get_x() + bar.get_width() for bar in bars[3:6]]
    assert [bar.get_x() for bar in bars[6:]] == pytest.approx(ends)


def test_an_edge_that_no_resample_directs_has_no_arrow():
    """Chains of three: each resample picks the same of three networks that fit the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 1] += X[:, 0]
    X[:, 2] += X[:, 1]
    sure = BootstrapGraph(DirectedGraph(), n_resamples=10, random_state=0).fit(X)
    assert sure.edge_frequency_[0, 1] + sure.edge_frequency_[1, 0] == 1
    ax = plot_arc_confidence(sure.graph_, sure.direction_frequency_)
    assert [label.get_text()[3] for label in ax.get_yticklabels()][:2] == [DASH, DASH]
    assert rows(ax)[f"x0 {DASH} x1"] == (0.0, 0.0, 1.0)
    shown = sure._repr_html_()
    assert "→" not in shown.partition("<img")[0]
    assert f"x0 {DASH} x1" in shown


def test_shares_of_another_bootstrap_are_refused():
    with raises(InputError, code="directions_shape"):
        plot_arc_confidence(GRAPH, np.ones((3, 3)))


def test_most_is_heeded_and_said():
    ax = plot_arc_confidence(GRAPH, TOLD, most=1)
    assert list(rows(ax)) == ["a → b"]
    assert "2 rarer pairs" in ax.get_xlabel()
    assert "rarer" not in plot_arc_confidence(GRAPH, TOLD).get_xlabel()


def test_given_axes_and_nothing_found():
    ax = Figure().add_subplot()
    assert plot_arc_confidence(GRAPH, TOLD, ax) is ax
    empty = Graph(np.zeros((2, 2)), directed=True, confidence=np.zeros((2, 2)))
    plot_arc_confidence(empty, np.zeros((2, 2))).figure.draw_without_rendering()


@pytest.mark.parametrize(
    "graph", [Graph(WEIGHTS, directed=True), Graph([[0, 1], [1, 0]], confidence=[[0, 1], [1, 0]])]
)
def test_graphs_without_directions_or_confidence_are_refused(graph):
    with raises(InputError, code="arc_confidence_required"):
        plot_arc_confidence(graph, np.zeros(graph.weights.shape))


def test_most_must_be_positive():
    with raises(InputError, code="most_range", most=0):
        plot_arc_confidence(GRAPH, TOLD, most=0)
