"""Files that others made, and files that someone broke."""

import json

import igraph
import networkx as nx
import numpy as np
import pytest

from edgewise import Graph, InputError
from edgewise._core.messages import Note
from tests.messages import raises

SUFFIXES = [".graphml", ".gexf", ".csv", ".json"]
LINE = Graph([[0, 0.5], [0.5, 0]], names=["first node", "second node"])
ARROW = Graph([[0, 0.5], [0, 0]], names=["first node", "second node"], directed=True)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("suffix", [".graphml", ".gexf"])
def test_foreign_networkx_file_without_weights(tmp_path, suffix, directed):
    foreign = nx.path_graph(["b", "a", "c"], create_using=nx.DiGraph if directed else nx.Graph)
    foreign.add_node("alone")
    path = tmp_path / f"graph{suffix}"
    (nx.write_graphml if suffix == ".graphml" else nx.write_gexf)(foreign, path)
    graph = Graph.read(path)
    assert graph.names == ("b", "a", "c", "alone")
    assert graph.directed == directed
    expected = nx.to_numpy_array(foreign)
    np.testing.assert_array_equal(graph.weights, expected)


def test_foreign_igraph_file_is_named_by_its_name_attribute(tmp_path):
    foreign = igraph.Graph.Ring(3)
    foreign.write_graphml(str(tmp_path / "bare.graphml"))
    assert Graph.read(tmp_path / "bare.graphml").names == ("n0", "n1", "n2")
    foreign.vs["name"] = ["c", "b", "a"]
    foreign.es["weight"] = [1.5, -2.0, 3.0]
    foreign.write_graphml(str(tmp_path / "named.graphml"))
    graph = Graph.read(tmp_path / "named.graphml")
    assert graph.names == ("c", "b", "a")
    assert graph.weights[0, 1] == 1.5
    assert graph.weights[0, 2] == 3.0


def test_foreign_labels_that_repeat_are_not_names(tmp_path):
    foreign = nx.Graph([("n0", "n1")])
    nx.set_node_attributes(foreign, "same", "label")
    nx.write_gexf(foreign, tmp_path / "graph.gexf")
    assert Graph.read(tmp_path / "graph.gexf").names == ("n0", "n1")
    nx.set_node_attributes(foreign, {"n0": "first", "n1": "second"}, "label")
    nx.write_gexf(foreign, tmp_path / "graph.gexf")
    assert Graph.read(tmp_path / "graph.gexf").names == ("first", "second")


def test_foreign_escapes_that_we_never_make_are_left_alone(tmp_path):
    (tmp_path / "graph.csv").write_text("source,target\n_x0041_,'quoted\n")
    assert Graph.read(tmp_path / "graph.csv").names == ("_x0041_", "'quoted")


def test_foreign_csv(tmp_path):
    path = tmp_path / "graph.csv"
    path.write_text(
        "\ufeffSource , TARGET,other\r\nb,a,1\r\na,c,2\r\n\r\nd,,\r\n", encoding="utf-8"
    )
    graph = Graph.read(path)
    assert graph.names == ("b", "a", "c", "d")
    assert not graph.directed
    assert graph.weights[0, 1] == graph.weights[1, 0] == graph.weights[1, 2] == 1
    assert Graph.read(path, directed=True).weights[1, 0] == 0
    path.write_text("source,target,weight,confidence\na,b,-0.5,0.25\nb,a,-0.5,0.25\n")
    graph = Graph.read(path)
    assert graph.edges().to_numpy().tolist() == [["a", "b", -0.5, 0.25]]
    path.write_text("source,target,weight\na,b,1\nb,a,2\n")
    with raises(
        InputError, code="in_file", problem=Note("conflicting_edges", source="b", target="a")
    ):
        Graph.read(path)
    assert Graph.read(path, directed=True).n_edges == 2


def test_foreign_json(tmp_path):
    path = tmp_path / "graph.json"
    data = nx.node_link_data(nx.path_graph(3), edges="links")
    path.write_text(json.dumps(data))
    assert Graph.read(path) == Graph.from_networkx(nx.path_graph(3))
    del data["directed"]
    path.write_text(json.dumps(data))
    assert not Graph.read(path).directed
    assert Graph.read(path, directed=True).directed


