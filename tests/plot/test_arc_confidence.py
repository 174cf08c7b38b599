"""How often arcs come back, and which way round."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from edgewise import Graph, InputError
from edgewise.plot import plot_arc_confidence

WEIGHTS = np.array([[0, 1, 0], [0, 0, 0], [0, 0.5, 0]])
#: a and b are joined in every resample, mostly from a to b; b and c in 0.6, against the graph.
CONFIDENCE = np.array([[0, 0.7, 0.05], [0.3, 0, 0.5], [0, 0.1, 0]])
GRAPH = Graph(WEIGHTS, names=list("abc"), directed=True, confidence=CONFIDENCE)


def rows(ax):
    names = [label.get_text() for label in ax.get_yticklabels()]
    widths = [bar.get_width() for bar in ax.patches]
    n = len(names)
    return {name: (round(widths[k], 9), round(widths[n + k], 9)) for k, name in enumerate(names)}


def test_bars_are_the_frequencies_of_both_directions():
    found = rows(plot_arc_confidence(GRAPH))
    assert found == {"a → b": (0.7, 0.3), "c → b": (0.1, 0.5), "(a → c)": (0.05, 0.0)}
    assert list(found) == ["a → b", "c → b", "(a → c)"]


def test_bars_of_a_pair_follow_each_other():
    bars = plot_arc_confidence(GRAPH).patches
    assert [bar.get_x() for bar in bars[3:]] == [bar.get_width() for bar in bars[:3]]


def test_most_is_heeded_and_said():
    ax = plot_arc_confidence(GRAPH, most=1)
    assert list(rows(ax)) == ["a → b"]
    assert "2 rarer pairs" in ax.get_xlabel()
    assert "rarer" not in plot_arc_confidence(GRAPH).get_xlabel()


def test_given_axes_and_nothing_found():
    ax = Figure().add_subplot()
    assert plot_arc_confidence(GRAPH, ax) is ax
    empty = Graph(np.zeros((2, 2)), directed=True, confidence=np.zeros((2, 2)))
    plot_arc_confidence(empty).figure.draw_without_rendering()


@pytest.mark.parametrize(
    "graph", [Graph(WEIGHTS, directed=True), Graph([[0, 1], [1, 0]], confidence=[[0, 1], [1, 0]])]
)
def test_graphs_without_directions_or_confidence_are_refused(graph):
    with pytest.raises(InputError, match="BootstrapGraph"):
        plot_arc_confidence(graph)


def test_most_must_be_positive():
    with pytest.raises(InputError, match="most must be"):
        plot_arc_confidence(GRAPH, most=0)
