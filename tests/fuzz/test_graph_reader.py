"""Whatever bytes a graph is read from, it is read right or refused in a sentence."""

import json

import numpy as np
import pytest
from hypothesis import given, strategies as st

from edgewise import Graph, InputError, NotEnoughMemoryError
from tests.fuzz.mutation import TOKENS, examples, mutated, outcome
from tests.messages import raises

SUFFIXES = ("graphml", "gexf", "csv", "json")
WEIGHTS = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, -0.25], [0.0, -0.25, 0.0]])
GRAPHS = (
    Graph(WEIGHTS, names=["a", "b & <c>", "=d"]),
    Graph(np.triu(WEIGHTS), names=["ü", "x\ny", "z"], directed=True),
    Graph(WEIGHTS, confidence=np.abs(WEIGHTS) + 0.1),
    Graph(np.zeros((2, 2))),
)
FOREIGN = {
    "graphml": b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="weight" attr.type="double"/>
  <graph edgedefault="undirected"><node id="n0"/><node id="n1"/>
  <edge source="n0" target="n1"><data key="d0">1.5</data></edge></graph>
</graphml>""",
    "gexf": b"""<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">
  <graph defaultedgetype="directed"><nodes><node id="0" label="u"/><node id="1" label="v"/></nodes>
  <edges><edge id="0" source="0" target="1" weight="2.0"/></edges></graph></gexf>""",
    "csv": b"source,target,weight\na,b,1\nb,c,-0.5\n",
    "json": b'{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}',
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Valid files of every format, by suffix."""
    place = tmp_path_factory.mktemp("seeds")
    files = {}
    for suffix in SUFFIXES:
        path = place / f"g.{suffix}"
        contents = [FOREIGN[suffix]]
        for graph in GRAPHS:
            graph.write(path)
            contents.append(path.read_bytes())
        files[suffix] = contents
    return files


def assert_safe(folder, suffix, content):
    """Read a file; what comes out is a graph that can be written and read again."""
    path = folder / f"g.{suffix}"
    path.write_bytes(content)
    try:
        graph = outcome(Graph.read, path)
        assert [file.name for file in folder.iterdir()] == [path.name]
    finally:
        path.unlink()
    if graph is not None:
        assert graph.n_nodes == len(graph.weights) > 0
        assert np.isfinite(graph.weights).all()
        again = folder / "again.json"
        graph.write(again)
        assert Graph.read(again) == graph
        again.unlink()
    return graph


def assert_refused(folder, suffix, content):
    found = assert_safe(folder, suffix, content)
    assert found is None


# networkx says of some files that it had to guess the type of an attribute.
@pytest.mark.filterwarnings("ignore::UserWarning:networkx")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_altered_files(suffix, folder, seeds):
    @examples(50)
    @given(content=mutated(seeds[suffix]))
    def search(content):
        assert_safe(folder, suffix, content)

    search()


@pytest.mark.filterwarnings("ignore::UserWarning:networkx")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_noise(suffix, folder):
    @examples(25)
    @given(parts=st.lists(st.one_of(st.sampled_from(TOKENS), st.binary(max_size=8)), max_size=20))
    def search(parts):
        assert_safe(folder, suffix, b"".join(parts))

    search()


VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-2, 3),
        st.just(10**400),
        st.floats(),
        st.sampled_from(["", "a", "b", "1", "nan", "true", "\ud800"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner)),
    max_leaves=4,
)


@examples(60)
@given(data=st.data())
def test_any_json_in_the_place_of_a_graph(folder, data):
    def some(strategy):
        return data.draw(st.one_of(strategy, VALUES))

    node = st.fixed_dictionaries({"id": st.one_of(st.sampled_from("abc"), VALUES)})
    edge = st.fixed_dictionaries(
        {"source": st.sampled_from("abc"), "target": st.sampled_from("abc")},
        optional={"weight": VALUES, "confidence": VALUES},
    )
    triple = st.tuples(VALUES, VALUES, VALUES).map(list)
    document = {
        "directed": some(st.booleans()),
        "nodes": some(st.lists(node, max_size=4)),
        "edges": some(st.lists(edge, max_size=3)),
        "graph": {"confidence_of_absent_edges": some(st.lists(triple, max_size=2))},
    }
    assert_safe(folder, "json", json.dumps(document).encode())


