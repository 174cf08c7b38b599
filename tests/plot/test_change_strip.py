"""Strips of changes: the same places, widths and colours in every panel."""

import io
from itertools import combinations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex

from edgewise import Graph, InputError
from edgewise.plot.change import plot_change_strip
from tests.messages import raises


def graph(pairs, d, names=None):
    weights = np.zeros((d, d))
    for (i, j), weight in pairs.items():
        weights[i, j] = weights[j, i] = weight
    return Graph(weights, names=names)


def random_changes(d, n_edges, seed=0):
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(list(combinations(range(d), 2)))[:n_edges]
    return graph({(i, j): rng.choice([-1, 1]) * rng.uniform(0.1, 1) for i, j in pairs}, d)


def nodes(ax):
    (found,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    return found


def points(ax):
    return np.asarray(nodes(ax).get_offsets())


def widths(ax):
    """Width of the line between two nodes."""
    found = {}
    for lines in (c for c in ax.collections if isinstance(c, LineCollection)):
        for ends, width in zip(lines.get_segments(), lines.get_linewidths(), strict=True):
            near = [int(np.argmin(np.linalg.norm(points(ax) - end, axis=1))) for end in ends]
            found[tuple(sorted(near))] = float(width)
    return found


def legend(figure):
    (box,) = figure.legends
    return [text.get_text() for text in box.get_texts()]


def written(ax):
    return [text.get_text() for text in ax.texts]


def strip(d=30, n_panels=5):
    changes = [random_changes(d, 4, seed) for seed in range(n_panels)]
    return [*changes[:-1], Graph(np.zeros((d, d)), names=changes[0].names)]


def test_nodes_of_a_strip_keep_their_places():
    changes = strip()
    figure = plot_change_strip(changes)
    used = np.any([change.adjacency.any(axis=0) for change in changes], axis=0)
    numbers = np.flatnonzero(used)
    places = [points(ax) for ax in figure.axes]
    assert all(np.array_equal(place, places[0]) for place in places)
    assert len(places[0]) == len(numbers) < 30
    for ax, change in zip(figure.axes, changes, strict=True):
        rows, columns = np.nonzero(np.triu(change.adjacency))
        expected = set(zip(rows.tolist(), columns.tolist(), strict=True))
        assert {(numbers[i], numbers[j]) for i, j in widths(ax)} == expected


def test_a_node_of_a_strip_has_its_name_where_it_has_an_edge():
    changes = strip()
    figure = plot_change_strip(changes)
    for ax, change in zip(figure.axes[:-1], changes, strict=False):
        joined = change.adjacency.any(axis=0)
        assert sorted(written(ax)) == sorted(np.array(change.names)[joined])
        colors = np.array([to_hex(color) for color in nodes(ax).get_facecolors()])
        assert np.count_nonzero(colors != "#ffffff") == joined.sum()
    assert written(figure.axes[-1]) == ["no change"]


def test_legend_of_a_strip():
    changes = [graph({(0, 1): 1.0}, 9), graph({(0, 1): 1.0, (1, 2): 0.25}, 9)]
    names = ["increased", "no change in this panel", "not drawn: 6 unchanged nodes"]
    assert legend(plot_change_strip(changes)) == [*names, "|change| 1", "|change| 0.25"]
    changes = [graph({(0, 1): -1.0, (1, 2): 1.0}, 3)] * 2
    assert legend(plot_change_strip(changes)) == ["increased", "decreased"]
    four = [graph({(0, 1): -1.0, (1, 2): 1.0}, 4)]
    assert "not drawn: 1 unchanged node" in legend(plot_change_strip(four))
    assert "not drawn: 1 unchanged node" not in legend(plot_change_strip(four, layout="circle"))


def test_widths_mean_the_same_in_all_panels():
    changes = [graph({(0, 1): 1.0}, 3), graph({(0, 1): 0.5}, 3), graph({(1, 2): 0.5}, 3)]
    first, second, third = (widths(ax) for ax in plot_change_strip(changes).axes)
    assert first[0, 1] > second[0, 1] == third[1, 2]


def test_titles_and_columns():
    changes = strip(n_panels=5)
    figure = plot_change_strip(changes, titles=[f"window {i}" for i in range(5)], columns=2)
    assert [ax.get_title() for ax in figure.axes] == [f"window {i}" for i in range(5)]
    rows = {round(ax.get_position().y0, 6) for ax in figure.axes}
    columns = {round(ax.get_position().x0, 6) for ax in figure.axes}
    assert (len(rows), len(columns)) == (3, 2)
    first, second = figure.axes[:2]
    assert first.get_position().x0 < second.get_position().x0
    assert len({round(ax.get_position().x0, 6) for ax in plot_change_strip(changes).axes}) == 3
    assert len(plot_change_strip(changes, columns=9).axes) == 5


@pytest.mark.parametrize("n_panels", [1, 2, 7])
def test_panels_titles_and_legend_of_a_strip_stay_apart(n_panels):
    titles = ["from the first of January to the last of December"] * n_panels
    figure = plot_change_strip(strip(60, 7)[:n_panels], titles=titles)
    figure.draw_without_rendering()
    found = [ax.get_window_extent() for ax in figure.axes]
    found += [ax.title.get_window_extent() for ax in figure.axes]
    found.append(figure.legends[0].get_window_extent())
    for a in found:
        assert figure.bbox.x0 <= a.x0
        assert a.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= a.y0
        assert a.y1 <= figure.bbox.y1
    for a, b in combinations(found, 2):
        assert not a.overlaps(b)


def test_strip_without_any_change():
    figure = plot_change_strip([Graph(np.zeros((20, 20)))] * 3)
    assert [written(ax) for ax in figure.axes] == [["no change"]] * 3
    assert all(len(points(ax)) == 20 for ax in figure.axes)
    assert legend(figure) == ["no change in this panel"]


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ([], {}, "no_changes_to_draw"),
        ([graph({}, 3)], {"titles": ["a", "b"]}, "title_count"),
        ([graph({}, 3), graph({}, 4)], {}, "strip_nodes_differ"),
        ([graph({}, 3)], {"columns": 0}, "strip_columns"),
        ([Graph([[0, 1], [0, 0]], directed=True)], {}, "change_of_directed"),
    ],
)
def test_strips_that_cannot_be_drawn(changes, options, message):
    with raises(InputError, code=message):
        plot_change_strip(changes, **options)


