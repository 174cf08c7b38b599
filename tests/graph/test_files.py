"""Graphs to files and back, and files that others made or broke."""

import csv
import json
import os
import tempfile
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from edgewise import Graph, InputError
from edgewise._core.messages import Note
from tests.messages import raises

SUFFIXES = [".graphml", ".gexf", ".csv", ".json"]
HOSTILE = [
    "naïve 変数 🧬",
    "double \"quotes\" and 'single'",
    "two\nlines",
    "carriage\rreturn\r\n",
    "\r",
    "tab\tand, comma; semicolon",
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2",
    "@SUM(A1)",
    "'=guarded already",
    "''",
    "\tleading tab",
    " spaces around ",
    "a" * 300,
    "<b>&amp;</b>",
    "nul\x00 bell\x07 escape\x1b",
    "_x0000_ looks like an escape",
    "_x005F\x01",
    "line\u2028separator\x85",
    "lone surrogate \ud800",
    "non-character \ufffe",
    "$x^2$ \\alpha",
    "nan",
    "7",
]


def hostile_graph(directed, confidence=True):
    rng = np.random.default_rng(3)
    n = len(HOSTILE)
    weights = rng.normal(size=(n, n)) * (rng.uniform(size=(n, n)) < 0.15)
    np.fill_diagonal(weights, 0)
    weights[-2:] = weights[:, -2:] = 0  # two isolated nodes
    if not directed:
        weights = np.triu(weights) + np.triu(weights).T
    sure = np.where(weights != 0, 1 / 3, 0) if confidence else None
    return Graph(weights, names=HOSTILE, directed=directed, confidence=sure)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("confidence", [False, True])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_round_trip_of_hostile_names(tmp_path, suffix, directed, confidence):
    graph = hostile_graph(directed, confidence)
    graph.write(tmp_path / f"graph{suffix}")
    back = Graph.read(tmp_path / f"graph{suffix}")
    assert back.names == graph.names
    assert back == graph


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 6))
    names = draw(st.lists(st.text(min_size=1, max_size=8), min_size=n, max_size=n, unique=True))
    numbers = st.floats(allow_nan=False, allow_infinity=False)
    directed = draw(st.booleans())
    weights, confidence = np.zeros((n, n)), np.zeros((n, n))
    adjacency = np.zeros((n, n), dtype=bool)
    has_confidence = draw(st.booleans()) and n > 1
    for i in range(n):
        for j in range(n):
            if ((directed and i != j) or i < j) and draw(st.booleans()):
                adjacency[i, j] = True
                weights[i, j] = draw(numbers)
                confidence[i, j] = draw(st.floats(0, 1))
    if not directed:
        weights, adjacency = weights + weights.T, adjacency | adjacency.T
        confidence = confidence + confidence.T
    return Graph(
        weights,
        names=names,
        directed=directed,
        adjacency=adjacency,
        confidence=confidence if has_confidence and adjacency.any() else None,
    )


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(max_examples=40, deadline=None)
@given(graph=graphs())
def test_round_trip_is_exact(suffix, graph):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"graph{suffix}")
        graph.write(path)
        assert Graph.read(path) == graph


@settings(max_examples=40, deadline=None)
@given(graph=graphs())
def test_networkx_and_igraph_round_trips_are_exact(graph):
    assert Graph.from_networkx(graph.to_networkx()) == graph
    assert Graph.from_igraph(graph.to_igraph()) == graph


def test_csv_has_a_file_of_edges_and_one_of_all_nodes(tmp_path):
    weights = np.zeros((4, 4))
    weights[2, 0] = weights[0, 2] = 0.5
    graph = Graph(weights, names=["a", "alone", "c", "=1"])
    graph.write(tmp_path / "edges.csv")
    edges = pd.read_csv(tmp_path / "edges.csv")
    assert edges[["source", "target"]].to_numpy().tolist() == [["a", "c"]]
    assert (tmp_path / "nodes.csv").read_text() == "node\na\nalone\nc\n'=1\n"
    assert Graph.read(tmp_path / "edges.csv") == graph
    # Columns of statistics may follow the names.
    (tmp_path / "nodes.csv").write_text("column,strength\na,1\nalone,0\nc,1\n'=1,0\n")
    assert Graph.read(tmp_path / "edges.csv") == graph
    (tmp_path / "nodes.csv").write_text("node\na\n")
    with raises(InputError, code="in_file", problem=Note("unlisted_nodes", nodes=("c",))):
        Graph.read(tmp_path / "edges.csv")
    (tmp_path / "nodes.csv").unlink()
    assert Graph.read(tmp_path / "edges.csv").names == ("a", "c")


@pytest.mark.parametrize("directed", [False, True])
def test_json_keeps_the_confidence_of_absent_edges(tmp_path, directed):
    confidence = np.random.default_rng(0).uniform(size=(4, 4))
    if not directed:
        confidence = (confidence + confidence.T) / 2
    weights = np.zeros((4, 4))
    weights[0, 1] = 1
    if not directed:
        weights[1, 0] = 1
    for matrix in (weights, np.zeros((4, 4))):
        graph = Graph(matrix, confidence=confidence, directed=directed)
        graph.write(tmp_path / "graph.json")
        assert Graph.read(tmp_path / "graph.json") == graph


