"""Paths, and figures as files."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from edgewise import Graph, InputError
from edgewise.plot import plot_intervals, plot_path, save_figure
from tests.messages import raises

WEIGHTS = np.array([[0, 0.9, -0.5], [0.9, 0, 0], [-0.5, 0, 0]])
ALPHAS = [0.6, 0.1, 1.0]


def shrunk(alpha, directed=False):
    weights = np.triu(WEIGHTS) if directed else WEIGHTS
    return Graph(np.sign(weights) * np.maximum(np.abs(weights) - alpha, 0), directed=directed)


def path(directed=False):
    return [shrunk(alpha, directed) for alpha in ALPHAS]


def test_path_of_edges_is_sorted_and_logarithmic():
    ax = plot_path(ALPHAS, path())
    (line,) = ax.lines
    assert line.get_xdata().tolist() == [0.1, 0.6, 1.0]
    assert list(line.get_ydata()) == [2, 1, 0]
    assert ax.get_xscale() == "log"
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize("directed", [False, True])
def test_path_of_weights_has_a_line_per_edge(directed):
    ax = plot_path(ALPHAS, path(directed), kind="weights")
    (collection,) = ax.collections
    segments = collection.get_segments()
    assert len(segments) == 2
    np.testing.assert_allclose(segments[0], [[0.1, 0.8], [0.6, 0.3], [1.0, 0.0]])
    np.testing.assert_allclose(segments[1], [[0.1, -0.4], [0.6, 0.0], [1.0, 0.0]])
    first, second = collection.get_colors()
    assert first[2] > first[0]
    assert second[0] > second[2]
    assert ax.get_ylim()[0] < -0.4 < 0.8 < ax.get_ylim()[1]
    ax.figure.draw_without_rendering()


def test_path_without_any_edge():
    empty = [Graph(np.zeros((2, 2)))] * 2
    counts = plot_path([1, 2], empty, kind="edges")
    counts.figure.draw_without_rendering()
    assert not np.any(counts.lines[0].get_ydata())
    weights = plot_path([1, 2], empty, kind="weights")
    weights.figure.draw_without_rendering()
    assert not any(np.any(line.get_ydata()) for line in weights.lines)


def test_chosen_alpha_is_marked():
    assert len(plot_path(ALPHAS, path()).lines) == 1
    ax = plot_path(ALPHAS, path(), chosen=0.6)
    assert ax.lines[1].get_xdata() == [0.6, 0.6]
    assert ax.texts[0].get_text() == "chosen 0.6"


@pytest.mark.parametrize("chosen", [0.1, 0.2, 0.6, 1.0])
def test_name_of_the_chosen_alpha_stays_inside(chosen):
    ax = plot_path(ALPHAS, path(), chosen=chosen)
    ax.figure.draw_without_rendering()
    box, frame = ax.texts[0].get_window_extent(), ax.get_window_extent()
    assert frame.x0 <= box.x0
    assert box.x1 <= frame.x1


@pytest.mark.parametrize(
    ("alphas", "graphs", "options", "message"),
    [
        ([1, 2], [shrunk(0)], {}, "curve_graph_count"),
        ([], [], {}, "curve_graph_count"),
        ([0.0], [shrunk(0)], {}, "curve_alphas_positive"),
        ([1, 2], [shrunk(0), Graph(np.zeros((2, 2)))], {}, "curve_nodes_differ"),
        ([1], [shrunk(0)], {"kind": "nodes"}, "kind_choice"),
    ],
)
def test_path_refuses(alphas, graphs, options, message):
    with raises(InputError, code=message):
        plot_path(alphas, graphs, **options)


def test_given_axes_are_used():
    ax = Figure().add_subplot()
    assert plot_path(ALPHAS, path(), ax) is ax


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("SVG", b"<?xml")]
)
def test_save_figure(tmp_path, suffix, magic):
    target = tmp_path / f"figure.{suffix}"
    target.write_text("old")
    save_figure(plot_path(ALPHAS, path()).figure, str(target))
    assert target.read_bytes().startswith(magic)
    assert list(tmp_path.iterdir()) == [target]


def test_save_figure_resolution(tmp_path):
    figure = Figure(figsize=(2, 1))
    sizes = []
    for dpi in (50, 100):
        save_figure(figure, tmp_path / "figure.png", dpi=dpi)
        header = (tmp_path / "figure.png").read_bytes()[16:24]
        sizes.append(int.from_bytes(header[:4], "big"))
    assert sizes == [100, 200]


def test_save_figure_keeps_the_old_file_when_drawing_fails(tmp_path, monkeypatch):
    target = tmp_path / "figure.png"
    target.write_text("old")
    figure = Figure()
    monkeypatch.setattr(figure, "draw", lambda renderer: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_figure(figure, target)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    with raises(InputError, code="figure_suffix", suffix=".bmp", listed=".png, .pdf, .svg"):
        save_figure(figure, tmp_path / "figure.bmp")


def test_no_figure_is_left_to_pyplot():
    before = pyplot.get_fignums()
    graph = Graph([[0, 1], [1, 0]])
    graph.plot()
    graph.plot("matrix")
    graph.to_html()
    assert pyplot.get_fignums() == before


def test_intervals_are_in_the_order_of_the_weights():
    weights = np.zeros((4, 4))
    weights[[0, 0, 2], [1, 2, 3]] = [-0.5, 0.8, 0.1]
    graph = Graph(weights + weights.T, names=["a", "b", "c$x$", "d"])
    ends = np.array([graph.weights - 0.1, graph.weights + 0.2])
    ax = plot_intervals(graph, ends)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a - c$x$", "c$x$ - d", "a - b"]
    (dots,) = [part for part in ax.collections if len(part.get_offsets()) == 3]
    np.testing.assert_allclose(dots.get_offsets()[:, 0], [0.8, 0.1, -0.5])
    lines = next(part for part in ax.collections if part is not dots).get_segments()
    np.testing.assert_allclose([line[:, 0] for line in lines], [[0.7, 1], [0, 0.3], [-0.6, -0.3]])
    few = plot_intervals(graph, ends, most=2)
    assert [label.get_text() for label in few.get_yticklabels()] == ["a - c$x$", "a - b"]
    assert "1 weaker edge" in few.get_xlabel()


def test_intervals_that_do_not_fit():
    graph = Graph([[0, 0.5], [0.5, 0]])
    with raises(InputError, code="interval_shape", n_nodes=2, shape=[2, 2]):
        plot_intervals(graph, graph.weights)
    with pytest.raises(InputError, match="most must be at least 1"):
        plot_intervals(graph, np.zeros((2, 2, 2)), most=0)
