"""Networks of classes, what changed in them, and accuracies."""

import numpy as np
import pandas as pd
from matplotlib.collections import PathCollection
from matplotlib.patches import Ellipse

from edgewise import Graph, InputError
from edgewise.inference.accuracy import ClassAccuracy
from edgewise.plot.classify import plot_accuracy, plot_arc_changes, plot_class_networks
from tests.messages import raises

NAMES = [f"v{k}" for k in range(7)]


def network(seed):
    rng = np.random.default_rng(seed)
    weights = np.triu(rng.normal(size=(7, 7)) * (rng.uniform(size=(7, 7)) < 0.4), 1)
    return Graph(weights, names=NAMES, directed=True)


def places(ax):
    dots = next(c for c in ax.collections if isinstance(c, PathCollection))
    return np.asarray(dots.get_offsets())


def changes(n):
    rng = np.random.default_rng(0)
    before = rng.normal(size=n)
    change = np.sort(rng.normal(size=n))[::-1]
    return pd.DataFrame(
        {
            "class": "well",
            "source": [f"s{k}" for k in range(n)],
            "target": [f"t{k}" for k in range(n)],
            "before": before,
            "after": before + change,
            "change": change,
        }
    )


def test_every_variable_has_one_place():
    networks = {"sick": network(0), "well": network(1)}
    figure = plot_class_networks(networks, difference=network(2))
    assert len(figure.axes) == 3
    assert figure.axes[0].get_title() == f"sick: {network(0).n_edges} arcs"
    assert figure.axes[2].get_title().startswith("difference")
    for ax in figure.axes[1:]:
        np.testing.assert_allclose(places(ax), places(figure.axes[0]))


def test_groups_stand_together_outlined_and_named():
    groups = ["front", "front", "back", "back", "back", "side", "front"]
    figure = plot_class_networks({"a": network(0), "b": network(1)}, groups=groups)
    for ax in figure.axes:
        outlines = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
        assert len(outlines) == 3
        written = [text.get_text() for text in ax.texts]
        assert {"front", "back", "side"} <= set(written)
        where = places(ax)
        for outline, name in zip(outlines, ["front", "back", "side"], strict=True):
            inside = outline.get_patch_transform().inverted().transform(where)
            is_inside = np.hypot(*inside.T) <= 1
            assert is_inside.tolist() == [group == name for group in groups]


def test_one_group_and_groups_of_one():
    for groups, n_outlines in ((["all"] * 7, 1), (list(range(7)), 7)):
        (ax,) = plot_class_networks({"a": network(0)}, groups=groups).axes
        assert sum(isinstance(patch, Ellipse) for patch in ax.patches) == n_outlines
        assert len(np.unique(places(ax).round(6), axis=0)) == 7


def test_arc_changes_show_the_largest():
    table = changes(30)
    ax = plot_arc_changes(table, most=10)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names[0] == "s0 → t0 | well"
    assert len(names) == 10
    assert ax.get_xlabel().endswith("(without 20 smaller changes)")
    few = plot_arc_changes(changes(2))
    assert "without" not in few.get_xlabel()
    few.figure.draw_without_rendering()
    legend, page = few.get_legend().get_window_extent(), few.figure.bbox
    assert page.y0 <= legend.y0 <= legend.y1 <= page.y1
    assert plot_arc_changes(changes(0)).get_yticklabels() == []


def test_names_are_text_and_not_mathematics():
    table = changes(1).assign(source="$x$", target="<b>", **{"class": "a\nb"})
    ax = plot_arc_changes(table)
    assert ax.get_yticklabels()[0].get_text() == "$x$ → <b> | a b"
    ax.figure.canvas.draw()


def test_accuracies():
    scores = np.array([[0.7, 0.9], [0.6, 0.6]])
    accuracy = ClassAccuracy(names=("a", "b"), scores=scores, chance=0.55, overlap=1.0)
    ax = plot_accuracy(accuracy)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    ax.figure.canvas.draw()


def test_bad_input():
    with raises(InputError, code="networks_differ"):
        plot_class_networks({})
    other = Graph(np.zeros((7, 7)), directed=True)
    with raises(InputError, code="networks_differ"):
        plot_class_networks({"a": network(0), "b": other})
    with raises(InputError, code="difference_nodes"):
        plot_class_networks({"a": network(0)}, difference=other)
    with raises(InputError, code="group_label_count", n_nodes=7, shape=[1]):
        plot_class_networks({"a": network(0)}, groups=["x"])


def test_a_width_means_the_same_in_all_panels():
    def tied(weight):
        return Graph([[0, weight, 0], [0, 0, weight / 2], [0, 0, 0]], directed=True)

    figure = plot_class_networks({"a": tied(1.0), "b": tied(0.25)})
    widths = [max(patch.get_linewidth() for patch in ax.patches) for ax in figure.axes]
    assert widths[1] < 0.6 * widths[0]


def test_panels_show_the_strongest_arcs_and_no_more_nodes_than_these_join():
    rng = np.random.default_rng(0)
    weights = np.triu(rng.uniform(0.1, 1, size=(2, 160, 160)), 1)
    weights[:, :, -1] = 0.0
    first, second = (Graph(one, directed=True) for one in weights)
    figure = plot_class_networks({"a": first, "b": second})
    assert figure.axes[0].get_title() == f"a: 48 of {first.n_edges} arcs"
    n_drawn = len(places(figure.axes[0]))
    assert n_drawn < 150
    note = next(t.get_text() for t in figure.axes[0].texts if t.get_text().startswith("Without"))
    assert note == f"Without an edge: x159. {159 - n_drawn} nodes have weak edges only."
    for ax in figure.axes:
        assert len([patch for patch in ax.patches if patch.get_linewidth() > 0]) == 48


def test_names_and_legend_of_panels_keep_apart():
    names = [f"a rather long name {k}" for k in range(20)]
    ring = np.roll(np.eye(20), 1, axis=1) * (1 - np.eye(20)[:, ::-1])
    figure = plot_class_networks({"a": Graph(np.triu(ring, 1), names=names, directed=True)})
    figure.draw_without_rendering()
    legend = figure.axes[0].get_legend().get_window_extent()
    for text in figure.axes[0].texts:
        assert text.get_window_extent().y0 >= legend.y1 - 1
