"""The heat map."""

import itertools

import numpy as np
import pytest
from matplotlib.figure import Figure

from edgewise import Graph, InputError
from edgewise.plot import plot_matrix
from tests.messages import raises

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


@pytest.mark.slow
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


def outlines(ax):
    """Unit steps that the lines around blocks consist of, as pairs of column and row."""
    (*_, collection) = ax.collections
    steps = set()
    for (x0, y0), (x1, y1) in collection.get_segments():
        length = int(max(x1 - x0, y1 - y0))
        along = np.array([x1 - x0, y1 - y0]) / length
        corners = [tuple(np.array([x0, y0]) + k * along) for k in range(length + 1)]
        steps |= set(itertools.pairwise(corners))
    return steps


def unit_borders(groups):
    """The same, by looking at every entry and its four neighbours."""
    n = len(groups)

    def number(row, column):
        inside = 0 <= row < n and 0 <= column < n
        return groups[row, column] if inside and groups[row, column] >= 0 else None

    def around(row, column):
        return [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]

    def block(row, column):
        own = number(row, column)
        is_block = own is not None and own in [number(*cell) for cell in around(row, column)]
        return own if is_block else None

    steps = set()
    for row, column in itertools.product(range(n + 1), repeat=2):
        if column < n and block(row - 1, column) != block(row, column):
            steps.add(((column - 0.5, row - 0.5), (column + 0.5, row - 0.5)))
        if row < n and block(row, column - 1) != block(row, column):
            steps.add(((column - 0.5, row - 0.5), (column - 0.5, row + 0.5)))
    return steps


def test_groups_outline_blocks():
    groups = np.full((6, 6), -1)
    groups[:2, 3:5] = 0
    groups[3:5, :2] = 0
    groups[0, 5] = groups[5, 0] = 1  # a lone entry beside the block
    weights = np.where(groups == 0, 0.5, np.where(groups == 1, 0.2, 0.0))
    ax = plot_matrix(Graph(weights), groups=groups)
    assert outlines(ax) == unit_borders(groups)
    assert len(outlines(ax)) == 16
    assert len(plot_matrix(Graph(weights)).collections) == len(ax.collections) - 1


@pytest.mark.parametrize("seed", range(3))
def test_outlines_of_arbitrary_groups(seed):
    groups = np.random.default_rng(seed).integers(-1, 3, size=(9, 9))
    ax = plot_matrix(Graph(np.zeros((9, 9))), groups=groups)
    assert outlines(ax) == unit_borders(groups)


def test_outlines_of_no_group_and_of_many():
    nothing = plot_matrix(Graph(np.zeros((3, 3))), groups=np.full((3, 3), -1))
    assert not outlines(nothing)
    nothing.figure.draw_without_rendering()
    runs = np.arange(160) // 4
    groups = np.add.outer(40 * runs, runs)
    ax = plot_matrix(Graph(np.zeros((160, 160))), groups=np.maximum(groups, groups.T))
    ax.figure.draw_without_rendering()
    (*_, collection) = ax.collections
    assert len(collection.get_segments()) < 2 * 41 * 2  # lines run through


@pytest.mark.parametrize("groups", [np.zeros((2, 2), int), np.zeros((3, 3)), [0, 1, 2]])
def test_bad_groups_are_named(groups):
    with raises(InputError, code="matrix_groups", n_nodes=3):
        plot_matrix(Graph(WEIGHTS), groups=groups)
