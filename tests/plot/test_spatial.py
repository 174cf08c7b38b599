"""Maps of the weights of one site: what stands in which cell, in which colour."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle

from edgewise import Graph, InputError
from edgewise.plot import plot_seed_map
from edgewise.plot.seed_maps import plot_seed_maps
from tests.messages import raises


def random_graph(n, seed=0, names=None):
    upper = np.triu(np.random.default_rng(seed).normal(size=(n, n)), 1)
    return Graph(upper + upper.T, names=names)


def seed_cell(ax):
    """Column and row of the mark, from the middle of its frame and of its inner square."""
    squares = [
        patch for patch in ax.patches if isinstance(patch, Rectangle) and patch.get_zorder() == 4
    ]
    centers = {
        (patch.get_x() + patch.get_width() / 2, patch.get_y() + patch.get_height() / 2)
        for patch in squares
    }
    (center,) = centers
    return center


def missing_cells(ax):
    """Column and row of the hatched cells."""
    (hatched,) = [patch for patch in ax.patches if isinstance(patch, PathPatch)]
    corners = hatched.get_path().vertices.reshape(-1, 5, 2)
    return {tuple(cell) for cell in corners[:, :4].mean(axis=1).tolist()}


def color_at(ax, column, row):
    """Colour on the page a quarter of a cell off the middle of a cell."""
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba()) / 255
    x, y = ax.transData.transform((column + 0.2, row + 0.2))
    return pixels[int(len(pixels) - y), int(x), :3]


def test_weights_of_the_seed_stand_at_their_places():
    graph = random_graph(12)
    ax = plot_seed_map(graph, 5, (3, 4))
    (image,) = ax.images
    np.testing.assert_array_equal(image.get_array(), graph.weights[5].reshape(3, 4))
    assert seed_cell(ax) == (1, 1)
    assert not missing_cells(ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column", "row")
    assert ax.get_title() == "seed x5"


def test_seed_by_name_is_the_seed_by_number():
    names = [f"pixel {i}" for i in range(6)]
    graph = random_graph(6, names=names)
    by_name = plot_seed_map(graph, "pixel 4", (2, 3))
    by_number = plot_seed_map(graph, np.int64(4), (2, 3))
    np.testing.assert_array_equal(by_name.images[0].get_array(), by_number.images[0].get_array())
    assert by_name.get_title() == by_number.get_title() == "seed pixel 4"


def test_colours_on_the_page():
    weights = np.zeros((6, 6))
    weights[0, 1], weights[0, 2] = 1.0, -1.0
    adjacency = weights != 0
    adjacency[0, 3] = True
    graph = Graph(weights + weights.T, adjacency=adjacency | adjacency.T)
    mask = np.ones((2, 4), dtype=bool)
    mask[1, 2:] = False
    ax = plot_seed_map(graph, 0, (2, 4), mask=mask)
    np.testing.assert_allclose(color_at(ax, 1, 0), to_rgb("#00395A"), atol=0.01)
    np.testing.assert_allclose(color_at(ax, 2, 0), to_rgb("#7A3500"), atol=0.01)
    np.testing.assert_allclose(color_at(ax, 3, 0), to_rgb("#767676"), atol=0.01)
    np.testing.assert_allclose(color_at(ax, 0, 1), 0.97, atol=0.02)
    np.testing.assert_allclose(color_at(ax, 0, 0), to_rgb("#222222"), atol=0.01)
    assert missing_cells(ax) == {(2, 1), (3, 1)}
    assert (color_at(ax, 2, 1) < 0.92).all()


def test_arcs_of_a_directed_graph_leave_the_seed():
    ax = plot_seed_map(Graph([[0, 1], [0, 0]], directed=True), 0, (2,))
    assert ax.images[0].get_array().tolist() == [[0, 1]]
    ax = plot_seed_map(Graph([[0, 1], [0, 0]], directed=True), 1, (2,))
    assert ax.images[0].get_array().tolist() == [[0, 0]]


def test_mask_leaves_out_sites():
    mask = np.array([[False, True, True], [True, True, False]])
    graph = random_graph(4)
    ax = plot_seed_map(graph, 2, (2, 3), mask=mask)
    shown = ax.images[0].get_array()
    np.testing.assert_array_equal(shown.mask, ~mask)
    np.testing.assert_array_equal(shown.data[mask], graph.weights[2])
    assert missing_cells(ax) == {(0, 0), (2, 1)}
    assert seed_cell(ax) == (0, 1)


def test_slices_stand_side_by_side():
    graph = random_graph(24)
    ax = plot_seed_map(graph, 23, (3, 2, 4))
    shown = ax.images[0].get_array()
    volume = graph.weights[23].reshape(3, 2, 4)
    for number in range(3):
        np.testing.assert_array_equal(shown[:, 5 * number : 5 * number + 4], volume[number])
    assert shown.mask[:, [4, 9]].all()
    assert not missing_cells(ax)
    assert seed_cell(ax) == (13, 1)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["slice 0", "1", "2"]
    assert ax.get_xticks().tolist() == [1.5, 6.5, 11.5]
    np.testing.assert_array_equal(color_at(ax, 4, 0), 1)  # paper between the slices


def test_line_of_sites_is_a_strip():
    graph = random_graph(40)
    ax = plot_seed_map(graph, 7, (40,))
    np.testing.assert_array_equal(ax.images[0].get_array(), graph.weights[7][None])
    assert seed_cell(ax) == (7, 0)
    assert ax.get_xlabel() == "site"
    ax.figure.draw_without_rendering()
    frame = ax.get_window_extent()
    assert frame.height > 20  # square cells would leave a hair


def test_limit_sets_the_scale_and_shows_what_is_cut():
    graph = random_graph(9)
    largest = np.abs(graph.weights[4]).max()
    ax = plot_seed_map(graph, 4, (3, 3))
    assert ax.images[0].norm.vmax == -ax.images[0].norm.vmin == largest
    assert ax.images[0].colorbar.extend == "neither"
    cut = plot_seed_map(graph, 4, (3, 3), limit=largest / 2)
    assert cut.images[0].norm.vmax == -cut.images[0].norm.vmin == largest / 2
    assert cut.images[0].colorbar.extend == "both"
    assert plot_seed_map(graph, 4, (3, 3), limit=9).images[0].colorbar.extend == "neither"
    for bad in (0, -1, np.nan, np.inf):
        with raises(InputError, code="limit_positive"):
            plot_seed_map(graph, 4, (3, 3), limit=bad)


def test_seed_without_edges():
    ax = plot_seed_map(Graph(np.zeros((4, 4))), 0, (2, 2))
    assert ax.images[0].norm.vmax == 1
    plot_seed_map(Graph([[0.0]]), 0, (1, 1)).figure.draw_without_rendering()


def test_colorbar_option_and_given_axes():
    graph = random_graph(4)
    ax = Figure().add_subplot()
    assert plot_seed_map(graph, 0, (2, 2), ax, colorbar=False) is ax
    assert len(ax.figure.axes) == 1
    assert len(plot_seed_map(graph, 0, (2, 2)).figure.axes) == 2


@pytest.mark.parametrize(
    ("seed", "shape", "mask", "message"),
    [
        ("pixl_3", (2, 3), None, "unknown_site"),
        ("zzz", (2, 3), None, "unknown_site"),
        (6, (2, 3), None, "site_out_of_range"),
        (-1, (2, 3), None, "site_out_of_range"),
        (0, (2, 4), None, "grid_column_count"),
        (0, (2, 3), [[True] * 3, [False] * 3], "grid_column_count"),
        (0, "chain", None, "seed_map_shape"),
        (0, [[0, 1]], None, "seed_map_shape"),
        (0, 6, None, "seed_map_shape"),
    ],
)
def test_bad_input_is_named(seed, shape, mask, message):
    graph = random_graph(6, names=[f"pixel_{i}" for i in range(6)])
    with raises(InputError, code=message):
        plot_seed_map(graph, seed, shape, mask=mask)


# Small multiples


def panels(figure):
    return [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]


@pytest.mark.slow
def test_seeds_are_spread_over_the_grid_and_stand_as_on_it():
    graph = random_graph(64)
    figure = plot_seed_maps(graph, shape=(8, 8))
    cells = np.array([seed_cell(ax) for ax in panels(figure)])
    assert len(cells) == 9
    rows, columns = cells[:, 1].reshape(3, 3), cells[:, 0].reshape(3, 3)
    np.testing.assert_array_equal(rows, np.repeat(rows[:, :1], 3, axis=1))
    np.testing.assert_array_equal(columns, np.repeat(columns[:1], 3, axis=0))
    for steps in (rows[:, 0], columns[0]):
        assert steps[0] <= 2 < 5 <= steps[-1]
        assert (np.diff(steps) >= 2).all()
    figure.draw_without_rendering()
    frames = np.array([ax.get_position().p0 for ax in panels(figure)]).reshape(3, 3, 2)
    assert (np.diff(frames[:, :, 0], axis=1) > 0).all()
    assert (np.diff(frames[:, :, 1], axis=0) < 0).all()


@pytest.mark.parametrize(
    ("shape", "n_missing"),
    [((8, 8), 0), ((4, 20), 0), ((6, 6, 3), 0), ((40,), 0), ((60, 2), 0), ((8, 8), 40)],
)
def test_about_ten_different_seeds_are_chosen(shape, n_missing):
    mask = np.ones(shape, dtype=bool)
    mask.flat[np.random.default_rng(0).permutation(mask.size)[:n_missing]] = False
    figure = plot_seed_maps(random_graph(int(mask.sum())), shape=shape, mask=mask)
    cells = [seed_cell(ax) for ax in panels(figure)]
    assert 9 <= len(set(cells)) == len(cells) <= 12
    assert max(figure.get_size_inches()) < 15
    for ax in panels(figure):
        assert not missing_cells(ax) & {seed_cell(ax)}


def test_seeds_stay_different_where_sites_crowd_in_a_corner():
    mask = np.zeros((12, 12), dtype=bool)
    mask[:4, :4] = True
    figure = plot_seed_maps(random_graph(16), shape=(12, 12), mask=mask)
    assert len({seed_cell(ax) for ax in panels(figure)}) == 9


def test_small_grids_show_all_sites():
    assert len(panels(plot_seed_maps(random_graph(6), shape=(2, 3)))) == 6
    lone = plot_seed_maps(random_graph(3), shape=(4, 5), mask=np.arange(20).reshape(4, 5) < 3)
    assert len(panels(lone)) == 3


def test_chosen_seeds_share_one_scale():
    graph = random_graph(12)
    figure = plot_seed_maps(graph, ["x3", 0, 7], shape=(3, 4))
    drawn = panels(figure)
    assert [ax.get_title() for ax in drawn] == ["x3", "x0", "x7"]
    assert {ax.images[0].norm.vmax for ax in drawn} == {np.abs(graph.weights[[3, 0, 7]]).max()}
    assert len(figure.axes) == 4  # one colour bar for all
    narrow = plot_seed_maps(graph, [0, 7], shape=(3, 4), limit=0.1)
    assert {ax.images[0].norm.vmax for ax in panels(narrow)} == {0.1}
    with raises(InputError, code="no_seeds"):
        plot_seed_maps(graph, [], shape=(3, 4))
    with raises(InputError, code="unknown_site", seed="x33"):
        plot_seed_maps(graph, ["x33"], shape=(3, 4))


HOSTILE = ["$x^2$ and more of it than anyone can read", "日本語", "a\tb\nc", "_", "W" * 60, "%{}\\"]


@pytest.mark.parametrize("shape", [(3, 4), (12,), (3, 2, 2)])
def test_titles_do_not_overlap(shape):
    names = [f"{HOSTILE[i % 6]}{i}" for i in range(12)]
    figure = plot_seed_maps(random_graph(12, names=names), shape=shape)
    figure.draw_without_rendering()
    texts = [
        ax.yaxis.label if len(shape) == 1 else ax.title if ax.get_title() else ax._left_title
        for ax in panels(figure)
    ]
    boxes = [text.get_window_extent() for text in texts]
    assert all(box.width > 0 for box in boxes)
    assert not any(text.get_parse_math() for text in texts)
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
        assert not any(box.overlaps(ax.get_window_extent()) for ax in figure.axes)