CELLS = st.one_of(
    st.sampled_from(["a", "b", "c", "", " ", "'a", "=a", "1", "-1", "nan", "inf", "1e400", "true"]),
    st.text(max_size=4),
)


@examples(40)
@given(
    header=st.permutations(
        ["source", "target", "weight", "confidence", "directed", "source_index", "target_index"]
    ),
    rows=st.lists(st.lists(CELLS, max_size=8), max_size=4),
)
def test_any_cells_in_the_place_of_edges(folder, header, rows):
    lines = [header, *rows]
    text = "\n".join(",".join(f'"{cell}"' for cell in line) for line in lines)
    assert_safe(folder, "csv", text.encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("place", [[None, 0], [-1, 0], [[0, 1], 1], [True, 0], [0.0, 1], [5, 0]])
def test_places_that_numpy_would_take_are_no_nodes(place, folder):
    graph = {"confidence_of_absent_edges": [[*place, 0.5]]}
    document = {"nodes": [{"id": "a"}, {"id": "b"}], "edges": [], "graph": graph}
    path = folder / "g.json"
    path.write_text(json.dumps(document))
    with raises(InputError, code="in_file"):
        Graph.read(path)
    path.unlink()


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE graphml [<!ENTITY a "ha">
%s]><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">
<node id="&z;"/></graph></graphml>""" % b"".join(
    b'<!ENTITY %c "%s">' % (letter, b"&%c;" % (letter - 1) * 10) for letter in range(98, 123)
)
ATTACKS = {
    "entities of entities": LAUGHS,
    "in another encoding": LAUGHS.decode().encode("utf-16"),
    "file": b'<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]><graphml>&x;</graphml>',
    "network": b'<!DOCTYPE g SYSTEM "http://127.0.0.1:9/g.dtd"><graphml/>',
    "parameter entity": b'<!DOCTYPE g [<!ENTITY % x SYSTEM "file:///etc/passwd"> %x;]><graphml/>',
}


@pytest.mark.parametrize("suffix", ["graphml", "gexf"])
@pytest.mark.parametrize("attack", ATTACKS)
def test_declarations_are_refused_before_anything_is_expanded(attack, suffix, folder):
    path = folder / f"g.{suffix}"
    path.write_bytes(ATTACKS[attack])
    with raises(InputError, code="in_file"):
        Graph.read(path)
    path.unlink()


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("json", b"[" * 200_000),
        ("json", b'{"nodes": ' + b"[" * 100_000 + b"]" * 100_000 + b', "edges": []}'),
        ("json", b'{"nodes": [{"id": ' + b"9" * 5000 + b'}], "edges": []}'),
        ("json", '{"nodes": []}'.encode("utf-16")),
        ("json", b"\xff\xfe\x00"),
        ("graphml", b"<a>" * 30_000 + b"</a>" * 30_000),
        ("graphml", b"<graphml>" + b"<graph>" * 20_000 + b"</graph>" * 20_000 + b"</graphml>"),
        (
            "gexf",
            b"<gexf><graph>" + b"<nodes>" * 9000 + b"</nodes>" * 9000 + b"</graph></gexf>",
        ),
        ("csv", b'source,target\n"' + b"a" * 200_000),
        ("csv", b"source,target,source_index\na,b," + b"9" * 5000),
        ("csv", b"\x00" * 1000),
        ("csv", "source,target\na,b\n".encode("utf-16")),
    ],
)
def test_depth_length_and_encodings(suffix, content, folder):
    assert_refused(folder, suffix, content)


def test_a_graph_beyond_memory_is_refused(folder, small_machine):
    path = folder / "g.csv"
    path.write_text("source,target\n" + "".join(f"{k},{k + 1}\n" for k in range(4000)))
    with raises(
        NotEnoughMemoryError,
        code="memory_estimate_too_large",
        task="A graph of 4,001 nodes",
        shape="4,001 x 4,001",
    ):
        Graph.read(path)
    path.unlink()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:networkx")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_many_altered_files(suffix, folder, seeds):
    @examples(2000)
    @given(content=mutated(seeds[suffix]))
    def search(content):
        assert_safe(folder, suffix, content)

    search()
