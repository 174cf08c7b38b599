"""The picture of a change: kinds by colour and dashes, places, names and legend."""

import io
import random
from itertools import combinations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from edgewise import Graph, InputError
from edgewise.plot import plot_change
from tests.messages import raises

NAMES = [f"v{i}" for i in range(16)]
#: Weight before and after, and change, of the pairs 0-1, 2-3, ...
PAIRS = {
    "gained": (0.0, 0.5, 0.5),
    "lost": (0.4, 0.0, -0.4),
    "flipped": (0.3, -0.3, -0.6),
    "stronger": (-0.2, -0.5, -0.3),
    "weaker": (0.8, 0.1, -0.7),
    "increased": (0.0, 0.0, 0.2),
    "decreased": (0.0, 0.0, -0.1),
}


def graph(pairs, d=16, names=NAMES):
    weights = np.zeros((d, d))
    for (i, j), weight in pairs.items():
        weights[i, j] = weights[j, i] = weight
    return Graph(weights, names=names[:d] if names else None)


def every_kind():
    """Change, before and after, with one pair of each kind; v14 and v15 do not change."""
    return [
        graph({(2 * k, 2 * k + 1): values[which] for k, values in enumerate(PAIRS.values())})
        for which in (2, 0, 1)
    ]


def random_changes(d, n_edges, seed=0, name="gene{}"):
    rng = np.random.default_rng(seed)
    pairs = np.array(list(combinations(range(d), 2)))
    some = pairs[rng.permutation(len(pairs))[:n_edges]]
    return graph(
        {(i, j): rng.choice([-1, 1]) * rng.uniform(0.1, 1) for i, j in some},
        d,
        [name.format(i) for i in range(d)],
    )