def test_direction_cannot_be_talked_over(tmp_path):
    for suffix in SUFFIXES:
        path = tmp_path / f"graph{suffix}"
        ARROW.write(path)
        assert Graph.read(path, directed=True).directed
        with raises(InputError, code="direction_mismatch"):
            Graph.read(path, directed=False)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "content", [b"", b"\x00\xff\xfe\x81", b"<graphml>", b"[1, 2", b"{}", b"a,b\n1,2\n", b"null"]
)
def test_broken_files_are_named(tmp_path, suffix, content):
    path = tmp_path / f"graph{suffix}"
    path.write_bytes(content)
    with raises(InputError, code="in_file"):
        Graph.read(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_truncated_files_are_refused(tmp_path, suffix):
    path = tmp_path / f"graph{suffix}"
    LINE.write(path)
    path.write_bytes(path.read_bytes()[:-40])
    if suffix == ".csv":
        with path.open("a") as file:
            file.write('\n"open quote')
    with pytest.raises(InputError):
        Graph.read(path)


def test_missing_file(tmp_path):
    with raises(InputError, code="cannot_read_file"):
        Graph.read(tmp_path / "graph.csv")
    (tmp_path / "folder.json").mkdir()
    with raises(InputError, code="cannot_read_file"):
        Graph.read(tmp_path / "folder.json")


@pytest.mark.parametrize("suffix", [".graphml", ".gexf"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_document_types_are_refused(tmp_path, suffix, encoding):
    layers = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    text = (
        f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE g [<!ENTITY l0 "lol">{layers}]>'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
        '<node id="&l11;"/></graph></graphml>'
    )
    path = tmp_path / f"graph{suffix}"
    path.write_bytes(text.encode(encoding))
    with raises(InputError, code="in_file", problem="doctype_refused"):
        Graph.read(path)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("source,target\n", Note("in_file", problem="no_nodes")),
        (
            "from,to\na,b\n",
            Note("in_file", problem=Note("edge_list_columns", columns=("from", "to"))),
        ),
        ("source,target\na,a\n", Note("in_file", problem=Note("self_loop", node="a"))),
        (
            "source,target,weight\na,b,heavy\n",
            Note(
                "in_file",
                problem=Note(
                    "edge_not_finite", attribute="weight", source="a", target="b", got="heavy"
                ),
            ),
        ),
        ("source,target,weight\na,b,nan\n", Note("in_file", problem="edge_not_finite")),
        (
            "source,target,confidence\na,b,2\n",
            Note("in_file", problem=Note("confidence_range", low=0.0)),
        ),
        (
            "source,target,confidence\na,b,1\nb,c,\n",
            Note("in_file", problem=Note("confidence_incomplete", source="b", target="c")),
        ),
        (
            "source,target,directed\na,b,true\nb,c,false\n",
            Note("in_file", problem="direction_column"),
        ),
        (
            "source,target,directed\na,b,maybe\n",
            Note("in_file", problem=Note("direction_column", found=("maybe",))),
        ),
        (
            "source,target,source_index\na,b,one\n",
            Note("in_file", problem=Note("not_whole_in_column", column="source_index", text="one")),
        ),
        ("source,target,weight\na,b,1\na,b,2\n", Note("in_file", problem="conflicting_edges")),
    ],
)
def test_faulty_csv(tmp_path, text, code):
    (tmp_path / "graph.csv").write_text(text)
    with raises(InputError, code=code):
        Graph.read(tmp_path / "graph.csv")


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"nodes": [{"id": "a"}]}, Note("in_file", problem="not_node_link")),
        ({"nodes": [1], "edges": []}, Note("in_file", problem="not_node_link")),
        (
            {"nodes": [{"id": "a"}], "edges": [{"source": "a", "target": "b"}]},
            Note("in_file", problem=Note("not_node_link", error="KeyError", reason="'b'")),
        ),
        ({"nodes": [{"id": []}], "edges": []}, Note("in_file", problem="not_node_link")),
        ({"nodes": [], "edges": []}, Note("in_file", problem="no_nodes")),
        (
            {"nodes": [{"id": "a"}, {"id": "a"}], "edges": []},
            Note("in_file", problem=Note("repeated_names", names=("a",))),
        ),
        (
            {"nodes": [{"id": "a"}], "edges": [], "directed": "yes"},
            Note("in_file", problem=Note("direction_not_boolean", found="yes")),
        ),
        (
            {
                "nodes": [{"id": "a"}],
                "edges": [],
                "graph": {"confidence_of_absent_edges": [[0, 5, 1]]},
            },
            Note("in_file", problem="absent_edges_unusable"),
        ),
        (
            {
                "nodes": [{"id": "a"}, {"id": "b"}],
                "edges": [{"source": "a", "target": "b", "weight": 10**400}],
            },
            Note("in_file", problem="edge_not_finite"),
        ),
    ],
)
def test_faulty_json(tmp_path, document, code):
    (tmp_path / "graph.json").write_text(json.dumps(document))
    with raises(InputError, code=code):
        Graph.read(tmp_path / "graph.json")


def test_deeply_nested_json(tmp_path):
    (tmp_path / "graph.json").write_text("[" * 200_000)
    with pytest.raises(InputError):
        Graph.read(tmp_path / "graph.json")


def test_faulty_graphml(tmp_path):
    head = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
    path = tmp_path / "graph.graphml"
    loop = '<node id="a"/><edge source="a" target="a"/>'
    path.write_text(f"{head}{loop}</graph></graphml>")
    with raises(InputError, code="in_file", problem="self_loop"):
        Graph.read(path)
    path.write_text('<gexf xmlns="http://gexf.net/1.2draft"/>')
    with raises(InputError, code="in_file", problem="unreadable_by_networkx"):
        Graph.read(path)
    path.write_text('<?xml version="1.0" encoding="martian"?><graphml/>')
    with raises(InputError, code="in_file", problem="invalid_format"):
        Graph.read(path)
