"""Pictures of statistics of nodes: what is drawn, in which order, and what is refused."""

import numpy as np
import pytest

from edgewise import BootstrapGraph, GaussianGraph, InputError
from edgewise.inference.stability import CaseDropping
from edgewise.metrics import node_statistics
from edgewise.plot import plot_centrality, plot_communities
from edgewise.plot.nodes import plot_case_dropping, plot_differences
from tests.messages import raises

WEIGHTS = np.array([[0, 0.5, 0, 0], [0.5, 0, -0.2, 0], [0, -0.2, 0, 0.1], [0, 0, 0.1, 0]])


@pytest.fixture(scope="module")
def differences():
    X = np.random.default_rng(0).normal(size=(80, 4))
    X[:, 1:3] += X[:, [0]]
    model = BootstrapGraph(GaussianGraph(0.1), n_resamples=40, random_state=0).fit(X)
    return model.difference_test("strength")


def points(figure, panel):
    return [line.get_xdata() for line in figure.axes[panel].lines]


def test_centrality_of_two_groups_side_by_side():
    first, second = node_statistics(WEIGHTS), node_statistics(2 * WEIGHTS[::-1, ::-1])
    groups = {"before": first, "after": second}
    raw = plot_centrality(groups, ["strength", "degree"], scale="raw")
    np.testing.assert_allclose(points(raw, 0)[0], first["strength"])
    np.testing.assert_allclose(points(raw, 0)[1], second["strength"])
    assert [text.get_text() for text in raw.legends[0].get_texts()] == ["before", "after"]
    z = points(plot_centrality(groups, ["strength"]), 0)[1]
    assert z.mean() == pytest.approx(0)
    assert z.std(ddof=1) == pytest.approx(1)


def test_centrality_in_the_order_of_a_statistic():
    figure = plot_centrality(node_statistics(WEIGHTS), ["strength"], scale="raw", order="strength")
    assert (np.diff(points(figure, 0)[0]) <= 0).all()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == ["x1", "x0", "x2", "x3"]
    assert not figure.legends


def test_what_is_not_known_or_all_equal_is_drawn_without_it():
    figure = plot_centrality(node_statistics(np.zeros((3, 3))), ["closeness", "strength"])
    assert np.isnan(points(figure, 0)[0]).all()
    assert (points(figure, 1)[0] == 0).all()


def test_bad_tables():
    table = node_statistics(WEIGHTS)
    with raises(InputError, code="table_without_column", whose="", unknown="fame"):
        plot_centrality(table, ["fame"])
    with raises(InputError, code="tables_nodes_differ", whose=" of 'b'"):
        plot_centrality({"a": table, "b": table.iloc[:2]}, ["strength"])
    with pytest.raises(InputError, match="scale"):
        plot_centrality(table, scale="log")
    with pytest.raises(InputError, match="nothing to draw"):
        plot_centrality({}, ["strength"])


def test_case_dropping_has_a_line_and_a_coefficient_for_each_statistic():
    correlations = np.array([[[0.99, 0.98], [0.9, 0.6]], [[0.5, 0.6], [0.2, 0.1]]])
    found = CaseDropping(
        statistics=("strength", "bridge_strength"),
        dropped=np.array([0.2, 0.6]),
        correlations=correlations,
    )
    ax = plot_case_dropping(found)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["strength (CS 0.20)", "bridge strength (CS 0.00)"]
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [20, 60])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.985, 0.75])


def test_differences_are_coloured_by_who_is_larger(differences):
    ax = plot_differences(differences)
    cells = ax.images[0].get_array()
    order = np.argsort(-differences.estimate, kind="stable")
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [differences.labels[k] for k in order]
    is_different = differences.is_different()[np.ix_(order, order)]
    np.testing.assert_array_equal(np.abs(np.nan_to_num(cells.filled(0))) == 1, is_different)
    assert (np.triu(cells.filled(0), 1) >= 0).all(), "rows above have the larger value"
    uncorrected = plot_differences(differences, by="p", level=0.2).images[0].get_array()
    assert np.nansum(np.abs(uncorrected)) >= np.nansum(np.abs(cells))


def test_only_the_largest_are_drawn(differences):
    ax = plot_differences(differences, most=2)
    assert len(ax.get_yticklabels()) == 2
    assert "without 2 smaller ones" in ax.get_xlabel()
    with raises(InputError, code="most_at_least_two", most=1):
        plot_differences(differences, most=1)


def test_a_map_of_communities_is_sorted_by_them():
    drawn = [[0, 1, 0], [0, 1, 0], [0, 1, 1], [0, 0, 0]]
    ax = plot_communities(drawn, names=["a", "b", "c"], members=[1, 2, 1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "c", "b"]
    wanted = [[1, 0.75, 0.25], [0.75, 1, 0.5], [0.25, 0.5, 1]]
    np.testing.assert_allclose(ax.images[0].get_array(), wanted)
    assert [patch.get_width() for patch in ax.patches] == [2, 1]
    members = np.repeat([0, 1], [70, 1])
    many = plot_communities([members], names=[f"n{k}" for k in range(71)])
    assert [label.get_text() for label in many.get_yticklabels()] == ["n0 and 69 more"]
    with raises(InputError, code="membership_shape", shape=[2]):
        plot_communities([0, 1])
    with raises(InputError, code="membership_size", n_nodes=3, n_labels=2):
        plot_communities(drawn, names=["a", "b"])