def test_suffix_is_read_in_any_case_and_unknown_ones_are_listed(tmp_path):
    graph = hostile_graph(False)
    graph.write(tmp_path / "graph.CSV")
    assert Graph.read(tmp_path / "graph.CSV") == graph
    for call in (graph.write, Graph.read):
        with raises(
            InputError,
            code="unknown_graph_suffix",
            suffix=".xlsx",
            known=(".graphml", ".gexf", ".csv", ".json"),
        ):
            call(tmp_path / "graph.xlsx")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, suffix, monkeypatch):
    path = tmp_path / f"graph{suffix}"
    path.write_text("old")

    def broken(*arguments):
        raise RuntimeError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(RuntimeError, match="disk full"):
        hostile_graph(False).write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_write_overwrites_and_explains_bad_places(tmp_path):
    path = tmp_path / "graph.json"
    path.write_text("old")
    hostile_graph(False).write(str(path))
    assert Graph.read(str(path)) == hostile_graph(False)
    assert list(tmp_path.iterdir()) == [path]
    with raises(InputError, code="no_parent_folder"):
        hostile_graph(False).write(tmp_path / "no" / "graph.json")
    (tmp_path / "folder.csv").mkdir()
    with raises(InputError, code="cannot_write_folder"):
        hostile_graph(False).write(tmp_path / "folder.csv")


# What others see in our files


def test_spreadsheets_see_no_formula(tmp_path):
    hostile_graph(False).write(tmp_path / "graph.csv")
    with (tmp_path / "graph.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells = [row[column] for row in rows for column in ("source", "target")]
    assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r")]
    assert "'=1+1" in cells


def test_csv_is_the_table_of_edges(tmp_path):
    graph = Graph([[0, 0.1, 0], [0.1, 0, -2], [0, -2, 0]], names=["a", "b", "c"])
    graph.write(tmp_path / "graph.csv")
    table = pd.read_csv(tmp_path / "graph.csv")
    assert table[["source", "target", "weight"]].to_numpy().tolist() == [
        ["b", "c", -2.0],
        ["a", "b", 0.1],
    ]
    Graph(np.zeros((2, 2))).write(tmp_path / "empty.csv")
    assert pd.read_csv(tmp_path / "empty.csv").empty
    assert pd.read_csv(tmp_path / "empty-nodes.csv")["node"].tolist() == ["x0", "x1"]


@pytest.mark.parametrize("directed", [False, True])
def test_networkx_reads_our_files(tmp_path, directed):
    weights = np.array([[0, 0.25, 0], [0, 0, -0.5], [0, 0, 0]])
    weights = weights if directed else weights + weights.T
    graph = Graph(weights, names=["a b", "c&d", "é"], directed=directed)
    graph.write(tmp_path / "graph.graphml")
    graph.write(tmp_path / "graph.gexf")
    graph.write(tmp_path / "graph.json")
    for back in (
        nx.read_graphml(tmp_path / "graph.graphml"),
        nx.read_gexf(tmp_path / "graph.gexf"),
        nx.node_link_graph(json.loads((tmp_path / "graph.json").read_text()), edges="edges"),
    ):
        assert list(back) == ["a b", "c&d", "é"]
        assert back.is_directed() == directed
        assert back.edges["a b", "c&d"]["weight"] == 0.25


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("has_confidence", [False, True])
def test_graphml_is_what_networkx_writes(tmp_path, directed, has_confidence):
    weights = np.array([[0, 0.25, 0], [0, 0, -1e-30], [0, 0, 0]])
    weights = weights if directed else weights + weights.T
    graph = Graph(
        weights,
        names=["a\tb", "c&<d>\"'", "é"],
        directed=directed,
        confidence=np.abs(weights) if has_confidence else None,
    )
    graph.write(tmp_path / "ours.graphml")
    nx.write_graphml_xml(graph.to_networkx(), tmp_path / "theirs.graphml")
    ours = (tmp_path / "ours.graphml").read_text(encoding="utf-8")
    assert ours == (tmp_path / "theirs.graphml").read_text(encoding="utf-8")


def test_igraph_reads_our_graphml(tmp_path):
    Graph([[0, 0.25], [0.25, 0]], names=["a", "b"]).write(tmp_path / "graph.graphml")
    back = igraph.Graph.Read_GraphML(str(tmp_path / "graph.graphml"))
    assert back.vs["id"] == ["a", "b"]
    assert back.es["weight"] == [0.25]


@pytest.mark.parametrize("suffix", [".graphml", ".gexf", ".csv", ".json"])
def test_what_is_decided_survives(tmp_path, suffix):
    decided = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]], dtype=bool)
    graph = Graph([[0, 0.5, 0.2], [0.5, 0, 0], [0.2, 0, 0]], decided=decided)
    graph.write(tmp_path / f"graph{suffix}")
    read = Graph.read(tmp_path / f"graph{suffix}")
    assert read.edges()["decided"].tolist() == [True, False]
    assert (read == graph) == (suffix == ".json")
    # Elsewhere nothing is known of pairs that are not edges, and nothing is claimed.
    assert read.decided[1, 2] == (suffix == ".json")


def test_graphs_without_proof_have_no_such_column(tmp_path):
    graph = Graph([[0, 0.5], [0.5, 0]])
    graph.write(tmp_path / "graph.csv")
    assert "decided" not in (tmp_path / "graph.csv").read_text()
    assert "decided" not in graph.edges()
    assert Graph.read(tmp_path / "graph.csv").decided is None


def test_what_is_decided_must_be_true_or_false_for_every_pair():
    with raises(InputError, code="pairs_not_boolean", what="decided"):
        Graph([[0, 0.5], [0.5, 0]], decided=[[1, 1], [1, 1]])
