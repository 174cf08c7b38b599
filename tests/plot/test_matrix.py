"""The heat map."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from edgewise import Graph, InputError
from edgewise.plot import plot_matrix

WEIGHTS = np.array([[0, 0.5, 0], [0.5, 0, -0.25], [0, -0.25, 0]])


def color(ax, row, column):
    (image,) = ax.images
    return image.to_rgba(image.get_array())[row, column]


def test_colours_diverge_at_zero():
    ax = plot_matrix(Graph(WEIGHTS))
    (image,) = ax.images
    assert image.norm.vmin == -0.5
    assert image.norm.vmax == 0.5
    red, _, blue, _ = color(ax, 0, 1)
    assert blue > red
    red, _, blue, _ = color(ax, 1, 2)
    assert red > blue
    np.testing.assert_allclose(color(ax, 0, 2)[:3], 0.97, atol=0.01)


def test_rows_are_sources():
    graph = Graph([[0, 1], [0, 0]], directed=True)
    ax = plot_matrix(graph)
    assert ax.images[0].get_array()[0, 1] == 1
    assert ax.get_ylabel() == "source"
    assert ax.get_xlabel() == "target"
    assert not plot_matrix(Graph(WEIGHTS)).get_xlabel()


def test_empty_graph_and_unknown_weight():
    ax = plot_matrix(Graph(np.zeros((2, 2)), adjacency=[[0, 1], [1, 0]]))
    assert ax.images[0].get_array().mask.tolist() == [[False, True], [True, False]]
    np.testing.assert_allclose(color(ax, 0, 1)[:3], 0x76 / 255)
    assert ax.images[0].norm.vmax == 1
    plot_matrix(Graph([[0.0]])).figure.draw_without_rendering()


def tick_names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_names_are_thinned_when_there_are_many():
    assert tick_names(plot_matrix(Graph(np.zeros((60, 60))))) == [f"x{i}" for i in range(60)]
    many = plot_matrix(Graph(np.zeros((200, 200))))
    names = tick_names(many)
    assert names == [f"x{i}" for i in range(0, 200, 5)]
    assert many.get_yticks().tolist() == list(range(0, 200, 5))
    many.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in many.get_yticklabels()]
    boxes.sort(key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 0.5 for low, high in itertools.pairwise(boxes))


def test_labels_option():
    graph = Graph(np.zeros((70, 70)))
    assert len(tick_names(plot_matrix(graph, labels="all"))) == 70
    assert tick_names(plot_matrix(graph, labels="none")) == []
    assert len(tick_names(plot_matrix(graph))) < 70
    with pytest.raises(InputError, match="got 'most'"):
        plot_matrix(graph, labels="most")


def test_colorbar_option_and_given_axes():
    assert len(plot_matrix(Graph(WEIGHTS)).figure.axes) == 2
    ax = Figure().add_subplot()
    assert plot_matrix(Graph(WEIGHTS), ax, colorbar=False) is ax
    assert len(ax.figure.axes) == 1