def points(ax):
    (nodes,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    return np.asarray(nodes.get_offsets())


def node_colors(ax):
    (nodes,) = [c for c in ax.collections if isinstance(c, PathCollection)]
    return [to_hex(color) for color in nodes.get_facecolors()]


def strokes(ax):
    """Colour, dashes and width of the line between two nodes."""
    found = {}
    place = points(ax)
    for lines in (c for c in ax.collections if isinstance(c, LineCollection)):
        looks = zip(
            lines.get_segments(),
            lines.get_colors(),
            lines.get_linestyles(),
            lines.get_linewidths(),
            strict=True,
        )
        for ends, color, (_, dashes), width in looks:
            pair = tuple(
                sorted(int(np.argmin(np.linalg.norm(place - end, axis=1))) for end in ends)
            )
            relative = tuple(np.round(np.divide(dashes, width), 3)) if dashes else ()
            found[pair] = (to_hex(color), relative, float(width))
    return found


def legend(ax):
    """What is drawn beside each text."""
    box = ax.get_legend()
    texts = [text.get_text() for text in box.get_texts()]
    return dict(zip(texts, box.legend_handles, strict=True))


def note(ax):
    """What stands above the network, of nodes without a change."""
    first = ax.texts[0].get_text() if ax.texts else ""
    is_note = first.startswith(("Without a change:", "No changes among:")) or "nodes have" in first
    return first.replace("\n", " ") if is_note else ""


def written(ax):
    """Names beside nodes."""
    return [text.get_text() for text in ax.texts][bool(note(ax)) :]


def boxes(ax):
    ax.figure.draw_without_rendering()
    return [text.get_window_extent() for text in ax.texts]


def test_kinds_differ_in_colour_and_in_dashes():
    change, before, after = every_kind()
    found = strokes(plot_change(change, before=before, after=after))
    assert len(found) == 7
    assert len({color for color, _, _ in found.values()}) == 7
    assert len({dashes for _, dashes, _ in found.values()}) == 7
    assert found[0, 1][1] == ()  # only what is gained is a whole line


def test_legend_names_and_counts_the_kinds_that_occur():
    change, before, after = every_kind()
    ax = plot_change(change, before=before, after=after)
    entries = legend(ax)
    kinds = [f"{kind} (1)" for kind in PAIRS]
    assert list(entries) == [*kinds, "|change| 0.7", "|change| 0.4"]
    found = strokes(ax)
    for index, kind in enumerate(kinds):
        assert to_hex(entries[kind].get_color()) == found[2 * index, 2 * index + 1][0]
    again = graph({(0, 1): 0.5, (2, 5): 0.5, (4, 5): 0.5}, 6)
    ax = plot_change(again, before=graph({}, 6), after=again)
    assert list(legend(ax)) == ["gained (3)"]
    ax = plot_change(again, before=graph({}, 6), after=again, layout="circle")
    assert list(legend(ax)) == ["gained (3)", "no change (1 node)"]


def test_legend_option():
    change = random_changes(10, 8)
    ax = plot_change(change, legend=False)
    assert ax.get_legend() is None
    # The network takes the room.
    assert points(ax)[:, 1].min() < points(plot_change(change))[:, 1].min()


def test_without_the_graphs_of_the_groups_the_sign_tells():
    ax = plot_change(graph({(0, 1): 0.5, (1, 2): -0.25, (2, 3): -0.5}, 4))
    found = strokes(ax)
    assert found[0, 1][:2] == ("#0072b2", ())
    assert found[1, 2][0] == found[2, 3][0] == "#d55e00"
    assert found[1, 2][1] == found[2, 3][1] != ()
    assert list(legend(ax)) == ["increased (1)", "decreased (2)", "|change| 0.5", "|change| 0.25"]
    # Graphs in which nothing was found tell no more.
    nothing = graph({}, 4)
    assert strokes(plot_change(graph({(0, 1): 0.5}, 4), before=nothing, after=nothing)) == {
        (0, 1): ("#0072b2", (), pytest.approx(4.0))
    }


def test_signed_option():
    change = graph({(0, 1): 0.5, (1, 2): 0.25}, 3)
    assert "increased (2)" in legend(plot_change(change))
    assert "changed (2)" in legend(plot_change(change, signed=False))
    nothing, after = graph({}, 3), graph({(0, 1): 0.5}, 3)
    entries = legend(plot_change(change, before=nothing, after=after, signed=False))
    assert {"gained (1)", "changed (1)"} <= set(entries)


def test_large_changes_are_wide():
    found = strokes(plot_change(graph({(0, 1): 1.0, (1, 2): -0.5, (2, 3): 0.1}, 4)))
    assert found[0, 1][2] > found[1, 2][2] > found[2, 3][2] >= 1.0


def test_graphs_of_the_groups_are_matched_by_name():
    change, before, after = every_kind()
    order = np.random.default_rng(0).permutation(16)
    before, after = (
        Graph(g.weights[np.ix_(order, order)], names=[g.names[i] for i in order])
        for g in (before, after)
    )
    ax = plot_change(change, before=before, after=after)
    assert list(legend(ax))[:7] == [f"{kind} (1)" for kind in PAIRS]


def test_nodes_without_a_change_are_named_in_a_line():
    change = random_changes(100, 12)
    joined = change.adjacency.any(axis=0)
    ax = plot_change(change)
    assert len(points(ax)) == np.count_nonzero(joined)
    assert sorted(written(ax)) == sorted(np.array(change.names)[joined])
    assert note(ax).startswith("Without a change: gene0, gene2, gene4, ")
    assert note(ax).endswith(" more.")
    few = random_changes(20, 8)
    alone = np.array(few.names)[~few.adjacency.any(axis=0)]
    assert note(plot_change(few)) == f"Without a change: {', '.join(alone)}."
    # Where places are given, or are those of the order, the nodes stay.
    ring = plot_change(change, layout="circle")
    colors = np.array(node_colors(ring))
    assert note(ring) == ""
    assert set(colors[~joined]) == {"#ffffff"}
    assert "#ffffff" not in colors[joined]


def test_lines_go_to_the_nodes_that_changed_though_others_are_not_drawn():
    ends = graph({(1, 3): 0.5, (3, 4): -0.25}, 6)
    ax = plot_change(ends)
    named = dict(zip(["v1", "v3", "v4"], points(ax), strict=True))
    ((strong, *_), (weak, *_)) = sorted(
        ((width, color, pair) for pair, (color, _, width) in strokes(ax).items()), reverse=True
    )
    assert strong > weak
    assert list(strokes(ax)) == [(1, 2), (0, 1)]
    for text in ax.texts[1:]:
        np.testing.assert_allclose(text.xy, named[text.get_text()])


@pytest.mark.parametrize(
    ("change", "least"),
    [
        (random_changes(20, 8), 12),
        (random_changes(40, 15), 20),
        (random_changes(40, 15, name="posterior part of region number {}"), 19),
        (random_changes(100, 12), 20),
        (random_changes(100, 120), 80),
        (random_changes(100, 1, name="posterior part of region number {}"), 2),
    ],
    ids=["20", "40", "40 long", "100 few", "100", "one"],
)
def test_names_cover_neither_each_other_nor_the_legend(change, least):
    ax = plot_change(change, title="from here to there")
    found = boxes(ax)
    assert len(found) >= least
    frame = ax.get_window_extent()
    others = [ax.get_legend().get_window_extent(), ax.title.get_window_extent()]
    for index, a in enumerate(found):
        assert frame.x0 - 1 <= a.x0
        assert a.x1 <= frame.x1 + 1
        for b in [*found[:index], *others]:
            is_apart = min(a.x1, b.x1) - max(a.x0, b.x0) <= 1
            assert is_apart or min(a.y1, b.y1) - max(a.y0, b.y0) <= 1
    assert frame.contains(others[0].x0, others[0].y1)
    assert frame.contains(others[0].x1, others[0].y0 + 1)


def test_names_are_cut_where_more_fit_then_but_stay_apart():
    change = random_changes(40, 24, name="posterior part of region number {}")
    names = written(plot_change(change))
    assert len(names) == np.count_nonzero(change.adjacency.any(axis=0))
    assert max(map(len, names)) < 24
    # These differ in their middle only, so that there is nothing to cut.
    twins = random_changes(40, 15, name="temperature {:02d} of sea")
    shown = written(plot_change(twins))
    assert len(set(shown)) == len(shown)
    assert set(shown) <= set(twins.names)


def test_labels_option():
    change = random_changes(100, 12)
    assert len(written(plot_change(change, labels="all", layout="circle"))) == 100
    assert written(plot_change(change, labels="none")) == []
    n_alone = 100 - np.count_nonzero(change.adjacency.any(axis=0))
    told = f"{n_alone} of 100 nodes have no change."
    assert note(plot_change(change, labels="none")) == told
    small = Figure(figsize=(1.2, 1.2)).add_subplot()
    assert len(written(plot_change(random_changes(40, 60), small))) < 40
    with raises(InputError, code="plot_labels", labels="some"):
        plot_change(change, labels="some")


def test_names_of_the_largest_changes_come_first():
    star = {(0, i): 0.1 for i in range(2, 90)} | {(0, 1): 5.0}
    ax = plot_change(graph(star, 90, None), Figure(figsize=(2, 2)).add_subplot())
    assert written(ax)[:2] == ["x0", "x1"]
    assert len(written(ax)) < 90


def test_layouts():
    change = random_changes(8, 6)
    circle = points(plot_change(change, layout="circle"))
    radii = np.linalg.norm(circle - circle.mean(axis=0), axis=1)
    np.testing.assert_allclose(radii, radii[0])
    given = np.random.default_rng(0).normal(size=(8, 2))
    np.testing.assert_array_equal(points(plot_change(change, layout=given)), given)
    with raises(InputError, code="unknown_plot_layout", layout="spiral"):
        plot_change(change, layout="spiral")
    with raises(InputError, code="layout_shape", n_nodes=8, shape=[3, 2]):
        plot_change(change, layout=given[:3])


def test_title():
    assert plot_change(random_changes(5, 3), title="$a$ to b").get_title() == "$a$ to b"
    long = plot_change(random_changes(5, 3), title="word " * 60)
    long.figure.draw_without_rendering()
    box, frame = long.title.get_window_extent(), long.figure.bbox
    assert box.x0 >= 0
    assert box.x1 <= frame.x1
    assert box.y1 <= frame.y1
    assert plot_change(random_changes(5, 3)).get_title() == ""


def test_no_change_at_all():
    ax = plot_change(Graph(np.zeros((40, 40))), title="from here to there")
    assert not ax.collections
    assert note(ax).startswith("No changes among: x0, x1, x2, ")
    assert ax.get_title() == "from here to there"
    top, title = boxes(ax)[0], ax.title.get_window_extent()
    assert top.y1 <= title.y0 + 1
    assert top.x1 <= ax.get_window_extent().x1


def test_same_graph_same_picture():
    change = random_changes(40, 30)
    random.seed(1)
    first = points(plot_change(change))
    state = random.getstate()
    random.seed(2)
    np.testing.assert_array_equal(points(plot_change(change)), first)
    random.setstate(state)


def test_given_axes_are_used():
    left, right = Figure(figsize=(8, 4)).subplots(1, 2)
    assert plot_change(random_changes(10, 8), right) is right
    assert not left.collections


def test_what_cannot_be_drawn():
    change = random_changes(4, 3)
    arcs = Graph([[0, 1], [0, 0]], directed=True)
    with raises(InputError, code="change_of_directed"):
        plot_change(arcs)
    with raises(InputError, code="before_and_after"):
        plot_change(change, before=change)
    with raises(InputError, code="before_and_after"):
        plot_change(change, after=change)
    with raises(InputError, code="nodes_differ", surplus=["v0", "v1", "v2"]):
        plot_change(change, before=graph({}, 3), after=graph({}, 3))


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_hostile_names_are_drawn_as_text(kind):
    names = ["$x^2$", "$\\frac{1}", "two\nlines", "a" * 300, "🧬", "nul\x00", "%d {} \\input{x}"]
    change = graph({(i, i + 1): 1.0 for i in range(6)}, 7, names)
    ax = plot_change(change, labels="all", title="$\\frac{1} 🧬")
    texts = [*ax.texts, ax.title]
    assert len(texts) == 8
    assert not any(text.get_parse_math() or text.get_usetex() for text in texts)
    ax.figure.savefig(io.BytesIO(), format=kind)  # warnings are errors here


def test_small_changes_fade_and_only_as_many_are_drawn_as_can_be_told_apart():
    faint, solid = (
        c
        for lines in plot_change(graph({(0, 1): 0.1, (2, 3): -1.0})).collections
        if isinstance(lines, LineCollection)
        for c in lines.get_colors()[:, 3]
    )
    assert faint < 0.6 * solid
    change = random_changes(25, 150)
    ax = plot_change(change)
    assert len(strokes(ax)) == 24 + 36
    assert ax.texts[0].get_text().startswith("Showing 60 of 150 changes")
    counts = [int(text.split("(")[1][:-1]) for text in legend(ax) if "(" in text]
    assert sum(counts) == 150, "the legend counts all"
    assert len(strokes(plot_change(change, max_edges=None))) == 150
