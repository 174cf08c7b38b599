"""The Graph itself: what it accepts, what it keeps, what it says."""

import copy
import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest

from edgewise import Graph, InputError
from edgewise._core.messages import Note
from tests.messages import raises

WEIGHTS = np.array([[0, 0.5, 0, 0], [0.5, 0, -0.7, 0], [0, -0.7, 0, 0.5], [0, 0, 0.5, 0]])


def test_defaults():
    graph = Graph(WEIGHTS)
    assert graph.names == ("x0", "x1", "x2", "x3")
    assert graph.directed is False
    assert graph.confidence is None
    assert graph.n_nodes == 4
    assert graph.n_edges == 3
    np.testing.assert_array_equal(graph.weights, WEIGHTS)
    np.testing.assert_array_equal(graph.adjacency, WEIGHTS != 0)
    assert graph.weights.dtype == np.float64
    assert graph.adjacency.dtype == bool


def test_arrays_are_copied_and_read_only():
    given = WEIGHTS.copy()
    graph = Graph(given, confidence=np.ones((4, 4)))
    given[0, 1] = 9
    assert graph.weights[0, 1] == 0.5
    for array in (graph.weights, graph.adjacency, graph.confidence):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 1] = 1
    with pytest.raises(AttributeError):
        graph.names = ("a", "b", "c", "d")


def test_copies_stay_read_only():
    graph = Graph(WEIGHTS, confidence=np.full((4, 4), 0.5), names=["a", "b", "c", "d"])
    for twin in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert twin == graph
        assert not twin.weights.flags.writeable
        assert not twin.confidence.flags.writeable


def test_equality_is_by_content():
    graph = Graph(WEIGHTS)
    assert graph == Graph(WEIGHTS)
    assert graph != Graph(2 * WEIGHTS)
    assert graph != Graph(WEIGHTS, names=["a", "b", "c", "d"])
    assert graph != Graph(WEIGHTS, directed=True)
    assert graph != Graph(WEIGHTS, confidence=np.zeros((4, 4)))
    assert Graph(WEIGHTS, confidence=np.zeros((4, 4))) != Graph(WEIGHTS, confidence=WEIGHTS == 0)
    assert graph != "a graph"
    with pytest.raises(TypeError, match="unhashable"):
        hash(graph)


def test_explicit_adjacency_keeps_an_edge_of_unknown_weight():
    known = Graph([[0, 0], [0, 0]])
    unknown = Graph([[0, 0], [0, 0]], adjacency=[[0, 1], [1, 0]])
    assert known.n_edges == 0
    assert unknown.n_edges == 1
    assert known != unknown
    assert unknown.edges()["weight"].tolist() == [0.0]


def test_rounding_asymmetry_is_evened_out():
    nearly = WEIGHTS.copy()
    nearly[0, 1] += 1e-15
    graph = Graph(nearly)
    assert graph.weights[0, 1] == graph.weights[1, 0]


def test_negative_zero_becomes_plain_zero():
    assert not np.signbit(Graph([[0, -0.0], [-0.0, 0]]).weights).any()


