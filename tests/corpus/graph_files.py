"""Files that ``edgewise export`` cannot take for a graph or a model."""

import io
import json
import zipfile

import numpy as np

from edgewise import GaussianGraph
from tests.corpus.case import Collection, refused
from tests.corpus.sound_files import write
from tests.corpus.subjects import measurements

BAD_GRAPHS = Collection()
#: Each entity holds ten of the one before; read on, they would fill the memory.
ENTITIES = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))


def model_bytes(folder):
    GaussianGraph(alpha=0.1).fit(measurements()).save(folder / "model.edgewise")
    return (folder / "model.edgewise").read_bytes()


@BAD_GRAPHS.add(refused("No such file"))
def missing_graph(folder):
    return folder / "graph.graphml"


@BAD_GRAPHS.add(refused("Is a directory"))
def folder_for_a_graph(folder):
    (folder / "graph.graphml").mkdir()
    return folder / "graph.graphml"


@BAD_GRAPHS.add(refused("'.dot'"))
def unknown_suffix(folder):
    return write(folder, "digraph {}", "graph.dot")


@BAD_GRAPHS.add(refused("graph.graphml"))
def empty_graphml(folder):
    return write(folder, b"", "graph.graphml")


@BAD_GRAPHS.add(refused("graph.graphml"))
def half_a_graphml_file(folder):
    return write(folder, "<graphml><graph><node id='a'>", "graph.graphml")


@BAD_GRAPHS.add(refused("graph.graphml"))
def a_web_page_called_graphml(folder):
    return write(folder, "<html><body>Not found</body></html>", "graph.graphml")


@BAD_GRAPHS.add(refused("document type", "Remove the declaration"))
def entities_within_entities(folder):
    text = f'<!DOCTYPE g [<!ENTITY e0 "x">{ENTITIES}]><graphml><graph>&e11;</graph></graphml>'
    return write(folder, text, "graph.graphml")


@BAD_GRAPHS.add(refused("graph.gexf"))
def half_a_gexf_file(folder):
    return write(folder, "<gexf><graph>", "graph.gexf")


@BAD_GRAPHS.add(refused("graph.json"))
def half_a_json_file(folder):
    return write(folder, '{"nodes": [', "graph.json")


@BAD_GRAPHS.add(refused("graph.json"))
def a_list_called_a_graph(folder):
    return write(folder, "[1, 2, 3]", "graph.json")


@BAD_GRAPHS.add(refused("graph.json"))
def numbers_for_nodes(folder):
    return write(folder, json.dumps({"nodes": 3, "edges": 4}), "graph.json")


@BAD_GRAPHS.add(refused("graph.json"))
def json_nested_too_deep(folder):
    return write(folder, "[" * 100_000, "graph.json")


@BAD_GRAPHS.add(refused("graph.csv"))
def no_columns_of_edges(folder):
    return write(folder, "height,weight\n1,2\n", "graph.csv")


@BAD_GRAPHS.add(refused("graph.csv"))
def a_weight_that_is_text(folder):
    return write(folder, "source,target,weight\na,b,heavy\n", "graph.csv")


@BAD_GRAPHS.add(refused("graph.csv"))
def an_infinite_weight(folder):
    return write(folder, "source,target,weight\na,b,inf\n", "graph.csv")


@BAD_GRAPHS.add(refused("graph.csv"))
def bytes_that_are_no_text(folder):
    return write(folder, b"source,target,weight\n\xff\xfe,b,1\n", "graph.csv")


@BAD_GRAPHS.add(refused("model.edgewise"))
def empty_model(folder):
    return write(folder, b"", "model.edgewise")


@BAD_GRAPHS.add(refused("model.edgewise"))
def text_called_a_model(folder):
    return write(folder, "precision: 3", "model.edgewise")


@BAD_GRAPHS.add(refused("model.edgewise"))
def half_a_model(folder):
    whole = model_bytes(folder)
    return write(folder, whole[: len(whole) // 2], "model.edgewise")


@BAD_GRAPHS.add(refused("model.edgewise"))
def a_model_with_a_byte_changed(folder):
    whole = bytearray(model_bytes(folder))
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        array = archive.getinfo("arrays/a1.npy")
    whole[array.header_offset + 30 + len(array.filename) + array.compress_size // 2] ^= 0xFF
    return write(folder, bytes(whole), "model.edgewise")


@BAD_GRAPHS.add(refused("model.edgewise"))
def a_zip_file_called_a_model(folder):
    with zipfile.ZipFile(folder / "model.edgewise", "w") as archive:
        archive.writestr("../outside.txt", "nothing here")
    return folder / "model.edgewise"


@BAD_GRAPHS.add(refused("model.edgewise"))
def pickled_objects_called_a_model(folder):
    content = io.BytesIO()
    np.savez(content, coef_=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return write(folder, content.getvalue(), "model.edgewise")


@BAD_GRAPHS.add(refused("fit"))
def a_model_that_was_never_fitted(folder):
    GaussianGraph().save(folder / "model.edgewise")
    return folder / "model.edgewise"
