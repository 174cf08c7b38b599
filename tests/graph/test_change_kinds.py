"""What became of every changed edge, told by hand."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import Graph, InputError
from edgewise.graph.compare import CHANGE_KINDS, classify_changes
from tests.messages import raises

NAMES = ["a", "b", "c", "d", "e"]


def graph(pairs, names=NAMES, directed=False, present=()):
    """Weights by pair of letters; pairs in ``present`` are edges whose weight is not known."""
    weights = np.zeros((len(names), len(names)))
    adjacency = np.zeros(weights.shape, bool)
    for (source, target), weight in {**pairs, **dict.fromkeys(present, 0.0)}.items():
        i, j = names.index(source), names.index(target)
        weights[i, j], adjacency[i, j] = weight, True
        if not directed:
            weights[j, i], adjacency[j, i] = weight, True
    return Graph(weights, names=names, directed=directed, adjacency=adjacency)


def kind(change, before, after, **options):
    """The kind of one pair, with None where a graph does not have the edge."""
    graphs = [graph({} if weight is None else {"ab": weight}) for weight in (before, after)]
    table = classify_changes(graph({"ab": change}), *graphs, **options)
    return table["kind"].item()


@pytest.mark.parametrize(
    ("change", "before", "after", "expected"),
    [
        (0.4, None, 0.4, "gained"),
        (-0.4, None, -0.4, "gained"),
        (0.4, -0.4, None, "lost"),
        (-0.4, 0.4, None, "lost"),
        (0.9, -0.4, 0.5, "flipped"),
        (-0.9, 0.4, -0.5, "flipped"),
        (0.1, 0.4, 0.5, "stronger"),
        (-0.1, -0.4, -0.5, "stronger"),
        (-0.1, 0.5, 0.4, "weaker"),
        (0.1, -0.5, -0.4, "weaker"),
        (0.2, None, None, "increased"),
        (-0.2, None, None, "decreased"),
        # Graphs learned one by one may hold a weight where the change was found.
        (0.2, 0.3, 0.3, "increased"),
        (-0.2, 0.3, 0.3, "decreased"),
        # The graphs say what became of an edge even where the change points the other way.
        (-0.2, 0.3, 0.4, "stronger"),
    ],
)
def test_kinds(change, before, after, expected):
    assert kind(change, before, after) == expected


def test_changes_without_a_sign():
    assert kind(0.2, None, None, signed=False) == "changed"
    assert kind(0.2, None, 0.1, signed=False) == "gained"
    assert kind(0.2, 0.3, 0.1, signed=False) == "weaker"


def test_weights_that_are_not_known():
    nothing, known = graph({}), graph({"ab": 0.5})
    unknown = graph({}, present=["ab"])
    change = graph({"ab": -0.1})
    assert classify_changes(change, nothing, unknown)["kind"].item() == "gained"
    assert classify_changes(change, unknown, nothing)["kind"].item() == "lost"
    assert classify_changes(change, unknown, known)["kind"].item() == "decreased"
    assert classify_changes(change, known, unknown)["kind"].item() == "decreased"
    assert classify_changes(unknown, nothing, nothing)["kind"].item() == "changed"


def test_rows_are_in_order_of_size_and_hold_all_weights():
    before = graph({"ab": 0.5, "cd": -0.25, "de": 1.0})
    after = graph({"ab": -0.25, "ce": 2.0, "de": 1.0})
    change = graph({"ab": -0.75, "cd": 0.25, "ce": 2.0, "ae": -0.25})
    table = classify_changes(change, before, after)
    assert list(table.columns) == ["source", "target", "change", "before", "after", "kind"]
    assert table.to_numpy().tolist() == [
        ["c", "e", 2.0, 0.0, 2.0, "gained"],
        ["a", "b", -0.75, 0.5, -0.25, "flipped"],
        ["a", "e", -0.25, 0.0, 0.0, "decreased"],
        ["c", "d", 0.25, -0.25, 0.0, "lost"],
    ]


def test_nodes_are_matched_by_name():
    change = graph({"ab": 1.0, "ce": -1.0})
    before, after = graph({"ce": 2.0}), graph({"ab": 1.0, "ce": 1.0})
    expected = classify_changes(change, before, after)
    shuffled = classify_changes(
        change,
        graph({"ce": 2.0}, names=list("ebdac")),
        graph({"ab": 1.0, "ce": 1.0}, names=list("dcbea")),
    )
    assert shuffled.equals(expected)
    assert expected["kind"].tolist() == ["gained", "weaker"]


def test_arcs_of_directed_graphs_are_told_apart():
    before = graph({"ab": 1.0}, directed=True)
    after = graph({"ba": 1.0}, directed=True)
    change = graph({"ab": -1.0, "ba": 1.0}, directed=True)
    table = classify_changes(change, before, after)
    assert table[["source", "target", "kind"]].to_numpy().tolist() == [
        ["a", "b", "lost"],
        ["b", "a", "gained"],
    ]


def test_no_change_is_an_empty_table():
    table = classify_changes(graph({}), graph({"ab": 1.0}), graph({"ab": 1.0}))
    assert len(table) == 0
    assert list(table.columns) == ["source", "target", "change", "before", "after", "kind"]


def test_graphs_that_do_not_belong_together():
    plain = graph({})
    for which in range(3):
        graphs = [plain, plain, plain]
        graphs[which] = graph({}, directed=True)
        with raises(InputError, code="mixed_directions"):
            classify_changes(*graphs)
    with raises(InputError, code="nodes_differ", missing=("e",)):
        classify_changes(plain, plain, graph({}, names=NAMES[:4]))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_going_back_turns_every_kind_round(seed):
    rng = np.random.default_rng(seed)
    weights = [np.triu(rng.integers(-2, 3, size=(6, 6)), 1) for _ in range(2)]
    before, after = (Graph(matrix + matrix.T) for matrix in weights)
    change = Graph(after.weights - before.weights)
    there = classify_changes(change, before, after)
    back = classify_changes(Graph(-change.weights), after, before)
    opposite = {"gained": "lost", "stronger": "weaker", "flipped": "flipped"}
    opposite |= {value: key for key, value in opposite.items()}
    assert [opposite[value] for value in there["kind"]] == back["kind"].tolist()
    assert len(there) == change.n_edges
    assert set(there["kind"]) <= set(CHANGE_KINDS)