def test_confidence_ignores_the_diagonal_and_keeps_absent_pairs():
    graph = Graph(WEIGHTS, confidence=np.ones((4, 4)))
    assert graph.confidence.diagonal().tolist() == [0, 0, 0, 0]
    assert graph.confidence[0, 3] == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"weights": [[0, 1]]}, Note("not_square", shape=(1, 2))),
        ({"weights": np.zeros((0, 0))}, Note("not_square", shape=(0, 0))),
        ({"weights": [[0, "a"], ["b", 0]]}, "not_numeric_matrix"),
        ({"weights": [[0, 1], [1]]}, "not_numeric_matrix"),
        (
            {"weights": [[0, np.nan], [np.nan, 0]]},
            Note("matrix_not_finite", what="weights", row=0, column=1),
        ),
        ({"weights": [[0, np.inf], [np.inf, 0]]}, "matrix_not_finite"),
        (
            {"weights": [[0, 1], [2, 0]]},
            Note("not_symmetric", row="x0", column="x1", value=1.0, reverse=2.0),
        ),
        ({"weights": np.eye(2)}, Note("weights_diagonal", nodes=("x0", "x1"))),
        ({"weights": np.zeros((2, 2)), "names": ["a", "a"]}, Note("repeated_names", names=("a",))),
        ({"weights": np.zeros((2, 2)), "names": ["a", ""]}, Note("empty_name", position=1)),
        ({"weights": np.zeros((2, 2)), "names": ["a"]}, Note("name_count", n_nodes=2, n_names=1)),
        (
            {"weights": np.zeros((2, 2)), "names": ["a", 1]},
            Note("name_not_text", position=1, name=1, type="int"),
        ),
        ({"weights": np.zeros((2, 2)), "names": "ab"}, Note("single_string", got="ab")),
        (
            {"weights": np.zeros((2, 2)), "adjacency": np.zeros((3, 3))},
            Note("shapes_differ", first_shape=(3, 3)),
        ),
        ({"weights": np.zeros((2, 2)), "adjacency": [[0, 2], [2, 0]]}, "adjacency_not_boolean"),
        ({"weights": np.zeros((2, 2)), "adjacency": np.eye(2)}, "adjacency_diagonal"),
        (
            {"weights": np.zeros((2, 2)), "adjacency": [[0, 1], [0, 0]]},
            Note("adjacency_not_symmetric", source="x0"),
        ),
        ({"weights": [[0, 1], [1, 0]], "adjacency": np.zeros((2, 2))}, "weight_without_edge"),
        (
            {"weights": np.zeros((2, 2)), "confidence": [[0, 2], [2, 0]]},
            Note("confidence_range", low=0.0, high=2.0),
        ),
        (
            {"weights": np.zeros((2, 2)), "confidence": [[0, -1], [-1, 0]]},
            Note("confidence_range", low=-1.0, high=0.0),
        ),
        (
            {"weights": np.zeros((2, 2)), "confidence": np.zeros((3, 3))},
            Note("confidence_shape", shape=(3, 3)),
        ),
        (
            {"weights": np.zeros((2, 2)), "confidence": [[0, 1], [0, 0]]},
            Note("not_symmetric", what="confidence"),
        ),
    ],
)
def test_bad_arguments_are_named(arguments, code):
    weights = arguments.pop("weights")
    with raises(InputError, code=code):
        Graph(weights, **arguments)


def test_many_repeated_names_are_counted():
    names = [f"n{i // 2}" for i in range(16)]
    with raises(InputError, code="repeated_names"):
        Graph(np.zeros((16, 16)), names=names)


def test_edges_are_sorted_by_size_then_by_node_order():
    table = Graph(WEIGHTS, names=["d", "c", "b", "a"]).edges()
    assert list(table.columns) == ["source", "target", "weight", "confidence"]
    assert table["source"].tolist() == ["c", "d", "b"]
    assert table["target"].tolist() == ["b", "c", "a"]
    assert table["weight"].tolist() == [-0.7, 0.5, 0.5]
    assert table["confidence"].isna().all()


def test_edges_of_a_directed_graph_go_from_row_to_column():
    graph = Graph(
        [[0, 2, 0], [0, 0, 0], [0, -1, 0]], directed=True, confidence=np.full((3, 3), 0.4)
    )
    assert graph.n_edges == 2
    expected = pd.DataFrame(
        {
            "source": ["x0", "x2"],
            "target": ["x1", "x1"],
            "weight": [2.0, -1.0],
            "confidence": [0.4, 0.4],
        }
    )
    pd.testing.assert_frame_equal(graph.edges(), expected, check_dtype=False)


def test_undirected_edge_of_a_partially_directed_graph_has_two_rows():
    table = Graph([[0, 1, 0], [1, 0, 1], [0, 0, 0]], directed=True).edges()
    assert list(zip(table["source"], table["target"], strict=True)) == [
        ("x0", "x1"),
        ("x1", "x0"),
        ("x1", "x2"),
    ]


def test_edges_of_an_empty_graph():
    table = Graph(np.zeros((3, 3))).edges()
    assert len(table) == 0
    assert list(table.columns) == ["source", "target", "weight", "confidence"]


def test_from_precision_gives_partial_correlations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    Theta = np.linalg.inv(np.cov(X.T))
    graph = Graph.from_precision(Theta, names=["a", "b", "c", "d"], confidence=np.ones((4, 4)))
    # Oracle: correlate what is left of two variables after regressing out the others.
    for i, j in [(0, 1), (1, 3), (2, 3)]:
        rest = np.column_stack([X[:, [k for k in range(4) if k not in (i, j)]], np.ones(200)])
        left = X[:, [i, j]] - rest @ np.linalg.lstsq(rest, X[:, [i, j]])[0]
        assert graph.weights[i, j] == pytest.approx(np.corrcoef(left.T)[0, 1], abs=1e-10)
    assert graph.names == ("a", "b", "c", "d")
    assert graph.confidence[0, 1] == 1


def test_from_precision_keeps_exact_zeros():
    graph = Graph.from_precision([[2, 0, -1], [0, 3, 0], [-1, 0, 2]])
    assert graph.n_edges == 1
    assert graph.weights[0, 2] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("precision", "code"),
    [
        ([[1, 0], [0, -2]], Note("precision_diagonal", node="x1", value=-2.0)),
        ([[1, 0.5], [0.1, 1]], Note("not_symmetric", what="precision")),
    ],
)
def test_from_precision_refuses(precision, code):
    with raises(InputError, code=code):
        Graph.from_precision(precision)


