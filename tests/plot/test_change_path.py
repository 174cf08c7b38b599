"""Paths of changes: a line per pair, true changes on top, names where they fit."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from edgewise import InputError
from edgewise.plot.change_path import plot_change_path
from tests.messages import raises

BLUE, ORANGE = to_rgb("#0072B2"), to_rgb("#D55E00")
ALPHAS = np.array([0.4, 0.1, 0.2])


def soft(scores, alphas=ALPHAS):
    return np.array([np.sign(scores) * np.maximum(np.abs(scores) - a, 0) for a in alphas])


def scores():
    matrix = np.zeros((4, 4))
    matrix[0, 1], matrix[0, 2], matrix[2, 3], matrix[1, 3] = 0.5, -0.3, 0.15, 0.05
    return matrix + matrix.T


def random_path(d, n_true, n_alphas=10):
    rng = np.random.default_rng(d)
    matrix = np.triu(rng.normal(scale=0.1, size=(d, d)), 1)
    rows, columns = np.nonzero(np.triu(np.ones((d, d)), 1))
    true = rng.permutation(len(rows))[:n_true]
    matrix[rows[true], columns[true]] += rng.choice([-0.6, 0.6], size=n_true)
    changed = np.zeros((d, d), bool)
    changed[rows[true], columns[true]] = True
    alphas = np.geomspace(0.9, 0.05, n_alphas)
    return alphas, soft(matrix + matrix.T, alphas), changed | changed.T


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def pairs(ax):
    return [text.get_text().split(" \N{EN DASH} ") for text in ax.texts]


def boxes(ax):
    ax.figure.draw_without_rendering()
    return [text.get_window_extent() for text in ax.texts]


def test_a_line_for_every_pair_that_changes_somewhere():
    ax = plot_change_path(ALPHAS, soft(scores()) + 7 * np.eye(4))
    (collection,) = ax.collections
    segments = collection.get_segments()
    assert len(segments) == 3
    np.testing.assert_allclose(segments[0], [[0.1, 0.4], [0.2, 0.3], [0.4, 0.1]])
    np.testing.assert_allclose(segments[1], [[0.1, -0.2], [0.2, -0.1], [0.4, 0.0]])
    colors = [tuple(color[:3]) for color in collection.get_colors()]
    assert colors == [BLUE, ORANGE, BLUE]
    assert ax.get_legend() is None
    assert ax.get_ylim()[0] < -0.2 < 0.4 < ax.get_ylim()[1]


def test_true_changes_are_drawn_over_the_others():
    changed = np.zeros((4, 4), bool)
    changed[[0, 2, 1, 3], [2, 0, 3, 1]] = True
    ax = plot_change_path(ALPHAS, soft(scores()), changed=changed)
    assert texts(ax) == ["changed (1 of 2)", "not changed (2 of 4)"]
    true, false = ax.collections
    assert len(true.get_segments()) == 1
    assert true.get_segments()[0][0, 1] == pytest.approx(-0.2)
    assert len(false.get_segments()) == 2
    assert tuple(true.get_colors()[0][:3]) == BLUE
    assert true.get_zorder() > false.get_zorder()
    assert true.get_linewidths()[0] > 2 * false.get_linewidths()[0]
    # In grey print the two must differ as well.
    luminance = [np.dot(c.get_colors()[0][:3], [0.3, 0.59, 0.11]) for c in (true, false)]
    assert luminance[1] > luminance[0] + 0.2


def test_scale_of_alpha():
    changes = soft(scores())
    assert plot_change_path(ALPHAS, changes).get_xscale() == "log"
    linear = plot_change_path([0.4, 0.0, 0.2], changes, log=False)
    assert linear.get_xscale() == "linear"
    with raises(InputError, code="path_alphas_positive"):
        plot_change_path([0.4, 0.0, 0.2], changes)


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("low", [1e-6, 0.01, 0.3, 0.9])
def test_ticks_are_few_and_where_the_lines_are(log, low):
    alphas = np.geomspace(1.0, low, 3)
    ax = plot_change_path(alphas, soft(scores()), names=["a long name"] * 4, log=log)
    ticks = ax.get_xticks()
    assert 1 <= len(ticks) <= 8
    assert ticks.min() >= low
    assert ticks.max() <= 1.0
    ax.figure.draw_without_rendering()
    labels = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert all(left.x1 < right.x0 for left, right in pairwise(labels))


def test_chosen_alpha_is_marked():
    ax = plot_change_path(ALPHAS, soft(scores()), chosen=0.2)
    assert list(ax.lines[1].get_xdata()) == [0.2, 0.2]
    assert texts(ax) == ["chosen 0.2"]
    both = plot_change_path(ALPHAS, soft(scores()), chosen=0.2, changed=np.eye(4))
    assert texts(both) == ["changed (0 of 0)", "not changed (3 of 6)", "chosen 0.2"]


@pytest.mark.parametrize("size", [(3, 2.4), (6.4, 4.2), (12, 9)])
def test_legend_covers_no_line(size):
    alphas, changes, changed = random_path(20, 8)
    ax = Figure(figsize=size, layout="constrained").add_subplot()
    plot_change_path(alphas, changes, ax, changed=changed, chosen=alphas[3])
    ax.figure.draw_without_rendering()
    box = ax.get_legend().get_window_extent()
    highest = ax.transData.transform((alphas[-1], changes.max()))[1]
    assert highest <= box.y0
    frame = ax.get_window_extent()
    assert frame.x0 <= box.x0
    assert box.x1 <= frame.x1


def test_names_of_pairs_stand_left_of_their_lines():
    ax = plot_change_path(ALPHAS, soft(scores()), names=["a", "b", "c", "d"])
    assert pairs(ax) == [["a", "b"], ["a", "c"]]
    assert [text.xy for text in ax.texts] == [(0.1, pytest.approx(0.4)), (0.1, pytest.approx(-0.2))]
    assert not plot_change_path(ALPHAS, soft(scores())).texts
    # A change too small for a name has one if it is true.
    changed = scores() == 0.15
    ax = plot_change_path(ALPHAS, soft(scores()), names=list("abcd"), changed=changed)
    assert pairs(ax) == [["c", "d"], ["a", "b"], ["a", "c"]]


@pytest.mark.parametrize("name", ["x{}", "a rather long name, number {}"])
@pytest.mark.parametrize("d", [13, 40])
def test_names_cover_neither_each_other_nor_lines(d, name):
    alphas, changes, changed = random_path(d, 12)
    ax = plot_change_path(
        alphas, changes, changed=changed, names=[name.format(i) for i in range(d)]
    )
    written = boxes(ax)
    assert len(written) >= 5
    start, frame = ax.transData.transform((alphas[-1], 0))[0], ax.get_window_extent()
    assert all(frame.x0 <= box.x0 and box.x1 <= start for box in written)
    for i, a in enumerate(written):
        assert not any(min(a.y1, b.y1) - max(a.y0, b.y0) > 2 for b in written[:i])


def test_names_are_text():
    names = ["$x^2$", "two\nlines", "a" * 100, "\U0001f9ec"]
    ax = plot_change_path(ALPHAS, soft(scores()), names=names)
    assert not any(text.get_parse_math() or text.get_usetex() for text in ax.texts)
    assert pairs(ax)[0] == ["$x^2$", "two lines"]
    ax.figure.draw_without_rendering()


def test_no_change_at_all():
    ax = plot_change_path(ALPHAS, np.zeros((3, 4, 4)), changed=scores() != 0, names=list("abcd"))
    ax.figure.draw_without_rendering()
    assert texts(ax) == ["changed (0 of 4)", "not changed (0 of 2)"]
    assert not ax.texts


def test_given_axes_are_used():
    ax = Figure().add_subplot()
    assert plot_change_path(ALPHAS, soft(scores()), ax) is ax


@pytest.mark.parametrize(
    ("alphas", "changes", "options", "message"),
    [
        (ALPHAS[:2], soft(scores()), {}, "2 alphas and 3 changes"),
        (ALPHAS[:1], soft(scores())[:1], {}, "at least two"),
        (ALPHAS, scores(), {}, r"its shape is \(4, 4\)"),
        (ALPHAS, np.triu(soft(scores())), {}, "symmetric"),
        (ALPHAS, np.full((3, 2, 2), np.nan), {}, "finite"),
        ([1, 2, np.inf], soft(scores()), {}, "finite"),
        (ALPHAS, soft(scores()), {"names": ["a"]}, "4 variables but 1 names"),
        (ALPHAS, soft(scores()), {"changed": np.eye(3)}, "4 x 4 pairs"),
        (ALPHAS, soft(scores()), {"changed": scores()}, "True or False"),
        (ALPHAS, soft(scores()), {"changed": np.triu(scores()) != 0}, "symmetric"),
    ],
)
def test_bad_input_is_named(alphas, changes, options, message):
    with pytest.raises(InputError, match=message):
        plot_change_path(alphas, changes, **options)