def test_options_of_all_panels():
    change = random_changes(8, 6)
    given = np.random.default_rng(0).normal(size=(8, 2))
    for ax in plot_change_strip([change, change], layout=given).axes:
        np.testing.assert_array_equal(points(ax), given)
    assert "changed" in legend(plot_change_strip([change], signed=False))
    assert "changed" not in legend(plot_change_strip([change]))
    crowded = random_changes(100, 300)
    counts = {
        labels: len(written(plot_change_strip([crowded], labels=labels).axes[0]))
        for labels in ("none", "auto", "all")
    }
    assert counts["none"] == 0
    assert counts["none"] < counts["auto"] < counts["all"] == 100
    with raises(InputError, code="plot_labels", labels="some"):
        plot_change_strip([change], labels="some")


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_hostile_names_are_drawn_as_text(kind):
    names = ["$x^2$", "$\\frac{1}", "two\nlines", "a" * 300, "🧬", "nul\x00", "%d {} \\input{x}"]
    change = graph({(i, i + 1): 1.0 for i in range(6)}, 7, names)
    figure = plot_change_strip([change], titles=["$\\frac{1} 🧬"], labels="all")
    texts = [*figure.axes[0].texts, figure.axes[0].title]
    assert len(texts) == 8
    assert not any(text.get_parse_math() or text.get_usetex() for text in texts)
    figure.savefig(io.BytesIO(), format=kind)  # warnings are errors here