def test_repr_stays_short():
    assert repr(Graph(WEIGHTS)) == (
        "Graph(n_nodes=4, n_edges=3, directed=False, names=('x0', 'x1', 'x2', 'x3'))"
    )
    big = Graph(np.zeros((100, 100)), names=[f"{'n' * 300}{i}" for i in range(100)])
    assert len(repr(big)) < 300
    assert "..." in repr(big)


def test_diff_matches_by_name_and_sorts_by_size():
    before = Graph(WEIGHTS, names=["a", "b", "c", "d"])
    later = np.zeros((4, 4))
    later[0, 1] = later[1, 0] = 0.6  # a-b grew by 0.1
    later[1, 2] = later[2, 1] = 0.7  # b-c turned, by 1.4
    later[0, 3] = later[3, 0] = -0.2  # a-d appeared; c-d vanished, by 0.5
    order = [3, 1, 0, 2]
    after = Graph(later[np.ix_(order, order)], names=[("a", "b", "c", "d")[i] for i in order])
    difference = before.diff(after)
    assert difference.changes.drop(columns=["before", "after"]).to_numpy().tolist() == [
        ["b", "c", "sign"],
        ["c", "d", "vanished"],
        ["a", "d", "appeared"],
        ["a", "b", "weight"],
    ]
    assert difference.changes["before"].tolist() == [-0.7, 0.5, 0.0, 0.5]
    assert difference.changes["after"].tolist() == [0.7, 0.0, -0.2, 0.6]
    assert difference.graph.names == before.names
    np.testing.assert_allclose(difference.graph.weights, later - WEIGHTS)
    back = after.diff(before).graph
    np.testing.assert_allclose(back.weights, (WEIGHTS - later)[np.ix_(order, order)])


def test_diff_of_equal_graphs_is_empty():
    difference = Graph(WEIGHTS).diff(Graph(WEIGHTS))
    assert len(difference.changes) == 0
    assert difference.graph.n_edges == 0


def test_diff_tolerance():
    before, after = Graph([[0, 1.0], [1.0, 0]]), Graph([[0, 1.01], [1.01, 0]])
    assert len(before.diff(after).changes) == 1
    assert len(before.diff(after, tol=0.1).changes) == 0
    # An edge that comes is a change however light it is.
    assert len(Graph(np.zeros((2, 2))).diff(after, tol=5).changes) == 1


def test_diff_of_edges_without_weight():
    nothing = Graph(np.zeros((2, 2)))
    unknown = Graph(np.zeros((2, 2)), adjacency=[[0, 1], [1, 0]])
    difference = nothing.diff(unknown)
    assert difference.changes["change"].tolist() == ["appeared"]
    assert difference.graph.n_edges == 1


def test_diff_of_directed_graphs():
    before = Graph([[0, 1], [0, 0]], directed=True)
    after = Graph([[0, 0], [1, 0]], directed=True)
    changes = before.diff(after).changes
    assert changes["change"].tolist() == ["vanished", "appeared"]


def test_diff_names_missing_nodes():
    a, b = Graph(np.zeros((2, 2)), names=["a", "b"]), Graph(np.zeros((2, 2)), names=["b", "c"])
    with raises(InputError, code="nodes_differ", missing=("a",), surplus=("c",)):
        a.diff(b)
    with raises(InputError, code="mixed_directions"):
        a.diff(Graph(np.zeros((2, 2)), names=["a", "b"], directed=True))


def test_plot_draws_what_was_asked_for():
    graph = Graph(WEIGHTS)
    assert graph.plot().collections
    assert graph.plot("matrix").images
    assert not graph.plot(labels="none").texts
    ax = graph.plot().figure.add_subplot()
    assert graph.plot("matrix", ax=ax) is ax
    with raises(InputError, code="invalid_value", got="tree"):
        graph.plot("tree")


def test_html_is_escaped_and_self_contained():
    names = ["<script>alert(1)</script>", "a & b", '"quoted"', "plain"]
    graph = Graph(WEIGHTS, names=names, confidence=np.full((4, 4), 0.25))
    page = graph.to_html()
    assert "<script>alert(1)" not in page
    assert f"{graph.n_edges} undirected edges" in page
    data = re.search(r'<script type="application/json" class="network">(.*?)</script>', page)[1]
    held = json.loads(data)
    assert held["names"] == names
    assert set(held["confidence"]) == {0.25}
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', outside)
    assert 'class="by-confidence"' in page
    assert 'class="by-confidence"' not in Graph(WEIGHTS).to_html()
